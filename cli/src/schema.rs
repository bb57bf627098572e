//! The `schema infer` command: a schema from a public sample.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use ldp_pca::schema::Unseen;
use ldp_pca::schema::infer::{InferenceOptions, Inferred, Scaling};
use ldp_pca_records::Sample;
use serde::Serialize;

use super::choice::{Choice, one_of};
use super::error::{CliError, InFile as _, Result};
use super::output::{Format, grouped, note};
use super::records::{Opening, RecordFile, Row, looks_like_names};
use super::writing::{self, Kind, Target};

#[derive(Subcommand)]
pub(super) enum SchemaCommand {
    /// Write a schema from a public sample of records
    ///
    /// This command reads its input: which columns are numeric, how large they get, which categories exist. All of it
    /// becomes part of the public task. So the sample must be public: never infer a schema from the records to be
    /// protected.
    Infer(Infer),
}

#[derive(Args)]
pub(super) struct Infer {
    /// A public sample: CSV (with or without header), NPY, Parquet or Arrow, gzip or not
    sample: PathBuf,
    /// Where to write the schema [default: standard output]
    #[arg(short, long, value_parser = Target::parser(Kind::Schema))]
    output: Option<Target>,
    #[command(flatten)]
    opening: Opening,
    /// A column to leave out, by name (c1, c2, … in a file without header); may be repeated
    #[arg(long, value_name = "COLUMN")]
    ignore: Vec<String>,
    /// A column whose numbers are categories; may be repeated
    #[arg(long, value_name = "COLUMN")]
    categorical: Vec<String>,
    /// How numeric columns are scaled
    #[arg(long, value_parser = one_of(&SCALINGS), default_value = "max-abs")]
    scaling: Scaling,
    /// What a categorical value that is not in the sample does to a record
    #[arg(long, value_parser = one_of(&UNSEEN), default_value = "zero")]
    unseen: Unseen,
    /// The largest number of categories of one column
    #[arg(long, default_value_t = 256)]
    max_values: usize,
    #[command(flatten)]
    format: Format,
}

const SCALINGS: [Choice<Scaling>; 4] = [
    ("max-abs", "Largest magnitude 1", Scaling::MaxAbs),
    ("range", "From 0 to 1", Scaling::Range),
    ("standard", "Mean 0, standard deviation 1", Scaling::Standard),
    ("none", "As they are", Scaling::None),
];
const UNSEEN: [Choice<Unseen>; 2] = [
    ("zero", "All features of the column are 0", Unseen::Zero),
    ("other", "It counts as the value 'other', which is listed too", Unseen::Other),
];

#[derive(Serialize)]
struct InferResult {
    rows: u64,
    features: usize,
    always_zero: Vec<String>,
    missing: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Target>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<serde_json::Value>,
}

impl SchemaCommand {
    pub(super) fn run(self) -> Result<()> {
        let Self::Infer(infer) = self;
        infer.run()
    }
}

impl Infer {
    fn run(self) -> Result<()> {
        note("note: the schema is public and describes what this sample holds, so the sample must be public");
        let options = InferenceOptions {
            scaling: self.scaling,
            unseen: self.unseen,
            ignore: self.ignore,
            categorical: self.categorical,
            max_values: self.max_values,
        };
        let inferred = infer(&self.sample, self.opening, &options)?;
        let json = serde_json::to_string_pretty(&inferred.schema).map_err(CliError::failed)?;
        if let Some(output) = &self.output {
            writing::write(output, format!("{json}\n").as_bytes())?;
        }
        let result = InferResult {
            rows: inferred.rows,
            features: inferred.schema.dimension(),
            always_zero: inferred.always_zero,
            missing: inferred.missing.into_iter().collect(),
            schema: if self.output.is_none() { serde_json::to_value(&inferred.schema).ok() } else { None },
            output: self.output,
        };
        self.format.print(&result, |result| {
            let Some(output) = &result.output else { return json };
            let mut text =
                format!("{} rows give {} features\nwrote {output}\n", grouped(result.rows), result.features,);
            if !result.always_zero.is_empty() {
                text += &format!("left out, zero or missing in every row: {}\n", result.always_zero.join(", "));
            }
            for (column, count) in &result.missing {
                text += &format!("missing in {} rows: {column}\n", grouped(*count));
            }
            text
        })
    }
}

/// Reads a sample and infers its schema.
pub(super) fn infer(path: &Path, opening: Opening, options: &InferenceOptions) -> Result<Inferred> {
    let mut file = RecordFile::open(path, opening, looks_like_names)?;
    file.only(|name| !options.ignore.iter().any(|ignored| ignored == name), false);
    let part = file.part();
    let columns = file.columns();
    let mut sample = Sample::new(&columns, options.clone(), file.notation())
        .map_err(|error| CliError::file(path, opening.told(error, &columns)))?;
    file.for_each(|line, row| {
        let texts: Vec<String>;
        let fields: Vec<&str> = match row {
            Row::Text(fields) => fields.iter().collect(),
            Row::Unreadable(problem) => return Err(CliError::line(path, line, problem)),
            Row::Numbers(numbers) => {
                texts = numbers.iter().map(ToString::to_string).collect();
                texts.iter().map(String::as_str).collect()
            }
        };
        sample.observe(&fields).map_err(|problem| CliError::at(path, part, line, opening.told(problem, row)))
    })?;
    sample.finish().in_file(path)
}
