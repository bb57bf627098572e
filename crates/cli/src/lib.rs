//! The command line `ldp-pca`: arguments, files and texts. What they are about is computed, and drawn, in other crates.
//!
//! Each subcommand has a file or a folder. `files` and `records` have reading, `writing` has writing, and `output` the
//! terminal. The public modules are those that other programs take from here: `ldp-pca-research`, with the methods of
//! papers, and the fuzzer.
//!
//! Exit codes: 0 ok, 1 failed, 2 wrong usage. Results go to standard output as text, or as one JSON document with
//! `--json`; progress, notes and errors go to standard error, and progress only when that is a terminal. An error is
//! its last line.

#![allow(clippy::missing_errors_doc, reason = "each error names the place or the value, and the remedy")]

/// Runs the command of whatever variant, each of which has one.
macro_rules! run {
    ($command:expr, $($variant:ident)*) => {
        match $command { $(Self::$variant(command) => command.run(),)* }
    };
}

mod account;
mod aggregate;
pub mod aggregator;
mod audit;
pub mod choice;
pub mod columnar;
mod demo;
mod doctor;
mod encode;
pub mod error;
pub mod files;
mod gzip;
mod help;
mod hostile;
mod inspect;
mod kind;
mod norms;
pub mod output;
pub mod parallel;
pub mod parameters;
mod plan;
pub mod program;
mod randomize;
mod ready;
pub mod records;
mod recover;
mod relay;
mod remedy;
pub mod schema;
mod scores;
pub mod serve;
mod shell;
mod simulate;
mod solve;
mod solver;
mod store;
mod submit;
pub mod table;
mod task;
mod usage;
pub mod version;
pub mod writing;

use std::process::ExitCode;

use clap::{ArgAction, Parser, Subcommand};

use self::error::Result;

/// Principal components of data that never leaves its owner's device.
///
/// The steps of a collection: schema infer (from a public sample), task new, randomize (on each device), aggregate,
/// recover. `plan` and `simulate` show beforehand what to expect, `serve` collects over HTTP what `submit` sends, and
/// `demo` does everything on this machine. A file named - is standard input, or standard output.
#[derive(Parser)]
#[command(name = "ldp-pca", version, disable_version_flag = true, max_term_width = 110)]
#[command(arg_required_else_help = true, args_conflicts_with_subcommands = true)]
struct Arguments {
    /// Print the version
    ///
    /// With --verbose also the commit, the features, the target and the profile of the build
    #[arg(short = 'V', long, action = ArgAction::SetTrue)]
    version: bool,
    /// See --version
    #[arg(short, long, requires = "version", hide_short_help = true)]
    verbose: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Describe the columns of records
    #[command(subcommand)]
    Schema(schema::SchemaCommand),
    /// Fix the public parameters of a collection
    #[command(subcommand)]
    Task(task::TaskCommand),
    /// Turn records into private reports
    Randomize(randomize::Randomize),
    Encode(encode::Encode),
    /// Sum reports
    Aggregate(aggregate::AggregateCommand),
    Submit(submit::Submit),
    /// Recover principal components from summed reports
    Recover(recover::Recover),
    Scores(scores::Scores),
    Norms(norms::NormsCommand),
    /// Predict how many users it takes, before anybody is asked
    Plan(plan::Plan),
    /// Measure the error to expect, on synthetic records
    Simulate(simulate::Simulate),
    /// Test a randomizer's guarantee on worst-case pairs of records
    Audit(audit::Audit),
    /// Solve the sparse (Fantope) problem for a matrix
    Solve(solve::Solve),
    /// Show what a schema, task, reports, aggregate or components file holds
    Inspect(inspect::Inspect),
    /// Show what reports of a task guarantee: one, several, and an anonymised batch
    Account(account::Account),
    /// Collect reports over HTTP
    Serve(serve::Serve),
    Relay(relay::Relay),
    Ready(ready::Ready),
    Doctor(doctor::Doctor),
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// Run a whole collection on this machine
    Demo(demo::Demo),
    Completions(shell::Completions),
    Man(shell::ManPages),
}

impl Command {
    #[rustfmt::skip]
    fn run(self) -> Result<()> {
        run!(
            self,
            Schema Task Randomize Encode Aggregate Submit Recover Scores Norms Plan Simulate Audit Solve Inspect Account
            Serve Relay Ready Doctor Store Demo Completions Man
        )
    }
}

/// All commands with their options and their help.
fn interface() -> clap::Command {
    program::interface::<Arguments>(help::EXAMPLES)
}

/// The program `ldp-pca`.
pub fn run() -> ExitCode {
    program::run(help::EXAMPLES, &help::FIRST, |Arguments { command, verbose, .. }| {
        command.map_or_else(|| version::print(verbose), Command::run)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands from this one on, with their paths.
    fn commands(path: &str, command: &clap::Command) -> Vec<(String, clap::Command)> {
        let own = (path.to_owned(), command.clone());
        let below =
            command.get_subcommands().flat_map(|below| commands(&format!("{path} {}", below.get_name()), below));
        std::iter::once(own).chain(below).collect()
    }

    #[test]
    fn every_help_ends_with_two_examples_of_the_command_that_can_be_parsed() {
        let all = commands("ldp-pca", &interface());
        assert!(all.len() > 30, "{}", all.len());
        for (path, command) in all {
            let help = command.clone().render_long_help().to_string().replace("\\\n", "");
            let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{path} has no examples"));
            let examples: Vec<&str> = examples.trim_end().lines().map(str::trim).collect();
            assert_eq!(examples.len(), 2, "{path}: {examples:?}");
            assert_ne!(examples[0], examples[1]);
            for example in examples {
                assert!(example.starts_with(&path), "{path}: {example}");
                // Before the shell's part.
                let words = example.split(['|', '>', '<']).next().unwrap().replace("$ID", &"0".repeat(64));
                let parsed = interface().try_get_matches_from(words.split_whitespace());
                parsed.unwrap_or_else(|error| panic!("{example}: {error}"));
            }
        }
    }

    /// Those too that need an aggregator. The suite runs the others.
    #[test]
    fn every_command_of_the_documents_can_be_parsed() {
        let mut all = 0;
        let folders =
            [".", "docs/start", "docs/guides", "docs/operate", "docs/privacy", "docs/reference", "pkg", "crates/cli"];
        for folder in folders {
            let entries = std::fs::read_dir(format!("{}/../../{folder}", env!("CARGO_MANIFEST_DIR"))).unwrap();
            let paths = entries.map(|entry| entry.unwrap().path());
            for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
                let text = std::fs::read_to_string(&path).unwrap().replace("\\\n", " ");
                let blocks = text.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap());
                for line in blocks.flat_map(str::lines).filter(|line| line.starts_with("ldp-pca ")) {
                    let words = line.split(['|', '>', '<', '#']).next().unwrap();
                    let words = words.replace("$url", "http://localhost:8080").replace("https://", "http://");
                    let words = words.replace("5d41…the-whole-digest", &"0".repeat(64));
                    let parsed = interface().try_get_matches_from(words.split_whitespace());
                    parsed.unwrap_or_else(|error| panic!("{}: {line}: {error}", path.display()));
                    all += 1;
                }
            }
        }
        assert!(all >= 60, "{all}");
    }

    #[test]
    fn the_interface_is_consistent() {
        interface().debug_assert();
    }
}
