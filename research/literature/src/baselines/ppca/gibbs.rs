//! A Gibbs sampler for the matrix Bingham law.

use core::f64::consts::SQRT_2;

use nalgebra::DMatrix;
use rand::RngExt;
use rand::rand_core::CryptoRng;

use super::bingham;
use crate::baselines::BaselineError;
use crate::baselines::perturbation::normal;
use ldp_pca::subspace::Subspace;

/// The chain of a Gibbs sampler for the matrix Bingham law with diagonal parameter: density proportional to
/// `exp(tr(X^T diag(exponents) X))` over orthonormal X, d × k with k < d, which is a law of the subspace S they span.
///
/// A sweep has two passes, each of which preserves the law, followed by a uniform rotation of the columns among
/// themselves, which does not change the law.
///
/// - *By columns* (Hoff 2009, section 3): each column given the others. It reaches every state, but slowly if exponents
///   differ by orders of magnitude, because the columns are at random angles to the axes.
/// - *By axes* `e_1 ... e_k`: let U be the part of S orthogonal to `e_i`, and v the direction of S orthogonal to U.
///   Given U, the uniform law of S makes v uniform on the unit vectors orthogonal to U, up to a factor `|v_i|^(k-1)`:
///   S moves by linear maps from S to its complement, and as U has to stay orthogonal to `e_i`, each of its k - 1
///   directions moves by `1 / |v_i|` times what S does. So v is proposed from the vector Bingham law in the complement
///   of U, and accepted over the present one with probability `min(1, (|v'_i| / |v_i|)^(k-1))` (Metropolis & Hastings).
///   Once S is near the first axes, nearly all proposals are accepted, and each axis is drawn on its own scale.
#[derive(Clone, Debug)]
pub struct Gibbs<'a> {
    exponents: &'a [f64],
    columns: DMatrix<f64>,
    /// The number of vectors drawn.
    pub(super) draws: u64,
    /// The number of proposals that the rejection sampler needed for them.
    pub(super) proposals: u64,
}

impl<'a> Gibbs<'a> {
    /// A chain that starts at uniformly drawn columns, like the paper's; `exponents` in descending order.
    ///
    /// # Errors
    /// [`BaselineError::Subspace`] for no column or more than d of them.
    pub fn start(exponents: &'a [f64], k: usize, rng: &mut dyn CryptoRng) -> Result<Self, BaselineError> {
        Ok(Self { exponents, columns: uniform_columns(exponents.len(), k, rng)?, draws: 0, proposals: 0 })
    }

    /// Both passes and the rotation.
    ///
    /// # Errors
    /// As [`bingham::draw_orthogonal`].
    pub fn sweep(&mut self, rng: &mut dyn CryptoRng) -> Result<(), BaselineError> {
        let k = self.columns.ncols();
        for column in 0..k {
            self.redraw(column, rng, |_, _, _| true)?;
        }
        for axis in 0..k {
            self.point_last_column_at(axis);
            self.redraw(k - 1, rng, |proposed, present, uniform| {
                uniform.ln() < (k - 1) as f64 * (proposed[axis].abs().ln() - present[axis].abs().ln())
            })?;
        }
        let rotated = &self.columns * uniform_columns(k, k, rng)?;
        // Orthonormal up to rounding; orthonormalized again so that errors do not add up.
        self.columns = Subspace::new(&rotated)?.into_basis();
        Ok(())
    }

    /// Proposes a column from its law given the others, and takes it if `accept(proposed, present, uniform)`.
    fn redraw(
        &mut self,
        column: usize,
        rng: &mut dyn CryptoRng,
        accept: impl Fn(&[f64], &[f64], f64) -> bool,
    ) -> Result<(), BaselineError> {
        let others = self.columns.clone().remove_column(column);
        let draw = bingham::draw_orthogonal(self.exponents, &others, rng)?;
        self.draws += 1;
        self.proposals += draw.proposals;
        let present = self.columns.column(column).clone_owned();
        if accept(draw.vector.as_slice(), present.as_slice(), rng.random::<f64>()) {
            self.columns.set_column(column, &draw.vector);
        }
        Ok(())
    }

    /// Rotates the columns among themselves so that all but the last are orthogonal to an axis: by the reflection that
    /// takes the axis's row to a multiple of the last unit vector.
    fn point_last_column_at(&mut self, axis: usize) {
        let last = self.columns.ncols() - 1;
        let mut y = self.columns.row(axis).transpose();
        let norm = y.norm();
        y[last] += if y[last] < 0.0 { -norm } else { norm };
        let length = y.norm();
        // A subspace that is already orthogonal to the axis needs no rotation.
        if length > 0.0 {
            y *= SQRT_2 / length;
            let along = &self.columns * &y;
            self.columns.ger(-1.0, &along, &y, 1.0);
        }
    }

    /// The state, orthonormal columns.
    #[must_use]
    pub fn columns(&self) -> &DMatrix<f64> {
        &self.columns
    }

    /// `tr(X^T diag(exponents) X)` of the state.
    #[must_use]
    pub fn exponent(&self) -> f64 {
        self.columns.column_iter().map(|x| x.iter().zip(self.exponents).map(|(x, l)| l * x * x).sum::<f64>()).sum()
    }
}

/// Orthonormal columns drawn uniformly.
fn uniform_columns(d: usize, k: usize, rng: &mut dyn CryptoRng) -> Result<DMatrix<f64>, BaselineError> {
    Ok(Subspace::new(&DMatrix::from_fn(d, k, |_, _| normal(rng)))?.into_basis())
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::*;

    /// Near the first axes the coordinates of the errors are normal with variances `1 / (2 (l_i - l_j))`, for i among
    /// the first three axes and j among the others. The variances differ by orders of magnitude here. A chain that
    /// mixes slowly along the longest range would be far off: for 2000 sweeps the tolerance is twice 5 standard errors
    /// of independent draws.
    #[test]
    fn components_of_very_different_variance_settle_equally_fast() {
        let exponents = [2e6, 2e5, 2e3, 1e3, 0.0, -1e3];
        let rng = &mut ChaCha12Rng::seed_from_u64(11);
        let mut chain = Gibbs::start(&exponents, 3, rng).unwrap();
        for _ in 0..20 {
            chain.sweep(rng).unwrap();
        }
        let sweeps = 2000;
        let mut sum = 0.0;
        for _ in 0..sweeps {
            chain.sweep(rng).unwrap();
            sum += chain.columns().row(3).norm_squared();
        }
        let expected: f64 = (0..3).map(|i| 0.5 / (exponents[i] - exponents[3])).sum();
        let ratio = sum / f64::from(sweeps) / expected;
        assert!((ratio - 1.0).abs() < 10.0 * (2.0 / f64::from(sweeps)).sqrt(), "{ratio}");
    }

    #[test]
    fn columns_are_pointed_at_an_axis_without_moving_their_span() {
        let rng = &mut ChaCha12Rng::seed_from_u64(12);
        let exponents = [3.0, 2.0, 1.0, 0.5, 0.0];
        let mut chain = Gibbs::start(&exponents, 3, rng).unwrap();
        let before = chain.columns() * chain.columns().transpose();
        chain.point_last_column_at(1);
        assert!((chain.columns() * chain.columns().transpose() - before).amax() < 1e-14);
        assert!(chain.columns().view((1, 0), (1, 2)).amax() < 1e-15);
    }
}
