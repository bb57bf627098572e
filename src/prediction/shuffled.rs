//! Predictions for anonymised batches: epsilon is a promise about each batch, and every report may carry more of it.
//!
//! A *central* (epsilon, delta) is fixed. If reports are shuffled (see [`amplification`](crate::privacy::amplification)
//! for who must be trusted with that), each may be randomized with a local epsilon0 above it: the largest for which a
//! batch of n honest reports still has the central guarantee. A relay releases many batches of one collection, and
//! whoever sees them knows which batch a report came in. So n is the number of honest reports in one of them, whatever
//! the size of the collection.

use super::plan::{epsilon, halved};
use super::{Planner, PredictionError};
use crate::mechanism::{LocalRandomizer, MechanismError};
use crate::privacy::amplification::{amplify, keeps};
use crate::privacy::{Delta, Epsilon};

/// The largest local epsilon that is considered: beyond it double-cap's weights do not fit.
const MOST_LOCAL: f64 = 16.0;

/// The relative shortfall of a local epsilon from the largest possible one.
const TOLERANCE: f64 = 1e-4;

/// The batches in which somebody trusted releases a collection, and the delta of the guarantee of each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batches {
    /// The honest reports in one batch.
    pub honest_reports: u64,
    /// The delta of a batch.
    pub delta: Delta,
}

impl Batches {
    /// How many of these reports are released: those that fill a batch.
    pub(super) fn released(self, records: u64) -> u64 {
        records - records.checked_rem(self.honest_reports).unwrap_or(0)
    }

    /// How many reports are in whole batches, since no others are released, that have at least these.
    pub(super) fn whole(self, records: u64) -> u64 {
        records.max(1).checked_next_multiple_of(self.honest_reports).unwrap_or(records)
    }
}

impl Planner {
    /// The largest local epsilon found (to a ten-thousandth, rounded down) at which each of the `batches` keeps the
    /// `central` epsilon; at least `central` itself where a report may have that. `None` when even a report at
    /// `central` does not keep it, as with a delta of its own that is above the batch's.
    ///
    /// # Errors
    /// [`PredictionError::Mechanism`], [`PredictionError::Privacy`] for batches without reports.
    pub(super) fn local_epsilon(&self, central: Epsilon, batches: Batches) -> Result<Option<Epsilon>, PredictionError> {
        let allowed = |local: f64| -> Result<bool, PredictionError> {
            let mechanism = match self.mechanism(epsilon(local)?) {
                // Too large for the mechanism's integers.
                Err(PredictionError::Mechanism(MechanismError::Weights { .. } | MechanismError::Grid { .. })) => {
                    return Ok(false);
                }
                other => other?,
            };
            Ok(keeps(mechanism.privacy_loss(), batches.honest_reports, central, batches.delta)?)
        };
        most_allowed((central.value(), MOST_LOCAL.max(central.value())), allowed)?.map(epsilon).transpose()
    }

    /// The epsilon of each of the `batches` of a collection of `records` reports that have the least local epsilon
    /// with which those that fill a batch reach `target`; `None` when no local epsilon does.
    ///
    /// # Errors
    /// As [`Planner::epsilon_for`]; [`PredictionError::Privacy`] where delta is too small.
    pub(super) fn shuffled_epsilon_for(
        &self,
        records: u64,
        batches: Batches,
        target: f64,
    ) -> Result<Option<Epsilon>, PredictionError> {
        let Some(local) = self.epsilon_for(batches.released(records), target)? else { return Ok(None) };
        Ok(Some(amplify(self.mechanism(local)?.privacy_loss(), batches.honest_reports, batches.delta)?.epsilon))
    }
}

/// The largest number of a range that is `allowed`, as all below it are: to a ten-thousandth, rounded down.
fn most_allowed(
    (low, high): (f64, f64),
    allowed: impl Fn(f64) -> Result<bool, PredictionError>,
) -> Result<Option<f64>, PredictionError> {
    if !allowed(low)? {
        return Ok(None);
    }
    if allowed(high)? {
        return Ok(Some(high));
    }
    let middle = |low: f64, high: f64| (high > low * (1.0 + TOLERANCE)).then_some(0.5 * (low + high));
    Ok(Some(halved((low, high), middle, |value| Ok(!allowed(value)?))?.0))
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use fantope::Rank;

    use super::*;
    use crate::mechanism::MechanismFamily;
    use crate::prediction::{Goal, Spectrum};
    use crate::privacy::tests::{delta, epsilon};
    use crate::record::Bounding;

    fn planner(family: MechanismFamily) -> Planner {
        let spectrum = Spectrum::of_unit_trace(10, vec![0.5]).unwrap();
        Planner::new(spectrum, Rank::new(1).unwrap(), family, Bounding::UnitNorm).unwrap()
    }

    fn batches(honest_reports: u64, delta_value: f64) -> Batches {
        Batches { honest_reports, delta: delta(delta_value) }
    }

    fn double_cap(candidates: u32, cap: u32) -> MechanismFamily {
        MechanismFamily::DoubleCap { candidates: Some(candidates), cap: Some(cap) }
    }

    /// A relay keeps the last reports, which fill no batch.
    #[test]
    fn only_whole_batches_are_released() {
        let planner = planner(double_cap(64, 8));
        let (central, batches) = (epsilon(0.5), batches(20_000, 1e-8));
        let released = [19_999, 20_000, 39_999, 40_000, 50_000].map(|records| batches.released(records));
        assert_eq!(released, [0, 20_000, 20_000, 40_000, 40_000]);
        for target in [0.8, 0.1, 0.001] {
            let local = planner.local_epsilon(central, batches).unwrap().unwrap();
            let enough = planner.records_for(local, target).unwrap().unwrap();
            let goal = Goal { target: Some(target), shuffled: Some(batches), ..Default::default() };
            let found = planner.plan(central, &goal).unwrap().shuffled.unwrap().answers.records_for_target;
            let found = found.flatten().unwrap();
            assert!(
                found.is_multiple_of(20_000) && (enough..enough.max(1) + 20_000).contains(&found),
                "{enough} {found}"
            );
        }
        let kept = |records| planner.shuffled_epsilon_for(records, batches, 0.1).unwrap();
        assert_eq!(kept(59_999), kept(40_000));
        let goal = Goal { records: Some(39_999), shuffled: Some(batches), ..Default::default() };
        let found = planner.plan(central, &goal).unwrap().shuffled.unwrap();
        let local = found.local_epsilon.unwrap();
        assert_eq!(found.answers.predicted, Some(planner.predict(local, 20_000).unwrap()));
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
        let found = wide.local_epsilon(epsilon(1.0), batches(100_000_000_000, 1e-8)).unwrap().unwrap().value();
        assert!(!overflows(found) && overflows(found * (1.0 + 1e-4)) && overflows(16.0), "{found}");
        assert!((13.0..13.3).contains(&found), "{found}");
        // Nor is noise that is too large for its grid, at the very epsilon of the batch.
        let gaussian = planner(MechanismFamily::WangXu { delta: delta(1e-6) });
        let tiny = epsilon(1e-7);
        let refused = gaussian.mechanism(tiny);
        assert!(matches!(refused, Err(PredictionError::Mechanism(MechanismError::Grid { .. }))), "{refused:?}");
        assert_eq!(gaussian.local_epsilon(tiny, batches(1000, 1e-5)), Ok(None));
        // A target that never fits is an error, not an epsilon.
        let none = planner(double_cap(64, 64)).local_epsilon(epsilon(1.0), batches(1000, 1e-8));
        assert!(matches!(none, Err(PredictionError::Mechanism(MechanismError::Cap { .. }))), "{none:?}");
        let none = planner(double_cap(64, 8)).local_epsilon(epsilon(1.0), batches(0, 1e-8));
        assert_eq!(none, Err(PredictionError::Privacy(crate::privacy::PrivacyError::Reports(0))));
    }

    #[test]
    fn the_local_epsilon_is_the_largest_that_keeps_the_promise() {
        let planner = planner(double_cap(64, 8));
        let central = epsilon(0.5);
        let kept = |local: f64, records| {
            let loss = planner.mechanism(epsilon(local)).unwrap().privacy_loss();
            keeps(loss, records, central, delta(1e-8)).unwrap()
        };
        for records in [20_000, 1_000_000] {
            let local = planner.local_epsilon(central, batches(records, 1e-8)).unwrap().unwrap().value();
            assert!(local > 0.6 && kept(local, records) && !kept(local * (1.0 + 2e-4), records), "{records} {local}");
        }
        // One report hides among none, and the epsilon of the batch is its own; above 16 no other is looked for.
        assert_eq!(
            planner.local_epsilon(central, batches(1, 1e-8)).unwrap().map(|local| local < epsilon(0.5 * (1.0 + 2e-4))),
            Some(true)
        );
        assert_eq!(planner.local_epsilon(epsilon(18.0), batches(1000, 1e-8)), Ok(Some(epsilon(18.0))));
        assert_eq!(planner.local_epsilon(epsilon(4.0), batches(100_000_000_000, 1e-8)), Ok(Some(epsilon(16.0))));
    }
}
