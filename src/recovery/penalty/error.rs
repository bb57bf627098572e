//! Errors of choosing a penalty.

use thiserror::Error;

use crate::covariance::CovarianceError;
use crate::recovery::{PathError, RecoveryError};

/// Reasons why no penalty could be chosen, or no path solved.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum PenaltyError {
    /// The task keeps one sum of all reports.
    #[error(
        "cross-validation compares folds, and the task has {folds}: collect under a task with several folds, or take \
         the penalty from the noise level"
    )]
    TooFewFolds {
        /// Folds of the task.
        folds: usize,
    },
    /// No report fell into a fold.
    #[error(
        "fold {fold} of {folds} (counted from 0) has no reports to validate with: collect more reports, make a task \
         with fewer folds, or take the penalty from the noise level"
    )]
    EmptyFold {
        /// The fold, from 0.
        fold: usize,
        /// Folds of the task.
        folds: usize,
    },
    /// There are no penalties to choose among, or the progress callback asked to stop.
    #[error(transparent)]
    Path(PathError),
    /// A sum could not be debiased.
    #[error(transparent)]
    Covariance(#[from] CovarianceError),
    /// A problem could not be posed or solved.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
}

/// What the solver refused is an error of recovery, on a path too.
impl From<PathError> for PenaltyError {
    fn from(error: PathError) -> Self {
        match error {
            PathError::Fantope(error) => error.into(),
            other => Self::Path(other),
        }
    }
}
