//! Folders that the disk changed, or a crash: what a start, a reader and a command say, and what is left.

use std::fs;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use rusqlite::Connection;
use tempfile::TempDir;

use super::super::database::FILE;
use super::super::maintenance::{Acknowledged, acknowledge, backup, merge, repair, restore, verify};
use super::super::{FolderStore, deleted_folder, each_deleted, task_folder};
use super::model::{copy_folder, exported, files_below, folder, open, options, problems, quiet};
use crate::store::tests::{commit, committed, compact, dense, reports, sum};
use crate::store::{Damage, Erase, ReportStore, StoreError, TaskSettings};
use ldp_pca::report::Report;
use ldp_pca::task::Task;

/// Fifty reports in batches of seven, all of them in the written sum.
fn filled(task: &Task) -> (TempDir, Vec<Report>) {
    let (root, all) = (folder(), reports(task, 5, 50));
    let store = FolderStore::open(root.path(), from_ref(task), options()).unwrap();
    all.chunks(7).for_each(|part| _ = commit(&store, task, part).unwrap());
    (root, all)
}

/// Flips a bit in the place where these bytes are.
fn hurt(file: &Path, bytes: &[u8]) {
    let mut content = fs::read(file).unwrap();
    let place = content.windows(bytes.len()).position(|window| window == bytes).unwrap();
    content[place + bytes.len() / 2] ^= 1;
    fs::write(file, content).unwrap();
}

fn database(root: &Path, task: &Task) -> PathBuf {
    task_folder(root, task.digest()).join(FILE)
}

fn damage(root: &Path, task: &Task) -> Damage {
    open(root).unwrap().task(task.digest()).unwrap().damage()
}

fn is_lossy<T>(done: &Result<T, StoreError>, reports: u64) -> bool {
    matches!(done, Err(StoreError::Lossy { lost, .. }) if *lost == reports)
}

#[test]
fn a_loss_is_told_until_somebody_acknowledges_it_wherever_the_reports_go() {
    let (task, [place, copy]) = (compact(), [(); 2].map(|()| folder()));
    let all = reports(&task, 8, 50);
    let store = FolderStore::open(place.path(), from_ref(&task), options()).unwrap();
    commit(&store, &task, &all[..20]).unwrap();
    drop(store);
    let store = open(place.path()).unwrap();
    all[20..].chunks(10).for_each(|part| _ = commit(&store, &task, part).unwrap());
    quiet(&store);
    // The files of a killed server, without its log.
    let root = copy.path().join("data");
    copy_folder(place.path(), &root);
    fs::remove_file(database(&root, &task).with_file_name(format!("{FILE}-wal"))).unwrap();
    let [whole, into, backed, some] = ["whole", "into", "backed", "some"].map(|name| copy.path().join(name));
    copy_folder(&root, &whole);
    for start in 0..3 {
        assert!(problems(&root).iter().any(|told| told.contains("30 acknowledged reports")), "{start}");
        assert!(is_lossy(&exported(&root, &task, false), 30));
        assert!(is_lossy(&merge(from_ref(&root), &into, false, &mut |_, _| {}), 30));
        assert!(!into.join("tasks").join(task.digest().to_string()).exists());
        assert_eq!(damage(&root, &task).lost, 30);
    }
    assert_eq!(exported(&root, &task, true).unwrap(), all[..20]);
    let merged = merge(from_ref(&root), &into, true, &mut |_, _| {}).unwrap().remove(0);
    assert_eq!((merged.added, merged.lost), (20, 30));
    // A backup is not whole either, and says so, even if it is made before a start.
    for (from, to) in [(&whole, &some), (&root, &backed)] {
        let told = format!("{:?}", backup(from, to, &mut |_, _| {}).unwrap());
        assert!(told.contains("30 acknowledged reports"), "{told}");
        assert_eq!(damage(to, &task).lost, 30);
    }
    assert_eq!(acknowledge(&root, Some(dense().digest())).unwrap(), []);
    let told = acknowledge(&root, None).unwrap();
    assert!(matches!(&told[..], [Acknowledged { lost: 30, damage, .. }] if damage.len() == 1), "{told:?}");
    assert_eq!((acknowledge(&root, None).unwrap(), damage(&root, &task)), (vec![], Damage::default()));
    assert_eq!(problems(&root), [""; 0]);
    let store = open(&root).unwrap();
    assert_eq!(commit(&store, &task, &all), committed(30, 20));
}

#[test]
fn a_damaged_report_is_told_and_what_is_beside_it_stays() {
    for task in [compact(), dense()] {
        let (root, all) = filled(&task);
        let (file, into) = (database(root.path(), &task), root.path().join("into"));
        hurt(&file, &all[9].to_bytes());
        let before = fs::read(&file).unwrap();
        assert_eq!(problems(root.path()), ["batch 2 has 1 damaged report"]);
        let options = options();
        let store = FolderStore::open(root.path(), &[], options.clone()).unwrap();
        for report in &all[9..11] {
            let refused = store.erase_reports(task.digest(), &[all[30].id(), report.id()]).unwrap_err().to_string();
            assert!(refused.contains("repair") && !refused.contains(&report.id().to_string()), "{refused}");
        }
        assert_eq!(store.task(task.digest()).unwrap().aggregate(), sum(&task, &all));
        assert!(fs::read(&file).unwrap() == before);
        assert_eq!(store.erase_reports(task.digest(), &[all[30].id()]).unwrap().unwrap().erased, 1);
        assert_eq!(*options.failed.borrow(), None);
        drop(store);
        assert!(is_lossy(&exported(root.path(), &task, false), 1));
        assert!(is_lossy(&merge(&[root.path().to_owned()], &into, false, &mut |_, _| {}), 1));
        assert_eq!(merge(&[root.path().to_owned()], &into, true, &mut |_, _| {}).unwrap()[0].reports, 48);
        fs::remove_dir_all(&into).unwrap();
        let repaired = repair(root.path(), &mut |_, _| {}).unwrap();
        assert_eq!((repaired.tasks[0].reports, repaired.problems.len(), repaired.lost.len()), (48, 0, 1));
        assert_eq!(damage(root.path(), &task).lost, 1);
        let store = open(root.path()).unwrap();
        // What was set aside may have one that was erased before, one that is lost, and one that is there.
        for place in [30, 9, 8] {
            let refused = store.erase_reports(task.digest(), &[all[place].id()]).unwrap_err().to_string();
            assert!(refused.contains("acknowledge what was lost"), "{refused}");
        }
        assert_eq!(commit(&store, &task, &all).unwrap().accepted, 1);
        drop(store);
        assert_eq!(acknowledge(root.path(), Some(task.digest())).unwrap()[0].lost, 1);
        assert_eq!((problems(root.path()), exported(root.path(), &task, false).unwrap().len()), (vec![], 49));
        assert!(!files_below(root.path()).iter().any(|file| file.to_string_lossy().contains("damaged")));
    }
}

#[test]
fn a_deleted_task_comes_back_whole_or_says_what_it_lacks() {
    let task = compact();
    let settings = TaskSettings { expires: Some(4_000_000_000), ..TaskSettings::default() };
    let made = || {
        let (root, all) = filled(&task);
        let store = open(root.path()).unwrap();
        store.put(task.clone(), settings.clone()).unwrap();
        store.erase_reports(task.digest(), &[all[0].id()]).unwrap();
        store.delete(task.digest(), Erase::AfterGrace).unwrap();
        let folder = deleted_folder(root.path(), &store.deleted().unwrap()[0]);
        drop(store);
        assert_eq!(problems(root.path()), [""; 0]);
        (root, all, folder)
    };
    let (root, _, folder) = made();
    fs::remove_file(folder.join("changes")).unwrap();
    assert!(problems(root.path())[0].contains("the count of changes is missing"));
    let restored = restore(root.path(), task.digest()).unwrap();
    assert_eq!((restored.reports, restored.damage.len()), (49, 1));
    assert_eq!(damage(root.path(), &task).places, restored.damage);

    // A time of deletion that is another one, and a digest that is none.
    let (root, _, folder) = made();
    let name = folder.file_name().unwrap().to_str().unwrap();
    let (digest, since) = name.split_once('.').unwrap();
    for damaged in [format!("{digest}.0{since}"), format!("{digest}.2{}", &since[1..]), format!("g{}", &name[1..])] {
        let other = folder.with_file_name(damaged);
        fs::rename(&folder, &other).unwrap();
        let error = verify(root.path(), &mut |_, _| {}).unwrap_err().to_string();
        assert!(error.contains("no deletion gave a task the name"), "{error}");
        assert!(restore(root.path(), task.digest()).is_err());
        let named = each_deleted(root.path()).unwrap().remove(0).unwrap_err();
        assert!(named.to_string().starts_with(&other.display().to_string()), "{named}");
        let told = named.for_clients();
        let name = other.file_name().unwrap().to_str().unwrap();
        assert!(told.contains(name) && !told.contains(&root.path().display().to_string()), "{told}");
        // It is kept, and another one is erased whose time is over.
        let store = open(root.path()).unwrap();
        store.put(dense(), TaskSettings::default()).unwrap();
        assert!(store.delete(dense().digest(), Erase::AfterGrace).unwrap());
        let believed = store.deleted().unwrap();
        assert!(believed.iter().map(|task| task.digest).eq([dense().digest()]));
        store.erase(&believed[0]).unwrap();
        assert!(store.deleted().unwrap().is_empty() && other.join(FILE).exists());
        // It may be of a task that is to be erased at once: nothing is.
        store.put(dense(), TaskSettings::default()).unwrap();
        assert!(matches!(store.delete(dense().digest(), Erase::Now), Err(StoreError::Refused { .. })));
        assert!(store.task(dense().digest()).is_some() && database(root.path(), &dense()).exists());
        store.delete(dense().digest(), Erase::AfterGrace).unwrap();
        store.erase(&store.deleted().unwrap()[0]).unwrap();
        fs::rename(other, &folder).unwrap();
    }
    assert_eq!(restore(root.path(), task.digest()).unwrap().reports, 49);

    for erased in [false, true] {
        let (root, all, folder) = made();
        let bytes = if erased { all[0].id().as_bytes().to_vec() } else { b"\"expires\":4000000000".to_vec() };
        hurt(&folder.join(FILE), &bytes);
        assert_eq!(problems(root.path()).len(), 1);
        assert!(restore(root.path(), task.digest()).is_err());
        assert_eq!(repair(root.path(), &mut |_, _| {}).unwrap().lost.len(), 1);
        assert_eq!(problems(root.path()).len(), 2);
        assert_eq!(restore(root.path(), task.digest()).unwrap().reports, 49);
        let (lost, store) = (u64::from(erased), open(root.path()).unwrap());
        let served = store.task(task.digest()).unwrap();
        assert_eq!((served.damage().lost, served.settings().expires), (lost, settings.expires.filter(|_| erased)));
    }

    let (root, all, folder) = made();
    hurt(&folder.join(FILE), &all[20].to_bytes());
    assert_eq!(problems(root.path()).len(), 1);
    assert!(is_lossy(&restore(root.path(), task.digest()), 1));
    assert!(open(root.path()).unwrap().delete(task.digest(), Erase::Now).unwrap());
    assert!(!files_below(root.path()).iter().any(|file| file.ends_with(FILE)));
}

#[test]
fn a_start_finishes_what_was_cut_short() {
    let (task, other) = (compact(), dense());
    let (root, all) = filled(&task);
    let (from, to) = (task_folder(root.path(), task.digest()), task_folder(root.path(), other.digest()));
    // A task that was being made, and one that was being erased.
    copy_folder(&from, &to.with_extension("new"));
    copy_folder(&from, &root.path().join("deleted").join(format!("{}.7.erasing", other.digest())));
    let store = open(root.path()).unwrap();
    assert_eq!((store.tasks().len(), store.deleted().unwrap().len()), (1, 0));
    drop(store);
    // A repair whose result was not in its place yet.
    fs::rename(from.join(FILE), from.join("reports.sqlite.repaired")).unwrap();
    fs::write(from.join(FILE), "damaged").unwrap();
    fs::write(from.join(format!("{FILE}-wal")), "damaged").unwrap();
    let store = open(root.path()).unwrap();
    let served = store.task(task.digest()).unwrap();
    assert_eq!((served.damage(), served.aggregate()), (Damage::default(), sum(&task, &all)));
}

#[test]
fn a_deletion_that_fails_changes_nothing() {
    let task = compact();
    for erase in [Erase::AfterGrace, Erase::Now] {
        let (root, _) = filled(&task);
        let store = open(root.path()).unwrap();
        // Nothing can be moved there.
        fs::remove_dir(root.path().join("deleted")).unwrap();
        assert!(store.delete(task.digest(), erase).is_err());
        // It is served again.
        assert_eq!(store.task(task.digest()).unwrap().counts().records, 50);
        fs::create_dir(root.path().join("deleted")).unwrap();
        assert!(store.delete(task.digest(), erase).unwrap());
        assert!(store.task(task.digest()).is_none() && !task_folder(root.path(), task.digest()).exists());
        assert_eq!(store.deleted().unwrap().len(), usize::from(erase == Erase::AfterGrace));
    }
}

/// The folder is moved, and only root can open the one that it is in now, to sync it.
#[cfg(unix)]
#[test]
fn a_deletion_that_may_not_be_on_the_disk_is_told_to_the_server() {
    use std::os::unix::fs::PermissionsExt;
    let (task, options) = (compact(), options());
    let (root, _) = filled(&task);
    let store = FolderStore::open(root.path(), &[], options.clone()).unwrap();
    let allow = |rights| fs::set_permissions(root.path().join("deleted"), fs::Permissions::from_mode(rights)).unwrap();
    allow(0o300);
    let deleted = store.delete(task.digest(), Erase::AfterGrace);
    allow(0o700);
    assert_eq!(store.deleted().unwrap().len(), 1);
    assert_eq!(options.failed.borrow().is_some(), deleted.is_err());
}

#[test]
fn a_database_whose_log_is_gone_is_repaired() {
    let (root, _) = filled(&compact());
    let file = database(root.path(), &compact());
    hurt(&file, b"SQLite format 3");
    ["-wal", "-shm"].iter().for_each(|end| fs::remove_file(file.with_file_name(format!("{FILE}{end}"))).unwrap());
    let repaired = repair(root.path(), &mut |_, _| {}).unwrap();
    assert_eq!((repaired.tasks[0].reports, repaired.problems), (50, vec![]));
}

#[test]
fn a_report_is_not_taken_for_another_one_of_its_batch() {
    let task = compact();
    let (root, all) = filled(&task);
    let connection = Connection::open(database(root.path(), &task)).unwrap();
    let swapped = [&all[8], &all[7]].map(Report::to_bytes).concat();
    let swap = "UPDATE batches SET reports = CAST(?1 || substr(reports, 71) AS BLOB) WHERE seq = 2";
    assert_eq!(connection.execute(swap, [swapped]).unwrap(), 1);
    drop(connection);
    assert_eq!(problems(root.path()), ["batch 2 has 2 damaged reports"]);
}
