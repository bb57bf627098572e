//! The gateway of Oblivious HTTP (RFC 9458): its keys, and reports that a relay carries.
//!
//! A report in a sealed request is handled as one of `POST /tasks/{id}/reports`. The address that it comes from is the
//! relay's.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Extension, Path as UrlPath, State};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use super::reports;
use crate::app::App;
use crate::net::Client;
use crate::oblivious::{Inner, KEYS, REQUEST, RESPONSE, answer};
use crate::problem::{Problem, Reason};
use crate::request::check_media_type;

/// More than any answer about reports.
const LONGEST_ANSWER: usize = 1 << 20;

/// `GET /.well-known/ohttp-gateway`: the key configuration.
pub(super) async fn keys(State(app): State<Arc<App>>) -> Response {
    ([(CONTENT_TYPE, KEYS)], app.gateway.advertised().to_vec()).into_response()
}

/// `POST /.well-known/ohttp-gateway`: a sealed request, and its answer, sealed.
pub(super) async fn take(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    mut body: Body,
) -> Result<Response, Problem> {
    check_media_type(&headers, "sealed requests as ", &[REQUEST])
        .map_err(|problem| app.limits.refuse(&headers, &mut body, problem))?;
    let upload = app.limits.read(client, &headers, body).await?;
    let (request, sealer) = app.gateway.open(&upload.bytes)?;
    drop(upload);
    let inner = match Inner::read(&request) {
        Ok(Inner { task, content_type, content }) => {
            let mut headers = HeaderMap::new();
            if let Some(value) = content_type.and_then(|value| HeaderValue::from_bytes(&value).ok()) {
                headers.insert(CONTENT_TYPE, value);
            }
            let (id, body) = (Ok(UrlPath(task)), Body::from(content));
            reports::take(State(Arc::clone(&app)), Extension(client), id, headers, body).await.into_response()
        }
        Err(problem) => problem.into_response(),
    };
    let (parts, body) = inner.into_parts();
    let body = to_bytes(body, LONGEST_ANSWER).await.map_err(Problem::internal)?;
    let names = [CONTENT_TYPE, RETRY_AFTER];
    let named = names.iter().filter_map(|name| Some((name.as_str(), parts.headers.get(name)?.as_bytes().to_vec())));
    let opened = answer(parts.status.as_u16(), &named.collect::<Vec<_>>(), &body).map_err(Problem::internal)?;
    let sealed = sealer.encapsulate(&opened).map_err(Problem::internal)?;
    // A relay cannot see that the same request may succeed later: the header tells it.
    let is_passing = matches!(parts.status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS);
    let wait = || parts.headers.get(RETRY_AFTER).cloned().unwrap_or(HeaderValue::from_static("5"));
    let wait = (is_passing || parts.status.is_server_error()).then(|| [(RETRY_AFTER, wait())]);
    // For metrics and the log.
    let kind = parts.extensions.get::<Reason>().copied().map(Extension);
    Ok(([(CONTENT_TYPE, RESPONSE)], wait, kind, sealed).into_response())
}
