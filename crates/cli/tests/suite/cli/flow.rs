//! The way from a sample to the mean, components in every format, and the keys of `solve`.

use serde_json::{Value, json};

use super::recover::records;
use crate::support::{Folder, assert_has, npy_matrix, number, numbers, read_npy};

/// Records around (6, -3, 0, 0), with a spread along (2, 1, 0, 0): without centring the mean would be the component.
#[test]
fn a_centred_collection_gives_the_mean_and_the_components_about_it() {
    let folder = Folder::new();
    let shifted: String = records(4000, [4.0, 2.0, 0.3, 0.3])
        .lines()
        .map(|line| {
            let row: Vec<f64> = line.split(',').map(|number| number.parse().unwrap()).collect();
            format!("{},{},{},{}\n", row[0] + 6.0, row[1] - 3.0, row[2], row[3])
        })
        .collect();
    folder.write("records.csv", format!("w,x,y,z\n{shifted}"));
    folder.run("schema infer records.csv --scaling none -o schema.json").ok();
    let created = "task new --schema schema.json --epsilon 4 --bounding clip:9 --centre";
    let task = folder.json(&format!("{created} -o task.json"));
    assert_eq!(task["centring"]["weight"], 0.25);
    assert!((number(&task["centring"]["noise_factor"]) - 4.0 / 3.0).abs() < 1e-12);
    assert_eq!(folder.json("inspect task.json")["centring"], task["centring"]);
    folder.run("inspect task.json").prints(&["centring   weight 0.25: 1.33 times the noise per entry, as if 44 %"]);
    folder.run(&format!("{created} 0.5 -o half.json")).ok();
    assert!(folder.read_text("half.json").contains(r#""centring":{"weight":0.5}"#));

    folder.collect("records.csv --insecure-seed 5", "task", "a");
    let recovered = folder.json("recover a.ldpa -t task.json --rank 1 --reference records.csv");
    // A noise of 0.42 × 1.33 × 81 / sqrt(4000) = 0.7 per entry beside a variance of 1.7 along (2, 1): only the mean is
    // sharp.
    let values = numbers(&recovered["mean"]["values"]);
    let deviation = number(&recovered["mean"]["noise_deviation"]);
    for (value, expected) in values.iter().zip([6.0, -3.0, 0.0, 0.0]) {
        assert!((value - expected).abs() < 6.0 * deviation && deviation < 0.3, "{values:?} {deviation}");
    }
    assert_eq!(recovered["mean"]["in_column_units"], recovered["mean"]["values"], "no offset, no scale");
    assert!(number(&recovered["mean"]["noise_factor"]) > 1.33);
    // The reference is centred too: its variance is that of the spread, not 45.
    let reference = numbers(&recovered["reference"]["eigenvalues"]);
    assert!((1.0..3.0).contains(&reference[0]), "{reference:?}");
    folder.run("recover a.ldpa -t task.json --rank 1").prints(&["mean        ", "w  -"]);
}

#[test]
fn components_are_the_same_in_every_format() {
    let folder = Folder::with_sums();
    let printed = folder.json("recover a.ldpa -t task.json --rank 2");
    let components: Vec<Vec<f64>> = printed["components"].as_array().unwrap().iter().map(numbers).collect();
    assert_eq!((components.len(), components[0].len()), (2, 6));
    for name in ["c.csv", "c.npy", "c.json"] {
        folder.run(&format!("recover a.ldpa -t task.json --rank 2 --output {name}")).ok();
    }
    let document: Value = serde_json::from_str(&folder.read_text("c.json")).unwrap();
    let names = &printed["feature_names"];
    let published: Vec<Value> = (0..2)
        .map(|place| json!({"loadings": printed["components"][place], "variance": printed["variances"][place]}))
        .collect();
    let task = &folder.json("inspect task.json")["digest"];
    let expected = json!({"version": 1, "task": task, "feature_names": names, "records": 10, "components": published});
    assert_has(&document, expected, "c.json");
    let (shape, elements) = read_npy(&folder.read("c.npy"));
    assert_eq!(shape, [6, 2]);
    let text = folder.read_text("c.csv");
    let mut rows = text.lines();
    assert_eq!(rows.next(), Some("feature,component_1,component_2"));
    for (row, line) in rows.enumerate() {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields[0], names[row]);
        for column in 0..2 {
            assert_eq!(fields[column + 1].parse::<f64>().unwrap(), components[column][row]);
            assert_eq!(elements[2 * row + column], components[column][row]);
        }
    }
    assert_eq!(text.lines().count(), 7);
}

/// Scripts outside this repository read these keys.
#[test]
fn the_keys_of_solve_are_as_documented() {
    let folder = Folder::new();
    folder.write("s.npy", npy_matrix(&[&[3.0, 1.0, 0.01], &[1.0, 3.0, 0.0], &[0.01, 0.0, 1.0]]));
    let expected = json!({"status": "optimal", "support": [0, 1]});
    let result = folder.gives("solve s.npy --rank 1 --penalty 0.1 --output x.npy", expected);
    // X = v v^T with v = (1, 1, 0) / sqrt 2: <S, X> = 4, the magnitudes sum to 2.
    assert!((number(&result["objective"]) - 3.8).abs() < 1e-6, "{result}");
    assert!(number(&result["relative_gap"]) <= 1e-6);
    assert!(result["iterations"].is_u64() && result["seconds"].is_f64());
    let (shape, elements) = read_npy(&folder.read("x.npy"));
    assert_eq!(shape, [3, 3]);
    let expected = [0.5, 0.5, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0];
    assert!(elements.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-4), "{elements:?}");
    // A tolerance that is out of reach is a status, not a failure.
    let rows: Vec<Vec<f64>> =
        (0..8).map(|i| (0..8).map(|j| ((i + j) as f64 * 0.7).sin() + f64::from(u8::from(i == j))).collect()).collect();
    folder.write("hard.npy", npy_matrix(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>()));
    let expected = json!({"status": "budget-exhausted"});
    folder.gives("solve hard.npy --rank 2 --penalty 0.4 --time-limit 1e-9 --tolerance 1e-12", expected);
}

/// `npm run test:types` checks what TypeScript makes of it.
#[test]
fn a_task_is_printed_as_a_typescript_module() {
    let types = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/types");
    let folder = Folder::new();
    let run = folder.run(&format!("task types {types}/survey.json")).ok();
    assert_eq!(run.stdout, std::fs::read_to_string(format!("{types}/survey.ts")).unwrap());
}
