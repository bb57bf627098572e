//! The parts of the command line that read files, as the program has them: it is no library, so its own files are built
//! here again.
#![allow(dead_code, reason = "a target reads one kind of file")]

#[path = "../../src/cli/error.rs"]
mod error;
#[path = "../../src/cli/files.rs"]
mod files;
#[path = "../../src/cli/output.rs"]
mod output;
#[path = "../../src/cli/records.rs"]
mod records;

#[path = "../../src/cli/dps_pca/memory.rs"]
mod memory;
pub(crate) mod experiment;
pub(crate) mod serve;

use std::io::Cursor;
use std::path::Path;

use ldp_pca::linalg::SymmetricMatrix;
use ldp_pca::schema::Schema;
use records::{Header, RecordFile, Row, is_header_of, looks_like_names};

/// The name of a file in messages.
const NAME: &str = "fuzzed";

/// A message that a user would be given.
pub(crate) type Result<T> = core::result::Result<T, String>;

/// What a file of records holds: the names of its header, and its rows. Those that cannot be read have their problem.
pub(crate) struct Records {
    pub(crate) names: Option<Vec<String>>,
    pub(crate) rows: Vec<(u64, core::result::Result<Vec<String>, String>)>,
    pub(crate) numbers: Vec<Vec<f64>>,
}

/// Reads CSV or NPY, gzip or not.
pub(crate) fn records(bytes: &[u8], header: u8, schema: Option<&Schema>) -> Result<Records> {
    let header = [Header::Auto, Header::Yes, Header::No][usize::from(header) % 3];
    let is_header = |fields: &[&str]| match schema {
        Some(schema) => is_header_of(schema, fields),
        None => looks_like_names(fields),
    };
    let file = RecordFile::new(Path::new(NAME), Cursor::new(bytes.to_vec()), header, is_header);
    let file = file.map_err(|error| error.to_string())?;
    let mut found = Records { names: file.names().map(<[String]>::to_vec), rows: vec![], numbers: vec![] };
    let read = file.for_each(|line, row| {
        match row {
            Row::Text(fields) => found.rows.push((line, Ok(fields.iter().map(ToOwned::to_owned).collect()))),
            Row::Unreadable(problem) => found.rows.push((line, Err(problem.to_owned()))),
            Row::Numbers(numbers) => found.numbers.push(numbers.to_vec()),
        }
        Ok(())
    });
    read.map_err(|error| error.to_string())?;
    Ok(found)
}

/// Reads a symmetric matrix in NPY, gzip or not.
pub(crate) fn symmetric(bytes: &[u8]) -> Result<SymmetricMatrix> {
    files::symmetric(Path::new(NAME), Cursor::new(bytes.to_vec()), bytes.len() as u64).map_err(|error| error.to_string())
}

/// Reads what a provider has answered: its messages, and how many bytes are whole lines.
pub(crate) fn answers(bytes: &[u8], header: &str) -> Result<(Vec<String>, usize)> {
    memory::read(bytes, header)
}
