//! Output perturbation of the spectral projector (Cai, Xia & Zha 2024), and the same with a private test of the gap.
//!
//! *The algorithm* for the spiked covariance `U diag(lambda) U^T + sigma^2 I`, with the projector P on the k leading
//! eigenvectors of the second moments:
//!
//! ```text
//! return the k leading eigenvectors of P + N,   N symmetric Gaussian for the sensitivity
//! Delta = C (sigma^2 / lambda_k + sqrt(sigma^2 / lambda_k)) sqrt(d (k + log n)) / n
//! ```
//!
//! The rate is minimax up to logarithms. C is derived here: a replaced record x moves P by
//! `U_perp U_perp^T x x^T U / (n lambda)` to first order, where `|U_perp^T x|` is about `sigma sqrt(d)` and `|u_j^T x|`
//! at most `sqrt(lambda_j + sigma^2) sqrt(2 log n)` with high probability; twice for x and its replacement, and sqrt(2)
//! from the sines to the projector, make C = 4 sqrt(2).
//!
//! # Guarantee of [`Release::Spiked`]
//! None. Delta bounds the effect of *typical* records of the model, with high probability over the records.
//! Differential privacy is about every record, and a record far from the model moves P by more. `proved` is `None` even
//! if sigma and lambda are known; here they are estimated from the same records.
//!
//! # Guarantee of [`Release::Tested`]
//! Unconditional, for records in the unit ball and *one record replaced*: propose, test, release (Dwork & Lei 2009), as
//! in Algorithm 2 of Dwork, Talwar, Thakurta & Zhang (2014), with our constants. Let E = A' - A =
//! `(y y^T - x x^T) / n` and G = n (lambda_k - lambda_{k+1}).
//!
//! *How far P moves.* With `X = (I - P') P`, `(I - P') E P = A' X - X A`. On its left side the eigenvalues of A' are at
//! most `lambda'_{k+1} <= lambda_{k+1} + 1/n`, on its right those of A at least lambda_k, so (Davis & Kahan 1970)
//!
//! ```text
//! |X|_F (G - 1) / n <= |(I - P') E P|_F <= (|(I - P') y| |P y| + |(I - P') x| |P x|) / n <= (1 + 2 |X|_2) / n
//! ```
//!
//! since `|P y| <= |P' y| + |X|_2` (two projectors of the same rank are at distance `|X|_2`) and
//! `|(I - P') y| |P' y| <= 1/2`. Hence `|X|_F <= 1 / (G - 3)` and `|P - P'|_F = sqrt(2) |X|_F <= sqrt(2) / (G - 3)`
//! where G > 3.
//!
//! *The test.* G moves by at most 2 (Weyl). `G + N(0, s^2)` is released; less `s sqrt(2 log(1 / (2 delta_t)))` it is
//! below G except with probability delta_t. If that bound exceeds 3, P is released with noise for
//! `sqrt(2) / (bound - 3)`; if not, A with noise for sqrt(2) / n, as in Analyze Gauss. Each is a Gaussian answer.
//! Composed exactly with the test's answer, it has the budget (epsilon, delta - delta_t). A wrong bound costs delta_t:
//! if the bound is right, the second answer hides the difference, and the bound is wrong with probability at most
//! delta_t.
//!
//! # What to expect
//! Noise of deviation `c sqrt(2) / (G - 3)` on P turns it as far as noise of `c sqrt(2) / n` on A turns a gap of
//! `(G - 3) / n`: over the unit ball, output perturbation is never better than Analyze Gauss, which needs no test. The
//! spiked model saves a factor of `sqrt(sigma^2 / lambda)`, because it bounds the part of a record outside U. A private
//! method needs adaptive clipping for this, as in [`dp_pca`](super::dp_pca), which gains if records are close to the
//! components.
//!
//! d'Orsi & Novikov (2025, Tight Differentially Private PCA via Matrix Coherence) perturb a decomposition too, with an
//! error that depends on the coherence of the singular vectors, and answer a question of Hardt & Roth (2013), where
//! neighbours differ in one entry of the matrix by at most 1. If a whole record is replaced, the new one may have any
//! coherence with the components: the bound on `|(I - P) y| |P y|` above is 1/2 for every coherence of the others. So
//! their method gains nothing for the relation of this crate, and is not implemented. For pure epsilon see
//! [`wishart_difference`](super::wishart_difference).

use rand::rand_core::CryptoRng;

use super::perturbation::{leading_subspace, normal, symmetrically_perturbed};
use super::{Adjacency, BaselineError, EpsilonDelta, MethodGuarantee, Outcome, Sample, Shape, SubspaceEstimator};
use ldp_pca::internal::privacy::calibration::{COVARIANCE_SENSITIVITY, analytic_gaussian_sigma};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::{Rank, principal_components};

const SPIKED: &str = "Cai, Xia & Zha";
const TESTED: &str = "spectral projector, tested gap";

/// C of the spiked model's sensitivity: 4 sqrt(2).
const CONSTANT: f64 = 4.0 * core::f64::consts::SQRT_2;

/// The test's share of the concentrated budget.
const TEST_SHARE: f64 = 0.1;

/// The share of delta for a wrong bound of the test.
const MISS_SHARE: f64 = 0.1;

/// The sensitivity for which the noise is calibrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// The sensitivity of the spiked model. It is not proved for all records.
    Spiked,
    /// The sensitivity for a gap that is tested privately.
    Tested,
}

/// Output perturbation of the spectral projector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpectralProjector {
    /// The claim's epsilon.
    pub epsilon: Epsilon,
    /// The claim's delta.
    pub delta: Delta,
    /// The sensitivity.
    pub release: Release,
}

impl SpectralProjector {
    /// The method of Cai, Xia & Zha.
    #[must_use]
    pub fn new(epsilon: Epsilon, delta: Delta) -> Self {
        Self { epsilon, delta, release: Release::Spiked }
    }

    /// With a gap that is tested, for records in the unit ball.
    #[must_use]
    pub fn tested(epsilon: Epsilon, delta: Delta) -> Self {
        Self { release: Release::Tested, ..Self::new(epsilon, delta) }
    }

    fn check(&self, shape: Shape) -> Result<(), BaselineError> {
        shape.rank.check(shape.dimension)?;
        if shape.rank.value() == shape.dimension {
            return Err(BaselineError::OutsideTheorem {
                method: self.name(),
                parameter: "the rank",
                value: shape.dimension as f64,
                theorem: "the spiked covariance model of Cai, Xia & Zha (2024)",
                remedy: "it must be below the number of features, or there is no gap and nothing to find",
            });
        }
        Ok(())
    }

    /// Delta of the spiked model, with sigma^2 and lambda_k from the spectrum of the records.
    fn spiked_sensitivity(values: &[f64], shape: Shape) -> Result<f64, BaselineError> {
        let (k, n) = (shape.rank.value(), shape.records as f64);
        let noise = values[k..].iter().sum::<f64>() / (values.len() - k) as f64;
        let signal = values[k - 1] - noise;
        if !(signal > 0.0 && noise > 0.0) {
            return Err(BaselineError::Failed {
                method: SPIKED,
                what: "the records' spectrum is not a spiked one: its k-th eigenvalue must be above the mean of the \
                    rest, \
                    and that above 0",
            });
        }
        let ratio = noise / signal;
        Ok(CONSTANT * (ratio + ratio.sqrt()) * (shape.dimension as f64 * (k as f64 + libm::log(n))).sqrt() / n)
    }

    /// s, the multiple of s subtracted for the lower bound of the gap, and the standard deviation of the second
    /// answer's noise at sensitivity 1.
    fn test(&self) -> Result<(f64, f64, f64), BaselineError> {
        let miss = MISS_SHARE * self.delta.value();
        let c = analytic_gaussian_sigma(self.epsilon, Delta::new(self.delta.value() - miss)?, 1.0)?;
        let rounded_up = c * (1.0 + 8.0 * f64::EPSILON);
        let quantile = (2.0 * libm::log(1.0 / (2.0 * miss)).max(0.0)).sqrt();
        Ok((2.0 * rounded_up / TEST_SHARE.sqrt(), quantile, rounded_up / (1.0 - TEST_SHARE).sqrt()))
    }
}

impl SubspaceEstimator for SpectralProjector {
    fn name(&self) -> &'static str {
        match self.release {
            Release::Spiked => SPIKED,
            Release::Tested => TESTED,
        }
    }

    fn guarantee(&self, shape: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        self.check(shape)?;
        let claimed = EpsilonDelta::approximate(self.epsilon, self.delta);
        let (proved, argument) = match self.release {
            Release::Spiked => (
                None,
                "the sensitivity holds with high probability for records of the spiked model, and not for every record",
            ),
            Release::Tested => (
                Some(claimed),
                "the gap is a Gaussian answer of sensitivity 2/n; given a lower bound of it, the projector of records \
                 in the unit ball has a bounded sensitivity (Davis & Kahan), and a bound that is missed costs a part \
                 of delta",
            ),
        };
        Ok(Some(MethodGuarantee { claimed, proved, adjacency: Adjacency::ReplaceOne, argument }))
    }

    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        let shape = Shape { records: sample.records(), dimension: sample.dimension(), rank };
        self.check(shape)?;
        let found = principal_components(sample.second_moment(), rank)?;
        let projector = || &found.vectors * found.vectors.transpose();
        let (matrix, sigma, diagnostics) = match self.release {
            Release::Spiked => {
                let sensitivity = Self::spiked_sensitivity(found.all_values.as_slice(), shape)?;
                let sigma = analytic_gaussian_sigma(self.epsilon, self.delta, sensitivity)?;
                (projector(), sigma, vec![("noise on the projector", sigma)])
            }
            Release::Tested => {
                sample.check_unit_ball(TESTED)?;
                let (test, quantile, scale) = self.test()?;
                let n = shape.records as f64;
                let bound = n * found.gap().unwrap_or(0.0) + test * normal(rng) - test * quantile;
                let passed = bound > 3.0;
                let (matrix, sensitivity) = if passed {
                    (projector(), COVARIANCE_SENSITIVITY / (bound - 3.0))
                } else {
                    (sample.second_moment().clone(), COVARIANCE_SENSITIVITY / n)
                };
                let sigma = scale * sensitivity * (1.0 + 8.0 * f64::EPSILON);
                (
                    matrix,
                    sigma,
                    vec![("private lower bound of n times the gap", bound), ("test passed", f64::from(passed))],
                )
            }
        };
        // Isotropic in the Frobenius norm: half the variance off the diagonal.
        let noise =
            |on_diagonal: bool| sigma * normal(rng) * if on_diagonal { 1.0 } else { core::f64::consts::FRAC_1_SQRT_2 };
        let perturbed = symmetrically_perturbed(&((&matrix + matrix.transpose()) * 0.5), noise);
        Ok(Outcome { subspace: leading_subspace(&perturbed, rank)?, diagnostics })
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::super::orthonormal::normal_matrix;
    use super::*;
    use ldp_pca::internal::privacy::calibration::gaussian_delta;
    use ldp_pca::subspace::{Subspace, sin_theta_squared};

    fn method() -> SpectralProjector {
        SpectralProjector::new(Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap())
    }

    /// Gaussian records with deviations `spike` on the first axis and 0.1 on the others, cut to the unit ball.
    fn records(count: usize, dimension: usize, spike: f64, seed: u64) -> Sample {
        let mut values = normal_matrix(dimension, count, &mut ChaCha12Rng::seed_from_u64(seed)) * 0.1;
        values.row_mut(0).scale_mut(spike / 0.1);
        for mut column in values.column_iter_mut() {
            let norm = column.norm();
            column /= norm.max(1.0);
        }
        Sample::new(dimension, values.as_slice().to_vec()).unwrap()
    }

    #[test]
    fn no_replaced_record_moves_the_projector_by_more_than_the_gap_allows() {
        let rank = Rank::new(1).unwrap();
        let project = |sample: &Sample| principal_components(sample.second_moment(), rank).unwrap();
        let mut tightest = 0.0f64;
        for seed in 0..300 {
            let sample = records(60, 3, 0.7, seed);
            let before = project(&sample);
            // The worst directions: between the component and its complement, on either side.
            let [u, v] = [before.vectors.column(0).clone_owned(), before.all_values.map(|_| 0.0)];
            let mut across = v;
            across[1] = 1.0;
            across -= &u * u.dot(&across);
            let across = across.normalize();
            let mut values: Vec<f64> = sample.rows("a test").unwrap().flatten().copied().collect();
            let place = 3 * (seed as usize % 60);
            let side = if seed % 2 == 0 { 1.0 } else { -1.0 };
            values[place..place + 3].copy_from_slice(((&u + across * side) / 2f64.sqrt()).as_slice());
            let gap = 60.0 * before.gap().unwrap();
            let after = project(&Sample::new(3, values).unwrap());
            let [before, after] = [before, after].map(|found| Subspace::new(&found.vectors).unwrap());
            let moved = (2.0 * sin_theta_squared(&before, &after).unwrap()).sqrt();
            assert!(gap > 3.0);
            tightest = tightest.max(moved / (2f64.sqrt() / (gap - 3.0)));
        }
        assert!(tightest <= 1.0 && tightest > 0.3, "{tightest}");
    }

    #[test]
    fn the_test_and_the_release_spend_the_budget() {
        let (test, quantile, scale) = SpectralProjector::tested(method().epsilon, method().delta).test().unwrap();
        let mu = (4.0 / (test * test) + 1.0 / (scale * scale)).sqrt();
        let spent = gaussian_delta(1.0 / mu, 1.0, method().epsilon).unwrap() + 0.1e-6;
        assert!(spent <= 1e-6 && spent > 0.9999e-6, "{spent}");
        // The upper bound of the normal tail, against its value at 5.
        assert!(quantile > 5.0 && quantile < 5.6, "{quantile}");
    }

    #[test]
    fn both_find_a_spike_and_a_small_gap_falls_back_to_the_moments() {
        let rank = Rank::new(1).unwrap();
        let truth = Subspace::new(&nalgebra::DMatrix::identity(10, 1)).unwrap();
        let sample = records(20_000, 10, 0.4, 1);
        for method in [method(), SpectralProjector::tested(method().epsilon, method().delta)] {
            let found = method.estimate(&sample, rank, &mut ChaCha12Rng::seed_from_u64(2)).unwrap();
            assert!(sin_theta_squared(&found.subspace, &truth).unwrap() < 1e-3, "{} {found:?}", method.name());
        }
        let tested = SpectralProjector::tested(method().epsilon, method().delta);
        let flat = tested.estimate(&records(50, 10, 0.1, 3), rank, &mut ChaCha12Rng::seed_from_u64(4)).unwrap();
        assert_eq!(flat.diagnostics[1], ("test passed", 0.0));
    }

    #[test]
    fn the_spiked_release_proves_nothing_and_a_full_rank_is_refused() {
        let shape = |rank| Shape { records: 100, dimension: 4, rank: Rank::new(rank).unwrap() };
        assert_eq!(method().guarantee(shape(2)).unwrap().unwrap().proved, None);
        assert!(method().guarantee(shape(4)).unwrap_err().to_string().contains("spiked covariance model"));
    }
}
