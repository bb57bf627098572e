//! The rows of the dual matrix between the working set and the rest.

use nalgebra::{DMatrix, DVector};

/// Chooses, for rows `s` of the estimate, `z` with `|z_j| ≤ penalty` so that what is left, `m = s − z`, is orthogonal to the
/// orthonormal columns of `Q` (`|J| × r`) and otherwise as small as possible.
///
/// The dual of this least-squares problem is smooth and convex in `r` variables, `z = clip(s − Q y)`; Newton's method solves it in
/// a few steps, since it is piecewise quadratic. Where no `z` exists the steps run out.
pub(super) struct Canceller<'a> {
    leading: &'a DMatrix<f64>,
    penalty: f64,
}

/// The dual function at a point.
struct Point {
    y: DVector<f64>,
    /// What the clip takes off `s − Q y`: zero for most entries.
    excess: DVector<f64>,
    /// `(‖y‖² − ‖excess‖²) / 2`.
    value: f64,
    /// Its gradient `Qᵀ m = y + Qᵀ excess`.
    gradient: DVector<f64>,
}

const MAX_STEPS: usize = 30;

/// Keeps the Newton matrix definite where too few entries are free.
const RIDGE: f64 = 1e-9;

/// The least step of a line search.
const LEAST_STEP: f64 = 1e-6;

/// A gradient below this share of the penalty changes no bound: bounds see its square.
const SMALL: f64 = 1e-11;

impl<'a> Canceller<'a> {
    pub(super) fn new(leading: &'a DMatrix<f64>, penalty: f64) -> Self {
        Self { leading, penalty }
    }

    /// What is left of the row, `m`, and `Qᵀ m`, which is zero where the penalty allows.
    pub(super) fn cancel(&self, s: &[f64]) -> (DVector<f64>, DVector<f64>) {
        let mut point = self.at(s, DVector::zeros(self.leading.ncols()));
        for _ in 0..MAX_STEPS {
            if point.gradient.norm() <= SMALL * self.penalty {
                break;
            }
            match self.newton_step(s, &point) {
                Some(next) => point = next,
                None => break,
            }
        }
        let mut left = point.excess;
        left.gemv(1.0, self.leading, &point.y, 1.0);
        let coupling = self.leading.tr_mul(&left);
        (left, coupling)
    }

    /// The point after a Newton step, shortened until the function falls; `None` where it does not.
    fn newton_step(&self, s: &[f64], point: &Point) -> Option<Point> {
        let count = self.leading.ncols();
        let mut hessian = DMatrix::from_diagonal_element(count, count, 1.0 + RIDGE);
        for (row, _) in point.excess.iter().enumerate().filter(|(_, excess)| **excess != 0.0) {
            for column in 0..count {
                let entry = self.leading[(row, column)];
                (column..count).for_each(|other| hessian[(other, column)] -= entry * self.leading[(row, other)]);
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
        let mut excess = DVector::from_column_slice(s);
        excess.gemv(-1.0, self.leading, &y, 1.0);
        excess.apply(|rest| *rest -= rest.clamp(-self.penalty, self.penalty));
        let mut gradient = y.clone();
        gradient.gemv_tr(1.0, self.leading, &excess, 1.0);
        let value = 0.5 * (y.norm_squared() - excess.norm_squared());
        Point { y, excess, value, gradient }
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
        let leading = leading();
        let canceller = Canceller::new(&leading, 1.0);
        let (left, coupling) = canceller.cancel(&[0.9, -0.9, 0.3, 0.0]);
        assert_eq!((left.norm(), coupling.norm()), (0.0, 0.0));
        // Qᵀ s = (10, 0), of which the penalty takes (2, 0).
        let (left, coupling) = canceller.cancel(&[5.0, 5.0, 5.0, 5.0]);
        assert!(coupling.norm() > 7.9 && left.iter().all(|left| (5.0 - left).abs() <= 1.0));
    }
}
