//! One thread per task writes: it takes all batches that wait, appends what is new, syncs once, counts, and then
//! answers them.

use std::collections::hash_map::Entry;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use super::acknowledged::{Acknowledged, AcknowledgedFile};
use super::ids::Ids;
use super::keeper::{Backlog, Totals};
use super::place::Place;
use super::segment::{NotAppended, Segment, open_path};
use crate::aggregate::MAX_RECORDS;
use crate::report::ReportId;
use crate::server::store::queue::{self, Waiting, Waits};
use crate::server::store::{Batch, CommitError, Committed, TaskSettings, mark};

/// The writer's own state.
pub(super) struct Writer {
    pub(super) place: Arc<Place>,
    pub(super) settings: Arc<RwLock<Arc<TaskSettings>>>,
    pub(super) ids: Ids,
    /// The segment that is written; made when there is something to write.
    pub(super) segment: Option<Segment>,
    /// The number of the segment after it.
    pub(super) next: u64,
    pub(super) acknowledged: AcknowledgedFile,
    /// From how many bytes on a segment is full.
    pub(super) full: u64,
    pub(super) totals: Arc<Totals>,
    pub(super) backlog: Backlog,
}

/// What is new in a group of batches.
#[derive(Default)]
struct Fresh<'a> {
    ids: Vec<ReportId>,
    /// Their bytes, in runs.
    runs: Vec<&'a [u8]>,
}

impl Writer {
    pub(super) fn run(mut self, mut queue: Waits) {
        while let Some(first) = queue.blocking_recv() {
            self.commit(queue::group(first, &mut queue));
        }
        if let Some(segment) = &mut self.segment {
            segment.trim();
        }
        // What is lost of it makes the next start know less.
        let _ = self.acknowledged.sync();
    }

    fn commit(&mut self, mut group: Vec<Waiting>) {
        let settings = Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner));
        let limit = settings.max_records.unwrap_or(MAX_RECORDS).min(MAX_RECORDS);
        let records = self.totals.counts.borrow().records;
        let mut fresh = Fresh::default();
        let mut reports = Vec::new();
        let mut outcomes = Vec::with_capacity(group.len());
        for Waiting { batch, .. } in &mut group {
            let before = (fresh.ids.len(), fresh.runs.len(), reports.len());
            let closed = batch.closed.take();
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
        let metrics = self.place.options.metrics.clone();
        let bytes = fresh.ids.len() * self.place.report_bytes;
        // Duplicates of what is on the disk need no writing.
        if bytes > 0 {
            let started = Instant::now();
            if let Err(error) = self.write(&fresh.runs) {
                metrics.failed_writes.inc();
                for id in fresh.ids {
                    self.ids.remove(id);
                }
                let refusal = match error {
                    NotAppended::Refused(error) => CommitError::Write(error.to_string()),
                    NotAppended::Unknown(error) => {
                        // What was acknowledged of it counts; what comes next goes into another.
                        if let Some(segment) = self.segment.take() {
                            self.backlog.seal(segment);
                        }
                        CommitError::Unknown(error.to_string())
                    }
                };
                group.into_iter().for_each(|waiting| answer(waiting, Err(refusal.clone())));
                return;
            }
            self.acknowledge(records + fresh.ids.len() as u64);
            metrics.sync_seconds.observe(started.elapsed().as_secs_f64());
            metrics.group_reports.observe(fresh.ids.len() as f64);
            metrics.written_bytes.inc_by(bytes as u64);
        }
        self.totals.counts.send_modify(|counts| {
            for outcome in outcomes.iter().flatten() {
                counts.records += outcome.accepted;
                counts.duplicates += outcome.duplicate;
            }
        });
        for (waiting, outcome) in group.into_iter().zip(outcomes) {
            answer(waiting, outcome);
        }
        if bytes > 0 {
            self.backlog.sum(reports, bytes);
            let full = |segment: &mut Segment| {
                segment.length() >= self.full || segment.reports >= self.place.options.segment_reports
            };
            if let Some(segment) = self.segment.take_if(full) {
                self.backlog.seal(segment);
            }
        }
    }

    /// Separates what is new in a batch, and remembers it.
    fn sort_out<'a>(
        &mut self,
        batch: &'a mut Batch,
        fresh: &mut Fresh<'a>,
        reports: &mut Vec<crate::report::Report>,
    ) -> Committed {
        let report_bytes = self.place.report_bytes;
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

    /// Notes what is on the disk before anybody is told of it. It needs no sync of its own: a killed process leaves it, and
    /// after a power cut it may tell of less. Whoever is answered has the report in the segment either way.
    fn acknowledge(&mut self, records: u64) {
        let Some(segment) = &self.segment else { return };
        if self.acknowledged.put(Acknowledged::new(segment, records)).is_err() {
            self.place.options.metrics.failed_writes.inc();
        }
    }

    /// Writes and syncs.
    fn write(&mut self, runs: &[&[u8]]) -> Result<(), NotAppended> {
        let Place { disk, folder, report_bytes, options, .. } = &*self.place;
        if self.segment.is_none() {
            let path = open_path(folder, self.next);
            let segment = Segment::create(&**disk, folder, self.next, path, options.sizes);
            self.segment = Some(segment.map_err(NotAppended::Refused)?);
            self.next += 1;
            // Once per segment. In between the system writes it when it likes.
            let _ = self.acknowledged.sync();
        }
        match &mut self.segment {
            Some(segment) => segment.append(runs, *report_bytes),
            None => unreachable!("it was made above"),
        }
    }
}

fn answer(Waiting { batch, answer }: Waiting, outcome: Result<Committed, CommitError>) {
    // Its room is free before the client can ask for more.
    drop(batch);
    // Whoever waited may be gone; the outcome stands.
    let _ = answer.send(outcome);
}
