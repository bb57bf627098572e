//! The answer with the components of a state.

use std::ops::ControlFlow;
use std::time::Instant;

use axum::body::Bytes;
use serde::Serialize;

use crate::problem::{Kind, Problem};
use crate::store::TaskReports;
use ldp_pca::covariance::{Covariance, Mean};
use ldp_pca::recovery::{
    self, AnswerError, Baselines, Decomposition, Method, Part, PathPoint, Question, Rank, Source, Step, Stop,
    Unfinished,
};
use ldp_pca::task::Task;

/// The most components whose error is predicted: the prediction takes longer than a decomposition for many.
const PREDICTED: usize = 32;

/// An answer, ready to be sent.
pub(crate) struct Answer {
    /// The number of its reports.
    pub(crate) records: u64,
    /// The number of components, and their predicted error as a share of a random subspace's.
    pub(super) predicted_error: Option<(usize, f64)>,
    /// The document.
    pub(crate) json: Bytes,
}

#[derive(Serialize)]
struct Document<'a> {
    task: String,
    rank: usize,
    /// `pca` or `fantope`.
    method: Method,
    /// `rank` numbers, descending.
    eigenvalues: &'a [f64],
    /// `rank` arrays of d numbers.
    components: &'a [Vec<f64>],
    feature_names: &'a [String],
    records: u64,
    /// Standard deviation that the mechanism gives to one off-diagonal entry of the estimate.
    noise_deviation: f64,
    /// The variance that noise alone would give to the first component.
    noise_edge: f64,
    /// The mean, for a task with centring: then the components are those of the covariance about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean: Option<&'a Mean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted: Option<Predicted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sparse: Option<Sparse<'a>>,
    /// The solution for every penalty of a sequence, largest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a [PathPoint]>,
}

/// The error to expect of the components as a whole.
#[derive(Serialize)]
struct Predicted {
    sin_theta_squared: f64,
    /// The error of a random subspace.
    uninformed: f64,
}

/// The details of a sparse solution.
#[derive(Serialize)]
struct Sparse<'a> {
    penalty: f64,
    penalty_choice: &'static str,
    status: &'static str,
    relative_gap: f64,
    /// The features that the components use.
    support: &'a [String],
    /// Simpler methods on the same estimate.
    #[serde(flatten)]
    baselines: Option<&'a Baselines>,
}

impl Answer {
    /// The leading components of a state; `rank` is at most the dimension.
    pub(super) fn leading(state: &Decomposition, task: &Task, rank: Rank) -> Result<Self, Problem> {
        let predicted = rank.value() <= PREDICTED && rank.value() < task.dimension();
        Self::new(&state.leading(rank, predicted).map_err(|error| problem(&error))?, task)
    }

    /// The answer to the question; sparse components are the best ones found by the deadline.
    pub(super) fn sparse(reports: &dyn TaskReports, question: &Question, deadline: Instant) -> Result<Self, Problem> {
        let found = with_estimate(reports, |source| {
            recovery::answer(question, source, &mut |step| {
                // The simpler methods belong to an answer, whatever the time.
                if Instant::now() < deadline || *step == Step::Beginning(Part::Baselines) {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(Stop::OutOfTime)
                }
            })
        })?;
        match found.unfinished.iter().find(|unfinished| unfinished.part == Part::Path) {
            Some(path) => Err(late(path)),
            None => Self::new(&found, reports.task()),
        }
    }

    fn new(found: &recovery::Answer, task: &Task) -> Result<Self, Problem> {
        let predicted = found.predicted.as_ref();
        let document = Document {
            task: task.digest().to_string(),
            rank: found.rank,
            method: found.method,
            eigenvalues: &found.eigenvalues,
            components: &found.components,
            feature_names: &found.feature_names,
            records: found.records,
            noise_deviation: found.noise_deviation,
            noise_edge: found.noise_edge,
            mean: found.mean.as_ref().map(|mean| &mean.estimate),
            predicted: predicted.map(|predicted| Predicted {
                sin_theta_squared: predicted.sin_theta_squared,
                uninformed: predicted.uninformed,
            }),
            sparse: found.sparse.as_ref().map(|sparse| Sparse {
                penalty: sparse.penalty,
                penalty_choice: sparse.penalty_choice,
                status: sparse.status.name(),
                relative_gap: sparse.relative_gap,
                support: &sparse.support,
                baselines: sparse.baselines.as_ref(),
            }),
            path: found.path.as_deref(),
        };
        Ok(Self {
            records: found.records,
            predicted_error: predicted.map(|found| (document.rank, found.sin_theta_squared / found.uninformed)),
            json: serde_json::to_vec(&document).map_err(|error| Problem::internal(error.to_string()))?.into(),
        })
    }
}

/// All components of the present state, which has one report or more.
pub(super) fn decompose(reports: &dyn TaskReports) -> Result<Decomposition, Problem> {
    with_estimate(reports, Decomposition::new)
}

fn with_estimate<T>(
    reports: &dyn TaskReports,
    work: impl FnOnce(Source<'_>) -> Result<T, AnswerError>,
) -> Result<T, Problem> {
    let task = reports.task();
    let aggregate = reports.aggregate().map_err(|error| Problem::internal(error.to_string()))?;
    let covariance = Covariance::estimate(&aggregate, task).map_err(|error| Problem::internal(error.to_string()))?;
    let source = Source::Reports { aggregate: &aggregate, covariance: &covariance, task };
    work(source).map_err(|error| problem(&error))
}

fn problem(error: &AnswerError) -> Problem {
    Problem::internal(error.to_string())
}

/// A path is whole or none.
fn late(path: &Unfinished) -> Problem {
    Kind::RecoveryTimeout.because(format!(
        "{} of {} penalties of the path were solved in time: ask for a shorter path, or for none",
        path.done,
        path.of.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_without_time_is_no_failure_of_the_server() {
        let refused = late(&Unfinished { part: Part::Path, done: 3, of: Some(20) });
        assert!(refused.document()["type"].as_str().unwrap().ends_with(":recovery-timeout"));
        assert!(refused.detail.starts_with("3 of 20 penalties"), "{refused:?}");
        assert_eq!(problem(&AnswerError::NoLaw).document()["status"], 500);
    }
}
