//! What `recover` reads: the sums of one task, or of the tasks of a family, in files or at an aggregator.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ldp_pca::aggregate::{Aggregate, AggregateError};
use ldp_pca::internal::family::check_family;
use ldp_pca::internal::mechanism::Summable as _;
use ldp_pca::task::Task;

use crate::aggregator::{self, Aggregator};
use crate::error::{CliError, InFile as _, Result};
use crate::files;
use crate::remedy;

/// Reads tasks, of which there is one at least, and refuses those that are no family.
pub(super) fn tasks(paths: &[PathBuf]) -> Result<Vec<Task>> {
    let mut tasks: Vec<Task> = Vec::with_capacity(paths.len());
    for path in paths {
        let task = files::task(path)?;
        let family = tasks.iter().try_for_each(|before| check_family(before, &task));
        family.map_err(|error| CliError::file(path, remedy::told(error)))?;
        tasks.push(task);
    }
    Ok(tasks)
}

/// Reads the aggregates, one for each task in any order, and gives them in the order of the tasks.
pub(super) fn aggregates(tasks: &[Task], task_paths: &[PathBuf], paths: &[PathBuf]) -> Result<Vec<Aggregate>> {
    let mut found: Vec<Option<(&PathBuf, Aggregate)>> = tasks.iter().map(|_| None).collect();
    for path in paths {
        let (index, aggregate) = read_one(path, tasks)?;
        if let Some((before, _)) = &found[index] {
            let remedy = "sum both first with `ldp-pca aggregate`, and give the sum";
            let problem = format!("it is of the same task as {}: {remedy}", before.display());
            return Err(CliError::file(path, problem));
        }
        found[index] = Some((path, aggregate));
    }
    let aggregates = found.into_iter().zip(task_paths).map(|(found, path)| match found {
        Some((_, aggregate)) => Ok(aggregate),
        None => Err("no aggregate of this task was given: give it too, or leave the task out").in_file(path),
    });
    aggregates.collect()
}

/// The longest that the sums of a task may take on their way.
const LONGEST_DOWNLOAD: Duration = Duration::from_secs(600);

/// The most bytes of an aggregate beside its sums.
const BESIDE_THE_SUMS: u64 = 64 << 10;

/// Asks an aggregator for the sums of these tasks.
pub(super) fn at(url: &str, token_file: Option<&Path>, tasks: &[Task]) -> Result<Vec<Aggregate>> {
    let token = Some(aggregator::needed_token(token_file)?);
    let mut aggregator = Aggregator::new(url, token)?.within(LONGEST_DOWNLOAD)?;
    let of_task = |task: &Task| {
        let sums = task.folds().count() * (1 + task.mechanism().sums_len());
        aggregator.largest = 8 * sums as u64 + BESIDE_THE_SUMS;
        let answer = aggregator.get(&format!("/tasks/{}/aggregate", task.digest()))?.good()?;
        files::aggregate_of(answer.url.as_ref(), &answer.body[..], task, "--task")
    };
    tasks.iter().map(of_task).collect()
}

/// The aggregate, and the position of its task.
fn read_one(path: &Path, tasks: &[Task]) -> Result<(usize, Aggregate)> {
    let mut bytes = vec![];
    files::open(path)?.0.read_to_end(&mut bytes).in_file(path)?;
    let index = match Aggregate::from_bytes(&bytes, &tasks[0]) {
        Ok(aggregate) => return Ok((0, aggregate)),
        Err(AggregateError::OtherTask { found, .. }) if tasks.len() > 1 => {
            let unknown = || format!("the aggregate belongs to task {found}, which was not given: give it with --task");
            tasks.iter().position(|task| task.digest() == found).ok_or_else(unknown).in_file(path)?
        }
        Err(_) => 0,
    };
    Ok((index, files::aggregate_of(path, &bytes[..], &tasks[index], "--task")?))
}
