//! The `solve` command: the sparse problem for a given matrix.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use ldp_pca::internal::recovery::solve;
use ldp_pca::recovery::{FantopeProblem, HistoryEntry, Penalty, Rank, SolverStatus};
use serde::Serialize;

use super::error::{InFile as _, Result};
use super::files;
use super::output::{Format, first, fixed, fixed_up, plural, spinner, wrote};
use super::parameters;
use super::solver::{self, SolverArguments};
use super::writing::{self, Kind, Target};

/// Solve the sparse (Fantope) problem for a matrix
///
/// Maximises <S, X> - penalty × sum |X_ij| over 0 <= X <= I, tr X = rank (Vu, Cho, Lei & Rohe 2013; Wang & Xu 2019,
/// Algorithm 2) and certifies how close the result is to the optimum. A matrix in single precision stays in single
/// precision.
#[derive(Args)]
pub(super) struct Solve {
    /// The symmetric matrix S: NPY, gzip or not
    matrix: PathBuf,
    /// Number of components, k
    #[arg(long, value_parser = parameters::rank)]
    rank: Rank,
    /// Penalty on the sum of magnitudes, in the units of S
    #[arg(long, value_parser = parameters::penalty, allow_hyphen_values = true)]
    penalty: Penalty,
    #[command(flatten)]
    solver: SolverArguments,
    /// Where to write the feasible solution X (NPY)
    #[arg(short, long, value_parser = Target::parser(Kind::MATRIX))]
    output: Option<Target>,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct SolveResult {
    status: SolverStatus,
    objective: f64,
    dual_bound: f64,
    relative_gap: f64,
    /// 0 where the bound uses all eigenvalues; otherwise the probability that it is wrong.
    failure_probability: f64,
    iterations: usize,
    seconds: f64,
    rank: usize,
    penalty: f64,
    dimension: usize,
    support: Vec<usize>,
    /// Diagonal entries of X on the support.
    leverages: Vec<f64>,
    /// The number of rows that were worked on.
    working_set: usize,
    /// Every certificate of the whole problem, in order.
    history: Vec<HistoryEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Target>,
}

impl Solve {
    pub(super) fn run(self) -> Result<()> {
        let (file, bytes) = files::open(&self.matrix)?;
        let estimate = files::symmetric(&self.matrix, file, bytes)?;
        self.rank.check(estimate.dimension())?;
        let problem = FantopeProblem::of_estimate(estimate, self.rank, self.penalty).in_file(&self.matrix)?;
        let started = Instant::now();
        let spinner = spinner("solving");
        let solution = solve(&problem, self.solver.tolerance, None, &mut |progress| {
            solver::show(&spinner, progress);
            self.solver.in_time(started)
        })?;
        drop(spinner);
        let seconds = started.elapsed().as_secs_f64();
        if let Some(output) = &self.output {
            writing::write_matrix(output, &solution.feasible())?;
        }
        let result = SolveResult {
            status: solution.status,
            objective: solution.objective,
            dual_bound: solution.dual_bound,
            relative_gap: solution.relative_gap,
            iterations: solution.iterations,
            seconds,
            rank: self.rank.value(),
            penalty: self.penalty.value(),
            dimension: solution.dimension,
            failure_probability: solution.certificate.failure_probability(),
            support: solution.support,
            leverages: solution.leverages,
            working_set: solution.rows.len(),
            history: solution.history,
            output: self.output,
        };
        self.format.print(&result, SolveResult::text)
    }
}

impl SolveResult {
    fn text(&self) -> String {
        let Self { relative_gap, seconds, dimension, .. } = self;
        let (objective, dual_bound) = (fixed(self.objective, 9), fixed_up(self.dual_bound, 9));
        format!(
            "{} after {} on {} in {seconds:.2} s\n\
             objective   {objective}\n\
             certified   at most {dual_bound} is possible, relative gap {relative_gap:.1e}\n\
             support     {} of {dimension} rows: {}\n{}",
            self.status,
            plural(self.iterations as u64, "iteration"),
            plural(self.working_set as u64, "row"),
            self.support.len(),
            first(&self.support, 30),
            wrote(self.output.as_ref())
        )
    }
}
