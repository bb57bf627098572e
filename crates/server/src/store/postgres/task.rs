//! One task: its sum, its queue, and the threads that write the queue.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::task::{JoinHandle, spawn_blocking};

use super::pool::Pool;
use super::state::Shared;
use super::writer::{Commit, commit};
use crate::locks::hold;
use crate::store::queue::{self, CommitQueue, MOST_WAITING, Waiting, Waits};
use crate::store::{CommitError, Counts, Damage, StoreMetrics, TaskReports, TaskSettings, sum};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::report::{Report, report_bytes};
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
        drop(hold(&self.shared.teller).take());
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
        Damage { lost: self.shared.passed_over(), ..Damage::default() }
    }

    fn watch_counts(&self) -> watch::Receiver<Counts> {
        self.shared.counts.clone()
    }

    fn aggregate(&self) -> Aggregate {
        self.shared.snapshot().aggregate
    }

    fn queue(&self) -> &CommitQueue {
        &self.queue
    }
}

/// Writes waiting batches until the queue is closed and empty.
async fn write(shared: Arc<Shared>, pool: Arc<Pool>, metrics: StoreMetrics, queue: Arc<AsyncMutex<Waits>>) {
    while let Some(group) = next_group(&queue).await {
        let start = Instant::now();
        let outcomes = match commit(&shared, &pool, &group).await {
            Err(error) => {
                if matches!(error, CommitError::Write(_) | CommitError::Unknown(_)) {
                    metrics.failed_writes.inc();
                }
                vec![Err(error); group.len()]
            }
            Ok(Commit { outcomes, new, awaited }) => {
                if awaited.is_some() {
                    *hold(&shared.confirmed) = new.first().map(Report::id);
                    metrics.sync_seconds.observe(start.elapsed().as_secs_f64());
                    metrics.group_reports.observe(new.len() as f64);
                    metrics.written_bytes.inc_by((new.len() * report_bytes(&shared.task)) as u64);
                }
                let duplicates = outcomes.iter().flatten().map(|outcome| outcome.duplicate).sum();
                let shared = Arc::clone(&shared);
                let add = move || {
                    shared.committed(duplicates, awaited, |aggregate| sum(aggregate, &shared.task, &new));
                };
                // If it panics, its transaction is awaited without end: the sum lags behind, but is never wrong.
                let _ = spawn_blocking(add).await;
                outcomes
            }
        };
        for (waiting, outcome) in group.into_iter().zip(outcomes) {
            waiting.answer(outcome);
        }
    }
}

/// All waiting batches, up to the limit of a group. `None` once the queue is closed and empty.
async fn next_group(queue: &AsyncMutex<Waits>) -> Option<Vec<Waiting>> {
    let mut queue = queue.lock().await;
    Some(queue::group(queue.recv().await?, &mut queue))
}
