//! The reports of one task, or of a task family: tasks with one schema among whose epsilons each person chooses, or
//! which each person answers in turn, one per period.
//!
//! The tasks of a family have the same schema, bounding, centring, number of folds and kind of mechanism. They may
//! differ in epsilon, delta, candidates, cap and period. In each period a device reports once, to one of its tasks, and
//! for a fixed task its report has the guarantee of that task. Where the choice depends on the record, task and report
//! together have none. What happens to the sums is post-processing. All laws take records for independent draws, as if
//! nobody reported in two periods.
//!
//! The estimate is the mean of those of the tasks, weighted by the inverse variance that the mechanism gives to an
//! off-diagonal entry: `w_m = (n_m / v_m) / sum (n / v)` for n_m reports of a task whose report has the variance v_m.
//! The weights depend on the numbers of reports alone, not on what the reports say. No others have less noise where
//! records have nothing. With M_m the second moments of the people of task m, the estimate is one of `sum w_m M_m`:
//! people of a task with less noise count more. That is the moment of all who took part where the choice does not
//! depend on the record. With centring, the covariance is that of the mix: it contains the differences between the
//! groups' means.

use serde::Serialize;
use thiserror::Error;

use crate::aggregate::{Aggregate, AggregateError, FoldSum};
use crate::identity::TaskDigest;
use crate::linalg::sorted_descending;
use crate::mechanism::Pull;
use crate::record::Bounding;
use crate::task::Task;

/// The sums of one task, and the task.
pub type Collection<'a> = (&'a Aggregate, &'a Task);

/// For the roundings of a bound.
const MARGIN: f64 = 1.0 + 1e-12;

/// The reports of one task, or of a family: tasks among whose epsilons each person chooses, or of several periods. They
/// have one schema, bounding, centring, number of folds and kind of mechanism.
#[derive(Clone, Copy, Debug)]
pub struct Reports<'a> {
    first: Collection<'a>,
    others: &'a [Collection<'a>],
}

/// What one report of a task does to an estimate of second moments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OneReport {
    pub(crate) task: TaskDigest,
    /// The deviation of an entry.
    pub(crate) deviation: f64,
    /// Were it hostile.
    pub(crate) pull: Pull,
}

/// The part of one task in the estimate of a family.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FamilyMember {
    /// The task.
    pub task: TaskDigest,
    /// The period that it is for, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<String>,
    /// Epsilon of its reports.
    pub epsilon: f64,
    /// Their delta.
    pub delta: f64,
    /// The number of its reports.
    pub records: u64,
    /// Its weight; the sum of all is 1.
    pub weight: f64,
}

impl<'a> Reports<'a> {
    /// The reports of one task. Whether they are its reports is checked where they are used.
    #[must_use]
    pub fn one(aggregate: &'a Aggregate, task: &'a Task) -> Self {
        Self { first: (aggregate, task), others: &[] }
    }

    /// The reports of the tasks of a family; of one task if there is only one.
    ///
    /// # Errors
    /// [`FamilyError`], for tasks that are no family, and an aggregate of another task than the one beside it.
    pub fn family(members: &'a [(&'a Aggregate, &'a Task)]) -> Result<Self, FamilyError> {
        let (&first, others) = members.split_first().ok_or(FamilyError::Empty)?;
        for (index, (aggregate, task)) in members.iter().enumerate() {
            aggregate.check_task(task.digest())?;
            members[..index].iter().try_for_each(|(_, before)| check_family(before, task))?;
        }
        Ok(Self { first, others })
    }

    /// The first task. What it says of records and features, all of them say.
    pub(crate) fn task(self) -> &'a Task {
        self.first.1
    }

    /// Each task, and its sums.
    pub(crate) fn members(self) -> impl Iterator<Item = Collection<'a>> {
        core::iter::once(self.first).chain(self.others.iter().copied())
    }

    /// The number of folds.
    pub(crate) fn folds(self) -> usize {
        self.first.0.folds().len()
    }

    /// The number of reports in a fold.
    pub(crate) fn records_of_fold(self, fold: usize) -> u64 {
        self.members().map(|member| records_of(member, fold)).sum()
    }

    /// The weights of the folds in the estimate of all: their shares in the reports, of a family in the precision.
    /// `each` has one report of each task that has reports.
    pub(crate) fn shares_of_folds(self, each: &[OneReport]) -> Vec<f64> {
        let of_member = |member: Collection<'_>, fold| precision_of(records_of(member, fold), member.1, each);
        let of_fold = |fold: usize| self.members().map(|member| of_member(member, fold)).sum();
        let folds: Vec<f64> = (0..self.folds()).map(of_fold).collect();
        let total: f64 = folds.iter().sum();
        folds.into_iter().map(|fold| fold / total).collect()
    }

    /// The part of each task in the estimate of all; none where there is but one task. `each` has one report of each
    /// task that has reports.
    pub(crate) fn parts(self, each: &[OneReport]) -> Option<Vec<FamilyMember>> {
        if self.others.is_empty() {
            return None;
        }
        let of = |(aggregate, task): Collection<'_>| precision_of(aggregate.records(), task, each);
        let total: f64 = self.members().map(of).sum();
        let part = |member: Collection<'_>| FamilyMember {
            task: member.1.digest(),
            period: member.1.period().map(str::to_owned),
            epsilon: member.1.guarantee().epsilon.value(),
            delta: member.1.guarantee().delta_value(),
            records: member.0.records(),
            weight: of(member) / total.max(f64::MIN_POSITIVE),
        };
        Some(self.members().map(part).collect())
    }

    /// The most that so many hostile reports move an eigenvalue of the second moments, in the units of bounded records,
    /// by the statement of [`Pull`], against honest reports in the tasks that they are of: those of the task in which
    /// one report moves most, then of the next. `each` has one report of each task that has reports, of which there is
    /// one at least.
    pub(crate) fn pull(self, each: &[OneReport], hostile: u64) -> Pull {
        let pull = each[0].pull;
        let Some(parts) = self.parts(each) else { return pull.of(hostile, self.first.0.records()) };
        let of_one = |part: &FamilyMember| {
            let one = each.iter().find(|one| one.task == part.task)?;
            Some((part.records, one.pull.of(1, part.records).scaled(part.weight * MARGIN)))
        };
        let members: Vec<(u64, Pull)> = parts.iter().filter_map(of_one).collect();
        let most = |of: fn(&Pull) -> f64| {
            let members = members.iter().map(|(records, pull)| (*records, of(pull))).collect();
            let mut left = hostile;
            let moved = sorted_descending(members, |(_, pull)| *pull).into_iter().map(|(records, pull)| {
                let count = left.min(records);
                left -= count;
                count as f64 * pull
            });
            moved.sum::<f64>() * MARGIN
        };
        Pull { unchecked: most(|pull| pull.unchecked), checked: most(|pull| pull.checked), check: pull.check }
    }
}

/// The number of reports of the first task that give an entry as little noise as so many of this one, from the
/// deviations of an entry of one report of each.
pub(crate) fn precision(records: u64, deviation: f64, of_first: f64) -> f64 {
    records as f64 * (of_first / deviation).powi(2)
}

/// The number of reports of the first task that has some, as [`precision`] counts them, for so many of this task; 0 for
/// a task that has none.
fn precision_of(records: u64, task: &Task, each: &[OneReport]) -> f64 {
    let own = each.iter().find(|one| one.task == task.digest());
    own.map_or(0.0, |own| precision(records, own.deviation, each[0].deviation))
}

fn records_of((aggregate, _): Collection<'_>, fold: usize) -> u64 {
    aggregate.folds().get(fold).map_or(0, FoldSum::records)
}

/// Accepts two tasks of one family.
///
/// # Errors
/// [`FamilyError`], the first difference beside epsilon and period.
pub fn check_family(first: &Task, other: &Task) -> Result<(), FamilyError> {
    if first == other {
        return Err(FamilyError::Same);
    }
    if first.schema() != other.schema() {
        let [ours, theirs] = [first, other].map(|task| task.schema().columns());
        let differ = ours.iter().zip(theirs).position(|(ours, theirs)| ours != theirs);
        return Err(match differ {
            Some(index) => FamilyError::Column { number: index + 1, first: ours[index].name.clone() },
            None => FamilyError::Columns { first: ours.len(), other: theirs.len() },
        });
    }
    if first.bounding() != other.bounding() {
        return Err(FamilyError::Bounding { first: first.bounding(), other: other.bounding() });
    }
    if first.centring() != other.centring() {
        return Err(FamilyError::Centring);
    }
    let [ours, theirs] = [first, other].map(|task| task.folds().count());
    if ours != theirs {
        return Err(FamilyError::Folds { first: ours, other: theirs });
    }
    let [ours, theirs] = [first, other].map(|task| task.mechanism_spec().name());
    if ours == theirs { Ok(()) } else { Err(FamilyError::Mechanism { first: ours, other: theirs }) }
}

/// Reasons why collections are not combined.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum FamilyError {
    /// Nothing to combine.
    #[error("there is no collection: give the sums of one task at least, with the task")]
    Empty,
    /// One task twice.
    #[error("the task is given twice: give each task once, and sum its aggregates first")]
    Same,
    /// A column that is not the same.
    #[error(
        "column {number} is not the column '{first}' of the first task, with the same label, type and scale: the tasks \
         of a family have one schema"
    )]
    Column {
        /// The number of the column, from 1.
        number: usize,
        /// Its name in the first task.
        first: String,
    },
    /// More or fewer columns.
    #[error("the schema has {other} columns and that of the first task {first}: the tasks of a family have one schema")]
    Columns {
        /// In the first task.
        first: usize,
        /// In the other.
        other: usize,
    },
    /// Other bounds of the records.
    #[error(
        "the task bounds records by {other} and the first one by {first}, which gives the same people other second \
         moments: the tasks of a family have one bounding"
    )]
    Bounding {
        /// In the first task.
        first: Bounding,
        /// In the other.
        other: Bounding,
    },
    /// Another centring.
    #[error("the task has another centring than the first one: the tasks of a family have the same")]
    Centring,
    /// Another number of folds.
    #[error("the task has {other} folds and the first one {first}: the tasks of a family have as many")]
    Folds {
        /// In the first task.
        first: usize,
        /// In the other.
        other: usize,
    },
    /// Another kind of mechanism.
    #[error("the task has the mechanism {other} and the first one {first}: the tasks of a family have one mechanism")]
    Mechanism {
        /// In the first task.
        first: &'static str,
        /// In the other.
        other: &'static str,
    },
    /// An aggregate beside another task.
    #[error(transparent)]
    Aggregate(#[from] AggregateError),
}

#[cfg(test)]
mod tests;
