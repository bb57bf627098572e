//! Whether a text file was read as it was written. A schema is public, so what may be read in two ways is asked for.

use std::io::Read;

use ldp_pca::internal::schema::{Dialect, is_date, is_unread_number, read_number, stands_for_missing};
use ldp_pca::schema::infer::{InferenceOptions, Inferred};
use ldp_pca::schema::{Column, ColumnKind, Unseen};

use crate::rows::TextRows;
use crate::separator::{OptionNames, separator_name};

/// What the rows of a file show of how they should have been read.
#[derive(Debug)]
pub(crate) struct Doubts {
    names: &'static OptionNames,
    dialect: Dialect,
    /// Whether the first line alone showed whether it is a header.
    is_guess: bool,
    columns: Vec<Shown>,
}

/// What the cells of one column show.
#[derive(Debug, Default)]
struct Shown {
    /// Whether the options say what becomes of the column, without a value of the file.
    is_settled: bool,
    /// Whether the options make categories of its values.
    is_named: bool,
    /// The cell of the first line.
    first: Option<String>,
    /// Whether a later row has that text again.
    is_repeated: bool,
    /// The cells below the first line: plain numbers, dates and numbers in other forms, and texts.
    numbers: u64,
    formatted: u64,
    texts: u64,
    /// What may separate cells in all texts, once there is one.
    marks: Option<Vec<Mark>>,
}

/// A character that may separate cells.
#[derive(Debug)]
struct Mark {
    letter: char,
    /// How many are in each text, if these are as many.
    count: Option<usize>,
    /// Whether a number is before the first one in all texts.
    after_number: bool,
}

/// How often categories are there, on average, where a text that is there once is rather the name of their column.
const REPEATS: u64 = 3;

impl Doubts {
    /// For these rows, of which none is read.
    pub(crate) fn new<R: Read>(rows: &TextRows<R>, options: &InferenceOptions) -> Self {
        let shown = |name: String| Shown {
            is_settled: options.ignore.contains(&name) || options.categories.iter().any(|(listed, _)| *listed == name),
            is_named: options.categorical.contains(&name),
            first: rows.names().map(|_| name),
            ..Shown::default()
        };
        Self {
            names: rows.notation().names,
            dialect: rows.dialect(),
            is_guess: rows.is_guess,
            columns: rows.columns().into_iter().map(shown).collect(),
        }
    }

    /// Reads a row.
    pub(crate) fn observe(&mut self, fields: &[&str]) {
        // Of several columns the separator is one that separates.
        let used = (self.columns.len() > 1).then_some(self.dialect.separator);
        for (column, field) in self.columns.iter_mut().zip(fields) {
            column.observe(field.trim(), used);
        }
    }

    /// What must be said before there is a schema, by how the lines look.
    pub(crate) fn of_lines(&self) -> Option<String> {
        self.of_separator().or_else(|| self.of_header())
    }

    /// What must be said before this becomes public.
    pub(crate) fn of_schema(&self, inferred: &Inferred) -> Option<String> {
        let names = self.names;
        let categories = |column: &Column| match &column.kind {
            ColumnKind::Categorical { values, unseen } => values.len() as u64 - u64::from(*unseen == Unseen::Other),
            _ => 0,
        };
        let columns: Vec<_> = self.columns.iter().zip(inferred.schema.columns()).collect();
        let repeats = |(shown, column): &(&Shown, &Column)| {
            let others = categories(column).saturating_sub(1);
            others > 0 && shown.below() >= REPEATS * others
        };
        let mut first = self.columns.iter().filter(|column| column.first_is_text()).peekable();
        let mixed = self.is_guess && !self.dialect.header && first.peek().is_some();
        if mixed && first.all(|column| !column.is_repeated) && columns.iter().any(repeats) {
            return Some(format!(
                "its first line is read as a record, but no text of it is there again, as of a header: say with {} \
                 what the line is",
                names.header
            ));
        }
        let [(shown, column)] = columns[..] else { return None };
        let texts = shown.below() + u64::from(!self.dialect.header);
        let unique = !shown.is_settled && !shown.is_named && (1..=categories(column)).contains(&texts);
        unique.then(|| {
            format!(
                "it has one column of texts that never repeat, and may be no table: name what separates its cells with \
                 {}, or list the categories with {}",
                names.separator, names.categories
            )
        })
    }

    /// A column whose texts look like rows of cells.
    fn of_separator(&self) -> Option<String> {
        let OptionNames { separator, categories, ignore, .. } = self.names;
        let (place, mark) = (1..).zip(&self.columns).find_map(|(place, column)| {
            let has_rows = column.numbers == 0 && (column.texts > 0 || column.first_is_text());
            let marks = column.marks.iter().flatten().filter(|_| has_rows);
            let mark = marks.filter(|mark| self.separates(column, mark)).max_by_key(|mark| is_strong(mark.letter));
            mark.map(|mark| (place, mark.letter))
        })?;
        let used = separator_name(self.dialect.separator);
        let remedy = match separator_name(mark) {
            mark if mark == used => "remove the quotes around whole lines".to_owned(),
            mark => format!("give {separator} {mark}"),
        };
        Some(format!(
            "column {place} looks like rows, as each of its texts has what may separate cells (it was read with \
             {separator} {used}): {remedy}, or, if each text is one cell, list its categories with {categories} or \
             leave it out with {ignore}"
        ))
    }

    /// Whether texts like these are rather rows. A usual separator suffices; others are in names and measures, too.
    fn separates(&self, column: &Shown, mark: &Mark) -> bool {
        let (is_alone, has_header) = (self.columns.len() == 1, self.dialect.header);
        let is_in_header = || column.first.as_deref().map(|name| count(name, mark.letter)) == mark.count;
        is_strong(mark.letter)
            || (mark.after_number && (is_alone || !has_header))
            || (is_alone && (!has_header || is_in_header()))
    }

    /// A first line that may be a header or a record.
    fn of_header(&self) -> Option<String> {
        let header = self.names.header;
        if !self.is_guess {
            return None;
        }
        if !self.dialect.header && self.columns.iter().all(|column| column.first.as_deref() == Some("")) {
            return Some(format!("its first line has no value: remove it, or say with {header} what the line is"));
        }
        let is_odd = |column: &Shown| match self.dialect.header {
            true => column.is_repeated,
            false if column.first_is_text() => column.texts == 0 && column.below() > 0,
            false => column.first_is_number() && column.below() == column.texts && column.texts > 1,
        };
        let place = self.columns.iter().position(|column| !column.is_settled && is_odd(column))? + 1;
        let why = match self.dialect.header {
            true => format!("names the columns, but column {place} has that text again as a value"),
            false => format!("is read as a record, but differs in column {place} from all below, as a header does"),
        };
        Some(format!("its first line {why}: say with {header} what the line is"))
    }
}

impl Shown {
    /// Reads a cell. `used` separates the file's columns, if these are several.
    fn observe(&mut self, field: &str, used: Option<char>) {
        let number = field.parse::<f64>();
        let is_missing = stands_for_missing(field) || number.as_ref().is_ok_and(|number| !number.is_finite());
        if self.is_settled || is_missing {
            self.first.get_or_insert_default();
            return;
        }
        if number.is_err() && !is_one_number(field) {
            self.mark(field, used);
        }
        let Some(first) = &self.first else {
            self.first = Some(field.to_owned());
            return;
        };
        self.is_repeated |= number.is_err() && first == field;
        match number {
            Ok(_) => self.numbers += 1,
            Err(_) if is_text(field) => self.texts += 1,
            Err(_) => self.formatted += 1,
        }
    }

    /// How many cells are below the first line.
    fn below(&self) -> u64 {
        self.numbers + self.formatted + self.texts
    }

    /// Keeps the marks that this text has, too.
    fn mark(&mut self, text: &str, used: Option<char>) {
        let number =
            |letter: char| text.split_once(letter).is_some_and(|(before, _)| before.trim().parse::<f64>().is_ok());
        let marks = self.marks.get_or_insert_with(|| {
            let mut letters: Vec<char> = text.chars().filter(|letter| Dialect::separates(*letter)).collect();
            letters.sort_unstable();
            letters.dedup();
            // Commas are in texts of many kinds, and this joins the words of a name.
            letters.retain(|&letter| letter != '_' && (used.is_none() || (letter != ',' && used != Some(letter))));
            let mark = |letter| Mark { letter, count: Some(count(text, letter)), after_number: true };
            letters.into_iter().map(mark).collect()
        });
        marks.retain_mut(|mark| {
            let found = count(text, mark.letter);
            mark.count = mark.count.filter(|count| *count == found);
            mark.after_number &= number(mark.letter);
            found > 0 && (mark.count.is_some() || is_strong(mark.letter))
        });
    }

    /// Whether the cell of the first line is a text with a letter, as names have.
    fn first_is_text(&self) -> bool {
        let first = self.first.as_deref().unwrap_or_default();
        first.contains(char::is_alphabetic) && first.parse::<f64>().is_err() && is_text(first)
    }

    fn first_is_number(&self) -> bool {
        self.first.as_deref().is_some_and(|first| first.parse::<f64>().is_ok())
    }
}

/// Whether this is neither a date nor a number in any notation.
fn is_text(cell: &str) -> bool {
    let is_number = || [false, true].into_iter().any(|decimal_comma| read_number(cell, decimal_comma).is_some());
    !cell.bytes().any(|byte| byte.is_ascii_digit()) || !(is_number() || is_date(cell) || is_one_number(cell))
}

/// Whether this is a number in a form that is not read. One with spaces may be several.
fn is_one_number(cell: &str) -> bool {
    is_unread_number(cell) && !cell.contains(char::is_whitespace)
}

/// Whether files have this between their cells, and hardly anywhere else.
fn is_strong(letter: char) -> bool {
    ",;\t|^~".contains(letter) || letter.is_ascii_control()
}

/// How many of these are in a text, those that follow each other as one.
fn count(text: &str, letter: char) -> usize {
    let mut before = None;
    text.chars().filter(|&next| before.replace(next) != Some(letter) && next == letter).count()
}

#[cfg(test)]
mod tests {
    use std::io;

    use ldp_pca::internal::schema::NumberForms;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::{Header, Sample, TextOptions, looks_like_names};

    const NAMES: OptionNames = OptionNames { header: "header", separator: "separator", ..OptionNames::NONE };

    /// The schema of a text, or why there is none.
    fn infer(content: &str, header: Header, options: InferenceOptions) -> Result<Inferred, String> {
        let text = TextOptions {
            header,
            separator: None,
            by_header: false,
            one_column: false,
            decimal_comma: false,
            forms: NumberForms::NONE,
            names: &NAMES,
        };
        let rows = TextRows::open("", content.into(), io::empty(), text, looks_like_names);
        let mut rows = rows.map_err(|problem| problem.to_string())?;
        let mut sample = Sample::of_text(&rows, options).map_err(|error| error.to_string())?;
        while let Some(row) = rows.next_row().map_err(|problem| problem.to_string())? {
            sample.observe(&row.cells.iter().collect::<Vec<_>>())?;
        }
        sample.finish().map_err(|error| error.to_string())
    }

    fn plainly(content: &str) -> Result<Inferred, String> {
        infer(content, Header::Auto, InferenceOptions::default())
    }

    fn names(inferred: &Inferred) -> Vec<&str> {
        inferred.schema.columns().iter().map(|column| column.name.as_str()).collect()
    }

    fn rows(header: &str, row: impl Fn(usize) -> String) -> String {
        (0..40).fold(format!("{header}\n"), |content, place| content + &row(place) + "\n")
    }

    #[test]
    fn columns_that_look_like_rows_are_refused_with_the_separator() {
        let cell = |place: usize| ["a", "b", "c"][place % 3];
        for (separator, name) in [
            ("|", "'|'"),
            (" ", "' '"),
            (":", "':'"),
            ("^", "'^'"),
            ("\u{1f}", "$'\\x1f'"),
            ("~", "'~'"),
            ("::", "':'"),
        ] {
            let few = |place: usize| format!("{}{separator}{}", place % 2, cell(place));
            let many = |place: usize| format!("{place}{separator}{}", cell(place));
            for content in [
                rows(&format!("x{separator}g"), few),
                rows(&format!("x{separator}g"), many),
                // A title, and decimal commas without a header.
                rows("sales", many),
                rows(&format!("1,5{separator}a"), |place| format!("{place},5{separator}{}", cell(place))),
                rows(&few(1), few),
            ] {
                let said = plainly(&content).unwrap_err();
                assert!(said.contains(&format!("separator {name}")), "{content} {said}");
            }
            let named = InferenceOptions { categorical: vec![format!("x{separator}g")], ..Default::default() };
            assert!(infer(&rows(&format!("x{separator}g"), few), Header::Auto, named).is_err());
        }
        let quoted = rows("\"x,g\"", |place| format!("\"{},{}\"", place % 2, cell(place)));
        assert!(plainly(&quoted).unwrap_err().contains("the quotes around"));
        let inner = rows("x,g", |place| format!("{place},{}|{}", cell(place), place % 2));
        assert!(plainly(&inner).unwrap_err().contains("column 2 looks like rows"));
        let listed = vec![("g".to_owned(), vec!["a|0".to_owned(), "b|1".to_owned()])];
        let listed = InferenceOptions { categories: listed, ..Default::default() };
        assert_eq!(infer(&inner, Header::Auto, listed).unwrap().schema.dimension(), 3);
        // What names and measures have.
        for values in
            [["Group A", "Group B"], ["1:2", "1:3"], ["10 mg", "20 mg"], ["Lima, PE", "Rome, IT"], ["a|b", "c"]]
        {
            let content = rows("x,g", |place| format!("{place},\"{}\"", values[place % 2]));
            assert_eq!(plainly(&content).unwrap().schema.dimension(), 3, "{values:?}");
        }
    }

    #[test]
    fn a_column_of_lines_that_never_repeat_may_be_no_table() {
        assert!(plainly("404: Not Found\nlog\n").unwrap_err().contains("may be no table"));
        let named = InferenceOptions { categorical: vec!["g".into()], ..Default::default() };
        assert_eq!(infer("g\na\nb\n", Header::Auto, named).unwrap().schema.dimension(), 2);
        assert_eq!(plainly("g\na\nb\na\n").unwrap().schema.dimension(), 2);
        assert_eq!(plainly("x\n1\n2\n").unwrap().schema.dimension(), 1);
    }

    #[test]
    fn an_empty_name_is_that_of_its_position() {
        let row = |place: usize| format!("{}.5,{place},{}", place % 7, ["a", "b", "c"][place % 3]);
        for (header, expected) in [
            (",,g", ["c1", "c2", "g"]),
            ("x,,g", ["x", "c2", "g"]),
            ("x, ,\"\"", ["x", "c2", "c3"]),
            (",y,g", ["c1", "y", "g"]),
        ] {
            let inferred = plainly(&rows(header, row)).unwrap();
            assert_eq!((inferred.rows, names(&inferred)), (40, expected.to_vec()), "{header}");
            let unnamed = expected.iter().filter(|name| name.starts_with('c')).count();
            assert_eq!(inferred.warnings.len(), unnamed, "{:?}", inferred.warnings);
        }
        let inferred = plainly(&rows("x,y,g,", |place| row(place) + ",")).unwrap();
        assert_eq!((names(&inferred), &inferred.always_zero[..]), (vec!["x", "y", "g", "c4"], &["c4".to_owned()][..]));
        assert!(plainly(&rows(",,", row)).unwrap_err().contains("header"));
    }

    #[test]
    fn a_first_line_that_may_be_a_header_or_a_record_is_asked_for() {
        let cell = |place: usize| ["a", "b", "c"][place % 3];
        let row = |place: usize| format!("{place},{},{}", place * 7 % 11, cell(place));
        for header in ["x,2019,g", "x,y,7", "nan,y,g", "5,a,b", "4,5,c"] {
            let content = rows(header, row);
            assert_eq!(plainly(&content).is_ok(), header == "4,5,c", "{header}");
            for (said, header) in [(Header::Yes, true), (Header::No, false)] {
                let inferred = infer(&content, said, InferenceOptions::default());
                assert!(inferred.is_ok_and(|inferred| inferred.schema.dialect().header == header));
            }
        }
        // The years of a table, and a record that would become names.
        assert!(plainly(&rows("country,2019", |place| format!("{},{place}", cell(place)))).is_err());
        assert!(plainly(&rows("a,b", |place| format!("{},{}", cell(place), cell(place + 1)))).is_err());
    }

    proptest! {
        /// However the cells are separated, and whatever the header is.
        #[test]
        fn no_row_of_several_cells_becomes_public(
            separator in select(vec![",", ";", "\t", "|", " ", ":", "^", "\u{1f}", "~", "/", "::", " | ", "  ", "#"]),
            header in select(vec![None, Some(["age", "score", "g"]), Some(["age", "", "g"]), Some(["", "", "g"])]),
            point in select(vec![".", ","]),
            cells in prop::collection::vec((0..99_u8, 0..5_u8, select(vec!["a", "b", "c"])), 1..60),
        ) {
            let line = |(age, score, group): &(u8, u8, &str)| {
                [format!("{age}{point}5"), score.to_string(), (*group).to_owned()].join(separator)
            };
            let header = header.iter().map(|names| names.join(separator));
            let lines: Vec<String> = header.chain(cells.iter().map(line)).collect();
            if let Ok(inferred) = plainly(&lines.join("\n")) {
                prop_assert_eq!(inferred.rows + u64::from(inferred.schema.dialect().header), lines.len() as u64);
                for name in inferred.schema.feature_names() {
                    let (column, value) = name.split_once('=').unwrap_or((name.as_str(), ""));
                    prop_assert!(!column.contains(separator) && !value.contains(separator), "{}", name);
                }
            }
        }
    }
}
