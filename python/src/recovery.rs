//! Recovery as on the command line (`ldp-pca recover`), as `ldp_pca/_recovery.py` wraps it.

use core::ops::ControlFlow;
use std::time::Instant;

use chacha20::ChaCha12Rng;
use ldp_pca::aggregate::Aggregate as Sums;
use ldp_pca::covariance::Covariance;
use ldp_pca::prediction::{Prediction, predict_from_estimate};
use ldp_pca::recovery::{
    Bootstrap, CROSS_VALIDATION_FACTORS, Certificate, Components, CrossValidation, DEFAULT_PENALTY_FACTOR,
    FantopeProblem, FantopeSolution, FantopeSolver, Penalty, PenaltyChoice, PenaltySelection, Rank, SolverSettings,
    SolverStatus, SubspaceEstimate, bootstrap, principal_components, sparse_noise_edge,
};
use ldp_pca::task::Task;
use nalgebra::{DMatrix, DVector};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use rand::SeedableRng;

use crate::aggregate::Aggregate;
use crate::covariance::{describe, rows};
use crate::error::{RecoveryError, raised};
use crate::signals::Signals;

/// The widest gap at which cross-validation stops: its scores do not need more digits.
const SEQUENCE_TOLERANCE: f64 = 1e-4;

/// Duality gap to which replicates are solved: far below the noise that they differ by.
const REPLICATE_TOLERANCE: f64 = 1e-4;

/// Above this dimension no prediction is made, which takes all eigenvalues.
const DECOMPOSED: usize = 2000;

/// The coverage of the intervals.
const LEVEL: f64 = 0.95;

/// How components are looked for.
struct Wanted {
    rank: Rank,
    /// None for plain components.
    penalty: Option<PenaltyChoice>,
    settings: SolverSettings,
    time_limit: Option<f64>,
    replicates: Option<usize>,
    seed: u64,
}

/// What was found.
struct Found {
    vectors: DMatrix<f64>,
    variances: DVector<f64>,
    plain: Option<Components>,
    sparse: Option<(FantopeSolution, PenaltySelection)>,
    predicted: Option<Prediction>,
    confidence: Option<Bootstrap>,
}

/// Recovers components, as a dictionary.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn _recover<'py>(
    py: Python<'py>,
    aggregate: &Aggregate,
    rank: usize,
    penalty: Option<&Bound<'py, PyAny>>,
    tolerance: Option<f64>,
    max_iterations: Option<usize>,
    time_limit: Option<f64>,
    replicates: Option<usize>,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let task = aggregate.task_of().inner();
    let rank = Rank::new(rank).map_err(raised)?;
    rank.check(task.dimension()).map_err(raised)?;
    let defaults = SolverSettings::default();
    let settings = SolverSettings {
        tolerance: tolerance.unwrap_or(defaults.tolerance),
        max_iterations: max_iterations.unwrap_or(defaults.max_iterations),
        ..defaults
    };
    FantopeSolver::new(settings).map_err(raised)?;
    if let Some(seconds) = time_limit.filter(|&seconds| seconds.is_nan() || seconds <= 0.0) {
        return Err(RecoveryError::new_err(format!("{seconds} is not a positive number of seconds")));
    }
    let (name, penalty) = match penalty.map(choice).transpose()? {
        Some((name, choice)) => (name, Some(choice)),
        None => ("", None),
    };
    let wanted = Wanted { rank, penalty, settings, time_limit, replicates, seed };
    let (covariance, found) = py.detach(|| -> PyResult<_> {
        let sums = aggregate.locked().clone();
        let covariance = Covariance::estimate(&sums, task).map_err(raised)?;
        let found = wanted.find(&covariance, &sums, task)?;
        Ok((covariance, found))
    })?;
    found.describe(py, &covariance, task, &wanted, name)
}

/// `auto`, `cross-validated`, or a number.
fn choice(penalty: &Bound<'_, PyAny>) -> PyResult<(&'static str, PenaltyChoice)> {
    if let Ok(text) = penalty.cast::<PyString>() {
        return match &*text.to_cow()? {
            "auto" => Ok(("auto", PenaltyChoice::Auto { factor: DEFAULT_PENALTY_FACTOR })),
            "cv" | "cross-validated" => {
                Ok(("cv", PenaltyChoice::CrossValidated { factors: CROSS_VALIDATION_FACTORS.to_vec() }))
            }
            other => Err(RecoveryError::new_err(format!(
                "'{other}' is not a penalty: use 'auto', 'cross-validated', or a number in the units of the covariance"
            ))),
        };
    }
    Ok(("value", PenaltyChoice::Value(Penalty::new(penalty.extract()?).map_err(raised)?)))
}

impl Wanted {
    fn find(&self, covariance: &Covariance, sums: &Sums, task: &Task) -> PyResult<Found> {
        let rank = self.rank;
        let law_known = covariance.noise_law().is_some();
        if self.replicates.is_some() && !law_known {
            return Err(RecoveryError::new_err(
                "the bootstrap knows the noise of second moments, not that of a covariance about an estimated mean: \
                 leave it out for a task with centring",
            ));
        }
        let mut signals = Signals::new();
        let mut found = match &self.penalty {
            None => {
                let plain = principal_components(covariance.matrix(), rank).map_err(raised)?;
                let (vectors, variances) = (plain.vectors.clone(), plain.values.clone());
                Found { vectors, variances, plain: Some(plain), sparse: None, predicted: None, confidence: None }
            }
            Some(choice) => {
                let selection = self.select(choice, covariance, sums, task, &mut signals)?;
                let solution = self.solve(covariance, selection.penalty, &mut signals)?;
                let (vectors, variances) = (solution.components.clone(), solution.variances.clone());
                let sparse = Some((solution, selection));
                Found { vectors, variances, plain: None, sparse, predicted: None, confidence: None }
            }
        };
        if law_known && task.dimension() <= DECOMPOSED {
            found.predicted = Some(predict_from_estimate(covariance, rank).map_err(raised)?);
        }
        let penalty = found.sparse.as_ref().map(|(_, selection)| selection.penalty);
        found.confidence = self.confidence(covariance, penalty, &mut signals)?;
        Ok(found)
    }

    fn select(
        &self,
        choice: &PenaltyChoice,
        covariance: &Covariance,
        sums: &Sums,
        task: &Task,
        signals: &mut Signals,
    ) -> PyResult<PenaltySelection> {
        let settings = SolverSettings { tolerance: self.settings.tolerance.max(SEQUENCE_TOLERANCE), ..self.settings };
        let selection = choice.select(covariance, sums, task, self.rank, &settings, &mut |_| signals.flow());
        signals.check()?;
        selection.map_err(raised)
    }

    fn solve(&self, covariance: &Covariance, penalty: Penalty, signals: &mut Signals) -> PyResult<FantopeSolution> {
        let problem = FantopeProblem::new(covariance.matrix(), self.rank, penalty).map_err(raised)?;
        let solver = FantopeSolver::new(self.settings).map_err(raised)?;
        let started = Instant::now();
        let mut out_of_time = false;
        let solution = solver.solve(&problem, None, &mut |_| {
            out_of_time = self.time_limit.is_some_and(|limit| started.elapsed().as_secs_f64() > limit);
            if out_of_time { ControlFlow::Break(()) } else { signals.flow() }
        });
        signals.check()?;
        let mut solution = solution.map_err(raised)?;
        if out_of_time && solution.status == SolverStatus::Cancelled {
            solution.status = SolverStatus::BudgetExhausted;
        }
        Ok(solution)
    }

    /// Bootstraps the components, sparse when there is a penalty; nothing unless asked for.
    fn confidence(
        &self,
        covariance: &Covariance,
        penalty: Option<Penalty>,
        signals: &mut Signals,
    ) -> PyResult<Option<Bootstrap>> {
        let (Some(replicates), Some(law)) = (self.replicates, covariance.noise_law()) else { return Ok(None) };
        let settings = SolverSettings { tolerance: REPLICATE_TOLERANCE, ..SolverSettings::default() };
        let solver = FantopeSolver::new(settings).map_err(raised)?;
        let estimator = |matrix: &DMatrix<f64>| -> Result<SubspaceEstimate, ldp_pca::recovery::RecoveryError> {
            match penalty {
                None => Ok(principal_components(matrix, self.rank)?.into()),
                Some(penalty) => {
                    let problem = FantopeProblem::new(matrix, self.rank, penalty)?;
                    Ok(solver.solve(&problem, None, &mut |_| ControlFlow::Continue(()))?.into())
                }
            }
        };
        let mut rng = ChaCha12Rng::seed_from_u64(self.seed);
        let outcome = bootstrap(covariance.matrix(), &law, replicates, estimator, &mut rng, |_| signals.flow());
        signals.check()?;
        outcome.map(Some).map_err(raised)
    }
}

impl Found {
    fn describe<'py>(
        &self,
        py: Python<'py>,
        covariance: &Covariance,
        task: &Task,
        wanted: &Wanted,
        penalty: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        let result = PyDict::new(py);
        let total = covariance.matrix().trace();
        let share = (total > 0.0).then(|| array(py, self.variances.iter().map(|variance| variance / total)));
        result.set_item("method", if self.sparse.is_some() { "fantope" } else { "pca" })?;
        result.set_item("dimension", task.dimension())?;
        result.set_item("rank", wanted.rank.value())?;
        result.set_item("components", rows(py, &self.vectors)?)?;
        result.set_item("eigenvalues", array(py, self.variances.iter().copied()))?;
        result.set_item("total_variance", total)?;
        result.set_item("explained_variance", share)?;
        result
            .set_item("leverages", array(py, self.vectors.row_iter().map(|row| row.iter().map(|x| x.powi(2)).sum())))?;
        result.set_item("spectrum", self.plain.as_ref().map(|plain| array(py, plain.all_values.iter().copied())))?;
        result.set_item("gap", self.plain.as_ref().and_then(Components::gap))?;
        describe(&result, covariance, task)?;
        let sparse = self.sparse.as_ref().map(|(solution, selection)| {
            let edge = sparse_noise_edge(
                covariance.noise_deviation(),
                task.dimension(),
                solution.support.len(),
                covariance.noise_edge(),
            );
            describe_sparse(py, solution, selection, penalty, edge)
        });
        result.set_item("sparse", sparse.transpose()?)?;
        result
            .set_item("predicted", self.predicted.as_ref().map(|found| describe_prediction(py, found)).transpose()?)?;
        result
            .set_item("confidence", self.confidence.as_ref().map(|found| describe_bootstrap(py, found)).transpose()?)?;
        Ok(result)
    }
}

fn describe_sparse<'py>(
    py: Python<'py>,
    solution: &FantopeSolution,
    selection: &PenaltySelection,
    penalty: &str,
    noise_edge: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("status", solution.status.name())?;
    result.set_item("penalty", selection.penalty.value())?;
    result.set_item("penalty_choice", penalty)?;
    result.set_item("objective", solution.objective)?;
    result.set_item("dual_bound", solution.dual_bound)?;
    result.set_item("relative_gap", solution.relative_gap)?;
    result.set_item(
        "failure_probability",
        match solution.certificate {
            Certificate::Probable { failure } => failure,
            _ => 0.0,
        },
    )?;
    result.set_item("iterations", solution.iterations)?;
    result.set_item("support", &solution.support)?;
    result.set_item("noise_edge", noise_edge)?;
    let validated = selection.cross_validation.as_ref().map(|validated| describe_validation(py, validated));
    result.set_item("cross_validation", validated.transpose()?)?;
    Ok(result)
}

fn describe_validation<'py>(py: Python<'py>, validation: &CrossValidation) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let point = |point: &ldp_pca::recovery::CrossValidationPoint| {
        let result = PyDict::new(py);
        result.set_item("factor", point.factor)?;
        result.set_item("penalty", point.penalty.value())?;
        result.set_item("mean_score", point.mean_score)?;
        result.set_item("standard_error", point.standard_error)?;
        result.set_item("mean_support", point.mean_support)?;
        result.set_item("scores", array(py, point.scores.iter().copied()))?;
        result.set_item("chosen", point == validation.chosen())?;
        Ok(result)
    };
    validation.points().iter().map(point).collect()
}

/// What to expect of components.
pub(crate) fn describe_prediction<'py>(py: Python<'py>, prediction: &Prediction) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    let components = &prediction.components;
    result.set_item("sin_theta_squared", prediction.sin_theta_squared)?;
    result.set_item("per_component", array(py, components.iter().map(|component| component.sin_squared)))?;
    let recoverable: Vec<bool> = components.iter().map(|component| component.recoverable).collect();
    result.set_item("recoverable", PyArray1::from_vec(py, recoverable))?;
    result.set_item("uninformed", prediction.uninformed)?;
    result.set_item("threshold", prediction.threshold)?;
    Ok(result)
}

fn describe_bootstrap<'py>(py: Python<'py>, outcome: &Bootstrap) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    let interval = outcome.interval(LEVEL).map_err(raised)?;
    result.set_item("replicates", outcome.replicates())?;
    result.set_item("level", LEVEL)?;
    result.set_item("lower", interval.lower)?;
    result.set_item("upper", interval.upper)?;
    result.set_item("median", outcome.median())?;
    let component = |component: &ldp_pca::recovery::ComponentConfidence| -> PyResult<_> {
        let interval = component.interval(LEVEL).map_err(raised)?;
        let result = PyDict::new(py);
        result.set_item("eigenvalue", component.eigenvalue)?;
        result.set_item("distinguishable", component.distinguishable)?;
        result.set_item("lower", interval.lower)?;
        result.set_item("upper", interval.upper)?;
        Ok(result)
    };
    result.set_item("components", outcome.components.iter().map(component).collect::<PyResult<Vec<_>>>()?)?;
    result.set_item("support_stability", array(py, outcome.support_stability.iter().copied()))?;
    result.set_item("loading_errors", rows(py, &outcome.loading_errors)?)?;
    Ok(result)
}

fn array<'py>(py: Python<'py>, values: impl Iterator<Item = f64>) -> Bound<'py, PyArray1<f64>> {
    PyArray1::from_vec(py, values.collect())
}
