//! The writing thread, one per task: it takes all waiting batches, makes what is new durable in one transaction,
//! counts, and then answers them. It also writes the sum, and erases.

use std::collections::HashSet;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Instant;

use super::check_set_aside;
use super::database::{Database, now, page_bytes};
use super::ids::Ids;
use super::shared::{Errand, Shared};
use super::totals::Backlog;
use crate::locks::{hold, read_lock};
use crate::store::queue::{self, Waiting, Waits};
use crate::store::{Batch, CommitError, Committed, ErasedReports, StoreError, mark, sum, take_out};
use ldp_pca::internal::aggregate::MAX_RECORDS;
use ldp_pca::report::{Report, ReportId};

/// The writer's own state.
pub(super) struct Writer {
    pub(super) shared: Arc<Shared>,
    /// Those of erased reports too.
    pub(super) ids: Ids,
    pub(super) backlog: Backlog,
    /// Reports since the sum was written, and their bytes.
    pub(super) unsummed: (u64, u64),
    /// Bytes in the log since it was written back, about.
    pub(super) logged: u64,
}

/// The new reports in a group of batches.
#[derive(Default)]
struct Fresh<'a> {
    ids: Vec<ReportId>,
    /// Their bytes, in runs.
    runs: Vec<&'a [u8]>,
}

impl Writer {
    pub(super) fn run(mut self, mut queue: Waits) {
        let _left = DropErrands(Arc::clone(&self.shared));
        // The queue is closed before: an errand that comes later is refused.
        while let Some(first) = queue.blocking_recv() {
            self.commit(queue::group(first, &mut queue));
            let errands = std::mem::take(&mut *hold(&self.shared.errands));
            for Errand { ids, answer } in errands.into_iter().filter(|errand| !errand.answer.is_closed()) {
                let erased = self.erase(ids);
                if erased.is_err() {
                    self.shared.options.metrics.failed_writes.inc();
                }
                let _ = answer.send(erased);
            }
        }
        // What fails now is done again at the next start.
        let _ = self.shared.with(Database::empty_log);
    }

    fn commit(&mut self, mut group: Vec<Waiting>) {
        let settings = Arc::clone(&read_lock(&self.shared.settings));
        let limit = settings.max_records.unwrap_or(MAX_RECORDS).min(MAX_RECORDS);
        let records = self.shared.totals.counts.borrow().records;
        let mut fresh = Fresh::default();
        let mut reports = Vec::new();
        let mut outcomes = Vec::with_capacity(group.len());
        for Waiting { batch, .. } in &mut group {
            let before = (fresh.ids.len(), fresh.runs.len(), reports.len());
            let closed = batch.closed.take().or_else(|| CommitError::of_closed(&settings));
            let outcome = self.sort_out(batch, &mut fresh, &mut reports);
            let found = records + before.0 as u64;
            let full = found + outcome.accepted > limit;
            if outcome.accepted > 0 && (full || closed.is_some()) {
                for id in fresh.ids.drain(before.0..) {
                    self.ids.remove(id);
                }
                fresh.runs.truncate(before.1);
                reports.truncate(before.2);
                let full = CommitError::Quota { limit, records: found };
                outcomes.push(Err(closed.unwrap_or(full)));
            } else {
                outcomes.push(Ok(outcome));
            }
        }
        let metrics = self.shared.options.metrics.clone();
        let bytes = fresh.ids.len() * self.shared.report_bytes;
        // Duplicates of reports on disk need no writing.
        if bytes > 0 {
            let started = Instant::now();
            let written = self.shared.change(|change| change.append(&fresh.ids, &fresh.runs, self.shared.report_bytes));
            if let Err(error) = written {
                metrics.failed_writes.inc();
                for id in fresh.ids {
                    self.ids.remove(id);
                }
                tracing::warn!(%error, "reports could not be stored");
                let error = error.for_clients();
                let doubtful = self.shared.is_doubtful();
                let refusal = if doubtful { CommitError::Unknown(error) } else { CommitError::Write(error) };
                group.into_iter().for_each(|waiting| waiting.answer(Err(refusal.clone())));
                return;
            }
            metrics.sync_seconds.observe(started.elapsed().as_secs_f64());
            metrics.group_reports.observe(fresh.ids.len() as f64);
            metrics.written_bytes.inc_by(bytes as u64);
        }
        self.shared.totals.counts.send_modify(|counts| {
            for outcome in outcomes.iter().flatten() {
                counts.records += outcome.accepted;
                counts.duplicates += outcome.duplicate;
            }
        });
        for (waiting, outcome) in group.into_iter().zip(outcomes) {
            waiting.answer(outcome);
        }
        if bytes > 0 {
            self.unsummed = (self.unsummed.0 + reports.len() as u64, self.unsummed.1 + bytes as u64);
            // Whole pages: those of the row, and of the tables and the tally above it.
            let page = page_bytes(&self.shared.task);
            self.logged += page * ((bytes + 16 * reports.len()) as u64 / page + 4);
            self.backlog.sum(reports, bytes);
            self.write_later();
        }
    }

    /// Writes the sum and the log back, when they are due.
    fn write_later(&mut self) {
        let ((reports, bytes), options) = (self.unsummed, &self.shared.options);
        let worth_it = reports >= options.summed_reports || bytes >= options.summed_bytes;
        if worth_it && bytes >= self.shared.sum_bytes {
            self.write_sum();
        }
        if self.logged >= self.shared.options.log_bytes && self.shared.checked(Database::write_back).is_ok() {
            self.logged = 0;
        }
    }

    /// Writes the sum, so that a start need not compute it again.
    fn write_sum(&mut self) {
        let sum = self.shared.totals.whole();
        // The thread that sums may have ended before.
        if sum.aggregate.records() == self.shared.totals.counts.borrow().records {
            let written = self.shared.change(|change| change.put_sum(&sum.aggregate));
            if written.is_ok() {
                self.unsummed = (0, 0);
                // What it replaces is overwritten.
                self.logged += 2 * self.shared.sum_bytes;
            }
        }
    }

    /// Erases the reports with these ids, which stay refused.
    fn erase(&mut self, asked: Vec<ReportId>) -> Result<ErasedReports, StoreError> {
        let shared = Arc::clone(&self.shared);
        let asked: HashSet<ReportId> = asked.into_iter().collect();
        let mut gone = hold(&shared.totals.gone);
        let before = asked.iter().filter(|id| gone.contains(id)).count() as u64;
        let wanted: HashSet<ReportId> =
            asked.iter().filter(|id| self.ids.contains(**id) && !gone.contains(id)).copied().collect();
        let erased = ErasedReports {
            erased: wanted.len() as u64,
            before,
            unknown: asked.len() as u64 - before - wanted.len() as u64,
        };
        if !wanted.is_empty() {
            check_set_aside(&shared.folder)?;
            let mut total = shared.totals.whole();
            let records = shared.totals.counts.borrow().records;
            if total.aggregate.records() != records {
                return Err(shared.refused("its reports are not summed any more: start the server again".to_owned()));
            }
            let left = self.ids.iter().filter(|id| !gone.contains(id) && !wanted.contains(id)).collect();
            let batches = shared.with(|database| database.find(&wanted))?;
            let mut removed = Vec::new();
            let mut taken = false;
            let done = shared.change(|change| {
                change.remove(&shared.task, &batches, &wanted, &mut removed)?;
                change.refuse(&wanted, now())?;
                take_out(&mut total.aggregate, &shared.task, &removed, left);
                taken = true;
                change.put_sum(&total.aggregate)
            });
            if let Err(error) = done {
                if taken {
                    sum(&mut total.aggregate, &shared.task, &removed);
                }
                return Err(error);
            }
            total.erased += erased.erased;
            shared.totals.counts.send_modify(|counts| counts.records -= erased.erased);
            drop(total);
            gone.extend(wanted);
            self.unsummed = (0, 0);
        }
        shared.checked(Database::erase_log)?;
        Ok(erased)
    }

    /// Separates the new reports of a batch, and remembers them.
    fn sort_out<'a>(&mut self, batch: &'a mut Batch, fresh: &mut Fresh<'a>, reports: &mut Vec<Report>) -> Committed {
        let report_bytes = self.shared.report_bytes;
        let mut outcome = Committed::default();
        let bytes: &[u8] = &batch.bytes;
        let mut run = 0..0;
        for (index, report) in batch.reports.drain(..).enumerate() {
            let start = index * report_bytes;
            let mark = mark(&bytes[start..start + report_bytes]);
            match self.ids.entry(report.id()) {
                Entry::Occupied(first) => {
                    outcome.duplicate += 1;
                    outcome.conflicting += u64::from(first.get().is_some_and(|first| first != mark));
                    continue;
                }
                Entry::Vacant(place) => place.insert(Some(mark)),
            };
            outcome.accepted += 1;
            fresh.ids.push(report.id());
            reports.push(report);
            if run.end != start {
                fresh.runs.extend((!run.is_empty()).then(|| &bytes[run.clone()]));
                run = start..start;
            }
            run.end = start + report_bytes;
        }
        fresh.runs.extend((!run.is_empty()).then(|| &bytes[run]));
        outcome
    }
}

/// Drops the errands that are left when the writer ends, however it ends: nobody waits for their answers.
struct DropErrands(Arc<Shared>);

impl Drop for DropErrands {
    fn drop(&mut self) {
        hold(&self.0.errands).clear();
        if std::thread::panicking() {
            let told = format!("{}: its writer panicked", self.0.folder.display());
            self.0.options.failed.send_replace(Some(told));
        }
    }
}
