//! Any bytes are a file of columns (Parquet, or Arrow's file or stream), or an error: of records, rows of as many cells
//! as there are names, or in Parquet of reports.
#![no_main]

use ldp_pca_cli::fuzzing as cli;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if bytes.starts_with(b"PAR1") {
        // An error, or binary of any length.
        let _ = cli::reports(bytes);
    } else if !bytes.starts_with(b"ARROW1") && !bytes.starts_with(&[0xff; 4]) {
        return;
    }
    let Ok(records) = cli::records(bytes, 0, None) else { return };
    assert!(records.columnar && records.numbers.is_empty());
    let columns = records.names.expect("columns have names").len();
    for (place, (row, cells)) in (1..).zip(&records.rows) {
        assert_eq!(*row, place);
        assert_eq!(cells.as_ref().map(Vec::len), Ok(columns));
    }
});
