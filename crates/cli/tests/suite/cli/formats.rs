//! NPY of half precision. The transcripts have the other forms of input files.

use serde_json::json;

use crate::support::{Folder, npy};

/// All 65536 of them, against sums of powers of two; of them are 2048 NaN or infinite, which are missing.
#[test]
fn floats_of_half_precision_are_those_of_the_standard() {
    let folder = Folder::new();
    let bits: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    folder.write("all.npy", npy("<f2", false, "(65536, 1)", &bits));
    let inferred = folder.json("schema infer all.npy --scaling max-abs");
    assert_eq!((&inferred["missing"]["c1"], &inferred["columns"][0]["scale"]), (&json!(2048), &json!(65504.0)));
    folder.write("least.npy", npy("<f2", false, "(2, 1)", &[1, 0, 0, 0x84]));
    let inferred = folder.json("schema infer least.npy --scaling range");
    // The least number above zero is 2^-24, and the least normal one 2^-14.
    let found = (&inferred["columns"][0]["offset"], &inferred["columns"][0]["scale"]);
    assert_eq!(found, (&json!(-(0.5f64.powi(14))), &json!(0.5f64.powi(14) + 0.5f64.powi(24))));
}
