//! Disks that lose power, fail to sync, and are full.
//!
//! SQLite's files are read and written as ever, through a VFS that also keeps what the disk has of them: what was
//! synced. A power cut leaves that, and any sectors of what was written since. A sync that fails is the end of what was
//! to be synced: some of it is on the disk, the rest only in the system's memory, which takes it for written.
//!
//! Not simulated: the names of files, which stay as they are seen, but that the log may be back that SQLite removed;
//! and writes of the store itself, which are on the disk at once, but that of `changes`, whose newest slot may be older
//! or torn.

#![allow(unsafe_code, reason = "a VFS is made of C functions")]

use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::fs::{self, File};
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;
use std::slice;
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chacha20::ChaCha8Rng;
use futures_util::future::join_all;
use rand::{RngExt, SeedableRng};
use rusqlite::Connection;
use rusqlite::ffi::{
    SQLITE_FULL, SQLITE_IOERR, SQLITE_IOERR_DELETE, SQLITE_IOERR_FSYNC, SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_WRITE,
    SQLITE_OK, sqlite3_file, sqlite3_io_methods, sqlite3_vfs, sqlite3_vfs_find, sqlite3_vfs_register,
};
use tempfile::{TempDir, tempdir};

use super::super::database::FILE;
use super::super::maintenance::backup;
use super::super::{FolderOptions, FolderStore, task_folder};
use super::model::{exported, problems};
use crate::locks::hold;
use crate::store::tests::{SmallDisk, batch, commit, committed, ids, reports, reports_with_rng, sum, tasks, wait};
use crate::store::{
    CommitError, Committed, Damage, DeletedTask, Erase, ReportStore, StoreError, TaskReports, TaskSettings,
};
use ldp_pca::report::Report;
use ldp_pca::task::Task;

/// A disk keeps or loses so many bytes together.
const SECTOR: usize = 512;

/// The disks of all tests in this process.
static DISKS: Mutex<Vec<&'static Disk>> = Mutex::new(Vec::new());

/// The disk of the databases below a folder.
struct Disk {
    root: PathBuf,
    state: Mutex<State>,
}

struct State {
    files: BTreeMap<PathBuf, Image>,
    /// The files that count changes, as they were when their database was synced.
    counters: BTreeMap<PathBuf, Vec<u8>>,
    /// So many operations succeed, then one fails in this way.
    fuse: (u64, Fault),
    failures: u64,
    /// Bytes by which files may still grow.
    room: u64,
    rng: ChaCha8Rng,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// One operation fails.
    Once,
    /// This and all later ones fail.
    Lasting,
    /// The process is killed: it does nothing more.
    Stop,
}

/// What the disk has of a file.
#[derive(Default)]
struct Image {
    disk: Vec<u8>,
    /// What was done since it was synced.
    since: Vec<Change>,
    /// Whether it is removed, and may be there after a power cut.
    removed: bool,
    /// Whether it was closed. A later time than [`rest`] is then that of a write of the store itself.
    rests: bool,
}

enum Change {
    Written(usize, Vec<u8>),
    Cut(usize),
}

/// The time of a file that rests.
fn rest() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1)
}

impl Image {
    /// Brings what was done since the last sync to the disk, as far as it is kept: sectors, and cuts.
    fn write(&mut self, mut is_kept: impl FnMut() -> bool) {
        let Self { disk, since, .. } = self;
        for change in since.drain(..) {
            match change {
                Change::Cut(length) if is_kept() => disk.resize(length, 0),
                Change::Cut(_) => {}
                Change::Written(start, bytes) => {
                    let mut done = 0;
                    while done < bytes.len() {
                        let end = bytes.len().min(done + SECTOR - (start + done) % SECTOR);
                        if is_kept() {
                            disk.resize(disk.len().max(start + end), 0);
                            disk[start + done..start + end].copy_from_slice(&bytes[done..end]);
                        }
                        done = end;
                    }
                }
            }
        }
    }
}

impl State {
    /// Counts an operation; how it fails, if it does.
    fn begin(&mut self) -> Option<Fault> {
        let (left, fault) = self.fuse;
        self.fuse.0 = if left == 0 && fault == Fault::Once { u64::MAX } else { left.saturating_sub(1) };
        self.failures += u64::from(left == 0);
        (left == 0).then_some(fault)
    }

    /// Notices that a file is opened, which was there or not.
    fn open(&mut self, path: &Path, was_there: bool) {
        let is_known = self.files.contains_key(path);
        let image = self.files.entry(path.to_owned()).or_default();
        let file = fs::metadata(path).unwrap();
        let is_new = file.len() == 0 && path.ends_with(FILE);
        let is_written = image.rests && file.modified().unwrap() != rest();
        if !is_known || !was_there || image.removed || is_new || is_written {
            *image = Image { disk: fs::read(path).unwrap(), ..Image::default() };
        }
        image.rests = false;
    }
}

impl Disk {
    fn new(root: &Path, seed: u64) -> &'static Self {
        static REGISTERED: Once = Once::new();
        REGISTERED.call_once(register);
        let (files, counters, rng) = (BTreeMap::new(), BTreeMap::new(), ChaCha8Rng::seed_from_u64(seed));
        let state = State { files, counters, fuse: (u64::MAX, Fault::Once), failures: 0, room: u64::MAX, rng };
        let disk: &'static Self = Box::leak(Box::new(Self { root: root.to_owned(), state: Mutex::new(state) }));
        hold(&DISKS).push(disk);
        disk
    }

    fn of(path: &Path) -> Option<&'static Self> {
        hold(&DISKS).iter().find(|disk| path.starts_with(&disk.root)).copied()
    }

    /// Makes an operation fail, after so many that succeed.
    fn fail(&self, operations: u64, fault: Fault) {
        let mut state = hold(&self.state);
        (state.fuse, state.failures) = ((operations, fault), 0);
    }

    /// How many have failed.
    fn failures(&self) -> u64 {
        hold(&self.state).failures
    }

    fn heal(&self) {
        self.fail(u64::MAX, Fault::Once);
    }

    fn set_room(&self, bytes: u64) {
        hold(&self.state).room = bytes;
    }

    /// Keeps the files as the system has them: the process is killed, or closes them.
    fn rest(&self) {
        for (path, image) in &mut hold(&self.state).files {
            if let Ok(file) = File::options().write(true).open(path) {
                file.set_modified(rest()).unwrap();
                image.rests = true;
            }
        }
        self.heal();
    }

    /// Leaves in the files what the disk has. They are closed.
    fn cut_power(&self) {
        let mut state = hold(&self.state);
        let State { files, counters, rng, .. } = &mut *state;
        let share = [0.0, 0.2, 0.5, 0.8, 1.0][rng.random_range(0..5)];
        for (path, mut image) in mem::take(files) {
            image.write(|| rng.random_bool(share));
            let is_there = path.exists() || image.removed && path.parent().unwrap().exists() && rng.random_bool(0.5);
            if is_there {
                fs::write(&path, image.disk).unwrap();
            }
            let _ = fs::remove_file(path.with_file_name(format!("{FILE}-shm")));
        }
        for (path, synced) in counters.iter().filter(|(path, _)| path.exists()) {
            match rng.random_range(0..3) {
                0 => fs::write(path, synced).unwrap(),
                1 => {
                    let mut torn = fs::read(path).unwrap();
                    let turn = |slot: usize| u64::from_le_bytes(torn[512 * slot..][..8].try_into().unwrap());
                    let newest = usize::from(turn(1) > turn(0));
                    torn[512 * newest..][4..20].fill(0x5a);
                    fs::write(path, torn).unwrap();
                }
                _ => {}
            }
        }
        drop(state);
        self.heal();
    }
}

/// Makes the VFS below the default one. What it opens elsewhere than on a disk of a test is the other's.
fn register() {
    // SAFETY: the default VFS stays where it is, and so does this one, which has its functions but for two.
    unsafe {
        let real = sqlite3_vfs_find(ptr::null());
        let vfs = sqlite3_vfs {
            zName: c"simulated".as_ptr(),
            pNext: ptr::null_mut(),
            pAppData: real.cast(),
            xOpen: Some(open),
            xDelete: Some(delete),
            ..*real
        };
        assert_eq!(sqlite3_vfs_register(Box::leak(Box::new(vfs)), 1), SQLITE_OK);
    }
}

/// An open file on a disk. It begins with the methods that SQLite calls, and so is where the file says that they are.
#[repr(C)]
struct Open {
    methods: sqlite3_io_methods,
    /// The methods of the default VFS, whose file it is.
    real: *const sqlite3_io_methods,
    disk: &'static Disk,
    path: PathBuf,
}

/// What belongs to a file.
///
/// # Safety
/// [`open`] opened it.
unsafe fn opened<'a>(file: *mut sqlite3_file) -> &'a Open {
    // SAFETY: as the caller says.
    unsafe { &*(*file).pMethods.cast::<Open>() }
}

unsafe fn path_of<'a>(name: *const c_char) -> Option<&'a Path> {
    // SAFETY: SQLite's names are texts that end with a zero, or none.
    (!name.is_null()).then(|| Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes())))
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    found: *mut c_int,
) -> c_int {
    // SAFETY: `register` has put the default VFS there. SQLite calls it with room for its file, and with a name that
    // stays as long as the file is open.
    unsafe {
        let real = (*vfs).pAppData.cast::<sqlite3_vfs>();
        let Some(open) = (*real).xOpen else { return SQLITE_IOERR };
        let Some((path, disk)) = path_of(name).and_then(|path| Some((path, Disk::of(path)?))) else {
            return open(real, name, file, flags, found);
        };
        let mut state = hold(&disk.state);
        let was_there = path.exists();
        let result = open(real, name, file, flags, found);
        if result == SQLITE_OK {
            state.open(path, was_there);
            let real = (*file).pMethods;
            let methods = sqlite3_io_methods {
                iVersion: 2,
                xClose: Some(close),
                xWrite: Some(write),
                xTruncate: Some(truncate),
                xSync: Some(sync),
                ..*real
            };
            let opened = Box::new(Open { methods, real, disk, path: path.to_owned() });
            (*file).pMethods = Box::into_raw(opened).cast::<sqlite3_io_methods>();
        }
        result
    }
}

unsafe extern "C" fn delete(vfs: *mut sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    // SAFETY: `register` has put the default VFS there, and SQLite passes a name.
    unsafe {
        let real = (*vfs).pAppData.cast::<sqlite3_vfs>();
        let Some(delete) = (*real).xDelete else { return SQLITE_IOERR };
        let Some((path, disk)) = path_of(name).and_then(|path| Some((path, Disk::of(path)?))) else {
            return delete(real, name, sync);
        };
        let mut state = hold(&disk.state);
        if state.begin().is_some() {
            return SQLITE_IOERR_DELETE;
        }
        if sync != 0 {
            state.files.remove(path);
        } else if let Some(image) = state.files.get_mut(path) {
            image.removed = true;
        }
        delete(real, name, 0)
    }
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite calls it once with a file that `open` opened, and the last time.
    unsafe {
        let opened = Box::from_raw((*file).pMethods.cast_mut().cast::<Open>());
        (*file).pMethods = opened.real;
        (*opened.real).xClose.map_or(SQLITE_IOERR, |close| close(file))
    }
}

unsafe extern "C" fn write(file: *mut sqlite3_file, from: *const c_void, count: c_int, start: i64) -> c_int {
    // SAFETY: SQLite calls it with a file that `open` opened, and as many bytes.
    let (opened, bytes) = unsafe { (opened(file), slice::from_raw_parts(from.cast::<u8>(), count as usize)) };
    let mut state = hold(&opened.disk.state);
    if state.begin().is_some() {
        return SQLITE_IOERR_WRITE;
    }
    let State { files, room, .. } = &mut *state;
    let image = files.get_mut(&opened.path).unwrap();
    let length = fs::metadata(&opened.path).map_or(0, |file| file.len());
    let growth = (start as u64 + bytes.len() as u64).saturating_sub(length);
    let missing = bytes.len().min(growth.saturating_sub(*room) as usize);
    *room = room.saturating_sub(growth);
    let bytes = &bytes[..bytes.len() - missing];
    image.since.push(Change::Written(start as usize, bytes.to_vec()));
    let count = bytes.len() as c_int;
    // SAFETY: these are the first of the bytes.
    let result = unsafe { (*opened.real).xWrite.map_or(SQLITE_IOERR, |write| write(file, from, count, start)) };
    if result == SQLITE_OK && missing > 0 { SQLITE_FULL } else { result }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, length: i64) -> c_int {
    // SAFETY: SQLite calls it with a file that `open` opened.
    let opened = unsafe { opened(file) };
    let mut state = hold(&opened.disk.state);
    if state.begin().is_some() {
        return SQLITE_IOERR_TRUNCATE;
    }
    state.files.get_mut(&opened.path).unwrap().since.push(Change::Cut(length as usize));
    // SAFETY: it is open.
    unsafe { (*opened.real).xTruncate.map_or(SQLITE_IOERR, |truncate| truncate(file, length)) }
}

/// Real files need not be synced.
unsafe extern "C" fn sync(file: *mut sqlite3_file, _: c_int) -> c_int {
    // SAFETY: SQLite calls it with a file that `open` opened.
    let opened = unsafe { opened(file) };
    let mut state = hold(&opened.disk.state);
    let fault = state.begin();
    let State { files, counters, rng, .. } = &mut *state;
    let image = files.get_mut(&opened.path).unwrap();
    match fault {
        None => image.write(|| true),
        Some(Fault::Stop) => {}
        Some(Fault::Once | Fault::Lasting) => image.write(|| rng.random_bool(0.5)),
    }
    // The store syncs this one next.
    let counter = opened.path.with_file_name("changes");
    if fault.is_none()
        && opened.path.ends_with(FILE)
        && let Ok(content) = fs::read(&counter)
    {
        counters.insert(counter, content);
    }
    if fault.is_none() { SQLITE_OK } else { SQLITE_IOERR_FSYNC }
}

/// A store with one task on a simulated disk.
struct Place {
    store: Option<FolderStore>,
    disk: &'static Disk,
    task: Task,
    options: FolderOptions,
    root: PathBuf,
    _folder: TempDir,
}

impl Place {
    fn new(seed: u64, options: FolderOptions) -> Self {
        let folder = tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (disk, task) = (Disk::new(&root, seed), tasks().remove(0));
        let mut place = Self { store: None, disk, task, options, root, _folder: folder };
        place.open();
        place
    }

    fn try_open(&mut self) -> Result<(), StoreError> {
        self.store = None;
        self.options.failed.send_replace(None);
        self.store = Some(FolderStore::open(&self.root, slice::from_ref(&self.task), self.options.clone())?);
        Ok(())
    }

    /// Opens it, and nothing is lost.
    fn open(&mut self) {
        self.try_open().unwrap();
        assert_eq!(self.reports().damage(), Damage::default());
    }

    fn close(&mut self) {
        self.store = None;
        self.disk.rest();
    }

    /// Kills the process: it does nothing more, but what it did is not lost.
    fn kill(&mut self) {
        self.disk.fail(0, Fault::Stop);
        self.close();
    }

    fn cut_power(&mut self) {
        self.disk.fail(0, Fault::Stop);
        self.store = None;
        self.disk.cut_power();
    }

    /// Starts the store again, however often the machine stops while it does.
    fn restart(&mut self, rng: &mut ChaCha8Rng) {
        loop {
            if rng.random_bool(0.7) {
                self.cut_power();
            } else {
                self.kill();
            }
            if rng.random_bool(0.5) {
                self.disk.fail(rng.random_range(0..30), Fault::Stop);
            }
            let opened = self.try_open();
            if self.disk.failures() == 0 {
                self.disk.heal();
                opened.unwrap();
                return assert_eq!(self.reports().damage(), Damage::default());
            }
        }
    }

    fn store(&self) -> &FolderStore {
        self.store.as_ref().unwrap()
    }

    fn reports(&self) -> Arc<dyn TaskReports> {
        self.store().task(self.task.digest()).unwrap()
    }

    /// Returns when the writer has done what follows on the batch, too.
    fn commit(&self, reports: &[Report]) -> Result<Committed, CommitError> {
        let committed = commit(self.store(), &self.task, reports);
        commit(self.store(), &self.task, &[]).unwrap();
        committed
    }

    /// How many of these it erased, now or before.
    fn erase(&self, reports: &[Report]) -> Result<u64, StoreError> {
        let erased = self.store().erase_reports(self.task.digest(), &ids(reports))?.unwrap();
        assert_eq!(erased.unknown, 0);
        Ok(erased.erased + erased.before)
    }

    fn configure(&self, settings: &TaskSettings) -> Result<(), StoreError> {
        self.store().put(self.task.clone(), settings.clone()).map(drop)
    }

    fn records(&self) -> usize {
        self.reports().counts().records as usize
    }

    fn assert_holds(&self, reports: &[Report]) {
        assert_eq!(self.records(), reports.len());
        assert_eq!(self.reports().aggregate(), sum(&self.task, reports));
    }
}

fn accepted(reports: usize) -> Result<Committed, CommitError> {
    committed(reports as u64, 0)
}

/// Lives on a machine that stops again and again, also while the store starts.
#[test]
fn after_power_cuts_every_acknowledged_report_is_there_once() {
    let (mut kept, mut gone) = (0, 0);
    for seed in 0..18 {
        let summed_reports = [1, 40, 1 << 17][seed % 3];
        let log_bytes = [1, 2_000, 16 << 20][seed / 3 % 3];
        let options = FolderOptions { summed_reports, log_bytes, ..FolderOptions::default() };
        let (mut place, mut rng) = (Place::new(seed as u64, options), ChaCha8Rng::seed_from_u64(seed as u64));
        let (mut counted, mut erased) = (Vec::<Report>::new(), Vec::<Report>::new());
        let mut settings = TaskSettings::default();
        for _ in 0..15 {
            // What was sent and is not answered, and what was to be erased.
            let (mut doubtful, mut erasing) = (Vec::<Report>::new(), Vec::<Report>::new());
            let mut tried = settings.clone();
            place.disk.fail(rng.random_range(0..200), Fault::Stop);
            for _ in 0..rng.random_range(1..4) {
                // A few batches at once, of new reports and of some sent before.
                let sizes: Vec<usize> =
                    (0..rng.random_range(1..5)).map(|_| [1, 4, 400][rng.random_range(0..3)]).collect();
                let sent: Vec<_> = sizes.iter().map(|size| reports_with_rng(&place.task, &mut rng, *size)).collect();
                let known = counted.iter().chain(&erased);
                let repeats: Vec<Report> = known.skip(rng.random_range(0..50)).take(2).cloned().collect();
                let task = place.reports();
                let commits = sent.iter().map(|new| task.queue().commit(batch(&[&new[..], &repeats[..]].concat())));
                for (new, outcome) in sent.iter().zip(wait(join_all(commits))) {
                    match outcome {
                        Err(CommitError::Unknown(_) | CommitError::Write(_)) if place.disk.failures() > 0 => {
                            doubtful.extend_from_slice(new);
                        }
                        outcome => {
                            assert_eq!(outcome, committed(new.len() as u64, repeats.len() as u64));
                            counted.extend_from_slice(new);
                        }
                    }
                }
                if rng.random_bool(0.2) {
                    let first = rng.random_range(0..=counted.len() - counted.len().min(3));
                    let wanted: Vec<Report> = counted.drain(first..counted.len().min(first + 3)).collect();
                    let done = place.erase(&wanted);
                    assert!(done.as_ref().is_ok_and(|done| *done == wanted.len() as u64) || place.disk.failures() > 0);
                    let gone = if done.is_ok() { &mut erased } else { &mut erasing };
                    gone.extend(wanted);
                }
                if rng.random_bool(0.2) && tried == settings {
                    tried.minimum_batch = Some(rng.random_range(1..1_000));
                    match place.configure(&tried) {
                        Ok(()) => settings = tried.clone(),
                        Err(error) => assert!(place.disk.failures() > 0, "{error}"),
                    }
                }
            }
            if rng.random_bool(0.1) {
                place.close();
            }
            place.restart(&mut rng);
            let found = TaskSettings::clone(&place.reports().settings());
            assert!([&settings, &tried].contains(&&found), "{found:?}");
            settings = found;
            let most = counted.len() + doubtful.len() + erasing.len();
            assert!((counted.len()..=most).contains(&place.records()));
            // What was in doubt is there whole or not at all, and can be done again.
            place.commit(&doubtful).unwrap();
            counted.append(&mut doubtful);
            assert_eq!(place.erase(&erasing).unwrap(), erasing.len() as u64);
            erased.append(&mut erasing);
            assert_eq!(place.commit(&erased).unwrap().accepted, 0);
            place.assert_holds(&counted);
        }
        (kept, gone) = (kept + counted.len(), gone + erased.len());
    }
    assert!(kept > 10_000 && gone > 50, "too little happened: {kept} reports, {gone} erased");
}

/// At any operation of a commit, and of the writing of the sum and of the log that follows.
#[test]
fn after_a_failed_sync_nothing_is_acknowledged_and_what_was_is_there() {
    let (mut refused, mut doubted) = (0, 0);
    for end in 0..3 {
        for operation in 0.. {
            let seed = 100 * end + operation;
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let reports = reports(&tasks()[0], seed, 60);
            let log_bytes = (20 * reports[0].to_bytes().len()) as u64;
            let options = FolderOptions { summed_reports: 1, log_bytes, ..FolderOptions::default() };
            let mut place = Place::new(seed, options);
            assert_eq!(place.commit(&reports[..10]), accepted(10));
            // What is written back while somebody reads is not synced.
            let reader = Connection::open(task_folder(&place.root, place.task.digest()).join(FILE)).unwrap();
            reader.execute_batch("BEGIN").unwrap();
            reader.query_row("SELECT count(*) FROM batches", [], |_| Ok(())).unwrap();
            if end == 0 {
                reader.execute_batch("END").unwrap();
            }
            assert_eq!(place.commit(&reports[10..20]), accepted(10));
            drop(reader);
            place.disk.fail(operation, if (end + operation) % 4 == 3 { Fault::Lasting } else { Fault::Once });
            let sent = place.commit(&reports[20..40]);
            if place.disk.failures() == 0 {
                assert!(operation > 10, "{operation} operations");
                break;
            }
            let stored = if sent.is_ok() { 40 } else { 20 };
            if place.options.failed.borrow().is_none() {
                // Nothing was written: the store goes on.
                assert!(matches!(sent, Ok(_) | Err(CommitError::Write(_))), "{sent:?}");
                refused += 1;
                place.disk.heal();
                assert_eq!(place.commit(&reports[stored..]), accepted(60 - stored));
                place.cut_power();
                place.open();
                place.assert_holds(&reports);
                continue;
            }
            doubted += 1;
            assert!(matches!(sent, Ok(_) | Err(CommitError::Unknown(_))), "{sent:?}");
            // The disk works again.
            assert!(matches!(place.commit(&reports[40..]), Err(CommitError::Unknown(_))));
            assert!(place.configure(&TaskSettings::default()).is_err() && place.erase(&reports[..1]).is_err());
            // As one that began before, and waited for the writer.
            let waited = place.store().find(place.task.digest()).unwrap().erase(&ids(&reports[20..21]));
            assert!(waited.unwrap_err().is_in_doubt());
            assert!(place.store().put(tasks().remove(1), TaskSettings::default()).is_err());
            for erase in [Erase::AfterGrace, Erase::Now] {
                assert!(place.store().delete(place.task.digest(), erase).unwrap_err().is_in_doubt());
            }
            let deleted = DeletedTask { digest: place.task.digest(), key: 7, since: 7 };
            assert!(place.store().erase(&deleted).unwrap_err().is_in_doubt());
            place.assert_holds(&reports[..stored]);
            match end {
                0 => place.cut_power(),
                1 => place.kill(),
                _ => place.close(),
            }
            if rng.random_bool(0.5) {
                place.disk.fail(rng.random_range(0..15), Fault::Stop);
                let _ = place.try_open();
                place.cut_power();
            }
            place.open();
            assert!(place.records() == stored || place.records() == 40);
            // A report that is there already is not written.
            let again = place.commit(&reports[..40]).unwrap();
            assert_eq!(again.accepted + again.duplicate, 40);
            place.cut_power();
            place.open();
            place.assert_holds(&reports[..40]);
            assert_eq!(place.commit(&reports[40..]), accepted(20));
            place.assert_holds(&reports);
        }
    }
    assert!(refused > 5 && doubted > 5, "too little failed: {refused} writes, {doubted} syncs");
}

/// At any operation of its closing, by which its log is written back.
#[test]
fn a_task_that_is_in_doubt_once_it_is_closed_is_not_deleted() {
    for operation in 0.. {
        let mut place = Place::new(operation, FolderOptions::default());
        let reports = reports(&place.task, operation, 10);
        assert_eq!(place.commit(&reports), accepted(10));
        place.disk.fail(operation, Fault::Once);
        let deleted = place.store().delete(place.task.digest(), Erase::AfterGrace);
        let is_in_doubt = place.options.failed.borrow().is_some();
        assert_eq!(deleted.is_err(), is_in_doubt, "{deleted:?}");
        assert_eq!(place.store().deleted().unwrap().is_empty(), is_in_doubt);
        if place.disk.failures() == 0 {
            assert!(operation > 2, "{operation} operations");
            break;
        }
        // The first one is a sync.
        assert!(is_in_doubt || operation > 0);
        if is_in_doubt {
            place.kill();
            place.open();
            place.assert_holds(&reports);
        }
    }
}

/// At any byte of a commit, of the sum that follows, of an erasure, and of writing the log back.
#[test]
fn a_full_disk_refuses_and_with_more_room_everything_goes_on() {
    for log_bytes in [16 << 20, 1] {
        let options = FolderOptions { summed_reports: 1, log_bytes, ..FolderOptions::default() };
        let mut place = Place::new(log_bytes, options);
        let mut rng = ChaCha8Rng::seed_from_u64(log_bytes);
        let mut stored = Vec::new();
        let (mut refused, mut kept) = (0, 0);
        for room in (0..40_000).step_by(531) {
            let new = reports_with_rng(&place.task, &mut rng, 5);
            place.disk.set_room(room);
            let sent = place.commit(&new);
            if sent.is_err() {
                assert!(matches!(sent, Err(CommitError::Write(_))), "{sent:?}");
                assert_eq!(*place.options.failed.borrow(), None);
                refused += 1;
                place.assert_holds(&stored);
                place.disk.set_room(u64::MAX);
                if room % 2 == 0 {
                    place.kill();
                    place.open();
                    place.assert_holds(&stored);
                }
                assert_eq!(place.commit(&new), accepted(5));
            }
            stored.extend(new);
            place.assert_holds(&stored);
            place.disk.set_room(room);
            let gone: Vec<Report> = stored.drain(..2).collect();
            if place.erase(&gone).is_err() {
                kept += 1;
                // It may be done, and only be left in the log.
                if place.records() > stored.len() {
                    place.assert_holds(&[&gone[..], &stored[..]].concat());
                }
                place.disk.set_room(u64::MAX);
                assert_eq!(place.erase(&gone).unwrap(), 2);
            }
            place.disk.set_room(u64::MAX);
            place.assert_holds(&stored);
            assert_eq!(*place.options.failed.borrow(), None);
        }
        let enough = log_bytes == 1 || refused > 5 && kept > 5;
        assert!(enough, "too little failed: {refused} commits, {kept} erasures");
        place.cut_power();
        place.open();
        place.assert_holds(&stored);
    }
}

#[test]
fn a_full_disk_lets_a_start_and_a_deletion_through() {
    let Some(disk) = SmallDisk::mount(16) else { return };
    let root = disk.0.path().join("data");
    let tasks = tasks();
    let open = || FolderStore::open(&root, &tasks, FolderOptions::default());
    let (large, small) = (reports(&tasks[0], 1, 80_000), reports(&tasks[1], 2, 100));
    let store = open().unwrap();
    commit(&store, &tasks[0], &large).unwrap();
    commit(&store, &tasks[1], &small[..50]).unwrap();
    store.close();
    drop(store);
    for _ in 0..4 {
        disk.fill();
        let store = open().unwrap();
        assert_eq!(store.task(tasks[1].digest()).unwrap().counts().records, 50);
        store.close();
    }
    let store = open().unwrap();
    disk.fill();
    assert!(matches!(commit(&store, &tasks[0], &reports(&tasks[0], 3, 1_000)), Err(CommitError::Write(_))));
    let settings = TaskSettings { minimum_batch: Some(7), ..TaskSettings::default() };
    for reason in [store.check().unwrap_err(), store.put(tasks[1].clone(), settings).unwrap_err().to_string()] {
        assert!(reason.contains("is full") && reason.contains("DELETE") && !reason.contains("repair"), "{reason}");
    }
    assert!(store.delete(tasks[0].digest(), Erase::AfterGrace).unwrap());
    store.erase(&store.deleted().unwrap()[0]).unwrap();
    store.check().unwrap();
    assert_eq!(commit(&store, &tasks[1], &small[50..]).unwrap().accepted, 50);
    disk.fill();
    assert!(store.delete(tasks[1].digest(), Erase::Now).unwrap());
}

#[test]
fn a_backup_to_a_full_disk_names_the_copy() {
    let (Some(disk), root) = (SmallDisk::mount(1), tempdir().unwrap()) else { return };
    drop(FolderStore::open(root.path(), &tasks(), FolderOptions::default()).unwrap());
    disk.fill();
    let copied = backup(root.path(), &disk.0.path().join("copy"), &mut |_, _| {});
    let error = copied.unwrap_err().to_string();
    assert!(error.starts_with("cannot write") && error.contains("copy.part"), "{error}");
}

#[test]
fn a_folder_on_a_disk_that_cannot_be_written_is_read() {
    let Some(disk) = SmallDisk::mount(16) else { return };
    let (root, task) = (disk.0.path().join("data"), tasks().remove(0));
    let all = reports(&task, 5, 9);
    let store = FolderStore::open(&root, slice::from_ref(&task), FolderOptions::default()).unwrap();
    commit(&store, &task, &all).unwrap();
    drop(store);
    let remounted = Command::new("mount").args(["-o", "remount,ro"]).arg(disk.0.path()).status();
    assert!(remounted.unwrap().success());
    assert_eq!((problems(&root), exported(&root, &task, false).unwrap()), (vec![], all));
}
