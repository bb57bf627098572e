//! Counts of what was observed, the event chosen from one half of them, and the bound on epsilon from the other.

use super::binomial;
use super::observer::two_sided_quantile;

/// How often each kind of report was seen for the two records of a pair: `counts[record][kind]`, for the trials that
/// choose the event and for those that judge it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    pub(super) choosing: [Vec<u64>; 2],
    pub(super) judging: [Vec<u64>; 2],
}

impl Tally {
    pub(super) fn empty(kinds: usize) -> Self {
        let zero = || [vec![0; kinds], vec![0; kinds]];
        Self { choosing: zero(), judging: zero() }
    }

    /// Adds the counts of other trials of the same comparison. The order does not matter.
    pub fn merge(&mut self, other: &Self) {
        let halves = [(&mut self.choosing, &other.choosing), (&mut self.judging, &other.judging)];
        for (into, from) in halves {
            for (into, from) in into.iter_mut().zip(from) {
                into.iter_mut().zip(from).for_each(|(sum, count)| *sum += count);
            }
        }
    }

    /// The event (a set of kinds) that separates record `likelier` from the other best, as far as the choosing trials
    /// tell: kinds are taken in the order of their likelihood ratio (`ordered`: all but the last two in the order they
    /// have, from the last down if `likelier` is 0) up to where a normal approximation of the bound is largest. The
    /// choice needs no rigour: whatever is chosen, other trials judge it.
    pub(super) fn choose(&self, likelier: usize, ordered: bool, delta: f64, alpha: f64) -> Vec<usize> {
        let [more, less] = [&self.choosing[likelier], &self.choosing[1 - likelier]];
        let mut order: Vec<usize> = (0..more.len()).collect();
        let ratio = |kind: usize| (more[kind] as f64 + 1.0) / (less[kind] as f64 + 1.0);
        if ordered {
            let no_payload = order.split_off(more.len().saturating_sub(2));
            if likelier == 0 {
                order.reverse();
            }
            for kind in no_payload {
                order.insert(if ratio(kind) > 1.0 { 0 } else { order.len() }, kind);
            }
        } else {
            order.sort_by(|&a, &b| ratio(b).total_cmp(&ratio(a)));
        }
        let totals = [more, less].map(|counts| counts.iter().sum::<u64>() as f64);
        let deviations = two_sided_quantile(2.0 * alpha);
        let (mut sums, mut best) = ([0u64; 2], (f64::NEG_INFINITY, 0));
        for (position, &kind) in order.iter().enumerate() {
            sums[0] += more[kind];
            sums[1] += less[kind];
            let bound = wilson(sums[0], totals[0], -deviations) - delta;
            let bound = (bound.max(0.0) / wilson(sums[1], totals[1], deviations)).ln();
            if bound > best.0 {
                best = (bound, position + 1);
            }
        }
        order.truncate(best.1);
        order
    }

    /// What the judging trials say about an event: a lower bound on epsilon that is too high with probability at
    /// most 2 `alpha`.
    pub(super) fn judge(&self, likelier: usize, event: &[usize], delta: f64, alpha: f64) -> Judgement {
        let count = |record: usize| event.iter().map(|&kind| self.judging[record][kind]).sum::<u64>();
        let trials = |record: usize| self.judging[record].iter().sum::<u64>();
        let (more, less) = (count(likelier), count(1 - likelier));
        let at_least = binomial::lower(more, trials(likelier), alpha) - delta;
        let at_most = binomial::upper(less, trials(1 - likelier), alpha);
        // Four roundings, each below 2^-52 of a quotient above one.
        let bound = if at_least > at_most { (at_least / at_most).ln() * (1.0 - 1e-14) - 1e-15 } else { 0.0 };
        Judgement { counts: [more, less], trials: [trials(likelier), trials(1 - likelier)], bound: bound.max(0.0) }
    }
}

/// The counts of an event and the bound they give.
pub(super) struct Judgement {
    pub(super) counts: [u64; 2],
    pub(super) trials: [u64; 2],
    pub(super) bound: f64,
}

/// Wilson's (1927) approximate bound, `deviations` standard deviations away.
fn wilson(count: u64, trials: f64, deviations: f64) -> f64 {
    let (p, z2) = (count as f64 / trials, deviations * deviations);
    let spread = (p * (1.0 - p) / trials + z2 / (4.0 * trials * trials)).sqrt();
    (p + z2 / (2.0 * trials) + deviations * spread) / (1.0 + z2 / trials)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(choosing: [&[u64]; 2], judging: [&[u64]; 2]) -> Tally {
        Tally { choosing: choosing.map(<[u64]>::to_vec), judging: judging.map(<[u64]>::to_vec) }
    }

    #[test]
    fn the_event_is_chosen_on_one_half_and_judged_on_the_other() {
        let tally = tally([&[500, 300, 200], &[100, 300, 600]], [&[0, 0, 1000], &[1000, 0, 0]]);
        assert_eq!(tally.choose(0, false, 0.0, 0.005), [0]);
        assert_eq!(tally.choose(1, false, 0.0, 0.005), [2]);
        // The judging half contradicts the choosing half, and is the one that counts.
        assert_eq!(tally.judge(0, &[0], 0.0, 0.005).bound, 0.0);
        let judged = tally.judge(1, &[0], 0.0, 0.005);
        assert_eq!((judged.counts, judged.trials), ([1000, 0], [1000, 1000]));
        assert!(judged.bound > 5.0, "{}", judged.bound);
    }

    #[test]
    fn ordered_kinds_are_cut_by_a_threshold() {
        let tally = tally([&[1, 99, 300, 600], &[600, 300, 100, 0]], [&[1, 1, 1, 1], &[1, 1, 1, 1]]);
        assert_eq!(tally.choose(0, true, 0.0, 0.005)[0], 3);
        assert_eq!(tally.choose(1, true, 0.0, 0.005)[0], 0);
    }

    #[test]
    fn delta_is_taken_off_before_the_ratio() {
        let tally = tally([&[1, 1], &[1, 1]], [&[60_000, 40_000], &[20_000, 80_000]]);
        let bounds = [0.0, 0.1, 0.3, 0.5].map(|delta| tally.judge(0, &[0], delta, 0.005).bound);
        assert!((bounds[0] - 3f64.ln()).abs() < 0.03 && bounds[0] < 3f64.ln(), "{bounds:?}");
        assert!((bounds[2] - 1.5f64.ln()).abs() < 0.05 && bounds[2] < 1.5f64.ln(), "{bounds:?}");
        assert_eq!(bounds[3], 0.0);
    }

    #[test]
    fn merging_adds() {
        let mut sum = tally([&[1, 2], &[3, 4]], [&[5, 6], &[7, 8]]);
        sum.merge(&sum.clone());
        assert_eq!(sum, tally([&[2, 4], &[6, 8]], [&[10, 12], &[14, 16]]));
    }
}
