//! `randomize`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use ldp_pca::mechanism::RandomizeError;
use ldp_pca::privacy::Guarantee;
use ldp_pca::record::BoundedRecord;
use ldp_pca::report::{Report, report_bytes};
use ldp_pca::sampling::{insecure_rng, system_rng};
use ldp_pca::task::Task;
use serde::Serialize;

use super::error::{CliError, Result};
use super::files::{self, Output};
use super::output::{Format, grouped, note};
use super::records::{self, Counts, Header};

#[derive(Args)]
pub(super) struct Randomize {
    /// Records: CSV (with or without header) or NPY, gzip or not
    records: PathBuf,
    /// The task file
    #[arg(short, long)]
    task: PathBuf,
    /// Where to write the reports
    #[arg(short, long)]
    output: PathBuf,
    /// Whether the first line of a CSV file names its columns
    #[arg(long, value_enum, default_value_t)]
    header: Header,
    /// Leave out rows that are not valid records, and count them, instead of stopping at the first
    #[arg(long)]
    skip_invalid: bool,
    /// Draw from a fixed seed, for tests: such reports are NOT private
    #[arg(long, value_name = "SEED")]
    insecure_seed: Option<u64>,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct RandomizeResult {
    records: u64,
    skipped: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_skipped: Option<String>,
    report_bytes: usize,
    guarantee: Guarantee,
    private: bool,
    seconds: f64,
    output: PathBuf,
}

/// How records are randomized here: many at a time, on all cores.
pub(super) struct BatchRandomizer<'a> {
    task: &'a Task,
    seed: Option<u64>,
    threads: usize,
    done: u64,
}

/// The most records that are randomized together, and the most bytes their reports may take.
pub(super) const BATCH: usize = 4096;
const BATCH_BYTES: usize = 64 << 20;

/// How many reports of `task` are held in memory at a time.
fn batch_size(task: &Task) -> usize {
    (BATCH_BYTES / report_bytes(task)).clamp(1, BATCH)
}

impl<'a> BatchRandomizer<'a> {
    /// With randomness from the system, or (for tests) from `seed` and the record's position.
    pub(super) fn new(task: &'a Task, seed: Option<u64>) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { task, seed, threads, done: 0 }
    }

    /// One report per record, in their order.
    pub(super) fn randomize(&mut self, records: &[BoundedRecord]) -> core::result::Result<Vec<Report>, RandomizeError> {
        let first = self.done;
        self.done += records.len() as u64;
        let per_thread = records.len().div_ceil(self.threads).max(1);
        let (task, seed) = (self.task, self.seed);
        std::thread::scope(|scope| {
            let workers: Vec<_> = records
                .chunks(per_thread)
                .zip((first..).step_by(per_thread))
                .map(|(part, start)| scope.spawn(move || randomize_part(task, seed, part, start)))
                .collect();
            let mut reports = Vec::with_capacity(records.len());
            for worker in workers {
                match worker.join() {
                    Ok(part) => reports.extend(part?),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok(reports)
        })
    }
}

fn randomize_part(
    task: &Task,
    seed: Option<u64>,
    records: &[BoundedRecord],
    start: u64,
) -> core::result::Result<Vec<Report>, RandomizeError> {
    match seed {
        None => {
            let mut rng = system_rng()?;
            records.iter().map(|record| task.randomize_with_rng(record, &mut rng)).collect()
        }
        Some(seed) => (start..)
            .zip(records)
            .map(|(position, record)| task.randomize_with_rng(record, &mut insecure_rng(seed, position)))
            .collect(),
    }
}

/// Randomizes the records of a file and hands on reports batch by batch.
pub(super) fn randomize_file(
    path: &Path,
    task: &Task,
    header: Header,
    skip_invalid: bool,
    mut randomizer: BatchRandomizer<'_>,
    mut visit: impl FnMut(Vec<Report>) -> Result<()>,
) -> Result<Counts> {
    let size = batch_size(task);
    let mut batch: Vec<BoundedRecord> = Vec::with_capacity(size);
    let counts = records::bounded(path, task, header, skip_invalid, |record| {
        batch.push(record);
        if batch.len() == size {
            visit(randomizer.randomize(&batch)?)?;
            batch.clear();
        }
        Ok(())
    })?;
    visit(randomizer.randomize(&batch)?)?;
    Ok(counts)
}

/// Why there is nothing to write.
pub(super) fn no_records(counts: &Counts) -> String {
    match &counts.first_skipped {
        Some(first) => format!("none of its {} rows is a valid record; {first}", grouped(counts.skipped)),
        None => "there are no records in it".to_owned(),
    }
}

impl Randomize {
    pub(super) fn run(self) -> Result<()> {
        let started = Instant::now();
        let task = files::task(&self.task)?;
        if self.insecure_seed.is_some() {
            note("warning: --insecure-seed makes reports that anybody can reproduce; they are not private");
        }
        let mut output = Output::create(&self.output)?;
        let randomizer = BatchRandomizer::new(&task, self.insecure_seed);
        let counts = randomize_file(&self.records, &task, self.header, self.skip_invalid, randomizer, |reports| {
            reports
                .iter()
                .try_for_each(|report| output.write_all(&report.to_bytes()))
                .map_err(|error| CliError::file(&self.output, error))
        })?;
        if counts.records == 0 {
            return Err(CliError::file(&self.records, no_records(&counts)));
        }
        output.finish()?;
        let result = RandomizeResult {
            records: counts.records,
            skipped: counts.skipped,
            first_skipped: counts.first_skipped,
            report_bytes: report_bytes(&task),
            guarantee: task.guarantee(),
            private: self.insecure_seed.is_none(),
            seconds: started.elapsed().as_secs_f64(),
            output: self.output,
        };
        self.format.print(&result, |result| {
            let mut text = format!(
                "{} reports of {} bytes in {:.1} s\neach gives {}\n",
                grouped(result.records),
                result.report_bytes,
                result.seconds,
                result.guarantee
            );
            if let Some(first) = &result.first_skipped {
                text += &format!("left out {} invalid rows, the first at {first}\n", grouped(result.skipped));
            }
            text + &format!("wrote {}\n", result.output.display())
        })
    }
}
