//! The sparse problem where no iteration is needed.

use nalgebra::{DMatrix, DVector};

use super::outcome::{Certificate, DualMatrix, FantopeSolution, Found, SolverStatus};
use super::scaled::ScaledProblem;
use super::{FantopeProblem, RecoveryError};
use crate::linalg::{sorted_descending, symmetric_eigen};

/// The solution where it is known: `k = d`; no penalty; a penalty of at least every off-diagonal `|S_ij|`, where `X`
/// selects the `k` largest diagonal entries (ties to the lower index).
pub(super) fn closed_form(
    problem: &FantopeProblem,
    scaled: &ScaledProblem<'_>,
    largest_off_diagonal: f64,
) -> Result<Option<FantopeSolution>, RecoveryError> {
    let found = if scaled.rank == scaled.dimension() || problem.penalty().value() >= largest_off_diagonal {
        leading_coordinates(problem, scaled)
    } else if problem.penalty().value() == 0.0 {
        leading_eigenvectors(problem, scaled)?
    } else {
        return Ok(None);
    };
    FantopeSolution::new(problem, found).map(Some)
}

/// `Z` cancels every off-diagonal entry it may, so `S − Z` is diagonal where it matters: with `k = d` only the trace
/// does.
fn leading_coordinates(problem: &FantopeProblem, scaled: &ScaledProblem<'_>) -> Found {
    let (dimension, rank, penalty) = (scaled.dimension(), scaled.rank, problem.penalty().value());
    let diagonal: Vec<f64> = (0..dimension).map(|row| scaled.entry(row, row)).collect();
    // Ties go to the lower index.
    let mut rows = sorted_descending((0..dimension).collect(), |row| diagonal[*row]);
    rows.truncate(rank);
    rows.sort_unstable();
    let value: f64 = rows.iter().map(|row| diagonal[*row]).sum();
    let largest = diagonal.iter().fold(0.0f64, |largest, entry| largest.max(entry.abs()));
    let bound = value + f64::EPSILON * (rank * rank) as f64 * (largest + scaled.penalty);
    let mut block = problem.estimate().submatrix(&rows, &rows).map(|entry| entry.clamp(-penalty, penalty));
    block.fill_diagonal(penalty);
    let identity = DMatrix::identity(rank, rank);
    found(scaled, value, bound, rows, identity.clone(), identity, block)
}

/// Without penalty the problem is ordinary principal components.
fn leading_eigenvectors(problem: &FantopeProblem, scaled: &ScaledProblem<'_>) -> Result<Found, RecoveryError> {
    let (dimension, rank) = (scaled.dimension(), scaled.rank);
    let rows: Vec<usize> = (0..dimension).collect();
    let mut matrix = problem.estimate().to_double();
    for row in 0..dimension {
        matrix[(row, row)] -= scaled.shift;
    }
    matrix /= scaled.scale;
    let eigen = symmetric_eigen(&matrix)?;
    let bound = eigen.values.rows(0, rank).sum() + scaled.rounding(dimension, matrix.norm());
    let vectors = eigen.vectors.columns(0, rank).into_owned();
    let value = vectors.dot(&(&matrix * &vectors));
    let sparse = &vectors * vectors.transpose();
    Ok(found(scaled, value, bound, rows, vectors, sparse, DMatrix::zeros(dimension, dimension)))
}

fn found(
    scaled: &ScaledProblem<'_>,
    value: f64,
    bound: f64,
    rows: Vec<usize>,
    vectors: DMatrix<f64>,
    sparse_block: DMatrix<f64>,
    dual_block: DMatrix<f64>,
) -> Found {
    Found {
        status: SolverStatus::Optimal,
        certificate: Certificate::Exact,
        objective: scaled.in_units(value),
        dual_bound: scaled.in_units(bound),
        relative_gap: scaled.relative_gap(value, bound),
        iterations: 0,
        history: Vec::new(),
        certificates: 0,
        weights: DVector::from_element(vectors.ncols(), 1.0),
        vectors,
        sparse_block,
        dual: DualMatrix { rows: rows.clone(), block: dual_block, cross: Vec::new() },
        rows,
    }
}
