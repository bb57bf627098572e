//! The rows of the dual matrix between the working set and the rest.

use nalgebra::{DMatrix, DVector, DVectorView};

/// Chooses, for rows `s` of the estimate, `z` with `|z_j| ≤ penalty` so that the rest, `m = s − z`, is orthogonal
/// to the orthonormal columns of `Q` (`|J| × r`) and otherwise as small as possible.
///
/// The dual of this least-squares problem is smooth and convex in `r` variables, `z = clip(s − Q y)`; Newton's method
/// solves it in a few steps, since it is piecewise quadratic. If no `z` exists, the steps run out.
pub(super) struct Canceller<'a> {
    /// `Q` by columns.
    leading: &'a DMatrix<f64>,
    /// `Q` by rows, for work that only the few entries with an excess need.
    by_rows: DMatrix<f64>,
    penalty: f64,
    point: Point,
    next: Point,
    /// `r × r`, its lower triangle by columns.
    hessian: Vec<f64>,
    step: Vec<f64>,
}

/// The dual function at a point.
#[derive(Clone)]
struct Point {
    y: Vec<f64>,
    /// The part that the clip removes from `s − Q y`: zero for most entries.
    excess: Vec<f64>,
    /// `(‖y‖² − ‖excess‖²) / 2`.
    value: f64,
    /// Its gradient `Qᵀ m = y + Qᵀ excess`.
    gradient: Vec<f64>,
}

/// The multipliers that cancelled the rows last time, from which the next search starts.
#[derive(Default)]
pub(super) struct Multipliers {
    /// The working set then, and its `Q`.
    rows: Vec<usize>,
    leading: DMatrix<f64>,
    /// `r × d`.
    values: DMatrix<f64>,
}

impl Multipliers {
    /// Expresses them in the basis `leading` on a working set that holds all rows of the last one.
    pub(super) fn turn(&mut self, rows: &[usize], leading: &DMatrix<f64>, dimension: usize) {
        self.values = if self.rows.is_empty() {
            DMatrix::zeros(leading.ncols(), dimension)
        } else {
            let known: Vec<usize> = (0..rows.len()).filter(|at| self.rows.binary_search(&rows[*at]).is_ok()).collect();
            leading.select_rows(&known).tr_mul(&self.leading) * &self.values
        };
        self.rows = rows.to_vec();
        self.leading = leading.clone();
    }

    /// `s − Q y` for the entries `s` of a row on the working set: its clip is the `z` that was found.
    pub(super) fn cancelling(&self, row: usize, s: &[f64]) -> Vec<f64> {
        let mut rest = s.to_vec();
        add_product(&self.leading, -1.0, self.values.column(row).as_slice(), &mut rest);
        rest
    }

    /// The multipliers of a row.
    pub(super) fn of(&mut self, row: usize) -> &mut [f64] {
        let count = self.values.nrows();
        &mut self.values.as_mut_slice()[row * count..(row + 1) * count]
    }
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
        let (rows, count) = leading.shape();
        let point = Point { y: vec![0.0; count], excess: vec![0.0; rows], value: 0.0, gradient: vec![0.0; count] };
        Self {
            leading,
            by_rows: leading.transpose(),
            penalty,
            next: point.clone(),
            point,
            hessian: vec![0.0; count * count],
            step: vec![0.0; count],
        }
    }

    /// The rest of the row, `m`, and `Qᵀ m`, which is zero where the penalty allows. Starts at the multipliers `y`, and
    /// overwrites them with those that it found.
    pub(super) fn cancel(&mut self, s: &[f64], y: &mut [f64]) -> (Vec<f64>, DVector<f64>) {
        self.point.y.copy_from_slice(y);
        if !self.minimise(s) && y.iter().any(|value| *value != 0.0) {
            // Far from the minimum the function may be flat in all directions; at zero most entries are within the
            // penalty.
            self.point.y.fill(0.0);
            self.minimise(s);
        }
        y.copy_from_slice(&self.point.y);
        // If no `z` exists, `y` grows without bound: the rest must not be a small sum of two large numbers, or `z`
        // could exceed the penalty.
        let mut left = vec![0.0; s.len()];
        add_product(self.leading, 1.0, y, &mut left);
        for (left, s) in left.iter_mut().zip(s) {
            let clipped = (s - *left).clamp(-self.penalty, self.penalty);
            if clipped.abs() == self.penalty {
                *left = s - clipped;
            }
        }
        let coupling = self.leading.tr_mul(&DVectorView::from_slice(&left, left.len()));
        (left, coupling)
    }

    /// Goes from `y` to the minimum; `false` where the steps run out.
    fn minimise(&mut self, s: &[f64]) -> bool {
        self.point.evaluate(self.leading, &self.by_rows, self.penalty, s);
        for _ in 0..MAX_STEPS {
            if norm(&self.point.gradient) <= SMALL * self.penalty {
                return true;
            }
            if !self.newton_step(s) {
                break;
            }
        }
        false
    }

    /// Moves to the point after a Newton step, shortened until the function falls; `false` where it does not.
    fn newton_step(&mut self, s: &[f64]) -> bool {
        let count = self.step.len();
        self.hessian.fill(0.0);
        for (excess, entries) in self.point.excess.iter().zip(self.by_rows.as_slice().chunks_exact(count)) {
            if *excess != 0.0 {
                for (column, entry) in self.hessian.chunks_exact_mut(count).zip(entries) {
                    column.iter_mut().zip(entries).for_each(|(sum, other)| *sum -= entry * other);
                }
            }
        }
        (0..count).for_each(|index| self.hessian[index * count + index] += 1.0 + RIDGE);
        self.step.copy_from_slice(&self.point.gradient);
        if !solve_positive(&mut self.hessian, &mut self.step) {
            return false;
        }
        let slope: f64 = self.point.gradient.iter().zip(&self.step).map(|(gradient, step)| gradient * step).sum();
        // Near the end the function falls by less than its rounding.
        let rounding = 2.0 * f64::EPSILON * (norm(&self.point.y).powi(2) + norm(&self.point.excess).powi(2));
        let mut length = 1.0;
        while length > LEAST_STEP {
            let moved = self.point.y.iter().zip(&self.step).map(|(y, step)| y - length * step);
            self.next.y.iter_mut().zip(moved).for_each(|(y, moved)| *y = moved);
            self.next.evaluate(self.leading, &self.by_rows, self.penalty, s);
            if self.next.value <= self.point.value - 1e-4 * length * slope + rounding {
                std::mem::swap(&mut self.point, &mut self.next);
                return true;
            }
            length *= 0.5;
        }
        false
    }
}

impl Point {
    /// Everything else at `y`.
    fn evaluate(&mut self, leading: &DMatrix<f64>, by_rows: &DMatrix<f64>, penalty: f64, s: &[f64]) {
        self.excess.copy_from_slice(s);
        add_product(leading, -1.0, &self.y, &mut self.excess);
        let mut squares = 0.0;
        for excess in &mut self.excess {
            *excess -= excess.clamp(-penalty, penalty);
            squares += *excess * *excess;
        }
        self.value = 0.5 * (self.y.iter().map(|y| y * y).sum::<f64>() - squares);
        self.gradient.copy_from_slice(&self.y);
        for (excess, entries) in self.excess.iter().zip(by_rows.as_slice().chunks_exact(self.y.len())) {
            if *excess != 0.0 {
                self.gradient.iter_mut().zip(entries).for_each(|(sum, entry)| *sum += excess * entry);
            }
        }
    }
}

/// `out += factor × matrix × vector`.
fn add_product(matrix: &DMatrix<f64>, factor: f64, vector: &[f64], out: &mut [f64]) {
    for (column, value) in matrix.as_slice().chunks_exact(out.len()).zip(vector) {
        let value = factor * value;
        out.iter_mut().zip(column).for_each(|(out, entry)| *out += value * entry);
    }
}

fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|entry| entry * entry).sum::<f64>().sqrt()
}

/// Replaces `vector` by `matrix⁻¹ vector` by Cholesky's decomposition, of which `matrix` keeps the factor: by columns,
/// only the lower triangle is read. `false` where it is not positive definite.
fn solve_positive(matrix: &mut [f64], vector: &mut [f64]) -> bool {
    let count = vector.len();
    for column in 0..count {
        let pivot = matrix[column * count + column];
        if pivot.is_nan() || pivot <= 0.0 {
            return false;
        }
        let inverse = 1.0 / pivot.sqrt();
        let (done, rest) = matrix.split_at_mut((column + 1) * count);
        let factor = &mut done[column * count + column..];
        factor.iter_mut().for_each(|entry| *entry *= inverse);
        vector[column] *= inverse;
        for (offset, later) in rest.chunks_exact_mut(count).enumerate() {
            let entry = factor[offset + 1];
            later[column + 1 + offset..].iter_mut().zip(&factor[offset + 1..]).for_each(|(x, y)| *x -= entry * y);
            vector[column + 1 + offset] -= entry * vector[column];
        }
    }
    for column in (0..count).rev() {
        let factor = &matrix[column * count + column..(column + 1) * count];
        let sum: f64 = factor[1..].iter().zip(&vector[column + 1..]).map(|(entry, value)| entry * value).sum();
        vector[column] = (vector[column] - sum) / factor[0];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two orthonormal columns on four rows.
    fn leading() -> DMatrix<f64> {
        DMatrix::from_row_slice(4, 2, &[0.5, 0.5, 0.5, -0.5, 0.5, 0.5, 0.5, -0.5])
    }

    #[test]
    fn what_is_left_is_orthogonal_where_the_penalty_allows_wherever_the_search_starts() {
        let (leading, s) = (leading(), [1.2, -0.3, 0.4, 0.1]);
        let mut canceller = Canceller::new(&leading, 1.0);
        let mut found = [0.0; 2];
        canceller.cancel(&s, &mut found);
        // The shortest of all such: 0.2 must remain of the first entry, and the third cancels it.
        let expected = DVector::from_vec(vec![0.2, 0.0, -0.2, 0.0]);
        for (mut start, least) in [([0.0; 2], 1e-14), (found, 1e-7), ([5.0, -7.0], 1e-7), ([-1e3, 1e3], 1e-7)] {
            let (left, coupling) = canceller.cancel(&s, &mut start);
            let left = DVector::from_vec(left);
            assert!(coupling.norm() < least && (leading.tr_mul(&left) - &coupling).norm() < 1e-14);
            assert!(left.iter().zip(s).all(|(left, s)| (s - left).abs() <= 1.0));
            assert!((left - &expected).norm() < 1e-7);
        }
    }

    #[test]
    fn small_rows_vanish_and_large_ones_are_told_to_be_impossible() {
        let leading = leading();
        let mut canceller = Canceller::new(&leading, 1.0);
        let (left, coupling) = canceller.cancel(&[0.9, -0.9, 0.3, 0.0], &mut [0.0; 2]);
        assert_eq!((norm(&left), coupling.norm()), (0.0, 0.0));
        // Qᵀ s = (10, 0), of which the penalty takes (2, 0).
        let (left, coupling) = canceller.cancel(&[5.0, 5.0, 5.0, 5.0], &mut [0.0; 2]);
        assert!(coupling.norm() > 7.9 && left.iter().all(|left| (5.0 - left).abs() <= 1.0));
    }

    #[test]
    fn multipliers_mean_the_same_in_another_basis_on_more_rows() {
        let (turn, old) = (DMatrix::from_row_slice(2, 2, &[0.6, -0.8, 0.8, 0.6]), leading());
        let mut multipliers = Multipliers::default();
        multipliers.turn(&[2, 3, 5, 8], &old, 10);
        let s = [1.2, -0.3, 0.4, 0.1];
        let (first, _) = Canceller::new(&old, 1.0).cancel(&s, multipliers.of(7));
        assert!(multipliers.of(7).iter().any(|value| *value != 0.0));
        // The same space, turned, with a fifth row that is not in it.
        let new = (&old * &turn).insert_row(2, 0.0);
        multipliers.turn(&[2, 3, 4, 5, 8], &new, 10);
        let mut canceller = Canceller::new(&new, 1.0);
        let (second, coupling) = canceller.cancel(&[1.2, -0.3, 0.9, 0.4, 0.1], multipliers.of(7));
        assert!(coupling.norm() < 1e-14);
        for (after, before) in [0, 1, 3, 4].iter().zip(&first) {
            assert!((second[*after] - before).abs() < 1e-7, "{second:?} {first:?}");
        }
    }

    #[test]
    fn definite_systems_are_solved_and_others_refused() {
        let matrix = DMatrix::from_row_slice(3, 3, &[4.0, 1.0, -2.0, 1.0, 3.0, 0.5, -2.0, 0.5, 5.0]);
        let expected = DVector::from_vec(vec![1.0, -2.0, 3.0]);
        let mut vector = (&matrix * &expected).as_slice().to_vec();
        assert!(solve_positive(matrix.clone().as_mut_slice(), &mut vector));
        assert!((DVector::from_vec(vector) - expected).norm() < 1e-14);
        for (place, bad) in [(0, 0.0), (4, 0.25), (4, 0.1), (8, f64::NAN), (8, -1.0)] {
            let mut other = matrix.clone();
            other[place] = bad;
            assert!(!solve_positive(other.as_mut_slice(), &mut [1.0; 3]), "{place} {bad}");
        }
    }
}
