//! Request ids, figures and readiness; and what a log must not hold.

use std::fs;

use ldp_pca_server::TaskSettings;
use tempfile::tempdir;

use super::harness::{
    ADMIN, COLLECTOR, REPORTS, Running, Serving, bytes_of, config, get, other_task, path, put_body, reports, task,
};

#[test]
fn request_ids_are_echoed_when_they_are_sane_and_made_otherwise() {
    let data = tempdir().unwrap();
    let server = Running::start(config(data.path()), &[task()]);
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
    let data = tempdir().unwrap();
    let server = Running::start(config(data.path()), &[task()]);
    let body = bytes_of(&reports(&task(), 1, 5));
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
    let text = String::from_utf8(answer.body).unwrap();
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

#[test]
fn a_server_is_alive_and_ready() {
    let data = tempdir().unwrap();
    let server = Running::start(config(data.path()), &[]);
    assert_eq!(server.get("/healthz").json(), serde_json::json!({"status": "ok"}));
    assert_eq!(server.get("/readyz").json(), serde_json::json!({"status": "ready"}));
}

/// Everything that a log might hold by mistake goes through the server, at the most verbose level. The task is one
/// whose payloads have ten bytes: the two of a compact report are found by chance in a port or a time.
#[test]
fn a_log_holds_no_report_no_id_no_token_and_no_query() {
    let data = tempdir().unwrap();
    let folder = data.path().join("data");
    let settings = data.path().join("server.toml");
    let config = format!(
        "data = {folder:?}\nminimum_batch = 1\n[tokens]\nadmin = {ADMIN:?}\ncollector = {COLLECTOR:?}\n[log]\nformat = \
            \"json\"\nlevel = \"trace\"\n"
    );
    fs::write(&settings, config).unwrap();
    let server = Serving::start(&["--config", settings.to_str().unwrap()]);
    let request = |method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]| {
        let request = ureq::http::Request::builder().method(method).uri(format!("http://{}{path}", server.address));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let agent = super::harness::agent();
        let mut response = agent.run(request.body(body).unwrap()).unwrap();
        (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
    };
    let (admin, collector) = (format!("Bearer {ADMIN}"), format!("Bearer {COLLECTOR}"));
    let json = ("content-type", "application/json");
    let body = put_body(&other_task(), &TaskSettings { issued_ids: Some(true), ..TaskSettings::default() });
    assert_eq!(request("PUT", &path(&other_task(), ""), &[("authorization", &admin), json], &body).0, 201);
    let (_, issued) = request("POST", &path(&other_task(), "/seeds"), &[json], b"{\"count\": 2}");
    let issued: serde_json::Value = serde_json::from_str(&issued).unwrap();
    let issued: Vec<ldp_pca::report::ReportId> = serde_json::from_value(issued["ids"].clone()).unwrap();
    let record = other_task().bound(vec![0.3, -0.2, 0.0, 0.9]).unwrap();
    let good = other_task().randomize(&record, Some(issued[0])).unwrap();
    let stray = reports(&other_task(), 1, 1).remove(0);
    let sent = bytes_of(&[good.clone(), stray.clone()]);
    let media_type = [("content-type", REPORTS), ("x-request-id", "request-of-the-test")];
    assert_eq!(request("POST", &path(&other_task(), "/reports"), &media_type, &sent).0, 422);
    assert_eq!(request("POST", &path(&other_task(), "/reports"), &media_type, &sent[..43]).0, 200);
    let query = path(&other_task(), "/recovery?rank=secret-in-a-query");
    assert_eq!(request("GET", &query, &[("authorization", &collector)], b"").0, 400);
    let wrong = ("authorization", "Bearer a-wrong-token-0123456789abcdef0123");
    assert_eq!(request("GET", &path(&other_task(), "/recovery?rank=1"), &[wrong], b"").0, 401);
    assert_eq!(get(server.address, "/a-path-with-a-secret").status, 404);
    let log = server.log();
    // It is the log that was asked for.
    for told in [
        "request-of-the-test",
        "reports-rejected",
        "/tasks/{id}/reports",
        "token-unknown",
        &other_task().digest().to_string(),
    ] {
        assert!(log.contains(told), "{told} is not in\n{log}");
    }
    // From the first line on: what a start says is JSON too.
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines.len() >= 7 && lines.iter().any(|line| line.contains("no task yet")));
    for line in lines {
        serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
    let hexadecimal = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    for report in [good, stray] {
        for secret in [report.id().to_string(), hexadecimal(report.payload()), format!("{:?}", report.payload())] {
            assert!(!log.contains(&secret), "{secret} is in\n{log}");
        }
    }
    let (admin_key, key) = (&ADMIN[6..], fs::read_to_string(folder.join("issuing.key")).unwrap());
    for secret in [
        admin_key,
        &COLLECTOR[10..],
        key.trim(),
        "a-wrong-token",
        "secret-in-a-query",
        "a-path-with-a-secret",
        &issued[1].to_string(),
    ] {
        assert!(!log.contains(secret), "{secret} is in\n{log}");
    }
}

/// A flood of uploads must not fill the disk with lines.
#[test]
fn at_the_default_level_an_upload_has_no_line() {
    let data = tempdir().unwrap();
    let task_file = data.path().join("task.json");
    fs::write(&task_file, other_task().to_json()).unwrap();
    let folder = data.path().join("data");
    let server = Serving::start(&["--data", folder.to_str().unwrap(), "--task", task_file.to_str().unwrap()]);
    let lines = |server: Serving| server.log().lines().count();
    let before = {
        let other = data.path().join("other");
        let idle = Serving::start(&["--data", other.to_str().unwrap(), "--task", task_file.to_str().unwrap()]);
        // What a start says is said once it answers.
        assert_eq!(get(idle.address, "/healthz").status, 200);
        lines(idle)
    };
    for report in reports(&other_task(), 2, 20) {
        assert_eq!(
            super::harness::post(server.address, &path(&other_task(), "/reports"), REPORTS, &report.to_bytes()).status,
            200
        );
    }
    super::harness::post(server.address, &path(&other_task(), "/reports"), REPORTS, b"no report");
    assert_eq!(lines(server), before);
}

/// The log of a changed task: who changed it, by the operator's name of the token, and its settings before and after.
#[test]
fn changes_of_tasks_are_logged_with_their_author_and_the_earlier_settings() {
    let data = tempdir().unwrap();
    let (tokens, settings) = (data.path().join("tokens"), data.path().join("server.toml"));
    let second = "0123456789abcdef0123456789abcdef-second";
    fs::write(&tokens, format!("{ADMIN}\nalice {second}\n")).unwrap();
    let folder = data.path().join("data");
    fs::write(&settings, format!("data = {folder:?}\n[tokens]\nadmin_file = {tokens:?}\n[log]\nformat = \"json\"\n"))
        .unwrap();
    let server = Serving::start(&["--config", settings.to_str().unwrap()]);
    let ask = |method: &str, token: &str, id: &str, body: &[u8]| {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("http://{}{}", server.address, path(&task(), "")))
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .header("x-request-id", id);
        super::harness::agent().run(request.body(body).unwrap()).unwrap().status().as_u16()
    };
    let put = |max_records| put_body(&task(), &TaskSettings { max_records, ..TaskSettings::default() });
    assert_eq!(ask("PUT", ADMIN, "one", &put(Some(7))), 201);
    assert_eq!(ask("PUT", second, "two", &put(Some(9))), 200);
    assert_eq!(ask("DELETE", second, "three", b""), 204);
    let log = server.log();
    let line = |id: &str| -> serde_json::Value {
        let line =
            log.lines().find(|line| line.contains(&format!("\"request\":\"{id}\""))).unwrap_or_else(|| panic!("{log}"));
        serde_json::from_str(line).unwrap()
    };
    let (one, two, three) = (line("one"), line("two"), line("three"));
    assert_eq!(
        (&one["who"], &one["before"], &one["after"]),
        (&"admin 1".into(), &serde_json::Value::Null, &"{\"max_records\":7}".into())
    );
    assert_eq!(
        (&two["who"], &two["before"], &two["after"]),
        (&"alice".into(), &"{\"max_records\":7}".into(), &"{\"max_records\":9}".into())
    );
    assert_eq!((&three["who"], &three["level"]), (&"alice".into(), &"WARN".into()));
    for line in [one, two, three] {
        assert_eq!(line["task"], task().digest().to_string());
    }
    assert!(!log.contains(second) && !log.contains(ADMIN));
}
