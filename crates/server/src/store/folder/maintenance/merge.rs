//! `merge`: the reports of several folders in one, each id once.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use tokio::runtime;

use super::Progress;
use super::read::{Folder, Meter};
use crate::store::folder::disk::{Disk, SystemDisk};
use crate::store::folder::erased::Erased;
use crate::store::folder::place::Place;
use crate::store::folder::segment::{SegmentFile, files_in};
use crate::store::folder::{FolderOptions, FolderStore};
use crate::store::{At, Batch, ReportStore, StoreError, TaskReports, TaskSettings};
use ldp_pca::report::ReportId;
use ldp_pca::task::TaskDigest;

/// The result for one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MergedTask {
    /// Its digest.
    pub task: String,
    /// Reports that were added.
    pub added: u64,
    /// Reports that were there before.
    pub duplicates: u64,
    /// Reports that the task has now.
    pub reports: u64,
}

/// Adds all tasks and reports of `sources` to the folder `into`, which is created if missing. A new task brings its
/// settings. A report that was erased from one of the folders is in none afterwards. A first wave that is over in one
/// of the sources is over afterwards. It can be interrupted and repeated.
///
/// # Errors
/// [`StoreError`] when a folder cannot be opened, read or written, or a task's quota has no room for the reports. Also,
/// and then nothing is added, when two folders have different second waves of a task, or a first wave is over in one
/// and another, or `into`, has further reports.
pub fn merge(sources: &[PathBuf], into: &Path, progress: Progress<'_>) -> Result<Vec<MergedTask>, StoreError> {
    merge_on(&(Arc::new(SystemDisk) as Arc<dyn Disk>), sources, into, progress)
}

pub(in super::super) fn merge_on(
    disk: &Arc<dyn Disk>,
    sources: &[PathBuf],
    into: &Path,
    progress: Progress<'_>,
) -> Result<Vec<MergedTask>, StoreError> {
    // All of them are held before anything is written.
    let mut folders = Vec::with_capacity(sources.len());
    let mut total = 0;
    for source in sources {
        let folder = Folder::hold(Arc::clone(disk), source)?;
        folder.check_format()?;
        total += folder.bytes()?;
        folders.push(folder);
    }
    // The server of the folder makes the reserve.
    let options = FolderOptions { reserve_bytes: 0, ..FolderOptions::default() };
    let store = FolderStore::open_on(Arc::clone(disk), into, &[], options)?;
    let mut meter = Meter::new(progress, total);
    let mut merged = Vec::new();
    check_waves(&folders, &store)?;
    check_reports(&folders, &store)?;
    // Before their reports, so that no report which one folder still has comes back.
    for folder in &folders {
        add_erased(folder, &store)?;
    }
    for folder in &folders {
        add(folder, &store, &mut meter, &mut merged)?;
    }
    for folder in &folders {
        close_waves(folder, &store)?;
    }
    store.close();
    Ok(merged)
}

/// Refuses two second waves of one task.
fn check_waves(folders: &[Folder], store: &FolderStore) -> Result<(), StoreError> {
    let mut waves = BTreeMap::new();
    for folder in folders {
        for (first, found) in folder.second_waves()? {
            let expected = *waves.entry(first).or_insert_with(|| store.second_wave_of(first).unwrap_or(found));
            if expected != found {
                return Err(StoreError::OtherWave { path: folder.root.clone(), first, expected, found });
            }
        }
    }
    Ok(())
}

/// Refuses further reports for a first wave that is over in one of the folders: its second wave did not see them.
fn check_reports(folders: &[Folder], store: &FolderStore) -> Result<(), StoreError> {
    let (mut waves, mut over) = (BTreeMap::<TaskDigest, Vec<(bool, Place)>>::new(), BTreeSet::new());
    let mut found = |closed: bool, place: Place| {
        let digest = place.task.digest();
        if closed {
            over.insert(digest);
        }
        waves.entry(digest).or_default().push((closed, place));
    };
    for task in store.tasks() {
        found(task.settings().is_closed(), store.place(task.task().clone())?);
    }
    for folder in folders {
        let manifest = folder.manifest()?;
        for (task, row) in folder.served(&manifest)? {
            found(row.settings.is_closed(), folder.place(task, &manifest, true)?);
        }
    }
    for first in over {
        let (mut erased, mut of_folders) = (HashSet::<ReportId>::new(), Vec::new());
        for (closed, place) in &waves[&first] {
            erased.extend(Erased::read(&*place.disk, &place.folder, first)?.ids());
            of_folders.push((*closed, place, ids_in(place)?));
        }
        for (_, over, fixed) in of_folders.iter().filter(|(closed, ..)| *closed) {
            for (_, place, ids) in &of_folders {
                let further = ids.iter().filter(|id| !fixed.contains(id) && !erased.contains(id)).count();
                if further > 0 {
                    let (path, over) = (place.folder.clone(), over.folder.clone());
                    return Err(StoreError::FurtherReports { path, further, over });
                }
            }
        }
    }
    Ok(())
}

/// The ids of the reports in a task's segments.
fn ids_in(place: &Place) -> Result<HashSet<ReportId>, StoreError> {
    let mut ids = HashSet::new();
    for (file, path) in files_in(&*place.disk, &place.folder)? {
        if matches!(file, SegmentFile::Open(_) | SegmentFile::Sealed(_)) {
            Meter::new(&mut |_, _| {}, 0).scan(place, (file, &path), &mut |page| {
                ids.extend(page.reports.drain(..).map(|report| report.id()));
                Ok(())
            })?;
        }
    }
    Ok(ids)
}

/// Closes the first waves that are over in one folder.
fn close_waves(folder: &Folder, store: &FolderStore) -> Result<(), StoreError> {
    for (task, row) in folder.served(&*folder.manifest()?)? {
        let Some(target) = store.find(row.digest).filter(|_| row.settings.is_closed()) else { continue };
        let settings = target.settings();
        if settings.refined_by.is_none() {
            let TaskSettings { closed, refined_by, refine_after, refine_rank, .. } = row.settings;
            let settings = TaskSettings::clone(&settings);
            store.put(task, TaskSettings { closed, refined_by, refine_after, refine_rank, ..settings })?;
        }
    }
    Ok(())
}

/// Adds the tasks of one folder that the store does not have, and erases what was erased from the folder.
fn add_erased(folder: &Folder, store: &FolderStore) -> Result<(), StoreError> {
    for (task, row) in folder.served(&*folder.manifest()?)? {
        if store.find(row.digest).is_none() {
            // Open until its reports are there.
            store.put(task, TaskSettings { closed: None, refined_by: None, ..row.settings })?;
        }
        let erased = Erased::read(&*folder.disk, &folder.task_folder(row.digest), row.digest)?;
        let ids: Vec<ReportId> = erased.ids().iter().copied().collect();
        if let Some(target) = store.find(row.digest).filter(|_| !ids.is_empty()) {
            target.erase(&ids, true)?;
        }
    }
    Ok(())
}

/// Adds the reports of one folder.
fn add(
    folder: &Folder,
    store: &FolderStore,
    meter: &mut Meter<'_>,
    merged: &mut Vec<MergedTask>,
) -> Result<(), StoreError> {
    let waiting = runtime::Builder::new_current_thread().build();
    let waiting = waiting.at("merge", &folder.root)?;
    let manifest = folder.manifest()?;
    for (task, row) in folder.served(&manifest)? {
        let place = folder.place(task, &manifest, true)?;
        let Some(target) = store.find(row.digest) else { continue };
        let merged = entry(merged, row.digest);
        for (file, path) in folder.segments(row.digest)? {
            let mut refused = false;
            let scanned = meter.scan(&place, (file, &path), &mut |page| {
                let (reports, bytes) = (std::mem::take(page.reports), page.bytes.to_vec());
                let batch = Batch { reports, bytes, closed: None, permit: None };
                let committed = waiting.block_on(target.commit(batch)).map_err(|error| {
                    refused = true;
                    io::Error::other(error)
                })?;
                merged.added += committed.accepted;
                merged.duplicates += committed.duplicate;
                Ok(())
            });
            scanned.map_err(|error| match error {
                StoreError::Io { source, .. } if refused => StoreError::io("add", &path, source),
                error => error,
            })?;
        }
        merged.reports = target.counts().records;
    }
    Ok(())
}

fn entry(merged: &mut Vec<MergedTask>, digest: TaskDigest) -> &mut MergedTask {
    let task = digest.to_string();
    let place = merged.iter().position(|found| found.task == task).unwrap_or(merged.len());
    if place == merged.len() {
        merged.push(MergedTask { task, added: 0, duplicates: 0, reports: 0 });
    }
    &mut merged[place]
}
