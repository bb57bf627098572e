//! What crosses the boundary in several builds: matrices on their way in, results as JSON on their way out.

use std::io;

use nalgebra::DMatrix;
use serde::Serialize;
use wasm_bindgen::JsValue;

use super::failure;
use crate::decimal;

/// A symmetric matrix as it comes from outside, `d × d` numbers.
pub(super) fn matrix(numbers: &[f64], dimension: usize) -> Result<DMatrix<f64>, JsValue> {
    if dimension.checked_mul(dimension) != Some(numbers.len()) {
        let message = format!("{} numbers are not a matrix of {dimension} × {dimension}", numbers.len());
        return Err(failure("argument", &message));
    }
    Ok(DMatrix::from_row_slice(dimension, dimension, numbers))
}

/// A result as JSON.
pub(super) fn json(value: &impl Serialize) -> Result<String, JsValue> {
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, WithoutTables);
    value.serialize(&mut serializer).map_err(|error| failure("recovery", &error))?;
    String::from_utf8(text).map_err(|error| failure("recovery", &error))
}

/// Writes numbers as the client does: the tables of `serde_json`'s faster way are a twentieth of the lab.
struct WithoutTables;

impl serde_json::ser::Formatter for WithoutTables {
    fn write_f64<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let mut text = String::new();
        decimal::write(value, &mut text);
        writer.write_all(text.as_bytes())
    }
}
