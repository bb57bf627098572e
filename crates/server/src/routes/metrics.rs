//! The server's metrics in the text format of OpenMetrics, or in the one before it.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::{Registry, Unit};

use crate::app::App;
use crate::durable::free_bytes;
use crate::metrics::{Labels, PREFIX};
use crate::problem::Problem;
use crate::request::accepts;
use crate::tokens::Role;

/// The media type that encoders of this version of the format name.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The media type of the earlier format.
const PLAIN_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// `GET /metrics`.
pub(super) async fn show(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
    let collector = app.tokens.has(&headers, Role::Collector)?;
    let mut registry = app.metrics.registry();
    let ours = registry.sub_registry_with_prefix(PREFIX);
    register_tasks(&app, collector, ours);
    // A database has its disk elsewhere.
    if let Some(free) = free_bytes(&app.config.data).filter(|_| app.config.store.is_none()) {
        let help = "Free space on the disk of the folder";
        ours.register_with_unit("store_free", help, Unit::Bytes, ConstGauge::new(free));
    }
    let mut text = String::new();
    encode(&mut text, &registry).map_err(Problem::internal)?;
    let (form, text) = if wants_plain_text(&headers) { (PLAIN_TEXT, plain_text(&text)) } else { (OPEN_METRICS, text) };
    Ok(([(header::CONTENT_TYPE, form)], text).into_response())
}

/// Whether the client reads the earlier text format and not OpenMetrics. Prometheus reads both.
fn wants_plain_text(headers: &HeaderMap) -> bool {
    let accepts = |what: &str| accepts(headers, header::ACCEPT, what);
    accepts("text/plain") && !accepts("application/openmetrics-text")
}

/// Metrics in the earlier format, from those of OpenMetrics: a counter has the name of its sample, and there is neither
/// a type for constants nor a unit or an end.
fn plain_text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut help = "";
    for line in open_metrics.lines() {
        match line.strip_prefix("# ").and_then(|line| line.split_once(' ')) {
            Some(("HELP", about)) => help = about,
            Some(("TYPE", about)) => {
                let (name, kind) = about.split_once(' ').unwrap_or((about, "untyped"));
                let (end, kind) = match kind {
                    "counter" => ("_total", kind),
                    "info" => ("_info", "gauge"),
                    _ => ("", kind),
                };
                let about = help.strip_prefix(name).unwrap_or_default();
                text += &format!("# HELP {name}{end}{about}\n# TYPE {name}{end} {kind}\n");
            }
            _ if line.starts_with('#') => {}
            _ => text += &format!("{line}\n"),
        }
    }
    text
}

/// Metrics of recoveries are only for clients that may ask for the components themselves.
fn register_tasks(app: &App, collector: bool, registry: &mut Registry) {
    let records = Family::<Labels, Gauge>::default();
    let queued = Family::<Labels, Gauge>::default();
    let lost = Family::<Labels, Gauge>::default();
    let predicted = Family::<Labels, Gauge<f64, AtomicU64>>::default();
    for reports in app.store.tasks() {
        let digest = reports.task().digest();
        let mut labels = vec![("task", digest.to_string())];
        records.get_or_create(&labels).set(i64::try_from(reports.counts().records).unwrap_or(i64::MAX));
        queued.get_or_create(&labels).set(i64::try_from(reports.queue().queued()).unwrap_or(i64::MAX));
        lost.get_or_create(&labels).set(i64::try_from(reports.damage().lost).unwrap_or(i64::MAX));
        let told = collector || app.open_recovery(&reports.settings());
        let predicted_error = || app.collection(&reports).recovery.predicted_error();
        if let Some((rank, error)) = told.then(predicted_error).flatten() {
            labels.push(("rank", rank.to_string()));
            predicted.get_or_create(&labels).set(error);
        }
    }
    registry.register("records", "Reports in the sum of a task", records);
    registry.register("queued", "Requests of a task that wait for the disk", queued);
    let help = "Acknowledged reports of a task that are lost, and nobody has acknowledged it";
    registry.register("store_lost_reports", help, lost);
    let help = "Predicted error of the components asked for last, as a share of a random subspace's";
    registry.register("predicted_error", help, predicted);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_format_has_the_same_samples_under_names_with_their_types() {
        let open = [
            "# HELP a Things.\n# TYPE a counter\na_total{x=\"1\"} 2",
            "# HELP b_seconds Time.\n# TYPE b_seconds gauge\n# UNIT b_seconds seconds\nb_seconds 0.5",
            "# HELP c What runs.\n# TYPE c info\nc_info{v=\"1\"} 1\n# EOF\n",
        ];
        let plain = [
            "# HELP a_total Things.\n# TYPE a_total counter\na_total{x=\"1\"} 2",
            "# HELP b_seconds Time.\n# TYPE b_seconds gauge\nb_seconds 0.5",
            "# HELP c_info What runs.\n# TYPE c_info gauge\nc_info{v=\"1\"} 1\n",
        ];
        assert_eq!(plain_text(&open.join("\n")), plain.join("\n"));
    }

    #[test]
    fn only_a_client_that_asks_for_it_alone_gets_the_earlier_format() {
        for (accept, plain) in [
            ("*/*", false),
            ("text/plain", true),
            ("text/plain;version=0.0.4;q=0.5,*/*;q=0.1", true),
            ("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", false),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT, accept.parse().unwrap())]);
            assert_eq!(wants_plain_text(&headers), plain, "{accept}");
        }
        assert!(!wants_plain_text(&HeaderMap::new()));
    }
}
