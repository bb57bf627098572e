//! The `aggregate` command: sums of reports.

use std::io::{BufReader, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::internal::aggregate::{SeenIds, SeenSums};
use ldp_pca::report::{Report, report_bytes};
use ldp_pca::task::Task;
use ldp_pca_records::{FileFormat, START};
use serde::Serialize;

use super::columnar::{self, Content, for_each_report_batch};
use super::error::{CliError, InFile as _, Result};
use super::files;
use super::kind::{Kind, Needed};
use super::output::{Format, plural, reading};
use super::writing::{Output, Target};

/// Sum reports, and sums of reports. A report that occurs twice (by its id) is counted once.
///
/// An aggregate (a sum) has a sample of its reports' ids. Reports and other aggregates that are recognized as being in
/// it are refused, since they would count twice: always an aggregate that is given twice, and every report while all
/// inputs together have no more than 1,024; otherwise nearly always where 1 % of the reports so far come again.
#[derive(Args)]
pub(super) struct AggregateCommand {
    /// Files of reports, or aggregates of other reports of the same task
    ///
    /// Parquet files have reports in the column `report`
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// The task file
    #[arg(short, long)]
    task: PathBuf,
    /// Where to write the aggregate
    #[arg(short, long, value_parser = Target::parser(Kind::Aggregate))]
    output: Target,
    /// Leave out bytes that are not valid reports, and count them
    ///
    /// Otherwise the command stops at the first
    #[arg(long)]
    skip_invalid: bool,
    /// Number of threads [default: as many as the machine has]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct AggregateResult {
    /// Reports in the written aggregate, merged ones included.
    records: u64,
    duplicates: u64,
    skipped: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_skipped: Option<String>,
    seconds: f64,
    output: Target,
}

impl AggregateCommand {
    pub(super) fn run(self) -> Result<()> {
        let started = Instant::now();
        let task = files::task(&self.task)?;
        // Before the work, which may take hours.
        let mut output = Output::create(&self.output)?;
        let threads = self.threads.and_then(|threads| NonZeroUsize::new(threads.into()));
        let threads = threads.or(std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
        let mut collection = Summing {
            aggregate: Aggregate::empty(&task),
            seen: SeenIds::new(threads),
            sums: SeenSums::default(),
            duplicates: 0,
            skipped: 0,
            first_skipped: None,
            skip_invalid: self.skip_invalid,
            threads,
            task: &task,
        };
        for input in &self.inputs {
            collection.add_file(input)?;
        }
        collection.aggregate.visit_bytes(|part| output.put(part))?;
        output.finish()?;
        let result = AggregateResult {
            records: collection.aggregate.records(),
            duplicates: collection.duplicates,
            skipped: collection.skipped,
            first_skipped: collection.first_skipped,
            seconds: started.elapsed().as_secs_f64(),
            output: self.output,
        };
        self.format.print(&result, |result| {
            let mut text = format!("{} summed in {:.1} s\n", plural(result.records, "report"), result.seconds);
            if result.duplicates > 0 {
                text += &format!("{} counted once\n", plural(result.duplicates, "duplicate"));
            }
            if let Some(first) = &result.first_skipped {
                text += &format!("left out {}, the first {first}\n", plural(result.skipped, "invalid report"));
            }
            text + &format!("wrote {}\n", result.output)
        })
    }
}

/// Reports and sums of a task on their way into one sum.
struct Summing<'a> {
    aggregate: Aggregate,
    seen: SeenIds,
    sums: SeenSums,
    duplicates: u64,
    skipped: u64,
    first_skipped: Option<String>,
    skip_invalid: bool,
    threads: NonZeroUsize,
    task: &'a Task,
}

impl Summing<'_> {
    fn add_file(&mut self, path: &Path) -> Result<()> {
        let (mut file, length) = files::open(path)?;
        if let Some((FileFormat::Parquet, content)) = columnar::in_no_order(path, &mut file)? {
            return self.add_table(path, content);
        }
        let content = BufReader::with_capacity(1 << 20, reading("aggregating", length).wrap_read(file));
        let (start, mut content) = files::start(content, START).in_file(path)?;
        let kind = Kind::of(&start);
        if kind == Kind::Aggregate {
            let other = files::aggregate_of(path, content, self.task, "--task")?;
            return self.sums.merge(&mut self.aggregate, &other).in_file(path);
        }
        if kind == Kind::Format(FileFormat::Parquet) {
            return self.add_table(path, Content::Stream(Box::new(BufReader::new(content))));
        }
        Needed::Reports.check(path, &start)?;
        let length = report_bytes(self.task);
        let size = (BATCH_BYTES / length).clamp(1, BATCH);
        let mut bytes = Vec::with_capacity(size * length);
        let mut place = Place { path, part: "report", is_text: kind == Kind::TEXT, read: 0 };
        loop {
            bytes.clear();
            content.by_ref().take((size * length) as u64).read_to_end(&mut bytes).in_file(path)?;
            if bytes.is_empty() {
                return Ok(());
            }
            self.add(&mut place, &bytes.chunks(length).collect::<Vec<_>>())?;
        }
    }

    /// Adds the reports of a Parquet file.
    fn add_table(&mut self, path: &Path, content: Content) -> Result<()> {
        let mut place = Place { path, part: "row", is_text: false, read: 0 };
        let size = (report_bytes(self.task), BATCH_BYTES, BATCH);
        for_each_report_batch(path, content, size, |rows| self.add(&mut place, rows))
    }

    /// Adds the reports that follow those read so far.
    fn add(&mut self, place: &mut Place<'_>, rows: &[&[u8]]) -> Result<()> {
        let Place { path, part, is_text, read } = place;
        let mut batch = Vec::with_capacity(rows.len());
        let decoded = Report::many_from_bytes(rows, self.task, self.threads).into_iter().flatten();
        for (bytes, report) in rows.iter().zip(decoded) {
            *read += 1;
            let problem = match report {
                Ok(report) => {
                    batch.push(report);
                    continue;
                }
                Err(_) if bytes.is_empty() => "null or no bytes instead of a report".to_owned(),
                Err(problem) => problem.to_string(),
            };
            if self.skip_invalid {
                self.skipped += 1;
                self.first_skipped.get_or_insert_with(|| format!("in {}, {part} {read}: {problem}", path.display()));
                continue;
            }
            let problem = if *is_text {
                "this is text, not a report: `ldp-pca randomize` makes reports of records".to_owned()
            } else {
                format!("{problem} (--skip-invalid leaves such reports out)")
            };
            return Err(CliError::at(path, part, *read, problem));
        }
        let decoded = batch.len();
        self.seen.retain_new(&mut batch);
        self.duplicates += (decoded - batch.len()) as u64;
        self.aggregate.accumulate_with_threads(self.task, &batch, self.threads).in_file(path)
    }
}

/// Where in a file the next report is.
struct Place<'a> {
    path: &'a Path,
    /// What a report stands in.
    part: &'static str,
    is_text: bool,
    /// How many come before it.
    read: u64,
}

/// The most reports that are decoded together, and the most bytes they may take (one report may take more).
const BATCH: usize = 1 << 16;
const BATCH_BYTES: usize = 32 << 20;
