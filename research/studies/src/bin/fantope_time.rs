//! Times the sparse solver on a matrix (NPY) already in memory, as crates/fantope/benches/peers times other solvers.
//! Writes one JSON document to standard output.
//!
//! ```text
//! cargo run --release -p ldp-pca-studies --bin fantope_time -- S.npy --rank 5 --penalty 0.01
//! ```
#![cfg(not(target_family = "wasm"))]

use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::time::Instant;

use clap::Parser;
use ldp_pca::linalg::SymmetricMatrix;
use ldp_pca::recovery::{FantopeProblem, FantopeSolver, Penalty, Rank, SolverSettings};
use nalgebra::DMatrix;
use npyz::NpyFile;
use serde_json::json;

#[derive(Parser)]
struct Arguments {
    /// S (NPY, d × d, f8)
    matrix: PathBuf,
    /// Number of components
    #[arg(long)]
    rank: usize,
    /// Weight of the entrywise l1 norm
    #[arg(long)]
    penalty: f64,
    /// Relative duality gap to stop at
    #[arg(long, default_value_t = 1e-6)]
    tolerance: f64,
    /// Most iterations
    #[arg(long)]
    max_iterations: Option<usize>,
    /// Number of solves, each from the start; the fastest counts
    #[arg(long, default_value_t = 3)]
    repeats: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let problem = FantopeProblem::of_estimate(
        SymmetricMatrix::new(read(&arguments.matrix)?)?,
        Rank::new(arguments.rank)?,
        Penalty::new(arguments.penalty)?,
    )?;
    let defaults = SolverSettings::default();
    let max_iterations = arguments.max_iterations.unwrap_or(defaults.max_iterations);
    let solver = FantopeSolver::new(SolverSettings { tolerance: arguments.tolerance, max_iterations, ..defaults })?;
    let mut seconds = f64::INFINITY;
    let mut last = None;
    for _ in 0..arguments.repeats.max(1) {
        let start = Instant::now();
        last = Some(solver.solve(&problem)?);
        seconds = seconds.min(start.elapsed().as_secs_f64());
    }
    let Some(solution) = last else { return Ok(()) };
    let answer = json!({
        "seconds": seconds,
        "status": solution.status,
        "iterations": solution.iterations,
        "relative_gap": solution.relative_gap,
        "objective": solution.objective,
        "dual_bound": solution.dual_bound,
        "centre": arguments.rank as f64 * problem.estimate().mean_diagonal(),
    });
    println!("{answer}");
    Ok(())
}

fn read(path: &PathBuf) -> Result<DMatrix<f64>, Box<dyn Error>> {
    let file = NpyFile::new(BufReader::new(File::open(path)?))?;
    let &[rows, columns] = file.shape() else { return Err("pass a matrix".into()) };
    let entries: Vec<f64> = file.into_vec()?;
    // Symmetric, so the order of the entries does not matter.
    Ok(DMatrix::from_vec(usize::try_from(rows)?, usize::try_from(columns)?, entries))
}
