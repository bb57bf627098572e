//! The vector Bingham law, drawn exactly: on the unit sphere, or on the part of it orthogonal to given columns.
//!
//! # Law
//! For exponents `l_1 >= ... >= l_d` and orthonormal columns X (d × m, m < d), the density with respect to the uniform
//! law on the unit vectors u with `X^T u = 0`, the sphere of a space of q = d - m dimensions, is proportional to
//!
//! ```text
//! exp(l_1 u_1^2 + ... + l_d u_d^2)
//! ```
//!
//! # Method
//! Rejection from an angular central Gaussian law (Kent, Ganeiban & Mardia 2018, section 3). For a number mu let
//! `D = diag(mu - 2 l_i)`, positive on the subspace `W = {y : X^T y = 0}`. If y is Gaussian on W with precision D
//! restricted to W, then u = y / |y| has density proportional to `w^(-q/2)` with `w = u^T D u`, and the density wanted
//! is proportional to exp(-w/2). Their ratio is largest at w = q, hence a proposal is accepted with probability
//!
//! ```text
//! exp(-(w - q)/2) (w / q)^(q/2)
//! ```
//!
//! (the power *multiplies*: dividing by it gives another law wherever q > 2). This is exact for every admissible mu.
//! The fewest proposals are refused where the trace of the inverse of D on W is 1; the search for that mu is rough. In
//! the paper's notation mu = b + 2 l_1.
//!
//! # Cost
//! D need not be positive off W: if X has taken large exponents it is not, but only the first m entries can be negative
//! (interlacing). With m Householder reflections W becomes the last q coordinates, where D is a positive diagonal and a
//! matrix of rank 2 m: its inverse root is a diagonal and a matrix of rank 2 m too. O(d m^2) per trial of mu, O(d m)
//! per proposal, nothing of order d^2. Memory is O(d m).

use core::f64::consts::SQRT_2;

use nalgebra::{DMatrix, DVector, Dyn, SymmetricEigen};
use rand::RngExt;
use rand::rand_core::CryptoRng;

use crate::baselines::BaselineError;
use crate::baselines::perturbation::normal;

/// A unit vector, and the number of proposals it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    /// d numbers.
    pub vector: DVector<f64>,
    /// At least 1.
    pub proposals: u64,
}

/// Draws from the law above; `exponents` in descending order, `columns` orthonormal (d × m, m < d, m = 0 for none).
///
/// # Errors
/// [`BaselineError::Failed`] for exponents more than about 1e11 apart, whose law double precision does not resolve.
///
/// # Panics
/// If the exponents are not finite or not descending, or there are not more of them than columns.
pub fn draw_orthogonal(
    exponents: &[f64],
    columns: &DMatrix<f64>,
    rng: &mut dyn CryptoRng,
) -> Result<Draw, BaselineError> {
    let (d, m) = (exponents.len(), columns.ncols());
    assert!(m < d && columns.nrows() == d, "{m} columns of {} rows for {d} exponents", columns.nrows());
    assert!(exponents.is_sorted_by(|a, b| a >= b), "exponents must descend");
    assert!(exponents[0].abs().max(exponents[d - 1].abs()) < f64::MAX / 8.0, "exponents must be finite");
    let complement = Complement::new(exponents, columns);
    let envelope = complement.best_envelope().ok_or(BaselineError::Failed { method: NAME, what: UNRESOLVED })?;
    let q = (d - m) as f64;
    let mut proposals = 0;
    loop {
        proposals += 1;
        let deviate = DVector::from_fn(d - m, |_, _| normal(rng));
        let mut y = envelope.shape(&deviate);
        let length = y.norm();
        let w = (deviate.norm() / length).powi(2);
        let log_acceptance = 0.5 * (q - w + q * (w / q).ln());
        if rng.random::<f64>().ln() < log_acceptance {
            y /= length;
            return Ok(Draw { vector: complement.embed(&y), proposals });
        }
    }
}

const NAME: &str = "the Bingham sampler";
const UNRESOLVED: &str = "the eigenvalues times records times epsilon are too far apart for double precision: take a \
                          smaller epsilon, at which the answer is PCA's all the same";

/// The coordinates of W, and D in them.
struct Complement<'a> {
    exponents: &'a [f64],
    /// Householder vectors, d × m: the reflections `I - y y^T` in order take the standard basis to the columns and a
    /// basis of W.
    reflections: DMatrix<f64>,
    /// X.
    columns: &'a DMatrix<f64>,
    /// The triangle T with `(I - y_1 y_1^T) (I - y_2 y_2^T) ... = I - Y T Y^T`.
    triangle: DMatrix<f64>,
}

impl<'a> Complement<'a> {
    fn new(exponents: &'a [f64], columns: &'a DMatrix<f64>) -> Self {
        let (d, m) = columns.shape();
        let mut rest = columns.clone();
        let mut reflections = DMatrix::zeros(d, m);
        let mut triangle = DMatrix::zeros(m, m);
        for j in 0..m {
            // A vector of length sqrt(2) whose reflection takes the rest of column j to a multiple of axis j.
            let mut y = rest.column(j).clone_owned();
            y.rows_mut(0, j).fill(0.0);
            let norm = y.norm();
            y[j] += if y[j] < 0.0 { -norm } else { norm };
            let length = y.norm();
            y *= SQRT_2 / length;
            for mut column in rest.columns_range_mut(j..).column_iter_mut() {
                let along = y.dot(&column);
                column.axpy(-along, &y, 1.0);
            }
            let before: DVector<f64> = triangle.view((0, 0), (j, j)) * reflections.columns(0, j).tr_mul(&y);
            triangle.view_mut((0, j), (j, 1)).copy_from(&-before);
            triangle[(j, j)] = 1.0;
            reflections.set_column(j, &y);
        }
        Self { exponents, columns, reflections, triangle }
    }

    /// The vector of W with these coordinates.
    fn embed(&self, coordinates: &DVector<f64>) -> DVector<f64> {
        let m = self.reflections.ncols();
        let mut vector = DVector::zeros(self.exponents.len());
        vector.rows_mut(m, coordinates.len()).copy_from(coordinates);
        for y in self.reflections.column_iter().rev() {
            let along = y.dot(&vector);
            vector.axpy(-along, &y, 1.0);
        }
        vector
    }

    /// The envelope of `mu`, with the trace of the inverse of D on W; `None` where D is not positive there.
    fn envelope(&self, mu: f64) -> Option<(Envelope, f64)> {
        let (d, m) = self.reflections.shape();
        let q = d - m;
        let diagonal = DVector::from_fn(q, |i, _| mu - 2.0 * self.exponents[m + i]);
        if diagonal.min() <= 0.0 {
            return None;
        }
        let inverse_root = diagonal.map(|entry| 1.0 / entry.sqrt());
        if m == 0 {
            let trace = inverse_root.norm_squared();
            return Some((Envelope { inverse_root, basis: DMatrix::zeros(q, 0), factors: DVector::zeros(0) }, trace));
        }
        // D on W is D2 + [D2 Y2, Y2] C [D2 Y2, Y2]^T with Y2 the last rows of Y and C as below; the roots of D2 are
        // taken out.
        let low = self.reflections.rows(m, q);
        let wide = DMatrix::from_fn(q, 2 * m, |i, j| {
            if j < m { low[(i, j)] / inverse_root[i] } else { low[(i, j - m)] * inverse_root[i] }
        });
        let weighted = DMatrix::from_fn(d, m, |i, j| (mu - 2.0 * self.exponents[i]) * self.reflections[(i, j)]);
        let square = self.triangle.tr_mul(&self.reflections.tr_mul(&weighted)) * &self.triangle;
        let mut middle = DMatrix::zeros(2 * m, 2 * m);
        middle.view_mut((0, m), (m, m)).copy_from(&-&self.triangle);
        middle.view_mut((m, 0), (m, m)).copy_from(&-self.triangle.transpose());
        middle.view_mut((m, m), (m, m)).copy_from(&square);
        let (basis, triangle) = wide.qr().unpack();
        let inner = eigen(&triangle * middle * triangle.transpose())?;
        if inner.eigenvalues.min() <= -1.0 + POSITIVE {
            return None;
        }
        let basis = basis * inner.eigenvectors;
        let mut trace = inverse_root.norm_squared();
        for (column, value) in basis.column_iter().zip(&inner.eigenvalues) {
            trace -= value / (1.0 + value) * column.component_mul(&inverse_root).norm_squared();
        }
        let factors = inner.eigenvalues.map(|value| 1.0 / (1.0 + value).sqrt() - 1.0);
        Some((Envelope { inverse_root, basis, factors }, trace))
    }

    /// Only the trace, `None` as there: from the block inverse of D in the basis of W and the columns X,
    ///
    /// ```text
    /// tr(D on W)^-1 = tr D^-1 - tr(S^-1 X^T D^-2 X),   S = X^T D^-1 X
    /// ```
    ///
    /// and D is positive on W when S has as many negative eigenvalues as D (Haynsworth 1968). Ten times faster than
    /// [`Complement::envelope`], and less reliable where D is nearly singular.
    fn trace(&self, mu: f64) -> Option<f64> {
        let (d, m) = self.reflections.shape();
        let inverse = DVector::from_fn(d, |index, _| 1.0 / (mu - 2.0 * self.exponents[index]));
        let (sum, negative) = (inverse.sum(), inverse.iter().filter(|weight| **weight < 0.0).count());
        if m == 0 {
            return (negative == 0).then_some(sum);
        }
        let (inner, outer) = (self.weighted_square(&inverse), self.weighted_square(&inverse.component_mul(&inverse)));
        if inner.iter().chain(&outer).any(|entry| !entry.is_finite()) {
            return None;
        }
        let inner = eigen(inner)?;
        if inner.eigenvalues.iter().filter(|value| **value < 0.0).count() != negative {
            return None;
        }
        let pairs = inner.eigenvectors.column_iter().zip(&inner.eigenvalues);
        Some(sum - pairs.map(|(vector, value)| vector.dot(&(&outer * vector)) / value).sum::<f64>())
    }

    /// `X^T diag(weights) X`.
    fn weighted_square(&self, weights: &DVector<f64>) -> DMatrix<f64> {
        let m = self.columns.ncols();
        let mut square = DMatrix::zeros(m, m);
        for (j, column) in self.columns.column_iter().enumerate() {
            let weighted = column.component_mul(weights);
            for i in 0..=j {
                square[(i, j)] = weighted.dot(&self.columns.column(i));
                square[(j, i)] = square[(i, j)];
            }
        }
        square
    }

    /// The envelope of the mu where the trace is about 1.
    fn best_envelope(&self) -> Option<Envelope> {
        // The result of the fast trace is used if the envelope agrees.
        if let Some((envelope, trace)) = self.envelope(self.best(&|mu| self.trace(mu)))
            && (trace - 1.0).abs() <= 2.0 * TRACE_TOLERANCE
        {
            return Some(envelope);
        }
        Some(self.envelope(self.best(&|mu| Some(self.envelope(mu)?.1)))?.0)
    }

    /// The mu where `trace` is about 1, or a little less, by bisection.
    fn best(&self, trace: &dyn Fn(f64) -> Option<f64>) -> f64 {
        let (d, m) = self.reflections.shape();
        // On W the eigenvalues of diag(exponents) lie between the last one and the first, and the largest is at least
        // exponent m + 1. At `high` no entry of D is below q, so that it is positive throughout; at `low` the trace is
        // at least 1 or D is not positive.
        let (mut low, mut high) = (2.0 * self.exponents[m] + 1.0, 2.0 * self.exponents[0] + (d - m) as f64);
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (low + high);
            match trace(middle) {
                Some(trace) if trace <= 1.0 + TRACE_TOLERANCE => {
                    high = middle;
                    if trace >= 1.0 - TRACE_TOLERANCE {
                        break;
                    }
                }
                _ => low = middle,
            }
        }
        high
    }
}

/// `None` if it does not converge; the iteration alone would not end.
fn eigen(matrix: DMatrix<f64>) -> Option<SymmetricEigen<f64, Dyn>> {
    let steps = STEPS_PER_EIGENVALUE * matrix.nrows();
    SymmetricEigen::try_new(matrix, f64::EPSILON, steps)
}

const STEPS_PER_EIGENVALUE: usize = 100;

/// Eigenvalues of D on W, relative to its diagonal part, that count as positive.
const POSITIVE: f64 = 1e-12;

/// The accuracy of the trace around 1.
const TRACE_TOLERANCE: f64 = 0.03;

/// The largest number of bisections: the interval is then as wide as the rounding of its ends.
const BISECTIONS: usize = 60;

/// `(I + B diag(factors) B^T)` and then the diagonal: an inverse root of D on W.
struct Envelope {
    inverse_root: DVector<f64>,
    /// q × (at most 2 m), orthonormal.
    basis: DMatrix<f64>,
    factors: DVector<f64>,
}

impl Envelope {
    /// A vector of W, in its coordinates, whose precision is D if that of `deviate` is 1.
    fn shape(&self, deviate: &DVector<f64>) -> DVector<f64> {
        let mut shaped = deviate.clone();
        if !self.factors.is_empty() {
            let along = self.basis.tr_mul(deviate).component_mul(&self.factors);
            shaped.gemv(1.0, &self.basis, &along, 1.0);
        }
        shaped.component_mul_assign(&self.inverse_root);
        shaped
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::*;
    use ldp_pca::subspace::Subspace;

    fn columns(d: usize, m: usize, seed: u64) -> DMatrix<f64> {
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        Subspace::new(&DMatrix::from_fn(d, m, |_, _| normal(&mut rng))).unwrap().into_basis()
    }

    /// The low-rank form against dense matrices: coordinates, trace, and the inverse root.
    #[test]
    fn the_envelope_is_that_of_the_restricted_matrix() {
        let exponents = [90.0, 50.0, 9.0, 7.0, 7.0, 1.0, 0.0, -3.0];
        for (m, seed) in [(1, 1), (2, 2), (3, 3), (6, 4), (7, 5)] {
            // Columns near the first axes, so that D is negative on them.
            let near = DMatrix::<f64>::identity(8, m) + 0.2 * columns(8, m, seed);
            let columns = Subspace::new(&near).unwrap().into_basis();
            let complement = Complement::new(&exponents, &columns);
            let q = 8 - m;
            let basis = DMatrix::from_columns(
                &(0..q).map(|i| complement.embed(&DVector::from_fn(q, |j, _| f64::from(i == j)))).collect::<Vec<_>>(),
            );
            assert!((basis.tr_mul(&basis) - DMatrix::identity(q, q)).amax() < 1e-12);
            assert!(columns.tr_mul(&basis).amax() < 1e-12);
            let restricted = basis.tr_mul(&DMatrix::from_diagonal(&DVector::from_row_slice(&exponents))) * &basis;
            let largest = restricted.symmetric_eigenvalues().max();
            assert!(complement.envelope(2.0 * largest - 1e-3).is_none());
            let mu = 2.0 * largest + 1.7;
            let precision = DMatrix::identity(q, q) * mu - 2.0 * &restricted;
            let inverse = precision.try_inverse().unwrap();
            let (envelope, trace) = complement.envelope(mu).unwrap();
            assert!((trace / inverse.trace() - 1.0).abs() < 1e-9, "{trace}");
            assert!((complement.trace(mu).unwrap() / trace - 1.0).abs() < 1e-9, "{trace}");
            assert_eq!(complement.trace(2.0 * largest - 1e-3), None);
            let root = DMatrix::from_columns(
                &(0..q).map(|i| envelope.shape(&DVector::from_fn(q, |j, _| f64::from(i == j)))).collect::<Vec<_>>(),
            );
            assert!((&root * root.transpose() - &inverse).amax() < 1e-9 * inverse.amax());
        }
    }

    #[test]
    fn the_fast_trace_is_that_of_the_envelope_for_many_columns_too() {
        let exponents: Vec<f64> = (0..90).map(|i| 400.0 / (1.0 + f64::from(i))).collect();
        let columns = columns(90, 65, 8);
        let complement = Complement::new(&exponents, &columns);
        let best = complement.best(&|mu| complement.trace(mu));
        let trace = complement.trace(best).unwrap();
        assert!((trace / complement.envelope(best).unwrap().1 - 1.0).abs() < 1e-9);
    }

    /// One dimension left: one direction, both signs.
    #[test]
    fn the_last_direction_is_the_only_one() {
        let rng = &mut ChaCha12Rng::seed_from_u64(1);
        let columns = columns(4, 3, 6);
        let signs: f64 = (0..1000)
            .map(|_| {
                let draw = draw_orthogonal(&[300.0, 3.0, 2.0, -8.0], &columns, rng).unwrap().vector;
                assert!(columns.tr_mul(&draw).amax() < 1e-12 && (draw.norm() - 1.0).abs() < 1e-12);
                draw[0].signum()
            })
            .sum();
        // Standard deviation 32.
        assert!(signs.abs() < 160.0, "{signs}");
    }

    #[test]
    fn exponents_that_doubles_do_not_resolve_are_refused() {
        let columns = DMatrix::from_column_slice(3, 1, &[0.0, 0.0, 1.0]);
        let refused = draw_orthogonal(&[1e14, 1.0, 0.0], &columns, &mut ChaCha12Rng::seed_from_u64(1)).unwrap_err();
        assert!(refused.to_string().contains("smaller epsilon"), "{refused}");
    }

    #[test]
    fn few_proposals_are_refused_whatever_the_exponents() {
        let rng = &mut ChaCha12Rng::seed_from_u64(2);
        let d = 200;
        for scale in [0.0, 1.0, 1e2, 1e4, 1e8, 1e10] {
            let exponents: Vec<f64> = (0..d).map(|i| scale / (1.0 + i as f64)).collect();
            // The last axis taken puts the largest exponent where the diagonal part has the smallest.
            let last = DMatrix::from_fn(d, 1, |i, _| f64::from(i == d - 1));
            for taken in [DMatrix::zeros(d, 0), DMatrix::identity(d, 3), columns(d, 3, 3), last] {
                let proposals: u64 = (0..50).map(|_| draw_orthogonal(&exponents, &taken, rng).unwrap().proposals).sum();
                assert!(proposals < 50 * 60, "scale {scale}, {} taken: {proposals}", taken.ncols());
            }
        }
    }
}
