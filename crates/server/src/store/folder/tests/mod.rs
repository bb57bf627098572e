//! The store as a whole: against a model, on disks that fail, after damage, and while others read it.

mod damaged;
#[cfg(unix)]
mod disk;
mod flips;
mod meanwhile;
pub(super) mod model;
mod waves;
