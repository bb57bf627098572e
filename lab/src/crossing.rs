//! What crosses the boundary: options and matrices on their way in, results as JSON and errors on their way out.

use core::fmt::Display;
use std::io;

use ldp_pca::decimal;
use nalgebra::DMatrix;
use serde::Serialize;
#[cfg(feature = "lab")]
use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;

/// An error of one stage, with the code that it is thrown with.
pub(crate) trait Coded: Display {
    fn code(&self) -> &'static str;
}

/// Codes of errors that have one each.
macro_rules! coded {
    ($($error:ty => $code:literal),* $(,)?) => {
        $(impl $crate::crossing::Coded for $error {
            fn code(&self) -> &'static str {
                $code
            }
        })*
    };
}
pub(crate) use coded;

/// A library's error as it is thrown into JavaScript, in the same form as the client's.
pub(crate) fn thrown(error: impl Coded) -> JsValue {
    failure(error.code(), &error)
}

pub(crate) fn failure(code: &str, message: &dyn Display) -> JsValue {
    JsValue::from_str(&format!("{code}: {message}"))
}

/// Options as JSON. Unknown ones are errors.
#[cfg(feature = "lab")]
pub(crate) fn options<T: DeserializeOwned>(json: &str) -> Result<T, JsValue> {
    serde_json::from_str(json).map_err(|error| failure("argument", &format!("the options are not usable: {error}")))
}

/// A symmetric matrix as it comes from outside, `d × d` numbers.
pub(crate) fn matrix(numbers: &[f64], dimension: usize) -> Result<DMatrix<f64>, JsValue> {
    if dimension.checked_mul(dimension) != Some(numbers.len()) {
        let message = format!("{} numbers are not a matrix of {dimension} × {dimension}", numbers.len());
        return Err(failure("argument", &message));
    }
    Ok(DMatrix::from_row_slice(dimension, dimension, numbers))
}

/// A result as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<String, JsValue> {
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
