//! The covariance estimate from sums, which `ldp_pca/_covariance.py` wraps.

use ldp_pca::covariance::Covariance;
use ldp_pca::error::Error;
use ldp_pca::family::Reports;
use ldp_pca::recovery::{Denoised, Denoising, MeanAnswer};
use ldp_pca::task::Task;
use nalgebra::DMatrix;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::aggregate::Aggregate;
use crate::error::{RecoveryError, raised};
use crate::signals::waited;

/// The estimate of all folds, or of one, as a dictionary.
#[pyfunction]
pub(crate) fn _covariance<'py>(
    py: Python<'py>,
    aggregate: Py<Aggregate>,
    fold: Option<usize>,
    denoising: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let way = denoising_of(denoising)?;
    let folds = aggregate.get().task_of().inner().folds().count();
    if let Some(fold) = fold.filter(|&fold| fold >= folds) {
        let problem = format!("there is no fold {fold}: the task has {folds}, counted from 0");
        return Err(RecoveryError::new_err(problem));
    }
    let of_kernel = aggregate.clone_ref(py);
    let estimated = waited(
        py,
        |_| Ok(()),
        move |_| {
            let (aggregate, task) = (of_kernel.get(), of_kernel.get().task_of().inner());
            let sums = aggregate.locked();
            let chosen = |index: usize| fold.is_none_or(|fold| index == fold);
            let covariance = Covariance::of_folds(Reports::one(&sums, task), chosen).map_err(Error::from)?;
            drop(sums);
            let denoised = way.apply(&covariance).map_err(Error::from)?;
            Ok::<_, Error>((covariance, denoised))
        },
    )?;
    let (covariance, Denoised { matrix, eigenvalues, bulk, .. }) = estimated.map_err(raised)?;
    let task = aggregate.get().task_of().inner();
    let result = PyDict::new(py);
    result.set_item("matrix", square(py, &matrix)?)?;
    result.set_item("denoising", denoising)?;
    result.set_item("eigenvalues", eigenvalues.map(|values| PyArray1::from_vec(py, values)))?;
    result.set_item("bulk", bulk)?;
    describe(&result, &covariance, task)?;
    Ok(result)
}

/// The facts about an estimate besides its matrix.
pub(crate) fn describe(result: &Bound<'_, PyDict>, covariance: &Covariance, task: &Task) -> PyResult<()> {
    let py = result.py();
    result.set_item("records", covariance.records())?;
    result.set_item("feature_names", task.schema().feature_names())?;
    result.set_item("noise_deviation", covariance.noise_deviation())?;
    result.set_item("noise_edge", covariance.noise_edge())?;
    let mean = covariance.mean().map(|mean| -> PyResult<_> {
        let MeanAnswer { estimate, in_column_units, noise_factor, share } = MeanAnswer::new(mean, covariance, task);
        let dict = PyDict::new(py);
        dict.set_item("values", PyArray1::from_slice(py, estimate.values()))?;
        dict.set_item("noise_deviation", estimate.noise_deviation())?;
        dict.set_item("in_column_units", in_column_units.map(|entries| PyArray1::from_vec(py, entries)))?;
        dict.set_item("noise_factor", noise_factor)?;
        dict.set_item("share", share)?;
        Ok(dict)
    });
    result.set_item("mean", mean.transpose()?)
}

fn denoising_of(name: &str) -> PyResult<Denoising> {
    match name {
        "frobenius" => Ok(Denoising::Frobenius),
        "operator" => Ok(Denoising::Operator),
        "psd" => Ok(Denoising::Psd),
        "none" => Ok(Denoising::None),
        other => Err(RecoveryError::new_err(format!(
            "'{other}' is not a way to denoise: use 'frobenius', 'operator', 'psd' or 'none'"
        ))),
    }
}

/// A symmetric matrix.
fn square<'py>(py: Python<'py>, matrix: &DMatrix<f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    PyArray1::from_slice(py, matrix.as_slice()).reshape([matrix.ncols(), matrix.nrows()])
}
