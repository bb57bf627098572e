//! The `encode` command: the features of records, as reports have them before they are randomized.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use ldp_pca::task::Task;
use serde::Serialize;

use super::error::Result;
use super::files;
use super::output::{Format, note, plural};
use super::records::{self, Counts, Reading};
use super::writing::{self, NpyRows, Output, Target};

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
        let is_npy = self.output.extension().is_some_and(|extension| extension == "npy");
        let task = files::task(&self.task)?;
        let counts = if is_npy {
            let mut rows = NpyRows::create(&self.output, task.dimension())?;
            let counts = self.read(&task, |features| rows.write(features))?;
            rows.finish()?;
            counts
        } else {
            self.write_csv(&task)?
        };
        note("note: these features are as private as the records");
        let result = EncodeResult {
            counts,
            dimension: task.dimension(),
            bounded: self.bounded,
            seconds: started.elapsed().as_secs_f64(),
            output: self.output,
        };
        self.format.print(&result, |result| {
            let counts = &result.counts;
            let (records, features) = (plural(counts.records, "record"), plural(result.dimension as u64, "feature"));
            let mut text = format!("{records} of {features} in {:.1} s\n", result.seconds);
            text += &counts.unread_text();
            if counts.missing > 0 {
                text += &format!("{}, which are 0\n", plural(counts.missing, "missing value"));
            }
            text + &format!("wrote {}\n", result.output)
        })
    }

    fn write_csv(&self, task: &Task) -> Result<Counts> {
        let mut lines = writing::csv(&self.output, [task.schema().feature_names()])?;
        let mut output = Output::create(&self.output)?;
        let counts = self.read(task, |features| {
            for (place, feature) in features.iter().enumerate() {
                // Numbers need no quotes.
                let separator = if place == 0 { "" } else { "," };
                write!(lines, "{separator}{feature}")?;
            }
            lines.push(b'\n');
            output.put(&lines)?;
            lines.clear();
            Ok(())
        })?;
        output.finish()?;
        Ok(counts)
    }

    /// Calls `visit` with the features of every record.
    fn read(&self, task: &Task, visit: impl FnMut(&[f64]) -> Result<()>) -> Result<Counts> {
        records::features(&self.records, task, self.bounded, &self.reading.of_device(task.schema()), visit)
    }
}
