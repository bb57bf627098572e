//! The mechanisms, files and generated values that tests share.

use std::fs;
use std::path::Path;

use ldp_pca::mechanism::MechanismSpec;
use ldp_pca::privacy::{Delta, Epsilon};
use proptest::prelude::*;
use proptest::sample::select;
use serde::de::DeserializeOwned;

pub(crate) fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

pub(crate) fn delta(value: f64) -> Delta {
    Delta::new(value).unwrap()
}

/// The double-cap mechanism with the recommended number of candidates and the best cap.
pub(crate) fn double_cap(e: f64) -> MechanismSpec {
    MechanismSpec::double_cap(epsilon(e))
}

/// The Gaussian mechanism with the default calibration and delta 1e-6.
pub(crate) fn gaussian(e: f64) -> MechanismSpec {
    MechanismSpec::gaussian(epsilon(e), delta(1e-6))
}

/// A file of `tests/vectors`.
pub(crate) fn vectors<T: DeserializeOwned>(file: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(file);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Numbers of every size, and those that are none.
pub(crate) fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        2 => select(vec![0.0, -0.0, 1.0, -1.0, 0.1, f64::MIN_POSITIVE, 5e-324, f64::MAX, -f64::MAX, 1e-300, 1e300]),
        1 => select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
        3 => -10.0..10.0,
        1 => any::<f64>(),
    ]
}

/// Short texts, some with a meaning for readers of numbers, JSON or tables.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-c]{1,2}",
        1 => select(vec![
            "", " ", "0", "1", "NaN", "inf", "-0", "1e999", "null", "{}", "[]", "\u{feff}", "\"", "a,b", "é",
            "\u{202e}", "\0", "c1", "other",
        ])
        .prop_map(str::to_owned),
        1 => ".{0,12}",
    ]
}
