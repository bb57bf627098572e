//! Orthonormal columns: random starts of iterations, and the factorization after each step.

use nalgebra::DMatrix;
use rand::rand_core::CryptoRng;
use rand_distr::{Distribution, StandardNormal};

/// A column that the projection shortens to less than this share of its length is lost to rounding.
const LOST: f64 = 1e-13;

/// A `rows` × `columns` matrix with independent standard normal entries.
pub(super) fn normal_matrix(rows: usize, columns: usize, rng: &mut dyn CryptoRng) -> DMatrix<f64> {
    DMatrix::from_fn(rows, columns, |_, _| StandardNormal.sample(rng))
}

/// `columns` orthonormal columns of dimension `rows`, uniformly distributed; for one column, a point of the unit
/// sphere.
pub(super) fn uniform_start(rows: usize, columns: usize, rng: &mut dyn CryptoRng) -> DMatrix<f64> {
    loop {
        let mut start = normal_matrix(rows, columns, rng);
        if orthonormalize_in_place(&mut start) {
            return start;
        }
    }
}

/// The Q of the thin QR decomposition with positive diagonal, by Gram-Schmidt run twice; `false` if the columns are
/// dependent or not finite; then they must not be used.
pub(super) fn orthonormalize_in_place(columns: &mut DMatrix<f64>) -> bool {
    for index in 0..columns.ncols() {
        let (known, mut rest) = columns.columns_range_pair_mut(..index, index..);
        let mut column = rest.column_mut(0);
        let before = column.norm();
        for _ in 0..2 {
            for other in known.column_iter() {
                let overlap = other.dot(&column);
                column.axpy(-overlap, &other, 1.0);
            }
        }
        let norm = column.norm();
        if !norm.is_finite() || norm <= LOST * before {
            return false;
        }
        column /= norm;
    }
    true
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn columns_come_back_orthonormal_in_their_order_and_dependent_ones_are_noticed() {
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        let given = normal_matrix(7, 3, &mut rng);
        let mut found = given.clone();
        assert!(orthonormalize_in_place(&mut found));
        assert!((found.tr_mul(&found) - DMatrix::identity(3, 3)).amax() < 1e-15);
        // R = Q^T A is upper triangular with a positive diagonal.
        let triangle = found.tr_mul(&given);
        assert!((0..3).all(|i| triangle[(i, i)] > 0.0 && (0..i).all(|j| triangle[(i, j)].abs() < 1e-14)));
        assert!(!orthonormalize_in_place(&mut DMatrix::from_element(4, 2, 1.0)));
        assert!(!orthonormalize_in_place(&mut DMatrix::zeros(4, 1)));
    }
}
