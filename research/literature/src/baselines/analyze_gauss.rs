//! Analyze Gauss: principal components of the second moments with the Gaussian noise that the guarantee requires
//! (Dwork, Talwar, Thakurta & Zhang 2014).
//!
//! *The algorithm as printed* (Algorithm 1), for records of norm at most 1 as the rows of a matrix, whose product
//! `S = X X^T` (here n A) is perturbed:
//!
//! ```text
//! sigma = sqrt(2 ln(1.25 / delta)) / eps
//! N symmetric, N_ij ~ N(0, sigma^2) independent for i <= j
//! V = the k leading eigenvectors of S + N
//! ```
//!
//! *The guarantee argued.* The Gaussian mechanism on S. Its l2-sensitivity is that of one contribution `x x^T`: 1 for a
//! record more or less, and sqrt(2), the diameter of the set of all contributions, for one record replaced. That holds
//! in the upper triangle, where the printed noise is, and in the Frobenius norm. The printed scale is for sensitivity 1
//! by Dwork & Roth (2014, Theorem A.1), whose proof needs eps <= 1. It gives a guarantee for a record more or less; for
//! one record replaced it is too small by a factor of sqrt(2). For a record more or less, n is protected too: the
//! algorithm uses only S, not n.
//!
//! *Ours by default*: one record replaced, the exact calibration (Balle & Wang 2018), and noise that is isotropic in
//! the Frobenius norm, `N = (G + G^T) / 2` with G of independent N(0, sigma^2): the same guarantee, as the sensitivity
//! is the same in that norm, with half the variance off the diagonal.

use nalgebra::DMatrix;
use rand::rand_core::CryptoRng;

use super::perturbation::{ADDITION, REPLACEMENT, holding, leading_subspace, normal, symmetrically_perturbed};
use super::{Adjacency, BaselineError, EpsilonDelta, MethodGuarantee, Outcome, Sample, Shape, SubspaceEstimator};
use ldp_pca::internal::privacy::calibration::{analytic_gaussian_sigma, paper_sigma};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;

/// The formula for the scale of Gaussian noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GaussianScale {
    /// `sqrt(2 ln(1.25 / delta)) / eps` times the sensitivity, for eps <= 1 (Dwork & Roth 2014, Theorem A.1).
    Classical,
    /// The smallest scale that gives (eps, delta), for every eps (Balle & Wang 2018, Algorithm 1).
    Analytic,
}

/// The law of the symmetric Gaussian matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseGeometry {
    /// Equal variance of the entries on and above the diagonal, as printed.
    UpperTriangle,
    /// Equal variance in every direction of the Frobenius norm: half of it in an entry off the diagonal.
    Frobenius,
}

/// Analyze Gauss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnalyzeGauss {
    /// The claim's epsilon.
    pub epsilon: Epsilon,
    /// The claim's delta.
    pub delta: Delta,
    /// Whether the noise is calibrated for one record replaced (sensitivity sqrt(2)) or for a record more or less (1).
    pub change: RecordChange,
    /// The formula for the scale of the noise.
    pub scale: GaussianScale,
    /// The shape of the noise.
    pub geometry: NoiseGeometry,
}

/// The change of one record between neighbouring sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordChange {
    /// It is replaced.
    Replaced,
    /// It is present or absent.
    AddedOrRemoved,
}

impl RecordChange {
    fn sensitivity(self) -> f64 {
        match self {
            Self::Replaced => REPLACEMENT,
            Self::AddedOrRemoved => ADDITION,
        }
    }

    pub(super) fn adjacency(self) -> Adjacency {
        match self {
            Self::Replaced => Adjacency::ReplaceOne,
            Self::AddedOrRemoved => Adjacency::AddOrRemoveOne,
        }
    }
}

impl AnalyzeGauss {
    /// The least noise for (`epsilon`, `delta`) and one record replaced.
    #[must_use]
    pub fn new(epsilon: Epsilon, delta: Delta) -> Self {
        let (change, scale) = (RecordChange::Replaced, GaussianScale::Analytic);
        Self { epsilon, delta, change, scale, geometry: NoiseGeometry::Frobenius }
    }

    /// Algorithm 1 as printed: a record more or less, the classical scale, the upper triangle.
    #[must_use]
    pub fn as_printed(epsilon: Epsilon, delta: Delta) -> Self {
        let (change, scale) = (RecordChange::AddedOrRemoved, GaussianScale::Classical);
        Self { epsilon, delta, change, scale, geometry: NoiseGeometry::UpperTriangle }
    }

    /// The standard deviation of the noise in an entry of the diagonal of `X X^T`.
    ///
    /// # Errors
    /// [`BaselineError::OutsideTheorem`] for the classical scale at eps > 1, [`BaselineError::Mechanism`] for a target
    /// beyond double precision.
    pub fn sigma(&self) -> Result<f64, BaselineError> {
        let sensitivity = self.change.sensitivity();
        match self.scale {
            GaussianScale::Analytic => Ok(analytic_gaussian_sigma(self.epsilon, self.delta, sensitivity)?),
            GaussianScale::Classical if self.epsilon.value() > 1.0 => Err(BaselineError::OutsideTheorem {
                method: self.name(),
                parameter: "epsilon",
                value: self.epsilon.value(),
                theorem: "Theorem A.1 of Dwork & Roth (2014)",
                remedy: "take an epsilon of at most 1, or the analytic scale",
            }),
            GaussianScale::Classical => Ok(paper_sigma(self.epsilon, self.delta) * sensitivity),
        }
    }

    /// S + N, not divided by n: the guarantee covers it, and so all that is computed from it.
    ///
    /// # Errors
    /// As [`SubspaceEstimator::estimate`].
    pub fn release(&self, sample: &Sample, rng: &mut dyn CryptoRng) -> Result<DMatrix<f64>, BaselineError> {
        sample.check_unit_ball(self.name())?;
        let sigma = self.sigma()?;
        let off_diagonal = match self.geometry {
            NoiseGeometry::UpperTriangle => sigma,
            NoiseGeometry::Frobenius => sigma * core::f64::consts::FRAC_1_SQRT_2,
        };
        let sum = sample.second_moment() * sample.records() as f64;
        let noise = |on_diagonal| normal(rng) * if on_diagonal { sigma } else { off_diagonal };
        Ok(symmetrically_perturbed(&sum, noise))
    }
}

impl SubspaceEstimator for AnalyzeGauss {
    fn name(&self) -> &'static str {
        "Analyze Gauss"
    }

    fn guarantee(&self, _: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        Ok(Some(MethodGuarantee {
            claimed: EpsilonDelta::approximate(self.epsilon, self.delta),
            proved: Some(holding(self.epsilon, self.delta, self.sigma()?, self.change.sensitivity())?),
            adjacency: self.change.adjacency(),
            argument: "The Gaussian mechanism on X X^T, whose l2-sensitivity is sqrt(2) for one record replaced and \
                       1 for one more or less. Records in the unit ball.",
        }))
    }

    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        sample.check(rank, self.name())?;
        let diagnostics = vec![("sigma", self.sigma()?)];
        Ok(Outcome { subspace: leading_subspace(&self.release(sample, rng)?, rank)?, diagnostics })
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use nalgebra::DVector;
    use rand::SeedableRng;

    use super::*;

    fn parameters(epsilon: f64, delta: f64) -> (Epsilon, Delta) {
        (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap())
    }

    fn shape() -> Shape {
        Shape { records: 10, dimension: 3, rank: Rank::new(1).unwrap() }
    }

    #[test]
    fn scales_are_those_of_their_theorems() {
        let (epsilon, delta) = parameters(0.5, 1e-6);
        // sqrt(2 ln 1,250,000) = 5.298803, over 0.5.
        let printed = AnalyzeGauss::as_printed(epsilon, delta);
        assert!((printed.sigma().unwrap() - 10.597_605).abs() < 1e-5);
        // The analytic scale for sensitivity sqrt(2): sigma^2 of tests/independent/values.py.
        let sigma = AnalyzeGauss::new(epsilon, delta).sigma().unwrap();
        assert!((sigma * sigma / 129.850_431_161_843_5 - 1.0).abs() < 1e-8);
    }

    #[test]
    fn every_reading_that_is_accepted_keeps_its_claim() {
        for (epsilon, delta) in [(0.1, 1e-9), (1.0, 1e-2), (1.0, 0.5), (8.0, 1e-6)] {
            let (epsilon, delta) = parameters(epsilon, delta);
            for change in [RecordChange::Replaced, RecordChange::AddedOrRemoved] {
                for scale in [GaussianScale::Classical, GaussianScale::Analytic] {
                    let method = AnalyzeGauss { change, scale, ..AnalyzeGauss::new(epsilon, delta) };
                    let guarantee = method.guarantee(shape());
                    if epsilon.value() > 1.0 && scale == GaussianScale::Classical {
                        let message = guarantee.unwrap_err().to_string();
                        assert!(message.contains("Theorem A.1"), "{message}");
                    } else {
                        let guarantee = guarantee.unwrap().unwrap();
                        assert_eq!(guarantee.proved, Some(guarantee.claimed), "{method:?}");
                    }
                }
            }
        }
    }

    /// A spike of strength t over noise whose entries off the diagonal have deviation s: cos^2 is 1 - (s/t)^2 d
    /// above the threshold, and isotropic noise of the same sigma has half the variance.
    #[test]
    fn noise_is_drawn_at_its_scale_in_either_geometry() {
        let d = 60;
        let rng = &mut ChaCha12Rng::seed_from_u64(4);
        let (epsilon, delta) = parameters(1.0, 1e-4);
        let rank = Rank::new(1).unwrap();
        let axis = DMatrix::from_diagonal(&DVector::from_fn(d, |i, _| f64::from(i == 0)));
        for (geometry, share) in [(NoiseGeometry::UpperTriangle, 1.0), (NoiseGeometry::Frobenius, 0.5)] {
            let method = AnalyzeGauss { geometry, ..AnalyzeGauss::new(epsilon, delta) };
            let records = (1.5 * method.sigma().unwrap() * (d as f64).sqrt()) as u64;
            let sample = Sample::from_second_moment(axis.clone(), records, 1.0).unwrap();
            let draws = 20;
            let cosines = (0..draws).map(|_| method.estimate(&sample, rank, rng).unwrap().subspace.basis()[0].powi(2));
            let mean = cosines.sum::<f64>() / f64::from(draws);
            let expected = 1.0 - share / (1.5f64 * 1.5);
            // Deviation about 0.08 a draw.
            assert!((mean - expected).abs() < 0.08, "{geometry:?}: {mean} of {expected}");
        }
    }
}
