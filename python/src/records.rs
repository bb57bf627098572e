//! Records as they come from Python: numbers by position, tables and mappings by name.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_data::ArrayData;
use arrow_pyarrow::{FromPyArrow, Table};
use arrow_schema::DataType;
use ldp_pca::schema::{Column, ColumnKind, Schema, SchemaError as Refusal, Value};
use num_traits::AsPrimitive;
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::types::{PyBool, PyMapping, PyString};
use pyo3::{intern, prelude::*};

use crate::error::{RecordError, in_row, raised};
use crate::reports::null_row;

/// Records of a caller, ready to be encoded one by one.
pub(crate) enum Records<'py> {
    /// One number per column, in the order of the schema.
    Numbers(PyReadonlyArray2<'py, f64>),
    /// Columns found by their names.
    Tables(Tables),
    /// Encoded already.
    Encoded(Vec<Vec<f64>>),
}

impl<'py> Records<'py> {
    /// Takes what Python has: a float64 array, a table, or an iterable of mappings.
    pub(crate) fn of(records: &Bound<'py, PyAny>, schema: &Schema) -> PyResult<Self> {
        let py = records.py();
        if let Ok(array) = records.extract::<PyReadonlyArray2<'py, f64>>() {
            return Ok(Self::Numbers(array));
        }
        let stream = records.hasattr(intern!(py, "__arrow_c_stream__"))?;
        if stream || records.hasattr(intern!(py, "__arrow_c_array__"))? {
            return Ok(Self::Tables(Tables::new(&batches(records, stream)?, schema)?));
        }
        let rows = records.try_iter()?.enumerate().map(|(row, record)| {
            let record = record?;
            encode_mapping(&record, schema).map_err(|problem| match problem {
                Unusable::Refused(error) => in_row(py, row, RecordError::new_err, error),
                Unusable::Python(error) => error,
            })
        });
        Ok(Self::Encoded(rows.collect::<PyResult<_>>()?))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Numbers(array) => array.shape()[0],
            Self::Tables(tables) => tables.rows,
            Self::Encoded(rows) => rows.len(),
        }
    }

    /// What can be read without the interpreter's lock.
    pub(crate) fn view(&self) -> View<'_> {
        match self {
            Self::Numbers(array) => View::Numbers(array.as_array()),
            Self::Tables(tables) => View::Tables(tables),
            Self::Encoded(rows) => View::Encoded(rows),
        }
    }
}

/// Records as kernels read them.
pub(crate) enum View<'a> {
    Numbers(numpy::ndarray::ArrayView2<'a, f64>),
    Tables(&'a Tables),
    Encoded(&'a [Vec<f64>]),
}

impl View<'_> {
    /// The d features of a row.
    pub(crate) fn features(&self, row: usize, schema: &Schema) -> Result<Vec<f64>, Refusal> {
        match self {
            Self::Numbers(array) => {
                let record = array.row(row);
                match record.as_slice() {
                    Some(record) => schema.encode_numbers(record),
                    None => schema.encode_numbers(&record.to_vec()),
                }
            }
            Self::Tables(tables) => tables.features(row, schema),
            Self::Encoded(rows) => Ok(rows[row].clone()),
        }
    }
}

/// The batches of a table, with the columns of the schema found in each.
pub(crate) struct Tables {
    /// The first row of each batch, and its columns in the order of the schema.
    batches: Vec<(usize, Vec<Cells>)>,
    rows: usize,
}

impl Tables {
    fn new(batches: &[RecordBatch], schema: &Schema) -> PyResult<Self> {
        let (mut taken, mut rows) = (Vec::with_capacity(batches.len()), 0);
        for batch in batches {
            let batch_schema = batch.schema();
            let header: Vec<&str> = batch_schema.fields().iter().map(|field| field.name().as_str()).collect();
            let places = schema.match_header(&header).map_err(raised)?;
            let cells = schema.columns().iter().zip(places).map(|(column, place)| match (&column.kind, place) {
                (ColumnKind::Ignored, _) | (_, None) => Ok(Cells::Ignored),
                (_, Some(place)) => Cells::new(batch.column(place), column),
            });
            taken.push((rows, cells.collect::<PyResult<_>>()?));
            rows += batch.num_rows();
        }
        Ok(Self { batches: taken, rows })
    }

    fn features(&self, row: usize, schema: &Schema) -> Result<Vec<f64>, Refusal> {
        // The last batch that begins at or before the row; empty ones before it begin there too.
        let (first, columns) = &self.batches[self.batches.partition_point(|(first, _)| *first <= row) - 1];
        let mut values = Vec::with_capacity(columns.len());
        for (cells, column) in columns.iter().zip(schema.columns()) {
            values.push(cells.value(row - first, column)?);
        }
        schema.encode_values(&values)
    }
}

/// The values of a column of one batch.
enum Cells {
    Ignored,
    /// With NaN in place of null, which is refused all the same.
    Numbers(Vec<f64>),
    Texts(ArrayRef),
    /// Positions in texts; none for null.
    Coded(Vec<Option<usize>>, ArrayRef),
}

impl Cells {
    fn new(array: &ArrayRef, column: &Column) -> PyResult<Self> {
        if let Some(numbers) = numbers(array) {
            return Ok(Self::Numbers(numbers));
        }
        if is_text(array.data_type()) {
            return Ok(Self::Texts(Arc::clone(array)));
        }
        if let Some(coded) = array.as_any_dictionary_opt()
            && is_text(coded.values().data_type())
        {
            let keys = if coded.values().is_empty() { vec![0; array.len()] } else { coded.normalized_keys() };
            let keys = keys.into_iter().enumerate().map(|(row, key)| (!coded.keys().is_null(row)).then_some(key));
            return Ok(Self::Coded(keys.collect(), Arc::clone(coded.values())));
        }
        let (name, kind) = (&column.name, array.data_type());
        Err(RecordError::new_err(format!("column '{name}' is {kind}: give numbers, or texts for a categorical column")))
    }

    fn value(&self, row: usize, column: &Column) -> Result<Value<'_>, Refusal> {
        let missing = || Refusal::MissingColumn(column.name.clone());
        match self {
            Self::Ignored => Ok(Value::Number(0.0)),
            Self::Numbers(numbers) => Ok(Value::Number(numbers[row])),
            Self::Texts(texts) => text(texts, row).map(Value::Text).ok_or_else(missing),
            Self::Coded(keys, texts) => keys[row].and_then(|key| text(texts, key)).map(Value::Text).ok_or_else(missing),
        }
    }
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn text(array: &ArrayRef, row: usize) -> Option<&str> {
    (!array.is_null(row)).then(|| match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row),
        _ => array.as_string_view().value(row),
    })
}

/// The numbers of a numeric array.
fn numbers(array: &ArrayRef) -> Option<Vec<f64>> {
    Some(match array.data_type() {
        DataType::Float64 => widened::<Float64Type>(array),
        DataType::Float32 => widened::<Float32Type>(array),
        DataType::Int8 => widened::<Int8Type>(array),
        DataType::Int16 => widened::<Int16Type>(array),
        DataType::Int32 => widened::<Int32Type>(array),
        DataType::Int64 => widened::<Int64Type>(array),
        DataType::UInt8 => widened::<UInt8Type>(array),
        DataType::UInt16 => widened::<UInt16Type>(array),
        DataType::UInt32 => widened::<UInt32Type>(array),
        DataType::UInt64 => widened::<UInt64Type>(array),
        _ => return None,
    })
}

fn widened<T: ArrowPrimitiveType<Native: AsPrimitive<f64>>>(array: &ArrayRef) -> Vec<f64> {
    array.as_primitive::<T>().iter().map(|value| value.map_or(f64::NAN, AsPrimitive::as_)).collect()
}

/// The cells of a column as texts, as a file would have them; empty for null.
pub(crate) fn column_texts(array: &ArrayRef, name: &str) -> PyResult<Vec<String>> {
    let kind = ColumnKind::Numeric { offset: 0.0, scale: 1.0 };
    let column = Column { name: name.to_owned(), kind };
    let cells = Cells::new(array, &column)?;
    Ok((0..array.len())
        .map(|row| match cells.value(row, &column) {
            Ok(Value::Number(number)) if !array.is_null(row) => number.to_string(),
            Ok(Value::Text(text)) => text.to_owned(),
            _ => String::new(),
        })
        .collect())
}

/// The batches of what is a table to Arrow.
pub(crate) fn batches(table: &Bound<'_, PyAny>, stream: bool) -> PyResult<Vec<RecordBatch>> {
    if stream {
        return Ok(Table::from_pyarrow_bound(table)?.into_inner().0);
    }
    let array = make_array(ArrayData::from_pyarrow_bound(table)?);
    match array.as_struct_opt() {
        Some(batch) if batch.null_count() > 0 => Err(null_row(batch, RecordError::new_err)),
        Some(batch) => Ok(vec![batch.into()]),
        None => Err(PyTypeError::new_err(format!("records come as a table, not as an array of {}", array.data_type()))),
    }
}

enum Unusable {
    Refused(Refusal),
    Python(PyErr),
}

impl From<PyErr> for Unusable {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

/// A record by name: numbers for numeric columns, texts for categorical ones.
fn encode_mapping(record: &Bound<'_, PyAny>, schema: &Schema) -> Result<Vec<f64>, Unusable> {
    enum Cell {
        Number(f64),
        Text(String),
    }
    let mapping = record.cast::<PyMapping>().map_err(|_| {
        let name = record.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
        PyTypeError::new_err(format!(
            "records come as a two-dimensional array of numbers, a table (pandas, polars, Arrow) or a sequence of \
             mappings, not of {name}"
        ))
    })?;
    let mut cells = Vec::with_capacity(schema.columns().len());
    for item in mapping.items()? {
        let (name, value): (String, Bound<'_, PyAny>) = item.extract()?;
        let cell = match value.cast_into::<PyString>() {
            Ok(text) => Cell::Text(text.extract()?),
            Err(other) => {
                let value = other.into_inner();
                let number = if value.is_instance_of::<PyBool>() { None } else { value.extract::<f64>().ok() };
                Cell::Number(number.ok_or_else(|| {
                    let shown = value.repr().map_or_else(|_| String::new(), |text| text.to_string());
                    PyValueError::new_err(format!("column '{name}' holds {shown}: give a number or a text"))
                })?)
            }
        };
        cells.push((name, cell));
    }
    let mut values = Vec::with_capacity(cells.len());
    for (name, cell) in &cells {
        let value = match cell {
            Cell::Number(number) => Value::Number(*number),
            Cell::Text(text) => Value::Text(text),
        };
        values.push((name.as_str(), value));
    }
    schema.encode_named(values).map_err(Unusable::Refused)
}
