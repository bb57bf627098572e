//! The two extremes: the answer without privacy, and an answer without data.

use rand::rand_core::CryptoRng;

use super::orthonormal::normal_matrix;
use super::perturbation::leading_subspace;
use super::{BaselineError, MethodGuarantee, Outcome, Sample, Shape, SubspaceEstimator, Trust};
use ldp_pca::recovery::Rank;
use ldp_pca::subspace::Subspace;

/// Principal components of the second moments, without any privacy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pca;

impl SubspaceEstimator for Pca {
    fn name(&self) -> &'static str {
        "PCA"
    }

    fn trust(&self) -> Trust {
        Trust::Everybody
    }

    fn guarantee(&self, _: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        Ok(None)
    }

    fn estimate(&self, sample: &Sample, rank: Rank, _: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        Ok(Outcome::new(leading_subspace(sample.second_moment(), rank)?))
    }
}

/// A uniformly drawn subspace, independent of the records. Its mean error `||sin Theta||_F^2` is `k (1 - k/d)` from any
/// subspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RandomSubspace;

impl SubspaceEstimator for RandomSubspace {
    fn name(&self) -> &'static str {
        "random subspace"
    }

    fn trust(&self) -> Trust {
        Trust::Nobody
    }

    fn guarantee(&self, _: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        Ok(None)
    }

    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        rank.check(sample.dimension())?;
        Ok(Outcome::new(Subspace::new(&normal_matrix(sample.dimension(), rank.value(), rng))?))
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::*;
    use ldp_pca::subspace::sin_theta_squared;

    #[test]
    fn pca_finds_the_axis_with_the_variance_and_a_random_subspace_does_not() {
        let sample = Sample::new(3, vec![0.0, 0.9, 0.1, 0.1, -0.8, 0.0, 0.0, 0.7, 0.1]).unwrap();
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        let rank = Rank::new(1).unwrap();
        let found = Pca.estimate(&sample, rank, &mut rng).unwrap().subspace;
        assert!(found.basis()[1].abs() > 0.99);
        let draws = 4000;
        let distances = (0..draws).map(|_| {
            let random = RandomSubspace.estimate(&sample, rank, &mut rng).unwrap().subspace;
            sin_theta_squared(&random, &found).unwrap()
        });
        // Mean 2/3, standard deviation 0.3 a draw: five standard errors.
        let mean = distances.sum::<f64>() / f64::from(draws);
        assert!((mean - 2.0 / 3.0).abs() < 0.024, "{mean}");
    }
}
