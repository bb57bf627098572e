//! `verify`: reads everything, changes nothing.

use std::path::Path;

use serde::Serialize;

use super::super::database::Database;
use super::super::{NEW, names};
use super::{Progress, all_folders, meter};
use crate::secrets;
use crate::store::StoreError;
use ldp_pca::task::TaskDigest;

/// The result of [`verify`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Every task of the folder, those that are deleted and not erased among them.
    pub tasks: Vec<VerifiedTask>,
    /// Problems of the folder besides its tasks.
    pub problems: Vec<String>,
}

/// The result of [`verify`] for one task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerifiedTask {
    /// Its digest.
    pub task: String,
    /// When it was deleted, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted: Option<u64>,
    /// Intact reports.
    pub reports: u64,
    /// Reports that were erased on request.
    pub erased: u64,
    /// The bytes of its database.
    pub bytes: u64,
    /// Problems: something that was acknowledged is lost, or the next start would refuse the folder.
    pub problems: Vec<String>,
}

impl Verified {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.problems.is_empty() && self.tasks.iter().all(|task| task.problems.is_empty())
    }
}

/// Reads every byte of a folder: all checksums, every report, and the written sums against the sums of the reports. A
/// server may have the folder open.
///
/// # Errors
/// [`StoreError`] when the folder cannot be read. Problems in it are in the result.
pub fn verify(root: &Path, progress: Progress<'_>) -> Result<Verified, StoreError> {
    let mut verified = Verified { problems: secrets::problems(root), ..Verified::default() };
    let is_known = |name: &String| name.parse::<TaskDigest>().is_ok() || name.ends_with(&format!(".{NEW}"));
    for name in names(&root.join("tasks"))?.iter().filter(|name| !is_known(name)) {
        verified.problems.push(format!("{name} in the folder of tasks is no task"));
    }
    let folders = all_folders(root)?;
    let mut meter = meter(progress, folders.iter().map(|(folder, ..)| folder));
    for (folder, digest, deleted) in folders {
        let mut found = VerifiedTask { task: digest.to_string(), deleted, ..VerifiedTask::default() };
        let done = verify_task(&folder, digest, &mut found, &mut meter);
        // It may have been deleted or erased meanwhile.
        if done.is_ok() || folder.exists() {
            found.problems.extend(done.err().map(|error| error.to_string()));
            verified.tasks.push(found);
        }
    }
    Ok(verified)
}

fn verify_task(
    folder: &Path,
    digest: TaskDigest,
    found: &mut VerifiedTask,
    meter: &mut dyn FnMut(u64),
) -> Result<(), StoreError> {
    found.bytes = Database::bytes_in(folder);
    let (database, mut content) = Database::read(folder, digest)?;
    found.erased = content.erased.len() as u64;
    found.problems.append(&mut content.row.damage);
    let problems = database.problems(&content, &mut |batch| {
        meter(batch.bytes.len() as u64);
        found.reports += batch.reports.len() as u64;
    })?;
    found.problems.extend(problems);
    Ok(())
}
