//! The distance of components from those of records that somebody has seen.

use nalgebra::DMatrix;

use super::super::{Rank, principal_components};
use super::baselines::compare_baselines;
use super::trust::{ReferenceAnswer, ReferenceComparison};
use super::{Answer, AnswerError};
use crate::subspace::{Subspace, captured_variance, sin_theta_squared};

/// The answer without privacy.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The estimated quantity, d × d: the covariance where the task has centring, otherwise the second moments.
    pub matrix: DMatrix<f64>,
    /// The number of its records.
    pub records: u64,
}

impl Answer {
    /// The span of the reference's components, and the comparison with them.
    pub(super) fn comparison(&self, reference: &Reference) -> Result<(Subspace, ReferenceComparison), AnswerError> {
        if reference.records == 0 {
            return Err(AnswerError::EmptyReference);
        }
        let best = principal_components(&reference.matrix, Rank::new(self.asked.rank)?)?;
        let (ours, theirs) = (Subspace::new(&self.vectors())?, Subspace::new(&best.vectors)?);
        let share = |subspace: &Subspace| -> Result<f64, AnswerError> {
            let share = captured_variance(subspace, &reference.matrix)? / reference.matrix.trace();
            // Rounding alone may exceed the whole; it is no number where there is no variance.
            Ok(if share > 1.0 { 1.0 } else { share })
        };
        let compared = ReferenceComparison {
            sin_theta_squared: sin_theta_squared(&ours, &theirs)?,
            reference: ReferenceAnswer {
                records: reference.records,
                eigenvalues: best.values.as_slice().to_vec(),
                captured_variance: share(&ours)?,
                largest_captured_variance: share(&theirs)?,
            },
        };
        Ok((theirs, compared))
    }

    /// Compares the simpler methods with it.
    pub(super) fn compare_baselines(&mut self, reference: &Subspace) -> Result<(), AnswerError> {
        match self.found.sparse.as_mut().and_then(|sparse| sparse.baselines.as_mut()) {
            Some(baselines) => Ok(compare_baselines(baselines, reference)?),
            None => Ok(()),
        }
    }
}
