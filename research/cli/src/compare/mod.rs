//! The `compare` command: the methods of the literature on the same records.

mod picture;
mod result;
mod standard;
mod text;

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::{BoundedRecord, Bounding};
use ldp_pca::recovery::Rank;
use ldp_pca_cli::error::{CliError, InFile as _, Result};
use ldp_pca_cli::files;
use ldp_pca_cli::output::{Format, bar, note, plural, spinner};
use ldp_pca_cli::parallel::on_all_cores;
use ldp_pca_cli::parameters;
use ldp_pca_cli::records::{self, Counts, Reading};
use ldp_pca_cli::schema::inferred;
use ldp_pca_cli::writing::{self, Target};
use ldp_pca_literature::baselines::catalogue::{key, methods, methods_for_sparse};
use ldp_pca_literature::baselines::comparison::MethodComparison;
use ldp_pca_literature::baselines::{Sample, SubspaceEstimator};

use self::picture::MethodsFigure;
use self::result::{AtEpsilon, CompareResult, RecordsResult, RowResult};

/// Run every method of the literature on the same records, and compare
///
/// Runs local, distributed and central methods at the same epsilon and compares what they find with the principal
/// components without privacy: the error ||sin Theta||_F^2 (0 for the same subspace, and k (1 - k/d) for a random one),
/// the captured part of the second moments (q_F), the time, and what each method promises to whom. Most of these
/// methods see every record, and all the figures are computed from the records, so use public or synthetic records, or
/// your own.
#[derive(Args)]
pub(super) struct Compare {
    /// Records
    ///
    /// A CSV file may have a header or none
    #[arg(long, value_name = "FILE", required_unless_present = "standard", help = records::RECORDS)]
    records: Option<PathBuf>,
    /// Number of components, k
    #[arg(long, value_parser = parameters::rank, required_unless_present = "standard")]
    rank: Option<Rank>,
    /// Privacy parameter epsilon; several, separated by commas
    #[arg(
        long,
        value_parser = epsilons,
        required_unless_present = "standard",
        allow_hyphen_values = true
    )]
    epsilon: Vec<Epsilons>,
    /// How records are bounded: unit-norm, or clip:R
    ///
    /// That brings them into the unit ball; R is a radius
    #[arg(long, value_parser = parameters::bounding, default_value = "unit-norm")]
    bounding: Bounding,
    /// The schema file [default: inferred, as `schema infer` does]
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// A column to leave out of an inferred schema; may be repeated
    ///
    /// By name (c1, c2, … in a file without header)
    #[arg(long, value_name = "COLUMN", conflicts_with = "schema", help_heading = records::READING)]
    ignore: Vec<String>,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    setting: Setting,
    /// Where to draw the errors (.svg)
    #[arg(long, value_name = "FILE", value_parser = Target::picture())]
    plot: Option<Target>,
    /// Use the data sets of research/docs/comparison.md, in this folder
    ///
    /// Their files are in the folder. The output is that document
    #[arg(
        long,
        value_name = "FOLDER",
        conflicts_with_all = ["records", "rank", "epsilon", "bounding", "schema", "ignore", "header", "strict", "plot"],
        help_heading = "Standard data sets"
    )]
    standard: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

/// Several values of epsilon in one argument.
#[derive(Clone, Debug)]
struct Epsilons(Vec<Epsilon>);

/// Parses values of epsilon separated by commas, which no decimals have.
fn epsilons(text: &str) -> core::result::Result<Epsilons, String> {
    let parsed = text.split(',').map(|part| parameters::epsilon(part.trim())).collect::<core::result::Result<_, _>>();
    parsed.map(Epsilons).map_err(|problem| match text.contains([',', ';']) {
        true => format!("{problem}; commas separate several epsilons, and decimals have a point, as in 0.5,1.5"),
        false => problem,
    })
}

/// The settings of a comparison, for any records.
#[derive(Args)]
struct Setting {
    /// Privacy parameter delta, for the methods that have one [default: 1e-6]
    #[arg(long, value_parser = parameters::delta, allow_hyphen_values = true, help_heading = "Mechanism")]
    delta: Option<Delta>,
    /// Number of estimates by each method
    ///
    /// Each has its own random stream
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    trials: u64,
    /// Seconds after which a method starts no further estimate
    ///
    /// [default: no limit]
    #[arg(
        long,
        value_name = "SECONDS",
        value_parser = parameters::seconds,
        allow_hyphen_values = true,
        help_heading = "Estimates"
    )]
    time_limit: Option<f64>,
    /// Only these methods, by name (such as mod-sulq), separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    methods: Vec<String>,
    /// Seed of the methods' randomness
    #[arg(long, default_value_t = 1, help_heading = "Estimates")]
    seed: u64,
}

impl Compare {
    pub(super) fn run(self) -> Result<()> {
        self.setting.check_methods()?;
        match (&self.standard, &self.records, self.rank) {
            (Some(folder), ..) => {
                let sets = standard::compare(folder, &self.setting)?;
                self.format.print_laid_out(&sets, |sets| standard::markdown(sets))
            }
            (None, Some(records), Some(rank)) => {
                let result = self.own(records, rank)?;
                self.format.print_laid_out(&result, CompareResult::text)
            }
            (None, ..) => Err(CliError::Usage("--records and --rank are missing".into())),
        }
    }

    /// Compares on the records of a file.
    fn own(&self, path: &Path, rank: Rank) -> Result<CompareResult> {
        let started = Instant::now();
        note("note: these figures are computed from the records themselves, and are not private");
        let epsilons: Vec<Epsilon> = self.epsilon.iter().flat_map(|Epsilons(several)| several).copied().collect();
        if let [one, other] = epsilons[..] {
            note(format_args!("note: {one} and {other} are two epsilons; a decimal has a point, as in 1.5"));
        }
        let (sample, counts) = self.sample(path)?;
        rank.check(sample.dimension()).map_err(CliError::usage)?;
        let mut result = self.setting.compare(&sample, rank, &epsilons, None)?;
        result.records =
            RecordsResult { bounding: Some(self.bounding), records: counts.records, unread: Some(counts.unread) };
        if let Some(path) = &self.plot {
            writing::write(path, picture::methods(&figure(&result)).as_bytes())?;
            result.plot = Some(path.clone());
        }
        result.seconds = started.elapsed().as_secs_f64();
        Ok(result)
    }

    /// The bounded records, all of them in memory.
    fn sample(&self, path: &Path) -> Result<(Sample, Counts)> {
        let schema = match &self.schema {
            Some(schema) => files::schema(schema)?,
            None => inferred(path, &self.reading.opening, &self.ignore)?,
        };
        let mut values = vec![];
        let counts = records::read(path, &schema, &self.reading, |features| {
            values.extend_from_slice(BoundedRecord::new(features, self.bounding)?.coordinates());
            Ok(())
        })?;
        let sample = Sample::new(schema.dimension(), values).in_file(path)?;
        Ok((sample, counts))
    }
}

impl Setting {
    fn delta(&self) -> Delta {
        self.delta.unwrap_or(Delta::USUAL)
    }

    /// Checks that every name is that of a method.
    fn check_methods(&self) -> Result<()> {
        let known: Vec<String> =
            methods(Epsilon::new(1.0)?, self.delta()).iter().map(|method| key(method.name())).collect();
        match self.methods.iter().find(|name| !known.contains(&key(name))) {
            Some(name) => {
                Err(CliError::Usage(format!("--methods: there is no method '{name}'; there are {}", known.join(", "))))
            }
            None => Ok(()),
        }
    }

    /// The methods that were asked for, with settings for components of this many nonzero rows where it is known.
    fn methods(&self, epsilon: Epsilon, nonzero_rows: Option<usize>) -> Vec<Box<dyn SubspaceEstimator>> {
        let mut all = match nonzero_rows {
            None => methods(epsilon, self.delta()),
            Some(rows) => methods_for_sparse(epsilon, self.delta(), rows),
        };
        if !self.methods.is_empty() {
            let wanted: Vec<String> = self.methods.iter().map(|name| key(name)).collect();
            all.retain(|method| wanted.contains(&key(method.name())));
        }
        all
    }

    /// Runs all methods at every epsilon, with progress on a terminal.
    fn compare(
        &self,
        sample: &Sample,
        rank: Rank,
        epsilons: &[Epsilon],
        nonzero_rows: Option<usize>,
    ) -> Result<CompareResult> {
        let started = Instant::now();
        let spinner = spinner("second moments");
        let comparison = MethodComparison::new(sample, rank, self.seed).map_err(CliError::failed)?;
        drop(spinner);
        let second_moment_seconds = started.elapsed().as_secs_f64();
        let all: Vec<_> = epsilons.iter().map(|&epsilon| (epsilon, self.methods(epsilon, nonzero_rows))).collect();
        let jobs: Vec<&dyn SubspaceEstimator> =
            all.iter().flat_map(|(_, methods)| methods.iter().map(AsRef::as_ref)).collect();
        let progress = bar("comparing", jobs.len() as u64 * self.trials);
        let rows = on_all_cores(jobs.len(), |index| {
            progress.set_message(jobs[index].name());
            let row = self.row(&comparison, jobs[index]);
            progress.inc(self.trials);
            Ok::<_, CliError>(row)
        });
        let mut rows = rows?.into_iter();
        let mut at = |(epsilon, methods): &(_, Vec<_>)| AtEpsilon {
            epsilon: *epsilon,
            rows: rows.by_ref().take(methods.len()).collect(),
        };
        Ok(CompareResult {
            records: RecordsResult { records: sample.records(), ..RecordsResult::default() },
            dimension: sample.dimension(),
            rank: rank.value(),
            delta: self.delta(),
            trials: self.trials,
            seed: self.seed,
            total_variance: sample.second_moment().trace(),
            most_captured: comparison.most_captured(),
            random_subspace: comparison.uninformed(),
            second_moment_seconds,
            epsilons: all.iter().map(&mut at).collect(),
            seconds: 0.0,
            plot: None,
        })
    }

    fn row(&self, comparison: &MethodComparison<'_>, method: &dyn SubspaceEstimator) -> RowResult {
        let started = Instant::now();
        let in_time =
            |stream: &u64| *stream == 0 || self.time_limit.is_none_or(|limit| started.elapsed().as_secs_f64() < limit);
        let streams = (0..self.trials).take_while(in_time);
        let row = comparison.row(method, streams, &mut || started.elapsed().as_secs_f64());
        RowResult::new(row, comparison.most_captured())
    }
}

fn figure(result: &CompareResult) -> MethodsFigure {
    MethodsFigure {
        subtitle: format!(
            "{} of {}, {}, {} by each method; delta {:e}",
            plural(result.records.records, "record"),
            plural(result.dimension as u64, "feature"),
            plural(result.rank as u64, "component"),
            plural(result.trials, "estimate"),
            result.delta.value()
        ),
        uninformed: result.random_subspace,
        panels: result.epsilons.iter().map(AtEpsilon::panel).collect(),
    }
}
