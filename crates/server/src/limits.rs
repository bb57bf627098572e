//! Requests read within limits of number, size, time and memory.

use std::future::poll_fn;
use std::mem;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, Request, header};
use serde::de::{DeserializeOwned, Error as _};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::config::ServerConfig;
use super::net::{Client, FORWARDED_FOR, Full, Portion, RateLimiter, Shares, Turns, client_address, is_proxy};
use super::problem::{Problem, Reason, excerpt};
use super::request::{check_media_type, text};

/// The most room that is allocated for a body before it arrives: at first, and once that much has arrived.
const ROOM_AT_FIRST: usize = 4 << 10;
const ROOM_AHEAD: usize = 128 << 10;

/// Bodies up to this length have bytes of their own: a single report finds room even when large bodies have taken
/// theirs.
const SMALL_BODY: usize = 64 << 10;

/// No report is shorter.
const SHORTEST_REPORT: u32 = 34;

/// How long the rest of a refused body is read.
const LINGER: Duration = Duration::from_secs(2);

/// Refused bodies that are read to their end at the same time; further ones are cut off.
const LINGERING: usize = 1024;

/// How long a body may take in any case, and the bytes per second that it must average from then on: slower ones hold a
/// place that others need.
const BODY_GRACE: Duration = Duration::from_secs(5);
const SLOWEST_BODY: f64 = 1024.0;

/// The limits that all requests share.
pub(super) struct Limits {
    config: Arc<ServerConfig>,
    /// The bytes of reports that are held in memory.
    pending: Arc<Shares>,
    /// The part of them only for small bodies.
    spared: usize,
    /// The requests of each client that come through proxies and are being answered.
    forwarded: Arc<Shares>,
    requests: Option<RateLimiter>,
    pub(super) erasures: Option<RateLimiter>,
    pub(super) ids: Option<RateLimiter>,
    reports: Option<RateLimiter>,
    told_of_proxy: Once,
    /// For requests that are answered without waiting.
    pub(super) turns: Arc<Turns>,
    /// One permit for each refused body that is still read.
    lingering: Arc<Semaphore>,
}

/// A whole request body. Its share of the pending bytes is given back when the permit is dropped.
pub(super) struct Upload {
    pub(super) bytes: Vec<u8>,
    pub(super) permit: Portion,
}

impl Limits {
    pub(super) fn new(config: &Arc<ServerConfig>) -> Self {
        let pending = config.pending_bytes();
        let spared = pending / 8;
        let largest = u32::try_from(config.max_body_bytes).unwrap_or(u32::MAX);
        Self {
            config: Arc::clone(config),
            pending: Shares::new(pending.saturating_add(spared), config.client_pending_bytes()),
            spared,
            forwarded: Shares::new(config.max_connections, config.client_places()),
            requests: config.rate_limit.map(|limit| RateLimiter::new(limit, 1)),
            erasures: config.open_erasure.map(|limit| RateLimiter::new(limit, 1)),
            ids: config.seeds_rate_limit.map(|limit| RateLimiter::new(limit, limit.burst)),
            reports: config.reports_rate_limit.map(|limit| RateLimiter::new(limit, largest / SHORTEST_REPORT)),
            told_of_proxy: Once::new(),
            turns: Arc::default(),
            lingering: Arc::new(Semaphore::new(LINGERING)),
        }
    }

    /// The client of a request on a connection from `peer`.
    pub(super) fn client<B>(&self, peer: IpAddr, request: &Request<B>) -> Client {
        let headers = request.headers();
        if peer.is_loopback() && headers.contains_key(FORWARDED_FOR) && !is_proxy(peer, &self.config.trusted_proxies) {
            self.told_of_proxy.call_once(|| {
                tracing::warn!(
                    "a proxy on this machine makes requests for others but is not in trusted_proxies: limits count all \
                        of its clients as one"
                );
            });
        }
        client_address(peer, headers, &self.config.trusted_proxies).into()
    }

    /// Whether the client may make a request now.
    pub(super) fn admit(&self, client: Client) -> Result<(), Problem> {
        if self.is_relay(client) { Ok(()) } else { take(&self.requests, client, 1) }
    }

    /// A place for a request that comes through a proxy, to keep until it is answered. Other connections are counted
    /// themselves.
    pub(super) fn enter(&self, peer: IpAddr, client: Client) -> Result<Option<Portion>, Problem> {
        if !is_proxy(peer, &self.config.trusted_proxies) {
            return Ok(None);
        }
        self.forwarded.take(client, 1).map(Some).map_err(|full| match full {
            Full::Client => Reason::RateLimit.because(
                "one client's limit of requests at the same time is reached for your address: send this one again \
                later",
            ),
            Full::All => {
                Reason::Busy.because("the limit of requests at the same time is reached: send this one again later")
            }
        })
    }

    /// Whether the client may have this many reports stored now.
    pub(super) fn admit_reports(&self, client: Client, reports: usize) -> Result<(), Problem> {
        let count = u32::try_from(reports).unwrap_or(u32::MAX);
        if self.is_relay(client) { Ok(()) } else { take(&self.reports, client, count) }
    }

    /// Whether it speaks for many people, one request each.
    fn is_relay(&self, client: Client) -> bool {
        !self.config.relays.is_empty() && is_proxy(client.address(), &self.config.relays)
    }

    /// The body, or the reason why it is refused.
    pub(super) async fn read(&self, client: Client, headers: &HeaderMap, body: Body) -> Result<Upload, Problem> {
        let most = self.config.max_body_bytes;
        let too_large = |found: usize| {
            Reason::BodyTooLarge.because(format!(
                "the body has {found} bytes or more, but at most {most} are read: send the reports in several requests"
            ))
        };
        let mut permit = self.pending.take(client, 0).map_err(no_room)?;
        // The announced length has not arrived yet: only what has arrived counts.
        let hold = |length: usize, more: usize| {
            let spared = if length > SMALL_BODY { self.spared } else { 0 };
            permit.grow(more, spared).map_err(no_room)
        };
        let bytes = self.collect(headers, body, most, too_large, hold).await?;
        Ok(Upload { bytes, permit })
    }

    /// Reads a document of at most `most` bytes.
    pub(super) async fn read_json<T: DeserializeOwned>(
        &self,
        headers: &HeaderMap,
        mut body: Body,
        most: usize,
    ) -> Result<T, Problem> {
        check_media_type(headers, "", &["application/json"])
            .map_err(|problem| self.refuse(headers, &mut body, problem))?;
        let too_large =
            |_| Reason::BodyTooLarge.because(format!("the body has more than {most} bytes, the most that are read"));
        let bytes = self.collect(headers, body, most, too_large, |_, _| Ok(())).await?;
        // Derived readers would also take an array of the members' values in their order.
        let read = if bytes.trim_ascii_start().starts_with(b"[") {
            Err(serde_json::Error::custom("expected an object"))
        } else {
            serde_json::from_slice(&bytes)
        };
        read.map_err(|error| Reason::BadJson.because(format!("the body is not the expected document: {error}")))
    }

    /// A whole body of at most `most` bytes. `hold` receives each piece before it is kept: the length including it, and
    /// its own.
    async fn collect(
        &self,
        headers: &HeaderMap,
        mut body: Body,
        most: usize,
        too_large: impl Fn(usize) -> Problem,
        mut hold: impl FnMut(usize, usize) -> Result<(), Problem>,
    ) -> Result<Vec<u8>, Problem> {
        // The announced length; 0 for a body that comes in chunks.
        let declared = text(headers, header::CONTENT_LENGTH).parse::<usize>().unwrap_or(0);
        let collect = async {
            let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
            if let Some(coding) = codings.find(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
                let coding = excerpt(coding.to_str().unwrap_or("?"));
                let problem = format!("the Content-Encoding is '{coding}': send the body as it is, without one");
                return Err(Reason::MediaType.because(problem));
            }
            if declared > most {
                return Err(too_large(declared));
            }
            let mut bytes = Vec::with_capacity(declared.min(ROOM_AT_FIRST));
            let start = Instant::now();
            while let Some(data) = next_in_time(&mut body, start, bytes.len()).await? {
                let length = bytes.len() + data.len();
                if length > most {
                    return Err(too_large(length));
                }
                hold(length, data.len())?;
                if length > bytes.capacity() {
                    bytes.reserve(declared.min(ROOM_AHEAD).saturating_sub(bytes.len()));
                }
                bytes.extend_from_slice(&data);
            }
            Ok(bytes)
        };
        match timeout(self.config.request_timeout, collect).await {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(problem)) => Err(self.refuse_longer(headers, &mut body, most, problem)),
            Err(_) => Err(too_slow()),
        }
    }

    /// The refusal, at once. The rest of the body is still read for a while: many clients look at an answer only after
    /// they have sent everything, and see a broken connection otherwise. A client that waits for `100 Continue` has not
    /// sent it.
    pub(super) fn refuse(&self, headers: &HeaderMap, body: &mut Body, problem: Problem) -> Problem {
        self.refuse_longer(headers, body, self.config.max_body_bytes, problem)
    }

    /// The refusal of a body that may have `most` bytes: no more than twice as many are still read.
    fn refuse_longer(&self, headers: &HeaderMap, body: &mut Body, most: usize, problem: Problem) -> Problem {
        if headers.contains_key(header::EXPECT) || body.is_end_stream() {
            return problem;
        }
        let Ok(permit) = Arc::clone(&self.lingering).try_acquire_owned() else { return problem };
        let (mut body, mut left) = (mem::take(body), most.saturating_mul(2));
        tokio::spawn(async move {
            let discard = async {
                while let Some(Ok(data)) = next_data(&mut body).await {
                    let Some(rest) = left.checked_sub(data.len()) else { break };
                    left = rest;
                }
            };
            // Too slow, too long or broken off: the answer is sent.
            let _ = timeout(LINGER, discard).await;
            drop(permit);
        });
        problem
    }
}

/// Takes this many from the client's bucket, where there is a limit.
pub(super) fn take(limiter: &Option<RateLimiter>, client: Client, count: u32) -> Result<(), Problem> {
    let Some(limiter) = limiter else { return Ok(()) };
    limiter.take(client, count, Instant::now()).map_err(|wait| {
        // Rounded up, so that a client that returns then is not refused again.
        let seconds = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX).saturating_add(1);
        let remedy = format!("send it again in {seconds} s");
        let detail = format!("this address sends more than one client may, and nothing of this was counted: {remedy}");
        Reason::RateLimit.because(detail).retry_after(seconds)
    })
}

fn no_room(full: Full) -> Problem {
    match full {
        Full::All => busy(),
        Full::Client => Reason::Busy.because(
            "your address has more reports waiting than one client may have here, and none of this request was \
                counted: send the same bytes again later",
        ),
    }
}

/// The server's limit of waiting reports is reached.
pub(super) fn busy() -> Problem {
    Reason::Busy.because(
        "more reports are waiting for the disk than the server may hold, and none of this request was counted: send \
            the same bytes again later",
    )
}

fn too_slow() -> Problem {
    let (grace, slowest) = (BODY_GRACE.as_secs(), SLOWEST_BODY);
    Reason::BodyTimeout.because(format!(
        "the body was not complete in time (after {grace} s it must have come at {slowest} bytes a second): send it at \
            once, or fewer reports at a time"
    ))
}

/// The next piece of a body, after this many bytes since its start, unless it is too late.
async fn next_in_time(body: &mut Body, start: Instant, received: usize) -> Result<Option<Bytes>, Problem> {
    let allowed = BODY_GRACE + Duration::from_secs_f64(received as f64 / SLOWEST_BODY);
    let next = timeout(allowed.saturating_sub(start.elapsed()), next_data(body)).await;
    next.map_err(|_| too_slow())?.transpose().map_err(|error| {
        let remedy = "none of it was counted: send the same bytes again";
        Reason::BodyCutOff.because(format!("the body ended before its announced end, and {remedy} ({error})"))
    })
}

/// The next piece of a body.
async fn next_data(body: &mut Body) -> Option<Result<Bytes, axum::Error>> {
    loop {
        let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await?;
        // Trailers carry no report.
        if let Some(data) = frame.map(|frame| frame.into_data().ok()).transpose() {
            return Some(data);
        }
    }
}
