//! A store's metrics about its disk, for operators.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// The metrics of all tasks of a store together. Clones share them.
#[derive(Clone, Debug)]
pub(in super::super) struct StoreMetrics {
    /// Seconds that the disk took to make a group of reports durable.
    pub(in super::super) sync_seconds: Histogram,
    /// New reports per group, all of them durable by one sync.
    pub(in super::super) group_reports: Histogram,
    /// Bytes of reports that were written and synced.
    pub(in super::super) written_bytes: Counter,
    /// Writes and syncs that the system refused.
    pub(in super::super) failed_writes: Counter,
    /// Reports that the database had confirmed and no longer has.
    pub(in super::super) missing_reports: Counter,
    /// Snapshots that did not follow from the reports in the database.
    pub(in super::super) dropped_snapshots: Counter,
}

impl Default for StoreMetrics {
    fn default() -> Self {
        Self {
            // From 0.1 ms to 3.3 s, and from one report to half a million.
            sync_seconds: Histogram::new(exponential_buckets(1e-4, 2.0, 16)),
            group_reports: Histogram::new(exponential_buckets(1.0, 4.0, 11)),
            written_bytes: Counter::default(),
            failed_writes: Counter::default(),
            missing_reports: Counter::default(),
            dropped_snapshots: Counter::default(),
        }
    }
}

impl StoreMetrics {
    /// Registers them as `store_…` in a registry, which adds its own prefix.
    pub(in super::super) fn register(&self, registry: &mut Registry) {
        let store = registry.sub_registry_with_prefix("store");
        let help = "Time to make a group of reports durable";
        store.register_with_unit("sync", help, Unit::Seconds, self.sync_seconds.clone());
        store.register("group_reports", "New reports made durable by one sync", self.group_reports.clone());
        let help = "Bytes of reports written and synced";
        store.register_with_unit("written", help, Unit::Bytes, self.written_bytes.clone());
        store.register("failed_writes", "Writes and syncs that the system refused", self.failed_writes.clone());
        let help = "Reports that the database had confirmed and no longer has";
        store.register("missing_reports", help, self.missing_reports.clone());
        let help = "Snapshots that did not follow from the reports in the database";
        store.register("dropped_snapshots", help, self.dropped_snapshots.clone());
    }
}
