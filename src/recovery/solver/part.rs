//! One connected part of the working set, and its share of the iteration.

use std::ops::Range;

use nalgebra::{DMatrix, DVector};

use crate::linalg::{exactly_symmetric_eigen, improve_leading_pairs, symmetric_eigenvalues, weighted_gram};
use crate::recovery::RecoveryError;

/// A block of the estimate that no entry above the penalty connects with another one.
///
/// Between two such blocks the solution is zero, so each is decomposed alone. Symmetric matrices of a part are
/// vectors of its lower triangle, column by column, with the entries off the diagonal times √2: norms and inner
/// products are those of the matrices.
pub(super) struct Part {
    /// Its rows, as positions in the working set, ascending.
    pub(super) rows: Vec<usize>,
    /// Its block of the estimate, `n × n`.
    pub(super) estimate: DMatrix<f64>,
    start: usize,
    packed: Vec<f64>,
    matrix: DMatrix<f64>,
    /// Eigenvectors of the last decomposed matrix, most important first.
    pub(super) vectors: DMatrix<f64>,
    /// Positive weights of the leading eigenvectors in the projection.
    pub(super) weights: Vec<f64>,
}

impl Part {
    /// The part whose coordinates begin at `start` in the vectors of the whole working set.
    pub(super) fn new(rows: Vec<usize>, estimate: DMatrix<f64>, start: usize) -> Self {
        let count = rows.len();
        let mut packed = vec![0.0; count * (count + 1) / 2];
        pack(&estimate, &mut packed);
        let (matrix, vectors) = (DMatrix::zeros(count, count), DMatrix::zeros(count, 0));
        Self { rows, estimate, start, packed, matrix, vectors, weights: Vec::new() }
    }

    /// The range of its coordinates.
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.start + self.packed.len()
    }

    /// Writes a matrix into its place among the coordinates of the whole working set.
    pub(super) fn pack(&self, matrix: &DMatrix<f64>, whole: &mut [f64]) {
        pack(matrix, &mut whole[self.range()]);
    }

    /// The matrix of its coordinates.
    pub(super) fn unpack(&self, coordinates: &[f64]) -> DMatrix<f64> {
        let count = self.rows.len();
        let mut matrix = DMatrix::zeros(count, count);
        unpack_lower(coordinates, &mut matrix, |value| value);
        matrix.fill_upper_triangle_with_lower_triangle();
        matrix
    }

    /// `y ← t − clip(t, limit)` off the diagonal, `t` on it; returns the squared change of `y`.
    pub(super) fn threshold(&self, t: &[f64], limit: f64, y: &mut [f64]) -> f64 {
        let limit = limit * std::f64::consts::SQRT_2;
        let mut change = 0.0;
        for (column, range) in columns(self.rows.len()) {
            let _ = column;
            let (t, y) = (&t[range.clone()], &mut y[range]);
            change += (t[0] - y[0]).powi(2);
            y[0] = t[0];
            for (y, t) in y[1..].iter_mut().zip(&t[1..]) {
                let next = t - t.clamp(-limit, limit);
                change += (next - *y).powi(2);
                *y = next;
            }
        }
        change
    }

    /// Decomposes `Y − U + S/ρ = 2Y − T + S/ρ`; its eigenvalues, descending.
    pub(super) fn decompose(&mut self, y: &[f64], t: &[f64], rho: f64) -> Result<DVector<f64>, RecoveryError> {
        let inverse = 1.0 / rho;
        let sums = y.iter().zip(t).zip(&self.packed).map(|((y, t), s)| 2.0 * y - t + s * inverse);
        let coordinates: Vec<f64> = sums.collect();
        unpack_lower(&coordinates, &mut self.matrix, |value| value);
        self.matrix.fill_upper_triangle_with_lower_triangle();
        let count = self.rows.len();
        let (wanted, known) = (self.followed(), self.vectors.ncols());
        let eigen = if count > 64 && 6 * wanted <= count && known > self.weights.len() {
            let guess = self.vectors.columns(0, wanted.min(known)).into_owned();
            // A few more than wanted, so that their number can grow.
            improve_leading_pairs(&self.matrix, &guess, wanted + 4)?
        } else {
            exactly_symmetric_eigen(&self.matrix)?
        };
        self.vectors = eigen.vectors;
        Ok(eigen.values)
    }

    /// How many eigenvectors to follow, so that those with weight are surely among them.
    fn followed(&self) -> usize {
        self.weights.len() + (self.weights.len() / 2).clamp(4, 16)
    }

    /// The leading eigenvalues of a matrix whose eigenvectors are near those of the last one, from below.
    pub(super) fn leading_values(&self, matrix: &DMatrix<f64>) -> Result<DVector<f64>, RecoveryError> {
        let wanted = self.followed().min(self.vectors.ncols()).min(self.rows.len() / 2);
        if wanted == 0 {
            return Ok(symmetric_eigenvalues(matrix)?);
        }
        Ok(improve_leading_pairs(matrix, &self.vectors.columns(0, wanted).into_owned(), wanted)?.values)
    }

    /// `x ← Σ w_i v_i v_iᵀ`.
    pub(super) fn project(&mut self, x: &mut [f64]) {
        if self.weights.is_empty() {
            x.fill(0.0);
            return;
        }
        weighted_gram(&self.vectors, &self.weights, &mut self.matrix);
        pack(&self.matrix, x);
    }

    /// `⟨S, X⟩ − penalty Σ_{i≠j} |X_ij|`.
    pub(super) fn value(&self, x: &[f64], penalty: f64) -> f64 {
        let product: f64 = x.iter().zip(&self.packed).map(|(x, s)| x * s).sum();
        let magnitudes: f64 =
            columns(self.rows.len()).map(|(_, range)| x[range][1..].iter().map(|x| x.abs()).sum::<f64>()).sum();
        product - penalty * std::f64::consts::SQRT_2 * magnitudes
    }

    /// `Z = ρ (T − Y)`, clipped once more because the product may round past the penalty; zero on the diagonal.
    pub(super) fn dual(&self, t: &[f64], y: &[f64], rho: f64, penalty: f64) -> DMatrix<f64> {
        let count = self.rows.len();
        let coordinates: Vec<f64> = t.iter().zip(y).map(|(t, y)| t - y).collect();
        let mut matrix = DMatrix::zeros(count, count);
        unpack_lower(&coordinates, &mut matrix, |value| (value * rho).clamp(-penalty, penalty));
        matrix.fill_diagonal(0.0);
        matrix.fill_upper_triangle_with_lower_triangle();
        matrix
    }
}

/// The places of the lower triangle's columns among the coordinates.
fn columns(count: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
    let mut start = 0;
    (0..count).map(move |column| {
        let range = start..start + count - column;
        start = range.end;
        (column, range)
    })
}

fn pack(matrix: &DMatrix<f64>, coordinates: &mut [f64]) {
    let count = matrix.nrows();
    for (column, range) in columns(count) {
        let entries = &matrix.as_slice()[column * count + column..(column + 1) * count];
        let out = &mut coordinates[range];
        out[0] = entries[0];
        out[1..].iter_mut().zip(&entries[1..]).for_each(|(out, entry)| *out = std::f64::consts::SQRT_2 * entry);
    }
}

fn unpack_lower(coordinates: &[f64], matrix: &mut DMatrix<f64>, map: impl Fn(f64) -> f64) {
    let count = matrix.nrows();
    for (column, range) in columns(count) {
        let entries = &mut matrix.as_mut_slice()[column * count + column..(column + 1) * count];
        let source = &coordinates[range];
        entries[0] = map(source[0]);
        let rest = entries[1..].iter_mut().zip(&source[1..]);
        rest.for_each(|(entry, value)| *entry = map(std::f64::consts::FRAC_1_SQRT_2 * value));
    }
}
