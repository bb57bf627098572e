//! The rows of a text file, and the lines they start on.

use core::fmt::Display;
use core::mem;
use core::ops::Range;
use std::io::{self, Chain, Cursor, Read};

use csv::{ByteRecord, StringRecord, Terminator};
use ldp_pca::internal::schema::{Dialect, NumberForms, positional_name};

use crate::separator::{self, Notation, OptionNames, is_padding, named_tab, unmarked};

/// How many bytes of a file are looked at before it is read.
pub const START: u64 = 1 << 16;

/// The most bytes of a row, with the empty lines before it. A quote that is never closed makes one of all that follows.
pub const MOST_BYTES: u64 = 8 << 20;

/// The first bytes of a file, at most [`START`].
///
/// # Errors
/// Those of the reader.
pub fn start_of(content: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    content.take(START).read_to_end(&mut start)?;
    Ok(start)
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// Anything else is read as text.
    Text,
    /// Content packed by gzip.
    Gzip,
    /// A matrix in NPY.
    NumPy,
    /// A zip archive, such as a spreadsheet.
    Zip,
    /// Several arrays in NPY, in a zip archive.
    NumPyArchive,
    /// A Parquet file.
    Parquet,
    /// Arrow's file format, which is also Feather's second version.
    ArrowFile,
    /// A stream of Arrow's messages.
    ArrowStream,
    /// Feather's first version, which is a format of its own.
    Feather1,
}

impl FileFormat {
    /// The kind of a file that starts like this.
    #[must_use]
    pub fn of(start: &[u8]) -> Self {
        const MAGIC: [(&[u8], FileFormat); 7] = [
            (b"\x1f\x8b", FileFormat::Gzip),
            (b"\x93NUMPY", FileFormat::NumPy),
            (b"PK\x03\x04", FileFormat::Zip),
            (b"PAR1", FileFormat::Parquet),
            (b"ARROW1", FileFormat::ArrowFile),
            (b"FEA1\0\0\0\0", FileFormat::Feather1),
            // No text in UTF-8 has this byte.
            (b"\xff\xff\xff\xff", FileFormat::ArrowStream),
        ];
        match MAGIC.iter().find(|(magic, _)| start.starts_with(magic)) {
            Some((_, Self::Zip)) if holds_array(start) => Self::NumPyArchive,
            found => found.map_or(Self::Text, |(_, kind)| *kind),
        }
    }

    /// What a message calls such a file, or its content.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Gzip => "a gzip file",
            Self::NumPy => "a matrix in NPY",
            Self::Zip => "a zip or spreadsheet file",
            Self::NumPyArchive => "an archive of arrays (NPZ)",
            Self::Parquet => "a Parquet file",
            Self::ArrowFile | Self::ArrowStream => "an Arrow file",
            Self::Feather1 => "a Feather file of version 1",
        }
    }

    /// What to do where text is wanted in its place.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Zip => "save the sheet as CSV",
            Self::Gzip => "unpack it, or use the command line",
            _ => "give plain CSV, or use the command line",
        }
    }
}

/// Whether the first file in a zip archive is named like an array in NPY.
fn holds_array(start: &[u8]) -> bool {
    let length = start.get(26..28).map_or(0, |bytes| usize::from(bytes[0]) | usize::from(bytes[1]) << 8);
    start.get(30..30 + length).is_some_and(|name| name.ends_with(b".npy"))
}

/// Whether the first line of a text file names its columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// The line shows it.
    #[default]
    Auto,
    /// It does.
    Yes,
    /// It is a record.
    No,
}

/// How a text file is read.
#[derive(Clone, Copy, Debug)]
pub struct TextOptions {
    /// Whether the first line names the columns.
    pub header: Header,
    /// What separates the cells, where the file does not show it.
    pub separator: Option<u8>,
    /// Whether only the first line, as the header that it then is, and the options decide how the file is read: what
    /// the records of a device decide would show something of them.
    pub by_header: bool,
    /// Whether a record of a file without a header is one cell. (With one, the header shows it.) Then an empty line
    /// before another record is a record, too: one without a value.
    pub one_column: bool,
    /// Whether numbers have a decimal comma.
    pub decimal_comma: bool,
    /// What numbers may have beside digits, sign and point.
    pub forms: NumberForms,
    /// The names of the options in messages.
    pub names: &'static OptionNames,
}

/// Why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct Problem {
    /// The line, where it is of one.
    pub line: Option<u64>,
    /// Whether the options do not go together, whatever the file holds.
    pub of_options: bool,
    /// What is wrong, and the remedy.
    pub what: String,
}

impl Problem {
    fn at(line: u64, what: &dyn Display) -> Self {
        Self { line: Some(line), of_options: false, what: what.to_string() }
    }
}

/// One row.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The line on which it starts, from 1.
    pub line: u64,
    /// Its cells, with U+FFFD in place of what is no text.
    pub cells: &'a StringRecord,
    /// Why it cannot be read as it stands.
    pub problem: Option<String>,
}

/// The rows of a text file, one after the other.
#[derive(Debug)]
pub struct TextRows<R> {
    lines: Lines<R>,
    notation: Notation,
    names: Option<Vec<String>>,
    /// Those that the positions gave.
    pub(crate) unnamed: Vec<String>,
    /// Whether the first line alone showed whether it is a header.
    pub(crate) is_guess: bool,
    /// A row that was read ahead.
    pending: Option<(Line, ByteRecord)>,
    /// The empty lines before it, where they are records.
    empty: Range<u64>,
    one_column: bool,
    /// Whether there is a record, whatever it holds: the first row after a header alone decides that, or what there is.
    lenient: bool,
    row: StringRecord,
}

impl<R: Read> TextRows<R> {
    /// Opens a file of this name that begins with `start`, as [`start_of`] reads it, and goes on with `rest`.
    /// `is_header` decides with [`Header::Auto`], from the cells of the first line. If the options say that only the
    /// header decides, it tells the separator, and a file without a header needs both options.
    ///
    /// # Errors
    /// Where the separator cannot be told, and where the first line cannot be read.
    pub fn open(
        name: &str,
        mut start: Vec<u8>,
        rest: R,
        options: TextOptions,
        is_header: impl Fn(&[&str]) -> bool,
    ) -> Result<Self, Problem> {
        let TextOptions { mut header, by_header, one_column, decimal_comma, forms, names, .. } = options;
        if by_header && header == Header::Auto {
            header = Header::Yes;
        }
        let may_be_header = |fields: &[&str]| header != Header::No && (header == Header::Yes || is_header(fields));
        let of_options = by_header && header == Header::No;
        let whole = (start.len() as u64) < START;
        start.drain(..start.len() - unmarked(&start).len());
        let separator = match options.separator {
            Some(separator) => Ok(separator),
            None if named_tab(name) => Ok(b'\t'),
            None if of_options => {
                let option = names.separator;
                Err(format!("without a header only {option} may say what separates the cells of records: name it"))
            }
            None if by_header => separator::of_header(&start, decimal_comma, &is_header, names),
            None => separator::of(&start, whole, decimal_comma, may_be_header, names),
        };
        let separator = separator.map_err(|what| Problem { line: None, of_options, what })?;
        let notation = Notation { decimal_comma, separator, forms, names };
        let mut lines = Lines::new(start, rest, separator);
        let mut first = ByteRecord::new();
        // A first record is read as the others.
        let line = if of_options { None } else { lines.read(&mut first, false)?.map(Line::whole).transpose()? };
        let names = match (line, header) {
            (None, _) | (_, Header::No) => None,
            (Some(line), Header::Yes) => Some(column_names(&first).map_err(|what| Problem::at(line, &what))?),
            (Some(_), Header::Auto) => column_names(&first).ok().filter(|names| {
                let cells: Vec<_> = first.iter().map(|cell| str::from_utf8(cell).unwrap_or_default().trim()).collect();
                let a_number = |name: &String| notation.problem(name).is_some();
                let pointed: Vec<_> = cells.iter().map(|cell| notation.pointed(cell)).collect();
                !names.iter().any(a_number) && is_header(&pointed.iter().map(AsRef::as_ref).collect::<Vec<_>>())
            }),
        };
        let cells = names.iter().flatten().zip(&first);
        let is_blank = |cell: &[u8]| str::from_utf8(cell).is_ok_and(|cell| name_in(cell).is_empty());
        let unnamed = cells.filter(|(_, cell)| is_blank(cell)).map(|(name, _)| name.clone()).collect();
        let is_guess = options.header == Header::Auto && !by_header;
        let lenient = by_header && (of_options || names.is_some());
        let pending = if names.is_some() { None } else { line.map(|line| (Line::at(line), first)) };
        let one_column = lenient && names.as_ref().map_or(one_column, |names| names.len() == 1);
        let empty = 0..0;
        let row = StringRecord::new();
        Ok(Self { lines, notation, names, unnamed, is_guess, pending, empty, one_column, lenient, row })
    }

    /// How the file writes its numbers.
    #[must_use]
    pub fn notation(&self) -> Notation {
        self.notation
    }

    /// How the file is read.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        let Notation { separator, decimal_comma, .. } = self.notation;
        Dialect { header: self.names.is_some(), separator: separator.into(), decimal_comma }
    }

    /// The names of the header, if the file has one.
    #[must_use]
    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    /// The names of the header, or those of the positions in a first row that is not read yet.
    #[must_use]
    pub fn columns(&self) -> Vec<String> {
        let width = self.pending.as_ref().map_or(0, |(_, first)| first.len());
        self.names.clone().unwrap_or_else(|| (0..width).map(positional_name).collect())
    }

    /// How many bytes are read.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.lines.reader.position().byte()
    }

    /// The next row, if there is one. Empty lines are passed over, unless a record is one cell. If the options say that
    /// only the header decides how the file is read, there is a first row whatever it holds: of one that never ends,
    /// what there is, and of empty lines alone, one.
    ///
    /// # Errors
    /// Where the file cannot be read on.
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>, Problem> {
        if self.pending.is_none() && self.empty.is_empty() {
            let mut record = mem::take(&mut self.row).into_byte_record();
            let before = self.lines.end;
            let read = self.lines.read(&mut record, self.one_column)?;
            let first = mem::take(&mut self.lenient);
            self.empty = match &read {
                Some(line) if self.one_column => before..line.starts,
                None if first && self.lines.has_empty => before..before + 1,
                _ => 0..0,
            };
            let line = read.map(|line| if first { Ok(line) } else { line.whole().map(Line::at) }).transpose()?;
            self.pending = line.map(|line| (line, record));
        }
        if let Some(line) = self.empty.next() {
            self.row.clear();
            self.row.push_field("");
            return Ok(Some(Row { line, cells: &self.row, problem: None }));
        }
        let Some((line, record)) = self.pending.take() else { return Ok(None) };
        let (row, problem) = match StringRecord::from_byte_record(record) {
            Ok(text) => (text, None),
            Err(error) => {
                let problem = not_text(error.utf8_error().field());
                (StringRecord::from_byte_record_lossy(error.into_byte_record()), Some(problem))
            }
        };
        self.row = row;
        Ok(Some(Row { line: line.starts, cells: &self.row, problem: line.problem.or(problem) }))
    }
}

fn not_text(field: usize) -> String {
    format!("field {} is not UTF-8 text: save the file as UTF-8", field + 1)
}

/// The fields of a first line as names.
fn column_names(record: &ByteRecord) -> Result<Vec<String>, String> {
    let text = StringRecord::from_byte_record(record.clone()).map_err(|error| not_text(error.utf8_error().field()))?;
    Ok(names_of(text.iter()))
}

/// The names of a header's cells. A cell without one, as data frames write that of their index, is named by its
/// position.
pub(crate) fn names_of<'a>(cells: impl Iterator<Item = &'a str>) -> Vec<String> {
    let named = |(place, cell): (usize, &str)| match name_in(cell) {
        "" => positional_name(place),
        name => name.to_owned(),
    };
    cells.enumerate().map(named).collect()
}

/// A header's cell without what nobody sees around the name.
fn name_in(cell: &str) -> &str {
    cell.trim_matches(|letter: char| letter.is_whitespace() || "\u{200b}\u{2060}\u{feff}".contains(letter))
}

/// The content of a file with one more end of a line, up to a limit that moves on with the rows. Outside of quotes a
/// line feed stands for each end of a line: LF, CR or CRLF.
#[derive(Debug)]
struct Content<R> {
    bytes: Chain<Chain<Cursor<Vec<u8>>, R>, &'static [u8]>,
    separator: u8,
    /// Whether a quote is open.
    quoted: bool,
    /// Whether a quote would open here: at the start of a cell, and after a quote.
    opens: bool,
    /// Whether the last byte was a carriage return that ended a line.
    returned: bool,
    given: u64,
    limit: u64,
    /// Whether there is no more.
    over: bool,
}

impl<R: Read> Read for Content<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = (buffer.len() as u64).min(self.limit - self.given);
        loop {
            let count = self.bytes.read(&mut buffer[..most as usize])?;
            self.over = count == 0;
            let kept = self.end_lines(&mut buffer[..count]);
            if kept > 0 || self.over {
                self.given += kept as u64;
                return Ok(kept);
            }
        }
    }
}

impl<R> Content<R> {
    /// Writes a line feed for each end of a line in the next bytes. Returns how many bytes are left.
    fn end_lines(&mut self, bytes: &mut [u8]) -> usize {
        let (mut kept, mut place) = (0, 0);
        while place < bytes.len() {
            if mem::take(&mut self.returned) && bytes[place] == b'\n' {
                place += 1;
                continue;
            }
            let rest = &bytes[place..];
            let run = rest.iter().position(|byte| matches!(byte, b'"' | b'\r')).unwrap_or(rest.len());
            if let Some(last) = rest[..run].last() {
                self.opens = *last == b'\n' || *last == self.separator;
                bytes.copy_within(place..place + run, kept);
                (kept, place) = (kept + run, place + run);
                continue;
            }
            let mut byte = bytes[place];
            if byte == b'"' {
                let turns = self.quoted || self.opens;
                (self.quoted, self.opens) = (self.quoted != turns, turns);
            } else if !self.quoted {
                (byte, self.returned, self.opens) = (b'\n', true, true);
            }
            bytes[kept] = byte;
            (kept, place) = (kept + 1, place + 1);
        }
        kept
    }
}

/// The line of a record.
#[derive(Debug)]
struct Line {
    starts: u64,
    /// Why it has no end, and the line on which what never ends starts.
    problem: Option<String>,
    opens: u64,
}

impl Line {
    fn at(line: u64) -> Self {
        Self { starts: line, problem: None, opens: line }
    }

    /// Where it starts, if it has an end.
    fn whole(self) -> Result<u64, Problem> {
        match self.problem {
            None => Ok(self.starts),
            Some(what) => Err(Problem::at(self.opens, &what)),
        }
    }
}

/// CSV records with the lines they start on.
#[derive(Debug)]
struct Lines<R> {
    reader: csv::Reader<Content<R>>,
    /// The line after the last record.
    end: u64,
    /// Whether that one has no end, so nothing follows.
    is_cut: bool,
    /// Whether there are empty lines after it.
    has_empty: bool,
    /// The carriage returns that end lines within quotes, which the reader does not count.
    returns: u64,
}

impl<R: Read> Lines<R> {
    fn new(start: Vec<u8>, rest: R, separator: u8) -> Self {
        // One byte ends every line, including the last, so that the reader's count of lines is reliable. This one does
        // so after a carriage return, too.
        let bytes = Cursor::new(start).chain(rest).chain(&b"\r"[..]);
        let (given, limit) = (0, MOST_BYTES);
        let content =
            Content { bytes, separator, quoted: false, opens: true, returned: false, given, limit, over: false };
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(separator)
            .terminator(Terminator::Any(b'\n'))
            .from_reader(content);
        Self { reader, end: 1, is_cut: false, has_empty: false, returns: 0 }
    }

    /// The line that is read next.
    fn line(&self) -> u64 {
        self.reader.position().line() + self.returns
    }

    /// The next record, in place of `record`. Lines without a cell are none, and with `quoted` a pair of quotes is one.
    fn read(&mut self, record: &mut ByteRecord, quoted: bool) -> Result<Option<Line>, Problem> {
        self.has_empty = false;
        if self.is_cut {
            return Ok(None);
        }
        let (mut byte, mut end) = (self.reader.position().byte(), self.end);
        loop {
            let any = self.reader.read_byte_record(record);
            let any = any.map_err(|error| Problem::at(self.line(), &error))?;
            self.returns += ends_within(record, lone_returns);
            let position = self.reader.position().byte();
            let content = self.reader.get_mut();
            // Every line has an end: a record that takes the end of all for its own has an open quote, or is too long.
            let whole = content.given < content.limit;
            if content.over && !whole {
                return Ok(Some(self.cut(record, "longer than 8 MiB: is a quote never closed?")));
            }
            if !any {
                // There is one more end of a line than the file has.
                self.has_empty |= self.line() > self.end + 1;
                return Ok(None);
            }
            if content.over {
                let what = "a quote opens on this line and is never closed: close it, or remove it";
                return Ok(Some(self.cut(record, what)));
            }
            content.limit = position + MOST_BYTES;
            let is_blank = record.len() == 1 && record[0].iter().copied().all(is_padding);
            let line = self.line().saturating_sub(1 + ends_within(record, line_ends));
            // The reader passes over lines of their ends alone.
            let passed = line.saturating_sub(end);
            let has_quotes = position - byte > passed + record.as_slice().len() as u64 + 1;
            (byte, end) = (position, self.line());
            if !is_blank || (quoted && has_quotes) {
                self.end = end;
                return Ok(Some(Line::at(line)));
            }
            self.has_empty = true;
        }
    }

    /// A record without an end.
    fn cut(&mut self, record: &ByteRecord, problem: &str) -> Line {
        self.is_cut = true;
        let opens = self.line().saturating_sub(record.iter().next_back().map_or(0, line_ends));
        let starts = self.line().saturating_sub(ends_within(record, line_ends));
        Line { starts, problem: Some(problem.to_owned()), opens }
    }
}

/// The carriage returns that no line feed follows.
fn lone_returns(bytes: &[u8]) -> u64 {
    let is_lone = |(place, byte): (usize, &u8)| *byte == b'\r' && bytes.get(place + 1) != Some(&b'\n');
    bytes.iter().enumerate().filter(|pair| is_lone(*pair)).count() as u64
}

fn line_ends(bytes: &[u8]) -> u64 {
    lone_returns(bytes) + bytes.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// The ends of lines within the cells of a record, of these kinds.
fn ends_within(record: &ByteRecord, ends: fn(&[u8]) -> u64) -> u64 {
    // Hardly any record has one.
    let has = |byte| record.as_slice().contains(byte);
    if has(&b'\n') || has(&b'\r') { record.iter().map(ends).sum() } else { 0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::looks_like_names;

    const OPTIONS: TextOptions = TextOptions {
        header: Header::No,
        separator: Some(b','),
        by_header: false,
        one_column: false,
        decimal_comma: false,
        forms: NumberForms::NONE,
        names: &OptionNames::NONE,
    };

    /// Each row's line and cells, as far as they can be read, and the problem that ends them.
    fn read(mut content: impl Read, options: TextOptions) -> (Vec<(u64, Vec<String>)>, Option<Problem>) {
        let start = start_of(&mut content).unwrap();
        let mut rows = match TextRows::open("", start, content, options, looks_like_names) {
            Ok(rows) => rows,
            Err(problem) => return (vec![], Some(problem)),
        };
        let mut found = vec![];
        loop {
            match rows.next_row() {
                Ok(Some(Row { line, cells, problem })) => {
                    assert_eq!(problem, None);
                    found.push((line, cells.iter().map(ToOwned::to_owned).collect()));
                }
                Ok(None) => return (found, None),
                Err(problem) => return (found, Some(problem)),
            }
        }
    }

    fn lines(content: &str) -> (Vec<u64>, Option<u64>) {
        let (rows, problem) = read(content.as_bytes(), OPTIONS);
        assert!(problem.iter().all(|problem| problem.what.contains("quote")), "{problem:?}");
        (rows.into_iter().map(|(line, _)| line).collect(), problem.and_then(|problem| problem.line))
    }

    #[test]
    fn rows_start_on_their_lines_and_empty_lines_are_none() {
        for content in ["\n \na,b\n\n\"c\nd\",e\nf,g", "\r\n\r\na,b\r\n\r\n\"c\r\nd\",e\r\nf,g\r\n"] {
            assert_eq!(lines(content), (vec![3, 5, 7], None), "{content:?}");
        }
        assert_eq!(lines("a,b\rc,d\re,f"), (vec![1, 2, 3], None));
        // Outside of quotes LF, CR and CRLF each end a line, in one file, too.
        assert_eq!(lines("\"a\nb\",c\rd,\"e\nf\"\rg,h\r"), (vec![1, 3, 5], None));
        assert_eq!(lines("\"a\rb\",c\nd,e\rf\n"), (vec![1, 3, 4], None));
        assert_eq!(lines("a,b\n1,2\r3,4\r\n\r5,6\n\x1a"), (vec![1, 2, 3, 5], None));
        assert_eq!(lines(""), (vec![], None));
    }

    #[test]
    fn a_quote_that_is_never_closed_is_told_with_the_line_on_which_it_opens() {
        let cases = [
            ("\"a", vec![], 1),
            ("\"a\n", vec![], 1),
            ("a,b\n\n\"c\nd\",\"e\nf\n", vec![1], 4),
            ("a,b\nc,\"\"\"d\"\"\ne,f\n", vec![1], 2),
            ("a,b\r\n1,\"2\r\n3,4\r\n5,6\r\n", vec![1], 2),
            ("a,b\rc,\"d\re", vec![1], 2),
            ("a,b\r\"c\rd\",\"e\rf", vec![1], 3),
        ];
        for (content, whole, line) in cases {
            assert_eq!(lines(content), (whole, Some(line)), "{content:?}");
        }
        // Elsewhere than at a cell's start a quote is a letter.
        assert_eq!(lines("5\",b\n\"c\"d\",e\"\n"), (vec![1, 2], None));
        let header = TextOptions { header: Header::Yes, ..OPTIONS };
        assert_eq!(read(&b"x,\"y\n1,2\n"[..], header).1.unwrap().line, Some(1));
    }

    #[test]
    fn what_nobody_sees_is_no_name() {
        let header = TextOptions { header: Header::Yes, ..OPTIONS };
        for content in ["\u{feff}\u{feff}x,\u{a0},\u{200b}\n", "\u{feff}\u{200b}x,\u{200b}\u{a0},\n"] {
            let rows = TextRows::open("", content.into(), io::empty(), header, looks_like_names).unwrap();
            assert_eq!((rows.names().unwrap().join(","), rows.unnamed.join(",")), ("x,c2,c3".into(), "c2,c3".into()));
        }
    }

    /// What a device writes of its own record, whatever that is.
    #[test]
    fn there_is_a_first_record_whatever_it_holds() {
        let rows = |content: &[u8]| {
            let options = TextOptions { header: Header::Yes, by_header: true, ..OPTIONS };
            let start = start_of(&mut &content[..]).unwrap();
            let mut rows = TextRows::open("", start, io::empty(), options, |_| true).unwrap();
            let mut found = vec![];
            while let Some(row) = rows.next_row().unwrap() {
                let cells: Vec<String> = row.cells.iter().map(ToOwned::to_owned).collect();
                found.push((row.line, cells.join("|"), row.problem.is_some()));
            }
            found
        };
        let row = |line, cells: &str, problem| (line, cells.to_owned(), problem);
        assert_eq!(rows(b"x,y\n1,\"2\n"), [row(2, "1|2\n\r", true)]);
        assert_eq!(rows(b"x,y\n\"1\n\",\"2"), [row(2, "1\n|2\r", true)]);
        assert_eq!(rows(b"x,y\n1,\xff\n"), [row(2, "1|\u{fffd}", true)]);
        for content in ["x", "x\n", "x\r\n", "x,y", "x,y\n"] {
            assert_eq!(rows(content.as_bytes()), [], "a header alone has no record");
        }
        for content in ["x,y\n\n", "x,y\n \n", "x,y\n ", "x,y\n\"\"\n", "x,y\r\n\r\n", "x,y\n\n\n \n\n"] {
            assert_eq!(rows(content.as_bytes()), [row(2, "", false)], "{content:?}");
        }
        for content in ["x\n\n", "x\n\n\n", "x\n \n", "x\n\"\"\n", "x\n\"\"", "x\r\n\"\"\r\n", "x\r\n\r\n"] {
            let found: Vec<_> = rows(content.as_bytes()).into_iter().map(|(line, cell, _)| (line, cell)).collect();
            assert_eq!(found.len(), 1, "{content:?}");
            assert_eq!((found[0].0, found[0].1.trim()), (2, ""), "{content:?}");
        }
        for end in ["\n", "\r\n", "\r"] {
            let content = ["x", "", "1", " ", "", "2", "\"\"", "3", "", " ", ""].join(end);
            let found: Vec<_> =
                rows(content.as_bytes()).into_iter().map(|(line, cell, _)| (line, cell.trim().to_owned())).collect();
            let expected = [(2, ""), (3, "1"), (4, ""), (5, ""), (6, "2"), (7, ""), (8, "3")];
            assert_eq!(found, expected.map(|(line, cell)| (line, cell.to_owned())), "those at the end are none");
        }
        let long = [&b"x,y\n1,"[..], &vec![b'x'; MOST_BYTES as usize + 9]].concat();
        assert_eq!(rows(&long).len(), 1);
        // A later row that never ends is the problem of a file.
        let options = TextOptions { header: Header::Yes, by_header: true, ..OPTIONS };
        let mut file = TextRows::open("", b"x,y\n1,2\n3,\"4\n".to_vec(), io::empty(), options, |_| true).unwrap();
        assert!(file.next_row().unwrap().is_some());
        assert_eq!(file.next_row().unwrap_err().line, Some(3));
    }

    /// A row of as many bytes as there may be, and what follows it, with one byte more and with a quote.
    #[test]
    fn a_row_is_no_longer_than_what_memory_is_kept_for() {
        let repeated = |byte, count| io::repeat(byte).take(count);
        for first in ["", "1,2\n"] {
            let row = |bytes| first.as_bytes().chain(repeated(b'x', bytes)).chain(&b"\n3,4\n"[..]);
            let (rows, problem) = read(row(MOST_BYTES - 1), OPTIONS);
            assert_eq!((rows.len(), problem), (first.len() / 4 + 2, None));
            let (rows, problem) = read(row(MOST_BYTES), OPTIONS);
            assert_eq!(rows.len(), first.len() / 4);
            let problem = problem.unwrap();
            assert_eq!(problem.line, Some(rows.len() as u64 + 1));
            assert_eq!(problem.what, "longer than 8 MiB: is a quote never closed?");
        }
        // A terabyte of lines after a quote on the third line; most of it is never asked for.
        let mut asked = b"a\n\nb,\"c\n".chain(repeated(b'\n', 1 << 40));
        let (rows, problem) = read(asked.by_ref(), OPTIONS);
        assert_eq!((rows.len(), problem.unwrap().line), (1, Some(3)));
        assert!(asked.get_ref().1.limit() > (1 << 40) - 2 * MOST_BYTES);
        // Many short rows are as long as they like together.
        let many = format!("{}\n", "x".repeat(1023)).repeat(1 << 14);
        assert_eq!(read(many.as_bytes(), OPTIONS).0.len(), 1 << 14);
    }

    proptest! {
        #[test]
        fn any_text_is_rows_below_each_other_or_a_problem_below_them(
            content in prop::collection::vec(prop::sample::select(b"a,\"\"\n\n\r ".to_vec()), 0..40),
        ) {
            let (rows, problem) = read(&content[..], OPTIONS);
            let mut least = 1;
            for (line, cells) in &rows {
                prop_assert!(*line >= least, "{:?}", rows);
                least = line + 1 + cells.iter().map(|cell| line_ends(cell.as_bytes())).sum::<u64>();
            }
            let lines = 1 + content.iter().filter(|&&byte| byte == b'\n' || byte == b'\r').count() as u64;
            prop_assert!(least <= lines + 1);
            if let Some(line) = problem.and_then(|problem| problem.line) {
                prop_assert!((least..=lines).contains(&line), "{} {} {}", line, least, lines);
            }
        }

        /// However their lines end, and whatever pads the last one.
        #[test]
        fn there_is_a_row_for_each_line_that_has_cells(
            rows in prop::collection::vec((0..99_u8, prop::sample::select(vec!["\n", "\r", "\r\n"])), 1..20),
            padding in prop::sample::select(vec!["", "\x1a", "\0\0\0\0", "\x1a\r\n"]),
        ) {
            let lines = rows.iter().fold(String::new(), |lines, (cell, end)| lines + &format!("{cell},\"a\r\"{end}"));
            let (read, problem) = read(format!("{lines}{padding}").as_bytes(), OPTIONS);
            let row = |(place, (cell, _)): (u64, &(u8, &str))| (1 + 2 * place, vec![cell.to_string(), "a\r".into()]);
            let expected: Vec<_> = (0..).zip(&rows).map(row).collect();
            prop_assert_eq!((read, problem), (expected, None));
        }

        /// Whatever the cells are: rows have their lines, and without the last quote the line of its cell.
        #[test]
        fn quoted_rows_are_read_back_or_refused(
            rows in prop::collection::vec(prop::collection::vec("[a,\"\n]{0,5}", 2..4), 1..6),
        ) {
            let mut writer =
                csv::WriterBuilder::new().flexible(true).quote_style(csv::QuoteStyle::Always).from_writer(vec![]);
            let mut expected = vec![];
            let mut line = 1;
            let ends = |text: &String| line_ends(text.as_bytes());
            for row in &rows {
                writer.write_record(row).unwrap();
                expected.push((line, row.clone()));
                line += 1 + row.iter().map(ends).sum::<u64>();
            }
            let content = writer.into_inner().unwrap();
            prop_assert_eq!(read(&content[..], OPTIONS), (expected.clone(), None));
            let (start, last) = expected.pop().unwrap();
            let opens = start + last[..last.len() - 1].iter().map(ends).sum::<u64>();
            let (whole, problem) = read(&content[..content.len() - 2], OPTIONS);
            prop_assert_eq!((whole, problem.and_then(|problem| problem.line)), (expected, Some(opens)));
        }
    }
}
