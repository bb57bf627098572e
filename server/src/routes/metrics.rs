//! The server's metrics in the text format of OpenMetrics.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use crate::app::App;
use crate::metrics::{Labels, PREFIX};
use crate::problem::Problem;
use crate::tokens::Role;

/// The media type that encoders of this version of the format name.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// `GET /metrics`.
pub(super) async fn show(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
    let collector = app.tokens.has(&headers, Role::Collector)?;
    let mut registry = app.metrics.registry();
    let ours = registry.sub_registry_with_prefix(PREFIX);
    register_tasks(&app, collector, ours);
    // A database has its disk elsewhere.
    if let Some(free) = free_bytes(&app.config.data).filter(|_| app.config.store.is_none()) {
        let gauge = Gauge::<i64>::default();
        gauge.set(free);
        ours.register_with_unit("store_free", "Free space on the disk of the folder", Unit::Bytes, gauge);
    }
    let mut text = String::new();
    encode(&mut text, &registry).map_err(|error| Problem::internal(error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response())
}

/// The bytes that this user may still write to the disk of a folder.
#[cfg(unix)]
fn free_bytes(folder: &Path) -> Option<i64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    i64::try_from(disk.f_bavail.checked_mul(disk.f_frsize)?).ok()
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<i64> {
    None
}

/// Metrics of recoveries are only for clients that may ask for the components themselves.
fn register_tasks(app: &App, collector: bool, registry: &mut Registry) {
    let records = Family::<Labels, Gauge>::default();
    let queued = Family::<Labels, Gauge>::default();
    let predicted = Family::<Labels, Gauge<f64, AtomicU64>>::default();
    for reports in app.store.tasks() {
        let digest = reports.task().digest();
        let mut labels = vec![("task", digest.to_string())];
        records.get_or_create(&labels).set(i64::try_from(reports.counts().records).unwrap_or(i64::MAX));
        queued.get_or_create(&labels).set(i64::try_from(reports.queued()).unwrap_or(i64::MAX));
        let told = collector || app.open_recovery(&reports.settings());
        let predicted_error = || app.collection(&reports).recovery.predicted_error();
        if let Some((rank, error)) = told.then(predicted_error).flatten() {
            labels.push(("rank", rank.to_string()));
            predicted.get_or_create(&labels).set(error);
        }
    }
    registry.register("records", "Reports in the sum of a task", records);
    registry.register("queued", "Requests of a task that wait for the disk", queued);
    let help = "Predicted error of the components asked for last, as a share of a random subspace's";
    registry.register("predicted_error", help, predicted);
}
