//! Extreme eigenvalues of a symmetric matrix that is known only by its action.
//!
//! Libraries hide the random start and the steps. The failure probability of a certificate is proved for just these, so
//! the iteration is our own.

use nalgebra::{DMatrix, DVector};

use super::{EigenError, symmetric_eigen};

/// The steps after which [`lanczos_until`] looks for the first time.
const FIRST_LOOK: usize = 20;

/// An orthonormal basis of a Krylov space, and the matrix in that basis.
#[derive(Clone, Debug)]
pub struct Krylov {
    /// `d × m`, orthonormal: the start and its successive images.
    pub basis: DMatrix<f64>,
    /// The `m` Ritz values, descending: eigenvalues of the matrix in the basis.
    pub values: DVector<f64>,
    /// Their vectors in the coordinates of the basis, `m × m`.
    pub coordinates: DMatrix<f64>,
    /// Norm of the next step's addition: `‖A y − θ y‖` of a Ritz pair is this times its last coordinate.
    pub remainder: f64,
}

/// Runs `steps` steps of the Lanczos iteration on the symmetric `d × d` matrix `A`, whose product `apply(x, y)` writes
/// `A x` over `y`.
///
/// The basis is fully orthogonalised, twice, so that the theory of exact arithmetic applies up to rounding. It ends
/// early when the space is invariant.
///
/// # Errors
///
/// [`EigenError`] when the start is zero or not finite, or the small eigenproblem fails.
pub fn lanczos(
    apply: &mut dyn FnMut(&DVector<f64>, &mut DVector<f64>),
    start: &DVector<f64>,
    steps: usize,
) -> Result<Krylov, EigenError> {
    lanczos_until(apply, start, steps, &mut |_| false)
}

/// [`lanczos`] that ends where `enough` says so of the space after 20, 40, 80, … steps.
pub(crate) fn lanczos_until(
    apply: &mut dyn FnMut(&DVector<f64>, &mut DVector<f64>),
    start: &DVector<f64>,
    steps: usize,
    enough: &mut dyn FnMut(&Krylov) -> bool,
) -> Result<Krylov, EigenError> {
    let dimension = start.len();
    let steps = steps.min(dimension).max(1);
    let mut basis = DMatrix::zeros(dimension, steps);
    let mut tridiagonal = DMatrix::zeros(steps, steps);
    let mut vector = start / start.norm();
    let mut image = DVector::zeros(dimension);
    let mut size = 0.0f64;
    let mut remainder = 0.0;
    let (mut count, mut next) = (0, FIRST_LOOK);
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
        if count == next {
            next *= 2;
            let krylov = Krylov::new(&basis, &tridiagonal, count, remainder)?;
            if enough(&krylov) {
                return Ok(krylov);
            }
        }
        tridiagonal[(count, count - 1)] = remainder;
        tridiagonal[(count - 1, count)] = remainder;
        vector.copy_from(&image);
        vector /= remainder;
    }
    Krylov::new(&basis, &tridiagonal, count, remainder)
}

impl Krylov {
    fn new(basis: &DMatrix<f64>, tridiagonal: &DMatrix<f64>, count: usize, remainder: f64) -> Result<Self, EigenError> {
        let eigen = symmetric_eigen(&tridiagonal.view((0, 0), (count, count)).into_owned())?;
        let basis = basis.columns(0, count).into_owned();
        Ok(Self { basis, values: eigen.values, coordinates: eigen.vectors, remainder })
    }

    /// `‖A y − θ y‖` of the Ritz pair at this place.
    pub(crate) fn residual(&self, index: usize) -> f64 {
        self.remainder * self.coordinates[(self.values.len() - 1, index)].abs()
    }

    /// The Ritz vectors of the first `count` values, `d × count`.
    ///
    /// # Panics
    ///
    /// When there are fewer.
    #[must_use]
    pub fn vectors(&self, count: usize) -> DMatrix<f64> {
        &self.basis * self.coordinates.columns(0, count)
    }

    /// An upper bound on the largest eigenvalue, wrong with probability at most `failure` over the choice of the start,
    /// which must be uniform on the sphere (of the space that the matrix acts on) and independent of the matrix.
    ///
    /// Kuczyński & Woźniakowski (1992, Theorem 4.2): after `m` steps the relative error of the largest Ritz value,
    /// relative to the spread `λ_1 − λ_d`, exceeds `ε` with probability at most `1.648 √d exp(−√ε (2m − 1))`. The
    /// spread is bounded in the same way, from both ends of one run.
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

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    fn start(dimension: usize, seed: u64) -> DVector<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        DVector::from_fn(dimension, |_, _| StandardNormal.sample(&mut rng))
    }

    fn of_diagonal(diagonal: &DVector<f64>, seed: u64, steps: usize) -> Krylov {
        let mut apply = |x: &DVector<f64>, y: &mut DVector<f64>| y.copy_from(&diagonal.component_mul(x));
        lanczos(&mut apply, &start(diagonal.len(), seed), steps).unwrap()
    }

    #[test]
    fn ritz_pairs_are_orthonormal_and_have_the_residuals_stated() {
        let diagonal = DVector::from_fn(200, |row, _| (row as f64).sqrt());
        let krylov = of_diagonal(&diagonal, 1, 30);
        assert!((krylov.basis.tr_mul(&krylov.basis) - DMatrix::identity(30, 30)).norm() < 1e-12);
        let vectors = krylov.vectors(3);
        for index in 0..3 {
            let vector = vectors.column(index).into_owned();
            let defect = (diagonal.component_mul(&vector) - krylov.values[index] * &vector).norm();
            let residual = krylov.remainder * krylov.coordinates[(29, index)].abs();
            assert!((defect - residual).abs() < 1e-10, "{index}");
            assert!(krylov.values[index] <= 199f64.sqrt() + 1e-12);
        }
    }

    #[test]
    fn the_bound_holds_for_every_start_and_tightens_with_steps() {
        // A largest eigenvalue only a little above 400 others: Ritz values fall short of it.
        let mut diagonal = DVector::from_fn(401, |row, _| -1.0 + row as f64 / 200.0);
        diagonal[400] = 1.02;
        let mut short = 0;
        for seed in 0..200 {
            let (early, late) = (of_diagonal(&diagonal, seed, 15), of_diagonal(&diagonal, seed, 40));
            assert!(early.upper_bound(1e-3) >= 1.02 && late.upper_bound(1e-3) >= 1.02, "seed {seed}");
            assert!(late.upper_bound(1e-3) < early.upper_bound(1e-3));
            short += usize::from(early.values[0] < 1.0);
        }
        assert!(short > 20, "{short}: nothing was there to bound");
        assert_eq!(of_diagonal(&diagonal, 1, 5).upper_bound(1e-15), f64::INFINITY);
    }

    #[test]
    fn an_invariant_space_ends_the_iteration() {
        let krylov = of_diagonal(&DVector::from_fn(50, |row, _| (row % 3) as f64), 2, 20);
        assert_eq!(krylov.values.len(), 3);
        assert!((krylov.values - DVector::from_vec(vec![2.0, 1.0, 0.0])).norm() < 1e-12);
        assert_eq!(of_diagonal(&DVector::from_element(1, 7.0), 3, 9).values.as_slice(), [7.0]);
        let zero = lanczos(&mut |_, y| y.fill(0.0), &DVector::zeros(3), 2);
        assert!(matches!(zero, Err(EigenError::NotFinite { .. })));
    }
}
