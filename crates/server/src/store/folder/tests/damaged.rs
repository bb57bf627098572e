//! Folders that the disk changed: what a start, `verify` and `repair` report on each, and that nothing more is lost.

use std::fs;

use chacha20::ChaCha8Rng;
use rand::SeedableRng;
use rusqlite::Connection;
use tempfile::{TempDir, tempdir};

use super::super::FolderStore;
use super::super::maintenance::tests::{commit, compact, filled, options, problems, segment};
use super::super::maintenance::{Repaired, repair, verify};
use super::model::{batch, reports};
use crate::store::{Damage, ReportStore, StoreError, TaskSettings};
use ldp_pca::report::Report;
use ldp_pca::task::Task;

fn settings() -> TaskSettings {
    TaskSettings { minimum_batch: Some(9000), max_records: Some(1000), ..TaskSettings::default() }
}

/// Fifty reports, 42 of them in two sealed segments, in a task with settings.
fn folder() -> (TempDir, Vec<Report>) {
    let (root, all) = filled(&compact());
    let store = open(&root).unwrap();
    store.put(compact(), settings()).unwrap();
    store.close();
    (root, all)
}

fn open(root: &TempDir) -> Result<FolderStore, StoreError> {
    FolderStore::open(root.path(), &[], options())
}

fn repaired(root: &TempDir) -> Repaired {
    repair(root.path(), &mut |_, _| {}).unwrap()
}

fn damage(store: &FolderStore) -> Damage {
    store.task(compact().digest()).unwrap().damage()
}

/// How many of these reports are new to a store.
fn new_in(store: &FolderStore, task: &Task, reports: &[Report]) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(store.task(task.digest()).unwrap().commit(batch(reports))).unwrap().accepted
}

/// Changes the manifest behind the store's back, as a flipped bit does. The start refuses it, `verify` reports it, and
/// `repair` restores all reports.
fn change_manifest(change: &str) -> Repaired {
    let (root, all) = folder();
    let connection = Connection::open(root.path().join("store.sqlite")).unwrap();
    assert!(connection.execute(change, []).unwrap() > 0);
    drop(connection);
    let error = open(&root).err().unwrap().to_string();
    assert!(error.contains("store.sqlite") && error.contains("repair it"), "{error}");
    assert!(segment(&root, &compact(), "00000000.parquet").exists(), "nothing is erased");
    assert_ne!(problems(&root), Vec::<String>::new());
    let repaired = repaired(&root);
    assert_eq!((repaired.tasks[0].reports, repaired.problems.len()), (50, 0), "{repaired:?}");
    assert_eq!(problems(&root), Vec::<String>::new());
    let store = open(&root).unwrap();
    assert_eq!((damage(&store), new_in(&store, &compact(), &all)), (Damage::default(), 0));
    let kept = *store.task(compact().digest()).unwrap().settings() == settings();
    assert_eq!(kept, repaired.lost.is_empty(), "{repaired:?}");
    repaired
}

#[test]
fn a_changed_mark_of_deletion_erases_nothing() {
    let repaired = change_manifest("UPDATE tasks SET deleted = 1");
    assert!(repaired.lost[0].contains("settings"), "{repaired:?}");
}

#[test]
fn a_changed_setting_is_not_served() {
    let repaired = change_manifest("UPDATE tasks SET settings = replace(settings, '9000', '9001')");
    assert!(repaired.lost[0].contains("settings"), "{repaired:?}");
}

#[test]
fn a_changed_id_lets_no_report_count_twice() {
    let repaired = change_manifest("UPDATE segments SET ids = zeroblob(length(ids)) WHERE number = 1");
    assert!(repaired.lost.is_empty() && repaired.repairs[0].contains("segment 1"), "{repaired:?}");
}

#[test]
fn a_row_that_vanished_or_changed_is_missed() {
    for change in [
        "DELETE FROM segments WHERE number = 1",
        "DELETE FROM snapshots",
        "UPDATE snapshots SET bytes = zeroblob(length(bytes))",
        "UPDATE segments SET reports = reports + 1",
        "UPDATE segments SET footer = footer + 1 WHERE number = 0",
        "UPDATE segments SET checksum = checksum + 1",
        "UPDATE state SET changes = changes + 1",
        "DELETE FROM state",
    ] {
        let repaired = change_manifest(change);
        assert!(repaired.lost.is_empty(), "{change}: {repaired:?}");
    }
    let repaired = change_manifest("DELETE FROM tasks");
    assert!(repaired.lost[0].contains("settings"), "{repaired:?}");
}

#[test]
fn a_log_of_the_manifest_that_is_lost_is_missed() {
    let (root, all) = folder();
    let store = open(&root).unwrap();
    store.put(compact(), TaskSettings::default()).unwrap();
    // The files of a killed server, without its log.
    let copy = tempdir().unwrap();
    for name in ["format", "store.sqlite", "store.sqlite-changes"] {
        fs::copy(root.path().join(name), copy.path().join(name)).unwrap();
    }
    drop(store);
    fs::rename(root.path().join("tasks"), copy.path().join("tasks")).unwrap();
    let error = open(&copy).err().unwrap().to_string();
    assert!(error.contains("the last 1 of its") && error.contains("repair it"), "{error}");
    assert!(problems(&copy)[0].contains("the last 1 of its"));
    let repaired = repaired(&copy);
    assert!(repaired.repairs[0].contains("the last 1 of its"), "{repaired:?}");
    assert_eq!(new_in(&open(&copy).unwrap(), &compact(), &all), 0);
    // Without the count nobody knows. That is reported, once.
    fs::write(copy.path().join("store.sqlite-changes"), "").unwrap();
    assert!(problems(&copy)[0].contains("store.sqlite-changes"));
    assert!(open(&copy).unwrap().manifest.doubt.is_some());
    assert!(open(&copy).unwrap().manifest.doubt.is_none());
}

#[test]
fn a_damaged_report_of_the_written_segment_is_reported_with_its_place() {
    let task = compact();
    let all = reports(&task, &mut ChaCha8Rng::seed_from_u64(8), 10);
    for repairs in [false, true] {
        let root = tempdir().unwrap();
        let store = FolderStore::open(root.path(), std::slice::from_ref(&task), options()).unwrap();
        commit(&store, &task, &all);
        drop(store);
        let path = segment(&root, &task, "00000000.open");
        let mut bytes = fs::read(&path).unwrap();
        let (length, report) = (bytes.len(), all[3].to_bytes());
        let place = bytes.windows(report.len()).position(|window| window == report).unwrap();
        bytes[place + 20] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let told = [
            format!("00000000.open is damaged from byte {place} on, and was acknowledged up to byte {length}"),
            "1 of 10 acknowledged reports are lost".to_owned(),
        ];
        assert_eq!(problems(&root), told);
        if repairs {
            let lost = told.map(|told| format!("task {}: {told}", task.digest()));
            assert_eq!(repaired(&root).lost, lost);
        } else {
            let expected = Damage { cut_bytes: 0, passed_over: 1, places: told.to_vec() };
            assert_eq!(damage(&open(&root).unwrap()), expected);
        }
        assert_eq!(fs::read(segment(&root, &task, "00000000.0.damaged")).unwrap(), bytes);
        assert_eq!(problems(&root), Vec::<String>::new());
        assert_eq!(new_in(&open(&root).unwrap(), &task, &all), 1);
    }
}

#[test]
fn a_cut_of_the_written_segment_is_told_of_with_its_number() {
    let (root, all) = folder();
    let path = segment(&root, &compact(), "00000002.open");
    let told = segment(&root, &compact(), "acknowledged");
    let (good, acknowledged) = (fs::read(&path).unwrap(), fs::read(&told).unwrap());
    for length in (0..good.len()).step_by(7) {
        fs::write(&path, &good[..length]).unwrap();
        fs::write(&told, &acknowledged).unwrap();
        let found = problems(&root);
        let store = open(&root).unwrap();
        let damage = damage(&store);
        assert_eq!(found, damage.places, "{length} bytes");
        assert_eq!(damage.passed_over, new_in(&store, &compact(), &all), "{length} bytes");
        assert!(damage.places[0].starts_with("00000002.open is damaged from byte"), "{damage:?}");
        let lost = format!("{} of 50 acknowledged reports are lost", damage.passed_over);
        assert_eq!((damage.places[1].as_str(), damage.cut_bytes), (&*lost, 0));
        // All but the reports that were cut.
        assert!(damage.passed_over <= 8 - (length as u64).saturating_sub(4 + 2 * 48) / 35, "{length}: {damage:?}");
    }
    fs::remove_file(&path).unwrap();
    let lost = ["00000002.open is gone", "8 of 50 acknowledged reports are lost"];
    assert!(problems(&root).iter().zip(lost).all(|(problem, lost)| problem.starts_with(lost)));
}

#[test]
fn bytes_above_what_was_acknowledged_are_no_loss() {
    let (root, _) = folder();
    let path = segment(&root, &compact(), "00000002.open");
    let good = fs::read(&path).unwrap();
    fs::write(&path, [&good[..], &good[4..100]].concat()).unwrap();
    let verified = verify(root.path(), &mut |_, _| {}).unwrap();
    assert!(verified.is_good() && verified.tasks[0].notes[0].contains("96 bytes that were never acknowledged"));
    assert_eq!(damage(&open(&root).unwrap()), Damage { cut_bytes: 96, ..Damage::default() });
    assert_eq!(fs::read(&path).unwrap(), good);
}

#[test]
fn without_the_file_of_what_was_acknowledged_nobody_claims_to_know() {
    let (root, all) = folder();
    let path = segment(&root, &compact(), "acknowledged");
    let good = fs::read(&path).unwrap();
    for bad in [None, Some(&[][..]), Some(&[7; 5000][..]), Some(&good[..20])] {
        match bad {
            None => fs::remove_file(&path).unwrap(),
            Some(bad) => fs::write(&path, bad).unwrap(),
        }
        assert!(problems(&root)[0].starts_with("acknowledged "), "{:?}", problems(&root));
        let store = open(&root).unwrap();
        assert!(damage(&store).places[0].starts_with("acknowledged "), "{:?}", damage(&store));
        assert_eq!(new_in(&store, &compact(), &all), 0);
        drop(store);
        assert_eq!((problems(&root), damage(&open(&root).unwrap())), (Vec::new(), Damage::default()));
    }
    // As a power cut may leave it.
    fs::write(&path, [&[7; 20], &good[20..]].concat()).unwrap();
    let verified = verify(root.path(), &mut |_, _| {}).unwrap();
    let half = verified.tasks[0].notes.iter().any(|note| note.contains("half of"));
    assert!(verified.is_good() && half, "{verified:?}");
    assert_eq!(damage(&open(&root).unwrap()), Damage::default());
}

#[test]
fn a_sealed_segment_in_the_place_of_another_is_refused() {
    let (root, all) = folder();
    let (first, second) =
        (segment(&root, &compact(), "00000000.parquet"), segment(&root, &compact(), "00000001.parquet"));
    let swapped = fs::read(&second).unwrap();
    assert_eq!(swapped.len(), fs::read(&first).unwrap().len());
    fs::write(&first, &swapped).unwrap();
    let error = open(&root).err().unwrap().to_string();
    assert!(error.contains("00000000.parquet does not have the footer"), "{error}");
    assert!(problems(&root).iter().any(|problem| problem.contains("00000000.parquet")));
    let lost = repaired(&root).lost;
    assert!(lost.iter().any(|lost| lost.contains("21 of 50 acknowledged reports are lost")), "{lost:?}");
    assert_eq!(new_in(&open(&root).unwrap(), &compact(), &all), 21);
}

#[test]
fn a_damaged_name_of_the_format_is_refused_and_repaired() {
    let (root, _) = folder();
    for bad in ["", "ldp-pcb store 3\n", "ldp-pca store ?\n"] {
        fs::write(root.path().join("format"), bad).unwrap();
        assert!(matches!(open(&root), Err(StoreError::Format { .. })));
        assert!(repaired(&root).repairs[0].contains("format was damaged"));
        assert_eq!(problems(&root), Vec::<String>::new());
    }
}
