//! An estimate of a spiked covariance without a collection: truth plus symmetric Gaussian noise.

use ldp_pca::recovery::Rank;
use nalgebra::{DMatrix, RealField, convert};
use rand::{Rng, RngExt};
use rand_distr::StandardNormal;

use super::comparison::SupportCounts;
use super::population::SpikedModel;

impl SpikedModel {
    /// A d × d covariance with k equal spikes along the components, as an aggregator would see it:
    ///
    /// ```text
    /// S = Σ + G,    Σ = gap V Vᵀ + (1 − k gap) / d · I,    G_ij = G_ji ~ N(0, noise²)
    /// ```
    ///
    /// For a gap in `(0, 1/k]` `Σ` has trace 1, and its k leading eigenvalues exceed the others by `gap`. Instances of
    /// one `noise / gap` relative to `1 / √d` are equally hard at every d: the noise's largest eigenvalue is near
    /// `2 noise √d`.
    ///
    /// In single precision it is the double-precision matrix of the same generator, rounded; no second matrix is held,
    /// so d = 20,531 takes 1.7 GB.
    ///
    /// ```
    /// use chacha20::ChaCha8Rng;
    /// use ldp_pca::Rank;
    /// use ldp_pca_simulation::SpikedModel;
    /// use nalgebra::DMatrix;
    /// use rand::SeedableRng;
    ///
    /// let mut rng = ChaCha8Rng::seed_from_u64(1);
    /// let gap = SpikedModel::gap_of_signal(10.0, 100, Rank::new(5)?);
    /// let model = SpikedModel::draw(100, Rank::new(5)?, 10.0, Some(20), &mut rng)?;
    /// let estimate: DMatrix<f32> = model.estimate(gap, gap / (3.0 * 100f64.sqrt()), &mut rng);
    /// assert_eq!(estimate, estimate.transpose());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn estimate<T: RealField + Copy, R: Rng + ?Sized>(&self, gap: f64, noise: f64, rng: &mut R) -> DMatrix<T> {
        let basis = self.subspace().basis();
        let dimension = basis.nrows();
        let rest = (1.0 - basis.ncols() as f64 * gap) / dimension as f64;
        let support = SupportCounts::support_of(self.subspace());

        let mut estimate = DMatrix::zeros(dimension, dimension);
        let mut above = Vec::with_capacity(dimension);
        for column in 0..dimension {
            above.clear();
            above.extend((0..=column).map(|_| noise * rng.sample::<f64, _>(StandardNormal)));
            above[column] += rest;
            if support.binary_search(&column).is_ok() {
                for &row in support.iter().filter(|row| **row <= column) {
                    above[row] += gap * basis.row(row).dot(&basis.row(column));
                }
            }
            for (entry, value) in estimate.column_mut(column).iter_mut().zip(&above) {
                *entry = convert(*value);
            }
        }
        estimate.fill_lower_triangle_with_upper_triangle();
        estimate
    }

    /// The gap when each spike has `signal` times the variance of the isotropic rest: `signal / (k signal + d)`.
    #[must_use]
    pub fn gap_of_signal(signal: f64, dimension: usize, rank: Rank) -> f64 {
        signal / (rank.value() as f64 * signal + dimension as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    fn model(dimension: usize, seed: u64) -> (SpikedModel, ChaCha8Rng) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        (SpikedModel::draw(dimension, Rank::new(3).unwrap(), 1.0, Some(7), &mut rng).unwrap(), rng)
    }

    #[test]
    fn without_noise_the_spectrum_is_the_stated_one() {
        let (model, mut rng) = model(50, 1);
        let estimate: DMatrix<f64> = model.estimate(0.2, 0.0, &mut rng);
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
        let (model, mut rng) = model(200, 2);
        let estimate: DMatrix<f64> = model.estimate(0.2, 0.03, &mut rng);
        assert_eq!(estimate, estimate.transpose());
        let noise = (estimate - model.estimate::<f64, _>(0.2, 0.0, &mut rng)).upper_triangle() / 0.03;
        let count = 200.0 * 201.0 / 2.0;
        let deviation = (noise.norm_squared() / count).sqrt();
        assert!((deviation - 1.0).abs() < 4.9 / (2.0f64 * count).sqrt(), "{deviation}");
    }

    #[test]
    fn single_precision_is_the_rounded_double() {
        let (model, _) = model(70, 3);
        let double: DMatrix<f64> = model.estimate(0.2, 0.1, &mut ChaCha8Rng::seed_from_u64(9));
        let single: DMatrix<f32> = model.estimate(0.2, 0.1, &mut ChaCha8Rng::seed_from_u64(9));
        assert_eq!(single, double.map(|entry| entry as f32));
    }

    #[test]
    fn the_gap_of_a_signal_is_that_of_the_covariance_scaled_to_trace_one() {
        // Signal 10 and 5 spikes: eigenvalues 11 and 1, trace 5 · 11 + 95 · 1 = 150.
        let gap = SpikedModel::gap_of_signal(10.0, 100, Rank::new(5).unwrap());
        assert!((gap - 10.0 / 150.0).abs() < 1e-16);
    }
}
