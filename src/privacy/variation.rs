//! How far a sampled law may be from the one that is accounted.

use serde::{Deserialize, Serialize};

use super::{PrivacyError, checked_number};

/// A bound on the total variation distance between the law that is sampled and the law that is accounted: in [0, 1).
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct TotalVariation(f64);

impl TotalVariation {
    /// The two laws are the same.
    pub const ZERO: Self = Self(0.0);

    /// Checks that `value` is in [0, 1).
    ///
    /// # Errors
    /// [`PrivacyError::TotalVariation`] otherwise.
    pub fn new(value: f64) -> Result<Self, PrivacyError> {
        if (0.0..1.0).contains(&value) { Ok(Self(value)) } else { Err(PrivacyError::TotalVariation(value)) }
    }
}

checked_number!(TotalVariation: PrivacyError);
