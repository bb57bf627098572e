//! Files of records, as the command line reads them, with the messages that users see.
#![allow(dead_code, reason = "a target looks at what it is about")]

use std::io::Cursor;
use std::path::Path;

use ldp_pca::internal::schema::NumberForms;
use ldp_pca_cli::error::{CliError, Result};
use ldp_pca_cli::records::{Opening, RecordFile, Row};
use ldp_pca_records::{Header, Row as TextRow};

/// The name of a file in messages.
pub(crate) const NAME: &str = "fuzzed";

/// How many rows are kept: a few bytes of Parquet can hold millions.
pub(crate) const MOST_ROWS: usize = 1 << 16;

/// The content of a file of records.
pub(crate) struct Records {
    /// Those of its header.
    pub(crate) names: Option<Vec<String>>,
    /// Each with its line, and its problem if it cannot be read.
    pub(crate) rows: Vec<(u64, core::result::Result<Vec<String>, String>)>,
    /// Rows of an NPY file.
    pub(crate) numbers: Vec<Vec<f64>>,
    /// Whether they are columns, which all have names, and not lines.
    pub(crate) columnar: bool,
}

/// The options of this choice.
pub(crate) fn opening(choice: u8) -> Opening {
    let choice = usize::from(choice);
    Opening {
        header: [Header::Auto, Header::Yes, Header::No][choice % 3],
        decimal_comma: Some(choice / 3 % 2 == 1),
        separator: [None, Some(b','), Some(b';'), Some(b'\t')][choice / 6 % 4],
        number_format: match choice / 48 % 3 {
            0 => None,
            1 => NumberForms::parse("thousands,percent").ok(),
            _ => NumberForms::parse("currency,parentheses").ok(),
        },
        by_header: choice >= 144,
        ..Opening::default()
    }
}

pub(crate) fn opened(bytes: &[u8], opening: &Opening, is_header: impl Fn(&[&str]) -> bool) -> Result<RecordFile> {
    RecordFile::new(Path::new(NAME), Cursor::new(bytes.to_vec()), opening, is_header)
}

pub(crate) fn read(file: RecordFile) -> Result<Records> {
    let mut found = Records {
        names: file.names().map(<[String]>::to_vec),
        rows: vec![],
        numbers: vec![],
        columnar: file.part() == "row",
    };
    file.for_each(|line, row| {
        match row {
            Row::Text(TextRow { problem: Some(problem), .. }) => found.rows.push((line, Err(problem))),
            Row::Text(row) => found.rows.push((line, Ok(row.cells.iter().map(ToOwned::to_owned).collect()))),
            Row::Numbers(numbers) => found.numbers.push(numbers.to_vec()),
        }
        if found.rows.len() > MOST_ROWS { Err(CliError::failed("enough rows")) } else { Ok(()) }
    })?;
    Ok(found)
}
