//! The HTTP interface (docs/http-api.md): which path answers what.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post, put};

use super::app::App;
use super::interactive;
use super::limits::in_turn;
use super::problem::Problem;
use super::{events, health, metrics, observe, openapi, page, recovery, tasks, upload};

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
        .route(upload::ROUTE, post(upload::take))
        .route("/tasks/{id}/recovery", get(recovery::show))
        .route("/tasks/{id}/events", get(events::listen))
        .route("/sessions", get(interactive::list).post(interactive::create))
        .route("/sessions/{id}", get(interactive::show).delete(interactive::delete))
        .route("/sessions/{id}/state", get(interactive::state))
        .route("/sessions/{id}/messages", post(interactive::take))
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
