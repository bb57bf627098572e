//! The mutants that cargo-mutants would make, as it lists them.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use crate::Error;

#[derive(Clone, Debug, Deserialize)]
pub struct Mutant {
    pub file: String,
    pub genre: String,
    /// `file:line:column: change`
    pub name: String,
    pub replacement: String,
    pub span: Span,
    /// Its index, from 0, among those with the same change in the same line.
    #[serde(skip)]
    pub place_in_line: usize,
    /// The line it begins in, without indentation.
    #[serde(skip)]
    pub line: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Span {
    pub start: Place,
    pub end: Place,
}

/// Lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

impl Mutant {
    /// The name without its place, which every change of the file moves.
    pub fn change(&self) -> &str {
        self.name.splitn(4, ':').nth(3).map_or(self.name.as_str(), str::trim)
    }

    /// Its name, which stays the same as long as its line does.
    pub fn key(&self) -> String {
        format!("{} | {} | {} | {}", self.file, self.line, self.change(), self.place_in_line)
    }

    /// The part of the crate that it is counted with.
    pub fn module(&self) -> String {
        let path = self.file.trim_end_matches(".rs");
        match path.split_once("src/") {
            Some((krate, path)) => format!("{krate}{}", path.split('/').next().unwrap_or_default()),
            None => path.to_owned(),
        }
    }
}

/// The prefix of the names of a file's tests.
pub fn test_prefix(file: &str) -> String {
    let path = file.split_once("src/").map_or(file, |(_, path)| path);
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    format!("{}::", path.replace('/', "::"))
}

/// The position in a text of a line, from 1, and a column in characters, from 0.
pub fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    text[start..].char_indices().nth(column).map_or(text.len(), |(position, _)| start + position)
}

/// Lists what `.cargo/mutants.toml` leaves in, whose path begins with one of `files` (all without any), in what `diff`
/// changes, with `part` (k, n) the k-th of every n.
pub fn list(
    root: &Path,
    files: &[String],
    diff: Option<&Path>,
    part: Option<(usize, usize)>,
) -> Result<Vec<Mutant>, Error> {
    let mut command = Command::new("cargo");
    command.current_dir(root).args(["mutants", "--workspace", "--list", "--json"]);
    if let Some(diff) = diff {
        command.arg("--in-diff").arg(diff);
    }
    let output = command.output().map_err(|error| format!("cargo mutants: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo mutants --list: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    if output.stdout.iter().all(u8::is_ascii_whitespace) {
        return Ok(Vec::new());
    }
    let mut mutants: Vec<Mutant> = serde_json::from_slice(&output.stdout)?;
    // Its own option would add to what the configuration names.
    mutants.retain(|mutant| files.is_empty() || files.iter().any(|file| mutant.file.starts_with(file.as_str())));
    if let Some((part, parts)) = part {
        let mut places = 0..;
        mutants.retain(|_| places.next().is_some_and(|place: usize| place % parts == part - 1));
    }
    let mut texts = std::collections::HashMap::new();
    let mut seen = std::collections::HashMap::new();
    for mutant in &mut mutants {
        if !texts.contains_key(&mutant.file) {
            texts.insert(mutant.file.clone(), std::fs::read_to_string(root.join(&mutant.file))?);
        }
        let line = texts[&mutant.file].lines().nth(mutant.span.start.line - 1).unwrap_or_default();
        mutant.line = line.trim().to_owned();
        let same = seen.entry((mutant.file.clone(), mutant.span.start.line, mutant.change().to_owned())).or_insert(0);
        mutant.place_in_line = *same;
        *same += 1;
    }
    Ok(mutants)
}
