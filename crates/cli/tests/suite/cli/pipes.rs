//! `-` for standard output, wherever a file is written. The transcripts have standard input.

use std::process::Command;

use serde_json::Value;

use super::replacing::{self, is_quiet, writing_commands};

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
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
    let folder = crate::support::Folder::with_files();
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
