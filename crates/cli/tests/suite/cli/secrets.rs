//! Output without secrets, since others often keep it: no value of a record, and no name in a file that the schema does
//! not have.

use crate::leaks;
use crate::support::{Folder, PEOPLE};

/// A command that reads records, which it may refuse. Most of them end before there is anything to compute.
const COMMANDS: [&str; 5] = [
    "randomize FILE -t task.json -o out.ldpr --force",
    "randomize FILE -t task.json -o out.ldpr --force --strict --json",
    "encode FILE -t task.json -o out.npy --force --json",
    "recover a.ldpa -t task.json --rank 1 --reference FILE",
    "schema infer FILE --max-values 1 -o out.json --force",
];

#[test]
fn no_command_prints_what_records_hold() {
    let folder = Folder::with_task();
    folder.run("randomize people.csv -t task.json -o r.ldpr").ok();
    folder.run("aggregate r.ldpr -t task.json -o a.ldpa").ok();
    leaks::none_from(&folder, &COMMANDS);
}

#[test]
fn values_are_shown_where_that_is_asked_for() {
    let folder = Folder::with_task();
    let shown = "it holds [\"s3cret\", \"1.7\", \"free\", \"1\"]";
    folder.write("bad.csv", format!("{PEOPLE}s3cret,1.7,free,1\n"));
    for (command, parts) in [
        ("randomize bad.csv -t task.json -o out.ldpr --strict", ["bad.csv, line 12: column 'age'", shown]),
        ("schema infer bad.csv --max-values 9", ["bad.csv, line 12: column 1 of the sample", shown]),
    ] {
        let silent = folder.run(command);
        assert!(!silent.stderr.contains("s3cret"), "{silent:?}");
        silent.refused(1, &parts[..1]);
        folder.run(&format!("{command} --show-values")).refused(1, &parts);
    }
    folder.write("names.csv", "age,height,plan,s3cret\n31,1.80,free,-2\n");
    let parts = ["names.csv, header: unknown columns: 1; the schema has age, height, plan, score"];
    folder.run("randomize names.csv -t task.json -o out.ldpr").refused(1, &parts);
    let parts = [parts[0], "\"plan\", \"s3cret\"]"];
    folder.run("randomize names.csv -t task.json -o out.ldpr --show-values").refused(1, &parts);
    let counts = folder.run("randomize bad.csv -t task.json -o out.ldpr --show-values --json").json();
    assert!(counts["unread"][0]["first"].as_str().unwrap().contains(shown), "{counts}");
}
