//! Records that a visitor has: a schema inferred from a CSV file, the second moments of its records, and collections
//! from people like them. What this reads stays on the page; no message has a value of the file.
//!
//! | code | what was wrong |
//! |---|---|
//! | `records` | a file that is no table, rows that do not fit, options that name no column of it; with line and column |
//! | `argument` | options of another type or name |
//! | `recovery` | a rank that makes no sense |
//! | `simulation` | a collection that there is not |

use core::fmt::Display;
use core::mem;
use std::io::{self, Chain, Read};

use chacha20::ChaCha12Rng;
use csv::{ByteRecord, StringRecord, Terminator};
use js_sys::{Function, Uint8Array};
use ldp_pca::mechanism::{MechanismError, MechanismOptions};
use ldp_pca::noise_law::{NoiseError, SpikedCovariance};
use ldp_pca::record::{BoundedRecord, Bounding, RecordError};
use ldp_pca::recovery::{Rank, RecoveryError};
use ldp_pca::schema::infer::{Inference, InferenceOptions, Inferred, Scaling};
use ldp_pca::schema::{SchemaError, positional_name};
use ldp_pca::second_moment::SecondMoment;
use ldp_pca::simulation::{RecoveryMethod, SimulationError, TrialLike};
use rand::SeedableRng;
use serde::{Deserialize, Serialize};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::crossing::{coded, failure, matrix, object, read, thrown};
use crate::mechanism::build;

coded! {
    MechanismError => "argument",
    NoiseError => "records",
    RecordError => "records",
    RecoveryError => "recovery",
    SchemaError => "records",
    SimulationError => "simulation",
}

/// What a page reads in some seconds, and draws from in some more.
const MOST_ROWS: u64 = 100_000;
const MOST_COLUMNS: usize = 200;
const MOST_FEATURES: usize = 400;

/// How many bytes are asked of the file at a time.
const PIECE: usize = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadOptions {
    #[serde(default)]
    scaling: ScalingName,
    #[serde(default)]
    ignore: Vec<String>,
    #[serde(default)]
    categorical: Vec<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ScalingName {
    #[default]
    MaxAbs,
    Range,
    Standard,
    None,
}

/// What is known of the records.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RecordsFacts {
    /// The schema as the command line writes it.
    schema: String,
    rows: u64,
    columns: usize,
    features: Vec<String>,
    always_zero: Vec<String>,
    missing: Vec<MissingFacts>,
    /// Of the second moments, descending.
    eigenvalues: Vec<f64>,
    second_moment: Vec<f64>,
}

#[derive(Serialize)]
struct MissingFacts {
    column: String,
    count: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LikeOptions {
    dimension: usize,
    rank: Rank,
    records: u64,
    mechanisms: Vec<MechanismOptions>,
    seed: u64,
    trial: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LikeFacts {
    errors: Vec<f64>,
    non_private: f64,
}

/// Reads a file twice, some rows at a time: for its schema, and for the second moments of its records.
#[wasm_bindgen]
pub struct RecordsReader {
    file: File,
    lines: Lines,
    rows: u64,
    pass: Pass,
}

enum Pass {
    Schema(Inference),
    Moments(Inferred, SecondMoment),
    /// All is read, or an error ended it.
    Over,
}

#[wasm_bindgen]
impl RecordsReader {
    /// Opens a file of `length` bytes, of which `read(from, to)` gives any part as a `Uint8Array`.
    #[wasm_bindgen(constructor)]
    pub fn new(options: JsValue, length: f64, read: Function) -> Result<RecordsReader, JsValue> {
        let ReadOptions { scaling, ignore, categorical } = crate::crossing::read(options)?;
        let scaling = match scaling {
            ScalingName::MaxAbs => Scaling::MaxAbs,
            ScalingName::Range => Scaling::Range,
            ScalingName::Standard => Scaling::Standard,
            ScalingName::None => Scaling::None,
        };
        let file = File { read, length: length as u64, position: 0 };
        let (lines, names) = file.open()?;
        if names.len() > MOST_COLUMNS {
            let columns = names.len();
            return Err(too_much(&format!("{columns} columns"), &MOST_COLUMNS, "columns"));
        }
        let options = InferenceOptions { scaling, ignore, categorical, ..InferenceOptions::default() };
        let pass = Pass::Schema(Inference::new(&names, options).map_err(thrown)?);
        Ok(Self { file, lines, rows: 0, pass })
    }

    /// Reads on, at most `rows` rows. The share of the work that is done, 1 when [`facts`](Self::facts) has it all.
    pub fn step(&mut self, rows: u32) -> Result<f64, JsValue> {
        for _ in 0..rows {
            let Some(line) = self.lines.next()? else { return self.turn() };
            let fields: Vec<&str> = self.lines.row.iter().collect();
            let known = match &mut self.pass {
                Pass::Schema(inference) => inference.observe(&fields),
                Pass::Moments(inferred, moments) => inferred.schema.encode_fields(&fields).map(|features| {
                    // A schema has features.
                    BoundedRecord::new(features, Bounding::UnitNorm).iter().for_each(|record| moments.add(record));
                }),
                Pass::Over => return Ok(1.0),
            };
            known.map_err(|problem| at_line(line, &problem))?;
            self.rows += 1;
            if self.rows > MOST_ROWS {
                return Err(too_much("more rows", &"100,000", "rows"));
            }
        }
        let passed = if let Pass::Schema(_) = self.pass { 0.0 } else { 1.0 };
        // Before its end it is not over.
        Ok((0.5 * (passed + self.lines.share())).min(0.999))
    }

    /// After the last row: what is next.
    fn turn(&mut self) -> Result<f64, JsValue> {
        match mem::replace(&mut self.pass, Pass::Over) {
            Pass::Schema(inference) => {
                let inferred = inference.finish().map_err(thrown)?;
                let dimension = inferred.schema.dimension();
                if dimension > MOST_FEATURES {
                    let found = format!("columns that make {dimension} features");
                    return Err(too_much(&found, &MOST_FEATURES, "features"));
                }
                (self.lines, _) = self.file.open()?;
                self.rows = 0;
                self.pass = Pass::Moments(inferred, SecondMoment::new(dimension, 1.0));
                Ok(0.5)
            }
            moments => {
                self.pass = moments;
                Ok(1.0)
            }
        }
    }

    /// What is known of the records, after the last step.
    pub fn facts(self) -> Result<JsValue, JsValue> {
        let Pass::Moments(inferred, moments) = self.pass else {
            return Err(failure("argument", &"the file is not read to its end: go on with step()"));
        };
        let Inferred { schema, always_zero, missing, rows, .. } = inferred;
        let second_moment = moments.matrix();
        let population = SpikedCovariance::from_matrix(&second_moment).map_err(thrown)?;
        let json = serde_json::to_string_pretty(&schema).map_err(|error| failure("records", &error))?;
        object(&RecordsFacts {
            schema: format!("{json}\n"),
            rows,
            columns: schema.columns().len(),
            features: schema.feature_names(),
            always_zero,
            missing: missing.into_iter().map(|(column, count)| MissingFacts { column, count }).collect(),
            eigenvalues: population.variances().as_slice().to_vec(),
            second_moment: second_moment.as_slice().to_vec(),
        })
    }
}

/// One collection of reports from people like those of `second_moment`, d × d numbers: an object.
#[wasm_bindgen(js_name = trialLike)]
pub fn trial_like(second_moment: &[f64], options: JsValue) -> Result<JsValue, JsValue> {
    let LikeOptions { dimension, rank, records, mechanisms, seed, trial } = read(options)?;
    let population = SpikedCovariance::from_matrix(&matrix(second_moment, dimension, dimension)?).map_err(thrown)?;
    let mechanisms = mechanisms.iter().map(|mechanism| build(mechanism, dimension)).collect::<Result<Vec<_>, _>>()?;
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    rng.set_stream(trial.into());
    let like = TrialLike { second_moments: &population, mechanisms: &mechanisms, records, rank };
    let found = like.run(&[RecoveryMethod::Pca], &mut rng).map_err(thrown)?;
    object(&LikeFacts { errors: found.by_mechanism.concat(), non_private: found.non_private })
}

fn at_line(line: u64, problem: &dyn Display) -> JsValue {
    failure("records", &format!("line {line}: {problem}"))
}

fn too_much(found: &str, most: &dyn Display, of: &str) -> JsValue {
    let remedy = "take a part of it, or use `ldp-pca schema infer` and `ldp-pca plan` on the whole";
    failure("records", &format!("the file has {found}, and this page reads at most {most} {of}: {remedy}"))
}

/// A file of the page, read from its start to its end.
#[derive(Clone)]
struct File {
    read: Function,
    length: u64,
    position: u64,
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let end = self.length.min(self.position + buffer.len() as u64);
        let range = [self.position, end].map(|place| JsValue::from_f64(place as f64));
        let piece = self.read.call2(&JsValue::NULL, &range[0], &range[1]);
        let piece = piece.ok().and_then(|piece| piece.dyn_into::<Uint8Array>().ok());
        // A file that changed since it was chosen is no longer given out.
        let piece = piece.ok_or_else(|| io::Error::other("the file cannot be read any more: choose it again"))?;
        let count = (piece.length() as usize).min(buffer.len());
        piece.subarray(0, count as u32).copy_to(&mut buffer[..count]);
        self.position += count as u64;
        Ok(count)
    }
}

impl File {
    /// The rows, and the names of the columns: those of the first line, or their positions if it is a record.
    fn open(&self) -> Result<(Lines, Vec<String>), JsValue> {
        let mut start = vec![0; PIECE];
        let count = self.clone().read(&mut start).map_err(|problem| failure("records", &problem))?;
        start.truncate(count);
        for (magic, kind, remedy) in NOT_TEXT {
            if start.starts_with(magic) {
                return Err(failure("records", &format!("this is a {kind} file, and the page reads CSV: {remedy}")));
            }
        }
        let mut lines = Lines::new(self, &start);
        if lines.next()?.is_none() {
            return Err(thrown(SchemaError::EmptySample));
        }
        let mut names: Vec<String> = lines.row.iter().map(|name| name.trim().to_owned()).collect();
        if names.len() > 1 && names[0].is_empty() {
            names[0] = positional_name(0);
        }
        if names.iter().any(|name| name.is_empty() || name.parse::<f64>().is_ok()) {
            names = (0..names.len()).map(positional_name).collect();
            lines.again = true;
        }
        Ok((lines, names))
    }
}

/// How files begin that are none of text, what they are, and what to do with them.
const NOT_TEXT: [(&[u8], &str, &str); 3] = [
    (b"\x1f\x8b", "gzip", "unpack it first"),
    (b"\x93NUMPY", "NumPy", "use `ldp-pca schema infer`"),
    (b"PK\x03\x04", "zip or spreadsheet", "save it as CSV"),
];

/// CSV records with the lines they start on, as the command line reads them (`cli/src/records.rs`).
struct Lines {
    reader: csv::Reader<Chain<File, &'static [u8]>>,
    length: u64,
    /// Lines that end in a carriage return alone, which the reader does not count.
    carriage_returns: bool,
    row: StringRecord,
    line: u64,
    /// Whether the row is to come again.
    again: bool,
}

impl Lines {
    fn new(file: &File, start: &[u8]) -> Self {
        let carriage_returns = !start.contains(&b'\n') && start[..start.len().saturating_sub(1)].contains(&b'\r');
        let end: &'static [u8; 1] = if carriage_returns { b"\r" } else { b"\n" };
        // One byte ends a line, the last one too, so that the reader's count of lines can be relied on. The carriage
        // return of CRLF is trimmed as blank space is.
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(PIECE)
            .terminator(Terminator::Any(end[0]))
            .from_reader(file.clone().chain(&end[..]));
        Self { reader, length: file.length, carriage_returns, row: StringRecord::new(), line: 0, again: false }
    }

    /// Reads the next record that is not an empty line into `row`, and says on which line it starts.
    fn next(&mut self) -> Result<Option<u64>, JsValue> {
        if mem::take(&mut self.again) {
            return Ok(Some(self.line));
        }
        let mut record = mem::take(&mut self.row).into_byte_record();
        loop {
            let any = self.reader.read_byte_record(&mut record);
            if !any.map_err(|problem| at_line(self.reader.position().line(), &problem))? {
                return Ok(None);
            }
            if record.len() > 1 || !record[0].trim_ascii().is_empty() {
                break;
            }
        }
        self.line = self.line_of(&record);
        self.row = StringRecord::from_byte_record(record).map_err(|error| {
            let field = error.utf8_error().field() + 1;
            at_line(self.line, &format!("field {field} is not UTF-8 text: save the file as UTF-8"))
        })?;
        Ok(Some(self.line))
    }

    /// Counted back from the record's end: the reader's own figure is that of the empty lines before it.
    fn line_of(&self, record: &ByteRecord) -> u64 {
        if self.carriage_returns {
            return record.position().map_or(0, csv::Position::record) + 1;
        }
        let inside = record.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
        let start = self.reader.position().line().saturating_sub(1 + inside);
        // A quote that is never closed has no end to count from.
        start.max(record.position().map_or(0, csv::Position::line))
    }

    /// How much of the file is read.
    fn share(&self) -> f64 {
        self.reader.position().byte() as f64 / self.length.max(1) as f64
    }
}
