//! The state after a crash, on a full disk, or with a changed file.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Mutex;

use super::harness::*;

/// A folder with 20 reports, and their bytes. 12 of the reports came first.
fn filled() -> (TempDir, Vec<u8>) {
    let body = body_of(1, 20);
    let (data, server) = serving(config, &[task()]);
    for part in [&body[..12 * 35], &body[12 * 35..]] {
        assert_eq!(server.send(&task(), part).status, 200);
    }
    server.shut_down();
    (data, body)
}

/// Where the bytes of a report are in a segment.
fn place_of(segment: &[u8], report: &[u8]) -> usize {
    segment.windows(report.len()).position(|window| window == report).unwrap()
}

#[test]
fn a_torn_end_is_cut_off_and_what_was_acknowledged_stays() {
    let report = body_of(2, 1);
    let (data, _) = filled();
    let page = fs::read(segment_path(data.path(), &task())).unwrap()[4..].to_vec();
    let torn: [&[u8]; 5] = [&page[..1], &page[..100], &[0; 35], &[7; 1000], b"PAR1"];
    for tail in torn {
        let (data, body) = filled();
        let segment = segment_path(data.path(), &task());
        let before = fs::read(&segment).unwrap();
        OpenOptions::new().append(true).open(&segment).unwrap().write_all(tail).unwrap();
        let server = Running::start(config(data.path()), &[]);
        assert_eq!(server.records(&task()), 20);
        assert_eq!(fs::read(&segment).unwrap(), before);
        assert_eq!(server.send(&task(), &report).json()["accepted"], 1);
        assert_eq!(stored(data.path(), &task()), [body, report.clone()].concat());
    }
}

#[test]
fn a_damaged_last_report_is_cut_off_and_can_be_sent_again() {
    let (data, body) = filled();
    let segment = segment_path(data.path(), &task());
    let mut damaged = fs::read(&segment).unwrap();
    let place = place_of(&damaged, &body[19 * 35..]);
    damaged[place + 20] ^= 1;
    fs::write(&segment, &damaged).unwrap();
    let verified = maintenance::verify(data.path(), &mut |_, _| {}).unwrap();
    assert!(!verified.is_good(), "it was acknowledged: {verified:?}");
    let server = Running::start(config(data.path()), &[]);
    assert_eq!(server.records(&task()), 19);
    assert_eq!(server.counts(&task(), &body), (1, 19));
    assert_eq!(stored(data.path(), &task()), body);
}

#[tokio::test]
async fn damage_in_the_middle_costs_no_other_report() {
    let (data, body) = filled();
    let segment = segment_path(data.path(), &task());
    let mut damaged = fs::read(&segment).unwrap();
    let first = place_of(&damaged, &body[..35]);
    damaged[first + 5 * 35 + 20] ^= 1;
    damaged[first + 6 * 35..first + 8 * 35].fill(0);
    damaged.extend([1, 2, 3]);
    fs::write(&segment, &damaged).unwrap();
    let server = Server::bind(config(data.path()), vec![]).await.unwrap();
    let summary = server.tasks()[0];
    assert_eq!((summary.records, summary.damaged_reports, summary.cut_bytes), (17, 3, 3));
    drop(server);
    assert_eq!(fs::read(segment.with_file_name("00000000.0.damaged")).unwrap(), damaged);
    let server = Running::start(config(data.path()), &[]);
    assert_eq!(server.counts(&task(), &body), (3, 17));
    server.shut_down();
    let server = Running::start(config(data.path()), &[]);
    assert_eq!(server.records(&task()), 20);
}

#[test]
fn files_of_another_hand_or_release_are_refused_and_left_alone() {
    let start = |data: &TempDir| match refusal(config(data.path()), &[]) {
        ServerError::Store(error) => error,
        error => panic!("{error}"),
    };
    let (data, body) = filled();
    let segment = segment_path(data.path(), &task());
    let good = fs::read(&segment).unwrap();
    let mut newer = good.clone();
    let place = place_of(&good, &body[35..70]);
    newer[place + 4] = 2;
    let checksum = crc32fast::hash(&newer[place..place + 31]).to_le_bytes();
    newer[place + 31..place + 35].copy_from_slice(&checksum);
    fs::write(&segment, &newer).unwrap();
    let error = start(&data);
    assert!(matches!(error, StoreError::ForeignReport { offset, .. } if offset == place as u64), "{error}");
    assert!(error.to_string().contains("version 2") && error.to_string().contains("00000000.open"), "{error}");
    assert_eq!(fs::read(&segment).unwrap(), newer);
    fs::write(&segment, &good).unwrap();

    let task_path = segment.with_file_name("task.json");
    fs::write(&task_path, task().to_json().replace("\"cap\":8", "\"cap\":9")).unwrap();
    assert!(matches!(start(&data), StoreError::OtherTask { .. }));
    fs::write(&task_path, "{").unwrap();
    assert!(matches!(start(&data), StoreError::Task { .. }));
    fs::remove_file(&task_path).unwrap();
    assert!(matches!(start(&data), StoreError::Io { .. }));
    fs::write(&task_path, task().to_json()).unwrap();

    fs::write(data.path().join("format"), "ldp-pca store 1\n").unwrap();
    let error = start(&data).to_string();
    assert!(error.contains("ldp-pca store 3") && error.contains("ldp-pca store 1"), "{error}");
    fs::write(data.path().join("format"), "ldp-pca store 3\n").unwrap();

    fs::create_dir(data.path().join("tasks/notes")).unwrap();
    let server = Running::start(config(data.path()), &[]);
    assert_eq!(server.records(&task()), 20);
}

/// The variable that names the folder to the process below.
const DATA: &str = "LDP_PCA_TEST_DATA";

/// Not a test: the server process that the tests below start and kill.
#[tokio::test]
#[ignore = "a part of other tests, which start it as a process of its own"]
async fn serves_until_killed() {
    let data = std::env::var_os(DATA).expect("the test that starts this names a folder");
    let server = Server::bind(config(data.as_ref()), vec![task()]).await.unwrap();
    println!("\nlistening on http://{}", server.local_addr());
    server.serve(std::future::pending()).await.unwrap();
}

/// That process, through the shell after `prelude` if there is one.
fn process(data: &TempDir, prelude: Option<&str>) -> Serving {
    let program = std::env::current_exe().unwrap();
    let mut command = match prelude {
        None => Command::new(program),
        Some(prelude) => {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("{prelude}; exec \"$0\" \"$@\"")]).arg(program);
            shell
        }
    };
    let arguments = ["--exact", "server::crash::serves_until_killed", "--ignored", "--nocapture"];
    Serving::of(command.args(arguments).env(DATA, data.path()))
}

/// Several times: reports come in over several connections, the process is killed at some moment, and another one takes
/// over. Every report acknowledged by any of them is there at the end, once.
#[test]
fn a_killed_process_loses_nothing_that_it_acknowledged() {
    let data = tempdir().unwrap();
    let acknowledged = Mutex::new(Vec::new());
    for round in 0..8u64 {
        // Made before the process starts, whose time is short.
        let made: Vec<_> = (0..4).map(|worker| reports(&task(), 100 + 10 * round + worker, 3000)).collect();
        let server = process(&data, None);
        let address = server.address;
        thread::scope(|scope| {
            for (worker, reports) in made.iter().enumerate() {
                let acknowledged = &acknowledged;
                scope.spawn(move || {
                    for report in reports.chunks(1 + worker) {
                        let body = bytes_of(report);
                        let Ok(answer) = try_post(address, &path(&task(), "/reports"), REPORTS, &body) else { return };
                        assert_eq!(answer.status, 200);
                        acknowledged.lock().unwrap().push(body);
                    }
                });
            }
            // On a busy machine no answer may have come before any of the other kills.
            if round == 7 {
                wait_until("an acknowledgement", || !acknowledged.lock().unwrap().is_empty());
            }
            thread::sleep(Duration::from_millis(20 + 37 * round));
            drop(server);
        });
    }
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(!acknowledged.is_empty(), "the test is empty when the server never had the time to answer");
    let server = Running::start(config(data.path()), &[]);
    let before = server.records(&task());
    let sent = acknowledged.concat();
    assert_eq!(server.counts(&task(), &sent), (0, sent.len() as u64 / 35));
    server.shut_down();
    let stored = stored(data.path(), &task());
    assert_eq!(aggregate_of(&task(), &stored).records(), before);
    let mut ids: Vec<&[u8]> = stored.chunks(35).map(|report| &report[13..29]).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "a report is in the file twice");
    let verified = maintenance::verify(data.path(), &mut |_, _| {}).unwrap();
    assert!(verified.is_good() && verified.tasks[0].reports == before, "{verified:?}");
}

/// A limit on the size of files stands for the full disk: the system refuses the write in the middle.
#[cfg(unix)]
#[test]
fn a_full_disk_refuses_what_it_cannot_hold_and_keeps_the_rest() {
    let data = tempdir().unwrap();
    let server = process(&data, Some("ulimit -f 256; trap '' XFSZ"));
    let all = reports(&task(), 3, 12_000);
    let mut kept = Vec::new();
    let mut refused = None;
    for batch in all.chunks(400).map(bytes_of) {
        let answer = server.send(&task(), &batch);
        if answer.status != 200 {
            answer.refused(503, "store-unavailable", &["none of this request was counted", "again"]);
            assert_eq!(answer.header("retry-after"), "5");
            refused = Some(batch);
            break;
        }
        kept.extend(batch);
    }
    let refused = refused.expect("the limit was reached");
    assert!(!kept.is_empty());
    assert_eq!(server.records(&task()), kept.len() as u64 / 35);
    // A smaller one still fits, and reads go on.
    assert_eq!(server.counts(&task(), &refused[..35]).0, 1);
    kept.extend(&refused[..35]);
    assert_eq!(server.recovery(&task(), "rank=1").json()["records"], kept.len() / 35);
    drop(server);
    assert_eq!(stored(data.path(), &task()), kept);
    // With space again, the client's retry counts.
    let server = Running::start(config(data.path()), &[]);
    assert_eq!(server.counts(&task(), &refused), (399, 1));
}
