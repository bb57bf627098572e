//! The conditions under which the Fantope program finds the features that take part (Wang & Xu 2019, Theorem 5),
//! checked on an estimate.
//!
//! With J the features that take part, s of them, `gap = lambda_k - lambda_{k+1}` and E the noise of the estimate S,
//! Lemma 17 (Lei & Vu 2015) says for a penalty with
//!
//! ```text
//! |E|_max / penalty + c <= 1,    c = 8 s / gap × max over i outside J of ||Sigma_iJ||_2
//! 4 penalty s (1 + 8 lambda_1 / gap) < gap
//! ```
//!
//! that no feature outside J is found. Limited correlation (Definition 4) is `c <= 1 - alpha`. None of J is missed
//! where also all `(V V')_jj >= (4 penalty s / gap)^2`, or where all `|Sigma_ij| >= 2 penalty` within J and their signs
//! are those of a matrix of rank one. The theorem is about the rows of X; the list of features that were found leaves
//! out those with small loadings ([`FantopeSolution::support`](fantope::FantopeSolution::support)).
//!
//! All of that is about the population. What is checked here takes its place: the J that was found, S in the place of
//! Sigma, and `2 tau sqrt(ln d)` for the noise, whose real value nobody knows. The noise in S makes c larger than it is
//! in the population. `lambda_{k+1}` is the larger of the next eigenvalue within J, noise included, and the mean
//! variance outside. So no direction outside J may be as strong as the components: that is assumed, not checked, and so
//! is that the population's components use exactly the features found, which is what is in question. The error of the
//! sample itself is left out: in the unit ball it is below the noise of the reports.

use nalgebra::DMatrix;
use serde::Serialize;

use super::RecoveryError;
use crate::linalg::symmetric_eigenvalues;

/// The largest support that is checked: no larger one meets the conditions at usual noise, and its eigenvalues take
/// time.
const MOST_FEATURES: usize = 500;

/// What of Theorem 5's conditions holds on an estimate. Numbers that a gap of 0 leaves without a value are `None`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SupportConditions {
    /// lambda_k - lambda_{k+1}, at least 0.
    pub gap: f64,
    /// c, which is below 1 under limited correlation.
    pub correlation: Option<f64>,
    /// The c that noise alone gives, about.
    pub noise_correlation: Option<f64>,
    /// `|E|_max / (1 - c)`: the least penalty that keeps other features out; `None` for c of 1 or more.
    pub least_penalty: Option<f64>,
    /// The penalty that the second condition stays below.
    pub most_penalty: f64,
    /// `(4 penalty s / gap)^2`: a feature with this leverage is not missed.
    pub least_leverage: Option<f64>,
    /// Whether a population whose components use exactly the features found would show no others.
    pub no_false_features: bool,
    /// Whether it would also show them all, but for those with small loadings, which the list leaves out.
    pub no_missed_features: bool,
}

/// What was found, and the noise.
#[derive(Clone, Copy, Debug)]
pub struct FoundSupport<'a> {
    /// Features, ascending from 0.
    pub rows: &'a [usize],
    /// The leverage of each of them.
    pub leverages: &'a [f64],
    /// lambda_1 and lambda_k.
    pub ends: [f64; 2],
    /// k.
    pub rank: usize,
    /// The penalty of the Fantope program.
    pub penalty: f64,
    /// tau.
    pub noise_deviation: f64,
}

impl SupportConditions {
    /// `None` for no features, and for more than can meet them.
    ///
    /// # Errors
    /// Those of an eigendecomposition.
    pub fn check(estimate: &DMatrix<f64>, found: &FoundSupport<'_>) -> Result<Option<Self>, RecoveryError> {
        let &FoundSupport { rows, leverages, ends: [first, last], rank, penalty, noise_deviation } = found;
        let (dimension, size) = (estimate.nrows(), rows.len());
        if size == 0 || size > MOST_FEATURES {
            return Ok(None);
        }
        let within = estimate.select_rows(rows).select_columns(rows);
        let values = symmetric_eigenvalues(&within)?;
        let outside: Vec<usize> = (0..dimension).filter(|row| rows.binary_search(row).is_err()).collect();
        let others = outside.len().max(1) as f64;
        let bulk = outside.iter().map(|&row| estimate[(row, row)]).sum::<f64>() / others;
        let next = values.get(rank).copied().unwrap_or(0.0).max(bulk);
        let gap = (last - next).max(0.0);
        let norm = |&row: &usize| rows.iter().map(|&column| estimate[(row, column)].powi(2)).sum::<f64>().sqrt();
        let s = size as f64;
        let of_gap = |norm: f64| Some(8.0 * s * norm / gap).filter(|value| value.is_finite());
        let correlation = of_gap(outside.iter().map(norm).fold(0.0, f64::max));
        let noise_norm = if outside.is_empty() { 0.0 } else { s.sqrt() + (2.0 * libm::log(others)).sqrt() };
        let largest = 2.0 * noise_deviation * libm::log(dimension as f64).sqrt();
        let least_penalty = correlation.filter(|&c| c < 1.0).map(|c| largest / (1.0 - c));
        let most_penalty = if gap > 0.0 { gap * gap / (4.0 * s * (gap + 8.0 * first)) } else { 0.0 };
        let root = of_gap(0.5 * penalty);
        let no_false_features = least_penalty.is_some_and(|least| least <= penalty) && penalty < most_penalty;
        let visible = root.is_some_and(|root| leverages.iter().all(|leverage| leverage.sqrt() >= root));
        let sign = |row: usize, column: usize| within[(row, column)].is_sign_positive();
        // Of rank one: the sign of an entry is the product of those of its row and its column in the first row.
        let aligned = (0..size).all(|row| {
            (0..size).all(|column| {
                let product = sign(row, 0) == sign(0, column);
                within[(row, column)].abs() >= 2.0 * penalty && sign(row, column) == (product == sign(0, 0))
            })
        });
        Ok(Some(Self {
            gap,
            correlation,
            noise_correlation: of_gap(noise_deviation * noise_norm),
            least_penalty,
            most_penalty,
            least_leverage: root.map(|root| root * root),
            no_false_features,
            no_missed_features: no_false_features && (visible || aligned),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One component on three of ten features, beside a correlation of 0.001 with a fourth.
    fn estimate() -> DMatrix<f64> {
        let mut matrix = DMatrix::identity(10, 10) * 0.01;
        matrix.view_mut((0, 0), (3, 3)).add_scalar_mut(0.3);
        matrix[(3, 0)] = 0.001;
        matrix[(0, 3)] = 0.001;
        matrix
    }

    fn found(penalty: f64, noise_deviation: f64) -> FoundSupport<'static> {
        let leverages = &[1.0 / 3.0; 3];
        FoundSupport { rows: &[0, 1, 2], leverages, ends: [0.91; 2], rank: 1, penalty, noise_deviation }
    }

    /// By hand: gap 0.9, c = 8 × 3 / 0.9 × 0.001.
    #[test]
    fn conditions_are_those_of_the_lemma() {
        let at = |penalty, noise| SupportConditions::check(&estimate(), &found(penalty, noise)).unwrap().unwrap();
        let noise = 1e-4;
        let conditions = at(5e-4, noise);
        let (c, largest) = (24.0 / 0.9 * 1e-3, 2.0 * noise * 10f64.ln().sqrt());
        let close = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        close(conditions.gap, 0.9);
        close(conditions.correlation.unwrap(), c);
        close(conditions.noise_correlation.unwrap(), 24.0 / 0.9 * noise * (3f64.sqrt() + (2.0 * 7f64.ln()).sqrt()));
        close(conditions.least_penalty.unwrap(), largest / (1.0 - c));
        // 4 penalty s (1 + 8 lambda_1 / gap) = gap.
        close(4.0 * conditions.most_penalty * 3.0 * (1.0 + 8.0 * 0.91 / 0.9), 0.9);
        close(conditions.least_leverage.unwrap(), (4.0 * 5e-4 * 3.0 / 0.9f64).powi(2));
        assert!(conditions.no_false_features && conditions.no_missed_features);
        let holds = |penalty| at(penalty, noise).no_false_features;
        let [least, most] = [conditions.least_penalty.unwrap(), conditions.most_penalty];
        assert!(holds(least) && !holds(0.999 * least) && holds(0.999 * most) && !holds(most));
        // More noise closes the window between them.
        assert!(!at(most / 2.0, most).no_false_features);
    }

    /// A small leverage, with entries that are too small or of other signs, may be missed.
    #[test]
    fn features_that_hardly_take_part_may_be_missed() {
        let at = |estimate: &DMatrix<f64>, leverages| {
            let found = FoundSupport { leverages, ..found(5e-4, 1e-4) };
            SupportConditions::check(estimate, &found).unwrap().unwrap()
        };
        let small = &[0.5, 0.5, 1e-6];
        assert!(at(&estimate(), small).no_missed_features, "all entries are large, of one sign");
        let mut other = estimate();
        other[(0, 1)] = -0.31;
        other[(1, 0)] = -0.31;
        let conditions = at(&other, small);
        assert!(conditions.no_false_features && !conditions.no_missed_features, "{conditions:?}");
        // The signs of x x' for x of both signs are of rank one.
        let mixed = DMatrix::from_fn(10, 10, |i, j| {
            let sign = |row| if row == 1 { -1.0 } else { 1.0 };
            estimate()[(i, j)] * sign(i) * sign(j)
        });
        assert!(at(&mixed, small).no_missed_features);
    }

    #[test]
    fn nothing_holds_without_a_gap_and_large_supports_are_left_out() {
        let found = found(5e-4, 1e-4);
        let conditions =
            SupportConditions::check(&estimate(), &FoundSupport { ends: [0.01; 2], ..found }).unwrap().unwrap();
        assert_eq!((conditions.gap, conditions.correlation, conditions.least_penalty), (0.0, None, None));
        assert!(!conditions.no_false_features && !conditions.no_missed_features);
        let (rows, leverages) = (Vec::from_iter(0..MOST_FEATURES + 1), vec![0.0; MOST_FEATURES + 1]);
        let large = DMatrix::identity(rows.len(), rows.len());
        let found = FoundSupport { rows: &rows, leverages: &leverages, ..found };
        assert_eq!(SupportConditions::check(&large, &found).unwrap(), None);
    }
}
