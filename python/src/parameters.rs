//! Parameters as Python gives them: what cannot be one is refused by its name.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyString};

use crate::error::{PlanError, RecoveryError, TaskError, type_name};

/// For each name the function that reads the parameter (`from_py_with`), with the error for an integer out of range.
macro_rules! parameters {
    ($($error:ident, $wanted:literal: $($name:ident)*;)*) => {$($(
        pub(crate) fn $name<'a, 'py, T: FromPyObject<'a, 'py>>(value: &'a Bound<'py, PyAny>) -> PyResult<T> {
            value.extract().map_err(|_| refused(stringify!($name), $wanted, value, $error::new_err))
        }
    )*)*};
}

parameters! {
    TaskError, "a number": epsilon delta radius;
    TaskError, "True, False or a number": centring;
    TaskError, "a text": mechanism period;
    TaskError, "a whole number of at least 0": candidates cap folds;
    PlanError, "a number": bulk share target shuffled mean_share sample_error;
    PlanError, "a whole number of at least 0": dimension records batch waves;
    RecoveryError, "a number": tolerance time_limit select;
    RecoveryError, "'auto', 'cross-validated' or a number": penalty;
    RecoveryError, "a text": method denoise;
    RecoveryError, "a whole number of at least 0": rank path bootstrap fold;
    PyValueError, "a text": scaling unseen;
    PyValueError, "the sums of reports, as of ldp_pca.aggregate(reports, task)": aggregate norms refined;
    PyValueError, "True or False": anyway baselines bounded skip_invalid strict;
    PyValueError, "a list of texts": ids;
    PyValueError, "a whole number of at least 0": threads first;
    PyValueError, "a whole number of at least 0, or a generator of NumPy": insecure_seed;
}

/// Refuses a number of people or reports that is 0.
pub(crate) fn at_least_one(name: &str, count: Option<u64>) -> PyResult<()> {
    if count == Some(0) { Err(PlanError::new_err(format!("{name} is 0: it must be at least 1"))) } else { Ok(()) }
}

/// Says what the value is, if it is a number or a text, or else its type.
pub(crate) fn refused(name: &str, wanted: &str, value: &Bound<'_, PyAny>, out_of_range: fn(String) -> PyErr) -> PyErr {
    let whole = value.is_instance_of::<PyInt>();
    let short = whole || value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyString>();
    let shown = value.repr().ok().filter(|_| short).map_or_else(|| type_name(value), |text| text.to_string());
    let message = format!("{name} is {shown}: give {wanted}");
    if whole { out_of_range(message) } else { PyTypeError::new_err(message) }
}
