//! A real server on a free port of this machine, a client, and the names that its tests share.

pub(crate) use std::fs;
pub(crate) use std::net::SocketAddr;
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::process::{Command, Stdio};
pub(crate) use std::thread;
pub(crate) use std::time::{Duration, Instant};

use std::io::{BufRead, BufReader, Read};
use std::ops::Deref;
use std::process::Child;

pub(crate) use chacha20::ChaCha8Rng;
pub(crate) use ldp_pca::covariance::Covariance;
pub(crate) use ldp_pca::mechanism::MechanismSpec;
pub(crate) use ldp_pca::privacy::Epsilon;
pub(crate) use ldp_pca::record::Bounding;
pub(crate) use ldp_pca::recovery::Rank;
pub(crate) use ldp_pca::report::{Report, ReportId, report_bytes};
pub(crate) use ldp_pca::schema::Schema;
pub(crate) use ldp_pca::task::{Folds, Task};
pub(crate) use ldp_pca_server::{
    FixedLimits, RateLimit, SealingKey, Server, ServerConfig, ServerError, StoreError, TaskSettings, TokenConfig,
    maintenance,
};
pub(crate) use rand::SeedableRng;
pub(crate) use serde_json::{Value, json};
pub(crate) use tempfile::{TempDir, tempdir};

pub(crate) use crate::http::{Answer, wait_until};
pub(crate) use crate::support::{Folder, Run, assert_has, words};

use ldp_pca::aggregate::Aggregate;
use ldp_pca::mechanism::Calibration;
use ldp_pca::privacy::Delta;
use ldp_pca_server::Secret;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::http;

pub const REPORTS: &str = "application/vnd.ldp-pca.reports";
pub const JSON: (&str, &str) = ("content-type", "application/json");

/// Who asks the server at an address.
#[derive(Clone, Copy)]
pub struct Client {
    pub address: SocketAddr,
}

impl Client {
    /// Any request.
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        titled(http::request(method, &self.url(path), headers, body).unwrap())
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], b"")
    }

    pub fn post(&self, path: &str, media_type: &str, body: &[u8]) -> Answer {
        self.request("POST", path, &[("content-type", media_type)], body)
    }

    /// A request with a token or without one, whose body is JSON.
    pub fn ask(&self, token: Option<&str>, method: &str, path: &str, body: &[u8]) -> Answer {
        titled(http::ask(token, method, &self.url(path), body))
    }

    /// The same, with an id of its own.
    pub fn ask_as(&self, token: &str, id: &str, method: &str, path: &str, body: &[u8]) -> Answer {
        let headers = [("authorization", &*format!("Bearer {token}")), JSON, ("x-request-id", id)];
        self.request(method, path, &headers, body)
    }

    /// A request with the admin's token.
    pub fn administer(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        self.ask(Some(ADMIN), method, path, body)
    }

    /// Puts a task, which must succeed.
    pub fn put(&self, task: &Task, settings: &TaskSettings) -> u16 {
        let answer = self.administer("PUT", &path(task, ""), &put_body(task, settings));
        assert!([200, 201].contains(&answer.status), "{}", answer.text());
        answer.status
    }

    /// Puts a task with these settings; those that are not named stay.
    pub fn set(&self, task: &Task, query: &str, settings: &Value) -> Answer {
        let body = format!("{{\"task\": {}, \"settings\": {settings}}}", task.to_json());
        self.administer("PUT", &path(task, query), body.as_bytes())
    }

    pub fn delete(&self, task: &Task, query: &str) -> Answer {
        self.administer("DELETE", &path(task, query), b"")
    }

    /// Posts reports of a task: how many were accepted, and how many were there.
    pub fn counts(&self, task: &Task, body: &[u8]) -> (u64, u64) {
        let verdict = self.send(task, body);
        assert_eq!(verdict.status, 200, "{}", verdict.text());
        let verdict = verdict.json();
        (verdict["accepted"].as_u64().unwrap(), verdict["duplicate"].as_u64().unwrap())
    }

    /// Posts reports of a task.
    pub fn send(&self, task: &Task, body: &[u8]) -> Answer {
        self.post(&path(task, "/reports"), REPORTS, body)
    }

    /// Asks for report ids.
    pub fn seeds(&self, task: &Task, count: u32) -> Answer {
        self.ask(None, "POST", &path(task, "/seeds"), json!({"count": count}).to_string().as_bytes())
    }

    /// Has reports erased.
    pub fn erase(&self, token: Option<&str>, task: &Task, reports: &[Report]) -> Answer {
        let ids: Vec<String> = reports.iter().map(|report| report.id().to_string()).collect();
        self.ask(token, "POST", &path(task, "/erasures"), json!({"ids": ids}).to_string().as_bytes())
    }

    pub fn status(&self, task: &Task) -> Value {
        self.get(&path(task, "/status")).json()
    }

    pub fn records(&self, task: &Task) -> u64 {
        self.status(task)["records"].as_u64().unwrap()
    }

    /// Waits until so many reports count.
    pub fn counted(&self, task: &Task, count: u64) {
        wait_until(&format!("{count} reports to count"), || self.records(task) >= count);
    }

    pub fn recovery(&self, task: &Task, query: &str) -> Answer {
        self.get(&path(task, &format!("/recovery?{query}")))
    }

    pub fn metrics(&self) -> String {
        self.get("/metrics").text().to_owned()
    }

    /// One of the metrics.
    pub fn figure(&self, name: &str) -> u64 {
        let text = self.metrics();
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("{name} is not in {text}")).parse().unwrap()
    }
}

/// The answer: every problem has a title.
fn titled(answer: Answer) -> Answer {
    let is_problem = answer.header("content-type") == "application/problem+json";
    assert!(!is_problem || answer.json()["title"].as_str().is_some_and(|title| !title.is_empty()), "{answer:?}");
    answer
}

/// A server on threads of its own. Where it is dropped, it drops everything that it was doing.
pub struct Running {
    // Dropped before the sender, which asks for an end in good order.
    runtime: Runtime,
    client: Client,
    shutdown: oneshot::Sender<()>,
    serving: JoinHandle<Result<(), ServerError>>,
}

impl Deref for Running {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Running {
    pub fn start(config: ServerConfig, tasks: &[Task]) -> Self {
        Self::try_start(config, tasks).unwrap()
    }

    pub fn try_start(config: ServerConfig, tasks: &[Task]) -> Result<Self, ServerError> {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let server = runtime.block_on(Server::bind(config, tasks.to_vec()))?;
        let client = Client { address: server.local_addr() };
        let (shutdown, asked) = oneshot::channel();
        let serving = runtime.spawn(server.serve(async { asked.await.unwrap_or(()) }));
        Ok(Self { runtime, client, shutdown, serving })
    }

    /// Ends it in good order.
    pub fn shut_down(self) {
        self.shutdown.send(()).expect("the server ended by itself");
        self.runtime.block_on(self.serving).unwrap().unwrap();
    }
}

/// A server with these settings, of a new folder, and with these tasks.
pub fn serving(settings: impl FnOnce(&Path) -> ServerConfig, tasks: &[Task]) -> (TempDir, Running) {
    let data = tempdir().unwrap();
    let server = Running::start(settings(data.path()), tasks);
    (data, server)
}

/// What keeps a server of these settings from its start.
pub fn refusal(settings: ServerConfig, tasks: &[Task]) -> ServerError {
    Running::try_start(settings, tasks).err().expect("it serves")
}

/// A server in a process of its own: the real binary on a free port, which takes reports with ids of their own.
pub struct Serving {
    child: Child,
    client: Client,
    /// What it says of where it listens.
    pub said: String,
}

impl Deref for Serving {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Serving {
    /// With these options, in a folder.
    pub fn start(folder: &Folder, options: &str) -> Self {
        Self::start_at("127.0.0.1:0", folder, options)
    }

    pub fn start_at(address: &str, folder: &Folder, options: &str) -> Self {
        Self::spawn(folder, &format!("serve --no-issued-ids --listen {address} {options}"))
    }

    /// A relay, in the same way.
    pub fn relay(address: &str, folder: &Folder, options: &str) -> Self {
        Self::spawn(folder, &format!("relay --listen {address} {options}"))
    }

    /// A demo with a relay, which comes second, once it serves on.
    pub fn demo(folder: &Folder, options: &str) -> (Self, Client) {
        let mut command = folder.command(format!("demo --relay --listen 127.0.0.1:0 {options}").split_whitespace());
        // Its own servers are asked without a proxy.
        command.env("http_proxy", "http://127.0.0.1:9").env_remove("no_proxy").env_remove("NO_PROXY");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map(Result::unwrap);
        let said: Vec<String> = lines.take_while(|line| !line.starts_with("serving at ")).collect();
        let client = |what: &str| {
            let mut found = said.iter().filter_map(|line| line.strip_prefix(what)?.trim().strip_prefix("http://"));
            Client { address: found.next().unwrap().split(',').next().unwrap().parse().unwrap() }
        };
        (Self { child, client: client("aggregator"), said: said.join("\n") }, client("relay"))
    }

    fn spawn(folder: &Folder, line: &str) -> Self {
        let serving = Self::of(folder.command(line.split_whitespace()).stderr(Stdio::piped()));
        // When it answers, it has said what it says at the start.
        assert_eq!(serving.get("/healthz").status / 100, 2);
        serving
    }

    /// A process that says where it listens.
    pub fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map_while(Result::ok);
        // In a log of JSON there is more around it.
        let address = |line: &str| {
            let (_, rest) = line.split_once("listening on http://")?;
            rest.split('"').next()?.parse::<SocketAddr>().ok()
        };
        let found = lines.filter_map(|line| Some((address(&line)?, line))).next();
        let (address, said) = found.expect("the server says where it listens");
        Self { client: Client { address }, child, said }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.child.id())]).status().unwrap();
        assert!(sent.success());
    }

    /// Ends it in the middle of what it does.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it in good order.
    pub fn end(self) {
        self.signal("TERM");
        assert!(self.ended());
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

/// Posts to what may not be there.
pub fn try_post(address: SocketAddr, path: &str, media_type: &str, body: &[u8]) -> Result<Answer, ureq::Error> {
    http::request("POST", &format!("http://{address}{path}"), &[("content-type", media_type)], body)
}

/// The rounds of a test that kills processes: a few, or as many as this variable says.
pub fn kills() -> u64 {
    std::env::var("LDP_PCA_KILLS").map_or(4, |rounds| rounds.parse().unwrap())
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
    let names = "minimum_batch max_records starts expires retention origins issued_ids range_check open_recovery \
                 publish refine_after refine_rank";
    let mut all: serde_json::Map<String, Value> = names.split(' ').map(|name| (name.to_owned(), Value::Null)).collect();
    let count = all.len();
    let Ok(Value::Object(named)) = serde_json::to_value(settings) else { panic!("settings are an object") };
    all.extend(named);
    assert_eq!(all.len(), count, "a setting is not in the list");
    format!("{{\"task\":{},\"settings\":{}}}", task.to_json(), Value::Object(all)).into_bytes()
}

pub fn path(task: &Task, rest: &str) -> String {
    format!("/tasks/{}{rest}", task.digest())
}

/// The database of a task in a folder.
pub fn database(data: &Path, task: &Task) -> PathBuf {
    data.join("tasks").join(task.digest().to_string()).join("reports.sqlite")
}

/// The intact reports of a task in a folder, one after the other. A server may have it open.
pub fn stored(data: &Path, task: &Task) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut write = |reports: &[u8]| -> std::io::Result<()> {
        bytes.extend_from_slice(reports);
        Ok(())
    };
    maintenance::export(data, task.digest(), true, &mut write, &mut |_, _| {}).unwrap();
    bytes
}

/// The lines of an audit log.
pub fn json_lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A server's folder under this name, to which it adds these reports.
pub fn fill(folder: &Folder, name: &str, body: &[u8]) {
    let server = Running::start(config(&folder.path(name)), &[task()]);
    assert_eq!(server.send(&task(), body).status, 200);
    server.shut_down();
}

/// Changes one bit of a file: of the byte in the middle of the first place that has these bytes.
pub fn flip(file: &Path, part: &[u8]) {
    let mut bytes = fs::read(file).unwrap();
    let place = bytes.windows(part.len()).position(|window| window == part).unwrap();
    bytes[place + part.len() / 2] ^= 1;
    fs::write(file, bytes).unwrap();
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

/// A folder with the first of them in `task.json`.
pub fn task_folder() -> Folder {
    let folder = Folder::new();
    folder.write("task.json", task().to_json());
    folder
}

/// Reports of one record, by seed.
pub fn reports(task: &Task, seed: u64, count: usize) -> Vec<Report> {
    let record = task.bound(vec![0.3, -0.2, 0.0, 0.9]).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|_| task.randomize_with_rng(&record, None, &mut rng).unwrap()).collect()
}

/// A report of the same record with this id.
pub fn with_id(task: &Task, id: ReportId) -> Report {
    task.randomize(&task.bound(vec![0.3, -0.2, 0.0, 0.9]).unwrap(), Some(id)).unwrap()
}

/// The ids of an answer.
pub fn ids(answer: &Answer) -> Vec<ReportId> {
    serde_json::from_value(answer.json()["ids"].clone()).unwrap()
}

/// The bytes of so many reports of the task of these tests, by seed.
pub fn body_of(seed: u64, count: usize) -> Vec<u8> {
    bytes_of(&reports(&task(), seed, count))
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
