//! The writing thread, one per task: it takes all waiting batches, appends what is new, syncs once, counts, and then
//! answers them.

use std::collections::HashSet;
use std::collections::hash_map::Entry;
use std::sync::{Arc, RwLock};
use std::time::Instant;

use super::acknowledged::{Acknowledged, AcknowledgedFile};
use super::ids::Ids;
use super::keeper::{Backlog, DropErrands, Errand, Errands, Totals};
use super::place::Place;
use super::segment::{NotAppended, Segment, open_path};
use crate::locks::{hold, read_lock};
use crate::store::queue::{self, Waiting, Waits};
use crate::store::{Batch, CommitError, Committed, ErasedReports, TaskSettings, mark};
use ldp_pca::internal::aggregate::MAX_RECORDS;
use ldp_pca::report::ReportId;

/// The writer's own state.
pub(super) struct Writer {
    pub(super) place: Arc<Place>,
    pub(super) settings: Arc<RwLock<Arc<TaskSettings>>>,
    pub(super) ids: Ids,
    /// The segment being written; created when there is something to write.
    pub(super) segment: Option<Segment>,
    /// The number of the segment after it.
    pub(super) next: u64,
    pub(super) acknowledged: AcknowledgedFile,
    /// Reports and erased reports, of which the ids are known.
    pub(super) seen: u64,
    /// Erasures that are asked for.
    pub(super) errands: Errands,
    /// The number of bytes at which a segment is full.
    pub(super) full: u64,
    pub(super) totals: Arc<Totals>,
    pub(super) backlog: Backlog,
}

/// The new reports in a group of batches.
#[derive(Default)]
struct Fresh<'a> {
    ids: Vec<ReportId>,
    /// Their bytes, in runs.
    runs: Vec<&'a [u8]>,
}

impl Writer {
    pub(super) fn run(mut self, queue: Waits) {
        let _left = DropErrands(Arc::clone(&self.errands));
        // The queue is closed before: an errand that comes later is refused.
        let mut queue = queue;
        while let Some(first) = queue.blocking_recv() {
            self.commit(queue::group(first, &mut queue));
            self.run_errands();
        }
        if let Some(segment) = &mut self.segment {
            segment.trim();
        }
        // If it is lost, the next start knows less.
        let _ = self.acknowledged.sync();
    }

    fn commit(&mut self, mut group: Vec<Waiting>) {
        let settings = Arc::clone(&read_lock(&self.settings));
        let limit = settings.max_records.unwrap_or(MAX_RECORDS).min(MAX_RECORDS);
        let records = self.totals.counts.borrow().records;
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
        let metrics = self.place.options.metrics.clone();
        let bytes = fresh.ids.len() * self.place.report_bytes;
        // Duplicates of reports on disk need no writing.
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
                        // Its acknowledged reports count; later ones go into another segment.
                        if let Some(segment) = self.segment.take() {
                            self.backlog.seal(segment);
                        }
                        CommitError::Unknown(error.to_string())
                    }
                };
                group.into_iter().for_each(|waiting| answer(waiting, Err(refusal.clone())));
                return;
            }
            self.seen += fresh.ids.len() as u64;
            self.acknowledge();
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
                segment.length >= self.full || segment.reports >= self.place.options.segment_reports
            };
            if let Some(segment) = self.segment.take_if(full) {
                self.backlog.seal(segment);
            }
        }
    }

    /// Passes on the erasures that were asked for. Reports are erased from sealed segments. Without a report there is
    /// nothing to seal: anybody may ask for the erasure of ids that nobody has.
    fn run_errands(&mut self) {
        let asked = std::mem::take(&mut *hold(&self.errands));
        let mut errands = Vec::with_capacity(asked.len());
        for errand in asked {
            match self.nothing_to_erase(&errand) {
                Some(outcome) => drop(errand.answer.send(Ok(outcome))),
                None => errands.push(errand),
            }
        }
        if errands.is_empty() {
            return;
        }
        if let Some(segment) = self.segment.take_if(|segment| segment.reports > 0) {
            self.backlog.seal(segment);
        }
        for errand in errands {
            if errand.absent {
                errand.ids.iter().for_each(|id| _ = self.ids.entry(*id).or_insert(None));
            }
            self.backlog.erase(errand);
        }
    }

    /// The outcome of an errand for which no file has a report.
    fn nothing_to_erase(&self, errand: &Errand) -> Option<ErasedReports> {
        let asked: HashSet<ReportId> = errand.ids.iter().copied().collect();
        let gone = hold(&self.totals.gone);
        let before = asked.iter().filter(|id| gone.contains(id)).count() as u64;
        let unknown = asked.iter().filter(|id| !self.ids.contains(**id)).count() as u64;
        let nothing = !errand.absent && before + unknown == asked.len() as u64;
        nothing.then_some(ErasedReports { erased: 0, before, unknown })
    }

    /// Separates the new reports of a batch, and remembers them.
    fn sort_out<'a>(
        &mut self,
        batch: &'a mut Batch,
        fresh: &mut Fresh<'a>,
        reports: &mut Vec<ldp_pca::report::Report>,
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

    /// Records what is on disk before anybody is answered. It needs no sync of its own: it survives a killed process,
    /// and after a power cut it may be lower. Every acknowledged report is in the segment either way.
    fn acknowledge(&mut self) {
        let Some(segment) = &self.segment else { return };
        if self.acknowledged.put(Acknowledged::new(segment, self.seen).numbers()).is_err() {
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
            // Once per segment. In between the system writes it at any time.
            let _ = self.acknowledged.sync();
        }
        match &mut self.segment {
            Some(segment) => segment.append(runs, *report_bytes),
            None => unreachable!("it was made above"),
        }
    }
}

fn answer(Waiting { batch, answer }: Waiting, outcome: Result<Committed, CommitError>) {
    // Its space is free before the client can send more.
    drop(batch);
    // The waiting caller may be gone; the outcome stands.
    let _ = answer.send(outcome);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    use super::super::maintenance::tests::compact;
    use super::super::tests::model::{batch, reports};
    use super::super::tests::simulated::Machine;
    use super::super::{FolderOptions, FolderStore};
    use super::*;
    use crate::store::{Counts, ReportStore, StoreMetrics};
    use ldp_pca::report::{Report, report_bytes};

    /// A store with one task, its machine, and its figures.
    fn opened() -> (FolderStore, Machine, StoreMetrics) {
        let (machine, metrics) = (Machine::new(1), StoreMetrics::default());
        let options = FolderOptions { reserve_bytes: 0, metrics: metrics.clone(), ..FolderOptions::default() };
        let disk = Arc::new(machine.clone());
        (FolderStore::open_on(disk, Path::new("/data"), &[compact()], options).unwrap(), machine, metrics)
    }

    fn commit(store: &FolderStore, reports: &[Report]) -> Result<Committed, CommitError> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(store.task(compact().digest()).unwrap().commit(batch(reports)))
    }

    #[test]
    fn another_payload_under_an_id_that_is_there_is_a_conflict() {
        let all = reports(&compact(), &mut ChaCha8Rng::seed_from_u64(1), 20);
        let other = |report: &Report| {
            let payload = all.iter().map(Report::payload).find(|payload| *payload != report.payload()).unwrap();
            Report::from_parts(compact().digest(), report.id(), payload.to_vec())
        };
        let (store, ..) = opened();
        assert_eq!(commit(&store, &all[..3]), Ok(Committed { accepted: 3, ..Committed::default() }));
        // The last one conflicts with the one before it.
        let mixed = [other(&all[0]), all[1].clone(), other(&all[2]), all[3].clone(), other(&all[3])];
        assert_eq!(commit(&store, &mixed), Ok(Committed { accepted: 1, duplicate: 4, conflicting: 3 }));
        let counts = store.task(compact().digest()).unwrap().counts();
        assert_eq!(counts, Counts { records: 4, duplicates: 4 });
    }

    #[test]
    fn what_is_there_already_is_not_written_again() {
        let all = reports(&compact(), &mut ChaCha8Rng::seed_from_u64(1), 5);
        let (store, machine, metrics) = opened();
        commit(&store, &all).unwrap();
        let before = machine.operations();
        assert_eq!(commit(&store, &all), Ok(Committed { duplicate: 5, ..Committed::default() }));
        assert_eq!(machine.operations(), before);
        assert_eq!(metrics.written_bytes.get(), 5 * report_bytes(&compact()) as u64);
    }

    #[test]
    fn writes_that_fail_are_counted() {
        let all = reports(&compact(), &mut ChaCha8Rng::seed_from_u64(1), 5);
        let (store, machine, metrics) = opened();
        commit(&store, &all[..2]).unwrap();
        machine.set_room(0);
        assert!(matches!(commit(&store, &all[2..]), Err(CommitError::Write(_))));
        assert_eq!(
            (metrics.failed_writes.get(), metrics.written_bytes.get()),
            (1, 2 * report_bytes(&compact()) as u64)
        );
        machine.set_room(u64::MAX);
        assert_eq!(commit(&store, &all).map(|committed| committed.accepted), Ok(3));
    }
}
