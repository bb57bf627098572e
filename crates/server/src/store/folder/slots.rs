//! A small file of numbers, written in place whenever the numbers change.
//!
//! It has two slots with a checksum each. Between two syncs only one of them is written, so the other stays on disk as
//! synced, whatever happens to the first. After a killed process the newest numbers are there; after a power cut, at
//! least those of the last sync.

use std::io::{self, IoSlice};
use std::path::Path;

use super::disk::{Disk, DiskFile, read_small, write_small};

/// The start of a slot, in its own sector.
const SLOT_BYTES: usize = 512;

/// A file that is open for writing.
pub(super) struct Slots<const N: usize> {
    file: Box<dyn DiskFile>,
    kind: Vec<u8>,
    turn: u64,
    /// The slot that may be torn.
    current: usize,
    /// The numbers written since the last sync.
    unsynced: Option<[u64; N]>,
    /// Whether the slot may not hold that: writing or syncing it has failed.
    doubtful: bool,
}

/// The content of such a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found<const N: usize> {
    /// The newest numbers, if any slot can be read.
    pub(super) numbers: Option<[u64; N]>,
    /// Whether both slots can be read.
    pub(super) whole: bool,
    turn: u64,
    newest: usize,
}

impl<const N: usize> Found<N> {
    /// Reads a file; `None` when there is none. Every checksum starts with `kind`.
    pub(super) fn read(disk: &dyn Disk, path: &Path, kind: &[u8]) -> io::Result<Option<Self>> {
        let bytes = match read_small(disk, path, 4 * SLOT_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Vec::new(),
            Err(error) => return Err(error),
        };
        let slots = [0, 1].map(|slot| read_slot(bytes.get(slot * SLOT_BYTES..).unwrap_or_default(), kind));
        let newest = usize::from(slots[0].is_none_or(|(first, _)| slots[1].is_some_and(|(second, _)| second > first)));
        let (turn, numbers) = slots[newest].unzip();
        Ok(Some(Self { numbers, whole: slots.iter().all(Option::is_some), turn: turn.unwrap_or(0), newest }))
    }
}

impl<const N: usize> Slots<N> {
    /// Creates the file, whole or not at all, replacing an existing one.
    pub(super) fn create(
        disk: &dyn Disk,
        folder: &Path,
        name: &str,
        kind: &[u8],
        numbers: [u64; N],
    ) -> io::Result<Self> {
        let mut content = slot(1, numbers, kind);
        content.resize(SLOT_BYTES, 0);
        content.extend(slot(2, numbers, kind));
        write_small(disk, folder, name, &content)?;
        let file = disk.open(&folder.join(name))?;
        Ok(Self { file, kind: kind.to_owned(), turn: 2, current: 0, unsynced: None, doubtful: false })
    }

    /// Continues with the file found: from now on it holds these numbers, also on disk. A whole file needs no space for
    /// that. (They are written even if they are there: after a failed sync, memory may show what the disk does not
    /// have.)
    pub(super) fn resume(
        disk: &dyn Disk,
        folder: &Path,
        name: &str,
        kind: &[u8],
        found: Option<Found<N>>,
        numbers: [u64; N],
    ) -> io::Result<Self> {
        let Some(found) = found.filter(|found| found.whole) else {
            return Self::create(disk, folder, name, kind, numbers);
        };
        let (file, current) = (disk.open(&folder.join(name))?, 1 - found.newest);
        let mut slots =
            Self { file, kind: kind.to_owned(), turn: found.turn, current, unsynced: None, doubtful: false };
        // The newest is on the disk before the other is written.
        slots.file.sync()?;
        let written = slots.put(numbers).and_then(|()| slots.sync());
        // A full disk need not prevent a start where nothing changes.
        if found.numbers == Some(numbers) { Ok(slots) } else { written.map(|()| slots) }
    }

    /// Writes the numbers. They survive a killed process; the machine may lose them until the next sync.
    pub(super) fn put(&mut self, numbers: [u64; N]) -> io::Result<()> {
        (self.unsynced, self.doubtful) = (Some(numbers), true);
        let content = slot(self.turn + 1, numbers, &self.kind);
        self.file.write_at(&mut [IoSlice::new(&content)], (self.current * SLOT_BYTES) as u64)?;
        (self.turn, self.doubtful) = (self.turn + 1, false);
        Ok(())
    }

    /// Waits until the written numbers are on disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let Some(numbers) = self.unsynced else { return Ok(()) };
        // Half of it may be there. The system may have dropped the part that a sync could not write, and the next sync
        // would not report it.
        if self.doubtful {
            self.put(numbers)?;
        }
        self.doubtful = true;
        self.file.sync()?;
        (self.unsynced, self.doubtful) = (None, false);
        self.current = 1 - self.current;
        Ok(())
    }
}

/// The number of the turn, the numbers, and a checksum of `kind` and these.
fn slot<const N: usize>(turn: u64, numbers: [u64; N], kind: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = [turn].into_iter().chain(numbers).flat_map(u64::to_le_bytes).collect();
    bytes.extend(checksum(&bytes, kind).to_le_bytes());
    bytes
}

fn read_slot<const N: usize>(bytes: &[u8], kind: &[u8]) -> Option<(u64, [u64; N])> {
    let (content, rest) = bytes.split_at_checked(8 * (N + 1))?;
    if checksum(content, kind).to_le_bytes() != *rest.first_chunk()? {
        return None;
    }
    let mut words = content.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    let turn = words.next()?;
    let mut numbers = [0; N];
    numbers.iter_mut().zip(words).for_each(|(number, word)| *number = word);
    Some((turn, numbers))
}

fn checksum(content: &[u8], kind: &[u8]) -> u32 {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(kind);
    checksum.update(content);
    checksum.finalize()
}

#[cfg(test)]
mod tests {
    use super::super::tests::simulated::Machine;
    use super::*;

    const KIND: &[u8] = b"test";
    const FOLDER: &str = "/data";

    /// A machine with slots in a file of it.
    fn created<const N: usize>(seed: u64, numbers: [u64; N]) -> (Machine, Slots<N>) {
        let machine = Machine::new(seed);
        machine.make_folder(Path::new(FOLDER)).unwrap();
        let slots = Slots::create(&machine, Path::new(FOLDER), "numbers", KIND, numbers).unwrap();
        (machine, slots)
    }

    fn found<const N: usize>(machine: &Machine) -> Found<N> {
        Found::read(machine, &Path::new(FOLDER).join("numbers"), KIND).unwrap().unwrap()
    }

    #[test]
    fn a_killed_process_leaves_the_newest_numbers_and_a_power_cut_what_was_synced_or_newer() {
        for seed in 0..200 {
            let (machine, mut slots) = created(seed, [0, 0]);
            let (mut synced, mut last) = (0, 0);
            for number in 1..=seed % 9 {
                slots.put([number, 2 * number]).unwrap();
                last = number;
                if (seed + number) % 3 == 0 {
                    slots.sync().unwrap();
                    synced = number;
                }
            }
            let Found { numbers, whole, .. } = found(&machine);
            assert_eq!((numbers, whole), (Some([last, 2 * last]), true));
            machine.restart();
            let [first, second] = found(&machine).numbers.unwrap();
            assert!(second == 2 * first && (synced..=last).contains(&first), "{first} of {synced}..={last}");
        }
    }

    #[test]
    fn a_failed_sync_leaves_no_slot_that_the_next_sync_counts_as_written() {
        for seed in 0..400 {
            let (machine, mut slots) = created(seed, [0]);
            slots.put([1]).unwrap();
            machine.fail(1, 0);
            assert!(slots.sync().is_err());
            // The process continues, or another one does.
            if seed % 2 == 0 {
                slots.sync().unwrap();
            } else {
                drop(slots);
                slots =
                    Slots::resume(&machine, Path::new(FOLDER), "numbers", KIND, Some(found(&machine)), [1]).unwrap();
            }
            slots.put([2]).unwrap();
            machine.restart();
            let [number] = found(&machine).numbers.unwrap();
            assert!([1, 2].contains(&number), "{seed}: {number}");
        }
    }

    #[test]
    fn half_a_slot_that_a_full_disk_leaves_is_not_taken_for_written() {
        for seed in 0..400 {
            let (machine, mut slots) = created(seed, [0]);
            machine.set_room(seed % 12);
            assert!(slots.put([1]).is_err());
            machine.set_room(if seed % 2 == 0 { 0 } else { u64::MAX });
            assert_eq!(slots.sync().is_ok(), seed % 2 == 1);
            machine.set_room(u64::MAX);
            slots.put([2]).unwrap();
            machine.restart();
            let [number] = found(&machine).numbers.unwrap();
            assert!([0, 1, 2].contains(&number), "{seed}: {number}");
        }
    }

    #[test]
    fn a_file_that_is_there_and_cannot_be_read_is_not_taken_for_none() {
        let (machine, _) = created(1, [7]);
        let read = |name: &str| Found::<1>::read(&machine, &Path::new(FOLDER).join(name), KIND);
        assert_eq!(read("numbers").unwrap().unwrap().numbers, Some([7]));
        assert_eq!(read("others").unwrap(), None);
        machine.stop_after(0);
        assert!(read("numbers").is_err());
        machine.revive();
        // A longer file need not prevent continuing.
        machine.open(&Path::new(FOLDER).join("numbers")).unwrap().set_length(4 * SLOT_BYTES as u64 + 1).unwrap();
        let found = read("numbers").unwrap().unwrap();
        assert_eq!((found.numbers, found.whole), (None, false));
    }

    #[test]
    fn going_on_with_a_file_loses_nothing_wherever_the_machine_stops() {
        let mut stops = 0;
        for (seed, puts, operations) in
            (0..12).flat_map(|seed| (0..3).flat_map(move |puts| (0..5).map(move |stop| (seed, puts, stop))))
        {
            let (machine, mut slots) = created(seed, [10]);
            for number in 1..=puts {
                slots.put([10 + number]).unwrap();
                slots.sync().unwrap();
            }
            let before = found::<1>(&machine);
            assert_eq!(before.numbers, Some([10 + puts]));
            machine.stop_after(operations);
            let resumed = Slots::resume(&machine, Path::new(FOLDER), "numbers", KIND, Some(before), [20]).is_ok();
            stops += u64::from(!resumed);
            machine.restart();
            let numbers = found(&machine).numbers;
            assert!(
                numbers == Some([20]) || !resumed && numbers == Some([10 + puts]),
                "{seed} {puts} {operations}: {numbers:?}"
            );
        }
        assert!(stops > 30, "{stops}");
    }

    #[test]
    fn altered_bytes_are_noticed() {
        let (machine, mut slots) = created(1, [7]);
        let path = Path::new(FOLDER).join("numbers");
        slots.put([8]).unwrap();
        let mut good = vec![0; SLOT_BYTES + 20];
        assert_eq!(slots.file.read_at(&mut good, 0).unwrap(), good.len());
        let write = |bytes: &[u8]| machine.create(&path).unwrap().write_at(&mut [IoSlice::new(bytes)], 0).unwrap();
        for bit in 0..8 * good.len() {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            write(&bad);
            let found = found::<1>(&machine);
            assert!(found.numbers == Some([8]) || found.numbers == Some([7]) && !found.whole, "bit {bit}");
        }
        for length in 0..good.len() {
            write(&good[..length]);
            assert!(!found::<1>(&machine).whole, "{length} bytes");
        }
        write(&good);
        assert!(found::<1>(&machine).whole);
        assert!(Found::<1>::read(&machine, &path, b"other").unwrap().unwrap().numbers.is_none());
    }
}
