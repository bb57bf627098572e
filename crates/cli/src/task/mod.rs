//! The `task` commands: `new` here, the others in files of their own.

mod erase;
mod norms;
mod put;
mod refine;
mod types;

pub(super) use self::refine::{public_sample, waves_text};

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ldp_pca::centring::Centring;
use ldp_pca::internal::mechanism::{Moments, Pull};
use ldp_pca::mechanism::{Mechanism, MechanismError, MechanismSpec};
use ldp_pca::privacy::Guarantee;
use ldp_pca::record::Bounding;
use ldp_pca::report::report_bytes;
use ldp_pca::schema::{Column, ColumnKind};
use ldp_pca::task::{Folds, Task};
use serde::Serialize;

use crate::error::Result;
use crate::files;
use crate::hostile::per_report;
use crate::output::{Decimal, Details, Format, fixed, wrote};
use crate::parameters::{CentringArgument, MechanismArguments, bounding, warn_of};
use crate::recover;
use crate::writing::{self, Kind, Target};

#[derive(Subcommand)]
pub(super) enum TaskCommand {
    /// Write a task: schema, bounding, mechanism and its privacy parameters
    New(New),
    /// Give a running aggregator a task to collect for
    Put(put::Put),
    /// Write the task of a second wave, in which other people refine what the first wave found
    Refine(refine::Refine),
    /// Write the task of a small collection about the lengths of records, from which a clipping radius follows
    Norms(norms::Norms),
    /// Delete a task from a running aggregator
    Delete(erase::Delete),
    /// Erase single reports from a running aggregator
    Erase(erase::Erase),
    /// Print a TypeScript module with a task and the type of its records
    Types(types::Types),
}

#[derive(Args)]
pub(super) struct New {
    /// The schema file (see `schema infer`)
    #[arg(long)]
    schema: PathBuf,
    #[command(flatten)]
    mechanism: MechanismArguments,
    /// How records are bounded: unit-norm, or clip:R
    ///
    /// That brings them into the unit ball; R is a radius
    #[arg(long, value_parser = bounding, default_value = "unit-norm")]
    bounding: Bounding,
    #[command(flatten)]
    centring: CentringArgument,
    /// Number of independent sums that reports are split into
    ///
    /// Answers can then be measured on reports that they were not found from [default: 10, or 2 beyond 1,000 features]
    #[arg(long)]
    folds: Option<u32>,
    /// Name of the period that the task is for, as 2026-W48
    ///
    /// The same questions are another task in each period, which everybody answers once
    #[arg(long)]
    period: Option<String>,
    /// Where to write the task
    #[arg(short, long, value_parser = Target::parser(Kind::Task))]
    output: Target,
    #[command(flatten)]
    details: Details,
    #[command(flatten)]
    format: Format,
}

/// What the reports of a task are about.
pub(crate) fn what_about(task: &Task) -> &'static str {
    match task.moments() {
        Err(MechanismError::NoMoments { about, .. }) => about,
        _ => recover::what_about(task.centring().is_some()),
    }
}

/// The guarantee and the cost of a task.
#[derive(Serialize)]
pub(super) struct TaskSummary {
    pub(super) digest: String,
    pub(super) features: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    period: Option<String>,
    /// What the text says that the reports are about.
    #[serde(skip)]
    about: &'static str,
    pub(super) bounding: Bounding,
    /// Whether components are about an estimated mean; otherwise they are about zero.
    pub(super) centred: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) centring: Option<CentringSummary>,
    pub(super) mechanism: MechanismSpec,
    pub(super) folds: usize,
    pub(super) guarantee: Guarantee,
    pub(super) report_bytes: usize,
    /// Standard deviation of one off-diagonal entry of the second moments of one report, in the units of the bounded
    /// record; `None` where the reports are not about second moments.
    pub(super) entry_deviation: Option<f64>,
    /// The most that one hostile report can move an eigenvalue of the second moments, times the number of reports, in
    /// the same units.
    pub(super) pull: Option<Pull>,
}

/// The cost in noise of estimating the mean.
#[derive(Serialize)]
pub(super) struct CentringSummary {
    weight: f64,
    /// The deviation of an entry of the second moments, as a multiple of what it is without centring.
    noise_factor: f64,
    /// Standard deviation of one entry of the mean of one report, in the units of the bounded record.
    mean_deviation: f64,
}

impl CentringSummary {
    fn of(mechanism: &Mechanism, centring: Centring) -> Self {
        Self {
            weight: centring.weight(),
            noise_factor: centring.covariance_factor(),
            mean_deviation: centring.mean_factor() * mechanism.deviation_beside(centring.weight()),
        }
    }

    fn text(&self) -> String {
        format!(
            "centring   weight {}: {:.2} times the noise per entry, as if {:.0} % of the reports were missing; \
             {} per entry of the mean of one report\n",
            self.weight,
            self.noise_factor,
            100.0 * (1.0 - self.noise_factor.powi(-2)),
            fixed(self.mean_deviation, 4)
        )
    }
}

impl TaskSummary {
    pub(super) fn of(task: &Task) -> Self {
        let (moments, factor) = (task.moments().ok(), task.centring().map_or(1.0, Centring::covariance_factor));
        Self {
            digest: task.digest().to_string(),
            features: task.dimension(),
            period: task.period().map(str::to_owned),
            about: what_about(task),
            bounding: task.bounding(),
            centred: task.centring().is_some(),
            centring: moments.zip(task.centring()).map(|(moments, centring)| CentringSummary::of(moments, centring)),
            mechanism: task.mechanism_spec(),
            folds: task.folds().count(),
            guarantee: task.guarantee(),
            report_bytes: report_bytes(task),
            entry_deviation: moments.map(|moments| moments.entry_deviation() * factor),
            pull: moments.map(|moments| moments.pull().scaled(factor)),
        }
    }

    /// What it promises; in `details` also the noise of one report, and what a hostile one can do.
    pub(super) fn text(&self, details: bool) -> String {
        let mechanism = self.mechanism;
        let bounding = match self.bounding {
            Bounding::UnitNorm => "unit norm".to_owned(),
            Bounding::Clip { radius } => format!("clipped to radius {}", Decimal(radius.value())),
        };
        let matrix = match self.centring {
            // The effect of a report on the covariance depends on the mean, too.
            Some(_) => "the second moments of bounded records (`recover` has the covariance's)",
            None => "the second moments of bounded records",
        };
        let centring = self.centring.as_ref().map(CentringSummary::text).unwrap_or_default();
        let period = self.period.as_ref().map(|period| format!("period     {period}\n")).unwrap_or_default();
        let mut text = format!(
            "task       {}\n{period}features   {}, {bounding}\nabout      {}\n{centring}mechanism  {mechanism}\n\
             guarantee  {}\nreport     {} bytes\n",
            self.digest, self.features, self.about, self.guarantee, self.report_bytes,
        );
        if let (true, Some(deviation), Some(pull)) = (details, self.entry_deviation, self.pull) {
            text += &format!(
                "noise      {} per off-diagonal entry of one report\nhostile    {}",
                fixed(deviation, 4),
                per_report(pull, matrix)
            );
        }
        text
    }
}

impl TaskCommand {
    pub(super) fn run(self) -> Result<()> {
        run!(self, New Put Refine Norms Delete Erase Types)
    }
}

/// What to do about a mean away from zero, where nothing is done about it.
fn hint(task: &Task) -> String {
    let away = |column: &Column| match column.kind {
        ColumnKind::Numeric { offset, .. } => offset == 0.0,
        ColumnKind::Categorical { .. } => true,
        ColumnKind::Ignored => false,
    };
    let can_be_centred = task.centring().is_none() && task.with_centring(Centring::default()).is_ok();
    if !can_be_centred || !task.schema().columns().iter().any(away) {
        return String::new();
    }
    format!(
        "hint       where the mean is away from zero, it becomes the first component: --centre estimates it too, and \
         components about it, for {:.2} times the people. Or give public centres as `offset` in the schema, as \
         `schema infer` finds them in a public sample. A mean with half of the second moments takes 4 times the \
         people, one with 90 % 100 times: `plan --sample` says what yours has\n",
        Centring::default().covariance_factor().powi(2)
    )
}

impl New {
    fn run(self) -> Result<()> {
        let schema = files::schema(&self.schema)?;
        let folds = match self.folds {
            Some(folds) => Folds::new(folds)?,
            None => Folds::usual(schema.dimension()),
        };
        let spec = self.mechanism.spec()?;
        let mut task = Task::of_parts(schema, self.bounding, self.centring.centre, spec, folds)?;
        if let Some(period) = &self.period {
            task = task.with_period(period)?;
        }
        write(&task, &self.output, self.format, self.details.wanted, &hint(&task))
    }
}

/// Writes a task, and prints what it guarantees and costs.
fn write(task: &Task, output: &Target, format: Format, details: bool, hint: &str) -> Result<()> {
    writing::write(output, format!("{}\n", task.to_json()).as_bytes())?;
    warn_of(&task.guarantee());
    format.print(&TaskSummary::of(task), |summary| format!("{}{hint}{}", summary.text(details), wrote(Some(output))))
}
