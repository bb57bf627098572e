//! The `plan` command: what to expect of a collection, predicted.

mod result;
mod sample;

use std::path::PathBuf;

use clap::Args;
use ldp_pca::covariance::Covariance;
use ldp_pca::internal::lengths::Clipping;
use ldp_pca::internal::waves::Waves;
use ldp_pca::mechanism::MechanismFamily;
use ldp_pca::prediction::{self, Batches, Goal, Planner, Spectrum};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::{Bounding, Radius};
use ldp_pca::recovery::Rank;
use ldp_pca_pictures as pictures;

use self::result::PlanResult;
use self::sample::SampleResult;
use super::error::{CliError, Result};
use super::files;
use super::hostile::HostileArguments;
use super::norms;
use super::output::{Details, Format, spinner};
use super::parameters::{self, Eigenvalues, MechanismParameters, PopulationMean};
use super::records::Reading;
use super::writing::{self, Target};

/// Predict how many users it takes, before anybody is asked
///
/// Predicts which share of the structure the recovered components find (100 % is all that k components can capture, 0 %
/// what a random subspace captures on average), and their error ||sin Theta||_F^2 (0 for the same subspace, and k (1 -
/// k/d) for a random one), from the eigenvalues of the records' second-moment matrix, which for records of norm 1 sum
/// to 1. An aggregate gives those of its estimate, a public sample those of its bounded records: of a sample it also
/// says what bounding makes of it, and which other task has less error. Nothing is simulated. With centring the
/// eigenvalues are those of the covariance.
#[derive(Args)]
pub(super) struct Plan {
    /// Number of features, d
    #[arg(long, value_parser = parameters::dimension, required_unless_present_any = ["aggregate", "sample"])]
    dimension: Option<usize>,
    /// Number of components, k
    #[arg(long, value_parser = parameters::rank, default_value = "3")]
    rank: Rank,
    /// The largest eigenvalues of bounded records: 0.646,0.176,0.088
    ///
    /// As shares of the total variance, separated by commas. Best one more than components
    #[arg(long, value_name = "SHARES", value_parser = parameters::eigenvalues, allow_hyphen_values = true)]
    #[arg(required_unless_present_any = ["aggregate", "sample"])]
    spectrum: Option<Eigenvalues>,
    /// Every other eigenvalue [default: the rest of 1, in equal parts]
    #[arg(long, allow_hyphen_values = true, help_heading = "Population")]
    bulk: Option<f64>,
    /// Plan for a collection like that of this aggregate
    ///
    /// With its task
    #[arg(long, value_name = "FILE", requires = "task", help_heading = "Population")]
    #[arg(conflicts_with_all = ["dimension", "spectrum", "bulk"])]
    aggregate: Option<PathBuf>,
    /// Plan for records like those of this public sample
    ///
    /// With its task. The plan compares other settings of the task
    #[arg(long, value_name = "FILE", requires = "task")]
    #[arg(conflicts_with_all = ["dimension", "spectrum", "bulk", "aggregate", "mean_share"])]
    sample: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// The task file of the aggregate or the sample
    #[arg(short, long, conflicts_with_all = ["mechanism", "epsilon", "delta", "candidates", "centre"])]
    task: Option<PathBuf>,
    /// Plan for records that are clipped at this radius, of the lengths in --norms [default: unit norm]
    #[arg(long, value_parser = parameters::radius, allow_hyphen_values = true, help_heading = "Lengths of records")]
    #[arg(requires = "norms", conflicts_with = "aggregate")]
    radius: Option<Radius>,
    /// The sums of a collection about the lengths of records (see `task norms`)
    #[arg(long, value_name = "FILE", requires_all = ["norms_task", "radius"], help_heading = "Lengths of records")]
    norms: Option<PathBuf>,
    /// The task of these sums
    #[arg(long, value_name = "FILE", requires = "norms", help_heading = "Lengths of records")]
    norms_task: Option<PathBuf>,
    /// How records are randomized
    #[arg(long, value_parser = parameters::mechanism(&MechanismFamily::ALL), help_heading = "Mechanism")]
    #[arg(default_value = parameters::USUAL_MECHANISM)]
    mechanism: MechanismFamily,
    /// Privacy parameter epsilon, per report
    ///
    /// With --shuffled that of each batch of --batch honest reports
    #[arg(long, value_parser = parameters::epsilon, allow_hyphen_values = true, required_unless_present = "task")]
    epsilon: Option<Epsilon>,
    #[command(flatten)]
    parameters: MechanismParameters,
    #[command(flatten)]
    mean: PopulationMean,
    /// A number of reports: predict which share of the structure they find
    #[arg(long, value_name = "N", value_parser = parameters::count())]
    records: Option<u64>,
    /// An error ||sin Theta||_F^2: find the number of reports it takes
    ///
    /// Or the epsilon with --records
    #[arg(long, value_name = "ERROR", allow_hyphen_values = true)]
    target: Option<f64>,
    /// A share of the structure, such as 0.9: find the number of reports it takes
    #[arg(long, allow_hyphen_values = true)]
    share: Option<f64>,
    /// Also plan for reports that somebody trusted shuffles before anybody sees them, in batches (--batch); epsilon is
    /// then that of each batch, with this delta
    #[arg(long, value_name = "DELTA", value_parser = parameters::delta, help_heading = "Shuffled batches")]
    #[arg(requires = "batch", num_args = 0..=1, default_missing_value = "1e-6", allow_negative_numbers = true)]
    shuffled: Option<Delta>,
    /// The honest reports in one batch that is released, as many as you rely on: `relay --batch` counts those of people
    /// who may not be honest, too
    #[arg(long, value_name = "N", value_parser = parameters::count(), help_heading = "Shuffled batches")]
    #[arg(requires = "shuffled")]
    batch: Option<u64>,
    /// The number of waves of different people, 1 or 2
    ///
    /// With 2, whether a second wave that refines the first pays [with --records: all people]
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=2), default_value_t = 1, help_heading = "Two waves")]
    waves: u8,
    #[command(flatten)]
    hostile: HostileArguments,
    /// Where to draw the error against the number of reports (.svg)
    #[arg(long, value_name = "FILE", value_parser = Target::picture())]
    plot: Option<Target>,
    #[command(flatten)]
    details: Details,
    #[command(flatten)]
    format: Format,
}

/// The reports of the settings of a sample, where their number is not stated.
const REPORTS: u64 = 100_000;

impl Plan {
    pub(super) fn run(self) -> Result<()> {
        let (planner, epsilon, clipping, sample) = self.setting()?;
        let about = planner.centring().map(|_| match self.aggregate {
            Some(_) => "about the estimated mean",
            None if self.sample.is_some() => "about the mean of the sample",
            None if self.mean.share() > 0.0 => "about the mean, which is orthogonal to the components",
            None => "about the mean, which is taken to be zero",
        });
        let waves = match (self.waves, self.records) {
            (2, Some(records)) => Some(Waves::new(&planner, epsilon, records)?.best()?),
            (2, None) => return Err(CliError::usage("--waves 2 needs --records, the number of people of both waves")),
            _ => None,
        };
        let goal = Goal {
            records: self.records,
            target: self.target,
            share: self.share,
            shuffled: (self.shuffled.zip(self.batch)).map(|(delta, honest_reports)| Batches { honest_reports, delta }),
            hostile: Some(self.hostile.reports),
        };
        let spinner = spinner("planning");
        let plan = planner.plan(epsilon, &goal)?;
        let share = |(epsilon, records)| planner.predict(epsilon, records).map(|predicted| predicted.share_found);
        let reached = plan.answers.records_for_target.flatten().map(|records| share((epsilon, records))).transpose()?;
        let shuffled = plan.shuffled.as_ref();
        let shuffled = shuffled.and_then(|found| found.local_epsilon.zip(found.answers.records_for_target.flatten()));
        let shares_at_target = [reached, shuffled.map(share).transpose()?].map(Option::flatten);
        drop(spinner);
        parameters::warn_of(&plan.guarantee);
        parameters::warn_of_delta(self.shuffled);
        let (mut notes, plot) = (planner.notes(), self.plot.clone());
        notes.extend(sample.as_ref().and_then(SampleResult::note));
        let result = PlanResult { plan, shares_at_target, notes, waves, clipping, sample, about, plot };
        if let Some(path) = &self.plot {
            let points = curve(&planner, &result.plan)?;
            writing::write(path, pictures::error_curve(&result.heading(), &result.plan, &points).as_bytes())?;
        }
        self.format.print(&result, |result| result.text(self.details.wanted))
    }

    /// What to plan for: with what the radius costs where records are clipped, and with what a sample says.
    fn setting(&self) -> Result<(Planner, Epsilon, Option<Clipping>, Option<SampleResult>)> {
        if let (Some(aggregate), Some(task)) = (&self.aggregate, &self.task) {
            let task = files::task(task)?;
            let covariance = Covariance::estimate(&files::aggregate(aggregate, &task, "--task")?, &task)?;
            let spectrum = Spectrum::of_estimate(&covariance)?;
            let epsilon = task.guarantee().epsilon;
            let planner = Planner::of_task(spectrum, self.rank, &task)?;
            let clipping = Clipping::of_estimate(&covariance, &task);
            return Ok((planner, epsilon, clipping, None));
        }
        if let (Some(path), Some(task)) = (&self.sample, &self.task) {
            let task = files::task(task)?;
            let epsilon = task.guarantee().epsilon;
            let goal = (self.records.unwrap_or(REPORTS), self.target, self.share);
            let (sample, planner) = sample::try_settings(path, &task, self.rank, &self.reading, goal)?;
            return Ok((planner, epsilon, None, Some(sample)));
        }
        let (Some(dimension), Some(Eigenvalues(signals)), Some(epsilon)) =
            (self.dimension, self.spectrum.clone(), self.epsilon)
        else {
            let remedy = "give --dimension, --spectrum and --epsilon, or --task with --aggregate or --sample";
            return Err(CliError::usage(remedy));
        };
        let spectrum = Spectrum::stated(dimension, signals, self.bulk)?.with_mean_share(self.mean.share())?;
        let family = self.parameters.family(self.mechanism)?;
        let clipping = match (self.radius, &self.norms, &self.norms_task) {
            (Some(radius), Some(sums), Some(task)) => {
                Some(norms::read(sums, task)?.0.clipping(radius).map_err(CliError::usage)?)
            }
            _ => None,
        };
        let (spectrum, bounding) = match &clipping {
            Some(clipping) => clipping.of_unit_norm(spectrum)?,
            None => (spectrum, Bounding::UnitNorm),
        };
        let planner = Planner::new(spectrum, self.rank, family, bounding)?.with_centring(self.mean.centring.centre);
        Ok((planner, epsilon, clipping, None))
    }
}

/// Numbers of reports with their errors: from well below the first threshold to beyond all answers.
fn curve(planner: &Planner, plan: &prediction::Plan) -> Result<Vec<(f64, f64)>> {
    const POINTS: i32 = 72;
    let thresholds = plan.threshold_records_per_component.iter().flatten().copied();
    let named = thresholds.chain(plan.records).chain(plan.answers.records_for_target.flatten());
    let first = (named.clone().min().unwrap_or(1000) as f64 / 4.0).max(1.0);
    let last = (named.max().unwrap_or(100_000) as f64 * 4.0).max(100.0 * first);
    let points = (0..=POINTS).map(|step| {
        let records = (first * (last / first).powf(f64::from(step) / f64::from(POINTS))).round();
        let prediction = planner.predict(plan.epsilon, records as u64)?;
        Ok((records, prediction.sin_theta_squared))
    });
    points.collect()
}
