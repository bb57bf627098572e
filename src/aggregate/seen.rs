//! The set of reports already counted, which keeps a second delivery out of a sum.

use core::num::NonZeroUsize;
use std::collections::HashSet;

use super::sketch::Sketch;
use super::{Aggregate, AggregateError};
use crate::parallel;
use crate::report::{Report, ReportId};

/// The ids of all reports so far. An [`Aggregate`](super::Aggregate) has only a sample of them; its caller asks here.
///
/// ```
/// # use ldp_pca::{Bounding, Epsilon, Folds, MechanismSpec, Schema, Task, internal::aggregate::SeenIds};
/// # let mechanism = MechanismSpec::DoubleCap { epsilon: Epsilon::new(2.0)?, candidates: 64, cap: 8 };
/// # let task = Task::new(Schema::numeric(2)?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
/// let report = task.randomize(&task.bound(vec![3.0, 4.0])?, None)?;
/// let mut seen = SeenIds::new(core::num::NonZeroUsize::MIN);
/// let mut delivered = vec![report.clone(), report];
/// seen.retain_new(&mut delivered);
/// assert_eq!(delivered.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SeenIds {
    /// One set per thread: most of the time goes into waiting for memory.
    sets: Vec<HashSet<ReportId>>,
}

impl SeenIds {
    /// An empty set, for work on this many threads, at most 256.
    #[must_use]
    pub fn new(threads: NonZeroUsize) -> Self {
        Self { sets: vec![HashSet::new(); threads.get().min(MOST_SETS)] }
    }

    /// Keeps the reports whose ids are new, the first of each, and remembers them.
    pub fn retain_new(&mut self, reports: &mut Vec<Report>) {
        let count = self.sets.len();
        let all = &*reports;
        let mut repeated: Vec<Vec<usize>> = vec![vec![]; count];
        parallel::for_each(
            self.sets.iter_mut().zip(&mut repeated).enumerate(),
            NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN),
            |(index, (seen, repeated))| {
                let ours = all.iter().enumerate().filter(|(_, report)| set_of(report.id(), count) == index);
                repeated.extend(ours.filter(|(_, report)| !seen.insert(report.id())).map(|(position, _)| position));
            },
        );
        let repeated: HashSet<usize> = repeated.into_iter().flatten().collect();
        if repeated.is_empty() {
            return;
        }
        let mut positions = 0..;
        reports.retain(|_| positions.next().is_none_or(|position| !repeated.contains(&position)));
    }

    /// Removes the id of a report that was not summed after all.
    pub fn forget(&mut self, id: ReportId) {
        let count = self.sets.len();
        self.sets[set_of(id, count)].remove(&id);
    }
}

/// The samples of ids of the sums that were merged into one. That one has a sample of them together, which may show
/// nothing of one of many.
#[derive(Clone, Debug, Default)]
pub struct SeenSums(Vec<Sketch>);

impl SeenSums {
    /// Merges a sum into `all`, and compares it with every one before it.
    ///
    /// # Errors
    /// As [`Aggregate::merge`], and then nothing was merged.
    pub fn merge(&mut self, all: &mut Aggregate, sum: &Aggregate) -> Result<(), AggregateError> {
        self.0.iter().try_for_each(|earlier| earlier.check_disjoint(&sum.ids))?;
        all.merge(sum)?;
        self.0.push(sum.ids.clone());
        Ok(())
    }
}

/// The set of an id follows from one byte of it.
const MOST_SETS: usize = 1 << 8;

fn set_of(id: ReportId, sets: usize) -> usize {
    usize::from(id.as_bytes()[0]) % sets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Bounding;
    use crate::task::Task;
    use crate::tests;
    use chacha20::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    fn task() -> Task {
        tests::task(2, Bounding::UnitNorm, tests::double_cap(2.0, 16, 2), 1)
    }

    fn reports(count: usize) -> Vec<Report> {
        tests::reports(&task(), count, &mut ChaCha8Rng::seed_from_u64(3), |_, _| vec![0.6, 0.8])
    }

    fn ids_in(seen: &SeenIds) -> usize {
        seen.sets.iter().map(HashSet::len).sum()
    }

    #[test]
    fn the_first_of_every_id_is_kept_in_its_place_whatever_the_number_of_threads() {
        let first = reports(300);
        let second: Vec<Report> = first.iter().rev().chain(&first[..7]).cloned().collect();
        for threads in [1, 2, 3, 300] {
            let mut seen = SeenIds::new(NonZeroUsize::new(threads).unwrap());
            assert_eq!(ids_in(&seen), 0);
            let mut delivered = [&first[..200], &first[100..250]].concat();
            seen.retain_new(&mut delivered);
            assert!(ids_in(&seen) > 0);
            assert_eq!(delivered, first[..250]);
            let mut delivered = second.clone();
            seen.retain_new(&mut delivered);
            assert_eq!(delivered, second[..50], "{threads} threads");
            assert_eq!(ids_in(&seen), 300);
        }
    }

    /// The sum of all would miss one in three.
    #[test]
    fn a_sum_that_is_given_again_is_noticed_after_any_number_of_others() {
        let (task, mut rng) = (task(), ChaCha8Rng::seed_from_u64(5));
        let payload = reports(1)[0].payload().to_vec();
        let mut sum = || {
            let report = |_| Report::from_parts(task.digest(), ReportId::new(rng.random()), payload.clone());
            tests::sum(&task, &(0..10).map(report).collect::<Vec<_>>())
        };
        let sums: Vec<Aggregate> = (0..2000).map(|_| sum()).collect();
        let (mut seen, mut all) = (SeenSums::default(), Aggregate::empty(&task));
        sums.iter().for_each(|sum| seen.merge(&mut all, sum).unwrap());
        let refused = |sum: &&Aggregate| {
            let overlap = AggregateError::Overlap { shared: 10, compared: 10 };
            seen.clone().merge(&mut all.clone(), sum) == Err(overlap)
        };
        assert_eq!(sums.iter().step_by(20).filter(refused).count(), 100);
        assert!(sums.iter().any(|sum| all.clone().merge(sum).is_ok()));
    }

    /// Ids that differ in one bit, wherever it is, and many that share either half.
    #[test]
    fn ids_are_told_apart_by_every_bit_in_sets_of_every_size() {
        let base = 0x5a01_f0c3_9966_1234_8765_0f3c_a55a_00ffu128;
        let bits = (0..128).map(|bit| base ^ 1 << bit);
        let halves = (1..2000).flat_map(|number| [base ^ number << 9, base ^ number << 73]);
        let ids: Vec<u128> = core::iter::once(base).chain(bits).chain(halves).collect();
        let ids: std::collections::BTreeSet<u128> = ids.into_iter().collect();
        let digest = crate::task::TaskDigest::new([0; 32]);
        let report = |id: &u128| Report::from_parts(digest, ReportId::new(id.to_be_bytes()), vec![]);
        let all: Vec<Report> = ids.iter().map(report).collect();
        assert!(all.len() > 4000);
        for threads in [1, 2, 3, 300] {
            let threads = NonZeroUsize::new(threads).unwrap();
            let (mut at_once, mut one_by_one) = (SeenIds::new(threads), SeenIds::new(threads));
            let mut delivered = all.clone();
            at_once.retain_new(&mut delivered);
            assert_eq!((delivered.len(), ids_in(&at_once)), (all.len(), all.len()), "{threads} threads");
            // Starting threads for each takes long.
            for (count, report) in all.iter().take(if threads.get() == 1 { all.len() } else { 20 }).enumerate() {
                let mut twice = vec![report.clone(), report.clone()];
                one_by_one.retain_new(&mut twice);
                assert_eq!((twice.len(), ids_in(&one_by_one)), (1, count + 1));
            }
            at_once.forget(all[77].id());
            let mut again = all.clone();
            at_once.retain_new(&mut again);
            assert_eq!(again, all[77..78], "{threads} threads");
        }
    }

    #[test]
    fn a_forgotten_report_may_come_again() {
        let all = reports(20);
        let mut seen = SeenIds::new(NonZeroUsize::new(3).unwrap());
        seen.retain_new(&mut all.clone());
        seen.forget(all[4].id());
        assert_eq!(ids_in(&seen), 19);
        let mut again = all.clone();
        seen.retain_new(&mut again);
        assert_eq!(again, all[4..5]);
    }
}
