//! The embedded store: a folder that holds each task and every report that was acknowledged.
//!
//! ```text
//! format                      "ldp-pca store 1"
//! lock                        held while a server has the folder open
//! tasks/<digest>/task.json    the task, canonical
//! tasks/<digest>/reports.log  its reports, one after the other, each with its own checksum
//! ```
//!
//! A report is acknowledged after it was written and the disk said so. Whatever waits when the disk becomes free is written together
//! and synced once. The sums and the ids are in memory, and rebuilt from the file at start.

mod log;
mod writer;

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use self::writer::FolderTask;
use super::{Put, ReportStore, StoreError, StoreMetrics, TaskReports, TaskSettings};
use crate::task::{Task, TaskDigest};

/// What the file `format` says.
pub(super) const FORMAT: &str = "ldp-pca store 1";

/// How a folder is written.
#[derive(Clone, Debug)]
pub(in super::super) struct FolderOptions {
    /// Batches that may wait per task; beyond them commits are [`CommitError::Busy`](super::CommitError::Busy). Default 4096.
    pub(in super::super) queue: usize,
    /// Bytes of a segment from which it is sealed, or the bytes of the task's aggregate if that is more. Default 64 MiB.
    pub(in super::super) segment_bytes: u64,
    /// Reports of a segment from which it is sealed. Default 262,144.
    pub(in super::super) segment_reports: u64,
    /// Where the store keeps its figures.
    pub(in super::super) metrics: StoreMetrics,
}

impl Default for FolderOptions {
    fn default() -> Self {
        Self { queue: 4096, segment_bytes: 64 << 20, segment_reports: 1 << 18, metrics: StoreMetrics::default() }
    }
}

/// All tasks of a folder.
pub(in super::super) struct FolderStore {
    folder: PathBuf,
    options: FolderOptions,
    tasks: RwLock<BTreeMap<TaskDigest, Arc<FolderTask>>>,
    lock: File,
}

impl FolderStore {
    /// Opens or makes the folder with `tasks` and those that it already has.
    pub(in super::super) fn open(root: &Path, tasks: &[Task], options: FolderOptions) -> Result<Self, StoreError> {
        let folder = root.join("tasks");
        fs::create_dir_all(&folder).map_err(|error| StoreError::io("make", &folder, error))?;
        let lock = lock(&root.join("lock"))?;
        check_format(root)?;
        for task in tasks {
            add_task(&folder, task)?;
        }
        sync_folder(&folder)?;
        sync_folder(root)?;
        let mut stores = BTreeMap::new();
        for entry in fs::read_dir(&folder).map_err(|error| StoreError::io("list", &folder, error))? {
            let path = entry.map_err(|error| StoreError::io("list", &folder, error))?.path();
            if let Some(task) = read_task(&path)? {
                let digest = task.digest();
                stores.insert(digest, Arc::new(FolderTask::open(task, &path.join("reports.log"), options.queue)?));
                sync_folder(&path)?;
            }
        }
        Ok(Self { folder, options, tasks: RwLock::new(stores), lock })
    }
}

impl ReportStore for FolderStore {
    fn tasks(&self) -> Vec<Arc<dyn TaskReports>> {
        let tasks = self.tasks.read().unwrap_or_else(PoisonError::into_inner);
        tasks.values().map(|task| Arc::clone(task) as Arc<dyn TaskReports>).collect()
    }

    fn task(&self, digest: TaskDigest) -> Option<Arc<dyn TaskReports>> {
        let tasks = self.tasks.read().unwrap_or_else(PoisonError::into_inner);
        tasks.get(&digest).map(|task| Arc::clone(task) as Arc<dyn TaskReports>)
    }

    fn put(&self, task: Task, settings: TaskSettings) -> Result<Put, StoreError> {
        let mut tasks = self.tasks.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = tasks.get(&task.digest()) {
            task.configure(settings);
            return Ok(Put::Updated);
        }
        add_task(&self.folder, &task)?;
        sync_folder(&self.folder)?;
        let digest = task.digest();
        let path = self.folder.join(digest.to_string()).join("reports.log");
        let task = FolderTask::open(task, &path, self.options.queue)?;
        task.configure(settings);
        tasks.insert(digest, Arc::new(task));
        Ok(Put::Created)
    }

    fn delete(&self, digest: TaskDigest) -> Result<bool, StoreError> {
        let mut tasks = self.tasks.write().unwrap_or_else(PoisonError::into_inner);
        let Some(task) = tasks.remove(&digest) else { return Ok(false) };
        task.close();
        let folder = self.folder.join(digest.to_string());
        fs::remove_dir_all(&folder).map_err(|error| StoreError::io("delete", &folder, error))?;
        sync_folder(&self.folder)?;
        Ok(true)
    }

    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    fn close(&self) {
        self.tasks.read().unwrap_or_else(PoisonError::into_inner).values().for_each(|task| task.close());
        // The lock goes with the process at the latest.
        let _ = self.lock.unlock();
    }
}

/// Takes the folder for this server.
fn lock(path: &Path) -> Result<File, StoreError> {
    let file = File::options().create(true).truncate(false).write(true).open(path);
    let file = file.map_err(|error| StoreError::io("open", path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked { path: path.to_owned() }),
        Err(TryLockError::Error(error)) => Err(StoreError::io("lock", path, error)),
    }
}

/// Makes sure that the folder is written as this software writes it.
fn check_format(root: &Path) -> Result<(), StoreError> {
    let path = root.join("format");
    match fs::read(&path) {
        Ok(found) if found.trim_ascii_end() == FORMAT.as_bytes() => Ok(()),
        Ok(found) => {
            let found = String::from_utf8_lossy(&found).trim().chars().take(80).collect();
            Err(StoreError::Format { path, found })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => write_whole(&path, &format!("{FORMAT}\n")),
        Err(error) => Err(StoreError::io("read", &path, error)),
    }
}

/// Makes the subfolder of a task unless it is there.
fn add_task(folder: &Path, task: &Task) -> Result<(), StoreError> {
    let folder = folder.join(task.digest().to_string());
    fs::create_dir_all(&folder).map_err(|error| StoreError::io("make", &folder, error))?;
    let path = folder.join("task.json");
    if path.exists() {
        return Ok(());
    }
    write_whole(&path, &task.to_json())?;
    sync_folder(&folder)
}

/// The task of a subfolder of `tasks`; `None` for what is no task: somebody else's file, or a folder that a crash left without a task.
fn read_task(folder: &Path) -> Result<Option<Task>, StoreError> {
    let Some(digest) = folder.file_name().and_then(|name| TaskDigest::from_hex(name.to_str()?)) else {
        return Ok(None);
    };
    let path = folder.join("task.json");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !folder.join("reports.log").exists() => {
            return Ok(None);
        }
        Err(error) => return Err(StoreError::io("read", &path, error)),
    };
    let task = match Task::from_json(&text) {
        Ok(task) => task,
        Err(source) => return Err(StoreError::Task { path, source }),
    };
    if task.digest() == digest {
        Ok(Some(task))
    } else {
        Err(StoreError::OtherTask { path, expected: digest, found: task.digest() })
    }
}

/// Writes a small file so that it is there whole or not at all, whenever the machine stops.
fn write_whole(path: &Path, content: &str) -> Result<(), StoreError> {
    let temporary = path.with_extension("tmp");
    let write = || {
        let mut file = File::create(&temporary)?;
        file.write_all(content.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().map_err(|error| StoreError::io("write", path, error))
}

/// Waits until the names in a folder are on the disk. Elsewhere than on Unix a folder cannot be synced.
fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    if cfg!(unix) {
        File::open(folder).and_then(|file| file.sync_all()).map_err(|error| StoreError::io("write", folder, error))?;
    }
    Ok(())
}
