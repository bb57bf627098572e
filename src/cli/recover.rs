//! `recover`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::covariance::{Covariance, Mean};
use ldp_pca::evaluation::SecondMoment;
use ldp_pca::record::Bounding;
use ldp_pca::recovery::{DEFAULT_PENALTY_FACTOR, FantopeProblem, Penalty, Rank, default_penalty, principal_components};
use ldp_pca::subspace::{Subspace, captured_variance, sin_theta_squared};
use ldp_pca::task::Task;
use nalgebra::{DMatrix, DVector};
use serde::Serialize;

use super::error::{CliError, Result};
use super::files;
use super::output::{Format, grouped, wrote};
use super::parameters;
use super::records::{self, Header};
use super::solve::{self, SolverArguments};

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
    /// Recover sparse components, by the Fantope program
    #[arg(long)]
    sparse: bool,
    /// Penalty of the Fantope program [default: 0.75 × noise × sqrt(ln d)]
    #[arg(long, value_parser = solve::penalty, requires = "sparse", allow_hyphen_values = true)]
    penalty: Option<Penalty>,
    #[command(flatten)]
    solver: SolverArguments,
    /// Compare with the components of these records, found without privacy
    #[arg(long, value_name = "RECORDS")]
    reference: Option<PathBuf>,
    /// Whether the first line of a CSV reference names its columns
    #[arg(long, value_enum, default_value_t)]
    header: Header,
    /// Leave out invalid rows of the reference
    #[arg(long)]
    skip_invalid: bool,
    /// Where to write the components (d rows, one column each): .csv with feature names, .npy, or .json
    #[arg(short, long)]
    output: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
pub(super) struct RecoverResult {
    pub(super) method: &'static str,
    pub(super) records: u64,
    pub(super) dimension: usize,
    pub(super) rank: usize,
    /// Variances along the components, in the units of the covariance.
    pub(super) eigenvalues: Vec<f64>,
    /// One list of d loadings per component.
    pub(super) components: Vec<Vec<f64>>,
    pub(super) feature_names: Vec<String>,
    /// Standard deviation of the noise in one off-diagonal covariance entry.
    pub(super) noise_deviation: f64,
    /// The variance that noise alone would give to the first component.
    pub(super) noise_edge: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mean: Option<MeanResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sparse: Option<SparseResult>,
    /// `||sin Theta||_F^2` against the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sin_theta_squared: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reference: Option<ReferenceResult>,
    pub(super) seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<PathBuf>,
}

#[derive(Serialize)]
pub(super) struct SparseResult {
    status: &'static str,
    penalty: f64,
    objective: f64,
    relative_gap: f64,
    iterations: usize,
    support: Vec<String>,
}

/// The mean, of a task with centring.
#[derive(Serialize)]
pub(super) struct MeanResult {
    /// d entries in the units of the encoded features, and the deviation that the mechanism gives to each.
    #[serde(flatten)]
    estimate: Mean,
    /// The entries in the units of the columns; not under unit norm, where they are those of a direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_column_units: Option<Vec<f64>>,
    /// The deviation of a covariance entry, as a multiple of what it would be without centring.
    noise_factor: f64,
}

#[derive(Serialize)]
pub(super) struct ReferenceResult {
    records: u64,
    skipped: u64,
    eigenvalues: Vec<f64>,
    /// Share of the reference's total variance that the recovered components capture, and that its own capture.
    captured_variance: f64,
    largest_captured_variance: f64,
}

/// Components as found, by either method.
struct Found {
    vectors: DMatrix<f64>,
    values: DVector<f64>,
    sparse: Option<SparseResult>,
}

/// The non-private answer.
pub(super) struct Reference {
    pub(super) matrix: DMatrix<f64>,
    pub(super) records: u64,
    pub(super) skipped: u64,
}

impl Recover {
    pub(super) fn run(self) -> Result<()> {
        let started = Instant::now();
        let kind = self.output.as_deref().map(ComponentsFile::of).transpose()?;
        let task = files::task(&self.task)?;
        self.rank.check(task.dimension()).map_err(|error| CliError::Usage(error.to_string()))?;
        let bytes = std::fs::read(&self.aggregate).map_err(|error| CliError::file(&self.aggregate, error))?;
        let aggregate = Aggregate::from_bytes(&bytes, &task).map_err(|error| CliError::file(&self.aggregate, error))?;
        let covariance = Covariance::estimate(&aggregate, &task)?;
        let found = if self.sparse {
            sparse(&covariance, &task, self.rank, self.penalty, self.solver)?
        } else {
            dense(covariance.matrix(), self.rank)?
        };
        let vectors = found.vectors.clone();
        let mut result = RecoverResult::of(&covariance, &task, found);
        if let Some(path) = &self.reference {
            let mut moment = SecondMoment::of_task(&task);
            let counts = records::bounded(path, &task, self.header, self.skip_invalid, |record| {
                moment.add(&record);
                Ok(())
            })?;
            if counts.records == 0 {
                return Err(CliError::file(path, "the reference has no records to compare with"));
            }
            result.compare(&Reference {
                matrix: moment.reference(&task),
                records: counts.records,
                skipped: counts.skipped,
            })?;
        }
        if let (Some(output), Some(kind)) = (&self.output, kind) {
            write_components(output, kind, &vectors, &task.schema().feature_names())?;
        }
        result.output = self.output;
        result.seconds = started.elapsed().as_secs_f64();
        self.format.print(&result, RecoverResult::text)
    }
}

/// Plain PCA of a covariance.
fn dense(covariance: &DMatrix<f64>, rank: Rank) -> Result<Found> {
    let components = principal_components(covariance, rank)?;
    Ok(Found { vectors: components.vectors, values: components.values, sparse: None })
}

fn sparse(
    covariance: &Covariance,
    task: &Task,
    rank: Rank,
    penalty: Option<Penalty>,
    solver: SolverArguments,
) -> Result<Found> {
    let penalty = match penalty {
        Some(penalty) => penalty,
        None => default_penalty(covariance.noise_deviation(), task.dimension(), DEFAULT_PENALTY_FACTOR)?,
    };
    let solution = solver.solve(&FantopeProblem::new(covariance.matrix(), rank, penalty)?)?;
    let names = task.schema().feature_names();
    let sparse = SparseResult {
        status: solve::status_name(solution.status),
        penalty: penalty.value(),
        objective: solution.objective,
        relative_gap: solution.relative_gap,
        iterations: solution.iterations,
        support: solution.support.iter().map(|&row| names[row].clone()).collect(),
    };
    Ok(Found { vectors: solution.components, values: solution.variances, sparse: Some(sparse) })
}

impl RecoverResult {
    fn of(covariance: &Covariance, task: &Task, found: Found) -> Self {
        Self {
            method: if found.sparse.is_some() { "fantope" } else { "pca" },
            records: covariance.records(),
            dimension: task.dimension(),
            rank: found.vectors.ncols(),
            eigenvalues: found.values.iter().copied().collect(),
            components: found.vectors.column_iter().map(|column| column.iter().copied().collect()).collect(),
            feature_names: task.schema().feature_names(),
            noise_deviation: covariance.noise_deviation(),
            noise_edge: covariance.noise_edge(),
            mean: covariance.mean().map(|mean| MeanResult::of(mean, covariance, task)),
            sparse: found.sparse,
            sin_theta_squared: None,
            reference: None,
            seconds: 0.0,
            output: None,
        }
    }

    /// Fills in how far the components are from those of the reference.
    pub(super) fn compare(&mut self, reference: &Reference) -> Result<()> {
        if reference.records == 0 {
            return Err(CliError::Failed("the reference has no records to compare with".into()));
        }
        let vectors = DMatrix::from_fn(self.dimension, self.rank, |row, column| self.components[column][row]);
        let ours = Subspace::new(&vectors)?;
        let best = principal_components(&reference.matrix, Rank::new(self.rank)?)?;
        let theirs = Subspace::new(&best.vectors)?;
        let total = reference.matrix.trace();
        self.sin_theta_squared = Some(sin_theta_squared(&ours, &theirs)?);
        self.reference = Some(ReferenceResult {
            records: reference.records,
            skipped: reference.skipped,
            eigenvalues: best.values.iter().copied().collect(),
            captured_variance: captured_variance(&ours, &reference.matrix)? / total,
            largest_captured_variance: captured_variance(&theirs, &reference.matrix)? / total,
        });
        Ok(())
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "{} components of {} features from {} reports ({}, noise {:.2e} per entry)\n",
            self.rank,
            self.dimension,
            grouped(self.records),
            self.method,
            self.noise_deviation
        );
        for (index, (component, value)) in self.components.iter().zip(&self.eigenvalues).enumerate() {
            text += &format!(
                "  {}. variance {value:.5}:  {}\n",
                index + 1,
                largest_loadings(component, &self.feature_names)
            );
        }
        let buried = self.eigenvalues.iter().filter(|&&value| value <= self.noise_edge).count();
        if buried > 0 {
            text += &format!(
                "warning     {buried} of them cannot be told from noise, which alone gives a variance of {:.5}: \
                 collect more reports, or ask for fewer components\n",
                self.noise_edge
            );
        }
        if let Some(mean) = &self.mean {
            text += &mean.text(&self.feature_names);
        }
        if let Some(sparse) = &self.sparse {
            text += &format!(
                "sparse      {} features with penalty {:.3e}: {} after {} iterations, certified gap {:.1e}\n",
                sparse.support.len(),
                sparse.penalty,
                sparse.status,
                sparse.iterations,
                sparse.relative_gap
            );
        }
        if let (Some(error), Some(reference)) = (self.sin_theta_squared, &self.reference) {
            text += &format!(
                "error       ||sin Theta||_F^2 = {error:.4} against the non-private components of {} records (0 is equal, {} is unrelated)\n",
                grouped(reference.records),
                self.rank
            );
            text += &format!(
                "captured    {:.2} % of the variance, where {:.2} % is possible\n",
                100.0 * reference.captured_variance,
                100.0 * reference.largest_captured_variance
            );
        }
        text + &wrote(self.output.as_deref())
    }
}

impl MeanResult {
    fn of(mean: &Mean, covariance: &Covariance, task: &Task) -> Self {
        let in_column_units = match task.bounding() {
            Bounding::UnitNorm => None,
            Bounding::Clip { .. } => Some(task.schema().decode(mean.values())),
        };
        Self { estimate: mean.clone(), in_column_units, noise_factor: covariance.noise_factor() }
    }

    fn text(&self, names: &[String]) -> String {
        format!(
            "mean        {}  (encoded, noise {:.2e} per entry; \
             it makes the noise of the covariance {:.2} times as large)\n",
            largest_loadings(self.estimate.values(), names),
            self.estimate.noise_deviation(),
            self.noise_factor
        )
    }
}

/// The features that matter most in a component, with their loadings.
fn largest_loadings(component: &[f64], names: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut order: Vec<usize> = (0..component.len()).collect();
    order.sort_by(|&a, &b| component[b].abs().total_cmp(&component[a].abs()));
    let shown: Vec<String> =
        order.iter().take(SHOWN).map(|&index| format!("{:+.2} {}", component[index], names[index])).collect();
    shown.join("  ")
}

/// The formats in which components are written.
#[derive(Clone, Copy)]
enum ComponentsFile {
    Npy,
    Csv,
    Json,
}

impl ComponentsFile {
    /// The format that the file's extension stands for.
    fn of(path: &Path) -> Result<Self> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("npy") => Ok(Self::Npy),
            Some("csv") => Ok(Self::Csv),
            Some("json") => Ok(Self::Json),
            _ => Err(CliError::Usage(format!(
                "{}: the components can be written as .csv, .npy or .json",
                path.display()
            ))),
        }
    }
}

/// Writes d × k components.
fn write_components(path: &Path, kind: ComponentsFile, vectors: &DMatrix<f64>, names: &[String]) -> Result<()> {
    match kind {
        ComponentsFile::Npy => files::write_matrix(path, vectors),
        ComponentsFile::Csv => {
            let mut writer = csv::Writer::from_writer(vec![]);
            let header = (1..=vectors.ncols()).map(|index| format!("component_{index}"));
            let mut rows = vec![std::iter::once("feature".to_owned()).chain(header).collect::<Vec<_>>()];
            for (row, name) in vectors.row_iter().zip(names) {
                rows.push(std::iter::once(name.clone()).chain(row.iter().map(ToString::to_string)).collect());
            }
            for row in rows {
                writer.write_record(row).map_err(|error| CliError::file(path, error))?;
            }
            let bytes = writer.into_inner().map_err(|error| CliError::file(path, error))?;
            files::write(path, &bytes)
        }
        ComponentsFile::Json => {
            let columns: Vec<Vec<f64>> = vectors.column_iter().map(|column| column.iter().copied().collect()).collect();
            let document = serde_json::json!({ "feature_names": names, "components": columns });
            files::write(path, format!("{document}\n").as_bytes())
        }
    }
}
