//! The sum of a task's reports, and the thread that follows the writer with it.

use std::collections::HashSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use tokio::sync::watch;

use super::options::FolderOptions;
use crate::locks::hold;
use crate::store::{Counts, sum};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::report::{Report, ReportId};
use ldp_pca::task::Task;

/// The state that all threads of a task share.
pub(super) struct Totals {
    pub(super) counts: watch::Sender<Counts>,
    /// Locked while reports are summed: readers wait for it off the request threads.
    sum: Mutex<Sum>,
    /// Notifies readers of a sum, and the writer of room.
    progress: Condvar,
    /// The ids of reports that were erased.
    pub(super) gone: Mutex<HashSet<ReportId>>,
}

pub(super) struct Sum {
    pub(super) aggregate: Aggregate,
    /// Reports that were taken out of it.
    pub(super) erased: u64,
    /// Bytes that wait.
    backlog: usize,
    /// Whether nothing is summed any more.
    ended: bool,
}

impl Totals {
    pub(super) fn new(aggregate: Aggregate, gone: HashSet<ReportId>) -> Self {
        Self {
            gone: Mutex::new(gone),
            counts: watch::Sender::new(Counts { records: aggregate.records(), duplicates: 0 }),
            sum: Mutex::new(Sum { aggregate, erased: 0, backlog: 0, ended: false }),
            progress: Condvar::new(),
        }
    }

    /// The sum, once it holds all reports that were counted when this was called.
    pub(super) fn aggregate(&self) -> Aggregate {
        let sum = hold(&self.sum);
        // Reports that are erased meanwhile were in the sum.
        let records = self.counts.borrow().records + sum.erased;
        self.wait_while(sum, |sum| sum.aggregate.records() + sum.erased < records).aggregate.clone()
    }

    /// The sum, once nothing waits to be added.
    pub(super) fn whole(&self) -> MutexGuard<'_, Sum> {
        self.wait_while(hold(&self.sum), |sum| sum.backlog > 0)
    }

    fn wait_while<'a>(&self, sum: MutexGuard<'a, Sum>, wait: impl Fn(&Sum) -> bool) -> MutexGuard<'a, Sum> {
        let waited = self.progress.wait_while(sum, |sum| !sum.ended && wait(sum));
        waited.unwrap_or_else(PoisonError::into_inner)
    }
}

struct Durable {
    reports: Vec<Report>,
    bytes: usize,
}

/// The writer's end.
pub(super) struct Backlog {
    totals: Arc<Totals>,
    /// Bytes that may wait.
    most: usize,
    durable: Sender<Durable>,
}

impl Backlog {
    /// Passes on durable reports, and waits for room for the next.
    pub(super) fn sum(&self, reports: Vec<Report>, bytes: usize) {
        hold(&self.totals.sum).backlog += bytes;
        // The other end goes before this one only if it panicked: `ended` notifies waiting threads.
        let _ = self.durable.send(Durable { reports, bytes });
        drop(self.totals.wait_while(hold(&self.totals.sum), |sum| sum.backlog > self.most));
    }
}

/// The thread's own state.
pub(super) struct Summing {
    task: Task,
    totals: Arc<Totals>,
    durable: Receiver<Durable>,
    /// Bytes of reports that are summed together.
    together: usize,
    /// Told if this ends by a panic.
    failed: Arc<watch::Sender<Option<String>>>,
}

impl Summing {
    pub(super) fn new(task: Task, totals: &Arc<Totals>, options: &FolderOptions) -> (Self, Backlog) {
        let (sender, durable) = channel();
        let backlog = Backlog { totals: Arc::clone(totals), most: options.backlog_bytes, durable: sender };
        let (together, failed) = (options.sum_bytes, Arc::clone(&options.failed));
        (Self { task, totals: Arc::clone(totals), durable, together, failed }, backlog)
    }

    pub(super) fn run(self) {
        let _end = End(Arc::clone(&self.totals), Arc::clone(&self.failed));
        while let Ok(Durable { mut reports, mut bytes }) = self.durable.recv() {
            while bytes < self.together
                && let Ok(more) = self.durable.try_recv()
            {
                reports.extend(more.reports);
                bytes += more.bytes;
            }
            let mut total = hold(&self.totals.sum);
            sum(&mut total.aggregate, &self.task, &reports);
            total.backlog -= bytes;
            drop(total);
            self.totals.progress.notify_all();
        }
    }
}

/// Wakes waiting threads when nothing is summed any more, however it ends.
struct End(Arc<Totals>, Arc<watch::Sender<Option<String>>>);

impl Drop for End {
    fn drop(&mut self) {
        hold(&self.0.sum).ended = true;
        self.0.progress.notify_all();
        if thread::panicking() {
            self.1.send_replace(Some("reports are not summed any more, since that panicked".to_owned()));
        }
    }
}
