//! Principal components, dense or sparse, from a noisy covariance estimate.
//!
//! [`principal_components`] takes the leading eigenvectors. [`FantopeSolver`] solves the sparse problem of Vu, Cho, Lei
//! & Rohe (2013) over the Fantope, and certifies how close it came to the optimum: any matrix Z with entries up to the
//! penalty bounds it by the sum of the k largest eigenvalues of S - Z ([`FantopeProblem::dual_bound`]). Both are of the
//! crate [`fantope`], which knows nothing of reports and their noise:
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
//! or as given; [`solve_sequence`] shows what every penalty gives.
//!
//! [`answer()`] gives everything in one call, for every interface: components by either method, a path of penalties,
//! simpler methods to compare with, and what is known about their error.
//!
//! A rank or penalty that makes no sense cannot be built: `Rank::new(0)`, `Penalty::new(-1.0)` and their serialized
//! forms are errors.

pub(crate) mod answer;
pub(crate) mod bootstrap;
pub(crate) mod change;
pub(crate) mod denoise;
pub(crate) mod feature_test;
pub(crate) mod held_out;
pub(crate) mod penalty;
pub(crate) mod rank_test;
pub(crate) mod support;

pub use crate::family::{FamilyError, Reports};
pub(crate) use answer::components_of_waves;
pub use answer::{
    Answer, AnswerError, Asked, Baseline, Baselines, ComponentInterval, Confidence, Found, HeldOutUse, MeanAnswer,
    Missing, Part, Question, SparseAnswer, Step, Stop, Trust, Unfinished, Watch, When, answer,
};
pub use bootstrap::{BootstrapError, Interval};
pub(crate) use change::{Change, ChangeError};
pub use fantope::{
    Certificate, Components, DEFAULT_PENALTY_FACTOR, DualMatrix, FantopeError, FantopeProblem, FantopeProjection,
    FantopeSolution, FantopeSolver, HistoryEntry, PathError, PathPoint, Penalty, Progress, Rank, SequenceProgress,
    SolverSettings, SolverStatus, default_penalty, default_penalty_sequence, penalty_sequence, principal_components,
    project_onto_fantope, soft_threshold, solve_sequence, sparse_noise_edge,
};
pub(crate) use feature_test::FeatureTest;
pub use held_out::Method;
pub(crate) use held_out::{Fit, HeldOut, Measured};
pub(crate) use penalty::CROSS_VALIDATION_FACTORS;
pub use penalty::{CrossValidationPoint, PenaltyChoice, PenaltyError};
pub(crate) use rank_test::RankTest;

use thiserror::Error;

use crate::linalg::EigenError;

/// The most features for which all eigenvalues are computed without being asked for: beyond, that takes longer than a
/// sparse solution.
const DECOMPOSED: usize = 2_000;

/// Reasons why no components could be recovered.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum RecoveryError {
    /// No component stands out from the noise.
    #[error(
        "no component stands out from the noise: the first has p = {p_value:.3}, and less than {level} is needed; \
         collect more reports, or raise epsilon"
    )]
    NoComponent {
        /// The p-value of the first.
        p_value: f64,
        /// The level that it must be below.
        level: f64,
    },
    /// Eigenvalues about an estimated mean, whose noise is not the same in all directions, are not shrunk.
    #[error("eigenvalues about an estimated mean are not shrunk: denoise with 'psd' or 'none' with centring")]
    NoLaw,
    /// A rank, a penalty, a setting or a matrix that nothing can be computed from, or a decomposition that failed.
    #[error(transparent)]
    Fantope(#[from] FantopeError),
}

impl From<EigenError> for RecoveryError {
    fn from(error: EigenError) -> Self {
        Self::Fantope(error.into())
    }
}
