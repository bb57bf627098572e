//! The waves of a collection: from aggregates and tasks.

use super::{FirstWave, RefineError, Refined, SecondWave};
use crate::aggregate::Aggregate;
use crate::covariance::Covariance;
use crate::recovery::Rank;
use crate::task::Task;
use crate::waves::refinement::{Refinement, RefinementError};
use crate::waves::signed_cap::SignedCap;
use crate::waves::sums::CrossBlock;

impl FirstWave {
    /// The first wave of a task whose estimate is given.
    ///
    /// # Errors
    /// [`RefineError::Refinement`] for a task with centring or a second wave's, and as [`FirstWave::new`].
    pub(super) fn of(covariance: &Covariance, task: &Task, rank: Rank) -> Result<Self, RefineError> {
        if task.centring().is_some() || covariance.mean().is_some() {
            return Err(RefinementError::Centring.into());
        }
        if task.refinement().is_some() {
            return Err(RefinementError::Twice.into());
        }
        Ok(Self::new(covariance.matrix(), &covariance.noise_law(), task.bounding().covariance_scale(), rank)?)
    }

    /// The second wave's task, for about so many people, with the epsilon of the first.
    ///
    /// # Errors
    /// [`RefineError::Refinement`] for more components than a second wave has, [`RefineError::Task`].
    pub(super) fn second_task(&self, task: &Task, signed: &SignedCap, records: u64) -> Result<Task, RefineError> {
        let design = self.design(signed.gain(), records);
        let refinement = Refinement::from_parts(task.digest(), &self.directions, &design.weights, design.clip)?;
        Ok(task.refined_by(refinement, task.guarantee().epsilon, None, None)?)
    }

    /// The estimate of both waves, from the sums of the second and its task.
    ///
    /// # Errors
    /// As [`FirstWave::refine`], and [`RefineError::Aggregate`] for sums of another task.
    pub(super) fn with_second(&self, aggregate: &Aggregate, task: &Task) -> Result<Refined, RefineError> {
        with_block(aggregate, task, |second| self.refine(second))
    }
}

/// Calls `put` with what the sums of a second wave and its task say.
pub(super) fn with_block<T>(
    aggregate: &Aggregate,
    task: &Task,
    put: impl FnOnce(&SecondWave<'_>) -> Result<T, RefineError>,
) -> Result<T, RefineError> {
    let block = CrossBlock::of(aggregate, task)?;
    let refinement = task.refinement().ok_or(RefineError::NoSecondWave)?;
    put(&SecondWave {
        directions: &refinement.directions(),
        weights: &refinement.weights(),
        clip: refinement.clip(),
        block: &block.matrix,
        variances: &block.variances,
        records: block.records,
    })
}
