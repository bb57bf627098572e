//! The gain: how much longer the reported candidate is along the record than across it.
//!
//! Candidates z are uniform on the sphere of radius sqrt(m) in m dimensions, so that `s = z . u` has mean square 1 for
//! every unit vector u, and `s^2 / m` the law Beta(1/2, (m - 1)/2).
//!
//! ```text
//! along = q mean(top L of J s^2) + (1 - q) mean(rest),       q = probability that the report is from the cap
//! mean(top L) = (J / L) Integral s^2 P[at most L - 1 of the other J - 1 exceed it] dF(s),       F the law of |s|
//! ```
//!
//! Since the mean of all J is 1, the rest has mean `(J - L mean(top)) / (J - L)`. The length of z leaves `(m - along) /
//! (m - 1)` for each direction across the record. So the reported candidate has the second moment `I + gain (u u^T -
//! I/m)` with `gain = (along - 1) m / (m - 1)`. The fourth moment along the record follows in the same way from the
//! squares, whose mean over all J is `3 m / (m + 2)`.
//!
//! *With a sign.* For the mechanism whose cap has the largest `s` itself, the same holds of s instead of s^2, with F
//! the law of s, whose mean over all J is 0: `E z = scale gain u` with `gain = q mean(top L of J s) + (1 - q)
//! mean(rest)`.
//!
//! *Offsets.* Those of long vectors' scores are small and independent of directions. To first order in their variance v
//! (over that of a coordinate; the length that the score is divided by makes it `v m / (m - 2)`), a rank by `|s +
//! offset|` instead of `|s|` leaves `1 - v / (1 - t^2 / m)` of a mean's distance from 1, where t is the least score in
//! the cap: with the density f of |s|, `E[s^2 - 1; |s| > t] = t f(t) (1 - t^2 / m)`, of which `v t f(t)` is lost.

use std::sync::{Mutex, PoisonError};

use super::candidates::OFFSET_VARIANCE;
use super::coordinate::Coordinate;
use super::sphere::Sphere;
use crate::binomial::at_least;
use crate::privacy::Epsilon;

/// Means of earlier caps, by J, L and m. They do not depend on epsilon, so a sweep over it, or the search for a cap,
/// computes each once, which takes a millisecond.
static TOP_MEANS: Mutex<Vec<TopMeans>> = Mutex::new(Vec::new());
/// J, L and m, and the means of both powers: of squares or, if signed, of the coordinate and its square.
type TopMeans = ((u32, u32, Option<usize>, bool), [f64; 2]);
/// The most that are kept.
const MOST_MEANS: usize = 1000;

/// `E s^2` and `E s^4` of the reported candidate along the record, for J = `candidates`, L = `cap`, `cap_probability` =
/// q, and candidates of m = `rows` coordinates.
#[must_use]
pub(in crate::mechanism) fn moments_along(candidates: u32, cap: u32, cap_probability: f64, rows: usize) -> [f64; 2] {
    let m = rows as f64;
    let kept = kept(candidates, cap, rows);
    let means = known_top_means(candidates, cap, Some(rows), false);
    let of_all = [1.0, 3.0 * m / (m + 2.0)];
    [0, 1].map(|power| {
        let mean = reported_mean(candidates, cap, cap_probability, means[power], of_all[power]);
        of_all[power] + kept * (mean - of_all[power])
    })
}

/// The share of the gain that the offsets of scores leave.
#[must_use]
pub fn kept(candidates: u32, cap: u32, rows: usize) -> f64 {
    if Sphere::new(rows).is_short() {
        return 1.0;
    }
    let m = rows as f64;
    let least = Coordinate::new(Some(rows)).exceeded_with(f64::from(cap) / f64::from(candidates));
    1.0 - OFFSET_VARIANCE * m / (m - 2.0) / (1.0 - least * least / m)
}

/// `E s` of the reported candidate along the vector, where the cap has the largest s, in so many coordinates or in
/// many.
#[must_use]
pub(crate) fn signed_gain(candidates: u32, cap: u32, cap_probability: f64, rows: Option<usize>) -> f64 {
    reported_mean(candidates, cap, cap_probability, known_top_means(candidates, cap, rows, true)[0], 0.0)
}

/// The gain of normal candidates, to which that of long ones comes close.
fn normal_gain(candidates: u32, cap: u32, cap_probability: f64) -> f64 {
    reported_mean(candidates, cap, cap_probability, known_top_means(candidates, cap, None, false)[0], 1.0) - 1.0
}

/// The mean for the reported candidate of what has the mean `top` over the cap and `all` over all candidates.
fn reported_mean(candidates: u32, cap: u32, cap_probability: f64, top: f64, all: f64) -> f64 {
    let (j, l) = (f64::from(candidates), f64::from(cap));
    let rest = (j * all - l * top) / (j - l);
    cap_probability * top + (1.0 - cap_probability) * rest
}

/// The permitted cap with the largest gain (least variance) for `candidates` at `epsilon`, in high dimension. (At the
/// default J the variance is within 2 % of the least from ten coordinates on, and within 9 % at five.)
#[must_use]
pub fn best_cap(candidates: u32, epsilon: Epsilon) -> u32 {
    best(candidates, epsilon, normal_gain)
}

/// For caps of the largest s, the permitted one with the largest gain for `candidates` at `epsilon`, in high dimension.
#[must_use]
pub(crate) fn best_signed_cap(candidates: u32, epsilon: Epsilon) -> u32 {
    best(candidates, epsilon, |candidates, cap, q| signed_gain(candidates, cap, q, None))
}

fn best(candidates: u32, epsilon: Epsilon, gain: impl Fn(u32, u32, f64) -> f64) -> u32 {
    let (least, most) = super::members::permitted_caps(candidates).into_inner();
    if most <= least {
        return least;
    }
    let weight = libm::exp(epsilon.value());
    let at = |cap: u32| {
        let inside = f64::from(cap) * weight;
        gain(candidates, cap, inside / (inside + f64::from(candidates - cap)))
    };
    // The gain rises and then falls with the cap: doubling finds a range (large caps take long, and are never the best
    // at a realistic epsilon), then a ternary search, then a scan of the rest.
    let (mut low, mut high) = (least, (2 * least).min(most));
    let mut last = at(low);
    while high < most {
        let next = at(high);
        if next < last {
            break;
        }
        low = least.max(high / 2);
        last = next;
        high = (2 * high).min(most);
    }
    while high - low > 4 {
        let third = (high - low) / 3;
        if at(low + third) < at(high - third) { low += third } else { high -= third }
    }
    (low..=high).max_by(|&a, &b| at(a).total_cmp(&at(b))).unwrap_or(1)
}

/// [`top_means`], remembered.
fn known_top_means(candidates: u32, cap: u32, rows: Option<usize>, signed: bool) -> [f64; 2] {
    // Every entry of the list is complete when it is added, so a panic elsewhere cannot have spoilt it.
    let known = || TOP_MEANS.lock().unwrap_or_else(PoisonError::into_inner);
    let name = (candidates, cap, rows, signed);
    if let Some(&(_, found)) = known().iter().find(|(of, _)| *of == name) {
        return found;
    }
    let coordinate = Coordinate::new(rows);
    let found = top_means(candidates, cap, &coordinate, signed);
    let mut means = known();
    if means.len() < MOST_MEANS {
        means.push((name, found));
    }
    found
}

/// The mean of the L largest of J independent squares of a coordinate or, if signed, coordinates, and that of their
/// squares.
fn top_means(candidates: u32, cap: u32, coordinate: &Coordinate, signed: bool) -> [f64; 2] {
    // Of the others, fewer than the cap has members exceed it.
    let in_cap = |exceeded| at_most(candidates - 1, cap - 1, exceeded);
    let mut sums = [0.0; 2];
    for node in coordinate.nodes() {
        let [first, second] = if signed {
            // The coordinate has either sign.
            let above = 0.5 * node.exceeded;
            let [up, down] = [above, 1.0 - above].map(|exceeded| 0.5 * node.weight * in_cap(exceeded));
            [node.square.sqrt() * (up - down), node.square * (up + down)]
        } else {
            let first = node.weight * node.square * in_cap(node.exceeded);
            [first, first * node.square]
        };
        sums[0] += first;
        sums[1] += second;
    }
    sums.map(|sum| f64::from(candidates) / f64::from(cap) * sum)
}

/// P[Binomial(`trials`, p) <= `most`], for `most` below `trials`, from the shorter tail.
pub(in crate::mechanism) fn at_most(trials: u32, most: u32, p: f64) -> f64 {
    let (n, k, complement) = (u64::from(trials), u64::from(most), 1.0 - p);
    if f64::from(most) < f64::from(trials) * p {
        at_least(n, n - k, complement, p)
    } else {
        1.0 - at_least(n, k + 1, p, complement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::tests::known;

    fn per_coordinate_variance(candidates: u32, cap: u32, e: f64) -> f64 {
        let inside = f64::from(cap) * e.exp();
        2.0 / normal_gain(candidates, cap, inside / (inside + f64::from(candidates - cap))).powi(2)
    }

    #[test]
    fn small_cases_have_closed_forms() {
        // In polar coordinates, max(g1^2, g2^2) = r^2 (1 + |cos 2 phi|) / 2.
        let found = top_means(2, 1, &Coordinate::new(None), false);
        for (mean, expected) in
            found.into_iter().zip([1.0 + 2.0 / core::f64::consts::PI, 3.0 + 8.0 / core::f64::consts::PI])
        {
            assert!((mean - expected).abs() < 1e-10, "{found:?}");
        }
        // A choice without preference is one among all.
        for (found, expected) in moments_along(64, 16, 0.25, 10).into_iter().zip([1.0, 2.5]) {
            assert!((found - expected).abs() < 1e-12, "{found}");
        }
    }

    /// Gauss and Legendre's rule on many pieces, with 40 digits: the same to 1e-9, and to 2e-7
    /// for caps of thousands, whose edge is as steep as a step.
    #[test]
    fn gains_are_those_of_forty_digits() {
        for (inputs, [down, up]) in known("gain") {
            let &[candidates, cap, q] = inputs else { panic!("{inputs:?}") };
            let found = normal_gain(candidates as u32, cap as u32, q);
            let close = if cap > 1000.0 { 2e-7 } else { 1e-9 };
            assert!(found > down - close && found < up + close, "{inputs:?}: {found} {up}");
        }
    }

    #[test]
    fn the_recommended_candidates_are_within_five_percent_of_the_limit() {
        for e in [0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0] {
            let epsilon = Epsilon::new(e).unwrap();
            let best = |candidates| per_coordinate_variance(candidates, best_cap(candidates, epsilon), e);
            let recommended = best(crate::mechanism::DoubleCap::recommended_candidates(epsilon));
            assert!(recommended <= 1.05 * best(16_384), "eps {e}: {recommended} {}", best(16_384));
        }
    }

    #[test]
    fn the_best_cap_is_no_worse_than_any_other() {
        for j in [2, 3, 1024, 1025, 4096, 16_384] {
            for e in [1e-3, 1.0, 8.0, 12.0, 16.0] {
                let best = best_cap(j, Epsilon::new(e).unwrap());
                assert!(super::super::members::permitted_caps(j).contains(&best), "eps {e} J {j} L {best}");
            }
        }
        let few = (2..=24).chain([37, 48]).flat_map(|j| [0.1, 1.0, 2.5, 5.0].map(|e| (e, j)));
        for (e, j) in few.chain([(0.1, 16), (1.0, 64), (3.0, 100), (6.0, 256)]) {
            let best = best_cap(j, Epsilon::new(e).unwrap());
            let least = (1..=j / 2).map(|cap| per_coordinate_variance(j, cap, e)).fold(f64::INFINITY, f64::min);
            assert!(per_coordinate_variance(j, best, e) <= least * (1.0 + 1e-12), "eps {e} J {j} L {best}");
        }
    }

    /// Against the sum of all terms, on both sides of the mean and far beyond it.
    #[test]
    fn tails_are_the_sums_of_their_terms() {
        for (trials, most) in [(1, 0), (7, 3), (50, 2), (50, 47), (60, 30), (63, 12)] {
            for p in [1e-12f64, 1e-3, 0.04, 0.2, 0.5, 0.8, 0.96, 0.999] {
                let mut way = 1.0f64;
                let mut sum = 0.0;
                for count in 0..=most {
                    sum += way * p.powi(count as i32) * (1.0 - p).powi((trials - count) as i32);
                    way *= f64::from(trials - count) / f64::from(count + 1);
                }
                let found = at_most(trials, most, p);
                // Below a half it is a sum, with a relative error; above, it is one minus a sum.
                let close = if f64::from(most) < f64::from(trials) * p { 1e-11 * sum } else { 2e-13 };
                assert!((found - sum).abs() <= close, "{trials} {most} {p}: {found} {sum}");
            }
        }
    }
}
