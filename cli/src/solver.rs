//! The solver's options, for the commands that solve the sparse problem.

use std::ops::ControlFlow;
use std::time::Instant;

use clap::Args;
use indicatif::ProgressBar;
use ldp_pca::recovery::{Algorithm, Progress, Solver, Stop};

use super::choice::{Choice, one_of};
use super::parameters::seconds;

/// The solver's algorithm and stopping rules.
#[derive(Args, Clone, Copy)]
pub(super) struct SolverArguments {
    /// Relative duality gap below which the solution counts as optimal
    #[arg(long, default_value_t = Solver::default().tolerance, allow_hyphen_values = true)]
    tolerance: f64,
    /// Largest number of iterations, one eigendecomposition each
    #[arg(long, default_value_t = Solver::default().max_iterations)]
    max_iterations: usize,
    /// Seconds after which the work stops: the answer is what was found until then, and says what is missing [default:
    /// no limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true)]
    time_limit: Option<f64>,
    /// The algorithm
    #[arg(long, value_parser = one_of(&ALGORITHMS), default_value = "working-set")]
    solver: Algorithm,
}

const ALGORITHMS: [Choice<Algorithm>; 2] = [
    ("working-set", "On the rows that matter, certified on all", Algorithm::WorkingSet),
    ("admm", "The reference: Algorithm 2 of Wang & Xu (2019) on the whole matrix", Algorithm::Admm),
];

impl SolverArguments {
    pub(super) fn solver(self) -> Solver {
        Solver { algorithm: self.solver, tolerance: self.tolerance, max_iterations: self.max_iterations }
    }

    /// Stops the work when the time is up.
    pub(super) fn in_time(self, started: Instant) -> ControlFlow<Stop> {
        match self.time_limit {
            Some(limit) if started.elapsed().as_secs_f64() > limit => ControlFlow::Break(Stop::OutOfTime),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Shows how far the solver is.
pub(super) fn show(spinner: &ProgressBar, progress: &Progress) {
    let gap = if progress.relative_gap.is_finite() {
        format!("gap {:.1e}", progress.relative_gap)
    } else {
        format!("gap {:.1e} within them", progress.working_set_gap)
    };
    let (iterations, rows) = (progress.iterations, progress.working_set);
    spinner.set_message(format!("solving: iteration {iterations}, {rows} rows, {gap}"));
}
