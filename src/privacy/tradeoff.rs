//! The trade-off curve of one report: how often a test accuses correctly when few of its accusations are false.
//!
//! Someone sees a report and accuses its sender of the record x, or does not. Of senders with another record y a share
//! alpha is accused falsely. [`power`] is the largest share of senders with x who are then accused, over all pairs of
//! records: the trade-off curve of the mechanism (Dong, Roth & Su 2022, with 1 - power for their type II error). It
//! says everything there is to say about two records (Blackwell 1953). An (epsilon, delta) says less: delta is not the
//! probability that the privacy loss exceeds epsilon. For Gaussian noise calibrated to (1, 1e-6) that is 2.0e-5 (tested
//! below).
//!
//! # Statement
//! For any two records x, y of a task, every id, and every test of the report, randomized or not, with P\[accuse |
//! y\] <= alpha: P\[accuse | x\] <= `power(loss, alpha)`.
//!
//! Up to rounding, double-cap attains it where two records have caps as disjoint as possible, and Gaussian noise
//! attains it where the records' `x x^T` can be orthogonal (from two features on; with centring for weights of at most
//! 1/2). Elsewhere it is an upper bound.
//!
//! *Many records.* The curves below are concave. So the statement holds as well with "a sender drawn from any
//! population of records" in place of x and of y (Jensen's inequality). What is known beside the report must be the
//! same on both sides.
//!
//! # Proof for caps
//! Let W >= 1 be the weight inside and 1 outside, N = L W + J - L, and h the number of members that each cap has and
//! the other has not (the same for both, since both have L). Of three sets of indices the first is likelier for x by W,
//! the second equally likely, the third likelier for y by W. They have the y-probabilities h / N, 1 - h (1 + W) / N and
//! h W / N. By the lemma of Neyman and Pearson the best test accuses on the first, then on the second, then on the
//! third, so its power has the slopes W, 1 and 1/W in alpha. A concave curve of lines is the least of them:
//!
//! ```text
//! power(alpha) = min(W alpha,  alpha + h (W - 1) / N,  1 - (1 - alpha) / W)
//! ```
//!
//! It grows with h, which is at most m = min(L, J - L): h = m is taken, and reached by caps that overlap no more than
//! they must (disjoint ones where 2 L <= J). It grows with W, too (`d/dW (W - 1) / N = J / N^2`), so `e^epsilon` is
//! taken for W. The first and the last line alone are the curve of every epsilon-private mechanism.
//!
//! # Proof for Gaussian noise
//! In the coordinates of the mechanism's own proof the noise is a normal vector of deviation sigma, the records move
//! its mean by at most Delta, and what follows is post-processing. The best test between two normal vectors looks along
//! their difference: its power is `Phi(Phi^-1(alpha) + Delta / sigma)` (Dong, Roth & Su 2022, Definition 2.6), where
//! `Delta / sigma = sqrt(2 rho)`. Let t be the sampler's total variation. A test that is false with alpha under the
//! sampled law is so with at most alpha + t under the real one, and its powers differ by at most t:
//! `Phi(Phi^-1(alpha + t) + sqrt(2 rho)) + t`. The paper's shape has more noise off the diagonal, which does not help
//! against e_1 and e_2.
//!
//! # Proof for (epsilon, delta)
//! Both inequalities of the guarantee, for the set of accusing reports and for the other ones: power is at most
//! `e^epsilon alpha + delta` and `1 - e^-epsilon (1 - delta - alpha)`.
//!
//! # Rounding
//! Powers are at most 1, and each is a few operations on numbers of order 1 with relative errors of some 2^-52:
//! `ERROR` is added, which is more than all of them.

use core::fmt;

use serde::Serialize;

use super::composition::PrivacyLoss;
use crate::bisection::bisect;

/// The share of false accusations at which powers are published: 1 %.
const FALSE_ALARMS: f64 = 0.01;

/// More than the rounding errors of a power, and of a probability relatively.
const ERROR: f64 = 1e-13;

/// The power of the best test of one report that accuses 1 % falsely.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Detection {
    /// The share of those with any other record who are accused falsely.
    pub false_alarms: f64,
    /// The largest share of those with the record who are then found. Without a report it is `false_alarms`.
    pub power: f64,
}

impl Detection {
    /// The detection of one report with this loss.
    #[must_use]
    pub fn of(loss: PrivacyLoss) -> Self {
        Self { false_alarms: FALSE_ALARMS, power: power(loss, FALSE_ALARMS) }
    }
}

impl fmt::Display for Detection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never less than it is.
        let (false_alarms, power) = (100.0 * self.false_alarms, (1e5 * self.power).ceil() / 1e3);
        write!(f, "an attacker who accepts accusing {false_alarms} % wrongly recognizes at most {power} % correctly")
    }
}

/// The largest power of a test of one report that is false with probability at most `false_alarms` (0 to 1), rounded
/// up.
#[must_use]
pub fn power(loss: PrivacyLoss, false_alarms: f64) -> f64 {
    let (epsilon, delta, share) = match loss {
        PrivacyLoss::Gaussian { rho, total_variation } => {
            let (shift, variation) = ((2.0 * rho.value()).sqrt(), total_variation.value());
            let power = normal_below(normal_quantile(false_alarms + variation) + shift) + variation;
            return (power + ERROR).min(1.0);
        }
        PrivacyLoss::Cap(cap) => (cap.epsilon(), 0.0, cap.share()),
        // No middle line.
        PrivacyLoss::Pure { epsilon } => (epsilon, 0.0, f64::INFINITY),
        PrivacyLoss::Approximate { epsilon, delta } => (epsilon, delta.value(), f64::INFINITY),
    };
    let down = libm::exp(-epsilon.value());
    // `min` returns the number where the other one is none.
    let likely = (false_alarms / down + delta).min(false_alarms + share * (1.0 - down));
    let power = likely.min(1.0 - down * (1.0 - delta - false_alarms).max(0.0));
    (power + ERROR).min(1.0)
}

/// The normal law's distribution function.
fn normal_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z * core::f64::consts::FRAC_1_SQRT_2)
}

/// A number not below the normal law's quantile of `probability`: the checked upper end of a bisection, or one beyond
/// which the law cannot be distinguished from 1.
fn normal_quantile(probability: f64) -> f64 {
    // Beyond 38 deviations a double cannot distinguish the law from 0 or 1.
    let high = if probability < 1.0 { 38.0 } else { f64::INFINITY };
    bisect(-38.0, high, 60, |z| normal_below(z) * (1.0 - ERROR) >= probability)
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::{Rng, SeedableRng};

    use super::*;
    use crate::mechanism::cap::{self, candidates, direction};
    use crate::mechanism::{Calibration, DoubleCap, Gaussian, LocalRandomizer, Moments, Summable};
    use crate::privacy::Rho;
    use crate::privacy::calibration::COVARIANCE_SENSITIVITY;
    use crate::privacy::renyi::Cap;
    use crate::privacy::tests::{assert_rounded_up, delta, epsilon, known};
    use crate::privacy::variation::TotalVariation;
    use crate::record::BoundedRecord;
    use crate::report::ReportId;
    use crate::tests::unit;

    const ALPHAS: [f64; 12] = [0.0, 1e-9, 1e-4, 0.01, 0.05, 0.1, 0.2, 1.0 / 3.0, 0.5, 0.7, 0.95, 1.0];

    /// The power of the best test between two laws on the same few outcomes (Neyman & Pearson): outcomes are accused in
    /// the order of their ratios, the last one in part.
    fn neyman_pearson(accused: &[f64], other: &[f64], alpha: f64) -> f64 {
        let mut outcomes: Vec<(f64, f64)> = accused.iter().copied().zip(other.iter().copied()).collect();
        outcomes.sort_by(|(p, q), (r, s)| (r * q).total_cmp(&(p * s)));
        let (mut power, mut left) = (0.0, alpha);
        for (p, q) in outcomes {
            let part = (left / q).min(1.0);
            power += part * p;
            left -= part * q;
        }
        power
    }

    /// All laws of the index among `candidates` with integer weights: of every cap.
    fn laws(e: f64, candidates: u32, cap: u32) -> Vec<Vec<f64>> {
        let inside = (e.exp() * 2f64.powi(32)).floor() / 2f64.powi(32);
        let total = f64::from(cap) * inside + f64::from(candidates - cap);
        let weight = |set: u32, j: u32| if set >> j & 1 == 1 { inside / total } else { 1.0 / total };
        let caps = (0..1u32 << candidates).filter(|set| set.count_ones() == cap);
        caps.map(|set| (0..candidates).map(|j| weight(set, j)).collect()).collect()
    }

    /// The most by which the best test of any pair of laws exceeds a curve, and whether it reaches it at every alpha.
    fn excess(laws: &[Vec<f64>], curve: impl Fn(f64) -> f64) -> (f64, bool) {
        let at = |alpha: f64| {
            let pairs = laws.iter().flat_map(|p| laws.iter().map(move |q| neyman_pearson(p, q, alpha)));
            pairs.fold(0.0, f64::max) - curve(alpha)
        };
        let all: Vec<f64> = ALPHAS.iter().map(|&alpha| at(alpha)).collect();
        (all.iter().copied().fold(f64::MIN, f64::max), all.iter().all(|&difference| difference > -1e-8))
    }

    #[test]
    fn no_test_of_any_two_caps_beats_the_curve_and_one_reaches_it() {
        for e in [1e-6, 0.3, 1.0, 2.0, 5.0] {
            for candidates in 2..=6 {
                for cap in 1..candidates {
                    let laws = laws(e, candidates, cap);
                    let loss = PrivacyLoss::Cap(Cap::new(epsilon(e), candidates, cap).unwrap());
                    let (most, reached) = excess(&laws, |alpha| power(loss, alpha));
                    assert!(most <= 1e-14 && reached, "eps {e} J {candidates} L {cap}: {most} {reached}");
                    // The curve of every pure mechanism is never less, and for two candidates the same.
                    let (most, reached) =
                        excess(&laws, |alpha| power(PrivacyLoss::Pure { epsilon: epsilon(e) }, alpha));
                    assert!(most <= 1e-14 && (reached || candidates > 2), "eps {e} J {candidates} L {cap}: {most}");
                }
            }
        }
    }

    /// The enumeration notices a curve of caps that share one member more than they must, and one of a smaller epsilon.
    #[test]
    fn the_enumeration_notices_curves_that_are_too_low() {
        let laws = laws(2.0, 6, 2);
        let of_shared = |alpha: f64| {
            let (up, total) = (2f64.exp(), 2.0 * 2f64.exp() + 4.0);
            (up * alpha).min(alpha + (up - 1.0) / total).min(1.0 - (1.0 - alpha) / up)
        };
        assert!(excess(&laws, of_shared).0 > 0.1);
        let smaller = PrivacyLoss::Cap(Cap::new(epsilon(1.9), 6, 2).unwrap());
        assert!(excess(&laws, |alpha| power(smaller, alpha)).0 > 1e-3);
    }

    /// The calibrated Gaussian at (1, 1e-6): 20 times delta. The loss of a normal pair is normal, with mean rho and
    /// variance 2 rho.
    #[test]
    fn the_loss_exceeds_epsilon_with_more_than_the_probability_delta() {
        let of = |e: f64| {
            let mechanism = Gaussian::new(10, epsilon(e), delta(1e-6), Calibration::Analytic).unwrap();
            let PrivacyLoss::Gaussian { rho, .. } = mechanism.privacy_loss() else { unreachable!() };
            1.0 - normal_below((e - rho.value()) / (2.0 * rho.value()).sqrt())
        };
        assert!((of(1.0) / 2.010_004_046_7e-5 - 1.0).abs() < 1e-5, "{}", of(1.0));
        assert!((of(4.0) / 6.648_944_095_1e-6 - 1.0).abs() < 1e-5, "{}", of(4.0));
    }

    #[test]
    fn an_approximate_guarantee_bounds_what_it_is_the_guarantee_of() {
        // The tightest statement of a Gaussian at many epsilons is not below its curve.
        let rho = Rho::new(0.5).unwrap();
        let gaussian = PrivacyLoss::Gaussian { rho, total_variation: TotalVariation::ZERO };
        for e in [0.1, 0.5, 1.0, 2.0, 4.0] {
            let delta = delta(crate::privacy::calibration::gaussian_delta(1.0, 1.0, epsilon(e)).unwrap());
            let approximate = PrivacyLoss::Approximate { epsilon: epsilon(e), delta };
            for alpha in ALPHAS {
                assert!(power(approximate, alpha) >= power(gaussian, alpha) - 2.0 * ERROR, "{e} {alpha}");
            }
        }
        // Where it touches the curve it is the curve.
        let touched = PrivacyLoss::Approximate { epsilon: epsilon(1e-9), delta: delta(0.382_924_922_548_026) };
        assert!((power(touched, normal_below(-0.5)) - power(gaussian, normal_below(-0.5))).abs() < 1e-8);
    }

    /// Within three times the error that is added, over the whole range of every loss.
    #[test]
    fn powers_are_those_of_a_hundred_digits_or_a_little_more() {
        let check = |loss: PrivacyLoss, alpha: f64, truth: [f64; 2], inputs: &[f64]| {
            let found = power(loss, alpha);
            assert_rounded_up(found, truth, 3.0 * ERROR, inputs);
            if found < 1.0 {
                // The margin itself, except for the roundings that it covers.
                assert!(found >= truth[1] + 0.9 * ERROR, "{inputs:?}: {found}");
            }
        };
        for (inputs, truth) in known("gaussian_power") {
            let &[rho, variation, alpha] = inputs else { panic!("{inputs:?}") };
            let total_variation = TotalVariation::new(variation).unwrap();
            check(PrivacyLoss::Gaussian { rho: Rho::new(rho).unwrap(), total_variation }, alpha, truth, inputs);
        }
        for (inputs, truth) in known("cap_power") {
            let &[e, candidates, cap, alpha] = inputs else { panic!("{inputs:?}") };
            let cap = Cap::new(epsilon(e), candidates as u32, cap as u32).unwrap();
            check(PrivacyLoss::Cap(cap), alpha, truth, inputs);
        }
        for (inputs, truth) in known("approximate_power") {
            let &[e, d, alpha] = inputs else { panic!("{inputs:?}") };
            let loss = if d == 0.0 {
                PrivacyLoss::Pure { epsilon: epsilon(e) }
            } else {
                PrivacyLoss::Approximate { epsilon: epsilon(e), delta: delta(d) }
            };
            check(loss, alpha, truth, inputs);
        }
    }

    /// In thousandths of a percent, rounded up: what is written is no less than what was found, and less than a
    /// thousandth more.
    #[test]
    fn written_powers_are_rounded_up() {
        for step in 1..400 {
            let e = 0.02 * f64::from(step);
            let detection = Detection::of(PrivacyLoss::Cap(Cap::new(epsilon(e), 128, 16).unwrap()));
            let text = detection.to_string();
            let (_, rest) = text.split_once("at most ").unwrap();
            let (percent, _) = rest.split_once(" %").unwrap();
            let above = percent.parse::<f64>().unwrap() - 100.0 * detection.power;
            assert!((0.0..0.001 + 1e-12).contains(&above), "{text}: {}", detection.power);
        }
    }

    #[test]
    fn powers_are_probabilities_for_all_losses() {
        for e in [1e-300, 1e-6, 700.0, 1e300] {
            for loss in [
                PrivacyLoss::Pure { epsilon: epsilon(e) },
                PrivacyLoss::Cap(Cap::new(epsilon(e), 65_536, 1).unwrap()),
                PrivacyLoss::Approximate { epsilon: epsilon(e), delta: delta(0.5) },
                PrivacyLoss::Gaussian { rho: Rho::new(e).unwrap(), total_variation: TotalVariation::new(0.5).unwrap() },
            ] {
                for alpha in ALPHAS {
                    let power = power(loss, alpha);
                    assert!(power >= alpha && power <= 1.0, "{loss:?} {alpha}: {power}");
                }
                assert_eq!(power(loss, f64::NAN), 1.0, "{loss:?}");
            }
        }
    }

    /// The likelihood-ratio test of a double-cap report, run on the mechanism's own reports for one id: accuse on what
    /// the record's cap has and the other's not. Its power is on the first line. 4.9 standard errors, two figures.
    #[test]
    fn the_best_test_of_double_cap_reports_finds_what_the_curve_says() {
        let mechanism = DoubleCap::new(4, epsilon(1.5), 16, 3).unwrap();
        let id = ReportId::new([3; 16]);
        let (accused, other) = (unit(&[1.0, 0.0, 0.0, 0.0]), unit(&[0.0, 1.0, 0.0, 0.0]));
        let cap_of = |record: &BoundedRecord| {
            let scores = candidates::Candidates::new(&[7; 16], id, 5);
            cap::largest(&scores.scores(&direction(record), 16), 3)
        };
        let (own, others) = (cap_of(&accused), cap_of(&other));
        let accuses = |payload: &[u8]| own[usize::from(payload[0])] && !others[usize::from(payload[0])];
        let only = (0..16).filter(|&j| own[j] && !others[j]).count();
        assert_eq!(only, 3, "an id for which the caps are disjoint");
        let (draws, mut rng) = (100_000, ChaCha8Rng::seed_from_u64(31));
        let mut rate = |record: &BoundedRecord| {
            let draw = |_: &i32| accuses(&mechanism.randomize_with_rng(record, &[7; 16], id, &mut rng).unwrap());
            (0..draws).filter(draw).count() as f64 / f64::from(draws)
        };
        let alpha = 3.0 / (3.0 * 1.5f64.exp() + 13.0);
        for (found, expected) in [(rate(&other), alpha), (rate(&accused), power(mechanism.privacy_loss(), alpha))] {
            let bound = 4.9 * (expected * (1.0 - expected) / f64::from(draws)).sqrt();
            assert!((found - expected).abs() < bound, "{found} for {expected}");
        }
    }

    /// The shares of reports of e_2 and of e_1 that the likelihood-ratio test of the noise accuses of e_1, where it
    /// should accuse [`FALSE_ALARMS`] of those of e_2.
    fn gaussian_rates(mechanism: &Gaussian, draws: u32, rng: &mut impl Rng) -> (f64, f64) {
        let (accused, other) = (unit(&[1.0, 0.0]), unit(&[0.0, 1.0]));
        let id = ReportId::new([0; 16]);
        let deviation = COVARIANCE_SENSITIVITY * mechanism.diagonal_deviation();
        let threshold = -1.0 + deviation * normal_quantile(1.0 - FALSE_ALARMS);
        let mut rate = |record: &BoundedRecord| {
            let accuses = |_: &u32| {
                let seed = rng.next_u64();
                let payload =
                    mechanism.randomize_with_rng(record, &[0; 16], id, &mut ChaCha8Rng::seed_from_u64(seed)).unwrap();
                let mut sums = [0; 3];
                mechanism.accumulate(&[0; 16], &[(id, &payload)], &mut sums);
                let estimate = mechanism.debias(&sums, 1);
                estimate[(0, 0)] - estimate[(1, 1)] > threshold
            };
            (0..draws).filter(accuses).count() as f64 / f64::from(draws)
        };
        (rate(&other), rate(&accused))
    }

    /// False alarms and power on 60,000 reports of each record, in both calibrations: within 4.9 standard errors (eight
    /// figures) and the 2 % that the lattice's step adds to the deviation at the most. A noise scale for sensitivity 1
    /// would be noticed.
    #[test]
    fn the_best_test_of_gaussian_reports_finds_what_the_curve_says() {
        let draws = 60_000;
        let mut rng = ChaCha8Rng::seed_from_u64(32);
        for mechanism in [
            Gaussian::new(2, epsilon(8.0), delta(1e-6), Calibration::Analytic).unwrap(),
            Gaussian::new(2, epsilon(2.0), delta(1e-6), Calibration::Analytic).unwrap(),
            Gaussian::new(2, epsilon(1.0), delta(1e-2), Calibration::Paper).unwrap(),
            Gaussian::paper_as_printed(2, epsilon(4.0), delta(1e-4)).unwrap(),
        ] {
            let PrivacyLoss::Gaussian { rho, total_variation } = mechanism.privacy_loss() else { unreachable!() };
            let expected = power(mechanism.privacy_loss(), FALSE_ALARMS);
            let (false_alarms, found) = gaussian_rates(&mechanism, draws, &mut rng);
            let error = |p: f64| 4.9 * (p * (1.0 - p) / f64::from(draws)).sqrt();
            assert!((false_alarms - FALSE_ALARMS).abs() < error(FALSE_ALARMS), "{false_alarms}");
            assert!(
                found < expected + error(expected) && found > 0.98 * expected - error(expected),
                "{found} {expected}"
            );
            let unnoticed = PrivacyLoss::Gaussian { rho: Rho::new(0.5 * rho.value()).unwrap(), total_variation };
            let unnoticed = power(unnoticed, FALSE_ALARMS);
            assert!(found > unnoticed + error(unnoticed), "{found} {unnoticed}");
        }
    }
}
