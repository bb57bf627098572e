//! The state shared by the parts that write a task's reports, follow them and keep their sum.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, RwLock};

use super::snapshots::Compared;
use super::state::{Snapshot, State};
use crate::locks::{read_lock, write_lock};
use crate::store::TaskSettings;
use ldp_pca::report::ReportId;
use ldp_pca::task::Task;

/// A task as the database has it.
pub(super) struct FoundTask {
    pub(super) task: Task,
    pub(super) number: i32,
    pub(super) settings: TaskSettings,
    pub(super) erased: i64,
}

/// A task's state for its writers and the follower.
pub(super) struct Shared {
    pub(super) task: Task,
    /// The task's number in this database.
    pub(super) number: i32,
    /// How many of its reports were erased before it was read.
    pub(super) erased: i64,
    settings: RwLock<Arc<TaskSettings>>,
    pub(super) state: State,
    /// Reports in the last known snapshot.
    pub(super) last_snapshot: AtomicU64,
    /// The transaction up to which the sum was compared with the table.
    pub(super) compared: Mutex<Compared>,
    /// A report of the last own commit, which the database has as long as it keeps what it confirms.
    pub(super) confirmed: Mutex<Option<ReportId>>,
}

impl Shared {
    pub(super) fn new(found: FoundTask, snapshot: Snapshot, duplicates: u64) -> Self {
        let FoundTask { task, number, settings, erased } = found;
        let last_snapshot = AtomicU64::new(snapshot.aggregate.records());
        let compared = Mutex::new(Compared::of(&snapshot));
        let (settings, state) = (RwLock::new(Arc::new(settings)), State::new(snapshot, duplicates));
        Self { task, number, erased, settings, state, last_snapshot, compared, confirmed: Mutex::default() }
    }

    pub(super) fn settings(&self) -> Arc<TaskSettings> {
        Arc::clone(&read_lock(&self.settings))
    }

    pub(super) fn configure(&self, settings: TaskSettings) {
        *write_lock(&self.settings) = Arc::new(settings);
    }
}
