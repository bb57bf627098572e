//! Reports as they come from Python, read where they lie; and as they go there.
//!
//! The interpreter's limited API of Python 3.9 has no buffers, so they come as Arrow arrays (of any library, by the
//! Arrow PyCapsule interface), NumPy arrays of bytes, or `bytes`.

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::types::{BinaryType, LargeBinaryType};
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, make_array};
use arrow_data::ArrayData;
use arrow_pyarrow::FromPyArrow;
use arrow_schema::DataType;
use ldp_pca::report::{Report, report_bytes};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::types::{PyBytes, PyCapsule};
use pyo3::{intern, prelude::*};

use crate::error::{ReportError, in_row};
use crate::task::Task;

/// Reports of one task, one after the other. Arrow libraries read them without a copy: `pyarrow.array(reports)`.
#[pyclass(frozen, module = "ldp_pca")]
pub struct Reports(FixedSizeBinaryArray);

impl Reports {
    pub(crate) fn new(array: FixedSizeBinaryArray) -> Self {
        Self(array)
    }
}

#[pymethods]
impl Reports {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The length of every report.
    #[getter]
    fn width(&self) -> usize {
        self.0.value_size()
    }

    /// The reports one after the other: the file that `ldp-pca aggregate` reads.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.values())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // The interface asks for a best effort: these reports have one layout.
        drop(requested_schema);
        let schema = FFI_ArrowSchema::try_from(self.0.data_type()).map_err(|error| unreadable(&error))?;
        let array = FFI_ArrowArray::new(&self.0.to_data());
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        Ok((schema, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }

    fn __repr__(&self) -> String {
        format!("Reports({} of {} bytes)", self.0.len(), self.0.value_size())
    }
}

/// Reports of a caller, held where they are.
pub(crate) enum Rows<'py> {
    Arrow(ArrayRef),
    NumPy(PyReadonlyArray2<'py, u8>),
    Bytes(Bound<'py, PyBytes>),
}

impl<'py> Rows<'py> {
    pub(crate) fn of(reports: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = reports.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes.clone()));
        }
        if let Ok(array) = reports.extract::<PyReadonlyArray2<'py, u8>>() {
            return Ok(Self::NumPy(array));
        }
        if reports.hasattr(intern!(reports.py(), "__arrow_c_array__"))? {
            return Ok(Self::Arrow(column(make_array(ArrayData::from_pyarrow_bound(reports)?))?));
        }
        Err(PyTypeError::new_err(format!(
            "reports are given as an Arrow array of binary, a NumPy array of bytes (n × report_bytes, uint8) or bytes, \
             not as {}",
            reports.get_type().name()?
        )))
    }

    /// One slice per report. Nothing is copied.
    pub(crate) fn slices(&self, task: &Task) -> PyResult<Vec<&[u8]>> {
        let width = report_bytes(task.inner());
        match self {
            Self::Bytes(bytes) => Ok(bytes.as_bytes().chunks(width).collect()),
            Self::NumPy(array) => {
                let columns = array.shape()[1];
                let bytes = array.as_slice().map_err(|_| {
                    PyTypeError::new_err("the NumPy array of reports is not contiguous: numpy.ascontiguousarray helps")
                })?;
                Ok(if columns == 0 { vec![] } else { bytes.chunks(columns).collect() })
            }
            Self::Arrow(array) => match array.data_type() {
                DataType::FixedSizeBinary(_) => Ok(array.as_fixed_size_binary().iter().flatten().collect()),
                DataType::Binary => Ok(array.as_bytes::<BinaryType>().iter().flatten().collect()),
                DataType::LargeBinary => Ok(array.as_bytes::<LargeBinaryType>().iter().flatten().collect()),
                _ => Ok(array.as_binary_view().iter().flatten().collect()),
            },
        }
    }
}

/// The column of reports: the array itself, or the one called `report` of a batch.
fn column(array: ArrayRef) -> PyResult<ArrayRef> {
    let array = match array.as_struct_opt() {
        Some(batch) => batch.column_by_name("report").cloned().ok_or_else(|| {
            PyTypeError::new_err(format!("the batch has no column 'report', but {:?}", batch.column_names()))
        })?,
        None => array,
    };
    if !matches!(
        array.data_type(),
        DataType::FixedSizeBinary(_) | DataType::Binary | DataType::LargeBinary | DataType::BinaryView
    ) {
        return Err(PyTypeError::new_err(format!("reports are binary, and this Arrow array is {}", array.data_type())));
    }
    if array.null_count() > 0 {
        let row = (0..array.len()).find(|&row| array.is_null(row)).unwrap_or_default();
        return Err(ReportError::new_err(format!("row {row}: null instead of a report: drop nulls before")));
    }
    Ok(array)
}

/// Decodes `rows`, the first of which is row `first` of the caller's.
pub(crate) fn decode(rows: &[&[u8]], first: usize, task: &Task) -> Result<Vec<Report>, BadRow> {
    let mut reports = Vec::with_capacity(rows.len());
    for (index, row) in rows.iter().enumerate() {
        let report = Report::from_bytes(row, task.inner());
        reports.push(report.map_err(|error| BadRow { row: first + index, problem: error.to_string() })?);
    }
    Ok(reports)
}

/// Bytes that are not a report of the task.
pub(crate) struct BadRow {
    row: usize,
    problem: String,
}

impl BadRow {
    pub(crate) fn raise(self, py: Python<'_>) -> PyErr {
        in_row(py, self.row, ReportError::new_err, self.problem)
    }
}

fn unreadable(error: &arrow_schema::ArrowError) -> PyErr {
    PyTypeError::new_err(error.to_string())
}
