//! The public description of a collection's columns, which turns a record with names into a vector of numbers.
//!
//! Offsets, scales and category lists are part of the public task. They must come from public knowledge or a public
//! sample, never from the records to be protected.
//!
//! **Every record has features.** What does not fit its column (an absent name, a text for a number, a row that is too
//! short) is missing, as an empty answer is: whether there is a report must tell nothing of the record. The `check_…`
//! functions name what does not fit, for the owner of the records.

pub(crate) mod dialect;
mod document;
mod error;
pub(crate) mod fit;
pub mod infer;
pub(crate) mod table;

use core::fmt;
use std::collections::BinaryHeap;

use serde::Serialize;

use crate::decimal::Decimal;

use dialect::Dialect;
pub use error::SchemaError;
pub(crate) use table::{features_of_columns, positional_name};
use table::{read_fields, stands_for_missing};

/// The largest number of encoded features.
pub const MAX_DIMENSION: usize = 32_768;

/// The largest magnitude of an offset or a scale, and the inverse of the smallest of a scale. Beyond it arithmetic
/// would hide all but a few values of a column, and no unit needs it.
const MAX_SCALING: f64 = 1e100;

/// The columns of a record, in the order of a file without header, and how each becomes features.
///
/// ```
/// use ldp_pca::schema::Schema;
/// let schema = Schema::from_json(r#"{"columns": [
///     {"name": "age", "type": "numeric", "offset": 0, "scale": 100},
///     {"name": "plan", "type": "categorical", "values": ["free", "paid"], "unseen": "zero"},
///     {"name": "comment", "type": "ignored"}
/// ]}"#)?;
/// assert_eq!(schema.feature_names(), ["age", "plan=free", "plan=paid"]);
/// assert_eq!(schema.encode_fields(&["25", "paid", "likes tea"]), [0.25, 0.0, 1.0]);
/// assert_eq!(schema.encode_fields(&["NA", "paid", ""]), [0.0, 0.0, 1.0], "a missing value contributes nothing");
/// assert_eq!(schema.encode_fields(&["old", "paid"]), [0.0, 0.0, 1.0], "and so does what does not fit");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Schema {
    columns: Vec<Column>,
    #[serde(skip_serializing_if = "Dialect::is_usual")]
    dialect: Dialect,
    /// The positions of the columns in the order of their names.
    #[serde(skip)]
    by_name: Vec<usize>,
    #[serde(skip)]
    dimension: usize,
}

/// One column of a record.
///
/// ```
/// use ldp_pca::{Column, ColumnKind, Schema};
/// let age = Column::new("age", ColumnKind::Numeric { offset: 40.0, scale: 20.0 });
/// let schema = Schema::new(vec![age])?;
/// assert_eq!(schema.encode_numbers(&[50.0]), [0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The column's name; unique. Columns of files without header are called c1, c2, …
    pub name: String,
    /// The name of the column for people, where that is more than its name: in a statement of what leaves a device.
    pub label: Option<String>,
    /// The treatment of its values.
    pub kind: ColumnKind,
}

/// The treatment of a column's values.
///
/// ```
/// use ldp_pca::schema::{Column, ColumnKind, Schema, Unseen};
/// let values = ["free", "paid"].map(String::from).to_vec();
/// let plan = Column::new("plan", ColumnKind::Categorical { values, unseen: Unseen::Zero });
/// let schema = Schema::new(vec![plan, Column::new("comment", ColumnKind::Ignored)])?;
/// assert_eq!(schema.feature_names(), ["plan=free", "plan=paid"]);
/// assert_eq!(schema.encode_fields(&["paid", "likes tea"]), [0.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnKind {
    /// One feature: `(value - offset) / scale`, replaced by the nearest finite number if that would overflow, and 0 for
    /// a missing value, or one that is not a number.
    Numeric {
        /// Subtracted from the value: at most 1e100 in magnitude.
        offset: f64,
        /// Divides the difference: between 1e-100 and 1e100 in magnitude.
        scale: f64,
    },
    /// One feature per listed value: 1 for the record's value, 0 for the others. All are 0 for a missing value. A
    /// number counts as its text.
    Categorical {
        /// The values that have a feature, each once.
        values: Vec<String>,
        /// The rule for any other value.
        unseen: Unseen,
    },
    /// No feature: the column may be present and is not read.
    Ignored,
}

/// The rule for a categorical value that the schema does not list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unseen {
    /// All features of the column are 0.
    Zero,
    /// It counts as the listed value `other`.
    Other,
}

/// The value that stands for all that are not listed, in a column whose rule is [`Unseen::Other`].
const OTHER: &str = "other";

/// A value from a host with types.
///
/// ```
/// use ldp_pca::{Schema, Value};
/// let schema = Schema::numeric(3)?;
/// let values = [Value::from(2.0), Value::Missing, Value::from(None::<f64>)];
/// assert_eq!(schema.encode_values(&values), [2.0, 0.0, 0.0]);
/// let two = [Value::from("two"), Value::Missing, Value::Missing];
/// assert_eq!(schema.encode_values(&two), [0.0; 3]);
/// assert!(schema.check_values(&two)[0].to_string().contains("'c1' is numeric"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// No value: a skipped question, an empty cell, a null. All features of the column are 0. The same holds for a
    /// number that is NaN or infinite.
    Missing,
    /// A number.
    Number(f64),
    /// A text.
    Text(&'a str),
}

impl From<f64> for Value<'_> {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

/// Without the value, which is private: printed text ends up in logs.
impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "Value::Missing",
            Self::Number(_) => "Value::Number(..)",
            Self::Text(_) => "Value::Text(..)",
        })
    }
}

impl Schema {
    /// Checks the columns.
    ///
    /// # Errors
    /// [`SchemaError`] for empty names or labels, repeated names or values, unusable offsets or scales, an undeclared
    /// `other`, and too few or too many features.
    pub fn new(columns: Vec<Column>) -> Result<Self, SchemaError> {
        let mut dimension = 0;
        for column in &columns {
            if column.name.is_empty() {
                return Err(SchemaError::EmptyName);
            }
            if column.label.as_ref().is_some_and(String::is_empty) {
                return Err(SchemaError::EmptyLabel(column.name.clone()));
            }
            dimension += column.check()?;
        }
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let by_name = sorted(&names).map_err(|name| SchemaError::RepeatedColumn(name.to_owned()))?;
        if dimension == 0 || dimension > MAX_DIMENSION {
            return Err(SchemaError::Dimension(dimension));
        }
        Ok(Self { columns, dialect: Dialect::default(), by_name, dimension })
    }

    /// `dimension` numeric columns c1, c2, … without scaling.
    ///
    /// # Errors
    /// [`SchemaError::Dimension`] when `dimension` is 0 or above [`MAX_DIMENSION`].
    pub fn numeric(dimension: usize) -> Result<Self, SchemaError> {
        if dimension > MAX_DIMENSION {
            return Err(SchemaError::Dimension(dimension));
        }
        let as_it_is = ColumnKind::Numeric { offset: 0.0, scale: 1.0 };
        Self::new((0..dimension).map(|position| Column::new(positional_name(position), as_it_is.clone())).collect())
    }

    /// The columns, ignored ones included.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The number of encoded features, d.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The names of the d features: the column's name, or `column=value` for a categorical one.
    #[must_use]
    pub fn feature_names(&self) -> Vec<String> {
        let mut names = Vec::with_capacity(self.dimension);
        for column in &self.columns {
            match &column.kind {
                ColumnKind::Numeric { .. } => names.push(column.name.clone()),
                ColumnKind::Categorical { values, .. } => {
                    names.extend(values.iter().map(|value| format!("{}={value}", column.name)));
                }
                ColumnKind::Ignored => {}
            }
        }
        names
    }

    /// Converts d encoded features, of a mean for instance, back to the units of their columns:
    /// `offset + scale × feature` for a numeric one. Features of a categorical column stay as they are (in a mean: the
    /// share of a value).
    ///
    /// ```
    /// # let schema = ldp_pca::schema::Schema::from_json(r#"{"columns": [
    /// #     {"name": "age", "type": "numeric", "offset": 20, "scale": 100},
    /// #     {"name": "plan", "type": "categorical", "values": ["free", "paid"], "unseen": "zero"}]}"#)?;
    /// assert_eq!(schema.decode(&schema.encode_fields(&["45", "paid"])), [45.0, 0.0, 1.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn decode(&self, features: &[f64]) -> Vec<f64> {
        self.units().zip(features).map(|((offset, scale), feature)| offset + scale * feature).collect()
    }

    /// The offset and the scale of every feature, 0 and 1 for those of categorical columns.
    fn units(&self) -> impl Iterator<Item = (f64, f64)> {
        self.columns.iter().flat_map(|column| match &column.kind {
            ColumnKind::Numeric { offset, scale } => vec![(*offset, *scale)],
            ColumnKind::Categorical { values, .. } => vec![(0.0, 1.0); values.len()],
            ColumnKind::Ignored => vec![],
        })
    }

    /// Encodes one text field per column, in the order of the columns, ignored ones included: a row of a file. An empty
    /// field, or a common mark of a missing value (`NA`, `NaN` and `null` are some), counts as missing unless the
    /// column lists it. So does a field that is not there, or is no number in a numeric column; a field too many is not
    /// read.
    #[must_use]
    pub fn encode_fields<S: AsRef<str>>(&self, fields: &[S]) -> Vec<f64> {
        let values: Vec<_> =
            read_fields(self, fields).into_iter().map(|value| value.unwrap_or(Value::Missing)).collect();
        self.encode_values(&values)
    }

    /// What of these fields [`encode_fields`](Self::encode_fields) cannot read, for the owner of the records: another
    /// number of fields than of columns, and numeric fields that are no numbers.
    #[must_use]
    pub fn check_fields<S: AsRef<str>>(&self, fields: &[S]) -> Vec<SchemaError> {
        let unread = read_fields(self, fields).into_iter().filter_map(Result::err);
        self.check_count(fields.len()).err().into_iter().chain(unread).collect()
    }

    /// Encodes one number per column, in the order of the columns, ignored ones included: a row of a matrix.
    /// A categorical column reads its number as text. A number that is not there is missing, and one too many is not
    /// read.
    #[must_use]
    pub fn encode_numbers(&self, numbers: &[f64]) -> Vec<f64> {
        self.encode_values(&numbers.iter().copied().map(Value::Number).collect::<Vec<_>>())
    }

    /// Encodes a record given by name. A column without a name in the record is missing, and a name without a column is
    /// not read; of a name that is there twice, the last value counts. The types are those of
    /// [`encode_values`](Self::encode_values).
    #[must_use]
    pub fn encode_named<'a>(&self, record: impl IntoIterator<Item = (&'a str, Value<'a>)>) -> Vec<f64> {
        let mut values = vec![Value::Missing; self.columns.len()];
        for (name, value) in record {
            if let Some(place) = self.position(name) {
                values[place] = value;
            }
        }
        self.encode_values(&values)
    }

    /// What of this record [`encode_named`](Self::encode_named) cannot read, for the owner of the record: unknown,
    /// repeated and missing names, and values of the wrong type.
    #[must_use]
    pub fn check_named<'a>(&self, record: impl IntoIterator<Item = (&'a str, Value<'a>)>) -> Vec<SchemaError> {
        let (mut given, mut unknown, mut found) = (vec![0; self.columns.len()], 0, vec![]);
        for (name, value) in record {
            let Some(place) = self.position(name) else {
                unknown += 1;
                continue;
            };
            given[place] += 1;
            if given[place] == 2 {
                found.push(SchemaError::RepeatedColumn(name.to_owned()));
            }
            found.extend(self.columns[place].fitting(value).err());
        }
        if unknown > 0 {
            found.push(SchemaError::UnknownColumns { count: unknown, known: self.listing() });
        }
        let absent =
            self.columns.iter().zip(given).filter(|(column, given)| *given == 0 && column.kind != ColumnKind::Ignored);
        found.extend(absent.map(|(column, _)| SchemaError::MissingColumn(column.name.clone())));
        found
    }

    /// Encodes one typed value per column, in the order of the columns: a row of a table whose columns were found by
    /// [`match_header`](Self::match_header). Those of ignored columns are not read. The host has types, so a text in a
    /// numeric column is missing, whatever it says.
    #[must_use]
    pub fn encode_values(&self, values: &[Value<'_>]) -> Vec<f64> {
        let mut features = Vec::with_capacity(self.dimension);
        let values = values.iter().copied().chain(core::iter::repeat(Value::Missing));
        for (column, value) in self.columns.iter().zip(values) {
            column.encode(value, &mut features);
        }
        features
    }

    /// What of these values [`encode_values`](Self::encode_values) cannot read, for the owner of the records: another
    /// number of values than of columns, and values of the wrong type.
    #[must_use]
    pub fn check_values(&self, values: &[Value<'_>]) -> Vec<SchemaError> {
        let typed = self.columns.iter().zip(values).filter_map(|(column, value)| column.fitting(*value).err());
        self.check_count(values.len()).err().into_iter().chain(typed).collect()
    }

    fn check_count(&self, found: usize) -> Result<(), SchemaError> {
        let expected = self.columns.len();
        if found == expected { Ok(()) } else { Err(SchemaError::FieldCount { expected, found }) }
    }

    fn position(&self, name: &str) -> Option<usize> {
        let found = self.by_name.binary_search_by(|&position| self.columns[position].name.as_str().cmp(name));
        found.ok().map(|index| self.by_name[index])
    }

    fn listing(&self) -> String {
        const SHOWN: usize = 12;
        let mut names: Vec<&str> = self.columns.iter().take(SHOWN).map(|column| column.name.as_str()).collect();
        if self.columns.len() > SHOWN {
            names.push("…");
        }
        names.join(", ")
    }
}

/// What our own crates need and others do not.
#[doc(hidden)]
impl Schema {
    /// How a text file of its records is read, where nobody says otherwise.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The schema of files in this dialect.
    #[must_use]
    pub fn with_dialect(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }
}

impl Column {
    /// A column without a label.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: ColumnKind) -> Self {
        Self { name: name.into(), label: None, kind }
    }

    /// Checks the column and returns its number of features.
    fn check(&self) -> Result<usize, SchemaError> {
        match &self.kind {
            ColumnKind::Numeric { offset, scale } => {
                let magnitudes = 1.0 / MAX_SCALING..=MAX_SCALING;
                if !(offset.abs() <= MAX_SCALING && magnitudes.contains(&scale.abs())) {
                    return Err(SchemaError::Scaling { column: self.name.clone(), offset: *offset, scale: *scale });
                }
                Ok(1)
            }
            ColumnKind::Categorical { values, unseen } => {
                if *unseen == Unseen::Other && !values.iter().any(|value| value == OTHER) {
                    return Err(SchemaError::NoOther(self.name.clone()));
                }
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                let repeated =
                    |value: &str| SchemaError::RepeatedValue { column: self.name.clone(), value: value.to_owned() };
                Ok(sorted(&values).map_err(repeated)?.len())
            }
            ColumnKind::Ignored => Ok(0),
        }
    }

    /// The value of a typed host, if its type is one that the column reads.
    pub(crate) fn fitting<'a>(&self, value: Value<'a>) -> Result<Value<'a>, SchemaError> {
        match (&self.kind, value) {
            (ColumnKind::Numeric { .. }, Value::Text(_)) => Err(SchemaError::NotANumber(self.name.clone())),
            _ => Ok(value),
        }
    }

    /// The value of a text in a file.
    fn parse<'a>(&'a self, text: &'a str) -> Result<Value<'a>, SchemaError> {
        match &self.kind {
            ColumnKind::Ignored => Ok(Value::Text(text)),
            ColumnKind::Categorical { values, .. } if values.iter().any(|known| known == text) => Ok(Value::Text(text)),
            _ if stands_for_missing(text) => Ok(Value::Missing),
            ColumnKind::Numeric { .. } => {
                let number = infer::numbers::plain_number(text);
                number.map(Value::Number).ok_or_else(|| SchemaError::NotANumber(self.name.clone()))
            }
            _ => Ok(Value::Text(text)),
        }
    }

    /// The listed value of a categorical column that is the same boolean or the same whole number as the text (`True`
    /// of `true`, `3` of `3.0`), or else the text: hosts and files write these in several ways.
    fn spelled<'a>(&'a self, text: &'a str) -> &'a str {
        let ColumnKind::Categorical { values, .. } = &self.kind else { return text };
        let listed = |same: &dyn Fn(&str) -> bool| values.iter().map(String::as_str).find(|known| same(known));
        let text = text.trim();
        listed(&|known| known == text).or_else(|| listed(&|known| same(known, text))).unwrap_or(text)
    }

    /// Appends the features of a value.
    fn encode(&self, value: Value<'_>, features: &mut Vec<f64>) {
        match &self.kind {
            ColumnKind::Numeric { offset, scale } => {
                let number = if let Value::Number(number) = value { number } else { f64::NAN };
                // Of a finite number this may be infinite, by overflow, and is never NaN.
                let feature = ((number - offset) / scale).clamp(-f64::MAX, f64::MAX);
                features.push(if number.is_finite() { feature } else { 0.0 });
            }
            ColumnKind::Categorical { values, unseen } => {
                let number;
                let text = match value {
                    Value::Text(text) => Some(text),
                    Value::Number(value) if value.is_finite() => {
                        number = Decimal(value).to_string();
                        Some(number.as_str())
                    }
                    _ => None,
                };
                let text = text.map(|text| self.spelled(text));
                let listed = |text: &str| values.iter().any(|known| known == text);
                let text = text.filter(|&text| listed(text) || !text.is_empty());
                let text = text.map(|text| if *unseen == Unseen::Other && !listed(text) { OTHER } else { text });
                features.extend(values.iter().map(|known| f64::from(u8::from(Some(known.as_str()) == text))));
            }
            ColumnKind::Ignored => {}
        }
    }
}

/// Whether two texts are one boolean or one whole number.
fn same(one: &str, other: &str) -> bool {
    let is_boolean = |text: &str| ["true", "false"].iter().any(|name| text.eq_ignore_ascii_case(name));
    (is_boolean(one) && one.eq_ignore_ascii_case(other))
        || whole(one).is_some_and(|digits| whole(other) == Some(digits))
}

/// The digits and the sign of a whole number, which may have a decimal point and zeros, as data frames write it. Zeros
/// before it are kept: they are those of a code.
fn whole(text: &str) -> Option<&str> {
    let (digits, zeros) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_whole = are_digits(digits.strip_prefix('-').unwrap_or(digits)) && !zeros.is_empty();
    (is_whole && zeros.bytes().all(|byte| byte == b'0')).then_some(digits)
}

/// The positions of `texts` in their order, or the first text that occurs twice.
fn sorted<'a>(texts: &[&'a str]) -> Result<Vec<usize>, &'a str> {
    // A heap's sort is as fast here as any, and a twentieth of the code.
    let sorted = texts.iter().zip(0..).collect::<BinaryHeap<(&&str, usize)>>().into_sorted_vec();
    match sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(pair[0].0),
        None => Ok(sorted.into_iter().map(|(_, position)| position).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        Schema::new(vec![
            Column::new("x", ColumnKind::Numeric { offset: 1.0, scale: 2.0 }),
            Column::new(
                "color",
                ColumnKind::Categorical { values: vec!["red".into(), "blue".into()], unseen: Unseen::Zero },
            ),
            Column::new("id", ColumnKind::Ignored),
        ])
        .unwrap()
    }

    #[test]
    fn booleans_and_whole_numbers_have_several_spellings() {
        let values = ["True", "FALSE", "3", "-4.0", "007", "yes", "true"].map(String::from).to_vec();
        let column = Column::new("x", ColumnKind::Categorical { values, unseen: Unseen::Zero });
        for (text, listed) in [
            ("True", "True"),
            ("TRUE", "True"),
            ("true", "true"),
            ("false", "FALSE"),
            (" 3.0 ", "3"),
            ("3.00", "3"),
            ("-4", "-4.0"),
            ("007.0", "007"),
            // Other texts, which are nobody's.
            ("7", "7"),
            ("4", "4"),
            ("Yes", "Yes"),
            ("3.", "3."),
            ("3.5", "3.5"),
            (".0", ".0"),
            ("-", "-"),
            ("1", "1"),
        ] {
            assert_eq!(column.spelled(text), listed, "{text}");
        }
        let schema = Schema::new(vec![column]).unwrap();
        assert_eq!(schema.encode_fields(&["3.0"]), [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(schema.encode_fields(&["False"]), [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(schema.encode_fields(&["4"]), [0.0; 7], "a record has features, whatever it holds");
    }

    #[test]
    fn a_missing_value_contributes_nothing_in_every_face() {
        let schema = schema();
        for missing in ["", "NA", " nan ", "NULL", "N/A", "<NA>", "none", "inf", "-Infinity", "1e999"] {
            assert_eq!(schema.encode_fields(&[missing, "red", ""]), [0.0, 1.0, 0.0], "{missing}");
            assert_eq!(schema.encode_fields(&["5", missing, ""]), [2.0, 0.0, 0.0], "{missing}");
        }
        for missing in [Value::Missing, Value::Number(f64::NAN), Value::Number(f64::INFINITY)] {
            assert_eq!(schema.encode_named([("x", missing), ("color", missing)]), [0.0; 3], "{missing:?}");
            assert_eq!(schema.encode_values(&[missing; 3]), [0.0; 3], "{missing:?}");
        }
        assert_eq!(schema.encode_numbers(&[f64::NAN, f64::NAN, 0.0]), [0.0; 3]);
        assert_eq!(schema.encode_named([("x", Value::Number(1.0)), ("color", Value::Text(" "))]), [0.0; 3]);
    }

    /// Each column by its own offset and scale, once: the exact quotient, rounded twice.
    #[test]
    fn a_number_is_less_its_offset_once_and_divided_by_its_scale_once() {
        let numeric = |name: &str, offset, scale| Column::new(name, ColumnKind::Numeric { offset, scale });
        let columns = [("a", 0.0, 1.0), ("b", 3.0, 1.0), ("c", 0.0, 4.0), ("d", -5.0, -0.5), ("e", 1e6, 1e-3)];
        let schema = Schema::new(columns.map(|(name, offset, scale)| numeric(name, offset, scale)).to_vec()).unwrap();
        assert_eq!(schema.encode_numbers(&[7.0; 5]), [7.0, 4.0, 1.75, -24.0, -999_993_000.0]);
        assert_eq!(schema.encode_numbers(&[-7.0; 5]), [-7.0, -10.0, -1.75, 4.0, -1_000_007_000.0]);
        assert_eq!(schema.encode_numbers(&[0.0, 3.0, 0.0, -5.0, 1e6]), [0.0; 5]);
        // Unscaled values stay the same in every bit.
        for number in [0.1, -1e300, 5e-324, -0.0, f64::MAX] {
            assert_eq!(schema.encode_numbers(&[number; 5])[0].to_bits(), number.to_bits(), "{number}");
        }
    }

    #[test]
    fn numbers_beyond_the_range_saturate() {
        let schema =
            |offset, scale| Schema::new(vec![Column::new("x", ColumnKind::Numeric { offset, scale })]).unwrap();
        let encode = |offset, scale, value| schema(offset, scale).encode_numbers(&[value])[0];
        assert_eq!(encode(0.0, 1e-100, f64::MAX), f64::MAX);
        assert_eq!(encode(0.0, -1e-100, f64::MAX), -f64::MAX);
        assert_eq!(encode(-1e100, 1e-100, -f64::MAX), -f64::MAX);
        assert_eq!(encode(0.0, 1e100, f64::MIN_POSITIVE), 0.0);
    }

    #[test]
    fn unseen_values_are_zero_or_the_listed_other() {
        let column = |values: &[&str], unseen| {
            let values = values.iter().map(|&value| value.to_owned()).collect();
            Schema::new(vec![Column::new("plan", ColumnKind::Categorical { values, unseen })])
        };
        let error = column(&["free"], Unseen::Other).unwrap_err().to_string();
        assert!(error.contains("'plan'") && error.contains("'other'"), "{error}");
        let other = column(&["free", "other"], Unseen::Other).unwrap();
        let encode = |text| other.encode_fields(&[text]);
        assert_eq!([encode("free"), encode("gold"), encode("other")], [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]);
        assert_eq!([encode(""), encode("NA")], [[0.0, 0.0]; 2], "missing is not unseen");
        // A listed value is a value, even if it is also a mark of a missing one.
        let listed = column(&["NA", ""], Unseen::Zero).unwrap();
        assert_eq!(listed.encode_fields(&["NA"]), [1.0, 0.0]);
        assert_eq!(listed.encode_named([("plan", Value::Text(""))]), [0.0, 1.0]);
    }

    /// Whatever a record holds, it has the features of what fits; the owner is told what does not, without a value.
    #[test]
    fn what_does_not_fit_is_missing_and_told_by_name_without_a_value() {
        let schema = schema();
        let told = |found: Vec<SchemaError>, parts: &[&str]| {
            let messages: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(messages.len(), parts.len(), "{messages:?}");
            for (message, part) in messages.iter().zip(parts) {
                assert!(message.contains(part) && !message.contains("s3cret"), "{message} lacks {part}");
            }
        };
        for (fields, features, parts) in [
            (&["5", "red"][..], [2.0, 1.0, 0.0], &["2 fields"][..]),
            (&["5", "red", "", "s3cret"], [2.0, 1.0, 0.0], &["4 fields"]),
            (&["s3cret", "red", ""], [0.0, 1.0, 0.0], &["'x' is numeric"]),
            (&["5", "s3cret", ""], [2.0, 0.0, 0.0], &[]),
            (&["s3cret"], [0.0; 3], &["1 field ", "'x' is numeric"]),
            (&[], [0.0; 3], &["0 fields"]),
        ] {
            assert_eq!(schema.encode_fields(fields), features, "{fields:?}");
            told(schema.check_fields(fields), parts);
        }
        let (number, text) = (Value::Number(5.0), Value::Text("red"));
        for (record, features, parts) in [
            (&[("x", number), ("color", text)][..], [2.0, 1.0, 0.0], &[][..]),
            (&[("x", number)], [2.0, 0.0, 0.0], &["'color' is missing"]),
            (&[("x", text), ("color", text)], [0.0, 1.0, 0.0], &["'x' is numeric but holds a text"]),
            (
                &[("s3cret", number), ("color", text)],
                [0.0, 1.0, 0.0],
                &[
                    "unknown columns: 1; the schema has x, color, \
                id",
                    "'x' is missing",
                ],
            ),
            (
                &[("x", text), ("x", number), ("color", text)],
                [2.0, 1.0, 0.0],
                &["'x' is numeric", "'x' is there twice"],
            ),
            (&[], [0.0; 3], &["'x' is missing", "'color' is missing"]),
        ] {
            assert_eq!(schema.encode_named(record.iter().copied()), features, "{record:?}");
            told(schema.check_named(record.iter().copied()), parts);
        }
        for (values, features, parts) in [
            (&[number, text, text][..], [2.0, 1.0, 0.0], &[][..]),
            (&[number, Value::Text(" red "), number], [2.0, 1.0, 0.0], &[]),
            (&[text, text, text], [0.0, 1.0, 0.0], &["'x' is numeric"]),
            (&[Value::Text("5"), number], [0.0; 3], &["2 fields", "'x' is numeric"]),
            (&[number], [2.0, 0.0, 0.0], &["1 field "]),
        ] {
            assert_eq!(schema.encode_values(values), features, "{values:?}");
            told(schema.check_values(values), parts);
        }
        assert_eq!(schema.encode_numbers(&[5.0]), [2.0, 0.0, 0.0]);
        assert_eq!(schema.encode_numbers(&[5.0, 1.0, 2.0, 3.0]), [2.0, 0.0, 0.0]);
    }

    #[test]
    fn headers_may_be_in_any_order_and_lack_ignored_columns() {
        assert_eq!(schema().match_header(&["color", "x"]).unwrap(), [Some(1), Some(0), None]);
        assert_eq!(schema().match_header(&["id", "x", "color"]).unwrap(), [Some(1), Some(2), Some(0)]);
        let refused = |header: &[&str]| schema().match_header(header).unwrap_err();
        let unknown = |count| SchemaError::UnknownColumns { count, known: "x, color, id".into() };
        assert_eq!(refused(&["color", "x", "z"]), unknown(1));
        assert_eq!(refused(&["y", "color", "", "x", "X"]), unknown(3));
        assert_eq!(refused(&["color"]), SchemaError::MissingColumn("x".into()));
        assert_eq!(refused(&["id", "x"]), SchemaError::MissingColumn("color".into()));
        assert_eq!(refused(&["color", "color", "x"]), SchemaError::RepeatedColumn("color".into()));
        assert_eq!(refused(&["id", "color", "x", "id"]), SchemaError::RepeatedColumn("id".into()), "ignored ones, too");
    }

    #[test]
    fn at_most_a_dozen_names_are_listed() {
        let listing = |count| Schema::numeric(count).unwrap().listing();
        assert_eq!(listing(1), "c1");
        assert_eq!(listing(12), "c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12");
        assert_eq!(listing(13), "c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, …");
    }

    fn categorical(values: impl Iterator<Item = String>) -> Column {
        Column::new("k", ColumnKind::Categorical { values: values.collect(), unseen: Unseen::Zero })
    }

    #[test]
    fn there_is_at_least_one_feature_and_at_most_the_limit() {
        assert_eq!(Schema::numeric(0), Err(SchemaError::Dimension(0)));
        assert_eq!(Schema::numeric(MAX_DIMENSION).unwrap().dimension(), MAX_DIMENSION);
        assert_eq!(Schema::numeric(MAX_DIMENSION + 1), Err(SchemaError::Dimension(MAX_DIMENSION + 1)));
        assert_eq!(Schema::numeric(usize::MAX), Err(SchemaError::Dimension(usize::MAX)), "and takes no time");
        let ignored = Column::new("i", ColumnKind::Ignored);
        assert_eq!(Schema::new(vec![ignored.clone()]), Err(SchemaError::Dimension(0)));
        assert_eq!(Schema::new(vec![]), Err(SchemaError::Dimension(0)));
        // The features count, not the columns.
        let number = Column::new("n", ColumnKind::Numeric { offset: 0.0, scale: 1.0 });
        let beside = |count: usize| {
            let values = categorical((0..count).map(|value| value.to_string()));
            Schema::new(vec![ignored.clone(), number.clone(), values]).map(|schema| schema.dimension())
        };
        assert_eq!(beside(0), Ok(1));
        assert_eq!(beside(MAX_DIMENSION - 1), Ok(MAX_DIMENSION));
        assert_eq!(beside(MAX_DIMENSION), Err(SchemaError::Dimension(MAX_DIMENSION + 1)));
    }

    #[test]
    fn offsets_and_scales_are_taken_up_to_their_limits() {
        let check = |offset, scale| Column::new("x", ColumnKind::Numeric { offset, scale }).check();
        for sign in [1.0, -1.0] {
            for (offset, scale) in [(0.0, 1e100), (1e100, 1e-100), (-1e100, 1.0)] {
                assert_eq!(check(offset, sign * scale), Ok(1), "{offset} {scale}");
            }
            let (above, below) = (1e100f64.next_up(), 1e-100f64.next_down());
            let bad =
                [(0.0, above), (0.0, below), (above, 1.0), (0.0, 0.0), (0.0, f64::INFINITY), (f64::INFINITY, 1.0)];
            for (offset, scale) in bad {
                let (offset, scale) = (sign * offset, sign * scale);
                let error = SchemaError::Scaling { column: "x".into(), offset, scale };
                assert_eq!(check(offset, scale), Err(error));
            }
        }
        for (offset, scale) in [(f64::NAN, 1.0), (0.0, f64::NAN)] {
            assert!(matches!(check(offset, scale), Err(SchemaError::Scaling { .. })));
        }
    }

    #[test]
    fn columns_that_cannot_be_told_apart_or_read_are_refused_by_name() {
        let named = |name: &str| Column::new(name, ColumnKind::Numeric { offset: 0.0, scale: 1.0 });
        let refused = |columns| Schema::new(columns).unwrap_err();
        assert_eq!(refused(vec![named("a"), named("")]), SchemaError::EmptyName);
        let labelled = Column { label: Some(String::new()), ..named("b") };
        assert_eq!(refused(vec![named("a"), labelled]), SchemaError::EmptyLabel("b".into()));
        let repeated = vec![named("b"), named("a"), Column::new("b", ColumnKind::Ignored)];
        assert_eq!(refused(repeated), SchemaError::RepeatedColumn("b".into()));
        let twice = vec![categorical(["v", "w", "v"].map(String::from).into_iter())];
        assert_eq!(refused(twice), SchemaError::RepeatedValue { column: "k".into(), value: "v".into() });
        let other = ColumnKind::Categorical { values: vec!["Other".into()], unseen: Unseen::Other };
        assert_eq!(refused(vec![Column::new("o", other)]), SchemaError::NoOther("o".into()));
    }

    #[test]
    fn names_are_found_whatever_the_order_of_the_columns() {
        let names = ["m", "b", "z", "a", "aa", "Z", "é"];
        let kind = ColumnKind::Numeric { offset: 0.0, scale: 1.0 };
        let schema = Schema::new(names.map(|name| Column::new(name, kind.clone())).to_vec()).unwrap();
        for (place, name) in names.iter().enumerate() {
            assert_eq!(schema.position(name), Some(place));
        }
        for name in ["", "c", "zz", "A", "~"] {
            assert_eq!(schema.position(name), None, "{name}");
        }
    }

    #[test]
    fn features_are_brought_back_into_the_units_of_their_columns() {
        let features = schema().encode_fields(&["-3", "red", ""]);
        assert_eq!(features, [-2.0, 1.0, 0.0]);
        assert_eq!(schema().decode(&features), [-3.0, 1.0, 0.0]);
        assert_eq!(schema().decode(&[0.5, 0.25, 0.75]), [2.0, 0.25, 0.75]);
    }

    #[test]
    fn a_row_of_numbers_names_its_categories_by_their_shortest_decimals() {
        let codes = ColumnKind::Categorical { values: vec!["1".into(), "-0.5".into()], unseen: Unseen::Zero };
        let other = ColumnKind::Categorical { values: vec!["other".into(), "7".into()], unseen: Unseen::Other };
        let columns = vec![Column::new("code", codes), Column::new("o", other), Column::new("i", ColumnKind::Ignored)];
        let schema = Schema::new(columns).unwrap();
        assert_eq!(schema.encode_numbers(&[1.0, 7.0, f64::NAN]), [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(schema.encode_numbers(&[-0.5, 8.0, 0.0]), [0.0, 1.0, 1.0, 0.0]);
        assert_eq!(schema.encode_numbers(&[0.5, f64::INFINITY, 0.0]), [0.0; 4]);
        assert_eq!(schema.encode_values(&[Value::Number(1.0), Value::Number(7.0)]), [1.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn what_stands_for_a_missing_value_is_listed() {
        for name in ["", "na", "NA", "n/a", "#N/A", "<NA>", "NaN", "NULL", "none", "NIL"] {
            assert!(stands_for_missing(name), "{name}");
        }
        for name in [" ", "-", "N", "NAN ", "nulls", "#NA", "0", "nan.", "missing", "inf"] {
            assert!(!stands_for_missing(name), "{name}");
        }
        assert_eq!([positional_name(0), positional_name(9)], ["c1", "c10"]);
    }

    #[test]
    fn json_is_strict() {
        let labelled = schema().columns.into_iter().map(|column| Column { label: Some("\"π\"".into()), ..column });
        let tabs = Dialect { header: false, separator: '\t', decimal_comma: true };
        for schema in [schema(), Schema::new(labelled.collect()).unwrap(), schema().with_dialect(tabs)] {
            let text = schema.to_json();
            assert_eq!(text, serde_json::to_string(&schema).unwrap());
            assert_eq!(Schema::from_json(&text).unwrap(), schema);
        }
        for bad in [
            r#"{"columns":[{"name":"a","type":"numeric","offset":0,"scale":0}]}"#,
            r#"{"columns":[{"name":"a","type":"categorical","values":["v"],"unseen":"error"}]}"#,
            r#"{"columns":[{"name":"a","type":"numeric","offset":0,"scale":1}],"extra":1}"#,
        ] {
            assert!(matches!(Schema::from_json(bad), Err(SchemaError::Json(_))), "{bad}");
        }
    }

    #[test]
    fn a_dialect_is_stated_whole_and_only_where_it_is_not_the_usual_one() {
        let column =
            r#"{"columns":[{"type":"ignored","name":"a"},{"type":"numeric","name":"b","offset":0.0,"scale":1.0}]"#;
        let read = |dialect: &str| Schema::from_json(&format!(r#"{column},"dialect":{dialect}}}"#));
        let usual = read(r#"{"header":true,"separator":",","decimal_comma":false}"#).unwrap();
        assert_eq!(usual.to_json(), format!("{column}}}"));
        let pipes = r#"{"header":false,"separator":"|","decimal_comma":false}"#;
        assert_eq!(read(pipes).unwrap().to_json(), format!(r#"{column},"dialect":{pipes}}}"#));
        assert_ne!(read(pipes).unwrap(), usual);
        for bad in [
            "{}",
            "null",
            r#"{"header":"no","separator":"|","decimal_comma":false}"#,
            r#"{"header":false,"separator":"||","decimal_comma":false}"#,
            r#"{"header":false,"separator":"\"","decimal_comma":false}"#,
            r#"{"header":false,"separator":"é","decimal_comma":false}"#,
            r#"{"header":false,"separator":"|","decimal_comma":0}"#,
            r#"{"header":false,"separator":"|","decimal_comma":false,"quote":"'"}"#,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_column_has_the_fields_of_its_type_and_no_others() {
        let read = |fields: &str| {
            Schema::from_json(&format!(
                r#"{{"columns":[{{"name":"a",{fields}}},{{"name":"b","type":"numeric","offset":0,"scale":1}}]}}"#
            ))
        };
        let (number, values) = (r#""offset":3,"scale":-2"#, r#""values":["v"],"unseen":"zero""#);
        let numeric = ColumnKind::Numeric { offset: 3.0, scale: -2.0 };
        let listed = ColumnKind::Categorical { values: vec!["v".into()], unseen: Unseen::Zero };
        let of = [("numeric", number, numeric), ("categorical", values, listed), ("ignored", "", ColumnKind::Ignored)];
        for (name, own, kind) in &of {
            let own = if own.is_empty() { String::new() } else { format!(",{own}") };
            let good = format!(r#""type":"{name}"{own}"#);
            assert_eq!(read(&good).unwrap().columns()[0].kind, *kind);
            for (_, foreign, _) in of.iter().filter(|other| other.0 != *name) {
                for field in foreign.split(r#",""#).filter(|field| !field.is_empty()) {
                    let field = field.trim_start_matches('"');
                    let error = read(&format!(r#"{good},"{field}"#)).unwrap_err().to_string();
                    assert!(error.contains(field.split('"').next().unwrap()), "{error} lacks {field}");
                }
            }
            // Each of its own is needed.
            for field in own.split(r#",""#).filter(|field| !field.is_empty()) {
                let error = read(&good.replacen(&format!(",\"{field}"), "", 1)).unwrap_err().to_string();
                assert!(error.contains(field.split('"').next().unwrap()), "{error} lacks {field}");
            }
        }
        for (bad, part) in [
            (r#""type":"text""#, "text"),
            (number, "type"),
            (r#""type":"ignored","name":"c""#, "name"),
            (r#""type":"categorical","values":["v"],"unseen":"Zero""#, "Zero"),
        ] {
            let error = read(bad).unwrap_err().to_string();
            assert!(error.contains(part), "{error} lacks {part}");
        }
        assert_eq!(read(r#""type":"ignored","label":"L""#).unwrap().columns()[0].label.as_deref(), Some("L"));
    }
}
