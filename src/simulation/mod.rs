//! Simulations before anybody is asked for data: synthetic populations through the real mechanisms.

mod collection;
mod comparison;
mod drawn;
mod estimate;
mod moments;
mod population;
mod quantile;
mod survey;
mod trial;

pub use collection::{Collection, Estimate};
pub use comparison::{Projection, ProjectionComparison, SupportCounts};
#[doc(hidden)]
pub use drawn::directions_mean;
pub use estimate::SpikedEstimate;
pub use population::{PopulationError, SpikedModel, SpikedSpectrum};
pub use survey::LeisureSurvey;
pub use trial::{RecoveryMethod, Reports, SimulationError, Trial, TrialResult};
