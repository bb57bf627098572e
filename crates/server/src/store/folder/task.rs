//! One task of a folder: its opening, and the interface that requests use.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::sync::{Arc, Mutex, RwLock};
use std::thread::{self, JoinHandle};

use tokio::sync::{oneshot, watch};

use super::acknowledged::{Acknowledged, AcknowledgedFile};
use super::erased::Erased;
use super::erasure;
use super::ids::Ids;
use super::keeper::{Errand, Errands, Keeper, Totals};
use super::place::Place;
use super::rows::SegmentRow;
use super::segment::{Segment, SegmentFile, files_in, open_path, sealed_path};
use super::writer::Writer;
use crate::locks::{hold, read_lock, write_lock};
use crate::store::queue::CommitQueue;
use crate::store::{
    At, Batch, BoxFuture, CommitError, Committed, Counts, Damage, ErasedReports, StoreError, TaskReports, TaskSettings,
    mark, sum, take_out,
};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::report::ReportId;
use ldp_pca::task::Task;

/// The reports of one task.
pub(crate) struct FolderTask {
    place: Arc<Place>,
    settings: Arc<RwLock<Arc<TaskSettings>>>,
    damage: Damage,
    totals: Arc<Totals>,
    queue: CommitQueue,
    errands: Errands,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The combined state of a task's files and the manifest.
struct Loaded {
    ids: Ids,
    aggregate: Aggregate,
    damage: Damage,
    /// The segment to continue, and the ids in it.
    segment: Option<Segment>,
    segment_ids: Vec<u8>,
    /// The number of the next new segment.
    next: u64,
    acknowledged: AcknowledgedFile,
    erased: Erased,
    /// Reports and erased reports.
    seen: u64,
}

impl FolderTask {
    /// Reads the manifest and the segments that are not in it, and starts the threads.
    pub(super) fn open(place: Place, settings: TaskSettings) -> Result<Self, StoreError> {
        let loaded = load(&place)?;
        let place = Arc::new(place);
        let state_bytes = 8 * loaded.aggregate.folds().iter().map(|fold| fold.sums().len() as u64).sum::<u64>();
        let totals = Arc::new(Totals::new(loaded.aggregate, loaded.erased.ids().clone()));
        let settings = Arc::new(RwLock::new(Arc::new(settings)));
        let (keeper, backlog) = Keeper::new(Arc::clone(&place), Arc::clone(&totals), loaded.segment_ids, loaded.erased);
        let errands = Errands::default();
        let writer = Writer {
            place: Arc::clone(&place),
            settings: Arc::clone(&settings),
            ids: loaded.ids,
            segment: loaded.segment,
            next: loaded.next,
            acknowledged: loaded.acknowledged,
            seen: loaded.seen,
            errands: Arc::clone(&errands),
            full: place.options.segment_bytes.max(state_bytes),
            totals: Arc::clone(&totals),
            backlog,
        };
        let (queue, waiting) = CommitQueue::new(place.options.queue);
        let start = |name: &str, work: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().name(name.to_owned()).spawn(work).at("serve", &place.folder)
        };
        let threads = Mutex::new(vec![
            start("report-writer", Box::new(move || writer.run(waiting)))?,
            start("report-keeper", Box::new(move || keeper.run()))?,
        ]);
        Ok(Self { settings, damage: loaded.damage, totals, queue, errands, threads, place })
    }

    /// Changes its settings.
    pub(super) fn configure(&self, settings: TaskSettings) {
        *write_lock(&self.settings) = Arc::new(settings);
    }

    /// Erases reports, and waits for it. With `absent`, ids that no report has are refused from now on too.
    pub(super) fn erase(&self, ids: &[ReportId], absent: bool) -> Result<ErasedReports, StoreError> {
        let (answer, erased) = oneshot::channel();
        hold(&self.errands).push(Errand { ids: ids.to_owned(), absent, answer });
        let failed = |error| StoreError::io("erase reports of", &self.place.folder, io::Error::other(error));
        // The writer looks for errands after each batch.
        self.queue.wake().map_err(failed)?;
        erased.blocking_recv().unwrap_or_else(|_| Err(failed(CommitError::Closed)))
    }

    /// Takes no further batch, and returns when those that wait are written and full segments are sealed.
    pub(super) fn close(&self) {
        self.queue.close();
        for thread in hold(&self.threads).drain(..) {
            // It panicked: then the batches it held were answered with `Closed`, and the files are repaired at the next
            // start.
            let _ = thread.join();
        }
    }
}

/// Reconciles a task's files with the manifest.
fn load(place: &Place) -> Result<Loaded, StoreError> {
    let rows = place.manifest.segments(place.task.digest())?;
    let aggregate = place.manifest.snapshot(&place.task)?;
    let sealed: u64 = rows.iter().map(|row| row.reports).sum();
    if sealed != aggregate.records() {
        let problem = format!("the sum is of {} reports, but the segments have {sealed}", aggregate.records());
        return Err(StoreError::manifest(&place.manifest.path, problem));
    }
    let erased = Erased::read(&*place.disk, &place.folder, place.task.digest())?;
    erasure::settle(place)?;
    let mut ids = Ids::with_capacity(sealed as usize);
    for row in &rows {
        // The manifest has no marks: for these reports, a second one with another payload is an ordinary duplicate.
        for id in row.ids.as_chunks::<16>().0 {
            ids.entry(ReportId::new(*id)).or_insert(None);
        }
    }
    let mut unlisted = unlisted(place, &rows)?;
    let live = unlisted.last_entry().filter(|last| matches!(last.get(), SegmentFile::Open(_))).map(|last| *last.key());
    let numbers: Vec<u64> = unlisted.keys().copied().chain(rows.iter().map(|row| row.number)).collect();
    let next = numbers.iter().max().map_or(0, |last| last + 1);
    let (mut aggregate, mut damage) = (aggregate, Damage::default());
    let (mut segment, mut live_ids) = (None, Vec::new());
    drop(rows);
    // A killed process may have left names only in the system's memory. What is built on them now must not outlive
    // them.
    if !unlisted.is_empty() {
        place.disk.sync_folder(&place.folder).at("write", &place.folder)?;
    }
    for (number, file) in unlisted {
        let mut segment_ids = Vec::new();
        let (replayed, found) = place.replay(file, &mut |reports| {
            reports.retain(|report| match ids.entry(report.id()) {
                Entry::Occupied(_) => false,
                Entry::Vacant(place) => place.insert(Some(mark(&report.to_bytes()))).is_some(),
            });
            segment_ids.extend(reports.iter().flat_map(|report| *report.id().as_bytes()));
            sum(&mut aggregate, &place.task, reports);
        })?;
        damage.cut_bytes += found.cut_bytes;
        damage.passed_over += found.passed_over;
        damage.places.extend(found.places);
        if Some(number) == live {
            (segment, live_ids) = (replayed, segment_ids);
            continue;
        }
        let sealed = match replayed {
            Some(mut segment) => place.seal(&mut segment)?,
            None => place.sealed(number)?,
        };
        let reports = segment_ids.len() as u64 / 16;
        place.manifest.seal(&[SegmentRow { number, reports, sealed, ids: segment_ids }], &aggregate)?;
    }
    // Their erasure was cut short, or somebody put an earlier copy of the segments here.
    let mut pending = HashSet::new();
    for id in erased.ids() {
        match ids.entry(*id) {
            Entry::Occupied(_) => drop(pending.insert(*id)),
            Entry::Vacant(place) => drop(place.insert(None)),
        }
    }
    if !pending.is_empty() {
        if let Some(mut live) = segment.take() {
            let (sealed, reports) = (place.seal(&mut live)?, live_ids.len() as u64 / 16);
            let row = SegmentRow { number: live.number, reports, sealed, ids: std::mem::take(&mut live_ids) };
            place.manifest.seal(&[row], &aggregate)?;
        }
        let removed = erasure::remove(place, &pending, &mut |rows, gone, left| {
            take_out(&mut aggregate, &place.task, gone, left);
            place.manifest.replace(rows, &aggregate)
        })?;
        tracing::info!(task = %place.task.digest(), reports = removed, "an interrupted erasure of reports is finished");
    }
    damage.places.extend(erased.problem());
    let records = aggregate.records() + erased.ids().len() as u64;
    place.told.count_losses(records, &numbers, &place.folder, &mut damage);
    let state = match &segment {
        Some(segment) => Acknowledged::new(segment, records),
        // Nothing is being written: the sealed segments are everything.
        None => Acknowledged { segment: next, length: 0, records },
    };
    let acknowledged = place.told.resume(&*place.disk, &place.folder, state)?;
    Ok(Loaded { ids, aggregate, damage, segment, segment_ids: live_ids, next, acknowledged, erased, seen: records })
}

/// The segments that are not in the manifest, by number. Those in the manifest must be there. Incomplete files of a
/// crash are removed.
fn unlisted(place: &Place, rows: &[SegmentRow]) -> Result<BTreeMap<u64, SegmentFile>, StoreError> {
    let folder = &place.folder;
    let mut files = BTreeMap::new();
    for (file, path) in files_in(&*place.disk, folder)? {
        match file {
            SegmentFile::Temporary => place.disk.remove(&path).at("remove", &path)?,
            SegmentFile::Damaged | SegmentFile::Erasing(_) => {}
            SegmentFile::Open(number) | SegmentFile::Sealed(number) => {
                if files.insert(number, file).is_some() {
                    let problem = "is there as .open and as .parquet".to_owned();
                    return Err(StoreError::Segment { path: open_path(folder, number), problem });
                }
            }
        }
    }
    for row in rows {
        let path = sealed_path(folder, row.number);
        let problem = match files.remove(&row.number) {
            Some(SegmentFile::Sealed(_)) => {
                let found = place.sealed(row.number)?;
                let (length, sealed) = (found.bytes, row.sealed.bytes);
                let changed = (found != row.sealed).then(|| {
                    "does not have the footer that it was sealed \
                 with"
                        .to_owned()
                });
                if length == sealed {
                    changed
                } else {
                    Some(format!("has {length} bytes, but was sealed with {sealed}"))
                }
            }
            _ => Some("is gone".to_owned()),
        };
        if let Some(problem) = problem {
            return Err(StoreError::Segment { path, problem });
        }
    }
    Ok(files)
}

impl TaskReports for FolderTask {
    fn task(&self) -> &Task {
        &self.place.task
    }

    fn settings(&self) -> Arc<TaskSettings> {
        Arc::clone(&read_lock(&self.settings))
    }

    fn damage(&self) -> Damage {
        self.damage.clone()
    }

    fn counts(&self) -> Counts {
        *self.totals.counts.borrow()
    }

    fn watch_counts(&self) -> watch::Receiver<Counts> {
        self.totals.counts.subscribe()
    }

    fn queued(&self) -> usize {
        self.queue.queued()
    }

    fn aggregate(&self) -> Result<Aggregate, StoreError> {
        Ok(self.totals.aggregate())
    }

    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<Committed, CommitError>> {
        Box::pin(self.queue.commit(batch))
    }
}

impl Drop for FolderTask {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::pin::Pin;
    use std::task::{Context, Waker};
    use std::time::Duration;

    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    use super::super::maintenance::tests::compact;
    use super::super::tests::model::{batch, reports, sum};
    use super::super::tests::simulated::Machine;
    use super::super::{FolderOptions, FolderStore};
    use super::*;
    use ldp_pca::report::report_bytes;

    #[test]
    fn batches_wait_while_the_writer_has_others() {
        let options = FolderOptions { reserve_bytes: 0, ..FolderOptions::default() };
        let disk = Arc::new(Machine::new(1));
        let store = FolderStore::open_on(disk, Path::new("/data"), &[compact()], options).unwrap();
        let task = store.find(compact().digest()).unwrap();
        assert_eq!((task.report_bytes(), task.queued()), (report_bytes(&compact()), 0));
        let all = reports(&compact(), &mut ChaCha8Rng::seed_from_u64(1), 3);
        let mut context = Context::from_waker(Waker::noop());
        // The writer reads the settings before anything else.
        let writing = task.settings.write().unwrap();
        let mut commits: Vec<Pin<Box<_>>> = all.chunks(1).map(|reports| task.commit(batch(reports))).collect();
        assert!(commits[0].as_mut().poll(&mut context).is_pending());
        while task.queued() > 0 {
            thread::sleep(Duration::from_millis(1));
        }
        commits[1..].iter_mut().for_each(|commit| assert!(commit.as_mut().poll(&mut context).is_pending()));
        assert_eq!(task.queued(), 2);
        drop(writing);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for commit in commits {
            assert_eq!(runtime.block_on(commit).map(|committed| committed.accepted), Ok(1));
        }
        assert_eq!((task.queued(), task.counts().records), (0, 3));
    }

    /// All but the first wait for it, and are written together.
    #[test]
    fn batches_that_are_written_together_fill_a_quota_in_order() {
        let options = FolderOptions { reserve_bytes: 0, ..FolderOptions::default() };
        let disk = Arc::new(Machine::new(1));
        let open = || FolderStore::open_on(disk.clone(), Path::new("/data"), &[compact()], options.clone()).unwrap();
        let store = open();
        let task = store.find(compact().digest()).unwrap();
        task.configure(TaskSettings { max_records: Some(9), ..TaskSettings::default() });
        let all = reports(&compact(), &mut ChaCha8Rng::seed_from_u64(1), 20);
        let full = |records| Err(CommitError::Quota { limit: 9, records });
        let accepted = |accepted, duplicate| Ok(Committed { accepted, duplicate, ..Committed::default() });
        let closed = |reports| Batch { closed: Some(CommitError::Expired(5)), ..batch(reports) };
        let batches = [
            (batch(&all[..1]), accepted(1, 0)),
            (batch(&all[1..4]), accepted(3, 0)),
            (batch(&all[4..8]), accepted(4, 0)),
            (batch(&all[7..10]), full(8)),
            (batch(&all[10..12]), full(8)),
            (closed(&all[8..9]), Err(CommitError::Expired(5))),
            (closed(&all[2..4]), accepted(0, 2)),
            (batch(&all[7..9]), accepted(1, 1)),
            (batch(&all[10..11]), full(9)),
            (batch(&all[..9]), accepted(0, 9)),
        ];
        let mut context = Context::from_waker(Waker::noop());
        let writing = task.settings.write().unwrap();
        let mut waiting = Vec::new();
        for (index, (batch, expected)) in batches.into_iter().enumerate() {
            let mut commit = task.commit(batch);
            assert!(commit.as_mut().poll(&mut context).is_pending());
            waiting.push((commit, expected));
            while index == 0 && task.queued() > 0 {
                thread::sleep(Duration::from_millis(1));
            }
        }
        drop(writing);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (index, (commit, expected)) in waiting.into_iter().enumerate() {
            assert_eq!(runtime.block_on(commit), expected, "batch {index}");
        }
        assert_eq!(task.counts(), Counts { records: 9, duplicates: 12 });
        assert_eq!(task.aggregate().unwrap(), sum(&compact(), &all[..9]));
        drop((task, store));
        let task = open().find(compact().digest()).unwrap();
        assert_eq!(task.aggregate().unwrap(), sum(&compact(), &all[..9]));
    }
}
