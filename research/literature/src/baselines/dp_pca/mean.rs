//! The private mean within a privately found range (Algorithm 5 of Liu et al.; Karwa & Vadhan 2018; Kamath, Li,
//! Singhal & Ullman 2019).
//!
//! *In a box* ([`Range::Box`](super::Range::Box)), with the reach of Lemma 6.2. The bins are ours: the algorithm is in
//! an appendix that was not at hand.
//!
//! ```text
//! tau = 2^(1/4) K sqrt(Lambda) log^a(25)
//! for each coordinate j: centre_j = middle of the heaviest bin [2 tau i, 2 tau (i + 1)) of its private histogram
//! truncate coordinate j to centre_j +- R,   R = 3 K sqrt(Lambda) log^a(m D / zeta)
//! return the mean of the m truncated gradients + N(0, noise^2 I)
//! ```
//!
//! One gradient replaced moves the mean by at most `2 R sqrt(D) / m`. (Equation (14) has 8 K in the noise where twice
//! 3 K from the sensitivity and twice 1 from the budget's halves make 12 K. It has the whole batch and the whole
//! budget, of which Algorithm 5 here has a half: with the printed accounting the noise is six times that of (14), but
//! for logarithms.)
//!
//! *In a ball*, ours ([`Range::Ball`](super::Range::Ball)). Once the iterate is near the components, most of the mean
//! gradient `Sigma W` is in the span of W. So the centre is sought only there, as r numbers instead of d r:
//!
//! ```text
//! V   = private trace of the gradients' covariance                         first part of the batch
//! s_j = middle of the heaviest bin of w_j^T g_j, bins of width sqrt(V)      second part
//! Q   = private mean square of |g - W diag(s)|_F                           third part
//! clip g - W diag(s) to the norm radius sqrt(Q); return its mean + W diag(s) + N(0, noise^2 I)       the rest
//! ```
//!
//! One gradient replaced moves the mean by at most `2 radius sqrt(Q) / m`. Where the covariance is a multiple of the
//! identity and the centre is good, this is smaller than the box's by `3 sqrt(2) K log^a(m D / zeta) / radius`: three
//! to four with the box of `DpPca::new`, about two hundred with the paper's K = 4 and a = 1. While the iterate is far
//! off, Q is as large as the gradients, and the noise is a small part of Q, so the next iterate is nearer.
//!
//! A centre that is not seen is set to 0, which is a function of released values. Then, or if the centre of a box is
//! far off, more is clipped. The answer is biased, but as private as before.

use nalgebra::{DMatrix, DVector};
use rand::rand_core::CryptoRng;

use super::DpPca;
use super::calibration::Calibration;
use super::eigenvalue::{private_mean_square, private_trace};
use super::histogram::heaviest_bin;
use crate::baselines::orthonormal::normal_matrix;

/// A private mean.
#[derive(Clone, Debug)]
pub(super) struct PrivateMean {
    /// rows × columns, as the iterate.
    pub(super) value: DMatrix<f64>,
    /// The private scale that it is based on: a top eigenvalue, or a mean square.
    pub(super) scale: f64,
    /// Standard deviation of the noise on each entry.
    pub(super) noise: f64,
    /// The number of histograms in which no bin was seen.
    pub(super) unseen: usize,
}

/// Algorithm 5: the private mean of `gradients` (one per column, each a matrix of `columns` columns, one under the
/// other) where `scale` is what Algorithm 4 found.
pub(super) fn mean_in_box(
    mut gradients: DMatrix<f64>,
    columns: usize,
    scale: f64,
    method: &DpPca,
    calibration: &Calibration,
    rng: &mut dyn CryptoRng,
) -> PrivateMean {
    let (entries, count) = gradients.shape();
    // Line 4 of Algorithm 3: "the estimated eigenvalue 2 Lambda".
    let deviation = method.tail.constant * (2.0 * scale).sqrt();
    let log_power = |value: f64| libm::pow(libm::log(value), method.tail.exponent);
    let tau = libm::exp2(0.25) * deviation * log_power(25.0);
    let reach = 3.0 * deviation * log_power(count as f64 * entries as f64 / method.failure);
    let mut unseen = 0;
    let centre = DVector::from_fn(entries, |coordinate, _| {
        locate(gradients.row(coordinate).iter().copied(), 2.0 * tau, calibration, &mut unseen, rng)
    });
    for mut gradient in gradients.column_iter_mut() {
        for (value, middle) in gradient.iter_mut().zip(centre.iter()) {
            *value = (*value - middle).clamp(-reach, reach);
        }
    }
    let sensitivity = 2.0 * reach * (entries as f64).sqrt() / count as f64;
    let total = gradients.column_mean() + centre;
    let value = DMatrix::from_column_slice(entries / columns, columns, total.as_slice());
    noisy(value, scale, sensitivity, unseen, calibration, rng)
}

/// The number of gradients in memory at a time.
const CHUNK: usize = 4096;

/// The private mean, in a ball around the image of the iterate `basis` in its own span, of the `gradients` of the
/// records at `batch`; `None` where a range was not seen.
pub(super) fn mean_in_ball(
    batch: &[usize],
    gradients: impl Fn(&[usize]) -> DMatrix<f64>,
    basis: &DMatrix<f64>,
    radius: f64,
    calibration: &Calibration,
    rng: &mut dyn CryptoRng,
) -> Option<PrivateMean> {
    let (rows, columns) = basis.shape();
    let part = calibration.ranging(batch.len());
    let trace = private_trace(&gradients(&batch[..part]), calibration, rng)?;
    let second = gradients(&batch[part..2 * part]);
    let mut unseen = 0;
    let mut centre = basis.clone();
    for (place, column) in basis.column_iter().enumerate() {
        let images = second.rows(place * rows, rows).tr_mul(&column);
        let middle = locate(images.iter().copied(), trace.sqrt(), calibration, &mut unseen, rng);
        centre.column_mut(place).scale_mut(middle);
    }
    let square = private_mean_square(&residuals(gradients(&batch[2 * part..3 * part]), &centre), calibration, rng)?;
    let (rest, radius) = (&batch[3 * part..], radius * square.sqrt());
    let mut sum = DVector::zeros(rows * columns);
    for chunk in rest.chunks(CHUNK) {
        for residual in residuals(gradients(chunk), &centre).column_iter() {
            let norm = residual.norm();
            sum.axpy(if norm > radius { radius / norm } else { 1.0 }, &residual, 1.0);
        }
    }
    let sensitivity = 2.0 * radius / rest.len() as f64;
    let value = DMatrix::from_column_slice(rows, columns, sum.as_slice()) / rest.len() as f64 + centre;
    Some(noisy(value, square, sensitivity, unseen, calibration, rng))
}

/// The middle of the heaviest bin; 0 and one more in `unseen` where none is seen.
fn locate(
    values: impl Iterator<Item = f64>,
    width: f64,
    calibration: &Calibration,
    unseen: &mut usize,
    rng: &mut dyn CryptoRng,
) -> f64 {
    let bins = values.map(|value| (value / width).floor()).collect();
    let bin = heaviest_bin(bins, calibration.location, rng);
    *unseen += usize::from(bin.is_none());
    bin.map_or(0.0, |bin| (bin + 0.5) * width)
}

/// The differences of the gradients from the centre.
fn residuals(mut gradients: DMatrix<f64>, centre: &DMatrix<f64>) -> DMatrix<f64> {
    for mut gradient in gradients.column_iter_mut() {
        gradient.iter_mut().zip(centre.iter()).for_each(|(value, middle)| *value -= middle);
    }
    gradients
}

/// Adds the noise that hides a change of `sensitivity`.
fn noisy(
    value: DMatrix<f64>,
    scale: f64,
    sensitivity: f64,
    unseen: usize,
    calibration: &Calibration,
    rng: &mut dyn CryptoRng,
) -> PrivateMean {
    let noise = calibration.mean * sensitivity * (1.0 + 8.0 * f64::EPSILON);
    let (rows, columns) = value.shape();
    let value = value + normal_matrix(rows, columns, rng) * noise;
    PrivateMean { value, scale, noise, unseen }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::super::tests::method;
    use super::super::{Range, Tail};
    use super::*;
    use ldp_pca::privacy::{Delta, Epsilon};

    /// The mean with a box that cuts nothing.
    fn wide(range: Range) -> DpPca {
        DpPca { tail: Tail { constant: 1.0, exponent: 0.5 }, ..method(range) }
    }

    /// [`mean_in_ball`] of the columns of a matrix.
    fn in_ball(
        given: &DMatrix<f64>,
        basis: &DMatrix<f64>,
        calibration: &Calibration,
        rng: &mut ChaCha12Rng,
    ) -> PrivateMean {
        let all: Vec<usize> = (0..given.ncols()).collect();
        mean_in_ball(&all, |indices| given.select_columns(indices), basis, 1.5, calibration, rng).unwrap()
    }

    /// Around (7, 0, 0, 0), with standard deviation 0.01.
    fn gradients(count: usize) -> DMatrix<f64> {
        let mut rng = ChaCha12Rng::seed_from_u64(9);
        let mut gradients = normal_matrix(4, count, &mut rng) * 0.01;
        gradients.row_mut(0).add_scalar_mut(7.0);
        gradients
    }

    #[test]
    fn the_mean_in_a_box_is_that_of_the_gradients_with_noise_of_the_size_of_their_range() {
        let mut rng = ChaCha12Rng::seed_from_u64(10);
        let (method, given) = (wide(Range::Box), gradients(4000));
        let calibration = Calibration::new(&method, (method.epsilon, method.delta), (4, 1), 1).unwrap();
        let found = mean_in_box(given.clone(), 1, 1e-4, &method, &calibration, &mut rng);
        assert_eq!(found.unseen, 0);
        // 3 sqrt(2) 0.01 sqrt(log(16000 / 0.01)) = 0.16 is the reach: 16 standard deviations, twice that by 2 / 4000
        // the sensitivity.
        let sensitivity = 4.0 * 3.0 * (2e-4f64 * (1.6e6f64).ln()).sqrt() / 4000.0;
        assert!((found.noise / sensitivity / calibration.mean - 1.0).abs() < 1e-9, "{}", found.noise);
        let error = (found.value.column(0) - given.column_mean()).norm();
        assert!(error > 0.0 && error < 5.0 * found.noise * 2.0, "{error} {}", found.noise);
    }

    #[test]
    fn the_printed_noise_is_six_times_that_of_equation_14_but_for_logarithms() {
        let (epsilon, delta) = (Epsilon::new(0.8).unwrap(), Delta::new(1e-6).unwrap());
        let method = DpPca::printed(epsilon, delta);
        let calibration = Calibration::new(&method, (epsilon, delta), (4, 1), 1).unwrap();
        // The second half of a batch of 8000.
        let mut rng = ChaCha12Rng::seed_from_u64(13);
        let found = mean_in_box(gradients(4000), 1, 1e-4, &method, &calibration, &mut rng).noise;
        let logarithms = [4000.0, 8000.0].map(|count: f64| (4.0 * count / 0.01).ln());
        let fourteen = 8.0 * 4.0 * 2e-4f64.sqrt() * logarithms[1] * (8.0 * 2.5e6f64.ln()).sqrt() / (8000.0 * 0.8);
        let expected = 6.0 * (5e6f64.ln() / 2.5e6f64.ln()).sqrt() * logarithms[0] / logarithms[1];
        assert!((found / fourteen / expected - 1.0).abs() < 1e-6, "{found} {fourteen} {expected}");
    }

    #[test]
    fn a_ball_s_noise_follows_the_spread_for_a_good_centre_and_the_gradients_for_a_bad_one() {
        let mut rng = ChaCha12Rng::seed_from_u64(11);
        let (method, given) = (method(Range::Ball), gradients(16_000));
        let calibration = Calibration::new(&method, (method.epsilon, method.delta), (4, 1), 1).unwrap();
        for (first, second, largest) in [(1.0, 0.0, 0.03), (0.6, 0.8, 7.0)] {
            let basis = DMatrix::from_column_slice(4, 1, &[first, second, 0.0, 0.0]);
            let found = in_ball(&given, &basis, &calibration, &mut rng);
            let rest = 16_000 - 3 * calibration.ranging(16_000);
            let radius = found.noise / calibration.mean * rest as f64 / 2.0;
            assert!(radius < 1.5 * largest && radius > 0.4 * largest, "{radius}");
            // A ball that is off centre is biased along the iterate itself, and this does not turn the iterate.
            let error = found.value.column(0) - given.columns_range(16_000 - rest..).column_mean();
            let across = (&error - &basis * basis.tr_mul(&error)).norm();
            assert!(across > 0.0 && across < 5.0 * found.noise * 2.0, "{across} {}", found.noise);
        }
    }

    #[test]
    fn a_replaced_gradient_of_any_length_moves_the_mean_by_the_sensitivity_at_most() {
        let basis = DMatrix::from_column_slice(4, 1, &[1.0, 0.0, 0.0, 0.0]);
        for range in [Range::Box, Range::Ball] {
            let method = wide(range);
            let calibration = Calibration::new(&method, (method.epsilon, method.delta), (4, 1), 1).unwrap();
            // The last gradient is among those that are averaged. Both runs use the same random numbers.
            let answer = |last: [f64; 4]| {
                // In the middle of a box's bins, so random numbers in another order do not choose another bin.
                let mut given = gradients(8000).add_scalar(0.03);
                given.column_mut(7999).copy_from_slice(&last);
                let mut rng = ChaCha12Rng::seed_from_u64(12);
                match range {
                    Range::Box => mean_in_box(given, 1, 1e-4, &method, &calibration, &mut rng),
                    Range::Ball => in_ball(&given, &basis, &calibration, &mut rng),
                }
            };
            let (up, down) = (answer([1e9; 4]), answer([-1e9; 4]));
            let moved = (&up.value - &down.value).norm();
            let sensitivity = up.noise / calibration.mean;
            assert!(
                moved <= sensitivity * (1.0 + 1e-9) && moved > 0.999 * sensitivity,
                "{range:?} {moved} {sensitivity}"
            );
        }
    }
}
