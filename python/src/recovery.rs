//! Recovery, as `ldp-pca recover` does it; `ldp_pca/_recovery.py` wraps it.

use core::ops::ControlFlow;
use std::time::Instant;

use ldp_pca::components::PublishedComponents;
use ldp_pca::covariance::Covariance;
use ldp_pca::error::Error;
use ldp_pca::internal::recovery::FeatureTest;
use ldp_pca::internal::waves::RefinedFacts;
use ldp_pca::recovery::{
    Answer, Baseline, FantopeSolver, HeldOutUse, Part, Penalty, PenaltyChoice, Question, Rank, Reports, SolverSettings,
    Step, Stop, When, answer, principal_components,
};
use ldp_pca::subspace::{Subspace, SubspaceError, share_found, sin_theta_squared};
use ldp_pca_page::{single_columns, ties};
use nalgebra::DMatrix;
use numpy::{PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyString;
use serde_json::json;

use crate::aggregate::Aggregate;
use crate::error::{RecoveryError, named, raised};
use crate::parameters;
use crate::signals::{computed, waited};
use crate::task::unmarked;

/// The components of an answer, one in each row, and the rest of it as JSON.
pub(crate) type Answered<'py> = (Bound<'py, PyArray2<f64>>, String);

/// Recovers components.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn _recover<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = parameters::aggregate)] aggregate: Py<Aggregate>,
    #[pyo3(from_py_with = parameters::rank)] rank: Option<usize>,
    #[pyo3(from_py_with = parameters::method)] method: String,
    penalty: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = parameters::tolerance)] tolerance: Option<f64>,
    #[pyo3(from_py_with = parameters::time_limit)] time_limit: Option<f64>,
    #[pyo3(from_py_with = parameters::path)] path: Option<usize>,
    #[pyo3(from_py_with = parameters::baselines)] baselines: bool,
    #[pyo3(from_py_with = parameters::bootstrap)] bootstrap: Option<usize>,
    #[pyo3(from_py_with = parameters::select)] select: Option<f64>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Answered<'py>> {
    let aggregate = aggregate.get();
    let task = aggregate.task_of();
    let methods = [("auto", HeldOutUse::Choose), ("pca", HeldOutUse::Measure)];
    let held_out = named(&method, "a method", &methods).map_err(RecoveryError::new_err)?;
    if let Some(rate) = select.filter(|rate| !(0.0 < *rate && *rate < 1.0)) {
        return Err(RecoveryError::new_err(format!("select={rate} is not a rate between 0 and 1, such as 0.1")));
    }
    let mut question = Question {
        find_rank: rank.is_none(),
        tolerance,
        path,
        baselines: if baselines { When::Always } else { When::Never },
        held_out,
        test_rank: true,
        predict: true,
        bootstrap,
        select,
        // One component until the test has found how many.
        ..Question::new(Rank::new(rank.unwrap_or(1)).map_err(raised)?)
    };
    question.rank.check(task.dimension()).map_err(raised)?;
    if let Some(tolerance) = tolerance {
        FantopeSolver::new(SolverSettings { tolerance, ..SolverSettings::default() }).map_err(raised)?;
    }
    if let Some(seconds) = time_limit.filter(|&seconds| seconds.is_nan() || seconds <= 0.0) {
        return Err(RecoveryError::new_err(format!("{seconds} is not a positive number of seconds")));
    }
    question.penalty = penalty.map(choice).transpose()?;
    let sums = py.detach(|| aggregate.locked().clone());
    let of_task = task.clone();
    let answer = waited(py, progress, move |waiting| -> PyResult<_> {
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
            waiting.show(match step {
                Step::Beginning(part) => (*part, 0, None),
                Step::Solving(state) => (Part::Solution, state.iterations, None),
                Step::Done { part, done, of } => (*part, *done, Some(*of)),
            });
            waiting.flow().map_break(|()| Stop::Cancelled)
        };
        answer(&question, reports, &covariance, &mut watch).map_err(raised)
    })??;
    answered(py, answer, None, aggregate.seeded())
}

/// The canonical JSON of published components, whose document is checked.
#[pyfunction]
pub(crate) fn _components(document: &str) -> PyResult<String> {
    Ok(PublishedComponents::from_json(unmarked(document)).map_err(raised)?.to_json())
}

/// `||sin Theta||_F^2` between the spans of two lists of components, one in each row.
#[pyfunction]
pub(crate) fn _sin_theta_squared(ours: PyReadonlyArray2<'_, f64>, theirs: PyReadonlyArray2<'_, f64>) -> PyResult<f64> {
    span(&ours).and_then(|ours| sin_theta_squared(&ours, &span(&theirs)?)).map_err(raised)
}

/// The share of a covariance's structure that the span of components finds, one in each row.
#[pyfunction]
pub(crate) fn _share_found(
    py: Python<'_>,
    components: PyReadonlyArray2<'_, f64>,
    covariance: PyReadonlyArray2<'_, f64>,
) -> PyResult<Option<f64>> {
    let (ours, covariance) = (span(&components).map_err(raised)?, transposed(&covariance));
    computed(py, move || -> Result<_, Error> {
        let best = principal_components(&covariance, Rank::new(ours.rank())?)?;
        Ok(share_found(&ours, &Subspace::new(&best.vectors)?, &covariance)?)
    })
}

fn span(components: &PyReadonlyArray2<'_, f64>) -> Result<Subspace, SubspaceError> {
    Subspace::new(&transposed(components))
}

fn transposed(rows: &PyReadonlyArray2<'_, f64>) -> DMatrix<f64> {
    let rows = rows.as_array();
    DMatrix::from_fn(rows.ncols(), rows.nrows(), |column, row| rows[(row, column)])
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
    Ok(PenaltyChoice::Value(Penalty::new(parameters::penalty(penalty)?).map_err(raised)?))
}

/// An answer for Python, with what its JSON on the command line leaves out. A second wave adds its facts.
pub(crate) fn answered(
    py: Python<'_>,
    mut answer: Answer,
    refined: Option<RefinedFacts>,
    seeded: bool,
) -> PyResult<Answered<'_>> {
    let (components, marks) = (PyArray2::from_vec2(py, &answer.found.components)?, answer.marks_of_mean());
    let standing = answer.standing_out();
    let mut patterns = ties(&answer, "component");
    patterns.extend(single_columns(&answer, "component").map(|none| format!("no pattern: {none}")));
    // An array of them takes no text.
    answer.found.components.clear();
    let mut result = json!(answer);
    result["spectrum"] = json!(answer.found.spectrum);
    result["gap"] = json!(answer.found.gap);
    result["marks_of_mean"] = json!(marks);
    result["_whole"] = json!(answer.whole());
    result["_above"] = json!(answer.variances_above());
    result["edge"] = json!(answer.edge());
    result["edge_beside"] = json!(answer.edge_beside_what_stands_out());
    result["standing_out"] = json!(standing);
    result["patterns"] = json!(patterns);
    result["_all_standing"] = json!(answer.all_standing());
    result["refined"] = json!(refined);
    result["seeded"] = json!(seeded);
    for (place, point) in answer.found.path.iter().flatten().enumerate() {
        result["path"][place]["support"] = json!(point.support);
    }
    if let Some(sparse) = &answer.found.sparse {
        let shown = &mut result["sparse"];
        shown["dual_bound"] = json!(sparse.dual_bound);
        shown["failure_probability"] = json!(sparse.failure_probability);
        shown["support"] = json!(sparse.rows);
        if let Some(simpler) = &sparse.baselines {
            shown["soft_threshold"]["components"] = json!(loadings(&simpler.soft_threshold));
            shown["pca"]["components"] = json!(loadings(&simpler.pca));
        }
    }
    Ok((components, result.to_string()))
}

/// One list of d loadings per component. Rows that the components do not use have rounding in the basis.
fn loadings(baseline: &Baseline) -> Vec<Vec<f64>> {
    let used = |(row, loading): (usize, &f64)| if baseline.rows.contains(&row) { *loading } else { 0.0 };
    baseline.subspace.basis().column_iter().map(|column| column.iter().enumerate().map(used).collect()).collect()
}
