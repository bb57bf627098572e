//! Finished cells, kept in a file from one run to the next.
//!
//! The file is lines of JSON: a head that says what the cells belong to, then one line per cell, appended when it is
//! finished. A line that was cut off when a run was killed is dropped, and so is everything after it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ldp_pca_cli::error::{CliError, InFile as _, Result};
use ldp_pca_cli::output::note;
use ldp_pca_cli::version::COMMIT;
use ldp_pca_literature::experiments::{Cell, Experiment, Scale, Table, Value};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::folder::DataFolder;
use crate::shared::locked;

/// The run that the cells belong to. Cells under another head are not used.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Head {
    experiment: String,
    program: String,
    /// SHA-256 of the program's file: the same version may be built from other code.
    #[serde(default)]
    build: String,
    /// The commit that it was built from.
    #[serde(default)]
    commit: String,
    quick: bool,
    pub(super) seed: u64,
    /// Whether cells of other builds are among them: `--reuse` took them once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    reused: bool,
    /// SHA-256 of the parameters, the columns and the keys of the cells.
    digest: String,
}

/// One finished cell.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    cell: Cow<'a, str>,
    /// The processor time that it took.
    #[serde(default)]
    seconds: f64,
    rows: Cow<'a, [Vec<Value>]>,
}

/// The rows of a finished cell, and the seconds that it took.
pub(crate) type Part = (Vec<Vec<Value>>, f64);

/// An experiment whose cells are all finished.
pub(super) struct Complete {
    pub(super) head: Head,
    pub(super) table: Table,
    /// The processor time of its cells, added up.
    pub(super) seconds: f64,
}

impl Head {
    pub(crate) fn new(experiment: &dyn Experiment, scale: Scale, seed: u64) -> Self {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        for (name, value) in experiment.parameters(scale) {
            add(name);
            add(&value);
        }
        experiment.columns().iter().for_each(|column| add(column));
        experiment.cells(scale).iter().for_each(|cell| add(cell.key()));
        Self {
            experiment: experiment.name().to_owned(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            build: own_build().to_owned(),
            commit: COMMIT.to_owned(),
            quick: scale == Scale::Quick,
            seed,
            reused: false,
            digest: hexadecimal(hash),
        }
    }

    pub(super) fn scale(&self) -> Scale {
        if self.quick { Scale::Quick } else { Scale::Full }
    }

    /// The program that kept the cells, in the words of the page; `None` where it is the running one.
    pub(super) fn builds(&self) -> Option<&'static str> {
        match (self.build == own_build(), self.reused) {
            (true, false) => None,
            (false, false) => Some("another build than the one that wrote this page"),
            (_, true) => Some("more than one build: --reuse took finished parts of another"),
        }
    }

    /// The commit of the program that kept the cells; the last one where there were several.
    pub(super) fn commit(&self) -> &str {
        &self.commit
    }

    /// Whether the heads are equal except for the builds.
    fn is_same_work(&self, other: &Self) -> bool {
        let (build, commit) = (self.build.clone(), self.commit.clone());
        *self == Self { build, commit, reused: self.reused, ..other.clone() }
    }
}

fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of the program that runs; empty where its file cannot be read.
fn own_build() -> &'static str {
    static BUILD: OnceLock<String> = OnceLock::new();
    BUILD.get_or_init(|| digest_of_self().unwrap_or_default())
}

fn digest_of_self() -> std::io::Result<String> {
    let mut program = BufReader::new(File::open(std::env::current_exe()?)?);
    let mut hash = Sha256::new();
    loop {
        let part = program.fill_buf()?;
        if part.is_empty() {
            return Ok(hexadecimal(hash));
        }
        hash.update(part);
        let read = part.len();
        program.consume(read);
    }
}

/// The cells of one experiment in a folder.
pub(super) struct Kept {
    path: PathBuf,
    /// Locked as long as it is open, so that no other run writes into it.
    file: File,
    cells: HashMap<String, Part>,
}

/// The name under which a cell is kept: its own, with the length of the data set's file, so that another file counts as
/// new.
pub(super) fn key_of(cell: &Cell, data: &DataFolder) -> String {
    match cell.data() {
        None => cell.key().to_owned(),
        Some(set) => format!("{} ({} bytes)", cell.key(), data.length(set)),
    }
}

/// The file of an experiment.
fn path_of(folder: &Path, experiment: &dyn Experiment) -> PathBuf {
    folder.join(format!("{}.cells", experiment.name()))
}

impl Kept {
    /// Opens the file for writing, with the cells it has under the same head. With `reuse` it also takes what another
    /// build kept: as it is where that has all cells with these keys, or else under a head that says so. A file with
    /// anything else is set aside.
    pub(super) fn open(
        folder: &Path,
        experiment: &dyn Experiment,
        head: &Head,
        reuse: bool,
        keys: &[String],
    ) -> Result<Self> {
        let path = path_of(folder, experiment);
        let mut file = locked(&path, BUSY)?;
        let (found, cells, length) = read(BufReader::new(&file), experiment.columns().len()).in_file(&path)?;
        let same_work = found.as_ref().filter(|found| found.is_same_work(head));
        if same_work.is_some_and(|found| found.build == head.build) {
            file.set_len(length).and_then(|()| file.seek(SeekFrom::End(0))).in_file(&path)?;
            return Ok(Self { path, file, cells });
        }
        if same_work.is_some() && reuse {
            if !cells.is_empty() && keys.iter().all(|key| cells.contains_key(key)) {
                return Ok(Self { path, file, cells });
            }
            let reused = !cells.is_empty();
            let file = under_another_head(&path, &file, length, &Head { reused, ..head.clone() })?;
            return Ok(Self { path, file, cells });
        }
        let held = file.metadata().in_file(&path)?.len();
        let bare = found.is_some() && cells.is_empty() && held == length;
        if !bare && held > 0 {
            let aside = set_aside(&path)?;
            let (what, remedy) = match (&found, same_work) {
                (_, Some(_)) => (
                    "another build of the program",
                    ": to continue with them, rename the file back and run with --reuse",
                ),
                (Some(_), None) => ("other parameters, another seed or another version of the program", ""),
                (None, None) => ("an unknown run (the first line cannot be read)", ""),
            };
            note(format_args!(
                "{}: the finished parts in {} are of {what}, so it starts over; they are kept in {}{remedy}",
                experiment.name(),
                path.display(),
                aside.display()
            ));
            file = locked(&path, BUSY)?;
        }
        file.set_len(0).and_then(|()| file.rewind()).in_file(&path)?;
        let mut kept = Self { path, file, cells: HashMap::new() };
        kept.append(serde_json::to_string(head).map_err(std::io::Error::from)?)?;
        Ok(kept)
    }

    /// An experiment that nobody writes, if every cell whose data exist is there.
    pub(super) fn complete(folder: &Path, experiment: &dyn Experiment, data: &DataFolder) -> Result<Option<Complete>> {
        let path = path_of(folder, experiment);
        let Ok(file) = File::open(&path) else { return Ok(None) };
        let read = read(BufReader::new(&file), experiment.columns().len());
        let (head, cells, _) = read.in_file(&path)?;
        let Some(head) = head.filter(|head| head.is_same_work(&Head::new(experiment, head.scale(), head.seed))) else {
            return Ok(None);
        };
        let (mut table, mut seconds) = (Table::new(experiment.columns()), 0.0);
        for cell in experiment.cells(head.scale()) {
            match cells.get(&key_of(&cell, data)) {
                Some((rows, taken)) => {
                    table.extend(rows.clone());
                    seconds += taken;
                }
                None if cell.data().is_some_and(|set| !data.has(set)) => {}
                None => return Ok(None),
            }
        }
        Ok((!table.is_empty()).then_some(Complete { head, table, seconds }))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.cells.contains_key(key)
    }

    /// Keeps a finished cell: from here on it survives the end of the process.
    pub(super) fn keep(&mut self, key: &str, rows: Vec<Vec<Value>>, seconds: f64) -> Result<()> {
        self.append(line(key, &rows, seconds)?)?;
        self.cells.insert(key.to_owned(), (rows, seconds));
        Ok(())
    }

    fn append(&mut self, mut line: String) -> Result<()> {
        line.push('\n');
        self.file.write_all(line.as_bytes()).in_file(&self.path)
    }
}

/// Copies the first `length` bytes into a new file of the same name, with `head` as the first line. Either the whole
/// new file is there, or the old one.
fn under_another_head(path: &Path, mut file: &File, length: u64, head: &Head) -> Result<File> {
    let new = path.with_extension("cells.new");
    let mut written = locked(&new, BUSY)?;
    let mut copy = || {
        written.set_len(0)?;
        writeln!(written, "{}", serde_json::to_string(head)?)?;
        file.rewind()?;
        let mut rest = BufReader::new(file.take(length));
        rest.skip_until(b'\n')?;
        std::io::copy(&mut rest, &mut written)?;
        written.sync_all()?;
        std::fs::rename(&new, path)
    };
    copy().in_file(&new)?;
    Ok(written)
}

/// Renames the file to NAME.cells.old, with a number appended where that is taken, and returns the name.
fn set_aside(path: &Path) -> Result<PathBuf> {
    for number in 1_u64.. {
        let number = if number == 1 { String::new() } else { number.to_string() };
        let aside = path.with_extension(format!("cells.old{number}"));
        // Created first, so that no existing file is replaced.
        match File::create_new(&aside).and_then(|_| std::fs::rename(path, &aside)) {
            Ok(()) => return Ok(aside),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(CliError::file(&aside, error)),
        }
    }
    unreachable!("a folder has fewer files than numbers")
}

/// The message about a file that another run has locked.
const BUSY: &str = "another run is writing it: wait until it ends, or give another --out";

/// A cell's line, without its end.
pub(crate) fn line(cell: &str, rows: &[Vec<Value>], seconds: f64) -> std::io::Result<String> {
    Ok(serde_json::to_string(&Line { cell: cell.into(), seconds, rows: rows.into() })?)
}

/// The head, the cells, and the length of the part of the file that could be read.
pub(super) type Content = (Option<Head>, HashMap<String, Part>, u64);

/// Reads up to the first line that is not a cell. Every row has a value for each column.
pub(crate) fn read(mut reader: impl BufRead, columns: usize) -> std::io::Result<Content> {
    let (mut text, mut cells, mut length) = (Vec::new(), HashMap::new(), 0);
    let mut head = None;
    while reader.read_until(b'\n', &mut text)? > 0 && text.ends_with(b"\n") {
        if head.is_none() {
            let Ok(found) = serde_json::from_slice(&text) else { break };
            head = Some(found);
        } else {
            let Ok(Line { cell, seconds, rows }) = serde_json::from_slice(&text) else { break };
            if rows.iter().any(|row| row.len() != columns) {
                break;
            }
            cells.insert(cell.into_owned(), (rows.into_owned(), seconds));
        }
        length += text.len() as u64;
        text.clear();
    }
    Ok((head, cells, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment() -> Box<dyn Experiment> {
        ldp_pca_literature::experiments::all().swap_remove(1)
    }

    #[test]
    fn a_row_without_a_value_for_every_column_ends_what_is_read() {
        let head = serde_json::to_string(&Head::new(experiment().as_ref(), Scale::Quick, 1)).unwrap();
        let file = format!("{head}\n{{\"cell\":\"a\",\"rows\":[[1,null]]}}\n");
        let torn = format!("{file}{{\"cell\":\"b\",\"rows\":[[1]]}}\n{{\"cell\":\"c\",\"rows\":[]}}\n");
        let (_, cells, length) = read(torn.as_bytes(), 2).unwrap();
        assert_eq!((cells.into_keys().collect::<Vec<_>>(), length), (vec!["a".to_owned()], file.len() as u64));
    }

    #[test]
    fn cells_survive_and_torn_lines_other_seeds_and_other_scales_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let experiment = experiment();
        let head = |scale, seed| Head::new(experiment.as_ref(), scale, seed);
        let open = |head: &Head| Kept::open(folder.path(), experiment.as_ref(), head, false, &[]).unwrap();
        let quick = head(Scale::Quick, 1);
        let mut row = vec![Value::Number(f64::NAN), "a \"b\"".into(), 0.1f64.into()];
        row.resize(experiment.columns().len(), 0u32.into());
        let rows = vec![row];
        let mut kept = open(&quick);
        kept.keep("one", rows, 1.5).unwrap();
        kept.keep("two", vec![], 0.0).unwrap();
        drop(kept);
        let path = path_of(folder.path(), experiment.as_ref());
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        let kept = open(&quick);
        assert!(kept.has("one") && !kept.has("two"));
        let (rows, seconds) = &kept.cells["one"];
        assert_eq!((&rows[0][1..3], *seconds), (&["a \"b\"".into(), Value::Number(0.1)][..], 1.5));
        assert!(matches!(rows[0][0], Value::Number(number) if number.is_nan()));
        assert!(whole.starts_with(&std::fs::read(&path).unwrap()));
        // Nobody else may write meanwhile.
        assert!(Kept::open(folder.path(), experiment.as_ref(), &quick, true, &[]).is_err());
        drop(kept);
        // Cells of another build are set aside, unless `reuse` requests them.
        let other = Head { build: "00".into(), ..quick.clone() };
        assert!(!open(&other).has("one"));
        let aside = path.with_extension("cells.old");
        assert!(whole.starts_with(&std::fs::read(&aside).unwrap()));
        std::fs::rename(&aside, &path).unwrap();
        assert!(open(&quick).has("one"));
        for other in [head(Scale::Quick, 2), head(Scale::Full, 1)] {
            assert!(!open(&other).has("one"));
            open(&quick).keep("one", vec![], 0.0).unwrap();
        }
    }

    #[test]
    fn what_another_build_kept_is_taken_under_a_head_that_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let experiment = experiment();
        let own = Head::new(experiment.as_ref(), Scale::Quick, 1);
        let other = Head { build: "00".into(), ..own.clone() };
        let open =
            |head: &Head, reuse| Kept::open(folder.path(), experiment.as_ref(), head, reuse, &["all".into()]).unwrap();
        let path = path_of(folder.path(), experiment.as_ref());
        let found = || read(std::fs::read(&path).unwrap().as_slice(), experiment.columns().len()).unwrap();
        // Where there are no cells, none is taken.
        drop(open(&other, true));
        drop(open(&own, true));
        assert_eq!(found().0, Some(own.clone()));
        open(&own, false).keep("one", vec![], 0.0).unwrap();
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"torn").unwrap();
        let mut kept = open(&other, true);
        assert!(kept.has("one"));
        // Nobody else may write meanwhile, not under the new head either.
        assert!(Kept::open(folder.path(), experiment.as_ref(), &other, true, &[]).is_err());
        kept.keep("two", vec![], 0.0).unwrap();
        drop(kept);
        let (head, cells, length) = found();
        assert_eq!(head, Some(Head { reused: true, ..other.clone() }));
        assert_eq!((cells.len(), length), (2, std::fs::metadata(&path).unwrap().len()));
        // Reused cells stay reused, and the head says so.
        assert!(open(&other, false).has("two"));
        assert!(found().0.unwrap().reused);
        assert!(open(&own, true).has("two"));
        assert_eq!(found().0.unwrap().build, own.build);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        // Where nothing is missing, nothing is added, and the head stays that of the build that ran it.
        open(&own, true).keep("all", vec![], 0.0).unwrap();
        drop(open(&other, true));
        assert_eq!(found().0.unwrap().build, own.build);
        // The page's text about the reuse.
        let taken = |head: &Head| head.builds().is_some_and(|said| said.contains("--reuse"));
        let another = |head: &Head| head.builds().is_some_and(|said| said.contains("another build than the one"));
        let both = found().0.unwrap();
        assert_eq!(own.builds(), None);
        assert!(taken(&both) && !another(&both));
        assert!(!taken(&other) && another(&other));
        assert!(taken(&Head { reused: true, ..other }));
    }

    #[test]
    fn nothing_that_was_kept_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let experiment = experiment();
        let path = path_of(folder.path(), experiment.as_ref());
        let keep = |seed, cell: &str| {
            let head = Head::new(experiment.as_ref(), Scale::Quick, seed);
            let mut kept = Kept::open(folder.path(), experiment.as_ref(), &head, false, &[]).unwrap();
            assert!(kept.cells.is_empty());
            kept.keep(cell, vec![], 0.0).unwrap();
            drop(kept);
            std::fs::read(&path).unwrap()
        };
        let aside = |ending: &str| std::fs::read(path.with_extension(ending)).unwrap();
        let first = keep(1, "one");
        let second = keep(2, "two");
        let mut third = keep(3, "three");
        assert_eq!([aside("cells.old"), aside("cells.old2")], [first, second]);
        // One byte of the head is another.
        third[0] = b'[';
        std::fs::write(&path, &third).unwrap();
        keep(3, "four");
        assert_eq!(aside("cells.old3"), third);
        // A head alone is nothing to keep, and neither is an empty file.
        let head = Head::new(experiment.as_ref(), Scale::Quick, 4);
        std::fs::write(&path, "").unwrap();
        drop(Kept::open(folder.path(), experiment.as_ref(), &head, false, &[]).unwrap());
        keep(5, "five");
        assert!(!path.with_extension("cells.old4").exists());
    }
}
