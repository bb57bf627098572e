//! Recovery, as `ldp-pca recover` does it; `ldp_pca/_recovery.py` wraps it.

use core::ops::ControlFlow;
use std::time::Instant;

use ldp_pca::covariance::Covariance;
use ldp_pca::family::Reports;
use ldp_pca::prediction::Prediction;
use ldp_pca::recovery::{
    Answer, Baselines, ComponentInterval, Confidence, FeatureTest, HeldOutUse, Part, PathPoint, Penalty, PenaltyChoice,
    Question, Rank, RankTest, ScoredPenalty, Solver, SparseAnswer, Step, Stop, Unfinished, When, answer,
};
use ldp_pca::subspace::{Subspace, sin_theta_squared};
use nalgebra::DMatrix;
use numpy::{PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde::Serialize;

use crate::aggregate::Aggregate;
use crate::covariance::describe;
use crate::error::{RecoveryError, raised};
use crate::signals::{Shown, waited};

/// Recovers components, as a dictionary.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn _recover<'py>(
    py: Python<'py>,
    aggregate: &Aggregate,
    rank: Option<usize>,
    method: &str,
    penalty: Option<&Bound<'py, PyAny>>,
    tolerance: Option<f64>,
    time_limit: Option<f64>,
    path: Option<usize>,
    baselines: bool,
    replicates: Option<usize>,
    select: Option<f64>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let task = aggregate.task_of().inner();
    let held_out = match method {
        "auto" => HeldOutUse::Choose,
        "pca" => HeldOutUse::Measure,
        other => return Err(RecoveryError::new_err(format!("'{other}' is not a method: use 'auto' or 'pca'"))),
    };
    if let Some(rate) = select.filter(|rate| !(0.0 < *rate && *rate < 1.0)) {
        return Err(RecoveryError::new_err(format!("select={rate} is not a rate between 0 and 1, such as 0.1")));
    }
    let solver = Solver::default();
    let mut question = Question {
        solver: Solver { tolerance: tolerance.unwrap_or(solver.tolerance), ..solver },
        path,
        baselines: if baselines { When::Always } else { When::Never },
        held_out,
        predict: true,
        bootstrap: replicates,
        // One component until the test has found how many.
        ..Question::new(Rank::new(rank.unwrap_or(1)).map_err(raised)?)
    };
    question.check(task.dimension()).map_err(raised)?;
    if let Some(seconds) = time_limit.filter(|&seconds| seconds.is_nan() || seconds <= 0.0) {
        return Err(RecoveryError::new_err(format!("{seconds} is not a positive number of seconds")));
    }
    question.penalty = penalty.map(choice).transpose()?;
    let sums = py.detach(|| aggregate.locked().clone());
    let show = |(part, done, total)| progress.map_or(Ok(()), |progress| progress.call1((part, done, total)).map(drop));
    let of_task = task.clone();
    let (covariance, answer, rank_test, selection) = waited(py, show, move |waiting| -> PyResult<_> {
        let task = &of_task;
        let covariance = Covariance::estimate(&sums, task).map_err(raised)?;
        if let Some(objection) = FeatureTest::objection(task).filter(|_| select.is_some()) {
            return Err(RecoveryError::new_err(format!(
                "select is not for this task: {objection}; collect with a task of centring=True and a number as \
                 bounding, a radius that few records exceed, or leave select out"
            )));
        }
        let reports = Reports::one(&sums, task);
        let started = Instant::now();
        let mut watch = |step: &Step| {
            if time_limit.is_some_and(|limit| started.elapsed().as_secs_f64() > limit) {
                return ControlFlow::Break(Stop::OutOfTime);
            }
            waiting.show(shown(step));
            waiting.flow().map_break(|()| Stop::Cancelled)
        };
        let mut unfinished = vec![];
        let mut rank_test = None;
        if rank.is_none() {
            let (mut test, untested) =
                RankTest::watched(covariance.matrix(), &covariance.noise_law(), &mut watch).map_err(raised)?;
            question.rank = test.rank().map_err(raised)?;
            let unconfirmed = test.confirm(reports, &covariance, &mut watch).map_err(raised)?;
            unfinished.extend(untested.or(unconfirmed));
            rank_test = Some(test);
        }
        let mut found = answer(&question, reports, &covariance, &mut watch).map_err(raised)?;
        found.unfinished.extend(unfinished);
        let selection = select.map(|_| FeatureTest::new(&covariance, question.rank)).transpose().map_err(raised)?;
        Ok((covariance, found, rank_test, selection))
    })??;
    let result = describe_answer(py, &answer)?;
    // As the command line prints them; Python reads the text.
    result.set_item("held_out", answer.held_out.as_ref().map(document).transpose()?)?;
    result.set_item("rank_test", rank_test.as_ref().map(document).transpose()?)?;
    let selection = selection.as_ref().map(|test| -> PyResult<_> {
        let selection = PyDict::new(py);
        selection.set_item("rate", select)?;
        let features = test.selected(select.unwrap_or_default());
        selection.set_item("features", features.iter().map(|&at| &answer.feature_names[at]).collect::<Vec<_>>())?;
        selection.set_item("p_values", array(py, &test.p_values))?;
        selection.set_item("adjusted", array(py, &test.adjusted))?;
        Ok(selection)
    });
    result.set_item("selection", selection.transpose()?)?;
    result.set_item("refined", py.None())?;
    describe(&result, &covariance, task)?;
    Ok(result)
}

/// A step as it is shown.
fn shown(step: &Step) -> Shown {
    match step {
        Step::Beginning(part) => (part.name(), 0, None),
        Step::Validating(state) => (Part::Penalty.name(), state.solved, Some(state.total)),
        Step::Path(state) => (Part::Path.name(), state.solved, Some(state.total)),
        Step::Solving(state) => (Part::Solution.name(), state.iterations, None),
        Step::Bootstrapping(state) => (Part::Bootstrap.name(), state.done, Some(state.replicates)),
    }
}

/// A part of the answer as JSON.
pub(crate) fn document(part: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(part).map_err(|error| RecoveryError::new_err(error.to_string()))
}

/// `||sin Theta||_F^2` between the spans of two lists of components, one in each row.
#[pyfunction]
pub(crate) fn _sin_theta_squared(ours: PyReadonlyArray2<'_, f64>, theirs: PyReadonlyArray2<'_, f64>) -> PyResult<f64> {
    let span = |rows: &PyReadonlyArray2<'_, f64>| {
        let rows = rows.as_array();
        Subspace::new(&DMatrix::from_fn(rows.ncols(), rows.nrows(), |feature, component| rows[(component, feature)]))
    };
    span(&ours).and_then(|ours| sin_theta_squared(&ours, &span(&theirs)?)).map_err(raised)
}

/// `auto`, `cross-validated`, or a number.
fn choice(penalty: &Bound<'_, PyAny>) -> PyResult<PenaltyChoice> {
    if let Ok(text) = penalty.cast::<PyString>() {
        return match &*text.to_cow()? {
            "auto" => Ok(PenaltyChoice::default()),
            "cv" | "cross-validated" => Ok(PenaltyChoice::cross_validated()),
            other => Err(RecoveryError::new_err(format!(
                "'{other}' is not a penalty: use 'auto', 'cross-validated', or a number in the units of the covariance"
            ))),
        };
    }
    Ok(PenaltyChoice::Value(Penalty::new(penalty.extract()?).map_err(raised)?))
}

pub(crate) fn describe_answer<'py>(py: Python<'py>, answer: &Answer) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("method", answer.method.name())?;
    result.set_item("dimension", answer.dimension)?;
    result.set_item("rank", answer.rank)?;
    result.set_item("components", PyArray2::from_vec2(py, &answer.components)?)?;
    result.set_item("eigenvalues", array(py, &answer.eigenvalues))?;
    // As sklearn has them: none is nan.
    let with_nan = |values: &Option<Vec<Option<f64>>>| {
        let values = values.as_ref()?.iter().map(|value| value.unwrap_or(f64::NAN));
        Some(array(py, &values.collect::<Vec<f64>>()))
    };
    result.set_item("variances", with_nan(&answer.variances))?;
    result.set_item("variance_errors", with_nan(&answer.variance_errors))?;
    result.set_item("total_variance", answer.total_variance)?;
    result.set_item("empty_share", answer.empty_share)?;
    result.set_item("empty_share_error", answer.empty_share_error)?;
    result.set_item("explained_variance", answer.explained_variance.as_deref().map(|shares| array(py, shares)))?;
    result.set_item("ties", answer.ties.iter().map(|run| run.to_vec()).collect::<Vec<_>>())?;
    result.set_item("single_columns", answer.single_columns)?;
    result.set_item("leverages", array(py, &answer.leverages))?;
    result.set_item("spectrum", answer.spectrum.as_deref().map(|spectrum| array(py, spectrum)))?;
    result.set_item("gap", answer.gap)?;
    result.set_item("marks_of_mean", answer.marks_of_mean())?;
    result.set_item("sparse", answer.sparse.as_ref().map(|sparse| describe_sparse(py, sparse)).transpose()?)?;
    let baselines = answer.sparse.as_ref().and_then(|sparse| sparse.baselines.as_ref());
    result.set_item("baselines", baselines.map(|found| describe_baselines(py, found)).transpose()?)?;
    let path = answer.path.as_ref().map(|path| path.iter().map(|point| describe_point(py, point)));
    result.set_item("path", path.map(Iterator::collect::<PyResult<Vec<_>>>).transpose()?)?;
    result.set_item("predicted", answer.predicted.as_ref().map(|found| describe_prediction(py, found)).transpose()?)?;
    result
        .set_item("confidence", answer.confidence.as_ref().map(|found| describe_confidence(py, found)).transpose()?)?;
    let unfinished = answer.unfinished.iter().map(|part| describe_unfinished(py, part));
    result.set_item("unfinished", unfinished.collect::<PyResult<Vec<_>>>()?)?;
    Ok(result)
}

fn describe_unfinished<'py>(py: Python<'py>, unfinished: &Unfinished) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("part", unfinished.part.name())?;
    result.set_item("done", unfinished.done)?;
    result.set_item("of", unfinished.of)?;
    Ok(result)
}

fn describe_sparse<'py>(py: Python<'py>, sparse: &SparseAnswer) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("status", sparse.status.name())?;
    result.set_item("penalty", sparse.penalty)?;
    result.set_item("penalty_choice", sparse.penalty_choice)?;
    result.set_item("objective", sparse.objective)?;
    result.set_item("dual_bound", sparse.dual_bound)?;
    result.set_item("relative_gap", sparse.relative_gap)?;
    result.set_item("failure_probability", sparse.failure_probability)?;
    result.set_item("iterations", sparse.iterations)?;
    result.set_item("support", &sparse.rows)?;
    result.set_item("noise_edge", sparse.noise_edge)?;
    let scores = sparse
        .cross_validation
        .as_ref()
        .map(|scored| scored.iter().map(|scored| describe_scores(py, scored)).collect::<PyResult<Vec<_>>>());
    result.set_item("cross_validation", scores.transpose()?)?;
    Ok(result)
}

fn describe_scores<'py>(
    py: Python<'py>,
    ScoredPenalty { point, chosen }: &ScoredPenalty,
) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("factor", point.factor)?;
    result.set_item("penalty", point.penalty.value())?;
    result.set_item("mean_score", point.mean_score)?;
    result.set_item("standard_error", point.standard_error)?;
    result.set_item("mean_support", point.mean_support)?;
    result.set_item("scores", array(py, &point.scores))?;
    result.set_item("chosen", chosen)?;
    Ok(result)
}

fn describe_baselines<'py>(py: Python<'py>, baselines: &Baselines) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    for (name, baseline) in [("soft_threshold", &baselines.soft_threshold), ("pca", &baselines.pca)] {
        let found = PyDict::new(py);
        // Rows that the components do not use have rounding in the basis.
        let used = |(row, loading): (usize, &f64)| if baseline.rows.contains(&row) { *loading } else { 0.0 };
        let components: Vec<Vec<f64>> = baseline
            .subspace
            .basis()
            .column_iter()
            .map(|column| column.iter().enumerate().map(used).collect())
            .collect();
        found.set_item("components", PyArray2::from_vec2(py, &components)?)?;
        found.set_item("eigenvalues", array(py, &baseline.eigenvalues))?;
        found.set_item("support", &baseline.support)?;
        found.set_item("distance", baseline.distance)?;
        result.set_item(name, found)?;
    }
    Ok(result)
}

fn describe_point<'py>(py: Python<'py>, point: &PathPoint) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("penalty", point.penalty.value())?;
    result.set_item("status", point.status.name())?;
    result.set_item("support", &point.support)?;
    result.set_item("objective", point.objective)?;
    result.set_item("relative_gap", point.relative_gap)?;
    result.set_item("iterations", point.iterations)?;
    result.set_item("eigenvalues", array(py, point.variances.as_slice()))?;
    Ok(result)
}

/// The expected quality of components.
pub(crate) fn describe_prediction<'py>(py: Python<'py>, prediction: &Prediction) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    let components = &prediction.components;
    result.set_item("sin_theta_squared", prediction.sin_theta_squared)?;
    let missed = components.iter().map(|component| component.sin_squared).collect();
    result.set_item("per_component", PyArray1::from_vec(py, missed))?;
    let recoverable: Vec<bool> = components.iter().map(|component| component.recoverable).collect();
    result.set_item("recoverable", PyArray1::from_vec(py, recoverable))?;
    result.set_item("uninformed", prediction.uninformed)?;
    result.set_item("threshold", prediction.threshold)?;
    Ok(result)
}

fn describe_confidence<'py>(py: Python<'py>, confidence: &Confidence) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("replicates", confidence.replicates)?;
    result.set_item("level", confidence.level)?;
    result.set_item("lower", confidence.interval.lower)?;
    result.set_item("upper", confidence.interval.upper)?;
    result.set_item("median", confidence.median)?;
    let component = |component: &ComponentInterval| -> PyResult<_> {
        let result = PyDict::new(py);
        result.set_item("eigenvalue", component.eigenvalue)?;
        result.set_item("distinguishable", component.distinguishable)?;
        result.set_item("lower", component.interval.lower)?;
        result.set_item("upper", component.interval.upper)?;
        Ok(result)
    };
    result.set_item("components", confidence.components.iter().map(component).collect::<PyResult<Vec<_>>>()?)?;
    result.set_item("support_stability", array(py, &confidence.support_stability))?;
    result.set_item("loading_errors", PyArray2::from_vec2(py, &confidence.loading_errors)?)?;
    Ok(result)
}

fn array<'py>(py: Python<'py>, values: &[f64]) -> Bound<'py, PyArray1<f64>> {
    PyArray1::from_slice(py, values)
}
