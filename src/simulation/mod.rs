//! Simulations before a collection: synthetic populations through the real mechanisms.

mod collection;
mod comparison;
mod drawn;
mod estimate;
mod like;
mod moments;
mod population;
mod survey;
mod trial;
mod waves;

pub use collection::{Collection, Estimate};
pub use comparison::{Projection, ProjectionComparison, SupportCounts};
#[doc(hidden)]
pub use drawn::directions_mean;
pub use estimate::SpikedEstimate;
#[doc(hidden)]
pub use like::TrialLike;
pub use population::{PopulationError, SpikedModel, SpikedSpectrum};
pub use survey::LeisureSurvey;
pub use trial::{RecoveryMethod, Reports, SimulationError, Trial, TrialResult};
#[doc(hidden)]
pub use waves::{Asked, TurnedSample, WavesResult, WavesTrial};
