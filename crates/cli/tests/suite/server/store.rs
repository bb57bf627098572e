//! `ldp-pca store` through the real binary, on folders that a real server wrote.

use std::sync::atomic::{AtomicUsize, Ordering};

use ldp_pca::aggregate::Aggregate;

use super::harness::*;

#[test]
fn what_is_exported_sums_to_what_the_server_had() {
    let folder = task_folder();
    let body = body_of(1, 40);
    fill(&folder, "data", &body);
    let verified = folder.json("store verify data");
    assert_eq!((&verified["tasks"][0]["reports"], &verified["problems"]), (&json!(40), &json!([])));
    let all = "all is as it was written: 1 task with 40 reports (--details names each)\n";
    assert_eq!(folder.text("store verify data"), all);
    folder.run("store verify data --details").prints(&[": 40 reports, ", all]);

    folder.run("store export data --output all.ldpr --json").gives(json!({"reports": 40, "lost": 0}));
    assert_eq!(folder.read("all.ldpr"), body);
    let piped = folder.command(["store", "export", "data", "--output", "-"]).output().unwrap();
    assert_eq!(piped.stdout, body);
    assert_eq!(piped.stderr, b"", "quiet in a pipe");
    folder.run("aggregate all.ldpr -t task.json -o sum.ldpa").ok();
    let sum = Aggregate::from_bytes(&folder.read("sum.ldpa"), &task()).unwrap();
    assert_eq!(sum, aggregate_of(&task(), &body));
    folder.run("store export data --output all.ldpr").refused(1, &["all.ldpr", "holds reports", "--force"]);
    folder.run("store export data --output all.ldpr --force").ok();
    assert_eq!(folder.read("all.ldpr"), body);
    assert_eq!(folder.unread("store export data -o -").ok().stderr, "", "its reader has seen enough");
    #[cfg(feature = "parquet")]
    {
        folder.run("store export data --output all.parquet").ok();
        folder.run("aggregate all.parquet -t task.json -o table.ldpa").ok();
        assert_eq!(folder.read("table.ldpa"), folder.read("sum.ldpa"));
    }
}

#[test]
fn a_merge_of_two_aggregators_is_the_sum_of_their_reports() {
    let folder = Folder::new();
    let body = body_of(2, 60);
    fill(&folder, "first", &body[..40 * 35]);
    fill(&folder, "second", &body[20 * 35..]);
    let merged = &folder.json("store merge first second --into both")["tasks"][0];
    assert_has(merged, json!({"added": 60, "duplicates": 20, "reports": 60}), "the merge");
    folder.run("store verify both").ok();
    folder.run("store export both --output all.ldpr").ok();
    assert_eq!(aggregate_of(&task(), &folder.read("all.ldpr")), aggregate_of(&task(), &body));
    let server = Running::start(config(&folder.path("both")), &[]);
    assert_eq!(server.records(&task()), 60);
}

#[test]
fn a_folder_in_use_can_be_verified_exported_and_backed_up() {
    let folder = task_folder();
    let body = body_of(5, 40);
    let server = Running::start(config(&folder.path("data")), &[task()]);
    server.send(&task(), &body[..20 * 35]);
    folder.run("store verify data").prints(&["1 task with 20 reports"]);
    folder.run("store export data --output part.ldpr").ok();
    assert_eq!(folder.read("part.ldpr"), body[..20 * 35]);
    folder.gives("store backup data --to copy", json!({"tasks": 1, "reports": 20}));
    folder.refused("store backup data --to copy", 1, &["copy: it is there"]);
    server.send(&task(), &body[20 * 35..]);
    let restore = format!("store restore data {}", task().digest());
    for change in ["store repair data", "store acknowledge data", "store merge copy --into data", &restore] {
        folder.refused(change, 1, &["another process holds"]);
    }
    server.shut_down();
    folder.run("store verify copy").ok();
    for key in ["issuing.key", "gateway.keys"] {
        assert_eq!(folder.read(&format!("copy/{key}")), folder.read(&format!("data/{key}")));
    }
    let server = Running::start(config(&folder.path("copy")), &[]);
    assert_eq!(server.counts(&task(), &body), (20, 20));
}

#[test]
fn a_backup_under_load_has_what_was_acknowledged_before_it() {
    let folder = Folder::new();
    let body = body_of(6, 3000);
    let server = Running::start(config(&folder.path("data")), &[task()]);
    let acknowledged = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for report in body.chunks(35) {
                assert_eq!(server.counts(&task(), report), (1, 0));
                acknowledged.fetch_add(35, Ordering::Relaxed);
            }
        });
        wait_until("reports", || acknowledged.load(Ordering::Relaxed) > 35 * 100);
        let before = acknowledged.load(Ordering::Relaxed);
        folder.run("store backup data --to copy").ok();
        let copied = stored(&folder.path("copy"), &task());
        assert!(copied.len() >= before && body.starts_with(&copied), "{} of {before} bytes", copied.len());
    });
}

#[test]
fn damaged_reports_are_told_of_left_out_only_if_allowed_and_repaired() {
    let folder = Folder::new();
    let body = body_of(3, 30);
    fill(&folder, "data", &body[..35 * 15]);
    fill(&folder, "data", &body[35 * 15..]);
    let path = database(&folder.path("data"), &task());
    flip(&path, &body[35 * 3..35 * 4]);
    let damaged = fs::read(&path).unwrap();

    let verified = folder.run("store verify data");
    assert_eq!(verified.code, Some(1), "{verified:?}");
    assert!(verified.stdout.contains("batch 1 has 1 damaged report") && verified.stderr.contains("store repair"));
    for line in ["store export data --output part.ldpr", "store merge data --into other"] {
        folder.refused(line, 1, &["1 report is lost or damaged", "--allow-loss"]);
        let allowed = folder.run(&format!("{line} --allow-loss"));
        assert!(allowed.code == Some(1) && allowed.stderr.contains("1 report is lost or damaged"), "{allowed:?}");
    }
    assert_eq!(folder.read("part.ldpr"), [&body[..35 * 3], &body[35 * 4..]].concat());
    let repaired = folder.json("store repair data");
    assert_eq!(repaired["tasks"][0]["reports"], 29);
    assert_eq!([&repaired["repairs"], &repaired["lost"]].map(|told| told.as_array().unwrap().len()), [1, 1]);
    assert_eq!(fs::read(path.with_file_name("reports.sqlite.0.damaged")).unwrap(), damaged);
    let server = Running::start(config(&folder.path("data")), &[]);
    assert_eq!(server.counts(&task(), &body), (1, 29));
}

/// Also where no start has seen it.
#[test]
fn lost_reports_are_told_of_until_somebody_acknowledges_it() {
    let folder = task_folder();
    let body = body_of(4, 15);
    let mut server = Serving::start(&folder, "--data data --task task.json");
    for part in [&body[..35 * 10], &body[35 * 10..]] {
        assert_eq!(server.counts(&task(), part).1, 0);
    }
    server.kill();
    let log = database(&folder.path("data"), &task()).with_file_name("reports.sqlite-wal");
    let whole = fs::read(&log).unwrap();
    fs::write(&log, &whole[..whole.len() - 10]).unwrap();
    let lost = "the last change is lost, with 5 acknowledged reports";
    let told = || {
        let verified = folder.run("store verify data");
        assert!(verified.code == Some(1) && verified.stdout.contains(lost), "{verified:?}");
    };
    told();
    let figure = format!("ldp_pca_store_lost_reports{{task=\"{}\"}}", task().digest());
    for _ in 0..2 {
        let server = Serving::start(&folder, "--data data");
        assert_eq!((server.records(&task()), &server.status(&task())["lost_reports"]), (10, &json!(5)));
        assert_members(&server.get("/openapi.json").json(), "Status", &server.status(&task()));
        assert_eq!((server.figure(&figure), server.get("/readyz").status), (5, 200));
        let log = server.log();
        for said in ["WARN", lost, "5 acknowledged reports are lost (`ldp-pca store acknowledge`)"] {
            assert!(log.contains(said), "{log}");
        }
        told();
    }
    folder.refused("store export data --output all.ldpr", 1, &[lost, "--allow-loss"]);
    folder.run("store acknowledge data --audit-log audit.jsonl").prints(&[": 5 reports lost", lost]);
    let line: Value = serde_json::from_str(&folder.read_text("audit.jsonl")).unwrap();
    assert_has(&line, json!({"action": "store-acknowledge", "role": "operator", "reports": 5}), "the line");
    folder.run("store acknowledge data").prints(&["nothing was lost"]);
    folder.run("store verify data").ok();
    let server = Running::start(config(&folder.path("data")), &[]);
    assert_eq!((server.status(&task()).get("lost_reports"), server.figure(&figure)), (None, 0));
    assert_eq!(server.counts(&task(), &body), (5, 10));
}

#[test]
fn a_damaged_secret_is_told_of_and_no_server_starts_with_it() {
    let folder = Folder::new();
    let settings = || ServerConfig { tokens: TokenConfig::default(), ..config(&folder.path("data")) };
    Running::start(settings(), &[task()]).shut_down();
    for name in ["issuing.key", "gateway.keys", "admin.token", "collector.token"] {
        let path = folder.path("data").join(name);
        let good = fs::read(&path).unwrap();
        fs::write(&path, &good[..50]).unwrap();
        let told = format!("{name}: line 1 is not as it was made: restore the file from a backup");
        let verified = folder.run("store verify data");
        assert!(verified.code == Some(1) && verified.stdout.contains(&told), "{verified:?}");
        assert!(refusal(settings(), &[]).to_string().contains(&told), "{told}");
        fs::write(&path, good).unwrap();
    }
    folder.run("store verify data").ok();
}

#[test]
fn wrong_use_is_told_apart() {
    let folder = Folder::new();
    Running::start(config(&folder.path("data")), &[task(), other_task()]).shut_down();
    let (export, digest) = ("store export data --output all.ldpr", task().digest().to_string());
    folder.refused(export, 2, &[&digest]);
    folder.refused("store acknowledge data --task 0g", 2, &["0 of the folder's tasks", &digest]);
    folder.run(&format!("{export} --task {}", &digest[..8])).ok();
    assert_eq!(folder.read("all.ldpr"), b"");
    fs::write(database(&folder.path("data"), &task()), "notes").unwrap();
    // What is wrong comes first, and what is well is counted.
    let verified = folder.run("store verify data");
    let lines: Vec<&str> = verified.stdout.lines().collect();
    let [task, wrong, rest] = lines[..] else { panic!("{verified:?}") };
    assert!(task.starts_with(&format!("task {digest}: 0 reports")) && wrong.starts_with("  wrong: "), "{verified:?}");
    assert_eq!(rest, "as it was written: 1 task with 0 reports (--details names each)");
    let repaired = folder.run("store repair data");
    assert!(repaired.code == Some(1) && repaired.stdout.contains("restore it from a backup"), "{repaired:?}");
}
