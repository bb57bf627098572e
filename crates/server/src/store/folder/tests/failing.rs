//! Disks that fail to sync, to cut or to take more, one after the other.

use std::path::Path;
use std::sync::Arc;

use chacha20::ChaCha8Rng;
use rand::SeedableRng;
use tokio::runtime::{Builder, Runtime};

use super::super::{FolderOptions, FolderStore};
use super::model::{batch, reports, sum, tasks};
use super::simulated::Machine;
use crate::store::{CommitError, Committed, ReportStore};
use ldp_pca::report::Report;
use ldp_pca::task::Task;

struct Place {
    machine: Machine,
    task: Task,
    store: Option<FolderStore>,
    runtime: Runtime,
}

impl Place {
    fn new(seed: u64) -> Self {
        let runtime = Builder::new_current_thread().build().unwrap();
        let mut place = Self { machine: Machine::new(seed), task: tasks().remove(0), store: None, runtime };
        place.open();
        place
    }

    fn open(&mut self) {
        let options = FolderOptions { segment_reports: 4_000, reserve_bytes: 0, ..FolderOptions::default() };
        let disk = Arc::new(self.machine.clone());
        self.store = None;
        self.machine.fail(0, 0);
        let tasks = std::slice::from_ref(&self.task);
        let store = FolderStore::open_on(disk, Path::new("/data"), tasks, options).unwrap();
        // Reports that were in doubt do not count as damage.
        let damage = store.task(self.task.digest()).unwrap().damage();
        assert!(damage.places.is_empty() && damage.passed_over == 0, "{damage:?}");
        self.store = Some(store);
    }

    /// Kills the process: it does nothing more, but what it did is not lost.
    fn kill(&mut self) {
        self.machine.stop_after(0);
        self.store = None;
        self.machine.revive();
        self.open();
    }

    /// Stops the machine: unsynced data are there, torn, or gone.
    fn cut_power(&mut self) {
        self.machine.stop_after(0);
        self.store = None;
        self.machine.restart();
        self.open();
    }

    fn commit(&self, reports: &[Report]) -> Result<Committed, CommitError> {
        let task = self.store.as_ref().unwrap().task(self.task.digest()).unwrap();
        self.runtime.block_on(task.commit(batch(reports)))
    }

    fn assert_holds(&self, reports: &[Report]) {
        let task = self.store.as_ref().unwrap().task(self.task.digest()).unwrap();
        assert_eq!(task.counts().records, reports.len() as u64);
        assert_eq!(task.aggregate().unwrap(), sum(&self.task, reports));
    }
}

fn accepted(accepted: usize) -> Result<Committed, CommitError> {
    Ok(Committed { accepted: accepted as u64, ..Committed::default() })
}

#[test]
fn reports_that_a_failed_sync_leaves_in_doubt_are_said_to_be_in_doubt() {
    for seed in 0..10 {
        let mut place = Place::new(seed);
        let reports = reports(&place.task, &mut ChaCha8Rng::seed_from_u64(seed), 1_105);
        assert_eq!(place.commit(&reports[..100]), accepted(100));
        place.machine.fail(1, 1);
        assert!(matches!(place.commit(&reports[100..]), Err(CommitError::Unknown(_))));
        place.assert_holds(&reports[..100]);
        place.kill();
        // There or not, a retry counts each once.
        let retried = place.commit(&reports).unwrap();
        assert_eq!(retried.accepted + retried.duplicate, 1_105);
        place.assert_holds(&reports);
        // Data only in the system's memory did not count as stored.
        place.cut_power();
        place.assert_holds(&reports);
    }
}

#[test]
fn what_is_sent_again_after_a_failed_sync_counts_once_before_and_after_a_restart() {
    for seed in 0..400 {
        let mut place = Place::new(seed);
        let reports = reports(&place.task, &mut ChaCha8Rng::seed_from_u64(seed), 60);
        assert_eq!(place.commit(&reports[..20]), accepted(20));
        // Seals of the segment that was left fail as well.
        place.machine.fail(1 + seed as u32 % 4, seed as u32 % 3);
        let mut sent = place.commit(&reports[20..40]);
        assert!(matches!(sent, Err(CommitError::Unknown(_))), "{sent:?}");
        while sent.is_err() {
            sent = place.commit(&reports[20..40]);
        }
        assert_eq!(sent, accepted(20));
        assert_eq!(place.commit(&reports[40..]), accepted(20));
        place.assert_holds(&reports);
        match seed % 3 {
            0 => place.kill(),
            1 => place.cut_power(),
            _ => place.open(),
        }
        place.assert_holds(&reports);
        assert_eq!(place.commit(&reports), Ok(Committed { duplicate: 60, ..Committed::default() }));
    }
}

#[test]
fn a_full_disk_refuses_unless_the_write_cannot_be_undone() {
    let mut place = Place::new(3);
    let reports = reports(&place.task, &mut ChaCha8Rng::seed_from_u64(3), 200);
    assert_eq!(place.commit(&reports[..100]), accepted(100));
    place.machine.set_room(400);
    assert!(matches!(place.commit(&reports[100..]), Err(CommitError::Write(_))));
    place.kill();
    place.assert_holds(&reports[..100]);
    place.machine.set_room(400);
    place.machine.fail(0, 1);
    assert!(matches!(place.commit(&reports[100..]), Err(CommitError::Unknown(_))));
    place.machine.set_room(u64::MAX);
    assert_eq!(place.commit(&reports[100..]), accepted(100));
    place.open();
    place.assert_holds(&reports);
}
