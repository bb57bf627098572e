//! The matrices `A_i` whose mean Liu et al. (2022) analyse: `x x^T` of records, or any others.

use nalgebra::{DMatrix, DMatrixView, DMatrixViewMut, DVector};

use super::{BaselineError, SampleError};

/// n matrices of d × d.
#[derive(Clone, Copy)]
pub(super) enum Matrices<'a> {
    /// `x x^T` of the columns.
    OfRecords(DMatrixView<'a, f64>),
    /// Each on its own; they need not be symmetric.
    Any(&'a [DMatrix<f64>]),
}

/// `A_i W`.
pub(super) enum Gradient {
    /// x and `W^T x` of a record.
    Outer(DVector<f64>, DVector<f64>),
    /// d × r.
    Full(DMatrix<f64>),
}

impl<'a> Matrices<'a> {
    /// The matrices, if there are some and all are d × d.
    pub(super) fn any(matrices: &'a [DMatrix<f64>]) -> Result<Self, BaselineError> {
        let Some(first) = matrices.first() else { return Err(SampleError::Empty.into()) };
        let dimension = first.nrows();
        match matrices.iter().find(|matrix| matrix.shape() != (dimension, dimension)) {
            _ if dimension == 0 => Err(SampleError::Empty.into()),
            Some(other) => Err(SampleError::Ragged { numbers: other.len(), dimension }.into()),
            None => Ok(Self::Any(matrices)),
        }
    }

    pub(super) fn count(&self) -> usize {
        match self {
            Self::OfRecords(records) => records.ncols(),
            Self::Any(matrices) => matrices.len(),
        }
    }

    pub(super) fn dimension(&self) -> usize {
        match self {
            Self::OfRecords(records) => records.nrows(),
            Self::Any(matrices) => matrices[0].nrows(),
        }
    }

    pub(super) fn gradient(&self, index: usize, basis: &DMatrix<f64>) -> Gradient {
        match self {
            Self::OfRecords(records) => {
                let record = records.column(index);
                Gradient::Outer(record.into_owned(), basis.tr_mul(&record))
            }
            Self::Any(matrices) => Gradient::Full(&matrices[index] * basis),
        }
    }
}

impl Gradient {
    /// `(I - F F^T) A_i W`.
    pub(super) fn outside(self, found: &DMatrix<f64>) -> Self {
        let across = |own: DMatrix<f64>| &own - found * found.tr_mul(&own);
        match self {
            Self::Outer(record, overlaps) => Self::Outer(&record - found * found.tr_mul(&record), overlaps),
            Self::Full(own) => Self::Full(across(own)),
        }
    }

    /// The Frobenius norm.
    pub(super) fn norm(&self) -> f64 {
        match self {
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
        let found = DMatrix::from_column_slice(3, 1, &[1.0, 0.0, 0.0]);
        let [one, other] = [Matrices::OfRecords(records.as_view()), Matrices::any(&outer).unwrap()].map(|matrices| {
            assert_eq!((matrices.count(), matrices.dimension()), (1, 3));
            let gradient = matrices.gradient(0, &basis);
            let (norm, captured) = (gradient.norm(), gradient.captured(&basis));
            let mut sum = DMatrix::from_element(3, 2, 1.0);
            gradient.outside(&found).add_to(sum.as_view_mut(), 0.5);
            (sum, norm, captured)
        });
        assert!((one.0 - other.0).amax() < 1e-15 && (one.1 - other.1).abs() < 1e-15 && (one.2 - other.2).abs() < 1e-15);
    }

    #[test]
    fn what_is_no_set_of_matrices_is_refused() {
        assert!(Matrices::any(&[]).is_err());
        assert!(Matrices::any(&[DMatrix::zeros(0, 0)]).is_err());
        assert!(Matrices::any(&[DMatrix::zeros(2, 2), DMatrix::zeros(2, 3)]).is_err());
    }
}
