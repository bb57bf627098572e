//! Folders on a real disk, whole and damaged.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use chacha20::ChaCha8Rng;
use parquet::data_type::AsBytes;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use rand::SeedableRng;
use tempfile::{TempDir, tempdir};

use super::super::tests::model::{batch, reports, sum};
use super::super::{FolderOptions, FolderStore};
use super::{Layout, deleted, export, merge, read_segment, repair, restore, tasks, verify};
use crate::store::tests::second_wave;
use crate::store::{Erase, Put, RefinementPlan, ReportStore, StoreError, TaskSettings};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::mechanism::{Calibration, MechanismSpec};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::Bounding;
use ldp_pca::report::{Report, report_bytes};
use ldp_pca::schema::Schema;
use ldp_pca::task::{Folds, Task};

fn task(mechanism: MechanismSpec) -> Task {
    Task::new(Schema::numeric(6).unwrap(), Bounding::UnitNorm, mechanism, Folds::new(2).unwrap()).unwrap()
}

pub(in super::super) fn compact() -> Task {
    task(MechanismSpec::DoubleCap { epsilon: Epsilon::new(2.0).unwrap(), candidates: 16, cap: 2 })
}

pub(in super::super) fn dense() -> Task {
    let (epsilon, delta) = (Epsilon::new(2.0).unwrap(), Delta::new(1e-6).unwrap());
    task(MechanismSpec::Gaussian { epsilon, delta, calibration: Calibration::Analytic })
}

pub(in super::super) fn options() -> FolderOptions {
    FolderOptions { segment_reports: 20, ..FolderOptions::default() }
}

pub(in super::super) fn commit(store: &FolderStore, task: &Task, reports: &[Report]) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let task = store.task(task.digest()).unwrap();
    runtime.block_on(task.commit(batch(reports))).unwrap();
}

pub(in super::super) fn fill(root: &Path, task: &Task, reports: &[Report]) {
    let store = FolderStore::open(root, std::slice::from_ref(task), options()).unwrap();
    reports.chunks(7).for_each(|reports| commit(&store, task, reports));
    store.close();
}

/// A folder with two sealed segments of 21 reports each, and one of 8 that is being written.
pub(in super::super) fn filled(task: &Task) -> (TempDir, Vec<Report>) {
    let root = tempdir().unwrap();
    let reports = reports(task, &mut ChaCha8Rng::seed_from_u64(5), 50);
    fill(root.path(), task, &reports);
    (root, reports)
}

pub(in super::super) fn segment(root: &TempDir, task: &Task, name: &str) -> PathBuf {
    root.path().join("tasks").join(task.digest().to_string()).join(name)
}

pub(in super::super) fn problems(root: &TempDir) -> Vec<String> {
    let verified = verify(root.path(), &mut |_, _| {}).unwrap();
    let problems: Vec<String> =
        verified.tasks.into_iter().flat_map(|task| task.problems).chain(verified.problems).collect();
    problems
}

fn aggregate(root: &Path, task: &Task) -> Aggregate {
    let store = FolderStore::open(root, &[], options()).unwrap();
    store.task(task.digest()).unwrap().aggregate().unwrap()
}

/// The reports of a Parquet file, read by another engine.
fn read_parquet(path: &Path, task: &Task) -> Vec<Report> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| Report::from_bytes(row.unwrap().get_bytes(0).unwrap().as_bytes(), task).unwrap()).collect()
}

#[test]
fn another_engine_reads_the_segments_and_their_metadata() {
    for task in [compact(), dense()] {
        let (root, reports) = filled(&task);
        assert_eq!(read_parquet(&segment(&root, &task, "00000000.parquet"), &task), reports[..21]);
        assert_eq!(read_parquet(&segment(&root, &task, "00000001.parquet"), &task), reports[21..42]);
        let file = File::open(segment(&root, &task, "00000001.parquet")).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let notes = reader.metadata().file_metadata().key_value_metadata().unwrap();
        let note = |key: &str| notes.iter().find(|note| note.key == key).unwrap().value.clone().unwrap();
        assert_eq!(note("ldp-pca.task"), task.to_json());
        assert_eq!((note("ldp-pca.task.digest"), note("ldp-pca.segment")), (task.digest().to_string(), "1".to_owned()));

        let exported = root.path().join("all.parquet");
        let mut output = File::create(&exported).unwrap();
        let done = export(root.path(), task.digest(), Layout::Parquet, &mut output, &mut |_, _| {}).unwrap();
        assert_eq!((done.reports, done.lost), (50, 0));
        assert_eq!(read_parquet(&exported, &task), reports);
        let reader = SerializedFileReader::new(File::open(&exported).unwrap()).unwrap();
        let column = reader.metadata().row_group(0).column(0).compressed_size();
        let pages = reports.chunks(7).map(|page| page.len() * report_bytes(&task) + 16);
        assert!((column as usize).abs_diff(pages.sum()) < 8 * 16, "{column}");
        let mut plain = Vec::new();
        export(root.path(), task.digest(), Layout::Plain, &mut plain, &mut |_, _| {}).unwrap();
        assert_eq!(plain, reports.iter().flat_map(Report::to_bytes).collect::<Vec<u8>>());
    }
}

#[test]
fn altered_bytes_of_segments_are_noticed() {
    let task = compact();
    let (root, _) = filled(&task);
    assert_eq!(problems(&root), Vec::<String>::new());
    let path = segment(&root, &task, "00000001.parquet");
    let good = fs::read(&path).unwrap();
    for place in (0..good.len()).step_by(9) {
        let mut bad = good.clone();
        bad[place] ^= 0x04;
        fs::write(&path, &bad).unwrap();
        assert_ne!(problems(&root), Vec::<String>::new(), "byte {place} of {}", good.len());
    }
    fs::write(&path, &good).unwrap();
    assert_eq!(problems(&root), Vec::<String>::new());
    // And the one being written, up to its end.
    let path = segment(&root, &task, "00000002.open");
    let good = fs::read(&path).unwrap();
    for place in (0..good.len()).step_by(9) {
        let mut bad = good.clone();
        bad[place] ^= 0x04;
        fs::write(&path, &bad).unwrap();
        assert_ne!(problems(&root), Vec::<String>::new(), "byte {place} of {}", good.len());
        fs::write(&path, &good[..place]).unwrap();
        assert_ne!(problems(&root), Vec::<String>::new(), "{place} bytes of {}", good.len());
    }
}

#[test]
fn a_lost_manifest_is_made_again_from_the_segments() {
    let task = dense();
    let (root, all) = filled(&task);
    let store = FolderStore::open(root.path(), &[], options()).unwrap();
    let settings = TaskSettings { minimum_batch: Some(7), ..TaskSettings::default() };
    store.put(task.clone(), settings.clone()).unwrap();
    drop(store);
    let manifest = root.path().join("store.sqlite");
    let good = fs::read(&manifest).unwrap();

    let repaired = repair(root.path(), &mut |_, _| {}).unwrap();
    assert_eq!((repaired.tasks[0].reports, &repaired.repairs[..]), (50, &[][..]));
    let store = FolderStore::open(root.path(), &[], options()).unwrap();
    assert_eq!(*store.task(task.digest()).unwrap().settings(), settings);
    drop(store);

    let half = good[..good.len() / 2].to_vec();
    for bad in [None, Some(b"not a database".to_vec()), Some(half)] {
        fs::remove_file(&manifest).unwrap();
        if let Some(bad) = &bad {
            fs::write(&manifest, bad).unwrap();
        }
        let refused = FolderStore::open(root.path(), &[], options());
        if bad.as_ref().is_none_or(|bad| bad.len() < 100) {
            let error = refused.err().unwrap().to_string();
            assert!(error.contains("store.sqlite") && error.contains("repair it"), "{error}");
        }
        assert_ne!(problems(&root), Vec::<String>::new());
        let repaired = repair(root.path(), &mut |_, _| {}).unwrap();
        assert_eq!((repaired.tasks[0].reports, repaired.problems.len()), (50, 0));
        assert!(repaired.lost[0].contains("settings"), "{repaired:?}");
        assert_eq!(problems(&root), Vec::<String>::new());
        assert_eq!(aggregate(root.path(), &task), sum(&task, &all));
    }
    assert!(fs::read(root.path().join("store.sqlite.0.damaged")).unwrap() == b"not a database");
}

#[test]
fn what_is_left_of_damaged_segments_is_kept_and_the_rest_is_set_aside() {
    let task = compact();
    let (root, all) = filled(&task);
    let path = segment(&root, &task, "00000000.parquet");
    let mut bad = fs::read(&path).unwrap();
    let first = bad.windows(4).position(|window| window == b"LDPR").unwrap();
    // The second and third report, and the header of the second page.
    bad[first + 35 + 20] ^= 1;
    bad[first + 70..first + 105].fill(0);
    bad[first + 7 * 35 + 1] ^= 0xff;
    fs::write(&path, &bad).unwrap();
    let open = fs::read(segment(&root, &task, "00000002.open")).unwrap();
    fs::write(segment(&root, &task, "00000002.open"), &open[..open.len() - 1]).unwrap();
    fs::remove_file(segment(&root, &task, "task.json")).unwrap();
    assert!(FolderStore::open(root.path(), &[], options()).is_err());

    let repaired = repair(root.path(), &mut |_, _| {}).unwrap();
    assert_eq!((repaired.tasks[0].reports, repaired.problems.len()), (47, 0), "{repaired:?}");
    assert_eq!(fs::read(segment(&root, &task, "00000000.0.damaged")).unwrap(), bad);
    assert_eq!(problems(&root), Vec::<String>::new());
    let left: Vec<&Report> =
        all.iter().enumerate().filter(|(index, _)| ![1, 2, 49].contains(index)).map(|(_, report)| report).collect();
    assert_eq!(aggregate(root.path(), &task), sum(&task, left));
    assert_eq!(read_parquet(&path, &task).len(), 19);

    // A segment that is gone, and one that is of somebody else's.
    fs::remove_file(&path).unwrap();
    let error = FolderStore::open(root.path(), &[], options()).err().unwrap().to_string();
    assert!(error.contains("00000000.parquet is gone"), "{error}");
    let stranger = reports(&dense(), &mut ChaCha8Rng::seed_from_u64(6), 3);
    let other = tempdir().unwrap();
    fill(other.path(), &dense(), &stranger);
    fs::copy(segment(&other, &dense(), "00000000.open"), segment(&root, &task, "00000003.open")).unwrap();
    let repaired = repair(root.path(), &mut |_, _| {}).unwrap();
    assert!(repaired.lost.iter().any(|lost| lost.contains("with 19 reports is gone")), "{repaired:?}");
    assert_eq!(repaired.tasks[0].reports, 28);
    assert_eq!(problems(&root), Vec::<String>::new());
}

#[test]
fn a_merge_is_the_union_and_may_be_repeated() {
    let (first, second) = (compact(), dense());
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (ours, theirs) = (reports(&first, &mut rng, 60), reports(&second, &mut rng, 33));
    let (here, there, into) = (tempdir().unwrap(), tempdir().unwrap(), tempdir().unwrap());
    fill(here.path(), &first, &ours[..40]);
    fill(there.path(), &first, &ours[25..]);
    fill(there.path(), &second, &theirs);
    let sources = [here.path().to_owned(), there.path().to_owned()];
    let merged = merge(&sources, into.path(), &mut |_, _| {}).unwrap();
    let of = |task: &Task| merged.iter().find(|merged| merged.task == task.digest().to_string()).unwrap();
    assert_eq!((of(&first).added, of(&first).duplicates, of(&first).reports), (60, 15, 60));
    assert_eq!((of(&second).added, of(&second).duplicates), (33, 0));
    let again = merge(&sources, into.path(), &mut |_, _| {}).unwrap();
    assert!(again.iter().all(|task| task.added == 0), "{again:?}");
    assert_eq!(aggregate(into.path(), &first), sum(&first, &ours));
    assert_eq!(aggregate(into.path(), &second), sum(&second, &theirs));
    assert_eq!(problems(&into), Vec::<String>::new());
    assert_eq!(tasks(into.path()).unwrap().len(), 2);
    let into_itself = merge(&sources, here.path(), &mut |_, _| {}).unwrap_err().to_string();
    assert!(into_itself.contains("another server holds"), "{into_itself}");
}

/// The first wave's reports, closed and with a second wave along an axis.
fn fill_waves(root: &Path, reports: &[Report], axis: usize) -> Task {
    let (first, plan) = (compact(), RefinementPlan { after: 4, rank: 1 });
    fill(root, &first, reports);
    let store = FolderStore::open(root, &[], options()).unwrap();
    assert!(store.close_first_wave(first.digest(), plan).unwrap());
    let second = second_wave(&first, axis, reports.len() as u64);
    let task = second.task.clone();
    assert_eq!(store.open_second_wave(first.digest(), second).unwrap(), Some((task.digest(), Put::Created)));
    task
}

#[test]
fn a_merge_keeps_a_first_wave_closed_and_refuses_two_second_waves() {
    let first = compact();
    let all = reports(&first, &mut ChaCha8Rng::seed_from_u64(9), 30);
    let [copy, here, there] = [(); 3].map(|()| tempdir().unwrap());
    fill(copy.path(), &first, &all[..10]);
    let second = fill_waves(here.path(), &all[..20], 0);
    fill_waves(there.path(), &all[..20], 1);
    let [copy, here, there] = [&copy, &here, &there].map(|folder| folder.path().to_owned());
    for sources in [[copy.clone(), here.clone()], [here.clone(), copy]] {
        let into = tempdir().unwrap();
        for added in [20, 0] {
            let merged = merge(&sources, into.path(), &mut |_, _| {}).unwrap();
            assert_eq!(merged.iter().map(|task| task.added).sum::<u64>(), added);
        }
        let store = FolderStore::open(into.path(), &[], options()).unwrap();
        let settings = store.task(first.digest()).unwrap().settings();
        assert_eq!((settings.is_closed(), settings.refined_by), (true, Some(second.digest())));
        drop(store);
        assert_eq!(aggregate(into.path(), &first), sum(&first, &all[..20]));
        let refused = merge(std::slice::from_ref(&there), into.path(), &mut |_, _| {}).unwrap_err();
        assert!(matches!(refused, StoreError::OtherWave { expected, .. } if expected == second.digest()), "{refused}");
    }
    let into = tempdir().unwrap();
    let refused = merge(&[here.clone(), there], into.path(), &mut |_, _| {}).unwrap_err().to_string();
    assert!(refused.contains(&second.digest().to_string()), "{refused}");
    assert_eq!(tasks(into.path()).unwrap(), []);
}

/// A first wave that is over is a fixed set, whether its second wave is open or not.
#[test]
fn a_merge_refuses_further_reports_for_a_first_wave_that_is_over() {
    let first = compact();
    let all = reports(&first, &mut ChaCha8Rng::seed_from_u64(9), 30);
    for open in [true, false] {
        let [here, more] = [(); 2].map(|()| tempdir().unwrap());
        if open {
            fill_waves(here.path(), &all[..20], 0);
        } else {
            fill(here.path(), &first, &all[..20]);
            let store = FolderStore::open(here.path(), &[], options()).unwrap();
            assert!(store.close_first_wave(first.digest(), RefinementPlan { after: 4, rank: 1 }).unwrap());
        }
        fill(more.path(), &first, &all[15..22]);
        let sources = [more.path().to_owned(), here.path().to_owned()];
        let refused = |sources: &[PathBuf], into: &TempDir, further: usize| {
            let before = tasks(into.path()).map_or(0, |tasks| tasks.len());
            let refused = merge(sources, into.path(), &mut |_, _| {}).unwrap_err();
            assert!(
                matches!(refused, StoreError::FurtherReports { further: found, .. } if found == further),
                "{refused}"
            );
            let said = refused.to_string();
            assert!(said.contains("leave one of the two folders out") && !said.contains("space"), "{said}");
            assert_eq!(tasks(into.path()).unwrap().len(), before);
        };
        refused(&sources, &tempdir().unwrap(), 2);
        // Also where the folder that they are merged into has them, or is over.
        refused(&sources[1..], &more, 2);
        refused(&sources[..1], &here, 2);
        assert_eq!(aggregate(more.path(), &first), sum(&first, &all[15..22]));
        let store = FolderStore::open(more.path(), &[], options()).unwrap();
        assert!(!store.task(first.digest()).unwrap().settings().is_closed());
        // Reports that were erased are not there.
        store.erase_reports(first.digest(), &[all[20].id(), all[21].id(), all[19].id()]).unwrap();
        drop(store);
        merge(&sources[1..], more.path(), &mut |_, _| {}).unwrap();
        assert_eq!(aggregate(more.path(), &first), sum(&first, &all[..19]));
    }
}

#[test]
fn a_deleted_task_leaves_no_byte() {
    let task = compact();
    let (root, all) = filled(&task);
    let store = FolderStore::open(root.path(), &[], options()).unwrap();
    assert!(store.delete(task.digest(), Erase::Now).unwrap());
    assert!(store.task(task.digest()).is_none());
    drop(store);
    assert!(!segment(&root, &task, "").exists());
    for name in ["store.sqlite", "store.sqlite-wal"] {
        let Ok(left) = fs::read(root.path().join(name)) else { continue };
        for report in &all {
            assert!(!left.windows(16).any(|window| window == report.id().as_bytes()), "{name} has an id");
        }
    }
}

#[test]
fn a_deleted_task_can_be_brought_back_until_it_is_erased() {
    let task = compact();
    let (root, all) = filled(&task);
    let store = FolderStore::open(root.path(), &[], options()).unwrap();
    let settings =
        TaskSettings { max_records: Some(70), expires: Some(9), retention: Some(5), ..TaskSettings::default() };
    store.put(task.clone(), settings.clone()).unwrap();
    assert!(store.delete(task.digest(), Erase::AfterGrace).unwrap());
    assert!(!store.delete(task.digest(), Erase::AfterGrace).unwrap());
    assert!(store.task(task.digest()).is_none() && !segment(&root, &task, "").exists());
    // The same task starts again, and is deleted in the same second.
    assert_eq!(store.put(task.clone(), TaskSettings::default()).unwrap(), Put::Created);
    commit(&store, &task, &all[..3]);
    assert_eq!(store.task(task.digest()).unwrap().counts().records, 3);
    store.close();
    drop(store);
    let refused = restore(root.path(), task.digest()).unwrap_err().to_string();
    assert!(refused.contains("delete it first"), "{refused}");

    let store = FolderStore::open(root.path(), &[], options()).unwrap();
    let first = store.deleted().unwrap();
    assert!(store.delete(task.digest(), Erase::AfterGrace).unwrap());
    let second = store.deleted().unwrap().into_iter().find(|task| !first.contains(task)).unwrap();
    store.erase(&second).unwrap();
    assert_eq!(store.deleted().unwrap(), first);
    store.close();
    drop(store);
    assert_eq!(deleted(root.path()).unwrap(), [(task.digest(), first[0].since)]);
    assert!(tasks(root.path()).unwrap().is_empty() && problems(&root).is_empty());
    let restored = restore(root.path(), task.digest()).unwrap();
    assert_eq!((restored.reports, restored.without_retention, restored.deleted), (50, true, first[0].since));
    assert!(problems(&root).is_empty());
    assert_eq!(aggregate(root.path(), &task), sum(&task, &all));
    let store = FolderStore::open(root.path(), &[], options()).unwrap();
    assert_eq!(*store.task(task.digest()).unwrap().settings(), TaskSettings { retention: None, ..settings });
    // Earlier deletions are erased with it when every byte has to go.
    store.delete(task.digest(), Erase::AfterGrace).unwrap();
    assert!(store.delete(task.digest(), Erase::Now).unwrap());
    assert!(store.deleted().unwrap().is_empty());
    store.close();
    drop(store);
    let gone = restore(root.path(), task.digest()).unwrap_err().to_string();
    assert!(gone.contains("no deleted task"), "{gone}");
}

#[test]
fn the_reports_of_a_segment_can_be_read_from_its_bytes() {
    let task = compact();
    let (root, all) = filled(&task);
    let bytes = fs::read(segment(&root, &task, "00000001.parquet")).unwrap();
    assert_eq!(read_segment(&bytes, &task).unwrap(), all[21..42]);
    assert_eq!(read_segment(&bytes[..10 * report_bytes(&task)], &task).unwrap()[..], all[21..28]);
    assert_eq!(read_segment(&[], &task).unwrap(), []);
    // Reports as long as these, of a task of another dimension.
    let other =
        Task::new(Schema::numeric(5).unwrap(), Bounding::UnitNorm, task.mechanism_spec(), Folds::new(2).unwrap());
    assert!(matches!(read_segment(&bytes, &other.unwrap()), Err(StoreError::ForeignReport { .. })));
}

#[test]
fn verification_reports_progress_and_an_intact_folder_gives_no_notes() {
    let task = compact();
    let (root, _) = filled(&task);
    let names = ["00000000.parquet", "00000001.parquet", "00000002.open"];
    let total: u64 = names.iter().map(|name| fs::metadata(segment(&root, &task, name)).unwrap().len()).sum();
    let mut told = Vec::new();
    let verified = verify(root.path(), &mut |done, all| told.push((done, all))).unwrap();
    // Batches of seven.
    let page = 7 * report_bytes(&task) as u64;
    let expected: Vec<(u64, u64)> =
        (0..=7).map(|pages| (pages * page, total)).chain([(50 * page / 7, total)]).collect();
    assert_eq!(told, expected);
    let found = &verified.tasks[0];
    assert_eq!((found.reports, found.segments, found.bytes), (50, 3, total));
    assert!(verified.is_good() && found.notes.is_empty(), "{found:?}");
}

#[test]
fn reports_that_are_there_twice_are_told_of() {
    let task = compact();
    let (root, _) = filled(&task);
    fs::copy(segment(&root, &task, "00000000.parquet"), segment(&root, &task, "00000003.parquet")).unwrap();
    let found = verify(root.path(), &mut |_, _| {}).unwrap().tasks.remove(0);
    assert_eq!(found.problems, ["the footer of 00000003.parquet is not that of its reports"]);
    let notes = [
        "00000003.parquet has 21 reports that occur earlier; they count once",
        "00000003.parquet is not in the manifest; the next start reads it",
    ];
    assert_eq!((&found.notes[..], found.reports, found.segments), (&notes.map(str::to_owned)[..], 50, 4));
}

#[test]
fn open_segments_with_the_numbers_of_sealed_ones_get_their_own() {
    let task = compact();
    let (root, all) = filled(&task);
    let open = segment(&root, &task, "00000002.open");
    for name in ["00000000.open", "00000001.open"] {
        fs::copy(&open, segment(&root, &task, name)).unwrap();
    }
    assert!(FolderStore::open(root.path(), &[], options()).is_err());
    let repaired = repair(root.path(), &mut |_, _| {}).unwrap();
    for (number, free) in [(0, 3), (1, 4)] {
        let name = format!("{number:08}.open has now the number {free}, since {number} was sealed");
        assert!(repaired.repairs.iter().any(|repair| repair.ends_with(&name)), "{repaired:?}");
    }
    assert_eq!((repaired.tasks[0].reports, repaired.problems.len(), repaired.lost.len()), (50, 0, 0), "{repaired:?}");
    assert_eq!(problems(&root), Vec::<String>::new());
    assert_eq!(aggregate(root.path(), &task), sum(&task, &all));
}

#[test]
fn reports_of_a_task_that_the_manifest_does_not_know_are_a_problem() {
    let (root, other) = (filled(&compact()).0, filled(&dense()).0);
    let folder = segment(&root, &dense(), "");
    fs::create_dir(&folder).unwrap();
    assert_eq!(problems(&root), Vec::<String>::new());
    fs::copy(segment(&other, &dense(), "00000000.parquet"), folder.join("00000000.parquet")).unwrap();
    let found = problems(&root);
    assert!(found[0].starts_with(&format!("task {} has reports and is not in", dense().digest())), "{found:?}");
    assert_eq!(found.len(), 1);
    assert!(!verify(root.path(), &mut |_, _| {}).unwrap().is_good());
}

#[test]
fn a_merge_reports_progress_and_leaves_the_reserve_to_the_server() {
    let (first, second, into) = (filled(&compact()).0, filled(&dense()).0, tempdir().unwrap());
    let length = |root: &TempDir, task: &Task| -> u64 {
        let names = ["00000000.parquet", "00000001.parquet", "00000002.open"];
        names.iter().map(|name| fs::metadata(segment(root, task, name)).unwrap().len()).sum()
    };
    let total = length(&first, &compact()) + length(&second, &dense());
    let mut told = Vec::new();
    let sources = [first.path().to_owned(), second.path().to_owned()];
    merge(&sources, into.path(), &mut |done, all| told.push((done, all))).unwrap();
    let reports = 50 * (report_bytes(&compact()) + report_bytes(&dense())) as u64;
    assert_eq!((told[0], told[told.len() - 1]), ((0, total), (reports, total)));
    assert!(!into.path().join("reserve").exists());
}

/// A campaign has one second wave, whichever of its tasks comes back.
#[test]
fn a_task_does_not_come_back_beside_another_second_wave() {
    let (root, first) = (tempdir().unwrap(), compact());
    let one = fill_waves(root.path(), &reports(&first, &mut ChaCha8Rng::seed_from_u64(9), 20), 0);
    let other = second_wave(&first, 1, 20).task;
    let change = |change: &dyn Fn(&FolderStore)| change(&FolderStore::open(root.path(), &[], options()).unwrap());
    let delete = |task: &Task| change(&|store| assert!(store.delete(task.digest(), Erase::AfterGrace).unwrap()));
    let refused = |task: &Task, there: &Task| {
        let before = deleted(root.path()).unwrap();
        let refused = restore(root.path(), task.digest()).unwrap_err();
        assert!(matches!(refused, StoreError::SecondWave { second, .. } if second == there.digest()), "{refused}");
        assert_eq!(deleted(root.path()).unwrap(), before);
    };
    delete(&one);
    delete(&first);
    change(&|store| assert_eq!(store.put(other.clone(), TaskSettings::default()).unwrap(), Put::Created));
    // The second wave, and the first one that names it.
    refused(&one, &other);
    refused(&first, &other);
    delete(&other);
    restore(root.path(), first.digest()).unwrap();
    refused(&other, &one);
    restore(root.path(), one.digest()).unwrap();
}
