//! Stands in for the readers where they are not built.

use std::io::{self, Write};
use std::path::Path;

use ldp_pca::task::Task;
use ldp_pca_records::FileFormat;

use super::{ColumnarRows, Content};
use crate::error::{CliError, Result};

/// Refuses a file of records.
pub(crate) fn open(path: &Path, _: FileFormat, _: Content) -> Result<Box<dyn ColumnarRows>> {
    let problem = "this ldp-pca was built without Parquet and Arrow: build it with the feature parquet, or use CSV";
    Err(CliError::file(path, problem))
}

/// Refuses a file of reports.
pub fn for_each_report_batch(
    path: &Path,
    _: Content,
    _: (usize, usize, usize),
    _: impl FnMut(&[&[u8]]) -> Result<()>,
) -> Result<()> {
    let problem = "this ldp-pca was built without Parquet: build it with the feature parquet, or have `store export` \
                   write a file that does not end in .parquet";
    Err(CliError::file(path, problem))
}

/// Refuses to write a table of reports.
pub(crate) fn write_reports<T>(
    _: impl Write,
    _: &Task,
    path: &Path,
    _: impl FnOnce(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<T>,
) -> Result<T> {
    let problem = "this ldp-pca was built without Parquet: build it with the feature parquet, or name a file that does \
                   not end in .parquet";
    Err(CliError::file(path, problem))
}
