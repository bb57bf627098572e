//! Randomization of records into reports.

use core::num::NonZeroUsize;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ldp_pca::error::Error;
use ldp_pca::internal::decimal::plural;
use ldp_pca::internal::parallel::for_each;
use ldp_pca::internal::sampling::{insecure_rng, system_rng};
use ldp_pca::report::{ReportId, report_bytes};
use ldp_pca::task::Task as Parameters;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::types::PyType;
use pyo3::{intern, prelude::*};

use crate::error::raised;
use crate::parameters;
use crate::records::{Records, View};
use crate::reports::Reports;
use crate::signals::Signals;
use crate::task::Task;

/// Bounds and randomizes records, as every device does with its own, for many at once.
///
/// It has no randomness of its own: wherever it is copied or pickled to, reports are drawn from the system's.
///
/// Parameters
/// ----------
/// task : Task
///     The task that the reports answer.
#[pyclass(frozen, module = "ldp_pca")]
pub struct Randomizer {
    /// The task that the reports answer.
    #[pyo3(get)]
    task: Py<Task>,
}

/// The records of each thread before the first look at the signals.
const STRETCH: usize = 16;
/// About the time between two looks at the signals. A record may take a microsecond or a tenth of a second.
const STRETCH_TIME: Duration = Duration::from_millis(100);

#[pymethods]
impl Randomizer {
    #[new]
    fn new(task: Py<Task>) -> Self {
        Self { task }
    }

    /// One private report per record, with the system's randomness.
    ///
    /// Parameters
    /// ----------
    /// records : array of shape (n, columns), table, or sequence of mappings
    ///     Numbers by position, in the order of the task's columns (any integer or floating-point dtype); a pandas,
    ///     polars or Arrow table, whose columns are found by name; or mappings from names to values. One record is a
    ///     mapping, or a list of one. A numeric column holds numbers, and a categorical one texts. NaN, infinities,
    ///     None, nulls and masked values are missing, and so is what does not fit its column: it contributes nothing to
    ///     the report, which protects this as it does any value.
    /// ids : sequence of str, optional
    ///     The ids of the reports, each of 32 hexadecimal digits, as the aggregator issues them: ``ldp-pca serve``
    ///     accepts no others unless it is configured to. By default reports draw their own ids.
    /// threads : int, optional
    ///     The number of threads; by default as many as the machine has.
    /// insecure_seed : int or numpy.random.Generator, optional
    ///     Draw from this seed, or from one that the generator draws, for tests: such reports are NOT private, and say
    ///     so (``seeded``). They are those of ``ldp-pca randomize --insecure-seed``, whatever the number of threads.
    /// first : int
    ///     With ``insecure_seed``, the position of the first record among all.
    /// progress : bool or callable
    ///     Show progress, with tqdm or with what this makes: it is called with ``total``, ``unit`` and ``desc``, as
    ///     tqdm is, and what it returns has ``update(n)`` and ``close()``.
    /// strict : bool
    ///     Refuse what does not fit its column, before anything is randomized, instead of counting it as missing. For
    ///     records of your own: whether there is a report then depends on what a record holds.
    ///
    /// Returns
    /// -------
    /// Reports
    ///     In the order of the records: one for each. One record alone gives one whatever it holds. Several are for
    ///     somebody who may see them all: they may be refused for what they hold together.
    ///
    /// Raises
    /// ------
    /// RecordError
    ///     For what holds no records, and with ``strict`` for the first record that has something that does not fit,
    ///     with its ``row``. No message holds a value.
    /// ValueError
    ///     For invalid or repeated ids, and another number of them than of records.
    /// SchemaError
    ///     For a table without the task's columns, and for several records where nothing of a column fits.
    ///
    /// Warns
    /// -----
    /// RecordWarning
    ///     Where something does not fit: of which columns, how often, and in which row first.
    #[pyo3(signature = (
        records, *, ids=None, threads=None, insecure_seed=None, first=0, progress=None, strict=false
    ))]
    #[allow(clippy::too_many_arguments, reason = "they have names in Python")]
    fn randomize(
        &self,
        py: Python<'_>,
        records: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = parameters::ids)] ids: Option<Vec<String>>,
        #[pyo3(from_py_with = parameters::threads)] threads: Option<usize>,
        insecure_seed: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = parameters::first)] first: u64,
        progress: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = parameters::strict)] strict: bool,
    ) -> PyResult<Reports> {
        let threads = threads_of(threads)?;
        let ids = ids.map(|ids| ids_of(&ids)).transpose()?;
        let insecure_seed = insecure_seed.map(seed_of).transpose()?;
        let task = &self.task.get().0;
        let records = Records::read(records, task.schema(), strict)?;
        let (rows, width, view) = (records.len(), report_bytes(task), records.view());
        if let Some(ids) = &ids
            && ids.len() != rows
        {
            let problem = format!(
                "{} for {}: every report needs one of its own",
                plural(ids.len() as u64, "id"),
                plural(rows as u64, "record")
            );
            return Err(PyValueError::new_err(problem));
        }
        let work = Work { task, view, ids: ids.as_deref(), insecure_seed, first, width };
        let make = |progress| {
            let module = py.import(intern!(py, "ldp_pca._progress"))?;
            module.call_method1(intern!(py, "bar"), (progress, "randomizing", "record", rows)).map(Bound::unbind)
        };
        // What shows the progress, if anything does.
        let bar = progress.map(make).transpose()?;
        let bytes = py.detach(|| -> PyResult<Vec<u8>> {
            let (mut bytes, size) = (Vec::new(), rows.saturating_mul(width));
            bytes.try_reserve_exact(size).map_err(|_| {
                PyMemoryError::new_err(format!("no memory for {rows} reports of {width} bytes: give fewer"))
            })?;
            bytes.resize(size, 0);
            let mut signals = Signals::new();
            let (mut done, mut together) = (0, STRETCH * threads.get());
            while done < rows {
                let (started, count) = (Instant::now(), together.min(rows - done));
                work.run(done, &mut bytes[done * width..][..count * width], threads).map_err(raised)?;
                done += count;
                together =
                    if started.elapsed() < STRETCH_TIME { 2 * together } else { (together / 2).max(threads.get()) };
                if let Some(bar) = &bar {
                    Python::attach(|py| bar.call_method1(py, intern!(py, "update"), (count,)))?;
                }
                signals.check()?;
            }
            Ok(bytes)
        });
        // Whatever happened; the first error is the one that counts.
        let closed = bar.map(|bar| bar.call_method0(py, intern!(py, "close"))).transpose();
        let bytes = bytes?;
        closed?;
        Reports::new(bytes, width, insecure_seed.is_some())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (Py<Task>,)) {
        (slf.get_type(), (slf.get().task.clone_ref(slf.py()),))
    }

    fn __repr__(&self) -> String {
        format!("Randomizer(task='{}…')", &self.task.get().0.digest().to_string()[..16])
    }
}

/// The inputs of every thread.
struct Work<'a> {
    task: &'a Parameters,
    view: View<'a>,
    ids: Option<&'a [ReportId]>,
    insecure_seed: Option<u64>,
    first: u64,
    width: usize,
}

impl Work<'_> {
    /// Fills `out` with the reports of the rows from `first_row` on. Every record has one: only the system's randomness
    /// can be missing, whatever the row.
    fn run(&self, first_row: usize, out: &mut [u8], threads: NonZeroUsize) -> Result<(), Error> {
        let rows = (out.len() / self.width).div_ceil(threads.get()).max(1);
        let outcome = Mutex::new(Ok(()));
        let parts = out.chunks_mut(rows * self.width).enumerate();
        for_each(parts, threads, |(index, part): (usize, &mut [u8])| {
            if let Err(error) = self.part(first_row + index * rows, part) {
                *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
            }
        });
        outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn part(&self, first_row: usize, out: &mut [u8]) -> Result<(), Error> {
        let mut system = system_rng()?;
        for (row, out) in (first_row..).zip(out.chunks_mut(self.width)) {
            let record = self.task.bound((self.view)(row, self.task.schema()))?;
            let id = self.ids.map(|ids| ids[row]);
            let report = match self.insecure_seed {
                None => self.task.randomize_with_rng(&record, id, &mut system)?,
                Some(seed) => {
                    self.task.randomize_with_rng(&record, id, &mut insecure_rng(seed, self.first + row as u64))?
                }
            };
            out.copy_from_slice(&report.to_bytes());
        }
        Ok(())
    }
}

/// A seed, or one that a generator of NumPy draws.
fn seed_of(seed: &Bound<'_, PyAny>) -> PyResult<u64> {
    let integers = intern!(seed.py(), "integers");
    let drawn = if seed.hasattr(integers)? { seed.call_method1(integers, (i64::MAX,))? } else { seed.clone() };
    parameters::insecure_seed(&drawn)
}

/// Different ids from their digits.
fn ids_of(texts: &[String]) -> PyResult<Vec<ReportId>> {
    let mut seen = HashSet::with_capacity(texts.len());
    let one = |(place, text): (usize, &String)| {
        let id: ReportId = text.parse().map_err(|_| format!("id {place} is not 32 hexadecimal digits"))?;
        if seen.insert(id) {
            Ok(id)
        } else {
            Err(format!("id {place} was there before, and reports of one id count once: ask for others"))
        }
    };
    texts.iter().enumerate().map(one).collect::<Result<_, _>>().map_err(PyValueError::new_err)
}

/// A number of threads: as many as the machine has when not given.
pub(crate) fn threads_of(threads: Option<usize>) -> PyResult<NonZeroUsize> {
    match threads {
        None => Ok(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)),
        Some(threads) => NonZeroUsize::new(threads.min(256))
            .ok_or_else(|| PyValueError::new_err("0 threads: give 1 or more, or None for all of the machine")),
    }
}
