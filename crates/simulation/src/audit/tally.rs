//! Counts of what was observed, the event chosen from one half of them, and the bound on epsilon from the other.

use std::collections::BTreeSet;

use ldp_pca::internal::binomial;

use super::observer::two_sided_quantile;
use super::{AuditError, Event};

/// The observations in the trials of an [`Audit`](super::Audit).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The audit's fingerprint.
    pub(super) audit: u64,
    /// Seed and stream of every job: the same trials twice would count as twice the evidence.
    pub(super) jobs: BTreeSet<(u64, u64)>,
    pub(super) comparisons: Vec<Observed>,
}

/// The observations of one pair of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Observed {
    /// For each observer, how often it saw each kind of report. All observers look at the same trials.
    pub(super) counts: Vec<Counts>,
    /// Outputs for each record that no mechanism makes: payloads of another length, malformed ones of the right length,
    /// and missing payloads.
    pub(super) malformed: [[u64; 3]; 2],
}

/// How often each kind of report was seen for the two records of a pair: `counts[record][kind]`, for the trials that
/// choose the event and for those that judge it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) choosing: [Vec<u64>; 2],
    pub(super) judging: [Vec<u64>; 2],
}

impl Tally {
    /// Adds the observations of other jobs. The order does not matter.
    ///
    /// # Errors
    /// [`AuditError::Foreign`] for a tally of another audit, [`AuditError::Repeated`] where both have the same job.
    /// Then nothing was added.
    pub fn merge(&mut self, other: &Self) -> Result<(), AuditError> {
        if self.audit != other.audit {
            return Err(AuditError::Foreign);
        }
        if !self.jobs.is_disjoint(&other.jobs) {
            return Err(AuditError::Repeated);
        }
        self.jobs.extend(&other.jobs);
        for (ours, theirs) in self.comparisons.iter_mut().zip(&other.comparisons) {
            ours.counts.iter_mut().zip(&theirs.counts).for_each(|(into, from)| into.add(from));
            let malformed = ours.malformed.as_flattened_mut().iter_mut().zip(theirs.malformed.as_flattened());
            malformed.for_each(|(into, from)| *into += from);
        }
        Ok(())
    }
}

impl Counts {
    pub(super) fn empty(kinds: usize) -> Self {
        let zero = || [vec![0; kinds], vec![0; kinds]];
        Self { choosing: zero(), judging: zero() }
    }

    fn add(&mut self, other: &Self) {
        let halves = [(&mut self.choosing, &other.choosing), (&mut self.judging, &other.judging)];
        for (into, from) in halves.into_iter().flat_map(|(into, from)| into.iter_mut().zip(from)) {
            into.iter_mut().zip(from).for_each(|(sum, count)| *sum += count);
        }
    }

    /// The event (a set of kinds) that best separates record `likelier` from the other, according to the choosing
    /// trials: kinds are taken in the order of their likelihood ratio (the first `ordered` in their own order, from the
    /// last down if `likelier` is 0) up to where a normal approximation of the bound is largest. The choice needs no
    /// rigour, because other trials judge it.
    pub(super) fn choose(&self, likelier: usize, ordered: usize, delta: f64, alpha: f64) -> Vec<usize> {
        let [more, less] = [&self.choosing[likelier], &self.choosing[1 - likelier]];
        let mut order: Vec<usize> = (0..more.len()).collect();
        let ratio = |kind: usize| (more[kind] as f64 + 1.0) / (less[kind] as f64 + 1.0);
        let mut others = order.split_off(ordered);
        others.sort_by(|&a, &b| ratio(b).total_cmp(&ratio(a)));
        if likelier == 0 {
            order.reverse();
        }
        // Kinds that indicate the likelier record come before the ordered ones, the others after them.
        let speaking = others.iter().take_while(|&&kind| ratio(kind) > 1.0).count();
        let behind = others.split_off(speaking);
        let order = [others, order, behind].concat();
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
        order[..best.1].to_vec()
    }

    /// The judging trials' result for an event: a lower bound on epsilon that is too high with probability at most 2
    /// `alpha`.
    pub(super) fn judge(&self, pair: &'static str, likelier: usize, event: &[usize], delta: f64, alpha: f64) -> Event {
        let [more, less] = [&self.judging[likelier], &self.judging[1 - likelier]];
        let of_event = |counts: &[u64]| event.iter().map(|&kind| counts[kind]).sum::<u64>();
        let (count, count_other) = (of_event(more), of_event(less));
        let (trials, trials_other) = (more.iter().sum(), less.iter().sum());
        let at_least = binomial::lower(count, trials, alpha) - delta;
        let at_most = binomial::upper(count_other, trials_other, alpha);
        let epsilon_lower_bound = quotient_bound(at_least, at_most);
        Event { pair, reversed: likelier == 1, count, trials, count_other, trials_other, epsilon_lower_bound }
    }
}

/// The largest bound on epsilon that `trials` judging trials of each record can give: the event always occurs for one
/// record and never for the other.
pub(super) fn visible(trials: u64, delta: f64, alpha: f64) -> f64 {
    quotient_bound(binomial::lower(trials, trials, alpha) - delta, binomial::upper(0, trials, alpha))
}

/// `ln(at_least / at_most)`, rounded down; 0 where it would be negative.
fn quotient_bound(at_least: f64, at_most: f64) -> f64 {
    // Four roundings, each below 2^-52 of a quotient above one.
    let bound = if at_least > at_most { (at_least / at_most).ln() * (1.0 - 1e-14) - 1e-15 } else { 0.0 };
    bound.max(0.0)
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

    fn counts(choosing: [&[u64]; 2], judging: [&[u64]; 2]) -> Counts {
        Counts { choosing: choosing.map(<[u64]>::to_vec), judging: judging.map(<[u64]>::to_vec) }
    }

    #[test]
    fn the_event_is_chosen_on_one_half_and_judged_on_the_other() {
        let counts = counts([&[500, 300, 200], &[100, 300, 600]], [&[0, 0, 1000], &[1000, 0, 0]]);
        assert_eq!(counts.choose(0, 0, 0.0, 0.005), [0]);
        assert_eq!(counts.choose(1, 0, 0.0, 0.005), [2]);
        // The judging half contradicts the choosing half, and is the one that counts.
        assert_eq!(counts.judge("", 0, &[0], 0.0, 0.005).epsilon_lower_bound, 0.0);
        let judged = counts.judge("", 1, &[0], 0.0, 0.005);
        assert_eq!([judged.count, judged.count_other, judged.trials, judged.trials_other], [1000, 0, 1000, 1000]);
        assert!(judged.epsilon_lower_bound > 5.0, "{judged:?}");
    }

    #[test]
    fn delta_is_taken_off_before_the_ratio() {
        let counts = counts([&[1, 1], &[1, 1]], [&[60_000, 40_000], &[20_000, 80_000]]);
        let bounds = [0.0, 0.1, 0.3, 0.5].map(|delta| counts.judge("", 0, &[0], delta, 0.005).epsilon_lower_bound);
        assert!((bounds[0] - 3f64.ln()).abs() < 0.03 && bounds[0] < 3f64.ln(), "{bounds:?}");
        assert!((bounds[2] - 1.5f64.ln()).abs() < 0.05 && bounds[2] < 1.5f64.ln(), "{bounds:?}");
        assert_eq!(bounds[3], 0.0);
    }

    #[test]
    fn ordered_kinds_are_cut_by_a_threshold_and_others_are_first_or_last() {
        let counts = counts([&[1, 99, 300, 600, 0, 90], &[600, 300, 100, 0, 0, 0]], [&[1; 6], &[1; 6]]);
        assert_eq!(counts.choose(0, 4, 0.0, 0.005)[..2], [5, 3]);
        assert_eq!(counts.choose(1, 4, 0.0, 0.005)[0], 0);
    }

    #[test]
    fn merging_adds_the_same_audits_other_jobs() {
        let tally = |audit, stream| Tally {
            audit,
            jobs: [(1, stream)].into(),
            comparisons: vec![Observed {
                counts: vec![counts([&[1, 2], &[3, 4]], [&[5, 6], &[7, 8]])],
                malformed: [[1, 2, 5], [3, 4, 6]],
            }],
        };
        let mut sum = tally(1, 0);
        sum.merge(&tally(1, 1)).unwrap();
        let both = sum.clone();
        assert_eq!(both.comparisons[0].counts[0], counts([&[2, 4], &[6, 8]], [&[10, 12], &[14, 16]]));
        assert_eq!(both.comparisons[0].malformed, [[2, 4, 10], [6, 8, 12]]);
        assert_eq!(sum.merge(&tally(1, 1)), Err(AuditError::Repeated));
        assert_eq!(sum.merge(&tally(2, 2)), Err(AuditError::Foreign));
        assert_eq!(sum, both);
    }
}
