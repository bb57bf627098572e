//! Batches of a task that wait to be stored, and the requests that wait for them.

use std::sync::Mutex;

use tokio::sync::{mpsc, oneshot};

use super::{Batch, CommitError, Committed};
use crate::locks::hold;

/// Batches of a task that may wait at the same time; beyond them commits are [`CommitError::Busy`].
pub(super) const MOST_WAITING: usize = 4096;

/// Bytes of reports beyond which no further batch joins a group.
const GROUP_BYTES: usize = 8 << 20;

/// The end of a queue at which batches arrive. Its channel is dropped once it is closed.
pub(in super::super) struct CommitQueue(Mutex<Option<mpsc::Sender<Waiting>>>);

/// The other end.
pub(super) type Waits = mpsc::Receiver<Waiting>;

/// A batch and the caller that waits for it.
pub(super) struct Waiting {
    pub(super) batch: Batch,
    pub(super) answer: oneshot::Sender<Result<Committed, CommitError>>,
}

impl CommitQueue {
    /// Room for this many batches, at least one.
    pub(super) fn new(length: usize) -> (Self, Waits) {
        let (sender, receiver) = mpsc::channel(length.max(1));
        (Self(Mutex::new(Some(sender))), receiver)
    }

    /// Waits in the queue until the batch is answered. A caller that stops waiting does not stop the batch.
    pub(in super::super) async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        let (answer, committed) = oneshot::channel();
        let sent = hold(&self.0).as_ref().ok_or(CommitError::Closed)?.try_send(Waiting { batch, answer });
        sent.map_err(|refused| match refused {
            mpsc::error::TrySendError::Full(_) => CommitError::Busy,
            mpsc::error::TrySendError::Closed(_) => CommitError::Closed,
        })?;
        committed.await.unwrap_or(Err(CommitError::Closed))
    }

    /// Batches that wait.
    pub(in super::super) fn queued(&self) -> usize {
        hold(&self.0).as_ref().map_or(0, |queue| queue.max_capacity() - queue.capacity())
    }

    /// Accepts no further batch.
    pub(super) fn close(&self) {
        drop(hold(&self.0).take());
    }
}

impl Waiting {
    /// Answers, once the space of the batch is free: the client can send more.
    pub(super) fn answer(self, outcome: Result<Committed, CommitError>) {
        drop(self.batch);
        // The waiting caller may be gone; the outcome stands.
        let _ = self.answer.send(outcome);
    }
}

/// The first batch and all that wait after it, up to the limit of a group.
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

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn batch(bytes: usize) -> Batch {
        Batch { bytes: vec![0; bytes], ..Batch::empty() }
    }

    #[test]
    fn batches_are_written_together_up_to_the_one_with_which_they_are_enough() {
        const HALF: usize = GROUP_BYTES / 2;
        for (sizes, together) in [
            (&[1][..], 1),
            (&[0, 1, 2, 3], 4),
            (&[HALF, HALF - 1, 1, 1], 3),
            (&[HALF, HALF, 1], 2),
            (&[GROUP_BYTES - 1, 7, 1], 2),
            (&[GROUP_BYTES, 1], 1),
        ] {
            let (sender, mut queue) = mpsc::channel(8);
            for bytes in sizes {
                assert!(sender.try_send(Waiting { batch: batch(*bytes), answer: oneshot::channel().0 }).is_ok());
            }
            let first = queue.try_recv().unwrap();
            let group: Vec<usize> = group(first, &mut queue).iter().map(|waiting| waiting.batch.bytes.len()).collect();
            assert_eq!(group, sizes[..together]);
        }
    }

    #[test]
    fn batches_wait_in_the_room_there_is_until_they_are_answered() {
        let mut context = Context::from_waker(Waker::noop());
        let (queue, mut waits) = CommitQueue::new(2);
        let (mut first, mut second) = (pin!(queue.commit(batch(1))), pin!(queue.commit(batch(2))));
        assert_eq!(queue.queued(), 0);
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert_eq!(queue.queued(), 1);
        assert!(second.as_mut().poll(&mut context).is_pending());
        assert_eq!(queue.queued(), 2);
        assert_eq!(pin!(queue.commit(batch(3))).poll(&mut context), Poll::Ready(Err(CommitError::Busy)));
        let Waiting { batch: taken, answer } = waits.try_recv().unwrap();
        assert_eq!((taken.bytes.len(), queue.queued()), (1, 1));
        let committed = Committed { accepted: 7, ..Committed::default() };
        answer.send(Ok(committed)).unwrap();
        assert_eq!(first.as_mut().poll(&mut context), Poll::Ready(Ok(committed)));
        queue.close();
        assert_eq!(queue.queued(), 0);
        assert_eq!(pin!(queue.commit(batch(4))).poll(&mut context), Poll::Ready(Err(CommitError::Closed)));
        // Earlier batches are still written; every waiting caller gets an answer.
        assert_eq!(waits.try_recv().unwrap().batch.bytes.len(), 2);
        assert_eq!(second.as_mut().poll(&mut context), Poll::Ready(Err(CommitError::Closed)));
    }
}
