//! Output without secrets, since others often keep it: no value of a record, and no name in a file that the schema does
//! not have.

use crate::leaks;
use crate::support::Folder;

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
    leaks::none_from(&Folder::with_files(), &COMMANDS);
}
