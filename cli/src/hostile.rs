//! How far hostile reports can pull a result.

use clap::Args;
use ldp_pca::mechanism::{Check, Pull};
use serde::Serialize;

use super::output::grouped;

/// How many reports to suspect.
#[derive(Args, Clone, Copy)]
pub(super) struct HostileArguments {
    /// Suppose that so many reports were made to mislead: how far can they move an eigenvalue?
    #[arg(long, value_name = "M", default_value = "1", value_parser = clap::value_parser!(u64).range(1..))]
    hostile: u64,
}

/// What one report, and all suspected ones, move an eigenvalue of the covariance estimate by at most, in its units, by the
/// statement of [`Pull`].
#[derive(Serialize)]
pub(super) struct HostileResult {
    reports: u64,
    records: u64,
    check: Check,
    one: Bounds,
    all: Bounds,
}

/// For any bytes, and for those that pass the check.
#[derive(Serialize)]
struct Bounds {
    unchecked: f64,
    checked: f64,
}

impl From<Pull> for Bounds {
    fn from(Pull { unchecked, checked, .. }: Pull) -> Self {
        Self { unchecked, checked }
    }
}

impl HostileArguments {
    /// What `pull` says of one and of as many hostile reports as asked for, but no more than there are.
    pub(super) fn result(self, records: u64, pull: impl Fn(u64) -> Pull) -> HostileResult {
        let reports = self.hostile.min(records);
        let one = pull(1);
        HostileResult { reports, records, check: one.check, one: one.into(), all: pull(reports).into() }
    }
}

impl HostileResult {
    /// Of one hostile report.
    pub(super) fn of_one(records: u64, pull: impl Fn(u64) -> Pull) -> Self {
        HostileArguments { hostile: 1 }.result(records, pull)
    }

    pub(super) fn text(&self) -> String {
        let bounds = |bounds: &Bounds| {
            let condition = self.check.condition();
            format!("{}, one {condition} by {}", at_most(bounds.unchecked), at_most(bounds.checked))
        };
        let many = if self.reports > 1 {
            let (all, checked) = (at_most(self.all.unchecked), at_most(self.all.checked));
            format!("; {} of them by {all}, or {checked}", grouped(self.reports))
        } else {
            String::new()
        };
        format!(
            "hostile     from where an honest report's mean puts it, one report of {} moves an eigenvalue of the covariance \
             estimate by at most {}{many}\n",
            grouped(self.records),
            bounds(&self.one)
        )
    }
}

/// The line of a mechanism without a number of reports, for eigenvalues of this matrix.
pub(super) fn per_report(pull: Pull, matrix: &str) -> String {
    format!(
        "from where an honest report's mean puts it, one hostile report of n moves an eigenvalue of {matrix} by at most \
         {}/n, one {} by {}/n\n",
        at_most(pull.unchecked),
        pull.check.condition(),
        at_most(pull.checked)
    )
}

/// The number with three digits, rounded up.
fn at_most(value: f64) -> String {
    if !(value > 0.0 && value.is_finite()) {
        return format!("{value}");
    }
    let magnitude = value.log10().floor() as i32;
    if !(-4..=9).contains(&magnitude) {
        let unit = 10f64.powi(magnitude - 2);
        return format!("{:.2e}", (value / unit).ceil() * unit);
    }
    let digits = (2 - magnitude).max(0);
    let unit = 10f64.powi(digits);
    format!("{:.*}", digits as usize, (value * unit).ceil() / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_printed_with_three_digits_and_never_lower() {
        let cases = [(719.27, "720"), (2070.2, "2071"), (0.035_91, "0.0360"), (1.0, "1.00"), (26.01, "26.1")];
        for (value, text) in cases {
            assert_eq!(at_most(value), text);
        }
        for exponent in -40..40 {
            let value = 1.7f64.powi(exponent);
            let shown: f64 = at_most(value).parse().unwrap();
            assert!(shown >= value * (1.0 - 1e-12) && shown < 1.02 * value, "{value} {shown}");
        }
    }
}
