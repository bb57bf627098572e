//! The file that counts a database's changes and reports beside it.
//!
//! It has two slots with a checksum each. Between two syncs only one of them is written, so the other stays on disk as
//! synced, whatever happens to the first. After a killed process the newest numbers are there; after a power cut, at
//! least those of the last sync. They are written after the change: the file never counts what was not made.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use crate::durable::write_whole;
use ldp_pca::task::TaskDigest;

/// The name of the file.
const NAME: &str = "changes";

/// The start of a slot, in its own sector.
const SLOT_BYTES: usize = 512;

/// Changes of the database; reports, and erased ones.
type Numbers = [u64; 2];

/// The content of such a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The newest numbers.
    pub(super) numbers: Numbers,
    turn: u64,
    newest: usize,
}

impl Found {
    /// Reads the file of a folder; `None` when there is none, or no slot of it can be read.
    pub(super) fn read(folder: &Path, task: TaskDigest) -> io::Result<Option<Self>> {
        let bytes = match fs::read(folder.join(NAME)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes?,
        };
        let slots = [0, 1].map(|slot| read_slot(bytes.get(slot * SLOT_BYTES..).unwrap_or_default(), task));
        let newest = usize::from(slots[1] > slots[0]);
        Ok(slots[newest].map(|(turn, numbers)| Self { numbers, turn, newest }))
    }
}

/// A file that is open for writing.
pub(super) struct Counter {
    file: File,
    task: TaskDigest,
    turn: u64,
    /// The slot that may be torn.
    slot: usize,
}

impl Counter {
    /// Creates the file, whole or not at all, replacing an existing one.
    pub(super) fn create(folder: &Path, task: TaskDigest, numbers: Numbers) -> io::Result<Self> {
        write_whole(folder, NAME, &slot_bytes(1, numbers, task))?;
        Self::resume(folder, task, Some(Found { numbers, turn: 1, newest: 0 }), numbers)
    }

    /// Continues with the file found: it holds these numbers from now on. That needs no space: where a slot cannot
    /// be read, it is the one that is written.
    pub(super) fn resume(folder: &Path, task: TaskDigest, found: Option<Found>, numbers: Numbers) -> io::Result<Self> {
        let Some(found) = found else { return Self::create(folder, task, numbers) };
        let file = File::options().write(true).open(folder.join(NAME))?;
        let mut counter = Self { file, task, turn: found.turn, slot: 1 - found.newest };
        // The newest is on the disk before the other is written.
        counter.file.sync_data()?;
        counter.put(numbers)?;
        counter.sync()?;
        Ok(counter)
    }

    /// Writes the numbers. They survive a killed process; the machine may lose them until the next sync.
    pub(super) fn put(&mut self, numbers: Numbers) -> io::Result<()> {
        self.turn += 1;
        self.file.seek(SeekFrom::Start((self.slot * SLOT_BYTES) as u64))?;
        self.file.write_all(&slot_bytes(self.turn, numbers, self.task))
    }

    /// Waits until the written numbers are on disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        self.slot = 1 - self.slot;
        Ok(())
    }
}

/// The number of the turn, the numbers, and a checksum of the task and these.
fn slot_bytes(turn: u64, numbers: Numbers, task: TaskDigest) -> Vec<u8> {
    let mut bytes: Vec<u8> = [turn].into_iter().chain(numbers).flat_map(u64::to_le_bytes).collect();
    bytes.extend(checksum(&bytes, task).to_le_bytes());
    bytes
}

fn read_slot(bytes: &[u8], task: TaskDigest) -> Option<(u64, Numbers)> {
    let (content, rest) = bytes.split_at_checked(24)?;
    let words = content.as_chunks::<8>().0;
    (checksum(content, task).to_le_bytes() == *rest.first_chunk()?).then_some(())?;
    let [turn, changes, seen] = [0, 1, 2].map(|word| u64::from_le_bytes(words[word]));
    Some((turn, [changes, seen]))
}

fn checksum(content: &[u8], task: TaskDigest) -> u32 {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(task.as_bytes());
    checksum.update(content);
    checksum.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_slot_leaves_the_other_one_and_makes_no_number() {
        let (folder, task) = (tempfile::tempdir().unwrap(), TaskDigest::new([7; 32]));
        let read = || Found::read(folder.path(), task).unwrap();
        let content = |bytes: &[u8]| fs::write(folder.path().join(NAME), bytes).unwrap();
        assert_eq!(read(), None);
        drop(Counter::create(folder.path(), task, [3, 30]).unwrap());
        let mut counter = Counter::resume(folder.path(), task, read(), [4, 40]).unwrap();
        // What is not synced is in one slot, however often it is written.
        counter.put([5, 50]).unwrap();
        counter.put([6, 60]).unwrap();
        let good = fs::read(folder.path().join(NAME)).unwrap();
        let newest = read().unwrap();
        assert_eq!(newest.numbers, [6, 60]);
        assert_eq!(Found::read(folder.path(), TaskDigest::new([8; 32])).unwrap(), None, "it is another task's");
        for (slot, expected) in [(newest.newest, [4, 40]), (1 - newest.newest, [6, 60])] {
            let mut bytes = good.clone();
            bytes[SLOT_BYTES * slot + 9] ^= 4;
            content(&bytes);
            assert_eq!(read().unwrap().numbers, expected);
            // The slot that cannot be read is written in its place.
            drop(Counter::resume(folder.path(), task, read(), [7, 70]).unwrap());
            assert_eq!(read().unwrap().numbers, [7, 70]);
            assert_eq!(fs::metadata(folder.path().join(NAME)).unwrap().len(), good.len() as u64);
        }
        for length in 0..good.len() {
            content(&good[..length]);
            assert_eq!(read().map(|found| found.numbers), (length >= 28).then_some([4, 40]), "{length} bytes");
        }
        drop(Counter::resume(folder.path(), task, read(), [7, 70]).unwrap());
        assert_eq!(read().unwrap().numbers, [7, 70]);
    }
}
