//! What follows on the aggregator's side, for demos and notebooks: records looked at before they are hidden, sums of
//! reports, recovery, prediction and simulation.
//!
//! Options and results that are no long lists of numbers cross the boundary as JSON. Besides the codes of the client:
//!
//! | code | what was wrong |
//! |---|---|
//! | `aggregate` | bytes that are no aggregate of the task, or one that is empty or of another task |
//! | `recovery` | a rank, a penalty, a matrix or a spectrum that makes no sense |
//! | `simulation` | a population that there is not |
//! | `method` | see the comparison of methods, which is in a build of its own too |
//! | `cancelled` | the progress callback asked to stop before there was a result |

mod mechanism;
mod predict;
mod recover;
mod simulate;

use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::client::Task;
use super::{Coded, coded, failure, thrown};
use crate::aggregate::{self, AggregateError};
use crate::covariance::{Covariance, CovarianceError};
use crate::mechanism::MechanismError;
use crate::noise::NoiseError;
use crate::prediction::PredictionError;
use crate::recovery::PenaltyError;
use crate::report::{Report, ReportError, report_bytes};

pub use recover::Recovery;
pub use simulate::{Collection, Compared};

coded! {
    AggregateError => "aggregate",
    CovarianceError => "aggregate",
    MechanismError => "argument",
    NoiseError => "recovery",
    PredictionError => "recovery",
    ReportError => "report",
}

impl Coded for PenaltyError {
    fn code(&self) -> &'static str {
        match self {
            Self::Cancelled { .. } => "cancelled",
            _ => "recovery",
        }
    }
}

/// Options as JSON. Unknown ones are errors.
fn options<T: DeserializeOwned>(json: &str) -> Result<T, JsValue> {
    serde_json::from_str(json).map_err(|error| failure("argument", &format!("the options are not usable: {error}")))
}

#[wasm_bindgen]
impl Task {
    /// What the task makes of a record (see [`randomize`](Self::randomize)): d features, d bounded coordinates and the
    /// d × d contribution, one after the other. All of it is as private as the record.
    pub fn encode(&self, texts: Option<Vec<u8>>, numbers: &[f64]) -> Result<Vec<f64>, JsValue> {
        let mut parts = self.features(texts.as_deref(), numbers)?;
        let bounded = self.task.bound(parts.clone()).map_err(thrown)?;
        parts.extend_from_slice(bounded.coordinates());
        parts.extend_from_slice(bounded.contribution().as_slice());
        Ok(parts)
    }

    /// What the aggregator reads out of this one report: d × d numbers.
    #[wasm_bindgen(js_name = debiasedContribution)]
    pub fn debiased_contribution(&self, report: &[u8]) -> Result<Vec<f64>, JsValue> {
        let report = Report::from_bytes(report, &self.task).map_err(thrown)?;
        Ok(Covariance::of_report(&report, &self.task).map_err(thrown)?.second_moment().as_slice().to_vec())
    }
}

/// The summed reports of one task.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Aggregate {
    task: crate::task::Task,
    sums: aggregate::Aggregate,
}

#[wasm_bindgen]
impl Aggregate {
    /// No reports yet.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(task: &Task) -> Self {
        Self { task: task.task.clone(), sums: aggregate::Aggregate::empty(&task.task) }
    }

    /// Reads the state of an aggregate of `task`.
    #[wasm_bindgen(js_name = fromBytes)]
    pub fn from_bytes(task: &Task, bytes: &[u8]) -> Result<Aggregate, JsValue> {
        let sums = aggregate::Aggregate::from_bytes(bytes, &task.task).map_err(thrown)?;
        Ok(Self { task: task.task.clone(), sums })
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

    fn covariance(&self) -> Result<Covariance, JsValue> {
        Covariance::estimate(&self.sums, &self.task).map_err(thrown)
    }
}
