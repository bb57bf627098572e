//! The embedded store: a folder that holds each task and every report that was acknowledged (docs/store.md).
//!
//! ```text
//! format                           "ldp-pca store 3"
//! lock                             held while a server has the folder open
//! reserve                          room for a start and a deletion on a full disk (`reserve`)
//! store.sqlite                     tasks, settings, sealed segments with their ids, and their sum (`manifest`)
//! store.sqlite-changes             how often the manifest was changed
//! tasks/<digest>/task.json         the task, canonical
//! tasks/<digest>/acknowledged      how far its reports were acknowledged (`acknowledged`)
//! tasks/<digest>/erased            the ids of reports that were erased on request (`erased`, `erasure`)
//! tasks/<digest>/<number>.open     the segment being written: a Parquet file without its footer (`segment`)
//! tasks/<digest>/<number>.parquet  a sealed segment, which is never written again
//! tasks/<digest>/<name>.damaged    what could not be read as a whole when the folder was opened or repaired
//! deleted/<digest>.<seconds>/      a task deleted at that time, with its settings, until its grace period is over
//! ```
//!
//! A report is acknowledged after it was written and the disk confirmed it (`writer`). Everything that waits when the
//! disk becomes free is written together, as one page, and synced once. Another thread (`keeper`) updates the sums
//! afterwards, and seals full segments. A start reads the manifest and replays what is not in it: the segment that was
//! being written, and what a crash left between two steps of sealing. No crash leaves work to be done by hand.
//!
//! Corruption by the disk is noticed: every row and every report has a checksum, and the manifest's changes and the
//! acknowledged reports are also counted elsewhere.

mod acknowledged;
mod deletion;
#[cfg(target_os = "linux")]
mod direct;
mod disk;
mod erased;
mod erasure;
pub(super) mod format;
mod ids;
mod keeper;
pub mod maintenance;
mod manifest;
mod options;
mod parquet;
mod place;
mod reserve;
mod rows;
mod scan;
mod segment;
mod sizes;
mod slots;
mod tables;
mod tally;
mod task;
mod thrift;
mod writer;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, RwLock};

use self::acknowledged::Acknowledged;
use self::deletion::Deletion;
use self::disk::{Disk, SystemDisk, read_small, write_small};
use self::format::{Age, ERASED_FORMAT, FORMAT};
use self::manifest::{AT_ONCE, Manifest};
use self::place::{Place, folder_of, task_folders};
use self::reserve::Reserve;
use self::task::FolderTask;
use super::{
    At, Damage, DeletedTask, Erase, ErasedReports, NextWave, Put, RefinementPlan, ReportStore, StoreError, TaskReports,
    TaskSettings,
};
use crate::locks::{hold, read_lock, write_lock};
use ldp_pca::internal::task::MAX_TASK_BYTES;
use ldp_pca::report::ReportId;
use ldp_pca::task::{Task, TaskDigest};

pub(crate) use self::options::FolderOptions;

/// All tasks of a folder.
pub(crate) struct FolderStore {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    options: FolderOptions,
    manifest: Arc<Manifest>,
    tasks: RwLock<BTreeMap<TaskDigest, Arc<FolderTask>>>,
    /// Held while a task is added, changed or deleted, and while reports are erased, so that requests need not wait for
    /// the disk.
    changes: Mutex<()>,
    reserve: Reserve,
    lock: Mutex<Option<Box<dyn Send + Sync>>>,
    /// The age of the folder when it was opened.
    age: Age,
}

impl FolderStore {
    /// Opens or creates the folder with `tasks` and those that it already has.
    pub(crate) fn open(root: &Path, tasks: &[Task], options: FolderOptions) -> Result<Self, StoreError> {
        Self::open_on(Arc::new(SystemDisk), root, tasks, options)
    }

    fn open_on(disk: Arc<dyn Disk>, root: &Path, tasks: &[Task], options: FolderOptions) -> Result<Self, StoreError> {
        let folder = root.join("tasks");
        disk.make_folder(&folder).at("make", &folder)?;
        let lock = Mutex::new(Some(disk.lock(root)?));
        let age = read_format(&*disk, root)?;
        let reserve = Reserve::new(&disk, root, options.reserve_bytes);
        let manifest = reserve.with(|| {
            let manifest = Manifest::open(&*disk, &root.join("store.sqlite"), age)?;
            let manifest = manifest.with_parts(options.sizes.snapshot_part);
            manifest.count_changes(&*disk)?;
            Ok(manifest)
        })?;
        if let Some(doubt) = &manifest.doubt {
            tracing::warn!("{doubt}");
        }
        let store = Self {
            disk,
            root: root.to_owned(),
            options,
            manifest: Arc::new(manifest),
            tasks: RwLock::default(),
            changes: Mutex::default(),
            reserve,
            lock,
            age,
        };
        store.open_tasks()?;
        // Now it has everything that its format requires. An operator may have put a file of erased ids there.
        write_format(&*store.disk, root)?;
        for task in tasks {
            if store.task(task.digest()).is_none() {
                store.put(task.clone(), TaskSettings::default())?;
            }
        }
        store.reserve.keep();
        Ok(store)
    }

    /// Opens the tasks of the manifest, and finishes deletions.
    fn open_tasks(&self) -> Result<(), StoreError> {
        let mut known = Vec::new();
        for row in self.manifest.tasks()? {
            known.push(row.digest);
            if row.is_deleted() {
                match self.reserve.with(|| self.deletion().finish(row.digest, row.deleted_at)) {
                    Ok(()) => tracing::warn!(task = %row.digest, "an interrupted deletion is finished"),
                    Err(error) => tracing::warn!(task = %row.digest, %error, "a deletion cannot be finished now"),
                }
                continue;
            }
            let task = read_task(&*self.disk, &folder_of(&self.root, row.digest), row.digest)?;
            let open = || FolderTask::open(self.place(task.clone())?, row.settings.clone());
            let task = self.reserve.with(open)?;
            warn_of(&task.damage(), row.digest);
            self.add(task);
        }
        let mut folders = task_folders(&*self.disk, &self.root)?;
        folders.retain(|digest| !known.contains(digest));
        folders.into_iter().try_for_each(|digest| self.deletion().sweep(digest))
    }

    fn put_task(&self, task: Task, settings: TaskSettings) -> Result<Put, StoreError> {
        let _change = hold(&self.changes);
        self.put_alone(task, settings)
    }

    /// Puts a task while nothing else is changed.
    fn put_alone(&self, task: Task, settings: TaskSettings) -> Result<Put, StoreError> {
        let digest = task.digest();
        if let Some(task) = self.find(digest) {
            self.manifest.put(digest, &settings)?;
            task.configure(settings);
            return Ok(Put::Updated);
        }
        if let Some(at @ 1..) = self.manifest.deleted_at(digest)? {
            self.deletion().finish(digest, at)?;
        }
        if let Some(first) = task.refinement().is_some().then(|| task.campaign())
            && let Some(second) = self.second_wave_of(first).filter(|second| *second != digest)
        {
            return Err(StoreError::SecondWave { first, second });
        }
        // The manifest gets a task once its folder is complete.
        let folder = folder_of(&self.root, digest);
        let make = || {
            self.disk.make_folder(&folder)?;
            write_small(&*self.disk, &folder, "task.json", task.to_json().as_bytes())?;
            self.disk.sync_folder(&self.root.join("tasks"))
        };
        make().at("make", &folder)?;
        acknowledged::create(&*self.disk, &folder, digest, Acknowledged::default())?;
        self.manifest.put(digest, &settings)?;
        self.add(FolderTask::open(self.place(task)?, settings)?);
        Ok(Put::Created)
    }

    fn close_wave(&self, digest: TaskDigest, plan: RefinementPlan) -> Result<bool, StoreError> {
        let _change = hold(&self.changes);
        let open = self.find(digest).filter(|task| !task.settings().is_closed());
        let Some(task) = open else { return Ok(false) };
        self.put_alone(task.task().clone(), task.settings().closing(plan))?;
        Ok(true)
    }

    fn open_wave(&self, first: TaskDigest, second: NextWave) -> Result<Option<(TaskDigest, Put)>, StoreError> {
        let _change = hold(&self.changes);
        let closed = self.find(first).filter(|task| task.settings().is_closed());
        let Some(task) = closed else { return Ok(None) };
        let settings = task.settings();
        if let Some(there) = settings.refined_by {
            return Ok(Some((there, Put::Updated)));
        }
        // The task may be there, and not be named, after a crash between the two.
        let (digest, put) = match self.second_wave_of(first) {
            Some(there) => (there, Put::Updated),
            None => {
                let (found, expected) = (task.counts().records, second.records);
                if found != expected {
                    return Err(StoreError::OtherSums { first, found, expected });
                }
                if found < second.least {
                    self.put_alone(task.task().clone(), settings.reopening())?;
                    return Ok(None);
                }
                (second.task.digest(), self.put_alone(second.task, settings.of_second_wave())?)
            }
        };
        self.put_alone(
            task.task().clone(),
            TaskSettings { refined_by: Some(digest), ..TaskSettings::clone(&settings) },
        )?;
        Ok(Some((digest, put)))
    }

    fn delete_task(&self, digest: TaskDigest, erase: Erase) -> Result<bool, StoreError> {
        let _change = hold(&self.changes);
        let (deletion, found) = (self.deletion(), self.find(digest));
        // A deletion that failed after it had started.
        let unfinished = self.manifest.deleted_at(digest)?.filter(|at| *at > 0);
        unfinished.map_or(Ok(()), |at| deletion.finish(digest, at))?;
        if let Some(task) = &found {
            let at = match erase {
                Erase::Now => AT_ONCE,
                Erase::AfterGrace => {
                    deletion.keep_settings(digest, &task.settings())?;
                    deletion.free_second(digest)?
                }
            };
            self.manifest.bury(digest, at)?;
            write_lock(&self.tasks).remove(&digest);
            task.close();
            // Should this fail, the next start finishes it.
            deletion.finish(digest, at)?;
        }
        if erase == Erase::AfterGrace {
            return Ok(found.is_some() || unfinished.is_some());
        }
        let before: Vec<DeletedTask> =
            deletion::deleted(&*self.disk, &self.root)?.into_iter().filter(|task| task.digest == digest).collect();
        before.iter().try_for_each(|task| deletion.erase(task))?;
        Ok(found.is_some() || unfinished.is_some() || !before.is_empty())
    }

    fn deletion(&self) -> Deletion<'_> {
        Deletion { disk: &*self.disk, root: &self.root, manifest: &self.manifest }
    }

    fn find(&self, digest: TaskDigest) -> Option<Arc<FolderTask>> {
        read_lock(&self.tasks).get(&digest).map(Arc::clone)
    }

    fn add(&self, task: FolderTask) {
        let mut tasks = write_lock(&self.tasks);
        tasks.insert(task.task().digest(), Arc::new(task));
    }

    fn place(&self, task: Task) -> Result<Place, StoreError> {
        let expected = self.age == Age::Current;
        Place::open(&self.disk, &self.root, task, &self.manifest, expected, self.options.clone())
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
        self.reserve.explain(self.put_task(task, settings))
    }

    fn delete(&self, digest: TaskDigest, erase: Erase) -> Result<bool, StoreError> {
        let deleted = self.reserve.with(|| self.delete_task(digest, erase));
        self.reserve.keep();
        deleted
    }

    fn deleted(&self) -> Result<Vec<DeletedTask>, StoreError> {
        deletion::deleted(&*self.disk, &self.root)
    }

    fn erase(&self, task: &DeletedTask) -> Result<(), StoreError> {
        self.deletion().erase(task)
    }

    fn erase_reports(&self, task: TaskDigest, ids: &[ReportId]) -> Result<Option<ErasedReports>, StoreError> {
        // A second wave is opened before it or after it.
        let _change = hold(&self.changes);
        let erased = self.find(task).map(|task| task.erase(ids, false)).transpose();
        self.reserve.explain(erased)
    }

    fn close_first_wave(&self, task: TaskDigest, plan: RefinementPlan) -> Result<bool, StoreError> {
        self.reserve.explain(self.close_wave(task, plan))
    }

    fn open_second_wave(&self, first: TaskDigest, second: NextWave) -> Result<Option<(TaskDigest, Put)>, StoreError> {
        self.reserve.explain(self.open_wave(first, second))
    }

    fn check(&self) -> Result<(), String> {
        let probed = self.reserve.probe().at("write", &self.root);
        self.reserve.explain(probed).map_err(|error| error.to_string())?;
        self.reserve.keep();
        Ok(())
    }

    fn close(&self) {
        read_lock(&self.tasks).values().for_each(|task| task.close());
        self.manifest.close();
        hold(&self.lock).take();
    }
}

/// The folder's format, if this software knows it.
fn read_format(disk: &dyn Disk, root: &Path) -> Result<Age, StoreError> {
    let path = root.join("format");
    match read_small(disk, &path, 4096) {
        Ok(found) if [FORMAT, ERASED_FORMAT].iter().any(|format| found.trim_ascii_end() == format.as_bytes()) => {
            Ok(Age::Current)
        }
        Ok(found) => {
            let found = String::from_utf8_lossy(&found).trim().chars().take(80).collect();
            Err(StoreError::Format { path, found })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Age::New),
        Err(error) => Err(StoreError::io("read", &path, error)),
    }
}

/// Writes the format that fits a folder's files, if it is not there.
fn write_format(disk: &dyn Disk, root: &Path) -> Result<(), StoreError> {
    let has_erased = |digest| erased::has_file(disk, &folder_of(root, digest));
    let format = if task_folders(disk, root)?.into_iter().any(has_erased) { ERASED_FORMAT } else { FORMAT };
    let (path, format) = (root.join("format"), format!("{format}\n"));
    if read_small(disk, &path, format.len()).is_ok_and(|found| found == format.as_bytes()) {
        return Ok(());
    }
    write_small(disk, root, "format", format.as_bytes()).at("write", &path)
}

/// Logs the findings of opening a task.
fn warn_of(damage: &Damage, task: TaskDigest) {
    for place in &damage.places {
        tracing::warn!(%task, "{place}");
    }
    if damage.cut_bytes > 0 {
        tracing::info!(%task, bytes = damage.cut_bytes, "cut off bytes that were written but never acknowledged");
    }
}

/// The task of a folder.
fn read_task(disk: &dyn Disk, folder: &Path, digest: TaskDigest) -> Result<Task, StoreError> {
    let path = folder.join("task.json");
    let text = read_small(disk, &path, MAX_TASK_BYTES).at("read", &path)?;
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
