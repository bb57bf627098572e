//! The covariance estimate from sums, which `ldp_pca/_covariance.py` wraps.

use ldp_pca::covariance::Covariance;
use ldp_pca::error::Error;
use ldp_pca::internal::recovery::{Denoising, mean_answer};
use ldp_pca::recovery::Reports;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use serde_json::json;

use crate::aggregate::Aggregate;
use crate::error::{RecoveryError, named};
use crate::parameters;
use crate::signals::computed;

const DENOISINGS: [(&str, Denoising); 4] = [
    ("frobenius", Denoising::Frobenius),
    ("operator", Denoising::Operator),
    ("psd", Denoising::Psd),
    ("none", Denoising::None),
];

/// The matrix of the estimate of all folds, or of one, and the rest of it as JSON.
#[pyfunction]
pub(crate) fn _covariance<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = parameters::aggregate)] aggregate: Py<Aggregate>,
    #[pyo3(from_py_with = parameters::fold)] fold: Option<usize>,
    #[pyo3(from_py_with = parameters::denoise)] denoise: String,
) -> PyResult<(Bound<'py, PyArray2<f64>>, String)> {
    let way = named(&denoise, "a way to denoise", &DENOISINGS).map_err(RecoveryError::new_err)?;
    let folds = aggregate.get().task_of().folds().count();
    if let Some(fold) = fold.filter(|&fold| fold >= folds) {
        let problem = format!("there is no fold {fold}: the task has {folds}, counted from 0");
        return Err(RecoveryError::new_err(problem));
    }
    let (matrix, result) = computed(py, move || {
        let (aggregate, task) = (aggregate.get(), aggregate.get().task_of());
        let sums = aggregate.locked();
        let chosen = |index: usize| fold.is_none_or(|fold| index == fold);
        let covariance = Covariance::of_folds(Reports::one(&sums, task), chosen)?;
        drop(sums);
        let denoised = way.apply(&covariance)?;
        let mut result = json!(denoised);
        result["records"] = json!(covariance.records());
        result["feature_names"] = json!(task.schema().feature_names());
        result["noise_deviation"] = json!(covariance.noise_deviation());
        result["noise_edge"] = json!(covariance.noise_edge());
        result["mean"] = json!(mean_answer(&covariance, task));
        Ok::<_, Error>((denoised.matrix, result.to_string()))
    })?;
    let matrix = PyArray1::from_slice(py, matrix.as_slice()).reshape([matrix.ncols(), matrix.nrows()])?;
    Ok((matrix, result))
}
