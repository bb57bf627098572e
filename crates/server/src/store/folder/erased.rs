//! The file `erased` beside a task's segments: the ids of reports that were erased on request. They stay refused.
//!
//! An id is in this file, on disk, before anything of its report is removed. So a start finishes an erasure that a
//! crash cut short, also in an earlier copy of the folder that got a newer file. Records are only ever appended.

use std::collections::HashSet;
use std::io::{self, IoSlice};
use std::path::Path;

use super::disk::{Disk, DiskFile, write_small};
use super::format::ERASED_FORMAT;
use super::manifest::now;
use crate::store::{At, StoreError};
use ldp_pca::report::ReportId;
use ldp_pca::task::TaskDigest;

/// The name of the file.
const NAME: &str = "erased";

/// The bytes of a record: id, seconds since 1970, and CRC-32 of the task's digest, the record's place and both.
const RECORD: usize = 16 + 8 + CHECKSUM;
const CHECKSUM: usize = 4;

/// The erased ids of a task.
pub(super) struct Erased {
    task: TaskDigest,
    ids: HashSet<ReportId>,
    /// Intact and damaged records; what follows is the rest of a record that a crash cut short.
    records: u64,
    /// Damaged ones.
    damaged: u64,
    file: Option<Box<dyn DiskFile>>,
}

impl Erased {
    /// Reads the file of a task; without a file nothing was erased.
    pub(super) fn read(disk: &dyn Disk, folder: &Path, task: TaskDigest) -> Result<Self, StoreError> {
        let mut erased = Self { task, ids: HashSet::new(), records: 0, damaged: 0, file: None };
        match disk.open(&folder.join(NAME)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(erased),
            opened => erased.file = Some(opened.at("read", &folder.join(NAME))?),
        }
        erased.read_records().at("read", &folder.join(NAME))?;
        Ok(erased)
    }

    fn read_records(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.reread()?;
        let mut bytes = vec![0; usize::try_from(file.length()?).map_err(io::Error::other)?];
        let filled = file.read_at(&mut bytes, 0)?;
        let task = self.task;
        let intact = |(place, record): (u64, &[u8])| {
            let (content, found) = record.split_last_chunk::<CHECKSUM>()?;
            if checksum(task, place, content) == *found { Some((place, *content.first_chunk()?)) } else { None }
        };
        for (place, id) in (0..).zip(bytes[..filled].chunks_exact(RECORD)).filter_map(intact) {
            self.damaged += place - self.records;
            self.records = place + 1;
            self.ids.insert(ReportId::new(id));
        }
        Ok(())
    }

    /// The ids of all erased reports.
    pub(super) fn ids(&self) -> &HashSet<ReportId> {
        &self.ids
    }

    /// The problem of the file itself. (A damaged last record is missing from the acknowledged number of reports.)
    pub(super) fn problem(&self) -> Option<String> {
        let problem = format!("{NAME} has {} damaged records: as many erased ids may be accepted again", self.damaged);
        (self.damaged > 0).then_some(problem)
    }

    /// Adds ids that are not in it. They are on disk when it returns; after an error none of them is in it.
    pub(super) fn add(&mut self, disk: &dyn Disk, folder: &Path, ids: &[ReportId]) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let records = records(self.task, self.records, ids);
        let path = folder.join(NAME);
        if self.file.is_none() {
            // Older releases would count the reports again.
            if let Some(root) = folder.parent().and_then(Path::parent) {
                let format = format!("{ERASED_FORMAT}\n");
                write_small(disk, root, "format", format.as_bytes()).at("write", &root.join("format"))?;
            }
            let create = || {
                let mut file = disk.create(&path)?;
                file.sync()?;
                disk.sync_folder(folder)?;
                Ok(file)
            };
            self.file = Some(create().at("write", &path)?);
        }
        let Some(file) = &mut self.file else { unreachable!("it was made above") };
        let end = self.records * RECORD as u64;
        let mut append = || {
            // Nothing of an earlier attempt stays behind the new end.
            file.set_length(end)?;
            file.write_at(&mut [IoSlice::new(&records)], end)?;
            file.set_length(end + records.len() as u64)?;
            file.sync()
        };
        append().at("write", &path)?;
        self.records += ids.len() as u64;
        self.ids.extend(ids);
        Ok(())
    }
}

/// Writes the file of a task again without its damaged records, if it has any. Returns what is lost.
pub(super) fn repair(disk: &dyn Disk, folder: &Path, task: TaskDigest) -> Result<Option<String>, StoreError> {
    let erased = Erased::read(disk, folder, task)?;
    let problem = erased.problem();
    if problem.is_some() {
        let mut ids: Vec<ReportId> = erased.ids.into_iter().collect();
        ids.sort_unstable_by_key(|id| *id.as_bytes());
        write_small(disk, folder, NAME, &records(task, 0, &ids)).at("write", &folder.join(NAME))?;
    }
    Ok(problem)
}

/// Whether the folder of a task has the file.
pub(super) fn has_file(disk: &dyn Disk, folder: &Path) -> bool {
    disk.open(&folder.join(NAME)).is_ok()
}

/// The records of these ids, from this place on.
fn records(task: TaskDigest, first: u64, ids: &[ReportId]) -> Vec<u8> {
    let seconds = now().to_le_bytes();
    let mut records = Vec::with_capacity(ids.len() * RECORD);
    for (place, id) in (first..).zip(ids) {
        let content = [&id.as_bytes()[..], &seconds].concat();
        records.extend_from_slice(&content);
        records.extend_from_slice(&checksum(task, place, &content));
    }
    records
}

fn checksum(task: TaskDigest, place: u64, content: &[u8]) -> [u8; CHECKSUM] {
    let mut hasher = crc32fast::Hasher::new();
    [&task.as_bytes()[..], &place.to_le_bytes(), content].iter().for_each(|part| hasher.update(part));
    hasher.finalize().to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::maintenance::tests::compact;
    use super::super::tests::simulated::Machine;
    use super::*;

    fn ids(range: std::ops::Range<u8>) -> Vec<ReportId> {
        range.map(|number| ReportId::new([number; 16])).collect()
    }

    fn made() -> (Machine, &'static Path) {
        let (machine, folder) = (Machine::new(1), Path::new("/data/tasks/task"));
        machine.make_folder(folder).unwrap();
        let mut erased = Erased::read(&machine, folder, compact().digest()).unwrap();
        assert!(erased.ids().is_empty());
        erased.add(&machine, folder, &ids(0..3)).unwrap();
        erased.add(&machine, folder, &ids(3..5)).unwrap();
        (machine, folder)
    }

    fn read(machine: &Machine, folder: &Path) -> Erased {
        Erased::read(machine, folder, compact().digest()).unwrap()
    }

    #[test]
    fn what_was_added_is_there_after_a_crash() {
        let (machine, folder) = made();
        machine.restart();
        let found = read(&machine, folder);
        assert_eq!((found.ids(), found.problem()), (&ids(0..5).into_iter().collect(), None));
    }

    #[test]
    fn a_record_that_was_cut_short_is_replaced_and_a_damaged_one_is_reported() {
        for cut in 1..RECORD as u64 {
            let (machine, folder) = made();
            machine.open(&folder.join(NAME)).unwrap().set_length(5 * RECORD as u64 - cut).unwrap();
            let mut found = read(&machine, folder);
            assert_eq!((found.ids().len(), found.problem()), (4, None));
            found.add(&machine, folder, &ids(7..8)).unwrap();
            assert_eq!(read(&machine, folder).ids(), &ids(0..4).into_iter().chain(ids(7..8)).collect());
        }
        for byte in 0..RECORD as u64 {
            let (machine, folder) = made();
            let mut file = machine.open(&folder.join(NAME)).unwrap();
            let mut old = [0];
            file.read_at(&mut old, RECORD as u64 + byte).unwrap();
            file.write_at(&mut [IoSlice::new(&[old[0] ^ 1])], RECORD as u64 + byte).unwrap();
            let found = read(&machine, folder);
            assert_eq!(found.ids().len(), 4);
            assert!(found.problem().unwrap().contains("1 damaged"), "{byte}");
        }
    }

    #[test]
    fn records_of_another_task_or_place_are_damaged() {
        let (machine, folder) = made();
        let other = Erased::read(&machine, folder, TaskDigest::new([7; 32])).unwrap();
        assert!(other.ids().is_empty());
        let mut file = machine.open(&folder.join(NAME)).unwrap();
        let mut record = [0; RECORD];
        file.read_at(&mut record, 0).unwrap();
        file.write_at(&mut [IoSlice::new(&record)], RECORD as u64).unwrap();
        assert!(read(&machine, folder).problem().is_some());
    }
}
