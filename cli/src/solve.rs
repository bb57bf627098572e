//! `solve`.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};
use ldp_pca::recovery::{
    AdmmSettings, Certificate, FantopeProblem, FantopeSolution, FantopeSolver, HistoryEntry, Penalty, Progress, Rank,
    RecoveryError, SolverSettings, SolverStatus, solve_admm,
};
use serde::Serialize;

use super::error::{CliError, Result};
use super::files;
use super::output::{Format, spinner, wrote};
use super::parameters;

/// Solve the sparse (Fantope) problem for a matrix
///
/// Maximises <S, X> - penalty × sum |X_ij| over 0 <= X <= I, tr X = rank (Vu, Cho, Lei & Rohe 2013; Wang & Xu 2019,
/// Algorithm 2) and certifies how close the result is to the optimum. A matrix stored in single precision is kept so.
#[derive(Args)]
pub(super) struct Solve {
    /// The symmetric matrix S: NPY, gzip or not
    matrix: PathBuf,
    /// Number of components, k
    #[arg(long, value_parser = parameters::rank)]
    rank: Rank,
    /// Penalty on the sum of magnitudes, in the units of S
    #[arg(long, value_parser = penalty, allow_hyphen_values = true)]
    penalty: Penalty,
    #[command(flatten)]
    solver: SolverArguments,
    /// Where to write the feasible solution X (NPY)
    #[arg(short, long)]
    output: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

/// How the solver works, and when it stops.
#[derive(Args, Clone, Copy)]
pub(super) struct SolverArguments {
    /// Relative duality gap at which the solution counts as optimal
    #[arg(long, default_value_t = SolverSettings::default().tolerance, allow_hyphen_values = true)]
    tolerance: f64,
    /// Most iterations, one eigendecomposition each
    #[arg(long, default_value_t = SolverSettings::default().max_iterations)]
    max_iterations: usize,
    /// Seconds after which the solver stops with what it has [default: none]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true)]
    time_limit: Option<f64>,
    /// How the problem is solved
    #[arg(long, value_enum, default_value_t)]
    solver: SolverName,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum SolverName {
    /// On the rows that matter, certified on all
    #[default]
    WorkingSet,
    /// The reference: Algorithm 2 of Wang & Xu (2019) on the whole matrix
    Admm,
}

/// Parses a positive number of seconds.
pub(super) fn seconds(text: &str) -> core::result::Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    if value > 0.0 { Ok(value) } else { Err(format!("{value} is not a positive number of seconds")) }
}

#[derive(Serialize)]
struct SolveResult {
    status: &'static str,
    objective: f64,
    dual_bound: f64,
    relative_gap: f64,
    /// Whether the bound rests on all eigenvalues (0) or may be wrong with this probability.
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
    history: Vec<Certified>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<PathBuf>,
}

#[derive(Serialize)]
struct Certified {
    iterations: usize,
    working_set: usize,
    objective: f64,
    dual_bound: f64,
    relative_gap: f64,
}

/// Parses a penalty.
pub(super) fn penalty(text: &str) -> core::result::Result<Penalty, String> {
    let value: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    Penalty::new(value).map_err(|error| error.to_string())
}

impl SolverArguments {
    /// The settings of the solver.
    pub(super) fn settings(self) -> SolverSettings {
        SolverSettings { tolerance: self.tolerance, max_iterations: self.max_iterations, ..SolverSettings::default() }
    }

    /// Solves, with progress on a terminal.
    pub(super) fn solve(self, problem: &FantopeProblem) -> Result<FantopeSolution> {
        let spinner = spinner("solving");
        let started = Instant::now();
        let mut out_of_time = false;
        let mut progress = |progress: &Progress| {
            let gap = if progress.relative_gap.is_finite() {
                format!("gap {:.1e}", progress.relative_gap)
            } else {
                format!("gap {:.1e} within them", progress.working_set_gap)
            };
            let (iterations, rows) = (progress.iterations, progress.working_set);
            spinner.set_message(format!("solving: iteration {iterations}, {rows} rows, {gap}"));
            out_of_time = self.time_limit.is_some_and(|limit| started.elapsed().as_secs_f64() > limit);
            if out_of_time { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let solution = self.run(problem, &mut progress);
        spinner.finish_and_clear();
        let mut solution = solution?;
        if out_of_time && solution.status == SolverStatus::Cancelled {
            solution.status = SolverStatus::BudgetExhausted;
        }
        Ok(solution)
    }

    fn run(
        self,
        problem: &FantopeProblem,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> core::result::Result<FantopeSolution, RecoveryError> {
        match self.solver {
            SolverName::WorkingSet => FantopeSolver::new(self.settings())?.solve(problem, None, progress),
            SolverName::Admm => {
                let settings = AdmmSettings {
                    tolerance: self.tolerance,
                    max_iterations: self.max_iterations,
                    ..AdmmSettings::default()
                };
                solve_admm(problem, &settings, progress)
            }
        }
    }
}

impl Solve {
    pub(super) fn run(self) -> Result<()> {
        let estimate = files::read_symmetric(&self.matrix)?;
        let problem = FantopeProblem::of_estimate(estimate, self.rank, self.penalty)
            .map_err(|error| CliError::file(&self.matrix, error))?;
        let started = Instant::now();
        let solution = self.solver.solve(&problem)?;
        let seconds = started.elapsed().as_secs_f64();
        if let Some(output) = &self.output {
            files::write_matrix(output, &solution.feasible())?;
        }
        let result = SolveResult {
            status: solution.status.name(),
            objective: solution.objective,
            dual_bound: solution.dual_bound,
            relative_gap: solution.relative_gap,
            iterations: solution.iterations,
            seconds,
            rank: self.rank.value(),
            penalty: self.penalty.value(),
            dimension: solution.dimension,
            failure_probability: match solution.certificate {
                Certificate::Probable { failure } => failure,
                _ => 0.0,
            },
            support: solution.support,
            leverages: solution.leverages,
            working_set: solution.rows.len(),
            history: solution.history.iter().map(Certified::of).collect(),
            output: self.output,
        };
        self.format.print(&result, SolveResult::text)
    }
}

impl Certified {
    fn of(entry: &HistoryEntry) -> Self {
        Self {
            iterations: entry.iterations,
            working_set: entry.working_set,
            objective: entry.objective,
            dual_bound: entry.dual_bound,
            relative_gap: entry.relative_gap,
        }
    }
}

impl SolveResult {
    fn text(&self) -> String {
        let support: Vec<String> = self.support.iter().take(30).map(ToString::to_string).collect();
        let more = if self.support.len() > support.len() { ", …" } else { "" };
        format!(
            "{} after {} iterations on {} rows in {:.2} s\nobjective   {:.9}\ncertified   at most {:.9} is possible, relative gap {:.1e}\nsupport     {} of {} rows: {}{more}\n{}",
            self.status,
            self.iterations,
            self.working_set,
            self.seconds,
            self.objective,
            self.dual_bound,
            self.relative_gap,
            self.support.len(),
            self.dimension,
            support.join(", "),
            wrote(self.output.as_deref().map(Path::new))
        )
    }
}
