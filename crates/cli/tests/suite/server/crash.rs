//! The state after a crash, on a disk that fails, or with a changed file.

use std::fs::OpenOptions;
use std::io::Write;

use rand::Rng;

use super::harness::*;

/// A folder of a server that was killed with 20 reports, of which 12 came first, and their bytes: they are in the log
/// of the database.
fn killed() -> (TempDir, Vec<u8>) {
    let (data, body) = (tempdir().unwrap(), body_of(1, 20));
    let server = process(&data, None);
    for part in [&body[..12 * 35], &body[12 * 35..]] {
        assert_eq!(server.send(&task(), part).status, 200);
    }
    drop(server);
    (data, body)
}

fn log_path(data: &TempDir) -> PathBuf {
    database(data.path(), &task()).with_file_name("reports.sqlite-wal")
}

#[test]
fn what_comes_behind_the_last_change_was_never_acknowledged() {
    let report = body_of(2, 1);
    let (data, _) = killed();
    let log = fs::read(log_path(&data)).unwrap();
    for tail in [&log[..], &log[32..], &log[32..100], &[0; 35], &[7; 10_000]] {
        let (data, body) = killed();
        OpenOptions::new().append(true).open(log_path(&data)).unwrap().write_all(tail).unwrap();
        let server = Running::start(config(data.path()), &[]);
        assert_eq!((server.records(&task()), server.status(&task()).get("lost_reports")), (20, None));
        assert_eq!(server.counts(&task(), &report), (1, 0));
        assert_eq!(stored(data.path(), &task()), [body, report.clone()].concat());
    }
}

/// The last change of the two is lost.
#[test]
fn reports_that_the_log_lost_are_told_of_and_can_be_sent_again() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for cut in [true, false] {
        let (data, body) = killed();
        let mut log = fs::read(log_path(&data)).unwrap();
        let place = log.windows(35).rposition(|window| window == &body[19 * 35..]).unwrap();
        if cut {
            log.truncate(log.len() - 10);
        } else {
            log[place + 20] ^= 1;
        }
        fs::write(log_path(&data), &log).unwrap();
        let verified = maintenance::verify(data.path(), &mut |_, _| {}).unwrap();
        assert!(!verified.is_good(), "it was acknowledged: {verified:?}");
        for _ in 0..2 {
            let server = runtime.block_on(Server::bind(config(data.path()), vec![])).unwrap();
            let summary = server.tasks()[0];
            assert_eq!((summary.records, summary.damaged_reports), (12, 8), "it stays so until somebody knows of it");
        }
        assert_eq!(fs::read(log_path(&data).with_file_name("reports.sqlite-wal.0.damaged")).unwrap(), log);
        let server = Running::start(config(data.path()), &[]);
        assert_eq!(server.counts(&task(), &body), (8, 12));
        assert_eq!(stored(data.path(), &task()), body);
    }
}

#[test]
fn files_of_another_hand_or_release_are_refused_and_left_alone() {
    let (data, server) = serving(config, &[task()]);
    assert_eq!(server.counts(&task(), &body_of(1, 20)), (20, 0));
    server.shut_down();
    let path = database(data.path(), &task());
    let good = fs::read(&path).unwrap();
    // SQLite keeps the version of the tables here.
    let newer = [&good[..63], &[2], &good[64..]].concat();
    for (bytes, told) in [(&newer[..], "version 2 instead of 1"), (&[7; 4096], "no database")] {
        fs::write(&path, bytes).unwrap();
        let error = refusal(config(data.path()), &[]);
        assert!(matches!(error, ServerError::Store(StoreError::Database { .. })), "{error}");
        assert!(error.to_string().contains(told) && error.to_string().contains("reports.sqlite"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    fs::write(&path, good).unwrap();
    let (folder, other) = (path.parent().unwrap(), data.path().join("tasks").join(other_task().digest().to_string()));
    fs::rename(folder, &other).unwrap();
    let error = refusal(config(data.path()), &[]).to_string();
    assert!(error.contains(&format!("it is of task {}", task().digest())), "{error}");
    fs::rename(&other, folder).unwrap();
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

/// A limit on the size of files stands for a disk that takes no more: the system refuses the write in the middle.
#[cfg(unix)]
#[test]
fn what_a_disk_does_not_take_is_refused_and_what_was_acknowledged_stays() {
    let data = tempdir().unwrap();
    let server = process(&data, Some("ulimit -f 512; trap '' XFSZ"));
    let mut kept = Vec::new();
    let mut refused = None;
    for batch in reports(&task(), 3, 24_000).chunks(400).map(bytes_of) {
        let answer = server.send(&task(), &batch);
        if answer.status != 200 {
            answer.refused(503, "store-unavailable", &["again"]);
            assert!(!String::from_utf8_lossy(&answer.body).contains("reports.sqlite"), "a path of the server");
            refused = Some(batch);
            break;
        }
        kept.extend(batch);
    }
    let refused = refused.expect("the limit was reached");
    assert!(!kept.is_empty());
    assert_eq!(server.counts(&task(), &kept[..350]), (0, 10), "it goes on");
    drop(server);
    // The next one serves what the disk has, and the client's retry counts.
    let server = Running::start(config(data.path()), &[]);
    assert_eq!(server.records(&task()), kept.len() as u64 / 35);
    assert_eq!(server.counts(&task(), &refused), (400, 0));
    assert_eq!(stored(data.path(), &task()), [kept, refused].concat());
}

/// A copy of a folder and of those in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy(&from, &to),
            false => drop(fs::copy(from, to).unwrap()),
        }
    }
}

/// Kills commands of `store` at moments that a fixed seed draws. Whatever they left, a server starts, and the command
/// can be run again: then everything is there, once.
#[test]
fn a_command_that_is_killed_can_be_run_again() {
    let folder = Folder::new();
    let all = body_of(5, 20_000);
    let (damaged, left) = (&all[35 * 100..35 * 101], [&all[..35 * 100], &all[35 * 101..]].concat());
    for (name, body) in [("first", &all[..35 * 12_000]), ("second", &all[35 * 8_000..]), ("whole", &all[..])] {
        fill(&folder, name, body);
    }
    for name in ["deleted", "damaged"] {
        copy(&folder.path("whole"), &folder.path(name));
    }
    let server = Running::start(config(&folder.path("deleted")), &[]);
    assert_eq!(server.delete(&task(), "").status, 200);
    server.shut_down();
    flip(&database(&folder.path("damaged"), &task()), damaged);
    let restore = format!("store restore data {}", task().digest());
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    for (line, template, result, expected) in [
        (&*restore, Some("deleted"), "data", &all),
        ("store repair data", Some("damaged"), "data", &left),
        ("store merge first second --into both", None, "both", &all),
        ("store backup whole --to copy", None, "copy", &all),
    ] {
        let (result, mut span) = (folder.path(result), Duration::ZERO);
        for round in 0..=kills() {
            for name in ["data", "both", "copy"] {
                let _ = fs::remove_dir_all(folder.path(name));
            }
            if let Some(template) = template {
                copy(&folder.path(template), &folder.path("data"));
            }
            let start = Instant::now();
            let mut command = folder.command(line.split(' '));
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            if round == 0 {
                // The time that it takes.
                assert!(child.wait().unwrap().success(), "{line}");
                span = start.elapsed();
            } else {
                thread::sleep(span * (rng.next_u32() % 1000) / 1000);
                child.kill().unwrap();
                child.wait().unwrap();
            }
            // A damaged folder is refused until it is repaired.
            if result.exists() && !line.contains("repair") {
                Running::start(config(&result), &[]).shut_down();
            }
            // Refused where the first one had done it.
            folder.run(line);
            let verified = maintenance::verify(&result, &mut |_, _| {}).unwrap();
            assert_eq!(verified.is_good(), !line.contains("repair"), "{line}, round {round}: {verified:?}");
            let found = aggregate_of(&task(), &stored(&result, &task()));
            assert!(found == aggregate_of(&task(), expected), "{line}, round {round}: {} reports", found.records());
            let server = Running::start(config(&result), &[]);
            assert_eq!(server.records(&task()), found.records(), "{line}, round {round}");
            server.shut_down();
        }
    }
}
