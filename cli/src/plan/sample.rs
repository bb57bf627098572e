//! What a public sample says before anybody is asked: what bounding does to its records, and which task needs the
//! fewest people.

use std::path::Path;

use ldp_pca::centring::Centring;
use ldp_pca::prediction::{Planner, Spectrum};
use ldp_pca::record::{BoundedRecord, Bounding, Radius};
use ldp_pca::recovery::{Rank, principal_components};
use ldp_pca::schema::infer::InferenceOptions;
use ldp_pca::schema::{ColumnKind, Schema};
use ldp_pca::second_moment::SecondMoment;
use ldp_pca::subspace::{Subspace, sin_theta_squared};
use ldp_pca::task::Task;
use serde::Serialize;

use crate::error::{CliError, Result};
use crate::output::grouped;
use crate::records::{self, Reading};
use crate::schema;
use crate::table::{self, Align, Table};

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
    settings: Vec<Setting>,
    /// The place of the setting with the least error together.
    best: usize,
}

/// One setting, and what it makes of the sample.
#[derive(Clone, Serialize)]
struct Setting {
    /// Whether columns have the task's offsets and scales, or robust ones of the sample.
    schema: &'static str,
    bounding: Bounding,
    centred: bool,
    /// The mean's share of the second moments of bounded records about zero.
    mean_share: f64,
    /// The share of records that have only zeros.
    empty_share: f64,
    /// The distance of PCA of all bounded records of the sample from ordinary PCA: about the mean, of the records as
    /// encoded.
    bounding_error: f64,
    /// The predicted distance of what the reports give from PCA of bounded records.
    noise_error: f64,
    /// The reports with which that is the target; none where no number is.
    #[serde(skip_serializing_if = "Option::is_none")]
    records_for_target: Option<Option<u64>>,
}

impl Setting {
    fn together(&self) -> f64 {
        self.bounding_error + self.noise_error
    }

    fn name(&self) -> String {
        let bounding = match self.bounding {
            Bounding::UnitNorm => "unit norm".to_owned(),
            Bounding::Clip { radius } => format!("clip:{:.3}", radius.value()),
        };
        let centring = if self.centred { ", --centre" } else { "" };
        format!("{}, {bounding}{centring}", self.schema)
    }
}

/// What is known of one schema's records.
struct Encoded {
    schema: Schema,
    name: &'static str,
    /// Of the records as encoded.
    ordinary: SecondMoment,
    lengths: Vec<f64>,
}

impl Encoded {
    fn read(path: &Path, task: &Task, name: &'static str, reading: Reading) -> Result<Self> {
        let schema = task.schema().clone();
        let mut found = Self { name, ordinary: SecondMoment::new(schema.dimension(), 1.0), lengths: vec![], schema };
        let counts = records::features(path, task, false, reading, |features| {
            found.lengths.push(features.iter().map(|value| value * value).sum::<f64>().sqrt());
            found.ordinary.add_coordinates(features);
            Ok(())
        })?;
        if counts.records == 0 {
            return Err(CliError::file(path, "the sample has no records"));
        }
        found.lengths.sort_by(f64::total_cmp);
        Ok(found)
    }

    /// The length that a share of the records does not exceed.
    fn length(&self, share: f64) -> Option<Radius> {
        let place = (share * (self.lengths.len() - 1) as f64).round() as usize;
        Radius::new(self.lengths[place]).ok()
    }
}

/// What the sample says of the task and of others.
pub(super) fn try_settings(
    path: &Path,
    task: &Task,
    rank: Rank,
    reading: Reading,
    (reports, target): (u64, Option<f64>),
) -> Result<(SampleResult, Planner)> {
    crate::files::can_be_read_twice(path, "the lengths of records are read first")?;
    let mut encoded = vec![Encoded::read(path, task, "task", reading)?];
    if let Some(other) = robust(path, task, reading)? {
        encoded.push(Encoded::read(path, &other, "robust", reading)?);
    }
    let (mut settings, mut own) = (vec![], None);
    for of_schema in &encoded {
        let ordinary = components(&of_schema.ordinary.clone().covariance(), rank)?;
        let mut boundings = vec![task.bounding()];
        if task.bounding() != Bounding::UnitNorm {
            boundings.push(Bounding::UnitNorm);
        }
        boundings.extend(of_schema.length(KEPT).map(|radius| Bounding::Clip { radius }));
        for bounding in boundings {
            let mut moments = SecondMoment::new(of_schema.schema.dimension(), bounding.covariance_scale());
            let mut empty = 0u64;
            records::bounded_by(path, &of_schema.schema, bounding, reading, |record: BoundedRecord| {
                empty += u64::from(record.coordinates().iter().all(|&value| value == 0.0));
                moments.add(&record);
                Ok(())
            })?;
            let mut centrings = vec![task.centring()];
            centrings.extend(
                [None, Some(Centring::default())]
                    .into_iter()
                    .filter(|&other| other.is_some() != task.centring().is_some()),
            );
            for centring in centrings {
                let tried = Task::new(of_schema.schema.clone(), bounding, task.mechanism_spec(), task.folds())?;
                let tried = centring.map_or(Ok(tried.clone()), |centring| tried.with_centring(centring))?;
                let (spectrum, mean_share) = spectrum(&moments, centring.is_some(), rank)?;
                let planner = Planner::of_task(spectrum, rank, &tried)?;
                let epsilon = tried.guarantee().epsilon;
                let found = components(&moments.clone().reference(&tried), rank)?;
                settings.push(Setting {
                    schema: of_schema.name,
                    bounding,
                    centred: centring.is_some(),
                    mean_share,
                    empty_share: empty as f64 / moments.records() as f64,
                    bounding_error: sin_theta_squared(&found, &ordinary).map_err(CliError::failed)?,
                    noise_error: planner.predict(epsilon, reports)?.sin_theta_squared,
                    records_for_target: target.map(|target| planner.records_for(epsilon, target)).transpose()?,
                });
                own.get_or_insert(planner);
            }
        }
    }
    let least =
        (0..settings.len()).min_by(|&one, &other| settings[one].together().total_cmp(&settings[other].together()));
    let best = least.filter(|&least| settings[least].together() < WORTH * settings[0].together()).unwrap_or(0);
    let planner = own.ok_or_else(|| CliError::file(path, "the sample has no records"))?;
    Ok((SampleResult { records: encoded[0].ordinary.records(), reports, settings, best }, planner))
}

/// The task with robust offsets and scales of the sample in its numeric columns, where it does not have them.
fn robust(path: &Path, task: &Task, reading: Reading) -> Result<Option<Task>> {
    let inferred = schema::infer(path, reading.opening, &InferenceOptions::default())?.schema;
    let mut columns = task.schema().columns().to_vec();
    for column in &mut columns {
        let other = inferred.columns().iter().find(|other| other.name == column.name);
        if let (ColumnKind::Numeric { .. }, Some(ColumnKind::Numeric { offset, scale })) =
            (&column.kind, other.map(|other| &other.kind))
        {
            column.kind = ColumnKind::Numeric { offset: *offset, scale: *scale };
        }
    }
    if columns == task.schema().columns() {
        return Ok(None);
    }
    Ok(Some(Task::new(Schema::new(columns)?, task.bounding(), task.mechanism_spec(), task.folds())?))
}

fn components(matrix: &nalgebra::DMatrix<f64>, rank: Rank) -> Result<Subspace> {
    let found = principal_components(matrix, rank).map_err(CliError::failed)?;
    Subspace::new(&found.vectors).map_err(CliError::failed)
}

/// The eigenvalues of the sample's bounded records up to the first beyond the components, and the mean's share of their
/// second moments.
fn spectrum(moments: &SecondMoment, centred: bool, rank: Rank) -> Result<(Spectrum, f64)> {
    let square: f64 = moments.mean().iter().map(|entry| entry * entry).sum();
    let covariance = moments.clone().covariance();
    let total = covariance.trace() + square;
    let share = if total > 0.0 { square / total } else { 0.0 };
    let matrix = if centred { covariance } else { moments.clone().matrix() };
    let values = principal_components(&matrix, rank).map_err(CliError::failed)?.all_values;
    let (count, dimension) = ((rank.value() + 1).min(values.len() - 1), values.len());
    let rest = (values.iter().skip(count).sum::<f64>() / (dimension - count) as f64).max(0.0);
    let whole = if centred { 1.0 - share } else { 1.0 };
    let signals = values.iter().take(count).map(|&value| value.max(rest) / whole).collect();
    let spectrum = Spectrum::new(dimension, signals, rest / whole)?;
    Ok((if centred { spectrum.with_mean_share(share)? } else { spectrum }, share))
}

impl SampleResult {
    pub(super) fn text(&self, target: Option<f64>) -> String {
        let own = &self.settings[0];
        let mut text = format!(
            "sample      {} public records, {:.1} % of them with zeros alone; the mean has {:.0} % of the second \
             moments of bounded records\n\
             settings    columns as in the task, or with robust offsets and scales. Errors: of noise in {} reports; of \
             bounding, between PCA of all bounded records and ordinary PCA about the mean; together, about{}\n",
            grouped(self.records),
            100.0 * own.empty_share,
            100.0 * own.mean_share,
            grouped(self.reports),
            target.map(|target| format!("; people for the error {target} of noise")).unwrap_or_default(),
        );
        let mut heads = vec![("setting", Align::Left), ("mean", Align::Right), ("noise", Align::Right)];
        heads.extend([("bounding", Align::Right), ("together", Align::Right)]);
        heads.extend(target.map(|_| ("people", Align::Right)));
        let mut table = Table::new(heads);
        for (place, setting) in self.settings.iter().enumerate() {
            let mark = if place == self.best { " *" } else { "" };
            let mut cells = vec![
                format!("{}{mark}", setting.name()),
                format!("{:.0} %", 100.0 * setting.mean_share),
                format!("{:.4}", setting.noise_error),
                format!("{:.4}", setting.bounding_error),
                format!("{:.4}", setting.together()),
            ];
            let people = |found: Option<u64>| found.map_or("none is enough".to_owned(), grouped);
            cells.extend(setting.records_for_target.map(people));
            table.row(cells);
        }
        text += &table.text(table::width(), 2);
        let best = &self.settings[self.best];
        text + &if self.best == 0 {
            "advice      this task: no other setting has much less error\n".to_owned()
        } else {
            let robust = if best.schema == own.schema { "" } else { "`schema infer` of the sample, then " };
            let bounding = match best.bounding {
                Bounding::UnitNorm => String::new(),
                Bounding::Clip { radius } => format!(" --bounding clip:{:.3}", radius.value()),
            };
            let centring = if best.centred { " --centre" } else { "" };
            format!("advice      *: {robust}`task new{bounding}{centring}`\n")
        }
    }
}
