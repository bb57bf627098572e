//! Stands in for the readers where they are not built.

use core::convert::Infallible;
use std::fs::File;
use std::io::{BufRead, Read};
use std::path::Path;

use ldp_pca_records::FileFormat;

use super::Cells;
use crate::error::{CliError, Result};

/// Rows that nothing reads.
pub(crate) struct ColumnarRows(Infallible);

impl ColumnarRows {
    pub(crate) fn in_file(path: &Path, _: FileFormat, _: File) -> Result<Self> {
        Err(refused(path))
    }

    pub(crate) fn new(path: &Path, _: FileFormat, _: Box<dyn BufRead>) -> Result<Self> {
        Err(refused(path))
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

    pub(crate) fn for_each(self, _: &Path, _: impl FnMut(u64, Cells<'_>) -> Result<()>) -> Result<()> {
        match self.0 {}
    }
}

/// Reports that nothing reads.
pub(crate) struct ReportRows(Infallible);

impl ReportRows {
    pub(crate) fn in_file(path: &Path, _: File) -> Result<Self> {
        Err(reports_refused(path))
    }

    pub(crate) fn new(path: &Path, _: impl Read) -> Result<Self> {
        Err(reports_refused(path))
    }

    pub(crate) fn for_each_batch(
        self,
        _: &Path,
        _: (usize, usize, usize),
        _: impl FnMut(&[&[u8]]) -> Result<()>,
    ) -> Result<()> {
        match self.0 {}
    }
}

fn reports_refused(path: &Path) -> CliError {
    CliError::file(
        path,
        "this ldp-pca was built without Parquet: build it with the feature parquet, or have `store export` write a \
         file that does not end in .parquet",
    )
}

fn refused(path: &Path) -> CliError {
    CliError::file(
        path,
        "this ldp-pca was built without Parquet and Arrow: build it with the feature parquet, or use CSV",
    )
}
