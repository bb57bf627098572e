//! Stands in for the readers where they are not built.

use core::convert::Infallible;
use std::fs::File;
use std::io::BufRead;
use std::path::Path;

use ldp_pca_records::Kind;

use super::Cells;
use crate::error::{CliError, Result};

/// Rows that nothing reads.
pub(crate) struct ColumnarRows(Infallible);

impl ColumnarRows {
    pub(crate) fn in_file(path: &Path, _: Kind, _: File) -> Result<Self> {
        Err(refused(path))
    }

    pub(crate) fn new(path: &Path, _: Kind, _: Box<dyn BufRead>) -> Result<Self> {
        Err(refused(path))
    }

    pub(crate) fn names(&self) -> &[String] {
        match self.0 {}
    }

    pub(crate) fn only(&mut self, _: impl Fn(&str) -> bool, _: bool) {
        match self.0 {}
    }

    pub(crate) fn for_each(self, _: &Path, _: impl FnMut(u64, Cells<'_>) -> Result<()>) -> Result<()> {
        match self.0 {}
    }
}

fn refused(path: &Path) -> CliError {
    CliError::file(
        path,
        "this ldp-pca was built without Parquet and Arrow: build it with the feature parquet, or use CSV",
    )
}
