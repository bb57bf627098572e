//! What it takes to judge a collection: synthetic populations, trials, the answer without privacy, and an audit.
//! Nothing that runs a collection belongs here, and `ldp-pca` depends on none of it.
//!
//! - [`SpikedModel`] and [`LeisureSurvey`] draw records whose components are known, the first also a covariance as an
//!   aggregator would see it.
//! - [`Trial`] sends a population through the real mechanisms, record by record or by drawing the sums of the reports
//!   from their law, and measures the error of the recovered components.
//! - [`ProjectionComparison`] and [`SupportCounts`] compare components with the true ones, feature by feature.
//! - [`SecondMoment`] has the moments of records that somebody may see: the answer without privacy.
//! - [`audit`] tests the guarantee of a randomizer from its reports alone.

pub mod audit;
mod collection;
mod comparison;
mod drawn;
mod estimate;
mod like;
mod moments;
mod population;
mod second_moment;
mod survey;
mod trial;
mod waves;

pub use collection::{Collection, Estimate};
pub use comparison::{Projection, ProjectionComparison, SupportCounts};
pub use drawn::directions_mean;
pub use like::TrialLike;
pub use population::{PopulationError, SpikedModel, SpikedSpectrum};
pub use second_moment::SecondMoment;
pub use survey::LeisureSurvey;
pub use trial::{Recovered, RecoveryMethod, Reports, SimulationError, Trial, TrialResult, stream};
pub use waves::{TurnedSample, WavesResult, WavesTrial};
