//! Principal components, dense or sparse, from a noisy covariance estimate.
//!
//! [`principal_components`] takes the leading eigenvectors. [`FantopeSolver`] solves the sparse problem of Vu, Cho, Lei
//! & Rohe (2013) over the Fantope, and certifies how close it came to the optimum. [`solve_admm`] is Algorithm 2 of
//! Wang & Xu (2019), the reference of tests and research:
//!
//! ```
//! use ldp_pca::recovery::{FantopeProblem, FantopeSolver, Penalty, Rank, SolverSettings};
//! use nalgebra::DMatrix;
//!
//! // One component on rows 0 and 1; the rest is noise of size 0.1.
//! let estimate = DMatrix::from_row_slice(3, 3, &[1.0, 0.9, 0.1, 0.9, 1.0, -0.1, 0.1, -0.1, 0.2]);
//! let problem = FantopeProblem::new(&estimate, Rank::new(1)?, Penalty::new(0.15)?)?;
//! let solver = FantopeSolver::new(SolverSettings { tolerance: 1e-8, ..SolverSettings::default() })?;
//! let solution = solver.solve(&problem)?;
//! assert_eq!(solution.support, [0, 1]);
//! assert!(solution.relative_gap <= 1e-8);
//! # Ok::<(), ldp_pca::recovery::RecoveryError>(())
//! ```
//!
//! [`PenaltyChoice`] sets the penalty: from the known noise level, by cross-validation over the folds of an aggregate,
//! or as given; [`PenaltyPath`] shows what every penalty gives.
//!
//! [`RankTest`] finds how many components stand out from the noise, with a p-value for each.
//!
//! [`answer()`] gives everything in one call, for every interface: components by either method, a path of penalties,
//! simpler methods to compare with, and what is known about their error.
//!
//! A rank or penalty that makes no sense cannot be built: `Rank::new(0)`, `Penalty::new(-1.0)` and their serialized
//! forms are errors.

mod admm;
mod answer;
mod bootstrap;
mod change;
mod closed_form;
mod denoise;
mod fantope;
mod feature_test;
mod held_out;
mod method;
mod outcome;
mod pca;
mod penalty;
mod rank_test;
mod refined;
mod scaled;
mod solver;
mod support;
#[cfg(test)]
mod tests;

#[doc(hidden)]
pub use admm::{AdmmSettings, solve_admm};
pub use answer::{
    Answer, AnswerError, Baseline, Baselines, ComponentInterval, Confidence, MeanAnswer, Question, ScoredPenalty,
    SparseAnswer, answer,
};
#[doc(hidden)]
pub use answer::{
    Decomposition, HeldOutUse, Part, Reference, ReferenceAnswer, ReferenceComparison, Solver, Source, Step, Stop,
    ThresholdedAnswer, Unfinished, Watch, When, components,
};
#[doc(hidden)]
pub use bootstrap::FEWEST_REPLICATES;
pub use bootstrap::{
    Bootstrap, BootstrapError, BootstrapProgress, ComponentConfidence, Interval, SubspaceEstimate, bootstrap,
};
#[doc(hidden)]
pub use change::{Change, ChangeError, HeldOutChange, change, check_change};
pub(crate) use denoise::split_spectrum;
#[doc(hidden)]
pub use denoise::{Denoised, Denoising, project_psd};
pub use denoise::{Loss, denoise};
pub use fantope::FantopeProblem;
#[doc(hidden)]
pub use fantope::{FantopeProjection, dual_bound, project_onto_fantope, soft_threshold};
#[doc(hidden)]
pub use feature_test::FeatureTest;
#[doc(hidden)]
pub use held_out::{Fit, HeldOut, HeldOutAnswer, Measured};
pub use method::Method;
#[doc(hidden)]
pub use outcome::{Certificate, DualMatrix, HistoryEntry};
pub use outcome::{FantopeSolution, Progress, SolverStatus};
pub use pca::{Components, principal_components};
#[doc(hidden)]
pub use penalty::{
    CROSS_VALIDATION_FACTORS, CrossValidation, CrossValidationPoint, DEFAULT_PENALTY_FACTOR, PathPoint, PenaltyPath,
    SequenceProgress, cross_validate, default_penalty, sparse_noise_edge,
};
pub use penalty::{PenaltyChoice, PenaltyError, PenaltySelection};
#[doc(hidden)]
pub use rank_test::{RankTest, TestedComponent};
pub(crate) use refined::{CLIPS, across, clipping, gap, weights};
#[doc(hidden)]
pub use refined::{
    FirstWave, FoundErrors, OF_FIRST_WAVE, PublicSample, RefineError, RefinedFacts, SamplePlan, SecondTask, SecondWave,
    WaveDesign, refined_answer, refinement_of,
};
pub use solver::{FantopeSolver, SolverSettings};
#[doc(hidden)]
pub use support::{FoundSupport, SupportConditions};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::linalg::EigenError;

/// Number `k ≥ 1` of components asked for.
///
/// ```
/// use ldp_pca::Rank;
/// assert_eq!(Rank::new(3)?.value(), 3);
/// assert!(Rank::new(0).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "usize", into = "usize")]
pub struct Rank(usize);

impl Rank {
    /// Accepts every number from 1.
    ///
    /// # Errors
    ///
    /// [`RecoveryError::ZeroRank`].
    pub fn new(rank: usize) -> Result<Self, RecoveryError> {
        if rank == 0 { Err(RecoveryError::ZeroRank) } else { Ok(Self(rank)) }
    }

    /// The number of components.
    pub fn value(self) -> usize {
        self.0
    }

    /// Accepts the rank when a space of this dimension has that many components.
    ///
    /// # Errors
    ///
    /// [`RecoveryError::RankExceedsDimension`].
    #[doc(hidden)]
    pub fn check(self, dimension: usize) -> Result<(), RecoveryError> {
        if self.0 <= dimension { Ok(()) } else { Err(RecoveryError::RankExceedsDimension { rank: self.0, dimension }) }
    }
}

impl TryFrom<usize> for Rank {
    type Error = RecoveryError;

    fn try_from(rank: usize) -> Result<Self, RecoveryError> {
        Self::new(rank)
    }
}

impl From<Rank> for usize {
    fn from(rank: Rank) -> usize {
        rank.0
    }
}

/// Weight of the entrywise `l1` norm in the sparse problem, finite and at least 0, in the units of the covariance.
///
/// ```
/// use ldp_pca::Penalty;
/// assert_eq!(Penalty::new(0.1)?.value(), 0.1);
/// assert!(Penalty::new(-0.1).is_err());
/// assert!(Penalty::new(f64::NAN).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Penalty(f64);

impl Penalty {
    /// No penalty: the sparse problem becomes ordinary principal components.
    pub const ZERO: Self = Self(0.0);

    /// Accepts every finite number from 0.
    ///
    /// # Errors
    ///
    /// [`RecoveryError::InvalidPenalty`].
    pub fn new(penalty: f64) -> Result<Self, RecoveryError> {
        if penalty.is_finite() && penalty >= 0.0 {
            // Adding 0 turns −0 into 0.
            Ok(Self(penalty + 0.0))
        } else {
            Err(RecoveryError::InvalidPenalty { penalty })
        }
    }

    /// The weight.
    pub fn value(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Penalty {
    type Error = RecoveryError;

    fn try_from(penalty: f64) -> Result<Self, RecoveryError> {
        Self::new(penalty)
    }
}

impl From<Penalty> for f64 {
    fn from(penalty: Penalty) -> f64 {
        penalty.0
    }
}

/// Reasons why no components could be recovered.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum RecoveryError {
    /// No component was asked for.
    #[error("rank 0 asks for nothing: ask for at least 1 component")]
    ZeroRank,
    /// More components were asked for than there are dimensions.
    #[error("rank {rank} exceeds the dimension {dimension}: ask for at most {dimension} components")]
    RankExceedsDimension {
        /// The rank asked for.
        rank: usize,
        /// The dimension of the matrix.
        dimension: usize,
    },
    /// No component stands out from the noise.
    #[error(
        "no component stands out from the noise: the first has p = {p_value:.3}, and less than {level} is needed; \
         collect more reports, or raise epsilon (`ldp-pca plan` says how many, and how far)"
    )]
    NoComponent {
        /// The p-value of the first.
        p_value: f64,
        /// The level that it must be below.
        level: f64,
    },
    /// The penalty is negative, infinite or not a number.
    #[error("penalty {penalty} is not usable: pass a finite number of at least 0")]
    InvalidPenalty {
        /// The penalty passed.
        penalty: f64,
    },
    /// The noise level is negative, infinite or not a number.
    #[error("noise level {noise_level} is not usable: pass a finite standard deviation of at least 0")]
    InvalidNoiseLevel {
        /// The noise level passed.
        noise_level: f64,
    },
    /// A solver setting is out of range.
    #[error("setting `{name}` is {value}: it must be {requirement}")]
    InvalidSetting {
        /// Name of the field.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The range it must lie in.
        requirement: &'static str,
    },
    /// Eigenvalues about an estimated mean, whose noise is not the same in all directions, are not shrunk.
    #[error("eigenvalues about an estimated mean are not shrunk: denoise with 'psd' or 'none' with centring")]
    NoLaw,
    /// Two matrices that must have the same shape do not.
    #[error("the matrix is {rows} × {columns} where {dimension} × {dimension} is needed: pass one of that shape")]
    ShapeMismatch {
        /// Rows of the matrix passed.
        rows: usize,
        /// Columns of the matrix passed.
        columns: usize,
        /// The dimension needed.
        dimension: usize,
    },
    /// The solution to start from is not one of such a problem.
    #[error("the start is not a solution of dimension {dimension} and rank {rank}: pass one as a solver returned it")]
    OtherStart {
        /// The dimension of the problem.
        dimension: usize,
        /// Its rank.
        rank: usize,
    },
    /// A dual matrix has an entry larger than the penalty, so it bounds nothing.
    #[error("dual entry ({row}, {column}) is {value}, beyond the penalty {penalty}: clip the matrix to the penalty")]
    DualInfeasible {
        /// Row of the first such entry, from 0.
        row: usize,
        /// Column of the first such entry, from 0.
        column: usize,
        /// The entry.
        value: f64,
        /// The largest magnitude allowed.
        penalty: f64,
    },
    /// The matrix is not a finite symmetric one, or its eigendecomposition failed.
    #[error(transparent)]
    Eigen(#[from] EigenError),
}

impl RecoveryError {
    /// Accepts a setting when the requirement on it holds.
    fn require(holds: bool, name: &'static str, value: f64, requirement: &'static str) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self::InvalidSetting { name, value, requirement }) }
    }
}
