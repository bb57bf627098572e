//! The rows that the problem is solved on.

use nalgebra::{DMatrix, DVector};

use super::cross::Multipliers;
use super::extension::{Evidence, Extension, random_direction};
use super::part::Part;
use super::splitting::Splitting;
use super::thresholded::Thresholded;
use super::{Block, SolverSettings};
use crate::FantopeError;
use crate::linalg::{
    SymmetricEigen, lanczos, scatter, sort_descending, sort_rows, sorted_descending, symmetric_eigen,
    symmetric_eigenvalues,
};
use crate::outcome::{Certificate, DualMatrix, FantopeSolution};
use crate::problem::{fantope_weights, weighted_projectors};
use crate::scaled::ScaledProblem;

/// Rows in ascending order.
pub(super) struct WorkingSet {
    pub(super) rows: Vec<usize>,
    /// An estimate of the largest eigenvalue of the thresholded estimate except for the `k` leading ones, where it was
    /// computed.
    pub(super) bulk: Option<f64>,
}

/// Problems of this dimension are solved whole.
const SMALL: usize = 32;

/// Lanczos steps that rank the rows, besides two per component. The certificates find what they miss.
const FIRST_STEPS: usize = 20;

/// The most rows to start with, per component.
const FIRST_ROWS: usize = 12;

/// Up to this dimension all rows are taken at once where many are wanted.
const MODERATE: usize = 4000;

impl WorkingSet {
    /// The rows with most leverage in the leading eigenvectors of the thresholded estimate, and the iteration on them.
    pub(super) fn choose(
        problem: &ScaledProblem<'_>,
        thresholded: &Thresholded<'_>,
        settings: SolverSettings,
    ) -> Result<(Self, Splitting), FantopeError> {
        let (dimension, rank) = (problem.dimension(), problem.rank);
        let mut rows: Vec<usize> = (0..dimension).collect();
        let mut bulk = None;
        if dimension > SMALL && 2 * rank < dimension {
            let start = random_direction(settings.seed, 0, dimension);
            let krylov = lanczos(&mut |x, y| thresholded.multiply(x, y), &start, FIRST_STEPS + 2 * rank)?;
            bulk = krylov.values.get(rank).copied();
            let vectors = krylov.vectors(rank.min(krylov.values.len()));
            let leverage: Vec<f64> = vectors.row_iter().map(|entries| entries.norm_squared()).collect();
            rows = sorted_descending(rows, |row| leverage[*row]);
            let least = 0.01 * leverage[rows[0]];
            let count = rows.iter().take_while(|row| leverage[**row] >= least).count();
            rows.truncate(count.clamp(rank + 1, FIRST_ROWS * rank.max(2)));
            sort_rows(&mut rows);
        }
        let block = problem.block(&rows);
        let dual = clipped(&block, problem.penalty);
        let rho = natural_rho(&dual, rank);
        let eigen = symmetric_eigen(&((&block - &dual) / rho))?;
        let (weights, _) = fantope_weights(&eigen.values, rank);
        let x = weighted_projectors(&eigen.vectors, &weights);
        let splitting = split(problem, &block, &x, &dual, rho, settings);
        Ok((Self { rows, bulk }, splitting))
    }

    /// The rows of the solution of a similar problem, and the iteration from there.
    pub(super) fn resume(
        problem: &ScaledProblem<'_>,
        start: &FantopeSolution,
        settings: SolverSettings,
    ) -> Result<(Self, Splitting), FantopeError> {
        let rows = start.rows.clone();
        let block = problem.block(&rows);
        let mut dual = clipped(&block, problem.penalty);
        if start.dual.rows == rows {
            dual = start.dual.block.map(|entry| (entry / problem.scale).clamp(-problem.penalty, problem.penalty));
            dual.fill_diagonal(0.0);
        }
        let rho = natural_rho(&dual, problem.rank);
        let splitting = split(problem, &block, &start.sparse_block, &dual, rho, settings);
        Ok((Self { rows, bulk: None }, splitting))
    }

    /// Whether every row is in the set.
    pub(super) fn is_everything(&self, problem: &ScaledProblem<'_>) -> bool {
        self.rows.len() == problem.dimension()
    }

    /// Adds the most important rows and continues from the present iterate.
    ///
    /// Between the new rows and the old ones the dual matrix starts from the values that cancel what the last
    /// certificate found.
    pub(super) fn grow(
        &mut self,
        problem: &ScaledProblem<'_>,
        splitting: &Splitting,
        multipliers: &Multipliers,
        wanted: &[usize],
    ) -> Splitting {
        let dimension = problem.dimension();
        let old = std::mem::take(&mut self.rows);
        let mut rows = old.clone();
        rows.extend(wanted.iter().take((old.len() / 2).max(8)));
        sort_rows(&mut rows);
        let crowded = 10 * rows.len() >= 7 * dimension || wanted.len() > 4 * old.len() + 16;
        if crowded && dimension <= MODERATE {
            rows = (0..dimension).collect();
        }
        let place = |row: &usize| rows.binary_search(row).unwrap_or_else(|place| place);
        let places: Vec<usize> = old.iter().map(place).collect();
        let block = problem.block(&rows);
        let mut dual = clipped(&block, problem.penalty);
        for (at, row) in rows.iter().enumerate().filter(|(_, row)| old.binary_search(row).is_err()) {
            let entries: Vec<f64> = old.iter().map(|column| problem.entry(*column, *row)).collect();
            for (place, entry) in places.iter().zip(multipliers.cancelling(*row, &entries)) {
                let entry = entry.clamp(-problem.penalty, problem.penalty);
                dual[(at, *place)] = entry;
                dual[(*place, at)] = entry;
            }
        }
        let mut x = DMatrix::zeros(rows.len(), rows.len());
        for ((part, z), y) in splitting.parts.iter().zip(splitting.dual()).zip(splitting.sparse()) {
            let rows: Vec<usize> = part.rows.iter().map(|row| places[*row]).collect();
            scatter(&z, &rows, &mut dual);
            scatter(&y, &rows, &mut x);
        }
        self.rows = rows;
        split(problem, &block, &x, &dual, splitting.rho, splitting.settings)
    }

    /// The matrix on the working set that has these blocks on the parts.
    pub(super) fn assembled(&self, splitting: &Splitting, blocks: &[DMatrix<f64>]) -> DMatrix<f64> {
        let mut whole = DMatrix::zeros(self.rows.len(), self.rows.len());
        for (part, block) in splitting.parts.iter().zip(blocks) {
            scatter(block, &part.rows, &mut whole);
        }
        whole
    }

    /// The eigenvectors of `X` with positive weight, on the working set, and their weights, descending.
    pub(super) fn factor(&self, splitting: &Splitting) -> SymmetricEigen {
        let parts = splitting.parts.iter().map(|part| (part.rows.as_slice(), part.weights.as_slice(), &part.vectors));
        merged(self.rows.len(), parts)
    }

    /// The sum of the `k` largest eigenvalues of `S − Z` on the working set, rounded up.
    pub(super) fn block_bound(
        &self,
        splitting: &Splitting,
        dual: &[DMatrix<f64>],
        problem: &ScaledProblem<'_>,
    ) -> Result<f64, FantopeError> {
        let mut values = Vec::new();
        let mut rounding = 0.0f64;
        for (part, dual) in splitting.parts.iter().zip(dual) {
            let difference = &part.estimate - dual;
            rounding = rounding.max(problem.rounding(difference.nrows(), difference.norm()));
            values.extend(symmetric_eigenvalues(&difference)?.iter().copied());
        }
        sort_descending(&mut values);
        Ok(values[..problem.rank].iter().sum::<f64>() + rounding)
    }

    /// The bound that the dual matrix proves when the working set is everything.
    pub(super) fn whole(&self, problem: &ScaledProblem<'_>, splitting: &Splitting, block: &Block) -> Evidence {
        // Between the parts every entry is within the penalty, and Z takes all of it.
        let mut dual = clipped(&problem.block(&self.rows), problem.penalty);
        for (part, block) in splitting.parts.iter().zip(&block.dual) {
            scatter(block, &part.rows, &mut dual);
        }
        dual.fill_diagonal(problem.penalty);
        Evidence {
            bound: block.bound,
            estimate: block.bound,
            certificate: Certificate::Exact,
            dual: DualMatrix { rows: self.rows.clone(), block: dual, cross: Vec::new() },
            growth: Vec::new(),
        }
    }

    /// Extends the dual matrix of the parts to the whole problem.
    pub(super) fn extend<'a>(
        &'a self,
        problem: &ScaledProblem<'_>,
        thresholded: &'a Thresholded<'_>,
        splitting: &Splitting,
        dual: &[DMatrix<f64>],
        multipliers: &mut Multipliers,
    ) -> Result<Extension<'a>, FantopeError> {
        let differences: Vec<DMatrix<f64>> =
            splitting.parts.iter().zip(dual).map(|(part, dual)| &part.estimate - dual).collect();
        let spectra = differences.iter().map(symmetric_eigen).collect::<Result<Vec<_>, _>>()?;
        let parts = splitting.parts.iter().zip(&spectra);
        let parts = parts.map(|(part, of)| (part.rows.as_slice(), of.values.as_slice(), &of.vectors));
        let spectrum = merged(self.rows.len(), parts);
        let block = self.assembled(splitting, &differences);
        let positive = splitting.parts.iter().map(|part| part.weights.len()).sum();
        Ok(Extension::new(problem, thresholded, &self.rows, block, spectrum, positive, multipliers))
    }
}

/// The values of all parts, descending, and their vectors on this many rows; for each part its rows, values and
/// vectors.
fn merged<'a>(rows: usize, parts: impl Iterator<Item = (&'a [usize], &'a [f64], &'a DMatrix<f64>)>) -> SymmetricEigen {
    let mut pairs = Vec::new();
    for (places, values, vectors) in parts {
        pairs.extend(values.iter().zip(vectors.column_iter()).map(|(value, vector)| (*value, places, vector)));
    }
    let pairs = sorted_descending(pairs, |pair| pair.0);
    let mut vectors = DMatrix::zeros(rows, pairs.len());
    for (column, (_, places, vector)) in pairs.iter().enumerate() {
        places.iter().zip(vector.iter()).for_each(|(row, entry)| vectors[(*row, column)] = *entry);
    }
    SymmetricEigen { values: DVector::from_iterator(pairs.len(), pairs.iter().map(|pair| pair.0)), vectors }
}

/// The iteration on a block of the estimate, part by part.
fn split(
    problem: &ScaledProblem<'_>,
    block: &DMatrix<f64>,
    x: &DMatrix<f64>,
    dual: &DMatrix<f64>,
    rho: f64,
    settings: SolverSettings,
) -> Splitting {
    let mut offset = 0;
    let (mut parts, mut starts) = (Vec::new(), Vec::new());
    for rows in connected_parts(block, problem.penalty) {
        let of = |matrix: &DMatrix<f64>| matrix.select_rows(&rows).select_columns(&rows);
        starts.push((of(x), of(dual)));
        let estimate = of(block);
        let part = Part::new(rows, estimate, offset);
        offset = part.range().end;
        parts.push(part);
    }
    Splitting::new(problem.rank, problem.penalty, parts, &starts, rho, settings)
}

/// The scale of `ρ` that means the same for an estimate in any unit: `‖Z‖_F / √k`.
fn natural_rho(dual: &DMatrix<f64>, rank: usize) -> f64 {
    let size = dual.norm();
    if size > 0.0 { size / (rank as f64).sqrt() } else { 1.0 }
}

/// `clip(S, penalty)` off the diagonal, zero on it.
fn clipped(block: &DMatrix<f64>, penalty: f64) -> DMatrix<f64> {
    let mut dual = block.map(|entry| entry.clamp(-penalty, penalty));
    dual.fill_diagonal(0.0);
    dual
}

/// The connected components of the graph of entries above the penalty, as ascending lists of positions.
fn connected_parts(block: &DMatrix<f64>, penalty: f64) -> Vec<Vec<usize>> {
    let count = block.nrows();
    let mut seen = vec![false; count];
    let mut parts = Vec::new();
    for first in 0..count {
        if seen[first] {
            continue;
        }
        seen[first] = true;
        let mut part = vec![first];
        let mut next = 0;
        while next < part.len() {
            for other in 0..count {
                if !seen[other] && block[(other, part[next])].abs() > penalty {
                    seen[other] = true;
                    part.push(other);
                }
            }
            next += 1;
        }
        sort_rows(&mut part);
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{noise, problem};

    #[test]
    fn rows_that_join_cancel_what_was_seen_and_the_old_ones_stay() {
        // Two parts, {3, 8} and {9, 20}, which the rows before, between and after them connect.
        let old = vec![3, 8, 9, 20];
        let mut matrix = noise(40);
        for (row, column, entry) in [(3, 8, 0.9), (9, 20, 0.9), (3, 9, 0.2), (3, 20, -0.1), (8, 9, 0.3), (8, 20, 0.1)] {
            matrix[(row, column)] = entry;
            matrix[(column, row)] = entry;
        }
        let problem = problem(&matrix, 1, 0.5);
        let scaled = ScaledProblem::new(&problem, 1.0).unwrap();
        let settings = SolverSettings { memory: 0, ..SolverSettings::default() };
        let mut dual = DMatrix::zeros(4, 4);
        for (row, column, entry) in [(0, 1, 0.4), (2, 3, -0.3)] {
            dual[(row, column)] = entry;
            dual[(column, row)] = entry;
        }
        let mut working = WorkingSet { rows: old.clone(), bulk: None };
        let splitting = split(&scaled, &scaled.block(&old), &DMatrix::zeros(4, 4), &dual, 1.0, settings);
        assert_eq!(splitting.parts.len(), 2);
        let mut multipliers = Multipliers::default();
        multipliers.turn(&old, &DMatrix::from_element(4, 1, 0.5), 40);
        (0..40).for_each(|row| multipliers.of(row)[0] = 0.4 + 0.01 * row as f64);

        let grown = working.grow(&scaled, &splitting, &multipliers, &[30, 0, 12]);
        let rows = [0, 3, 8, 9, 12, 20, 30];
        assert_eq!((working.rows.as_slice(), grown.parts.len()), (rows.as_slice(), 1));
        let found = working.assembled(&grown, &grown.dual());
        let expected = DMatrix::from_fn(7, 7, |i, j| {
            let (row, column) = (rows[i], rows[j]);
            let clip = |entry: f64| entry.clamp(-0.5, 0.5);
            let cancelled = |new: usize| clip(matrix[(row, column)] - 0.5 * (0.4 + 0.01 * new as f64));
            match (old.contains(&row), old.contains(&column)) {
                _ if i == j => 0.0,
                (true, false) => cancelled(column),
                (false, true) => cancelled(row),
                (false, false) => clip(matrix[(row, column)]),
                (true, true) => match (row.min(column), row.max(column)) {
                    (3, 8) => 0.4,
                    (9, 20) => -0.3,
                    _ => matrix[(row, column)],
                },
            }
        });
        assert!((&found - &expected).amax() < 1e-12, "{found}{expected}");
    }
}
