//! What `-h` and `--help` show of every command.

use super::shell::commands;
use crate::support::Folder;

/// The lines of a terminal, beside the last one, which leads to `--help`.
const LINES: usize = 24;
const COLUMNS: usize = 100;

/// What a command prints on a terminal of this width.
fn printed(folder: &Folder, path: &str, option: &str) -> String {
    let mut command = folder.command(path.split_whitespace().chain([option]));
    let output = command.env("COLUMNS", COLUMNS.to_string()).output().unwrap();
    assert!(output.status.success(), "{path} {option}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_short_help_of_every_command_fits_a_screen() {
    let folder = Folder::new();
    let all = commands(&folder, "");
    assert!(all.len() > 30, "{all:?}");
    for (path, _) in all {
        let help = printed(&folder, &path, "-h");
        let lines: Vec<&str> = help.trim_end().lines().collect();
        let (last, others) = lines.split_last().unwrap();
        assert!(last.contains("--help"), "{path} does not end with --help:\n{help}");
        assert!(others.len() <= LINES, "{path} has {} lines:\n{help}", lines.len());
        let longest = lines.iter().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= COLUMNS, "{path} has {longest} columns:\n{help}");
        let (_, options) = help.split_once("\nOptions:\n").unwrap();
        for line in options.split("\n\n").next().unwrap().lines() {
            // Of a list with wide names, the descriptions stand below them.
            let is_entry = line.trim_start().starts_with('-') || line.starts_with("          ");
            assert!(is_entry, "{path}: {line}");
        }
    }
}

#[test]
fn the_long_help_has_what_the_short_one_leaves_out() {
    let folder = Folder::new();
    for (path, heading, option) in [
        ("recover", "Solver", "--tolerance"),
        ("recover", "Second wave", "--refined-task"),
        ("recover", "Reading records (CSV, NPY, Parquet or Arrow, gzip or not)", "--strict"),
        ("plan", "Population", "--bulk"),
        ("simulate", "Mechanism", "--candidates"),
        ("randomize", "Tests", "--insecure-seed"),
        ("serve", "Log", "--log-level"),
    ] {
        let (short, long) = (printed(&folder, path, "-h"), printed(&folder, path, "--help"));
        assert!(!short.contains(option) && !short.contains(heading), "{path}: {short}");
        let (_, below) = long.split_once(&format!("\n{heading}:\n")).unwrap_or_else(|| panic!("{path}: {long}"));
        assert!(below.contains(option), "{path}: {below}");
    }
    // Of all commands the short help describes those that most people need, and names the others.
    let short = printed(&folder, "", "-h");
    for (path, _) in commands(&folder, "").iter().filter(|(path, _)| !path.contains(' ')) {
        assert!(short.contains(path.as_str()), "{path} is not in: {short}");
    }
    assert!(short.contains("\n  recover ") && !short.contains("\n  solve "), "{short}");
    let nothing = folder.command([""; 0]).env("COLUMNS", COLUMNS.to_string()).output().unwrap();
    assert_eq!((nothing.status.code(), nothing.stdout.len()), (Some(2), 0));
    assert_eq!(String::from_utf8(nothing.stderr).unwrap().trim_end(), short.trim_end());
}
