//! Parquet and Arrow files of records, whose rows become the cells that a CSV file of them has, and Parquet files of
//! reports. The decoders are in crates that take long to build, so they are a feature.

#[cfg(feature = "parquet")]
mod arrow;
#[cfg(feature = "parquet")]
mod cells;
#[cfg(feature = "parquet")]
mod decoders;
#[cfg(feature = "parquet")]
mod pages;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod reports;
#[cfg(feature = "parquet")]
mod rows;
#[cfg(not(feature = "parquet"))]
#[path = "absent.rs"]
mod rows;

use std::fs::File;
use std::io::{Read, Seek as _};
use std::path::Path;

#[cfg(feature = "parquet")]
pub(super) use reports::ReportRows;
pub(super) use rows::ColumnarRows;
#[cfg(not(feature = "parquet"))]
pub(super) use rows::ReportRows;

use ldp_pca_records::{FileFormat, StringRecord};

use super::error::{InFile as _, Result};

/// The cells of a row.
#[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "nothing gives them"))]
pub(super) enum Cells<'a> {
    Text(&'a StringRecord),
    Numbers(&'a [f64]),
}

/// The format of a file on a disk that is read in no order. The file is at its start again.
pub(super) fn in_no_order(path: &Path, file: &mut File) -> Result<Option<FileFormat>> {
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Ok(None);
    }
    let mut start = Vec::new();
    file.by_ref().take(8).read_to_end(&mut start).in_file(path)?;
    file.rewind().in_file(path)?;
    Ok(Some(FileFormat::of(&start)).filter(|kind| matches!(kind, FileFormat::Parquet | FileFormat::ArrowFile)))
}
