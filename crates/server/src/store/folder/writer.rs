//! The writing thread, one per task: it takes all waiting batches, makes what is new durable in one transaction,
//! counts, and then answers them. It also writes the sum. Whoever erases has its state meanwhile.

use std::collections::HashSet;
use std::collections::hash_map::Entry;
use std::mem;
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::thread;
use std::time::Instant;

use tokio::sync::{Mutex as AsyncMutex, watch};

use super::database::{Change, Database, Problem, page_bytes, trusted};
use super::ids::Ids;
use super::{FolderOptions, check_set_aside};
use crate::locks::{hold, read_lock};
use crate::store::queue::{self, Waiting, Waits};
use crate::store::{
    Batch, CommitError, Committed, Counts, ErasedReports, StoreError, TaskSettings, mark, sum, sum_bytes, unix_time,
};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::internal::aggregate::MAX_RECORDS;
use ldp_pca::report::{Report, ReportId, report_bytes};
use ldp_pca::task::Task;

/// Bytes of reports after which the sum is written in any case, if it has no more.
const SUMMED_BYTES: u64 = 256 << 20;

/// The writer's own state.
pub(super) struct Writer {
    pub(super) shared: Arc<Shared>,
    /// Those of erased reports too.
    pub(super) ids: Ids,
    /// The ids of reports that were erased.
    pub(super) gone: HashSet<ReportId>,
    /// Tells the thread that sums of reports that wait for it. It needs to hear it once.
    pub(super) due: SyncSender<()>,
    /// Reports since the sum was written.
    pub(super) unsummed: u64,
    /// Bytes in the log since it was written back, about.
    pub(super) logged: u64,
}

impl Writer {
    /// Who waits for the lock gets it after this group.
    pub(super) fn run(writer: &AsyncMutex<Self>, mut queue: Waits) {
        let shared = Arc::clone(&writer.blocking_lock().shared);
        while let Some(first) = queue.blocking_recv() {
            let group = queue::group(first, &mut queue);
            writer.blocking_lock().commit(group);
        }
        // What fails now is done again at the next start.
        let _ = shared.with(Database::empty_log);
    }

    fn commit(&mut self, mut group: Vec<Waiting>) {
        let shared = Arc::clone(&self.shared);
        // After a panic it tells before the lock is free: an erasure that waits must not believe the ids.
        let _watched = Watched(&shared);
        let settings = Arc::clone(&read_lock(&shared.settings));
        let limit = settings.max_records.unwrap_or(MAX_RECORDS).min(MAX_RECORDS);
        let before = shared.counts.borrow().records;
        let (mut reports, mut frames) = (Vec::new(), Vec::new());
        let mut outcomes = Vec::with_capacity(group.len());
        for Waiting { batch, .. } in &mut group {
            let first = reports.len();
            let closed = batch.closed.take().or_else(|| CommitError::of_closed(&settings));
            let outcome = self.sort_out(batch, &mut reports, &mut frames);
            let records = before + first as u64;
            let full = (records + outcome.accepted > limit).then_some(CommitError::Quota { limit, records });
            let refusal = closed.or(full).filter(|_| outcome.accepted > 0);
            if refusal.is_some() {
                reports.drain(first..).for_each(|report| self.ids.remove(report.id()));
                frames.truncate(first);
            }
            outcomes.push(refusal.map_or(Ok(outcome), Err));
        }
        let (metrics, new) = (&shared.options.metrics, reports.len());
        // Duplicates of reports on disk need no writing.
        if new > 0 {
            let started = Instant::now();
            let written = shared.change(|change| change.append(&reports, &frames));
            if let Err(error) = written {
                metrics.failed_writes.inc();
                reports.iter().for_each(|report| self.ids.remove(report.id()));
                tracing::warn!(%error, "reports could not be stored");
                let error = error.for_clients();
                let is_in_doubt = shared.options.failed.borrow().is_some();
                let refusal = if is_in_doubt { CommitError::Unknown(error) } else { CommitError::Write(error) };
                group.into_iter().for_each(|waiting| waiting.answer(Err(refusal.clone())));
                return;
            }
            metrics.sync_seconds.observe(started.elapsed().as_secs_f64());
            metrics.group_reports.observe(new as f64);
            metrics.written_bytes.inc_by((new * report_bytes(&shared.task)) as u64);
            // Before they are counted: a sum has all that are.
            hold(&shared.waiting).extend(reports);
        }
        shared.counts.send_modify(|counts| {
            for outcome in outcomes.iter().flatten() {
                counts.records += outcome.accepted;
                counts.duplicates += outcome.duplicate;
            }
        });
        for (waiting, outcome) in group.into_iter().zip(outcomes) {
            waiting.answer(outcome);
        }
        if new > 0 {
            self.follow(new as u64);
        }
    }

    /// Has new reports summed, and writes the sum and the log back when they are due.
    fn follow(&mut self, reports: u64) {
        // It may have been told before.
        let _ = self.due.try_send(());
        let each = report_bytes(&self.shared.task);
        if hold(&self.shared.waiting).len() * each > self.shared.options.backlog_bytes {
            drop(self.shared.whole());
        }
        // Whole pages: those of the row, and of the tables and the tally above it.
        let page = page_bytes(&self.shared.task);
        self.logged += page * ((each as u64 + 16) * reports / page + 4);
        self.unsummed += reports;
        let bytes = self.unsummed * each as u64;
        let worth_it = self.unsummed >= self.shared.options.summed_reports || bytes >= SUMMED_BYTES;
        if worth_it && bytes >= sum_bytes(&self.shared.task) {
            self.write_sum();
        }
        let write_back = |database: &mut Database| database.checkpoint("PASSIVE");
        if self.logged >= self.shared.options.log_bytes && self.shared.with(write_back).is_ok() {
            self.logged = 0;
        }
    }

    /// Writes the sum, so that a start need not compute it again.
    fn write_sum(&mut self) {
        let sum = self.shared.whole();
        // Not if something that summed has panicked.
        if sum.records() == self.shared.counts.borrow().records {
            let written = self.shared.change(|change| change.put_sum(&sum));
            if written.is_ok() {
                self.unsummed = 0;
                // What it replaces is overwritten.
                self.logged += 2 * sum_bytes(&self.shared.task);
            }
        }
    }

    /// Erases the reports with these ids, which stay refused.
    pub(super) fn erase(&mut self, asked: &[ReportId]) -> Result<ErasedReports, StoreError> {
        type Set = HashSet<ReportId>;
        let shared = Arc::clone(&self.shared);
        let _watched = Watched(&shared);
        // The group before it may have failed: its ids are unknown here, and maybe on the disk.
        trusted(&shared.options.failed, &shared.folder)?;
        // What was set aside may also have reports that were erased before, and lost ones, whose ids nobody knows.
        check_set_aside(&shared.folder)?;
        let asked: Set = asked.iter().copied().collect();
        let (before, others): (Set, Set) = asked.into_iter().partition(|id| self.gone.contains(id));
        let (wanted, unknown): (Set, Set) = others.into_iter().partition(|id| self.ids.contains(*id));
        let [erased, before, unknown] = [&wanted, &before, &unknown].map(|ids| ids.len() as u64);
        if !wanted.is_empty() {
            let mut sum = shared.whole();
            if sum.records() != shared.counts.borrow().records {
                let problem = "its reports are not summed any more: start the server again";
                return Err(StoreError::refused(&shared.folder, problem));
            }
            let left = shared.change(|change| {
                let mut left = sum.clone();
                change.erase(&shared.task, &wanted, &mut left)?;
                change.refuse(&wanted, unix_time())?;
                change.put_sum(&left)?;
                Ok(left)
            })?;
            *sum = left;
            shared.counts.send_modify(|counts| counts.records -= erased);
            self.gone.extend(wanted);
            self.unsummed = 0;
        }
        shared.with(Database::erase_log)?;
        Ok(ErasedReports { erased, before, unknown })
    }

    /// Separates the new reports of a batch and their bytes, and remembers them.
    fn sort_out<'a>(
        &mut self,
        batch: &'a mut Batch,
        reports: &mut Vec<Report>,
        frames: &mut Vec<&'a [u8]>,
    ) -> Committed {
        let mut outcome = Committed::default();
        for (report, frame) in batch.reports.drain(..).zip(batch.bytes.chunks(report_bytes(&self.shared.task))) {
            let mark = mark(frame);
            match self.ids.entry(report.id()) {
                Entry::Occupied(first) => {
                    outcome.duplicate += 1;
                    outcome.conflicting += u64::from(first.get().is_some_and(|first| first != mark));
                }
                Entry::Vacant(place) => {
                    place.insert(Some(mark));
                    outcome.accepted += 1;
                    reports.push(report);
                    frames.push(frame);
                }
            }
        }
        outcome
    }
}

/// What the threads of a task share: those of requests, the writer, and one that follows it with the sum.
pub(super) struct Shared {
    pub(super) task: Task,
    pub(super) folder: PathBuf,
    pub(super) settings: RwLock<Arc<TaskSettings>>,
    pub(super) counts: watch::Sender<Counts>,
    /// The sum of all reports but those that wait. Locked while reports are summed, so not for a request thread.
    pub(super) sum: Mutex<Aggregate>,
    /// Durable reports that wait to be summed. Locked after the sum where both are.
    pub(super) waiting: Mutex<Vec<Report>>,
    pub(super) options: FolderOptions,
    /// None once it is closed.
    pub(super) database: Mutex<Option<Database>>,
}

impl Shared {
    /// The sum of all reports that were counted when this was called, and maybe of newer ones: adds those that wait.
    pub(super) fn whole(&self) -> MutexGuard<'_, Aggregate> {
        let _watched = Watched(self);
        let mut whole = hold(&self.sum);
        let reports = mem::take(&mut *hold(&self.waiting));
        sum(&mut whole, &self.task, &reports);
        whole
    }

    /// Uses the database.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Database) -> Result<T, StoreError>) -> Result<T, StoreError> {
        work(hold(&self.database).as_mut().ok_or_else(|| self.closed())?)
    }

    /// The refusal once the task is closed.
    pub(super) fn closed(&self) -> StoreError {
        StoreError::refused(&self.folder, format!("{}: try again later", CommitError::Closed))
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
