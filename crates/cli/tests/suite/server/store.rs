//! `ldp-pca store` on folders that are in use, damaged, or lack what was acknowledged.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::harness::*;

/// `aggregator.md` of the transcripts exports to the plain file.
#[cfg(feature = "parquet")]
#[test]
fn an_exported_table_sums_to_what_the_server_had() {
    let (folder, body) = (task_folder(), body_of(1, 40));
    fill(&folder, "data", &body);
    folder.run("store export data --output all.parquet").ok();
    folder.run("aggregate all.parquet -t task.json -o table.ldpa").ok();
    assert_eq!(folder.read("table.ldpa"), aggregate_of(&task(), &body).to_bytes());
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
