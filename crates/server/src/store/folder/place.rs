//! The files of one task: its segments are replayed, repaired and sealed here.

use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::acknowledged::Told;
use super::disk::{Disk, DiskFile};
use super::manifest::Manifest;
use super::options::FolderOptions;
use super::rows::Sealed;
use super::scan::{Found, Scanned, scan};
use super::segment::{
    IdsChecksum, Segment, SegmentFile, damaged_path, open_path, sealed_as, sealed_path, temporary_path,
};
use crate::store::{At, Damage, StoreError};
use ldp_pca::report::{Report, report_bytes};
use ldp_pca::task::{Task, TaskDigest};

/// The folder of a task, inside that of its store.
pub(super) fn folder_of(root: &Path, task: TaskDigest) -> PathBuf {
    root.join("tasks").join(task.to_string())
}

/// The tasks that have a folder in that of their store, in the order of their digests.
pub(super) fn task_folders(disk: &dyn Disk, root: &Path) -> Result<Vec<TaskDigest>, StoreError> {
    let folder = root.join("tasks");
    let names = disk.list(&folder).at("list", &folder)?;
    let mut digests: Vec<TaskDigest> = names.iter().filter_map(|name| name.parse().ok()).collect();
    digests.sort();
    Ok(digests)
}

/// A task and its folder.
pub(super) struct Place {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) folder: PathBuf,
    pub(super) manifest: Arc<Manifest>,
    pub(super) task: Task,
    pub(super) report_bytes: usize,
    /// The acknowledged state before it was opened.
    pub(super) told: Told,
    pub(super) options: FolderOptions,
}

impl Place {
    /// The place of a task in the folder `root` of a store; `expected` when it must have the acknowledged mark.
    pub(super) fn open(
        disk: &Arc<dyn Disk>,
        root: &Path,
        task: Task,
        manifest: &Arc<Manifest>,
        expected: bool,
        options: FolderOptions,
    ) -> Result<Self, StoreError> {
        let folder = folder_of(root, task.digest());
        let told = Told::read(&**disk, &folder, task.digest(), expected)?;
        let (disk, manifest, report_bytes) = (Arc::clone(disk), Arc::clone(manifest), report_bytes(&task));
        Ok(Self { disk, folder, manifest, task, report_bytes, told, options })
    }

    /// Gives a segment its footer and its final name.
    pub(super) fn seal(&self, segment: &mut Segment) -> Result<Sealed, StoreError> {
        segment.seal(&*self.disk, &self.folder, &self.task).at("seal", &sealed_path(&self.folder, segment.number))
    }

    /// The length and the footer of a sealed segment.
    pub(super) fn sealed(&self, number: u64) -> Result<Sealed, StoreError> {
        let path = sealed_path(&self.folder, number);
        sealed_as(&*self.disk, &path).at("read", &path)
    }

    /// Reads a segment that is not in the manifest, and passes its good reports to `each`. Returns the segment to
    /// continue, unless it is sealed, and its damage.
    ///
    /// A crash leaves a torn end, which is cut off. Good reports around damage are rewritten, and the damaged file is
    /// set aside unless nothing of it was acknowledged.
    pub(super) fn replay(
        &self,
        file: SegmentFile,
        each: &mut dyn FnMut(&mut Vec<Report>),
    ) -> Result<(Option<Segment>, Damage), StoreError> {
        let (number, path, sealed) = match file {
            SegmentFile::Sealed(number) => (number, sealed_path(&self.folder, number), true),
            SegmentFile::Open(number) => (number, open_path(&self.folder, number), false),
            SegmentFile::Erasing(_) | SegmentFile::Temporary | SegmentFile::Damaged => unreachable!("no segment"),
        };
        let mut source = self.disk.open(&path).at("read", &path)?;
        source.reread().at("read", &path)?;
        let mut ids = IdsChecksum::default();
        let scanned = self.scan(&mut *source, file, &path, &mut |found| {
            ids.add(&[found.bytes], self.report_bytes);
            each(found.reports);
            Ok(())
        })?;
        let cut = self.told.is_cut(file, &scanned);
        let places = self.told.damage_in(file, &path, &scanned).into_iter().collect();
        let cut_bytes = if cut { 0 } else { scanned.torn };
        let damage = Damage { cut_bytes, passed_over: scanned.lost, places };
        let segment = if !scanned.is_whole() || sealed && scanned.footer.is_none() {
            if sealed || scanned.holes > 0 || cut {
                self.set_aside(&mut *source, &path, number)?;
            }
            let mut segment = self.write_anew(&mut *source, file, &path)?;
            if sealed {
                self.seal(&mut segment)?;
                None
            } else {
                segment.rename(&*self.disk, &self.folder, path.clone()).at("write", &path)?;
                Some(segment)
            }
        } else if sealed {
            None
        } else {
            if cut {
                self.set_aside(&mut *source, &path, number)?;
            }
            let resumed = Segment::resume(&*self.disk, path.clone(), number, scanned.good_end, ids, self.options.sizes);
            Some(resumed.at("write", &path)?)
        };
        Ok((segment, damage))
    }

    /// Scans an open file.
    pub(super) fn scan(
        &self,
        source: &mut dyn DiskFile,
        file: SegmentFile,
        path: &Path,
        each: &mut dyn FnMut(Found<'_>) -> io::Result<()>,
    ) -> Result<Scanned, StoreError> {
        let length = source.length().at("read", path)?;
        let known_end = self.told.end_of(file);
        let searched = self.options.sizes.searched;
        let mut read = |buffer: &mut [u8], offset| source.read_at(buffer, offset);
        scan(&mut read, length, known_end, &self.task, searched, each).map_err(|error| error.at(path))
    }

    /// Copies a file that cannot be read as a whole, under a name that marks it as damaged.
    pub(super) fn set_aside(&self, source: &mut dyn DiskFile, path: &Path, number: u64) -> Result<PathBuf, StoreError> {
        let mut copy = || {
            let temporary = temporary_path(&self.folder, number);
            let mut copy = self.disk.create(&temporary)?;
            let (mut buffer, mut offset) = (vec![0; self.options.sizes.copied], 0);
            loop {
                let filled = source.read_at(&mut buffer, offset)?;
                if filled == 0 {
                    break;
                }
                copy.write_at(&mut [IoSlice::new(&buffer[..filled])], offset)?;
                offset += filled as u64;
            }
            copy.sync()?;
            let kept = damaged_path(&*self.disk, &self.folder, number)?;
            self.disk.rename(&temporary, &kept)?;
            self.disk.sync_folder(&self.folder)?;
            Ok(kept)
        };
        copy().at("set aside", path)
    }

    /// Writes the good reports of a file into a new file without a final name.
    fn write_anew(&self, source: &mut dyn DiskFile, file: SegmentFile, path: &Path) -> Result<Segment, StoreError> {
        let number = file.number();
        let temporary = temporary_path(&self.folder, number);
        let segment = Segment::create(&*self.disk, &self.folder, number, temporary, self.options.sizes);
        let mut segment = segment.at("write", path)?;
        self.scan(source, file, path, &mut |found| Ok(segment.append(&[found.bytes], self.report_bytes)?))?;
        Ok(segment)
    }
}
