//! Renyi divergence of the mechanisms, as a function of the order, and what it implies for epsilon and delta.
//!
//! `D_alpha(P || Q) = log(sum p^alpha q^(1-alpha)) / (alpha - 1)` for alpha > 1. Divergences of independent reports add
//! up (Mironov 2017, Proposition 1), data processing only lowers them, and every order gives a valid epsilon for every
//! delta, so orders are searched, never trusted.

use serde::{Deserialize, Serialize};

use super::{Delta, Epsilon, PrivacyError, Rho};

/// Upper bound on the divergence of order `order` > 1 of the Gaussian mechanism: `order` × rho, an equality
/// (Bun & Steinke 2016, Proposition 1.6).
#[must_use]
pub fn gaussian_divergence(rho: Rho, order: f64) -> f64 {
    order * rho.value() * (1.0 + 2.0 * f64::EPSILON)
}

/// Upper bound on the divergence of order `order` > 1 of every mechanism that is `epsilon`-differentially private.
///
/// Any two of its output laws are the images, under one channel, of those of binary randomized response (Kairouz, Oh &
/// Viswanath 2015, Theorem 3.3), and data processing lowers the divergence: the worst case is one likelier of two
/// candidates. It is never above `order epsilon^2 / 2` (Bun & Steinke 2016, Proposition 3.3).
#[must_use]
pub fn pure_divergence(epsilon: Epsilon, order: f64) -> f64 {
    Cap { epsilon, candidates: 2, cap: 1 }.divergence(order)
}

/// A mechanism that names one of J candidates, with a law that is for every record a mixture of laws R_A with sets A of
/// L candidates: probability `W / Z` for those in A and `1 / Z` for the others, `W = e^epsilon`, `Z = L W + (J - L)`.
///
/// Double-cap is one. A weight below `e^epsilon` makes its law the mixture of R_A and of a candidate chosen uniformly,
/// and the uniform law is the mean of R_A over all A.
///
/// # Statement
/// For any two records, with m = min(L, J - L),
///
/// ```text
/// D_alpha <= log(1 + m W (W^(alpha-1) - 1) (1 - W^-alpha) / Z) / (alpha - 1)
/// ```
///
/// with equality for records with one set each, which have m members each that the other has not.
///
/// # Proof
/// `p^alpha q^(1-alpha)` is jointly convex in p and q for alpha > 1 (the perspective of a convex power), so its sum
/// over the candidates is, for two mixtures, at most its mean over the sets of one and, independently, of the other:
/// the largest value for two sets bounds it. Let each have h members that the other has not (they have equal sizes, so
/// h is the same for both, and h <= m). Both have probability W/Z on the L - h shared members and 1/Z on the J - L - h
/// outside both, so `sum p^alpha q^(1-alpha) = [h W^alpha + h W^(1-alpha) + (L-h) W + (J-L-h)] / Z = 1 + h c / Z` with
/// `c = W^alpha + W^(1-alpha) - W - 1 = (W^alpha - W)(1 - W^-alpha)`. W >= 1 and alpha > 1 make both factors
/// non-negative: the divergence grows with h, and h = m is the worst.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "CapDocument")]
pub struct Cap {
    epsilon: Epsilon,
    candidates: u32,
    cap: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CapDocument {
    epsilon: Epsilon,
    candidates: u32,
    cap: u32,
}

impl TryFrom<CapDocument> for Cap {
    type Error = PrivacyError;
    fn try_from(document: CapDocument) -> Result<Self, PrivacyError> {
        Self::new(document.epsilon, document.candidates, document.cap)
    }
}

impl Cap {
    /// J = `candidates`, L = `cap` in a set.
    ///
    /// # Errors
    /// [`PrivacyError::Cap`] unless 1 <= L < J.
    pub fn new(epsilon: Epsilon, candidates: u32, cap: u32) -> Result<Self, PrivacyError> {
        if (1..candidates).contains(&cap) {
            Ok(Self { epsilon, candidates, cap })
        } else {
            Err(PrivacyError::Cap { candidates, cap })
        }
    }

    /// The pure guarantee.
    #[must_use]
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// `min(L, J - L) e^epsilon / (L e^epsilon + J - L)`, inside (0, 1): the probability of all candidates that one
    /// record's cap can have and another's not, where it has them.
    pub(super) fn share(&self) -> f64 {
        // Divided through by e^epsilon, so that nothing overflows.
        let outside = f64::from(self.candidates - self.cap);
        f64::from(self.cap).min(outside) / (f64::from(self.cap) + outside * libm::exp(-self.epsilon.value()))
    }

    /// J.
    #[must_use]
    pub fn candidates(&self) -> u32 {
        self.candidates
    }

    /// L.
    #[must_use]
    pub fn cap(&self) -> u32 {
        self.cap
    }

    /// Upper bound on the divergence of order `order` > 1 between the reports of any two records.
    #[must_use]
    pub fn divergence(&self, order: f64) -> f64 {
        let epsilon = self.epsilon.value();
        // m W / Z
        let share = self.share();
        let growth = (order - 1.0) * epsilon;
        let moment = if growth < 600.0 {
            libm::log1p(share * libm::expm1(growth) * -libm::expm1(-order * epsilon))
        } else {
            // log(1 + share e^growth), from above.
            growth + libm::log(share + libm::exp(-growth))
        };
        // Under twenty roundings, each of at most an ulp of a positive factor. No divergence exceeds epsilon.
        (moment / (order - 1.0) * (1.0 + 32.0 * f64::EPSILON)).min(epsilon)
    }
}

/// The smallest epsilon found that a divergence curve proves for `delta`.
///
/// # Statement
/// A mechanism of divergence at most R(alpha) is (epsilon, delta)-differentially private for
///
/// ```text
/// epsilon = R(alpha) + log((alpha - 1) / alpha) - (log delta + log alpha) / (alpha - 1)
/// ```
///
/// for every alpha > 1 (Canonne, Kamath & Steinke 2020, Proposition 12; Asoodeh et al. 2020): the largest value of
/// `max(0, 1 - e^(epsilon - l))` over `e^((alpha-1) l)` is at `l = epsilon + log(alpha / (alpha - 1))`, and Markov's
/// inequality on the privacy loss l gives the rest.
///
/// `curve` is asked for orders from 1 + 1e-6 to 1e9: 200 of them evenly spaced in log(alpha - 1), and then a golden
/// section between the neighbours of the best. The sum is rounded up. `None` where no order gives a finite number.
pub fn epsilon_of_divergence(curve: impl Fn(f64) -> f64, delta: Delta) -> Option<Epsilon> {
    const POINTS: i32 = 200;
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let (first, last) = (libm::log(1e-6), libm::log(1e9));
    let at = |log_excess: f64| {
        let order = 1.0 + libm::exp(log_excess);
        epsilon_at(order, curve(order), delta)
    };
    let step = (last - first) / f64::from(POINTS - 1);
    let (mut best, mut best_value) = (first, f64::INFINITY);
    for point in 0..POINTS {
        let place = first + f64::from(point) * step;
        let value = at(place);
        if value < best_value {
            (best, best_value) = (place, value);
        }
    }
    let (mut low, mut high) = (best - step, best + step);
    for _ in 0..60 {
        let (left, right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        let (left_value, right_value) = (at(left), at(right));
        best_value = best_value.min(left_value).min(right_value);
        if left_value < right_value {
            high = right;
        } else {
            low = left;
        }
    }
    Epsilon::new(best_value).ok()
}

/// The epsilon above for one order and the divergence there, rounded up; infinite where there is none.
pub(super) fn epsilon_at(order: f64, divergence: f64, delta: Delta) -> f64 {
    // log(1 - 1/alpha) and the tail term; `order - 1` is what the curve saw.
    let (shrink, tail) = (-libm::log1p(1.0 / (order - 1.0)), -libm::log(delta.value()) - libm::log(order));
    let tail = tail / (order - 1.0);
    let epsilon = divergence + shrink + tail;
    let error = 16.0 * f64::EPSILON * (divergence + shrink.abs() + tail.abs());
    if epsilon.is_nan() { f64::INFINITY } else { (epsilon + error).max(1e-300) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::tests::{assert_rounded_up, delta, epsilon, known};

    #[test]
    fn the_divergence_of_caps_is_the_sum_over_all_candidates() {
        for (e, candidates, cap) in [(0.5, 64, 20), (4.0, 256, 9), (1.0, 10, 7), (2.0, 2, 1)] {
            let mechanism = Cap::new(epsilon(e), candidates, cap).unwrap();
            let weight = |inside: bool| if inside { e.exp() } else { 1.0 };
            let total = f64::from(cap) * e.exp() + f64::from(candidates - cap);
            for order in [1.001, 1.5, 2.0, 7.3, 40.0] {
                let of_shift = |shift: u32| {
                    let sum: f64 = (0..candidates)
                        .map(|j| {
                            let (p, q) = (weight(j < cap), weight((shift..shift + cap).contains(&j)));
                            (p / total).powf(order) * (q / total).powf(1.0 - order)
                        })
                        .sum();
                    sum.ln() / (order - 1.0)
                };
                let values: Vec<f64> = (0..=candidates - cap).map(of_shift).collect();
                let largest = values.iter().copied().fold(0.0, f64::max);
                let bound = mechanism.divergence(order);
                assert!((bound / largest - 1.0).abs() < 1e-9, "{e} {candidates} {cap} {order}: {bound} {largest}");
                // Less overlap, more divergence.
                assert!(values.windows(2).all(|pair| pair[1] >= pair[0] - 1e-12));
                assert!(bound <= pure_divergence(epsilon(e), order) * (1.0 + 1e-12));
            }
        }
    }

    #[test]
    fn the_divergence_from_the_uniform_law_is_at_most_that_between_two_records() {
        for (e, candidates, cap) in
            [(0.5, 64, 20), (4.0, 256, 9), (1.0, 10, 7), (2.0, 2, 1), (8.0, 4096, 7), (1e-3, 5, 4)]
        {
            let bound = Cap::new(epsilon(e), candidates, cap).unwrap();
            let (inside, outside) = (f64::from(cap), f64::from(candidates - cap));
            let (total, uniform) = (inside * e.exp() + outside, 1.0 / f64::from(candidates));
            for order in [1.001, 1.5, 2.0, 7.3, 40.0] {
                let moment = |p: f64, q: f64| p * (p / q).powf(order - 1.0);
                let of = |law: &dyn Fn(f64) -> f64| (inside * law(e.exp() / total) + outside * law(1.0 / total)).ln();
                for divergence in [of(&|p| moment(p, uniform)), of(&|p| moment(uniform, p))] {
                    let divergence = divergence / (order - 1.0);
                    assert!(
                        divergence <= bound.divergence(order) + 1e-12,
                        "{e} {candidates} {cap} {order}: {divergence}"
                    );
                }
            }
        }
    }

    #[test]
    fn pure_privacy_is_concentrated_and_bounded_by_epsilon() {
        for e in [1e-6, 0.01, 0.5, 1.0, 4.0, 20.0, 600.0, 1e6] {
            for order in [1.0 + 1e-6, 1.1, 2.0, 30.0, 1e4, 1e9] {
                let divergence = pure_divergence(epsilon(e), order);
                assert!(divergence > 0.0 && divergence <= e, "{e} {order} {divergence}");
                assert!(divergence <= order * e * e / 2.0 * (1.0 + 1e-9), "{e} {order} {divergence}");
            }
        }
    }

    #[test]
    fn a_curve_without_a_finite_value_gives_none() {
        let delta = Delta::new(1e-6).unwrap();
        assert!(epsilon_of_divergence(|_| f64::INFINITY, delta).is_none());
        assert!(epsilon_of_divergence(|_| f64::NAN, delta).is_none());
    }

    /// Within a hundred roundings.
    #[test]
    fn divergences_of_caps_are_those_of_a_hundred_digits_or_a_little_more() {
        for (inputs, truth) in known("cap_divergence") {
            let &[e, candidates, cap, order] = inputs else { panic!("{inputs:?}") };
            let found = Cap::new(epsilon(e), candidates as u32, cap as u32).unwrap().divergence(order);
            assert_rounded_up(found, truth, 100.0 * f64::EPSILON * truth[1], inputs);
            if (candidates, cap) == (2.0, 1.0) {
                assert_eq!(pure_divergence(epsilon(e), order), found);
            }
        }
    }

    /// The product itself, rounded once more: `mul_add` is off by one rounding, which keeps the sign.
    #[test]
    fn divergences_of_gaussian_noise_are_the_product_or_a_little_more() {
        for (order, rho) in (1..200).map(|step| (1.0 + libm::exp2(0.3 * f64::from(step) - 20.0), 0.7 / f64::from(step)))
        {
            for rho in [rho, 1e-290 * rho, 1e290 * rho.powi(2)] {
                let found = gaussian_divergence(Rho::new(rho).unwrap(), order);
                let above = order.mul_add(-rho, found);
                assert!(above >= 0.0 && above <= 4.0 * f64::EPSILON * found, "{order} {rho}: {found} {above}");
            }
        }
    }

    /// Within thirty roundings of the largest summand.
    #[test]
    fn the_epsilon_of_one_order_is_that_of_a_hundred_digits_or_a_little_more() {
        for (inputs, truth) in known("epsilon_at") {
            let &[order, divergence, d] = inputs else { panic!("{inputs:?}") };
            let found = epsilon_at(order, divergence, delta(d));
            let largest = divergence + 1.0 / (order - 1.0) * (1.0 - libm::log(d) + libm::log(order));
            assert_rounded_up(found, truth, 30.0 * f64::EPSILON * largest, inputs);
        }
    }

    /// No order does better than the best of all real ones, and the one that is found is nearly as good.
    #[test]
    fn the_best_order_is_that_of_a_hundred_digits() {
        for (inputs, truth) in known("epsilon_of_divergence") {
            let rho = Rho::new(inputs[0]).unwrap();
            let found = epsilon_of_divergence(|order| gaussian_divergence(rho, order), delta(inputs[1])).unwrap();
            assert_rounded_up(found.value(), truth, 1e-9 * truth[1], inputs);
        }
    }

    #[test]
    fn caps_that_do_not_fit_are_refused() {
        for (candidates, cap) in [(0, 0), (2, 0), (2, 2), (2, 3)] {
            assert!(Cap::new(epsilon(1.0), candidates, cap).is_err());
        }
        assert!(serde_json::from_str::<Cap>(r#"{"epsilon":1,"candidates":4,"cap":4}"#).is_err());
    }
}
