//! Maintenance of a store's folder that no server has open: verify, repair, export, merge, restore
//! (docs/store.md).

mod export;
mod merge;
mod read;
mod repair;
mod restore;
#[cfg(test)]
pub(super) mod tests;
mod verify;

pub use export::{Exported, Layout, export};
pub use merge::{MergedTask, merge};
pub use read::{read_segment, tasks};
pub use repair::{Repaired, RepairedTask, repair};
pub use restore::{Restored, deleted, restore};
pub use verify::{Verified, VerifiedTask, verify};

#[cfg(test)]
pub(super) use merge::merge_on;
#[cfg(test)]
pub(super) use restore::restore_on;
#[cfg(test)]
pub(super) use verify::verify_on;

/// Receives the number of bytes read, and their total.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);
