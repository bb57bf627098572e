//! Batches of a task that wait to be stored, and those who wait for them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, oneshot};

use super::{Batch, CommitError, Committed};

/// Bytes of reports beyond which no further batch joins those that are written together.
const GROUP_BYTES: usize = 8 << 20;

/// The end of a queue at which batches come. Its channel is gone once it is closed.
pub(super) struct CommitQueue(Mutex<Option<mpsc::Sender<Waiting>>>);

/// The other end.
pub(super) type Waits = mpsc::Receiver<Waiting>;

/// A batch and who waits for it.
pub(super) struct Waiting {
    pub(super) batch: Batch,
    pub(super) answer: oneshot::Sender<Result<Committed, CommitError>>,
}

impl CommitQueue {
    /// Room for so many batches, at least one.
    pub(super) fn new(length: usize) -> (Self, Waits) {
        let (sender, receiver) = mpsc::channel(length.max(1));
        (Self(Mutex::new(Some(sender))), receiver)
    }

    /// Waits in the queue until the batch is answered. A caller that stops waiting does not stop the batch.
    pub(super) async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        let (answer, committed) = oneshot::channel();
        match hold(&self.0).as_ref().ok_or(CommitError::Closed)?.try_send(Waiting { batch, answer }) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(_)) => return Err(CommitError::Busy),
            Err(mpsc::error::TrySendError::Closed(_)) => return Err(CommitError::Closed),
        }
        committed.await.unwrap_or(Err(CommitError::Closed))
    }

    /// Batches that wait.
    pub(super) fn queued(&self) -> usize {
        hold(&self.0).as_ref().map_or(0, |queue| queue.max_capacity() - queue.capacity())
    }

    /// Takes no further batch.
    pub(super) fn close(&self) {
        drop(hold(&self.0).take());
    }
}

/// The first batch and all that wait behind it, but for what is too much at a time.
pub(super) fn group(first: Waiting, queue: &mut Waits) -> Vec<Waiting> {
    let mut bytes = first.batch.bytes.len();
    let mut group = vec![first];
    while bytes < GROUP_BYTES {
        let Ok(next) = queue.try_recv() else { break };
        bytes += next.batch.bytes.len();
        group.push(next);
    }
    group
}

/// Locks. Nothing that is done under the stores' locks leaves a half-made state behind, so a panic elsewhere does not matter.
pub(super) fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
