//! The distance of components from those of records that somebody has seen.

use nalgebra::DMatrix;
use serde::Serialize;

use super::super::{Rank, principal_components};
use super::{Answer, AnswerError};
use crate::subspace::{Subspace, captured_variance, sin_theta_squared};

/// The answer without privacy.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The estimated quantity, d × d (`SecondMoment::reference` of the crate `ldp-pca-simulation`).
    pub matrix: DMatrix<f64>,
    /// The number of its records.
    pub records: u64,
}

/// The distance of the components from those of a reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReferenceComparison {
    /// `||sin Theta||_F^2` between the two.
    pub sin_theta_squared: f64,
    /// The reference, and how much of it is captured.
    pub reference: ReferenceAnswer,
}

/// A reference, and how much of it is captured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReferenceAnswer {
    /// As [`Reference::records`].
    pub records: u64,
    /// The variances along its own components.
    pub eigenvalues: Vec<f64>,
    /// The share of the reference's total variance that the recovered components capture; NaN without variance.
    pub captured_variance: f64,
    /// The share that its own components capture.
    pub largest_captured_variance: f64,
}

impl Answer {
    /// Compares the components with those of a reference, and the [baselines](super::Baselines) with them.
    ///
    /// # Errors
    /// [`AnswerError::EmptyReference`]; [`AnswerError::Recovery`] and [`AnswerError::Subspace`] for a reference of
    /// another dimension.
    #[doc(hidden)]
    pub fn compare(&mut self, reference: &Reference) -> Result<ReferenceComparison, AnswerError> {
        if reference.records == 0 {
            return Err(AnswerError::EmptyReference);
        }
        let best = principal_components(&reference.matrix, Rank::new(self.rank)?)?;
        let (ours, theirs) = (Subspace::new(&self.vectors())?, Subspace::new(&best.vectors)?);
        let share = |subspace: &Subspace| -> Result<f64, AnswerError> {
            let share = captured_variance(subspace, &reference.matrix)? / reference.matrix.trace();
            // Rounding alone may exceed the whole; it is no number where there is no variance.
            Ok(if share > 1.0 { 1.0 } else { share })
        };
        Ok(ReferenceComparison {
            sin_theta_squared: self.compare_components(&best.vectors)?,
            reference: ReferenceAnswer {
                records: reference.records,
                eigenvalues: best.values.as_slice().to_vec(),
                captured_variance: share(&ours)?,
                largest_captured_variance: share(&theirs)?,
            },
        })
    }

    /// `||sin Theta||_F^2` between the components and these, d × k. The [baselines](super::Baselines) are compared too.
    ///
    /// # Errors
    /// [`AnswerError::Subspace`] for components of another number or length, or that depend on each other.
    #[doc(hidden)]
    pub fn compare_components(&mut self, reference: &DMatrix<f64>) -> Result<f64, AnswerError> {
        let theirs = Subspace::new(reference)?;
        if let Some(baselines) = self.sparse.as_mut().and_then(|sparse| sparse.baselines.as_mut()) {
            baselines.compare(&theirs)?;
        }
        Ok(sin_theta_squared(&Subspace::new(&self.vectors())?, &theirs)?)
    }
}
