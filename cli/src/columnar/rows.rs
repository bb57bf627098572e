//! The rows of a file of columns, one after the other.

use std::fs::File;
use std::io::{BufRead, Read as _};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use ldp_pca_records::{Kind, StringRecord};

use super::arrow::Messages;
use super::cells::{cells, have_texts};
use super::decoders::{LARGEST, decoded};
use super::parquet::{Pages, Parquet};
use crate::error::{CliError, InFile as _, Result};
use crate::output::bar;

/// The rows of a Parquet or Arrow file.
pub(crate) struct ColumnarRows {
    names: Vec<String>,
    types: Vec<DataType>,
    /// Which columns are read.
    wanted: Vec<bool>,
    source: Source,
}

enum Source {
    Parquet(Box<Parquet>),
    Arrow(Messages),
}

impl ColumnarRows {
    /// Those of a Parquet file, which are read where they lie.
    pub(crate) fn parquet(path: &Path, file: File) -> Result<Self> {
        Self::of_parquet(Pages::File(file)).in_file(path)
    }

    /// Those of anything that is read from its start.
    pub(crate) fn new(path: &Path, kind: Kind, mut content: Box<dyn BufRead>) -> Result<Self> {
        if kind == Kind::Parquet {
            let mut bytes = Vec::new();
            content.by_ref().take(LARGEST + 1).read_to_end(&mut bytes).in_file(path)?;
            if bytes.len() as u64 > LARGEST {
                let problem = "Parquet from a pipe or in gzip is kept in memory, up to 1 GiB: give the file itself";
                return Err(CliError::file(path, problem));
            }
            Self::of_parquet(Pages::Memory(bytes.into())).in_file(path)
        } else {
            let messages = Messages::new(content, kind == Kind::ArrowFile).in_file(path)?;
            Ok(Self::of(&messages.schema(), Source::Arrow(messages)))
        }
    }

    fn of_parquet(pages: Pages) -> core::result::Result<Self, String> {
        let parquet = Parquet::new(pages)?;
        Ok(Self::of(&parquet.schema(), Source::Parquet(Box::new(parquet))))
    }

    fn of(schema: &SchemaRef, source: Source) -> Self {
        let (names, types): (Vec<_>, Vec<_>) =
            schema.fields().iter().map(|field| (field.name().trim().to_owned(), field.data_type().clone())).unzip();
        Self { wanted: vec![true; names.len()], names, types, source }
    }

    /// The names of the columns.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Reads only the columns of these names. The cells of the others are empty, and their types do not matter.
    pub(crate) fn only(&mut self, wanted: impl Fn(&str) -> bool) {
        self.wanted = self.names.iter().map(|name| wanted(name)).collect();
    }

    /// Calls `visit` with every row and its number (from 1) until it fails.
    pub(crate) fn for_each(self, path: &Path, mut visit: impl FnMut(u64, &StringRecord) -> Result<()>) -> Result<()> {
        let Self { names, types, wanted, source } = self;
        for ((name, kind), _) in names.iter().zip(&types).zip(&wanted).filter(|(_, wanted)| **wanted) {
            if !have_texts(kind) {
                // Without the names of fields inside it.
                let kind = kind.to_string();
                let kind = kind.split('(').next().unwrap_or_default();
                let problem = format!(
                    "column '{name}' is of type {kind}, which is neither a number nor a text: convert it to one, or \
                     leave it out (--ignore of schema infer)"
                );
                return Err(CliError::file(path, problem));
            }
        }
        let places: Vec<usize> = (0..wanted.len()).filter(|place| wanted[*place]).collect();
        let mut rows = Rows { wanted: &wanted, read: 0, fields: StringRecord::new() };
        match source {
            Source::Parquet(parquet) => {
                let total = parquet.rows();
                let progress = bar("reading", total);
                let mut batches = parquet.batches(&places).in_file(path)?;
                while rows.read < total {
                    let batch = decoded(|| batches.next().transpose()).flatten().ok_or(());
                    rows.visit(path, batch, &mut visit)?;
                    progress.set_position(rows.read);
                }
            }
            Source::Arrow(mut messages) => {
                while let Some(batch) = messages.next_batch(&places).in_file(path)? {
                    rows.visit(path, batch, &mut visit)?;
                }
            }
        }
        Ok(())
    }
}

struct Rows<'a> {
    wanted: &'a [bool],
    /// How many have been visited.
    read: u64,
    fields: StringRecord,
}

impl Rows<'_> {
    /// Visits those of a batch, which is an error where it could not be decoded.
    fn visit(
        &mut self,
        path: &Path,
        batch: core::result::Result<RecordBatch, ()>,
        visit: &mut impl FnMut(u64, &StringRecord) -> Result<()>,
    ) -> Result<()> {
        let damaged = |row: u64| {
            let problem = "the file is damaged or cut here, or its columns are written in a way that is not supported";
            CliError::at(path, "row", row, problem)
        };
        let batch = batch.ok().filter(|batch| batch.num_rows() > 0);
        let batch = batch.ok_or_else(|| damaged(self.read + 1))?;
        let mut columns = batch.columns().iter();
        let columns: Vec<_> =
            self.wanted.iter().map(|wanted| wanted.then(|| columns.next().and_then(|column| cells(column)))).collect();
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            self.fields.clear();
            decoded(|| {
                for column in &columns {
                    text.clear();
                    if let Some(cells) = column {
                        cells.as_ref().ok_or(())?(row, &mut text);
                    }
                    self.fields.push_field(&text);
                }
                Ok::<_, ()>(())
            })
            .ok_or_else(|| damaged(self.read + 1))?;
            self.read += 1;
            visit(self.read, &self.fields)?;
        }
        Ok(())
    }
}
