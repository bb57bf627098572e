//! Solves instances of the sparse problem from those that stand out of the noise to noise alone. Prints a line of CSV
//! for each, and to the standard error a summary for each number of features.
//!
//! ```text
//! cargo run --release -p ldp-pca-studies --bin fantope_grid -- --dimensions 60,100,200 --instances 2
//! ```
//!
//! `S = G + s √d V Vᵀ`: G symmetric with standard normal entries, V orthonormal on 20 rows, signal s, penalty
//! `m √(ln d)`. The instances depend on the seed alone.
#![cfg(not(target_family = "wasm"))]

use std::error::Error;
use std::ops::ControlFlow;
use std::time::Duration;

use chacha20::ChaCha8Rng;
use clap::Parser;
use ldp_pca::recovery::{FantopeProblem, FantopeSolution, FantopeSolver, Penalty, Rank, SolverSettings, SolverStatus};
use nalgebra::DMatrix;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rustix::time::{ClockId, clock_gettime};

#[derive(Parser)]
struct Arguments {
    /// Numbers of features, each at least 20
    #[arg(long, value_delimiter = ',', default_value = "60,100,200,400")]
    dimensions: Vec<usize>,
    /// Signals s
    #[arg(long, value_delimiter = ',', default_value = "0,0.5,0.75,1,1.25,1.5")]
    signals: Vec<f64>,
    /// Numbers of components
    #[arg(long, value_delimiter = ',', default_value = "1,2,5,8")]
    ranks: Vec<usize>,
    /// Penalties m, in units of √(ln d)
    #[arg(long, value_delimiter = ',', default_value = "0.25,0.5,1,2")]
    penalties: Vec<f64>,
    /// Seeds: instances of each kind
    #[arg(long, default_value_t = 1)]
    instances: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Relative duality gap to stop at
    #[arg(long, default_value_t = SolverSettings::default().tolerance)]
    tolerance: f64,
    /// Steps that the acceleration remembers; the solver's choice without it
    #[arg(long, default_value_t = SolverSettings::default().memory)]
    memory: usize,
    /// Processor seconds after which an instance ends unsolved
    #[arg(long, default_value_t = f64::INFINITY)]
    limit: f64,
}

/// One instance.
#[derive(Clone, Copy)]
struct Instance {
    dimension: usize,
    signal: f64,
    rank: usize,
    penalty: f64,
    seed: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let Arguments { tolerance, memory, limit, .. } = arguments;
    let solver = FantopeSolver::new(SolverSettings { tolerance, memory, ..SolverSettings::default() })?;
    eprintln!("features  instances  optimal  largest gap  median s  worst s  total s  worst instance");
    println!("features,signal,rank,penalty,seed,iterations,rows,seconds,gap,status");
    for &dimension in &arguments.dimensions {
        let mut summary = Summary::default();
        for instance in instances(&arguments, dimension) {
            let problem = instance.problem()?;
            let before = processor_time()?;
            let seconds = || processor_time().map(|now| (now - before).as_secs_f64());
            let solution = solver.solve_with(&problem, None, &mut |_| match seconds() {
                Ok(seconds) if seconds < limit => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            })?;
            let seconds = seconds()?;
            println!("{}", instance.line(&solution, seconds));
            summary.add(instance, &solution, seconds);
        }
        eprintln!("{}", summary.line(dimension));
    }
    Ok(())
}

/// All instances of this dimension, those of one kind together.
fn instances(arguments: &Arguments, dimension: usize) -> Vec<Instance> {
    let mut all = Vec::new();
    for &signal in &arguments.signals {
        for &rank in &arguments.ranks {
            for &penalty in &arguments.penalties {
                let seeds = arguments.seed..arguments.seed + arguments.instances;
                all.extend(seeds.map(|seed| Instance { dimension, signal, rank, penalty, seed }));
            }
        }
    }
    all
}

impl Instance {
    fn problem(&self) -> Result<FantopeProblem, Box<dyn Error>> {
        const SPARSITY: usize = 20;
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let mut matrix = DMatrix::from_fn(self.dimension, self.dimension, |_, _| normal());
        matrix.fill_lower_triangle_with_upper_triangle();
        let directions = DMatrix::from_fn(SPARSITY, self.rank, |_, _| normal()).qr().q();
        let size = self.signal * (self.dimension as f64).sqrt();
        let mut block = matrix.view_mut((0, 0), (SPARSITY, SPARSITY));
        block += size * &directions * directions.transpose();
        let penalty = self.penalty * (self.dimension as f64).ln().sqrt();
        Ok(FantopeProblem::new(&matrix, Rank::new(self.rank)?, Penalty::new(penalty)?)?)
    }

    fn line(&self, solution: &FantopeSolution, seconds: f64) -> String {
        format!(
            "{},{},{},{},{},{},{},{seconds:.4},{:.1e},{}",
            self.dimension,
            self.signal,
            self.rank,
            self.penalty,
            self.seed,
            solution.iterations,
            solution.rows.len(),
            solution.relative_gap,
            solution.status,
        )
    }
}

/// What there is to say about the instances of one dimension.
#[derive(Default)]
struct Summary {
    seconds: Vec<f64>,
    optimal: usize,
    largest_gap: f64,
    worst: Option<(f64, Instance)>,
}

impl Summary {
    fn add(&mut self, instance: Instance, solution: &FantopeSolution, seconds: f64) {
        self.seconds.push(seconds);
        self.optimal += usize::from(solution.status == SolverStatus::Optimal);
        self.largest_gap = self.largest_gap.max(solution.relative_gap);
        if self.worst.is_none_or(|(worst, _)| seconds > worst) {
            self.worst = Some((seconds, instance));
        }
    }

    fn line(mut self, dimension: usize) -> String {
        self.seconds.sort_by(f64::total_cmp);
        let count = self.seconds.len();
        let median = self.seconds.get(count / 2).copied().unwrap_or_default();
        let total: f64 = self.seconds.iter().sum();
        let (worst, instance) = self.worst.map_or((0.0, String::new()), |(worst, of)| {
            (worst, format!("s {} k {} m {} seed {}", of.signal, of.rank, of.penalty, of.seed))
        });
        let (optimal, gap) = (self.optimal, self.largest_gap);
        format!(
            "{dimension:8}  {count:9}  {optimal:7}  {gap:11.1e}  {median:8.4}  {worst:7.3}  {total:7.1}  {instance}"
        )
    }
}

/// The processor time of this process so far.
fn processor_time() -> Result<Duration, Box<dyn Error>> {
    Ok(Duration::try_from(clock_gettime(ClockId::ProcessCPUTime))?)
}
