//! Reports in a Parquet file, as an aggregator seals them and `store export` writes them.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use arrow_array::cast::AsArray as _;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;

use super::decoders::decoded;
use super::pages::Pages;
use super::parquet::Parquet;
use super::rows::{damaged, type_name};
use crate::error::{InFile as _, Result};
use crate::output::bar;

/// The name of the column.
const COLUMN: &str = "report";

/// The reports of a Parquet file.
pub(crate) struct ReportRows {
    parquet: Parquet,
    place: usize,
    /// The bytes of a row, where all have as many.
    width: usize,
}

impl ReportRows {
    /// Those of a file that is read where it lies.
    pub(crate) fn in_file(path: &Path, file: File) -> Result<Self> {
        Self::of(Pages::File(file)).in_file(path)
    }

    /// Those of a file that is read from its start.
    pub(crate) fn new(path: &Path, content: impl Read) -> Result<Self> {
        Self::of(Pages::in_memory(path, content)?).in_file(path)
    }

    fn of(pages: Pages) -> core::result::Result<Self, String> {
        let parquet = Parquet::of_reports(pages)?;
        let schema = parquet.schema();
        // Without the others' names, which may be those of records.
        let place = schema.fields().iter().position(|field| field.name() == COLUMN).ok_or_else(|| {
            let count = schema.fields().len();
            format!(
                "the Parquet file has no column '{COLUMN}' among its {count}: give what an aggregator or `ldp-pca \
                 store export` wrote, or randomize its records first"
            )
        })?;
        let width = match schema.field(place).data_type() {
            DataType::Binary => 0,
            DataType::FixedSizeBinary(width) => usize::try_from(*width).unwrap_or(0),
            kind => {
                let kind = type_name(kind);
                return Err(format!(
                    "column '{COLUMN}' is of type {kind}, and reports are binary: write them as bytes"
                ));
            }
        };
        Ok(Self { parquet, place, width })
    }

    /// Calls `visit` with all reports, of which nulls have no bytes, until it fails: many together, of about `bytes` in
    /// all where each has as many as its column says or else `width`, and no more than `most`.
    pub(crate) fn for_each_batch(
        self,
        path: &Path,
        (width, bytes, most): (usize, usize, usize),
        mut visit: impl FnMut(&[&[u8]]) -> Result<()>,
    ) -> Result<()> {
        let size = (bytes / width.max(self.width).max(1)).clamp(1, most);
        let total = self.parquet.rows();
        let progress = bar("aggregating", total);
        let mut batches = self.parquet.batches_of(size, &[self.place]).in_file(path)?;
        let mut read = 0;
        while read < total {
            let damaged = || damaged(path, read + 1);
            let batch = decoded(|| batches.next().transpose()).flatten().ok_or_else(damaged)?;
            let rows = decoded(|| rows(&batch)).filter(|rows| !rows.is_empty()).ok_or_else(damaged)?;
            visit(&rows)?;
            read += rows.len() as u64;
            progress.set_position(read);
        }
        Ok(())
    }
}

/// The bytes of each row.
fn rows(batch: &RecordBatch) -> core::result::Result<Vec<&[u8]>, ()> {
    let column: &dyn Array = batch.columns().first().ok_or(())?;
    if let Some(column) = column.as_fixed_size_binary_opt() {
        return Ok(column.iter().map(Option::unwrap_or_default).collect());
    }
    Ok(column.as_binary_opt::<i32>().ok_or(())?.iter().map(Option::unwrap_or_default).collect())
}
