//! Parquet and Arrow files of records, whose rows become the cells that a CSV file of them has, and Parquet files of
//! reports. The decoders are in crates that take long to build, so they are a feature.

#[cfg(not(feature = "parquet"))]
#[path = "absent.rs"]
mod readers;
#[cfg(feature = "parquet")]
mod readers;

use std::fs::File;
use std::io::{BufRead, Read as _, Seek as _};
use std::path::Path;

use ldp_pca_records::FileFormat;

pub(super) use self::readers::{ColumnarRows, for_each_report_batch};
use super::error::{InFile as _, Result};
use super::files::Input;

/// The content of a Parquet or Arrow file.
#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "nothing reads it"))]
pub(super) enum Content {
    /// Of a file that is read where it lies.
    File(File),
    /// Of anything that is read from its start.
    Stream(Box<dyn BufRead>),
}

/// The format and the content of a file on a disk that is read in no order. The input is at its start again.
pub(super) fn in_no_order(path: &Path, input: &mut Input) -> Result<Option<(FileFormat, Content)>> {
    let Input::File(file) = input else { return Ok(None) };
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Ok(None);
    }
    let mut start = Vec::new();
    file.by_ref().take(8).read_to_end(&mut start).in_file(path)?;
    file.rewind().in_file(path)?;
    match FileFormat::of(&start) {
        format @ (FileFormat::Parquet | FileFormat::ArrowFile) => {
            Ok(Some((format, Content::File(file.try_clone().in_file(path)?))))
        }
        _ => Ok(None),
    }
}
