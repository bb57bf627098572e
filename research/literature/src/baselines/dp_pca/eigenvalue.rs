//! Private top eigenvalue (Algorithm 4 of Liu et al.), and the trace as an alternative.
//!
//! The steps are ours, for an answer within a factor sqrt(2) as Theorem 6.1 has it: the algorithm's own are in an
//! appendix that was not at hand.
//!
//! ```text
//! g~_i = (g_{2i} - g_{2i-1}) / sqrt(2)              mean 0 and the covariance of g
//! split them into k groups of b;  lambda^(j) = top eigenvalue of (1/b) sum g~ g~^T in group j
//! private histogram of lambda^(1..k) over bins [2^(i/4), 2^((i+1)/4)), and one for 0
//! return the heaviest bin's lower end; nothing if none is seen
//! ```
//!
//! *Guarantee*: a replaced gradient is in one pair of one group, so it replaces one of the k values. The histogram's
//! guarantee covers that.
//!
//! A group of b pairs in D dimensions has a top eigenvalue of about `(1 + sqrt(D / b))^2` where the covariance is a
//! multiple of the identity: Theorem 6.1 requires b of order D. With fewer pairs the answer is too large, which only
//! adds noise. Fewer pairs also scatter the values over several quarters of an octave, and then no bin may reach the
//! threshold. [`Accounting::Tight`] therefore takes whole octaves, with a factor of 2 in place of sqrt(2).
//!
//! [`Range::Ball`] needs the trace instead, which does not have this bias. The same histogram gives it: the trace of
//! the covariance from pairs, or about a given centre from single gradients.

use nalgebra::{DMatrix, DMatrixView, DVector};
use rand::rand_core::CryptoRng;

use super::Accounting;
use super::calibration::Calibration;
use super::histogram::heaviest_bin;
use crate::baselines::BaselineError;
use crate::baselines::orthonormal::uniform_start;
use ldp_pca::linalg::lanczos;
use ldp_pca::recovery::FantopeError;

/// The smallest value that is distinguished from 0. If all gradients are equal, the noise is tiny, not 0.
const SMALLEST: f64 = 1e-200;

/// The private estimate of the covariance's top eigenvalue, from `gradients`, one per column.
///
/// # Errors
/// [`BaselineError::Recovery`] where a decomposition fails.
pub(super) fn private_eigenvalue(
    gradients: &DMatrix<f64>,
    accounting: Accounting,
    calibration: &Calibration,
    rng: &mut dyn CryptoRng,
) -> Result<Option<f64>, BaselineError> {
    let size = gradients.ncols() / 2 / calibration.groups;
    let mut pairs = DMatrix::zeros(gradients.nrows(), size);
    let mut values = Vec::with_capacity(calibration.groups);
    for group in 0..calibration.groups {
        differences(gradients.columns(2 * size * group, 2 * size), &mut pairs);
        values.push(top_eigenvalue(&pairs, rng)?);
    }
    let per_octave = match accounting {
        Accounting::Printed => 4.0,
        Accounting::Tight => 1.0,
    };
    Ok(private_octave(&values, per_octave, calibration, rng))
}

/// The private estimate of the trace of the covariance of `gradients`.
pub(super) fn private_trace(
    gradients: &DMatrix<f64>,
    calibration: &Calibration,
    rng: &mut dyn CryptoRng,
) -> Option<f64> {
    let mut pairs = DMatrix::zeros(gradients.nrows(), gradients.ncols() / 2);
    differences(gradients.as_view(), &mut pairs);
    private_mean_square(&pairs, calibration, rng)
}

/// The private estimate of the mean squared norm of `vectors`, from the means over k groups of them.
pub(super) fn private_mean_square(
    vectors: &DMatrix<f64>,
    calibration: &Calibration,
    rng: &mut dyn CryptoRng,
) -> Option<f64> {
    let size = vectors.ncols() / calibration.groups;
    let mean_square = |group| vectors.columns(size * group, size).norm_squared() / size as f64;
    let values: Vec<f64> = (0..calibration.groups).map(mean_square).collect();
    private_octave(&values, 1.0, calibration, rng)
}

/// The lower end of the heaviest bin, with `per_octave` bins per octave.
fn private_octave(values: &[f64], per_octave: f64, calibration: &Calibration, rng: &mut dyn CryptoRng) -> Option<f64> {
    let bins = values.iter().map(|value| (per_octave * libm::log2(value.max(SMALLEST))).floor()).collect();
    let scale = heaviest_bin(bins, calibration.scale, rng).map(|bin| libm::exp2(bin / per_octave));
    scale.filter(|scale| scale.is_finite())
}

/// `(g_{2i} - g_{2i-1}) / sqrt(2)`.
fn differences(members: DMatrixView<'_, f64>, pairs: &mut DMatrix<f64>) {
    for (index, mut pair) in pairs.column_iter_mut().enumerate() {
        pair.copy_from(&members.column(2 * index));
        pair -= members.column(2 * index + 1);
        pair *= core::f64::consts::FRAC_1_SQRT_2;
    }
}

/// Steps of the Lanczos iteration. From a random start they find a top eigenvalue to a few per cent in any dimension
/// (Kuczynski & Wozniakowski 1992), a small part of a bin.
const STEPS: usize = 12;

/// The top eigenvalue of `(1/b) G G^T`.
fn top_eigenvalue(pairs: &DMatrix<f64>, rng: &mut dyn CryptoRng) -> Result<f64, BaselineError> {
    // Otherwise products would overflow, and the error would reveal a single gradient.
    if !pairs.norm_squared().is_finite() {
        return Ok(f64::INFINITY);
    }
    let scale = 1.0 / pairs.ncols() as f64;
    let mut overlaps = DVector::zeros(pairs.ncols());
    let mut apply = |x: &DVector<f64>, y: &mut DVector<f64>| {
        overlaps.gemv_tr(scale, pairs, x, 0.0);
        y.gemv(1.0, pairs, &overlaps, 0.0);
    };
    let start = uniform_start(pairs.nrows(), 1, rng).column(0).into_owned();
    Ok(lanczos(&mut apply, &start, STEPS).map_err(FantopeError::from)?.values[0])
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::super::tests::method;
    use super::super::{DpPca, Range};
    use super::*;
    use crate::baselines::orthonormal::normal_matrix;

    #[test]
    fn the_estimate_is_within_the_factor_of_theorem_6_1_whatever_the_mean_and_the_unit() {
        for (accounting, unit) in [(Accounting::Printed, 1.0), (Accounting::Printed, 1e-6), (Accounting::Tight, 1e3)] {
            let method = DpPca { accounting, ..method(Range::Box) };
            let calibration = Calibration::new(&method, (method.epsilon, method.delta), (3, 1), 1).unwrap();
            let mut rng = ChaCha12Rng::seed_from_u64(5);
            let mut gradients = normal_matrix(3, 300 * calibration.groups * 2, &mut rng);
            for (mut row, deviation) in gradients.row_iter_mut().zip([1.0, 3.0, 1.0]) {
                row *= deviation * unit;
                row.add_scalar_mut(100.0 * unit);
            }
            let square = unit * unit;
            for _ in 0..20 {
                let factor = if accounting == Accounting::Printed { 2f64.sqrt() } else { 2.0 };
                let found = private_eigenvalue(&gradients, accounting, &calibration, &mut rng).unwrap().unwrap();
                assert!(found <= factor * 9.0 * square && found >= 9.0 / factor * square, "{accounting:?} {found}");
                let trace = private_trace(&gradients, &calibration, &mut rng).unwrap();
                assert!(trace <= 22.0 * square && trace >= 5.5 * square, "{trace}");
                let about_zero = private_mean_square(&gradients, &calibration, &mut rng).unwrap();
                assert!(about_zero <= 30_011.0 * square && about_zero >= 15_000.0 * square, "{about_zero}");
            }
        }
    }
}
