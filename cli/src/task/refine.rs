//! The `task refine` command: the task of a second wave.

use std::path::PathBuf;

use clap::Args;
use ldp_pca::prediction::{PredictionError, TwoWaves};
use ldp_pca::recovery::{Rank, RefineError, SecondTask};
use ldp_pca::refinement::MAX_DIRECTIONS;
use ldp_pca::schema::MAX_DIMENSION;
use serde::Serialize;

use crate::error::{CliError, Result};
use crate::files;
use crate::output::{Format, grouped, wrote};
use crate::parameters;
use crate::writing::{self, Kind, Target};

/// Write the task of a second wave, in which other people refine what the first wave found
///
/// Its people report only what is between the components that the first wave found and all that is across them. Nobody
/// may answer both waves. Where the prediction says that a second wave does not pay, the command refuses.
#[derive(Args)]
pub(crate) struct Refine {
    /// The sums of the first wave
    #[arg(long)]
    aggregate: PathBuf,
    /// The task of the first wave
    #[arg(short, long)]
    task: PathBuf,
    /// Number of components, k
    #[arg(long, value_parser = parameters::rank, default_value = "3")]
    rank: Rank,
    /// The number of people that the second wave will have [default: as many as the first]
    #[arg(long, value_name = "N")]
    records: Option<u64>,
    /// Write the task also where a second wave does not pay
    #[arg(long)]
    anyway: bool,
    /// Where to write the task
    #[arg(short, long, visible_alias = "out", value_parser = Target::parser(Kind::Task))]
    output: Target,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct RefineSummary {
    digest: String,
    parent: String,
    rank: usize,
    waves: TwoWaves,
}

impl Refine {
    pub(super) fn run(self) -> Result<()> {
        let task = files::task(&self.task)?;
        self.rank.check(task.dimension()).map_err(CliError::usage)?;
        SecondTask::placeholder(&task, self.rank).map_err(|error| match error {
            RefineError::Refinement(_) => CliError::Usage(format!(
                "--rank is {}: a second wave refines at most {MAX_DIRECTIONS} components, fewer than there are \
                 features, of at most {MAX_DIMENSION} loadings in all",
                self.rank.value()
            )),
            RefineError::Prediction(PredictionError::OneWave) => {
                let name = task.mechanism_spec().name().as_str();
                let problem = "a second wave refines double-cap: ask everybody in one wave";
                CliError::file(&self.task, format!("the mechanism of the task is {name}, and {problem}"))
            }
            other => CliError::file(&self.task, other),
        })?;
        let aggregate = files::aggregate(&self.aggregate, &task)?;
        if self.records == Some(0) {
            return Err(CliError::Usage("--records is 0: it must be at least 1".into()));
        }
        let made = SecondTask::of(&aggregate, &task, self.rank, self.records).map_err(|error| match error {
            RefineError::Aggregate(_) | RefineError::Covariance(_) => CliError::file(&self.aggregate, error),
            other => other.into(),
        });
        let SecondTask { task: refined, waves } = made?;
        if let (Some(reason), false) = (&waves.refused, self.anyway) {
            return Err(CliError::Failed(format!("{reason} (--anyway writes the task all the same)")));
        }
        writing::write(&self.output, format!("{}\n", refined.to_json()).as_bytes())?;
        let summary = RefineSummary {
            digest: refined.digest().to_string(),
            parent: task.digest().to_string(),
            rank: self.rank.value(),
            waves,
        };
        let output = self.output;
        self.format.print(&summary, |summary| format!("{}{}", summary.text(), wrote(Some(&output))))
    }
}

impl RefineSummary {
    fn text(&self) -> String {
        format!(
            "task       {}\nrefines    {} components of task {}\n{}people     nobody may answer both waves\n",
            self.digest,
            self.rank,
            self.parent,
            waves_text(&self.waves)
        )
    }
}

/// What two waves are predicted to do.
pub(crate) fn waves_text(waves: &TwoWaves) -> String {
    let [first, second] = waves.records.map(grouped);
    let mut text = format!(
        "waves      {first} people, then {second} others ({:.0} % first)\n\
         predicted  {:.4} after the first wave, {:.4} after both; {:.4} for everybody in one wave: {:.2} times\n\
         \u{20}          (for elliptical records of one length with an isotropic rest; {:.0} % are shortened)\n\
         \u{20}          for others up to about {:.4} after both\n",
        100.0 * waves.share,
        waves.first_wave,
        waves.sin_theta_squared,
        waves.one_wave,
        waves.gain,
        100.0 * waves.clipped,
        waves.not_elliptical,
    );
    if let Some(reason) = &waves.refused {
        text += &format!("advice     one wave: {reason}\n");
    }
    text
}
