//! What to expect before anybody is asked for data: synthetic populations through the real mechanisms.

mod estimate;
mod population;
mod survey;
mod trial;

pub use estimate::SpikedEstimate;
pub use population::{PopulationError, SpikedModel};
pub use survey::LeisureSurvey;
pub use trial::{RecoveryMethod, SimulationError, Trial, TrialResult};
