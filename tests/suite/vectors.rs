//! The frozen test vectors: tasks, records and seeds with the digests, reports and aggregates that follow from them.
//!
//! `tests/wasm.rs` and the JavaScript tests read the same files. The release and the command that wrote each are in it;
//! the second implementation in `tests/independent` computes them all again. They are not to be written again: a
//! difference means that devices and aggregators of two releases no longer agree. A new format gets a new version and a
//! folder of its own.

use chacha20::ChaCha20Rng;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::components::PublishedComponents;
use ldp_pca::covariance::{Covariance, Mean};
use ldp_pca::internal::waves::SecondWave;
use ldp_pca::ledger::{Budget, Filter, Ledger};
use ldp_pca::privacy::Epsilon;
use ldp_pca::report::{Report, ReportId, report_bytes};
use ldp_pca::schema::{Schema, Value};
use ldp_pca::task::Task;
use rand::SeedableRng;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use crate::support::vectors;

/// The version of the tasks in the files.
const VERSION: u32 = 1;

/// A file of vectors.
#[derive(Deserialize)]
struct Vectors<Case> {
    version: u32,
    cases: Vec<Case>,
}

/// A task as somebody wrote it, and what it means.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskCase {
    name: String,
    text: String,
    canonical: String,
    digest: String,
    feature_names: Vec<String>,
    report_bytes: usize,
}

/// Reports of one task, the state of an aggregate that got each of them once, and what it estimates.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CollectionCase {
    name: String,
    task: Json,
    digest: String,
    reports: Vec<ReportVector>,
    aggregate: String,
    /// `E[x x^T]`, row by row, in units of the features.
    second_moment: Option<Vec<f64>>,
    /// Empty where the task has no centring.
    mean: Option<Vec<f64>>,
    /// The first wave's task, where this is a second one's.
    first: Option<Json>,
    /// `E[b a']`, column by column, in the units of bounded records.
    cross_block: Option<Vec<f64>>,
    /// The variances of its columns.
    variances: Option<Vec<f64>>,
}

/// `record` is an object by column name, or numbers in the order of the columns.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportVector {
    record: Json,
    seed: String,
    report: String,
}

/// Components as somebody wrote them, and the scores of records.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ComponentsCase {
    name: String,
    text: String,
    canonical: String,
    records: Vec<ScoredRecord>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScoredRecord {
    record: Json,
    scores: Vec<f64>,
}

/// The tags of many ids.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IdsCase {
    name: String,
    task: Json,
    count: usize,
    tags: String,
}

#[test]
fn the_document_names_the_versions_that_are_written() {
    let document = include_str!("../../docs/reference/wire-format.md");
    let task = Task::from_json(include_str!("../../examples/app-task.json")).unwrap();
    let report = task.randomize(&task.bound(vec![1.0; task.dimension()]).unwrap(), None).unwrap();
    let release = env!("CARGO_PKG_VERSION").rsplit_once('.').unwrap().0;
    let ledger = Ledger::new(Budget { epsilon: Epsilon::new(1.0).unwrap(), delta: None }, Filter::Sums);
    let components = read::<ComponentsCase>("components/scores.json").remove(0).canonical;
    let [task_json, components, ledger]: [Json; 3] =
        [task.to_json(), components, ledger.to_json()].map(|text| serde_json::from_str(&text).unwrap());
    let row = format!(
        "\n| {release} | {} | {} | {} | {} | {} |\n",
        task_json["version"],
        report.to_bytes()[4],
        Aggregate::empty(&task).to_bytes()[4],
        components["version"],
        ledger["version"],
    );
    assert!(document.contains(&row), "docs/reference/wire-format.md lacks the row {row}");
}

#[test]
fn tasks_have_the_digests_of_the_vectors() {
    for case in read::<TaskCase>("v1/tasks.json") {
        let task = Task::from_json(&case.text).unwrap();
        assert_eq!(task.to_json(), case.canonical, "{}", case.name);
        assert_eq!(task.digest().to_string(), case.digest, "{}", case.name);
        assert_eq!(task.schema().feature_names(), case.feature_names, "{}", case.name);
        assert_eq!(report_bytes(&task), case.report_bytes, "{}", case.name);
        assert_eq!(Task::from_json(&case.canonical).unwrap(), task, "{}", case.name);
    }
}

/// The task, and the sums of the reports, after each was made again.
fn collected(case: &CollectionCase) -> (Task, Aggregate) {
    let task = Task::from_json(&case.task.to_string()).unwrap();
    assert_eq!(task.digest().to_string(), case.digest, "{}", case.name);
    let mut aggregate = Aggregate::empty(&task);
    for (index, vector) in case.reports.iter().enumerate() {
        let report = randomize(&task, &vector.record, &vector.seed);
        assert_eq!(hex(&report.to_bytes()), vector.report, "{}, report {index}", case.name);
        let delivered = Report::from_bytes(&unhex(&vector.report), &task).unwrap();
        aggregate.accumulate(&task, &[delivered]).unwrap();
    }
    (task, aggregate)
}

fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0, |largest, number| number.abs().max(largest))
}

fn are_within(allowed: f64, found: &[f64], expected: &[f64]) -> bool {
    found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= allowed)
}

#[test]
fn reports_sums_and_estimates_are_those_of_the_vectors() {
    for file in ["double-cap", "gaussian", "centred", "refined", "norms"] {
        for case in read::<CollectionCase>(&format!("v1/{file}.json")) {
            let (task, aggregate) = collected(&case);
            assert_eq!(hex(&aggregate.to_bytes()), case.aggregate, "{}", case.name);
            assert_eq!(Aggregate::from_bytes(&unhex(&case.aggregate), &task).as_ref(), Ok(&aggregate));
            let check = |found: &[f64], expected: &Option<Vec<f64>>| {
                let expected = expected.as_ref().unwrap();
                assert!(are_within(1e-11 * largest(expected), found, expected), "{}: {found:?}", case.name);
            };
            if file == "refined" {
                let first = Task::from_json(&case.first.as_ref().unwrap().to_string()).unwrap();
                assert_eq!(task.campaign(), first.digest());
                let wave = SecondWave::of(&aggregate, &task).unwrap();
                check(wave.block.as_slice(), &case.cross_block);
                check(&wave.variances, &case.variances);
            } else if file != "norms" {
                let covariance = Covariance::estimate(&aggregate, &task).unwrap();
                check(covariance.second_moment().as_slice(), &case.second_moment);
                check(covariance.mean().map_or(&[][..], Mean::values), &case.mean);
            }
        }
    }
}

#[test]
fn scores_are_those_of_the_vectors() {
    for case in read::<ComponentsCase>("components/scores.json") {
        let components = PublishedComponents::from_json(&case.text).unwrap();
        assert_eq!(components.to_json(), case.canonical, "{}", case.name);
        for ScoredRecord { record, scores } in case.records {
            let found = components.scores(&encoded(components.schema(), &record)).unwrap();
            assert!(are_within(1e-12 * largest(&scores).max(1.0), &found, &scores), "{}: {found:?}", case.name);
        }
    }
}

#[test]
fn tags_are_those_of_the_vectors() {
    for case in read::<IdsCase>("aggregates/ids.json") {
        let task = Task::from_json(&case.task.to_string()).unwrap();
        assert_eq!(tags_of(&task, case.count), case.tags, "{}", case.name);
    }
}

/// SHA-256 of the tags of that many ids, at the end of a state.
fn tags_of(task: &Task, count: usize) -> String {
    let record = task.bound(vec![1.0; task.dimension()]).unwrap();
    let payload = task.randomize(&record, None).unwrap().payload().to_vec();
    let id = |number: usize| Sha256::digest(number.to_string())[..16].try_into().unwrap();
    let reports: Vec<Report> = (0..count)
        .map(|number| Report::from_parts(task.digest(), ReportId::new(id(number)), payload.clone()))
        .collect();
    let mut aggregate = Aggregate::empty(task);
    aggregate.accumulate(task, &reports).unwrap();
    let bytes = aggregate.to_bytes();
    let end = bytes.len() - 4;
    hex(&Sha256::digest(&bytes[end - 20 * count.min(1024)..end]))
}

fn randomize(task: &Task, record: &Json, seed: &str) -> Report {
    let record = task.bound(encoded(task.schema(), record)).unwrap();
    let seed: [u8; 32] = unhex(seed).try_into().unwrap();
    task.randomize_with_rng(&record, None, &mut ChaCha20Rng::from_seed(seed)).unwrap()
}

fn encoded(schema: &Schema, record: &Json) -> Vec<f64> {
    match record {
        Json::Object(fields) => schema.encode_named(fields.iter().map(|(name, value)| {
            let value = match value {
                Json::String(text) => Value::Text(text),
                Json::Null => Value::Missing,
                number => Value::Number(number.as_f64().unwrap()),
            };
            (name.as_str(), value)
        })),
        row => {
            let numbers: Vec<f64> = row.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect();
            schema.encode_numbers(&numbers)
        }
    }
}

fn read<Case: DeserializeOwned>(file: &str) -> Vec<Case> {
    let vectors: Vectors<Case> = vectors(file);
    assert!(vectors.version == VERSION && !vectors.cases.is_empty(), "{file}");
    vectors.cases
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "hexadecimal digits come in pairs");
    (0..text.len() / 2).map(|index| u8::from_str_radix(&text[2 * index..2 * index + 2], 16).unwrap()).collect()
}
