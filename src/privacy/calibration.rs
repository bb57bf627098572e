//! Analytic calibration of the Gaussian mechanism: the noise that a guarantee needs, and the guarantee that a noise
//! scale gives.
//!
//! For the Gaussian mechanism with noise standard deviation sigma in every direction and l2-sensitivity Delta,
//! the smallest delta at a given epsilon is (Balle & Wang 2018, Theorem 8)
//!
//! ```text
//! delta(epsilon) = Phi(a - b) - e^epsilon Phi(-a - b),   a = Delta / (2 sigma),   b = epsilon sigma / Delta
//! ```
//!
//! and it is exact for every epsilon, unlike the classical scale `sqrt(2 ln(1.25/delta)) Delta / epsilon`, whose proof
//! needs epsilon <= 1 (Dwork & Roth 2014, Theorem A.1).
//!
//! *Rounding.* `erfc` and `exp` come from libm (under 1 ulp each); with the roundings of their arguments each of the
//! two terms is off by less than `TERM_ERROR` relative (more where a and b themselves are large: see `delta_upper`), so
//! [`gaussian_delta`] adds that times their sum and is an upper bound. Inverse queries bisect on that upper bound a
//! fixed number of times, whatever the input, and return the end on the safe side: one that was checked.

use super::{Delta, Epsilon, PrivacyError, Rho};
use crate::bisection::bisect;

/// The Frobenius diameter of the set of all x x^T with |x| <= 1: the l2-sensitivity of a covariance contribution
/// under the relation "any two records".
///
/// ```text
/// |x x^T - y y^T|_F^2 = |x|^4 + |y|^4 - 2 (x . y)^2 <= 2, with equality for orthogonal unit vectors.
/// ```
///
/// The double is above the real square root of two (tested below).
pub const COVARIANCE_SENSITIVITY: f64 = core::f64::consts::SQRT_2;

/// Relative error allowed to each term of the formula: arguments up to 40 squared amplify half an ulp to about 2e-13.
const TERM_ERROR: f64 = 1e-12;

/// Where a + b is larger, the roundings of a and b change their difference so much that no term has a known relative
/// accuracy.
const LARGE: f64 = 1e8;

/// More than what numbers below the normal ones lose, and what is too small for any.
const UNDERFLOW: f64 = f64::from_bits(16);

/// Upper bound on delta at `epsilon` for Gaussian noise of standard deviation `sigma` and l2-sensitivity `sensitivity`.
///
/// # Errors
/// [`PrivacyError::Scale`] when `sigma` or `sensitivity` is not a finite positive number.
pub fn gaussian_delta(sigma: f64, sensitivity: f64, epsilon: Epsilon) -> Result<f64, PrivacyError> {
    Ok(delta_upper(noise_ratio(sigma, sensitivity)?, epsilon.value()))
}

/// The smallest epsilon, rounded up, at which Gaussian noise of standard deviation `sigma` gives
/// (epsilon, `delta`)-differential privacy to a query of l2-sensitivity `sensitivity`.
///
/// # Errors
/// [`PrivacyError::Scale`] for a bad scale, [`PrivacyError::NoFiniteEpsilon`] when no representable epsilon is enough.
pub fn gaussian_epsilon(sigma: f64, sensitivity: f64, delta: Delta) -> Result<Epsilon, PrivacyError> {
    let ratio = noise_ratio(sigma, sensitivity)?;
    smallest_epsilon(|epsilon| delta_upper(ratio, epsilon) <= delta.value())
        .ok_or(PrivacyError::NoFiniteEpsilon(delta.value()))
}

/// [`gaussian_epsilon`] of the Gaussian mechanism with concentrated-privacy parameter `rho`, which determines it.
///
/// # Errors
/// [`PrivacyError::NoFiniteEpsilon`] when no representable epsilon is enough.
pub fn gaussian_epsilon_of_rho(rho: Rho, delta: Delta) -> Result<Epsilon, PrivacyError> {
    // sigma / sensitivity = 1 / sqrt(2 rho), rounded down: less noise.
    gaussian_epsilon((1.0 - ROUNDINGS) / (2.0 * rho.value()).sqrt(), 1.0, delta)
}

/// The concentrated differential privacy of Gaussian noise (Bun & Steinke 2016, Proposition 1.6), rounded up:
/// `sensitivity^2 / (2 sigma^2)`.
///
/// # Errors
/// [`PrivacyError::Scale`] for a bad scale, [`PrivacyError::Rho`] when the quotient is not a positive finite number.
pub fn gaussian_rho(sigma: f64, sensitivity: f64) -> Result<Rho, PrivacyError> {
    let sigma = positive("sigma", sigma)?;
    let quotient = positive("sensitivity", sensitivity)? / sigma;
    let rho = 0.5 * quotient * quotient * (1.0 + ROUNDINGS);
    // A relative margin has no effect on a subnormal number.
    if rho.is_normal() { Rho::new(rho) } else { Err(PrivacyError::Rho(rho)) }
}

/// Exceeds the relative change of a number by eight roundings to nearest.
const ROUNDINGS: f64 = 8.0 * f64::EPSILON;

fn positive(name: &'static str, value: f64) -> Result<f64, PrivacyError> {
    if value.is_finite() && value > 0.0 { Ok(value) } else { Err(PrivacyError::Scale { name, value }) }
}

/// sigma / sensitivity, the only quantity that matters.
fn noise_ratio(sigma: f64, sensitivity: f64) -> Result<f64, PrivacyError> {
    positive("sigma / sensitivity", positive("sigma", sigma)? / positive("sensitivity", sensitivity)?)
}

/// The smallest epsilon found at which `enough` holds, for a condition that larger epsilons fulfil too; `None` if even
/// 1e300 is not enough. At most 2,200 evaluations.
fn smallest_epsilon(enough: impl Fn(f64) -> bool) -> Option<Epsilon> {
    let high = doubled_until(1e300, &enough)?;
    Epsilon::new(refined(high, 1e-300, 54, enough)).ok()
}

/// The first power of two from 1 on at which `enough` holds, up to `most`.
fn doubled_until(most: f64, enough: impl Fn(f64) -> bool) -> Option<f64> {
    let mut high = 1.0;
    while !enough(high) {
        high *= 2.0;
        if high > most {
            return None;
        }
    }
    Some(high)
}

/// The smallest number found at which `enough` holds, as it does at `high`, for a condition that larger numbers fulfil
/// too: by halving down to `least`, so that small numbers are as accurate as large ones, and by so many steps of
/// bisection. The answer has been checked, whether or not rounding makes the condition waver near the threshold.
pub(super) fn refined(mut high: f64, least: f64, steps: u32, enough: impl Fn(f64) -> bool) -> f64 {
    let mut low = 0.5 * high;
    while low > least && enough(low) {
        high = low;
        low *= 0.5;
    }
    bisect(low, high, steps, enough)
}

/// The formula above in `ratio` = sigma / sensitivity, rounded up, at most 1.
fn delta_upper(ratio: f64, epsilon: f64) -> f64 {
    use core::f64::consts::FRAC_1_SQRT_2;
    let a = 0.5 / ratio;
    let b = epsilon * ratio;
    let sum = a + b;
    if sum > LARGE {
        // The difference from below; without the loss, which is next to nothing of any gain that is left.
        let apart = b * (1.0 - 4.0 * f64::EPSILON) - a * (1.0 + 4.0 * f64::EPSILON);
        return (0.5 * libm::erfc(apart * FRAC_1_SQRT_2) * (1.0 + TERM_ERROR) + UNDERFLOW).min(1.0);
    }
    let gain = 0.5 * libm::erfc((b - a) * FRAC_1_SQRT_2);
    let argument = sum * FRAC_1_SQRT_2;
    let loss = if argument < 25.0 {
        0.5 * libm::exp(epsilon + libm::log(libm::erfc(argument)))
    } else {
        // There the tail soon has few bits or none, and e^epsilon makes much of them. As 2 a b = epsilon, the product
        // is e^(-(b - a)^2 / 2) times e^(x^2) erfc(x) / 2 at x = `argument`.
        0.5 * libm::exp(-0.5 * (b - a) * (b - a)) * scaled_tail(argument)
    };
    // erfc at x changes relatively by 2 (1 + |x|) times an absolute change of x, and x has the roundings of a and b.
    let error = TERM_ERROR.max(16.0 * f64::EPSILON * sum * (1.0 + (b - a).abs()));
    ((gain - loss).max(0.0) + error * (gain + loss) + UNDERFLOW).min(1.0)
}

/// `e^(x^2) erfc(x)` for x from 25 on, from below except for rounding: its asymptotic series up to the fifth power.
fn scaled_tail(x: f64) -> f64 {
    let small = 0.5 / (x * x);
    let inner = 1.0 - 5.0 * small * (1.0 - 7.0 * small * (1.0 - 9.0 * small));
    (1.0 - small * (1.0 - 3.0 * small * inner)) / (core::f64::consts::PI.sqrt() * x)
}

/// The smallest noise standard deviation, rounded up, that gives (`epsilon`, `delta`)-differential privacy
/// to a query of l2-sensitivity `sensitivity`: the analytic Gaussian mechanism (Balle & Wang 2018, Algorithm 1).
///
/// # Errors
/// [`PrivacyError::Scale`] for a bad sensitivity, [`PrivacyError::Unreachable`] when the target is below double
/// precision.
pub fn analytic_gaussian_sigma(epsilon: Epsilon, delta: Delta, sensitivity: f64) -> Result<f64, PrivacyError> {
    positive("sensitivity", sensitivity)?;
    let reached = |ratio: f64| delta_upper(ratio, epsilon.value()) <= delta.value();
    let unreachable = PrivacyError::Unreachable { epsilon: epsilon.value(), delta: delta.value() };
    // `delta_upper` falls as the ratio grows, up to its error term; the returned end always satisfies `reached`.
    let high = refined(doubled_until(1e30, reached).ok_or(unreachable)?, 1e-30, 60, reached);
    // The margin keeps a later query of `gaussian_delta` at this scale below the target, unless the error term is all
    // there is of it (a delta of 1e-272): the scale is private all the same, being above one that was checked.
    let sigma = high * sensitivity * (1.0 + TERM_ERROR);
    // A relative margin has no effect on a subnormal number, which rounding may even turn into zero.
    if sigma.is_normal() { Ok(sigma) } else { Err(unreachable) }
}

/// The scale printed by Wang & Xu (2019, Algorithm 1), `sqrt(2 ln(1.25/delta)) / epsilon`, which takes the
/// sensitivity as 1.
///
/// It does not give the (epsilon, delta) it is computed from; [`gaussian_delta`] with [`COVARIANCE_SENSITIVITY`] gives
/// its true delta.
#[must_use]
pub fn paper_sigma(epsilon: Epsilon, delta: Delta) -> f64 {
    (2.0 * libm::log(1.25 / delta.value())).sqrt() / epsilon.value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::tests::{assert_rounded_up, delta, epsilon, known};

    #[test]
    fn sensitivity_is_rounded_up_from_the_square_root_of_two() {
        // Doubles square inexactly; the integer significand does not: m^2 >= 2 * 2^104.
        let significand = (COVARIANCE_SENSITIVITY * 2f64.powi(52)) as u128;
        assert!(significand * significand >= 2u128 << 104);
    }

    /// Computed with 60 digits.
    #[test]
    fn the_far_tail_is_cut_off_below_it_and_near_it() {
        for (x, truth) in [
            (25.0, 0.022_549_572_432_641_36),
            (26.0, 0.021_683_584_850_562_906),
            (30.0, 0.018_795_888_861_416_75),
            (50.0, 0.011_281_536_265_323_773),
            (1000.0, 0.000_564_189_301_453_387_7),
        ] {
            let ratio = scaled_tail(x) / truth;
            assert!(ratio <= 1.0 + 4.0 * f64::EPSILON && ratio > 1.0 - 1e-14, "{x}: {ratio}");
        }
    }

    #[test]
    fn the_returned_scale_reaches_the_target_and_a_slightly_smaller_one_does_not() {
        for e in [0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0] {
            for d in [1e-12, 1e-9, 1e-6, 1e-4, 1e-2, 0.3] {
                let sigma = analytic_gaussian_sigma(epsilon(e), delta(d), COVARIANCE_SENSITIVITY).unwrap();
                let at = |s| gaussian_delta(s, COVARIANCE_SENSITIVITY, epsilon(e)).unwrap();
                assert!(at(sigma) <= d, "eps {e} delta {d} sigma {sigma} gives {}", at(sigma));
                assert!(at(sigma * (1.0 - 1e-6)) > d, "eps {e} delta {d} sigma {sigma} is not tight");
            }
        }
    }

    /// Below the normal numbers a relative margin has no effect.
    #[test]
    fn what_is_too_small_to_round_up_is_refused() {
        for sensitivity in [f64::from_bits(1), 3.436e-310] {
            assert!(analytic_gaussian_sigma(epsilon(1.0), delta(0.5), sensitivity).is_err());
            assert!(analytic_gaussian_sigma(epsilon(8.8e158), delta(6e-318), sensitivity).is_err());
        }
        assert!([1e155, 1e170, 1e-170].iter().all(|&sigma| gaussian_rho(sigma, 1.0).is_err()));
    }

    /// How far an answer may be above the true one, for the `most` of the fixture: three margins of delta above it.
    fn above(truth: [f64; 2], most: f64) -> f64 {
        most - truth[1] + 3e-12 * most + 2e-300
    }

    /// Never below, and within some margins of what is subtracted from each other: two parts in 1e12, more where
    /// arguments are large. (Where they are very large, the epsilons below show how near.)
    #[test]
    fn delta_of_gaussian_noise_is_that_of_a_hundred_digits_or_a_little_more() {
        for (inputs, truth) in known("gaussian_delta") {
            let &[sigma, sensitivity, e, both] = inputs else { panic!("{inputs:?}") };
            let found = gaussian_delta(sigma, sensitivity, epsilon(e)).unwrap();
            let (a, b) = (0.5 * sensitivity / sigma, e * sigma / sensitivity);
            let relative = 2e-12 + 40.0 * f64::EPSILON * (a + b) * (1.0 + (b - a).abs());
            let close = if a + b > LARGE { 1.0 } else { relative * both + 1e-322 };
            assert_rounded_up(found, truth, close, inputs);
        }
    }

    /// The margin for the roundings of a and b is there, with those of the ratio left out.
    #[test]
    fn differences_of_large_numbers_are_not_trusted() {
        for (inputs, truth) in known("gaussian_difference") {
            let &[ratio, e] = inputs else { panic!("{inputs:?}") };
            let (a, b) = (0.5 / ratio, e * ratio);
            let unit = f64::EPSILON * (a + b) * (1.0 + (b - a).abs());
            let found = delta_upper(ratio, e) / truth[1] - 1.0;
            assert!(found > 10.0 * unit && found < 40.0 * unit, "{inputs:?}: {} units", found / unit);
        }
    }

    #[test]
    fn epsilon_of_gaussian_noise_is_that_of_a_hundred_digits_or_a_little_more() {
        for (inputs, truth) in known("gaussian_epsilon") {
            let &[sigma, sensitivity, d, most] = inputs else { panic!("{inputs:?}") };
            let found = gaussian_epsilon(sigma, sensitivity, delta(d)).unwrap().value();
            assert_rounded_up(found, truth, above(truth, most), inputs);
        }
    }

    #[test]
    fn epsilon_of_rho_is_that_of_a_hundred_digits_or_a_little_more() {
        for (inputs, truth) in known("gaussian_epsilon_of_rho") {
            let &[rho, d, most] = inputs else { panic!("{inputs:?}") };
            let found = gaussian_epsilon_of_rho(Rho::new(rho).unwrap(), delta(d)).unwrap().value();
            assert_rounded_up(found, truth, above(truth, most), inputs);
        }
    }

    #[test]
    fn the_scale_of_gaussian_noise_is_that_of_a_hundred_digits_or_a_little_more() {
        for (inputs, truth) in known("gaussian_sigma") {
            let &[e, d, sensitivity, most] = inputs else { panic!("{inputs:?}") };
            let found = analytic_gaussian_sigma(epsilon(e), delta(d), sensitivity).unwrap();
            assert_rounded_up(found, truth, above(truth, most), inputs);
        }
    }

    /// To twenty roundings.
    #[test]
    fn rho_is_rounded_up() {
        for (inputs, truth) in known("gaussian_rho") {
            let found = gaussian_rho(inputs[0], inputs[1]).unwrap().value();
            assert_rounded_up(found, truth, 20.0 * f64::EPSILON * truth[1], inputs);
        }
    }

    #[test]
    fn bad_scales_are_named() {
        let (e, d) = (epsilon(1.0), delta(0.1));
        for bad in [0.0, -0.0, -1.0, -1e-320, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            // Two bad numbers must not make a good quotient.
            for (sigma, sensitivity, name) in [(bad, 1.0, "sigma"), (1.0, bad, "sensitivity"), (bad, bad, "sigma")] {
                let refused = |error: PrivacyError| match error {
                    PrivacyError::Scale { name: found, value } => {
                        assert!(found == name && value.to_bits() == bad.to_bits(), "{sigma} {sensitivity}: {error}");
                    }
                    _ => panic!("{error}"),
                };
                refused(gaussian_delta(sigma, sensitivity, e).unwrap_err());
                refused(gaussian_epsilon(sigma, sensitivity, d).unwrap_err());
                refused(gaussian_rho(sigma, sensitivity).unwrap_err());
            }
            let refused = analytic_gaussian_sigma(e, d, bad);
            let Err(PrivacyError::Scale { name: "sensitivity", value }) = refused else { panic!("{refused:?}") };
            assert_eq!(value.to_bits(), bad.to_bits());
        }
    }

    #[test]
    fn a_search_that_finds_nothing_ends() {
        let asked = core::cell::Cell::new(0);
        let count = |enough: bool| {
            asked.set(asked.get() + 1);
            assert!(asked.get() <= 2200, "it asks without an end");
            enough
        };
        assert_eq!(smallest_epsilon(|_| count(false)), None);
        asked.set(0);
        assert!(smallest_epsilon(|_| count(true)).unwrap().value() < 1e-299);
        let unreachable = analytic_gaussian_sigma(epsilon(1e-300), delta(1e-300), 1.0);
        assert_eq!(unreachable, Err(PrivacyError::Unreachable { epsilon: 1e-300, delta: 1e-300 }));
    }
}
