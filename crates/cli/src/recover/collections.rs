//! What `recover` reads: the sums of one task, or of the tasks of a family.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use ldp_pca::aggregate::{Aggregate, AggregateError};
use ldp_pca::internal::family::{Collection, check_family};
use ldp_pca::task::Task;

use crate::error::{CliError, InFile as _, Result};
use crate::files;
use crate::remedy;

/// The tasks, each with its sums.
pub(super) struct Collections {
    tasks: Vec<Task>,
    aggregates: Vec<Aggregate>,
}

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

impl Collections {
    /// Reads the aggregates, one for each task in any order.
    pub(super) fn read(tasks: Vec<Task>, task_paths: &[PathBuf], paths: &[PathBuf]) -> Result<Self> {
        let mut found: Vec<Option<(&PathBuf, Aggregate)>> = tasks.iter().map(|_| None).collect();
        for path in paths {
            let (index, aggregate) = read_one(path, &tasks)?;
            if let Some((before, _)) = &found[index] {
                let problem = format!(
                    "it is of the same task as {}: sum both first with `ldp-pca aggregate`, and give the sum",
                    before.display()
                );
                return Err(CliError::file(path, problem));
            }
            found[index] = Some((path, aggregate));
        }
        let mut aggregates = Vec::with_capacity(tasks.len());
        for (found, path) in found.into_iter().zip(task_paths) {
            let Some((_, aggregate)) = found else {
                return Err(CliError::file(
                    path,
                    "no aggregate of this task was given: give it too, or leave the task out",
                ));
            };
            aggregates.push(aggregate);
        }
        Ok(Self { tasks, aggregates })
    }

    /// Each task with its sums, in the order of the tasks.
    pub(super) fn members(&self) -> Vec<Collection<'_>> {
        self.aggregates.iter().zip(&self.tasks).collect()
    }
}

/// The aggregate, and the position of its task.
fn read_one(path: &Path, tasks: &[Task]) -> Result<(usize, Aggregate)> {
    let (first, others) = (&tasks[0], &tasks[1..]);
    if others.is_empty() {
        return Ok((0, files::aggregate(path, first)?));
    }
    let mut bytes = vec![];
    files::open(path)?.0.read_to_end(&mut bytes).in_file(path)?;
    let found = match Aggregate::from_bytes(&bytes, first) {
        Ok(aggregate) => return Ok((0, aggregate)),
        Err(AggregateError::OtherTask { found, .. }) => found,
        Err(_) => return Ok((0, files::aggregate_of(path, &bytes[..], first)?)),
    };
    match tasks.iter().position(|task| task.digest() == found) {
        Some(index) => Ok((index, files::aggregate_of(path, &bytes[..], &tasks[index])?)),
        None => {
            let problem = format!("the aggregate belongs to task {found}, which was not given: give it with --task");
            Err(CliError::file(path, problem))
        }
    }
}
