//! Refusals as `application/problem+json` (RFC 9457). One table has every kind.

use std::fmt::Display;

use axum::Json;
use axum::extract::Extension;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};

use ldp_pca::report::ReportError;

/// Declares an enumeration whose variants have a stable name and other properties, and lists them.
macro_rules! kinds {
    ($(#[$about:meta])* $kind:ident { $($variant:ident = $name:literal $(, $status:ident, $title:literal)?;)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum $kind { $($variant),* }

        impl $kind {
            /// All of them, each at its own number.
            pub(super) const ALL: &[Self] = &[$(Self::$variant),*];

            /// The end of the `type`.
            pub(super) fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }
            kinds! { @statuses $($variant $(, $status, $title)?;)* }
        }
    };
    (@statuses $($variant:ident, $status:ident, $title:literal;)+) => {
        pub(super) fn status(self) -> StatusCode {
            match self { $(Self::$variant => StatusCode::$status),* }
        }

        pub(super) fn title(self) -> &'static str {
            match self { $(Self::$variant => $title),* }
        }
    };
    (@statuses $($variant:ident;)+) => {};
}

kinds! {
    /// The reason for refusing a request.
    Reason {
        BadJson = "bad-json", BAD_REQUEST, "Bad document";
        BadHead = "bad-head", BAD_REQUEST, "Bad head";
        BadQuery = "bad-query", BAD_REQUEST, "Bad query";
        BadRank = "bad-rank", BAD_REQUEST, "Bad rank";
        BadPenalty = "bad-penalty", BAD_REQUEST, "Bad penalty";
        BodyCutOff = "body-cut-off", BAD_REQUEST, "Body cut off";
        BodyLength = "body-length", BAD_REQUEST, "Not a whole number of reports";
        OhttpKey = "ohttp-key", BAD_REQUEST, "Oblivious HTTP key configuration not acceptable";
        SealedRequest = "sealed-request", BAD_REQUEST, "Not a sealed request";
        TokenMissing = "token-missing", UNAUTHORIZED, "A token is needed";
        TokenUnknown = "token-unknown", UNAUTHORIZED, "Unknown token";
        TokenRole = "token-role", FORBIDDEN, "Not with this token";
        TaskNotStarted = "task-not-started", FORBIDDEN, "The task takes no reports yet";
        TaskExpired = "task-expired", FORBIDDEN, "The task takes no more reports";
        TaskRefined = "task-refined", FORBIDDEN, "The first wave is over";
        Quota = "quota", FORBIDDEN, "The task is full";
        UnknownTask = "unknown-task", NOT_FOUND, "Unknown task";
        UnknownPath = "unknown-path", NOT_FOUND, "Nothing at this path";
        MethodNotAllowed = "method-not-allowed", METHOD_NOT_ALLOWED, "Method not allowed";
        BodyTimeout = "body-timeout", REQUEST_TIMEOUT, "Body took too long";
        SecondWave = "second-wave", CONFLICT, "Reports of a second wave";
        NoComponents = "no-components", CONFLICT, "Reports about something else";
        NotRefined = "not-refined", CONFLICT, "No components of both waves";
        BelowMinimumBatch = "below-minimum-batch", CONFLICT, "Too few reports";
        BodyTooLarge = "body-too-large", PAYLOAD_TOO_LARGE, "Body too large";
        MediaType = "media-type", UNSUPPORTED_MEDIA_TYPE, "Unsupported media type";
        ReportsRejected = "reports-rejected", UNPROCESSABLE_ENTITY, "Some reports were rejected";
        BadTask = "bad-task", UNPROCESSABLE_ENTITY, "Bad task";
        BadSettings = "bad-settings", UNPROCESSABLE_ENTITY, "Bad settings";
        OtherId = "other-id", UNPROCESSABLE_ENTITY, "The task has another id";
        NoIssuedIds = "no-issued-ids", CONFLICT, "The task has no issued ids";
        BadCount = "bad-count", UNPROCESSABLE_ENTITY, "Bad number of ids";
        RateLimit = "rate-limit", TOO_MANY_REQUESTS, "Too many requests";
        Internal = "internal", INTERNAL_SERVER_ERROR, "Internal error";
        Busy = "busy", SERVICE_UNAVAILABLE, "Too many reports at once";
        StoreUnavailable = "store-unavailable", SERVICE_UNAVAILABLE, "The reports could not be stored";
        CommitTimeout = "commit-timeout", SERVICE_UNAVAILABLE, "The disk takes too long";
        RecoveryTimeout = "recovery-timeout", SERVICE_UNAVAILABLE, "The components take too long";
        TooManyStreams = "too-many-streams", SERVICE_UNAVAILABLE, "Too many listeners";
        NotReady = "not-ready", SERVICE_UNAVAILABLE, "Not ready";
    }
}

kinds! {
    /// The reason for refusing a report among others that count.
    Rejected {
        NotAReport = "report-not-a-report";
        Version = "report-version";
        OtherTask = "report-other-task";
        Length = "report-length";
        Checksum = "report-checksum";
        Payload = "report-payload";
        Range = "report-range";
        NotIssued = "report-not-issued";
    }
}

impl From<&ReportError> for Rejected {
    fn from(error: &ReportError) -> Self {
        match error {
            ReportError::Version(_) => Self::Version,
            ReportError::OtherTask { .. } => Self::OtherTask,
            ReportError::Length { .. } => Self::Length,
            ReportError::Checksum => Self::Checksum,
            ReportError::Payload(_) => Self::Payload,
            // Its first bytes are no report's; or it is an error that the library got and the interface has not.
            _ => Self::NotAReport,
        }
    }
}

/// The `type` of a name.
pub(super) fn urn(name: &str) -> String {
    match name {
        // Registered for all gateways (RFC 9458).
        "ohttp-key" => "https://iana.org/assignments/http-problem-types#ohttp-key".into(),
        _ => format!("urn:ldp-pca:problem:{name}"),
    }
}

/// The problem of a request; `detail` names the value and the remedy.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    kind: Reason,
    /// The problem and the remedy.
    pub(super) detail: String,
    retry_after: Option<u32>,
    members: Map<String, Value>,
}

impl Reason {
    /// A refusal of this kind. Temporary ones (429 and 503) say when to try again.
    pub(super) fn because(self, detail: impl Into<String>) -> Problem {
        let passing = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&self.status());
        Problem { kind: self, detail: detail.into(), retry_after: passing.then_some(5), members: Map::new() }
    }
}

impl Problem {
    /// Sets when to try again.
    pub(super) fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    pub(super) fn unknown_task(id: &str) -> Self {
        let id = excerpt(id);
        Reason::UnknownTask.because(format!(
            "there is no task '{id}' here: GET /tasks lists the ids, each of 64 lower-case hexadecimal digits"
        ))
    }

    pub(super) fn unknown_path() -> Self {
        Reason::UnknownPath.because("the server has nothing at this path: GET /openapi.json lists what it has")
    }

    pub(super) fn method_not_allowed() -> Self {
        Reason::MethodNotAllowed
            .because("the path exists, but not for this method: the Allow header lists those that it has")
    }

    #[allow(clippy::needless_pass_by_value, reason = "for map_err")]
    pub(super) fn internal(detail: impl Display) -> Self {
        tracing::error!(%detail, "internal error");
        Reason::Internal.because(detail.to_string())
    }

    /// Adds members to the standard ones.
    pub(super) fn with(mut self, members: impl Serialize) -> Self {
        if let Ok(Value::Object(members)) = serde_json::to_value(members) {
            self.members.extend(members);
        }
        self
    }

    /// The problem as a document.
    pub(super) fn document(&self) -> Map<String, Value> {
        let mut document = Map::new();
        document.insert("type".into(), urn(self.kind.name()).into());
        document.insert("title".into(), self.kind.title().into());
        document.insert("status".into(), self.kind.status().as_u16().into());
        document.insert("detail".into(), self.detail.as_str().into());
        document.extend(self.members.clone());
        document
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let media_type = [(CONTENT_TYPE, "application/problem+json")];
        let wait = self.retry_after.map(|seconds| [(RETRY_AFTER, HeaderValue::from(seconds))]);
        let scheme = (self.kind.status() == StatusCode::UNAUTHORIZED).then_some([(WWW_AUTHENTICATE, "Bearer")]);
        // For metrics and the log.
        let kind = Extension(self.kind);
        (self.kind.status(), media_type, wait, scheme, kind, Json(self.document())).into_response()
    }
}

/// The part of a value that an answer repeats.
pub(super) fn excerpt(value: &str) -> String {
    value.chars().take(80).collect()
}
