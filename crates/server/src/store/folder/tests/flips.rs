//! One flipped bit, or a cut, anywhere in a folder: the start reports it or refuses, or everything is as it was.
//!
//! `cargo test -p ldp-pca-server --lib ten_thousand_flips -- --ignored --nocapture` prints the table.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rusqlite::Connection;
use tempfile::{TempDir, tempdir, tempdir_in};

use super::super::maintenance::{repair, verify};
use super::super::{FolderOptions, FolderStore};
use super::model::{batch, reports, sum};
use crate::store::{Erase, ReportStore, TaskSettings};
use ldp_pca::mechanism::{Calibration, MechanismSpec};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::Bounding;
use ldp_pca::report::{Report, ReportId};
use ldp_pca::schema::Schema;
use ldp_pca::task::{Folds, Task};

/// The state in which a server left a folder.
#[derive(Clone, Copy, Debug)]
enum Left {
    Stopped,
    Killed,
    /// The database has what its log has.
    KilledAfterCheckpoint,
}

/// A folder in memory, and what it holds.
struct Whole {
    files: BTreeMap<PathBuf, Vec<u8>>,
    tasks: Vec<(Task, TaskSettings, Vec<Report>)>,
    /// Reports of the third task that were erased.
    erased: Vec<Report>,
}

/// In memory where the system can: nothing here has to be durable.
fn folder() -> TempDir {
    tempdir_in("/dev/shm").or_else(|_| tempdir()).unwrap()
}

fn options() -> FolderOptions {
    // Small, for each try copies it.
    FolderOptions { segment_reports: 20, reserve_bytes: 4096, ..FolderOptions::default() }
}

fn tasks() -> Vec<Task> {
    let compact = MechanismSpec::DoubleCap { epsilon: Epsilon::new(2.0).unwrap(), candidates: 16, cap: 2 };
    let (epsilon, delta) = (Epsilon::new(2.0).unwrap(), Delta::new(1e-6).unwrap());
    let dense = MechanismSpec::Gaussian { epsilon, delta, calibration: Calibration::Analytic };
    let task = |dimension, mechanism: &MechanismSpec| {
        let schema = Schema::numeric(dimension).unwrap();
        Task::new(schema, Bounding::UnitNorm, *mechanism, Folds::new(2).unwrap()).unwrap()
    };
    vec![task(6, &compact), task(5, &dense), task(4, &compact), task(3, &compact), task(2, &compact)]
}

fn commit(store: &FolderStore, task: &Task, reports: &[Report]) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(store.task(task.digest()).unwrap().commit(batch(reports))).unwrap().accepted
}

impl Whole {
    /// A folder with sealed segments and written ones, several settings, erased reports, and a deleted task.
    fn new(left: Left) -> Self {
        let root = folder();
        let mut rng = ChaCha8Rng::seed_from_u64(31);
        let mut all = tasks();
        let (empty, gone) = (all.pop().unwrap(), all.pop().unwrap());
        let settings = [
            TaskSettings { minimum_batch: Some(7), max_records: Some(1000), ..TaskSettings::default() },
            TaskSettings { retention: Some(86_400), expires: Some(4_000_000_000), ..TaskSettings::default() },
            TaskSettings { issued_ids: Some(true), ..TaskSettings::default() },
        ];
        let counts = [50, 30, 5];
        let mut tasks: Vec<_> = all
            .into_iter()
            .zip(settings)
            .zip(counts)
            .map(|((task, settings), count)| (task.clone(), settings, reports(&task, &mut rng, count)))
            .collect();
        let store = FolderStore::open(root.path(), &[], options()).unwrap();
        store.put(gone.clone(), TaskSettings::default()).unwrap();
        commit(&store, &gone, &reports(&gone, &mut rng, 22));
        for (task, _, reports) in &tasks {
            store.put(task.clone(), TaskSettings::default()).unwrap();
            reports.chunks(7).for_each(|reports| _ = commit(&store, task, reports));
        }
        store.delete(gone.digest(), Erase::Now).unwrap();
        drop(store);
        let store = FolderStore::open(root.path(), &[], options()).unwrap();
        for (task, settings, known) in &mut tasks {
            store.put(task.clone(), settings.clone()).unwrap();
            let more = reports(task, &mut rng, 13);
            more.chunks(5).for_each(|reports| _ = commit(&store, task, reports));
            known.extend(more);
        }
        store.put(empty.clone(), TaskSettings::default()).unwrap();
        tasks.push((empty, TaskSettings::default(), Vec::new()));
        // 50 + 13 and 30 + 13 reports: the third and the second segment are full.
        let sealed = |task: &Task, count| store.manifest.segments(task.digest()).unwrap().len() == count;
        while !sealed(&tasks[0].0, 3) || !sealed(&tasks[1].0, 2) {
            thread::sleep(Duration::from_millis(1));
        }
        let (task, _, known) = &mut tasks[2];
        let erased: Vec<Report> = known.drain(3..6).collect();
        let ids: Vec<ReportId> = erased.iter().map(Report::id).collect();
        assert_eq!(store.erase_reports(task.digest(), &ids).unwrap().unwrap().erased, 3);
        let more = reports(task, &mut rng, 4);
        commit(&store, task, &more);
        known.extend(more);
        match left {
            Left::Stopped => drop(store),
            Left::Killed => std::mem::forget(store),
            Left::KilledAfterCheckpoint => {
                let connection = Connection::open(root.path().join("store.sqlite")).unwrap();
                connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).unwrap();
                std::mem::forget((store, connection));
            }
        }
        let mut files = BTreeMap::new();
        collect(root.path(), Path::new(""), &mut files);
        Self { files, tasks, erased }
    }

    fn write(&self, root: &Path) {
        for (name, content) in &self.files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

    /// Whether a store has what this has, no more and no less.
    fn is_in(&self, store: &FolderStore) -> bool {
        store.tasks().len() == self.tasks.len()
            && self.tasks.iter().all(|(task, settings, reports)| {
                store.task(task.digest()).is_some_and(|found| {
                    *found.settings() == *settings
                        && found.counts().records == reports.len() as u64
                        && found.aggregate().unwrap() == sum(task, reports)
                        && (reports.is_empty() || commit(store, task, reports) == 0)
                })
            })
            && commit(store, &self.tasks[2].0, &self.erased) == 0
    }

    /// The outcome for a folder in which one file was changed or removed.
    fn with(&self, name: &Path, content: Option<&[u8]>) -> Outcome {
        let roots = [folder(), folder(), folder()];
        for root in &roots {
            self.write(root.path());
            match content {
                Some(content) => fs::write(root.path().join(name), content).unwrap(),
                None => fs::remove_file(root.path().join(name)).unwrap(),
            }
        }
        let verify_tells = verify(roots[0].path(), &mut |_, _| {}).map_or(true, |verified| !verified.is_good());
        let start = match FolderStore::open(roots[1].path(), &[], options()) {
            Err(_) => Start::Refused,
            Ok(store) if is_told(&store) => Start::Told,
            Ok(store) if self.is_in(&store) => Start::Exact,
            Ok(_) => Start::Wrong,
        };
        let repair = if start == Start::Exact && !verify_tells { Repair::Exact } else { self.repair(roots[2].path()) };
        Outcome { verify_tells, start, repair }
    }

    /// The result of `repair` on a folder.
    fn repair(&self, root: &Path) -> Repair {
        let Ok(repaired) = repair(root, &mut |_, _| {}) else { return Repair::Refused };
        if !repaired.problems.is_empty() {
            return Repair::Refused;
        }
        let store = FolderStore::open(root, &[], options());
        match store.ok().filter(|store| !is_told(store)) {
            Some(_) if !repaired.lost.is_empty() => Repair::Lost,
            Some(store) if self.is_in(&store) => Repair::Exact,
            _ => Repair::Wrong,
        }
    }
}

/// Whether the start reported damage.
fn is_told(store: &FolderStore) -> bool {
    store.manifest.doubt.is_some() || store.tasks().iter().any(|task| !task.damage().places.is_empty())
}

fn collect(root: &Path, below: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(root.join(below)).unwrap() {
        let entry = entry.unwrap();
        let name = below.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            collect(root, &name, files);
        } else {
            files.insert(name.clone(), fs::read(root.join(name)).unwrap());
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    Refused,
    Told,
    Exact,
    Wrong,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repair {
    /// With the remedy.
    Refused,
    /// It says what is lost.
    Lost,
    Exact,
    Wrong,
}

struct Outcome {
    verify_tells: bool,
    start: Start,
    repair: Repair,
}

/// The outcomes of the flips in one kind of file.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    tried: u64,
    harmless: u64,
    verify_tells: u64,
    refused: u64,
    told: u64,
    /// The start silently continued with something else.
    wrong: u64,
    /// And `verify` reported nothing either.
    silent: u64,
    /// Harmful flips after which a repair restored everything, or everything except what it lists.
    repaired: u64,
    lost: u64,
    /// A repair that claims success without having it.
    unrepaired: u64,
}

/// The kind of a file.
fn kind(name: &Path) -> &str {
    let name = name.file_name().unwrap().to_str().unwrap();
    name.rsplit_once('.').filter(|_| !name.starts_with("store")).map_or(name, |(_, extension)| extension)
}

/// Flips a bit, cuts the file one time in six, or takes it away. Most are where something was written.
fn damage(content: &[u8], rng: &mut ChaCha8Rng) -> Option<Vec<u8>> {
    let written: Vec<usize> = (0..content.len()).filter(|place| content[*place] != 0).collect();
    let place = match written.is_empty() || rng.random_bool(0.3) {
        true => rng.random_range(0..content.len()),
        false => written[rng.random_range(0..written.len())],
    };
    let mut damaged = content.to_vec();
    match rng.random_range(0..30) {
        0 => return None,
        1..6 => damaged.truncate(place),
        _ => damaged[place] ^= 1 << rng.random_range(0..8),
    }
    Some(damaged)
}

/// This many flips, in every kind of file alike.
fn campaign(seed: u64, flips: usize) -> BTreeMap<String, Row> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut table = BTreeMap::<String, Row>::new();
    let lefts = [Left::Stopped, Left::Killed, Left::KilledAfterCheckpoint];
    let folders = lefts.map(Whole::new);
    for flip in 0..flips {
        let folder = &folders[flip % lefts.len()];
        let mut kinds: Vec<&str> =
            folder.files.iter().filter(|(_, bytes)| !bytes.is_empty()).map(|(name, _)| kind(name)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let chosen = kinds[rng.random_range(0..kinds.len())];
        let files: Vec<_> =
            folder.files.iter().filter(|(name, bytes)| kind(name) == chosen && !bytes.is_empty()).collect();
        let (name, content) = files[rng.random_range(0..files.len())];
        let damaged = damage(content, &mut rng);
        let outcome = folder.with(name, damaged.as_deref());
        let layer = format!("{:?}, {chosen}", lefts[flip % lefts.len()]);
        let row = table.entry(layer).or_default();
        row.tried += 1;
        row.verify_tells += u64::from(outcome.verify_tells);
        row.refused += u64::from(outcome.start == Start::Refused);
        row.told += u64::from(outcome.start == Start::Told);
        row.wrong += u64::from(outcome.start == Start::Wrong);
        let silent = outcome.start == Start::Wrong && !outcome.verify_tells;
        row.silent += u64::from(silent);
        let harmless = outcome.start == Start::Exact && !outcome.verify_tells;
        row.harmless += u64::from(harmless);
        row.repaired += u64::from(outcome.repair == Repair::Exact && !harmless);
        row.lost += u64::from(outcome.repair == Repair::Lost);
        row.unrepaired += u64::from(outcome.repair == Repair::Wrong);
        if outcome.start == Start::Wrong || outcome.repair == Repair::Wrong {
            let damaged = damaged.unwrap_or_default();
            let place = content.iter().zip(&damaged).position(|(before, after)| before != after);
            println!("{}: byte {place:?}, {} of {} bytes", name.display(), damaged.len(), content.len());
        }
    }
    table
}

fn print(table: &BTreeMap<String, Row>) {
    println!("{:38} tried harmless verify refused told wrong silent repaired lost unrepaired", "file");
    for (layer, row) in table {
        let Row { tried, harmless, verify_tells, refused, told, wrong, silent, repaired, lost, unrepaired } = row;
        println!(
            "{layer:38} {tried:5} {harmless:8} {verify_tells:6} {refused:7} {told:4} {wrong:5} {silent:6} {repaired:8} \
                {lost:4} {unrepaired:10}"
        );
    }
}

fn assert_nothing_is_silent(seed: u64, flips: usize) {
    let table = campaign(seed, flips);
    print(&table);
    assert_eq!(table.values().map(|row| row.tried).sum::<u64>(), flips as u64);
    assert_eq!(table.values().map(|row| row.wrong + row.silent + row.unrepaired).max(), Some(0));
}

#[test]
fn no_flipped_bit_is_silent() {
    assert_nothing_is_silent(1, 200);
}

#[test]
#[ignore = "a minute: the same with many more"]
fn ten_thousand_flips() {
    thread::scope(|scope| {
        for seed in [2, 3] {
            scope.spawn(move || assert_nothing_is_silent(seed, 5000));
        }
    });
}
