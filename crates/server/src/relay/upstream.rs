//! The gateway, as the relay sees it: its keys, and its answers to sealed requests.

use std::time::Duration;

use ureq::http::header::{CONTENT_TYPE, RETRY_AFTER};
use ureq::http::{HeaderMap, HeaderName};

use super::RelayError;
use crate::agent::agent;
use crate::oblivious::{GATEWAY, KEYS, REQUEST, RESPONSE, SealingKey};

/// The longest that a request may take.
const LONGEST_REQUEST: Duration = Duration::from_secs(20);

/// The largest answer that is read: no more than a connection that is used again is worth.
const LARGEST_ANSWER: u64 = 1 << 20;

/// A gateway.
#[derive(Clone)]
pub(super) struct Upstream {
    url: String,
    agent: ureq::Agent,
}

/// The gateway's answer to a sealed request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// It was opened. What became of the report only its sender could read.
    Taken,
    /// It does not open, and never will.
    Refused,
    /// It is to be sent again, not before this time.
    Later(Duration, String),
}

impl Upstream {
    pub(super) fn new(url: &str) -> Self {
        Self { url: format!("{}{GATEWAY}", url.trim_end_matches('/')), agent: agent(LONGEST_REQUEST) }
    }

    /// Its key configuration.
    pub(super) fn keys(&self) -> Result<Vec<u8>, RelayError> {
        let failed = |problem: String| {
            let remedy = "a first start needs the gateway's keys: start the aggregator, and then the relay";
            RelayError::Unusable(format!("{}: {problem}; {remedy}", self.url))
        };
        let asked = self.agent.get(&self.url).header("accept", KEYS).call();
        let mut answer = asked.map_err(|error| failed(error.to_string()))?;
        let status = answer.status().as_u16();
        if status != 200 || text(answer.headers(), CONTENT_TYPE) != KEYS {
            return Err(failed(format!("it answers {status}, but not with a gateway's keys")));
        }
        let body = answer.body_mut().with_config().limit(64 << 10).read_to_vec();
        body.map_err(|error| failed(error.to_string()))
    }

    /// Whether it now advertises another key than this one under the same id, which cannot open what this one seals.
    pub(super) fn has_replaced(&self, key: &SealingKey) -> bool {
        let advertised = self.keys().ok().and_then(|keys| SealingKey::read(&keys).ok());
        advertised.is_some_and(|other| other.header() == key.header() && other != *key)
    }

    /// Sends a sealed request.
    pub(super) fn send(&self, sealed: &[u8]) -> Sent {
        let later = |problem: String| Sent::Later(Duration::ZERO, format!("{} {problem}", self.url));
        let mut answer = match self.agent.post(&self.url).content_type(REQUEST).send(sealed) {
            Ok(answer) => answer,
            Err(error) => return later(format!("does not answer: {error}")),
        };
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let body = match answer.body_mut().with_config().limit(LARGEST_ANSWER).read_to_vec() {
            Ok(body) => body,
            Err(error) => return later(format!("does not answer: {error}")),
        };
        let wait = text(&headers, RETRY_AFTER);
        match status {
            200 if text(&headers, CONTENT_TYPE) != RESPONSE => later("answers, but not as a gateway".into()),
            // The aggregator cannot keep the report now.
            200 if wait.is_empty() => Sent::Taken,
            // Only the gateway itself says so: whatever stands before it may answer 400, too.
            400 if mentions(&body, b"problem:sealed-request\"") => Sent::Refused,
            _ => {
                let problem = match status {
                    200 => "cannot keep reports now".into(),
                    400 if mentions(&body, b"#ohttp-key\"") => {
                        "does not have the key that reports are sealed to: give it the key again".into()
                    }
                    _ => format!("answers {status}"),
                };
                let wait = wait.parse().map_or(Duration::ZERO, Duration::from_secs);
                Sent::Later(wait, format!("{} {problem}", self.url))
            }
        }
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn mentions(body: &[u8], text: &[u8]) -> bool {
    body.windows(text.len()).any(|window| window == text)
}
