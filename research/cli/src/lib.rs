//! The program `ldp-pca-research`: the methods of papers on records, and the papers' tables and figures.
//!
//! Each subcommand has one folder. Arguments, files, errors and pictures are those of `ldp_pca_cli`, whose exit codes
//! and forms of output hold here too.

mod compare;
mod experiment;
pub mod fuzzing;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ldp_pca_cli::program::{self, Examples};

/// The methods of papers, to compare with those of `ldp-pca`.
///
/// Nothing that collects data needs them: `ldp-pca` does. A file named - is standard input, or standard output.
#[derive(Parser)]
#[command(name = "ldp-pca-research", version, max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run every method of the literature on the same records, and compare
    Compare(compare::Compare),
    #[command(subcommand)]
    Experiment(experiment::ExperimentCommand),
}

#[rustfmt::skip]
const EXAMPLES: &Examples = &[
    ("", [
        "ldp-pca-research compare --records survey.csv --rank 3 --epsilon 1,4",
        "ldp-pca-research experiment list",
    ]),
    ("compare", [
        "ldp-pca-research compare --records survey.csv --rank 3 --epsilon 1,4",
        "ldp-pca-research compare --records survey.csv --rank 3 --epsilon 2 --plot methods.svg",
    ]),
    ("experiment", [
        "ldp-pca-research experiment list",
        "ldp-pca-research experiment run all --quick",
    ]),
    ("experiment list", [
        "ldp-pca-research experiment list",
        "ldp-pca-research experiment list --json",
    ]),
    ("experiment run", [
        "ldp-pca-research experiment run all --quick",
        "ldp-pca-research experiment run all --data data-sets --out experiments",
    ]),
];

/// The program.
pub fn run() -> ExitCode {
    program::run(EXAMPLES, &[], |Arguments { command }| match command {
        Command::Compare(command) => command.run(),
        Command::Experiment(command) => command.run(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands from this one on, with their paths.
    fn commands(path: &str, command: &clap::Command) -> Vec<(String, clap::Command)> {
        let below = command.get_subcommands();
        let below = below.flat_map(|below| commands(&format!("{path} {}", below.get_name()), below));
        std::iter::once((path.to_owned(), command.clone())).chain(below).collect()
    }

    #[test]
    fn every_help_ends_with_two_examples_of_the_command_that_can_be_parsed() {
        let interface = || program::interface::<Arguments>(EXAMPLES);
        interface().debug_assert();
        let all = commands("ldp-pca-research", &interface());
        assert_eq!(all.len(), EXAMPLES.len());
        for (path, command) in all {
            let help = command.clone().render_long_help().to_string().replace("\\\n", "");
            let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{path} has no examples"));
            let examples: Vec<&str> = examples.trim_end().lines().map(str::trim).collect();
            assert!(examples.len() == 2 && examples[0] != examples[1], "{path}: {examples:?}");
            for example in examples {
                assert!(example.starts_with(&path), "{path}: {example}");
                let words = example.replace("$ID", &"0".repeat(64));
                let parsed = interface().try_get_matches_from(words.split_whitespace());
                parsed.unwrap_or_else(|error| panic!("{example}: {error}"));
            }
        }
    }
}
