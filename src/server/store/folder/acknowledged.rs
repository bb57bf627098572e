//! How far the reports of a task were acknowledged: the file `acknowledged` beside its segments.
//!
//! The writer notes it after each sync of a segment and before anybody is answered. So what it tells of was on the disk,
//! and a report that is missing below it was lost, wherever the segment's file ends. What is above it was durable at most:
//! nobody was told of it, unless a power cut took the newest note.

use std::io;
use std::path::Path;

use super::disk::Disk;
use super::scan::Scanned;
use super::segment::{Segment, SegmentFile, open_path};
use super::slots::{Found, Slots};
use crate::server::store::{Damage, StoreError};
use crate::task::TaskDigest;

/// The name of the file.
const NAME: &str = "acknowledged";

/// What was acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Acknowledged {
    /// The segment that was written last.
    pub(super) segment: u64,
    /// Bytes of it.
    pub(super) length: u64,
    /// Reports of the task in all segments.
    pub(super) records: u64,
}

impl Acknowledged {
    pub(super) fn new(segment: &Segment, records: u64) -> Self {
        Self { segment: segment.number, length: segment.length(), records }
    }

    fn numbers(self) -> [u64; 3] {
        [self.segment, self.length, self.records]
    }
}

/// The file, open for writing.
pub(super) struct AcknowledgedFile(Slots<3>);

impl AcknowledgedFile {
    /// Makes the file of a task, in the place of any that is there.
    pub(super) fn create(
        disk: &dyn Disk,
        folder: &Path,
        task: TaskDigest,
        state: Acknowledged,
    ) -> Result<Self, StoreError> {
        let slots = Slots::create(disk, folder, NAME, task.as_bytes(), state.numbers());
        Ok(Self(slots.map_err(|error| StoreError::io("write", &folder.join(NAME), error))?))
    }

    /// Notes what is acknowledged next. It may fail: then the file tells of less.
    pub(super) fn put(&mut self, state: Acknowledged) -> io::Result<()> {
        self.0.put(state.numbers())
    }

    /// Waits until what was noted is on the disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }
}

/// What a folder tells of what was acknowledged in it.
pub(super) struct Told {
    task: TaskDigest,
    found: Option<Found<3>>,
    /// Whether a task of this folder must have the file.
    expected: bool,
}

impl Told {
    /// Reads the file of a task.
    pub(super) fn read(disk: &dyn Disk, folder: &Path, task: TaskDigest, expected: bool) -> Result<Self, StoreError> {
        let found = Found::read(disk, &folder.join(NAME), task.as_bytes());
        let found = found.map_err(|error| StoreError::io("read", &folder.join(NAME), error))?;
        Ok(Self { task, found, expected })
    }

    /// Goes on with the file, which tells of this from now on.
    pub(super) fn resume(
        &self,
        disk: &dyn Disk,
        folder: &Path,
        state: Acknowledged,
    ) -> Result<AcknowledgedFile, StoreError> {
        let slots = Slots::resume(disk, folder, NAME, self.task.as_bytes(), self.found, state.numbers());
        Ok(AcknowledgedFile(slots.map_err(|error| StoreError::io("write", &folder.join(NAME), error))?))
    }

    pub(super) fn state(&self) -> Option<Acknowledged> {
        let [segment, length, records] = self.found?.numbers?;
        Some(Acknowledged { segment, length, records })
    }

    /// Whether a slot cannot be read, as after a power cut.
    pub(super) fn is_torn(&self) -> bool {
        self.found.is_some_and(|found| !found.whole && found.numbers.is_some())
    }

    /// What is wrong with the file itself.
    pub(super) fn problem(&self) -> Option<String> {
        let problem = match self.found {
            None if self.expected => "is missing",
            Some(found) if found.numbers.is_none() => "cannot be read",
            _ => return None,
        };
        Some(format!("{NAME} {problem}: it is not known whether the newest reports are there"))
    }

    /// Up to where everything in a segment was whole once.
    pub(super) fn end_of(&self, file: SegmentFile) -> u64 {
        match (file, self.state()) {
            (SegmentFile::Sealed(_), _) => u64::MAX,
            // The next one was begun when it was full.
            (SegmentFile::Open(number), Some(state)) if number < state.segment => u64::MAX,
            (SegmentFile::Open(number), Some(state)) if number == state.segment => state.length,
            _ => 0,
        }
    }

    /// Whether something that was acknowledged is not there behind a segment's last good page.
    pub(super) fn is_cut(&self, file: SegmentFile, scanned: &Scanned) -> bool {
        match (file, self.end_of(file)) {
            (SegmentFile::Sealed(_), _) => scanned.footer.is_none(),
            // Half a footer may be there: it was being sealed.
            (_, u64::MAX) => scanned.stranded > 0,
            (_, end) => scanned.good_end < end,
        }
    }

    /// What is wrong in a segment, with its place.
    pub(super) fn damage_in(&self, file: SegmentFile, path: &Path, scanned: &Scanned) -> Option<String> {
        let name = path.file_name().unwrap_or_default().display();
        if let Some(offset) = scanned.first_hole {
            let lost = scanned.lost;
            return Some(format!("{name} is damaged from byte {offset} on: about {lost} reports in it are lost"));
        }
        let offset = scanned.hurt_end.unwrap_or(scanned.good_end);
        self.is_cut(file, scanned).then(|| match self.end_of(file) {
            u64::MAX => format!("{name} is damaged from byte {offset} on"),
            end => format!("{name} is damaged from byte {offset} on, and was acknowledged up to byte {end}"),
        })
    }

    /// Acknowledged reports that are not there, when so many are.
    pub(super) fn missing(&self, records: u64) -> u64 {
        self.state().map_or(0, |state| state.records.saturating_sub(records))
    }

    /// Adds what all segments together have lost: `records` were found, and these are the numbers of the segments.
    pub(super) fn count_losses(&self, records: u64, segments: &[u64], folder: &Path, damage: &mut Damage) {
        damage.places.extend(self.problem());
        let Some(state) = self.state() else { return };
        if state.length > 0 && !segments.contains(&state.segment) {
            let path = open_path(folder, state.segment);
            let name = path.file_name().unwrap_or_default().display();
            damage.places.push(format!("{name} is gone, and was acknowledged up to byte {}", state.length));
        }
        let missing = self.missing(records);
        if missing > 0 {
            damage.places.push(format!("{missing} of {} acknowledged reports are lost", state.records));
        }
        damage.passed_over = damage.passed_over.max(missing);
    }
}
