//! Tables and a schema: the names in a header, the fields of a row, the features of a column.

use core::ops::Range;

use super::{ColumnKind, Schema, SchemaError, Value};

/// The name of a column of a file without header: c1, c2, …
#[must_use]
pub fn positional_name(position: usize) -> String {
    format!("c{}", position + 1)
}

impl Schema {
    /// Finds the schema's columns in a file's header: for each column its position.
    ///
    /// # Errors
    /// [`SchemaError`] for a header with an unknown, repeated or missing name (ignored columns may be missing).
    pub fn match_header(&self, header: &[&str]) -> Result<Vec<Option<usize>>, SchemaError> {
        let problems = self.check_named(header.iter().map(|name| (*name, Value::Missing)));
        if let Some(problem) = problems.into_iter().next() {
            return Err(problem);
        }
        let mut positions = vec![None; self.columns.len()];
        for (position, name) in header.iter().enumerate() {
            if let Some(index) = self.position(name) {
                positions[index] = Some(position);
            }
        }
        Ok(positions)
    }
}

/// Whether a field of a file marks a missing value: nothing, or one of the names that data frames know. (A number that
/// is not finite, `inf` for instance, is missing too.)
#[must_use]
pub fn stands_for_missing(field: &str) -> bool {
    const NAMES: [&str; 9] = ["", "NA", "N/A", "#N/A", "<NA>", "NaN", "null", "None", "nil"];
    NAMES.iter().any(|name| field.eq_ignore_ascii_case(name))
}

/// The value of every column out of text fields in the order of the columns, or why it cannot be read.
pub fn read_fields<'a, S: AsRef<str>>(schema: &'a Schema, fields: &'a [S]) -> Vec<Result<Value<'a>, SchemaError>> {
    let fields = fields.iter().map(|field| field.as_ref().trim()).chain(core::iter::repeat(""));
    schema.columns.iter().zip(fields).map(|(column, field)| column.parse(field)).collect()
}

/// The places of each column's features: none of an ignored one.
pub fn features_of_columns(schema: &Schema) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    schema.columns.iter().map(move |column| {
        let start = end;
        end += match &column.kind {
            ColumnKind::Numeric { .. } => 1,
            ColumnKind::Categorical { values, .. } => values.len(),
            ColumnKind::Ignored => 0,
        };
        start..end
    })
}
