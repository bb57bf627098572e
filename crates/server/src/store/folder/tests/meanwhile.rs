//! Exports and backups while a server writes.

use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::super::maintenance::backup;
use super::model::{exported, folder, open, options, problems};
use crate::store::tests::{commit, compact, dense, reports, sum};
use crate::store::{Damage, Erase, FolderOptions, FolderStore, ReportStore, TaskSettings};

#[test]
fn an_export_and_a_backup_are_of_a_prefix_that_has_all_that_was_acknowledged() {
    let (place, task, told) = (folder(), dense(), AtomicUsize::new(0));
    let root = place.path().join("data");
    let all = reports(&task, 4, 900);
    let options = FolderOptions { log_bytes: 4000, ..options() };
    let store = FolderStore::open(&root, slice::from_ref(&task), options).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            for part in all.chunks(3) {
                commit(&store, &task, part).unwrap();
                told.fetch_add(part.len(), Ordering::SeqCst);
            }
        });
        let mut before = 0;
        for round in 0.. {
            let found = exported(&root, &task, false).unwrap();
            assert!(found.len() >= before && all.starts_with(&found), "{} of {before}", found.len());
            before = told.load(Ordering::SeqCst);
            assert_eq!(problems(&root), [""; 0]);
            let copy = place.path().join(format!("copy {round}"));
            backup(&root, &copy, &mut |_, _| {}).unwrap();
            let found = exported(&copy, &task, false).unwrap();
            assert!(found.len() >= before && all.starts_with(&found), "{} of {before}", found.len());
            let copied = open(&copy).unwrap().task(task.digest()).unwrap();
            assert_eq!((copied.damage(), copied.aggregate()), (Damage::default(), sum(&task, &found)));
            if found.len() == all.len() {
                break;
            }
        }
    });
    assert!(backup(&root, &place.path().join("copy 0"), &mut |_, _| {}).is_err(), "it is there");
}

#[test]
fn a_backup_has_the_reports_of_a_task_that_is_deleted_and_put_again_meanwhile() {
    let (place, both) = (folder(), [compact(), dense()]);
    let root = place.path().join("data");
    let store = FolderStore::open(&root, &both, options()).unwrap();
    both.iter().for_each(|task| _ = commit(&store, task, &reports(task, 4, 9)).unwrap());
    let last = store.tasks().pop().unwrap().task().clone();
    let copied = backup(&root, &place.path().join("copy"), &mut |done, _| {
        // The other one is copied.
        if done > 0 && store.deleted().unwrap().is_empty() {
            assert!(store.delete(last.digest(), Erase::AfterGrace).unwrap());
            store.put(last.clone(), TaskSettings::default()).unwrap();
        }
    });
    let copied = copied.unwrap();
    assert_eq!((copied.tasks, copied.reports), (3, 18));
}
