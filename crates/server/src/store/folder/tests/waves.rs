//! The steps of a second wave, on a machine that stops between any two operations of its disk.

use std::path::Path;
use std::sync::Arc;

use chacha20::ChaCha8Rng;
use rand::SeedableRng;
use tokio::runtime::Builder;

use super::super::{FolderOptions, FolderStore};
use super::model::{batch, reports, tasks};
use super::simulated::Machine;
use crate::store::tests::second_wave;
use crate::store::{CommitError, Committed, Put, RefinementPlan, ReportStore, StoreError, TaskSettings};
use ldp_pca::task::{Task, TaskDigest};

const PLAN: RefinementPlan = RefinementPlan { after: 4, rank: 1 };

fn open(machine: &Machine, task: &Task) -> FolderStore {
    let options = FolderOptions { reserve_bytes: 0, ..FolderOptions::default() };
    FolderStore::open_on(Arc::new(machine.clone()), Path::new("/data"), std::slice::from_ref(task), options).unwrap()
}

/// Both steps, with a second wave along this axis.
fn refine(store: &FolderStore, task: &Task, axis: usize) -> Result<Option<(TaskDigest, Put)>, StoreError> {
    store.close_first_wave(task.digest(), PLAN)?;
    store.open_second_wave(task.digest(), second_wave(task, axis, 5))
}

#[test]
fn a_second_wave_is_of_the_reports_that_are_there_and_the_only_one() {
    let (task, runtime) = (tasks().remove(1), Builder::new_current_thread().build().unwrap());
    let all = reports(&task, &mut ChaCha8Rng::seed_from_u64(2), 6);
    let store = open(&Machine::new(1), &task);
    let commit = |reports: &[_]| runtime.block_on(store.task(task.digest()).unwrap().commit(batch(reports)));
    commit(&all[..5]).unwrap();
    assert!(store.close_first_wave(task.digest(), PLAN).unwrap());
    // Somebody erases a report after the sums were computed.
    store.erase_reports(task.digest(), &[all[0].id()]).unwrap();
    let open_of = |axis, records| store.open_second_wave(task.digest(), second_wave(&task, axis, records));
    assert!(matches!(open_of(0, 5), Err(StoreError::OtherSums { found: 4, expected: 5, .. })));
    store.erase_reports(task.digest(), &[all[1].id()]).unwrap();
    assert_eq!(open_of(0, 3).unwrap(), None, "too few are left");
    let settings = store.task(task.digest()).unwrap().settings();
    assert_eq!((settings.is_closed(), settings.refined_by, store.tasks().len()), (false, None, 1));
    commit(&all[5..]).unwrap();
    let second = |axis| second_wave(&task, axis, 4).task;
    assert!(store.close_first_wave(task.digest(), PLAN).unwrap());
    let named = second(0).digest();
    assert_eq!(open_of(0, 4).unwrap(), Some((named, Put::Created)));
    let refused = store.put(second(1), TaskSettings::default());
    assert!(matches!(refused, Err(StoreError::SecondWave { second, .. }) if second == named), "{refused:?}");
    assert_eq!(store.put(second(0), TaskSettings::default()).unwrap(), Put::Updated);
}

#[test]
fn a_campaign_has_one_second_wave_wherever_the_machine_stops() {
    let (task, runtime) = (tasks().remove(1), Builder::new_current_thread().build().unwrap());
    let all = reports(&task, &mut ChaCha8Rng::seed_from_u64(1), 6);
    let mut stops = 0;
    for operations in 0.. {
        let machine = Machine::new(operations);
        let store = open(&machine, &task);
        let settings = TaskSettings { minimum_batch: Some(3), ..TaskSettings::default() };
        store.put(task.clone(), settings.clone()).unwrap();
        let commit = |store: &FolderStore, reports: &[_]| {
            runtime.block_on(store.task(task.digest()).unwrap().commit(batch(reports)))
        };
        commit(&store, &all[..5]).unwrap();
        assert!(store.open_second_wave(task.digest(), second_wave(&task, 0, 5)).unwrap().is_none(), "it is not closed");
        machine.stop_after(operations);
        let before = refine(&store, &task, 0);
        let stopped = machine.has_stopped();
        drop(store);
        if operations % 2 == 0 {
            machine.restart();
        } else {
            machine.revive();
        }
        // The sums may now show another direction.
        let store = open(&machine, &task);
        let (named, _) = refine(&store, &task, 1).unwrap().unwrap();
        if let Ok(Some((told, put))) = before {
            assert_eq!((told, put), (named, Put::Created));
        }
        assert_eq!(refine(&store, &task, 2).unwrap(), Some((named, Put::Updated)));
        let second: Vec<_> =
            store.tasks().into_iter().filter(|reports| reports.task().digest() != task.digest()).collect();
        assert_eq!(second.iter().map(|reports| reports.task().digest()).collect::<Vec<_>>(), [named]);
        assert_eq!(*second[0].settings(), settings, "after {operations} operations");
        let first = store.task(task.digest()).unwrap().settings();
        assert_eq!(*first, TaskSettings { refined_by: Some(named), ..settings.closing(PLAN) });
        let duplicate = Committed { duplicate: 5, ..Committed::default() };
        assert_eq!(commit(&store, &all[..5]), Ok(duplicate));
        assert_eq!(commit(&store, &all), Err(CommitError::Refined(Some(named))));
        if !stopped {
            break;
        }
        stops += 1;
    }
    assert!(stops > 10, "it stopped {stops} times");
}
