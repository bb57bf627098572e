//! Algorithm 2's iteration as printed: from Y = U = 0, with a constant rho, and the last Y is what is used.
//!
//! [`admm`](super::admm) starts at the soft-thresholded estimate and returns the best X that it has seen, with a
//! certificate. The problem is convex, so both end at the same solution; they differ in the way there.

use nalgebra::DMatrix;

use crate::baselines::BaselineError;
use ldp_pca::recovery::{Penalty, Rank, project_onto_fantope, soft_threshold};

/// Y after `steps` iterations (d × d). rho is the natural scale of the problem: the paper gives none.
pub(super) fn last_iterate(
    estimate: &DMatrix<f64>,
    rank: Rank,
    penalty: Penalty,
    steps: usize,
) -> Result<DMatrix<f64>, BaselineError> {
    let clipped = estimate.map(|entry| entry.clamp(-penalty.value(), penalty.value()));
    let rho = clipped.norm() / (rank.value() as f64).sqrt();
    // Nothing to solve without noise, and without an estimate.
    let rho = if rho > 0.0 { rho } else { 1.0 };
    let threshold = Penalty::new(penalty.value() / rho)?;
    let scaled = estimate / rho;
    let mut y = DMatrix::zeros(estimate.nrows(), estimate.ncols());
    let mut u = y.clone();
    for _ in 0..steps {
        let sum = project_onto_fantope(&(&y - &u + &scaled), rank)?.matrix + u;
        y = soft_threshold(&sum, threshold);
        u = sum - &y;
    }
    Ok(y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::perturbation::leading_subspace;
    use chacha20::ChaCha12Rng;
    use ldp_pca::recovery::{FantopeProblem, FantopeSolver, SolverSettings};
    use ldp_pca::subspace::sin_theta_squared;
    use ldp_pca_simulation::SpikedModel;
    use rand::{RngExt, SeedableRng};
    use rand_distr::StandardNormal;

    /// A sparse component with noise: the printed iteration comes to the certified solution, and is not there after
    /// two steps.
    #[test]
    fn the_printed_iteration_ends_at_the_certified_solution() {
        let mut rng = ChaCha12Rng::seed_from_u64(5);
        let rank = Rank::new(2).unwrap();
        let model = SpikedModel::draw(20, rank, 20.0, Some(6), &mut rng).unwrap();
        let mut estimate = model.subspace().basis() * model.subspace().basis().transpose() * 0.3;
        for column in 0..20 {
            for row in 0..=column {
                estimate[(row, column)] += 0.03 * rng.sample::<f64, _>(StandardNormal);
                estimate[(column, row)] = estimate[(row, column)];
            }
        }
        let penalty = Penalty::new(0.03).unwrap();
        let solver = FantopeSolver::new(SolverSettings { tolerance: 1e-9, ..SolverSettings::default() }).unwrap();
        let certified = solver.solve(&FantopeProblem::new(&estimate, rank, penalty).unwrap()).unwrap();
        // Its components leave out small loadings, which both have.
        let certified = leading_subspace(&certified.feasible(), rank).unwrap();
        let distance = |steps| {
            let last = last_iterate(&estimate, rank, penalty, steps).unwrap();
            sin_theta_squared(&leading_subspace(&last, rank).unwrap(), &certified).unwrap()
        };
        let [early, late] = [2, 2000].map(distance);
        assert!(late < 1e-6 && early > 10.0 * late, "{early} {late}");
    }

    #[test]
    fn without_an_estimate_or_a_penalty_there_is_an_answer() {
        let rank = Rank::new(1).unwrap();
        let none = last_iterate(&DMatrix::zeros(4, 4), rank, Penalty::new(0.1).unwrap(), 5).unwrap();
        assert!(none.iter().all(|entry| entry.is_finite()));
        let diagonal = DMatrix::from_fn(4, 4, |i, j| if i == j { i as f64 } else { 0.0 });
        let plain = last_iterate(&diagonal, rank, Penalty::new(0.0).unwrap(), 50).unwrap();
        assert!((plain[(3, 3)] - 1.0).abs() < 1e-6, "{plain}");
    }
}
