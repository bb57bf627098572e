//! A `k`-dimensional subspace of `d`-dimensional space, and the distance between two of them.
//!
//! ```
//! use fantope::subspace::{Subspace, sin_theta_squared};
//! use nalgebra::DMatrix;
//!
//! let plane = Subspace::new(&DMatrix::from_row_slice(3, 2, &[2.0, 1.0, 0.0, 1.0, 0.0, 0.0]))?;
//! let tilted = Subspace::new(&DMatrix::from_row_slice(3, 2, &[1.0, 0.0, 0.0, 3.0, 0.0, 4.0]))?;
//! assert!((sin_theta_squared(&plane, &tilted)? - 0.64).abs() < 1e-15);
//! # Ok::<(), fantope::subspace::SubspaceError>(())
//! ```

use nalgebra::DMatrix;
use thiserror::Error;

/// Smallest sine of the angle between a column and the span of those before it that still adds a dimension: `1e-10`.
pub const INDEPENDENCE_TOLERANCE: f64 = 1e-10;

/// Entries within this relative distance of the largest count as tied in the sign convention: `1e-9`.
const SIGN_TIE_TOLERANCE: f64 = 1e-9;

/// The rounding of a sum of variances, relative to it: `1e-12`.
const ROUNDING: f64 = 1e-12;

/// A subspace, held as an orthonormal `d × k` basis (column-major, `1 ≤ k ≤ d`).
///
/// The constructor guarantees orthonormality up to rounding, but not which basis of the subspace it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Subspace {
    basis: DMatrix<f64>,
}

/// Reasons why a matrix spans no subspace of its width, or two subspaces cannot be compared.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum SubspaceError {
    /// The basis has no rows or no columns.
    #[error("a basis of {rows} rows and {columns} columns spans nothing: pass at least one of each")]
    Empty {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
    },
    /// An entry is infinite or not a number.
    #[error("basis entry ({row}, {column}) is {value}: every entry must be finite")]
    NotFinite {
        /// Row of the first such entry, from 0.
        row: usize,
        /// Column of the first such entry, from 0.
        column: usize,
        /// The entry.
        value: f64,
    },
    /// A column depends on those before it.
    #[error("basis column {column} lies in the span of the columns before it: drop it")]
    Dependent {
        /// The first such column, from 0.
        column: usize,
    },
    /// Two operands live in spaces of different dimension or have different ranks.
    #[error(
        "a {} × {} object cannot be compared with a {} × {} one: both numbers must agree",
        left.0, left.1, right.0, right.1
    )]
    Mismatch {
        /// Dimension and rank of the first operand.
        left: (usize, usize),
        /// Dimension and rank of the second operand.
        right: (usize, usize),
    },
}

impl Subspace {
    /// Spans the subspace of the columns of a `d × k` matrix, orthonormalising them in order (Householder QR).
    ///
    /// Columns may have any nonzero length. Orthonormal columns come back unchanged up to rounding, signs included.
    ///
    /// # Errors
    ///
    /// [`SubspaceError::Empty`], [`SubspaceError::NotFinite`], or [`SubspaceError::Dependent`] when a column, scaled to
    /// length 1, is within [`INDEPENDENCE_TOLERANCE`] of the span of those before it (always so when `k > d`).
    pub fn new(columns: &DMatrix<f64>) -> Result<Self, SubspaceError> {
        let (dimension, rank) = columns.shape();
        if columns.is_empty() {
            return Err(SubspaceError::Empty { rows: dimension, columns: rank });
        }
        let directions = unit_columns(columns)?;
        if rank > dimension {
            return Err(SubspaceError::Dependent { column: dimension });
        }
        let (mut basis, triangle) = directions.qr().unpack();
        for (column, diagonal) in triangle.diagonal().iter().enumerate() {
            if diagonal.abs() <= INDEPENDENCE_TOLERANCE {
                return Err(SubspaceError::Dependent { column });
            }
            if *diagonal < 0.0 {
                basis.column_mut(column).neg_mut();
            }
        }
        Ok(Self { basis })
    }

    /// The orthonormal basis, `d × k`, column-major.
    pub fn basis(&self) -> &DMatrix<f64> {
        &self.basis
    }

    /// Returns the orthonormal basis, `d × k`, column-major, and consumes the subspace.
    pub fn into_basis(self) -> DMatrix<f64> {
        self.basis
    }

    /// Dimension `d` of the surrounding space.
    pub fn dimension(&self) -> usize {
        self.basis.nrows()
    }

    /// Dimension `k` of the subspace itself.
    pub fn rank(&self) -> usize {
        self.basis.ncols()
    }
}

/// Squared Frobenius norm of the sines of the principal angles, in `[0, k]`: 0 for equal subspaces, `k` for orthogonal.
///
/// ```text
/// ‖sin Θ‖²_F = k − ‖AᵀB‖²_F = ‖(I − AAᵀ) B‖²_F
/// ```
///
/// Computed in the last form, which does not cancel: angles down to about 1e-16 are resolved.
///
/// # Errors
///
/// [`SubspaceError::Mismatch`] unless both have the same dimension and rank.
pub fn sin_theta_squared(a: &Subspace, b: &Subspace) -> Result<f64, SubspaceError> {
    check_match(a, b)?;
    Ok(residual(a, b).norm_squared().min(a.rank() as f64))
}

/// Variance of `A` along the subspace, in the units of `A`: the utility `q_F` of the private-PCA literature.
///
/// ```text
/// q_F = tr(Vᵀ A V)
/// ```
///
/// # Errors
///
/// [`SubspaceError::Mismatch`] unless `covariance` is `d × d`.
pub fn captured_variance(subspace: &Subspace, covariance: &DMatrix<f64>) -> Result<f64, SubspaceError> {
    if covariance.shape() != (subspace.dimension(), subspace.dimension()) {
        return Err(mismatch(subspace, covariance));
    }
    Ok((covariance * &subspace.basis).dot(&subspace.basis))
}

/// Share of the structure of `A` found by the subspace: its variance above what a random subspace has on average, over
/// that of `best`, the span of the leading `k` eigenvectors of `A`.
///
/// ```text
/// (tr(Vᵀ A V) − (k/d) tr A) / (λ₁ + … + λ_k − (k/d) tr A)
/// ```
///
/// 1 for the best subspace, 0 for a random one on average, and below 0 for one that is worse. `None` where all
/// subspaces have the same variance.
///
/// # Errors
///
/// [`SubspaceError::Mismatch`] unless both have the same dimension and rank, and `covariance` is `d × d`.
pub fn share_found(
    subspace: &Subspace,
    best: &Subspace,
    covariance: &DMatrix<f64>,
) -> Result<Option<f64>, SubspaceError> {
    check_match(subspace, best)?;
    let [captured, most] = [captured_variance(subspace, covariance)?, captured_variance(best, covariance)?];
    let random = subspace.rank() as f64 / subspace.dimension() as f64 * covariance.trace();
    Ok(share_of_structure(captured, most, random))
}

/// The [share found](share_found), from the variances along a subspace, along the best one and, on average, along a
/// random one. `None` where the last two differ by no more than rounding, or are no numbers.
#[must_use]
pub fn share_of_structure(captured: f64, most: f64, random: f64) -> Option<f64> {
    let share = (captured - random) / (most - random);
    (share.is_finite() && most - random > ROUNDING * most).then_some(share)
}

/// Gives every column its conventional sign: the entry of largest magnitude is positive.
///
/// Magnitudes within a relative `1e-9` of the largest are tied, and the lowest row decides, so that rounding on
/// another machine does not flip a component. Columns of zeros stay as they are.
pub fn orient_columns_in_place(columns: &mut DMatrix<f64>) {
    for mut column in columns.column_iter_mut() {
        let threshold = column.amax() * (1.0 - SIGN_TIE_TOLERANCE);
        if column.iter().find(|entry| entry.abs() >= threshold).is_some_and(|entry| *entry < 0.0) {
            column.neg_mut();
        }
    }
}

fn unit_columns(columns: &DMatrix<f64>) -> Result<DMatrix<f64>, SubspaceError> {
    let mut directions = columns.clone();
    for (index, mut column) in directions.column_iter_mut().enumerate() {
        if let Some(row) = column.iter().position(|entry| !entry.is_finite()) {
            return Err(SubspaceError::NotFinite { row, column: index, value: column[row] });
        }
        let largest = column.amax();
        if largest == 0.0 {
            return Err(SubspaceError::Dependent { column: index });
        }
        // Dividing by the largest entry first keeps the norm from over- or underflowing.
        column.apply(|entry| *entry /= largest);
        let norm = column.norm();
        column.apply(|entry| *entry /= norm);
    }
    Ok(directions)
}

fn check_match(a: &Subspace, b: &Subspace) -> Result<(), SubspaceError> {
    if a.basis.shape() == b.basis.shape() { Ok(()) } else { Err(mismatch(a, &b.basis)) }
}

fn mismatch(left: &Subspace, right: &DMatrix<f64>) -> SubspaceError {
    SubspaceError::Mismatch { left: left.basis.shape(), right: right.shape() }
}

/// `(I − AAᵀ) B`: the part of `B` outside `A`, whose singular values are the sines.
fn residual(a: &Subspace, b: &Subspace) -> DMatrix<f64> {
    &b.basis - &a.basis * a.basis.tr_mul(&b.basis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::DVector;

    fn line(angle: f64) -> Subspace {
        Subspace::new(&DMatrix::from_column_slice(3, 1, &[angle.cos(), angle.sin(), 0.0])).unwrap()
    }

    #[test]
    fn distances_of_lines_are_functions_of_their_angle() {
        for angle in [0.0, 1e-12, 0.3, 1.0, std::f64::consts::FRAC_PI_2] {
            let (a, b) = (line(0.0), line(angle));
            let squared = sin_theta_squared(&a, &b).unwrap();
            assert!((squared - angle.sin().powi(2)).abs() <= 1e-15 * angle.max(1e-9), "{angle}");
        }
    }

    #[test]
    fn the_distance_is_half_the_squared_one_of_the_projectors() {
        let a = Subspace::new(&DMatrix::from_fn(6, 2, |i, j| ((3 * i + j) as f64).sin())).unwrap();
        let b = Subspace::new(&DMatrix::from_fn(6, 2, |i, j| ((i + 5 * j) as f64).cos())).unwrap();
        let direct = (a.basis() * a.basis().transpose() - b.basis() * b.basis().transpose()).norm_squared();
        assert!((2.0 * sin_theta_squared(&a, &b).unwrap() - direct).abs() < 1e-13);
    }

    #[test]
    fn the_basis_does_not_change_the_subspace() {
        let columns = DMatrix::from_fn(5, 3, |i, j| ((2 * i + 7 * i * j) as f64).sin());
        let mixed = &columns * DMatrix::from_row_slice(3, 3, &[1.0, 2.0, 0.0, 0.0, -3.0, 1.0, 0.0, 0.0, 1e6]);
        let (a, b) = (Subspace::new(&columns).unwrap(), Subspace::new(&mixed).unwrap());
        assert!(sin_theta_squared(&a, &b).unwrap() < 1e-18);
    }

    #[test]
    fn orthonormal_columns_come_back_with_their_signs() {
        let basis = DMatrix::from_row_slice(3, 2, &[0.0, -1.0, -1.0, 0.0, 0.0, 0.0]);
        assert!((Subspace::new(&basis).unwrap().basis() - &basis).norm() < 1e-15);
    }

    #[test]
    fn captured_variance_is_the_trace_of_the_block() {
        let a = Subspace::new(&DMatrix::from_column_slice(3, 2, &[1.0, 0.0, 0.0, 0.0, 0.0, 2.0])).unwrap();
        let covariance = DMatrix::from_diagonal(&DVector::from_vec(vec![3.0, 2.0, 1.0]));
        assert_eq!(captured_variance(&a, &covariance).unwrap(), 4.0);
        assert!(matches!(captured_variance(&a, &DMatrix::zeros(2, 2)), Err(SubspaceError::Mismatch { .. })));
    }

    /// Of one dimension and two ranks: the formulas would have a number for them.
    #[test]
    fn subspaces_of_different_rank_are_not_compared() {
        let plane = Subspace::new(&DMatrix::identity(3, 2)).unwrap();
        for (a, b) in [(&plane, &line(0.1)), (&line(0.1), &plane)] {
            assert!(matches!(sin_theta_squared(a, b), Err(SubspaceError::Mismatch { .. })));
            assert!(matches!(share_found(a, b, &DMatrix::identity(3, 3)), Err(SubspaceError::Mismatch { .. })));
        }
    }

    #[test]
    fn the_share_found_is_that_of_the_sines_where_components_have_one_variance() {
        let turned = DMatrix::from_fn(4, 2, |row, column| f64::from(u8::from(row == column)) + 0.1 * row as f64);
        for rank in [1, 2] {
            let best = Subspace::new(&DMatrix::identity(4, rank)).unwrap();
            let found = Subspace::new(&turned.columns(0, rank).into_owned()).unwrap();
            let beside = Subspace::new(&DMatrix::<f64>::identity(4, 4).columns(2, rank).into_owned()).unwrap();
            let covariance = DMatrix::from_fn(4, 4, |row, column| match (row == column, row < rank) {
                (true, true) => 3.0,
                (true, false) => 0.5,
                _ => 0.0,
            });
            let k = rank as f64;
            let expected = 1.0 - sin_theta_squared(&found, &best).unwrap() / (k * (1.0 - k / 4.0));
            let share = share_found(&found, &best, &covariance).unwrap().unwrap();
            assert!((share - expected).abs() < 1e-14 && share < 0.99, "{share} {expected}");
            assert!(share_found(&found, &line(0.0), &covariance).is_err());
            assert_eq!(share_found(&best, &best, &covariance).unwrap(), Some(1.0));
            // Worse than a random one has on average.
            let share = share_found(&beside, &best, &covariance).unwrap().unwrap();
            assert!((share - (1.0 - 1.0 / (1.0 - k / 4.0))).abs() < 1e-14 && share < 0.0, "{share}");
        }
    }

    #[test]
    fn without_structure_there_is_no_share_of_it() {
        let best = Subspace::new(&DMatrix::identity(3, 1)).unwrap();
        for level in [0.0, 0.1, 1e300, f64::NAN] {
            assert_eq!(share_found(&line(0.3), &best, &DMatrix::from_diagonal_element(3, 3, level)).unwrap(), None);
        }
        let whole = Subspace::new(&DMatrix::identity(3, 3)).unwrap();
        let covariance = DMatrix::from_diagonal(&DVector::from_vec(vec![0.3, 0.2, 0.1]));
        assert_eq!(share_found(&whole, &whole, &covariance).unwrap(), None);
    }

    #[test]
    fn matrices_that_span_too_little_are_refused() {
        let repeated = DMatrix::from_row_slice(3, 2, &[1.0, 2.0, 1.0, 2.0, 0.0, 0.0]);
        assert_eq!(Subspace::new(&repeated), Err(SubspaceError::Dependent { column: 1 }));
        assert_eq!(Subspace::new(&DMatrix::zeros(3, 1)), Err(SubspaceError::Dependent { column: 0 }));
        assert_eq!(Subspace::new(&DMatrix::identity(2, 3)), Err(SubspaceError::Dependent { column: 2 }));
        assert_eq!(Subspace::new(&DMatrix::zeros(3, 0)), Err(SubspaceError::Empty { rows: 3, columns: 0 }));
        let infinite = Subspace::new(&DMatrix::from_element(2, 1, f64::INFINITY));
        assert_eq!(infinite, Err(SubspaceError::NotFinite { row: 0, column: 0, value: f64::INFINITY }));
    }

    #[test]
    fn sign_convention_makes_the_largest_entry_positive_and_lower_rows_decide_ties() {
        let mut columns = DMatrix::from_column_slice(2, 4, &[0.6, -0.8, -0.5, 0.5, 0.0, 0.0, -0.5, 0.500_000_000_01]);
        orient_columns_in_place(&mut columns);
        let expected = DMatrix::from_column_slice(2, 4, &[-0.6, 0.8, 0.5, -0.5, 0.0, 0.0, 0.5, -0.500_000_000_01]);
        assert_eq!(columns, expected);
    }
}
