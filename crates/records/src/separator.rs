//! The separator of the cells of a text file, and the notation of its numbers.

use std::borrow::Cow;

use csv::{ByteRecord, StringRecord};
use ldp_pca::internal::schema::{Dialect, NumberForms, in_ascii, is_unread_number, plain_number, read_number};

/// Content without the byte order marks that editors write before it.
#[must_use]
pub fn unmarked(mut content: &[u8]) -> &[u8] {
    while let Some(rest) = content.strip_prefix("\u{feff}".as_bytes()) {
        content = rest;
    }
    content
}

/// The separators that are recognised.
const KNOWN: [u8; 3] = [b',', b';', b'\t'];

/// What messages call the options, each with its article where it needs one.
#[derive(Debug)]
pub struct OptionNames {
    /// Those that say whether the first line names the columns.
    pub header: &'static str,
    /// The one that names the separator.
    pub separator: &'static str,
    /// The one for decimal commas.
    pub decimal_comma: &'static str,
    /// The one for numbers in other forms.
    pub number_format: &'static str,
    /// The one that makes texts of a column's numbers.
    pub categorical: &'static str,
    /// The one that lists the categories of a column.
    pub categories: &'static str,
    /// The one that leaves a column out.
    pub ignore: &'static str,
}

impl OptionNames {
    pub(crate) const NONE: Self = Self {
        header: "",
        separator: "",
        decimal_comma: "",
        number_format: "",
        categorical: "",
        categories: "",
        ignore: "",
    };
}

/// Parses the name of a separator.
///
/// # Errors
/// What to give instead.
pub fn parse_separator(text: &str) -> Result<u8, String> {
    match (text, text.as_bytes()) {
        ("comma", _) => Ok(b','),
        ("semicolon", _) => Ok(b';'),
        ("tab" | "\\t", _) => Ok(b'\t'),
        (_, &[byte]) if Dialect::separates(byte.into()) => Ok(byte),
        _ => Err("give comma, semicolon, tab or one character that no number has".into()),
    }
}

/// The name of a separator, as a shell takes it.
#[must_use]
pub fn separator_name(separator: char) -> String {
    match separator {
        ',' => "comma".into(),
        ';' => "semicolon".into(),
        '\t' => "tab".into(),
        ' ' => "' ' (with one space between two cells)".into(),
        '\'' => "\"'\"".into(),
        control if control.is_ascii_control() => format!("$'\\x{:02x}'", u32::from(control)),
        other => format!("'{other}'"),
    }
}

/// The separator of a file: the one that separates the first line. Where several do, it is the only one that gives all
/// lines of `start` the same number of cells, or the comma of a header. `start` has the first bytes of the file, and
/// `whole` says that they are all. With `decimal_comma` the comma separates only a header or quoted commas. `is_header`
/// is asked of the first line's cells.
pub(crate) fn of(
    start: &[u8],
    whole: bool,
    decimal_comma: bool,
    is_header: impl Fn(&[&str]) -> bool,
    names: &OptionNames,
) -> Result<u8, String> {
    let start = unmarked(start);
    let lines = counts(start, whole);
    let first = lines.first().copied().unwrap_or_default();
    let by_comma = |cells: StringRecord| {
        let cells: Vec<_> = cells.iter().map(str::trim).collect();
        cells.iter().any(|cell| cell.contains(',')) || is_header(&cells)
    };
    let has_commas = !decimal_comma || first_cells(start, 0).is_some_and(by_comma);
    let fits = |place: &usize| first[*place] > 0 && (has_commas || KNOWN[*place] != b',');
    let candidates: Vec<usize> = (0..KNOWN.len()).filter(fits).collect();
    match candidates[..] {
        [] => return Ok(unseen(decimal_comma)),
        [only] => return Ok(KNOWN[only]),
        _ => {}
    }
    let steady = |place: &&usize| lines.iter().all(|line| line[**place] == first[**place]);
    let steady: Vec<usize> = candidates.iter().filter(steady).copied().collect();
    match steady[..] {
        [only] => Ok(KNOWN[only]),
        _ if candidates[0] == 0 && names_columns(start, &candidates, is_header) => Ok(b','),
        _ => Err(format!(
            "more than one of comma, semicolon and tab may separate its cells: name the one with {}",
            names.separator
        )),
    }
}

/// The separator of a file of one column, which does not show it.
fn unseen(decimal_comma: bool) -> u8 {
    if decimal_comma { b';' } else { b',' }
}

/// The separator of a file of which only the header may show it: the one that makes the first line a header.
pub(crate) fn of_header(
    start: &[u8],
    decimal_comma: bool,
    is_header: impl Fn(&[&str]) -> bool,
    names: &OptionNames,
) -> Result<u8, String> {
    let start = unmarked(start);
    let is_header = |cells: &StringRecord| is_header(&cells.iter().map(str::trim).collect::<Vec<_>>());
    let splits = |place: &usize| first_cells(start, *place).is_some_and(|cells| cells.len() > 1 && is_header(&cells));
    let found: Vec<usize> = (0..KNOWN.len()).filter(splits).collect();
    match found[..] {
        [] if first_cells(start, 0).is_some_and(|cells| is_header(&cells)) => Ok(unseen(decimal_comma)),
        // It is no header by any of them. The message is clearer with its own.
        [] => Ok(only_separator(start).unwrap_or(b',')),
        [only] => Ok(KNOWN[only]),
        _ => {
            Err(format!("more than one separator makes its first line a header: name the one with {}", names.separator))
        }
    }
}

/// The separator of the first line, where it has one of them alone.
fn only_separator(start: &[u8]) -> Option<u8> {
    let first = counts(start, true).first().copied()?;
    let mut there = KNOWN.into_iter().zip(first).filter(|(_, count)| *count > 0);
    there.next().filter(|_| there.next().is_none()).map(|(separator, _)| separator)
}

/// The cells of the first line that is not blank.
fn first_cells(start: &[u8], place: usize) -> Option<StringRecord> {
    let mut record = ByteRecord::new();
    let mut builder = csv::ReaderBuilder::new();
    let mut reader = builder.has_headers(false).flexible(true).delimiter(KNOWN[place]).from_reader(start);
    while reader.read_byte_record(&mut record).ok()? && record.iter().flatten().all(|&byte| is_padding(byte)) {}
    StringRecord::from_byte_record(record).ok()
}

/// Whether a file's name says that tabs separate the cells.
#[must_use]
pub fn named_tab(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.ends_with(".tsv") || name.ends_with(".tab")
}

/// How many of each separator are outside the quotes, in every line that is not blank. A last line without its end
/// counts where there is no more, and where it is the only one.
fn counts(start: &[u8], whole: bool) -> Vec<[usize; KNOWN.len()]> {
    let mut lines = vec![];
    let (mut line, mut blank) = ([0; KNOWN.len()], true);
    // A quote opens at the start of a cell alone: elsewhere it is a letter like others.
    let (mut quoted, mut opens) = (false, true);
    for &byte in start {
        if byte == b'"' && (quoted || opens) {
            quoted = !quoted;
            // The second quote of two inside a cell opens it again.
            (opens, blank) = (true, false);
            continue;
        }
        let place = KNOWN.iter().position(|known| *known == byte);
        match byte {
            _ if quoted => {}
            b'\r' | b'\n' => {
                if !blank {
                    lines.push(line);
                }
                (line, blank, opens) = ([0; KNOWN.len()], true, true);
            }
            _ => {
                if let Some(place) = place {
                    line[place] += 1;
                }
                opens = place.is_some();
                blank &= is_padding(byte) && place.is_none();
            }
        }
    }
    if !blank && (whole || lines.is_empty()) {
        lines.push(line);
    }
    lines
}

/// Whether lines of this alone are empty: a blank, or what MS-DOS and copies of whole blocks leave at the end.
pub(crate) fn is_padding(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"\0\x1a".contains(&byte)
}

/// Whether the first line names columns, by the comma, and has no number by any of the separators: a record like
/// `a;1,5;b` has one.
fn names_columns(start: &[u8], candidates: &[usize], is_header: impl Fn(&[&str]) -> bool) -> bool {
    let number = |cell: &str| cell.trim().replace(',', ".").parse::<f64>().is_ok();
    let others =
        candidates.iter().filter_map(|&place| first_cells(start, place)).all(|cells| !cells.iter().any(number));
    others && first_cells(start, 0).is_some_and(|cells| is_header(&cells.iter().map(str::trim).collect::<Vec<_>>()))
}

/// The notation of a file's numbers.
#[derive(Clone, Copy, Debug)]
pub struct Notation {
    /// A comma is the decimal point.
    pub(crate) decimal_comma: bool,
    /// The separator of its cells.
    pub(crate) separator: u8,
    /// What its numbers may have.
    pub(crate) forms: NumberForms,
    pub(crate) names: &'static OptionNames,
}

impl Notation {
    /// The notation of files whose cells are not text.
    pub const PLAIN: Self =
        Self { decimal_comma: false, separator: b',', forms: NumberForms::NONE, names: &OptionNames::NONE };

    /// The cell with a number as digits and a decimal point.
    #[must_use]
    pub fn pointed(self, cell: &str) -> Cow<'_, str> {
        let number = self.formatted(cell).map(|number| number.to_string());
        let pointed = || if self.decimal_comma { with_point(cell) } else { None };
        number.or_else(pointed).map_or(cell.into(), Cow::Owned)
    }

    /// The number of a cell that is not plain, where its forms are to be read.
    fn formatted(self, cell: &str) -> Option<f64> {
        if self.forms.is_empty() {
            return None;
        }
        let (number, forms) = read_number(cell, self.decimal_comma)?;
        let forms = forms.without(NumberForms::DECIMAL_COMMA);
        (!forms.is_empty() && self.forms.has(forms)).then_some(number)
    }

    /// The problem of the number in this cell, where it has a form that is not to be read.
    pub(crate) fn unread(self, cell: &str) -> Option<String> {
        let Some((_, forms)) = read_number(cell, self.decimal_comma) else {
            let problem = "a number in a form that is not read: write it with digits, a sign and a decimal point alone";
            return is_unread_number(cell).then(|| problem.to_owned());
        };
        let forms = forms.without(NumberForms::DECIMAL_COMMA);
        let option = self.names.number_format;
        (!self.forms.has(forms)).then(|| format!("a number with {forms} ({option} {} reads it)", forms.names()))
    }

    /// The problem of the number in this cell, which would otherwise be read as another number, or as a text.
    /// Where commas separate, the comma in a quoted cell may as well group digits, and the cell is a text.
    #[must_use]
    pub fn problem(self, cell: &str) -> Option<String> {
        let number = |text: &str| plain_number(text).is_some();
        let option = self.names.decimal_comma;
        if self.formatted(cell).is_some() {
            None
        } else if self.decimal_comma {
            let grouped = cell.contains('.') && number(&cell.replace('.', "").replacen(',', ".", 1));
            grouped.then(|| format!("a point in a number where {option} reads commas: write the number without points"))
        } else {
            (self.separator != b',' && with_point(&cell.replace('.', "")).is_some())
                .then(|| format!("a comma in a number: give {option} if it is the decimal point, or remove it"))
        }
    }
}

/// The number of this text with a point in place of its one comma, if it is a number then.
fn with_point(text: &str) -> Option<String> {
    let text = in_ascii(text);
    let pointed = text.contains(',').then(|| text.replacen(',', ".", 1))?;
    plain_number(&pointed).is_some().then_some(pointed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::looks_like_names;

    const NAMES: OptionNames = OptionNames {
        separator: "separator",
        decimal_comma: "decimal_comma",
        number_format: "number_format",
        ..OptionNames::NONE
    };

    fn separator_of(content: &[u8], whole: bool) -> Result<u8, String> {
        of(content, whole, false, looks_like_names, &NAMES)
    }

    fn found(content: &str) -> Option<char> {
        separator_of(content.as_bytes(), true).ok().map(char::from)
    }

    #[test]
    fn the_first_line_shows_the_separator() {
        let cases = [
            ("a,b\n1,2\n", ','),
            ("a;b\n1,5;2\n", ';'),
            ("a\tb\n1\t2\n", '\t'),
            ("\u{feff}\u{feff}\"a;x\",b\n", ','),
            ("\"a,\"\"x\";b\n1;2", ';'),
            ("\r\n \r\na;b\r\n1;2\r\n", ';'),
            ("a;b\r1;2\r", ';'),
            ("one\n\"t;w;o\"\n", ','),
            ("5\" pipe;\"a\n,\"\n", ';'),
            ("", ','),
        ];
        for (content, separator) in cases {
            assert_eq!(found(content), Some(separator), "{content:?}");
        }
    }

    #[test]
    fn a_header_is_sought_after_blank_lines() {
        let is_header = |cells: &[&str]| cells == ["a", "b"];
        for content in ["\t\na,b\n1,2\n", "\n \n\t\t\n a , b \n", "a,b"] {
            assert_eq!(of_header(content.as_bytes(), false, is_header, &NAMES), Ok(b','), "{content:?}");
        }
        assert_eq!(of_header(b"\t\n", false, is_header, &NAMES), Ok(b'\t'));
    }

    #[test]
    fn a_decimal_comma_separates_nothing() {
        for (content, separator) in [
            ("x\n1,5\n", b';'),
            ("0,25\n1,26\n", b';'),
            ("0,5;0,25;0\n1,5;2,25;1\n", b';'),
            ("x,y\n\"1,5\",2\n", b','),
            ("\"1,5\",2\n", b','),
        ] {
            assert_eq!(of(content.as_bytes(), true, true, looks_like_names, &NAMES), Ok(separator), "{content}");
        }
    }

    #[test]
    fn where_several_separate_the_lines_or_a_header_decide() {
        let cases = [
            // Texts with semicolons, under a header and without one.
            ("id,note;s\n1,x;y;z\n2,none\n", Some(',')),
            ("1,x; y\n2,z\n", Some(',')),
            ("1,x; y\n2,z\n\x1a", Some(',')),
            // Decimal commas without a header.
            ("1,5;2,5\n3;4,25\n", Some(';')),
            ("1,5\t2,5\n3\t4,25\n", Some('\t')),
            ("name;price, EUR;size\nx;1;2\n", Some(';')),
            // Both fit: the header has the comma, or nobody knows.
            ("id,a;b\nx,y;z\n", Some(',')),
            ("1,5;2,5\n3,0;4,0\n", None),
            ("x;1,5;y\nz;2,5;y\n", None),
            ("1;2\t3\n", None),
            // Neither fits all lines.
            ("id,a;b\n1,2,3\n4;5;6\n", Some(',')),
            ("1,a;b\n1,2,3\n4;5;6\n", None),
        ];
        for (content, separator) in cases {
            assert_eq!(found(content), separator, "{content:?}");
        }
    }

    #[test]
    fn a_name_shows_tabs_and_a_line_without_its_end_is_not_compared() {
        for name in ["a.tsv", "a.TSV.gz", "a.tab", "tab.tab.gz"] {
            assert!(named_tab(name), "{name}");
        }
        for name in ["tsv", "a.tsv.csv", "tab", "a.gz"] {
            assert!(!named_tab(name), "{name}");
        }
        let cut = |whole| separator_of(b"1,5;2\n2,5;3\n3,5;4,", whole).ok();
        assert_eq!((cut(false), cut(true)), (None, Some(b';')));
        assert_eq!(separator_of(b"a;b", false), Ok(b';'));
    }

    #[test]
    fn separators_are_named_or_one_character_that_no_cell_needs() {
        let good = [("comma", b','), ("semicolon", b';'), ("tab", b'\t'), ("|", b'|'), (" ", b' '), (";", b';')];
        for (text, byte) in good {
            assert_eq!(parse_separator(text), Ok(byte));
        }
        for text in ["", "\"", "a", "7", ".", "-", "+", "\n", "||", "é", "pipe"] {
            assert!(parse_separator(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn numbers_in_another_notation_are_not_texts() {
        let notation =
            |decimal_comma, separator| Notation { decimal_comma, separator, forms: NumberForms::NONE, names: &NAMES };
        let (comma, points) = (notation(true, b';'), notation(false, b';'));
        for (cell, pointed) in
            [("1,5", "1.5"), (" -0,25e3 ", " -0.25e3 "), ("12", "12"), ("a,b", "a,b"), ("1,2,3", "1,2,3")]
        {
            assert_eq!(comma.pointed(cell), pointed);
            assert_eq!(comma.problem(cell), None, "{cell}");
            assert_eq!(points.pointed(cell), cell);
        }
        for cell in ["1.234,5", "1.5", " 1.234.567 "] {
            assert!(comma.problem(cell).is_some(), "{cell}");
        }
        for (cell, pointed) in [("\u{2212}0,5", "-0.5"), ("１，５", "1.5")] {
            assert_eq!((comma.pointed(cell).as_ref(), comma.problem(cell)), (pointed, None));
            assert!(points.problem(cell).is_some(), "{cell}");
        }
        for cell in ["1,5", "-1.234,5", ",5", " 3,0 "] {
            assert!(points.problem(cell).is_some(), "{cell}");
            assert_eq!(Notation::PLAIN.problem(cell), None, "{cell}");
        }
        for cell in ["1.5", "", "NA", "a,b", "1,2,3", "St. Louis, MO"] {
            assert_eq!(points.problem(cell), None, "{cell}");
        }
    }

    #[test]
    fn numbers_in_another_form_are_read_where_that_is_asked_for() {
        let notation = |decimal_comma, forms| Notation {
            decimal_comma,
            separator: b';',
            forms: NumberForms::parse(forms).unwrap(),
            names: &NAMES,
        };
        let thousands = notation(false, "thousands");
        for (cell, read) in [("1,234", "1234"), (" 1 000.5 ", "1000.5"), ("12", "12"), ("a", "a"), ("5%", "5%")] {
            assert_eq!((thousands.pointed(cell).as_ref(), thousands.problem(cell)), (read, None));
        }
        assert_eq!(thousands.unread("1,234"), None);
        let problem =
            "a number with thousands separators and currency signs (number_format thousands,currency reads it)";
        assert_eq!(thousands.unread("$1,234").unwrap(), problem);
        assert!(thousands.unread("'5").unwrap().contains("a form that is not read: write it"));
        assert_eq!(thousands.unread("five"), None);
        assert!(thousands.problem("1,5").is_some());
        let both = notation(true, "thousands,percent");
        for (cell, read) in [("1.234,5", "1234.5"), ("12,5 %", "0.125"), ("1,5", "1.5"), ("1.234.567", "1234567")] {
            assert_eq!((both.pointed(cell).as_ref(), both.problem(cell)), (read, None));
        }
        assert!(both.problem("1.5").is_some());
        let percent = notation(true, "percent");
        assert!(percent.problem("1.234").is_some() && percent.unread("1.234").is_some());
    }

    proptest! {
        /// Whatever the cells are, once they are quoted.
        #[test]
        fn quoted_cells_never_decide(
            place in 0..KNOWN.len(),
            rows in prop::collection::vec(prop::collection::vec("[a,;\t\"\n]{0,6}", 2..5), 1..6),
        ) {
            let mut writer = csv::WriterBuilder::new()
                .delimiter(KNOWN[place])
                .flexible(true)
                .quote_style(csv::QuoteStyle::Always)
                .from_writer(vec![]);
            for row in &rows {
                writer.write_record(row).unwrap();
            }
            let content = writer.into_inner().unwrap();
            prop_assert_eq!(separator_of(&content, true), Ok(KNOWN[place]));
        }

        #[test]
        fn any_bytes_have_a_separator_or_are_refused(
            content in prop::collection::vec(prop::sample::select(b"a1,;\t\"\n\r \xff".to_vec()), 0..60),
            whole: bool,
        ) {
            if let Ok(separator) = separator_of(&content, whole) {
                prop_assert!(separator == b',' || content.contains(&separator));
            }
        }
    }
}
