//! Parquet and Arrow files of records, whose rows become the cells that a CSV file of them has. The decoders are in
//! crates that take long to build, so they are a feature.

#[cfg(feature = "parquet")]
mod arrow;
#[cfg(feature = "parquet")]
mod cells;
#[cfg(feature = "parquet")]
mod decoders;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod rows;
#[cfg(not(feature = "parquet"))]
#[path = "absent.rs"]
mod rows;

use std::fs::File;
use std::io::{Read, Seek as _};
use std::path::Path;

pub(super) use rows::ColumnarRows;

use ldp_pca_records::Kind;

use super::error::{InFile as _, Result};

/// Whether a file on a disk is Parquet, which is read in no order. It is at its start again.
pub(super) fn is_parquet(path: &Path, file: &mut File) -> Result<bool> {
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Ok(false);
    }
    let mut start = Vec::new();
    file.by_ref().take(4).read_to_end(&mut start).in_file(path)?;
    file.rewind().in_file(path)?;
    Ok(Kind::of(&start) == Kind::Parquet)
}
