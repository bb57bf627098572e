//! The sparse problem centred and scaled, its closed-form solutions, and the way back to the caller's units.

use nalgebra::{DMatrix, DVector};

use super::fantope::{mean_diagonal, penalised_value, weighted_projectors};
use super::outcome::{AdmmStatus, FantopeSolution};
use super::{FantopeProblem, Rank, RecoveryError, dual_bound};
use crate::linalg::symmetric_eigen;
use crate::subspace::orient_columns_in_place;

/// `(S − c I) / scale` with `c = tr S / d`: entries of size about 1, and the same solutions, since `tr X = k` is fixed.
///
/// The scale is a power of two, so going there and back rounds nothing.
pub(super) struct NormalisedProblem {
    pub(super) matrix: DMatrix<f64>,
    pub(super) rank: Rank,
    pub(super) penalty: f64,
    shift: f64,
    scale: f64,
}

/// A primal and dual pair in normalised units, before it is dressed up as a [`FantopeSolution`].
pub(super) struct Candidate {
    pub(super) feasible: DMatrix<f64>,
    pub(super) weights: DVector<f64>,
    /// Eigenvectors of `feasible`, at least the leading `k`.
    pub(super) vectors: DMatrix<f64>,
    pub(super) sparse: DMatrix<f64>,
    pub(super) dual: DMatrix<f64>,
    pub(super) objective: f64,
    pub(super) bound: f64,
}

/// Where the solver stood when it stopped, in normalised units.
pub(super) struct Ending {
    pub(super) status: AdmmStatus,
    pub(super) iterations: usize,
    pub(super) primal_residual: f64,
    pub(super) dual_residual: f64,
}

impl NormalisedProblem {
    pub(super) fn new(problem: &FantopeProblem) -> Self {
        let shift = mean_diagonal(problem.matrix());
        let mut matrix = problem.matrix().clone();
        for index in 0..matrix.nrows() {
            matrix[(index, index)] -= shift;
        }
        let size = matrix.amax().max(problem.penalty().value()).max(f64::MIN_POSITIVE);
        let scale = libm::exp2(libm::floor(libm::log2(size)));
        matrix.apply(|entry| *entry /= scale);
        Self { matrix, rank: problem.rank(), penalty: problem.penalty().value() / scale, shift, scale }
    }

    /// The solution where it needs no iteration, with 0 iterations.
    pub(super) fn closed_form(&self) -> Result<Option<FantopeSolution>, RecoveryError> {
        let candidate = if self.rank.value() == self.matrix.nrows() || self.penalty >= self.largest_off_diagonal() {
            self.leading_coordinates()
        } else if self.penalty == 0.0 {
            self.leading_eigenvectors()?
        } else {
            return Ok(None);
        };
        let ending = Ending { status: AdmmStatus::Optimal, iterations: 0, primal_residual: 0.0, dual_residual: 0.0 };
        self.solution(candidate, &ending).map(Some)
    }

    /// `max(|objective|, k penalty)`, both in centred units: what a gap is relative to.
    pub(super) fn relative_gap(&self, objective: f64, bound: f64) -> f64 {
        let gap = (bound - objective).max(0.0);
        let reference = objective.abs().max(self.rank.value() as f64 * self.penalty);
        if gap == 0.0 { 0.0 } else { gap / reference }
    }

    pub(super) fn objective(&self, x: &DMatrix<f64>) -> f64 {
        penalised_value(&self.matrix, x, self.penalty)
    }

    pub(super) fn bound(&self, z: &DMatrix<f64>) -> Result<f64, RecoveryError> {
        dual_bound(&self.matrix, z, self.rank)
    }

    /// A matrix entry or residual in the caller's units.
    pub(super) fn in_units(&self, value: f64) -> f64 {
        value * self.scale
    }

    /// Back in the caller's units, with the components of `X` and its support worked out.
    pub(super) fn solution(&self, candidate: Candidate, ending: &Ending) -> Result<FantopeSolution, RecoveryError> {
        let rank = self.rank.value();
        let offset = rank as f64 * self.shift;
        let (components, variances) = self.components(&candidate.vectors.columns(0, rank).into_owned())?;
        let support = (0..candidate.sparse.nrows()).filter(|row| candidate.sparse[(*row, *row)] != 0.0).collect();
        Ok(FantopeSolution {
            status: ending.status,
            objective: candidate.objective * self.scale + offset,
            dual_bound: candidate.bound * self.scale + offset,
            relative_gap: self.relative_gap(candidate.objective, candidate.bound),
            feasible: candidate.feasible,
            sparse: candidate.sparse,
            dual: candidate.dual * self.scale,
            primal_residual: ending.primal_residual,
            dual_residual: self.in_units(ending.dual_residual),
            iterations: ending.iterations,
            support,
            components,
            variances,
            weights: candidate.weights,
        })
    }

    /// The basis of the span that diagonalises `S`, most variance first, and those variances.
    fn components(&self, basis: &DMatrix<f64>) -> Result<(DMatrix<f64>, DVector<f64>), RecoveryError> {
        let mut block = basis.tr_mul(&(&self.matrix * basis));
        block.fill_lower_triangle_with_upper_triangle();
        let eigen = symmetric_eigen(&block)?;
        let mut components = basis * eigen.vectors;
        orient_columns_in_place(&mut components);
        Ok((components, eigen.values.map(|value| value * self.scale + self.shift)))
    }

    fn largest_off_diagonal(&self) -> f64 {
        let above = |column: usize| self.matrix.column(column).rows(0, column).amax();
        (1..self.matrix.ncols()).map(above).fold(0.0, f64::max)
    }

    /// `X` selects the `k` largest diagonal entries; `Z` cancels every off-diagonal entry it may, so `S − Z` is diagonal.
    ///
    /// With `k = d` the off-diagonal part of `S − Z` does not matter: the sum of all eigenvalues is the trace.
    fn leading_coordinates(&self) -> Candidate {
        let (dimension, rank) = (self.matrix.nrows(), self.rank.value());
        let diagonal = self.matrix.diagonal();
        let mut order: Vec<usize> = (0..dimension).collect();
        // Stable, so that ties go to the lower index.
        order.sort_by(|left, right| diagonal[*right].total_cmp(&diagonal[*left]));

        let mut vectors = DMatrix::zeros(dimension, dimension);
        for (column, row) in order.iter().enumerate() {
            vectors[(*row, column)] = 1.0;
        }
        let mut dual = self.matrix.map(|entry| entry.clamp(-self.penalty, self.penalty));
        dual.fill_diagonal(self.penalty);
        let leading: f64 = order[..rank].iter().map(|row| diagonal[*row] - self.penalty).sum();
        let rounding = f64::EPSILON * rank as f64 * rank as f64 * (diagonal.amax() + self.penalty);
        self.known(vectors, dual, leading + rounding)
    }

    /// Without penalty the problem is ordinary principal components.
    fn leading_eigenvectors(&self) -> Result<Candidate, RecoveryError> {
        let dual = DMatrix::zeros(self.matrix.nrows(), self.matrix.ncols());
        let bound = self.bound(&dual)?;
        Ok(self.known(symmetric_eigen(&self.matrix)?.vectors, dual, bound))
    }

    fn known(&self, vectors: DMatrix<f64>, dual: DMatrix<f64>, bound: f64) -> Candidate {
        let weights = DVector::from_fn(vectors.nrows(), |index, _| if index < self.rank.value() { 1.0 } else { 0.0 });
        let feasible = weighted_projectors(&vectors, &weights);
        let objective = self.objective(&feasible);
        Candidate { sparse: feasible.clone(), feasible, weights, vectors, dual, objective, bound }
    }
}
