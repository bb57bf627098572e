//! The destinations of results: standard output, files, and what happens when either is missing.

use std::process::Stdio;

use super::replacing::{self, is_quiet, writing_commands};
use crate::support::{Folder, Run, closed_pipe};

/// A disk without room, as a file and as standard output.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_with_its_remedy() {
    let folder = replacing::folder();
    let said = "No space left on device: make room there, or write to another disk";
    // The others ask for the extension of a format.
    for (command, _) in writing_commands().filter(|(_, out)| *out == "out") {
        let command = command.replace("OUT", "/dev/full");
        folder.refused(&command, 1, &[&format!("/dev/full: cannot write it: {said}")]);
    }
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = folder.command(["inspect", "task.json"]).stdout(full).output().unwrap();
    Run::of("inspect task.json", output).refused(1, &[&format!("cannot write the result: {said}")]);
}

#[test]
fn with_json_standard_output_is_one_document_and_progress_is_silent_in_a_pipe() {
    let folder = replacing::folder();
    let of_other_formats = [
        ("encode people.csv -t task.json -o OUT", "out.npy"),
        ("recover a.ldpa -t task.json --rank 1 -o OUT", "out.npy"),
        ("recover a.ldpa -t task.json --rank 1 -o OUT", "out.json"),
        ("scores people.csv --components components.json -o OUT", "out.npy"),
    ];
    for (command, out) in writing_commands().chain(of_other_formats) {
        let run = folder.run(&format!("{} --force --json", command.replace("OUT", out))).ok();
        let quiet = is_quiet(command, &run.stderr);
        assert!(quiet && !run.stderr.contains('\u{1b}') && !run.stderr.contains('\r'), "{run:?}");
        run.json();
    }
    for command in [
        "schema infer people.csv",
        "inspect task.json",
        "inspect r.ldpr -t task.json",
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
