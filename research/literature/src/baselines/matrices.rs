//! The matrices `A_i` whose mean Liu et al. (2022) analyse: `x x^T` of records, or any others.

use nalgebra::{DMatrix, DMatrixView, DMatrixViewMut, DVector, DVectorView};

use super::SampleError;

/// n matrices of d × d.
#[derive(Clone, Copy, Debug)]
pub struct Matrices<'a>(Summands<'a>);

#[derive(Clone, Copy, Debug)]
enum Summands<'a> {
    /// `x x^T` of the columns.
    OfRecords(DMatrixView<'a, f64>),
    /// Each on its own, at least one.
    Any(&'a [DMatrix<f64>]),
}

/// `A_i W`.
pub(super) enum Gradient<'a> {
    /// x and `W^T x` of a record.
    Outer(DVectorView<'a, f64>, DVector<f64>),
    /// d × r.
    Full(DMatrix<f64>),
}

impl<'a> Matrices<'a> {
    /// Any matrices of d × d; they need not be symmetric.
    ///
    /// # Errors
    /// [`SampleError`] when there are none, or one has another shape.
    pub fn new(matrices: &'a [DMatrix<f64>]) -> Result<Self, SampleError> {
        let dimension = matrices.first().map_or(0, DMatrix::nrows);
        if dimension == 0 {
            return Err(SampleError::Empty);
        }
        match matrices.iter().find(|matrix| matrix.shape() != (dimension, dimension)) {
            Some(other) => Err(SampleError::Ragged { numbers: other.len(), dimension }),
            None => Ok(Self(Summands::Any(matrices))),
        }
    }

    /// `x x^T` of the columns.
    pub(super) fn of_records(records: DMatrixView<'a, f64>) -> Self {
        Self(Summands::OfRecords(records))
    }

    pub(super) fn count(&self) -> usize {
        match self.0 {
            Summands::OfRecords(records) => records.ncols(),
            Summands::Any(matrices) => matrices.len(),
        }
    }

    pub(super) fn dimension(&self) -> usize {
        match self.0 {
            Summands::OfRecords(records) => records.nrows(),
            Summands::Any(matrices) => matrices[0].nrows(),
        }
    }

    pub(super) fn gradient(&self, index: usize, basis: &DMatrix<f64>) -> Gradient<'_> {
        match &self.0 {
            Summands::OfRecords(records) => {
                let record = records.column(index);
                let overlaps = basis.tr_mul(&record);
                Gradient::Outer(record, overlaps)
            }
            Summands::Any(matrices) => Gradient::Full(&matrices[index] * basis),
        }
    }
}

impl Gradient<'_> {
    /// The Frobenius norm.
    pub(super) fn norm(&self) -> f64 {
        match self {
            // |x (x^T W)|_F = |x| |x^T W|.
            Self::Outer(record, overlaps) => record.norm() * overlaps.norm(),
            Self::Full(own) => own.norm(),
        }
    }

    /// `tr(W^T A_i W)`.
    pub(super) fn captured(&self, basis: &DMatrix<f64>) -> f64 {
        match self {
            Self::Outer(_, overlaps) => overlaps.norm_squared(),
            Self::Full(own) => own.dot(basis),
        }
    }

    pub(super) fn add_to(&self, mut sum: DMatrixViewMut<'_, f64>, weight: f64) {
        match self {
            Self::Outer(record, overlaps) => sum.ger(weight, record, overlaps, 1.0),
            Self::Full(own) => sum.zip_apply(own, |entry, value| *entry += weight * value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record's gradient is that of its outer product.
    #[test]
    fn records_are_their_outer_products() {
        let record = DVector::from_column_slice(&[1.0, -2.0, 0.5]);
        let records = DMatrix::from_column_slice(3, 1, record.as_slice());
        let outer = [&record * record.transpose()];
        let basis = DMatrix::from_column_slice(3, 2, &[0.6, 0.8, 0.0, 0.0, 0.0, 1.0]);
        let [one, other] = [Matrices::of_records(records.as_view()), Matrices::new(&outer).unwrap()].map(|matrices| {
            assert_eq!((matrices.count(), matrices.dimension()), (1, 3));
            let gradient = matrices.gradient(0, &basis);
            let (norm, captured) = (gradient.norm(), gradient.captured(&basis));
            let mut sum = DMatrix::from_element(3, 2, 1.0);
            gradient.add_to(sum.as_view_mut(), 0.5);
            (sum, norm, captured)
        });
        assert!((one.0 - other.0).amax() < 1e-15 && (one.1 - other.1).abs() < 1e-15 && (one.2 - other.2).abs() < 1e-15);
    }

    #[test]
    fn what_is_no_set_of_matrices_is_refused() {
        assert!(Matrices::new(&[]).is_err());
        assert!(Matrices::new(&[DMatrix::zeros(0, 0)]).is_err());
        assert!(Matrices::new(&[DMatrix::zeros(2, 2), DMatrix::zeros(2, 3)]).is_err());
    }
}
