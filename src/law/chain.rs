//! The captured part of a component in finitely many directions, on either side of the threshold.
//!
//! Orthogonal transformations of the bulk leave the law of the noise as it is and bring the estimate, seen from one
//! component, into tridiagonal form (Dumitriu & Edelman 2002; with a component, Bloemendal & Virág 2013):
//!
//! ```text
//!     | x    c_1           |   symmetric noise, in units of s:
//! T = | c_1  a_2  c_2      |     a_i = 0   c_1^2 = 1 (1 + ...)   c_i^2 = (N - i + 1) / N
//!     |      c_2  a_3  ... |   Wishart, in units of the bulk:
//!                                a_i = (N + n - ...) / n   and   c_i^2 = (N - ...)(n - ...) / n^2
//! ```
//!
//! Its first coordinate is the component, x the noise included that the component has along itself, N the number of
//! directions in the bulk. The entries are independent; normal ones on the diagonal, chi variables off it. Here each
//! but x is taken at its mean (off the diagonal the root of its mean square), which is their limit for less and less
//! noise at the same spectrum (Dumitriu & Edelman 2005). The squared first coordinates of the eigenvectors of this T
//! are the squared cosines of the component with the leading eigenvectors of the estimate: the largest is the [limit
//! law](super::NoiseBulk::cos_squared) for many directions, the transition is as wide as N^(-1/3) (Baik, Ben Arous &
//! Péché 2005), and without a component (x at the bulk's level) all of them are 1 / (N + 1), those of a random
//! direction.

use super::{Along, NoiseBulk, Perturbation};

/// Eigenvectors at the edge decay within N^(1/3) rows: no more than these are looked at.
const ROWS: (f64, f64) = (30.0, 12.0);

/// Relative accuracy of an eigenvalue, and the most steps to it (bisection alone would take 50).
const TOLERANCE: f64 = 1e-13;
const STEPS: usize = 80;

/// A symmetric tridiagonal matrix.
#[derive(Default)]
pub(super) struct Tridiagonal {
    pub(super) diagonal: Vec<f64>,
    /// Squares of the entries beside the diagonal, one fewer.
    pub(super) coupling: Vec<f64>,
}

/// The matrix evaluated at a number.
struct Probe {
    /// The number of eigenvalues above it.
    above: usize,
    /// The last pivot of `number - T`, which is 0 at an eigenvalue, and its derivative, which there is one over the
    /// squared first coordinate.
    pivot: f64,
    slope: f64,
}

impl NoiseBulk {
    /// Sum of the squared cosines between a component and the `count` leading eigenvectors of the estimate, a fraction
    /// of the last one if `count` is not a whole number.
    ///
    /// The component's eigenvalue is that with the noise that it has along itself; `levels` the number of directions in
    /// the bulk that it meets (not [`NoiseBulk`]'s own number, which sets the scale).
    pub(crate) fn captured(&self, component: impl Into<Along>, levels: f64, count: f64) -> f64 {
        let chain = self.chain(component, levels);
        // Reports in directions span at most as many directions as reports: the others are one eigenspace.
        let spanned = match self.law.perturbation {
            Perturbation::Additive { .. } => f64::INFINITY,
            Perturbation::Directions { .. } => self.law.records as f64,
        };
        let mut sum = 0.0;
        for index in 0..chain.diagonal.len() {
            let left = count - index as f64;
            if left < 1e-9 {
                break;
            }
            let share = if index as f64 >= spanned { left / (levels + 1.0 - spanned).max(1.0) } else { left };
            sum += share.min(1.0) * chain.weight(index);
        }
        sum.min(1.0)
    }

    /// The matrix T.
    fn chain(&self, component: impl Into<Along>, levels: f64) -> Tridiagonal {
        let Along { eigenvalue, excess } = component.into();
        let rows = (ROWS.0 + ROWS.1 * levels.cbrt()).min(levels.ceil()).max(0.0) as usize;
        let records = self.law.records as f64;
        match self.law.perturbation {
            Perturbation::Additive { .. } => {
                let entry = self.law.cross_variance(self.level, self.level);
                let component = Along { eigenvalue: eigenvalue.max(0.0), excess };
                let first = self.law.variance_between(component, self.level.into());
                let mut diagonal = vec![0.0; rows + 1];
                diagonal[0] = eigenvalue - self.level;
                let coupling = (0..rows).map(|row| {
                    let variance = if row == 0 { first } else { entry };
                    (levels - row as f64).max(0.0) * variance
                });
                Tridiagonal { diagonal, coupling: coupling.collect() }
            }
            Perturbation::Directions { gain, .. } => {
                let ratio = self.ratio(gain, eigenvalue).max(0.0);
                // That many reports span no more dimensions.
                let rows = rows.min(self.law.records as usize);
                let left = |row: usize| (levels - row as f64).max(0.0) / records;
                let below = |row: usize| (records - 1.0 - row as f64).max(0.0) / records;
                let diagonal = core::iter::once(ratio).chain((0..rows).map(|row| left(row) + below(row)));
                let first = (ratio + self.relative(gain, excess)) * left(0);
                let coupling = core::iter::once(first).chain((1..rows).map(|row| left(row) * below(row - 1)));
                Tridiagonal { diagonal: diagonal.collect(), coupling: coupling.take(rows).collect() }
            }
        }
    }
}

impl Tridiagonal {
    /// The squared first coordinate of the eigenvector of the eigenvalue `index`, from 0 for the largest.
    fn weight(&self, index: usize) -> f64 {
        if let [_] = self.diagonal[..] {
            return 1.0;
        }
        let reach = |row: usize| {
            let before = if row == 0 { 0.0 } else { self.coupling[row - 1].sqrt() };
            before + self.coupling.get(row).map_or(0.0, |square| square.sqrt())
        };
        // Gershgorin's circles.
        let rows = || self.diagonal.iter().enumerate();
        let mut high = rows().map(|(row, value)| value + reach(row)).fold(f64::NEG_INFINITY, f64::max);
        let mut low = rows().map(|(row, value)| value - reach(row)).fold(f64::INFINITY, f64::min);
        let width = (high - low).max(f64::MIN_POSITIVE);
        (low, high) = (low - 1e-6 * width, high + 1e-6 * width);
        let (mut above_low, mut above_high) = (self.diagonal.len(), 0);
        let mut number = 0.5 * (low + high);
        let (mut step, mut slope) = (0.0, f64::INFINITY);
        for _ in 0..STEPS {
            let probe = self.probe(number);
            if probe.above > index {
                (low, above_low) = (number, probe.above);
            } else {
                (high, above_high) = (number, probe.above);
            }
            slope = probe.slope;
            // Newton's step, once nothing but this eigenvalue is between the bounds.
            let alone = above_low == index + 1 && above_high == index;
            step = probe.pivot / probe.slope;
            let next = number - step;
            if high - low <= TOLERANCE * width || alone && step.abs() <= TOLERANCE * width {
                break;
            }
            number = if alone && next > low && next < high { next } else { 0.5 * (low + high) };
        }
        // An eigenvalue of rows that the first does not reach has no pivot of 0.
        if step.abs() > 1e-6 * width { 0.0 } else { 1.0 / slope }
    }

    fn probe(&self, number: f64) -> Probe {
        let (mut above, mut pivot, mut slope) = (0, f64::INFINITY, 0.0);
        for (row, value) in self.diagonal.iter().enumerate().rev() {
            let coupling = self.coupling.get(row).copied().unwrap_or(0.0);
            let ratio = coupling / pivot;
            slope = 1.0 + if coupling > 0.0 { ratio * slope / pivot } else { 0.0 };
            pivot = number - value - ratio;
            if pivot == 0.0 {
                pivot = f64::MIN_POSITIVE.sqrt();
            }
            above += usize::from(pivot < 0.0);
        }
        Probe { above, pivot, slope }
    }
}

#[cfg(test)]
mod tests {
    use crate::law::tests::{double_cap_law, gaussian_law};
    use crate::linalg::symmetric_eigen;
    use nalgebra::DMatrix;

    /// A component that meets no direction of the bulk is captured whole.
    #[test]
    fn without_a_bulk_a_component_is_itself() {
        for law in [double_cap_law(10, 4.0, 19_690), gaussian_law(10, 2.0, 20_000)] {
            for eigenvalue in [0.013, 0.15, 0.26] {
                assert_eq!(law.bulk(0.01, 1).captured(eigenvalue, 0.0, 1.0), 1.0);
            }
        }
    }

    #[test]
    fn weights_are_those_of_the_matrix() {
        for law in [double_cap_law(30, 2.0, 900), gaussian_law(30, 2.0, 20_000), double_cap_law(30, 2.0, 12)] {
            let bulk = law.bulk(0.01, 28);
            for factor in [0.0, 0.5, 1.0, 2.0] {
                let chain = bulk.chain(0.01 + factor * (bulk.threshold() - 0.01), 28.0);
                let n = chain.diagonal.len();
                let dense = DMatrix::from_fn(n, n, |row, column| match row.abs_diff(column) {
                    0 => chain.diagonal[row],
                    1 => chain.coupling[row.min(column)].sqrt(),
                    _ => 0.0,
                });
                let eigen = symmetric_eigen(&dense).unwrap();
                for index in 0..4 {
                    let expected = eigen.vectors[(0, index)].powi(2);
                    let found = chain.weight(index);
                    assert!((found - expected).abs() < 1e-8, "{law:?} {factor} {index}: {found} {expected}");
                }
            }
        }
    }

    #[test]
    fn it_is_the_limit_law_in_many_directions_and_a_random_direction_without_a_component() {
        for law in [double_cap_law(20_000, 2.0, 1_000_000), gaussian_law(20_000, 2.0, 100_000_000)] {
            let bulk = law.bulk(1e-5, 19_999);
            for factor in [1.5, 3.0] {
                let eigenvalue = factor * bulk.threshold();
                let difference = bulk.captured(eigenvalue, 19_999.0, 1.0) - bulk.cos_squared(eigenvalue);
                assert!(difference.abs() < 1e-3, "{law:?} {factor}: {difference}");
            }
            assert!(bulk.captured(1e-5, 19_999.0, 1.0) < 1e-3);
        }
        let law = gaussian_law(12, 2.0, 1000);
        let bulk = law.bulk(0.0, 11);
        for count in [0.0, 1.0, 2.5, 5.0] {
            let random = count / 12.0;
            assert!((bulk.captured(0.0, 11.0, count) - random).abs() < 1e-9, "{count}");
        }
        assert!((bulk.captured(0.3, 11.0, 12.0) - 1.0).abs() < 1e-9);
        // Three reports span three directions of twelve: the fourth is one of nine.
        let few = double_cap_law(12, 2.0, 3).bulk(0.0, 11);
        for count in [1.0, 3.0, 4.0, 12.0] {
            assert!((few.captured(0.0, 11.0, count) - count / 12.0).abs() < 0.02, "{count}");
        }
    }
}
