//! The scores of records along published components.

use serde_json::{Value, json};

use crate::support::{Folder, PEOPLE, numbers, read_npy};

/// The sums of products of features, less the mean, with the loadings of a document.
fn expected(document: &Value, features: &[f64]) -> Vec<f64> {
    let mean = document.get("mean").map_or(vec![0.0; features.len()], numbers);
    let score = |component: &Value| {
        let loadings = numbers(&component["loadings"]);
        loadings
            .iter()
            .zip(features)
            .zip(mean.iter())
            .map(|((loading, value), mean)| loading * (value - mean))
            .sum::<f64>()
    };
    document["components"].as_array().unwrap().iter().map(score).collect()
}

#[test]
fn scores_are_of_features_of_norm_one_or_not_shortened_about_the_mean() {
    let folder = Folder::with_task();
    folder.write("more.csv", format!("{PEOPLE}90,,paid,NA\n20,2.1,\"gold, or more\",4\n"));
    for (options, encode) in [("", "encode --bounded"), ("--bounding clip:1.5 --centre", "encode")] {
        folder.run(&format!("task new --schema schema.json --epsilon 2 {options} -o task.json --force")).ok();
        folder.collect("people.csv --insecure-seed 1", "task", "a");
        folder.run("recover a.ldpa -t task.json --rank 2 -o components.json").ok();
        let document: Value = serde_json::from_slice(&folder.read("components.json")).unwrap();
        assert_eq!(document.get("mean").is_some(), options.contains("--centre"), "{document}");
        folder.run(&format!("{encode} more.csv -t task.json -o features.npy")).ok();
        let (shape, features) = read_npy(&folder.read("features.npy"));
        let features: Vec<&[f64]> = features.chunks(shape[1] as usize).collect();

        let scores = "scores more.csv --components components.json -o";
        let run = folder.run(&format!("{scores} scores.npy --json")).ok();
        assert_eq!(run.stderr, "note: these scores are as private as the records\n");
        run.gives(json!({"records": 12, "missing_values": 2, "rank": 2, "output": "scores.npy"}));
        let (shape, found) = read_npy(&folder.read("scores.npy"));
        assert_eq!(shape, [12, 2]);
        for (features, scores) in features.iter().zip(found.chunks(2)) {
            let near = |(one, other): (&f64, &f64)| (one - other).abs() < 1e-12;
            assert!(scores.iter().zip(&expected(&document, features)).all(near), "{options}: {scores:?}");
        }
        folder
            .run(&format!("{scores} scores.csv"))
            .prints(&["12 records of 2 scores", "2 missing values, which are 0"]);
        let rows: Vec<String> = found.chunks(2).map(|row| format!("{},{}\n", row[0], row[1])).collect();
        assert_eq!(folder.read_text("scores.csv"), format!("component_1,component_2\n{}", rows.concat()));
    }
}
