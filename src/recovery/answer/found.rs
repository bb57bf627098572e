//! The second part of an answer: what was found.

use serde::Serialize;

use super::super::support::SupportConditions;
use super::super::{CrossValidationPoint, FeatureTest, Method, PathPoint, SolverStatus};
use super::baselines::Baselines;
use crate::covariance::{Covariance, Mean};
use crate::family::FamilyMember;
use crate::record::Bounding;
use crate::task::Task;

/// What was asked: how many components of which reports, and by which method.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Asked {
    /// The method of recovery, as asked for or chosen on reports held out.
    pub method: Method,
    /// Whether the components are of the covariance about an estimated mean, as those of a task with
    /// [centring](crate::centring) are. Those of other tasks are of second moments about zero.
    pub centred: bool,
    /// The number of reports.
    pub records: u64,
    /// The part of each task, of a task family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<Vec<FamilyMember>>,
    /// The number of features, d.
    pub dimension: usize,
    /// The number of components, k.
    pub rank: usize,
    /// The names of the features.
    pub feature_names: Vec<String>,
}

/// What was found: components, the variance along them, and the features that take part.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Found {
    /// Variances along the components in the estimate itself, with the bias of the noise, in the units of the
    /// covariance.
    pub eigenvalues: Vec<f64>,
    /// Variances along the components without the bias of the noise, where its law is known: estimates of the
    /// population's, none for a component that the rank test does not find, or where there is none, that is not above
    /// the noise. In the units of the covariance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variances: Option<Vec<Option<f64>>>,
    /// Trace of the debiased covariance, from what the reports say of the records' lengths where there is no centring.
    /// None where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_variance: Option<f64>,
    /// Under unit norm the share of records whose values are all 0 or missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty_share: Option<f64>,
    /// The shares of the total that the components hold, 0 for those that are noise; none where noise makes the total 0
    /// or less. The total is not taken to be less than the components hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explained_variance: Option<Vec<f64>>,
    /// The runs of plain components that cannot be told from each other, by their first and last index from 0, which
    /// may be that of the first beyond the rank: any rotation of them fits the reports as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ties: Vec<[usize; 2]>,
    /// Whether the plain components above the noise hold no more variance than as many directions of single columns do,
    /// within two deviations: no pattern of several columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub single_columns: Option<bool>,
    /// One list of d loadings per component.
    pub components: Vec<Vec<f64>>,
    /// Diagonal of the projector: of each feature the sum of its squared loadings, from 0 to 1.
    pub leverages: Vec<f64>,
    /// The mean, for a task with centring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<MeanAnswer>,
    /// Details of sparse components.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sparse: Option<SparseAnswer>,
    /// Details of the components of a thresholded estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soft_threshold: Option<ThresholdedAnswer>,
    /// The features that take part, at the rate asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// The solution for every penalty of a sequence, largest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<PathPoint>>,
    /// All eigenvalues of the estimate, descending, where they were computed.
    #[serde(skip)]
    pub spectrum: Option<Vec<f64>>,
    /// For plain components, the gap between the last eigenvalue kept and the first one dropped; none when all are
    /// kept. Beyond 2,000 features it is known to 2 % of the first eigenvalue.
    #[serde(skip)]
    pub gap: Option<f64>,
    /// The largest variances of single columns in the estimate, descending.
    #[serde(skip)]
    pub(super) alone: Vec<f64>,
}

/// The mean, of a task with centring.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeanAnswer {
    /// d entries in the units of the encoded features, and the deviation that the mechanism gives to each.
    #[serde(flatten)]
    pub estimate: Mean,
    /// The entries in the units of the columns; not under unit norm, where they are those of a direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_column_units: Option<Vec<f64>>,
    /// The deviation of a covariance entry, as a multiple of what it would be without centring.
    pub noise_factor: f64,
    /// The part of the second moments about zero that is due to the mean, `|mu|^2 / tr E[x x^T]`, without the bias of
    /// the noise; none where noise makes the total 0 or less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

/// How the sparse problem was solved.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SparseAnswer {
    /// How the solver ended.
    pub status: SolverStatus,
    /// In the units of the covariance.
    pub penalty: f64,
    /// The source of the penalty: `auto`, `cv` or `value`.
    pub penalty_choice: &'static str,
    /// The objective reached.
    pub objective: f64,
    /// The upper bound on the objective.
    #[serde(skip)]
    pub dual_bound: f64,
    /// The certified gap between the two.
    pub relative_gap: f64,
    /// The probability that the bound is wrong; 0 where it uses all eigenvalues.
    #[serde(skip)]
    pub failure_probability: f64,
    /// Iterations of the solver.
    pub iterations: usize,
    /// The names of the features that the components use.
    pub support: Vec<String>,
    /// Their rows, ascending from 0.
    #[serde(skip)]
    pub rows: Vec<usize>,
    /// The diagonal of the solution on those rows.
    #[serde(skip)]
    pub leverages: Vec<f64>,
    /// The variance that noise alone is expected to stay below on a support of this size.
    pub noise_edge: f64,
    /// Whether the estimate meets the conditions under which the support is that of the population; none for a large
    /// support.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<SupportConditions>,
    /// The scores of all penalties, largest first, where cross-validation chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cross_validation: Option<Vec<CrossValidationPoint>>,
    /// Simpler methods on the same estimate.
    #[serde(flatten)]
    pub baselines: Option<Baselines>,
}

/// Plain components of the estimate after soft-thresholding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThresholdedAnswer {
    /// In the units of the covariance.
    pub penalty: f64,
    /// The names of the features that the components use.
    pub support: Vec<String>,
    /// Their rows, ascending from 0.
    #[serde(skip)]
    pub rows: Vec<usize>,
}

/// The features that take part in the components, by a [`FeatureTest`] of each.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Selection {
    /// The rate of false discoveries.
    pub rate: f64,
    /// The names of the features selected.
    pub features: Vec<String>,
    /// The test.
    #[serde(flatten)]
    pub test: FeatureTest,
}

impl Found {
    /// How the solver ended; plain components are always optimal.
    #[must_use]
    pub fn status(&self) -> SolverStatus {
        self.sparse.as_ref().map_or(SolverStatus::Optimal, |sparse| sparse.status)
    }

    /// The penalty of sparse components; none for plain ones.
    #[must_use]
    pub fn penalty(&self) -> Option<f64> {
        let thresholded = self.soft_threshold.as_ref().map(|thresholded| thresholded.penalty);
        self.sparse.as_ref().map(|sparse| sparse.penalty).or(thresholded)
    }

    /// The rows of the features that take part, ascending from 0; none for plain components.
    #[must_use]
    pub fn support(&self) -> Option<&[usize]> {
        let thresholded = self.soft_threshold.as_ref().map(|thresholded| &*thresholded.rows);
        self.sparse.as_ref().map(|sparse| &*sparse.rows).or(thresholded)
    }

    /// The variances along the components, 0 for those that are noise; where the law of the noise is not known, with
    /// its bias.
    pub(super) fn standing(&self) -> Vec<f64> {
        match &self.variances {
            Some(variances) => variances.iter().map(|variance| variance.unwrap_or(0.0)).collect(),
            None => self.eigenvalues.clone(),
        }
    }
}

/// What an answer says of the mean that an estimate of this task has; nothing without centring.
#[must_use]
pub fn mean_answer(covariance: &Covariance, task: &Task) -> Option<MeanAnswer> {
    let mean = covariance.mean()?;
    let in_column_units = match task.bounding() {
        Bounding::UnitNorm => None,
        Bounding::Clip { .. } => Some(task.schema().decode(mean.values())),
    };
    let squares: f64 = mean.values().iter().map(|entry| entry * entry).sum();
    let length = squares - mean.values().len() as f64 * mean.noise_deviation().powi(2);
    let total = covariance.second_moment().trace();
    Some(MeanAnswer {
        estimate: mean.clone(),
        in_column_units,
        noise_factor: covariance.noise_factor(),
        share: (total > 0.0).then(|| (length / total).clamp(0.0, 1.0)),
    })
}

/// The shares of a total variance that components hold; none where the total is 0 or less. It is not taken to be less
/// than they hold.
pub(super) fn explained_variance(variances: &[f64], total: f64) -> Option<Vec<f64>> {
    let whole = whole(variances, total)?;
    Some(variances.iter().map(|variance| variance / whole).collect())
}

/// A total above 0, which is at least what its parts hold.
pub(super) fn whole(parts: &[f64], total: f64) -> Option<f64> {
    let held: f64 = parts.iter().map(|part| part.max(0.0)).sum();
    (total > 0.0).then(|| total.max(held))
}
