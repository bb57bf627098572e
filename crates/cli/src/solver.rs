//! The solver's options, for the commands that solve the sparse problem.

use std::ops::ControlFlow;
use std::time::Instant;

use clap::Args;
use indicatif::ProgressBar;
use ldp_pca::recovery::{Progress, Stop};

use super::parameters::seconds;

/// When the solver stops.
#[derive(Args, Clone, Copy)]
pub(super) struct SolverArguments {
    /// Relative duality gap below which the solution counts as optimal [default: 1e-6, or up to 1e-3 where the known
    /// noise of reports hides what is left]
    #[arg(long, allow_hyphen_values = true, help_heading = "Solver")]
    pub(super) tolerance: Option<f64>,
    /// Seconds after which the work stops: the answer is what was found until then, and says what is missing [default:
    /// no limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true, help_heading = "Solver")]
    time_limit: Option<f64>,
}

impl SolverArguments {
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
    let Progress { iterations, working_set, relative_gap, working_set_gap, .. } = progress;
    let (gap, of) = if relative_gap.is_finite() { (relative_gap, "") } else { (working_set_gap, " within them") };
    spinner.set_message(format!("solving: iteration {iterations}, {working_set} rows, gap {gap:.1e}{of}"));
}
