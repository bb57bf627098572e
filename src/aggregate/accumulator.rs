//! A sum that takes reports one at a time and adds them many at a time.

use core::mem;
use core::num::NonZeroUsize;

use super::sketch::Repeats;
use super::{Aggregate, AggregateError};
use crate::report::Report;
use crate::task::Task;

/// An [`Aggregate`] for reports that arrive one by one, as in requests. It holds some of them back and adds them
/// together, which is about fifty times faster (`cargo bench --bench pipeline -- "one by one"`).
///
/// Like an aggregate it refuses reports that it recognizes, which are not all that it has: keep duplicates out.
///
/// ```
/// # use ldp_pca::{Accumulator, Bounding, Epsilon, Folds, MechanismSpec, Schema, Task};
/// # let mechanism = MechanismSpec::DoubleCap { epsilon: Epsilon::new(2.0)?, candidates: 64, cap: 8 };
/// # let task = Task::new(Schema::numeric(2)?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
/// let record = task.bound(vec![3.0, 4.0])?;
/// let mut accumulator = Accumulator::new(&task);
/// for _ in 0..3 {
///     accumulator.push(task.randomize(&record, None)?)?;
/// }
/// assert_eq!(accumulator.records(), 3);
/// assert_eq!(accumulator.aggregate()?.records(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Accumulator {
    task: Task,
    /// Has the ids of the reports that are held back, but not their sums.
    aggregate: Aggregate,
    held: Vec<Report>,
    held_bytes: usize,
}

/// Reports that are added together. More would hardly be faster.
const MOST_HELD: usize = 1024;

/// Bytes of payloads at which they are added, however few the reports.
const MOST_HELD_BYTES: usize = 4 << 20;

impl Accumulator {
    /// No reports yet.
    #[must_use]
    pub fn new(task: &Task) -> Self {
        Self { task: task.clone(), aggregate: Aggregate::empty(task), held: vec![], held_bytes: 0 }
    }

    /// Continues with the reports of `aggregate`.
    ///
    /// # Errors
    /// [`AggregateError::OtherTask`] when it is not an aggregate of `task`.
    pub fn resume(task: &Task, aggregate: Aggregate) -> Result<Self, AggregateError> {
        aggregate.check_task(task.digest())?;
        Ok(Self { aggregate, ..Self::new(task) })
    }

    /// Adds a report.
    ///
    /// # Errors
    /// [`AggregateError`] when it is of another task, is recognized as one in the sum, or there are too many reports.
    /// Then it was not added.
    pub fn push(&mut self, report: Report) -> Result<(), AggregateError> {
        let alone = core::slice::from_ref(&report);
        self.aggregate.check_reports(alone)?;
        self.aggregate.check_records(self.held.len() as u64 + 1)?;
        let new = self.aggregate.new_tags(alone, Repeats::Refused)?;
        self.aggregate.ids.add(&new);
        self.held_bytes += report.payload().len();
        self.held.push(report);
        if self.held.len() >= MOST_HELD || self.held_bytes >= MOST_HELD_BYTES {
            self.add_held();
        }
        Ok(())
    }

    /// Adds reports, up to the first that is refused.
    ///
    /// # Errors
    /// As [`push`](Self::push). The reports before that one were added.
    pub fn try_extend(&mut self, reports: impl IntoIterator<Item = Report>) -> Result<(), AggregateError> {
        reports.into_iter().try_for_each(|report| self.push(report))
    }

    /// The number of reports, including those held back.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.aggregate.records() + self.held.len() as u64
    }

    /// The sums of all reports so far.
    ///
    /// # Errors
    /// None: [`push`](Self::push) has returned them.
    pub fn aggregate(&mut self) -> Result<&Aggregate, AggregateError> {
        self.add_held();
        Ok(&self.aggregate)
    }

    fn add_held(&mut self) {
        self.held_bytes = 0;
        self.aggregate.add(&self.task, &mem::take(&mut self.held), NonZeroUsize::MIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Bounding;
    use crate::tests::{double_cap, gaussian, sum, task};

    fn of_features(features: usize) -> Task {
        task(features, Bounding::UnitNorm, double_cap(2.0, 64, 8), 2)
    }

    fn reports(task: &Task, count: usize) -> Vec<Report> {
        let record = task.bound(vec![1.0; task.dimension()]).unwrap();
        (0..count).map(|_| task.randomize(&record, None).unwrap()).collect()
    }

    #[test]
    fn one_by_one_is_as_all_at_once() {
        let task = of_features(3);
        let mut reports = reports(&task, 4 * MOST_HELD + 14);
        let more = reports.split_off(2 * MOST_HELD + 7);
        let all = sum(&task, &reports);
        let mut accumulator = Accumulator::new(&task);
        for (pushed, report) in reports.iter().enumerate() {
            assert_eq!(accumulator.records(), pushed as u64);
            accumulator.push(report.clone()).unwrap();
            assert!(accumulator.held.len() < MOST_HELD);
        }
        assert_eq!(accumulator.aggregate(), Ok(&all));
        accumulator.try_extend(more.clone()).unwrap();
        let twice = accumulator.aggregate().unwrap().clone();
        let mut resumed = Accumulator::resume(&task, all).unwrap();
        resumed.try_extend(more).unwrap();
        assert_eq!(resumed.aggregate(), Ok(&twice));
    }

    #[test]
    fn long_payloads_are_not_held_until_there_are_many() {
        let task = task(700, Bounding::UnitNorm, gaussian(1.0), 2);
        let mut accumulator = Accumulator::new(&task);
        let held = MOST_HELD_BYTES.div_ceil(reports(&task, 1)[0].payload().len());
        let mut reports = reports(&task, held);
        let last = reports.remove(0);
        accumulator.try_extend(reports).unwrap();
        assert_eq!(accumulator.held.len(), held - 1);
        accumulator.push(last).unwrap();
        assert_eq!((accumulator.held.len(), accumulator.held_bytes, accumulator.records()), (0, 0, held as u64));
    }

    #[test]
    fn a_report_that_is_refused_changes_nothing() {
        let [task, other] = [3, 4].map(of_features);
        let mut accumulator = Accumulator::new(&task);
        let foreign = reports(&other, 1).remove(0);
        assert_eq!(accumulator.push(foreign.clone()), Err(AggregateError::OtherReport(foreign.id())));
        assert_eq!(accumulator.records(), 0);
        // Whether it is still held back or not.
        for report in reports(&task, MOST_HELD) {
            accumulator.push(report.clone()).unwrap();
            let before = accumulator.records();
            assert_eq!(accumulator.push(report.clone()), Err(AggregateError::Repeated(report.id())));
            assert_eq!(accumulator.records(), before);
        }
        assert!(matches!(Accumulator::resume(&other, Aggregate::empty(&task)), Err(AggregateError::OtherTask { .. })));
    }
}
