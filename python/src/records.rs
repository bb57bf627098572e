//! Records from Python: numbers by position, tables and mappings by name.
//!
//! Whether a record is accepted depends on its names, its length and the types of its values, never on a value. No
//! message contains a value, or a name that the schema does not have: both would reveal something about the record to
//! the caller's environment. For the same reason, no exception of a caller's object is passed on.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DecimalType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use ldp_pca::error::Error;
use ldp_pca::schema::{ColumnKind, Schema, SchemaError as Refusal, Value};
use ldp_pca::task::Task;
use num_traits::AsPrimitive;
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::types::{PyFloat, PyMapping, PyString};
use pyo3::{intern, prelude::*};

use crate::arrow;
use crate::error::{RecordError, in_row, raised, type_name};
use crate::signals::{Signals, pause};

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
    /// Takes what a caller has, by way of what Python's libraries do better: dtypes, and tables that need pyarrow to be
    /// shared.
    pub(crate) fn read(records: &Bound<'py, PyAny>, schema: &Schema) -> PyResult<Self> {
        let py = records.py();
        let ignored = schema.columns().iter().filter(|column| column.kind == ColumnKind::Ignored);
        let names: Vec<&str> = ignored.map(|column| column.name.as_str()).collect();
        let records =
            py.import(intern!(py, "ldp_pca._inputs"))?.call_method1(intern!(py, "records_of"), (records, names))?;
        Self::of(&records, schema)
    }

    /// Takes a float64 array, a table, or an iterable of mappings.
    fn of(records: &Bound<'py, PyAny>, schema: &Schema) -> PyResult<Self> {
        let py = records.py();
        if let Ok(array) = records.extract::<PyReadonlyArray2<'py, f64>>() {
            return Ok(Self::Numbers(array));
        }
        let stream = records.hasattr(intern!(py, "__arrow_c_stream__"))?;
        if stream || records.hasattr(intern!(py, "__arrow_c_array__"))? {
            return Ok(Self::Tables(Tables::new(&batches(records, stream)?, schema)?));
        }
        let rows = records.try_iter()?.enumerate().map(|(row, record)| {
            if row % 1024 == 0 {
                pause(py)?;
            }
            record.map_err(Unusable::from).and_then(|record| encode_mapping(&record, schema)).map_err(|problem| {
                match problem {
                    Unusable::Refused(problem) => in_row(py, row, RecordError::new_err, problem),
                    Unusable::Python(error) => error,
                }
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

    /// Calls `take` with the features of every record, without the interpreter's lock.
    pub(crate) fn for_each(
        &self,
        py: Python<'_>,
        task: &Task,
        mut take: impl FnMut(Vec<f64>) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        let (rows, view) = (self.len(), self.view());
        let mut signals = Signals::new();
        let taken = py.detach(|| {
            for row in 0..rows {
                // Looking at the clock takes as long as a short record.
                if row % 1024 == 0 && signals.flow().is_break() {
                    break;
                }
                let features = view.features(row, task.schema()).map_err(Error::from);
                features.and_then(&mut take).map_err(|error| (row, error))?;
            }
            Ok(())
        });
        signals.check()?;
        taken.map_err(|(row, problem)| in_row(py, row, RecordError::new_err, problem))
    }

    /// The part that can be read without the interpreter's lock.
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
                (ColumnKind::Ignored, _) | (_, None) => Ok(Cells::Nothing),
                (ColumnKind::Categorical { .. }, Some(place)) => Cells::of_texts(batch.column(place), &column.name),
                (ColumnKind::Numeric { .. }, Some(place)) => Cells::new(batch.column(place), &column.name),
            });
            taken.push((rows, cells.collect::<PyResult<_>>()?));
            rows += batch.num_rows();
        }
        Ok(Self { batches: taken, rows })
    }

    fn features(&self, row: usize, schema: &Schema) -> Result<Vec<f64>, Refusal> {
        // The last batch that begins at or before the row; empty ones before it begin there too.
        let (first, columns) = &self.batches[self.batches.partition_point(|(first, _)| *first <= row) - 1];
        let values: Vec<Value<'_>> = columns.iter().map(|cells| cells.value(row - first)).collect();
        schema.encode_values(&values)
    }
}

/// The values of a column of one batch.
enum Cells {
    /// Of a column that is ignored, or has no value at all, whatever its type.
    Nothing,
    /// With NaN in place of null.
    Numbers(Vec<f64>),
    Texts(ArrayRef),
    /// Positions in texts; none for null.
    Coded(Vec<Option<usize>>, ArrayRef),
    /// The texts of booleans and numbers.
    Written(Vec<Option<String>>),
}

impl Cells {
    /// The values of a column whose values are categories: booleans and numbers have texts, too.
    fn of_texts(array: &ArrayRef, name: &str) -> PyResult<Self> {
        if array.logical_null_count() == array.len() {
            return Ok(Self::Nothing);
        }
        if let Some(texts) = written(array) {
            return Ok(Self::Written(texts));
        }
        if let Some(coded) = array.as_any_dictionary_opt()
            && let Some(texts) = written(coded.values())
        {
            let keys = coded.normalized_keys().into_iter().enumerate();
            let text = |(row, key): (usize, usize)| if coded.keys().is_null(row) { None } else { texts[key].clone() };
            return Ok(Self::Written(keys.map(text).collect()));
        }
        Self::new(array, name)
    }

    fn new(array: &ArrayRef, name: &str) -> PyResult<Self> {
        if let Some(numbers) = numbers(array) {
            return Ok(Self::Numbers(numbers));
        }
        if is_text(array.data_type()) {
            return Ok(Self::Texts(Arc::clone(array)));
        }
        if array.logical_null_count() == array.len() {
            return Ok(Self::Nothing);
        }
        if let Some(coded) = array.as_any_dictionary_opt() {
            let keys = coded
                .normalized_keys()
                .into_iter()
                .enumerate()
                .map(|(row, key)| (!coded.keys().is_null(row)).then_some(key));
            if is_text(coded.values().data_type()) {
                return Ok(Self::Coded(keys.collect(), Arc::clone(coded.values())));
            }
            if let Some(numbers) = numbers(coded.values()) {
                return Ok(Self::Numbers(keys.map(|key| key.map_or(f64::NAN, |key| numbers[key])).collect()));
            }
        }
        let kind = arrow::type_name(array.data_type());
        Err(RecordError::new_err(format!("column '{name}' is {kind}: give numbers, or texts for a categorical column")))
    }

    fn value(&self, row: usize) -> Value<'_> {
        match self {
            Self::Nothing => Value::Missing,
            Self::Numbers(numbers) => Value::Number(numbers[row]),
            Self::Texts(texts) => text(texts, row),
            Self::Coded(keys, texts) => keys[row].map_or(Value::Missing, |key| text(texts, key)),
            Self::Written(texts) => texts[row].as_deref().map_or(Value::Missing, Value::Text),
        }
    }
}

/// The texts of booleans and numbers, as a file would have them; none for what is missing, and for other types.
fn written(array: &ArrayRef) -> Option<Vec<Option<String>>> {
    macro_rules! digits {
        ($($kind:ident => $type:ty),* $(,)?) => {
            match array.data_type() {
                // All digits, which a float does not hold.
                $(DataType::$kind => {
                    array.as_primitive::<$type>().iter().map(|number| Some(number?.to_string())).collect()
                })*
                DataType::Boolean => {
                    let word = |flag: Option<bool>| Some(if flag? { "True" } else { "False" }.to_owned());
                    array.as_boolean().iter().map(word).collect()
                }
                _ => numbers(array)?.into_iter().map(text_of).collect(),
            }
        };
    }
    Some(digits!(
        Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, Int64 => Int64Type,
        UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, UInt64 => UInt64Type,
    ))
}

/// The text of a number that is not missing: without a decimal point if it is whole.
fn text_of(number: f64) -> Option<String> {
    number.is_finite().then(|| number.to_string())
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn text(array: &ArrayRef, row: usize) -> Value<'_> {
    match array.data_type() {
        _ if array.is_null(row) => Value::Missing,
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Value::Text(array.as_string::<i64>().value(row)),
        _ => Value::Text(array.as_string_view().value(row)),
    }
}

/// The numbers of a numeric array, with NaN in place of null.
fn numbers(array: &ArrayRef) -> Option<Vec<f64>> {
    Some(match array.data_type() {
        DataType::Float64 => widened::<Float64Type>(array),
        DataType::Float16 => widened::<Float16Type>(array),
        DataType::Float32 => widened::<Float32Type>(array),
        DataType::Int8 => widened::<Int8Type>(array),
        DataType::Int16 => widened::<Int16Type>(array),
        DataType::Int32 => widened::<Int32Type>(array),
        DataType::Int64 => widened::<Int64Type>(array),
        DataType::UInt8 => widened::<UInt8Type>(array),
        DataType::UInt16 => widened::<UInt16Type>(array),
        DataType::UInt32 => widened::<UInt32Type>(array),
        DataType::UInt64 => widened::<UInt64Type>(array),
        DataType::Decimal32(_, scale) => decimal::<Decimal32Type>(array, *scale),
        DataType::Decimal64(_, scale) => decimal::<Decimal64Type>(array, *scale),
        DataType::Decimal128(_, scale) => decimal::<Decimal128Type>(array, *scale),
        DataType::Decimal256(_, scale) => decimal::<Decimal256Type>(array, *scale),
        _ => return None,
    })
}

fn widened<T: ArrowPrimitiveType<Native: AsPrimitive<f64>>>(array: &ArrayRef) -> Vec<f64> {
    array.as_primitive::<T>().iter().map(|value| value.map_or(f64::NAN, AsPrimitive::as_)).collect()
}

/// By way of their digits, which gives the nearest numbers, as Python's `float` does.
fn decimal<T: DecimalType>(array: &ArrayRef, scale: i8) -> Vec<f64> {
    let number = |value| T::format_decimal(value, T::MAX_PRECISION, scale).parse().unwrap_or(f64::NAN);
    array.as_primitive::<T>().iter().map(|value| value.map_or(f64::NAN, number)).collect()
}

/// The cells of a column as texts, as a file would have them; empty for what is missing.
pub(crate) fn column_texts(array: &ArrayRef, name: &str) -> PyResult<Vec<String>> {
    if let Some(dates) = dates(array) {
        return Ok(dates);
    }
    let cells = Cells::of_texts(array, name)?;
    Ok((0..array.len())
        .map(|row| match cells.value(row) {
            Value::Text(text) => text.to_owned(),
            _ => String::new(),
        })
        .collect())
}

/// The days of a column of dates or times, by which inference recognizes it; no task has such a column.
fn dates(array: &ArrayRef) -> Option<Vec<String>> {
    macro_rules! days {
        ($type:ty) => {{
            let column = array.as_primitive_opt::<$type>()?;
            let day = |row| column.value_as_date(row).map_or_else(String::new, |day| day.to_string());
            Some((0..array.len()).map(|row| if column.is_null(row) { String::new() } else { day(row) }).collect())
        }};
    }
    match array.data_type() {
        DataType::Date32 => days!(Date32Type),
        DataType::Date64 => days!(Date64Type),
        DataType::Timestamp(TimeUnit::Second, _) => days!(TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => days!(TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => days!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => days!(TimestampNanosecondType),
        _ => None,
    }
}

/// The batches of what is a table to Arrow.
pub(crate) fn batches(table: &Bound<'_, PyAny>, stream: bool) -> PyResult<Vec<RecordBatch>> {
    if stream {
        return Ok(arrow::table(table, RecordError::new_err)?.into_inner().0);
    }
    let array = arrow::array(table, RecordError::new_err)?;
    let Some(batch) = arrow::batch(&array, RecordError::new_err)? else {
        let kind = arrow::type_name(array.data_type());
        return Err(PyTypeError::new_err(format!("records come as a table, not as an array of {kind}")));
    };
    Ok(vec![batch.into()])
}

enum Unusable {
    /// The problem with the record.
    Refused(String),
    Python(PyErr),
}

impl From<PyErr> for Unusable {
    /// An exception of the caller's objects may quote what they hold; one that ends the program is not replaced.
    fn from(error: PyErr) -> Self {
        Python::attach(|py| {
            if !error.is_instance_of::<PyException>(py) {
                return Self::Python(error);
            }
            let kind = error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
            Self::Refused(format!("the record cannot be read: it raises {kind}"))
        })
    }
}

impl From<Refusal> for Unusable {
    fn from(error: Refusal) -> Self {
        Self::Refused(error.to_string())
    }
}

/// A value of a record by name.
enum Cell {
    Missing,
    Number(f64),
    Text(String),
}

impl Cell {
    /// Reads a value of a column whose values are categories: booleans and numbers have texts, too.
    fn of_text(value: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if !value.is_instance_of::<PyString>() && !value.is_none() {
            let py = value.py();
            let word = py.import(intern!(py, "ldp_pca._inputs"))?.call_method1(intern!(py, "word"), (value,))?;
            if let Ok(word) = word.cast::<PyString>() {
                return Ok(Some(Self::Text(word.to_string_lossy().into_owned())));
            }
        }
        Ok(Self::of(value)?.map(|cell| match cell {
            Self::Number(number) => text_of(number).map_or(Self::Missing, Self::Text),
            other => other,
        }))
    }

    /// Reads what Python has: a float, a text and None here, and all else in Python. Nothing for what can be none of
    /// them.
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if value.is_none() {
            return Ok(Some(Self::Missing));
        }
        if let Ok(number) = value.cast_exact::<PyFloat>() {
            return Ok(Some(Self::Number(number.extract()?)));
        }
        if let Ok(text) = value.cast::<PyString>() {
            // A lone surrogate is a character that no schema lists.
            return Ok(Some(Self::Text(text.to_string_lossy().into_owned())));
        }
        let py = value.py();
        let plain = py.import(intern!(py, "ldp_pca._inputs"))?.call_method1(intern!(py, "plain"), (value,))?;
        if plain.is_none() { Ok(None) } else { Self::of(&plain) }
    }
}

/// A record by name: numbers for numeric columns; texts, booleans and numbers for categorical ones. The values of
/// ignored columns are not looked at.
fn encode_mapping(record: &Bound<'_, PyAny>, schema: &Schema) -> Result<Vec<f64>, Unusable> {
    let Ok(mapping) = record.cast::<PyMapping>() else {
        let name = type_name(record);
        return Err(Unusable::Python(PyTypeError::new_err(format!(
            "records come as a two-dimensional array of numbers, a table (pandas, polars, Arrow) or a sequence of \
             mappings, not of {name}"
        ))));
    };
    let (mut names, mut given) = (Vec::new(), Vec::new());
    for item in mapping.items()? {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        // Only a text can be the name of a column.
        names.push(name.cast::<PyString>().map_or_else(|_| String::new(), |name| name.to_string_lossy().into_owned()));
        given.push(value);
    }
    let places = schema.match_header(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
    let cells = schema.columns().iter().zip(places).map(|(column, place)| match place {
        Some(place) if column.kind != ColumnKind::Ignored => {
            let is_text = matches!(column.kind, ColumnKind::Categorical { .. });
            match if is_text { Cell::of_text(&given[place]) } else { Cell::of(&given[place]) }? {
                Some(cell) => Ok(cell),
                None => {
                    let (name, kind) = (&column.name, type_name(&given[place]));
                    Err(Unusable::Refused(format!("column '{name}' holds {kind}: give a number, a text or None")))
                }
            }
        }
        _ => Ok(Cell::Missing),
    });
    let cells = cells.collect::<Result<Vec<_>, Unusable>>()?;
    let values = cells.iter().map(|cell| match cell {
        Cell::Missing => Value::Missing,
        Cell::Number(number) => Value::Number(*number),
        Cell::Text(text) => Value::Text(text),
    });
    Ok(schema.encode_values(&values.collect::<Vec<_>>())?)
}
