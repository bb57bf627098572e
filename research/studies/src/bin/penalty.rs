//! The experiment behind the default penalty (research/docs/penalties.md):
//! `cargo run --release -p ldp-pca-studies --bin penalty`.
//!
//! Sparse populations are collected through the real mechanism, and the sparse problem is solved on each collection
//! with the penalty `c τ √(ln d)` for several `c`, and with the cross-validated one. Prints a Markdown table of the
//! mean error `‖sin Θ‖_F²` over the seeds. An argument restricts it to the settings with that many features.

use std::ops::ControlFlow;

use chacha20::ChaCha12Rng;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::covariance::Covariance;
use ldp_pca::internal::recovery::{CROSS_VALIDATION_FACTORS, cross_validate};
use ldp_pca::mechanism::MechanismSpec;
use ldp_pca::privacy::Epsilon;
use ldp_pca::record::Bounding;
use ldp_pca::recovery::{
    CrossValidationPoint, FantopeProblem, FantopeSolver, Penalty, Rank, Reports, SolverSettings, default_penalty,
    principal_components, soft_threshold,
};
use ldp_pca::report::Report;
use ldp_pca::schema::Schema;
use ldp_pca::subspace::{Subspace, sin_theta_squared};
use ldp_pca::task::{Folds, Task};
use ldp_pca_simulation::SpikedModel;
use nalgebra::DMatrix;
use rand::SeedableRng;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const FACTORS: [f64; 6] = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0];
const SEEDS: u64 = 5;
const FOLDS: u32 = 5;
/// Strength of the components, the default of `simulate`.
const SIGNAL: f64 = 20.0;
/// The largest dimension with cross-validation, which solves 35 problems.
const LARGEST_CROSS_VALIDATED: usize = 100;

/// Features, features with signal, components, epsilon, records.
const SETTINGS: [(usize, usize, usize, f64, usize); 8] = [
    (50, 8, 2, 2.0, 5_000),
    (50, 50, 2, 2.0, 5_000),
    (100, 10, 3, 1.0, 50_000),
    (100, 10, 3, 2.0, 10_000),
    (100, 10, 3, 4.0, 3_000),
    (200, 20, 3, 2.0, 20_000),
    (200, 20, 3, 2.0, 50_000),
    (400, 20, 3, 2.0, 200_000),
];

/// Errors of one collection.
struct Errors {
    pca: f64,
    soft_threshold: Vec<f64>,
    fantope: Vec<f64>,
    /// The errors at the best mean score, and at the largest penalty within one standard error of it.
    cross_validated: Option<[f64; 2]>,
}

fn main() -> Result<(), Failure> {
    let only: Option<usize> = std::env::args().nth(1).map(|argument| argument.parse()).transpose()?;
    print!("| d | s | k | epsilon | n | method |");
    FACTORS.iter().for_each(|factor| print!(" c = {factor} |"));
    println!("\n|{}", "---|".repeat(6 + FACTORS.len()));
    for (dimension, sparsity, rank, epsilon, records) in SETTINGS {
        if only.is_some_and(|only| only != dimension) {
            continue;
        }
        let results = on_all_cores(|seed| collection(dimension, sparsity, rank, epsilon, records, seed))?;
        let mean = |of: &dyn Fn(&Errors) -> f64| results.iter().map(of).sum::<f64>() / results.len() as f64;
        let setting = format!("| {dimension} | {sparsity} | {rank} | {epsilon} | {records} |");
        let row = |name: &str, of: &dyn Fn(&Errors, usize) -> f64| {
            let cells: Vec<String> =
                (0..FACTORS.len()).map(|index| format!("{:.3}", mean(&|errors| of(errors, index)))).collect();
            println!("{setting} {name} | {} |", cells.join(" | "));
        };
        row("Fantope", &|errors, index| errors.fantope[index]);
        row("soft-threshold", &|errors, index| errors.soft_threshold[index]);
        print!("{setting} PCA: {:.3}", mean(&|errors| errors.pca));
        if dimension <= LARGEST_CROSS_VALIDATED {
            let chosen = |rule: usize| mean(&|errors| errors.cross_validated.map_or(f64::NAN, |errors| errors[rule]));
            print!(", cross-validated: {:.3}, one standard error: {:.3}", chosen(0), chosen(1));
        }
        println!(" |{}", " |".repeat(FACTORS.len()));
    }
    Ok(())
}

/// Every seed, in order.
fn on_all_cores(run: impl Fn(u64) -> Result<Errors, Failure> + Sync) -> Result<Vec<Errors>, Failure> {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let mut results: Vec<(u64, Result<Errors, Failure>)> = std::thread::scope(|scope| {
        let run = &run;
        let workers: Vec<_> = (0..threads)
            .map(|first| {
                scope.spawn(move || {
                    (first..SEEDS).step_by(threads as usize).map(|seed| (seed, run(seed))).collect::<Vec<_>>()
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    results.sort_by_key(|(seed, _)| *seed);
    results.into_iter().map(|(_, result)| result).collect()
}

fn collection(
    dimension: usize,
    sparsity: usize,
    rank: usize,
    epsilon: f64,
    records: usize,
    seed: u64,
) -> Result<Errors, Failure> {
    let rank = Rank::new(rank)?;
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let population = SpikedModel::draw(dimension, rank, SIGNAL, Some(sparsity), &mut rng)?;
    let mechanism = MechanismSpec::double_cap(Epsilon::new(epsilon)?);
    let task = Task::new(Schema::numeric(dimension)?, Bounding::UnitNorm, mechanism, Folds::new(FOLDS)?)?;
    let mut aggregate = Aggregate::empty(&task);
    for start in (0..records).step_by(1024) {
        let reports = (start..records.min(start + 1024))
            .map(|_| Ok(task.randomize_with_rng(&task.bound(population.record(&mut rng))?, None, &mut rng)?))
            .collect::<Result<Vec<Report>, Failure>>()?;
        aggregate.accumulate(&task, &reports)?;
    }
    let covariance = Covariance::estimate(&aggregate, &task)?;
    let settings = SolverSettings { tolerance: 1e-4, max_iterations: 3_000, ..SolverSettings::default() };
    let error = |components: &DMatrix<f64>| -> Result<f64, Failure> {
        Ok(sin_theta_squared(&Subspace::new(components)?, population.subspace())?)
    };
    let fantope = |penalty: Penalty| -> Result<f64, Failure> {
        let problem = FantopeProblem::new(covariance.matrix(), rank, penalty)?;
        error(&FantopeSolver::new(settings)?.solve(&problem)?.components)
    };
    let penalty = |factor: f64| default_penalty(covariance.noise_deviation(), dimension, factor);
    let cross_validated = || -> Result<[f64; 2], Failure> {
        let reports = Reports::one(&aggregate, &task);
        let points =
            cross_validate(reports, rank, &CROSS_VALIDATION_FACTORS, &settings, &mut |_| ControlFlow::Continue(()))?;
        let best = points.iter().find(|point| point.chosen).ok_or("no penalty was chosen")?;
        let within = |point: &&CrossValidationPoint| point.mean_score + point.standard_error >= best.mean_score;
        // Points are in descending order of the penalty.
        let sparsest = points.iter().find(within).unwrap_or(best);
        Ok([fantope(best.penalty)?, fantope(sparsest.penalty)?])
    };
    Ok(Errors {
        pca: error(&principal_components(covariance.matrix(), rank)?.vectors)?,
        soft_threshold: FACTORS
            .iter()
            .map(|&factor| {
                let thresholded = soft_threshold(covariance.matrix(), penalty(factor)?);
                error(&principal_components(&thresholded, rank)?.vectors)
            })
            .collect::<Result<_, _>>()?,
        fantope: FACTORS.iter().map(|&factor| fantope(penalty(factor)?)).collect::<Result<_, _>>()?,
        cross_validated: (dimension <= LARGEST_CROSS_VALIDATED).then(cross_validated).transpose()?,
    })
}
