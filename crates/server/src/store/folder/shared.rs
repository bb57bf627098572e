//! What the threads of a task share: those of requests, the writer, and one that follows it with the sum.

use std::mem;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::thread;

use tokio::sync::watch;

use super::FolderOptions;
use super::database::{Change, Database, Problem};
use crate::locks::hold;
use crate::store::{CommitError, Counts, StoreError, TaskSettings, sum};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::report::Report;
use ldp_pca::task::Task;

/// What the threads of a task share.
pub(super) struct Shared {
    pub(super) task: Task,
    pub(super) report_bytes: usize,
    pub(super) folder: PathBuf,
    pub(super) settings: RwLock<Arc<TaskSettings>>,
    pub(super) counts: watch::Sender<Counts>,
    /// The sum of all reports but those that wait. Locked while reports are summed, so not for a request thread.
    pub(super) sum: Mutex<Aggregate>,
    /// Durable reports that wait to be summed, and their bytes. Locked after the sum where both are.
    pub(super) waiting: Mutex<(Vec<Report>, usize)>,
    /// The bytes of the sum.
    pub(super) sum_bytes: u64,
    pub(super) options: FolderOptions,
    /// None once it is closed.
    pub(super) database: Mutex<Option<Database>>,
}

impl Shared {
    /// The sum of all reports that were counted when this was called, and maybe of newer ones: adds those that wait.
    pub(super) fn whole(&self) -> MutexGuard<'_, Aggregate> {
        let _watched = Watched(self);
        let mut whole = hold(&self.sum);
        let (reports, _) = mem::take(&mut *hold(&self.waiting));
        sum(&mut whole, &self.task, &reports);
        whole
    }

    /// Uses the database.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Database) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let closed = || StoreError::refused(&self.folder, CommitError::Closed.to_string());
        work(hold(&self.database).as_mut().ok_or_else(closed)?)
    }

    /// Changes the database: see [`Database::change`].
    pub(super) fn change<T>(&self, make: impl FnOnce(&mut Change<'_>) -> Result<T, Problem>) -> Result<T, StoreError> {
        self.with(|database| database.change(make))
    }
}

/// Has the server stop if this thread panics meanwhile.
pub(super) struct Watched<'a>(pub(super) &'a Shared);

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let told = format!("{}: what writes or sums its reports panicked", self.0.folder.display());
            self.0.options.failed.send_replace(Some(told));
        }
    }
}
