//! Reasons to refuse a step of DPS-PCA.

use ldp_pca::privacy::PrivacyError;
use ldp_pca::recovery::FantopeError;

/// Reasons why a step refuses its parameters, or cannot be taken.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DpsPcaError {
    /// A parameter outside the range for which the method is stated.
    #[error("DPS-PCA: {parameter} is {value}, outside {theorem}: {remedy}")]
    OutsideTheorem {
        /// The parameter.
        parameter: &'static str,
        /// Its value.
        value: f64,
        /// The theorem, by author, year and number.
        theorem: &'static str,
        /// The range, and what to do.
        remedy: &'static str,
    },
    /// An iteration failed.
    #[error("DPS-PCA: {0}")]
    Failed(&'static str),
    /// A budget that no noise reaches.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// A rank that makes no sense.
    #[error(transparent)]
    Recovery(#[from] FantopeError),
}
