//! A schema from a public sample, which `ldp_pca/_schema.py` wraps.

use ldp_pca::internal::schema::positional_name;
use ldp_pca::schema::Unseen;
use ldp_pca::schema::infer::{Inference, InferenceOptions, Scaling};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::error::{SchemaError, named, raised};
use crate::parameters;
use crate::records::{batches, column_texts};
use crate::signals::pause;

const SCALINGS: [(&str, Scaling); 5] = [
    ("robust", Scaling::Robust),
    ("max-abs", Scaling::MaxAbs),
    ("range", Scaling::Range),
    ("standard", Scaling::Standard),
    ("none", Scaling::None),
];
const UNSEEN: [(&str, Unseen); 2] = [("zero", Unseen::Zero), ("other", Unseen::Other)];

/// Reads a sample, a float64 array or an Arrow table, and gives the JSON of its schema with what is odd about it.
#[pyfunction]
pub(crate) fn _infer_schema(
    sample: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = parameters::scaling)] scaling: String,
    #[pyo3(from_py_with = parameters::unseen)] unseen: String,
    ignore: Vec<String>,
    categorical: Vec<String>,
    categories: Vec<(String, Vec<String>)>,
) -> PyResult<(String, Vec<String>)> {
    let options = InferenceOptions {
        scaling: named(&scaling, "a scaling", &SCALINGS).map_err(SchemaError::new_err)?,
        unseen: named(&unseen, "a rule", &UNSEEN).map_err(SchemaError::new_err)?,
        ignore,
        categorical,
        categories,
        ..InferenceOptions::default()
    };
    let (names, rows) = texts(sample)?;
    let mut inference = Inference::new(&names, options).map_err(raised)?;
    for (at, row) in rows.iter().enumerate() {
        if at % 1024 == 0 {
            pause(sample.py())?;
        }
        inference.observe(&row.iter().map(String::as_str).collect::<Vec<_>>()).map_err(raised)?;
    }
    let inferred = inference.finish().map_err(raised)?;
    let schema = serde_json::to_string(&inferred.schema).map_err(|error| SchemaError::new_err(error.to_string()))?;
    Ok((schema, inferred.warnings.iter().map(ToString::to_string).collect()))
}

/// The names of the columns, and every row as texts: what inference reads.
fn texts(sample: &Bound<'_, PyAny>) -> PyResult<(Vec<String>, Vec<Vec<String>>)> {
    if let Ok(array) = sample.extract::<PyReadonlyArray2<'_, f64>>() {
        let array = array.as_array();
        let rows = array.rows().into_iter().map(|row| row.iter().map(ToString::to_string).collect());
        return Ok(((0..array.ncols()).map(positional_name).collect(), rows.collect()));
    }
    let batches = batches(sample, sample.hasattr("__arrow_c_stream__")?)?;
    let names = batches
        .first()
        .map_or_else(Vec::new, |batch| batch.schema().fields().iter().map(|field| field.name().clone()).collect());
    let mut rows: Vec<Vec<String>> = Vec::new();
    for batch in &batches {
        let first = rows.len();
        rows.resize_with(first + batch.num_rows(), Vec::new);
        for (column, name) in batch.columns().iter().zip(&names) {
            for (row, text) in rows[first..].iter_mut().zip(column_texts(column, name)?) {
                row.push(text);
            }
        }
    }
    Ok((names, rows))
}
