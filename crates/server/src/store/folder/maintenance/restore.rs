//! `restore`: brings a deleted task back before its grace period is over.

use std::io;
use std::path::Path;

use serde::Serialize;

use super::super::database::Database;
use super::super::lock::Lock;
use super::super::{deleted as deleted_tasks, deleted_folder, move_folder, task_folder, task_folders};
use crate::store::{At, StoreError, TaskSettings};
use ldp_pca::task::{Task, TaskDigest};

/// The result of [`restore`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The task's digest.
    pub task: String,
    /// Its reports.
    pub reports: u64,
    /// When it was deleted, in seconds since 1970.
    pub deleted: u64,
    /// Whether it had a retention, which is removed: otherwise it would be deleted again.
    pub without_retention: bool,
    /// Losses that nobody has acknowledged.
    pub damage: Vec<String>,
}

/// The tasks of a folder that were deleted and are not erased yet, and when.
///
/// # Errors
/// [`StoreError`] when the folder is not there.
pub fn deleted(root: &Path) -> Result<Vec<(TaskDigest, u64)>, StoreError> {
    Ok(deleted_tasks(root)?.into_iter().map(|task| (task.digest, task.since)).collect())
}

/// Brings a deleted task back with its reports and its settings except `retention`; of several with its digest, the one
/// that was deleted last. After a crash it can be repeated.
///
/// # Errors
/// [`StoreError`] when there is no such deleted task, it is damaged, the task exists again, its campaign has another
/// second wave meanwhile, a server has the folder open, or the disk refuses.
pub fn restore(root: &Path, digest: TaskDigest) -> Result<Restored, StoreError> {
    let last = deleted_tasks(root)?.into_iter().filter(|task| task.digest == digest).max_by_key(|task| task.since);
    let _lock = Lock::take(root)?;
    let to = task_folder(root, digest);
    let refused = |kind, why: &str| StoreError::io("restore", &to, io::Error::new(kind, why));
    if to.exists() {
        let why = "the folder has the task: if it is served, delete it first; if a deletion was cut short, start the \
                   server once";
        return Err(refused(io::ErrorKind::AlreadyExists, why));
    }
    let Some(task) = last else {
        return Err(refused(io::ErrorKind::NotFound, "no deleted task has this digest, or it is erased"));
    };
    let from = deleted_folder(root, &task);
    let (mut database, content) = Database::open(&from, digest)?;
    database.batches(&content.task, 0, &mut |batch| match batch.lost {
        0 => Ok(()),
        lost => Err(StoreError::Lossy { path: from.clone(), lost, damage: Vec::new() }.into()),
    })?;
    let mut settings = content.settings;
    check_second_wave(root, &content.task, &settings)?;
    let without_retention = settings.retention.take().is_some();
    database.change(|change| {
        change.configure(&settings)?;
        change.mark_deleted(None)
    })?;
    database.empty_log()?;
    drop(database);
    move_folder(&from, &to).at("restore", &from)?;
    let (task, deleted) = (digest.to_string(), task.since);
    Ok(Restored { task, reports: content.reports, deleted, without_retention, damage: content.damage })
}

/// Refuses a second wave of a campaign that has another one meanwhile.
fn check_second_wave(root: &Path, task: &Task, settings: &TaskSettings) -> Result<(), StoreError> {
    let Some(mine) = second_wave(task, settings) else { return Ok(()) };
    for digest in task_folders(root)? {
        let (other, settings, _) = Database::describe(&task_folder(root, digest), digest)?;
        if let Some(second) = second_wave(&other, &settings)
            && other.campaign() == task.campaign()
            && second != mine
        {
            return Err(StoreError::SecondWave { first: task.campaign(), second });
        }
    }
    Ok(())
}

/// The second wave that a task is, or that its settings name.
pub(super) fn second_wave(task: &Task, settings: &TaskSettings) -> Option<TaskDigest> {
    settings.refined_by.or(task.refinement().map(|_| task.digest()))
}
