//! Bindings for browsers and other JavaScript hosts: they translate, and never compute.
//!
//! Two builds come of them. The *client* (feature `js`) is what a page loads to randomize records, so every byte of it
//! counts; the *lab* (feature `lab`) adds what follows on the aggregator's side. The npm package (`pkg/`) wraps both and
//! is what applications use. What crosses the boundary is text, bytes and numbers: objects would cost more glue than the
//! work behind them.
//!
//! Everything here throws a text, `code: message`, with the crate's own message and a stable code:
//!
//! | code | what was wrong |
//! |---|---|
//! | `task` | the task document: not JSON, unknown fields, another version, parameters that make no sense |
//! | `schema` | a record that does not fit the columns: unknown, missing, of the wrong type, not finite, an unseen value |
//! | `record` | no record at all, or one without a direction where the task needs one |
//! | `report` | bytes that are not a report of the task |
//! | `entropy` | `crypto.getRandomValues` is missing or failed; there is no fallback |
//! | `argument` | an argument of the wrong type or length |

#![allow(clippy::missing_errors_doc, reason = "the table above says what is thrown, for all of them")]
#![allow(clippy::needless_pass_by_value, reason = "texts that may be missing come by value")]

mod client;
#[cfg(feature = "lab")]
mod lab;

use core::fmt::Display;

use wasm_bindgen::JsValue;

use crate::mechanism::RandomizeError;
use crate::record::RecordError;
use crate::schema::SchemaError;
use crate::task::TaskError;

pub use client::{Task, version};
#[cfg(feature = "lab")]
pub use lab::{Aggregate, Collection, Compared, Recovery};

/// Small rather than fast at sizes that a client does not meet.
#[cfg(not(feature = "lab"))]
#[global_allocator]
static ALLOCATOR: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();

/// An error of one stage. (The crate's own sum of all errors would bring all of their messages along.)
trait Coded: Display {
    fn code(&self) -> &'static str;
}

impl Coded for TaskError {
    fn code(&self) -> &'static str {
        "task"
    }
}

impl Coded for SchemaError {
    fn code(&self) -> &'static str {
        "schema"
    }
}

impl Coded for RecordError {
    fn code(&self) -> &'static str {
        "record"
    }
}

impl Coded for RandomizeError {
    fn code(&self) -> &'static str {
        match self {
            Self::Record(error) => error.code(),
            Self::Entropy(_) => "entropy",
        }
    }
}

/// A crate's error as it is thrown into JavaScript.
fn thrown(error: impl Coded) -> JsValue {
    failure(error.code(), &error)
}

fn failure(code: &str, message: &dyn Display) -> JsValue {
    JsValue::from_str(&format!("{code}: {message}"))
}
