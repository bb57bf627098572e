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
#![allow(non_snake_case, reason = "the names of SQLite's methods")]

use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::fs::{self, File};
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
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
use tokio::runtime::{Builder, Runtime};

use super::super::database::FILE;
use super::super::{FolderOptions, FolderStore, task_folder};
use super::model::{batch, reports, sum, tasks};
use crate::locks::hold;
use crate::store::{Batch, CommitError, Committed, Damage, ReportStore, StoreError, TaskReports, TaskSettings};
use ldp_pca::report::{Report, ReportId};
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
    fuse: Option<(u64, Fault)>,
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
    /// The length that programs see.
    length: usize,
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
    fn of(content: Vec<u8>) -> Self {
        Self { length: content.len(), disk: content, ..Self::default() }
    }

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
        let (left, fault) = self.fuse?;
        if left > 0 {
            self.fuse = Some((left - 1, fault));
            return None;
        }
        if fault == Fault::Once {
            self.fuse = None;
        }
        self.failures += 1;
        Some(fault)
    }

    /// Notices that a file is opened, which was there or not.
    fn open(&mut self, path: &Path, was_there: bool) {
        let is_known = self.files.contains_key(path);
        let image = self.files.entry(path.to_owned()).or_default();
        let file = fs::metadata(path).unwrap();
        let is_new = file.len() == 0 && path.ends_with(FILE);
        let is_written = image.rests && file.modified().unwrap() != rest();
        if !is_known || !was_there || image.removed || is_new || is_written {
            *image = Image::of(fs::read(path).unwrap());
        }
        image.rests = false;
    }
}

impl Disk {
    fn new(root: &Path, seed: u64) -> &'static Self {
        static REGISTERED: Once = Once::new();
        REGISTERED.call_once(register);
        let (files, counters, rng) = (BTreeMap::new(), BTreeMap::new(), ChaCha8Rng::seed_from_u64(seed));
        let state = State { files, counters, fuse: None, failures: 0, room: u64::MAX, rng };
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
        (state.fuse, state.failures) = (Some((operations, fault)), 0);
    }

    /// How many have failed.
    fn failures(&self) -> u64 {
        hold(&self.state).failures
    }

    fn heal(&self) {
        let mut state = hold(&self.state);
        (state.fuse, state.failures) = (None, 0);
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
        let (zName, pNext, pAppData) = (c"simulated".as_ptr(), ptr::null_mut(), real.cast());
        let vfs = sqlite3_vfs { zName, pNext, pAppData, xOpen: Some(open), xDelete: Some(delete), ..*real };
        assert_eq!(sqlite3_vfs_register(Box::leak(Box::new(vfs)), 1), SQLITE_OK);
    }
}

/// The file that SQLite has. The default VFS has needs more bytes for its own, so there is room for this one.
#[repr(C)]
struct Handle {
    base: sqlite3_file,
    open: *mut Open,
}

/// An open file on a disk.
struct Open {
    disk: &'static Disk,
    path: PathBuf,
    /// The file of the default VFS.
    real: Vec<u64>,
}

impl Open {
    fn real(&mut self) -> *mut sqlite3_file {
        self.real.as_mut_ptr().cast()
    }
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(xClose),
    xRead: Some(xRead),
    xWrite: Some(xWrite),
    xTruncate: Some(xTruncate),
    xSync: Some(xSync),
    xFileSize: Some(xFileSize),
    xLock: Some(xLock),
    xUnlock: Some(xUnlock),
    xCheckReservedLock: Some(xCheckReservedLock),
    xFileControl: Some(xFileControl),
    xSectorSize: Some(xSectorSize),
    xDeviceCharacteristics: Some(xDeviceCharacteristics),
    xShmMap: Some(xShmMap),
    xShmLock: Some(xShmLock),
    xShmBarrier: Some(xShmBarrier),
    xShmUnmap: Some(xShmUnmap),
    xFetch: None,
    xUnfetch: None,
};

/// Calls a method of a file of the default VFS.
macro_rules! call {
    ($real:expr, $method:ident $(, $argument:expr)*) => {{
        let real = $real;
        (*(*real).pMethods).$method.map_or(SQLITE_IOERR, |method| method(real $(, $argument)*))
    }};
}

macro_rules! pass_on {
    ($($method:ident($($argument:ident: $of:ty),*);)*) => {$(
        unsafe extern "C" fn $method(file: *mut sqlite3_file $(, $argument: $of)*) -> c_int {
            // SAFETY: SQLite calls it with a file that `open` opened, and what the method takes.
            unsafe { call!(opened(file).real(), $method $(, $argument)*) }
        }
    )*};
}

pass_on! {
    xRead(buffer: *mut c_void, bytes: c_int, start: i64);
    xFileSize(size: *mut i64);
    xLock(level: c_int);
    xUnlock(level: c_int);
    xCheckReservedLock(found: *mut c_int);
    xFileControl(operation: c_int, argument: *mut c_void);
    xSectorSize();
    xDeviceCharacteristics();
    xShmMap(page: c_int, bytes: c_int, extend: c_int, mapped: *mut *mut c_void);
    xShmLock(first: c_int, count: c_int, flags: c_int);
    xShmUnmap(remove: c_int);
}

unsafe extern "C" fn xShmBarrier(file: *mut sqlite3_file) {
    // SAFETY: SQLite calls it with a file that `open` opened.
    unsafe {
        let real = opened(file).real();
        if let Some(barrier) = (*(*real).pMethods).xShmBarrier {
            barrier(real);
        }
    }
}

/// What belongs to a file.
///
/// # Safety
/// [`open`] opened it, and nothing else uses it meanwhile.
unsafe fn opened<'a>(file: *mut sqlite3_file) -> &'a mut Open {
    // SAFETY: as the caller says.
    unsafe { &mut *(*file.cast::<Handle>()).open }
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
    // SAFETY: `register` has put the default VFS there. SQLite calls it with room for a file of either kind, and with
    // a name that stays as long as the file is open.
    unsafe {
        let real = (*vfs).pAppData.cast::<sqlite3_vfs>();
        let Some(open) = (*real).xOpen else { return SQLITE_IOERR };
        let Some((path, disk)) = path_of(name).and_then(|path| Some((path, Disk::of(path)?))) else {
            return open(real, name, file, flags, found);
        };
        (*file).pMethods = ptr::null();
        let mut state = hold(&disk.state);
        let was_there = path.exists();
        let room = vec![0; ((*real).szOsFile as usize).div_ceil(8)];
        let mut opened = Box::new(Open { disk, path: path.to_owned(), real: room });
        let result = open(real, name, opened.real(), flags, found);
        if result == SQLITE_OK {
            state.open(path, was_there);
            *file.cast::<Handle>() = Handle { base: sqlite3_file { pMethods: &METHODS }, open: Box::into_raw(opened) };
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

unsafe extern "C" fn xClose(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite calls it once with a file that `open` opened, and the last time.
    unsafe {
        let mut opened = Box::from_raw((*file.cast::<Handle>()).open);
        call!(opened.real(), xClose)
    }
}

unsafe extern "C" fn xWrite(file: *mut sqlite3_file, from: *const c_void, count: c_int, start: i64) -> c_int {
    // SAFETY: SQLite calls it with a file that `open` opened, and as many bytes.
    let (opened, bytes) = unsafe { (opened(file), slice::from_raw_parts(from.cast::<u8>(), count as usize)) };
    let mut state = hold(&opened.disk.state);
    if state.begin().is_some() {
        return SQLITE_IOERR_WRITE;
    }
    let State { files, room, .. } = &mut *state;
    let image = files.get_mut(&opened.path).unwrap();
    let growth = (start as usize + bytes.len()).saturating_sub(image.length) as u64;
    let missing = bytes.len().min(growth.saturating_sub(*room) as usize);
    *room = room.saturating_sub(growth);
    let bytes = &bytes[..bytes.len() - missing];
    image.length = image.length.max(start as usize + bytes.len());
    image.since.push(Change::Written(start as usize, bytes.to_vec()));
    // SAFETY: these are the first of the bytes.
    let result = unsafe { call!(opened.real(), xWrite, from, bytes.len() as c_int, start) };
    if result == SQLITE_OK && missing > 0 { SQLITE_FULL } else { result }
}

unsafe extern "C" fn xTruncate(file: *mut sqlite3_file, length: i64) -> c_int {
    // SAFETY: SQLite calls it with a file that `open` opened.
    let opened = unsafe { opened(file) };
    let mut state = hold(&opened.disk.state);
    if state.begin().is_some() {
        return SQLITE_IOERR_TRUNCATE;
    }
    let image = state.files.get_mut(&opened.path).unwrap();
    image.length = length as usize;
    image.since.push(Change::Cut(length as usize));
    // SAFETY: it is open.
    unsafe { call!(opened.real(), xTruncate, length) }
}

/// Real files need not be synced.
unsafe extern "C" fn xSync(file: *mut sqlite3_file, _: c_int) -> c_int {
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
    runtime: Runtime,
    root: PathBuf,
    _folder: TempDir,
}

impl Place {
    fn new(seed: u64, options: FolderOptions) -> Self {
        let folder = tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (disk, runtime) = (Disk::new(&root, seed), Builder::new_current_thread().build().unwrap());
        let mut place = Self { store: None, disk, task: task(), options, runtime, root, _folder: folder };
        place.open();
        place
    }

    fn try_open(&mut self) -> Result<(), StoreError> {
        self.options.failed.send_replace(None);
        self.store = None;
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

    fn store(&self) -> &FolderStore {
        self.store.as_ref().unwrap()
    }

    fn reports(&self) -> Arc<dyn TaskReports> {
        self.store().task(self.task.digest()).unwrap()
    }

    /// Returns when the writer has done what follows on the batch, too.
    fn commit(&self, reports: &[Report]) -> Result<Committed, CommitError> {
        let task = self.reports();
        let committed = self.runtime.block_on(task.commit(batch(reports)));
        self.runtime.block_on(task.commit(Batch::empty())).unwrap();
        committed
    }

    /// How many of these it erased, now or before.
    fn erase(&self, reports: &[Report]) -> Result<u64, StoreError> {
        let ids: Vec<ReportId> = reports.iter().map(Report::id).collect();
        let erased = self.store().erase_reports(self.task.digest(), &ids)?.unwrap();
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
        assert_eq!(self.reports().aggregate().unwrap(), sum(&self.task, reports));
    }
}

fn accepted(accepted: usize) -> Result<Committed, CommitError> {
    Ok(Committed { accepted: accepted as u64, ..Committed::default() })
}

/// A life on a machine that stops again and again, and what it has to hold.
struct Life {
    place: Place,
    rng: ChaCha8Rng,
    counted: Vec<Report>,
    /// Sent, and not answered.
    doubtful: Vec<Report>,
    erased: Vec<Report>,
    /// To be erased, and not answered.
    erasing: Vec<Report>,
    /// Those that were acknowledged last, and those that were tried since.
    settings: Vec<TaskSettings>,
}

impl Life {
    fn new(seed: u64) -> Self {
        let summed_reports = [1, 40, 1 << 17][seed as usize % 3];
        let log_bytes = [1, 2_000, 16 << 20][seed as usize / 3 % 3];
        let place = Place::new(seed, FolderOptions { summed_reports, log_bytes, ..FolderOptions::default() });
        let (rng, settings) = (ChaCha8Rng::seed_from_u64(seed), vec![TaskSettings::default()]);
        let (counted, doubtful, erased, erasing) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { place, rng, counted, doubtful, erased, erasing, settings }
    }

    fn step(&mut self) {
        match self.rng.random_range(0..100) {
            0..60 => self.upload(),
            60..70 => self.erase(),
            70..80 => {
                let minimum_batch = Some(self.rng.random_range(1..1_000));
                self.settings.push(TaskSettings { minimum_batch, ..TaskSettings::default() });
                if self.place.configure(&self.settings[self.settings.len() - 1]).is_ok() {
                    self.settings.drain(..self.settings.len() - 1);
                }
            }
            80..85 => self.place.close(),
            _ => self.place.disk.fail(self.rng.random_range(0..80), Fault::Stop),
        }
        if self.place.store.is_none() || self.place.disk.failures() > 0 {
            self.restart();
        }
    }

    /// A few batches at once, of new reports and of some sent before.
    fn upload(&mut self) {
        let Self { place, rng, counted, doubtful, erased, .. } = self;
        let mut sent = Vec::new();
        for _ in 0..rng.random_range(1..5) {
            let count = [1, 4, 400][rng.random_range(0..3)];
            let skipped = rng.random_range(0..50);
            let repeats: Vec<Report> = counted.iter().chain(&*erased).skip(skipped).take(2).cloned().collect();
            sent.push((reports(&place.task, rng, count), repeats));
        }
        let task = place.reports();
        let commits = sent.iter().map(|(new, repeats)| task.commit(batch(&[&new[..], &repeats[..]].concat())));
        let outcomes = place.runtime.block_on(join_all(commits));
        for ((new, repeats), outcome) in sent.into_iter().zip(outcomes) {
            match outcome {
                Ok(outcome) => {
                    let (accepted, duplicate) = (new.len() as u64, repeats.len() as u64);
                    assert_eq!(outcome, Committed { accepted, duplicate, conflicting: 0 });
                    counted.extend(new);
                }
                Err(CommitError::Unknown(_) | CommitError::Write(_)) if place.disk.failures() > 0 => {
                    doubtful.extend(new);
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn erase(&mut self) {
        let count = self.counted.len().min(3);
        let first = self.rng.random_range(0..=self.counted.len() - count);
        let wanted: Vec<Report> = self.counted.drain(first..first + count).collect();
        match self.place.erase(&wanted) {
            Ok(erased) => {
                assert_eq!(erased, count as u64);
                self.erased.extend(wanted);
            }
            Err(_) if self.place.disk.failures() > 0 => self.erasing.extend(wanted),
            Err(error) => panic!("{error}"),
        }
    }

    /// Starts the store again, however often the machine stops while it does, and compares.
    fn restart(&mut self) {
        loop {
            if self.rng.random_bool(0.7) {
                self.place.cut_power();
            } else {
                self.place.kill();
            }
            if self.rng.random_bool(0.5) {
                self.place.disk.fail(self.rng.random_range(0..30), Fault::Stop);
            }
            let opened = self.place.try_open();
            if self.place.disk.failures() == 0 {
                opened.unwrap();
                break;
            }
        }
        self.place.disk.heal();
        let Self { place, counted, doubtful, erased, erasing, settings, .. } = self;
        assert_eq!(place.reports().damage(), Damage::default());
        let found = TaskSettings::clone(&place.reports().settings());
        assert!(settings.contains(&found), "{found:?}");
        *settings = vec![found];
        let most = counted.len() + doubtful.len() + erasing.len();
        assert!((counted.len()..=most).contains(&place.records()));
        // What was in doubt is there whole or not at all, and can be done again.
        place.commit(doubtful).unwrap();
        counted.append(doubtful);
        assert_eq!(place.erase(erasing).unwrap(), erasing.len() as u64);
        erased.append(erasing);
        assert_eq!(place.commit(erased).unwrap().accepted, 0);
        place.assert_holds(counted);
    }
}

#[test]
fn after_power_cuts_every_acknowledged_report_is_there_once() {
    let (mut counted, mut erased) = (0, 0);
    for seed in 0..18 {
        let mut life = Life::new(seed);
        (0..40).for_each(|_| life.step());
        life.restart();
        counted += life.counted.len();
        erased += life.erased.len();
    }
    assert!(counted > 10_000 && erased > 50, "too little happened: {counted} reports, {erased} erased");
}

/// At any operation of a commit, and of the writing of the sum and of the log that follows.
#[test]
fn after_a_failed_sync_nothing_is_acknowledged_and_what_was_is_there() {
    let (mut refused, mut doubted) = (0, 0);
    for end in 0..3 {
        for operation in 0.. {
            let seed = 100 * end + operation;
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let reports = reports(&task(), &mut rng, 60);
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
            let new = reports(&place.task, &mut rng, 5);
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

fn task() -> Task {
    tasks().remove(0)
}
