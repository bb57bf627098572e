//! Records from CSV (with or without header), NPY, Parquet and Arrow files, gzip or not.
//!
//! Others often keep what a command prints. So no message contains a value of a record, or a name of a header that the
//! schema does not have (the first line may be a record): the line and the column are enough to find it.

use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use ldp_pca::internal::schema::{Dialect, Fit, NumberForms, positional_name};
use ldp_pca::schema::infer::InferenceOptions;
use ldp_pca::schema::{Column, ColumnKind, Schema, SchemaError};
use ldp_pca_records::{
    FileFormat, Layout, Notation, OptionNames, Problem, Sample, TextOptions, TextRows, has_names_of, named_tab,
    no_table, parse_separator, separator_name, start_of,
};
pub(super) use ldp_pca_records::{Header, is_header_of, looks_like_names};
use serde::Serialize;

use super::choice::{Choice, one_of};
pub use super::columnar::Row;
use super::columnar::{self, ColumnarRows, Content};
use super::error::{CliError, InFile as _, Result};
use super::files::{self, NpyRows, unpacked};
use super::kind::{self, Needed};
use super::output::{note, reading};

const HEADERS: [Choice<Header>; 3] = [
    ("auto", "Look at the first line (`randomize`: it does), unless the schema says that it is a record", Header::Auto),
    ("yes", "It does", Header::Yes),
    ("no", "It is a record", Header::No),
];

const OPTIONS: OptionNames = OptionNames {
    header: "--header yes or --header no",
    separator: "--separator",
    decimal_comma: "--decimal-comma",
    number_format: "--number-format",
    categorical: "--categorical",
    categories: "--categories",
    ignore: "--ignore",
};

/// What records may be in.
macro_rules! formats {
    () => {
        "CSV, NPY, Parquet or Arrow"
    };
}

/// What `-h` says of records.
pub const RECORDS: &str = concat!("Records: ", formats!(), ", gzip or not");

/// What `-h` says of a public sample.
pub(super) const SAMPLE: &str = concat!("A public sample: ", formats!(), ", gzip or not");

/// The part of `--help` with the options of [`Reading`].
pub const READING: &str = concat!("Reading records (", formats!(), ", gzip or not)");

/// How a file of records is read: as the options say, or else as the schema says of the sample that it comes from.
#[derive(Args, Clone, Default)]
pub struct Opening {
    /// Whether the first line of a CSV file names its columns
    #[arg(long, value_parser = one_of(&HEADERS), default_value = "auto", help_heading = READING)]
    pub header: Header,
    /// What separates the cells of a text file: comma, semicolon, tab or one character [default: a tab where the name
    /// ends in .tsv or .tab, otherwise what separates the first lines]
    #[arg(long, value_parser = parse_separator, help_heading = READING)]
    pub separator: Option<u8>,
    /// Numbers of a text file have a decimal comma, as 1,5 [default: as the schema says]
    #[arg(long, value_name = "WHETHER", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(help_heading = READING)]
    pub decimal_comma: Option<bool>,
    /// What numbers of a text file may have, with commas between: thousands (1,234), percent (12.5% is 0.125), currency
    /// ($5 or 5 EUR, without conversion), parentheses ((5) is -5)
    #[arg(long, value_name = "FORM,FORM", value_parser = NumberForms::parse, help_heading = READING)]
    pub number_format: Option<NumberForms>,
    /// Whether the records are those of a device, and only a header may decide how they are read.
    #[arg(skip)]
    pub by_header: bool,
    /// Whether a record is one cell.
    #[arg(skip)]
    pub one_column: bool,
}

/// How a file of records of a schema is read. What cannot be read is missing, and counted for each column.
#[derive(Args, Clone, Default)]
pub struct Reading {
    /// How the file is opened.
    #[command(flatten)]
    pub opening: Opening,
    /// Stop where something cannot be read, before anything is written, instead of counting it as missing
    #[arg(long, help_heading = READING)]
    pub(super) strict: bool,
}

impl Reading {
    /// As a device reads its own record: there is one, whatever it holds.
    pub(super) fn of_device(&self, schema: &Schema) -> Self {
        let one_column = schema.columns().len() == 1;
        Self { opening: Opening { by_header: true, one_column, ..self.opening.clone() }, strict: self.strict }
    }
}

impl Opening {
    /// Whether the options say that the file is text, whatever it begins with: without a header that is a record, which
    /// may look like a file of another kind.
    fn is_text(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.by_header && self.header == Header::No && (self.separator.is_some() || named_tab(&name))
    }

    /// As a file of the schema's records is opened: what no option says is as the schema says. The header shows which
    /// of the usual separators it has, if it has any, and a name may say that a file is no text.
    pub fn under(&self, schema: &Schema, path: &Path) -> Self {
        let dialect = schema.dialect();
        if dialect == Dialect::default() {
            return self.clone();
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_bare = self.header == Header::Auto && !dialect.header && !names_binary(path);
        let header = if is_bare { Header::No } else { self.header };
        let has_one = header != Header::No && schema.columns().len() > 1;
        let is_shown = has_one && b",;\t".contains(&(dialect.separator as u8));
        let is_named = dialect.separator == ',' && named_tab(&name);
        let stated = Some(dialect.separator as u8).filter(|_| !is_shown && !is_named);
        Self {
            header,
            separator: self.separator.or(stated),
            decimal_comma: self.decimal_comma.or(Some(dialect.decimal_comma)),
            ..self.clone()
        }
    }

    fn text(&self) -> TextOptions {
        let &Self { header, separator, decimal_comma, number_format, by_header, one_column } = self;
        let (decimal_comma, forms) = (decimal_comma.unwrap_or_default(), number_format.unwrap_or_default());
        TextOptions { header, separator, by_header, one_column, decimal_comma, forms, names: &OPTIONS }
    }
}

/// Whether a file's name says that it is no text.
fn names_binary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let (_, extension) = name.trim_end_matches(".gz").rsplit_once('.').unwrap_or_default();
    ["npy", "parquet", "pq", "arrow", "arrows", "feather", "ipc"].contains(&extension)
}

/// The rows of a file, one after the other, with their line numbers.
pub struct RecordFile {
    path: PathBuf,
    rows: Rows,
    /// What the file holds in place of records, as far as its start shows.
    other: Option<String>,
}

enum Rows {
    Text(Box<TextRows<Box<dyn BufRead>>>),
    Npy(NpyRows<'static>),
    Columnar(Box<dyn ColumnarRows>),
}

impl RecordFile {
    /// Opens a file. `is_header` decides with `Header::Auto`, from the first line.
    pub fn open(path: &Path, opening: &Opening, is_header: impl Fn(&[&str]) -> bool) -> Result<Self> {
        let (mut input, length) = files::open(path)?;
        if !opening.is_text(path)
            && let Some((kind, content)) = columnar::in_no_order(path, &mut input)?
        {
            let rows = Rows::Columnar(columnar::open(path, kind, content)?);
            return Ok(Self { path: path.to_owned(), rows, other: None });
        }
        Self::new(path, reading("reading", length).wrap_read(input), opening, is_header)
    }

    /// Opens a file that the reader `raw` reads; `path` is its name. `is_header` decides with `Header::Auto`, from the
    /// first line.
    pub fn new(
        path: &Path,
        raw: impl Read + 'static,
        opening: &Opening,
        is_header: impl Fn(&[&str]) -> bool,
    ) -> Result<Self> {
        let is_text = opening.is_text(path);
        let is_packed = !is_text || path.extension().is_some_and(|extension| extension == "gz");
        let mut content = if is_packed { unpacked(path, raw)? } else { Box::new(BufReader::new(raw)) };
        let start = start_of(&mut content).in_file(path)?;
        let format = if is_text { FileFormat::Text } else { FileFormat::of(&start) };
        let other = Needed::Records(concat!("give ", formats!())).problem(kind::Kind::of(&start));
        let is_plain = other.is_none() && format == FileFormat::Text;
        let other = if is_plain { no_table(&start, opening.separator, &OPTIONS) } else { other };
        // Its schema would not read it.
        let is_misnamed = is_plain && !opening.by_header && !start.is_empty() && names_binary(path);
        let misnamed = || "it holds text under the name of another format: let its name end in .csv".to_owned();
        let other = other.or_else(|| is_misnamed.then(misnamed));
        if let Some(problem) = other.as_ref().filter(|_| !opening.by_header) {
            return Err(CliError::file(path, problem));
        }
        let rows = match format {
            FileFormat::NumPy => Rows::Npy(NpyRows::new(path, Cursor::new(start).chain(content))?),
            kind @ (FileFormat::Parquet | FileFormat::ArrowFile | FileFormat::ArrowStream) => {
                let content = Content::Stream(Box::new(Cursor::new(start).chain(content)));
                Rows::Columnar(columnar::open(path, kind, content)?)
            }
            _ => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let rows = TextRows::open(&name, start, content, opening.text(), is_header);
                let refused = |problem| match &other {
                    Some(other) => CliError::file(path, other),
                    None => problem_of(path, problem),
                };
                Rows::Text(Box::new(rows.map_err(refused)?))
            }
        };
        Ok(Self { path: path.to_owned(), rows, other })
    }

    /// How it writes its numbers.
    pub fn notation(&self) -> Notation {
        match &self.rows {
            Rows::Text(rows) => rows.notation(),
            Rows::Npy(_) | Rows::Columnar(_) => Notation::PLAIN,
        }
    }

    /// The column names of the header, if the file has one.
    pub fn names(&self) -> Option<&[String]> {
        match &self.rows {
            Rows::Text(rows) => rows.names(),
            Rows::Npy(_) => None,
            Rows::Columnar(rows) => Some(rows.names()),
        }
    }

    /// The names of its columns, which are their positions in a file without header.
    pub(super) fn columns(&self) -> Vec<String> {
        match &self.rows {
            Rows::Text(rows) => rows.columns(),
            Rows::Npy(rows) => (0..rows.columns()).map(positional_name).collect(),
            Rows::Columnar(rows) => rows.names().to_vec(),
        }
    }

    /// A sample of its rows, for a schema that is to be public.
    pub(super) fn sample(&self, options: InferenceOptions) -> Result<Sample, SchemaError> {
        match &self.rows {
            Rows::Text(rows) => Sample::of_text(rows, options),
            Rows::Npy(_) => Sample::new(&self.columns(), options, self.notation()),
            Rows::Columnar(rows) => Sample::of_columns(rows.names(), options),
        }
    }

    /// The words after the problem of a header that is not the schema's; none where the problem says all. It may have
    /// the schema's names between other separators.
    fn header_remedy(&self, schema: &Schema, by_header: bool) -> String {
        let Rows::Text(rows) = &self.rows else { return String::new() };
        let (names, width) = (rows.names().unwrap_or_default(), schema.columns().len());
        let is_of = |names: &[&str]| has_names_of(schema, names);
        if let [name] = names {
            let splits = |mark: &char| {
                let separates = Dialect::separates(*mark) && *mark != rows.dialect().separator;
                separates && is_of(&name.split(*mark).map(str::trim).collect::<Vec<_>>())
            };
            if let Some(mark) = name.chars().find(splits) {
                return format!(" ({} {} reads its names)", OPTIONS.separator, separator_name(mark));
            }
        }
        let listed: Vec<&str> = names.iter().map(String::as_str).collect();
        let is_bare = |place: usize| names.get(place).is_some_and(|name| *name == positional_name(place));
        if names.len() > width && (width..names.len()).all(is_bare) && is_of(&listed[..width]) {
            return " (remove the separators at the end of every line)".to_owned();
        }
        let is_name = |word: &str| schema.columns().iter().any(|column| column.name == word);
        let is_record = |name: &String| !is_name(name) && !name.split(|c: char| !c.is_alphanumeric()).any(is_name);
        match (names.iter().all(is_record), by_header) {
            (true, true) => " (--header no with --separator reads it as a record)".to_owned(),
            (true, false) => " (--header no reads it as a record)".to_owned(),
            (false, _) => String::new(),
        }
    }

    /// The name of what a record stands in: a line of a text, or a row.
    pub fn part(&self) -> &'static str {
        if matches!(self.rows, Rows::Columnar(_)) { "row" } else { "line" }
    }

    /// Only the columns of these names matter. A file of columns is spared the others, whatever they hold. With
    /// `numbers`, its rows of numbers alone are not made texts.
    pub(super) fn only(&mut self, wanted: impl Fn(&str) -> bool, numbers: bool) {
        if let Rows::Columnar(rows) = &mut self.rows {
            rows.only(&wanted, numbers);
        }
    }

    /// The columns whose values are neither numbers nor texts, and why: their cells are empty from now on.
    pub(super) fn unreadable(&mut self) -> Vec<(String, String)> {
        if let Rows::Columnar(rows) = &mut self.rows { rows.unreadable() } else { vec![] }
    }

    /// Calls `visit` with every row and the number (from 1) of its [`part`](Self::part) until it fails.
    pub fn for_each(self, mut visit: impl FnMut(u64, Row<'_>) -> Result<()>) -> Result<()> {
        let path = self.path;
        match self.rows {
            Rows::Text(mut rows) => {
                while let Some(row) = rows.next_row().map_err(|problem| problem_of(&path, problem))? {
                    visit(row.line, Row::Text(row))?;
                }
            }
            Rows::Npy(mut rows) => {
                let mut row = Vec::new();
                while let Some(number) = rows.next_row(&mut row)? {
                    visit(number, Row::Numbers(&row))?;
                }
            }
            Rows::Columnar(rows) => rows.for_each(&path, &mut visit)?,
        }
        Ok(())
    }
}

fn problem_of(path: &Path, Problem { line, of_options, what }: Problem) -> CliError {
    match line {
        _ if of_options => CliError::Usage(format!("{}: {what}", path.display())),
        Some(line) => CliError::at(path, "line", line, what),
        None => CliError::file(path, what),
    }
}

/// Counts of the rows of a file.
#[derive(Clone, Debug, Serialize)]
pub struct Counts {
    /// All rows.
    pub records: u64,
    /// Those that cannot be read among them.
    #[serde(rename = "missing_values")]
    pub(super) missing: u64,
    /// What cannot be read, and is missing.
    pub unread: Fit,
}

impl Counts {
    /// The lines of text about what cannot be read, if there is anything.
    pub(super) fn unread_text(&self) -> String {
        self.unread.told().into_iter().map(|sentence| sentence + "\n").collect()
    }

    /// Notes on standard error what cannot be read, if there is anything.
    pub(super) fn note_unread(&self) {
        self.unread.told().into_iter().for_each(note);
    }
}

/// Reads the records of a file by a schema, and visits their features, in their own units. Every row is a record: what
/// cannot be read is missing and counted, or an error with its line under `strict`; no record at all is one, too.
/// Nothing is visited of a file of several rows that is not one of the schema.
pub fn read(
    path: &Path,
    schema: &Schema,
    Reading { opening, strict }: &Reading,
    visit: impl FnMut(Vec<f64>) -> Result<()>,
) -> Result<Counts> {
    if *strict {
        files::can_be_read_twice(path, "--strict looks at all of it before anything is written")?;
        let (part, counts) = read_once(path, schema, opening, |_| Ok(()))?;
        if let Some((row, problem)) = counts.unread.first_unread() {
            return Err(CliError::at(path, part, row, format!("{problem} (without --strict it counts as missing)")));
        }
    }
    let (_, counts) = read_once(path, schema, opening, visit)?;
    if counts.records == 0 { Err(CliError::file(path, "there are no records in it")) } else { Ok(counts) }
}

/// Reads the records of a file in one pass. Returns the name of what a record stands in, and the counts.
fn read_once(
    path: &Path,
    schema: &Schema,
    opening: &Opening,
    mut visit: impl FnMut(Vec<f64>) -> Result<()>,
) -> Result<(&'static str, Counts)> {
    let opening = &opening.under(schema, path);
    let is_header = |fields: &[&str]| match opening.by_header {
        true => has_names_of(schema, fields),
        false => is_header_of(schema, fields),
    };
    let mut file = RecordFile::open(path, opening, is_header)?;
    let part = file.part();
    let layout = Layout::new(schema, file.names(), file.notation()).map_err(|error| {
        // Only now: the header decides, whatever the records of a device are.
        if let Some(problem) = &file.other {
            return CliError::file(path, problem);
        }
        CliError::header(path, format!("{error}{}", file.header_remedy(schema, opening.by_header)))
    })?;
    let read: Vec<&Column> = schema.columns().iter().filter(|column| column.kind != ColumnKind::Ignored).collect();
    // The text of a category is that of the column's own type.
    let numeric = read.iter().all(|column| matches!(column.kind, ColumnKind::Numeric { .. }));
    file.only(|name| read.iter().any(|column| column.name == name), numeric);
    let layout = layout.without(schema, &file.unreadable());
    let mut fit = Fit::new(schema, part);
    // Until it is known that the file is one of the schema.
    let mut held = vec![];
    let settled = |fit: &Fit| match fit.refusal() {
        Some((row, problem)) => Err(CliError::at(path, part, row, problem)),
        None => Ok(()),
    };
    file.for_each(|line, row| {
        let features = match row {
            Row::Text(row) => layout.encode(schema, &row, &mut fit),
            Row::Numbers(numbers) => layout.encode_numbers(schema, (line, numbers), &mut fit),
        };
        held.push(features);
        if fit.is_settled() {
            settled(&fit)?;
            held.drain(..).try_for_each(&mut visit)?;
        }
        Ok(())
    })?;
    settled(&fit)?;
    held.into_iter().try_for_each(visit)?;
    Ok((part, Counts { records: fit.rows(), missing: fit.missing(), unread: fit }))
}
