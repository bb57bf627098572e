//! The `task refine` command: the task of a second wave, or of one about the directions of a public sample.

use std::path::{Path, PathBuf};

use clap::Args;
use ldp_pca::internal::waves::{MAX_DIRECTIONS, PublicSample, RefineError, SamplePlan, SecondTask, TwoWaves};
use ldp_pca::prediction::PredictionError;
use ldp_pca::recovery::Rank;
use ldp_pca::schema::MAX_DIMENSION;
use ldp_pca::task::Task;
use ldp_pca_simulation::SecondMoment;
use serde::Serialize;

use crate::error::{CliError, Result};
use crate::files;
use crate::output::{Decimal, Format, grouped, plural, wrote};
use crate::parameters;
use crate::records::{self, Counts, Reading};
use crate::writing::{self, Kind, Target};

/// Write the task of a second wave, in which other people refine what the first wave found
///
/// Its people report only what is between the components that the first wave found and all that is across them. Nobody
/// may answer both waves. A public sample can take the place of the first wave. Where the prediction says that the wave
/// does not pay, the command refuses, by the rule of `plan --waves 2`. What the first wave estimated varies, so a gain
/// of 1.1 is enough here where a plan asks for 1.2. Give --records as planned.
#[derive(Args)]
pub(crate) struct Refine {
    /// The sums of the first wave
    #[arg(long, required_unless_present = "sample")]
    aggregate: Option<PathBuf>,
    /// In their place public records
    ///
    /// They are read as `randomize` reads them
    #[arg(long, value_name = "RECORDS", conflicts_with = "aggregate", requires = "records")]
    sample: Option<PathBuf>,
    /// How far the leading directions of the sample are off, as ||sin Theta||_F^2 [default: as those of a sample of the
    /// same population]
    #[arg(long, value_name = "ERROR", requires = "sample", allow_hyphen_values = true, help_heading = "Public sample")]
    sample_error: Option<f64>,
    /// The task of the first wave
    ///
    /// Or the one whose people the sample stands for
    #[arg(short, long)]
    task: PathBuf,
    /// Number of components, k
    #[arg(long, value_parser = parameters::rank, default_value = "3")]
    rank: Rank,
    /// The number of people that the second wave will have
    ///
    /// [default: as many as the first; with --sample it is needed]
    #[arg(long, value_name = "N", value_parser = parameters::count())]
    records: Option<u64>,
    /// Write the task also where a second wave does not pay
    #[arg(long)]
    anyway: bool,
    /// Where to write the task
    #[arg(short, long, value_parser = Target::parser(Kind::Task))]
    output: Target,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct RefineSummary {
    digest: String,
    parent: String,
    rank: usize,
    waves: TwoWaves,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<SampleSummary>,
}

/// What is known of a public sample.
#[derive(Serialize)]
struct SampleSummary {
    #[serde(flatten)]
    counts: Counts,
    /// Whether `--sample-error` says how far it is off. Otherwise it is of the same population.
    stated: bool,
    /// The prediction where it is off by more or less.
    otherwise: Vec<SamplePlan>,
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
                let name = task.mechanism_spec().name();
                let problem = "a second wave refines double-cap: ask everybody in one wave";
                CliError::file(&self.task, format!("the mechanism of the task is {name}, and {problem}"))
            }
            other => CliError::file(&self.task, other),
        })?;
        let (SecondTask { task: refined, waves }, sample) = match (&self.aggregate, &self.sample, self.records) {
            (_, Some(sample), Some(records)) => self.of_sample(sample, &task, records)?,
            (Some(aggregate), ..) => (self.of_sums(aggregate, &task)?, None),
            // What the options say.
            _ => return Err(CliError::Usage("--aggregate, or --sample with --records, is missing".into())),
        };
        if let (Some(reason), false) = (&waves.refused, self.anyway) {
            let counted = match self.records {
                None => format!(
                    "this is for {} people in the second wave, as many as in the first: --records has their number; ",
                    grouped(waves.records[1])
                ),
                Some(_) => String::new(),
            };
            return Err(CliError::Failed(format!("{reason} ({counted}--anyway writes the task all the same)")));
        }
        writing::write(&self.output, format!("{}\n", refined.to_json()).as_bytes())?;
        let summary = RefineSummary {
            digest: refined.digest().to_string(),
            parent: task.digest().to_string(),
            rank: self.rank.value(),
            waves,
            sample,
        };
        let output = self.output;
        self.format.print(&summary, |summary| format!("{}{}", summary.text(), wrote(Some(&output))))
    }

    fn of_sums(&self, path: &Path, task: &Task) -> Result<SecondTask> {
        let aggregate = files::aggregate(path, task, "--task")?;
        SecondTask::of(&aggregate, task, self.rank, self.records).map_err(|error| match error {
            RefineError::Aggregate(_) | RefineError::Covariance(_) => CliError::file(path, error),
            other => other.into(),
        })
    }

    fn of_sample(&self, path: &Path, task: &Task, records: u64) -> Result<(SecondTask, Option<SampleSummary>)> {
        if let Some(error) = self.sample_error {
            let refused = |error| CliError::usage(format!("--sample-error: {error}"));
            PublicSample::check_error(error, task.dimension(), self.rank).map_err(refused)?;
        }
        let (sample, counts) = public_sample(path, task, &self.reading)?;
        let (made, otherwise) = sample.second_task(task, self.rank, records, self.sample_error)?;
        Ok((made, Some(SampleSummary { counts, stated: self.sample_error.is_some(), otherwise })))
    }
}

/// Reads public records as a device has its own.
pub(crate) fn public_sample(path: &Path, task: &Task, reading: &Reading) -> Result<(PublicSample, Counts)> {
    let mut moment = SecondMoment::of_task(task);
    let (schema, reading) = (task.schema(), reading.of_device(task.schema()));
    let counts = records::read(path, schema, &reading, |features| {
        moment.add(&task.bound(features)?);
        Ok(())
    })?;
    let records = moment.records();
    Ok((PublicSample::new(moment.matrix(), records, task)?, counts))
}

impl RefineSummary {
    fn text(&self) -> String {
        let waves = match &self.sample {
            Some(sample) => sample.text(&self.waves),
            None => format!("{}people     nobody may answer both waves\n", waves_text(&self.waves, false)),
        };
        format!("{waves}task       {}\n", self.digest)
    }
}

impl SampleSummary {
    fn text(&self, waves: &TwoWaves) -> String {
        let assumed = match self.stated {
            true => "are off by that much, as --sample-error says",
            false => "are of the same population: nothing here can tell",
        };
        let mut text = format!(
            "{}{}assumed    the {} {assumed}\n",
            waves_text(waves, true),
            self.counts.unread_text(),
            plural(self.counts.records, "public record"),
        );
        for SamplePlan { error, waves } in &self.otherwise {
            let refused = waves.refused.map(|reason| format!("; {} is advised", reason.advice())).unwrap_or_default();
            text += &format!(
                "otherwise  off by {}: {:.4} after the wave, {:.2} times{refused}\n",
                Decimal(*error),
                waves.sin_theta_squared,
                waves.gain
            );
        }
        text + "people     whoever answers this task may not answer the other one, too\n"
    }
}

/// What two waves are predicted to do, or a wave about the directions of a public sample in the first one's place.
pub(crate) fn waves_text(waves: &TwoWaves, is_of_sample: bool) -> String {
    let [first, second] = waves.records.map(grouped);
    let (people, start, end) = if is_of_sample {
        (format!("{second} people are asked about the sample's directions"), "of the sample", "the wave")
    } else {
        let people = format!("{first} people, then {second} others ({:.0} % first)", 100.0 * waves.share);
        (people, "after the first wave", "both")
    };
    let mut text = format!(
        "waves      {people}\n\
         predicted  {:.4} {start}, {:.4} after {end}; {:.4} in one wave: {:.2} times\n\
         \u{20}          (for elliptical records, {:.0} % shortened; for others up to about {:.4})\n",
        waves.first_wave,
        waves.sin_theta_squared,
        waves.one_wave,
        waves.gain,
        100.0 * waves.clipped,
        waves.not_elliptical,
    );
    if let Some(reason) = &waves.refused {
        text += &format!("advice     {}: {reason}\n", reason.advice());
    }
    text
}
