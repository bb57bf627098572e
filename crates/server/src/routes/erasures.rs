//! Erasure of single reports: `POST /tasks/{id}/erasures`.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::audited::Audited;
use super::blocking;
use super::observe::RequestId;
use crate::app::App;
use crate::limits;
use crate::net::Client;
use crate::origins::supply_type;
use crate::problem::{Problem, Reason};
use crate::request::Id;
use crate::store::ErasedReports;
use crate::tokens::Role;
use ldp_pca::report::ReportId;

/// The most ids per request with an admin's token.
const MOST: usize = 10_000;

/// The most ids per request without a token.
const MOST_WITHOUT: usize = 1;

/// Bytes of a document: each id has 32 digits, quotes, a comma, and maybe a line of its own.
const DOCUMENT_BYTES: usize = 64 * MOST;

/// The ids of the reports to erase.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct Wanted {
    ids: Vec<ReportId>,
}

/// `POST /tasks/{id}/erasures`: with an admin's token, or where the operator allows it with a report's id alone.
pub(super) async fn erase(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Extension(request): Extension<RequestId>,
    id: Id,
    mut headers: HeaderMap,
    mut body: Body,
) -> Result<Response, Problem> {
    let checked = app.find(id).and_then(|reports| {
        let open = app.config.open_erasure.is_some() && app.tokens.who(&headers).is_none();
        let who = if open { None } else { Some(app.tokens.check(&headers, Role::Admin)?) };
        Ok((reports, who))
    });
    let (reports, who) = checked.map_err(|problem| app.limits.refuse(&headers, &mut body, problem))?;
    supply_type(&mut headers, &reports.settings(), "application/json");
    let Wanted { ids } = app.limits.read_json(&headers, body, DOCUMENT_BYTES).await?;
    let most = if who.is_some() { MOST } else { MOST_WITHOUT };
    if !(1..=most).contains(&ids.len()) {
        let (count, more) = (ids.len(), if who.is_some() { "" } else { " (more with an admin's token)" });
        return Err(Reason::BadCount.because(format!("there are {count} ids: name 1 to {most} in a request{more}")));
    }
    if who.is_none() {
        limits::take(&app.limits.erasures, client, 1)?;
    }
    let task = reports.task().digest();
    let store = Arc::clone(&app.store);
    let erased = blocking(move || store.erase_reports(task, &ids)).await?;
    // What was computed with them is not shown again. After an error they may be erased, or will be at the next start.
    // Components of both waves belong to the first.
    if !matches!(&erased, Ok(None | Some(ErasedReports { erased: 0, before: 0, .. }))) {
        app.forget(task);
        app.forget(reports.task().campaign());
    }
    let erased = erased.map_err(|error| {
        tracing::warn!(%error, "reports could not be erased");
        let why = error.for_clients();
        let detail = format!("it is not known whether the reports are erased, so repeat the request: {why}");
        Reason::StoreUnavailable.because(detail)
    })?;
    let Some(erased) = erased else { return Err(Problem::unknown_task(&task.to_string())) };
    app.metrics.erased.inc_by(erased.erased);
    let (who, request) = (who.as_deref().unwrap_or("the holder of an id"), request.as_str());
    tracing::info!(%task, who, request, erased = erased.erased, before = erased.before, "reports are erased");
    let note = Audited { reports: Some(erased.erased), ..Audited::default() };
    Ok((Extension(note), Json(erased)).into_response())
}
