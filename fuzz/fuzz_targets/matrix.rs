//! Any bytes, gzip or not, are a matrix in NPY or an error; a matrix has whole rows of finite numbers, and scales to
//! the unit ball.
#![no_main]

use std::path::Path;

use ldp_pca_cli::files;
use ldp_pca_literature::experiments::data::scaled_as_chaudhuri;
use ldp_pca_research::fuzzing as research;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let small = bytes.len() < 1 << 16;
    if let Ok(matrix) = research::matrix(bytes) {
        assert!(matrix.columns > 0 && !matrix.values.is_empty() && matrix.values.len().is_multiple_of(matrix.columns));
        assert!(matrix.values.iter().all(|value| value.is_finite()));
        if small && matrix.columns <= 256 {
            let scaled = scaled_as_chaudhuri(matrix.columns, matrix.values.clone()).expect("finite numbers");
            assert_eq!(scaled.records() as usize * matrix.columns, matrix.values.len());
            let norm = scaled.largest_norm();
            let zero = matrix.values.iter().all(|value| *value == 0.0);
            assert!(if zero { norm == 0.0 } else { (norm - 1.0).abs() < 1e-12 }, "{norm}");
            assert!(scaled.second_moment().iter().all(|entry| entry.abs() < 1.0 + 1e-12));
        }
    }
    if let Ok(symmetric) = files::symmetric(Path::new("fuzzed"), bytes, bytes.len() as u64) {
        let side = symmetric.dimension();
        assert!(side > 0 && side * side <= bytes.len() * 1100);
    }
});
