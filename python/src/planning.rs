//! Planning, as `ldp-pca plan` does it; `ldp_pca/_planning.py` wraps it.

use ldp_pca::covariance::Covariance;
use ldp_pca::error::Error;
use ldp_pca::internal::decimal::Decimal;
use ldp_pca::internal::lengths::Clipping;
use ldp_pca::internal::waves::Waves;
use ldp_pca::prediction::{Batches, Goal, Planner, PredictionError, Spectrum};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::Bounding;
use ldp_pca::recovery::Rank;
use ldp_pca::schema::MAX_DIMENSION;
use pyo3::prelude::*;
use serde_json::json;

use crate::aggregate::Aggregate;
use crate::error::{PlanError, raised};
use crate::norms::of as lengths;
use crate::parameters;
use crate::signals::computed;
use crate::task::{centring_of, family, radius_of};

/// Answers all questions, as JSON.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn _plan(
    py: Python<'_>,
    #[pyo3(from_py_with = parameters::rank)] rank: usize,
    #[pyo3(from_py_with = parameters::aggregate)] aggregate: Option<Py<Aggregate>>,
    #[pyo3(from_py_with = parameters::dimension)] dimension: Option<usize>,
    spectrum: Option<Vec<f64>>,
    #[pyo3(from_py_with = parameters::bulk)] bulk: Option<f64>,
    #[pyo3(from_py_with = parameters::mechanism)] mechanism: String,
    #[pyo3(from_py_with = parameters::epsilon)] epsilon: Option<f64>,
    #[pyo3(from_py_with = parameters::delta)] delta: Option<f64>,
    #[pyo3(from_py_with = parameters::candidates)] candidates: Option<u32>,
    #[pyo3(from_py_with = parameters::cap)] cap: Option<u32>,
    #[pyo3(from_py_with = parameters::records)] records: Option<u64>,
    #[pyo3(from_py_with = parameters::share)] share: Option<f64>,
    #[pyo3(from_py_with = parameters::target)] target: Option<f64>,
    #[pyo3(from_py_with = parameters::shuffled)] shuffled: Option<f64>,
    #[pyo3(from_py_with = parameters::batch)] batch: Option<u64>,
    centring: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = parameters::mean_share)] mean_share: Option<f64>,
    #[pyo3(from_py_with = parameters::waves)] waves: u8,
    #[pyo3(from_py_with = parameters::radius)] radius: Option<f64>,
    #[pyo3(from_py_with = parameters::norms)] norms: Option<Py<Aggregate>>,
) -> PyResult<String> {
    let rank = Rank::new(rank).map_err(raised)?;
    parameters::at_least_one("records", records)?;
    parameters::at_least_one("batch", batch)?;
    let people = match (waves, records) {
        (1, _) => None,
        (2, Some(records)) => Some(records),
        (2, None) => {
            return Err(PlanError::new_err("waves=2 needs records, the number of people of both waves"));
        }
        _ => return Err(PlanError::new_err(format!("waves is {waves}: use 1 or 2"))),
    };
    let clipping = match (radius, norms) {
        (Some(radius), Some(sums)) => {
            let lengths = lengths(py, sums.get())?;
            Some(lengths.clipping(radius_of(radius)?).map_err(raised)?)
        }
        (None, None) => None,
        _ => return Err(PlanError::new_err("radius and norms go together: what a radius costs, the lengths say")),
    };
    if aggregate.is_some() && clipping.is_some() {
        return Err(PlanError::new_err("radius and norms beside an aggregate: its task says what they are"));
    }
    let (planner, epsilon, clipping) = match (aggregate, dimension, spectrum, epsilon) {
        (Some(aggregate), None, None, None) => computed(py, move || of_aggregate(aggregate.get(), rank))?,
        (None, Some(dimension), Some(signals), Some(epsilon)) => {
            let family = family(&mechanism, delta, candidates, cap)?;
            let centring = centring.map(centring_of).transpose()?.flatten();
            if centring.is_none() && mean_share.is_some() {
                return Err(PlanError::new_err("mean_share without centring: it is about components about a mean"));
            }
            let of_mean = mean_share.unwrap_or(0.0);
            let spectrum = stated(dimension, signals, bulk)?.with_mean_share(of_mean).map_err(raised)?;
            let (spectrum, bounding) = match &clipping {
                Some(clipping) => clipping.of_unit_norm(spectrum).map_err(raised)?,
                None => (spectrum, Bounding::UnitNorm),
            };
            let planner = Planner::new(spectrum, rank, family, bounding).map_err(raised)?;
            (planner.with_centring(centring), Epsilon::new(epsilon).map_err(raised)?, clipping)
        }
        _ => return Err(PlanError::new_err("give dimension, spectrum and epsilon, or an aggregate alone")),
    };
    let shuffled = match (shuffled, batch) {
        (Some(delta), Some(honest_reports)) => {
            Some(Batches { honest_reports, delta: Delta::new(delta).map_err(raised)? })
        }
        (None, None) => None,
        _ => {
            let problem = "shuffled and batch go together: a delta, and the honest reports in each batch that has it";
            return Err(PlanError::new_err(problem));
        }
    };
    let goal = Goal { records, target, share, shuffled, hostile: None };
    let notes = planner.notes();
    let (waves, plan) = computed(py, move || -> Result<_, PredictionError> {
        let waves = people.map(|people| Waves::new(&planner, epsilon, people)?.best()).transpose()?;
        Ok((waves, planner.plan(epsilon, &goal)?))
    })?;
    let mut result = json!(plan);
    result["guarantee"] = json!(plan.guarantee.to_string());
    result["notes"] = json!(notes);
    result["waves"] = json!(waves);
    result["clipping"] = json!(clipping);
    result["_costs_much"] = json!(clipping.is_some_and(|clipping| clipping.costs_much()));
    result["_advice"] = json!(waves.and_then(|waves| waves.refused).map(|reason| reason.to_string()));
    Ok(result.to_string())
}

/// As for another collection like this one, with what the radius costs where records are clipped.
fn of_aggregate(aggregate: &Aggregate, rank: Rank) -> Result<(Planner, Epsilon, Option<Clipping>), Error> {
    let task = aggregate.task_of();
    let sums = aggregate.locked().clone();
    let covariance = Covariance::estimate(&sums, task)?;
    let planner = Planner::of_task(Spectrum::of_estimate(&covariance)?, rank, task)?;
    let clipping = Clipping::of_estimate(&covariance, task);
    Ok((planner, task.guarantee().epsilon, clipping))
}

fn stated(dimension: usize, signals: Vec<f64>, bulk: Option<f64>) -> PyResult<Spectrum> {
    if dimension == 0 || dimension > MAX_DIMENSION {
        return Err(PlanError::new_err(format!(
            "the dimension is {dimension}: it must be between 1 and {MAX_DIMENSION}"
        )));
    }
    if let Some((index, value)) = signals.iter().enumerate().find(|(_, value)| !value.is_finite() || **value < 0.0) {
        let shown = Decimal(*value);
        let problem = format!("spectrum[{index}] is {shown}: an eigenvalue is a finite number of at least 0");
        return Err(PlanError::new_err(problem));
    }
    Spectrum::stated(dimension, signals, bulk).map_err(raised)
}
