//! Errors of the problem and its solvers.

use thiserror::Error;

use crate::figure::figure;
use crate::linalg::EigenError;

/// Reasons why no components could be found.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum FantopeError {
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
    /// The penalty is negative, infinite or not a number.
    #[error("penalty {} is not usable: pass a finite number of at least 0", figure(*.0))]
    InvalidPenalty(f64),
    /// Sums of entries or of penalties exceed the largest number.
    #[error(
        "the entries or the penalty are so large that their sums overflow: divide the matrix and the penalty by 1e10, \
         which changes no component"
    )]
    TooLarge,
    /// The noise level is negative, infinite or not a number.
    #[error("noise level {} is not usable: pass a finite standard deviation of at least 0", figure(*.0))]
    InvalidNoiseLevel(f64),
    /// A solver setting is out of range.
    #[error("setting `{name}` is {}: it must be {requirement}", figure(*value))]
    InvalidSetting {
        /// Name of the field.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The range it must lie in.
        requirement: &'static str,
    },
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
    #[error(
        "dual entry ({row}, {column}) is {}, beyond the penalty {}: clip the matrix to the penalty",
        figure(*value), figure(*penalty)
    )]
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

impl FantopeError {
    /// Accepts the shape of a `dimension × dimension` matrix.
    pub(crate) fn check_shape((rows, columns): (usize, usize), dimension: usize) -> Result<(), Self> {
        let fits = rows == dimension && columns == dimension;
        if fits { Ok(()) } else { Err(Self::ShapeMismatch { rows, columns, dimension }) }
    }

    /// Accepts a setting when the requirement on it holds.
    pub(crate) fn require(holds: bool, name: &'static str, value: f64, requirement: &'static str) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self::InvalidSetting { name, value, requirement }) }
    }
}

/// Reasons why a sequence of problems was not solved to its end.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum PathError {
    /// There is nothing to choose among.
    #[error("there are no penalties to try: give at least one")]
    NoPenalties,
    /// The progress callback asked to stop.
    #[error("cancelled after {solved} of {total} problems")]
    Cancelled {
        /// Problems solved.
        solved: usize,
        /// Problems in all.
        total: usize,
    },
    /// A problem could not be posed or solved.
    #[error(transparent)]
    Fantope(#[from] FantopeError),
}
