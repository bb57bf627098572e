//! `-` for standard input and output, wherever a file is read or written.

use std::process::Command;

use serde_json::Value;

use super::replacing::{self, is_quiet, writing_commands};
use crate::support::{Folder, gzip};

/// A folder with a file of each kind, whose reports come from a seed.
fn folder() -> Folder {
    let folder = Folder::with_files();
    folder.collect("people.csv --insecure-seed 1", "task", "a");
    folder.write("people.csv.gz", gzip(&folder.read("people.csv")));
    folder
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn every_file_can_be_read_from_standard_input() {
    let folder = folder();
    for (line, input) in [
        ("schema infer IN --json", "people.csv"),
        ("schema infer IN --json", "people.csv.gz"),
        ("task new --schema IN --epsilon 2 -o t.json --force --json", "schema.json"),
        ("task types IN", "task.json"),
        ("randomize IN -t task.json --insecure-seed 1 -o o.ldpr --force --json", "people.csv"),
        ("randomize people.csv -t IN --insecure-seed 1 -o o.ldpr --force --json", "task.json"),
        ("randomize people.csv -t task.json --ids IN --insecure-seed 1 -o o.ldpr --force --json", "ids.json"),
        ("encode IN -t task.json -o o.csv --force --json", "people.csv"),
        ("encode people.csv -t IN -o o.npy --force --json", "task.json"),
        ("scores IN --components components.json -o o.csv --force --json", "people.csv"),
        ("scores people.csv --components IN -o o.npy --force --json", "components.json"),
        ("aggregate IN -t task.json -o o.ldpa --json", "a.ldpr"),
        ("aggregate IN -t task.json -o o.ldpa --json", "a.ldpa"),
        ("aggregate a.ldpr -t IN -o o.ldpa --json", "task.json"),
        ("recover IN -t task.json --rank 1 --json", "a.ldpa"),
        ("recover a.ldpa -t IN --rank 1 --json", "task.json"),
        ("recover a.ldpa -t task.json --rank 1 --reference IN --json", "people.csv"),
        ("plan --aggregate IN -t task.json --rank 1 --records 1000 --json", "a.ldpa"),
        ("solve IN --rank 1 --penalty 0.1 --json", "s.npy"),
        ("account --task IN --reports 2", "task.json"),
        ("inspect IN --json", "schema.json"),
        ("inspect IN --json", "task.json"),
        ("inspect IN -t task.json --json", "a.ldpr"),
        ("inspect IN -t task.json --json", "a.ldpa"),
    ] {
        let named = folder.run(&line.replace("IN", input)).ok();
        let piped = folder.redirected(&line.replace("IN", "-"), input).ok();
        assert_eq!(timeless(&piped.stdout), timeless(&named.stdout), "{line}");
    }
}

/// A result without its times.
fn timeless(result: &str) -> Value {
    match serde_json::from_str::<Value>(result) {
        Ok(mut document) => {
            document.as_object_mut().unwrap().remove("seconds");
            document
        }
        Err(_) if result.contains(" s\n") || result.contains("seconds") || result.contains("time") => Value::Null,
        Err(_) => result.into(),
    }
}

#[test]
fn every_file_can_be_written_to_standard_output() {
    let folder = replacing::folder();
    for (line, name) in writing_commands() {
        let printed = folder.run(&format!("{} --json", line.replace("OUT", name))).json();
        let written = folder.read(name);
        for json in ["", " --json"] {
            let line = format!("{}{json}", line.replace("OUT", "-"));
            let output = folder.command(line.split(' ')).output().unwrap();
            let notes = text(output.stderr);
            assert_eq!(output.status.code(), Some(0), "{line}: {notes}");
            assert!(output.stdout == written, "{line}");
            // The result is for people, who see it where nothing else is.
            if json.is_empty() {
                assert!(notes.contains("wrote standard output\n"), "{line}: {notes}");
            } else {
                let result = notes[notes.find('{').unwrap()..].to_owned();
                let result: Value = serde_json::from_str(&result).unwrap();
                assert_eq!(result.as_object().unwrap().len(), printed.as_object().unwrap().len(), "{line}");
            }
        }
        std::fs::remove_file(folder.path(name)).unwrap();
    }
    assert!(!folder.path("-").exists());
}

#[test]
fn a_reader_that_leaves_ends_a_command_without_a_word() {
    let folder = replacing::folder();
    for (line, _) in writing_commands() {
        let said = folder.unread(&line.replace("OUT", "-")).ok().stderr;
        assert!(is_quiet(line, &said), "{line}: {said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn binary_results_are_not_shown_on_a_terminal() {
    let folder = folder();
    let on_terminal = |line: &str| {
        let line = format!("'{}' {line}", env!("CARGO_BIN_EXE_ldp-pca"));
        Command::new("script").args(["-qec", &line, "/dev/null"]).current_dir(folder.path("")).output().unwrap()
    };
    for out in ["-", "/dev/tty"] {
        for line in [
            "randomize people.csv -t task.json -o",
            "aggregate a.ldpr -t task.json -o",
            "solve s.npy --rank 1 --penalty 0.1 -o",
        ] {
            let output = on_terminal(&format!("{line} {out}"));
            assert_eq!(output.status.code(), Some(2), "{line} {out}");
            let said = crate::support::words(&text(output.stdout));
            assert!(said.contains("is a terminal, and the result is binary: write to a file"), "{said}");
        }
    }
    let output = on_terminal("task new --schema schema.json --epsilon 2 -o -");
    assert_eq!(output.status.code(), Some(0));
    assert!(text(output.stdout).contains("\"mechanism\""));
}
