//! Reading request bodies within bounds of size, time and memory.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, header};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::config::ServerConfig;
use super::problem::{Kind, Problem};

/// The bounds that all requests share.
pub(super) struct Limits {
    max_body_bytes: usize,
    request_timeout: Duration,
    /// One permit per byte of reports that is held in memory.
    pending: Arc<Semaphore>,
}

/// A whole request body. Its share of the pending bytes is given back when the permit is dropped.
pub(super) struct Upload {
    pub(super) bytes: Vec<u8>,
    pub(super) permit: OwnedSemaphorePermit,
}

impl Limits {
    pub(super) fn new(config: &ServerConfig) -> Self {
        // The largest body fits when nothing else waits.
        let pending = config.max_pending_bytes.max(config.max_body_bytes).min(Semaphore::MAX_PERMITS);
        Self {
            max_body_bytes: config.max_body_bytes,
            request_timeout: config.request_timeout,
            pending: Arc::new(Semaphore::new(pending)),
        }
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

    /// Reads what is left of a body (no more than another whole one) before it is refused: many clients only look at an answer after
    /// they have sent everything, and see a broken connection otherwise. A client that waits for `100 Continue` has not sent it.
    pub(super) async fn refuse(&self, headers: &HeaderMap, mut body: Body, problem: Problem) -> Problem {
        if !headers.contains_key(header::EXPECT) {
            let discard = async {
                let mut left = self.max_body_bytes;
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
        let mut bytes = Vec::new();
        let mut permit = self.reserve(0)?;
        while let Some(data) = next_data(body).await {
            let data = data.map_err(|error| cut_off(&error))?;
            if bytes.len() + data.len() > self.max_body_bytes {
                return Err(self.too_large(bytes.len() + data.len()));
            }
            permit.merge(self.reserve(data.len())?);
            bytes.extend_from_slice(&data);
        }
        Ok(Upload { bytes, permit })
    }

    fn reserve(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Problem> {
        let permits = u32::try_from(bytes).ok();
        permits.and_then(|permits| Arc::clone(&self.pending).try_acquire_many_owned(permits).ok()).ok_or_else(busy)
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
