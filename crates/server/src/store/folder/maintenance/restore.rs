//! `restore`: brings a deleted task back before its grace period is over.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::read::{Folder, second_wave};
use crate::store::folder::deletion::{SETTINGS, deleted_folder, deleted_path};
use crate::store::folder::disk::{Disk, SystemDisk, read_small};
use crate::store::folder::task::FolderTask;
use crate::store::folder::{deletion, read_task};
use crate::store::{At, StoreError, TaskReports, TaskSettings};
use ldp_pca::task::TaskDigest;

/// Bytes of settings that are read.
const MAX_SETTINGS_BYTES: usize = 64 << 10;

/// The result of [`restore`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The task's digest.
    pub task: String,
    /// Reports counted.
    pub reports: u64,
    /// When it was deleted, in seconds since 1970.
    pub deleted: u64,
    /// Whether it had a retention, which is removed: otherwise it would be deleted again.
    pub without_retention: bool,
}

/// The tasks of a folder that were deleted and are not erased yet, and when.
///
/// # Errors
/// [`StoreError`] when the folder is not there or a server has it open.
pub fn deleted(root: &Path) -> Result<Vec<(TaskDigest, u64)>, StoreError> {
    let folder = Folder::hold(Arc::new(SystemDisk), root)?;
    Ok(deletion::deleted(&*folder.disk, root)?.into_iter().map(|task| (task.digest, task.since)).collect())
}

/// Brings a deleted task back with its reports and its settings except `retention`; of several with its digest, the one
/// that was deleted last. After a crash it can be repeated.
///
/// # Errors
/// [`StoreError`] when there is no such deleted task, the task exists again, its campaign has another second wave
/// meanwhile, the folder cannot be opened, or the disk refuses.
pub fn restore(root: &Path, digest: TaskDigest) -> Result<Restored, StoreError> {
    restore_on(Arc::new(SystemDisk), root, digest)
}

pub(in super::super) fn restore_on(
    disk: Arc<dyn Disk>,
    root: &Path,
    digest: TaskDigest,
) -> Result<Restored, StoreError> {
    let folder = Folder::hold(disk, root)?;
    folder.check_format()?;
    let manifest = folder.manifest()?;
    let to = folder.task_folder(digest);
    let refused = |kind, why: &str| Err(StoreError::io("restore", &to, io::Error::new(kind, why)));
    if manifest.deleted_at(digest)?.is_some() {
        return refused(
            io::ErrorKind::AlreadyExists,
            "the manifest has the task: if it is served, delete it first; if its deletion was cut short, start the \
                server once",
        );
    }
    let deleted = deletion::deleted(&*folder.disk, root)?.into_iter().filter(|task| task.digest == digest);
    let last = deleted.max_by_key(|task| task.since);
    let there = folder.disk.list(&to).unwrap_or_default();
    if !there.is_empty() && !there.iter().any(|name| name == SETTINGS) {
        return refused(io::ErrorKind::AlreadyExists, "a crash left something there: start the server once");
    }
    let from = match &last {
        _ if !there.is_empty() => to.clone(),
        Some(task) => deleted_path(root, task),
        None => return refused(io::ErrorKind::NotFound, "no deleted task has this digest, or it is erased"),
    };
    // A task that cannot be served stays where it is.
    let task = read_task(&*folder.disk, &from, digest)?;
    let settings = read_small(&*folder.disk, &from.join(SETTINGS), MAX_SETTINGS_BYTES);
    let settings = settings.and_then(|text| serde_json::from_slice::<TaskSettings>(&text).map_err(io::Error::from));
    let mut settings = settings.at("read", &from.join(SETTINGS))?;
    if let Some(mine) = second_wave(&task, &settings) {
        let is_other = |(first, second): &(TaskDigest, TaskDigest)| *first == task.campaign() && *second != mine;
        if let Some((first, second)) = folder.second_waves()?.into_iter().find(is_other) {
            return Err(StoreError::SecondWave { first, second });
        }
    }
    if from != to {
        let moved = || {
            folder.disk.sync_folder(&from)?;
            folder.disk.move_folder(&from, &to)?;
            folder.disk.sync_folder(&root.join("tasks"))?;
            folder.disk.sync_folder(&deleted_folder(root))
        };
        moved().at("restore", &from)?;
    }
    let without_retention = settings.retention.take().is_some();
    let place = folder.place(task, &manifest, true)?;
    manifest.count_changes(&*folder.disk)?;
    manifest.put(digest, &settings)?;
    // If it stays, it does no harm.
    let _ = folder.disk.remove(&to.join(SETTINGS));
    let task = FolderTask::open(place, settings)?;
    task.close();
    manifest.close();
    let reports = task.counts().records;
    Ok(Restored { task: digest.to_string(), reports, deleted: last.map_or(0, |task| task.since), without_retention })
}
