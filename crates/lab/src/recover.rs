//! Components from an aggregate, or of any symmetric matrix.

use std::ops::ControlFlow;

use js_sys::Function;
use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::aggregate::Aggregate;
use crate::crossing::{failure, matrix, object, object_with, read, thrown};
use ldp_pca::internal::recovery::{components, components_of_matrix};
use ldp_pca::prediction::predict_from_estimate;
use ldp_pca::recovery::{
    self, Answer, AnswerError, Baseline, Baselines, DEFAULT_PENALTY_FACTOR, Method, Penalty, PenaltyChoice,
    PenaltyError, Question, Rank, Reports, SequenceProgress, SolverSettings, SolverStatus, Step, Stop,
    default_penalty_sequence, solve_sequence,
};
use ldp_pca_simulation::SupportCounts;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Options {
    rank: Rank,
    /// None for plain principal components.
    penalty: Option<PenaltyOption>,
    tolerance: Option<f64>,
    /// Whether to add simpler methods beside sparse components.
    baselines: Option<bool>,
    /// Components to compare with, d × k, row-major.
    reference: Option<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PenaltyOption {
    Value(Penalty),
    Auto { factor: Option<f64> },
    CrossValidated,
}

/// Everything about components, except themselves.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Facts {
    dimension: usize,
    rank: usize,
    method: Method,
    status: SolverStatus,
    eigenvalues: Vec<f64>,
    total_variance: Option<f64>,
    /// None where noise makes the total 0 or less.
    explained_variance: Option<Vec<f64>>,
    support: Vec<usize>,
    /// Dense: between the last eigenvalue kept and the first dropped; none when all are kept.
    eigenvalue_gap: Option<f64>,
    sparse: Option<Sparse>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sin_theta_squared: Option<f64>,
    #[serde(flatten)]
    estimate: Option<Estimate>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sparse {
    penalty: f64,
    objective: f64,
    dual_bound: f64,
    relative_gap: f64,
    iterations: usize,
    leverages: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    baselines: Option<BaselinesFacts>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BaselinesFacts {
    soft_threshold: BaselineFacts,
    pca: BaselineFacts,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BaselineFacts {
    eigenvalues: Vec<f64>,
    support: Vec<usize>,
    distance: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sin_theta_squared: Option<f64>,
}

/// The facts about an aggregate's estimate.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Estimate {
    records: u64,
    noise_deviation: f64,
    noise_edge: f64,
    mean: Option<Vec<f64>>,
}

/// The solution for one penalty. Of the support it serializes only the size.
#[derive(Serialize)]
pub(crate) struct PathPoint {
    #[serde(flatten)]
    solution: recovery::PathPoint,
    pub(crate) support: Vec<usize>,
    /// Present only if the truth is known.
    #[serde(flatten)]
    pub(crate) counts: Option<SupportCounts>,
}

#[wasm_bindgen]
impl Aggregate {
    /// Recovers components. `progress` is called with iterations done, iterations allowed and the relative gap, and
    /// stops the solver by returning `false`.
    pub fn recover(&self, options: JsValue, progress: &Function) -> Result<JsValue, JsValue> {
        let options: Options = read(options)?;
        let covariance = self.covariance()?;
        let (question, reports) = (options.question(), Reports::one(&self.sums, &self.task));
        options.facts(covariance.matrix(), progress, |watch| components(&question, reports, &covariance, watch))
    }

    /// Solves the sparse problem for a sequence of penalties, from the largest that changes anything to a quarter of
    /// the default: an array.
    pub fn path(&self, rank: usize, points: usize, progress: &Function) -> Result<JsValue, JsValue> {
        let rank = Rank::new(rank).map_err(thrown)?;
        let covariance = self.covariance()?;
        object(&solve_path(covariance.matrix(), covariance.noise_deviation(), rank, points, Watch::new(progress))?)
    }

    /// Predicts the error of the leading components, with the spectrum of the estimate: an object.
    pub fn predict(&self, rank: usize) -> Result<JsValue, JsValue> {
        let rank = Rank::new(rank).map_err(thrown)?;
        object(&predict_from_estimate(&self.covariance()?, rank).map_err(thrown)?)
    }
}

/// The path of [`Aggregate::path`] for an estimate with this noise.
pub(crate) fn solve_path(
    estimate: &DMatrix<f64>,
    noise: f64,
    rank: Rank,
    points: usize,
    mut watch: Watch<'_>,
) -> Result<Vec<PathPoint>, JsValue> {
    let penalties = default_penalty_sequence(estimate, noise, points);
    let penalties = penalties.map_err(|error| thrown(PenaltyError::from(error)))?;
    let settings = SolverSettings::default().for_sequence();
    let mut progress =
        |state: &SequenceProgress| watch.call(state.solved, state.total, f64::INFINITY).map_break(|_| ());
    let mut solved = vec![];
    let outcome = solve_sequence(estimate, rank, &penalties, &settings, &mut progress, &mut solved);
    watch.finish()?;
    outcome.map_err(|error| thrown(PenaltyError::from(error)))?;
    let point = |solution: recovery::PathPoint| PathPoint { support: solution.support.clone(), solution, counts: None };
    Ok(solved.into_iter().map(point).collect())
}

/// Recovers components of a symmetric matrix, d × d numbers, of whose noise nothing is known.
#[wasm_bindgen]
pub fn solve(numbers: &[f64], dimension: usize, options: JsValue, progress: &Function) -> Result<JsValue, JsValue> {
    let options: Options = read(options)?;
    let estimate = matrix(numbers, dimension, dimension)?;
    let penalty = match options.penalty {
        None => None,
        Some(PenaltyOption::Value(penalty)) => Some(penalty),
        Some(_) => {
            return Err(failure("argument", &"the noise of a matrix is not known: give the penalty as a number"));
        }
    };
    options.facts(&estimate, progress, |watch| {
        components_of_matrix(&estimate, options.rank, penalty, options.tolerance, watch)
    })
}

impl Options {
    /// What `find` gives of an estimate, and what else was asked for.
    fn facts(
        &self,
        estimate: &DMatrix<f64>,
        progress: &Function,
        find: impl FnOnce(&mut recovery::Watch<'_>) -> Result<Answer, AnswerError>,
    ) -> Result<JsValue, JsValue> {
        let reference = self.reference.as_deref();
        let reference = reference.map(|numbers| matrix(numbers, estimate.nrows(), self.rank.value())).transpose()?;
        let mut watch = Watch::new(progress);
        let answer = find(&mut |step: &Step| watch.step(step));
        watch.finish()?;
        let mut answer = answer.map_err(thrown)?;
        if self.baselines == Some(true) && answer.found.status() != SolverStatus::Cancelled {
            answer.add_baselines(estimate).map_err(thrown)?;
        }
        let error = reference.map(|reference| answer.compare_components(&reference)).transpose().map_err(thrown)?;
        // Columns of the transpose are rows.
        object_with(&Facts::of(&answer, error), "components", answer.vectors().transpose().as_slice())
    }

    fn question(&self) -> Question {
        let penalty = self.penalty.as_ref().map(|option| match option {
            PenaltyOption::Value(penalty) => PenaltyChoice::Value(*penalty),
            PenaltyOption::Auto { factor } => PenaltyChoice::Auto { factor: factor.unwrap_or(DEFAULT_PENALTY_FACTOR) },
            PenaltyOption::CrossValidated => PenaltyChoice::cross_validated(),
        });
        Question { penalty, tolerance: self.tolerance, ..Question::new(self.rank) }
    }
}

impl Facts {
    fn of(answer: &Answer, sin_theta_squared: Option<f64>) -> Self {
        let sparse = answer.found.sparse.as_ref();
        Self {
            dimension: answer.asked.dimension,
            rank: answer.asked.rank,
            method: answer.asked.method,
            status: answer.found.status(),
            eigenvalues: answer.found.eigenvalues.clone(),
            total_variance: answer.found.total_variance,
            explained_variance: answer.found.explained_variance.clone(),
            support: sparse.map_or_else(|| (0..answer.asked.dimension).collect(), |sparse| sparse.rows.clone()),
            eigenvalue_gap: answer.found.gap,
            sparse: sparse.map(|sparse| Sparse {
                penalty: sparse.penalty,
                objective: sparse.objective,
                dual_bound: sparse.dual_bound,
                relative_gap: sparse.relative_gap,
                iterations: sparse.iterations,
                leverages: sparse.leverages.clone(),
                baselines: sparse.baselines.as_ref().map(BaselinesFacts::from),
            }),
            sin_theta_squared,
            // A matrix is of no reports.
            estimate: (answer.asked.records > 0).then(|| Estimate {
                records: answer.asked.records,
                noise_deviation: answer.trust.noise_deviation,
                noise_edge: answer.trust.noise_edge,
                mean: answer.found.mean.as_ref().map(|mean| mean.estimate.values().to_vec()),
            }),
        }
    }
}

impl From<&Baselines> for BaselinesFacts {
    fn from(found: &Baselines) -> Self {
        let facts = |found: &Baseline| BaselineFacts {
            eigenvalues: found.eigenvalues.clone(),
            support: found.rows.clone(),
            distance: found.distance,
            sin_theta_squared: found.sin_theta_squared,
        };
        Self { soft_threshold: facts(&found.soft_threshold), pca: facts(&found.pca) }
    }
}

/// The callback that receives the progress, and may stop the work.
pub(crate) struct Watch<'a> {
    callback: &'a Function,
    /// The callback's exception.
    thrown: Option<JsValue>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(callback: &'a Function) -> Self {
        Self { callback, thrown: None }
    }

    fn step(&mut self, step: &Step) -> ControlFlow<Stop> {
        match step {
            Step::Beginning(_) => ControlFlow::Continue(()),
            Step::Solving(state) => self.call(state.iterations, state.max_iterations, state.relative_gap),
            Step::Done { done, of, .. } => self.call(*done, *of, f64::INFINITY),
        }
    }

    fn call(&mut self, done: usize, total: usize, gap: f64) -> ControlFlow<Stop> {
        let answer = self.callback.call3(
            &JsValue::UNDEFINED,
            &JsValue::from_f64(done as f64),
            &JsValue::from_f64(total as f64),
            &JsValue::from_f64(gap),
        );
        match answer {
            Ok(answer) if answer == JsValue::FALSE => ControlFlow::Break(Stop::Cancelled),
            Ok(_) => ControlFlow::Continue(()),
            Err(error) => {
                self.thrown = Some(error);
                ControlFlow::Break(Stop::Cancelled)
            }
        }
    }

    fn finish(self) -> Result<(), JsValue> {
        self.thrown.map_or(Ok(()), Err)
    }
}
