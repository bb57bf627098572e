//! The disk: files that are on it, whole, when a function returns, and the room that it has left.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Writes a file that is there whole or not at all, and that only its owner may read. Nobody else writes to the folder.
pub(super) fn write_whole(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let temporary = folder.join(format!("{name}.tmp"));
    // Left by a crash.
    let _ = fs::remove_file(&temporary);
    let mut file = new_private(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&temporary, folder.join(name))?;
    sync_folder(folder)
}

/// Makes what was created and removed in a folder last. Elsewhere than on Unix a folder cannot be synced.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// A new file that only its owner may read; never an existing one.
pub(super) fn new_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// The bytes that this user may still write to the disk of a folder.
#[cfg(unix)]
pub(super) fn free_bytes(folder: &Path) -> Option<i64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    i64::try_from(disk.f_bavail.checked_mul(disk.f_frsize)?).ok()
}

#[cfg(not(unix))]
pub(super) fn free_bytes(_: &Path) -> Option<i64> {
    None
}
