//! What a file holds, by its content, and what to say where a command needs something else.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use ldp_pca::internal::task::MAX_TASK_BYTES;
use ldp_pca_records::FileFormat;
pub(super) use ldp_pca_records::unmarked;
use serde::de::IgnoredAny;

use super::error::{CliError, Result};

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A task.
    Task,
    /// A schema.
    Schema,
    /// Published components.
    Components,
    /// Reports, one after the other.
    Reports,
    /// Sums of reports.
    Aggregate,
    /// A file of another format, or text that is nothing else here. `store export` writes reports in Parquet, too.
    Format(FileFormat),
    /// JSON that is none of these documents.
    Json,
    /// What begins as JSON, and is cut or goes wrong.
    BrokenJson,
    /// Text in UTF-16.
    Utf16,
    /// Bytes that are not text.
    Binary,
    /// Nothing, or spaces alone.
    Empty,
}

impl Kind {
    /// CSV or SVG, or any other text.
    pub const TEXT: Self = Self::Format(FileFormat::Text);
    /// A matrix in NPY.
    pub const MATRIX: Self = Self::Format(FileFormat::NumPy);

    /// That of this content, or of its start. A document is one only where all of it is given.
    pub(super) fn of(content: &[u8]) -> Self {
        let format = FileFormat::of(content);
        let content = unmarked(content);
        match content.trim_ascii_start() {
            _ if format != FileFormat::Text => Self::Format(format),
            _ if content.starts_with(b"LDPR") => Self::Reports,
            _ if content.starts_with(b"LDPA") => Self::Aggregate,
            _ if [b"\xff\xfe", b"\xfe\xff", b"{\0", b"\0{"].iter().any(|mark| content.starts_with(*mark)) => {
                Self::Utf16
            }
            [] => Self::Empty,
            // A cell of text may begin so too, but no header goes on like a document.
            [b'{' | b'[', rest @ ..] if rest.trim_ascii_start().first().is_none_or(|next| b"{[\"}]".contains(next)) => {
                Self::of_json(content)
            }
            // A letter may be cut at the end of a start.
            _ if str::from_utf8(content).is_err_and(|error| error.error_len().is_some()) => Self::Binary,
            _ => Self::TEXT,
        }
    }

    /// By their keys, so that documents of other versions are known too.
    fn of_json(content: &[u8]) -> Self {
        let document: BTreeMap<String, IgnoredAny> = match serde_json::from_slice(content) {
            Ok(document) => document,
            // It is no object.
            Err(error) if error.is_data() => return Self::Json,
            Err(_) => return Self::BrokenJson,
        };
        let has = |key: &str| document.contains_key(key);
        match () {
            () if has("schema") && has("components") => Self::Components,
            () if has("schema") || has("mechanism") => Self::Task,
            () if has("columns") => Self::Schema,
            () => Self::Json,
        }
    }

    /// That of an existing file, or `None` where there is no regular file with content.
    pub(super) fn of_file(path: &Path) -> Option<Self> {
        if !fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0) {
            return None;
        }
        let mut start = vec![];
        // What cannot be read is not known.
        let _ = File::open(path).and_then(|file| file.take(MAX_TASK_BYTES as u64 + 1).read_to_end(&mut start));
        Some(Self::of(&start))
    }

    /// What a message calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Task => "a task",
            Self::Schema => "a schema",
            Self::Components => "components",
            Self::Reports => "reports",
            Self::Aggregate => "an aggregate",
            Self::Format(format) => format.name(),
            Self::Json | Self::BrokenJson => "JSON",
            Self::Utf16 => "text in UTF-16",
            Self::Binary => "bytes that are not text",
            Self::Empty => "empty",
        }
    }
}

/// What a command reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needed {
    Task,
    Schema,
    Components,
    Aggregate,
    /// Reports, or sums of them.
    Reports,
    /// With what to give.
    Records(&'static str),
    Matrix,
    /// Any file of this project, to look at.
    Ours,
}

impl Needed {
    /// Refuses a file whose content, or its start, is of something else.
    pub(super) fn check(self, path: &Path, content: &[u8]) -> Result<()> {
        self.problem(Kind::of(content)).map_or(Ok(()), |problem| Err(CliError::file(path, problem)))
    }

    /// The problem of a file that holds something else, with the remedy; `None` where only the reader of its format can
    /// say what is wrong with it.
    pub(super) fn problem(self, held: Kind) -> Option<String> {
        use Kind::{Aggregate, Binary, BrokenJson, Components, Json, Reports, Schema, Task};
        // Both kinds are unpacked once before they are looked at.
        if held == Kind::Format(FileFormat::Gzip) && matches!(self, Self::Records(_) | Self::Matrix) {
            return Some("it holds a gzip file in another (gzip within gzip): unpack it once, with gunzip".to_owned());
        }
        let other_format = match held {
            Kind::Format(format @ FileFormat::Zip) => Some(format.remedy()),
            Kind::Format(FileFormat::NumPyArchive) => Some("save one of its arrays with numpy.save"),
            Kind::Format(FileFormat::Feather1) => Some("write it as version 2 (to_feather of pandas) or as CSV"),
            _ => None,
        };
        let reader_knows = match self {
            Self::Task => matches!(held, Task | BrokenJson),
            Self::Schema => matches!(held, Schema | BrokenJson),
            Self::Components => matches!(held, Components | BrokenJson),
            Self::Aggregate => held == Aggregate,
            // Damaged reports begin with anything.
            Self::Reports => matches!(held, Reports | Aggregate | Binary | Kind::TEXT),
            // Rows of text have lines, which a message names.
            Self::Records(_) => {
                other_format.is_none()
                    && !matches!(held, Task | Schema | Components | Json | BrokenJson | Reports | Aggregate)
            }
            Self::Matrix => held == Kind::MATRIX,
            Self::Ours => matches!(held, Task | Schema | Components | Reports | Aggregate),
        };
        let (needed, remedy) = match self {
            Self::Task => ("a task", "give the file that `ldp-pca task new` wrote"),
            Self::Schema => ("a schema", "give the file that `ldp-pca schema infer` wrote"),
            Self::Components => ("components", "give the file that `ldp-pca recover -o components.json` wrote"),
            Self::Aggregate if held == Reports => ("an aggregate", "sum them first with `ldp-pca aggregate`"),
            Self::Aggregate => ("an aggregate", "give the file that `ldp-pca aggregate` wrote"),
            Self::Reports => ("a report or an aggregate", "give what `ldp-pca randomize` or `aggregate` wrote"),
            Self::Records(remedy) => ("records", other_format.unwrap_or(remedy)),
            Self::Matrix => ("a matrix in NPY", "save it with numpy.save"),
            Self::Ours => ("reports, an aggregate, a task, a schema or components", "nothing else is shown here"),
        };
        match held {
            _ if reader_knows => None,
            Kind::Empty => Some(format!("it is empty, and not {needed}: {remedy}")),
            _ => Some(format!("it holds {}, not {needed}: {remedy}", held.name())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_shows_what_it_is() {
        let cases: [(&[u8], Kind); 25] = [
            (b"LDPR\x03", Kind::Reports),
            (b"LDPA\x01", Kind::Aggregate),
            (b"\x93NUMPY\x01", Kind::MATRIX),
            (b"PAR1", Kind::Format(FileFormat::Parquet)),
            (b"ARROW1\0\0", Kind::Format(FileFormat::ArrowFile)),
            (b"PK\x03\x04", Kind::Format(FileFormat::Zip)),
            (b"PK\x03\x04----------------------\x05\0\0\0a.npy", Kind::Format(FileFormat::NumPyArchive)),
            (b"PK\x03\x04----------------------\x05\0\0\0a.xml", Kind::Format(FileFormat::Zip)),
            (b"FEA1\0\0\0\0", Kind::Format(FileFormat::Feather1)),
            (b"\xff\xfea\0", Kind::Utf16),
            (b"{\0\"\0s\0", Kind::Utf16),
            (b" {\"version\": 9, \"schema\": {}, \"mechanism\": {}}", Kind::Task),
            (b"{\"columns\": 1}", Kind::Schema),
            (b"{\"schema\": {}}", Kind::Task),
            (b"{\"components\": [], \"schema\": {}}", Kind::Components),
            (b"{\"components\": []}", Kind::Json),
            (b"\xef\xbb\xbf{\"columns\": 1}", Kind::Schema),
            (b"{\"columns\": ", Kind::BrokenJson),
            (b"{", Kind::BrokenJson),
            (b"{ \n", Kind::BrokenJson),
            (b"[{\"a\": 1}, {\"a\": 2}]", Kind::Json),
            (b"a,b\n1,2\xc3", Kind::TEXT),
            (b"[km],{h}\n1,2\n", Kind::TEXT),
            (b"a,\xe9,b\n", Kind::Binary),
            (b" \r\n", Kind::Empty),
        ];
        for (content, kind) in cases {
            assert_eq!(Kind::of(content), kind, "{content:?}");
        }
    }
}
