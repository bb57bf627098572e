//! Everything about the components of a collection, in one [`Answer`] to one [`Question`], for every interface.
//!
//! ```
//! use std::ops::ControlFlow;
//! use ldp_pca::family::Reports;
//! use ldp_pca::recovery::{PenaltyChoice, Question, answer};
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
//! assert!(answer.sparse.unwrap().rows.starts_with(&[0, 1]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod baselines;
mod found;
mod patterns;
mod reference;
#[cfg(test)]
pub(super) mod tests;
mod watch;

pub use baselines::{Baseline, Baselines};
pub use found::{
    Answer, ComponentInterval, Confidence, MeanAnswer, Part, ScoredPenalty, SparseAnswer, ThresholdedAnswer,
    Unfinished, explained_variance,
};
pub use reference::{Reference, ReferenceAnswer, ReferenceComparison};
pub use watch::{Step, Stop, Watch};

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;

use chacha20::ChaCha12Rng;
use nalgebra::DMatrix;
use rand::SeedableRng;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use self::found::Found;
use self::watch::{Watched, unreasoned};
use super::bootstrap::bootstrap_until;
use super::held_out::used_rows;
use super::{
    BootstrapError, BootstrapProgress, Components, FantopeError, FantopeProblem, FantopeSolution, FantopeSolver, Fit,
    HeldOut, Method, PathError, PathPoint, PenaltyChoice, PenaltyError, PenaltyPath, PenaltySelection, Progress, Rank,
    RecoveryError, SolverSettings, SolverStatus, SubspaceEstimate, default_penalty, principal_components,
    soft_threshold,
};
use crate::covariance::Covariance;
use crate::family::Reports;
use crate::law::NoiseLaw;
use crate::linalg::leading_eigen;
use crate::mechanism::HostilePull;
use crate::prediction::{PredictionError, Spectrum, predict, predict_from_estimate};
use crate::subspace::SubspaceError;
use crate::task::Task;

/// The most features for which all eigenvalues are computed without being asked for: beyond, that takes longer than a
/// sparse solution.
pub(super) const DECOMPOSED: usize = 2_000;

/// The simpler methods that are compared.
const METHODS: usize = 2;

/// Duality gap to which replicates are solved: far below their differences through noise.
const REPLICATE_TOLERANCE: f64 = 1e-4;

/// Iterations for one sparse problem of a comparison on reports held out: what is found after so many is measured as it
/// is, so that penalties far too small for the noise, whose problems are the hardest, do not take all the time.
const MOST_ITERATIONS: usize = 300;

/// A question about the reports of a collection. [`Question::new`] asks only for plain components.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The number of components, k.
    pub rank: Rank,
    /// The choice of the penalty of sparse components; `None` for plain components.
    pub penalty: Option<PenaltyChoice>,
    /// How the sparse problem is solved.
    pub solver: Solver,
    /// The number of penalties to solve as well, from the largest that changes anything ([`PenaltyPath::to_default`]).
    pub path: Option<usize>,
    /// Whether to add simpler methods on the same estimate beside sparse components.
    pub baselines: When,
    /// What to do with reports held out, where there are folds, up to 2,000 features.
    pub held_out: HeldOutUse,
    /// Whether the error is predicted, up to 2,000 features.
    pub predict: bool,
    /// How often the noise is drawn again, for an interval of the error.
    pub bootstrap: Option<usize>,
    /// Seed of those draws.
    pub bootstrap_seed: u64,
    /// A number of hostile reports, to bound how far they can move an eigenvalue.
    pub hostile: Option<u64>,
}

/// When to do work that takes full eigendecompositions.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// Never.
    #[default]
    Never,
    /// Up to 2,000 features.
    Quick,
    /// Always.
    Always,
}

/// What reports that an answer was not found from are used for.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeldOutUse {
    /// Nothing.
    #[default]
    Nothing,
    /// Measuring the variance that the components capture.
    Measure,
    /// Measuring the variance that the components capture, and choosing the method and its penalty where the question
    /// has no penalty.
    Choose,
}

/// The stopping rules of the solver.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Solver {
    /// Relative duality gap at which the solution counts as optimal. Default 1e-6.
    pub tolerance: f64,
    /// Largest number of iterations, one eigendecomposition each. Default 100,000.
    pub max_iterations: usize,
}

/// The reports of a task or of a [family](crate::family), and the estimate of all of them.
#[derive(Clone, Copy, Debug)]
struct Source<'a> {
    reports: Reports<'a>,
    covariance: &'a Covariance,
}

/// Answers the question about the reports of a task or of a [family](crate::family), of which `covariance` is the
/// estimate. The callback may stop the work: when time is up, the answer has what was found until then. Without that
/// reason a stopped solution is the last thing in an answer, and a stopped sequence of penalties an error.
///
/// # Errors
/// [`AnswerError`].
pub fn answer(
    question: &Question,
    reports: Reports<'_>,
    covariance: &Covariance,
    watch: &mut Watch<'_>,
) -> Result<Answer, AnswerError> {
    let source = Source { reports, covariance };
    let (matrix, law, mean) = (covariance.matrix(), covariance.noise_law(), source.mean());
    let mut watch = Watched::new(watch);
    let mut answer = question.components(source, &mut watch)?.without_noise(&law, &mean);
    if answer.status() == SolverStatus::Cancelled {
        return Ok(answer);
    }
    let compared = question.held_out == HeldOutUse::Choose && question.penalty.is_none();
    if question.held_out != HeldOutUse::Nothing && !compared {
        answer.held_out = question.measure(&answer, source, &mut watch)?;
    }
    if answer.sparse.is_some() {
        if let Some(points) = question.path {
            answer.path = question.solve_path(points, source, &mut watch)?;
        }
        if question.baselines.decompose(matrix.nrows()) && watch.begin(Part::Baselines, METHODS) {
            answer.add_baselines(matrix)?;
        }
        answer.add_support_conditions(matrix)?;
    }
    answer.hostile = question
        .hostile
        .map(|hostile| HostilePull::new(hostile, answer.records, |count| covariance.pull_of(reports, count)));
    if question.predict && When::Quick.decompose(matrix.nrows()) {
        answer.predicted = Some(predict_from_estimate(covariance, question.rank)?);
    }
    if let Some(replicates) = question.bootstrap {
        answer.confidence = question.confidence(matrix, (&law, &mean), answer.found()?, replicates, &mut watch)?;
    }
    answer.unfinished = watch.unfinished;
    Ok(answer)
}

/// Only the components, equal to those of [`answer()`].
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
    let mut watch = Watched::new(watch);
    let answer = question.components(source, &mut watch)?.without_noise(&covariance.noise_law(), &source.mean());
    Ok(Answer { unfinished: watch.unfinished, ..answer })
}

/// Plain components of what two waves of `task` say together. Nothing is said of the law of such an estimate.
pub(crate) fn components_of_waves(matrix: &DMatrix<f64>, task: &Task, rank: Rank) -> Result<Answer, AnswerError> {
    let facts = Answer {
        centred: false,
        dimension: matrix.nrows(),
        total_variance: Some(matrix.trace()),
        feature_names: task.schema().feature_names(),
        ..Answer::default()
    };
    plain(matrix, rank, facts)
}

/// Plain components. A whole decomposition of a large estimate takes long, and nothing else needs it. In the browser,
/// where the module's size counts, it is taken all the same.
fn plain(matrix: &DMatrix<f64>, rank: Rank, facts: Answer) -> Result<Answer, AnswerError> {
    if !cfg!(target_family = "wasm")
        && !When::Quick.decompose(matrix.nrows())
        && let Some(found) = leading_eigen(matrix, rank.value()).map_err(RecoveryError::from)?
    {
        return Ok(facts.with_leading(found));
    }
    Ok(facts.with_plain(&principal_components(matrix, rank)?, rank))
}

/// All plain components of an estimate, for answers at several ranks: those of a rank are the first ones.
#[derive(Clone, Debug)]
pub struct Decomposition {
    facts: Answer,
    components: Components,
    /// The estimated mean, of a task with centring; otherwise empty.
    mean: Vec<f64>,
    spectrum: Spectrum,
    law: NoiseLaw,
}

impl Decomposition {
    /// Decomposes the estimate.
    ///
    /// # Errors
    /// As [`principal_components`] and [`Spectrum::of_estimate`].
    pub fn new(reports: Reports<'_>, covariance: &Covariance) -> Result<Self, AnswerError> {
        let source = Source { reports, covariance };
        let all = Rank::new(covariance.matrix().nrows())?;
        let components = principal_components(covariance.matrix(), all)?;
        let (spectrum, law) = (Spectrum::of_estimate(covariance)?, covariance.noise_law());
        Ok(Self { facts: Answer::facts(source), components, mean: source.mean(), spectrum, law })
    }

    /// The number of reports.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.facts.records
    }

    /// The leading components, and their predicted error if that is wanted.
    ///
    /// # Errors
    /// [`FantopeError::RankExceedsDimension`].
    pub fn leading(&self, rank: Rank, predicted: bool) -> Result<Answer, AnswerError> {
        rank.check(self.components.values.len())?;
        let mut answer = self.facts.clone().with_plain(&self.components, rank).without_noise(&self.law, &self.mean);
        if predicted {
            answer.predicted = Some(predict(&self.spectrum, rank, &self.law)?);
        }
        Ok(answer)
    }
}

impl Question {
    /// Asks for plain components of this rank.
    #[must_use]
    pub fn new(rank: Rank) -> Self {
        Self {
            rank,
            penalty: None,
            solver: Solver::default(),
            path: None,
            baselines: When::Never,
            held_out: HeldOutUse::Nothing,
            predict: false,
            bootstrap: None,
            bootstrap_seed: 1,
            hostile: None,
        }
    }

    /// Accepts the question about so many features: the rank, and the settings of the solver.
    ///
    /// # Errors
    /// [`FantopeError::RankExceedsDimension`], [`FantopeError::InvalidSetting`].
    #[doc(hidden)]
    pub fn check(&self, dimension: usize) -> Result<(), FantopeError> {
        self.rank.check(dimension)?;
        FantopeSolver::new(self.solver.settings()).map(|_| ())
    }

    fn components(&self, source: Source<'_>, watch: &mut Watched<'_, '_>) -> Result<Answer, AnswerError> {
        let plain_ones = || plain(source.covariance.matrix(), self.rank, Answer::facts(source));
        match &self.penalty {
            Some(choice) => {
                let (choice, selection) = self.select(choice, source, watch)?;
                self.sparse(choice, &selection, source, watch)
            }
            None if self.held_out == HeldOutUse::Choose => {
                let Some(mut held_out) = self.compare(&HeldOut::candidates(), source, watch)? else {
                    return plain_ones();
                };
                let answer = self.fitted(held_out.choose(), source, watch)?;
                Ok(Answer { held_out: Some(held_out), ..answer })
            }
            None => plain_ones(),
        }
    }

    /// The components of a method that was chosen on reports held out.
    fn fitted(&self, fit: Fit, source: Source<'_>, watch: &mut Watched<'_, '_>) -> Result<Answer, AnswerError> {
        let (matrix, facts) = (source.covariance.matrix(), Answer::facts(source));
        let penalty = default_penalty(facts.noise_deviation, matrix.nrows(), fit.factor)?;
        match fit.method {
            Method::Pca => plain(matrix, self.rank, facts),
            Method::SoftThreshold => {
                let components = principal_components(&soft_threshold(matrix, penalty), self.rank)?;
                facts.with_thresholded(penalty, &components, matrix)
            }
            Method::Fantope => {
                let selection = PenaltySelection { penalty, cross_validation: None };
                self.sparse("held-out", &selection, source, watch)
            }
        }
    }

    fn sparse(
        &self,
        choice: &'static str,
        selection: &PenaltySelection,
        source: Source<'_>,
        watch: &mut Watched<'_, '_>,
    ) -> Result<Answer, AnswerError> {
        let problem = FantopeProblem::new(source.covariance.matrix(), self.rank, selection.penalty)?;
        let solution = self.solver.solve(&problem, &mut |progress| watch.flow(&Step::Solving(*progress)))?;
        if watch.is_late() && solution.status == SolverStatus::BudgetExhausted {
            watch.missing(Part::Solution, solution.iterations, self.solver.max_iterations);
        }
        Ok(Answer::facts(source).with_sparse(choice, selection, solution))
    }

    /// Measures the method of an answer, beside plain components, on reports held out.
    fn measure(
        &self,
        answer: &Answer,
        source: Source<'_>,
        watch: &mut Watched<'_, '_>,
    ) -> Result<Option<HeldOut>, AnswerError> {
        let mut fits = vec![Fit::PLAIN];
        if let Some(penalty) = answer.penalty() {
            let unit = default_penalty(answer.noise_deviation, answer.dimension, 1.0)?.value();
            fits.push(Fit { method: answer.method, factor: penalty / unit });
        }
        let mut held_out = self.compare(&fits, source, watch)?;
        if let Some(last) = held_out.as_mut().and_then(|held_out| held_out.answers.last_mut()) {
            last.chosen = true;
        }
        Ok(held_out)
    }

    /// Compares methods on reports held out; nothing where there are no folds, too many features, or too little time.
    fn compare(
        &self,
        fits: &[Fit],
        source: Source<'_>,
        watch: &mut Watched<'_, '_>,
    ) -> Result<Option<HeldOut>, AnswerError> {
        let Source { reports, covariance } = source;
        // With one feature there is one answer, and no penalty has a unit.
        if !(2..=DECOMPOSED).contains(&covariance.matrix().nrows()) {
            return Ok(None);
        }
        let problems = HeldOut::problems(reports, fits);
        if !watch.begin(Part::HeldOut, problems) {
            return Ok(None);
        }
        let settings = SolverSettings { max_iterations: MOST_ITERATIONS, ..self.solver.settings().for_sequence() };
        let measured = HeldOut::measure(reports, covariance, self.rank, fits, &settings, &mut |state| {
            watch.step(&Step::Validating(*state))
        });
        match measured {
            Err(PenaltyError::Path(PathError::Cancelled { solved, total })) if watch.is_late() => {
                watch.missing(Part::HeldOut, solved, total);
                Ok(None)
            }
            measured => Ok(measured?),
        }
    }

    /// The penalty, and the name of the choice that gave it: `auto` where time did not suffice for cross-validation.
    fn select(
        &self,
        choice: &PenaltyChoice,
        source: Source<'_>,
        watch: &mut Watched<'_, '_>,
    ) -> Result<(&'static str, PenaltySelection), AnswerError> {
        let settings = self.solver.settings().for_sequence();
        let select = |choice: &PenaltyChoice, watch: &mut Watched<'_, '_>| {
            choice.select_for(source.covariance, source.reports, self.rank, &settings, &mut |state| {
                watch.step(&Step::Validating(*state))
            })
        };
        match select(choice, watch) {
            Err(PenaltyError::Path(PathError::Cancelled { solved, total })) if watch.is_late() => {
                watch.missing(Part::Penalty, solved, total);
                let auto = PenaltyChoice::default();
                Ok((auto.name(), select(&auto, watch)?))
            }
            selection => Ok((choice.name(), selection?)),
        }
    }

    /// The points that were solved in time; none where there are none.
    fn solve_path(
        &self,
        points: usize,
        source: Source<'_>,
        watch: &mut Watched<'_, '_>,
    ) -> Result<Option<Vec<PathPoint>>, AnswerError> {
        let matrix = source.covariance.matrix();
        let penalties = PenaltyPath::default_penalties(matrix, source.covariance.noise_deviation(), points)?;
        if !watch.begin(Part::Path, penalties.len()) {
            return Ok(None);
        }
        let mut solved = Vec::with_capacity(penalties.len());
        let settings = self.solver.settings().for_sequence();
        let outcome = PenaltyPath::solve_into(&mut solved, matrix, self.rank, &penalties, &settings, &mut |state| {
            watch.step(&Step::Path(*state))
        });
        match outcome {
            Err(PathError::Cancelled { total, .. }) if watch.is_late() => {
                watch.missing(Part::Path, solved.len(), total);
            }
            outcome => outcome.map_err(PenaltyError::from)?,
        }
        Ok((!solved.is_empty()).then_some(solved))
    }

    /// Bootstraps the components; none where time did not suffice for an interval.
    ///
    /// The truth behind a sparse answer may be as sparse as the answer, or as dense as the plain components: nothing
    /// in the reports decides it. Each replicate is drawn from both, and the interval holds both.
    fn confidence(
        &self,
        matrix: &DMatrix<f64>,
        noise: (&NoiseLaw, &[f64]),
        found: Found,
        replicates: usize,
        watch: &mut Watched<'_, '_>,
    ) -> Result<Option<Confidence>, AnswerError> {
        if !watch.begin(Part::Bootstrap, replicates) {
            return Ok(None);
        }
        let settings = SolverSettings { tolerance: REPLICATE_TOLERANCE, ..SolverSettings::default() };
        let solver = FantopeSolver::new(settings)?;
        let watched = RefCell::new(watch);
        let last = Cell::new(BootstrapProgress { done: 0, replicates });
        let plain = |matrix: &DMatrix<f64>| principal_components(matrix, self.rank);
        let estimator = |matrix: &DMatrix<f64>| -> Result<Option<SubspaceEstimate>, RecoveryError> {
            let solution = match found {
                Found::Plain => return Ok(Some(plain(matrix)?.into())),
                Found::Thresholded(penalty) => {
                    let vectors = plain(&soft_threshold(matrix, penalty))?.vectors;
                    return Ok(Some(SubspaceEstimate { support: used_rows(&vectors), components: vectors }));
                }
                Found::Sparse(penalty) => {
                    let problem = FantopeProblem::new(matrix, self.rank, penalty)?;
                    solver.solve_with(&problem, None, &mut |_| {
                        watched.borrow_mut().step(&Step::Bootstrapping(last.get()))
                    })?
                }
            };
            // What was stopped is no replicate.
            Ok(watched.borrow().stop.is_none().then(|| solution.into()))
        };
        let dense = (found != Found::Plain).then(|| plain(matrix)).transpose()?.map(SubspaceEstimate::from);
        let mut rng = ChaCha12Rng::seed_from_u64(self.bootstrap_seed);
        let outcome = bootstrap_until(matrix, noise, replicates, estimator, dense.as_ref(), &mut rng, |state| {
            last.set(state);
            watched.borrow_mut().step(&Step::Bootstrapping(state))
        });
        let watch = watched.into_inner();
        let done = last.get().done;
        if watch.is_late() && done < replicates {
            watch.missing(Part::Bootstrap, done, replicates);
        }
        match outcome {
            Err(BootstrapError::Cancelled(_)) if watch.is_late() => Ok(None),
            outcome => Ok(Some(Confidence::of(&outcome?)?)),
        }
    }
}

impl Default for Solver {
    fn default() -> Self {
        let SolverSettings { tolerance, max_iterations, .. } = SolverSettings::default();
        Self { tolerance, max_iterations }
    }
}

impl Solver {
    /// Solves the sparse problem. `watch` is called at every certificate.
    ///
    /// # Errors
    /// As [`FantopeSolver`].
    pub fn solve(
        &self,
        problem: &FantopeProblem,
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<Stop>,
    ) -> Result<FantopeSolution, FantopeError> {
        let mut stop = None;
        let mut progress = |state: &Progress| {
            let flow = watch(state);
            stop = flow.break_value();
            unreasoned(flow)
        };
        let mut solution = FantopeSolver::new(self.settings())?.solve_with(problem, None, &mut progress)?;
        if stop == Some(Stop::OutOfTime) && solution.status == SolverStatus::Cancelled {
            solution.status = SolverStatus::BudgetExhausted;
        }
        Ok(solution)
    }

    /// The settings of [`FantopeSolver`].
    #[must_use]
    pub fn settings(&self) -> SolverSettings {
        let &Self { tolerance, max_iterations } = self;
        SolverSettings { tolerance, max_iterations, ..SolverSettings::default() }
    }
}

impl When {
    fn decompose(self, dimension: usize) -> bool {
        match self {
            Self::Never => false,
            Self::Quick => dimension <= DECOMPOSED,
            Self::Always => true,
        }
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
