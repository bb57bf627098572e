//! Sessions between data providers: requests that keep and break the rules.

use std::fs;
use std::thread;

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use super::harness::{ADMIN, Answer, COLLECTOR, Running, assert_members, config};

const DIMENSION: usize = 12;
const PROVIDERS: usize = 3;

fn parameters(rounds: u32) -> Value {
    json!({"version": 1, "dimension": DIMENSION, "rank": 2, "kept_rows": 6, "rounds": rounds, "providers": PROVIDERS,
        "epsilon": 1.0, "delta": 1e-6, "accounting": "corrected", "norm_bound": 1.0, "start": 7})
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
fn invalid_sessions_and_questions_are_refused_with_the_value() {
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

/// Bytes of a good message, altered, cut and repeated: at most one of them counts for a provider's round, and none does
/// harm.
#[test]
fn altered_bytes_are_refused_or_read_as_another_valid_message() {
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
    // The accepted messages differ only in spaces.
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

/// An answer has exactly the members that the document states.
#[test]
fn answers_have_the_members_of_the_document() {
    let session = Direct::new(1);
    let document = session.server.get("/openapi.json").json();
    let created = session.server.administer("POST", "/sessions", parameters(1).to_string().as_bytes()).json();
    let shown = session.server.get(&format!("/sessions/{}", session.id)).json();
    assert_eq!(shown, parameters(1));
    let asked = session.ask("GET", "/state", &session.tokens[0], "").json();
    for (name, answer) in [("SessionCreated", created), ("SessionParameters", shown), ("SessionState", asked)] {
        assert_members(&document, name, &answer);
    }
}

#[test]
fn a_damaged_session_is_named_at_the_start_and_an_incomplete_one_is_ignored() {
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
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let message =
        names.into_iter().find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("0001")).unwrap();
    let good = fs::read(&message).unwrap();
    for byte in 0..good.len() {
        let mut bad = good.clone();
        bad[byte] ^= 1 << (byte % 8);
        fs::write(&message, &bad).unwrap();
        let Err(error) = Running::try_start(config(data.path()), &[]) else { panic!("started with byte {byte}") };
        assert!(error.to_string().contains("0001-0001") && error.to_string().contains("is damaged"), "{error}");
    }
    fs::remove_file(&message).unwrap();
    for (bad, named) in [(&b"{}"[..], "missing field"), (br#"{"round":2,"provider":1,"cells":[1]}"#, "does not fit")] {
        let forged = folder.join(format!("0001-0001.{:08x}.json", crc32fast::hash(bad)));
        fs::write(&forged, bad).unwrap();
        let Err(error) = Running::try_start(config(data.path()), &[]) else { panic!("started") };
        let error = error.to_string();
        assert!(error.contains("0001-0001") && error.contains(named) && error.contains(id), "{error}");
        fs::remove_file(&forged).unwrap();
    }
    // Nor is a message without its checksum one.
    let unnamed = folder.join("0001-0001.json");
    fs::write(&unnamed, &good).unwrap();
    let Err(error) = Running::try_start(config(data.path()), &[]) else { panic!("started") };
    assert!(error.to_string().contains("0001-0001.json is damaged"), "{error}");
    fs::remove_file(&unnamed).unwrap();
    fs::write(&message, good).unwrap();
    // The rest of a message or a session that was never acknowledged, after a crash.
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
