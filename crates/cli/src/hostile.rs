//! The effect of hostile reports on a result.

use clap::Args;
use ldp_pca::internal::mechanism::{HostilePull, Pull};

use super::output::{grouped, three_digits};
use super::parameters::count;
use super::recover::Unit;

/// The number of suspect reports.
#[derive(Args, Clone, Copy)]
pub(super) struct HostileArguments {
    /// Suppose that this many reports are hostile, and show how far they can move an eigenvalue
    #[arg(long = "hostile", value_name = "M", value_parser = count(), help_heading = "Assumptions")]
    #[arg(default_value = "1")]
    pub(super) reports: u64,
}

/// The line for a number of reports, in this unit of variances where there is an estimate that gives one.
pub(super) fn hostile_text(pull: &HostilePull, unit: Option<Unit>) -> String {
    let condition = pull.check.condition();
    let at_most = |bound: f64| unit.map_or_else(|| at_most(bound), |unit| unit.at_most(bound));
    let bounds = |bounds: &Pull, of_checked: &str| {
        let checked = condition.map(|_| format!(", {of_checked}{}", at_most(bounds.checked)));
        format!("{}{}", at_most(bounds.unchecked), checked.unwrap_or_default())
    };
    let one = bounds(&pull.one, &format!("one {} by ", condition.unwrap_or_default()));
    let many = if pull.reports > 1 {
        format!("; {} of them by {}", grouped(pull.reports), bounds(&pull.all, "or "))
    } else {
        String::new()
    };
    format!(
        "hostile     from where an honest report's mean puts it, one report of {} moves an eigenvalue of the \
         covariance estimate by at most {one}{many}{}\n",
        grouped(pull.records),
        unit.map(|unit| format!(" ({})", unit.of_what())).unwrap_or_default()
    )
}

/// The line for a mechanism without a number of reports, for eigenvalues of this matrix.
pub(super) fn per_report(pull: Pull, matrix: &str) -> String {
    let checked = pull.check.condition().map(|condition| format!(", one {condition} by {}/n", at_most(pull.checked)));
    format!(
        "from where an honest report's mean puts it, one hostile report of n moves an eigenvalue of {matrix} by at \
         most {}/n{}\n",
        at_most(pull.unchecked),
        checked.unwrap_or_default()
    )
}

fn at_most(value: f64) -> String {
    three_digits(value, f64::ceil)
}
