//! The problem in its own units: centred, scaled, and without the constant part of the penalty.

use nalgebra::DMatrix;

use super::problem::{eigenvalue_rounding, rounded_up};
use super::{FantopeError, FantopeProblem};
use crate::linalg::{ColumnVisitor, Stored, SymmetricMatrix, power_of_two_below};

/// `(S − c I) / scale` with `c = tr S / d`, read entry by entry: nothing is copied.
///
/// The solutions are those of `S`, since `tr X = k` is fixed. The scale is a power of two, so going there and back
/// rounds nothing. For the same reason the penalty on the diagonal, `penalty Σ X_ii = k penalty`, is a constant: values
/// here leave it out, and a dual matrix has `Z_ii = penalty`.
#[derive(Clone, Copy)]
pub(super) struct ScaledProblem<'a> {
    pub(super) estimate: &'a SymmetricMatrix,
    /// The number of components, k.
    pub(super) rank: usize,
    pub(super) penalty: f64,
    pub(super) shift: f64,
    pub(super) scale: f64,
    /// `1 / scale`, exact: both are powers of two.
    inverse: f64,
}

/// The largest entry of the scaled estimate and the penalty are each below 2.
const ENTRIES: f64 = 4.0;

impl<'a> ScaledProblem<'a> {
    /// The problem with this largest entry of `S − c I`.
    ///
    /// # Errors
    ///
    /// [`FantopeError::TooLarge`].
    pub(super) fn new(problem: &'a FantopeProblem, largest: f64) -> Result<Self, FantopeError> {
        let estimate = problem.estimate();
        let shift = estimate.mean_diagonal();
        let (dimension, rank) = (problem.dimension() as f64, problem.rank().value() as f64);
        if !(dimension * (shift.abs() + largest) + rank * problem.penalty().value()).is_finite() {
            return Err(FantopeError::TooLarge);
        }
        let size = largest.max(problem.penalty().value()).max(f64::MIN_POSITIVE);
        let scale = power_of_two_below(size);
        Ok(Self {
            estimate,
            rank: problem.rank().value(),
            penalty: problem.penalty().value() / scale,
            shift,
            scale,
            inverse: 1.0 / scale,
        })
    }

    pub(super) fn dimension(&self) -> usize {
        self.estimate.dimension()
    }

    pub(super) fn entry(&self, row: usize, column: usize) -> f64 {
        let entry = self.estimate.entry(row, column);
        if row == column { (entry - self.shift) * self.inverse } else { entry * self.inverse }
    }

    /// The submatrix of these rows and columns.
    pub(super) fn block(&self, rows: &[usize]) -> DMatrix<f64> {
        DMatrix::from_fn(rows.len(), rows.len(), |row, column| self.entry(rows[row], rows[column]))
    }

    /// How far the sum of the `k` largest eigenvalues, computed from `d × d` matrix `S − Z` of this Frobenius norm, may
    /// be off.
    pub(super) fn rounding(&self, dimension: usize, norm: f64) -> f64 {
        self.rank as f64 * eigenvalue_rounding(dimension, norm, ENTRIES)
    }

    /// `k penalty`: the cost of the diagonal for every feasible point.
    pub(super) fn constant(&self) -> f64 {
        self.rank as f64 * self.penalty
    }

    /// The gap relative to `max(|objective|, k penalty)`, from values without the constant; 0 where `k = d`, since only
    /// the identity is feasible then.
    pub(super) fn relative_gap(&self, value: f64, bound: f64) -> f64 {
        let gap = bound - value;
        // A gap that is not a number is not small.
        if gap <= 0.0 || self.rank == self.dimension() {
            0.0
        } else {
            gap / (value - self.constant()).abs().max(self.constant())
        }
    }

    /// A value in the caller's units, with the constant.
    pub(super) fn in_units(&self, value: f64) -> f64 {
        (value - self.constant()) * self.scale + self.rank as f64 * self.shift
    }

    /// A bound in the caller's units, with the constant: not below the exact one.
    pub(super) fn bound_in_units(&self, bound: f64) -> f64 {
        // Above the sum of two rounded numbers by more than three roundings to nearest.
        let above = |left: f64, right: f64| left + right + 2.0 * f64::EPSILON * (left.abs() + right.abs());
        above(rounded_up(above(bound, -self.constant()), self.scale), self.rank as f64 * self.shift)
    }
}

/// The power of two that takes the smallest number far from the end of the range.
pub(super) const LIFT: f64 = f64::from_bits((1023 + 800) << 52);

/// Sizes that [`LIFT`] leaves below 1e-30.
const TINY: f64 = f64::from_bits((1023 - 900) << 52);

/// The problem times [`LIFT`] where its centred entries are tiny: near 1e-308 numbers begin to lose digits.
///
/// # Errors
///
/// None for the estimate and the penalty of a problem.
pub(super) fn lifted(
    problem: &FantopeProblem,
    magnitudes: &Magnitudes,
) -> Result<Option<FantopeProblem>, FantopeError> {
    let tiny = magnitudes.centred > 0.0 && magnitudes.centred < TINY;
    let finite = magnitudes.shift.abs().max(problem.penalty().value()) < 1.0;
    if tiny && finite { problem.times(LIFT).map(Some) } else { Ok(None) }
}

/// The largest off-diagonal magnitude and the largest magnitude, in the units of the estimate.
pub(super) fn largest_magnitudes(estimate: &SymmetricMatrix) -> Magnitudes {
    let mut magnitudes = Magnitudes { off_diagonal: 0.0, shift: estimate.mean_diagonal(), centred: 0.0 };
    estimate.visit_columns(&mut magnitudes);
    magnitudes
}

/// The result of [`largest_magnitudes`].
pub(super) struct Magnitudes {
    /// Largest `|S_ij|`, `i ≠ j`.
    pub(super) off_diagonal: f64,
    shift: f64,
    /// Largest entry of `S − c I`, `c = tr S / d`.
    pub(super) centred: f64,
}

impl ColumnVisitor for Magnitudes {
    fn visit<T: Stored>(&mut self, index: usize, column: &[T]) {
        self.off_diagonal = self.off_diagonal.max(largest(&column[..index]));
        let diagonal: f64 = column[index].into();
        self.centred = self.centred.max(self.off_diagonal).max((diagonal - self.shift).abs());
    }
}

/// The largest magnitude, in eight running maxima: one alone waits for every comparison.
fn largest<T: Stored>(entries: &[T]) -> f64 {
    let (chunks, rest) = entries.as_chunks::<8>();
    let mut lanes = [0.0f64; 8];
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, entry)| *lane = lane.max((*entry).into().abs()));
    }
    lanes.into_iter().chain(rest.iter().map(|entry| (*entry).into().abs())).fold(0.0, f64::max)
}
