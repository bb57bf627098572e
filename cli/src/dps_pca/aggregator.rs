//! A client of the server, for providers, admins and collectors.

use std::thread::sleep;
use std::time::{Duration, Instant};

use ldp_pca_dps::{Session, SessionId, State};
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::http::Request;

use crate::error::{CliError, Result};

/// Seconds for which the server holds a request for the next round.
const WAIT: u32 = 20;

/// The longest that a request may take.
const LONGEST_REQUEST: Duration = Duration::from_secs(60);

/// The longest pause between attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The largest answer that is read.
const LARGEST_ANSWER: u64 = 32 << 20;

/// A server, and the token for its requests.
pub(super) struct Aggregator {
    url: String,
    token: String,
    agent: ureq::Agent,
    /// How long requests are repeated while it cannot be reached.
    patience: Duration,
}

/// The outcome of a message.
pub(super) enum Sent {
    /// It was accepted.
    Taken,
    /// The session has moved on: ask for its state.
    TooLate,
}

impl Aggregator {
    pub(super) fn new(url: &str, token: String, patience: Duration) -> Self {
        let config = ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(LONGEST_REQUEST));
        Self { url: url.trim_end_matches('/').to_owned(), token, agent: config.build().into(), patience }
    }

    /// The session of this id, and no other: the id is the digest of its parameters.
    pub(super) fn session(&self, id: SessionId) -> Result<Session> {
        let text = self.good("GET", &format!("/sessions/{id}"), "")?;
        let session = Session::from_json(&text).map_err(|error| CliError::Failed(format!("{}: {error}", self.url)))?;
        if session.id() != id {
            return Err(CliError::Failed(format!(
                "{} returned session {} instead of {id}: its parameters were changed; nothing was sent",
                self.url,
                session.id()
            )));
        }
        Ok(session)
    }

    /// The state, at once.
    pub(super) fn state(&self, id: SessionId) -> Result<State> {
        self.document("GET", &format!("/sessions/{id}/state"), "")
    }

    /// The state once the session is past round `after`, or after some seconds.
    pub(super) fn state_after(&self, id: SessionId, after: u32) -> Result<State> {
        self.document("GET", &format!("/sessions/{id}/state?after={after}&wait={WAIT}"), "")
    }

    /// Sends a message.
    pub(super) fn send(&self, id: SessionId, message: &str) -> Result<Sent> {
        let path = format!("/sessions/{id}/messages");
        match self.ask("POST", &path, message)? {
            (200, _) => Ok(Sent::Taken),
            (409, text) if kind(&text) == "other-round" => Ok(Sent::TooLate),
            (status, text) => Err(self.refused(&path, status, &text)),
        }
    }

    /// Creates a session.
    pub(super) fn create(&self, session: &Session) -> Result<Value> {
        self.document("POST", "/sessions", &session.to_json())
    }

    fn document<T: DeserializeOwned>(&self, method: &str, path: &str, body: &str) -> Result<T> {
        let text = self.good(method, path, body)?;
        let unreadable =
            |error| CliError::Failed(format!("{}{path} sent an answer that cannot be read: {error}", self.url));
        serde_json::from_str(&text).map_err(unreadable)
    }

    fn good(&self, method: &str, path: &str, body: &str) -> Result<String> {
        match self.ask(method, path, body)? {
            (200 | 201, text) => Ok(text),
            (status, text) => Err(self.refused(path, status, &text)),
        }
    }

    /// Repeats a request until its answer is final.
    fn ask(&self, method: &str, path: &str, body: &str) -> Result<(u16, String)> {
        let url = format!("{}{path}", self.url);
        let start = Instant::now();
        let mut pause = Duration::from_millis(50);
        loop {
            let wrong = match self.try_once(method, &url, body) {
                Ok((status, text)) if ![429, 503].contains(&status) => return Ok((status, text)),
                Ok((status, text)) => self.refused(path, status, &text),
                Err(error @ ureq::Error::BadUri(_)) => return Err(CliError::Usage(format!("{url}: {error}"))),
                Err(error) => CliError::Failed(format!("{url}: {error}")),
            };
            if start.elapsed() + pause > self.patience {
                return Err(wrong);
            }
            sleep(pause);
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    fn try_once(&self, method: &str, url: &str, body: &str) -> core::result::Result<(u16, String), ureq::Error> {
        let request =
            Request::builder().method(method).uri(url).header("authorization", format!("Bearer {}", self.token));
        let mut response = if method == "GET" {
            self.agent.run(request.body(())?)?
        } else {
            self.agent.run(request.header("content-type", "application/json").body(body)?)?
        };
        let text = response.body_mut().with_config().limit(LARGEST_ANSWER).read_to_string()?;
        Ok((response.status().as_u16(), text))
    }

    fn refused(&self, path: &str, status: u16, text: &str) -> CliError {
        let problem: Value = serde_json::from_str(text).unwrap_or_default();
        let detail = problem["detail"].as_str().unwrap_or("it is not an aggregator with sessions");
        CliError::Failed(format!("{}{path} answers {status}: {detail}", self.url))
    }
}

/// The end of a problem's type.
fn kind(text: &str) -> String {
    let problem: Value = serde_json::from_str(text).unwrap_or_default();
    problem["type"].as_str().and_then(|kind| kind.rsplit(':').next()).unwrap_or_default().to_owned()
}
