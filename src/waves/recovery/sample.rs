//! A public sample in the first wave's place.
//!
//! Its records are public: they are bounded as the task says, and no mechanism has touched them. The leading directions
//! V of their second moments are what the people of the wave are asked about, and the eigenvalues and the bulk are
//! theirs, too.
//!
//! The sample may be of other people than the population. So it says nothing about the cross block C, and how far V are
//! off is read from what the wave reports. With m directions across, `C_j` the column of component j and v the variance
//! of an entry, the tilt that `C_j` asks for is shortened by
//!
//! ```text
//! 1 - (m - 2) v / |C_j|^2,     at least 0
//! ```
//!
//! (James & Stein 1961). Where the sample is right, `C_j` is noise, and V stay; where it is wrong by more than the
//! noise, V are turned by what was reported.

use nalgebra::DMatrix;
use serde::Serialize;

use super::answer::{FoundErrors, RefinedFacts, SecondTask, check_first, refinement_of};
use super::{FirstWave, RefineError, apart};
use crate::aggregate::Aggregate;
use crate::law::NoiseLaw;
use crate::prediction::{Planner, PredictionError};
use crate::record::Bounding;
use crate::recovery::{Answer, Rank, components_of_waves};
use crate::task::Task;
use crate::waves::clipping::{Clipped, gap};
use crate::waves::prediction::{MOST_FIRST_ERROR, TwoWaves, Waves};
use crate::waves::sums::SecondWave;

/// The most that a squared sine times its squared cosine can be.
const MOST_TILT: f64 = 0.25;
/// Rounds in which the error of a sample and what a clip leaves are made to agree.
const ROUNDS: usize = 8;
/// The squared sine that is assumed of each component where nothing is known: half of the most.
const USUAL_ERROR: f64 = 0.5 * MOST_FIRST_ERROR;
/// Errors of a sample for which the wave is predicted, too.
const OTHER_ERRORS: [f64; 3] = [0.1, 0.3, 0.6];

/// What a public sample shows of a task's records.
#[derive(Clone, Debug, PartialEq)]
pub struct PublicSample {
    matrix: DMatrix<f64>,
    law: NoiseLaw,
}

/// What the prediction is for a sample that is off by this much.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SamplePlan {
    /// The squared distance of the sample's directions from the population's components.
    pub error: f64,
    /// The prediction.
    #[serde(flatten)]
    pub waves: TwoWaves,
}

impl PublicSample {
    /// The sample of so many bounded records of `task`, whose second moments (d × d) are given in the units of the
    /// encoded features.
    ///
    /// # Errors
    /// [`RefineError::Prediction`] without records, [`RefineError::Refinement`] for a task with centring or a second
    /// wave's.
    pub fn new(moments: DMatrix<f64>, records: u64, task: &Task) -> Result<Self, RefineError> {
        check_first(task)?;
        let law = NoiseLaw::of_records(task.dimension(), task.bounding(), records);
        Ok(Self { law: law.map_err(PredictionError::from)?, matrix: moments })
    }

    /// Its number of records.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.law.records()
    }

    /// Whether components can be off by this much in all: less than random ones are.
    ///
    /// # Errors
    /// [`RefineError::SampleError`].
    pub fn check_error(error: f64, dimension: usize, rank: Rank) -> Result<(), RefineError> {
        let most = rank.value() as f64 * (1.0 - rank.value() as f64 / dimension as f64);
        if error > 0.0 && error < most { Ok(()) } else { Err(RefineError::SampleError { error, most }) }
    }

    /// The task that asks `records` people about its `rank` leading directions, with the prediction, and what that is
    /// if the sample is off by some other errors. `error` is how far the directions are off in all, the same for each
    /// component; without it, they have the error of a sample of the same population.
    ///
    /// # Errors
    /// [`RefineError`] for a task that has no second wave, a rank that it does not have, and as
    /// [`PublicSample::check_error`].
    pub fn second_task(
        &self,
        task: &Task,
        rank: Rank,
        records: u64,
        error: Option<f64>,
    ) -> Result<(SecondTask, Vec<SamplePlan>), RefineError> {
        let k = rank.value();
        let planner = self.planner(task, rank)?;
        let waves = Waves::new(&planner, task.guarantee().epsilon, records)?;
        if let Some(error) = error {
            Self::check_error(error, task.dimension(), rank)?;
        }
        let each = error.map_or(USUAL_ERROR, |error| error / k as f64);
        let errors = match error {
            Some(_) => vec![each; k],
            None => waves.errors_of_sample(self.records())?,
        };
        let at = |error: f64| {
            let waves = waves.about_sample(self.records(), &vec![error / k as f64; k], each)?;
            Ok(SamplePlan { error, waves })
        };
        let others = OTHER_ERRORS.into_iter().filter(|error| *error < planner.uninformed());
        let otherwise = others.map(at).collect::<Result<_, RefineError>>()?;
        let task = self.first_wave(task, rank, each)?.second_task(task, &waves.signed, records)?;
        Ok((SecondTask { task, waves: waves.about_sample(self.records(), &errors, each)? }, otherwise))
    }

    /// The components of the sample, turned by what the people of the wave reported.
    ///
    /// # Errors
    /// As [`FirstWave::refine`], and as [`refinement_of`]; [`RefineError::Aggregate`] for sums of another task;
    /// [`RefineError::Answer`].
    pub fn answer(
        &self,
        task: &Task,
        (aggregate, second): (&Aggregate, &Task),
        rank: Rank,
    ) -> Result<(Answer, RefinedFacts), RefineError> {
        refinement_of(task, rank, second)?;
        let first = self.first_wave(task, rank, USUAL_ERROR)?;
        let reported = SecondWave::of(aggregate, second)?;
        let first = first.judged_by(&reported)?;
        let (matrix, _) = first.refine(&reported)?;
        let planner = self.planner(task, rank)?;
        let waves = Waves::new(&planner, task.guarantee().epsilon, aggregate.records())?;
        let waves = waves.about_sample(self.records(), &first.sines, USUAL_ERROR)?;
        let (records, error) = (self.records(), first.sines.iter().sum());
        let found = FoundErrors { records, error, per_component: first.sines };
        let facts = RefinedFacts::of(second, waves, vec![], Some(found));
        // No noise is in the sample's own moments.
        let mut answer = components_of_waves(&matrix, task, rank)?;
        (answer.asked.records, answer.trust.noise_edge) = (aggregate.records(), first.bulk);
        Ok((answer, facts))
    }

    fn first_wave(&self, task: &Task, rank: Rank, each: f64) -> Result<FirstWave, RefineError> {
        FirstWave::of_sample(&self.matrix, task.bounding(), self.records(), rank, each)
    }

    fn planner(&self, task: &Task, rank: Rank) -> Result<Planner, PredictionError> {
        Planner::of_task(self.law.spectrum_of(&self.matrix)?, rank, task)
    }
}

impl FirstWave {
    /// The directions of a public sample of so many records, whose second moments (d × d) are given. How far they are
    /// off is not known; the wave is designed for the squared sine `each`.
    ///
    /// # Errors
    /// As [`FirstWave::new`], and [`RefineError::Prediction`] without records.
    pub fn of_sample(
        moments: &DMatrix<f64>,
        bounding: Bounding,
        records: u64,
        rank: Rank,
        each: f64,
    ) -> Result<Self, RefineError> {
        let law = NoiseLaw::of_records(moments.nrows(), bounding, records).map_err(PredictionError::from)?;
        let found = Self::new(moments, &law, bounding.covariance_scale(), rank)?;
        let assumed = vec![each; rank.value()];
        Ok(Self { sines: assumed.clone(), turned: assumed, private: false, ..found })
    }

    /// The directions of a sample, which are off by what the second wave shows: see the module `sample`.
    ///
    /// # Errors
    /// As [`FirstWave::refine`].
    pub fn judged_by(self, second: &SecondWave) -> Result<Self, RefineError> {
        self.check(second)?;
        let (d, k) = self.directions.shape();
        let model = self.block().model;
        let further_values = &self.further.1;
        let v = &self.directions;
        let mut reported = &second.block * self.scale;
        reported -= v * v.tr_mul(&reported);
        let across = (d - k) as f64;
        // How much is reported of a tangent: each direction across multiplies it by its own distance.
        let reach = |column: usize, left: &Clipped| {
            let (eigenvalue, bulk) = (self.eigenvalues[column], gap(self.eigenvalues[column], self.bulk));
            let of_bulk = (left.with_bulk[column] * bulk).powi(2) * (across - further_values.len() as f64);
            let beside = left.with_further[column].iter().zip(further_values);
            of_bulk + beside.map(|(factor, other)| (factor * apart(eigenvalue, *other, bulk)).powi(2)).sum::<f64>()
        };
        let tilt = |column: usize, left: &Clipped| {
            if across <= 2.0 {
                return MOST_TILT;
            }
            // What the noise explains is no tilt.
            let excess = reported.column(column).norm_squared() / (across - 2.0) - self.entry_variance(second, column);
            (excess.max(0.0) * across * across / reach(column, left)).min(MOST_TILT)
        };
        let mut sines = vec![0.0; k];
        // The more they are off, the less a clip leaves.
        for _ in 0..ROUNDS {
            let left = model.clipped(&second.weights, second.clip, &sines);
            let sine = |tilt: f64| 0.5 * (1.0 - (1.0 - tilt / MOST_TILT).sqrt());
            sines = (0..k).map(|column| sine(tilt(column, &left))).collect();
        }
        let beside_further = (0..k).map(|column| {
            let (eigenvalue, sine) = (self.eigenvalues[column], sines[column]);
            let (bulk, even) = (gap(eigenvalue, self.bulk), sine * (1.0 - sine) / across);
            further_values.iter().map(|other| apart(eigenvalue, *other, bulk).powi(2) * even).collect()
        });
        Ok(Self { beside_further: beside_further.collect(), turned: sines.clone(), sines, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::centring::Centring;
    use crate::law::tests::unit_trace;
    use crate::mechanism::MechanismSpec;
    use crate::privacy::Epsilon;
    use crate::recovery::principal_components;
    use crate::subspace::{Subspace, sin_theta_squared};
    use crate::tests::{self, rank};
    use crate::waves::prediction::WaveRefusal;
    use crate::waves::recovery::tests::second;
    use crate::waves::refinement::RefinementError;

    fn task() -> Task {
        tests::task(6, Bounding::UnitNorm, MechanismSpec::double_cap(Epsilon::new(4.0).unwrap()), 1)
    }

    /// People along the first axis, and some along the others.
    fn sample(task: &Task, records: usize) -> Result<PublicSample, RefineError> {
        let mut moments = DMatrix::zeros(6, 6);
        for index in 0..records {
            let axis = if index % 3 == 0 { index / 3 % 6 } else { 0 };
            moments[(axis, axis)] += 1.0 / records as f64;
        }
        PublicSample::new(moments, records as u64, task)
    }

    /// The sample's directions, and what a wave without noise and clip reports of them.
    #[test]
    fn the_wave_shows_how_far_a_sample_is_off() {
        let (own, truth) = (unit_trace(30, &[0.4, 0.2], 1), unit_trace(30, &[0.4, 0.2], 2));
        let mixed = truth.components() + own.components() * 0.3;
        let sample = crate::law::SpikedCovariance::new(mixed.qr().q(), truth.variances().clone(), truth.bulk());
        let moments = sample.unwrap().matrix();
        let found = FirstWave::of_sample(&moments, Bounding::UnitNorm, 1_000_000, rank(2), 0.1).unwrap();
        let subspace = Subspace::new(truth.components()).unwrap();
        let off = |matrix: &DMatrix<f64>| {
            let components = principal_components(matrix, rank(2)).unwrap().vectors;
            sin_theta_squared(&Subspace::new(&components).unwrap(), &subspace).unwrap()
        };
        let v = &found.directions;
        let block = truth.matrix() * v;
        let block = &block - v * v.tr_mul(&block);
        let (weights, _) = found.design(1.0, 1000);
        let design = (weights, 10.0);
        let wave = |block: &DMatrix<f64>, variance: f64| SecondWave {
            records: 1_000_000_000,
            ..second(&found, &design, block, &[variance; 2])
        };
        let judged = found.clone().judged_by(&wave(&block, 1e-12)).unwrap();
        let (before, error) = (off(&moments), judged.sines.iter().sum::<f64>());
        assert!(before > 0.1 && (error / before - 1.0).abs() < 0.1, "{before} {error}");
        let (refined, _) = judged.refine(&wave(&block, 1e-12)).unwrap();
        let after = off(&refined);
        assert!(after < 0.05 * before, "{before} {after}");
        // What noise alone explains is no error: the sample's directions stay.
        let judged = found.clone().judged_by(&wave(&block, 1.0)).unwrap();
        assert_eq!(judged.sines, [0.0; 2]);
        let (refined, _) = judged.refine(&wave(&block, 1.0)).unwrap();
        let kept = off(&refined);
        assert!((kept / before - 1.0).abs() < 1e-9, "{kept} {before}");
    }

    #[test]
    fn the_same_sample_gives_the_same_task_of_this_parent_and_predictions_that_grow_with_its_error() {
        let task = task();
        let sample = sample(&task, 3000).unwrap();
        let (made, others) = sample.second_task(&task, rank(1), 5000, None).unwrap();
        assert_eq!((made.clone(), others.clone()), sample.second_task(&task, rank(1), 5000, None).unwrap());
        assert_eq!((made.task.campaign(), made.waves.records), (task.digest(), [3000, 5000]));
        // Of so many records, it is nearly right.
        assert!(made.waves.first_wave < 0.01 && made.waves.refused.is_none(), "{:?}", made.waves);
        assert_eq!(others.iter().map(|other| other.error).collect::<Vec<_>>(), OTHER_ERRORS);
        assert!(others.is_sorted_by(|one, next| one.waves.sin_theta_squared < next.waves.sin_theta_squared));
        assert!(matches!(others[1].waves.refused, Some(WaveRefusal::Sample { .. })), "{others:?}");
        let (stated, _) = sample.second_task(&task, rank(1), 5000, Some(0.3)).unwrap();
        assert_eq!((stated.waves.first_wave, stated.waves.refused), (0.3, others[1].waves.refused));
        // Few people find less than the sample has, and many more.
        let refused = |people| sample.second_task(&task, rank(1), people, None).unwrap().0.waves.refused;
        let alone = made.waves.first_wave;
        let few = refused(100);
        assert!(
            matches!(few, Some(WaveRefusal::SampleAlone { alone: of, after }) if of == alone && after > of),
            "{few:?}"
        );
        assert_eq!(few.map(|few| few.advice()), Some("no wave"));
        assert!(!matches!(refused(1_000_000), Some(WaveRefusal::SampleAlone { .. })));
        // As far off as a direction at random, and no error.
        for error in [0.0, 5.0 / 6.0, f64::NAN] {
            let refused = sample.second_task(&task, rank(1), 5000, Some(error)).unwrap_err();
            assert!(matches!(refused, RefineError::SampleError { .. }), "{error}: {refused}");
        }
    }

    #[test]
    fn no_records_and_tasks_without_a_second_wave_have_no_sample() {
        let task = task();
        let refused = |records, task: &Task| sample(task, records).unwrap_err();
        assert!(matches!(refused(0, &task), RefineError::Prediction(_)));
        let second = SecondTask::placeholder(&task, rank(1)).unwrap();
        assert_eq!(refused(5, &second), RefinementError::Twice.into());
        let centred = task.with_centring(Centring::default()).unwrap();
        assert_eq!(refused(5, &centred), RefinementError::Centring.into());
    }

    /// One record, fewer than features, all the same; and no direction to spare.
    #[test]
    fn small_samples_have_finite_answers() {
        let task = task();
        for (records, k) in [(1, 1), (1, 3), (2, 5), (4, 4), (100, 5)] {
            let sample = sample(&task, records).unwrap();
            let (made, _) = sample.second_task(&task, rank(k), 100, None).unwrap();
            assert!(made.waves.sin_theta_squared.is_finite(), "{records} {k}: {:?}", made.waves);
            let first = sample.first_wave(&task, rank(k), 0.1).unwrap();
            for size in [0.0, 0.1, 1e9] {
                let block = DMatrix::from_fn(6, k, |row, column| size * ((row + 3 * column) as f64).sin());
                let design = (vec![1.0; k], 1.0);
                let wave = SecondWave { records: 100, ..second(&first, &design, &block, &vec![1e-3; k]) };
                let judged = first.clone().judged_by(&wave).unwrap();
                assert!(judged.sines.iter().all(|sine| (0.0..=0.5).contains(sine)), "{judged:?}");
                let (refined, _) = judged.refine(&wave).unwrap();
                assert!(refined.iter().all(|entry| entry.is_finite()));
            }
        }
    }
}
