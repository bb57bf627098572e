//! Variances as shares of what the records have.

use ldp_pca::recovery::Answer;

use crate::output::three_digits;

/// The unit of variances in text: a share of the total, or where that is hardly known the number itself.
#[derive(Clone, Copy)]
pub(crate) struct Unit {
    total: Option<f64>,
}

/// The unit of numbers that are no shares.
pub(super) const SQUARES: &str = "in squared units of the encoded, bounded features";

impl Unit {
    /// That of an answer.
    pub(super) fn of(answer: &Answer) -> Self {
        Self { total: answer.whole() }
    }

    /// Whether variances are shares.
    pub(super) fn is_share(self) -> bool {
        self.total.is_some()
    }

    /// A variance, or a difference of variances with its sign.
    pub(super) fn of_variance(self, variance: f64) -> String {
        match self.total {
            Some(total) => percent(variance / total),
            None => three_digits(variance, f64::round),
        }
    }

    /// Variances, or differences of variances.
    pub(super) fn of_variances<const N: usize>(self, variances: [f64; N]) -> [String; N] {
        variances.map(|variance| self.of_variance(variance))
    }

    /// A difference of variances.
    pub(super) fn signed(self, difference: f64) -> String {
        let sign = if difference >= 0.0 { "+" } else { "" };
        format!("{sign}{}", self.of_variance(difference))
    }

    /// A bound, which is never printed lower.
    pub(crate) fn at_most(self, bound: f64) -> String {
        match self.total {
            Some(total) => format!("{} %", three_digits(100.0 * bound / total, f64::ceil)),
            None => three_digits(bound, f64::ceil),
        }
    }

    /// What the numbers are a share of, or their unit.
    pub(crate) fn of_what(self) -> &'static str {
        if self.is_share() { "of the total variance" } else { SQUARES }
    }
}

/// A share in percent, with two places, and more where it is small.
pub(super) fn percent(share: f64) -> String {
    let value = 100.0 * share;
    match value.abs() {
        0.0 => "0 %".to_owned(),
        size if size < 0.001 => format!("{value:.1e} %"),
        size if size < 0.01 => format!("{value:.4} %"),
        _ => format!("{value:.2} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(total: Option<f64>, error: Option<f64>) -> Answer {
        let mut answer = Answer::default();
        (answer.asked.dimension, answer.trust.noise_deviation) = (2, 0.5);
        let mut answer = answer.with_components(vec![vec![1.0, 0.0]], vec![5.0]);
        (answer.found.total_variance, answer.trust.total_variance_error) = (total, error);
        answer
    }

    #[test]
    fn variances_are_shares_where_the_total_is_known_well() {
        let share = Unit::of(&answer(Some(20.0), Some(1.0)));
        assert_eq!(
            [share.of_variance(5.0), share.signed(0.01), share.signed(-5.0)],
            ["25.00 %", "+0.05 %", "-25.00 %"]
        );
        assert_eq!([share.at_most(0.001), share.at_most(3.0001)], ["0.00500 %", "15.1 %"]);
        // No component has more than all of it.
        assert_eq!(Unit::of(&answer(Some(4.0), Some(1.0))).of_variance(5.0), "100.00 %");
        // Two features with a noise of 0.5 have a total with a deviation of 1.
        assert!(Unit::of(&answer(Some(2.1), None)).is_share());
        for (total, error) in [(Some(1.9), None), (Some(1.9), Some(1.0)), (Some(-3.0), Some(1.0)), (None, None)] {
            let unit = Unit::of(&answer(total, error));
            assert_eq!([unit.of_variance(5.0), unit.signed(-0.25), unit.at_most(2.001)], ["5.00", "-0.250", "2.01"]);
            assert!(!unit.is_share() && unit.of_what().contains("squared units"));
        }
    }

    #[test]
    fn percentages_have_two_places_or_two_digits() {
        let shares = [0.0, 0.307_43, -0.063_32, 0.000_023, 1.5e-6, 1.0].map(percent);
        assert_eq!(shares, ["0 %", "30.74 %", "-6.33 %", "0.0023 %", "1.5e-4 %", "100.00 %"]);
    }
}
