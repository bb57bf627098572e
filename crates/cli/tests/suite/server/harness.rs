//! A real server on a free port of this machine, and a client.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use chacha20::ChaCha8Rng;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::mechanism::{Calibration, MechanismSpec};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::Bounding;
use ldp_pca::report::{Report, report_bytes};
use ldp_pca::schema::Schema;
use ldp_pca::task::{Folds, Task};
use ldp_pca_server::{Secret, Server, ServerConfig, ServerError, TaskSettings, TokenConfig, maintenance};
use rand::SeedableRng;
use serde_json::Value;
use tokio::sync::oneshot;

pub const REPORTS: &str = "application/vnd.ldp-pca.reports";

/// How a server ends.
enum End {
    Shutdown,
    Abandon,
}

/// A server in a thread of its own.
pub struct Running {
    pub address: SocketAddr,
    end: Option<oneshot::Sender<End>>,
    thread: Option<JoinHandle<Result<(), ServerError>>>,
}

impl Running {
    pub fn start(config: ServerConfig, tasks: &[Task]) -> Self {
        Self::try_start(config, tasks).unwrap()
    }

    /// On the next free port where that of the settings is taken, as the demo does.
    pub fn start_near(config: ServerConfig, tasks: &[Task]) -> Self {
        Self::bound(config, tasks, true).unwrap()
    }

    pub fn try_start(config: ServerConfig, tasks: &[Task]) -> Result<Self, ServerError> {
        Self::bound(config, tasks, false)
    }

    fn bound(config: ServerConfig, tasks: &[Task], near: bool) -> Result<Self, ServerError> {
        let tasks = tasks.to_vec();
        let (end, ended) = oneshot::channel();
        let (started, start) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async move {
                let bound = match near {
                    true => Server::bind_near(config, tasks).await,
                    false => Server::bind(config, tasks).await,
                };
                let server = match bound {
                    Ok(server) => server,
                    Err(error) => {
                        started.send(Err(error)).unwrap();
                        return Ok(());
                    }
                };
                started.send(Ok(server.local_addr())).unwrap();
                let (shutdown, asked) = oneshot::channel::<()>();
                let serving = server.serve(async { asked.await.unwrap_or(()) });
                let mut shutdown = Some(shutdown);
                let abandoned = async {
                    match ended.await {
                        Ok(End::Shutdown) => {
                            shutdown.take();
                            std::future::pending::<()>().await;
                        }
                        Ok(End::Abandon) | Err(_) => {}
                    }
                };
                tokio::select! {
                    served = serving => served,
                    () = abandoned => Ok(()),
                }
            })
        });
        let address = start.recv().unwrap()?;
        Ok(Self { address, end: Some(end), thread: Some(thread) })
    }

    /// Ends it in good order.
    pub fn shut_down(mut self) {
        self.finish(End::Shutdown);
    }

    /// Drops everything it was doing.
    pub fn abandon(mut self) {
        self.finish(End::Abandon);
    }

    fn finish(&mut self, end: End) {
        if let Some(sender) = self.end.take() {
            sender.send(end).map_err(|_| "the server ended by itself").unwrap();
            self.thread.take().unwrap().join().unwrap().unwrap();
        }
    }

    pub fn get(&self, path: &str) -> Answer {
        get(self.address, path)
    }

    pub fn post(&self, path: &str, media_type: &str, body: &[u8]) -> Answer {
        post(self.address, path, media_type, body)
    }

    /// Any request.
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let request = ureq::http::Request::builder().method(method).uri(format!("http://{}{path}", self.address));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        // Some methods have a body only when one is forced upon them.
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .timeout_global(Some(Duration::from_secs(120)))
            .build()
            .new_agent();
        answer(if body.is_empty() {
            agent.run(request.body(()).unwrap())
        } else {
            agent.run(request.body(body).unwrap())
        })
        .unwrap()
    }

    /// A request with the admin's token, whose body is JSON.
    pub fn administer(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        let authorization = format!("Bearer {ADMIN}");
        self.request(method, path, &[("authorization", &authorization), ("content-type", "application/json")], body)
    }

    /// Puts a task, which must succeed.
    pub fn put(&self, task: &Task, settings: &TaskSettings) -> u16 {
        let answer = self.administer("PUT", &path(task, ""), &put_body(task, settings));
        assert!([200, 201].contains(&answer.status), "{}", String::from_utf8_lossy(&answer.body));
        answer.status
    }

    /// Posts reports of a task.
    pub fn send(&self, task: &Task, body: &[u8]) -> Answer {
        self.post(&path(task, "/reports"), REPORTS, body)
    }

    pub fn records(&self, task: &Task) -> u64 {
        self.get(&path(task, "/status")).json()["records"].as_u64().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.finish(End::Abandon);
        }
    }
}

/// A server in a process of its own: the real binary on a free port, which takes reports with ids of their own.
pub struct Serving {
    child: Child,
    pub address: SocketAddr,
}

impl Serving {
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", arguments)
    }

    pub fn start_at(address: &str, arguments: &[&str]) -> Self {
        Self::spawn(&[&["serve", "--no-issued-ids", "--listen", address], arguments].concat())
    }

    /// A relay, in the same way.
    pub fn relay(address: &str, arguments: &[&str]) -> Self {
        Self::spawn(&[&["relay", "--listen", address], arguments].concat())
    }

    /// A demo with a relay, whose address comes second, once it serves on.
    pub fn demo(arguments: &[&str]) -> (Self, SocketAddr) {
        let mut child = Self::piped(&[&["demo", "--relay", "--listen", "127.0.0.1:0"], arguments].concat());
        let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map(Result::unwrap);
        let said: Vec<String> = lines.take_while(|line| !line.starts_with("serving at ")).collect();
        let address = |what: &str| {
            let mut found = said.iter().filter_map(|line| line.strip_prefix(what)?.trim().strip_prefix("http://"));
            found.next().unwrap().split(',').next().unwrap().parse().unwrap()
        };
        (Self { child, address: address("aggregator") }, address("relay"))
    }

    fn piped(arguments: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ldp-pca"));
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn spawn(arguments: &[&str]) -> Self {
        let mut child = Self::piped(arguments);
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap().parse().unwrap();
        // When it answers, it has said what it says at the start.
        assert_eq!(get(address, "/healthz").status / 100, 2);
        Self { child, address }
    }

    /// Sends it a signal.
    #[cfg(unix)]
    pub fn signal(&self, name: &str) {
        let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.child.id())]).status().unwrap();
        assert!(sent.success());
    }

    /// Ends it in the middle of what it does.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it ends by itself: whether it was content.
    pub fn ended(mut self) -> bool {
        self.child.wait().unwrap().success()
    }

    /// Waits until it writes this to standard error, and kills it.
    pub fn log_until(mut self, text: &str) {
        self.next_line(text);
        self.kill();
    }

    /// Waits for the next line on standard error with this text.
    pub fn next_line(&mut self, text: &str) -> String {
        let (mut line, mut byte, errors) = (Vec::new(), [0], self.child.stderr.as_mut().unwrap());
        // Without a buffer: what follows is for whoever reads next.
        while errors.read(&mut byte).unwrap() == 1 {
            line.extend(byte);
            if byte == *b"\n" {
                let found = String::from_utf8(std::mem::take(&mut line)).unwrap();
                if found.contains(text) {
                    return found;
                }
            }
        }
        panic!("it never says '{text}'")
    }

    /// What it has written to standard error when it is over.
    pub fn log(mut self) -> String {
        self.child.kill().unwrap();
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        self.child.wait().unwrap();
        text
    }
}

impl Drop for Serving {
    /// No test leaves a process behind, however it ends. One that has ended needs no signal.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until it holds, which on a busy machine may take long.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A server's answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: ureq::http::HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Checks that it is a problem of this kind whose detail names `values`.
    pub fn assert_problem(&self, status: u16, kind: &str, values: &[&str]) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["type"], format!("urn:ldp-pca:problem:{kind}"), "{problem}");
        assert_eq!(problem["status"], status);
        assert!(!problem["title"].as_str().unwrap().is_empty());
        let detail = problem["detail"].as_str().unwrap();
        for value in values {
            assert!(detail.contains(value), "'{detail}' lacks '{value}'");
        }
        problem
    }
}

pub fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(120)))
        .build()
        .into()
}

fn answer(response: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<Answer, ureq::Error> {
    let mut response = response?;
    let body = response.body_mut().read_to_vec()?;
    Ok(Answer { status: response.status().as_u16(), headers: response.headers().clone(), body })
}

pub fn get(address: SocketAddr, path: &str) -> Answer {
    answer(agent().get(format!("http://{address}{path}")).call()).unwrap()
}

pub fn post(address: SocketAddr, path: &str, media_type: &str, body: &[u8]) -> Answer {
    try_post(address, path, media_type, body).unwrap()
}

pub fn try_post(address: SocketAddr, path: &str, media_type: &str, body: &[u8]) -> Result<Answer, ureq::Error> {
    answer(agent().post(format!("http://{address}{path}")).header("content-type", media_type).send(body))
}

/// Longer than any test: a limit that is not the one under test.
pub const NEVER: Duration = Duration::from_secs(600);

/// The token of a role, long enough.
pub const ADMIN: &str = "admin-0123456789abcdef0123456789abcdef";
pub const COLLECTOR: &str = "collector-0123456789abcdef0123456789abcdef";

/// The settings of the tests: a free port, reports with ids of their own, and components for everybody from the first
/// report on.
pub fn config(data: &Path) -> ServerConfig {
    let tokens = TokenConfig {
        admin: vec![Secret::new(ADMIN)],
        collector: vec![Secret::new(COLLECTOR)],
        ..TokenConfig::default()
    };
    let listen = ([127, 0, 0, 1], 0).into();
    ServerConfig { listen, minimum_batch: 1, open_recovery: true, issued_ids: false, tokens, ..ServerConfig::new(data) }
}

/// The body of a request that puts a task.
pub fn put_body(task: &Task, settings: &TaskSettings) -> Vec<u8> {
    // All of them: what is not named would stay.
    const NAMES: [&str; 11] = [
        "minimum_batch",
        "max_records",
        "starts",
        "expires",
        "retention",
        "origins",
        "issued_ids",
        "range_check",
        "open_recovery",
        "refine_after",
        "refine_rank",
    ];
    let mut all: serde_json::Map<String, Value> =
        NAMES.map(|name| (name.to_owned(), Value::Null)).into_iter().collect();
    let Ok(Value::Object(named)) = serde_json::to_value(settings) else { panic!("settings are an object") };
    all.extend(named);
    assert_eq!(all.len(), NAMES.len(), "a setting is not in the list");
    format!("{{\"task\":{},\"settings\":{}}}", task.to_json(), Value::Object(all)).into_bytes()
}

pub fn path(task: &Task, rest: &str) -> String {
    format!("/tasks/{}{rest}", task.digest())
}

/// The segment that a folder's first reports are written to.
pub fn segment_path(data: &Path, task: &Task) -> std::path::PathBuf {
    data.join("tasks").join(task.digest().to_string()).join("00000000.open")
}

/// The reports of the first segment, one after the other.
pub fn stored(data: &Path, task: &Task) -> Vec<u8> {
    let segment = std::fs::read(segment_path(data, task)).unwrap();
    bytes_of(&maintenance::read_segment(&segment, task).unwrap())
}

/// Reports of 35 bytes.
pub fn task() -> Task {
    let mechanism = MechanismSpec::DoubleCap { epsilon: Epsilon::new(2.0).unwrap(), candidates: 64, cap: 8 };
    Task::new(Schema::numeric(4).unwrap(), Bounding::UnitNorm, mechanism, Folds::new(3).unwrap()).unwrap()
}

/// Another task, with reports of 43 bytes.
pub fn other_task() -> Task {
    let (epsilon, delta) = (Epsilon::new(2.0).unwrap(), Delta::new(1e-6).unwrap());
    let mechanism = MechanismSpec::Gaussian { epsilon, delta, calibration: Calibration::Analytic };
    Task::new(Schema::numeric(4).unwrap(), Bounding::UnitNorm, mechanism, Folds::new(1).unwrap()).unwrap()
}

/// Reports of one record, by seed.
pub fn reports(task: &Task, seed: u64, count: usize) -> Vec<Report> {
    let record = task.bound(vec![0.3, -0.2, 0.0, 0.9]).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|_| task.randomize_with_rng(&record, None, &mut rng).unwrap()).collect()
}

pub fn bytes_of(reports: &[Report]) -> Vec<u8> {
    reports.iter().flat_map(Report::to_bytes).collect()
}

/// The state that the reports of a file or a body sum to.
pub fn aggregate_of(task: &Task, bytes: &[u8]) -> Aggregate {
    let frames = bytes.chunks(report_bytes(task));
    let reports: Vec<Report> = frames.map(|frame| Report::from_bytes(frame, task).unwrap()).collect();
    let mut aggregate = Aggregate::empty(task);
    aggregate.accumulate(task, &reports).unwrap();
    aggregate
}

/// An answer has the members that the OpenAPI document says of its schema: all that are required, and no other.
pub fn assert_members(document: &Value, name: &str, answer: &Value) {
    let schema = &document["components"]["schemas"][name];
    let members = answer.as_object().unwrap();
    for required in schema["required"].as_array().unwrap() {
        assert!(members.contains_key(required.as_str().unwrap()), "{name} lacks {required}");
    }
    for member in members.keys() {
        assert_ne!(schema["properties"][member], Value::Null, "{name} has {member} undocumented");
    }
}
