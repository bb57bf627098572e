//! The answer without privacy, to compare with. Unlike the pipeline, this reads records: use it on public or synthetic
//! ones, or where their owner may see them.

use core::fmt;

use nalgebra::{DMatrix, DVector};

use crate::record::BoundedRecord;
use crate::task::Task;

/// The second-moment matrix `E[x x^T]` of bounded records, d × d, their mean, and the covariance from both.
#[derive(Clone)]
pub struct SecondMoment {
    sum: DMatrix<f64>,
    sum_of_records: DVector<f64>,
    /// Records not yet in `sum`, d × held, column by column.
    pending: Vec<f64>,
    records: u64,
    scale: f64,
}

/// Without the sums, since those of one record are the record.
impl fmt::Debug for SecondMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SecondMoment");
        shown.field("dimension", &self.sum.nrows()).field("records", &self.records).finish_non_exhaustive()
    }
}

/// Records multiplied together.
const BATCH: usize = 256;

impl SecondMoment {
    /// No records yet, of `dimension` coordinates; one unit is worth `covariance_scale`
    /// (see [`Bounding::covariance_scale`](crate::record::Bounding::covariance_scale)).
    #[must_use]
    pub fn new(dimension: usize, covariance_scale: f64) -> Self {
        Self {
            sum: DMatrix::zeros(dimension, dimension),
            sum_of_records: DVector::zeros(dimension),
            pending: vec![],
            records: 0,
            scale: covariance_scale,
        }
    }

    /// No records yet, of `task`.
    #[must_use]
    pub fn of_task(task: &Task) -> Self {
        Self::new(task.dimension(), task.bounding().covariance_scale())
    }

    /// Adds a record of the right dimension.
    ///
    /// # Panics
    /// If the dimension is another one.
    pub fn add(&mut self, record: &BoundedRecord) {
        assert_eq!(record.dimension(), self.sum.nrows(), "a record of another dimension");
        self.pending.extend_from_slice(record.coordinates());
        self.records += 1;
        if self.pending.len() == BATCH * self.sum.nrows() {
            self.flush();
        }
    }

    /// The number of records.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The d × d mean of `x x^T`, in the units of the encoded features; zero without records.
    #[must_use]
    pub fn matrix(mut self) -> DMatrix<f64> {
        self.flush();
        let mean = self.sum * (self.scale / self.records.max(1) as f64);
        // The product is symmetric up to rounding.
        0.5 * (&mean + mean.transpose())
    }

    /// The mean of x (d numbers), in the units of the encoded features; zero without records.
    #[must_use]
    pub fn mean(&self) -> Vec<f64> {
        let held = self.batch();
        let sum = &self.sum_of_records + held.column_sum();
        (sum * (self.scale.sqrt() / self.records.max(1) as f64)).as_slice().to_vec()
    }

    /// The d × d covariance `E[x x^T] - E[x] E[x]^T` (averages over the records, divided by n), in the units of the
    /// encoded features; zero without records.
    #[must_use]
    pub fn covariance(self) -> DMatrix<f64> {
        let mean = DVector::from_vec(self.mean());
        self.matrix() - &mean * mean.transpose()
    }

    /// The quantity that [`Covariance::matrix`](crate::covariance::Covariance::matrix) of `task` estimates: the
    /// covariance where the task has centring, otherwise the second moments.
    #[must_use]
    pub fn reference(self, task: &Task) -> DMatrix<f64> {
        if task.centring().is_some() { self.covariance() } else { self.matrix() }
    }

    fn batch(&self) -> DMatrix<f64> {
        let held = self.pending.len() / self.sum.nrows();
        DMatrix::from_column_slice(self.sum.nrows(), held, &self.pending)
    }

    fn flush(&mut self) {
        let batch = self.batch();
        self.sum_of_records += batch.column_sum();
        self.sum.gemm(1.0, &batch, &batch.transpose(), 1.0);
        self.pending.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Bounding;

    #[test]
    fn the_mean_is_that_of_the_definition() {
        let mut moment = SecondMoment::new(3, 4.0);
        let (mut expected, mut mean) = (DMatrix::zeros(3, 3), DVector::zeros(3));
        for i in 0..600 {
            let record =
                BoundedRecord::new(vec![f64::from(i % 7), 1.0, f64::from(i % 5) - 2.0], Bounding::UnitNorm).unwrap();
            let x = DVector::from_row_slice(record.coordinates());
            expected += 4.0 / 600.0 * &x * x.transpose();
            mean += 2.0 / 600.0 * &x;
            moment.add(&record);
        }
        assert_eq!(moment.records(), 600);
        assert!((DVector::from_vec(moment.mean()) - &mean).norm() < 1e-12);
        assert!((moment.clone().covariance() - (&expected - &mean * mean.transpose())).norm() < 1e-12);
        assert!((moment.matrix() - expected).norm() < 1e-12);
        assert_eq!(SecondMoment::new(2, 1.0).mean(), [0.0, 0.0]);
        assert_eq!(SecondMoment::new(2, 1.0).matrix(), DMatrix::zeros(2, 2));
    }
}
