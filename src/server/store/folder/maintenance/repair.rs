//! `repair`: makes the manifest anew from the segments. It deletes nothing that it cannot read.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::Progress;
use super::read::{Folder, Meter};
use crate::server::store::folder::FORMAT;
use crate::server::store::folder::disk::{Disk, SystemDisk, write_small};
use crate::server::store::folder::manifest::Manifest;
use crate::server::store::folder::segment::{SegmentFile, damaged_path, open_path};
use crate::server::store::folder::task::FolderTask;
use crate::server::store::{StoreError, TaskReports, TaskSettings};
use crate::task::{MAX_TASK_BYTES, Task, TaskDigest};

/// What [`repair`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repaired {
    /// Every task that is whole again.
    pub tasks: Vec<RepairedTask>,
    /// What was changed.
    pub repairs: Vec<String>,
    /// What is left as it was found, and what to do about it.
    pub problems: Vec<String>,
}

/// A task that is whole again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RepairedTask {
    /// Its digest.
    pub task: String,
    /// Reports counted.
    pub reports: u64,
}

/// Makes the manifest anew from the tasks and segments of a folder. Good reports of damaged segments are written anew,
/// and what cannot be read as a whole is set aside under a name that ends in `.damaged`. Settings of tasks are kept
/// where the old manifest can be read.
///
/// # Errors
/// [`StoreError`] when the folder is not there, a server has it open, or the disk refuses.
pub fn repair(root: &Path, progress: Progress<'_>) -> Result<Repaired, StoreError> {
    repair_on(Arc::new(SystemDisk), root, progress)
}

fn repair_on(disk: Arc<dyn Disk>, root: &Path, progress: Progress<'_>) -> Result<Repaired, StoreError> {
    let folder = Folder::hold(disk, root)?;
    let mut meter = Meter::new(progress, folder.bytes()?);
    let mut done = Repaired::default();
    if let Err(error) = folder.check_format() {
        if matches!(error, StoreError::Format { .. }) {
            return Err(error);
        }
        let written = write_small(&*folder.disk, root, "format", &format!("{FORMAT}\n"));
        written.map_err(|error| StoreError::io("write", &root.join("format"), error))?;
        done.repairs.push(format!("{} was missing", root.join("format").display()));
    }
    let manifest = repair_manifest(&folder, &mut done)?;
    for digest in folder.task_folders()? {
        let task = match folder.read_task(digest) {
            Ok(task) => task,
            Err(error) => match task_of_segments(&folder, digest) {
                Some(task) => {
                    let path = folder.task_folder(digest);
                    let written = write_small(&*folder.disk, &path, "task.json", &task.to_json());
                    written.map_err(|error| StoreError::io("write", &path, error))?;
                    done.repairs.push(format!("the task of {digest} was written anew from its segments ({error})"));
                    task
                }
                None => {
                    done.problems.push(error.to_string());
                    continue;
                }
            },
        };
        repair_task(&folder, &manifest, task, &mut meter, &mut done)?;
    }
    for row in manifest.tasks()? {
        if !row.deleted && !folder.task_folders()?.contains(&row.digest) {
            manifest.forget(row.digest)?;
            done.repairs.push(format!("task {} has no folder any more: it was forgotten", row.digest));
        }
    }
    manifest.close();
    Ok(done)
}

/// The manifest, made anew without settings if it cannot be read.
fn repair_manifest(folder: &Folder, done: &mut Repaired) -> Result<Arc<Manifest>, StoreError> {
    let readable = folder.manifest().and_then(|manifest| {
        manifest.check()?;
        manifest.tasks()?;
        Ok(manifest)
    });
    let error = match readable {
        Ok(manifest) => return Ok(manifest),
        Err(error) => error,
    };
    let names = folder.disk.list(&folder.root).map_err(|error| StoreError::io("list", &folder.root, error))?;
    let free = (0..).find(|copy| !names.contains(&format!("store.sqlite.{copy}.damaged"))).unwrap_or(0);
    for part in ["", "-wal", "-shm"] {
        let name = format!("store.sqlite{part}");
        if names.contains(&name) {
            let kept = folder.root.join(format!("store.sqlite.{free}.damaged{part}"));
            let renamed = folder.disk.rename(&folder.root.join(name), &kept);
            renamed.map_err(|error| StoreError::io("set aside", &kept, error))?;
        }
    }
    done.repairs.push(format!(
        "the manifest was made anew, and the settings of all tasks are the defaults: give them again where they were others ({error})"
    ));
    Manifest::open(&*folder.disk, &folder.manifest_path(), true).map(Arc::new)
}

/// The task as a sealed segment tells of it.
fn task_of_segments(folder: &Folder, digest: TaskDigest) -> Option<Task> {
    let segments = folder.segments(digest).ok()?;
    segments.iter().find_map(|(_, path)| {
        let bytes = read_end(folder, path)?;
        let footer = super::super::parquet::Footer::read(&bytes)?;
        Task::from_json(footer.note("ldp-pca.task")?).ok().filter(|task| task.digest() == digest)
    })
}

/// The metadata at the end of a file.
fn read_end(folder: &Folder, path: &Path) -> Option<Vec<u8>> {
    let mut file = folder.disk.open(path).ok()?;
    let end = file.length().ok()?.checked_sub(8)?;
    let mut size = [0; 4];
    file.read_at(&mut size, end).ok()?;
    let size = u64::from(u32::from_le_bytes(size)).min(MAX_TASK_BYTES as u64 + (64 << 10));
    let mut metadata = vec![0; size as usize];
    file.read_at(&mut metadata, end.checked_sub(size)?).ok()?;
    Some(metadata)
}

fn repair_task(
    folder: &Folder,
    manifest: &Arc<Manifest>,
    task: Task,
    meter: &mut Meter<'_>,
    done: &mut Repaired,
) -> Result<(), StoreError> {
    let digest = task.digest();
    let known = manifest.tasks()?.into_iter().find(|row| row.digest == digest);
    if known.as_ref().is_some_and(|row| row.deleted) {
        done.repairs.push(format!("task {digest} is being deleted: the next start finishes it"));
        return Ok(());
    }
    let settings = known.map_or_else(TaskSettings::default, |row| row.settings);
    let place = folder.place(task, manifest);
    let before = manifest.segments(digest).unwrap_or_default();
    separate_names(folder, digest, done)?;
    for (file, path) in folder.segments(digest)? {
        let scanned = meter.scan(&place, &path, &mut |_| Ok(()));
        match scanned {
            Ok(scanned) => {
                let cut = scanned.torn > 0 && matches!(file, SegmentFile::Sealed(_));
                if scanned.holes > 0 || cut {
                    done.repairs.push(format!(
                        "{} is damaged: its {} good reports were written anew, and the file was set aside",
                        path.display(),
                        scanned.reports
                    ));
                }
            }
            // Somebody else may be able to read it.
            Err(StoreError::ForeignReport { source, .. }) => {
                let number = match file {
                    SegmentFile::Open(number) | SegmentFile::Sealed(number) => number,
                    SegmentFile::Temporary | SegmentFile::Damaged => continue,
                };
                let kept = damaged_path(&*folder.disk, &place.folder, number)
                    .and_then(|kept| folder.disk.rename(&path, &kept).map(|()| kept))
                    .map_err(|error| StoreError::io("set aside", &path, error))?;
                done.repairs.push(format!("{} was set aside as {}: {source}", path.display(), kept.display()));
            }
            Err(error) => return Err(error),
        }
    }
    manifest.put(digest, &settings)?;
    manifest.clear(digest)?;
    let task = FolderTask::open(place, settings)?;
    task.close();
    let after = manifest.segments(digest)?;
    for row in before {
        if !after.iter().any(|found| found.number == row.number) {
            done.repairs.push(format!("segment {} of task {digest} with {} reports is gone", row.number, row.reports));
        }
    }
    done.tasks.push(RepairedTask { task: digest.to_string(), reports: task.counts().records });
    Ok(())
}

/// Gives an open segment that has the number of a sealed one a number of its own.
fn separate_names(folder: &Folder, digest: TaskDigest, done: &mut Repaired) -> Result<(), StoreError> {
    let files = folder.segments(digest)?;
    let number_of = |file: &SegmentFile| match file {
        SegmentFile::Open(number) | SegmentFile::Sealed(number) => *number,
        SegmentFile::Temporary | SegmentFile::Damaged => 0,
    };
    let mut free = files.iter().map(|(file, _)| number_of(file) + 1).max().unwrap_or(0);
    for (file, path) in &files {
        if let SegmentFile::Open(number) = file
            && files.iter().any(|(other, _)| *other == SegmentFile::Sealed(*number))
        {
            let renamed = folder.disk.rename(path, &open_path(&folder.task_folder(digest), free));
            renamed.map_err(|error| StoreError::io("rename", path, error))?;
            done.repairs.push(format!("{} has now the number {free}, since {number} was sealed", path.display()));
            free += 1;
        }
    }
    Ok(())
}
