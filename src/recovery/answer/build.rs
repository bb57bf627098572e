//! From an estimate to an answer: what it says of itself, its components, and their variances without the noise.

use nalgebra::{DMatrix, DVector};

use super::super::bootstrap::SubspaceEstimate;
use super::super::penalty::SelectedPenalty;
use super::super::support::{FoundSupport, SupportConditions};
use super::super::{FantopeSolution, Method, Penalty, Rank, sparse_noise_edge};
use super::baselines::along_variances;
use super::found::{Asked, Found, SparseAnswer, ThresholdedAnswer, explained_variance, mean_answer};
use super::patterns::{self, Standing, are_single_columns};
use super::trust::{Trust, columns_of};
use super::{Answer, AnswerError, Source};
use crate::law::{Along, NoiseLaw, split_leading, split_spectrum};
use crate::record::Bounding;

impl Answer {
    /// The facts about the estimate without its components.
    pub(super) fn facts(source: Source<'_>) -> Self {
        let Source { reports, covariance } = source;
        let (matrix, task) = (covariance.matrix(), reports.task());
        let (square, error) = covariance.mean_square(task);
        let is_unit_norm = task.bounding() == Bounding::UnitNorm;
        let is_centred = covariance.mean().is_some();
        Self {
            asked: Asked {
                centred: is_centred,
                records: covariance.records(),
                family: reports.parts(&covariance.each),
                dimension: matrix.nrows(),
                feature_names: task.schema().feature_names(),
                ..Asked::default()
            },
            found: Found {
                total_variance: Some(if is_centred { matrix.trace() } else { square }),
                empty_share: is_unit_norm.then_some(1.0 - square),
                mean: mean_answer(covariance, task),
                alone: patterns::alone(matrix, task.schema()),
                ..Found::default()
            },
            trust: Trust {
                noise_deviation: covariance.noise_deviation(),
                noise_edge: covariance.noise_edge(),
                // The bound is about second moments, without a mean subtracted.
                total_variance_error: (!is_centred).then_some(error),
                empty_share_error: is_unit_norm.then_some(error),
                ..Trust::default()
            },
            ..Self::default()
        }
    }

    /// The first `rank` of these plain components, with all eigenvalues of the estimate, or of a large one with as many
    /// as there are components and the next.
    pub(super) fn with_plain(self, vectors: &DMatrix<f64>, values: &[f64], rank: Rank) -> Self {
        let rank = rank.value();
        let first = columns_of(&vectors.columns(0, rank).into_owned());
        let mut answer = self.with_components(first, values[..rank].to_vec());
        answer.found.spectrum = (values.len() == answer.asked.dimension).then(|| values.to_vec());
        answer.found.gap = values.get(rank).map(|next| values[rank - 1] - next);
        answer
    }

    /// Plain components of the estimate after thresholding, with the variances along them in the estimate itself.
    pub(super) fn with_thresholded(
        self,
        penalty: Penalty,
        SubspaceEstimate { components, support: rows }: SubspaceEstimate,
        estimate: &DMatrix<f64>,
    ) -> Result<Self, AnswerError> {
        let support = rows.iter().filter_map(|&row| self.asked.feature_names.get(row).cloned()).collect();
        let details = ThresholdedAnswer { penalty: penalty.value(), support, rows };
        let (vectors, variances) = along_variances(&components, estimate)?;
        let mut answer = self.with_components(columns_of(&vectors), variances.as_slice().to_vec());
        answer.asked.method = Method::SoftThreshold;
        answer.found.soft_threshold = Some(details);
        Ok(answer)
    }

    pub(super) fn with_sparse(
        self,
        choice: &'static str,
        (penalty, cross_validation): SelectedPenalty,
        solution: FantopeSolution,
    ) -> Self {
        let (size, Asked { dimension, feature_names, .. }) = (solution.support.len(), &self.asked);
        let sparse = SparseAnswer {
            status: solution.status,
            penalty: penalty.value(),
            penalty_choice: choice,
            objective: solution.objective,
            dual_bound: solution.dual_bound,
            relative_gap: solution.relative_gap,
            failure_probability: solution.certificate.failure_probability(),
            iterations: solution.iterations,
            support: solution.support.iter().filter_map(|&row| feature_names.get(row).cloned()).collect(),
            rows: solution.support,
            leverages: solution.leverages,
            noise_edge: sparse_noise_edge(self.trust.noise_deviation, *dimension, size, self.trust.noise_edge),
            conditions: None,
            cross_validation,
            baselines: None,
        };
        let mut answer = self.with_components(columns_of(&solution.components), solution.variances.as_slice().to_vec());
        answer.asked.method = Method::Fantope;
        answer.found.sparse = Some(sparse);
        answer
    }

    /// This answer with the variances that the population has along the components, by the law of the noise. The
    /// estimated mean is empty without centring.
    pub(super) fn without_noise(mut self, law: &NoiseLaw, mean: &[f64]) -> Self {
        let Some(trace) = self.found.total_variance else { return self };
        let mean_square = |index: usize| {
            let along: f64 = self.found.components[index].iter().zip(mean).map(|(entry, mean)| entry * mean).sum();
            along * along
        };
        let (mut ties, mut single_columns) = (vec![], None);
        let found: Vec<Option<Along>> = match self.found.support() {
            None => {
                let (components, tied) = self.plain_without_noise(law, trace, mean_square);
                single_columns = are_single_columns(&components, &tied, &self.found.alone, law);
                ties = tied;
                let found = components.iter().map(|component| Some(component.truth));
                found.chain(core::iter::repeat(None)).take(self.asked.rank).collect()
            }
            Some(rows) => self.sparse_without_noise(law, trace, rows.len(), mean_square),
        };
        let variances: Vec<Option<f64>> = found.iter().map(|along| along.map(|along| along.eigenvalue)).collect();
        // Noise orders the variances of a tie: the first ones are too large by more than their error.
        let is_tied = |index: usize| ties.iter().any(|[first, last]| (*first..=*last).contains(&index));
        let error = |along: Along| (2.0 * law.variance_between(along, along)).sqrt();
        let error_of = |(index, along): (usize, &Option<Along>)| along.filter(|_| !is_tied(index)).map(error);
        self.trust.variance_errors = Some(found.iter().enumerate().map(error_of).collect());
        self.found.variances = Some(variances);
        self.found.explained_variance = explained_variance(&self.found.standing(), trace);
        (self.found.ties, self.found.single_columns) = (ties, single_columns);
        self
    }

    /// The plain components that stand out from the noise, at most as many as were asked for, and the runs of them that
    /// cannot be told from each other.
    fn plain_without_noise(
        &self,
        law: &NoiseLaw,
        trace: f64,
        mean_square: impl Fn(usize) -> f64,
    ) -> (Vec<Standing>, Vec<[usize; 2]>) {
        let (Found { eigenvalues, spectrum, gap, .. }, rank) = (&self.found, self.asked.rank);
        let split = match spectrum {
            Some(spectrum) => split_spectrum(&DVector::from_column_slice(spectrum), law),
            None => split_leading(eigenvalues, self.asked.dimension, trace, law),
        };
        // With the first that was not asked for, which may be tied with the last that was.
        let next = gap.and_then(|gap| Some(eigenvalues.last()? - gap));
        let leading: Vec<f64> = eigenvalues.iter().copied().chain(next).collect();
        let above = self.standing(|| law.standing_out(&leading, trace));
        let standing = |(index, &observed): (usize, &f64)| {
            let square = if index < rank { mean_square(index) } else { 0.0 };
            let eigenvalue = split.eigenvalue_along(index, observed, law, square);
            // In few features one may stand out below the edge of many.
            let eigenvalue = eigenvalue.or_else(|| split.bulk.eigenvalue(observed));
            let eigenvalue = eigenvalue.unwrap_or_else(|| split.bulk.threshold().min(observed));
            Standing { observed, truth: Along { eigenvalue, excess: law.excess(square) } }
        };
        let mut components: Vec<Standing> = leading.iter().enumerate().take(above).map(standing).collect();
        let ties = patterns::ties(&components, law);
        components.truncate(rank);
        (components, ties)
    }

    /// The sparse components that stand out from the noise: on their rows is as much of it as in so many features. One
    /// that the test of plain ones finds may be below it.
    fn sparse_without_noise(
        &self,
        law: &NoiseLaw,
        trace: f64,
        support: usize,
        mean_square: impl Fn(usize) -> f64,
    ) -> Vec<Option<Along>> {
        let (eigenvalues, Asked { dimension, rank, .. }) = (&self.found.eigenvalues, &self.asked);
        let rest = trace - eigenvalues.iter().sum::<f64>();
        let level = rest / dimension.saturating_sub(*rank).max(1) as f64;
        let bulk = law.bulk(level, support.saturating_sub(*rank).max(1));
        let is_above = |value: &&f64| **value > self.edge() && **value > bulk.edge();
        let standing = self.standing(|| eigenvalues.iter().take_while(is_above).count());
        let above = |(index, &value): (usize, &f64)| {
            let excess = law.excess(mean_square(index));
            let eigenvalue = bulk.eigenvalue_along(value, excess).unwrap_or_else(|| bulk.threshold().min(value));
            (index < standing).then_some(Along { eigenvalue, excess })
        };
        eigenvalues.iter().enumerate().map(above).collect()
    }

    /// Checks the conditions of support recovery on the estimate of sparse components.
    pub(super) fn add_support_conditions(&mut self, estimate: &DMatrix<f64>) -> Result<(), AnswerError> {
        let standing = self.found.standing();
        let Some(sparse) = &mut self.found.sparse else { return Ok(()) };
        let leverages: Vec<f64> = sparse.rows.iter().map(|&row| self.found.leverages[row]).collect();
        let found = FoundSupport {
            rows: &sparse.rows,
            leverages: &leverages,
            ends: [standing[0], standing[self.asked.rank - 1]],
            rank: self.asked.rank,
            penalty: sparse.penalty,
            noise_deviation: self.trust.noise_deviation,
        };
        sparse.conditions = SupportConditions::check(estimate, &found)?;
        Ok(())
    }
}
