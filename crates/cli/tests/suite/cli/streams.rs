//! The destinations of results: standard output, files, and what happens when either is missing.

use std::process::Stdio;

use crate::support::{Folder, Run, closed_pipe};

/// Every command that writes a file, with the name OUT for it.
const WRITING_COMMANDS: [&str; 12] = [
    "schema infer people.csv -o OUT",
    "task new --schema schema.json --epsilon 2 -o OUT",
    "randomize people.csv -t task.json -o OUT",
    "encode people.csv -t task.json -o OUT.csv",
    "encode people.csv -t task.json -o OUT.npy",
    "aggregate a.ldpr -t task.json -o OUT",
    "recover a.ldpa -t task.json --rank 1 -o OUT.csv",
    "recover a.ldpa -t task.json --rank 1 -o OUT.npy",
    "recover a.ldpa -t task.json --rank 1 -o OUT.json",
    "scores people.csv --components components.json -o OUT.csv",
    "scores people.csv --components components.json -o OUT.npy",
    "solve s.npy --rank 1 --penalty 0.1 -o OUT",
];

/// A disk without room, as a file and as standard output.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_with_its_remedy() {
    let folder = Folder::with_files();
    let said = "No space left on device: make room there, or write to another disk";
    for command in WRITING_COMMANDS.into_iter().filter(|command| command.ends_with(" OUT")) {
        let command = command.replace("OUT", "/dev/full");
        folder.refused(&command, 1, &[&format!("/dev/full: cannot write it: {said}")]);
    }
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = folder.command(["inspect", "task.json"]).stdout(full).output().unwrap();
    Run::of("inspect task.json", output).refused(1, &[&format!("cannot write the result: {said}")]);
}

#[test]
fn with_json_standard_output_is_one_document_and_progress_is_silent_in_a_pipe() {
    let folder = Folder::with_files();
    for command in WRITING_COMMANDS {
        let run = folder.run(&format!("{} --force --json", command.replace("OUT", "out"))).ok();
        let quiet = run.stderr.lines().all(|line| line.starts_with("note:"));
        assert!(quiet && !run.stderr.contains('\u{1b}') && !run.stderr.contains('\r'), "{run:?}");
        run.json();
    }
    for command in [
        "schema infer people.csv",
        "inspect task.json",
        "inspect a.ldpr -t task.json",
        "recover a.ldpa -t task.json --rank 1 --sparse --reference people.csv",
        "simulate --epsilon 2 --records 300 --trials 2 --dimension 5 --rank 1",
    ] {
        folder.json(command);
    }
}

/// `ldp-pca … | head` and `ldp-pca … 2>&1 | head`: the reader may leave at any time.
#[test]
fn a_closed_pipe_ends_the_command_without_a_panic() {
    let folder = Folder::with_task();
    let demo = "demo --once --population 10 --listen 127.0.0.1:0";
    for command in ["schema infer people.csv", "inspect task.json --json", demo, "--help", "inspect missing"] {
        for close_errors in [false, true] {
            let stderr = if close_errors { closed_pipe() } else { Stdio::piped() };
            let output = folder.command(command.split(' ')).stdout(closed_pipe()).stderr(stderr).output().unwrap();
            let run = Run::of(command, output);
            assert!(!run.stderr.contains("panicked"), "{run:?}");
            assert_eq!(run.code, Some(i32::from(command == "inspect missing")), "{run:?} {close_errors}");
        }
    }
}
