//! The file `acknowledged` beside a task's segments: how far its reports were acknowledged.
//!
//! The writer updates it after each sync of a segment and before it answers anybody. So everything below the mark was
//! on disk, and a report that is missing there was lost, wherever the segment's file ends. What is above the mark was
//! at most durable: it was not acknowledged, unless a power cut lost the newest mark.

use std::path::Path;

use super::disk::Disk;
use super::scan::Scanned;
use super::segment::{Segment, SegmentFile, open_path};
use super::slots::{Found, Slots};
use crate::store::{At, Damage, StoreError};
use ldp_pca::task::TaskDigest;

/// The name of the file.
const NAME: &str = "acknowledged";

/// The acknowledged state.
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
        Self { segment: segment.number, length: segment.length, records }
    }

    /// The file's content.
    pub(super) fn numbers(self) -> [u64; 3] {
        [self.segment, self.length, self.records]
    }
}

/// The file, open for writing. A write may fail: then its mark is lower.
pub(super) type AcknowledgedFile = Slots<3>;

/// Creates the file of a task, replacing an existing one.
pub(super) fn create(
    disk: &dyn Disk,
    folder: &Path,
    task: TaskDigest,
    state: Acknowledged,
) -> Result<AcknowledgedFile, StoreError> {
    Slots::create(disk, folder, NAME, task.as_bytes(), state.numbers()).at("write", &folder.join(NAME))
}

/// The acknowledged state that a folder's files show.
pub(super) struct Told {
    task: TaskDigest,
    found: Option<Found<3>>,
    /// Whether a task of this folder must have the file.
    expected: bool,
}

impl Told {
    /// Reads the file of a task.
    pub(super) fn read(disk: &dyn Disk, folder: &Path, task: TaskDigest, expected: bool) -> Result<Self, StoreError> {
        let found = Found::read(disk, &folder.join(NAME), task.as_bytes()).at("read", &folder.join(NAME))?;
        Ok(Self { task, found, expected })
    }

    /// Continues with the file, with this as its mark from now on.
    pub(super) fn resume(
        &self,
        disk: &dyn Disk,
        folder: &Path,
        state: Acknowledged,
    ) -> Result<AcknowledgedFile, StoreError> {
        Slots::resume(disk, folder, NAME, self.task.as_bytes(), self.found, state.numbers())
            .at("write", &folder.join(NAME))
    }

    pub(super) fn state(&self) -> Option<Acknowledged> {
        let [segment, length, records] = self.found?.numbers?;
        Some(Acknowledged { segment, length, records })
    }

    /// Whether a slot cannot be read, as after a power cut.
    pub(super) fn is_torn(&self) -> bool {
        self.found.is_some_and(|found| !found.whole && found.numbers.is_some())
    }

    /// The problem of the file itself.
    pub(super) fn problem(&self) -> Option<String> {
        let problem = match self.found {
            None if self.expected => "is missing",
            Some(found) if found.numbers.is_none() => "cannot be read",
            _ => return None,
        };
        Some(format!("{NAME} {problem}: it is not known whether the newest reports are there"))
    }

    /// The place up to which everything in a segment was once whole.
    pub(super) fn end_of(&self, file: SegmentFile) -> u64 {
        match (file, self.state()) {
            (SegmentFile::Sealed(_), _) => u64::MAX,
            // The next one was started when it was full.
            (SegmentFile::Open(number), Some(state)) if number < state.segment => u64::MAX,
            (SegmentFile::Open(number), Some(state)) if number == state.segment => state.length,
            _ => 0,
        }
    }

    /// Whether acknowledged data are missing after a segment's last good page.
    pub(super) fn is_cut(&self, file: SegmentFile, scanned: &Scanned) -> bool {
        match (file, self.end_of(file)) {
            (SegmentFile::Sealed(_), _) => scanned.footer.is_none(),
            // Half a footer may be there: it was being sealed.
            (_, u64::MAX) => scanned.stranded > 0,
            (_, end) => scanned.good_end < end,
        }
    }

    /// The damage of a segment, with its place.
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

    /// The number of acknowledged reports that are missing, when this many are there.
    pub(super) fn missing(&self, records: u64) -> u64 {
        self.state().map_or(0, |state| state.records.saturating_sub(records))
    }

    /// Adds the losses of all segments together: `records` were found, and these are the numbers of the segments.
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

#[cfg(test)]
mod tests {
    use super::super::maintenance::tests::compact;
    use super::super::parquet::Footer;
    use super::super::tests::simulated::Machine;
    use std::io;

    use super::*;

    const FOLDER: &str = "/data";

    /// Nine reports, up to byte 100 of segment 2.
    const STATE: Acknowledged = Acknowledged { segment: 2, length: 100, records: 9 };

    fn created(seed: u64, state: Acknowledged) -> (Machine, AcknowledgedFile) {
        let machine = Machine::new(seed);
        machine.make_folder(Path::new(FOLDER)).unwrap();
        let file = create(&machine, Path::new(FOLDER), compact().digest(), state).unwrap();
        (machine, file)
    }

    fn told(machine: &Machine) -> Told {
        Told::read(machine, Path::new(FOLDER), compact().digest(), true).unwrap()
    }

    fn no_file(expected: bool) -> Told {
        Told { task: compact().digest(), found: None, expected }
    }

    #[test]
    fn what_was_noted_is_told_of_and_after_a_sync_a_power_cut_too() {
        for seed in 0..20 {
            let (machine, mut file) = created(seed, Acknowledged::default());
            assert_eq!(told(&machine).state(), Some(Acknowledged::default()));
            file.put(STATE.numbers()).unwrap();
            assert_eq!(told(&machine).state(), Some(STATE));
            file.sync().unwrap();
            machine.restart();
            let told = told(&machine);
            assert_eq!((told.state(), told.problem(), told.is_torn()), (Some(STATE), None, false));
        }
    }

    #[test]
    fn a_missing_or_unreadable_file_is_a_problem_and_half_a_file_is_not() {
        assert_eq!(no_file(false).problem(), None);
        assert!(no_file(true).problem().unwrap().contains("is missing"));
        assert!(!no_file(true).is_torn());
        let (machine, _) = created(1, STATE);
        let mut file = machine.open(&Path::new(FOLDER).join(NAME)).unwrap();
        file.write_at(&mut [io::IoSlice::new(&[7; 8])], 0).unwrap();
        let torn = told(&machine);
        assert_eq!((torn.state(), torn.problem(), torn.is_torn()), (Some(STATE), None, true));
        file.write_at(&mut [io::IoSlice::new(&[7; 8])], 512).unwrap();
        let bad = told(&machine);
        assert!(bad.problem().unwrap().contains("cannot be read"));
        assert_eq!((bad.state(), bad.is_torn()), (None, false));
    }

    #[test]
    fn a_segment_was_whole_up_to_what_was_acknowledged_of_it() {
        let (machine, _) = created(1, STATE);
        let told = told(&machine);
        for (file, end) in [
            (SegmentFile::Open(1), u64::MAX),
            (SegmentFile::Open(2), 100),
            (SegmentFile::Open(3), 0),
            (SegmentFile::Sealed(1), u64::MAX),
            (SegmentFile::Sealed(3), u64::MAX),
        ] {
            assert_eq!(told.end_of(file), end, "{file:?}");
        }
        assert_eq!(no_file(false).end_of(SegmentFile::Open(0)), 0);
        assert_eq!(no_file(false).end_of(SegmentFile::Sealed(0)), u64::MAX);
    }

    #[test]
    fn what_is_cut_is_what_was_acknowledged_and_is_not_there() {
        let (machine, _) = created(1, STATE);
        let told = told(&machine);
        let (notes, writer) = (Vec::new(), String::new());
        let footer = Some(Footer { reports: 0, report_bytes: 35, page_bytes: 0, notes, writer });
        let ends = |good_end| Scanned { good_end, ..Scanned::default() };
        for (file, scanned, cut) in [
            (SegmentFile::Sealed(1), ends(100), true),
            (SegmentFile::Sealed(1), Scanned { footer, ..ends(100) }, false),
            (SegmentFile::Open(1), Scanned { stranded: 1, ..ends(100) }, true),
            (SegmentFile::Open(1), ends(4), false),
            (SegmentFile::Open(2), ends(99), true),
            (SegmentFile::Open(2), ends(100), false),
            (SegmentFile::Open(2), ends(101), false),
            (SegmentFile::Open(3), ends(4), false),
        ] {
            assert_eq!(told.is_cut(file, &scanned), cut, "{file:?}");
            assert_eq!(told.damage_in(file, Path::new("name"), &scanned).is_some(), cut, "{file:?}");
        }
    }

    #[test]
    fn losses_are_counted_against_what_was_acknowledged() {
        let lost = |state: Acknowledged, records: u64, segments: &[u64]| {
            let mut damage = Damage { passed_over: 1, ..Damage::default() };
            told(&created(1, state).0).count_losses(records, segments, Path::new(FOLDER), &mut damage);
            (damage.passed_over, damage.places)
        };
        let none = Vec::<String>::new();
        assert_eq!(lost(STATE, 9, &[1, 2]), (1, none.clone()));
        assert_eq!(lost(STATE, 10, &[2]), (1, none.clone()));
        let missing = |count| format!("{count} of 9 acknowledged reports are lost");
        assert_eq!(lost(STATE, 8, &[2]), (1, vec![missing(1)]));
        assert_eq!(lost(STATE, 5, &[2]), (4, vec![missing(4)]));
        let gone = "00000002.open is gone, and was acknowledged up to byte 100".to_owned();
        assert_eq!(lost(STATE, 7, &[1]), (2, vec![gone, missing(2)]));
        // Nothing was written to it yet.
        assert_eq!(lost(Acknowledged { length: 0, ..STATE }, 9, &[1]), (1, none));
    }
}
