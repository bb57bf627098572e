//! The common part of every request and answer: a request id, headers, metrics, and a log line where one is due.
//!
//! A line has the request's id, its method and route, the task, the status, the problem's type and the time. It has
//! nothing else that a client sent: no query, no body, no token, and neither bytes nor id of a report. An accepted
//! upload has a line at the level `debug` only.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::{Extension, MatchedPath, Request, State};
use axum::http::header::{CACHE_CONTROL, ORIGIN, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tracing::Level;

use super::health;
use crate::app::App;
use crate::net::Client;
use crate::origins;
use crate::problem::{Problem, Reason};
use crate::request::task_of;

/// The header of the request's id, in both directions.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longer ids are replaced.
const LONGEST_ID: usize = 64;

/// The layer around routes, and around unknown paths.
pub(super) async fn layer(
    State(app): State<Arc<App>>,
    Extension(Admission(admitted)): Extension<Admission>,
    request: Request,
    next: Next,
) -> Response {
    // The page's files have no route.
    let route = request.extensions().get::<MatchedPath>().map(|path| Cow::Owned(path.as_str().to_owned()));
    let answer = |mut request: Request, id: &HeaderValue| {
        request.extensions_mut().insert(RequestId(id.clone()));
        next.run(request)
    };
    observe(&app, admitted, route, request, answer).await
}

/// Every request passes here on its way in, and every answer on its way out.
pub(super) async fn observe<F>(
    app: &App,
    client: Result<Client, Problem>,
    route: Option<Cow<'static, str>>,
    request: Request,
    answer: impl FnOnce(Request, &HeaderValue) -> F,
) -> Response
where
    F: Future<Output: IntoResponse>,
{
    let seen = Seen::of(app, &request, route);
    // A supervisor that restarts a server that does not answer must not be refused for asking too often.
    let is_supervisor = seen.route.as_deref().is_some_and(|route| health::PATHS.contains(&route));
    let response = if seen.asked && origins::is_preflight(&request) {
        origins::preflight(seen.allowance.as_ref().map(|_| "content-type,authorization"))
    } else if !is_supervisor && let Err(problem) = client.and_then(|client| app.limits.admit(client)) {
        let (parts, mut body) = request.into_parts();
        app.limits.refuse(&parts.headers, &mut body, problem).into_response()
    } else {
        answer(request, &seen.id).await.into_response()
    };
    seen.finish(app, response)
}

/// The request's id, for lines of its own.
#[derive(Clone)]
pub(super) struct RequestId(HeaderValue);

impl RequestId {
    pub(super) fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

/// The client of a request for which there is a place, or why there is none.
#[derive(Clone)]
pub(super) struct Admission(pub(super) Result<Client, Problem>);

/// The parts of a request that are kept for its answer and its log line.
struct Seen {
    start: Instant,
    id: HeaderValue,
    method: Method,
    /// The path of the interface that the request is for.
    route: Option<Cow<'static, str>>,
    /// Whether the request comes from a page, and is for what pages may use.
    asked: bool,
    allowance: Option<HeaderValue>,
    /// For a line that would have it.
    task: Option<String>,
}

impl Seen {
    fn of(app: &App, request: &Request, route: Option<Cow<'static, str>>) -> Self {
        let headers = request.headers();
        let id = headers.get(&REQUEST_ID).filter(|id| is_sane(id)).cloned().unwrap_or_else(next_id);
        let asked = route.as_deref().is_some_and(origins::is_for_pages) && headers.contains_key(ORIGIN);
        let allowance = if asked { origins::allowance(&*app.store, request) } else { None };
        let task = tracing::enabled!(Level::DEBUG).then(|| task_of(request.uri().path())).flatten().map(str::to_owned);
        Self { start: Instant::now(), id, method: request.method().clone(), route, asked, allowance, task }
    }

    /// Adds the answer's headers, counts it, and logs it.
    fn finish(self, app: &App, mut response: Response) -> Response {
        let status = response.status();
        let kind = response.extensions().get::<Reason>().copied();
        if let Some(kind) = kind {
            app.metrics.problems[kind as usize].inc();
        }
        self.tell(status, kind);
        let Self { id, route, asked, allowance, .. } = self;
        let headers = response.headers_mut();
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if route.is_some() {
            headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
            origins::expose(headers, asked, allowance);
        }
        headers.insert(REQUEST_ID, id);
        response
    }

    fn tell(&self, status: StatusCode, kind: Option<Reason>) {
        /// One line; levels are constants.
        macro_rules! line {
            ($level:expr) => {
                tracing::event!(
                    $level,
                    request = self.id.to_str().unwrap_or_default(),
                    method = %self.method,
                    route = self.route.as_deref().unwrap_or_default(),
                    task = self.task.as_deref(),
                    status = status.as_u16(),
                    problem = kind.map(Reason::name),
                    ms = self.start.elapsed().as_secs_f64() * 1e3,
                    "request"
                )
            };
        }
        match kind {
            // Problems that an operator has to act on.
            Some(Reason::Internal | Reason::StoreUnavailable | Reason::CommitTimeout) => line!(Level::WARN),
            // Somebody without permission.
            Some(Reason::TokenUnknown | Reason::TokenRole) => line!(Level::INFO),
            _ => line!(Level::DEBUG),
        }
    }
}

/// Whether a client's id can go into a log as it is.
fn is_sane(id: &HeaderValue) -> bool {
    (1..=LONGEST_ID).contains(&id.len())
        && id.as_bytes().iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// An id that no other request of this process has, and hardly one of another.
fn next_id() -> HeaderValue {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut number = NEXT.fetch_add(1, Ordering::Relaxed);
    if number == 0 {
        // The first one chooses the start. Without randomness, ids start at 1 in every process.
        let mut random = [0; 8];
        let _ = getrandom::fill(&mut random);
        number = u64::from_le_bytes(random) >> 1;
        NEXT.fetch_add(number, Ordering::Relaxed);
    }
    HeaderValue::try_from(format!("{number:016x}")).unwrap_or(HeaderValue::from_static("0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_clients_are_taken_when_they_can_stand_in_a_log() {
        for good in ["a", "3fa85f64-5717-4562-b3fc-2c963f66afa6", "x_1.2", &"a".repeat(64)] {
            assert!(is_sane(&HeaderValue::from_str(good).unwrap()), "{good}");
        }
        for bad in ["", "a b", "a\"b", "{}", "a\u{e9}", &"a".repeat(65)] {
            assert!(!is_sane(&HeaderValue::from_bytes(bad.as_bytes()).unwrap()), "{bad}");
        }
    }
}
