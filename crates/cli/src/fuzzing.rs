//! Entry points for fuzzing: the parts of the command line that read files, with the messages that users see. They may
//! change at any time.

use std::io::Cursor;
use std::path::Path;

use ldp_pca::internal::schema::NumberForms;
use ldp_pca::linalg::SymmetricMatrix;
use ldp_pca::schema::Schema;
use ldp_pca::schema::infer::{InferenceOptions, Inferred};
use ldp_pca_records::has_names_of;
use ldp_pca_server::ServerConfig;

use crate::columnar::{Content, for_each_report_batch};
use crate::error::{CliError, Result};
use crate::records::{Header, Opening, RecordFile, Row, is_header_of, looks_like_names};
use crate::{files, schema, serve};

/// The name of a file in messages.
const NAME: &str = "fuzzed";

/// The content of a file of records.
pub struct Records {
    /// Those of its header.
    pub names: Option<Vec<String>>,
    /// Each with its line, and its problem if it cannot be read.
    pub rows: Vec<(u64, core::result::Result<Vec<String>, String>)>,
    /// Rows of an NPY file.
    pub numbers: Vec<Vec<f64>>,
    /// Whether they are columns, which all have names, and not lines.
    pub columnar: bool,
}

/// How many rows are kept: a few bytes of Parquet can hold millions.
const MOST_ROWS: usize = 1 << 16;

/// Reads records; the choice is that of the options.
///
/// # Errors
/// The message that a user would see.
pub fn records(bytes: &[u8], choice: u8, schema: Option<&Schema>) -> Result<Records> {
    let opening = opening(choice);
    let is_header = |fields: &[&str]| match schema {
        Some(schema) => is_header_of(schema, fields),
        None => looks_like_names(fields),
    };
    read(RecordFile::new(Path::new(NAME), Cursor::new(bytes.to_vec()), &opening, is_header)?)
}

fn opening(choice: u8) -> Opening {
    let choice = usize::from(choice);
    Opening {
        header: [Header::Auto, Header::Yes, Header::No][choice % 3],
        decimal_comma: Some(choice / 3 % 2 == 1),
        separator: [None, Some(b','), Some(b';'), Some(b'\t')][choice / 6 % 4],
        number_format: match choice / 48 % 3 {
            0 => None,
            1 => NumberForms::parse("thousands,percent").ok(),
            _ => NumberForms::parse("currency,parentheses").ok(),
        },
        by_header: choice >= 144,
        ..Opening::default()
    }
}

/// Infers the schema of a public sample; the choice is that of the options.
///
/// # Errors
/// The message that a user would see.
pub fn inferred(bytes: &[u8], choice: u8) -> Result<Inferred> {
    let opening = Opening { by_header: false, ..opening(choice) };
    let file = RecordFile::new(Path::new(NAME), Cursor::new(bytes.to_vec()), &opening, looks_like_names)?;
    schema::infer_from(Path::new(NAME), file, &opening, &InferenceOptions::default(), true)
}

/// Reads the records of a device, as the schema says.
///
/// # Errors
/// The message that a user would see.
pub fn records_of(bytes: &[u8], schema: &Schema) -> Result<Records> {
    let opening = Opening { by_header: true, ..Opening::default() }.under(schema, Path::new(NAME));
    let is_header = |fields: &[&str]| has_names_of(schema, fields);
    read(RecordFile::new(Path::new(NAME), Cursor::new(bytes.to_vec()), &opening, is_header)?)
}

fn read(file: RecordFile) -> Result<Records> {
    let mut found = Records {
        names: file.names().map(<[String]>::to_vec),
        rows: vec![],
        numbers: vec![],
        columnar: file.part() == "row",
    };
    file.for_each(|line, row| {
        match row {
            Row::Text(_, Some(problem)) => found.rows.push((line, Err(problem.to_owned()))),
            Row::Text(fields, None) => found.rows.push((line, Ok(fields.iter().map(ToOwned::to_owned).collect()))),
            Row::Numbers(numbers) => found.numbers.push(numbers.to_vec()),
        }
        if found.rows.len() > MOST_ROWS { Err(CliError::failed("enough rows")) } else { Ok(()) }
    })?;
    Ok(found)
}

/// Reads the reports of a Parquet file, of any task.
///
/// # Errors
/// The message that a user would see.
pub fn reports(bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut found = vec![];
    let content = Content::Stream(Box::new(Cursor::new(bytes.to_vec())));
    for_each_report_batch(Path::new(NAME), content, (1, MOST_ROWS, MOST_ROWS), |rows| {
        found.extend(rows.iter().map(|row| row.to_vec()));
        if found.len() > MOST_ROWS { Err(CliError::failed("enough rows")) } else { Ok(()) }
    })?;
    Ok(found)
}

/// Reads a symmetric matrix in NPY, gzip or not.
///
/// # Errors
/// The message that a user would see.
pub fn symmetric(bytes: &[u8]) -> Result<SymmetricMatrix> {
    files::symmetric(Path::new(NAME), Cursor::new(bytes.to_vec()), bytes.len() as u64)
}

/// Reads the settings of a server.
///
/// # Errors
/// The message that a user would see.
pub fn config(text: &str) -> core::result::Result<ServerConfig, String> {
    serve::parse_settings(text)
}
