//! Liu, Kong, Jain & Oh (2022): DP-PCA, whose noise adapts to the range of the gradients. The paper has no experiments;
//! its example and its rates are run here.

mod example;
mod rates;

use rand_distr::{Distribution, StandardNormal};

use super::local::double_cap_prediction;
use super::{Experiment, ExperimentError, Run};
use crate::baselines::{BaselineError, DoubleCapPca, DpPca, Pca, RandomSubspace, Sample, Shape, SubspaceEstimator};
use ldp_pca::prediction::Spectrum;
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;

/// The experiments, in the order of the paper.
pub(super) fn experiments() -> Vec<Box<dyn Experiment>> {
    vec![Box::new(example::Example), Box::new(rates::Rates)]
}

/// In "the practical regime of interest, epsilon in [1/2, 5]".
const EPSILON: f64 = 1.0;
const DELTA: f64 = 1e-6;

const PCA: &str = "PCA";
const BOXES: &str = "DP-PCA";
const BALLS: &str = "DP-PCA, balls";
const OURS: &str = "double-cap + PCA";
const RANDOM: &str = "random subspace";

/// A method, the name of its rows, and whether its records are divided by their bound.
struct Contender {
    name: &'static str,
    method: Box<dyn SubspaceEstimator>,
    unit_ball: bool,
}

impl Contender {
    fn new(name: &'static str, method: impl SubspaceEstimator + 'static, unit_ball: bool) -> Self {
        Self { name, method: Box::new(method), unit_ball }
    }

    /// The methods in every comparison.
    fn everywhere() -> Result<Vec<Self>, ExperimentError> {
        let (epsilon, delta) = (Epsilon::new(EPSILON)?, Delta::new(DELTA)?);
        Ok(vec![
            Self::new(PCA, Pca, false),
            Self::new(BOXES, DpPca::new(epsilon, delta), false),
            Self::new(BALLS, DpPca::in_balls(epsilon, delta), false),
            Self::new(OURS, DoubleCapPca::new(epsilon), true),
            Self::new(RANDOM, RandomSubspace, false),
        ])
    }

    /// The sine of the angle to the first axis; or NaN and the theorem whose conditions do not hold.
    fn sine(&self, drawn: &Drawn, run: &mut Run<'_>) -> Result<(f64, String), ExperimentError> {
        let sample = if self.unit_ball { &drawn.scaled } else { &drawn.plain };
        let rank = Rank::new(1)?;
        let shape = Shape { records: sample.records(), dimension: sample.dimension(), rank };
        let promised = self.method.guarantee(shape).map(|_| ());
        match promised.and_then(|()| self.method.estimate(sample, rank, &mut run.rng)) {
            Ok(outcome) => Ok((outcome.subspace.basis().rows_range(1..).norm(), String::new())),
            Err(BaselineError::OutsideTheorem { theorem, .. }) => Ok((f64::NAN, format!("outside {theorem}"))),
            Err(other) => Err(other.into()),
        }
    }
}

/// Records with one large eigenvalue and d - 1 equal ones, and the threshold of double-cap for them.
struct Drawn {
    plain: Sample,
    /// The records divided by a bound on their norm. A record above the bound is shortened to it.
    scaled: Sample,
    /// The leading eigenvalue of the scaled records.
    eigenvalue: f64,
    /// The eigenvalue above which double-cap recovers a component.
    threshold: f64,
}

impl Drawn {
    fn new(
        values: Vec<f64>,
        dimension: usize,
        (first, others): (f64, f64),
        bound: f64,
    ) -> Result<Self, ExperimentError> {
        let mut scaled: Vec<f64> = values.iter().map(|value| value / bound).collect();
        for row in scaled.chunks_exact_mut(dimension) {
            let norm = row.iter().map(|value| value * value).sum::<f64>().sqrt();
            if norm > 1.0 {
                row.iter_mut().for_each(|value| *value /= norm);
            }
        }
        let (plain, scaled) = (Sample::new(dimension, values)?, Sample::new(dimension, scaled)?);
        let square = bound * bound;
        let spectrum = Spectrum::new(dimension, vec![first / square], others / square)?;
        let local = double_cap_prediction(&spectrum, Rank::new(1)?, plain.records(), Epsilon::new(EPSILON)?)?;
        Ok(Self { plain, scaled, eigenvalue: local.components[0].eigenvalue, threshold: local.threshold })
    }
}

fn normal(run: &mut Run<'_>) -> f64 {
    StandardNormal.sample(&mut run.rng)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::is;
    use crate::experiments::tests::some_cells;

    #[test]
    fn only_noise_that_adapts_vanishes_with_the_data_s() {
        let (table, findings) = some_cells(&example::Example, &["variance-1e-6-0"]);
        let of = |method: &str| table.numbers("sine", &[is("method", method)])[0];
        assert!(of(BOXES) < 0.01 && of("Private Oja, least beta") > 0.03, "{table:?}");
        assert!(of("Private Oja, shuffled").is_nan());
        assert!(findings.measured.iter().any(|text| text.contains("refused: outside Lemma 3.1")), "{findings:?}");
    }

    #[test]
    fn settings_below_the_threshold_of_a_local_method_are_named() {
        let (table, findings) = some_cells(&rates::Rates, &["n-25000-20-0"]);
        let row = table.rows().next().unwrap();
        let below = row.number("eigenvalue") <= row.number("threshold");
        assert_eq!(findings.measured.iter().any(|text| text.contains("n = 25000, d = 20")), below, "{findings:?}");
        assert!(row.text("method") == PCA && row.number("price") == 0.0);
    }
}
