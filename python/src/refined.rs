//! A second wave of other people, and the public sample that can take the first one's place.

use ldp_pca::covariance::Covariance;
use ldp_pca::error::Error;
use ldp_pca::internal::waves::{PublicSample as Sample, SamplePlan, SecondTask, refined_answer, refinement_of};
use ldp_pca::recovery::Rank;
use ldp_pca::task::Task as Parameters;
use ldp_pca_simulation::SecondMoment;
use pyo3::intern;
use pyo3::prelude::*;
use serde_json::json;

use crate::aggregate::Aggregate;
use crate::error::{PlanError, RecoveryError, raised};
use crate::parameters;
use crate::records::Records;
use crate::recovery::{Answered, answered};
use crate::signals::computed;
use crate::task::Task;

/// Public records in the place of a first wave, such as a survey that was published (docs/guides/two-waves.md). They
/// are bounded as a device bounds its own record, and not randomized: never use records that are not public.
///
/// `Task.refine` makes the task that asks people about their leading directions, and `recover` turns these by what the
/// people reported. Nothing but the second moments is kept.
///
/// Parameters
/// ----------
/// task : Task
///     The task whose people the sample stands for: double-cap without centring.
/// records : array of shape (n, columns), table, or sequence of mappings
///     As of `Randomizer.randomize`. What is missing is 0.
/// strict : bool
///     As of `Randomizer.randomize`.
///
/// Raises
/// ------
/// RecordError, SchemaError
///     As of `Randomizer.randomize`.
/// PlanError, TaskError
///     Without records, and for a task with centring or of a second wave.
#[pyclass(frozen, module = "ldp_pca")]
pub struct PublicSample {
    /// The task whose people the sample stands for.
    #[pyo3(get)]
    task: Py<Task>,
    sample: Sample,
}

#[pymethods]
impl PublicSample {
    #[new]
    #[pyo3(signature = (task, records, *, strict=false))]
    fn new(
        py: Python<'_>,
        task: Py<Task>,
        records: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = parameters::strict)] strict: bool,
    ) -> PyResult<Self> {
        let inner = &task.get().0;
        let records = Records::read(records, inner.schema(), strict)?;
        let mut moment = SecondMoment::of_task(inner);
        records.for_each(py, inner, |features| {
            moment.add(&inner.bound(features)?);
            Ok(())
        })?;
        let records = moment.records();
        if records == 0 {
            return Err(PlanError::new_err("the sample has no records: give at least one"));
        }
        let sample = Sample::new(moment.matrix(), records, inner).map_err(raised)?;
        Ok(Self { task, sample })
    }

    /// The number of public records.
    #[getter]
    fn records(&self) -> u64 {
        self.sample.records()
    }

    /// Predicts what asking people about the sample's leading directions gives. Nobody is asked.
    ///
    /// Parameters
    /// ----------
    /// records : int
    ///     The number of people.
    /// rank : int
    ///     The number of components.
    /// sample_error : float, optional
    ///     As of `Task.refine`.
    ///
    /// Returns
    /// -------
    /// dict
    ///     ``waves``, the prediction, with ``refused`` where the wave does not pay, and ``otherwise``, the same for
    ///     samples with some other errors. The keys are those of ``ldp-pca task refine --json``
    ///     (docs/reference/json.md).
    ///
    /// Raises
    /// ------
    /// PlanError, RecoveryError, TaskError
    ///     As of `Task.refine`.
    #[pyo3(signature = (records, rank=3, *, sample_error=None))]
    fn predict<'py>(
        slf: Py<Self>,
        py: Python<'py>,
        #[pyo3(from_py_with = parameters::records)] records: u64,
        #[pyo3(from_py_with = parameters::rank)] rank: usize,
        #[pyo3(from_py_with = parameters::sample_error)] sample_error: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (SecondTask { waves, .. }, otherwise) = second_task(py, slf, rank, Some(records), sample_error)?;
        let text = json!({ "waves": waves, "otherwise": otherwise }).to_string();
        py.import(intern!(py, "json"))?.call_method1(intern!(py, "loads"), (text,))
    }

    fn __repr__(&self) -> String {
        let (records, digest) = (self.sample.records(), self.task.get().0.digest().to_string());
        format!("PublicSample(records={records}, task='{}…')", &digest[..16])
    }
}

/// What a second wave refines.
#[derive(FromPyObject)]
pub(crate) enum First {
    Sums(Py<Aggregate>),
    Sample(Py<PublicSample>),
}

fn sums_or_sample(value: &Bound<'_, PyAny>) -> PyResult<First> {
    let wanted = "the sums of reports, as of ldp_pca.aggregate(reports, task), or a PublicSample";
    value.extract().map_err(|_| parameters::refused("aggregate", wanted, value, PlanError::new_err))
}

impl First {
    fn task(&self) -> &Parameters {
        match self {
            Self::Sums(aggregate) => aggregate.get().task_of(),
            Self::Sample(sample) => &sample.get().task.get().0,
        }
    }
}

/// The task of a second wave, as `Task.refine` gives it.
#[pyfunction]
pub(crate) fn _refined_task(
    py: Python<'_>,
    task: Py<Task>,
    #[pyo3(from_py_with = sums_or_sample)] first: First,
    rank: usize,
    records: Option<u64>,
    sample_error: Option<f64>,
    anyway: bool,
) -> PyResult<Task> {
    let SecondTask { task, waves } = match first {
        First::Sample(sample) => {
            let (expected, found) = (task.get().0.digest(), sample.get().task.get().0.digest());
            if expected != found {
                let problem = format!("the sample stands for the people of task {found}, and this is task {expected}");
                return Err(RecoveryError::new_err(format!("{problem}: make it with this one")));
            }
            second_task(py, sample, rank, records, sample_error)?.0
        }
        First::Sums(_) if sample_error.is_some() => {
            return Err(PlanError::new_err("sample_error is of a PublicSample, and these are sums: leave it out"));
        }
        First::Sums(aggregate) => {
            let rank = checked(rank, records)?;
            computed(py, move || {
                let sums = aggregate.get().locked().clone();
                SecondTask::of(&sums, &task.get().0, rank, records)
            })?
        }
    };
    match (waves.refused, anyway) {
        (Some(reason), false) => Err(PlanError::new_err(format!("{reason} (anyway=True makes the task all the same)"))),
        _ => Ok(Task(task)),
    }
}

/// The task that asks people about a sample, and the predictions.
fn second_task(
    py: Python<'_>,
    sample: Py<PublicSample>,
    rank: usize,
    records: Option<u64>,
    error: Option<f64>,
) -> PyResult<(SecondTask, Vec<SamplePlan>)> {
    let rank = checked(rank, records)?;
    let records = records
        .ok_or_else(|| PlanError::new_err("a sample needs records, the number of people that are asked about it"))?;
    computed(py, move || {
        let PublicSample { task, sample } = sample.get();
        let task = &task.get().0;
        // Refused for what it is: the prediction would have other words.
        SecondTask::placeholder(task, rank)?;
        sample.second_task(task, rank, records, error)
    })
}

fn checked(rank: usize, records: Option<u64>) -> PyResult<Rank> {
    parameters::at_least_one("records", records)?;
    Rank::new(rank).map_err(raised)
}

/// Recovers the components of two waves, or of a sample and a wave.
#[pyfunction]
pub(crate) fn _recover_refined(
    py: Python<'_>,
    #[pyo3(from_py_with = sums_or_sample)] first: First,
    #[pyo3(from_py_with = parameters::rank)] rank: usize,
    #[pyo3(from_py_with = parameters::refined)] refined: Py<Aggregate>,
) -> PyResult<Answered<'_>> {
    let rank = Rank::new(rank).map_err(raised)?;
    refinement_of(first.task(), rank, refined.get().task_of()).map_err(raised)?;
    let seeded = refined.get().seeded() || matches!(&first, First::Sums(aggregate) if aggregate.get().seeded());
    let (answer, facts) = computed(py, move || -> Result<_, Error> {
        let (task, second) = (first.task(), refined.get().task_of());
        let others = refined.get().locked().clone();
        Ok(match &first {
            First::Sums(aggregate) => {
                let covariance = Covariance::estimate(&aggregate.get().locked(), task)?;
                refined_answer((&covariance, task), (&others, second), rank)?
            }
            First::Sample(sample) => sample.get().sample.answer(task, (&others, second), rank)?,
        })
    })?;
    answered(py, answer, Some(facts), seeded)
}
