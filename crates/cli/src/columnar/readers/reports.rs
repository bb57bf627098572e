//! Reports in a Parquet file, as an aggregator seals them and `store export` writes them.

use std::path::Path;

use arrow_array::cast::AsArray as _;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};

use super::decoders::{damaged, decoded};
use super::pages::Pages;
use super::parquet::Parquet;
use super::rows::type_name;
use crate::columnar::Content;
use crate::error::{InFile as _, Result};

/// The name of the column.
const COLUMN: &str = "report";

/// Calls `visit` with all reports of a Parquet file, of which nulls have no bytes, until it fails: many together, of
/// about `bytes` in all where each has as many as its column says or else `width`, and no more than `most`.
pub(crate) fn for_each_report_batch(
    path: &Path,
    content: Content,
    (width, bytes, most): (usize, usize, usize),
    mut visit: impl FnMut(&[&[u8]]) -> Result<()>,
) -> Result<()> {
    let parquet = Parquet::of_reports(Pages::new(path, content)?).in_file(path)?;
    let (place, fixed) = column(&parquet.schema()).in_file(path)?;
    let size = (bytes / width.max(fixed).max(1)).clamp(1, most);
    parquet.for_each_batch(path, "aggregating", size, &[place], |first, batch| {
        visit(&decoded(|| rows(&batch)).ok_or_else(|| damaged(path, first))?)
    })
}

/// The place of the column, and the bytes of a row, where all have as many.
fn column(schema: &Schema) -> core::result::Result<(usize, usize), String> {
    // Without the others' names, which may be those of records.
    let place = schema.fields().iter().position(|field| field.name() == COLUMN).ok_or_else(|| {
        let count = schema.fields().len();
        format!(
            "the Parquet file has no column '{COLUMN}' among its {count}: give what an aggregator or `ldp-pca \
             store export` wrote, or randomize its records first"
        )
    })?;
    match schema.field(place).data_type() {
        DataType::Binary => Ok((place, 0)),
        DataType::FixedSizeBinary(width) => Ok((place, usize::try_from(*width).unwrap_or(0))),
        kind => {
            let kind = type_name(kind);
            Err(format!("column '{COLUMN}' is of type {kind}, and reports are binary: write them as bytes"))
        }
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
