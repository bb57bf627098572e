//! Exports and backups while a server writes.

use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::super::maintenance::backup;
use super::model::{exported, folder, open, options, problems};
use crate::store::tests::{commit, dense, reports, sum};
use crate::store::{Damage, FolderOptions, FolderStore, ReportStore};

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
