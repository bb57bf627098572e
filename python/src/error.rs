//! Errors of the crate as exceptions of one hierarchy, with the crate's messages (`ldp_pca/errors.py`).

use core::fmt::Display;

use pyo3::{PyErr, Python, import_exception, intern, prelude::PyAnyMethods};

import_exception!(ldp_pca.errors, AggregateError);
import_exception!(ldp_pca.errors, RecordError);
import_exception!(ldp_pca.errors, ReportError);
import_exception!(ldp_pca.errors, TaskError);

/// An exception about one row of many, which it says and has as its attribute `row`.
pub(crate) fn in_row(py: Python<'_>, row: usize, make: impl FnOnce(String) -> PyErr, problem: impl Display) -> PyErr {
    let error = make(format!("row {row}: {problem}"));
    if let Err(failed) = error.value(py).setattr(intern!(py, "row"), row) {
        return failed;
    }
    error
}
