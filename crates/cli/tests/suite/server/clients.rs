//! The limits of one client, and what they leave to others. Each attack is also tried without the limit: then it must
//! work.

use std::io::Write;

use super::harness::*;
use super::wire::Wire;

/// The attacker's address, and somebody else's.
const HERE: &str = "127.0.0.1";
const THERE: &str = "127.0.0.2";

fn events() -> String {
    path(&task(), "/events?rank=1")
}

/// Sends reports from elsewhere.
fn upload_from_elsewhere(server: &Running, seed: u64, count: usize) -> u16 {
    Wire::connect_from(THERE, server.address).upload(&task(), &body_of(seed, count)).unwrap().0
}

/// A server on which one client has only its share of everything, or on which it may have all.
fn sharing(client_shares: bool, settings: impl FnOnce(ServerConfig) -> ServerConfig) -> (TempDir, Running) {
    let fixed = FixedLimits { client_shares, ..FixedLimits::default() };
    serving(|data| settings(ServerConfig { fixed, ..config(data) }), &[task()])
}

/// Eight bodies of the largest size, each but its last byte sent, are as many bytes as the server holds by default.
#[test]
fn eight_connections_do_not_silence_the_server() {
    let (whole, body) = (35 * 2000, body_of(1, 2000));
    let attack = |client_shares: bool, seed: u64| {
        let (_data, server) = sharing(client_shares, |settings| ServerConfig {
            max_body_bytes: whole,
            max_pending_bytes: 8 * whole,
            request_timeout: NEVER,
            ..settings
        });
        let mut silent: Vec<Wire> = (0..8).map(|_| Wire::connect_from(HERE, server.address)).collect();
        silent.iter_mut().for_each(|wire| wire.offer(&task(), &body));
        // Until the server has read them. On a slow machine it may not have: then the attack is tried again.
        thread::sleep(Duration::from_millis(300));
        // 70,000 bytes, and 35.
        (upload_from_elsewhere(&server, seed, 2000), upload_from_elsewhere(&server, seed + 50, 1))
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
        // A sixteenth of them are 32 streams.
        let (_data, server) = sharing(client_shares, |settings| ServerConfig { max_connections: 512, ..settings });
        let listen = |from: &str| {
            let mut wire = Wire::connect_from(from, server.address);
            (wire.status_of(&format!("GET {}", events())), wire)
        };
        let mut taken: Vec<Wire> = std::iter::from_fn(|| Some(listen(HERE)).filter(|(status, _)| *status == 200))
            .map(|(_, wire)| wire)
            .collect();
        let refused = server.request("GET", &events(), &[("origin", "https://example.org")], b"");
        refused.refused(503, "too-many-streams", &["ask again later"]);
        assert_eq!((refused.header("retry-after"), refused.header("access-control-allow-origin")), ("5", "*"));
        let (count, (status, _other)) = (taken.len(), listen(THERE));
        // Places are given back.
        taken.clear();
        let start = Instant::now();
        while listen(HERE).0 != 200 {
            assert!(start.elapsed() < Duration::from_secs(30), "the places of closed streams are not free");
            // A stream that is gone is noticed when something is sent on it.
            server.send(&task(), &body_of(start.elapsed().as_nanos() as u64, 1));
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
        let settings = |settings| ServerConfig { max_connections: 32, request_timeout: NEVER, ..settings };
        let (_data, server) = sharing(client_shares, settings);
        // So many that they may take half a minute.
        let body = body_of(2, 1000);
        // Connections with a request under way do not give way.
        let mut busy = Vec::new();
        for _ in 0..40 {
            busy.push(Wire::connect_from(HERE, server.address));
            busy.last_mut().unwrap().offer(&task(), &body);
        }
        let (status, told) = busy.iter_mut().rev().find_map(|wire| wire.read_answer().ok()).unwrap();
        assert!(status == 503 && told.contains("urn:ldp-pca:problem:too-many-connections"), "{status} {told}");
        (told.contains("your address"), upload_from_elsewhere(&server, 1, 1))
    };
    assert_eq!(attack(false), (false, 503), "without a limit of one client nobody else gets in");
    assert_eq!(attack(true), (true, 200));
}

/// An idle connection of the same client gives way, and none of another's.
#[test]
fn a_client_with_all_its_connections_gets_another_for_its_longest_idle_one() {
    // A sixteenth of what the other leaves are two.
    let (_data, server) = serving(|data| ServerConfig { max_connections: 40, ..config(data) }, &[task()]);
    let connected = |from: &str| {
        let mut wire = Wire::connect_from(from, server.address);
        assert_eq!(wire.get("/healthz").0, 200);
        wire
    };
    let (mut other, mut own) = (connected(THERE), [HERE; 3].map(connected));
    assert!(own[0].try_get("/healthz").is_none(), "the first one was closed");
    assert_eq!((own[1].get("/healthz").0, own[2].get("/healthz").0, other.get("/healthz").0), (200, 200, 200));
}

#[test]
fn behind_a_trusted_proxy_clients_are_told_apart_by_the_address_that_it_names() {
    /// Requests of one client at the same time.
    const MOST: usize = 32;
    // A sixteenth of them are 32 streams, and as many requests of one client while others have at most 15.
    let (max_connections, trusted_proxies) = (16 * MOST + 15, vec!["127.0.0.1".parse().unwrap()]);
    let (_data, server) = serving(
        |data| ServerConfig { max_connections, trusted_proxies, request_timeout: NEVER, ..config(data) },
        &[task()],
    );
    // A proxy has as many connections as it likes.
    let mut wires: Vec<Wire> = (0..12).map(|_| Wire::connect(server.address)).collect();
    for wire in &mut wires {
        assert_eq!(wire.get_for("192.0.2.9", "/healthz"), 200);
        *wire = Wire::connect(server.address);
    }
    let listeners = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1", "192.0.2.1"].into_iter();
    let statuses: Vec<u16> = listeners.zip(&mut wires).map(|(client, wire)| wire.get_for(client, &events())).collect();
    assert_eq!(statuses, [200, 200, 503, 200, 200], "a household is one client, and others have their own");
    // So have requests under way: of so many reports that they may take minutes.
    let body = body_of(1, 3000);
    let open_slow = || {
        let mut wire = Wire::connect(server.address);
        let (path, length) = (path(&task(), "/reports"), body.len());
        let fields = format!("Content-Type: {REPORTS}\nContent-Length: {length}");
        wire.begin(&format!("POST {path}\nX-Forwarded-For: 198.51.100.7\n{fields}"));
        // It may be refused before it has sent everything.
        let _ = wire.stream().write_all(&body[..body.len() - 35]);
        wire
    };
    let ask_for = |client: &str| Wire::connect(server.address).get_for(client, "/tasks");
    let mut slow: Vec<Wire> = (0..MOST).map(|_| open_slow()).collect();
    let start = Instant::now();
    while ask_for("198.51.100.7") != 429 {
        // The question itself may have had the last place.
        slow.push(open_slow());
        assert!(start.elapsed() < Duration::from_secs(60), "{MOST} requests are under way and one more is let in");
    }
    assert_eq!(ask_for("198.51.100.8"), 200);
    assert_eq!(Wire::connect(server.address).get_for("198.51.100.7", "/healthz"), 200, "a supervisor is answered");
    // One of them; another one was refused if the question came first.
    assert!(slow.iter_mut().any(|wire| {
        wire.stream().write_all(&body[body.len() - 35..]).is_ok()
            && wire.read_answer().is_ok_and(|(status, _)| status == 200)
    }));
    // Where there are more, another one may have come into its place.
    while ask_for("198.51.100.7") != 200 {
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
        // The refusal itself: a question after it may be answered again.
        let mut last = None;
        let given = (0..40).take_while(|_| last.insert(server.seeds(&task(), 16)).status == 200).count();
        let refused = last.unwrap();
        let wait = refused.header("retry-after").parse::<u32>().ok();
        let many = server.administer("POST", &path(&task(), "/seeds"), b"{\"count\": 5000}");
        assert_eq!(many.status, 200, "an admin hands them to others");
        let mut other = Wire::connect_from(THERE, server.address);
        let seeds = path(&task(), "/seeds");
        other.begin(&format!("POST {seeds}\nContent-Type: application/json\nContent-Length: 12"));
        other.send("{\"count\": 1}");
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
    let ask = |count| server.seeds(&task(), count);
    ask(4).refused(422, "bad-count", &["1 to 3"]);
    assert_eq!((ask(2).status, ask(1).status), (200, 200));
    ask(1).refused(429, "rate-limit", &["again in"]);
}

/// Another report of an id.
fn other(first: &Report) -> Report {
    let made = std::iter::repeat_with(|| with_id(&task(), first.id()));
    made.take(1000).find(|made| made != first).unwrap()
}

/// An id with another payload is a conflict in the log, a duplicate in the answer, and the first one counts: in one
/// body, in a later one, and after a restart.
#[test]
fn an_id_with_another_payload_is_logged_as_a_conflict_and_the_first_stays() {
    let (folder, first) = (task_folder(), reports(&task(), 1, 3));
    let start = || Serving::start(&folder, "--data data --task task.json --log-format json --log-level debug");
    let conflicts = |server: &mut Serving| {
        let line: Value = serde_json::from_str(&server.next_line("another payload")).unwrap();
        assert_eq!(line["task"], task().digest().to_string());
        line["conflicting"].as_u64().unwrap()
    };
    let mut server = start();
    let answer = server.send(&task(), &bytes_of(&[first[0].clone(), first[1].clone(), other(&first[1])])).json();
    assert_eq!(answer, json!({"accepted": 2, "duplicate": 1, "rejected": 0, "rejections": []}));
    assert_eq!(conflicts(&mut server), 1);
    // What is sent again is none.
    assert_eq!(server.counts(&task(), &bytes_of(&first)), (1, 2));
    assert_eq!(server.counts(&task(), &bytes_of(&[other(&first[0]), other(&first[2])])), (0, 2));
    assert_eq!(conflicts(&mut server), 2);
    server.kill();
    assert_eq!(stored(&folder.path("data"), &task()), bytes_of(&first), "the first ones stay");
    let mut server = start();
    assert_eq!(server.counts(&task(), &bytes_of(&[other(&first[2]), first[2].clone()])), (0, 2));
    assert_eq!(conflicts(&mut server), 1);
}

/// The attack: whoever knows an id sends it with each payload, and looks where the answer or a figure says that it is
/// the one that is there.
#[test]
fn what_everybody_sees_does_not_tell_whether_a_duplicate_has_the_payload_that_is_there() {
    // What measures time, or the process.
    let measured = |line: &&str| {
        ["process_", "ldp_pca_store_free_bytes "].iter().any(|start| line.starts_with(start))
            || ["_seconds_bucket{", "_seconds_sum "].iter().any(|part| line.contains(part))
    };
    let told = |again: fn(&Report) -> Report| {
        let (_data, server) = serving(config, &[task()]);
        let first = reports(&task(), 1, 3);
        server.send(&task(), &bytes_of(&first));
        let answer = server.send(&task(), &again(&first[0]).to_bytes());
        let metrics = server.metrics();
        let mut figures: Vec<String> = metrics.lines().filter(|line| !measured(line)).map(str::to_owned).collect();
        figures.sort();
        let body = String::from_utf8(answer.body).unwrap();
        (answer.status, body, figures, server.status(&task()))
    };
    let same = told(Report::clone);
    assert!(same.2.iter().any(|line| line == "ldp_pca_reports_duplicate_total 1"), "{:?}", same.2);
    assert_eq!(told(other), same);
}

/// Recovered figures are only for those who may see components; the operator's metrics for everybody who reaches the
/// path.
#[test]
fn figures_of_the_recovery_need_the_collectors_token() {
    let (_data, server) = serving(|data| ServerConfig { open_recovery: false, ..config(data) }, &[task()]);
    server.send(&task(), &body_of(1, 500));
    let ask = |token: Option<&str>, path: &str| server.ask(token, "GET", path, b"");
    assert_eq!(ask(Some(COLLECTOR), &path(&task(), "/recovery?rank=1")).status, 200);
    let figures = |token: Option<&str>| {
        let answer = ask(token, "/metrics");
        assert_eq!(answer.status, 200);
        answer.text().to_owned()
    };
    let (open, told) = (figures(None), figures(Some(COLLECTOR)));
    for text in [&open, &told] {
        assert!(text.contains("ldp_pca_records{") && text.contains("ldp_pca_recoveries_computed_total 1"), "{text}");
    }
    assert!(!open.contains("ldp_pca_predicted_error{") && told.contains("ldp_pca_predicted_error{"), "{open}");
    ask(Some(ADMIN), "/metrics").refused(403, "token-role", &["a collector"]);
    // Where components are for everybody, so is their error.
    server.put(&task(), &TaskSettings { open_recovery: Some(true), ..TaskSettings::default() });
    assert!(figures(None).contains("ldp_pca_predicted_error{"));
}

/// What somebody else put into the folder before is not followed, and no other file is left over.
#[cfg(unix)]
#[test]
fn a_secret_is_made_in_no_place_that_a_link_leads_to() {
    let data = tempdir().unwrap();
    let (elsewhere, folder) = (data.path().join("elsewhere"), data.path().join("data"));
    let settings = ServerConfig { tokens: TokenConfig::default(), ..config(&folder) };
    Running::start(settings.clone(), &[task()]).shut_down();
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.ends_with(".tmp")).collect::<Vec<_>>(), [""; 0]);
    for name in ["admin.token", "collector.token", "issuing.key", "gateway.keys"] {
        fs::rename(folder.join(name), data.path().join(name)).unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.join(name)).unwrap();
        assert!(Running::try_start(settings.clone(), &[]).is_err() && !elsewhere.exists(), "{name}");
        fs::rename(data.path().join(name), folder.join(name)).unwrap();
    }
}
