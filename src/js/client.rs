//! The client's functions: read a task, say what it asks, randomize records.

use core::fmt::Display;

use getrandom::SysRng;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::decimal::Json;
use crate::json::{self, Read, Reader, write_array, write_text};
use crate::mechanism::{LocalRandomizer, RandomizeError};
use crate::privacy::tradeoff::Detection;
use crate::report::{ReportId, report_bytes};
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
    /// Reads a task from its JSON text.
    #[wasm_bindgen(constructor)]
    pub fn new(json: &[u8]) -> Result<Task, JsValue> {
        let json = str::from_utf8(json).map_err(|_| failure("task", &"the text is not UTF-8"))?;
        Ok(Self { task: task::Task::from_json(json).map_err(|error| failure("task", &error))? })
    }

    /// The canonical JSON text; the digest is computed from it.
    #[wasm_bindgen(js_name = canonicalJSON)]
    #[must_use]
    pub fn canonical_json(&self) -> String {
        self.task.to_json()
    }

    /// What the task asks for, as JSON: `{digest, dimension, featureNames, reportBytes, draws, guarantee, detection}`,
    /// for a refinement its `campaign`, which is the digest of the task that it refines, and the `period` if any.
    #[must_use]
    pub fn facts(&self) -> String {
        let task = &self.task;
        let mut text = format!("{{\"digest\":\"{}\",", task.digest());
        if task.refinement().is_some() {
            text.push_str(&format!("\"campaign\":\"{}\",", task.campaign()));
        }
        text.push_str(&format!("\"dimension\":{},\"featureNames\":", task.dimension()));
        write_array(&task.schema().feature_names(), &mut text, |name, out| write_text(name, out));
        let (bytes, draws, guarantee) = (report_bytes(task), task.mechanism().draws(), task.guarantee().to_json());
        text.push_str(&format!(r#","reportBytes":{bytes},"draws":{draws},"guarantee":{guarantee}"#));
        if let Some(period) = task.period() {
            text.push_str(",\"period\":");
            write_text(period, &mut text);
        }
        let Detection { false_alarms, power } = Detection::of(task.mechanism().privacy_loss());
        let (false_alarms, power) = (Json(false_alarms), Json(power));
        text.push_str(&format!(r#","detection":{{"falseAlarms":{false_alarms},"power":{power}}}}}"#));
        text
    }

    /// Randomizes a record into the bytes of a report.
    ///
    /// The record is one run of bytes, whose glue is the smallest: for each column in order the 8 bytes of its number,
    /// little-endian, NaN for a missing value; then the JSON array `[id, …]`. A host with types also gives, for each
    /// column, a text if it holds one, or null. (The package matches names to columns, because it reports all problems
    /// at once.) What does not fit its column is missing, so every record has a report.
    ///
    /// All randomness comes from `crypto.getRandomValues`, in blocks: no seed is kept in the module's memory. With an
    /// `id` of 32 hexadecimal digits in place of null, the report has that one instead of its own.
    pub fn randomize(&self, record: &[u8]) -> Result<Vec<u8>, JsValue> {
        let (id, features) = self.read(record)?;
        let record = self.task.bound(features).map_err(|error| failure("record", &error))?;
        let report = self.task.randomize_with_rng(&record, id, &mut SysRng).map_err(|error| {
            let code = match error {
                RandomizeError::Record(_) => "record",
                RandomizeError::Entropy(_) => "entropy",
            };
            failure(code, &error)
        })?;
        Ok(report.to_bytes())
    }
}

/// The parts that the lab's bindings use.
impl Task {
    /// The task itself.
    #[must_use]
    pub fn inner(&self) -> &task::Task {
        &self.task
    }

    /// The id that a report of the record is to have, and the record's d features.
    pub fn read(&self, record: &[u8]) -> Result<(Option<ReportId>, Vec<f64>), JsValue> {
        // No detail: it would contain part of the record.
        let refused = || failure("schema", &"the record's bytes are not valid");
        let schema = self.task.schema();
        let (numbers, texts) = record.split_at_checked(8 * schema.columns().len()).ok_or_else(refused)?;
        let numbers: Vec<f64> = numbers.as_chunks().0.iter().map(|number| f64::from_le_bytes(*number)).collect();
        let texts = str::from_utf8(texts).map_err(|_| refused())?;
        let texts = json::read(texts, |reader| reader.list(read_text)).map_err(|_| refused())?;
        let (id, texts) = texts.split_first().ok_or_else(refused)?;
        let id = match id {
            Some(id) => Some(id.parse::<ReportId>().map_err(|_| refused())?),
            None => None,
        };
        if texts.is_empty() {
            return Ok((id, schema.encode_numbers(&numbers)));
        }
        let values = texts.iter().zip(numbers);
        let values: Vec<_> =
            values.map(|(text, number)| text.as_deref().map_or(Value::Number(number), Value::Text)).collect();
        Ok((id, schema.encode_values(&values)))
    }
}

/// A text, or null.
fn read_text(reader: &mut Reader<'_>) -> Read<Option<String>> {
    if reader.at_text() { reader.text().map(Some) } else { reader.skip().map(|()| None) }
}

/// The JavaScript exception.
fn failure(code: &str, message: &dyn Display) -> JsValue {
    JsValue::from_str(&format!("{code}: {message}"))
}
