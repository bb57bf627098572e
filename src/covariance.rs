//! From sums of reports to a covariance estimate whose noise level is known.

use nalgebra::DMatrix;

use crate::aggregate::{Aggregate, AggregateError, FoldSum};
use crate::mechanism::LocalRandomizer;
use crate::noise::NoiseLaw;
use crate::report::Report;
use crate::task::Task;

/// An unbiased estimate of the second-moment matrix `E[x x^T]` (d × d) of the bounded records, in the units of the
/// encoded features.
///
/// It is symmetric but, being debiased, not positive semidefinite: small eigenvalues may be negative.
#[derive(Clone, Debug, PartialEq)]
pub struct Covariance {
    matrix: DMatrix<f64>,
    records: u64,
    noise_deviation: f64,
    noise_edge: f64,
    noise_law: NoiseLaw,
}

impl Covariance {
    /// Debiases all folds together.
    ///
    /// # Errors
    /// [`CovarianceError`] for another task or an empty aggregate.
    pub fn estimate(aggregate: &Aggregate, task: &Task) -> Result<Self, CovarianceError> {
        let mut all = aggregate.folds()[0].clone();
        for fold in &aggregate.folds()[1..] {
            all.add(fold);
        }
        Self::of_sum(&all, aggregate, task)
    }

    /// Debiases one fold.
    ///
    /// # Errors
    /// [`CovarianceError`] for another task, a fold that does not exist, or an empty one.
    pub fn estimate_fold(aggregate: &Aggregate, task: &Task, fold: usize) -> Result<Self, CovarianceError> {
        let folds = aggregate.folds().len();
        let sum = aggregate.folds().get(fold).ok_or(CovarianceError::Fold { fold, folds })?;
        Self::of_sum(sum, aggregate, task)
    }

    /// Debiases all folds but one: what is found in it owes nothing to the reports of the fold left out.
    ///
    /// # Errors
    /// [`CovarianceError`] for another task, a fold that does not exist, or when no other fold has reports.
    pub fn estimate_without_fold(aggregate: &Aggregate, task: &Task, fold: usize) -> Result<Self, CovarianceError> {
        let folds = aggregate.folds().len();
        if fold >= folds {
            return Err(CovarianceError::Fold { fold, folds });
        }
        let mut others = aggregate.folds().iter().enumerate().filter(|(index, _)| *index != fold).map(|(_, sum)| sum);
        let mut sum = others.next().ok_or(CovarianceError::Empty)?.clone();
        others.for_each(|other| sum.add(other));
        Self::of_sum(&sum, aggregate, task)
    }

    /// Debiases one report: what an aggregator reads out of it alone. The mean of these over many reports is the
    /// estimate.
    ///
    /// # Errors
    /// [`CovarianceError::Aggregate`] for a report of another task.
    pub fn of_report(report: &Report, task: &Task) -> Result<Self, CovarianceError> {
        let mut aggregate = Aggregate::empty(task);
        aggregate.accumulate(task, core::slice::from_ref(report))?;
        Self::estimate(&aggregate, task)
    }

    fn of_sum(sum: &FoldSum, aggregate: &Aggregate, task: &Task) -> Result<Self, CovarianceError> {
        if aggregate.task() != task.digest() {
            return Err(AggregateError::OtherTask { expected: task.digest(), found: aggregate.task() }.into());
        }
        let noise_law = NoiseLaw::new(task.mechanism(), task.bounding(), sum.records())
            .map_err(|_no_records| CovarianceError::Empty)?;
        let scale = task.bounding().covariance_scale();
        Ok(Self {
            matrix: task.mechanism().debias(sum.sums(), sum.records()) * scale,
            records: sum.records(),
            noise_deviation: scale * task.mechanism().entry_deviation() / (sum.records() as f64).sqrt(),
            noise_edge: scale * task.mechanism().noise_edge(sum.records()),
            noise_law,
        })
    }

    /// The d × d estimate.
    #[must_use]
    pub fn matrix(&self) -> &DMatrix<f64> {
        &self.matrix
    }

    /// The number of reports it is the mean of.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Standard deviation tau that the mechanism gives to one off-diagonal entry of [`Covariance::matrix`]; the
    /// sampling of the records comes on top.
    #[must_use]
    pub fn noise_deviation(&self) -> f64 {
        self.noise_deviation
    }

    /// The largest eigenvalue that noise alone would give. A component whose variance is not above it cannot be told
    /// from noise: more reports, or a larger epsilon, are needed.
    #[must_use]
    pub fn noise_edge(&self) -> f64 {
        self.noise_edge
    }

    /// How the estimate scatters about the truth: to predict its error, denoise it, or draw it again.
    #[must_use]
    pub fn noise_law(&self) -> NoiseLaw {
        self.noise_law
    }
}

/// Why there is no estimate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CovarianceError {
    /// Nothing was collected.
    #[error("there are no reports to estimate from: collect some first")]
    Empty,
    /// A fold that does not exist.
    #[error("there is no fold {fold}: the task has {folds}, counted from 0")]
    Fold {
        /// The fold asked for.
        fold: usize,
        /// The number of folds.
        folds: usize,
    },
    /// Another task.
    #[error(transparent)]
    Aggregate(#[from] AggregateError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use rand::SeedableRng;

    #[test]
    fn the_estimate_is_the_mean_of_what_its_reports_say_alone() {
        for mechanism in [
            r#"{"type": "double-cap", "epsilon": 2, "candidates": 64, "cap": 8}"#,
            r#"{"type": "gaussian", "epsilon": 2, "delta": 1e-6, "calibration": "analytic"}"#,
        ] {
            let task = Task::from_json(&format!(
                r#"{{"version": 1, "schema": {{"columns": [
                    {{"name": "a", "type": "numeric", "offset": 0, "scale": 1}},
                    {{"name": "b", "type": "numeric", "offset": 0, "scale": 1}}
                ]}}, "bounding": {{"type": "clip", "radius": 3}}, "mechanism": {mechanism}, "folds": 3}}"#
            ))
            .unwrap();
            let record = task.bound(vec![1.0, -2.0]).unwrap();
            let mut rng = ChaCha20Rng::from_seed([7; 32]);
            let reports: Vec<Report> = (0..20).map(|_| task.randomize_with_rng(&record, &mut rng).unwrap()).collect();
            let mut aggregate = Aggregate::empty(&task);
            aggregate.accumulate(&task, &reports).unwrap();
            let together = Covariance::estimate(&aggregate, &task).unwrap();
            let alone: DMatrix<f64> =
                reports.iter().map(|report| Covariance::of_report(report, &task).unwrap().matrix().clone()).sum();
            assert!((together.matrix() * 20.0 - &alone).norm() < 1e-9 * alone.norm());
        }
    }

    #[test]
    fn a_fold_and_the_rest_weigh_up_to_the_whole() {
        let task = Task::from_json(
            r#"{"version": 1, "schema": {"columns": [
                {"name": "a", "type": "numeric", "offset": 0, "scale": 1},
                {"name": "b", "type": "numeric", "offset": 0, "scale": 1}
            ]}, "bounding": {"type": "unit-norm"},
            "mechanism": {"type": "double-cap", "epsilon": 2, "candidates": 64, "cap": 8}, "folds": 3}"#,
        )
        .unwrap();
        let record = task.bound(vec![1.0, -2.0]).unwrap();
        let mut rng = ChaCha20Rng::from_seed([8; 32]);
        let reports: Vec<Report> = (0..30).map(|_| task.randomize_with_rng(&record, &mut rng).unwrap()).collect();
        let mut aggregate = Aggregate::empty(&task);
        aggregate.accumulate(&task, &reports).unwrap();
        let whole = Covariance::estimate(&aggregate, &task).unwrap();
        for fold in 0..3 {
            let part = Covariance::estimate_fold(&aggregate, &task, fold).unwrap();
            let rest = Covariance::estimate_without_fold(&aggregate, &task, fold).unwrap();
            assert_eq!(part.records() + rest.records(), 30);
            let sum = part.matrix() * part.records() as f64 + rest.matrix() * rest.records() as f64;
            assert!((sum / 30.0 - whole.matrix()).norm() < 1e-12 * whole.matrix().norm());
        }
        let none = Covariance::estimate_without_fold(&aggregate, &task, 3);
        assert_eq!(none, Err(CovarianceError::Fold { fold: 3, folds: 3 }));
    }
}
