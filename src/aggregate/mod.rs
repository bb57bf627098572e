//! Sums of reports. The state is integers, so any order, any grouping and any machine give the same bytes.

mod accumulator;
mod seen;

pub use accumulator::Accumulator;
#[doc(hidden)]
pub use seen::SeenIds;

use core::convert::Infallible;
use core::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use crate::mechanism::{Estimator, triangle};
use crate::parallel;
use crate::report::{Report, ReportId};
use crate::task::{Task, TaskDigest};

/// The summed reports of one task: per fold their number and the upper triangle of the summed matrix.
///
/// `accumulate` and `merge` are commutative and associative. An aggregate does not remember ids: the caller keeps
/// duplicates out ([`SeenIds`]).
///
/// ```
/// # use ldp_pca::{Aggregate, Bounding, Epsilon, Folds, MechanismSpec, Schema, Task};
/// # let mechanism = MechanismSpec::DoubleCap { epsilon: Epsilon::new(2.0)?, candidates: 64, cap: 8 };
/// # let task = Task::new(Schema::numeric(2)?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
/// let record = task.bound(vec![3.0, 4.0])?;
/// let (first, second) = (task.randomize(&record)?, task.randomize(&record)?);
/// let mut all = Aggregate::empty(&task);
/// all.accumulate(&task, &[first.clone(), second.clone()])?;
///
/// let (mut here, mut there) = (Aggregate::empty(&task), Aggregate::empty(&task));
/// here.accumulate(&task, &[second])?;
/// there.accumulate(&task, &[first])?;
/// here.merge(&there)?;
/// assert_eq!(here, all);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    task: TaskDigest,
    folds: Vec<FoldSum>,
}

/// The sum of the reports of one fold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct FoldSum {
    records: u64,
    sums: Vec<i64>,
}

/// The most reports an aggregate can hold, in all folds together. No sum of that many leaves an `i64`, in one fold or
/// in all.
#[doc(hidden)]
pub const MAX_RECORDS: u64 = 1 << 40;

impl FoldSum {
    /// The number of reports.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The upper triangle of the summed matrix, row by row.
    #[must_use]
    pub fn sums(&self) -> &[i64] {
        &self.sums
    }

    /// Adds another fold of the same shape. [`MAX_RECORDS`] keeps the sums of both far from the ends of an `i64`.
    pub(crate) fn add(&mut self, other: &Self) {
        self.records += other.records;
        self.sums.iter_mut().zip(&other.sums).for_each(|(ours, theirs)| *ours += *theirs);
    }

    /// Whether that many reports can have this sum, if each adds at most `largest` to an entry.
    fn is_possible(&self, largest: u32) -> bool {
        let most = self.records.checked_mul(largest.into());
        most.is_some_and(|most| self.sums.iter().all(|sum| sum.unsigned_abs() <= most))
    }
}

impl Aggregate {
    /// No reports yet.
    #[must_use]
    pub fn empty(task: &Task) -> Self {
        let fold = FoldSum { records: 0, sums: vec![0; triangle(task.mechanism().state_dimension())] };
        Self { task: task.digest(), folds: vec![fold; task.folds().count()] }
    }

    /// Adds reports. Many at a time are much faster than one at a time and give the same state. [`Accumulator`] takes
    /// them one by one.
    ///
    /// # Errors
    /// [`AggregateError`] when the task or a report is not this aggregate's, or there are too many reports. Then
    /// nothing was added.
    pub fn accumulate(&mut self, task: &Task, reports: &[Report]) -> Result<(), AggregateError> {
        self.accumulate_with_threads(task, reports, NonZeroUsize::MIN)
    }

    /// [`accumulate`](Self::accumulate) on up to `threads` threads: the same state, sooner. For a small state each
    /// thread has its own sums; a large one is held once, and the threads share its rows. WebAssembly always uses one
    /// thread.
    ///
    /// # Errors
    /// As [`accumulate`](Self::accumulate).
    pub fn accumulate_with_threads(
        &mut self,
        task: &Task,
        reports: &[Report],
        threads: NonZeroUsize,
    ) -> Result<(), AggregateError> {
        self.accumulate_shared(task, reports, threads, Sharing::USUAL)
    }

    fn accumulate_shared(
        &mut self,
        task: &Task,
        reports: &[Report],
        threads: NonZeroUsize,
        sharing: Sharing,
    ) -> Result<(), AggregateError> {
        self.check_task(task.digest())?;
        self.check_reports(reports)?;
        self.check_records(reports.len() as u64)?;
        let entries = self.folds[0].sums.len();
        let threads = if reports.len() * entries < sharing.worth_a_thread { NonZeroUsize::MIN } else { threads };
        if threads == NonZeroUsize::MIN || entries * self.folds.len() > sharing.copied_entries {
            self.add(task, reports, threads);
            return Ok(());
        }
        // More parts than threads, so that a delayed thread leaves its share to the others.
        let parts = reports.chunks(reports.len().div_ceil(4 * threads.get()).max(sharing.worth_a_thread / entries));
        let total = Mutex::new(self);
        parallel::for_each_with(
            parts,
            threads,
            || Self::empty(task),
            |sum, part: &[Report]| sum.add(task, part, NonZeroUsize::MIN),
            // Nothing in here panics, and integers that were added stay added.
            |sum| total.lock().unwrap_or_else(PoisonError::into_inner).add_folds(&sum),
        );
        Ok(())
    }

    /// Adds checked reports.
    fn add(&mut self, task: &Task, reports: &[Report], threads: NonZeroUsize) {
        let count = self.folds.len();
        let mut payloads: Vec<Vec<(ReportId, &[u8])>> =
            (0..count).map(|_| Vec::with_capacity(reports.len().div_ceil(count))).collect();
        for report in reports {
            payloads[fold_of(report.id(), count)].push((report.id(), report.payload()));
        }
        for (fold, payloads) in self.folds.iter_mut().zip(payloads) {
            fold.records += payloads.len() as u64;
            task.mechanism().accumulate_with_threads(&self.task.key(), &payloads, &mut fold.sums, threads);
        }
    }

    fn add_folds(&mut self, other: &Self) {
        for (ours, theirs) in self.folds.iter_mut().zip(&other.folds) {
            ours.add(theirs);
        }
    }

    /// Adds the sums of another aggregate of the same task (of other reports).
    ///
    /// # Errors
    /// [`AggregateError`] when it belongs to another task or there are too many reports. Then nothing was added.
    pub fn merge(&mut self, other: &Self) -> Result<(), AggregateError> {
        self.check_task(other.task)?;
        self.check_records(other.records())?;
        self.add_folds(other);
        Ok(())
    }

    /// The digest of the task whose reports are summed.
    #[must_use]
    pub fn task(&self) -> TaskDigest {
        self.task
    }

    /// The number of reports in all folds.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.folds.iter().map(|fold| fold.records).sum()
    }

    /// The sums per fold.
    #[must_use]
    #[doc(hidden)]
    pub fn folds(&self) -> &[FoldSum] {
        &self.folds
    }

    fn check_records(&self, more: u64) -> Result<(), AggregateError> {
        let records = self.records().saturating_add(more);
        if records <= MAX_RECORDS { Ok(()) } else { Err(AggregateError::TooMany(records)) }
    }

    fn check_reports(&self, reports: &[Report]) -> Result<(), AggregateError> {
        match reports.iter().find(|report| report.task_prefix() != self.task.prefix()) {
            Some(report) => Err(AggregateError::OtherReport(report.id())),
            None => Ok(()),
        }
    }

    fn check_task(&self, found: TaskDigest) -> Result<(), AggregateError> {
        if found == self.task { Ok(()) } else { Err(AggregateError::OtherTask { expected: self.task, found }) }
    }
}

/// When threads share the work, and how.
#[derive(Clone, Copy, Debug)]
struct Sharing {
    /// Reports × entries that take much longer than starting a thread.
    worth_a_thread: usize,
    /// Entries of a state that each thread may hold on its own: adding them up is cheap compared with the reports.
    copied_entries: usize,
}

impl Sharing {
    const USUAL: Self = Self { worth_a_thread: 1 << 21, copied_entries: 1 << 18 };
}

/// The fold a report belongs to, a function of its id alone.
fn fold_of(id: ReportId, folds: usize) -> usize {
    if folds == 1 { 0 } else { crc32fast::hash(id.as_bytes()) as usize % folds }
}

const MAGIC: [u8; 4] = *b"LDPA";
const VERSION: u8 = 1;
const HEADER: usize = 4 + 1 + 32;
const CHECKSUM: usize = 4;

/// Sums that are turned into bytes together.
const WORDS_AT_ONCE: usize = 2048;

/// The state's bytes: the same for the same reports, however they were summed.
///
/// ```text
/// offset  bytes  what
///      0      4  "LDPA"
///      4      1  version, 1
///      5     32  task digest
///     37         per fold: number of reports (u64), then the upper triangle row by row (i64 each)
///    end      4  CRC-32 (IEEE) of all bytes before it
/// ```
///
/// All integers are little-endian.
impl Aggregate {
    /// The bytes of the state.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let entries: usize = self.folds.iter().map(|fold| 1 + fold.sums.len()).sum();
        let mut bytes = Vec::with_capacity(HEADER + 8 * entries + CHECKSUM);
        let Ok(()) = self.visit_bytes(|part| {
            bytes.extend_from_slice(part);
            Ok::<(), Infallible>(())
        });
        bytes
    }

    /// Passes the bytes of the state to `visit` in parts of a few kilobytes, for callers without room for all of them
    /// beside the state.
    ///
    /// # Errors
    /// The first error of `visit`; nothing is passed after it.
    #[doc(hidden)]
    pub fn visit_bytes<E>(&self, mut visit: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut checksum = crc32fast::Hasher::new();
        let mut visit_content = |part: &[u8]| {
            checksum.update(part);
            visit(part)
        };
        visit_content(&MAGIC)?;
        visit_content(&[VERSION])?;
        visit_content(self.task.as_bytes())?;
        let mut bytes = Vec::with_capacity(8 * WORDS_AT_ONCE);
        for fold in &self.folds {
            visit_content(&fold.records.to_le_bytes())?;
            for sums in fold.sums.chunks(WORDS_AT_ONCE) {
                bytes.clear();
                bytes.extend(sums.iter().flat_map(|sum| sum.to_le_bytes()));
                visit_content(&bytes)?;
            }
        }
        visit(&checksum.finalize().to_le_bytes())
    }

    /// Reads the state of an aggregate of `task`.
    ///
    /// # Errors
    /// [`AggregateError`] for anything else. The length is checked before anything is allocated.
    pub fn from_bytes(bytes: &[u8], task: &Task) -> Result<Self, AggregateError> {
        let entries = 1 + triangle(task.mechanism().state_dimension());
        let expected = HEADER + 8 * entries * task.folds().count() + CHECKSUM;
        if bytes.len() < HEADER {
            return Err(AggregateError::Length { expected, found: bytes.len() });
        }
        if bytes[..4] != MAGIC {
            return Err(AggregateError::Magic);
        }
        if bytes[4] != VERSION {
            return Err(AggregateError::Version(bytes[4]));
        }
        let mut digest = [0; 32];
        digest.copy_from_slice(&bytes[5..HEADER]);
        if digest != *task.digest().as_bytes() {
            return Err(AggregateError::OtherTask { expected: task.digest(), found: TaskDigest::new(digest) });
        }
        if bytes.len() != expected {
            return Err(AggregateError::Length { expected, found: bytes.len() });
        }
        let (content, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        if crc32fast::hash(content).to_le_bytes() != checksum {
            return Err(AggregateError::Checksum);
        }
        let mut words = content[HEADER..].chunks_exact(8).map(|chunk| {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            word
        });
        let folds = (0..task.folds().count())
            .map(|_| FoldSum {
                records: words.next().map_or(0, u64::from_le_bytes),
                sums: words.by_ref().take(entries - 1).map(i64::from_le_bytes).collect(),
            })
            .collect::<Vec<FoldSum>>();
        let records = folds.iter().try_fold(0u64, |records, fold| records.checked_add(fold.records));
        let largest = task.mechanism().largest_entry();
        if records.is_none_or(|records| records > MAX_RECORDS) || !folds.iter().all(|fold| fold.is_possible(largest)) {
            return Err(AggregateError::NotASum);
        }
        Ok(Self { task: task.digest(), folds })
    }
}

/// Why reports or states cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AggregateError {
    /// A state or a task that is not this aggregate's.
    #[error("the aggregate belongs to task {found}, not {expected}: aggregate each task on its own")]
    OtherTask {
        /// The task at hand.
        expected: TaskDigest,
        /// The task found.
        found: TaskDigest,
    },
    /// A report that answers another task.
    #[error("report {0} answers another task: aggregate each task on its own")]
    OtherReport(ReportId),
    /// More reports than an aggregate can hold.
    #[error("{0} reports are more than the {MAX_RECORDS} an aggregate can hold: aggregate fewer")]
    TooMany(u64),
    /// Sums that no reports can have.
    #[error("the aggregate is not a sum of as many reports as it says: it was made up; make it again from the reports")]
    NotASum,
    /// The first bytes are not those of a state.
    #[error("not an aggregate: the first four bytes are not \"LDPA\"")]
    Magic,
    /// Another version of the format.
    #[error("the aggregate has version {0}, and this software reads version {VERSION}: use a release that knows it")]
    Version(u8),
    /// Too short or too long.
    #[error(
        "the aggregate has {found} bytes where this task's has {expected}: the file was cut or is not an aggregate"
    )]
    Length {
        /// The length of the task's aggregates.
        expected: usize,
        /// The length of this one.
        found: usize,
    },
    /// Altered.
    #[error("the aggregate's checksum does not match: the file was altered; make it again from the reports")]
    Checksum,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{Calibration, MechanismSpec};
    use crate::privacy::{Delta, Epsilon};
    use crate::record::{Bounding, Radius};
    use crate::schema::Schema;
    use crate::task::Folds;
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    fn tasks() -> Vec<Task> {
        let epsilon = Epsilon::new(2.0).unwrap();
        let clip = Bounding::Clip { radius: Radius::new(2.0).unwrap() };
        let double_cap = MechanismSpec::DoubleCap { epsilon, candidates: 16, cap: 2 };
        let gaussian =
            MechanismSpec::Gaussian { epsilon, delta: Delta::new(1e-6).unwrap(), calibration: Calibration::Analytic };
        [(double_cap, Bounding::UnitNorm, 1), (double_cap, clip, 3), (gaussian, clip, 5)]
            .into_iter()
            .map(|(mechanism, bounding, folds)| {
                Task::new(Schema::numeric(4).unwrap(), bounding, mechanism, Folds::new(folds).unwrap()).unwrap()
            })
            .collect()
    }

    fn reports(task: &Task, count: usize) -> Vec<Report> {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let record = task.bound(vec![0.3, -0.2, 0.0, 0.9]).unwrap();
        (0..count).map(|_| task.randomize_with_rng(&record, &mut rng).unwrap()).collect()
    }

    #[test]
    fn any_order_and_grouping_gives_the_same_bytes() {
        for task in tasks() {
            let mut reports = reports(&task, 700);
            let mut whole = Aggregate::empty(&task);
            whole.accumulate(&task, &reports).unwrap();
            assert_eq!(whole.records(), 700);
            reports.reverse();
            let mut merged = Aggregate::empty(&task);
            for part in reports.chunks(97).rev() {
                let mut partial = Aggregate::empty(&task);
                for report in part {
                    partial.accumulate(&task, std::slice::from_ref(report)).unwrap();
                }
                merged.merge(&partial).unwrap();
            }
            assert_eq!(merged.to_bytes(), whole.to_bytes());
            assert_eq!(Aggregate::from_bytes(&whole.to_bytes(), &task).unwrap(), whole);
        }
    }

    /// Each with copies of the state and with rows of one that are shared out, in parts of every size.
    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let shared = |worth_a_thread, copied_entries| Sharing { worth_a_thread, copied_entries };
        for task in tasks() {
            let all = reports(&task, 700);
            for count in [0, 1, 2, 7, 97, 700] {
                let mut alone = Aggregate::empty(&task);
                alone.accumulate(&task, &all[..count]).unwrap();
                assert_eq!(alone.records(), count as u64);
                for sharing in [shared(1, usize::MAX), shared(300, usize::MAX), shared(1, 0), Sharing::USUAL] {
                    for threads in [2, 3, 64] {
                        let threads = NonZeroUsize::new(threads).unwrap();
                        let mut together = Aggregate::empty(&task);
                        together.accumulate_shared(&task, &all[..count], threads, sharing).unwrap();
                        assert_eq!(together, alone, "{count} reports, {threads} threads, {sharing:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_parts_of_the_bytes_stop_at_an_error() {
        let aggregate = Aggregate::empty(&tasks()[0]);
        let mut parts = 0;
        let outcome = aggregate.visit_bytes(|_| {
            parts += 1;
            if parts == 3 { Err("full") } else { Ok(()) }
        });
        assert_eq!((outcome, parts), (Err("full"), 3));
    }

    #[test]
    fn what_is_not_a_state_of_the_task_is_refused_by_name() {
        let tasks = tasks();
        let [expected, found] = [tasks[0].digest(), tasks[1].digest()];
        let mut aggregate = Aggregate::empty(&tasks[0]);
        assert_eq!(aggregate.accumulate(&tasks[1], &[]), Err(AggregateError::OtherTask { expected, found }));
        assert_eq!(aggregate.merge(&Aggregate::empty(&tasks[1])), Err(AggregateError::OtherTask { expected, found }));
        // The one report of another task is named, and the good ones beside it are not added.
        let (mut mixed, foreign) = (reports(&tasks[0], 3), reports(&tasks[1], 4).pop().unwrap());
        mixed.insert(2, foreign.clone());
        for threads in [1, 2] {
            let outcome = aggregate.accumulate_with_threads(&tasks[0], &mixed, NonZeroUsize::new(threads).unwrap());
            assert_eq!(outcome, Err(AggregateError::OtherReport(foreign.id())));
        }
        assert_eq!(aggregate, Aggregate::empty(&tasks[0]));

        let bytes = aggregate.to_bytes();
        let found = tasks[0].digest();
        let read = |bytes: &[u8]| Aggregate::from_bytes(bytes, &tasks[0]).unwrap_err();
        assert_eq!(
            Aggregate::from_bytes(&bytes, &tasks[1]),
            Err(AggregateError::OtherTask { expected: tasks[1].digest(), found })
        );
        for length in 0..bytes.len() {
            let error = AggregateError::Length { expected: bytes.len(), found: length };
            assert_eq!(read(&bytes[..length]), error, "{length}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(read(&longer), AggregateError::Length { expected: bytes.len(), found: bytes.len() + 1 });
        // A header and nothing else, of something else.
        assert_eq!(read(&[b'x'; HEADER]), AggregateError::Magic);
        assert_eq!(read(&[b'x'; HEADER - 1]), AggregateError::Length { expected: bytes.len(), found: HEADER - 1 });
        for byte in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[byte] ^= 0x10;
            let error = match byte {
                0..4 => AggregateError::Magic,
                4 => AggregateError::Version(0x11),
                5..37 => {
                    let mut digest = *expected.as_bytes();
                    digest[byte - 5] ^= 0x10;
                    AggregateError::OtherTask { expected, found: TaskDigest::new(digest) }
                }
                _ => AggregateError::Checksum,
            };
            assert_eq!(read(&altered), error, "{byte}");
        }
    }

    #[test]
    fn the_bytes_are_laid_out_as_documented_and_come_in_parts_of_a_few_kilobytes() {
        // 2485 sums, more than are passed together.
        let mechanism = MechanismSpec::DoubleCap { epsilon: Epsilon::new(2.0).unwrap(), candidates: 16, cap: 2 };
        let task = Task::new(Schema::numeric(70).unwrap(), Bounding::UnitNorm, mechanism, Folds::new(3).unwrap());
        let task = task.unwrap();
        let mut aggregate = Aggregate::empty(&task);
        let mut expected = [&b"LDPA\x01"[..], task.digest().as_bytes()].concat();
        for (fold, index) in aggregate.folds.iter_mut().zip(0i64..) {
            fold.records = 1000 + index.unsigned_abs();
            expected.extend(fold.records.to_le_bytes());
            assert_eq!(fold.sums.len(), 2485);
            for (sum, place) in fold.sums.iter_mut().zip(0..) {
                *sum = place - 1000 * index;
                expected.extend(sum.to_le_bytes());
            }
        }
        expected.extend(crc32fast::hash(&expected).to_le_bytes());
        assert_eq!(aggregate.to_bytes(), expected);
        let (mut visited, mut longest) = (Vec::new(), 0);
        let Ok(()) = aggregate.visit_bytes(|part| {
            visited.extend_from_slice(part);
            longest = longest.max(part.len());
            Ok::<(), Infallible>(())
        });
        assert_eq!((visited, longest), (expected, 8 * WORDS_AT_ONCE));
        assert_eq!(Aggregate::from_bytes(&aggregate.to_bytes(), &task), Ok(aggregate));
    }

    /// CRC-32 of sixteen equal bytes, from another implementation.
    #[test]
    fn the_fold_of_a_report_is_the_remainder_of_its_ids_checksum() {
        for (byte, checksum) in [(0, 0xecbb_4b55), (1, 0x52a0_28b7), (3, 0xf5e7_e932), (5, 0xc75e_adfc_u32)] {
            let id = ReportId::new([byte; 16]);
            for folds in [1, 2, 3, 5, 64] {
                assert_eq!(fold_of(id, folds), checksum as usize % folds, "{byte} {folds}");
            }
        }
        let task = &tasks()[1];
        let reports = reports(task, 50);
        let mut aggregate = Aggregate::empty(task);
        aggregate.accumulate(task, &reports).unwrap();
        for (index, fold) in aggregate.folds().iter().enumerate() {
            let own: Vec<Report> = reports.iter().filter(|report| fold_of(report.id(), 3) == index).cloned().collect();
            let mut alone = Aggregate::empty(task);
            alone.accumulate(task, &own).unwrap();
            assert_eq!((fold.records(), fold), (own.len() as u64, &alone.folds()[index]));
        }
    }

    #[test]
    fn a_merge_beyond_the_limit_adds_nothing() {
        let task = &tasks()[0];
        let mut full = Aggregate::empty(task);
        full.folds[0].records = MAX_RECORDS;
        let before = full.clone();
        assert!(full.merge(&Aggregate::empty(task)).is_ok());
        assert_eq!(full.merge(&before), Err(AggregateError::TooMany(2 * MAX_RECORDS)));
        assert_eq!(full.accumulate(task, &reports(task, 1)), Err(AggregateError::TooMany(MAX_RECORDS + 1)));
        assert_eq!(full, before);
    }

    #[test]
    fn as_many_reports_as_fit_are_taken_and_not_one_more() {
        let task = &tasks()[1];
        let two = reports(task, 2);
        let mut of_two = Aggregate::empty(task);
        of_two.accumulate(task, &two).unwrap();
        let with = |records: [u64; 3]| {
            let mut aggregate = Aggregate::empty(task);
            aggregate.folds.iter_mut().zip(records).for_each(|(fold, records)| fold.records = records);
            aggregate
        };
        for (records, fits) in [([MAX_RECORDS - 2, 0, 0], true), ([0, 1, MAX_RECORDS - 2], false)] {
            let before = with(records);
            let expected = if fits { Ok(()) } else { Err(AggregateError::TooMany(MAX_RECORDS + 1)) };
            let (mut added, mut merged) = (before.clone(), before.clone());
            assert_eq!((added.accumulate(task, &two), merged.merge(&of_two)), (expected.clone(), expected));
            assert_eq!(added, merged);
            assert_eq!(added.records(), if fits { MAX_RECORDS } else { MAX_RECORDS - 1 });
            assert_eq!(added == before, !fits);
        }
        let read = |records| Aggregate::from_bytes(&with(records).to_bytes(), task).map(|read| read.records());
        assert_eq!(read([MAX_RECORDS - 3, 1, 2]), Ok(MAX_RECORDS));
        assert_eq!(read([MAX_RECORDS - 3, 2, 2]), Err(AggregateError::NotASum));
        assert_eq!(read([u64::MAX - 1, 1, 1]), Err(AggregateError::NotASum), "it is 1 in 64 bits");
    }

    /// The most reports, each with the largest entries there are, in one fold or shared by several.
    #[test]
    fn no_sum_of_the_most_reports_leaves_its_integers() {
        use crate::covariance::Covariance;
        let dense = |epsilon, delta| MechanismSpec::Gaussian {
            epsilon: Epsilon::new(epsilon).unwrap(),
            delta: Delta::new(delta).unwrap(),
            calibration: Calibration::Analytic,
        };
        let wide = [dense(0.001, 1e-6), dense(8.0, 0.1)].map(|mechanism| {
            Task::new(Schema::numeric(3).unwrap(), Bounding::UnitNorm, mechanism, Folds::new(2).unwrap()).unwrap()
        });
        for task in tasks().into_iter().chain(wide) {
            let largest = i64::from(task.mechanism().largest_entry());
            for sign in [1, -1] {
                let full = |shares: &[u64]| {
                    let mut aggregate = Aggregate::empty(&task);
                    for (fold, &records) in aggregate.folds.iter_mut().zip(shares) {
                        let sum = records.cast_signed().checked_mul(sign * largest).unwrap();
                        *fold = FoldSum { records, sums: vec![sum; fold.sums.len()] };
                    }
                    let read = Aggregate::from_bytes(&aggregate.to_bytes(), &task);
                    assert_eq!(read.as_ref(), Ok(&aggregate));
                    let mut merged = Aggregate::empty(&task);
                    merged.merge(&aggregate).unwrap();
                    assert_eq!(merged, aggregate);
                    Covariance::estimate(&aggregate, &task).unwrap()
                };
                let whole = full(&[MAX_RECORDS]);
                assert!(whole.matrix().iter().all(|entry| entry.is_finite()));
                if task.folds().count() > 1 {
                    assert_eq!(full(&[MAX_RECORDS - 1, 1]), whole);
                    assert_eq!(full(&[MAX_RECORDS / 2; 2]), whole);
                }
            }
        }
    }

    /// A checksum is not a signature: the writer of a file also writes its checksum.
    #[test]
    fn sums_that_no_reports_can_have_are_refused() {
        for task in tasks() {
            let largest = i64::from(task.mechanism().largest_entry());
            let read = |records: [u64; 2], sum| {
                let mut forged = Aggregate::empty(&task);
                let folds = forged.folds.len();
                forged.folds[folds - 1].records = records[1];
                forged.folds[0].records = records[0];
                forged.folds[0].sums[1] = sum;
                Aggregate::from_bytes(&forged.to_bytes(), &task).map(|aggregate| aggregate.records())
            };
            for (records, sum) in [(0, 1), (0, i64::MIN), (3, 3 * largest + 1), (3, -3 * largest - 1), (5, i64::MAX)] {
                assert_eq!(read([records, records], sum), Err(AggregateError::NotASum), "{records} {sum}");
            }
            for records in [[MAX_RECORDS + 1; 2], [u64::MAX; 2]] {
                assert_eq!(read(records, 0), Err(AggregateError::NotASum), "{records:?}");
            }
            assert!(read([3, 3], 3 * largest).is_ok());
            assert!(read([3, 3], -3 * largest).is_ok());
        }
    }
}
