//! The routes of the HTTP interface (docs/reference/http-api.md).
//!
//! Nearly all requests carry reports. They are answered without the router's boxes. All requests pass through
//! `observe`, and reports that come through the router, such as those with escapes in their path, reach the same
//! function.

mod audited;
mod collector;
mod erasures;
mod events;
mod gateway;
mod gzip;
mod health;
mod metrics;
mod observe;
mod openapi;
mod page;
mod recovery;
mod relayed;
mod reports;
mod tasks;

use std::future::ready;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Extension, Path as UrlPath, Request, State};
use axum::http::{HeaderValue, Method, Version, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{get, post, put};
use tokio::task::{spawn_blocking, yield_now};
use tower_service::Service;

use self::observe::{Admission, observe};
use crate::app::App;
use crate::net::{Client, RequestBody, TwoLengths};
use crate::oblivious::GATEWAY;
use crate::problem::{Problem, Reason};
use crate::request::task_of;

pub(super) use self::openapi::OPENAPI;

/// The path of reports.
const REPORTS: &str = "/tasks/{id}/reports";

/// The service that answers the requests of all connections.
pub(super) struct Routes {
    app: Arc<App>,
    router: Router,
}

impl Routes {
    /// The files of `www` are served where there is no route.
    pub(super) fn new(app: Arc<App>, www: Option<&Path>) -> Self {
        Self { router: router(Arc::clone(&app), www), app }
    }

    /// The answer to a request on a connection from `peer`.
    pub(super) async fn answer(self: Arc<Self>, peer: IpAddr, request: Request<RequestBody>) -> Response {
        let bad = bad_head(&request);
        // Bytes after a body of uncertain length are not read as a request.
        let last = bad.is_some() || request.headers().contains_key(header::TRANSFER_ENCODING);
        let mut response = match bad {
            // It has no route, and no answer is made.
            Some(problem) => observe(&self.app, Err(problem), None, request.map(Body::new), |_, _| ready(())).await,
            None => self.answer_good(peer, request).await,
        };
        if last {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    async fn answer_good(&self, peer: IpAddr, mut request: Request<RequestBody>) -> Response {
        let app = &self.app;
        let client = app.limits.client(peer, &request);
        // The place is kept until there is an answer.
        let place = app.limits.enter(peer, client);
        let admitted = place.as_ref().map(|_| client).map_err(Clone::clone);
        let Some(task) = uploads_to(&request) else {
            request.extensions_mut().insert(client);
            request.extensions_mut().insert(Admission(admitted));
            // Behind a pointer: every connection keeps room for the largest future it may wait for, and moves it per
            // request.
            let routed = Box::pin(self.router.clone().call(request));
            return routed.await.unwrap_or_else(|never| match never {});
        };
        let task = UrlPath(task.to_owned());
        let take = |request: Request, _: &HeaderValue| {
            let (parts, body) = request.into_parts();
            reports::take(State(Arc::clone(app)), Extension(client), Ok(task), parts.headers, body)
        };
        observe(app, admitted, Some(REPORTS.into()), request.map(Body::new), take).await
    }
}

/// All routes; the files of `www` are served where there is no other.
fn router(app: Arc<App>, www: Option<&Path>) -> Router {
    let listed = Router::new().route("/tasks", get(tasks::index));
    // A page has this path for itself.
    let listed = if www.is_none() { listed.route("/", get(health::about)) } else { listed };
    let results = Router::new()
        .route("/tasks/{id}/report", get(collector::report))
        .route("/tasks/{id}/components", get(collector::components))
        .route("/tasks/{id}/components.csv", get(collector::components_table))
        .route("/tasks/{id}/covariance.csv", get(collector::covariance_table))
        .route("/tasks/{id}/aggregate", get(collector::aggregate))
        // Inside the collectors' layer, which reads passwords.
        .route_layer(from_fn_with_state(Arc::clone(&app), audited::layer));
    let at_once = in_browsers(listed)
        .route("/metrics", get(metrics::show))
        .route("/openapi.json", get(async || ([(header::CONTENT_TYPE, "application/json")], OPENAPI)))
        .route("/tasks/{id}", get(tasks::show))
        .route("/tasks/{id}/status", get(tasks::status))
        .route_layer(from_fn_with_state(Arc::clone(&app), in_turn));
    // In a demo alone.
    let relayed = app.relay.get().map_or_else(Router::new, |relay| relayed::routes(*relay));
    let api = at_once
        .route("/healthz", get(health::live))
        .route("/readyz", get(health::ready))
        .route("/tasks/{id}", put(tasks::put).delete(tasks::delete))
        .route("/tasks/{id}/seeds", post(tasks::issue))
        .route("/tasks/{id}/erasures", post(erasures::erase))
        .route(REPORTS, post(reports::take))
        .route("/tasks/{id}/recovery", get(recovery::show))
        .route("/tasks/{id}/events", get(events::listen))
        .route(GATEWAY, get(gateway::keys).post(gateway::take))
        .merge(relayed)
        .route_layer(from_fn_with_state(Arc::clone(&app), audited::layer))
        .merge(in_browsers(results))
        .method_not_allowed_fallback(async || Problem::method_not_allowed())
        // Bodies are bounded where they are read.
        .layer(DefaultBodyLimit::disable())
        .with_state(Arc::clone(&app));
    let nothing = async || Problem::unknown_path();
    let routes = match www {
        None => api.fallback(nothing),
        Some(folder) => api.fallback_service(page::files(folder)),
    };
    routes.layer(from_fn_with_state(app, observe::layer))
}

/// Routes that collectors open in browsers.
fn in_browsers(routes: Router<Arc<App>>) -> Router<Arc<App>> {
    routes.route_layer(from_fn(collector::layer)).route_layer(from_fn(gzip::layer))
}

/// The layer around routes that answer at once: a client with thousands of requests waits for itself, and others do not
/// wait for it.
async fn in_turn(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    request: Request,
    next: Next,
) -> Response {
    let _turn = app.limits.turns.wait(client).await;
    // Each of many requests on one connection waits until other connections were served.
    yield_now().await;
    next.run(request).await
}

/// Runs work that waits for a disk, or takes long, off the request threads. A panic is a defect, and is reported as
/// one.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    spawn_blocking(work).await.map_err(Problem::internal)
}

/// The task of a request with reports, if its path has no escapes.
fn uploads_to<B>(request: &Request<B>) -> Option<&str> {
    let path = request.uri().path();
    let is_upload = request.method() == Method::POST && path.ends_with("/reports") && path.matches('/').count() == 3;
    task_of(path).filter(|_| is_upload)
}

/// Errors that make a request's target or end uncertain.
fn bad_head<B>(request: &Request<B>) -> Option<Problem> {
    let bad = |detail: &str| Some(Reason::BadHead.because(detail));
    let hosts = request.headers().get_all(header::HOST).iter().count();
    if hosts > 1 {
        return bad("the request has more than one Host: send one");
    }
    if hosts == 0 && request.version() == Version::HTTP_11 {
        return bad("the request has no Host: send one");
    }
    if request.extensions().get::<TwoLengths>().is_some() {
        return bad("the request has both Content-Length and Transfer-Encoding: send one of them");
    }
    None
}
