//! The lock of a folder: one process changes it at a time.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::durable::new_private;
use crate::store::{At, StoreError};

/// A server that ends keeps its lock a moment longer; so does a process that this one starts, until it executes another
/// program.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(10);

/// Held until it is dropped: the file `lock` in the folder, and the folder itself where folders can be locked. Other
/// systems know only the file, and removing it frees nothing.
pub(in super::super) struct Lock(#[allow(dead_code, reason = "held until it is dropped")] Vec<File>);

impl Lock {
    /// Locks a folder. Waits a moment for one that is held.
    pub(in super::super) fn take(folder: &Path) -> Result<Self, StoreError> {
        Self::take_since(folder, Instant::now())
    }

    /// What somebody else has locked is waited for until [`PATIENCE`] after `start`.
    fn take_since(folder: &Path, start: Instant) -> Result<Self, StoreError> {
        let path = folder.join("lock");
        let open = || File::options().write(true).open(&path);
        // Another process may make it at the same time.
        let file = open().or_else(|_| new_private(&path)).or_else(|_| open()).at("open", &path)?;
        lock(&file, start, &path)?;
        if !cfg!(unix) {
            return Ok(Self(vec![file]));
        }
        let itself = File::open(folder).at("open", folder)?;
        match lock(&itself, start, folder) {
            // Some file systems lock no folders.
            Ok(()) | Err(StoreError::Io { .. }) => Ok(Self(vec![file, itself])),
            Err(error) => Err(error),
        }
    }
}

fn lock(file: &File, start: Instant, path: &Path) -> Result<(), StoreError> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Err(StoreError::Locked { path: path.to_owned() }),
            Err(TryLockError::Error(error)) => return Err(StoreError::io("lock", path, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_folder_stays_locked_when_its_lock_file_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let held = Lock::take(folder.path()).unwrap();
        fs::remove_file(folder.path().join("lock")).unwrap();
        let refused = Lock::take_since(folder.path(), Instant::now() - PATIENCE);
        assert!(matches!(refused, Err(StoreError::Locked { .. })));
        drop(held);
        Lock::take(folder.path()).unwrap();
    }

    #[test]
    fn a_lock_that_is_given_free_soon_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let held = Lock::take(folder.path()).unwrap();
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            drop(held);
        });
        // With more patience: on a busy machine the other may be late.
        Lock::take_since(folder.path(), Instant::now() + Duration::from_secs(60)).unwrap();
        other.join().unwrap();
    }
}
