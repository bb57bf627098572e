//! Reports from Python, read in place; and reports for Python.
//!
//! The interpreter's limited API of Python 3.9 has no buffers, so they come as Arrow arrays (of any library, by the
//! Arrow PyCapsule interface), NumPy arrays of bytes, or `bytes`.

use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicBool, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::ffi::to_ffi;
use arrow_array::types::{BinaryType, LargeBinaryType};
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray};
use arrow_buffer::Buffer;
use arrow_schema::DataType;
use ldp_pca::report::{Report, report_bytes};
use ldp_pca::task::Task;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyIndexError;
use pyo3::types::{PyBytes, PyCapsule, PyRange, PySlice, PySliceIndices, PyString, PyType};
use pyo3::{intern, prelude::*};

use crate::arrow;
use crate::error::{ReportError, ReportTypeError, in_row, type_name};

/// Reports of one task, one after the other, immutable.
///
/// Arrow libraries read them without a copy: ``pyarrow.array(reports)``, ``polars.Series(reports)``. ``reports[i]`` is
/// the i-th as ``bytes``, and ``reports[i:j]`` are `Reports`.
#[pyclass(frozen, sequence, module = "ldp_pca")]
pub struct Reports {
    array: FixedSizeBinaryArray,
    /// Whether they were drawn from a seed. Their bytes do not say it.
    seeded: AtomicBool,
}

impl Reports {
    /// Reports of `width` bytes each.
    pub(crate) fn new(bytes: Vec<u8>, width: usize, seeded: bool) -> PyResult<Self> {
        let unusable = |problem: String| ReportError::new_err(problem);
        let width =
            i32::try_from(width).map_err(|_| unusable(format!("reports of {width} bytes are too long for Arrow")))?;
        let array = FixedSizeBinaryArray::try_new(width, Buffer::from_vec(bytes), None);
        let array = array.map_err(|error| unusable(error.to_string()))?;
        Ok(Self { array, seeded: AtomicBool::new(seeded) })
    }

    /// Whether these are reports that are known to be drawn from a seed.
    pub(crate) fn are_seeded(reports: &Bound<'_, PyAny>) -> bool {
        reports.cast::<Self>().is_ok_and(|reports| reports.get().seeded())
    }
}

#[pymethods]
impl Reports {
    /// Reads reports of ``width`` bytes that follow each other, as ``to_bytes`` gives them.
    #[classmethod]
    fn from_bytes(_: &Bound<'_, PyType>, data: &[u8], width: usize) -> PyResult<Self> {
        if width == 0 || !data.len().is_multiple_of(width) {
            return Err(ReportError::new_err(format!(
                "{} bytes are not a whole number of reports of {width} bytes",
                data.len()
            )));
        }
        Self::new(data.to_vec(), width, false)
    }

    fn __len__(&self) -> usize {
        self.array.len()
    }

    /// A report, or those of a slice.
    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (py, length) = (index.py(), self.array.len());
        if let Ok(slice) = index.cast::<PySlice>() {
            let PySliceIndices { start, step, slicelength, .. } = slice.indices(isize::try_from(length)?)?;
            let places = (0..slicelength as isize).map(|index| (start + index * step) as usize);
            let chosen: Vec<&[u8]> = places.map(|place| self.array.value(place)).collect();
            let reports = Self::new(chosen.concat(), self.array.value_size(), self.seeded())?;
            return Ok(reports.into_pyobject(py)?.into_any());
        }
        let index: isize = index.extract()?;
        let place = if index < 0 { index.checked_add_unsigned(length) } else { Some(index) };
        let place = place.and_then(|place| usize::try_from(place).ok()).filter(|&place| place < length);
        let place = place.ok_or_else(|| PyIndexError::new_err(format!("there is no report {index} of {length}")))?;
        Ok(PyBytes::new(py, self.array.value(place)).into_any())
    }

    /// One by one, as ``bytes``.
    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, length) = (slf.py(), isize::try_from(slf.get().array.len())?);
        let one = slf.getattr(intern!(py, "__getitem__"))?;
        py.import(intern!(py, "builtins"))?.call_method1(intern!(py, "map"), (one, PyRange::new(py, 0, length)?))
    }

    /// The length of every report in bytes.
    #[getter]
    fn width(&self) -> usize {
        self.array.value_size()
    }

    /// Whether they are known to be drawn from a seed: such reports are not private. Their bytes do not say it.
    #[getter]
    fn seeded(&self) -> bool {
        self.seeded.load(Ordering::Relaxed)
    }

    /// The reports one after the other: the file that ``ldp-pca aggregate`` reads.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.array.values())
    }

    /// The reports as an array of bytes, a copy: shape (n, width), uint8.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u8>>> {
        PyArray1::from_slice(py, self.array.values()).reshape([self.array.len(), self.array.value_size()])
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // The interface asks for a best effort: these reports have one layout.
        drop(requested_schema);
        let exported = to_ffi(&self.array.to_data());
        let (array, schema) = exported.map_err(|error| ReportTypeError::new_err(error.to_string()))?;
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        Ok((schema, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.array.value_size() == other.array.value_size() && self.array.values() == other.array.values()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        let reports = slf.get();
        let arguments = (reports.to_bytes(slf.py()), reports.width());
        Ok((slf.get_type().getattr(intern!(slf.py(), "from_bytes"))?, arguments, reports.seeded().then_some(true)))
    }

    fn __setstate__(&self, seeded: bool) {
        self.seeded.store(seeded, Ordering::Relaxed);
    }

    fn __repr__(&self) -> String {
        format!("Reports({} of {} bytes)", self.array.len(), self.array.value_size())
    }
}

/// The function that recreates the reports, its arguments, and whether they are seeded.
type Pickled<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>, usize), Option<bool>);

/// Reports of a caller, held where they are.
pub(crate) enum Rows<'py> {
    /// Columns, one after the other.
    Arrow(Vec<ArrayRef>),
    NumPy(PyReadonlyArray2<'py, u8>),
    /// Reports that follow each other.
    Bytes(Bound<'py, PyBytes>),
    /// One report each.
    Each(Vec<Bound<'py, PyBytes>>),
}

impl<'py> Rows<'py> {
    pub(crate) fn of(reports: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = reports.py();
        if let Ok(bytes) = reports.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes.clone()));
        }
        if let Ok(reports) = reports.cast::<Reports>() {
            return Ok(Self::Arrow(vec![std::sync::Arc::new(reports.get().array.clone())]));
        }
        if let Ok(array) = reports.extract::<PyReadonlyArray2<'py, u8>>() {
            return Ok(Self::NumPy(array));
        }
        if reports.hasattr(intern!(py, "__arrow_c_array__"))? {
            return Ok(Self::Arrow(vec![column(reports)?]));
        }
        // A chunked array of pyarrow: its stream is not one of tables, so each chunk is taken on its own.
        if reports.hasattr(intern!(py, "chunks"))? && !reports.hasattr(intern!(py, "columns"))? {
            let chunks = reports.getattr(intern!(py, "chunks"))?.try_iter()?;
            let arrays = chunks.map(|chunk| column(&chunk?));
            return Ok(Self::Arrow(arrays.collect::<PyResult<_>>()?));
        }
        // A series of pandas or polars, as a table of one column: what their streams of tables can carry.
        if reports.hasattr(intern!(py, "to_frame"))? && !reports.hasattr(intern!(py, "columns"))? {
            let frame = reports.call_method1(intern!(py, "to_frame"), (COLUMN,))?;
            return Ok(Self::Arrow(columns(&frame)?));
        }
        if reports.hasattr(intern!(py, "__arrow_c_stream__"))? {
            return Ok(Self::Arrow(columns(reports)?));
        }
        if !reports.is_instance_of::<PyString>()
            && let Ok(each) = reports.try_iter()
        {
            let mut rows = Vec::new();
            for report in each {
                let report = report?;
                match report.cast_into::<PyBytes>() {
                    Ok(report) => rows.push(report),
                    Err(other) => return Err(unknown(&other.into_inner(), Some(rows.len()))),
                }
            }
            return Ok(Self::Each(rows));
        }
        Err(unknown(reports, None))
    }

    /// One slice per report, of no bytes for a null. Nothing is copied. Arrays of anything but binary are refused.
    pub(crate) fn slices(&self, task: &Task) -> PyResult<Vec<&[u8]>> {
        let width = report_bytes(task);
        match self {
            Self::Bytes(bytes) => Ok(bytes.as_bytes().chunks(width).collect()),
            Self::Each(rows) => Ok(rows.iter().map(PyBytesMethods::as_bytes).collect()),
            Self::NumPy(array) => {
                let (rows, columns) = (array.shape()[0], array.shape()[1]);
                // In NumPy's order: the slice of an array in Fortran's would have the bytes of all reports mixed.
                let bytes = array.as_slice().ok().filter(|_| array.is_c_contiguous()).ok_or_else(|| {
                    ReportError::new_err("the NumPy array of reports is not contiguous: numpy.ascontiguousarray helps")
                })?;
                if columns == 0 && rows > 0 {
                    return Err(nothing());
                }
                Ok(bytes.chunks(columns.max(1)).collect())
            }
            Self::Arrow(arrays) => {
                let mut slices = Vec::new();
                for array in arrays {
                    match array.data_type() {
                        DataType::FixedSizeBinary(..=0) if !array.is_empty() => return Err(nothing()),
                        DataType::FixedSizeBinary(_) => slices.extend(present(array.as_fixed_size_binary().iter())),
                        DataType::Binary => slices.extend(present(array.as_bytes::<BinaryType>().iter())),
                        DataType::LargeBinary => slices.extend(present(array.as_bytes::<LargeBinaryType>().iter())),
                        DataType::BinaryView => slices.extend(present(array.as_binary_view().iter())),
                        kind => {
                            let kind = arrow::type_name(kind);
                            let problem = format!("reports are binary, and this Arrow array is {kind}");
                            return Err(ReportTypeError::new_err(problem));
                        }
                    }
                }
                Ok(slices)
            }
        }
    }
}

/// A null has no bytes, as no report has.
fn present<'a>(values: impl Iterator<Item = Option<&'a [u8]>>) -> impl Iterator<Item = &'a [u8]> {
    values.map(Option::unwrap_or_default)
}

const NOTHING: &str = "null or no bytes instead of a report: drop such rows before";

/// Rows of no bytes take no memory, so there may be any number of them: they are refused before they are counted out.
fn nothing() -> PyErr {
    in_row(0, ReportError::new_err, NOTHING)
}

/// The name of a column of reports, in the aggregator's files too.
const COLUMN: &str = "report";

/// The columns of reports of the batches of a table.
fn columns(table: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let (batches, schema) = arrow::table(table, ReportTypeError::new_err)?.into_inner();
    let place = schema.index_of(COLUMN).map_err(|_| missing(schema.fields().len()))?;
    Ok(batches.iter().map(|batch| batch.column(place).clone()).collect())
}

/// The array itself, or the column of reports of a batch.
fn column(reports: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let array = arrow::array(reports, ReportTypeError::new_err)?;
    match arrow::batch(&array, ReportError::new_err)? {
        Some(batch) => batch.column_by_name(COLUMN).cloned().ok_or_else(|| missing(batch.num_columns())),
        None => Ok(array),
    }
}

/// The other columns' names are left out: they may be those of records, and can be answers.
fn missing(columns: usize) -> PyErr {
    ReportError::new_err(format!("the table has no column '{COLUMN}' among its {columns}"))
}

fn unknown(found: &Bound<'_, PyAny>, row: Option<usize>) -> PyErr {
    let name = type_name(found);
    let place = row.map_or_else(String::new, |row| format!(" (row {row})"));
    ReportTypeError::new_err(format!(
        "reports are given as an Arrow array or table of binary, a NumPy array of bytes (n × report_bytes, uint8), a \
         series, bytes, or a sequence of bytes, not as {name}{place}"
    ))
}

/// Decodes `rows`, the first of which is row `first` of the caller's. Bad rows are left to `skip`, or else are errors.
pub(crate) fn decode(
    rows: &[&[u8]],
    first: usize,
    task: &Task,
    threads: NonZeroUsize,
    mut skip: Option<&mut dyn FnMut(BadRow)>,
) -> Result<Vec<Report>, BadRow> {
    let mut reports = Vec::with_capacity(rows.len());
    let decoded = Report::many_from_bytes(rows, task, threads).into_iter().flatten();
    for ((row, bytes), outcome) in (first..).zip(rows).zip(decoded) {
        let problem = match outcome {
            Ok(report) => {
                reports.push(report);
                continue;
            }
            Err(_) if bytes.is_empty() => NOTHING.to_owned(),
            Err(problem) => problem.to_string(),
        };
        match &mut skip {
            Some(skip) => skip(BadRow { row, problem }),
            None => return Err(BadRow { row, problem }),
        }
    }
    Ok(reports)
}

/// Bytes that are not a report of the task.
pub(crate) struct BadRow {
    pub(crate) row: usize,
    pub(crate) problem: String,
}

impl From<BadRow> for PyErr {
    fn from(BadRow { row, problem }: BadRow) -> Self {
        in_row(row, ReportError::new_err, problem)
    }
}
