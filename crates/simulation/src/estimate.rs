//! An estimate of a spiked covariance without a collection: truth plus symmetric Gaussian noise.

use core::convert::Infallible;

use ldp_pca::linalg::visit_above_diagonal;
use ldp_pca::recovery::Rank;
use ldp_pca::subspace::Subspace;
use nalgebra::{DMatrix, RealField, convert};
use rand::{Rng, RngExt};
use rand_distr::StandardNormal;

use super::comparison::SupportCounts;
use super::population::{PopulationError, random_subspace};

/// A d × d covariance with k equal spikes on s random coordinates, as an aggregator would see it:
///
/// ```text
/// S = Σ + G,    Σ = gap V Vᵀ + (1 − k gap) / d · I,    G_ij = G_ji ~ N(0, noise²)
/// ```
///
/// `V` is `d × k`, orthonormal, zero outside the s coordinates. `Σ` has trace 1, and its k leading eigenvalues exceed
/// the others by `gap`. Instances of one `noise / gap` relative to `1 / √d` are equally hard at every d: the noise's
/// largest eigenvalue is near `2 noise √d`.
///
/// ```
/// use chacha20::ChaCha8Rng;
/// use ldp_pca::Rank;
/// use ldp_pca_simulation::SpikedEstimate;
/// use nalgebra::DMatrix;
/// use rand::SeedableRng;
///
/// let mut rng = ChaCha8Rng::seed_from_u64(1);
/// let gap = SpikedEstimate::gap_of_signal(10.0, 100, Rank::new(5)?);
/// let noise = gap / (3.0 * 100f64.sqrt());
/// let model = SpikedEstimate::draw(100, Rank::new(5)?, 20, gap, noise, &mut rng)?;
/// let estimate: DMatrix<f32> = model.sample(&mut rng);
/// assert_eq!(estimate, estimate.transpose());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SpikedEstimate {
    subspace: Subspace,
    gap: f64,
    noise: f64,
}

impl SpikedEstimate {
    /// Draws the subspace, uniform over those of rank k on `sparsity` random coordinates.
    ///
    /// # Errors
    /// [`PopulationError`] when rank, sparsity and dimension do not fit, the gap is not in `(0, 1/k]`, or the noise is
    /// not a finite number >= 0.
    pub fn draw<R: Rng + ?Sized>(
        dimension: usize,
        rank: Rank,
        sparsity: usize,
        gap: f64,
        noise: f64,
        rng: &mut R,
    ) -> Result<Self, PopulationError> {
        let largest = 1.0 / rank.value() as f64;
        if !(gap > 0.0 && gap <= largest) {
            return Err(PopulationError::Gap { gap, rank: rank.value(), largest });
        }
        if !(noise.is_finite() && noise >= 0.0) {
            return Err(PopulationError::Noise(noise));
        }
        Ok(Self { subspace: random_subspace(dimension, rank, Some(sparsity), rng)?, gap, noise })
    }

    /// The gap when each spike has `signal` times the variance of the isotropic rest: `signal / (k signal + d)`.
    #[must_use]
    pub fn gap_of_signal(signal: f64, dimension: usize, rank: Rank) -> f64 {
        signal / (rank.value() as f64 * signal + dimension as f64)
    }

    /// The true principal subspace.
    #[must_use]
    pub fn subspace(&self) -> &Subspace {
        &self.subspace
    }

    /// The excess of the leading eigenvalues of the covariance over the others.
    #[must_use]
    pub fn gap(&self) -> f64 {
        self.gap
    }

    /// Standard deviation of the noise of one entry.
    #[must_use]
    pub fn noise(&self) -> f64 {
        self.noise
    }

    /// Draws the noise and returns `S`, exactly symmetric.
    ///
    /// In single precision it is the double-precision matrix of the same generator, rounded; no second matrix is held,
    /// so d = 20,531 takes 1.7 GB.
    pub fn sample<T: RealField + Copy, R: Rng + ?Sized>(&self, rng: &mut R) -> DMatrix<T> {
        let basis = self.subspace.basis();
        let dimension = basis.nrows();
        let rest = (1.0 - basis.ncols() as f64 * self.gap) / dimension as f64;
        let support = SupportCounts::support_of(&self.subspace);

        let mut estimate = DMatrix::zeros(dimension, dimension);
        let mut above = Vec::with_capacity(dimension);
        for column in 0..dimension {
            above.clear();
            above.extend((0..=column).map(|_| self.noise * rng.sample::<f64, _>(StandardNormal)));
            above[column] += rest;
            if support.binary_search(&column).is_ok() {
                for &row in support.iter().filter(|row| **row <= column) {
                    above[row] += self.gap * basis.row(row).dot(&basis.row(column));
                }
            }
            for (entry, value) in estimate.column_mut(column).iter_mut().zip(&above) {
                *entry = convert(*value);
            }
        }
        let Ok(()) = visit_above_diagonal(dimension, |row, column| {
            estimate[(column, row)] = estimate[(row, column)];
            Ok::<(), Infallible>(())
        });
        estimate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    fn model(dimension: usize, noise: f64, seed: u64) -> (SpikedEstimate, ChaCha8Rng) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let rank = Rank::new(3).unwrap();
        (SpikedEstimate::draw(dimension, rank, 7, 0.2, noise, &mut rng).unwrap(), rng)
    }

    #[test]
    fn without_noise_the_spectrum_is_the_stated_one() {
        let (model, mut rng) = model(50, 0.0, 1);
        let estimate: DMatrix<f64> = model.sample(&mut rng);
        let mut values: Vec<f64> = estimate.symmetric_eigenvalues().iter().copied().collect();
        values.sort_by(f64::total_cmp);
        let rest = (1.0 - 3.0 * 0.2) / 50.0;
        assert!(values[..47].iter().all(|value| (value - rest).abs() < 1e-14), "{values:?}");
        assert!(values[47..].iter().all(|value| (value - rest - 0.2).abs() < 1e-14), "{values:?}");
        let along = model.subspace().basis().tr_mul(&(&estimate * model.subspace().basis()));
        assert!((along.trace() - 3.0 * (rest + 0.2)).abs() < 1e-13);
        assert_eq!(model.subspace().basis().row_iter().filter(|row| row.amax() > 1e-12).count(), 7);
    }

    /// 20,100 normal draws: their root mean square is within 4.9 standard errors of 1, except for one seed in a
    /// million.
    #[test]
    fn noise_is_symmetric_and_has_the_stated_deviation() {
        let (model, mut rng) = model(200, 0.03, 2);
        let estimate: DMatrix<f64> = model.sample(&mut rng);
        assert_eq!(estimate, estimate.transpose());
        let mut silent = model.clone();
        silent.noise = 0.0;
        let noise = (estimate - silent.sample::<f64, _>(&mut rng)).upper_triangle() / 0.03;
        let count = 200.0 * 201.0 / 2.0;
        let deviation = (noise.norm_squared() / count).sqrt();
        assert!((deviation - 1.0).abs() < 4.9 / (2.0f64 * count).sqrt(), "{deviation}");
    }

    #[test]
    fn single_precision_is_the_rounded_double() {
        let (model, _) = model(70, 0.1, 3);
        let double: DMatrix<f64> = model.sample(&mut ChaCha8Rng::seed_from_u64(9));
        let single: DMatrix<f32> = model.sample(&mut ChaCha8Rng::seed_from_u64(9));
        assert_eq!(single, double.map(|entry| entry as f32));
    }

    #[test]
    fn the_gap_of_a_signal_is_that_of_the_covariance_scaled_to_trace_one() {
        // Signal 10 and 5 spikes: eigenvalues 11 and 1, trace 5 · 11 + 95 · 1 = 150.
        let gap = SpikedEstimate::gap_of_signal(10.0, 100, Rank::new(5).unwrap());
        assert!((gap - 10.0 / 150.0).abs() < 1e-16);
    }

    #[test]
    fn impossible_estimates_are_refused() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let rank = Rank::new(3).unwrap();
        for gap in [0.0, -0.1, 0.34, f64::NAN, f64::INFINITY] {
            assert!(matches!(
                SpikedEstimate::draw(50, rank, 7, gap, 0.1, &mut rng),
                Err(PopulationError::Gap { rank: 3, .. })
            ));
        }
        for noise in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(SpikedEstimate::draw(50, rank, 7, 0.1, noise, &mut rng), Err(PopulationError::Noise(_))));
        }
        assert!(matches!(
            SpikedEstimate::draw(50, rank, 2, 0.1, 0.1, &mut rng),
            Err(PopulationError::Sparsity { sparsity: 2, .. })
        ));
        assert!(matches!(SpikedEstimate::draw(2, rank, 2, 0.1, 0.1, &mut rng), Err(PopulationError::Rank(_))));
    }
}
