//! `repair`: rebuilds the manifest from the segments. It deletes nothing that it cannot read.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::Progress;
use super::read::{Folder, Meter};
use crate::store::folder::disk::{Disk, SystemDisk, write_small};
use crate::store::folder::erased;
use crate::store::folder::format::{Age, FORMAT};
use crate::store::folder::manifest::Manifest;
use crate::store::folder::parquet::{FOOTER_END, Footer};
use crate::store::folder::place::Place;
use crate::store::folder::rows::{StoredTask, TaskRow};
use crate::store::folder::segment::{SegmentFile, damaged_path, open_path, read_footer};
use crate::store::folder::task::FolderTask;
use crate::store::folder::{read_format, write_format};
use crate::store::{At, StoreError, TaskReports, TaskSettings};
use ldp_pca::task::{Task, TaskDigest};

/// The result of [`repair`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repaired {
    /// Every task that is whole again.
    pub tasks: Vec<RepairedTask>,
    /// The changes.
    pub repairs: Vec<String>,
    /// The losses: reports, with their number and place, settings, or facts that can no longer be known.
    pub lost: Vec<String>,
    /// Things left as they were found, and what to do about them.
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

/// Rebuilds the manifest from the tasks and segments of a folder. Good reports of damaged segments are rewritten, and a
/// file that cannot be read as a whole is set aside under a name that ends in `.damaged`. Settings of tasks are kept
/// where their row in the old manifest is intact.
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
    let age = repair_format(&folder, &mut done)?;
    let (manifest, known) = repair_manifest(&folder, age, &mut done)?;
    for digest in folder.task_folders()? {
        let task = match folder.read_task(digest) {
            Ok(task) => task,
            Err(error) => match task_of_segments(&folder, digest) {
                Some(task) => {
                    let path = folder.task_folder(digest);
                    write_small(&*folder.disk, &path, "task.json", task.to_json().as_bytes()).at("write", &path)?;
                    done.repairs.push(format!("the task of {digest} was rewritten from its segments ({error})"));
                    task
                }
                None => {
                    done.problems.push(error.to_string());
                    continue;
                }
            },
        };
        if !known.contains(&digest) {
            let lost = format!("the settings of task {digest}: they are the defaults now, give them again");
            done.lost.push(lost);
        }
        repair_task(&folder, folder.place(task, &manifest, age == Age::Current)?, &mut meter, &mut done)?;
    }
    for row in manifest.tasks()? {
        if !row.is_deleted() && !folder.task_folders()?.contains(&row.digest) {
            manifest.forget(row.digest)?;
            done.lost.push(format!("task {}: its folder is gone, and it was forgotten", row.digest));
        }
    }
    manifest.close();
    // Now it has everything that this format requires.
    if age != Age::Current {
        write_format(&*folder.disk, root)?;
    }
    Ok(done)
}

/// The age of the folder. A file without the name of a format is a damaged one.
fn repair_format(folder: &Folder, done: &mut Repaired) -> Result<Age, StoreError> {
    let is_format = |found: &str| {
        let number = found.strip_prefix(FORMAT.trim_end_matches(|c: char| c.is_ascii_digit()));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let path = folder.root.join("format").display().to_string();
    let age = match read_format(&*folder.disk, &folder.root) {
        Err(StoreError::Format { found, .. }) if !is_format(&found) => {
            done.repairs.push(format!("{path} was damaged"));
            return Ok(Age::Unknown);
        }
        age => age?,
    };
    if age == Age::New {
        done.repairs.push(format!("{path} was missing"));
    }
    Ok(age)
}

/// The manifest, rebuilt if it is not intact, and the tasks whose settings are known.
fn repair_manifest(
    folder: &Folder,
    age: Age,
    done: &mut Repaired,
) -> Result<(Arc<Manifest>, Vec<TaskDigest>), StoreError> {
    let path = folder.manifest_path();
    // A folder without the name of its format still has a manifest.
    let opened = Manifest::open(&*folder.disk, &path, if age == Age::New { Age::Unknown } else { age });
    let error = match opened.and_then(|manifest| Ok((manifest.tasks()?, manifest))) {
        Ok((rows, manifest)) => {
            done.lost.extend(manifest.doubt.clone());
            manifest.count_changes(&*folder.disk)?;
            return Ok((Arc::new(manifest), rows.iter().map(|row| row.digest).collect()));
        }
        Err(error) => error,
    };
    let connection = folder.disk.database(&path, false);
    let rows = connection.map(|connection| StoredTask::salvage(&connection)).unwrap_or_default();
    set_aside(folder)?;
    done.repairs.push(format!("the manifest was rebuilt from the segments ({error})"));
    let manifest = Manifest::open(&*folder.disk, &path, Age::New)?;
    manifest.count_changes(&*folder.disk)?;
    for row in &rows {
        manifest.put(row.digest, &row.settings)?;
        if row.is_deleted() {
            manifest.bury(row.digest, row.deleted_at)?;
        }
    }
    Ok((Arc::new(manifest), rows.iter().map(|row| row.digest).collect()))
}

/// Renames the existing manifest as damaged.
fn set_aside(folder: &Folder) -> Result<(), StoreError> {
    let names = folder.disk.list(&folder.root).at("list", &folder.root)?;
    let free = (0..).find(|copy| !names.contains(&format!("store.sqlite.{copy}.damaged"))).unwrap_or(0);
    for part in ["", "-wal", "-shm", "-changes"] {
        let name = format!("store.sqlite{part}");
        if names.contains(&name) {
            let kept = folder.root.join(format!("store.sqlite.{free}.damaged{part}"));
            folder.disk.rename(&folder.root.join(name), &kept).at("set aside", &kept)?;
        }
    }
    Ok(())
}

/// The task stored in a sealed segment.
fn task_of_segments(folder: &Folder, digest: TaskDigest) -> Option<Task> {
    folder.segments(digest).ok()?.iter().find_map(|(_, path)| {
        let (_, footer) = read_footer(&*folder.disk, path).ok()?;
        let footer = Footer::read(footer.split_last_chunk::<FOOTER_END>()?.0)?;
        Task::from_json(footer.note("ldp-pca.task")?).ok().filter(|task| task.digest() == digest)
    })
}

fn repair_task(folder: &Folder, place: Place, meter: &mut Meter<'_>, done: &mut Repaired) -> Result<(), StoreError> {
    let (digest, manifest) = (place.task.digest(), Arc::clone(&place.manifest));
    let known = manifest.tasks()?.into_iter().find(|row| row.digest == digest);
    if known.as_ref().is_some_and(TaskRow::is_deleted) {
        done.repairs.push(format!("task {digest} is being deleted: the next start finishes it"));
        return Ok(());
    }
    let settings = known.map_or_else(TaskSettings::default, |row| row.settings);
    let before = manifest.snapshot(&place.task).and_then(|_| manifest.segments(digest)).unwrap_or_else(|error| {
        done.repairs.push(format!("the sealed segments of task {digest} were read again ({error})"));
        Vec::new()
    });
    separate_names(folder, digest, done)?;
    for (file, path) in folder.segments(digest)? {
        match meter.scan(&place, (file, &path), &mut |_| Ok(())) {
            Ok(scanned) => {
                if place.told.damage_in(file, &path, &scanned).is_some() {
                    done.repairs.push(format!(
                        "{} is damaged: its {} good reports were rewritten, and the file was set aside",
                        path.display(),
                        scanned.reports
                    ));
                }
            }
            // Somebody else may be able to read it.
            Err(StoreError::ForeignReport { source, .. }) => {
                let kept = damaged_path(&*folder.disk, &place.folder, file.number())
                    .and_then(|kept| folder.disk.rename(&path, &kept).map(|()| kept))
                    .at("set aside", &path)?;
                done.repairs.push(format!("{} was set aside as {}: {source}", path.display(), kept.display()));
            }
            Err(error) => return Err(error),
        }
    }
    let erased = erased::repair(&*folder.disk, &place.folder, digest)?;
    done.lost.extend(erased.map(|problem| format!("task {digest}: {problem}")));
    manifest.put(digest, &settings)?;
    manifest.clear(digest)?;
    let task = FolderTask::open(place, settings)?;
    task.close();
    let after = manifest.segments(digest)?;
    for row in before {
        if !after.iter().any(|found| found.number == row.number) {
            let (number, reports) = (row.number, row.reports);
            done.lost.push(format!("task {digest}: segment {number} with {reports} reports is gone"));
        }
    }
    done.lost.extend(task.damage().places.iter().map(|place| format!("task {digest}: {place}")));
    done.tasks.push(RepairedTask { task: digest.to_string(), reports: task.counts().records });
    Ok(())
}

/// Gives an open segment with the number of a sealed one a new number.
fn separate_names(folder: &Folder, digest: TaskDigest, done: &mut Repaired) -> Result<(), StoreError> {
    let files = folder.segments(digest)?;
    let mut free = files.iter().map(|(file, _)| file.number() + 1).max().unwrap_or(0);
    for (file, path) in &files {
        if let SegmentFile::Open(number) = file
            && files.iter().any(|(other, _)| *other == SegmentFile::Sealed(*number))
        {
            folder.disk.rename(path, &open_path(&folder.task_folder(digest), free)).at("rename", path)?;
            done.repairs.push(format!("{} has now the number {free}, since {number} was sealed", path.display()));
            free += 1;
        }
    }
    Ok(())
}
