//! Rows of text under a schema, and a schema from rows of text.

use std::borrow::Cow;

use csv::StringRecord;
use ldp_pca::schema::infer::{Inference, InferenceOptions, Inferred};
use ldp_pca::schema::{Column, ColumnKind, Schema, SchemaError};

use crate::separator::Notation;

/// Whether a first line names columns, when nothing is known about the file: no field is a number.
#[must_use]
pub fn looks_like_names(fields: &[&str]) -> bool {
    fields.iter().all(|field| field.parse::<f64>().is_err() && !field.is_empty())
}

/// A first line is the schema's header when it has the schema's names, or when it names columns and could not be a
/// record.
#[must_use]
pub fn is_header_of(schema: &Schema, fields: &[&str]) -> bool {
    schema.match_header(fields).is_ok() || (looks_like_names(fields) && schema.encode_fields(fields).is_err())
}

/// How the rows of a file become features of a schema.
#[derive(Clone, Debug)]
pub struct Layout {
    header: Option<MatchedHeader>,
    notation: Notation,
}

/// A file's header under a schema.
#[derive(Clone, Debug)]
struct MatchedHeader {
    /// The number of fields that every row must have.
    fields: usize,
    /// Where each column of the schema is. Ignored columns may be missing from the file.
    positions: Vec<Option<usize>>,
}

impl Layout {
    /// For a file with a header of these names, or without one.
    ///
    /// # Errors
    /// [`SchemaError`] for a header that is not the schema's.
    pub fn new(schema: &Schema, names: Option<&[String]>, notation: Notation) -> Result<Self, SchemaError> {
        let matched = |names: &[String]| {
            let fields: Vec<&str> = names.iter().map(String::as_str).collect();
            schema.match_header(&fields).map(|positions| MatchedHeader { fields: fields.len(), positions })
        };
        Ok(Self { header: names.map(matched).transpose()?, notation })
    }

    /// The numbers of a row in the order of the schema's columns. What the file does not have is not a number.
    #[must_use]
    pub fn in_order<'a>(&self, numbers: &'a [f64]) -> Cow<'a, [f64]> {
        match &self.header {
            None => numbers.into(),
            Some(header) => {
                let at = |position: &Option<usize>| position.and_then(|place| numbers.get(place)).copied();
                header.positions.iter().map(|position| at(position).unwrap_or(f64::NAN)).collect()
            }
        }
    }

    /// The features of a row under the same schema, and how many of its values are missing.
    ///
    /// # Errors
    /// The problem, with its column.
    pub fn encode(&self, schema: &Schema, fields: &StringRecord) -> Result<(Vec<f64>, usize), String> {
        let row: Vec<&str> = match &self.header {
            None => fields.iter().collect(),
            Some(header) if fields.len() != header.fields => {
                return Err(format!("found {} fields, but the header has {}", fields.len(), header.fields));
            }
            Some(header) => {
                header.positions.iter().map(|position| position.map_or("", |index| &fields[index])).collect()
            }
        };
        let numeric = |column: &Column| matches!(column.kind, ColumnKind::Numeric { .. });
        for (column, field) in schema.columns().iter().zip(&row) {
            if let Some(problem) = self.notation.problem(field).filter(|_| numeric(column)) {
                return Err(format!("column '{}' has {problem}", column.name));
            }
        }
        let unread = |(column, field): (&Column, &&str)| {
            let problem = numeric(column).then(|| self.notation.unread(field))??;
            Some(format!("column '{}' has {problem}", column.name))
        };
        let fields: Vec<_> = row.iter().map(|field| self.notation.pointed(field)).collect();
        let values = schema
            .read_fields(&fields)
            .map_err(|error| schema.columns().iter().zip(&row).find_map(unread).unwrap_or_else(|| error.to_string()))?;
        let features = schema.encode_values(&values).map_err(|error| error.to_string())?;
        Ok((features, schema.missing_among(&values)))
    }
}

/// A public sample of which a schema is inferred, row by row.
#[derive(Debug)]
pub struct Sample {
    inference: Inference,
    notation: Notation,
    /// Of each column whether its numbers are texts, or not read.
    texts: Vec<bool>,
}

impl Sample {
    /// Starts for columns of these names.
    ///
    /// # Errors
    /// [`SchemaError`] where there is no column, a name occurs twice, or the options name a column that does not exist.
    pub fn new(columns: &[String], options: InferenceOptions, notation: Notation) -> Result<Self, SchemaError> {
        if columns.is_empty() {
            return Err(SchemaError::EmptySample);
        }
        let listed = |name: &String| options.categories.iter().any(|(listed, _)| listed == name);
        let asked = |name: &String| options.ignore.contains(name) || options.categorical.contains(name);
        let named = |name: &String| listed(name) || asked(name);
        let texts = columns.iter().map(named).collect();
        Ok(Self { inference: Inference::new(columns, options)?, notation, texts })
    }

    /// Reads a row.
    ///
    /// # Errors
    /// The problem, with its column.
    pub fn observe(&mut self, fields: &[&str]) -> Result<(), String> {
        for (place, field) in fields.iter().enumerate() {
            if let Some(problem) = self.notation.problem(field)
                && self.texts.get(place) != Some(&true)
            {
                let option = self.notation.names.categorical;
                return Err(format!("column {} has {problem} ({option} reads the column as texts)", place + 1));
            }
        }
        let fields: Vec<_> = fields.iter().map(|field| self.notation.pointed(field)).collect();
        let fields: Vec<&str> = fields.iter().map(AsRef::as_ref).collect();
        self.inference.observe(&fields).map_err(|error| error.to_string())
    }

    /// The schema of the rows read.
    ///
    /// # Errors
    /// As [`Inference::finish`].
    pub fn finish(self) -> Result<Inferred, SchemaError> {
        self.inference.finish()
    }
}
