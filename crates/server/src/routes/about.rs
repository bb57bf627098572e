//! The answer at the root of a server without a page.

use axum::Json;
use serde_json::{Value, json};

/// `GET /`: what answers here, and where to go on. The addresses are relative: a proxy may serve them under a path.
pub(super) async fn show() -> Json<Value> {
    Json(json!({
        "software": "ldp-pca aggregator",
        "version": env!("CARGO_PKG_VERSION"),
        "documentation": "https://docs.rs/ldp-pca",
        "interface": "openapi.json",
        "tasks": "tasks",
    }))
}
