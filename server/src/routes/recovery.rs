//! Components of what was collected so far: `GET /tasks/{id}/recovery`.

use std::sync::Arc;

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Extension, Path as UrlPath, Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;

use crate::app::App;
use crate::net::Client;
use crate::problem::{Kind, Problem};
use crate::recovery::{Answer, Asker, Wanted};
use crate::store::{TaskReports, TaskSettings};
use crate::tokens::Role;

/// `GET /tasks/{id}/recovery`.
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    id: Result<UrlPath<String>, PathRejection>,
    headers: HeaderMap,
    query: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<Response, Problem> {
    let reports = app.find(id)?;
    let asker = match asker(&app, &headers, client, &reports.settings())? {
        Some(asker) => asker,
        // Refuses: there is no token.
        None => app.tokens.check(&headers, Role::Collector).map(|_| Asker::Collector)?,
    };
    let wanted = Wanted::read(query, reports.task().dimension())?;
    let answer = recover(&app, asker, &reports, wanted, reports.counts().records).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], answer.json().clone()).into_response())
}

/// The components of a state with `records` reports or more.
pub(super) async fn recover(
    app: &App,
    asker: Asker,
    reports: &Arc<dyn TaskReports>,
    wanted: Wanted,
    records: u64,
) -> Result<Arc<Answer>, Problem> {
    let minimum = app.minimum_batch(&reports.settings());
    if records < minimum {
        return Err(below_minimum_batch(records, minimum));
    }
    let collection = app.collection(reports);
    let computed = collection.recovery.answer(&app.recoveries, asker, reports, wanted, records);
    timeout(app.limits.request_timeout(), computed).await.unwrap_or_else(|_| {
        Err(Problem::new(Kind::RecoveryTimeout, "the components are still being computed: ask again later"))
    })
}

/// As who the request may have components, if at all. Who comes with a token comes with a good one.
pub(super) fn asker(
    app: &App,
    headers: &HeaderMap,
    client: Client,
    settings: &TaskSettings,
) -> Result<Option<Asker>, Problem> {
    if app.tokens.has(headers, Role::Collector)? {
        return Ok(Some(Asker::Collector));
    }
    Ok(app.open_recovery(settings).then_some(Asker::Anybody(client)))
}

fn below_minimum_batch(records: u64, minimum: u64) -> Problem {
    Problem::new(
        Kind::BelowMinimumBatch,
        format!("there are {records} reports, and components are given out from {minimum} on: collect more"),
    )
    .with(serde_json::json!({"records": records, "minimum_batch": minimum}))
}
