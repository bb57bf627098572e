//! One thread per task writes: it takes all batches that wait, appends what is new, syncs once, counts, and then answers them.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::{self, JoinHandle};

use tokio::sync::{mpsc, oneshot, watch};

use super::log::{LogFile, ReportLog};
use crate::aggregate::Aggregate;
use crate::report::{Report, ReportId, report_bytes};
use crate::server::store::{
    Batch, BoxFuture, CommitError, Committed, Counts, Damage, StoreError, TaskReports, TaskSettings,
};
use crate::task::Task;

/// Bytes of reports beyond which no further batch joins those that are written together.
const GROUP_BYTES: usize = 8 << 20;

/// The reports of one task.
pub(super) struct FolderTask {
    task: Task,
    settings: RwLock<Arc<TaskSettings>>,
    damage: Damage,
    totals: Arc<Totals>,
    /// Gone once the store is closed.
    queue: Mutex<Option<mpsc::Sender<Waiting>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// What the writer publishes.
struct Totals {
    counts: watch::Sender<Counts>,
    /// Locked while reports are summed: readers wait for it off the request threads.
    aggregate: Mutex<Aggregate>,
}

/// A batch and who waits for it.
struct Waiting {
    batch: Batch,
    answer: oneshot::Sender<Result<Committed, CommitError>>,
}

impl FolderTask {
    /// Replays the file and starts the writer. At most `queue` batches wait for it.
    pub(super) fn open(task: Task, path: &Path, queue: usize) -> Result<Self, StoreError> {
        let mut ids = HashSet::new();
        let mut aggregate = Aggregate::empty(&task);
        let (log, damage) = ReportLog::open(path, &task, |reports| {
            reports.retain(|report| ids.insert(report.id()));
            sum(&mut aggregate, &task, reports);
        })?;
        Self::start(task, log, damage, ids, aggregate, queue).map_err(|error| StoreError::io("serve", path, error))
    }

    fn start<F: LogFile>(
        task: Task,
        log: ReportLog<F>,
        damage: Damage,
        ids: HashSet<ReportId>,
        aggregate: Aggregate,
        queue: usize,
    ) -> std::io::Result<Self> {
        let counts = Counts { records: aggregate.records(), duplicates: 0 };
        let totals = Arc::new(Totals { counts: watch::Sender::new(counts), aggregate: Mutex::new(aggregate) });
        let (sender, receiver) = mpsc::channel(queue.max(1));
        let writer = Writer { task: task.clone(), log, ids, totals: Arc::clone(&totals) };
        let thread = thread::Builder::new().name("report-writer".into()).spawn(move || writer.run(receiver))?;
        Ok(Self {
            task,
            settings: RwLock::default(),
            damage,
            totals,
            queue: Mutex::new(Some(sender)),
            writer: Mutex::new(Some(thread)),
        })
    }

    /// Gives it other settings.
    pub(super) fn configure(&self, settings: TaskSettings) {
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }

    /// Takes no further batch, and returns when those that wait are written.
    pub(super) fn close(&self) {
        drop(hold(&self.queue).take());
        if let Some(writer) = hold(&self.writer).take() {
            // It panicked: then the batches it held were answered with `Closed`, and the file is repaired at the next start.
            let _ = writer.join();
        }
    }
}

impl TaskReports for FolderTask {
    fn task(&self) -> &Task {
        &self.task
    }

    fn settings(&self) -> Arc<TaskSettings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn damage(&self) -> Damage {
        self.damage
    }

    fn counts(&self) -> Counts {
        *self.totals.counts.borrow()
    }

    fn watch_counts(&self) -> watch::Receiver<Counts> {
        self.totals.counts.subscribe()
    }

    fn queued(&self) -> usize {
        hold(&self.queue).as_ref().map_or(0, |queue| queue.max_capacity() - queue.capacity())
    }

    fn aggregate(&self) -> Result<Aggregate, StoreError> {
        Ok(hold(&self.totals.aggregate).clone())
    }

    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<Committed, CommitError>> {
        Box::pin(async {
            let (answer, committed) = oneshot::channel();
            match hold(&self.queue).as_ref().ok_or(CommitError::Closed)?.try_send(Waiting { batch, answer }) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(_)) => return Err(CommitError::Busy),
                Err(mpsc::error::TrySendError::Closed(_)) => return Err(CommitError::Closed),
            }
            committed.await.unwrap_or(Err(CommitError::Closed))
        })
    }
}

impl Drop for FolderTask {
    fn drop(&mut self) {
        self.close();
    }
}

/// The writer's own state.
struct Writer<F> {
    task: Task,
    log: ReportLog<F>,
    /// The ids of all reports in the log.
    ids: HashSet<ReportId>,
    totals: Arc<Totals>,
}

impl<F: LogFile> Writer<F> {
    fn run(mut self, mut queue: mpsc::Receiver<Waiting>) {
        while let Some(first) = queue.blocking_recv() {
            let mut bytes = first.batch.bytes.len();
            let mut group = vec![first];
            while bytes < GROUP_BYTES {
                let Ok(next) = queue.try_recv() else { break };
                bytes += next.batch.bytes.len();
                group.push(next);
            }
            self.commit(group);
        }
    }

    fn commit(&mut self, mut group: Vec<Waiting>) {
        let report_bytes = report_bytes(&self.task);
        let mut new_bytes = Vec::new();
        let mut new_reports = Vec::new();
        let mut new_ids = HashSet::new();
        let mut outcomes = Vec::with_capacity(group.len());
        for Waiting { batch, .. } in &mut group {
            let mut outcome = Committed::default();
            for (report, bytes) in batch.reports.drain(..).zip(batch.bytes.chunks_exact(report_bytes)) {
                if self.ids.contains(&report.id()) || !new_ids.insert(report.id()) {
                    outcome.duplicate += 1;
                } else {
                    outcome.accepted += 1;
                    new_bytes.extend_from_slice(bytes);
                    new_reports.push(report);
                }
            }
            outcomes.push(outcome);
        }
        // Duplicates of what is on the disk need no writing.
        let written = if new_bytes.is_empty() { Ok(()) } else { self.log.append(&new_bytes) };
        if let Err(error) = written {
            let refusal = CommitError::Write(error.to_string());
            group.into_iter().for_each(|waiting| answer(waiting, Err(refusal.clone())));
            return;
        }
        self.ids.extend(new_ids);
        sum(&mut hold(&self.totals.aggregate), &self.task, &new_reports);
        self.totals.counts.send_modify(|counts| {
            for outcome in &outcomes {
                counts.records += outcome.accepted;
                counts.duplicates += outcome.duplicate;
            }
        });
        for (waiting, outcome) in group.into_iter().zip(outcomes) {
            answer(waiting, Ok(outcome));
        }
    }
}

fn answer(Waiting { batch, answer }: Waiting, outcome: Result<Committed, CommitError>) {
    // Its room is free before the client can ask for more.
    drop(batch);
    // Whoever waited may be gone; the outcome stands.
    let _ = answer.send(outcome);
}

/// Adds reports that were decoded as reports of `task`, which is all that an aggregate asks for.
fn sum(aggregate: &mut Aggregate, task: &Task, reports: &[Report]) {
    let threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    aggregate.accumulate_with_threads(task, reports, threads).expect("reports of this task");
}

/// Locks. Nothing that is done under these locks leaves a half-made state behind, so a panic elsewhere does not matter.
fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::SeqCst;

    use crate::server::limits::Share;
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    use super::super::log::tests::{FaultyFile, faulty_log};
    use super::*;
    use crate::mechanism::MechanismSpec;
    use crate::privacy::Epsilon;
    use crate::record::Bounding;
    use crate::schema::Schema;
    use crate::task::Folds;

    fn task() -> Task {
        let mechanism = MechanismSpec::DoubleCap { epsilon: Epsilon::new(2.0).unwrap(), candidates: 8, cap: 1 };
        Task::new(Schema::numeric(3).unwrap(), Bounding::UnitNorm, mechanism, Folds::new(2).unwrap()).unwrap()
    }

    fn reports(task: &Task, count: usize) -> Vec<Report> {
        let record = task.bound(vec![1.0, 2.0, -2.0]).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        (0..count).map(|_| task.randomize_with_rng(&record, &mut rng).unwrap()).collect()
    }

    fn batch(reports: &[Report]) -> Batch {
        Batch {
            bytes: reports.iter().flat_map(Report::to_bytes).collect(),
            reports: reports.to_vec(),
            permit: Share::of_nothing(),
        }
    }

    fn store(file: &FaultyFile) -> FolderTask {
        let (task, damage) = (task(), Damage::default());
        let aggregate = Aggregate::empty(&task);
        FolderTask::start(task, faulty_log(file), damage, HashSet::new(), aggregate, 4).unwrap()
    }

    fn commit(store: &FolderTask, reports: &[Report]) -> Result<Committed, CommitError> {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(store.commit(batch(reports)))
    }

    #[test]
    fn a_batch_that_cannot_be_written_is_not_counted_and_can_be_sent_again() {
        let file = FaultyFile::default();
        let store = store(&file);
        let reports = reports(store.task(), 6);
        assert_eq!(commit(&store, &reports[..2]), Ok(Committed { accepted: 2, duplicate: 0 }));
        for fault in [&file.sync_fails, &file.truncation_fails] {
            file.capacity.store(100, SeqCst);
            fault.store(true, SeqCst);
            assert!(matches!(commit(&store, &reports[1..]), Err(CommitError::Write(_))));
            assert_eq!((store.counts().records, store.counts().duplicates), (2, 0));
            assert_eq!(store.aggregate().unwrap().records(), 2);
            fault.store(false, SeqCst);
        }
        file.capacity.store(0, SeqCst);
        assert_eq!(commit(&store, &reports[1..]), Ok(Committed { accepted: 4, duplicate: 1 }));
        let mut expected = Aggregate::empty(store.task());
        expected.accumulate(store.task(), &reports).unwrap();
        assert_eq!(store.aggregate().unwrap(), expected);
        assert_eq!(file.content(), reports.iter().flat_map(Report::to_bytes).collect::<Vec<u8>>());
    }

    #[test]
    fn duplicates_are_ignored_within_a_batch_and_need_no_disk() {
        let file = FaultyFile::default();
        let store = store(&file);
        let reports = reports(store.task(), 2);
        let twice = [reports[0].clone(), reports[1].clone(), reports[0].clone()];
        assert_eq!(commit(&store, &twice), Ok(Committed { accepted: 2, duplicate: 1 }));
        file.sync_fails.store(true, SeqCst);
        assert_eq!(commit(&store, &reports), Ok(Committed { accepted: 0, duplicate: 2 }));
    }

    #[test]
    fn a_closed_store_takes_nothing() {
        let store = store(&FaultyFile::default());
        let reports = reports(store.task(), 1);
        store.close();
        assert_eq!(commit(&store, &reports), Err(CommitError::Closed));
    }
}
