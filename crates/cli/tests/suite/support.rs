//! Running the real binary in a folder of its own, and making the files it reads. `research/cli` tests its own with it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A temporary folder in which commands run, so that they name files as a user would.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder with [`PEOPLE`] in `people.csv`, their schema in `schema.json` and a double-cap task in `task.json`.
    pub(crate) fn with_task() -> Self {
        let folder = Self::new();
        folder.write("people.csv", PEOPLE);
        folder.make_task("people.csv", "--epsilon 2");
        folder
    }

    /// The same with ten reports in `a.ldpr` and their sums in `a.ldpa`.
    pub(crate) fn with_sums() -> Self {
        let folder = Self::with_task();
        folder.collect("people.csv", "task", "a");
        folder
    }

    /// The same with a component in `components.json`, a matrix in `s.npy` and ten ids in `ids.json`.
    pub(crate) fn with_files() -> Self {
        let folder = Self::with_sums();
        folder.run("recover a.ldpa -t task.json --rank 1 -o components.json").ok();
        folder.write("s.npy", npy_matrix(&[&[2.0, 1.0], &[1.0, 2.0]]));
        folder.write("ids.json", issued_ids(10));
        folder
    }

    /// Makes the schema of records, in `schema.json`, and a task with these options, in `task.json`.
    pub(crate) fn make_task(&self, records: &str, options: &str) {
        self.run(&format!("schema infer {records} -o schema.json --force")).ok();
        self.run(&format!("task new --schema schema.json {options} -o task.json --force")).ok();
    }

    /// Makes reports of records for the task `TASK.json`, in `NAME.ldpr`, and sums them, in `NAME.ldpa`.
    pub(crate) fn collect(&self, records: &str, task: &str, name: &str) {
        self.run(&format!("randomize {records} -t {task}.json -o {name}.ldpr --force")).ok();
        self.run(&format!("aggregate {name}.ldpr -t {task}.json -o {name}.ldpa")).ok();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn read_text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// The names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The command, ready to run here.
    pub(crate) fn command<I: IntoIterator<Item: AsRef<OsStr>>>(&self, arguments: I) -> Command {
        let mut command = Command::new(crate::PROGRAM);
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    /// Runs a command line whose arguments have no spaces.
    pub(crate) fn run(&self, line: &str) -> Run {
        Run::of(line, self.command(line.split_whitespace()).output().unwrap())
    }

    /// Randomizes these records, with these options, for `task.json` into `out.ldpr`.
    pub(crate) fn randomize(&self, records: &str) -> Run {
        self.run(&format!("randomize {records} -t task.json -o out.ldpr --force"))
    }

    /// Runs it with this file as its standard input.
    pub(crate) fn redirected(&self, line: &str, input: &str) -> Run {
        let input = File::open(self.path(input)).unwrap();
        Run::of(line, self.command(line.split_whitespace()).stdin(input).output().unwrap())
    }

    /// Runs it with a pipe as its standard output that nobody reads.
    pub(crate) fn unread(&self, line: &str) -> Run {
        Run::of(line, self.command(line.split_whitespace()).stdout(closed_pipe()).output().unwrap())
    }

    /// Runs a script in which the program under test is a command; it ends with the first that fails.
    pub(crate) fn shell(&self, script: &str) -> Run {
        let programs = Path::new(crate::PROGRAM).parent().unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("sh");
        command.args(["-e", "-c", script]).env("PATH", path).current_dir(self.0.path());
        Run::of(script, command.output().unwrap())
    }

    /// What it prints with `--json`.
    pub(crate) fn json(&self, line: &str) -> Value {
        self.run(&format!("{line} --json")).json()
    }

    /// The same, with these members.
    pub(crate) fn gives(&self, line: &str, members: Value) -> Value {
        self.run(&format!("{line} --json")).gives(members)
    }

    /// What it prints; it must succeed.
    pub(crate) fn text(&self, line: &str) -> String {
        self.run(line).ok().stdout
    }

    /// It must refuse, as [`Run::refused`] says.
    pub(crate) fn refused(&self, line: &str, code: i32, parts: &[&str]) {
        self.run(line).refused(code, parts);
    }
}

/// The writing end of a pipe that nobody reads.
pub(crate) fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// The result of a command.
#[derive(Debug)]
#[allow(dead_code, reason = "the line is for the message of a failed assertion")]
pub(crate) struct Run {
    line: String,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn of(line: &str, output: Output) -> Self {
        Self {
            line: line.to_owned(),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// It must have succeeded.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// It must have succeeded and printed one JSON document and nothing else.
    pub(crate) fn json(self) -> Value {
        let run = self.ok();
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
    }

    /// It must have succeeded and printed one JSON document with these members, which is given back.
    pub(crate) fn gives(self, members: Value) -> Value {
        let line = self.line.clone();
        let found = self.json();
        assert_has(&found, members, &line);
        found
    }

    /// It must have succeeded and printed each of `parts`.
    pub(crate) fn prints(self, parts: &[&str]) -> Self {
        let run = self.ok();
        for part in parts {
            assert!(run.stdout.contains(part), "'{part}' is not in: {run:?}");
        }
        run
    }

    /// It must have succeeded and printed each of `parts`, whatever its line breaks and columns.
    pub(crate) fn says(self, parts: &[&str]) -> Self {
        let run = self.ok();
        let said = words(&run.stdout);
        for part in parts {
            assert!(said.contains(part), "'{part}' is not in: {run:?}");
        }
        run
    }

    /// It must have refused with this exit code, printed nothing as a result, and said each of `parts`.
    pub(crate) fn refused(self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        assert!(self.stderr.contains("error:") || self.stderr.contains("{\"error\":"), "{self:?}");
        // Usage errors are wrapped to the width of the terminal.
        let message = words(&self.stderr);
        for part in parts {
            assert!(message.contains(part), "'{part}' is not in: {message}");
        }
    }
}

/// A document has these members, and maybe others.
pub(crate) fn assert_has(found: &Value, members: Value, case: &str) {
    let Value::Object(members) = members else { panic!("no object: {members}") };
    for (name, value) in members {
        assert_eq!(found[&name], value, "{name} of {case}: {found}");
    }
}

/// The number.
pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The numbers of a list.
pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

/// So many report ids, as an aggregator answers them.
pub(crate) fn issued_ids(count: usize) -> String {
    let ids: Vec<String> = (0..count).map(|id| format!("{id:032x}")).collect();
    serde_json::json!({"ids": ids}).to_string()
}

/// The text without its line breaks and columns.
pub(crate) fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Ten people: three numeric columns and a categorical one.
pub(crate) const PEOPLE: &str = "\
age,height,plan,score
31,1.80,free,-2
45,1.65,paid,4
27,1.71,free,0.5
62,1.58,paid,1
19,1.92,trial,-4
38,1.77,free,3
51,1.69,paid,2.25
44,1.83,paid,-1
23,1.60,trial,0
70,1.74,free,1.5
";

/// The bytes of a gzip file.
pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// The bytes of an NPY file (version 1.0) of any type, order and shape, whether they make sense or not.
pub(crate) fn npy(dtype: &str, fortran_order: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran_order { "True" } else { "False" };
    let mut header = format!("{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// A matrix of `f64`, row by row, as NPY.
pub(crate) fn npy_matrix(rows: &[&[f64]]) -> Vec<u8> {
    let data: Vec<u8> = rows.iter().flat_map(|row| row.iter().flat_map(|value| value.to_le_bytes())).collect();
    npy("<f8", false, &format!("({}, {})", rows.len(), rows.first().map_or(0, |row| row.len())), &data)
}

/// The shape and the elements (row by row) of an NPY file of `f64`.
pub(crate) fn read_npy(bytes: &[u8]) -> (Vec<u64>, Vec<f64>) {
    let file = npyz::NpyFile::new(bytes).unwrap();
    (file.shape().to_vec(), file.into_vec().unwrap())
}
