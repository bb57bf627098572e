//! What shells and `man` know of the command line, and what it says of its build.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use crate::support::{Folder, words};

/// Runs another program in the folder, or gives `None` where it is not installed.
fn other(folder: &Folder, program: &str, arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder.path("")).env("MANPAGER", "cat").env("MANWIDTH", "100");
    match command.output() {
        Ok(output) => Some(output),
        Err(_) => {
            eprintln!("skipped: there is no {program}");
            None
        }
    }
}

/// All commands that the pages of help list, as `task new`, each with its page; the first is the program itself.
pub(super) fn commands(folder: &Folder, path: &str) -> Vec<(String, String)> {
    let help = folder.text(&format!("{path} --help"));
    let list = help.split_once("Commands:\n").map_or("", |(_, list)| list.split("\n\n").next().unwrap());
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    let below: Vec<_> = names.flat_map(|name| commands(folder, format!("{path} {name}").trim())).collect();
    [vec![(path.to_owned(), help)], below].concat()
}

#[test]
fn completions_name_every_command() {
    let folder = Folder::new();
    let all: Vec<String> = commands(&folder, "").into_iter().skip(1).map(|(path, _)| path).collect();
    assert!(all.len() >= 30 && all.iter().any(|command| command == "store verify"), "{all:?}");
    for shell in ["bash", "zsh", "fish"] {
        let script = folder.text(&format!("completions {shell}"));
        for name in all.iter().flat_map(|command| command.split(' ')) {
            assert!(script.contains(name), "{shell} does not know {name}");
        }
        folder.write(shell, &script);
        if let Some(checked) = other(&folder, shell, &["-n", shell]) {
            assert!(checked.status.success() && checked.stderr.is_empty(), "{shell}: {checked:?}");
        }
    }
    folder.refused("completions tcsh", 2, &["tcsh", "bash"]);
}

#[test]
fn bash_completes_commands_options_and_values() {
    let folder = Folder::new();
    folder.write("script", folder.text("completions bash"));
    for (line, expected) in [
        ("ldp-pca sub", vec!["submit"]),
        ("ldp-pca task p", vec!["put"]),
        ("ldp-pca store ", vec!["verify", "repair", "acknowledge", "export", "backup", "merge", "restore"]),
        ("ldp-pca submit --pat", vec!["--patience"]),
        ("ldp-pca schema infer --scaling ma", vec!["max-abs"]),
    ] {
        // As bash calls it: the function that is registered for the command, with the words of the line.
        let complete = format!(
            ". ./script; registered=$(complete -p ldp-pca); function=${{registered#*-F }}; function=${{function%% *}}; \
             COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=({}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             $function ldp-pca \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            if line.ends_with(' ') { format!("{line} ''") } else { line.to_owned() }
        );
        let Some(output) = other(&folder, "bash", &["--norc", "-c", &complete]) else { return };
        let found: Vec<&str> = str::from_utf8(&output.stdout).unwrap().lines().collect();
        for name in &expected {
            assert!(found.contains(name), "{line}: {output:?}");
        }
        assert!(line.ends_with(' ') || found == expected, "{line}: {found:?}");
    }
}

#[test]
fn every_command_has_a_manual_page_that_its_group_names() {
    let folder = Folder::new();
    folder.run("man pages/man1").ok();
    let all = commands(&folder, "").into_iter().map(|(path, _)| format!("ldp-pca {path}").trim().replace(' ', "-"));
    let all: Vec<String> = all.collect();
    let found = std::fs::read_dir(folder.path("pages/man1")).unwrap();
    let found: BTreeSet<String> = found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let expected: BTreeSet<String> = all.iter().map(|name| format!("{name}.1")).collect();
    assert_eq!(found, expected);
    assert_eq!(folder.text("man"), folder.read_text("pages/man1/ldp-pca.1"));
    for file in &found {
        let name = file.strip_suffix(".1").unwrap();
        let text = folder.read_text(&format!("pages/man1/{file}"));
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXTRA"] {
            assert!(text.contains(&format!("\n.SH {section}\n")), "{file} has no {section}");
        }
        assert!(text.contains("Examples:"), "{file}");
        let below: Vec<&String> = all
            .iter()
            .filter(|other| other.strip_prefix(name).is_some_and(|rest| rest.starts_with('-')))
            .filter(|other| {
                !all.iter().any(|between| {
                    between.starts_with(&format!("{name}-")) && other.starts_with(&format!("{between}-"))
                })
            })
            .collect();
        for other in below {
            assert!(text.replace('\\', "").contains(&format!("{other}(1)")), "{file} does not name {other}");
        }
    }
    let Some(shown) = other(&folder, "man", &["--warnings", "-l", "pages/man1/ldp-pca-task-put.1"]) else { return };
    assert!(shown.status.success() && shown.stderr.is_empty(), "{shown:?}");
    let shown = words(str::from_utf8(&shown.stdout).unwrap());
    assert!(
        shown.contains("Give a running aggregator a task to collect for") && shown.contains("--token-file"),
        "{shown}"
    );
}

#[test]
fn the_version_says_of_what_it_was_built_and_how() {
    let folder = Folder::new();
    let short = folder.text("--version");
    assert_eq!(short, format!("ldp-pca {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(folder.text("-V"), short);
    let long = folder.text("--version --verbose");
    assert_eq!(folder.text("-vV"), long);
    let (first, rest) = long.split_at(short.len());
    assert_eq!(first, short);
    let lines: Vec<(&str, &str)> = rest.lines().map(|line| line.split_once(' ').unwrap()).collect();
    let [("commit", commit), ("features", features), ("target", target), ("profile", profile)] = lines[..] else {
        panic!("{long}")
    };
    // What git says, or nothing where the sources are not in a repository.
    let repository = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let known = std::path::Path::new(repository).join(".git").exists();
    let git = Command::new("git").args(["-C", repository, "rev-parse", "HEAD"]).output();
    match git {
        Ok(git) if known && git.status.success() => {
            assert_eq!(commit.trim(), str::from_utf8(&git.stdout).unwrap().trim());
        }
        _ => assert_eq!(commit.trim(), "unknown"),
    }
    assert_eq!(
        features.split_whitespace().any(|feature| feature == "parquet"),
        cfg!(feature = "parquet"),
        "{features}"
    );
    assert!(!features.contains("default") && target.contains(std::env::consts::ARCH), "{long}");
    assert_eq!(profile.trim(), if cfg!(debug_assertions) { "debug" } else { "release" });
    folder.refused("--verbose", 2, &["--version"]);
}
