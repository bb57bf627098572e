//! A dense symmetric matrix in double or single precision.

use nalgebra::DMatrix;

use super::EigenError;
use super::eigen::{SYMMETRY_TOLERANCE, average_mirrored, check_symmetry, largest_entry};

/// Largest asymmetry accepted as rounding in single precision, relative to the largest entry: `1e-6`.
pub const SINGLE_SYMMETRY_TOLERANCE: f64 = 1e-6;

/// A finite symmetric `d × d` matrix, symmetric to the last bit.
///
/// Entries may be stored in single precision, which halves the memory of a large matrix; every computation with them is
/// in double precision.
#[derive(Clone, Debug, PartialEq)]
pub struct SymmetricMatrix {
    entries: Entries,
}

#[derive(Clone, Debug, PartialEq)]
enum Entries {
    Double(DMatrix<f64>),
    Single(DMatrix<f32>),
}

/// A stored entry: a number that a double holds exactly.
pub(crate) trait Stored: Copy + Into<f64> {}
impl Stored for f64 {}
impl Stored for f32 {}

/// Work on the stored columns of either precision: `d` slices of `d` entries, in order.
pub(crate) trait ColumnVisitor {
    /// Takes column `index`.
    fn visit<T: Stored>(&mut self, index: usize, column: &[T]);
}

impl SymmetricMatrix {
    /// Checks a matrix and replaces it with its symmetric part `(A + Aᵀ) / 2`, in place.
    ///
    /// # Errors
    ///
    /// [`EigenError`] when the matrix is empty, not square, not finite, or mirrored entries differ by more than
    /// [`SYMMETRY_TOLERANCE`] times the largest one.
    pub fn new(mut matrix: DMatrix<f64>) -> Result<Self, EigenError> {
        let largest = largest_entry(&matrix)?;
        check_symmetry(&matrix, SYMMETRY_TOLERANCE * largest)?;
        average_mirrored(&mut matrix, f64::midpoint);
        Ok(Self { entries: Entries::Double(matrix) })
    }

    /// As [`SymmetricMatrix::new`], in single precision with [`SINGLE_SYMMETRY_TOLERANCE`].
    ///
    /// # Errors
    ///
    /// As [`SymmetricMatrix::new`].
    pub fn from_single(mut matrix: DMatrix<f32>) -> Result<Self, EigenError> {
        let largest = largest_entry(&matrix)?;
        check_symmetry(&matrix, SINGLE_SYMMETRY_TOLERANCE * largest)?;
        average_mirrored(&mut matrix, f32::midpoint);
        Ok(Self { entries: Entries::Single(matrix) })
    }

    /// The number of rows, `d`.
    #[must_use]
    pub fn dimension(&self) -> usize {
        match &self.entries {
            Entries::Double(matrix) => matrix.nrows(),
            Entries::Single(matrix) => matrix.nrows(),
        }
    }

    /// Entry `(row, column)`.
    ///
    /// # Panics
    ///
    /// When there is no such entry.
    #[must_use]
    pub fn entry(&self, row: usize, column: usize) -> f64 {
        match &self.entries {
            Entries::Double(matrix) => matrix[(row, column)],
            Entries::Single(matrix) => f64::from(matrix[(row, column)]),
        }
    }

    /// The submatrix of these rows and columns, in their order.
    ///
    /// # Panics
    ///
    /// When there is no such row.
    #[must_use]
    pub fn submatrix(&self, rows: &[usize], columns: &[usize]) -> DMatrix<f64> {
        DMatrix::from_fn(rows.len(), columns.len(), |row, column| self.entry(rows[row], columns[column]))
    }

    /// The matrix in double precision: a copy.
    #[must_use]
    pub fn to_double(&self) -> DMatrix<f64> {
        match &self.entries {
            Entries::Double(matrix) => matrix.clone(),
            Entries::Single(matrix) => matrix.map(f64::from),
        }
    }

    /// Mean of the diagonal, `tr A / d`.
    #[must_use]
    pub fn mean_diagonal(&self) -> f64 {
        mean(self.dimension(), |index| self.entry(index, index))
    }

    /// Passes every column to the visitor.
    pub(crate) fn visit_columns(&self, visitor: &mut impl ColumnVisitor) {
        let dimension = self.dimension();
        match &self.entries {
            Entries::Double(matrix) => {
                let columns = matrix.as_slice().chunks_exact(dimension).enumerate();
                columns.for_each(|(index, column)| visitor.visit(index, column));
            }
            Entries::Single(matrix) => {
                let columns = matrix.as_slice().chunks_exact(dimension).enumerate();
                columns.for_each(|(index, column)| visitor.visit(index, column));
            }
        }
    }
}

/// The mean of `count` numbers, at least one: exact where they are equal, and finite.
pub(crate) fn mean(count: usize, entry: impl Fn(usize) -> f64) -> f64 {
    // Dividing before summing keeps huge entries from overflowing. What is summed is how far the mean is from one.
    let share = |index| entry(index) / count as f64;
    (1..count).fold(entry(0), |mean, index| mean + (share(index) - share(0)))
}

/// Writes a block over the entries of `whole` at these rows and columns.
pub(crate) fn scatter(block: &DMatrix<f64>, rows: &[usize], whole: &mut DMatrix<f64>) {
    for (column, at_column) in rows.iter().enumerate() {
        for (row, at_row) in rows.iter().enumerate() {
            whole[(*at_row, *at_column)] = block[(row, column)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_asymmetry_is_averaged_in_either_precision() {
        let matrix = DMatrix::from_fn(130, 130, |i, j| ((i * j) as f64).sin());
        let mut rough = matrix.clone();
        rough[(3, 129)] += 1e-13;
        let double = SymmetricMatrix::new(rough).unwrap();
        assert_eq!(double.entry(3, 129), double.entry(129, 3));
        assert!((double.entry(3, 129) - matrix[(3, 129)] - 0.5e-13).abs() < 1e-15);
        let single = SymmetricMatrix::from_single(matrix.map(|entry| entry as f32)).unwrap();
        assert_eq!((single.dimension(), single.entry(5, 7)), (130, f64::from((35f64).sin() as f32)));
        assert!((single.to_double() - &matrix).amax() < 1e-7);
        assert!((single.mean_diagonal() - matrix.trace() / 130.0).abs() < 1e-7);
        assert_eq!(double.submatrix(&[2, 1], &[0, 129]), DMatrix::from_fn(2, 2, |i, j| double.entry(2 - i, 129 * j)));
    }

    #[test]
    fn the_mean_of_equal_entries_is_exact_and_no_mean_overflows() {
        for entry in [0.9, 0.1, -1e-320, f64::MAX] {
            for dimension in [1, 3, 7, 49] {
                let matrix = SymmetricMatrix::new(DMatrix::from_diagonal_element(dimension, dimension, entry));
                assert_eq!(matrix.unwrap().mean_diagonal(), entry, "{dimension}");
            }
        }
        let of = |entries: [f64; 4]| mean(4, |index| entries[index]);
        let most = f64::MAX;
        assert_eq!([of([-most, most, most, most]), of([most, -most, most, -most])], [most / 2.0, 0.0]);
        assert_eq!(of([3.0, -2.0, 1.0, 4.0]), 1.5);
    }

    #[test]
    fn what_is_not_symmetric_and_finite_is_refused() {
        assert_eq!(SymmetricMatrix::new(DMatrix::zeros(0, 0)), Err(EigenError::Empty));
        assert!(matches!(SymmetricMatrix::new(DMatrix::zeros(2, 3)), Err(EigenError::NotSquare { .. })));
        let mut matrix = DMatrix::<f32>::identity(100, 100);
        matrix[(99, 1)] = 0.5;
        let refused = EigenError::NotSymmetric { row: 1, column: 99, value: 0.0, mirror: 0.5 };
        assert_eq!(SymmetricMatrix::from_single(matrix.clone()), Err(refused));
        matrix[(99, 1)] = f32::INFINITY;
        assert!(matches!(SymmetricMatrix::from_single(matrix), Err(EigenError::NotFinite { row: 99, column: 1, .. })));
        let huge = DMatrix::from_element(2, 2, f64::MAX);
        assert_eq!(SymmetricMatrix::new(huge).unwrap().entry(0, 1), f64::MAX);
        // Half of the smallest number is 0.
        let small = DMatrix::from_element(2, 2, 3.0 * f64::from_bits(1));
        assert_eq!(SymmetricMatrix::new(small.clone()).unwrap().to_double(), small);
    }
}
