//! How far a sampled law may be from the one that is accounted.

use super::{PrivacyError, checked_number};

checked_number! {
    /// A bound on the total variation distance between the law that is sampled and the law that is accounted: in
    /// [0, 1).
    TotalVariation: |value| (0.0..1.0).contains(&value), "in [0, 1)", PrivacyError
}

impl TotalVariation {
    /// The two laws are the same.
    pub const ZERO: Self = Self(0.0);
}
