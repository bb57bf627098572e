//! Whether a text file was read as it was written. A schema is public, so what may be read in two ways is asked for.

use std::collections::{BTreeMap, BTreeSet};

use ldp_pca::internal::schema::{Dialect, is_date, is_unread_number, read_number, stands_for_missing};
use ldp_pca::schema::infer::{InferenceOptions, Inferred};
use ldp_pca::schema::{Column, ColumnKind, Unseen};

use crate::separator::{Notation, OptionNames, separator_name};

/// What the rows of a file show of how they should have been read.
#[derive(Debug)]
pub(crate) struct Doubts {
    names: &'static OptionNames,
    dialect: Dialect,
    /// Whether the first line alone showed whether it is a header.
    is_guess: bool,
    /// How many rows were read.
    rows: u64,
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
    /// The shape of a name that is rather a value.
    shape: Option<String>,
    /// Whether a later row has the text of the first line again, or the shape.
    is_repeated: bool,
    /// Whether the first record below the header has a text here, if it has anything.
    is_lead_text: Option<bool>,
    /// The cells below the first line: plain numbers, dates and numbers in other forms, and texts.
    numbers: u64,
    formatted: u64,
    texts: u64,
    /// The records with a plain number or a text.
    cells: u64,
    /// What may separate cells in these texts.
    marks: BTreeMap<char, Mark>,
}

/// The texts in which a character stands between two others.
#[derive(Debug, Default)]
struct Mark {
    texts: u64,
    /// Those that have it more than once.
    repeated: u64,
    /// Those with a number before the first one.
    after_number: u64,
    /// Whether any has a number before the first one or after the last one.
    has_number: bool,
    /// How many parts each text has between these, if all have as many.
    parts: Option<usize>,
}

/// How often categories are there, on average, where a text that is there once is rather the name of their column.
const REPEATS: u64 = 3;

impl Doubts {
    /// For rows of these columns that are read so, of which none is read. `is_guess`: the first line alone showed
    /// whether it is a header.
    pub(crate) fn new(
        columns: Vec<String>,
        dialect: Dialect,
        is_guess: bool,
        notation: &Notation,
        options: &InferenceOptions,
    ) -> Self {
        let shown = |name: String| Shown {
            is_settled: options.ignore.contains(&name) || options.categories.iter().any(|(listed, _)| *listed == name),
            is_named: options.categorical.contains(&name),
            shape: dialect.header.then(|| shape_of_value(&notation.pointed(&name))).flatten(),
            first: dialect.header.then_some(name),
            ..Shown::default()
        };
        Self { names: notation.names, dialect, is_guess, rows: 0, columns: columns.into_iter().map(shown).collect() }
    }

    /// Reads a row.
    pub(crate) fn observe(&mut self, fields: &[&str]) {
        self.rows += 1;
        let (is_lead, is_alone) = (self.rows == 1, self.columns.len() == 1);
        for (column, field) in self.columns.iter_mut().zip(fields) {
            column.observe(field.trim(), is_lead, is_alone);
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
        let used = self.dialect.separator;
        let (place, letter, mark) = (0..self.columns.len()).find_map(|place| {
            let marks = self.columns[place].marks.iter().filter(|(letter, mark)| self.separates(place, **letter, mark));
            let found = marks.max_by_key(|(letter, mark)| (is_strong(**letter), !joins(**letter), mark.texts));
            found.map(|(letter, mark)| (place, *letter, mark))
        })?;
        let given = match separator_name(letter) {
            _ if letter == used => "remove the quotes around whole lines".to_owned(),
            _ if !Dialect::separates(letter) => format!("separate the cells by commas in place of {letter:?}"),
            name => format!("give {separator} {name}"),
        };
        let ignored = if self.columns.len() > 1 { format!(" or leave it out with {ignore}") } else { String::new() };
        let listed = format!("list its categories with {categories}{ignored}");
        let is_in_name = self.in_name(place, letter) > 0;
        let is_of_words = if letter == used { !is_in_name } else { letter == ' ' && !mark.has_number };
        let remedy = match is_of_words {
            true => format!("if each text is one cell, {listed}; if not, {given}"),
            false => format!("{given}, or, if each text is one cell, {listed}"),
        };
        Some(format!(
            "column {} looks like rows, as its texts have what may separate cells (it was read with {separator} {}): \
             {remedy}",
            place + 1,
            separator_name(used)
        ))
    }

    /// How many of these the name of a column has.
    fn in_name(&self, place: usize, letter: char) -> usize {
        let name = self.columns[place].first.as_deref().filter(|_| self.dialect.header);
        name.map_or(0, |name| name.matches(letter).count())
    }

    /// Whether texts like these are rather rows. A usual separator suffices; others are in names and measures, too, and
    /// count in a file of one column, or where a decimal comma may have made several.
    fn separates(&self, place: usize, letter: char, mark: &Mark) -> bool {
        let Dialect { separator: used, header: has_header, .. } = self.dialect;
        let is_alone = self.columns.len() == 1;
        let cells = self.columns[place].cells;
        let in_name = self.in_name(place, letter);
        let most = |texts: u64| 2 * texts > cells;
        // A comma that was read as the separator may be a decimal comma.
        let after_comma = || {
            let before = place.checked_sub(1).map(|before| &self.columns[before]).filter(|_| used == ',');
            !has_header && before.is_some_and(|before| before.numbers == before.below())
        };
        if joins(letter) {
            let is_row = if is_alone { !has_header || in_name > 1 } else { after_comma() };
            return most(mark.repeated) && is_row;
        }
        if !is_alone && (letter == ',' || letter == used) {
            return in_name > 0 && most(mark.texts);
        }
        if is_strong(letter) {
            return if is_alone { in_name > 0 || most(mark.texts) } else { 10 * mark.texts >= 9 * cells };
        }
        if is_alone {
            return most(mark.texts) && (!has_header || in_name > 0 || most(mark.after_number));
        }
        let parts = mark.parts.unwrap_or_default();
        !has_header && mark.after_number == cells && (parts > 2 || (parts == 2 && after_comma()))
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
        let quoted = |name: &str| name.len() > 1 && name.starts_with('\'') && name.ends_with('\'');
        if self.dialect.header && self.columns.iter().all(|column| column.first.as_deref().is_some_and(quoted)) {
            return Some(format!(
                "its cells are quoted with ': use double quotes, or say with {header} what its first line is"
            ));
        }
        let has_numbers = |column: &&Shown| {
            let texts = column.texts + column.formatted;
            column.numbers > 1 && texts == u64::from(column.is_lead_text == Some(true))
        };
        let mut leads = self.columns.iter().filter(has_numbers).filter_map(|column| column.is_lead_text).peekable();
        if self.dialect.header && leads.peek().is_some() && leads.all(|is_text| is_text) {
            return Some(format!(
                "the line below its header has texts where all others have numbers, as a header or units do: remove \
                 what is no record, or say with {header} what the first line is"
            ));
        }
        let is_odd = |column: &Shown| match self.dialect.header {
            true => column.is_repeated,
            false if column.first_is_text() => column.texts == 0 && column.below() > 0,
            false => column.first_is_number() && column.below() == column.texts && column.texts > 1,
        };
        let place = self.columns.iter().position(|column| !column.is_settled && is_odd(column))? + 1;
        let why = match self.dialect.header {
            true => {
                format!("names the columns, but column {place} has that text, or one that looks the same, as a value")
            }
            false => format!("is read as a record, but differs in column {place} from all below, as a header does"),
        };
        Some(format!("its first line {why}: say with {header} what the line is"))
    }
}

impl Shown {
    /// Reads a cell. `is_lead` says that it is of the first record, and `is_alone` that it is all of its row.
    fn observe(&mut self, field: &str, is_lead: bool, is_alone: bool) {
        let number = field.parse::<f64>();
        let is_missing = stands_for_missing(field) || number.as_ref().is_ok_and(|number| !number.is_finite());
        if self.is_settled || is_missing {
            self.first.get_or_insert_default();
            return;
        }
        let is_text = number.is_err() && is_text(field);
        self.cells += u64::from(is_text || number.is_ok());
        if is_text && (is_alone || !is_time(field)) {
            self.mark(field);
        }
        let Some(first) = &self.first else {
            self.first = Some(field.to_owned());
            return;
        };
        if is_lead {
            self.is_lead_text = Some(is_text);
        }
        let is_like = |known: &String| *known == shape(field);
        self.is_repeated |= (number.is_err() && first == field) || self.shape.as_ref().is_some_and(is_like);
        match number {
            Ok(_) => self.numbers += 1,
            Err(_) if is_text => self.texts += 1,
            Err(_) => self.formatted += 1,
        }
    }

    /// How many cells are below the first line.
    fn below(&self) -> u64 {
        self.numbers + self.formatted + self.texts
    }

    /// Counts what may separate the cells of this text. A mark at its start or end separates nothing.
    fn mark(&mut self, text: &str) {
        for letter in text.chars().filter(|letter| may_separate(*letter)).collect::<BTreeSet<_>>() {
            // Dashes among spaces separate, as these do.
            let is_blank = |blank: char| blank.is_whitespace() || (letter == ' ' && "-–—".contains(blank));
            let parts = text.split(letter).map(|part| part.trim_matches(is_blank)).filter(|part| !part.is_empty());
            let parts: Vec<&str> = parts.collect();
            let [first, .., last] = parts[..] else { continue };
            let is_number = |part: &str| part.parse::<f64>().is_ok();
            let mark = self.marks.entry(letter).or_insert(Mark { parts: Some(parts.len()), ..Mark::default() });
            mark.texts += 1;
            mark.repeated += u64::from(text.matches(letter).count() > 1);
            mark.after_number += u64::from(is_number(first));
            mark.has_number |= is_number(first) || is_number(last);
            mark.parts = mark.parts.filter(|count| *count == parts.len());
        }
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

/// Whether this is a time of day, such as `08:00`.
fn is_time(cell: &str) -> bool {
    cell.split(':').all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The shape of a text that is rather a value than a name: a number in any form, a date, an e-mail address, or another
/// text that begins with a digit.
fn shape_of_value(name: &str) -> Option<String> {
    let is_address = name.split_once('@').is_some_and(|(local, domain)| !local.is_empty() && domain.contains('.'));
    let is_value = is_address || !is_text(name) || name.starts_with(|first: char| first.is_ascii_digit());
    is_value.then(|| shape(name))
}

/// A text with `9` for every number and `a` for every word; all e-mail addresses are `@`.
fn shape(text: &str) -> String {
    if text.contains('@') {
        return "@".into();
    }
    let mut shape = String::new();
    for letter in text.chars() {
        let kind = match letter {
            '.' | ',' if shape.ends_with('9') => '9',
            _ if letter.is_numeric() => '9',
            _ if letter.is_alphabetic() => 'a',
            _ => letter,
        };
        if !shape.ends_with(kind) {
            shape.push(kind);
        }
    }
    shape
}

/// Whether files have this between their cells, and hardly anywhere else.
fn is_strong(letter: char) -> bool {
    ",;\t|^~".contains(letter) || letter.is_ascii_control()
}

/// Whether this also joins the parts of one word or number.
fn joins(letter: char) -> bool {
    "_-+.".contains(letter)
}

/// Whether this is a mark, in a text of any script: none that is part of a word.
fn may_separate(letter: char) -> bool {
    let is_mark = matches!(letter,
        '\u{80}'..='\u{bf}' | '×' | '÷' | '\u{60c}' | '\u{61b}' | '\u{2000}'..='\u{200b}' | '\u{200e}'..='\u{2bff}'
        | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ffef}' | '\u{feff}');
    joins(letter) || Dialect::separates(letter) || (is_mark && !letter.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use std::io;

    use ldp_pca::internal::schema::NumberForms;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::{Header, Sample, TextOptions, TextRows, looks_like_names};

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
    }

    #[test]
    fn names_and_measures_are_no_rows() {
        for values in [
            ["Group A", "Group B"],
            ["1:2", "1:3"],
            ["10 mg", "20 mg"],
            ["Lima, PE", "Rome, IT"],
            ["Pen, blue", "Pen, red"],
            ["a|b", "c"],
            ["1 - agree", "2 - disagree"],
            ["08:00", "09:30"],
            ["10-19", "20-29"],
            ["~5", "~6"],
        ] {
            let content = rows("x,g", |place| format!("{place},\"{}\"", values[place % 2]));
            assert_eq!(plainly(&content).unwrap().schema.dimension(), 3, "{values:?}");
        }
        for values in [["08:00", "09:30"], ["1/2", "1/3"], ["10 mg", "20 mg"], ["1 - agree", "2 - disagree"]] {
            let content = rows(&format!("{},7", values[0]), |place| format!("{},{place}", values[place % 2]));
            assert_eq!(plainly(&content).unwrap().schema.dimension(), 3, "{values:?}");
        }
        for (name, values) in [
            ("group", ["Group A", "Group B"]),
            ("group", ["Group 1", "Group 2"]),
            ("city", ["New York", "San Jose"]),
            ("city", ["New York", "Paris"]),
            ("age-group", ["10-19", "20-29"]),
            ("icd", ["A00.1", "E11.9"]),
            ("grade", ["5*", "4*"]),
            ("size", ["~5", "5~"]),
            ("smoking_status", ["not_now", "daily"]),
        ] {
            let content = rows(name, |place| values[place % 2].to_owned());
            assert_eq!(plainly(&content).unwrap().schema.dimension(), 2, "{values:?}");
        }
        // What is left out anyway is told by its own remedy.
        for (name, value, said) in
            [("v", "5 EUR", "currency"), ("v", "1 234", "thousands"), ("d", "01/02/2024", "date")]
        {
            assert!(plainly(&rows(name, |_| value.to_owned())).unwrap_err().contains(said), "{value}");
        }
        let said = plainly(&rows("home city", |place| ["New York", "San Jose"][place % 2].to_owned())).unwrap_err();
        assert!(
            said.contains(": if each text is one cell, list") && said.contains("; if not, give separator"),
            "{said}"
        );
    }

    #[test]
    fn rows_are_found_whatever_is_between_cells_and_whichever_line_differs() {
        let cell = |place: usize| ["a", "b", "c"][place % 3];
        for separator in ["¦", "·", "、", "│", "€", "→", "\u{a0}", "\u{2028}", "\u{feff}", "_", "-", "+", ".", "--"]
        {
            let row = |place: usize| format!("{}{separator}0{separator}{}", place % 2, cell(place));
            let few = rows(&format!("x{separator}y{separator}g"), row);
            assert!(plainly(&few).unwrap_err().contains("looks like rows"), "{separator:?}");
        }
        for (separator, name) in [("|", "'|'"), ("/", "'/'"), (" ", "' '")] {
            let content = rows(&format!("x{separator}g"), |place| format!("{}{separator}{}", place % 2, cell(place)));
            for end in ["40", "(40 rows)", "---+---", "0", ["1", "2", "a"].join(separator).as_str()] {
                let said = plainly(&(content.clone() + end)).unwrap_err();
                assert!(said.contains(&format!("separator {name}")), "{end} {said}");
            }
        }
        for (header, values) in [
            ("age city", ["30 New York", "31 Paris"]),
            ("city age", ["New York 30", "Paris 31"]),
            ("age city", ["30 \"New York\"", "31 Paris"]),
            ("title", ["30 New York", "31 Paris"]),
            ("x¦g", ["0¦a", "1¦b"]),
            ("k,v", ["0|a,1", "1|b,2"]),
            ("\"x,g\",", ["\"0,a\",", "\"1,b\","]),
            ("n,\"x,g\"", ["5,\"0,a\"", "6,\"1,b\""]),
        ] {
            let content = rows(header, |place| values[place % 2].to_owned());
            let content = if header == "k,v" { content + "5,6\n" } else { content };
            assert!(plainly(&content).unwrap_err().contains("looks like rows"), "{header}");
        }
    }

    #[test]
    fn a_first_record_a_line_of_units_and_other_quotes_are_asked_for() {
        for (first, other) in [
            ("10-19", "20-29"),
            ("10 kg", "12.5 kg"),
            ("08:00", "09:30"),
            ("2024-01-01", "2024-02-03"),
            ("alice@x.org", "bob.b@mail.y.com"),
            ("$5", "$7.50"),
            ("0x1", "0x2"),
        ] {
            let said = plainly(&rows(&format!("{first},zed"), |_| format!("{other},m"))).unwrap_err();
            assert!(said.starts_with("its first line names the columns, but column 1"), "{said}");
        }
        let row = |place: usize| format!("{place},{}.5,{}", place % 7, ["a", "b"][place % 2]);
        for lines in ["Report,,\nx,y,g", "x,y,g\ncm,kg,", "x,y,g\n---,---,---"] {
            assert!(plainly(&rows(lines, row)).unwrap_err().starts_with("the line below its header"), "{lines}");
        }
        // One number that is not known is no line of units.
        assert!(plainly(&rows("x,y,g\n1,unknown,a", row)).is_ok());
        let quoted = rows("'x','g'", |place| format!("'{}','a'", place % 2));
        assert!(plainly(&quoted).unwrap_err().contains("double quotes"));
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
            separator in select(vec![
                ",", ";", "\t", "|", " ", ":", "^", "\u{1f}", "~", "/", "::", " | ", "  ", "#", "¦", "§", "、", "\u{a0}",
                "€", "→", "_", "-", "+", ".", "--", "..",
            ]),
            header in select(vec![None, Some(["age", "score", "g"]), Some(["age", "", "g"]), Some(["", "", "g"])]),
            point in select(vec![".", ","]),
            cells in prop::collection::vec((0..99_u8, 0..5_u8, select(vec!["a", "b", "c"])), 3..60),
            end in select(vec!["", "40", "(40 rows)", "---+---", "a", "5 a"]),
        ) {
            let line = |(age, score, group): &(u8, u8, &str)| {
                [format!("{age}{point}5"), score.to_string(), (*group).to_owned()].join(separator)
            };
            let header = header.iter().map(|names| names.join(separator));
            let lines: Vec<String> = header
                .chain(cells.iter().map(line))
                .chain((!end.is_empty()).then(|| end.replace(' ', separator)))
                .collect();
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
