//! Space for a start and a deletion on a full disk: a file that is released when there is no other space, and created
//! again when there is.

use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::Disk;
use crate::store::StoreError;

/// Bytes that are written to test whether the disk has space.
const PROBE_BYTES: usize = 64 << 10;

/// A smaller reserve is useless.
const LEAST_BYTES: u64 = 64 << 10;

/// The reserve of a folder.
pub(super) struct Reserve {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    bytes: u64,
}

impl Reserve {
    /// A reserve of this many bytes, or of as many as there is space for; none with 0.
    pub(super) fn new(disk: &Arc<dyn Disk>, root: &Path, bytes: u64) -> Self {
        Self { disk: Arc::clone(disk), root: root.to_owned(), bytes }
    }

    fn path(&self) -> PathBuf {
        self.root.join("reserve")
    }

    /// Creates it again if it was released.
    pub(super) fn keep(&self) {
        let path = self.path();
        let length = self.disk.open(&path).and_then(|file| file.length()).unwrap_or(0);
        let mut bytes = self.bytes;
        while bytes > length && bytes >= LEAST_BYTES {
            let Ok(mut file) = self.disk.open(&path).or_else(|_| self.disk.create(&path)) else { return };
            // The existing part stays.
            match file.reserve(bytes).and_then(|()| file.sync()) {
                Ok(()) => return,
                Err(_) => drop(file.set_length(length)),
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
        if self.disk.remove(&self.path()).is_err() {
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
            let mut file = self.disk.create(&path)?;
            file.write_at(&mut [IoSlice::new(&[0x5a; PROBE_BYTES])], 0)?;
            file.sync()
        };
        let probed = probe();
        // The next one overwrites the rest of it.
        let _ = self.disk.remove(&path);
        probed
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::process::{Command, Stdio};

    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;
    use tempfile::{TempDir, tempdir};

    use super::super::tests::model::{batch, reports, tasks};
    use super::super::{FolderOptions, FolderStore};
    use crate::store::{CommitError, Committed, Erase, ReportStore};
    use ldp_pca::report::Report;
    use ldp_pca::task::Task;

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

    fn commit(store: &FolderStore, task: &Task, reports: &[Report]) -> Result<Committed, CommitError> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(store.task(task.digest()).unwrap().commit(batch(reports)))
    }

    #[test]
    fn a_full_disk_lets_a_start_and_a_deletion_through() {
        let Some(disk) = SmallDisk::mount(16) else { return };
        let root = disk.0.path().join("data");
        let (tasks, options) = (tasks(), FolderOptions { reserve_bytes: 1 << 20, ..FolderOptions::default() });
        let open = || FolderStore::open(&root, &tasks, options.clone());
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (large, small) = (reports(&tasks[0], &mut rng, 150_000), reports(&tasks[1], &mut rng, 100));
        let store = open().unwrap();
        commit(&store, &tasks[0], &large).unwrap();
        commit(&store, &tasks[1], &small[..50]).unwrap();
        store.close();
        drop(store);
        for _ in 0..4 {
            disk.fill();
            // Without the reserve the manifest cannot be opened.
            let store = open().unwrap();
            assert_eq!(store.task(tasks[1].digest()).unwrap().counts().records, 50);
            store.close();
        }
        let store = open().unwrap();
        disk.fill();
        assert!(matches!(commit(&store, &tasks[0], &more(&tasks[0])), Err(CommitError::Write(_))));
        let reason = store.check().unwrap_err();
        assert!(reason.contains("is full") && reason.contains("DELETE") && !reason.contains("repair"), "{reason}");
        assert!(store.delete(tasks[0].digest(), Erase::Now).unwrap());
        store.check().unwrap();
        assert_eq!(commit(&store, &tasks[1], &small[50..]).unwrap().accepted, 50);
        assert_eq!(fs::metadata(root.join("reserve")).unwrap().len(), 1 << 20);
    }

    /// More than the room that a segment has taken ahead.
    fn more(task: &Task) -> Vec<Report> {
        reports(task, &mut ChaCha8Rng::seed_from_u64(2), 300_000)
    }

    #[test]
    fn a_full_disk_without_a_reserve_is_said_to_be_full() {
        let Some(disk) = SmallDisk::mount(4) else { return };
        let root = disk.0.path().join("data");
        let open =
            || FolderStore::open(&root, &tasks(), FolderOptions { reserve_bytes: 0, ..FolderOptions::default() });
        open().unwrap().close();
        disk.fill();
        let error = open().err().unwrap().to_string();
        assert!(error.contains("is full") && !error.contains("repair"), "{error}");
        fs::remove_file(disk.0.path().join("filler")).unwrap();
        open().unwrap();
    }
}
