//! The features of records.

use ldp_pca::task::Task;
use serde_json::json;

use crate::support::{Folder, PEOPLE, read_npy};

/// A folder with a task that clips records, some of which are longer, and the records with a missing value and a plan
/// that nobody listed.
fn folder() -> (Folder, Task) {
    let folder = Folder::with_task();
    folder.run("task new --schema schema.json --epsilon 2 --bounding clip:1.5 -o clipped.json").ok();
    folder.write("records.csv", format!("{PEOPLE}90,,paid,NA\n20,2.1,\"gold, or more\",4\n"));
    let task = Task::from_json(&folder.read_text("clipped.json")).unwrap();
    (folder, task)
}

/// What the library says.
fn expected(task: &Task, folder: &Folder, bounded: bool) -> Vec<Vec<f64>> {
    let mut rows = csv::Reader::from_reader(&folder.read("records.csv")[..]).into_records().collect::<Vec<_>>();
    rows.drain(..)
        .map(|row| {
            let features = task.schema().encode_fields(&row.unwrap().iter().collect::<Vec<_>>());
            if bounded {
                let scale = task.bounding().length_scale();
                return task.bound(features).unwrap().coordinates().iter().map(|value| value * scale).collect();
            }
            features
        })
        .collect()
}

/// The names and the rows of a CSV file.
fn read_csv(content: &[u8]) -> (Vec<String>, Vec<Vec<f64>>) {
    let mut reader = csv::Reader::from_reader(content);
    let names = reader.headers().unwrap().iter().map(ToOwned::to_owned).collect();
    let rows = reader.into_records().map(|row| row.unwrap().iter().map(|cell| cell.parse().unwrap()).collect());
    (names, rows.collect())
}

#[test]
fn features_are_those_of_the_library() {
    let (folder, task) = folder();
    for (option, bounded) in [("", false), (" --bounded", true)] {
        let expected = expected(&task, &folder, bounded);
        assert!(expected.iter().flatten().any(|feature| *feature == 0.0));
        let run = folder.run(&format!("encode records.csv -t clipped.json -o features.csv{option} --json")).ok();
        assert_eq!(run.stderr, "note: these features are as private as the records\n");
        let dimension = task.dimension();
        run.gives(json!({"records": 12, "missing_values": 2, "dimension": dimension, "bounded": bounded}));
        let (names, rows) = read_csv(&folder.read("features.csv"));
        assert_eq!(names, task.schema().feature_names());
        assert_eq!(rows, expected);
        let printed = folder.run(&format!("encode records.csv -t clipped.json -o features.npy{option}"));
        printed.prints(&["12 records of", "2 missing values, which are 0"]);
        let (shape, numbers) = read_npy(&folder.read("features.npy"));
        assert_eq!(shape, [12, task.dimension() as u64]);
        assert_eq!(numbers, expected.concat());
    }
}
