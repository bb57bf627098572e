//! Records that a visitor has: a schema inferred from a text file, the second moments of its records, and collections
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
use std::io::{self, BufReader, Read};

use chacha20::ChaCha12Rng;
use js_sys::{Function, Uint8Array};
use ldp_pca::internal::law::SpikedCovariance;
use ldp_pca::internal::schema::{Fit, NumberForms};
use ldp_pca::record::{BoundedRecord, Bounding};
use ldp_pca::recovery::Rank;
use ldp_pca::schema::infer::{InferenceOptions, Inferred, Scaling};
use ldp_pca_records::{
    FileFormat, Header, Layout, OptionNames, Sample, TextOptions, TextRows, looks_like_names, no_table,
    parse_separator, start_of,
};
use ldp_pca_simulation::{Estimate, RecoveryMethod, SecondMoment, SimulationError, TrialLike, stream};
use serde::{Deserialize, Serialize};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::crossing::{failure, matrix, object, read, thrown};
use crate::mechanism::{MechanismOptions, build};

/// What a page reads in some seconds, and draws from in some more.
const MOST_ROWS: u64 = 100_000;
const MOST_COLUMNS: usize = 200;
const MOST_FEATURES: usize = 400;

/// How many bytes are asked of the file at a time.
const PIECE: usize = 1 << 20;

/// What the page calls its options.
const OPTIONS: OptionNames = OptionNames {
    header: "the command line",
    separator: "the option 'cells are separated by'",
    decimal_comma: "the option 'decimal comma'",
    number_format: "the number format of the command line",
    categorical: "the option 'columns whose values are categories'",
    categories: "the command line",
    ignore: "the option 'columns to leave out'",
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReadOptions {
    /// The file's name, which may say what separates its cells.
    #[serde(default)]
    name: String,
    /// What separates them, where the file does not show it.
    separator: Option<String>,
    #[serde(default)]
    decimal_comma: bool,
    #[serde(default)]
    scaling: Scaling,
    #[serde(default)]
    ignore: Vec<String>,
    #[serde(default)]
    categorical: Vec<String>,
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
    missing: Vec<(String, u64)>,
    /// What is odd, and what to do.
    warnings: Vec<String>,
    /// Of the second moments, descending.
    eigenvalues: Vec<f64>,
    second_moment: Vec<f64>,
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

impl LikeOptions {
    fn with_trial<T>(
        &self,
        second_moment: &[f64],
        work: impl FnOnce(&TrialLike<'_>, &mut ChaCha12Rng) -> Result<T, SimulationError>,
    ) -> Result<T, JsValue> {
        let Self { dimension, rank, records, ref mechanisms, seed, trial } = *self;
        let second_moments = matrix(second_moment, dimension, dimension)?;
        let second_moments = &SpikedCovariance::from_matrix(&second_moments).map_err(thrown)?;
        let mechanisms = mechanisms.iter().map(|mechanism| build(mechanism, dimension));
        let mechanisms = &mechanisms.collect::<Result<Vec<_>, _>>()?;
        let like = TrialLike { second_moments, mechanisms, records, rank };
        work(&like, &mut stream(seed, trial.into())).map_err(thrown)
    }
}

/// Reads a file twice, some rows at a time: for its schema, and for the second moments of its records.
#[wasm_bindgen]
pub struct RecordsReader {
    file: File,
    rows: Rows,
    count: u64,
    pass: Pass,
}

type Rows = TextRows<BufReader<Content>>;

enum Pass {
    Schema(Sample),
    Moments(Inferred, Layout, SecondMoment),
    /// All is read, or an error ended it.
    Over,
}

#[wasm_bindgen]
impl RecordsReader {
    /// Opens a file of `length` bytes, of which `read(from, to)` gives any part as a `Uint8Array`.
    #[wasm_bindgen(constructor)]
    pub fn new(options: JsValue, length: f64, read: Function) -> Result<RecordsReader, JsValue> {
        let ReadOptions { name, separator, decimal_comma, scaling, ignore, categorical } =
            crate::crossing::read(options)?;
        let separator = separator.map(|separator| parse_separator(&separator)).transpose();
        let separator = separator.map_err(|problem| failure("argument", &problem))?;
        let forms = NumberForms::NONE;
        let options = TextOptions {
            header: Header::Auto,
            by_header: false,
            one_column: false,
            separator,
            decimal_comma,
            forms,
            names: &OPTIONS,
        };
        let file = File { name, options, content: Content { read, length: length as u64, position: 0 } };
        let rows = file.open()?;
        let columns = rows.columns();
        if columns.len() > MOST_COLUMNS {
            return Err(too_much(&format!("{} columns", columns.len()), &MOST_COLUMNS, "columns"));
        }
        let inference = InferenceOptions { scaling, ignore, categorical, ..InferenceOptions::default() };
        let pass = Pass::Schema(Sample::of_text(&rows, inference).map_err(thrown)?);
        Ok(Self { file, rows, count: 0, pass })
    }

    /// Reads on, at most `rows` rows. The share of the work that is done, 1 when [`facts`](Self::facts) has it all.
    pub fn step(&mut self, rows: u32) -> Result<f64, JsValue> {
        for _ in 0..rows {
            let row = self.rows.next_row().map_err(|problem| failure("records", &problem))?;
            let Some(row) = row else { return self.turn() };
            let known = match &mut self.pass {
                Pass::Schema(sample) => match &row.problem {
                    Some(problem) => Err(problem.clone()),
                    None => sample.observe(&row.cells.iter().collect::<Vec<_>>()),
                },
                Pass::Moments(inferred, layout, moments) => {
                    let mut fit = Fit::new(&inferred.schema, "line");
                    let features = layout.encode(&inferred.schema, &row, &mut fit);
                    // A schema has features.
                    BoundedRecord::new(features, Bounding::UnitNorm).iter().for_each(|record| moments.add(record));
                    fit.first_unread().map_or(Ok(()), |(_, problem)| Err(problem.to_owned()))
                }
                Pass::Over => Ok(()),
            };
            known.map_err(|what| failure("records", &format!("line {}: {what}", row.line)))?;
            self.count += 1;
            if self.count > MOST_ROWS {
                return Err(too_much("more rows", &"100,000", "rows"));
            }
        }
        let passed = if let Pass::Schema(_) = self.pass { 0.0 } else { 1.0 };
        let share = self.rows.bytes() as f64 / self.file.content.length.max(1) as f64;
        // Before its end it is not over.
        Ok((0.5 * (passed + share)).min(0.999))
    }

    /// After the last row: what is next.
    fn turn(&mut self) -> Result<f64, JsValue> {
        match mem::replace(&mut self.pass, Pass::Over) {
            Pass::Schema(sample) => {
                let inferred = sample.finish().map_err(|error| failure("records", &error))?;
                let dimension = inferred.schema.dimension();
                if dimension > MOST_FEATURES {
                    let found = format!("columns that make {dimension} features");
                    return Err(too_much(&found, &MOST_FEATURES, "features"));
                }
                self.rows = self.file.open()?;
                self.count = 0;
                let layout = Layout::new(&inferred.schema, self.rows.names(), self.rows.notation()).map_err(thrown)?;
                self.pass = Pass::Moments(inferred, layout, SecondMoment::new(dimension, 1.0));
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
        let Pass::Moments(inferred, _, moments) = self.pass else {
            return Err(failure("argument", &"the file is not read to its end: go on with step()"));
        };
        let Inferred { schema, always_zero, missing, rows, warnings, .. } = inferred;
        let second_moment = moments.matrix();
        let population = SpikedCovariance::from_matrix(&second_moment).map_err(thrown)?;
        let json = serde_json::to_string_pretty(&schema).map_err(|error| failure("records", &error))?;
        object(&RecordsFacts {
            schema: format!("{json}\n"),
            rows,
            columns: schema.columns().len(),
            features: schema.feature_names(),
            always_zero,
            missing,
            warnings: warnings.iter().map(ToString::to_string).collect(),
            eigenvalues: population.variances().as_slice().to_vec(),
            second_moment: second_moment.as_slice().to_vec(),
        })
    }
}

/// One collection of reports from people like those of `second_moment`, d × d numbers: what is found by each mechanism,
/// and without one.
#[wasm_bindgen(js_name = trialLike)]
pub fn trial_like(second_moment: &[f64], options: JsValue) -> Result<JsValue, JsValue> {
    let options: LikeOptions = read(options)?;
    let found = options.with_trial(second_moment, |like, rng| like.run(&[RecoveryMethod::Pca], rng))?;
    object(&(found.by_mechanism.concat(), found.non_private))
}

/// The estimate that the only mechanism makes of such a collection, and its noise.
#[wasm_bindgen(js_name = estimateLike)]
pub fn estimate_like(second_moment: &[f64], options: JsValue) -> Result<JsValue, JsValue> {
    let options: LikeOptions = read(options)?;
    let estimates = options.with_trial(second_moment, |like, rng| Ok(like.collect(rng)?.estimates))?;
    let Ok([Estimate { matrix, noise }]) = <[Estimate; 1]>::try_from(estimates) else {
        return Err(failure("argument", &"an estimate is that of one mechanism: give one"));
    };
    object(&(matrix.as_slice(), noise))
}

fn too_much(found: &str, most: &dyn Display, of: &str) -> JsValue {
    let remedy = "take a part of it, or use the command line on the whole";
    failure("records", &format!("the file has {found}, and this page reads at most {most} {of}: {remedy}"))
}

/// A file of the page.
struct File {
    name: String,
    options: TextOptions,
    content: Content,
}

impl File {
    /// Its rows, from the first.
    fn open(&self) -> Result<Rows, JsValue> {
        let refused = |problem: &dyn Display| failure("records", problem);
        let mut content = BufReader::with_capacity(PIECE, self.content.clone());
        let start = start_of(&mut content).map_err(|problem| refused(&problem))?;
        let format = FileFormat::of(&start);
        if format != FileFormat::Text {
            let problem = format!("this is {}, and the page reads text: {}", format.name(), format.remedy());
            return Err(refused(&problem));
        }
        if let Some(problem) = no_table(&start, self.options.separator, &OPTIONS) {
            return Err(refused(&problem));
        }
        let rows = TextRows::open(&self.name, start, content, self.options, looks_like_names);
        rows.map_err(|problem| refused(&problem))
    }
}

/// The bytes of a file, read from its start to its end.
#[derive(Clone)]
struct Content {
    read: Function,
    length: u64,
    position: u64,
}

impl Read for Content {
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
