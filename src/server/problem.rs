//! Refusals as `application/problem+json` (RFC 9457).

use axum::Json;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::report::ReportError;

/// What went wrong with a request. `kind` ends the stable `type`; `detail` names the value and the remedy.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    kind: &'static str,
    title: &'static str,
    detail: String,
    retry_after: Option<u32>,
    members: Map<String, Value>,
}

/// The `type` of a kind of problem.
pub(super) fn urn(kind: &str) -> String {
    format!("urn:ldp-pca:problem:{kind}")
}

/// The kind of problem that a refused report is.
pub(super) fn report_kind(error: &ReportError) -> &'static str {
    match error {
        ReportError::Magic => "report-not-a-report",
        ReportError::Version(_) => "report-version",
        ReportError::OtherTask { .. } => "report-other-task",
        ReportError::Length { .. } => "report-length",
        ReportError::Checksum => "report-checksum",
        ReportError::Payload(_) => "report-payload",
    }
}

impl Problem {
    pub(super) fn new(status: StatusCode, kind: &'static str, title: &'static str, detail: impl Into<String>) -> Self {
        Self { status, kind, title, detail: detail.into(), retry_after: None, members: Map::new() }
    }

    /// A refusal that may pass: 503, and when to come back.
    pub(super) fn unavailable(kind: &'static str, title: &'static str, detail: impl Into<String>) -> Self {
        Self { retry_after: Some(5), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, kind, title, detail) }
    }

    /// Says when to come back.
    pub(super) fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    pub(super) fn unknown_task(id: &str) -> Self {
        let id: String = id.chars().take(80).collect();
        Self::new(
            StatusCode::NOT_FOUND,
            "unknown-task",
            "Unknown task",
            format!("there is no task '{id}' here: GET /tasks lists the ids, each of 64 lower-case hexadecimal digits"),
        )
    }

    pub(super) fn unknown_path() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "unknown-path",
            "Nothing at this path",
            "the server has nothing at this path: GET /tasks lists the tasks",
        )
    }

    pub(super) fn method_not_allowed() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method-not-allowed",
            "Method not allowed",
            "the path exists, but not for this method: the Allow header lists those that it has",
        )
    }

    pub(super) fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "Internal error", detail)
    }

    /// Adds members beside the standard ones.
    pub(super) fn with(mut self, members: impl Serialize) -> Self {
        if let Ok(Value::Object(members)) = serde_json::to_value(members) {
            self.members.extend(members);
        }
        self
    }

    /// The problem as a document.
    pub(super) fn document(&self) -> Map<String, Value> {
        let mut document = Map::new();
        document.insert("type".into(), urn(self.kind).into());
        document.insert("title".into(), self.title.into());
        document.insert("status".into(), self.status.as_u16().into());
        document.insert("detail".into(), self.detail.as_str().into());
        document.extend(self.members.clone());
        document
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.document())).into_response();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}
