//! The HTTP interface (docs/http-api.md).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Path as UrlPath, Query, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Serialize;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tower_http::cors::{Any, CorsLayer};
use tower_http::services::ServeDir;
use tower_http::set_header::SetResponseHeaderLayer;

use super::config::ServerConfig;
use super::events::{self, Events};
use super::limits::{Limits, Upload, busy};
use super::problem::{Problem, report_kind, urn};
use super::recovery::{Recovery, RecoveryCache};
use super::store::{Batch, CommitError, Committed, Counts, ReportStore, TaskReports};
use crate::privacy::Guarantee;
use crate::recovery::Rank;
use crate::report::{Report, ReportError};
use crate::task::{Task, TaskDigest};

/// The media type of reports, beside `application/octet-stream`.
const REPORTS: &str = "application/vnd.ldp-pca.reports";

/// What pages may do: load from here, run WebAssembly, talk to here. The built page states the same in its own head, for
/// hosts that send no headers (www/vite.config.ts); that nobody may frame it can only be said here.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; \
    style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Bytes of reports beyond which they are decoded off the request threads.
const DECODE_INLINE_BYTES: usize = 128 << 10;

/// Refused reports beyond which an answer only counts them.
const LISTED_REJECTIONS: usize = 1000;

/// What all requests share.
pub(super) struct App {
    pub(super) store: Box<dyn ReportStore>,
    pub(super) events: Events,
    recoveries: BTreeMap<TaskDigest, RecoveryCache>,
    pub(super) limits: Limits,
    minimum_batch: u64,
}

impl App {
    pub(super) fn new(store: Box<dyn ReportStore>, config: &ServerConfig) -> Self {
        let recoveries = store.tasks().iter().map(|task| (task.task().digest(), RecoveryCache::default())).collect();
        let events = Events::new(&*store, config.max_event_streams);
        Self { store, events, recoveries, limits: Limits::new(config), minimum_batch: config.minimum_batch.max(1) }
    }

    fn find(&self, id: Result<UrlPath<String>, PathRejection>) -> Result<Arc<dyn TaskReports>, Problem> {
        let UrlPath(id) = id.map_err(|_| Problem::unknown_path())?;
        TaskDigest::from_hex(&id).and_then(|id| self.store.task(id)).ok_or_else(|| Problem::unknown_task(&id))
    }

    pub(super) fn status(&self, store: &dyn TaskReports, counts: Counts) -> Status {
        Status {
            task: store.task().digest().to_string(),
            records: counts.records,
            duplicates: counts.duplicates,
            minimum_batch: self.minimum_batch,
            guarantee: store.task().guarantee(),
            dimension: store.task().dimension(),
            report_bytes: store.report_bytes(),
        }
    }

    /// The components of a state with `records` reports or more.
    pub(super) async fn recover(
        &self,
        store: &Arc<dyn TaskReports>,
        rank: Rank,
        records: u64,
    ) -> Result<Recovery, Problem> {
        if records < self.minimum_batch {
            return Err(below_minimum_batch(records, self.minimum_batch));
        }
        let Some(cache) = self.recoveries.get(&store.task().digest()) else {
            return Err(Problem::internal("the task has no place for its components"));
        };
        let recovery = timeout(self.limits.request_timeout(), cache.recover(Arc::clone(store), rank, records)).await;
        recovery.unwrap_or_else(|_| {
            Err(Problem::unavailable(
                "recovery-timeout",
                "The components take too long",
                "the components are still being computed: ask again later",
            ))
        })
    }
}

fn below_minimum_batch(records: u64, minimum: u64) -> Problem {
    Problem::new(
        StatusCode::CONFLICT,
        "below-minimum-batch",
        "Too few reports",
        format!("there are {records} reports, and components are given out from {minimum} on: collect more"),
    )
    .with(serde_json::json!({"records": records, "minimum_batch": minimum}))
}

/// All routes; the files of `www` are served where there is no other.
pub(super) fn router(app: Arc<App>, www: Option<&Path>) -> Router {
    let cors = CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([header::CONTENT_TYPE])
        .expose_headers([header::RETRY_AFTER]);
    let api = Router::new()
        .route("/healthz", get(health))
        .route("/tasks", get(list_tasks))
        .route("/tasks/{id}", get(show_task))
        .route("/tasks/{id}/status", get(show_status))
        .route("/tasks/{id}/reports", post(take_reports))
        .route("/tasks/{id}/recovery", get(show_recovery))
        .route("/tasks/{id}/events", get(listen))
        .method_not_allowed_fallback(async || Problem::method_not_allowed())
        // Bodies are bounded where they are read.
        .layer(DefaultBodyLimit::disable())
        .layer(cors)
        .layer(set_header(header::CACHE_CONTROL, "no-store"))
        .with_state(app);
    let nothing = async || Problem::unknown_path();
    let routes = match www {
        None => api.fallback(nothing),
        Some(folder) => {
            let files = ServeDir::new(folder)
                .call_fallback_on_method_not_allowed(true)
                .fallback(Router::new().fallback(nothing));
            api.fallback_service(
                Router::new()
                    .fallback_service(files)
                    .layer(set_header(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY)),
            )
        }
    };
    routes.layer(set_header(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
}

fn set_header(name: HeaderName, value: &'static str) -> SetResponseHeaderLayer<HeaderValue> {
    SetResponseHeaderLayer::if_not_present(name, HeaderValue::from_static(value))
}

async fn health() -> Response {
    Json(serde_json::json!({"status": "ok"})).into_response()
}

async fn list_tasks(State(app): State<Arc<App>>) -> Response {
    let tasks: Vec<String> = app.store.tasks().iter().map(|task| task.task().digest().to_string()).collect();
    Json(serde_json::json!({"tasks": tasks})).into_response()
}

async fn show_task(
    State(app): State<Arc<App>>,
    id: Result<UrlPath<String>, PathRejection>,
) -> Result<Response, Problem> {
    let json = app.find(id)?.task().to_json();
    Ok(([(header::CONTENT_TYPE, "application/json")], json).into_response())
}

/// What `GET /tasks/{id}/status` answers.
#[derive(Serialize)]
pub(super) struct Status {
    task: String,
    records: u64,
    /// Since the server was started.
    duplicates: u64,
    minimum_batch: u64,
    guarantee: Guarantee,
    dimension: usize,
    report_bytes: usize,
}

async fn show_status(
    State(app): State<Arc<App>>,
    id: Result<UrlPath<String>, PathRejection>,
) -> Result<Json<Status>, Problem> {
    let store = app.find(id)?;
    Ok(Json(app.status(&*store, store.counts())))
}

/// What became of the reports of a request.
#[derive(Debug, Default, Serialize)]
struct Verdict {
    accepted: u64,
    duplicate: u64,
    rejected: u64,
    /// The first of the rejected ones.
    rejections: Vec<Rejection>,
}

/// One refused report.
#[derive(Debug, Serialize)]
struct Rejection {
    /// Its place in the body, from 0.
    index: usize,
    r#type: String,
    detail: String,
}

async fn take_reports(
    State(app): State<Arc<App>>,
    id: Result<UrlPath<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Verdict>, Problem> {
    let store = match app.find(id).and_then(|store| check_media_type(&headers).map(|()| store)) {
        Ok(store) => store,
        Err(problem) => return Err(app.limits.refuse(&headers, body, problem).await),
    };
    let upload = app.limits.read(&headers, body).await?;
    check_length(&upload.bytes, &*store)?;
    let (batch, rejected, rejections) = if upload.bytes.len() <= DECODE_INLINE_BYTES {
        decode(upload, store.task(), store.report_bytes())
    } else {
        let (task, report_bytes) = (store.task().clone(), store.report_bytes());
        let decoded = spawn_blocking(move || decode(upload, &task, report_bytes)).await;
        decoded.map_err(|error| Problem::internal(error.to_string()))?
    };
    let committed = if batch.reports.is_empty() {
        Committed::default()
    } else {
        let committed = timeout(app.limits.request_timeout(), store.commit(batch)).await;
        committed.map_err(|_| commit_timeout())?.map_err(|error| not_committed(&error))?
    };
    let Committed { accepted, duplicate } = committed;
    let verdict = Verdict { accepted, duplicate, rejected, rejections };
    if rejected == 0 { Ok(Json(verdict)) } else { Err(some_rejected(&verdict)) }
}

fn check_media_type(headers: &HeaderMap) -> Result<(), Problem> {
    let found = headers.get(header::CONTENT_TYPE).map_or("", |value| value.to_str().unwrap_or("?"));
    let essence = found.split(';').next().unwrap_or_default().trim();
    if [REPORTS, "application/octet-stream"].iter().any(|known| known.eq_ignore_ascii_case(essence)) {
        return Ok(());
    }
    let found: String = found.chars().take(80).collect();
    Err(Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "media-type",
        "Unsupported media type",
        format!("the Content-Type is '{found}': send reports as {REPORTS} or application/octet-stream"),
    ))
}

/// A body is one or more whole reports.
fn check_length(bytes: &[u8], store: &dyn TaskReports) -> Result<(), Problem> {
    let (found, each) = (bytes.len(), store.report_bytes());
    if found > 0 && found.is_multiple_of(each) {
        return Ok(());
    }
    let mut detail = format!(
        "the body has {found} bytes, and reports of this task have {each} each: send one or more whole reports; nothing was counted"
    );
    // Reports of another task or version have another length.
    if let Err(error @ (ReportError::Magic | ReportError::Version(_) | ReportError::OtherTask { .. })) =
        Report::from_bytes(bytes, store.task())
    {
        detail = format!("{detail} (the first one: {error})");
    }
    Err(Problem::new(StatusCode::BAD_REQUEST, "body-length", "Not a whole number of reports", detail))
}

/// Separates the reports of the task from what is none.
fn decode(upload: Upload, task: &Task, report_bytes: usize) -> (Batch, u64, Vec<Rejection>) {
    let Upload { mut bytes, permit } = upload;
    let mut reports = Vec::with_capacity(bytes.len() / report_bytes);
    let (mut rejected, mut rejections) = (0, Vec::new());
    for index in 0..bytes.len() / report_bytes {
        let frame = index * report_bytes..(index + 1) * report_bytes;
        match Report::from_bytes(&bytes[frame.clone()], task) {
            Ok(report) => {
                // Good reports move together.
                if rejected > 0 {
                    bytes.copy_within(frame, reports.len() * report_bytes);
                }
                reports.push(report);
            }
            Err(error) => {
                rejected += 1;
                if rejections.len() < LISTED_REJECTIONS {
                    rejections.push(Rejection { index, r#type: urn(report_kind(&error)), detail: error.to_string() });
                }
            }
        }
    }
    bytes.truncate(reports.len() * report_bytes);
    (Batch { reports, bytes, permit }, rejected, rejections)
}

fn not_committed(error: &CommitError) -> Problem {
    match error {
        CommitError::Busy => busy(),
        CommitError::Quota { .. } => Problem::new(
            StatusCode::FORBIDDEN,
            "quota",
            "The task takes no more reports",
            format!("{error}; none of this request was counted: the operator can raise the limit"),
        ),
        CommitError::Write(_) | CommitError::Closed => Problem::unavailable(
            "store-unavailable",
            "The reports could not be stored",
            format!("{error}; none of this request was counted: send the same bytes again later"),
        ),
    }
}

fn commit_timeout() -> Problem {
    Problem::unavailable(
        "commit-timeout",
        "The disk takes too long",
        "the reports are not yet known to be stored: send the same bytes again later, what was stored is not counted twice",
    )
}

fn some_rejected(verdict: &Verdict) -> Problem {
    let Verdict { accepted, duplicate, rejected, rejections } = verdict;
    let first = rejections.first().map_or("", |rejection| &rejection.detail);
    Problem::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "reports-rejected",
        "Some reports were rejected",
        format!(
            "{rejected} reports were rejected; the others count ({accepted} accepted, {duplicate} already there). The first: {first}"
        ),
    )
    .with(verdict)
}

async fn show_recovery(
    State(app): State<Arc<App>>,
    id: Result<UrlPath<String>, PathRejection>,
    query: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<Json<Recovery>, Problem> {
    let store = app.find(id)?;
    let rank = read_rank(query, store.task().dimension())?;
    app.recover(&store, rank, store.counts().records).await.map(Json)
}

async fn listen(
    State(app): State<Arc<App>>,
    id: Result<UrlPath<String>, PathRejection>,
    query: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<Response, Problem> {
    let store = app.find(id)?;
    let rank = read_rank(query, store.task().dimension())?;
    events::listen(app, store, rank)
}

/// The rank, the one parameter there is.
fn read_rank(query: Result<Query<Vec<(String, String)>>, QueryRejection>, dimension: usize) -> Result<Rank, Problem> {
    let parameters = query.map_err(|error| bad_query(error.body_text()))?.0;
    let [(name, value)] = &parameters[..] else {
        let found = parameters.len();
        return Err(bad_query(format!(
            "the query has {found} parameters: ask for ?rank=k with k from 1 to {dimension}"
        )));
    };
    if name != "rank" {
        let name: String = name.chars().take(80).collect();
        return Err(bad_query(format!("the query has '{name}': ask for ?rank=k with k from 1 to {dimension}")));
    }
    let rank = value.parse().ok().and_then(|rank| Rank::new(rank).ok()).filter(|rank| rank.check(dimension).is_ok());
    rank.ok_or_else(|| {
        let value: String = value.chars().take(80).collect();
        Problem::new(
            StatusCode::BAD_REQUEST,
            "bad-rank",
            "Bad rank",
            format!("rank is '{value}': it must be a whole number from 1 to {dimension}, the number of features"),
        )
    })
}

fn bad_query(detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "bad-query", "Bad query", detail)
}
