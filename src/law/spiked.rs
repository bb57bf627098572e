//! A second-moment matrix with a few components above an isotropic rest.

use nalgebra::{DMatrix, DVector};

use super::NoiseError;
use crate::linalg::symmetric_eigen;

/// Largest departure of `V^T V` from the identity, in Frobenius norm, that still counts as orthonormal.
const ORTHONORMALITY_TOLERANCE: f64 = 1e-8;

/// The most negative eigenvalue that still counts as a zero, relative to the largest.
const SEMIDEFINITE_TOLERANCE: f64 = 1e-10;

/// A positive semidefinite matrix of low rank plus a multiple of the identity, the *spiked model* (Johnstone 2001).
///
/// ```text
/// M = V diag(variances) V^T + bulk (I - V V^T),     V orthonormal, d × m, 0 ≤ m ≤ d
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SpikedCovariance {
    components: DMatrix<f64>,
    variances: DVector<f64>,
    bulk: f64,
}

impl SpikedCovariance {
    /// A matrix from its orthonormal `components` (d × m, m may be 0), their variances, and the variance in every other
    /// direction. The variances may come in any order, and below the bulk.
    ///
    /// # Errors
    /// [`NoiseError::Components`] unless the columns are orthonormal (to 1e-8) and have one variance each;
    /// [`NoiseError::Variance`] for a variance that is negative or not finite.
    pub fn new(components: DMatrix<f64>, variances: DVector<f64>, bulk: f64) -> Result<Self, NoiseError> {
        let (rows, columns) = components.shape();
        let defect = (components.tr_mul(&components) - DMatrix::identity(columns, columns)).norm();
        let orthonormal = defect <= ORTHONORMALITY_TOLERANCE;
        if rows == 0 || variances.len() != columns || !orthonormal {
            return Err(NoiseError::Components { rows, columns, variances: variances.len() });
        }
        let unusable = |variance: f64| !(variance.is_finite() && variance >= 0.0);
        if let Some(&variance) = variances.iter().chain([&bulk]).find(|&&variance| unusable(variance)) {
            return Err(NoiseError::Variance(variance));
        }
        Ok(Self { components, variances, bulk })
    }

    /// Any positive semidefinite matrix, by its eigenvectors.
    ///
    /// # Errors
    /// [`NoiseError::Eigen`] when the matrix is not a finite symmetric one, [`NoiseError::Variance`] when it has an
    /// eigenvalue below 0 by more than rounding: [`Denoising::Psd`](crate::recovery::denoise::Denoising) makes a matrix
    /// usable.
    pub fn from_matrix(matrix: &DMatrix<f64>) -> Result<Self, NoiseError> {
        let eigen = symmetric_eigen(matrix)?;
        let (largest, least) = (eigen.values[0], eigen.values[eigen.values.len() - 1]);
        if least < -SEMIDEFINITE_TOLERANCE * largest.max(0.0) {
            return Err(NoiseError::Variance(least));
        }
        Ok(Self { components: eigen.vectors, variances: eigen.values.map(|value| value.max(0.0)), bulk: 0.0 })
    }

    /// For parts that are orthonormal and not negative by construction.
    pub(crate) fn from_parts(components: DMatrix<f64>, variances: DVector<f64>, bulk: f64) -> Self {
        Self { components, variances, bulk }
    }

    /// The number of features, d.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.components.nrows()
    }

    /// The components V, `d × m`, column-major, orthonormal.
    #[must_use]
    pub fn components(&self) -> &DMatrix<f64> {
        &self.components
    }

    /// Their m variances (eigenvalues).
    #[must_use]
    pub fn variances(&self) -> &DVector<f64> {
        &self.variances
    }

    /// The variance in every direction orthogonal to the components.
    #[must_use]
    pub fn bulk(&self) -> f64 {
        self.bulk
    }

    /// The matrix, `d × d`, symmetric to the last bit.
    #[must_use]
    pub fn matrix(&self) -> DMatrix<f64> {
        let mut scaled = self.components.clone();
        for (mut column, variance) in scaled.column_iter_mut().zip(&self.variances) {
            column *= variance - self.bulk;
        }
        let mut matrix = DMatrix::from_diagonal_element(self.dimension(), self.dimension(), self.bulk);
        matrix.gemm(1.0, &scaled, &self.components.transpose(), 1.0);
        matrix.fill_lower_triangle_with_upper_triangle();
        matrix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_is_that_of_the_definition_and_comes_back() {
        let components = DMatrix::from_row_slice(3, 1, &[0.6, 0.0, 0.8]);
        let spiked = SpikedCovariance::new(components.clone(), DVector::from_element(1, 2.0), 0.5).unwrap();
        let expected: DMatrix<f64> = 0.5 * DMatrix::identity(3, 3) + 1.5 * &components * components.transpose();
        assert!((spiked.matrix() - &expected).norm() < 1e-15);
        let again = SpikedCovariance::from_matrix(&expected).unwrap();
        assert!((again.matrix() - expected).norm() < 1e-14);
        let none = SpikedCovariance::new(DMatrix::zeros(2, 0), DVector::zeros(0), 0.25).unwrap();
        assert_eq!(none.matrix(), DMatrix::from_diagonal_element(2, 2, 0.25));
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let one = || DMatrix::from_row_slice(2, 1, &[1.0, 0.0]);
        let variances = |value| DVector::from_element(1, value);
        let refused = |result: Result<SpikedCovariance, NoiseError>| result.unwrap_err();
        for (components, variances) in [
            (one() * 2.0, variances(1.0)),
            (one() * f64::NAN, variances(1.0)),
            (one(), DVector::zeros(2)),
            (DMatrix::zeros(0, 0), DVector::zeros(0)),
        ] {
            let refused = refused(SpikedCovariance::new(components, variances, 0.0));
            assert!(matches!(refused, NoiseError::Components { .. }), "{refused}");
        }
        for bad in [-1e-3, f64::NAN, f64::INFINITY] {
            assert!(matches!(refused(SpikedCovariance::new(one(), variances(bad), 0.0)), NoiseError::Variance(_)));
            assert!(matches!(refused(SpikedCovariance::new(one(), variances(1.0), bad)), NoiseError::Variance(_)));
        }
        let indefinite = DMatrix::from_diagonal(&DVector::from_vec(vec![1.0, -0.1]));
        assert!(
            matches!(refused(SpikedCovariance::from_matrix(&indefinite)), NoiseError::Variance(least) if least < -0.09)
        );
        assert!(matches!(SpikedCovariance::from_matrix(&DMatrix::zeros(1, 2)), Err(NoiseError::Eigen(_))));
    }
}
