//! The `randomize` command: reports from records.

use std::collections::HashSet;
use std::mem;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use ldp_pca::internal::sampling::{insecure_rng, system_rng};
use ldp_pca::mechanism::RandomizeError;
use ldp_pca::privacy::Guarantee;
use ldp_pca::record::BoundedRecord;
use ldp_pca::report::{Report, ReportId, report_bytes};
use ldp_pca::task::Task;
use serde::Serialize;

use super::aggregator::{self, Aggregator, DEFAULT_PATIENCE, IssuedIds, token};
use super::encode::Written;
use super::error::{CliError, InFile as _, Result};
use super::files;
use super::output::{Format, grouped, note};
use super::parallel::on_all_cores;
use super::records::{self, Reading};
use super::writing::{Kind, Output, Target};

#[derive(Args)]
pub(super) struct Randomize {
    /// Records
    ///
    /// The first line of a CSV file is the header, or --header no and --separator say how it is read. Each record has a
    /// report: what cannot be read is missing
    #[arg(help = records::RECORDS)]
    records: PathBuf,
    /// The task file
    #[arg(short, long)]
    task: PathBuf,
    /// Where to write the reports
    #[arg(short, long, value_parser = Target::parser(Kind::Reports))]
    output: Target,
    #[command(flatten)]
    reading: Reading,
    /// Ids that an aggregator issued, at least one per record
    ///
    /// A file with the answer of POST /tasks/{id}/seeds
    #[arg(long, value_name = "FILE")]
    ids: Option<PathBuf>,
    /// Ask this aggregator for an id per report
    ///
    /// Unless a task says otherwise, it accepts no others
    #[arg(long, value_parser = aggregator::url, conflicts_with = "ids")]
    url: Option<String>,
    /// A file with an admin's token, for more than a few ids at once
    ///
    /// [default: the variable LDP_PCA_TOKEN, if it is set]
    #[arg(long, value_name = "FILE", requires = "url")]
    token_file: Option<PathBuf>,
    /// Draw from a fixed seed, for tests: such reports are NOT private
    #[arg(long, value_name = "SEED", help_heading = "Tests")]
    insecure_seed: Option<u64>,
    #[command(flatten)]
    format: Format,
}

/// What programs are told of the reports.
#[derive(Serialize)]
struct Randomized {
    report_bytes: usize,
    /// `None` for reports that follow from a seed.
    guarantee: Option<Guarantee>,
    private: bool,
}

/// The randomization of records: many at a time, on all cores.
pub(super) struct BatchRandomizer<'a> {
    task: &'a Task,
    seed: Option<u64>,
    ids: Ids<'a>,
    done: u64,
    waiting: Vec<BoundedRecord>,
    /// How many wait before they are randomized.
    most: usize,
}

/// Where the ids of reports come from.
pub(super) enum Ids<'a> {
    /// Each report makes its own.
    Own,
    /// These, in their order.
    Given(Vec<ReportId>),
    /// This aggregator issues them, if the task's reports do not make their own.
    Issued(&'a Aggregator),
}

/// The most records that are randomized together, and the most bytes their reports may take.
const BATCH: usize = 4096;
const BATCH_BYTES: usize = 64 << 20;

impl<'a> BatchRandomizer<'a> {
    /// With randomness from the system, or (for tests) from `seed` and the record's position.
    pub(super) fn new(task: &'a Task, seed: Option<u64>, ids: Ids<'a>) -> Self {
        let most = (BATCH_BYTES / report_bytes(task)).clamp(1, BATCH);
        Self { task, seed, ids, done: 0, waiting: vec![], most }
    }

    /// Takes a record, and gives the reports of all that wait once they are many.
    pub(super) fn add(&mut self, record: BoundedRecord) -> Result<Vec<Report>> {
        self.waiting.push(record);
        if self.waiting.len() < self.most { Ok(vec![]) } else { self.rest() }
    }

    /// One report per record that waits, in their order.
    pub(super) fn rest(&mut self) -> Result<Vec<Report>> {
        let (records, first) = (mem::take(&mut self.waiting), self.done);
        self.done += records.len() as u64;
        let ids: Vec<Option<ReportId>> = match &mut self.ids {
            Ids::Own => vec![None; records.len()],
            Ids::Issued(aggregator) => aggregator.issue(self.task.digest(), records.len())?,
            Ids::Given(ids) if ids.len() < records.len() => {
                let known = grouped(first + ids.len() as u64);
                let remedy = "ask the aggregator for one per record";
                return Err(CliError::Failed(format!("there are more records than the {known} issued ids: {remedy}")));
            }
            Ids::Given(ids) => ids.drain(..records.len()).map(Some).collect(),
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let per_thread = records.len().div_ceil(threads).max(1);
        let parts: Vec<_> = records.chunks(per_thread).zip(ids.chunks(per_thread)).collect();
        let (task, seed) = (self.task, self.seed);
        let reports = on_all_cores(parts.len(), |index| {
            let mut rng = system_rng()?;
            let ((records, ids), start) = (parts[index], first + (index * per_thread) as u64);
            let records = records.iter().zip(ids).zip(start..);
            let reports = records.map(|((record, id), position)| match seed {
                None => task.randomize_with_rng(record, *id, &mut rng),
                Some(seed) => task.randomize_with_rng(record, *id, &mut insecure_rng(seed, position)),
            });
            reports.collect::<Result<Vec<_>, RandomizeError>>()
        })?;
        Ok(reports.into_iter().flatten().collect())
    }
}

/// The ids of a file, each for one report.
fn given_ids(path: &Path) -> Result<Vec<ReportId>> {
    let IssuedIds { ids } = serde_json::from_str::<IssuedIds>(&files::text(path)?)
        .map_err(|error| {
            let problem = files::without_values(&error);
            format!("it has no ids ({problem}): give an aggregator's answer, as in {{\"ids\": [\"…\"]}}")
        })
        .in_file(path)?;
    if ids.iter().collect::<HashSet<_>>().len() < ids.len() {
        return Err(CliError::file(path, "an id occurs twice, and reports of one id count once: ask for others"));
    }
    Ok(ids)
}

impl Randomize {
    pub(super) fn run(self) -> Result<()> {
        let started = Instant::now();
        let task = files::task(&self.task)?;
        if self.insecure_seed.is_some() {
            note("warning: --insecure-seed makes reports that anybody can reproduce; they are not private");
        }
        let mut output = Output::create(&self.output)?;
        let aggregator = |url: String| Aggregator::new(&url, token(self.token_file.as_deref())?);
        let aggregator = self.url.map(aggregator).transpose()?.map(|found| found.patient(DEFAULT_PATIENCE));
        let ids = match (&self.ids, &aggregator) {
            (Some(path), _) => Ids::Given(given_ids(path)?),
            (None, Some(aggregator)) => Ids::Issued(aggregator),
            (None, None) => Ids::Own,
        };
        let mut randomizer = BatchRandomizer::new(&task, self.insecure_seed, ids);
        let mut write = |reports: Vec<Report>| reports.iter().try_for_each(|report| output.put(&report.to_bytes()));
        let (schema, reading) = (task.schema(), self.reading.of_device(task.schema()));
        let take = |features| write(randomizer.add(task.bound(features)?)?);
        let counts = records::read(&self.records, schema, &reading, take)?;
        write(randomizer.rest()?)?;
        output.finish()?;
        let guarantee = self.insecure_seed.is_none().then(|| task.guarantee());
        let beside = Randomized { report_bytes: report_bytes(&task), guarantee, private: guarantee.is_some() };
        let result = Written { counts, beside, seconds: started.elapsed().as_secs_f64(), output: self.output };
        self.format.print(&result, |result| {
            let bytes = format!("{} bytes", result.beside.report_bytes);
            let promise = guarantee.map(|guarantee| format!("each gives {guarantee}\n"));
            let promise = promise.as_deref().unwrap_or("none is private: they follow from a seed\n");
            result.text(("report", &bytes), promise, "contribute nothing (no report contains this count)")
        })
    }
}
