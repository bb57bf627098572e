//! Finds the faults in the crate that its tests do not notice: a tool with its lists, which no crate depends on.
//!
//! cargo-mutants lists mutants and, by itself, builds each of them. Here they are all built once, behind a switch: a
//! test runs with a mutant when the environment variable MUTANT has its number. Before that every test runs alone, to
//! see which mutants it reaches; a mutant meets the tests that reach it, the quickest first, until one fails.

mod faults;
mod list;
mod run;
mod switch;
mod tree;

use std::collections::{BTreeMap, HashMap};
use std::error::Error as StdError;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::list::Mutant;
use crate::run::{Runner, Test};
use crate::tree::{Apart, Built};

pub type Error = Box<dyn StdError + Send + Sync>;

const USAGE: &str =
    "usage: mutants [--file PATH]... [--in-diff FILE] [--part K/N] [--survivors] [--own-builds] [--json]
       mutants --faults [NAME]... [--json]

  --file PATH      mutants in files whose path begins so alone (those of .cargo/mutants.toml without)
  --in-diff FILE   mutants in what a diff changes alone, as of `git diff main`
  --part K/N       the K-th of every N alone, to see how a module stands without waiting for all
  --survivors      those alone that the last run did not see caught
  --own-builds     those too that take a build of their own: in constants, mostly (half a minute each)
  --jobs N         tests at once (as many as there are cores without)
  --json           results for programs
  --faults         the faults that are listed in tests/faults.toml, in place of mutants

Exit codes: 0 all are caught or listed in mutants/equivalent.toml, 1 some are not, 2 wrong usage.";

/// How the tests that judge a file are built. The first whose prefix fits.
const GROUPS: [Group; 2] = [
    Group { sources: "crates/server/src/", arguments: &["--package", "ldp-pca-server", "--lib"], tests: &["config", "store", "tokens"] },
    Group { sources: "src/", arguments: &["--package", "ldp-pca", "--lib"], tests: &[] },
];

pub struct Group {
    /// Of its crate: what its files begin with.
    pub sources: &'static str,
    /// Of `cargo test`.
    arguments: &'static [&'static str],
    /// Prefixes of the tests that are run; all without any.
    tests: &'static [&'static str],
}

impl Group {
    fn of(file: &str) -> usize {
        GROUPS.iter().position(|group| file.starts_with(group.sources)).unwrap_or(GROUPS.len() - 1)
    }

    fn build(&self, places: &Places) -> Result<Built, Error> {
        let arguments = [self.arguments, &["--no-run"]].concat();
        tree::cargo(&places.tree, &places.target, "test", &arguments)
    }

    /// Builds the tests and sees what they reach.
    fn known_tests(&self, places: &Places, runner: &Runner<'_>) -> Result<Vec<Test>, Error> {
        let executables = match self.build(places)? {
            Built::Executables(executables) => executables,
            Built::Errors(complaints) => {
                let texts: Vec<&str> = complaints.iter().map(|complaint| complaint.text.as_str()).collect();
                return Err(texts.join("\n").into());
            }
        };
        let prefixes: Vec<String> = self.tests.iter().map(ToString::to_string).collect();
        let mut tests = Vec::new();
        for executable in executables.values() {
            tests.extend(runner.baseline(executable, &prefixes, LONGEST_TEST)?);
        }
        Ok(tests)
    }
}

/// A test that takes longer with no mutant on, in the build with switches, is left out.
const LONGEST_TEST: Duration = Duration::from_secs(10);

#[derive(Default)]
pub struct Options {
    files: Vec<String>,
    diff: Option<PathBuf>,
    part: Option<(usize, usize)>,
    survivors: bool,
    own_builds: bool,
    faults: bool,
    names: Vec<String>,
    json: bool,
    jobs: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome", content = "by")]
pub enum Outcome {
    /// By the test of this name.
    Caught(String),
    /// It does not compile.
    Unviable,
    /// It takes a build of its own and has had none.
    OwnBuild,
    /// All tests pass, and it is listed with this reason.
    Equivalent(String),
    Survived,
    /// No test reaches it.
    Unreached,
}

#[derive(Clone, Deserialize)]
struct Equivalents {
    #[serde(default)]
    mutant: Vec<Equivalent>,
}

impl Equivalents {
    fn reason(&self, mutant: &Mutant) -> Option<String> {
        self.mutant.iter().find(|equivalent| equivalent.is(mutant)).map(|equivalent| equivalent.reason.clone())
    }
}

/// A mutant that no test could notice, and why.
#[derive(Clone, Deserialize)]
struct Equivalent {
    file: String,
    /// The line it begins in, without indentation; `*` for all of the function.
    line: String,
    /// As cargo-mutants calls it, without the place.
    change: String,
    reason: String,
}

impl Equivalent {
    fn is(&self, mutant: &Mutant) -> bool {
        self.file == mutant.file
            && (self.line == "*" || self.line == mutant.line)
            && (self.change == mutant.change()
                || self.change.strip_suffix('*').is_some_and(|start| mutant.change().starts_with(start)))
    }
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder in the checkout").to_owned();
    let found = if options.faults { faults::judge(&root, &options) } else { judge(&root, &options) };
    match found {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("mutants: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut options = Options { jobs: cores, ..Options::default() };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--file" => options.files.push(value()?),
            "--in-diff" => options.diff = Some(value()?.into()),
            "--jobs" => options.jobs = value()?.parse().map_err(|_| "--jobs needs a number".to_owned())?,
            "--part" => options.part = Some(part(&value()?).ok_or("--part needs K/N with K from 1 to N")?),
            "--survivors" => options.survivors = true,
            "--own-builds" => options.own_builds = true,
            "--faults" => options.faults = true,
            "--json" => options.json = true,
            name if options.faults && !name.starts_with('-') => options.names.push(name.to_owned()),
            _ => return Err(format!("unknown argument '{argument}'")),
        }
    }
    Ok(options)
}

fn part(text: &str) -> Option<(usize, usize)> {
    let (part, parts) = text.split_once('/')?;
    let (part, parts) = (part.parse().ok()?, parts.parse().ok()?);
    (1..=parts).contains(&part).then_some((part, parts))
}

/// The tool's folders and files, all below cargo's target directory.
pub struct Places {
    pub tree: PathBuf,
    pub target: PathBuf,
    pub scratch: PathBuf,
    pub outcomes: PathBuf,
}

impl Places {
    pub fn of(root: &Path) -> Result<Self, Error> {
        let folder = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from).join("mutants");
        let scratch = folder.join("scratch");
        fs::create_dir_all(&scratch)?;
        // Builds here have the same names as builds of the checkout, and must not replace them.
        let target = folder.join("build");
        Ok(Self { tree: folder.join("tree"), target, scratch, outcomes: folder.join("outcomes.json") })
    }
}

fn judge(root: &Path, options: &Options) -> Result<bool, Error> {
    let places = Places::of(root)?;
    let mut mutants = list::list(root, &options.files, options.diff.as_deref(), options.part)?;
    let mut outcomes: BTreeMap<String, Outcome> =
        fs::read(&places.outcomes).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    if options.survivors {
        mutants.retain(|mutant| {
            !matches!(
                outcomes.get(&mutant.key()),
                Some(Outcome::Caught(_) | Outcome::Unviable | Outcome::Equivalent(_))
            )
        });
    }
    let equivalents: Equivalents = toml::from_str(&fs::read_to_string(root.join("mutants/equivalent.toml"))?)?;
    for (index, group) in GROUPS.iter().enumerate() {
        let of_group: Vec<Mutant> = mutants.iter().filter(|mutant| Group::of(&mutant.file) == index).cloned().collect();
        if !of_group.is_empty() {
            judge_group(root, &places, options, group, &of_group, &equivalents, &mut outcomes)?;
            fs::write(&places.outcomes, serde_json::to_vec_pretty(&outcomes)?)?;
        }
    }
    let judged: Vec<(&Mutant, &Outcome)> =
        mutants.iter().filter_map(|mutant| Some((mutant, outcomes.get(&mutant.key())?))).collect();
    print(&judged, options.json)?;
    Ok(judged.iter().all(|(_, outcome)| !matches!(outcome, Outcome::Survived | Outcome::Unreached)))
}

fn judge_group(
    root: &Path,
    places: &Places,
    options: &Options,
    group: &Group,
    mutants: &[Mutant],
    equivalents: &Equivalents,
    outcomes: &mut BTreeMap<String, Outcome>,
) -> Result<(), Error> {
    let start = Instant::now();
    tree::copy(root, &places.tree)?;
    tree::add_switch(&places.tree.join(group.sources), mutants.len() as u32)?;
    eprintln!("building {} mutants", mutants.len());
    let apart = tree::switch_all(root, &places.tree, &places.target, group.arguments, mutants)?;
    let runner = Runner { folder: &places.tree, scratch: &places.scratch, jobs: options.jobs };
    let tests = group.known_tests(places, &runner)?;
    eprintln!("  {} tests known after {:.0} s", tests.len(), start.elapsed().as_secs_f64());

    let judged = Mutex::new(HashMap::new());
    runner.for_each(mutants.len(), "mutants", |index| {
        let (number, mutant) = (index as u32 + 1, &mutants[index]);
        let outcome = match apart.get(&number) {
            Some(Apart::Unviable) => Outcome::Unviable,
            Some(Apart::OwnBuild) => Outcome::OwnBuild,
            None => match runner.caught_by(number, &tests, &list::test_prefix(&mutant.file)) {
                Some(test) => Outcome::Caught(test),
                None => match equivalents.reason(mutant) {
                    Some(reason) => Outcome::Equivalent(reason),
                    None if tests.iter().any(|test| test.reached.contains(&number)) => Outcome::Survived,
                    None => Outcome::Unreached,
                },
            },
        };
        judged.lock().expect("nothing panics here").insert(index, outcome);
    });
    let judged = judged.into_inner().expect("nothing panics here");
    outcomes.extend(judged.into_iter().map(|(index, outcome)| (mutants[index].key(), outcome)));
    eprintln!("  all known after {:.0} s", start.elapsed().as_secs_f64());

    if options.own_builds {
        let own: Vec<&Mutant> =
            mutants.iter().filter(|mutant| outcomes.get(&mutant.key()) == Some(&Outcome::OwnBuild)).collect();
        own_builds(root, places, group, &own, equivalents, &runner, outcomes)?;
    }
    Ok(())
}

/// Builds each mutant by itself and runs the tests of its module, then all that take less than a second.
fn own_builds(
    root: &Path,
    places: &Places,
    group: &Group,
    mutants: &[&Mutant],
    equivalents: &Equivalents,
    runner: &Runner<'_>,
    outcomes: &mut BTreeMap<String, Outcome>,
) -> Result<(), Error> {
    if mutants.is_empty() {
        return Ok(());
    }
    eprintln!("building {} mutants one by one", mutants.len());
    tree::copy(root, &places.tree)?;
    tree::add_switch(&places.tree.join(group.sources), 0)?;
    let tests = group.known_tests(places, runner)?;
    for mutant in mutants {
        let path = places.tree.join(&mutant.file);
        let text = fs::read_to_string(root.join(&mutant.file))?;
        tree::write(&path, apply(&text, mutant).as_bytes())?;
        let outcome = match group.build(places)? {
            Built::Errors(_) => Outcome::Unviable,
            Built::Executables(_) => match runner.caught_by_any(&tests, &list::test_prefix(&mutant.file)) {
                Some(test) => Outcome::Caught(test),
                None => equivalents.reason(mutant).map_or(Outcome::Survived, Outcome::Equivalent),
            },
        };
        eprintln!("  {}: {outcome:?}", mutant.name);
        outcomes.insert(mutant.key(), outcome);
        tree::write(&path, text.as_bytes())?;
    }
    Ok(())
}

/// The text with the mutant in it.
fn apply(text: &str, mutant: &Mutant) -> String {
    let offset = |place: list::Place| list::offset(text, place.line, place.column - 1);
    let (start, end) = (offset(mutant.span.start), offset(mutant.span.end));
    format!("{}{}{}", &text[..start], mutant.replacement, &text[end..])
}

#[derive(Default, Serialize)]
struct Row {
    mutants: usize,
    unviable: usize,
    own_build: usize,
    caught: usize,
    equivalent: usize,
    survived: usize,
}

fn print(judged: &[(&Mutant, &Outcome)], json: bool) -> Result<(), Error> {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for (mutant, outcome) in judged {
        let row = rows.entry(mutant.module()).or_default();
        row.mutants += 1;
        *match outcome {
            Outcome::Caught(_) => &mut row.caught,
            Outcome::Unviable => &mut row.unviable,
            Outcome::OwnBuild => &mut row.own_build,
            Outcome::Equivalent(_) => &mut row.equivalent,
            Outcome::Survived | Outcome::Unreached => &mut row.survived,
        } += 1;
    }
    let survivors: Vec<_> = judged
        .iter()
        .filter(|(_, outcome)| matches!(outcome, Outcome::Survived | Outcome::Unreached))
        .map(|(mutant, outcome)| (mutant, **outcome == Outcome::Unreached))
        .collect();
    if json {
        let survivors: Vec<_> = survivors
            .iter()
            .map(|(mutant, unreached)| serde_json::json!({"name": mutant.name, "line": mutant.line, "reached": !unreached}))
            .collect();
        println!("{}", serde_json::to_string_pretty(&serde_json::json!({"modules": rows, "survivors": survivors}))?);
        return Ok(());
    }
    println!(
        "{:24} {:>7} {:>8} {:>9} {:>6} {:>10} {:>8} {:>6}",
        "module", "mutants", "unviable", "own build", "caught", "equivalent", "survived", "caught"
    );
    for (module, row) in &rows {
        let share = 100.0 * row.caught as f64 / (row.caught + row.survived).max(1) as f64;
        println!(
            "{module:24} {:>7} {:>8} {:>9} {:>6} {:>10} {:>8} {share:>5.1}%",
            row.mutants, row.unviable, row.own_build, row.caught, row.equivalent, row.survived
        );
    }
    for (mutant, unreached) in survivors {
        println!("{}{}\n    {}", mutant.name, if unreached { " (no test reaches it)" } else { "" }, mutant.line);
    }
    Ok(())
}
