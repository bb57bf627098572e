//! Tables of named values, with their means and quantiles.

use core::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::baselines::comparison::quantile;

/// A number or a word, as in JSON.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A number. NaN means that there is none, and is `null` in JSON.
    Number(#[serde(deserialize_with = "number_or_null")] f64),
    /// A word, such as the name of a method.
    Text(String),
}

fn number_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

macro_rules! from_numbers {
    ($($number:ty),*) => {
        $(impl From<$number> for Value {
            fn from(number: $number) -> Self {
                Self::Number(number as f64)
            }
        })*
    };
}

from_numbers!(f64, u32, u64, usize);

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) if number.is_nan() => Ok(()),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// A row of values, made from numbers and words.
macro_rules! row {
    ($($value:expr),* $(,)?) => { vec![$($crate::experiments::Value::from($value)),*] };
}
pub(super) use row;

/// A condition on a column.
#[must_use]
pub fn is(column: &'static str, value: impl Into<Value>) -> (&'static str, Value) {
    (column, value.into())
}

/// Rows, each with one value per column.
pub type Rows = Vec<Vec<Value>>;

/// The rows of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    columns: &'static [&'static str],
    rows: Rows,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(columns: &'static [&'static str]) -> Self {
        Self { columns, rows: vec![] }
    }

    /// Adds rows.
    ///
    /// # Panics
    /// If a row does not have one value per column.
    pub fn extend(&mut self, rows: Rows) {
        assert!(rows.iter().all(|row| row.len() == self.columns.len()), "{:?}", self.columns);
        self.rows.extend(rows);
    }

    /// The names of the columns.
    #[must_use]
    pub fn columns(&self) -> &'static [&'static str] {
        self.columns
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows, in the order of their cells.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|values| Row { columns: self.columns, values })
    }

    /// The rows that meet these conditions: `[("method", "PCA".into()), ("n", 1000.into())]`.
    pub fn matching<'a>(&'a self, conditions: &'a [(&'static str, Value)]) -> impl Iterator<Item = Row<'a>> {
        self.rows().filter(move |row| conditions.iter().all(|(column, value)| row.value(column) == value))
    }

    /// The values of a column in the rows that meet these conditions.
    #[must_use]
    pub fn numbers(&self, column: &'static str, conditions: &[(&'static str, Value)]) -> Vec<f64> {
        self.matching(conditions).map(|row| row.number(column)).collect()
    }

    /// Mean and quantiles of [`numbers`](Self::numbers); `None` where there is none.
    #[must_use]
    pub fn summary(&self, column: &'static str, conditions: &[(&'static str, Value)]) -> Option<Summary> {
        Summary::of(self.numbers(column, conditions))
    }

    /// The mean of [`numbers`](Self::numbers); NaN where there is none.
    #[must_use]
    pub fn mean(&self, column: &'static str, conditions: &[(&'static str, Value)]) -> f64 {
        self.summary(column, conditions).map_or(f64::NAN, |summary| summary.mean)
    }

    /// The distinct values of a column in the rows that meet these conditions, in the order of their first appearance.
    #[must_use]
    pub fn distinct(&self, column: &'static str, conditions: &[(&'static str, Value)]) -> Vec<Value> {
        let mut values: Vec<Value> = vec![];
        for row in self.matching(conditions) {
            if !values.contains(row.value(column)) {
                values.push(row.value(column).clone());
            }
        }
        values
    }
}

/// One row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    columns: &'static [&'static str],
    values: &'a [Value],
}

impl<'a> Row<'a> {
    /// The value in a column.
    ///
    /// # Panics
    /// If the table does not have this column.
    #[must_use]
    pub fn value(&self, column: &str) -> &'a Value {
        let index = self.columns.iter().position(|name| *name == column);
        &self.values[index.unwrap_or_else(|| panic!("no column {column} among {:?}", self.columns))]
    }

    /// The number in a column; NaN if it is a word.
    #[must_use]
    pub fn number(&self, column: &str) -> f64 {
        match self.value(column) {
            Value::Number(number) => *number,
            Value::Text(_) => f64::NAN,
        }
    }

    /// The word in a column; empty if it is a number.
    #[must_use]
    pub fn text(&self, column: &str) -> &'a str {
        match self.value(column) {
            Value::Number(_) => "",
            Value::Text(text) => text,
        }
    }

    /// All values.
    #[must_use]
    pub fn values(&self) -> &'a [Value] {
        self.values
    }
}

/// A summary of some numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation (with n - 1; 0 for one number).
    pub deviation: f64,
    /// The tenth percentile, interpolated.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// The ninetieth percentile.
    pub high: f64,
}

impl Summary {
    /// Whether its mean is above the other's by more than two standard errors of their difference.
    #[must_use]
    pub fn is_clearly_above(&self, other: &Self) -> bool {
        let squares = [self, other].map(|one| one.deviation * one.deviation / one.count as f64);
        self.mean - other.mean > 2.0 * squares.iter().sum::<f64>().sqrt()
    }

    /// The summary of those that are not NaN; `None` if there are none.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.retain(|value| !value.is_nan());
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / last.max(1) as f64).sqrt();
        let (low, median, high) = (quantile(&values, 0.1), quantile(&values, 0.5), quantile(&values, 0.9));
        Some(Self { count: values.len(), mean, deviation, low, median, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_values() {
        let mut table = Table::new(&["method", "n", "error"]);
        for (method, n, error) in [("a", 1, 0.5), ("b", 1, 0.25), ("a", 2, 0.125), ("a", 1, 1.5)] {
            table.extend(vec![vec![method.into(), (n as u32).into(), error.into()]]);
        }
        let of = |method: &str, n: u32| vec![("method", method.into()), ("n", n.into())];
        assert_eq!(table.numbers("error", &of("a", 1)), [0.5, 1.5]);
        assert_eq!(table.summary("error", &of("a", 1)).unwrap().mean, 1.0);
        assert_eq!(table.summary("error", &of("c", 1)), None);
        assert_eq!(table.distinct("method", &[]), [Value::from("a"), Value::from("b")]);
        assert_eq!(table.distinct("n", &[("method", "b".into())]), [Value::from(1u32)]);
        let row = table.rows().next().unwrap();
        assert_eq!((row.text("method"), row.number("n"), row.text("n")), ("a", 1.0, ""));
        assert!(row.number("method").is_nan());
    }

    #[test]
    fn summaries_are_those_of_the_definition() {
        let summary = Summary::of((0..=10).map(f64::from).rev().chain([f64::NAN]).collect()).unwrap();
        assert_eq!((summary.count, summary.mean, summary.median), (11, 5.0, 5.0));
        assert_eq!((summary.low, summary.high), (1.0, 9.0));
        assert!((summary.deviation - 11f64.sqrt()).abs() < 1e-12);
        let one = Summary::of(vec![3.0]).unwrap();
        assert_eq!((one.low, one.high, one.deviation), (3.0, 3.0, 0.0));
        assert_eq!(Summary::of(vec![f64::NAN]), None);
        // The standard errors of 0, 2 and of 3, 5 are 1 each: the difference of 3 is 2.1 of theirs.
        let [low, high] = [0.0, 3.0].map(|start| Summary::of(vec![start, start + 2.0]).unwrap());
        assert!(high.is_clearly_above(&low) && !low.is_clearly_above(&high));
        assert!(!Summary::of(vec![2.8, 4.8]).unwrap().is_clearly_above(&low));
    }
}
