//! A machine in memory that stops between any two operations of its disk. What was not synced is then there, torn, or
//! gone.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rusqlite::Connection;

use super::super::disk::{Disk, DiskFile};
use crate::locks::hold;
use crate::store::StoreError;

/// Databases in memory are found by name.
static MACHINES: AtomicU64 = AtomicU64::new(0);

/// The machine. Clones are the same one.
#[derive(Clone)]
pub(in super::super) struct Machine(Arc<Mutex<State>>);

struct State {
    /// Every file that was ever made.
    files: Vec<Content>,
    /// The names as programs see them: of files, and of folders.
    names: BTreeMap<PathBuf, usize>,
    folders: BTreeMap<PathBuf, ()>,
    /// The names on disk, and the later changes of names, by folder and in order.
    durable: BTreeMap<PathBuf, usize>,
    pending: BTreeMap<PathBuf, Vec<Change>>,
    /// Operations until the machine stops.
    fuse: Option<u64>,
    stopped: bool,
    /// Operations so far.
    operations: u64,
    /// Free bytes on the disk.
    room: u64,
    /// How many of the next syncs and cuts of files fail, and how many have.
    failing_syncs: u32,
    failing_cuts: u32,
    failures: u64,
    rng: ChaCha8Rng,
    /// The beginning of its databases' names.
    name: String,
    /// Keep the databases, by path, while no program has them open.
    databases: BTreeMap<PathBuf, Connection>,
}

/// A file's content.
#[derive(Clone, Default)]
struct Content {
    /// The content that programs see.
    seen: Vec<u8>,
    /// The synced content.
    synced: Vec<u8>,
    /// Parts that were written since.
    dirty: Vec<(usize, usize)>,
    /// The least length that it had since, where it was cut.
    cut: Option<usize>,
}

impl Content {
    /// Writes to the disk what the system still has to write.
    fn write_back(&mut self) {
        let Self { seen, synced, dirty, cut } = self;
        synced.truncate(cut.take().unwrap_or(usize::MAX));
        synced.resize(seen.len(), 0);
        for (start, end) in dirty.drain(..) {
            let end = end.min(seen.len());
            if start < end {
                synced[start..end].copy_from_slice(&seen[start..end]);
            }
        }
    }
}

/// A change of a name.
#[derive(Clone)]
enum Change {
    Named(PathBuf, usize),
    Renamed(PathBuf, PathBuf, usize),
    Gone(PathBuf),
    Moved(PathBuf, PathBuf),
}

impl Machine {
    pub(in super::super) fn new(seed: u64) -> Self {
        let name = format!("machine-{}", MACHINES.fetch_add(1, Ordering::Relaxed));
        Self(Arc::new(Mutex::new(State {
            files: Vec::new(),
            names: BTreeMap::new(),
            folders: BTreeMap::new(),
            durable: BTreeMap::new(),
            pending: BTreeMap::new(),
            fuse: None,
            stopped: false,
            operations: 0,
            room: u64::MAX,
            failing_syncs: 0,
            failing_cuts: 0,
            failures: 0,
            rng: ChaCha8Rng::seed_from_u64(seed),
            name,
            databases: BTreeMap::new(),
        })))
    }

    /// Stops the machine after this many operations.
    pub(in super::super) fn stop_after(&self, operations: u64) {
        self.state().fuse = Some(operations);
    }

    pub(in super::super) fn has_stopped(&self) -> bool {
        self.state().stopped
    }

    pub(in super::super) fn operations(&self) -> u64 {
        self.state().operations
    }

    /// The bytes at which the disk is full.
    pub(in super::super) fn set_room(&self, room: u64) {
        self.state().room = room;
    }

    /// Starts programs again on a running machine: nothing that they did is lost.
    pub(in super::super) fn revive(&self) {
        let mut state = self.state();
        (state.fuse, state.stopped) = (None, false);
    }

    /// Starts the machine again. Each file has its synced content, and any part of the rest; changes of names are kept
    /// in their order up to any of them.
    pub(in super::super) fn restart(&self) {
        let mut state = self.state();
        let State { files, rng, durable, pending, .. } = &mut *state;
        for changes in std::mem::take(pending).into_values() {
            let kept = rng.random_range(0..=changes.len());
            changes.into_iter().take(kept).for_each(|change| change.apply(durable));
        }
        for file in files {
            let mut content = file.synced.clone();
            for &(start, end) in &file.dirty {
                // All of it, none, its beginning, or room that was never filled.
                let end = match rng.random_range(0..4) {
                    0 => continue,
                    1 => rng.random_range(start..=end),
                    _ => end,
                };
                content.resize(content.len().max(end), 0);
                let seen = file.seen.get(start..end.min(file.seen.len())).unwrap_or_default();
                if rng.random_range(0..4) > 0 {
                    content[start..start + seen.len()].copy_from_slice(seen);
                }
            }
            *file = Content { seen: content.clone(), synced: content, dirty: Vec::new(), cut: None };
        }
        state.names = state.durable.clone();
        // Files that come back come back with their folder.
        let folders: Vec<PathBuf> = state.names.keys().map(|name| parent(name).to_owned()).collect();
        state.folders.extend(folders.into_iter().map(|folder| (folder, ())));
        (state.fuse, state.stopped) = (None, false);
    }

    /// Makes the next syncs of files fail, and the next cuts. The system forgets to write what could not be synced.
    pub(in super::super) fn fail(&self, syncs: u32, cuts: u32) {
        let mut state = self.state();
        (state.failing_syncs, state.failing_cuts) = (syncs, cuts);
    }

    /// How many syncs and cuts have failed so.
    pub(in super::super) fn failures(&self) -> u64 {
        self.state().failures
    }

    pub(in super::super) fn is_full(&self) -> bool {
        self.state().room < 1 << 20
    }

    /// Whether there is a file in a folder.
    pub(in super::super) fn holds_below(&self, folder: &Path) -> bool {
        self.state().names.keys().any(|name| name.starts_with(folder))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        hold(&self.0)
    }

    /// Counts an operation; from the one at which the machine stops on, all fail.
    fn begin(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        if state.burn() { Err(io::Error::other("the machine stopped")) } else { Ok(state) }
    }
}

impl State {
    fn burn(&mut self) -> bool {
        self.operations += 1;
        match &mut self.fuse {
            Some(0) => self.stopped = true,
            Some(fuse) => *fuse -= 1,
            None => {}
        }
        self.stopped
    }

    fn change(&mut self, folder: &Path, change: Change) {
        change.clone().apply(&mut self.names);
        self.pending.entry(folder.to_owned()).or_default().push(change);
    }

    fn find(&self, path: &Path) -> io::Result<usize> {
        self.names.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Change {
    fn apply(self, names: &mut BTreeMap<PathBuf, usize>) {
        match self {
            Self::Named(path, file) => drop(names.insert(path, file)),
            Self::Renamed(from, to, file) => {
                names.remove(&from);
                names.insert(to, file);
            }
            Self::Gone(path) => drop(names.remove(&path)),
            Self::Moved(from, to) => {
                let moved: Vec<PathBuf> = names.keys().filter(|name| name.starts_with(&from)).cloned().collect();
                for name in moved {
                    let file = names.remove(&name);
                    names.extend(name.strip_prefix(&from).ok().map(|rest| to.join(rest)).zip(file));
                }
            }
        }
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap()
}

impl Disk for Machine {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.begin()?;
        if state.room == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        // A file that is there is emptied. Unless it is synced, it may be there as it was.
        let file = match state.names.get(path) {
            Some(file) => *file,
            None => {
                state.files.push(Content::default());
                let file = state.files.len() - 1;
                state.change(parent(path), Change::Named(path.to_owned(), file));
                file
            }
        };
        let content = &mut state.files[file];
        content.seen.clear();
        content.cut = Some(0);
        Ok(Box::new(MachineFile { machine: self.clone(), file }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let state = self.begin()?;
        Ok(Box::new(MachineFile { machine: self.clone(), file: state.find(path)? }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.begin()?;
        let file = state.find(from)?;
        assert_eq!(parent(from), parent(to), "renaming across folders is not atomic everywhere");
        state.change(parent(to), Change::Renamed(from.to_owned(), to.to_owned(), file));
        Ok(())
    }

    fn move_folder(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.begin()?;
        let waiting = state.pending.get(from).is_some_and(|changes| !changes.is_empty());
        assert!(!waiting, "the names in a folder that is moved are on the disk");
        state.folders.remove(from).ok_or(io::ErrorKind::NotFound)?;
        assert!(!state.names.keys().any(|name| name.starts_with(to)), "the place is free");
        state.folders.insert(to.to_owned(), ());
        state.change(parent(to), Change::Moved(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.begin()?;
        state.find(path)?;
        state.change(parent(path), Change::Gone(path.to_owned()));
        Ok(())
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.begin()?.folders.insert(path.to_owned(), ());
        Ok(())
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = self.begin()?;
        assert!(!state.names.keys().any(|name| name.starts_with(path)), "the folder is not empty");
        state.folders.remove(path).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let state = self.begin()?;
        let below = |name: &Path| Some(name.strip_prefix(path).ok()?.iter().next()?.to_str().unwrap().to_owned());
        let mut names: Vec<String> =
            state.names.keys().chain(state.folders.keys()).filter_map(|name| below(name)).collect();
        names.sort();
        names.dedup();
        if names.is_empty() && !state.folders.contains_key(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(names)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = self.begin()?;
        let changes = state.pending.remove(path).unwrap_or_default();
        changes.into_iter().for_each(|change| change.apply(&mut state.durable));
        Ok(())
    }

    fn database(&self, path: &Path, _: bool) -> rusqlite::Result<Connection> {
        let mut state = self.state();
        let address = format!("file:{}{}?mode=memory&cache=shared", state.name, path.display());
        let mut connection = Connection::open(&address)?;
        state.databases.entry(path.to_owned()).or_insert(Connection::open(&address)?);
        drop(state);
        let machine = self.clone();
        // A transaction is there whole or not at all.
        connection.commit_hook(Some(move || machine.state().burn()))?;
        Ok(connection)
    }

    fn lock(&self, _: &Path) -> Result<Box<dyn Send + Sync>, StoreError> {
        Ok(Box::new(()))
    }
}

/// A file that is open.
struct MachineFile {
    machine: Machine,
    file: usize,
}

impl DiskFile for MachineFile {
    fn length(&self) -> io::Result<u64> {
        let state = self.machine.begin()?;
        Ok(state.files[self.file].seen.len() as u64)
    }

    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.machine.begin()?;
        let rest = state.files[self.file].seen.get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn write_at(&mut self, parts: &mut [IoSlice<'_>], offset: u64) -> io::Result<()> {
        // A machine that stops in the middle has written the beginning.
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_vec()).collect();
        let start = offset as usize;
        let mut state = self.machine.state();
        if state.stopped || state.burn() {
            return Err(io::Error::other("the machine stopped"));
        }
        let written = bytes.len().min(usize::try_from(state.room).unwrap_or(usize::MAX));
        state.room -= written as u64;
        let content = &mut state.files[self.file];
        let end = start + written;
        content.seen.resize(content.seen.len().max(end), 0);
        content.seen[start..end].copy_from_slice(&bytes[..written]);
        content.dirty.push((start, end));
        if written < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn reserve(&mut self, length: u64) -> io::Result<()> {
        let mut state = self.machine.begin()?;
        if state.room < length {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let content = &mut state.files[self.file];
        content.seen.resize(content.seen.len().max(length as usize), 0);
        Ok(())
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        let mut state = self.machine.begin()?;
        if state.failing_cuts > 0 {
            state.failing_cuts -= 1;
            state.failures += 1;
            return Err(io::Error::other("the disk cannot cut"));
        }
        let content = &mut state.files[self.file];
        content.seen.resize(length as usize, 0);
        content.cut = Some(content.cut.unwrap_or(usize::MAX).min(length as usize));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.machine.begin()?;
        if state.failing_syncs > 0 {
            state.failing_syncs -= 1;
            state.failures += 1;
            let State { files, rng, .. } = &mut *state;
            // Some of it is on disk; the system believes the rest is, too.
            let content = &mut files[self.file];
            content.dirty.retain(|_| rng.random_bool(0.5));
            content.write_back();
            return Err(io::Error::other("the disk cannot sync"));
        }
        state.files[self.file].write_back();
        Ok(())
    }

    fn reread(&mut self) -> io::Result<()> {
        self.sync()?;
        let mut state = self.machine.begin()?;
        let content = &mut state.files[self.file];
        content.seen = content.synced.clone();
        Ok(())
    }
}
