//! Predictions of the error of the recovered components, before or after the reports are in, and of the reports it
//! takes.
//!
//! The noise is known, so the answer is precise, not an order of magnitude. With many features a component with true
//! eigenvalue `lambda_i` above a bulk b has
//!
//! ```text
//! sin^2 Theta_i = 1 - cos^2(lambda_i)  +  Sum over j > k of v(lambda_i, lambda_j) / (lambda_i - lambda_j)^2
//! ```
//!
//! with [`NoiseBulk::cos_squared`] for the bulk (to first order `(d - k) v(lambda_i, b) / (lambda_i - b)^2`) and
//! [`NoiseLaw::cross_variance`] `= v` for components beyond the rank asked for; and nothing can be recovered below
//! [`NoiseBulk::threshold`]. In finitely many dimensions the transition there is gradual, components repel each other,
//! and a random direction has a cosine too: predictions have all of that, from the noise among the components (averaged
//! over) and from the tridiagonal form of the noise in the bulk. [`Planner`] makes them before there are reports, and
//! turns them around, one by one or all at once ([`Planner::plan`]). [`predict_from_estimate`] makes that of an
//! estimate. docs/guides/how-many-people.md compares them with simulations.
//!
//! ```
//! use ldp_pca::{mechanism::MechanismFamily, prediction::{Planner, Spectrum}};
//! use ldp_pca::{Rank, privacy::Epsilon, record::Bounding};
//!
//! // Three components with 22 % of the variance each, in 40 unit-norm features; 40,000 people at epsilon 2.
//! let spectrum = Spectrum::new(40, vec![0.22; 3], 0.34 / 37.0)?;
//! let family = MechanismFamily::DoubleCap { candidates: Some(128), cap: Some(16) };
//! let planner = Planner::new(spectrum, Rank::new(3)?, family, Bounding::UnitNorm)?;
//! let prediction = planner.predict(Epsilon::new(2.0)?, 40_000)?;
//! assert!((0.04..0.05).contains(&prediction.sin_theta_squared));
//! assert_eq!(prediction.recoverable, [true; 3]);
//! // A hundredth of the people: no component leaves the noise.
//! let prediction = planner.predict(Epsilon::new(2.0)?, 400)?;
//! assert!(prediction.threshold > 0.22 && !prediction.recoverable[0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod finite;
mod goal;
pub(crate) mod optimum;
mod plan;
mod shuffled;

pub use goal::{Answers, Goal, Plan, ShuffledPlan};
pub use plan::Planner;
pub use shuffled::Batches;

use fantope::{FantopeError, Rank};
use nalgebra::DMatrix;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::covariance::Covariance;
use crate::decimal::Decimal;
use crate::law::{NoiseBulk, NoiseError, NoiseLaw, split_spectrum};
use crate::linalg::{sort_descending, sorted_descending, symmetric_eigen, symmetric_eigenvalues};
use crate::mechanism::MechanismError;
use crate::privacy::PrivacyError;
use crate::subspace::share_of_structure;

/// The eigenvalues of a true second-moment matrix, or of a true covariance for tasks with
/// [centring](crate::centring): a few above an isotropic bulk, in the units of the encoded features.
///
/// ```
/// use ldp_pca::Spectrum;
/// // Twelve features: two components hold half of the variation, the other ten share the rest.
/// let spectrum = Spectrum::new(12, vec![0.2, 0.3], 0.05)?;
/// assert_eq!(spectrum.signals(), [0.3, 0.2]);
/// assert!(Spectrum::new(12, vec![0.04], 0.05).is_err(), "a component is above the bulk");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    dimension: usize,
    signals: Vec<f64>,
    bulk: f64,
    /// About an estimated mean, the squares of the mean along the signals, and of the rest of it.
    mean_along: Vec<f64>,
    mean_beside: f64,
    /// The sum above 1, by rounding, that the stated shares were divided by.
    rounded: Option<f64>,
}

/// By how much shares of 1 that were rounded may exceed it in all.
const MOST_ROUNDING: f64 = 0.01;

impl Spectrum {
    /// The spectrum of `dimension` = d features with the eigenvalues `signals` (in any order, fewer than d) above d -
    /// m others that equal `bulk`. For unit-norm records they sum to 1.
    ///
    /// # Errors
    /// [`PredictionError::Spectrum`] for values that are not finite or below 0, signals below the bulk, or too many of
    /// them.
    pub fn new(dimension: usize, mut signals: Vec<f64>, bulk: f64) -> Result<Self, PredictionError> {
        let usable = |value: f64, least: f64| value.is_finite() && value >= least;
        let problem = if !usable(bulk, 0.0) {
            Some((bulk, "the bulk must be a finite number of at least 0"))
        } else if signals.len() >= dimension {
            Some((signals.len() as f64, "there must be fewer signals than features"))
        } else {
            let bad = signals.iter().find(|&&signal| !usable(signal, bulk));
            bad.map(|&signal| (signal, "every signal must be a finite number of at least the bulk"))
        };
        if let Some((value, requirement)) = problem {
            return Err(PredictionError::Spectrum { value, requirement });
        }
        sort_descending(&mut signals);
        Ok(Self { dimension, mean_along: vec![0.0; signals.len()], signals, bulk, mean_beside: 0.0, rounded: None })
    }

    /// The spectrum of unit-norm records: the rest of 1 after the `signals` is spread evenly over the other directions.
    /// Signals that sum to more than 1 by rounding, at most a hundredth, are divided by their sum.
    ///
    /// # Errors
    /// [`PredictionError::Sum`] for signals that sum to more, and as [`Spectrum::new`]: above all for signals that are
    /// not above the rest.
    pub fn of_unit_trace(dimension: usize, mut signals: Vec<f64>) -> Result<Self, PredictionError> {
        let sum: f64 = signals.iter().sum();
        // That of 1.01 itself has an error in its last digits.
        if sum > 1.0 + MOST_ROUNDING + 1e-9 {
            return Err(PredictionError::Sum(sum));
        }
        let rounded = (sum > 1.0 + 1e-9).then_some(sum);
        if rounded.is_some() {
            signals.iter_mut().for_each(|signal| *signal /= sum);
        }
        let bulk = (1.0 - sum).max(0.0) / dimension.saturating_sub(signals.len()).max(1) as f64;
        Ok(Self { rounded, ..Self::new(dimension, signals, if bulk.is_finite() { bulk } else { 0.0 })? })
    }

    /// The spectrum of a population that is described: `signals` above others that equal `bulk`, as of
    /// [`Spectrum::new`], or that share the rest of 1, as of [`Spectrum::of_unit_trace`], where none is given.
    ///
    /// # Errors
    /// As these.
    pub fn stated(dimension: usize, signals: Vec<f64>, bulk: Option<f64>) -> Result<Self, PredictionError> {
        match bulk {
            Some(bulk) => Self::new(dimension, signals, bulk),
            None => Self::of_unit_trace(dimension, signals),
        }
    }

    /// The spectrum whose eigenvalues about a mean, orthogonal to the components, are these, where the mean has this
    /// `share` of the second moments about zero.
    ///
    /// # Errors
    /// As [`Spectrum::new`] and [`Spectrum::with_mean_share`].
    pub fn about_mean(dimension: usize, signals: &[f64], bulk: f64, share: f64) -> Result<Self, PredictionError> {
        let about_zero = 1.0 - share;
        let signals = signals.iter().map(|signal| signal / about_zero).collect();
        Self::new(dimension, signals, bulk / about_zero)?.with_mean_share(share)
    }

    /// The spectrum about a mean, orthogonal to the components, that has this `share` of the second moments about zero:
    /// these keep their trace, so the eigenvalues become 1 - share of what they were. Only predictions for tasks with
    /// centring depend on the mean.
    ///
    /// # Errors
    /// [`PredictionError::MeanShare`] unless the share is at least 0 and below 1.
    pub fn with_mean_share(mut self, share: f64) -> Result<Self, PredictionError> {
        if !(0.0..1.0).contains(&share) {
            return Err(PredictionError::MeanShare(share));
        }
        let trace = self.signals.iter().sum::<f64>() + self.bulk * (self.dimension - self.signals.len()) as f64;
        self.signals.iter_mut().for_each(|signal| *signal *= 1.0 - share);
        self.bulk *= 1.0 - share;
        self.mean_beside = share * trace;
        Ok(self)
    }

    /// The spectrum of the population where every record is multiplied by a factor with this mean square.
    pub(crate) fn scaled(mut self, mean_square: f64) -> Self {
        self.signals.iter_mut().chain(&mut self.mean_along).for_each(|value| *value *= mean_square);
        self.bulk *= mean_square;
        self.mean_beside *= mean_square;
        self
    }

    /// Reads the spectrum from an estimate: eigenvalues above the noise edge, corrected for the noise.
    ///
    /// # Errors
    /// [`PredictionError::Fantope`] when the eigendecomposition fails.
    pub fn of_estimate(covariance: &Covariance) -> Result<Self, PredictionError> {
        let law = covariance.noise_law();
        let Some(mean) = covariance.mean() else {
            return law.spectrum_of(covariance.matrix());
        };
        let (eigen, mean) = (symmetric_eigen(covariance.matrix()).map_err(FantopeError::from)?, mean.without_bias());
        let split = split_spectrum(&eigen.values, &law);
        let component = |index: usize| {
            let square = eigen.vectors.column(index).dot(&mean).powi(2);
            Some((split.eigenvalue_along(index, eigen.values[index], &law, square)?, square))
        };
        let components = sorted_descending((0..mean.len()).map_while(component).collect(), |(signal, _)| *signal);
        let (signals, mean_along): (Vec<f64>, Vec<f64>) = components.into_iter().unzip();
        let mean_beside = (mean.norm_squared() - mean_along.iter().sum::<f64>()).max(0.0);
        Ok(Self { dimension: mean.len(), signals, bulk: split.bulk.level(), mean_along, mean_beside, rounded: None })
    }

    /// The square of the mean, where there is one.
    fn mean_square(&self) -> f64 {
        self.mean_along.iter().sum::<f64>() + self.mean_beside
    }

    /// The number of features, d.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The eigenvalues above the bulk, descending.
    #[must_use]
    pub fn signals(&self) -> &[f64] {
        &self.signals
    }

    /// Every other eigenvalue.
    #[must_use]
    pub fn bulk(&self) -> f64 {
        self.bulk
    }
}

impl NoiseLaw {
    /// Reads the spectrum from an estimate (d × d) of second moments with this law: eigenvalues above the noise edge,
    /// corrected for the noise.
    ///
    /// # Errors
    /// [`PredictionError::Fantope`] when the eigendecomposition fails.
    pub fn spectrum_of(&self, estimate: &DMatrix<f64>) -> Result<Spectrum, PredictionError> {
        let observed = symmetric_eigenvalues(estimate).map_err(FantopeError::from)?;
        let split = split_spectrum(&observed, self);
        let (signals, bulk) = (split.eigenvalues, split.bulk.level());
        let mean_along = vec![0.0; signals.len()];
        Ok(Spectrum { dimension: observed.len(), signals, bulk, mean_along, mean_beside: 0.0, rounded: None })
    }
}

/// The prediction for the leading k components.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Prediction {
    /// The expected [share found](crate::subspace::share_found) of the structure, 0 to 1; `None` without signals.
    pub share_found: Option<f64>,
    /// Expected `||sin Theta||_F^2` of the whole subspace, 0 to `uninformed`: the sum over the components.
    pub sin_theta_squared: f64,
    /// For each component v, most variance first, the expected `1 - ||V^T v||^2`: the part of the true component that
    /// the recovered subspace misses.
    pub per_component: Vec<f64>,
    /// Whether the eigenvalue of each is above the threshold. If not, an eigendecomposition finds nothing of it: more
    /// reports, a larger epsilon, or sparse recovery with a small support are needed.
    pub recoverable: Vec<bool>,
    /// `k (1 - k/d)`: the error of a random subspace.
    pub uninformed: f64,
    /// The true eigenvalue above which a component can be recovered at all.
    pub threshold: f64,
}

/// Serializes a prediction of a plan, which itself has the error of a random subspace.
fn alone<S: Serializer>(prediction: &Option<Prediction>, serializer: S) -> Result<S::Ok, S::Error> {
    let Some(found) = prediction else { return serializer.serialize_none() };
    let mut document = serializer.serialize_struct("Prediction", 5)?;
    document.serialize_field("share_found", &found.share_found)?;
    document.serialize_field("sin_theta_squared", &found.sin_theta_squared)?;
    document.serialize_field("per_component", &found.per_component)?;
    document.serialize_field("recoverable", &found.recoverable)?;
    document.serialize_field("threshold", &found.threshold)?;
    document.end()
}

/// Predicts the error of the leading `rank` components of an estimate, relative to the population from which the
/// records are a sample.
///
/// Over the grid of docs/guides/how-many-people.md simulated errors are within some 10 % of it, on both sides of the
/// threshold. It costs some hundred small eigenvalue problems: about a millisecond for up to five components.
///
/// # Errors
/// [`PredictionError::Dimension`] when the law is for another number of features, [`PredictionError::Fantope`] when
/// the rank exceeds it.
pub(crate) fn predict(spectrum: &Spectrum, rank: Rank, law: &NoiseLaw) -> Result<Prediction, PredictionError> {
    let dimension = spectrum.dimension;
    if law.dimension() != dimension {
        return Err(PredictionError::Dimension { expected: law.dimension(), found: dimension });
    }
    rank.check(dimension)?;
    let bulk = bulk_of(spectrum, rank, law);
    let (k, d) = (rank.value() as f64, dimension as f64);
    let captured = finite::captured(spectrum, rank.value(), law, &bulk)?;
    // Any basis captures k in all: what the components leave is spread over the bulk.
    let rest = (k - captured.iter().sum::<f64>()) / (d - captured.len() as f64);
    let missed = |index: usize| (1.0 - captured.get(index).copied().unwrap_or(rest)).clamp(0.0, 1.0 - k / d);
    let per_component: Vec<f64> = (0..rank.value()).map(missed).collect();
    let (threshold, level) = (bulk.threshold(), spectrum.bulk);
    let is_above = |index: usize| spectrum.signals.get(index).copied().unwrap_or(level) > threshold;
    Ok(Prediction {
        share_found: share_found(spectrum, &captured, &per_component),
        sin_theta_squared: per_component.iter().sum(),
        per_component,
        recoverable: (0..rank.value()).map(is_above).collect(),
        uninformed: k * (1.0 - k / d),
        threshold,
    })
}

/// The expected share of the structure, of which `captured` are the expected squared cosines of all signals, and
/// `missed` what is left of the leading k components.
fn share_found(spectrum: &Spectrum, captured: &[f64], missed: &[f64]) -> Option<f64> {
    let random = missed.len() as f64 / spectrum.dimension as f64;
    let (mut found, mut most, mut of_random) = (0.0, 0.0, 0.0);
    for (index, (signal, &captured)) in spectrum.signals.iter().zip(captured).enumerate() {
        let above = signal - spectrum.bulk;
        found += above * missed.get(index).map_or(captured, |missed| 1.0 - missed);
        most += if index < missed.len() { above } else { 0.0 };
        of_random += above * random;
    }
    share_of_structure(found, most, of_random).map(|share| share.clamp(0.0, 1.0))
}

/// Predicts the error of the leading components of the estimate itself, with its own spectrum.
///
/// ```
/// use ldp_pca::{Covariance, Rank, predict_from_estimate};
/// # use ldp_pca::{Accumulator, Bounding, Epsilon, Folds, MechanismSpec, Schema, Task};
/// # let mechanism = MechanismSpec::double_cap(Epsilon::new(2.0)?);
/// # let task = Task::new(Schema::numeric(2)?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
/// # let record = task.bound(vec![3.0, 4.0])?;
/// # let mut accumulator = Accumulator::new(&task);
/// # for _ in 0..2_000 {
/// #     accumulator.push(task.randomize(&record, None)?)?;
/// # }
/// let covariance = Covariance::estimate(accumulator.aggregate()?, &task)?;
/// let prediction = predict_from_estimate(&covariance, Rank::new(1)?)?;
/// println!("{:.3} of {:.3}", prediction.sin_theta_squared, prediction.uninformed);
/// assert!(prediction.sin_theta_squared <= prediction.uninformed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`PredictionError::Fantope`] when the rank exceeds the number of features, or the eigendecomposition fails.
pub fn predict_from_estimate(covariance: &Covariance, rank: Rank) -> Result<Prediction, PredictionError> {
    predict(&Spectrum::of_estimate(covariance)?, rank, &covariance.noise_law())
}

/// The bulk below the leading components. Those of the components without a signal are not part of it.
fn bulk_of(spectrum: &Spectrum, rank: Rank, law: &NoiseLaw) -> NoiseBulk {
    let others = spectrum.dimension - spectrum.signals.len().max(rank.value());
    law.bulk(spectrum.bulk, others).beside(law.excess(spectrum.mean_beside))
}

/// Reasons why there is no prediction.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PredictionError {
    /// A spectrum that no population has.
    #[error("the spectrum has {}: {requirement}", Decimal(*value))]
    Spectrum {
        /// The offending number.
        value: f64,
        /// The requirement.
        requirement: &'static str,
    },
    /// Eigenvalues that no unit-norm records have.
    #[error(
        "the eigenvalues sum to {}: those of unit-norm records sum to 1, so state shares of the total variance",
        Decimal(*.0)
    )]
    Sum(f64),
    /// A rank that leaves nothing out.
    #[error("the rank {rank} is not below the dimension {dimension}: plan for fewer components than features")]
    Rank {
        /// The rank.
        rank: usize,
        /// The number of features.
        dimension: usize,
    },
    /// A target out of range.
    #[error(
        "the target error is {}: it must be above 0 and below {uninformed}, which a random subspace has without a \
            single report",
        Decimal(*target)
    )]
    Target {
        /// The target.
        target: f64,
        /// k (1 - k/d).
        uninformed: f64,
    },
    /// A share of the structure out of range.
    #[error(
        "the share of the structure is {}: it must be above 0, which a random subspace has on average, and below 1",
        Decimal(*.0)
    )]
    Share(f64),
    /// A share of the second moments that no mean has.
    #[error("the mean's share of the second moments is {}: it must be at least 0 and below 1", Decimal(*.0))]
    MeanShare(f64),
    /// The law and the spectrum disagree on the number of features.
    #[error("the spectrum has {found} features but the collection has {expected}: state that many")]
    Dimension {
        /// The number in the law.
        expected: usize,
        /// The number in the spectrum.
        found: usize,
    },
    /// The mechanism cannot have these parameters.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    /// The law, without reports.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// A second wave.
    #[error(transparent)]
    Refinement(#[from] crate::waves::RefinementError),
    /// There are no two waves of this mechanism.
    #[error("two waves are planned for double-cap without centring: choose it, or plan one wave")]
    OneWave,
    /// A collection that is smaller than one of its batches.
    #[error(
        "{records} reports fill no batch of {honest_reports} honest reports, and nothing would be released: plan for \
            more reports, or for a smaller batch"
    )]
    Batch {
        /// The reports of the collection.
        records: u64,
        /// The honest reports in one batch.
        honest_reports: u64,
    },
    /// The amplification of an anonymised batch.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// The rank, or the eigendecomposition.
    #[error(transparent)]
    Fantope(#[from] FantopeError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::tests::{double_cap_law, gaussian_law};
    use crate::tests::rank;

    #[test]
    fn far_above_the_threshold_it_is_the_first_order_formula() {
        for law in [double_cap_law(40, 2.0, 10_000_000), gaussian_law(40, 2.0, 100_000_000)] {
            let spectrum = Spectrum::new(40, vec![0.2, 0.4], 0.01).unwrap();
            let prediction = predict(&spectrum, rank(2), &law).unwrap();
            let first_order = |signal| 38.0 * law.cross_variance(signal, 0.01) / (signal - 0.01_f64).powi(2);
            for (missed, signal) in prediction.per_component.iter().zip([0.4, 0.2]) {
                assert!((missed / first_order(signal) - 1.0).abs() < 0.02, "{prediction:?}");
            }
        }
    }

    #[test]
    fn a_component_left_out_turns_the_one_kept() {
        let law = double_cap_law(20, 2.0, 10_000_000);
        let near = Spectrum::new(20, vec![0.4, 0.3], 0.01).unwrap();
        let first = predict(&near, rank(1), &law).unwrap();
        let pair = law.cross_variance(0.4, 0.3) / 0.1_f64.powi(2);
        let both = predict(&near, rank(2), &law).unwrap();
        let turned = first.sin_theta_squared - both.per_component[0];
        assert!((turned / pair - 1.0).abs() < 0.01, "{turned} {pair}");
        // Tied components cannot be distinguished: half of either is found.
        let tied = Spectrum::new(20, vec![0.4, 0.4], 0.01).unwrap();
        let half = predict(&tied, rank(1), &law).unwrap().sin_theta_squared;
        assert!((half - 0.5).abs() < 1e-3, "{half}");
    }

    /// Equal components of a number that is asked for have the share of their squared cosines; ties with one that is
    /// left out cost none of it.
    #[test]
    fn the_share_found_is_that_of_the_error_for_equal_components_and_that_of_the_variance_for_others() {
        let law = double_cap_law(40, 2.0, 3000);
        for (signals, k) in [(vec![0.3], 1), (vec![0.2; 3], 3)] {
            let found = predict(&Spectrum::of_unit_trace(40, signals).unwrap(), rank(k), &law).unwrap();
            let expected = 1.0 - found.sin_theta_squared / found.uninformed;
            assert!((found.share_found.unwrap() - expected).abs() < 1e-12 && expected < 0.97, "{found:?}");
        }
        let law = double_cap_law(20, 2.0, 10_000_000);
        let of = |signals, k| predict(&Spectrum::new(20, signals, 0.01).unwrap(), rank(k), &law).unwrap();
        let tied = of(vec![0.4, 0.4], 1);
        assert!((tied.sin_theta_squared - 0.5).abs() < 1e-3 && tied.share_found.unwrap() > 0.999, "{tied:?}");
        // What is missed of the weaker one is the smaller part of the structure.
        let law = double_cap_law(20, 2.0, 2000);
        let unequal = predict(&Spectrum::new(20, vec![0.4, 0.06], 0.01).unwrap(), rank(2), &law).unwrap();
        let of_error = 1.0 - unequal.sin_theta_squared / unequal.uninformed;
        assert!(unequal.share_found.unwrap() > of_error + 0.1, "{unequal:?}");
        assert_eq!(of(vec![], 3).share_found, None);
        assert_eq!(of(vec![0.4], 20).share_found, None);
    }

    #[test]
    fn below_the_threshold_it_nears_a_random_subspace() {
        let law = double_cap_law(40, 0.5, 100);
        let spectrum = Spectrum::new(40, vec![0.3], 0.7 / 39.0).unwrap();
        let prediction = predict(&spectrum, rank(3), &law).unwrap();
        assert!(prediction.threshold > 0.3);
        assert_eq!(prediction.recoverable, [false; 3]);
        assert!((prediction.uninformed - 3.0 * (1.0 - 3.0 / 40.0)).abs() < 1e-12);
        let ratio = prediction.sin_theta_squared / prediction.uninformed;
        assert!(ratio <= 1.0 && ratio > 0.97, "{ratio}");
        let nothing = Spectrum::new(40, vec![], 0.025).unwrap();
        assert_eq!(predict(&nothing, rank(3), &law).unwrap().sin_theta_squared, prediction.uninformed);
        assert_eq!(predict(&spectrum, rank(40), &law).unwrap().sin_theta_squared, 0.0);
    }

    #[test]
    fn spectra_are_taken_up_to_their_limits_and_no_further() {
        // As many signals as leave one direction, each as small as the bulk, in any order.
        let spectrum = Spectrum::new(3, vec![0.25, 0.5], 0.25).unwrap();
        assert_eq!((spectrum.dimension(), spectrum.signals(), spectrum.bulk()), (3, &[0.5, 0.25][..], 0.25));
        assert!(Spectrum::new(1, vec![], 0.0).unwrap().signals().is_empty());
        let refused = |signals: Vec<f64>, bulk| match Spectrum::new(3, signals, bulk).unwrap_err() {
            PredictionError::Spectrum { value, requirement } => (value, requirement.split(' ').nth(1).unwrap()),
            other => panic!("{other}"),
        };
        assert_eq!(refused(vec![0.5; 3], 0.25), (3.0, "must"));
        assert_eq!(refused(vec![0.5, 0.25f64.next_down()], 0.25), (0.25f64.next_down(), "signal"));
        assert_eq!(refused(vec![], -f64::MIN_POSITIVE), (-f64::MIN_POSITIVE, "bulk"));
        for (dimension, signals, bulk) in
            [(0, vec![], 0.0), (3, vec![0.5], f64::NAN), (3, vec![f64::INFINITY], 0.1), (3, vec![0.05], 0.1)]
        {
            let refused = Spectrum::new(dimension, signals, bulk);
            assert!(matches!(refused, Err(PredictionError::Spectrum { .. })), "{refused:?}");
        }
        // The rest of 1 is spread over the other eigenvalues. Signals are not refused because of rounding.
        assert_eq!(Spectrum::of_unit_trace(4, vec![0.5, 0.25]).unwrap().bulk(), 0.125);
        for sum in [1.0, 1.0 + 0.9e-9] {
            assert_eq!(Spectrum::of_unit_trace(4, vec![sum]).unwrap().bulk(), 0.0);
        }
        let rounded = Spectrum::of_unit_trace(5, vec![0.101, 0.4, 0.3, 0.2]).unwrap();
        assert!((rounded.signals()[0] - 0.4 / 1.001).abs() < 1e-12 && rounded.bulk() < 1e-12, "{rounded:?}");
        assert!(
            (Spectrum::of_unit_trace(4, vec![0.61, 0.4]).unwrap().signals().iter().sum::<f64>() - 1.0).abs() < 1e-12
        );
        for sum in [1.0101, 2.0, f64::INFINITY] {
            assert_eq!(Spectrum::of_unit_trace(4, vec![sum]), Err(PredictionError::Sum(sum)));
        }
        assert!(matches!(Spectrum::of_unit_trace(4, vec![f64::NAN]), Err(PredictionError::Spectrum { .. })));
        // Below what they leave to the others.
        assert!(matches!(Spectrum::of_unit_trace(4, vec![0.24]), Err(PredictionError::Spectrum { value: 0.24, .. })));
    }

    #[test]
    fn components_beyond_the_signals_have_the_bulk_and_are_missed_as_at_random() {
        let law = double_cap_law(40, 2.0, 100_000);
        let spectrum = Spectrum::new(40, vec![0.5], 0.5 / 39.0).unwrap();
        let prediction = predict(&spectrum, rank(3), &law).unwrap();
        assert_eq!(prediction.recoverable, [true, false, false]);
        // Three random directions miss as much as is possible.
        assert_eq!(prediction.per_component[1..], [1.0 - 3.0 / 40.0; 2]);
        assert_eq!(prediction.sin_theta_squared, prediction.per_component.iter().sum::<f64>());
        assert!(prediction.per_component[0] > 0.0 && prediction.per_component[0] < 0.1, "{prediction:?}");
        let at_threshold = Spectrum::new(40, vec![prediction.threshold], 0.0).unwrap();
        let threshold = predict(&at_threshold, rank(1), &law).unwrap().threshold;
        let at = |signal: f64| {
            predict(&Spectrum::new(40, vec![signal], 0.0).unwrap(), rank(1), &law).unwrap().recoverable[0]
        };
        assert_eq!([at(threshold), at(threshold.next_up())], [false, true]);
    }

    #[test]
    fn ranks_and_laws_of_other_dimensions_are_refused() {
        let spectrum = Spectrum::new(3, vec![0.5], 0.25).unwrap();
        let law = double_cap_law(4, 1.0, 10);
        assert_eq!(predict(&spectrum, rank(1), &law), Err(PredictionError::Dimension { expected: 4, found: 3 }));
        assert!(matches!(predict(&spectrum, rank(4), &double_cap_law(3, 1.0, 10)), Err(PredictionError::Fantope(_))));
    }
}
