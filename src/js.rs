//! Bindings for browsers and other JavaScript hosts: they translate, and never compute.
//!
//! The npm package (`pkg/`) wraps these classes and is what applications use. Everything here throws an `Error` with
//! the name `LdpPcaError`, the crate's own message and a stable `code`:
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

use chacha20::ChaCha20Rng;
use getrandom::SysRng;
use js_sys::{Array, ArrayBuffer, Float64Array, JSON, Object, Reflect, Uint8Array};
use rand::SeedableRng;
use rand::rand_core::TryCryptoRng;
use wasm_bindgen::prelude::{JsCast, JsValue, wasm_bindgen};

use crate::covariance::Covariance;
use crate::error::Error;
use crate::mechanism::RandomizeError;
use crate::record::BoundedRecord;
use crate::report::{Report, report_bytes};
use crate::schema::Value;
use crate::task;

/// The version of this library.
#[wasm_bindgen]
#[must_use]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// A collection's public parameters, checked.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Task {
    task: task::Task,
}

#[wasm_bindgen]
impl Task {
    /// Reads a task from its JSON text, or from what `JSON.parse` made of it.
    #[wasm_bindgen(js_name = fromJSON)]
    pub fn from_json(json: &JsValue) -> Result<Task, JsValue> {
        let text = match json.as_string() {
            Some(text) => text,
            None if json.is_object() => JSON::stringify(json)
                .ok()
                .and_then(|text| text.as_string())
                .ok_or_else(|| failure("task", "the task is an object that JSON cannot write: give its JSON text"))?,
            None => return Err(failure("task", &format!("the task is {}: give its JSON text", kind(json)))),
        };
        Ok(Self { task: task::Task::from_json(&text).map_err(thrown)? })
    }

    /// The canonical JSON text, which the digest is of.
    #[wasm_bindgen(js_name = canonicalJSON)]
    #[must_use]
    pub fn canonical_json(&self) -> String {
        self.task.to_json()
    }

    /// The task's identity: 64 hexadecimal digits.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn digest(&self) -> String {
        self.task.digest().to_string()
    }

    /// The number of features, d.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.task.dimension()
    }

    /// The names of the d features.
    #[wasm_bindgen(getter, js_name = featureNames)]
    #[must_use]
    pub fn feature_names(&self) -> Vec<String> {
        self.task.schema().feature_names()
    }

    /// What one report promises: `{epsilon, delta, neighbouring, unit}`.
    #[wasm_bindgen(getter)]
    pub fn guarantee(&self) -> Result<JsValue, JsValue> {
        let text =
            serde_json::to_string(&self.task.guarantee()).map_err(|error| failure("task", &error.to_string()))?;
        JSON::parse(&text)
    }

    /// The most by which one report can change anybody's odds between two records: `e^epsilon`.
    #[wasm_bindgen(getter, js_name = oddsFactor)]
    #[must_use]
    pub fn odds_factor(&self) -> f64 {
        self.task.guarantee().odds_factor()
    }

    /// The length of every report in bytes.
    #[wasm_bindgen(getter, js_name = reportBytes)]
    #[must_use]
    pub fn report_bytes(&self) -> usize {
        report_bytes(&self.task)
    }

    /// What the task makes of a record: `{features, bounded, contribution}`, with d, d and d × d numbers. All of it is
    /// as private as the record.
    pub fn encode(&self, record: &JsValue) -> Result<Object, JsValue> {
        let features = encoded(&self.task, record)?;
        let bounded = self.task.bound(features.clone()).map_err(thrown)?;
        let object = Object::new();
        for (name, numbers) in [
            ("features", features.as_slice()),
            ("bounded", bounded.coordinates()),
            ("contribution", bounded.contribution().as_slice()),
        ] {
            Reflect::set(&object, &name.into(), &Float64Array::from(numbers))?;
        }
        Ok(object)
    }

    /// What the aggregator reads out of this one report: d × d numbers.
    #[wasm_bindgen(js_name = debiasedContribution)]
    pub fn debiased_contribution(&self, report: &JsValue) -> Result<Vec<f64>, JsValue> {
        let bytes = report
            .dyn_ref::<Uint8Array>()
            .ok_or_else(|| failure("argument", &format!("the report is {}: give a Uint8Array", kind(report))))?;
        let report = Report::from_bytes(&bytes.to_vec(), &self.task).map_err(thrown)?;
        Ok(Covariance::of_report(&report, &self.task).map_err(thrown)?.second_moment().as_slice().to_vec())
    }
}

/// Turns records into reports of one task.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Randomizer {
    task: task::Task,
}

#[wasm_bindgen]
impl Randomizer {
    /// A randomizer for `task`.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(task: &Task) -> Self {
        Self { task: task.task.clone() }
    }

    /// Randomizes a record into the bytes of a report. All randomness comes from `crypto.getRandomValues`, in blocks:
    /// no seed is kept in the module's memory.
    pub fn randomize(&self, record: &JsValue) -> Result<Vec<u8>, JsValue> {
        self.report(record, &mut SysRng)
    }

    /// For tests and vectors only: the report follows from the record and 32 bytes of seed, so who knows the seed can
    /// tell records apart.
    #[wasm_bindgen(js_name = randomizeSeeded)]
    pub fn randomize_seeded(&self, record: &JsValue, seed: &JsValue) -> Result<Vec<u8>, JsValue> {
        let seed = seed
            .dyn_ref::<Uint8Array>()
            .and_then(|bytes| <[u8; 32]>::try_from(bytes.to_vec()).ok())
            .ok_or_else(|| failure("argument", "the seed must be a Uint8Array of 32 bytes"))?;
        self.report(record, &mut ChaCha20Rng::from_seed(seed))
    }

    fn report<R: TryCryptoRng>(&self, record: &JsValue, rng: &mut R) -> Result<Vec<u8>, JsValue> {
        let record: BoundedRecord = self.task.bound(encoded(&self.task, record)?).map_err(thrown)?;
        Ok(self.task.randomize_with_rng(&record, rng).map_err(thrown)?.to_bytes())
    }
}

/// The features of a record: a plain object by column name, or numbers in the order of the columns.
fn encoded(task: &task::Task, record: &JsValue) -> Result<Vec<f64>, JsValue> {
    let schema = task.schema();
    if let Some(numbers) = record.dyn_ref::<Float64Array>() {
        return schema.encode_numbers(&numbers.to_vec()).map_err(thrown);
    }
    if Array::is_array(record) {
        let numbers = record.unchecked_ref::<Array>().iter().enumerate().map(|(index, value)| {
            value.as_f64().ok_or_else(|| {
                failure(
                    "schema",
                    &format!("position {} of the record holds {}: give a number", index + 1, kind(&value)),
                )
            })
        });
        return schema.encode_numbers(&numbers.collect::<Result<Vec<f64>, JsValue>>()?).map_err(thrown);
    }
    if !record.is_object() || ArrayBuffer::is_view(record) {
        let message = format!("the record is {}: give an object by column name, or a Float64Array", kind(record));
        return Err(failure("record", &message));
    }
    // Own enumerable properties only: what an object inherits is not part of the record.
    let entries: Vec<(String, JsValue)> = Object::entries(record.unchecked_ref())
        .iter()
        .map(|entry| {
            let entry: Array = entry.unchecked_into();
            (entry.get(0).as_string().unwrap_or_default(), entry.get(1))
        })
        .collect();
    let texts: Vec<Option<String>> = entries.iter().map(|(_, value)| value.as_string()).collect();
    let mut named = Vec::with_capacity(entries.len());
    for ((name, value), text) in entries.iter().zip(&texts) {
        let value = match (value.as_f64(), text) {
            (Some(number), _) => Value::Number(number),
            (None, Some(text)) => Value::Text(text),
            (None, None) => {
                return Err(failure(
                    "schema",
                    &format!("column '{name}' holds {}: give a number or a text", kind(value)),
                ));
            }
        };
        named.push((name.as_str(), value));
    }
    schema.encode_named(named).map_err(thrown)
}

/// What a value is, in the words of an error message.
fn kind(value: &JsValue) -> String {
    match value {
        _ if value.is_null() => "null".to_owned(),
        _ if value.is_undefined() => "undefined".to_owned(),
        _ if Array::is_array(value) => "an array".to_owned(),
        _ if value.is_object() => "an object".to_owned(),
        _ => format!("a {}", value.js_typeof().as_string().unwrap_or_default()),
    }
}

/// A crate's error as it is thrown into JavaScript.
fn thrown(error: impl Into<Error>) -> JsValue {
    let error = error.into();
    let code = match &error {
        Error::Task(_) | Error::Mechanism(_) | Error::Privacy(_) => "task",
        Error::Schema(_) => "schema",
        Error::Record(_) | Error::Randomize(RandomizeError::Record(_)) => "record",
        Error::Report(_) => "report",
        Error::Entropy(_) | Error::Randomize(RandomizeError::Entropy(_)) => "entropy",
        // Later stages belong to the aggregator; here they see single reports that were checked.
        _ => "aggregate",
    };
    failure(code, &error.to_string())
}

/// An `Error` with a stable code.
fn failure(code: &str, message: &str) -> JsValue {
    let error = js_sys::Error::new(message);
    error.set_name("LdpPcaError");
    // Setting a property of an object that was just made cannot fail.
    let _ = Reflect::set(&error, &"code".into(), &code.into());
    error.into()
}
