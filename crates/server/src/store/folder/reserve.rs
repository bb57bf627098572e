//! Space for a start and a deletion on a full disk: a file that is released when there is no other space, and created
//! again when there is.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::durable::new_private;
use crate::store::StoreError;

/// Bytes that are written to test whether the disk has space.
const PROBE_BYTES: usize = 64 << 10;

/// A smaller reserve is useless.
const LEAST_BYTES: u64 = 64 << 10;

/// The reserve of a folder.
pub(super) struct Reserve {
    root: PathBuf,
    bytes: u64,
}

impl Reserve {
    /// A reserve of this many bytes, or of as many as there is space for; none with 0.
    pub(super) fn new(root: &Path, bytes: u64) -> Self {
        Self { root: root.to_owned(), bytes }
    }

    fn path(&self) -> PathBuf {
        self.root.join("reserve")
    }

    /// Creates it again if it was released.
    pub(super) fn keep(&self) {
        let path = self.path();
        let length = fs::metadata(&path).map_or(0, |file| file.len());
        let mut bytes = self.bytes;
        while bytes > length && bytes >= LEAST_BYTES {
            let opened = File::options().write(true).open(&path).or_else(|_| new_private(&path));
            let Ok(file) = opened else { return };
            // The existing part stays.
            match allocate(&file, bytes).and_then(|()| file.sync_data()) {
                Ok(()) => return,
                Err(_) => drop(file.set_len(length)),
            }
            bytes -= bytes / 8;
        }
    }

    /// Runs `work`, and again without the reserve when the disk is full. `work` must be repeatable after a failure.
    pub(super) fn with<T>(&self, mut work: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let first = work();
        if first.is_ok() || !self.is_full() {
            return first;
        }
        if fs::remove_file(self.path()).is_err() {
            return self.explain(first);
        }
        tracing::warn!(folder = %self.root.display(), "the disk is full: the reserve in the folder is used");
        self.explain(work())
    }

    /// Adds the remedy when the reason is a full disk.
    pub(super) fn explain<T>(&self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        match done {
            Err(error) if self.is_full() => Err(StoreError::Full { path: self.root.clone(), source: Box::new(error) }),
            done => done,
        }
    }

    fn is_full(&self) -> bool {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        self.probe().is_err_and(|error| full.contains(&error.kind()))
    }

    /// Writes a little.
    pub(super) fn probe(&self) -> io::Result<()> {
        let path = self.root.join("probe.tmp");
        let probe = || {
            // Left by a crash.
            let _ = fs::remove_file(&path);
            let mut file = new_private(&path)?;
            file.write_all(&[0x5a; PROBE_BYTES])?;
            file.sync_data()
        };
        let probed = probe();
        let _ = fs::remove_file(&path);
        probed
    }
}

/// Takes space on the disk up to this length, as zeros.
#[cfg(target_os = "linux")]
fn allocate(file: &File, length: u64) -> io::Result<()> {
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, length)?)
}

#[cfg(not(target_os = "linux"))]
fn allocate(file: &File, length: u64) -> io::Result<()> {
    file.set_len(length)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::process::{Command, Stdio};

    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;
    use tempfile::{TempDir, tempdir};

    use super::super::tests::model::{commit, reports, tasks};
    use super::super::{FolderOptions, FolderStore};
    use crate::store::{CommitError, Erase, ReportStore, TaskSettings};

    /// A small disk; `None`, with a message, where this user may mount none.
    struct SmallDisk(TempDir);

    impl SmallDisk {
        fn mount(megabytes: u32) -> Option<Self> {
            let folder = tempdir().unwrap();
            let size = format!("size={megabytes}m");
            let mounted = Command::new("mount")
                .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
                .arg(folder.path())
                .stderr(Stdio::null())
                .status();
            if mounted.is_ok_and(|status| status.success()) {
                return Some(Self(folder));
            }
            eprintln!("skipped: this user cannot mount a small disk");
            None
        }

        /// Leaves no byte.
        fn fill(&self) {
            let mut file = OpenOptions::new().append(true).create(true).open(self.0.path().join("filler")).unwrap();
            while file.write_all(&[1; 4096]).is_ok() {}
        }
    }

    impl Drop for SmallDisk {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
        }
    }

    #[test]
    fn a_full_disk_lets_a_start_and_a_deletion_through() {
        let Some(disk) = SmallDisk::mount(16) else { return };
        let root = disk.0.path().join("data");
        let (tasks, options) = (tasks(), FolderOptions { reserve_bytes: 1 << 20, ..FolderOptions::default() });
        let open = || FolderStore::open(&root, &tasks, options.clone());
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (large, small) = (reports(&tasks[0], &mut rng, 80_000), reports(&tasks[1], &mut rng, 100));
        let store = open().unwrap();
        commit(&store, &tasks[0], &large).unwrap();
        commit(&store, &tasks[1], &small[..50]).unwrap();
        store.close();
        drop(store);
        for _ in 0..4 {
            disk.fill();
            // Without the reserve no database can be opened.
            let store = open().unwrap();
            assert_eq!(store.task(tasks[1].digest()).unwrap().counts().records, 50);
            store.close();
        }
        let store = open().unwrap();
        disk.fill();
        assert!(matches!(commit(&store, &tasks[0], &reports(&tasks[0], &mut rng, 1_000)), Err(CommitError::Write(_))));
        let reason = store.check().unwrap_err();
        assert!(reason.contains("is full") && reason.contains("DELETE") && !reason.contains("repair"), "{reason}");
        assert!(store.delete(tasks[0].digest(), Erase::Now).unwrap());
        store.check().unwrap();
        assert_eq!(commit(&store, &tasks[1], &small[50..]).unwrap().accepted, 50);
        assert_eq!(fs::metadata(root.join("reserve")).unwrap().len(), 1 << 20);
    }

    #[test]
    fn a_full_disk_without_a_reserve_is_said_to_be_full() {
        let Some(disk) = SmallDisk::mount(4) else { return };
        let root = disk.0.path().join("data");
        let open =
            || FolderStore::open(&root, &tasks(), FolderOptions { reserve_bytes: 0, ..FolderOptions::default() });
        let store = open().unwrap();
        disk.fill();
        let settings = TaskSettings { minimum_batch: Some(7), ..TaskSettings::default() };
        let error = store.put(tasks().remove(0), settings).unwrap_err().to_string();
        assert!(error.contains("is full") && !error.contains("repair"), "{error}");
        store.close();
        // It has all the space that it needs.
        open().unwrap();
    }
}
