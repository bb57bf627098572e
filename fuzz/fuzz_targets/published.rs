//! Any bytes, gzip or not, are a published data set's file or an error, and its matrix is of finite numbers. The first
//! byte chooses the data set.
#![no_main]

use ldp_pca_research::fuzzing as research;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let Ok(matrix) = research::published(bytes, *choice) else { return };
    assert!(matrix.columns > 0 && !matrix.values.is_empty());
    assert_eq!(matrix.values.len() % matrix.columns, 0);
    assert!(matrix.values.iter().all(|value| value.is_finite()));
});
