//! Errors of mechanisms: parameters, records and payloads that are refused.

use crate::decimal::{Decimal, Scientific};
use crate::privacy::PrivacyError;
use crate::record::RecordError;
use crate::sampling::EntropyError;

/// Reasons why a mechanism cannot be built from its parameters.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MechanismError {
    /// A privacy parameter is out of range or unreachable.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// The paper's scale above the range of its theorem.
    #[error(
        "calibration 'paper' is for epsilon <= 1: with epsilon {} its scale really gives delta {} where {} is claimed; \
         use calibration 'analytic', which holds for every epsilon",
        Decimal(*epsilon), Scientific(*real_delta, 1), Decimal(*delta)
    )]
    PaperCalibration {
        /// The epsilon asked for.
        epsilon: f64,
        /// The delta claimed.
        delta: f64,
        /// The delta it would really give.
        real_delta: f64,
    },
    /// The noise does not fit the integer grid.
    #[error(
        "a noise deviation of {} does not fit the report's integer grid (1e-3 to 1e6): {remedy}", Scientific(*sigma, 3)
    )]
    Grid {
        /// The standard deviation.
        sigma: f64,
        /// The remedy.
        remedy: &'static str,
    },
    /// Delta is too small for the error of the sampler, summed over all entries.
    #[error(
        "delta {} is below twice the sampler's own error {} at this dimension: {remedy}",
        Decimal(*delta), Scientific(*error, 1)
    )]
    DeltaBelowSampler {
        /// The delta asked for.
        delta: f64,
        /// The sampler's total variation, weighted as it enters delta.
        error: f64,
        /// The remedy.
        remedy: String,
    },
    /// The numbers of candidates and of likelier candidates do not fit.
    #[error(
        "{candidates} candidates with a cap of {cap}: it needs 2 to {most} candidates, and a cap of at most a half and \
         at least a 1024th of them",
        most = super::cap::MAX_CANDIDATES
    )]
    Cap {
        /// J.
        candidates: u32,
        /// L.
        cap: u32,
    },
    /// The integer weights do not fit 64 bits.
    #[error("epsilon {} with a cap of {cap} overflows the 64-bit weights: use epsilon at most 16", Decimal(*epsilon))]
    Weights {
        /// Epsilon.
        epsilon: f64,
        /// L.
        cap: u32,
    },
    /// Epsilon is too small for the integer weights.
    #[error(
        "epsilon {} is too small for candidates, whose weights are multiples of 2^-32: use epsilon at least 1e-6",
        Decimal(*.0)
    )]
    EpsilonTooSmall(f64),
    /// `2^32 e^epsilon` is so near an integer that the arithmetic cannot decide on which side.
    #[error(
        "epsilon {} has a weight that is too near an integer to be computed exactly: change its last \
            digit", Decimal(*.0)
    )]
    UnknownWeight(f64),
    /// The mechanism of a refinement without its directions, or where a covariance is wanted.
    #[error("signed-cap is for the task of a refinement: on its own it says nothing about a covariance")]
    Refinement,
    /// The mechanism of lengths with what does not go with it.
    #[error("norm-cap goes with 'clip', and has half of at most 1024 candidates in its cap")]
    Norms,
    /// A mechanism about something else where a covariance is wanted.
    #[error("{name} is about {about}, not about a covariance: read them from its sums")]
    NoMoments {
        /// The mechanism's name.
        name: &'static str,
        /// What its reports are about, as a plural.
        about: &'static str,
    },
    /// Centring with a mechanism that has no second moments.
    #[error("{0} does not go with 'centring': leave it out")]
    Centring(&'static str),
    /// A delta for a mechanism that has none.
    #[error("delta does not go with {0}, whose delta is 0: leave it out")]
    NoDelta(&'static str),
    /// Candidates or a cap for a mechanism that has none.
    #[error("{parameter} goes with {name} only: leave it out")]
    NoCandidates {
        /// The parameter's name.
        parameter: &'static str,
        /// The name of the mechanism that has it.
        name: &'static str,
    },
    /// A dimension out of range.
    #[error("the dimension is {0}: it must be between 1 and {max}", max = crate::schema::MAX_DIMENSION)]
    Dimension(usize),
}

/// Reasons why a record was not randomized.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RandomizeError {
    /// The record does not fit the task.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// No randomness.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

/// A payload that no randomizer of the task can have produced, or hardly any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// Too short or too long.
    #[error("the payload has {found} bytes where those of the mechanism have {expected}: it is of another one")]
    Length {
        /// The length of the mechanism's payloads.
        expected: usize,
        /// The length of this one.
        found: usize,
    },
    /// A candidate index that does not exist.
    #[error("the report names candidate {index}, but the task has {candidates}")]
    CandidateOutOfRange {
        /// The index.
        index: u32,
        /// J.
        candidates: u32,
    },
    /// Entries that honest noise makes at most once in 2^40.
    #[error(
        "the report's entries have a square sum of {found}, and an honest one has at most {most}: randomize with the \
         task's own mechanism"
    )]
    Range {
        /// The sum of `(2 m + 1)^2` over the entries m.
        found: u64,
        /// The largest permitted sum.
        most: u64,
    },
}

impl PayloadError {
    /// Accepts a payload of the expected length.
    pub(super) fn check_length(expected: usize, payload: &[u8]) -> Result<(), Self> {
        let found = payload.len();
        if found == expected { Ok(()) } else { Err(Self::Length { expected, found }) }
    }
}
