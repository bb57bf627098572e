//! Rows of text under a schema, and a schema from rows of text.

use std::io::Read;

use ldp_pca::internal::decimal::plural;
use ldp_pca::internal::schema::{Dialect, Fit, plain_number, read_fields};
use ldp_pca::schema::infer::{Inference, InferenceOptions, Inferred};
use ldp_pca::schema::{Column, ColumnKind, Schema, SchemaError, Value};

use crate::doubt::Doubts;
use crate::rows::{Row, TextRows, names_of};
use crate::separator::Notation;

/// Whether a first line names columns, when nothing is known about the file: no field is a number, and not all are
/// empty.
#[must_use]
pub fn looks_like_names(fields: &[&str]) -> bool {
    fields.iter().all(|field| plain_number(field).is_none()) && fields.iter().any(|field| !field.is_empty())
}

/// Whether a first line has the schema's names. An empty one is that of its position.
#[must_use]
pub fn has_names_of(schema: &Schema, fields: &[&str]) -> bool {
    let names = names_of(fields.iter().copied());
    schema.match_header(&names.iter().map(String::as_str).collect::<Vec<_>>()).is_ok()
}

/// A first line is the schema's header when it has the schema's names, or when it names columns and could not be a
/// record.
#[must_use]
pub fn is_header_of(schema: &Schema, fields: &[&str]) -> bool {
    has_names_of(schema, fields) || (looks_like_names(fields) && !schema.check_fields(fields).is_empty())
}

/// How the rows of a file become features of a schema.
#[derive(Clone, Debug)]
pub struct Layout {
    has_header: bool,
    /// The number of fields that every row must have.
    fields: usize,
    /// Where each column of the schema is. Ignored columns may be missing from a file with a header.
    positions: Vec<Option<usize>>,
    notation: Notation,
    /// Of each column of the schema why nothing of it can be read, where the file's own types say so.
    unreadable: Vec<Option<String>>,
}

impl Layout {
    /// For a file with a header of these names, or without one.
    ///
    /// # Errors
    /// [`SchemaError`] for a header that is not the schema's.
    pub fn new(schema: &Schema, names: Option<&[String]>, notation: Notation) -> Result<Self, SchemaError> {
        let columns = schema.columns().len();
        let positions = match names {
            Some(names) => schema.match_header(&names.iter().map(String::as_str).collect::<Vec<_>>())?,
            None => (0..columns).map(Some).collect(),
        };
        let fields = names.map_or(columns, <[String]>::len);
        Ok(Self { has_header: names.is_some(), fields, positions, notation, unreadable: vec![None; columns] })
    }

    /// This layout, for a file of which these columns cannot be read: each is a name and the reason.
    #[must_use]
    pub fn without(mut self, schema: &Schema, columns: &[(String, String)]) -> Self {
        let problem = |column: &Column| columns.iter().find(|(name, _)| *name == column.name);
        let all = schema.columns().iter().map(|column| problem(column).map(|(_, problem)| problem.clone()));
        self.unreadable = all.collect();
        self
    }

    /// The features of a row under the same schema. `fit` counts what of it cannot be read, and counts as missing.
    pub fn encode(&self, schema: &Schema, row: &Row<'_>, fit: &mut Fit) -> Vec<f64> {
        let Row { line, cells: fields, problem } = row;
        let (expected, found) = (self.fields, fields.len());
        let uneven = (found != expected).then(|| match self.has_header {
            true => format!("found {}, but the header has {expected}", plural(found as u64, "field")),
            false => SchemaError::FieldCount { expected, found }.to_string(),
        });
        let at = |position: &Option<usize>| position.and_then(|place| fields.get(place)).unwrap_or_default();
        let row: Vec<&str> = self.positions.iter().map(at).collect();
        let pointed: Vec<_> = row.iter().map(|field| self.notation.pointed(field)).collect();
        let read =
            schema.columns().iter().zip(&row).zip(read_fields(schema, &pointed)).map(|((column, field), value)| {
                let problem = if field.contains('\u{fffd}') {
                    Some("text that is not UTF-8: save the file as UTF-8".to_owned())
                } else if let ColumnKind::Numeric { .. } = column.kind {
                    self.notation.problem(field).or_else(|| value.is_err().then(|| self.notation.unread(field))?)
                } else {
                    None
                };
                match problem {
                    Some(problem) => Err(format!("column '{}' has {problem}", column.name)),
                    None => value.map_err(|error| error.to_string()),
                }
            });
        let read: Vec<Result<Value<'_>, String>> = read.collect();
        let values = read.iter().zip(&self.unreadable).map(|(value, unreadable)| match unreadable {
            Some(problem) => Err(problem.as_str()),
            None => value.as_ref().copied().map_err(String::as_str),
        });
        // What is not text is told of its column.
        let cut = problem.clone().filter(|_| !fields.iter().any(|field| field.contains('\u{fffd}')));
        fit.add(*line, values, uneven.or(cut).as_deref());
        schema.encode_values(&read.iter().map(|value| *value.as_ref().unwrap_or(&Value::Missing)).collect::<Vec<_>>())
    }

    /// The features of a row of numbers under the same schema: a number that is not there is missing. `fit` counts what
    /// of the row cannot be read, and counts as missing.
    pub fn encode_numbers(&self, schema: &Schema, (line, numbers): (u64, &[f64]), fit: &mut Fit) -> Vec<f64> {
        let (expected, found) = (self.fields, numbers.len());
        let uneven = (found != expected).then(|| SchemaError::FieldCount { expected, found }.to_string());
        let at = |position: &Option<usize>| position.and_then(|place| numbers.get(place)).copied().unwrap_or(f64::NAN);
        let numbers: Vec<f64> = self.positions.iter().map(at).collect();
        let values = numbers.iter().zip(&self.unreadable).map(|(number, unreadable)| match unreadable {
            Some(problem) => Err(problem.as_str()),
            None => Ok(Value::Number(*number)),
        });
        fit.add(line, values, uneven.as_deref());
        schema.encode_numbers(&numbers)
    }
}

/// A public sample of which a schema is inferred, row by row.
#[derive(Debug)]
pub struct Sample {
    inference: Inference,
    notation: Notation,
    dialect: Dialect,
    /// Of each column whether its numbers are texts, or not read.
    texts: Vec<bool>,
    doubts: Option<Doubts>,
}

/// Why there is no schema of a sample.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SampleError {
    /// What was read has none.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The file may say something else than what was read. A schema is public, so that must be settled first.
    #[error("{0}")]
    Doubt(String),
}

impl Sample {
    /// Starts for the rows of a text file, whose schema is to be public: it states how the file is read, where nothing
    /// of that is in doubt.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_text<R: Read>(rows: &TextRows<R>, options: InferenceOptions) -> Result<Self, SchemaError> {
        let (dialect, notation) = (rows.dialect(), rows.notation());
        let doubts = Some(Doubts::new(rows.columns(), dialect, rows.is_guess, &notation, &options));
        let mut sample = Self::new(&rows.columns(), options, notation)?;
        rows.unnamed.iter().for_each(|name| sample.inference.unnamed(name.clone()));
        Ok(Self { dialect, doubts, ..sample })
    }

    /// Starts for the rows of a file that states the names and types of its columns, whose schema is to be public: its
    /// texts may have been read as lines before.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_columns(columns: &[String], options: InferenceOptions) -> Result<Self, SchemaError> {
        let doubts = Doubts::new(columns.to_vec(), Dialect::default(), false, &Notation::PLAIN, &options);
        Ok(Self { doubts: Some(doubts), ..Self::new(columns, options, Notation::PLAIN)? })
    }

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
        let inference = Inference::new(columns, options)?;
        Ok(Self { inference, notation, dialect: Dialect::default(), texts, doubts: None })
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
        if let Some(doubts) = &mut self.doubts {
            doubts.observe(&fields);
        }
        self.inference.observe(&fields).map_err(|error| error.to_string())
    }

    /// The schema of the rows read.
    ///
    /// # Errors
    /// Those of [`Inference::finish`], and what is in doubt.
    pub fn finish(self) -> Result<Inferred, SampleError> {
        let in_doubt = |doubt: Option<String>| doubt.map_or(Ok(()), |doubt| Err(SampleError::Doubt(doubt)));
        in_doubt(self.doubts.as_ref().and_then(Doubts::of_lines))?;
        let mut inferred = self.inference.finish()?;
        in_doubt(self.doubts.and_then(|doubts| doubts.of_schema(&inferred)))?;
        inferred.schema = inferred.schema.with_dialect(self.dialect);
        Ok(inferred)
    }
}

#[cfg(test)]
mod tests {
    use ldp_pca::internal::schema::NumberForms;
    use proptest::prelude::*;

    use super::*;
    use crate::rows::{Header, TextOptions};
    use crate::separator::OptionNames;

    const SCHEMA: &str = r#"{"columns":[{"name":"x","type":"numeric","offset":0,"scale":1},
        {"name":"y","type":"categorical","values":["a","other"],"unseen":"other"},{"name":"z","type":"ignored"},
        {"name":"w","type":"numeric","offset":1,"scale":1e-100}]}"#;

    #[test]
    fn columns_of_texts_may_be_rows() {
        let infer = |texts: [&str; 2]| {
            let mut sample = Sample::of_columns(&["x|g".to_owned()], InferenceOptions::default()).unwrap();
            (0..8).for_each(|place| sample.observe(&[texts[place % 2]]).unwrap());
            sample.finish()
        };
        assert!(matches!(infer(["0|a", "1|b"]), Err(SampleError::Doubt(_))));
        assert_eq!(infer(["a", "b"]).unwrap().schema.dimension(), 2);
    }

    proptest! {
        /// Whatever follows the header, in any notation: a record for each row, and one row is never refused.
        #[test]
        fn rows_of_any_cells_have_features(
            cells in prop::collection::vec(prop_oneof![
                prop::collection::vec(any::<u8>(), 0..6),
                prop::sample::select(vec!["", "1", "1,5", "1.5", "a", "\"", "\"a\nb\"", "NA", "1e999", "$1,234", "5 %"])
                    .prop_map(|cell| cell.as_bytes().to_vec()),
            ], 1..12),
            ends in prop::collection::vec(prop::sample::select(vec![b',', b';', b'\t', b'\n', b'\r']), 12),
            decimal_comma in any::<bool>(),
        ) {
            let schema = Schema::from_json(SCHEMA).unwrap();
            let ended = |(cell, end): (Vec<u8>, u8)| [cell, vec![end]].concat();
            let body: Vec<u8> = cells.into_iter().zip(ends).flat_map(ended).collect();
            let content = [b"x;y;z;w\n", &body[..]].concat();
            let options = TextOptions {
                header: Header::Yes, separator: None, by_header: true, one_column: false, decimal_comma,
                forms: NumberForms::parse("percent").unwrap(), names: &OptionNames::NONE,
            };
            let is_header = |fields: &[&str]| schema.match_header(fields).is_ok();
            let mut rows = TextRows::open("", content, std::io::empty(), options, is_header).unwrap();
            let layout = Layout::new(&schema, rows.names(), rows.notation()).unwrap();
            let mut fit = Fit::new(&schema, "line");
            // A later row that never ends is the problem of a file.
            while let Ok(Some(row)) = rows.next_row() {
                let features = layout.encode(&schema, &row, &mut fit);
                prop_assert_eq!(features.len(), schema.dimension());
                prop_assert!(features.iter().all(|feature| feature.is_finite()));
                prop_assert!(fit.rows() > 1 || fit.refusal().is_none());
            }
            prop_assert!(fit.rows() > 0, "{:?}", body);
        }
    }
}
