//! Choice of the penalty: from the known noise level, by cross-validation over folds, or from a whole path.
//!
//! ```
//! use ldp_pca::recovery::{SolverSettings, Penalty, PenaltyPath, Rank};
//! use nalgebra::DMatrix;
//! use std::ops::ControlFlow;
//!
//! // One component on rows 0 and 1; the rest is noise of size 0.1.
//! let estimate = DMatrix::from_row_slice(3, 3, &[1.0, 0.9, 0.1, 0.9, 1.0, 0.1, 0.1, 0.1, 0.2]);
//! let penalties = PenaltyPath::penalties(&estimate, Penalty::new(0.05)?, 3)?;
//! let path = PenaltyPath::solve(&estimate, Rank::new(1)?, &penalties, &SolverSettings::default(), &mut |_| {
//!     ControlFlow::Continue(())
//! })?;
//! // From one row, where the penalty equals the largest off-diagonal entry, to all of them.
//! let sizes: Vec<usize> = path.points().iter().map(|point| point.support.len()).collect();
//! assert_eq!(sizes, [1, 2, 3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cross_validation;
mod error;
mod level;
mod path;
mod sequence;

pub use cross_validation::{CrossValidation, CrossValidationPoint, cross_validate};
pub use error::PenaltyError;
pub use level::{CROSS_VALIDATION_FACTORS, DEFAULT_PENALTY_FACTOR, default_penalty, sparse_noise_edge};
pub use path::{PathPoint, PenaltyPath};
pub(in crate::recovery) use sequence::Sequence;
pub use sequence::SequenceProgress;

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::{Penalty, Rank, SolverSettings};
use crate::aggregate::Aggregate;
use crate::covariance::Covariance;
use crate::family::Reports;
use crate::task::Task;

use self::cross_validation::cross_validate_reports;

/// The widest gap at which a sequence stops: scores and sizes of supports need no more digits.
const SEQUENCE_TOLERANCE: f64 = 1e-4;

impl SolverSettings {
    /// These settings for [`cross_validate`] and a [`PenaltyPath`], which need no narrower gap than 1e-4.
    #[must_use]
    #[doc(hidden)]
    pub fn for_sequence(self) -> Self {
        Self { tolerance: self.tolerance.max(SEQUENCE_TOLERANCE), ..self }
    }
}

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

/// A penalty, and how it was chosen.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PenaltySelection {
    /// The penalty for the estimate of all folds together.
    pub penalty: Penalty,
    /// The scores, where cross-validation chose.
    pub cross_validation: Option<CrossValidation>,
}

impl PenaltyChoice {
    /// Cross-validation among the [`CROSS_VALIDATION_FACTORS`].
    #[must_use]
    #[doc(hidden)]
    pub fn cross_validated() -> Self {
        Self::CrossValidated { factors: CROSS_VALIDATION_FACTORS.to_vec() }
    }

    /// The key for programs: `auto`, `cv` or `value`.
    #[must_use]
    #[doc(hidden)]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Auto { .. } => "auto",
            Self::CrossValidated { .. } => "cv",
            Self::Value(_) => "value",
        }
    }

    /// Finds the penalty for `covariance`, the estimate of the whole aggregate.
    ///
    /// The aggregate with its folds, `settings` and `progress` serve cross-validation;
    /// the other choices solve nothing.
    ///
    /// # Errors
    ///
    /// [`PenaltyError`]: as [`default_penalty`] and [`cross_validate`].
    pub fn select(
        &self,
        covariance: &Covariance,
        aggregate: &Aggregate,
        task: &Task,
        rank: Rank,
        settings: &SolverSettings,
        progress: &mut dyn FnMut(&SequenceProgress) -> ControlFlow<()>,
    ) -> Result<PenaltySelection, PenaltyError> {
        self.select_for(covariance, Reports::one(aggregate, task), rank, settings, progress)
    }

    /// Finds the penalty for `covariance`, the estimate from the reports of one task or of a family.
    ///
    /// # Errors
    /// As [`PenaltyChoice::select`].
    pub(in crate::recovery) fn select_for(
        &self,
        covariance: &Covariance,
        reports: Reports<'_>,
        rank: Rank,
        settings: &SolverSettings,
        progress: &mut dyn FnMut(&SequenceProgress) -> ControlFlow<()>,
    ) -> Result<PenaltySelection, PenaltyError> {
        match self {
            Self::Value(penalty) => Ok(PenaltySelection { penalty: *penalty, cross_validation: None }),
            Self::Auto { factor } => {
                let penalty = default_penalty(covariance.noise_deviation(), reports.task().dimension(), *factor)?;
                Ok(PenaltySelection { penalty, cross_validation: None })
            }
            Self::CrossValidated { factors } => {
                let scores = cross_validate_reports(reports, rank, factors, settings, progress)?;
                Ok(PenaltySelection { penalty: scores.chosen().penalty, cross_validation: Some(scores) })
            }
        }
    }
}
