//! Two waves of people: the first wave's estimate, and the cross block that the second wave reports.
//!
//! The first wave gives the leading directions V (d × k) of its estimate, their eigenvalues and the bulk. The second
//! wave's people report products of their parts along and across V ([`refinement`](super::refinement)). What is put
//! together is
//!
//! ```text
//! S = b I + (V + T) (A - b) (V + T)' + further components of the first wave,     T = C (A - b)^-1
//! ```
//!
//! with A the variances that the turned directions V have, and C the cross block. The first wave says that C is 0, with
//! a known variance, because V are eigenvectors of its estimate; the second says what it found. Both are weighted by
//! the inverse of their variances. With `T A T'` the block across V is completed to the rank of the components: without
//! it, a turned V would leave the components' variance across it out. Towards a further component that the first wave
//! found, T has its own distance, and that component is kept where it is across all V + T. Loadings of V + T that are
//! noise are moved to zero (`shrinkage`).
//!
//! The *assumption* is a population with a few components on an isotropic bulk, for which a clip leaves a known part
//! of the products (`clipping`). Where it is wrong, another part is left, and the cross block is wrong in length and in
//! direction: [`Clipped::misfit`](super::clipping::Clipped::misfit) has a size for that.

mod answer;
mod sample;
mod shrinkage;

pub use answer::{FoundErrors, OF_FIRST_WAVE, RefinedFacts, SecondTask, refined_answer, refinement_of};
pub use sample::{PublicSample, SamplePlan};

use nalgebra::DMatrix;

use super::clipping::{Block, CLIPS, Clip, LEAST_GAP, gap};
use super::refinement::RefinementError;
use super::sums::SecondWave;
use crate::aggregate::AggregateError;
use crate::covariance::CovarianceError;
use crate::decimal::{Decimal, plural};
use crate::law::{NoiseLaw, split_spectrum};
use crate::linalg::symmetric_eigen;
use crate::prediction::PredictionError;
use crate::recovery::{AnswerError, FantopeError, Rank, RecoveryError};
use crate::task::TaskError;

/// The least distance of a further component, as a share of that of the bulk.
const LEAST_APART: f64 = 0.2;
/// The least part of a component's direction that is taken to be found.
const LEAST_COSINE: f64 = 0.1;

/// What the first wave found, in the units of the encoded features.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstWave {
    /// V, d × k.
    pub directions: DMatrix<f64>,
    /// The true eigenvalues of the components, as far as they are known.
    pub eigenvalues: Vec<f64>,
    /// The squares of the sines between directions and components.
    pub sines: Vec<f64>,
    /// The variance in every direction across the components.
    pub bulk: f64,
    /// Directions of further components, and their eigenvalues.
    pub further: (DMatrix<f64>, Vec<f64>),
    /// The variance that the first wave gives to what is between a component and a further one.
    beside_further: Vec<Vec<f64>>,
    /// How far the directions are off where a clip leaves less for it: 0 for a first wave, which is near enough.
    turned: Vec<f64>,
    /// Whether the directions have noise of the mechanism, not those of a public sample.
    private: bool,
    scale: f64,
}

/// Why two waves cannot be put together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RefineError {
    /// Numbers beyond those of floating point.
    #[error("the second wave has a number that is not finite")]
    NotFinite,
    /// The directions are not those of this first wave.
    #[error(
        "the directions of the second wave are not those of this aggregate or sample (squared sine {0:.3}): use the \
         one that its task was made from"
    )]
    Directions(f64),
    /// A public sample cannot be off by so much.
    #[error(
        "the error of the sample is {}: it must be above 0 and below {most:.4}, that of random components",
        Decimal(*error)
    )]
    SampleError {
        /// The error.
        error: f64,
        /// That of random components.
        most: f64,
    },
    /// The first wave has no components.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// There is no such second wave.
    #[error(transparent)]
    Refinement(#[from] RefinementError),
    /// There is no such task.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The sums are of another task.
    #[error(transparent)]
    Aggregate(#[from] AggregateError),
    /// The first wave has no estimate.
    #[error(transparent)]
    Covariance(#[from] CovarianceError),
    /// Two waves cannot be predicted.
    #[error(transparent)]
    Prediction(#[from] PredictionError),
    /// The estimate has no components.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// The task is not a second wave's.
    #[error("the task is not a second wave's: give the one that was made from the sums of the first wave")]
    NoSecondWave,
    /// It refines another number of components.
    #[error("the second wave's task refines {}: use that rank", plural(*.0 as u64, "component"))]
    Rank(usize),
}

impl FirstWave {
    /// Takes the estimate (d × d) of a first wave apart. `scale` is that of
    /// [`Bounding::covariance_scale`](crate::record::Bounding::covariance_scale).
    ///
    /// # Errors
    /// [`RecoveryError`] unless the estimate is symmetric and finite, of the law's dimension, and the rank below it.
    pub fn new(estimate: &DMatrix<f64>, law: &NoiseLaw, scale: f64, rank: Rank) -> Result<Self, RecoveryError> {
        law.check_estimate(estimate)?;
        let (dimension, k) = (law.dimension(), rank.value());
        if k >= dimension {
            return Err(FantopeError::RankExceedsDimension { rank: k, dimension: dimension - 1 }.into());
        }
        let eigen = symmetric_eigen(estimate)?;
        let split = split_spectrum(&eigen.values, law);
        let level = split.bulk.level();
        let least = split.bulk.threshold().max(level * (1.0 + LEAST_GAP)).max(1e-9 * scale);
        let known = |index: usize| split.eigenvalues.get(index).copied();
        let eigenvalues: Vec<f64> = (0..k).map(|index| known(index).unwrap_or(least).max(least)).collect();
        let sines = eigenvalues.iter().map(|&value| 1.0 - split.bulk.cos_squared(value).clamp(LEAST_COSINE, 1.0));
        let edge = split.bulk.edge_95();
        let further: Vec<usize> =
            (k..split.eigenvalues.len()).take_while(|&index| eigen.values[index] > edge).collect();
        let further_values: Vec<f64> = further.iter().map(|&index| split.eigenvalues[index]).collect();
        let beside = |value: &f64| further_values.iter().map(|other| law.cross_variance(*value, *other)).collect();
        Ok(Self {
            directions: eigen.vectors.columns(0, k).into_owned(),
            sines: sines.collect(),
            turned: vec![0.0; k],
            private: true,
            beside_further: eigenvalues.iter().map(beside).collect(),
            further: (eigen.vectors.columns(k, further.len()).into_owned(), further_values),
            eigenvalues,
            bulk: level,
            scale,
        })
    }

    fn block(&self) -> Block {
        let signals = self.eigenvalues.iter().chain(&self.further.1).map(|value| value / self.scale).collect();
        let (dimension, k) = self.directions.shape();
        Block::new(signals, self.bulk / self.scale, k, dimension)
    }

    /// A weight for each direction and the clip for the second wave, in the units of bounded records: the weights with
    /// the least error over the components, where the weighted parts have a mean square of 1, and the clip of `CLIPS`
    /// with the least error after it. `mechanism_gain` is that of the signed cap, and `records` the expected number of
    /// its reports.
    #[must_use]
    pub fn design(&self, mechanism_gain: f64, records: u64) -> (Vec<f64>, f64) {
        let block = self.block();
        let error = |clip: &Clip| {
            let of = |index: usize| {
                let (gap, factor) = (gap(block.leading[index], block.bulk), clip.left.with_bulk[index]);
                let own = (clip.width / (block.weights[index] * mechanism_gain * factor * gap)).powi(2);
                let noise = block.directions as f64 * own / records.max(1) as f64;
                remaining(self.sines[index], noise, clip.left.misfit(index, gap))
            };
            (0..block.weights.len()).map(of).sum::<f64>()
        };
        let clips = CLIPS.map(|kappa| block.clipped(kappa, &self.turned));
        let clip = clips.iter().min_by(|a, b| error(a).total_cmp(&error(b))).map_or(1.0, |clip| clip.width);
        (block.weights, clip)
    }

    /// The estimate of both waves, d × d, and below how many deviations of their noise the loadings of each component
    /// were moved to zero.
    ///
    /// # Errors
    /// [`RefineError`] where the second wave does not fit the first.
    pub fn refine(&self, second: &SecondWave) -> Result<(DMatrix<f64>, Vec<f64>), RefineError> {
        self.check(second)?;
        let (d, k) = self.directions.shape();
        // As the people had it, but for the rounding, with which it is not quite orthonormal.
        let qr = second.directions.clone().qr();
        let mut v = qr.q();
        for column in 0..k {
            if v.column(column).dot(&second.directions.column(column)) < 0.0 {
                v.column_mut(column).neg_mut();
            }
        }
        let left = self.block().model.clipped(&second.weights, second.clip, &self.turned);
        let (further, further_values) = &self.further;
        let mut cross = &second.block * self.scale;
        cross -= &v * v.tr_mul(&cross);
        let mut variances = Vec::with_capacity(k);
        let mut deviations = Vec::with_capacity(k);
        for column in 0..k {
            let eigenvalue = self.eigenvalues[column];
            let gap = gap(eigenvalue, self.bulk);
            let cosine = 1.0 - self.sines[column];
            variances.push(self.bulk + gap * cosine.max(LEAST_COSINE));
            let factor = left.with_bulk[column];
            let entry = self.entry_variance(second, column);
            let weight = |known: f64, factor: f64| {
                let own = entry / (factor * factor);
                if known > 0.0 { known / (known + own) } else { 0.0 }
            };
            let known = gap * gap * self.sines[column] * cosine / (d - k) as f64;
            let reported = cross.column(column).into_owned();
            let excess = variances[column] - self.bulk;
            let mut tilt = &reported * (weight(known, factor) / (factor * excess));
            deviations.push((weight(known, factor) * entry).sqrt() / (factor * excess));
            // Towards a further component the clip leaves another part, and the distance is another.
            for (other, direction) in further.column_iter().enumerate() {
                let factor = left.with_further[column][other];
                let apart = apart(eigenvalue, further_values[other], gap);
                let own = weight(self.beside_further[column][other], factor) / (factor * apart);
                let along = direction.dot(&reported) * own - direction.dot(&tilt);
                tilt.axpy(along, &direction, 1.0);
            }
            cross.set_column(column, &tilt);
        }
        let mut matrix = DMatrix::from_diagonal_element(d, d, self.bulk);
        let mut turned = &v + &cross;
        let thresholds = if self.private { shrinkage::shrink(&mut turned, &deviations) } else { vec![0.0; k] };
        for (column, variance) in turned.column_iter().zip(&variances) {
            matrix.ger(variance - self.bulk, &column, &column, 1.0);
        }
        // Across what was turned.
        let basis = turned.qr().q();
        for (column, value) in further.column_iter().zip(further_values) {
            let mut across = column.into_owned();
            across -= &basis * basis.tr_mul(&across);
            let square = across.norm_squared();
            if square > 0.1 {
                matrix.ger((value - self.bulk) / square, &across, &across, 1.0);
            }
        }
        matrix.fill_lower_triangle_with_upper_triangle();
        let finite = matrix.iter().all(|entry| entry.is_finite());
        if finite { Ok((matrix, thresholds)) } else { Err(RefineError::NotFinite) }
    }

    /// The variance of an entry of the second wave's block, towards the bulk.
    fn entry_variance(&self, second: &SecondWave, column: usize) -> f64 {
        let sampled = self.eigenvalues[column] * self.bulk / second.records.max(1) as f64;
        second.variances[column] * self.scale * self.scale + sampled
    }

    /// Refuses a second wave about other directions than these.
    fn check(&self, second: &SecondWave) -> Result<(), RefineError> {
        let (expected, found) = (self.directions.nrows(), second.directions.nrows());
        if expected != found {
            return Err(RefinementError::Dimension { expected, found }.into());
        }
        let count = self.directions.ncols() as f64;
        let off = (count - self.directions.tr_mul(&second.directions).norm_squared()).abs();
        if off < 1e-3 { Ok(()) } else { Err(RefineError::Directions(off)) }
    }
}

/// That from a further component, where the one from the bulk is given.
fn apart(eigenvalue: f64, other: f64, gap: f64) -> f64 {
    (eigenvalue - other).max(LEAST_APART * gap)
}

/// The squared sine that remains of `first`, where a second wave of the noise `noise` (of a tangent, in all directions)
/// is weighted with it, which adds the error `misfit` that nobody knows of.
fn remaining(first: f64, noise: f64, misfit: f64) -> f64 {
    let weight = first / (first + noise).max(f64::MIN_POSITIVE);
    (1.0 - weight).powi(2) * first + weight * weight * (noise + misfit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::tests::{double_cap_law, unit_trace};
    use crate::recovery::principal_components;
    use crate::subspace::{Subspace, sin_theta_squared};
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    fn first_wave(records: u64) -> (FirstWave, DMatrix<f64>, Subspace) {
        let truth = unit_trace(30, &[0.4, 0.2], 1);
        let law = double_cap_law(30, 2.0, records);
        let estimate = law.draw_with_rng(&truth, &mut ChaCha12Rng::seed_from_u64(4)).unwrap();
        let first = FirstWave::new(&estimate, &law, 1.0, Rank::new(2).unwrap()).unwrap();
        (first, truth.matrix(), Subspace::new(truth.components()).unwrap())
    }

    fn error(matrix: &DMatrix<f64>, truth: &Subspace) -> f64 {
        let found = principal_components(matrix, Rank::new(2).unwrap()).unwrap().vectors;
        sin_theta_squared(&Subspace::new(&found).unwrap(), truth).unwrap()
    }

    pub(super) fn second(
        first: &FirstWave,
        (weights, clip): &(Vec<f64>, f64),
        block: &DMatrix<f64>,
        variances: &[f64],
    ) -> SecondWave {
        SecondWave {
            directions: first.directions.clone(),
            weights: weights.clone(),
            clip: *clip,
            block: block.clone(),
            variances: variances.to_vec(),
            records: 1_000_000,
        }
    }

    /// A second wave without noise or clip leaves what is of second order: the eigenvalues are known to some percent.
    #[test]
    fn an_exact_cross_block_turns_the_components_to_the_true_ones() {
        let (first, truth, subspace) = first_wave(20_000);
        let before = error(&(&first.directions * first.directions.transpose()), &subspace);
        let v = &first.directions;
        let block = &truth * v - v * v.tr_mul(&(&truth * v));
        let (weights, _) = first.design(1.0, 1000);
        let design = (weights, 10.0);
        let (refined, _) = first.refine(&second(&first, &design, &block, &[1e-12; 2])).unwrap();
        let after = error(&refined, &subspace);
        assert!(before > 0.02 && after < 0.03 * before, "{before} {after}");
        // With noise that drowns it, the first wave's components are kept, but for what is shrunk.
        let (kept, _) = first.refine(&second(&first, &design, &block, &[1e6; 2])).unwrap();
        assert!((error(&kept, &subspace) / before - 1.0).abs() < 0.1);
    }

    #[test]
    fn degenerate_waves_have_finite_estimates_and_wrong_ones_errors() {
        let (first, ..) = first_wave(20_000);
        let design = first.design(0.9, 10_000);
        let (weights, _) = &design;
        let squares: f64 = weights.iter().zip(&first.eigenvalues).map(|(w, value)| w * w * value).sum();
        assert!((squares - 1.0).abs() < 1e-9);
        for size in [0.0, 1.0, 1e6, 1e100] {
            let block = DMatrix::from_fn(30, 2, |row, column| size * ((row + 3 * column) as f64).sin());
            for variance in [1e-30, 1e-3, 1e30] {
                let (refined, _) = first.refine(&second(&first, &design, &block, &[variance; 2])).unwrap();
                assert!(refined.iter().all(|entry| entry.is_finite()), "{size} {variance}");
            }
        }
        let zeros = DMatrix::zeros(30, 2);
        let nowhere = DMatrix::from_element(30, 2, f64::INFINITY);
        assert_eq!(first.refine(&second(&first, &design, &nowhere, &[1e-3; 2])), Err(RefineError::NotFinite));
        let other = first.directions.map(|_| 30f64.sqrt().recip());
        let of = |directions| SecondWave { directions, ..second(&first, &design, &zeros, &[1e-3; 2]) };
        assert!(matches!(first.refine(&of(other)), Err(RefineError::Directions(_))));
        let refused = RefinementError::Dimension { expected: 30, found: 29 };
        assert_eq!(first.refine(&of(DMatrix::identity(29, 2))), Err(refused.into()));
    }

    /// Of noise alone, of few reports, and of a matrix of zeros.
    #[test]
    fn a_first_wave_that_found_nothing_has_a_design_all_the_same() {
        let rank = Rank::new(2).unwrap();
        let law = double_cap_law(8, 1.0, 100);
        for estimate in [DMatrix::zeros(8, 8), DMatrix::identity(8, 8) * 0.125, DMatrix::identity(8, 8) * -3.0] {
            let first = FirstWave::new(&estimate, &law, 1.0, rank).unwrap();
            let design = first.design(0.7, 100);
            let (weights, clip) = &design;
            assert!(*clip > 0.0 && weights.iter().all(|weight| weight.is_finite() && *weight > 0.0));
            let block = DMatrix::from_element(8, 2, 0.3);
            let (refined, _) = first.refine(&second(&first, &design, &block, &[1e-3; 2])).unwrap();
            assert!(refined.iter().all(|entry| entry.is_finite()));
        }
        assert!(FirstWave::new(&DMatrix::zeros(7, 7), &law, 1.0, rank).is_err());
        assert!(FirstWave::new(&DMatrix::zeros(8, 8), &law, 1.0, Rank::new(8).unwrap()).is_err());
        assert!(FirstWave::new(&DMatrix::from_element(8, 8, f64::NAN), &law, 1.0, rank).is_err());
    }
}
