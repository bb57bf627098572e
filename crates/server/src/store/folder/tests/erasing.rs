//! Single reports are erased, on a real disk.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::tempdir;

use super::super::FolderStore;
use super::super::maintenance::tests::{commit, compact, dense, filled, options, problems};
use super::super::maintenance::{Layout, export, merge, repair, restore, verify};
use super::model::{batch, sum};
use crate::store::{Committed, Erase, ErasedReports, ReportStore};
use ldp_pca::report::{Report, ReportId};
use ldp_pca::task::Task;

fn opened(root: &Path) -> FolderStore {
    FolderStore::open(root, &[], options()).unwrap()
}

fn erase(root: &Path, task: &Task, reports: &[Report]) -> ErasedReports {
    let store = opened(root);
    let ids: Vec<ReportId> = reports.iter().map(Report::id).collect();
    let erased = store.erase_reports(task.digest(), &ids).unwrap().unwrap();
    store.close();
    erased
}

/// Whether these are all reports of the folder, by every way that there is to see them; and the others stay refused.
fn assert_holds(root: &Path, task: &Task, reports: &[Report], refused: &[Report]) {
    let verified = verify(root, &mut |_, _| {}).unwrap();
    assert!(verified.is_good(), "{verified:?}");
    let found = &verified.tasks[0];
    assert_eq!((found.reports, found.erased), (reports.len() as u64, refused.len() as u64));
    let mut exported = Vec::new();
    export(root, task.digest(), Layout::Plain, &mut exported, &mut |_, _| {}).unwrap();
    assert_eq!(exported, batch(reports).bytes);
    let store = opened(root);
    let served = store.task(task.digest()).unwrap();
    assert_eq!(served.damage(), crate::store::Damage::default());
    assert_eq!(served.aggregate().unwrap(), sum(task, reports));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let again = runtime.block_on(served.commit(batch(refused))).unwrap();
    assert_eq!(again, Committed { duplicate: refused.len() as u64, ..Committed::default() });
    assert_eq!(served.aggregate().unwrap(), sum(task, reports));
}

/// All files below a folder, in order.
fn files_below(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect();
    files.sort();
    files
}

/// The names of those that hold these bytes.
fn files_with(root: &Path, bytes: &[u8]) -> Vec<String> {
    let holds = |path: &PathBuf| fs::read(path).unwrap().windows(bytes.len()).any(|window| window == bytes);
    let name = |path: PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    files_below(root).into_iter().filter(holds).map(name).collect()
}

/// Of a sealed segment, of the one that is being written, and both at once.
#[test]
fn an_erased_report_is_in_no_sum_and_no_file_and_stays_refused() {
    for task in [compact(), dense()] {
        for places in [&[3][..], &[47], &[0, 20, 21, 49]] {
            let (root, mut left) = filled(&task);
            let gone: Vec<Report> = places.iter().rev().map(|place| left.remove(*place)).collect();
            let count = gone.len() as u64;
            assert!(gone.iter().all(|report| !files_with(root.path(), &report.to_bytes()).is_empty()));
            assert_eq!(erase(root.path(), &task, &gone), ErasedReports { erased: count, ..ErasedReports::default() });
            assert_eq!(erase(root.path(), &task, &gone), ErasedReports { before: count, ..ErasedReports::default() });
            for report in &gone {
                assert_eq!(files_with(root.path(), &report.to_bytes()), [""; 0]);
                assert_eq!(files_with(root.path(), report.id().as_bytes()), ["erased"]);
            }
            assert_holds(root.path(), &task, &left, &gone);
        }
    }
}

/// Anybody may ask for it, as often as the server allows.
#[test]
fn an_id_that_no_report_has_or_that_was_erased_seals_no_segment() {
    let (root, all) = filled(&compact());
    erase(root.path(), &compact(), &all[..1]);
    let store = opened(root.path());
    let fresh = Report::from_parts(compact().digest(), ReportId::new([9; 16]), all[0].payload().to_vec());
    commit(&store, &compact(), std::slice::from_ref(&fresh));
    assert_eq!(store.task(compact().digest()).unwrap().counts().records, 50);
    let before = files_below(root.path());
    assert!(before.iter().any(|file| file.extension().is_some_and(|end| end == "open")), "{before:?}");
    let ids = [ReportId::new([7; 16]), all[0].id(), ReportId::new([7; 16])];
    let found = store.erase_reports(compact().digest(), &ids).unwrap();
    assert_eq!(found, Some(ErasedReports { erased: 0, before: 1, unknown: 1 }));
    assert_eq!(files_below(root.path()), before);
    let found = store.erase_reports(compact().digest(), &[fresh.id(), all[0].id()]).unwrap();
    assert_eq!(found, Some(ErasedReports { erased: 1, before: 1, unknown: 0 }));
    assert_ne!(files_below(root.path()), before);
}

#[test]
fn an_id_that_no_report_has_is_unknown_and_changes_no_format() {
    let (root, mut all) = filled(&compact());
    let other = all
        .pop()
        .map(|report| Report::from_parts(compact().digest(), ReportId::new([7; 16]), report.payload().to_vec()));
    let unknown = ErasedReports { unknown: 1, ..ErasedReports::default() };
    assert_eq!(erase(root.path(), &compact(), &[other.unwrap()]), unknown);
    assert_eq!(fs::read_to_string(root.path().join("format")).unwrap().trim(), "ldp-pca store 3");
    assert!(files_with(root.path(), &[7; 16]).is_empty());
    let store = opened(root.path());
    assert_eq!(store.erase_reports(dense().digest(), &[ReportId::new([7; 16])]).unwrap(), None, "no such task");
}

#[test]
fn a_folder_that_gets_a_file_of_erased_ids_has_a_newer_format_from_the_next_start_on() {
    let (root, all) = filled(&compact());
    let (other, _) = filled(&compact());
    erase(other.path(), &compact(), &all[..1]);
    let file = |root: &Path| root.join("tasks").join(compact().digest().to_string()).join("erased");
    fs::copy(file(other.path()), file(root.path())).unwrap();
    opened(root.path()).close();
    assert_eq!(fs::read_to_string(root.path().join("format")).unwrap(), "ldp-pca store 4\n");
}

/// Older releases would count the report again.
#[test]
fn a_folder_from_which_a_report_was_erased_has_a_newer_format() {
    let (root, mut left) = filled(&compact());
    let gone = vec![left.remove(5)];
    erase(root.path(), &compact(), &gone);
    let format = || fs::read_to_string(root.path().join("format")).unwrap();
    assert_eq!(format(), "ldp-pca store 4\n");
    fs::write(root.path().join("format"), "ldp-pca stor").unwrap();
    repair(root.path(), &mut |_, _| {}).unwrap();
    assert_eq!(format(), "ldp-pca store 4\n");
    assert_holds(root.path(), &compact(), &left, &gone);
}

#[test]
fn a_whole_segment_can_be_erased() {
    let (root, all) = filled(&compact());
    assert_eq!(erase(root.path(), &compact(), &all[..21]).erased, 21);
    assert_holds(root.path(), &compact(), &all[21..], &all[..21]);
    assert_eq!(erase(root.path(), &compact(), &all).erased, 29);
    assert_holds(root.path(), &compact(), &[], &all);
    repair(root.path(), &mut |_, _| {}).unwrap();
    assert_holds(root.path(), &compact(), &[], &all);
}

#[test]
fn what_is_erased_stays_so_when_the_manifest_is_rebuilt_or_the_task_is_brought_back() {
    let (root, mut left) = filled(&dense());
    let gone = vec![left.remove(30), left.remove(2)];
    erase(root.path(), &dense(), &gone);
    fs::remove_file(root.path().join("store.sqlite")).unwrap();
    repair(root.path(), &mut |_, _| {}).unwrap();
    assert_holds(root.path(), &dense(), &left, &gone);
    let store = opened(root.path());
    assert!(store.delete(dense().digest(), Erase::AfterGrace).unwrap());
    store.close();
    drop(store);
    restore(root.path(), dense().digest()).unwrap();
    assert_holds(root.path(), &dense(), &left, &gone);
}

/// An earlier copy of the segments and the manifest, with the newest list of erased ids.
#[test]
fn an_earlier_copy_of_a_folder_with_the_newest_list_erases_at_the_start() {
    let (root, mut left) = filled(&compact());
    let copy = tempdir().unwrap();
    let name = |folder: &Path| folder.join("tasks").join(compact().digest().to_string()).join("erased");
    copy_folder(root.path(), copy.path());
    let gone = vec![left.remove(45), left.remove(10)];
    erase(root.path(), &compact(), &gone);
    fs::copy(name(root.path()), name(copy.path())).unwrap();
    drop(opened(copy.path()));
    assert!(gone.iter().all(|report| files_with(copy.path(), &report.to_bytes()).is_empty()));
    assert_holds(copy.path(), &compact(), &left, &gone);
}

#[test]
fn a_merge_with_a_folder_that_still_has_the_report_erases_it_whatever_their_order() {
    let (first, mut left) = filled(&compact());
    let copy = tempdir().unwrap();
    copy_folder(first.path(), copy.path());
    let gone = vec![left.remove(33)];
    erase(first.path(), &compact(), &gone);
    for order in [[first.path(), copy.path()], [copy.path(), first.path()]] {
        let merged = tempdir().unwrap();
        let sources = order.map(Path::to_owned);
        merge(&sources, merged.path(), &mut |_, _| {}).unwrap();
        assert_holds(merged.path(), &compact(), &left, &gone);
        // Also where nobody has it.
        let other = tempdir().unwrap();
        merge(&[merged.path().to_owned()], other.path(), &mut |_, _| {}).unwrap();
        assert_holds(other.path(), &compact(), &left, &gone);
    }
    merge(&[first.path().to_owned()], copy.path(), &mut |_, _| {}).unwrap();
    assert_holds(copy.path(), &compact(), &left, &gone);
}

#[test]
fn a_damaged_or_shortened_list_is_reported() {
    let list = |root: &Path| root.join("tasks").join(compact().digest().to_string()).join("erased");
    let made = || {
        let (root, all) = filled(&compact());
        erase(root.path(), &compact(), &all[..3]);
        root
    };
    let root = made();
    let mut bytes = fs::read(list(root.path())).unwrap();
    bytes[5] ^= 1;
    fs::write(list(root.path()), &bytes).unwrap();
    assert!(problems(&root).iter().any(|problem| problem.contains("1 damaged records")), "{:?}", problems(&root));
    let repaired = repair(root.path(), &mut |_, _| {}).unwrap();
    assert!(repaired.lost.iter().any(|lost| lost.contains("1 damaged records")), "{repaired:?}");
    assert_eq!(problems(&root), [""; 0]);

    let root = made();
    fs::write(list(root.path()), &fs::read(list(root.path())).unwrap()[..40]).unwrap();
    assert!(problems(&root).iter().any(|problem| problem.contains("acknowledged reports are lost")));
}

/// The keeper sums, seals and erases while others upload.
#[test]
fn reports_that_arrive_during_an_erasure_are_counted() {
    let (root, all) = filled(&compact());
    let store = opened(root.path());
    let more = super::model::reports(&compact(), &mut rand::SeedableRng::seed_from_u64(8), 60);
    std::thread::scope(|scope| {
        scope.spawn(|| more.chunks(3).for_each(|part| commit(&store, &compact(), part)));
        for report in &all {
            let erased = store.erase_reports(compact().digest(), &[report.id()]).unwrap().unwrap();
            assert_eq!(erased.erased, 1);
        }
    });
    assert_eq!(store.task(compact().digest()).unwrap().aggregate().unwrap(), sum(&compact(), &more));
    store.close();
    drop(store);
    assert_holds(root.path(), &compact(), &more, &all);
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}
