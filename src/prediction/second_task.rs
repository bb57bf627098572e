//! The task of a second wave, from the sums of the first. It is a function of its arguments: the same sums give the
//! same task.

use nalgebra::DMatrix;

use super::{Planner, PredictionError, Spectrum, TwoWaves, Waves};
use crate::aggregate::Aggregate;
use crate::covariance::{Covariance, CovarianceError};
use crate::mechanism::Mechanism;
use crate::recovery::{FirstWave, Rank, RefineError};
use crate::refinement::Refinement;
use crate::task::Task;

/// A second wave's task, and what it is predicted to gain.
#[derive(Clone, Debug, PartialEq)]
pub struct SecondTask {
    /// The task.
    pub task: Task,
    /// The prediction. It says whether a second wave is advised.
    pub waves: TwoWaves,
}

/// Why there is no second wave's task.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SecondTaskError {
    /// The sums have no estimate.
    #[error(transparent)]
    Covariance(#[from] CovarianceError),
    /// The first wave cannot be refined.
    #[error(transparent)]
    Refine(#[from] RefineError),
    /// There is no prediction.
    #[error(transparent)]
    Prediction(#[from] PredictionError),
}

impl SecondTask {
    /// The task that refines `rank` components which the sums of `task` show, for a second wave of `records` people: as
    /// many as the first has, where no number is given.
    ///
    /// # Errors
    /// [`SecondTaskError`], for a task that cannot be refined, and for sums without an estimate.
    pub fn of(aggregate: &Aggregate, task: &Task, rank: Rank, records: Option<u64>) -> Result<Self, SecondTaskError> {
        let covariance = Covariance::estimate(aggregate, task)?;
        let first = FirstWave::of(&covariance, task, rank)?;
        let epsilon = task.guarantee().epsilon;
        let planner = Planner::of_task(Spectrum::of_estimate(&covariance)?, rank, task)?;
        let before = covariance.records();
        let second = records.unwrap_or(before);
        let waves = planner.two_waves(epsilon, before.saturating_add(second), Some(before))?;
        let signed = Waves::signed_cap(task.dimension(), rank, epsilon)?;
        Ok(Self { task: first.second_task(task, &signed, second)?, waves })
    }

    /// A task of the same size as any that refines `rank` components of `task`. Its directions are a placeholder.
    ///
    /// # Errors
    /// [`SecondTaskError`], where the task cannot be refined at this rank.
    pub fn placeholder(task: &Task, rank: Rank) -> Result<Task, SecondTaskError> {
        let k = rank.value();
        let axes = DMatrix::identity(task.dimension(), k.min(task.dimension()));
        let refinement = Refinement::from_parts(task.digest(), &axes, &vec![1.0; k], 1.0).map_err(RefineError::from)?;
        let second = task.refined_by(refinement, task.guarantee().epsilon, None, None).map_err(RefineError::from)?;
        match task.mechanism() {
            Mechanism::DoubleCap(_) => Ok(second),
            _ => Err(PredictionError::OneWave.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    use super::*;
    use crate::centring::Centring;
    use crate::mechanism::MechanismSpec;
    use crate::privacy::{Delta, Epsilon};
    use crate::record::Bounding;
    use crate::schema::Schema;
    use crate::task::Folds;

    fn task_with(mechanism: MechanismSpec) -> Task {
        Task::new(Schema::numeric(6).unwrap(), Bounding::UnitNorm, mechanism, Folds::new(1).unwrap()).unwrap()
    }

    fn epsilon() -> Epsilon {
        Epsilon::new(4.0).unwrap()
    }

    /// People along the first axis, and some along the others.
    #[test]
    fn the_same_sums_give_the_same_task_which_is_as_large_as_its_placeholder() {
        let (task, rank) = (task_with(MechanismSpec::double_cap(epsilon())), Rank::new(1).unwrap());
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let reports: Vec<_> = (0..3000)
            .map(|index| {
                let mut record = vec![0.0; 6];
                record[if index % 3 == 0 { index / 3 % 6 } else { 0 }] = 1.0;
                task.randomize_with_rng(&task.bound(record).unwrap(), &mut rng).unwrap()
            })
            .collect();
        let mut aggregate = Aggregate::empty(&task);
        aggregate.accumulate(&task, &reports).unwrap();
        let made = SecondTask::of(&aggregate, &task, rank, None).unwrap();
        assert_eq!(made, SecondTask::of(&aggregate, &task, rank, Some(3000)).unwrap());
        assert_eq!((made.task.campaign(), made.waves.records), (task.digest(), [3000, 3000]));
        let placeholder = SecondTask::placeholder(&task, rank).unwrap();
        assert_eq!(crate::report::report_bytes(&made.task), crate::report::report_bytes(&placeholder));
    }

    #[test]
    fn what_cannot_be_refined_has_no_placeholder() {
        let rank = |rank| Rank::new(rank).unwrap();
        let task = task_with(MechanismSpec::double_cap(epsilon()));
        assert!(matches!(SecondTask::placeholder(&task, rank(6)), Err(SecondTaskError::Refine(_))));
        let second = SecondTask::placeholder(&task, rank(5)).unwrap();
        assert!(matches!(SecondTask::placeholder(&second, rank(1)), Err(SecondTaskError::Refine(_))));
        let centred = task.with_centring(Centring::default()).unwrap();
        assert!(matches!(SecondTask::placeholder(&centred, rank(1)), Err(SecondTaskError::Refine(_))));
        let calibration = crate::mechanism::Calibration::Analytic;
        let dense = MechanismSpec::Gaussian { epsilon: epsilon(), delta: Delta::new(1e-6).unwrap(), calibration };
        let one_wave = SecondTask::placeholder(&task_with(dense), rank(1));
        assert_eq!(one_wave, Err(PredictionError::OneWave.into()));
    }
}
