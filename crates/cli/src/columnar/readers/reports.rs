//! Reports in a Parquet file, as `store export` writes them.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::{Array, FixedSizeBinaryArray, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Schema};
use ldp_pca::report::report_bytes;
use ldp_pca::task::Task;
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

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
pub fn for_each_report_batch(
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

/// Bytes of reports that are written as one group of rows.
const GROUP_BYTES: usize = 64 << 20;

/// Writes the reports that `export` gives as a Parquet file: one column, with the task in the file's metadata. The path
/// is for messages.
pub(crate) fn write_reports<T>(
    output: impl Write + Send,
    task: &Task,
    path: &Path,
    export: impl FnOnce(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<T>,
) -> Result<T> {
    let width = i32::try_from(report_bytes(task)).in_file(path)?;
    let schema = Arc::new(Schema::new(vec![Field::new(COLUMN, DataType::FixedSizeBinary(width), false)]));
    let of_task = [("ldp-pca.task", task.to_json()), ("ldp-pca.task.digest", task.digest().to_string())];
    let metadata = of_task.map(|(key, value)| KeyValue { key: key.to_owned(), value: Some(value) });
    // Reports are noise: neither a dictionary nor bounds say anything of them.
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_key_value_metadata(Some(metadata.to_vec()))
        .build();
    let mut writer = ArrowWriter::try_new(output, Arc::clone(&schema), Some(properties)).in_file(path)?;
    let exported = export(&mut |reports: &[u8]| {
        let column = FixedSizeBinaryArray::try_new(width, Buffer::from(reports), None).map_err(io::Error::other)?;
        let rows = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(column)]).map_err(io::Error::other)?;
        writer.write(&rows).map_err(io::Error::other)?;
        if writer.in_progress_size() < GROUP_BYTES {
            return Ok(());
        }
        writer.flush().map_err(io::Error::other)
    })?;
    writer.close().in_file(path)?;
    Ok(exported)
}

/// The place of the column, and the bytes of a row, where all have as many.
fn column(schema: &Schema) -> Result<(usize, usize), String> {
    // Without the others' names, which may be those of records.
    let place = schema.fields().iter().position(|field| field.name() == COLUMN).ok_or_else(|| {
        let count = schema.fields().len();
        format!(
            "the Parquet file has no column '{COLUMN}' among its {count}: give what `ldp-pca store export` wrote, or \
             randomize its records first"
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
fn rows(batch: &RecordBatch) -> Result<Vec<&[u8]>, ()> {
    let column: &dyn Array = batch.columns().first().ok_or(())?;
    if let Some(column) = column.as_fixed_size_binary_opt() {
        return Ok(column.iter().map(Option::unwrap_or_default).collect());
    }
    Ok(column.as_binary_opt::<i32>().ok_or(())?.iter().map(Option::unwrap_or_default).collect())
}
