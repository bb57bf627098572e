//! What answers a connection's requests: first the limit of its rate, then the router.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::service::service_fn;
use tower_service::Service;

use super::config::ServerConfig;
use super::net::{AddressRange, Answers, RateLimiter, client_address};
use super::problem::{Kind, Problem};

/// What all connections share.
pub(super) struct Front {
    router: Router,
    limiter: Option<RateLimiter>,
    trusted_proxies: Vec<AddressRange>,
}

impl Front {
    pub(super) fn new(router: Router, config: &ServerConfig) -> Self {
        let limiter = config.rate_limit.map(RateLimiter::new);
        Self { router, limiter, trusted_proxies: config.trusted_proxies.clone() }
    }

    /// The service of a connection from `peer`.
    pub(super) fn answering(self: &Arc<Self>, peer: IpAddr) -> impl Answers<Future: Send> + Send + use<> {
        let front = Arc::clone(self);
        service_fn(move |request| {
            let front = Arc::clone(&front);
            async move { Ok::<_, Infallible>(front.answer(peer, request).await) }
        })
    }

    async fn answer(&self, peer: IpAddr, request: Request<Incoming>) -> Response {
        let mut request = request.map(Body::new);
        if let Some(limiter) = &self.limiter {
            let client = client_address(peer, request.headers(), &self.trusted_proxies);
            if let Err(wait) = limiter.take(client, Instant::now()) {
                // Refused where every answer gets its headers.
                request.extensions_mut().insert(TooOften(wait));
            }
        }
        self.router.clone().call(request).await.unwrap_or_else(|never| match never {})
    }
}

/// Marks a request that comes too early by so much.
#[derive(Clone, Copy)]
pub(super) struct TooOften(Duration);

impl TooOften {
    pub(super) fn problem(self) -> Problem {
        // Rounded up: who comes back then is not refused again.
        let seconds = u32::try_from(self.0.as_secs()).unwrap_or(u32::MAX).saturating_add(1);
        Problem::new(
            Kind::TooManyRequests,
            format!(
                "more requests come from this address than one client may send, and this one was not read: send it again in {seconds} s"
            ),
        )
        .retry_after(seconds)
    }
}
