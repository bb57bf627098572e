//! CORS (Fetch Standard 3.2): what browsers allow pages of other origins, task by task.
//!
//! tower-http's layer for CORS does not fit: reports pass no layer, and its answers have other headers and another
//! status.

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, CONTENT_TYPE, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use axum::response::{IntoResponse, Response};

use super::request::task_of;
use super::store::{ReportStore, TaskSettings};
use ldp_pca::task::TaskDigest;

/// The header of an answer that is for pages of its own origin alone.
pub(super) const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The routes of tasks that are for collectors alone.
const FOR_COLLECTORS: [&str; 4] =
    ["/tasks/{id}/report", "/tasks/{id}/components.csv", "/tasks/{id}/covariance.csv", "/tasks/{id}/aggregate"];

/// Whether a text is an origin in the form of browsers: scheme, host and port, in lower case, and nothing after them.
/// They send it in exactly this form, so it can be compared as a text.
pub(super) fn is_origin(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-:[]_".contains(&byte);
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| !host.is_empty() && host.bytes().all(plain))
}

/// Whether pages of other origins may use the routes of this path: those of tasks. Others are for operators, relays,
/// collectors and the page that is served here.
pub(super) fn is_for_pages(route: &str) -> bool {
    route.starts_with("/tasks") && !FOR_COLLECTORS.contains(&route)
}

/// The rights of a page of the request's origin; `None` when the request does not come from a page, as with most
/// reports.
pub(super) fn allowance<B>(store: &dyn ReportStore, request: &Request<B>) -> Option<HeaderValue> {
    let origin = request.headers().get(ORIGIN)?;
    let task = task_of(request.uri().path()).and_then(|task| task.parse::<TaskDigest>().ok());
    let settings = task.and_then(|task| store.task(task)).map(|reports| reports.settings());
    match settings.as_ref().and_then(|settings| settings.origins.as_ref()) {
        Some(origins) => is_listed(origins, origin).then(|| origin.clone()),
        None => Some(HeaderValue::from_static("*")),
    }
}

fn is_listed(origins: &[String], origin: &HeaderValue) -> bool {
    origins.iter().any(|known| known.as_bytes() == origin.as_bytes())
}

/// Treats a body without a media type as one of the expected type. A page can send such a body without a preflight
/// request, even while it is being left. So pages that may not use the task still have to name the type, and need a
/// preflight.
pub(super) fn supply_type(headers: &mut HeaderMap, settings: &TaskSettings, media_type: &'static str) {
    let welcome = match (&settings.origins, headers.get(ORIGIN)) {
        (Some(origins), Some(origin)) => is_listed(origins, origin),
        _ => true,
    };
    if welcome && !headers.contains_key(CONTENT_TYPE) {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    }
}

/// Whether this is a preflight request.
pub(super) fn is_preflight<B>(request: &Request<B>) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(ORIGIN)
        && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to a preflight request of a page that may send these headers, if it may send anything. Pages cannot add
/// and delete tasks.
pub(super) fn preflight(sent: Option<&'static str>) -> Response {
    let (methods, age) = ((ACCESS_CONTROL_ALLOW_METHODS, "GET,POST"), (ACCESS_CONTROL_MAX_AGE, "3600"));
    let rights = sent.map(|sent| [methods, (ACCESS_CONTROL_ALLOW_HEADERS, sent), age]);
    (rights, StatusCode::NO_CONTENT).into_response()
}

/// Lets the page see the answer, or not. `asked` is whether the request came from a page at all.
pub(super) fn expose(headers: &mut HeaderMap, asked: bool, allowance: Option<HeaderValue>) {
    if headers.contains_key(RESOURCE_POLICY) {
        return;
    }
    if asked {
        headers.append(VARY, HeaderValue::from_static("origin"));
    }
    if let Some(allowance) = allowance {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, allowance);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("retry-after,x-request-id,refined-by"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_use_the_routes_of_tasks_alone() {
        assert!(["/tasks", "/tasks/{id}/reports"].into_iter().all(is_for_pages));
        assert!(!["/metrics", "/healthz", "/openapi.json", "/tasks/{id}/report"].into_iter().any(is_for_pages));
    }

    #[test]
    fn origins_are_what_browsers_send() {
        for good in ["https://example.org", "http://localhost:8080", "http://[::1]:3000", "https://a-b.example"] {
            assert!(is_origin(good), "{good}");
        }
        for bad in [
            "",
            "*",
            "null",
            "example.org",
            "https://",
            "https://Example.org",
            "https://example.org/",
            "ftp://a",
            "https://a b",
        ] {
            assert!(!is_origin(bad), "{bad}");
        }
    }
}
