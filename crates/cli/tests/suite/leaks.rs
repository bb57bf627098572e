//! Files whose values no command may print. `research/cli` gives them to its own commands.

use std::cell::Cell;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};

use crate::support::{Folder, gzip, npy, npy_matrix};

/// They are in every value of a record, and in every name that the schema does not have.
const MARKS: [&str; 3] = ["s3cret", "7f3a", "7315524"];

fn cell() -> impl Strategy<Value = Vec<u8>> {
    let odd: [&[u8]; 10] = [
        b"s3cret-7f3a",
        b"\"s3cret, 7f3a\"",
        b"\"s3cret\n7f3a\"",
        b"\"s3cret",
        b"s3cret\xff",
        b"7315524.5e150",
        b"73155245",
        b"",
        b"NA",
        b"-7315524e999",
    ];
    prop_oneof![3 => Just(b"7315524.5".to_vec()), 2 => select(odd.to_vec()).prop_map(<[u8]>::to_vec)]
}

/// Lines of cells, with a header or without, of any number of columns.
fn csv() -> impl Strategy<Value = Vec<u8>> {
    let known = select(vec!["age", "height", "plan", "score", "plan"]).prop_map(|name| name.as_bytes().to_vec());
    let name = prop_oneof![4 => known, 1 => Just(b"s3cret 7f3a".to_vec()), 1 => Just(b"7315524".to_vec())];
    let header = prop_oneof![
        2 => Just(vec![]),
        2 => Just(vec![b"age,height,plan,score".to_vec()]),
        2 => vec(name, 3..6).prop_map(|names| vec![names.join(&b',')]),
        1 => Just(vec![b"s3cret a,s3cret b,s3cret c,s3cret a".to_vec()]),
    ];
    let row = prop_oneof![3 => vec(cell(), 4), 1 => vec(cell(), 1..7)].prop_map(|cells| cells.join(&b','));
    (header, vec(row, 0..6)).prop_map(|(header, rows)| [header, rows].concat().join(&b'\n'))
}

/// Matrices of the wrong width and type, and files that only begin as one.
fn matrix() -> impl Strategy<Value = Vec<u8>> {
    let value = select(vec![7_315_524.5, -73_155_245.0, 7_315_524e150, f64::NAN]);
    let numbers = vec(vec(value, 1..6), 1..4).prop_map(|rows| {
        let width = rows[0].len();
        let rows: Vec<Vec<f64>> = rows.into_iter().map(|row| row.into_iter().cycle().take(width).collect()).collect();
        npy_matrix(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
    });
    let bytes = b"s3cret-7f3a-s3cret-7f3a".repeat(9);
    let odd = vec![
        fields("[('s3cret', '<f8')]", &bytes),
        npy("s3cret", false, "(2, 2)", &bytes),
        npy("<f8', 's3cret': '7f3a", false, "(2, 2)", &bytes),
        npy("<f8", false, "(2, 2, s3cret)", &bytes),
        npy("|b1", false, "(4, 4)", &bytes),
        npy("|S11", false, "(4, 4)", &bytes),
        npy("<f8", false, "(9, 4)", &bytes[..40]),
    ];
    prop_oneof![numbers, select(odd)]
}

/// A matrix of what has fields: `npy` puts quotes around a type, and a list of fields has none.
fn fields(list: &str, data: &[u8]) -> Vec<u8> {
    let quoted = format!("'{}'", "x".repeat(list.len() - 2));
    let mut bytes = npy(quoted.trim_matches('\''), false, "(2, 4)", data);
    let place = bytes.windows(quoted.len()).position(|window| window == quoted.as_bytes()).unwrap();
    bytes[place..place + list.len()].copy_from_slice(list.as_bytes());
    bytes
}

/// Records as other programs write them: an object in every line.
fn lines_of_json() -> impl Strategy<Value = Vec<u8>> {
    let line = select(vec![
        r#"{"age": 7315524, "plan": "s3cret"}"#,
        r#"{"s3cret": "7f3a"}"#,
        r#"["s3cret", 7315524, 1, 2]"#,
        r#""s3cret""#,
    ]);
    vec(line, 1..4).prop_map(|lines| lines.join("\n").into_bytes())
}

/// Commands that read records as FILE in the folder print nothing of what the file holds. They may refuse it, and most
/// of them should end before there is anything to compute.
pub(crate) fn none_from(folder: &Folder, commands: &[&'static str]) {
    let file = prop_oneof![5 => csv(), 2 => matrix(), 1 => lines_of_json()];
    let file = (file, any::<bool>(), 0_usize..4)
        .prop_map(|(content, packed, cut)| if packed { gzip(&content)[cut..].to_vec() } else { content });
    let header = select(vec!["", " --header yes", " --header no"]);
    let config =
        Config { cases: 96, failure_persistence: Some(Box::new(FileFailurePersistence::Off)), ..Config::default() };
    let refused = Cell::new(0);
    TestRunner::new(config)
        .run(&(file, header, select(commands.to_vec())), |(content, header, command)| {
            folder.write("records.csv", content);
            let run = folder.run(&format!("{}{header}", command.replace("FILE", "records.csv")));
            // Of a sample that it can describe `schema infer` says which columns have no values.
            if run.code == Some(0) && command.starts_with("schema") {
                return Ok(());
            }
            refused.set(refused.get() + usize::from(run.code != Some(0)));
            for mark in MARKS {
                prop_assert!(!run.stdout.contains(mark) && !run.stderr.contains(mark), "{mark} is in {run:?}");
            }
            Ok(())
        })
        .unwrap();
    // The files are others in every run. Well over half of the 96 are refused: 20 are five standard deviations below.
    assert!(refused.get() > 20, "{refused:?}");
}
