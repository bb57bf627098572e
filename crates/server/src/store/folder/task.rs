//! One task of a folder: its opening, and the interface that requests use.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, RwLock, Weak};
use std::thread::{self, JoinHandle};

use tokio::sync::{Mutex as AsyncMutex, watch};

use super::FolderOptions;
use super::database::{Content, Database, TaskRow};
use super::writer::{Shared, Writer};
use crate::locks::{hold, read_lock, write_lock};
use crate::store::queue::{CommitQueue, MOST_WAITING};
use crate::store::{At, Counts, Damage, ErasedReports, StoreError, TaskReports, TaskSettings};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::report::ReportId;
use ldp_pca::task::Task;

/// The reports of one task.
pub(crate) struct FolderTask {
    shared: Arc<Shared>,
    damage: Damage,
    queue: CommitQueue,
    /// Gone once the task is closed.
    writer: Weak<AsyncMutex<Writer>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl FolderTask {
    /// Sums the reports that are not in the written sum, and starts the threads.
    pub(super) fn open(database: Database, mut content: Content, options: FolderOptions) -> Result<Self, StoreError> {
        let unsummed = database.complete_sum(&mut content)?;
        let Content { row, mut ids, erased: gone, sum, .. } = content;
        let TaskRow { task, settings, lost, damage: places, .. } = row;
        for id in &gone {
            ids.insert(*id);
        }
        let (queue, waits) = CommitQueue::new(MOST_WAITING);
        let (due, summing) = sync_channel(1);
        let shared = Arc::new(Shared {
            task,
            folder: database.folder.clone(),
            settings: RwLock::new(Arc::new(settings)),
            counts: watch::Sender::new(Counts { records: sum.records(), duplicates: 0 }),
            sum: Mutex::new(sum),
            waiting: Mutex::default(),
            options,
            database: Mutex::new(Some(database)),
        });
        let writer = Writer { shared: Arc::clone(&shared), ids, gone, due, unsummed, logged: 0 };
        let (writing, summed) = (Arc::new(AsyncMutex::new(writer)), Arc::clone(&shared));
        let writer = Arc::downgrade(&writing);
        let start = |name: &str, work: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().name(name.to_owned()).spawn(work).at("serve", &shared.folder)
        };
        let threads = Mutex::new(vec![
            start("report-writer", Box::new(move || Writer::run(&writing, waits)))?,
            start("report-sum", Box::new(move || summing.iter().for_each(|()| drop(summed.whole()))))?,
        ]);
        Ok(Self { damage: Damage { lost, places }, queue, writer, threads, shared })
    }

    /// Changes its settings.
    pub(super) fn configure(&self, settings: TaskSettings) -> Result<(), StoreError> {
        self.shared.change(|change| change.edit(|row| row.settings.clone_from(&settings)))?;
        *write_lock(&self.shared.settings) = Arc::new(settings);
        Ok(())
    }

    /// Erases reports, while no others are written.
    pub(super) fn erase(&self, ids: &[ReportId]) -> Result<ErasedReports, StoreError> {
        let writer = self.writer.upgrade().ok_or_else(|| self.shared.closed())?;
        let erased = writer.blocking_lock().erase(ids);
        if erased.is_err() {
            self.shared.options.metrics.failed_writes.inc();
        }
        erased
    }

    /// Waits until what is being written is counted.
    pub(super) fn settle(&self) {
        if let Some(writer) = self.writer.upgrade() {
            drop(writer.blocking_lock());
        }
    }

    /// Takes no further batch, and returns when those that wait are written and the database is closed.
    pub(super) fn close(&self) {
        self.queue.close();
        for thread in hold(&self.threads).drain(..) {
            // It panicked: then the batches it held were answered with `Closed`.
            let _ = thread.join();
        }
        drop(hold(&self.shared.database).take());
    }
}

impl TaskReports for FolderTask {
    fn task(&self) -> &Task {
        &self.shared.task
    }

    fn settings(&self) -> Arc<TaskSettings> {
        Arc::clone(&read_lock(&self.shared.settings))
    }

    fn damage(&self) -> Damage {
        self.damage.clone()
    }

    fn watch_counts(&self) -> watch::Receiver<Counts> {
        self.shared.counts.subscribe()
    }

    fn aggregate(&self) -> Aggregate {
        self.shared.whole().clone()
    }

    fn queue(&self) -> &CommitQueue {
        &self.queue
    }
}

impl Drop for FolderTask {
    fn drop(&mut self) {
        self.close();
    }
}
