//! The way from the page to the relay of a demo: a page may connect to its own origin alone.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, Response};
use axum::response::IntoResponse as _;
use axum::routing::{get, post};

use super::blocking;
use crate::agent::local_agent;
use crate::app::App;
use crate::net::Client;
use crate::oblivious::REQUEST;
use crate::problem::{Problem, Reason};

/// Where the relay is for pages.
pub(super) const PATH: &str = "relay";

/// The longest that the relay may take, which is on this machine.
const LONGEST_REQUEST: Duration = Duration::from_secs(10);

/// The largest answer that is read.
const LARGEST_ANSWER: u64 = 64 << 10;

/// The routes to this relay.
pub(super) fn routes(relay: SocketAddr) -> Router<Arc<App>> {
    let agent = local_agent(LONGEST_REQUEST);
    let keys = {
        let agent = agent.clone();
        async move || answered(move || agent.get(format!("http://{relay}/keys")).call()).await
    };
    let reports = async move |State(app): State<Arc<App>>,
                              Extension(client): Extension<Client>,
                              headers: HeaderMap,
                              body: Body| {
        let upload = app.limits.read(client, &headers, body).await?;
        let send = move || {
            let request = agent.post(format!("http://{relay}/reports")).content_type(REQUEST);
            request.send(&upload.bytes[..])
        };
        answered(send).await
    };
    Router::new().route("/relay/keys", get(keys)).route("/relay/reports", post(reports))
}

/// The relay's answer, as it is.
async fn answered(
    ask: impl FnOnce() -> Result<Response<ureq::Body>, ureq::Error> + Send + 'static,
) -> Result<Response<Body>, Problem> {
    let whole = move || {
        let (parts, mut body) = ask()?.into_parts();
        Ok::<_, ureq::Error>((parts, body.with_config().limit(LARGEST_ANSWER).read_to_vec()?))
    };
    let (parts, body) = blocking(whole).await?.map_err(|error| {
        let remedy = "send the same bytes again";
        Reason::StoreUnavailable.because(format!("the demo's relay does not answer ({error}): {remedy}"))
    })?;
    let kept = [CONTENT_TYPE, RETRY_AFTER].into_iter();
    let kept = kept.filter_map(|name| Some((name.clone(), parts.headers.get(&name)?.clone())));
    Ok((parts.status, HeaderMap::from_iter(kept), Body::from(body)).into_response())
}
