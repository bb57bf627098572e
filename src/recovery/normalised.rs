//! The dense problem of the reference method, centred and scaled, and the way back to the caller's units.

use nalgebra::{DMatrix, DVector};

use super::fantope::penalised_value;
use super::outcome::{Certificate, DualMatrix, FantopeSolution, Found, SolverStatus};
use super::scaled::ScaledProblem;
use super::{FantopeProblem, Rank, RecoveryError, dual_bound};

/// A copy of the [`ScaledProblem`]'s matrix.
pub(super) struct NormalisedProblem<'a> {
    pub(super) matrix: DMatrix<f64>,
    pub(super) rank: Rank,
    pub(super) penalty: f64,
    problem: &'a FantopeProblem,
    scaled: ScaledProblem<'a>,
}

/// A primal and dual pair in normalised units, before it is dressed up as a [`FantopeSolution`].
pub(super) struct Candidate {
    pub(super) weights: DVector<f64>,
    /// Eigenvectors of `X`, at least those with positive weight.
    pub(super) vectors: DMatrix<f64>,
    pub(super) sparse: DMatrix<f64>,
    pub(super) dual: DMatrix<f64>,
    pub(super) objective: f64,
    pub(super) bound: f64,
}

impl<'a> NormalisedProblem<'a> {
    pub(super) fn new(problem: &'a FantopeProblem, scaled: ScaledProblem<'a>) -> Self {
        let rows: Vec<usize> = (0..problem.dimension()).collect();
        Self { matrix: scaled.block(&rows), rank: problem.rank(), penalty: scaled.penalty, problem, scaled }
    }

    /// The gap relative to `max(|objective|, k penalty)`, both in centred units.
    pub(super) fn relative_gap(&self, objective: f64, bound: f64) -> f64 {
        let constant = self.scaled.constant();
        self.scaled.relative_gap(objective + constant, bound + constant)
    }

    pub(super) fn objective(&self, x: &DMatrix<f64>) -> f64 {
        penalised_value(&self.matrix, x, self.penalty)
    }

    pub(super) fn bound(&self, z: &DMatrix<f64>) -> Result<f64, RecoveryError> {
        dual_bound(&self.matrix, z, self.rank)
    }

    /// Back in the caller's units, with the components of `X` and its support worked out.
    pub(super) fn solution(
        &self,
        candidate: Candidate,
        status: SolverStatus,
        iterations: usize,
    ) -> Result<FantopeSolution, RecoveryError> {
        let rows: Vec<usize> = (0..self.matrix.nrows()).collect();
        let positive = candidate.weights.iter().take_while(|weight| **weight > 0.0).count();
        let constant = self.scaled.constant();
        let found = Found {
            status,
            certificate: Certificate::Exact,
            objective: self.scaled.in_units(candidate.objective + constant),
            dual_bound: self.scaled.in_units(candidate.bound + constant),
            relative_gap: self.relative_gap(candidate.objective, candidate.bound),
            iterations,
            history: Vec::new(),
            certificates: 0,
            vectors: candidate.vectors.columns(0, positive).into_owned(),
            weights: candidate.weights.rows(0, positive).into_owned(),
            sparse_block: candidate.sparse,
            dual: DualMatrix { rows: rows.clone(), block: candidate.dual * self.scaled.scale, cross: Vec::new() },
            rows,
        };
        FantopeSolution::new(self.problem, found)
    }
}
