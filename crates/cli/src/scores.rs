//! The `scores` command: the places of records among published components.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use super::encode::Written;
use super::error::Result;
use super::files;
use super::output::{Format, note, plural};
use super::records::{self, Reading};
use super::writing::{self, Target};

/// Show the scores of records: their places along published components.
///
/// They are as private as the records. A row has the score of a record along each component, as `transform` of the
/// Python package and `components.scores` of the npm package give it. What is missing counts as 0.
#[derive(Args)]
pub(super) struct Scores {
    /// Records
    ///
    /// They are read as `randomize` reads them
    #[arg(help = records::RECORDS)]
    records: PathBuf,
    /// The components (see `recover -o components.json`)
    #[arg(short, long)]
    components: PathBuf,
    /// Where to write the scores: .csv with names, or .npy
    ///
    /// There is a row for each record
    #[arg(short, long, value_parser = Target::in_formats(&["csv", "npy"], "scores can be written as .csv or .npy"))]
    output: Target,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    format: Format,
}

impl Scores {
    pub(super) fn run(self) -> Result<()> {
        let started = Instant::now();
        let components = files::components(&self.components)?;
        let (schema, rank) = (components.schema(), components.rank());
        let counts = writing::write_rows(&self.output, writing::component_names(rank), |visit| {
            let reading = self.reading.of_device(schema);
            records::read(&self.records, schema, &reading, |features| visit(&components.scores(&features)?))
        })?;
        note("note: these scores are as private as the records");
        let (beside, seconds) = (BTreeMap::from([("rank", rank)]), started.elapsed().as_secs_f64());
        let result = Written { counts, beside, seconds, output: self.output };
        self.format.print(&result, |result| result.text(("record", &plural(rank as u64, "score")), "", "are 0"))
    }
}
