//! The number of components and the weight of the penalty, each checked once.

use serde::{Deserialize, Serialize};

use crate::FantopeError;

/// Number `k ≥ 1` of components asked for.
///
/// ```
/// use fantope::Rank;
/// assert_eq!(Rank::new(3)?.value(), 3);
/// assert!(Rank::new(0).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "usize")]
pub struct Rank(usize);

impl Rank {
    /// Accepts every number from 1.
    ///
    /// # Errors
    ///
    /// [`FantopeError::ZeroRank`].
    pub fn new(rank: usize) -> Result<Self, FantopeError> {
        if rank == 0 { Err(FantopeError::ZeroRank) } else { Ok(Self(rank)) }
    }

    /// The number of components.
    pub fn value(self) -> usize {
        self.0
    }

    /// Accepts the rank when a space of this dimension has that many components.
    ///
    /// # Errors
    ///
    /// [`FantopeError::RankExceedsDimension`].
    pub fn check(self, dimension: usize) -> Result<(), FantopeError> {
        if self.0 <= dimension { Ok(()) } else { Err(FantopeError::RankExceedsDimension { rank: self.0, dimension }) }
    }
}

impl TryFrom<usize> for Rank {
    type Error = FantopeError;

    fn try_from(rank: usize) -> Result<Self, FantopeError> {
        Self::new(rank)
    }
}

/// Weight of the entrywise `l1` norm in the sparse problem, finite and at least 0, in the units of the covariance.
///
/// ```
/// use fantope::Penalty;
/// assert_eq!(Penalty::new(0.1)?.value(), 0.1);
/// assert!(Penalty::new(-0.1).is_err());
/// assert!(Penalty::new(f64::NAN).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "f64")]
pub struct Penalty(f64);

impl Penalty {
    /// No penalty: the sparse problem becomes ordinary principal components.
    pub const ZERO: Self = Self(0.0);

    /// Accepts every finite number from 0.
    ///
    /// # Errors
    ///
    /// [`FantopeError::InvalidPenalty`].
    pub fn new(penalty: f64) -> Result<Self, FantopeError> {
        let usable = penalty.is_finite() && penalty >= 0.0;
        // Adding 0 turns −0 into 0.
        if usable { Ok(Self(penalty + 0.0)) } else { Err(FantopeError::InvalidPenalty(penalty)) }
    }

    /// The weight.
    pub fn value(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Penalty {
    type Error = FantopeError;

    fn try_from(penalty: f64) -> Result<Self, FantopeError> {
        Self::new(penalty)
    }
}
