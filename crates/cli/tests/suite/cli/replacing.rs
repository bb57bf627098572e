//! What a command may write over: never what it reads, and a task, a schema or reports only if it is told to.

use std::collections::BTreeSet;
#[cfg(unix)]
use std::process::{Child, ChildStdin, Command, Stdio};
#[cfg(unix)]
use std::time::Duration;

use super::shell::commands;
use crate::support::Folder;

/// Every option that names a file to write: its command, the option, and a command line of it with OUT for the file.
const OUTPUTS: &[(&str, &str, &str)] = &[
    ("schema infer", "--output", "schema infer people.csv -o OUT"),
    ("task new", "--output", "task new --schema schema.json --epsilon 2 -o OUT"),
    ("task refine", "--output", "task refine --sample people.csv -t task.json --rank 1 --records 9 --anyway -o OUT"),
    ("task refine", "--output", "task refine --aggregate a.ldpa -t task.json --rank 1 --anyway -o OUT"),
    ("task norms", "--output", "task norms --schema schema.json --radius 9 --epsilon 2 -o OUT"),
    ("randomize", "--output", "randomize people.csv -t task.json --ids ids.json --insecure-seed 1 -o OUT"),
    ("encode", "--output", "encode people.csv -t task.json -o OUT"),
    ("aggregate", "--output", "aggregate r.ldpr a.ldpa -t task.json -o OUT"),
    ("recover", "--output", "recover a.ldpa -t task.json --rank 1 --reference people.csv -o OUT"),
    ("recover", "--covariance", "recover a.ldpa -t task.json --rank 1 --reference people.csv --covariance OUT"),
    ("scores", "--output", "scores people.csv --components components.json -o OUT"),
    ("recover", "--plot", "recover a.ldpa -t task.json --rank 1 --reference people.csv --plot OUT"),
    ("recover", "--report", "recover a.ldpa -t task.json --rank 1 --reference people.csv --report OUT"),
    ("plan", "--plot", "plan --aggregate a.ldpa -t task.json --rank 1 --records 1000 --plot OUT"),
    ("norms", "--plot", "norms lengths.ldpa -t norms.json --plot OUT"),
    ("solve", "--output", "solve s.npy --rank 1 --penalty 0.1 -o OUT"),
    ("store export", "--output", "store export collected -o OUT"),
];

/// The commands whose results cannot be had again.
const ONCE: [&str; 6] = ["schema infer", "task new", "task refine", "task norms", "randomize", "store export"];

/// All files that these commands read.
const INPUTS: &str = "people.csv schema.json task.json ids.json r.ldpr a.ldpa components.json norms.json lengths.ldpa \
                      s.npy collected/reports.sqlite";

fn inputs() -> impl Iterator<Item = &'static str> {
    INPUTS.split(' ')
}

/// A command line for each of these options, with OUT for the file, and the name of a file that it takes. The tests of
/// the aggregator have that of its folder.
pub(super) fn writing_commands() -> impl Iterator<Item = (&'static str, &'static str)> {
    OUTPUTS.iter().filter(|(command, ..)| *command != "store export").map(|(command, option, line)| {
        let out = match *option {
            "--plot" => "out.svg",
            "--report" => "out.html",
            _ if ["encode", "recover", "scores"].contains(command) => "out.csv",
            _ => "out",
        };
        (*line, out)
    })
}

/// Whether such a command line said no more on standard error than notes, and that its seed is public.
pub(super) fn is_quiet(line: &str, said: &str) -> bool {
    let has_seed = line.contains("--insecure-seed");
    said.lines().all(|said| said.starts_with("note:") || has_seed && said.starts_with("warning:"))
}

/// A folder with all of them, and others of each kind.
pub(super) fn folder() -> Folder {
    let folder = Folder::with_files();
    // Other reports than those of the sums, so that both can be summed.
    folder.run("randomize people.csv -t task.json -o r.ldpr").ok();
    folder.run("task norms --schema schema.json --radius 9 --epsilon 2 -o norms.json").ok();
    folder.collect("people.csv", "norms", "lengths");
    for reports in ["a.ldpr", "lengths.ldpr"] {
        std::fs::remove_file(folder.path(reports)).unwrap();
    }
    std::fs::create_dir(folder.path("collected")).unwrap();
    folder.write("collected/reports.sqlite", "what was collected");
    folder
}

fn line(line: &str, out: &str) -> String {
    line.replace("OUT", out)
}

#[test]
fn the_table_has_every_option_that_names_a_file_to_write() {
    let folder = Folder::new();
    let (mut found, mut forced) = (BTreeSet::new(), BTreeSet::new());
    let commands = commands(&folder, "").into_iter().filter(|(_, help)| !help.contains("Commands:\n"));
    for (command, help) in commands {
        let words: Vec<&str> = help.split_whitespace().collect();
        for place in 2..words.len() - 1 {
            if words[place] == "Where" && ["to", "the"].contains(&words[place + 1]) {
                found.insert((command.clone(), words[place - 2].to_owned()));
            }
        }
        if words.contains(&"--force") {
            forced.insert(command);
        }
    }
    let listed = OUTPUTS.iter().map(|(command, option, _)| ((*command).to_owned(), (*option).to_owned()));
    assert_eq!(found, listed.collect());
    assert_eq!(forced, OUTPUTS.iter().map(|(command, ..)| (*command).to_owned()).collect());
}

#[test]
fn no_command_writes_over_what_it_reads() {
    let folder = folder();
    let before: Vec<Vec<u8>> = inputs().map(|name| folder.read(name)).collect();
    let names = folder.names();
    let mut refused = BTreeSet::new();
    for (_, _, text) in OUTPUTS {
        let words: Vec<&str> = text.split(' ').collect();
        let is_read = |name: &&str| words.contains(name) || words.contains(&name.split('/').next().unwrap());
        for name in inputs().filter(is_read) {
            // As it is called, through another way, and however it is asked for.
            for out in [name, &format!("./{name}"), &format!("collected/../{name}")] {
                for force in ["", " --force"] {
                    let run = folder.run(&format!("{}{force}", line(text, out)));
                    assert!(!run.stderr.contains("usage:"), "{run:?}");
                    run.refused(2, &[out, "is also read by this command: write to another file"]);
                }
            }
            refused.insert(*text);
        }
    }
    assert_eq!(refused.len(), OUTPUTS.len(), "every command reads a file: {refused:?}");
    assert_eq!(folder.names(), names);
    assert!(inputs().zip(before).all(|(name, before)| folder.read(name) == before));
}

#[test]
fn no_command_replaces_a_task_a_schema_or_reports_unasked() {
    let folder = folder();
    let kept = [("task.json", "a task"), ("schema.json", "a schema"), ("r.ldpr", "reports")];
    for (name, _) in kept {
        std::fs::copy(folder.path(name), folder.path(&format!("other-{name}"))).unwrap();
    }
    // A document of another version is one, too.
    folder.write("other-task.json", folder.read_text("task.json").replacen("\"version\":1", "\"version\":2", 1));
    folder.write("parquet", "PAR1 and more");
    folder.write("anything", "a letter");
    std::fs::copy(folder.path("a.ldpa"), folder.path("other.ldpa")).unwrap();
    let remedy = "write to another file, or replace it with --force";
    for (command, _, text) in OUTPUTS {
        for (name, kind) in kept {
            let name = format!("other-{name}");
            let before = folder.read(&name);
            folder.refused(&line(text, &name), 1, &[&name, &format!("holds {kind}"), remedy]);
            assert_eq!(folder.read(&name), before, "{command}");
        }
        folder.refused(&line(text, "parquet"), 1, &["parquet", "holds reports", remedy]);
        if *command != "aggregate" {
            folder.refused(&line(text, "other.ldpa"), 1, &["other.ldpa", "holds an aggregate", remedy]);
        }
        if ONCE.contains(command) {
            folder.refused(&line(text, "anything"), 1, &["anything", "the file is there", remedy]);
        }
        std::fs::create_dir_all(folder.path("folder")).unwrap();
        folder.refused(&format!("{} --force", line(text, "folder")), 1, &["folder", "it is a directory"]);
        let nowhere = "nowhere/out: cannot write it: No such file or directory: make the folder first";
        folder.refused(&line(text, "nowhere/out"), 1, &[nowhere]);
    }
    assert_eq!(folder.read_text("anything"), "a letter");
}

#[test]
fn force_replaces_and_results_that_can_be_had_again_are_replaced_without() {
    let folder = folder();
    for (text, out) in writing_commands() {
        folder.write(out, folder.read("r.ldpr"));
        let line = line(text, out);
        folder.refused(&line, 1, &["holds reports"]);
        folder.run(&format!("{line} --force")).ok();
        assert_ne!(folder.read(out), folder.read("r.ldpr"), "{line}");
        if ONCE.iter().any(|command| text.starts_with(command)) {
            folder.refused(&line, 1, &[out, "--force"]);
        } else {
            folder.run(&line).ok();
        }
        // As mktemp makes one.
        folder.write(out, "");
        folder.run(&line).ok();
        assert!(!folder.read(out).is_empty(), "{line}");
        std::fs::remove_file(folder.path(out)).unwrap();
    }
}

/// A command that writes `out` and waits for more records, once its temporary file is there, and what gives them.
#[cfg(unix)]
fn waiting(folder: &Folder, out: &str, trap: &str) -> (Child, ChildStdin) {
    use std::io::Write as _;
    let files = folder.names().len();
    let ldp_pca = env!("CARGO_BIN_EXE_ldp-pca");
    let script = format!("{trap}exec {ldp_pca} randomize - -t task.json -o {out} --force");
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut records = child.stdin.take().unwrap();
    records.write_all(&folder.read("people.csv")).unwrap();
    while folder.names().len() == files {
        assert!(child.try_wait().unwrap().is_none(), "it ended without a file");
        std::thread::sleep(Duration::from_millis(5));
    }
    (child, records)
}

/// Ctrl-C and `kill` while a file is written: the command ends by the signal, its file is gone, the old one is whole.
#[cfg(unix)]
#[test]
fn a_signal_leaves_the_old_file_and_no_temporary_one() {
    use std::os::unix::process::ExitStatusExt as _;
    let folder = folder();
    let (names, before) = (folder.names(), folder.read("r.ldpr"));
    let kill = |signal: &str, child: &Child| {
        let sent = Command::new("kill").args([signal.to_owned(), child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    };
    let hangup = cfg!(target_os = "linux").then_some(("-HUP", 1));
    for (signal, number) in [("-INT", 2), ("-TERM", 15)].into_iter().chain(hangup) {
        let (mut child, records) = waiting(&folder, "r.ldpr", "");
        kill(signal, &child);
        let status = child.wait().unwrap();
        drop(records);
        assert_eq!(status.signal(), Some(number));
        assert_eq!(folder.names(), names, "{signal}");
        assert_eq!(folder.read("r.ldpr"), before, "{signal}");
    }
    if cfg!(target_os = "linux") {
        // As shells start what runs in the background, and nohup what stays: the end of its input ends it.
        let (mut child, records) = waiting(&folder, "r.ldpr", "trap '' INT HUP; ");
        kill("-INT", &child);
        kill("-HUP", &child);
        drop(records);
        assert!(child.wait().unwrap().success());
        assert_eq!(folder.names(), names);
        assert_ne!(folder.read("r.ldpr"), before);
    }
}

/// Nobody asked to replace what was not there when the command began.
#[cfg(unix)]
#[test]
fn a_file_that_comes_in_the_meantime_stays() {
    let folder = folder();
    let (child, records) = waiting(&folder, "new.ldpr", "");
    folder.write("new.ldpr", "from elsewhere");
    drop(records);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("new.ldpr: cannot write it: another came"), "{said}");
    assert_eq!(folder.read_text("new.ldpr"), "from elsewhere");
    assert!(!folder.names().iter().any(|name| name.ends_with(".partial")));
}
