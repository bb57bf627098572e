//! The state that all requests share.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex as Lock, OnceLock, Weak};

use axum::extract::Path as UrlPath;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::audit::AuditLog;
use super::config::ServerConfig;
use super::events::{Events, Pulse};
use super::history::History;
use super::issuing::Issuer;
use super::limits::Limits;
use super::metrics::Metrics;
use super::oblivious::GatewayKeys;
use super::problem::{Problem, Reason};
use super::readiness::Readiness;
use super::recovery::{Recoveries, RecoveryCache};
use super::request::Id;
use super::store::{Counts, ReportStore, StoreMetrics, TaskReports, TaskSettings, date_of, is_of, unix_time};
use super::tokens::Tokens;
use crate::locks::hold;
use ldp_pca::task::TaskDigest;

/// The state of a server.
pub(super) struct App {
    pub(super) store: Arc<dyn ReportStore>,
    pub(super) events: Events,
    pub(super) issuer: Issuer,
    pub(super) gateway: GatewayKeys,
    pub(super) limits: Limits,
    pub(super) metrics: Metrics,
    pub(super) readiness: Readiness,
    pub(super) recoveries: Recoveries,
    /// Held while a task is put.
    pub(super) putting: Mutex<()>,
    pub(super) tokens: Tokens,
    pub(super) audit: AuditLog,
    pub(super) history: History,
    pub(super) config: Arc<ServerConfig>,
    /// The relay that the page can send through, in a demo.
    pub(super) relay: OnceLock<SocketAddr>,
    /// Made at the first request, because only the store knows the tasks. Each with the reports that it belongs to.
    collections: Lock<HashMap<TaskDigest, OfReports<TaskResults>>>,
}

/// The server's results and streams for a task's reports.
#[derive(Default)]
pub(super) struct TaskResults {
    pub(super) recovery: RecoveryCache,
    pub(super) pulse: Pulse,
}

/// Something that was made from reports, with those reports.
type OfReports<T> = (Weak<dyn TaskReports>, Arc<T>);

impl App {
    pub(super) fn new(
        store: Arc<dyn ReportStore>,
        store_metrics: StoreMetrics,
        tokens: Tokens,
        (issuer, gateway): (Issuer, GatewayKeys),
        audit: AuditLog,
        config: &Arc<ServerConfig>,
    ) -> Self {
        let metrics = Metrics::new(store_metrics);
        let computed = metrics.computed_recoveries.clone();
        Self {
            store,
            events: Events::new(config.event_streams(), config.client_places()),
            issuer,
            gateway,
            limits: Limits::new(config),
            metrics,
            readiness: Readiness::default(),
            recoveries: Recoveries::new(config.max_recoveries, config.request_timeout, computed),
            putting: Mutex::default(),
            tokens,
            audit,
            history: History::default(),
            config: Arc::clone(config),
            relay: OnceLock::new(),
            collections: Lock::default(),
        }
    }

    /// The most reports of the task that are accepted.
    pub(super) fn ceiling(&self, reports: &dyn TaskReports, settings: &TaskSettings) -> u64 {
        let records = settings.max_records.unwrap_or(self.config.max_task_records);
        records.min(self.config.fixed.task_bytes / reports.report_bytes() as u64)
    }

    /// An end before this time is past for every clock.
    pub(super) fn earliest_end(&self) -> u64 {
        unix_time().saturating_sub(self.config.fixed.clock_skew.as_secs())
    }

    /// The task of a path.
    pub(super) fn find(&self, id: Id) -> Result<Arc<dyn TaskReports>, Problem> {
        let UrlPath(id) = id.map_err(|_| Problem::unknown_path())?;
        id.parse::<TaskDigest>().ok().and_then(|id| self.store.task(id)).ok_or_else(|| Problem::unknown_task(&id))
    }

    /// The second wave of a task, while it is open.
    pub(super) fn second_wave(&self, first: &dyn TaskReports) -> Option<Arc<dyn TaskReports>> {
        self.store.task(first.settings().refined_by?)
    }

    /// The state of a task besides its reports. It starts again when they do: another aggregator on the same store may
    /// have deleted the task and added it again.
    pub(super) fn collection(&self, reports: &Arc<dyn TaskReports>) -> Arc<TaskResults> {
        let (task, new) = (reports.task().digest(), || (Arc::downgrade(reports), Arc::default()));
        let mut collections = hold(&self.collections);
        let (of, collection) = collections.entry(task).or_insert_with(new);
        if !is_of(of, reports) {
            collection.pulse.end();
            (*of, *collection) = new();
        }
        Arc::clone(collection)
    }

    /// Forgets what was computed of a task that the store has deleted, or from which it erased reports, and ends its
    /// streams.
    pub(super) fn forget(&self, task: TaskDigest) {
        if let Some((_, collection)) = hold(&self.collections).remove(&task) {
            collection.pulse.end();
        }
    }

    /// The least number of reports for which components are returned: at least one.
    pub(super) fn minimum_batch(&self, settings: &TaskSettings) -> u64 {
        settings.minimum_batch.unwrap_or(self.config.minimum_batch).max(1)
    }

    /// Whether components are returned without a token.
    pub(super) fn open_recovery(&self, settings: &TaskSettings) -> bool {
        settings.open_recovery.unwrap_or(self.config.open_recovery)
    }

    /// Whether only reports with an id that was issued here are accepted.
    pub(super) fn issued_ids(&self, settings: &TaskSettings) -> bool {
        settings.issued_ids.unwrap_or(self.config.issued_ids)
    }

    /// When the task expired, if it did, in seconds since 1970; or the refusal of reports before its start. The clock
    /// tolerance is in the sender's favour.
    pub(super) fn expired(&self, settings: &TaskSettings) -> Result<Option<u64>, Problem> {
        let (starts, expires) = (settings.starts, settings.expires);
        // Most tasks have no bounds, and need no clock.
        if starts.is_none() && expires.is_none() {
            return Ok(None);
        }
        let (now, skew) = (unix_time(), self.config.fixed.clock_skew.as_secs());
        if let Some(starts) = starts.filter(|starts| now.saturating_add(skew) < *starts) {
            let said = date_of(starts);
            let detail = format!("reports are accepted from {said} on: nothing was counted, send the same bytes then");
            return Err(Reason::TaskNotStarted.because(detail).with(json!({"starts": starts})));
        }
        Ok(expires.filter(|expires| now > expires.saturating_add(skew)))
    }

    /// The answer of `GET /tasks/{id}/status`. Duplicates are those since the server was started.
    pub(super) fn status(&self, reports: &dyn TaskReports, counts: Counts) -> Value {
        let settings = reports.settings();
        let mut status = json!({
            "task": reports.task().digest().to_string(),
            "records": counts.records,
            "duplicates": counts.duplicates,
            "minimum_batch": self.minimum_batch(&settings),
            "guarantee": reports.task().guarantee(),
            "dimension": reports.task().dimension(),
            "report_bytes": reports.report_bytes(),
            "open_recovery": self.open_recovery(&settings),
            "issued_ids": self.issued_ids(&settings),
            "range_check": settings.checks_range(),
            "settings": *settings,
        });
        if let Some(period) = reports.task().period() {
            status["period"] = period.into();
        }
        let lost = reports.damage().lost;
        if lost > 0 {
            status["lost_reports"] = lost.into();
        }
        status
    }
}
