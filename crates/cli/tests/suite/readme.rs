//! The commands of the README and of the documentation run as printed, the unit fits the settings, and the example file
//! is the survey.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::Folder;

#[path = "../../../../research/studies/src/bin/survey.rs"]
mod survey;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

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

/// A folder with the survey where the documents have it.
fn survey_folder() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("examples")).unwrap();
    std::fs::copy(Path::new(ROOT).join("examples/survey.csv"), folder.path("examples/survey.csv")).unwrap();
    folder
}

/// Runs a document's commands in `folder`, and gives back how many ran and what the last `recover` printed.
fn run(document: &str, folder: &Folder) -> (usize, String) {
    let (mut ran, mut last) = (0, String::new());
    // What needs an aggregator, and what shells read: they have tests of their own.
    let elsewhere = |command: &&String| {
        ["ldp-pca serve", "ldp-pca completions", "ldp-pca man"].iter().any(|start| command.starts_with(start))
            || command.contains("$url")
    };
    for command in commands(document).iter().filter(|command| !elsewhere(command)) {
        let printed = folder.text(command.strip_prefix("ldp-pca ").unwrap());
        ran += 1;
        if command.contains("recover") {
            last = printed;
        }
    }
    (ran, last)
}

#[test]
fn every_command_of_the_documents_runs_as_printed() {
    // A collection replaces none of another's files: each has a folder.
    let folders = ["README.md", "docs/command-line.md"].map(|document| {
        let folder = survey_folder();
        let (ran, last) = run(document, &folder);
        assert!(ran >= 5, "{document} has lost its commands: {ran} found");
        // 5,000 reports at epsilon 2 find the sport, screen and home components.
        assert!(last.contains("running") && last.contains("gaming") && last.contains("cooking"), "{last}");
        folder
    });
    // It plans with the sums of the collection above.
    let (ran, _) = run("docs/prediction.md", &folders[1]);
    assert!(ran >= 6, "docs/prediction.md has lost its commands: {ran} found");
}

/// The shell blocks below a heading of a document.
fn blocks(document: &str, heading: &str) -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(ROOT).join(document)).unwrap();
    let (_, below) = text.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = below.split("\n## ").next().unwrap();
    section.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

/// As printed but for the port, which another program may have.
#[cfg(unix)]
#[test]
fn the_aggregator_of_the_documentation_runs_to_its_end_as_printed() {
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !["curl", "jq"].into_iter().all(has) {
        eprintln!("skipped: the commands need curl and jq");
        return;
    }
    let folder = survey_folder();
    let blocks: Vec<String> = blocks("docs/command-line.md", "An aggregator");
    let [serve, collect] = &blocks[..] else { panic!("{} blocks", blocks.len()) };
    folder.make_task("examples/survey.csv", "--epsilon 2");
    let serve = serve.split(" # ").next().unwrap().trim().replace("localhost:8080", "localhost:0");
    let mut server = folder.command(serve.split_whitespace().skip(1));
    let mut server = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().strip_prefix("listening on http://127.0.0.1:").unwrap();
    let ran = folder.shell(&collect.replace("localhost:8080", &format!("localhost:{port}")));
    server.kill().unwrap();
    server.wait().unwrap();
    let said = ran.prints(&["5,000 accepted"]).stdout;
    let (_, recovery) = said.split_once("\n{").unwrap();
    let recovery: serde_json::Value = serde_json::from_str(&format!("{{{recovery}")).unwrap();
    assert_eq!((&recovery["records"], &recovery["rank"]), (&5000.into(), &3.into()));
}

#[test]
fn the_unit_of_systemd_may_write_what_the_settings_name() {
    let read = |document: &str| std::fs::read_to_string(Path::new(ROOT).join(document)).unwrap();
    let running = read("docs/operate/run.md");
    let (_, unit) = running.split_once("```ini\n").unwrap();
    let (unit, below) = unit.split_once("```").unwrap();
    let (head, service) = unit.split_once("[Service]").unwrap();
    assert!(head.contains("\nStartLimitIntervalSec=0\n") && service.contains("\nType=notify\n"), "{unit}");
    let granted = [("/var/lib", "StateDirectory="), ("/var/log", "LogsDirectory=")].map(|(parent, name)| {
        let folder = service.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        Path::new(parent).join(folder)
    });
    let documents = ["docs/operate/run.md", "docs/aggregator.toml", "docs/settings.toml"].map(read).concat();
    let paths = documents.lines().filter_map(|line| {
        let setting = line.trim_start_matches("# ");
        ["data = ", "audit = "].iter().find_map(|name| setting.strip_prefix(name))
    });
    let paths: Vec<&str> = paths.map(|path| path.trim_matches('"')).collect();
    assert_eq!(paths.len(), 5, "{paths:?}");
    for path in paths {
        assert!(granted.iter().any(|folder| Path::new(path).starts_with(folder)), "the unit cannot write {path}");
    }
    // A command on its folder has the same user and folders.
    let (_, command) = below.split_once("\nsystemd-run ").unwrap();
    let command = command.split("```").next().unwrap();
    let properties = command.split(" -p ").skip(1).map(|rest| rest.split_whitespace().next().unwrap());
    let properties: Vec<&str> = properties.collect();
    assert_eq!(properties.len(), 7, "{properties:?}");
    for property in properties {
        assert!(service.lines().any(|line| line == property), "{property} is not the unit's");
    }
}

#[test]
fn the_example_file_is_the_survey_it_is_said_to_be() {
    let file = std::fs::read_to_string(Path::new(ROOT).join("examples/survey.csv")).unwrap();
    assert!(
        file == survey::csv().unwrap(),
        "write it again: cargo run -p ldp-pca-studies --bin survey > examples/survey.csv"
    );
}
