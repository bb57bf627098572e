//! Choice of the penalty: from the known noise level, by cross-validation over folds, or as given.

mod cross_validation;

pub use cross_validation::{CrossValidationPoint, cross_validate};

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{
    DEFAULT_PENALTY_FACTOR, PathError, Penalty, Rank, RecoveryError, SequenceProgress, SolverSettings, default_penalty,
};
use crate::covariance::{Covariance, CovarianceError};
use crate::family::Reports;

/// The factors `c` of `c τ √(ln d)` that are tried by default, ordinary principal components (0) among them.
pub const CROSS_VALIDATION_FACTORS: [f64; 9] = [0.0, 0.125, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0];

/// The rule that sets the penalty of the sparse problem.
///
/// ```
/// use ldp_pca::{Penalty, PenaltyChoice};
/// // The default, which follows from the noise.
/// assert!(matches!(PenaltyChoice::default(), PenaltyChoice::Auto { .. }));
/// let known = PenaltyChoice::Value(Penalty::new(0.1)?);
/// assert_eq!(serde_json::to_string(&known)?, r#"{"value":0.1}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PenaltyChoice {
    /// Only from the noise level: [`default_penalty`] with this factor, usually [`DEFAULT_PENALTY_FACTOR`].
    Auto {
        /// The factor `c` of `c τ √(ln d)`.
        factor: f64,
    },
    /// The factor whose components capture most variance in folds that they were not found from: [`cross_validate`].
    CrossValidated {
        /// The factors to choose among, in any order, usually [`CROSS_VALIDATION_FACTORS`].
        factors: Vec<f64>,
    },
    /// This penalty, in the units of the covariance.
    Value(Penalty),
}

impl Default for PenaltyChoice {
    fn default() -> Self {
        Self::Auto { factor: DEFAULT_PENALTY_FACTOR }
    }
}

/// A penalty, and the scores where cross-validation chose it.
pub(super) type SelectedPenalty = (Penalty, Option<Vec<CrossValidationPoint>>);

impl PenaltyChoice {
    /// Cross-validation among the [`CROSS_VALIDATION_FACTORS`].
    #[must_use]
    pub fn cross_validated() -> Self {
        Self::CrossValidated { factors: CROSS_VALIDATION_FACTORS.to_vec() }
    }

    /// The key for programs: `auto`, `cv` or `value`.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Auto { .. } => "auto",
            Self::CrossValidated { .. } => "cv",
            Self::Value(_) => "value",
        }
    }

    /// Finds the penalty for `covariance`, the estimate from all these reports, and the scores, largest penalty first,
    /// where cross-validation chose.
    ///
    /// The reports with their folds, `settings` and `progress` serve cross-validation; the other choices solve nothing.
    ///
    /// # Errors
    ///
    /// [`PenaltyError`]: as [`default_penalty`] and [`cross_validate`].
    pub fn select(
        &self,
        covariance: &Covariance,
        reports: Reports<'_>,
        rank: Rank,
        settings: &SolverSettings,
        progress: &mut dyn FnMut(&SequenceProgress) -> ControlFlow<()>,
    ) -> Result<(Penalty, Option<Vec<CrossValidationPoint>>), PenaltyError> {
        match self {
            Self::Value(penalty) => Ok((*penalty, None)),
            Self::Auto { factor } => {
                Ok((default_penalty(covariance.noise_deviation(), reports.task().dimension(), *factor)?, None))
            }
            Self::CrossValidated { factors } => {
                let scores = cross_validate(reports, rank, factors, settings, progress)?;
                let chosen = scores.iter().find(|point| point.chosen).ok_or(PathError::NoPenalties)?;
                Ok((chosen.penalty, Some(scores)))
            }
        }
    }
}

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
