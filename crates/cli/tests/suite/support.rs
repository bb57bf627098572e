//! Running the real binary in a folder of its own, and making the files it reads. `research/cli` tests its own with it.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

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
        folder.run("schema infer people.csv -o schema.json").ok();
        folder.run("task new --schema schema.json --epsilon 2 -o task.json").ok();
        folder
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
        let output = self.command(line.split_whitespace()).output().unwrap();
        Run {
            line: line.to_owned(),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
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
