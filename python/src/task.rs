//! The public parameters of a collection.

use ldp_pca::centring::Centring;
use ldp_pca::internal::mechanism::Moments;
use ldp_pca::internal::mechanism::cap::MAX_CANDIDATES;
use ldp_pca::mechanism::{MechanismFamily, MechanismSpec};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::{Bounding, Radius};
use ldp_pca::schema::{Column, ColumnKind, Schema, SchemaError as Problem};
use ldp_pca::task::Folds;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString, PyType};

use crate::error::{SchemaError, TaskError, named, raised, type_name};
use crate::parameters;
use crate::records::Records;

/// The lengths that a task about lengths asks about, each 0.84 times the one before.
const THRESHOLDS: u32 = 64;

/// The public parameters of a collection: columns, bounding, mechanism and its privacy.
///
/// They are fixed before the first report. Tasks are equal when their digests are, and they are hashable, picklable and
/// immutable.
///
/// The defaults are those of a collection, in which nobody sees a record: unit norm, no centring (less noise) and 10
/// folds, on which answers are measured. The estimator `LocalPCA` has others, as `sklearn.decomposition.PCA`: clipping
/// to radius 1, centring, and one fold.
///
/// Parameters
/// ----------
/// columns : int, sequence of str, or schema
///     How many numeric features there are (columns ``c1``, ``c2``, …), the names of numeric columns, or a schema: its
///     JSON, or the same as a mapping, or the list of its columns, as of `infer_schema`.
/// epsilon : float
///     The privacy parameter epsilon of one report.
/// mechanism : {'double-cap', 'gaussian', 'wang-xu'}
///     How records are randomized. 'double-cap' has pure epsilon and less noise than the others.
/// delta : float, optional
///     The privacy parameter delta of the Gaussian mechanisms, 1e-6 when not given.
/// candidates, cap : int, optional
///     J and L of double-cap; the best for epsilon when not given.
/// bounding : float or 'unit-norm'
///     The largest norm that a record keeps, in the units of the encoded features: longer ones are shortened to it. By
///     default every record is divided by its norm. Public, and not to be read from the records that are protected.
/// centring : bool or float
///     Estimate the mean too, and the covariance about it, with this weight (0.25 for ``True``).
/// folds : int, optional
///     Into how many independent sums reports are split, for answers to be measured on reports that they were not found
///     from: 1 to 64. By default 10, or 2 beyond 1,000 features.
/// period : str, optional
///     The name of the period that the task is for, as '2026-W48': letters, digits and ``-._:``, at most 64. The same
///     questions are another task in each period, which everybody answers once (docs/guides/periods.md).
///
/// Raises
/// ------
/// TaskError, SchemaError
///     For parameters that make no sense, with what to do.
#[pyclass(frozen, module = "ldp_pca")]
pub struct Task(pub(crate) ldp_pca::task::Task);

#[pymethods]
impl Task {
    #[new]
    #[pyo3(signature = (
        columns, *, epsilon, mechanism=String::from("double-cap"), delta=None, candidates=None, cap=None, bounding=None,
        centring=None, folds=None, period=None
    ), text_signature = "(columns, *, epsilon, mechanism='double-cap', delta=None, candidates=None, cap=None, \
                         bounding=None, centring=None, folds=None, period=None)")]
    #[allow(clippy::too_many_arguments, reason = "they have names in Python")]
    fn new(
        columns: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = parameters::epsilon)] epsilon: f64,
        #[pyo3(from_py_with = parameters::mechanism)] mechanism: String,
        #[pyo3(from_py_with = parameters::delta)] delta: Option<f64>,
        #[pyo3(from_py_with = parameters::candidates)] candidates: Option<u32>,
        #[pyo3(from_py_with = parameters::cap)] cap: Option<u32>,
        bounding: Option<&Bound<'_, PyAny>>,
        centring: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = parameters::folds)] folds: Option<u32>,
        #[pyo3(from_py_with = parameters::period)] period: Option<String>,
    ) -> PyResult<Self> {
        let (schema, epsilon) = (schema(columns)?, Epsilon::new(epsilon).map_err(raised)?);
        let spec = family(&mechanism, delta, candidates, cap)?.spec(epsilon);
        let bounding = bounding.map_or(Ok(Bounding::UnitNorm), bounding_of)?;
        let folds = folds.map_or_else(|| Ok(Folds::usual(schema.dimension())), Folds::new).map_err(raised)?;
        let centring = centring.map(centring_of).transpose()?.flatten();
        let task = ldp_pca::task::Task::of_parts(schema, bounding, centring, spec, folds).map_err(raised)?;
        Ok(Self(match period {
            Some(period) => task.with_period(&period).map_err(raised)?,
            None => task,
        }))
    }

    /// Makes the task of a small collection about the lengths of records, as ``ldp-pca task norms`` does
    /// (docs/guides/lengths.md). Each person says with one randomized bit whether the record is longer than one of a
    /// few lengths; `norms` reads the sums. Whoever answers it and the task that follows spends both epsilons.
    ///
    /// Parameters
    /// ----------
    /// columns : int, sequence of str, or schema
    ///     As of `Task`.
    /// epsilon : float
    ///     The privacy parameter epsilon of one report.
    /// radius : float
    ///     A length that nearly no record exceeds, in the units of the encoded features: the longest that is asked
    ///     about is 0.84 times as long. Public.
    ///
    /// Raises
    /// ------
    /// TaskError, SchemaError
    ///     For parameters that make no sense, with what to do.
    #[classmethod]
    #[pyo3(signature = (columns, *, epsilon, radius))]
    fn norms(
        _: &Bound<'_, PyType>,
        columns: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = parameters::epsilon)] epsilon: f64,
        #[pyo3(from_py_with = parameters::radius)] radius: f64,
    ) -> PyResult<Self> {
        let mechanism = MechanismSpec::norm_cap(Epsilon::new(epsilon).map_err(raised)?, THRESHOLDS);
        let bounding = Bounding::Clip { radius: radius_of(radius)? };
        let folds = Folds::new(1).map_err(raised)?;
        Ok(Self(ldp_pca::task::Task::new(schema(columns)?, bounding, mechanism, folds).map_err(raised)?))
    }

    /// Reads a task from its JSON.
    #[classmethod]
    fn from_json(_: &Bound<'_, PyType>, text: &str) -> PyResult<Self> {
        Ok(Self(ldp_pca::task::Task::from_json(unmarked(text)).map_err(raised)?))
    }

    /// Reads a task from a JSON file, as ``ldp-pca task new`` writes it.
    #[classmethod]
    fn from_file(class: &Bound<'_, PyType>, path: &Bound<'_, PyAny>) -> PyResult<Self> {
        let text: String = open(path)?.call_method1(intern!(path.py(), "read_text"), ("utf-8",))?.extract()?;
        Self::from_json(class, &text)
    }

    /// Writes the task as JSON to a file, as ``ldp-pca task new`` does.
    fn save(&self, path: &Bound<'_, PyAny>) -> PyResult<()> {
        let text = format!("{}\n", self.to_json());
        open(path)?.call_method1(intern!(path.py(), "write_text"), (text, "utf-8")).map(drop)
    }

    /// The canonical JSON, the text that the digest is of.
    fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// The task's identity: SHA-256 of its canonical JSON, 64 hexadecimal digits.
    #[getter]
    fn digest(&self) -> String {
        self.0.digest().to_string()
    }

    /// The collection that a person answers once: the digest of the task, or of the one that it refines.
    #[getter]
    fn campaign(&self) -> String {
        self.0.campaign().to_string()
    }

    /// What the task of a second wave refines; None of any other.
    ///
    /// A dictionary: the digest of the first wave's task (``parent``), the ``directions`` of shape (rank, d), their
    /// ``weights``, and the ``clip``, in the units of bounded records.
    #[getter]
    fn refinement<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(refinement) = self.0.refinement() else { return Ok(None) };
        let result = PyDict::new(py);
        let shape = [refinement.rank(), refinement.dimension()];
        result.set_item("parent", refinement.parent().to_string())?;
        // By columns, one after the other.
        let directions = PyArray1::from_slice(py, refinement.directions().as_slice());
        result.set_item("directions", directions.reshape(shape)?)?;
        result.set_item("weights", PyArray1::from_vec(py, refinement.weights()))?;
        result.set_item("clip", refinement.clip())?;
        Ok(Some(result))
    }

    /// The number of encoded features, d.
    #[getter]
    fn dimension(&self) -> usize {
        self.0.dimension()
    }

    /// The names of the columns of a record, ignored ones included.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.schema().columns().iter().map(|column| column.name.clone()).collect()
    }

    /// The names of the d features: the column's, or ``column=value`` for a categorical one.
    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.0.schema().feature_names()
    }

    /// The length of every report in bytes.
    #[getter]
    fn report_bytes(&self) -> usize {
        ldp_pca::report::report_bytes(&self.0)
    }

    /// The privacy parameter epsilon of one report.
    #[getter]
    fn epsilon(&self) -> f64 {
        self.0.guarantee().epsilon.value()
    }

    /// The privacy parameter delta of one report; 0.0 for a pure guarantee.
    #[getter]
    fn delta(&self) -> f64 {
        self.0.guarantee().delta_value()
    }

    /// The guarantee of one report, in words: epsilon, delta, neighbouring relation and unit.
    #[getter]
    fn guarantee(&self) -> String {
        self.0.guarantee().to_string()
    }

    /// The mechanism's name, as `Task` takes it: 'signed-cap' in a second wave, 'norm-cap' for norms.
    #[getter]
    fn mechanism(&self) -> &'static str {
        self.0.mechanism_spec().name()
    }

    /// The norm that records are clipped to, in the units of the encoded features; None under unit norm.
    #[getter]
    fn radius(&self) -> Option<f64> {
        match self.0.bounding() {
            Bounding::UnitNorm => None,
            Bounding::Clip { radius } => Some(radius.value()),
        }
    }

    /// The weight of centring; None in a task without.
    #[getter]
    fn centring(&self) -> Option<f64> {
        self.0.centring().map(Centring::weight)
    }

    /// The name of the period that the task is for; None of a task without.
    #[getter]
    fn period(&self) -> Option<&str> {
        self.0.period()
    }

    /// Into how many independent sums the reports are split.
    #[getter]
    fn folds(&self) -> usize {
        self.0.folds().count()
    }

    /// Standard deviation of one off-diagonal entry of the second moments of one report, in the units of the bounded
    /// record: divided by the root of their number, that of many. Raises `TaskError` for a second wave's task, whose
    /// reports say nothing about second moments alone, and for a task about the lengths of records.
    #[getter]
    fn entry_deviation(&self) -> PyResult<f64> {
        if self.0.refinement().is_some() {
            let problem = "the reports of a second wave say nothing about second moments alone: ask the first wave's \
                           task for its entry_deviation";
            return Err(TaskError::new_err(problem));
        }
        let mechanism = self.0.moments().map_err(raised)?;
        Ok(mechanism.entry_deviation() * self.0.centring().map_or(1.0, Centring::covariance_factor))
    }

    /// Makes the task of a second wave, in which other people refine what this task's sums found, as ``ldp-pca task
    /// refine`` does (docs/guides/two-waves.md). Its people report only what is between the components that were found
    /// and all that is across them. Nobody may answer both waves.
    ///
    /// Parameters
    /// ----------
    /// aggregate : Aggregate or PublicSample
    ///     The sums of this task, or public records in the first wave's place.
    /// rank : int
    ///     The number of components.
    /// records : int, optional
    ///     The number of people that the second wave will have; by default as many as the first. A sample needs it.
    /// sample_error : float, optional
    ///     How far the leading directions of a sample are off, as ``||sin Theta||_F^2``; by default as those of a
    ///     sample of the same population.
    /// anyway : bool
    ///     Make the task also where a second wave does not pay.
    ///
    /// Raises
    /// ------
    /// PlanError
    ///     Where the prediction says that a second wave does not pay, unless ``anyway``, and for tasks that have none.
    /// RecoveryError, TaskError
    ///     For the sums or the sample of another task, sums without reports, a rank or ``sample_error`` that makes no
    ///     sense, and a task with centring or of a second wave.
    #[pyo3(signature = (aggregate, rank=3, *, records=None, sample_error=None, anyway=false))]
    fn refine<'py>(
        slf: &Bound<'py, Self>,
        aggregate: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = parameters::rank)] rank: usize,
        #[pyo3(from_py_with = parameters::records)] records: Option<u64>,
        #[pyo3(from_py_with = parameters::sample_error)] sample_error: Option<f64>,
        #[pyo3(from_py_with = parameters::anyway)] anyway: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        // By its name: the type of the sums is made of this one.
        let native = slf.py().import(intern!(slf.py(), "ldp_pca._native"))?;
        let arguments = (slf, aggregate, rank, records, sample_error, anyway);
        native.call_method1(intern!(slf.py(), "_refined_task"), arguments)
    }

    /// The features of records as a report has them before it is randomized. They are as private as the records.
    ///
    /// Parameters
    /// ----------
    /// records : array of shape (n, columns), table, or sequence of mappings
    ///     As of `Randomizer.randomize`. What is missing is 0.
    /// bounded : bool
    ///     Bound every record, as the task says: to norm 1, or to at most ``radius``.
    /// strict : bool
    ///     As of `Randomizer.randomize`.
    ///
    /// Returns
    /// -------
    /// ndarray of shape (n, dimension)
    ///     In the units of the encoded features, in the order of ``feature_names``.
    ///
    /// Raises
    /// ------
    /// RecordError, SchemaError
    ///     As of `Randomizer.randomize`.
    #[pyo3(signature = (records, *, bounded=false, strict=false))]
    fn encode<'py>(
        &self,
        records: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = parameters::bounded)] bounded: bool,
        #[pyo3(from_py_with = parameters::strict)] strict: bool,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (py, task) = (records.py(), &self.0);
        let records = Records::read(records, task.schema(), strict)?;
        let (rows, scale) = (records.len(), task.bounding().length_scale());
        let mut encoded = Vec::with_capacity(rows * task.dimension());
        records.for_each(py, task, |features| {
            if bounded {
                encoded.extend(task.bound(features)?.coordinates().iter().map(|value| value * scale));
            } else {
                encoded.extend(features);
            }
            Ok(())
        })?;
        PyArray1::from_vec(py, encoded).reshape([rows, task.dimension()])
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __hash__(&self) -> u64 {
        u64::from_le_bytes(self.0.digest().as_bytes().as_chunks().0[0])
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr(intern!(slf.py(), "from_json"))?, (slf.get().to_json(),)))
    }

    fn __repr__(&self) -> String {
        let (dimension, epsilon, mechanism) = (self.dimension(), self.epsilon(), self.mechanism());
        let digest = &self.digest()[..16];
        format!("Task(dimension={dimension}, mechanism='{mechanism}', epsilon={epsilon}, digest='{digest}…')")
    }
}

/// The path as `pathlib` has it, whose errors name the file.
pub(crate) fn open<'py>(path: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    path.py().import(intern!(path.py(), "pathlib"))?.call_method1(intern!(path.py(), "Path"), (path,))
}

/// A document without the byte order mark that some editors write before it.
pub(crate) fn unmarked(document: &str) -> &str {
    document.strip_prefix('\u{feff}').unwrap_or(document)
}

/// A schema from a number of features, from names, or from its JSON.
fn schema(columns: &Bound<'_, PyAny>) -> PyResult<Schema> {
    let unusable =
        || SchemaError::new_err(format!("columns is {columns}: give a number of features, names, or a schema"));
    if columns.is_instance_of::<PyBool>() {
        return Err(unusable());
    }
    if let Ok(dimension) = columns.extract::<usize>() {
        return Schema::numeric(dimension).map_err(raised);
    }
    if let Ok(text) = columns.cast::<PyString>() {
        let text = text.to_cow()?;
        let text = unmarked(&text);
        if !text.trim_start().starts_with('{') {
            return Err(SchemaError::new_err("columns is a text, but not the JSON of a schema: give names in a list"));
        }
        return Schema::from_json(text).map_err(raised);
    }
    let py = columns.py();
    let whole = columns.hasattr(intern!(py, "keys"))?;
    let listed = if whole {
        let none = |_| SchemaError::new_err("the schema has no 'columns': give a mapping with the list of its columns");
        columns.get_item(intern!(py, "columns")).map_err(none)?
    } else {
        columns.clone()
    };
    let list = listed.try_iter().map_err(|_| unusable())?.collect::<PyResult<Vec<_>>>()?;
    if !whole && let Ok(names) = list.iter().map(PyAnyMethods::extract::<String>).collect::<PyResult<Vec<_>>>() {
        let column = |name| Column::new(name, ColumnKind::Numeric { offset: 0.0, scale: 1.0 });
        return Schema::new(names.into_iter().map(column).collect()).map_err(raised);
    }
    // What is neither a name nor a mapping; else a name among mappings.
    let is_mapping = |column: &Bound<'_, PyAny>| column.hasattr(intern!(py, "keys")).unwrap_or(false);
    let is_name = |column: &Bound<'_, PyAny>| column.is_instance_of::<PyString>();
    let odd = list.iter().position(|column| !is_mapping(column) && !is_name(column));
    if let Some(place) = odd.or_else(|| list.iter().position(is_name)) {
        return Err(SchemaError::new_err(format!(
            "column {} is {}: give the names of numeric columns, or the columns of a schema as mappings",
            place + 1,
            type_name(&list[place])
        )));
    }
    let (dict, dumps) = (py.get_type::<PyDict>(), py.import(intern!(py, "json"))?.getattr(intern!(py, "dumps"))?);
    let text = |part: &Bound<'_, PyAny>| -> PyResult<String> { dumps.call1((part,))?.extract() };
    let list = list.iter().map(|column| dict.call1((column,))).collect::<PyResult<Vec<_>>>()?;
    let schema = if whole { dict.call1((columns,))? } else { dict.call0()? };
    schema.set_item("columns", &list)?;
    let read = Schema::from_json(&text(&schema)?);
    // A place in a text that the caller never saw says nothing: the column that is none does. Alone an ignored one
    // would be too few features.
    let other = r#"{"name":"a column beside it","type":"numeric","offset":0,"scale":1}"#;
    for (place, column) in list.iter().enumerate().filter(|_| read.is_err()) {
        let alone = Schema::from_json(&format!(r#"{{"columns":[{},{other}]}}"#, text(column)?));
        if let Err(Problem::Json(problem)) = alone {
            let problem = problem.split(" at line ").next().unwrap_or_default();
            return Err(SchemaError::new_err(format!("column {}: {problem}", place + 1)));
        }
    }
    read.map_err(raised)
}

/// `"unit-norm"`, `"clip:R"`, or the radius R.
fn bounding_of(bounding: &Bound<'_, PyAny>) -> PyResult<Bounding> {
    let clip = |radius| Ok(Bounding::Clip { radius: radius_of(radius)? });
    if let Ok(radius) = bounding.extract::<f64>() {
        return clip(radius);
    }
    let text = bounding.extract::<String>().unwrap_or_default();
    match (text.as_str(), text.strip_prefix("clip:").map(str::parse)) {
        ("unit-norm", _) => Ok(Bounding::UnitNorm),
        (_, Some(Ok(radius))) => clip(radius),
        _ => Err(TaskError::new_err(format!(
            "{} is not a bounding: use 'unit-norm', a radius R, or 'clip:R'",
            bounding.repr()?
        ))),
    }
}

/// The radius of a task: one that cannot be is the task's fault, not a record's.
pub(crate) fn radius_of(radius: f64) -> PyResult<Radius> {
    Radius::new(radius).map_err(|problem| TaskError::new_err(problem.to_string()))
}

/// `True` for the default weight, `False` for none, or the weight.
pub(crate) fn centring_of(centring: &Bound<'_, PyAny>) -> PyResult<Option<Centring>> {
    match centring.extract::<bool>() {
        Ok(wanted) => Ok(wanted.then(Centring::default)),
        Err(_) => {
            let weight = parameters::centring(centring)?;
            Centring::new(weight).map(Some).map_err(|error| raised(ldp_pca::task::TaskError::from(error)))
        }
    }
}

/// A mechanism without its epsilon, named as on the command line. Parameters that it does not have are refused.
pub(crate) fn family(
    mechanism: &str,
    delta: Option<f64>,
    candidates: Option<u32>,
    cap: Option<u32>,
) -> PyResult<MechanismFamily> {
    let families = MechanismFamily::ALL.map(|family| (family.name(), family));
    let usual = named(mechanism, "a mechanism", &families).map_err(TaskError::new_err)?;
    // A parameter that the mechanism does not have is refused before its value is.
    let given = delta.map(Delta::new);
    let usable = |delta: &Result<Delta, _>| delta.as_ref().copied().unwrap_or(Delta::USUAL);
    let family = usual.with(candidates, cap, given.as_ref().map(usable)).map_err(raised)?;
    given.transpose().map_err(raised)?;
    match candidates.filter(|count| !(2..=MAX_CANDIDATES).contains(count)) {
        Some(count) => Err(TaskError::new_err(format!("{count} candidates: use 2 to {MAX_CANDIDATES}"))),
        None => Ok(family),
    }
}
