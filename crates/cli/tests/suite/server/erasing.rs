//! Single reports are erased over HTTP, and what was done is in the audit log.

use ldp_pca_server::LogConfig;
use rand::Rng;

use super::collector::COLLECTOR_PASSWORD;
use super::harness::*;
use crate::http;

#[test]
fn an_admin_erases_reports_and_their_bytes_do_not_count_again() {
    let (_data, server) = serving(config, &[task()]);
    let all = reports(&task(), 1, 40);
    server.send(&task(), &bytes_of(&all));
    let recovery = || server.recovery(&task(), "rank=2").json();
    assert_eq!(recovery()["records"], 40);
    let erased = server.erase(Some(ADMIN), &task(), &all[..2]);
    assert_eq!((erased.status, erased.json()), (200, json!({"erased": 2, "before": 0, "unknown": 0})));
    assert_members(&server.get("/openapi.json").json(), "ErasedReports", &erased.json());
    let strange = [&all[1..2], &reports(&task(), 2, 1)].concat();
    assert_eq!(server.erase(Some(ADMIN), &task(), &strange).json(), json!({"erased": 0, "before": 1, "unknown": 1}));
    assert_eq!(server.counts(&task(), &bytes_of(&all[..3])), (0, 3));
    assert_eq!(server.records(&task()), 38);
    // Components of before are not shown again.
    let expected = aggregate_of(&task(), &bytes_of(&all[2..]));
    let covariance = Covariance::estimate(&expected, &task()).unwrap();
    let found = recovery();
    assert_eq!((&found["records"], &found["noise_deviation"]), (&38.into(), &covariance.noise_deviation().into()));
    assert_eq!(server.figure("ldp_pca_reports_erased_total"), 2);
}

#[test]
fn a_holder_of_an_id_erases_its_report_where_that_is_open_and_no_others() {
    let open_erasure = Some(RateLimit { per_second: 0.001, burst: 2 });
    let (_data, server) = serving(|data| ServerConfig { open_erasure, ..config(data) }, &[task()]);
    let all = reports(&task(), 1, 5);
    server.send(&task(), &bytes_of(&all));
    server.erase(None, &task(), &all[..2]).refused(422, "bad-count", &["2 ids", "1 to 1"]);
    assert_eq!(server.erase(None, &task(), &all[..1]).json()["erased"], 1);
    assert_eq!(server.erase(None, &task(), &reports(&task(), 2, 1)).json()["unknown"], 1);
    let refused = server.erase(None, &task(), &all[1..2]);
    refused.refused(429, "rate-limit", &[]);
    assert!(!refused.header("retry-after").is_empty());
    // An admin is not limited, and a collector is no holder.
    assert_eq!(server.erase(Some(ADMIN), &task(), &all[1..3]).json()["erased"], 2);
    server.erase(Some(COLLECTOR), &task(), &all[3..4]).refused(403, "token-role", &[]);
    assert_eq!(server.records(&task()), 2);
}

/// Kills a server at moments that a fixed seed draws, while it erases. Afterwards the reports are all there or all gone
/// (gone if that was answered), and nothing else is.
#[test]
fn an_erasure_that_a_kill_cuts_short_is_whole_or_not_there() {
    let rounds = usize::try_from(kills()).unwrap();
    let folder = task_folder();
    folder.write("admin.token", ADMIN);
    folder.write("server.toml", "[tokens]\nadmin_file = \"admin.token\"\n");
    let start = || Serving::start(&folder, "--data data --task task.json --config server.toml");
    let all = reports(&task(), 3, 4 * (rounds + 2000));
    let mut server = start();
    assert_eq!(server.counts(&task(), &bytes_of(&all)).1, 0);
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let (mut span, mut answered) = (Duration::ZERO, 0);
    for (round, gone) in all.chunks(4).take(rounds + 1).enumerate() {
        let ids: Vec<String> = gone.iter().map(|report| report.id().to_string()).collect();
        let (url, body) = (server.url(&path(&task(), "/erasures")), json!({"ids": ids}).to_string());
        let is_done = thread::scope(|scope| {
            let asked = scope.spawn(|| {
                let (token, before) = (format!("Bearer {ADMIN}"), Instant::now());
                let answer = http::request("POST", &url, &[("authorization", &*token)], body.as_bytes());
                answer.is_ok_and(|answer| answer.status == 200).then(|| before.elapsed())
            });
            if round > 0 {
                thread::sleep(span * (rng.next_u32() % 1500) / 1000);
                server.kill();
            }
            asked.join().unwrap()
        });
        if round == 0 {
            // The time that it takes.
            span = is_done.unwrap();
            server.kill();
        }
        answered += usize::from(is_done.is_some());
        server = start();
        let (left, found) = ((all.len() - 4 * (round + 1)) as u64, server.records(&task()));
        assert!(found == left || (is_done.is_none() && found == left + 4), "round {round}: {found} of {left}");
        let again = server.erase(Some(ADMIN), &task(), gone).json();
        assert_eq!(again["erased"].as_u64().unwrap() + again["before"].as_u64().unwrap(), 4, "{again}");
        assert_eq!(server.records(&task()), left);
    }
    println!("{answered} of {rounds} erasures were answered before the kill");
    server.kill();
    folder.run("store verify data --details").prints(&[&format!("{} erased on request", 4 * (rounds + 1))]);
    assert_eq!(stored(&folder.path("data"), &task()), bytes_of(&all[4 * (rounds + 1)..]));
}

/// Who did what to which task, and nothing else: no token, no setting, no id, and addresses only where asked for.
#[test]
fn the_audit_log_has_a_line_for_each_action_of_a_known_token() {
    for addresses in [false, true] {
        let folder = Folder::new();
        let audit = folder.path("audit.jsonl");
        let log = LogConfig { audit: Some(audit.clone()), addresses, ..LogConfig::default() };
        let open_erasure = Some(RateLimit { per_second: 1.0, burst: 9 });
        let server = Running::start(ServerConfig { log, open_erasure, ..config(&folder.path("data")) }, &[]);
        let id = path(&task(), "");
        let put = put_body(&task(), &TaskSettings { max_records: Some(271_828), ..TaskSettings::default() });
        let ask = |method: &str, path: &str, token: &str, body: &[u8]| {
            server.ask_as(token, "request-7", method, path, body).status
        };
        assert_eq!(ask("PUT", &format!("{id}?dry_run=true"), ADMIN, &put), 200);
        assert_eq!(ask("PUT", &id, ADMIN, &put), 201);
        assert_eq!(ask("PUT", &id, COLLECTOR, &put), 403);
        assert_eq!(ask("PUT", &id, &"guess".repeat(8), &put), 401);
        let all = reports(&task(), 1, 5);
        server.send(&task(), &bytes_of(&all));
        let (erasures, sums) = (path(&task(), "/erasures"), path(&task(), "/aggregate"));
        assert_eq!(server.request("GET", &sums, &[COLLECTOR_PASSWORD], b"").status, 200);
        assert_eq!((ask("GET", &sums, ADMIN, b""), server.get(&sums).status), (403, 401));
        let ids = json!({"ids": [all[0].id().to_string(), all[1].id().to_string()]}).to_string();
        assert_eq!(ask("POST", &erasures, ADMIN, ids.as_bytes()), 200);
        assert_eq!(server.erase(None, &task(), &all[2..3]).status, 200);
        assert_eq!(server.ask(None, "POST", &erasures, b"{}").status, 400);
        assert_eq!(ask("DELETE", &id, ADMIN, b""), 200);
        assert_eq!(ask("DELETE", &format!("{id}?now=true"), ADMIN, b""), 200);
        assert_eq!(ask("DELETE", &id, ADMIN, b""), 404);
        let found = json_lines(&audit);
        let text = fs::read_to_string(&audit).unwrap();
        for line in &found {
            assert_eq!(line.get("address").is_some(), addresses && line["action"] != "tokens-read", "{line}");
        }
        let brief = found.into_iter().map(|mut line| {
            let members = line.as_object_mut().unwrap();
            for known in ["time", "address", "request"] {
                members.remove(known);
            }
            let of_task = members.remove("task");
            assert!(of_task.is_none_or(|of_task| of_task == task().digest().to_string()), "{line}");
            line
        });
        let admin = |action: &str, more: Value| {
            let mut line = json!({"action": action, "outcome": "done", "role": "admin", "who": "admin 1"});
            line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            line
        };
        let refused = json!({"outcome": "refused", "role": "collector", "who": "collector 1", "problem": "token-role"});
        let expected = [
            admin("tokens-read", json!({})),
            json!({"action": "tokens-read", "outcome": "done", "role": "collector", "who": "collector 1"}),
            admin("task-put", json!({})),
            admin("task-put", refused),
            json!({"action": "sums-read", "outcome": "done", "role": "collector", "who": "collector 1"}),
            admin("sums-read", json!({"outcome": "refused", "problem": "token-role"})),
            admin("reports-erase", json!({"reports": 2})),
            json!({"action": "reports-erase", "outcome": "done", "role": "holder", "reports": 1}),
            admin("task-delete", json!({"reports": 2, "now": false})),
            // Nobody counts again what was deleted before.
            admin("task-delete", json!({"now": true})),
            admin("task-delete", json!({"outcome": "refused", "problem": "unknown-task"})),
        ];
        assert_eq!(brief.collect::<Vec<_>>(), expected);
        assert!(text.contains("\"request\":\"request-7\""));
        let secrets = [ADMIN, COLLECTOR, "guess", "271828"].map(str::to_owned);
        for secret in secrets.into_iter().chain(all.iter().map(|report| report.id().to_string())) {
            assert!(!text.contains(&secret), "{secret} is in\n{text}");
        }
    }
}
