//! The HTTP interface (docs/http-api.md): which path answers what.

mod events;
pub(super) mod front;
mod health;
mod metrics;
mod observe;
mod openapi;
mod page;
mod recovery;
mod reports;
mod sessions;
mod tasks;

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::Request;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{get, post, put};
use tokio::task::yield_now;

use self::observe::Admission;
use crate::app::App;
use crate::problem::Problem;

/// All routes; the files of `www` are served where there is no other.
pub(super) fn router(app: Arc<App>, www: Option<&Path>) -> Router {
    let at_once = Router::new()
        .route("/metrics", get(metrics::show))
        .route("/openapi.json", get(openapi::show))
        .route("/tasks", get(tasks::list))
        .route("/tasks/{id}", get(tasks::show))
        .route("/tasks/{id}/status", get(tasks::status))
        .route_layer(from_fn_with_state(Arc::clone(&app), in_turn));
    let api = at_once
        .route("/healthz", get(health::live))
        .route("/readyz", get(health::ready))
        .route("/tasks/{id}", put(tasks::put).delete(tasks::delete))
        .route("/tasks/{id}/seeds", post(tasks::issue))
        .route(reports::ROUTE, post(reports::take))
        .route("/tasks/{id}/recovery", get(recovery::show))
        .route("/tasks/{id}/events", get(events::listen))
        .route("/sessions", get(sessions::list).post(sessions::create))
        .route("/sessions/{id}", get(sessions::show).delete(sessions::delete))
        .route("/sessions/{id}/state", get(sessions::state))
        .route("/sessions/{id}/messages", post(sessions::take))
        .method_not_allowed_fallback(async || Problem::method_not_allowed())
        // Bodies are bounded where they are read.
        .layer(DefaultBodyLimit::disable())
        .with_state(Arc::clone(&app));
    let nothing = async || Problem::unknown_path();
    let routes = match www {
        None => api.fallback(nothing),
        Some(folder) => api.fallback_service(page::files(folder)),
    };
    routes.layer(from_fn_with_state(app, observe::observe))
}

/// The layer around what is answered at once: a client with thousands of requests waits for itself, and others do not wait for it.
async fn in_turn(State(app): State<Arc<App>>, request: Request<Body>, next: Next) -> Response {
    let _turn = match request.extensions().get() {
        Some(&Admission { client, .. }) => Some(app.limits.turns.wait(client).await),
        None => None,
    };
    // And of many on one connection each waits until other connections were looked after.
    yield_now().await;
    next.run(request).await
}
