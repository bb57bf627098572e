//! Components out of an aggregate or any symmetric matrix.

use std::ops::ControlFlow;

use js_sys::Function;
use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::aggregate::Aggregate;
use crate::crossing::{failure, json, matrix, options, thrown};
use ldp_pca::covariance::Covariance;
use ldp_pca::prediction::{Prediction, predict_from_estimate};
use ldp_pca::recovery::{
    CROSS_VALIDATION_FACTORS, DEFAULT_PENALTY_FACTOR, FantopeProblem, FantopeSolver, Penalty, PenaltyChoice,
    PenaltyPath, Progress, Rank, SolverSettings, default_penalty, principal_components,
};
use ldp_pca::simulation::SupportCounts;

/// The widest gap at which cross-validation and the path stop: neither scores nor sizes of supports need more digits.
const SEQUENCE_TOLERANCE: f64 = 1e-4;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Options {
    rank: Rank,
    /// None for plain principal components.
    penalty: Option<PenaltyOption>,
    tolerance: Option<f64>,
    max_iterations: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PenaltyOption {
    Value(Penalty),
    Auto { factor: Option<f64> },
    CrossValidated,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PathOptions {
    pub(crate) rank: Rank,
    pub(crate) points: usize,
}

/// Components and everything about them.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Recovery {
    facts: String,
    components: Vec<f64>,
}

#[wasm_bindgen]
impl Recovery {
    /// Everything but the components, as JSON.
    #[must_use]
    pub fn facts(&self) -> String {
        self.facts.clone()
    }

    /// The d × k components, row-major.
    #[must_use]
    pub fn components(&self) -> Vec<f64> {
        self.components.clone()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Facts {
    dimension: usize,
    rank: usize,
    method: &'static str,
    status: &'static str,
    eigenvalues: Vec<f64>,
    total_variance: f64,
    /// None where noise makes the total 0 or less.
    explained_variance: Option<Vec<f64>>,
    support: Vec<usize>,
    /// Dense: between the last eigenvalue kept and the first dropped; none when all are kept.
    eigenvalue_gap: Option<f64>,
    sparse: Option<Sparse>,
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
}

/// What is known of an aggregate's estimate.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Estimate {
    records: u64,
    noise_deviation: f64,
    noise_edge: f64,
    mean: Option<Vec<f64>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PathPoint {
    penalty: f64,
    status: &'static str,
    pub(crate) support: Vec<usize>,
    objective: f64,
    relative_gap: f64,
    iterations: usize,
    eigenvalues: Vec<f64>,
    /// Where the truth is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) counts: Option<SupportCounts>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PredictionFacts {
    sin_theta_squared: f64,
    uninformed: f64,
    threshold: f64,
    components: Vec<ComponentFacts>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ComponentFacts {
    eigenvalue: f64,
    sin_squared: f64,
    recoverable: bool,
}

#[wasm_bindgen]
impl Aggregate {
    /// Recovers components. `progress` is called with iterations done, iterations allowed and the relative gap, and
    /// stops the solver by returning `false`.
    pub fn recover(&self, options_json: &str, progress: &Function) -> Result<Recovery, JsValue> {
        let options: Options = options(options_json)?;
        let covariance = self.covariance()?;
        let mut watch = Watch::new(progress);
        let penalty = match &options.penalty {
            None => None,
            Some(option) => Some(self.penalty(option, &covariance, &options, &mut watch)?),
        };
        let estimate = Estimate {
            records: covariance.records(),
            noise_deviation: covariance.noise_deviation(),
            noise_edge: covariance.noise_edge(),
            mean: covariance.mean().map(|mean| mean.values().to_vec()),
        };
        recover(covariance.matrix(), &options, penalty, Some(estimate), watch)
    }

    /// Solves the sparse problem for a sequence of penalties, from the largest that changes anything to a quarter of the
    /// default: a JSON array.
    pub fn path(&self, options_json: &str, progress: &Function) -> Result<String, JsValue> {
        let PathOptions { rank, points } = options(options_json)?;
        let covariance = self.covariance()?;
        json(&solve_path(covariance.matrix(), covariance.noise_deviation(), rank, points, Watch::new(progress))?)
    }

    /// Predicts the error of the leading components, with the spectrum read out of the estimate: JSON.
    pub fn predict(&self, rank: usize) -> Result<String, JsValue> {
        let rank = Rank::new(rank).map_err(thrown)?;
        prediction_json(&predict_from_estimate(&self.covariance()?, rank).map_err(thrown)?)
    }

    fn penalty(
        &self,
        option: &PenaltyOption,
        covariance: &Covariance,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Penalty, JsValue> {
        let choice = match option {
            PenaltyOption::Value(penalty) => PenaltyChoice::Value(*penalty),
            PenaltyOption::Auto { factor } => PenaltyChoice::Auto { factor: factor.unwrap_or(DEFAULT_PENALTY_FACTOR) },
            PenaltyOption::CrossValidated => {
                PenaltyChoice::CrossValidated { factors: CROSS_VALIDATION_FACTORS.to_vec() }
            }
        };
        let settings = SolverSettings { tolerance: SEQUENCE_TOLERANCE, ..options.settings() };
        let selection = choice.select(covariance, &self.sums, &self.task, options.rank, &settings, &mut |state| {
            watch.sequence(state.solved, state.total)
        });
        watch.failed()?;
        Ok(selection.map_err(thrown)?.penalty)
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
    let smallest = default_penalty(noise, estimate.nrows(), DEFAULT_PENALTY_FACTOR / 4.0).map_err(thrown)?;
    let penalties = PenaltyPath::penalties(estimate, smallest, points).map_err(thrown)?;
    let settings = SolverSettings { tolerance: SEQUENCE_TOLERANCE, ..SolverSettings::default() };
    let path = PenaltyPath::solve(estimate, rank, &penalties, &settings, &mut |state| {
        watch.sequence(state.solved, state.total)
    });
    watch.finish()?;
    let points = path.map_err(thrown)?;
    let points = points.points().iter().map(|point| PathPoint {
        penalty: point.penalty.value(),
        status: point.status.name(),
        support: point.support.clone(),
        objective: point.objective,
        relative_gap: point.relative_gap,
        iterations: point.iterations,
        eigenvalues: point.variances.as_slice().to_vec(),
        counts: None,
    });
    Ok(points.collect())
}

/// Recovers components of a symmetric matrix, d × d numbers.
#[wasm_bindgen]
pub fn solve(numbers: &[f64], dimension: usize, options_json: &str, progress: &Function) -> Result<Recovery, JsValue> {
    let options: Options = options(options_json)?;
    let penalty = match &options.penalty {
        None => None,
        Some(PenaltyOption::Value(penalty)) => Some(*penalty),
        Some(_) => {
            return Err(failure("argument", &"the noise of a matrix is not known: give the penalty as a number"));
        }
    };
    recover(&matrix(numbers, dimension)?, &options, penalty, None, Watch::new(progress))
}

pub(crate) fn prediction_json(prediction: &Prediction) -> Result<String, JsValue> {
    json(&PredictionFacts::from(prediction))
}

impl From<&Prediction> for PredictionFacts {
    fn from(prediction: &Prediction) -> Self {
        Self {
            sin_theta_squared: prediction.sin_theta_squared,
            uninformed: prediction.uninformed,
            threshold: prediction.threshold,
            components: prediction
                .components
                .iter()
                .map(|component| ComponentFacts {
                    eigenvalue: component.eigenvalue,
                    sin_squared: component.sin_squared,
                    recoverable: component.recoverable,
                })
                .collect(),
        }
    }
}

fn recover(
    matrix: &DMatrix<f64>,
    options: &Options,
    penalty: Option<Penalty>,
    estimate: Option<Estimate>,
    mut watch: Watch<'_>,
) -> Result<Recovery, JsValue> {
    let dimension = matrix.nrows();
    let total_variance = matrix.trace();
    let facts = |eigenvalues: Vec<f64>| Facts {
        dimension,
        rank: options.rank.value(),
        method: "pca",
        status: "optimal",
        explained_variance: (total_variance > 0.0)
            .then(|| eigenvalues.iter().map(|eigenvalue| eigenvalue / total_variance).collect()),
        eigenvalues,
        total_variance,
        support: (0..dimension).collect(),
        eigenvalue_gap: None,
        sparse: None,
        estimate,
    };
    let (facts, vectors) = match penalty {
        None => {
            let found = principal_components(matrix, options.rank).map_err(thrown)?;
            let facts = Facts { eigenvalue_gap: found.gap(), ..facts(found.values.as_slice().to_vec()) };
            (facts, found.vectors)
        }
        Some(penalty) => {
            let problem = FantopeProblem::new(matrix, options.rank, penalty).map_err(thrown)?;
            let solver = FantopeSolver::new(options.settings()).map_err(thrown)?;
            let found = solver.solve(&problem, None, &mut |state| watch.solver(state));
            watch.finish()?;
            let found = found.map_err(thrown)?;
            let facts = Facts {
                method: "fantope",
                status: found.status.name(),
                support: found.support,
                sparse: Some(Sparse {
                    penalty: penalty.value(),
                    objective: found.objective,
                    dual_bound: found.dual_bound,
                    relative_gap: found.relative_gap,
                    iterations: found.iterations,
                    leverages: found.leverages,
                }),
                ..facts(found.variances.as_slice().to_vec())
            };
            (facts, found.components)
        }
    };
    // Columns of the transpose are rows.
    Ok(Recovery { facts: json(&facts)?, components: vectors.transpose().as_slice().to_vec() })
}

impl Options {
    fn settings(&self) -> SolverSettings {
        let default = SolverSettings::default();
        SolverSettings {
            tolerance: self.tolerance.unwrap_or(default.tolerance),
            max_iterations: self.max_iterations.unwrap_or(default.max_iterations),
            ..default
        }
    }
}

/// Who is told how far it is, and may stop it.
pub(crate) struct Watch<'a> {
    callback: &'a Function,
    /// What the callback threw.
    thrown: Option<JsValue>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(callback: &'a Function) -> Self {
        Self { callback, thrown: None }
    }

    fn solver(&mut self, state: &Progress) -> ControlFlow<()> {
        self.call(state.iterations, state.max_iterations, state.relative_gap)
    }

    fn sequence(&mut self, solved: usize, total: usize) -> ControlFlow<()> {
        self.call(solved, total, f64::INFINITY)
    }

    fn call(&mut self, done: usize, total: usize, gap: f64) -> ControlFlow<()> {
        let answer = self.callback.call3(
            &JsValue::UNDEFINED,
            &JsValue::from_f64(done as f64),
            &JsValue::from_f64(total as f64),
            &JsValue::from_f64(gap),
        );
        match answer {
            Ok(answer) if answer == JsValue::FALSE => ControlFlow::Break(()),
            Ok(_) => ControlFlow::Continue(()),
            Err(error) => {
                self.thrown = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn failed(&mut self) -> Result<(), JsValue> {
        self.thrown.take().map_or(Ok(()), Err)
    }

    fn finish(mut self) -> Result<(), JsValue> {
        self.failed()
    }
}
