//! The records for every method.

use std::sync::OnceLock;

use nalgebra::{DMatrix, DMatrixView};

use super::error::{BaselineError, SampleError};
use ldp_pca::recovery::Rank;

/// n records of d features, with their second moments.
///
/// ```
/// use ldp_pca_literature::baselines::Sample;
/// let sample = Sample::new(2, vec![1.0, 0.0, 0.0, 0.5])?;
/// assert_eq!((sample.records(), sample.dimension(), sample.largest_norm()), (2, 2, 1.0));
/// assert_eq!(sample.second_moment()[(1, 1)], 0.125);
/// assert!(Sample::new(2, vec![1.0, 0.0, 0.0]).is_err());
/// # Ok::<(), ldp_pca_literature::baselines::SampleError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sample {
    dimension: usize,
    records: u64,
    largest_norm: f64,
    /// The records one after the other; empty if only the moments are known.
    values: Vec<f64>,
    second_moment: OnceLock<DMatrix<f64>>,
}

/// Records multiplied together.
const BATCH: usize = 1024;

impl Sample {
    /// Records of `dimension` features each, one after the other.
    ///
    /// # Errors
    /// [`SampleError`] when there are none, the last is incomplete, or a value is not finite.
    pub fn new(dimension: usize, values: Vec<f64>) -> Result<Self, SampleError> {
        if dimension == 0 || values.is_empty() {
            return Err(SampleError::Empty);
        }
        if !values.len().is_multiple_of(dimension) {
            return Err(SampleError::Ragged { numbers: values.len(), dimension });
        }
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            let (record, feature) = (index / dimension, index % dimension);
            return Err(SampleError::NotFinite { record, feature, value: values[index] });
        }
        let square = |record: &[f64]| record.iter().map(|value| value * value).sum::<f64>();
        let largest = values.chunks_exact(dimension).map(square).fold(0.0, f64::max);
        let records = (values.len() / dimension) as u64;
        Ok(Self { dimension, records, largest_norm: largest.sqrt(), values, second_moment: OnceLock::new() })
    }

    /// Only the d × d mean of `x x^T` over `records` records, none longer than `largest_norm`. Methods that read
    /// records one by one refuse it.
    ///
    /// # Errors
    /// [`SampleError`] when the matrix is empty, not square or not finite, or there are no records.
    pub fn from_second_moment(matrix: DMatrix<f64>, records: u64, largest_norm: f64) -> Result<Self, SampleError> {
        let dimension = matrix.nrows();
        if dimension == 0 || records == 0 {
            return Err(SampleError::Empty);
        }
        if !matrix.is_square() {
            return Err(SampleError::Ragged { numbers: matrix.len(), dimension });
        }
        if let Some(index) = matrix.iter().position(|value| !value.is_finite()) {
            let (feature, record) = (index / dimension, index % dimension);
            return Err(SampleError::NotFinite { record, feature, value: matrix[(record, feature)] });
        }
        Ok(Self { dimension, records, largest_norm, values: vec![], second_moment: OnceLock::from(matrix) })
    }

    /// d, the number of features.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// n, the number of records.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The norm of the longest record.
    #[must_use]
    pub fn largest_norm(&self) -> f64 {
        self.largest_norm
    }

    /// The d × d mean of `x x^T`, computed once.
    #[must_use]
    pub fn second_moment(&self) -> &DMatrix<f64> {
        self.second_moment.get_or_init(|| {
            let mut sum = DMatrix::zeros(self.dimension, self.dimension);
            for batch in self.values.chunks(BATCH * self.dimension) {
                let columns = DMatrixView::from_slice(batch, self.dimension, batch.len() / self.dimension);
                sum.gemm(1.0, &columns, &columns.transpose(), 1.0);
            }
            // The product is symmetric up to rounding.
            (&sum + sum.transpose()) * (0.5 / self.records as f64)
        })
    }

    /// The records, d numbers each.
    ///
    /// # Errors
    /// [`BaselineError::NeedsRecords`] in the name of `method` where only the moments are known.
    pub fn rows(&self, method: &'static str) -> Result<impl ExactSizeIterator<Item = &[f64]> + Clone, BaselineError> {
        if self.values.is_empty() {
            return Err(BaselineError::NeedsRecords { method });
        }
        Ok(self.values.chunks_exact(self.dimension))
    }

    /// The records with these indices.
    ///
    /// # Errors
    /// [`BaselineError::NeedsRecords`] in the name of `method` where only the moments are known,
    /// [`BaselineError::Sample`] where there is no index.
    pub(crate) fn part(&self, indices: &[usize], method: &'static str) -> Result<Self, BaselineError> {
        let rows: Vec<&[f64]> = self.rows(method)?.collect();
        Ok(Self::new(self.dimension, indices.iter().flat_map(|&index| rows[index].iter().copied()).collect())?)
    }

    /// The records as the columns of a d × n matrix.
    ///
    /// # Errors
    /// [`BaselineError::NeedsRecords`] in the name of `method` where only the moments are known.
    pub fn columns(&self, method: &'static str) -> Result<DMatrixView<'_, f64>, BaselineError> {
        if self.values.is_empty() {
            return Err(BaselineError::NeedsRecords { method });
        }
        Ok(DMatrixView::from_slice(&self.values, self.dimension, self.records as usize))
    }

    /// Checks that no record is longer than `bound` (up to rounding in the last digits of a norm).
    ///
    /// # Errors
    /// [`BaselineError::LongRecord`] in the name of `method`.
    pub fn check_norm(&self, method: &'static str, bound: f64) -> Result<(), BaselineError> {
        // No record keeps a bound that is not a number.
        if self.largest_norm <= bound * (1.0 + NORM_ROUNDING) {
            Ok(())
        } else {
            Err(BaselineError::LongRecord { method, bound, norm: self.largest_norm })
        }
    }

    /// Checks that no record is longer than 1, and that there are at least as many features as components.
    pub(super) fn check(&self, rank: Rank, method: &'static str) -> Result<(), BaselineError> {
        self.check_unit_ball(method)?;
        Ok(rank.check(self.dimension)?)
    }

    /// Checks that no record is longer than 1 (up to rounding in the last digits of a norm).
    ///
    /// # Errors
    /// [`BaselineError::NeedsUnitBall`] in the name of `method`.
    pub fn check_unit_ball(&self, method: &'static str) -> Result<(), BaselineError> {
        if self.largest_norm <= 1.0 + NORM_ROUNDING {
            Ok(())
        } else {
            Err(BaselineError::NeedsUnitBall { method, norm: self.largest_norm })
        }
    }
}

/// The rounding error in the norm of a record that was divided by it.
const NORM_ROUNDING: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_moments_are_those_of_the_definition_over_several_batches() {
        let values: Vec<f64> = (0..3 * 2500).map(|i| f64::from(i * i % 17) / 30.0 - 0.2).collect();
        let sample = Sample::new(3, values).unwrap();
        let mut expected = DMatrix::zeros(3, 3);
        for row in sample.rows("a test").unwrap() {
            let x = nalgebra::DVector::from_row_slice(row);
            expected += &x * x.transpose() / 2500.0;
        }
        assert!((sample.second_moment() - expected).amax() < 1e-13);
        assert_eq!(
            sample.columns("a test").unwrap().column(7),
            nalgebra::DVector::from_row_slice(&sample.values[21..24])
        );
    }

    #[test]
    fn what_is_no_set_of_records_is_refused_and_named() {
        assert_eq!(Sample::new(3, vec![]).unwrap_err(), SampleError::Empty);
        assert_eq!(Sample::new(0, vec![1.0]).unwrap_err(), SampleError::Empty);
        let message = Sample::new(2, vec![0.0, 1.0, 2.0, f64::INFINITY]).unwrap_err().to_string();
        assert!(message.contains("record 1, feature 1"), "{message}");
        let moments = Sample::from_second_moment(DMatrix::identity(2, 2), 5, 2.0).unwrap();
        assert_eq!(moments.rows("Oja").err(), Some(BaselineError::NeedsRecords { method: "Oja" }));
        assert!(moments.check_unit_ball("PPCA").unwrap_err().to_string().contains("the longest has 2"));
    }
}
