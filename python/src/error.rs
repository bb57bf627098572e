//! The crate's errors as exceptions of one hierarchy, with the crate's messages (`ldp_pca/errors.py`).

use core::fmt::Display;

use ldp_pca::error::Error;
use ldp_pca::recovery::AnswerError;
use pyo3::{import_exception, intern, prelude::*};

import_exception!(ldp_pca.errors, AggregateError);
import_exception!(ldp_pca.errors, PlanError);
import_exception!(ldp_pca.errors, RecordError);
import_exception!(ldp_pca.errors, RecoveryError);
import_exception!(ldp_pca.errors, ReportError);
import_exception!(ldp_pca.errors, ReportTypeError);
import_exception!(ldp_pca.errors, SchemaError);
import_exception!(ldp_pca.errors, TaskError);

/// The exception for an error of any stage.
pub(crate) fn raised(error: impl Into<Error>) -> PyErr {
    let error = error.into();
    let message = error.to_string();
    match error {
        Error::Privacy(_) | Error::Mechanism(_) | Error::Task(_) | Error::Refinement(_) => TaskError::new_err(message),
        Error::Schema(_) => SchemaError::new_err(message),
        Error::Record(_) | Error::Randomize(_) | Error::Entropy(_) => RecordError::new_err(message),
        Error::Report(_) => ReportError::new_err(message),
        Error::Aggregate(_) => AggregateError::new_err(message),
        Error::Prediction(_) | Error::Answer(AnswerError::Prediction(_)) => PlanError::new_err(message),
        // Covariance, recovery, and what is known of its error.
        _ => RecoveryError::new_err(message),
    }
}

/// An exception about one row of many, which it says and has as its attribute `row`.
pub(crate) fn in_row(row: usize, make: impl FnOnce(String) -> PyErr, problem: impl Display) -> PyErr {
    let error = make(format!("row {row}: {problem}"));
    let failed = Python::attach(|py| error.value(py).setattr(intern!(py, "row"), row)).err();
    failed.unwrap_or(error)
}

/// What this name stands for, or a message that has all names.
pub(crate) fn named<T: Copy>(given: &str, what: &str, choices: &[(&str, T)]) -> Result<T, String> {
    let names: Vec<String> = choices.iter().map(|(name, _)| format!("'{name}'")).collect();
    match (choices.iter().find(|(name, _)| *name == given), &names[..]) {
        (Some((_, choice)), _) => Ok(*choice),
        (None, [first @ .., last]) => Err(format!("'{given}' is not {what}: use {} or {last}", first.join(", "))),
        (None, []) => Err(format!("'{given}' is not {what}")),
    }
}

/// The name of a value's type, for messages.
pub(crate) fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string())
}
