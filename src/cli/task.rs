//! `task new`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ldp_pca::mechanism::{LocalRandomizer, MechanismSpec};
use ldp_pca::privacy::Guarantee;
use ldp_pca::record::Bounding;
use ldp_pca::report::report_bytes;
use ldp_pca::schema::Schema;
use ldp_pca::task::{Folds, Task, TaskError};
use serde::Serialize;

use super::error::{CliError, Result};
use super::files;
use super::output::Format;
use super::parameters::{MechanismArguments, bounding};

#[derive(Subcommand)]
pub(super) enum TaskCommand {
    /// Write a task: schema, bounding, mechanism and its privacy parameters
    New(New),
}

#[derive(Args)]
pub(super) struct New {
    /// The schema file (see `schema infer`)
    #[arg(long)]
    schema: PathBuf,
    #[command(flatten)]
    mechanism: MechanismArguments,
    /// How records are brought into the unit ball: unit-norm, or clip:R with a radius R
    #[arg(long, value_parser = bounding, default_value = "unit-norm")]
    bounding: Bounding,
    /// Into how many independent sums reports are split, for cross-validation
    #[arg(long, default_value_t = 1)]
    folds: u32,
    /// Where to write the task
    #[arg(short, long)]
    output: PathBuf,
    #[command(flatten)]
    format: Format,
}

/// What a task promises and costs.
#[derive(Serialize)]
pub(super) struct TaskSummary {
    pub(super) digest: String,
    pub(super) features: usize,
    pub(super) bounding: Bounding,
    pub(super) mechanism: MechanismSpec,
    pub(super) folds: u32,
    pub(super) guarantee: Guarantee,
    pub(super) report_bytes: usize,
    /// Standard deviation of one off-diagonal covariance entry of one report, in the units of the bounded record.
    pub(super) entry_deviation: f64,
}

impl TaskSummary {
    pub(super) fn of(task: &Task) -> Self {
        Self {
            digest: task.digest().to_string(),
            features: task.dimension(),
            bounding: task.bounding(),
            mechanism: task.mechanism_spec(),
            folds: task.folds().into(),
            guarantee: task.guarantee(),
            report_bytes: report_bytes(task),
            entry_deviation: task.mechanism().entry_deviation(),
        }
    }

    pub(super) fn text(&self) -> String {
        let mechanism = match self.mechanism {
            MechanismSpec::DoubleCap { candidates, cap, .. } => format!("double-cap, {cap} of {candidates} candidates"),
            MechanismSpec::Gaussian { calibration, delta, .. } => {
                format!("gaussian, {calibration:?} calibration, delta {delta}").to_lowercase()
            }
        };
        let bounding = match self.bounding {
            Bounding::UnitNorm => "unit norm".to_owned(),
            Bounding::Clip { radius } => format!("clipped to radius {}", radius.value()),
        };
        format!(
            "task       {}\nfeatures   {}, {bounding}\nmechanism  {mechanism}\nguarantee  {}\nreport     {} bytes\nnoise      {:.4} per off-diagonal entry of one report\n",
            self.digest, self.features, self.guarantee, self.report_bytes, self.entry_deviation
        )
    }
}

impl TaskCommand {
    pub(super) fn run(self) -> Result<()> {
        match self {
            Self::New(new) => new.run(),
        }
    }
}

impl New {
    fn run(self) -> Result<()> {
        let schema: Schema =
            serde_json::from_str(&files::text(&self.schema)?).map_err(|error| CliError::file(&self.schema, error))?;
        let folds = Folds::new(self.folds).map_err(|error| CliError::Usage(error.to_string()))?;
        let spec = self.mechanism.spec()?;
        let task = Task::new(schema, self.bounding, spec, folds).map_err(|error| match error {
            TaskError::Mechanism(problem) => CliError::wrong_mechanism(problem),
            other => other.into(),
        })?;
        files::write(&self.output, format!("{}\n", task.to_json()).as_bytes())?;
        let output = self.output;
        self.format.print(&TaskSummary::of(&task), |summary| format!("{}wrote {}\n", summary.text(), output.display()))
    }
}
