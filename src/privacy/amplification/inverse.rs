//! From the guarantee that a batch shall have to whether its reports keep it.

use super::{Blanket, LARGEST_LOCAL, batch_delta, check_reports, gaussian_points, slack};
use crate::privacy::composition::{Composition, PrivacyLoss};
use crate::privacy::{Delta, Epsilon, PrivacyError};

/// Whether [`amplify`](super::amplify) proves an epsilon of at most `central` for a batch of `reports` reports; the
/// same answer up to its search's last digits, with one evaluation in place of a search.
///
/// # Errors
/// [`PrivacyError::Reports`] without reports.
pub fn keeps(loss: PrivacyLoss, reports: u64, central: Epsilon, delta: Delta) -> Result<bool, PrivacyError> {
    check_reports(reports)?;
    let pure = |blanket: Blanket| batch_delta(blanket, reports, central).map(|found| found <= delta.value());
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
        PrivacyLoss::Pure { epsilon } => pure(epsilon.into()),
        PrivacyLoss::Cap(cap) => pure(cap.into()),
        PrivacyLoss::Approximate { epsilon, delta: own } => Ok(approximate(epsilon, own)),
        PrivacyLoss::Gaussian { rho, total_variation } => {
            let mut alone = Composition::default();
            alone.add(loss, 1)?;
            Ok(alone.epsilon(Some(delta)).is_ok_and(|alone| alone.epsilon <= central)
                || gaussian_points(rho, total_variation, reports, delta).any(|(local, own)| approximate(local, own)))
        }
    }
}
