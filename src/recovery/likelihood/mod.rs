//! A likelihood pass over stored reports: plain components, refined by the likelihood of every single report.
//!
//! The linear estimate counts all reports alike. But a reported candidate z says more where `s = z . Sigma z` is near
//! the threshold of the cap, and the likelihood knows by how much (docs/likelihood.md). With the components V = (v_1,
//! …, v_k) of the linear estimate, the variances `l_j` of these and of further directions that stand out, and the bulk
//! level b, all without the bias of the noise, two scores say how a report z turns v_j towards a direction e across all
//! components, with `g_j = v_j . z`:
//!
//! ```text
//! linear       g_j z_e
//! likelihood   g_j z_e H'(s) / H(s),      s = sum (l_j - b) g_j^2 + b |z|^2
//! ```
//!
//! H is the mechanism's own likelihood of z (`mechanism/double_cap/likelihood.rs`). The mean of each score over its
//! mean derivative is an estimate of the turn, and the two are weighted by the inverse covariance of their errors, all
//! as the reports have them. There are [`PASSES`] such steps. Components that do not stand out from the noise have no
//! variance `l_j`, and stay.
//!
//! *Assumption*: with `a = V^T x` and `b = x - V a`, `E[b | a] = 0`, and the law of b given a is symmetric about it:
//! the mean score is then 0 at the true components, whatever the law is otherwise. A population without that symmetry
//! gives a biased answer. So the answer is *offered* only where it captures at least as much as the linear one in
//! reports held out: for every fold, both are found from the other folds and measured on it
//! ([`held_out`](super::held_out)).
//!
//! No matrix of n × d is held: 18 bytes of each report are, and its candidate is computed anew in each pass, once for
//! the answers of all folds.

mod answer;
mod error;
mod fit;
mod scores;
#[cfg(test)]
mod tests;

use core::num::NonZeroUsize;
use core::ops::ControlFlow;

pub use self::answer::{LikelihoodAnswer, NotOffered};
pub use self::error::LikelihoodError;

use self::answer::Fold;
use self::fit::Fit;
use self::scores::{Model, Scores};
use super::Rank;
use crate::aggregate::{Aggregate, AggregateError, fold_of};
use crate::covariance::Covariance;
use crate::family::Reports;
use crate::mechanism::{Mechanism, double_cap};
use crate::parallel;
use crate::report::{Report, ReportId};
use crate::task::Task;

/// Steps of Newton's method, each a pass over all reports. More gain nothing.
const PASSES: usize = 3;

/// Folds of reports of a task that has none.
const FOLDS: usize = 10;

/// The most features: beyond, the spectra of all folds take too long.
const MOST_FEATURES: usize = 2_000;

/// Reports of one round, after which the caller hears of the progress.
const ROUND: usize = 1 << 16;

/// Reports whose scores are added in single precision before they are added in double precision.
const BLOCK: usize = 512;

/// The parts of a round that threads share, and the most sums that all parts together hold.
const PARTS: usize = 16;
const MOST_SUMS: usize = 1 << 25;

/// Reports of a double-cap task, 18 bytes each.
#[derive(Clone, Debug)]
pub struct StoredReports {
    task: Task,
    reports: Vec<(ReportId, u16)>,
}

/// How far a likelihood pass is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LikelihoodProgress {
    /// Reports read, in all passes.
    pub done: u64,
    /// Reports to read.
    pub total: u64,
}

/// The mechanism of a task that a likelihood pass can be made for.
fn mechanism_of(task: &Task) -> Result<&double_cap::DoubleCap, LikelihoodError> {
    if task.centring().is_some() {
        return Err(LikelihoodError::Centring);
    }
    if task.dimension() > MOST_FEATURES {
        return Err(LikelihoodError::Features(task.dimension()));
    }
    match task.mechanism() {
        Mechanism::DoubleCap(mechanism) => Ok(mechanism),
        Mechanism::Gaussian(_) | Mechanism::NormCap(_) => Err(LikelihoodError::Mechanism),
        Mechanism::SignedCap(_) => Err(LikelihoodError::Refinement),
    }
}

impl StoredReports {
    /// No reports yet.
    ///
    /// # Errors
    /// [`LikelihoodError`] for a task that no likelihood pass can be made for.
    pub fn new(task: &Task) -> Result<Self, LikelihoodError> {
        mechanism_of(task)?;
        Ok(Self { task: task.clone(), reports: vec![] })
    }

    /// Adds reports that an aggregate of the task has taken, each once.
    pub fn extend(&mut self, reports: &[Report]) {
        // A payload of another length is of no report that an aggregate takes: its absence is noticed later.
        let index = |report: &Report| report.payload().try_into().ok().map(u16::from_le_bytes);
        self.reports.extend(reports.iter().filter_map(|report| Some((report.id(), index(report)?))));
    }

    /// Keeps the first `records` reports.
    pub fn truncate(&mut self, records: u64) {
        self.reports.truncate(usize::try_from(records).unwrap_or(usize::MAX));
    }

    /// The number of reports.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.reports.len() as u64
    }

    /// Finds components of this rank by likelihood, beside those of the linear estimate of the same reports, and
    /// measures both on reports held out. Nothing where `step` stops the work. The answer does not depend on the number
    /// of threads.
    ///
    /// # Errors
    /// [`LikelihoodError`].
    pub fn likelihood(
        &self,
        aggregate: &Aggregate,
        rank: Rank,
        threads: NonZeroUsize,
        step: &mut dyn FnMut(LikelihoodProgress) -> ControlFlow<()>,
    ) -> Result<Option<LikelihoodAnswer>, LikelihoodError> {
        let (task, stored, summed) = (&self.task, self.records(), aggregate.records());
        rank.check(task.dimension())?;
        if rank.value() == task.dimension() {
            return Err(LikelihoodError::FullRank(task.dimension()));
        }
        if stored != summed {
            return Err(LikelihoodError::OtherReports { stored, summed });
        }
        let law = double_cap::Likelihood::new(mechanism_of(task)?);
        let covariance = Covariance::estimate(aggregate, task)?;
        let sums = FoldSums::new(self, aggregate, threads)?;
        let (mut fits, mut folds) = (vec![Fit::new(&covariance, task, rank, None, &law)?], vec![]);
        let beginning = LikelihoodProgress { done: 0, total: stored * PASSES as u64 };
        for fold in 0..if sums.is_in_all() { sums.count() } else { 0 } {
            if step(beginning).is_break() {
                return Ok(None);
            }
            fits.push(Fit::new(&sums.others(fold)?, task, rank, Some(fold), &law)?);
            folds.push(Fold { share: sums.records[fold] as f64 / stored as f64, estimate: sums.of(fold)? });
        }
        for pass in 0..PASSES {
            if self.pass(&law, &mut fits, sums.count(), threads, pass, step).is_break() {
                return Ok(None);
            }
        }
        let whole = fits.remove(0);
        let measured_on: Vec<(Fold, Fit)> = folds.into_iter().zip(fits).collect();
        Ok(Some(LikelihoodAnswer::new(&whole, &covariance, sums.count(), &measured_on)?))
    }

    /// One step of every fit: a pass over all reports.
    fn pass(
        &self,
        law: &double_cap::Likelihood,
        fits: &mut [Fit],
        folds: usize,
        threads: NonZeroUsize,
        pass: usize,
        step: &mut dyn FnMut(LikelihoodProgress) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (records, key) = (self.records(), self.task.digest().key());
        let total = records * PASSES as u64;
        let mut done = records * pass as u64;
        step(LikelihoodProgress { done, total })?;
        let model = Model::new(fits, self.task.dimension());
        let mut scores = Scores::none(&model);
        let most_parts = (MOST_SUMS / model.sums()).clamp(1, PARTS);
        for round in self.reports.chunks(ROUND) {
            let size = round.len().div_ceil(most_parts);
            let mut parts: Vec<Option<Scores>> = vec![None; round.len().div_ceil(size)];
            parallel::for_each(round.chunks(size).zip(&mut parts), threads, |(reports, part)| {
                let candidate = |&(id, index): &_| (fold_of(id, folds), law.candidate(&key, id, index));
                let mut sum = Scores::none(&model);
                for block in reports.chunks(BLOCK) {
                    sum.add_block(&model, block.iter().map(candidate));
                }
                *part = Some(sum);
            });
            // In order, so that the sum is the same on every number of threads.
            parts.into_iter().flatten().for_each(|part| scores.add(&part));
            done += round.len() as u64;
            step(LikelihoodProgress { done, total })?;
        }
        for (place, fit) in fits.iter_mut().enumerate() {
            fit.turn(scores.steps(place, fit.rank()));
        }
        ControlFlow::Continue(())
    }
}

/// The sums of each fold: those of a task's own folds, or ten of a task that has none.
struct FoldSums<'a> {
    task: &'a Task,
    /// Of the task's own folds.
    aggregate: &'a Aggregate,
    /// Of the others.
    sums: Vec<Aggregate>,
    /// The number of reports in each.
    records: Vec<u64>,
}

impl<'a> FoldSums<'a> {
    fn new(stored: &'a StoredReports, aggregate: &'a Aggregate, threads: NonZeroUsize) -> Result<Self, AggregateError> {
        let task = &stored.task;
        let has_folds = task.folds().count() > 1;
        let mut found = Self {
            task,
            aggregate,
            sums: if has_folds { vec![] } else { vec![Aggregate::empty(task); FOLDS] },
            records: vec![0; if has_folds { task.folds().count() } else { FOLDS }],
        };
        for part in stored.reports.chunks(ROUND) {
            let mut of_fold: Vec<Vec<Report>> = vec![vec![]; found.sums.len()];
            for &(id, index) in part {
                let fold = fold_of(id, found.count());
                found.records[fold] += 1;
                if let Some(reports) = of_fold.get_mut(fold) {
                    reports.push(Report::from_parts(task.digest(), id, index.to_le_bytes().to_vec()));
                }
            }
            for (sum, reports) in found.sums.iter_mut().zip(of_fold) {
                sum.accumulate_with_threads(task, &reports, threads)?;
            }
        }
        Ok(found)
    }

    fn count(&self) -> usize {
        self.records.len()
    }

    /// Whether every fold has reports.
    fn is_in_all(&self) -> bool {
        !self.records.contains(&0)
    }

    /// The estimate of a fold's reports.
    fn of(&self, fold: usize) -> Result<Covariance, LikelihoodError> {
        Ok(match self.sums.get(fold) {
            Some(sum) => Covariance::estimate(sum, self.task)?,
            None => Covariance::of_fold(Reports::one(self.aggregate, self.task), fold)?,
        })
    }

    /// The estimate of all others.
    fn others(&self, fold: usize) -> Result<Covariance, LikelihoodError> {
        if self.sums.is_empty() {
            return Ok(Covariance::of_others(Reports::one(self.aggregate, self.task), fold)?);
        }
        let mut others = Aggregate::empty(self.task);
        for (_, sum) in self.sums.iter().enumerate().filter(|(other, _)| *other != fold) {
            others.merge(sum)?;
        }
        Ok(Covariance::estimate(&others, self.task)?)
    }
}
