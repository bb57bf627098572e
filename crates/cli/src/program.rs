//! What all programs with such a command line do: they parse their arguments, refuse to destroy files, run a command,
//! and report its error.
//!
//! There are two kinds of help: `-h` fits a screen, and `--help` has all options and two examples.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory, FromArgMatches};

use super::error::{CliError, Result};
use super::{output, usage, writing};

/// Commands by their path, as `task new`, each with the arguments of two uses of it.
pub type Examples = [(&'static str, [&'static str; 2])];

/// All commands of `A` with their options and their help: with the examples, and `--force` where files are written.
/// Options under a heading are those that few need: `-h` leaves them out.
pub fn interface<A: CommandFactory>(examples: &Examples) -> Command {
    let command = writing::with_force(A::command());
    let program = command.get_name().to_owned();
    with_examples(&program, "", command, examples)
}

/// Parses the arguments of the process, gives them to `work`, and reports its error. `first` are the commands that `-h`
/// of the whole program describes; all of them where there are none.
pub fn run<A: CommandFactory + FromArgMatches>(
    examples: &Examples,
    first: &[&str],
    work: impl FnOnce(A) -> Result<()>,
) -> ExitCode {
    let given: Vec<OsString> = std::env::args_os().skip(1).collect();
    let matches = shown_to(&given, first, interface::<A>(examples)).try_get_matches();
    let parsed = matches.and_then(|matches| Ok((A::from_arg_matches(&matches)?, matches)));
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
    match writing::check(&matches).and_then(|()| work(arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(CliError::Told(code)) => ExitCode::from(code),
        Err(error) => {
            output::error(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

/// The interface for these arguments. Where they ask for the short help, it fits a screen: it has no lists of values,
/// and that of the whole program does not describe every command.
fn shown_to(arguments: &[OsString], first: &[&str], command: Command) -> Command {
    let of_all = match arguments {
        [] => true,
        [one] => one == "-h",
        _ => false,
    };
    let command = if of_all && !first.is_empty() { first_commands(first, command) } else { command };
    let is_short = of_all || arguments.iter().any(|argument| argument == "-h");
    command.hide_possible_values(is_short)
}

/// Shows the commands that most people need, and names the others.
fn first_commands(first: &[&str], command: Command) -> Command {
    let is_first = |name: &str| first.contains(&name);
    let others = command.get_subcommands().map(Command::get_name).filter(|name| !is_first(name));
    let others = format!("Also {}: see --help.", others.collect::<Vec<_>>().join(", "));
    let command = command.disable_help_subcommand(true).after_help(others);
    command.mut_subcommands(|command| {
        let is_shown = is_first(command.get_name());
        command.hide(!is_shown)
    })
}

/// Adds the examples to the long help of the command at this path, and of those below it.
fn with_examples(program: &str, path: &str, command: Command, all: &Examples) -> Command {
    let command = command.mut_subcommands(|command| {
        let path = format!("{path} {}", command.get_name());
        with_examples(program, path.trim_start(), command, all)
    });
    let command = command.mut_args(|argument| {
        let is_rare = argument.get_help_heading().is_some();
        // The option's own message says what is wrong with -1.
        let has_value = argument.get_long().is_some() && argument.get_action().takes_values();
        argument.hide_short_help(is_rare).allow_negative_numbers(has_value)
    });
    let Some((_, examples)) = all.iter().find(|(known, _)| *known == path) else { return command };
    let mut help = command.get_after_long_help().map(|notes| format!("{notes}\n\n")).unwrap_or_default();
    help += "Examples:";
    for arguments in examples {
        let words = [program, path, arguments].into_iter().filter(|part| !part.is_empty());
        help += &format!("\n  {}", words.collect::<Vec<_>>().join(" "));
    }
    command.after_long_help(help)
}
