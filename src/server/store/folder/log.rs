//! The file of a task's reports: one after the other, and nothing else. What is acknowledged is on the disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::report::{Report, report_bytes};
use crate::server::store::{Damage, StoreError};
use crate::task::Task;

/// Bytes that are read at a time when a file is replayed.
const REPLAY_BYTES: usize = 1 << 20;

/// An append-only file of reports. Everything up to `length` is on the disk.
pub(super) struct ReportLog<F = File> {
    file: F,
    length: u64,
    /// Whether the file may hold bytes beyond `length`: a write failed, and so did its undoing.
    torn: bool,
}

/// What a log asks of a file. Tests have one that fails on demand.
pub(super) trait LogFile: Write + Seek + Send + 'static {
    /// Sets the length.
    fn set_len(&self, length: u64) -> io::Result<()>;
    /// Waits until content and length are on the disk.
    fn sync_data(&self) -> io::Result<()>;
}

impl LogFile for File {
    fn set_len(&self, length: u64) -> io::Result<()> {
        File::set_len(self, length)
    }

    fn sync_data(&self) -> io::Result<()> {
        File::sync_data(self)
    }
}

impl ReportLog {
    /// Opens or makes the file, and hands the good reports that it holds to `each`, many at a time.
    ///
    /// A crash leaves a torn end: it is cut off. Damage with good reports behind it is passed over, and the good ones are kept. A report
    /// that is whole and yet not one of the task is an error: nothing is thrown away that another release might read.
    pub(super) fn open(
        path: &Path,
        task: &Task,
        each: impl FnMut(&mut Vec<Report>),
    ) -> Result<(Self, Damage), StoreError> {
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = options.map_err(|error| StoreError::io("open", path, error))?;
        let (length, damage) = replay(&mut file, path, task, each)?;
        // Reports of a killed process may be in the system's memory only. They count from now on, so they go to the disk first.
        let mut log = Self { file, length, torn: true };
        log.restore().map_err(|error| StoreError::io("write", path, error))?;
        Ok((log, damage))
    }
}

impl<F: LogFile> ReportLog<F> {
    /// Appends whole reports. After `Ok` they are on the disk. After an error the file is cut back to what it was, at the latest before
    /// the next write.
    pub(super) fn append(&mut self, reports: &[u8]) -> io::Result<()> {
        self.restore()?;
        self.torn = true;
        let written = self
            .file
            .seek(SeekFrom::Start(self.length))
            .and_then(|_| self.file.write_all(reports))
            .and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => {
                self.length += reports.len() as u64;
                self.torn = false;
            }
            // If this fails too, the next call begins with it.
            Err(_) => drop(self.restore()),
        }
        written
    }

    /// Cuts off what is beyond the good length.
    fn restore(&mut self) -> io::Result<()> {
        if self.torn {
            self.file.set_len(self.length)?;
            self.file.sync_data()?;
            self.torn = false;
        }
        Ok(())
    }
}

/// Reads the whole file. Returns the length up to the end of the last good report.
fn replay(
    file: &mut File,
    path: &Path,
    task: &Task,
    mut each: impl FnMut(&mut Vec<Report>),
) -> Result<(u64, Damage), StoreError> {
    let report_length = report_bytes(task);
    let mut chunk = vec![0; report_length * (REPLAY_BYTES / report_length).max(1)];
    let mut reports = Vec::new();
    let (mut offset, mut good_end, mut damaged, mut passed_over) = (0u64, 0u64, 0u64, 0u64);
    loop {
        let filled = fill(file, &mut chunk).map_err(|error| StoreError::io("read", path, error))?;
        for frame in chunk[..filled].chunks(report_length) {
            let start = offset;
            offset += frame.len() as u64;
            match Report::from_bytes(frame, task) {
                Ok(report) => {
                    reports.push(report);
                    passed_over += damaged;
                    damaged = 0;
                    good_end = offset;
                }
                Err(source) if frame.len() == report_length && checksum_fits(frame) => {
                    return Err(StoreError::ForeignReport { path: path.to_owned(), offset: start, source });
                }
                Err(_) => damaged += 1,
            }
        }
        each(&mut reports);
        reports.clear();
        if filled < chunk.len() {
            return Ok((good_end, Damage { cut_bytes: offset - good_end, passed_over }));
        }
    }
}

/// Reads until `buffer` is full or the file ends.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Whether a frame is as it was written, whatever it says.
fn checksum_fits(frame: &[u8]) -> bool {
    frame.split_last_chunk::<4>().is_some_and(|(content, checksum)| crc32fast::hash(content).to_le_bytes() == *checksum)
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A disk in memory on which everything can be made to fail.
    #[derive(Clone, Default)]
    pub(in super::super) struct FaultyFile {
        content: Arc<Mutex<Vec<u8>>>,
        position: u64,
        /// Bytes after which the disk is full; 0 means that it never is.
        pub(in super::super) capacity: Arc<AtomicUsize>,
        pub(in super::super) sync_fails: Arc<AtomicBool>,
        pub(in super::super) truncation_fails: Arc<AtomicBool>,
    }

    impl FaultyFile {
        pub(in super::super) fn content(&self) -> Vec<u8> {
            self.content.lock().unwrap().clone()
        }
    }

    impl Write for FaultyFile {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let capacity = match self.capacity.load(SeqCst) {
                0 => usize::MAX,
                capacity => capacity,
            };
            let mut content = self.content.lock().unwrap();
            let start = self.position as usize;
            // Three bytes at a time: a write is never whole at once.
            let count = bytes.len().min(3).min(capacity.saturating_sub(start));
            if count == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let end = (start + count).max(content.len());
            content.resize(end, 0);
            content[start..start + count].copy_from_slice(&bytes[..count]);
            self.position += count as u64;
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for FaultyFile {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            let SeekFrom::Start(position) = to else { panic!("the log seeks from the start") };
            self.position = position;
            Ok(position)
        }
    }

    impl LogFile for FaultyFile {
        fn set_len(&self, length: u64) -> io::Result<()> {
            if self.truncation_fails.load(SeqCst) {
                return Err(io::Error::other("truncation"));
            }
            self.content.lock().unwrap().resize(length as usize, 0);
            Ok(())
        }

        fn sync_data(&self) -> io::Result<()> {
            if self.sync_fails.load(SeqCst) { Err(io::Error::other("sync")) } else { Ok(()) }
        }
    }

    pub(in super::super) fn faulty_log(file: &FaultyFile) -> ReportLog<FaultyFile> {
        ReportLog { file: file.clone(), length: 0, torn: false }
    }

    #[test]
    fn a_full_disk_leaves_the_file_as_it_was() {
        let file = FaultyFile::default();
        let mut log = faulty_log(&file);
        log.append(b"good").unwrap();
        file.capacity.store(9, SeqCst);
        assert_eq!(log.append(b"too long").unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(file.content(), b"good");
        file.capacity.store(0, SeqCst);
        log.append(b"better").unwrap();
        assert_eq!(file.content(), b"goodbetter");
    }

    #[test]
    fn what_was_not_synced_is_taken_back_before_anything_else_is_written() {
        let file = FaultyFile::default();
        let mut log = faulty_log(&file);
        log.append(b"good").unwrap();
        file.sync_fails.store(true, SeqCst);
        file.truncation_fails.store(true, SeqCst);
        assert!(log.append(b"lost").is_err());
        assert_eq!(file.content(), b"goodlost", "the undoing failed as well");
        file.sync_fails.store(false, SeqCst);
        assert!(log.append(b"x").is_err(), "no write onto a file in doubt");
        file.truncation_fails.store(false, SeqCst);
        log.append(b"x").unwrap();
        assert_eq!(file.content(), b"goodx");
    }
}
