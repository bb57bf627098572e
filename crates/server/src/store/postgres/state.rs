//! The state of a task: its settings, its sum, and the transactions that are in the sum. Several aggregators add to the
//! table, each follows it, and each sum must contain each report once.
//!
//! The sum has every transaction below `horizon`, and those of `counted`: this aggregator's own, added when they were
//! committed, so their reports need not be read back. A follower moves the horizon in three steps:
//!
//! 1. It asks the database for the smallest transaction that is still open. All below have ended, and stay as they are.
//! 2. It takes [`Ledger::limit`] of that: no further than the smallest own transaction whose outcome is still awaited
//!    here.
//! 3. It reads the rows from the horizon up to the limit, without those of `counted`, and adds them with
//!    [`Shared::advance`].
//!
//! An own transaction is entered with [`Ledger::begin`] before its commit is sent. If it is below the first step's
//! answer, it had ended by then, so at the second step it is either still awaited (and the limit stays below it), or in
//! `counted`, or it was given up; then it is in the table or not, and the third step finds out. The same holds when an
//! answer to a commit was lost.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use tokio::sync::watch;

use crate::locks::{hold, read_lock, write_lock};
use crate::store::{Counts, TaskSettings};
use ldp_pca::aggregate::{Aggregate, AggregateError};
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
    /// Locked while reports are summed, so not for a request thread. Locked before the ledger where both are.
    sum: Mutex<Aggregate>,
    ledger: Mutex<Ledger>,
    /// Dropped with the task, which notifies everyone who waits for other counts.
    pub(super) teller: Mutex<Option<watch::Sender<Counts>>>,
    /// The counts, and those to come.
    pub(super) counts: watch::Receiver<Counts>,
    /// Reports in the last known snapshot.
    pub(super) last_snapshot: AtomicU64,
    /// The transactions of a sum that was compared with the table, and their number of rows.
    pub(super) compared: Mutex<(Covered, i64)>,
    /// A report of the last own commit, which the database has as long as it keeps what it confirms.
    pub(super) confirmed: Mutex<Option<ReportId>>,
}

impl Shared {
    pub(super) fn new(found: FoundTask, snapshot: Snapshot, duplicates: u64) -> Self {
        let FoundTask { task, number, settings, erased } = found;
        let (records, rows) = (snapshot.aggregate.records(), snapshot.rows());
        let (teller, counts) = watch::channel(Counts { records, duplicates });
        let Snapshot { aggregate, covered } = snapshot;
        Self {
            task,
            number,
            erased,
            settings: RwLock::new(Arc::new(settings)),
            sum: Mutex::new(aggregate),
            ledger: Mutex::new(Ledger { covered: covered.clone(), awaited: BTreeSet::new() }),
            teller: Mutex::new(Some(teller)),
            counts,
            last_snapshot: AtomicU64::new(records),
            compared: Mutex::new((covered, rows)),
            confirmed: Mutex::default(),
        }
    }

    pub(super) fn settings(&self) -> Arc<TaskSettings> {
        Arc::clone(&read_lock(&self.settings))
    }

    pub(super) fn configure(&self, settings: TaskSettings) {
        *write_lock(&self.settings) = Arc::new(settings);
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        hold(&self.ledger)
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let sum = hold(&self.sum);
        // Writers wait for the ledger: it is not held while the sums are copied.
        let aggregate = sum.clone();
        Snapshot { aggregate, covered: self.ledger().covered.clone() }
    }

    /// Rows that were read and are not reports of the task.
    pub(super) fn passed_over(&self) -> u64 {
        self.ledger().covered.passed_over
    }

    /// Batches were committed, with so many reports whose ids existed: if an own transaction brought others, `add` adds
    /// them.
    pub(super) fn committed(&self, duplicates: u64, awaited: Option<i64>, add: impl FnOnce(&mut Aggregate)) {
        let mut sum = hold(&self.sum);
        if let Some(awaited) = awaited {
            add(&mut sum);
            self.ledger().committed(awaited);
        }
        self.tell(&sum, duplicates);
    }

    /// Adds what was read up to `limit`, beside which there were rows that are not reports of the task.
    pub(super) fn advance(&self, limit: i64, read: Option<&Aggregate>, passed_over: u64) -> Result<(), AggregateError> {
        let mut sum = hold(&self.sum);
        if let Some(read) = read {
            sum.merge(read)?;
        }
        let mut ledger = self.ledger();
        ledger.advance(limit);
        ledger.covered.passed_over += passed_over;
        drop(ledger);
        self.tell(&sum, 0);
        Ok(())
    }

    /// Publishes counts, with so many more duplicates. Called under the sum's lock, so that they come in their order.
    fn tell(&self, sum: &Aggregate, duplicates: u64) {
        let duplicates = self.counts.borrow().duplicates + duplicates;
        let counts = Counts { records: sum.records(), duplicates };
        if let Some(teller) = &*hold(&self.teller) {
            teller.send_if_modified(|told| std::mem::replace(told, counts) != counts);
        }
    }
}

/// The transactions in a sum.
#[derive(Clone, Default)]
pub(super) struct Covered {
    /// Every transaction below.
    pub(super) horizon: i64,
    /// The transactions from the horizon on.
    pub(super) counted: Vec<i64>,
    /// Rows of all these that are not reports of the task.
    pub(super) passed_over: u64,
}

/// A sum to continue.
pub(super) struct Snapshot {
    pub(super) aggregate: Aggregate,
    pub(super) covered: Covered,
}

impl Snapshot {
    /// The rows of its transactions.
    pub(super) fn rows(&self) -> i64 {
        let rows = self.aggregate.records().saturating_add(self.covered.passed_over);
        i64::try_from(rows).unwrap_or(i64::MAX)
    }
}

/// Which transactions are in the sum, and which are awaited.
#[derive(Default)]
pub(super) struct Ledger {
    covered: Covered,
    /// Own transactions whose outcome is awaited.
    awaited: BTreeSet<i64>,
}

impl Ledger {
    /// An own transaction is about to be committed.
    pub(super) fn begin(&mut self, transaction: i64) {
        self.awaited.insert(transaction);
    }

    /// It was committed, and the caller adds its reports to the sum.
    fn committed(&mut self, transaction: i64) {
        self.awaited.remove(&transaction);
        self.covered.counted.push(transaction);
    }

    /// It failed, or nobody knows: the follower finds out.
    pub(super) fn given_up(&mut self, transaction: i64) {
        self.awaited.remove(&transaction);
    }

    /// The transactions to read when all below `ended` have ended, and those of them that are counted already.
    pub(super) fn limit(&self, ended: i64) -> (Range<i64>, Vec<i64>) {
        let Covered { horizon, ref counted, .. } = self.covered;
        let to = self.awaited.first().map_or(ended, |&first| first.min(ended)).max(horizon);
        (horizon..to, counted.iter().copied().filter(|counted| *counted < to).collect())
    }

    fn advance(&mut self, limit: i64) {
        self.covered.horizon = limit;
        self.covered.counted.retain(|counted| *counted >= limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::compact;

    fn ledger() -> Ledger {
        Ledger { covered: Covered { horizon: 10, ..Covered::default() }, ..Ledger::default() }
    }

    #[test]
    fn the_horizon_stops_at_an_awaited_transaction_and_passes_over_counted_ones() {
        let mut ledger = ledger();
        [12, 15].into_iter().for_each(|transaction| ledger.begin(transaction));
        assert_eq!(ledger.limit(20), (10..12, vec![]));
        ledger.committed(15);
        assert_eq!(ledger.limit(20), (10..12, vec![]));
        ledger.committed(12);
        assert_eq!(ledger.limit(14), (10..14, vec![12]));
        ledger.advance(14);
        assert_eq!(ledger.limit(20), (14..20, vec![15]));
    }

    #[test]
    fn what_was_given_up_is_read_and_the_horizon_never_goes_back() {
        let mut ledger = ledger();
        ledger.begin(12);
        ledger.given_up(12);
        assert_eq!(ledger.limit(20), (10..20, vec![]));
        // Its connection was lost before its COMMIT: it ended, and the horizon passed it.
        ledger.begin(3);
        assert_eq!(ledger.limit(20), (10..10, vec![]));
        ledger.given_up(3);
        assert_eq!(ledger.limit(20), (10..20, vec![]));
    }

    #[test]
    fn damage_is_told_while_reports_are_summed() {
        let (task, settings) = (compact(), TaskSettings::default());
        let covered = Covered { horizon: 10, passed_over: 3, ..Covered::default() };
        let snapshot = Snapshot { aggregate: Aggregate::empty(&task), covered };
        let found = FoundTask { task, number: 1, settings, erased: 0 };
        let shared = Shared::new(found, snapshot, 0);
        shared.ledger().begin(12);
        shared.committed(0, Some(12), |_| assert_eq!(shared.passed_over(), 3));
    }
}
