//! What `recover` found, as programs see it. docs/recover.md has the meaning of every key.

use std::path::PathBuf;

use ldp_pca::covariance::{Covariance, Mean};
use ldp_pca::record::Bounding;
use ldp_pca::recovery::{CrossValidation, PathPoint, Rank, principal_components};
use ldp_pca::subspace::{Subspace, captured_variance, sin_theta_squared};
use ldp_pca::task::Task;
use nalgebra::{DMatrix, DVector};
use serde::Serialize;

use super::confidence::{ConfidenceResult, PredictionResult};
use super::denoising::CovarianceResult;
use crate::error::{CliError, Result};
use crate::hostile::HostileResult;

/// Empty by default: each source of components fills in what it knows.
#[derive(Default, Serialize)]
pub(crate) struct RecoverResult {
    pub(crate) method: &'static str,
    pub(crate) records: u64,
    pub(crate) dimension: usize,
    pub(crate) rank: usize,
    /// Variances along the components, in the units of the covariance.
    pub(crate) eigenvalues: Vec<f64>,
    /// Trace of the debiased covariance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total_variance: Option<f64>,
    /// The variances over the total; none where noise makes the total 0 or less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) explained_variance: Option<Vec<f64>>,
    /// One list of d loadings per component.
    pub(crate) components: Vec<Vec<f64>>,
    /// Diagonal of the projector: of each feature the sum of its squared loadings, from 0 to 1.
    pub(crate) leverages: Vec<f64>,
    pub(crate) feature_names: Vec<String>,
    /// Standard deviation of the noise in one off-diagonal covariance entry.
    pub(crate) noise_deviation: f64,
    /// The variance that noise alone would give to the first component.
    pub(crate) noise_edge: f64,
    /// What hostile reports can have moved the eigenvalues by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hostile: Option<HostileResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mean: Option<MeanResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sparse: Option<SparseResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<Vec<PathResult>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) predicted: Option<PredictionResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) confidence: Option<ConfidenceResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) covariance: Option<CovarianceResult>,
    /// `||sin Theta||_F^2` against the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sin_theta_squared: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reference: Option<ReferenceResult>,
    pub(crate) seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plot: Option<PathBuf>,
}

/// The mean, of a task with centring.
#[derive(Serialize)]
pub(crate) struct MeanResult {
    /// d entries in the units of the encoded features, and the deviation that the mechanism gives to each.
    #[serde(flatten)]
    pub(super) estimate: Mean,
    /// The entries in the units of the columns; not under unit norm, where they are those of a direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_column_units: Option<Vec<f64>>,
    /// The deviation of a covariance entry, as a multiple of what it would be without centring.
    pub(super) noise_factor: f64,
}

#[derive(Serialize)]
pub(crate) struct SparseResult {
    pub(super) status: &'static str,
    pub(super) penalty: f64,
    /// `auto`, `cv` or `value`.
    pub(super) penalty_choice: &'static str,
    pub(super) objective: f64,
    pub(super) relative_gap: f64,
    pub(super) iterations: usize,
    pub(super) support: Vec<String>,
    /// What noise alone can be expected to stay below on a support of this size.
    pub(super) noise_edge: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cross_validation: Option<Vec<CrossValidationResult>>,
    /// Absent for many features, where nothing else asks for whole decompositions.
    #[serde(flatten)]
    pub(super) baselines: Option<Baselines>,
}

/// Simpler methods on the same estimate.
#[derive(Serialize)]
pub(super) struct Baselines {
    pub(super) soft_threshold: BaselineResult,
    pub(super) pca: BaselineResult,
}

/// Another method's components of the same estimate.
#[derive(Serialize)]
pub(super) struct BaselineResult {
    pub(super) eigenvalues: Vec<f64>,
    pub(super) support: Vec<String>,
    /// `||sin Theta||_F^2` between its components and the sparse ones.
    pub(super) distance: f64,
    /// `||sin Theta||_F^2` against the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sin_theta_squared: Option<f64>,
    #[serde(skip)]
    pub(super) subspace: Subspace,
}

#[derive(Serialize)]
pub(super) struct CrossValidationResult {
    factor: f64,
    pub(super) penalty: f64,
    pub(super) mean_score: f64,
    pub(super) standard_error: f64,
    pub(super) mean_support: f64,
    scores: Vec<f64>,
    pub(super) chosen: bool,
}

#[derive(Serialize)]
pub(crate) struct PathResult {
    pub(super) penalty: f64,
    pub(super) status: &'static str,
    pub(super) support_size: usize,
    pub(super) objective: f64,
    pub(super) relative_gap: f64,
    pub(super) iterations: usize,
    pub(super) eigenvalues: Vec<f64>,
}

#[derive(Serialize)]
pub(crate) struct ReferenceResult {
    pub(super) records: u64,
    pub(super) skipped: u64,
    pub(super) eigenvalues: Vec<f64>,
    /// Share of the reference's total variance that the recovered components capture, and that its own capture.
    pub(super) captured_variance: f64,
    pub(super) largest_captured_variance: f64,
}

/// The non-private answer.
pub(crate) struct Reference {
    pub(crate) matrix: DMatrix<f64>,
    pub(crate) records: u64,
    pub(crate) skipped: u64,
}

impl RecoverResult {
    pub(super) fn new(covariance: &Covariance, task: &Task, vectors: &DMatrix<f64>, variances: &DVector<f64>) -> Self {
        let total = covariance.matrix().trace();
        let components: Vec<Vec<f64>> = vectors.column_iter().map(|column| column.iter().copied().collect()).collect();
        Self {
            method: "pca",
            records: covariance.records(),
            dimension: task.dimension(),
            rank: vectors.ncols(),
            eigenvalues: variances.iter().copied().collect(),
            total_variance: Some(total),
            explained_variance: (total > 0.0).then(|| variances.iter().map(|variance| variance / total).collect()),
            leverages: leverages(&components),
            components,
            feature_names: task.schema().feature_names(),
            noise_deviation: covariance.noise_deviation(),
            noise_edge: covariance.noise_edge(),
            mean: covariance.mean().map(|mean| MeanResult::of(mean, covariance, task)),
            ..Self::default()
        }
    }

    /// Fills in how far the components are from those of the reference.
    pub(crate) fn compare(&mut self, reference: &Reference) -> Result<()> {
        if reference.records == 0 {
            return Err(CliError::Failed("the reference has no records to compare with".into()));
        }
        let vectors = DMatrix::from_fn(self.dimension, self.rank, |row, column| self.components[column][row]);
        let ours = Subspace::new(&vectors)?;
        let best = principal_components(&reference.matrix, Rank::new(self.rank)?)?;
        let theirs = Subspace::new(&best.vectors)?;
        let total = reference.matrix.trace();
        self.sin_theta_squared = Some(sin_theta_squared(&ours, &theirs)?);
        if let Some(baselines) = self.sparse.as_mut().and_then(|sparse| sparse.baselines.as_mut()) {
            for baseline in [&mut baselines.soft_threshold, &mut baselines.pca] {
                baseline.sin_theta_squared = Some(sin_theta_squared(&baseline.subspace, &theirs)?);
            }
        }
        self.reference = Some(ReferenceResult {
            records: reference.records,
            skipped: reference.skipped,
            eigenvalues: best.values.iter().copied().collect(),
            captured_variance: captured_variance(&ours, &reference.matrix)? / total,
            largest_captured_variance: captured_variance(&theirs, &reference.matrix)? / total,
        });
        Ok(())
    }

    /// The features in descending order of leverage, ties in the order of the schema.
    pub(super) fn by_leverage(&self) -> Vec<usize> {
        descending(&self.leverages)
    }

    /// The edge that the variances must rise above.
    pub(super) fn edge(&self) -> f64 {
        self.sparse.as_ref().map_or(self.noise_edge, |sparse| sparse.noise_edge)
    }
}

impl MeanResult {
    fn of(mean: &Mean, covariance: &Covariance, task: &Task) -> Self {
        let in_column_units = match task.bounding() {
            Bounding::UnitNorm => None,
            Bounding::Clip { .. } => Some(task.schema().decode(mean.values())),
        };
        Self { estimate: mean.clone(), in_column_units, noise_factor: covariance.noise_factor() }
    }
}

impl CrossValidationResult {
    pub(super) fn of(validation: &CrossValidation) -> Vec<Self> {
        let point = |point: &ldp_pca::recovery::CrossValidationPoint| Self {
            factor: point.factor,
            penalty: point.penalty.value(),
            mean_score: point.mean_score,
            standard_error: point.standard_error,
            mean_support: point.mean_support,
            scores: point.scores.clone(),
            chosen: point == validation.chosen(),
        };
        validation.points().iter().map(point).collect()
    }
}

impl PathResult {
    pub(super) fn of(point: &PathPoint) -> Self {
        Self {
            penalty: point.penalty.value(),
            status: point.status.name(),
            support_size: point.support.len(),
            objective: point.objective,
            relative_gap: point.relative_gap,
            iterations: point.iterations,
            eigenvalues: point.variances.iter().copied().collect(),
        }
    }
}

/// The diagonal of the projector on orthonormal components.
pub(crate) fn leverages(components: &[Vec<f64>]) -> Vec<f64> {
    let features = components.first().map_or(0, Vec::len);
    (0..features).map(|row| components.iter().map(|component| component[row].powi(2)).sum()).collect()
}

/// Positions of the values from the largest magnitude to the smallest, ties in order.
pub(super) fn descending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&left, &right| values[right].abs().total_cmp(&values[left].abs()));
    order
}
