//! From the guarantee that a batch shall have to that of each report.

use super::{Blanket, LARGEST_LOCAL, batch_delta, check_reports, closed_form_epsilon, gaussian_points, slack};
use crate::bisection::bisect;
use crate::privacy::composition::{Composition, PrivacyLoss};
use crate::privacy::{Delta, Epsilon, PrivacyError};

/// Whether [`amplify`](super::amplify) proves an epsilon of at most `central` for a batch of `reports` reports; the
/// same answer up to its search's last digits, with one evaluation in place of a search.
///
/// # Errors
/// [`PrivacyError::Reports`] without reports.
pub fn keeps(loss: PrivacyLoss, reports: u64, central: Epsilon, delta: Delta) -> Result<bool, PrivacyError> {
    check_reports(reports)?;
    let pure = |local: Epsilon, blanket: Blanket| {
        let closed = || closed_form_epsilon(local, reports, delta).is_some_and(|closed| closed <= central);
        Ok(batch_delta(blanket, reports, central)? <= delta.value() || closed())
    };
    let approximate = |local: Epsilon, own: Delta| {
        let added = slack(local, own, reports, central.value());
        if local <= central {
            return own <= delta;
        }
        local.value() <= LARGEST_LOCAL
            && added <= delta.value()
            && Blanket::from(local).delta(reports, central.value()) + added <= delta.value()
    };
    match loss {
        PrivacyLoss::Pure { epsilon } => pure(epsilon, Blanket::from(epsilon)),
        PrivacyLoss::Cap(cap) => pure(cap.epsilon(), Blanket::from(cap)),
        PrivacyLoss::Approximate { epsilon, delta: own } => Ok(approximate(epsilon, own)),
        PrivacyLoss::Gaussian { rho, total_variation } => {
            let mut alone = Composition::default();
            alone.add(loss, 1)?;
            Ok(alone.epsilon(Some(delta)).is_ok_and(|alone| alone.epsilon <= central)
                || gaussian_points(rho, total_variation, reports, delta).any(|(local, own)| approximate(local, own)))
        }
    }
}

/// The largest local epsilon found for which a batch of `reports` reports of *any* randomizer with it is
/// (`target`, `delta`)-private: the inverse of [`batch_epsilon`](super::batch_epsilon) with the [`Blanket`] of an
/// epsilon. It is at least `target`, which needs no batch.
///
/// # Errors
/// [`PrivacyError::Reports`] when there are none.
pub fn local_epsilon(target: Epsilon, delta: Delta, reports: u64) -> Result<Epsilon, PrivacyError> {
    check_reports(reports)?;
    if target.value() >= LARGEST_LOCAL {
        return Ok(target);
    }
    let enough = |local: f64| {
        let found = Epsilon::new(local).and_then(|local| batch_delta(Blanket::from(local), reports, target));
        found.is_ok_and(|found| found <= delta.value())
    };
    let low = bisect(LARGEST_LOCAL, target.value(), 50, enough);
    Epsilon::new(low)
}
