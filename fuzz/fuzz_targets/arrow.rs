//! Any bytes are an Arrow file or stream, or an error: rows of as many cells as there are names.
#![no_main]

use ldp_pca_cli::fuzzing as cli;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if !bytes.starts_with(b"ARROW1") && !bytes.starts_with(&[0xff; 4]) {
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
