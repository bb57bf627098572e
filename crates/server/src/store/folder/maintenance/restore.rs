//! `restore`: brings a deleted task back before its grace period is over.

use std::io;
use std::path::Path;

use serde::Serialize;

use super::super::database::{Content, Database, TaskRow};
use super::super::{deleted as deleted_tasks, deleted_folder, move_folder, task_folder, task_folders};
use super::read_batches;
use crate::store::{At, Lock, StoreError};
use ldp_pca::task::TaskDigest;

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
        return Err(refused(io::ErrorKind::AlreadyExists, "the folder has the task: delete it first"));
    }
    let Some(deleted) = last else {
        return Err(refused(io::ErrorKind::NotFound, "no deleted task has this digest, or it is erased"));
    };
    let from = deleted_folder(root, &deleted);
    let (mut database, Content { row, reports, .. }) = Database::open(&from, digest)?;
    read_batches(&database, &row, false, &mut |_| Ok(()))?;
    check_second_wave(root, &row)?;
    database.change(|change| change.edit(|row| row.settings.retention = None))?;
    database.empty_log()?;
    drop(database);
    move_folder(&from, &to).at("restore", &from)?;
    let (task, without_retention) = (digest.to_string(), row.settings.retention.is_some());
    Ok(Restored { task, reports, deleted: deleted.since, without_retention, damage: row.damage })
}

/// Refuses a second wave of a campaign that has another one meanwhile.
fn check_second_wave(root: &Path, row: &TaskRow) -> Result<(), StoreError> {
    let Some(mine) = row.second_wave() else { return Ok(()) };
    for digest in task_folders(root)? {
        let other = Database::describe(&task_folder(root, digest), digest)?;
        let (first, is_same) = (other.task.campaign(), other.task.campaign() == row.task.campaign());
        if let Some(second) = other.second_wave().filter(|second| is_same && *second != mine) {
            return Err(StoreError::SecondWave { first, second });
        }
    }
    Ok(())
}
