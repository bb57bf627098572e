//! Tests that only a browser can run: the bindings, on the browser's own entropy.
#![cfg(target_family = "wasm")]
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::num::NonZeroUsize;

use chacha20::ChaCha20Rng;
use js_sys::{Array, JSON, Reflect};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::js::{Task, version};
use ldp_pca::mechanism::{DoubleCap, LocalRandomizer, MechanismSpec};
use ldp_pca::privacy::Epsilon;
use ldp_pca::record::Bounding;
use ldp_pca::report::Report;
use ldp_pca::schema::{Schema, Value};
use ldp_pca::task::{Folds, TaskMechanism};
use ldp_pca_simulation::audit::{Audit, Confidence};
use rand::{CryptoRng, SeedableRng};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

// In a worker: a page that computes for long does not answer the driver, which waits 30 s.
wasm_bindgen_test_configure!(run_in_dedicated_worker);

const TASK: &str = r#"{
    "version": 1,
    "schema": {"columns": [
        {"name": "height", "type": "numeric", "offset": 0, "scale": 200},
        {"name": "note", "type": "ignored"},
        {"name": "plan", "type": "categorical", "values": ["free", "paid"], "unseen": "zero"}
    ]},
    "bounding": {"type": "unit-norm"},
    "mechanism": {"type": "double-cap", "epsilon": 2, "candidates": 64, "cap": 8},
    "folds": 1
}"#;

fn task() -> Task {
    Task::new(TASK.as_bytes()).unwrap()
}

fn json(text: &str) -> JsValue {
    JSON::parse(text).unwrap()
}

fn get(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &name.into()).unwrap()
}

fn text(object: &JsValue, name: &str) -> String {
    get(object, name).as_string().unwrap()
}

fn stringified(object: &JsValue) -> String {
    JSON::stringify(object).unwrap().into()
}

/// The bytes in which a record crosses the boundary: numbers, then the JSON of an id and of texts, if it has any.
fn bytes(numbers: &[f64], id_and_texts: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    bytes.extend_from_slice(id_and_texts.as_bytes());
    bytes
}

/// The numbers of a record by position.
fn numbers(record: &JsValue) -> Vec<f64> {
    record.unchecked_ref::<Array>().iter().map(|value| value.as_f64().unwrap()).collect()
}

/// The features of a record of a vector.
fn features(task: &ldp_pca::task::Task, record: &JsValue) -> Vec<f64> {
    if Array::is_array(record) {
        return task.schema().encode_numbers(&numbers(record));
    }
    let entries = js_sys::Object::entries(record.unchecked_ref());
    let fields = entries.iter().map(|entry| {
        let entry: Array = entry.unchecked_into();
        (entry.get(0).as_string().unwrap(), entry.get(1))
    });
    let fields: Vec<(String, JsValue, String)> =
        fields.map(|(name, value)| (name, value.clone(), value.as_string().unwrap_or_default())).collect();
    let values = fields.iter().map(|(name, value, text)| {
        let value = match value.as_f64() {
            Some(number) => Value::Number(number),
            None if value.is_null() => Value::Missing,
            None => Value::Text(text),
        };
        (name.as_str(), value)
    });
    task.schema().encode_named(values)
}

fn randomize(task: &Task, record: &str) -> Result<Vec<u8>, JsValue> {
    let parameters = ldp_pca::task::Task::from_json(&task.canonical_json()).unwrap();
    let record = json(record);
    let columns = parameters.schema().columns().iter();
    let values: Vec<JsValue> = columns.map(|column| get(&record, &column.name)).collect();
    let numbers: Vec<f64> = values.iter().map(|value| value.as_f64().unwrap_or(f64::NAN)).collect();
    let texts = Array::of1(&JsValue::NULL);
    for value in values {
        texts.push(&if value.is_string() { value } else { JsValue::NULL });
    }
    task.randomize(&bytes(&numbers, &stringified(&texts)))
}

/// The code of what was thrown, after looking at the rest of it.
fn code<T>(result: Result<T, JsValue>, message_part: &str) -> String {
    let thrown = result.err().expect("an error is thrown").as_string().expect("what is thrown is a text");
    let (code, message) = thrown.split_once(": ").expect("it begins with a code");
    assert!(message.contains(message_part), "{message} lacks {message_part}");
    code.to_owned()
}

#[wasm_bindgen_test]
fn version_is_that_of_the_crate() {
    assert_eq!(version(), env!("CARGO_PKG_VERSION"));
}

/// `crypto.getRandomValues` refuses more than 65,536 bytes at once: a larger request has to be split, down to its last
/// byte.
#[wasm_bindgen_test]
fn entropy_fills_requests_beyond_one_quota() {
    let mut bytes = vec![0u8; 3 * 65_536 + 32];
    getrandom::fill(&mut bytes).expect("crypto.getRandomValues answers");
    assert!(bytes.chunks(32).all(|block| block.iter().any(|&byte| byte != 0)));
}

/// The mechanism as it runs here, on the entropy it has here, which no seed makes the same in every run. When it is
/// right, it is refuted with probability at most 1e-4 for both claims together. It reaches 70 % of each, as natively: a
/// pair misses that in one direction with probability 0.01 at most, all three in both with less than 1e-6.
#[wasm_bindgen_test]
fn an_audit_on_the_browsers_own_entropy_stays_below_the_claim() {
    for claim in [1.0, 4.0] {
        let double_cap = DoubleCap::new(4, Epsilon::new(claim).unwrap(), 64, 8).unwrap();
        let mechanism = TaskMechanism::from(double_cap);
        let shipped = |record: &_, task_key: &_, id, _: &mut dyn CryptoRng| {
            mechanism.randomize_with_rng(record, task_key, id, &mut getrandom::SysRng).map(Some)
        };
        let audit = Audit::new(&mechanism, Bounding::UnitNorm).unwrap();
        let mut tally = audit.empty_tally();
        for job in audit.jobs(20_000).unwrap() {
            audit.observe(job, 1, &shipped, &mut tally).unwrap();
        }
        let found = audit.conclude(&tally, 0.0, Confidence::new(0.999_95).unwrap()).unwrap();
        let bound = found.epsilon_lower_bound;
        assert!(found.passed && bound >= 0.7 * claim, "claimed {claim}, at least {bound}");
    }
}

#[wasm_bindgen_test]
fn two_reports_of_one_record_differ() {
    let reports = [(); 2].map(|()| randomize(&task(), r#"{"height": 181, "plan": "paid"}"#).unwrap());
    // Magic, version and task are the same; the ids, 16 bytes of entropy, are not.
    assert_eq!(reports[0][..13], reports[1][..13]);
    assert_ne!(reports[0][13..29], reports[1][13..29]);
    assert_eq!(reports[0].len() as f64, get(&json(&task().facts()), "reportBytes").as_f64().unwrap());
}

#[wasm_bindgen_test]
fn a_report_larger_than_one_quota_of_entropy_is_made() {
    let columns: Vec<String> =
        (0..200).map(|i| format!(r#"{{"name": "c{i}", "type": "numeric", "offset": 0, "scale": 1}}"#)).collect();
    let text = format!(
        r#"{{"version": 1, "schema": {{"columns": [{}]}}, "bounding": {{"type": "clip", "radius": 1}},
             "mechanism": {{"type": "gaussian", "epsilon": 2, "delta": 1e-6, "calibration": "analytic"}}, "folds": 1}}"#,
        columns.join(",")
    );
    let report = Task::new(text.as_bytes()).unwrap().randomize(&bytes(&[0.0; 200], "[null]")).unwrap();
    assert_eq!(report.len(), 33 + 200 * 201 / 2);
    Report::from_bytes(&report, &ldp_pca::task::Task::from_json(&text).unwrap()).unwrap();
}

#[wasm_bindgen_test]
fn a_task_says_what_it_asks_for_and_is_made_of_its_text_again() {
    let task = task();
    let again = Task::new(task.canonical_json().as_bytes()).unwrap();
    assert_eq!((again.facts(), again.canonical_json()), (task.facts(), task.canonical_json()));
    drop(task);
    let facts = json(&again.facts());
    assert_eq!(get(&facts, "dimension").as_f64(), Some(3.0));
    assert_eq!(stringified(&get(&facts, "featureNames")), r#"["height","plan=free","plan=paid"]"#);
    let guarantee = get(&facts, "guarantee");
    assert_eq!(get(&guarantee, "epsilon").as_f64(), Some(2.0));
    assert_eq!(get(&guarantee, "delta").as_f64(), Some(0.0));
    assert_eq!(text(&guarantee, "neighbouring"), "any-two-records");
    assert_eq!(text(&guarantee, "unit"), "one-report");
    let detection = get(&facts, "detection");
    assert_eq!(get(&detection, "falseAlarms").as_f64(), Some(0.01));
    assert!((get(&detection, "power").as_f64().unwrap() - 0.01 * 2f64.exp()).abs() < 1e-12);
}

#[wasm_bindgen_test]
fn bad_tasks_are_refused() {
    let refused = |from: &str, to: &str, part: &str| {
        assert!(TASK.contains(from));
        assert_eq!(code(Task::new(TASK.replace(from, to).as_bytes()), part), "task");
    };
    refused("\"folds\": 1", "\"folds\": 1, \"note\": 2", "note");
    refused("\"folds\": 1", "\"folds\": 1, \"folds\": 1", "duplicate");
    refused("\"folds\": 1", "\"folds\": 1, \"__proto__\": {\"version\": 2}", "__proto__");
    refused("\"version\": 1", "\"version\": 2", "version 2");
    refused("\"epsilon\": 2", "\"epsilon\": 0", "epsilon is 0");
    refused("\"cap\": 8", "\"cap\": 64", "cap of 64");
    refused("{", "", "not a valid task");
}

/// A value decides nothing: not its size, not whether it is there, not whether the column lists it, not its type.
#[wasm_bindgen_test]
fn every_record_has_a_report() {
    let task = task();
    for value in [0.0, -0.0, 5e-324, f64::MAX, -f64::MAX, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for plan in ["\"free\"", "\"gratis\"", "\"\"", "null"] {
            let texts = format!("[null, null, null, {plan}]");
            let report = task.randomize(&bytes(&[value, f64::NAN, f64::NAN], &texts)).unwrap();
            assert_eq!(report.len(), 35, "{value} {plan}");
        }
        assert_eq!(task.randomize(&bytes(&[value; 3], "[null]")).unwrap().len(), 35, "{value}");
    }
    let none = f64::NAN;
    for (numbers, rest) in [
        ([none; 3], r#"[null, "spring 2019", null, "free"]"#),
        ([1.0, none, 1.0], "[null, null, null, null]"),
        ([1.0, none, none], r#"[null, null, "free"]"#),
        ([1.0, none, none], r#"[null, null, "free", "paid", "181"]"#),
    ] {
        assert_eq!(task.randomize(&bytes(&numbers, rest)).unwrap().len(), 35, "{rest}");
    }
}

/// Bytes that the package never sends are refused.
#[wasm_bindgen_test]
fn bytes_that_are_no_record_are_refused() {
    let task = task();
    let refused = |numbers: &[f64], rest: &str, part: &str| {
        assert_eq!(code(task.randomize(&bytes(numbers, rest)), part), "schema", "{part}");
    };
    for (numbers, rest) in [
        (&[1.0; 3][..], r#"[null, null, "s3cret"#),
        (&[1.0; 3], r#"[null, "\ud800", null, null]"#),
        (&[1.0; 3], r#"{"height": "s3cret"}"#),
        (&[1.0; 3], r#"["0123456789abcdef"]"#),
        (&[1.0; 3], "[]"),
        (&[1.0; 3], ""),
        (&[1.0; 2], "[null]"),
    ] {
        refused(numbers, rest, "the record's bytes are not valid");
    }
    let mut not_utf8 = bytes(&[1.0; 3], "[null]");
    not_utf8.push(0xff);
    assert_eq!(code(task.randomize(&not_utf8), "the record's bytes are not valid"), "schema");
}

/// A report has the id that is asked for.
#[wasm_bindgen_test]
fn a_given_id_is_the_reports() {
    let id = "000102030405060708090a0b0c0d0e0f";
    let report = task().randomize(&bytes(&[1.0; 3], &format!("[\"{id}\"]"))).unwrap();
    assert_eq!(hex(&report[13..29]), id);
}

#[wasm_bindgen_test]
fn tasks_have_the_digests_of_the_vectors() {
    let cases = cases(include_str!("vectors/v1/tasks.json"));
    assert_ne!(cases.len(), 0);
    for case in cases {
        let task = Task::new(text(&case, "text").as_bytes()).unwrap();
        let facts = json(&task.facts());
        assert_eq!(task.canonical_json(), text(&case, "canonical"));
        assert_eq!(text(&facts, "digest"), text(&case, "digest"));
        assert_eq!(get(&facts, "reportBytes").as_f64(), get(&case, "report_bytes").as_f64());
        let canonical = json(&text(&case, "canonical"));
        assert_eq!(get(&facts, "period").as_string(), get(&canonical, "period").as_string());
        assert_eq!(stringified(&get(&facts, "featureNames")), stringified(&get(&case, "feature_names")));
    }
}

#[wasm_bindgen_test]
fn reports_and_aggregates_are_those_of_the_vectors() {
    for file in [
        include_str!("vectors/v1/double-cap.json"),
        include_str!("vectors/v1/gaussian.json"),
        include_str!("vectors/v1/centred.json"),
    ] {
        let cases = cases(file);
        assert_ne!(cases.len(), 0);
        for case in cases {
            let name = text(&case, "name");
            let client = Task::new(stringified(&get(&case, "task")).as_bytes()).unwrap();
            assert_eq!(text(&json(&client.facts()), "digest"), text(&case, "digest"), "{name}");
            let task = ldp_pca::task::Task::from_json(&client.canonical_json()).unwrap();
            let mut aggregate = Aggregate::empty(&task);
            for vector in get(&case, "reports").unchecked_into::<Array>().iter() {
                let seed = unhex(&text(&vector, "seed")).try_into().unwrap();
                let record = task.bound(features(&task, &get(&vector, "record"))).unwrap();
                let report = task.randomize_with_rng(&record, None, &mut ChaCha20Rng::from_seed(seed)).unwrap();
                let bytes = report.to_bytes();
                assert_eq!(hex(&bytes), text(&vector, "report"), "{name}");
                assert_eq!(Report::from_bytes(&bytes, &task).unwrap(), report);
                aggregate.accumulate(&task, &[report]).unwrap();
            }
            assert_eq!(hex(&aggregate.to_bytes()), text(&case, "aggregate"), "{name}");
            assert_eq!(Aggregate::from_bytes(&aggregate.to_bytes(), &task), Ok(aggregate), "{name}");
        }
    }
}

/// There is only one thread. A request for more is not an error.
#[wasm_bindgen_test]
fn threads_that_cannot_be_had_are_done_without() {
    let mechanism = MechanismSpec::DoubleCap { epsilon: Epsilon::new(1.0).unwrap(), candidates: 4, cap: 1 };
    for (dimension, count) in [(70, 1000), (730, 8)] {
        let schema = Schema::numeric(dimension).unwrap();
        let task = ldp_pca::task::Task::new(schema, Bounding::UnitNorm, mechanism, Folds::new(1).unwrap()).unwrap();
        let record = task.bound(vec![1.0; dimension]).unwrap();
        let reports: Vec<Report> = (0..count).map(|_| task.randomize(&record, None).unwrap()).collect();
        let [mut alone, mut together] = [0, 1].map(|_| Aggregate::empty(&task));
        alone.accumulate(&task, &reports).unwrap();
        together.accumulate_with_threads(&task, &reports, NonZeroUsize::new(4).unwrap()).unwrap();
        assert_eq!(together, alone);
    }
}

fn cases(file: &str) -> Vec<JsValue> {
    get(&json(file), "cases").unchecked_into::<Array>().iter().collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|index| u8::from_str_radix(&text[2 * index..2 * index + 2], 16).unwrap()).collect()
}
