//! What a public sample says before anybody is asked: what bounding does to its records, and which task needs the
//! fewest people.

use std::path::Path;

use ldp_pca::centring::Centring;
use ldp_pca::prediction::{Goal, Plan, Planner, Spectrum};
use ldp_pca::record::{BoundedRecord, Bounding, Radius};
use ldp_pca::recovery::{Components, Rank, principal_components};
use ldp_pca::schema::infer::InferenceOptions;
use ldp_pca::schema::{ColumnKind, Schema};
use ldp_pca::subspace::{Subspace, share_found, sin_theta_squared};
use ldp_pca::task::Task;
use ldp_pca_simulation::SecondMoment;
use nalgebra::DMatrix;
use serde::Serialize;

use crate::error::{CliError, Result};
use crate::output::{fixed, grouped, plural, tenths};
use crate::records::{self, Reading};
use crate::schema;
use crate::table::{Align, Table};

/// The share of the sample's records that a radius does not shorten, of the settings that clip.
const KEPT: f64 = 0.9;

/// Another setting is advised where its error is less than this share of the task's own.
const WORTH: f64 = 0.9;

/// The settings of a task that a sample is tried with.
#[derive(Serialize)]
pub(super) struct SampleResult {
    records: u64,
    /// The reports that errors of noise are predicted for.
    reports: u64,
    /// That of the task itself first.
    settings: Vec<Tried>,
    /// The place of the setting with the least error together.
    best: usize,
}

/// One setting, and what it makes of the sample.
#[derive(Serialize)]
struct Tried {
    /// Whether columns have the task's offsets and scales, or robust ones of the sample.
    schema: &'static str,
    bounding: Bounding,
    centred: bool,
    /// The mean's share of the second moments of bounded records about zero.
    mean_share: f64,
    /// The share of records that have only zeros.
    empty_share: f64,
    /// The share of all squared lengths of the records as encoded that the longest hundredth of them has.
    longest_share: f64,
    /// The distance of PCA of all bounded records of the sample from ordinary PCA: about the mean, of the records as
    /// encoded.
    bounding_error: f64,
    /// The share of the structure of the records as encoded that this PCA finds.
    bounding_share_found: Option<f64>,
    /// The predicted distance of what the reports give from PCA of bounded records.
    noise_error: f64,
    /// The share of the structure of bounded records that the reports are predicted to find.
    noise_share_found: Option<f64>,
    /// The reports with which that is the target; none where no number is.
    #[serde(skip_serializing_if = "Option::is_none")]
    records_for_target: Option<Option<u64>>,
    /// The reports that find the share.
    #[serde(skip_serializing_if = "Option::is_none")]
    records_for_share: Option<Option<u64>>,
}

impl Tried {
    fn together(&self) -> f64 {
        self.bounding_error + self.noise_error
    }

    /// The options of `task new` for its bounding and centring.
    fn options(&self) -> String {
        let bounding = match self.bounding {
            Bounding::UnitNorm => String::new(),
            Bounding::Clip { radius } => format!(" --bounding clip:{}", fixed(radius.value(), 3)),
        };
        bounding + if self.centred { " --centre" } else { "" }
    }
}

/// The records of one schema.
struct Encoded {
    task: Task,
    name: &'static str,
    /// Components of the records as encoded, about their mean.
    ordinary: Subspace,
    /// The covariance of the records as encoded.
    covariance: DMatrix<f64>,
    lengths: Vec<f64>,
}

impl Encoded {
    fn read(path: &Path, task: Task, name: &'static str, rank: Rank, reading: &Reading) -> Result<Self> {
        let (mut moments, mut lengths) = (SecondMoment::new(task.dimension(), 1.0), vec![]);
        records::read(path, task.schema(), reading, |features| {
            lengths.push(features.iter().map(|value| value * value).sum::<f64>().sqrt());
            moments.add_coordinates(&features);
            Ok(())
        })?;
        lengths.sort_by(f64::total_cmp);
        let covariance = moments.covariance();
        let found = principal_components(&covariance, rank).map_err(CliError::failed)?;
        Ok(Self { ordinary: Subspace::new(&found.vectors)?, covariance, task, name, lengths })
    }

    /// The task's own bounding first.
    fn boundings(&self) -> Vec<Bounding> {
        let place = (KEPT * (self.lengths.len() - 1) as f64).round() as usize;
        let clip = Radius::new(self.lengths[place]).ok().map(|radius| Bounding::Clip { radius });
        let own = self.task.bounding();
        let unit_norm = (own != Bounding::UnitNorm).then_some(Bounding::UnitNorm);
        [Some(own), unit_norm, clip].into_iter().flatten().collect()
    }

    /// The second moments of the records for every bounding.
    fn bounded(&self, path: &Path, boundings: &[Bounding], reading: &Reading) -> Result<Vec<SecondMoment>> {
        let moment = |bounding: &Bounding| SecondMoment::new(self.task.dimension(), bounding.covariance_scale());
        let mut moments: Vec<SecondMoment> = boundings.iter().map(moment).collect();
        records::read(path, self.task.schema(), reading, |features| {
            for (moment, &bounding) in moments.iter_mut().zip(boundings) {
                moment.add(&BoundedRecord::new(features.clone(), bounding)?);
            }
            Ok(())
        })?;
        Ok(moments)
    }
}

/// What the sample says of the task and of others, with so many reports and for the error and the share, and a planner
/// for the task.
pub(super) fn try_settings(
    path: &Path,
    task: &Task,
    rank: Rank,
    reading: &Reading,
    (reports, target, share): (u64, Option<f64>, Option<f64>),
) -> Result<(SampleResult, Planner)> {
    crate::files::can_be_read_twice(path, "the lengths of records are read first")?;
    let mut encoded = vec![Encoded::read(path, task.clone(), "task", rank, reading)?];
    if let Some(other) = robust(path, task, reading)? {
        encoded.push(Encoded::read(path, other, "robust", rank, reading)?);
    }
    let other_centring = if task.centring().is_some() { None } else { Some(Centring::default()) };
    let mut settings: Vec<(Tried, Planner)> = vec![];
    for of_schema in &encoded {
        let boundings = of_schema.boundings();
        let moments = of_schema.bounded(path, &boundings, reading)?;
        let lengths = &of_schema.lengths;
        let empty_share = lengths.partition_point(|length| *length == 0.0) as f64 / lengths.len() as f64;
        let square = |lengths: &[f64]| lengths.iter().map(|length| length * length).sum::<f64>();
        let longest_share = square(&lengths[lengths.len() - lengths.len().div_ceil(100)..]) / square(lengths);
        for (moments, bounding) in moments.iter().zip(boundings) {
            let mean_share = mean_share(moments);
            for centring in [task.centring(), other_centring] {
                let schema = of_schema.task.schema().clone();
                let tried = Task::of_parts(schema, bounding, centring, task.mechanism_spec(), task.folds())?;
                let found = principal_components(&moments.clone().reference(&tried), rank).map_err(CliError::failed)?;
                let spectrum = spectrum(&found, centring.map_or(0.0, |_| mean_share))?;
                let planner = Planner::of_task(spectrum, rank, &tried)?;
                let epsilon = tried.guarantee().epsilon;
                let predicted = planner.predict(epsilon, reports)?;
                let for_share = share.map(|_| planner.plan(epsilon, &Goal { share, ..Goal::default() })).transpose()?;
                let bounded = Subspace::new(&found.vectors)?;
                let setting = Tried {
                    schema: of_schema.name,
                    bounding,
                    centred: centring.is_some(),
                    mean_share,
                    empty_share,
                    longest_share,
                    bounding_error: sin_theta_squared(&bounded, &of_schema.ordinary)?,
                    bounding_share_found: share_found(&bounded, &of_schema.ordinary, &of_schema.covariance)?,
                    noise_error: predicted.sin_theta_squared,
                    noise_share_found: predicted.share_found,
                    records_for_target: target.map(|target| planner.records_for(epsilon, target)).transpose()?,
                    records_for_share: for_share.and_then(|plan| plan.answers.records_for_share),
                };
                settings.push((setting, planner));
            }
        }
    }
    let (settings, mut planners): (Vec<Tried>, Vec<Planner>) = settings.into_iter().unzip();
    let least =
        (0..settings.len()).min_by(|&one, &other| settings[one].together().total_cmp(&settings[other].together()));
    let best = least.filter(|&least| settings[least].together() < WORTH * settings[0].together()).unwrap_or(0);
    Ok((SampleResult { records: encoded[0].lengths.len() as u64, reports, settings, best }, planners.swap_remove(0)))
}

/// The task with robust offsets and scales of the sample in its numeric columns, where it does not have them.
fn robust(path: &Path, task: &Task, reading: &Reading) -> Result<Option<Task>> {
    let opening = reading.opening.under(task.schema(), path);
    let inferred = schema::infer(path, &opening, &InferenceOptions::default(), false)?.schema;
    let is_numeric = |kind: &ColumnKind| matches!(kind, ColumnKind::Numeric { .. });
    let mut columns = task.schema().columns().to_vec();
    for column in columns.iter_mut().filter(|column| is_numeric(&column.kind)) {
        let mut others = inferred.columns().iter().filter(|other| other.name == column.name);
        if let Some(other) = others.find(|other| is_numeric(&other.kind)) {
            column.kind.clone_from(&other.kind);
        }
    }
    if columns == task.schema().columns() {
        return Ok(None);
    }
    let schema = Schema::new(columns)?.with_dialect(task.schema().dialect());
    Ok(Some(Task::new(schema, task.bounding(), task.mechanism_spec(), task.folds())?))
}

/// The mean's share of the second moments about zero. It is below 1 where rounding leaves nothing beside the mean: the
/// eigenvalues are divided by the rest.
fn mean_share(moments: &SecondMoment) -> f64 {
    let square: f64 = moments.mean().iter().map(|entry| entry * entry).sum();
    let total = moments.clone().matrix().trace();
    if total > 0.0 { (square / total).min(1.0 - f64::EPSILON) } else { 0.0 }
}

/// The eigenvalues of the sample's bounded records up to the first beyond the components, about a mean that has this
/// share of their second moments.
fn spectrum(components: &Components, mean_share: f64) -> Result<Spectrum> {
    let values = &components.all_values;
    let (count, dimension) = ((components.values.len() + 1).min(values.len() - 1), values.len());
    let rest = (values.iter().skip(count).sum::<f64>() / (dimension - count) as f64).max(0.0);
    let signals: Vec<f64> = values.iter().take(count).map(|&value| value.max(rest)).collect();
    Ok(Spectrum::about_mean(dimension, &signals, rest, mean_share)?)
}

impl SampleResult {
    /// What to do where bounding, of the advised setting, keeps less than four fifths of the structure.
    pub(super) fn note(&self) -> Option<String> {
        let Tried { bounding_share_found, longest_share, .. } = &self.settings[self.best];
        let kept = bounding_share_found.filter(|kept| *kept < 0.8)?;
        let [kept, longest] = [kept, *longest_share].map(tenths);
        Some(format!(
            "bounding keeps {kept} of the structure that ordinary PCA finds, however many people take part: the \
             longest 1 % of the records have {longest} of all squared lengths. If that is most, ordinary PCA shows \
             little else, so take logarithms of skewed columns. If not, --details shows settings that keep more"
        ))
    }

    /// The setting that is advised, and what it gains; in `details` a table of all.
    pub(super) fn text(&self, plan: &Plan, details: bool) -> String {
        let (own, best) = (&self.settings[0], &self.settings[self.best]);
        let reports = plural(self.reports, "report");
        let share = |share: Option<f64>| share.map_or("none".to_owned(), tenths);
        let people = |tried: &Tried| {
            let found = tried.records_for_target.or(tried.records_for_share)?;
            Some(found.map_or("none is enough".to_owned(), grouped))
        };
        let mut text = if self.best == 0 {
            "advice      this task: no other setting has much less error\n".to_owned()
        } else {
            let robust = if best.schema == own.schema { "" } else { "`schema infer` of the sample, then " };
            let gain = |other: String, this: String| format!("{other}, with this task {this}");
            let found = gain(share(best.noise_share_found), share(own.noise_share_found));
            let taken = people(best).zip(people(own)).map(|(best, own)| format!("; people: {}", gain(best, own)));
            format!(
                "advice      {robust}`task new{}`: {reports} find {found} of the structure{}\n",
                best.options(),
                taken.unwrap_or_default()
            )
        };
        let [empty, mean] = [own.empty_share, own.mean_share].map(|share| 100.0 * share);
        text += &format!(
            "sample      {}, {empty:.1} % of them with zeros alone; the mean has {mean:.0} % of the second moments of \
             bounded records; bounding keeps {} of the structure\n",
            plural(self.records, "public record"),
            share(own.bounding_share_found)
        );
        if !details {
            return text;
        }
        text += &format!(
            "settings    columns as in the task, or with robust offsets and scales. Found: the share of the structure \
             that {reports} find; kept: the share that bounding leaves of that of ordinary PCA about the mean; errors: \
             of noise, of bounding, and together, about; people for the error of noise, or for the share, asked for\n"
        );
        let numbers = ["mean", "found", "kept", "noise", "bounding", "together"].into_iter();
        let numbers = numbers.chain(plan.target.or(plan.share).map(|_| "people"));
        let heads = [("setting", Align::Left)].into_iter().chain(numbers.map(|head| (head, Align::Right))).collect();
        let mut table = Table::new(heads);
        for (place, setting) in self.settings.iter().enumerate() {
            let mark = if place == self.best { " *" } else { "" };
            let shares = [setting.noise_share_found, setting.bounding_share_found].map(share);
            let errors = [setting.noise_error, setting.bounding_error, setting.together()];
            let name = format!("{}{}{mark}", setting.schema, setting.options());
            let mut cells = vec![name, format!("{:.0} %", 100.0 * setting.mean_share)];
            cells.extend(shares.into_iter().chain(errors.map(|error| format!("{error:.4}"))).chain(people(setting)));
            table.row(cells);
        }
        text + &table.text(2)
    }
}
