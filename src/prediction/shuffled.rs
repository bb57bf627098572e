//! The same questions for anonymised batches: epsilon is then a promise about the batch, and every report may carry
//! more of it.
//!
//! A *central* (epsilon, delta) is fixed. If reports are shuffled (see [`amplification`](crate::privacy::amplification)
//! for who must be trusted with that), each may be randomized with a local epsilon0 above it: the largest for which the
//! batch of n reports still has the central guarantee. It rises with n, and the error falls with both, so n and
//! epsilon0 are found together.

use super::plan::epsilon;
use super::{Planner, PredictionError};
use crate::mechanism::{LocalRandomizer, MechanismError};
use crate::privacy::amplification::{BatchGuarantee, amplify, keeps};
use crate::privacy::{Delta, Epsilon};

/// The largest local epsilon that is considered: beyond it double-cap's weights do not fit.
const MOST_LOCAL: f64 = 16.0;

/// The relative shortfall of a local epsilon from the largest possible one.
const TOLERANCE: f64 = 1e-4;

/// The largest number of reports in an answer, for which the amplification is computed.
const MOST_RECORDS: u64 = 100_000_000_000;

/// Reports of a shuffled collection, and the epsilon that each may have.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ShuffledRecords {
    /// The number of reports.
    pub records: u64,
    /// The local epsilon of every report in a batch of that size.
    pub local_epsilon: Epsilon,
}

impl Planner {
    /// The largest local epsilon found (to a ten-thousandth, rounded down) at which a shuffled batch of `records`
    /// reports keeps the `central` epsilon with `delta`; at least `central` itself where a report may have that.
    /// `None` when even a report at `central` does not keep it, as with a delta of its own that is above `delta`.
    ///
    /// # Errors
    /// [`PredictionError::Mechanism`], [`PredictionError::Privacy`] without records.
    pub fn local_epsilon(
        &self,
        central: Epsilon,
        delta: Delta,
        records: u64,
    ) -> Result<Option<Epsilon>, PredictionError> {
        self.local_epsilon_between(central, delta, records, (central.value(), MOST_LOCAL.max(central.value())))
    }

    /// The same where it is known to be in a range, at whose lower end it is tried first.
    fn local_epsilon_between(
        &self,
        central: Epsilon,
        delta: Delta,
        records: u64,
        range: (f64, f64),
    ) -> Result<Option<Epsilon>, PredictionError> {
        let allowed = |local: f64| -> Result<bool, PredictionError> {
            let mechanism = match self.mechanism(epsilon(local)?) {
                // Too large for the mechanism's integers.
                Err(PredictionError::Mechanism(MechanismError::Weights { .. } | MechanismError::Grid { .. })) => {
                    return Ok(false);
                }
                other => other?,
            };
            Ok(keeps(mechanism.privacy_loss(), records, central, delta)?)
        };
        most_allowed(range, allowed)?.map(epsilon).transpose()
    }

    /// The number of reports, within a hundredth above the least, with which a shuffled collection that keeps the
    /// `central` epsilon with `delta` reaches `target`, and the local epsilon that they may have. `None` when 10^11 are
    /// not enough.
    ///
    /// # Errors
    /// [`PredictionError::Target`], [`PredictionError::Mechanism`].
    pub fn shuffled_records_for(
        &self,
        central: Epsilon,
        delta: Delta,
        target: f64,
    ) -> Result<Option<ShuffledRecords>, PredictionError> {
        self.check_target(target)?;
        let reached = |found: ShuffledRecords| -> Result<bool, PredictionError> {
            Ok(self.predict(found.local_epsilon, found.records)?.sin_theta_squared <= target)
        };
        // Without shuffling it takes more, and with the largest local epsilon fewer.
        let most = self.records_for(central, target)?.unwrap_or(MOST_RECORDS).min(MOST_RECORDS);
        let Some(local_epsilon) = self.local_epsilon(central, delta, most)? else { return Ok(None) };
        let found = ShuffledRecords { records: most, local_epsilon };
        if !reached(found)? {
            return Ok(None);
        }
        let between = |records, range| self.local_epsilon_between(central, delta, records, range);
        Ok(Some(fewest_records(found, central.value(), between, reached)?))
    }

    /// The central guarantee, with `delta`, of a shuffled batch of `records` reports that have the least local epsilon
    /// with which they reach `target`; `None` when no local epsilon does.
    ///
    /// # Errors
    /// As [`Planner::epsilon_for`]; [`PredictionError::Privacy`] where delta is too small.
    pub fn shuffled_epsilon_for(
        &self,
        records: u64,
        delta: Delta,
        target: f64,
    ) -> Result<Option<BatchGuarantee>, PredictionError> {
        let Some(local) = self.epsilon_for(records, target)? else { return Ok(None) };
        Ok(Some(amplify(self.mechanism(local)?.privacy_loss(), records, delta)?))
    }
}

/// The largest number of a range that is `allowed`, as all below it are: to a ten-thousandth, rounded down.
fn most_allowed(
    (mut low, mut high): (f64, f64),
    allowed: impl Fn(f64) -> Result<bool, PredictionError>,
) -> Result<Option<f64>, PredictionError> {
    if !allowed(low)? {
        return Ok(None);
    }
    if allowed(high)? {
        low = high;
    }
    while high > low * (1.0 + TOLERANCE) {
        let middle = 0.5 * (low + high);
        if allowed(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(Some(low))
}

/// Searches down from a number of reports that reaches the target to the fewest, within a hundredth. Fewer reports hide
/// less, so their local epsilon is `between` the `least` and that of more.
fn fewest_records(
    mut found: ShuffledRecords,
    mut least: f64,
    between: impl Fn(u64, (f64, f64)) -> Result<Option<Epsilon>, PredictionError>,
    reached: impl Fn(ShuffledRecords) -> Result<bool, PredictionError>,
) -> Result<ShuffledRecords, PredictionError> {
    let mut low = 1;
    while found.records - low > 1 + found.records / 100 {
        let middle = ((low as f64) * (found.records as f64)).sqrt() as u64;
        let records = middle.clamp(low + 1, found.records - 1);
        let Some(local_epsilon) = between(records, (least, found.local_epsilon.value()))? else {
            low = records;
            continue;
        };
        let fewer = ShuffledRecords { records, local_epsilon };
        if reached(fewer)? {
            found = fewer;
        } else {
            (low, least) = (records, local_epsilon.value());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;
    use crate::mechanism::MechanismFamily;
    use crate::prediction::Spectrum;
    use crate::privacy::tests::{delta, epsilon};
    use crate::record::Bounding;
    use crate::recovery::Rank;

    fn planner(family: MechanismFamily) -> Planner {
        let spectrum = Spectrum::of_unit_trace(10, vec![0.5]).unwrap();
        Planner::new(spectrum, Rank::new(1).unwrap(), family, Bounding::UnitNorm).unwrap()
    }

    fn double_cap(candidates: u32, cap: u32) -> MechanismFamily {
        MechanismFamily::DoubleCap { candidates: Some(candidates), cap: Some(cap) }
    }

    #[test]
    fn the_search_for_the_most_that_is_allowed_finds_it_and_ends() {
        let search = |range, allowed: &dyn Fn(f64) -> bool| {
            // Both ends, and a range of 1 to 16,000 halved to a ten-thousandth of its lower end.
            let asked = Cell::new(0);
            let found = most_allowed(range, |value| {
                asked.set(asked.get() + 1);
                assert!(asked.get() <= 2 + 28, "it asks without an end");
                Ok(allowed(value))
            });
            found.unwrap()
        };
        for (low, high) in [(0.001, 16.0), (1.0, 16.0), (15.999, 16.0), (16.0, 16.0), (20.0, 20.0)] {
            for share in [0.0, 1e-3, 0.1, 0.5, 0.99, 1.0] {
                let most = low + share * (high - low);
                let found = search((low, high), &|value| value <= most).unwrap();
                assert!(found <= most && found * (1.0 + 1e-4) >= most, "{found} {most}");
            }
            assert_eq!(search((low, high), &|_| true), Some(high));
            assert_eq!(search((low, high), &|_| false), None);
            assert_eq!(search((low, high), &|value| value < low), None);
            assert_eq!(search((low, high), &|value| f64::NAN * value <= 1.0), None);
        }
        assert_eq!(most_allowed((1.0, 2.0), |_| Err(PredictionError::Sum(2.0))), Err(PredictionError::Sum(2.0)));
        let late = |value| if value < 2.0 { Ok(true) } else { Err(PredictionError::Sum(2.0)) };
        assert_eq!(most_allowed((1.0, 2.0), late), Err(PredictionError::Sum(2.0)));
    }

    /// With this many reports, every local epsilon that fits is allowed.
    #[test]
    fn a_mechanism_that_does_not_fit_is_not_allowed() {
        let wide = planner(double_cap(16_384, 8192));
        let overflows = |value: f64| match wide.mechanism(epsilon(value)) {
            Ok(_) => false,
            Err(PredictionError::Mechanism(MechanismError::Weights { .. })) => true,
            Err(other) => panic!("{other}"),
        };
        let found = wide.local_epsilon(epsilon(1.0), delta(1e-8), 100_000_000_000).unwrap().unwrap().value();
        assert!(!overflows(found) && overflows(found * (1.0 + 1e-4)) && overflows(16.0), "{found}");
        assert!((13.0..13.3).contains(&found), "{found}");
        // Nor is noise that is too large for its grid, at the very epsilon of the batch.
        let gaussian = planner(MechanismFamily::WangXu { delta: delta(1e-6) });
        let tiny = epsilon(1e-7);
        let refused = gaussian.mechanism(tiny);
        assert!(matches!(refused, Err(PredictionError::Mechanism(MechanismError::Grid { .. }))), "{refused:?}");
        assert_eq!(gaussian.local_epsilon(tiny, delta(1e-5), 1000), Ok(None));
        // A target that never fits is an error, not an epsilon.
        let none = planner(double_cap(64, 64)).local_epsilon(epsilon(1.0), delta(1e-8), 1000);
        assert!(matches!(none, Err(PredictionError::Mechanism(MechanismError::Cap { .. }))), "{none:?}");
        let none = planner(double_cap(64, 8)).local_epsilon(epsilon(1.0), delta(1e-8), 0);
        assert_eq!(none, Err(PredictionError::Privacy(crate::privacy::PrivacyError::Reports(0))));
    }

    #[test]
    fn the_local_epsilon_is_the_largest_that_keeps_the_promise() {
        let planner = planner(double_cap(64, 8));
        let (central, batch) = (epsilon(0.5), delta(1e-8));
        let kept = |local: f64, records| {
            keeps(planner.mechanism(epsilon(local)).unwrap().privacy_loss(), records, central, batch).unwrap()
        };
        for records in [20_000, 1_000_000] {
            let local = planner.local_epsilon(central, batch, records).unwrap().unwrap().value();
            assert!(local > 0.6 && kept(local, records) && !kept(local * (1.0 + 2e-4), records), "{records} {local}");
        }
        // One report hides among none, and the epsilon of the batch is its own; above 16 no other is looked for.
        assert_eq!(
            planner.local_epsilon(central, batch, 1).unwrap().map(|local| local < epsilon(0.5 * (1.0 + 2e-4))),
            Some(true)
        );
        assert_eq!(planner.local_epsilon(epsilon(18.0), batch, 1000), Ok(Some(epsilon(18.0))));
        assert_eq!(planner.local_epsilon(epsilon(4.0), batch, 100_000_000_000), Ok(Some(epsilon(16.0))));
    }

    #[test]
    fn the_search_for_the_fewest_reports_finds_them_and_ends() {
        // One more than a million reports may have each digit of their epsilon; fewer have less.
        let local = |records: u64| 1.0 + (records as f64).ln();
        let search = |most: u64, reached: &dyn Fn(u64) -> bool, hidden: u64| {
            let asked = Cell::new(0);
            let found = ShuffledRecords { records: most, local_epsilon: epsilon(local(most)) };
            let between = |records, (least, largest)| {
                asked.set(asked.get() + 1);
                assert!(asked.get() <= 120, "it asks without an end");
                let local = local(records);
                assert!(
                    (1..most).contains(&records) && least <= local && local <= largest,
                    "{records} {least} {largest}"
                );
                Ok((records >= hidden).then(|| epsilon(local)))
            };
            fewest_records(found, 1.0, between, |found| Ok(reached(found.records))).unwrap()
        };
        for most in [1, 2, 3, 100, 101, 102, 1000, 100_000_000_000] {
            for fewest in [1, 2, 3, 50, 99, 100, 101, 500, 999, 1000, 123_456_789, 99_999_999_999]
                .into_iter()
                .filter(|&f| f <= most)
            {
                for hidden in [0, fewest / 2, fewest] {
                    let found = search(most, &|records| records >= fewest, hidden);
                    let records = found.records;
                    assert!(records >= fewest && records <= fewest + 1 + records / 100, "{most} {fewest} {records}");
                    assert_eq!(found.local_epsilon, epsilon(local(records)));
                }
            }
            assert_eq!(search(most, &|_| false, 0).records, most);
            assert_eq!(search(most, &|_| true, u64::MAX).records, most);
            assert!(search(most, &|_| true, 0).records <= 2);
        }
    }
}
