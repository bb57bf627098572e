//! Runs of DPS-PCA between data providers, with the server between them (docs/distributed.md).
//!
//! An admin creates a session and hands each provider its token. Providers ask for the state until a round begins, send
//! their message, and ask again; when all messages have arrived, the next round begins. The mathematics are those
//! of [`ldp_pca_dps`].

mod files;
mod folder;
mod running;

pub(super) use self::folder::Sessions;
pub use self::folder::read_session;
pub(super) use self::running::Running;
