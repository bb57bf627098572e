//! Metrics for operators. Counting adds to atomics; numbers get their names only when they are read.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use super::problem::{Reason, Rejected};
use super::process::Process;
use super::store::StoreMetrics;

/// The beginning of the names of all metrics but those that every process has.
pub(super) const PREFIX: &str = "ldp_pca";

/// The metrics of a server.
pub(super) struct Metrics {
    /// Reports counted, since the start.
    pub(super) accepted: Counter,
    pub(super) duplicate: Counter,
    pub(super) issued_ids: Counter,
    pub(super) erased: Counter,
    pub(super) computed_recoveries: Counter,
    /// By [`Rejected`].
    pub(super) rejected: Vec<Counter>,
    /// By [`Reason`].
    pub(super) problems: Vec<Counter>,
    pub(super) upload_seconds: Histogram,
    store: StoreMetrics,
    process: Process,
}

pub(super) type Labels = Vec<(&'static str, String)>;

impl Metrics {
    pub(super) fn new(store: StoreMetrics) -> Self {
        Self {
            accepted: Counter::default(),
            duplicate: Counter::default(),
            issued_ids: Counter::default(),
            erased: Counter::default(),
            computed_recoveries: Counter::default(),
            rejected: Rejected::ALL.iter().map(|_| Counter::default()).collect(),
            problems: Reason::ALL.iter().map(|_| Counter::default()).collect(),
            // From a quarter of a millisecond to eight seconds.
            upload_seconds: Histogram::new(exponential_buckets(0.25e-3, 2.0, 16)),
            store,
            process: Process::default(),
        }
    }

    /// All metrics, under their public names. Those of tasks go into the registry of the prefix ([`PREFIX`]).
    pub(super) fn registry(&self) -> Registry {
        let mut all = Registry::default();
        self.process.register(&mut all);
        let registry = all.sub_registry_with_prefix(PREFIX);
        let version = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The release that is running", version);
        registry.register("reports_accepted", "Reports counted, since the start", self.accepted.clone());
        registry.register("reports_duplicate", "Repeated reports, since the start", self.duplicate.clone());
        let family = by_label("reason", Rejected::ALL.iter().map(|why| why.name()).zip(&self.rejected));
        registry.register("reports_rejected", "Reports rejected among others, since the start", family);
        let family = by_label("type", Reason::ALL.iter().map(|kind| kind.name()).zip(&self.problems));
        registry.register("problems", "Requests refused, since the start", family);
        let help = "Time from the head of a request with reports to its answer";
        registry.register_with_unit("upload", help, Unit::Seconds, self.upload_seconds.clone());
        registry.register("issued_ids", "Report ids issued, since the start", self.issued_ids.clone());
        registry.register("reports_erased", "Reports erased on request, since the start", self.erased.clone());
        let computed = self.computed_recoveries.clone();
        registry.register("recoveries_computed", "Recoveries that were computed, not cached", computed);
        self.store.register(registry);
        all
    }
}

fn by_label<'a>(
    label: &'static str,
    counts: impl Iterator<Item = (&'static str, &'a Counter)>,
) -> Family<Labels, Counter> {
    let family = Family::<Labels, Counter>::default();
    for (name, count) in counts {
        family.get_or_create(&vec![(label, name.to_owned())]).inc_by(count.get());
    }
    family
}
