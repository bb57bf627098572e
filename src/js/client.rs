//! The client's functions: read a task, say what it asks, randomize records.

use getrandom::SysRng;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::{Coded, coded, failure, thrown};
use crate::decimal;
use crate::json::{self, Read, Reader, write_array, write_text};
use crate::mechanism::{LocalRandomizer, RandomizeError};
use crate::privacy::tradeoff::Detection;
use crate::record::RecordError;
use crate::report::{ReportId, report_bytes};
use crate::schema::{SchemaError, Value};
use crate::task::{self, TaskError};

coded! {
    RecordError => "record",
    SchemaError => "schema",
    TaskError => "task",
}

impl Coded for RandomizeError {
    fn code(&self) -> &'static str {
        match self {
            Self::Record(error) => error.code(),
            Self::Entropy(_) => "entropy",
        }
    }
}

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
        Ok(Self { task: task::Task::from_json(json).map_err(thrown)? })
    }

    /// The canonical JSON text; the digest is computed from it.
    #[wasm_bindgen(js_name = canonicalJSON)]
    #[must_use]
    pub fn canonical_json(&self) -> String {
        self.task.to_json()
    }

    /// What the task asks for, as JSON: `{digest, dimension, featureNames, reportBytes, draws, guarantee, detection}`,
    /// and for a refinement its `campaign`: the digest of the task that it refines.
    #[must_use]
    pub fn facts(&self) -> String {
        let task = &self.task;
        let mut text = format!("{{\"digest\":\"{}\",", task.digest());
        if task.refinement().is_some() {
            text.push_str(&format!("\"campaign\":\"{}\",", task.campaign()));
        }
        text.push_str(&format!("\"dimension\":{},\"featureNames\":", task.dimension()));
        write_array(&task.schema().feature_names(), &mut text, |name, out| write_text(name, out));
        text.push_str(&format!(
            ",\"reportBytes\":{},\"draws\":{},\"guarantee\":",
            report_bytes(task),
            task.mechanism().draws()
        ));
        text.push_str(&task.guarantee().to_json());
        text.push_str(",\"detection\":{\"falseAlarms\":");
        let Detection { false_alarms, power } = Detection::of(task.mechanism().privacy_loss());
        decimal::write(false_alarms, &mut text);
        text.push_str(",\"power\":");
        decimal::write(power, &mut text);
        text.push_str("}}");
        text
    }

    /// Randomizes a record into the bytes of a report.
    ///
    /// The record is `numbers`, one for each column in order, NaN for a missing value. A host with types also gives
    /// `texts`: the JSON of an array with a text for each column that holds one, and null for the others. (The package
    /// matches names to columns, because it reports all problems at once.)
    ///
    /// All randomness comes from `crypto.getRandomValues`, in blocks: no seed is kept in the module's memory. With an
    /// `id` (16 bytes) the report uses that one instead of its own.
    pub fn randomize(&self, texts: Option<Vec<u8>>, numbers: &[f64], id: Option<Vec<u8>>) -> Result<Vec<u8>, JsValue> {
        let features = self.features(texts.as_deref(), numbers)?;
        let record = self.task.bound(features).map_err(thrown)?;
        // The caller gives 16 bytes or none.
        let id = id.and_then(|id| id.try_into().ok()).map(ReportId::new);
        Ok(self.task.randomize_as(&record, id, &mut SysRng).map_err(thrown)?.to_bytes())
    }
}

/// The parts that the lab's bindings use.
impl Task {
    /// The task itself.
    #[doc(hidden)]
    #[must_use]
    pub fn inner(&self) -> &task::Task {
        &self.task
    }

    /// The d features of a record, given as for [`randomize`](Self::randomize).
    #[doc(hidden)]
    pub fn features(&self, texts: Option<&[u8]>, numbers: &[f64]) -> Result<Vec<f64>, JsValue> {
        let schema = self.task.schema();
        let Some(texts) = texts else { return schema.encode_numbers(numbers).map_err(thrown) };
        // No detail: it would contain part of the text.
        let refused = || failure("schema", &"the record's texts are not valid");
        let texts = str::from_utf8(texts).map_err(|_| refused())?;
        let texts = json::read(texts, read_texts).map_err(|_| refused())?;
        let values = texts.iter().zip(numbers);
        let values: Vec<_> =
            values.map(|(text, number)| text.as_deref().map_or(Value::Number(*number), Value::Text)).collect();
        schema.encode_values(&values).map_err(thrown)
    }
}

/// `["text", null, …]`.
fn read_texts(reader: &mut Reader<'_>) -> Read<Vec<Option<String>>> {
    reader.list(|reader| if reader.at_text() { reader.text().map(Some) } else { reader.skip().map(|()| None) })
}
