//! What only a browser can show: the bindings, on the browser's own entropy.
#![cfg(target_family = "wasm")]
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::num::NonZeroUsize;

use js_sys::{Array, Error, Float64Array, JSON, Object, Reflect, Uint8Array};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::audit::{Audit, Confidence};
use ldp_pca::js::{Randomizer, Task, version};
use ldp_pca::mechanism::{DoubleCap, LocalRandomizer, Mechanism, MechanismSpec};
use ldp_pca::privacy::Epsilon;
use ldp_pca::record::Bounding;
use ldp_pca::report::Report;
use ldp_pca::schema::Schema;
use ldp_pca::task::Folds;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

const TASK: &str = r#"{
    "version": 1,
    "schema": {"columns": [
        {"name": "height", "type": "numeric", "offset": 0, "scale": 200},
        {"name": "note", "type": "ignored"},
        {"name": "plan", "type": "categorical", "values": ["free", "paid"], "unseen": "error"}
    ]},
    "bounding": {"type": "unit-norm"},
    "mechanism": {"type": "double-cap", "epsilon": 2, "candidates": 64, "cap": 8},
    "folds": 1
}"#;

fn task() -> Task {
    Task::from_json(&TASK.into()).unwrap()
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

/// The code of what was thrown, after looking at the rest of it.
fn code<T>(result: Result<T, JsValue>, message_part: &str) -> String {
    let thrown = result.err().expect("an error is thrown");
    let error: &Error = thrown.dyn_ref().expect("what is thrown is an Error");
    assert_eq!(String::from(error.name()), "LdpPcaError");
    let message = String::from(error.message());
    assert!(message.contains(message_part), "{message} lacks {message_part}");
    text(&thrown, "code")
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

/// The mechanism as it runs here, on the entropy it has here. It is refuted with probability at most 0.001 when it is
/// right, and reaches 70 % of the claim, as natively.
#[wasm_bindgen_test]
fn an_audit_on_the_browsers_own_entropy_stays_below_the_claim() {
    for claim in [1.0, 4.0] {
        let double_cap = DoubleCap::new(4, Bounding::UnitNorm, Epsilon::new(claim).unwrap(), 64, 8).unwrap();
        let mechanism = Mechanism::DoubleCap(double_cap);
        let shipped = |record: &_, task_key: &_, id, _: &mut _| {
            mechanism.randomize_with_rng(record, task_key, id, &mut getrandom::SysRng)
        };
        let audit = Audit::new(&mechanism, Bounding::UnitNorm).unwrap();
        let mut tallies = audit.empty_tallies();
        for job in audit.jobs(20_000).unwrap() {
            tallies[job.comparison()].merge(&audit.observe(job, 1, &shipped).unwrap());
        }
        let bound = audit.conclude(&tallies, 0.0, Confidence::new(0.999).unwrap()).epsilon_lower_bound;
        assert!(bound <= claim && bound >= 0.7 * claim, "claimed {claim}, at least {bound}");
    }
}

#[wasm_bindgen_test]
fn two_reports_of_one_record_differ() {
    let randomizer = Randomizer::new(&task());
    let record = json(r#"{"height": 181, "plan": "paid"}"#);
    let reports = [(); 2].map(|()| randomizer.randomize(&record).unwrap());
    // Magic, version and task are the same; the ids, 16 bytes of entropy, are not.
    assert_eq!(reports[0][..13], reports[1][..13]);
    assert_ne!(reports[0][13..29], reports[1][13..29]);
    assert_eq!(reports[0].len(), task().report_bytes());
}

#[wasm_bindgen_test]
fn a_report_larger_than_one_quota_of_entropy_is_made_and_read() {
    let columns: Vec<String> =
        (0..200).map(|i| format!(r#"{{"name": "c{i}", "type": "numeric", "offset": 0, "scale": 1}}"#)).collect();
    let task = Task::from_json(
        &format!(
            r#"{{"version": 1, "schema": {{"columns": [{}]}}, "bounding": {{"type": "clip", "radius": 1}},
                 "mechanism": {{"type": "gaussian", "epsilon": 2, "delta": 1e-6, "calibration": "analytic"}}, "folds": 1}}"#,
            columns.join(",")
        )
        .into(),
    )
    .unwrap();
    let report = Randomizer::new(&task).randomize(&Float64Array::new_with_length(200)).unwrap();
    assert_eq!(report.len(), 33 + 200 * 201 / 2);
    assert_eq!(task.debiased_contribution(&Uint8Array::from(&report[..])).unwrap().len(), 200 * 200);
}

#[wasm_bindgen_test]
fn a_record_may_be_an_object_an_array_or_a_typed_array() {
    let text = TASK.replace(r#""free", "paid""#, r#""0", "1""#);
    let task = Task::from_json(&text.as_str().into()).unwrap();
    let object = task.encode(&json(r#"{"plan": "1", "height": 100, "note": "not read"}"#)).unwrap();
    let array = task.encode(&json("[100, 0, 1]")).unwrap();
    let typed = task.encode(&Float64Array::from(&[100.0, 0.0, 1.0][..])).unwrap();
    for encoded in [object, array, typed] {
        let numbers = |name: &str| get(&encoded, name).unchecked_into::<Float64Array>().to_vec();
        assert_eq!(numbers("features"), [0.5, 0.0, 1.0]);
        let norm = 1.25f64.sqrt();
        for (found, expected) in numbers("bounded").iter().zip([0.5 / norm, 0.0, 1.0 / norm]) {
            assert!((found - expected).abs() < 1e-15);
        }
        let contribution = [0.2, 0.0, 0.4, 0.0, 0.0, 0.0, 0.4, 0.0, 0.8];
        assert!(
            numbers("contribution").iter().zip(contribution).all(|(found, expected)| (found - expected).abs() < 1e-15)
        );
    }
}

#[wasm_bindgen_test]
fn the_guarantee_names_its_relation_and_unit() {
    let guarantee = task().guarantee().unwrap();
    assert_eq!(get(&guarantee, "epsilon").as_f64(), Some(2.0));
    assert_eq!(get(&guarantee, "delta").as_f64(), Some(0.0));
    assert_eq!(text(&guarantee, "neighbouring"), "any-two-records");
    assert_eq!(text(&guarantee, "unit"), "one-report");
}

#[wasm_bindgen_test]
fn bad_tasks_are_refused() {
    let refused = |from: &str, to: &str, part: &str| {
        assert!(TASK.contains(from));
        let text = TASK.replace(from, to);
        assert_eq!(code(Task::from_json(&text.as_str().into()), part), "task");
        // As an object as well, where the text is JSON at all.
        if let Ok(object) = JSON::parse(&text) {
            assert_eq!(code(Task::from_json(&object), part), "task");
        }
    };
    refused("\"folds\": 1", "\"folds\": 1, \"note\": 2", "note");
    refused("\"folds\": 1", "\"folds\": 1, \"__proto__\": {\"version\": 1}", "__proto__");
    refused("\"version\": 1", "\"version\": 2", "version 2");
    refused("\"epsilon\": 2", "\"epsilon\": 0", "epsilon is 0");
    refused("\"cap\": 8", "\"cap\": 64", "cap of 64");
    refused("{", "", "not a valid task");
    assert_eq!(code(Task::from_json(&JsValue::NULL), "null"), "task");
    assert_eq!(code(Task::from_json(&JsValue::UNDEFINED), "undefined"), "task");
    assert_eq!(code(Task::from_json(&5.into()), "a number"), "task");
    let cyclic = Object::new();
    Reflect::set(&cyclic, &"self".into(), &cyclic).unwrap();
    assert_eq!(code(Task::from_json(&cyclic), "JSON cannot write"), "task");
}

#[wasm_bindgen_test]
fn bad_records_are_refused() {
    let randomizer = Randomizer::new(&task());
    let refused = |record: JsValue, expected: &str, part: &str| {
        assert_eq!(code(randomizer.randomize(&record), part), expected, "{part}");
        assert_eq!(code(task().encode(&record), part), expected, "{part}");
    };
    refused(json(r#"{"height": 1, "plan": "free", "wieght": 2}"#), "schema", "'wieght'");
    refused(json(r#"{"plan": "free"}"#), "schema", "'height' is missing");
    refused(json(r#"{"height": "181", "plan": "free"}"#), "schema", "'181'");
    refused(json(r#"{"height": 1, "plan": 1}"#), "schema", "'plan' is categorical");
    refused(json(r#"{"height": null, "plan": "free"}"#), "schema", "'height' holds null");
    refused(json(r#"{"height": true, "plan": "free"}"#), "schema", "'height' holds a boolean");
    refused(json(r#"{"height": {"valueOf": 1}, "plan": "free"}"#), "schema", "'height' holds an object");
    refused(json(r#"{"height": 1, "plan": "gratis"}"#), "schema", "'gratis'");
    refused(json(r#"{"__proto__": {"height": 1}, "plan": "free"}"#), "schema", "'__proto__'");
    let inherited: Object = Object::create(json(r#"{"height": 1, "plan": "free"}"#).unchecked_ref());
    refused(inherited.into(), "schema", "missing");
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let record = json(r#"{"plan": "free"}"#);
        Reflect::set(&record, &"height".into(), &bad.into()).unwrap();
        refused(record, "schema", "finite");
        refused(Float64Array::from(&[bad, 0.0, 0.0][..]).into(), "schema", "finite");
    }
    refused(json("[1, 2]"), "schema", "2 fields");
    refused(json(r#"[1, "2", 3]"#), "schema", "position 2 of the record holds a string");
    refused(Array::new_with_length(3).into(), "schema", "position 1 of the record holds undefined");
    refused(Uint8Array::new_with_length(3).into(), "record", "Float64Array");
    refused(JsValue::NULL, "record", "null");
    refused(JsValue::UNDEFINED, "record", "undefined");
    refused("height".into(), "record", "a string");

    let zero = Task::from_json(&TASK.replace("\"error\"", "\"zero\"").as_str().into()).unwrap();
    assert_eq!(code(zero.encode(&json(r#"{"height": 0, "plan": "gratis"}"#)), "zero vector"), "record");
}

#[wasm_bindgen_test]
fn bad_reports_and_seeds_are_refused() {
    let record = json(r#"{"height": 181, "plan": "paid"}"#);
    let report = Randomizer::new(&task()).randomize(&record).unwrap();
    let read = |bytes: &[u8]| task().debiased_contribution(&Uint8Array::from(bytes));
    assert_eq!(read(&report).unwrap().len(), 9);
    assert_eq!(code(read(&report[1..]), "LDPR"), "report");
    assert_eq!(code(read(&report[..30]), "bytes"), "report");
    let mut altered = report.clone();
    altered[20] ^= 1;
    assert_eq!(code(read(&altered), "checksum"), "report");
    assert_eq!(code(task().debiased_contribution(&JsValue::NULL), "null"), "argument");

    let other = Task::from_json(&TASK.replace("\"cap\": 8", "\"cap\": 9").as_str().into()).unwrap();
    assert_eq!(code(other.debiased_contribution(&Uint8Array::from(&report[..])), "answers task"), "report");

    let randomizer = Randomizer::new(&task());
    for seed in [Uint8Array::new_with_length(31).into(), Uint8Array::new_with_length(33).into(), JsValue::NULL] {
        assert_eq!(code(randomizer.randomize_seeded(&record, &seed), "32 bytes"), "argument");
    }
}

#[wasm_bindgen_test]
fn tasks_have_the_digests_of_the_vectors() {
    let cases = cases(include_str!("vectors/v1/tasks.json"));
    assert_ne!(cases.len(), 0);
    for case in cases {
        let task = Task::from_json(&get(&case, "text")).unwrap();
        assert_eq!(task.canonical_json(), text(&case, "canonical"));
        assert_eq!(task.digest(), text(&case, "digest"));
        assert_eq!(Some(task.report_bytes() as f64), get(&case, "report_bytes").as_f64());
        let names: Array = get(&case, "feature_names").unchecked_into();
        assert!(names.iter().map(|name| name.as_string().unwrap()).eq(task.feature_names()));
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
            let task = Task::from_json(&get(&case, "task")).unwrap();
            assert_eq!(task.digest(), text(&case, "digest"), "{name}");
            let randomizer = Randomizer::new(&task);
            let task = ldp_pca::task::Task::from_json(&task.canonical_json()).unwrap();
            let mut aggregate = Aggregate::empty(&task);
            for vector in get(&case, "reports").unchecked_into::<Array>().iter() {
                let seed = Uint8Array::from(&unhex(&text(&vector, "seed"))[..]);
                let bytes = randomizer.randomize_seeded(&get(&vector, "record"), &seed).unwrap();
                assert_eq!(hex(&bytes), text(&vector, "report"), "{name}");
                aggregate.accumulate(&task, &[Report::from_bytes(&bytes, &task).unwrap()]).unwrap();
            }
            assert_eq!(hex(&aggregate.to_bytes()), text(&case, "aggregate"), "{name}");
        }
    }
}

/// There is one thread only; asking for more is no mistake.
#[wasm_bindgen_test]
fn threads_that_cannot_be_had_are_done_without() {
    let mechanism = MechanismSpec::DoubleCap { epsilon: Epsilon::new(1.0).unwrap(), candidates: 4, cap: 1 };
    for (dimension, copies) in [(70, 1000), (730, 8)] {
        let schema = Schema::numeric(dimension).unwrap();
        let task = ldp_pca::task::Task::new(schema, Bounding::UnitNorm, mechanism, Folds::new(1).unwrap()).unwrap();
        let report = task.randomize(&task.bound(vec![1.0; dimension]).unwrap()).unwrap();
        let reports = vec![report; copies];
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
