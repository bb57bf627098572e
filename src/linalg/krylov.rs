//! Extreme eigenvalues of a symmetric matrix that is known by its action alone.

use nalgebra::{DMatrix, DVector};

use super::{EigenError, symmetric_eigen};

/// An orthonormal basis of a Krylov space and the matrix seen in it.
#[derive(Clone, Debug)]
pub struct Krylov {
    /// `d × m`, orthonormal: the start, and what the matrix makes of it.
    pub basis: DMatrix<f64>,
    /// The `m` Ritz values, descending: eigenvalues of the matrix seen in the basis.
    pub values: DVector<f64>,
    /// Their vectors in the coordinates of the basis, `m × m`.
    pub coordinates: DMatrix<f64>,
    /// Norm of what the next step would add: `‖A y − θ y‖` of a Ritz pair is this times its last coordinate.
    pub remainder: f64,
}

/// Runs `steps` steps of the Lanczos iteration on the symmetric `d × d` matrix `A`, whose product `apply(x, y)` writes
/// `A x` over `y`.
///
/// The basis is orthogonalised in full, twice, so that the theory of exact arithmetic applies up to rounding. It ends early
/// when the space is invariant.
///
/// # Errors
///
/// [`EigenError`] when the start is zero or not finite, or the small eigenproblem fails.
pub fn lanczos(
    apply: &mut dyn FnMut(&DVector<f64>, &mut DVector<f64>),
    start: &DVector<f64>,
    steps: usize,
) -> Result<Krylov, EigenError> {
    let dimension = start.len();
    let steps = steps.min(dimension).max(1);
    let mut basis = DMatrix::zeros(dimension, steps);
    let mut tridiagonal = DMatrix::zeros(steps, steps);
    let mut vector = start / start.norm();
    let mut image = DVector::zeros(dimension);
    let mut size = 0.0f64;
    let mut remainder = 0.0;
    let mut count = 0;
    while count < steps {
        basis.set_column(count, &vector);
        apply(&vector, &mut image);
        let diagonal = image.dot(&vector);
        tridiagonal[(count, count)] = diagonal;
        count += 1;
        for _ in 0..2 {
            let known = basis.columns(0, count);
            let coefficients = known.tr_mul(&image);
            image.gemv(-1.0, &known, &coefficients, 1.0);
        }
        remainder = image.norm();
        size = size.max(diagonal.abs()).max(remainder);
        if count == steps || remainder <= f64::EPSILON * dimension as f64 * size {
            break;
        }
        tridiagonal[(count, count - 1)] = remainder;
        tridiagonal[(count - 1, count)] = remainder;
        vector.copy_from(&image);
        vector /= remainder;
    }
    let eigen = symmetric_eigen(&tridiagonal.view((0, 0), (count, count)).into_owned())?;
    Ok(Krylov {
        basis: basis.columns(0, count).into_owned(),
        values: eigen.values,
        coordinates: eigen.vectors,
        remainder,
    })
}

impl Krylov {
    /// The Ritz vectors of the first `count` values, `d × count`.
    ///
    /// # Panics
    ///
    /// When there are fewer.
    #[must_use]
    pub fn vectors(&self, count: usize) -> DMatrix<f64> {
        &self.basis * self.coordinates.columns(0, count)
    }

    /// `‖A y − θ y‖` for Ritz pair `index`.
    #[must_use]
    pub fn residual(&self, index: usize) -> f64 {
        self.remainder * self.coordinates[(self.coordinates.nrows() - 1, index)].abs()
    }

    /// An upper bound on the largest eigenvalue, wrong with probability at most `failure` over the choice of the start,
    /// which must be uniform on the sphere (of the space that the matrix acts on) and independent of the matrix.
    ///
    /// Kuczyński & Woźniakowski (1992, Theorem 4.2): after `m` steps the relative error of the largest Ritz value, relative to
    /// the spread `λ_1 − λ_d`, exceeds `ε` with probability at most `1.648 √d exp(−√ε (2m − 1))`. The spread is bounded alike, from
    /// both ends of one run.
    #[must_use]
    pub fn upper_bound(&self, failure: f64) -> f64 {
        let (dimension, steps) = (self.basis.nrows() as f64, self.values.len());
        let (largest, smallest) = (self.values[0], self.values[steps - 1]);
        // Half of the probability for each end.
        let root = libm::log(2.0 * 1.648 * dimension.sqrt() / failure) / (2.0 * steps as f64 - 1.0);
        let error = root * root;
        // spread <= ritz spread + 2 error spread
        if error >= 0.5 {
            return f64::INFINITY;
        }
        largest + error * (largest - smallest) / (1.0 - 2.0 * error)
    }
}
