//! Closed-form solutions of the sparse problem, where no iteration is needed.

use nalgebra::{DMatrix, DVector};

use super::outcome::{DualMatrix, FantopeSolution, Found};
use super::scaled::ScaledProblem;
use super::{FantopeError, FantopeProblem};
use crate::linalg::{sort_rows, sorted_descending, symmetric_eigen};

/// The solution where it is known: `k = d`; no penalty; a penalty of at least every off-diagonal `|S_ij|`, where `X`
/// selects the `k` largest diagonal entries (ties to the lower index). Stalled where rounding alone leaves a gap wider
/// than the tolerance.
pub(super) fn closed_form(
    problem: &FantopeProblem,
    scaled: &ScaledProblem<'_>,
    largest_off_diagonal: f64,
    tolerance: f64,
) -> Result<Option<FantopeSolution>, FantopeError> {
    let found = if scaled.rank == scaled.dimension() || problem.penalty().value() >= largest_off_diagonal {
        leading_coordinates(problem, scaled)
    } else if scaled.penalty == 0.0 {
        leading_eigenvectors(scaled)?
    } else {
        return Ok(None);
    };
    Ok(Some(FantopeSolution::new(problem, scaled, found)?.within(tolerance)))
}

/// `Z` cancels every off-diagonal entry it may, so `S − Z` is diagonal where it matters: with `k = d` only the trace
/// does.
fn leading_coordinates(problem: &FantopeProblem, scaled: &ScaledProblem<'_>) -> Found {
    let (dimension, rank, penalty) = (scaled.dimension(), scaled.rank, problem.penalty().value());
    let diagonal: Vec<f64> = (0..dimension).map(|row| scaled.entry(row, row)).collect();
    // Ties go to the lower index. Beside a huge penalty the scaled entries may all be 0.
    let mut rows = sorted_descending((0..dimension).collect(), |row| problem.estimate().entry(*row, *row));
    rows.truncate(rank);
    sort_rows(&mut rows);
    let value: f64 = rows.iter().map(|row| diagonal[*row]).sum();
    let largest = diagonal.iter().fold(0.0f64, |largest, entry| largest.max(entry.abs()));
    let bound = value + f64::EPSILON * (rank * rank) as f64 * (largest + scaled.penalty);
    let mut block = problem.estimate().submatrix(&rows, &rows).map(|entry| entry.clamp(-penalty, penalty));
    block.fill_diagonal(penalty);
    Found {
        value,
        bound,
        vectors: DMatrix::identity(rank, rank),
        weights: DVector::from_element(rank, 1.0),
        sparse_block: DMatrix::identity(rank, rank),
        dual: DualMatrix { rows: rows.clone(), block, cross: Vec::new() },
        rows,
    }
}

/// Without penalty the problem is ordinary principal components.
fn leading_eigenvectors(scaled: &ScaledProblem<'_>) -> Result<Found, FantopeError> {
    let (dimension, rank) = (scaled.dimension(), scaled.rank);
    let rows: Vec<usize> = (0..dimension).collect();
    let matrix = scaled.block(&rows);
    let eigen = symmetric_eigen(&matrix)?;
    let bound = eigen.values.rows(0, rank).sum() + scaled.rounding(dimension, matrix.norm());
    let vectors = eigen.vectors.columns(0, rank).into_owned();
    let value = vectors.dot(&(&matrix * &vectors));
    let block = DMatrix::zeros(dimension, dimension);
    Ok(Found {
        value,
        bound,
        weights: DVector::from_element(rank, 1.0),
        sparse_block: &vectors * vectors.transpose(),
        vectors,
        dual: DualMatrix { rows: rows.clone(), block, cross: Vec::new() },
        rows,
    })
}
