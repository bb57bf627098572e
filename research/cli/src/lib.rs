//! The program `ldp-pca-research`: the methods of papers on records, the papers' tables and figures, and runs of
//! DPS-PCA between data providers.
//!
//! Each subcommand has one folder. Arguments, files, errors and pictures are those of `ldp_pca_cli`, whose exit codes
//! and forms of output hold here too.

mod compare;
mod dps_pca;
mod experiment;
pub mod fuzzing;
mod shared;

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
    #[command(subcommand)]
    DpsPca(dps_pca::DpsPcaCommand),
}

#[rustfmt::skip]
const EXAMPLES: &Examples = &[
    ("", ["compare --records survey.csv --rank 3 --epsilon 1,4", "experiment list"]),
    ("compare", [
        "--records survey.csv --rank 3 --epsilon 1,4",
        "--records survey.csv --rank 3 --epsilon 2 --plot methods.svg",
    ]),
    ("experiment", ["list", "run all --quick"]),
    ("experiment list", ["", "--json"]),
    ("experiment run", ["all --quick", "all --data data-sets --out experiments"]),
    ("dps-pca", ["coordinate --data session", "result --session $ID --token-file collector.token --wait"]),
    ("dps-pca start", [
        "--dimension 40 --rank 3 --providers 5 --epsilon 1 \\\n      \
            --delta 1e-6 --data session",
        "--dimension 40 --rank 3 --providers 5 --epsilon 1 \\\n      \
            --delta 1e-6 --kept-rows 9 --data session",
    ]),
    ("dps-pca coordinate", ["--data session", "--data session --listen 127.0.0.1:8081"]),
    ("dps-pca provide", [
        "own.csv --session $ID --token-file provider-1.token \\\n      \
            --memory answers --epsilon 1 --delta 1e-6",
        "own.csv --session $ID --token-file provider-1.token \\\n      \
            --memory answers --epsilon 1 --delta 1e-6 -o components.npy",
    ]),
    ("dps-pca result", [
        "--session $ID --token-file collector.token",
        "--session $ID --token-file collector.token --wait --json",
    ]),
];

/// The program.
pub fn run() -> ExitCode {
    program::run(EXAMPLES, &[], |Arguments { command }| match command {
        Command::Compare(command) => command.run(),
        Command::Experiment(command) => command.run(),
        Command::DpsPca(command) => command.run(),
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
