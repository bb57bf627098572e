//! Reading requests within bounds of number, size, time and memory.

use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, Request, header};
use tokio::time::timeout;

use super::config::ServerConfig;
use super::net::{AddressRange, RateLimiter, client_address};
use super::problem::{Kind, Problem};

/// Room that is made for a body before it has come, at most.
const ROOM_AHEAD: usize = 128 << 10;

/// The bounds that all requests share.
pub(super) struct Limits {
    max_body_bytes: usize,
    request_timeout: Duration,
    pending: Arc<Pending>,
    limiter: Option<RateLimiter>,
    trusted_proxies: Vec<AddressRange>,
}

/// The address at the other end of a request's connection, for the limit of its rate.
#[derive(Clone, Copy)]
pub(super) struct Peer(pub(super) IpAddr);

/// The bytes of reports that are held in memory.
struct Pending {
    held: AtomicUsize,
    most: usize,
}

/// Some of the bytes that the server may hold, for as long as it is kept.
pub(super) struct Share {
    pending: Arc<Pending>,
    bytes: usize,
}

impl Share {
    /// For batches that come from no request.
    pub(super) fn of_nothing() -> Self {
        Self { pending: Arc::new(Pending { held: AtomicUsize::new(0), most: 0 }), bytes: 0 }
    }

    /// Takes some more, if they are free.
    fn grow(&mut self, bytes: usize) -> bool {
        let (held, most) = (&self.pending.held, self.pending.most);
        let grown = held.fetch_update(Relaxed, Relaxed, |held| held.checked_add(bytes).filter(|held| *held <= most));
        self.bytes += if grown.is_ok() { bytes } else { 0 };
        grown.is_ok()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.pending.held.fetch_sub(self.bytes, Relaxed);
    }
}

/// A whole request body. Its share of the pending bytes is given back when the permit is dropped.
pub(super) struct Upload {
    pub(super) bytes: Vec<u8>,
    pub(super) permit: Share,
}

impl Limits {
    pub(super) fn new(config: &ServerConfig) -> Self {
        // The largest body fits when nothing else waits.
        let pending = config.max_pending_bytes.max(config.max_body_bytes);
        Self {
            max_body_bytes: config.max_body_bytes,
            request_timeout: config.request_timeout,
            pending: Arc::new(Pending { held: AtomicUsize::new(0), most: pending }),
            limiter: config.rate_limit.map(RateLimiter::new),
            trusted_proxies: config.trusted_proxies.clone(),
        }
    }

    /// Whether requests must carry a [`Peer`].
    pub(super) fn asks_who(&self) -> bool {
        self.limiter.is_some()
    }

    /// Whether the request's sender may ask now.
    pub(super) fn admit<B>(&self, request: &Request<B>) -> Result<(), Problem> {
        let Some((limiter, Peer(peer))) = self.limiter.as_ref().zip(request.extensions().get()) else { return Ok(()) };
        let client = client_address(*peer, request.headers(), &self.trusted_proxies);
        limiter.take(client, Instant::now()).map_err(too_often)
    }

    pub(super) fn request_timeout(&self) -> Duration {
        self.request_timeout
    }

    /// The body, or why not.
    pub(super) async fn read(&self, headers: &HeaderMap, mut body: Body) -> Result<Upload, Problem> {
        let read = timeout(self.request_timeout, self.collect(declared_length(headers), &mut body)).await;
        let problem = match read {
            Ok(Ok(upload)) => return Ok(upload),
            Ok(Err(problem)) => problem,
            Err(_) => return Err(self.too_slow()),
        };
        Err(self.refuse(headers, body, problem).await)
    }

    /// A whole body that is no upload, of at most `most` bytes.
    pub(super) async fn read_document(
        &self,
        headers: &HeaderMap,
        mut body: Body,
        most: usize,
    ) -> Result<Vec<u8>, Problem> {
        let too_large =
            || Problem::new(Kind::BodyTooLarge, format!("the body has more than {most} bytes, and so many are read"));
        let read = if declared_length(headers) > most {
            Ok(Err(too_large()))
        } else {
            let collect = async {
                let mut bytes = Vec::new();
                while let Some(data) = next_data(&mut body).await {
                    let data = data.map_err(|error| cut_off(&error))?;
                    if bytes.len() + data.len() > most {
                        return Err(too_large());
                    }
                    bytes.extend_from_slice(&data);
                }
                Ok(bytes)
            };
            timeout(self.request_timeout, collect).await
        };
        match read {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(problem)) => Err(self.refuse_longer(headers, body, most, problem).await),
            Err(_) => Err(Problem::new(Kind::BodyTimeout, "the body was not complete in time: send it at once")),
        }
    }

    /// Reads what is left of a body (no more than two whole ones) before it is refused: many clients only look at an answer after
    /// they have sent everything, and see a broken connection otherwise. A client that waits for `100 Continue` has not sent it.
    pub(super) async fn refuse(&self, headers: &HeaderMap, body: Body, problem: Problem) -> Problem {
        self.refuse_longer(headers, body, self.max_body_bytes, problem).await
    }

    async fn refuse_longer(&self, headers: &HeaderMap, mut body: Body, most: usize, problem: Problem) -> Problem {
        if !headers.contains_key(header::EXPECT) {
            let discard = async {
                let mut left = most.saturating_mul(2);
                while let Some(Ok(data)) = next_data(&mut body).await {
                    let Some(rest) = left.checked_sub(data.len()) else { break };
                    left = rest;
                }
            };
            // Too slow, too long or broken off: the answer is the same.
            let _ = timeout(self.request_timeout, discard).await;
        }
        problem
    }

    async fn collect(&self, declared: usize, body: &mut Body) -> Result<Upload, Problem> {
        if declared > self.max_body_bytes {
            return Err(self.too_large(declared));
        }
        // What is announced is not yet there: only what has come is held against the others.
        let mut bytes = Vec::with_capacity(declared.min(ROOM_AHEAD));
        let mut permit = Share { pending: Arc::clone(&self.pending), bytes: 0 };
        while let Some(data) = next_data(body).await {
            let data = data.map_err(|error| cut_off(&error))?;
            if bytes.len() + data.len() > self.max_body_bytes {
                return Err(self.too_large(bytes.len() + data.len()));
            }
            if !permit.grow(data.len()) {
                return Err(busy());
            }
            bytes.extend_from_slice(&data);
        }
        Ok(Upload { bytes, permit })
    }

    fn too_large(&self, found: usize) -> Problem {
        let limit = self.max_body_bytes;
        Problem::new(
            Kind::BodyTooLarge,
            format!(
                "the body has {found} bytes or more and at most {limit} are read: send the reports in several requests"
            ),
        )
    }

    fn too_slow(&self) -> Problem {
        let seconds = self.request_timeout.as_secs_f64();
        Problem::new(
            Kind::BodyTimeout,
            format!("the body was not complete after {seconds} s: send fewer reports at a time"),
        )
    }
}

fn too_often(wait: Duration) -> Problem {
    // Rounded up: who comes back then is not refused again.
    let seconds = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX).saturating_add(1);
    Problem::new(
        Kind::RateLimit,
        format!("more requests come from this address than one client may send: send this one again in {seconds} s"),
    )
    .retry_after(seconds)
}

/// The server holds as many reports as it may.
pub(super) fn busy() -> Problem {
    Problem::new(
        Kind::Busy,
        "more reports are waiting for the disk than the server may hold, and none of this request was counted: send the same bytes again later",
    )
}

fn cut_off(error: &axum::Error) -> Problem {
    Problem::new(
        Kind::BodyCutOff,
        format!(
            "the body ended before its announced end, and none of it was counted: send the same bytes again ({error})"
        ),
    )
}

/// The announced length; 0 for a body that comes in chunks.
fn declared_length(headers: &HeaderMap) -> usize {
    headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok()).unwrap_or(0)
}

/// The next piece of a body.
async fn next_data(body: &mut Body) -> Option<Result<Bytes, axum::Error>> {
    loop {
        match poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await? {
            // Trailers carry no report.
            Ok(frame) => match frame.into_data() {
                Ok(data) => return Some(Ok(data)),
                Err(_) => continue,
            },
            Err(error) => return Some(Err(error)),
        }
    }
}
