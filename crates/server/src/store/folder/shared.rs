//! What the requests for a task and its writer share.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, RwLock};

use tokio::sync::oneshot;

use super::database::{Change, Database, Problem};
use super::options::FolderOptions;
use super::totals::Totals;
use crate::locks::hold;
use crate::store::{CommitError, ErasedReports, StoreError, TaskSettings};
use ldp_pca::report::ReportId;
use ldp_pca::task::Task;

/// Reports to erase, for somebody who waits.
pub(super) struct Errand {
    pub(super) ids: Vec<ReportId>,
    pub(super) answer: oneshot::Sender<Result<ErasedReports, StoreError>>,
}

/// What requests and the writer share.
pub(super) struct Shared {
    pub(super) task: Task,
    pub(super) report_bytes: usize,
    pub(super) folder: PathBuf,
    pub(super) settings: RwLock<Arc<TaskSettings>>,
    pub(super) totals: Arc<Totals>,
    /// Erasures that are asked for.
    pub(super) errands: Mutex<Vec<Errand>>,
    /// The bytes of the sum.
    pub(super) sum_bytes: u64,
    pub(super) options: FolderOptions,
    /// None once it is closed.
    pub(super) database: Mutex<Option<Database>>,
}

impl Shared {
    /// Uses the database.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Database) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let closed = || self.refused(CommitError::Closed.to_string());
        work(hold(&self.database).as_mut().ok_or_else(closed)?)
    }

    /// Changes the database: all of it or nothing, unless it is [doubtful](Self::is_doubtful) after an error.
    pub(super) fn change<T>(&self, make: impl FnOnce(&mut Change<'_>) -> Result<T, Problem>) -> Result<T, StoreError> {
        self.checked(|database| database.change(make))
    }

    /// Uses the database, and has the server stop if it is not to be trusted any more.
    pub(super) fn checked<T>(
        &self,
        work: impl FnOnce(&mut Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let done = self.with(work);
        if let Err(error) = &done
            && self.is_doubtful()
        {
            self.options.failed.send_replace(Some(error.to_string()));
        }
        done
    }

    pub(super) fn refused(&self, problem: String) -> StoreError {
        StoreError::Refused { path: self.folder.clone(), problem }
    }

    /// Whether it is unknown what the disk has of the last change.
    pub(super) fn is_doubtful(&self) -> bool {
        hold(&self.database).as_ref().is_some_and(|database| database.doubt().is_some())
    }
}
