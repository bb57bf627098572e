//! The largest eigenvalues of a dense symmetric matrix and their vectors, from its tridiagonal form.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::tridiag::{tridiag_in_place, tridiag_in_place_scratch};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj,
};
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::{Conj, Mat, MatMut, Par};
use nalgebra::{DMatrix, DVector};

use super::eigen::ScaledMatrix;
use super::{EigenError, SymmetricEigen, sort_descending};

/// Stands for a pivot of 0. Its inverse times an entry is finite.
const LEAST_PIVOT: f64 = 1e-150;

/// The largest residual of a pair, relative to a bound on the magnitude of all eigenvalues.
const PAIR: f64 = 1e-13;

/// The `count` largest eigenvalues of a symmetric matrix, descending, and their vectors. A third of all takes about
/// half the time of a whole decomposition.
///
/// The values are those of the QL iteration (Pal, Walker & Kahan), and each vector solves a twisted
/// factorisation at its value (Dhillon & Parlett 2004). `None` where values do not converge, or where vectors are not
/// accurate or not independent, as where values are close: then all pairs have to be found.
pub(crate) fn largest_eigen(matrix: &DMatrix<f64>, count: usize) -> Result<Option<SymmetricEigen>, EigenError> {
    let scaled = ScaledMatrix::of_symmetric(matrix)?;
    let mut reduced = scaled.entries.clone();
    let dimension = matrix.nrows();
    let block = recommended_block_size::<f64>(dimension, dimension);
    let mut reflections = Mat::<f64>::zeros(block, dimension - 1);
    let mut reduced = MatMut::from_column_major_slice_mut(reduced.as_mut_slice(), dimension, dimension);
    let mut scratch = MemBuffer::new(
        tridiag_in_place_scratch::<f64>(dimension, Par::Seq, Default::default())
            .or(apply_block_householder_sequence_on_the_left_in_place_scratch::<f64>(dimension - 1, block, count)),
    );
    let stack = MemStack::new(&mut scratch);
    tridiag_in_place(reduced.as_mut(), reflections.as_mut(), Par::Seq, stack, Default::default());
    let tridiagonal = Tridiagonal {
        diagonal: (0..dimension).map(|row| reduced[(row, row)]).collect(),
        beside: (1..dimension).map(|row| reduced[(row, row - 1)]).collect(),
    };
    let values = tridiagonal.values().map(DVector::from_vec);
    let Some(values) = values.filter(|values| scaled.verify_values(values).is_ok()) else { return Ok(None) };
    let mut vectors = DMatrix::zeros(dimension, count);
    for (mut column, value) in vectors.column_iter_mut().zip(values.iter()) {
        column.copy_from_slice(&tridiagonal.vector(*value));
    }
    let triangle = MatMut::from_column_major_slice_mut(vectors.as_mut_slice(), dimension, count).qr();
    if (0..count).any(|place| triangle.R()[(place, place)].abs().is_nan() || triangle.R()[(place, place)].abs() < 0.5) {
        return Ok(None);
    }
    let mut vectors = triangle.compute_thin_Q();
    let size = tridiagonal.size();
    if !(0..count).all(|place| tridiagonal.residual(values[place], |row| vectors[(row, place)]) <= PAIR * size) {
        return Ok(None);
    }
    apply_block_householder_sequence_on_the_left_in_place_with_conj(
        reduced.as_ref().submatrix(1, 0, dimension - 1, dimension - 1),
        reflections.as_ref(),
        Conj::No,
        vectors.as_mut().subrows_mut(1, dimension - 1),
        Par::Seq,
        stack,
    );
    let vectors = DMatrix::from_fn(dimension, count, |row, column| vectors[(row, column)]);
    let values = values.rows(0, count).into_owned();
    let defect = (&scaled.entries * vectors.column_sum() - &vectors * &values).norm();
    let accepted = scaled.accept(defect, scaled.entries.norm() * (count as f64).sqrt()).is_ok();
    Ok(accepted.then(|| SymmetricEigen { values: values * scaled.scale, vectors }))
}

struct Tridiagonal {
    diagonal: Vec<f64>,
    beside: Vec<f64>,
}

impl Tridiagonal {
    /// A bound on the magnitude of the eigenvalues (Gershgorin).
    fn size(&self) -> f64 {
        let beside = |row: usize| self.beside.get(row).map_or(0.0, |entry| entry.abs());
        let row_sum = |row: usize| self.diagonal[row].abs() + beside(row) + beside(row.wrapping_sub(1));
        (0..self.diagonal.len()).map(row_sum).fold(0.0, f64::max)
    }

    /// All eigenvalues, descending, to the rounding of the largest: QL iteration without square roots. `None` where it
    /// does not converge.
    fn values(&self) -> Option<Vec<f64>> {
        const STEPS: usize = 60;
        let (mut values, count) = (self.diagonal.clone(), self.diagonal.len());
        let mut squares: Vec<f64> = self.beside.iter().map(|entry| entry * entry).collect();
        let negligible = (f64::EPSILON * self.size()).powi(2);
        for first in 0..count {
            for step in 0.. {
                let end = (first..count - 1).find(|row| squares[*row] <= negligible).unwrap_or(count - 1);
                if end == first {
                    break;
                }
                if step == STEPS {
                    return None;
                }
                let beside = squares[first].sqrt();
                let half = (values[first + 1] - values[first]) / (2.0 * beside);
                let shift = values[first] - beside / (half + (half * half + 1.0).sqrt().copysign(half));
                let (mut cosine, mut sine, mut gamma) = (1.0, 0.0, values[end] - shift);
                let mut square = gamma * gamma;
                for row in (first..end).rev() {
                    let sum = square + squares[row];
                    if row + 1 < end {
                        squares[row + 1] = sine * sum;
                    }
                    let (last_cosine, last_gamma) = (cosine, gamma);
                    (cosine, sine) = (square / sum, squares[row] / sum);
                    gamma = cosine * (values[row] - shift) - sine * last_gamma;
                    values[row + 1] = last_gamma + (values[row] - gamma);
                    square = if cosine == 0.0 { last_cosine * squares[row] } else { gamma * gamma / cosine };
                }
                squares[first] = sine * square;
                values[first] = shift + gamma;
            }
        }
        sort_descending(&mut values);
        Some(values)
    }

    /// The eigenvector of this eigenvalue, of length 1.
    fn vector(&self, value: f64) -> Vec<f64> {
        let count = self.diagonal.len();
        let guarded = |pivot: f64| if pivot.abs() < LEAST_PIVOT { -LEAST_PIVOT } else { pivot };
        let (mut down, mut up) = (vec![0.0; count], vec![0.0; count]);
        down[0] = guarded(self.diagonal[0] - value);
        up[count - 1] = guarded(self.diagonal[count - 1] - value);
        for row in 1..count {
            let beside = self.beside[row - 1];
            down[row] = guarded(self.diagonal[row] - value - beside * beside / down[row - 1]);
            let (row, beside) = (count - 1 - row, self.beside[count - 1 - row]);
            up[row] = guarded(self.diagonal[row] - value - beside * beside / up[row + 1]);
        }
        // The row of the twist: where the defect of the factorisation is least.
        let defect = |row: usize| (down[row] + up[row] - (self.diagonal[row] - value)).abs();
        let twist = (1..count).fold((0, defect(0)), |least, row| {
            let defect = defect(row);
            if defect < least.1 { (row, defect) } else { least }
        });
        let mut vector = vec![0.0; count];
        vector[twist.0] = 1.0;
        for row in (0..twist.0).rev() {
            vector[row] = -self.beside[row] / down[row] * vector[row + 1];
        }
        for row in twist.0 + 1..count {
            vector[row] = -self.beside[row - 1] / up[row] * vector[row - 1];
        }
        let norm = vector.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
        vector.iter_mut().for_each(|entry| *entry /= norm);
        vector
    }

    /// `‖T v − value v‖`.
    fn residual(&self, value: f64, vector: impl Fn(usize) -> f64) -> f64 {
        let count = self.diagonal.len();
        let of = |row: usize| {
            let before = if row > 0 { self.beside[row - 1] * vector(row - 1) } else { 0.0 };
            let after = if row + 1 < count { self.beside[row] * vector(row + 1) } else { 0.0 };
            before + after + (self.diagonal[row] - value) * vector(row)
        };
        (0..count).map(|row| of(row).powi(2)).sum::<f64>().sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::symmetric_eigen;
    use crate::solver::tests::random;

    #[test]
    fn the_largest_pairs_are_those_of_the_whole_decomposition() {
        for (dimension, count) in [(2, 1), (9, 9), (70, 13), (150, 40)] {
            let matrix = random(dimension, 1) * 1e-30;
            let size = matrix.norm();
            let (found, whole) = (largest_eigen(&matrix, count).unwrap().unwrap(), symmetric_eigen(&matrix).unwrap());
            let defect = &matrix * &found.vectors - &found.vectors * DMatrix::from_diagonal(&found.values);
            assert!(defect.amax() < 1e-13 * size, "{dimension}");
            assert!((found.vectors.tr_mul(&found.vectors) - DMatrix::identity(count, count)).amax() < 1e-13);
            assert!((&found.values - whole.values.rows(0, count)).amax() < 1e-14 * size, "{dimension}");
        }
    }

    /// Equal values whose vectors the tridiagonal form cannot tell apart.
    #[test]
    fn ties_are_found_or_left_to_the_whole_decomposition() {
        for matrix in
            [DMatrix::identity(40, 40), DMatrix::zeros(40, 40), random(20, 1).kronecker(&DMatrix::identity(2, 2))]
        {
            if let Some(found) = largest_eigen(&matrix, 4).unwrap() {
                let defect = &matrix * &found.vectors - &found.vectors * DMatrix::from_diagonal(&found.values);
                assert!(defect.amax() < 1e-12);
            }
        }
    }
}
