//! The same questions for anonymised batches: epsilon is then a promise about the batch, and every report may carry
//! more of it.
//!
//! A *central* (epsilon, delta) is fixed. If reports are shuffled (see [`amplification`](crate::privacy::amplification)
//! for who must be trusted with that), each may be randomized with a local epsilon0 above it: the largest for which the
//! batch of n reports still has the central guarantee. It rises with n, and the error falls with both, so that n and
//! epsilon0 are found together.

use super::plan::epsilon;
use super::{Planner, PredictionError};
use crate::mechanism::{LocalRandomizer, MechanismError};
use crate::privacy::amplification::{BatchGuarantee, amplify, keeps};
use crate::privacy::{Delta, Epsilon};

/// The largest local epsilon that is considered: from it on double-cap's weights do not fit.
const MOST_LOCAL: f64 = 16.0;

/// How far a local epsilon may be below the largest possible one, relative to it.
const TOLERANCE: f64 = 1e-4;

/// More reports than the amplification is computed for are no answer.
const MOST_RECORDS: u64 = 100_000_000_000;

/// Reports of a shuffled collection, and what each of them may promise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShuffledRecords {
    /// The number of reports.
    pub records: u64,
    /// The local epsilon of every report in so large a batch.
    pub local_epsilon: Epsilon,
}

impl Planner {
    /// The largest local epsilon found (to a ten-thousandth, rounded down) at which a shuffled batch of `records` reports
    /// keeps the `central` epsilon with `delta`; at least `central` itself where a report may promise that. `None` when
    /// even a report at `central` does not keep it, as with a delta of its own that is above `delta`.
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
        (mut low, mut high): (f64, f64),
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
        Ok(Some(epsilon(low)?))
    }

    /// The number of reports, within a hundredth above the least, with which a shuffled collection that keeps the `central`
    /// epsilon with `delta` reaches `target`, and the local epsilon that they may have. `None` when 10^11 are not enough.
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
        let mut found = ShuffledRecords { records: most, local_epsilon };
        if !reached(found)? {
            return Ok(None);
        }
        // Fewer reports hide less: the local epsilon is between those of the ends.
        let (mut low, mut least) = (1, central.value());
        while found.records - low > 1 + found.records / 100 {
            let middle = ((low as f64) * (found.records as f64)).sqrt() as u64;
            let records = middle.clamp(low + 1, found.records - 1);
            let range = (least, found.local_epsilon.value());
            let Some(local_epsilon) = self.local_epsilon_between(central, delta, records, range)? else {
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
        Ok(Some(found))
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
