//! The sparse solver against independently computed high-accuracy solutions.
//!
//! The fixtures live outside the package, in `../shared/fixtures/fps` or under the directory named by the environment
//! variable `LDP_PCA_SHARED`; without them this test says so and passes.

use std::path::Path;
use std::time::Instant;

use ldp_pca::recovery::{FantopeProblem, FantopeSolver, Penalty, Rank, SolverSettings, SolverStatus};
use nalgebra::DMatrix;
use serde::Deserialize;

use crate::shared::shared;

#[derive(Deserialize)]
struct Fixtures {
    instances: Vec<Instance>,
}

#[derive(Deserialize)]
struct Instance {
    name: String,
    k: usize,
    lambda_mult: f64,
    lam: f64,
    #[serde(rename = "S")]
    estimate: String,
    #[serde(rename = "X")]
    solution: String,
    primal_obj: f64,
    dual_bound: f64,
    #[serde(rename = "rank_X")]
    solution_rank: usize,
}

#[test]
fn every_stored_optimum_is_reached_and_certified() {
    let Some(folder) = shared("fixtures/fps") else { return };
    let text = std::fs::read_to_string(folder.join("fixtures.json")).unwrap();
    for instance in serde_json::from_str::<Fixtures>(&text).unwrap().instances {
        instance.check(&folder);
    }
}

impl Instance {
    /// Objective within 1e-7 of the stored one, a gap of at most 1e-7, feasible to 1e-8, and bounds that hold. Where
    /// the relaxation is tight, the solution is the stored one.
    fn check(&self, folder: &Path) {
        let label = format!("{} x{}", self.name, self.lambda_mult);
        let estimate = read_matrix(&folder.join(&self.estimate));
        let (rank, penalty) = (Rank::new(self.k).unwrap(), Penalty::new(self.lam).unwrap());
        let problem = FantopeProblem::new(&estimate, rank, penalty).unwrap();
        let settings = SolverSettings { tolerance: 1e-7, ..SolverSettings::default() };
        let start = Instant::now();
        let solution = FantopeSolver::new(settings).unwrap().solve(&problem).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let error = (solution.objective - self.primal_obj).abs() / self.primal_obj;
        println!(
            "{label}: {} iterations on {} rows, gap {:.1e}, error {error:.1e}, {seconds:.3} s",
            solution.iterations,
            solution.rows.len(),
            solution.relative_gap
        );
        assert_eq!(solution.status, SolverStatus::Optimal, "{label}");
        assert!(error <= 1e-7, "{label}: objective off by {error:e}");
        assert!(solution.relative_gap <= 1e-7, "{label}: gap {:e}", solution.relative_gap);
        // Two certificates of one problem may not exclude each other.
        assert!(solution.dual_bound >= self.primal_obj * (1.0 - 1e-12), "{label}: the bound undercuts a known point");
        assert!(solution.objective <= self.dual_bound * (1.0 + 1e-12), "{label}: the objective is impossible");

        let feasible = solution.feasible();
        assert!(problem.infeasibility(&feasible).unwrap() <= 1e-8, "{label}");
        assert!((problem.objective(&feasible).unwrap() - solution.objective).abs() <= 1e-12);
        // The bound is that of the dual matrix, all of its eigenvalues computed again.
        let bound = problem.dual_bound(&solution.dual_matrix(&problem).unwrap()).unwrap();
        assert!((bound - solution.dual_bound).abs() <= 1e-9 * self.primal_obj, "{label}: {bound}");
        if self.solution_rank == self.k {
            let distance = (feasible - read_matrix(&folder.join(&self.solution))).norm();
            assert!(distance < 1e-3, "{label}: {distance:e}");
        }
    }
}

/// A square matrix that equals its transpose, so the storage order does not matter.
fn read_matrix(path: &Path) -> DMatrix<f64> {
    let bytes = std::fs::read(path).unwrap();
    let file = npyz::NpyFile::new(bytes.as_slice()).unwrap();
    let (rows, columns) = (file.shape()[0] as usize, file.shape()[1] as usize);
    DMatrix::from_row_slice(rows, columns, &file.into_vec::<f64>().unwrap())
}
