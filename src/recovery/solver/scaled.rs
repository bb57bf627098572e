//! The problem in its own units: centred, scaled, and with the part of the penalty that is constant taken out.

use nalgebra::DMatrix;

use crate::linalg::{SymmetricMatrix, power_of_two_below};
use crate::recovery::FantopeProblem;
use crate::recovery::fantope::eigenvalue_rounding;
use crate::recovery::outcome::DualMatrix;

/// `(S − c I) / scale` with `c = tr S / d`, read entry by entry: nothing is copied.
///
/// The solutions are those of `S`, since `tr X = k` is fixed. The scale is a power of two, so going there and back rounds
/// nothing. For the same reason the penalty on the diagonal, `penalty Σ X_ii = k penalty`, is a constant: values here leave
/// it out, and a dual matrix has `Z_ii = penalty`.
#[derive(Clone, Copy)]
pub(in crate::recovery) struct ScaledProblem<'a> {
    pub(in crate::recovery) estimate: &'a SymmetricMatrix,
    /// The number of components, k.
    pub(in crate::recovery) rank: usize,
    pub(in crate::recovery) penalty: f64,
    pub(in crate::recovery) shift: f64,
    pub(in crate::recovery) scale: f64,
    /// `1 / scale`, exact: both are powers of two.
    inverse: f64,
}

/// The largest entry of the scaled estimate and the penalty are each below 2.
const ENTRIES: f64 = 4.0;

impl<'a> ScaledProblem<'a> {
    pub(in crate::recovery) fn new(problem: &'a FantopeProblem, largest: f64) -> Self {
        let estimate = problem.estimate();
        let shift = estimate.mean_diagonal();
        let size = largest.max(problem.penalty().value()).max(f64::MIN_POSITIVE);
        let scale = power_of_two_below(size);
        Self {
            estimate,
            rank: problem.rank().value(),
            penalty: problem.penalty().value() / scale,
            shift,
            scale,
            inverse: 1.0 / scale,
        }
    }

    pub(in crate::recovery) fn dimension(&self) -> usize {
        self.estimate.dimension()
    }

    pub(in crate::recovery) fn entry(&self, row: usize, column: usize) -> f64 {
        let entry = self.estimate.entry(row, column);
        if row == column { (entry - self.shift) * self.inverse } else { entry * self.inverse }
    }

    /// The submatrix of these rows and columns.
    pub(in crate::recovery) fn block(&self, rows: &[usize]) -> DMatrix<f64> {
        DMatrix::from_fn(rows.len(), rows.len(), |row, column| self.entry(rows[row], rows[column]))
    }

    /// How far the sum of the `k` largest eigenvalues, computed from `d × d` matrix `S − Z` of this Frobenius norm, may be off.
    pub(in crate::recovery) fn rounding(&self, dimension: usize, norm: f64) -> f64 {
        self.rank as f64 * eigenvalue_rounding(dimension, norm, ENTRIES)
    }

    /// `k penalty`: what every feasible point pays for its diagonal.
    pub(in crate::recovery) fn constant(&self) -> f64 {
        self.rank as f64 * self.penalty
    }

    /// The gap relative to `max(|objective|, k penalty)`, from values without the constant.
    pub(in crate::recovery) fn relative_gap(&self, value: f64, bound: f64) -> f64 {
        let gap = (bound - value).max(0.0);
        if gap == 0.0 { 0.0 } else { gap / (value - self.constant()).abs().max(self.constant()) }
    }

    /// A value in the caller's units, with the constant.
    pub(in crate::recovery) fn in_units(&self, value: f64) -> f64 {
        (value - self.constant()) * self.scale + self.rank as f64 * self.shift
    }
}

impl DualMatrix {
    /// From the units of the scaled problem to those of the estimate.
    pub(super) fn in_units(mut self, problem: &ScaledProblem<'_>) -> Self {
        self.block *= problem.scale;
        self.cross.iter_mut().for_each(|(_, left)| *left *= problem.scale);
        self
    }
}
