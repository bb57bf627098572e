//! The options of a store in a database.

use std::time::Duration;

use crate::store::StoreMetrics;

/// The options for using a database.
#[derive(Clone, Debug)]
pub(crate) struct PostgresOptions {
    /// Connections at the same time, beside the follower's.
    pub(crate) connections: usize,
    /// The time between two looks at other aggregators' writes.
    pub(crate) poll: Duration,
    /// Reports after which a snapshot is written.
    pub(crate) snapshot_reports: u64,
    /// Bytes of reports after which a snapshot is written: as many as the sum has, where that is more.
    pub(crate) snapshot_bytes: u64,
    /// Its metrics.
    pub(crate) metrics: StoreMetrics,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            connections: 8,
            poll: Duration::from_millis(250),
            snapshot_reports: 1 << 18,
            snapshot_bytes: 64 << 20,
            metrics: StoreMetrics::default(),
        }
    }
}
