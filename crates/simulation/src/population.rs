//! The spiked model: a few directions stand out from isotropic noise.

use ldp_pca::internal::decimal::Decimal;
use ldp_pca::recovery::{FantopeError, Rank};
use ldp_pca::subspace::{Subspace, SubspaceError};
use nalgebra::{DMatrix, DVector, DVectorView, DVectorViewMut};
use rand::seq::index;
use rand::{Rng, RngExt};
use rand_distr::StandardNormal;

/// Unit-norm records `x = y / |y|`, `y = g + sqrt(signal) V f` with standard normal g (d) and f (k) and an
/// orthonormal V (d × k). With a mean of the squared length s along a unit vector m, `m^T V = 0`, they are
/// `sqrt(s) m + sqrt(1 - s) x` with such an x in the space orthogonal to m.
///
/// Normalising keeps the eigenvectors: V spans the leading k-dimensional eigenspace of `E[x x^T]`, and of the
/// covariance where there is a mean.
#[derive(Clone, Debug)]
pub struct SpikedModel {
    subspace: Subspace,
    signal: f64,
    mean: Option<SphereMean>,
}

/// A mean of records on the sphere, orthogonal to their components.
#[derive(Clone, Debug)]
struct SphereMean {
    direction: DVector<f64>,
    /// Its share of the second moments: the square of its length.
    share: f64,
}

impl SpikedModel {
    /// Draws the subspace: uniform over all of rank k, or over those on `sparsity` random coordinates.
    ///
    /// # Errors
    /// [`PopulationError`] when rank, sparsity and dimension do not fit, or the signal is not a finite number >= 0.
    pub fn draw<R: Rng + ?Sized>(
        dimension: usize,
        rank: Rank,
        signal: f64,
        sparsity: Option<usize>,
        rng: &mut R,
    ) -> Result<Self, PopulationError> {
        Self::check(dimension, rank, signal, sparsity)?;
        let support = index::sample(rng, dimension, sparsity.unwrap_or(dimension));
        let mut columns = DMatrix::zeros(dimension, rank.value());
        for row in support.iter() {
            for column in 0..rank.value() {
                columns[(row, column)] = rng.sample(StandardNormal);
            }
        }
        Ok(Self { subspace: Subspace::new(&columns)?, signal, mean: None })
    }

    /// This model with a mean in a random direction orthogonal to the components, which has this `share` of the second
    /// moments. For a share of 0 nothing is drawn.
    ///
    /// # Errors
    /// [`PopulationError::MeanShare`] unless the share is at least 0 and below 1, and there is such a direction.
    pub fn with_mean_share<R: Rng + ?Sized>(self, share: f64, rng: &mut R) -> Result<Self, PopulationError> {
        if share == 0.0 {
            return Ok(Self { mean: None, ..self });
        }
        let basis = self.subspace.basis();
        if !(0.0..1.0).contains(&share) || basis.ncols() >= basis.nrows() {
            return Err(PopulationError::MeanShare { share, rank: basis.ncols(), dimension: basis.nrows() });
        }
        let drawn = DVector::from_fn(basis.nrows(), |_, _| rng.sample::<f64, _>(StandardNormal));
        let direction = (&drawn - basis * basis.tr_mul(&drawn)).normalize();
        Ok(Self { mean: Some(SphereMean { direction, share }), ..self })
    }

    /// Whether there is such a model.
    ///
    /// # Errors
    /// As [`SpikedModel::draw`].
    pub fn check(dimension: usize, rank: Rank, signal: f64, sparsity: Option<usize>) -> Result<(), PopulationError> {
        check_signal(signal)?;
        rank.check(dimension)?;
        // The rows that are not zero.
        let rows = sparsity.unwrap_or(dimension);
        if rows < rank.value() || rows > dimension {
            return Err(PopulationError::Sparsity { sparsity: rows, rank: rank.value(), dimension });
        }
        Ok(())
    }

    /// The true principal subspace.
    #[must_use]
    pub fn subspace(&self) -> &Subspace {
        &self.subspace
    }

    /// One record: d numbers of norm 1.
    pub fn record<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        let mut record = vec![0.0; self.subspace.dimension()];
        self.fill(&mut record, rng);
        record
    }

    /// Overwrites `record`, d numbers, with a new one.
    pub(super) fn fill<R: Rng + ?Sized>(&self, record: &mut [f64], rng: &mut R) {
        record.fill(0.0);
        for component in self.subspace.basis().column_iter() {
            let factor = self.signal.sqrt() * rng.sample::<f64, _>(StandardNormal);
            record.iter_mut().zip(&component).for_each(|(value, loading)| *value += factor * loading);
        }
        record.iter_mut().for_each(|value| *value += rng.sample::<f64, _>(StandardNormal));
        let Some(SphereMean { direction, share }) = &self.mean else {
            let norm = DVectorView::from_slice(record, record.len()).norm();
            return record.iter_mut().for_each(|value| *value /= norm);
        };
        let mut record = DVectorViewMut::from_slice(record, direction.len());
        let along = record.dot(direction);
        record.axpy(-along, direction, 1.0);
        let norm = record.norm();
        record.axpy(share.sqrt(), direction, (1.0 - share).sqrt() / norm);
    }

    /// The eigenvalues of `E[x x^T]`, which normalising changes: see [`SpikedSpectrum`]. With a mean, those of the
    /// covariance, which has no variance along the mean: the bulk is the average of the others.
    #[must_use]
    pub fn spectrum(&self) -> SpikedSpectrum {
        let (dimension, rank) = (self.subspace.dimension(), self.subspace.rank());
        let Some(SphereMean { share, .. }) = &self.mean else {
            return SpikedSpectrum::of(dimension, rank, self.signal);
        };
        let SpikedSpectrum { signal, bulk } = SpikedSpectrum::of(dimension - 1, rank, self.signal);
        let (left, others) = (1.0 - share, (dimension - rank) as f64);
        SpikedSpectrum { signal: left * signal, bulk: left * bulk * (others - 1.0) / others }
    }

    /// The covariance of the records, d × d.
    #[must_use]
    pub fn covariance(&self) -> DMatrix<f64> {
        let (SpikedSpectrum { signal, mut bulk }, basis) = (self.spectrum(), self.subspace.basis());
        let (dimension, rank) = basis.shape();
        if self.mean.is_some() {
            // The average is over one direction more, the mean's own.
            bulk *= (dimension - rank) as f64 / (dimension - rank - 1).max(1) as f64;
        }
        let mut covariance = DMatrix::from_diagonal_element(dimension, dimension, bulk);
        covariance.gemm(signal - bulk, basis, &basis.transpose(), 1.0);
        if let Some(SphereMean { direction, .. }) = &self.mean {
            covariance.ger(-bulk, direction, direction, 1.0);
        }
        covariance
    }
}

/// The eigenvalues of `E[x x^T]` of a spiked model's unit-norm records: k equal ones above d - k equal ones, with sum
/// 1.
///
/// With `a = 1 + signal`, A a sum of k and B of d - k squares of independent standard normal numbers, and `1/q` as an
/// integral of `exp(-q t)`,
///
/// ```text
/// signal   E[a A / (a A + B)] / k      = Integral over t > 0 of a (1 + 2 a t)^(-k/2 - 1) (1 + 2 t)^(-(d - k)/2)
/// bulk     E[B / (a A + B)] / (d - k)  = (1 - k signal) / (d - k)
/// ```
///
/// computed to some 1e-14 by the trapezoidal rule, which on the whole line converges exponentially.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpikedSpectrum {
    /// Each of the k leading eigenvalues.
    pub signal: f64,
    /// Each of the others; 0 where there is none.
    pub bulk: f64,
}

impl SpikedSpectrum {
    /// The spectrum of a model that could be drawn with these parameters (see [`SpikedModel::draw`]).
    ///
    /// # Errors
    /// [`PopulationError`] when rank and dimension do not fit, or the signal is not a finite number >= 0.
    pub fn new(dimension: usize, rank: Rank, signal: f64) -> Result<Self, PopulationError> {
        check_signal(signal)?;
        rank.check(dimension)?;
        Ok(Self::of(dimension, rank.value(), signal))
    }

    fn of(dimension: usize, rank: usize, signal: f64) -> Self {
        // With 1 + 2 t = e^tau and tau = e^x the integrand is (a/2) e^x e^(-tau d/2) (1 + signal (1 - e^-tau))^(-k/2 -
        // 1).
        const STEP: f64 = 1.0 / 16.0;
        let (half_dimension, power) = (0.5 * dimension as f64, 0.5 * rank as f64 + 1.0);
        let integrand = |node: i32| {
            let tau = libm::exp(STEP * f64::from(node));
            tau * libm::exp(-half_dimension * tau - power * libm::log1p(-signal * libm::expm1(-tau)))
        };
        // From e^-80, and up to where e^-tau is gone.
        let integral = STEP * (-1280..=128).map(integrand).sum::<f64>();
        let value = 0.5 * (1.0 + signal) * integral;
        let others = dimension - rank;
        let rest = 1.0 - rank as f64 * value;
        Self { signal: value, bulk: if others == 0 { 0.0 } else { rest.max(0.0) / others as f64 } }
    }
}

fn check_signal(signal: f64) -> Result<(), PopulationError> {
    if signal.is_finite() && signal >= 0.0 { Ok(()) } else { Err(PopulationError::Signal(signal)) }
}

/// Reasons why a population cannot be drawn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PopulationError {
    /// The rank does not fit the dimension.
    #[error(transparent)]
    Rank(#[from] FantopeError),
    /// No subspace came out of the draw.
    #[error(transparent)]
    Subspace(#[from] SubspaceError),
    /// A signal that is not usable.
    #[error("the signal is {}: it must be a finite number that is 0 or more (20 is a strong one)", Decimal(*.0))]
    Signal(f64),
    /// A mean that these records cannot have.
    #[error(
        "the mean's share of the second moments is {}: it must be at least 0 and below 1, and 0 where {rank} \
            components of {dimension} features leave no direction for a mean",
        Decimal(*share)
    )]
    MeanShare {
        /// The share.
        share: f64,
        /// The rank.
        rank: usize,
        /// The dimension.
        dimension: usize,
    },
    /// A sparsity that does not fit.
    #[error("the sparsity is {sparsity}: it must be between the rank {rank} and the dimension {dimension}")]
    Sparsity {
        /// Nonzero rows asked for.
        sparsity: usize,
        /// The rank.
        rank: usize,
        /// The dimension.
        dimension: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha8Rng;
    use nalgebra::DVector;
    use rand::SeedableRng;

    /// Shares of energy inside V over 40,000 records, within 4.9 standard errors: alpha 1e-6 a case.
    #[test]
    fn records_have_unit_norm_and_the_spectrum_is_theirs() {
        let cases = [(2, 1, 3.0), (3, 2, 0.5), (6, 6, 2.0), (10, 2, 20.0), (40, 3, 8.0), (116, 5, 1.0), (5, 1, 1e6)];
        for (dimension, rank, signal) in cases {
            let mut rng = ChaCha8Rng::seed_from_u64(11);
            let rank = Rank::new(rank).unwrap();
            let model = SpikedModel::draw(dimension, rank, signal, None, &mut rng).unwrap();
            let spectrum = model.spectrum();
            assert_eq!(SpikedSpectrum::new(dimension, rank, signal), Ok(spectrum));
            let shares: Vec<f64> = (0..40_000)
                .map(|_| DVector::from_vec(model.record(&mut rng)))
                .inspect(|record| assert!((record.norm() - 1.0).abs() < 1e-12))
                .map(|record| model.subspace().basis().tr_mul(&record).norm_squared())
                .collect();
            let mean = shares.iter().sum::<f64>() / 40_000.0;
            let variance = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / 40_000.0;
            let expected = rank.value() as f64 * spectrum.signal;
            let bound = 4.9 * (variance / 40_000.0).sqrt() + 1e-12;
            assert!((mean - expected).abs() < bound, "d {dimension} signal {signal}: {mean} {expected}");
        }
    }

    #[test]
    fn the_spectrum_has_its_closed_forms() {
        let spectrum =
            |dimension, rank, signal| SpikedSpectrum::new(dimension, Rank::new(rank).unwrap(), signal).unwrap();
        // Without a signal all eigenvalues are 1/d; without a bulk they are too.
        for (dimension, rank) in [(1, 1), (2, 1), (7, 3), (400, 5), (4096, 1)] {
            let flat = spectrum(dimension, rank, 0.0);
            assert!((flat.signal * dimension as f64 - 1.0).abs() < 1e-13, "{flat:?}");
            assert!(rank == dimension || (flat.bulk * dimension as f64 - 1.0).abs() < 1e-13);
            assert!((spectrum(dimension, dimension, 9.0).signal * dimension as f64 - 1.0).abs() < 1e-12);
        }
        // In the plane, sqrt(a) / (1 + sqrt(a)): the angle of (sqrt(a) g, h) has the Cauchy law's projected density.
        for signal in [0.0, 0.5, 20.0, 1e8] {
            let root = (1.0f64 + signal).sqrt();
            assert!((spectrum(2, 1, signal).signal - root / (1.0 + root)).abs() < 1e-13, "{signal}");
        }
        // The energy inside V is A/(A + B) with A = 21 chi^2_2 and B = chi^2_8: its mean is 0.7216 (numerical
        // integration).
        assert!((2.0 * spectrum(10, 2, 20.0).signal - 0.7216).abs() < 5e-5);
        assert_eq!(spectrum(3, 3, 4.0).bulk, 0.0);
        assert!(SpikedSpectrum::new(2, Rank::new(3).unwrap(), 1.0).is_err());
        assert!(SpikedSpectrum::new(3, Rank::new(3).unwrap(), f64::NAN).is_err());
    }

    #[test]
    fn the_covariance_has_the_spectrum_and_nothing_along_the_mean() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let model = SpikedModel::draw(6, Rank::new(2).unwrap(), 9.0, None, &mut rng).unwrap();
        let about_mean = model.clone().with_mean_share(0.5, &mut rng).unwrap();
        for (model, trace) in [(&model, 1.0), (&about_mean, 0.5)] {
            let (covariance, basis) = (model.covariance(), model.subspace().basis());
            assert!((covariance.trace() - trace).abs() < 1e-12, "{covariance}");
            assert!((&covariance * basis - basis * model.spectrum().signal).amax() < 1e-12, "{covariance}");
        }
        let direction = &about_mean.mean.as_ref().unwrap().direction;
        assert!((about_mean.covariance() * direction).amax() < 1e-12);
    }

    #[test]
    fn impossible_populations_are_refused() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let rank = Rank::new(3).unwrap();
        assert!(SpikedModel::draw(2, rank, 1.0, None, &mut rng).is_err());
        assert!(SpikedModel::draw(5, rank, -1.0, None, &mut rng).is_err());
        assert!(SpikedModel::draw(5, rank, f64::NAN, None, &mut rng).is_err());
        assert!(SpikedModel::draw(5, rank, 1.0, Some(2), &mut rng).is_err());
        assert!(SpikedModel::draw(5, rank, 1.0, Some(6), &mut rng).is_err());
    }
}
