//! A session between data providers: requests that keep and break the rules.

use std::fs;
use std::path::PathBuf;
use std::thread;

use chacha20::ChaCha8Rng;
use ldp_pca_dps::Session;
use rand::{RngExt as _, SeedableRng};
use serde_json::{Value, json};

use crate::coordinator::{Coordinator, DIMENSION, PROVIDERS, start};
use crate::http::Answer;
use crate::support::{Folder, assert_has};

fn parameters(rounds: u32) -> Value {
    json!({"version": 1, "dimension": DIMENSION, "rank": 2, "kept_rows": 6, "rounds": rounds, "providers": PROVIDERS,
        "epsilon": 1.0, "delta": 1e-6, "accounting": "corrected", "norm_bound": 1.0, "start": 7})
}

/// A session over HTTP.
struct Direct {
    server: Coordinator,
    id: String,
    tokens: Vec<String>,
    collector: String,
    _folder: Folder,
}

impl Direct {
    fn new(rounds: u32) -> Self {
        let folder = Folder::new();
        let id = start(&folder, "data", rounds).json()["session"].as_str().unwrap().to_owned();
        let token = |name: &str| folder.read_text(&format!("data/{name}.token")).trim().to_owned();
        let tokens = (1..=PROVIDERS).map(|provider| token(&format!("tokens/provider-{provider}"))).collect();
        let server = Coordinator::start(&folder.path("data"));
        Self { server, id, tokens, collector: token("collector"), _folder: folder }
    }

    fn ask(&self, method: &str, rest: &str, token: &str, body: &str) -> Answer {
        self.server.request(method, &format!("/sessions/{}{rest}", self.id), Some(token), body.as_bytes())
    }

    fn send(&self, provider: usize, round: u32, cells: &[i64]) -> Answer {
        let body = json!({"round": round, "cells": cells}).to_string();
        self.ask("POST", "/messages", &self.tokens[provider - 1], &body)
    }

    fn state(&self, query: &str) -> Value {
        let answer = self.ask("GET", &format!("/state{query}"), &self.collector, "");
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
    session.send(1, 1, &cells(2)).refused(409, "other-message", &["provider 1", "round 1"]);
    for round in [0, 2, 9] {
        let problem = session.send(2, round, &cells(1)).refused(409, "other-round", &[&format!("round {round}")]);
        assert_eq!(problem["round"], 1);
    }
    session.send(2, 1, &cells(1)[1..]).refused(422, "bad-message", &["23 numbers", "12 times 2"]);
    for huge in [(1 << 52) + 1, i64::MIN, i64::MAX] {
        let mut cells = cells(1);
        cells[3] = huge;
        session.send(2, 1, &cells).refused(422, "bad-message", &["number 3", "2^52"]);
    }
    assert_eq!(session.state("")["missing"], json!([2, 3]));
    let before = session.state("")["basis"].clone();
    for provider in [2, 3] {
        assert_eq!(session.send(provider, 1, &cells(1)).status, 200);
    }
    let state = session.state("");
    assert_has(&state, json!({"round": 2, "missing": [1, 2, 3]}), "the second round");
    assert_ne!(state["basis"], before);
    // Late, but what was sent before.
    assert_eq!(session.send(1, 1, &cells(1)).body, first.body);
    session.send(1, 1, &cells(2)).refused(409, "other-message", &[]);
    for provider in 1..=3 {
        session.send(provider, 2, &cells(provider as i64));
    }
    assert_has(&session.state(""), json!({"round": 3, "finished": true, "missing": []}), "the end");
    session.send(1, 3, &cells(1)).refused(409, "session-over", &["rounds"]);
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
    session.send(1, 2, &cells(1)).refused(409, "session-over", &["lost a dimension"]);
}

#[test]
fn only_providers_send_and_only_they_and_the_collector_see_the_state() {
    let session = Direct::new(2);
    let body = json!({"round": 1, "cells": cells(1)}).to_string();
    let other = Direct::new(3);
    let stranger = "0123456789abcdef0123456789abcdef";
    let send = |token: &str| session.ask("POST", "/messages", token, &body);
    send(&session.collector).refused(403, "token-role", &["a provider of this session"]);
    for token in [
        stranger,
        &other.tokens[0],
        &session.tokens[0].replacen("1-", "2-", 1),
        &session.tokens[0].replacen("1-", "4-", 1),
        &session.collector.replacen("0-", "1-", 1),
    ] {
        send(token).refused(401, "token-unknown", &["a provider of this session"]);
    }
    let path = |rest: &str| format!("/sessions/{}{rest}", session.id);
    let without = |method: &str, path: &str, body: &str| session.server.request(method, path, None, body.as_bytes());
    for answer in [without("POST", &path("/messages"), &body), without("GET", &path("/state"), "")] {
        answer.refused(401, "token-missing", &["Authorization: Bearer"]);
        assert_eq!(answer.headers["www-authenticate"], "Bearer");
    }
    session.ask("GET", "/state", stranger, "").refused(401, "token-unknown", &[]);
    assert_eq!(session.state("")["answered"], Value::Null);
    assert_eq!(session.ask("GET", "/state", &session.tokens[1], "").json()["answered"], 0);
    let unknown = format!("/sessions/{}", "0".repeat(64));
    without("GET", &unknown, "").refused(404, "unknown-session", &[&"0".repeat(64)]);
    for nothing in ["/", "/sessions", "/tasks", &path("/messages/1"), &path("/more")] {
        without("GET", nothing, "").refused(404, "unknown-path", &[]);
    }
    for (method, rest, allowed) in [("DELETE", "", "GET"), ("POST", "/state", "GET"), ("GET", "/messages", "POST")] {
        let answer = without(method, &path(rest), "");
        answer.refused(405, "method-not-allowed", &[allowed]);
        assert_eq!(answer.headers["allow"], allowed);
    }
}

#[test]
fn invalid_sessions_and_questions_are_refused_with_the_value() {
    let folder = Folder::new();
    for (options, parts) in [
        ("--dimension 12 --delta 1e-6 --rounds 0", &["rounds is 0"][..]),
        ("--dimension 12 --delta 1e-6 --kept-rows 1", &["kept rows is 1"]),
        ("--dimension 12 --delta 1e-6 --accounting printed", &["epsilon is 1", "Theorem 4.1"]),
        ("--dimension 1048576 --delta 1e-6", &["2^18"]),
        ("--dimension 12 --delta 0", &["delta is 0"]),
    ] {
        folder.refused(&format!("dps-pca start --providers 3 --rank 2 --epsilon 1 --data data {options}"), 2, parts);
    }
    assert_eq!(folder.names(), [""; 0]);
    let session = Direct::new(2);
    for (query, named) in
        [("?wait=26", "wait=26"), ("?after=x", "'x'"), ("?round=1", "round=1"), ("?wait=1&wait=1", "twice")]
    {
        let answer = session.ask("GET", &format!("/state{query}"), &session.collector, "");
        answer.refused(400, "bad-query", &[named]);
    }
    for body in [
        "{",
        "[1, []]",
        r#"{"round": 1}"#,
        r#"{"round": 1, "cells": [0.5]}"#,
        r#"{"round": 1, "cells": [1e30]}"#,
        r#"{"round": -1, "cells": []}"#,
        r#"{"round": 1, "cells": [], "more": 1}"#,
        r#"{"round": 1, "cells": [9223372036854775808]}"#,
    ] {
        session.ask("POST", "/messages", &session.tokens[0], body).refused(400, "bad-json", &[]);
    }
    let long = format!("{{\"round\": 1, \"cells\": [{}1]}}", "1, ".repeat(2000));
    session.ask("POST", "/messages", &session.tokens[0], &long).refused(413, "body-too-large", &[]);
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
        let path = format!("/sessions/{}/messages", session.id);
        let answer = session.server.request("POST", &path, Some(&session.tokens[0]), &body);
        assert!([200, 400, 409, 422].contains(&answer.status), "{} {}", answer.status, String::from_utf8_lossy(&body));
        if answer.status == 200 {
            taken.push(serde_json::from_slice::<Value>(&body).unwrap());
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
}

/// Answers have exactly the members that research/docs/distributed.md states.
#[test]
fn answers_have_the_members_of_the_document() {
    let session = Direct::new(1);
    let shown = session.server.request("GET", &format!("/sessions/{}", session.id), None, b"");
    assert_eq!(shown.json(), parameters(1));
    let shown = Session::from_json(str::from_utf8(&shown.body).unwrap()).unwrap();
    assert_eq!(shown.id().to_string(), session.id);
    let state = session.ask("GET", "/state", &session.tokens[0], "").json();
    let members: Vec<&String> = state.as_object().unwrap().keys().collect();
    assert_eq!(members, ["answered", "basis", "finished", "missing", "round", "rounds", "session"]);
}

#[test]
fn a_folder_has_one_session_and_one_coordinator() {
    let folder = Folder::new();
    start(&folder, "data", 2).ok();
    let before = folder.read("data/key");
    start(&folder, "data", 3).refused(1, &["it has a session", "give another folder"]);
    assert_eq!(folder.read("data/key"), before);
    let running = Coordinator::start(&folder.path("data"));
    assert!(Coordinator::refusal(&folder.path("data")).contains("another coordinator has the session"));
    drop(running);
    drop(Coordinator::start(&folder.path("data")));
    let missing = Coordinator::refusal(&folder.path("nowhere"));
    assert!(missing.contains("session.json: No such file or directory"), "{missing}");
}

#[test]
fn a_damaged_session_is_named_at_the_start_and_an_incomplete_message_is_ignored() {
    let folder = Folder::new();
    let id = start(&folder, "data", 2).json()["session"].as_str().unwrap().to_owned();
    let data = folder.path("data");
    let token = folder.read_text("data/tokens/provider-1.token");
    let body = json!({"round": 1, "cells": cells(1)}).to_string();
    let path = format!("/sessions/{id}/messages");
    let send = |server: &Coordinator| server.request("POST", &path, Some(token.trim()), body.as_bytes()).status;
    assert_eq!(send(&Coordinator::start(&data)), 200);
    let named = |file: &str, problem: &str| {
        let refusal = Coordinator::refusal(&data);
        assert!(refusal.contains(file) && refusal.contains(problem), "{refusal}");
    };
    let names = fs::read_dir(data.join("messages")).unwrap().map(|entry| entry.unwrap().path());
    let [message]: [PathBuf; 1] = names.collect::<Vec<_>>().try_into().unwrap();
    let good = fs::read(&message).unwrap();
    fs::write(&message, &good[1..]).unwrap();
    named("0001-0001", "is damaged");
    fs::remove_file(&message).unwrap();
    for (bad, problem) in [(&b"{}"[..], "missing field"), (br#"{"round":2,"provider":1,"cells":[1]}"#, "does not fit")]
    {
        let forged = data.join(format!("messages/0001-0001.{:08x}.json", crc32fast::hash(bad)));
        fs::write(&forged, bad).unwrap();
        named("0001-0001", problem);
        fs::remove_file(&forged).unwrap();
    }
    // Nor is a message without its checksum one.
    let unnamed = data.join("messages/0001-0001.json");
    fs::write(&unnamed, &good).unwrap();
    named("0001-0001.json", "is damaged");
    fs::remove_file(&unnamed).unwrap();
    fs::write(&message, good).unwrap();
    // Other parameters are those of another session, and what nobody knows is none.
    let parameters = folder.read_text("data/session.json");
    folder.write("data/session.json", parameters.replace("\"rounds\":2", "\"rounds\":3"));
    named("key", "is damaged");
    folder.write("data/session.json", parameters.replacen('{', "{\"more\":1,", 1));
    named("session.json", "`more`");
    folder.write("data/session.json", parameters);
    // The rest of a message that was never acknowledged, after a crash.
    fs::write(data.join("messages/0001-0002.00000000.json.tmp"), "{").unwrap();
    let server = Coordinator::start(&data);
    assert_eq!(send(&server), 200);
}
