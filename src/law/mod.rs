//! The law of the estimate: its scatter about the true second-moment matrix, and fresh draws of it.
//!
//! The aggregator knows the mechanism, so it knows the noise. [`NoiseLaw`] states the variances, draws the estimate
//! that another collection of as many records would have given ([`NoiseLaw::draw_with_rng`]), and says what becomes of
//! a component in it ([`NoiseLaw::bulk`]): which eigenvalue and how much of its direction remain.
//!
//! ```
//! use chacha20::ChaCha12Rng;
//! use ldp_pca::{mechanism::DoubleCap, internal::law::{NoiseLaw, SpikedCovariance}, privacy::Epsilon};
//! use ldp_pca::record::Bounding;
//! use nalgebra::{DMatrix, DVector};
//! use rand::SeedableRng;
//!
//! // 100,000 unit-norm records of 20 features; a quarter of their variance is along the first.
//! let mechanism = DoubleCap::new(20, Epsilon::new(2.0)?, 128, 16)?;
//! let law = NoiseLaw::new(&mechanism.into(), Bounding::UnitNorm, 100_000)?;
//! let first = DMatrix::from_fn(20, 1, |row, _| if row == 0 { 1.0 } else { 0.0 });
//! let truth = SpikedCovariance::new(first, DVector::from_element(1, 0.25), 0.75 / 19.0)?;
//! let estimate = law.draw_with_rng(&truth, &mut ChaCha12Rng::seed_from_u64(1))?;
//! assert!((estimate[(0, 0)] - 0.25).abs() < 5.0 * (2.0 * law.cross_variance(0.25, 0.25)).sqrt());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is exact and what is not
//!
//! Here M is the true second-moment matrix `E[x x^T]` of the population in the unit ball and n the number of reports.
//! The records count as an independent sample of the population: what is drawn carries the noise of the mechanism
//! *and* the sampling of the records, and errors are errors about M.
//!
//! *Gaussian mechanism.* The estimate is `mean(x x^T) + Z`. Z is drawn exactly up to the roundings to sixteenths of a
//! deviation that n reports have (their variance is included): a symmetric matrix of independent normal entries with
//! the calibration's deviations on and off the diagonal, over sqrt(n). `mean(x x^T)` is drawn as if the records were
//! normal with second moment M (a Wishart matrix); bounded records have other fourth moments. It matters little: the
//! variances of all its d^2 entries are at most 2/n together, where those of Z are about d^2 tau^2 / n.
//!
//! *Double-cap.* The estimate is `(mean(z z^T) / scale^2 - I) / gain + I/m` over the chosen candidates z, of m
//! coordinates and one length. Given a record's unit vector u, `z = s u + w` where w is uniform on a sphere across u.
//! [`Forms`](crate::mechanism::Forms) has the exact variances of what is linear in the estimate. What is *drawn* is the
//! Wishart matrix of *normal* z of another gain g, with the second moment `I + g M`, by Bartlett's decomposition
//! (1933). It has the mean M too, and the variance
//!
//! ```text
//! (1/g + M_ii) (1/g + M_jj) + M_ij^2
//! ```
//!
//! of an entry i ≠ j of one report. g is such that this is that of the reports themselves for unit vectors without a
//! direction of their own (`M = I/d`), and under `clip` where the record has nothing. Elsewhere they differ by a part
//! of the order of 1/m: in twelve features by up to 8 %, less in more.
//! [`NoiseLaw::bulk`] takes the g that is right at its own level, and so does what is drawn. Two things of real reports
//! are not in it: their trace, with the lift's part, is that of the sphere, always 1, where that of a Wishart matrix
//! scatters; and among components the drawn variance is too large, since s varies less than a normal variable. This
//! widens the spread of eigenvalues, on the safe side for an interval. u is the record's lift (x, sqrt(1 - |x|^2)); the
//! rows and columns of a Wishart matrix that belong to x are themselves Wishart.
//!
//! *A covariance about an estimated mean* is another estimate. [`NoiseLaw::about_mean`] is its law, to first order in
//! the noise for predictions, and what is drawn has all orders: `centred` has the derivation.

mod bulk;
mod centred;
mod chain;
mod form;
mod largest;
mod spiked;
mod split;
mod weighted;

pub use bulk::NoiseBulk;
pub(crate) use form::LinearForm;
pub use spiked::SpikedCovariance;

pub(crate) use self::centred::Along;
pub(crate) use self::largest::{DRAWS, LEVEL, draws_of};
pub(crate) use self::split::{split_leading, split_spectrum};
pub(crate) use self::weighted::WeightedLaw;

use fantope::FantopeError;
use nalgebra::DMatrix;
use rand::{Rng, RngExt};
use rand_distr::{ChiSquared, Distribution, StandardNormal};

use crate::centring::Centring;
use crate::decimal::Decimal;
use crate::linalg::EigenError;
use crate::mechanism::{LocalRandomizer, Mechanism, Moments, Perturbation};
use crate::record::Bounding;

/// The scatter of the mean of n debiased reports about the truth, in the units of the encoded features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseLaw {
    dimension: usize,
    records: u64,
    /// One unit of the bounded covariance in these units.
    scale: f64,
    /// With centring that of the second moments over 1 - w, which a mean of zero would leave alone.
    perturbation: Perturbation,
    about: Option<AboutMean>,
}

/// What an estimated mean adds to a law.
#[derive(Clone, Copy, Debug, PartialEq)]
struct AboutMean {
    centring: Centring,
    /// The excess of the noise in the direction of the mean.
    excess: f64,
}

impl NoiseLaw {
    /// The law for `records` reports of a mechanism on records bounded by `bounding`.
    ///
    /// # Errors
    /// [`NoiseError::NoRecords`].
    pub fn new(mechanism: &Mechanism, bounding: Bounding, records: u64) -> Result<Self, NoiseError> {
        let law = Self {
            dimension: mechanism.dimension(),
            records: 1,
            scale: bounding.covariance_scale(),
            perturbation: mechanism.perturbation(),
            about: None,
        };
        let law = match bounding {
            Bounding::UnitNorm => law.at_level(1.0 / law.dimension as f64),
            Bounding::Clip { .. } => law,
        };
        law.with_records(records)
    }

    /// The law without a mechanism: that of the second moments of `records` records themselves.
    ///
    /// # Errors
    /// [`NoiseError::NoRecords`].
    pub fn of_records(dimension: usize, bounding: Bounding, records: u64) -> Result<Self, NoiseError> {
        let perturbation = Perturbation::Additive { diagonal: 0.0, off_diagonal: 0.0 };
        let one = Self { dimension, records: 1, scale: bounding.covariance_scale(), perturbation, about: None };
        one.with_records(records)
    }

    /// The number of features, d.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The number of reports, n.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The law of the estimate from `records` reports instead.
    ///
    /// # Errors
    /// [`NoiseError::NoRecords`].
    pub fn with_records(self, records: u64) -> Result<Self, NoiseError> {
        if records == 0 { Err(NoiseError::NoRecords) } else { Ok(Self { records, ..self }) }
    }

    /// Variance of `u^T S v` for two orthogonal unit eigenvectors of the truth with eigenvalues `first` and `second`.
    ///
    /// ```text
    /// double-cap   (1 + gain first) (1 + gain second) / (gain^2 n)
    /// Gaussian     (tau^2 + first second) / n          tau off the diagonal (for dense u, v, or isotropic noise)
    /// ```
    #[must_use]
    pub fn cross_variance(&self, first: f64, second: f64) -> f64 {
        self.variance_between(first.into(), second.into())
    }

    /// Draws the estimate (d × d, symmetric to the last bit) that n records of a population with second-moment matrix
    /// `truth` would give. The module's documentation says what is exact. Costs `O(d^3)` operations of dense products.
    /// A seeded `rng` makes it reproducible.
    ///
    /// # Errors
    /// [`NoiseError::Dimension`] for a truth of another dimension.
    pub fn draw_with_rng<R: Rng + ?Sized>(
        &self,
        truth: &SpikedCovariance,
        rng: &mut R,
    ) -> Result<DMatrix<f64>, NoiseError> {
        self.draw_about_with_rng(truth, &[], rng)
    }

    /// Draws the estimate (d × d, symmetric to the last bit) that n records of a population would give, for a law about
    /// an estimated mean: the population also has this `mean` (d numbers, in the units of the features; zero if there
    /// are none). Other laws are about zero, and the mean is part of their truth.
    ///
    /// # Errors
    /// As [`NoiseLaw::draw_with_rng`].
    pub(crate) fn draw_about_with_rng<R: Rng + ?Sized>(
        &self,
        truth: &SpikedCovariance,
        mean: &[f64],
        rng: &mut R,
    ) -> Result<DMatrix<f64>, NoiseError> {
        let (expected, found) = (self.dimension, truth.dimension());
        if found != expected {
            return Err(NoiseError::Dimension { expected, found });
        }
        match self.about {
            Some(about) => self.draw_centred(about.centring, truth, mean, rng),
            None => Ok(self.draw_moments(truth, rng)),
        }
    }

    /// The estimate of second moments about zero.
    fn draw_moments<R: Rng + ?Sized>(&self, truth: &SpikedCovariance, rng: &mut R) -> DMatrix<f64> {
        let records = self.records as f64;
        let mut estimate = match self.at_level(truth.bulk()).perturbation {
            Perturbation::Additive { diagonal, off_diagonal } => {
                let deviation = |value: f64| (value / self.scale).sqrt();
                let mut mean = self.mean_square(truth, deviation, rng);
                for row in 0..self.dimension {
                    for column in row..self.dimension {
                        let deviation = if row == column { diagonal } else { off_diagonal };
                        let noise = deviation / records.sqrt() * rng.sample::<f64, _>(StandardNormal);
                        mean[(row, column)] += noise;
                        mean[(column, row)] = mean[(row, column)];
                    }
                }
                mean
            }
            Perturbation::Directions { gain, .. } => {
                let deviation = |value: f64| (1.0 + gain * value / self.scale).sqrt();
                let mean = self.mean_square(truth, deviation, rng);
                (mean - DMatrix::identity(self.dimension, self.dimension)) / gain
            }
        };
        estimate.fill_lower_triangle_with_upper_triangle();
        estimate * self.scale
    }

    /// The mean of `y y^T` over n normal vectors y that have the standard deviation `deviation(lambda)` along every
    /// eigenvector of the truth.
    fn mean_square<R: Rng + ?Sized>(
        &self,
        truth: &SpikedCovariance,
        deviation: impl Fn(f64) -> f64,
        rng: &mut R,
    ) -> DMatrix<f64> {
        let bulk = deviation(truth.bulk());
        let mut factor = standard_wishart_factor(self.dimension, self.records, rng);
        let components = truth.components();
        let mut along = components.tr_mul(&factor);
        for (mut row, &variance) in along.row_iter_mut().zip(truth.variances()) {
            row *= deviation(variance) - bulk;
        }
        factor *= bulk;
        factor.gemm(1.0, components, &along, 1.0);
        let mut mean = DMatrix::zeros(self.dimension, self.dimension);
        mean.gemm(1.0 / self.records as f64, &factor, &factor.transpose(), 0.0);
        mean
    }

    /// Refuses an estimate of another dimension.
    pub(crate) fn check_estimate(&self, estimate: &DMatrix<f64>) -> Result<(), FantopeError> {
        let ((rows, columns), dimension) = (estimate.shape(), self.dimension);
        if rows == dimension { Ok(()) } else { Err(FantopeError::ShapeMismatch { rows, columns, dimension }) }
    }
}

/// A random `A` (d × min(d, n)) such that `A A^T` has the Wishart law of n standard normal vectors: Bartlett's lower
/// triangle of normal entries with chi variables on the diagonal, or the n vectors themselves if they are fewer than d.
fn standard_wishart_factor<R: Rng + ?Sized>(dimension: usize, records: u64, rng: &mut R) -> DMatrix<f64> {
    if records < dimension as u64 {
        return DMatrix::from_fn(dimension, records as usize, |_, _| rng.sample(StandardNormal));
    }
    DMatrix::from_fn(dimension, dimension, |row, column| match row.cmp(&column) {
        core::cmp::Ordering::Less => 0.0,
        core::cmp::Ordering::Equal => chi_squared(records - row as u64, rng).sqrt(),
        core::cmp::Ordering::Greater => rng.sample(StandardNormal),
    })
}

/// The square of the length of a standard normal vector in `degrees` dimensions.
fn chi_squared<R: Rng + ?Sized>(degrees: u64, rng: &mut R) -> f64 {
    // The constructor refuses only degrees that are not positive.
    ChiSquared::new(degrees as f64).map_or(0.0, |law| law.sample(rng))
}

/// Reasons why there is no law, or nothing can be drawn from it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NoiseError {
    /// No reports.
    #[error("0 reports give no estimate: state at least 1")]
    NoRecords,
    /// The truth has another dimension than the law.
    #[error("the matrix has dimension {found} but the collection has {expected} features: pass one of that dimension")]
    Dimension {
        /// The dimension of the law.
        expected: usize,
        /// The dimension passed.
        found: usize,
    },
    /// A variance is negative or not finite.
    #[error("variance {} is not usable: a second-moment matrix has finite eigenvalues of at least 0", Decimal(*.0))]
    Variance(f64),
    /// The components do not fit their variances, or are not orthonormal.
    #[error(
        "{columns} components of {rows} rows with {variances} variances: pass orthonormal columns and one variance each"
    )]
    Components {
        /// Rows passed.
        rows: usize,
        /// Columns passed.
        columns: usize,
        /// Variances passed.
        variances: usize,
    },
    /// The matrix is not a finite symmetric one.
    #[error(transparent)]
    Eigen(#[from] EigenError),
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::mechanism::{Calibration, DoubleCap, Gaussian};
    use crate::privacy::Delta;
    use crate::privacy::tests::epsilon;
    use crate::tests::clip;
    use chacha20::ChaCha12Rng;
    use nalgebra::DVector;
    use rand::SeedableRng;

    pub(crate) fn double_cap_law(dimension: usize, value: f64, records: u64) -> NoiseLaw {
        let double_cap = DoubleCap::new(dimension, epsilon(value), 64, 8).unwrap();
        NoiseLaw::new(&Mechanism::DoubleCap(double_cap), Bounding::UnitNorm, records).unwrap()
    }

    pub(crate) fn gaussian_law(dimension: usize, value: f64, records: u64) -> NoiseLaw {
        let delta = Delta::new(1e-6).unwrap();
        let gaussian = Gaussian::new(dimension, epsilon(value), delta, Calibration::Analytic).unwrap();
        NoiseLaw::new(&Mechanism::Gaussian(gaussian), Bounding::UnitNorm, records).unwrap()
    }

    /// `signals` along random orthonormal directions, the rest of trace 1 spread evenly.
    pub(crate) fn unit_trace(dimension: usize, signals: &[f64], seed: u64) -> SpikedCovariance {
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        let square = DMatrix::<f64>::from_fn(dimension, signals.len(), |_, _| rng.sample(StandardNormal));
        let bulk = (1.0 - signals.iter().sum::<f64>()) / (dimension - signals.len()) as f64;
        SpikedCovariance::new(square.qr().q(), DVector::from_row_slice(signals), bulk).unwrap()
    }

    impl NoiseLaw {
        /// Variances of the entries of the estimate for a true second-moment matrix (both d × d), nearly as they are
        /// drawn.
        pub(crate) fn entry_variances(&self, truth: &DMatrix<f64>) -> DMatrix<f64> {
            let squared_scale = self.scale * self.scale;
            DMatrix::from_fn(self.dimension, self.dimension, |row, column| {
                let excess = match self.perturbation {
                    Perturbation::Additive { diagonal, off_diagonal } if row == column => {
                        squared_scale * (diagonal * diagonal - off_diagonal * off_diagonal)
                    }
                    // Two equal unit vectors have an inner product: Isserlis' second pairing.
                    Perturbation::Directions { gain, .. } if row == column => {
                        squared_scale * (1.0 + 2.0 * gain * truth[(row, row)] / self.scale) / (gain * gain)
                    }
                    _ => 0.0,
                };
                self.cross_variance(truth[(row, row)], truth[(column, column)])
                    + (truth[(row, column)].powi(2) + excess) / self.records as f64
            })
        }
    }

    /// 4,000 draws give each mean to 1/63 of a deviation and each variance, whose law is near normal at 50 records, to
    /// 2.5 %; five standard errors each (alpha 1e-6 an entry).
    #[test]
    fn draws_have_the_stated_mean_and_variances() {
        let truth = unit_trace(4, &[0.6, 0.3], 1);
        for law in [double_cap_law(4, 4.0, 50), gaussian_law(4, 8.0, 50), double_cap_law(4, 2.0, 50)] {
            let mut rng = ChaCha12Rng::seed_from_u64(2);
            let draws: Vec<_> = (0..4000).map(|_| law.draw_with_rng(&truth, &mut rng).unwrap()).collect();
            let variances = law.at_level(truth.bulk()).entry_variances(&truth.matrix());
            let expected = truth.matrix();
            for (i, j) in [(0, 0), (0, 1), (1, 3), (2, 2), (3, 2)] {
                let mean = draws.iter().map(|draw| draw[(i, j)]).sum::<f64>() / 4000.0;
                let variance = draws.iter().map(|draw| (draw[(i, j)] - mean).powi(2)).sum::<f64>() / 4000.0;
                assert!((mean - expected[(i, j)]).abs() < 5.0 / 63.0 * variances[(i, j)].sqrt(), "{law:?} {i} {j}");
                assert!((variance / variances[(i, j)] - 1.0).abs() < 0.125, "{law:?} {i} {j}: {variance}");
            }
            assert!(draws.iter().all(|draw| *draw == draw.transpose()));
        }
    }

    #[test]
    fn fewer_records_than_features_give_a_matrix_of_that_rank() {
        let law = double_cap_law(6, 2.0, 3);
        let drawn = law.draw_with_rng(&unit_trace(6, &[0.5], 1), &mut ChaCha12Rng::seed_from_u64(3)).unwrap();
        let truth = unit_trace(6, &[0.5], 1);
        let Perturbation::Directions { gain, .. } = law.at_level(truth.bulk()).perturbation else { panic!("additive") };
        let sums = drawn * gain + DMatrix::identity(6, 6);
        let values = crate::linalg::symmetric_eigenvalues(&sums).unwrap();
        assert!(values[2] > 0.01 && values[3].abs() < 1e-12, "{values}");
    }

    #[test]
    fn the_units_are_those_of_the_features() {
        let double_cap = |bounding| {
            let mechanism = DoubleCap::new(5, epsilon(2.0), 64, 8).unwrap();
            NoiseLaw::new(&Mechanism::DoubleCap(mechanism), bounding, 1000).unwrap()
        };
        // Only the length of a unit differs.
        let scaled = double_cap(clip(10.0));
        let unit = NoiseLaw { scale: 1.0, ..scaled };
        let truth = unit_trace(5, &[0.5], 1);
        let larger = SpikedCovariance::new(truth.components().clone(), truth.variances() * 100.0, truth.bulk() * 100.0);
        let draw = |law: NoiseLaw, truth: &SpikedCovariance| {
            law.draw_with_rng(truth, &mut ChaCha12Rng::seed_from_u64(4)).unwrap()
        };
        let difference = draw(scaled, &larger.unwrap()) - draw(unit, &truth) * 100.0;
        assert!(difference.norm() < 1e-10, "{difference}");
        let thresholds = [unit.bulk(0.1, 4).threshold() * 100.0, scaled.bulk(10.0, 4).threshold()];
        assert!((thresholds[0] - thresholds[1]).abs() < 1e-10);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let law = double_cap_law(5, 2.0, 10);
        let other = unit_trace(4, &[0.5], 1);
        let expected = NoiseError::Dimension { expected: 5, found: 4 };
        assert_eq!(law.draw_with_rng(&other, &mut ChaCha12Rng::seed_from_u64(5)), Err(expected));
        assert_eq!(law.with_records(0), Err(NoiseError::NoRecords));
        assert_eq!(law.with_records(7).unwrap().records(), 7);
    }
}
