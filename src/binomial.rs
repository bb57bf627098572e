//! Confidence bounds on a probability from a count (Clopper & Pearson 1934), rounded outward.
//!
//! ```text
//! lower(k of n) = the p with P[Bin(n, p) >= k] = alpha,     upper(k of n) = the p with P[Bin(n, p) <= k] = alpha
//! ```
//!
//! Each holds on its side with probability at least 1 - alpha, for every n and p: nothing is approximated by a normal
//! law.
//!
//! *Rounding.* The tail is a sum of positive terms of one sign, from its largest term on. That term comes from three
//! `lgamma` and two logarithms, whose errors are below 1e-14 times their size, so the tail is right to a factor of
//! `1 + 1e-13 (ln n! + n)`: the bisection asks for alpha divided by it, and returns the end that is further out.

use crate::bisection::bisect;

/// The steps of each bisection.
const STEPS: u32 = 100;

/// Lower confidence bound, at level 1 - `alpha`, on the probability of an event seen `count` times in `trials`.
#[must_use]
pub fn lower(count: u64, trials: u64, alpha: f64) -> f64 {
    if count == 0 || trials == 0 {
        return 0.0;
    }
    let reached = |p: f64| at_least(trials, count, p, 1.0 - p) <= alpha / slack(trials);
    bisect(count as f64 / trials as f64, 0.0, STEPS, reached)
}

/// Upper confidence bound, at level 1 - `alpha`, on the probability of an event seen `count` times in `trials`.
#[must_use]
pub fn upper(count: u64, trials: u64, alpha: f64) -> f64 {
    if count >= trials {
        return 1.0;
    }
    // At most k events are at least n - k events of the opposite kind.
    let reached = |p: f64| at_least(trials, trials - count, 1.0 - p, p) <= alpha / slack(trials);
    bisect(count as f64 / trials as f64, 1.0, STEPS, reached)
}

/// Whether so many events or more have at most the probability `alpha` where each has the probability `p`: then the
/// event is likelier than p, at level 1 - `alpha`.
#[must_use]
pub fn is_more(count: u64, trials: u64, p: f64, alpha: f64) -> bool {
    count as f64 > trials as f64 * p && at_least(trials, count, p, 1.0 - p) <= alpha / slack(trials)
}

/// Whether so many events or fewer have at most the probability `alpha` where each has the probability `p`: then the
/// event is less likely than p, at level 1 - `alpha`.
#[must_use]
pub fn is_fewer(count: u64, trials: u64, p: f64, alpha: f64) -> bool {
    is_more(trials - count, trials, 1.0 - p, alpha)
}

/// How far a computed tail may be from the real one, as a factor.
fn slack(trials: u64) -> f64 {
    let n = trials as f64;
    1.0 + 1e-13 * (libm::lgamma(n + 1.0) + n)
}

/// P[Bin(`trials`, p) >= `count`] for `count` >= trials p, where `complement` = 1 - p.
pub(crate) fn at_least(trials: u64, count: u64, p: f64, complement: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    if complement <= 0.0 {
        return 1.0;
    }
    let (n, k) = (trials as f64, count as f64);
    let logarithm = libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0)
        + k * (if p < 0.5 { p.ln() } else { (-complement).ln_1p() })
        + (n - k) * (if complement < 0.5 { complement.ln() } else { (-p).ln_1p() });
    let (mut term, mut sum, mut i) = (1.0, 1.0, k);
    // Terms fall from here on, since count >= trials p.
    while i < n && term > 1e-17 * sum {
        term *= (n - i) / (i + 1.0) * (p / complement);
        sum += term;
        i += 1.0;
    }
    (logarithm.exp() * sum).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_cases_have_closed_forms() {
        for (n, alpha) in [(1u64, 0.05f64), (10, 0.025), (1000, 1e-6), (1_000_000, 1e-3)] {
            let root = alpha.powf(1.0 / n as f64);
            assert!((lower(n, n, alpha) - root).abs() < 1e-6, "{n} of {n}");
            assert!((upper(0, n, alpha) - (1.0 - root)).abs() < 1e-5 * (1.0 - root), "0 of {n}");
            assert_eq!((lower(0, n, alpha), upper(n, n, alpha)), (0.0, 1.0));
        }
        assert_eq!((lower(0, 0, 0.1), upper(0, 0, 0.1)), (0.0, 1.0));
    }

    /// Both sides of a bound.
    #[test]
    fn what_a_bound_excludes_is_more_or_fewer() {
        for (count, trials, alpha) in [(8, 10, 0.025), (1, 400, 0.1), (399, 400, 0.1), (200, 400, 1e-6)] {
            let (low, high) = (lower(count, trials, alpha), upper(count, trials, alpha));
            for (p, more, fewer) in [(0.999 * low, true, false), (1.001 * low, false, false)] {
                assert_eq!((is_more(count, trials, p, alpha), is_fewer(count, trials, p, alpha)), (more, fewer), "{p}");
            }
            for (p, fewer) in [(1.0 - 0.999 * (1.0 - high), true), (1.0 - 1.001 * (1.0 - high), false)] {
                assert_eq!(
                    (is_fewer(count, trials, p, alpha), is_more(count, trials, p, alpha)),
                    (fewer, false),
                    "{p}"
                );
            }
        }
        assert!(!is_more(0, 0, 0.5, 0.1) && !is_fewer(0, 0, 0.5, 0.1));
    }

    /// The tail at the bound, summed here from the definition by another recursion.
    #[test]
    fn the_tail_at_a_bound_is_alpha_and_never_more() {
        for (n, k) in [(20u64, 3u64), (50, 49), (400, 200), (400, 2)] {
            for alpha in [0.1, 1e-3, 1e-9] {
                let tail = |p: f64, from: u64, to: u64| -> f64 {
                    (from..=to)
                        .map(|i| {
                            let choose: f64 = (0..i).map(|j| ((n - j) as f64 / (i - j) as f64).ln()).sum();
                            (choose + i as f64 * p.ln() + (n - i) as f64 * (-p).ln_1p()).exp()
                        })
                        .sum()
                };
                let (low, high) = (tail(lower(k, n, alpha), k, n), tail(upper(k, n, alpha), 0, k));
                for reached in [low, high] {
                    assert!(reached <= alpha * (1.0 + 1e-12), "{k} of {n} alpha {alpha}: {reached}");
                    assert!(reached >= alpha * (1.0 - 1e-4), "{k} of {n} alpha {alpha}: {reached}");
                }
            }
        }
    }
}
