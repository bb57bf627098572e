//! Stands in for the readers where they are not built.

use core::convert::Infallible;
use std::path::Path;

use ldp_pca_records::FileFormat;

use super::Content;
use crate::error::{CliError, Result};
use crate::records::Row;

/// Rows that nothing reads.
pub(crate) struct ColumnarRows(Infallible);

impl ColumnarRows {
    pub(crate) fn new(path: &Path, _: FileFormat, _: Content) -> Result<Self> {
        let problem = "this ldp-pca was built without Parquet and Arrow: build it with the feature parquet, or use CSV";
        Err(CliError::file(path, problem))
    }

    pub(crate) fn names(&self) -> &[String] {
        match self.0 {}
    }

    pub(crate) fn unreadable(&mut self) -> Vec<(String, String)> {
        match self.0 {}
    }

    pub(crate) fn only(&mut self, _: impl Fn(&str) -> bool, _: bool) {
        match self.0 {}
    }

    pub(crate) fn for_each(self, _: &Path, _: impl FnMut(u64, Row<'_>) -> Result<()>) -> Result<()> {
        match self.0 {}
    }
}

/// Refuses a file of reports.
pub(crate) fn for_each_report_batch(
    path: &Path,
    _: Content,
    _: (usize, usize, usize),
    _: impl FnMut(&[&[u8]]) -> Result<()>,
) -> Result<()> {
    let problem = "this ldp-pca was built without Parquet: build it with the feature parquet, or have `store export` \
                   write a file that does not end in .parquet";
    Err(CliError::file(path, problem))
}
