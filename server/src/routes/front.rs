//! What answers a connection's requests: reports at once, all else through the router.
//!
//! Nearly all requests bring reports. They take a path of their own, without the router's boxes; what they meet on it are the same
//! functions, and tests ask both.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Path as UrlPath, State};
use axum::http::{HeaderValue, Method, Request, Version, header};
use axum::response::{IntoResponse, Response};
use hyper::service::service_fn;
use tower_service::Service;

use super::observe::{Admission, Route, Seen};
use super::reports;
use crate::app::App;
use crate::net::{Answers, RequestBody, TwoLengths};
use crate::problem::{Kind, Problem};

/// What all connections share.
pub(in super::super) struct Front {
    app: Arc<App>,
    router: Router,
}

impl Front {
    pub(in super::super) fn new(app: Arc<App>, router: Router) -> Self {
        Self { app, router }
    }

    /// The service of a connection from `peer`.
    pub(in super::super) fn answering(self: &Arc<Self>, peer: IpAddr) -> impl Answers<Future: Send> + Send + use<> {
        let front = Arc::clone(self);
        service_fn(move |request: Request<RequestBody>| {
            let front = Arc::clone(&front);
            async move { Ok::<_, Infallible>(front.answer(peer, request).await) }
        })
    }

    async fn answer(&self, peer: IpAddr, request: Request<RequestBody>) -> Response {
        // What comes behind a body of uncertain length is not taken for a request.
        let last = request.headers().contains_key(header::TRANSFER_ENCODING);
        let response = match bad_head(&request) {
            None => self.answer_good(peer, request).await,
            Some(problem) => {
                let seen = Seen::of(&self.app, &request, None);
                let (parts, body) = request.into_parts();
                let problem = self.app.limits.refuse(&parts.headers, Body::new(body), problem);
                return with_close(seen.finish(&self.app, problem.into_response()));
            }
        };
        if last { with_close(response) } else { response }
    }

    async fn answer_good(&self, peer: IpAddr, mut request: Request<RequestBody>) -> Response {
        let client = self.app.limits.client(peer, &request);
        let entered = self.app.limits.enter(peer, client);
        let Some(task) = uploads_to(&request) else {
            let admission = Admission { client, entered: entered.as_ref().map(|_| ()).map_err(Clone::clone) };
            request.extensions_mut().insert(admission);
            // Behind a pointer: every connection keeps room for the largest of what it may wait for, and moves it per request.
            let routed = Box::pin(self.router.clone().call(request));
            return routed.await.unwrap_or_else(|never| match never {});
        };
        let (app, task) = (&self.app, task.to_owned());
        let seen = Seen::of(app, &request, Some(Route::Known(reports::ROUTE)));
        let admitted = entered.and_then(|place| app.limits.admit(client).map(|()| place));
        let (parts, body) = request.into_parts();
        let body = Body::new(body);
        let response = match admitted {
            Ok(_place) => {
                let admission = Admission { client, entered: Ok(()) };
                let upload =
                    reports::take(State(Arc::clone(app)), Extension(admission), Ok(UrlPath(task)), parts.headers, body);
                upload.await.into_response()
            }
            Err(problem) => app.limits.refuse(&parts.headers, body, problem).into_response(),
        };
        seen.finish(app, response)
    }
}

/// What makes it uncertain for whom a request is, or where it ends.
fn bad_head<B>(request: &Request<B>) -> Option<Problem> {
    let bad = |detail: &str| Some(Problem::new(Kind::BadHead, detail));
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

/// The connection ends with this answer.
fn with_close(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The task whose reports a request brings, when its path says so without any escapes.
fn uploads_to<B>(request: &Request<B>) -> Option<&str> {
    if request.method() != Method::POST {
        return None;
    }
    let task = request.uri().path().strip_prefix("/tasks/")?.strip_suffix("/reports")?;
    (task.len() == 64 && task.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(task)
}
