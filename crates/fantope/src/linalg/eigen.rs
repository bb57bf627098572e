//! Eigenvalues and eigenvectors of a symmetric matrix.

use core::convert::Infallible;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{ColMut, MatMut, MatRef, Par};
use nalgebra::{DMatrix, DVector, Scalar};
use thiserror::Error;

use super::sorted_descending;
use crate::figure::figure;

/// Largest asymmetry `|A_ij − A_ji| / max |A|` accepted as rounding: `1e-12`.
pub const SYMMETRY_TOLERANCE: f64 = 1e-12;

/// Eigenvalues in descending order with their orthonormal eigenvectors.
///
/// ```text
/// A = vectors · diag(values) · vectorsᵀ
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SymmetricEigen {
    /// The `d` eigenvalues, largest first.
    pub values: DVector<f64>,
    /// `d × d`, column-major: column `i` belongs to `values[i]`. The sign of a column is not determined.
    pub vectors: DMatrix<f64>,
}

/// Reasons why a matrix has no symmetric eigendecomposition here.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum EigenError {
    /// The matrix has no entries.
    #[error("the matrix is empty: pass at least one row and one column")]
    Empty,
    /// The matrix is not square.
    #[error("the matrix is {rows} × {columns}: pass a square one")]
    NotSquare {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
    },
    /// An entry is infinite or not a number.
    #[error("entry ({row}, {column}) is {value}: every entry must be finite")]
    NotFinite {
        /// Row of the first such entry, from 0.
        row: usize,
        /// Column of the first such entry, from 0.
        column: usize,
        /// The entry.
        value: f64,
    },
    /// Two mirrored entries differ by more than [`SYMMETRY_TOLERANCE`] allows.
    #[error(
        "entry ({row}, {column}) is {} but its mirror image is {}: pass a symmetric matrix",
        figure(*value), figure(*mirror)
    )]
    NotSymmetric {
        /// Row of the first such entry, from 0.
        row: usize,
        /// Column of the first such entry, from 0.
        column: usize,
        /// The entry.
        value: f64,
        /// The entry across the diagonal.
        mirror: f64,
    },
    /// The iteration inside the decomposition did not converge, or its answer does not reproduce the matrix.
    #[error(
        "the eigendecomposition of a {dimension} × {dimension} matrix failed (relative defect {defect:e}): \
         check the matrix for entries of wildly different magnitude"
    )]
    NotConverged {
        /// Dimension of the matrix.
        dimension: usize,
        /// Relative error of the rejected answer; infinite when there was none.
        defect: f64,
    },
}

/// Decomposes a symmetric `d × d` matrix, eigenvalues in descending order.
///
/// Mirrored entries may differ by [`SYMMETRY_TOLERANCE`] times the largest entry; their mean is decomposed.
/// The matrix is first scaled by a power of two, so neither tiny nor huge entries under- or overflow, and the answer
/// is verified in `O(d²)`: it must reproduce the trace, the Frobenius norm, and the matrix's action on one fixed
/// vector.
///
/// # Errors
///
/// [`EigenError`] when the matrix is empty, not square, not finite or not symmetric, or when the decomposition fails.
pub fn symmetric_eigen(matrix: &DMatrix<f64>) -> Result<SymmetricEigen, EigenError> {
    ScaledMatrix::new(matrix)?.eigen()
}

/// [`symmetric_eigen`] of a matrix that is already symmetric to the last bit: for a small matrix, checking that costs a
/// tenth of the decomposition.
///
/// # Errors
///
/// [`EigenError`] when the matrix is empty, not square or not finite, or when the decomposition fails.
pub(crate) fn exactly_symmetric_eigen(matrix: &DMatrix<f64>) -> Result<SymmetricEigen, EigenError> {
    debug_assert_eq!(matrix.map(f64::to_bits), matrix.transpose().map(f64::to_bits));
    ScaledMatrix::of_symmetric(matrix)?.eigen()
}

/// Eigenvalues alone of a symmetric `d × d` matrix, in descending order: about half the work of [`symmetric_eigen`].
///
/// # Errors
///
/// As [`symmetric_eigen`].
pub fn symmetric_eigenvalues(matrix: &DMatrix<f64>) -> Result<DVector<f64>, EigenError> {
    let scaled = ScaledMatrix::new(matrix)?;
    let values = scaled.decompose(|method| {
        let values = method.run(&scaled, None)?;
        scaled.verify_values(&values)?;
        Ok(values)
    })?;
    Ok(values * scaled.scale)
}

/// Ways to decompose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// The fastest. It fails on a few valid matrices: iterates of the sparse solver, and some of which a threshold left
    /// few entries, where it returns NaN.
    DivideAndConquer,
    /// QR iteration. It fails on a few others, most of whose entries are 0, too.
    Qr,
    /// QR iteration on the matrix plus a multiple of the identity, by which no eigenvalue is near 0.
    ShiftedQr,
}

impl Method {
    /// Eigenvalues in descending order; fills `vectors` in the same order when given.
    fn run(self, scaled: &ScaledMatrix, vectors: Option<&mut DMatrix<f64>>) -> Result<DVector<f64>, EigenError> {
        match self {
            Self::DivideAndConquer => scaled.divide_and_conquer(vectors),
            Self::Qr => scaled.iterate_qr(0.0, vectors),
            Self::ShiftedQr => scaled.iterate_qr(scaled.entries.norm(), vectors),
        }
    }
}

/// The symmetric part of a checked matrix, divided by a power of two so that its largest entry lies in `[1, 2)`.
pub(super) struct ScaledMatrix {
    pub(super) entries: DMatrix<f64>,
    pub(super) scale: f64,
}

impl ScaledMatrix {
    pub(super) fn new(matrix: &DMatrix<f64>) -> Result<Self, EigenError> {
        let largest = largest_entry(matrix)?;
        check_symmetry(matrix, SYMMETRY_TOLERANCE * largest)?;
        let scale = power_of_two_below(largest);
        let mut entries = matrix * (1.0 / scale);
        // Scaled before the sum: two entries near the largest float must not overflow.
        average_mirrored(&mut entries, |left, right| 0.5 * left + 0.5 * right);
        Ok(Self { entries, scale })
    }

    /// For a matrix whose symmetry needs no check.
    pub(super) fn of_symmetric(matrix: &DMatrix<f64>) -> Result<Self, EigenError> {
        let scale = power_of_two_below(largest_entry(matrix)?);
        Ok(Self { entries: matrix * (1.0 / scale), scale })
    }

    fn eigen(self) -> Result<SymmetricEigen, EigenError> {
        let dimension = self.entries.nrows();
        let (values, vectors) = self.decompose(|method| {
            let mut vectors = DMatrix::zeros(dimension, dimension);
            let values = method.run(&self, Some(&mut vectors))?;
            self.verify_values(&values)?;
            self.verify_vectors(&values, &vectors)?;
            Ok((values, vectors))
        })?;
        Ok(SymmetricEigen { values: values * self.scale, vectors })
    }

    /// The first answer that is verified.
    fn decompose<T>(&self, verified: impl Fn(Method) -> Result<T, EigenError>) -> Result<T, EigenError> {
        verified(Method::DivideAndConquer).or_else(|_| verified(Method::Qr)).or_else(|_| verified(Method::ShiftedQr))
    }

    fn iterate_qr(&self, shift: f64, vectors: Option<&mut DMatrix<f64>>) -> Result<DVector<f64>, EigenError> {
        const STEPS_PER_EIGENVALUE: usize = 100;
        let dimension = self.entries.nrows();
        let steps = STEPS_PER_EIGENVALUE * dimension;
        let mut shifted = self.entries.clone();
        (0..dimension).for_each(|index| shifted[(index, index)] += shift);
        let eigen = nalgebra::SymmetricEigen::try_new(shifted, f64::EPSILON, steps)
            .ok_or_else(|| self.not_converged(f64::INFINITY))?;
        let order = sorted_descending((0..dimension).collect(), |index| eigen.eigenvalues[*index]);
        if let Some(vectors) = vectors {
            for (column, &index) in order.iter().enumerate() {
                vectors.set_column(column, &eigen.eigenvectors.column(index));
            }
        }
        Ok(DVector::from_fn(dimension, |row, _| eigen.eigenvalues[order[row]] - shift))
    }

    fn divide_and_conquer(&self, mut vectors: Option<&mut DMatrix<f64>>) -> Result<DVector<f64>, EigenError> {
        let dimension = self.entries.nrows();
        let mut values = DVector::zeros(dimension);
        if dimension == 1 {
            values[0] = self.entries[(0, 0)];
            if let Some(vectors) = vectors {
                vectors[(0, 0)] = 1.0;
            }
            return Ok(values);
        }
        let wanted = if vectors.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
        let scratch = self_adjoint_evd_scratch::<f64>(dimension, wanted, Par::Seq, Default::default());
        self_adjoint_evd(
            MatRef::from_column_major_slice(self.entries.as_slice(), dimension, dimension),
            ColMut::from_slice_mut(values.as_mut_slice()).as_diagonal_mut(),
            vectors
                .as_deref_mut()
                .map(|vectors| MatMut::from_column_major_slice_mut(vectors.as_mut_slice(), dimension, dimension)),
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(scratch)),
            Default::default(),
        )
        .map_err(|_| self.not_converged(f64::INFINITY))?;
        values.as_mut_slice().reverse();
        if let Some(vectors) = vectors {
            for column in 0..dimension / 2 {
                vectors.swap_columns(column, dimension - 1 - column);
            }
        }
        Ok(values)
    }

    /// Trace and Frobenius norm are the first two moments of the eigenvalues.
    pub(super) fn verify_values(&self, values: &DVector<f64>) -> Result<(), EigenError> {
        let norm = self.entries.norm();
        let trace_defect = (values.sum() - self.entries.trace()).abs();
        let norm_defect = (values.norm() - norm).abs();
        self.accept(trace_defect.max(norm_defect), norm)
    }

    /// `A w = V diag(values) Vᵀ w` and `w = V Vᵀ w` for one fixed vector `w` of signs.
    fn verify_vectors(&self, values: &DVector<f64>, vectors: &DMatrix<f64>) -> Result<(), EigenError> {
        let probe = sign_probe(self.entries.nrows());
        let coordinates = vectors.tr_mul(&probe);
        let basis_defect = (vectors * &coordinates - &probe).norm();
        let action_defect = (vectors * coordinates.component_mul(values) - &self.entries * &probe).norm();
        self.accept(basis_defect, probe.norm())?;
        self.accept(action_defect, probe.norm() * self.entries.norm())
    }

    pub(super) fn accept(&self, defect: f64, size: f64) -> Result<(), EigenError> {
        // Backward error grows like d times the unit roundoff; a thousandfold margin still separates rounding from
        // failure.
        let limit = 1e3 * f64::EPSILON * self.entries.nrows() as f64 * size;
        // Written so that a NaN is refused too.
        if defect <= limit { Ok(()) } else { Err(self.not_converged(defect / size)) }
    }

    fn not_converged(&self, defect: f64) -> EigenError {
        EigenError::NotConverged { dimension: self.entries.nrows(), defect }
    }
}

/// Largest absolute entry, once the shape and every entry are known to be valid.
pub(super) fn largest_entry<T: Scalar + Copy + Into<f64>>(matrix: &DMatrix<T>) -> Result<f64, EigenError> {
    if matrix.is_empty() {
        return Err(EigenError::Empty);
    }
    if !matrix.is_square() {
        return Err(EigenError::NotSquare { rows: matrix.nrows(), columns: matrix.ncols() });
    }
    let mut largest = 0.0f64;
    for (position, entry) in matrix.iter().enumerate() {
        let value: f64 = (*entry).into();
        if !value.is_finite() {
            return Err(EigenError::NotFinite {
                row: position % matrix.nrows(),
                column: position / matrix.nrows(),
                value,
            });
        }
        largest = largest.max(value.abs());
    }
    Ok(largest)
}

/// Refuses mirrored entries that differ by more than `allowed`.
pub(super) fn check_symmetry<T: Scalar + Copy + Into<f64>>(
    matrix: &DMatrix<T>,
    allowed: f64,
) -> Result<(), EigenError> {
    visit_above_diagonal(matrix.ncols(), |row, column| {
        let (value, mirror): (f64, f64) = (matrix[(row, column)].into(), matrix[(column, row)].into());
        // Halves cannot overflow.
        let apart = (0.5 * value - 0.5 * mirror).abs() > 0.5 * allowed;
        if apart { Err(EigenError::NotSymmetric { row, column, value, mirror }) } else { Ok(()) }
    })
}

/// Replaces mirrored entries by their mean.
pub(super) fn average_mirrored<T: Scalar + Copy>(matrix: &mut DMatrix<T>, mean: impl Fn(T, T) -> T) {
    let dimension = matrix.nrows();
    let entries = matrix.as_mut_slice();
    let Ok(()) = visit_above_diagonal(dimension, |row, column| {
        let (upper, lower) = (column * dimension + row, row * dimension + column);
        let average = mean(entries[upper], entries[lower]);
        entries[upper] = average;
        entries[lower] = average;
        Ok::<(), Infallible>(())
    });
}

/// Visits every row and column above the diagonal, in tiles so that an entry and its mirror image stay in cache. The
/// first error ends it.
fn visit_above_diagonal<E>(dimension: usize, mut visit: impl FnMut(usize, usize) -> Result<(), E>) -> Result<(), E> {
    const TILE: usize = 64;
    for column_tile in (0..dimension).step_by(TILE) {
        for row_tile in (0..=column_tile).step_by(TILE) {
            for column in column_tile..dimension.min(column_tile + TILE) {
                for row in row_tile..column.min(row_tile + TILE) {
                    visit(row, column)?;
                }
            }
        }
    }
    Ok(())
}

/// The power of two in `(value / 2, value]`, or 1 for zero; subnormal values share the smallest normal power.
pub(crate) fn power_of_two_below(value: f64) -> f64 {
    if value == 0.0 {
        return 1.0;
    }
    const EXPONENT_BITS: u64 = 0x7ff0_0000_0000_0000;
    f64::from_bits(value.max(f64::MIN_POSITIVE).to_bits() & EXPONENT_BITS)
}

/// A fixed ±1 vector without the regularity (constant, alternating) that structured matrices have.
fn sign_probe(dimension: usize) -> DVector<f64> {
    DVector::from_fn(dimension, |index, _| {
        let mixed = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if (mixed >> 40).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decomposition_reproduces_matrices_below_and_above_the_recursion_threshold() {
        for dimension in [1, 2, 3, 17, 90, 200] {
            let matrix = DMatrix::from_fn(dimension, dimension, |i, j| ((i * j) as f64).sin() + (i + j) as f64 / 50.0);
            let eigen = symmetric_eigen(&matrix).unwrap();
            let rebuilt = &eigen.vectors * DMatrix::from_diagonal(&eigen.values) * eigen.vectors.transpose();
            assert!((rebuilt - &matrix).norm() <= 1e-12 * matrix.norm().max(1.0), "dimension {dimension}");
            let orthonormal = eigen.vectors.tr_mul(&eigen.vectors) - DMatrix::identity(dimension, dimension);
            assert!(orthonormal.norm() < 1e-12);
            assert!(eigen.values.as_slice().is_sorted_by(|a, b| a >= b));
            let alone = symmetric_eigenvalues(&matrix).unwrap();
            assert!((alone - &eigen.values).norm() <= 1e-12 * matrix.norm().max(1.0));
        }
    }

    #[test]
    fn bad_matrices_are_refused_with_their_value() {
        assert_eq!(symmetric_eigen(&DMatrix::zeros(0, 0)), Err(EigenError::Empty));
        assert_eq!(symmetric_eigen(&DMatrix::zeros(2, 3)), Err(EigenError::NotSquare { rows: 2, columns: 3 }));
        let mut matrix = DMatrix::<f64>::identity(3, 3);
        matrix[(2, 1)] = 0.5;
        let refused = EigenError::NotSymmetric { row: 1, column: 2, value: 0.0, mirror: 0.5 };
        assert_eq!(symmetric_eigenvalues(&matrix), Err(refused));
        matrix[(2, 1)] = f64::INFINITY;
        let refused = EigenError::NotFinite { row: 2, column: 1, value: f64::INFINITY };
        assert_eq!(symmetric_eigenvalues(&matrix), Err(refused));
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for place in 0..4 {
                let mut matrix = DMatrix::<f64>::identity(2, 2);
                matrix[place] = bad;
                assert!(matches!(symmetric_eigen(&matrix), Err(EigenError::NotFinite { .. })), "{place} {bad}");
            }
        }
    }

    #[test]
    fn wrong_answers_are_refused() {
        let scaled = ScaledMatrix::new(&DMatrix::from_diagonal_element(3, 3, 1.0)).unwrap();
        let ones = DVector::from_element(3, 1.0);
        assert!(scaled.verify_values(&DVector::from_vec(vec![1.0, 1.0, f64::NAN])).is_err());
        assert!(scaled.verify_values(&DVector::from_vec(vec![1.0, 1.0, 1.1])).is_err());
        assert!(scaled.verify_vectors(&ones, &DMatrix::zeros(3, 3)).is_err());
        assert!(scaled.verify_vectors(&ones, &DMatrix::identity(3, 3)).is_ok());
    }

    #[test]
    fn the_slower_iteration_gives_the_same_decomposition() {
        let tied =
            DMatrix::from_fn(40, 40, |i, j| if i == j { 2.0 } else { 0.0 } + if i < 3 && j < 3 { 1.0 } else { 0.0 });
        let generic = DMatrix::from_fn(40, 40, |i, j| ((i * j) as f64 + (i + j) as f64 * 0.3).sin());
        for matrix in [DMatrix::zeros(5, 5), DMatrix::from_element(1, 1, -3.0), tied, generic] {
            let scaled = ScaledMatrix::new(&matrix).unwrap();
            let dimension = matrix.nrows();
            let mut vectors = DMatrix::zeros(dimension, dimension);
            let values = scaled.iterate_qr(0.0, Some(&mut vectors)).unwrap();
            assert!(values.as_slice().is_sorted_by(|above, below| above >= below));
            scaled.verify_values(&values).unwrap();
            scaled.verify_vectors(&values, &vectors).unwrap();
            assert!((values - scaled.divide_and_conquer(None).unwrap()).amax() < 1e-12);
        }
    }

    /// What a threshold left of an estimate of 116 features: a row, a column and the entry. Divide and conquer has NaN.
    #[rustfmt::skip]
    const THRESHOLDED: [(usize, usize, i16); 110] = [
        (8, 8, 53), (8, 23, 95), (8, 27, 14), (8, 28, 109), (8, 37, 126), (8, 61, 77), (8, 114, 48), (17, 17,
        395), (17, 18, 420), (17, 20, 15), (17, 23, 486), (17, 26, 572), (17, 27, 456), (17, 28, 443), (17, 30,
        483), (17, 36, 517), (17, 37, 18), (17, 53, 473), (17, 114, 455), (18, 18, 525), (18, 23, 467), (18, 26,
        432), (18, 27, 521), (18, 28, 445), (18, 30, 493), (18, 36, 480), (18, 53, 462), (18, 114, 442), (19,
        19, 112), (19, 20, 109), (19, 26, 71), (19, 32, 91), (19, 33, 104), (19, 37, 117), (19, 84, 103), (19,
        110, 134), (20, 20, 156), (20, 26, 147), (20, 32, 89), (20, 33, 173), (20, 37, 149), (20, 84, 110), (20,
        110, 143), (23, 23, 770), (23, 26, 638), (23, 27, 669), (23, 28, 643), (23, 30, 499), (23, 36, 514),
        (23, 37, 131), (23, 53, 421), (23, 61, 68), (23, 114, 732), (26, 26, 850), (26, 27, 630), (26, 28, 623),
        (26, 30, 476), (26, 32, 167), (26, 33, 87), (26, 36, 504), (26, 37, 268), (26, 53, 462), (26, 84, 155),
        (26, 110, 102), (26, 114, 650), (27, 27, 682), (27, 28, 686), (27, 30, 461), (27, 36, 480), (27, 37,
        82), (27, 53, 489), (27, 61, 46), (27, 114, 704), (28, 28, 706), (28, 30, 501), (28, 36, 474), (28, 37,
        137), (28, 53, 498), (28, 61, 59), (28, 114, 721), (30, 30, 520), (30, 36, 462), (30, 53, 438), (30,
        114, 504), (32, 32, 81), (32, 33, 110), (32, 37, 116), (32, 84, 114), (32, 110, 103), (33, 33, 85), (33,
        37, 94), (33, 84, 108), (33, 110, 130), (36, 36, 440), (36, 53, 449), (36, 114, 515), (37, 37, 383),
        (37, 61, 45), (37, 84, 132), (37, 110, 122), (37, 114, 106), (53, 53, 436), (53, 114, 487), (61, 61,
        133), (61, 114, 60), (84, 84, 150), (84, 110, 114), (89, 99, -11), (110, 110, 122), (114, 114, 761),
    ];

    #[test]
    fn what_one_method_fails_on_another_decomposes() {
        let mut matrix = DMatrix::zeros(116, 116);
        for (row, column, entry) in THRESHOLDED {
            matrix[(row, column)] = f64::from(entry);
            matrix[(column, row)] = f64::from(entry);
        }
        let eigen = symmetric_eigen(&matrix).unwrap();
        let values = symmetric_eigenvalues(&matrix).unwrap();
        assert!((&eigen.values - values).amax() < 1e-12 * matrix.norm());
        let again = &eigen.vectors * DMatrix::from_diagonal(&eigen.values) * eigen.vectors.transpose();
        assert!((again - &matrix).amax() < 1e-12 * matrix.norm());
        // Every method alone decomposes a matrix that is not special, and whichever fails, the next one answers.
        let dense = DMatrix::from_fn(30, 30, |row, column| ((row * column) as f64).cos());
        let scaled = ScaledMatrix::new(&dense).unwrap();
        let methods = [Method::DivideAndConquer, Method::Qr, Method::ShiftedQr];
        for failing in 0..methods.len() {
            let (used, values) = scaled
                .decompose(|method| match methods.iter().position(|other| *other == method) {
                    Some(place) if place < failing => Err(scaled.not_converged(f64::NAN)),
                    _ => method.run(&scaled, None).map(|values| (method, values)),
                })
                .unwrap();
            assert_eq!(used, methods[failing]);
            scaled.verify_values(&values).unwrap();
            assert!(values.as_slice().is_sorted_by(|above, below| above >= below));
        }
    }
}
