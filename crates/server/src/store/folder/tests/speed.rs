//! Speed of the store alone, on the disk of the temporary folder. Not a test: a measurement, run by hand.
//!
//! `cargo test --profile bench -p ldp-pca-server --lib store::folder::tests::speed -- --ignored --nocapture`

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chacha20::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use tempfile::tempdir;

use super::super::{FolderOptions, FolderStore};
use crate::store::tests::batch;
use crate::store::{Batch, ReportStore};
use ldp_pca::mechanism::{Calibration, LocalRandomizer, MechanismSpec};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::Bounding;
use ldp_pca::report::{Report, ReportId, report_bytes};
use ldp_pca::schema::Schema;
use ldp_pca::task::{Folds, Task};

const DIMENSION: usize = 400;

fn task(mechanism: MechanismSpec) -> Task {
    let schema = Schema::numeric(DIMENSION).unwrap();
    Task::new(schema, Bounding::UnitNorm, mechanism, Folds::new(1).unwrap()).unwrap()
}

fn compact() -> Task {
    task(MechanismSpec::DoubleCap { epsilon: Epsilon::new(2.0).unwrap(), candidates: 64, cap: 8 })
}

fn dense() -> Task {
    let (epsilon, delta) = (Epsilon::new(2.0).unwrap(), Delta::new(1e-6).unwrap());
    task(MechanismSpec::Gaussian { epsilon, delta, calibration: Calibration::Analytic })
}

/// Reports with distinct ids and equal payloads, which take as long to store and to sum.
fn reports(task: &Task, seed: u64, count: usize) -> Vec<Report> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let payload = vec![0; task.mechanism().payload_bytes()];
    let mut id = [0; 16];
    (0..count)
        .map(|_| {
            rng.fill_bytes(&mut id);
            Report::from_parts(task.digest(), ReportId::new(id), payload.clone())
        })
        .collect()
}

/// Seconds of all threads of this process.
fn processor_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

fn resident_megabytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

/// Commits batches, this many at a time, and returns the time of each.
fn run(label: &str, root: &Path, task: &Task, batches: Vec<Batch>, together: usize) {
    let store = FolderStore::open(root, std::slice::from_ref(task), FolderOptions::default()).unwrap();
    let place = store.task(task.digest()).unwrap();
    let count: usize = batches.iter().map(|batch| batch.reports.len()).sum();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let (started, busy) = (Instant::now(), processor_seconds());
    let mut latencies: Vec<Duration> = runtime.block_on(async {
        let (sender, receiver) = std::sync::mpsc::channel();
        let mut shares: Vec<Vec<Batch>> = (0..together).map(|_| Vec::new()).collect();
        for (index, batch) in batches.into_iter().enumerate() {
            shares[index % together].push(batch);
        }
        let clients = shares.into_iter().map(|share| {
            let (place, sender) = (Arc::clone(&place), sender.clone());
            tokio::spawn(async move {
                for batch in share {
                    let started = Instant::now();
                    place.commit(batch).await.unwrap();
                    sender.send(started.elapsed()).unwrap();
                }
            })
        });
        for client in clients.collect::<Vec<_>>() {
            client.await.unwrap();
        }
        drop(sender);
        receiver.into_iter().collect()
    });
    let seconds = started.elapsed().as_secs_f64();
    let stored = processor_seconds() - busy;
    assert_eq!(place.aggregate().unwrap().records(), place.counts().records);
    let summed = started.elapsed().as_secs_f64();
    latencies.sort();
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "{label}: {:.0} reports/s, {:.0} MB/s, p50 {:.1} ms, p99 {:.1} ms, most {:.1} ms, {:.1} us of processor per \
            report; {:.2} s, summed after {summed:.2} s",
        count as f64 / seconds,
        (count * report_bytes(task)) as f64 / seconds / 1e6,
        at(0.5),
        at(0.99),
        at(1.0),
        stored / count as f64 * 1e6,
        seconds,
    );
    store.close();
}

fn split(task: &Task, seed: u64, batches: usize, each: usize) -> Vec<Batch> {
    reports(task, seed, batches * each).chunks(each).map(batch).collect()
}

#[test]
#[ignore = "a measurement"]
fn dense_reports() {
    let (root, task) = (tempdir().unwrap(), dense());
    for seed in 0..3 {
        run("dense, one per batch, 64 at a time", root.path(), &task, split(&task, seed, 6_000, 1), 64);
    }
}

#[test]
#[ignore = "a measurement"]
fn compact_reports() {
    let (root, task) = (tempdir().unwrap(), compact());
    for (seed, together) in [(1, 64), (2, 512), (3, 2048)] {
        let label = format!("compact, one per batch, {together} at a time");
        run(&label, root.path(), &task, split(&task, seed, 200_000, 1), together);
    }
    run("compact, 1,000 per batch, 32 at a time", root.path(), &task, split(&task, 4, 1_000, 1_000), 32);
}

/// The variable that names the folder to the process below.
const FOLDER: &str = "LDP_PCA_SPEED_FOLDER";

#[test]
#[ignore = "a measurement"]
fn restarts() {
    for (task, count) in [(compact(), 10_000_000), (compact(), 1_000_000), (dense(), 20_000)] {
        let root = tempdir().unwrap();
        for seed in 0..20 {
            run("filling", root.path(), &task, split(&task, seed, 20, count / 400), 4);
        }
        // A process of its own has nothing else in memory.
        let mut process = Command::new(std::env::current_exe().unwrap());
        let name = "store::folder::tests::speed::one_restart";
        let output =
            process.args(["--exact", name, "--ignored", "--nocapture"]).env(FOLDER, root.path()).output().unwrap();
        println!("{count} reports of {} bytes: {}", report_bytes(&task), String::from_utf8_lossy(&output.stdout));
    }
}

/// Not a measurement by itself: the process that the one above starts.
#[test]
#[ignore = "a part of another measurement, which starts it as a process of its own"]
fn one_restart() {
    let root = std::env::var_os(FOLDER).expect("the measurement that starts this names a folder");
    let started = Instant::now();
    let store = FolderStore::open(root.as_ref(), &[], FolderOptions::default()).unwrap();
    let seconds = started.elapsed().as_secs_f64();
    let records = store.tasks()[0].counts().records;
    println!("{records} reports open after {seconds:.2} s, {:.0} MB in memory", resident_megabytes());
}
