//! The options of a folder.

use super::sizes::Sizes;
use crate::store::StoreMetrics;
use crate::store::queue::MOST_WAITING;

/// The options for writing a folder.
#[derive(Clone, Debug)]
pub(crate) struct FolderOptions {
    /// Batches that may wait per task; beyond them commits are [`CommitError::Busy`](crate::store::CommitError::Busy).
    /// Default [`MOST_WAITING`].
    pub(crate) queue: usize,
    /// Bytes of a segment from which it is sealed, or the bytes of the task's aggregate if that is more. Default 256
    /// MiB.
    pub(crate) segment_bytes: u64,
    /// Reports of a segment from which it is sealed. Default 131,072.
    pub(crate) segment_reports: u64,
    /// Bytes that are kept free for a start and a deletion on a full disk; none with 0. Default 16 MiB.
    pub(crate) reserve_bytes: u64,
    /// The amounts of work at a time.
    pub(crate) sizes: Sizes,
    /// The store's metrics.
    pub(crate) metrics: StoreMetrics,
}

impl Default for FolderOptions {
    fn default() -> Self {
        Self {
            queue: MOST_WAITING,
            segment_bytes: 256 << 20,
            segment_reports: 1 << 17,
            reserve_bytes: 16 << 20,
            sizes: Sizes::default(),
            metrics: StoreMetrics::default(),
        }
    }
}
