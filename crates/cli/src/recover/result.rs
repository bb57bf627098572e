//! The result of `recover`. docs/recover.md has the meaning of every key.

use ldp_pca::internal::waves::RefinedFacts;
use ldp_pca::recovery::Answer;
use serde::Serialize;

use super::denoising::CovarianceResult;
use crate::writing::Target;

/// An answer, what a second wave adds to it, and what was written of it.
#[derive(Default, Serialize)]
pub(crate) struct RecoverResult {
    #[serde(flatten)]
    pub(crate) answer: Answer,
    /// With `--refined`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refined: Option<RefinedFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) covariance: Option<CovarianceResult>,
    pub(crate) seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<Target>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plot: Option<Target>,
}
