//! Scales from values to positions, and the round values that an axis names.

/// A straight axis.
#[derive(Clone, Copy, Debug)]
pub struct LinearAxis {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl LinearAxis {
    /// An axis from `start` to `end` on which all of `values` (finite ones) fit, with some space around them.
    pub fn around(values: impl IntoIterator<Item = f64>, start: f64, end: f64) -> Self {
        let (low, high) = values
            .into_iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        // Equal values go in the middle.
        let space = if high > low { 0.06 * (high - low) } else { high.abs().max(f64::MIN_POSITIVE) };
        Self { low: low - space, high: high + space, start, end }
    }

    /// The least and the largest value on it.
    pub fn range(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Where a value is on it.
    pub fn position(&self, value: f64) -> f64 {
        self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)
    }

    /// The values in every `step`th power of ten, times these factors, whose logarithms are on the axis.
    pub fn decades(&self, step: usize, factors: &[f64]) -> Vec<f64> {
        let decades = (self.low.floor() as i32..=self.high.ceil() as i32).step_by(step);
        let values = decades.flat_map(|decade| factors.iter().map(move |factor| factor * 10f64.powi(decade)));
        values.filter(|value| (self.low..=self.high).contains(&value.log10())).collect()
    }

    /// Four to nine round values inside the axis.
    pub fn ticks(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / 4.0;
        let magnitude = 10f64.powf(rough.log10().floor());
        let step = [5.0, 2.0, 1.0].into_iter().map(|factor| factor * magnitude).find(|step| *step <= rough);
        let step = step.unwrap_or(rough);
        let (first, last) = ((self.low / step).ceil(), (self.high / step).floor());
        // Adding zero turns −0 into 0.
        (0..=(last - first) as usize).map(|index| (first + index as f64) * step + 0.0).collect()
    }
}

/// A number in the form of an axis label.
pub fn label(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        // Multiples of a step carry rounding in their last digits.
        1e-3..1e5 => format!("{value:.5}").trim_end_matches('0').trim_end_matches('.').to_owned(),
        _ => format!("{value:.1e}").replace(".0e", "e"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fit_and_ticks_are_round() {
        let scale = LinearAxis::around([0.0, 0.3], 100.0, 0.0);
        assert!(scale.position(0.3) > 0.0 && scale.position(0.0) < 100.0);
        let labels: Vec<String> = scale.ticks().into_iter().map(label).collect();
        assert_eq!(labels, ["0", "0.05", "0.1", "0.15", "0.2", "0.25", "0.3"]);
    }

    #[test]
    fn one_value_none_and_extreme_ones_have_an_axis() {
        for values in [vec![], vec![0.0], vec![3.0, 3.0], vec![-1e-9, 1e-9], vec![-2e7, 5e12]] {
            let scale = LinearAxis::around(values.iter().copied(), 0.0, 1.0);
            assert!(values.iter().all(|&value| (0.0..=1.0).contains(&scale.position(value))), "{values:?}");
            let count = scale.ticks().len();
            assert!((2..=10).contains(&count), "{values:?}: {count}");
        }
    }

    #[test]
    fn labels_are_short() {
        assert_eq!([0.1 + 0.2, 1500.0, 2e-5, -0.25, 1e7].map(label), ["0.3", "1500", "2e-5", "-0.25", "1e7"]);
    }
}
