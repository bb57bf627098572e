//! The thread per task that follows the writer: it sums what is durable, and seals full segments.

use std::collections::HashSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use tokio::sync::{oneshot, watch};

use super::erased::Erased;
use super::erasure;
use super::place::Place;
use super::rows::SegmentRow;
use super::segment::Segment;
use crate::locks::hold;
use crate::store::{Counts, ErasedReports, StoreError, sum, take_out};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::report::{Report, ReportId};

/// The state that all threads of a task share.
pub(super) struct Totals {
    pub(super) counts: watch::Sender<Counts>,
    /// Locked while reports are summed: readers wait for it off the request threads.
    sum: Mutex<Sum>,
    /// Notifies readers of a sum, and the writer of room.
    progress: Condvar,
    /// The ids of reports that were erased and are in no file any more.
    pub(super) gone: Mutex<HashSet<ReportId>>,
}

struct Sum {
    aggregate: Aggregate,
    /// Reports that were taken out of it.
    erased: u64,
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
        let sum = self
            .progress
            .wait_while(sum, |sum| sum.aggregate.records() + sum.erased < records && !sum.ended)
            .unwrap_or_else(PoisonError::into_inner);
        sum.aggregate.clone()
    }
}

enum Work {
    Sum { reports: Vec<Report>, bytes: usize },
    Seal(Segment),
    Erase(Errand),
}

/// Reports to erase, for somebody who waits.
pub(super) struct Errand {
    pub(super) ids: Vec<ReportId>,
    /// Whether ids without a report are to be refused from now on too.
    pub(super) absent: bool,
    pub(super) answer: oneshot::Sender<Result<ErasedReports, StoreError>>,
}

/// The errands that the writer has not passed on yet.
pub(super) type Errands = Arc<Mutex<Vec<Errand>>>;

/// Drops the errands that are left when the writer ends, however it ends: nobody waits for their answers.
pub(super) struct DropErrands(pub(super) Errands);

impl Drop for DropErrands {
    fn drop(&mut self) {
        hold(&self.0).clear();
    }
}

/// The writer's end.
pub(super) struct Backlog {
    totals: Arc<Totals>,
    /// Bytes that may wait.
    most: usize,
    work: Sender<Work>,
}

impl Backlog {
    /// Passes on durable reports, and waits for room for the next.
    pub(super) fn sum(&self, reports: Vec<Report>, bytes: usize) {
        hold(&self.totals.sum).backlog += bytes;
        // The keeper ends before the writer only if it panicked: `ended` notifies waiting threads.
        let _ = self.work.send(Work::Sum { reports, bytes });
        let room = self.totals.progress.wait_while(hold(&self.totals.sum), |sum| sum.backlog > self.most && !sum.ended);
        drop(room.unwrap_or_else(PoisonError::into_inner));
    }

    /// Passes on a finished segment, after all its reports.
    pub(super) fn seal(&self, segment: Segment) {
        let _ = self.work.send(Work::Seal(segment));
    }

    /// Passes on an erasure, after the last segment.
    pub(super) fn erase(&self, errand: Errand) {
        let _ = self.work.send(Work::Erase(errand));
    }
}

/// The thread's own state.
pub(super) struct Keeper {
    place: Arc<Place>,
    totals: Arc<Totals>,
    work: Receiver<Work>,
    /// The ids of the reports since the last segment.
    ids: Vec<u8>,
    /// Full segments with their ids that are not in the manifest yet: sealing them failed.
    unsealed: Vec<(Segment, Vec<u8>)>,
    erased: Erased,
}

impl Keeper {
    /// `ids` are those in the segment being written.
    pub(super) fn new(place: Arc<Place>, totals: Arc<Totals>, ids: Vec<u8>, erased: Erased) -> (Self, Backlog) {
        let (sender, work) = channel();
        let backlog = Backlog { totals: Arc::clone(&totals), most: place.options.sizes.backlog, work: sender };
        (Self { place, totals, work, ids, unsealed: Vec::new(), erased }, backlog)
    }

    pub(super) fn run(mut self) {
        let _end = End(Arc::clone(&self.totals));
        while let Ok(work) = self.work.recv() {
            let mut next = Some(work);
            while let Some(work) = next.take() {
                match work {
                    Work::Sum { reports, bytes } => next = self.sum(reports, bytes),
                    Work::Seal(segment) => self.seal(segment),
                    Work::Erase(errand) => self.erase(errand),
                }
            }
        }
    }

    /// Sums reports and those that wait after them. Returns other waiting work.
    fn sum(&mut self, mut reports: Vec<Report>, mut bytes: usize) -> Option<Work> {
        let mut next = None;
        while bytes < self.place.options.sizes.summed {
            match self.work.try_recv() {
                Ok(Work::Sum { reports: more, bytes: more_bytes }) => {
                    reports.extend(more);
                    bytes += more_bytes;
                }
                Ok(other) => {
                    next = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        self.ids.extend(reports.iter().flat_map(|report| *report.id().as_bytes()));
        let mut total = hold(&self.totals.sum);
        sum(&mut total.aggregate, &self.place.task, &reports);
        total.backlog -= bytes;
        drop(total);
        self.totals.progress.notify_all();
        next
    }

    /// Seals a segment, and those that could not be sealed before. A failure is retried with the next segment, or at
    /// the next start.
    fn seal(&mut self, segment: Segment) {
        self.unsealed.push((segment, std::mem::take(&mut self.ids)));
        let _ = self.seal_all();
    }

    fn seal_all(&mut self) -> Result<(), StoreError> {
        let sealed = self.try_seal();
        let metrics = &self.place.options.metrics;
        match sealed {
            Ok(()) => {
                metrics.sealed_segments.inc_by(self.unsealed.len() as u64);
                self.unsealed.clear();
            }
            Err(_) => drop(metrics.failed_writes.inc()),
        }
        sealed
    }

    fn try_seal(&mut self) -> Result<(), StoreError> {
        if self.unsealed.is_empty() {
            return Ok(());
        }
        let mut rows = Vec::with_capacity(self.unsealed.len());
        for (segment, ids) in &mut self.unsealed {
            rows.push(SegmentRow {
                number: segment.number,
                reports: ids.len() as u64 / 16,
                sealed: self.place.seal(segment)?,
                ids: ids.clone(),
            });
        }
        // Only this thread changes the sum, which ends where the last segment ends.
        self.place.manifest.seal(&rows, &hold(&self.totals.sum).aggregate)
    }
}

impl Keeper {
    fn erase(&mut self, errand: Errand) {
        // It was not accepted, or nobody waits any more: nobody was promised anything.
        if errand.answer.is_closed() {
            return;
        }
        let erased = self.try_erase(errand.ids, errand.absent);
        if erased.is_err() {
            self.place.options.metrics.failed_writes.inc();
        }
        let _ = errand.answer.send(erased);
    }

    /// Every report that is there is in a sealed segment now.
    fn try_erase(&mut self, ids: Vec<ReportId>, absent: bool) -> Result<ErasedReports, StoreError> {
        self.seal_all()?;
        let asked: HashSet<ReportId> = ids.into_iter().collect();
        let Self { place, totals, erased, .. } = self;
        erasure::settle(place)?;
        let mut found = HashSet::new();
        place.manifest.segments_where(place.task.digest(), |row| {
            let ids = row.ids.as_chunks::<16>().0.iter().map(|id| ReportId::new(*id));
            found.extend(ids.filter(|id| asked.contains(id)));
            false
        })?;
        let before = asked.iter().filter(|id| erased.ids().contains(id) && !found.contains(id)).count() as u64;
        let unknown = asked.len() as u64 - found.len() as u64 - before;
        let refused = if absent { &asked } else { &found };
        let new: Vec<ReportId> = refused.iter().filter(|id| !erased.ids().contains(id)).copied().collect();
        erased.add(&*place.disk, &place.folder, &new)?;
        erasure::remove(place, &found, &mut |rows, gone, left| {
            let mut sum = hold(&totals.sum);
            take_out(&mut sum.aggregate, &place.task, gone, left);
            if let Err(error) = place.manifest.replace(rows, &sum.aggregate) {
                crate::store::sum(&mut sum.aggregate, &place.task, gone);
                return Err(error);
            }
            sum.erased += gone.len() as u64;
            totals.counts.send_modify(|counts| counts.records -= gone.len() as u64);
            Ok(())
        })?;
        hold(&totals.gone).extend(refused);
        Ok(ErasedReports { erased: found.len() as u64, before, unknown })
    }
}

/// Wakes waiting threads when the keeper ends, however it ends.
struct End(Arc<Totals>);

impl Drop for End {
    fn drop(&mut self) {
        hold(&self.0.sum).ended = true;
        self.0.progress.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    use super::super::acknowledged::Told;
    use super::super::disk::Disk;
    use super::super::maintenance::tests::compact;
    use super::super::manifest::Manifest;
    use super::super::sizes::Sizes;
    use super::super::tests::model;
    use super::super::tests::simulated::Machine;
    use super::super::{Age, FolderOptions};
    use super::*;
    use ldp_pca::report::report_bytes;

    fn place(sizes: Sizes) -> Arc<Place> {
        let (disk, folder, task): (Arc<dyn Disk>, _, _) = (Arc::new(Machine::new(1)), Path::new("/data"), compact());
        disk.make_folder(folder).unwrap();
        Arc::new(Place {
            folder: folder.to_owned(),
            manifest: Arc::new(Manifest::open(&*disk, &folder.join("store.sqlite"), Age::New).unwrap()),
            report_bytes: report_bytes(&task),
            told: Told::read(&*disk, folder, task.digest(), false).unwrap(),
            options: FolderOptions { sizes, ..FolderOptions::default() },
            task,
            disk,
        })
    }

    fn keeper(place: Arc<Place>, totals: &Arc<Totals>) -> (Keeper, Backlog) {
        let erased = Erased::read(&*place.disk, &place.folder, place.task.digest()).unwrap();
        Keeper::new(place, Arc::clone(totals), Vec::new(), erased)
    }

    fn empty() -> Arc<Totals> {
        Arc::new(Totals::new(Aggregate::empty(&compact()), HashSet::new()))
    }

    #[test]
    fn all_that_waits_is_summed_however_much_at_a_time() {
        let all = model::reports(&compact(), &mut ChaCha8Rng::seed_from_u64(1), 11);
        let each = report_bytes(&compact());
        for summed in [0, 1, 2 * each, 2 * each + 1, 5 * each, usize::MAX] {
            let (totals, sizes) = (empty(), Sizes { summed, backlog: 11 * each, ..Sizes::default() });
            let (keeper, backlog) = keeper(place(sizes), &totals);
            // There is room for all of it.
            all.chunks(2).for_each(|part| backlog.sum(part.to_vec(), part.len() * each));
            assert_eq!(hold(&totals.sum).backlog, 11 * each);
            drop(backlog);
            keeper.run();
            let sum = hold(&totals.sum);
            assert_eq!((sum.backlog, sum.ended), (0, true));
            assert_eq!(sum.aggregate, model::sum(&compact(), &all), "{summed}");
        }
    }

    #[test]
    fn nobody_waits_for_a_keeper_that_has_ended() {
        let totals = empty();
        let sizes = Sizes { backlog: 0, ..Sizes::default() };
        let (keeper, backlog) = keeper(place(sizes), &totals);
        drop(keeper);
        hold(&totals.sum).ended = true;
        backlog.sum(Vec::new(), 7);
        totals.counts.send_modify(|counts| counts.records = 3);
        assert_eq!(totals.aggregate().records(), 0);
    }
}
