//! Whether the process lives, and whether it can take reports.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::app::App;
use super::problem::{Kind, Problem};

/// The paths of [`live`] and [`ready`], as the router has them.
pub(super) const PATHS: [&str; 2] = ["/healthz", "/readyz"];

/// How long a finding stands: however often it is asked for, the disk is tried once a second.
const FRESH: Duration = Duration::from_secs(1);

/// The last finding, and when it was found. Others wait while it is looked for.
#[derive(Default)]
pub(super) struct Readiness {
    last: Mutex<Option<(Instant, Result<(), String>)>>,
}

/// `GET /healthz`: the process answers.
pub(super) async fn live() -> Response {
    Json(serde_json::json!({"status": "ok"})).into_response()
}

/// `GET /readyz`: reports can be stored.
pub(super) async fn ready(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    if app.events.stopping() {
        return Err(Problem::new(Kind::NotReady, "the server is stopping: ask another one"));
    }
    let mut last = app.readiness.last.lock().await;
    let found = match &*last {
        Some((when, found)) if when.elapsed() < FRESH => found.clone(),
        _ => {
            let probing = Arc::clone(&app);
            let probe = spawn_blocking(move || probing.store.check());
            let found = match timeout(app.limits.request_timeout(), probe).await {
                Ok(Ok(found)) => found,
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err("the disk does not answer".into()),
            };
            if let Err(reason) = &found {
                tracing::warn!(%reason, "not ready");
            }
            last.insert((Instant::now(), found)).1.clone()
        }
    };
    match found {
        Ok(()) => Ok(Json(serde_json::json!({"status": "ready"})).into_response()),
        Err(reason) => Err(Problem::new(
            Kind::NotReady,
            format!("reports cannot be stored now: {reason}; look at the server's disk"),
        )),
    }
}
