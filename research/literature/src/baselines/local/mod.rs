//! Local methods: every record is randomized by its owner, and the aggregator sees only the reports.
//!
//! | method | its paper | noise of a report | components |
//! |---|---|---|---|
//! | [`WangXuPca`] | Wang & Xu (2019), Algorithm 1 | Gaussian, scale and shape as printed | PCA |
//! | [`WangXuSparse`] | Wang & Xu (2019), Algorithm 2 | the same | ADMM over the Fantope, as printed |
//! | [`AnalyticGaussianPca`] | Balle & Wang (2018) on `x x^T` | Gaussian, the least that is private | PCA |
//! | [`DoubleCapPca`] | this crate | one of J public directions, pure epsilon | PCA |
//! | [`DoubleCapSparse`] | this crate | the same | certified solution over the Fantope |
//! | [`PrivUnitPca`] | Bhowmick et al. (2018) on `x x^T` | one of two densities, pure epsilon | PCA |
//!
//! Reports are drawn from the law of their sum, which is enough for a simulation: one Gaussian matrix for all records
//! (with `PrivUnit`, one of the sum's mean and covariance) or, with double-cap, a rank and a direction for each record.
//! The randomizers for real collections are in [`mechanism`](ldp_pca::mechanism).
//!
//! All six need records in the unit ball. Double-cap and `PrivUnit` lift them to the sphere, `(x, sqrt(1 - |x|^2))`;
//! records on the sphere do not change.

mod admm;
mod double_cap;
mod gaussian;
mod printed;
mod privunit;

pub use double_cap::{DoubleCapPca, DoubleCapSparse};
pub use gaussian::{AnalyticGaussianPca, NoisePlacement, SparseSolver, WangXuPca, WangXuSparse};
pub(crate) use gaussian::{HYPOTHESIS, LEMMA_15_FACTOR};
pub use privunit::PrivUnitPca;

use nalgebra::DMatrix;

use super::perturbation::leading_subspace;
use super::{BaselineError, Outcome};
use ldp_pca::recovery::{FantopeProblem, FantopeSolver, Rank, SolverSettings, default_penalty};
use ldp_pca::subspace::Subspace;

/// The aggregator's unbiased estimate of the second moments.
struct Estimate {
    /// d × d.
    matrix: DMatrix<f64>,
    /// The standard deviation of an off-diagonal entry, due to the reports.
    noise: f64,
}

impl Estimate {
    /// Its leading components.
    fn components(&self, rank: Rank) -> Result<Outcome, BaselineError> {
        Ok(Outcome { subspace: leading_subspace(&self.matrix, rank)?, diagnostics: vec![("noise", self.noise)] })
    }

    /// Its sparse components, with the penalty of this factor, and the number of steps. The certified solver stops at a
    /// relative gap of 1e-4, or after as many steps as [`WangXuSparse`]: on pure noise, more steps only find other
    /// noise.
    fn sparse(&self, rank: Rank, penalty_factor: f64, solver: SparseSolver) -> Result<(Outcome, usize), BaselineError> {
        let penalty = default_penalty(self.noise, self.matrix.nrows(), penalty_factor)?;
        if let SparseSolver::Printed { steps } = solver {
            let last = printed::last_iterate(&self.matrix, rank, penalty, steps)?;
            let diagnostics = vec![("noise", self.noise), ("penalty", penalty.value())];
            return Ok((Outcome { subspace: leading_subspace(&last, rank)?, diagnostics }, steps));
        }
        let problem = FantopeProblem::new(&self.matrix, rank, penalty)?;
        let solution = match solver {
            SparseSolver::Admm { most } => admm::solve(&problem, TOLERANCE, most)?,
            SparseSolver::Printed { .. } | SparseSolver::Certified => {
                let settings = SolverSettings::default();
                let settings = SolverSettings { tolerance: TOLERANCE, max_iterations: MOST_STEPS, ..settings };
                FantopeSolver::new(settings)?.solve(&problem)?
            }
        };
        let outcome = Outcome {
            subspace: Subspace::new(&solution.components)?,
            diagnostics: vec![("noise", self.noise), ("penalty", penalty.value()), ("gap", solution.relative_gap)],
        };
        Ok((outcome, solution.iterations))
    }
}

/// Relative gap at which sparse solvers stop.
const TOLERANCE: f64 = 1e-4;
/// Steps after which sparse solvers stop.
const MOST_STEPS: usize = 300;

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::baselines::{Adjacency, Pca, Sample, Shape, SubspaceEstimator, Trust};
    use ldp_pca::privacy::{Delta, Epsilon};
    use ldp_pca::subspace::sin_theta_squared;
    use ldp_pca_simulation::SpikedModel;

    fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).unwrap()
    }

    fn delta(value: f64) -> Delta {
        Delta::new(value).unwrap()
    }

    fn methods(e: f64) -> Vec<Box<dyn SubspaceEstimator>> {
        vec![
            Box::new(WangXuPca::new(epsilon(e), delta(1e-4))),
            Box::new(WangXuSparse::new(epsilon(e), delta(1e-4))),
            Box::new(AnalyticGaussianPca::new(epsilon(e), delta(1e-4))),
            Box::new(DoubleCapPca::new(epsilon(e))),
            Box::new(DoubleCapSparse::new(epsilon(e))),
            Box::new(PrivUnitPca::new(epsilon(e))),
        ]
    }

    /// Records of a spiked model inside the unit ball, and its subspace.
    fn sample(records: usize, sparsity: Option<usize>, seed: u64) -> (Sample, Subspace, ChaCha12Rng) {
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        let model = SpikedModel::draw(20, Rank::new(2).unwrap(), 20.0, sparsity, &mut rng).unwrap();
        let mut values = vec![];
        for _ in 0..records {
            let shrink: f64 = rng.random_range(0.8..1.0);
            values.extend(model.record(&mut rng).into_iter().map(|value| shrink * value));
        }
        (Sample::new(20, values).unwrap(), model.subspace().clone(), rng)
    }

    #[test]
    fn errors_are_ordered_as_the_noise_is_and_vanish_with_it() {
        let (sample, truth, mut rng) = sample(20_000, Some(5), 1);
        let rank = Rank::new(2).unwrap();
        let mut errors = |e| -> Vec<f64> {
            let error = |method: Box<dyn SubspaceEstimator>| {
                let found = method.estimate(&sample, rank, &mut rng).unwrap().subspace;
                sin_theta_squared(&found, &truth).unwrap()
            };
            methods(e).into_iter().map(error).collect()
        };
        let at = errors(2.0);
        // One report's off-diagonal entries have variances 4.7, 3.0 and 0.6. The errors are a multiple of these, and
        // sparse recovery removes most of the noise outside the five rows.
        assert!(at[0] > at[2] && at[2] > 3.0 * at[3], "{at:?}");
        assert!(at[1] < 0.5 * at[0] && at[4] < 0.7 * at[3], "{at:?}");
        assert!(errors(8.0).iter().zip(&at).all(|(less, more)| less < more));
    }

    #[test]
    fn estimates_are_unbiased_and_as_noisy_as_they_say() {
        let (sample, _, mut rng) = sample(500, None, 2);
        let (draws, e) = (400, epsilon(2.0));
        let wang_xu = WangXuPca::new(e, delta(1e-4));
        let analytic = AnalyticGaussianPca::new(e, delta(1e-6));
        let double_cap = DoubleCapPca::new(e);
        let mut means = vec![DMatrix::zeros(20, 20); 3];
        let mut squares = [0.0; 3];
        let mut noise = [0.0; 3];
        for _ in 0..draws {
            let estimates = [
                wang_xu.sums(&sample, &mut rng),
                analytic.sums(&sample, &mut rng).unwrap(),
                double_cap.sums("double-cap", &sample, &mut rng).unwrap(),
            ];
            for (index, estimate) in estimates.into_iter().enumerate() {
                let error = &estimate.matrix - sample.second_moment();
                assert_eq!(error, error.transpose());
                let off_diagonal = error.norm_squared() - error.diagonal().norm_squared();
                squares[index] += off_diagonal / 380.0 / f64::from(draws);
                means[index] += error / f64::from(draws);
                noise[index] = estimate.noise;
            }
        }
        for index in 0..3 {
            // 76,000 off-diagonal entries: a relative standard error of sqrt(2 / 76,000) = 0.0051 of the variance.
            // Along the records double-cap's variance is larger, by 2 gain / d = 0.09 on average.
            let ratio = squares[index] / noise[index].powi(2);
            let (low, high) = if index == 2 { (1.02, 1.16) } else { (0.975, 1.025) };
            assert!((low..high).contains(&ratio), "{index}: {ratio}");
            // The largest of 210 means, diagonal ones with up to twice the variance: 7 standard errors.
            let bound = 7.0 * noise[index] / f64::from(draws).sqrt();
            assert!(means[index].amax() < bound, "{index}: {} {bound}", means[index].amax());
        }
    }

    #[test]
    fn promises_are_about_any_two_records_and_say_what_holds() {
        let shape = Shape { records: 100, dimension: 20, rank: Rank::new(2).unwrap() };
        for method in methods(2.0) {
            let guarantee = method.guarantee(shape).unwrap().unwrap();
            assert_eq!((method.trust(), guarantee.adjacency), (Trust::Local, Adjacency::AnyTwoRecords));
            assert_eq!(guarantee.claimed.epsilon, epsilon(2.0));
        }
        let promise = |e| WangXuPca::new(epsilon(e), delta(1e-4)).guarantee(shape).unwrap().unwrap();
        // Balle & Wang's formula at sigma^2 = 2 ln(1.25e4) / 4 and sensitivity sqrt 2, by independent computation:
        // 5.0e-4.
        let real = promise(2.0).proved.unwrap().delta_value();
        assert!((4.9e-4..5.1e-4).contains(&real), "{real}");
        assert!(promise(0.5).proved.unwrap().delta_value() < 1e-4);
        let pure = DoubleCapPca::new(epsilon(2.0)).guarantee(shape).unwrap().unwrap();
        assert_eq!(pure.proved.map(|budget| budget.delta_value()), Some(0.0));
    }

    #[test]
    fn records_outside_the_ball_and_impossible_ranks_are_refused() {
        let outside = Sample::new(2, vec![0.6, 0.9]).unwrap();
        let inside = Sample::new(2, vec![0.6, 0.7]).unwrap();
        let mut rng = ChaCha12Rng::seed_from_u64(3);
        for method in methods(1.0) {
            let refusal = method.estimate(&outside, Rank::new(1).unwrap(), &mut rng).unwrap_err();
            assert!(matches!(refusal, BaselineError::NeedsUnitBall { .. }), "{refusal}");
            assert!(refusal.to_string().contains(method.name()));
            assert!(method.estimate(&inside, Rank::new(3).unwrap(), &mut rng).is_err());
        }
        // Gaussian sums need no more than the moments; double-cap draws for every record.
        let moments = Sample::from_second_moment(DMatrix::identity(2, 2) * 0.4, 10, 1.0).unwrap();
        for method in methods(1.0) {
            let result = method.estimate(&moments, Rank::new(1).unwrap(), &mut rng);
            assert_eq!(result.is_err(), method.name().starts_with("double-cap"), "{}", method.name());
        }
    }

    #[test]
    fn with_next_to_no_noise_the_answer_is_that_of_pca() {
        let (sample, _, mut rng) = sample(5000, None, 4);
        let rank = Rank::new(2).unwrap();
        let exact = Pca.estimate(&sample, rank, &mut rng).unwrap().subspace;
        let method = WangXuPca::new(epsilon(1e4), delta(1e-4));
        let found = method.estimate(&sample, rank, &mut rng).unwrap().subspace;
        let distance = sin_theta_squared(&found, &exact).unwrap();
        assert!(distance < 1e-6, "{distance}");
    }
}
