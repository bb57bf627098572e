//! `export`: the reports of a task, one after the other.

use std::io;
use std::path::Path;

use serde::Serialize;

use super::super::database::{Content, Database};
use super::super::task_folder;
use super::{Meter, Progress, read_batches, refuse_losses};
use crate::store::{At, StoreError};
use ldp_pca::task::TaskDigest;

/// The result of [`export`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// Reports.
    pub reports: u64,
    /// Reports that were lost or are damaged, and left out.
    pub lost: u64,
}

/// Passes all reports of a task to `write` in the order of their arrival, some at a time. A server may have the folder
/// open.
///
/// # Errors
/// [`StoreError`] when the folder does not hold the task, or it cannot be read or written. [`StoreError::Lossy`] when
/// reports are lost or damaged, unless `allow_loss`.
pub fn export(
    root: &Path,
    task: TaskDigest,
    allow_loss: bool,
    write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    progress: Progress<'_>,
) -> Result<Exported, StoreError> {
    let folder = task_folder(root, task);
    let (database, Content { row, .. }) = Database::read(&folder, task)?;
    refuse_losses(&database, &row, allow_loss)?;
    let (mut meter, mut reports) = (Meter::new(progress, [&folder]), 0);
    let lost = read_batches(&database, &row, allow_loss, &mut |batch| {
        meter.add(batch.bytes.len() as u64);
        reports += batch.reports.len() as u64;
        Ok(write(&batch.bytes).at("write the reports of", &folder)?)
    })?;
    Ok(Exported { reports, lost })
}
