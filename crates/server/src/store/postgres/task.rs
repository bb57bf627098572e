//! One task: its sum, its queue, and the threads that write the queue.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::task::{JoinHandle, spawn_blocking};

use super::pool::Pool;
use super::shared::Shared;
use super::state::Awaited;
use super::writer::{Commit, commit};
use crate::locks::hold;
use crate::store::queue::{self, CommitQueue, MOST_WAITING, Waiting, Waits};
use crate::store::{
    Batch, BoxFuture, CommitError, Committed, Counts, Damage, StoreError, StoreMetrics, TaskReports, TaskSettings, sum,
};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::report::{Report, ReportId, report_bytes};
use ldp_pca::task::Task;

/// Groups that are written at the same time: while the database waits for its disk, it is sent the next.
const WRITERS: usize = 2;

/// The reports of one task.
pub(super) struct PostgresTask {
    pub(super) shared: Arc<Shared>,
    queue: CommitQueue,
    writers: Mutex<Vec<JoinHandle<()>>>,
}

impl PostgresTask {
    /// Starts the writers.
    pub(super) fn start(shared: Arc<Shared>, pool: &Arc<Pool>, metrics: &StoreMetrics) -> Self {
        let (queue, receiver) = CommitQueue::new(MOST_WAITING);
        let receiver = Arc::new(AsyncMutex::new(receiver));
        let writers = (0..WRITERS)
            .map(|_| {
                let (shared, pool, metrics) = (Arc::clone(&shared), Arc::clone(pool), metrics.clone());
                tokio::spawn(write(shared, pool, metrics, Arc::clone(&receiver)))
            })
            .collect();
        Self { shared, queue, writers: Mutex::new(writers) }
    }

    /// Accepts no further batch, and publishes no more counts. Waiting batches are written.
    pub(super) fn close(&self) {
        self.shared.state.end();
        self.queue.close();
    }

    /// [`close`](Self::close), and waits until they are.
    pub(super) async fn finish(&self) {
        self.close();
        let writers = std::mem::take(&mut *hold(&self.writers));
        for writer in writers {
            // It panicked: then the batches it held were answered with `Closed`.
            let _ = writer.await;
        }
    }
}

impl TaskReports for PostgresTask {
    fn task(&self) -> &Task {
        &self.shared.task
    }

    fn settings(&self) -> Arc<TaskSettings> {
        self.shared.settings()
    }

    fn damage(&self) -> Damage {
        Damage { lost: self.shared.state.passed_over(), ..Damage::default() }
    }

    fn counts(&self) -> Counts {
        *self.shared.state.counts.borrow()
    }

    fn watch_counts(&self) -> watch::Receiver<Counts> {
        self.shared.state.counts.clone()
    }

    fn queued(&self) -> usize {
        self.queue.queued()
    }

    fn aggregate(&self) -> Result<Aggregate, StoreError> {
        Ok(self.shared.state.snapshot().aggregate)
    }

    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<Committed, CommitError>> {
        Box::pin(self.queue.commit(batch))
    }
}

/// Writes waiting batches until the queue is closed and empty.
async fn write(shared: Arc<Shared>, pool: Arc<Pool>, metrics: StoreMetrics, queue: Arc<AsyncMutex<Waits>>) {
    while let Some(group) = next_group(&queue).await {
        let (batches, answers): (Vec<Batch>, Vec<_>) =
            group.into_iter().map(|waiting| (waiting.batch, waiting.answer)).unzip();
        let start = Instant::now();
        let outcomes = match commit(&shared, &pool, &batches).await {
            Err(error) => {
                if matches!(error, CommitError::Write(_) | CommitError::Unknown(_)) {
                    metrics.failed_writes.inc();
                }
                batches.iter().map(|_| Err(error.clone())).collect()
            }
            Ok(Commit { outcomes, new, awaited }) => {
                if awaited.is_some() {
                    *hold(&shared.confirmed) = new.keys().next().copied();
                    metrics.sync_seconds.observe(start.elapsed().as_secs_f64());
                    metrics.group_reports.observe(new.len() as f64);
                    metrics.written_bytes.inc_by((new.len() * report_bytes(&shared.task)) as u64);
                }
                count(&shared, &batches, &outcomes, new, awaited).await;
                outcomes
            }
        };
        // The space of the batches is free before their clients can send more.
        drop(batches);
        for (answer, outcome) in answers.into_iter().zip(outcomes) {
            // The waiting caller may be gone; the outcome stands.
            let _ = answer.send(outcome);
        }
    }
}

/// All waiting batches, up to the limit of a group. `None` once the queue is closed and empty.
async fn next_group(queue: &AsyncMutex<Waits>) -> Option<Vec<Waiting>> {
    let mut queue = queue.lock().await;
    Some(queue::group(queue.recv().await?, &mut queue))
}

/// Adds the reports that are in the database now.
async fn count(
    shared: &Arc<Shared>,
    batches: &[Batch],
    outcomes: &[Result<Committed, CommitError>],
    mut new: HashMap<ReportId, usize>,
    awaited: Option<Awaited>,
) {
    let duplicates: u64 = outcomes.iter().flatten().map(|outcome| outcome.duplicate).sum();
    // Of reports with the same id the first was written.
    let reports: Vec<Report> = (batches.iter().enumerate())
        .flat_map(|(index, batch)| batch.reports.iter().map(move |report| (index, report)))
        .filter(|(index, report)| new.get(&report.id()) == Some(index) && new.remove(&report.id()).is_some())
        .map(|(_, report)| report.clone())
        .collect();
    let shared = Arc::clone(shared);
    let counted = spawn_blocking(move || {
        shared.state.duplicates(duplicates);
        if let Some(awaited) = awaited {
            shared.state.committed(awaited, |aggregate| sum(aggregate, &shared.task, &reports));
        }
    });
    // If it panics, its transaction is awaited without end: the sum lags behind, but is never wrong.
    let _ = counted.await;
}
