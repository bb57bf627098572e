//! Sums of reports, with or without a memory of the reports already counted.

use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use ldp_pca::aggregate::Aggregate as Sums;
use ldp_pca::internal::aggregate::{SeenIds, SeenSums};
use ldp_pca::report::{Report, report_bytes};
use ldp_pca::task::Task as Parameters;
use pyo3::types::{PyBytes, PyType};
use pyo3::{intern, prelude::*};

use crate::error::{AggregateError, raised};
use crate::parameters;
use crate::randomizer::threads_of;
use crate::reports::{BadRow, Reports, Rows, decode};
use crate::signals::Signals;
use crate::task::{Task, open};

/// The summed reports of one task. Any order and any grouping of the same reports gives the same bytes.
///
/// It has a sample of the ids in it, up to 1,024, and refuses reports and sums that it recognizes: always while
/// it has no more reports, and always a sum of the same reports. `Collection` and `aggregate` keep single duplicates
/// out, and compare each sum with every one before it. Comparable, picklable, and safe to use from several threads.
///
/// Parameters
/// ----------
/// task : Task
///     The task whose reports are summed.
#[pyclass(frozen, module = "ldp_pca")]
pub struct Aggregate {
    /// The task whose reports are summed.
    #[pyo3(get)]
    task: Py<Task>,
    /// Locked only where the interpreter's lock is not held: a thread that waits for one never holds the other.
    sums: Mutex<Sums>,
    /// Whether some reports were drawn from a seed. The state does not say it.
    seeded: AtomicBool,
}

/// The most reports that are decoded and summed at a time, and the most bytes they may take (one may take more): beside
/// the caller's, only these are held.
const BATCH: usize = 1 << 16;
const BATCH_BYTES: usize = 32 << 20;
/// The most entries of matrices that are summed between two looks at the signals: some tenths of a second.
const BATCH_ENTRIES: usize = 1 << 35;

fn batch_size(task: &Parameters) -> usize {
    let (width, dimension) = (report_bytes(task), task.dimension());
    (BATCH_BYTES / width).min(BATCH_ENTRIES / dimension.pow(2)).clamp(1, BATCH)
}

impl Aggregate {
    fn new_of(task: Py<Task>, sums: Sums, seeded: bool) -> Self {
        Self { task, sums: Mutex::new(sums), seeded: AtomicBool::new(seeded) }
    }

    pub(crate) fn task_of(&self) -> &Parameters {
        &self.task.get().0
    }

    /// Added integers stay added after a panic.
    pub(crate) fn locked(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the sums of another one.
    fn take(&self, py: Python<'_>, other: &Self) -> PyResult<()> {
        py.detach(|| {
            let other = other.locked().clone();
            self.locked().merge(&other)
        })
        .map_err(raised)?;
        self.seeded.fetch_or(other.seeded(), Ordering::Relaxed);
        Ok(())
    }
}

#[pymethods]
impl Aggregate {
    #[new]
    fn new(task: Py<Task>) -> Self {
        let sums = Sums::empty(&task.get().0);
        Self::new_of(task, sums, false)
    }

    /// Reads a state, as the command line, the server, Spark or ``to_bytes`` wrote it.
    ///
    /// Raises `AggregateError` for the state of another task, another version, or altered bytes.
    #[classmethod]
    fn from_bytes(_: &Bound<'_, PyType>, py: Python<'_>, state: &[u8], task: Py<Task>) -> PyResult<Self> {
        let inner = &task.get().0;
        let sums = py.detach(|| Sums::from_bytes(state, inner)).map_err(raised)?;
        Ok(Self::new_of(task, sums, false))
    }

    /// Reads a state from a file, as of ``ldp-pca aggregate``.
    #[classmethod]
    fn from_file(class: &Bound<'_, PyType>, path: &Bound<'_, PyAny>, task: Py<Task>) -> PyResult<Self> {
        let state = open(path)?.call_method0(intern!(path.py(), "read_bytes"))?;
        Self::from_bytes(class, path.py(), state.extract()?, task)
    }

    /// Writes the bytes of the state to a file.
    fn save(&self, path: &Bound<'_, PyAny>) -> PyResult<()> {
        let state = self.to_bytes(path.py());
        open(path)?.call_method1(intern!(path.py(), "write_bytes"), (state,)).map(drop)
    }

    /// The bytes of the state, the same as of the command line, the server and Spark.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes = py.detach(|| self.locked().to_bytes());
        PyBytes::new(py, &bytes)
    }

    /// Adds reports, which are decoded in place. On an error nothing was added.
    ///
    /// Use `Collection` if reports may repeat.
    ///
    /// Parameters
    /// ----------
    /// reports : Arrow array or table, series, NumPy array, bytes, sequence of bytes, or Reports
    ///     Binary of any width (a table has it in the column ``report``), uint8 of shape (n, report_bytes), or reports
    ///     one after the other.
    /// threads : int or None
    ///     The number of threads; None for as many as the machine has.
    ///
    /// Returns
    /// -------
    /// int
    ///     The number of reports.
    ///
    /// Raises
    /// ------
    /// ReportError
    ///     For bytes that are not a report of the task, with their ``row``.
    /// AggregateError
    ///     For a report that is recognized as one in the sum.
    #[pyo3(signature = (reports, *, threads=Some(1)), text_signature = "($self, reports, *, threads=1)")]
    fn update(
        &self,
        py: Python<'_>,
        reports: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = parameters::threads)] threads: Option<usize>,
    ) -> PyResult<usize> {
        let threads = threads_of(threads)?;
        let rows = Rows::of(reports)?;
        let task = self.task_of();
        let slices = rows.slices(task)?;
        let size = batch_size(task);
        py.detach(|| -> PyResult<()> {
            if slices.len() <= size {
                let reports = decode(&slices, 0, task, threads, None)?;
                return self.locked().accumulate_with_threads(task, &reports, threads).map_err(raised);
            }
            // All or nothing: what comes before a bad report is in a sum of its own.
            let mut all = Sums::empty(task);
            let mut signals = Signals::new();
            for (index, part) in slices.chunks(size).enumerate() {
                let reports = decode(part, index * size, task, threads, None)?;
                all.accumulate_with_threads(task, &reports, threads).map_err(raised)?;
                signals.check()?;
            }
            self.locked().merge(&all).map_err(raised)
        })?;
        self.seeded.fetch_or(Reports::are_seeded(reports), Ordering::Relaxed);
        Ok(slices.len())
    }

    /// Adds reports that may be in the sum, where they count again: Spark finds them later.
    fn _update_with_repeats(&self, py: Python<'_>, reports: &Bound<'_, PyAny>) -> PyResult<()> {
        let rows = Rows::of(reports)?;
        let task = self.task_of();
        let slices = rows.slices(task)?;
        py.detach(|| -> PyResult<()> {
            let reports = decode(&slices, 0, task, NonZeroUsize::MIN, None)?;
            self.locked().accumulate_with_repeats(task, &reports, NonZeroUsize::MIN).map_err(raised)
        })
    }

    /// The rows that are no reports of the task, and why.
    fn _invalid(&self, py: Python<'_>, reports: &Bound<'_, PyAny>) -> PyResult<Vec<(usize, String)>> {
        let rows = Rows::of(reports)?;
        let task = self.task_of();
        let slices = rows.slices(task)?;
        py.detach(|| -> PyResult<_> {
            let mut invalid = Vec::new();
            let mut skip = |bad: BadRow| invalid.push((bad.row, bad.problem));
            decode(&slices, 0, task, NonZeroUsize::MIN, Some(&mut skip))?;
            Ok(invalid)
        })
    }

    /// The length of the state's integers (docs/reference/wire-format.md).
    fn _integer_bytes(&self, py: Python<'_>) -> usize {
        py.detach(|| 8 * self.locked().folds().iter().map(|fold| 1 + fold.sums().len()).sum::<usize>())
    }

    /// Adds the sums of other reports of the same task, in place.
    ///
    /// Raises `AggregateError` for another task, for a sum that is recognized to have reports of this one, and for
    /// itself: they would count twice.
    fn merge(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        if slf.is(other) {
            return Err(AggregateError::new_err("an aggregate cannot be merged into itself"));
        }
        slf.get().take(slf.py(), other.get())
    }

    fn __iadd__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        Self::merge(slf, other)
    }

    /// `sum` begins with 0.
    fn __radd__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if other.extract::<u8>().is_ok_and(|other| other == 0) {
            return Ok(slf.get().__copy__(py).into_pyobject(py)?.into_any());
        }
        Ok(py.NotImplemented().into_bound(py))
    }

    fn __add__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<Self> {
        if slf.is(other) {
            return Err(AggregateError::new_err("an aggregate cannot be added to itself"));
        }
        let sum = slf.get().__copy__(slf.py());
        sum.take(slf.py(), other.get())?;
        Ok(sum)
    }

    /// The number of reports in all folds.
    #[getter]
    fn records(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.locked().records())
    }

    /// Whether some of the reports are known to be drawn from a seed: such reports are not private. Reports and sums
    /// that come as bytes do not say it.
    #[getter]
    pub(crate) fn seeded(&self) -> bool {
        self.seeded.load(Ordering::Relaxed)
    }

    /// The number of reports in each fold.
    #[getter]
    fn folds(&self, py: Python<'_>) -> Vec<u64> {
        py.detach(|| self.locked().folds().iter().map(ldp_pca::internal::aggregate::FoldSum::records).collect())
    }

    fn __copy__(&self, py: Python<'_>) -> Self {
        let sums = py.detach(|| self.locked().clone());
        Self::new_of(self.task.clone_ref(py), sums, self.seeded())
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> bool {
        let (ours, theirs) = (slf.get(), other.get());
        slf.is(other)
            || slf.py().detach(|| {
                let theirs = theirs.locked().clone();
                *ours.locked() == theirs
            })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        let (py, this) = (slf.py(), slf.get());
        let arguments = (this.to_bytes(py), this.task.clone_ref(py));
        Ok((slf.get_type().getattr(intern!(py, "from_bytes"))?, arguments, this.seeded().then_some(true)))
    }

    fn __setstate__(&self, seeded: bool) {
        self.seeded.store(seeded, Ordering::Relaxed);
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let digest = self.task_of().digest().to_string();
        format!("Aggregate(records={}, task='{}…')", self.records(py), &digest[..16])
    }
}

/// The function that makes the aggregate again, its arguments, and whether it has seeded reports.
type Pickled<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>, Py<Task>), Option<bool>);

/// Reports that arrive in pieces, each id counted once: the first report of an id, exactly.
///
/// It remembers every id, some 40 bytes of memory per report. Safe to use from several threads.
///
/// Parameters
/// ----------
/// task : Task
///     The task whose reports are collected.
/// threads : int, optional
///     The number of threads; by default as many as the machine has.
/// skip_invalid : bool
///     Leave out bytes that are not valid reports, and count them, instead of raising at the first.
#[pyclass(frozen, module = "ldp_pca")]
pub struct Collection {
    /// The task whose reports are collected.
    #[pyo3(get)]
    task: Py<Task>,
    threads: NonZeroUsize,
    skip_invalid: bool,
    /// Locked by an update from start to end, so that updates follow each other.
    seen: Mutex<SeenIds>,
    /// The thread of the update. Signal handlers run within it, in its thread.
    updating: Mutex<Option<ThreadId>>,
    /// Locked for moments, and never where Python may run, because signal handlers use it too.
    held: Mutex<Held>,
}

struct Held {
    sums: Sums,
    seeded: bool,
    merged: SeenSums,
    duplicates: u64,
    skipped: u64,
    first_skipped: Option<BadRow>,
}

impl Collection {
    fn locked(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds rows, or nothing.
    fn add(&self, slices: &[&[u8]], seeded: bool) -> PyResult<usize> {
        let (task, threads) = (&self.task.get().0, self.threads);
        let (mut duplicates, mut skipped, mut first_skipped) = (0, 0, None);
        let mut sums: Option<Sums> = None;
        let mut new_ids = Vec::new();
        let mut signals = Signals::new();
        let mut skip = |bad: BadRow| {
            skipped += 1;
            first_skipped.get_or_insert(bad);
        };
        let size = batch_size(task);
        let whose = || self.updating.lock().unwrap_or_else(PoisonError::into_inner);
        if *whose() == Some(thread::current().id()) {
            return Err(AggregateError::new_err(
                "this collection is being updated, and the update that this signal's handler asks for would wait for \
                 it without end: note what is to be done, and do it afterwards",
            ));
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *whose() = Some(thread::current().id());
        let outcome = slices.chunks(size).enumerate().try_for_each(|(index, part)| -> PyResult<()> {
            let skip: Option<&mut dyn FnMut(BadRow)> = if self.skip_invalid { Some(&mut skip) } else { None };
            let mut reports: Vec<Report> = decode(part, index * size, task, threads, skip)?;
            let decoded = reports.len();
            seen.retain_new(&mut reports);
            duplicates += (decoded - reports.len()) as u64;
            new_ids.extend(reports.iter().map(Report::id));
            if slices.len() <= size {
                return self.locked().sums.accumulate_with_threads(task, &reports, threads).map_err(raised);
            }
            let sums = sums.get_or_insert_with(|| Sums::empty(task));
            sums.accumulate_with_threads(task, &reports, threads).map_err(raised)?;
            signals.check()
        });
        let outcome = outcome.and_then(|()| match sums {
            Some(sums) => self.locked().sums.merge(&sums).map_err(raised),
            None => Ok(()),
        });
        *whose() = None;
        if let Err(failure) = outcome {
            new_ids.into_iter().for_each(|id| seen.forget(id));
            return Err(failure);
        }
        let mut held = self.locked();
        held.seeded |= seeded;
        held.duplicates += duplicates;
        held.skipped += skipped;
        held.first_skipped = held.first_skipped.take().or(first_skipped);
        Ok(new_ids.len())
    }
}

#[pymethods]
impl Collection {
    #[new]
    #[pyo3(signature = (task, *, threads=None, skip_invalid=false))]
    fn new(
        task: Py<Task>,
        #[pyo3(from_py_with = parameters::threads)] threads: Option<usize>,
        #[pyo3(from_py_with = parameters::skip_invalid)] skip_invalid: bool,
    ) -> PyResult<Self> {
        let threads = threads_of(threads)?;
        let sums = Sums::empty(&task.get().0);
        let merged = SeenSums::default();
        let held = Held { sums, seeded: false, merged, duplicates: 0, skipped: 0, first_skipped: None };
        let (seen, held) = (Mutex::new(SeenIds::new(threads)), Mutex::new(held));
        Ok(Self { task, threads, skip_invalid, seen, updating: Mutex::new(None), held })
    }

    /// Adds reports whose ids are new, in any of the forms of `Aggregate.update`. On an error nothing was added.
    ///
    /// Returns the number of reports that were added.
    fn update(&self, py: Python<'_>, reports: &Bound<'_, PyAny>) -> PyResult<usize> {
        let rows = Rows::of(reports)?;
        let slices = rows.slices(&self.task.get().0)?;
        let seeded = Reports::are_seeded(reports);
        py.detach(|| self.add(&slices, seeded))
    }

    /// Adds the sums of other reports. Not all of their ids are known, so later repeats of them are not all noticed.
    ///
    /// Raises `AggregateError` for a sum that is recognized to have reports of this one.
    fn merge(&self, py: Python<'_>, other: &Aggregate) -> PyResult<()> {
        py.detach(|| {
            let added = other.locked().clone();
            let Held { sums, seeded, merged, .. } = &mut *self.locked();
            merged.merge(sums, &added).inspect(|()| *seeded |= other.seeded())
        })
        .map_err(raised)
    }

    /// The sums so far, a copy.
    fn aggregate(&self, py: Python<'_>) -> Aggregate {
        let (sums, seeded) = py.detach(|| {
            let held = self.locked();
            (held.sums.clone(), held.seeded)
        });
        Aggregate::new_of(self.task.clone_ref(py), sums, seeded)
    }

    /// The number of reports that were summed.
    #[getter]
    fn records(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.locked().sums.records())
    }

    /// The number of reports that were left out because an earlier one had their id.
    #[getter]
    fn duplicates(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.locked().duplicates)
    }

    /// The number of rows that were left out because they are not reports of the task.
    #[getter]
    fn skipped(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.locked().skipped)
    }

    /// The first row that was left out, with its place in its call of ``update`` and the reason.
    #[getter]
    fn first_skipped(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.locked().first_skipped.as_ref().map(|bad| format!("row {}: {}", bad.row, bad.problem)))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let (records, duplicates, skipped) = (self.records(py), self.duplicates(py), self.skipped(py));
        format!("Collection(records={records}, duplicates={duplicates}, skipped={skipped})")
    }
}
