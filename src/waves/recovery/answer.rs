//! The task of a second wave and the answer of both waves, for whoever has the sums.

use serde::Serialize;

use super::{FirstWave, RefineError};
use crate::aggregate::Aggregate;
use crate::covariance::Covariance;
use crate::mechanism::Mechanism;
use crate::prediction::{Planner, PredictionError, Spectrum};
use crate::recovery::{Answer, Rank, components_of_waves};
use crate::task::{Task, TaskMechanism};
use crate::waves::prediction::{TwoWaves, Waves};
use crate::waves::refinement::{Refinement, RefinementError};
use crate::waves::signed_cap::SignedCap;
use crate::waves::sums::SecondWave;

/// What an answer of two waves does not have.
const NOT_OFFERED: [&str; 5] = ["rank-test", "held-out", "sparse", "bootstrap", "hostile"];

/// What an answer of two waves does not have, in words for whoever asks for a part of it.
pub const OF_FIRST_WAVE: &str = "the rank test, the variance in reports held out, sparse components and the effect of \
     hostile reports are of the first wave alone";

/// What two waves add to an answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RefinedFacts {
    /// The digest of the second wave's task.
    pub task: String,
    /// What both waves are predicted to do.
    pub waves: TwoWaves,
    /// What is not offered for both waves together, and what the first wave alone has.
    pub not_offered: [&'static str; 5],
    /// Below how many deviations of their noise the loadings of each component were moved to zero; none of a sample.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<f64>,
    /// Of a public sample in the first wave's place: how far it is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<FoundErrors>,
}

/// How far the directions of the sample are off, as the wave shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundErrors {
    /// Its public records.
    pub records: u64,
    /// The squared distance of its directions from the population's components.
    pub error: f64,
    /// The squared sine of each component.
    pub per_component: Vec<f64>,
}

impl RefinedFacts {
    pub(super) fn of(second: &Task, waves: TwoWaves, thresholds: Vec<f64>, sample: Option<FoundErrors>) -> Self {
        Self { task: second.digest().to_string(), waves, not_offered: NOT_OFFERED, thresholds, sample }
    }
}

/// A second wave's task, and what it is predicted to gain. The same sums give the same task.
#[derive(Clone, Debug, PartialEq)]
pub struct SecondTask {
    /// The task.
    pub task: Task,
    /// The prediction. It says whether a second wave is advised.
    pub waves: TwoWaves,
}

impl SecondTask {
    /// The task that refines `rank` components which the sums of `task` show, for a second wave of `records` people: as
    /// many as the first has, where no number is given.
    ///
    /// # Errors
    /// [`RefineError`] for sums of another task or without reports, and a task that has no second wave.
    pub fn of(aggregate: &Aggregate, task: &Task, rank: Rank, records: Option<u64>) -> Result<Self, RefineError> {
        let covariance = Covariance::estimate(aggregate, task)?;
        let first = FirstWave::of(&covariance, task, rank)?;
        let second = records.unwrap_or(covariance.records());
        let (signed, waves) = predicted(&covariance, task, rank, second)?;
        Ok(Self { task: first.second_task(task, &signed, second)?, waves })
    }

    /// A task of the same size as any that refines `rank` components of `task`. Its directions are a placeholder.
    ///
    /// # Errors
    /// [`RefineError`], where the task cannot be refined at this rank.
    pub fn placeholder(task: &Task, rank: Rank) -> Result<Task, RefineError> {
        let refinement = Refinement::along_axes(task.digest(), task.dimension(), rank.value())?;
        let second = task.refined_by(refinement, task.guarantee().epsilon, None, None)?;
        match task.mechanism() {
            TaskMechanism::Moments(Mechanism::DoubleCap(_)) => Ok(second),
            _ => Err(PredictionError::OneWave.into()),
        }
    }
}

/// The refinement of `task` to so many components that `second` is.
///
/// # Errors
/// [`RefineError`] where it is none, of another task, or to another number of components.
pub fn refinement_of<'a>(task: &Task, rank: Rank, second: &'a Task) -> Result<&'a Refinement, RefineError> {
    let refinement = second.refinement().ok_or(RefineError::NoSecondWave)?;
    if refinement.parent() != task.digest() {
        return Err(RefinementError::Parent { expected: task.digest(), found: refinement.parent() }.into());
    }
    if refinement.rank() == rank.value() { Ok(refinement) } else { Err(RefineError::Rank(refinement.rank())) }
}

/// Refuses a task that has no second wave.
pub(super) fn check_first(task: &Task) -> Result<(), RefinementError> {
    match (task.centring(), task.refinement()) {
        (Some(_), _) => Err(RefinementError::Centring),
        (None, Some(_)) => Err(RefinementError::Twice),
        (None, None) => Ok(()),
    }
}

/// The components of both waves: of the first one's estimate, and of the sums of the second and its task.
///
/// # Errors
/// As [`refinement_of`] and [`FirstWave::refine`]; [`RefineError::Aggregate`] for sums of another task;
/// [`RefineError::Answer`].
pub fn refined_answer(
    (covariance, task): (&Covariance, &Task),
    (aggregate, second): (&Aggregate, &Task),
    rank: Rank,
) -> Result<(Answer, RefinedFacts), RefineError> {
    refinement_of(task, rank, second)?;
    let (matrix, thresholds) = FirstWave::of(covariance, task, rank)?.refine(&SecondWave::of(aggregate, second)?)?;
    let mut answer = components_of_waves(&matrix, task, rank)?;
    answer.asked.records = covariance.records() + aggregate.records();
    answer.trust.noise_deviation = covariance.noise_deviation();
    answer.trust.noise_edge = covariance.noise_edge();
    let (_, waves) = predicted(covariance, task, rank, aggregate.records())?;
    Ok((answer, RefinedFacts::of(second, waves, thresholds, None)))
}

impl FirstWave {
    /// The first wave of a task whose estimate is given.
    ///
    /// # Errors
    /// [`RefineError::Refinement`] for a task with centring or a second wave's, and as [`FirstWave::new`].
    pub(super) fn of(covariance: &Covariance, task: &Task, rank: Rank) -> Result<Self, RefineError> {
        check_first(task)?;
        Ok(Self::new(covariance.matrix(), &covariance.noise_law(), task.bounding().covariance_scale(), rank)?)
    }

    /// The second wave's task, for about so many people, with the epsilon of the first.
    ///
    /// # Errors
    /// [`RefineError::Refinement`] for more components than a second wave has, [`RefineError::Task`].
    pub(super) fn second_task(&self, task: &Task, signed: &SignedCap, records: u64) -> Result<Task, RefineError> {
        let (weights, clip) = self.design(signed.gain(), records);
        let refinement = Refinement::from_parts(task.digest(), &self.directions, &weights, clip)?;
        Ok(task.refined_by(refinement, task.guarantee().epsilon, None, None)?)
    }
}

/// The mechanism of a second wave of `second` people, and what it is predicted to add to this first one.
fn predicted(
    covariance: &Covariance,
    task: &Task,
    rank: Rank,
    second: u64,
) -> Result<(SignedCap, TwoWaves), PredictionError> {
    let (before, planner) = (covariance.records(), Planner::of_task(Spectrum::of_estimate(covariance)?, rank, task)?);
    let waves = Waves::new(&planner, task.guarantee().epsilon, before.saturating_add(second))?;
    let after = waves.after(before, second.max(1))?;
    Ok((waves.signed, after))
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    use super::*;
    use crate::centring::Centring;
    use crate::mechanism::MechanismSpec;
    use crate::privacy::Epsilon;
    use crate::record::Bounding;
    use crate::tests::{self, gaussian, sum, task};
    use crate::waves::prediction::LEAST_GAIN;

    fn task_with(mechanism: MechanismSpec) -> Task {
        task(6, Bounding::UnitNorm, mechanism, 1)
    }

    fn epsilon() -> Epsilon {
        Epsilon::new(4.0).unwrap()
    }

    /// People along the first axis, and some along the others.
    #[test]
    fn the_same_sums_give_the_same_task_which_is_as_large_as_its_placeholder() {
        let (task, rank) = (task_with(MechanismSpec::double_cap(epsilon())), Rank::new(1).unwrap());
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let reports = tests::reports(&task, 3000, &mut rng, |index, _| {
            let mut record = vec![0.0; 6];
            record[if index % 3 == 0 { index / 3 % 6 } else { 0 }] = 1.0;
            record
        });
        let aggregate = sum(&task, &reports);
        let made = SecondTask::of(&aggregate, &task, rank, None).unwrap();
        assert_eq!(made, SecondTask::of(&aggregate, &task, rank, Some(3000)).unwrap());
        assert_eq!((made.task.campaign(), made.waves.records), (task.digest(), [3000, 3000]));
        let placeholder = SecondTask::placeholder(&task, rank).unwrap();
        assert_eq!(crate::report::report_bytes(&made.task), crate::report::report_bytes(&placeholder));
    }

    /// 18 % of the people along each of three axes, the others along the other nine. The plan's gain is barely enough.
    #[test]
    fn what_a_plan_advises_is_refined_when_its_first_wave_is_over() {
        let (rank, epsilon) = (Rank::new(3).unwrap(), Epsilon::new(2.0).unwrap());
        let task = task(12, Bounding::UnitNorm, MechanismSpec::double_cap(epsilon), 1);
        let spectrum = Spectrum::of_unit_trace(12, vec![0.18; 3]).unwrap();
        let family = task.moments().unwrap().into();
        let stated = Planner::new(spectrum.clone(), rank, family, Bounding::UnitNorm).unwrap();
        let planned = Waves::new(&stated, epsilon, 30_000).unwrap().best().unwrap();
        let [first, second] = planned.records;
        assert!(planned.refused.is_none() && (1.2..1.22).contains(&planned.gain), "{planned:?}");

        // By the same spectrum, both say the same.
        let of_task = Planner::of_task(spectrum, rank, &task).unwrap();
        assert_eq!(Waves::new(&of_task, epsilon, first + second).unwrap().after(first, second).unwrap(), planned);

        // By estimates, some of the gains are below what the plan asked for, and none is refused.
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let gains: Vec<f64> = (0..8)
            .map(|_| {
                let reports = tests::reports(&task, first as usize, &mut rng, |index, _| {
                    let (kind, mut record) = (index % 100, vec![0.0; 12]);
                    record[if kind < 54 { kind % 3 } else { 3 + index / 100 % 9 }] = 1.0;
                    record
                });
                let waves = SecondTask::of(&sum(&task, &reports), &task, rank, Some(second)).unwrap().waves;
                assert_eq!(waves.refused, None, "{waves:?}");
                waves.one_wave / waves.not_elliptical
            })
            .collect();
        assert!(gains.iter().any(|gain| *gain < LEAST_GAIN), "{gains:?}");
    }

    #[test]
    fn what_cannot_be_refined_has_no_placeholder() {
        let rank = |rank| Rank::new(rank).unwrap();
        let task = task_with(MechanismSpec::double_cap(epsilon()));
        let second = SecondTask::placeholder(&task, rank(5)).unwrap();
        let centred = task.with_centring(Centring::default()).unwrap();
        for (task, k) in [(&task, 6), (&second, 1), (&centred, 1)] {
            let refused = SecondTask::placeholder(task, rank(k));
            assert!(matches!(refused, Err(RefineError::Refinement(_) | RefineError::Task(_))), "{refused:?}");
        }
        let one_wave = SecondTask::placeholder(&task_with(gaussian(4.0)), rank(1));
        assert_eq!(one_wave, Err(PredictionError::OneWave.into()));
    }
}
