//! Sums of reports.

use core::num::NonZeroUsize;

use ldp_pca::aggregate::Aggregate as Sums;
use pyo3::exceptions::PyValueError;
use pyo3::types::{PyBytes, PyType};
use pyo3::{intern, prelude::*};

use crate::error::AggregateError;
use crate::reports::{Rows, decode};
use crate::task::Task;

/// The summed reports of one task. Any order and any grouping of the same reports gives the same bytes.
#[pyclass(module = "ldp_pca")]
pub struct Aggregate {
    task: Py<Task>,
    sums: Sums,
}

/// Bytes of reports that are decoded and summed at a time: beside the caller's, only these are held.
const BATCH_BYTES: usize = 32 << 20;

#[pymethods]
impl Aggregate {
    #[new]
    fn new(task: Py<Task>) -> Self {
        let sums = Sums::empty(task.get().inner());
        Self { task, sums }
    }

    /// Reads a state.
    #[classmethod]
    fn from_bytes(_: &Bound<'_, PyType>, py: Python<'_>, state: &Bound<'_, PyBytes>, task: Py<Task>) -> PyResult<Self> {
        let (bytes, inner) = (state.as_bytes(), task.get().inner());
        let sums = py.detach(|| Sums::from_bytes(bytes, inner));
        Ok(Self { sums: sums.map_err(|error| AggregateError::new_err(error.to_string()))?, task })
    }

    /// The bytes of the state, the same as of the command line and the server.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes = py.detach(|| self.sums.to_bytes());
        PyBytes::new(py, &bytes)
    }

    /// Adds reports, which lie where they are until they are decoded. On an error nothing was added.
    #[pyo3(signature = (reports, *, threads=1))]
    fn update(&mut self, py: Python<'_>, reports: &Bound<'_, PyAny>, threads: usize) -> PyResult<usize> {
        let threads = NonZeroUsize::new(threads).ok_or_else(|| PyValueError::new_err("0 threads: give 1 or more"))?;
        let rows = Rows::of(reports)?;
        let task = self.task.get();
        let slices = rows.slices(task)?;
        let size = (BATCH_BYTES / ldp_pca::report::report_bytes(task.inner())).max(1);
        let sums = &mut self.sums;
        py.detach(|| {
            let add = |sums: &mut Sums, first, part: &[&[u8]]| {
                let reports = decode(part, first, task).map_err(Failure::Row)?;
                sums.accumulate_with_threads(task.inner(), &reports, threads).map_err(Failure::Sums)
            };
            if slices.len() <= size {
                return add(sums, 0, &slices);
            }
            // All or nothing: what comes before a bad report is in a sum of its own.
            let mut all = Sums::empty(task.inner());
            for (index, part) in slices.chunks(size).enumerate() {
                add(&mut all, index * size, part)?;
            }
            sums.merge(&all).map_err(Failure::Sums)
        })
        .map_err(|failure| match failure {
            Failure::Row(row) => row.raise(py),
            Failure::Sums(error) => AggregateError::new_err(error.to_string()),
        })?;
        Ok(slices.len())
    }

    /// Adds the sums of other reports of the same task.
    fn merge(&mut self, other: &Bound<'_, Self>) -> PyResult<()> {
        let other = other.try_borrow().map(|other| other.sums.clone());
        // An aggregate merged into itself would count every report twice.
        let other = other.map_err(|_| AggregateError::new_err("an aggregate cannot be merged into itself"))?;
        self.sums.merge(&other).map_err(|error| AggregateError::new_err(error.to_string()))
    }

    /// The number of reports.
    #[getter]
    fn records(&self) -> u64 {
        self.sums.records()
    }

    /// The task whose reports are summed.
    #[getter]
    fn task(&self, py: Python<'_>) -> Py<Task> {
        self.task.clone_ref(py)
    }

    fn __eq__(&self, other: PyRef<'_, Self>) -> bool {
        self.sums == other.sums
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        let (py, this) = (slf.py(), slf.try_borrow()?);
        Ok((slf.get_type().getattr(intern!(py, "from_bytes"))?, (this.to_bytes(py), this.task(py))))
    }

    fn __repr__(&self) -> String {
        format!("Aggregate({} records of task {}…)", self.sums.records(), &self.sums.task().to_string()[..16])
    }
}

/// What makes the aggregate again, and from what.
type Pickled<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>, Py<Task>));

enum Failure {
    Row(crate::reports::BadRow),
    Sums(ldp_pca::aggregate::AggregateError),
}
