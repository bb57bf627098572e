//! What the tests share, and the store against a trivial one: a set of reports per task.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::slice;

use chacha20::ChaCha8Rng;
use futures_util::future::join_all;
use rand::{RngExt, SeedableRng};
use tempfile::{TempDir, tempdir, tempdir_in};

use super::super::maintenance::{BackedUp, backup, export, merge, restore, verify};
use super::super::{FolderOptions, FolderStore, task_folder};
use crate::store::tests::{batch, commit, committed, dense, ids, reports_with_rng, sum, tasks, wait};
use crate::store::{
    Batch, CommitError, Committed, Damage, DeletedTask, Erase, ErasedReports, Put, ReportStore, StoreError,
    TaskSettings,
};
use ldp_pca::report::{Report, report_bytes};
use ldp_pca::task::{Task, TaskDigest};

/// Lives of a store, and what happens in each.
const LIVES: u64 = 18;
const STEPS: usize = 70;

/// A folder in memory where the system can: nothing here has to survive a power cut.
pub(in super::super) fn folder() -> TempDir {
    tempdir_in("/dev/shm").or_else(|_| tempdir()).unwrap()
}

pub(in super::super) fn options() -> FolderOptions {
    FolderOptions { summed_reports: 20, ..FolderOptions::default() }
}

pub(in super::super) fn open(root: &Path) -> Result<FolderStore, StoreError> {
    FolderStore::open(root, &[], options())
}

/// Waits until the writers have nothing to do.
pub(super) fn quiet(store: &FolderStore) {
    store.tasks().iter().for_each(|task| _ = wait(task.queue().commit(Batch::empty())).unwrap());
}

/// The files that a killed process leaves, of a store that is quiet.
pub(super) fn copy_folder(from: &Path, to: &Path) {
    for file in files_below(from) {
        let copy = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(file, copy).unwrap();
    }
}

pub(super) fn files_below(root: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

pub(super) fn exported(root: &Path, task: &Task, allow_loss: bool) -> Result<Vec<Report>, StoreError> {
    let mut bytes = Vec::<u8>::new();
    let mut write = |part: &[u8]| bytes.write_all(part);
    export(root, task.digest(), allow_loss, &mut write, &mut |_, _| {})?;
    Ok(bytes.chunks(report_bytes(task)).map(|frame| Report::from_bytes(frame, task).unwrap()).collect())
}

/// The problems that `verify` has with a folder.
pub(super) fn problems(root: &Path) -> Vec<String> {
    let verified = verify(root, &mut |_, _| {}).unwrap();
    verified.tasks.into_iter().flat_map(|task| task.problems).chain(verified.problems).collect()
}

/// What a task has to have.
#[derive(Clone, Default)]
pub(super) struct Held {
    pub(super) settings: TaskSettings,
    pub(super) counted: BTreeMap<[u8; 16], Report>,
    /// They are refused.
    pub(super) erased: BTreeMap<[u8; 16], Report>,
}

impl Held {
    pub(super) fn add(&mut self, reports: impl IntoIterator<Item = Report>) {
        self.counted.extend(reports.into_iter().map(|report| (*report.id().as_bytes(), report)));
    }

    pub(super) fn erase(&mut self, reports: impl IntoIterator<Item = Report>) {
        self.erased.extend(reports.into_iter().map(|report| (*report.id().as_bytes(), report)));
        self.counted.retain(|id, _| !self.erased.contains_key(id));
    }

    /// That a store has this, no more and no less.
    pub(super) fn assert_in(&self, store: &FolderStore, digest: TaskDigest) {
        let task = store.task(digest).unwrap();
        assert_eq!((task.counts().records, task.damage()), (self.counted.len() as u64, Damage::default()));
        assert_eq!(*task.settings(), self.settings);
        assert_eq!(task.aggregate(), sum(task.task(), self.counted.values()));
        let known: Vec<Report> = self.counted.values().chain(self.erased.values()).cloned().collect();
        assert_eq!(commit(store, task.task(), &known), committed(0, known.len() as u64));
    }
}

struct Life {
    rng: ChaCha8Rng,
    options: FolderOptions,
    tasks: Vec<Task>,
    place: TempDir,
    store: Option<FolderStore>,
    served: BTreeMap<TaskDigest, Held>,
    deleted: BTreeMap<(TaskDigest, u64), Held>,
}

impl Life {
    fn new(seed: u64) -> Self {
        let pick = |choices: [u64; 3], step: u64| choices[(seed / step % 3) as usize];
        let options = FolderOptions {
            summed_reports: pick([7, 1 << 17, 1], 1),
            log_bytes: pick([1000, 1, 16 << 20], 3),
            backlog_bytes: pick([1, 0, 64 << 20], 1) as usize,
            ..options()
        };
        let mut life = Self {
            rng: ChaCha8Rng::seed_from_u64(seed),
            options,
            tasks: [tasks(), vec![dense()]].concat(),
            place: folder(),
            store: None,
            served: BTreeMap::new(),
            deleted: BTreeMap::new(),
        };
        life.open();
        life
    }

    fn root(&self) -> PathBuf {
        self.place.path().join("data")
    }

    fn store(&self) -> &FolderStore {
        self.store.as_ref().unwrap()
    }

    fn open(&mut self) {
        self.store = None;
        self.store = Some(FolderStore::open(&self.root(), &[], self.options.clone()).unwrap());
    }

    /// Goes on in a copy of the folder that is made while the store is open.
    fn go_on_in(&mut self, copy: impl FnOnce(&Path, &Path)) {
        let place = folder();
        quiet(self.store());
        copy(&self.root(), &place.path().join("data"));
        self.store = None;
        self.place = place;
        self.open();
    }

    fn step(&mut self) {
        match self.rng.random_range(0..100) {
            0..45 => self.upload(),
            45..57 => self.erase_reports(),
            57..66 => self.put(),
            66..72 => self.delete(),
            72..75 => self.erase_deleted(),
            75..80 => self.restore(),
            80..86 => self.merge(),
            86..90 => {
                let held: Vec<&Held> = self.served.values().chain(self.deleted.values()).collect();
                let tasks = held.len() as u64;
                let reports = held.iter().map(|held| held.counted.len() as u64).sum();
                let whole = BackedUp { tasks, reports, ..BackedUp::default() };
                self.go_on_in(|from, to| assert_eq!(backup(from, to, &mut |_, _| {}).unwrap(), whole));
            }
            90..95 => self.go_on_in(copy_folder),
            _ => self.open(),
        }
        self.compare();
    }

    fn compare(&self) {
        assert!(self.store().tasks().iter().map(|task| task.task().digest()).eq(self.served.keys().copied()));
        self.served.iter().for_each(|(digest, held)| held.assert_in(self.store(), *digest));
        let mut deleted: Vec<_> =
            self.store().deleted().unwrap().iter().map(|task| (task.digest, task.since)).collect();
        deleted.sort_unstable();
        assert!(deleted.iter().eq(self.deleted.keys()));
    }

    fn some_task(&mut self) -> Task {
        self.tasks[self.rng.random_range(0..self.tasks.len())].clone()
    }

    /// A few batches at once, of new reports and of some sent before.
    fn upload(&mut self) {
        let task = self.some_task();
        let Some(place) = self.store().task(task.digest()) else { return };
        let held = self.served.get_mut(&task.digest()).unwrap();
        let batches: Vec<Vec<Report>> = (0..self.rng.random_range(1..4))
            .map(|_| {
                let count = self.rng.random_range(1..9);
                let mut sent = reports_with_rng(&task, &mut self.rng, count);
                for known in [&held.counted, &held.erased] {
                    let skipped = self.rng.random_range(0..20);
                    sent.extend(known.values().skip(skipped).take(2).cloned());
                }
                // Once more, and once with the payload of another one.
                sent.push(sent[0].clone());
                sent.push(Report::from_parts(task.digest(), sent[0].id(), sent[count - 1].payload().to_vec()));
                sent
            })
            .collect();
        let outcomes = wait(join_all(batches.iter().map(|sent| place.queue().commit(batch(sent)))));
        for (sent, outcome) in batches.into_iter().zip(outcomes) {
            let conflicting = u64::from(sent.first() != sent.last());
            let sent_reports = sent.len() as u64;
            // Of two with one id, the first one counts.
            let new: BTreeMap<[u8; 16], Report> = sent
                .into_iter()
                .rev()
                .map(|report| (*report.id().as_bytes(), report))
                .filter(|(id, _)| !held.counted.contains_key(id) && !held.erased.contains_key(id))
                .collect();
            let (records, accepted) = (held.counted.len() as u64, new.len() as u64);
            let expected = match held.settings.max_records {
                Some(limit) if records + accepted > limit => Err(CommitError::Quota { limit, records }),
                _ => Ok(Committed { accepted, duplicate: sent_reports - accepted, conflicting }),
            };
            assert_eq!(outcome, expected);
            held.counted.extend(Some(new).filter(|_| outcome.is_ok()).into_iter().flatten());
        }
    }

    /// Some reports that are counted, one that was erased before, and one that never was.
    fn erase_reports(&mut self) {
        let task = self.some_task();
        let (skipped, count) = (self.rng.random_range(0..10), self.rng.random_range(0..4));
        let unknown = reports_with_rng(&task, &mut self.rng, 1).remove(0);
        let files = task_folder(&self.root(), task.digest());
        let store = self.store.as_ref().unwrap();
        let Some(held) = self.served.get_mut(&task.digest()) else {
            return assert_eq!(store.erase_reports(task.digest(), &[unknown.id()]).unwrap(), None);
        };
        let wanted: Vec<Report> = held.counted.values().skip(skipped).take(count).cloned().collect();
        let before: Vec<Report> = held.erased.values().take(1).cloned().collect();
        let ids = ids(wanted.iter().chain(&before).chain([&unknown]));
        quiet(store);
        assert!(wanted.iter().all(|report| report.payload().len() < 16 || is_in_files(&files, report)));
        let (erased, before) = (wanted.len() as u64, before.len() as u64);
        let outcome = store.erase_reports(task.digest(), &ids).unwrap();
        assert_eq!(outcome, Some(ErasedReports { erased, before, unknown: 1 }));
        assert!(!wanted.iter().any(|report| is_in_files(&files, report)));
        held.erase(wanted);
    }

    fn put(&mut self) {
        let task = self.some_task();
        let max_records = self.rng.random_bool(0.3).then(|| self.rng.random_range(0..80));
        let retention = self.rng.random_bool(0.5).then_some(5);
        let settings = TaskSettings { max_records, retention, ..TaskSettings::default() };
        let put = if self.served.contains_key(&task.digest()) { Put::Updated } else { Put::Created };
        assert_eq!(self.store().put(task.clone(), settings.clone()).unwrap(), put);
        self.served.entry(task.digest()).or_default().settings = settings;
    }

    fn delete(&mut self) {
        let digest = self.some_task().digest();
        let known = self.served.remove(&digest);
        if self.rng.random_bool(0.3) {
            let before = self.deleted.len();
            self.deleted.retain(|(of, _), _| *of != digest);
            let was_there = known.is_some() || self.deleted.len() < before;
            assert_eq!(self.store().delete(digest, Erase::Now).unwrap(), was_there);
        } else {
            assert_eq!(self.store().delete(digest, Erase::AfterGrace).unwrap(), known.is_some());
            let deleted = self.store().deleted().unwrap().into_iter().map(|task| (task.digest, task.since));
            let new: Vec<_> = deleted.filter(|task| !self.deleted.contains_key(task)).collect();
            assert_eq!(new.len(), usize::from(known.is_some()));
            self.deleted.extend(new.into_iter().zip(known));
        }
    }

    fn erase_deleted(&mut self) {
        let Some(((digest, since), _)) = self.deleted.pop_first() else { return };
        self.store().erase(&DeletedTask { digest, key: since, since }).unwrap();
    }

    fn restore(&mut self) {
        let digest = self.some_task().digest();
        self.store = None;
        let restored = restore(&self.root(), digest);
        let last = self.deleted.keys().filter(|(of, _)| *of == digest).max().copied();
        if let Some(last) = last.filter(|_| !self.served.contains_key(&digest)) {
            let mut held = self.deleted.remove(&last).unwrap();
            let restored = restored.unwrap();
            let had_retention = held.settings.retention.take().is_some();
            assert_eq!((restored.reports, restored.deleted), (held.counted.len() as u64, last.1));
            assert_eq!((restored.without_retention, restored.damage), (had_retention, vec![]));
            self.served.insert(digest, held);
        } else {
            assert!(restored.is_err());
        }
        self.open();
    }

    /// With another aggregator's folder that has some of the reports, erased ones, and others.
    fn merge(&mut self) {
        let task = self.some_task();
        let mut held = self.served.get(&task.digest()).cloned().unwrap_or_default();
        let mut sent = reports_with_rng(&task, &mut self.rng, 9);
        sent.extend(held.counted.values().step_by(2).cloned());
        let gone = [sent[0].clone(), sent[sent.len() - 1].clone()];
        sent.extend(held.erased.values().cloned());
        let other = folder();
        let source = FolderStore::open(other.path(), slice::from_ref(&task), self.options.clone()).unwrap();
        sent.chunks(4).for_each(|part| assert_eq!(commit(&source, &task, part).unwrap().accepted, part.len() as u64));
        source.erase_reports(task.digest(), &ids(&gone)).unwrap();
        // Its server may have it open.
        let source = Some(source).filter(|_| self.rng.random_bool(0.5));
        self.store = None;
        let merged = merge(&[other.path().to_owned()], &self.root(), false, &mut |_, _| {});
        drop(source);
        let refused = std::mem::take(&mut held.erased);
        held.add(sent);
        held.erase(gone.into_iter().chain(refused.into_values()));
        let reports = held.counted.len() as u64;
        if held.settings.max_records.is_some_and(|limit| reports > limit) {
            assert!(merged.is_err());
        } else {
            assert_eq!(merged.unwrap()[0].reports, reports);
            self.served.insert(task.digest(), held);
        }
        self.open();
    }
}

/// Whether any file of a folder has a part of a report's payload, which is not short.
fn is_in_files(folder: &Path, report: &Report) -> bool {
    files_below(folder).iter().any(|file| {
        let bytes = fs::read(file).unwrap();
        report.payload().chunks_exact(16).any(|part| bytes.windows(16).any(|window| window == part))
    })
}

#[test]
fn the_store_is_the_set_of_acknowledged_reports_whatever_happens() {
    let (mut counted, mut erased) = (0, 0);
    for seed in 0..LIVES {
        let mut life = Life::new(seed);
        (0..STEPS).for_each(|_| life.step());
        life.store = None;
        let verified = verify(&life.root(), &mut |_, _| {}).unwrap();
        assert!(verified.is_good(), "{verified:?}");
        for (held, found) in life.served.values().zip(verified.tasks) {
            assert_eq!((found.reports, found.erased), (held.counted.len() as u64, held.erased.len() as u64));
            (counted, erased) = (counted + held.counted.len(), erased + held.erased.len());
        }
    }
    assert!(counted > 20 * LIVES as usize && erased > 2 * LIVES as usize, "too quiet: {counted} {erased}");
}
