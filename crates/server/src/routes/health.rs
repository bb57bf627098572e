//! Health checks: whether the process is alive, and whether it can accept reports.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::problem::{Problem, Reason};

/// The paths of [`live`] and [`ready`], as the router has them.
pub(super) const PATHS: [&str; 2] = ["/healthz", "/readyz"];

/// `GET /healthz`: the process answers.
pub(super) async fn live() -> Response {
    Json(serde_json::json!({"status": "ok"})).into_response()
}

/// `GET /readyz`: reports can be stored.
pub(super) async fn ready(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    if app.events.stopping() {
        return Err(Reason::NotReady.because("the server is stopping: ask another one"));
    }
    match app.readiness.find(&app.store, app.config.request_timeout).await {
        Ok(()) => Ok(Json(serde_json::json!({"status": "ready"})).into_response()),
        Err(reason) => {
            Err(Reason::NotReady.because(format!("reports cannot be stored now: {reason}; look at the server's disk")))
        }
    }
}
