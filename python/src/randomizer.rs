//! Records into reports.

use arrow_array::FixedSizeBinaryArray;
use arrow_buffer::Buffer;
use ldp_pca::report::report_bytes;
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::error::{RecordError, in_row};
use crate::reports::Reports;
use crate::task::Task;

/// Bounds and randomizes records, with the system's randomness.
#[pyclass(frozen, module = "ldp_pca")]
pub struct Randomizer {
    task: Py<Task>,
}

#[pymethods]
impl Randomizer {
    #[new]
    fn new(task: Py<Task>) -> Self {
        Self { task }
    }

    /// The task that is answered.
    #[getter]
    fn task(&self, py: Python<'_>) -> Py<Task> {
        self.task.clone_ref(py)
    }

    /// One report per row of an n × columns array of numbers.
    fn randomize(&self, py: Python<'_>, records: PyReadonlyArray2<'_, f64>) -> PyResult<Reports> {
        let task = self.task.get().inner();
        let (rows, width) = (records.shape()[0], report_bytes(task));
        let records = records.as_array();
        let bytes = py.detach(|| {
            let mut bytes = Vec::with_capacity(rows * width);
            for (row, record) in records.rows().into_iter().enumerate() {
                let report = task
                    .schema()
                    .encode_numbers(&record.to_vec())
                    .map_err(|error| (row, error.to_string()))
                    .and_then(|features| task.bound(features).map_err(|error| (row, error.to_string())))
                    .and_then(|record| task.randomize(&record).map_err(|error| (row, error.to_string())))?;
                bytes.extend(report.to_bytes());
            }
            Ok(bytes)
        });
        let bytes: Vec<u8> =
            bytes.map_err(|(row, problem): (usize, String)| in_row(py, row, RecordError::new_err, problem))?;
        let width =
            i32::try_from(width).map_err(|_| RecordError::new_err("reports of this task are too long for Arrow"))?;
        let array = FixedSizeBinaryArray::try_new(width, Buffer::from_vec(bytes), None);
        Ok(Reports::new(array.map_err(|error| RecordError::new_err(error.to_string()))?))
    }

    fn __repr__(&self) -> String {
        format!("Randomizer({})", self.task.get().inner().digest())
    }
}
