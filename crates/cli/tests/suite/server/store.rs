//! `ldp-pca store` through the real binary, on folders that a real server wrote.

use ldp_pca::aggregate::Aggregate;

use super::harness::*;

/// A server's folder under this name with these reports.
fn fill(folder: &Folder, name: &str, body: &[u8]) {
    let server = Running::start(config(&folder.path(name)), &[task()]);
    assert_eq!(server.send(&task(), body).status, 200);
    server.shut_down();
}

#[test]
fn what_is_exported_sums_to_what_the_server_had() {
    let folder = task_folder();
    let body = body_of(1, 40);
    fill(&folder, "data", &body);
    let verified = folder.json("store verify data");
    assert_eq!((&verified["tasks"][0]["reports"], &verified["problems"]), (&json!(40), &json!([])));
    folder.run("store verify data").prints(&["40 reports in 1 segment,"]);

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
    folder.run("store export data --output all.parquet").ok();
    let table = folder.read("all.parquet");
    assert!(table.starts_with(b"PAR1") && table.ends_with(b"PAR1"));
    #[cfg(feature = "parquet")]
    {
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
fn a_merge_that_makes_no_sense_says_so_in_one_line() {
    let folder = Folder::new();
    for (name, seed) in [("first", 2), ("second", 3)] {
        fill(&folder, name, &body_of(seed, 5));
    }
    let refused = |line: &str, code: i32, message: &str| {
        let run = folder.run(line);
        assert_eq!((run.code, run.stderr.as_str()), (Some(code), format!("error: {message}\n").as_str()));
    };
    refused(
        "store merge first second --into first",
        2,
        "first is the folder that is added to, and is read as well: to add to it, `store merge second --into first`",
    );
    refused(
        "store merge ./first --into first",
        2,
        "first is the folder that is added to, and is read as well: name the folders whose reports are to be added",
    );
    refused("store merge first second first/ --into all", 2, "first/ is named twice: name each folder once");
    let missing = folder.run("store merge first third --into all");
    assert_eq!(missing.stderr.lines().count(), 1, "{missing:?}");
    missing.refused(1, &["third"]);
    assert!(!folder.path("all").exists(), "nothing is made");
    folder.run("store merge second --into first").ok();
}

#[test]
fn a_hurt_folder_is_told_of_and_repaired() {
    let folder = Folder::new();
    let body = body_of(3, 30);
    fill(&folder, "data", &body[..35 * 15]);
    fill(&folder, "data", &body[35 * 15..]);
    let path = segment_path(&folder.path("data"), &task());
    let mut segment = fs::read(&path).unwrap();
    let place = segment.windows(35).position(|window| window == &body[35 * 3..35 * 4]).unwrap();
    segment[place + 30] ^= 1;
    fs::write(&path, &segment).unwrap();
    fs::remove_file(folder.path("data/store.sqlite")).unwrap();

    let verified = folder.run("store verify data --json");
    assert_eq!(verified.code, Some(1), "{verified:?}");
    assert!(verified.stdout.contains("store.sqlite") && verified.stderr.contains("store repair"), "{verified:?}");
    let repaired = folder.json("store repair data");
    assert_eq!(repaired["tasks"][0]["reports"], 29);
    assert_eq!(repaired["repairs"].as_array().unwrap().len(), 2, "{repaired}");
    assert_eq!(fs::read(path.with_file_name("00000000.0.damaged")).unwrap(), segment);
    folder.run("store verify data").prints(&["29 reports", "was set aside"]);
    let server = Running::start(config(&folder.path("data")), &[]);
    assert_eq!(server.counts(&task(), &body), (1, 29));
}

#[test]
fn acknowledged_reports_that_are_lost_are_told_of_everywhere() {
    let folder = Folder::new();
    let body = body_of(4, 15);
    for name in ["served", "repaired"] {
        fill(&folder, name, &body);
        let path = segment_path(&folder.path(name), &task());
        let segment = fs::read(&path).unwrap();
        fs::write(&path, &segment[..segment.len() - 10]).unwrap();
    }
    let lost = "1 of 15 acknowledged reports are lost";
    let verified = folder.run("store verify served");
    assert!(verified.code == Some(1) && verified.stdout.contains(lost), "{verified:?}");
    let log = Serving::start(&folder, "--data served").log();
    for told in ["WARN", "00000000.open is damaged from byte", lost, "warning: 1 damaged reports"] {
        assert!(log.contains(told), "{log}");
    }
    folder.run("store repair repaired").prints(&["lost: task ", lost]);
    let repaired = folder.json("store repair repaired");
    assert_eq!((&repaired["lost"], &repaired["tasks"][0]["reports"]), (&json!([]), &json!(14)));
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

#[tokio::test]
async fn wrong_use_is_told_apart() {
    let folder = Folder::new();
    folder.refused("store verify nowhere", 1, &["nowhere"]);
    let server = Server::bind(config(&folder.path("data")), vec![task(), other_task()]).await.unwrap();
    folder.refused("store verify data", 1, &["another server holds"]);
    drop(server);
    let (export, digest) = ("store export data --output all.ldpr", task().digest().to_string());
    folder.refused(export, 2, &[&digest]);
    folder.run(&format!("{export} --task {}", &digest[..8])).ok();
    assert_eq!(folder.read("all.ldpr"), b"");
    folder.write("data/format", "ldp-pca store 9\n");
    folder.refused("store repair data", 1, &["ldp-pca store 9"]);
}
