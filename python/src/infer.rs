//! A schema from a public sample, which `ldp_pca/_schema.py` wraps.

use std::collections::HashSet;

use ldp_pca::internal::schema::{identifying, positional_name};
use ldp_pca::schema::infer::{Inference, InferenceOptions, Scaling};
use ldp_pca::schema::{Column, ColumnKind, Schema, Unseen};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::error::{SchemaError, named, raised};
use crate::parameters;
use crate::records::{batches, column_texts, declared_categories};
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
    let Sample { names, rows, declared } = Sample::of(sample, &options.ignore)?;
    let mut inference = Inference::new(&names, options.clone()).map_err(raised)?;
    for (at, row) in rows.iter().enumerate() {
        if at % 1024 == 0 {
            pause(sample.py())?;
        }
        inference.observe(&row.iter().map(String::as_str).collect::<Vec<_>>()).map_err(raised)?;
    }
    let inferred = inference.finish().map_err(raised)?;
    let mut odd: Vec<String> = inferred.warnings.iter().map(ToString::to_string).collect();
    if !inferred.always_zero.is_empty() {
        let names = inferred.always_zero.join(", ");
        odd.push(format!("columns with only zeros or missing values are ignored: {names}; give a sample with values"));
    }
    let mut columns = inferred.schema.columns().to_vec();
    odd.extend(columns.iter_mut().zip(declared).filter_map(|(column, declared)| declare(column, declared, &options)));
    Ok((Schema::new(columns).map_err(raised)?.to_json(), odd))
}

/// Gives a categorical column the categories that its type declares, if the options do not list others. One that may
/// identify somebody, or so many that they may be texts about people, leave it out, with a warning, unless the options
/// name it.
fn declare(column: &mut Column, declared: Vec<String>, options: &InferenceOptions) -> Option<String> {
    let ColumnKind::Categorical { values, unseen } = &mut column.kind else { return None };
    if declared.is_empty() || options.categories.iter().any(|(name, _)| *name == column.name) {
        return None;
    }
    let odd = if declared.len() > options.max_values {
        Some(format!("declares more than {} categories", options.max_values))
    } else {
        declared.iter().find_map(|category| identifying(category)).map(|oddity| oddity.to_string())
    };
    if let Some(odd) = odd
        && !options.categorical.contains(&column.name)
    {
        column.kind = ColumnKind::Ignored;
        let name = &column.name;
        return Some(format!(
            "column '{name}' {odd} and is left out: name it as categorical if its categories may become public"
        ));
    }
    *values = declared;
    if *unseen == Unseen::Other && !values.iter().any(|value| value == "other") {
        values.push("other".to_owned());
    }
    None
}

/// What inference reads: the names of the columns, every row as texts, and of each column the declared categories.
struct Sample {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
    declared: Vec<Vec<String>>,
}

impl Sample {
    /// Reads all columns but those to ignore, which may be of any type.
    fn of(sample: &Bound<'_, PyAny>, ignore: &[String]) -> PyResult<Self> {
        if let Ok(array) = sample.extract::<PyReadonlyArray2<'_, f64>>() {
            let array = array.as_array();
            let rows = array.rows().into_iter().map(|row| row.iter().map(ToString::to_string).collect());
            let names: Vec<String> = (0..array.ncols()).map(positional_name).collect();
            return Ok(Self { rows: rows.collect(), declared: vec![vec![]; names.len()], names });
        }
        let batches = batches(sample, sample.hasattr("__arrow_c_stream__")?)?;
        let names: Vec<String> = batches
            .first()
            .map_or_else(Vec::new, |batch| batch.schema().fields().iter().map(|field| field.name().clone()).collect());
        let mut read = Self { rows: vec![], declared: vec![vec![]; names.len()], names };
        for batch in &batches {
            let first = read.rows.len();
            read.rows.resize_with(first + batch.num_rows(), Vec::new);
            let rows = &mut read.rows[first..];
            for ((column, field), declared) in
                batch.columns().iter().zip(batch.schema().fields()).zip(&mut read.declared)
            {
                if ignore.contains(field.name()) {
                    rows.iter_mut().for_each(|row| row.push(String::new()));
                    continue;
                }
                let mut known: HashSet<String> = declared.iter().cloned().collect();
                let values = declared_categories(column, field).into_iter();
                declared.extend(values.filter(|value| known.insert(value.clone())));
                for (row, text) in rows.iter_mut().zip(column_texts(column, field)?) {
                    // A category is no number, whatever its text.
                    let number = !declared.is_empty() && text.parse::<f64>().is_ok();
                    row.push(if number { format!("category {text}") } else { text });
                }
            }
        }
        Ok(read)
    }
}
