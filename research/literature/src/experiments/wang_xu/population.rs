//! The paper's synthetic records: a normal law with k equal large eigenvalues.

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;

use super::super::ExperimentError;
use super::super::local::unit_ball;
use crate::baselines::Sample;
use ldp_pca::mechanism::MechanismFamily;
use ldp_pca::prediction::{Planner, Spectrum};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;
use ldp_pca::subspace::Subspace;
use ldp_pca_simulation::{SimulationError, SpikedModel, SpikedSpectrum};

/// `N(0, Sigma)` with `Sigma = b (I + lambda V V^T)`, `b = 1 / (5 p (lambda + 1))`: eigenvalues `1/(5p)` and b, and
/// norms that stay below 1 (their squares have a mean of at most 1/5). Or the same records divided by their norms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Population {
    /// p.
    pub(super) dimension: usize,
    /// k.
    pub(super) rank: usize,
    /// lambda.
    pub(super) signal: f64,
    /// s, the rows of V that are not zero.
    pub(super) sparsity: Option<usize>,
    /// Whether records are divided by their norms.
    pub(super) unit_norm: bool,
}

/// The threshold of recovery under a mechanism's noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Threshold {
    /// The eigenvalue above which a component can be recovered.
    pub(super) eigenvalue: f64,
    /// The number of records that recovers the population's components.
    pub(super) records: Option<u64>,
}

impl Population {
    /// Records, and the subspace.
    pub(super) fn draw<R: Rng + ?Sized>(
        &self,
        records: usize,
        rng: &mut R,
    ) -> Result<(Sample, Subspace), ExperimentError> {
        let model = self.model(rng)?;
        let basis = model.subspace().basis();
        let scale = self.bulk().sqrt();
        let mut values = vec![0.0; records * self.dimension];
        for record in values.chunks_exact_mut(self.dimension) {
            for component in basis.column_iter() {
                let factor = self.signal.sqrt() * rng.sample::<f64, _>(StandardNormal);
                record.iter_mut().zip(&component).for_each(|(value, loading)| *value += factor * loading);
            }
            record.iter_mut().for_each(|value| *value = scale * (*value + rng.sample::<f64, _>(StandardNormal)));
            let norm = record.iter().map(|value| value * value).sum::<f64>().sqrt();
            // "It can be shown that the norm is at most 1 with high probability": longer records are scaled to norm 1.
            if self.unit_norm || norm > 1.0 {
                record.iter_mut().for_each(|value| *value /= norm);
            }
        }
        Ok((Sample::new(self.dimension, values)?, model.subspace().clone()))
    }

    fn model<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<SpikedModel, ExperimentError> {
        let rank = Rank::new(self.rank)?;
        let model = SpikedModel::draw(self.dimension, rank, self.signal, self.sparsity, rng);
        Ok(model.map_err(SimulationError::from)?)
    }

    fn bulk(&self) -> f64 {
        1.0 / (5.0 * self.dimension as f64 * (self.signal + 1.0))
    }

    /// The large eigenvalue and the others.
    pub(super) fn eigenvalues(&self) -> Result<(f64, f64), ExperimentError> {
        if self.unit_norm {
            let spectrum = SpikedSpectrum::new(self.dimension, Rank::new(self.rank)?, self.signal)
                .map_err(SimulationError::from)?;
            return Ok((spectrum.signal, spectrum.bulk));
        }
        Ok((self.bulk() * (1.0 + self.signal), self.bulk()))
    }

    /// The threshold with this many records. With `known_support`, only the `sparsity` nonzero rows count, as if they
    /// were known.
    pub(super) fn threshold(
        &self,
        family: MechanismFamily,
        epsilon: f64,
        records: u64,
        known_support: bool,
    ) -> Result<Threshold, ExperimentError> {
        let (signal, bulk) = self.eigenvalues()?;
        let dimension = if known_support { self.sparsity.unwrap_or(self.dimension) } else { self.dimension };
        let rank = Rank::new(self.rank.min(dimension - 1))?;
        let spectrum = Spectrum::new(dimension, vec![signal; rank.value()], bulk)?;
        let planner = Planner::new(spectrum, rank, family, unit_ball()?)?;
        let epsilon = Epsilon::new(epsilon)?;
        let eigenvalue = planner.predict(epsilon, records)?.threshold;
        // Of equal components, the last needs the most records, by rounding.
        let records = planner.threshold_records(epsilon)?.last().copied().flatten();
        Ok(Threshold { eigenvalue, records })
    }
}

/// The paper's noise, as printed.
pub(super) fn printed_noise() -> Result<MechanismFamily, ExperimentError> {
    Ok(MechanismFamily::WangXu { delta: Delta::new(super::DELTA)? })
}

/// Our noise.
pub(super) const DOUBLE_CAP: MechanismFamily = MechanismFamily::DoubleCap { candidates: None, cap: None };

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn records_have_the_stated_covariance_and_norms() {
        let population = Population { dimension: 10, rank: 2, signal: 1.0, sparsity: Some(4), unit_norm: false };
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        let (sample, truth) = population.draw(50_000, &mut rng).unwrap();
        assert!(sample.largest_norm() <= 1.0);
        let basis = truth.basis();
        let along = basis.tr_mul(&(sample.second_moment() * basis)).trace() / 2.0;
        let rest = (sample.second_moment().trace() - 2.0 * along) / 8.0;
        // 1/50 and 1/100, to 4.9 standard errors of 100,000 and 400,000 squares.
        assert!((along * 50.0 - 1.0).abs() < 4.9 * (2.0f64 / 1e5).sqrt(), "{along}");
        assert!((rest * 100.0 - 1.0).abs() < 4.9 * (2.0f64 / 4e5).sqrt(), "{rest}");
        assert_eq!(population.eigenvalues().unwrap(), (0.02, 0.01));
        assert_eq!(basis.row_iter().filter(|row| row.norm() > 1e-12).count(), 4);
    }

    #[test]
    fn the_stated_setting_lies_far_below_the_threshold_and_knowing_the_support_helps() {
        let population = Population { dimension: 40, rank: 5, signal: 1.0, sparsity: Some(10), unit_norm: false };
        let at = |known| population.threshold(printed_noise().unwrap(), 0.5, 100_000, known).unwrap();
        assert!(at(false).eigenvalue > 20.0 / 200.0 * 0.5, "{:?}", at(false));
        assert!(at(false).records.unwrap() > 10_000_000);
        assert!(at(true).eigenvalue < at(false).eigenvalue && at(true).records < at(false).records);
    }
}
