//! `recover`.

mod confidence;
mod denoising;
mod loadings;
mod result;
mod sparse;
mod text;

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::covariance::Covariance;
use ldp_pca::evaluation::SecondMoment;
use ldp_pca::recovery::{Components, Penalty, Rank, principal_components};
use ldp_pca::task::Task;
use nalgebra::DMatrix;

use self::confidence::{ConfidenceArguments, PredictionResult};
use self::denoising::CovarianceArguments;
use self::loadings::LoadingsFile;
use self::sparse::SparseArguments;
use super::error::{CliError, Result};
use super::files;
use super::hostile::HostileArguments;
use super::output::Format;
use super::parameters;
use super::plot::{self, Figure};
use super::records::{self, Reading};

pub(super) use self::result::{RecoverResult, Reference, leverages};

/// Recover principal components from summed reports.
#[derive(Args)]
pub(super) struct Recover {
    /// The aggregate
    aggregate: PathBuf,
    /// The task file
    #[arg(short, long)]
    task: PathBuf,
    /// Number of components, k
    #[arg(long, value_parser = parameters::rank)]
    rank: Rank,
    #[command(flatten)]
    sparse: SparseArguments,
    #[command(flatten)]
    confidence: ConfidenceArguments,
    #[command(flatten)]
    hostile: HostileArguments,
    /// Compare with the components of these records, found without privacy
    #[arg(long, value_name = "RECORDS")]
    reference: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// Where to write the components (d rows, one column each): .csv with feature names, .npy, or .json
    #[arg(short, long)]
    output: Option<PathBuf>,
    #[command(flatten)]
    covariance: CovarianceArguments,
    /// Where to draw the eigenvalues with the noise edge, the loadings, and the penalties tried (.svg)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

/// Components by either method, with the whole spectrum of the estimate where it was computed.
struct Recovered {
    result: RecoverResult,
    vectors: DMatrix<f64>,
    spectrum: Option<Components>,
}

impl Recover {
    pub(super) fn run(self) -> Result<()> {
        let started = Instant::now();
        let loadings = self.output.as_deref().map(LoadingsFile::new).transpose()?;
        let covariance_file = self.covariance.file()?;
        if let Some(path) = &self.plot {
            check_plot(path)?;
        }
        let task = files::task(&self.task)?;
        self.rank.check(task.dimension()).map_err(|error| CliError::Usage(error.to_string()))?;
        let bytes = std::fs::read(&self.aggregate).map_err(|error| CliError::file(&self.aggregate, error))?;
        let aggregate = Aggregate::from_bytes(&bytes, &task).map_err(|error| CliError::file(&self.aggregate, error))?;
        let covariance = Covariance::estimate(&aggregate, &task)?;
        let Recovered { mut result, vectors, spectrum } = if self.sparse.sparse {
            let compare = self.plot.is_some() || self.reference.is_some();
            self.sparse.recover(&aggregate, &covariance, &task, self.rank, compare)?
        } else {
            dense(&covariance, &task, self.rank)?
        };
        result.hostile = Some(self.hostile.result(covariance.records(), |hostile| covariance.pull(&task, hostile)));
        result.predicted = PredictionResult::of(&covariance, self.rank)?;
        let penalty = result.sparse.as_ref().map(|sparse| Penalty::new(sparse.penalty)).transpose()?;
        result.confidence = self.confidence.confidence(&covariance, self.rank, penalty)?;
        if let Some(path) = &self.reference {
            result.compare(&self.reference(path, &task)?)?;
        }
        if let Some(loadings) = &loadings {
            loadings.write_components(&vectors, &result.feature_names)?;
        }
        result.covariance = self.covariance.write(&covariance, &result.feature_names, covariance_file.as_ref())?;
        if let (Some(path), Some(spectrum)) = (&self.plot, &spectrum) {
            files::write(path, plot::svg(&figure(&result, spectrum)).as_bytes())?;
        }
        result.output = self.output;
        result.plot = self.plot;
        result.seconds = started.elapsed().as_secs_f64();
        self.format.print(&result, RecoverResult::text)
    }

    fn reference(&self, path: &Path, task: &Task) -> Result<Reference> {
        let mut moment = SecondMoment::of_task(task);
        let counts = records::bounded(path, task, self.reading, |record| {
            moment.add(&record);
            Ok(())
        })?;
        if counts.records == 0 {
            return Err(CliError::file(path, "the reference has no records to compare with"));
        }
        Ok(Reference { matrix: moment.reference(task), records: counts.records, skipped: counts.skipped })
    }
}

/// A picture is an SVG.
pub(super) fn check_plot(path: &Path) -> Result<()> {
    if path.extension().is_some_and(|extension| extension == "svg") {
        return Ok(());
    }
    Err(CliError::Usage(format!("{}: the plot can be written as .svg", path.display())))
}

/// Plain PCA of a covariance.
fn dense(covariance: &Covariance, task: &Task, rank: Rank) -> Result<Recovered> {
    let components = principal_components(covariance.matrix(), rank)?;
    let result = RecoverResult::new(covariance, task, &components.vectors, &components.values);
    Ok(Recovered { result, vectors: components.vectors.clone(), spectrum: Some(components) })
}

fn figure<'a>(result: &'a RecoverResult, spectrum: &'a Components) -> Figure<'a> {
    let sparse = result.sparse.as_ref();
    let validated = sparse.and_then(|sparse| sparse.cross_validation.as_ref());
    let sizes: Vec<(f64, f64)> = match (&result.path, validated) {
        (Some(path), _) => path.iter().map(|point| (point.penalty, point.support_size as f64)).collect(),
        (None, Some(points)) => points.iter().map(|point| (point.penalty, point.mean_support)).collect(),
        (None, None) => vec![],
    };
    Figure {
        title: format!(
            "{} {} components of {} features",
            result.rank,
            if sparse.is_some() { "sparse" } else { "principal" },
            result.dimension
        ),
        subtitle: format!(
            "{} reports, noise {:.2e} per entry of the covariance",
            super::output::grouped(result.records),
            result.noise_deviation
        ),
        eigenvalues: spectrum.all_values.as_slice(),
        rank: result.rank,
        noise_edge: result.noise_edge,
        components: &result.components,
        feature_names: &result.feature_names,
        leverages: &result.leverages,
        order: result.by_leverage(),
        sizes,
        scores: validated.map_or_else(Vec::new, |points| {
            points.iter().map(|point| (point.penalty, point.mean_score, point.standard_error)).collect()
        }),
        penalty: sparse.map(|sparse| sparse.penalty),
    }
}
