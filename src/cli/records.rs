//! Records from CSV (with or without header) and NPY files, gzip or not.

use std::fs::File;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use csv::StringRecord;
use ldp_pca::record::BoundedRecord;
use ldp_pca::schema::{Schema, SchemaError, positional_name};
use ldp_pca::task::Task;

use super::error::{CliError, Result};
use super::files::{NpyRows, unpacked};
use super::output::reading;

/// Whether the first line of a CSV file names its columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Header {
    /// Look at the first line
    #[default]
    Auto,
    /// It does
    Yes,
    /// It is a record
    No,
}

/// The rows of a file, one after the other, with their line numbers.
pub(super) struct RecordFile {
    path: PathBuf,
    rows: Rows,
}

enum Rows {
    Csv { reader: csv::Reader<Box<dyn BufRead>>, names: Option<Vec<String>>, pending: Option<StringRecord> },
    Npy { rows: NpyRows<'static>, read: u64 },
}

/// One row.
pub(super) enum Row<'a> {
    Text(&'a StringRecord),
    Numbers(&'a [f64]),
}

impl RecordFile {
    /// Opens a file. `is_header` decides with `Header::Auto`, from the first line.
    pub(super) fn open(path: &Path, header: Header, is_header: impl FnOnce(&[&str]) -> bool) -> Result<Self> {
        let file = File::open(path).map_err(|error| CliError::file(path, error))?;
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        let bar = reading("reading", length);
        let raw: Box<dyn Read> = Box::new(bar.wrap_read(file));
        let mut content = unpacked(path, raw)?;
        let start = content.fill_buf().map_err(|error| CliError::file(path, error))?;
        let rows = if start.starts_with(b"\x93NUMPY") {
            Rows::Npy { rows: NpyRows::new(path, content)?, read: 0 }
        } else {
            let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(content);
            let mut first = StringRecord::new();
            let any = reader.read_record(&mut first).map_err(|error| CliError::file(path, error))?;
            let fields: Vec<&str> = first.iter().map(str::trim).collect();
            let named = match header {
                Header::Yes => any,
                Header::No => false,
                Header::Auto => any && is_header(&fields),
            };
            let names = named.then(|| fields.iter().map(|&name| name.to_owned()).collect());
            Rows::Csv { reader, names, pending: (any && !named).then_some(first) }
        };
        Ok(Self { path: path.to_owned(), rows })
    }

    /// The column names of the header, if the file has one.
    pub(super) fn names(&self) -> Option<&[String]> {
        match &self.rows {
            Rows::Csv { names, .. } => names.as_deref(),
            Rows::Npy { .. } => None,
        }
    }

    /// Calls `visit` with every row and its line number (from 1) until it fails.
    pub(super) fn for_each(self, mut visit: impl FnMut(u64, Row<'_>) -> Result<()>) -> Result<()> {
        let path = self.path;
        match self.rows {
            Rows::Csv { mut reader, names, pending } => {
                let mut line = u64::from(names.is_some());
                if let Some(first) = pending {
                    line = 1;
                    visit(line, Row::Text(&first))?;
                }
                let mut record = StringRecord::new();
                loop {
                    line = (reader.position().line()).max(line + 1);
                    match reader.read_record(&mut record) {
                        Ok(true) => visit(record.position().map_or(line, csv::Position::line), Row::Text(&record))?,
                        Ok(false) => return Ok(()),
                        Err(error) => return Err(CliError::line(&path, line, error)),
                    }
                }
            }
            Rows::Npy { mut rows, mut read } => {
                let mut row = Vec::new();
                while rows.next_row(&mut row).map_err(|error| CliError::file(&path, error))? {
                    read += 1;
                    visit(read, Row::Numbers(&row))?;
                }
                if read == rows.rows {
                    Ok(())
                } else {
                    Err(CliError::file(&path, format!("the file has {read} of {} rows: it was cut", rows.rows)))
                }
            }
        }
    }
}

/// Names c1, c2, … for a file without header.
pub(super) fn positional_names(count: usize) -> Vec<String> {
    (0..count).map(positional_name).collect()
}

/// Whether a first line names columns, when nothing is known of the file: no field of it is a number.
pub(super) fn looks_like_names(fields: &[&str]) -> bool {
    fields.iter().all(|field| field.parse::<f64>().is_err() && !field.is_empty())
}

/// What became of the rows of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Records handed on.
    pub(super) records: u64,
    /// Rows left out because they are not valid records.
    pub(super) skipped: u64,
    /// Why the first one was.
    pub(super) first_skipped: Option<String>,
}

/// Reads the records of a file as `task` says. A row that is not a valid record is an error with its line, or counted
/// with `skip_invalid`.
pub(super) fn bounded(
    path: &Path,
    task: &Task,
    header: Header,
    skip_invalid: bool,
    mut visit: impl FnMut(BoundedRecord) -> Result<()>,
) -> Result<Counts> {
    let schema = task.schema();
    let file = RecordFile::open(path, header, |fields| is_header_of(schema, fields))?;
    let positions = match file.names() {
        Some(names) => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            Some(schema.match_header(&names).map_err(|error| CliError::line(path, 1, error))?)
        }
        None => None,
    };
    let mut counts = Counts::default();
    file.for_each(|line, row| {
        let features = match row {
            Row::Text(fields) => encode_text(schema, fields, positions.as_deref()),
            Row::Numbers(numbers) => schema.encode_numbers(numbers),
        };
        let record = match features {
            Ok(features) => task.bound(features).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match record {
            Ok(record) => {
                counts.records += 1;
                visit(record)
            }
            Err(problem) if skip_invalid => {
                counts.skipped += 1;
                counts.first_skipped.get_or_insert_with(|| format!("line {line}: {problem}"));
                Ok(())
            }
            Err(problem) => Err(CliError::Failed(format!(
                "{}, line {line}: {problem} (--skip-invalid leaves such rows out)",
                path.display()
            ))),
        }
    })?;
    Ok(counts)
}

/// A first line is the schema's header when it has the schema's names, or when it names columns and could not be a
/// record.
fn is_header_of(schema: &Schema, fields: &[&str]) -> bool {
    schema.match_header(fields).is_ok() || (looks_like_names(fields) && schema.encode_fields(fields).is_err())
}

fn encode_text(
    schema: &Schema,
    fields: &StringRecord,
    positions: Option<&[Option<usize>]>,
) -> core::result::Result<Vec<f64>, SchemaError> {
    let Some(positions) = positions else {
        return schema.encode_fields(&fields.iter().collect::<Vec<_>>());
    };
    let expected = positions.iter().flatten().count();
    if fields.len() < expected {
        return Err(SchemaError::FieldCount { expected, found: fields.len() });
    }
    // Ignored columns may be missing from the file.
    let row: Vec<&str> = positions.iter().map(|position| position.and_then(|p| fields.get(p)).unwrap_or("")).collect();
    schema.encode_fields(&row)
}
