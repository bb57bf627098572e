//! Any bytes are a file of columns (Parquet, or Arrow's file or stream), or an error: of records, rows of as many cells
//! as there are names, or in Parquet of reports.
#![no_main]

use std::io::Cursor;
use std::path::Path;

use ldp_pca_cli::columnar::{Content, for_each_report_batch};
use ldp_pca_cli::error::CliError;
use ldp_pca_records::looks_like_names;
use libfuzzer_sys::fuzz_target;

#[path = "../readers.rs"]
mod readers;

use readers::{MOST_ROWS, NAME, opened, opening, read};

fuzz_target!(|bytes: &[u8]| {
    if bytes.starts_with(b"PAR1") {
        // An error, or binary of any length.
        let content = Content::Stream(Box::new(Cursor::new(bytes.to_vec())));
        let mut found = 0;
        let _ = for_each_report_batch(Path::new(NAME), content, (1, MOST_ROWS, MOST_ROWS), |rows| {
            found += rows.len();
            if found > MOST_ROWS { Err(CliError::failed("enough rows")) } else { Ok(()) }
        });
    } else if !bytes.starts_with(b"ARROW1") && !bytes.starts_with(&[0xff; 4]) {
        return;
    }
    let Ok(records) = opened(bytes, &opening(0), looks_like_names).and_then(read) else { return };
    assert!(records.columnar && records.numbers.is_empty());
    let columns = records.names.expect("columns have names").len();
    for (place, (row, cells)) in (1..).zip(&records.rows) {
        assert_eq!(*row, place);
        assert_eq!(cells.as_ref().map(Vec::len), Ok(columns));
    }
});
