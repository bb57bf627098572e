//! The store against a trivial one: a set of reports per task. The machine under it stops between any two operations of
//! its disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use chacha20::ChaCha8Rng;
use futures_util::future::join_all;
use rand::{RngExt, SeedableRng};
use tokio::runtime::Runtime;

use super::super::disk::Disk;
use super::super::maintenance::{merge_on, verify_on};
use super::super::sizes::Sizes;
use super::super::{FolderOptions, FolderStore};
use super::simulated::Machine;
use crate::store::{Batch, CommitError, Committed, Erase, ErasedReports, Put, ReportStore, TaskSettings};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::mechanism::MechanismSpec;
use ldp_pca::privacy::Epsilon;
use ldp_pca::record::Bounding;
use ldp_pca::report::{Report, ReportId};
use ldp_pca::schema::Schema;
use ldp_pca::task::{Folds, Task, TaskDigest};

/// Simulated lives of a store, and what happens in each.
const LIVES: u64 = 150;
const STEPS: usize = 80;

pub(in super::super) fn tasks() -> Vec<Task> {
    let task = |dimension| {
        let mechanism = MechanismSpec::DoubleCap { epsilon: Epsilon::new(2.0).unwrap(), candidates: 8, cap: 1 };
        let schema = Schema::numeric(dimension).unwrap();
        Task::new(schema, Bounding::UnitNorm, mechanism, Folds::new(2).unwrap()).unwrap()
    };
    vec![task(2), task(3)]
}

pub(in super::super) fn reports(task: &Task, rng: &mut ChaCha8Rng, count: usize) -> Vec<Report> {
    let record = task.bound((0..task.dimension()).map(|index| 1.0 + index as f64).collect()).unwrap();
    (0..count).map(|_| task.randomize_with_rng(&record, None, rng).unwrap()).collect()
}

pub(in super::super) fn batch(reports: &[Report]) -> Batch {
    Batch {
        closed: None,
        bytes: reports.iter().flat_map(Report::to_bytes).collect(),
        reports: reports.to_vec(),
        permit: None,
    }
}

pub(in super::super) fn sum<'a>(task: &Task, reports: impl IntoIterator<Item = &'a Report>) -> Aggregate {
    let mut aggregate = Aggregate::empty(task);
    aggregate.accumulate(task, &reports.into_iter().cloned().collect::<Vec<Report>>()).unwrap();
    aggregate
}

/// The required content of one task.
#[derive(Default)]
struct Expected {
    settings: TaskSettings,
    /// Acknowledged, by id.
    counted: BTreeMap<[u8; 16], Report>,
    /// Their outcome is unknown: after a restart they may be there, and a retry finds out.
    doubtful: BTreeMap<[u8; 16], Report>,
    /// Erased on request, and refused.
    erased: BTreeMap<[u8; 16], Report>,
    /// Their erasure failed: they may be there, and a retry erases them.
    erasing: BTreeMap<[u8; 16], Report>,
}

fn ids_of(reports: &BTreeMap<[u8; 16], Report>) -> Vec<ReportId> {
    reports.values().map(Report::id).collect()
}

struct Life {
    rng: ChaCha8Rng,
    machine: Machine,
    runtime: Runtime,
    store: Option<FolderStore>,
    /// Small ones in most lives, so that what is written together is in many pages.
    sizes: Sizes,
    tasks: Vec<Task>,
    expected: BTreeMap<TaskDigest, Expected>,
    /// Tasks whose addition or deletion was interrupted.
    in_doubt: BTreeSet<TaskDigest>,
    /// Tasks whose settings were being changed.
    unsure_settings: BTreeSet<TaskDigest>,
    stops: u64,
}

impl Life {
    fn new(seed: u64) -> Self {
        let mut life = Self {
            rng: ChaCha8Rng::seed_from_u64(seed),
            machine: Machine::new(seed),
            runtime: tokio::runtime::Builder::new_current_thread().build().unwrap(),
            store: None,
            sizes: Sizes { page: if seed.is_multiple_of(4) { 70 } else { Sizes::default().page }, ..tiny(seed) },
            tasks: tasks(),
            expected: BTreeMap::new(),
            in_doubt: BTreeSet::new(),
            unsure_settings: BTreeSet::new(),
            stops: 0,
        };
        life.open();
        life
    }

    fn options(&self) -> FolderOptions {
        FolderOptions { queue: 8, segment_reports: 7, reserve_bytes: 0, sizes: self.sizes, ..FolderOptions::default() }
    }

    fn disk(&self) -> Arc<dyn Disk> {
        Arc::new(self.machine.clone())
    }

    /// Opens the store, however often the machine stops while it does, and compares.
    fn open(&mut self) {
        loop {
            match FolderStore::open_on(self.disk(), Path::new("/data"), &[], self.options()) {
                Ok(store) => {
                    self.store = Some(store);
                    break;
                }
                // A full disk is reported as full, and opens when it has space.
                Err(_) if self.machine.is_full() && !self.machine.has_stopped() => self.machine.set_room(u64::MAX),
                Err(error) => {
                    assert!(self.machine.has_stopped(), "a crash left what cannot be opened: {error}");
                    self.restart_machine();
                }
            }
        }
        assert_eq!(self.store().manifest.doubt, None);
        self.settle_doubts();
        self.compare();
    }

    fn restart_machine(&mut self) {
        self.stops += 1;
        if self.rng.random_bool(0.7) {
            self.machine.restart();
        } else {
            self.machine.revive();
        }
        // The next may come soon.
        if self.rng.random_bool(0.5) {
            self.machine.stop_after(self.rng.random_range(0..60));
        }
    }

    fn store(&self) -> &FolderStore {
        self.store.as_ref().unwrap()
    }

    fn reopen(&mut self) {
        self.store = None;
        self.machine.fail(0, 0);
        if self.machine.has_stopped() {
            self.restart_machine();
        }
        self.open();
    }

    /// After a restart: whether a task that was being added or deleted is there, and which doubtful reports are.
    fn settle_doubts(&mut self) {
        for digest in std::mem::take(&mut self.in_doubt) {
            if self.store().task(digest).is_some() {
                self.expected.entry(digest).or_default();
                self.unsure_settings.insert(digest);
            } else {
                self.expected.remove(&digest);
            }
        }
        for (digest, mut expected) in std::mem::take(&mut self.expected) {
            let task = self.store().task(digest).expect("an acknowledged task is there");
            // Acknowledged reports were on disk before.
            let damage = task.damage();
            // (A group in several pages may be torn in the middle, which looks like damage.)
            let whole = damage.passed_over == 0 && damage.places.is_empty();
            assert!(whole || self.sizes.page < Sizes::default().page, "{damage:?}");
            if self.unsure_settings.remove(&digest) {
                expected.settings = (*task.settings()).clone();
            }
            let doubts = expected.doubtful.len() + expected.erasing.len();
            let (least, most) = (expected.counted.len(), expected.counted.len() + doubts);
            assert!((least..=most).contains(&(task.counts().records as usize)), "{least} to {most}: {task:?}");
            let mut doubtful = std::mem::take(&mut expected.doubtful);
            while let Some((id, report)) = doubtful.pop_first() {
                match self.runtime.block_on(task.commit(batch(std::slice::from_ref(&report)))) {
                    Ok(_) => drop(expected.counted.insert(id, report)),
                    Err(CommitError::Quota { .. }) => {}
                    Err(CommitError::Write(_) | CommitError::Unknown(_)) => drop(expected.doubtful.insert(id, report)),
                    Err(error) => panic!("{error}"),
                }
            }
            self.finish_erasures(digest, &mut expected);
            self.expected.insert(digest, expected);
        }
    }

    /// Erases what an erasure that failed left, unless the machine stops again.
    fn finish_erasures(&self, digest: TaskDigest, expected: &mut Expected) {
        let ids = ids_of(&expected.erasing);
        while !ids.is_empty() && !expected.erasing.is_empty() && !self.machine.has_stopped() {
            self.machine.set_room(u64::MAX);
            // Syncs fail a few times at most.
            if let Ok(outcome) = self.store().erase_reports(digest, &ids) {
                let ErasedReports { erased, before, unknown } = outcome.unwrap();
                assert_eq!((erased + before, unknown), (ids.len() as u64, 0));
                expected.erased.append(&mut expected.erasing);
            }
        }
    }

    fn compare(&self) {
        if self.machine.has_stopped() {
            return;
        }
        let found: BTreeSet<TaskDigest> = self.store().tasks().iter().map(|task| task.task().digest()).collect();
        assert_eq!(found, self.expected.keys().copied().filter(|digest| !self.in_doubt.contains(digest)).collect());
        for (digest, expected) in &self.expected {
            let Some(task) = self.store().task(*digest) else { continue };
            assert_eq!(task.counts().records, expected.counted.len() as u64);
            assert_eq!(task.aggregate().unwrap(), sum(task.task(), expected.counted.values()));
            if !self.unsure_settings.contains(digest) {
                assert_eq!(*task.settings(), expected.settings);
            }
        }
    }

    fn step(&mut self) {
        match self.rng.random_range(0..100) {
            0..50 => self.upload(),
            50..55 => self.erase_reports(),
            55..63 => self.put(),
            63..66 => self.delete(),
            66 => self.erase(),
            67..77 => self.reopen(),
            77..80 => self.machine.set_room(self.rng.random_range(0..400)),
            80..83 => self.machine.set_room(u64::MAX),
            83..85 => self.machine.fail(self.rng.random_range(0..4), self.rng.random_range(0..3)),
            85..88 => {
                let failures = self.machine.failures();
                let check = self.store().check();
                let failed = self.machine.failures() > failures;
                assert!(check.is_ok() || self.machine.has_stopped() || self.machine.is_full() || failed);
            }
            _ => self.machine.stop_after(self.rng.random_range(0..120)),
        }
        if self.machine.has_stopped() {
            self.reopen();
        } else {
            self.compare();
        }
    }

    fn some_task(&mut self) -> Task {
        self.tasks[self.rng.random_range(0..self.tasks.len())].clone()
    }

    /// A few batches at once, of new reports and of some sent before.
    fn upload(&mut self) {
        let task = self.some_task();
        let Some(place) = self.store().task(task.digest()) else { return };
        let expected = self.expected.get_mut(&task.digest()).unwrap();
        let batches: Vec<Vec<Report>> = (0..self.rng.random_range(1..4))
            .map(|_| {
                let count = self.rng.random_range(0..5);
                let mut reports = reports(&task, &mut self.rng, count);
                for known in [&expected.counted, &expected.doubtful, &expected.erased] {
                    let skipped = self.rng.random_range(0..10);
                    reports.extend(known.values().skip(skipped).take(2).cloned());
                }
                reports.extend(reports.first().cloned());
                reports
            })
            .filter(|reports| !reports.is_empty())
            .collect();
        let failures = self.machine.failures();
        let failed = || self.machine.failures() > failures;
        let outcomes = self.runtime.block_on(join_all(batches.iter().map(|reports| place.commit(batch(reports)))));
        for (reports, outcome) in batches.into_iter().zip(outcomes) {
            let new: BTreeMap<[u8; 16], Report> = reports
                .iter()
                .map(|report| (*report.id().as_bytes(), report.clone()))
                .filter(|(id, _)| !expected.counted.contains_key(id) && !expected.erased.contains_key(id))
                .collect();
            match outcome {
                Ok(outcome) => {
                    let accepted = new.len() as u64;
                    assert_eq!(
                        outcome,
                        Committed { accepted, duplicate: reports.len() as u64 - accepted, conflicting: 0 }
                    );
                    expected.doubtful.retain(|id, _| !new.contains_key(id));
                    expected.counted.extend(new);
                }
                Err(CommitError::Quota { limit, records }) => {
                    assert_eq!(Some(limit), expected.settings.max_records);
                    assert_eq!(records, expected.counted.len() as u64);
                    assert!(records + new.len() as u64 > limit && !new.is_empty());
                }
                // None of it is there, whatever happens next.
                Err(CommitError::Write(_)) => assert!(self.machine.has_stopped() || self.machine.is_full() || failed()),
                Err(CommitError::Unknown(_)) => {
                    assert!(self.machine.has_stopped() || failed());
                    expected.doubtful.extend(new);
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Some reports that are counted, one that was erased before, and one that never was.
    fn erase_reports(&mut self) {
        let task = self.some_task();
        let digest = task.digest();
        if self.store().task(digest).is_none() {
            return;
        }
        let (skipped, count) = (self.rng.random_range(0..10), self.rng.random_range(0..4));
        let unknown = reports(&task, &mut self.rng, 1).remove(0);
        let expected = self.expected.get_mut(&digest).unwrap();
        let wanted: BTreeMap<[u8; 16], Report> =
            expected.counted.iter().skip(skipped).take(count).map(|(id, report)| (*id, report.clone())).collect();
        let before: Vec<ReportId> = expected.erased.values().take(1).map(Report::id).collect();
        expected.counted.retain(|id, _| !wanted.contains_key(id));
        let ids = [ids_of(&wanted), before.clone(), vec![unknown.id()]].concat();
        let failures = self.machine.failures();
        let outcome = self.store().erase_reports(digest, &ids);
        let failed = self.machine.failures() > failures;
        let expected = self.expected.get_mut(&digest).unwrap();
        if let Ok(outcome) = outcome {
            let erased = wanted.len() as u64;
            assert_eq!(outcome, Some(ErasedReports { erased, before: before.len() as u64, unknown: 1 }));
            expected.erased.extend(wanted);
        } else {
            assert!(self.machine.has_stopped() || self.machine.is_full() || failed, "{outcome:?}");
            expected.erasing.extend(wanted);
            self.reopen();
        }
    }

    fn put(&mut self) {
        let task = self.some_task();
        let digest = task.digest();
        let max_records = self.rng.random_bool(0.3).then(|| self.rng.random_range(0..60));
        let settings = TaskSettings { max_records, ..TaskSettings::default() };
        let known = self.expected.contains_key(&digest) && !self.in_doubt.contains(&digest);
        let failures = self.machine.failures();
        match self.store().put(task, settings.clone()) {
            Ok(put) => {
                assert!(known == (put == Put::Updated) || self.in_doubt.contains(&digest));
                self.in_doubt.remove(&digest);
                self.expected.entry(digest).or_default().settings = settings;
            }
            Err(_) => {
                let failed = self.machine.failures() > failures;
                assert!(self.machine.has_stopped() || self.machine.is_full() || failed);
                if known {
                    self.unsure_settings.insert(digest)
                } else {
                    self.in_doubt.insert(digest)
                };
            }
        }
    }

    fn delete(&mut self) {
        let digest = self.some_task().digest();
        let known = self.expected.contains_key(&digest);
        let failures = self.machine.failures();
        let erase = if self.rng.random_bool(0.5) { Erase::Now } else { Erase::AfterGrace };
        match self.store().delete(digest, erase) {
            Ok(deleted) => {
                assert!(deleted == known || deleted && erase == Erase::Now);
                self.expected.remove(&digest);
                assert!(!known || !self.machine.holds_below(&Path::new("/data/tasks").join(digest.to_string())));
            }
            Err(_) => {
                let failed = self.machine.failures() > failures;
                assert!(self.machine.has_stopped() || self.machine.is_full() || failed);
                if known && self.store().task(digest).is_none() {
                    self.in_doubt.insert(digest);
                }
            }
        }
    }

    /// Deleted tasks are erased, whatever else has the same digest.
    fn erase(&mut self) {
        let Ok(deleted) = self.store().deleted() else { return assert!(self.machine.has_stopped()) };
        for task in deleted {
            let erased = self.store().erase(&task);
            assert!(erased.is_ok() || self.machine.has_stopped());
        }
    }
}

impl Life {
    /// Closes the store, verifies its folder, and merges it with another aggregator's that has some of its reports and
    /// others, however often the machine stops.
    fn end(&mut self) {
        self.machine.set_room(u64::MAX);
        self.machine.revive();
        self.reopen();
        self.machine.revive();
        for (digest, expected) in &self.expected {
            let task = self.store().task(*digest).unwrap().task().clone();
            self.store().put(task, TaskSettings::default()).unwrap();
            assert!(expected.doubtful.is_empty() || expected.settings.max_records.is_some());
            assert!(expected.erasing.is_empty());
        }
        self.store = None;
        self.assert_verified("/data");

        let other = FolderStore::open_on(self.disk(), Path::new("/other"), &self.tasks, self.options()).unwrap();
        for task in &self.tasks {
            let expected = self.expected.entry(task.digest()).or_default();
            let known = expected.counted.values().step_by(2).cloned();
            let sent: Vec<Report> = reports(task, &mut self.rng, 9).into_iter().chain(known).collect();
            // The other one does not know that these were erased.
            let erased: Vec<Report> = expected.erased.values().cloned().collect();
            self.runtime.block_on(other.task(task.digest()).unwrap().commit(batch(&erased))).unwrap();
            self.runtime.block_on(other.task(task.digest()).unwrap().commit(batch(&sent))).unwrap();
            expected.counted.extend(sent.into_iter().map(|report| (*report.id().as_bytes(), report)));
        }
        drop(other);
        self.machine.stop_after(self.rng.random_range(0..200));
        let merged = loop {
            match merge_on(&self.disk(), &["/data".into(), "/other".into()], Path::new("/merged"), &mut |_, _| {}) {
                Ok(merged) if !self.machine.has_stopped() => break merged,
                result => {
                    assert!(self.machine.has_stopped(), "{result:?}");
                    self.restart_machine();
                }
            }
        };
        self.machine.revive();
        for merged in merged {
            let digest: TaskDigest = merged.task.parse().unwrap();
            assert_eq!(merged.reports, self.expected[&digest].counted.len() as u64);
        }
        let together = FolderStore::open_on(self.disk(), Path::new("/merged"), &[], self.options()).unwrap();
        for task in &self.tasks {
            let aggregate = together.task(task.digest()).unwrap().aggregate().unwrap();
            assert_eq!(aggregate, sum(task, self.expected[&task.digest()].counted.values()));
        }
        drop(together);
        self.assert_verified("/merged");
    }

    fn assert_verified(&self, folder: &str) {
        let verified = verify_on(self.disk(), Path::new(folder), &mut |_, _| {}).unwrap();
        assert!(verified.is_good(), "{verified:?}");
    }
}

#[test]
fn whenever_the_machine_stops_the_store_is_the_set_of_acknowledged_reports() {
    let (mut operations, mut stops, mut counted, mut erased) = (0, 0, 0, 0);
    for seed in 0..LIVES {
        let mut life = Life::new(seed);
        for _ in 0..STEPS {
            life.step();
        }
        life.end();
        operations += life.machine.operations();
        stops += life.stops;
        counted += life.expected.values().map(|expected| expected.counted.len()).sum::<usize>();
        erased += life.expected.values().map(|expected| expected.erased.len()).sum::<usize>();
    }
    let steps = LIVES * STEPS as u64;
    println!("{steps} steps, {operations} operations, {stops} stops, {counted} reports, {erased} erased");
    // The store's writer is a thread, so the numbers vary: 140 to 160 are erased.
    let busy = stops > LIVES && counted > 10 * LIVES as usize && 2 * erased > LIVES as usize;
    assert!(busy, "the lives are too quiet to show anything");
}

/// Sizes that go through all their choices with the seed, the usual ones among them.
pub(super) fn tiny(seed: u64) -> Sizes {
    let pick = |choices: [usize; 4], step: u64| choices[((seed / step) % 4) as usize];
    Sizes {
        page: pick([1, 70, 200, 8 << 20], 1),
        worth_a_part: pick([0, usize::MAX, 100, 4096], 4),
        least_room: pick([0, 0, 100, 256 << 10], 1) as u64,
        most_room: pick([0, 500, 1000, 32 << 20], 1) as u64,
        searched: pick([1, 7, 40, 1 << 20], 2),
        copied: pick([1, 35, 100, 1 << 20], 2),
        backlog: pick([0, 1, 100, 64 << 20], 1),
        summed: pick([0, 1, 100, 8 << 20], 2),
        snapshot_part: pick([1, 40, 100, 16 << 20], 1),
    }
}
