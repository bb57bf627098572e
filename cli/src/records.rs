//! Records from CSV (with or without header) and NPY files, gzip or not.
//!
//! Others often keep what a command prints. So no message contains a value of a record, or a name of a header that the
//! schema does not have (the first line may be a record): the line and the column are enough to find it.
//! `--show-values` also shows the row.

use core::fmt::{self, Debug, Display};
use std::io::{BufRead, Chain, Cursor, Read};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use csv::{ByteRecord, StringRecord, Terminator};
use ldp_pca::record::{BoundedRecord, Bounding};
use ldp_pca::schema::{ColumnKind, Schema, Value, positional_name};
use ldp_pca::task::Task;
use serde::Serialize;

use super::error::{CliError, InFile as _, Result};
use super::files::{self, NpyRows, unpacked};
use super::output::reading;
use super::separator::{self, Notation};

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

/// How a file of records is read, and what messages show of it.
#[derive(Args, Clone, Copy, Default)]
pub(super) struct Opening {
    /// Whether the first line of a CSV file names its columns
    #[arg(long, value_enum, default_value_t)]
    pub(super) header: Header,
    /// What separates the cells of a text file: comma, semicolon, tab or one character [default: a tab where the name
    /// ends in .tsv or .tab, otherwise what separates the first lines]
    #[arg(long, value_parser = separator::parse)]
    pub(super) separator: Option<u8>,
    /// Numbers of a text file have a decimal comma, as 1,5
    #[arg(long)]
    pub(super) decimal_comma: bool,
    /// Show in messages what a bad row holds, not only its line and the column
    #[arg(long)]
    pub(super) show_values: bool,
}

/// The same for commands that may leave out bad rows.
#[derive(Args, Clone, Copy, Default)]
pub(super) struct Reading {
    #[command(flatten)]
    pub(super) opening: Opening,
    /// Leave out rows that are not valid records, and count them, instead of stopping at the first
    #[arg(long)]
    pub(super) skip_invalid: bool,
}

impl Opening {
    /// The problem, with what the row or the header holds where that was asked for.
    pub(super) fn told(self, problem: impl Display, held: impl Debug) -> String {
        if self.show_values { format!("{problem}; it holds {held:?}") } else { problem.to_string() }
    }
}

/// How many bytes of a file are looked at before it is read.
const START: u64 = 1 << 16;

/// The rows of a file, one after the other, with their line numbers.
pub(super) struct RecordFile {
    path: PathBuf,
    rows: Rows,
}

enum Rows {
    Csv { lines: CsvLines, notation: Notation, names: Option<Vec<String>>, pending: Option<Line> },
    Npy(NpyRows<'static>),
}

/// One row.
#[derive(Clone, Copy)]
pub(super) enum Row<'a> {
    Text(&'a StringRecord),
    Numbers(&'a [f64]),
    /// A row that cannot be read as text, and why.
    Unreadable(&'a str),
}

impl Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(fields) => f.debug_list().entries(fields.iter()).finish(),
            Self::Numbers(numbers) => numbers.fmt(f),
            Self::Unreadable(_) => f.write_str("no text"),
        }
    }
}

/// A CSV record and the line it starts on.
type Line = (u64, ByteRecord);

/// CSV records with the lines they start on.
struct CsvLines {
    reader: csv::Reader<Chain<Box<dyn BufRead>, &'static [u8]>>,
    /// Lines that end in a carriage return alone, which the reader does not count.
    carriage_returns: bool,
}

impl CsvLines {
    fn new(content: Box<dyn BufRead>, start: &[u8], separator: u8) -> Self {
        let carriage_returns = !start.contains(&b'\n') && start[..start.len().saturating_sub(1)].contains(&b'\r');
        let end: &'static [u8; 1] = if carriage_returns { b"\r" } else { b"\n" };
        // One byte ends every line, including the last, so that the reader's count of lines is reliable. The carriage
        // return of CRLF is trimmed as blank space.
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(separator)
            .terminator(Terminator::Any(end[0]))
            .from_reader(content.chain(&end[..]));
        Self { reader, carriage_returns }
    }

    /// The next record that is not an empty line, in place of `record`.
    fn read(&mut self, path: &Path, record: &mut ByteRecord) -> Result<Option<u64>> {
        loop {
            let any = self
                .reader
                .read_byte_record(record)
                .map_err(|error| CliError::line(path, self.reader.position().line(), error))?;
            if !any {
                return Ok(None);
            }
            if record.len() > 1 || !record[0].trim_ascii().is_empty() {
                return Ok(Some(self.line_of(record)));
            }
        }
    }

    /// The line on which the record just read starts, counted back from its end: the reader's own figure is that of the
    /// empty lines before it.
    fn line_of(&self, record: &ByteRecord) -> u64 {
        if self.carriage_returns {
            return record.position().map_or(0, csv::Position::record) + 1;
        }
        let inside = record.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
        let start = self.reader.position().line().saturating_sub(1 + inside);
        // A quote that is never closed has no end to count from.
        start.max(record.position().map_or(0, csv::Position::line))
    }
}

impl RecordFile {
    /// Opens a file. `is_header` decides with `Header::Auto`, from the first line.
    pub(super) fn open(path: &Path, opening: Opening, is_header: impl Fn(&[&str]) -> bool) -> Result<Self> {
        let (file, length) = files::open(path)?;
        Self::new(path, reading("reading", length).wrap_read(file), opening, is_header)
    }

    /// The same from the reader `raw`; `path` is its name.
    pub(super) fn new(
        path: &Path,
        raw: impl Read + 'static,
        opening: Opening,
        is_header: impl Fn(&[&str]) -> bool,
    ) -> Result<Self> {
        let mut content = unpacked(path, raw)?;
        let mut start = Vec::new();
        content.by_ref().take(START).read_to_end(&mut start).in_file(path)?;
        let content = Box::new(Cursor::new(start.clone()).chain(content));
        let rows = if start.starts_with(b"\x93NUMPY") {
            Rows::Npy(NpyRows::new(path, content)?)
        } else {
            Self::text(path, content, &start, opening, is_header)?
        };
        Ok(Self { path: path.to_owned(), rows })
    }

    /// The rows of a text, whose first bytes are `start`.
    fn text(
        path: &Path,
        content: Box<dyn BufRead>,
        start: &[u8],
        Opening { header, separator, decimal_comma, .. }: Opening,
        is_header: impl Fn(&[&str]) -> bool,
    ) -> Result<Rows> {
        let whole = (start.len() as u64) < START;
        let may_be_header = |fields: &[&str]| header != Header::No && (header == Header::Yes || is_header(fields));
        let separator = separator.map_or_else(|| separator::of(path, start, whole, may_be_header).in_file(path), Ok)?;
        let notation = Notation { decimal_comma, separator };
        let mut lines = CsvLines::new(content, start, separator);
        let mut first = ByteRecord::new();
        let line = lines.read(path, &mut first)?;
        let names = match (line, header) {
            (None, _) | (_, Header::No) => None,
            (Some(line), Header::Yes) => {
                Some(column_names(&first).map_err(|problem| CliError::line(path, line, problem))?)
            }
            (Some(_), Header::Auto) => column_names(&first).ok().filter(|names| {
                let a_number = |name: &String| notation.problem(name).is_some();
                let pointed: Vec<_> = names.iter().map(|name| notation.pointed(name)).collect();
                !names.iter().any(a_number) && is_header(&pointed.iter().map(AsRef::as_ref).collect::<Vec<_>>())
            }),
        };
        let pending = if names.is_some() { None } else { line.map(|line| (line, first)) };
        Ok(Rows::Csv { lines, notation, names, pending })
    }

    /// How it writes its numbers.
    pub(super) fn notation(&self) -> Notation {
        match self.rows {
            Rows::Csv { notation, .. } => notation,
            Rows::Npy(_) => Notation::PLAIN,
        }
    }

    /// The column names of the header, if the file has one.
    pub(super) fn names(&self) -> Option<&[String]> {
        match &self.rows {
            Rows::Csv { names, .. } => names.as_deref(),
            Rows::Npy(_) => None,
        }
    }

    /// Calls `visit` with every row and its line number (from 1) until it fails.
    pub(super) fn for_each(self, mut visit: impl FnMut(u64, Row<'_>) -> Result<()>) -> Result<()> {
        let path = self.path;
        match self.rows {
            Rows::Csv { mut lines, pending, .. } => {
                let (line, first) = pending.unzip();
                let mut record = first.unwrap_or_default();
                let mut next = line.map_or_else(|| lines.read(&path, &mut record), |line| Ok(Some(line)))?;
                while let Some(line) = next {
                    match StringRecord::from_byte_record(core::mem::take(&mut record)) {
                        Ok(text) => {
                            visit(line, Row::Text(&text))?;
                            record = text.into_byte_record();
                        }
                        Err(error) => visit(line, Row::Unreadable(&not_text(error.utf8_error().field())))?,
                    }
                    next = lines.read(&path, &mut record)?;
                }
                Ok(())
            }
            Rows::Npy(mut rows) => {
                let mut row = Vec::new();
                while let Some(number) = rows.next_row(&mut row)? {
                    visit(number, Row::Numbers(&row))?;
                }
                Ok(())
            }
        }
    }
}

fn not_text(field: usize) -> String {
    format!("field {} is not UTF-8 text: save the file as UTF-8", field + 1)
}

/// The fields of a first line as names. A first column without name, as data frames write their index, is named by its
/// position.
fn column_names(record: &ByteRecord) -> core::result::Result<Vec<String>, String> {
    let text = StringRecord::from_byte_record(record.clone()).map_err(|error| not_text(error.utf8_error().field()))?;
    let mut names: Vec<String> = text.iter().map(|name| name.trim().to_owned()).collect();
    if names.len() > 1 && names[0].is_empty() {
        names[0] = positional_name(0);
    }
    Ok(names)
}

/// Whether a first line names columns, when nothing is known about the file: no field is a number.
pub(super) fn looks_like_names(fields: &[&str]) -> bool {
    fields.iter().all(|field| field.parse::<f64>().is_err() && !field.is_empty())
}

/// Counts of the rows of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    /// Records passed on.
    pub(super) records: u64,
    /// Rows left out because they are not valid records.
    pub(super) skipped: u64,
    /// The reason for the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) first_skipped: Option<String>,
    /// Missing values of the records passed on.
    #[serde(rename = "missing_values")]
    pub(super) missing: u64,
}

/// Reads the records of a file as `task` says. A row that is not a valid record is an error with its line, or counted
/// with `skip_invalid`.
pub(super) fn bounded(
    path: &Path,
    task: &Task,
    reading: Reading,
    visit: impl FnMut(BoundedRecord) -> Result<()>,
) -> Result<Counts> {
    bounded_by(path, task.schema(), task.bounding(), reading, visit)
}

/// The same without a task.
pub(super) fn bounded_by(
    path: &Path,
    schema: &Schema,
    bounding: Bounding,
    Reading { opening, skip_invalid }: Reading,
    mut visit: impl FnMut(BoundedRecord) -> Result<()>,
) -> Result<Counts> {
    let file = RecordFile::open(path, opening, |fields| is_header_of(schema, fields))?;
    let header = match file.names() {
        Some(names) => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let positions = schema.match_header(&names).map_err(|error| {
                let problem = opening.told(error, &names);
                CliError::Failed(format!("{}, header: {problem} (--header no reads it as a record)", path.display()))
            })?;
            Some(MatchedHeader { fields: names.len(), positions })
        }
        None => None,
    };
    let notation = file.notation();
    let mut counts = Counts::default();
    file.for_each(|line, row| {
        let features = match row {
            Row::Text(fields) => encode_text(schema, fields, header.as_ref(), notation),
            Row::Numbers(numbers) => encode_numbers(schema, numbers),
            Row::Unreadable(problem) => Err(problem.to_owned()),
        };
        let record = features.and_then(|(features, missing)| {
            BoundedRecord::new(features, bounding).map(|record| (record, missing)).map_err(|error| error.to_string())
        });
        let record = record.map_err(|problem| opening.told(problem, row));
        match record {
            Ok((record, missing)) => {
                counts.records += 1;
                counts.missing += missing as u64;
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
pub(super) fn is_header_of(schema: &Schema, fields: &[&str]) -> bool {
    schema.match_header(fields).is_ok() || (looks_like_names(fields) && schema.encode_fields(fields).is_err())
}

/// A file's header under a schema.
struct MatchedHeader {
    /// The number of fields that every row must have.
    fields: usize,
    /// Where each column of the schema is. Ignored columns may be missing from the file.
    positions: Vec<Option<usize>>,
}

/// The features of a row, and how many of its values are missing.
fn encode_text(
    schema: &Schema,
    fields: &StringRecord,
    header: Option<&MatchedHeader>,
    notation: Notation,
) -> core::result::Result<(Vec<f64>, usize), String> {
    let row: Vec<&str> = match header {
        None => fields.iter().collect(),
        Some(header) if fields.len() != header.fields => {
            return Err(format!("found {} fields, but the header has {}", fields.len(), header.fields));
        }
        Some(header) => header.positions.iter().map(|position| position.map_or("", |index| &fields[index])).collect(),
    };
    for (column, field) in schema.columns().iter().zip(&row) {
        let numeric = matches!(column.kind, ColumnKind::Numeric { .. });
        if let Some(problem) = notation.problem(field).filter(|_| numeric) {
            return Err(format!("column '{}' has {problem}", column.name));
        }
    }
    let row: Vec<_> = row.into_iter().map(|field| notation.pointed(field)).collect();
    let values = schema.read_fields(&row).map_err(|error| error.to_string())?;
    let features = schema.encode_values(&values).map_err(|error| error.to_string())?;
    Ok((features, schema.missing_among(&values)))
}

fn encode_numbers(schema: &Schema, numbers: &[f64]) -> core::result::Result<(Vec<f64>, usize), String> {
    let features = schema.encode_numbers(numbers).map_err(|error| error.to_string())?;
    let missing = if numbers.iter().all(|number| number.is_finite()) {
        0
    } else {
        schema.missing_among(&numbers.iter().map(|&number| Value::Number(number)).collect::<Vec<_>>())
    };
    Ok((features, missing))
}
