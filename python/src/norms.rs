//! The lengths of records, which `ldp_pca/_norms.py` shows.

use ldp_pca::internal::lengths::{Lengths, Norms};
use ldp_pca::record::Radius;
use pyo3::prelude::*;

use crate::aggregate::Aggregate;
use crate::error::{RecoveryError, raised};
use crate::parameters;

/// What the sums of a task about lengths say, as ``ldp-pca norms --json`` prints it.
#[pyfunction]
pub(crate) fn _norms(
    py: Python<'_>,
    #[pyo3(from_py_with = parameters::aggregate)] aggregate: Py<Aggregate>,
    #[pyo3(from_py_with = parameters::radius)] radius: Option<f64>,
) -> PyResult<String> {
    let radius = radius.map(Radius::new).transpose().map_err(raised)?;
    let guarantee = aggregate.get().task_of().guarantee();
    let lengths = Lengths::new(&of(py, aggregate.get())?, guarantee, radius).map_err(raised)?;
    // Not by way of a value, which sorts names: a table of the quantiles has its columns in this order.
    serde_json::to_string(&lengths).map_err(|error| RecoveryError::new_err(error.to_string()))
}

/// The lengths that sums show.
pub(crate) fn of(py: Python<'_>, aggregate: &Aggregate) -> PyResult<Norms> {
    let sums = py.detach(|| aggregate.locked().clone());
    Norms::of(&sums, aggregate.task_of()).map_err(raised)
}
