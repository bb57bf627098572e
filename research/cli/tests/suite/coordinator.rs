//! A coordinator in a process of its own, and requests to it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The real program, which is killed in the end.
pub(crate) struct Coordinator {
    child: Child,
    pub(crate) url: String,
}

impl Coordinator {
    /// On a free port.
    pub(crate) fn start(data: &Path) -> Self {
        Self::start_at("127.0.0.1:0", data)
    }

    pub(crate) fn start_at(address: &str, data: &Path) -> Self {
        let mut command = command(data);
        command.args(["--listen", address]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { child, url }
    }

    /// What it says where it does not start.
    pub(crate) fn refusal(data: &Path) -> String {
        let output = command(data).args(["--listen", "127.0.0.1:0"]).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Any request, with a token or without.
    pub(crate) fn request(&self, method: &str, path: &str, token: Option<&str>, body: &[u8]) -> Answer {
        let mut request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.url));
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .timeout_global(Some(Duration::from_secs(120)))
            .build()
            .new_agent();
        // Some methods have a body only when one is forced upon them.
        let response = match body {
            [] => agent.run(request.body(()).unwrap()),
            body => agent.run(request.header("content-type", "application/json").body(body).unwrap()),
        };
        let mut response = response.unwrap();
        let body = response.body_mut().read_to_vec().unwrap();
        Answer { status: response.status().as_u16(), headers: response.headers().clone(), body }
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(data: &Path) -> Command {
    let mut command = Command::new(crate::PROGRAM);
    command.args(["dps-pca", "coordinate", "--data"]).arg(data);
    command
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: ureq::http::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Checks that it is a problem of this kind whose detail names `values`.
    pub(crate) fn assert_problem(&self, status: u16, kind: &str, values: &[&str]) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        assert_eq!(self.headers["content-type"], "application/problem+json");
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

/// Waits until it holds, which on a busy machine may take long.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited for {what}");
        sleep(Duration::from_millis(5));
    }
}
