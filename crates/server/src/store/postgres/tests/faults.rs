//! Databases that crash, answers that are lost, sessions that stand still, backups that are restored.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixStream};

use super::*;
use crate::{Secret, Server, ServerConfig};

#[test]
fn a_database_that_crashes_under_load_costs_nothing_that_was_acknowledged() {
    let task = compact();
    let Some((cluster, aggregators)) = start::<2>(&task) else { return };
    let reports = reports(&task, 10, 15_000);
    for round in reports.chunks(5_000) {
        let answered = AtomicUsize::new(0);
        thread::scope(|scope| {
            for (index, part) in round.chunks(1_250).enumerate() {
                let (aggregator, task, answered) = (&aggregators[index % 2], &task, &answered);
                scope.spawn(move || {
                    for batch in part.chunks(5) {
                        // What is not answered is sent again, until it is.
                        let is_there = |committed: Committed| committed.accepted + committed.duplicate == 5;
                        eventually("it is answered", || aggregator.commit(task, batch).is_ok_and(is_there));
                        answered.fetch_add(1, SeqCst);
                    }
                });
            }
            eventually("reports are taken", || answered.load(SeqCst) > 10);
            cluster.stop("immediate");
            assert!(aggregators[0].store.check().is_err());
            cluster.up();
        });
    }
    assert_eq!(stored(&aggregators[0]).len(), reports.len());
    aggregators.iter().for_each(|aggregator| aggregator.expect(&task, &reports));
}

/// A command, or the answer that it was done.
fn has_commit(bytes: &[u8]) -> bool {
    bytes.windows(6).any(|word| word == b"COMMIT")
}

/// Passes connections on to a socket. Armed, it lets one COMMIT through, and its answer not.
async fn lossy_proxy(listener: TcpListener, socket: std::path::PathBuf, armed: Arc<AtomicBool>) {
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let (socket, armed) = (socket.clone(), Arc::clone(&armed));
        tokio::spawn(async move {
            let server = UnixStream::connect(socket).await.unwrap();
            let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
                (client.into_split(), server.into_split());
            let lost = Arc::new(AtomicBool::new(false));
            let is_lost = Arc::clone(&lost);
            let answers = tokio::spawn(async move {
                let mut buffer = vec![0; 1 << 16];
                while let Ok(count @ 1..) = from_server.read(&mut buffer).await {
                    let told = &buffer[..count];
                    if is_lost.load(SeqCst) {
                        if has_commit(told) {
                            return;
                        }
                    } else if to_client.write_all(told).await.is_err() {
                        return;
                    }
                }
            });
            let mut buffer = vec![0; 1 << 16];
            while let Ok(count @ 1..) = from_client.read(&mut buffer).await {
                let sent = &buffer[..count];
                if has_commit(sent) && armed.swap(false, SeqCst) {
                    lost.store(true, SeqCst);
                    to_server.write_all(sent).await.unwrap();
                    // Kept open until the database has done it: it closes a session whose client is gone.
                    answers.await.unwrap();
                    return;
                }
                if to_server.write_all(sent).await.is_err() {
                    return;
                }
            }
        });
    }
}

#[test]
fn a_commit_whose_answer_was_lost_counts_once() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let task = compact();
    let runtime = Runtime::new().unwrap();
    let armed = Arc::new(AtomicBool::new(false));
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(lossy_proxy(listener, cluster.socket(), Arc::clone(&armed)));
    let behind = format!("postgres:///postgres?user=me&host=127.0.0.1&port={}", address.port());
    // Its follower must not be the one whose COMMIT is lost: without snapshots it commits nothing.
    let aggregator = Aggregator::open(&behind, slice::from_ref(&task));
    let reports = reports(&task, 12, 30);
    assert_eq!(aggregator.commit(&task, &reports[..10]), committed(10, 0));
    armed.store(true, SeqCst);
    assert!(matches!(aggregator.commit(&task, &reports[10..20]), Err(CommitError::Unknown(_))));
    assert!(!armed.load(SeqCst));
    eventually("what was committed is counted", || aggregator.records(&task) == 20);
    assert_eq!(aggregator.commit(&task, &reports), committed(10, 20));
    assert_eq!(aggregator.aggregate(&task), sum(&task, &reports));
    // Nor does a change that may have been made claim that it was not.
    armed.store(true, SeqCst);
    let put = aggregator.store.put(task, TaskSettings::default());
    assert!(put.is_err_and(|error| error.is_in_doubt()));
}

#[test]
fn a_session_that_stands_still_is_given_up() {
    let task = compact();
    let Some((cluster, [watcher])) = start(&task) else { return };
    // It polls seldom: a session that is stopped in the middle of a query may hold what others wait for. It has the
    // patience for its start on a busy machine.
    let options = PostgresOptions { patience: Duration::from_secs(5), ..PostgresOptions::default() };
    let aggregator = Aggregator::open_with(&cluster.address(), &[], options).unwrap();
    // The follower's, which is the newest.
    let newest = "SELECT pid FROM pg_stat_activity WHERE query LIKE '%pg_snapshot_xmin%' AND pid <> pg_backend_pid()
        ORDER BY backend_start DESC LIMIT 1";
    let follower = || watcher.query(&format!("SELECT coalesce(({newest}), 0)"));
    eventually("it has asked what is new", || follower() != "0");
    let session = follower();
    let signal = |name: &str| assert!(Command::new("kill").args([name, &session[..]]).status().unwrap().success());
    signal("-STOP");
    watcher.commit(&task, &reports(&task, 15, 10)).unwrap();
    eventually("it follows over another session", || aggregator.records(&task) == 10);
    signal("-CONT");
}

#[test]
fn an_aggregator_notices_that_it_is_at_another_copy_of_the_database() {
    let task = compact();
    let Some((cluster, [aggregator])) = start(&task) else { return };
    let reports = reports(&task, 13, 60);
    aggregator.commit(&task, &reports[..20]).unwrap();
    // Transaction ids here are well beyond those of a new cluster.
    (0..500).for_each(|_| aggregator.execute("SELECT pg_current_xact_id()"));
    aggregator.commit(&task, &reports[20..40]).unwrap();
    let dump = cluster.dump();
    aggregator.store.close();
    drop(cluster);

    let Some(restored) = Cluster::start_with(&[], Cluster::make) else { return };
    restored.restore(&dump);
    let aggregators: Vec<Aggregator> = (0..2).map(|_| Aggregator::open(&restored.address(), &[])).collect();
    assert_eq!(aggregators[0].aggregate(&task), sum(&task, &reports[..40]));
    assert_eq!(aggregators[1].commit(&task, &reports), committed(20, 40));
    aggregators.iter().for_each(|aggregator| aggregator.expect(&task, &reports));

    // An older copy takes its place while the aggregators run.
    restored.restore(&[b"DROP SCHEMA ldp_pca CASCADE;\n", &dump[..]].concat());
    for aggregator in &aggregators {
        eventually("it goes back to what the copy has", || {
            aggregator.store.task(task.digest()).is_some_and(|reports| reports.counts().records == 40)
        });
        assert_eq!(aggregator.aggregate(&task), sum(&task, &reports[..40]));
    }
}

#[test]
fn a_server_forgets_what_it_computed_of_what_another_erased_or_deleted() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let (task, data) = (compact(), tempfile::tempdir().unwrap());
    let config = ServerConfig {
        store: Some(Secret::new(cluster.address())),
        listen: ([127, 0, 0, 1], 0).into(),
        minimum_batch: 1,
        open_recovery: true,
        issued_ids: false,
        ..ServerConfig::new(data.path())
    };
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(Server::bind(config, vec![task.clone()])).unwrap();
    let url = format!("http://{}/tasks/{}", server.local_addr(), task.digest());
    runtime.spawn(server.serve(std::future::pending()));
    let records = |path: &str| -> Option<u64> {
        let text = ureq::get(format!("{url}/{path}")).call().ok()?.body_mut().read_to_string().unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["records"].as_u64()
    };
    let reports = reports(&task, 14, 20);
    let request = ureq::post(format!("{url}/reports")).header("content-type", "application/octet-stream");
    request.send(&batch(&reports).bytes[..]).unwrap();
    assert_eq!(records("recovery?rank=1"), Some(20));

    let other = Aggregator::open(&cluster.address(), &[]);
    other.store.erase_reports(task.digest(), &[reports[0].id()]).unwrap();
    eventually("the server hears of it", || records("status") == Some(19));
    assert_eq!(records("recovery?rank=1"), Some(19));
    assert!(other.store.delete(task.digest(), Erase::AfterGrace).unwrap());
    other.store.put(task.clone(), TaskSettings::default()).unwrap();
    other.commit(&task, &reports[..5]).unwrap();
    eventually("the server hears of it", || records("status") == Some(5));
    assert_eq!(records("recovery?rank=1"), Some(5));
}
