//! Aggregators that are killed, databases that crash, answers that are lost, backups that are restored.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixStream};

use super::*;
use crate::{Secret, Server, ServerConfig};

/// Sends batches from several threads during `meanwhile`, which gets the number of those that were answered. What is
/// not acknowledged is sent again, and all of them when they are at their end. Returns what was acknowledged.
fn load<'a>(
    aggregators: &[Aggregator],
    task: &Task,
    reports: &'a [Report],
    meanwhile: impl FnOnce(&AtomicUsize),
) -> Vec<&'a Report> {
    /// Stops the others when `meanwhile` fails, too.
    struct Stop<'a>(&'a AtomicBool);

    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, SeqCst);
        }
    }

    let (acknowledged, answered, stop) = (Mutex::new(Vec::new()), AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for (index, part) in reports.chunks(reports.len() / 4).enumerate() {
            let aggregator = &aggregators[index % aggregators.len()];
            let (acknowledged, answered, stop) = (&acknowledged, &answered, &stop);
            scope.spawn(move || {
                let mut batches = part.chunks(5).cycle();
                let mut batch = batches.next().unwrap();
                let mut left = part.len();
                while !stop.load(SeqCst) {
                    if let Ok(committed) = aggregator.commit(task, batch) {
                        assert_eq!(committed.accepted + committed.duplicate, 5);
                        answered.fetch_add(1, SeqCst);
                        if left > 0 {
                            acknowledged.lock().unwrap().extend(batch);
                            left -= batch.len();
                        }
                        batch = batches.next().unwrap();
                    } else {
                        thread::sleep(Duration::from_millis(5));
                    }
                }
            });
        }
        let _stop = Stop(&stop);
        meanwhile(&answered);
    });
    acknowledged.into_inner().unwrap()
}

#[test]
fn a_database_that_crashes_under_load_costs_nothing_that_was_acknowledged() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let task = small_task();
    let aggregators: Vec<Aggregator> =
        (0..2).map(|_| Aggregator::open(&cluster.address(), slice::from_ref(&task))).collect();
    let reports = reports(&task, 10, 40_000);
    let acknowledged = load(&aggregators, &task, &reports, |answered| {
        for _ in 0..3 {
            let before = answered.load(SeqCst);
            eventually("reports are taken", || answered.load(SeqCst) > before);
            cluster.crash();
            assert!(aggregators[0].store.check().is_err());
            cluster.up();
            eventually("it recovers by itself", || aggregators.iter().all(|one| one.store.check().is_ok()));
        }
    });
    let stored = stored(&aggregators[0]);
    assert!(!acknowledged.is_empty());
    assert!(acknowledged.iter().all(|report| stored.contains(&report.id().to_string())));
    // Some may be there without an acknowledgement; they count as well.
    let there = reports.iter().filter(|report| stored.contains(&report.id().to_string()));
    let expected = sum_of(&task, there);
    assert_eq!(expected.records(), stored.len() as u64);
    for aggregator in &aggregators {
        eventually("all are counted", || aggregator.records(&task) >= expected.records());
        assert_eq!(aggregator.aggregate(&task), expected);
    }
}

/// The variables that give the process below the place of its data.
const ADDRESS: &str = "LDP_PCA_TEST_DATABASE";
const DATA: &str = "LDP_PCA_TEST_DATA";

/// Not a test: the server process that the test below starts and kills.
#[tokio::test]
#[ignore = "a part of another test, which starts it as a process of its own"]
async fn serves_until_killed() {
    let address = std::env::var(ADDRESS).expect("the test that starts this names a database");
    let config = ServerConfig {
        store: Some(Secret::new(address)),
        listen: ([127, 0, 0, 1], 0).into(),
        issued_ids: false,
        ..ServerConfig::new(std::env::var_os(DATA).expect("the test that starts this names a folder"))
    };
    let server = Server::bind(config, vec![small_task()]).await.unwrap();
    println!("\nlistening on {}", server.local_addr());
    server.serve(std::future::pending()).await.unwrap();
}

/// An aggregator in a process of its own, killed when dropped.
struct Process {
    child: Child,
    url: String,
}

impl Process {
    fn start(cluster: &Cluster, data: &std::path::Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::postgres::tests::faults::serves_until_killed", "--ignored", "--nocapture"])
            .env(ADDRESS, cluster.address())
            .env(DATA, data)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.find_map(|line| line.unwrap().strip_prefix("listening on ").map(str::to_owned));
        let address = address.expect("the server says where it listens");
        Self { child, url: format!("http://{address}/tasks/{}/reports", small_task().digest()) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Whether the reports were acknowledged.
fn post(url: &str, reports: &[Report]) -> bool {
    let body: Vec<u8> = reports.iter().flat_map(Report::to_bytes).collect();
    let agent: ureq::Agent =
        ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(120))).build().into();
    agent.post(url).header("content-type", "application/octet-stream").send(&body[..]).is_ok()
}

#[test]
fn a_killed_aggregator_loses_nothing_that_it_acknowledged() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let task = small_task();
    let watcher = Aggregator::open(&cluster.address(), slice::from_ref(&task));
    let reports = reports(&task, 11, 12_000);
    let acknowledged = Mutex::new(Vec::new());
    for (round, part) in reports.chunks(2_000).enumerate() {
        let data = tempfile::tempdir().unwrap();
        let process = Process::start(&cluster, data.path());
        let url = process.url.clone();
        thread::scope(|scope| {
            for part in part.chunks(500) {
                let (url, acknowledged) = (&url, &acknowledged);
                scope.spawn(move || {
                    // Until it is killed.
                    for batch in part.chunks(2).take_while(|batch| post(url, batch)) {
                        acknowledged.lock().unwrap().extend(batch);
                    }
                });
            }
            // On a busy machine no answer may have come before any of the other kills.
            if round == 5 {
                eventually("some are acknowledged", || !acknowledged.lock().unwrap().is_empty());
            }
            thread::sleep(Duration::from_millis(40 + 60 * round as u64));
            drop(process);
        });
    }
    let acknowledged = acknowledged.into_inner().unwrap();
    let stored = stored(&watcher);
    assert!(!acknowledged.is_empty());
    assert!(acknowledged.iter().all(|report| stored.contains(&report.id().to_string())));
    let expected = sum_of(&task, reports.iter().filter(|report| stored.contains(&report.id().to_string())));
    eventually("all are counted", || watcher.records(&task) >= expected.records());
    assert_eq!(watcher.aggregate(&task), expected);
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
    let task = small_task();
    let runtime = Runtime::new().unwrap();
    let armed = Arc::new(AtomicBool::new(false));
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(lossy_proxy(listener, cluster.socket(), Arc::clone(&armed)));
    let behind = cluster.address_at(&format!("127.0.0.1&port={}", address.port()));
    // Its follower must not be the one whose COMMIT is lost: without snapshots it commits nothing.
    let aggregator = Aggregator::open(&behind, slice::from_ref(&task));
    let reports = reports(&task, 12, 30);
    assert_eq!(aggregator.commit(&task, &reports[..10]), ACCEPTED_ALL(10));
    armed.store(true, SeqCst);
    assert!(matches!(aggregator.commit(&task, &reports[10..20]), Err(CommitError::Unknown(_))));
    assert!(!armed.load(SeqCst));
    eventually("what was committed is counted", || aggregator.records(&task) == 20);
    assert_eq!(aggregator.commit(&task, &reports), Ok(Committed { accepted: 10, duplicate: 20, conflicting: 0 }));
    assert_eq!(aggregator.aggregate(&task), sum_of(&task, &reports));
}

#[test]
fn an_aggregator_notices_that_it_is_at_another_copy_of_the_database() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let task = small_task();
    let aggregator = Aggregator::open(&cluster.address(), slice::from_ref(&task));
    let reports = reports(&task, 13, 60);
    aggregator.commit(&task, &reports[..20]).unwrap();
    // Transaction ids here are well beyond those of a new cluster.
    (0..500).for_each(|_| aggregator.execute("SELECT pg_current_xact_id()"));
    aggregator.commit(&task, &reports[20..40]).unwrap();
    let dump = cluster.dump();
    aggregator.close();
    drop(cluster);

    let Some(restored) = Cluster::another(&[]) else { return };
    restored.restore(&dump);
    let aggregators: Vec<Aggregator> = (0..2).map(|_| Aggregator::open(&restored.address(), &[])).collect();
    assert_eq!(aggregators[0].aggregate(&task), sum_of(&task, &reports[..40]));
    assert_eq!(aggregators[1].commit(&task, &reports), Ok(Committed { accepted: 20, duplicate: 40, conflicting: 0 }));
    for aggregator in &aggregators {
        eventually("all are counted", || aggregator.records(&task) >= 60);
        assert_eq!(aggregator.aggregate(&task), sum_of(&task, &reports));
    }

    // An older copy takes its place while the aggregators run.
    restored.restore(&[b"DROP SCHEMA ldp_pca CASCADE;\n", &dump[..]].concat());
    for aggregator in &aggregators {
        eventually("it goes back to what the copy has", || {
            aggregator.store.task(task.digest()).is_some_and(|reports| reports.counts().records == 40)
        });
        assert_eq!(aggregator.aggregate(&task), sum_of(&task, &reports[..40]));
    }
}

#[test]
fn a_server_forgets_what_it_computed_of_a_task_that_another_deleted() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let (task, data) = (small_task(), tempfile::tempdir().unwrap());
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
    assert!(post(&format!("{url}/reports"), &reports));
    assert_eq!(records("recovery?rank=1"), Some(20));

    let other = Aggregator::open(&cluster.address(), &[]);
    assert!(other.store.delete(task.digest(), Erase::AfterGrace).unwrap());
    other.store.put(task.clone(), TaskSettings::default()).unwrap();
    other.commit(&task, &reports[..5]).unwrap();
    eventually("the server hears of it", || records("status") == Some(5));
    assert_eq!(records("recovery?rank=1"), Some(5));
}
