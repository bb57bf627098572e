//! The `task norms` command: the task of a collection about the lengths of records.

use std::path::PathBuf;

use clap::Args;
use ldp_pca::mechanism::MechanismSpec;
use ldp_pca::privacy::Epsilon;
use ldp_pca::record::{Bounding, Radius};
use ldp_pca::task::{Folds, Task};

use crate::error::Result;
use crate::files;
use crate::output::Format;
use crate::parameters::{epsilon, radius};
use crate::writing::{Kind, Target};

/// Write the task of a small collection about the lengths of records, from which a clipping radius follows
///
/// Each person says with one randomized bit whether the record is longer than one of a few lengths. `norms` reads the
/// sums. Whoever answers this task and the one that follows spends both epsilons: ask other people.
#[derive(Args)]
#[command(override_usage = "ldp-pca task norms [OPTIONS] --schema <SCHEMA> --radius <RADIUS> --epsilon <EPSILON>
       --output <OUTPUT>")]
pub(crate) struct Norms {
    /// The schema file (see `schema infer`)
    #[arg(long)]
    schema: PathBuf,
    /// A length that nearly no record exceeds
    ///
    /// The longest that is asked about is 0.84 times as long
    #[arg(long, value_parser = radius, allow_hyphen_values = true)]
    radius: Radius,
    /// Privacy parameter epsilon, per report
    #[arg(long, value_parser = epsilon, allow_hyphen_values = true)]
    epsilon: Epsilon,
    /// Where to write the task
    #[arg(short, long, value_parser = Target::parser(Kind::Task))]
    output: Target,
    #[command(flatten)]
    format: Format,
}

/// The lengths that are asked about, each 0.84 times the one before.
const THRESHOLDS: u32 = 64;

impl Norms {
    pub(super) fn run(self) -> Result<()> {
        let mechanism = MechanismSpec::norm_cap(self.epsilon, THRESHOLDS);
        let bounding = Bounding::Clip { radius: self.radius };
        let task = Task::new(files::schema(&self.schema)?, bounding, mechanism, Folds::new(1)?)?;
        super::write(&task, &self.output, self.format, false, "")
    }
}
