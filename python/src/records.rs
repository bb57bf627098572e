//! Records from Python: numbers by position, tables and mappings by name.
//!
//! Every record has features, whatever it holds: what cannot be read is missing, and counted. No message contains a
//! value, or a name that the schema does not have: both would reveal something about the record to the caller's
//! environment. For the same reason, no exception of a caller's object is passed on.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType, Float16Type,
    Float32Type, Float64Type,
};
use arrow_array::{
    AnyDictionaryArray, Array, ArrayRef, LargeStringArray, RecordBatch, downcast_integer, downcast_temporal,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};
use ldp_pca::error::Error;
use ldp_pca::internal::schema::Fit;
use ldp_pca::schema::{Column, ColumnKind, Schema, SchemaError as Problem, Value};
use ldp_pca::task::Task;
use num_traits::AsPrimitive;
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::types::{PyDict, PyFloat, PyString};
use pyo3::{intern, prelude::*};

use crate::arrow;
use crate::error::{RecordError, SchemaError, in_row, raised, type_name};
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

/// The most columns that a warning names.
const NAMED: usize = 12;

impl<'py> Records<'py> {
    /// Takes what a caller has, by way of what Python's libraries do better: dtypes, and tables that need pyarrow to be
    /// shared. Warns of what counts as missing because it cannot be read; `strict` refuses it.
    pub(crate) fn read(records: &Bound<'py, PyAny>, schema: &Schema, strict: bool) -> PyResult<Self> {
        let py = records.py();
        let ignored = schema.columns().iter().filter(|column| column.kind == ColumnKind::Ignored);
        let ignored: Vec<&str> = ignored.map(|column| column.name.as_str()).collect();
        let names: Vec<&str> = schema.columns().iter().map(|column| column.name.as_str()).collect();
        let records = inputs(py)?.call_method1(intern!(py, "records_of"), (records, ignored, names))?;
        let mut fit = Fit::new(schema, "row");
        let records = Self::of(&records, schema, &mut fit)?;
        if let Some((row, problem)) = fit.first_unread()
            && strict
        {
            return Err(in_row(row as usize, RecordError::new_err, problem));
        }
        if let Some((row, problem)) = fit.refusal() {
            return Err(in_row(row as usize, SchemaError::new_err, problem));
        }
        let mut told = fit.told();
        let others = told.split_off(told.len().min(NAMED)).len();
        if others > 0 {
            told.push(format!("{others} more columns have such values"));
        }
        if !told.is_empty() {
            let errors = py.import(intern!(py, "ldp_pca.errors"))?;
            let category = errors.getattr(intern!(py, "RecordWarning"))?;
            let message = format!("{} (strict=True refuses them)", told.join(". "));
            errors.call_method1(intern!(py, "warn"), (message, category))?;
        }
        Ok(records)
    }

    /// Takes a float64 array, a table, or a list of records. `fit` counts what cannot be read.
    fn of(records: &Bound<'py, PyAny>, schema: &Schema, fit: &mut Fit) -> PyResult<Self> {
        let py = records.py();
        if let Ok(array) = records.extract::<PyReadonlyArray2<'py, f64>>() {
            let uneven = count_problem(schema, array.shape()[1]);
            // Numbers are read or missing; two rows show whether there are several.
            for row in 0..array.shape()[0].min(2) {
                fit.add(row as u64, [], uneven.as_deref());
            }
            return Ok(Self::Numbers(array));
        }
        let stream = records.hasattr(intern!(py, "__arrow_c_stream__"))?;
        if stream || records.hasattr(intern!(py, "__arrow_c_array__"))? {
            let tables = Tables::new(&batches(records, stream)?, schema)?;
            tables.count(fit);
            return Ok(Self::Tables(tables));
        }
        if let Some(names) = records.getattr_opt(intern!(py, "names"))? {
            let names: Vec<String> = names.extract()?;
            places(schema, &names.iter().map(String::as_str).collect::<Vec<_>>())?;
        }
        let rows = records.try_iter()?.enumerate().map(|(row, record)| {
            if row % 1024 == 0 {
                pause(py)?;
            }
            encode_record(&record?, schema, row as u64, fit)
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
        py.detach(|| -> PyResult<()> {
            for row in 0..rows {
                // Looking at the clock takes as long as a short record.
                if row % 1024 == 0 {
                    signals.check()?;
                }
                take(view(row, task.schema())).map_err(raised)?;
            }
            Ok(())
        })
    }

    /// What reads them without the interpreter's lock.
    pub(crate) fn view(&self) -> View<'_> {
        match self {
            Self::Numbers(array) => {
                let array = array.as_array();
                Box::new(move |row: usize, schema: &Schema| {
                    let record = array.row(row);
                    match record.as_slice() {
                        Some(record) => schema.encode_numbers(record),
                        None => schema.encode_numbers(&record.to_vec()),
                    }
                })
            }
            Self::Tables(tables) => Box::new(move |row: usize, schema: &Schema| tables.features(row, schema)),
            Self::Encoded(rows) => Box::new(move |row: usize, _: &Schema| rows[row].clone()),
        }
    }
}

/// The d features of a row, for kernels.
pub(crate) type View<'a> = Box<dyn Fn(usize, &Schema) -> Vec<f64> + Send + Sync + 'a>;

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
            let places = places(schema, &header)?;
            let cells = schema.columns().iter().zip(places).map(|(column, place)| match (&column.kind, place) {
                (ColumnKind::Ignored, _) | (_, None) => Cells::Nothing,
                (kind, Some(place)) => {
                    let are_texts = matches!(kind, ColumnKind::Categorical { .. });
                    Cells::new(batch.column(place), batch_schema.field(place), are_texts)
                }
            });
            taken.push((rows, cells.collect()));
            rows += batch.num_rows();
        }
        Ok(Self { batches: taken, rows })
    }

    /// Counts what cannot be read: a column as a whole, or nothing of it.
    fn count(&self, fit: &mut Fit) {
        if !self.batches.iter().any(|(_, columns)| columns.iter().any(|cells| matches!(cells, Cells::Unread(..)))) {
            return;
        }
        for row in 0..self.rows {
            let (place, columns) = self.at(row);
            fit.add(row as u64, columns.iter().map(|cells| cells.read(place)), None);
            if fit.refusal().is_some() {
                return;
            }
        }
    }

    fn features(&self, row: usize, schema: &Schema) -> Vec<f64> {
        let (place, columns) = self.at(row);
        let values: Vec<Value<'_>> = columns.iter().map(|cells| cells.value(place)).collect();
        schema.encode_values(&values)
    }

    /// The place of a row in its batch, and the columns of that.
    fn at(&self, row: usize) -> (usize, &[Cells]) {
        // The last batch that begins at or before the row; empty ones before it begin there too.
        let (first, columns) = &self.batches[self.batches.partition_point(|(first, _)| *first <= row) - 1];
        (row - first, columns)
    }
}

/// The values of a column of one batch.
enum Cells {
    /// Of a column that is ignored, or has no value at all, whatever its type.
    Nothing,
    /// With NaN in place of null.
    Numbers(Vec<f64>),
    /// Of a dictionary with the place of each row's text in it, none for null.
    Texts(Option<Vec<Option<usize>>>, ArrayRef),
    /// Where there is a value it cannot be read, for this reason.
    Unread(Option<NullBuffer>, String),
}

impl Cells {
    /// The values of a column. Where categories `are_texts`, booleans and numbers have texts, too; elsewhere the texts
    /// of a host with types are no numbers.
    fn new(array: &ArrayRef, field: &Field, are_texts: bool) -> Self {
        let name = field.name();
        if array.logical_null_count() == array.len() {
            return Self::Nothing;
        }
        let unread = |problem: String| Self::Unread(array.logical_nulls(), problem);
        let (values, keys) = match array.as_any_dictionary_opt() {
            Some(coded) => (coded.values(), Some(keys(coded).collect::<Vec<_>>())),
            None => (array, None),
        };
        let is_text = is_text(values.data_type());
        // What its numbers count, only the type says: months since 1970, of a period of pandas.
        if let (Some(kind), false) = (field.extension_type_name(), is_text) {
            return unread(format!("column '{name}' is {kind}: give numbers, or texts for a categorical column"));
        }
        let texts = match (is_text, are_texts) {
            (true, true) => Some(Arc::clone(values)),
            (true, false) => return unread(Problem::NotANumber(name.clone()).to_string()),
            (false, true) => written(values),
            (false, false) => None,
        };
        if let Some(texts) = texts {
            return Self::Texts(keys, texts);
        }
        match (numbers(values), keys) {
            (Some(numbers), None) => Self::Numbers(numbers),
            (Some(numbers), Some(keys)) => {
                Self::Numbers(keys.into_iter().map(|key| key.map_or(f64::NAN, |key| numbers[key])).collect())
            }
            (None, _) => {
                let kind = arrow::type_name(array.data_type());
                unread(format!("column '{name}' is {kind}: give numbers, or texts for a categorical column"))
            }
        }
    }

    /// The value, or why it cannot be read.
    fn read(&self, row: usize) -> Result<Value<'_>, &str> {
        match self {
            Self::Unread(nulls, problem) if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) => {
                Err(problem.as_str())
            }
            _ => Ok(self.value(row)),
        }
    }

    fn value(&self, row: usize) -> Value<'_> {
        match self {
            Self::Nothing | Self::Unread(..) => Value::Missing,
            Self::Numbers(numbers) => Value::Number(numbers[row]),
            Self::Texts(None, texts) => text(texts, row),
            Self::Texts(Some(keys), texts) => keys[row].map_or(Value::Missing, |key| text(texts, key)),
        }
    }
}

/// The places of the values of a dictionary; none for null.
fn keys(coded: &dyn AnyDictionaryArray) -> impl Iterator<Item = Option<usize>> {
    let places = coded.normalized_keys().into_iter().enumerate();
    places.map(|(row, key)| (!coded.keys().is_null(row)).then_some(key))
}

/// The texts of booleans and numbers, as a file would have them; none for what is missing, and for other types.
fn written(array: &ArrayRef) -> Option<ArrayRef> {
    macro_rules! digits {
        ($type:ty) => {
            // All digits, which a float does not hold.
            array.as_primitive::<$type>().iter().map(|number| Some(number?.to_string())).collect()
        };
    }
    let word = |flag: Option<bool>| Some(if flag? { "True" } else { "False" }.to_owned());
    let texts: LargeStringArray = downcast_integer!(array.data_type() => (digits),
        DataType::Boolean => array.as_boolean().iter().map(word).collect(),
        _ => numbers(array)?.into_iter().map(text_of).collect()
    );
    Some(Arc::new(texts))
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
    macro_rules! whole {
        ($type:ty) => {
            widened::<$type>(array)
        };
    }
    Some(downcast_integer!(array.data_type() => (whole),
        DataType::Float64 => widened::<Float64Type>(array),
        DataType::Float16 => widened::<Float16Type>(array),
        DataType::Float32 => widened::<Float32Type>(array),
        DataType::Decimal32(_, scale) => decimal::<Decimal32Type>(array, *scale),
        DataType::Decimal64(_, scale) => decimal::<Decimal64Type>(array, *scale),
        DataType::Decimal128(_, scale) => decimal::<Decimal128Type>(array, *scale),
        DataType::Decimal256(_, scale) => decimal::<Decimal256Type>(array, *scale),
        _ => return None,
    ))
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
pub(crate) fn column_texts(array: &ArrayRef, field: &Field) -> PyResult<Vec<String>> {
    if let Some(dates) = dates(array) {
        return Ok(dates);
    }
    let cells = Cells::new(array, field, true);
    if let Cells::Unread(_, problem) = cells {
        return Err(RecordError::new_err(format!("{problem}, or ignore it")));
    }
    Ok((0..array.len())
        .map(|row| match cells.value(row) {
            Value::Text(text) => text.to_owned(),
            _ => String::new(),
        })
        .collect())
}

/// The categories that the type of a column declares, in their order; none of another type. The Categorical of polars
/// has those of every such column of the process: of these only the ones that occur.
pub(crate) fn declared_categories(array: &ArrayRef, field: &Field) -> Vec<String> {
    let Cells::Texts(Some(keys), texts) = Cells::new(array, field, true) else { return vec![] };
    let shared = field.metadata().keys().any(|key| key.starts_with("_PL_CATEGORICAL"));
    let occurring: HashSet<usize> = keys.into_iter().flatten().collect();
    let places = (0..texts.len()).filter(|place| !shared || occurring.contains(place));
    let value = |place| if let Value::Text(text) = text(&texts, place) { Some(text.to_owned()) } else { None };
    places.filter_map(value).collect()
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
        // A time of day is on none.
        DataType::Time32(_) | DataType::Time64(_) => None,
        kind => downcast_temporal!(kind => (days), _ => None),
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

/// A value of a record in Python.
enum Given {
    Missing,
    Number(f64),
    Text(String),
    /// Nothing that a column holds.
    Other,
}

impl Given {
    /// Reads what Python has: a float, a text and None here, and all else in Python. Where categories `are_texts`,
    /// booleans and numbers have texts, too.
    fn of(value: &Bound<'_, PyAny>, are_texts: bool) -> PyResult<Self> {
        if value.is_none() {
            return Ok(Self::Missing);
        }
        if let Ok(number) = value.cast_exact::<PyFloat>() {
            let number: f64 = number.extract()?;
            if !are_texts {
                return Ok(Self::Number(number));
            }
            return Ok(text_of(number).map_or(Self::Missing, Self::Text));
        }
        if let Ok(text) = value.cast::<PyString>() {
            // A lone surrogate is a character that no schema lists.
            return Ok(Self::Text(text.to_string_lossy().into_owned()));
        }
        let py = value.py();
        let plain = inputs(py)?.call_method1(intern!(py, "plain"), (value, are_texts))?;
        if plain.is_none() { Ok(Self::Other) } else { Self::of(&plain, are_texts) }
    }

    /// Reads a value of this column, or says why it cannot be read.
    fn of_column(value: &Bound<'_, PyAny>, column: &Column) -> PyResult<Result<Self, String>> {
        let (name, kind) = (&column.name, || type_name(value));
        let is_text = matches!(column.kind, ColumnKind::Categorical { .. });
        Ok(match harmless(value.py(), Self::of(value, is_text))? {
            Ok(Self::Text(_)) if !is_text => Err(Problem::NotANumber(name.clone()).to_string()),
            Ok(Self::Other) => {
                let py = value.py();
                let many = inputs(py)?.call_method1(intern!(py, "is_row"), (value,)).and_then(|many| many.is_truthy());
                let many = harmless(py, many)?.unwrap_or(false);
                let hint = if many { ", as one record has; the columns of many are a table" } else { "" };
                Err(format!("column '{name}' holds {}: give a number, a text or None{hint}", kind()))
            }
            Ok(given) => Ok(given),
            Err(raises) => Err(format!("column '{name}' holds {}, which raises {raises}", kind())),
        })
    }

    fn value(&self) -> Value<'_> {
        match self {
            Self::Number(number) => Value::Number(*number),
            Self::Text(text) => Value::Text(text),
            Self::Missing | Self::Other => Value::Missing,
        }
    }
}

/// What a record holds: of each column the value, if there is one, or why there is none.
struct Held<'py> {
    values: Vec<Result<Option<Bound<'py, PyAny>>, String>>,
    /// Where it has too few values or too many.
    uneven: Option<String>,
}

impl<'py> Held<'py> {
    /// Of a record, or why it is none.
    fn of(record: &Bound<'py, PyAny>, schema: &Schema) -> PyResult<Result<Self, String>> {
        let py = record.py();
        let inputs = inputs(py)?;
        let is_mapping = intern!(py, "is_mapping");
        if record.is_instance_of::<PyDict>() || inputs.call_method1(is_mapping, (record,))?.extract()? {
            return Self::by_name(record, schema).map(Ok);
        }
        let values = inputs.call_method1(intern!(py, "values_of"), (record,))?;
        let values: Option<Vec<Bound<'py, PyAny>>> = values.extract()?;
        let problem = || format!("{} is not a record: give a mapping or a row", type_name(record));
        Ok(values.map(|values| Self::by_position(values, schema)).ok_or_else(problem))
    }

    fn by_name(record: &Bound<'py, PyAny>, schema: &Schema) -> PyResult<Self> {
        let (mut names, mut given, mut unnamed) = (Vec::new(), Vec::new(), 0);
        for item in record.call_method0(intern!(record.py(), "items"))?.try_iter()? {
            let (name, value): (Bound<'py, PyAny>, Bound<'py, PyAny>) = item?.extract()?;
            // Only a text can be the name of a column.
            let text = name.cast::<PyString>().map(|name| name.to_string_lossy().into_owned());
            unnamed += usize::from(text.is_err());
            names.push(text.unwrap_or_default());
            given.push(value);
        }
        // Of a name that is there twice, the last value counts.
        let places: HashMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
        let value = |column: &Column| match places.get(column.name.as_str()) {
            Some(&place) => Ok(Some(given[place].clone())),
            None => Err(Problem::MissingColumn(column.name.clone()).to_string()),
        };
        let values: Vec<_> = schema.columns().iter().map(value).collect();
        let found = values.iter().filter(|value| value.is_ok()).count();
        // Columns that are missing come after names that are not the schema's, or are there twice.
        let problems = || schema.check_named(names.iter().map(|name| (name.as_str(), Value::Missing)));
        let uneven = (found < names.len()).then(|| problems().first().map(ToString::to_string)).flatten();
        let keys = format!("{unnamed} of its keys are no texts: values are found by the names of columns");
        Ok(Self { values, uneven: if unnamed > 0 { Some(keys) } else { uneven } })
    }

    fn by_position(given: Vec<Bound<'py, PyAny>>, schema: &Schema) -> Self {
        let uneven = count_problem(schema, given.len());
        let mut given = given.into_iter();
        Self { values: schema.columns().iter().map(|_| Ok(given.next())).collect(), uneven }
    }
}

/// The features of one record: numbers for numeric columns; texts, booleans and numbers for categorical ones. Values of
/// ignored columns are not looked at. `fit` counts what cannot be read.
fn encode_record(record: &Bound<'_, PyAny>, schema: &Schema, row: u64, fit: &mut Fit) -> PyResult<Vec<f64>> {
    let held = harmless(record.py(), Held::of(record, schema))?;
    let held = held.unwrap_or_else(|raises| Err(format!("the record cannot be read: it raises {raises}")));
    let nothing = |problem| Held { uneven: Some(problem), ..Held::by_position(vec![], schema) };
    let Held { values, uneven } = held.unwrap_or_else(nothing);
    let read = schema.columns().iter().zip(values).map(|(column, value)| match value {
        Ok(Some(value)) if column.kind != ColumnKind::Ignored => Given::of_column(&value, column),
        Ok(_) => Ok(Ok(Given::Missing)),
        Err(problem) => Ok(Err(problem)),
    });
    let read: Vec<Result<Given, String>> = read.collect::<PyResult<_>>()?;
    let values = read.iter().map(|given| given.as_ref().map(Given::value).map_err(String::as_str));
    fit.add(row, values, uneven.as_deref());
    let values: Vec<_> = read.iter().map(|given| given.as_ref().map_or(Value::Missing, Given::value)).collect();
    Ok(schema.encode_values(&values))
}

/// The places of the schema's columns among the names of a table.
fn places(schema: &Schema, names: &[&str]) -> PyResult<Vec<Option<usize>>> {
    schema.match_header(names).map_err(|problem| {
        if names.is_empty() || names.iter().any(|name| name.parse::<u64>().is_err()) {
            return raised(problem);
        }
        SchemaError::new_err(format!("{problem}. This table numbers its columns: name them, or give it as an array"))
    })
}

/// The problem of records with another number of values than there are columns.
fn count_problem(schema: &Schema, found: usize) -> Option<String> {
    let expected = schema.columns().len();
    (found != expected).then(|| Problem::FieldCount { expected, found }.to_string())
}

/// What the caller's objects gave, or the name of the exception that they raised: its words may quote what they hold.
/// One that ends the program is passed on.
fn harmless<T>(py: Python<'_>, outcome: PyResult<T>) -> PyResult<Result<T, String>> {
    match outcome {
        Ok(value) => Ok(Ok(value)),
        Err(error) if error.is_instance_of::<PyException>(py) => {
            Ok(Err(error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string())))
        }
        Err(error) => Err(error),
    }
}

/// The half of this in Python.
fn inputs(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import(intern!(py, "ldp_pca._inputs"))
}
