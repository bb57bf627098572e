//! The store with small sizes: pages of a report or of less, searches byte by byte, sums one batch at a time. What the
//! usual sizes do with gigabytes, these do with a few reports.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rusqlite::Connection;

use super::super::disk::Disk;
use super::super::maintenance::tests::{commit, compact, dense};
use super::super::parquet::{MAGIC, MAX_PAGE_HEADER, PageHeader};
use super::super::scan::{Scanned, scan};
use super::super::segment::{IdsChecksum, NotAppended, Segment};
use super::super::sizes::Sizes;
use super::super::{FolderOptions, FolderStore};
use super::model::{batch, reports, sum, tiny};
use super::simulated::Machine;
use crate::store::{CommitError, Damage, ReportStore, TaskSettings};
use ldp_pca::report::{Report, report_bytes};
use ldp_pca::task::Task;

const FOLDER: &str = "/data";

fn machine() -> Machine {
    let machine = Machine::new(1);
    machine.make_folder(Path::new(FOLDER)).unwrap();
    machine
}

fn path() -> PathBuf {
    Path::new(FOLDER).join("00000000.open")
}

fn content(disk: &dyn Disk, path: &Path) -> Vec<u8> {
    let mut file = disk.open(path).unwrap();
    let mut bytes = vec![0; file.length().unwrap() as usize];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
    bytes
}

/// The result of a scan of these bytes, searching this many at a time.
fn scanned(bytes: &[u8], task: &Task, searched: usize) -> (Scanned, Vec<Report>) {
    let mut found = Vec::new();
    let mut read = |buffer: &mut [u8], offset: u64| {
        let rest = bytes.get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    };
    let scanned = scan(&mut read, bytes.len() as u64, 0, task, searched, &mut |page| {
        found.append(page.reports);
        Ok(())
    });
    (scanned.unwrap(), found)
}

/// How many reports each page has.
fn pages(bytes: &[u8], report_bytes: usize, mut offset: usize) -> Vec<u32> {
    let mut pages = Vec::new();
    while let Some((header, length)) =
        PageHeader::read(&bytes[offset..bytes.len().min(offset + MAX_PAGE_HEADER)], report_bytes)
    {
        pages.push(header.reports);
        offset += length + header.bytes as usize;
    }
    assert_eq!(offset, bytes.len());
    pages
}

/// Eleven reports at once, in runs of one to four, and then two more.
#[test]
fn every_report_is_written_whatever_the_size_of_a_page() {
    for task in [compact(), dense()] {
        let all = reports(&task, &mut ChaCha8Rng::seed_from_u64(1), 13);
        let each = report_bytes(&task);
        let frames: Vec<u8> = all.iter().flat_map(Report::to_bytes).collect();
        let runs: Vec<&[u8]> = [0..1, 1..5, 5..7, 7..11].map(|run| &frames[run.start * each..run.end * each]).to_vec();
        for (page, full) in [
            (0, 1),
            (1, 1),
            (each - 1, 1),
            (each, 1),
            (2 * each - 1, 1),
            (2 * each, 2),
            (4 * each + 1, 4),
            (11 * each - 1, 10),
            (11 * each, 11),
            (8 << 20, 11),
        ] {
            for worth_a_part in [0, each, 2 * each, 3 * each, usize::MAX] {
                let machine = machine();
                let sizes = Sizes { page, worth_a_part, ..Sizes::default() };
                let mut segment = Segment::create(&machine, Path::new(FOLDER), 0, path(), sizes).unwrap();
                segment.append(&runs, each).unwrap();
                let first = segment.length;
                assert_eq!(segment.reports, 11);
                segment.append(&[&frames[11 * each..]], each).unwrap();
                assert_eq!(segment.reports, 13);
                segment.trim();
                let bytes = content(&machine, &path());
                assert_eq!(bytes.len() as u64, segment.length);
                let (scanned, found) = scanned(&bytes, &task, 1);
                assert_eq!(found, all, "pages of {page} bytes");
                assert!(scanned.is_whole() && scanned.torn == 0 && scanned.good_end == segment.length);
                let (before, after) = bytes.split_at(first as usize);
                let mut expected = vec![full; 11 / full as usize];
                expected.extend(Some(11 % full).filter(|rest| *rest > 0));
                assert_eq!(pages(before, each, MAGIC.len()), expected, "pages of {page} bytes");
                assert_eq!(pages(after, each, 0).iter().sum::<u32>(), 2);
                let sealed = segment.seal(&machine, Path::new(FOLDER), &task).unwrap();
                let bytes = content(&machine, &Path::new(FOLDER).join("00000000.parquet"));
                assert_eq!(sealed.bytes, bytes.len() as u64);
                let footer = self::scanned(&bytes, &task, 1 << 20).0.footer.unwrap();
                assert_eq!((footer.reports, footer.report_bytes as usize), (13, each));
            }
        }
    }
}

/// A write of unknown outcome is longer than the footer that replaces it: wherever the machine stops while the segment
/// is sealed, none of its pages is after a footer.
#[test]
fn what_may_or_may_not_be_written_is_cut_off_before_the_footer() {
    let task = compact();
    let each = report_bytes(&task);
    let all = reports(&task, &mut ChaCha8Rng::seed_from_u64(4), 63);
    let frames: Vec<u8> = all.iter().flat_map(Report::to_bytes).collect();
    let (good, doubtful) = frames.split_at(3 * each);
    let sizes = Sizes { page: 1, ..Sizes::default() };
    let mut stops = 0;
    for (seed, operations) in (0..12).flat_map(|seed| (0..8).map(move |operations| (seed, operations))) {
        let machine = Machine::new(seed);
        machine.make_folder(Path::new(FOLDER)).unwrap();
        let mut segment = Segment::create(&machine, Path::new(FOLDER), 0, path(), sizes).unwrap();
        segment.append(&[good], each).unwrap();
        machine.fail(1, 0);
        assert!(matches!(segment.append(&[doubtful], each), Err(NotAppended::Unknown(_))));
        machine.stop_after(operations);
        let sealed = segment.seal(&machine, Path::new(FOLDER), &task).is_ok();
        stops += u64::from(!sealed);
        machine.restart();
        let path = if machine.open(&path()).is_ok() { path() } else { Path::new(FOLDER).join("00000000.parquet") };
        let (scanned, found) = scanned(&content(&machine, &path), &task, 1 << 20);
        assert_eq!(found[..3], all[..3]);
        let footer = scanned.footer.is_some();
        assert!(footer || !sealed);
        // Before anything of the footer is written, there may be any of the doubtful pages.
        assert!(!footer || found.len() == 3, "{seed} {operations}");
        assert!(operations < 2 || scanned.is_whole(), "{seed} {operations} {scanned:?}");
    }
    assert!(stops > 30, "{stops}");
}

#[test]
fn room_is_taken_between_its_bounds_and_given_back() {
    let task = compact();
    let each = report_bytes(&task);
    let frames: Vec<u8> =
        reports(&task, &mut ChaCha8Rng::seed_from_u64(2), 100).iter().flat_map(Report::to_bytes).collect();
    for (least, most) in [(0, 0), (0, 10_000), (3000, 10_000), (0, 100), (3000, 3000)] {
        let machine = machine();
        let sizes = Sizes { least_room: least, most_room: most, ..Sizes::default() };
        let mut segment = Segment::create(&machine, Path::new(FOLDER), 0, path(), sizes).unwrap();
        let mut room = 0;
        for report in frames.chunks(each) {
            // Enough for the headers of pages, too.
            let needed = segment.length + each as u64 + 1024;
            if needed > room {
                room = needed + needed.max(least).min(most);
            }
            segment.append(&[report], each).unwrap();
            assert_eq!(machine.open(&path()).unwrap().length().unwrap(), room, "{least} {most}");
            assert!(segment.length <= room);
        }
        segment.trim();
        let bytes = content(&machine, &path());
        assert_eq!(bytes.len() as u64, segment.length);
        let resumed = Segment::resume(&machine, path(), 0, segment.length, IdsChecksum::default(), sizes).unwrap();
        assert_eq!((resumed.length, resumed.reports), (segment.length, 0));
    }
}

/// Damaged segments, searched in windows of every size: the result is that of one search over everything.
#[test]
fn damage_is_read_in_the_same_way_however_much_is_searched_at_a_time() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for (task, page) in [(compact(), 1), (compact(), 150), (dense(), 150)] {
        let each = report_bytes(&task);
        let machine = machine();
        let sizes = Sizes { page, worth_a_part: 0, ..Sizes::default() };
        let mut segment = Segment::create(&machine, Path::new(FOLDER), 0, path(), sizes).unwrap();
        for batch in reports(&task, &mut rng, 24).chunks(6) {
            let frames: Vec<u8> = batch.iter().flat_map(Report::to_bytes).collect();
            segment.append(&[&frames], each).unwrap();
        }
        segment.trim();
        let whole = content(&machine, &path());
        let mut hurts = 0;
        for _ in 0..60 {
            let mut bytes = whole.clone();
            for _ in 0..rng.random_range(1..4) {
                let start = rng.random_range(0..bytes.len());
                let end = (start + [1, 5, 40, 200][rng.random_range(0..4)]).min(bytes.len());
                match rng.random_range(0..4) {
                    0 => bytes[start..end].fill(0),
                    1 => bytes[start..end].iter_mut().for_each(|byte| *byte ^= 0x55),
                    2 => drop(bytes.drain(start..end)),
                    _ => bytes.truncate(end),
                }
            }
            bytes.extend([0; 70]);
            let at_once = scanned(&bytes, &task, 1 << 20);
            hurts += u64::from(at_once.0.holes > 0);
            for searched in [1, 2, 3, each - 1, each, each + 1, 48, 49, 200] {
                assert_eq!(scanned(&bytes, &task, searched), at_once, "{searched} bytes at a time");
            }
        }
        assert!(hurts > 10, "{hurts}");
    }
}

/// The whole store: committed, summed, sealed and opened again.
#[test]
fn a_store_of_any_sizes_keeps_every_report_once() {
    for (task, seed) in [compact(), dense()].into_iter().flat_map(|task| (0..8).map(move |seed| (task.clone(), seed))) {
        let machine = Machine::new(seed);
        let all = reports(&task, &mut ChaCha8Rng::seed_from_u64(seed), 40);
        let options =
            FolderOptions { segment_reports: 9, reserve_bytes: 0, sizes: tiny(seed), ..FolderOptions::default() };
        let open = || {
            let disk: Arc<dyn Disk> = Arc::new(machine.clone());
            FolderStore::open_on(disk, Path::new(FOLDER), std::slice::from_ref(&task), options.clone()).unwrap()
        };
        for (round, reports) in (1..).zip(all.chunks(20)) {
            let store = open();
            for batch in reports.chunks(5) {
                commit(&store, &task, batch);
                // Twice, beside new ones that are between the old.
                let mixed: Vec<Report> = batch.iter().take(3).cloned().collect();
                commit(&store, &task, &mixed);
            }
            let served = store.task(task.digest()).unwrap();
            assert_eq!(served.counts().records, 20 * round);
            assert_eq!(served.aggregate().unwrap(), sum(&task, &all[..20 * round as usize]));
            store.close();
        }
        let store = open();
        let served = store.task(task.digest()).unwrap();
        assert_eq!((served.counts().records, served.damage()), (40, Damage::default()), "{:?}", options.sizes);
        assert_eq!(served.aggregate().unwrap(), sum(&task, &all));
        store.close();
    }
}

fn open_small(machine: &Machine, task: &Task, options: FolderOptions) -> FolderStore {
    let disk: Arc<dyn Disk> = Arc::new(machine.clone());
    let options = FolderOptions { reserve_bytes: 0, ..options };
    FolderStore::open_on(disk, Path::new(FOLDER), std::slice::from_ref(task), options).unwrap()
}

/// Twelve reports, one by one.
#[test]
fn a_segment_is_full_at_its_reports_or_at_its_bytes_and_not_before() {
    let task = compact();
    let all = reports(&task, &mut ChaCha8Rng::seed_from_u64(6), 12);
    // A page of one report; the sum of this task is smaller than nine of them.
    let page = report_bytes(&task) + PageHeader { reports: 1, bytes: 35, checksum: u32::MAX >> 1 }.to_bytes().len();
    let few = |segment_reports| FolderOptions { segment_reports, ..FolderOptions::default() };
    let short = |segment_bytes| FolderOptions { segment_bytes, ..FolderOptions::default() };
    let bytes = (MAGIC.len() + 9 * page) as u64;
    for (options, most) in [(few(5), 5), (few(1), 1), (short(bytes), 9), (short(0), 9)] {
        let machine = machine();
        let store = open_small(&machine, &task, options.clone());
        all.chunks(1).for_each(|report| commit(&store, &task, report));
        store.close();
        let folder = Path::new(FOLDER).join("tasks").join(task.digest().to_string());
        let mut names = machine.list(&folder).unwrap();
        names.retain(|name| name.ends_with(".parquet") || name.ends_with(".open"));
        let segments: Vec<Scanned> =
            names.iter().map(|name| scanned(&content(&machine, &folder.join(name)), &task, 1 << 20).0).collect();
        assert_eq!(segments.iter().map(|segment| segment.reports).sum::<u64>(), 12);
        for (segment, name) in segments.iter().zip(&names) {
            let full = name.ends_with(".parquet");
            if options.segment_bytes == FolderOptions::default().segment_bytes {
                assert_eq!(full, segment.reports == most, "{name}");
            } else {
                // The sum has 2 × 28 numbers of 8 bytes, which is the least there is.
                let least = options.segment_bytes.max(448);
                assert_eq!(full, segment.good_end >= least, "{name}");
                assert!(segment.good_end < least + page as u64, "{name}");
            }
        }
    }
}

#[test]
fn a_quota_is_filled_to_the_last_report_and_what_it_refuses_may_come_again() {
    let task = compact();
    let all = reports(&task, &mut ChaCha8Rng::seed_from_u64(6), 9);
    let store = open_small(&machine(), &task, FolderOptions::default());
    store.put(task.clone(), TaskSettings { max_records: Some(7), ..TaskSettings::default() }).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let served = store.task(task.digest()).unwrap();
    let commit = |reports: &[Report]| {
        runtime.block_on(served.commit(batch(reports))).map(|done| (done.accepted, done.duplicate)).map_err(|error| {
            let CommitError::Quota { limit, records } = error else { panic!("{error}") };
            (limit, records)
        })
    };
    assert_eq!(commit(&all[..5]), Ok((5, 0)));
    assert_eq!(commit(&all[5..8]), Err((7, 5)));
    assert_eq!(commit(&all[6..8]), Ok((2, 0)));
    assert_eq!(commit(&all[5..6]), Err((7, 7)));
    // Stored reports are not new.
    assert_eq!(commit(&all[..5]), Ok((0, 5)));
    assert_eq!(served.counts().records, 7);
    assert_eq!(served.aggregate().unwrap(), sum(&task, all[..5].iter().chain(&all[6..8])));
    store.close();
}

#[test]
fn a_snapshot_is_in_as_many_parts_as_it_needs() {
    let task = dense();
    let all = reports(&task, &mut ChaCha8Rng::seed_from_u64(7), 10);
    let whole = sum(&task, &all).to_bytes().len();
    for (part, fewest, most) in [(1, 2, whole), (100, 2, whole / 100 + 1), (whole, 1, 1), (16 << 20, 1, 1)] {
        let root = tempfile::tempdir().unwrap();
        let sizes = Sizes { snapshot_part: part, ..Sizes::default() };
        let options = FolderOptions { segment_reports: 5, reserve_bytes: 0, sizes, ..FolderOptions::default() };
        let store = FolderStore::open(root.path(), std::slice::from_ref(&task), options.clone()).unwrap();
        all.chunks(5).for_each(|batch| commit(&store, &task, batch));
        store.close();
        drop(store);
        let connection = Connection::open(root.path().join("store.sqlite")).unwrap();
        let count = |what: &str| -> usize {
            connection.query_row(&format!("SELECT {what} FROM snapshots"), [], |row| row.get(0)).unwrap()
        };
        assert_eq!(count("sum(length(bytes))"), whole);
        let parts = count("count(*)");
        assert!((fewest..=most).contains(&parts), "{parts} parts of {part}");
        assert_eq!(count("max(part)") + 1, parts);
        drop(connection);
        let store = FolderStore::open(root.path(), &[], options).unwrap();
        assert_eq!(store.task(task.digest()).unwrap().aggregate().unwrap(), sum(&task, &all));
        store.close();
    }
}

/// A hole in the segment being written: the file that could not be read as a whole is kept byte by byte, under its
/// other name.
#[test]
fn a_damaged_file_is_set_aside_as_it_is_however_much_is_copied_at_a_time() {
    let task = compact();
    for copied in [1, 7, 100, 1 << 20] {
        let machine = Machine::new(9);
        let sizes = Sizes { page: 100, copied, ..Sizes::default() };
        let options = FolderOptions { reserve_bytes: 0, sizes, ..FolderOptions::default() };
        let open = || {
            let disk: Arc<dyn Disk> = Arc::new(machine.clone());
            FolderStore::open_on(disk, Path::new(FOLDER), std::slice::from_ref(&task), options.clone()).unwrap()
        };
        let all = reports(&task, &mut ChaCha8Rng::seed_from_u64(8), 20);
        let store = open();
        commit(&store, &task, &all);
        store.close();
        drop(store);
        let folder = Path::new(FOLDER).join("tasks").join(task.digest().to_string());
        let hurt = folder.join("00000000.open");
        let mut file = machine.open(&hurt).unwrap();
        file.write_at(&mut [io::IoSlice::new(&[0xff; 3])], 60).unwrap();
        file.sync().unwrap();
        let before = content(&machine, &hurt);
        let store = open();
        let served = store.task(task.digest()).unwrap();
        assert_eq!(served.counts().records, 19);
        assert_eq!(served.damage().passed_over, 1);
        assert_eq!(content(&machine, &folder.join("00000000.0.damaged")), before, "{copied} bytes at a time");
        store.close();
    }
}

#[test]
fn the_rest_of_a_half_added_task_is_removed_unless_it_has_reports() {
    let (task, machine) = (compact(), machine());
    let open = || FolderStore::open_on(Arc::new(machine.clone()), Path::new(FOLDER), &[], FolderOptions::default());
    drop(open().unwrap());
    let folder = Path::new(FOLDER).join("tasks").join(task.digest().to_string());
    machine.make_folder(&folder).unwrap();
    machine.create(&folder.join("task.json")).unwrap();
    drop(open().unwrap());
    assert!(machine.list(&folder).is_err());
    machine.make_folder(&folder).unwrap();
    machine.create(&folder.join("00000000.open")).unwrap();
    let error = open().err().unwrap().to_string();
    assert!(error.contains("which has reports in"), "{error}");
    machine.stop_after(0);
    assert!(super::super::read_format(&machine, Path::new(FOLDER)).is_err());
}
