//! Reads the segments of a folder in order.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Progress;
use crate::store::folder::disk::{Disk, SystemDisk};
use crate::store::folder::format::{Age, FORMAT};
use crate::store::folder::manifest::Manifest;
use crate::store::folder::options::FolderOptions;
use crate::store::folder::place::{Place, folder_of, task_folders};
use crate::store::folder::rows::TaskRow;
use crate::store::folder::scan::{Found, Scanned, scan};
use crate::store::folder::segment::{SegmentFile, files_in};
use crate::store::folder::sizes::Sizes;
use crate::store::folder::{read_format, read_task};
use crate::store::{At, StoreError, TaskSettings};
use ldp_pca::report::Report;
use ldp_pca::task::{Task, TaskDigest};

/// A folder that this process holds.
pub(super) struct Folder {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) root: PathBuf,
    #[allow(dead_code, reason = "held until the folder is dropped")]
    lock: Box<dyn Send + Sync>,
}

impl Folder {
    /// Locks an existing folder.
    pub(super) fn hold(disk: Arc<dyn Disk>, root: &Path) -> Result<Self, StoreError> {
        let tasks = root.join("tasks");
        disk.list(&tasks).at("read", &tasks)?;
        let lock = disk.lock(root)?;
        Ok(Self { disk, root: root.to_owned(), lock })
    }

    /// Checks that the folder has this software's format.
    pub(super) fn check_format(&self) -> Result<(), StoreError> {
        let path = self.root.join("format");
        match read_format(&*self.disk, &self.root)? {
            Age::Current => Ok(()),
            Age::New | Age::Unknown => {
                let problem = io::Error::new(io::ErrorKind::NotFound, format!("it must say '{FORMAT}'"));
                Err(StoreError::io("read", &path, problem))
            }
        }
    }

    pub(super) fn manifest_path(&self) -> PathBuf {
        self.root.join("store.sqlite")
    }

    pub(super) fn manifest(&self) -> Result<Arc<Manifest>, StoreError> {
        Manifest::open(&*self.disk, &self.manifest_path(), Age::Current).map(Arc::new)
    }

    pub(super) fn task_folder(&self, digest: TaskDigest) -> PathBuf {
        folder_of(&self.root, digest)
    }

    /// The tasks that have a folder, in the order of their digests.
    pub(super) fn task_folders(&self) -> Result<Vec<TaskDigest>, StoreError> {
        task_folders(&*self.disk, &self.root)
    }

    /// The files of a task's folder, segments first and in order.
    pub(super) fn files(&self, digest: TaskDigest) -> Result<Vec<(SegmentFile, PathBuf)>, StoreError> {
        files_in(&*self.disk, &self.task_folder(digest))
    }

    pub(super) fn segments(&self, digest: TaskDigest) -> Result<Vec<(SegmentFile, PathBuf)>, StoreError> {
        let mut files = self.files(digest)?;
        files.retain(|(file, _)| matches!(file, SegmentFile::Open(_) | SegmentFile::Sealed(_)));
        Ok(files)
    }

    /// The bytes of all segments, for progress.
    pub(super) fn bytes(&self) -> Result<u64, StoreError> {
        let mut bytes = 0;
        for digest in self.task_folders()? {
            for (_, path) in self.segments(digest)? {
                bytes += self.length(&path)?;
            }
        }
        Ok(bytes)
    }

    pub(super) fn length(&self, path: &Path) -> Result<u64, StoreError> {
        self.disk.open(path).and_then(|file| file.length()).at("read", path)
    }

    pub(super) fn read_task(&self, digest: TaskDigest) -> Result<Task, StoreError> {
        read_task(&*self.disk, &self.task_folder(digest), digest)
    }

    /// A task; `expected` when its folder must have the acknowledged mark.
    pub(super) fn place(&self, task: Task, manifest: &Arc<Manifest>, expected: bool) -> Result<Place, StoreError> {
        Place::open(&self.disk, &self.root, task, manifest, expected, FolderOptions::default())
    }

    /// The tasks that are served from this folder, and their rows.
    pub(super) fn served(&self, manifest: &Manifest) -> Result<Vec<(Task, TaskRow)>, StoreError> {
        let rows = manifest.tasks()?.into_iter().filter(|row| !row.is_deleted());
        rows.map(|row| Ok((self.read_task(row.digest)?, row))).collect()
    }

    /// The second waves that the folder has or names, each after its first wave.
    pub(super) fn second_waves(&self) -> Result<Vec<(TaskDigest, TaskDigest)>, StoreError> {
        let served = self.served(&*self.manifest()?)?;
        Ok(served.iter().filter_map(|(task, row)| Some((task.campaign(), second_wave(task, &row.settings)?))).collect())
    }
}

/// The second wave that a task is, or that its settings name.
pub(super) fn second_wave(task: &Task, settings: &TaskSettings) -> Option<TaskDigest> {
    settings.refined_by.or(task.refinement().map(|_| task.digest()))
}

/// The progress of reading a folder.
pub(super) struct Meter<'a> {
    progress: Progress<'a>,
    done: u64,
    total: u64,
}

impl<'a> Meter<'a> {
    pub(super) fn new(progress: Progress<'a>, total: u64) -> Self {
        progress(0, total);
        Self { progress, done: 0, total }
    }

    pub(super) fn add(&mut self, bytes: u64) {
        self.done += bytes;
        (self.progress)(self.done, self.total);
    }

    /// Scans a file and reports progress.
    pub(super) fn scan(
        &mut self,
        place: &Place,
        (file, path): (SegmentFile, &Path),
        each: &mut dyn FnMut(Found<'_>) -> io::Result<()>,
    ) -> Result<Scanned, StoreError> {
        let mut source = place.disk.open(path).at("read", path)?;
        place.scan(&mut *source, file, path, &mut |found| {
            self.add(found.bytes.len() as u64);
            each(found)
        })
    }
}

/// The tasks that have a folder in the folder of a store.
///
/// # Errors
/// [`StoreError`] when it is not there or a server has it open.
pub fn tasks(root: &Path) -> Result<Vec<TaskDigest>, StoreError> {
    Folder::hold(Arc::new(SystemDisk), root)?.task_folders()
}

/// Reads a segment of `task`, whole or damaged: every report in it that is intact.
///
/// # Errors
/// [`StoreError::ForeignReport`] when it holds a whole report of another task or version.
pub fn read_segment(bytes: &[u8], task: &Task) -> Result<Vec<Report>, StoreError> {
    let mut reports = Vec::new();
    let mut read = |buffer: &mut [u8], offset: u64| {
        let rest = bytes.get(usize::try_from(offset).unwrap_or(usize::MAX)..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    };
    let scanned = scan(&mut read, bytes.len() as u64, 0, task, Sizes::default().searched, &mut |found| {
        reports.append(found.reports);
        Ok(())
    });
    scanned.map(|_| reports).map_err(|error| error.at(Path::new("segment")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_what_was_read_of_what_there_is() {
        let mut told = Vec::new();
        let mut progress = |done, total| told.push((done, total));
        let mut meter = Meter::new(&mut progress, 10);
        meter.add(3);
        meter.add(4);
        assert_eq!(told, [(0, 10), (3, 10), (7, 10)]);
    }
}
