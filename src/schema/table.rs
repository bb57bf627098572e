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
        let mut positions = vec![None; self.columns.len()];
        let mut unknown = 0;
        for (position, name) in header.iter().enumerate() {
            match self.position(name) {
                None => unknown += 1,
                Some(index) if positions[index].replace(position).is_some() => {
                    return Err(SchemaError::RepeatedColumn((*name).to_owned()));
                }
                Some(_) => {}
            }
        }
        if unknown > 0 {
            return Err(SchemaError::UnknownColumns { count: unknown, known: self.listing() });
        }
        for (column, position) in self.columns.iter().zip(&positions) {
            if position.is_none() && column.kind != ColumnKind::Ignored {
                return Err(SchemaError::MissingColumn(column.name.clone()));
            }
        }
        Ok(positions)
    }
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
