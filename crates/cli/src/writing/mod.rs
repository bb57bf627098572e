//! Files that a command writes: which it may replace, and how each is written completely or not at all.

mod system;

use core::any::TypeId;
use core::fmt::{self, Display};
use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, IsTerminal as _, Write, stdin, stdout};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::builder::{PathBufValueParser, TypedValueParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command};
use ldp_pca_records::FileFormat;
use nalgebra::DMatrix;
use serde::Serialize;
use tempfile::TempPath;

use super::error::{CliError, InFile as _, Result, system_words};
use super::files::is_standard;
pub use super::kind::Kind;
use super::output;

impl Kind {
    /// Nothing replaces such a file unasked. Reports are drawn once, and they are worth nothing without their task; a
    /// Parquet file may hold some.
    fn is_kept(self) -> bool {
        matches!(self, Self::Task | Self::Schema | Self::Reports | Self::Format(FileFormat::Parquet))
    }

    fn is_binary(self) -> bool {
        matches!(self, Self::Reports | Self::Aggregate | Self::MATRIX)
    }

    /// What a message says of an existing file.
    fn told(self) -> String {
        match self {
            Self::Task | Self::Schema | Self::Reports | Self::Aggregate => format!(" and holds {}", self.name()),
            Self::Format(FileFormat::Parquet) => " and holds reports or records".to_owned(),
            _ => String::new(),
        }
    }
}

/// Where a command writes to: a file, or `-` for standard output.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Target {
    path: PathBuf,
    #[serde(skip)]
    kind: Kind,
    /// The extensions that name a format of the content, and what is said of any other.
    #[serde(skip)]
    formats: Option<(&'static [&'static str], &'static str)>,
}

impl Target {
    /// A file that gets content of this kind.
    pub fn new(path: PathBuf, kind: Kind) -> Self {
        Self { path, kind, formats: None }
    }

    /// Reads an argument. All arguments of this type are checked before a command runs.
    pub fn parser(kind: Kind) -> ValueParser {
        PathBufValueParser::new().map(move |path| Self::new(path, kind)).into()
    }

    /// Reads an argument whose extension is the format of a text or a matrix. One that is none of these is refused for
    /// this problem.
    pub(super) fn in_formats(extensions: &'static [&'static str], problem: &'static str) -> ValueParser {
        let formats = Some((extensions, problem));
        PathBufValueParser::new().map(move |path| Self { path, kind: Kind::TEXT, formats }).into()
    }

    /// Reads the argument of a picture, which is an SVG.
    pub fn picture() -> ValueParser {
        Self::in_formats(&["svg"], "the plot can be written as .svg")
    }
}

impl Deref for Target {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_standard(self) { f.write_str("standard output") } else { self.display().fmt(f) }
    }
}

/// What `--force` does.
const FORCE: &str = "Replace the file that is there, whatever it holds";

/// Adds `--force` to every command that has a [`Target`], and says what `-` is.
pub(super) fn with_force(command: Command) -> Command {
    let writes =
        command.get_arguments().any(|argument| argument.get_value_parser().type_id() == TypeId::of::<Target>());
    let command = command.mut_subcommands(with_force);
    if !writes {
        return command;
    }
    let force = Arg::new("force").long("force").action(ArgAction::SetTrue);
    let command = command.arg(force.help(FORCE).long_help(format!("{FORCE}, unless it is read")));
    command.after_long_help("A file named - is standard input, or standard output.")
}

/// Refuses arguments of a command by which it would destroy a file, or could not write one: before it does anything.
/// All paths that are not a [`Target`] are inputs.
pub(super) fn check(matches: &ArgMatches) -> Result<()> {
    if let Some((_, matches)) = matches.subcommand() {
        return check(matches);
    }
    let force = matches.try_get_one("force").is_ok_and(|force| force.copied().unwrap_or(false));
    let (inputs, targets): (Vec<&PathBuf>, Vec<&Target>) = (all(matches), all(matches));
    if inputs.iter().filter(|input| is_standard(input)).count() > 1 {
        return Err(CliError::usage("two inputs are standard input (-), which can be read once: give a file for one"));
    }
    if targets.iter().filter(|target| is_standard(target)).count() > 1 {
        return Err(CliError::usage(
            "two outputs are standard output (-), which has room for one: give a file for one",
        ));
    }
    let inputs: Vec<Place> = inputs.into_iter().map(|input| Place::of(input, system::number(stdin()))).collect();
    let mut outputs: Vec<Place> = vec![];
    for target in targets {
        let place = Place::of(target, system::number(stdout()));
        if inputs.iter().any(|input| input.is_or_holds(&place)) {
            return Err(CliError::Usage(format!("{target} is also read by this command: write to another file")));
        }
        if outputs.iter().any(|output| output.is_or_holds(&place)) {
            return Err(CliError::Usage(format!("{target} is written to by two options: give each its own file")));
        }
        outputs.push(place);
        target.check(force)?;
    }
    Ok(())
}

/// The values of all arguments of this type.
fn all<T: Clone + Send + Sync + 'static>(matches: &ArgMatches) -> Vec<&T> {
    let values = matches.ids().filter_map(|id| matches.try_get_many(id.as_str()).ok().flatten());
    values.flatten().collect()
}

impl Target {
    /// Refuses what cannot be written to, and what is not to be replaced.
    fn check(&self, force: bool) -> Result<()> {
        if self.kind.is_binary() && self.is_terminal() {
            let problem = "is a terminal, and the result is binary: write to a file, or pipe it to another command";
            return Err(CliError::Usage(format!("{self} {problem}")));
        }
        if is_standard(self) {
            return Ok(());
        }
        if self.is_dir() {
            return Err(cannot_write(self, "it is a directory"));
        }
        if self.is_symlink() && !self.exists() {
            return Err(cannot_write(self, "it is a link to a file that is not there"));
        }
        fs::metadata(folder_of(self))
            .map_err(|error| cannot_write(self, format!("{}: make the folder first", system_words(&error))))?;
        match Kind::of_file(self) {
            Some(held) if !force && (held.is_kept() || self.kind.is_kept()) => Err(self.is_taken(held)),
            Some(Kind::Aggregate) if !force && self.kind != Kind::Aggregate => Err(self.is_taken(Kind::Aggregate)),
            _ => self.check_format(),
        }
    }

    fn check_format(&self) -> Result<()> {
        let Some((extensions, problem)) = self.formats else { return Ok(()) };
        if self.extension().is_some_and(|own| extensions.iter().any(|extension| own == *extension)) {
            return Ok(());
        }
        Err(CliError::Usage(format!("{self}: {problem}")))
    }

    fn is_taken(&self, held: Kind) -> CliError {
        let held = held.told();
        CliError::file(self, format!("the file is there{held}: write to another file, or replace it with --force"))
    }

    fn is_terminal(&self) -> bool {
        if is_standard(self) {
            return stdout().is_terminal();
        }
        // Only a device is opened: the opening of a pipe waits for its reader.
        system::is_device(self) && File::options().write(true).open(&**self).is_ok_and(|device| device.is_terminal())
    }
}

fn cannot_write(path: &Path, problem: impl Display) -> CliError {
    CliError::file(path, format!("cannot write it: {problem}"))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What distinguishes a file, whatever it is called: its name without links, and its number on the disk.
struct Place {
    resolved: Option<PathBuf>,
    number: Option<(u64, u64)>,
    is_dir: bool,
}

impl Place {
    /// Of a path; `standard` is the number of what `-` leads to.
    fn of(path: &Path, standard: Option<(u64, u64)>) -> Self {
        if is_standard(path) {
            return Self { resolved: None, number: standard, is_dir: false };
        }
        let unlinked = || Some(fs::canonicalize(folder_of(path)).ok()?.join(path.file_name()?));
        let resolved = if system::is_device(path) { None } else { fs::canonicalize(path).ok().or_else(unlinked) };
        let number = fs::metadata(path).ok().and_then(|metadata| system::number_of(&metadata));
        Self { resolved, number, is_dir: path.is_dir() }
    }

    /// Whether both are one file, or the other is a file in this folder.
    fn is_or_holds(&self, other: &Self) -> bool {
        let same_number = self.number.is_some() && self.number == other.number;
        let (Some(own), Some(others)) = (&self.resolved, &other.resolved) else { return same_number };
        same_number || own == others || (self.is_dir && others.is_file() && others.starts_with(own))
    }
}

/// A file that gets its name only when it is complete. Standard output, a device and a pipe are written to directly.
pub(super) struct Output {
    writer: BufWriter<Box<dyn Write + Send>>,
    /// The place of the content until it is complete.
    partial: Option<Partial>,
    target: Target,
    /// The reader of standard output has seen enough.
    is_closed: bool,
}

impl Output {
    pub(super) fn create(target: &Target) -> Result<Self> {
        let failed = |error: std::io::Error| CliError::not_written(target, &error);
        let mut target = target.clone();
        if !is_standard(&target) {
            // A link stays a link: the file it leads to is replaced.
            target.path = fs::canonicalize(&target.path).unwrap_or(target.path);
        }
        let (writer, partial): (Box<dyn Write + Send>, _) = match fs::metadata(&target.path).ok() {
            _ if is_standard(&target) => (Box::new(output::take_stdout()), None),
            Some(existing) if !existing.is_file() => {
                (Box::new(File::options().write(true).open(&target.path).map_err(failed)?), None)
            }
            existing => {
                // What nobody asked to replace is not replaced, should it come to be in the meantime.
                let new = existing.is_none() && target.kind.is_kept();
                let (file, partial) = Partial::create(&target, existing, new).map_err(failed)?;
                (Box::new(file), Some(partial))
            }
        };
        Ok(Self { writer: BufWriter::with_capacity(1 << 20, writer), partial, target, is_closed: false })
    }

    /// Writes these bytes.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes).map_err(|error| self.failed(&error))
    }

    /// Writes it all and gives the file its name.
    pub(super) fn finish(mut self) -> Result<()> {
        self.flush().map_err(|error| self.failed(&error))?;
        let named = self.partial.take().map_or(Ok(()), |partial| partial.name(&self.target));
        named.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => cannot_write(&self.target, "another came while this command ran, and stays"),
            _ => CliError::not_written(&self.target, &error),
        })
    }

    /// The error of a command that could not write.
    pub(super) fn failed(&self, error: &std::io::Error) -> CliError {
        self.closed().unwrap_or_else(|| CliError::not_written(&self.target, error))
    }

    /// The error that ends a command quietly, if the reader of standard output has left.
    pub(super) fn closed(&self) -> Option<CliError> {
        self.is_closed.then(|| CliError::Output(ErrorKind::BrokenPipe.into()))
    }

    /// Returns `outcome` as it is, and remembers whether the reader has left.
    fn watched<T>(&mut self, outcome: std::io::Result<T>) -> std::io::Result<T> {
        let is_broken = |error: &std::io::Error| error.kind() == ErrorKind::BrokenPipe;
        self.is_closed |= is_standard(&self.target) && outcome.as_ref().err().is_some_and(is_broken);
        outcome
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.writer.write(bytes);
        self.watched(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let flushed = self.writer.flush();
        self.watched(flushed)
    }
}

/// A temporary file, in the folder of the file that it becomes. It is removed when it is dropped, and at a signal.
struct Partial {
    path: PathBuf,
    /// There was no file of its name, and none is replaced.
    new: bool,
}

/// All temporary files there are. Dropping one removes it.
static PARTIAL: Mutex<Vec<TempPath>> = Mutex::new(vec![]);

/// Locked while a file comes or goes, so that a signal finds every file there is.
fn partial() -> MutexGuard<'static, Vec<TempPath>> {
    PARTIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Partial {
    /// With the rights of the `existing` file, or with those of any new file.
    fn create(target: &Path, existing: Option<fs::Metadata>, new: bool) -> std::io::Result<(File, Self)> {
        let mut all = partial();
        system::watch(|| {
            let mut all = partial();
            all.clear();
            all
        });
        let rights = if existing.is_some() { 0o600 } else { 0o666 };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".ldp-pca.").suffix(".partial").rand_bytes(12);
        // The name is drawn, and what already has it is not followed.
        let open = |path: &Path| system::with_rights(rights).write(true).create_new(true).open(path);
        let (file, path) = builder.make_in(folder_of(target), open)?.into_parts();
        let own = Self { path: path.to_path_buf(), new };
        all.push(path);
        // From here on its drop removes the file.
        drop(all);
        if let Some(existing) = existing {
            system::take_rights(&file, &existing)?;
        }
        Ok((file, own))
    }

    /// Gives the file its name.
    fn name(self, target: &Path) -> std::io::Result<()> {
        self.end(|path| if self.new { path.persist_noclobber(target) } else { path.persist(target) })
            .unwrap_or(Ok(()))
            .map_err(|error| error.error)
    }

    fn end<T>(&self, end: impl FnOnce(TempPath) -> T) -> Option<T> {
        let mut all = partial();
        let place = all.iter().position(|path| **path == *self.path)?;
        let path = all.swap_remove(place);
        // Still under the lock.
        Some(end(path))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        self.end(drop);
    }
}

/// Writes a whole file at once.
pub fn write(target: &Target, bytes: &[u8]) -> Result<()> {
    let mut output = Output::create(target)?;
    output.put(bytes)?;
    output.finish()
}

/// Rows of fields as CSV. The target is for messages.
pub fn csv<R: IntoIterator<Item: AsRef<[u8]>>>(target: &Target, rows: impl IntoIterator<Item = R>) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(vec![]);
    rows.into_iter().try_for_each(|row| writer.write_record(row)).in_file(target)?;
    writer.into_inner().in_file(target)
}

/// The names of so many components as columns.
pub(super) fn component_names(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("component_{number}")).collect()
}

/// Writes a matrix as NPY, row by row.
pub fn write_matrix(target: &Target, matrix: &DMatrix<f64>) -> Result<()> {
    let mut output = Output::create(target)?;
    output.put(&npy_head(matrix.nrows() as u64, matrix.ncols()))?;
    for row in matrix.row_iter() {
        row.iter().try_for_each(|number| output.put(&number.to_le_bytes()))?;
    }
    output.finish()
}

/// Writes the rows of numbers that `read` visits: as NPY where the file's name ends so, else as CSV with these names.
pub(super) fn write_rows<T>(
    target: &Target,
    names: Vec<String>,
    read: impl FnOnce(&mut dyn FnMut(&[f64]) -> Result<()>) -> Result<T>,
) -> Result<T> {
    if target.extension().is_some_and(|extension| extension == "npy") {
        let mut rows = NpyRows::create(target, names.len())?;
        let outcome = read(&mut |row| rows.write(row))?;
        rows.finish()?;
        return Ok(outcome);
    }
    let mut lines = csv(target, [names])?;
    let mut output = Output::create(target)?;
    let outcome = read(&mut |row| {
        for (place, number) in row.iter().enumerate() {
            // Numbers need no quotes.
            let separator = if place == 0 { "" } else { "," };
            write!(lines, "{separator}{number}")?;
        }
        lines.push(b'\n');
        output.put(&lines)?;
        lines.clear();
        Ok(())
    })?;
    output.finish()?;
    Ok(outcome)
}

/// Writes a matrix as NPY, row by row, where nobody knows beforehand how many there are.
struct NpyRows {
    output: Output,
    /// Where it is until it is complete.
    partial: PathBuf,
    columns: usize,
    rows: u64,
}

impl NpyRows {
    /// The format has the number of rows at its start, which is written last.
    fn create(target: &Target, columns: usize) -> Result<Self> {
        let mut output = Output::create(target)?;
        let Some(partial) = output.partial.as_ref().map(|partial| partial.path.clone()) else {
            return Err(cannot_write(target, "a pipe or a device takes no .npy of records: write .csv"));
        };
        output.put(&npy_head(0, columns))?;
        Ok(Self { output, partial, columns, rows: 0 })
    }

    fn write(&mut self, row: &[f64]) -> Result<()> {
        self.rows += 1;
        row.iter().try_for_each(|number| self.output.put(&number.to_le_bytes()))
    }

    fn finish(mut self) -> Result<()> {
        let head = npy_head(self.rows, self.columns);
        let whole = self.output.flush().and_then(|()| File::options().write(true).open(&self.partial));
        whole.and_then(|mut file| file.write_all(&head)).map_err(|error| self.output.failed(&error))?;
        self.output.finish()
    }
}

/// The start of a matrix in NPY: 128 bytes, of whatever shape.
fn npy_head(rows: u64, columns: usize) -> Vec<u8> {
    let shape = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    // The version, and the 118 bytes that follow.
    [b"\x93NUMPY\x01\x00\x76\x00", format!("{shape:117}\n").as_bytes()].concat()
}
