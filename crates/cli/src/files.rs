//! Files that are read: whole documents, and matrices.

use core::fmt::Display;
use std::fs::{File, TryLockError};
use std::io::{BufReader, Cursor, ErrorKind, Read, StdinLock};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use ldp_pca::aggregate::{Aggregate, AggregateError};
use ldp_pca::internal::task::MAX_TASK_BYTES;
use ldp_pca::linalg::{EigenError, SymmetricMatrix};
use ldp_pca::schema::Schema;
use ldp_pca::task::Task;
use ldp_pca_records::{FileFormat, START};
use nalgebra::DMatrix;

use super::error::{CliError, InFile as _, Result};
use super::kind::{Kind, Needed};

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
    String::from_utf8(document(path)?).map_err(|error| {
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

/// Reads a schema.
pub fn schema(path: &Path) -> Result<Schema> {
    parsed(path, &document(path)?, Needed::Schema, Schema::from_json)
}

/// Parses the content of a file as what is needed; `path` is for messages.
pub(super) fn parsed<T, E: Display>(
    path: &Path,
    content: &[u8],
    needed: Needed,
    parse: impl FnOnce(&str) -> core::result::Result<T, E>,
) -> Result<T> {
    needed.check(path, content)?;
    parse(str::from_utf8(content).in_file(path)?).in_file(path)
}

/// Reads the aggregate of a task.
pub(super) fn aggregate(path: &Path, task: &Task) -> Result<Aggregate> {
    aggregate_of(path, open(path)?.0, task)
}

/// Reads the aggregate of a task; messages say that `option` gives the task.
pub(super) fn aggregate_with(path: &Path, task: &Task, option: &str) -> Result<Aggregate> {
    read_aggregate(path, open(path)?.0, task, option)
}

/// Reads the aggregate of a task from a reader; `path` is for messages.
pub(super) fn aggregate_of(path: &Path, content: impl Read, task: &Task) -> Result<Aggregate> {
    read_aggregate(path, content, task, "--task")
}

fn read_aggregate(path: &Path, mut content: impl Read, task: &Task, option: &str) -> Result<Aggregate> {
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
    let token = text.lines().find_map(|line| line.split_whitespace().last());
    token.map(ToOwned::to_owned).ok_or("the file has no token: write one into its first line").in_file(path)
}

/// Opens a file under an exclusive lock, and creates it if it does not exist. `busy` is the message if it is locked.
pub fn locked(path: &Path, busy: &str) -> Result<File> {
    let file = File::options().read(true).write(true).create(true).truncate(false).open(path).in_file(path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(CliError::file(path, busy)),
        Err(TryLockError::Error(error)) => Err(CliError::file(path, error)),
    }
}

/// A buffered reader that unpacks content in gzip, whatever the file's name.
pub fn unpacked<'a>(path: &Path, raw: impl Read + 'a) -> Result<Box<dyn std::io::BufRead + 'a>> {
    let (start, raw) = start(raw, 2).in_file(path)?;
    let raw = BufReader::with_capacity(1 << 16, raw);
    if FileFormat::of(&start) == FileFormat::Gzip {
        Ok(Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(raw))))
    } else {
        Ok(Box::new(raw))
    }
}

/// A matrix of numbers, read row by row.
pub struct NpyRows<'a> {
    content: Box<dyn Read + 'a>,
    path: PathBuf,
    rows: u64,
    columns: usize,
    read: u64,
    /// The bytes of a number, and how it is read from them.
    width: usize,
    number: Number,
    /// Those of a row.
    bytes: Vec<u8>,
    /// Whether the elements are of single precision.
    single: bool,
}

impl<'a> NpyRows<'a> {
    /// Opens the file that the reader reads; `path` is for messages.
    pub fn new(path: &Path, mut reader: impl Read + 'a) -> Result<Self> {
        let refused = |problem: String| CliError::file(path, problem);
        let unreadable = |problem: &dyn Display| refused(format!("not a readable NPY file: {problem}"));
        let header = npy_header(&mut reader).map_err(|error| unreadable(&error))?;
        let (kind, by_columns, shape) = npy_array(&header)
            .ok_or_else(|| unreadable(&"its header makes no sense; save the matrix with numpy.save"))?;
        let &[rows, columns] = shape.as_slice() else {
            return Err(refused(format!("the array has shape {shape:?}: give a matrix, one record per row")));
        };
        if by_columns && rows > 1 && columns > 1 {
            let problem = "the matrix is stored by columns: save it in C order (numpy.ascontiguousarray)";
            return Err(refused(problem.to_owned()));
        }
        let Some((width, number)) = npy_number(&kind) else {
            let held = match kind.trim_start_matches(['<', '>', '|', '=']).chars().next() {
                Some('U' | 'S' | 'a') => format!("texts ({kind})"),
                Some('c') => format!("complex numbers ({kind})"),
                Some('M' | 'm') => format!("dates or times ({kind})"),
                _ => kind,
            };
            return Err(refused(format!("the array holds {held}: save it as numbers (float or integer)")));
        };
        if rows == 0 || columns == 0 {
            return Err(refused(format!("the matrix is {rows} × {columns}: there is nothing in it")));
        }
        let bytes = rows.checked_mul(columns).and_then(|elements| elements.checked_mul(width as u64));
        if bytes.is_none_or(|bytes| bytes > i64::MAX as u64) {
            return Err(unreadable(&"its header claims more than a file can hold: the header is wrong"));
        }
        let (content, columns, single) = (Box::new(reader), columns as usize, kind.ends_with("f4"));
        Ok(Self { content, path: path.to_owned(), rows, columns, read: 0, width, number, bytes: vec![], single })
    }

    /// The length of a row.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The next row and its number (from 1), or `None` after the last.
    pub fn next_row(&mut self, row: &mut Vec<f64>) -> Result<Option<u64>> {
        row.clear();
        if self.read == self.rows {
            return Ok(None);
        }
        let length = self.columns * self.width;
        self.bytes.clear();
        // Memory is taken as they come, since the header may promise anything.
        match self.content.by_ref().take(length as u64).read_to_end(&mut self.bytes) {
            Err(error) if error.kind() != ErrorKind::UnexpectedEof => return Err(CliError::file(&self.path, error)),
            _ if self.bytes.len() < length => {
                let problem = format!("the file ends in row {} of {}: it was cut", self.read + 1, self.rows);
                return Err(CliError::file(&self.path, problem));
            }
            _ => {}
        }
        row.extend(self.bytes.chunks_exact(self.width).map(self.number));
        self.read += 1;
        Ok(Some(self.read))
    }
}

/// The longest header that NumPy itself reads.
const LONGEST_HEADER: u64 = 10_000;

/// The text of the header that the reader begins with; empty where that is no NPY.
fn npy_header(reader: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut next = |count| {
        let mut bytes = vec![];
        reader.by_ref().take(count).read_to_end(&mut bytes).map(|_| bytes)
    };
    // Bytes of the header's length.
    let width = match &next(8)?[..] {
        [0x93, b'N', b'U', b'M', b'P', b'Y', 1, _] => 2,
        [0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, _] => 4,
        _ => 0,
    };
    let length = next(width)?.iter().rev().fold(0, |length, byte| length << 8 | u64::from(*byte));
    if length > LONGEST_HEADER {
        let problem = format!("its header has {length} bytes, but NumPy's have {LONGEST_HEADER} at most");
        return Err(std::io::Error::other(problem));
    }
    next(length)
}

/// The type of an array by its header, whether the array is stored by columns, and its shape; `None` where the header
/// is not as programs write it.
fn npy_array(header: &[u8]) -> Option<(String, bool, Vec<u64>)> {
    let header = str::from_utf8(header).ok()?.replace('"', "'");
    let value = |key: &str| {
        let (_, value) = header.split_once(&format!("'{key}'"))?;
        Some(value.trim_start().strip_prefix(':')?.trim_start())
    };
    let kind = match value("descr")?.strip_prefix('\'') {
        Some(kind) => kind.split_once('\'')?.0,
        // Without the fields' names.
        None => "records of fields",
    };
    let (shape, _) = value("shape")?.strip_prefix('(')?.split_once(')')?;
    let lengths = shape.split(',').map(str::trim).filter(|length| !length.is_empty());
    let shape = lengths.map(|length| length.parse().ok()).collect::<Option<Vec<u64>>>()?;
    Some((kind.to_owned(), value("fortran_order")?.starts_with("True"), shape))
}

/// How a number is read from its bytes.
type Number = fn(&[u8]) -> f64;

/// The bytes of a number of this type, and how it is read from them; `None` for a type of anything else.
fn npy_number(kind: &str) -> Option<(usize, Number)> {
    macro_rules! number {
        ($type:ty, $from_bytes:ident) => {{
            let number: Number = |bytes| {
                let number = <$type>::$from_bytes(bytes.try_into().unwrap_or_default());
                number as f64
            };
            Some((size_of::<$type>(), number))
        }};
    }
    macro_rules! numbers {
        ($($code:literal => $type:ty),* $(,)?) => {
            match kind.split_at_checked(1)? {
                $(
                    (">", $code) => number!($type, from_be_bytes),
                    ("<" | "|" | "=", $code) => number!($type, from_le_bytes),
                )*
                (_, "b1") => {
                    let flag: Number = |bytes| if let [flag @ (0 | 1)] = bytes { f64::from(*flag) } else { f64::NAN };
                    Some((1, flag))
                }
                _ => None,
            }
        };
    }
    numbers!(
        "f8" => f64, "f4" => f32, "i1" => i8, "i2" => i16, "i4" => i32, "i8" => i64, "u1" => u8, "u2" => u16,
        "u4" => u32, "u8" => u64
    )
}

/// Reads a symmetric matrix (gzip or not), in the precision that it is stored in.
pub(super) fn read_symmetric(path: &Path) -> Result<SymmetricMatrix> {
    let (file, bytes) = open(path)?;
    symmetric(path, file, bytes)
}

/// Reads a symmetric matrix (gzip or not) from a reader of this many bytes, in the precision that it is stored in;
/// `path` is for messages.
pub(super) fn symmetric(path: &Path, file: impl Read, bytes: u64) -> Result<SymmetricMatrix> {
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
