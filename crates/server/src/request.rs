//! The parts of a request that handlers get, good or not: a handler itself reports what is wrong, in the order it
//! chooses.

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path as UrlPath, Query};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName};

use super::problem::{Problem, Reason, excerpt};

/// The id in the path.
pub(super) type Id = Result<UrlPath<String>, PathRejection>;

/// The names and values of the query.
pub(super) type Parameters = Result<Query<Vec<(String, String)>>, QueryRejection>;

/// Refuses a body that has none of these media types, of which it asks for `what`.
pub(super) fn check_media_type(headers: &HeaderMap, what: &str, types: &[&str]) -> Result<(), Problem> {
    let found = headers.get(CONTENT_TYPE).map_or("", |value| value.to_str().unwrap_or("?"));
    let essence = found.split(';').next().unwrap_or_default().trim();
    if types.iter().any(|known| known.eq_ignore_ascii_case(essence)) {
        return Ok(());
    }
    let (found, known) = (excerpt(found), types.join(" or "));
    Err(Reason::MediaType.because(format!("the Content-Type is '{found}': send {what}{known}")))
}

/// The value of a header, where it has one that is a text.
pub(super) fn text(headers: &HeaderMap, name: HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Whether a header such as Accept names this, and not with a weight of 0.
pub(super) fn accepts(headers: &HeaderMap, name: HeaderName, what: &str) -> bool {
    weight(headers, name, what) > 0.0
}

/// The weight that a header such as Accept gives to this: 0 where it does not name it.
pub(super) fn weight(headers: &HeaderMap, name: HeaderName, what: &str) -> f64 {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    let weights = values.flat_map(|value| value.split(',')).filter_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        parts.next().filter(|named| named.eq_ignore_ascii_case(what))?;
        Some(parts.find_map(|part| part.strip_prefix("q=")?.parse::<f64>().ok()).unwrap_or(1.0))
    });
    weights.fold(0.0, f64::max)
}

/// The task in a path, where it has the form of a digest: clients can write anything there.
pub(super) fn task_of(path: &str) -> Option<&str> {
    let task = path.strip_prefix("/tasks/")?.split('/').next()?;
    (task.len() == 64 && task.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(task)
}
