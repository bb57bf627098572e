//! The commands of the README and of the documentation run as printed, and the example file is the survey.

use std::path::Path;
use std::process::Command;

#[path = "../../../studies/src/bin/survey.rs"]
mod survey;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The `ldp-pca` commands in a document's shell blocks, without their comments.
fn commands(document: &str) -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(ROOT).join(document)).unwrap();
    text.split("```sh\n")
        .skip(1)
        .flat_map(|block| block.split("```").next().unwrap().lines())
        .filter(|line| line.starts_with("ldp-pca "))
        .map(|line| line.split(" # ").next().unwrap().trim().to_owned())
        .collect()
}

/// Runs a document's commands in `folder`, and gives back how many ran and what the last `recover` printed.
fn run(document: &str, folder: &Path) -> (usize, String) {
    let (mut ran, mut last) = (0, String::new());
    // `serve` runs until it is stopped, and `task put` is for a server that runs: they have tests of their own.
    let served =
        |command: &&String| ["ldp-pca serve", "ldp-pca task put"].iter().any(|start| command.starts_with(start));
    for command in commands(document).iter().filter(|command| !served(command)) {
        let arguments: Vec<&str> = command.split_whitespace().skip(1).collect();
        let output = Command::new(env!("CARGO_BIN_EXE_ldp-pca")).args(arguments).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{document}: {command}: {}", String::from_utf8_lossy(&output.stderr));
        ran += 1;
        if command.contains("recover") {
            last = String::from_utf8(output.stdout).unwrap();
        }
    }
    (ran, last)
}

#[test]
fn every_command_of_the_documents_runs_as_printed() {
    // A collection replaces none of another's files: each has a folder.
    let folders = ["README.md", "docs/command-line.md"].map(|document| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("examples")).unwrap();
        std::fs::copy(Path::new(ROOT).join("examples/survey.csv"), folder.path().join("examples/survey.csv")).unwrap();
        let (ran, last) = run(document, folder.path());
        assert!(ran >= 5, "{document} has lost its commands: {ran} found");
        // 5,000 reports at epsilon 2 find the sport, screen and home components.
        assert!(last.contains("running") && last.contains("gaming") && last.contains("cooking"), "{last}");
        folder
    });
    // It plans with the sums of the collection above.
    let (ran, _) = run("docs/prediction.md", folders[1].path());
    assert!(ran >= 6, "docs/prediction.md has lost its commands: {ran} found");
}

#[test]
fn the_example_file_is_the_survey_it_is_said_to_be() {
    let file = std::fs::read_to_string(Path::new(ROOT).join("examples/survey.csv")).unwrap();
    assert!(
        file == survey::csv().unwrap(),
        "write it again: cargo run -p ldp-pca-studies --bin survey > examples/survey.csv"
    );
}
