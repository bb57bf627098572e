//! A schema from a public sample: which columns are numeric, how they are scaled, which categories exist.
//!
//! Inference reads its input. What it finds becomes part of the public task, so the sample must be public. Even then
//! texts that may identify somebody do not get into the schema: a column of text is left out where its texts hardly
//! repeat, where there are many of them, or where they are e-mail addresses, unless the options name the column.

pub(crate) mod looks;
pub(crate) mod numbers;
mod observed;
pub(crate) mod warning;

use std::collections::BTreeMap;

use serde::Deserialize;

use self::observed::Observed;
use self::warning::{Oddity, Warning};
use super::{Column, ColumnKind, Schema, SchemaError, Unseen, positional_name};

/// A scaling of numeric columns to a common size.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Scaling {
    /// Mean 0 and standard deviation 1 of numbers that are shortened to fences, three times the distance of the
    /// quartiles beyond these: a few wrong numbers set neither.
    #[default]
    Robust,
    /// Largest magnitude 1, zero stays zero: offset 0, scale max |value|.
    MaxAbs,
    /// From 0 to 1: offset the minimum, scale the range.
    Range,
    /// Mean 0 and standard deviation 1.
    Standard,
    /// As they are.
    None,
}

/// Rules of the inference.
#[derive(Clone, Debug)]
pub struct InferenceOptions {
    /// The scaling of numeric columns.
    pub scaling: Scaling,
    /// The rule for new categories in later records. With [`Unseen::Other`] the value `other` is listed too.
    pub unseen: Unseen,
    /// Columns (by name) to leave out.
    pub ignore: Vec<String>,
    /// Columns (by name) whose values are categories, and become public: numbers, many different texts, names.
    pub categorical: Vec<String>,
    /// Columns (by name) whose values are numbers, although they have zeros before them as codes do. What is no number
    /// is missing.
    pub numeric: Vec<String>,
    /// Columns (by name) with the categories that they have, from public knowledge.
    pub categories: Vec<(String, Vec<String>)>,
    /// The largest number of categories of a column that `categorical` and `categories` do not name. A column with more
    /// texts is left out.
    pub max_values: usize,
}

impl Default for InferenceOptions {
    fn default() -> Self {
        Self {
            scaling: Scaling::default(),
            unseen: Unseen::Zero,
            ignore: vec![],
            categorical: vec![],
            numeric: vec![],
            categories: vec![],
            max_values: 32,
        }
    }
}

/// Reads a sample row by row, in memory that does not grow with it.
#[derive(Debug)]
pub struct Inference {
    columns: Vec<Observed>,
    options: InferenceOptions,
    rows: u64,
    /// The names are those of positions, and the first row alone counts up.
    counts_up: bool,
    /// Those of the names.
    warnings: Vec<Warning>,
}

/// An inferred schema, and what the sample shows about it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Inferred {
    /// The schema.
    pub schema: Schema,
    /// The columns that were zero or missing throughout: they carry no information, and are ignored.
    pub always_zero: Vec<String>,
    /// Each column that has missing values, and how many.
    pub missing: Vec<(String, u64)>,
    /// The number of rows read.
    pub rows: u64,
    /// What is odd about the sample, and why columns are left out that nobody asked to ignore. Each is a sentence with
    /// the remedy (`Display`).
    pub warnings: Vec<Warning>,
}

impl Inference {
    /// Starts for columns of these names.
    ///
    /// # Errors
    /// [`SchemaError::NotInSample`] when the options name a column that does not exist, and
    /// [`SchemaError::RepeatedInSample`] for a name that occurs twice.
    pub fn new(names: &[String], options: InferenceOptions) -> Result<Self, SchemaError> {
        let listed = options.categories.iter().map(|(name, _)| name);
        for name in options.ignore.iter().chain(&options.categorical).chain(&options.numeric).chain(listed) {
            if !names.contains(name) {
                return Err(SchemaError::NotInSample { name: name.clone(), columns: names.len() });
            }
        }
        let mut places = BTreeMap::new();
        for (place, name) in (1..).zip(names) {
            if let Some(first) = places.insert(name, place) {
                return Err(SchemaError::RepeatedInSample { first, second: place });
            }
        }
        let columns = names.iter().map(|name| Observed::new(name, &options)).collect();
        let counts_up = names.iter().enumerate().all(|(place, name)| *name == positional_name(place));
        Ok(Self { columns, options, rows: 0, counts_up, warnings: vec![] })
    }

    /// Reads one row of text fields.
    ///
    /// # Errors
    /// [`SchemaError`] for a wrong number of fields, a text in a column of many numbers, and too many values of a
    /// column that the options name as categorical.
    pub fn observe(&mut self, fields: &[&str]) -> Result<(), SchemaError> {
        if fields.len() != self.columns.len() {
            return Err(SchemaError::FieldCount { expected: self.columns.len(), found: fields.len() });
        }
        self.rows += 1;
        if self.counts_up {
            self.counts_up = looks::counts_up(fields) == (self.rows == 1);
        }
        for (place, (column, field)) in (1..).zip(self.columns.iter_mut().zip(fields)) {
            column.observe(field.trim(), place)?;
        }
        Ok(())
    }

    /// The schema of the rows read.
    ///
    /// # Errors
    /// [`SchemaError::EmptySample`] when nothing was read, [`SchemaError::NothingLeft`] when every column is left out,
    /// and the errors of [`Schema::new`].
    pub fn finish(self) -> Result<Inferred, SchemaError> {
        if self.rows == 0 {
            return Err(SchemaError::EmptySample);
        }
        let mut warnings = self.warnings;
        if self.counts_up && self.rows > 1 {
            warnings.push(Warning { column: None, left_out: false, oddity: Oddity::NumbersAsHeader });
        }
        let (mut always_zero, mut missing, mut columns) = (vec![], vec![], vec![]);
        for column in self.columns {
            if column.missing > 0 {
                missing.push((column.name.clone(), column.missing));
            }
            if column.is_zero() {
                always_zero.push(column.name.clone());
            }
            columns.push(column.conclude(&self.options, &mut warnings));
        }
        let left_out = warnings.iter().find(|warning| warning.left_out);
        let left_out = left_out.map(|warning| (warning.column.as_ref(), warning.oddity.clone()));
        let empty = || {
            let name = always_zero.first()?;
            let is_missing = missing.iter().any(|(column, count)| column == name && *count == self.rows);
            Some((Some(name), if is_missing { Oddity::AlwaysMissing } else { Oddity::AlwaysZero }))
        };
        if columns.iter().all(|column| column.kind == ColumnKind::Ignored)
            && let Some((name, oddity)) = left_out.or_else(empty)
        {
            let place = columns.iter().position(|column| Some(&column.name) == name);
            let (column, kind) = (place.map_or(1, |place| place + 1), oddity.name());
            return Err(SchemaError::NothingLeft { column, kind, reason: oddity.to_string() });
        }
        let unscalable = |column: &Column| matches!(column.check(), Err(SchemaError::Scaling { .. }));
        if let Some(place) = columns.iter().position(unscalable) {
            return Err(SchemaError::Unscalable(place + 1));
        }
        Ok(Inferred { schema: Schema::new(columns)?, always_zero, missing, rows: self.rows, warnings })
    }
}

/// What our own crates need and others do not.
#[doc(hidden)]
impl Inference {
    /// Warns that the header has no name for this column, unless it is ignored.
    pub fn unnamed(&mut self, column: String) {
        if !self.options.ignore.contains(&column) {
            self.warnings.push(Warning { column: Some(column), left_out: false, oddity: Oddity::Unnamed });
        }
    }
}

// Proptest is there for native tests.
#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod tests;
