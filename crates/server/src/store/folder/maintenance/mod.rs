//! Maintenance of a store's folder (docs/operate/store.md). Reading it needs no pause of the server; changing it does.

mod backup;
mod merge;
mod repair;
mod restore;
mod verify;

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::database::{Content, Database, Problem, StoredBatch, TaskRow};
use super::{deleted as deleted_tasks, deleted_folder, task_folder, task_folders};
use crate::store::{At, StoreError};
use ldp_pca::task::{Task, TaskDigest};

pub use super::task_folders as tasks;
pub use backup::{BackedUp, backup};
pub use merge::{MergedTask, merge};
pub use repair::{Acknowledged, Repaired, RepairedTask, acknowledge, repair};
pub use restore::{Restored, deleted, restore};
pub use verify::{Verified, VerifiedTask, verify};

/// Receives the number of bytes read, and their total.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// Tells the progress of reading the folders of tasks: what is returned receives the number of bytes that were read
/// since.
fn meter<'a, 'f>(progress: Progress<'a>, folders: impl IntoIterator<Item = &'f PathBuf>) -> Box<dyn FnMut(u64) + 'a> {
    let total: u64 = folders.into_iter().map(|folder| Database::bytes_in(folder)).sum();
    let mut done = 0;
    progress(0, total);
    Box::new(move |bytes| {
        done += bytes;
        progress(done, total.max(done));
    })
}

/// The folder of a task, and when it was deleted.
type TaskFolder = (PathBuf, TaskDigest, Option<u64>);

/// The folders of all tasks.
fn all_folders(root: &Path) -> Result<Vec<TaskFolder>, StoreError> {
    let served = task_folders(root)?.into_iter().map(|digest| (task_folder(root, digest), digest, None));
    let deleted = deleted_tasks(root)?.into_iter();
    Ok(served.chain(deleted.map(|task| (deleted_folder(root, &task), task.digest, Some(task.since)))).collect())
}

/// Refuses what is known to be lost of a task, unless that is allowed.
fn refuse_losses(database: &Database, row: &TaskRow, allow_loss: bool) -> Result<(), StoreError> {
    if !row.damage.is_empty() && !allow_loss {
        let (path, damage) = (database.folder.clone(), row.damage.clone());
        return Err(StoreError::Lossy { path, lost: row.lost, damage });
    }
    Ok(())
}

/// Passes all batches of a task to `each`. Damaged reports are refused, unless that is allowed. Returns how many they
/// are, with those that are known to be lost.
fn read_batches(
    database: &Database,
    row: &TaskRow,
    allow_loss: bool,
    each: &mut dyn FnMut(StoredBatch) -> Result<(), Problem>,
) -> Result<u64, StoreError> {
    let mut lost = row.lost;
    database.batches(&row.task, 0, &mut |batch| {
        if batch.lost > 0 && !allow_loss {
            let path = database.folder.clone();
            return Err(StoreError::Lossy { path, lost: batch.lost, damage: Vec::new() }.into());
        }
        lost += batch.lost;
        each(batch)
    })?;
    Ok(lost)
}

/// The result of [`export`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// Reports.
    pub reports: u64,
    /// Reports that were lost or are damaged, and left out.
    pub lost: u64,
}

/// Passes all reports of a task to `write` in the order of their arrival, some at a time. A server may have the folder
/// open.
///
/// # Errors
/// [`StoreError`] when the folder does not hold the task, or it cannot be read or written. [`StoreError::Lossy`] when
/// reports are lost or damaged, unless `allow_loss`.
pub fn export(
    root: &Path,
    task: TaskDigest,
    allow_loss: bool,
    write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    progress: Progress<'_>,
) -> Result<Exported, StoreError> {
    let folder = task_folder(root, task);
    let (database, Content { row, .. }) = Database::read(&folder, task)?;
    refuse_losses(&database, &row, allow_loss)?;
    let (mut meter, mut reports) = (meter(progress, [&folder]), 0);
    let lost = read_batches(&database, &row, allow_loss, &mut |batch| {
        meter(batch.bytes.len() as u64);
        reports += batch.reports.len() as u64;
        Ok(write(&batch.bytes).at("write the reports of", &folder)?)
    })?;
    Ok(Exported { reports, lost })
}

/// A task of a store's folder.
///
/// # Errors
/// [`StoreError`] when the folder does not have it, or it cannot be read.
pub fn task(root: &Path, digest: TaskDigest) -> Result<Task, StoreError> {
    Ok(Database::describe(&task_folder(root, digest), digest)?.task)
}
