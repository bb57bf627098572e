//! The result of `recover`. docs/recover.md has the meaning of every key.

use ldp_pca::recovery::{Answer, RankTest, ReferenceComparison};
use ldp_pca::waves::RefinedFacts;
use serde::Serialize;

use super::denoising::CovarianceResult;
use super::other::OtherResult;
use super::selection::Selection;
use crate::writing::Target;

/// An answer, and what was written of it.
#[derive(Default, Serialize)]
pub(crate) struct RecoverResult {
    #[serde(flatten)]
    pub(crate) answer: Answer,
    /// With `--rank auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rank_test: Option<RankTest>,
    /// With `--select`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) selection: Option<Selection>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) covariance: Option<CovarianceResult>,
    #[serde(flatten)]
    pub(crate) compared: Option<ReferenceComparison>,
    /// With `--reference`: the comparison with PCA of the encoded records, not bounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ordinary_pca: Option<ReferenceComparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) other: Option<OtherResult>,
    /// With `--refined`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refined: Option<RefinedFacts>,
    pub(crate) seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<Target>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plot: Option<Target>,
}
