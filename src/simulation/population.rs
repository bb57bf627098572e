//! The spiked model: a few directions stand out of isotropic noise.

use nalgebra::{DMatrix, DVector};
use rand::seq::index;
use rand::{Rng, RngExt};
use rand_distr::StandardNormal;

use crate::recovery::{Rank, RecoveryError};
use crate::subspace::{Subspace, SubspaceError};

/// Unit-norm records `x = y / |y|`, `y = g + sqrt(signal) V f` with standard normal g (d) and f (k) and an
/// orthonormal V (d × k).
///
/// Normalising keeps the eigenvectors: V spans the leading k-dimensional eigenspace of `E[x x^T]`.
#[derive(Clone, Debug)]
pub struct SpikedModel {
    subspace: Subspace,
    signal: f64,
}

impl SpikedModel {
    /// Draws the subspace: uniform over all of rank k, or over those that live on `sparsity` random coordinates.
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
        if !(signal.is_finite() && signal >= 0.0) {
            return Err(PopulationError::Signal(signal));
        }
        Ok(Self { subspace: random_subspace(dimension, rank, sparsity, rng)?, signal })
    }

    /// The true principal subspace.
    #[must_use]
    pub fn subspace(&self) -> &Subspace {
        &self.subspace
    }

    /// One record: d numbers of norm 1.
    pub fn record<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        let basis = self.subspace.basis();
        let factors = DVector::from_fn(basis.ncols(), |_, _| self.signal.sqrt() * rng.sample::<f64, _>(StandardNormal));
        let mut record = basis * factors;
        record.iter_mut().for_each(|value| *value += rng.sample::<f64, _>(StandardNormal));
        let norm = record.norm();
        record.iter().map(|value| value / norm).collect()
    }
}

/// A uniform subspace of rank k among all of d dimensions, or among those that live on `sparsity` random coordinates.
pub(super) fn random_subspace<R: Rng + ?Sized>(
    dimension: usize,
    rank: Rank,
    sparsity: Option<usize>,
    rng: &mut R,
) -> Result<Subspace, PopulationError> {
    rank.check(dimension)?;
    let rows = sparsity.unwrap_or(dimension);
    if rows < rank.value() || rows > dimension {
        return Err(PopulationError::Sparsity { sparsity: rows, rank: rank.value(), dimension });
    }
    let support = index::sample(rng, dimension, rows);
    let mut columns = DMatrix::zeros(dimension, rank.value());
    for row in support.iter() {
        for column in 0..rank.value() {
            columns[(row, column)] = rng.sample(StandardNormal);
        }
    }
    Ok(Subspace::new(&columns)?)
}

/// Why a population cannot be drawn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PopulationError {
    /// The rank does not fit the dimension.
    #[error(transparent)]
    Rank(#[from] RecoveryError),
    /// No subspace came out of the draw.
    #[error(transparent)]
    Subspace(#[from] SubspaceError),
    /// A signal that is not usable.
    #[error("the signal is {0}: it must be a finite number that is 0 or more (20 is a strong one)")]
    Signal(f64),
    /// A gap that no covariance of trace 1 has.
    #[error(
        "the gap is {gap}: {rank} spikes of a covariance of trace 1 stand out by more than 0 and at most {largest}"
    )]
    Gap {
        /// The gap asked for.
        gap: f64,
        /// The number of spikes.
        rank: usize,
        /// The largest gap there is, one over that number.
        largest: f64,
    },
    /// A noise level that is not usable.
    #[error("the noise level is {0}: it must be a finite standard deviation that is 0 or more")]
    Noise(f64),
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
    use rand::SeedableRng;

    #[test]
    fn records_have_unit_norm_and_the_stated_spectrum() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let model = SpikedModel::draw(10, Rank::new(2).unwrap(), 20.0, None, &mut rng).unwrap();
        let n = 20_000;
        let mut captured = 0.0;
        for _ in 0..n {
            let record = DVector::from_vec(model.record(&mut rng));
            assert!((record.norm() - 1.0).abs() < 1e-12);
            captured += model.subspace().basis().tr_mul(&record).norm_squared();
        }
        // The energy inside V is A/(A + B) with A = 21 chi^2_2 and B = chi^2_8: its mean is 0.7216 (numerical
        // integration), deviation 0.23.
        assert!(
            (captured / f64::from(n) - 0.7216).abs() < 4.9 * 0.23 / f64::from(n).sqrt(),
            "{}",
            captured / f64::from(n)
        );
    }

    #[test]
    fn sparse_subspaces_live_on_as_many_rows_as_asked() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let model = SpikedModel::draw(50, Rank::new(3).unwrap(), 5.0, Some(7), &mut rng).unwrap();
        let rows = model.subspace().basis().row_iter().filter(|row| row.norm() > 1e-12).count();
        assert_eq!(rows, 7);
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
