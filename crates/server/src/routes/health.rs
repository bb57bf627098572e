//! What the server says of itself: what it is, whether the process is alive, and whether it can accept reports.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::collector::{self, ForEverybody, asks_for_page};
use crate::app::App;
use crate::problem::{Problem, Reason};

/// The paths of [`live`] and [`ready`], as the router has them.
pub(super) const PATHS: [&str; 2] = ["/healthz", "/readyz"];

/// `GET /healthz`: the process answers.
pub(super) async fn live() -> Response {
    Json(json!({"status": "ok"})).into_response()
}

/// `GET /readyz`: reports can be stored.
pub(super) async fn ready(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    if app.events.stopping() {
        return Err(Reason::NotReady.because("the server is stopping: ask another one"));
    }
    match app.readiness.find(&app.store, app.config.request_timeout).await {
        Ok(()) => Ok(Json(json!({"status": "ready"})).into_response()),
        Err(reason) => {
            Err(Reason::NotReady.because(format!("reports cannot be stored now: {reason}; look at the server's disk")))
        }
    }
}

/// `GET /`: what answers here, and where to go on; for a browser the list of collections. The addresses are relative: a
/// proxy may serve them under a path.
pub(super) async fn about(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
    if asks_for_page(&headers) {
        return collector::list(app, &headers).await;
    }
    let about = Json(json!({
        "software": "ldp-pca aggregator",
        "version": env!("CARGO_PKG_VERSION"),
        "documentation": "https://docs.rs/ldp-pca",
        "interface": "openapi.json",
        "tasks": "tasks",
    }));
    Ok((Extension(ForEverybody), about).into_response())
}
