//! Request ids, figures and readiness; and what a log must not hold.

use super::harness::*;

#[test]
fn request_ids_are_echoed_when_they_are_sane_and_made_otherwise() {
    let (_data, server) = serving(config, &[task()]);
    let id = |given: &str, path: &str| {
        server.request("GET", path, &[("x-request-id", given)], b"").header("x-request-id").to_owned()
    };
    for path in ["/healthz", "/tasks/x", "/nowhere"] {
        assert_eq!(id("3fa85f64-5717.a_b", path), "3fa85f64-5717.a_b");
        for bad in ["a b", "<script>", &"a".repeat(65)] {
            let made = id(bad, path);
            assert!(made.len() == 16 && made.bytes().all(|byte| byte.is_ascii_hexdigit()), "{made}");
        }
    }
    let made = || server.get("/healthz").header("x-request-id").to_owned();
    assert_ne!(made(), made());
}

#[test]
fn figures_count_what_happened() {
    let (_data, server) = serving(config, &[task()]);
    let body = body_of(1, 5);
    server.send(&task(), &body);
    server.send(&task(), &body[..70]);
    let mut bad = body.clone();
    bad[30] ^= 1;
    bad[35] = b'X';
    server.send(&task(), &bad);
    server.send(&task(), &body[..3]);
    server.get("/nowhere");
    server.get("/tasks/x");
    let answer = server.get("/metrics");
    assert!(answer.header("content-type").starts_with("application/openmetrics-text"));
    let text = answer.text();
    assert!(text.ends_with("# EOF\n"));
    let id = task().digest();
    for line in [
        "ldp_pca_reports_accepted_total 5",
        "ldp_pca_reports_duplicate_total 5",
        "ldp_pca_reports_rejected_total{reason=\"report-checksum\"} 1",
        "ldp_pca_reports_rejected_total{reason=\"report-not-a-report\"} 1",
        "ldp_pca_reports_rejected_total{reason=\"report-range\"} 0",
        "ldp_pca_problems_total{type=\"reports-rejected\"} 1",
        "ldp_pca_problems_total{type=\"body-length\"} 1",
        "ldp_pca_problems_total{type=\"unknown-path\"} 1",
        "ldp_pca_problems_total{type=\"unknown-task\"} 1",
        "ldp_pca_problems_total{type=\"internal\"} 0",
        "ldp_pca_upload_seconds_count 3",
        &format!("ldp_pca_records{{task=\"{id}\"}} 5"),
        &format!("ldp_pca_queued{{task=\"{id}\"}} 0"),
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    for name in ["ldp_pca_store_sync_seconds_bucket", "ldp_pca_store_group_reports_bucket"] {
        assert!(text.contains(name), "{name}");
    }
}

/// Everything that a log might hold by mistake goes through the server, at the most verbose level. The task is one
/// whose payloads have ten bytes: the two of a compact report are found by chance in a port or a time.
#[test]
fn a_log_holds_no_report_no_id_no_token_and_no_query() {
    let (folder, task) = (Folder::new(), other_task());
    let tokens = format!("[tokens]\nadmin = {ADMIN:?}\ncollector = {COLLECTOR:?}\n");
    let log = "[log]\nformat = \"json\"\nlevel = \"trace\"\n";
    folder.write("server.toml", format!("data = \"data\"\nminimum_batch = 1\n{tokens}{log}"));
    let server = Serving::start(&folder, "--config server.toml");
    assert_eq!(server.put(&task, &TaskSettings { issued_ids: Some(true), ..TaskSettings::default() }), 201);
    let issued = ids(&server.seeds(&task, 2));
    let good = with_id(&task, issued[0]);
    let stray = reports(&task, 1, 1).remove(0);
    let sent = bytes_of(&[good.clone(), stray.clone()]);
    let media_type = [("content-type", REPORTS), ("x-request-id", "request-of-the-test")];
    let send = |body: &[u8]| server.request("POST", &path(&task, "/reports"), &media_type, body).status;
    // With another payload, which the log tells.
    let again = with_id(&task, issued[0]);
    assert_eq!((send(&sent), send(&sent[..43]), send(&again.to_bytes())), (422, 200, 200));
    let recovery = |token: &str, rank: &str| {
        server.ask(Some(token), "GET", &path(&task, &format!("/recovery?rank={rank}")), b"").status
    };
    assert_eq!(recovery(COLLECTOR, "secret-in-a-query"), 400);
    assert_eq!(recovery("a-wrong-token-0123456789abcdef0123", "1"), 401);
    assert_eq!(server.get("/a-path-with-a-secret").status, 404);
    let log = server.log();
    // It is the log that was asked for.
    let digest = task.digest().to_string();
    let told = ["request-of-the-test", "reports-rejected", "/tasks/{id}/reports", "token-unknown", "another payload"];
    for told in told.into_iter().chain([&*digest]) {
        assert!(log.contains(told), "{told} is not in\n{log}");
    }
    // From the first line on: what a start says is JSON too.
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines.len() >= 7 && lines.iter().any(|line| line.contains("no task yet")));
    for line in lines {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
    let hexadecimal = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let (key, unused) = (folder.read_text("data/issuing.key"), issued[1].to_string());
    // The digits between its marks.
    let tokens = [&ADMIN[6..], &COLLECTOR[10..], &key[8..72], &unused];
    let asked = ["a-wrong-token", "secret-in-a-query", "a-path-with-a-secret"];
    let of_reports = [good, stray, again]
        .into_iter()
        .flat_map(|report| [report.id().to_string(), hexadecimal(report.payload()), format!("{:?}", report.payload())]);
    for secret in tokens.into_iter().chain(asked).map(str::to_owned).chain(of_reports) {
        assert!(!log.contains(&secret), "{secret} is in\n{log}");
    }
}

/// In a container, what goes to standard output is in the log, too.
#[cfg(unix)]
#[test]
fn a_log_in_json_is_json_from_the_first_line_to_the_last_and_an_end_has_its_signal() {
    let folder = Folder::new();
    for (name, signal) in [("TERM", "SIGTERM"), ("INT", "SIGINT")] {
        let mut server = Serving::start(&folder, "--data data --log-format json");
        server.signal(name);
        let lines = [server.said.clone(), server.next_line("stopping"), server.next_line("stopped")];
        let lines = lines.map(|line| serde_json::from_str::<Value>(&line).unwrap());
        assert_eq!(lines[0]["message"], format!("listening on http://{}", server.address));
        assert_eq!((&lines[1]["signal"], &lines[1]["level"]), (&json!(signal), &json!("INFO")));
        assert!(server.ended());
    }
    // One that cannot start has the reason there.
    for (line, code, said) in [
        ("serve --data data --task missing", 1, "missing"),
        ("relay --data relay --gateway http://127.0.0.1:1 --batch 1", 2, "a batch of 1"),
    ] {
        let run = folder.run(&format!("{line} --log-format json"));
        let told: Value = serde_json::from_str(&run.stderr).unwrap_or_else(|error| panic!("{error}: {run:?}"));
        assert_eq!((run.code, run.stdout.as_str()), (Some(code), ""), "{run:?}");
        assert!(told["error"].as_str().unwrap().contains(said), "{told}");
    }
}

/// A flood of uploads must not fill the disk with lines.
#[test]
fn at_the_default_level_an_upload_has_no_line() {
    let folder = Folder::new();
    folder.write("task.json", other_task().to_json());
    let server = Serving::start(&folder, "--data data --task task.json");
    let lines = |server: Serving| server.log().lines().count();
    // What a start says is said once it answers.
    let before = lines(Serving::start(&folder, "--data other --task task.json"));
    for report in reports(&other_task(), 2, 20) {
        assert_eq!(server.send(&other_task(), &report.to_bytes()).status, 200);
    }
    server.send(&other_task(), b"no report");
    assert_eq!(lines(server), before);
}

/// The log of a changed task: who changed it, by the operator's name of the token, and its settings before and after.
#[test]
fn changes_of_tasks_are_logged_with_their_author_and_the_earlier_settings() {
    let folder = Folder::new();
    let second = "0123456789abcdef0123456789abcdef-second";
    folder.write("tokens", format!("{ADMIN}\nalice {second}\n"));
    folder.write("server.toml", "data = \"data\"\n[tokens]\nadmin_file = \"tokens\"\n[log]\nformat = \"json\"\n");
    let server = Serving::start(&folder, "--config server.toml");
    let ask = |method: &str, token: &str, id: &str, body: &[u8]| {
        server.ask_as(token, id, method, &path(&task(), ""), body).status
    };
    let put = |max_records| put_body(&task(), &TaskSettings { max_records, ..TaskSettings::default() });
    assert_eq!(ask("PUT", ADMIN, "one", &put(Some(7))), 201);
    assert_eq!(ask("PUT", second, "two", &put(Some(9))), 200);
    assert_eq!(ask("DELETE", second, "three", b""), 200);
    let log = server.log();
    let (seven, nine, digest) = ("{\"max_records\":7}", "{\"max_records\":9}", task().digest().to_string());
    for (id, members) in [
        ("one", json!({"who": "admin 1", "before": null, "after": seven})),
        ("two", json!({"who": "alice", "before": seven, "after": nine})),
        ("three", json!({"who": "alice", "level": "WARN"})),
    ] {
        let line = log.lines().find(|line| line.contains(&format!("\"request\":\"{id}\"")));
        let line: Value = serde_json::from_str(line.unwrap_or_else(|| panic!("{log}"))).unwrap();
        assert_has(&line, members, id);
        assert_eq!(line["task"], digest);
    }
    assert!(!log.contains(second) && !log.contains(ADMIN));
}
