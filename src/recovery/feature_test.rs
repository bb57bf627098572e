//! Features that take part in the components, at a stated false-discovery rate.

use nalgebra::DVector;
use serde::Serialize;

use super::{Rank, RecoveryError};
use crate::covariance::Covariance;
use crate::law::{Along, LinearForm};
use crate::linalg::{sorted_descending, symmetric_eigen};
use crate::record::Bounding;
use crate::task::Task;

/// The least squared entry of an eigenvector that counts: that of its rounding.
const LEAST_WEIGHT: f64 = 1e-30;

/// Halvings of the interval that an eigenvalue lies in: beyond the least weight.
const HALVINGS: usize = 120;

/// A test of every feature: whether it takes part in the leading components.
///
/// The hypothesis about feature i is that the estimate's entries of it with every other feature are 0 in the
/// population: with centring its covariances with them, without it its second moments about zero, which a mean alone
/// makes other than 0. They are those of *bounded* records: under a clip that shortens few records those of the
/// records, and under unit norm others, since independent features with skewed values covary there
/// ([`FeatureTest::objection`]). Let `u_1 … u_k` be the leading eigenvectors of the estimate S without row and column
/// i. They are found from entries of S whose noise is independent of that in row i. So, under the hypothesis, `S_i u_l`
/// has the mean 0 and the variance that the mechanism gives it, and the sum of their k squares over these variances has
/// the chi-squared law. The variance is that of what is measured on reports held out: with centring, of a normal
/// population.
///
/// *Assumption*: so many reports that the sums are normal. *Effect*: of the features selected at the rate q, a share of
/// q on average at most meets the hypothesis (Benjamini & Hochberg 1995; their condition on the dependence between
/// p-values holds only nearly, and docs/reference/inference.md has the measured rates). Every feature of a categorical
/// column is correlated with the others of that column, since they exclude each other.
///
/// ```
/// use ldp_pca::{Accumulator, Bounding, Covariance, Epsilon, Folds, MechanismSpec, Rank, Schema, Task};
/// use ldp_pca::internal::recovery::FeatureTest;
///
/// // The first two of six features move together.
/// let mechanism = MechanismSpec::double_cap(Epsilon::new(4.0)?);
/// let task = Task::new(Schema::numeric(6)?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
/// let mut accumulator = Accumulator::new(&task);
/// for index in 0..20_000 {
///     let mut record = vec![0.0; 6];
///     record[2 + index % 4] = 1.0;
///     if index % 3 == 0 {
///         (record[0], record[1]) = (1.0, 1.0);
///     }
///     accumulator.push(task.randomize(&task.bound(record)?, None)?)?;
/// }
/// let covariance = Covariance::estimate(accumulator.aggregate()?, &task)?;
/// let test = FeatureTest::new(&covariance, Rank::new(1)?)?;
/// let selected = test.selected(0.1);
/// assert!(selected.contains(&0) && selected.contains(&1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FeatureTest {
    /// One for each feature (d numbers).
    pub p_values: Vec<f64>,
    /// For each feature, the smallest rate at which it is selected (d numbers).
    pub adjusted: Vec<f64>,
}

impl FeatureTest {
    /// Why the hypothesis says nothing about the features of this task's records before bounding; none where it does.
    #[must_use]
    pub fn objection(task: &Task) -> Option<&'static str> {
        if task.centring().is_none() {
            return Some(
                "it tests covariances, and the task does not take the mean off: its reports are about second moments \
                 about zero, which a mean alone makes other than zero",
            );
        }
        (task.bounding() == Bounding::UnitNorm).then_some(
            "it tests covariances, and unit norm makes features covary that do not before it, where their values are \
             skewed: a large value of one makes all others of the record smaller",
        )
    }

    /// Tests every feature against the `rank` leading components of the others; against d - 1 where the rank is d.
    ///
    /// # Errors
    /// [`FantopeError::RankExceedsDimension`](super::FantopeError::RankExceedsDimension),
    /// [`FantopeError::Eigen`](super::FantopeError::Eigen).
    pub fn new(covariance: &Covariance, rank: Rank) -> Result<Self, RecoveryError> {
        let matrix = covariance.matrix();
        rank.check(matrix.nrows())?;
        let eigen = symmetric_eigen(matrix)?;
        let mean = covariance.mean().map(|mean| eigen.vectors.tr_mul(&mean.without_bias()));
        let count = rank.value().min(matrix.nrows() - 1);
        let of_feature = |feature: usize| {
            let row = eigen.vectors.row(feature).transpose();
            let own = matrix[(feature, feature)];
            let along_mean = mean.as_ref().map(|mean| (mean, mean.dot(&row)));
            let square: f64 = (0..count)
                .map(|index| {
                    let without = Without::new(&eigen.values, &row, index);
                    let variance = variance(covariance, own, &without, &row, along_mean);
                    if variance > 0.0 { without.image.powi(2) / variance } else { 0.0 }
                })
                .sum();
            chi_squared_above(square, count)
        };
        let p_values: Vec<f64> = (0..matrix.nrows()).map(of_feature).collect();
        let adjusted = adjusted(&p_values);
        Ok(Self { p_values, adjusted })
    }

    /// The features selected at this false-discovery rate, in order.
    #[must_use]
    pub fn selected(&self, rate: f64) -> Vec<usize> {
        (0..self.adjusted.len()).filter(|&feature| self.adjusted[feature] <= rate).collect()
    }
}

/// The variance of what the feature's row gives along one eigenvector of the rest, under the hypothesis. About an
/// estimated mean there is no bound for all populations, and that of a normal one takes its place.
fn variance(
    covariance: &Covariance,
    own: f64,
    without: &Without<'_>,
    row: &DVector<f64>,
    along_mean: Option<(&DVector<f64>, f64)>,
) -> f64 {
    let (own, other) = (own.max(0.0), without.value.max(0.0));
    if let Some(law) = covariance.moments_law() {
        // The form is (e u^T + u e^T) / 2.
        return law.form_variance(&LinearForm {
            squared_norm: 0.5,
            energy: 0.25 * (own + other),
            ..LinearForm::default()
        });
    }
    let law = covariance.noise_law();
    let (of_feature, of_other) = along_mean.map_or((0.0, 0.0), |(mean, own)| (own, without.along(mean, row)));
    let along = |eigenvalue, mean: f64| Along { eigenvalue, excess: law.excess(mean * mean) };
    law.variance_between(along(own, of_feature), along(other, of_other))
}

/// One eigenpair of a symmetric matrix without one row and column.
///
/// With `S = V diag(λ) V^T` and the row v of V, its eigenvalues μ are the roots of `Σ v_j^2 / (λ_j - μ)`, one between
/// any two neighbours of S, and its eigenvectors are `w = Σ v_j / (λ_j - μ) V_j`. Since `(S - μ) w` is the unit vector
/// of the row, the product of the row and the normalized w is `1 / |w|`.
struct Without<'a> {
    values: &'a DVector<f64>,
    /// The eigenvalue of S that μ is nearest to.
    pole: usize,
    /// `λ_pole - μ`.
    offset: f64,
    /// μ.
    value: f64,
    /// The product of the row and the eigenvector.
    image: f64,
}

impl<'a> Without<'a> {
    fn new(values: &'a DVector<f64>, row: &DVector<f64>, index: usize) -> Self {
        let gap = values[index] - values[index + 1];
        let pole = |pole: usize, offset: f64| Self { values, pole, offset, value: values[pole] - offset, image: 0.0 };
        if gap <= 0.0 {
            // In the space of a repeated eigenvalue one direction has nothing in the row.
            return pole(index, 0.0);
        }
        let sum = |pole: &Self, power: i32| -> f64 {
            row.iter().enumerate().map(|(at, v)| (v * v).max(LEAST_WEIGHT) / pole.distance(at).powi(power)).sum()
        };
        // The function rises with μ. The root is searched for from the nearest pole, so that a small distance from
        // it is exact.
        let middle = pole(index, 0.5 * gap);
        let (nearest, mut near, mut far) =
            if sum(&middle, 1) > 0.0 { (index + 1, 0.0, -0.5 * gap) } else { (index, 0.0, 0.5 * gap) };
        for _ in 0..HALVINGS {
            let offset = 0.5 * (near + far);
            let above = sum(&pole(nearest, offset), 1) > 0.0;
            // The upper pole is above the root, the lower one below it.
            if above == (nearest == index) { near = offset } else { far = offset }
        }
        let mut found = pole(nearest, 0.5 * (near + far));
        found.image = sum(&found, 2).sqrt().recip();
        found
    }

    /// `λ_j - μ`.
    fn distance(&self, at: usize) -> f64 {
        if at == self.pole { self.offset } else { self.values[at] - self.values[self.pole] + self.offset }
    }

    /// The product of the eigenvector and a vector with these coordinates in the eigenvectors of the whole.
    fn along(&self, coordinates: &DVector<f64>, row: &DVector<f64>) -> f64 {
        if self.image == 0.0 {
            return 0.0;
        }
        let terms = coordinates.iter().zip(row.iter()).enumerate();
        self.image * terms.map(|(at, (coordinate, v))| coordinate * v / self.distance(at)).sum::<f64>()
    }
}

/// The probability that a chi-squared variable with so many degrees of freedom exceeds a value.
fn chi_squared_above(value: f64, degrees: usize) -> f64 {
    if degrees == 0 {
        return 1.0;
    }
    let half = 0.5 * value;
    // Q(a + 1, x) = Q(a, x) + x^a e^-x / Γ(a + 1), from Q(1, x) = e^-x or Q(1/2, x) = erfc(√x).
    let (mut order, mut above) = if degrees.is_multiple_of(2) { (0.0, 0.0) } else { (0.5, libm::erfc(half.sqrt())) };
    while 2.0 * order < degrees as f64 {
        let term = if order == 0.0 { -half } else { order * half.ln() - half - libm::lgamma(order + 1.0) };
        above += if half > 0.0 || order == 0.0 { term.exp() } else { 0.0 };
        order += 1.0;
    }
    above.min(1.0)
}

/// For each p-value, the smallest rate at which the step-up procedure selects it.
fn adjusted(p_values: &[f64]) -> Vec<f64> {
    let order = sorted_descending((0..p_values.len()).collect(), |feature| p_values[*feature]);
    let mut adjusted = vec![1.0; p_values.len()];
    let mut smallest = 1.0f64;
    for (larger, feature) in order.into_iter().enumerate() {
        smallest = smallest.min(p_values[feature] * p_values.len() as f64 / (p_values.len() - larger) as f64);
        adjusted[feature] = smallest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use nalgebra::DMatrix;
    use rand::{RngExt, SeedableRng};
    use rand_distr::StandardNormal;

    use super::*;
    use crate::centring::Centring;
    use crate::mechanism::MechanismSpec;
    use crate::privacy::tests::{delta, epsilon};
    use crate::recovery::FantopeError;
    use crate::tests::{self, double_cap, rank, sum, task};

    #[test]
    fn eigenpairs_without_a_row_are_those_of_the_smaller_matrix() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let square = DMatrix::<f64>::from_fn(9, 9, |_, _| rng.sample(StandardNormal));
        let dense = &square + square.transpose();
        // A direction of its own, and a repeated eigenvalue.
        let mut apart = dense.clone();
        apart.fill_row(4, 0.0);
        apart.fill_column(4, 0.0);
        apart[(4, 4)] = 3.0;
        let low = square.columns(0, 2) * square.columns(0, 2).transpose();
        for matrix in [dense, apart, low, DMatrix::identity(9, 9)] {
            let eigen = symmetric_eigen(&matrix).unwrap();
            let coordinates = DVector::from_fn(9, |row, _| row as f64);
            for feature in 0..9 {
                let row = eigen.vectors.row(feature).transpose();
                let block = matrix.clone().remove_row(feature).remove_column(feature);
                let smaller = symmetric_eigen(&block).unwrap();
                let products = smaller.vectors.tr_mul(&matrix.column(feature).remove_row(feature));
                let shorter = coordinates.clone().remove_row(feature);
                for index in 0..8 {
                    let found = Without::new(&eigen.values, &row, index);
                    let alone =
                        |other: usize| other == index || (smaller.values[index] - smaller.values[other]).abs() > 1e-6;
                    assert!((found.value - smaller.values[index]).abs() < 1e-9, "{feature} {index}");
                    if (0..8).all(alone) {
                        let expected = products[index].abs();
                        assert!((found.image - expected).abs() < 1e-9, "{feature} {index}: {} {expected}", found.image);
                        let along = found.along(&eigen.vectors.tr_mul(&coordinates), &row);
                        let expected = smaller.vectors.column(index).dot(&shorter);
                        let difference = along.abs() - expected.abs();
                        assert!(expected.abs() * found.image < 1e-9 || difference.abs() < 1e-6, "{along} {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn tails_are_those_of_the_tables_and_adjusted_values_descend_with_the_step_up_procedure() {
        for (value, degrees) in [(3.841_459, 1), (5.991_465, 2), (7.814_728, 3), (9.487_729, 4), (18.307_038, 10)] {
            assert!((chi_squared_above(value, degrees) - 0.05).abs() < 1e-6, "{degrees}");
        }
        let ends = [(0.0, 1), (0.0, 2), (7.0, 0), (1e4, 3)].map(|(value, degrees)| chi_squared_above(value, degrees));
        assert_eq!(ends, [1.0, 1.0, 1.0, 0.0]);
        let adjusted = adjusted(&[0.01, 0.9, 0.02, 0.06]);
        let expected = [0.04, 0.9, 0.04, 0.08];
        assert!(adjusted.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12));
        let test = FeatureTest { p_values: vec![0.01, 0.9, 0.02, 0.06], adjusted };
        assert_eq!((test.selected(0.05), test.selected(0.03)), (vec![0, 2], vec![]));
    }

    /// Of ten features four move together.
    fn collected(task: &Task, offset: f64, reports: usize, rng: &mut ChaCha20Rng) -> Covariance {
        let reports = tests::reports(task, reports, rng, |_, rng| {
            let common: f64 = rng.sample(StandardNormal);
            let mut record: Vec<f64> = (0..10).map(|_| rng.sample(StandardNormal)).collect();
            record[..4].iter_mut().for_each(|value| *value = 0.5 * *value + 1.5 * common);
            record[9] += offset;
            record
        });
        Covariance::estimate(&sum(task, &reports), task).unwrap()
    }

    /// In 60 collections 360 p-values are of features uncorrelated with the others. Of these 36 are expected below 0.1,
    /// and 60 or more have a probability of 5e-5. The mean share of false selections at the rate 0.2 is 0.12 with a
    /// standard error of at most 0.05 (a share is between 0 and 1, of five features and more).
    #[test]
    fn features_that_move_alone_are_selected_no_more_often_than_the_rate_says() {
        let double_cap = double_cap(4.0, 32, 2);
        let gaussian = MechanismSpec::gaussian(epsilon(8.0), delta(1e-5));
        let centring = Centring::new(0.25).unwrap();
        for (spec, reports, centring) in
            [(double_cap, 3_000, None), (gaussian, 6_000, None), (double_cap, 8_000, Some(centring))]
        {
            let task = tests::centred(task(10, Bounding::UnitNorm, spec, 1), centring);
            let mut rng = ChaCha20Rng::seed_from_u64(2);
            let (mut below, mut false_share, mut found) = (0, 0.0, 0);
            for _ in 0..60 {
                // With centring a feature far from zero; without it, it would be correlated with its own mean alone.
                let offset = if centring.is_some() { 1.0 } else { 0.0 };
                let test = FeatureTest::new(&collected(&task, offset, reports, &mut rng), rank(2)).unwrap();
                below += test.p_values[4..].iter().filter(|&&p| p < 0.1).count();
                let selected = test.selected(0.2);
                let wrong = selected.iter().filter(|&&feature| feature >= 4).count();
                false_share += wrong as f64 / selected.len().max(1) as f64 / 60.0;
                found += selected.len() - wrong;
            }
            assert!(below < 60 && false_share < 0.27, "{spec:?} {centring:?}: {below} {false_share}");
            assert!(found >= 200, "{spec:?} {centring:?}: {found} of 240");
        }
    }

    #[test]
    fn one_feature_has_no_others_and_a_rank_beyond_the_features_is_refused() {
        for (features, reports) in [(1, 5), (3, 5)] {
            let task = task(features, Bounding::UnitNorm, double_cap(4.0, 32, 2), 1);
            let mut rng = ChaCha20Rng::seed_from_u64(1);
            let reports = tests::reports(&task, reports, &mut rng, |_, _| vec![1.0; features]);
            let covariance = Covariance::estimate(&sum(&task, &reports), &task).unwrap();
            let test = FeatureTest::new(&covariance, rank(features)).unwrap();
            assert!(test.p_values.iter().all(|p| (0.0..=1.0).contains(p)));
            assert!(features > 1 || test.p_values == [1.0]);
            let refused = FantopeError::RankExceedsDimension { rank: features + 1, dimension: features };
            assert_eq!(FeatureTest::new(&covariance, rank(features + 1)), Err(RecoveryError::Fantope(refused)));
        }
    }
}
