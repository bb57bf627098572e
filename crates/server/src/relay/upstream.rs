//! The gateway, as the relay sees it: its keys, and its answers to sealed requests.

use std::time::Duration;

use ureq::http::header::{CONTENT_TYPE, RETRY_AFTER};

use crate::agent::{agent, at_fault, base_url, local_agent, redirect};
use crate::error::ServerError;
use crate::oblivious::{GATEWAY, KEYS, REQUEST, RESPONSE};
use crate::request::text;

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

/// The time before which a request is not to be sent again, and why it is.
pub(super) type Later = (Duration, String);

impl Upstream {
    /// A `local` one is asked without a proxy.
    pub(super) fn new(url: &str, local: bool) -> Result<Self, ServerError> {
        let url = base_url(url).map_err(|error| ServerError::Config(error.to_string()))?;
        let through_proxy = || agent(LONGEST_REQUEST, &url).map_err(ServerError::Config);
        let agent = if local { local_agent(LONGEST_REQUEST) } else { through_proxy()? };
        Ok(Self { url: format!("{url}{GATEWAY}"), agent })
    }

    /// Its key configuration.
    pub(super) fn keys(&self) -> Result<Vec<u8>, ServerError> {
        let unusable = |problem: String| {
            let remedy = "a first start needs the gateway's keys: start the aggregator, and then the relay";
            ServerError::Unusable(format!("{problem}; {remedy}"))
        };
        let failed = |error: ureq::Error| unusable(format!("{}: {error}", at_fault(&self.agent, &self.url, &error)));
        let mut answer = self.agent.get(&self.url).header("accept", KEYS).call().map_err(failed)?;
        let status = answer.status().as_u16();
        if let Some(moved) = redirect(&self.url, GATEWAY, &answer) {
            return Err(ServerError::Unusable(format!("{} {moved}", self.url)));
        }
        if status != 200 || text(answer.headers(), CONTENT_TYPE) != KEYS {
            return Err(unusable(format!("{} answers {status}, but not with a gateway's keys", self.url)));
        }
        answer.body_mut().with_config().limit(64 << 10).read_to_vec().map_err(failed)
    }

    /// Sends a sealed request. Whether it was opened: then only its sender could read what became of the report. If
    /// not, it never will be.
    pub(super) fn send(&self, sealed: &[u8]) -> Result<bool, Later> {
        let failed = |error: ureq::Error| {
            let unreached = at_fault(&self.agent, &self.url, &error);
            (Duration::ZERO, format!("{unreached} does not answer: {error}"))
        };
        let mut answer = self.agent.post(&self.url).content_type(REQUEST).send(sealed).map_err(failed)?;
        let moved = redirect(&self.url, GATEWAY, &answer);
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let body = answer.body_mut().with_config().limit(LARGEST_ANSWER).read_to_vec().map_err(failed)?;
        let wait = text(&headers, RETRY_AFTER);
        let problem = match status {
            200 if text(&headers, CONTENT_TYPE) != RESPONSE => "answers, but not as a gateway".into(),
            200 if wait.is_empty() => return Ok(true),
            // The aggregator cannot keep the report now.
            200 => "cannot keep reports now".into(),
            // Only the gateway itself says so: whatever stands before it may answer 400, too.
            400 if mentions(&body, b"problem:sealed-request\"") => return Ok(false),
            400 if mentions(&body, b"#ohttp-key\"") => {
                "does not have the key that reports are sealed to: give it the key again".into()
            }
            _ => moved.unwrap_or_else(|| format!("answers {status}")),
        };
        Err((wait.parse().map_or(Duration::ZERO, Duration::from_secs), format!("{} {problem}", self.url)))
    }
}

fn mentions(body: &[u8], text: &[u8]) -> bool {
    body.windows(text.len()).any(|window| window == text)
}
