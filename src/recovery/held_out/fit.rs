//! The answers that are compared on reports held out: a method with the strength of its penalty.

use fantope::Sequence;
use nalgebra::DMatrix;
use serde::Serialize;

use super::super::{
    FantopeProblem, FantopeSolution, Method, PenaltyError, Rank, default_penalty, principal_components, soft_threshold,
};
use crate::covariance::Covariance;

/// A method of recovery with the factor of its penalty, in units of [`default_penalty`]; 0 for plain components.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The method.
    pub method: Method,
    /// The factor.
    pub factor: f64,
}

/// What a fit found.
pub(super) struct Fitted {
    /// Orthonormal components, d × k.
    pub(super) components: DMatrix<f64>,
    /// The number of features that take part.
    pub(super) support: usize,
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
    ) -> Result<Fitted, PenaltyError> {
        let matrix = estimate.matrix();
        let dimension = matrix.nrows();
        let penalty = || default_penalty(estimate.noise_deviation(), dimension, self.factor);
        match self.method {
            Method::Pca => {
                let components = principal_components(matrix, rank)?.vectors;
                sequence.solved += 1;
                Ok(Fitted { components, support: dimension })
            }
            Method::SoftThreshold => {
                let components = principal_components(&soft_threshold(matrix, penalty()?), rank)?.vectors;
                sequence.solved += 1;
                let support = used_rows(&components).len();
                Ok(Fitted { components, support })
            }
            Method::Fantope => {
                let problem = FantopeProblem::new(matrix, rank, penalty()?)?;
                let solution = sequence.solve(&problem, last.as_ref())?;
                let found = Fitted { components: solution.components.clone(), support: solution.support.len() };
                *last = Some(solution);
                Ok(found)
            }
        }
    }
}

/// The rows that components use, ascending from 0. Rows that thresholding has cut off come out of the decomposition as
/// rounding.
pub(in crate::recovery) fn used_rows(components: &DMatrix<f64>) -> Vec<usize> {
    (0..components.nrows()).filter(|&row| components.row(row).norm() > 1e-10).collect()
}
