//! The answer without privacy, to compare with. Unlike the pipeline, this reads records: use it on public or synthetic
//! ones, or where their owner may see them.

use core::fmt;

use ldp_pca::record::BoundedRecord;
use ldp_pca::task::Task;
use nalgebra::{DMatrix, DVector};

/// The second-moment matrix `E[x x^T]` of bounded records, d × d, their mean, and their covariance.
///
/// Squares are summed about the mean, batch by batch (Chan, Golub & LeVeque 1983). `E[x x^T] - E[x] E[x]^T` would lose
/// all digits of the covariance where the mean is 10^8 times the spread.
#[derive(Clone)]
pub struct SecondMoment {
    /// The sum of `(x - mean) (x - mean)^T`.
    scatter: DMatrix<f64>,
    mean: DVector<f64>,
    /// Records in `scatter` and `mean`.
    counted: u64,
    /// Records not yet there, d × held, column by column.
    pending: Vec<f64>,
    records: u64,
    scale: f64,
}

/// Without the sums, since those of one record are the record.
impl fmt::Debug for SecondMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SecondMoment");
        shown.field("dimension", &self.mean.len()).field("records", &self.records).finish_non_exhaustive()
    }
}

/// Records multiplied together.
const BATCH: usize = 256;

impl SecondMoment {
    /// No records yet, of `dimension` coordinates; one unit is worth `covariance_scale`
    /// (see [`Bounding::covariance_scale`](ldp_pca::record::Bounding::covariance_scale)).
    #[must_use]
    pub fn new(dimension: usize, covariance_scale: f64) -> Self {
        Self {
            scatter: DMatrix::zeros(dimension, dimension),
            mean: DVector::zeros(dimension),
            counted: 0,
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
        self.add_coordinates(record.coordinates());
    }

    /// Adds the encoded features of a record that is not bounded (d numbers). A missing value, NaN or infinite, counts
    /// as 0.
    ///
    /// # Panics
    /// If the dimension is another one.
    pub fn add_coordinates(&mut self, coordinates: &[f64]) {
        assert_eq!(coordinates.len(), self.mean.len(), "a record of another dimension");
        self.pending.extend(coordinates.iter().map(|value| if value.is_finite() { *value } else { 0.0 }));
        self.records += 1;
        if self.pending.len() == BATCH * self.mean.len() {
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
    pub fn matrix(self) -> DMatrix<f64> {
        let mean = DVector::from_vec(self.mean());
        let mut matrix = self.covariance();
        matrix.ger(1.0, &mean, &mean, 1.0);
        matrix
    }

    /// The mean of x (d numbers), in the units of the encoded features; zero without records.
    #[must_use]
    pub fn mean(&self) -> Vec<f64> {
        let mut mean = self.mean.clone();
        if let Some(batch) = self.batch() {
            mean += (batch.column_mean() - &self.mean) * (batch.ncols() as f64 / self.records as f64);
        }
        (mean * self.scale.sqrt()).as_slice().to_vec()
    }

    /// The d × d covariance `E[(x - E[x]) (x - E[x])^T]` (averages over the records, divided by n), in the units of the
    /// encoded features; zero without records.
    #[must_use]
    pub fn covariance(mut self) -> DMatrix<f64> {
        self.flush();
        let covariance = self.scatter * (self.scale / self.records.max(1) as f64);
        // The product is symmetric up to rounding.
        0.5 * (&covariance + covariance.transpose())
    }

    /// The quantity that [`Covariance::matrix`](ldp_pca::covariance::Covariance::matrix) of `task` estimates: the
    /// covariance where the task has centring, otherwise the second moments.
    #[must_use]
    pub fn reference(self, task: &Task) -> DMatrix<f64> {
        if task.centring().is_some() { self.covariance() } else { self.matrix() }
    }

    /// The records that wait, if there are any, as columns.
    fn batch(&self) -> Option<DMatrix<f64>> {
        let dimension = self.mean.len();
        let held = self.pending.len().checked_div(dimension).filter(|&held| held > 0)?;
        Some(DMatrix::from_column_slice(dimension, held, &self.pending))
    }

    fn flush(&mut self) {
        let Some(mut batch) = self.batch() else { return };
        let (before, held) = (self.counted as f64, batch.ncols() as f64);
        let mean = batch.column_mean();
        batch.column_iter_mut().for_each(|mut column| column -= &mean);
        // What rounding leaves in the mean of these: without it a mean is as exact as its records.
        let left = batch.column_mean();
        batch.column_iter_mut().for_each(|mut column| column -= &left);
        self.scatter.gemm(1.0, &batch, &batch.transpose(), 1.0);
        let apart = (mean - &self.mean) + left;
        let share = held / (before + held);
        self.scatter.ger(before * share, &apart, &apart, 1.0);
        self.mean.axpy(share, &apart, 1.0);
        self.counted = self.records;
        self.pending.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ldp_pca::record::{Bounding, Radius};

    /// `{:?}` of the moments of one record shows none of its digits: 7.25 bounded by 1000 is 0.00725.
    #[test]
    fn what_is_printed_of_moments_tells_nothing_of_a_record() {
        let bounding = Bounding::Clip { radius: Radius::new(1000.0).unwrap() };
        let mut moment = SecondMoment::new(2, 1.0);
        moment.add(&BoundedRecord::new(vec![7.25, 0.0], bounding).unwrap());
        let shown = format!("{moment:?} {moment:#?}");
        assert!(!shown.contains("25") && shown.contains(".."), "{shown}");
    }

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

    /// Columns of a normal sample, moved far from 0: the covariance is that of the same sample about 0. A coordinate is
    /// rounded by 1e-16 of its offset, so that is all that may be lost.
    #[test]
    fn an_offset_does_not_change_the_covariance() {
        use rand::{RngExt, SeedableRng};

        let mut rng = chacha20::ChaCha8Rng::seed_from_u64(1);
        let rows: Vec<[f64; 3]> = (0..1000)
            .map(|_| {
                let [first, second, third]: [f64; 3] =
                    core::array::from_fn(|_| rng.sample::<f64, _>(rand_distr::StandardNormal));
                [first, 0.5 * first + 0.1 * second, 0.2 * third]
            })
            .collect();
        let moments = |offset: f64| {
            let mut moment = SecondMoment::new(3, 1.0);
            for row in &rows {
                moment.add_coordinates(&row.map(|value| value + offset));
            }
            moment
        };
        let about_zero = moments(0.0).covariance();
        for offset in [1e7, -1e8, 1e9] {
            let covariance = moments(offset).covariance();
            assert!((&covariance - &about_zero).norm() < 1e-15 * offset.abs(), "{offset}: {covariance}");
            assert!(covariance.clone().symmetric_eigenvalues().min() > 0.0, "{covariance}");
            let second = moments(offset).matrix();
            assert!((second[(0, 1)] / (offset * offset) - 1.0).abs() < 1e-6, "{second}");
        }
        // A first record without values moves nothing of the others' precision but by its own distance.
        let mut moment = moments(1e4);
        moment.add_coordinates(&[f64::NAN, 0.0, f64::INFINITY]);
        assert!((moment.mean()[0] / 1e4 - 1000.0 / 1001.0).abs() < 1e-5, "{:?}", moment.mean());
    }
}
