//! What the tests of both stores share: tasks and reports, a small disk, and the steps of a second wave.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use chacha20::ChaCha8Rng;
use rand::SeedableRng;
use tempfile::{TempDir, tempdir};
use tokio::runtime::Builder;

use super::*;
use ldp_pca::internal::waves::Refinement;
use ldp_pca::mechanism::{Calibration, MechanismSpec};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::Bounding;
use ldp_pca::schema::Schema;
use ldp_pca::task::Folds;

pub(super) const PLAN: RefinementPlan = RefinementPlan { after: 4, rank: 1 };

fn task(dimension: usize, mechanism: MechanismSpec) -> Task {
    Task::new(Schema::numeric(dimension).unwrap(), Bounding::UnitNorm, mechanism, Folds::new(2).unwrap()).unwrap()
}

/// Two with compact reports.
pub(super) fn tasks() -> Vec<Task> {
    let mechanism = MechanismSpec::DoubleCap { epsilon: Epsilon::new(2.0).unwrap(), candidates: 8, cap: 1 };
    vec![task(2, mechanism), task(3, mechanism)]
}

/// Compact reports of 35 bytes.
pub(super) fn compact() -> Task {
    task(6, MechanismSpec::DoubleCap { epsilon: Epsilon::new(2.0).unwrap(), candidates: 16, cap: 2 })
}

/// Dense reports.
pub(super) fn dense() -> Task {
    let (epsilon, delta) = (Epsilon::new(2.0).unwrap(), Delta::new(1e-6).unwrap());
    task(6, MechanismSpec::Gaussian { epsilon, delta, calibration: Calibration::Analytic })
}

/// A second wave of the task along one axis.
pub(super) fn second_wave(task: &Task, axis: usize, records: u64) -> NextWave {
    let mut direction = vec![0; task.dimension()];
    direction[axis] = 1 << 20;
    let refinement = Refinement::new(task.digest(), vec![direction], vec![1 << 16], 1 << 40).unwrap();
    let task = task.refined_by(refinement, task.guarantee().epsilon, Some(16), Some(2)).unwrap();
    NextWave { task, records, least: 4 }
}

pub(super) fn reports(task: &Task, seed: u64, count: usize) -> Vec<Report> {
    reports_with_rng(task, &mut ChaCha8Rng::seed_from_u64(seed), count)
}

pub(super) fn reports_with_rng(task: &Task, rng: &mut ChaCha8Rng, count: usize) -> Vec<Report> {
    let record = task.bound((0..task.dimension()).map(|index| 1.0 + index as f64).collect()).unwrap();
    (0..count).map(|_| task.randomize_with_rng(&record, None, rng).unwrap()).collect()
}

pub(super) fn ids<'a>(reports: impl IntoIterator<Item = &'a Report>) -> Vec<ReportId> {
    reports.into_iter().map(Report::id).collect()
}

pub(super) fn batch(reports: &[Report]) -> Batch {
    let bytes = reports.iter().flat_map(Report::to_bytes).collect();
    Batch { reports: reports.to_vec(), bytes, ..Batch::empty() }
}

pub(super) fn sum<'a>(task: &Task, reports: impl IntoIterator<Item = &'a Report>) -> Aggregate {
    let mut aggregate = Aggregate::empty(task);
    aggregate.accumulate(task, &reports.into_iter().cloned().collect::<Vec<Report>>()).unwrap();
    aggregate
}

pub(super) fn commit(store: &dyn ReportStore, task: &Task, reports: &[Report]) -> Result<Committed, CommitError> {
    wait(store.task(task.digest()).unwrap().queue().commit(batch(reports)))
}

/// The answer to a batch with so many new reports and so many others.
pub(super) fn committed(accepted: u64, duplicate: u64) -> Result<Committed, CommitError> {
    Ok(Committed { accepted, duplicate, conflicting: 0 })
}

pub(super) fn wait<T>(work: impl Future<Output = T>) -> T {
    Builder::new_current_thread().build().unwrap().block_on(work)
}

/// Waits until an eventual condition holds.
pub(super) fn eventually(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "never happened: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A small disk, there until it is dropped.
pub(super) struct SmallDisk(pub(super) TempDir);

impl SmallDisk {
    /// `None`, with a message, where this user may mount none.
    pub(super) fn mount(megabytes: u32) -> Option<Self> {
        let (folder, size) = (tempdir().unwrap(), format!("size={megabytes}m"));
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()).stderr(Stdio::null());
        if mount.status().is_ok_and(|status| status.success()) {
            return Some(Self(folder));
        }
        eprintln!("skipped: this user cannot mount a small disk");
        None
    }

    /// Leaves no byte.
    pub(super) fn fill(&self) {
        let mut file = OpenOptions::new().append(true).create(true).open(self.0.path().join("filler")).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: somebody may have files open.
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

/// The steps of a second wave, at two that serve a task from the same store: opened, or put by hand, by both at once.
/// Returns the second wave.
pub(super) fn make_second_wave([one, other]: [&dyn ReportStore; 2], task: &Task, by_hand: bool) -> TaskDigest {
    let (first, all) = (task.digest(), reports(task, 9, 20));
    let settings = TaskSettings { minimum_batch: Some(3), max_records: Some(9), ..TaskSettings::default() };
    let open = |store: &dyn ReportStore, axis, records| store.open_second_wave(first, second_wave(task, axis, records));
    let put = |store: &dyn ReportStore, axis| store.put(second_wave(task, axis, 4).task, settings.clone());
    let settings_of = |store: &dyn ReportStore, of| store.task(of).unwrap().settings();
    one.put(task.clone(), settings.clone()).unwrap();
    commit(one, task, &all[..3]).unwrap();
    commit(other, task, &all[3..5]).unwrap();
    assert_eq!(open(one, 0, 5).unwrap(), None, "the first one goes on");
    assert!(one.close_first_wave(first, PLAN).unwrap());
    // At once, although the other has not heard of it.
    assert_eq!(commit(other, task, &all[4..6]), Err(CommitError::Refined(None)));
    assert_eq!(commit(other, task, &all[..5]), committed(0, 5));
    assert!(!other.close_first_wave(first, PLAN).unwrap());
    // Somebody erases reports after the sums were computed.
    other.erase_reports(first, &ids(&all[..2])).unwrap();
    assert!(open(one, 0, 5).unwrap_err().to_string().contains("3 reports"));
    assert_eq!(open(one, 0, 3).unwrap(), None, "too few are left");
    eventually("the first wave goes on", || *settings_of(other, first) == settings.closing(PLAN).reopening());
    assert_eq!(one.second_wave_of(first), None);
    eventually("it takes reports", || commit(other, task, &all[5..6]).is_ok());
    assert!(one.close_first_wave(first, PLAN).unwrap());
    let make = |store: &dyn ReportStore, axis| {
        if by_hand {
            return put(store, axis).map(|put| (second_wave(task, axis, 4).task.digest(), put));
        }
        open(store, axis, 4).map(Option::unwrap)
    };
    let made = thread::scope(|scope| {
        let made = [(one, 0), (other, 1)].map(|(store, axis)| scope.spawn(move || make(store, axis)));
        made.map(|made| made.join().unwrap())
    });
    let (there, refused): (Vec<_>, Vec<_>) = made.into_iter().partition(Result::is_ok);
    let there: Vec<(TaskDigest, Put)> = there.into_iter().map(Result::unwrap).collect();
    let named = there[0].0;
    assert!(there.iter().all(|(second, _)| *second == named));
    assert_eq!(there.iter().filter(|(_, put)| *put == Put::Created).count(), 1, "{there:?}");
    assert!(refused.iter().all(|made| by_hand && matches!(made, Err(StoreError::SecondWave { .. }))), "{refused:?}");
    // Whoever opens one goes on with it, also after a crash before the first one named it.
    assert_eq!(open(other, 2, 4).unwrap(), Some((named, Put::Updated)));
    for store in [one, other] {
        eventually("both are served", || store.task(named).is_some());
        let closed = TaskSettings { refined_by: Some(named), ..settings.closing(PLAN) };
        eventually("the first names it", || *settings_of(store, first) == closed);
        assert_eq!(*settings_of(store, named), settings);
        assert_eq!(commit(store, task, &all[4..7]), Err(CommitError::Refined(Some(named))));
    }
    // It is the only one, also once it is deleted.
    let axis = usize::from(named != second_wave(task, 0, 4).task.digest());
    assert_eq!(put(one, axis).unwrap(), Put::Updated);
    assert!(one.delete(named, Erase::Now).unwrap());
    assert!(matches!(put(other, 2), Err(StoreError::SecondWave { .. })));
    assert_eq!(put(other, axis).unwrap(), Put::Created);
    named
}
