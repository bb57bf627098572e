//! The steps of a second wave, and what commands do with its tasks.

use std::path::{Path, PathBuf};
use std::slice;

use super::super::FolderStore;
use super::super::maintenance::{deleted, merge, restore, tasks as tasks_of};
use super::model::{folder, open, options};
use crate::store::tests::{PLAN, commit, ids, make_second_wave, reports, second_wave, sum, tasks};
use crate::store::{CommitError, Erase, Put, ReportStore, StoreError, TaskSettings};
use ldp_pca::report::Report;
use ldp_pca::task::Task;

/// The task of a first wave, and reports.
fn first() -> (Task, Vec<Report>) {
    let task = tasks().remove(1);
    let all = reports(&task, 2, 30);
    (task, all)
}

fn filled(root: &Path, task: &Task, reports: &[Report]) -> FolderStore {
    let store = FolderStore::open(root, slice::from_ref(task), options()).unwrap();
    commit(&store, task, reports).unwrap();
    store
}

#[test]
fn a_second_wave_is_of_the_reports_that_are_there_and_the_only_one() {
    for by_hand in [false, true] {
        let ((task, all), root) = (first(), folder());
        let store = filled(root.path(), &task, &[]);
        let second = make_second_wave([&store, &store], &task, by_hand);
        let settings = store.task(task.digest()).unwrap().settings();
        drop(store);
        let store = open(root.path()).unwrap();
        assert_eq!(store.task(task.digest()).unwrap().settings(), settings);
        assert_eq!(commit(&store, &task, &all[..1]), Err(CommitError::Refined(Some(second))));
    }
}

/// Closes the first wave, and opens a second one along an axis.
fn refine(store: &FolderStore, task: &Task, axis: usize) -> Task {
    assert!(store.close_first_wave(task.digest(), PLAN).unwrap());
    let second = second_wave(task, axis, store.task(task.digest()).unwrap().counts().records);
    let wave = second.task.clone();
    assert_eq!(store.open_second_wave(task.digest(), second).unwrap(), Some((wave.digest(), Put::Created)));
    wave
}

/// A first wave that is over is a fixed set, and has one second wave.
#[test]
fn a_merge_keeps_a_first_wave_closed_and_refuses_what_its_second_wave_does_not_know() {
    let ((task, all), folders) = (first(), [(); 5].map(|()| folder()));
    let [some, here, there, more, into] = folders.each_ref().map(|folder| folder.path().to_owned());
    drop(filled(&some, &task, &all[..10]));
    let second = refine(&filled(&here, &task, &all[..20]), &task, 0);
    refine(&filled(&there, &task, &all[..20]), &task, 1);
    drop(filled(&more, &task, &all[15..22]));
    let merge = |sources: &[&PathBuf], into: &Path| {
        let sources: Vec<PathBuf> = sources.iter().copied().cloned().collect();
        merge(&sources, into, false, &mut |_, _| {})
    };
    for added in [20, 0] {
        let merged = merge(&[&some, &here], &into).unwrap();
        assert_eq!(merged.iter().map(|task| task.added).sum::<u64>(), added);
    }
    let store = open(&into).unwrap();
    let found = store.task(task.digest()).unwrap();
    assert_eq!((found.settings().is_closed(), found.settings().refined_by), (true, Some(second.digest())));
    assert_eq!(found.aggregate(), sum(&task, &all[..20]));
    assert!(merge(&[&some], &into).unwrap_err().to_string().contains("another process holds"));
    drop((store, found));
    let new = folders[4].path().join("new");
    let (wave, further) = ("it has the second wave", "it has 2 reports that are not in");
    for (sources, into, problem) in [
        (&[&there][..], &into, wave),
        (&[&here, &there], &some, wave),
        (&[&more, &here], &new, further),
        // Also where the folder that they are merged into has them, or is over.
        (&[&here], &more, further),
        (&[&more], &here, further),
    ] {
        let refused = merge(sources, into).unwrap_err().to_string();
        assert!(refused.contains(problem), "{refused}");
    }
    assert_eq!(tasks_of(&new).unwrap(), []);
    // Reports that were erased are not there.
    open(&more).unwrap().erase_reports(task.digest(), &ids(&all[19..22])).unwrap();
    merge(&[&here], &more).unwrap();
    assert_eq!(open(&more).unwrap().task(task.digest()).unwrap().aggregate(), sum(&task, &all[..19]));
}

#[test]
fn a_task_does_not_come_back_beside_another_second_wave() {
    let ((task, all), root) = (first(), folder());
    let one = refine(&filled(root.path(), &task, &all[..20]), &task, 0);
    let other = second_wave(&task, 1, 20).task;
    let delete = |task: &Task| {
        assert!(open(root.path()).unwrap().delete(task.digest(), Erase::AfterGrace).unwrap());
    };
    let refused = |task: &Task, there: &Task| {
        let before = deleted(root.path()).unwrap();
        let refused = restore(root.path(), task.digest()).unwrap_err();
        assert!(matches!(refused, StoreError::SecondWave { second, .. } if second == there.digest()), "{refused}");
        assert_eq!(deleted(root.path()).unwrap(), before);
    };
    delete(&one);
    delete(&task);
    assert_eq!(open(root.path()).unwrap().put(other.clone(), TaskSettings::default()).unwrap(), Put::Created);
    // The second wave, and the first one that names it.
    refused(&one, &other);
    refused(&task, &other);
    delete(&other);
    restore(root.path(), task.digest()).unwrap();
    refused(&other, &one);
    restore(root.path(), one.digest()).unwrap();
}
