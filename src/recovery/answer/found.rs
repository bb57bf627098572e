//! Everything found about components, in a form for programs: docs/recover.md has the meaning of every key.

use nalgebra::{DMatrix, DVector};
use serde::Serialize;

use super::super::held_out::used_rows;
use super::super::support::{FoundSupport, SupportConditions};
use super::super::{
    Bootstrap, BootstrapError, Components, CrossValidation, CrossValidationPoint, FantopeSolution, HeldOut, Interval,
    Method, PathPoint, Penalty, PenaltySelection, Rank, RecoveryError, SolverStatus, sparse_noise_edge,
};
use super::baselines::{Baselines, along_variances};
use super::patterns::{self, Standing, are_single_columns};
use super::{AnswerError, Source};
use crate::covariance::{Covariance, Mean};
use crate::family::FamilyMember;
use crate::law::{Along, NoiseLaw, split_leading, split_spectrum};
use crate::linalg::SymmetricEigen;
use crate::mechanism::HostilePull;
use crate::prediction::Prediction;
use crate::record::Bounding;
use crate::subspace::orient_columns_in_place;
use crate::task::Task;

/// The coverage of the intervals.
const LEVEL: f64 = 0.95;

/// The answer to a [`Question`](super::Question). Parts that were not asked for, or are not known, are `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Answer {
    /// The method of recovery.
    pub method: Method,
    /// Whether the components are of the covariance about an estimated mean, as those of a task with
    /// [centring](crate::centring) are. Those of other tasks are of second moments about zero.
    pub centred: bool,
    /// The number of reports.
    pub records: u64,
    /// The part of each task, of a task family.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub family: Option<Vec<FamilyMember>>,
    /// The number of features, d.
    pub dimension: usize,
    /// The number of components, k.
    pub rank: usize,
    /// Variances along the components in the estimate itself, with the bias of the noise, in the units of the
    /// covariance.
    pub eigenvalues: Vec<f64>,
    /// Variances along the components without the bias of the noise, where its law is known: estimates of the
    /// population's, none for a component that is not above the noise. In the units of the covariance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variances: Option<Vec<Option<f64>>>,
    /// The standard errors of these, of a population with normal records; none for noise, and for [`Self::ties`], whose
    /// variances the noise has ordered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub variance_errors: Option<Vec<Option<f64>>>,
    /// Trace of the debiased covariance, from what the reports say of the records' lengths where there is no centring.
    /// None where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_variance: Option<f64>,
    /// A bound on its standard error, where the law of the noise is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_variance_error: Option<f64>,
    /// Under unit norm the share of records whose values are all 0 or missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub empty_share: Option<f64>,
    /// A bound on its standard error, whatever the population is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub empty_share_error: Option<f64>,
    /// The shares of the total that the components hold, 0 for those that are noise; none where noise makes the total 0
    /// or less. The total is not taken to be less than the components hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explained_variance: Option<Vec<f64>>,
    /// The runs of plain components that cannot be told from each other, by their first and last index from 0, which
    /// may be that of the first beyond the rank: any rotation of them fits the reports as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[doc(hidden)]
    pub ties: Vec<[usize; 2]>,
    /// Whether the plain components above the noise hold no more variance than as many directions of single columns do,
    /// within two deviations: no pattern of several columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub single_columns: Option<bool>,
    /// One list of d loadings per component.
    pub components: Vec<Vec<f64>>,
    /// Diagonal of the projector: of each feature the sum of its squared loadings, from 0 to 1.
    pub leverages: Vec<f64>,
    /// The names of the features.
    pub feature_names: Vec<String>,
    /// Standard deviation of the noise in one off-diagonal covariance entry; 0 for the directions of public records.
    pub noise_deviation: f64,
    /// The variance that noise alone would give to the first component.
    pub noise_edge: f64,
    /// How far hostile reports can have moved the eigenvalues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostile: Option<HostilePull>,
    /// The mean, for a task with centring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<MeanAnswer>,
    /// The largest variances of single columns in the estimate, descending.
    #[serde(skip)]
    #[doc(hidden)]
    pub alone: Vec<f64>,
    /// Details of sparse components.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sparse: Option<SparseAnswer>,
    /// Details of the components of a thresholded estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soft_threshold: Option<ThresholdedAnswer>,
    /// The variance that methods capture in reports that they have not seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[doc(hidden)]
    pub held_out: Option<HeldOut>,
    /// The solution for every penalty of a sequence, largest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<PathPoint>>,
    /// The error to expect of plain components.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Prediction>,
    /// The bootstrap's result on the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// What was asked for and is missing, because time was up ([`Stop::OutOfTime`](super::Stop::OutOfTime)).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<Unfinished>,
    /// All eigenvalues of the estimate, descending, where they were computed.
    #[serde(skip)]
    pub spectrum: Option<Vec<f64>>,
    /// For plain components, the gap between the last eigenvalue kept and the first one dropped; none when all are
    /// kept. Beyond 2,000 features it is known to 2 % of the first eigenvalue.
    #[serde(skip)]
    pub gap: Option<f64>,
}

/// A part of an answer that time did not suffice for.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[doc(hidden)]
pub struct Unfinished {
    /// The part.
    pub part: Part,
    /// How much of it was done: problems, iterations, methods, replicates, records.
    pub done: u64,
    /// How much there was to do; none where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
}

/// The parts of an answer that may take long.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[doc(hidden)]
pub enum Part {
    /// Confirming the rank on reports held out: where it is unfinished, nothing is confirmed.
    Rank,
    /// Cross-validation of the penalty: where it is unfinished, the penalty is that of `auto`.
    Penalty,
    /// Comparing methods on reports held out: where it is unfinished, the components are those that were asked for, or
    /// plain ones.
    #[serde(rename = "held-out")]
    HeldOut,
    /// The sparse solution: where it is unfinished, its certified gap is wider than asked for.
    Solution,
    /// The sequence of penalties.
    Path,
    /// Simpler methods on the same estimate.
    Baselines,
    /// The interval of the error: where it is unfinished, it is of fewer replicates, or missing below 20.
    Bootstrap,
    /// The comparison with a reference.
    Reference,
    /// The comparison with another collection ([`change`](crate::recovery::change())): where it is unfinished, the
    /// p-value is of fewer replicates, or missing below 20.
    Other,
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
    /// The source of the penalty: [`PenaltyChoice::name`](crate::recovery::PenaltyChoice::name).
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
    #[doc(hidden)]
    pub conditions: Option<SupportConditions>,
    /// The scores of all penalties, largest first, where cross-validation chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cross_validation: Option<Vec<ScoredPenalty>>,
    /// Simpler methods on the same estimate.
    #[serde(flatten)]
    pub baselines: Option<Baselines>,
}

/// Plain components of the estimate after soft-thresholding.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[doc(hidden)]
pub struct ThresholdedAnswer {
    /// In the units of the covariance.
    pub penalty: f64,
    /// The names of the features that the components use.
    pub support: Vec<String>,
    /// Their rows, ascending from 0.
    #[serde(skip)]
    pub rows: Vec<usize>,
}

/// The method that found an answer's components, with its penalty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    Plain,
    Thresholded(Penalty),
    Sparse(Penalty),
}

/// One penalty of cross-validation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScoredPenalty {
    /// Its score.
    #[serde(flatten)]
    pub point: CrossValidationPoint,
    /// Whether it was chosen.
    pub chosen: bool,
}

/// The result of the bootstrap.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Confidence {
    /// The number of draws.
    pub replicates: usize,
    /// The nominal coverage of each interval; docs/recover.md states the assumptions.
    pub level: f64,
    /// For `||sin Theta||_F^2` of the components reported.
    #[serde(flatten)]
    pub interval: Interval,
    /// The median of the replicates.
    pub median: f64,
    /// One by one.
    pub components: Vec<ComponentInterval>,
    /// For every feature, the share of replicates that have it in their support.
    pub support_stability: Vec<f64>,
    /// Root mean squared error of every loading, one list of d per component.
    pub loading_errors: Vec<Vec<f64>>,
}

/// The result of the bootstrap for one component.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ComponentInterval {
    /// The true variance, estimated: corrected for the noise.
    pub eigenvalue: f64,
    /// Whether the component can be distinguished from noise.
    pub distinguishable: bool,
    /// For the share of the true component that is missed.
    #[serde(flatten)]
    pub interval: Interval,
}

impl Answer {
    /// How the solver ended; plain components are always optimal.
    #[must_use]
    pub fn status(&self) -> SolverStatus {
        self.sparse.as_ref().map_or(SolverStatus::Optimal, |sparse| sparse.status)
    }

    /// The penalty of sparse components; none for plain ones.
    #[must_use]
    #[doc(hidden)]
    pub fn penalty(&self) -> Option<f64> {
        let thresholded = self.soft_threshold.as_ref().map(|thresholded| thresholded.penalty);
        self.sparse.as_ref().map(|sparse| sparse.penalty).or(thresholded)
    }

    /// How the components were found.
    pub(super) fn found(&self) -> Result<Found, RecoveryError> {
        Ok(match self.penalty().map(Penalty::new).transpose()? {
            None => Found::Plain,
            Some(penalty) if self.sparse.is_some() => Found::Sparse(penalty),
            Some(penalty) => Found::Thresholded(penalty),
        })
    }

    /// The edge that the variances must exceed.
    #[must_use]
    #[doc(hidden)]
    pub fn edge(&self) -> f64 {
        match (&self.sparse, &self.soft_threshold) {
            (Some(sparse), _) => sparse.noise_edge,
            (None, Some(thresholded)) => {
                sparse_noise_edge(self.noise_deviation, self.dimension, thresholded.rows.len(), self.noise_edge)
            }
            (None, None) => self.noise_edge,
        }
    }

    /// The total that `explained_variance` has shares of; none where noise could give it, and shares would say little.
    #[must_use]
    #[doc(hidden)]
    pub fn whole(&self) -> Option<f64> {
        let deviation = self.total_variance_error.unwrap_or_else(|| {
            // That of d diagonal entries, each with sqrt(2) times the deviation of another entry.
            (2.0 * self.dimension as f64).sqrt() * self.noise_deviation
        });
        let total = self.total_variance.filter(|total| *total > TOTAL_DEVIATIONS * deviation)?;
        match &self.variances {
            Some(variances) => whole(&without_none(variances), total),
            None => whole(&self.eigenvalues, total),
        }
    }

    /// What speaks for the first component of second moments about zero being the mean, in words about it; nothing for
    /// components about the mean, or below the noise.
    #[must_use]
    #[doc(hidden)]
    pub fn marks_of_mean(&self) -> Vec<String> {
        let Some(loadings) = self.components.first() else { return vec![] };
        if self.centred || self.dimension == 1 || self.eigenvalues[0] <= self.edge() {
            return vec![];
        }
        let share = self.whole().and(self.explained_variance.as_ref()).map(|shares| shares[0]);
        patterns::marks_of_mean(loadings, &self.feature_names, share)
    }

    /// The components as columns, d × k.
    #[must_use]
    pub fn vectors(&self) -> DMatrix<f64> {
        DMatrix::from_fn(self.dimension, self.components.len(), |row, column| self.components[column][row])
    }

    /// This answer with these components, one list of d loadings each, and the variances along them.
    #[must_use]
    #[doc(hidden)]
    pub fn with_components(self, components: Vec<Vec<f64>>, eigenvalues: Vec<f64>) -> Self {
        let leverage = |row: usize| components.iter().map(|component| component[row].powi(2)).sum();
        Self {
            rank: components.len(),
            explained_variance: self.total_variance.and_then(|total| explained_variance(&eigenvalues, total)),
            leverages: (0..self.dimension).map(leverage).collect(),
            eigenvalues,
            components,
            ties: vec![],
            single_columns: None,
            ..self
        }
    }

    /// The facts about the estimate without its components.
    pub(super) fn facts(source: Source<'_>) -> Self {
        let Source { reports, covariance } = source;
        let (matrix, task) = (covariance.matrix(), reports.task());
        let (square, error) = covariance.mean_square(task);
        let is_unit_norm = task.bounding() == Bounding::UnitNorm;
        let total = covariance.mean().is_none().then_some(square);
        Self {
            centred: covariance.mean().is_some(),
            dimension: matrix.nrows(),
            records: covariance.records(),
            family: covariance.parts_of(reports),
            total_variance: total.or_else(|| Some(matrix.trace())),
            // The bound is about second moments, without a mean subtracted.
            total_variance_error: total.map(|_| error),
            empty_share: is_unit_norm.then_some(1.0 - square),
            empty_share_error: is_unit_norm.then_some(error),
            feature_names: task.schema().feature_names(),
            noise_deviation: covariance.noise_deviation(),
            noise_edge: covariance.noise_edge(),
            mean: covariance.mean().map(|mean| MeanAnswer::new(mean, covariance, task)),
            alone: patterns::alone(matrix, task.schema()),
            ..Self::default()
        }
    }

    /// Plain components of a large estimate, without its other eigenvalues but the next.
    pub(super) fn with_leading(self, mut found: SymmetricEigen) -> Self {
        orient_columns_in_place(&mut found.vectors);
        let rank = found.vectors.ncols();
        let answer = self.with_components(columns(&found.vectors), found.values.as_slice()[..rank].to_vec());
        Self { gap: Some(found.values[rank - 1] - found.values[rank]), ..answer }
    }

    /// The first `rank` of these components.
    pub(super) fn with_plain(self, plain: &Components, rank: Rank) -> Self {
        let rank = rank.value();
        let all = &plain.all_values;
        let answer = self
            .with_components(columns(&plain.vectors.columns(0, rank).into_owned()), all.as_slice()[..rank].to_vec());
        Self {
            spectrum: Some(all.as_slice().to_vec()),
            gap: (rank < all.len()).then(|| all[rank - 1] - all[rank]),
            ..answer
        }
    }

    /// This answer with the variances that the population has along the components, by the law of the noise. The
    /// estimated mean is empty without centring.
    pub(super) fn without_noise(self, law: &NoiseLaw, mean: &[f64]) -> Self {
        let Some(trace) = self.total_variance else { return self };
        let (dimension, rank) = (self.dimension, self.rank);
        let mean_square = |index: usize| {
            let along: f64 = self.components[index].iter().zip(mean).map(|(entry, mean)| entry * mean).sum();
            along * along
        };
        let (mut ties, mut single_columns) = (vec![], None);
        let found: Vec<Option<Along>> = match self.support_size() {
            None => {
                let split = match &self.spectrum {
                    Some(spectrum) => split_spectrum(&DVector::from_column_slice(spectrum), law),
                    None => split_leading(&self.eigenvalues, dimension, trace, law),
                };
                // With the first that was not asked for, which may be tied with the last that was.
                let next = self.gap.and_then(|gap| Some(self.eigenvalues.last()? - gap));
                let leading: Vec<f64> = self.eigenvalues.iter().copied().chain(next).collect();
                let above = law.standing_out(&leading, trace);
                let standing = |(index, &observed): (usize, &f64)| {
                    let square = if index < rank { mean_square(index) } else { 0.0 };
                    let eigenvalue = split.eigenvalue_along(index, observed, law, square);
                    // In few features one may stand out below the edge of many.
                    let eigenvalue = eigenvalue.or_else(|| split.bulk.eigenvalue(observed));
                    let eigenvalue = eigenvalue.unwrap_or_else(|| split.bulk.threshold().min(observed));
                    Standing { observed, truth: Along { eigenvalue, excess: law.excess(square) } }
                };
                let mut components: Vec<Standing> = leading.iter().enumerate().take(above).map(standing).collect();
                ties = patterns::ties(&components, law);
                components.truncate(rank);
                single_columns = are_single_columns(&components, &ties, &self.alone, law);
                let found = components.iter().map(|component| Some(component.truth));
                found.chain(core::iter::repeat(None)).take(rank).collect()
            }
            // On the rows of a sparse answer there is as much noise as in so many features.
            Some(support) => {
                let rest = trace - self.eigenvalues.iter().sum::<f64>();
                let level = rest / dimension.saturating_sub(rank).max(1) as f64;
                let bulk = law.bulk(level, support.saturating_sub(rank).max(1));
                let edge = self.edge();
                let above = |(index, &value): (usize, &f64)| {
                    let excess = law.excess(mean_square(index));
                    let eigenvalue = bulk.eigenvalue_along(value, excess).filter(|_| value > edge)?;
                    Some(Along { eigenvalue, excess })
                };
                self.eigenvalues.iter().enumerate().map(above).collect()
            }
        };
        let variances: Vec<Option<f64>> = found.iter().map(|along| along.map(|along| along.eigenvalue)).collect();
        // Noise orders the variances of a tie: the first ones are too large by more than their error.
        let is_tied = |index: usize| ties.iter().any(|[first, last]| (*first..=*last).contains(&index));
        let error = |along: Along| (2.0 * law.variance_between(along, along)).sqrt();
        let error_of = |(index, along): (usize, &Option<Along>)| along.filter(|_| !is_tied(index)).map(error);
        let variance_errors = found.iter().enumerate().map(error_of).collect();
        Self {
            explained_variance: explained_variance(&without_none(&variances), trace),
            variances: Some(variances),
            variance_errors: Some(variance_errors),
            ties,
            single_columns,
            ..self
        }
    }

    /// The number of features that take part; none for plain components.
    fn support_size(&self) -> Option<usize> {
        let thresholded = self.soft_threshold.as_ref().map(|thresholded| thresholded.rows.len());
        self.sparse.as_ref().map(|sparse| sparse.rows.len()).or(thresholded)
    }

    /// Plain components of the estimate after thresholding, with the variances along them in the estimate itself.
    pub(super) fn with_thresholded(
        self,
        penalty: Penalty,
        thresholded: &Components,
        estimate: &DMatrix<f64>,
    ) -> Result<Self, AnswerError> {
        let rows = used_rows(&thresholded.vectors);
        let support = rows.iter().filter_map(|&row| self.feature_names.get(row).cloned()).collect();
        let details = ThresholdedAnswer { penalty: penalty.value(), support, rows };
        let (vectors, variances) = along_variances(&thresholded.vectors, estimate)?;
        let answer = self.with_components(columns(&vectors), variances.as_slice().to_vec());
        Ok(Self { method: Method::SoftThreshold, soft_threshold: Some(details), ..answer })
    }

    pub(super) fn with_sparse(
        self,
        choice: &'static str,
        selection: &PenaltySelection,
        solution: FantopeSolution,
    ) -> Self {
        let support = solution.support.len();
        let sparse = SparseAnswer {
            status: solution.status,
            penalty: selection.penalty.value(),
            penalty_choice: choice,
            objective: solution.objective,
            dual_bound: solution.dual_bound,
            relative_gap: solution.relative_gap,
            failure_probability: solution.certificate.failure_probability(),
            iterations: solution.iterations,
            support: solution.support.iter().filter_map(|&row| self.feature_names.get(row).cloned()).collect(),
            rows: solution.support,
            leverages: solution.leverages,
            noise_edge: sparse_noise_edge(self.noise_deviation, self.dimension, support, self.noise_edge),
            conditions: None,
            cross_validation: selection.cross_validation.as_ref().map(ScoredPenalty::all),
            baselines: None,
        };
        let answer = self.with_components(columns(&solution.components), solution.variances.as_slice().to_vec());
        Self { method: Method::Fantope, sparse: Some(sparse), ..answer }
    }

    /// Checks the conditions of support recovery on the estimate of sparse components.
    pub(super) fn add_support_conditions(&mut self, estimate: &DMatrix<f64>) -> Result<(), AnswerError> {
        let Some(sparse) = &mut self.sparse else { return Ok(()) };
        let leverages: Vec<f64> = sparse.rows.iter().map(|&row| self.leverages[row]).collect();
        let without_noise = |index: usize| match &self.variances {
            Some(variances) => variances[index].unwrap_or(0.0),
            None => self.eigenvalues[index],
        };
        let found = FoundSupport {
            rows: &sparse.rows,
            leverages: &leverages,
            ends: [without_noise(0), without_noise(self.rank - 1)],
            rank: self.rank,
            penalty: sparse.penalty,
            noise_deviation: self.noise_deviation,
        };
        sparse.conditions = SupportConditions::check(estimate, &found)?;
        Ok(())
    }

    /// Adds the results of simpler methods on the estimate of sparse components. Plain ones have none.
    ///
    /// # Errors
    /// [`AnswerError::Recovery`], [`AnswerError::Subspace`] for another matrix.
    #[doc(hidden)]
    pub fn add_baselines(&mut self, estimate: &DMatrix<f64>) -> Result<(), AnswerError> {
        let found = self.vectors();
        let Some(sparse) = &mut self.sparse else { return Ok(()) };
        let penalty = Penalty::new(sparse.penalty)?;
        let (baselines, spectrum) = Baselines::new(estimate, penalty, &found, &self.feature_names)?;
        (sparse.baselines, self.spectrum) = (Some(baselines), Some(spectrum));
        Ok(())
    }
}

impl Part {
    /// The key for programs, on every interface.
    #[must_use]
    #[doc(hidden)]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rank => "rank",
            Self::Penalty => "penalty",
            Self::HeldOut => "held-out",
            Self::Solution => "solution",
            Self::Path => "path",
            Self::Baselines => "baselines",
            Self::Bootstrap => "bootstrap",
            Self::Reference => "reference",
            Self::Other => "other",
        }
    }
}

impl MeanAnswer {
    /// For an estimate of this task.
    #[must_use]
    #[doc(hidden)]
    pub fn new(mean: &Mean, covariance: &Covariance, task: &Task) -> Self {
        let in_column_units = match task.bounding() {
            Bounding::UnitNorm => None,
            Bounding::Clip { .. } => Some(task.schema().decode(mean.values())),
        };
        let squares: f64 = mean.values().iter().map(|entry| entry * entry).sum();
        let length = squares - mean.values().len() as f64 * mean.noise_deviation().powi(2);
        let total = covariance.second_moment().trace();
        Self {
            estimate: mean.clone(),
            in_column_units,
            noise_factor: covariance.noise_factor(),
            share: (total > 0.0).then(|| (length / total).clamp(0.0, 1.0)),
        }
    }
}

impl ScoredPenalty {
    fn all(validation: &CrossValidation) -> Vec<Self> {
        let scored = |point: &CrossValidationPoint| Self { chosen: point == validation.chosen(), point: point.clone() };
        validation.points().iter().map(scored).collect()
    }
}

impl Confidence {
    pub(super) fn of(outcome: &Bootstrap) -> Result<Self, BootstrapError> {
        let components = outcome.components.iter().map(|component| {
            let (eigenvalue, distinguishable) = (component.eigenvalue, component.distinguishable);
            Ok(ComponentInterval { eigenvalue, distinguishable, interval: component.interval(LEVEL)? })
        });
        Ok(Self {
            replicates: outcome.replicates(),
            level: LEVEL,
            interval: outcome.interval(LEVEL)?,
            median: outcome.median(),
            components: components.collect::<Result<_, BootstrapError>>()?,
            support_stability: outcome.support_stability.clone(),
            loading_errors: columns(&outcome.loading_errors),
        })
    }
}

/// The variances of components, 0 for those that are noise.
fn without_none(variances: &[Option<f64>]) -> Vec<f64> {
    variances.iter().map(|variance| variance.unwrap_or(0.0)).collect()
}

/// So many deviations of its noise a total must be away from 0 before anything is called a share of it.
const TOTAL_DEVIATIONS: f64 = 2.0;

/// The shares of a total variance that components hold; none where the total is 0 or less. It is not taken to be less
/// than they hold.
#[must_use]
pub fn explained_variance(variances: &[f64], total: f64) -> Option<Vec<f64>> {
    let whole = whole(variances, total)?;
    Some(variances.iter().map(|variance| variance / whole).collect())
}

/// A total above 0, which is at least what its parts hold.
fn whole(parts: &[f64], total: f64) -> Option<f64> {
    let held: f64 = parts.iter().map(|part| part.max(0.0)).sum();
    (total > 0.0).then(|| total.max(held))
}

fn columns(matrix: &DMatrix<f64>) -> Vec<Vec<f64>> {
    matrix.column_iter().map(|column| column.iter().copied().collect()).collect()
}
