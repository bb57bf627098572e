//! Files as their publishers distribute them: lines of text with a fixed number of columns.
//!
//! A column is left out, is a number, or is categorical: then it becomes one feature per value that occurs, in the
//! order of the values as text. Cells are trimmed. A value that is missing in a categorical column is a value of its
//! own, as Chaudhuri et al. (section 6.1) count them.

use std::collections::BTreeMap;
use std::io::{BufRead, Read as _};

use serde::Serialize;

use super::{DataError, LONGEST_CELL, MOST_VALUES};
use crate::experiments::Matrix;

/// A run of equal columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Columns {
    /// So many columns that are no features, such as labels and names.
    Skip(usize),
    /// So many numbers.
    Numbers(usize),
    /// So many columns with one feature per value.
    Categories(usize),
}

/// The files of a data set, whose records follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Published {
    /// Each file's name, with the columns that it has after those of all.
    pub files: &'static [PublishedFile],
    /// What separates the cells.
    pub separator: char,
    /// Whether the first line names the columns.
    pub header: bool,
    /// The columns.
    pub columns: &'static [Columns],
    /// The value of the last categorical column that makes a class of its records, if an experiment has classes.
    pub class: Option<&'static str>,
}

/// One file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PublishedFile {
    /// Its name.
    pub name: &'static str,
    /// Columns after those of all files, which are left out.
    pub more: usize,
}

impl Published {
    /// Begins to read.
    #[must_use]
    pub fn reader(&self) -> PublishedReader {
        let kinds: Vec<Columns> = self.columns.iter().flat_map(|run| vec![run.one(); run.count()]).collect();
        let of = |kind| kinds.iter().filter(|one| **one == kind).count();
        let categories = of(Columns::Categories(1));
        PublishedReader {
            published: *self,
            numbers: vec![],
            categories: vec![],
            values: vec![BTreeMap::new(); categories],
            width: of(Columns::Numbers(1)),
            kinds,
        }
    }
}

impl Columns {
    fn count(self) -> usize {
        match self {
            Self::Skip(count) | Self::Numbers(count) | Self::Categories(count) => count,
        }
    }

    fn one(self) -> Self {
        match self {
            Self::Skip(_) => Self::Skip(1),
            Self::Numbers(_) => Self::Numbers(1),
            Self::Categories(_) => Self::Categories(1),
        }
    }
}

/// The lines read so far.
#[derive(Clone, Debug)]
pub struct PublishedReader {
    published: Published,
    kinds: Vec<Columns>,
    /// The numbers of each line, of which it has `width`.
    numbers: Vec<f64>,
    width: usize,
    /// The values of the categorical columns of each line, by the order in which they came.
    categories: Vec<u32>,
    /// The number of each value, in the order in which values came, column by column.
    values: Vec<BTreeMap<String, u32>>,
}

impl PublishedReader {
    /// Reads one of the files, the one with this index.
    ///
    /// # Errors
    /// [`DataError`] with the number of the line that does not fit.
    pub fn read(&mut self, index: usize, mut text: impl BufRead) -> Result<(), DataError> {
        let more = self.published.files.get(index).map_or(0, |file| file.more);
        let expected = self.kinds.len() + more;
        let longest = (expected * LONGEST_CELL) as u64;
        let mut line = vec![];
        for number in 1.. {
            line.clear();
            if text.by_ref().take(longest + 1).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            let wrong = |what: String| DataError::Line { line: number, what };
            if line.len() as u64 > longest {
                return Err(wrong(format!("it has over {longest} bytes, which no line of this data set has")));
            }
            let cells = core::str::from_utf8(&line).map_err(|_| wrong("it is no text".into()))?.trim_end();
            if cells.is_empty() || self.published.header && number == 1 {
                continue;
            }
            self.push(cells, expected).map_err(wrong)?;
        }
        Ok(())
    }

    fn push(&mut self, line: &str, expected: usize) -> Result<(), String> {
        let found = line.split(self.published.separator).count();
        if found != expected {
            return Err(format!("{found} cells, where this data set has {expected}"));
        }
        let mut values = self.values.iter_mut();
        for (column, (cell, kind)) in line.split(self.published.separator).zip(&self.kinds).enumerate() {
            let cell = cell.trim();
            match kind {
                Columns::Skip(_) => {}
                Columns::Numbers(_) => {
                    let number = cell.parse().ok().filter(|number: &f64| number.is_finite());
                    self.numbers.push(number.ok_or_else(|| format!("column {} is not a number", column + 1))?);
                }
                Columns::Categories(_) => {
                    let Some(values) = values.next() else { continue };
                    let next = values.len();
                    let value = match values.get(cell) {
                        Some(value) => *value,
                        None if next < MOST_VALUES => *values.entry(cell.to_owned()).or_insert(next as u32),
                        None => return Err(format!("column {} has over {MOST_VALUES} values", column + 1)),
                    };
                    self.categories.push(value);
                }
            }
        }
        Ok(())
    }

    /// The matrix: numbers first, then the categorical columns, in their order.
    ///
    /// # Errors
    /// [`DataError::Empty`] without lines.
    pub fn finish(self) -> Result<Matrix, DataError> {
        let (width, coded) = (self.width, self.values.len());
        let records = self.numbers.len().checked_div(width).or(self.categories.len().checked_div(coded)).unwrap_or(0);
        if records == 0 {
            return Err(DataError::Empty);
        }
        // The feature of each value, by the order in which values came.
        let mut columns = width;
        let feature = |values: &BTreeMap<String, u32>| {
            let mut features = vec![0; values.len()];
            for value in values.values() {
                features[*value as usize] = columns;
                columns += 1;
            }
            features
        };
        let features: Vec<Vec<usize>> = self.values.iter().map(feature).collect();
        let last = self.values.last();
        let class = self.published.class.and_then(|class| last?.get(class));
        let classes = class.map(|class| {
            let of_last = self.categories.iter().skip(coded - 1).step_by(coded);
            of_last.map(|value| value == class).collect()
        });
        let mut values = vec![0.0; records * columns];
        for (record, row) in values.chunks_exact_mut(columns).enumerate() {
            row[..width].copy_from_slice(&self.numbers[record * width..][..width]);
            for (value, features) in self.categories[record * coded..].iter().zip(&features) {
                row[features[*value as usize]] = 1.0;
            }
        }
        Ok(Matrix { columns, values, classes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::data::DataSet;

    fn read(name: &str, files: &[&str]) -> Result<Matrix, DataError> {
        let mut reader = DataSet::named(name).unwrap().published.unwrap().reader();
        for (index, text) in files.iter().enumerate() {
            reader.read(index, text.as_bytes())?;
        }
        reader.finish()
    }

    /// Made-up lines in the format of each publisher.
    #[test]
    fn lines_in_the_format_of_every_publisher_are_read() {
        let numbers = |count: usize, separator: &str| vec!["1"; count].join(separator);
        let census = |age: &str, industry: &str, label: &str| {
            let start = format!("{age}, Private, {industry}, 26, High school graduate, 0, Not in universe, Widowed, ");
            let middle = "Retail trade, Sales, White, ?, Female, No, ?, Not in labor force, 0, 0, 0, Nonfiler, ?, ?, \
                          Householder, Householder, 1700.09, ?, ?, ?, ?, ?, 2, ?, Peru, Peru, Peru, Native, 0, ?, 2, \
                          52, 95, ";
            format!("{start}{middle}{label}\n")
        };
        let text = census("73", "4", "- 50000.") + &census("58", "40", "50000+.");
        let matrix = read("census", &[&text]).unwrap();
        // 8 numbers; 34 categorical columns, of which the industry and the label have two values.
        assert_eq!((matrix.columns, matrix.values.len()), (8 + 36, 2 * 44));
        assert_eq!(matrix.values[..6], [73.0, 0.0, 0.0, 0.0, 0.0, 1700.09]);
        let line = "A01,010-000-024-033,633790226051280329,27.05.2009 14:03:25:127,4.06,1.89,0.51,walking\r\n";
        let other = line.replace("A01", "A02").replace("walking", "falling");
        let matrix = read("localization", &[&(line.to_owned() + &other)]).unwrap();
        assert_eq!(matrix.columns, 4 + 2 + 1 + 2);
        assert_eq!(matrix.classes, Some(vec![false, true]));
        assert_eq!(read("localization", &[line]).unwrap().classes, None);
        assert_eq!(matrix.values[..9], [633_790_226_051_280_329.0, 4.06, 1.89, 0.51, 1.0, 0.0, 1.0, 0.0, 1.0]);
        let customer =
            |kind: &str, more: &str| format!("{kind}\t{}\t8\t{}{more}\n", numbers(3, "\t"), numbers(80, "\t"));
        let matrix = read("insurance", &[&customer("33", "\t0"), &customer("9", "")]).unwrap();
        assert_eq!((matrix.columns, matrix.values.len()), (83 + 2 + 1, 2 * 86));
        for (name, cells, text) in [
            ("covertype", 54, numbers(55, ",")),
            ("buzz", 77, numbers(78, ",")),
            ("year", 90, numbers(91, ",")),
            ("rna-seq", 20_531, format!(",genes\nsample_0,{}", numbers(20_531, ","))),
            ("nips", 5_811, format!("words\n\"abc\",{}", numbers(5_811, ","))),
        ] {
            let matrix = read(name, &[&text]).unwrap();
            assert_eq!((matrix.columns, matrix.values.len()), (cells, cells), "{name}");
            assert!(matrix.values.iter().all(|value| *value == 1.0));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_line_and_without_its_values() {
        let good = "1,".repeat(54) + "7\n";
        let message = |text: &str| read("covertype", &[text]).unwrap_err().to_string();
        assert_eq!(message(""), "there are no records in it");
        assert_eq!(message(&(good.clone() + "1,2\n")), "line 2: 2 cells, where this data set has 55");
        assert_eq!(message(&good.replacen("1,", "x17,", 1)), "line 1: column 1 is not a number");
        assert_eq!(message(&good.replacen("1,", "inf,", 1)), "line 1: column 1 is not a number");
        assert!(message(&"1".repeat(1 << 16)).starts_with("line 1: it has over"));
        let mut reader = DataSet::named("covertype").unwrap().published.unwrap().reader();
        assert!(reader.read(0, &b"\xff\xfe\n"[..]).unwrap_err().to_string().contains("no text"));
        let many: String = (0..=MOST_VALUES).map(|tag| format!("A01,{tag},1,d,1,1,1,walking\n")).collect();
        let error = read("localization", &[&many]).unwrap_err().to_string();
        assert_eq!(error, format!("line {}: column 2 has over {MOST_VALUES} values", MOST_VALUES + 1));
    }
}
