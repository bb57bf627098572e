//! Gaussian noise on `x x^T`: Wang & Xu (2019), Algorithms 1 and 2 as printed, and the same with the least noise.
//!
//! # As printed
//! ```text
//! 1: for each i in [n]
//! 2:   report X_i X_i^T + Z_i, Z_i symmetric, upper triangle i.i.d. N(0, sigma^2),
//!      sigma^2 = 2 ln(1.25/delta) / epsilon^2
//! 4: S = mean of the reports
//!
//! Algorithm 1                        Algorithm 2 (rho > 0 a constant, Y = U = 0 at first)
//! 5: the principal k-subspace of S   8: X <- P_Fantope(Y - U + S/rho)
//!                                    9: Y <- soft_threshold(X + U, penalty/rho)
//!                                   10: U <- U + X - Y
//!                                   13: the principal k-subspace of Y
//! ```
//! The paper gives no value for rho, the number of iterations, and the penalty. For the penalty, Theorem 4 has only an
//! order, and Lemma 15 the condition `penalty >= max |S - Sigma|`. Here rho is the problem's natural scale and stays
//! constant, and the penalty is a multiple of the noise (see [`WangXuSparse`]). By default the iteration starts at the
//! soft-thresholded estimate and ends at a certified relative gap; [`SparseSolver::Printed`] starts and ends as
//! printed.
//!
//! # The guarantee
//! Claimed: (epsilon, delta) for one report under "any two records" (Theorem 2, for "any epsilon, delta > 0"; Theorem
//! 4, for both below 1), after Dwork & Roth's Theorem A.1. Its two premises do not hold for all of these parameters.
//! The sensitivity of `x x^T` over the unit ball is the diameter, not 1:
//!
//! ```text
//! |x x^T - y y^T|_F^2 = |x|^4 + |y|^4 - 2 (x . y)^2 <= 2, with equality for x = e_1, y = e_2
//! ```
//!
//! and that theorem needs epsilon <= 1. The following holds instead. In the coordinates (diagonal, sqrt(2)
//! off-diagonal), whose Euclidean norm is the Frobenius norm, the noise has standard deviation sigma on the diagonal
//! and sqrt(2) sigma off it. That is at least sigma in every direction, and exactly sigma in the direction from e_1 to
//! e_2. So the least delta at epsilon is exactly that of Balle & Wang (2018, Theorem 8) at sigma and sensitivity
//! sqrt(2), [`gaussian_delta`]; this is the *proved* delta. Except for small epsilons it is more than claimed: at
//! epsilon = 2 and delta = 1e-4 it is 5.0e-4. Parameters outside the theorems' ranges are therefore not refused: the
//! papers' own tables use epsilon = 2.
//!
//! *A hypothesis.* [`NoisePlacement::Mean`] adds the printed Z once to the mean of the records, with deviation sigma /
//! n in place of sigma / sqrt(n). The papers do not print this, and it is not local: a curator sees every record. It
//! serves only to ask whether the papers' figures could have come from it. With one record replaced, n times the mean
//! has the same sensitivity, so the same delta is proved, under that weaker relation.
//!
//! *With the least noise.* sigma follows from the analytic formula at sensitivity sqrt(2), and entries off the diagonal
//! have sigma / sqrt(2). So the standard deviation is sigma in each of those coordinates, and the guarantee is
//! (epsilon, delta), for every epsilon.

use core::f64::consts::FRAC_1_SQRT_2;

use rand::RngExt;
use rand::rand_core::CryptoRng;
use rand_distr::StandardNormal;

use super::{Estimate, MOST_STEPS};
use crate::baselines::{
    Adjacency, BaselineError, EpsilonDelta, MethodGuarantee, Outcome, Sample, Shape, SubspaceEstimator, Trust,
};
use ldp_pca::internal::privacy::calibration::{
    COVARIANCE_SENSITIVITY, analytic_gaussian_sigma, gaussian_delta, paper_sigma,
};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::{DEFAULT_PENALTY_FACTOR, Rank};

/// Wang & Xu (2019), Algorithm 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WangXuPca {
    /// Epsilon of one report.
    pub epsilon: Epsilon,
    /// The claimed delta, from which the scale is computed.
    pub delta: Delta,
    /// Where the noise is added. Default: to every report, as printed.
    pub placement: NoisePlacement,
}

/// Where the printed noise is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoisePlacement {
    /// To every report, as printed: local.
    #[default]
    Reports,
    /// Once, to the mean, with deviation sigma / n: a hypothesis, not printed, and not local.
    Mean,
}

/// The name of the methods with [`NoisePlacement::Mean`].
pub(crate) const HYPOTHESIS: &str = "hypothesis: the printed noise once, on the mean (not local)";

impl NoisePlacement {
    /// The hypothesis never has the name of what is printed.
    fn name(self, printed: &'static str) -> &'static str {
        match self {
            Self::Reports => printed,
            Self::Mean => HYPOTHESIS,
        }
    }

    fn trust(self) -> Trust {
        match self {
            Self::Reports => Trust::Local,
            Self::Mean => Trust::Curator,
        }
    }
}

impl WangXuPca {
    /// With these parameters.
    #[must_use]
    pub fn new(epsilon: Epsilon, delta: Delta) -> Self {
        Self { epsilon, delta, placement: NoisePlacement::Reports }
    }

    /// The mean of the reports, or the mean of the records with the noise of [`NoisePlacement::Mean`].
    pub(super) fn sums(&self, sample: &Sample, rng: &mut dyn CryptoRng) -> Estimate {
        let sigma = paper_sigma(self.epsilon, self.delta);
        let sigma = match self.placement {
            NoisePlacement::Reports => sigma,
            NoisePlacement::Mean => sigma / (sample.records() as f64).sqrt(),
        };
        noisy(sample, sigma, sigma, rng)
    }
}

impl SubspaceEstimator for WangXuPca {
    fn name(&self) -> &'static str {
        self.placement.name("Wang & Xu, Algorithm 1")
    }

    fn trust(&self) -> Trust {
        self.placement.trust()
    }

    fn guarantee(&self, _: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        let sigma = paper_sigma(self.epsilon, self.delta);
        let real = gaussian_delta(sigma, COVARIANCE_SENSITIVITY, self.epsilon)?;
        // A delta of 1 guarantees nothing. A delta that underflows is still above 0.
        let proved = Delta::new(real.max(f64::MIN_POSITIVE)).ok();
        Ok(Some(MethodGuarantee {
            claimed: EpsilonDelta::approximate(self.epsilon, self.delta),
            proved: proved.map(|delta| EpsilonDelta::approximate(self.epsilon, delta)),
            adjacency: match self.placement {
                NoisePlacement::Reports => Adjacency::AnyTwoRecords,
                NoisePlacement::Mean => Adjacency::ReplaceOne,
            },
            argument: "the exact delta of the printed scale (Balle & Wang 2018) at the sensitivity that x x^T has, \
                sqrt(2)",
        }))
    }

    /// Diagnostics: `noise`, the standard deviation of an off-diagonal entry of the estimate.
    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        sample.check(rank, self.name())?;
        self.sums(sample, rng).components(rank)
    }
}

/// Wang & Xu (2019), Algorithm 2: the reports of Algorithm 1, sparse components by ADMM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WangXuSparse {
    /// The reports.
    pub reports: WangXuPca,
    /// c in the penalty `c noise sqrt(ln d)`: of the order of Theorem 4. From 2 on it meets the condition of Lemma 15
    /// as to the noise, whose largest entry is close to `2 noise sqrt(ln d)`.
    pub penalty_factor: f64,
    /// The algorithm for the problem.
    pub solver: SparseSolver,
}

/// An algorithm for the sparse problem of Algorithm 2. It is convex: all find the same solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SparseSolver {
    /// ADMM from the soft-thresholded estimate, with constant rho and no over-relaxation, until a relative gap of 1e-4.
    /// A step is an eigendecomposition of all p features, which takes a minute at p = 7,000.
    Admm {
        /// The most iterations.
        most: usize,
    },
    /// ADMM as printed: from zero, so many steps, and the principal components of the last Y.
    Printed {
        /// The number of iterations, which the paper does not give.
        steps: usize,
    },
    /// On the features in the support, with a certificate: [`FantopeSolver`](ldp_pca::recovery::FantopeSolver).
    Certified,
}

impl WangXuSparse {
    /// With this crate's own factor, [`DEFAULT_PENALTY_FACTOR`], so that methods differ only in their noise, and at
    /// most 300 iterations.
    #[must_use]
    pub fn new(epsilon: Epsilon, delta: Delta) -> Self {
        Self {
            reports: WangXuPca::new(epsilon, delta),
            penalty_factor: DEFAULT_PENALTY_FACTOR,
            solver: SparseSolver::Admm { most: MOST_STEPS },
        }
    }

    /// As the paper has it, where it says something: the penalty of Lemma 15, and as many steps as the problem takes,
    /// up to 3,000. The paper gives no number of steps.
    #[must_use]
    pub fn own(epsilon: Epsilon, delta: Delta) -> Self {
        let solver = SparseSolver::Admm { most: OWN_STEPS };
        Self { penalty_factor: LEMMA_15_FACTOR, solver, ..Self::new(epsilon, delta) }
    }
}

/// The most steps of [`WangXuSparse::own`], ten times those of [`WangXuSparse::new`].
const OWN_STEPS: usize = 10 * MOST_STEPS;

/// Lemma 15's condition on the penalty: it is at least the largest entry of the noise, which is near
/// `2 noise sqrt(ln p)`.
pub(crate) const LEMMA_15_FACTOR: f64 = 2.0;

impl SubspaceEstimator for WangXuSparse {
    fn name(&self) -> &'static str {
        self.reports.placement.name("Wang & Xu, Algorithm 2")
    }

    fn trust(&self) -> Trust {
        self.reports.trust()
    }

    fn guarantee(&self, shape: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        self.reports.guarantee(shape)
    }

    /// Diagnostics: `noise`, `penalty`, `gap` (the relative duality gap reached), `iterations`.
    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        sample.check(rank, self.name())?;
        let estimate = self.reports.sums(sample, rng);
        let (mut outcome, iterations) = estimate.sparse(rank, self.penalty_factor, self.solver)?;
        outcome.diagnostics.push(("iterations", iterations as f64));
        Ok(outcome)
    }
}

/// The least Gaussian noise on `x x^T` that is (epsilon, delta)-private, and principal components.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnalyticGaussianPca {
    /// Epsilon of one report.
    pub epsilon: Epsilon,
    /// Its delta.
    pub delta: Delta,
}

impl AnalyticGaussianPca {
    /// With these parameters.
    #[must_use]
    pub fn new(epsilon: Epsilon, delta: Delta) -> Self {
        Self { epsilon, delta }
    }

    /// The mean of the reports.
    pub(super) fn sums(&self, sample: &Sample, rng: &mut dyn CryptoRng) -> Result<Estimate, BaselineError> {
        let sigma = analytic_gaussian_sigma(self.epsilon, self.delta, COVARIANCE_SENSITIVITY)?;
        Ok(noisy(sample, sigma, sigma * FRAC_1_SQRT_2, rng))
    }
}

impl SubspaceEstimator for AnalyticGaussianPca {
    fn name(&self) -> &'static str {
        "Gaussian, analytic + PCA"
    }

    fn trust(&self) -> Trust {
        Trust::Local
    }

    fn guarantee(&self, _: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        let argument = "the analytic Gaussian mechanism (Balle & Wang 2018) at sensitivity sqrt(2), isotropic in \
            Frobenius' geometry";
        let budget = EpsilonDelta::approximate(self.epsilon, self.delta);
        Ok(Some(MethodGuarantee::proved(budget, Adjacency::AnyTwoRecords, argument)))
    }

    /// Diagnostics: `noise`, the standard deviation of an off-diagonal entry of the estimate.
    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        sample.check(rank, self.name())?;
        self.sums(sample, rng)?.components(rank)
    }
}

/// The second moments plus the mean noise of the reports. The entries of one report's noise have these deviations.
pub(super) fn noisy(sample: &Sample, diagonal: f64, off_diagonal: f64, rng: &mut dyn CryptoRng) -> Estimate {
    let shrink = 1.0 / (sample.records() as f64).sqrt();
    let mut matrix = sample.second_moment().clone();
    for column in 0..sample.dimension() {
        for row in 0..=column {
            let deviation = shrink * if row == column { diagonal } else { off_diagonal };
            let value = matrix[(row, column)] + deviation * rng.sample::<f64, _>(StandardNormal);
            matrix[(row, column)] = value;
            matrix[(column, row)] = value;
        }
    }
    Estimate { matrix, noise: off_diagonal * shrink }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn the_noise_of_the_hypothesis_is_smaller_by_the_root_of_n_and_not_local() {
        let values: Vec<f64> = (0..3 * 400).map(|index| f64::from(index % 7) / 20.0).collect();
        let sample = Sample::new(3, values).unwrap();
        let (rank, shape) = (Rank::new(1).unwrap(), Shape { records: 400, dimension: 3, rank: Rank::new(1).unwrap() });
        let printed = WangXuPca::new(Epsilon::new(1.0).unwrap(), Delta::new(1e-4).unwrap());
        let hypothesis = WangXuPca { placement: NoisePlacement::Mean, ..printed };
        let noise = |method: &WangXuPca| {
            method.estimate(&sample, rank, &mut ChaCha12Rng::seed_from_u64(1)).unwrap().diagnostics[0].1
        };
        assert!((noise(&printed) / noise(&hypothesis) - 20.0).abs() < 1e-12);
        assert!(hypothesis.name().contains("hypothesis") && hypothesis.name().contains("not local"));
        assert_eq!((printed.trust(), hypothesis.trust()), (Trust::Local, Trust::Curator));
        let [local, central] = [printed, hypothesis].map(|method| method.guarantee(shape).unwrap().unwrap());
        assert_eq!((local.adjacency, central.adjacency), (Adjacency::AnyTwoRecords, Adjacency::ReplaceOne));
        assert_eq!(local.proved, central.proved);
    }
}
