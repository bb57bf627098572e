//! Refusals of the coordinator as `application/problem+json` (RFC 9457).

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use serde_json::json;

/// The problem of a request; `detail` names the value and the remedy.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    /// The end of the `type`.
    kind: &'static str,
    pub(super) detail: String,
    /// The present round, where the message answers another.
    pub(super) round: Option<u32>,
    header: Option<(HeaderName, &'static str)>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Self {
        let header = (status == StatusCode::UNAUTHORIZED).then_some((WWW_AUTHENTICATE, "Bearer"));
        Self { status, kind, detail: detail.into(), round: None, header }
    }

    /// The state of the session does not allow it.
    pub(super) fn conflict(kind: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, kind, detail)
    }

    pub(super) fn unknown_path() -> Self {
        let paths = "/sessions/{id}, and state and messages below it";
        Self::new(StatusCode::NOT_FOUND, "unknown-path", format!("there is nothing at this path: there are {paths}"))
    }

    /// The path has this method alone.
    pub(super) fn method_not_allowed(method: &'static str) -> Self {
        let detail = format!("the path exists, but not for this method: it has {method}");
        let problem = Self::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", detail);
        Self { header: Some((ALLOW, method)), ..problem }
    }

    /// A defect.
    pub(super) fn internal(error: impl core::fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string())
    }

    /// The answer.
    pub(super) fn answer(self) -> Response<Full<Bytes>> {
        let kind = format!("urn:ldp-pca:problem:{}", self.kind);
        let mut document = json!({"type": kind, "status": self.status.as_u16(), "detail": self.detail});
        if let Some(round) = self.round {
            document["round"] = round.into();
        }
        let mut response = answer(document.to_string(), "application/problem+json");
        *response.status_mut() = self.status;
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

/// A good answer.
pub(super) fn answer(text: String, media_type: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// The part of a value that an answer repeats.
pub(super) fn excerpt(value: &str) -> String {
    value.chars().take(80).collect()
}
