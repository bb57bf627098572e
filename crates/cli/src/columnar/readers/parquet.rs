//! Batches of rows from a Parquet file.

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader as _, Length as _};

use super::decoders::{JOINED, damaged, decoded};
use super::pages::Pages;
use crate::error::{InFile as _, Result};
use crate::output::bar;

/// A Parquet file whose columns are known.
pub(super) struct Parquet(ParquetRecordBatchReaderBuilder<Pages>);

impl Parquet {
    /// One of records. Its columns have the types that Arrow's writers note, dictionaries among them.
    pub(super) fn of_records(pages: Pages) -> Result<Self, String> {
        let problem = "it is not a readable Parquet file: it is damaged, cut or encrypted";
        Self::new(pages, ArrowReaderOptions::new(), problem)
    }

    /// One of reports. Its columns have the types of Parquet alone: those of binary are two.
    pub(super) fn of_reports(pages: Pages) -> Result<Self, String> {
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let problem = "the Parquet file cannot be read: it was cut, altered or encrypted; write it again";
        Self::new(pages, options, problem)
    }

    fn new(pages: Pages, options: ArrowReaderOptions, problem: &str) -> Result<Self, String> {
        let metadata = decoded(|| ArrowReaderMetadata::load(&pages, options)).ok_or(problem)?;
        if follows_another(&pages, metadata.metadata()) {
            return Err(JOINED.to_owned());
        }
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(pages, metadata);
        let chunks = builder.metadata().row_groups().iter().flat_map(RowGroupMetaData::columns);
        let mut codecs = chunks.map(ColumnChunkMetaData::compression);
        if codecs.any(|codec| matches!(codec, Compression::BROTLI(_) | Compression::LZO)) {
            return Err("it is compressed with brotli or LZO: write it with zstd, lz4, snappy or gzip".to_owned());
        }
        Ok(Self(builder))
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.0.schema().clone()
    }

    /// Calls `visit` with the rows of the columns at these places until it fails: in batches of at most `size` rows,
    /// each with the number (from 1) of its first row.
    pub(super) fn for_each_batch(
        self,
        path: &Path,
        label: &'static str,
        size: usize,
        columns: &[usize],
        mut visit: impl FnMut(u64, RecordBatch) -> Result<()>,
    ) -> Result<()> {
        // What it claims to have.
        let groups = self.0.metadata().row_groups().iter();
        let total = groups.filter_map(|group| u64::try_from(group.num_rows()).ok()).fold(0, u64::saturating_add);
        let progress = bar(label, total);
        let batches = decoded(|| {
            let mask = ProjectionMask::roots(self.0.parquet_schema(), columns.iter().copied());
            self.0.with_projection(mask).with_batch_size(size).build()
        });
        let mut batches = batches.ok_or("its columns cannot be read: the file is damaged").in_file(path)?;
        let mut read = 0;
        while read < total {
            let batch = decoded(|| batches.next().transpose()).flatten().filter(|batch| batch.num_rows() > 0);
            let batch = batch.ok_or_else(|| damaged(path, read + 1))?;
            let rows = batch.num_rows() as u64;
            visit(read + 1, batch)?;
            read += rows;
            progress.set_position(read);
        }
        Ok(())
    }
}

/// Whether the file with this metadata comes after another one. Its last column or index is then as many bytes before
/// its metadata as the other one has.
fn follows_another(pages: &Pages, metadata: &ParquetMetaData) -> bool {
    let end = |column: &ColumnChunkMetaData| {
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let part = |offset: Option<i64>, length: Option<i32>| Some((offset?, i64::from(length?)));
        let indexes = [
            part(column.column_index_offset(), column.column_index_length()),
            part(column.offset_index_offset(), column.offset_index_length()),
            part(column.bloom_filter_offset(), column.bloom_filter_length()),
        ];
        let parts = indexes.into_iter().flatten().chain([(start, column.compressed_size())]);
        parts.map(|(start, length)| start.saturating_add(length)).max()
    };
    let end = metadata.row_groups().iter().flat_map(RowGroupMetaData::columns).filter_map(end).max();
    let before = || {
        let last = pages.len().checked_sub(8)?;
        let length = pages.get_bytes(last, 4).ok()?;
        let length = u32::from_le_bytes(length[..].try_into().ok()?);
        let other = last.checked_sub(length.into())?.checked_sub(u64::try_from(end?).ok()?)?;
        pages.get_bytes(other.checked_sub(4)?, 8).ok()
    };
    before().is_some_and(|bytes| bytes[..] == *b"PAR1PAR1")
}
