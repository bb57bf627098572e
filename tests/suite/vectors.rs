//! The frozen test vectors: tasks, records and seeds with the digests, reports and aggregates that follow from them.
//!
//! `tests/wasm.rs` and the JavaScript tests read the same files. They were written once, by
//!
//! ```text
//! cargo test --test suite -- --ignored write_vectors
//! ```
//!
//! those of lengths by `write_norm_vectors`, those of refinements by `write_refined_vectors`, and the tags of many ids
//! by `write_id_vectors`. The second implementation in `tests/independent` computes them all again, and has written
//! those of components. They are not to be written again: a difference means that devices and aggregators of two
//! releases no longer agree. A new format gets a new version and a folder of its own.

use std::fs;
use std::path::PathBuf;

use chacha20::ChaCha20Rng;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::components::PublishedComponents;
use ldp_pca::covariance::Covariance;
use ldp_pca::internal::waves::{Refinement, SecondWave};
use ldp_pca::ledger::{Budget, Filter, Ledger};
use ldp_pca::privacy::Epsilon;
use ldp_pca::report::{Report, ReportId, report_bytes};
use ldp_pca::schema::{Schema, Value};
use ldp_pca::task::Task;
use rand::SeedableRng;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

/// The version of the tasks in the files.
const VERSION: u32 = 1;

const REPORTS_MEANING: &str = "report is what Task::randomize_with_rng makes of the record with \
    ChaCha20Rng::from_seed(seed); aggregate is the \
    state after each report of the case once, second_moment and mean what it estimates; bytes are in hexadecimal";
const COMMAND: &str = "cargo test --test suite -- --ignored write_vectors";

/// A file of vectors.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vectors<Case> {
    version: u32,
    provenance: Provenance,
    cases: Vec<Case>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Provenance {
    written_by: String,
    release: String,
    meaning: String,
}

/// A task as somebody wrote it, and what it means.
#[derive(Serialize, Deserialize)]
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
#[derive(Serialize, Deserialize)]
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
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportVector {
    record: Json,
    seed: String,
    report: String,
}

/// Reports of a refinement of `first`, and the state of an aggregate that got each of them once.
#[derive(Serialize, Deserialize)]
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
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NormCase {
    name: String,
    task: Json,
    digest: String,
    reports: Vec<ReportVector>,
    aggregate: String,
}

/// Components as somebody wrote them, and the scores of records.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ComponentsCase {
    name: String,
    text: String,
    canonical: String,
    records: Vec<ScoredRecord>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScoredRecord {
    record: Json,
    scores: Vec<f64>,
}

/// The tags of many ids.
#[derive(Serialize, Deserialize)]
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
    let components = read_from::<ComponentsCase>(COMPONENTS, "scores.json").cases.remove(0).canonical;
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
    for case in read::<TaskCase>("tasks.json").cases {
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
    for file in ["double-cap.json", "gaussian.json", "centred.json"] {
        for case in read::<ReportCase>(file).cases {
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
    for case in read::<RefinedCase>("refined.json").cases {
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
    for case in read::<NormCase>("norms.json").cases {
        let (_, aggregate) = collected(&case.name, &case.task, &case.digest, &case.reports);
        assert_eq!(hex(&aggregate.to_bytes()), case.aggregate, "{}", case.name);
    }
}

#[test]
fn scores_are_those_of_the_vectors() {
    for case in read_from::<ComponentsCase>(COMPONENTS, "scores.json").cases {
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
    for case in read_from::<IdsCase>(AGGREGATES, "ids.json").cases {
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

#[test]
#[ignore = "writes the frozen files: only for a new version of the format"]
fn write_vectors() {
    write(
        "tasks.json",
        COMMAND,
        "text is a task; its canonical JSON, digest (SHA-256 of that JSON), feature names and report length follow \
            from it",
        task_texts().map(|(name, text)| {
            let task = Task::from_json(text).unwrap();
            TaskCase {
                name: name.to_owned(),
                text: text.to_owned(),
                canonical: task.to_json(),
                digest: task.digest().to_string(),
                feature_names: task.schema().feature_names(),
                report_bytes: report_bytes(&task),
            }
        }),
    );
    write("double-cap.json", COMMAND, REPORTS_MEANING, double_cap_cases().map(report_case));
    write("gaussian.json", COMMAND, REPORTS_MEANING, gaussian_cases().map(report_case));
    write("centred.json", COMMAND, REPORTS_MEANING, centred_cases().map(report_case));
}

#[test]
#[ignore = "writes the frozen file: only for a new version of the format"]
fn write_norm_vectors() {
    let norm_cap =
        |epsilon: f64, cap: u32| json!({"type": "norm-cap", "epsilon": epsilon, "candidates": 2 * cap, "cap": cap});
    let cases = [
        ("64 lengths", task(&mixed_columns(), &clip(4.0), &norm_cap(1.0, 64), 2), clipped_mixed_records()),
        ("one length", task(&numeric_columns(39), &clip(60.0), &norm_cap(0.25, 1), 1), numeric_records(39)),
    ];
    let meaning = "report is what Task::randomize_with_rng makes of the record with ChaCha20Rng::from_seed(seed); \
        aggregate is the state after each report of the case once; bytes are in hexadecimal";
    let command = "cargo test --test suite -- --ignored write_norm_vectors";
    write(
        "norms.json",
        command,
        meaning,
        cases.map(|(name, task, records)| {
            let task = Task::from_json(&task.to_string()).unwrap();
            let (reports, aggregate) = vectors_of(&task, records);
            NormCase {
                name: name.to_owned(),
                task: serde_json::from_str(&task.to_json()).unwrap(),
                digest: task.digest().to_string(),
                reports,
                aggregate: hex(&aggregate.to_bytes()),
            }
        }),
    );
}

#[test]
#[ignore = "writes the frozen file: only for a new version of the format"]
fn write_refined_vectors() {
    let command = "cargo test --test suite -- --ignored write_refined_vectors";
    let meaning = "report is what Task::randomize_with_rng makes of the record with ChaCha20Rng::from_seed(seed); \
        aggregate is the state after each report of the case once, cross_block what it estimates of E[b a'], column \
        by column, variances those of its columns; bytes are in hexadecimal";
    write("refined.json", command, meaning, refined_cases().map(refined_case));
}

#[test]
#[ignore = "writes the frozen file: only for a new version of the format"]
fn write_id_vectors() {
    let command = "cargo test --test suite -- --ignored write_id_vectors";
    let meaning = "the ids are the first 16 bytes of SHA-256 of the numbers from 0 to count - 1 in decimal; tags is \
        SHA-256 of the tags that an aggregate of the task has of them, one after the other";
    let document = include_str!("../../examples/app-task.json");
    let task = Task::from_json(document).unwrap();
    let cases = [1, 1023, 1024, 1025, 10_000].map(|count| IdsCase {
        name: format!("{count} ids"),
        task: serde_json::from_str(document).unwrap(),
        count,
        tags: tags_of(&task, count),
    });
    write_to(AGGREGATES, "ids.json", command, meaning, cases);
}

/// A first task, directions, weights and clip as integers, and records.
type Refined = (&'static str, Json, Vec<Vec<i64>>, Vec<i64>, i64, Vec<Json>);

fn refined_cases() -> [Refined; 4] {
    let double_cap = json!({"type": "double-cap", "epsilon": 2, "candidates": 64, "cap": 8});
    let gaussian = json!({"type": "gaussian", "epsilon": 2, "delta": 1e-6, "calibration": "analytic"});
    let mixed = |bounding, mechanism| task(&mixed_columns(), bounding, mechanism, 2);
    let numeric = |count, bounding| task(&numeric_columns(count), bounding, &double_cap, 1);
    // 3-4-5 and 5-12-13 triangles in units of 2^-20.
    let (three, four, five, twelve) = (629_146, 838_861, 403_298, 967_916);
    let spread = |count: usize, first: usize| -> Vec<i64> {
        (0..count)
            .map(|place| {
                if place == first {
                    three
                } else if place == first + 2 {
                    -four
                } else {
                    0
                }
            })
            .collect()
    };
    [
        // 7 features: 15 coordinates are short.
        (
            "unit norm, nothing shortened",
            mixed(&unit_norm(), &double_cap),
            vec![vec![three, four, 0, 0, 0, 0, 0], vec![0, 0, five, -twelve, 0, 0, 0]],
            vec![1 << 16, 40_000],
            1 << 40,
            mixed_records(),
        ),
        (
            "clip, shortened",
            mixed(&clip(1.25), &gaussian),
            vec![vec![-1_000_000, 300, 310_000, 0, 0, 0, 0]],
            vec![1 << 24],
            1 << 30,
            clipped_mixed_records(),
        ),
        (
            "39 features, long",
            numeric(39, &clip(20.0)),
            vec![spread(39, 0), spread(39, 7), spread(39, 20)],
            vec![70_000, 1 << 16, 1],
            (1 << 37) + 12_345,
            numeric_records(39),
        ),
        ("two features", numeric(2, &unit_norm()), vec![vec![four, three]], vec![1 << 20], 1 << 48, numeric_records(2)),
    ]
}

fn refined_case((name, first, directions, weights, clip, records): Refined) -> RefinedCase {
    let first = Task::from_json(&first.to_string()).unwrap();
    let refinement = Refinement::new(first.digest(), directions, weights, clip).unwrap();
    let task = first.refined_by(refinement, Epsilon::new(2.0).unwrap(), Some(32), Some(6)).unwrap();
    let (reports, aggregate) = vectors_of(&task, records);
    let wave = SecondWave::of(&aggregate, &task).unwrap();
    let json = |task: &Task| serde_json::from_str(&task.to_json()).unwrap();
    RefinedCase {
        name: name.to_owned(),
        first: json(&first),
        task: json(&task),
        digest: task.digest().to_string(),
        reports,
        aggregate: hex(&aggregate.to_bytes()),
        cross_block: wave.block.as_slice().to_vec(),
        variances: wave.variances,
    }
}

fn report_case((name, task, records): (&str, Json, Vec<Json>)) -> ReportCase {
    let task = Task::from_json(&task.to_string()).unwrap();
    let (reports, aggregate) = vectors_of(&task, records);
    ReportCase {
        name: name.to_owned(),
        task: serde_json::from_str(&task.to_json()).unwrap(),
        digest: task.digest().to_string(),
        reports,
        aggregate: hex(&aggregate.to_bytes()),
        second_moment: estimate(&aggregate, &task).0,
        mean: estimate(&aggregate, &task).1,
    }
}

/// A report of each record, and their sums.
fn vectors_of(task: &Task, records: Vec<Json>) -> (Vec<ReportVector>, Aggregate) {
    let mut aggregate = Aggregate::empty(task);
    let vector = |(index, record)| {
        // Any seeds do; these are different for every report.
        let seed: Vec<u8> = (0..32).map(|byte| task.digest().as_bytes()[byte] ^ (index as u8)).collect();
        let report = randomize(task, &record, &hex(&seed));
        aggregate.accumulate(task, std::slice::from_ref(&report)).unwrap();
        ReportVector { record, seed: hex(&seed), report: hex(&report.to_bytes()) }
    };
    let vectors = (0usize..).zip(records).map(vector).collect();
    (vectors, aggregate)
}

fn estimate(aggregate: &Aggregate, task: &Task) -> (Vec<f64>, Vec<f64>) {
    let covariance = Covariance::estimate(aggregate, task).unwrap();
    let mean = covariance.mean().map_or(vec![], |mean| mean.values().to_vec());
    (covariance.second_moment().iter().copied().collect(), mean)
}

fn task_texts() -> [(&'static str, &'static str); 5] {
    [
        (
            "numbers and characters at the ends of their forms",
            r#"{"version": 1, "schema": {"columns": [
                {"name": "\u0001\t\u007f\/", "type": "numeric", "offset": 1e-5, "scale": 9999999999999998},
                {"name": "b", "type": "numeric", "offset": 0e9, "scale": 1e16},
                {"name": "c", "type": "numeric", "offset": 0.000001, "scale": -1e-100},
                {"name": "d", "type": "numeric", "offset": 5e-324, "scale": 0.30000000000000004}
            ]}, "bounding": {"type": "clip", "radius": 1e150}, "centring": {"weight": 0.01},
               "mechanism": {"type": "double-cap", "epsilon": 1e-6, "candidates": 16384, "cap": 16}, "folds": 64}"#,
        ),
        (
            "fields in another order, spaces, and other spellings of the numbers",
            r#"{ "folds": 1, "mechanism": {"epsilon": 2e0, "cap": 8, "candidates": 64, "type": "double-cap"},
                 "schema": {"columns": [{"scale": 200, "offset": 0.00, "name": "height", "type": "numeric"}]},
                 "bounding": {"type": "unit-norm"}, "version": 1 }"#,
        ),
        (
            "all kinds of columns, with names beyond ASCII",
            r#"{"version": 1, "schema": {"columns": [
                {"name": "größe", "type": "numeric", "offset": -0.5, "scale": 1e-3},
                {"name": "farbe \"x\"", "type": "categorical", "values": ["röt", "blue\n", "😀"], "unseen": "zero"},
                {"name": "note", "type": "ignored"},
                {"name": "plan", "type": "categorical", "values": ["free"], "unseen": "zero"}
            ]}, "bounding": {"type": "clip", "radius": 1.5}, "mechanism": {"type": "double-cap", "epsilon": 0.1, "candidates": 64, "cap": 16}, "folds": 5}"#,
        ),
        (
            "gaussian",
            r#"{"version": 1, "schema": {"columns": [
                {"name": "a", "type": "numeric", "offset": 0, "scale": 3},
                {"name": "b", "type": "numeric", "offset": 0.1, "scale": 123456789012345680000}
            ]}, "bounding": {"type": "unit-norm"},
               "mechanism": {"type": "gaussian", "epsilon": 1, "delta": 0.000001, "calibration": "analytic"}, "folds": 64}"#,
        ),
        (
            "a period, with all kinds of characters that one may have",
            r#"{"version": 1, "schema": {"columns": [{"name": "x", "type": "numeric", "offset": 0, "scale": 1}]},
               "bounding": {"type": "unit-norm"}, "folds": 10, "period": "2026-W48:a.b_\u0043",
               "mechanism": {"type": "double-cap", "epsilon": 2, "candidates": 64, "cap": 8}}"#,
        ),
    ]
}

fn double_cap_cases() -> [(&'static str, Json, Vec<Json>); 4] {
    let mechanism = json!({"type": "double-cap", "epsilon": 2, "candidates": 64, "cap": 8});
    let strong = json!({"type": "double-cap", "epsilon": 4, "candidates": 256, "cap": 9});
    [
        ("unit norm, 7 features", task(&mixed_columns(), &unit_norm(), &mechanism, 1), mixed_records()),
        ("clip, 7 features, 3 folds", task(&mixed_columns(), &clip(1.25), &mechanism, 3), clipped_mixed_records()),
        ("unit norm, 50 features", task(&numeric_columns(50), &unit_norm(), &strong, 1), numeric_records(50)),
        ("clip, 50 features", task(&numeric_columns(50), &clip(20.0), &mechanism, 1), numeric_records(50)),
    ]
}

fn gaussian_cases() -> [(&'static str, Json, Vec<Json>); 5] {
    let mechanism =
        |epsilon: f64| json!({"type": "gaussian", "epsilon": epsilon, "delta": 1e-6, "calibration": "analytic"});
    let paper = json!({"type": "gaussian", "epsilon": 1, "delta": 1e-4, "calibration": "paper"});
    [
        ("unit norm, 7 features, 1 byte", task(&mixed_columns(), &unit_norm(), &mechanism(2.0), 1), mixed_records()),
        (
            "clip, 7 features, 2 bytes",
            task(&mixed_columns(), &clip(1.25), &mechanism(20.0), 3),
            clipped_mixed_records(),
        ),
        ("unit norm, 7 features, 2 bytes", task(&mixed_columns(), &unit_norm(), &mechanism(20.0), 1), mixed_records()),
        (
            "clip, 7 features, the paper's scale",
            task(&mixed_columns(), &clip(1.25), &paper, 1),
            clipped_mixed_records(),
        ),
        (
            "unit norm, 50 features, 1 byte",
            task(&numeric_columns(50), &unit_norm(), &mechanism(1.0), 1),
            numeric_records(50),
        ),
    ]
}

fn centred_cases() -> [(&'static str, Json, Vec<Json>); 5] {
    let double_cap = json!({"type": "double-cap", "epsilon": 2, "candidates": 64, "cap": 8});
    let gaussian = json!({"type": "gaussian", "epsilon": 2, "delta": 1e-6, "calibration": "analytic"});
    let centred = |weight: f64, mut task: Json| {
        task["centring"] = json!({"weight": weight});
        task
    };
    let mixed = |bounding, mechanism| task(&mixed_columns(), bounding, mechanism, 2);
    [
        ("double-cap, unit norm", centred(0.25, mixed(&unit_norm(), &double_cap)), mixed_records()),
        ("double-cap, clip", centred(0.25, mixed(&clip(1.25), &double_cap)), clipped_mixed_records()),
        ("gaussian, unit norm", centred(0.25, mixed(&unit_norm(), &gaussian)), mixed_records()),
        ("gaussian, clip", centred(0.5, mixed(&clip(1.25), &gaussian)), clipped_mixed_records()),
        // One coordinate more than fills a block of 40: 39 features, the constant, the lift.
        (
            "double-cap, clip, 39 features",
            centred(0.1, task(&numeric_columns(39), &clip(20.0), &double_cap, 1)),
            numeric_records(39),
        ),
    ]
}

fn task(columns: &Json, bounding: &Json, mechanism: &Json, folds: u32) -> Json {
    json!({"version": 1, "schema": {"columns": columns}, "bounding": bounding, "mechanism": mechanism, "folds": folds})
}

fn unit_norm() -> Json {
    json!({"type": "unit-norm"})
}

fn clip(radius: f64) -> Json {
    json!({"type": "clip", "radius": radius})
}

fn mixed_columns() -> Json {
    json!([
        {"name": "height", "type": "numeric", "offset": 150, "scale": 50},
        {"name": "note", "type": "ignored"},
        {"name": "colour", "type": "categorical", "values": ["red", "green", "blau"], "unseen": "zero"},
        {"name": "town", "type": "categorical", "values": ["Ulm", "other"], "unseen": "other"},
        {"name": "weight", "type": "numeric", "offset": 0, "scale": 80.5},
    ])
}

fn mixed_records() -> Vec<Json> {
    with_missing(vec![
        json!({"height": 181.5, "colour": "green", "weight": 74, "town": "Ulm"}),
        json!({"weight": 1e-9, "colour": "unseen", "height": 150, "town": "Neu-Ulm"}),
        json!({"height": -1e12, "colour": " blau ", "weight": 3.5, "note": "not read", "town": "\u{a0}Ulm\t"}),
    ])
}

fn clipped_mixed_records() -> Vec<Json> {
    let mut records = mixed_records();
    records.push(json!({"height": 150, "colour": "none: the zero vector", "weight": 0, "town": null}));
    records
}

fn numeric_columns(count: usize) -> Json {
    (1..=count)
        .map(|position| json!({"name": format!("c{position}"), "type": "numeric", "offset": 0, "scale": 1}))
        .collect()
}

fn numeric_records(count: usize) -> Vec<Json> {
    let value = |record: usize, column: usize| ((column * (37 + 2 * record) + 11 * record) % 101) as f64 / 8.0 - 6.25;
    let dense = (0..2).map(|record| (0..count).map(|column| json!(value(record, column))).collect());
    let sparse = (0..count).map(|column| json!(if column == 7 { -3.0 } else { 0.0 })).collect();
    dense.chain([sparse]).collect()
}

/// Records in which values are missing, or all of them.
fn with_missing(mut records: Vec<Json>) -> Vec<Json> {
    records.push(json!({"height": null, "colour": "red", "weight": 1e308, "town": ""}));
    records.push(json!({"height": null, "colour": null, "weight": null, "town": null}));
    records
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

/// The folders of tasks with reports and aggregates, of aggregates alone, and of components.
const REPORTS: &str = "v1";
const AGGREGATES: &str = "aggregates";
const COMPONENTS: &str = "components";

fn path(folder: &str, file: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/vectors", folder, file].iter().collect()
}

fn read<Case: for<'de> Deserialize<'de>>(file: &str) -> Vectors<Case> {
    read_from(REPORTS, file)
}

fn read_from<Case: for<'de> Deserialize<'de>>(folder: &str, file: &str) -> Vectors<Case> {
    let vectors: Vectors<Case> = serde_json::from_str(&fs::read_to_string(path(folder, file)).unwrap()).unwrap();
    assert_eq!(vectors.version, VERSION);
    assert!(!vectors.cases.is_empty());
    vectors
}

fn write<Case: Serialize>(file: &str, command: &str, meaning: &str, cases: impl IntoIterator<Item = Case>) {
    write_to(REPORTS, file, command, meaning, cases);
}

fn write_to<Case: Serialize>(
    folder: &str,
    file: &str,
    command: &str,
    meaning: &str,
    cases: impl IntoIterator<Item = Case>,
) {
    let provenance = Provenance {
        written_by: command.to_owned(),
        release: format!("{} {}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
        meaning: meaning.to_owned(),
    };
    let vectors = Vectors { version: VERSION, provenance, cases: cases.into_iter().collect() };
    fs::create_dir_all(path(folder, "")).unwrap();
    fs::write(path(folder, file), serde_json::to_string_pretty(&vectors).unwrap() + "\n").unwrap();
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "hexadecimal digits come in pairs");
    (0..text.len() / 2).map(|index| u8::from_str_radix(&text[2 * index..2 * index + 2], 16).unwrap()).collect()
}
