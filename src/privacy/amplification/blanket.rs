//! The privacy blanket: what every report has in common hides the one that differs.
//!
//! # Who sees what
//! n people each send one report, a pair (id, payload). The record decides the law R(. | x, id) of the payload given
//! the id, and nothing else. A shuffler that is trusted removes everything but the pairs, so that the adversary sees
//! the *multiset* of n pairs. The adversary may know every record but that of one person, which is x_0 or x_1; the
//! others are arbitrary and fixed. Which id is whose must be unknown, too: *given the set of the n ids, every way to
//! deal them out to the people is equally likely, whatever the records are*. Ids that everybody draws for themselves,
//! independently and from one law, are so, and remain so when a second report with an id is refused. Where the
//! adversary knows who has which id, as an aggregator does that issues them one by one, nothing is shuffled and nothing
//! is amplified.
//!
//! # Statement
//! The batch is (epsilon, delta)-private for any two records x_0, x_1 of that person, with
//!
//! ```text
//! delta = (f / n) E[((e - e^eps) a - (e e^eps - 1) b - g c)_+],     e = e^eps0
//! ```
//!
//! where a, b and c count those of n draws that fall into cells of probabilities p, p and u:
//!
//! | randomizer | p | u | g | f |
//! |---|---|---|---|---|
//! | every eps0-private one | 1 / 2e | 0 | 0 | 2e / (e + 1) |
//! | caps, L <= J/2 | L / N | (J - 2L) / N | e^eps - 1 | 1 |
//! | caps, L > J/2 | (J - L) / N | (2L - J) / N | e (e^eps - 1) | 1 |
//!
//! with N = L e + J - L. *Caps* are the randomizers with J payloads for which, for every record and id, R(. | x, id) is
//! a mixture of laws R_A with some sets A of L payloads: e / N in A, 1 / N outside. Double-cap, signed-cap and norm-cap
//! are one for every record: a weight W <= e makes its law a mixture of the one for W = e and the uniform law, which
//! is the mean of R_A over all A.
//!
//! # Proof
//! 1. *Blanket* (Balle, Bell, Gascon & Nissim 2019). Given its id, let every other report's law be at least q w for a
//!    probability law w of payloads, which may depend on the id. Then it is a draw from w with probability q, and from
//!    some other law otherwise. Suppose the adversary also learns which reports are not draws from w, and from whom
//!    each of them is. That does not depend on x_0 or x_1; what remains is the multiset of m reports, one from R(. | x)
//!    and m - 1 from w, with m - 1 binomial, (n - 1, q). Given their ids, any of the m is equally likely to be the
//!    differing one. So the density of the payloads, with respect to m draws from w, is
//!    `(1/m) sum_i R(y_i | x, id_i) / w(y_i)`, and `delta <= E[(1/m) (sum_i l_i)_+]` with `l_i = (R(y_i | x_0, id_i) -
//!    e^eps R(y_i | x_1, id_i)) / w(y_i)` for independent draws y_i from w. As `P(m) / m` is `P(Bin(n, q) = m) / (n
//!    q)`, that is `E[(sum_{i <= m} l_i)_+] / (n q)` with m binomial, (n, q).
//! 2. *The worst l.* Every l_i has the mean 1 - e^eps. Let l be a law of the same mean that is above that of l_i in
//!    convex order for every id (`E phi(l) >= E phi(l_i)` for every convex phi). Sums of independent draws keep that
//!    order, term by term, and the positive part is convex: draws from l may take the place of all l_i.
//! 3. *Every eps0-private randomizer.* The law of every other report is at least e^-eps0 times those of x_0 and x_1, so
//!    at least q w for q = 1/e and w = their mean. Then l_i = 2 (P - e^eps Q) / (P + Q) with P / Q in [1/e, e] lies
//!    between -2 (e e^eps - 1) / (e + 1) and 2 (e - e^eps) / (e + 1), whose mean is 1 - e^eps: above all laws of this
//!    mean on that interval, in convex order, is the one with half of its mass at either end. These are the clones of
//!    Feldman, McMillan & Talwar (2021, Theorem III.1).
//! 4. *Caps.* Every law is at least 1/N everywhere, so q = J / N and w is uniform: l_i = J (P - e^eps Q). For mixtures
//!    P and Q, P - e^eps Q is the mean of R_A - e^eps R_B over independent A and B, so l_i is, for the draw y_i, a mean
//!    of the values for such A and B; a mean is below what it is the mean of, in convex order. For A and B with h
//!    members each that the other has not, l_i N / J has four values: `v_A = e - e^eps` and `v_B = 1 - e e^eps` with
//!    probability h / J each, `v_2 = e (1 - e^eps)` in both and `v_0 = 1 - e^eps` in neither. As `v_A + v_B = v_2 +
//!    v_0` and v_B <= v_0, v_2 <= v_A, mass moved in equal parts from v_2 and v_0 to v_A and v_B raises the law in
//!    convex order. One more in h does that with 1 / J of each: h = min(L, J - L) is the worst, with nothing left in
//!    both caps where L <= J/2, and nothing outside where L > J/2.
//! 5. The m draws with their cells are the counts of n draws, and l_i = q v for its value v above: 1 / n is left.
//!
//! For L = J/2, as for two payloads, u = 0: this is the bound of Feldman, McMillan & Talwar (2022, Theorem 3.2) for
//! two-level randomizers. For every other L, the numbers of reports in the two caps alone would say less than the
//! adversary sees: those outside show how many draws there were.
//!
//! The bound for caps is never above the one for every randomizer. The uniform blanket of mass J/N is at least e^-eps0
//! (P + Q) / 2, whose value is at most 1/N: if the adversary learns which of its draws come from there, and what the
//! others are, this is the situation of 3. More reports only help: those beyond n can be revealed to the adversary.
//!
//! # Rounding
//! e - e^eps is rounded up, the two other values down, which raises the positive part. [`expected_excess`] has an
//! argument of its own and takes care of the probabilities' roundings.

use super::excess::expected_excess;
use crate::privacy::Epsilon;
use crate::privacy::renyi::Cap;

/// The largest number of reports that is considered.
const LARGEST_BATCH: u64 = 100_000_000_000;

/// More than what numbers too small for a double can hide.
const UNDERFLOW: f64 = 1e-280;

const UP: f64 = 1.0 + 8.0 * f64::EPSILON;
const DOWN: f64 = 1.0 - 8.0 * f64::EPSILON;

/// The part of a randomizer that hides a report in a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blanket {
    epsilon: Epsilon,
    /// p and u.
    counted: f64,
    idle: f64,
    /// g over e (e^eps - 1).
    cost: f64,
    /// f e.
    factor: f64,
}

/// Every randomizer that is `epsilon`-private.
impl From<Epsilon> for Blanket {
    fn from(epsilon: Epsilon) -> Self {
        let (up, down) = (libm::exp(epsilon.value()), libm::exp(-epsilon.value()));
        Self { epsilon, counted: 0.5 * down, idle: 0.0, cost: 0.0, factor: 2.0 * up / (1.0 + down) }
    }
}

/// The double-cap, signed-cap or norm-cap mechanism with its numbers of candidates.
impl From<Cap> for Blanket {
    fn from(cap: Cap) -> Self {
        let epsilon = cap.epsilon();
        let (up, down) = (libm::exp(epsilon.value()), libm::exp(-epsilon.value()));
        let (inside, outside) = (f64::from(cap.cap()), f64::from(cap.candidates() - cap.cap()));
        // Divided through by e, so that nothing overflows.
        let total = inside + outside * down;
        Self {
            epsilon,
            counted: inside.min(outside) * down / total,
            idle: (outside - inside).abs() * down / total,
            cost: if inside <= outside { down } else { 1.0 },
            factor: up,
        }
    }
}

impl Blanket {
    /// eps0.
    #[must_use]
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// Upper bound on delta at `epsilon`, below eps0, for a batch of `reports` reports.
    pub(super) fn delta(&self, reports: u64, epsilon: f64) -> f64 {
        let (local, draws) = (self.epsilon.value(), reports.clamp(1, LARGEST_BATCH) as f64);
        // All over e.
        let gain = -libm::expm1(epsilon - local) * UP;
        let growth = libm::expm1(epsilon);
        let (second, third) = (growth - libm::expm1(-local), self.cost * growth);
        let third = (third * DOWN / gain).min(second * DOWN / gain);
        let excess = expected_excess(draws, self.counted, self.idle, second * DOWN / gain, third);
        (self.factor * gain * UP * (excess / draws) + UNDERFLOW).min(1.0)
    }
}
