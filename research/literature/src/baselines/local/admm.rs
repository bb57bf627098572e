//! Algorithm 2's iteration, with a certificate of how far it has come.
//!
//! It starts at the soft-thresholded estimate and ends at a relative gap, with the best X and the best dual matrix that
//! it has seen. The step size is constant, and no step is over-relaxed. ([`printed`](super::printed) starts at zero,
//! and uses the last Y.) No step is made where the solution is known: without a penalty, with one of at least every
//! entry off the diagonal, and with as many components as features.

use nalgebra::DMatrix;

use ldp_pca::recovery::{
    FantopeError, FantopeProblem, FantopeProjection, FantopeSolution, FantopeSolver, Penalty, SolverSettings,
    project_onto_fantope,
};

/// Iterations between two certificates, each of which costs the eigenvalues of one matrix.
const CHECK_EVERY: usize = 10;

/// The solution after the iteration with which its relative gap is at most `tolerance`, or after `most` of them.
pub(super) fn solve(problem: &FantopeProblem, tolerance: f64, most: usize) -> Result<FantopeSolution, FantopeError> {
    let (rank, penalty) = (problem.rank(), problem.penalty().value());
    let (k, centre) = (rank.value() as f64, problem.estimate().mean_diagonal());
    let mut matrix = problem.estimate().to_double();
    let off_diagonal = (&matrix - DMatrix::from_diagonal(&matrix.diagonal())).amax();
    if problem.penalty() == Penalty::ZERO || penalty >= off_diagonal || rank.value() == problem.dimension() {
        let settings = SolverSettings { tolerance, max_iterations: most, ..SolverSettings::default() };
        return FantopeSolver::new(settings)?.solve(problem);
    }
    // A multiple of the identity changes no solution.
    (0..matrix.nrows()).for_each(|index| matrix[(index, index)] -= centre);
    let centred = FantopeProblem::new(&matrix, rank, problem.penalty())?;
    let clipped = |matrix: &DMatrix<f64>, limit: f64| matrix.map(|entry| entry.clamp(-limit, limit));
    let dual = clipped(&matrix, penalty);
    let rho = dual.norm() / k.sqrt();
    let mut x = project_onto_fantope(&((&matrix - &dual) / rho), rank)?;
    let (mut y, mut u) = (x.matrix.clone(), dual / rho);
    // The product may round past the penalty.
    let seen = |x: &FantopeProjection, u: &DMatrix<f64>| -> Result<_, FantopeError> {
        let dual = clipped(&(u * rho), penalty);
        Ok((x.clone(), centred.objective(&x.matrix)?, centred.dual_bound(&dual)?, dual))
    };
    let (mut best, mut value, mut bound, mut proof) = seen(&x, &u)?;
    let scaled = &matrix * (1.0 / rho);
    let mut iterations = 0;
    while iterations < most {
        x = project_onto_fantope(&(&y - &u + &scaled), rank)?;
        iterations += 1;
        // What the soft threshold takes off is the new U.
        let sum = &x.matrix + &u;
        u = clipped(&sum, penalty / rho);
        let last = std::mem::replace(&mut y, sum - &u);
        if !iterations.is_multiple_of(CHECK_EVERY) && iterations != most {
            continue;
        }
        let (found, objective, dual_bound, dual) = seen(&x, &u)?;
        if objective > value {
            (best, value) = (found, objective);
        }
        if dual_bound < bound {
            (proof, bound) = (dual, dual_bound);
        }
        let rounding = 16.0 * f64::EPSILON * (matrix.norm() / rho + x.matrix.norm());
        let stands_still = (&x.matrix - &y).norm() <= rounding && (&y - last).norm() <= rounding;
        if stands_still || bound - value <= tolerance * value.abs().max(k * penalty) {
            break;
        }
    }
    let mut solution = FantopeSolution::certified(problem, tolerance, &best, y, proof)?;
    solution.iterations = iterations;
    Ok(solution)
}

#[cfg(test)]
mod tests {
    use ldp_pca::recovery::{Rank, SolverStatus};

    use super::*;

    /// Two sparse spikes under a deterministic perturbation.
    fn spiked() -> DMatrix<f64> {
        DMatrix::from_fn(20, 20, |i, j| {
            let spike = if i < 3 && j < 3 { 1.0 } else { 0.0 } + if i.min(j) > 2 && i.max(j) < 5 { 0.8 } else { 0.0 };
            spike + 0.1 * ((i + j) as f64 * 2.3 + (i * j) as f64 * 1.7).sin()
        })
    }

    /// No structure at all: slow to solve.
    fn noise() -> DMatrix<f64> {
        DMatrix::from_fn(20, 20, |i, j| ((i * j) as f64 * 1.7 + (i + j) as f64 * 0.3).sin())
    }

    fn problem(matrix: &DMatrix<f64>, penalty: f64) -> FantopeProblem {
        FantopeProblem::new(matrix, Rank::new(2).unwrap(), Penalty::new(penalty).unwrap()).unwrap()
    }

    #[test]
    fn it_comes_to_the_certified_solution() {
        let certified = FantopeSolver::default().solve(&problem(&spiked(), 0.2)).unwrap();
        let found = solve(&problem(&spiked(), 0.2), 1e-5, 10_000).unwrap();
        assert!(found.relative_gap <= 1e-5 && found.iterations < 10_000, "{}", found.relative_gap);
        assert_eq!(found.support, certified.support);
        assert!((found.feasible() - certified.feasible()).norm() < 0.1);
        for penalty in [0.0, 9.0] {
            assert_eq!(solve(&problem(&spiked(), penalty), 1e-7, 100).unwrap().iterations, 0, "{penalty}");
        }
    }

    /// Iterations that run out leave a gap that is certified, and more of them a narrower one: 0.055, 0.024 and 0.013,
    /// and 1e-5 after 760.
    #[test]
    fn more_iterations_narrow_a_certified_gap() {
        let problem = problem(&noise(), 0.3);
        let certified = FantopeSolver::default().solve(&problem).unwrap();
        let [gaps @ .., last] = [10, 20, 30, 10_000].map(|most| {
            let found = solve(&problem, 1e-5, most).unwrap();
            assert!(found.objective <= certified.dual_bound && found.dual_bound >= certified.objective);
            assert_eq!(found.iterations == most, found.status == SolverStatus::Stalled, "{}", found.iterations);
            found.relative_gap
        });
        assert!(gaps.is_sorted_by(|before, after| before > after) && gaps[2] > 1e-3 && last <= 1e-5, "{gaps:?} {last}");
    }
}
