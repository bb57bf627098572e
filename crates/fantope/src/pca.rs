//! Ordinary principal components: the leading eigenvectors of the estimate.

use nalgebra::{DMatrix, DVector};

use super::{FantopeError, Rank};
use crate::linalg::symmetric_eigen;
use crate::subspace::orient_columns_in_place;

/// Leading eigenpairs of a covariance estimate, and its whole spectrum.
///
/// ```
/// use fantope::{Rank, principal_components};
/// use nalgebra::DMatrix;
///
/// let covariance = DMatrix::from_row_slice(3, 3, &[2.0, 1.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.5]);
/// let components = principal_components(&covariance, Rank::new(2)?)?;
/// assert_eq!(components.vectors.shape(), (3, 2));
/// // The share of the variance that two components hold.
/// let share = components.values.sum() / components.all_values.sum();
/// assert!((share - 4.0 / 4.5).abs() < 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Components {
    /// Orthonormal components, `d × k`, column-major, most variance first; each one's largest entry is positive.
    pub vectors: DMatrix<f64>,
    /// Their `k` eigenvalues, descending, in the units of the covariance.
    pub values: DVector<f64>,
    /// All `d` eigenvalues, descending. Noise can make the last ones negative.
    pub all_values: DVector<f64>,
}

impl Components {
    /// Gap between the last eigenvalue kept and the first one dropped, or `None` when all are kept.
    ///
    /// At 0 the subspace is not determined by the matrix, and any choice among the tied directions is as good.
    pub fn gap(&self) -> Option<f64> {
        let rank = self.values.len();
        (rank < self.all_values.len()).then(|| self.all_values[rank - 1] - self.all_values[rank])
    }
}

/// Takes the `k` leading eigenvectors of a symmetric `d × d` covariance estimate.
///
/// Signs follow [`orient_columns_in_place`]. Where eigenvalues tie, the vectors are some orthonormal basis of the tied
/// directions; [`Components::gap`] shows whether the tie crosses rank `k`.
///
/// ```
/// use fantope::{Rank, principal_components};
/// use nalgebra::DMatrix;
///
/// let covariance = DMatrix::from_row_slice(2, 2, &[0.36, 0.48, 0.48, 0.64]);
/// let components = principal_components(&covariance, Rank::new(1)?)?;
/// assert!((components.vectors[(0, 0)] - 0.6).abs() < 1e-9);
/// assert!((components.values[0] - 1.0).abs() < 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`FantopeError::RankExceedsDimension`], or [`FantopeError::Eigen`] when the matrix is not a finite symmetric one.
pub fn principal_components(covariance: &DMatrix<f64>, rank: Rank) -> Result<Components, FantopeError> {
    let eigen = symmetric_eigen(covariance)?;
    rank.check(covariance.nrows())?;
    let rank = rank.value();
    let mut vectors = eigen.vectors.columns(0, rank).into_owned();
    orient_columns_in_place(&mut vectors);
    Ok(Components { vectors, values: eigen.values.rows(0, rank).into_owned(), all_values: eigen.values })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::EigenError;

    #[test]
    fn leading_eigenvectors_come_oriented_and_in_order() {
        let direction = DVector::from_vec(vec![-0.6, 0.0, -0.8]);
        let covariance = DMatrix::identity(3, 3) + 2.0 * &direction * direction.transpose();
        let components = principal_components(&covariance, Rank::new(1).unwrap()).unwrap();
        assert!((components.vectors.column(0) + &direction).norm() < 1e-14);
        assert!((components.values[0] - 3.0).abs() < 1e-14);
        assert!((components.gap().unwrap() - 2.0).abs() < 1e-14);
    }

    #[test]
    fn ties_zero_and_full_rank_give_an_orthonormal_basis() {
        for level in [0.0, 1.0, -2.0] {
            let matrix = DMatrix::from_diagonal_element(3, 3, level);
            for rank in 1..=3 {
                let components = principal_components(&matrix, Rank::new(rank).unwrap()).unwrap();
                let gram = components.vectors.tr_mul(&components.vectors);
                assert!((gram - DMatrix::identity(rank, rank)).norm() < 1e-14);
                assert_eq!(components.gap(), (rank < 3).then_some(0.0));
                assert!(components.all_values.iter().all(|value| *value == level));
            }
        }
        let single = principal_components(&DMatrix::from_element(1, 1, -4.0), Rank::new(1).unwrap()).unwrap();
        assert_eq!((single.vectors[(0, 0)], single.values[0]), (1.0, -4.0));
    }

    /// Whole numbers, so that their multiples are exact down to the smallest number.
    #[test]
    fn components_are_the_same_at_every_power_of_two() {
        let matrix = DMatrix::from_row_slice(3, 3, &[700.0, 90.0, -40.0, 90.0, 300.0, 80.0, -40.0, 80.0, -200.0]);
        for rank in 1..=3 {
            let of = |power: f64| principal_components(&(&matrix * power), Rank::new(rank).unwrap()).unwrap();
            let base = of(1.0);
            for exponent in (-1074..=1010).step_by(4) {
                let (power, unit) = (libm::exp2(f64::from(exponent)), f64::from_bits(1));
                let found = of(power);
                assert!((&found.vectors - &base.vectors).amax() < 1e-12, "2^{exponent}, rank {rank}");
                for (value, base) in found.all_values.iter().zip(&base.all_values) {
                    assert!((value - base * power).abs() <= 1e-9 * power + unit, "2^{exponent}: {value:e} {base}");
                }
            }
        }
    }

    #[test]
    fn bad_input_is_a_typed_error() {
        let rank = Rank::new(2).unwrap();
        assert_eq!(
            principal_components(&DMatrix::identity(1, 1), rank),
            Err(FantopeError::RankExceedsDimension { rank: 2, dimension: 1 })
        );
        let skew = DMatrix::from_row_slice(2, 2, &[0.0, 1.0, -1.0, 0.0]);
        assert!(matches!(principal_components(&skew, rank), Err(FantopeError::Eigen(EigenError::NotSymmetric { .. }))));
    }
}
