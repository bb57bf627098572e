//! A store in a folder on this machine, a database for each task.
//!
//! ```text
//! lock                        held while a server has the folder open
//! tasks/<digest>/             a task: `reports.sqlite` ([`database`]), and `changes`, which counts its changes
//! deleted/<digest>.<seconds>.<checksum>/
//!                             a task deleted at that time by this move, until its grace period is over
//! ```
//!
//! A report is acknowledged after the transaction that has it is on the disk (`writer`). Everything that waits when the
//! disk becomes free is one transaction, one row, and one sync. Another thread follows with the sum, which
//! is written from time to time: a start sums again what came after it. If a sync fails, it is unknown what the disk
//! has: the server stops, and the next start reads what is there.
//!
//! A folder that is being made ends with `.new`, and one that is being erased with `.erasing`: what a crash leaves of
//! them is removed by the next start.

mod counter;
mod database;
mod ids;
pub mod maintenance;
mod salvage;
mod task;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, RwLock};

use tokio::sync::watch;

use self::database::{DAMAGED, Database, TaskRow, trusted};
use self::task::FolderTask;
use super::{
    At, Damage, DeletedTask, Erase, ErasedReports, Lock, NextWave, Put, RefinementPlan, ReportStore, StoreError,
    StoreMetrics, TaskReports, TaskSettings, unix_time,
};
use crate::durable::{folder_of, make_folder, probe, sync_folder};
use crate::locks::{hold, read_lock, write_lock};
use ldp_pca::report::ReportId;
use ldp_pca::task::{Task, TaskDigest};

/// The end of the name of a folder that is being made, and of one that is being erased.
const NEW: &str = "new";
const ERASING: &str = "erasing";

/// The options for writing a folder.
#[derive(Clone, Debug)]
pub(crate) struct FolderOptions {
    /// Reports after which the sum is written: as many are summed again at a start after a crash.
    pub(crate) summed_reports: u64,
    /// Bytes in the log from which it is written back.
    pub(crate) log_bytes: u64,
    /// Bytes of durable reports that may wait to be summed. Beyond them the writer sums, so that memory does not fill
    /// up.
    pub(crate) backlog_bytes: usize,
    /// The store's metrics.
    pub(crate) metrics: StoreMetrics,
    /// Told why the server has to stop, if a disk is not to be trusted any more.
    pub(crate) failed: Arc<watch::Sender<Option<String>>>,
}

impl Default for FolderOptions {
    fn default() -> Self {
        Self {
            summed_reports: 1 << 17,
            log_bytes: 16 << 20,
            backlog_bytes: 32 << 20,
            metrics: StoreMetrics::default(),
            failed: Arc::new(watch::Sender::new(None)),
        }
    }
}

/// All tasks of a folder.
pub(crate) struct FolderStore {
    root: PathBuf,
    options: FolderOptions,
    tasks: RwLock<BTreeMap<TaskDigest, Arc<FolderTask>>>,
    /// Held while a task is added, changed, deleted or erased, and while reports are erased, so that requests need not
    /// wait for the disk.
    changes: Mutex<()>,
    lock: Mutex<Option<Lock>>,
}

impl FolderStore {
    /// Opens or creates the folder with `tasks` and those that it already has.
    pub(crate) fn open(root: &Path, tasks: &[Task], options: FolderOptions) -> Result<Self, StoreError> {
        make_folders(root)?;
        let lock = Mutex::new(Some(Lock::take(root)?));
        let store = Self { root: root.to_owned(), options, tasks: RwLock::default(), changes: Mutex::default(), lock };
        sweep(root)?;
        for digest in task_folders(root)? {
            let task = explain(root, store.open_task(digest))?;
            let Damage { lost, places } = task.damage();
            for place in places {
                tracing::warn!(task = %digest, lost, "{place}");
            }
            store.add(task);
        }
        for task in tasks {
            if store.task(task.digest()).is_none() {
                store.put(task.clone(), TaskSettings::default())?;
            }
        }
        Ok(store)
    }

    fn open_task(&self, digest: TaskDigest) -> Result<FolderTask, StoreError> {
        let (mut database, content) = Database::open(&task_folder(&self.root, digest), digest)?;
        database.doubt = Arc::clone(&self.options.failed);
        FolderTask::open(database, content, self.options.clone())
    }

    /// Changes tasks or their reports while nothing else does, and not after a change that is in doubt.
    fn changing<T>(&self, work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let _change = hold(&self.changes);
        explain(&self.root, trusted(&self.options.failed, &self.root).and_then(|()| work()))
    }

    fn put_task(&self, task: &Task, settings: TaskSettings) -> Result<Put, StoreError> {
        let digest = task.digest();
        if let Some(task) = self.find(digest) {
            task.configure(settings)?;
            return Ok(Put::Updated);
        }
        if let Some(first) = task.refinement().is_some().then(|| task.campaign())
            && let Some(second) = self.second_wave_of(first).filter(|second| *second != digest)
        {
            return Err(StoreError::SecondWave { first, second });
        }
        // It is there if an addition failed after it was made.
        let folder = task_folder(&self.root, digest);
        let is_new = !folder.exists();
        if is_new {
            self.moved(&folder, make_task(&self.root, task, &settings))?;
        }
        let task = self.open_task(digest)?;
        if !is_new {
            task.configure(settings)?;
        }
        self.add(task);
        Ok(Put::Created)
    }

    /// Moves the folder of a task that is closed to the deleted ones. Its name has the present second, or the first
    /// later one that no other deletion of the task has.
    fn put_aside(&self, digest: TaskDigest) -> Result<(), StoreError> {
        let from = task_folder(&self.root, digest);
        let named = |since| deleted_folder(&self.root, &DeletedTask { digest, key: since, since });
        let to = (unix_time()..).map(named).find(|to| !to.exists()).unwrap_or_default();
        self.moved(&to, move_folder(&from, &to).at("put aside", &from))
    }

    /// Has the server stop where a folder has its new name, and it is unknown whether it has it on the disk.
    fn moved(&self, to: &Path, moved: Result<(), StoreError>) -> Result<(), StoreError> {
        moved.inspect_err(|error| {
            if to.exists() {
                self.options.failed.send_replace(Some(error.to_string()));
            }
        })
    }

    fn find(&self, digest: TaskDigest) -> Option<Arc<FolderTask>> {
        read_lock(&self.tasks).get(&digest).map(Arc::clone)
    }

    fn add(&self, task: FolderTask) {
        write_lock(&self.tasks).insert(task.task().digest(), Arc::new(task));
    }
}

impl ReportStore for FolderStore {
    fn tasks(&self) -> Vec<Arc<dyn TaskReports>> {
        let tasks = read_lock(&self.tasks);
        tasks.values().map(|task| Arc::clone(task) as Arc<dyn TaskReports>).collect()
    }

    fn task(&self, digest: TaskDigest) -> Option<Arc<dyn TaskReports>> {
        self.find(digest).map(|task| task as Arc<dyn TaskReports>)
    }

    fn put(&self, task: Task, settings: TaskSettings) -> Result<Put, StoreError> {
        self.changing(|| self.put_task(&task, settings))
    }

    fn delete(&self, digest: TaskDigest, erase: Erase) -> Result<bool, StoreError> {
        self.changing(|| {
            // Listed before anything is changed: a damaged name is an error.
            let mut earlier = if erase == Erase::Now { deleted(&self.root)? } else { Vec::new() };
            earlier.retain(|task| task.digest == digest);
            let folder = task_folder(&self.root, digest);
            let was_there = !earlier.is_empty() || folder.exists() || erasing(&self.root, &folder).exists();
            let served = write_lock(&self.tasks).remove(&digest);
            served.iter().for_each(|task| task.close());
            // Closing wrote the log back, which may have left a change in doubt.
            let gone = trusted(&self.options.failed, &folder).and_then(|()| match erase {
                // A folder that is not served is what a failed addition left.
                Erase::AfterGrace if folder.exists() => self.put_aside(digest),
                Erase::AfterGrace => Ok(()),
                Erase::Now => erase_folder(&self.root, &folder),
            });
            if gone.is_err()
                && served.is_some()
                && let Ok(task) = self.open_task(digest)
            {
                // Nothing was changed.
                self.add(task);
            }
            gone?;
            earlier.iter().try_for_each(|task| erase_folder(&self.root, &deleted_folder(&self.root, task)))?;
            Ok(was_there)
        })
    }

    fn deleted(&self) -> Result<Vec<DeletedTask>, StoreError> {
        // One that cannot be believed is kept, and does not keep the others.
        let warn = |error: &StoreError| tracing::warn!(%error, "a deleted task is kept");
        let believed = each_deleted(&self.root)?.into_iter().filter_map(|task| task.inspect_err(warn).ok());
        Ok(believed.collect())
    }

    fn erase(&self, task: &DeletedTask) -> Result<(), StoreError> {
        self.changing(|| erase_folder(&self.root, &deleted_folder(&self.root, task)))
    }

    fn erase_reports(&self, task: TaskDigest, ids: &[ReportId]) -> Result<Option<ErasedReports>, StoreError> {
        // A second wave is opened before it or after it.
        self.changing(|| self.find(task).map(|task| task.erase(ids)).transpose())
    }

    fn close_first_wave(&self, task: TaskDigest, plan: RefinementPlan) -> Result<bool, StoreError> {
        self.changing(|| {
            let open = self.find(task).filter(|task| !task.settings().is_closed());
            let Some(task) = open else { return Ok(false) };
            task.configure(task.settings().closing(plan))?;
            // What was being written meanwhile counts.
            task.settle();
            Ok(true)
        })
    }

    fn open_second_wave(&self, first: TaskDigest, second: NextWave) -> Result<Option<(TaskDigest, Put)>, StoreError> {
        self.changing(|| {
            let closed = self.find(first).filter(|task| task.settings().is_closed());
            let Some(task) = closed else { return Ok(None) };
            let settings = TaskSettings::clone(&task.settings());
            // The task may be there, and not be named, after a crash between the two.
            let (digest, put) = match self.second_wave_of(first) {
                Some(there) => (there, Put::Updated),
                None => {
                    let (found, expected) = (task.counts().records, second.records);
                    if found != expected {
                        return Err(StoreError::OtherSums { first, found, expected });
                    }
                    if found < second.least {
                        task.configure(settings.reopening())?;
                        return Ok(None);
                    }
                    (second.task.digest(), self.put_task(&second.task, settings.of_second_wave())?)
                }
            };
            task.configure(TaskSettings { refined_by: Some(digest), ..settings })?;
            Ok(Some((digest, put)))
        })
    }

    fn check(&self) -> Result<(), String> {
        let probed = probe(&self.root).at("write", &self.root);
        explain(&self.root, probed).map_err(|error| error.to_string())
    }

    fn close(&self) {
        read_lock(&self.tasks).values().for_each(|task| task.close());
        hold(&self.lock).take();
    }
}

/// Adds the remedy when the reason is that the disk of a folder is full.
fn explain<T>(root: &Path, done: Result<T, StoreError>) -> Result<T, StoreError> {
    let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
    match done {
        Err(error) if probe(root).is_err_and(|error| full.contains(&error.kind())) => {
            Err(StoreError::Full { path: root.to_owned(), source: Box::new(error) })
        }
        done => done,
    }
}

/// The folder of a task, inside that of its store.
fn task_folder(root: &Path, task: TaskDigest) -> PathBuf {
    root.join("tasks").join(task.to_string())
}

/// The folder of a deleted task. What says when it was deleted has a checksum, as all that the store keeps.
fn deleted_folder(root: &Path, task: &DeletedTask) -> PathBuf {
    let named = format!("{}.{}", task.digest, task.since);
    let checksum = crc32fast::hash(named.as_bytes());
    root.join("deleted").join(format!("{named}.{checksum:08x}"))
}

/// Makes the folders of a store, unless they are there.
fn make_folders(root: &Path) -> Result<(), StoreError> {
    if root.to_str().is_none() {
        return Err(StoreError::refused(root, "its path is not UTF-8, as SQLite needs it: give it another name"));
    }
    ["tasks", "deleted"].iter().try_for_each(|name| make_folder(&root.join(name)).at("make", root))?;
    // What a killed process moved to the tasks is on the disk before the reports that it gets.
    [root, folder_of(root), root.join("tasks").as_path()].into_iter().try_for_each(sync_folder).at("make", root)
}

/// The names in a folder of a store. What is no UTF-8 in one becomes U+FFFD, which no name of ours has.
fn names(folder: &Path) -> Result<Vec<String>, StoreError> {
    let name = |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    let list = || fs::read_dir(folder)?.map(name).collect::<io::Result<Vec<String>>>();
    list().at("list", folder)
}

/// The tasks that have a folder in that of their store, in the order of their digests.
///
/// # Errors
/// [`StoreError`] when the folder of the store is not there.
pub fn task_folders(root: &Path) -> Result<Vec<TaskDigest>, StoreError> {
    let mut digests: Vec<TaskDigest> =
        names(&root.join("tasks"))?.iter().filter_map(|name| name.parse().ok()).collect();
    digests.sort();
    Ok(digests)
}

/// The tasks that were deleted and are not erased yet. A name that is damaged is an error: what it names would never be
/// erased, or too early.
fn deleted(root: &Path) -> Result<Vec<DeletedTask>, StoreError> {
    each_deleted(root)?.into_iter().collect()
}

/// Each task that was deleted and is not erased yet, or what is wrong with the name of its folder.
fn each_deleted(root: &Path) -> Result<Vec<Result<DeletedTask, StoreError>>, StoreError> {
    let folder = root.join("deleted");
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let read = |name: &String| {
        let mut parts = name.split('.');
        let (digest, since) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(DeletedTask { digest, key: since, since })
    };
    let checked = |name: &String| match read(name) {
        Some(task) if deleted_folder(root, &task).ends_with(name) => Ok(task),
        task => {
            // The names alone: a client may read them, and the log says where they are.
            let right = task.and_then(|task| Some(deleted_folder(root, &task).file_name()?.display().to_string()));
            let remedy = right.map_or("move it away".to_owned(), |right| {
                format!("if its digest and the time of its deletion are right, rename it to {right}")
            });
            let problem = format!("no deletion gave a task the name {name}: {remedy}");
            Err(StoreError::refused(&folder.join(name), problem))
        }
    };
    let ended = format!(".{ERASING}");
    Ok(names(&folder)?.iter().filter(|name| !name.ends_with(&ended)).map(checked).collect())
}

/// Makes the folder of a task: whole or not at all.
fn make_task(root: &Path, task: &Task, settings: &TaskSettings) -> Result<(), StoreError> {
    let folder = task_folder(root, task.digest());
    let new = folder.with_extension(NEW);
    remove_folder(&new).at("remove", &new)?;
    make_folder(&new).at("make", &new)?;
    // It is closed before it gets its name.
    Database::create(&new, &TaskRow::new(task, settings), 0)?.empty_log()?;
    move_folder(&new, &folder).at("make", &folder)
}

/// Refuses an erasure beside what was set aside of a damaged database.
fn check_set_aside(folder: &Path) -> Result<(), StoreError> {
    if !names(folder)?.iter().any(|name| name.ends_with(DAMAGED)) {
        return Ok(());
    }
    let problem = "what was set aside of it may hold these reports: acknowledge what was lost, and try again";
    Err(StoreError::refused(folder, problem))
}

/// The folder to which that of a task is moved to be erased.
fn erasing(root: &Path, folder: &Path) -> PathBuf {
    root.join("deleted").join(format!("{}.{ERASING}", folder.file_name().unwrap_or_default().display()))
}

/// Erases every byte of a task in its folder, if it is there.
fn erase_folder(root: &Path, folder: &Path) -> Result<(), StoreError> {
    let erasing = erasing(root, folder);
    let erase = || {
        remove_folder(&erasing)?;
        if folder.exists() {
            move_folder(folder, &erasing)?;
        }
        remove_folder(&erasing)
    };
    erase().at("erase", folder)
}

/// Removes what a crash left of folders that were being made or erased.
fn sweep(root: &Path) -> Result<(), StoreError> {
    for (place, end) in [("tasks", NEW), ("deleted", ERASING)] {
        for name in names(&root.join(place))?.iter().filter(|name| name.ends_with(&format!(".{end}"))) {
            let folder = root.join(place).join(name);
            remove_folder(&folder).at("remove", &folder)?;
        }
    }
    Ok(())
}

/// Moves a folder: when this returns, also after a power cut.
fn move_folder(from: &Path, to: &Path) -> io::Result<()> {
    // Its content is durable before it gets its new name.
    sync_folder(from)?;
    fs::rename(from, to)?;
    [to, from].into_iter().map(folder_of).try_for_each(sync_folder)
}

fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.and_then(|()| sync_folder(folder_of(folder))),
    }
}
