//! The lengths of records, from the sums of a collection with the mechanism [`norm_cap`]: quantiles, and what a
//! clipping radius costs.
//!
//! The share S(t) of people whose records are longer than t falls with t. For each threshold the reports give an
//! unbiased estimate of it; the estimate here is the closest one that falls (isotonic regression, weighted by the
//! numbers of reports; Ayer et al. 1955). Between thresholds it is linear, in log t for quantiles and in t^2 for means.
//!
//! # What an interval means
//! Let q be a share and T the q-quantile of lengths, the least t with S(t) <= 1 - q. Where t >= T, S(t) <= 1 - q, and a
//! report about t says "longer" with a probability of at most `r = 1 - p + (2 p - 1) (1 - q)`; where t < T, with at
//! least r. So of the reports about several thresholds at or above T, the number that say "longer" is stochastically no
//! larger than Bin(n, r), and below T no smaller. For each place that T may have between two thresholds, both are
//! tested, each with the next eight thresholds and at half the level, by the exact binomial tail. The interval has
//! every place that neither test excludes: it covers T with at least the stated probability, up to the rounding of
//! lengths. Nothing is approximated.
//!
//! *Assumptions*: people are drawn at random and answer independently, and their reports are honest.
//!
//! # What a radius costs
//! Under clip at R the records become `min(1, |x| / R)` long, and double-cap's noise stays as it is. With `v = E min(1,
//! |x| / R)^2` all eigenvalues are v times as large as under unit norm, *if directions do not depend on lengths*: it
//! takes about `1 / v^2` times as many people for the same error.
//!
//! [`norm_cap`]: super::norm_cap

use crate::aggregate::{Aggregate, AggregateError};
use crate::binomial;
use crate::covariance::Covariance;
use crate::decimal::Decimal;
use crate::prediction::Spectrum;
use crate::privacy::Guarantee;
use crate::record::{Bounding, Radius, RecordError};
use crate::task::{Task, TaskMechanism};

/// Thresholds that a test of a place takes together: they span two octaves.
const WINDOW: usize = 8;

/// What is known about one threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Threshold {
    /// In units of the radius.
    length: f64,
    /// The number of reports about it.
    reports: u64,
    /// Those that say "longer".
    longer: u64,
    /// The estimate of the share of people whose records are longer.
    share: f64,
}

/// The lengths of records, in units of the encoded features.
#[derive(Clone, Debug, PartialEq)]
pub struct Norms {
    /// Longest first.
    thresholds: Vec<Threshold>,
    radius: f64,
    truth: f64,
    records: u64,
}

/// A quantile of lengths.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Quantile {
    /// The share of people whose records are at most so long.
    pub share: f64,
    /// The estimate; `None` where it is longer than all thresholds, or shorter.
    pub length: Option<f64>,
    /// The lower end of the interval: 0 where no threshold is below it.
    pub lower: f64,
    /// The upper end: `None` where no threshold is above it.
    pub upper: Option<f64>,
}

/// What clipping at a radius costs.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Clipping {
    /// The radius.
    pub radius: Radius,
    /// `E min(1, |x| / radius)^2`.
    pub mean_square: f64,
    /// As many times the people that unit norm takes, for the same error, if directions do not depend on lengths;
    /// `None` where no record has a length.
    pub people: Option<f64>,
}

/// The quantiles of an answer.
const SHARES: [f64; 5] = [0.25, 0.5, 0.75, 0.9, 0.99];
/// The probability that an interval of an answer covers its quantile.
const CONFIDENCE: f64 = 0.95;
/// From this factor on, a radius costs too many people.
const MUCH: f64 = 2.5;

/// What the sums of a collection say about lengths.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Lengths {
    /// The number of reports.
    pub records: u64,
    /// That of each report.
    pub guarantee: Guarantee,
    /// The probability with which each interval, by itself, covers its quantile.
    pub confidence: f64,
    /// Ascending.
    pub quantiles: Vec<Quantile>,
    /// What the lower quartile and the median cost as a radius, and a radius that was asked for.
    pub radii: Vec<Clipping>,
}

impl Lengths {
    /// The answer about lengths, and about a radius.
    ///
    /// # Errors
    /// As [`Norms::clipping`].
    pub fn new(norms: &Norms, guarantee: Guarantee, radius: Option<Radius>) -> Result<Self, NormsError> {
        let quantiles = SHARES.map(|share| norms.quantile(share, CONFIDENCE)).to_vec();
        // The price of an upper quantile from the same reports is far too low: those that found it too short price it.
        let lower = quantiles.iter().take_while(|quantile| quantile.share <= 0.5);
        let lengths = lower.filter_map(|quantile| Radius::new(quantile.length?).ok());
        // A quantile is between thresholds, and has a price.
        let mut radii: Vec<Clipping> = lengths.filter_map(|radius| norms.clipping(radius).ok()).collect();
        radii.extend(radius.map(|radius| norms.clipping(radius)).transpose()?);
        Ok(Self { records: norms.records, guarantee, confidence: CONFIDENCE, quantiles, radii })
    }
}

impl Clipping {
    /// Whether the radius costs too many people: one that half of the records reach is a better one.
    #[must_use]
    pub fn costs_much(&self) -> bool {
        self.people.is_none_or(|people| people > MUCH)
    }

    /// The spectrum of records that have `spectrum` under unit norm, in units of the radius, and their bounding.
    ///
    /// # Errors
    /// None: one is a radius.
    pub fn of_unit_norm(&self, spectrum: Spectrum) -> Result<(Spectrum, Bounding), RecordError> {
        Ok((spectrum.scaled(self.mean_square), Bounding::Clip { radius: Radius::new(1.0)? }))
    }

    /// That of a mean square of bounded records, in the unit ball.
    #[must_use]
    pub fn new(radius: Radius, mean_square: f64) -> Self {
        let people = mean_square.min(1.0).powi(-2);
        Self { radius, mean_square, people: (mean_square > 0.0 && people.is_finite()).then_some(people) }
    }

    /// That of a collection under clip, whose estimate has the mean square of its records; `None` under unit norm.
    #[must_use]
    pub fn of_estimate(covariance: &Covariance, task: &Task) -> Option<Self> {
        let Bounding::Clip { radius } = task.bounding() else { return None };
        let about_mean = covariance.mean().map_or(0.0, |mean| mean.without_bias().norm_squared());
        Some(Self::new(radius, (covariance.matrix().trace() + about_mean) / task.bounding().covariance_scale()))
    }
}

/// Why there is no answer about lengths.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NormsError {
    /// A task about something else.
    #[error("the task is not about lengths: its mechanism is not 'norm-cap'")]
    NotNorms,
    /// The sums are of another task.
    #[error(transparent)]
    Aggregate(#[from] AggregateError),
    /// A radius without thresholds around it.
    #[error(
        "the radius {} is outside the lengths that were asked about, {} to {}",
        Decimal(*radius), Decimal(*least), Decimal(*most)
    )]
    Radius {
        /// The radius.
        radius: f64,
        /// The shortest threshold.
        least: f64,
        /// The radius of the task.
        most: f64,
    },
}

impl Norms {
    /// The lengths that the reports of a task show.
    ///
    /// # Errors
    /// [`NormsError::NotNorms`] for another mechanism, [`NormsError::Aggregate`] for sums of another task and where
    /// there are no reports.
    pub fn of(aggregate: &Aggregate, task: &Task) -> Result<Self, NormsError> {
        let (TaskMechanism::NormCap(mechanism), Bounding::Clip { radius }) = (task.mechanism(), task.bounding()) else {
            return Err(NormsError::NotNorms);
        };
        aggregate.check_task(task.digest())?;
        let records = aggregate.records();
        if records == 0 {
            return Err(AggregateError::NoReports.into());
        }
        // Nobody's reports have a sum below 0, but a file can.
        let count = |index: usize| aggregate.folds().iter().map(|fold| fold.sums()[index].max(0) as u64).sum::<u64>();
        let truth = mechanism.truth();
        let thresholds = mechanism.squares().zip(0..).map(|(square, place)| {
            let [not, longer] = [count(2 * place), count(2 * place + 1)];
            Threshold { length: square.sqrt(), reports: not + longer, longer, share: 0.0 }
        });
        let mut thresholds: Vec<_> = thresholds.collect();
        let shares = rising(&thresholds.iter().map(|at| (at.longer as f64, at.reports as f64)).collect::<Vec<_>>());
        for (at, share) in thresholds.iter_mut().zip(shares) {
            at.share = ((share - 1.0 + truth) / (2.0 * truth - 1.0)).clamp(0.0, 1.0);
        }
        Ok(Self { thresholds, radius: radius.value(), truth, records })
    }

    /// Lengths, ascending, each with the estimate of the share of records that are at most so long.
    #[must_use]
    pub fn distribution(&self) -> Vec<(f64, f64)> {
        self.thresholds.iter().rev().map(|at| (self.radius * at.length, 1.0 - at.share)).collect()
    }

    /// The length that the `share` of records does not exceed, with an interval that covers it with the probability
    /// `confidence`.
    #[must_use]
    pub fn quantile(&self, share: f64, confidence: f64) -> Quantile {
        let beyond = 1.0 - share;
        let place = self.thresholds.iter().position(|at| at.share >= beyond);
        let length = place.filter(|&place| place > 0).map(|place| {
            let [above, below] = [self.thresholds[place - 1], self.thresholds[place]];
            let part = (below.share - beyond) / (below.share - above.share);
            self.radius * below.length * (above.length / below.length).powf(part)
        });
        let alpha = 0.5 * (1.0 - confidence);
        let most = 1.0 - self.truth + (2.0 * self.truth - 1.0) * beyond;
        // Whether the quantile may be longer than the threshold `place`, and no longer than `place - 1`.
        let possible = |place: usize| {
            let window = |at: &[Threshold]| at.iter().fold((0, 0), |(n, k), at| (n + at.reports, k + at.longer));
            let (n, k) = window(&self.thresholds[place.saturating_sub(WINDOW)..place]);
            let above = binomial::is_more(k, n, most, alpha);
            let (n, k) = window(&self.thresholds[place..self.thresholds.len().min(place + WINDOW)]);
            !above && !binomial::is_fewer(k, n, most, alpha)
        };
        let places: Vec<usize> = (0..=self.thresholds.len()).filter(|&place| possible(place)).collect();
        // Where every place is excluded, which is rarer than a wrong interval, all are left.
        let (first, last) = (places.first().copied().unwrap_or(0), places.last().copied());
        Quantile {
            share,
            length,
            lower: last.and_then(|last| self.thresholds.get(last)).map_or(0.0, |at| self.radius * at.length),
            upper: first.checked_sub(1).map(|above| self.radius * self.thresholds[above].length),
        }
    }

    /// What clipping at `radius` costs. Of lengths beyond the longest threshold nothing is known, and they are taken to
    /// be that long.
    ///
    /// # Errors
    /// [`NormsError::Radius`] below the shortest threshold and above the task's radius.
    pub fn clipping(&self, clip: Radius) -> Result<Clipping, NormsError> {
        let (radius, shortest) = (clip.value() / self.radius, self.thresholds[self.thresholds.len() - 1]);
        if !(shortest.length..=1.0).contains(&radius) {
            let least = self.radius * shortest.length;
            return Err(NormsError::Radius { radius: clip.value(), least, most: self.radius });
        }
        // 2 ∫ t S(t) dt from 0 to the radius, by the trapezoidal rule in t^2. Below the shortest threshold S is what it
        // is there.
        let mut sum = 0.0;
        let mut below = Threshold { length: 0.0, ..shortest };
        for &at in self.thresholds.iter().rev() {
            let length = at.length.min(radius);
            let part = (length.powi(2) - below.length.powi(2)) / (at.length.powi(2) - below.length.powi(2));
            let share = below.share + part * (at.share - below.share);
            sum += 0.5 * (below.share + share) * (length.powi(2) - below.length.powi(2));
            if at.length >= radius {
                break;
            }
            below = at;
        }
        Ok(Clipping::new(clip, sum / radius.powi(2)))
    }
}

/// The rising shares that are closest to the given ones, each (events, trials), by pooling what falls. Without trials a
/// share is that of its neighbour.
fn rising(shares: &[(f64, f64)]) -> Vec<f64> {
    let mut pools: Vec<(f64, f64, usize)> = vec![];
    let value = |&(events, trials, _): &(f64, f64, usize)| events / trials.max(f64::MIN_POSITIVE);
    for &(events, trials) in shares {
        let mut last = (events, trials, 1);
        while let Some(before) =
            pools.pop_if(|before| before.1 == 0.0 || last.1 == 0.0 || value(before) >= value(&last))
        {
            last = (before.0 + last.0, before.1 + last.1, before.2 + last.2);
        }
        pools.push(last);
    }
    pools.iter().flat_map(|pool| vec![value(pool); pool.2]).collect()
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};
    use rand_distr::StandardNormal;

    use super::*;
    use crate::mechanism::MechanismSpec;
    use crate::privacy::Epsilon;
    use crate::tests;

    const RADIUS: f64 = 100.0;

    fn radius(value: f64) -> Radius {
        Radius::new(value).unwrap()
    }

    fn task(epsilon: f64) -> Task {
        let mechanism = MechanismSpec::norm_cap(Epsilon::new(epsilon).unwrap(), 64);
        tests::task(2, tests::clip(RADIUS), mechanism, 2)
    }

    /// Lengths `median exp(spread G)`, through the randomizer and the bytes of an aggregate.
    fn collected(task: &Task, people: usize, median: f64, spread: f64, seed: u64) -> Norms {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let reports = tests::reports(task, people, &mut rng, |_, rng| {
            let normal: f64 = rng.sample(StandardNormal);
            let length = median * (spread * normal).exp();
            vec![0.6 * length, -0.8 * length]
        });
        let aggregate = tests::sum(task, &reports);
        Norms::of(&Aggregate::from_bytes(&aggregate.to_bytes(), task).unwrap(), task).unwrap()
    }

    /// Twenty collections of 2,000 people at epsilon 1: every median is found within a factor of 2, as simulated
    /// beforehand. The chance of one failure is below 1 % by those simulations (their largest factor was 1.6 in 19).
    #[test]
    fn two_thousand_people_find_the_median_within_a_factor_of_two() {
        let task = task(1.0);
        for (seed, spread) in (0..20).zip([0.25, 0.5, 1.0, 0.5].into_iter().cycle()) {
            let median = 0.01 * 7f64.powi(seed as i32 % 4);
            let found = collected(&task, 2000, median, spread, seed).quantile(0.5, 0.95).length.unwrap();
            assert!((0.5..2.0).contains(&(found / median)), "seed {seed}: {found} for {median}");
        }
    }

    /// 200 collections, each with a median and an upper quartile: intervals at 80 % miss in at most 20 % of cases. They
    /// are exact but for monotony, so fewer are expected; more than 54 of 200 have a probability below 0.01 at 20 %.
    #[test]
    fn intervals_cover_as_often_as_they_say_and_are_not_everything() {
        let task = task(2.0);
        for (share, normal) in [(0.5f64, 0.0f64), (0.75, 0.674_489_75)] {
            let mut missed = 0;
            for seed in 0..200 {
                let norms = collected(&task, 1000, 1.0, 0.5, 1000 + seed);
                let Quantile { lower, upper, .. } = norms.quantile(share, 0.8);
                let truth = (0.5 * normal).exp();
                missed += usize::from(!(lower..=upper.unwrap()).contains(&truth));
                assert!(lower > 0.1 * truth && upper.unwrap() < 10.0 * truth, "{lower} {upper:?}");
            }
            assert!(missed <= 54, "{missed} of 200 at {share}");
        }
    }

    /// Lognormal lengths: `1 / v^2` in closed form by integrating the density, against what 200,000 reports show.
    #[test]
    fn a_radius_costs_what_the_lengths_say() {
        let norms = collected(&task(4.0), 200_000, 1.0, 0.5, 5);
        for (clip, people) in [(1.0, 1.7), (1.9, 6.9), (3.2, 41.0)] {
            let exact = {
                let steps = 20_000;
                let part = |step: i32| {
                    let normal = f64::from(step) * 16.0 / f64::from(steps) - 8.0;
                    let density = (-0.5 * normal * normal).exp() / core::f64::consts::TAU.sqrt();
                    density * ((0.5 * normal).exp() / clip).min(1.0).powi(2) * 16.0 / f64::from(steps)
                };
                (0..=steps).map(part).sum::<f64>().powi(-2)
            };
            assert!((exact / people - 1.0).abs() < 0.1, "the prototype has {people}, the integral {exact}");
            let found = norms.clipping(radius(clip)).unwrap().people.unwrap();
            assert!((found / exact - 1.0).abs() < 0.1, "{clip}: {found} for {exact}");
        }
        let least = RADIUS * 2f64.powi(-16);
        for outside in [0.9 * least, 1.1 * RADIUS] {
            assert!(matches!(norms.clipping(radius(outside)), Err(NormsError::Radius { .. })), "{outside}");
        }
        assert_eq!(Clipping::new(radius(1.0), 0.0).people, None);
        assert_eq!(Clipping::new(radius(1.0), 0.5).people, Some(4.0));
    }

    #[test]
    fn shares_that_fall_are_pooled() {
        assert_eq!(rising(&[(1.0, 2.0), (1.0, 4.0), (3.0, 4.0), (0.0, 0.0)]), [2.0 / 6.0, 2.0 / 6.0, 0.75, 0.75]);
        assert_eq!(rising(&[(0.0, 0.0), (4.0, 4.0), (2.0, 4.0), (0.0, 1.0)]), [6.0 / 9.0; 4]);
        assert_eq!(rising(&[(0.0, 5.0), (2.0, 4.0)]), [0.0, 0.5]);
    }

    /// A file can hold any sums of its size.
    #[test]
    fn sums_that_nobody_reported_give_an_answer_without_a_panic() {
        let task = task(1.0);
        let everywhere = |sign: i64| {
            let norms = Norms {
                thresholds: (0..64)
                    .map(|place| Threshold {
                        length: 2f64.powi(-place - 1),
                        reports: 7,
                        longer: if (place as i64 * sign) % 2 == 0 { 7 } else { 0 },
                        share: f64::from(u8::from(sign > 0)),
                    })
                    .collect(),
                radius: 2.0,
                truth: 0.7,
                records: 448,
            };
            SHARES.map(|share| norms.quantile(share, 0.95))
        };
        for quantile in everywhere(1).into_iter().chain(everywhere(-1)) {
            assert!(quantile.length.is_none_or(f64::is_finite) && quantile.lower >= 0.0, "{quantile:?}");
        }
        let empty = Aggregate::empty(&task);
        assert_eq!(Norms::of(&empty, &task), Err(AggregateError::NoReports.into()));
        let double_cap = MechanismSpec::double_cap(Epsilon::new(1.0).unwrap());
        let other = Task::new(task.schema().clone(), task.bounding(), double_cap, task.folds()).unwrap();
        assert_eq!(Norms::of(&Aggregate::empty(&other), &other), Err(NormsError::NotNorms));
        assert!(matches!(Norms::of(&Aggregate::empty(&other), &task), Err(NormsError::Aggregate(_))));
    }

    const SHARES: [f64; 4] = [0.0, 0.25, 0.5, 1.0];

    /// All records beyond the radius: reports about few lengths, and none about the longest, give no median.
    #[test]
    fn lengths_without_reports_add_nothing() {
        let task = task(8.0);
        for seed in 0..100 {
            let found = collected(&task, 20, 1e6, 0.0, seed).quantile(0.5, 0.95);
            assert!(found.length.is_none_or(|length| length > 10.0) && found.upper.is_none(), "{found:?}");
        }
    }

    /// Squares of such lengths are 0.
    #[test]
    fn the_unit_of_lengths_does_not_matter() {
        let mut norms = collected(&task(4.0), 2000, 10.0, 0.5, 1);
        let own = norms.clipping(radius(10.0)).unwrap();
        norms.radius = 1e-148;
        let tiny = norms.clipping(radius(1e-149)).unwrap();
        assert!((tiny.mean_square / own.mean_square - 1.0).abs() < 1e-12, "{tiny:?}");
    }
}
