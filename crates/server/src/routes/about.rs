//! The answer at the root of a server without a page of its own.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::collector::{self, ForEverybody, asks_for_page};
use crate::app::App;
use crate::problem::Problem;

/// `GET /`: what answers here, and where to go on; for a browser the list of collections. The addresses are relative: a
/// proxy may serve them under a path.
pub(super) async fn show(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
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
