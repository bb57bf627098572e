//! Output without secrets, since others often keep it: no value of a record, and no name in a file that the schema does
//! not have.

use crate::leaks;
use crate::support::{Folder, PEOPLE};

/// A command that reads records, which it may refuse. Most of them end before there is anything to compute.
const COMMANDS: [&str; 6] = [
    "randomize FILE -t task.json -o out.ldpr --force",
    "randomize FILE -t task.json -o out.ldpr --force --strict --json",
    "encode FILE -t task.json -o out.npy --force --json",
    "scores FILE --components components.json -o out.npy --force --json",
    "recover a.ldpa -t task.json --rank 1 --reference FILE",
    "schema infer FILE -o out.json --force",
];

#[test]
fn no_command_prints_what_records_hold() {
    let folder = Folder::with_sums();
    folder.run("recover a.ldpa -t task.json --rank 1 -o components.json").ok();
    leaks::none_from(&folder, &COMMANDS);
}

#[test]
fn the_place_of_a_value_is_told_without_it() {
    let folder = Folder::with_task();
    folder.write("bad.csv", format!("{PEOPLE}s3cret,1.7,free,1\n"));
    folder.write("numbers.csv", (0..40).map(|number| format!("{number}\n")).collect::<String>() + "s3cret\n");
    folder.write("many.csv", (0..40).map(|number| format!("s3cret{number}\n")).collect::<String>());
    folder.write("names.csv", "age,height,plan,s3cret\n31,1.80,free,-2\n");
    for (command, place) in [
        ("randomize bad.csv -t task.json -o out.ldpr --strict", "bad.csv, line 12: column 'age'"),
        ("schema infer numbers.csv", "numbers.csv, line 41: column 1 of the sample"),
        ("schema infer many.csv", "many.csv"),
        (
            "randomize names.csv -t task.json -o out.ldpr",
            "names.csv, header: unknown columns: 1; the schema has age, height, plan, score",
        ),
    ] {
        let silent = folder.run(command);
        assert!(!silent.stderr.contains("s3cret"), "{silent:?}");
        silent.refused(1, &[place]);
    }
}
