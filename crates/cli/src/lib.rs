//! The command line `ldp-pca`: arguments, files, texts and pictures. What they are about is computed in other crates.
//!
//! Each subcommand has one file. `files` and `records` have reading, `writing` has writing, and `output` the terminal.
//!
//! Exit codes: 0 ok, 1 failed, 2 wrong usage. Results go to standard output as text, or as one JSON document with
//! `--json`; progress, notes and errors go to standard error, and progress only when that is a terminal. An error is
//! its last line.

mod account;
mod aggregate;
mod aggregator;
mod audit;
mod choice;
mod columnar;
mod compare;
mod demo;
mod dps_pca;
mod encode;
mod error;
mod experiment;
mod files;
#[doc(hidden)]
pub mod fuzzing;
mod help;
mod hostile;
mod inspect;
mod kind;
mod norms;
mod output;
mod parallel;
mod parameters;
mod plan;
mod plot;
mod randomize;
mod ready;
mod records;
mod recover;
mod relay;
mod schema;
mod serve;
mod shell;
mod simulate;
mod solve;
mod solver;
mod store;
mod submit;
mod table;
mod task;
mod usage;
mod version;
mod writing;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgAction, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use self::error::CliError;

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
    Norms(norms::NormsCommand),
    /// Predict how many users it takes, before anybody is asked
    Plan(plan::Plan),
    /// Measure the error to expect, on synthetic records
    Simulate(simulate::Simulate),
    /// Run every method of the literature on the same records, and compare
    Compare(compare::Compare),
    /// Test a randomizer's guarantee on worst-case pairs of records
    Audit(audit::Audit),
    #[command(subcommand)]
    Experiment(experiment::ExperimentCommand),
    /// Solve the sparse (Fantope) problem for a matrix
    Solve(solve::Solve),
    /// Show what a schema, task, reports or aggregate file holds
    Inspect(inspect::Inspect),
    /// Show what reports of a task guarantee: one, several, and an anonymised batch
    Account(account::Account),
    /// Collect reports over HTTP
    Serve(serve::Serve),
    Relay(relay::Relay),
    Ready(ready::Ready),
    #[command(subcommand)]
    Store(store::StoreCommand),
    #[command(subcommand)]
    DpsPca(dps_pca::DpsPcaCommand),
    /// Run a whole collection on this machine
    Demo(demo::Demo),
    Completions(shell::Completions),
    Man(shell::ManPages),
}

/// All commands with their options and their help.
fn interface() -> clap::Command {
    help::with_examples(writing::with_force(Arguments::command()))
}

/// Parses the arguments, runs the command, and reports its error.
pub fn run() -> ExitCode {
    let given: Vec<OsString> = std::env::args_os().skip(1).collect();
    let matches = help::shown_to(&given, interface()).try_get_matches();
    let parsed = matches.and_then(|matches| Ok((Arguments::from_arg_matches(&matches)?, matches)));
    let (arguments, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            // Help and version are not failures; everything else is wrong usage.
            let code = if error.use_stderr() { 2 } else { 0 };
            if code == 0 || (error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && !output::is_json())
            {
                // When the terminal itself is gone, nobody can read a message.
                let _ = error.print();
            } else {
                output::error(&CliError::Usage(usage::line(&error)));
            }
            return ExitCode::from(code);
        }
    };
    let Some(command) = arguments.command else { return ended(version::print(arguments.verbose)) };
    ended(writing::check(&matches).and_then(|()| match command {
        Command::Schema(command) => command.run(),
        Command::Task(command) => command.run(),
        Command::Randomize(command) => command.run(),
        Command::Encode(command) => command.run(),
        Command::Aggregate(command) => command.run(),
        Command::Submit(command) => command.run(),
        Command::Recover(command) => command.run(),
        Command::Norms(command) => command.run(),
        Command::Plan(command) => command.run(),
        Command::Simulate(command) => command.run(),
        Command::Compare(command) => command.run(),
        Command::Audit(command) => command.run(),
        Command::Experiment(command) => command.run(),
        Command::Solve(command) => command.run(),
        Command::Inspect(command) => command.run(),
        Command::Account(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Relay(command) => command.run(),
        Command::Ready(command) => command.run(),
        Command::Store(command) => command.run(),
        Command::DpsPca(command) => command.run(),
        Command::Demo(command) => command.run(),
        Command::Completions(command) => command.run(interface()),
        Command::Man(command) => command.run(interface()),
    }))
}

/// The exit code of a command, whose error is reported.
fn ended(result: error::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(CliError::Told(code)) => ExitCode::from(code),
        Err(error) => {
            output::error(&error);
            ExitCode::from(error.exit_code())
        }
    }
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
        assert!(all.len() > 35, "{}", all.len());
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

    #[test]
    fn the_interface_is_consistent() {
        interface().debug_assert();
    }
}
