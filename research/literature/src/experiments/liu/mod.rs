//! Liu, Kong, Jain & Oh (2022): DP-PCA, whose noise adapts to the range of the gradients. The paper has no experiments;
//! its example and its rates are run here.

mod example;
mod gradients;
mod rates;

use rand_distr::{Distribution, StandardNormal};

use super::local::double_cap_prediction;
use super::{Experiment, ExperimentError, Run};
use crate::baselines::private_oja::Multiplier;
use crate::baselines::{
    BaselineError, DoubleCapPca, DpPca, Pca, PrivateOja, RandomSubspace, Sample, Shape, SubspaceEstimator,
};
use ldp_pca::prediction::Spectrum;
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;

/// The experiments, in the order of the paper.
pub(super) fn experiments() -> Vec<Box<dyn Experiment>> {
    vec![Box::new(gradients::Gradients), Box::new(example::Example), Box::new(rates::Rates)]
}

/// In "the practical regime of interest, epsilon in [1/2, 5]".
const EPSILON: f64 = 1.0;
const DELTA: f64 = 1e-6;

const PCA: &str = "PCA";
const BOXES: &str = "DP-PCA";
const BALLS: &str = "DP-PCA, balls";
const OURS: &str = "double-cap + PCA";
const RANDOM: &str = "random subspace";
const MINIBATCHES: &str = "Private Oja (7), as printed";
const LEAST_MINIBATCHES: &str = "Private Oja (7), least noise";
const AMPLIFIED: &str = "Private Oja, shuffled, its largest epsilon";

/// The records as a method takes them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Records {
    /// As drawn.
    Plain,
    /// Divided by the bound on their norm.
    UnitBall,
    /// Divided by this norm, for methods that read only second moments.
    Divided(f64),
}

/// A method, the name of its rows, and its records.
struct Contender {
    name: &'static str,
    method: Box<dyn SubspaceEstimator>,
    records: Records,
}

impl Contender {
    fn new(name: &'static str, method: impl SubspaceEstimator + 'static, records: Records) -> Self {
        Self { name, method: Box::new(method), records }
    }

    /// The methods in every comparison, DP-PCA with this number of batches.
    fn everywhere(epsilon: Epsilon, delta: Delta, batches: Option<usize>) -> Vec<Self> {
        vec![
            Self::new(PCA, Pca, Records::Plain),
            Self::new(BOXES, DpPca { batches, ..DpPca::new(epsilon, delta) }, Records::Plain),
            Self::new(BALLS, DpPca { batches, ..DpPca::in_balls(epsilon, delta) }, Records::Plain),
            Self::new(OURS, DoubleCapPca::new(epsilon), Records::UnitBall),
            Self::new(RANDOM, RandomSubspace, Records::Plain),
        ]
    }

    /// Equation (7) as printed, with beta of Lemma 3.2 and composed answers, and with the least noise that is proved.
    fn minibatches(private_oja: PrivateOja, printed_beta: f64, least_beta: f64, gap: f64) -> [Self; 2] {
        let of = |threshold: f64, multiplier| PrivateOja { threshold, gap: gap / threshold, multiplier, ..private_oja };
        [
            Self::new(MINIBATCHES, of(printed_beta, Multiplier::Composed), Records::Plain),
            Self::new(LEAST_MINIBATCHES, of(least_beta, Multiplier::Proved), Records::Plain),
        ]
    }

    /// Algorithm 2 as printed, shuffled, at the largest epsilon that this allows; `None` where there are too few
    /// records for any.
    fn amplified(records: u64, delta: Delta, threshold: f64, gap: f64) -> Option<Self> {
        let largest = PrivateOja::largest_epsilon(records, delta)?;
        let method = PrivateOja { threshold, gap: gap / threshold, ..PrivateOja::new(largest, delta) };
        Some(Self::new(AMPLIFIED, method, Records::Plain))
    }

    /// The sine of the angle to the first axis; or NaN and the theorem whose conditions do not hold.
    fn sine(&self, drawn: &Drawn, run: &mut Run<'_>) -> Result<(f64, String), ExperimentError> {
        let divided;
        let sample = match self.records {
            Records::Plain => &drawn.plain,
            Records::UnitBall => &drawn.scaled,
            Records::Divided(norm) => {
                let moments = drawn.plain.second_moment() / (norm * norm);
                divided =
                    Sample::from_second_moment(moments, drawn.plain.records(), drawn.plain.largest_norm() / norm)?;
                &divided
            }
        };
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
        epsilon: Epsilon,
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
        let local = double_cap_prediction(&spectrum, Rank::new(1)?, plain.records(), epsilon)?;
        Ok(Self { plain, scaled, eigenvalue: first / square, threshold: local.threshold })
    }
}

fn normal(run: &mut Run<'_>) -> f64 {
    StandardNormal.sample(&mut run.rng)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::oja::Theorem22;
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
    fn the_printed_steps_are_too_short_for_every_alpha() {
        let law = Theorem22 { largest: 1.0, gap: 1.0, bound: 0.0, variance: 0.0, failure: 0.01 };
        assert!(law.offset(0.5) > 50_000.0, "{}", law.offset(0.5));
    }

    /// With 400 gradients and a deviation of 0.01 the range is below a tenth of the mean, which is about 0.7.
    #[test]
    fn the_range_of_gradients_exceeds_their_mean_only_where_the_paper_says_so() {
        let keys = ["Gaussian records", "Example 4.1, sigma^2 = 1e-4", "matrices of rank two, variance 1e-4"];
        let (_, findings) = some_cells(&gradients::Gradients, &keys);
        let ratios: Vec<f64> = findings.grids[0].rows.iter().map(|row| row[3].parse().unwrap()).collect();
        assert!(ratios[0] > 1.0 && ratios[1] < 0.15 && ratios[2] < 0.15, "{ratios:?}");
    }

    #[test]
    fn settings_below_the_threshold_of_a_local_method_are_named() {
        let (table, findings) = some_cells(&rates::Rates, &["n-25000-0"]);
        let row = table.rows().next().unwrap();
        let below = row.number("eigenvalue") <= row.number("threshold");
        assert_eq!(findings.measured.iter().any(|text| text.contains("recovery: n = 25000")), below, "{findings:?}");
        assert!(row.text("method") == PCA && row.number("price") == 0.0);
    }
}
