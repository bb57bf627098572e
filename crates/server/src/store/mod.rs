//! Stores of tasks and their reports. A report is acknowledged once it is durable, and a report id counts once per
//! task.
//!
//! [`ReportStore`] is the interface of a store. `folder` keeps everything in a folder on this machine, `postgres` in a
//! database that several aggregators share.

mod error;
mod folder;
mod lock;
mod metrics;
#[cfg(feature = "postgres")]
mod postgres;
mod queue;
mod settings;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::ptr;
use std::sync::{Arc, Weak};
use std::thread;

use serde::Serialize;
use tokio::sync::watch;

use self::queue::CommitQueue;
use super::net::Portion;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::internal::decimal::plural;
use ldp_pca::internal::mechanism::Summable;
use ldp_pca::report::{Report, ReportId, report_bytes};
use ldp_pca::task::{Task, TaskDigest};

pub(super) use error::At;
pub use error::StoreError;
pub use folder::maintenance;
pub(super) use folder::{FolderOptions, FolderStore};
pub(super) use lock::Lock;
pub(super) use metrics::StoreMetrics;
#[cfg(feature = "postgres")]
pub use postgres::PostgresError;
#[cfg(feature = "postgres")]
pub(super) use postgres::{PostgresOptions, PostgresStore};
pub use settings::TaskSettings;
pub(super) use settings::{RefinementPlan, date_of, unix_time};

/// All tasks of a server. Every method except [`tasks`](Self::tasks) and [`task`](Self::task) waits for the disk or
/// another machine, so do not call them on a request thread.
pub(super) trait ReportStore: Send + Sync + 'static {
    /// Every task, in the order of their digests.
    fn tasks(&self) -> Vec<Arc<dyn TaskReports>>;

    /// One task.
    fn task(&self, digest: TaskDigest) -> Option<Arc<dyn TaskReports>>;

    /// The second wave of a task: the one that it names, also if that was deleted, or the one that is there.
    fn second_wave_of(&self, first: TaskDigest) -> Option<TaskDigest> {
        let named = self.task(first).and_then(|first| first.settings().refined_by);
        let is_second = |task: &Task| task.refinement().is_some() && task.campaign() == first;
        named.or_else(|| self.tasks().iter().map(|task| task.task()).find(|task| is_second(task)).map(Task::digest))
    }

    /// Adds a task, or changes the settings of an existing one. Durable when it returns. A second wave is refused where
    /// its campaign has another one.
    fn put(&self, task: Task, settings: TaskSettings) -> Result<Put, StoreError>;

    /// Deletes a task; `false` when there was none. Commits that wait are refused.
    fn delete(&self, digest: TaskDigest, erase: Erase) -> Result<bool, StoreError>;

    /// The tasks that were deleted and whose reports are still there.
    fn deleted(&self) -> Result<Vec<DeletedTask>, StoreError>;

    /// Erases every byte of one of them.
    fn erase(&self, task: &DeletedTask) -> Result<(), StoreError>;

    /// Erases single reports of a task: they leave the sum and the store, and their ids stay refused. `None` when there
    /// is no such task.
    fn erase_reports(&self, task: TaskDigest, ids: &[ReportId]) -> Result<Option<ErasedReports>, StoreError>;

    /// Closes the first wave of a task: from now on it takes no new report. `false` when there is no such task, or its
    /// first wave is over. Durable when it returns.
    fn close_first_wave(&self, task: TaskDigest, plan: RefinementPlan) -> Result<bool, StoreError>;

    /// Adds the task of the second wave, with the settings of the first, whose settings then name it. Where the store
    /// has a second wave already, that one stays and is named. Returns what is named, and whether it is new; `None`
    /// unless there is such a first wave, and it is over. Durable when it returns, and after a crash it can be
    /// repeated.
    ///
    /// No report is erased meanwhile. An error if one was since the sums were computed; if too few are left, the first
    /// wave goes on, and the answer is `None`.
    fn open_second_wave(&self, first: TaskDigest, second: NextWave) -> Result<Option<(TaskDigest, Put)>, StoreError>;

    /// Tests whether reports can be stored now; if not, returns why.
    fn check(&self) -> Result<(), String>;

    /// Finishes waiting work, refuses new work, and releases the store.
    fn close(&self);
}

/// The treatment of a deleted task's reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Erase {
    /// Every byte of them is erased, including those deleted before under the same digest.
    Now,
    /// They are among [`ReportStore::deleted`].
    AfterGrace,
}

/// A task that was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct DeletedTask {
    pub(super) digest: TaskDigest,
    /// Distinguishes it from others of the same digest.
    pub(super) key: u64,
    /// When, in seconds since 1970.
    pub(super) since: u64,
}

/// The reports of one task.
pub(super) trait TaskReports: Send + Sync + 'static {
    /// The task.
    fn task(&self) -> &Task;

    /// Its operator's settings.
    fn settings(&self) -> Arc<TaskSettings>;

    /// The damage found when it was opened.
    fn damage(&self) -> Damage;

    /// The counts as they change. It ends when anybody deletes the task.
    fn watch_counts(&self) -> watch::Receiver<Counts>;

    /// Reports seen.
    fn counts(&self) -> Counts {
        *self.watch_counts().borrow()
    }

    /// The sum of at least the reports in earlier [`counts`](Self::counts). It waits, so do not call it on a request
    /// thread.
    fn aggregate(&self) -> Aggregate;

    /// The batches that wait to be stored and counted.
    fn queue(&self) -> &CommitQueue;

    /// The length of one report.
    fn report_bytes(&self) -> usize {
        report_bytes(self.task())
    }
}

/// The result of [`ReportStore::put`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// There was no such task.
    Created,
    /// It existed; its settings are the new ones.
    Updated,
}

/// The task of a second wave.
#[derive(Clone, Debug)]
pub(super) struct NextWave {
    pub(super) task: Task,
    /// Reports of the first wave in the sums that it was computed from.
    pub(super) records: u64,
    /// The least number of them. It may not be reached, because reports can be erased after the first wave was closed.
    pub(super) least: u64,
}

/// Whether something was made from these reports, and not from others of the same task.
pub(super) fn is_of(of: &Weak<dyn TaskReports>, reports: &Arc<dyn TaskReports>) -> bool {
    ptr::addr_eq(of.as_ptr(), Arc::as_ptr(reports))
}

/// Good reports of a task that wait to be stored.
pub(super) struct Batch {
    /// The reports.
    pub(super) reports: Vec<Report>,
    /// Their bytes, one after the other.
    pub(super) bytes: Vec<u8>,
    /// Why the task accepts nothing new, if it does not: then the batch is accepted only if all of it is there already.
    pub(super) closed: Option<CommitError>,
    /// Their share of the bytes that the server may hold; none if they come from no request.
    #[allow(dead_code, reason = "held until the batch is stored, then dropped with it")]
    pub(super) permit: Option<Portion>,
}

impl Batch {
    /// A batch without reports: when it is answered, those before it are.
    pub(super) fn empty() -> Self {
        Self { reports: Vec::new(), bytes: Vec::new(), closed: None, permit: None }
    }
}

/// The outcome of a batch. All of it is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Committed {
    /// Reports counted for the first time.
    pub(super) accepted: u64,
    /// Reports with an existing id; the first one stays.
    pub(super) duplicate: u64,
    /// Those of them whose payload is known to differ from the first one's.
    pub(super) conflicting: u64,
}

/// The outcome of erasing reports. All of it is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct ErasedReports {
    /// Ids whose reports are erased now.
    pub(super) erased: u64,
    /// Ids whose reports were erased before.
    pub(super) before: u64,
    /// Ids that no report has or had.
    pub(super) unknown: u64,
}

/// The mark that distinguishes two reports of one id: the checksum at their end.
pub(super) type Mark = [u8; 4];

/// The mark of a whole report.
pub(super) fn mark(report: &[u8]) -> Mark {
    report.last_chunk().copied().unwrap_or_default()
}

/// The reason why no part of a batch was counted; [`Unknown`](Self::Unknown) is the exception.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CommitError {
    /// The queue is full.
    #[error("too many batches wait to be written")]
    Busy,
    /// The task's quota has room for fewer reports than are new in the batch.
    #[error("the task takes at most {} and has {records}", plural(*limit, "report"))]
    Quota {
        /// [`TaskSettings::max_records`].
        limit: u64,
        /// Reports counted.
        records: u64,
    },
    /// The task expired, in seconds since 1970, and something in the batch is new.
    #[error("the task expired, and not all of these reports are there")]
    Expired(u64),
    /// The first wave is over, and something in the batch is new. With the task of the second wave, once it is open.
    #[error("the first wave is over, and not all of these reports are there")]
    Refined(Option<TaskDigest>),
    /// The disk or the database refused.
    #[error("the store cannot write: {0}")]
    Write(String),
    /// A sync failed, or the answer to a commit was lost: the batch may or may not be stored. If it is, it will be
    /// counted, at the latest when the store is opened again.
    #[error("the store did not say whether it has the reports: {0}")]
    Unknown(String),
    /// The server stops, or the task was deleted.
    #[error("the store is closed")]
    Closed,
}

impl CommitError {
    /// Why a task with these settings accepts nothing new, if its first wave is over.
    pub(super) fn of_closed(settings: &TaskSettings) -> Option<Self> {
        settings.is_closed().then_some(Self::Refined(settings.refined_by))
    }
}

/// Reports seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Reports in the aggregate.
    pub(super) records: u64,
    /// Reports ignored since the store was opened, because their id existed.
    pub(super) duplicates: u64,
}

/// What a store lost of a task, and nobody has acknowledged yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Damage {
    /// Acknowledged reports that are lost.
    pub(super) lost: u64,
    /// The problems, a sentence each. Never the content of a report.
    pub(super) places: Vec<String>,
}

/// Adds reports that were decoded as reports of `task`, the only condition here: the store keeps repeats out, since it
/// knows all ids.
fn sum(aggregate: &mut Aggregate, task: &Task, reports: &[Report]) {
    let threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    aggregate.accumulate_with_repeats(task, reports, threads).expect("reports of this task");
}

/// The bytes of a task's sum.
fn sum_bytes(task: &Task) -> u64 {
    8 * task.folds().count() as u64 * task.mechanism().sums_len() as u64
}
