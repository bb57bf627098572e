//! Batches of rows from a Parquet file.

use arrow_schema::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use super::decoders::decoded;
use super::pages::Pages;

/// The cells of one batch, about, so that wide rows do not take much memory.
const CELLS: usize = 1 << 16;

/// A Parquet file whose columns are known.
pub(super) struct Parquet(ParquetRecordBatchReaderBuilder<Pages>);

impl Parquet {
    /// One of records. Its columns have the types that Arrow's writers note, dictionaries among them.
    pub(super) fn of_records(pages: Pages) -> Result<Self, String> {
        Self::new(
            pages,
            ArrowReaderOptions::new(),
            "it is not a readable Parquet file: it is damaged, cut or encrypted",
        )
    }

    /// One of reports. Its columns have the types of Parquet alone: those of binary are two.
    pub(super) fn of_reports(pages: Pages) -> Result<Self, String> {
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let problem = "the Parquet file cannot be read: it was cut, altered or encrypted, or the aggregator has not \
                       sealed it yet (`ldp-pca store export` writes all reports of a folder)";
        Self::new(pages, options, problem)
    }

    fn new(pages: Pages, options: ArrowReaderOptions, problem: &str) -> Result<Self, String> {
        let builder =
            decoded(|| ParquetRecordBatchReaderBuilder::try_new_with_options(pages, options)).ok_or(problem)?;
        let chunks = builder.metadata().row_groups().iter().flat_map(RowGroupMetaData::columns);
        let unsupported = chunks
            .map(ColumnChunkMetaData::compression)
            .find(|codec| matches!(codec, Compression::BROTLI(_) | Compression::LZO));
        match unsupported {
            Some(_) => Err("it is compressed with brotli or LZO: write it with zstd, lz4, snappy or gzip".to_owned()),
            None => Ok(Self(builder)),
        }
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.0.schema().clone()
    }

    /// The number of rows that it claims to have.
    pub(super) fn rows(&self) -> u64 {
        let groups = self.0.metadata().row_groups().iter();
        groups.filter_map(|group| u64::try_from(group.num_rows()).ok()).fold(0, u64::saturating_add)
    }

    /// The rows of the columns at these places.
    pub(super) fn batches(self, columns: &[usize]) -> Result<ParquetRecordBatchReader, String> {
        let size = (CELLS / columns.len().max(1)).max(1);
        self.batches_of(size, columns)
    }

    /// The rows of the columns at these places, in batches of at most `size` rows.
    pub(super) fn batches_of(self, size: usize, columns: &[usize]) -> Result<ParquetRecordBatchReader, String> {
        decoded(|| {
            let mask = ProjectionMask::roots(self.0.parquet_schema(), columns.iter().copied());
            self.0.with_projection(mask).with_batch_size(size).build()
        })
        .ok_or_else(|| "its columns cannot be read: the file is damaged".to_owned())
    }
}
