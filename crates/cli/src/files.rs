//! Files that are read: whole documents, and matrices.

use core::fmt::Display;
use std::fs::File;
use std::io::{BufReader, Cursor, ErrorKind, Read, StdinLock};
use std::path::{Path, PathBuf};

use ldp_pca::aggregate::{Aggregate, AggregateError};
use ldp_pca::components::PublishedComponents;
use ldp_pca::internal::task::MAX_TASK_BYTES;
use ldp_pca::linalg::{EigenError, SymmetricMatrix};
use ldp_pca::schema::Schema;
use ldp_pca::task::Task;
use ldp_pca_records::{FileFormat, START};
use nalgebra::DMatrix;

use super::error::{CliError, InFile as _, Result};
use super::gzip::Unpacked;
use super::kind::{Kind, Needed, unmarked};

/// Whether a path is `-`: standard input, or standard output. A file of that name is `./-`.
pub(super) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Refuses standard input and pipes where records are read twice, for this reason.
pub(super) fn can_be_read_twice(path: &Path, why: &str) -> Result<()> {
    let is_pipe = path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    if is_standard(path) || is_pipe {
        let name = if is_pipe { "a pipe" } else { "standard input (-)" };
        return Err(CliError::usage(format!("{name} can be read once, and {why}: give records as a file")));
    }
    Ok(())
}

/// What a command reads.
pub enum Input {
    /// A file.
    File(File),
    /// Standard input.
    Standard(StdinLock<'static>),
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Standard(input) => input.read(buffer),
        }
    }
}

/// Opens a file, and returns its length in bytes. That of standard input is not known, and given as 0.
pub fn open(path: &Path) -> Result<(Input, u64)> {
    if is_standard(path) {
        return Ok((Input::Standard(std::io::stdin().lock()), 0));
    }
    if path.is_dir() {
        return Err(CliError::file(path, "Is a directory: give a file"));
    }
    let file = File::open(path).map_err(|error| CliError::not_opened(path, &error))?;
    let bytes = file.metadata().map_or(0, |metadata| metadata.len());
    Ok((Input::File(file), bytes))
}

/// The first `length` bytes of a content, or fewer where it ends, and the whole content. A pipe may give these bytes
/// one by one.
pub(super) fn start<R: Read>(mut content: R, length: u64) -> std::io::Result<(Vec<u8>, impl Read + use<R>)> {
    let mut start = Vec::new();
    content.by_ref().take(length).read_to_end(&mut start)?;
    Ok((start.clone(), Cursor::new(start).chain(content)))
}

/// Reads a text document of bounded size.
pub fn text(path: &Path) -> Result<String> {
    let text = String::from_utf8(unmarked(&document(path)?).to_vec());
    text.map_err(|error| {
        let held = Kind::of(error.as_bytes()).name();
        CliError::file(path, format!("it holds {held}: give a text file in UTF-8"))
    })
}

fn document(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = vec![];
    open(path)?.0.take(MAX_TASK_BYTES as u64 + 1).read_to_end(&mut bytes).in_file(path)?;
    Ok(bytes)
}

/// Reads a task.
pub(super) fn task(path: &Path) -> Result<Task> {
    parsed(path, &document(path)?, Needed::Task, Task::from_json)
}

/// Reads published components.
pub(super) fn components(path: &Path) -> Result<PublishedComponents> {
    parsed(path, &document(path)?, Needed::Components, PublishedComponents::from_json)
}

/// Reads a schema.
pub fn schema(path: &Path) -> Result<Schema> {
    parsed(path, &document(path)?, Needed::Schema, Schema::from_json)
}

/// Parses the content of a file as what is needed; `path` is for messages.
pub(super) fn parsed<T, E: Display>(
    path: &Path,
    content: &[u8],
    needed: Needed,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T> {
    needed.check(path, content)?;
    parse(str::from_utf8(unmarked(content)).in_file(path)?).map_err(|error| match Kind::of(content) {
        Kind::BrokenJson => CliError::file(path, format!("{error}: copy the whole file again, or correct it there")),
        _ => CliError::file(path, error),
    })
}

/// Reads the aggregate of a task; messages say that `option` gives the task.
pub(super) fn aggregate(path: &Path, task: &Task, option: &str) -> Result<Aggregate> {
    aggregate_of(path, open(path)?.0, task, option)
}

/// Reads the aggregate of a task from a reader; `path` is for messages, which say that `option` gives the task.
pub(super) fn aggregate_of(path: &Path, mut content: impl Read, task: &Task, option: &str) -> Result<Aggregate> {
    let mut bytes = vec![];
    content.read_to_end(&mut bytes).in_file(path)?;
    Aggregate::from_bytes(&bytes, task).map_err(|error| match (&error, Needed::Aggregate.problem(Kind::of(&bytes))) {
        (_, Some(problem)) => CliError::file(path, problem),
        (AggregateError::OtherTask { expected, found }, _) => {
            let problem =
                format!("the aggregate belongs to task {found}, not {expected}: give its own task with {option}");
            CliError::file(path, problem)
        }
        _ => CliError::file(path, error),
    })
}

/// The first token of a file. A name may stand before it, as in the server's files of tokens.
pub fn token(path: &Path) -> Result<String> {
    let text = text(path)?;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.ok_or("the file has no token: write one into its first line").in_file(path)?;
    let token = line.split_once(' ').map_or(line, |(_, token)| token.trim_start());
    let has_form = token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte));
    let fewest = if token.parse::<f64>().is_ok() { 32 } else { 8 };
    // A row of records, say, is not for the aggregator.
    if !has_form || token.len() < fewest || line.contains([',', ';', '"', '{', '[', '|', '\t']) {
        let problem = "the first line is no token, which has letters and digits: give the file that has it";
        return Err(CliError::file(path, problem));
    }
    Ok(token.to_owned())
}

/// What is wrong with JSON, without a value that it has: the file may be another one.
pub(super) fn without_values(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(", expected ") {
        Some((found, expected)) if text.starts_with("invalid ") => {
            let kind = found.split(['`', '"']).next().unwrap_or_default().trim_end();
            format!("{kind}, expected {expected}")
        }
        _ => text,
    }
}

/// A buffered reader that unpacks content in gzip, whatever the file's name.
pub fn unpacked<'a>(path: &Path, raw: impl Read + 'a) -> Result<Box<dyn std::io::BufRead + 'a>> {
    let (start, raw) = start(raw, 2).in_file(path)?;
    let raw = BufReader::with_capacity(1 << 16, raw);
    if FileFormat::of(&start) == FileFormat::Gzip {
        Ok(Box::new(BufReader::with_capacity(1 << 16, Unpacked::new(raw))))
    } else {
        Ok(Box::new(raw))
    }
}

/// A matrix of numbers, read row by row.
pub struct NpyRows<'a> {
    /// The elements, row by row, and what follows them.
    content: Box<dyn Read + 'a>,
    element: Element,
    path: PathBuf,
    rows: u64,
    columns: usize,
    read: u64,
    /// The bytes of a row.
    row: Vec<u8>,
    /// Whether the elements are of single precision.
    single: bool,
}

impl<'a> NpyRows<'a> {
    /// Opens the file that the reader reads; `path` is for messages.
    pub fn new(path: &Path, mut content: impl Read + 'a) -> Result<Self> {
        let unreadable = |error: std::io::Error| CliError::file(path, format!("not a readable NPY file: {error}"));
        let NpyHeader { dtype, by_columns, shape } = NpyHeader::read(&mut content).map_err(unreadable)?;
        let &[rows, columns] = &shape[..] else {
            let column = if shape.len() == 1 { " (reshape(-1, 1) makes it one column)" } else { "" };
            let problem = format!("the array has shape {shape:?}: give a matrix, one record per row{column}");
            return Err(CliError::file(path, problem));
        };
        let element = Element::of(&dtype).ok_or_else(|| {
            let held = match dtype.trim_start_matches(['<', '>', '|', '=']).chars().next() {
                Some('U' | 'S' | 'a') => format!("texts ({dtype})"),
                Some('c') => format!("complex numbers ({dtype})"),
                Some('M' | 'm') => format!("dates or times ({dtype})"),
                Some('O') => format!("Python objects ({dtype})"),
                Some('f') => format!("floats of more than 64 bits ({dtype})"),
                _ => dtype.clone(),
            };
            CliError::file(path, format!("the array holds {held}: save it as numbers (float or integer)"))
        })?;
        if rows == 0 || columns == 0 {
            return Err(CliError::file(path, format!("the matrix is {rows} × {columns}: there is nothing in it")));
        }
        let columns = columns as usize;
        let content: Box<dyn Read + 'a> = if by_columns && rows > 1 && columns > 1 {
            Box::new(by_rows(path, content, rows, columns, element.bytes)?)
        } else {
            Box::new(content)
        };
        let single = dtype.ends_with("f4");
        Ok(Self { content, element, path: path.to_owned(), rows, columns, read: 0, row: vec![], single })
    }

    /// The length of a row.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The next row and its number (from 1), or `None` after the last, which nothing may follow.
    pub fn next_row(&mut self, row: &mut Vec<f64>) -> Result<Option<u64>> {
        row.clear();
        self.row.clear();
        let is_over = self.read == self.rows;
        let bytes = if is_over { 1 } else { self.columns * self.element.bytes };
        self.content.by_ref().take(bytes as u64).read_to_end(&mut self.row).in_file(&self.path)?;
        if is_over {
            let problem = "the file goes on after its array: give a file of one array";
            return if self.row.is_empty() { Ok(None) } else { Err(CliError::file(&self.path, problem)) };
        }
        self.read += 1;
        if self.row.len() < bytes {
            let problem = format!("the file ends in row {} of {}: it was cut", self.read, self.rows);
            return Err(CliError::file(&self.path, problem));
        }
        for element in self.row.chunks_exact(self.element.bytes) {
            row.push((self.element.read)(element).ok_or_else(|| {
                let problem = format!("a value of row {} is none of the array's type: the file is damaged", self.read);
                CliError::file(&self.path, problem)
            })?);
        }
        Ok(Some(self.read))
    }
}

/// The most bytes of a matrix that is stored by columns: all of it is kept in memory.
const MOST_BY_COLUMNS: u64 = 1 << 30;

/// The elements of a matrix that is stored by columns, row by row, and what follows them.
fn by_rows<R: Read>(
    path: &Path,
    mut content: R,
    rows: u64,
    columns: usize,
    element: usize,
) -> Result<impl Read + use<R>> {
    let bytes = rows * (columns * element) as u64;
    if bytes > MOST_BY_COLUMNS {
        let problem = "a matrix of more than 1 GiB is stored by columns: save it by rows (numpy.ascontiguousarray)";
        return Err(CliError::file(path, problem));
    }
    let mut stored = vec![];
    content.by_ref().take(bytes).read_to_end(&mut stored).in_file(path)?;
    if (stored.len() as u64) < bytes {
        return Err(CliError::file(path, "the file ends within its array: it was cut"));
    }
    let rows = rows as usize;
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (column * rows + row) * element));
    let ordered: Vec<u8> = places.flat_map(|place| &stored[place..place + element]).copied().collect();
    Ok(Cursor::new(ordered).chain(content))
}

/// The header of an NPY file.
struct NpyHeader {
    /// The name of the elements' type.
    dtype: String,
    /// Whether the elements are stored column by column.
    by_columns: bool,
    shape: Vec<u64>,
}

/// The longest header that NumPy itself reads.
const LONGEST_HEADER: usize = 10_000;

/// The most bytes of an element.
const MOST_OF_AN_ELEMENT: u64 = 16;

impl NpyHeader {
    /// Reads it and no more. No message quotes it, since names of fields are in it.
    fn read(content: &mut impl Read) -> std::io::Result<Self> {
        let refused = |problem: String| Err(std::io::Error::new(ErrorKind::InvalidData, problem));
        let (mut magic, mut length, mut text) = (vec![], vec![], vec![]);
        content.by_ref().take(8).read_to_end(&mut magic)?;
        let width = match magic[..] {
            [0x93, b'N', b'U', b'M', b'P', b'Y', 1, _] => 2,
            [0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, _] => 4,
            _ => 0,
        };
        content.by_ref().take(width).read_to_end(&mut length)?;
        let length = length.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte));
        if length > LONGEST_HEADER {
            return refused(format!("its header has {length} bytes, but NumPy's have {LONGEST_HEADER} at most"));
        }
        content.by_ref().take(length as u64).read_to_end(&mut text)?;
        if text.windows(3).any(|window| window == b"[('") {
            return refused("its rows are records of fields: save it as numbers, without fields".to_owned());
        }
        let Some(header) = Self::parse(&text) else {
            return refused("its header is none that NumPy writes: save the matrix with numpy.save".to_owned());
        };
        let count = |bytes: u64, count: &u64| bytes.checked_mul((*count).max(1));
        let bytes = header.shape.iter().try_fold(MOST_OF_AN_ELEMENT, count);
        if bytes.is_none_or(|bytes| i64::try_from(bytes).is_err()) {
            return refused("its header claims more than a file can hold: the header is wrong".to_owned());
        }
        Ok(header)
    }

    /// That of a text with the three members and no other, in any order and with any spaces between words.
    fn parse(text: &[u8]) -> Option<Self> {
        let text = str::from_utf8(text).ok()?.trim();
        let mut rest = text.strip_prefix('{')?.strip_suffix('}')?.trim();
        let (mut descr, mut order, mut shape) = (None, None, None);
        for _ in 0..3 {
            let (name, value) = rest.strip_prefix('\'')?.split_once('\'')?;
            let value = value.trim_start().strip_prefix(':')?.trim_start();
            let (member, (value, after)) = match name {
                "descr" => (&mut descr, value.strip_prefix('\'')?.split_once('\'')?),
                "fortran_order" => (&mut order, value.split_at(value.find(',').unwrap_or(value.len()))),
                "shape" => (&mut shape, value.strip_prefix('(')?.split_once(')')?),
                _ => return None,
            };
            *member = Some(value);
            // Behind the last member a comma may stand, and need not.
            let after = after.trim_start();
            rest = if after.is_empty() { after } else { after.strip_prefix(',')?.trim_start() };
        }
        let (dtype, shape) = (descr?, shape?.trim());
        // Dates alone have a unit, in brackets.
        let (plain, unit) = dtype.split_once('[').map_or((dtype, None), |(plain, unit)| (plain, Some(unit)));
        let [b'<' | b'>' | b'|', kind, size @ ..] = plain.as_bytes() else { return None };
        let is_unit = |unit: &str| unit.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let has_its_unit = unit.is_none_or(|unit| b"mM".contains(kind) && unit.strip_suffix(']').is_some_and(is_unit));
        if !(kind.is_ascii_alphabetic() && size.iter().all(u8::is_ascii_digit) && has_its_unit && rest.is_empty()) {
            return None;
        }
        let by_columns = match order?.trim_end() {
            "True" => true,
            "False" => false,
            _ => return None,
        };
        let shape = shape.split_terminator(',').map(count).collect::<Option<Vec<u64>>>()?;
        Some(Self { dtype: dtype.to_owned(), by_columns, shape })
    }
}

/// The number of rows, or of columns. Python 2 writes 30 as 30L.
fn count(text: &str) -> Option<u64> {
    let digits = text.trim();
    let digits = digits.strip_suffix('L').unwrap_or(digits);
    // What is parsed may have a sign.
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// A type of elements that are numbers.
#[derive(Clone, Copy)]
struct Element {
    /// The length of one.
    bytes: usize,
    /// The number in these bytes, if they are one.
    read: fn(&[u8]) -> Option<f64>,
}

impl Element {
    /// That of this name, if it is one of numbers.
    fn of(dtype: &str) -> Option<Self> {
        let is_big = dtype.starts_with('>');
        macro_rules! elements {
            ($($code:literal => $type:ty as $number:ident => $value:expr;)*) => {
                match dtype.trim_start_matches(['<', '>', '|', '=']) {
                    $($code => Some(Self {
                        bytes: size_of::<$type>(),
                        read: if is_big {
                            |bytes: &[u8]| {
                                let $number = <$type>::from_be_bytes(bytes.try_into().ok()?);
                                $value
                            }
                        } else {
                            |bytes: &[u8]| {
                                let $number = <$type>::from_le_bytes(bytes.try_into().ok()?);
                                $value
                            }
                        },
                    }),)*
                    _ => None,
                }
            };
        }
        elements!(
            "f8" => f64 as number => Some(number);
            "f4" => f32 as number => Some(f64::from(number));
            "f2" => u16 as bits => Some(half(bits));
            "i1" => i8 as number => Some(f64::from(number));
            "i2" => i16 as number => Some(f64::from(number));
            "i4" => i32 as number => Some(f64::from(number));
            "i8" => i64 as number => Some(number as f64);
            "u1" => u8 as number => Some(f64::from(number));
            "u2" => u16 as number => Some(f64::from(number));
            "u4" => u32 as number => Some(f64::from(number));
            "u8" => u64 as number => Some(number as f64);
            "b1" => u8 as flag => if flag < 2 { Some(f64::from(flag)) } else { None };
        )
    }
}

/// The number of half precision with these bits.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// Reads a symmetric matrix (gzip or not) from a reader of this many bytes, in the precision that it is stored in;
/// `path` is for messages.
pub fn symmetric(path: &Path, file: impl Read, bytes: u64) -> Result<SymmetricMatrix> {
    let (start, content) = start(unpacked(path, file)?, START).in_file(path)?;
    Needed::Matrix.check(path, &start)?;
    let rows = NpyRows::new(path, content)?;
    let matrix = if rows.single {
        rows.collect(bytes / 4, |value| value as f32).map(SymmetricMatrix::from_single)
    } else {
        rows.collect(bytes / 8, |value| value).map(SymmetricMatrix::new)
    };
    matrix?.map_err(|error| CliError::file(path, in_rows(error)))
}

/// The error with positions in the file, whose rows were read as columns.
fn in_rows(error: EigenError) -> EigenError {
    match error {
        EigenError::NotFinite { row, column, value } => EigenError::NotFinite { row: column, column: row, value },
        EigenError::NotSquare { rows, columns } => EigenError::NotSquare { rows: columns, columns: rows },
        EigenError::NotSymmetric { row, column, value, mirror } => {
            EigenError::NotSymmetric { row, column, value: mirror, mirror: value }
        }
        other => other,
    }
}

impl NpyRows<'_> {
    /// The transposed matrix: its rows one after the other are the columns. `expected` elements at most are reserved
    /// before they are read, since the header may promise anything.
    fn collect<T: nalgebra::Scalar>(mut self, expected: u64, convert: impl Fn(f64) -> T) -> Result<DMatrix<T>> {
        let (count, columns) = (self.rows as usize, self.columns);
        let mut values = Vec::with_capacity((count * columns).min(expected as usize));
        let mut row = Vec::new();
        while self.next_row(&mut row)?.is_some() {
            values.extend(row.iter().map(|value| convert(*value)));
        }
        Ok(DMatrix::from_vec(columns, count, values))
    }
}
