//! The predicted error of double-cap on records in the unit ball. It shows whether a local method can recover the
//! components of a paper's setting at all.

use super::ExperimentError;
use ldp_pca::error::Error;
use ldp_pca::mechanism::MechanismFamily;
use ldp_pca::prediction::{Planner, Prediction, Spectrum};
use ldp_pca::privacy::Epsilon;
use ldp_pca::record::{Bounding, Radius};
use ldp_pca::recovery::Rank;

/// Records that are cut to the unit ball.
pub(super) fn unit_ball() -> Result<Bounding, ExperimentError> {
    Ok(Bounding::Clip { radius: Radius::new(1.0).map_err(Error::from)? })
}

/// The error of the leading `rank` components, and the eigenvalue above which one is recovered, with the recommended
/// number of candidates and the best cap.
pub(super) fn double_cap_prediction(
    spectrum: &Spectrum,
    rank: Rank,
    records: u64,
    epsilon: Epsilon,
) -> Result<Prediction, ExperimentError> {
    let family = MechanismFamily::DoubleCap { candidates: None, cap: None };
    Ok(Planner::new(spectrum.clone(), rank, family, unit_ball()?)?.predict(epsilon, records)?)
}

/// "above" or "below".
pub(super) fn side(eigenvalue: f64, threshold: f64) -> &'static str {
    if eigenvalue > threshold { "above" } else { "below" }
}
