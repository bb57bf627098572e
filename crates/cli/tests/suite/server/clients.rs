//! The limits of one client, and what they leave to others. Each attack is also tried without the limit: then it must
//! work.

use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use ldp_pca_server::{FixedLimits, RateLimit, ServerConfig, TaskSettings};
use serde_json::{Value, json};
use tempfile::tempdir;

use super::harness::{NEVER, Running, bytes_of, config, path, reports, task};
use super::wire::Wire;

/// The attacker's address, and somebody else's.
const HERE: &str = "127.0.0.1";
const THERE: &str = "127.0.0.2";

fn events() -> String {
    path(&task(), "/events?rank=1")
}

/// Sends one report from elsewhere.
fn upload_from_elsewhere(server: &Running, seed: u64) -> u16 {
    upload_many_from_elsewhere(server, seed, 1)
}

fn upload_many_from_elsewhere(server: &Running, seed: u64, count: usize) -> u16 {
    let body = bytes_of(&reports(&task(), seed, count));
    Wire::connect_from(THERE, server.address).upload(&task(), &body).unwrap().0
}

/// Eight bodies of the largest size, each but its last byte sent, are as many bytes as the server holds by default.
#[test]
fn eight_connections_do_not_silence_the_server() {
    let whole = 35 * 2000;
    let attack = |client_shares: bool, seed: u64| {
        let data = tempdir().unwrap();
        let settings = ServerConfig {
            max_body_bytes: whole,
            max_pending_bytes: 8 * whole,
            request_timeout: Duration::from_secs(600),
            fixed: FixedLimits { client_shares, ..FixedLimits::default() },
            ..config(data.path())
        };
        let server = Running::start(settings, &[task()]);
        let body = bytes_of(&reports(&task(), 1, 2000));
        let silent: Vec<Wire> = (0..8)
            .map(|_| {
                let mut wire = Wire::connect_from(HERE, server.address);
                wire.open_upload(&task(), whole);
                // It may be refused before it has sent everything.
                let _ = wire.stream().write_all(&body[..whole - 1]);
                wire
            })
            .collect();
        // Until the server has read them. On a slow machine it may not have: then the attack is tried again.
        thread::sleep(Duration::from_millis(300));
        // 70,000 bytes, and 35.
        let statuses = (upload_many_from_elsewhere(&server, seed, 2000), upload_from_elsewhere(&server, seed + 50));
        drop(silent);
        statuses
    };
    let silenced = (0..20).any(|seed| attack(false, 100 + seed) == (503, 200));
    assert!(silenced, "without a limit of one client large bodies are silenced, and small ones have room of their own");
    for seed in 0..3 {
        assert_eq!(attack(true, 200 + seed), (200, 200));
    }
}

#[test]
fn one_client_cannot_take_all_event_streams() {
    let attack = |client_shares: bool| {
        let data = tempdir().unwrap();
        let fixed = FixedLimits { client_shares, ..FixedLimits::default() };
        // A sixteenth of them are 32 streams.
        let settings = ServerConfig { max_connections: 512, fixed, ..config(data.path()) };
        let server = Running::start(settings, &[task()]);
        let mut taken: Vec<Wire> = Vec::new();
        let refused = loop {
            let mut wire = Wire::connect_from(HERE, server.address);
            wire.send(format!("GET {} HTTP/1.1\r\nHost: test\r\n\r\n", events()).as_bytes());
            match wire.read_status() {
                200 => taken.push(wire),
                status => break status,
            }
        };
        assert_eq!(refused, 503);
        let mut other = Wire::connect_from(THERE, server.address);
        other.send(format!("GET {} HTTP/1.1\r\nHost: test\r\n\r\n", events()).as_bytes());
        let status = other.read_status();
        let count = taken.len();
        // Places are given back.
        taken.clear();
        let start = Instant::now();
        loop {
            let mut wire = Wire::connect_from(HERE, server.address);
            wire.send(format!("GET {} HTTP/1.1\r\nHost: test\r\n\r\n", events()).as_bytes());
            if wire.read_status() == 200 {
                break;
            }
            assert!(start.elapsed() < Duration::from_secs(30), "the places of closed streams are not free");
            // A stream that is gone is noticed when something is sent on it.
            server.send(&task(), &bytes_of(&reports(&task(), start.elapsed().as_nanos() as u64, 1)));
            thread::sleep(Duration::from_millis(100));
        }
        (count, status)
    };
    assert_eq!(attack(false), (32, 503), "without a limit of one client nobody else can listen");
    assert_eq!(attack(true), (2, 200));
}

#[test]
fn one_client_cannot_take_all_connections() {
    let attack = |client_shares: bool| {
        let data = tempdir().unwrap();
        let fixed = FixedLimits { client_shares, ..FixedLimits::default() };
        let settings = ServerConfig { max_connections: 32, request_timeout: NEVER, fixed, ..config(data.path()) };
        let server = Running::start(settings, &[task()]);
        // So many that they may take half a minute.
        let body = bytes_of(&reports(&task(), 2, 1000));
        // Connections with a request under way do not give way.
        let mut busy: Vec<Wire> = Vec::new();
        for _ in 0..40 {
            let mut wire = Wire::connect_from(HERE, server.address);
            wire.open_upload(&task(), body.len());
            // It may be refused before it has sent everything.
            let _ = wire.stream().write_all(&body[..body.len() - 1]);
            busy.push(wire);
        }
        let told = busy.iter_mut().rev().find_map(|wire| wire.read_answer().ok()).unwrap();
        assert_eq!(told.0, 503);
        assert!(told.1.contains("urn:ldp-pca:problem:too-many-connections"), "{}", told.1);
        (told.1.contains("your address"), upload_from_elsewhere(&server, 1))
    };
    assert_eq!(attack(false), (false, 503), "without a limit of one client nobody else gets in");
    assert_eq!(attack(true), (true, 200));
}

/// An idle connection of the same client gives way, and none of another's.
#[test]
fn a_client_with_all_its_connections_gets_another_for_its_longest_idle_one() {
    let data = tempdir().unwrap();
    // A sixteenth of what the other leaves are two.
    let settings = ServerConfig { max_connections: 40, ..config(data.path()) };
    let server = Running::start(settings, &[task()]);
    let mut other = Wire::connect_from(THERE, server.address);
    assert_eq!(other.get("/healthz").0, 200);
    let mut own: Vec<Wire> = (0..3)
        .map(|_| {
            let mut wire = Wire::connect_from(HERE, server.address);
            assert_eq!(wire.get("/healthz").0, 200);
            wire
        })
        .collect();
    assert!(own[0].try_get("/healthz").is_none(), "the first one was closed");
    assert_eq!((own[1].get("/healthz").0, own[2].get("/healthz").0, other.get("/healthz").0), (200, 200, 200));
}

#[test]
fn behind_a_trusted_proxy_clients_are_told_apart_by_the_address_that_it_names() {
    /// Requests of one client at the same time.
    const MOST: usize = 32;
    let data = tempdir().unwrap();
    let settings = ServerConfig {
        // A sixteenth of them are 32 streams, and as many requests of one client while others have at most 15.
        max_connections: 16 * MOST + 15,
        request_timeout: NEVER,
        trusted_proxies: vec!["127.0.0.1".parse().unwrap()],
        ..config(data.path())
    };
    let server = Running::start(settings, &[task()]);
    // A proxy has as many connections as it likes.
    let mut wires: Vec<Wire> = (0..12).map(|_| Wire::connect(server.address)).collect();
    for wire in &mut wires {
        assert_eq!(wire.get_for("192.0.2.9", "/healthz"), 200);
        *wire = Wire::connect(server.address);
    }
    let mut listen = |client: &str| wires.pop().map(|mut wire| (wire.get_for(client, &events()), wire)).unwrap();
    let streams: Vec<(u16, Wire)> = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1", "192.0.2.1"]
        .into_iter()
        .map(&mut listen)
        .collect();
    let statuses: Vec<u16> = streams.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [200, 200, 503, 200, 200], "a household is one client, and others have their own");
    // So have requests under way: of so many reports that they may take minutes.
    let body = bytes_of(&reports(&task(), 1, 3000));
    let open_slow = || {
        let mut wire = Wire::connect(server.address);
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: test\r\nX-Forwarded-For: 198.51.100.7\r\nContent-Type: {}\r\nContent-Length: \
                {}\r\n\r\n",
            path(&task(), "/reports"),
            super::harness::REPORTS,
            body.len()
        );
        wire.send(head.as_bytes());
        // It may be refused before it has sent everything.
        let _ = wire.stream().write_all(&body[..body.len() - 35]);
        wire
    };
    let mut slow: Vec<Wire> = (0..MOST).map(|_| open_slow()).collect();
    let start = Instant::now();
    while Wire::connect(server.address).get_for("198.51.100.7", "/tasks") != 429 {
        // The question itself may have had the last place.
        slow.push(open_slow());
        assert!(start.elapsed() < Duration::from_secs(60), "{MOST} requests are under way and one more is let in");
    }
    assert_eq!(Wire::connect(server.address).get_for("198.51.100.8", "/tasks"), 200);
    // One of them; another one was refused if the question came first.
    let answered = slow.iter_mut().any(|wire| {
        wire.stream().write_all(&body[body.len() - 35..]).is_ok()
            && wire.read_answer().is_ok_and(|(status, _)| status == 200)
    });
    assert!(answered);
    // Where there are more, another one may have come into its place.
    while Wire::connect(server.address).get_for("198.51.100.7", "/tasks") != 200 {
        if slow.len() > MOST {
            slow.pop();
        }
        assert!(start.elapsed() < Duration::from_secs(60), "one has ended");
    }
}

#[test]
fn report_ids_are_limited_by_default() {
    let attack = |settings: ServerConfig| {
        let server = Running::start(settings, &[task()]);
        let ask = |count: u32| {
            server.post(&path(&task(), "/seeds"), "application/json", json!({"count": count}).to_string().as_bytes())
        };
        // The refusal itself: a question after it may be answered again.
        let mut last = None;
        let given = (0..40).take_while(|_| last.insert(ask(16)).status == 200).count();
        let refused = last.unwrap();
        let wait = refused.header("retry-after").parse::<u32>().ok();
        let many = server.administer("POST", &path(&task(), "/seeds"), json!({"count": 5000}).to_string().as_bytes());
        assert_eq!(many.status, 200, "an admin hands them to others");
        let mut other = Wire::connect_from(THERE, server.address);
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: \
                12\r\n\r\n{{\"count\": 1}}",
            path(&task(), "/seeds")
        );
        other.send(head.as_bytes());
        assert_eq!(other.read_answer().unwrap().0, 200);
        (given, refused.status, wait)
    };
    let data = tempdir().unwrap();
    let issuing = ServerConfig { issued_ids: true, ..config(data.path()) };
    let open = attack(ServerConfig { seeds_rate_limit: None, ..issuing.clone() });
    assert_eq!(open, (40, 200, None), "without the limit there is no end");
    // A hundred at once, and five a second more: 40 requests take less than a minute.
    let (given, status, wait) = attack(issuing.clone());
    assert!(
        (6..40).contains(&given) && status == 429 && wait.is_some_and(|wait| wait <= 5),
        "{given} {status} {wait:?}"
    );
    // A smaller bucket gives as many as it holds at once.
    let small = Some(RateLimit { per_second: 0.001, burst: 3 });
    let server = Running::start(ServerConfig { seeds_rate_limit: small, ..issuing }, &[]);
    let ask = |count: u32| {
        server.post(&path(&task(), "/seeds"), "application/json", json!({"count": count}).to_string().as_bytes())
    };
    ask(4).assert_problem(422, "bad-count", &["1 to 3"]);
    assert_eq!((ask(2).status, ask(1).status), (200, 200));
    ask(1).assert_problem(429, "rate-limit", &["again in"]);
}

/// The figure, as operators read it.
fn figure(server: &Running, name: &str) -> u64 {
    let text = String::from_utf8(server.get("/metrics").body).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.unwrap_or_else(|| panic!("{name} is not in {text}")).parse().unwrap()
}

/// An id with another payload is a conflict in the figures, a duplicate in the answer, and the first one counts: in one
/// body, in a later one, and after a restart.
#[test]
fn an_id_with_another_payload_is_counted_as_a_conflict_and_the_first_stays() {
    let data = tempdir().unwrap();
    let server = Running::start(config(data.path()), &[task()]);
    let first = reports(&task(), 1, 3);
    let record = task().bound(vec![0.3, -0.2, 0.0, 0.9]).unwrap();
    let other = |index: usize| {
        let made = std::iter::repeat_with(|| task().randomize(&record, Some(first[index].id())).unwrap());
        made.take(1000).find(|made| *made != first[index]).unwrap()
    };
    let answer = server.send(&task(), &bytes_of(&[first[0].clone(), first[1].clone(), other(1)])).json();
    assert_eq!(answer, json!({"accepted": 2, "duplicate": 1, "rejected": 0, "rejections": []}));
    assert_eq!(figure(&server, "ldp_pca_reports_conflicting_total"), 1);
    // What is sent again is none.
    server.send(&task(), &bytes_of(&first));
    assert_eq!(figure(&server, "ldp_pca_reports_conflicting_total"), 1);
    let (told, same) = (server.send(&task(), &bytes_of(&[other(0)])), server.send(&task(), &bytes_of(&first[..1])));
    assert_eq!(told.body, same.body, "the answer does not show which payload is there");
    assert_eq!(figure(&server, "ldp_pca_reports_conflicting_total"), 2);
    assert_eq!(figure(&server, "ldp_pca_reports_duplicate_total"), 5);
    server.shut_down();
    assert_eq!(super::harness::stored(data.path(), &task()), bytes_of(&first), "the first ones stay");
    let server = Running::start(config(data.path()), &[]);
    server.send(&task(), &bytes_of(&[other(2), first[2].clone()]));
    assert_eq!(figure(&server, "ldp_pca_reports_conflicting_total"), 1);
}

/// Recovered figures are only for those who may see components; the operator's metrics for everybody who reaches the
/// path.
#[test]
fn figures_of_the_recovery_need_the_collectors_token() {
    let data = tempdir().unwrap();
    let server = Running::start(ServerConfig { open_recovery: false, ..config(data.path()) }, &[task()]);
    server.send(&task(), &bytes_of(&reports(&task(), 1, 500)));
    let authorization = format!("Bearer {}", super::harness::COLLECTOR);
    let collector = [("authorization", authorization.as_str())];
    let recovery = path(&task(), "/recovery?rank=1");
    assert_eq!(server.request("GET", &recovery, &collector, b"").status, 200);
    let figures = |headers: &[(&str, &str)]| {
        let answer = server.request("GET", "/metrics", headers, b"");
        assert_eq!(answer.status, 200);
        String::from_utf8(answer.body).unwrap()
    };
    let (open, told) = (figures(&[]), figures(&collector));
    for text in [&open, &told] {
        assert!(text.contains("ldp_pca_records{") && text.contains("ldp_pca_recoveries_computed_total 1"), "{text}");
    }
    assert!(!open.contains("ldp_pca_predicted_error{") && told.contains("ldp_pca_predicted_error{"), "{open}");
    let admin = format!("Bearer {}", super::harness::ADMIN);
    server.request("GET", "/metrics", &[("authorization", &admin)], b"").assert_problem(
        403,
        "token-role",
        &["a collector"],
    );
    // Where components are for everybody, so is their error.
    server.put(&task(), &TaskSettings { open_recovery: Some(true), ..TaskSettings::default() });
    assert!(figures(&[]).contains("ldp_pca_predicted_error{"));
}

/// A task without settings on a server without settings takes only ids that were issued, and dense reports in range.
#[test]
fn tasks_are_guarded_by_default_and_may_say_otherwise() {
    let dense = super::harness::other_task();
    let data = tempdir().unwrap();
    let by_default = ServerConfig::new("");
    assert!(by_default.issued_ids && by_default.seeds_rate_limit.is_some());
    let server = Running::start(ServerConfig { issued_ids: true, ..config(data.path()) }, &[task()]);
    assert_eq!(server.put(&dense, &TaskSettings::default()), 201);
    let own = bytes_of(&reports(&task(), 1, 1));
    server.send(&task(), &own).assert_problem(422, "reports-rejected", &["not issued"]);
    let status = |task: &ldp_pca::task::Task| server.get(&path(task, "/status")).json();
    assert_eq!((&status(&task())["issued_ids"], &status(&dense)["range_check"]), (&json!(true), &json!(true)));
    assert_eq!(status(&task())["settings"], json!({}));
    let answer = server.post(&path(&task(), "/seeds"), "application/json", b"{\"count\": 1}").json();
    let ids: Vec<ldp_pca::report::ReportId> = serde_json::from_value(answer["ids"].clone()).unwrap();
    let record = task().bound(vec![0.3, -0.2, 0.0, 0.9]).unwrap();
    let issued = task().randomize(&record, Some(ids[0])).unwrap();
    assert_eq!(server.send(&task(), &bytes_of(&[issued])).json()["accepted"], 1);
    // Per task.
    server.put(&task(), &TaskSettings { issued_ids: Some(false), range_check: Some(false), ..TaskSettings::default() });
    assert_eq!(server.send(&task(), &own).json()["accepted"], 1);
    assert_eq!(status(&task())["issued_ids"], Value::Bool(false));
    server.shut_down();
    // And ids per server, where the task says nothing.
    let server = Running::start(ServerConfig { issued_ids: false, ..config(data.path()) }, &[]);
    assert_eq!(server.send(&dense, &bytes_of(&reports(&dense, 1, 1))).json()["accepted"], 1);
    let status = |task: &ldp_pca::task::Task| server.get(&path(task, "/status")).json();
    assert_eq!((&status(&task())["range_check"], &status(&dense)["range_check"]), (&json!(false), &json!(true)));
}

/// What somebody else put into the folder before is neither written into nor followed, and nobody else can read a
/// secret.
#[cfg(unix)]
#[test]
fn secrets_are_new_files_that_their_owner_alone_can_read() {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    let data = tempdir().unwrap();
    let elsewhere = data.path().join("elsewhere");
    let folder = data.path().join("data");
    fs::create_dir(&folder).unwrap();
    // The name that secrets had while they were written.
    fs::write(folder.join("admin.tmp"), "").unwrap();
    fs::set_permissions(folder.join("admin.tmp"), fs::Permissions::from_mode(0o666)).unwrap();
    symlink(&elsewhere, folder.join("collector.tmp")).unwrap();
    symlink(&elsewhere, folder.join("issuing.tmp")).unwrap();
    let settings = ServerConfig { tokens: ldp_pca_server::TokenConfig::default(), ..config(&folder) };
    Running::start(settings.clone(), &[task()]).shut_down();
    for name in ["admin.token", "collector.token", "issuing.key"] {
        let metadata = fs::symlink_metadata(folder.join(name)).unwrap();
        assert!(metadata.is_file(), "{name}");
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{name}");
        assert!(fs::read_to_string(folder.join(name)).unwrap().trim().len() >= 64, "{name}");
    }
    assert!(!elsewhere.exists() && fs::read_to_string(folder.join("admin.tmp")).unwrap().is_empty());
    let left: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".tmp") && !["admin.tmp", "collector.tmp", "issuing.tmp"].contains(&&name[..]))
        .collect();
    assert_eq!(left, [""; 0], "nothing is left over");
    // A link where the secret should be leads nowhere.
    fs::remove_file(folder.join("admin.token")).unwrap();
    symlink(&elsewhere, folder.join("admin.token")).unwrap();
    assert!(Running::try_start(settings, &[]).is_err() && !elsewhere.exists());
}
