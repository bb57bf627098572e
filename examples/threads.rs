//! Sums files of reports, each on its own thread: `cargo run --release --example threads`.
//!
//! Sums are integers, so the aggregate has the same bytes in any order and with any number of threads or machines.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{fs, thread};

use ldp_pca::report::report_bytes;
use ldp_pca::{Accumulator, Aggregate, Report, Task};

/// Errors pass from the threads to `main`.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The sums of one file, in which reports of the same length follow one another.
///
/// A report that is in two files counts twice. If that can happen, keep the ids (`Report::id`).
fn sum(file: &Path, task: &Task) -> Outcome<Aggregate> {
    let mut accumulator = Accumulator::new(task);
    for bytes in fs::read(file)?.chunks(report_bytes(task)) {
        accumulator.push(Report::from_bytes(bytes, task)?)?;
    }
    Ok(accumulator.aggregate()?.clone())
}

pub(crate) fn main() -> Outcome<()> {
    let task = Task::from_json(include_str!("app-task.json"))?;
    let folder = tempfile::tempdir()?;
    let files: Vec<PathBuf> = (0..4).map(|number| folder.path().join(format!("reports-{number}.bin"))).collect();
    for file in &files {
        fs::write(file, made_up_reports(&task, 5_000)?)?;
    }

    let parts = thread::scope(|scope| {
        let threads: Vec<_> = files.iter().map(|file| scope.spawn(|| sum(file, &task))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a sum does not panic")).collect::<Outcome<Vec<_>>>()
    })?;
    let mut all = Aggregate::empty(&task);
    parts.iter().try_for_each(|part| all.merge(part))?;
    println!("{} reports in {} files", all.records(), files.len());
    Ok(())
}

/// Reports as devices send them.
fn made_up_reports(task: &Task, count: usize) -> Outcome<Vec<u8>> {
    let mut bytes = vec![];
    for number in 0..count {
        let plan = if number % 3 == 0 { "paid" } else { "free" };
        let record = task.bound(task.schema().encode_fields(&["3", "1", "-2", plan]))?;
        bytes.extend(task.randomize(&record, None)?.to_bytes());
    }
    Ok(bytes)
}
