//! The relay over HTTP: `POST /reports` takes sealed requests, `GET /keys` has the gateway's keys.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ALLOW, CACHE_CONTROL, CONTENT_TYPE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Method, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use tokio::sync::{mpsc, oneshot};

use super::writer::Arrival;
use crate::limits::{Limits, busy};
use crate::net::{Client, RequestBody};
use crate::oblivious::{KEYS, REQUEST, SealingKey};
use crate::origins::preflight;
use crate::problem::{Problem, Reason};
use crate::request::check_media_type;

/// What all connections share.
pub(super) struct Intake {
    /// Where requests go.
    pub(super) inlet: mpsc::Sender<Arrival>,
    /// The gateway's key, to which every request is sealed.
    pub(super) key: SealingKey,
    /// The length of every request.
    pub(super) length: usize,
    pub(super) limits: Limits,
}

impl Intake {
    /// The answer to a request from `peer`, whose address only counts towards the limits of one client.
    pub(super) async fn respond(self: Arc<Self>, peer: IpAddr, request: Request<RequestBody>) -> Response {
        let answered = self.answer(peer.into(), request.map(Body::new)).await;
        finished(answered.unwrap_or_else(IntoResponse::into_response))
    }

    async fn answer(&self, client: Client, request: Request<Body>) -> Result<Response, Problem> {
        let allow = |methods: &'static str| Ok(([(ALLOW, methods)], Problem::method_not_allowed()).into_response());
        match (request.method(), request.uri().path()) {
            (&Method::OPTIONS, _) => Ok(preflight(Some("content-type"))),
            (&Method::POST, "/reports") => self.take(client, request).await,
            (_, "/reports") => allow("POST"),
            (&Method::GET, "/keys") => Ok(([(CONTENT_TYPE, KEYS)], self.key.list()).into_response()),
            (&Method::GET, "/healthz") => Ok(StatusCode::NO_CONTENT.into_response()),
            (_, "/keys" | "/healthz") => allow("GET"),
            _ => Err(Reason::UnknownPath.because("a relay has /keys, and takes sealed reports at /reports")),
        }
    }

    /// Keeps a sealed request: 202 when it is on the disk.
    async fn take(&self, client: Client, request: Request<Body>) -> Result<Response, Problem> {
        let (parts, mut body) = request.into_parts();
        // Pages send it without a type, and so without asking beforehand.
        if parts.headers.contains_key(CONTENT_TYPE) {
            check_media_type(&parts.headers, "sealed reports as ", &[REQUEST])
                .map_err(|problem| self.limits.refuse(&parts.headers, &mut body, problem))?;
        }
        let upload = self.limits.read(client, &parts.headers, body).await?;
        if upload.bytes.len() != self.length {
            return Err(Reason::BodyLength.because(format!(
                "the sealed report has {} bytes, but all reports here have {}, so that none stands out: use the relay \
                    of the report's task",
                upload.bytes.len(),
                self.length
            )));
        }
        if !upload.bytes.starts_with(&self.key.header()) {
            let problem = "the report is sealed to another key than the one at /keys: ask for that, and seal it again";
            return Err(Reason::OhttpKey.because(problem));
        }
        let (sender, kept) = oneshot::channel();
        self.inlet.try_send((upload, sender)).map_err(|_| busy())?;
        match kept.await {
            Ok(true) => Ok(StatusCode::ACCEPTED.into_response()),
            Ok(false) => Err(Reason::Busy
                .because(
                    "as many reports wait for the aggregator as the relay may keep, and this one was not kept: send \
                        the same bytes again later",
                )
                .retry_after(60)),
            Err(_) => Err(Reason::StoreUnavailable.because(
                "the relay cannot keep reports now, nor did it keep this one: send the same bytes again later",
            )),
        }
    }
}

/// Pages of any origin may send reports. No answer is stored on its way.
fn finished(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("retry-after"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
