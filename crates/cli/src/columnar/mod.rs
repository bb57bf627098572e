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

use ldp_pca_records::{FileFormat, Row as TextRow};

pub use self::readers::for_each_report_batch;
pub(super) use self::readers::{open, write_reports};
use super::error::{InFile as _, Result};
use super::files::Input;

/// The content of a Parquet or Arrow file.
pub enum Content {
    /// Of a file that is read where it lies.
    File(File),
    /// Of anything that is read from its start.
    Stream(Box<dyn BufRead>),
}

/// One row of a file, of columns or of text.
pub enum Row<'a> {
    /// Its cells.
    Text(TextRow<'a>),
    /// Its numbers, where the file has nothing else.
    Numbers(&'a [f64]),
}

/// The rows of a Parquet or Arrow file.
pub(super) trait ColumnarRows {
    /// The names of the columns.
    fn names(&self) -> &[String];

    /// Reads only the columns of these names. The cells of the others are empty, and their types do not matter.
    /// With `numbers`, rows of numbers alone are given as such.
    fn only(&mut self, wanted: &dyn Fn(&str) -> bool, numbers: bool);

    /// The wanted columns whose values have no texts, and why: their cells are empty from now on.
    fn unreadable(&mut self) -> Vec<(String, String)>;

    /// Calls `visit` with every row and its number (from 1) until it fails.
    fn for_each(self: Box<Self>, path: &Path, visit: &mut dyn FnMut(u64, Row<'_>) -> Result<()>) -> Result<()>;
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
