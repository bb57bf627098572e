//! Everything about the components of a collection, in one [`Answer`] to one [`Question`], for every interface.
//!
//! ```
//! use std::ops::ControlFlow;
//! use ldp_pca::recovery::{PenaltyChoice, Question, Reports, answer};
//! use ldp_pca::{Aggregate, Bounding, Covariance, Epsilon, Folds, MechanismSpec, Rank, Schema, Task};
//!
//! // The first two of six features move together.
//! let mechanism = MechanismSpec::double_cap(Epsilon::new(4.0)?);
//! let task = Task::new(Schema::numeric(6)?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
//! let report = |index: usize| {
//!     let mut record = vec![1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
//!     record[2 + index % 4] = 0.5;
//!     task.randomize(&task.bound(record)?, None).map_err(ldp_pca::Error::from)
//! };
//! let mut aggregate = Aggregate::empty(&task);
//! aggregate.accumulate(&task, &(0..2_000).map(report).collect::<Result<Vec<_>, ldp_pca::Error>>()?)?;
//!
//! let covariance = Covariance::estimate(&aggregate, &task)?;
//! let question = Question { penalty: Some(PenaltyChoice::default()), ..Question::new(Rank::new(1)?) };
//! let reports = Reports::one(&aggregate, &task);
//! let answer = answer(&question, reports, &covariance, &mut |_| ControlFlow::Continue(()))?;
//! assert!(answer.found.sparse.unwrap().rows.starts_with(&[0, 1]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod baselines;
mod build;
mod found;
mod patterns;
mod question;
#[cfg(test)]
pub(super) mod tests;
mod trust;
mod watch;
mod work;

pub use baselines::{Baseline, Baselines};
pub use found::{Asked, Found, MeanAnswer, Selection, SparseAnswer, ThresholdedAnswer, mean_answer};
pub use question::{HeldOutUse, Question, When, solve};
pub use trust::{ComponentInterval, Confidence, OtherCollection, ReferenceAnswer, ReferenceComparison, Trust};
pub use watch::{Missing, Part, Step, Stop, Unfinished, Watch};

use nalgebra::DMatrix;
use serde::Serialize;
use thiserror::Error;

use self::baselines::baselines_of;
use self::found::{explained_variance, whole};
use self::watch::Watched;
use self::work::Work;
use super::{
    BootstrapError, Change, FantopeProblem, FeatureTest, Penalty, PenaltyError, Rank, RankTest, RecoveryError,
    SolverStatus, principal_components, sparse_noise_edge,
};
use crate::covariance::Covariance;
use crate::decimal::Decimal;
use crate::family::Reports;
use crate::law::DRAWS;
use crate::linalg::leading_eigen;
use crate::mechanism::HostilePull;
use crate::prediction::{Prediction, PredictionError, predict_from_estimate};
use crate::subspace::{
    Subspace, SubspaceError, captured_variance, orient_columns_in_place, share_found, sin_theta_squared,
};
use crate::task::Task;

/// The simpler methods that are compared.
const METHODS: usize = 2;

/// So many deviations of its noise a total must be away from 0 before anything is called a share of it.
const TOTAL_DEVIATIONS: f64 = 2.0;

/// So many of its standard errors the share of records that say nothing must be above 0.
const EMPTY_DEVIATIONS: f64 = 2.0;

/// The answer to a [`Question`], in four parts. What was not asked for, or is not known, is `None` in them. As JSON all
/// parts are one flat document, and docs/reference/json.md has the meaning of every key.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Answer {
    /// What was asked.
    #[serde(flatten)]
    pub asked: Asked,
    /// What was found.
    #[serde(flatten)]
    pub found: Found,
    /// How far it can be trusted.
    #[serde(flatten)]
    pub trust: Trust,
    /// What is missing, and why.
    #[serde(flatten)]
    pub missing: Missing,
}

/// The reports of a task or of a family, and the estimate of all of them.
#[derive(Clone, Copy, Debug)]
struct Source<'a> {
    reports: Reports<'a>,
    covariance: &'a Covariance,
}

/// Answers the question about the reports of a task or of a family, of which `covariance` is the estimate. The callback
/// may stop the work: when time is up, the answer has what was found until then. Without that reason a stopped solution
/// is the last thing in an answer, and a stopped sequence of penalties an error.
///
/// # Errors
/// [`AnswerError`]; [`RecoveryError::NoComponent`] where the rank is to be found and nothing stands out from the noise.
pub fn answer(
    question: &Question,
    reports: Reports<'_>,
    covariance: &Covariance,
    watch: &mut Watch<'_>,
) -> Result<Answer, AnswerError> {
    answer_by(question, reports, covariance, watch, RankTest::rank)
}

/// As [`answer()`]. Where the rank is to be found, it is what `rank_of` makes of the test.
///
/// # Errors
/// [`AnswerError`], and what `rank_of` returns.
pub fn answer_by(
    question: &Question,
    reports: Reports<'_>,
    covariance: &Covariance,
    watch: &mut Watch<'_>,
    rank_of: impl FnOnce(&RankTest) -> Result<Rank, RecoveryError>,
) -> Result<Answer, AnswerError> {
    question.check_selection(reports.task())?;
    let source = Source { reports, covariance };
    if !question.find_rank {
        return answer_of_rank(question, source, None, watch);
    }
    let (mut test, untested) = RankTest::in_time(covariance.matrix(), &covariance.noise_law(), DRAWS, watch)?;
    let question = Question { rank: rank_of(&test)?, find_rank: false, test_rank: false, ..question.clone() };
    let is_confirmed = question.held_out != HeldOutUse::Nothing && test.standing_out() > 0;
    let unconfirmed = if is_confirmed { test.confirm(reports, covariance, watch)? } else { None };
    let mut answer = answer_of_rank(&question, source, Some(test), watch)?;
    answer.missing.unfinished.extend(untested.or(unconfirmed));
    Ok(answer)
}

/// The answer with the rank of the question, and with the test that found it, if one did.
fn answer_of_rank(
    question: &Question,
    source: Source<'_>,
    test: Option<RankTest>,
    watch: &mut Watch<'_>,
) -> Result<Answer, AnswerError> {
    let Source { reports, covariance } = source;
    let (matrix, law, mean) = (covariance.matrix(), covariance.noise_law(), source.mean());
    let mut work = Work { question, source, watch: Watched::new(watch) };
    let mut answer = work.components()?;
    answer.trust.rank_test = test;
    if answer.found.status() == SolverStatus::Cancelled {
        return Ok(answer.without_noise(&law, &mean));
    }
    let compared = question.held_out == HeldOutUse::Choose && question.penalty.is_none();
    if question.held_out != HeldOutUse::Nothing && !compared {
        answer.trust.held_out = work.measure(&answer)?;
    }
    if answer.found.sparse.is_some() {
        if let Some(points) = question.path {
            answer.found.path = work.solve_path(points)?;
        }
        if question.baselines.decompose(matrix.nrows()) && work.watch.begin(Part::Baselines, Some(METHODS)) {
            answer.add_baselines(matrix)?;
        }
    }
    let pull = |hostile| HostilePull::new(hostile, answer.asked.records, |count| covariance.pull(reports, count));
    answer.trust.hostile = question.hostile.map(pull);
    let is_tested = question.test_rank && When::Quick.decompose(matrix.nrows());
    if is_tested && work.watch.begin(Part::Rank, None) {
        let (test, untested) = RankTest::in_time(matrix, &law, DRAWS, &mut |step| work.watch.flow(step))?;
        answer.trust.rank_test = Some(test);
        work.watch.unfinished.extend(untested);
    }
    // The test decides which components are noise.
    answer = answer.without_noise(&law, &mean);
    answer.add_support_conditions(matrix)?;
    if question.predict && When::Quick.decompose(matrix.nrows()) {
        let predicted = predict_from_estimate(covariance, question.rank)?;
        // It is of what stands out, and of nothing else is anything known: where nothing does, it has no share.
        let share_found = predicted.share_found.filter(|_| !answer.standing_out().is_empty());
        answer.trust.predicted = Some(Prediction { share_found, ..predicted });
    }
    if let Some(replicates) = question.bootstrap {
        answer.trust.confidence = work.confidence(&answer, (&law, &mean), replicates)?;
    }
    if let Some(rate) = question.select {
        let test = FeatureTest::new(covariance, question.rank)?;
        let names = &answer.asked.feature_names;
        let features = test.selected(rate).into_iter().map(|feature| names[feature].clone()).collect();
        answer.found.selection = Some(Selection { rate, features, test });
    }
    answer.missing.unfinished = work.watch.unfinished;
    Ok(answer)
}

/// Only the components, equal to those of [`answer()`] for the rank of the question. No test finds it here, or which of
/// them are noise.
///
/// # Errors
/// [`AnswerError::Penalty`], [`AnswerError::Recovery`].
pub fn components(
    question: &Question,
    reports: Reports<'_>,
    covariance: &Covariance,
    watch: &mut Watch<'_>,
) -> Result<Answer, AnswerError> {
    let source = Source { reports, covariance };
    let mut work = Work { question, source, watch: Watched::new(watch) };
    let mut answer = work.components()?.without_noise(&covariance.noise_law(), &source.mean());
    answer.missing.unfinished = work.watch.unfinished;
    Ok(answer)
}

/// Plain components of what two waves of `task` say together. Nothing is said of the law of such an estimate.
pub(crate) fn components_of_waves(matrix: &DMatrix<f64>, task: &Task, rank: Rank) -> Result<Answer, AnswerError> {
    plain(matrix, rank, facts_of_matrix(matrix, task.schema().feature_names()))
}

/// Components of a matrix of whose noise nothing is known, and whose features have no names: plain ones, or with a
/// penalty sparse ones.
///
/// # Errors
/// [`AnswerError::Recovery`].
pub fn components_of_matrix(
    matrix: &DMatrix<f64>,
    rank: Rank,
    penalty: Option<Penalty>,
    tolerance: Option<f64>,
    watch: &mut Watch<'_>,
) -> Result<Answer, AnswerError> {
    let facts = facts_of_matrix(matrix, vec![]);
    let Some(penalty) = penalty else { return plain(matrix, rank, facts) };
    let problem = FantopeProblem::new(matrix, rank, penalty)?;
    let solution = solve(&problem, tolerance, None, &mut |progress| watch(&Step::Solving(*progress)))?;
    Ok(facts.with_sparse("value", (penalty, None), solution))
}

fn facts_of_matrix(matrix: &DMatrix<f64>, feature_names: Vec<String>) -> Answer {
    Answer {
        asked: Asked { dimension: matrix.nrows(), feature_names, ..Asked::default() },
        found: Found { total_variance: Some(matrix.trace()), ..Found::default() },
        ..Answer::default()
    }
}

/// Plain components. A whole decomposition of a large estimate takes long, and nothing else needs it. In the browser,
/// where the module's size counts, it is taken all the same.
fn plain(matrix: &DMatrix<f64>, rank: Rank, facts: Answer) -> Result<Answer, AnswerError> {
    if !cfg!(target_family = "wasm")
        && !When::Quick.decompose(matrix.nrows())
        && let Some(mut found) = leading_eigen(matrix, rank.value()).map_err(RecoveryError::from)?
    {
        orient_columns_in_place(&mut found.vectors);
        return Ok(facts.with_plain(&found.vectors, found.values.as_slice(), rank));
    }
    let found = principal_components(matrix, rank)?;
    Ok(facts.with_plain(&found.vectors, found.all_values.as_slice(), rank))
}

impl Answer {
    /// The span of the reference's components, and the comparison with them.
    fn comparison(
        &self,
        reference: &DMatrix<f64>,
        records: u64,
    ) -> Result<(Subspace, ReferenceComparison), AnswerError> {
        if records == 0 {
            return Err(AnswerError::EmptyReference);
        }
        let best = principal_components(reference, Rank::new(self.asked.rank)?)?;
        let (ours, theirs) = (Subspace::new(&self.vectors())?, Subspace::new(&best.vectors)?);
        let share = |subspace: &Subspace| -> Result<f64, AnswerError> {
            let share = captured_variance(subspace, reference)? / reference.trace();
            // Rounding alone may exceed the whole; it is no number where there is no variance.
            Ok(if share > 1.0 { 1.0 } else { share })
        };
        let compared = ReferenceComparison {
            sin_theta_squared: sin_theta_squared(&ours, &theirs)?,
            reference: ReferenceAnswer {
                records,
                eigenvalues: best.values.as_slice().to_vec(),
                captured_variance: share(&ours)?,
                largest_captured_variance: share(&theirs)?,
                share_found: share_found(&ours, &theirs, reference)?,
            },
        };
        Ok((theirs, compared))
    }

    /// Compares the simpler methods, if there are any, with a reference.
    fn compare_baselines(&mut self, reference: &Subspace) -> Result<(), SubspaceError> {
        let baselines = self.found.sparse.as_mut().and_then(|sparse| sparse.baselines.as_mut());
        if let Some(Baselines { soft_threshold, pca }) = baselines {
            for baseline in [soft_threshold, pca] {
                baseline.sin_theta_squared = Some(sin_theta_squared(&baseline.subspace, reference)?);
            }
        }
        Ok(())
    }

    /// The components as columns, d × k.
    #[must_use]
    pub fn vectors(&self) -> DMatrix<f64> {
        let components = &self.found.components;
        DMatrix::from_fn(self.asked.dimension, components.len(), |row, column| components[column][row])
    }
}

/// What our own crates need and others do not.
#[doc(hidden)]
impl Answer {
    /// This answer with these components, one list of d loadings each, and the variances along them.
    #[must_use]
    pub fn with_components(mut self, components: Vec<Vec<f64>>, eigenvalues: Vec<f64>) -> Self {
        let leverage = |row: usize| components.iter().map(|component| component[row].powi(2)).sum();
        self.asked.rank = components.len();
        let found = &mut self.found;
        found.explained_variance = found.total_variance.and_then(|total| explained_variance(&eigenvalues, total));
        found.leverages = (0..self.asked.dimension).map(leverage).collect();
        (found.eigenvalues, found.components) = (eigenvalues, components);
        (found.ties, found.single_columns) = (vec![], None);
        self
    }

    /// The edge that the variances must exceed: of components on few features that of so many.
    #[must_use]
    pub fn edge(&self) -> f64 {
        let Trust { noise_deviation, noise_edge, .. } = self.trust;
        let on_few = |rows: &[usize]| sparse_noise_edge(noise_deviation, self.asked.dimension, rows.len(), noise_edge);
        self.found.support().map_or(noise_edge, on_few)
    }

    /// The share of records that say nothing, and its standard error, where that stands out from the noise.
    #[must_use]
    pub fn empty(&self) -> Option<(f64, f64)> {
        let known = self.found.empty_share.zip(self.trust.empty_share_error);
        known.filter(|(share, error)| *share > EMPTY_DEVIATIONS * error)
    }

    /// The variances along the components, none for one that is not above the noise: by its law, or of two waves, whose
    /// noise has none that is known, by the edge, with the bias of the noise.
    #[must_use]
    pub fn variances_above(&self) -> Vec<Option<f64>> {
        let above = |&value: &f64| (value > self.edge()).then_some(value);
        let by_edge = || self.found.eigenvalues.iter().map(above).collect();
        self.found.variances.clone().unwrap_or_else(by_edge)
    }

    /// The components that stand out, by their index from 0: those that the rank test finds, and beyond what it tested
    /// those above the noise.
    #[must_use]
    pub fn standing_out(&self) -> Vec<usize> {
        let above = self.variances_above();
        let standing = self.standing(|| above.iter().flatten().count());
        (0..standing.min(above.len())).collect()
    }

    /// How many components stand out: as many as the rank test finds, and if it did not come to an end, as many as
    /// `untested` says.
    ///
    /// *Assumption*: sparse components stand in the place of the plain ones, of which the test is. They divide the same
    /// variance otherwise, so that of one may be below what noise reaches. *Effect*: with too large a penalty one that
    /// counts may have little of the direction that stands out, as a plain one hardly above the noise has.
    fn standing(&self, untested: impl FnOnce() -> usize) -> usize {
        let Some(test) = &self.trust.rank_test else { return untested() };
        let found = test.standing_out();
        // Where all that were tested stand out, nothing is known of the next.
        if found < test.components.len() { found } else { untested().max(found) }
    }

    /// How many components stand out, those beyond the ones asked for too, as far as that is known.
    #[must_use]
    pub fn all_standing(&self) -> usize {
        self.standing(|| self.standing_out().len())
    }

    /// The edge of the noise over the rest, once nothing stands out any more. The edge of noise beside no variance,
    /// which data without structure exceed too, is in its place only where no test knows more.
    #[must_use]
    pub fn edge_beside_what_stands_out(&self) -> f64 {
        let test = self.trust.rank_test.as_ref();
        test.and_then(RankTest::edge_beside_what_stands_out).unwrap_or(self.trust.noise_edge)
    }

    /// How many of the components do not stand out.
    #[must_use]
    pub fn buried(&self) -> usize {
        self.asked.rank - self.standing_out().len()
    }

    /// The total that `explained_variance` has shares of; none where noise could give it, and shares would say little.
    #[must_use]
    pub fn whole(&self) -> Option<f64> {
        let deviation = self.trust.total_variance_error.unwrap_or_else(|| {
            // That of d diagonal entries, each with sqrt(2) times the deviation of another entry.
            (2.0 * self.asked.dimension as f64).sqrt() * self.trust.noise_deviation
        });
        let total = self.found.total_variance.filter(|total| *total > TOTAL_DEVIATIONS * deviation)?;
        whole(&self.found.standing(), total)
    }

    /// What speaks for the first component of second moments about zero being the mean, in words about it; nothing for
    /// components about the mean, or where none stands out.
    #[must_use]
    pub fn marks_of_mean(&self) -> Vec<String> {
        let (Asked { centred, dimension, feature_names, .. }, found) = (&self.asked, &self.found);
        let Some(loadings) = found.components.first() else { return vec![] };
        if *centred || *dimension == 1 || self.standing_out().is_empty() {
            return vec![];
        }
        let share = self.whole().and(found.explained_variance.as_ref()).map(|shares| shares[0]);
        patterns::marks_of_mean(loadings, feature_names, share)
    }

    /// Adds the results of simpler methods on the estimate of sparse components. Plain ones have none.
    ///
    /// # Errors
    /// [`AnswerError::Recovery`], [`AnswerError::Subspace`] for another matrix.
    pub fn add_baselines(&mut self, estimate: &DMatrix<f64>) -> Result<(), AnswerError> {
        let found = self.vectors();
        let Some(sparse) = &mut self.found.sparse else { return Ok(()) };
        let penalty = Penalty::new(sparse.penalty)?;
        let (baselines, spectrum) = baselines_of(estimate, penalty, &found, &self.asked.feature_names)?;
        (sparse.baselines, self.found.spectrum) = (Some(baselines), Some(spectrum));
        Ok(())
    }

    /// Compares the components with those of a reference, the answer without privacy, and the
    /// [baselines](super::Baselines) with them. The `reference` (d × d) is the estimated quantity of so many `records`:
    /// the covariance where the task has centring, otherwise the second moments.
    ///
    /// # Errors
    /// [`AnswerError::EmptyReference`]; [`AnswerError::Recovery`] and [`AnswerError::Subspace`] for a reference of
    /// another dimension.
    pub fn compare(&mut self, reference: &DMatrix<f64>, records: u64) -> Result<(), AnswerError> {
        let (best, compared) = self.comparison(reference, records)?;
        self.compare_baselines(&best)?;
        self.trust.compared = Some(compared);
        Ok(())
    }

    /// Compares the components with ordinary ones, of records that are not bounded.
    ///
    /// # Errors
    /// As [`Answer::compare`].
    pub fn compare_ordinary(&mut self, reference: &DMatrix<f64>, records: u64) -> Result<(), AnswerError> {
        self.trust.ordinary_pca = Some(self.comparison(reference, records)?.1);
        Ok(())
    }

    /// `||sin Theta||_F^2` between the components and these, d × k. The [baselines](super::Baselines) are compared too.
    ///
    /// # Errors
    /// [`AnswerError::Subspace`] for components of another number or length, or that depend on each other.
    pub fn compare_components(&mut self, reference: &DMatrix<f64>) -> Result<f64, AnswerError> {
        let theirs = Subspace::new(reference)?;
        self.compare_baselines(&theirs)?;
        Ok(sin_theta_squared(&Subspace::new(&self.vectors())?, &theirs)?)
    }

    /// Adds the comparison of the collections of two tasks. The asker has this name for the sums of the second, and
    /// wanted so many replicates.
    pub fn add_other(&mut self, tasks: [&Task; 2], aggregate: String, change: Change, replicates: usize) {
        let periods = match tasks.map(Task::period) {
            [Some(first), Some(other)] if first != other => Some([first, other].map(str::to_owned)),
            _ => None,
        };
        if change.replicates < replicates {
            let (done, of) = (change.replicates as u64, Some(replicates as u64));
            self.missing.unfinished.push(Unfinished { part: Part::Other, done, of });
        }
        self.trust.other = Some(OtherCollection { aggregate, periods, change });
    }
}

impl Source<'_> {
    /// The estimated mean, of a task with centring; otherwise empty.
    fn mean(self) -> Vec<f64> {
        self.covariance.mean().map_or(vec![], |mean| mean.without_bias().as_slice().to_vec())
    }
}

/// Reasons why there is no answer.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum AnswerError {
    /// A reference of no records.
    #[error("the reference has no records to compare with")]
    EmptyReference,
    /// Naming features of reports that do not say what features covary, which the field `select` of [`Question`] asks
    /// for.
    #[error("no features are selected from these reports: {0}")]
    Selection(&'static str),
    /// A rate of false discoveries that is none.
    #[error("{} is no rate of false discoveries: it must be above 0 and below 1", Decimal(*.0))]
    Rate(f64),
    /// Choosing a penalty, or a path.
    #[error(transparent)]
    Penalty(#[from] PenaltyError),
    /// The components.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// Their predicted error.
    #[error(transparent)]
    Prediction(#[from] PredictionError),
    /// The interval of their error.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// Comparing subspaces.
    #[error(transparent)]
    Subspace(#[from] SubspaceError),
}
