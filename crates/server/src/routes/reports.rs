//! Upload of reports: `POST /tasks/{id}/reports`.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use serde::Serialize;
use tokio::time::timeout;

use super::blocking;
use crate::app::App;
use crate::config::TASK_BYTES;
use crate::issuing::Issuer;
use crate::limits::{Upload, busy};
use crate::net::Client;
use crate::origins::supply_type;
use crate::problem::{Problem, Reason, Rejected, urn};
use crate::request::{Id, check_media_type};
use crate::store::{Batch, CommitError, Committed, TaskReports, TaskSettings, date_of};
use ldp_pca::internal::decimal::plural;
use ldp_pca::internal::mechanism::Summable;
use ldp_pca::report::{Report, ReportError, report_bytes};
use ldp_pca::task::Task;

/// The media type of reports, beside `application/octet-stream`.
const REPORTS: &str = "application/vnd.ldp-pca.reports";

/// Bytes of reports beyond which they are decoded off the request threads.
const DECODE_INLINE_BYTES: usize = 128 << 10;

/// Refused reports beyond which an answer only counts them.
const LISTED_REJECTIONS: usize = 1000;

/// The outcome of the reports of a request.
#[derive(Debug, Default, Serialize)]
pub(super) struct Verdict {
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

/// `POST /tasks/{id}/reports`.
pub(super) async fn take(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    id: Id,
    mut headers: HeaderMap,
    mut body: Body,
) -> Result<Json<Verdict>, Problem> {
    let start = Instant::now();
    let checked = app.find(id).and_then(|reports| {
        let settings = reports.settings();
        let expired = app.expired(&settings)?;
        supply_type(&mut headers, &settings, REPORTS);
        check_media_type(&headers, "reports as ", &[REPORTS, "application/octet-stream"])?;
        let over = || CommitError::of_closed(&settings);
        let closed = expired.map(CommitError::Expired).or_else(over).or_else(|| full(&app, &*reports, &settings));
        Ok((reports, settings, closed))
    });
    let (reports, settings, closed) = checked.map_err(|problem| app.limits.refuse(&headers, &mut body, problem))?;
    let upload = app.limits.read(client, &headers, body).await?;
    check_length(&upload.bytes, &*reports)?;
    app.limits.admit_reports(client, upload.bytes.len() / reports.report_bytes())?;
    let rules = Rules {
        task: reports.task().clone(),
        checks_range: settings.checks_range(),
        issuer: app.issued_ids(&settings).then(|| app.issuer.clone()),
    };
    let (mut batch, rejections, reasons) = if upload.bytes.len() <= DECODE_INLINE_BYTES {
        decode(upload, &rules)
    } else {
        blocking(move || decode(upload, &rules)).await?
    };
    // A retry of reports that were acknowledged in time gets the same answer.
    batch.closed = closed;
    let committed = if batch.reports.is_empty() {
        Committed::default()
    } else {
        let committed = timeout(app.config.request_timeout, reports.queue().commit(batch)).await;
        committed.map_err(|_| commit_timeout())?.map_err(|error| not_committed(&error))?
    };
    let Committed { accepted, duplicate, conflicting } = committed;
    app.metrics.accepted.inc_by(accepted);
    app.metrics.duplicate.inc_by(duplicate);
    // Only the log says whether a duplicate had another payload. From an answer, or from a figure that everybody sees,
    // whoever knows an id would find its payload by trying.
    if conflicting > 0 {
        tracing::debug!(task = %reports.task().digest(), conflicting, "ids came again with another payload");
    }
    let rejected = reasons.len() as u64;
    for why in reasons {
        app.metrics.rejected[why as usize].inc();
    }
    app.metrics.upload_seconds.observe(start.elapsed().as_secs_f64());
    let verdict = Verdict { accepted, duplicate, rejected, rejections };
    if rejected == 0 { Ok(Json(verdict)) } else { Err(some_rejected(&verdict)) }
}

/// Whether the task is full.
fn full(app: &App, reports: &dyn TaskReports, settings: &TaskSettings) -> Option<CommitError> {
    let (limit, records) = (app.ceiling(reports, settings), reports.counts().records);
    (records >= limit).then_some(CommitError::Quota { limit, records })
}

/// A body is one or more whole reports.
fn check_length(bytes: &[u8], store: &dyn TaskReports) -> Result<(), Problem> {
    let (found, each) = (bytes.len(), store.report_bytes());
    if found > 0 && found.is_multiple_of(each) {
        return Ok(());
    }
    let mut detail = format!(
        "the body has {}, but reports of this task have {each} each: send one or more whole reports; nothing was \
            counted",
        plural(found as u64, "byte")
    );
    // Reports of another task or version have another length.
    if let Err(error @ (ReportError::Magic | ReportError::Version(_) | ReportError::OtherTask { .. })) =
        Report::from_bytes(bytes, store.task())
    {
        detail = format!("{detail} (the first one: {error})");
    }
    Err(Reason::BodyLength.because(detail))
}

/// The conditions on a report of the task.
struct Rules {
    task: Task,
    checks_range: bool,
    issuer: Option<Issuer>,
}

impl Rules {
    /// The report, or why it does not count.
    fn read(&self, frame: &[u8]) -> Result<Report, (Rejected, String)> {
        let report = Report::from_bytes(frame, &self.task).map_err(|error| ((&error).into(), error.to_string()))?;
        if let Some(issuer) = &self.issuer
            && !issuer.issued(self.task.digest(), report.id())
        {
            let detail = "the report's id was not issued here for this task: ask for one at /tasks/{id}/seeds, and \
                randomize with it";
            return Err((Rejected::NotIssued, detail.into()));
        }
        if self.checks_range {
            let checked = self.task.mechanism().check_range(report.payload());
            checked.map_err(|error| (Rejected::Range, error.to_string()))?;
        }
        Ok(report)
    }
}

/// Separates the reports of the task from invalid ones: of these the first ones, and the reasons of all.
fn decode(upload: Upload, rules: &Rules) -> (Batch, Vec<Rejection>, Vec<Rejected>) {
    let Upload { mut bytes, permit } = upload;
    let report_bytes = report_bytes(&rules.task);
    let mut reports = Vec::with_capacity(bytes.len() / report_bytes);
    let (mut reasons, mut rejections) = (Vec::new(), Vec::new());
    for index in 0..bytes.len() / report_bytes {
        let frame = index * report_bytes..(index + 1) * report_bytes;
        match rules.read(&bytes[frame.clone()]) {
            Ok(report) => {
                // Good reports move together.
                if !reasons.is_empty() {
                    bytes.copy_within(frame, reports.len() * report_bytes);
                }
                reports.push(report);
            }
            Err((why, detail)) => {
                reasons.push(why);
                if rejections.len() < LISTED_REJECTIONS {
                    rejections.push(Rejection { index, r#type: urn(why.name()), detail });
                }
            }
        }
    }
    bytes.truncate(reports.len() * report_bytes);
    (Batch { reports, bytes, closed: None, permit: Some(permit) }, rejections, reasons)
}

pub(super) fn not_committed(error: &CommitError) -> Problem {
    match error {
        CommitError::Expired(expires) => Reason::TaskExpired
            .because(format!(
                "reports were accepted until {}: nothing of this request was counted, and what was acknowledged before \
                    counts",
                date_of(*expires)
            ))
            .with(serde_json::json!({"expires": expires})),
        CommitError::Refined(second) => {
            let next = second.map_or_else(
                || "its second wave opens soon".to_owned(),
                |second| format!("other people answer its second wave, task {second}"),
            );
            let members = serde_json::json!({"refined_by": second});
            Reason::TaskRefined
                .because(format!(
                    "the first wave is over: {next}; nothing of this request was counted, and what was acknowledged \
                        before counts"
                ))
                .with(members)
        }
        CommitError::Busy => busy(),
        CommitError::Quota { limit, records } => Reason::Quota
            .because(format!(
                "{error}; none of this request was counted: the operator can raise the limit (max_records of the \
                    task, max_task_records of the server), up to {} GiB of reports",
                TASK_BYTES >> 30
            ))
            .with(serde_json::json!({"max_records": limit, "records": records})),
        CommitError::Unknown(reason) => {
            tracing::warn!(%reason, "it is not known whether reports were stored");
            commit_timeout()
        }
        CommitError::Write(_) | CommitError::Closed => {
            if let CommitError::Write(reason) = error {
                tracing::warn!(%reason, "reports could not be stored");
            }
            Reason::StoreUnavailable
                .because(format!("{error}; none of this request was counted: send the same bytes again later"))
        }
    }
}

fn commit_timeout() -> Problem {
    Reason::CommitTimeout.because(
        "the reports are not yet known to be stored: send the same bytes again later; stored ones are not counted \
            twice",
    )
}

fn some_rejected(verdict: &Verdict) -> Problem {
    let Verdict { accepted, duplicate, rejected, rejections } = verdict;
    let first = rejections.first().map_or("", |rejection| &rejection.detail);
    let (many, were) = (plural(*rejected, "report"), if *rejected == 1 { "was" } else { "were" });
    Reason::ReportsRejected
        .because(format!(
            "{many} {were} rejected; the others count ({accepted} accepted, {duplicate} already there). The \
                first: {first}"
        ))
        .with(verdict)
}
