//! Requests to a server under test, and its answers. `research/cli` asks its coordinator with it.

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A server's answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: ureq::http::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// It must be a problem of this kind whose detail names `values`.
    pub(crate) fn refused(&self, status: u16, kind: &str, values: &[&str]) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["type"], format!("urn:ldp-pca:problem:{kind}"), "{problem}");
        assert_eq!(problem["status"], status);
        let detail = problem["detail"].as_str().unwrap();
        for value in values {
            assert!(detail.contains(value), "'{detail}' lacks '{value}'");
        }
        problem
    }
}

/// Any request.
pub(crate) fn request(method: &str, url: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<Answer, ureq::Error> {
    let request = ureq::http::Request::builder().method(method).uri(url);
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        .timeout_global(Some(Duration::from_secs(120)))
        .build()
        .new_agent();
    // Some methods have a body only when one is forced upon them.
    let mut response = match body {
        [] if method != "POST" => agent.run(request.body(()).unwrap()),
        body => agent.run(request.body(body).unwrap()),
    }?;
    let body = response.body_mut().read_to_vec()?;
    Ok(Answer { status: response.status().as_u16(), headers: response.headers().clone(), body })
}

/// A request with a token or without one, whose body is JSON.
pub(crate) fn ask(token: Option<&str>, method: &str, url: &str, body: &[u8]) -> Answer {
    let authorization = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![("content-type", "application/json")];
    headers.extend(authorization.as_deref().map(|value| ("authorization", value)));
    request(method, url, &headers, body).unwrap()
}

/// Waits until it holds, which on a busy machine may take long.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited for {what}");
        sleep(Duration::from_millis(5));
    }
}
