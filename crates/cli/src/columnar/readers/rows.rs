//! The rows of a file of columns, one after the other.

use std::path::Path;

use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use ldp_pca_records::{FileFormat, Row as TextRow, StringRecord};

use super::arrow::Messages;
use super::cells::{are_numbers, cells, have_texts, numbers};
use super::decoders::{damaged, decoded};
use super::pages::Pages;
use super::parquet::Parquet;
use crate::columnar::{ColumnarRows, Content, Row};
use crate::error::{CliError, InFile as _, Result};

/// The cells of one batch, about, so that wide rows do not take much memory.
const CELLS: usize = 1 << 16;

/// A Parquet or Arrow file whose columns are known.
struct Table {
    names: Vec<String>,
    types: Vec<DataType>,
    /// Which columns are read.
    wanted: Vec<bool>,
    /// Whether rows of numbers alone are given as numbers.
    numbers: bool,
    source: Source,
}

enum Source {
    Parquet(Box<Parquet>),
    Arrow(Messages),
}

/// Opens a file of this format.
pub(crate) fn open(path: &Path, kind: FileFormat, content: Content) -> Result<Box<dyn ColumnarRows>> {
    let messages = match (kind, content) {
        (FileFormat::Parquet, content) => {
            let parquet = Parquet::of_records(Pages::new(path, content)?).in_file(path)?;
            return Ok(Box::new(Table::of(&parquet.schema(), Source::Parquet(Box::new(parquet)))));
        }
        (FileFormat::ArrowStream, Content::Stream(content)) => Messages::in_stream(content),
        (_, content) => Messages::in_file(Pages::new(path, content)?),
    };
    let messages = messages.in_file(path)?;
    Ok(Box::new(Table::of(&messages.schema(), Source::Arrow(messages))))
}

impl Table {
    fn of(schema: &SchemaRef, source: Source) -> Self {
        let (names, types): (Vec<_>, Vec<_>) =
            schema.fields().iter().map(|field| (field.name().trim().to_owned(), field.data_type().clone())).unzip();
        Self { wanted: vec![true; names.len()], numbers: false, names, types, source }
    }

    /// Where the wanted columns are whose values have no texts.
    fn unread(&self) -> impl Iterator<Item = usize> {
        (0..self.names.len()).filter(|&place| self.wanted[place] && !have_texts(&self.types[place]))
    }

    fn problem(&self, place: usize) -> String {
        let (name, kind) = (&self.names[place], type_name(&self.types[place]));
        format!(
            "column '{name}' is of type {kind}, which is neither a number nor a text: convert it to one, or leave it \
             out (--ignore of schema infer)"
        )
    }
}

impl ColumnarRows for Table {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn only(&mut self, wanted: &dyn Fn(&str) -> bool, numbers: bool) {
        self.numbers = numbers;
        self.wanted = self.names.iter().map(|name| wanted(name)).collect();
    }

    fn unreadable(&mut self) -> Vec<(String, String)> {
        let places: Vec<usize> = self.unread().collect();
        let found = places.iter().map(|&place| (self.names[place].clone(), self.problem(place))).collect();
        places.into_iter().for_each(|place| self.wanted[place] = false);
        found
    }

    fn for_each(self: Box<Self>, path: &Path, visit: &mut dyn FnMut(u64, Row<'_>) -> Result<()>) -> Result<()> {
        if let Some(place) = self.unread().next() {
            return Err(CliError::file(path, self.problem(place)));
        }
        let Self { types, wanted, mut numbers, source, .. } = *self;
        numbers &= types.iter().zip(&wanted).all(|(kind, wanted)| !wanted || are_numbers(kind));
        let places: Vec<usize> = (0..wanted.len()).filter(|place| wanted[*place]).collect();
        let mut rows = Rows { wanted: &wanted, numbers, read: 0 };
        match source {
            Source::Parquet(parquet) => {
                let size = (CELLS / places.len().max(1)).max(1);
                parquet.for_each_batch(path, "reading", size, &places, |_, batch| rows.visit(path, &batch, visit))
            }
            Source::Arrow(mut messages) => {
                while let Some(batch) = messages.next_batch(&places).in_file(path)? {
                    let batch = batch.map_err(|()| damaged(path, rows.read + 1))?;
                    rows.visit(path, &batch, visit)?;
                }
                Ok(())
            }
        }
    }
}

struct Rows<'a> {
    wanted: &'a [bool],
    numbers: bool,
    /// How many have been visited.
    read: u64,
}

impl Rows<'_> {
    /// Visits those of a batch.
    fn visit(
        &mut self,
        path: &Path,
        batch: &RecordBatch,
        visit: &mut dyn FnMut(u64, Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let changed = || damaged(path, self.read + 1);
        if self.numbers {
            let columns = self.columns(batch, numbers).ok_or_else(changed)?;
            let mut row: Vec<f64> = vec![];
            for place in 0..batch.num_rows() {
                row.clear();
                row.extend(columns.iter().map(|column| column.as_ref().map_or(f64::NAN, |numbers| numbers[place])));
                self.read += 1;
                visit(self.read, Row::Numbers(&row))?;
            }
            return Ok(());
        }
        let columns = self.columns(batch, cells).ok_or_else(changed)?;
        let (mut row, mut text) = (StringRecord::new(), String::new());
        for place in 0..batch.num_rows() {
            row.clear();
            let read = decoded(|| {
                for column in &columns {
                    text.clear();
                    if let Some(cell) = column {
                        cell(place, &mut text);
                    }
                    row.push_field(&text);
                }
                Ok::<_, ()>(())
            });
            self.read += 1;
            read.ok_or_else(|| damaged(path, self.read))?;
            visit(self.read, Row::Text(TextRow { line: self.read, cells: &row, problem: None }))?;
        }
        Ok(())
    }

    /// What reads each column, and nothing for one that is not wanted; nothing at all where a type is not what it was.
    fn columns<'b, T>(
        &self,
        batch: &'b RecordBatch,
        of: impl Fn(&'b dyn Array) -> Option<T>,
    ) -> Option<Vec<Option<T>>> {
        let mut columns = batch.columns().iter();
        let read =
            |wanted: &bool| if *wanted { columns.next().and_then(|column| of(column)).map(Some) } else { Some(None) };
        self.wanted.iter().map(read).collect()
    }
}

/// The name of a type, without the names of fields inside it.
pub(super) fn type_name(kind: &DataType) -> String {
    kind.to_string().split('(').next().unwrap_or_default().to_owned()
}
