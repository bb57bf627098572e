//! The `dps-pca coordinate` command: a session over HTTP, with one request on each connection.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, HeaderMap};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use ldp_pca_cli::error::{CliError, Result};
use ldp_pca_cli::output::note;
use ldp_pca_dps::{Message, Session, SessionError};
use serde_json::json;
use subtle::ConstantTimeEq as _;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::folder::{self, COLLECTOR, Key};
use super::problem::{Problem, answer, excerpt};
use super::running::Running;

/// Connections at the same time: each provider has one. Others wait for a place.
const MOST_CONNECTIONS: usize = 2048;

/// The longest that a connection may take, from its first byte to its last.
const LONGEST_CONNECTION: Duration = Duration::from_secs(60);

/// The longest that a request waits for a round to start: proxies and clients give up at thirty seconds.
const LONGEST_WAIT: Duration = Duration::from_secs(25);

/// Before connections are accepted again, where the system has no room for one.
const PAUSE: Duration = Duration::from_millis(100);

/// Bytes of a number in a message, and of the rest of the message.
const BYTES_PER_NUMBER: usize = 20;
const BESIDE_THE_NUMBERS: usize = 1024;

/// Coordinate a session between its providers
///
/// Everything acknowledged is on disk: after a crash, run it again. It serves HTTP alone, so put a proxy with a
/// certificate before it. Ctrl-C ends it.
#[derive(Args)]
pub(crate) struct Coordinate {
    /// The folder of the session, which `start` made
    #[arg(long)]
    data: PathBuf,
    /// Address and port; port 0 takes any free one
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
}

impl Coordinate {
    pub(super) fn run(self) -> Result<()> {
        let (running, key, _lock) = folder::open(&self.data)?;
        let failed = |error: io::Error| {
            let remedy = "choose another address or port";
            CliError::Failed(format!("cannot listen on {}: {error}; {remedy}", self.listen))
        };
        Runtime::new().map_err(CliError::failed)?.block_on(async {
            let listener = TcpListener::bind(self.listen).await.map_err(failed)?;
            // Programs read this line to learn the port.
            println!("listening on http://{}", listener.local_addr().map_err(failed)?);
            note(format_args!("session {}, round {}", running.session.id(), running.state(None).round));
            serve(&listener, &Arc::new(Coordinator { running, key })).await;
            Ok(())
        })
    }
}

/// Answers all connections, until the process ends.
async fn serve(listener: &TcpListener, coordinator: &Arc<Coordinator>) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        // Nobody closes it.
        let place = Arc::clone(&places).acquire_owned().await;
        let Ok((stream, _)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        let coordinator = Arc::clone(coordinator);
        let service = service_fn(move |request| {
            let coordinator = Arc::clone(&coordinator);
            async move { Ok::<_, Infallible>(coordinator.answer(request).await) }
        });
        tokio::spawn(async move {
            let connection = http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service);
            // Too slow, or broken off: the client asks again.
            let _ = timeout(LONGEST_CONNECTION, connection).await;
            drop(place);
        });
    }
}

/// What all connections share.
struct Coordinator {
    running: Running,
    key: Key,
}

impl Coordinator {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        match self.document(request).await {
            Ok(text) => answer(text, "application/json"),
            Err(problem) => problem.answer(),
        }
    }

    async fn document(self: Arc<Self>, request: Request<Incoming>) -> core::result::Result<String, Problem> {
        let (head, body) = request.into_parts();
        let path = head.uri.path().strip_prefix("/sessions/").ok_or_else(Problem::unknown_path)?;
        let (id, part) = path.split_once('/').unwrap_or((path, ""));
        let method = match part {
            "" | "state" => Method::GET,
            "messages" => Method::POST,
            _ => return Err(Problem::unknown_path()),
        };
        if head.method != method {
            return Err(Problem::method_not_allowed(if method == Method::GET { "GET" } else { "POST" }));
        }
        if id != self.running.session.id().to_string() {
            let detail = format!("there is no session '{}' here: give the id that `start` printed", excerpt(id));
            return Err(Problem::new(StatusCode::NOT_FOUND, "unknown-session", detail));
        }
        match part {
            "" => Ok(self.running.session.to_json()),
            "state" => self.state(&head.headers, head.uri.query().unwrap_or_default()).await,
            _ => self.take(&head.headers, body).await,
        }
    }

    /// The state, once the session is past a round or some time is over.
    async fn state(&self, headers: &HeaderMap, query: &str) -> core::result::Result<String, Problem> {
        let provider = Some(self.holder(headers)?).filter(|holder| *holder != COLLECTOR);
        let (after, wait) = read_query(query)?;
        let deadline = Instant::now() + wait;
        let mut changes = self.running.changes();
        loop {
            changes.mark_unchanged();
            let state = self.running.state(provider);
            let waiting = state.is_open() && after.is_some_and(|after| state.round <= after);
            if !waiting || Instant::now() >= deadline {
                return serde_json::to_string(&state).map_err(Problem::internal);
            }
            let _ = timeout_at(deadline, changes.changed()).await;
        }
    }

    /// A provider's answer to the present round.
    async fn take(self: Arc<Self>, headers: &HeaderMap, body: Incoming) -> core::result::Result<String, Problem> {
        let sender = self.sender(headers);
        // Nothing of somebody else is kept.
        let most = if sender.is_ok() { message_bytes(&self.running.session) } else { 0 };
        let bytes = read(body, most).await;
        let (provider, bytes) = (sender?, bytes?);
        let Message { round, cells } = message(&bytes)?;
        let bad =
            |error: SessionError| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-message", error.to_string());
        self.running.session.check_cells(&cells).map_err(bad)?;
        let session = self.running.session.id().to_string();
        // The disk, and then the next round.
        let taken = spawn_blocking(move || self.running.take(provider, round, cells)).await;
        taken.map_err(Problem::internal)??;
        Ok(json!({"session": session, "provider": provider, "round": round}).to_string())
    }

    /// The number of the token that a request has.
    fn holder(&self, headers: &HeaderMap) -> core::result::Result<u32, Problem> {
        let refused = |kind, detail: &str| Problem::new(StatusCode::UNAUTHORIZED, kind, detail);
        let needed = "this needs the token of a provider of this session, or of its collector";
        let Some(value) = headers.get(AUTHORIZATION) else {
            return Err(refused("token-missing", &format!("{needed}: send it as 'Authorization: Bearer <token>'")));
        };
        let (scheme, token) = value.as_bytes().split_at_checked(7).unwrap_or_default();
        let token = if scheme.eq_ignore_ascii_case(b"bearer ") { token.trim_ascii() } else { b"" };
        let number = str::from_utf8(token).ok().and_then(|text| text.split_once('-')?.0.parse().ok());
        let known = |holder: &u32| {
            *holder <= self.running.session.parameters().providers
                && bool::from(self.key.token(*holder).as_bytes().ct_eq(token))
        };
        number.filter(known).ok_or_else(|| refused("token-unknown", &format!("the token is not known: {needed}")))
    }

    /// The provider that sends a message.
    fn sender(&self, headers: &HeaderMap) -> core::result::Result<u32, Problem> {
        match self.holder(headers)? {
            COLLECTOR => {
                let detail = "the collector's token is not for this: messages need that of a provider of this session";
                Err(Problem::new(StatusCode::FORBIDDEN, "token-role", detail))
            }
            provider => Ok(provider),
        }
    }
}

fn message_bytes(session: &Session) -> usize {
    let (dimension, rank) = session.shape();
    BYTES_PER_NUMBER * dimension * rank + BESIDE_THE_NUMBERS
}

/// A message: derived readers would also take an array of the members' values in their order.
fn message(bytes: &[u8]) -> core::result::Result<Message, Problem> {
    let bad = |problem: &str| {
        let detail = format!("the body is not the expected document: {problem}");
        Problem::new(StatusCode::BAD_REQUEST, "bad-json", detail)
    };
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err(bad("it is no object"));
    }
    serde_json::from_slice(bytes).map_err(|error| bad(&error.to_string()))
}

/// A body of at most `most` bytes. A longer one is read to its end and not kept: many clients look at an answer only
/// when they have sent everything.
async fn read(mut body: Incoming, most: usize) -> core::result::Result<Vec<u8>, Problem> {
    let (mut bytes, mut length) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            let detail = format!("the body ended before its end: send the same bytes again ({error})");
            Problem::new(StatusCode::BAD_REQUEST, "body-cut-off", detail)
        })?;
        // Trailers have none.
        let Ok(data) = frame.into_data() else { continue };
        length += data.len();
        if length <= most {
            bytes.extend_from_slice(&data);
        }
    }
    if length > most {
        let detail = format!("the body has more than {most} bytes, the most that are read");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", detail));
    }
    Ok(bytes)
}

/// The round that the state is to be past, and the longest to wait for that: `after=t&wait=s`.
fn read_query(query: &str) -> core::result::Result<(Option<u32>, Duration), Problem> {
    let most = LONGEST_WAIT.as_secs();
    let remedy = format!("ask for ?after=t&wait=s with whole numbers from 0, s up to {most}");
    let bad = |what: String| Problem::new(StatusCode::BAD_REQUEST, "bad-query", format!("{what}: {remedy}"));
    let (mut after, mut wait) = (None, None);
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let number: u32 = value.parse().map_err(|_| bad(format!("{} is '{}'", excerpt(name), excerpt(value))))?;
        let place = match name {
            "after" => &mut after,
            "wait" if u64::from(number) <= most => &mut wait,
            _ => return Err(bad(format!("the query has '{}={number}'", excerpt(name)))),
        };
        if place.replace(number).is_some() {
            return Err(bad(format!("the query has '{name}' twice")));
        }
    }
    Ok((after, Duration::from_secs(wait.unwrap_or(0).into())))
}

#[cfg(test)]
mod tests {
    use ldp_pca::internal::sampling::gaussian::STEPS_PER_SIGMA;
    use ldp_pca_dps::LARGEST_CELL;

    use super::{LONGEST_CONNECTION, LONGEST_WAIT};

    #[test]
    fn the_limits_are_those_of_the_document() {
        let text = include_str!("../../../docs/distributed.md");
        assert!(text.contains(&format!("after s seconds (up to {})", LONGEST_WAIT.as_secs())));
        assert!(text.contains("A request and its answer have a minute") && LONGEST_CONNECTION.as_secs() == 60);
        assert!(text.contains("in steps of a sixteenth of the noise's deviation") && STEPS_PER_SIGMA == 16);
        assert!(text.contains("a number beyond 2^52") && LARGEST_CELL == 1 << 52);
    }
}
