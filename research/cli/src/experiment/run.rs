//! Runs cells on all cores, and writes an experiment's files once its last cell is finished.

use std::io::Write as _;
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use indicatif::ProgressBar;
use ldp_pca_cli::error::{CliError, InFile as _, Result};
use ldp_pca_cli::output::{bar, note};
use ldp_pca_cli::parallel::on_all_cores;
use ldp_pca_cli::writing::{self, Kind, Target};
use ldp_pca_literature::experiments::{Cell, Clock, Experiment, Findings, Scale, Table, Value};
use ldp_pca_records::FileFormat;
use serde::Serialize;

use super::data_of;
use super::figures;
use super::folder::DataFolder;
use super::kept::{Complete, Head, Kept, key_of};
use super::section::Section;

/// The part that all experiments of a run share.
pub(super) struct Job<'a> {
    pub(super) out: &'a Path,
    pub(super) data: &'a DataFolder,
    pub(super) scale: Scale,
    pub(super) seed: u64,
    /// Whether cells that another build kept count.
    pub(super) reuse: bool,
    /// Whether large files of rows are compressed.
    pub(super) gzip: bool,
}

/// The most bytes of rows that are never compressed.
const SMALL: usize = 100_000;
const PACKED: &str = "csv.gz";

/// The outcome of an experiment.
#[derive(Debug, Serialize)]
pub(super) struct Outcome {
    pub(super) name: &'static str,
    status: Status,
    /// Cells of this run, and those that an earlier run had finished.
    cells: usize,
    kept: usize,
    /// The processor time that its cells took, added up; the time that passed where the system does not tell.
    seconds: f64,
    rows: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// The missing parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Status {
    /// Its files are written.
    Done,
    /// None of its data are there.
    Skipped,
    /// A cell failed.
    Failed,
}

impl Outcome {
    /// Whether this makes the run a failure: experiments given by name have to finish.
    pub(super) fn is_failure(&self, named: bool) -> bool {
        match self.status {
            Status::Done => false,
            Status::Skipped => named,
            Status::Failed => true,
        }
    }
}

/// The output at the end.
#[derive(Serialize)]
pub(super) struct Summary<'a> {
    pub(super) report: String,
    pub(super) experiments: &'a [Outcome],
}

impl Summary<'_> {
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for Outcome { name, status, cells, kept, seconds, rows, problem, missing } in self.experiments {
            text += &match status {
                Status::Done => format!("{name}: {rows} rows, {cells} cells in {seconds:.1} s, {kept} kept\n"),
                Status::Skipped => format!("{name}: skipped\n"),
                Status::Failed => format!("{name}: failed: {}\n", problem.as_deref().unwrap_or_default()),
            };
            for line in missing {
                text += &format!("    {line}\n");
            }
        }
        text + &format!("wrote {}\n", self.report)
    }
}

/// An experiment while it is run.
struct Work<'a> {
    experiment: &'a dyn Experiment,
    /// Cells whose data are there, in the order of the table.
    cells: Vec<Cell>,
    state: Mutex<State>,
}

struct State {
    kept: Kept,
    outcome: Outcome,
}

/// Time since the start of the run.
struct Stopwatch(Instant);

impl Clock for Stopwatch {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

impl Job<'_> {
    /// Runs what is left of the experiments: cells side by side, those that measure time one by one afterwards.
    pub(super) fn run(&self, experiments: &[Box<dyn Experiment>]) -> Result<Vec<Outcome>> {
        let works =
            experiments.iter().map(|experiment| self.prepare(experiment.as_ref())).collect::<Result<Vec<_>>>()?;
        let mut queue: Vec<(&Work<'_>, &Cell)> = vec![];
        for work in &works {
            let state = work.state();
            let left = work.cells.iter().filter(|cell| !state.kept.has(&key_of(cell, self.data)));
            queue.extend(left.map(|cell| (work, cell)));
        }
        let progress = bar("experiments", queue.len() as u64);
        let (alone, together): (Vec<_>, Vec<_>) = queue.into_iter().partition(|(_, cell)| cell.is_alone());
        let clock = Stopwatch(Instant::now());
        on_all_cores(together.len(), |index| {
            let (work, cell) = together[index];
            self.run_cell(work, cell, &clock, &progress);
            Ok::<_, CliError>(())
        })?;
        for (work, cell) in alone {
            self.run_cell(work, cell, &clock, &progress);
        }
        progress.finish_and_clear();
        works.into_iter().map(|work| self.finish(work)).collect()
    }

    fn prepare<'b>(&self, experiment: &'b dyn Experiment) -> Result<Work<'b>> {
        let mut cells = experiment.cells(self.scale);
        cells.retain(|cell| cell.data().is_none_or(|set| self.data.has(set)));
        let head = Head::new(experiment, self.scale, self.seed);
        let keys: Vec<String> = cells.iter().map(|cell| key_of(cell, self.data)).collect();
        let kept = Kept::open(self.out, experiment, &head, self.reuse, &keys)?;
        let outcome = Outcome {
            name: experiment.name(),
            status: if cells.is_empty() { Status::Skipped } else { Status::Done },
            cells: 0,
            kept: keys.iter().filter(|key| kept.has(key)).count(),
            seconds: 0.0,
            rows: 0,
            problem: None,
            missing: self.missing(experiment),
        };
        Ok(Work { experiment, cells, state: Mutex::new(State { kept, outcome }) })
    }

    /// The missing data sets of an experiment, as messages name them.
    fn missing(&self, experiment: &dyn Experiment) -> Vec<String> {
        let sets = data_of(experiment, self.scale).into_iter();
        sets.filter(|set| !self.data.has(set)).map(ToString::to_string).collect()
    }

    fn run_cell(&self, work: &Work<'_>, cell: &Cell, clock: &dyn Clock, progress: &ProgressBar) {
        // The others would fail as the first one did.
        if work.state().outcome.problem.is_none() {
            let start = processor_time(clock);
            let rows = cell.run(work.experiment, self.seed, self.data, clock);
            let mut state = work.state();
            let State { kept, outcome } = &mut *state;
            let seconds = processor_time(clock).saturating_sub(start).as_secs_f64();
            outcome.seconds += seconds;
            let key = key_of(cell, self.data);
            match rows.map_err(CliError::failed).and_then(|rows| kept.keep(&key, rows, seconds)) {
                Ok(()) => outcome.cells += 1,
                Err(problem) => {
                    outcome.status = Status::Failed;
                    outcome.problem = Some(format!("{}: {problem}", cell.key()));
                }
            }
        }
        progress.inc(1);
    }

    /// Writes an experiment's rows and pictures.
    fn finish(&self, work: Work<'_>) -> Result<Outcome> {
        let Work { experiment, state, .. } = work;
        let State { kept, mut outcome } = state.into_inner().unwrap_or_else(PoisonError::into_inner);
        // The lock on its file ends here.
        drop(kept);
        if outcome.status == Status::Done
            && let Some(Complete { head, table, .. }) = Kept::complete(self.out, experiment, self.data)?
        {
            outcome.rows = table.len();
            self.write(experiment, head.scale(), &table)?;
        }
        if outcome.status == Status::Skipped {
            note(format_args!("{}: skipped, because none of its data are there", experiment.name()));
        }
        Ok(outcome)
    }

    fn write(&self, experiment: &dyn Experiment, scale: Scale, table: &Table) -> Result<()> {
        self.write_rows(experiment, table)?;
        let Findings { figures, .. } = experiment.findings(scale, table);
        if !figures.is_empty() {
            let picture = Target::new(self.path(experiment, "svg"), Kind::TEXT);
            writing::write(&picture, figures::figures(experiment.title(), experiment.name(), &figures).as_bytes())?;
        }
        Ok(())
    }

    /// Writes an experiment's rows, and removes the file of an earlier run that has them in the other form.
    fn write_rows(&self, experiment: &dyn Experiment, table: &Table) -> Result<()> {
        let [plain, packed] = ["csv", PACKED].map(|ending| self.path(experiment, ending));
        let target = Target::new(plain.clone(), Kind::TEXT);
        let head = table.columns().iter().map(ToString::to_string).collect::<Vec<_>>();
        let rows = table.rows().map(|row| row.values().iter().map(rounded).collect());
        let rows = writing::csv(&target, iter::once(head).chain(rows))?;
        let other = if self.gzip && rows.len() > SMALL {
            let mut encoder = GzEncoder::new(vec![], Compression::best());
            let bytes = encoder.write_all(&rows).and_then(|()| encoder.finish()).in_file(&packed)?;
            writing::write(&Target::new(packed, Kind::Format(FileFormat::Gzip)), &bytes)?;
            plain
        } else {
            writing::write(&target, &rows)?;
            packed
        };
        match std::fs::remove_file(&other) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(CliError::file(&other, error)),
            _ => Ok(()),
        }
    }

    /// A file of an experiment.
    fn path(&self, experiment: &dyn Experiment, ending: &str) -> PathBuf {
        self.out.join(format!("{}.{ending}", experiment.name()))
    }

    /// The report's sections: every experiment whose rows in the folder are complete, whenever it was run, and the
    /// incomplete ones of `experiments`, with what they need.
    pub(super) fn sections(&self, experiments: &[Box<dyn Experiment>]) -> Result<Vec<Section>> {
        let mut sections = vec![];
        for experiment in ldp_pca_literature::experiments::all() {
            let complete = Kept::complete(self.out, experiment.as_ref(), self.data)?;
            let wanted = experiments.iter().any(|other| other.name() == experiment.name());
            if complete.is_none() && !wanted {
                continue;
            }
            let missing = self.missing(experiment.as_ref());
            let is_packed = self.path(experiment.as_ref(), PACKED).exists();
            let ending = if is_packed { PACKED } else { "csv" };
            sections.push(Section::new(experiment, complete, missing, ending));
        }
        Ok(sections)
    }
}

/// The time that this thread has run so far. A cell has one thread.
#[cfg(unix)]
fn processor_time(_: &dyn Clock) -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(not(unix))]
fn processor_time(clock: &dyn Clock) -> Duration {
    clock.now()
}

/// A value as its CSV file has it: five digits, which keeps the files of a full run small. The cells keep all of them.
fn rounded(value: &Value) -> String {
    match value {
        Value::Number(number) if number.fract() != 0.0 && number.is_finite() => {
            Value::Number(format!("{number:.4e}").parse().unwrap_or(*number)).to_string()
        }
        value => value.to_string(),
    }
}

impl Work<'_> {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // A panic elsewhere leaves whole cells behind.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_files_have_five_digits_and_whole_numbers_as_they_are() {
        let of = |number: f64| rounded(&Value::Number(number));
        assert_eq!(
            [of(0.30000000000000004), of(1.0 / 3.0), of(-2e-12 / 3.0)],
            ["0.3", "0.33333", "-0.00000000000066667"]
        );
        assert_eq!([of(123_456_789.0), of(f64::NAN), rounded(&"a".into())], ["123456789", "", "a"]);
    }
}
