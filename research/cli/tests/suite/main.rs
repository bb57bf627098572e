//! The program through its real binary, in one test binary.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod compare;
mod coordinator;
mod distributed;
mod experiment;
#[allow(dead_code, reason = "the other suite needs all of it")]
#[path = "../../../../crates/cli/tests/suite/http.rs"]
mod http;
#[path = "../../../../crates/cli/tests/suite/leaks.rs"]
mod leaks;
mod sessions;
#[allow(dead_code, reason = "the other suite needs all of it")]
#[path = "../../../../crates/cli/tests/suite/support.rs"]
mod support;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_ldp-pca-research");

const COMMANDS: [&str; 10] = [
    "",
    "compare",
    "experiment",
    "experiment list",
    "experiment run",
    "dps-pca",
    "dps-pca start",
    "dps-pca coordinate",
    "dps-pca provide",
    "dps-pca result",
];

#[test]
fn the_short_help_of_every_command_fits_a_screen() {
    let folder = support::Folder::new();
    for path in COMMANDS {
        let mut command = folder.command(path.split_whitespace().chain(["-h"]));
        let output = command.env("COLUMNS", "100").output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = help.trim_end().lines().collect();
        assert!(output.status.success() && help.contains("--help"), "{path}: {help}");
        assert!(lines.len() <= 25 && lines.iter().all(|line| line.chars().count() <= 100), "{path}: {help}");
    }
}
