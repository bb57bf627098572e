//! The estimate that a recovery method gives to a bootstrap, with its checks.

use nalgebra::DMatrix;

use crate::law::NoiseError;
use crate::recovery::{Components, FantopeSolution, RecoveryError};
use crate::subspace::{Subspace, SubspaceError};

/// The fewest replicates that are accepted: with fewer, not even a 90 % interval has a replicate outside.
pub const FEWEST_REPLICATES: usize = 20;

/// The result of a recovery method for an estimate.
#[derive(Clone, Debug, PartialEq)]
pub struct SubspaceEstimate {
    /// Orthonormal components, `d × k`, column-major, most variance first.
    pub components: DMatrix<f64>,
    /// The rows that the method allows to be nonzero, ascending from 0; all of them for a dense method.
    pub support: Vec<usize>,
}

impl From<Components> for SubspaceEstimate {
    fn from(components: Components) -> Self {
        Self { support: (0..components.vectors.nrows()).collect(), components: components.vectors }
    }
}

impl From<FantopeSolution> for SubspaceEstimate {
    fn from(solution: FantopeSolution) -> Self {
        Self { components: solution.components, support: solution.support }
    }
}

/// The subspace of an estimator's answer, if it is one of this dimension with a support inside it.
pub(super) fn check_estimate(estimate: &SubspaceEstimate, dimension: usize) -> Result<Subspace, BootstrapError> {
    let subspace = Subspace::new(&estimate.components)?;
    let in_order = estimate.support.windows(2).all(|pair| pair[0] < pair[1]);
    if subspace.dimension() != dimension || !in_order || estimate.support.last().is_some_and(|&row| row >= dimension) {
        return Err(BootstrapError::Estimator { found: subspace.dimension(), dimension });
    }
    Ok(subspace)
}

/// Reasons why there is no bootstrap, or no interval from it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BootstrapError {
    /// Too few replicates.
    #[error("{0} replicates are too few: ask for at least {FEWEST_REPLICATES}, better 200 or more")]
    Replicates(usize),
    /// The callback asked to stop too early.
    #[error("cancelled after {0} replicates, fewer than the {FEWEST_REPLICATES} that an interval needs")]
    Cancelled(usize),
    /// The level is not a probability.
    #[error("level {0} is not usable: pass a number between 0 and 1, such as 0.95")]
    Level(f64),
    /// Everything is recovered, without error.
    #[error("{0} components of {0} features are the whole space, which has no error: ask for fewer components")]
    FullRank(usize),
    /// The estimator returned another number of components than for the estimate.
    #[error("the estimator returned {now} components where it returned {first} before: it must keep the rank")]
    RankChanged {
        /// For the estimate.
        first: usize,
        /// For a replicate.
        now: usize,
    },
    /// The estimator did not return components and an ascending support.
    #[error(
        "the estimator returned components of {found} rows, or a support that is not ascending below {dimension}: \
         it must return {dimension} rows and the indices of those in the support"
    )]
    Estimator {
        /// Rows returned.
        found: usize,
        /// The number of features.
        dimension: usize,
    },
    /// Recovery failed.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// The components returned span nothing.
    #[error(transparent)]
    Subspace(#[from] SubspaceError),
    /// The law does not fit the estimate.
    #[error(transparent)]
    Noise(#[from] NoiseError),
}
