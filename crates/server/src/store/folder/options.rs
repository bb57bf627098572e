//! The options of a folder.

use std::sync::Arc;

use tokio::sync::watch;

use crate::store::StoreMetrics;

/// The options for writing a folder.
#[derive(Clone, Debug)]
pub(crate) struct FolderOptions {
    /// Reports after which the sum is written, or bytes of reports, or of the sum if that is more: as many are summed
    /// again at a start after a crash.
    pub(crate) summed_reports: u64,
    pub(crate) summed_bytes: u64,
    /// Bytes in the log from which it is written back.
    pub(crate) log_bytes: u64,
    /// Bytes of durable reports that may wait to be summed. Beyond them the writer sums, so that memory does not fill
    /// up.
    pub(crate) backlog_bytes: usize,
    /// The store's metrics.
    pub(crate) metrics: StoreMetrics,
    /// Told why the server has to stop, if a disk is not to be trusted any more.
    pub(crate) failed: Arc<watch::Sender<Option<String>>>,
}

impl Default for FolderOptions {
    fn default() -> Self {
        Self {
            summed_reports: 1 << 17,
            summed_bytes: 256 << 20,
            log_bytes: 16 << 20,
            backlog_bytes: 32 << 20,
            metrics: StoreMetrics::default(),
            failed: Arc::new(watch::Sender::new(None)),
        }
    }
}
