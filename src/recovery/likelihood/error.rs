//! What a likelihood pass refuses.

use thiserror::Error;

use super::MOST_FEATURES;
use crate::aggregate::AggregateError;
use crate::covariance::CovarianceError;
use crate::recovery::RecoveryError;

/// Why there is no likelihood pass.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum LikelihoodError {
    /// Another mechanism.
    #[error(
        "a likelihood pass needs reports of the double-cap mechanism, and this task has another one: leave it out \
         (Gaussian reports have nothing to gain: their sums say all that they say about a component)"
    )]
    Mechanism,
    /// The task of a second wave.
    #[error("a likelihood pass needs reports of a first wave, and this task is that of a second one: leave it out")]
    Refinement,
    /// Centring.
    #[error(
        "a likelihood pass is of components about zero, and this task has centring: leave it out, or collect with a \
         task without centring"
    )]
    Centring,
    /// Too many features.
    #[error("a likelihood pass takes at most {MOST_FEATURES} features, and the task has {0}: leave it out")]
    Features(usize),
    /// All components were asked for.
    #[error("{0} components of as many features leave no direction to turn to: ask for fewer, or leave it out")]
    FullRank(usize),
    /// Other reports than those that the linear estimate is of.
    #[error("{stored} reports are stored and {summed} summed: store those that the estimate is of")]
    OtherReports {
        /// The number stored.
        stored: u64,
        /// The number in the sums.
        summed: u64,
    },
    /// The estimate.
    #[error(transparent)]
    Covariance(#[from] CovarianceError),
    /// The sums of folds.
    #[error(transparent)]
    Aggregate(#[from] AggregateError),
    /// The components.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
}

impl LikelihoodError {
    /// Whether another option is the remedy, and not other reports.
    #[must_use]
    pub fn is_of_an_option(&self) -> bool {
        matches!(self, Self::Mechanism | Self::Refinement | Self::Centring | Self::Features(_) | Self::FullRank(_))
    }
}
