//! The one error that every stage's error converts into.

use crate::aggregate::AggregateError;
use crate::audit::AuditError;
use crate::covariance::CovarianceError;
use crate::mechanism::{MechanismError, RandomizeError};
use crate::noise::NoiseError;
use crate::prediction::PredictionError;
use crate::privacy::PrivacyError;
use crate::record::RecordError;
use crate::recovery::{BootstrapError, PenaltyError, RecoveryError};
use crate::report::ReportError;
use crate::sampling::EntropyError;
use crate::schema::SchemaError;
use crate::simulation::SimulationError;
use crate::subspace::SubspaceError;
use crate::task::TaskError;

/// Any error of the pipeline, by stage.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A privacy parameter.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// The schema, or a record under it.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A record's numbers.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A mechanism's parameters.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    /// A task document.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// Randomizing a record.
    #[error(transparent)]
    Randomize(#[from] RandomizeError),
    /// The source of randomness.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// A report's bytes.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// An aggregate.
    #[error(transparent)]
    Aggregate(#[from] AggregateError),
    /// Debiasing.
    #[error(transparent)]
    Covariance(#[from] CovarianceError),
    /// Recovering components.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// Choosing a penalty.
    #[error(transparent)]
    Penalty(#[from] PenaltyError),
    /// The law of the estimate.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// Predicting the error of components.
    #[error(transparent)]
    Prediction(#[from] PredictionError),
    /// Bootstrapping the error of components.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// Comparing subspaces.
    #[error(transparent)]
    Subspace(#[from] SubspaceError),
    /// Simulating a collection.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// Auditing a randomizer.
    #[error(transparent)]
    Audit(#[from] AuditError),
}
