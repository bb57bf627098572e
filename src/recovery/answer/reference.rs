//! The distance of components from those of records that somebody has seen.

use nalgebra::DMatrix;

use super::super::{Rank, principal_components};
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

#[doc(hidden)]
impl Answer {
    /// Compares the components with those of a reference, and the [baselines](super::Baselines) with them.
    ///
    /// # Errors
    /// [`AnswerError::EmptyReference`]; [`AnswerError::Recovery`] and [`AnswerError::Subspace`] for a reference of
    /// another dimension.
    pub fn compare(&mut self, reference: &Reference) -> Result<(), AnswerError> {
        let (best, compared) = self.comparison(reference)?;
        self.compare_baselines(&best)?;
        self.trust.compared = Some(compared);
        Ok(())
    }

    /// Compares the components with ordinary ones, of records that are not bounded.
    ///
    /// # Errors
    /// As [`Answer::compare`].
    pub fn compare_ordinary(&mut self, reference: &Reference) -> Result<(), AnswerError> {
        self.trust.ordinary_pca = Some(self.comparison(reference)?.1);
        Ok(())
    }

    /// The span of the reference's components, and the comparison with them.
    fn comparison(&self, reference: &Reference) -> Result<(Subspace, ReferenceComparison), AnswerError> {
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

    /// `||sin Theta||_F^2` between the components and these, d × k. The [baselines](super::Baselines) are compared too.
    ///
    /// # Errors
    /// [`AnswerError::Subspace`] for components of another number or length, or that depend on each other.
    pub fn compare_components(&mut self, reference: &DMatrix<f64>) -> Result<f64, AnswerError> {
        let theirs = Subspace::new(reference)?;
        self.compare_baselines(&theirs)?;
        Ok(sin_theta_squared(&Subspace::new(&self.vectors())?, &theirs)?)
    }

    fn compare_baselines(&mut self, reference: &Subspace) -> Result<(), AnswerError> {
        match self.found.sparse.as_mut().and_then(|sparse| sparse.baselines.as_mut()) {
            Some(baselines) => Ok(baselines.compare(reference)?),
            None => Ok(()),
        }
    }
}
