//! The life of a connection, from the accepted socket to the last answer.
//!
//! `axum::serve` accepts every connection and waits for it without a limit. Here a connection without a place gets an
//! answer that says so, and an idle one releases its buffers: thousands may be open.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::Bytes;
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::header::TRANSFER_ENCODING;
use hyper::server::conn::http1::{self, Parts};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy, sink};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::activity::{Activity, AnswerBody, Phase, RequestBody, Watched};
use super::client::Client;
use super::shares::Full;
use super::table::Table;
use super::tls::Tls;
use crate::problem::urn;

/// The largest head of a request, in bytes; beyond it a request is refused with 431.
const MAX_HEAD: usize = 32 << 10;

/// The bytes that a connection reads at once before a request arrives: pipelined requests do not fill the memory while
/// their answers wait.
const READ_HEAD: usize = 16 << 10;

/// The bytes that it reads at once of a request. It holds this much while a request is under way.
const READ_BODY: usize = 64 << 10;

/// Both, while few connections are open: most requests whole, so that their bodies need not be put together.
const READ_AMONG_FEW: usize = 128 << 10;

// hyper's buffer holds any head, and enough of a larger one to see that it is too large.
const _: () = assert!(2 * MAX_HEAD <= READ_BODY);

/// The part of the next request that an idle connection reads: most heads fit.
const FIRST_BYTES: usize = 512;

/// Connections that are answered with a refusal at the same time; further ones are closed silently.
const REFUSED_AT_ONCE: usize = 256;

/// How long a refused client may take to read the reason.
const REFUSAL: Duration = Duration::from_secs(2);

static REFUSING: Semaphore = Semaphore::const_new(REFUSED_AT_ONCE);

/// A request whose head gives the length of its body in two ways. Servers on its way may have used the other one.
#[derive(Clone, Copy)]
pub(in super::super) struct TwoLengths;

/// Serves the connection in its own task, or answers that there is no place for it.
pub(super) fn start<F, A>(
    stream: TcpStream,
    tls: Option<Tls>,
    respond: F,
    draining: watch::Receiver<bool>,
    client: Option<Client>,
    table: &Arc<Table>,
) where
    F: Fn(Request<RequestBody>) -> A + Send + 'static,
    A: Future<Output = Response> + Send + 'static,
{
    let activity = Arc::new(Activity::new(&table.clock));
    let watched = Arc::clone(&activity);
    let mut refused = Some(stream);
    let started = table.start(watched, client, |place| {
        let stream = refused.take();
        tokio::spawn(async move {
            let Some(stream) = stream else { return };
            match tls {
                None => answer(stream, respond, activity, draining, place.among_few).await,
                Some(tls) => {
                    // A handshake that fails concerns nobody else.
                    if let Ok(stream) = tls.shake_hands(stream).await {
                        answer(stream, respond, activity, draining, place.among_few).await;
                    }
                }
            }
            drop(place);
        })
    });
    // In the clear even with TLS: the client sees a connection that fails, as it would in any case.
    if let (Some(stream), Err(full), Ok(permit)) = (refused, started, REFUSING.try_acquire()) {
        tokio::spawn(async move {
            let _ = timeout(REFUSAL, refuse(stream, full)).await;
            drop(permit);
        });
    }
}

/// Answers requests until the client has enough, something fails, or the server drains.
///
/// A connection allocates its buffers when the first bytes of a request arrive, and releases them when it has been idle
/// for a moment: thousands may be open, but few are in use at a time.
async fn answer<T, A>(
    stream: T,
    respond: impl Fn(Request<RequestBody>) -> A,
    activity: Arc<Activity>,
    draining: watch::Receiver<bool>,
    among_few: bool,
) where
    T: AsyncRead + AsyncWrite + Unpin,
    A: Future<Output = Response>,
{
    let (head, body) = if among_few { (READ_AMONG_FEW, READ_AMONG_FEW) } else { (READ_HEAD, READ_BODY) };
    let noted = Arc::clone(&activity);
    let mut service = service_fn(move |mut request: Request<Incoming>| {
        noted.enter(Phase::Busy);
        if noted.take_announced() && request.headers().contains_key(TRANSFER_ENCODING) {
            request.extensions_mut().insert(TwoLengths);
        }
        let request = request.map(|body| RequestBody::of_request(body, Arc::clone(&noted)));
        let (answered, noted) = (respond(request), Arc::clone(&noted));
        async move { Ok::<_, Infallible>(answered.await.map(|body| AnswerBody::of_answer(body, noted))) }
    });
    let mut builder = http1::Builder::new();
    // The table enforces the times.
    builder.header_read_timeout(None).max_header_size(MAX_HEAD);
    // One write for the head and a small body is less work than a gathered one.
    builder.max_buf_size(body).writev(false);
    let new = Watched::new(stream, Arc::clone(&activity), head);
    let Some(mut stream) = rest(new, Bytes::new(), draining.clone()).await else { return };
    loop {
        // Behind a pointer: it is large, and is released while the connection is idle.
        let mut connection = Box::new(builder.serve_connection(TokioIo::new(stream), service));
        let (mut draining, flag) = (draining.clone(), draining.clone());
        let mut drain = pin!(async move { draining.wait_for(|draining| *draining).await.is_ok() });
        let (mut registered, mut told) = (false, false);
        let rests = poll_fn(|context| {
            // Cut off, or not HTTP: the client knows, and the server can do nothing about it.
            if Pin::new(&mut *connection).poll(context).is_ready() {
                return Poll::Ready(false);
            }
            // Polled once, it wakes this task when the server drains; polling at every turn costs a lock that all
            // connections share.
            let drains = if registered { *flag.borrow() } else { drain.as_mut().poll(context).is_ready() };
            if !registered {
                activity.tell(context);
                registered = true;
            }
            if drains && !told {
                told = true;
                Pin::new(&mut *connection).graceful_shutdown();
                return Pin::new(&mut *connection).poll(context).map(|_| false);
            }
            if !told && activity.is_to_rest() { Poll::Ready(true) } else { Poll::Pending }
        })
        .await;
        if !rests {
            return;
        }
        let Parts { io, read_buf, service: same, .. } = connection.into_parts();
        let Some(woken) = rest(io.into_inner(), read_buf, flag).await else { return };
        (stream, service) = (woken, same);
    }
}

/// Waits for the first bytes of the next request with as little memory as possible. `None` when the client or the
/// server ends.
async fn rest<T>(mut stream: Watched<T>, read: Bytes, mut draining: watch::Receiver<bool>) -> Option<Watched<T>>
where
    T: AsyncRead + Unpin,
{
    if !read.is_empty() {
        return Some(stream.put_back(read));
    }
    let mut first = [0; FIRST_BYTES];
    let count = tokio::select! {
        count = stream.read(&mut first) => count.ok().filter(|count| *count > 0)?,
        _ = draining.wait_for(|draining| *draining) => return None,
    };
    Some(stream.put_back(Bytes::copy_from_slice(&first[..count])))
}

/// The whole answer to a connection without a place.
fn answer_of(full: Full) -> String {
    let who = full.who();
    let problem = serde_json::json!({
        "type": urn("too-many-connections"),
        "title": "Too many connections",
        "status": 503,
        "detail": format!("{who} as many connections as it may: nothing was read, send the same request again later"),
    })
    .to_string();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nretry-after: 5\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{problem}",
        problem.len()
    )
}

/// Sends the reason, and reads a little of what the client still sends, so that it is not cut off before it reads the
/// answer.
async fn refuse(mut stream: TcpStream, full: Full) -> io::Result<()> {
    stream.write_all(answer_of(full).as_bytes()).await?;
    stream.shutdown().await?;
    copy(&mut stream.take(64 << 10), &mut sink()).await.map(drop)
}

/// Pauses after an error that is not the connection's own: no more descriptors or memory. One idle connection is
/// closed to free some. The more failures there were in a row, the longer it lasts.
pub(super) async fn pause(failures: &mut u32, error: &io::Error, table: &Table) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    // Errors of one connection only: the next one may succeed.
    if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted) {
        return;
    }
    if *failures == 0 {
        tracing::warn!(%error, "no connection can be accepted now: raise the limit of open files, or lower \
            max_connections");
    }
    table.make_room();
    let rest = Duration::from_millis(10 << (*failures).min(6));
    *failures += 1;
    sleep(rest).await;
}

#[cfg(test)]
mod tests {
    use super::{Full, answer_of};

    #[test]
    fn the_refusals_have_the_length_that_they_announce_and_are_problems() {
        for full in [Full::All, Full::Client] {
            let answer = answer_of(full);
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
            let problem: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(problem["status"], 503);
        }
    }
}
