//! What a collector downloads.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};

use super::blocking;
use super::recovery::check_minimum;
use crate::app::App;
use crate::problem::Problem;
use crate::request::Id;
use crate::tokens::Role;

/// `GET /tasks/{id}/aggregate`: the sums. They show whether a known id is among few reports, so they are for no others.
pub(super) async fn aggregate(State(app): State<Arc<App>>, id: Id, headers: HeaderMap) -> Result<Response, Problem> {
    app.tokens.check(&headers, Role::Collector)?;
    let reports = app.find(id)?;
    check_minimum(&app, &*reports, reports.counts(), "")?;
    let bytes = blocking(move || reports.aggregate().map(|sums| sums.to_bytes())).await?;
    Ok(download("application/octet-stream", "aggregate.ldpa", bytes.map_err(Problem::internal)?))
}

/// A file that a browser saves under this name.
fn download(media_type: &'static str, name: &str, content: Vec<u8>) -> Response {
    let name = format!("attachment; filename=\"{name}\"");
    ([(header::CONTENT_TYPE, media_type.to_owned()), (header::CONTENT_DISPOSITION, name)], content).into_response()
}
