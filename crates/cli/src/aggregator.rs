//! A client of a running aggregator: its address, the token for it, and requests that are repeated until their answer
//! is final.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use indicatif::ProgressBar;
use ldp_pca::internal::sampling::system_rng;
use ldp_pca::report::ReportId;
use ldp_pca::task::TaskDigest;
use ldp_pca_server::{agent, at_fault, local_agent, redirect};
use rand::RngExt as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::http::{Request, header::RETRY_AFTER};

use super::error::{CliError, Result};
use super::files;
use super::output::{note, plural};

pub use ldp_pca_server::base_url as url;
pub(super) use ldp_pca_server::printable;

/// Where `serve` listens unless it is given another address.
pub const DEFAULT_URL: &str = "http://127.0.0.1:8080";

/// Seconds for which a request is repeated unless the command is given another number.
pub const DEFAULT_PATIENCE: u64 = 600;

/// The variable with a token. The arguments of a process, which every user of a machine sees, never have one.
const TOKEN_VARIABLE: &str = "LDP_PCA_TOKEN";

/// The longest that a request may take.
const LONGEST_REQUEST: Duration = Duration::from_secs(60);

/// The shortest and the longest pause between attempts, beside what the aggregator asks for.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];

/// The time between two remarks that a request is repeated.
const BETWEEN_REMARKS: Duration = Duration::from_secs(60);

/// The largest answer that is read, unless a larger one is asked for.
const LARGEST_ANSWER: u64 = 32 << 20;

/// The most report ids per request, without an admin's token and with it.
const IDS_PER_REQUEST: [usize; 2] = [16, 10_000];

const JSON: &str = "application/json";
const REPORTS: &str = "application/vnd.ldp-pca.reports";
const SEALED: &str = "message/ohttp-req";

/// The path of the gateway's keys at a relay.
pub(super) const RELAY_KEYS: &str = "/keys";

/// The token in the first line of a file, or else in the variable.
pub(super) fn token(file: Option<&Path>) -> Result<Option<String>> {
    match file {
        Some(path) => files::token(path).map(Some),
        None => {
            let Some(text) = std::env::var_os(TOKEN_VARIABLE) else { return Ok(None) };
            let token = text.to_string_lossy().trim().to_owned();
            if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                let problem = "a space or another character that no token has: give the token alone";
                return Err(CliError::Usage(format!("the variable {TOKEN_VARIABLE} has {problem}")));
            }
            Ok(Some(token).filter(|token| !token.is_empty()))
        }
    }
}

/// The token in the first line of a file, or else in the variable, for a request that needs one: an error if there is
/// none.
pub(super) fn needed_token(file: Option<&Path>) -> Result<String> {
    let missing = || CliError::usage(format!("there is no token: use --token-file, or the variable {TOKEN_VARIABLE}"));
    token(file)?.ok_or_else(missing)
}

/// The aggregator that a command asks as an admin.
#[derive(Args)]
pub(super) struct ByAdmin {
    /// The aggregator
    #[arg(long, value_parser = url, default_value = DEFAULT_URL)]
    pub(super) url: String,
    /// A file with an admin's token [default: the variable LDP_PCA_TOKEN has it]
    ///
    /// Such as admin.token in the aggregator's folder
    #[arg(long, value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
}

impl ByAdmin {
    /// The aggregator, with the token: an error if there is none.
    pub(super) fn aggregator(&self) -> Result<Aggregator> {
        Aggregator::new(&self.url, Some(needed_token(self.token_file.as_deref())?))
    }
}

/// An aggregator, and how it is asked.
pub struct Aggregator {
    url: String,
    token: Option<String>,
    agent: ureq::Agent,
    /// How long a request is repeated while it has no final answer.
    patience: Duration,
    /// The largest answer that is read, in bytes.
    pub(super) largest: u64,
    /// The bar that remarks leave room for.
    pub(super) bar: ProgressBar,
    /// When it was last said that a request is repeated.
    said: Cell<Option<Instant>>,
}

/// An answer of any status.
pub struct Answer {
    /// Where it comes from.
    pub(super) url: String,
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
    retry_after: Option<Duration>,
    /// Where it redirects to, in words.
    moved: Option<String>,
}

/// Ids, as an aggregator issues them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IssuedIds {
    pub(super) ids: Vec<ReportId>,
}

impl Aggregator {
    /// It asks once, and waits for an answer as long as it takes to send reports. The address is as [`url()`] gives it.
    pub fn new(url: &str, token: Option<String>) -> Result<Self> {
        Ok(Self::with(agent(LONGEST_REQUEST, url).map_err(CliError::Usage)?, url, token))
    }

    /// One of this program, which is asked without a proxy; otherwise as [`Self::new`].
    pub(super) fn local(url: &str, token: Option<String>) -> Self {
        Self::with(local_agent(LONGEST_REQUEST), url, token)
    }

    fn with(agent: ureq::Agent, url: &str, token: Option<String>) -> Self {
        let (url, patience, bar) = (url.to_owned(), Duration::ZERO, ProgressBar::hidden());
        Self { url, token, agent, patience, largest: LARGEST_ANSWER, bar, said: Cell::new(None) }
    }

    /// Repeats requests for this number of seconds, each while it has no final answer.
    pub fn patient(self, seconds: u64) -> Self {
        Self { patience: Duration::from_secs(seconds), ..self }
    }

    /// Waits no longer than this for an answer.
    pub(super) fn within(self, longest: Duration) -> Result<Self> {
        Ok(Self { agent: agent(longest, &self.url).map_err(CliError::Usage)?, ..self })
    }

    /// The address of a path.
    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Asks with an empty body.
    pub fn get(&self, path: &str) -> Result<Answer> {
        self.ask("GET", path, None)
    }

    /// Deletes what is at a path.
    pub(super) fn delete(&self, path: &str) -> Result<Answer> {
        self.ask("DELETE", path, None)
    }

    /// Sends a document.
    pub fn send_json(&self, method: &str, path: &str, document: &str) -> Result<Answer> {
        self.ask(method, path, Some((JSON, document.as_bytes())))
    }

    /// Sends reports of the task, the same bytes each time.
    pub(super) fn send_reports(&self, task: TaskDigest, reports: &[u8]) -> Result<Answer> {
        self.ask("POST", &format!("/tasks/{task}/reports"), Some((REPORTS, reports)))
    }

    /// Sends a sealed report to a relay, the same bytes each time.
    pub(super) fn send_sealed(&self, report: &[u8]) -> Result<Answer> {
        self.ask("POST", "/reports", Some((SEALED, report)))
    }

    /// Ids for so many reports of the task, each `None` where reports of the task make their own.
    pub(super) fn issue(&self, task: TaskDigest, count: usize) -> Result<Vec<Option<ReportId>>> {
        let path = format!("/tasks/{task}/seeds");
        let [few, many] = IDS_PER_REQUEST;
        let mut most = if self.token.is_some() { many } else { few };
        let mut ids = Vec::with_capacity(count);
        while ids.len() < count {
            let asked = most.min(count - ids.len());
            let answer = self.send_json("POST", &path, &format!("{{\"count\":{asked}}}"))?;
            match (answer.status, answer.problem().as_deref()) {
                (200, _) => {
                    let IssuedIds { ids: more } = answer.document()?;
                    if more.len() != asked {
                        let (url, found) = (&answer.url, plural(more.len() as u64, "id"));
                        return Err(CliError::Failed(format!("{url} issued {found} instead of {asked}")));
                    }
                    ids.extend(more.into_iter().map(Some));
                }
                (409, Some("no-issued-ids")) => return Ok(vec![None; count]),
                // A token that is no admin's, or an aggregator that gives fewer at a time.
                (422, Some("bad-count")) if asked > 1 => most = if asked > few { few } else { asked / 2 },
                _ => return Err(answer.refused()),
            }
        }
        Ok(ids)
    }

    /// Repeats a request until its answer is final.
    fn ask(&self, method: &str, path: &str, content: Option<(&str, &[u8])>) -> Result<Answer> {
        let url = self.at(path);
        let started = Instant::now();
        let [mut pause, longest] = PAUSES;
        loop {
            let failed = |error: ureq::Error| {
                let remedy = match proxy_status(&error) {
                    Some(407) => ": give a user and a password in the variable, as in http://user:password@proxy:3128",
                    Some(401 | 403) => ": the proxy refuses this address: ask who runs it, or name it in NO_PROXY",
                    _ => "",
                };
                CliError::Failed(format!("{}: {error}{remedy}", at_fault(&self.agent, &url, &error)))
            };
            let (wrong, ordered) = match self.ask_once(method, path, content) {
                // After these the same request may have another answer: of the aggregator, or of what stands before it.
                Ok(answer) if !is_passing_status(answer.status) => return Ok(answer),
                Ok(answer) => (answer.refused(), answer.retry_after.unwrap_or_default()),
                Err(error) if !is_passing(&error) => return Err(failed(error)),
                Err(error) => (failed(error), Duration::ZERO),
            };
            // Spread, so that many who were refused together do not come back together.
            let wait = ordered.saturating_add(pause.mul_f64(system_rng()?.random_range(0.5..1.0)));
            if started.elapsed().saturating_add(wait) > self.patience {
                return Err(wrong);
            }
            self.say(&wrong, self.patience.saturating_sub(started.elapsed()));
            sleep(wait);
            pause = (2 * pause).min(longest);
        }
    }

    /// Says why a request is repeated, now and then.
    fn say(&self, wrong: &CliError, left: Duration) {
        if self.said.get().is_none_or(|said| said.elapsed() > BETWEEN_REMARKS) {
            self.said.set(Some(Instant::now()));
            self.bar.suspend(|| note(format_args!("{wrong}; trying again for {:.0} s", left.as_secs_f64().ceil())));
        }
    }

    fn ask_once(&self, method: &str, path: &str, content: Option<(&str, &[u8])>) -> Result<Answer, ureq::Error> {
        let url = self.at(path);
        let mut request = Request::builder().method(method).uri(&url);
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let mut response = match content {
            None => self.agent.run(request.body(())?)?,
            Some((media_type, body)) => self.agent.run(request.header("content-type", media_type).body(body)?)?,
        };
        let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| until(value.to_str().ok()?));
        let moved = redirect(&url, path, &response);
        let body = response.body_mut().with_config().limit(self.largest).read_to_vec()?;
        Ok(Answer { url, status: response.status().as_u16(), body, retry_after, moved })
    }
}

impl Answer {
    /// The answer, if it is a success.
    pub fn good(self) -> Result<Self> {
        if (200..300).contains(&self.status) { Ok(self) } else { Err(self.refused()) }
    }

    /// The answer, if it is a success and a document of an aggregator, in which `member` is `text`.
    pub(super) fn good_with(self, member: &str, text: &str) -> Result<Self> {
        let answer = self.good()?;
        if answer.value()[member] == text { Ok(answer) } else { Err(answer.refused()) }
    }

    /// The document that it is, whatever that says; null if it is none, or larger than those of an aggregator.
    fn value(&self) -> Value {
        if self.body.len() as u64 > LARGEST_ANSWER {
            return Value::Null;
        }
        // What is no text in it is no reason not to show the rest.
        serde_json::from_str(&String::from_utf8_lossy(&self.body)).unwrap_or_default()
    }

    /// The document that it is.
    pub fn document<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let problem = printable(&error.to_string());
            CliError::Failed(format!("{} answers {}, but not as an aggregator: {problem}", self.url, self.status))
        })
    }

    /// The error where it is not the wanted one.
    pub(super) fn refused(&self) -> CliError {
        if let Some(moved) = &self.moved {
            return CliError::Failed(format!("{} {moved}", self.url));
        }
        let problem = self.value();
        let detail = problem["detail"].as_str().unwrap_or(match self.status {
            401 | 403 | 407 => "a gateway before the aggregator asks for a token or refuses it",
            429 => "a gateway limits requests: try again later",
            413 => "a gateway before the aggregator refuses the size: let it take more (client_max_body_size of nginx)",
            502..=504 => "a gateway does not reach the aggregator: start that, or see the gateway's log",
            404 => "it is not an aggregator, or a gateway hides this path",
            _ => "it is not an aggregator",
        });
        CliError::Failed(format!("{} answers {}: {}", self.url, self.status, printable(detail)))
    }

    /// The end of the type of the problem that the answer is.
    pub fn problem(&self) -> Option<String> {
        Some(self.value()["type"].as_str()?.strip_prefix("urn:ldp-pca:problem:")?.to_owned())
    }
}

/// The time that a Retry-After header asks for, as a number of seconds or as a date.
fn until(text: &str) -> Option<Duration> {
    let seconds = || text.trim().parse().ok().map(Duration::from_secs);
    let date = || httpdate::parse_http_date(text).ok();
    seconds().or_else(|| Some(date()?.duration_since(SystemTime::now()).unwrap_or_default()))
}

/// Whether the same request may arrive later.
fn is_passing(error: &ureq::Error) -> bool {
    match error {
        // A certificate that is not accepted, for example.
        ureq::Error::Io(error) => error.kind() != std::io::ErrorKind::InvalidData,
        ureq::Error::Timeout(_) | ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => true,
        ureq::Error::Protocol(_) => true,
        ureq::Error::ConnectProxyFailed(_) => proxy_status(error).is_none_or(is_passing_status),
        _ => false,
    }
}

/// Whether the same request may have an answer of another status later.
fn is_passing_status(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..=599)
}

/// The status with which a proxy refuses to connect, the last word of the client's error.
fn proxy_status(error: &ureq::Error) -> Option<u16> {
    let ureq::Error::ConnectProxyFailed(reason) = error else { return None };
    reason.rsplit('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_read_though_not_all_of_it_is_text_and_none_in_what_is_too_large() {
        let answer = |body| Answer { url: String::new(), status: 409, body, retry_after: None, moved: None };
        let mut body = b"{\"type\":\"urn:ldp-pca:problem:no-issued-ids\",\"detail\":\"a \xff name\"}".to_vec();
        let found = answer(body.clone());
        assert_eq!(found.problem().as_deref(), Some("no-issued-ids"));
        assert!(found.refused().to_string().ends_with(": a \u{fffd} name"));
        body.resize(LARGEST_ANSWER as usize + 1, b' ');
        let large = answer(body);
        assert_eq!(large.problem(), None);
        assert!(large.refused().to_string().ends_with(": it is not an aggregator"));
    }
}
