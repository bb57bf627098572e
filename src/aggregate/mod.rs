//! Sums of reports. The state is integers, so any order, any grouping and any machine give the same bytes.

mod accumulator;
mod codec;
mod error;
pub(crate) mod fold;
pub(crate) mod seen;
mod sketch;

pub use accumulator::Accumulator;
pub use error::AggregateError;
pub(crate) use fold::{FoldSum, MAX_RECORDS};

use core::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use crate::mechanism::Summable;
use crate::parallel;
use crate::report::{Report, ReportId};
use crate::task::{Task, TaskDigest};
use sketch::{Repeats, Sketch, Tag};

/// The summed reports of one task: for each fold their number and their sums, and a sample of their ids. What the sums
/// are the mechanism says: the upper triangle of a matrix where they are second moments, else a vector or counts.
///
/// `accumulate` and `merge` are commutative and associative where nothing is refused.
///
/// Each report must be added once. An aggregate has a sample of the ids in it, up to 1,024, and refuses reports and
/// sums that it recognizes: with certainty while it has 1,024 reports at most, and a sum of the same reports; a sum
/// that shares some of them with a probability that depends on their share (see docs/reference/wire-format.md). The
/// caller keeps single duplicates out, by a set of ids, and compares many sums one by one.
///
/// [`SeenIds`]: seen::SeenIds
/// [`SeenSums`]: seen::SeenSums
///
/// ```
/// # use ldp_pca::{Aggregate, Bounding, Epsilon, Folds, MechanismSpec, Schema, Task};
/// # let mechanism = MechanismSpec::DoubleCap { epsilon: Epsilon::new(2.0)?, candidates: 64, cap: 8 };
/// # let task = Task::new(Schema::numeric(2)?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
/// let record = task.bound(vec![3.0, 4.0])?;
/// let (first, second) = (task.randomize(&record, None)?, task.randomize(&record, None)?);
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
    ids: Sketch,
}

/// The version of the format of states.
const VERSION: u8 = 1;

/// The most tags of a sketch, K.
const MOST_TAGS: usize = 1024;

/// The bytes of a tag.
const TAG_BYTES: usize = 20;

impl Aggregate {
    /// No reports yet.
    #[must_use]
    pub fn empty(task: &Task) -> Self {
        let fold = FoldSum { records: 0, sums: vec![0; task.mechanism().sums_len()] };
        Self { task: task.digest(), folds: vec![fold; task.folds().count()], ids: Sketch::default() }
    }

    /// Adds reports. Many at a time are much faster than one at a time and give the same state. [`Accumulator`] takes
    /// them one by one.
    ///
    /// # Errors
    /// [`AggregateError`] when the task or a report is not this aggregate's, a report is recognized as one in the sum
    /// or as a second one with its id, or there are too many reports. Then nothing was added.
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
        self.accumulate_shared(task, reports, threads, Sharing::USUAL, Repeats::Refused)
    }

    fn accumulate_shared(
        &mut self,
        task: &Task,
        reports: &[Report],
        threads: NonZeroUsize,
        sharing: Sharing,
        repeats: Repeats,
    ) -> Result<(), AggregateError> {
        self.check_task(task.digest())?;
        self.check_reports(reports)?;
        self.check_records(reports.len() as u64)?;
        let entries = self.folds[0].sums.len();
        let threads = if reports.len() * entries < sharing.worth_a_thread { NonZeroUsize::MIN } else { threads };
        if threads == NonZeroUsize::MIN || entries * self.folds.len() > sharing.copied_entries {
            let new = self.new_tags(reports, repeats)?;
            self.add(task, reports, threads);
            self.ids.add(&new);
            return Ok(());
        }
        // More parts than threads, so that a delayed thread leaves its share to the others.
        let parts = reports.chunks(reports.len().div_ceil(4 * threads.get()).max(sharing.worth_a_thread / entries));
        let empty = || (Self::empty(task), self.ids.sieve());
        let total = Mutex::new(empty());
        parallel::for_each_with(
            parts,
            threads,
            empty,
            |(sum, sieve), part: &[Report]| {
                sum.add(task, part, NonZeroUsize::MIN);
                sieve.add(part.iter().map(Report::id));
            },
            |(sum, sieve)| {
                // Nothing in here panics, and integers that were added stay added.
                let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                total.0.add_folds(&sum);
                total.1.join(sieve);
            },
        );
        let (sum, sieve) = total.into_inner().unwrap_or_else(PoisonError::into_inner);
        let new = sieve.finish(self.task, repeats)?;
        self.add_folds(&sum);
        self.ids.add(&new);
        Ok(())
    }

    fn new_tags(&self, reports: &[Report], repeats: Repeats) -> Result<Vec<Tag>, AggregateError> {
        let mut sieve = self.ids.sieve();
        sieve.add(reports.iter().map(Report::id));
        sieve.finish(self.task, repeats)
    }

    /// Adds the sums of checked reports.
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

    /// Adds the sums of another aggregate of the same task, of other reports.
    ///
    /// # Errors
    /// [`AggregateError`] when it belongs to another task, is recognized to have reports of this one, or there are too
    /// many reports. Then nothing was added.
    pub fn merge(&mut self, other: &Self) -> Result<(), AggregateError> {
        other.check_task(self.task)?;
        self.check_records(other.records())?;
        self.check_disjoint(other)?;
        self.add_folds(other);
        self.ids.add(other.ids.tags());
        Ok(())
    }

    /// Fails where ids are recognized to be in both.
    pub(crate) fn check_disjoint(&self, other: &Self) -> Result<(), AggregateError> {
        self.ids.check_disjoint(&other.ids)
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

    fn check_records(&self, more: u64) -> Result<(), AggregateError> {
        let records = self.records().saturating_add(more);
        if records <= MAX_RECORDS { Ok(()) } else { Err(AggregateError::TooMany(records)) }
    }

    fn check_reports(&self, reports: &[Report]) -> Result<(), AggregateError> {
        match reports.iter().find(|report| report.task_prefix != self.task.prefix()) {
            Some(report) => Err(AggregateError::OtherReport(report.id())),
            None => Ok(()),
        }
    }

    pub(crate) fn check_task(&self, expected: TaskDigest) -> Result<(), AggregateError> {
        let found = self.task;
        if found == expected { Ok(()) } else { Err(AggregateError::OtherTask { expected, found }) }
    }
}

/// What our own crates need and others do not.
#[doc(hidden)]
impl Aggregate {
    /// The sums per fold.
    #[must_use]
    pub fn folds(&self) -> &[FoldSum] {
        &self.folds
    }

    /// [`accumulate`](Self::accumulate) without a search for repeats, for a caller who keeps them out, or finds them
    /// later and drops the sum: they count, and the bytes of a sum with repeats may be unreadable.
    ///
    /// # Errors
    /// [`AggregateError`] when the task or a report is not this aggregate's, or there are too many reports. Then
    /// nothing was added.
    pub fn accumulate_with_repeats(
        &mut self,
        task: &Task,
        reports: &[Report],
        threads: NonZeroUsize,
    ) -> Result<(), AggregateError> {
        self.accumulate_shared(task, reports, threads, Sharing::USUAL, Repeats::Counted)
    }

    /// Takes reports out again; `left` are the ids of all others. That the reports are in the sum, each once, is for
    /// the caller to know.
    ///
    /// # Errors
    /// [`AggregateError`] when the task or a report is not this aggregate's, or the sum does not have as many reports
    /// as are taken out and left. Then nothing was taken out.
    pub fn subtract(
        &mut self,
        task: &Task,
        reports: &[Report],
        left: impl IntoIterator<Item = ReportId>,
    ) -> Result<(), AggregateError> {
        self.check_task(task.digest())?;
        let mut gone = Self::empty(task);
        gone.accumulate(task, reports)?;
        if self.folds.iter().zip(&gone.folds).any(|(ours, gone)| ours.records < gone.records) {
            return Err(AggregateError::NotASum);
        }
        let left = sketch_of(self.task, self.records() - gone.records(), left);
        self.ids = left.ok_or(AggregateError::NotASum)?;
        for (ours, gone) in self.folds.iter_mut().zip(&gone.folds) {
            ours.records -= gone.records;
            ours.sums.iter_mut().zip(&gone.sums).for_each(|(ours, gone)| *ours -= *gone);
        }
        Ok(())
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

/// The sketch of that many reports with these ids; `None` if the ids are not as many.
fn sketch_of(task: TaskDigest, records: u64, ids: impl IntoIterator<Item = ReportId>) -> Option<Sketch> {
    let (mut found, mut count) = (Sketch::default(), 0);
    let mut sieve = found.sieve();
    sieve.add(ids.into_iter().inspect(|_| count += 1));
    let new = sieve.finish(task, Repeats::Refused).ok()?;
    found.add(&new);
    (count == records).then_some(found)
}

/// The fold a report belongs to, a function of its id alone.
fn fold_of(id: ReportId, folds: usize) -> usize {
    if folds == 1 { 0 } else { crc32fast::hash(id.as_bytes()) as usize % folds }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::MechanismSpec;
    use crate::privacy::tests::{delta, epsilon};
    use crate::record::Bounding;
    use crate::tests::{clip, double_cap, gaussian, sum, task};
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    pub(super) fn tasks() -> Vec<Task> {
        let double_cap = double_cap(2.0, 16, 2);
        [(double_cap, Bounding::UnitNorm, 1), (double_cap, clip(2.0), 3), (gaussian(2.0), clip(2.0), 5)]
            .map(|(mechanism, bounding, folds)| task(4, bounding, mechanism, folds))
            .to_vec()
    }

    pub(super) fn reports(task: &Task, count: usize) -> Vec<Report> {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        crate::tests::reports(task, count, &mut rng, |_, _| vec![0.3, -0.2, 0.0, 0.9])
    }

    #[test]
    fn taking_reports_out_gives_the_sum_of_the_others() {
        for task in tasks() {
            let all = reports(&task, 1500);
            let sum = |reports: &[Report]| sum(&task, reports);
            let ids = |reports: &[Report]| reports.iter().map(Report::id).collect::<Vec<ReportId>>();
            for count in [0, 1, 17, 1400, 1500] {
                let mut left = sum(&all);
                left.subtract(&task, &all[..count], ids(&all[count..])).unwrap();
                assert_eq!(left.to_bytes(), sum(&all[count..]).to_bytes());
            }
            let mut few = sum(&all[..3]);
            assert_eq!(few.subtract(&task, &all, []), Err(AggregateError::NotASum));
            assert_eq!(
                few.subtract(&task, &all[..1], ids(&all[1..2])),
                Err(AggregateError::NotASum),
                "one is not named"
            );
            assert_eq!(few, sum(&all[..3]), "nothing is taken out then");
        }
        let [first, second, _] = &tasks()[..] else { unreachable!() };
        let other = reports(second, 1);
        assert!(matches!(Aggregate::empty(first).subtract(second, &other, []), Err(AggregateError::OtherTask { .. })));
    }

    /// Each with copies of the state and with rows of one that are shared out, in parts of every size.
    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let shared = |worth_a_thread, copied_entries| Sharing { worth_a_thread, copied_entries };
        for task in tasks() {
            let all = reports(&task, 700);
            for count in [0, 1, 2, 7, 97, 700] {
                let alone = sum(&task, &all[..count]);
                assert_eq!(alone.records(), count as u64);
                for sharing in [shared(1, usize::MAX), shared(300, usize::MAX), shared(1, 0), Sharing::USUAL] {
                    for threads in [2, 3, 64] {
                        let threads = NonZeroUsize::new(threads).unwrap();
                        let mut together = Aggregate::empty(&task);
                        together.accumulate_shared(&task, &all[..count], threads, sharing, Repeats::Refused).unwrap();
                        assert_eq!(together, alone, "{count} reports, {threads} threads, {sharing:?}");
                    }
                }
            }
        }
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
        let aggregate = sum(task, &reports);
        for (index, fold) in aggregate.folds().iter().enumerate() {
            let own: Vec<Report> = reports.iter().filter(|report| fold_of(report.id(), 3) == index).cloned().collect();
            let alone = sum(task, &own);
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
        let of_two = sum(task, &two);
        let with = |records: [u64; 3]| {
            let mut aggregate = Aggregate::empty(task);
            aggregate.folds.iter_mut().zip(records).for_each(|(fold, records)| fold.records = records);
            aggregate.ids = Sketch::of_any(records.into_iter().fold(0, u64::wrapping_add));
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
        let wide = [(0.001, 1e-6), (8.0, 0.1)]
            .map(|(e, d)| task(3, Bounding::UnitNorm, MechanismSpec::gaussian(epsilon(e), delta(d)), 2));
        for task in tasks().into_iter().chain(wide) {
            let largest = i64::from(task.mechanism().largest_entry());
            for sign in [1, -1] {
                let full = |shares: &[u64]| {
                    let mut aggregate = Aggregate::empty(&task);
                    for (fold, &records) in aggregate.folds.iter_mut().zip(shares) {
                        let sum = records.cast_signed().checked_mul(sign * largest).unwrap();
                        *fold = FoldSum { records, sums: vec![sum; fold.sums.len()] };
                    }
                    aggregate.ids = Sketch::of_any(shares.iter().sum());
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

    /// Whether they come alone, with others, from several threads, or in another sum.
    #[test]
    fn reports_that_are_recognized_are_refused_and_nothing_is_added() {
        let shared = Sharing { worth_a_thread: 1, copied_entries: usize::MAX };
        for task in tasks() {
            let all = reports(&task, 90);
            let sum = |reports: &[Report]| sum(&task, reports);
            let mut ours = sum(&all[..60]);
            let before = ours.clone();
            let again = Err(AggregateError::Repeated(all[59].id()));
            assert_eq!(ours.accumulate(&task, &all[59..60]), again);
            assert_eq!(ours.accumulate(&task, &all[59..]), again);
            let more = [&all[60..], &all[70..71]].concat();
            assert_eq!(ours.accumulate(&task, &more), Err(AggregateError::Repeated(all[70].id())));
            for threads in [2, 64] {
                let threads = NonZeroUsize::new(threads).unwrap();
                assert_eq!(ours.accumulate_shared(&task, &all[59..], threads, shared, Repeats::Refused), again);
            }
            for others in [&all[59..], &all[..1], &all[..60], &all] {
                let outcome = ours.merge(&sum(others));
                assert!(matches!(outcome, Err(AggregateError::Overlap { .. })), "{outcome:?}");
            }
            let error = ours.merge(&before).unwrap_err().to_string();
            assert!(error.contains("60 of 60 ids compared") && error.contains("leave it out"), "{error}");
            assert_eq!(ours, before);
            ours.merge(&sum(&all[60..])).unwrap();
            assert_eq!(ours, sum(&all));
        }
    }

    #[test]
    fn repeats_count_again_where_the_caller_allows_them() {
        let task = &tasks()[1];
        let all = reports(task, 50);
        let (mut once, mut again) = (sum(task, &all), Aggregate::empty(task));
        again.accumulate_with_repeats(task, &[&all[..], &all[..7]].concat(), NonZeroUsize::MIN).unwrap();
        assert_eq!((again.records(), &again.ids), (57, &once.ids));
        once.add_folds(&sum(task, &all[..7]));
        assert_eq!(again.folds, once.folds);
    }
}
