//! `solve`.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use ldp_pca::recovery::{AdmmSettings, AdmmStatus, FantopeProblem, FantopeSolution, Penalty, Rank, solve_admm};
use serde::Serialize;

use super::error::{CliError, Result};
use super::files;
use super::output::{Format, spinner, wrote};
use super::parameters;

/// Solve the sparse (Fantope) problem for a matrix
///
/// Maximises <S, X> - penalty × sum |X_ij| over 0 <= X <= I, tr X = rank (Vu, Cho, Lei & Rohe 2013; Wang & Xu 2019,
/// Algorithm 2) and certifies how close the result is to the optimum.
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

/// When the solver stops.
#[derive(Args, Clone, Copy)]
pub(super) struct SolverArguments {
    /// Relative duality gap at which the solution counts as optimal
    #[arg(long, default_value_t = AdmmSettings::default().tolerance, allow_hyphen_values = true)]
    tolerance: f64,
    /// Most iterations, one eigendecomposition each
    #[arg(long, default_value_t = AdmmSettings::default().max_iterations)]
    max_iterations: usize,
}

#[derive(Serialize)]
struct SolveResult {
    status: &'static str,
    objective: f64,
    dual_bound: f64,
    relative_gap: f64,
    iterations: usize,
    seconds: f64,
    rank: usize,
    penalty: f64,
    dimension: usize,
    support: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<PathBuf>,
}

/// Parses a penalty.
pub(super) fn penalty(text: &str) -> core::result::Result<Penalty, String> {
    let value: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    Penalty::new(value).map_err(|error| error.to_string())
}

impl SolverArguments {
    pub(super) fn settings(self) -> AdmmSettings {
        AdmmSettings { tolerance: self.tolerance, max_iterations: self.max_iterations, ..AdmmSettings::default() }
    }

    /// Solves, with progress on a terminal.
    pub(super) fn solve(self, problem: &FantopeProblem) -> Result<FantopeSolution> {
        let spinner = spinner("solving");
        let solution = solve_admm(problem, &self.settings(), &mut |progress| {
            spinner
                .set_message(format!("solving: iteration {}, gap {:.1e}", progress.iterations, progress.relative_gap));
            ControlFlow::Continue(())
        });
        spinner.finish_and_clear();
        Ok(solution?)
    }
}

/// The status as programs see it.
pub(super) fn status_name(status: AdmmStatus) -> &'static str {
    match status {
        AdmmStatus::Optimal => "optimal",
        AdmmStatus::Stalled => "stalled",
        AdmmStatus::BudgetExhausted => "budget-exhausted",
        AdmmStatus::Cancelled => "cancelled",
        _ => "unknown",
    }
}

impl Solve {
    pub(super) fn run(self) -> Result<()> {
        let matrix = files::read_matrix(&self.matrix)?;
        let problem = FantopeProblem::new(&matrix, self.rank, self.penalty)
            .map_err(|error| CliError::file(&self.matrix, error))?;
        let started = Instant::now();
        let solution = self.solver.solve(&problem)?;
        let seconds = started.elapsed().as_secs_f64();
        if let Some(output) = &self.output {
            files::write_matrix(output, &solution.feasible)?;
        }
        let result = SolveResult {
            status: status_name(solution.status),
            objective: solution.objective,
            dual_bound: solution.dual_bound,
            relative_gap: solution.relative_gap,
            iterations: solution.iterations,
            seconds,
            rank: self.rank.value(),
            penalty: self.penalty.value(),
            dimension: matrix.nrows(),
            support: solution.support,
            output: self.output,
        };
        self.format.print(&result, SolveResult::text)
    }
}

impl SolveResult {
    fn text(&self) -> String {
        let support: Vec<String> = self.support.iter().take(30).map(ToString::to_string).collect();
        let more = if self.support.len() > support.len() { ", …" } else { "" };
        format!(
            "{} after {} iterations in {:.2} s\nobjective   {:.9}\ncertified   at most {:.9} is possible, relative gap {:.1e}\nsupport     {} of {} rows: {}{more}\n{}",
            self.status,
            self.iterations,
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
