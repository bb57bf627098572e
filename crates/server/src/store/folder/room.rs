//! The room on the disk, and what to do where there is none.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::store::StoreError;

/// Bytes that are written to test whether the disk has room.
const PROBE_BYTES: usize = 64 << 10;

/// Adds the remedy when the reason is that the disk of a folder is full.
pub(super) fn explain<T>(root: &Path, done: Result<T, StoreError>) -> Result<T, StoreError> {
    let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
    match done {
        Err(error) if probe(root).is_err_and(|error| full.contains(&error.kind())) => {
            Err(StoreError::Full { path: root.to_owned(), source: Box::new(error) })
        }
        done => done,
    }
}

/// Writes a little to a folder.
pub(super) fn probe(root: &Path) -> io::Result<()> {
    let path = root.join("probe.tmp");
    let probe = || {
        // It may be there: left by a crash, or of another probe at this moment.
        let mut file = fs::File::create(&path)?;
        file.write_all(&[0x5a; PROBE_BYTES])?;
        file.sync_data()
    };
    let probed = probe();
    let _ = fs::remove_file(&path);
    probed
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::super::maintenance::backup;
    use super::super::{FolderOptions, FolderStore};
    use crate::store::tests::{SmallDisk, commit, reports, tasks};
    use crate::store::{CommitError, Erase, ReportStore, TaskSettings};

    #[test]
    fn a_full_disk_lets_a_start_and_a_deletion_through() {
        let Some(disk) = SmallDisk::mount(16) else { return };
        let root = disk.0.path().join("data");
        let tasks = tasks();
        let open = || FolderStore::open(&root, &tasks, FolderOptions::default());
        let (large, small) = (reports(&tasks[0], 1, 80_000), reports(&tasks[1], 2, 100));
        let store = open().unwrap();
        commit(&store, &tasks[0], &large).unwrap();
        commit(&store, &tasks[1], &small[..50]).unwrap();
        store.close();
        drop(store);
        for _ in 0..4 {
            disk.fill();
            let store = open().unwrap();
            assert_eq!(store.task(tasks[1].digest()).unwrap().counts().records, 50);
            store.close();
        }
        let store = open().unwrap();
        disk.fill();
        assert!(matches!(commit(&store, &tasks[0], &reports(&tasks[0], 3, 1_000)), Err(CommitError::Write(_))));
        let settings = TaskSettings { minimum_batch: Some(7), ..TaskSettings::default() };
        for reason in [store.check().unwrap_err(), store.put(tasks[1].clone(), settings).unwrap_err().to_string()] {
            assert!(reason.contains("is full") && reason.contains("DELETE") && !reason.contains("repair"), "{reason}");
        }
        assert!(store.delete(tasks[0].digest(), Erase::AfterGrace).unwrap());
        store.erase(&store.deleted().unwrap()[0]).unwrap();
        store.check().unwrap();
        assert_eq!(commit(&store, &tasks[1], &small[50..]).unwrap().accepted, 50);
        disk.fill();
        assert!(store.delete(tasks[1].digest(), Erase::Now).unwrap());
    }

    #[test]
    fn a_backup_to_a_full_disk_names_the_copy() {
        let (Some(disk), root) = (SmallDisk::mount(1), tempdir().unwrap()) else { return };
        drop(FolderStore::open(root.path(), &tasks(), FolderOptions::default()).unwrap());
        disk.fill();
        let copied = backup(root.path(), &disk.0.path().join("copy"), &mut |_, _| {});
        let error = copied.unwrap_err().to_string();
        assert!(error.starts_with("cannot write") && error.contains("copy.part"), "{error}");
    }
}
