//! From a record with names to a vector of numbers: the public description of the columns of a collection.
//!
//! Offsets, scales and category lists are part of the public task. They must come from public knowledge or a public
//! sample, never from the records that are to be protected.

mod document;
mod error;
pub mod infer;

use std::collections::BinaryHeap;

use serde::Serialize;

use crate::decimal::Decimal;
use crate::json::excerpt;

pub use error::SchemaError;

/// The largest number of encoded features.
pub const MAX_DIMENSION: usize = 32_768;

/// The columns of a record, in the order of a file without header, and how each becomes features.
///
/// ```
/// use ldp_pca::schema::Schema;
/// let schema = Schema::from_json(r#"{"columns": [
///     {"name": "age", "type": "numeric", "offset": 0, "scale": 100},
///     {"name": "plan", "type": "categorical", "values": ["free", "paid"], "unseen": "error"},
///     {"name": "comment", "type": "ignored"}
/// ]}"#)?;
/// assert_eq!(schema.feature_names(), ["age", "plan=free", "plan=paid"]);
/// assert_eq!(schema.encode_fields(&["25", "paid", "likes tea"])?, [0.25, 0.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Schema {
    columns: Vec<Column>,
    /// The positions of the columns in the order of their names.
    #[serde(skip)]
    by_name: Vec<usize>,
    #[serde(skip)]
    dimension: usize,
}

/// One column of a record.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "document::ColumnDocument")]
pub struct Column {
    /// The column's name; unique. Columns of files without header are called c1, c2, …
    pub name: String,
    /// What becomes of its values.
    pub kind: ColumnKind,
}

/// What becomes of a column's values.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnKind {
    /// One feature: `(value - offset) / scale`.
    Numeric {
        /// Subtracted from the value: finite.
        offset: f64,
        /// Divides the difference: finite, not zero.
        scale: f64,
    },
    /// One feature per listed value: 1 for the value that is there, 0 for the others.
    Categorical {
        /// The values that have a feature, each once.
        values: Vec<String>,
        /// What to do with any other value.
        unseen: Unseen,
    },
    /// No feature: the column may be present and is not read.
    Ignored,
}

/// What to do with a categorical value that the schema does not list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unseen {
    /// All features of the column are 0.
    Zero,
    /// The record is refused.
    Error,
}

/// A value as it arrives from a host that has types.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A number.
    Number(f64),
    /// A text.
    Text(&'a str),
}

impl Schema {
    /// Checks the columns.
    ///
    /// # Errors
    /// [`SchemaError`] for repeated names or values, unusable offsets or scales, and too few or too many features.
    pub fn new(columns: Vec<Column>) -> Result<Self, SchemaError> {
        let mut dimension = 0;
        for column in &columns {
            if column.name.is_empty() {
                return Err(SchemaError::EmptyName);
            }
            dimension += column.check()?;
        }
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let by_name = sorted(&names).map_err(|name| SchemaError::RepeatedColumn(name.to_owned()))?;
        if dimension == 0 || dimension > MAX_DIMENSION {
            return Err(SchemaError::Dimension(dimension));
        }
        Ok(Self { columns, by_name, dimension })
    }

    /// `dimension` numeric columns c1, c2, … that are taken as they are.
    ///
    /// # Errors
    /// [`SchemaError::Dimension`] when `dimension` is 0 or above [`MAX_DIMENSION`].
    pub fn numeric(dimension: usize) -> Result<Self, SchemaError> {
        if dimension > MAX_DIMENSION {
            return Err(SchemaError::Dimension(dimension));
        }
        let column = |position| Column {
            name: positional_name(position),
            kind: ColumnKind::Numeric { offset: 0.0, scale: 1.0 },
        };
        Self::new((0..dimension).map(column).collect())
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

    /// Brings d encoded features, of a mean for instance, back into the units of their columns: `offset + scale ×
    /// feature` for a numeric one. Features of a categorical column stay as they are (in a mean: the share of a value).
    ///
    /// ```
    /// # let schema = ldp_pca::schema::Schema::from_json(r#"{"columns": [
    /// #     {"name": "age", "type": "numeric", "offset": 20, "scale": 100},
    /// #     {"name": "plan", "type": "categorical", "values": ["free", "paid"], "unseen": "error"}]}"#)?;
    /// assert_eq!(schema.decode(&schema.encode_fields(&["45", "paid"])?), [45.0, 0.0, 1.0]);
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

    /// Encodes one text field per column, in the order of the columns, ignored ones included: a row of a file.
    ///
    /// # Errors
    /// [`SchemaError`] for a wrong number of fields, a numeric field that is not a number, or an unseen value.
    pub fn encode_fields(&self, fields: &[&str]) -> Result<Vec<f64>, SchemaError> {
        if fields.len() != self.columns.len() {
            return Err(SchemaError::FieldCount { expected: self.columns.len(), found: fields.len() });
        }
        self.encode(&mut |index| {
            let (column, text) = (&self.columns[index], fields[index].trim());
            Ok(match column.kind {
                ColumnKind::Numeric { .. } => Value::Number(column.parse(text)?),
                _ => Value::Text(text),
            })
        })
    }

    /// Encodes one number per column, in the order of the columns, ignored ones included: a row of a matrix.
    /// A categorical column reads its number as text.
    ///
    /// # Errors
    /// As [`Schema::encode_fields`].
    pub fn encode_numbers(&self, numbers: &[f64]) -> Result<Vec<f64>, SchemaError> {
        if numbers.len() != self.columns.len() {
            return Err(SchemaError::FieldCount { expected: self.columns.len(), found: numbers.len() });
        }
        self.encode(&mut |index| Ok(Value::Number(numbers[index])))
    }

    /// Encodes a record given by name. Every column that is not ignored must be there, and no others. The host has
    /// types, so a numeric column takes numbers only, and a categorical one texts only.
    ///
    /// # Errors
    /// [`SchemaError`] for an unknown, repeated or missing column, a value of the wrong type, or an unseen value.
    pub fn encode_named<'a>(
        &self,
        record: impl IntoIterator<Item = (&'a str, Value<'a>)>,
    ) -> Result<Vec<f64>, SchemaError> {
        let mut values: Vec<Option<Value<'a>>> = vec![None; self.columns.len()];
        for (name, value) in record {
            let index = self.position(name)?;
            self.columns[index].check_type(value)?;
            if values[index].replace(value).is_some() {
                return Err(SchemaError::RepeatedColumn(name.to_owned()));
            }
        }
        self.encode(&mut |index| {
            values[index].ok_or_else(|| SchemaError::MissingColumn(self.columns[index].name.clone()))
        })
    }

    /// Encodes one typed value per column, in the order of the columns: a row of a table whose columns were found by
    /// [`match_header`](Self::match_header). Those of ignored columns are not read. The types are those of
    /// [`encode_named`](Self::encode_named).
    ///
    /// # Errors
    /// [`SchemaError`] for a wrong number of values, a value of the wrong type, or an unseen value.
    pub fn encode_values(&self, values: &[Value<'_>]) -> Result<Vec<f64>, SchemaError> {
        if values.len() != self.columns.len() {
            return Err(SchemaError::FieldCount { expected: self.columns.len(), found: values.len() });
        }
        self.encode(&mut |index| {
            self.columns[index].check_type(values[index])?;
            Ok(values[index])
        })
    }

    /// Finds the schema's columns in a file's header: for each column its position.
    ///
    /// # Errors
    /// [`SchemaError`] for a header with an unknown, repeated or missing name (ignored columns may be missing).
    pub fn match_header(&self, header: &[&str]) -> Result<Vec<Option<usize>>, SchemaError> {
        let mut positions = vec![None; self.columns.len()];
        for (position, name) in header.iter().enumerate() {
            let index = self.position(name)?;
            if positions[index].replace(position).is_some() {
                return Err(SchemaError::RepeatedColumn((*name).to_owned()));
            }
        }
        for (column, position) in self.columns.iter().zip(&positions) {
            if position.is_none() && column.kind != ColumnKind::Ignored {
                return Err(SchemaError::MissingColumn(column.name.clone()));
            }
        }
        Ok(positions)
    }

    fn encode<'a>(
        &self,
        value: &mut dyn FnMut(usize) -> Result<Value<'a>, SchemaError>,
    ) -> Result<Vec<f64>, SchemaError> {
        let mut features = Vec::with_capacity(self.dimension);
        for (index, column) in self.columns.iter().enumerate() {
            if column.kind != ColumnKind::Ignored {
                column.encode(value(index)?, &mut features)?;
            }
        }
        Ok(features)
    }

    fn position(&self, name: &str) -> Result<usize, SchemaError> {
        let found = self.by_name.binary_search_by(|&position| self.columns[position].name.as_str().cmp(name));
        let unknown = |_| SchemaError::UnknownColumn { name: excerpt(name), known: self.listing() };
        found.map(|index| self.by_name[index]).map_err(unknown)
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

impl Column {
    /// Checks the column and returns its number of features.
    fn check(&self) -> Result<usize, SchemaError> {
        match &self.kind {
            ColumnKind::Numeric { offset, scale } => {
                if !offset.is_finite() || !scale.is_finite() || *scale == 0.0 {
                    return Err(SchemaError::Scaling { column: self.name.clone(), offset: *offset, scale: *scale });
                }
                Ok(1)
            }
            ColumnKind::Categorical { values, .. } => {
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                let repeated =
                    |value: &str| SchemaError::RepeatedValue { column: self.name.clone(), value: value.to_owned() };
                Ok(sorted(&values).map_err(repeated)?.len())
            }
            ColumnKind::Ignored => Ok(0),
        }
    }

    /// Whether a typed host may give `value` for this column.
    fn check_type(&self, value: Value<'_>) -> Result<(), SchemaError> {
        let column = || self.name.clone();
        match (&self.kind, value) {
            (ColumnKind::Numeric { .. }, Value::Text(text)) => {
                Err(SchemaError::NotANumber { column: column(), found: excerpt(text) })
            }
            (ColumnKind::Categorical { .. }, Value::Number(value)) => {
                Err(SchemaError::NotAText { column: column(), value })
            }
            _ => Ok(()),
        }
    }

    /// The number that a text stands for.
    fn parse(&self, text: &str) -> Result<f64, SchemaError> {
        text.parse().map_err(|_| SchemaError::NotANumber { column: self.name.clone(), found: excerpt(text) })
    }

    fn encode(&self, value: Value<'_>, features: &mut Vec<f64>) -> Result<(), SchemaError> {
        match (&self.kind, value) {
            (ColumnKind::Numeric { offset, scale }, Value::Number(number)) => {
                if !number.is_finite() {
                    return Err(SchemaError::NotFinite { column: self.name.clone(), value: number });
                }
                let feature = (number - offset) / scale;
                if !feature.is_finite() {
                    return Err(SchemaError::NotFinite { column: self.name.clone(), value: feature });
                }
                features.push(feature);
            }
            (ColumnKind::Categorical { values, unseen }, value) => {
                let number;
                let text = match value {
                    Value::Text(text) => text.trim(),
                    Value::Number(value) => {
                        number = Decimal(value).to_string();
                        &number
                    }
                };
                let before = features.len();
                features.extend(values.iter().map(|known| f64::from(u8::from(known == text))));
                if *unseen == Unseen::Error && features[before..].iter().all(|&feature| feature == 0.0) {
                    return Err(SchemaError::UnseenValue { column: self.name.clone(), value: excerpt(text) });
                }
            }
            (ColumnKind::Numeric { .. }, Value::Text(text)) => {
                return Err(SchemaError::NotANumber { column: self.name.clone(), found: excerpt(text) });
            }
            (ColumnKind::Ignored, _) => {}
        }
        Ok(())
    }
}

/// The name of a column of a file without header: c1, c2, …
#[must_use]
pub fn positional_name(position: usize) -> String {
    format!("c{}", position + 1)
}

/// The positions of `texts` in their order, or the first text that is there twice.
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
            Column { name: "x".into(), kind: ColumnKind::Numeric { offset: 1.0, scale: 2.0 } },
            Column {
                name: "color".into(),
                kind: ColumnKind::Categorical { values: vec!["red".into(), "blue".into()], unseen: Unseen::Zero },
            },
            Column { name: "id".into(), kind: ColumnKind::Ignored },
        ])
        .unwrap()
    }

    #[test]
    fn fields_and_named_values_give_the_same_features() {
        let from_fields = schema().encode_fields(&[" 5 ", "blue", "whatever"]).unwrap();
        let named = [("color", Value::Text("blue")), ("x", Value::Number(5.0))];
        assert_eq!(from_fields, [2.0, 0.0, 1.0]);
        assert_eq!(schema().encode_named(named).unwrap(), from_fields);
        let values = [Value::Number(5.0), Value::Text("blue"), Value::Number(f64::NAN)];
        assert_eq!(schema().encode_values(&values).unwrap(), from_fields);
        assert_eq!(schema().encode_fields(&["5", "green", ""]).unwrap(), [2.0, 0.0, 0.0]);
    }

    #[test]
    fn bad_records_are_refused_by_name() {
        let schema = schema();
        let refused = |result: Result<Vec<f64>, SchemaError>, part: &str| {
            let message = result.unwrap_err().to_string();
            assert!(message.contains(part), "{message} lacks {part}");
        };
        refused(schema.encode_fields(&["1", "red"]), "2 fields");
        refused(schema.encode_fields(&["one", "red", ""]), "'one'");
        refused(schema.encode_fields(&["", "red", ""]), "'x' is numeric");
        refused(schema.encode_fields(&["NaN", "red", ""]), "finite");
        refused(schema.encode_fields(&["1e999", "red", ""]), "finite");
        refused(schema.encode_named([("y", Value::Number(1.0))]), "unknown column 'y'");
        refused(schema.encode_named([("x", Value::Number(1.0))]), "'color' is missing");
        refused(schema.encode_named([("x", Value::Number(1.0)), ("x", Value::Number(1.0))]), "twice");
        refused(
            schema.encode_named([("x", Value::Text("1")), ("color", Value::Text("red"))]),
            "'x' is numeric but holds '1'",
        );
        refused(schema.encode_named([("x", Value::Number(1.0)), ("color", Value::Number(2.0))]), "number 2");
        refused(schema.encode_values(&[Value::Number(1.0); 3]), "number 1");
        refused(schema.encode_values(&[Value::Number(1.0); 2]), "2 fields");
        refused(schema.encode_named([("x", Value::Number(f64::NAN)), ("color", Value::Text("red"))]), "finite");
    }

    #[test]
    fn headers_may_be_in_any_order_and_lack_ignored_columns() {
        assert_eq!(schema().match_header(&["color", "x"]).unwrap(), [Some(1), Some(0), None]);
        assert!(schema().match_header(&["color", "x", "z"]).is_err());
        assert!(schema().match_header(&["color"]).is_err());
        assert!(schema().match_header(&["color", "color", "x"]).is_err());
    }

    #[test]
    fn json_is_strict() {
        let text = schema().to_json();
        assert_eq!(text, serde_json::to_string(&schema()).unwrap());
        assert_eq!(Schema::from_json(&text).unwrap(), schema());
        for bad in [
            r#"{"columns":[]}"#,
            r#"{"columns":[{"name":"a","type":"numeric","offset":0,"scale":0}]}"#,
            r#"{"columns":[{"name":"a","type":"numeric","offset":0,"scale":1,"unit":"m"}]}"#,
            r#"{"columns":[{"name":"a","type":"ignored","scale":1},{"name":"b","type":"numeric","offset":0,"scale":1}]}"#,
            r#"{"columns":[{"name":"","type":"numeric","offset":0,"scale":1}]}"#,
            r#"{"columns":[{"name":"a","type":"categorical","values":["v","v"],"unseen":"zero"}]}"#,
            r#"{"columns":[{"name":"a","type":"categorical","values":["v"]}]}"#,
            r#"{"columns":[{"name":"a","type":"numeric","offset":0,"scale":1}],"extra":1}"#,
        ] {
            assert!(Schema::from_json(bad).is_err(), "{bad}");
        }
    }
}
