//! The frozen test vectors: tasks, records and seeds with the digests, reports and aggregates that follow from them.
//!
//! `tests/wasm.rs` and the JavaScript tests read the same files. The release and the command that wrote each are in it;
//! the second implementation in `tests/independent` computes them all again. They are not to be written again: a
//! difference means that devices and aggregators of two releases no longer agree. A new format gets a new version and a
//! folder of its own.

use std::fs;
use std::path::Path;

use chacha20::ChaCha20Rng;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::components::PublishedComponents;
use ldp_pca::covariance::Covariance;
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

/// Reports of one task, and the state of an aggregate that got each of them once.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportCase {
    name: String,
    task: Json,
    digest: String,
    reports: Vec<ReportVector>,
    aggregate: String,
    /// What the aggregate estimates of `E[x x^T]`, row by row, in units of the features.
    second_moment: Vec<f64>,
    /// And of the mean, where the task has centring.
    mean: Vec<f64>,
}

/// `record` is an object by column name, or numbers in the order of the columns.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportVector {
    record: Json,
    seed: String,
    report: String,
}

/// Reports of a refinement of `first`, and the state of an aggregate that got each of them once.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RefinedCase {
    name: String,
    first: Json,
    task: Json,
    digest: String,
    reports: Vec<ReportVector>,
    aggregate: String,
    /// The estimate of `E[b a']`, column by column, in the units of bounded records.
    cross_block: Vec<f64>,
    /// The variances of its columns.
    variances: Vec<f64>,
}

/// Reports about lengths, and the state of an aggregate that got each of them once.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NormCase {
    name: String,
    task: Json,
    digest: String,
    reports: Vec<ReportVector>,
    aggregate: String,
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
    let document = include_str!("../../docs/wire-format.md");
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
    assert!(document.contains(&row), "docs/wire-format.md lacks the row {row}");
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
fn collected(name: &str, task: &Json, digest: &str, reports: &[ReportVector]) -> (Task, Aggregate) {
    let task = Task::from_json(&task.to_string()).unwrap();
    assert_eq!(task.digest().to_string(), digest, "{name}");
    let mut aggregate = Aggregate::empty(&task);
    for (index, vector) in reports.iter().enumerate() {
        let report = randomize(&task, &vector.record, &vector.seed);
        assert_eq!(hex(&report.to_bytes()), vector.report, "{name}, report {index}");
        let delivered = Report::from_bytes(&unhex(&vector.report), &task).unwrap();
        aggregate.accumulate(&task, &[delivered]).unwrap();
    }
    (task, aggregate)
}

#[test]
fn reports_and_aggregates_are_those_of_the_vectors() {
    for file in ["v1/double-cap.json", "v1/gaussian.json", "v1/centred.json"] {
        for case in read::<ReportCase>(file) {
            let (task, aggregate) = collected(&case.name, &case.task, &case.digest, &case.reports);
            assert_eq!(hex(&aggregate.to_bytes()), case.aggregate, "{}", case.name);
            assert_eq!(Aggregate::from_bytes(&unhex(&case.aggregate), &task).as_ref(), Ok(&aggregate));
            let (second_moment, mean) = estimate(&aggregate, &task);
            for (found, expected) in [(second_moment, &case.second_moment), (mean, &case.mean)] {
                let largest = expected.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
                assert_eq!(found.len(), expected.len());
                assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-11 * largest), "{}", case.name);
            }
        }
    }
}

#[test]
fn refinements_are_those_of_the_vectors() {
    for case in read::<RefinedCase>("v1/refined.json") {
        let (task, aggregate) = collected(&case.name, &case.task, &case.digest, &case.reports);
        assert_eq!(task.campaign(), Task::from_json(&case.first.to_string()).unwrap().digest());
        assert_eq!(hex(&aggregate.to_bytes()), case.aggregate, "{}", case.name);
        let wave = SecondWave::of(&aggregate, &task).unwrap();
        for (found, expected) in [(wave.block.as_slice(), &case.cross_block), (&wave.variances, &case.variances)] {
            assert_eq!(found.len(), expected.len());
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-11 * b.abs()), "{}", case.name);
        }
    }
}

#[test]
fn reports_about_lengths_are_those_of_the_vectors() {
    for case in read::<NormCase>("v1/norms.json") {
        let (_, aggregate) = collected(&case.name, &case.task, &case.digest, &case.reports);
        assert_eq!(hex(&aggregate.to_bytes()), case.aggregate, "{}", case.name);
    }
}

#[test]
fn scores_are_those_of_the_vectors() {
    for case in read::<ComponentsCase>("components/scores.json") {
        let components = PublishedComponents::from_json(&case.text).unwrap();
        assert_eq!(components.to_json(), case.canonical, "{}", case.name);
        for ScoredRecord { record, scores } in case.records {
            let found = components.scores(&encoded(components.schema(), &record)).unwrap();
            let largest = scores.iter().fold(1.0f64, |largest, score| largest.max(score.abs()));
            assert_eq!(found.len(), scores.len());
            assert!(
                found.iter().zip(&scores).all(|(a, b)| (a - b).abs() <= 1e-12 * largest),
                "{}: {found:?}",
                case.name
            );
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

fn estimate(aggregate: &Aggregate, task: &Task) -> (Vec<f64>, Vec<f64>) {
    let covariance = Covariance::estimate(aggregate, task).unwrap();
    let mean = covariance.mean().map_or(vec![], |mean| mean.values().to_vec());
    (covariance.second_moment().iter().copied().collect(), mean)
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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(file);
    let vectors: Vectors<Case> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
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
