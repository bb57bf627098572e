//! Deletion of a task, in two steps: its folder is moved to `deleted/`, and erased when the grace period is over. The
//! moved folder is self-contained: the manifest forgets the task, so that it can be added again.

use std::io;
use std::path::{Path, PathBuf};

use super::disk::{Disk, write_small};
use super::manifest::{AT_ONCE, Manifest, now};
use super::place::folder_of;
use super::segment::SegmentFile;
use crate::store::{At, DeletedTask, StoreError, TaskSettings};
use ldp_pca::task::TaskDigest;

/// The folder of deleted tasks.
pub(super) fn deleted_folder(root: &Path) -> PathBuf {
    root.join("deleted")
}

/// The path of one of them.
pub(super) fn deleted_path(root: &Path, task: &DeletedTask) -> PathBuf {
    deleted_folder(root).join(format!("{}.{}", task.digest, task.since))
}

/// The settings of a deleted task, in its folder.
pub(super) const SETTINGS: &str = "settings.json";

/// The tasks that were deleted and are not erased yet.
pub(super) fn deleted(disk: &dyn Disk, root: &Path) -> Result<Vec<DeletedTask>, StoreError> {
    let folder = deleted_folder(root);
    let names = match disk.list(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        names => names.at("list", &folder)?,
    };
    let task = |name: &String| {
        let (digest, since) = name.split_once('.')?;
        let since = since.parse().ok()?;
        Some(DeletedTask { digest: digest.parse().ok()?, key: since, since })
    };
    Ok(names.iter().filter_map(task).collect())
}

/// The parts that a deletion changes.
pub(super) struct Deletion<'a> {
    pub(super) disk: &'a dyn Disk,
    /// The folder of the store.
    pub(super) root: &'a Path,
    pub(super) manifest: &'a Manifest,
}

impl Deletion<'_> {
    /// Erases every byte of a task that was moved aside.
    pub(super) fn erase(&self, task: &DeletedTask) -> Result<(), StoreError> {
        self.remove_folder(&deleted_path(self.root, task))
    }

    /// The settings are in the manifest, which forgets the task.
    pub(super) fn keep_settings(&self, digest: TaskDigest, settings: &TaskSettings) -> Result<(), StoreError> {
        let folder = folder_of(self.root, digest);
        let kept = serde_json::to_string(settings).map_err(io::Error::from);
        kept.and_then(|settings| write_small(self.disk, &folder, SETTINGS, settings.as_bytes()))
            .at("write", &folder.join(SETTINGS))
    }

    /// The present second, or the first later one that no other deletion of the task uses in its name.
    pub(super) fn free_second(&self, digest: TaskDigest) -> Result<u64, StoreError> {
        let taken = deleted(self.disk, self.root)?;
        let is_free = |since: &u64| !taken.iter().any(|task| task.digest == digest && task.since == *since);
        Ok((now().max(AT_ONCE + 1)..).find(is_free).unwrap_or(u64::MAX))
    }

    /// Finishes a deletion that the manifest records.
    pub(super) fn finish(&self, digest: TaskDigest, at: u64) -> Result<(), StoreError> {
        if at == AT_ONCE {
            self.remove_folder(&folder_of(self.root, digest))?;
        } else {
            self.put_aside(&DeletedTask { digest, key: at, since: at })?;
        }
        self.manifest.forget(digest)
    }

    /// Moves a task's folder to the deleted ones, unless it is there already.
    fn put_aside(&self, task: &DeletedTask) -> Result<(), StoreError> {
        let (from, to) = (folder_of(self.root, task.digest), deleted_path(self.root, task));
        let put = || {
            let names = self.disk.list(&from);
            if names.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) || names?.is_empty() {
                return Ok(());
            }
            self.disk.make_folder(&deleted_folder(self.root))?;
            self.disk.sync_folder(self.root)?;
            // Its content is durable before it gets its new name.
            self.disk.sync_folder(&from)?;
            self.disk.move_folder(&from, &to)?;
            self.disk.sync_folder(&deleted_folder(self.root))?;
            self.disk.sync_folder(&self.root.join("tasks"))
        };
        put().at("put aside", &from)
    }

    /// Removes the rest of a task whose addition crashed. Reports without a task in the manifest are somebody's
    /// mistake.
    pub(super) fn sweep(&self, digest: TaskDigest) -> Result<(), StoreError> {
        let folder = folder_of(self.root, digest);
        let names = self.disk.list(&folder).at("list", &folder)?;
        let is_segment = |name: &String| {
            matches!(
                SegmentFile::of_name(name),
                Some(SegmentFile::Open(_) | SegmentFile::Sealed(_) | SegmentFile::Damaged)
            )
        };
        if names.iter().any(is_segment) {
            let problem = format!("it does not have task {digest}, which has reports in {}", folder.display());
            return Err(StoreError::manifest(&self.manifest.path, problem));
        }
        self.remove_folder(&folder)
    }

    /// Removes a folder of files.
    fn remove_folder(&self, folder: &Path) -> Result<(), StoreError> {
        let remove = || {
            let names = match self.disk.list(folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                names => names?,
            };
            for name in names {
                self.disk.remove(&folder.join(name))?;
            }
            // Or files might come back without the folder's row in the manifest.
            self.disk.sync_folder(folder)?;
            self.disk.remove_folder(folder)?;
            folder.parent().map_or(Ok(()), |above| self.disk.sync_folder(above))
        };
        remove().at("delete", folder)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    use super::super::maintenance::restore_on;
    use super::super::tests::model::{batch, reports, sum, tasks};
    use super::super::tests::simulated::Machine;
    use super::super::{FolderOptions, FolderStore};
    use super::*;
    use crate::store::{Erase, ReportStore};

    #[test]
    fn a_missing_task_is_not_deleted_and_errors_of_the_disk_are_reported() {
        let (tasks, root, machine) = (tasks(), Path::new("/data"), Machine::new(1));
        let options = FolderOptions { reserve_bytes: 0, ..FolderOptions::default() };
        let disk: Arc<dyn Disk> = Arc::new(machine.clone());
        let store = FolderStore::open_on(disk, root, &tasks[..1], options).unwrap();
        for erase in [Erase::Now, Erase::AfterGrace] {
            assert!(!store.delete(tasks[1].digest(), erase).unwrap());
        }
        let before = now();
        assert!(store.delete(tasks[0].digest(), Erase::AfterGrace).unwrap());
        assert!(!store.delete(tasks[0].digest(), Erase::AfterGrace).unwrap());
        let deleted_task = store.deleted().unwrap()[0];
        assert!(before > 1_700_000_000 && (before..before + 60).contains(&deleted_task.since), "{deleted_task:?}");
        machine.stop_after(0);
        assert!(deleted(&machine, root).is_err());
        assert!(store.erase(&deleted_task).is_err());
        machine.revive();
        store.erase(&deleted_task).unwrap();
        assert_eq!(store.deleted().unwrap(), []);
        // Doing it twice is harmless.
        store.erase(&deleted_task).unwrap();
    }

    #[test]
    fn wherever_the_machine_stops_a_deleted_task_is_served_or_restored_whole() {
        let (task, root) = (tasks().remove(0), Path::new("/data"));
        let settings = TaskSettings { max_records: Some(30), ..TaskSettings::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (mut kept, mut deleted_for_good) = (0, 0);
        for stop in 0..80 {
            let machine = Machine::new(stop);
            let disk: Arc<dyn Disk> = Arc::new(machine.clone());
            let options = FolderOptions { segment_reports: 7, reserve_bytes: 0, ..FolderOptions::default() };
            let open = || FolderStore::open_on(Arc::clone(&disk), root, &[], options.clone());
            let start_again = || if stop % 3 == 0 { machine.revive() } else { machine.restart() };
            let store = open().unwrap();
            store.put(task.clone(), settings.clone()).unwrap();
            let all = reports(&task, &mut ChaCha8Rng::seed_from_u64(stop), 20);
            for part in all.chunks(5) {
                runtime.block_on(store.task(task.digest()).unwrap().commit(batch(part))).unwrap();
            }
            machine.stop_after(stop / 2);
            let deleted = store.delete(task.digest(), Erase::AfterGrace).is_ok();
            drop(store);
            start_again();
            let mut store = open().unwrap();
            if store.task(task.digest()).is_some() {
                assert!(!deleted);
                kept += 1;
            } else {
                deleted_for_good += 1;
                assert_eq!(store.deleted().unwrap().len(), 1);
                drop(store);
                machine.stop_after(stop / 2);
                // After a crash it is repeated, or was already done.
                while restore_on(Arc::clone(&disk), root, task.digest()).is_err() && machine.has_stopped() {
                    start_again();
                }
                start_again();
                store = open().unwrap();
            }
            let served = store.task(task.digest()).unwrap();
            assert_eq!(served.aggregate().unwrap(), sum(&task, &all));
            assert_eq!(*served.settings(), settings);
            assert!(store.deleted().unwrap().is_empty());
        }
        assert!(kept > 5 && deleted_for_good > 5, "{kept} {deleted_for_good}");
    }
}
