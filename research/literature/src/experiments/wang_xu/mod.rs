//! Wang & Xu (2019, 2020): Figures 1 to 4, Tables 1 and 2.
//!
//! Errors are the paper's, `||V V^T - W W^T||_F`: 0 for the same subspace, `sqrt(2 k)` for an orthogonal one, and a
//! root mean square of `sqrt(2 k (1 - k/p))` for a random one.

mod controls;
mod population;
mod real;
mod reference;
mod support;
mod synthetic;
mod tables;

use rand::rand_core::CryptoRng;

use super::{Experiment, ExperimentError, Figure, Level, Row, Series, Style, Summary, Table, Value, is};
use crate::baselines::local::{HYPOTHESIS, LEMMA_15_FACTOR};
use crate::baselines::{
    AnalyticGaussianPca, DoubleCapPca, DoubleCapSparse, NoisePlacement, Pca, RandomSubspace, Sample, SparseSolver,
    SubspaceEstimator, WangXuPca, WangXuSparse,
};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;
use ldp_pca::subspace::{Subspace, SubspaceError, sin_theta_squared};

/// The experiments, in the order of the paper.
pub(super) fn experiments() -> Vec<Box<dyn Experiment>> {
    vec![
        Box::new(real::RealData),
        Box::new(synthetic::FIGURE_3),
        Box::new(synthetic::FIGURE_3_ABOVE),
        Box::new(synthetic::FIGURE_4),
        Box::new(support::SupportRecovery),
        Box::new(tables::TABLE_1),
        Box::new(tables::TABLE_2),
    ]
}

/// The paper states delta for Figure 3 only.
const DELTA: f64 = 1e-4;

/// The printed algorithms.
const ALGORITHM_1: &str = "Wang & Xu, Algorithm 1";
const ALGORITHM_2: &str = "Wang & Xu, Algorithm 2";

/// The name of the method that reads no record: a horizontal line in figures.
const RANDOM: &str = "random subspace";

/// [`HYPOTHESIS`], which the papers do not print but may have run, with the penalty that is best in simulations.
const HYPOTHESIS_LESS_PENALTY: &str = "hypothesis: the same with the penalty 0.5 τ √(ln p) (not local)";

/// A method with its name and its style in figures.
struct Contender {
    name: &'static str,
    style: Style,
    method: Box<dyn SubspaceEstimator>,
}

impl Contender {
    fn new(style: Style, method: impl SubspaceEstimator + 'static) -> Self {
        Self { name: method.name(), style, method: Box::new(method) }
    }

    /// The rows of one collection: each method's name and error.
    fn errors(
        contenders: &[Self],
        sample: &Sample,
        truth: &Subspace,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<(&'static str, f64)>, ExperimentError> {
        let rank = Rank::new(truth.rank())?;
        let error = |contender: &Self| {
            let found = contender.method.estimate(sample, rank, rng)?.subspace;
            Ok((contender.name, projection_distance(&found, truth)?))
        };
        contenders.iter().map(error).collect()
    }
}

/// The paper's error, the Frobenius distance of the orthogonal projectors: `√2` times the norm of the sines.
///
/// ```text
/// ‖AAᵀ − BBᵀ‖_F = √2 ‖sin Θ‖_F
/// ```
fn projection_distance(a: &Subspace, b: &Subspace) -> Result<f64, SubspaceError> {
    Ok((2.0 * sin_theta_squared(a, b)?).sqrt())
}

/// Algorithm 1 and the methods compared with it.
fn dense_contenders(epsilon: f64) -> Result<Vec<Contender>, ExperimentError> {
    let (epsilon, delta) = (Epsilon::new(epsilon)?, Delta::new(DELTA)?);
    Ok(vec![
        Contender::new(Style::Method, WangXuPca::new(epsilon, delta)),
        Contender::new(Style::Method, AnalyticGaussianPca::new(epsilon, delta)),
        Contender::new(Style::Ours, DoubleCapPca::new(epsilon)),
        Contender::new(Style::NonPrivate, Pca),
        Contender::new(Style::Method, RandomSubspace),
    ])
}

/// Algorithm 2, with the penalty of Lemma 15 and with the best one in simulations, and the methods compared with it.
/// The first also from zero to the last iterate, as printed: the paper gives no number of steps.
fn sparse_contenders(epsilon: f64) -> Result<Vec<Contender>, ExperimentError> {
    let (epsilon, delta) = (Epsilon::new(epsilon)?, Delta::new(DELTA)?);
    let printed = WangXuSparse::new(epsilon, delta);
    let lemma = WangXuSparse { penalty_factor: LEMMA_15_FACTOR, ..printed };
    let as_printed = WangXuSparse { solver: SparseSolver::Printed { steps: 50 }, ..lemma };
    Ok(vec![
        Contender { name: "Wang & Xu, Algorithm 2 (Lemma 15)", ..Contender::new(Style::Method, lemma) },
        Contender {
            name: "Wang & Xu, Algorithm 2 (Lemma 15, 50 steps as printed)",
            ..Contender::new(Style::Method, as_printed)
        },
        Contender::new(Style::Method, printed),
        Contender::new(Style::Ours, DoubleCapSparse::new(epsilon)),
        Contender::new(Style::NonPrivate, Pca),
        Contender::new(Style::Method, RandomSubspace),
    ])
}

/// A measure of a row.
type Measure = fn(Row<'_>) -> f64;

/// The error.
const ERROR: Measure = |row| row.number("error");

/// The error as a share of a random subspace's, which does not change with p and k.
const SHARE: Measure = |row| row.number("error") / random_level(row.number("k") as usize, row.number("p") as usize);

/// A measure at both ends of a line.
struct Change {
    from: Summary,
    to: Summary,
}

impl Change {
    /// `None` without two points of two repetitions each.
    fn along(table: &Table, column: &'static str, line: &[(&'static str, Value)], measure: Measure) -> Option<Self> {
        let points = table.numbers(column, line);
        let ends = [points.iter().copied().fold(f64::NAN, f64::min), points.iter().copied().fold(f64::NAN, f64::max)];
        let at = |x: f64| {
            let here = [line, &[is(column, x)]].concat();
            Summary::of(table.matching(&here).map(measure).collect()).filter(|end| end.count > 1)
        };
        let [from, to] = [at(ends[0])?, at(ends[1])?];
        (ends[0] < ends[1]).then_some(Self { from, to })
    }

    /// Whether the mean rises, or falls, by more than two standard errors.
    fn is_clear(&self, rises: bool) -> bool {
        let (low, high) = if rises { (&self.from, &self.to) } else { (&self.to, &self.from) };
        high.is_clearly_above(low)
    }
}

/// Algorithm 1 with the noise on the mean.
fn dense_hypothesis(epsilon: f64) -> Result<Contender, ExperimentError> {
    Ok(Contender::new(Style::Method, on_the_mean(epsilon)?))
}

/// Algorithm 2 with the noise on the mean, with each penalty. The problem is convex, so the fastest solver serves.
fn sparse_hypotheses(epsilon: f64) -> Result<[Contender; 2], ExperimentError> {
    let reports = on_the_mean(epsilon)?;
    let printed = WangXuSparse::new(reports.epsilon, reports.delta);
    let sparse = WangXuSparse { reports, solver: SparseSolver::Certified, ..printed };
    Ok([
        Contender::new(Style::Method, WangXuSparse { penalty_factor: LEMMA_15_FACTOR, ..sparse }),
        Contender { name: HYPOTHESIS_LESS_PENALTY, ..Contender::new(Style::Method, sparse) },
    ])
}

fn on_the_mean(epsilon: f64) -> Result<WangXuPca, ExperimentError> {
    let printed = WangXuPca::new(Epsilon::new(epsilon)?, Delta::new(DELTA)?);
    Ok(WangXuPca { placement: NoisePlacement::Mean, ..printed })
}

/// `sqrt(2 k (1 - k/p))`: the root mean square error of a random subspace.
fn random_level(rank: usize, dimension: usize) -> f64 {
    let (k, p) = (rank as f64, dimension as f64);
    (2.0 * k * (1.0 - k / p)).sqrt()
}

/// The series of each contender over `x` in the rows that meet these conditions.
fn series(
    contenders: &[Contender],
    table: &Table,
    x: &'static str,
    conditions: &[(&'static str, Value)],
) -> Vec<Series> {
    // The random subspace is a line across the figure.
    let lines = contenders.iter().filter(|contender| contender.name != RANDOM);
    let lines: Vec<_> = lines.map(|contender| (contender.name, contender.style)).collect();
    Series::of_methods(&lines, table, (x, "error"), conditions)
}

/// A figure with a line at this level for a random subspace.
fn figure(title: String, x: super::Axis, series: Vec<Series>, random: Option<f64>) -> Figure {
    let levels = random.map(|y| Level { name: "a random subspace".into(), y }).into_iter().collect();
    Figure { title, x, y: super::Axis::linear("||VVᵀ − WWᵀ||_F"), series, levels }
}

/// "1.23".
fn two(number: f64) -> String {
    format!("{number:.2}")
}

#[cfg(test)]
mod tests {
    use nalgebra::DMatrix;

    use super::*;

    #[test]
    fn projection_distance_is_the_distance_of_the_projectors() {
        let a = Subspace::new(&DMatrix::from_fn(6, 2, |i, j| ((3 * i + j) as f64).sin())).unwrap();
        let b = Subspace::new(&DMatrix::from_fn(6, 2, |i, j| ((i + 5 * j) as f64).cos())).unwrap();
        let direct = (a.basis() * a.basis().transpose() - b.basis() * b.basis().transpose()).norm();
        assert!((projection_distance(&a, &b).unwrap() - direct).abs() < 1e-14);
    }
}
