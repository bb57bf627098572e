//! The embedded store: a folder that holds each task and every report that was acknowledged (docs/store.md).
//!
//! ```text
//! format                           "ldp-pca store 3"
//! lock                             held while a server has the folder open
//! store.sqlite                     tasks, settings, sealed segments with their ids, and their sum (`manifest`)
//! store.sqlite-changes             how often the manifest was changed
//! tasks/<digest>/task.json         the task, canonical
//! tasks/<digest>/acknowledged      how far its reports were acknowledged (`acknowledged`)
//! tasks/<digest>/<number>.open     the segment that is written: a Parquet file without its footer (`segment`)
//! tasks/<digest>/<number>.parquet  a sealed segment, which is never written again
//! tasks/<digest>/<name>.damaged    what could not be read as a whole when the folder was opened or repaired
//! ```
//!
//! A report is acknowledged after it was written and the disk said so (`writer`). Whatever waits when the disk becomes
//! free is written together, as one page, and synced once. Sums follow behind, and full segments are sealed, by another
//! thread (`keeper`). A start reads the manifest and replays what it does not tell of: the segment that was written,
//! and what a crash left between two steps of sealing. No crash leaves anything to be done by hand.
//!
//! What the disk changes by itself is noticed: every row and every report is under a checksum, the manifest's changes and
//! the acknowledged reports are counted elsewhere too.

mod acknowledged;
#[cfg(target_os = "linux")]
mod direct;
mod disk;
mod keeper;
pub mod maintenance;
mod manifest;
mod parquet;
mod place;
mod rows;
mod scan;
mod segment;
mod slots;
mod tally;
mod task;
mod thrift;
mod upgrade;
mod writer;

#[cfg(test)]
mod damaged;
#[cfg(test)]
mod flips;
#[cfg(test)]
mod model;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod speed;

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use self::acknowledged::{Acknowledged, AcknowledgedFile, Told};
use self::disk::{Disk, SystemDisk, read_small, write_small};
use self::manifest::Manifest;
use self::place::Place;
use self::segment::SegmentFile;
use self::task::FolderTask;
use super::queue::hold;
use super::{Damage, Put, ReportStore, StoreError, StoreMetrics, TaskReports, TaskSettings};
use crate::report::report_bytes;
use crate::task::{MAX_TASK_BYTES, Task, TaskDigest};

/// What the file `format` says.
pub(super) const FORMAT: &str = "ldp-pca store 3";

/// What it said before; a start goes on with such a folder and makes it one of this format.
const OLD_FORMAT: &str = "ldp-pca store 2";

/// Bytes that [`FolderStore::check`] writes.
const PROBE_BYTES: usize = 64 << 10;

/// How a folder is written.
#[derive(Clone, Debug)]
pub(in crate::server) struct FolderOptions {
    /// Batches that may wait per task; beyond them commits are [`CommitError::Busy`](super::CommitError::Busy). Default
    /// 4096.
    pub(in crate::server) queue: usize,
    /// Bytes of a segment from which it is sealed, or the bytes of the task's aggregate if that is more. Default 256
    /// MiB.
    pub(in crate::server) segment_bytes: u64,
    /// Reports of a segment from which it is sealed. Default 131,072.
    pub(in crate::server) segment_reports: u64,
    /// Where the store keeps its figures.
    pub(in crate::server) metrics: StoreMetrics,
}

impl Default for FolderOptions {
    fn default() -> Self {
        Self { queue: 4096, segment_bytes: 256 << 20, segment_reports: 1 << 17, metrics: StoreMetrics::default() }
    }
}

/// All tasks of a folder.
pub(in crate::server) struct FolderStore {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    options: FolderOptions,
    manifest: Arc<Manifest>,
    tasks: RwLock<BTreeMap<TaskDigest, Arc<FolderTask>>>,
    /// Held while a task is added, changed or deleted, so that requests need not wait for the disk.
    changes: Mutex<()>,
    lock: Mutex<Option<Box<dyn Send + Sync>>>,
    /// As it was found.
    age: Age,
}

/// What a folder says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    /// Nothing: it is being made.
    New,
    /// The format before this one, or a start that was brought to this one and did not come to its end.
    Old,
    /// This format.
    Current,
}

impl FolderStore {
    /// Opens or makes the folder with `tasks` and those that it already has.
    pub(in crate::server) fn open(root: &Path, tasks: &[Task], options: FolderOptions) -> Result<Self, StoreError> {
        Self::open_on(Arc::new(SystemDisk), root, tasks, options)
    }

    fn open_on(disk: Arc<dyn Disk>, root: &Path, tasks: &[Task], options: FolderOptions) -> Result<Self, StoreError> {
        let folder = root.join("tasks");
        disk.make_folder(&folder).map_err(|error| StoreError::io("make", &folder, error))?;
        let lock = Mutex::new(Some(disk.lock(root)?));
        let age = read_format(&*disk, root)?;
        let manifest = Arc::new(Manifest::open(&*disk, &root.join("store.sqlite"), age)?);
        manifest.count_changes(&*disk)?;
        if let Some(doubt) = &manifest.doubt {
            tracing::warn!("{doubt}");
        }
        let store = Self {
            disk,
            root: root.to_owned(),
            options,
            manifest,
            tasks: RwLock::default(),
            changes: Mutex::default(),
            lock,
            age,
        };
        store.open_tasks()?;
        // Now it has all that this format asks for.
        if age != Age::Current {
            write_format(&*store.disk, root)?;
        }
        for task in tasks {
            if store.task(task.digest()).is_none() {
                store.put(task.clone(), TaskSettings::default())?;
            }
        }
        Ok(store)
    }

    /// Opens the tasks of the manifest, and finishes deletions.
    fn open_tasks(&self) -> Result<(), StoreError> {
        let mut known = Vec::new();
        for row in self.manifest.tasks()? {
            if row.deleted {
                self.finish_deletion(row.digest)?;
                continue;
            }
            let task = read_task(&*self.disk, &self.folder(row.digest), row.digest)?;
            let task = FolderTask::open(self.place(task)?, row.settings)?;
            warn_of(&task.damage(), row.digest);
            self.add(task);
            known.push(row.digest);
        }
        let folder = self.root.join("tasks");
        for name in self.disk.list(&folder).map_err(|error| StoreError::io("list", &folder, error))? {
            match TaskDigest::from_hex(&name) {
                Some(digest) if !known.contains(&digest) => self.sweep(digest)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes what a crash left of a task that was about to be added. Reports without a task in the manifest are
    /// somebody's mistake.
    fn sweep(&self, digest: TaskDigest) -> Result<(), StoreError> {
        let folder = self.folder(digest);
        let names = self.disk.list(&folder).map_err(|error| StoreError::io("list", &folder, error))?;
        let is_segment = |name: &String| {
            matches!(
                SegmentFile::of_name(name),
                Some(SegmentFile::Open(_) | SegmentFile::Sealed(_) | SegmentFile::Damaged)
            )
        };
        if names.iter().any(is_segment) {
            let problem = format!("it does not tell of task {digest}, which has reports in {}", folder.display());
            return Err(StoreError::manifest(&self.manifest.path, problem));
        }
        self.remove_folder(digest)
    }

    fn finish_deletion(&self, digest: TaskDigest) -> Result<(), StoreError> {
        self.remove_folder(digest)?;
        self.manifest.forget(digest)
    }

    fn remove_folder(&self, digest: TaskDigest) -> Result<(), StoreError> {
        let folder = self.folder(digest);
        let remove = || {
            let names = match self.disk.list(&folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                names => names?,
            };
            for name in names {
                self.disk.remove(&folder.join(name))?;
            }
            // Or files might come back without the folder's row in the manifest.
            self.disk.sync_folder(&folder)?;
            self.disk.remove_folder(&folder)?;
            self.disk.sync_folder(&self.root.join("tasks"))
        };
        remove().map_err(|error| StoreError::io("delete", &folder, error))
    }

    fn find(&self, digest: TaskDigest) -> Option<Arc<FolderTask>> {
        self.tasks.read().unwrap_or_else(PoisonError::into_inner).get(&digest).map(Arc::clone)
    }

    fn add(&self, task: FolderTask) {
        let mut tasks = self.tasks.write().unwrap_or_else(PoisonError::into_inner);
        tasks.insert(task.task().digest(), Arc::new(task));
    }

    fn folder(&self, digest: TaskDigest) -> PathBuf {
        self.root.join("tasks").join(digest.to_string())
    }

    fn place(&self, task: Task) -> Result<Place, StoreError> {
        let folder = self.folder(task.digest());
        Ok(Place {
            disk: Arc::clone(&self.disk),
            told: Told::read(&*self.disk, &folder, task.digest(), self.age == Age::Current)?,
            folder,
            manifest: Arc::clone(&self.manifest),
            report_bytes: report_bytes(&task),
            task,
            options: self.options.clone(),
        })
    }
}

impl ReportStore for FolderStore {
    fn tasks(&self) -> Vec<Arc<dyn TaskReports>> {
        let tasks = self.tasks.read().unwrap_or_else(PoisonError::into_inner);
        tasks.values().map(|task| Arc::clone(task) as Arc<dyn TaskReports>).collect()
    }

    fn task(&self, digest: TaskDigest) -> Option<Arc<dyn TaskReports>> {
        self.find(digest).map(|task| task as Arc<dyn TaskReports>)
    }

    fn put(&self, task: Task, settings: TaskSettings) -> Result<Put, StoreError> {
        let _change = hold(&self.changes);
        let digest = task.digest();
        if let Some(task) = self.find(digest) {
            self.manifest.put(digest, &settings)?;
            task.configure(settings);
            return Ok(Put::Updated);
        }
        if self.manifest.is_deleted(digest)? == Some(true) {
            self.finish_deletion(digest)?;
        }
        // The manifest tells of a task once its folder is complete.
        let folder = self.folder(digest);
        let made = self
            .disk
            .make_folder(&folder)
            .and_then(|()| write_small(&*self.disk, &folder, "task.json", task.to_json().as_bytes()));
        let made = made.and_then(|()| self.disk.sync_folder(&self.root.join("tasks")));
        made.map_err(|error| StoreError::io("make", &folder, error))?;
        AcknowledgedFile::create(&*self.disk, &folder, digest, Acknowledged::default())?;
        self.manifest.put(digest, &settings)?;
        self.add(FolderTask::open(self.place(task)?, settings)?);
        Ok(Put::Created)
    }

    fn delete(&self, digest: TaskDigest) -> Result<bool, StoreError> {
        let _change = hold(&self.changes);
        let Some(task) = self.find(digest) else { return Ok(false) };
        self.manifest.bury(digest)?;
        self.tasks.write().unwrap_or_else(PoisonError::into_inner).remove(&digest);
        task.close();
        // Should this fail, the next start finishes it.
        self.finish_deletion(digest)?;
        Ok(true)
    }

    fn check(&self) -> Result<(), String> {
        let path = self.root.join("probe.tmp");
        let probe = || {
            let mut file = self.disk.create(&path)?;
            file.write_at(&mut [IoSlice::new(&[0x5a; PROBE_BYTES])], 0)?;
            file.sync()
        };
        let probed = probe();
        // What is left of it is written over by the next.
        let _ = self.disk.remove(&path);
        probed.map_err(|error: io::Error| StoreError::io("write", &path, error).to_string())
    }

    fn close(&self) {
        self.tasks.read().unwrap_or_else(PoisonError::into_inner).values().for_each(|task| task.close());
        self.manifest.close();
        hold(&self.lock).take();
    }
}

/// What the folder says of itself, if this software knows it.
fn read_format(disk: &dyn Disk, root: &Path) -> Result<Age, StoreError> {
    let path = root.join("format");
    match read_small(disk, &path, 4096) {
        Ok(found) if found.trim_ascii_end() == FORMAT.as_bytes() => Ok(Age::Current),
        Ok(found) if found.trim_ascii_end() == OLD_FORMAT.as_bytes() => Ok(Age::Old),
        Ok(found) => {
            let found = String::from_utf8_lossy(&found).trim().chars().take(80).collect();
            Err(StoreError::Format { path, found })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Age::New),
        Err(error) => Err(StoreError::io("read", &path, error)),
    }
}

fn write_format(disk: &dyn Disk, root: &Path) -> Result<(), StoreError> {
    let written = write_small(disk, root, "format", format!("{FORMAT}\n").as_bytes());
    written.map_err(|error| StoreError::io("write", &root.join("format"), error))
}

/// Tells an operator of what opening a task found.
fn warn_of(damage: &Damage, task: TaskDigest) {
    for place in &damage.places {
        tracing::warn!(%task, "{place}");
    }
    if damage.cut_bytes > 0 {
        tracing::info!(%task, bytes = damage.cut_bytes, "cut off what was written and never acknowledged");
    }
}

/// The task of a folder.
fn read_task(disk: &dyn Disk, folder: &Path, digest: TaskDigest) -> Result<Task, StoreError> {
    let path = folder.join("task.json");
    let text = read_small(disk, &path, MAX_TASK_BYTES).map_err(|error| StoreError::io("read", &path, error))?;
    let task = match Task::from_json(&String::from_utf8_lossy(&text)) {
        Ok(task) => task,
        Err(source) => return Err(StoreError::Task { path, source }),
    };
    if task.digest() == digest {
        Ok(task)
    } else {
        Err(StoreError::OtherTask { path, expected: digest, found: task.digest() })
    }
}
