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

/// What was written of records.
#[derive(Serialize)]
pub(super) struct Written<T> {
    #[serde(flatten)]
    pub(super) counts: Counts,
    /// What else programs are told.
    #[serde(flatten)]
    pub(super) beside: T,
    pub(super) seconds: f64,
    pub(super) output: Target,
}

#[derive(Serialize)]
struct Features {
    dimension: usize,
    bounded: bool,
}

impl Encode {
    pub(super) fn run(self) -> Result<()> {
        let started = Instant::now();
        let task = files::task(&self.task)?;
        let (schema, scale) = (task.schema(), task.bounding().length_scale());
        let counts = writing::write_rows(&self.output, schema.feature_names(), |visit| {
            records::read(&self.records, schema, &self.reading.of_device(schema), |mut features| {
                if self.bounded {
                    let record = task.bound(features)?;
                    features = record.coordinates().iter().map(|value| value * scale).collect();
                }
                visit(&features)
            })
        })?;
        note("note: these features are as private as the records");
        let beside = Features { dimension: task.dimension(), bounded: self.bounded };
        let result = Written { counts, beside, seconds: started.elapsed().as_secs_f64(), output: self.output };
        let features = plural(task.dimension() as u64, "feature");
        self.format.print(&result, |result| result.text(("record", &features), "", "are 0"))
    }
}

impl<T> Written<T> {
    /// In words: how many there are of a unit that has so much, what they promise, and what missing values do.
    pub(super) fn text(&self, (unit, what): (&str, &str), promise: &str, missing: &str) -> String {
        let Self { counts, seconds, output, .. } = self;
        let mut text = format!("{} of {what} in {seconds:.1} s\n{promise}", plural(counts.records, unit));
        text += &counts.unread_text();
        if counts.missing > 0 {
            text += &format!("{}, which {missing}\n", plural(counts.missing, "missing value"));
        }
        text + &format!("wrote {output}\n")
    }
}
