//! A dense symmetric matrix in double or single precision.

use nalgebra::DMatrix;

use super::EigenError;
use super::eigen::{SYMMETRY_TOLERANCE, check_symmetry, largest_entry};

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

/// What is stored: a number that a double holds exactly.
pub(crate) trait Stored: Copy + Into<f64> {}
impl Stored for f64 {}
impl Stored for f32 {}

/// Work on the stored columns of either precision: `d` slices of `d` entries, in order.
pub(crate) trait ColumnVisitor {
    /// Takes column `index`.
    fn visit<T: Stored>(&mut self, index: usize, column: &[T]);
}

impl SymmetricMatrix {
    /// Checks a matrix and makes it its symmetric part `(A + Aᵀ) / 2`, in place.
    ///
    /// # Errors
    ///
    /// [`EigenError`] when the matrix is empty, not square, not finite, or mirrored entries differ by more than
    /// [`SYMMETRY_TOLERANCE`] times the largest one.
    pub fn new(mut matrix: DMatrix<f64>) -> Result<Self, EigenError> {
        let largest = largest_entry(&matrix)?;
        check_symmetry(&matrix, SYMMETRY_TOLERANCE * largest)?;
        // Halves cannot overflow.
        average_mirrored(&mut matrix, |left, right| 0.5 * left + 0.5 * right);
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
        average_mirrored(&mut matrix, |left, right| 0.5 * left + 0.5 * right);
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
        // Dividing before summing keeps huge entries from overflowing.
        let count = self.dimension() as f64;
        (0..self.dimension()).map(|index| self.entry(index, index) / count).sum()
    }

    /// Shows every column to the visitor.
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

/// Replaces mirrored entries by their mean, in tiles so that both sides stay in cache.
fn average_mirrored<T: nalgebra::Scalar + Copy>(matrix: &mut DMatrix<T>, mean: impl Fn(T, T) -> T) {
    const TILE: usize = 64;
    let dimension = matrix.nrows();
    let entries = matrix.as_mut_slice();
    for column_tile in (0..dimension).step_by(TILE) {
        for row_tile in (0..=column_tile).step_by(TILE) {
            for column in column_tile..dimension.min(column_tile + TILE) {
                for row in row_tile..column.min(row_tile + TILE) {
                    let (upper, lower) = (column * dimension + row, row * dimension + column);
                    let average = mean(entries[upper], entries[lower]);
                    entries[upper] = average;
                    entries[lower] = average;
                }
            }
        }
    }
}
