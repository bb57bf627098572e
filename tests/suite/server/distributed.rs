//! A run between data providers: real processes of the real binary, and requests that break its rules.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use chacha20::ChaCha8Rng;
use ldp_pca::baselines::dps_pca::{NoiseSource, Provider, Session, run};
use rand::{RngExt as _, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use super::harness::{ADMIN, Answer, COLLECTOR, Running, Serving, agent, config, get};

const DIMENSION: usize = 12;
const PROVIDERS: usize = 3;

fn parameters(rounds: u32) -> Value {
    json!({"version": 1, "dimension": DIMENSION, "rank": 2, "kept_rows": 6, "rounds": rounds, "providers": PROVIDERS,
        "epsilon": 1.0, "delta": 1e-6, "accounting": "corrected", "norm_bound": 1.0, "start": 7})
}

/// Records of a provider: two strong directions, on the first four features. Some are longer than 1.
fn records(provider: usize, count: usize) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(100 + provider as u64);
    let mut normal =
        move |deviation: f64| deviation * <StandardNormal as Distribution<f64>>::sample(&StandardNormal, &mut rng);
    (0..count)
        .flat_map(|_| {
            let (first, second) = (normal(0.5), normal(0.4));
            let mut record = [0.0; DIMENSION].map(|_| normal(0.02));
            for (feature, weight) in [(0, first), (1, -first), (2, second), (3, second)] {
                record[feature] += weight * 0.7;
            }
            record
        })
        .collect()
}

fn write_records(path: &Path, values: &[f64]) {
    let lines: Vec<String> = values
        .chunks(DIMENSION)
        .map(|record| record.iter().map(f64::to_string).collect::<Vec<_>>().join(","))
        .collect();
    fs::write(path, lines.join("\n")).unwrap();
}

/// The components of the same run in one process.
fn in_process(session: &Session, counts: &[usize], seed: u64) -> Vec<Vec<f64>> {
    let providers: Vec<Provider> = (1..)
        .zip(counts)
        .map(|(i, &count)| Provider::new(DIMENSION, &mut records(i, count).chunks_exact(DIMENSION), Some(1.0)).unwrap())
        .collect();
    let sources: Vec<NoiseSource> = (1..=counts.len() as u64).map(|i| NoiseSource::insecure(seed + i)).collect();
    let bases = run(&providers, &sources, Some(session.scale()), session.coordinator().unwrap()).unwrap();
    bases.last().unwrap().column_iter().map(|column| column.iter().copied().collect()).collect()
}

fn command(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ldp-pca")).args(arguments).output().unwrap()
}

fn succeeded(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A folder with a server's data, tokens and records, and a session.
struct World {
    folder: TempDir,
    session: Session,
}

impl World {
    fn new(server: &Serving, folder: TempDir, rounds: u32) -> Self {
        let url = format!("http://{}", server.address);
        let path = |name: &str| folder.path().join(name);
        let (tokens, admin) = (path("tokens"), path("data/admin.token"));
        let (rounds, dimension) = (rounds.to_string(), DIMENSION.to_string());
        let started = succeeded(&command(&[
            "dps-pca",
            "start",
            "--dimension",
            &dimension,
            "--rank",
            "2",
            "--kept-rows",
            "6",
            "--rounds",
            &rounds,
            "--providers",
            "3",
            "--epsilon",
            "1",
            "--delta",
            "1e-6",
            "--start",
            "7",
            "--url",
            &url,
            "--token-file",
            text(&admin),
            "--tokens",
            text(&tokens),
            "--json",
        ]));
        let id = started["session"].as_str().unwrap();
        let session =
            Session::from_json(&String::from_utf8(get(server.address, &format!("/sessions/{id}")).body).unwrap());
        Self { session: session.unwrap(), folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A provider's process, with its noise from a seed.
    fn provide(&self, url: &str, provider: usize, memory: &str, more: &[&str]) -> Command {
        let records_file = self.path(&format!("records-{provider}.csv"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_ldp-pca"));
        command
            .args([
                "dps-pca",
                "provide",
                text(&records_file),
                "--session",
                &self.session.id().to_string(),
                "--url",
                url,
            ])
            .args(["--token-file", text(&self.path(&format!("tokens/provider-{provider}.token")))])
            .args(["--memory", text(&self.path(memory)), "--epsilon", "1", "--delta", "1e-6", "--json"])
            .args(["--insecure-seed", &(40 + provider).to_string()])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn spawn(&self, url: &str, provider: usize) -> Child {
        self.provide(url, provider, &format!("memory-{provider}"), &[]).spawn().unwrap()
    }

    /// How many rounds a provider has on its disk.
    fn answered(&self, provider: usize) -> usize {
        fs::read_to_string(self.path(&format!("memory-{provider}")))
            .map_or(0, |text| text.lines().count().saturating_sub(1))
    }
}

fn write_all_records(folder: &Path, counts: &[usize]) {
    for (provider, &count) in (1..).zip(counts) {
        write_records(&folder.join(format!("records-{provider}.csv")), &records(provider, count));
    }
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn three_provider_processes_and_a_server_find_what_one_process_finds_to_the_last_bit() {
    let counts = [4000, 5, 2500];
    let folder = tempdir().unwrap();
    write_all_records(folder.path(), &counts);
    let data = folder.path().join("data");
    let server = Serving::start(&["--data", text(&data)]);
    let url = format!("http://{}", server.address);
    let world = World::new(&server, folder, 6);
    let collector = data.join("collector.token");
    let id = world.session.id().to_string();
    let result = ["dps-pca", "result", "--session", &id, "--token-file", text(&collector), "--url", &url, "--json"];
    let early = command(&result);
    let said = String::from_utf8(early.stderr).unwrap();
    assert!(early.status.code() == Some(1) && said.contains("round 1 of 6") && said.contains("1, 2, 3"), "{said}");

    let children: Vec<Child> = (1..=PROVIDERS).map(|provider| world.spawn(&url, provider)).collect();
    let expected = in_process(&world.session, &counts, 40);
    for (child, (provider, count)) in children.into_iter().zip((1..).zip(counts)) {
        let told = succeeded(&child.wait_with_output().unwrap());
        assert_eq!(
            (&told["provider"], &told["rounds"], &told["records"]),
            (&provider.into(), &6.into(), &count.into())
        );
        assert_eq!(told["guarantee"], json!({"epsilon": 1.0, "delta": 1e-6}));
        assert_eq!(told["private"], false);
        assert!(provider == 2 || told["scaled"].as_u64().unwrap() > 0);
        assert_eq!(told["components"], json!(expected));
    }
    let npy = world.path("components.npy");
    let told = succeeded(&command(&[&result[..], &["--wait", "--output", text(&npy)]].concat()));
    assert_eq!(told["components"], json!(expected));
    assert!(fs::metadata(npy).unwrap().len() > (DIMENSION * 2 * 8) as u64);
    // 6,500 records at epsilon 1: the strong features are found.
    for component in &expected {
        let strong: f64 = component[..4].iter().map(|value| value * value).sum();
        assert!(strong > 0.8, "{component:?}");
    }
    // One that has taken part is told the end again and sends nothing.
    let again = succeeded(&world.provide(&url, 1, "memory-1", &[]).output().unwrap());
    assert_eq!((&again["rounds"], &again["components"]), (&6.into(), &json!(expected)));
    drop(server.log());
}

#[test]
fn providers_and_server_go_on_after_they_were_killed_and_nobody_answers_twice() {
    let counts = [300, 200, 100];
    let folder = tempdir().unwrap();
    write_all_records(folder.path(), &counts);
    let data = folder.path().join("data");
    let server = Serving::start(&["--data", text(&data)]);
    let address = server.address.to_string();
    let url = format!("http://{address}");
    let world = World::new(&server, folder, 4);
    // Two of three answer the first round, and wait.
    let mut first = world.spawn(&url, 1);
    let second = world.spawn(&url, 2);
    let messages = || fs::read_dir(data.join(format!("sessions/{}", world.session.id()))).unwrap().count();
    wait_until("two answers", || world.answered(1) == 1 && world.answered(2) == 1 && messages() == 3);
    first.kill().unwrap();
    first.wait().unwrap();
    let before = fs::read(world.path("memory-1")).unwrap();
    // A line that was being written when the machine stopped was never sent.
    fs::write(world.path("memory-1"), [&before[..], b"{\"round\":2,\"cel"].concat()).unwrap();
    // Without its memory, or with that of another, a provider refuses to answer again.
    for (memory, reason) in [("lost", "another run has answered"), ("memory-other", "another session or provider")] {
        fs::write(world.path("memory-other"), "dps-pca 1 session 0 provider 1\n").unwrap();
        let refused = world.provide(&url, 1, memory, &[]).output().unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(refused.status.code() == Some(1) && said.contains(reason), "{said}");
    }
    let locked = world.provide(&url, 2, "memory-2", &[]).output().unwrap();
    assert!(String::from_utf8(locked.stderr).unwrap().contains("another provider uses it"));
    assert_eq!(messages(), 3);
    // The server is killed too, and comes back.
    drop(server.log());
    let server = Serving::start_at(&address, &["--data", text(&data)]);
    let rest: Vec<Child> = [1, 3].map(|provider| world.spawn(&url, provider)).into_iter().chain([second]).collect();
    let expected = json!(in_process(&world.session, &counts, 40));
    for child in rest {
        assert_eq!(succeeded(&child.wait_with_output().unwrap())["components"], expected);
    }
    assert!(fs::read(world.path("memory-1")).unwrap().starts_with(&before));
    assert_eq!(messages(), 1 + 3 * 4);
    // A server that has lost everything is sent the same bytes again, and finds the same.
    let kept: Vec<Vec<u8>> = (1..=PROVIDERS).map(|i| fs::read(world.path(&format!("memory-{i}"))).unwrap()).collect();
    let admin = fs::read_to_string(data.join("admin.token")).unwrap();
    let session = format!("{url}/sessions/{}", world.session.id());
    let deleted = agent().delete(session).header("authorization", format!("Bearer {}", admin.trim())).call();
    assert_eq!(deleted.unwrap().status().as_u16(), 204);
    let world = World::new(&server, world.folder, 4);
    let children: Vec<Child> = (1..=PROVIDERS).map(|provider| world.spawn(&url, provider)).collect();
    for (child, (provider, kept)) in children.into_iter().zip((1..).zip(kept)) {
        assert_eq!(succeeded(&child.wait_with_output().unwrap())["components"], expected);
        assert_eq!(fs::read(world.path(&format!("memory-{provider}"))).unwrap(), kept);
    }
    drop(server.log());
}

#[test]
fn a_provider_refuses_what_costs_more_than_it_allows_and_records_that_do_not_fit() {
    let folder = tempdir().unwrap();
    write_all_records(folder.path(), &[10, 10, 10]);
    let server = Serving::start(&["--data", text(&folder.path().join("data"))]);
    let url = format!("http://{}", server.address);
    let world = World::new(&server, folder, 2);
    let refused = |records: &str, change: (&str, &str), reason: &str| {
        fs::write(world.path("records-1.csv"), records).unwrap();
        let mut command = world.provide(&url, 1, "memory", &[]);
        let arguments: Vec<String> = command.get_args().map(|argument| argument.to_str().unwrap().to_owned()).collect();
        let place = arguments.iter().position(|argument| argument == change.0).unwrap();
        let mut arguments = arguments;
        arguments[place + 1] = change.1.into();
        command = Command::new(env!("CARGO_BIN_EXE_ldp-pca"));
        let output = command.args(arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(reason), "'{said}' lacks '{reason}'");
    };
    let row = "0.1,".repeat(11) + "0.1\n";
    refused(&row, ("--epsilon", "0.99"), "nothing was sent");
    refused(&row, ("--delta", "1e-7"), "nothing was sent");
    refused(&row, ("--session", &"0".repeat(64)), "no session");
    refused(&row, ("--session", "0"), "64 lower-case");
    refused("", ("--epsilon", "1"), "no records");
    refused("0.1,0.2\n", ("--epsilon", "1"), "line 1: the record has 2 numbers, and the session 12");
    refused(&row.replace("0.1\n", "x\n"), ("--epsilon", "1"), "line 1: 'x' is no number");
    refused(&row.replace("0.1\n", "inf\n"), ("--epsilon", "1"), "line 1: inf is no finite number");
    fs::write(world.path("tokens/provider-1.token"), "0123456789abcdef0123456789abcdef").unwrap();
    refused(&row, ("--epsilon", "1"), "no provider's token");
    drop(server.log());
}

/// A session over HTTP, in this process.
struct Direct {
    server: Running,
    id: String,
    tokens: Vec<String>,
    _data: TempDir,
}

impl Direct {
    fn new(rounds: u32) -> Self {
        let data = tempdir().unwrap();
        let server = Running::start(config(data.path()), &[]);
        let created = server.administer("POST", "/sessions", parameters(rounds).to_string().as_bytes());
        assert_eq!(created.status, 201);
        let created = created.json();
        let tokens = created["tokens"].as_array().unwrap().iter().map(|token| token.as_str().unwrap().into()).collect();
        Self { server, id: created["session"].as_str().unwrap().into(), tokens, _data: data }
    }

    fn ask(&self, method: &str, rest: &str, token: &str, body: &str) -> Answer {
        let authorization = format!("Bearer {token}");
        let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
        self.server.request(method, &format!("/sessions/{}{rest}", self.id), &headers, body.as_bytes())
    }

    fn send(&self, provider: usize, round: u32, cells: &[i64]) -> Answer {
        let body = json!({"round": round, "cells": cells}).to_string();
        self.ask("POST", "/messages", &self.tokens[provider - 1], &body)
    }

    fn state(&self, query: &str) -> Value {
        let answer = self.ask("GET", &format!("/state{query}"), COLLECTOR, "");
        assert_eq!(answer.status, 200);
        answer.json()
    }
}

/// A message of full rank.
fn cells(seed: i64) -> Vec<i64> {
    (0..2 * DIMENSION as i64).map(|i| (i * i * 37 + seed * (i + 1) * 101) % 1009 - 500).collect()
}

#[test]
fn messages_out_of_turn_are_refused_by_name_and_retries_have_the_same_answer() {
    let session = Direct::new(2);
    let first = session.send(1, 1, &cells(1));
    assert_eq!((first.status, first.json()), (200, json!({"session": session.id, "provider": 1, "round": 1})));
    assert_eq!(session.send(1, 1, &cells(1)).body, first.body);
    session.send(1, 1, &cells(2)).assert_problem(409, "other-message", &["provider 1", "round 1"]);
    for round in [0, 2, 9] {
        let problem =
            session.send(2, round, &cells(1)).assert_problem(409, "other-round", &[&format!("round {round}")]);
        assert_eq!(problem["round"], 1);
    }
    session.send(2, 1, &cells(1)[1..]).assert_problem(422, "bad-message", &["23 numbers", "12 times 2"]);
    for huge in [(1 << 52) + 1, i64::MIN, i64::MAX] {
        let mut cells = cells(1);
        cells[3] = huge;
        session.send(2, 1, &cells).assert_problem(422, "bad-message", &["number 3", "2^52"]);
    }
    assert_eq!(session.state("")["missing"], json!([2, 3]));
    let before = session.state("")["basis"].clone();
    for provider in [2, 3] {
        assert_eq!(session.send(provider, 1, &cells(1)).status, 200);
    }
    let state = session.state("");
    assert_eq!((&state["round"], &state["missing"]), (&2.into(), &json!([1, 2, 3])));
    assert_ne!(state["basis"], before);
    // Late, but what was sent before.
    assert_eq!(session.send(1, 1, &cells(1)).body, first.body);
    session.send(1, 1, &cells(2)).assert_problem(409, "other-message", &[]);
    for provider in 1..=3 {
        session.send(provider, 2, &cells(provider as i64));
    }
    let state = session.state("");
    assert_eq!((&state["round"], &state["finished"], &state["missing"]), (&3.into(), &true.into(), &json!([])));
    session.send(1, 3, &cells(1)).assert_problem(409, "session-over", &["rounds"]);
    assert_eq!(session.send(1, 1, &cells(1)).body, first.body);
}

#[test]
fn messages_that_cancel_out_end_the_session_and_say_why() {
    let session = Direct::new(2);
    let flat = vec![0; 2 * DIMENSION];
    for provider in 1..=3 {
        assert_eq!(session.send(provider, 1, &flat).status, 200);
    }
    let state = session.state("?after=1&wait=20");
    assert!(state["failed"].as_str().unwrap().contains("lost a dimension") && state["finished"] == false, "{state}");
    session.send(1, 2, &cells(1)).assert_problem(409, "session-over", &["lost a dimension"]);
}

#[test]
fn only_providers_send_and_only_admins_create_and_delete() {
    let session = Direct::new(2);
    let body = json!({"round": 1, "cells": cells(1)}).to_string();
    let other = Direct::new(3);
    let stranger = "0123456789abcdef0123456789abcdef";
    for (token, kind, status) in [
        (ADMIN, "token-role", 403),
        (COLLECTOR, "token-role", 403),
        (stranger, "token-unknown", 401),
        (other.tokens[0].as_str(), "token-unknown", 401),
        (&session.tokens[0].replacen("1-", "2-", 1), "token-unknown", 401),
        (&session.tokens[0].replacen("1-", "4-", 1), "token-unknown", 401),
    ] {
        session.ask("POST", "/messages", token, &body).assert_problem(status, kind, &["a provider of this session"]);
    }
    let path = |rest: &str| format!("/sessions/{}{rest}", session.id);
    session.server.post(&path("/messages"), "application/json", body.as_bytes()).assert_problem(
        401,
        "token-missing",
        &[],
    );
    session.server.get(&path("/state")).assert_problem(401, "token-missing", &[]);
    session.ask("GET", "/state", ADMIN, "").assert_problem(403, "token-role", &[]);
    assert_eq!(session.ask("GET", "/state", &session.tokens[1], "").json()["answered"], 0);
    let create = |token: &str, body: &str| {
        let authorization = format!("Bearer {token}");
        let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
        session.server.request("POST", "/sessions", &headers, body.as_bytes())
    };
    create(COLLECTOR, &parameters(2).to_string()).assert_problem(403, "token-role", &[]);
    let again = create(ADMIN, &parameters(2).to_string());
    assert_eq!((again.status, &again.json()["tokens"]), (200, &json!(session.tokens)));
    assert_eq!(session.server.get("/sessions").json()["sessions"], json!([session.id]));
    session.ask("DELETE", "", COLLECTOR, "").assert_problem(403, "token-role", &[]);
    assert_eq!(session.ask("DELETE", "", ADMIN, "").status, 204);
    session.ask("DELETE", "", ADMIN, "").assert_problem(404, "unknown-session", &[&session.id]);
    session.send(1, 1, &cells(1)).assert_problem(404, "unknown-session", &[]);
}

#[test]
fn sessions_and_questions_that_make_no_sense_are_refused_with_the_value() {
    let session = Direct::new(2);
    let create = |change: Value| {
        let mut parameters = parameters(2);
        parameters.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        session.server.administer("POST", "/sessions", parameters.to_string().as_bytes())
    };
    create(json!({"rounds": 0})).assert_problem(422, "bad-session", &["rounds is 0"]);
    create(json!({"kept_rows": 1})).assert_problem(422, "bad-session", &["kept rows is 1"]);
    create(json!({"accounting": "printed"})).assert_problem(422, "bad-session", &["epsilon is 1", "Theorem 4.1"]);
    create(json!({"dimension": 1 << 20})).assert_problem(422, "bad-session", &["2^18"]);
    create(json!({"delta": 0.0})).assert_problem(400, "bad-json", &["delta is 0"]);
    create(json!({"more": 1})).assert_problem(400, "bad-json", &["`more`"]);
    for (query, named) in
        [("?wait=26", "wait=26"), ("?after=x", "'x'"), ("?round=1", "round=1"), ("?wait=1&wait=1", "twice")]
    {
        session.ask("GET", &format!("/state{query}"), COLLECTOR, "").assert_problem(400, "bad-query", &[named]);
    }
    let bodies = [
        "{",
        "[1, []]",
        "{\"round\": 1}",
        "{\"round\": 1, \"cells\": [0.5]}",
        "{\"round\": 1, \"cells\": [1e30]}",
        "{\"round\": -1, \"cells\": []}",
        "{\"round\": 1, \"cells\": [], \"more\": 1}",
        "{\"round\": 1, \"cells\": [9223372036854775808]}",
    ];
    for body in bodies {
        session.ask("POST", "/messages", &session.tokens[0], body).assert_problem(400, "bad-json", &[]);
    }
    let long = format!("{{\"round\": 1, \"cells\": [{}1]}}", "1, ".repeat(2000));
    session.ask("POST", "/messages", &session.tokens[0], &long).assert_problem(413, "body-too-large", &[]);
}

/// Bytes of a good message, altered, cut and repeated: at most one of them counts for a provider's round, and none does harm.
#[test]
fn altered_bytes_are_refused_or_taken_as_the_message_that_they_are() {
    let session = Direct::new(2);
    let good = json!({"round": 1, "cells": cells(1)}).to_string().into_bytes();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut taken = Vec::new();
    for _ in 0..400 {
        let mut body = good.clone();
        for _ in 0..rng.random_range(1..4) {
            let place = rng.random_range(0..body.len());
            match rng.random_range(0..4) {
                0 => body[place] = rng.random_range(0..=255),
                1 => body.truncate(place.max(1)),
                2 => drop(body.remove(place)),
                _ => body.insert(place, b"-0,1[]{}\"e"[rng.random_range(0..10)]),
            }
            body.extend(b" ".repeat(usize::from(body.is_empty())));
        }
        let authorization = format!("Bearer {}", session.tokens[0]);
        let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
        let answer = session.server.request("POST", &format!("/sessions/{}/messages", session.id), &headers, &body);
        assert!([200, 400, 409, 422].contains(&answer.status), "{} {}", answer.status, String::from_utf8_lossy(&body));
        if answer.status == 200 {
            let message: Value = serde_json::from_slice(&body).unwrap();
            taken.push(message);
        }
    }
    // Those that were taken are all the same, but for the spaces in them.
    assert!(taken.windows(2).all(|pair| pair[0] == pair[1]), "{taken:?}");
    assert_eq!(session.ask("GET", "/state", &session.tokens[0], "").json()["answered"], u32::from(!taken.is_empty()));
}

#[test]
fn whoever_waits_is_told_of_the_next_round_and_of_the_end() {
    let session = Direct::new(1);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| session.state("?after=1&wait=20"));
        for provider in 1..=3 {
            session.send(provider, 1, &cells(provider as i64));
        }
        assert_eq!(waiting.join().unwrap()["finished"], true);
    });
    let deleted = Direct::new(1);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| deleted.ask("GET", "/state?after=1&wait=20", COLLECTOR, ""));
        assert_eq!(deleted.ask("DELETE", "", ADMIN, "").status, 204);
        waiting.join().unwrap().assert_problem(404, "unknown-session", &[]);
    });
}

#[test]
fn a_damaged_session_is_named_at_the_start_and_half_a_one_is_no_session() {
    let data = tempdir().unwrap();
    let server = Running::start(config(data.path()), &[]);
    let created = server.administer("POST", "/sessions", parameters(2).to_string().as_bytes()).json();
    let id = created["session"].as_str().unwrap();
    let headers = [("authorization", format!("Bearer {}", created["tokens"][0].as_str().unwrap()))];
    let body = json!({"round": 1, "cells": cells(1)}).to_string();
    let headers = [(headers[0].0, headers[0].1.as_str()), ("content-type", "application/json")];
    assert_eq!(server.request("POST", &format!("/sessions/{id}/messages"), &headers, body.as_bytes()).status, 200);
    server.shut_down();
    let folder = data.path().join("sessions").join(id);
    let message = folder.join("0001-0001.json");
    let good = fs::read(&message).unwrap();
    for (bad, named) in [(&b"{}"[..], "missing field"), (br#"{"round":2,"provider":1,"cells":[1]}"#, "does not fit")] {
        fs::write(&message, bad).unwrap();
        let Err(error) = Running::try_start(config(data.path()), &[]) else { panic!("started") };
        let error = error.to_string();
        assert!(error.contains("0001-0001.json") && error.contains(named) && error.contains(id), "{error}");
    }
    fs::write(&message, good).unwrap();
    // What a crash leaves of a message or a session that was never acknowledged.
    fs::write(folder.join("0001-0002.json.tmp"), "{").unwrap();
    let half = data.path().join("sessions").join("0".repeat(64));
    fs::create_dir(&half).unwrap();
    fs::write(half.join("session.json.tmp"), "{").unwrap();
    let server = Running::start(config(data.path()), &[]);
    assert_eq!(server.get("/sessions").json()["sessions"], json!([id]));
    assert!(!half.exists());
    let again = server.request("POST", &format!("/sessions/{id}/messages"), &headers, body.as_bytes());
    assert_eq!(again.status, 200);
}
