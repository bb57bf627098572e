//! The documents of `transcripts`: files, commands, and what each command prints. They are read from top to bottom.

use crate::server::harness::Serving;
use crate::support::{Folder, Run};

/// The lines of a result without `--details`, beside the names of the files that were written.
const LINES: usize = 12;

/// Parts of commands whose results have more lines.
const LONGER: [&str; 5] = [
    // The sum of a family says whom it is an estimate of, whatever else is said.
    "-t low.json",
    // What hostile reports do was asked for, beside all else.
    "--hostile",
    // A certificate, and what sparse components assume more than plain ones.
    "--sparse",
    // Every part that is missing is told, with what that means.
    "--time-limit",
    // An interval for every quantile of the lengths.
    "norms lengths.ldpa",
];

/// Whether a command prints few lines, if it prints a result for people, and not all of it.
fn is_short(command: &str, run: &Run) -> bool {
    let is_other = ["--details", "--json", "|", ">"].iter().any(|part| command.contains(part));
    let is_longer = LONGER.iter().any(|part| command.contains(part));
    let lines = run.stdout.lines().filter(|line| !line.starts_with("wrote ")).count();
    !command.starts_with("ldp-pca ") || is_other || is_longer || lines <= LINES
}

/// What a terminal shows: first messages, then the result, then the exit code in brackets unless it is 0.
fn shown(run: &Run) -> String {
    let code = run.code.filter(|code| *code != 0).map_or(String::new(), |code| format!("[{code}]"));
    format!("{}{}{code}", run.stderr, run.stdout).trim_end().to_owned()
}

/// The text is the pattern, in which `…` stands for any text.
fn fits(text: &str, pattern: &str) -> bool {
    let parts: Vec<&str> = pattern.split('…').collect();
    let [first, middle @ .., last] = &parts[..] else { return text == pattern };
    let below = middle.iter().fold(text.strip_prefix(first), |below, part| Some(below?.split_once(part)?.1));
    below.is_some_and(|below| below.ends_with(last))
}

/// Runs commands, and says how many there are.
fn run(folder: &Folder, aggregator: Option<&Serving>, content: &str) -> usize {
    let (url, content) = (aggregator.map_or(String::new(), |running| running.url("")), format!("\n{content}"));
    let entries = content.split("\n$ ").skip(1);
    for entry in entries.clone() {
        let (command, expected) = entry.split_once('\n').unwrap_or((entry, ""));
        let run = folder.shell(&format!("export URL={url}\n{command}"));
        let found = shown(&run);
        assert!(fits(&found, expected), "$ {command}\n{found}\nis not\n{expected}");
        assert!(is_short(command, &run), "$ {command}\n{found}\nhas more than {LINES} lines");
    }
    entries.count()
}

/// Each section has a folder of its own. After a fence comes the name of a file, `console` for commands, or
/// `aggregator` for the options of one that runs until the next: where there are none, none does.
fn check(document: &str) {
    for section in document.split("\n## ").skip(1) {
        let folder = Folder::new();
        let (mut commands, mut aggregator) = (0, None::<Serving>);
        for block in section.split("\n```").skip(1).step_by(2) {
            match block.split_once('\n').unwrap_or((block, "")) {
                ("console", content) => commands += run(&folder, aggregator.as_ref(), content),
                ("aggregator", options) => {
                    aggregator.take().into_iter().for_each(Serving::end);
                    aggregator = (!options.is_empty()).then(|| Serving::start(&folder, options));
                }
                (name, content) => folder.write(name, format!("{content}\n")),
            }
        }
        assert!(commands > 0, "{section}");
    }
}

macro_rules! documents {
    ($($name:ident: $file:literal;)*) => {
        $(#[test]
        fn $name() {
            check(include_str!(concat!("transcripts/", $file)));
        })*
    };
}

documents! {
    samples_have_the_schemas_and_the_warnings_that_the_document_shows: "samples.md";
    records_are_read_or_refused_as_the_document_shows: "records.md";
    plans_simulations_accounts_and_audits_say_what_the_document_shows: "plans.md";
    answers_say_what_the_document_shows: "recover.md";
    files_are_read_and_written_as_the_document_shows: "files.md";
    what_is_sent_to_an_aggregator_and_done_to_its_folder_is_as_the_document_shows: "aggregator.md";
}
