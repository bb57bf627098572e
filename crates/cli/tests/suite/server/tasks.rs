//! Tasks that are added, changed and deleted, and who may do so.

use std::time::{SystemTime, UNIX_EPOCH};

use super::harness::*;

/// 2001 and 2096.
const PAST: u64 = 1_000_000_000;
const FUTURE: u64 = 4_000_000_000;

#[test]
fn a_server_without_a_task_gets_one_and_several_live_side_by_side() {
    let (data, server) = serving(config, &[]);
    assert_eq!(server.get("/tasks").json(), json!({"tasks": []}));
    let body = body_of(1, 5);
    server.send(&task(), &body).refused(404, "unknown-task", &[]);
    let settings = TaskSettings { minimum_batch: Some(4), ..TaskSettings::default() };
    let put = server.administer("PUT", &path(&task(), ""), &put_body(&task(), &settings));
    assert_eq!(put.status, 201);
    assert_has(&put.json(), json!({"task": task().digest().to_string(), "minimum_batch": 4}), "the answer");
    assert_eq!(server.put(&other_task(), &TaskSettings::default()), 201);
    assert_eq!(server.send(&task(), &body).status, 200);
    assert_eq!(server.counts(&other_task(), &bytes_of(&reports(&other_task(), 1, 3))), (3, 0));
    assert_eq!((server.records(&task()), server.records(&other_task())), (5, 3));
    assert_eq!(server.recovery(&task(), "rank=1").json()["records"], 5);
    // Once more: other settings, the same reports.
    let settings = TaskSettings { minimum_batch: Some(6), ..settings };
    assert_eq!(server.put(&task(), &settings), 200);
    server.recovery(&task(), "rank=1").refused(409, "below-minimum-batch", &["5 reports", "at least 6"]);
    let before = server.recovery(&other_task(), "rank=2");
    assert_eq!(before.status, 200);
    server.shut_down();
    let server = Running::start(config(data.path()), &[]);
    assert_eq!((server.records(&task()), server.records(&other_task())), (5, 3));
    assert_eq!(server.recovery(&other_task(), "rank=2").body, before.body);
}

/// Twelve weeks of one schema are twelve tasks, each with its own reports.
#[test]
fn the_list_and_the_status_name_the_period_of_each_task() {
    let weeks: Vec<Task> = (37..49).map(|week| task().with_period(&format!("2026-W{week}")).unwrap()).collect();
    let plain = task();
    let (_data, server) = serving(config, &[task()]);
    assert!(server.get("/tasks").json().get("periods").is_none());
    for (index, week) in weeks.iter().enumerate() {
        assert_eq!(server.put(week, &TaskSettings::default()), 201);
        assert_eq!(server.counts(week, &bytes_of(&reports(week, 1, index + 1))), (index as u64 + 1, 0));
        // The week before takes no report of this one.
        let other = if index > 0 { &weeks[index - 1] } else { &plain };
        server.send(other, &bytes_of(&reports(week, 1, 1))).refused(422, "reports-rejected", &[]);
    }
    let listed = server.get("/tasks").json();
    let periods: serde_json::Map<String, Value> =
        weeks.iter().map(|week| (week.digest().to_string(), week.period().unwrap().into())).collect();
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 13);
    assert_eq!(listed["periods"], Value::Object(periods));
    for (index, week) in weeks.iter().enumerate() {
        let expected = json!({"period": week.period(), "records": index + 1});
        assert_has(&server.status(week), expected, "the status");
    }
    assert!(server.status(&plain).get("period").is_none());
    assert_members(&server.get("/openapi.json").json(), "Status", &server.status(&weeks[0]));
}

#[test]
fn a_deleted_task_is_gone_with_every_byte_and_can_begin_anew() {
    let (data, server) = serving(config, &[task(), other_task()]);
    let body = body_of(2, 3);
    server.send(&task(), &body);
    assert_eq!(server.recovery(&task(), "rank=2").json()["records"], 3);
    let deleted = server.delete(&task(), "?now=true");
    let digest = task().digest().to_string();
    assert_eq!((deleted.status, deleted.json()), (200, json!({"task": digest, "restorable_until": null})));
    for rest in ["", "/status", "/recovery?rank=2", "/events?rank=1"] {
        server.get(&path(&task(), rest)).refused(404, "unknown-task", &[]);
    }
    server.send(&task(), &body).refused(404, "unknown-task", &[]);
    server.delete(&task(), "").refused(404, "unknown-task", &[]);
    server.administer("DELETE", "/tasks/xyz", b"").refused(404, "unknown-task", &["'xyz'"]);
    assert!(!data.path().join("tasks").join(digest).exists());
    assert_eq!(fs::read_dir(data.path().join("deleted")).unwrap().count(), 0);
    assert_eq!(server.get("/tasks").json()["tasks"], json!([other_task().digest().to_string()]));
    assert_eq!(server.put(&task(), &TaskSettings::default()), 201);
    assert_eq!(server.records(&task()), 0);
    assert_eq!(server.send(&task(), &body).json()["accepted"], 3, "no id of the past counts as a duplicate");
    assert_eq!(server.recovery(&task(), "rank=2").json()["records"], 3);
}

/// `wrong-requests.txt` has those that are refused.
#[test]
fn only_a_collector_sees_components_unless_the_task_is_open() {
    let (_data, server) = serving(|data| ServerConfig { open_recovery: false, ..config(data) }, &[task()]);
    server.send(&task(), &body_of(3, 3));
    let recovery = path(&task(), "/recovery?rank=1");
    assert_eq!(server.get(&recovery).header("www-authenticate"), "Bearer");
    assert_eq!(server.ask(Some(COLLECTOR), "GET", &recovery, b"").json()["records"], 3);
    // Routes that a device needs are open, and a task can be opened.
    assert_eq!(server.get(&path(&task(), "/status")).status, 200);
    server.put(&task(), &TaskSettings { open_recovery: Some(true), ..TaskSettings::default() });
    assert_eq!(server.get(&recovery).status, 200);
}

#[test]
fn tokens_are_made_at_the_first_start_and_several_are_good() {
    let data = tempdir().unwrap();
    let made = ServerConfig { tokens: TokenConfig::default(), ..config(data.path()) };
    let file = data.path().join("admin.token");
    let put = |token: &str| {
        let server = Running::start(made.clone(), &[]);
        let status =
            server.ask(Some(token), "PUT", &path(&task(), ""), &put_body(&task(), &TaskSettings::default())).status;
        server.shut_down();
        status
    };
    assert_eq!(put("0123456789abcdef0123456789abcdef"), 401);
    let first = fs::read_to_string(&file).unwrap().trim().to_owned();
    assert!(first.len() >= 32 && first != fs::read_to_string(data.path().join("collector.token")).unwrap().trim());
    assert_eq!(put(&first), 201);
    // Changing it: for a while both.
    fs::write(&file, format!("{ADMIN}\n\n{first}\n")).unwrap();
    assert_eq!((put(&first), put(ADMIN)), (200, 200));
    fs::write(&file, format!("{ADMIN}\n")).unwrap();
    assert_eq!((put(&first), put(ADMIN)), (401, 200));
}

#[test]
fn a_task_fits_the_server_and_its_document_has_a_size_and_dates() {
    let (_data, server) = serving(|data| ServerConfig { max_body_bytes: 40, ..config(data) }, &[]);
    server.set(&other_task(), "", &json!({})).refused(422, "bad-task", &["43 bytes", "40", "max_body_bytes"]);
    let long = format!("{{\"task\": {}{}}}", " ".repeat(17 << 20), task().to_json());
    server.administer("PUT", &path(&task(), ""), long.as_bytes()).refused(413, "body-too-large", &["bytes"]);
    assert_eq!(server.get("/tasks").json(), json!({"tasks": []}));
    // Without a type it is read as what goes there.
    let headers = [("authorization", &*format!("Bearer {ADMIN}"))];
    let body = put_body(&task(), &TaskSettings::default());
    assert_eq!(server.request("PUT", &path(&task(), ""), &headers, &body).status, 201);
    let dated = server.set(&task(), "", &json!({"starts": "2001-09-09T01:46:40Z", "expires": "2096-10-02T07:06:40Z"}));
    assert_eq!(dated.json()["settings"], json!({"starts": PAST, "expires": FUTURE}));
}

#[test]
fn settings_stay_unless_they_are_named() {
    let (_data, server) = serving(config, &[]);
    let put = |settings: &str| {
        let body = format!("{{\"task\": {}{settings}}}", task().to_json());
        let answer = server.administer("PUT", &path(&task(), ""), body.as_bytes());
        assert!([200, 201].contains(&answer.status), "{}", answer.text());
        answer.json()["settings"].clone()
    };
    let all = json!({"max_records": 5, "minimum_batch": 2, "expires": 4_000_000_000_u64});
    assert_eq!(put(", \"settings\": {\"max_records\": 5, \"minimum_batch\": 2, \"expires\": 4000000000}"), all);
    assert_eq!(put(""), all);
    assert_eq!(put(", \"settings\": {}"), all);
    let changed = put(", \"settings\": {\"max_records\": 6, \"expires\": null}");
    assert_eq!(changed, json!({"max_records": 6, "minimum_batch": 2}));
    // A refused request changes nothing.
    let bad = json!({"max_records": 7, "retention": 5});
    server.set(&task(), "", &bad).refused(422, "bad-settings", &["without expires"]);
    assert_eq!(put(""), changed);
}

#[test]
fn reports_are_accepted_from_the_start_to_the_end_with_a_tolerance_for_clocks() {
    assert_eq!(FixedLimits::default().clock_skew, Duration::from_secs(60));
    let fixed = FixedLimits { clock_skew: Duration::from_secs(3600), ..FixedLimits::default() };
    let (data, server) = serving(|data| ServerConfig { fixed, ..config(data) }, &[]);
    let body = body_of(4, 2);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let taken = |starts, expires| {
        server.put(&task(), &TaskSettings { starts, expires, ..TaskSettings::default() });
        server.send(&task(), &body[..35])
    };
    for _ in 0..2 {
        let said = ["2096-10-02T07:06:40Z", "nothing was counted"];
        let early = taken(Some(FUTURE), None).refused(403, "task-not-started", &said);
        assert_eq!(early["starts"], FUTURE);
    }
    // An hour is tolerated; the test takes less than half of it.
    assert_eq!(taken(Some(now + 1800), None).json()["accepted"], 1);
    assert_eq!(taken(None, Some(now - 1800)).json()["duplicate"], 1);
    taken(Some(now + 10_000), None).refused(403, "task-not-started", &[]);
    assert_eq!(taken(Some(PAST), Some(FUTURE)).json()["duplicate"], 1);
    server.shut_down();
    // A retry of reports acknowledged in time gets that answer; nothing new gets in with it.
    put_before_its_end(data.path(), &task(), &TaskSettings { expires: Some(PAST), ..TaskSettings::default() });
    let server = Running::start(config(data.path()), &[]);
    assert_eq!(server.send(&task(), &body[..35]).json()["duplicate"], 1);
    for new in [&body[35..], &body] {
        let said = ["2001-09-09T01:46:40Z", "nothing of this request was counted"];
        let late = server.send(&task(), new).refused(403, "task-expired", &said);
        assert_eq!(late["expires"], PAST);
    }
    // Counted reports stay, and components are still served.
    assert_eq!((server.records(&task()), server.recovery(&task(), "rank=1").status), (1, 200));
    // An existing end is not a mistake; a new one that is past is.
    let again = TaskSettings { expires: Some(PAST), minimum_batch: Some(5), ..TaskSettings::default() };
    assert_eq!(server.put(&task(), &again), 200);
}

/// Gives the task settings as they were given when their end was still to come: by a server for which it is.
fn put_before_its_end(data: &Path, task: &Task, settings: &TaskSettings) {
    let fixed = FixedLimits { clock_skew: Duration::from_secs(FUTURE), ..FixedLimits::default() };
    let server = Running::start(ServerConfig { fixed, ..config(data) }, &[]);
    assert!(server.put(task, settings) < 300);
    server.shut_down();
}

#[test]
fn a_dry_run_tells_the_change_and_makes_none() {
    let (_data, server) = serving(config, &[]);
    let (dry, five) = ("?dry_run=true", json!({"max_records": 5}));
    let told = server.set(&task(), dry, &five).json();
    assert_eq!(told, json!({"created": true, "before": null, "after": five}));
    assert_eq!(server.get("/tasks").json(), json!({"tasks": []}));
    assert_eq!(server.set(&task(), "?dry_run=false", &five).status, 201);
    let told = server.set(&task(), dry, &json!({"max_records": null, "minimum_batch": 7})).json();
    assert_eq!(told, json!({"created": false, "before": five, "after": {"minimum_batch": 7}}));
    assert_eq!(server.status(&task())["settings"], five);
}

#[test]
fn the_reports_of_a_deleted_task_are_kept_for_a_while_unless_there_is_no_grace() {
    let folder = Folder::new();
    let kept = || fs::read_dir(folder.path("data/deleted")).map_or(0, Iterator::count);
    let server = Running::start(config(&folder.path("data")), &[task()]);
    let body = body_of(3, 30);
    server.send(&task(), &body);
    let tomorrow = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 24 * 3600;
    let earliest = tomorrow();
    let deleted = server.delete(&task(), "").json();
    assert_members(&server.get("/openapi.json").json(), "DeletedTask", &deleted);
    // Settings read a date, too.
    let read: TaskSettings = serde_json::from_value(json!({"expires": deleted["restorable_until"]})).unwrap();
    assert!((earliest..=tomorrow()).contains(&read.expires.unwrap()), "{deleted}");
    server.get(&path(&task(), "/status")).refused(404, "unknown-task", &[]);
    server.delete(&task(), "").refused(404, "unknown-task", &[]);
    assert_eq!(kept(), 1);
    server.shut_down();
    // A start erases nothing at once.
    Running::start(config(&folder.path("data")), &[]).shut_down();
    let digest = task().digest().to_string();
    let unknown = folder.run("store restore data 0000").stderr;
    assert!(unknown.contains("0 of the folder's deleted tasks") && unknown.contains(&digest), "{unknown}");
    let restore = format!("store restore data {} --json", &digest[..8]);
    folder.run(&restore).gives(json!({"reports": 30, "task": digest}));
    let server = Running::start(config(&folder.path("data")), &[]);
    assert_eq!(server.send(&task(), &body).json()["duplicate"], 30);
    // `now` also erases tasks that were deleted before.
    server.delete(&task(), "");
    assert_eq!(server.delete(&task(), "?now=true").status, 200);
    assert_eq!(kept(), 0);
    server.shut_down();
    let at_once = ServerConfig { deletion_grace: Duration::ZERO, ..config(&folder.path("data")) };
    let server = Running::start(at_once, &[task()]);
    server.send(&task(), &body);
    assert_eq!(server.delete(&task(), "").json()["restorable_until"], json!(null));
    assert_eq!(kept(), 0);
}

#[test]
fn one_reading_of_the_clock_deletes_no_task_and_is_told_of() {
    let folder = Folder::new();
    let over = TaskSettings { expires: Some(PAST), retention: Some(60), ..TaskSettings::default() };
    put_before_its_end(&folder.path("data"), &task(), &over);
    // It looks when it starts.
    let server = Serving::start(&folder, "--data data");
    assert_eq!(server.get(&path(&task(), "/status")).status, 200);
    server.log_until("retention is over by the clock");
    let server = Running::start(config(&folder.path("data")), &[]);
    assert_eq!(server.get(&path(&task(), "/status")).status, 200);
}
