//! Second moments with noise in every entry: the common part of SULQ, MOD-SULQ and Analyze Gauss.
//!
//! *Sensitivity.* Let one record x of the unit ball be replaced by y, so that n A changes by `v = x x^T - y y^T`. Then
//!
//! ```text
//! all entries:         sum_{i, j} v_ij^2 = |x|^4 + |y|^4 - 2 (x . y)^2 <= 2,     sum_{i, j} |v_ij| <= 2 d
//! upper triangle:      sum_{i <= j} v_ij^2 <= 2,                               sum_{i <= j} |v_ij| <= d + 1
//! ```
//!
//! The first is an equality for orthogonal unit vectors. It bounds the third, which is an equality for two vectors of
//! the standard basis. The sums of magnitudes are at most those of `x x^T` and `y y^T` together, and
//! `sum_ij |x_i x_j| = |x|_1^2 <= d`, `sum_{i <= j} |x_i x_j| = (|x|_1^2 + |x|_2^2) / 2 <= (d + 1) / 2`. For a record
//! more or less, y = 0: 1 in place of 2 under the squares.

use nalgebra::DMatrix;
use rand::RngExt;
use rand::rand_core::CryptoRng;
use rand_distr::{Distribution, StandardNormal};

use super::{BaselineError, EpsilonDelta};
use ldp_pca::internal::privacy::calibration::{COVARIANCE_SENSITIVITY, gaussian_delta, gaussian_epsilon};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::{Rank, principal_components};
use ldp_pca::subspace::Subspace;

/// The l2-sensitivity of n A to one record replaced, whether in all entries or in the upper triangle: the square root
/// of 2, rounded up.
pub(super) const REPLACEMENT: f64 = COVARIANCE_SENSITIVITY;

/// The l2-sensitivity of n A to one record more or less, whether in all entries or in the upper triangle.
pub(super) const ADDITION: f64 = 1.0;

/// `matrix + N` with N symmetric: entries on and above the diagonal are drawn by `noise(on_diagonal)`, row by row.
pub(super) fn symmetrically_perturbed(matrix: &DMatrix<f64>, mut noise: impl FnMut(bool) -> f64) -> DMatrix<f64> {
    let mut perturbed = matrix.clone();
    for i in 0..matrix.nrows() {
        for j in i..matrix.ncols() {
            // The mirror entry is replaced, not added to, so the sum is exactly symmetric.
            let entry = matrix[(i, j)] + noise(i == j);
            perturbed[(i, j)] = entry;
            perturbed[(j, i)] = entry;
        }
    }
    perturbed
}

/// The leading subspace of a symmetric matrix.
pub(super) fn leading_subspace(matrix: &DMatrix<f64>, rank: Rank) -> Result<Subspace, BaselineError> {
    Ok(Subspace::new(&principal_components(matrix, rank)?.vectors)?)
}

/// A normal deviate of mean 0 and variance 1.
pub(super) fn normal(rng: &mut dyn CryptoRng) -> f64 {
    StandardNormal.sample(rng)
}

/// A Laplace deviate of mean 0 and scale 1: the difference of two exponential ones.
pub(super) fn laplace(rng: &mut dyn CryptoRng) -> f64 {
    let mut exponential = || -> f64 { -(-rng.random::<f64>()).ln_1p() };
    exponential() - exponential()
}

/// The guarantee of Gaussian noise of standard deviation `sigma` in every direction for a query of l2-sensitivity
/// `sensitivity`: (`epsilon`, `delta`) if the noise gives that, otherwise the epsilon that it gives at the same delta,
/// rounded up (Balle & Wang 2018, Theorem 8).
pub(super) fn holding(
    epsilon: Epsilon,
    delta: Delta,
    sigma: f64,
    sensitivity: f64,
) -> Result<EpsilonDelta, BaselineError> {
    if gaussian_delta(sigma, sensitivity, epsilon)? <= delta.value() {
        return Ok(EpsilonDelta::approximate(epsilon, delta));
    }
    Ok(EpsilonDelta::approximate(gaussian_epsilon(sigma, sensitivity, delta)?, delta))
}

#[cfg(test)]
pub(super) mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::*;

    /// Kolmogorov-Smirnov against the Laplace law of scale 1, alpha 1e-3.
    pub(in crate::baselines) fn assert_laplace(mut draws: Vec<f64>) {
        draws.sort_by(f64::total_cmp);
        let law = |x: f64| if x < 0.0 { 0.5 * x.exp() } else { 1.0 - 0.5 * (-x).exp() };
        let n = draws.len() as f64;
        let gap = |(i, x): (usize, &f64)| (law(*x) - i as f64 / n).abs().max((law(*x) - (i + 1) as f64 / n).abs());
        let statistic = draws.iter().enumerate().map(gap).fold(0.0, f64::max);
        assert!(statistic < 1.95 / n.sqrt(), "{statistic}");
    }

    #[test]
    fn laplace_deviates_follow_their_law() {
        let mut rng = ChaCha12Rng::seed_from_u64(8);
        assert_laplace((0..20_000).map(|_| laplace(&mut rng)).collect());
    }

    /// The four sums of the module's documentation, for records that reach the bounds and for others.
    #[test]
    fn no_pair_of_records_moves_the_moments_by_more_than_the_sensitivity() {
        let mut rng = ChaCha12Rng::seed_from_u64(3);
        let d = 4;
        let mut unit = |_: usize| nalgebra::DVector::from_fn(d, |_, _| normal(&mut rng)).normalize();
        let mut pairs: Vec<_> = (0..2000).map(|i| (unit(i), unit(i))).collect();
        let axis = |i| nalgebra::DVector::from_fn(d, |j, _| f64::from(i == j));
        pairs.push((axis(0), axis(2)));
        let (mut squares, mut upper_squares) = (0.0f64, 0.0f64);
        for (x, y) in pairs {
            let v = &x * x.transpose() - &y * y.transpose();
            let upper =
                |f: fn(f64) -> f64| (0..d).flat_map(|i| (i..d).map(move |j| (i, j))).map(|at| f(v[at])).sum::<f64>();
            squares = squares.max(v.norm_squared());
            upper_squares = upper_squares.max(upper(|x| x * x));
            assert!(v.iter().map(|x| x.abs()).sum::<f64>() <= 2.0 * d as f64);
            assert!(upper(f64::abs) <= d as f64 + 1.0);
        }
        for found in [squares, upper_squares] {
            assert!(found <= REPLACEMENT.powi(2) + 1e-12 && found > 1.999, "{found}");
        }
    }
}
