//! A copy of the checkout that is rewritten and built.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::Error;
use crate::list::Mutant;
use crate::switch::{self, Placed};

/// Copies all files that git knows or would add, and rewrites none that is the same.
pub fn copy(root: &Path, tree: &Path) -> Result<(), Error> {
    let output = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()?;
    let mut kept = HashSet::new();
    for name in String::from_utf8(output.stdout)?.split('\0').filter(|name| !name.is_empty()) {
        let from = root.join(name);
        if from.is_file() {
            write(&tree.join(name), &fs::read(from)?)?;
            kept.insert(name.to_owned());
        }
    }
    // A module that is gone from the checkout must not stay.
    crate::GROUPS.iter().try_for_each(|group| remove_others(&tree.join(group.sources), tree, &kept))
}

fn remove_others(folder: &Path, tree: &Path, kept: &HashSet<String>) -> Result<(), Error> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, tree, kept)?;
        } else if !kept.contains(&path.strip_prefix(tree)?.to_string_lossy().into_owned()) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if fs::read(path).is_ok_and(|found| found == bytes) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, bytes)?)
}

/// Adds the switch to a crate and takes away the lints, which speak of what people write.
pub fn add_switch(sources: &Path, count: u32) -> Result<(), Error> {
    write(&sources.join("mutant_switch.rs"), switch::module(count).as_bytes())?;
    let library = sources.join("lib.rs");
    let text = fs::read_to_string(&library)?;
    if !text.contains("mod mutant_switch;") {
        let allow = "#![allow(warnings, arithmetic_overflow, unconditional_panic, unsafe_code, clippy::all)]\n";
        // After the inner documentation and attributes.
        let place = text
            .lines()
            .take_while(|line| line.starts_with("//!") || line.starts_with("#![") || line.trim().is_empty())
            .map(|line| line.len() + 1)
            .sum::<usize>();
        let (head, rest) = text.split_at(place);
        fs::write(&library, format!("{head}{allow}pub mod mutant_switch;\n{rest}"))?;
    }
    Ok(())
}

#[derive(Deserialize)]
struct Line {
    reason: String,
    message: Option<Message>,
    executable: Option<PathBuf>,
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Message {
    level: String,
    code: Option<Code>,
    rendered: Option<String>,
    spans: Vec<At>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct At {
    file_name: String,
    byte_start: usize,
    is_primary: bool,
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: At,
}

/// Errors of the compiler, or the executables that were built by target.
pub enum Built {
    Errors(Vec<Complaint>),
    Executables(HashMap<String, PathBuf>),
}

pub struct Complaint {
    pub code: String,
    /// Files and places, that of the mistake itself first.
    places: Vec<(String, usize)>,
    pub text: String,
}

/// Runs cargo `command` ("check" or "test") in the tree.
pub fn cargo(tree: &Path, target: &Path, command: &str, arguments: &[&str]) -> Result<Built, Error> {
    let output = Command::new("cargo")
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", target)
        .arg(command)
        .args(arguments)
        .arg("--message-format=json")
        .stderr(Stdio::piped())
        .output()?;
    let mut complaints = Vec::new();
    let mut executables = HashMap::new();
    for line in output.stdout.split(|&byte| byte == b'\n').filter(|line| line.starts_with(b"{")) {
        let Ok(line) = serde_json::from_slice::<Line>(line) else { continue };
        if let (Some(executable), Some(target)) = (line.executable, line.target) {
            executables.insert(target.name, executable);
        }
        if line.reason != "compiler-message" {
            continue;
        }
        if let Some(message) = line.message.filter(|message| message.level.starts_with("error")) {
            let mut places: Vec<(bool, String, usize)> = Vec::new();
            for span in &message.spans {
                places.push((!span.is_primary, span.file_name.clone(), span.byte_start));
                let mut outer = &span.expansion;
                while let Some(expansion) = outer {
                    places.push((true, expansion.span.file_name.clone(), expansion.span.byte_start));
                    outer = &expansion.span.expansion;
                }
            }
            places.sort_by_key(|(second, ..)| *second);
            if places.is_empty() {
                continue;
            }
            complaints.push(Complaint {
                code: message.code.map(|code| code.code).unwrap_or_default(),
                places: places.into_iter().map(|(_, file, at)| (file, at)).collect(),
                text: message.rendered.unwrap_or_default(),
            });
        }
    }
    if !complaints.is_empty() {
        return Ok(Built::Errors(complaints));
    }
    if !output.status.success() {
        return Err(format!("cargo {command}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(Built::Executables(executables))
}

/// Why a mutant has no part in the one build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// It does not compile anywhere: nothing to test.
    Unviable,
    /// It stands where nothing can be asked at run time (a constant, a type that only the original gives): it takes a
    /// build of its own.
    OwnBuild,
}

/// Rewrites the files of all mutants and takes out those that the compiler refuses, until it refuses none.
pub fn switch_all(
    root: &Path,
    tree: &Path,
    target: &Path,
    arguments: &[&str],
    mutants: &[Mutant],
) -> Result<HashMap<u32, Apart>, Error> {
    let mut by_file: HashMap<&str, Vec<(u32, &Mutant)>> = HashMap::new();
    for (number, mutant) in (1..).zip(mutants) {
        by_file.entry(&mutant.file).or_default().push((number, mutant));
    }
    let mut apart: HashMap<u32, Apart> = HashMap::new();
    loop {
        let dropped: HashSet<u32> = apart.keys().copied().collect();
        let mut placed: HashMap<&str, Vec<Placed>> = HashMap::new();
        for (&file, mutants) in &by_file {
            let mut left = Vec::new();
            let switched = switch::switch(&fs::read_to_string(root.join(file))?, mutants, &dropped, &mut left)
                .map_err(|error| format!("{file}: {error}"))?;
            apart.extend(left.into_iter().map(|number| (number, Apart::OwnBuild)));
            write(&tree.join(file), switched.text.as_bytes())?;
            placed.insert(file, switched.placed);
        }
        let Built::Errors(complaints) = cargo(tree, target, "check", arguments)? else { return Ok(apart) };
        let before = apart.len();
        for complaint in &complaints {
            let found = complaint.places.iter().find_map(|(file, at)| {
                let around = placed.get(file.as_str())?.iter().filter(|placed| placed.range.contains(at));
                around.min_by_key(|placed| placed.range.len())
            });
            let Some(found) = found else { continue };
            let never = ["E0308", "E0277", "E0369", "E0600", "E0599", "E0433", "E0425", "E0412", "E0423", "E0061"];
            let why =
                if found.alone && never.contains(&complaint.code.as_str()) { Apart::Unviable } else { Apart::OwnBuild };
            apart.extend(found.numbers.iter().map(|&number| (number, why)));
        }
        eprintln!("  {} mistakes, {} mutants taken out", complaints.len(), apart.len() - before);
        if apart.len() == before {
            return Err(format!("not a mutant's fault: {}", complaints[0].text).into());
        }
    }
}
