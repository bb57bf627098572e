//! The methods of recovery.

use core::fmt;

use serde::Serialize;

/// A method of recovery.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Method {
    /// Plain principal components.
    #[default]
    Pca,
    /// Plain components of the estimate after soft-thresholding by a penalty.
    SoftThreshold,
    /// Sparse ones, by the Fantope program.
    Fantope,
}

/// The key for programs: `pca`, `soft-threshold` or `fantope`.
impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
