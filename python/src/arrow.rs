//! Arrow arrays and tables from Python, for records and reports alike.
//!
//! No message contains Arrow's own words, which may quote names and values.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray, make_array};
use arrow_data::ArrayData;
use arrow_pyarrow::{FromPyArrow, Table};
use arrow_schema::DataType;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::error::in_row;

/// The array of an object with the Arrow PyCapsule interface.
pub(crate) fn array(object: &Bound<'_, PyAny>, make: fn(&'static str) -> PyErr) -> PyResult<ArrayRef> {
    ArrayData::from_pyarrow_bound(object).map(make_array).map_err(|error| refused(error, make))
}

/// The table of an object that streams batches.
pub(crate) fn table(object: &Bound<'_, PyAny>, make: fn(&'static str) -> PyErr) -> PyResult<Table> {
    Table::from_pyarrow_bound(object).map_err(|error| refused(error, make))
}

/// An exception that ends the program is not ours to replace.
fn refused(error: PyErr, make: fn(&'static str) -> PyErr) -> PyErr {
    if Python::attach(|py| error.is_instance_of::<PyException>(py)) {
        make("the table or array cannot be read: Arrow does not know its type")
    } else {
        error
    }
}

/// The batch of an array of structures, if it is one. A row that is null is refused.
pub(crate) fn batch(array: &ArrayRef, make: fn(String) -> PyErr) -> PyResult<Option<&StructArray>> {
    let batch = array.as_struct_opt();
    let nulls = batch.and_then(StructArray::nulls).filter(|nulls| nulls.null_count() > 0);
    match nulls.and_then(|nulls| nulls.iter().position(|valid| !valid)) {
        Some(row) => Err(in_row(row, make, "null instead of a row: drop nulls before")),
        None => Ok(batch),
    }
}

/// Arrow's name of a type, without its parameters: names of fields and a precision can reveal values.
pub(crate) fn type_name(kind: &DataType) -> String {
    let whole = kind.to_string();
    whole.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default().to_owned()
}
