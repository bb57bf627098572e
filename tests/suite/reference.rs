//! The sparse solver against independently computed high-accuracy solutions.
//!
//! The fixtures live outside the package, in `../shared/fixtures/fps` or under the directory named by the environment
//! variable `LDP_PCA_SHARED`; without them these tests say so and pass.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ldp_pca::recovery::{AdmmSettings, AdmmStatus, FantopeProblem, FantopeSolution, Penalty, Rank, solve_admm};
use nalgebra::DMatrix;
use serde::Deserialize;

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
    let Some(folder) = fixtures() else { return };
    for instance in read_instances(&folder) {
        let label = format!("{} x{}", instance.name, instance.lambda_mult);
        let problem = instance.problem(&folder);
        let start = Instant::now();
        let solution = solve(&problem);
        let seconds = start.elapsed().as_secs_f64();

        let error = (solution.objective - instance.primal_obj).abs() / instance.primal_obj;
        let gap = (solution.dual_bound - solution.objective) / solution.objective;
        println!("{label}: {} iterations, gap {gap:.1e}, error {error:.1e}, {seconds:.2} s", solution.iterations);
        assert_eq!(solution.status, AdmmStatus::Optimal, "{label}");
        assert!(error <= 1e-6, "{label}: objective off by {error:e}");
        assert!((0.0..=1e-5).contains(&gap) && solution.relative_gap <= 1e-7, "{label}: gap {gap:e}");
        // Two certificates of one problem may not exclude each other.
        assert!(
            solution.dual_bound >= instance.primal_obj * (1.0 - 1e-12),
            "{label}: the bound undercuts a known point"
        );
        assert!(solution.objective <= instance.dual_bound * (1.0 + 1e-12), "{label}: the objective is impossible");

        assert!(problem.infeasibility(&solution.feasible).unwrap() <= 1e-9, "{label}");
        assert!((problem.objective(&solution.feasible).unwrap() - solution.objective).abs() <= 1e-12);
        assert!((problem.dual_bound(&solution.dual).unwrap() - solution.dual_bound).abs() <= 1e-10, "{label}");
    }
}

#[test]
fn the_solution_is_the_stored_one_where_the_relaxation_is_tight() {
    let Some(folder) = fixtures() else { return };
    for instance in read_instances(&folder).into_iter().filter(|instance| instance.solution_rank == instance.k) {
        let stored = read_matrix(&folder.join(&instance.solution));
        let distance = (solve(&instance.problem(&folder)).feasible - stored).norm();
        assert!(distance < 1e-3, "{} x{}: {distance:e}", instance.name, instance.lambda_mult);
    }
}

impl Instance {
    fn problem(&self, folder: &Path) -> FantopeProblem {
        let estimate = read_matrix(&folder.join(&self.estimate));
        FantopeProblem::new(&estimate, Rank::new(self.k).unwrap(), Penalty::new(self.lam).unwrap()).unwrap()
    }
}

fn solve(problem: &FantopeProblem) -> FantopeSolution {
    solve_admm(problem, &AdmmSettings::default(), &mut |_| ControlFlow::Continue(())).unwrap()
}

fn fixtures() -> Option<PathBuf> {
    let shared = std::env::var_os("LDP_PCA_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let folder = shared.join("fixtures/fps");
    if folder.join("fixtures.json").is_file() {
        return Some(folder);
    }
    println!("skipped: no fixtures in {}", folder.display());
    None
}

fn read_instances(folder: &Path) -> Vec<Instance> {
    let text = std::fs::read_to_string(folder.join("fixtures.json")).unwrap();
    serde_json::from_str::<Fixtures>(&text).unwrap().instances
}

/// A square matrix that equals its transpose, so the storage order does not matter.
fn read_matrix(path: &Path) -> DMatrix<f64> {
    let bytes = std::fs::read(path).unwrap();
    let file = npyz::NpyFile::new(bytes.as_slice()).unwrap();
    let (rows, columns) = (file.shape()[0] as usize, file.shape()[1] as usize);
    DMatrix::from_row_slice(rows, columns, &file.into_vec::<f64>().unwrap())
}
