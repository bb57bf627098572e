//! The components of a state, as they are answered.

use std::ops::ControlFlow;
use std::time::Instant;

use axum::body::Bytes;
use serde::Serialize;

use super::wanted::WantedPenalty;
use crate::store::TaskReports;
use ldp_pca::covariance::{Covariance, Mean};
use ldp_pca::noise::NoiseLaw;
use ldp_pca::prediction::{self, Spectrum};
use ldp_pca::recovery::{
    Components, DEFAULT_PENALTY_FACTOR, FantopeProblem, FantopeSolver, Rank, SolverSettings, SolverStatus,
    default_penalty, principal_components,
};
use ldp_pca::task::Task;

/// The most components whose error is predicted: the prediction takes longer than a decomposition for many.
const PREDICTED: usize = 32;

/// An answer, ready to be sent.
pub(crate) struct Answer {
    records: u64,
    predicted_error: Option<(usize, f64)>,
    json: Bytes,
}

/// All components of a state; those of a rank are its first ones.
pub(super) struct Decomposition {
    summary: Summary,
    components: Components,
    /// None with centring.
    law: Option<(Spectrum, NoiseLaw)>,
}

/// What is told with every answer.
#[derive(Clone, Serialize)]
struct Summary {
    records: u64,
    /// Standard deviation that the mechanism gives to one off-diagonal entry of the estimate.
    noise_deviation: f64,
    /// The variance that noise alone would give to the first component.
    noise_edge: f64,
    /// The mean, of a task with centring: then the components are those of the covariance about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean: Option<Mean>,
}

#[derive(Serialize)]
struct Document<'a> {
    task: String,
    rank: usize,
    /// `pca` or `fantope`.
    method: &'static str,
    /// `rank` numbers, descending.
    eigenvalues: Vec<f64>,
    /// `rank` arrays of d numbers.
    components: Vec<Vec<f64>>,
    feature_names: Vec<String>,
    #[serde(flatten)]
    summary: &'a Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted: Option<Predicted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sparse: Option<Sparse>,
}

/// The error to expect of the components as a whole.
#[derive(Serialize)]
struct Predicted {
    sin_theta_squared: f64,
    /// What a random subspace has.
    uninformed: f64,
}

/// What there is to say of a sparse solution.
#[derive(Serialize)]
struct Sparse {
    penalty: f64,
    penalty_choice: &'static str,
    status: &'static str,
    relative_gap: f64,
    /// The features that the components are made of.
    support: Vec<String>,
}

impl Answer {
    /// The number of reports that it is of.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// The number of components, and their predicted error as a share of what a random subspace has.
    pub(crate) fn predicted_error(&self) -> Option<(usize, f64)> {
        self.predicted_error
    }

    /// The document.
    pub(crate) fn json(&self) -> &Bytes {
        &self.json
    }

    /// The leading components of a state; `rank` is at most the dimension.
    pub(super) fn leading(state: &Decomposition, task: &Task, rank: Rank) -> Result<Self, String> {
        let predicted = match &state.law {
            Some((spectrum, law)) if rank.value() <= PREDICTED && rank.value() < task.dimension() => {
                let predicted = prediction::predict(spectrum, rank, law).map_err(|error| error.to_string())?;
                let prediction::Prediction { sin_theta_squared, uninformed, .. } = predicted;
                Some(Predicted { sin_theta_squared, uninformed })
            }
            _ => None,
        };
        let Components { vectors, values, .. } = &state.components;
        let rank = rank.value().min(values.len());
        Self::new(&Document {
            task: task.digest().to_string(),
            rank,
            method: "pca",
            eigenvalues: values.iter().take(rank).copied().collect(),
            components: vectors.column_iter().take(rank).map(|column| column.iter().copied().collect()).collect(),
            feature_names: task.schema().feature_names(),
            summary: &state.summary,
            predicted,
            sparse: None,
        })
    }

    /// Sparse components, as good as they are at the deadline.
    pub(super) fn sparse(
        reports: &dyn TaskReports,
        rank: Rank,
        penalty: WantedPenalty,
        deadline: Instant,
    ) -> Result<Self, String> {
        let task = reports.task();
        let covariance = estimate(reports)?;
        let failed = |error: ldp_pca::recovery::RecoveryError| error.to_string();
        let (penalty, penalty_choice) = match penalty {
            WantedPenalty::Value(penalty) => (penalty, "value"),
            WantedPenalty::Auto => {
                let deviation = covariance.noise_deviation();
                (default_penalty(deviation, task.dimension(), DEFAULT_PENALTY_FACTOR).map_err(failed)?, "auto")
            }
        };
        let problem = FantopeProblem::new(covariance.matrix(), rank, penalty).map_err(failed)?;
        let solver = FantopeSolver::new(SolverSettings::default()).map_err(failed)?;
        let in_time =
            |_: &_| if Instant::now() < deadline { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        let solution = solver.solve(&problem, None, &mut { in_time }).map_err(failed)?;
        let names = task.schema().feature_names();
        Self::new(&Document {
            task: task.digest().to_string(),
            rank: solution.components.ncols(),
            method: "fantope",
            eigenvalues: solution.variances.iter().copied().collect(),
            components: solution.components.column_iter().map(|column| column.iter().copied().collect()).collect(),
            summary: &Summary::of(&covariance),
            predicted: None,
            sparse: Some(Sparse {
                penalty: penalty.value(),
                penalty_choice,
                status: match solution.status {
                    SolverStatus::Optimal => "optimal",
                    SolverStatus::Stalled => "stalled",
                    // Out of iterations or of time.
                    _ => "budget-exhausted",
                },
                relative_gap: solution.relative_gap,
                support: solution.support.iter().map(|&row| names[row].clone()).collect(),
            }),
            feature_names: names,
        })
    }

    fn new(document: &Document<'_>) -> Result<Self, String> {
        let json = serde_json::to_vec(document).map_err(|error| error.to_string())?;
        let share = |predicted: &Predicted| (document.rank, predicted.sin_theta_squared / predicted.uninformed);
        Ok(Self {
            records: document.summary.records,
            predicted_error: document.predicted.as_ref().map(share),
            json: json.into(),
        })
    }
}

impl Decomposition {
    /// Of the present state, which has one report or more.
    pub(super) fn compute(reports: &dyn TaskReports) -> Result<Self, String> {
        let covariance = estimate(reports)?;
        let all = Rank::new(reports.task().dimension()).map_err(|error| error.to_string())?;
        let components = principal_components(covariance.matrix(), all).map_err(|error| error.to_string())?;
        let law = match covariance.noise_law() {
            Some(law) => Some((Spectrum::of_estimate(&covariance).map_err(|error| error.to_string())?, law)),
            None => None,
        };
        Ok(Self { summary: Summary::of(&covariance), components, law })
    }

    pub(super) fn records(&self) -> u64 {
        self.summary.records
    }
}

impl Summary {
    fn of(covariance: &Covariance) -> Self {
        Self {
            records: covariance.records(),
            noise_deviation: covariance.noise_deviation(),
            noise_edge: covariance.noise_edge(),
            mean: covariance.mean().cloned(),
        }
    }
}

fn estimate(reports: &dyn TaskReports) -> Result<Covariance, String> {
    let aggregate = reports.aggregate().map_err(|error| error.to_string())?;
    Covariance::estimate(&aggregate, reports.task()).map_err(|error| error.to_string())
}
