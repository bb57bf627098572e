//! A method's trust assumption and its guarantee.

use core::fmt;

use serde::Serialize;

use ldp_pca::privacy::{Delta, Epsilon};

/// The parties that see unprotected records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// Only their owners: every report is private before it leaves the device.
    Local,
    /// Each provider sees its own people's records; the server and the other providers see noisy messages.
    Providers,
    /// One curator sees all records; readers of the result do not.
    Curator,
    /// The curator and, through the result, its readers: nothing is guaranteed.
    Everybody,
    /// No party sees records: the result does not depend on them.
    Nobody,
}

impl Trust {
    /// The parties that must be trusted, in a few words.
    #[must_use]
    pub fn who(self) -> &'static str {
        match self {
            Self::Local => "nobody",
            Self::Providers => "each provider, with its own people's records",
            Self::Curator => "the curator, with every record",
            Self::Everybody => "the curator and every reader of the result",
            Self::Nobody => "nobody: no record is read",
        }
    }

    /// The parties that must be trusted, in one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Local | Self::Nobody => "nobody",
            Self::Providers => "providers",
            Self::Curator => "curator",
            Self::Everybody => "everybody",
        }
    }
}

/// The neighbouring relation of a guarantee: pairs of sets of records that it hides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adjacency {
    /// Any record of a person in place of any other: the local model.
    AnyTwoRecords,
    /// Sets of the same size that differ in one record.
    ReplaceOne,
    /// Two sets, one of which has one more record.
    AddOrRemoveOne,
}

impl fmt::Display for Adjacency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AnyTwoRecords => "any two records",
            Self::ReplaceOne => "one record replaced",
            Self::AddOrRemoveOne => "one record more or less",
        })
    }
}

/// An epsilon and a delta (`None`: 0).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EpsilonDelta {
    /// The bound on the privacy loss.
    pub epsilon: Epsilon,
    /// The addition to every probability.
    pub delta: Option<Delta>,
}

impl EpsilonDelta {
    /// Epsilon with no delta.
    #[must_use]
    pub fn pure(epsilon: Epsilon) -> Self {
        Self { epsilon, delta: None }
    }

    /// Epsilon and delta.
    #[must_use]
    pub fn approximate(epsilon: Epsilon, delta: Delta) -> Self {
        Self { epsilon, delta: Some(delta) }
    }

    /// Delta as a number, 0 for `None`.
    #[must_use]
    pub fn delta_value(&self) -> f64 {
        self.delta.map_or(0.0, Delta::value)
    }
}

impl fmt::Display for EpsilonDelta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.epsilon, self.delta_value())
    }
}

/// A method's guarantee: its paper's claim, and the proved part of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MethodGuarantee {
    /// The paper's claim for these parameters.
    pub claimed: EpsilonDelta,
    /// The budget that is proved in the method's own file, never less than the real one; `None` where nothing is
    /// proved.
    pub proved: Option<EpsilonDelta>,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// The argument in one sentence, with its assumptions.
    pub argument: &'static str,
}

impl MethodGuarantee {
    /// A guarantee whose claim is proved.
    #[must_use]
    pub fn proved(claimed: EpsilonDelta, adjacency: Adjacency, argument: &'static str) -> Self {
        Self { claimed, proved: Some(claimed), adjacency, argument }
    }

    /// Whether the proof covers the whole claim.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.proved.is_some_and(|proved| {
            proved.epsilon <= self.claimed.epsilon && proved.delta_value() <= self.claimed.delta_value()
        })
    }
}
