//! Conversions at the boundary: options and matrices on their way in, results and errors on their way out.

use core::fmt::Display;

#[cfg(feature = "lab")]
use js_sys::{Float64Array, Reflect};
#[cfg(any(feature = "lab", feature = "methods", feature = "records"))]
use nalgebra::DMatrix;
use serde::Serialize;
#[cfg(any(feature = "lab", feature = "records"))]
use serde::de::DeserializeOwned;
use serde_wasm_bindgen::Serializer;
#[cfg(any(feature = "lab", feature = "records"))]
use serde_wasm_bindgen::from_value;
use wasm_bindgen::{JsCast, JsValue};

use ldp_pca::aggregate::AggregateError;
use ldp_pca::covariance::CovarianceError;
use ldp_pca::internal::law::NoiseError;
use ldp_pca::mechanism::MechanismError;
use ldp_pca::prediction::PredictionError;
use ldp_pca::privacy::PrivacyError;
use ldp_pca::record::RecordError;
use ldp_pca::recovery::{AnswerError, FantopeError, PathError, PenaltyError};
use ldp_pca::report::ReportError;
use ldp_pca::schema::SchemaError;
use ldp_pca_literature::baselines::{BaselineError, SampleError};
use ldp_pca_simulation::{PopulationError, SimulationError};

/// An error of one stage, with its code. The client has its own copy (`src/js/mod.rs`): the methods are built without
/// the client, whose exports would come along.
pub(crate) trait Coded: Display {
    fn code(&self) -> &'static str;
}

macro_rules! coded {
    ($($error:ty => $code:literal),* $(,)?) => {
        $(impl Coded for $error {
            fn code(&self) -> &'static str {
                $code
            }
        })*
    };
}

coded! {
    AggregateError => "aggregate",
    BaselineError => "method",
    CovarianceError => "aggregate",
    FantopeError => "recovery",
    MechanismError => "argument",
    NoiseError => "recovery",
    PopulationError => "simulation",
    PrivacyError => "argument",
    RecordError => "record",
    ReportError => "report",
    SampleError => "argument",
    SchemaError => "records",
    SimulationError => "simulation",
}

impl Coded for AnswerError {
    fn code(&self) -> &'static str {
        if let Self::Penalty(error) = self { error.code() } else { "recovery" }
    }
}

impl Coded for PenaltyError {
    fn code(&self) -> &'static str {
        if let Self::Path(PathError::Cancelled { .. }) = self { "cancelled" } else { "recovery" }
    }
}

impl Coded for PredictionError {
    fn code(&self) -> &'static str {
        if let Self::Mechanism(error) = self { error.code() } else { "recovery" }
    }
}

/// The JavaScript exception for an error of the library, in the same form as the client's.
pub(crate) fn thrown(error: impl Coded) -> JsValue {
    failure(error.code(), &error)
}

pub(crate) fn failure(code: &str, message: &dyn Display) -> JsValue {
    JsValue::from_str(&format!("{code}: {message}"))
}

/// Options. The package checks their names before.
#[cfg(any(feature = "lab", feature = "records"))]
pub(crate) fn read<T: DeserializeOwned>(value: JsValue) -> Result<T, JsValue> {
    from_value(value).map_err(|error| failure("argument", &format!("the options are not usable: {}", message(error))))
}

/// A matrix from outside, row-major.
#[cfg(any(feature = "lab", feature = "methods", feature = "records"))]
pub(crate) fn matrix(numbers: &[f64], rows: usize, columns: usize) -> Result<DMatrix<f64>, JsValue> {
    if rows.checked_mul(columns) != Some(numbers.len()) {
        let message = format!("{} numbers are not a matrix of {rows} × {columns}", numbers.len());
        return Err(failure("argument", &message));
    }
    Ok(DMatrix::from_row_slice(rows, columns, numbers))
}

/// A result as an object, with unchanged numbers.
pub(crate) fn object(value: &impl Serialize) -> Result<JsValue, JsValue> {
    value.serialize(&Serializer::json_compatible()).map_err(|error| failure("recovery", &message(error)))
}

/// An object, with numbers as one more field of it, a `Float64Array`.
#[cfg(feature = "lab")]
pub(crate) fn object_with(value: &impl Serialize, name: &str, numbers: &[f64]) -> Result<JsValue, JsValue> {
    let object = object(value)?;
    Reflect::set(&object, &name.into(), &Float64Array::from(numbers).into())?;
    Ok(object)
}

/// Without the name of JavaScript's class, which its own text has before it.
fn message(error: serde_wasm_bindgen::Error) -> String {
    JsValue::from(error).unchecked_into::<js_sys::Error>().message().into()
}
