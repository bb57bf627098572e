//! The reduction of a shuffled batch to two small laws, and the hockey-stick divergence between them.
//!
//! # Statement
//! Two batches of n records differ in one. Suppose there are laws Q0, Q1, a common rest for the differing record and
//! further rests for the others, with
//!
//! ```text
//! R(x_0) = v [e Q0 + Q1] / (e + 1) + (1 - v) rest       e = e^eps0
//! R(x_1) = v [Q0 + e Q1] / (e + 1) + (1 - v) rest
//! R(x_i) = q [Q0 + Q1] / 2         + (1 - q) rest_i     for every other record
//! ```
//!
//! Then the shuffled batches are as close as (number of Q0, number of Q1) of n draws: C ~ Bin(n-1, q) *clones*, each
//! of either kind with probability 1/2, and one more with probability v, of kind 0 with probability e/(e+1), or
//! 1/(e+1) for the other batch. For, given which draws came from where, what remains is the same for both batches
//! (Feldman, McMillan & Talwar 2021, proof of Theorem III.1).
//!
//! # Which (q, v) a randomizer has
//! - *Any eps0-private one*: q = e^-eps0, v = 1. R(x_i) >= e^-eps0 R(x_0), e^-eps0 R(x_1), so it is at least their
//!   mean times e^-eps0, and R(x_0), R(x_1) are one channel of binary randomized response
//!   (Feldman, McMillan & Talwar 2021, Theorem III.1; Kairouz, Oh & Viswanath 2015, Theorem 3.3).
//! - *Cap mechanisms*: q = 2p, v = (e + 1) p with p = min(L, J - L) / (L e + J - L). With Q0 uniform over the h
//!   candidates in the cap of x_0 alone and Q1 over the h in that of x_1 alone, R(x_0) is e/Z on the first and 1/Z on
//!   the second, so `R(x_0) = (h/Z) (e Q0 + Q1) + rest`, and the rest is the same for x_1: the candidates in both caps
//!   and in neither. R(x_i) is at least 1/Z everywhere, so at least (h/Z)(Q0 + Q1). That is the statement with
//!   p = h/Z for this report's public randomness, and with its mean over that randomness for the shuffled report.
//!   The largest p is the worst: dropping every counted draw with probability 1 - p'/p turns the counts for p into
//!   those for p' < p. And with a weight below e^eps0 the differing report is a mixture of this one and a uniform
//!   candidate, which joint convexity allows, while R(x_i) is still at least (h/Z)(Q0 + Q1): its least value grows.
//! - *Two-level randomizers*, of which nothing else is known: q = 2/(e+1), v = 1, the largest p there is.
//!   This is the bound of Feldman, McMillan & Talwar (2022, Theorem 3.2). Their erratum restricts it: it is *not* a
//!   theorem for every eps0-private randomizer, since Lemma 3.5 fails where R(x_i) is small on both of Q0 and Q1. The
//!   three lines above are why it holds here.
//!
//! # Divergence
//! With t draws of the two kinds, k of kind 0, b(t, k) = P(Bin(t, 1/2) = k), and w_c = P(C = c):
//!
//! ```text
//! P(t, k) - e^eps Q(t, k) = w_{t-1} (s / t) b(t, k) [A k - B]
//! A = (e - 1)(e^eps + 1),   B = t (e^eps e - 1) + h (n - t)(e^eps - 1),   s = 2v / (e + 1),
//! h = (1 - v) q / (s (1 - q))
//! ```
//!
//! and summing over k >= K, the smallest with A k > B, by `sum_{k >= K} (k - t/2) b(t, k) = K b(t, K) / 2`:
//!
//! ```text
//! delta = sum_t w_{t-1} (s / t) b(t, K) [A K / 2 - (e^eps - 1)(t (e + 1)/2 + h (n - t)) P(Bin >= K) / b(t, K)]
//! ```
//!
//! Exchanging the kinds exchanges P and Q: one direction is enough.
//!
//! # Rounding
//! The sum over t is over buckets [t1, t2]: with h (n - t)/t held fixed the bracket falls with t (one more fair coin
//! turns t draws into t + 1), and it falls with h (n - t)/t, which falls with t. So t1 in the one and t2 in the other
//! is an upper bound for the bucket. Mass outside all buckets counts in full. Every factor is within
//! [`ERROR`] relative, tails are lower bounds where they are subtracted, and three [`ERROR`]s of the sum of the two
//! terms of the bracket are added. A K that rounding put one off leaves out a bracket which vanishes to that accuracy.

use super::binomial::{ERROR, probability, tail_ratio};
use crate::privacy::Epsilon;
use crate::privacy::renyi::Cap;

/// Mass of the clones' law that is counted in full rather than looked at, on either side.
const OUTSIDE: f64 = 1e-30;

/// The largest number of reports that is looked at.
const LARGEST_BATCH: u64 = 100_000_000_000;

/// How a randomizer hides in a batch: the (q, v) above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clones {
    epsilon: Epsilon,
    /// q, rounded down: fewer clones are a valid decomposition too.
    clone: f64,
    /// s and h above.
    share: f64,
    hidden: f64,
}

impl Clones {
    /// Every randomizer that is `epsilon`-private.
    #[must_use]
    pub fn any(epsilon: Epsilon) -> Self {
        let clone = libm::exp(-epsilon.value()) * (1.0 - 4.0 * f64::EPSILON);
        Self { epsilon, clone, share: two_over_one_more(epsilon), hidden: 0.0 }
    }

    /// A randomizer whose output probabilities take two values for every record, the same two, with ratio at most
    /// `e^epsilon`, the larger one equally often for every record: k-ary randomized response, subset selection, caps.
    #[must_use]
    pub fn two_level(epsilon: Epsilon) -> Self {
        let share = two_over_one_more(epsilon);
        Self { epsilon, clone: share * (1.0 - 8.0 * f64::EPSILON), share, hidden: 0.0 }
    }

    /// The double-cap mechanism with its numbers of candidates.
    #[must_use]
    pub fn cap(cap: Cap) -> Self {
        let epsilon = cap.epsilon();
        // Rounded up: a larger p is worse. It stays below 1 / (e + 1) but for rounding.
        let p = (cap.unshared() * (1.0 + 8.0 * f64::EPSILON)).min(0.5 * two_over_one_more(epsilon));
        if 2.0 * p >= 1.0 - 1e-9 {
            return Self::two_level(epsilon);
        }
        // v = (e + 1) p, so s = 2v / (e + 1) = 2p = q, and h = (1 - v) / (1 - q).
        let seen = p * libm::exp(epsilon.value()) + p;
        Self { epsilon, clone: 2.0 * p, share: 2.0 * p, hidden: (1.0 - seen).max(0.0) / (1.0 - 2.0 * p) }
    }

    /// eps0.
    #[must_use]
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// The law of the number of draws in a batch of `reports`, in buckets that do not depend on epsilon.
    pub(super) fn batch(self, reports: u64) -> Batch {
        // More clones only help: a larger batch is at least as good as one of this size.
        let reports = reports.clamp(1, LARGEST_BATCH);
        let others = (reports - 1) as f64;
        let mean = others * self.clone;
        let width = ((mean * (1.0 - self.clone)).sqrt() / 64.0).floor().max(1.0);
        let mut batch = Batch { clones: self, reports: reports as f64, buckets: Vec::new(), outside: 0.0 };
        let mode = mean.floor();
        // Upwards from the mode, then downwards.
        let mut from = mode;
        while from <= others {
            let start = probability(from, others, self.clone);
            // Beyond the mode ratios of successive probabilities fall: a geometric series is above.
            let ratio = (others - from) / (from + 1.0) * (self.clone / (1.0 - self.clone));
            if from > mode && ratio < 1.0 && start / (1.0 - ratio) < OUTSIDE {
                batch.outside += start / (1.0 - ratio);
                break;
            }
            let to = (from + width - 1.0).min(others);
            batch.add(from, to, start, others);
            from = to + 1.0;
        }
        let mut to = mode - 1.0;
        while to >= 0.0 {
            let start = probability(to, others, self.clone);
            let ratio = to / (others - to + 1.0) * ((1.0 - self.clone) / self.clone);
            if ratio < 1.0 && start / (1.0 - ratio) < OUTSIDE {
                batch.outside += start / (1.0 - ratio);
                break;
            }
            let from = (to - width + 1.0).max(0.0);
            batch.add(from, to, probability(from, others, self.clone), others);
            to = from - 1.0;
        }
        batch
    }
}

/// 2 / (e^epsilon + 1).
fn two_over_one_more(epsilon: Epsilon) -> f64 {
    let down = libm::exp(-epsilon.value());
    2.0 * down / (1.0 + down)
}

/// The clones of one batch.
pub(super) struct Batch {
    clones: Clones,
    reports: f64,
    /// (t1, t2, mass) for t - 1 clones.
    buckets: Vec<(f64, f64, f64)>,
    outside: f64,
}

impl Batch {
    /// A bucket of `from..=to` clones, the first of which has probability `start`.
    fn add(&mut self, from: f64, to: f64, start: f64, others: f64) {
        let odds = self.clones.clone / (1.0 - self.clones.clone);
        let (mut mass, mut term, mut count) = (0.0, start, from);
        while count <= to {
            mass += term;
            term *= (others - count) / (count + 1.0) * odds;
            count += 1.0;
        }
        self.buckets.push((from + 1.0, to + 1.0, mass));
    }

    /// Upper bound on delta at `epsilon`.
    pub(super) fn delta(&self, epsilon: f64) -> f64 {
        let inside: f64 =
            self.buckets.iter().map(|&(first, last, mass)| mass * self.bracket(first, last, epsilon)).sum();
        // Masses have errors of their own, and those of up to 2,500 multiplications.
        (inside * (1.0 + 4.0 * ERROR) + self.outside).min(1.0)
    }

    /// `(s / t) b(t, K) [...]` for t = `first`, with `h (n - t) / t` as at `last`.
    fn bracket(&self, first: f64, last: f64, epsilon: f64) -> f64 {
        let (up, growth) = (libm::exp(self.clones.epsilon.value()), libm::expm1(epsilon));
        let slope = libm::expm1(self.clones.epsilon.value()) * (growth + 2.0);
        let hidden = self.clones.hidden * (self.reports - last) / last * first * growth;
        let threshold = first * libm::expm1(epsilon + self.clones.epsilon.value()) + hidden;
        let from = (threshold / slope).floor() + 1.0;
        if from > first {
            return 0.0;
        }
        let gain = 0.5 * slope * from;
        let loss = (0.5 * growth * first * (up + 1.0) + hidden) * tail_ratio(from, first);
        let bracket = (gain - loss).max(0.0) + 3.0 * ERROR * (gain + loss);
        self.clones.share / first * probability(from, first, 0.5) * bracket
    }
}
