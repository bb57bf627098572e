//! The `encode` command: the features of records, as reports have them before they are randomized.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use super::error::Result;
use super::files;
use super::output::{Format, note, plural};
use super::records::{self, Counts, Reading};
use super::writing::{self, Target};

/// Show the features of records, as reports have them before they are randomized.
///
/// They are as private as the records. A row has the d features of a record, in the units of the encoded features; what
/// is missing is 0.
#[derive(Args)]
pub(super) struct Encode {
    /// Records
    ///
    /// They are read as `randomize` reads them
    #[arg(help = records::RECORDS)]
    records: PathBuf,
    /// The task file
    #[arg(short, long)]
    task: PathBuf,
    /// Where to write the features: .csv with their names, or .npy
    ///
    /// There is a row for each record
    #[arg(short, long, value_parser = Target::in_formats(&["csv", "npy"], "features can be written as .csv or .npy"))]
    output: Target,
    /// Bound every record, as the task says: to norm 1, or to at most its radius
    #[arg(long)]
    bounded: bool,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct EncodeResult {
    #[serde(flatten)]
    counts: Counts,
    dimension: usize,
    bounded: bool,
    seconds: f64,
    output: Target,
}

impl Encode {
    pub(super) fn run(self) -> Result<()> {
        let started = Instant::now();
        let task = files::task(&self.task)?;
        let counts = writing::write_rows(&self.output, task.schema().feature_names(), |visit| {
            records::features(&self.records, &task, self.bounded, &self.reading.of_device(task.schema()), visit)
        })?;
        note("note: these features are as private as the records");
        let result = EncodeResult {
            counts,
            dimension: task.dimension(),
            bounded: self.bounded,
            seconds: started.elapsed().as_secs_f64(),
            output: self.output,
        };
        self.format.print(&result, |EncodeResult { counts, dimension, seconds, output, .. }| {
            written(counts, &plural(*dimension as u64, "feature"), *seconds, output)
        })
    }
}

/// What was written of records, in words.
pub(super) fn written(counts: &Counts, what: &str, seconds: f64, output: &Target) -> String {
    let mut text = format!("{} of {what} in {seconds:.1} s\n", plural(counts.records, "record"));
    text += &counts.unread_text();
    if counts.missing > 0 {
        text += &format!("{}, which are 0\n", plural(counts.missing, "missing value"));
    }
    text + &format!("wrote {output}\n")
}
