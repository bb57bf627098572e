//! Single reports are erased over HTTP and from the command line, and what was done is in the audit log.

use std::fs;
use std::path::Path;

use ldp_pca::report::Report;
use ldp_pca_server::{LogConfig, RateLimit, ServerConfig, TaskSettings};
use serde_json::{Value, json};
use tempfile::tempdir;

use super::harness::{
    ADMIN, Answer, COLLECTOR, REPORTS, Running, Serving, aggregate_of, assert_members, bytes_of, config, get, path,
    post, put_body, reports, task,
};
use crate::support::Folder;

fn ids(reports: &[Report]) -> Vec<u8> {
    let ids: Vec<String> = reports.iter().map(|report| report.id().to_string()).collect();
    json!({"ids": ids}).to_string().into_bytes()
}

fn erase(server: &Running, token: Option<&str>, body: &[u8]) -> Answer {
    let authorization = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![("content-type", "application/json")];
    headers.extend(authorization.as_deref().map(|value| ("authorization", value)));
    server.request("POST", &path(&task(), "/erasures"), &headers, body)
}

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn an_admin_erases_reports_and_their_bytes_do_not_count_again() {
    let data = tempdir().unwrap();
    let server = Running::start(config(data.path()), &[task()]);
    let all = reports(&task(), 1, 40);
    server.send(&task(), &bytes_of(&all));
    let recovery = || server.get(&path(&task(), "/recovery?rank=2")).json();
    assert_eq!(recovery()["records"], 40);
    let erased = erase(&server, Some(ADMIN), &ids(&all[..2]));
    assert_eq!((erased.status, erased.json()), (200, json!({"erased": 2, "before": 0, "unknown": 0})));
    assert_members(&server.get("/openapi.json").json(), "ErasedReports", &erased.json());
    let strange = [&all[1..2], &reports(&task(), 2, 1)].concat();
    assert_eq!(erase(&server, Some(ADMIN), &ids(&strange)).json(), json!({"erased": 0, "before": 1, "unknown": 1}));
    let again = server.send(&task(), &bytes_of(&all[..3])).json();
    assert_eq!((&again["accepted"], &again["duplicate"]), (&0.into(), &3.into()));
    assert_eq!(server.records(&task()), 38);
    // Components of before are not shown again.
    let expected = aggregate_of(&task(), &bytes_of(&all[2..]));
    let covariance = ldp_pca::covariance::Covariance::estimate(&expected, &task()).unwrap();
    let found = recovery();
    assert_eq!((&found["records"], &found["noise_deviation"]), (&38.into(), &covariance.noise_deviation().into()));
    let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
    assert!(metrics.contains("ldp_pca_reports_erased_total 2\n"), "{metrics}");
}

#[test]
fn without_an_admin_nothing_is_erased_unless_the_operator_allows_it() {
    let data = tempdir().unwrap();
    let server = Running::start(config(data.path()), &[task()]);
    let all = reports(&task(), 1, 5);
    server.send(&task(), &bytes_of(&all));
    erase(&server, None, &ids(&all[..1])).assert_problem(401, "token-missing", &["an admin"]);
    erase(&server, Some(COLLECTOR), &ids(&all[..1])).assert_problem(403, "token-role", &["an admin"]);
    erase(&server, Some(&"x".repeat(32)), &ids(&all[..1])).assert_problem(401, "token-unknown", &[]);
    for (body, status, kind) in [
        (&br#"{"ids": []}"#[..], 422, "bad-count"),
        (br#"{"ids": ["12"]}"#, 400, "bad-json"),
        (br#"{"ids": "12", "task": 1}"#, 400, "bad-json"),
        (br#"["00112233445566778899aabbccddeeff"]"#, 400, "bad-json"),
    ] {
        erase(&server, Some(ADMIN), body).assert_problem(status, kind, &[]);
    }
    let authorization = format!("Bearer {ADMIN}");
    let other = format!("/tasks/{}/erasures", "0".repeat(64));
    let headers = [("content-type", "application/json"), ("authorization", &*authorization)];
    server.request("POST", &other, &headers, &ids(&all)).assert_problem(404, "unknown-task", &[]);
    assert_eq!(server.records(&task()), 5);
}

#[test]
fn a_holder_of_an_id_erases_its_report_where_that_is_open_and_no_others() {
    let data = tempdir().unwrap();
    let open_erasure = Some(RateLimit { per_second: 0.001, burst: 2 });
    let server = Running::start(ServerConfig { open_erasure, ..config(data.path()) }, &[task()]);
    let all = reports(&task(), 1, 5);
    server.send(&task(), &bytes_of(&all));
    erase(&server, None, &ids(&all[..2])).assert_problem(422, "bad-count", &["2 ids", "1 to 1"]);
    assert_eq!(erase(&server, None, &ids(&all[..1])).json()["erased"], 1);
    assert_eq!(erase(&server, None, &ids(&reports(&task(), 2, 1))).json()["unknown"], 1);
    let refused = erase(&server, None, &ids(&all[1..2]));
    refused.assert_problem(429, "rate-limit", &[]);
    assert!(!refused.header("retry-after").is_empty());
    // An admin is not limited, and a collector is no holder.
    assert_eq!(erase(&server, Some(ADMIN), &ids(&all[1..3])).json()["erased"], 2);
    erase(&server, Some(COLLECTOR), &ids(&all[3..4])).assert_problem(403, "token-role", &[]);
    assert_eq!(server.records(&task()), 2);
}

/// Whatever the moment, an answered erasure is there afterwards.
#[test]
fn what_was_erased_stays_so_when_the_server_is_killed() {
    let folder = Folder::new();
    folder.write("task.json", task().to_json());
    folder.write("admin.token", ADMIN);
    folder.write("server.toml", format!("[tokens]\nadmin_file = {:?}\n", folder.path("admin.token")));
    let (data, file) = (folder.path("data"), folder.path("task.json"));
    let start = || {
        let settings = folder.path("server.toml");
        let names = [&data, &file, &settings].map(|path| path.to_str().unwrap().to_owned());
        Serving::start(&["--data", &names[0], "--task", &names[1], "--config", &names[2]])
    };
    let all = reports(&task(), 3, 60);
    for (round, gone) in all.chunks(4).take(5).enumerate() {
        let server = start();
        post(server.address, &path(&task(), "/reports"), REPORTS, &bytes_of(&all));
        let ids = gone.iter().map(|report| report.id().to_string()).collect::<Vec<_>>().join("\n");
        folder.write("ids.txt", ids);
        let command = format!(
            "task erase {} --ids ids.txt --url http://{} --token-file admin.token --json",
            task().digest(),
            server.address
        );
        assert_eq!(folder.run(&command).json(), json!({"erased": 4, "before": 0, "unknown": 0}));
        server.signal("KILL");
        drop(server.log());
        let server = start();
        let status = get(server.address, &path(&task(), "/status")).json();
        assert_eq!(status["records"], 60 - 4 * (round + 1));
        drop(server.log());
    }
    let verified = folder.run("store verify data").ok().stdout;
    assert!(verified.contains("40 reports") && verified.contains("20 erased on request"), "{verified}");
    folder.run("store export data --output left.ldpr").ok();
    assert_eq!(folder.read("left.ldpr"), bytes_of(&all[20..]));
}

#[test]
fn the_command_names_what_is_wrong_and_what_was_not_found() {
    let data = tempdir().unwrap();
    let server = Running::start(config(data.path()), &[task()]);
    let all = reports(&task(), 1, 5);
    server.send(&task(), &bytes_of(&all));
    let folder = Folder::new();
    folder.write("token", ADMIN);
    let url = format!("http://{}", server.address);
    let digest = task().digest();
    let erase = |rest: &str| folder.run(&format!("task erase {digest} --url {url} --token-file token {rest}"));
    let text = erase(&all[0].id().to_string()).ok().stdout;
    assert_eq!(text, "erased: 1\nerased before: 0\nnot found: 0\n");
    let unknown = erase(&"7".repeat(32));
    assert_eq!((unknown.code, unknown.stdout.lines().last()), (Some(1), Some("not found: 1")));
    assert!(unknown.stderr.contains("1 not found") && unknown.stderr.contains("check the task"), "{unknown:?}");
    erase("12").refused(2, &["32 hexadecimal digits"]);
    erase("").refused(2, &["<ID>"]);
    folder.write("ids", format!("{}\n\n{}\nfoo\n", all[0].id(), all[1].id()));
    erase("--ids ids").refused(1, &["ids, line 4", "32 hexadecimal digits"]);
    folder.write("ids", "\n");
    erase("--ids ids").refused(2, &["there is no id"]);
    folder.run(&format!("task erase {digest} --url {url} {}", all[2].id())).refused(1, &["401", "admin"]);
    folder.run(&format!("task erase abc --url {url} {}", all[2].id())).refused(2, &["64"]);
    assert_eq!(server.records(&task()), 4);
}

/// Who did what to which task, and nothing else: no token, no setting, no id, and addresses only where asked for.
#[test]
fn the_audit_log_has_a_line_for_each_action_of_a_known_token() {
    for addresses in [false, true] {
        let data = tempdir().unwrap();
        let audit = data.path().join("audit.jsonl");
        let log = LogConfig { audit: Some(audit.clone()), addresses, ..LogConfig::default() };
        let open_erasure = Some(RateLimit { per_second: 1.0, burst: 9 });
        let server = Running::start(ServerConfig { log, open_erasure, ..config(&data.path().join("data")) }, &[]);
        let id = path(&task(), "");
        let settings = TaskSettings { max_records: Some(271_828), ..TaskSettings::default() };
        let ask = |method: &str, path: &str, token: &str, body: &[u8]| {
            let authorization = format!("Bearer {token}");
            let headers = [
                ("authorization", &*authorization),
                ("content-type", "application/json"),
                ("x-request-id", "request-7"),
            ];
            server.request(method, path, &headers, body).status
        };
        let dry_run = format!("{id}?dry_run=true");
        assert_eq!(ask("PUT", &dry_run, ADMIN, &put_body(&task(), &settings)), 200);
        assert_eq!(ask("PUT", &id, ADMIN, &put_body(&task(), &settings)), 201);
        assert_eq!(ask("PUT", &id, COLLECTOR, &put_body(&task(), &settings)), 403);
        assert_eq!(ask("PUT", &id, &"guess".repeat(8), &put_body(&task(), &settings)), 401);
        let all = reports(&task(), 1, 5);
        server.send(&task(), &bytes_of(&all));
        assert_eq!(ask("POST", &path(&task(), "/erasures"), ADMIN, &ids(&all[..2])), 200);
        assert_eq!(erase(&server, None, &ids(&all[2..3])).status, 200);
        assert_eq!(erase(&server, None, b"{}").status, 400);
        assert_eq!(ask("DELETE", &format!("{id}?now=true"), ADMIN, b""), 204);
        assert_eq!(ask("DELETE", &id, ADMIN, b""), 404);
        let found = lines(&audit);
        let text = fs::read_to_string(&audit).unwrap();
        for line in &found {
            assert_eq!(line.get("address").is_some(), addresses && line["action"] != "tokens-read", "{line}");
        }
        let brief: Vec<Value> = (found.into_iter())
            .map(|mut line| {
                let members = line.as_object_mut().unwrap();
                for known in ["time", "address", "request"] {
                    members.remove(known);
                }
                if let Some(task_of_line) = members.remove("task") {
                    assert_eq!(task_of_line, task().digest().to_string());
                }
                line
            })
            .collect();
        let admin = |action: &str, more: Value| {
            let mut line = json!({"action": action, "outcome": "done", "role": "admin", "who": "admin 1"});
            line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            line
        };
        let expected = [
            json!({"action": "tokens-read", "outcome": "done", "role": "admin", "who": "admin 1"}),
            json!({"action": "tokens-read", "outcome": "done", "role": "collector", "who": "collector 1"}),
            admin("task-put", json!({})),
            admin(
                "task-put",
                json!({"outcome": "refused", "role": "collector", "who": "collector 1", "problem": "token-role"}),
            ),
            admin("reports-erase", json!({"reports": 2})),
            json!({"action": "reports-erase", "outcome": "done", "role": "holder", "reports": 1}),
            admin("task-delete", json!({"reports": 2, "now": true})),
            admin("task-delete", json!({"outcome": "refused", "problem": "unknown-task"})),
        ];
        assert_eq!(brief, expected);
        assert!(text.contains("\"request\":\"request-7\""));
        let secrets = [ADMIN, COLLECTOR, "guess", "271828"].map(str::to_owned);
        for secret in secrets.into_iter().chain(all.iter().map(|report| report.id().to_string())) {
            assert!(!text.contains(&secret), "{secret} is in\n{text}");
        }
    }
}

#[test]
fn commands_on_a_folder_add_their_lines_to_the_audit_log() {
    let folder = Folder::new();
    let server = Running::start(config(&folder.path("data")), &[task()]);
    server.send(&task(), &bytes_of(&reports(&task(), 1, 7)));
    server.shut_down();
    folder.run("store export data --output all.ldpr --audit-log audit.jsonl").ok();
    folder.run("store merge data --into other --audit-log audit.jsonl").ok();
    let found: Vec<Value> = lines(&folder.path("audit.jsonl"));
    for (line, action) in found.iter().zip(["store-export", "store-merge"]) {
        assert_eq!((&line["action"], &line["role"], &line["reports"]), (&json!(action), &json!("operator"), &json!(7)));
        assert_eq!(line["task"], task().digest().to_string());
    }
    assert_eq!(found.len(), 2);
    folder.run("store export data --output b.ldpr --audit-log no/audit.jsonl").refused(1, &["no/audit.jsonl"]);
}
