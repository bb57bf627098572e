//! How the rows of a file fit a schema: for their owner, who may see what of them could not be read.
//!
//! A file of several records is its owner's own, so it may be refused for what it holds. One record never is.

use serde::Serialize;

use super::{ColumnKind, Schema, Value};

/// The most rows of which it is looked whether any value of a column can be read, and the most features in them: until
/// then a reader may hold them back.
const ROWS: u64 = 10_000;
const FEATURES: u64 = 1 << 23;

/// What was read of some rows, and what was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    part: &'static str,
    most_rows: u64,
    rows: u64,
    missing: u64,
    columns: Vec<ColumnFit>,
    /// The rows with another number of values than the file has columns.
    uneven: Unread,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ColumnFit {
    name: String,
    ignored: bool,
    read: u64,
    unread: Unread,
}

/// What could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Unread {
    count: u64,
    /// The first row of it, and why it was not read.
    first: Option<(u64, String)>,
}

/// What is told of a column, or of the length of rows.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<&'a str>,
    count: u64,
    first: String,
}

impl Unread {
    fn add(&mut self, row: u64, problem: &str) {
        self.count += 1;
        self.first.get_or_insert_with(|| (row, problem.to_owned()));
    }
}

impl Fit {
    /// Nothing was read yet. A row stands in a `part` of its file: a line, or a row.
    #[must_use]
    pub fn new(schema: &Schema, part: &'static str) -> Self {
        let columns = schema.columns().iter().map(|column| ColumnFit {
            name: column.name.clone(),
            ignored: column.kind == ColumnKind::Ignored,
            read: 0,
            unread: Unread::default(),
        });
        let most_rows = (FEATURES / schema.dimension() as u64).min(ROWS);
        Self { part, most_rows, rows: 0, missing: 0, columns: columns.collect(), uneven: Unread::default() }
    }

    /// Adds a row: of each column the value, or why it cannot be read and counts as missing; and the problem where
    /// there are too few values or too many.
    pub fn add<'a>(
        &mut self,
        row: u64,
        values: impl IntoIterator<Item = Result<Value<'a>, &'a str>>,
        uneven: Option<&str>,
    ) {
        self.rows += 1;
        if let Some(problem) = uneven {
            self.uneven.add(row, problem);
        }
        for (column, value) in self.columns.iter_mut().zip(values).filter(|(column, _)| !column.ignored) {
            let read = match value {
                Ok(Value::Missing) => false,
                Ok(Value::Number(number)) => number.is_finite(),
                Ok(Value::Text(_)) => true,
                Err(problem) => {
                    column.unread.add(row, problem);
                    false
                }
            };
            column.read += u64::from(read);
            self.missing += u64::from(!read);
        }
    }

    /// How many rows there were.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// How many values are missing and leave a feature without contribution, those that could not be read among them.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Whether the rows so far show that the file has what the schema asks for, or are so many that it is not asked.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let read = self.columns.iter().all(|column| column.ignored || column.read > 0);
        self.rows >= self.most_rows || (read && self.uneven.count < self.rows)
    }

    /// Why a file of these rows, of which there are several, is not one of the schema, and the row that shows it first:
    /// nothing of a column could be read, or no row has a value for each.
    #[must_use]
    pub fn refusal(&self) -> Option<(u64, String)> {
        if self.rows < 2 {
            return None;
        }
        if self.uneven.count == self.rows {
            return self.uneven.first.clone().map(|(row, problem)| (row, format!("{problem}, and so has every row")));
        }
        let nothing = |column: &&ColumnFit| column.read == 0 && column.unread.count > 0;
        let (row, problem) = self.columns.iter().find(nothing)?.unread.first.clone()?;
        Some((row, format!("{problem}; no value of the column can be read")))
    }

    /// The first row of which something could not be read, and what.
    #[must_use]
    pub fn first_unread(&self) -> Option<(u64, &str)> {
        let firsts = self.all().filter_map(|(_, unread)| unread.first.as_ref());
        firsts.min_by_key(|(row, _)| *row).map(|(row, problem)| (*row, problem.as_str()))
    }

    /// What could not be read, if anything: a sentence for each column.
    #[must_use]
    pub fn told(&self) -> Vec<String> {
        let sentence = |told: Told<'_>| match told.column {
            Some(name) => {
                let (values, count) = if told.count == 1 { ("value", "counts") } else { ("values", "count") };
                format!(
                    "{} {values} of column '{name}' cannot be read and {count} as missing; {}",
                    told.count, told.first
                )
            }
            None => {
                let rows = if told.count == 1 { "row has" } else { "rows have" };
                format!("{} {rows} too few values or too many; {}", told.count, told.first)
            }
        };
        self.unread().map(sentence).collect()
    }

    /// Rows first, then columns by their names.
    fn all(&self) -> impl Iterator<Item = (Option<&str>, &Unread)> {
        let columns = self.columns.iter().map(|column| (Some(column.name.as_str()), &column.unread));
        core::iter::once((None, &self.uneven)).chain(columns)
    }

    fn unread(&self) -> impl Iterator<Item = Told<'_>> {
        self.all().filter_map(|(column, Unread { count, first })| {
            let (row, problem) = first.as_ref()?;
            Some(Told { column, count: *count, first: format!("{} {row}: {problem}", self.part) })
        })
    }
}

/// What could not be read, as a list of `{column, count, first}`; without a column, of rows.
impl Serialize for Fit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.unread())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Column, Unseen};

    fn schema() -> Schema {
        let values = vec!["red".to_owned()];
        Schema::new(vec![
            Column::new("x", ColumnKind::Numeric { offset: 0.0, scale: 1.0 }),
            Column::new("color", ColumnKind::Categorical { values, unseen: Unseen::Zero }),
            Column::new("note", ColumnKind::Ignored),
        ])
        .unwrap()
    }

    const READ: Result<Value<'static>, &str> = Ok(Value::Number(1.0));
    const MISSING: Result<Value<'static>, &str> = Ok(Value::Missing);
    const UNREAD: Result<Value<'static>, &str> = Err("column 'x' holds a text");

    #[test]
    fn values_are_counted_by_what_became_of_them() {
        let mut fit = Fit::new(&schema(), "line");
        fit.add(2, [READ, MISSING, MISSING], None);
        assert!(fit.told().is_empty() && !fit.is_settled());
        fit.add(3, [UNREAD, READ, UNREAD], None);
        fit.add(5, [UNREAD, READ, READ], Some("found 4 fields"));
        assert_eq!((fit.rows(), fit.missing(), fit.is_settled(), fit.refusal()), (3, 3, true, None));
        assert_eq!(
            fit.told(),
            [
                "1 row has too few values or too many; line 5: found 4 fields",
                "2 values of column 'x' cannot be read and count as missing; line 3: column 'x' holds a text",
            ]
        );
        let json = r#"[{"count":1,"first":"line 5: found 4 fields"},
            {"column":"x","count":2,"first":"line 3: column 'x' holds a text"}]"#;
        assert_eq!(serde_json::to_value(&fit).unwrap(), serde_json::from_str::<serde_json::Value>(json).unwrap());
    }

    /// One record never is a reason to refuse.
    #[test]
    fn a_file_of_several_rows_is_refused_where_nothing_of_a_column_can_be_read() {
        let mut fit = Fit::new(&schema(), "row");
        fit.add(1, [UNREAD, MISSING, MISSING], Some("found 2 fields"));
        assert_eq!(fit.refusal(), None);
        fit.add(2, [MISSING, MISSING, MISSING], None);
        assert_eq!(fit.refusal(), Some((1, "column 'x' holds a text; no value of the column can be read".to_owned())));
        assert_eq!(fit.first_unread(), Some((1, "found 2 fields")));
        fit.add(3, [READ, UNREAD, MISSING], None);
        assert_eq!(fit.refusal().unwrap().0, 3, "the other column");
        fit.add(4, [MISSING, READ, UNREAD], None);
        assert_eq!(fit.refusal(), None, "ignored columns do not count");
        let mut empty = Fit::new(&schema(), "row");
        let mut uneven = Fit::new(&schema(), "row");
        for row in 0..ROWS {
            assert!(!empty.is_settled() && !uneven.is_settled(), "{row}");
            empty.add(row, [MISSING, MISSING, MISSING], None);
            uneven.add(row, [READ, READ, MISSING], Some("found 2 fields"));
        }
        assert_eq!((empty.is_settled(), empty.refusal()), (true, None), "nobody answered");
        let mut wide = Fit::new(&Schema::numeric(1 << 15).unwrap(), "row");
        (0..256).for_each(|row| wide.add(row, [], None));
        assert!(wide.is_settled(), "long records are held by fewer");
        assert!(uneven.is_settled() && uneven.refusal().unwrap().1.ends_with("every row"));
    }
}
