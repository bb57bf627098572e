//! The public parameters of a collection.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::error::TaskError;

/// The public parameters of a collection: schema, bounding, mechanism. Tasks are equal when their digests are.
#[pyclass(frozen, module = "ldp_pca")]
pub struct Task(ldp_pca::task::Task);

impl Task {
    pub(crate) fn inner(&self) -> &ldp_pca::task::Task {
        &self.0
    }
}

impl From<ldp_pca::task::Task> for Task {
    fn from(task: ldp_pca::task::Task) -> Self {
        Self(task)
    }
}

#[pymethods]
impl Task {
    /// Reads a task from its JSON.
    #[classmethod]
    fn from_json(_: &Bound<'_, PyType>, text: &str) -> PyResult<Self> {
        let task = ldp_pca::task::Task::from_json(text).map_err(|error| TaskError::new_err(error.to_string()))?;
        Ok(task.into())
    }

    /// The canonical JSON, the text that the digest is of.
    fn to_json(&self) -> String {
        self.inner().to_json()
    }

    /// The task's identity, in hexadecimal digits.
    #[getter]
    fn digest(&self) -> String {
        self.inner().digest().to_string()
    }

    /// The number of features, d.
    #[getter]
    fn dimension(&self) -> usize {
        self.inner().dimension()
    }

    /// The names of the d features.
    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.inner().schema().feature_names()
    }

    /// The length of every report in bytes.
    #[getter]
    fn report_bytes(&self) -> usize {
        ldp_pca::report::report_bytes(self.inner())
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __hash__(&self) -> u64 {
        u64::from_le_bytes(self.0.digest().prefix())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr(intern!(slf.py(), "from_json"))?, (slf.get().to_json(),)))
    }

    fn __repr__(&self) -> String {
        format!("Task(dimension={}, digest={}…)", self.dimension(), &self.digest()[..16])
    }
}
