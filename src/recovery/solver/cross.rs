//! The rows of the dual matrix between the working set and the rest.

use nalgebra::{DMatrix, DVector};

/// Chooses, for rows `s` of the estimate, `z` with `|z_j| ≤ penalty` so that what is left, `m = s − z`, is orthogonal to the
/// columns of `Q` (`|J| × r`) and otherwise as small as possible.
///
/// The dual of this least-squares problem is smooth and convex in `r` variables, `z = clip(s − Q y)`; Newton's method solves it in
/// a few steps, since it is piecewise quadratic. Where no `z` exists the steps run out.
pub(super) struct Canceller {
    /// `Qᵀ`, `r × |J|`: one row of `Q` after the other in memory.
    leading: DMatrix<f64>,
    penalty: f64,
}

/// The dual function at a point.
struct Point {
    y: DVector<f64>,
    /// `Σ_j s_j w_j + H(s_j − w_j)` at `w = Q y`, where `H` is the Huber function whose derivative is the clip.
    value: f64,
    /// Its gradient `Qᵀ m`.
    gradient: DVector<f64>,
}

const MAX_STEPS: usize = 30;

/// Keeps the Newton matrix definite where too few entries are free.
const RIDGE: f64 = 1e-9;

/// The least step of a line search.
const LEAST_STEP: f64 = 1e-6;

impl Canceller {
    pub(super) fn new(leading: &DMatrix<f64>, penalty: f64) -> Self {
        Self { leading: leading.transpose(), penalty }
    }

    /// What is left of the row, `m`, and `Qᵀ m`, which is zero where the penalty allows.
    pub(super) fn cancel(&self, s: &[f64]) -> (DVector<f64>, DVector<f64>) {
        let size = s.iter().map(|s| s * s).sum::<f64>().sqrt();
        let mut point = self.at(s, DVector::zeros(self.leading.nrows()));
        for _ in 0..MAX_STEPS {
            if point.gradient.norm() <= 4.0 * f64::EPSILON * size {
                break;
            }
            match self.newton_step(s, &point) {
                Some(next) => point = next,
                None => break,
            }
        }
        let left = self.shifts(&point.y).zip(s).map(|(shift, s)| s - self.clip(s - shift));
        (DVector::from_iterator(s.len(), left), point.gradient)
    }

    /// The point after a Newton step, shortened until the function falls; `None` where it does not.
    fn newton_step(&self, s: &[f64], point: &Point) -> Option<Point> {
        let count = self.leading.nrows();
        let mut hessian = DMatrix::from_diagonal_element(count, count, RIDGE);
        for ((column, shift), s) in self.leading.column_iter().zip(self.shifts(&point.y)).zip(s) {
            if (s - shift).abs() < self.penalty {
                hessian.ger(1.0, &column, &column, 1.0);
            }
        }
        let step = hessian.cholesky()?.solve(&point.gradient);
        let slope = point.gradient.dot(&step);
        let mut length = 1.0;
        while length > LEAST_STEP {
            let next = self.at(s, &point.y - &step * length);
            if next.value <= point.value - 1e-4 * length * slope {
                return Some(next);
            }
            length *= 0.5;
        }
        None
    }

    fn at(&self, s: &[f64], y: DVector<f64>) -> Point {
        let (mut value, mut gradient) = (0.0, DVector::zeros(y.len()));
        for (column, s) in self.leading.column_iter().zip(s) {
            let shift = column.dot(&y);
            value += s * shift + self.huber(s - shift);
            gradient.axpy(s - self.clip(s - shift), &column, 1.0);
        }
        Point { y, value, gradient }
    }

    /// `Q y`.
    fn shifts<'a>(&'a self, y: &'a DVector<f64>) -> impl Iterator<Item = f64> + 'a {
        self.leading.column_iter().map(|column| column.dot(y))
    }

    fn clip(&self, value: f64) -> f64 {
        value.clamp(-self.penalty, self.penalty)
    }

    fn huber(&self, value: f64) -> f64 {
        let size = value.abs();
        if size <= self.penalty { 0.5 * size * size } else { self.penalty * (size - 0.5 * self.penalty) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two orthonormal columns on four rows.
    fn leading() -> DMatrix<f64> {
        DMatrix::from_row_slice(4, 2, &[0.5, 0.5, 0.5, -0.5, 0.5, 0.5, 0.5, -0.5])
    }

    #[test]
    fn what_is_left_is_orthogonal_where_the_penalty_allows() {
        let s = [1.2, -0.3, 0.4, 0.1];
        let (left, coupling) = Canceller::new(&leading(), 1.0).cancel(&s);
        assert!(coupling.norm() < 1e-14 && (leading().tr_mul(&left) - &coupling).norm() < 1e-14);
        assert!(left.iter().zip(s).all(|(left, s)| (s - left).abs() <= 1.0));
        // Of all such, the shortest: 0.2 must be left of the first entry, and the third cancels it.
        let expected = DVector::from_vec(vec![0.2, 0.0, -0.2, 0.0]);
        assert!((left - expected).norm() < 1e-7);
    }

    #[test]
    fn small_rows_vanish_and_large_ones_are_told_to_be_impossible() {
        let canceller = Canceller::new(&leading(), 1.0);
        let (left, coupling) = canceller.cancel(&[0.9, -0.9, 0.3, 0.0]);
        assert_eq!((left.norm(), coupling.norm()), (0.0, 0.0));
        // Qᵀ s = (10, 0), of which the penalty takes (2, 0).
        let (left, coupling) = canceller.cancel(&[5.0, 5.0, 5.0, 5.0]);
        assert!(coupling.norm() > 7.9 && left.iter().all(|left| (5.0 - left).abs() <= 1.0));
    }
}
