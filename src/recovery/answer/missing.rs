//! The last part of an answer: what is missing, and why.

use core::fmt;

use serde::Serialize;

/// What was asked for and is missing.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Missing {
    /// The parts that time did not suffice for ([`Stop::OutOfTime`](super::Stop::OutOfTime)).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<Unfinished>,
}

/// A part of an answer that time did not suffice for.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Unfinished {
    /// The part.
    pub part: Part,
    /// How much of it was done: problems, iterations, methods, replicates, records.
    pub done: u64,
    /// How much there was to do; none where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
}

/// The parts of an answer that may take long.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Confirming the rank on reports held out: where it is unfinished, nothing is confirmed.
    Rank,
    /// Cross-validation of the penalty: where it is unfinished, the penalty is that of `auto`.
    Penalty,
    /// Comparing methods on reports held out: where it is unfinished, the components are those that were asked for, or
    /// plain ones.
    HeldOut,
    /// The sparse solution: where it is unfinished, its certified gap is wider than asked for.
    Solution,
    /// The sequence of penalties.
    Path,
    /// Simpler methods on the same estimate.
    Baselines,
    /// The interval of the error: where it is unfinished, it is of fewer replicates, or missing below 20.
    Bootstrap,
    /// The comparison with a reference.
    Reference,
    /// The comparison with another collection: where it is unfinished, the p-value is of fewer replicates, or missing
    /// below 20.
    Other,
}

/// The key for programs, on every interface.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
