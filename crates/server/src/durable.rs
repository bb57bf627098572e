//! The disk: files that are on it, whole, when a function returns, and the room that it has left.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Bytes that are written to test whether the disk has room.
const PROBE_BYTES: usize = 64 << 10;

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

/// Writes a little to a folder.
pub(super) fn probe(root: &Path) -> io::Result<()> {
    let path = root.join("probe.tmp");
    let probe = || {
        // It may be there: left by a crash, or of another probe at this moment.
        let mut file = File::create(&path)?;
        file.write_all(&[0x5a; PROBE_BYTES])?;
        file.sync_data()
    };
    let probed = probe();
    let _ = fs::remove_file(&path);
    probed
}

/// Makes what was created and removed in a folder last. Elsewhere than on Unix a folder cannot be synced.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// A new file that only its owner may read; never an existing one. Where root makes it, that is the owner of its
/// folder: a server that does not run as root can then read it.
pub(super) fn new_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    own(&file, path)?;
    Ok(file)
}

/// Makes a folder, and those above it, for their owner alone, unless they are there. Where root makes one, that is the
/// owner of the folder that it is in.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if path.is_file() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is a file: name a folder"));
    }
    make_folder(folder_of(path))?;
    match new_folder(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // Elsewhere than on Unix a folder cannot be opened.
        made => made.and_then(|()| if cfg!(unix) { own(&File::open(path)?, path) } else { Ok(()) }),
    }
}

/// Makes a folder for this user alone, which is not there.
pub(super) fn new_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// The folder that a file or a folder is in.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|above| *above != Path::new("")).unwrap_or(Path::new("."))
}

/// Gives what root made to the owner of the folder that it is in.
fn own(made: &File, path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if rustix::process::geteuid().is_root() {
        use std::os::unix::fs::{MetadataExt, fchown};

        let owner = fs::metadata(folder_of(path))?;
        match fchown(made, Some(owner.uid()), Some(owner.gid())) {
            // Root may not where a network's disk says so.
            Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Err(error),
            _ => {}
        }
    }
    #[cfg(not(unix))]
    let _ = (made, path);
    Ok(())
}

/// Whether a file or a folder is this user's, and the rights of others to it. Only Unix says that.
#[cfg(unix)]
pub(super) fn owner_and_rights(found: &Metadata) -> (bool, u32) {
    use std::os::unix::fs::MetadataExt as _;
    (found.uid() == rustix::process::geteuid().as_raw(), found.mode() & 0o077)
}

#[cfg(not(unix))]
pub(super) fn owner_and_rights(_: &Metadata) -> (bool, u32) {
    (true, 0)
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
