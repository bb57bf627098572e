//! Report ids that the server issues, and dense reports out of range.

use super::harness::*;

fn issued_only() -> TaskSettings {
    TaskSettings { issued_ids: Some(true), ..TaskSettings::default() }
}

#[test]
fn reports_with_issued_ids_count_and_others_do_not() {
    let (data, server) = serving(config, &[]);
    server.put(&task(), &issued_only());
    assert_eq!(server.status(&task())["issued_ids"], true);
    let answer = server.seeds(&task(), 3);
    assert_eq!(answer.status, 200);
    let ids = ids(&answer);
    assert_eq!(ids.len(), 3);
    let good = bytes_of(&[with_id(&task(), ids[0])]);
    assert_eq!(server.counts(&task(), &good), (1, 0));
    assert_eq!(server.counts(&task(), &good), (0, 1));
    let other = bytes_of(&[with_id(&task(), ids[0])]);
    assert_eq!(server.counts(&task(), &other), (0, 1), "an id is for one report");
    let mut forged = *ids[1].as_bytes();
    forged[15] ^= 1;
    let mixed = [reports(&task(), 1, 1).remove(0), with_id(&task(), ids[1]), with_id(&task(), ReportId::new(forged))];
    for (accepted, duplicate) in [(1, 0), (0, 1)] {
        let problem = server.send(&task(), &bytes_of(&mixed)).refused(422, "reports-rejected", &["2 reports"]);
        assert_has(&problem, json!({"accepted": accepted, "duplicate": duplicate}), "the problem");
        let places: Vec<&Value> = problem["rejections"].as_array().unwrap().iter().map(|r| &r["index"]).collect();
        assert_eq!(places, [&json!(0), &json!(2)]);
        assert_eq!(problem["rejections"][0]["type"], "urn:ldp-pca:problem:report-not-issued");
        assert!(problem["rejections"][0]["detail"].as_str().unwrap().contains("/seeds"));
    }
    server.shut_down();
    // The key stays, and another server has another one unless it is given the same.
    let server = Running::start(config(data.path()), &[]);
    assert_eq!(server.send(&task(), &bytes_of(&[with_id(&task(), ids[2])])).json()["accepted"], 1);
    let (other_data, other) = serving(config, &[]);
    other.put(&task(), &issued_only());
    other.send(&task(), &good).refused(422, "reports-rejected", &["not issued"]);
    other.shut_down();
    let key = Some(data.path().join("issuing.key"));
    let other = Running::start(ServerConfig { issuing_key_file: key, ..config(other_data.path()) }, &[]);
    assert_eq!(other.send(&task(), &good).json()["accepted"], 1);
}

#[test]
fn a_server_without_its_issuing_key_starts_only_where_no_report_needs_it() {
    let (data, server) = serving(config, &[]);
    let key = data.path().join("issuing.key");
    server.put(&task(), &issued_only());
    server.shut_down();
    fs::remove_file(&key).unwrap();
    let server = Running::start(config(data.path()), &[]);
    let found = ids(&server.seeds(&task(), 2));
    assert_eq!(server.counts(&task(), &bytes_of(&[with_id(&task(), found[0])])), (1, 0));
    server.shut_down();
    fs::remove_file(&key).unwrap();
    let error = refusal(config(data.path()), &[]).to_string();
    assert!(error.contains("issuing.key: it is missing") && !key.exists(), "{error}");
    // The operator begins anew, as the refusal says.
    fs::write(&key, format!("{}\n", "5a".repeat(32))).unwrap();
    let server = Running::start(config(data.path()), &[]);
    let late = bytes_of(&[with_id(&task(), found[1])]);
    server.send(&task(), &late).refused(422, "reports-rejected", &["not issued"]);
    server.put(&task(), &TaskSettings::default());
    server.shut_down();
    // Its reports make their own ids from here on.
    fs::remove_file(&key).unwrap();
    Running::start(config(data.path()), &[]).shut_down();
}

#[test]
fn everybody_gets_a_few_ids_and_an_admin_many() {
    let (_data, server) = serving(config, &[other_task()]);
    server.put(&task(), &issued_only());
    assert_eq!(ids(&server.seeds(&task(), 16)).len(), 16);
    for count in [0, 17, 4_000_000_000u32] {
        server.seeds(&task(), count).refused(422, "bad-count", &[&count.to_string(), "1 to 16", "admin"]);
    }
    let many = |count: u32| {
        let body = json!({"count": count}).to_string();
        server.administer("POST", &path(&task(), "/seeds"), body.as_bytes())
    };
    let mut found = ids(&many(10_000));
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 10_000);
    many(10_001).refused(422, "bad-count", &["10001", "1 to 10000"]);
    for bad in [json!({}), json!({"count": -1}), json!({"count": 1.5}), json!({"count": 1, "id": 2}), json!([1])] {
        let answer = server.ask(None, "POST", &path(&task(), "/seeds"), bad.to_string().as_bytes());
        answer.refused(400, "bad-json", &["body is not the expected document"]);
    }
    server.post(&path(&task(), "/seeds"), "text/plain", b"{}").refused(415, "media-type", &["text/plain"]);
    server.seeds(&other_task(), 1).refused(409, "no-issued-ids", &["make their own"]);
    assert_eq!(server.figure("ldp_pca_issued_ids_total"), 10_016);
}

#[test]
fn dense_reports_out_of_range_are_refused_unless_the_task_says_otherwise() {
    let (_data, server) = serving(config, &[]);
    let honest = reports(&other_task(), 1, 20);
    let mut extreme = honest[0].to_bytes();
    // Every one of the ten entries at the end of its range.
    extreme[29..39].fill(0x7f);
    let checksum = crc32fast::hash(&extreme[..39]).to_le_bytes();
    extreme[39..].copy_from_slice(&checksum);
    let body = [bytes_of(&honest), extreme.clone()].concat();
    server.put(&other_task(), &TaskSettings::default());
    assert_has(&server.status(&other_task()), json!({"range_check": true, "settings": {}}), "the status");
    for accepted in [20, 0] {
        let said = ["1 report was rejected", "square sum"];
        let problem = server.send(&other_task(), &body).refused(422, "reports-rejected", &said);
        assert_eq!((&problem["accepted"], &problem["rejections"][0]["index"]), (&json!(accepted), &json!(20)));
        assert_eq!(problem["rejections"][0]["type"], "urn:ldp-pca:problem:report-range");
    }
    server.put(&other_task(), &TaskSettings { range_check: Some(false), ..TaskSettings::default() });
    // Its id is that of an honest one; without the check it is well formed.
    assert_eq!(server.send(&other_task(), &extreme).json()["duplicate"], 1);
}
