//! Summaries of plain records, and sums of reports.

use nalgebra::DVector;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use ldp_pca::aggregate;
use ldp_pca::covariance::Covariance;
use ldp_pca::js::Task;
use ldp_pca::report::{Report, report_bytes};
use ldp_pca::task;

use crate::crossing::thrown;

/// The encoding of a record (see the client's `randomize`): d features, d bounded coordinates and the d × d
/// contribution, one after the other. All of it is as private as the record.
#[wasm_bindgen]
pub fn encode(task: &Task, record: &[u8]) -> Result<Vec<f64>, JsValue> {
    let (_, mut parts) = task.read(record)?;
    let bounded = task.inner().bound(parts.clone()).map_err(thrown)?;
    parts.extend_from_slice(bounded.coordinates());
    let column = DVector::from_column_slice(bounded.coordinates());
    let contribution = &column * column.transpose() * bounded.bounding().covariance_scale();
    parts.extend_from_slice(contribution.as_slice());
    Ok(parts)
}

/// The summed reports of one task.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Aggregate {
    pub(crate) task: task::Task,
    pub(crate) sums: aggregate::Aggregate,
}

#[wasm_bindgen]
impl Aggregate {
    /// No reports yet.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(task: &Task) -> Self {
        Self { task: task.inner().clone(), sums: aggregate::Aggregate::empty(task.inner()) }
    }

    /// Reads the state of an aggregate of `task`.
    #[wasm_bindgen(js_name = fromBytes)]
    pub fn from_bytes(task: &Task, bytes: &[u8]) -> Result<Aggregate, JsValue> {
        let sums = aggregate::Aggregate::from_bytes(bytes, task.inner()).map_err(thrown)?;
        Ok(Self { task: task.inner().clone(), sums })
    }

    /// Adds reports, one after the other without anything between them: all of them or, after an error, none.
    pub fn add(&mut self, reports: &[u8]) -> Result<(), JsValue> {
        let parts = if reports.is_empty() { vec![reports] } else { reports.chunks(report_bytes(&self.task)).collect() };
        let reports: Vec<Report> = parts
            .into_iter()
            .map(|bytes| Report::from_bytes(bytes, &self.task))
            .collect::<Result<_, _>>()
            .map_err(thrown)?;
        self.sums.accumulate(&self.task, &reports).map_err(thrown)
    }

    /// Adds the sums of another aggregate of the same task.
    pub fn merge(&mut self, other: &Aggregate) -> Result<(), JsValue> {
        self.sums.merge(&other.sums).map_err(thrown)
    }

    /// The number of reports.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn records(&self) -> f64 {
        self.sums.records() as f64
    }

    /// The debiased estimate of the mean of `x x^T`: d × d numbers.
    #[wasm_bindgen(js_name = secondMoment)]
    pub fn second_moment(&self) -> Result<Vec<f64>, JsValue> {
        Ok(self.covariance()?.second_moment().as_slice().to_vec())
    }

    /// The bytes of the state.
    #[wasm_bindgen(js_name = toBytes)]
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.sums.to_bytes()
    }

    pub(crate) fn covariance(&self) -> Result<Covariance, JsValue> {
        Covariance::estimate(&self.sums, &self.task).map_err(thrown)
    }
}
