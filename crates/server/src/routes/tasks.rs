//! Tasks: listed, shown, added, changed, deleted; and report ids issued for them.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path as UrlPath, Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::audited::Audited;
use super::blocking;
use super::collector::{self, ForEverybody, asks_for_page};
use super::observe::RequestId;
use super::relayed;
use super::reports::not_committed;
use crate::app::App;
use crate::issuing::{MOST, OPEN_COUNT};
use crate::limits;
use crate::net::Client;
use crate::origins::{is_origin, supply_type};
use crate::problem::{Problem, Reason, excerpt};
use crate::refining::placeholder;
use crate::request::{Id, Parameters};
use crate::retention;
use crate::store::{CommitError, Erase, Put, RefinementPlan, StoreError, TaskSettings, date_of, unix_time};
use crate::tokens::Role;
use ldp_pca::internal::task::MAX_TASK_BYTES;
use ldp_pca::report::report_bytes;
use ldp_pca::task::{Task, TaskDigest};

/// Bytes of a document besides the task in it.
const BESIDE_THE_TASK: usize = 64 << 10;

/// The task of the second wave, in the answer with the task of the first.
const REFINED_BY: HeaderName = HeaderName::from_static("refined-by");

/// `GET /tasks`; for a browser the list of collections.
pub(super) async fn index(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
    if asks_for_page(&headers) {
        return collector::list(app, &headers).await;
    }
    let (mut tasks, mut periods) = (Vec::new(), Map::new());
    for reports in app.store.tasks() {
        let id = reports.task().digest().to_string();
        if let Some(period) = reports.task().period() {
            periods.insert(id.clone(), period.into());
        }
        tasks.push(id);
    }
    let mut answer = serde_json::json!({"tasks": tasks});
    if !periods.is_empty() {
        answer["periods"] = periods.into();
    }
    if app.relay.get().is_some() {
        answer["relay"] = relayed::PATH.into();
    }
    Ok((Extension(ForEverybody), Json(answer)).into_response())
}

/// `GET /tasks/{id}`.
pub(super) async fn show(State(app): State<Arc<App>>, id: Id) -> Result<Response, Problem> {
    let reports = app.find(id)?;
    let second = app.second_wave(&*reports).map(|second| [(REFINED_BY, second.task().digest().to_string())]);
    Ok(([(header::CONTENT_TYPE, "application/json")], second, reports.task().to_json()).into_response())
}

/// `GET /tasks/{id}/status`.
pub(super) async fn status(State(app): State<Arc<App>>, id: Id) -> Result<Json<Value>, Problem> {
    let reports = app.find(id)?;
    Ok(Json(app.status(&*reports, reports.counts())))
}

/// A task and its operator's settings.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct PutTask {
    /// Read by its own strict reader.
    task: Box<RawValue>,
    /// The settings to change; null removes one. Others stay.
    #[serde(default)]
    settings: Map<String, Value>,
}

/// `PUT /tasks/{id}`: adds a task, or gives it other settings.
pub(super) async fn put(
    State(app): State<Arc<App>>,
    id: Id,
    query: Parameters,
    Extension(request): Extension<RequestId>,
    mut headers: HeaderMap,
    mut body: Body,
) -> Result<Response, Problem> {
    let UrlPath(id) = id.map_err(|_| Problem::unknown_path())?;
    let who = app.tokens.check(&headers, Role::Admin);
    let who = who.map_err(|problem| app.limits.refuse(&headers, &mut body, problem))?;
    // Then the change is only reported, not made.
    let dry_run = flag(query, "dry_run")?;
    // Pages cannot send it, with a type or without one.
    headers.entry(header::CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
    let PutTask { task, settings: changes } =
        app.limits.read_json(&headers, body, MAX_TASK_BYTES + BESIDE_THE_TASK).await?;
    // Large tasks take their time.
    let task = blocking(move || Task::from_json(task.get())).await?;
    let task = task.map_err(|error| Reason::BadTask.because(error.to_string()))?;
    let digest = task.digest();
    if id.parse::<TaskDigest>() != Ok(digest) {
        let id = excerpt(&id);
        return Err(Reason::OtherId.because(format!(
            "the path says '{id}', and the digest of the task in the body is {digest}: PUT it to /tasks/{digest}"
        )));
    }
    let (each, most) = (report_bytes(&task), app.config.max_body_bytes);
    if each > most {
        return Err(Reason::BadTask.because(format!(
            "a report of the task has {each} bytes, but the server reads bodies of {most}: raise max_body_bytes"
        )));
    }
    // One after the other: each starts from the previous one's result.
    let _alone = app.putting.lock().await;
    let present = app.store.task(digest).map(|task| task.settings());
    let settings = changed(present.as_deref(), changes)?;
    check_settings(&settings, present.as_deref(), app.earliest_end())?;
    check_refinement(&app, &task, &settings, present.as_deref())?;
    if dry_run {
        let (created, before) = (present.is_none(), present.as_deref());
        let change = serde_json::json!({"created": created, "before": before, "after": settings});
        return Ok((Extension(Audited { harmless: true, ..Audited::default() }), Json(change)).into_response());
    }
    let told = |settings: &TaskSettings| serde_json::to_string(settings).unwrap_or_default();
    let (before, after) = (present.as_deref().map(told), told(&settings));
    let store = Arc::clone(&app.store);
    let put = blocking(move || store.put(task, settings)).await?.map_err(|error| not_stored(&error))?;
    tracing::info!(task = %digest, %who, request = request.as_str(), change = ?put, before, after, "task put");
    let reports = app.store.task(digest).ok_or_else(|| Problem::unknown_task(&id))?;
    let status = if put == Put::Created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(app.status(&*reports, reports.counts()))).into_response())
}

/// `DELETE /tasks/{id}`: its reports are erased after the grace, or with `now=true` at once.
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    id: Id,
    query: Parameters,
    Extension(request): Extension<RequestId>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let who = app.tokens.check(&headers, Role::Admin)?;
    let UrlPath(id) = id.map_err(|_| Problem::unknown_path())?;
    let Ok(digest) = id.parse::<TaskDigest>() else { return Err(Problem::unknown_task(&id)) };
    let grace = app.config.deletion_grace;
    let now = flag(query, "now")? || grace.is_zero();
    let erase = if now { Erase::Now } else { Erase::AfterGrace };
    // Counted from before the deletion: never promised for longer than it holds.
    let until = (!now).then(|| date_of(unix_time().saturating_add(grace.as_secs())));
    let delete = move || retention::delete(&app, digest, erase, Some((&who, request.as_str())));
    let (deleted, reports) = blocking(delete).await?.map_err(|error| not_stored(&error))?;
    if !deleted {
        return Err(Problem::unknown_task(&id));
    }
    let note = Audited { reports, now: Some(now), ..Audited::default() };
    let deleted = serde_json::json!({"task": digest, "restorable_until": until});
    Ok((Extension(note), Json(deleted)).into_response())
}

/// The number of ids wanted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct WantedIds {
    count: u32,
}

/// `POST /tasks/{id}/seeds`: ids for reports that are still to be made.
pub(super) async fn issue(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    id: Id,
    mut headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let reports = app.find(id)?;
    let admin = app.tokens.has(&headers, Role::Admin)?;
    let settings = reports.settings();
    if let Some(over) = CommitError::of_closed(&settings) {
        return Err(not_committed(&over));
    }
    if !app.issued_ids(&settings) {
        return Err(Reason::NoIssuedIds
            .because("reports of this task make their own ids: ask for none, or ask the operator to set issued_ids"));
    }
    supply_type(&mut headers, &settings, "application/json");
    let WantedIds { count } = app.limits.read_json(&headers, body, 1024).await?;
    let at_once = app.limits.ids.as_ref().map_or(OPEN_COUNT, |limiter| OPEN_COUNT.min(limiter.limit.burst));
    let most = if admin { MOST } else { at_once };
    if !(1..=most).contains(&count) {
        let more = if admin { String::new() } else { format!(" (up to {MOST} with an admin's token)") };
        return Err(Reason::BadCount.because(format!("count is {count}: ask for 1 to {most} ids at a time{more}")));
    }
    if !admin {
        limits::take(&app.limits.ids, client, count)?;
    }
    let ids = app.issuer.issue(reports.task().digest(), count);
    let ids = ids.map_err(|error| Problem::internal(format!("no randomness from the system: {error}")))?;
    app.metrics.issued_ids.inc_by(count.into());
    Ok(Json(serde_json::json!({"ids": ids})).into_response())
}

/// The only parameter of a query, `true` or `false`, where there is one.
fn flag(query: Parameters, name: &str) -> Result<bool, Problem> {
    let bad = |what: String| Err(Reason::BadQuery.because(format!("{what}: use ?{name}=true, ?{name}=false or none")));
    let Ok(Query(query)) = query else { return bad("the query cannot be read".into()) };
    match query.as_slice() {
        [] => Ok(false),
        [(found, value)] if found == name && ["true", "false"].contains(&value.as_str()) => Ok(value == "true"),
        [(found, _), ..] => {
            bad(format!("'{}' is not a parameter here, occurs twice, or has another value", excerpt(found)))
        }
    }
}

/// The settings with these changes.
fn changed(settings: Option<&TaskSettings>, changes: Map<String, Value>) -> Result<TaskSettings, Problem> {
    let bad = |error: serde_json::Error| {
        Reason::BadJson.because(format!("the settings are not the expected document: {error}"))
    };
    let all = serde_json::to_value(settings.cloned().unwrap_or_default()).and_then(serde_json::from_value);
    let mut all: Map<String, Value> = all.map_err(bad)?;
    all.extend(changes);
    serde_json::from_value(Value::Object(all)).map_err(bad)
}

/// The last second of 2100. A later time is in other units.
const LATEST: u64 = 4_133_980_799;

/// Checks the settings. An end before `earliest_end` is a mistake, unless it was set before: with `retention` it would
/// delete the task.
fn check_settings(settings: &TaskSettings, before: Option<&TaskSettings>, earliest_end: u64) -> Result<(), Problem> {
    let bad = |detail: String| Err(Reason::BadSettings.because(detail));
    if let (Some(starts), Some(expires)) = (settings.starts, settings.expires)
        && starts >= expires
    {
        return bad(format!("starts is {starts} and expires is {expires}: a task must start before it expires"));
    }
    for (name, time) in [("starts", settings.starts), ("expires", settings.expires)] {
        if let Some(time) = time.filter(|time| *time > LATEST) {
            return bad(format!(
                "{name} is {time}, which is after the year 2100: give seconds, not milliseconds, or a text such as \
                    \"2099-12-31T23:59:59Z\""
            ));
        }
    }
    if let Some(expires) = settings.expires
        && expires < earliest_end
        && before.and_then(|before| before.expires) != Some(expires)
    {
        let said = date_of(expires);
        return bad(format!(
            "expires is {expires} ({said}), which is past: give a future time, or at least {earliest_end} to end the \
                task now"
        ));
    }
    if let (Some(retention), None) = (settings.retention, settings.expires) {
        return bad(format!("retention is {retention} without expires, from which it counts: give both"));
    }
    for origin in settings.origins.iter().flatten() {
        if !is_origin(origin) {
            let (origin, form) = (excerpt(origin), "scheme, host and port, as https://example.org");
            return bad(format!("'{origin}' is not an origin: write only {form}"));
        }
    }
    Ok(())
}

/// Checks the settings of a second wave, and that a campaign has no other one.
fn check_refinement(
    app: &App,
    task: &Task,
    settings: &TaskSettings,
    before: Option<&TaskSettings>,
) -> Result<(), Problem> {
    let bad = |detail: String| Err(Reason::BadSettings.because(detail));
    let of_server = |settings: &TaskSettings| (settings.closed, settings.refined_by);
    if of_server(settings) != before.map_or((None, None), of_server) {
        return bad("closed and refined_by are what the server has done: leave them out".into());
    }
    let plan = |settings: &TaskSettings| (settings.refine_after, settings.refine_rank);
    if settings.is_closed() && before.is_some_and(|before| plan(settings) != plan(before)) {
        return bad("the first wave is over: leave refine_after and refine_rank as they are".into());
    }
    if before.is_none()
        && task.refinement().is_some()
        && let first = task.campaign()
        && let Some(second) = app.store.second_wave_of(first)
        && second != task.digest()
    {
        return Err(not_stored(&StoreError::SecondWave { first, second }));
    }
    let Some(plan) = settings.plan() else {
        let rank = settings.refine_rank;
        return rank.map_or(Ok(()), |rank| bad(format!("refine_rank is {rank} without refine_after: give both")));
    };
    let RefinementPlan { after, rank } = plan;
    if after == 0 {
        return bad("refine_after is 0: give at least 1, or leave it out for no second wave".into());
    }
    if let Some(most) = settings.max_records.filter(|most| *most < after) {
        return bad(format!(
            "refine_after is {after}, but max_records is {most}: the second wave would never open; give fewer"
        ));
    }
    match placeholder(task, plan) {
        Ok(_) => Ok(()),
        Err(error) => bad(format!("the task cannot be refined at rank {rank}: {error}")),
    }
}

pub(super) fn not_stored(error: &StoreError) -> Problem {
    if matches!(error, StoreError::SecondWave { .. }) {
        return Reason::BadTask.because(error.to_string());
    }
    tracing::warn!(%error, "the store could not be changed");
    let unknown = "it is not known whether anything was changed, so repeat the request";
    let found = if error.is_in_doubt() { unknown } else { "nothing was changed" };
    Reason::StoreUnavailable.because(format!("{found}: {}", error.for_clients()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_is_in_doubt_is_not_called_undone_and_no_answer_has_a_path() {
        let path = std::path::Path::new("/data/tasks");
        let unsynced = StoreError::io("put aside", path, std::io::Error::other("the sync failed"));
        let unknown = "it is not known whether anything was changed, so repeat the request: the sync failed";
        assert_eq!(not_stored(&unsynced).detail, unknown);
        let refused = StoreError::Refused { path: path.to_owned(), problem: "it is closed".into() };
        assert_eq!(not_stored(&refused).detail, "nothing was changed: it is closed");
    }
}
