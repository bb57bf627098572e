//! The answers that are compared on reports held out: a method with the strength of its penalty.

use core::fmt;

use fantope::Sequence;
use nalgebra::DMatrix;
use serde::Serialize;

use super::super::bootstrap::SubspaceEstimate;
use super::super::{
    FantopeError, FantopeProblem, FantopeSolution, Penalty, PenaltyError, Rank, default_penalty, principal_components,
    soft_threshold,
};
use crate::covariance::Covariance;

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

/// A method of recovery with the factor of its penalty, in units of [`default_penalty`]; 0 for plain components.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The method.
    pub method: Method,
    /// The factor.
    pub factor: f64,
}

impl Fit {
    /// Plain components.
    pub(in crate::recovery) const PLAIN: Self = Self { method: Method::Pca, factor: 0.0 };

    /// The components that this finds in an estimate. `last` has the sparse solution before it, to start from.
    pub(super) fn components(
        self,
        estimate: &Covariance,
        rank: Rank,
        sequence: &mut Sequence<'_>,
        last: &mut Option<FantopeSolution>,
    ) -> Result<SubspaceEstimate, PenaltyError> {
        let matrix = estimate.matrix();
        let penalty = || default_penalty(estimate.noise_deviation(), matrix.nrows(), self.factor);
        let found: SubspaceEstimate = match self.method {
            Method::Pca => principal_components(matrix, rank)?.into(),
            Method::SoftThreshold => thresholded(matrix, penalty()?, rank)?,
            Method::Fantope => {
                let problem = FantopeProblem::new(matrix, rank, penalty()?)?;
                let solution = last.insert(sequence.solve(&problem, last.as_ref())?);
                return Ok(SubspaceEstimate {
                    components: solution.components.clone(),
                    support: solution.support.clone(),
                });
            }
        };
        sequence.solved += 1;
        Ok(found)
    }
}

/// Plain components of the estimate after soft-thresholding by the penalty.
pub(in crate::recovery) fn thresholded(
    estimate: &DMatrix<f64>,
    penalty: Penalty,
    rank: Rank,
) -> Result<SubspaceEstimate, FantopeError> {
    let components = principal_components(&soft_threshold(estimate, penalty), rank)?.vectors;
    Ok(SubspaceEstimate { support: used_rows(&components), components })
}

/// The rows that components use, ascending from 0. Rows that thresholding has cut off come out of the decomposition as
/// rounding.
pub(in crate::recovery) fn used_rows(components: &DMatrix<f64>) -> Vec<usize> {
    (0..components.nrows()).filter(|&row| components.row(row).norm() > 1e-10).collect()
}
