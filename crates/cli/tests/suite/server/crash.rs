//! The state after a crash, on a full disk, or with a changed file.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use ldp_pca_server::{Server, ServerError, StoreError, maintenance};
use tempfile::{TempDir, tempdir};

use super::harness::{
    REPORTS, Running, aggregate_of, bytes_of, config, get, path, post, reports, segment_path, stored, task, try_post,
    wait_until,
};

/// A folder with 20 reports, and their bytes. 12 of the reports came first.
fn filled() -> (TempDir, Vec<u8>) {
    let data = tempdir().unwrap();
    let body = bytes_of(&reports(&task(), 1, 20));
    let server = Running::start(config(data.path()), &[task()]);
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
    let report = reports(&task(), 2, 1)[0].to_bytes();
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
    let again = server.send(&task(), &body).json();
    assert_eq!((&again["accepted"], &again["duplicate"]), (&1.into(), &19.into()));
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
    let again = server.send(&task(), &body).json();
    assert_eq!((&again["accepted"], &again["duplicate"]), (&3.into(), &17.into()));
    server.shut_down();
    let server = Running::start(config(data.path()), &[]);
    assert_eq!(server.records(&task()), 20);
}

#[test]
fn files_of_another_hand_or_release_are_refused_and_left_alone() {
    let start = |data: &TempDir| match Running::try_start(config(data.path()), &[]) {
        Ok(_) => panic!("served a folder that is not its own"),
        Err(ServerError::Store(error)) => error,
        Err(error) => panic!("{error}"),
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
    println!("\nlistening on {}", server.local_addr());
    server.serve(std::future::pending()).await.unwrap();
}

/// A server in a process of its own, killed when dropped.
struct Process {
    child: Child,
    address: SocketAddr,
}

impl Process {
    /// Starts it, through the shell after `prelude` if there is one.
    fn start(data: &TempDir, prelude: Option<&str>) -> Self {
        let program = std::env::current_exe().unwrap();
        let mut command = match prelude {
            None => Command::new(program),
            Some(prelude) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", &format!("{prelude}; exec \"$0\" \"$@\"")]).arg(program);
                shell
            }
        };
        let mut child = command
            .args(["--exact", "server::crash::serves_until_killed", "--ignored", "--nocapture"])
            .env(DATA, data.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines
            .find_map(|line| line.unwrap().strip_prefix("listening on ").map(|address| address.parse().unwrap()))
            .expect("the server says where it listens");
        Self { child, address }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
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
        let process = Process::start(&data, None);
        let address = process.address;
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
            drop(process);
        });
    }
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(!acknowledged.is_empty(), "the test is empty when the server never had the time to answer");
    let server = Running::start(config(data.path()), &[]);
    let before = server.records(&task());
    let sent = acknowledged.concat();
    let again = server.send(&task(), &sent).json();
    assert_eq!((&again["accepted"], &again["duplicate"]), (&0.into(), &(sent.len() / 35).into()));
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
    let process = Process::start(&data, Some("ulimit -f 256; trap '' XFSZ"));
    let reports_path = path(&task(), "/reports");
    let all = reports(&task(), 3, 12_000);
    let mut kept = Vec::new();
    let mut refused = None;
    for batch in all.chunks(400) {
        let answer = post(process.address, &reports_path, REPORTS, &bytes_of(batch));
        if answer.status != 200 {
            let detail = ["none of this request was counted", "again"];
            answer.assert_problem(503, "store-unavailable", &detail);
            assert_eq!(answer.header("retry-after"), "5");
            refused = Some(bytes_of(batch));
            break;
        }
        kept.extend(bytes_of(batch));
    }
    let refused = refused.expect("the limit was reached");
    assert!(!kept.is_empty());
    let status = get(process.address, &path(&task(), "/status")).json();
    assert_eq!(status["records"], kept.len() / 35);
    // A smaller one still fits, and reads go on.
    assert_eq!(post(process.address, &reports_path, REPORTS, &refused[..35]).json()["accepted"], 1);
    kept.extend(&refused[..35]);
    assert_eq!(get(process.address, &path(&task(), "/recovery?rank=1")).json()["records"], kept.len() / 35);
    drop(process);
    assert_eq!(stored(data.path(), &task()), kept);
    // With space again, the client's retry counts.
    let server = Running::start(config(data.path()), &[]);
    let again = server.send(&task(), &refused).json();
    assert_eq!((&again["accepted"], &again["duplicate"]), (&399.into(), &1.into()));
}
