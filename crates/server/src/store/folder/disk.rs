//! The operations that the store needs from a file system. Tests have one in memory that stops between any two of these
//! operations, as a machine may.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, IoSlice, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, ffi};

#[cfg(target_os = "linux")]
use super::direct;
use crate::durable::sync_folder;
use crate::store::{At, StoreError};

/// A file system. A new, renamed or removed name is durable once its folder was synced.
pub(super) trait Disk: Send + Sync + 'static {
    /// Creates an empty file, replacing an existing one.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    /// Opens an existing file.
    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    /// Renames a file, replacing an existing one.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Moves a folder, with its content, to a free place.
    fn move_folder(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Creates a folder, and those above it, unless it exists.
    fn make_folder(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty folder.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
    /// The names in a folder.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Waits until the names in a folder are on disk.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
    /// Opens a database, and with `create` creates it if missing. Its transactions are atomic, and durable once they
    /// are committed.
    fn database(&self, path: &Path, create: bool) -> rusqlite::Result<Connection>;
    /// Locks a folder until the lock is dropped. Waits a moment for one that is held.
    fn lock(&self, folder: &Path) -> Result<Box<dyn Send + Sync>, StoreError>;
}

/// An open file. Written data are on disk once it was synced.
pub(super) trait DiskFile: Send + 'static {
    /// The length in bytes.
    fn length(&self) -> io::Result<u64>;
    /// Reads from `offset` until the buffer is full or the file ends; returns the number of bytes.
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all parts, one after the other, from `offset`.
    fn write_at(&mut self, parts: &mut [IoSlice<'_>], offset: u64) -> io::Result<()>;
    /// Reserves space on the disk up to this length, as zeros, where the system can: writing into it and syncing is
    /// cheaper than extending the file.
    fn reserve(&mut self, length: u64) -> io::Result<()>;
    /// Cuts the file, or fills it with zeros, to this length.
    fn set_length(&mut self, length: u64) -> io::Result<()>;
    /// Waits until content and length are on disk.
    fn sync(&mut self) -> io::Result<()>;
    /// Drops the system's cached pages of the file, where possible: after a failed sync they may hold data that are not
    /// on disk but count as written.
    fn reread(&mut self) -> io::Result<()>;
}

/// The machine's own.
pub(super) struct SystemDisk;

impl Disk for SystemDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(SystemFile::new(OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?)))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(SystemFile::new(OpenOptions::new().read(true).write(true).open(path)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn move_folder(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        // A name that is not text is not one of ours.
        let names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
        names.filter_map(Result::transpose).collect()
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        sync_folder(path)
    }

    fn database(&self, path: &Path, create: bool) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let flags = if create { flags | OpenFlags::SQLITE_OPEN_CREATE } else { flags };
        // SQLite treats an empty file as a new database, and removes its log.
        if !create && fs::metadata(path).is_ok_and(|file| file.len() < LEAST_DATABASE) {
            let problem = Some("the file is cut off".to_owned());
            return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_NOTADB), problem));
        }
        Connection::open_with_flags(path, flags)
    }

    /// Other releases and systems know only the file `lock`. Removing it does not free the folder, which is locked too.
    fn lock(&self, folder: &Path) -> Result<Box<dyn Send + Sync>, StoreError> {
        lock_folder(folder, Instant::now())
    }
}

/// What somebody else has locked is waited for until `LOCK_PATIENCE` after `start`.
fn lock_folder(folder: &Path, start: Instant) -> Result<Box<dyn Send + Sync>, StoreError> {
    let path = folder.join("lock");
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.at("open", &path)?;
    lock_file(&file, start, &path)?;
    if !cfg!(unix) {
        return Ok(Box::new(file));
    }
    let itself = File::open(folder).at("open", folder)?;
    match lock_file(&itself, start, folder) {
        // Some file systems lock no folders.
        Ok(()) | Err(StoreError::Io { .. }) => Ok(Box::new((file, itself))),
        Err(error) => Err(error),
    }
}

fn lock_file(file: &File, start: Instant, path: &Path) -> Result<(), StoreError> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_PATIENCE => thread::sleep(LOCK_PAUSE),
            Err(TryLockError::WouldBlock) => return Err(StoreError::Locked { path: path.to_owned() }),
            Err(TryLockError::Error(error)) => return Err(StoreError::io("lock", path, error)),
        }
    }
}

/// SQLite's smallest page.
const LEAST_DATABASE: u64 = 512;

/// A server that ends keeps its lock a moment longer; so does a process that this one starts, until it executes another
/// program.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// A file of the machine.
struct SystemFile {
    file: File,
    #[cfg(target_os = "linux")]
    direct: direct::Direct,
}

impl SystemFile {
    fn new(file: File) -> Self {
        Self {
            file,
            #[cfg(target_os = "linux")]
            direct: direct::Direct::default(),
        }
    }
}

impl DiskFile for SystemFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.seek(SeekFrom::Start(offset))?;
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn write_at(&mut self, mut parts: &mut [IoSlice<'_>], offset: u64) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if self.direct.write_at(&self.file, parts, offset)? {
            return Ok(());
        }
        self.file.seek(SeekFrom::Start(offset))?;
        while !parts.is_empty() {
            match self.file.write_vectored(parts) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => IoSlice::advance_slices(&mut parts, count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn reserve(&mut self, length: u64) -> io::Result<()> {
        Ok(rustix::fs::fallocate(&self.file, rustix::fs::FallocateFlags::empty(), 0, length)?)
    }

    #[cfg(not(target_os = "linux"))]
    fn reserve(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    #[cfg(target_os = "linux")]
    fn reread(&mut self) -> io::Result<()> {
        // The system drops only written pages from memory.
        self.file.sync_data()?;
        Ok(rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed)?)
    }

    #[cfg(not(target_os = "linux"))]
    fn reread(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Reads a whole small file, of at most `most` bytes.
pub(super) fn read_small(disk: &dyn Disk, path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut file = disk.open(path)?;
    let length = file.length()?;
    if length > most as u64 {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has {length} bytes, at most {most} are read"),
        ));
    }
    let mut bytes = vec![0; length as usize];
    let filled = file.read_at(&mut bytes, 0)?;
    bytes.truncate(filled);
    Ok(bytes)
}

/// Writes a small file atomically: if the machine stops, the file is complete or absent.
pub(super) fn write_small(disk: &dyn Disk, folder: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let temporary = folder.join(format!("{name}.tmp"));
    let mut file = disk.create(&temporary)?;
    file.write_at(&mut [IoSlice::new(content)], 0)?;
    // A large write ends with zeros up to the end of a block.
    file.set_length(content.len() as u64)?;
    file.sync()?;
    disk.rename(&temporary, &folder.join(name))?;
    disk.sync_folder(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_folder_stays_locked_when_its_lock_file_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let held = SystemDisk.lock(folder.path()).unwrap();
        fs::remove_file(folder.path().join("lock")).unwrap();
        let refused = lock_folder(folder.path(), Instant::now() - LOCK_PATIENCE);
        assert!(matches!(refused, Err(StoreError::Locked { .. })));
        drop(held);
        SystemDisk.lock(folder.path()).unwrap();
    }

    #[test]
    fn a_lock_that_is_given_free_soon_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let held = SystemDisk.lock(folder.path()).unwrap();
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            drop(held);
        });
        // With more patience: on a busy machine the other may be late.
        lock_folder(folder.path(), Instant::now() + Duration::from_secs(60)).unwrap();
        other.join().unwrap();
    }

    #[test]
    fn a_database_is_created_when_allowed_and_a_truncated_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("database");
        assert!(SystemDisk.database(&path, false).is_err());
        assert!(!path.exists());
        fs::write(&path, "").unwrap();
        let database = SystemDisk.database(&path, true).unwrap();
        // The smallest there is.
        database.execute_batch("PRAGMA page_size = 512; PRAGMA user_version = 7;").unwrap();
        drop(database);
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes.len() as u64, LEAST_DATABASE);
        let database = SystemDisk.database(&path, false).unwrap();
        assert_eq!(database.query_row("PRAGMA user_version", [], |row| row.get(0)), Ok(7));
        drop(database);
        fs::write(&path, &bytes[..511]).unwrap();
        assert!(SystemDisk.database(&path, false).unwrap_err().to_string().contains("cut off"));
    }

    #[test]
    fn what_the_system_refuses_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "content").unwrap();
        let mut buffer = [0; 10];
        let mut write_only = SystemFile::new(OpenOptions::new().write(true).open(&path).unwrap());
        assert!(write_only.read_at(&mut buffer, 0).is_err());
        let mut read_only = SystemFile::new(File::open(&path).unwrap());
        assert!(read_only.write_at(&mut [IoSlice::new(b"other")], 0).is_err());
        assert!(read_only.set_length(1).is_err());
        assert_eq!((read_only.read_at(&mut buffer, 3).unwrap(), &buffer[..5]), (4, &b"tent\0"[..]));
        assert!(SystemDisk.sync_folder(&folder.path().join("other")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_sync_that_the_system_refuses_is_told() {
        let (_, pipe) = io::pipe().unwrap();
        let mut file = SystemFile::new(File::from(std::os::fd::OwnedFd::from(pipe)));
        assert!(file.sync().is_err());
        assert!(file.reread().is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn room_that_is_taken_is_zeros_behind_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "content").unwrap();
        let mut file = SystemDisk.open(&path).unwrap();
        if let Err(error) = file.reserve(1000) {
            eprintln!("skipped: this file system takes no room ahead ({error})");
            return;
        }
        assert_eq!(file.length().unwrap(), 1000);
        assert_eq!(fs::read(&path).unwrap(), [&b"content"[..], &[0; 993]].concat());
    }

    #[test]
    fn a_small_file_is_read_up_to_its_most_bytes() {
        let folder = tempfile::tempdir().unwrap();
        write_small(&SystemDisk, folder.path(), "file", b"content").unwrap();
        let path = folder.path().join("file");
        assert_eq!(read_small(&SystemDisk, &path, 7).unwrap(), b"content");
        assert_eq!(read_small(&SystemDisk, &path, 6).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_small_file_is_read_as_it_was_written_however_long_it_is() {
        let folder = tempfile::tempdir().unwrap();
        for length in [1, 300_000, 1 << 20] {
            let content = vec![b'a'; length];
            write_small(&SystemDisk, folder.path(), "file", &content).unwrap();
            assert!(read_small(&SystemDisk, &folder.path().join("file"), 1 << 21).unwrap() == content, "{length}");
        }
    }
}
