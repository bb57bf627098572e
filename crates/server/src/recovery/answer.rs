//! The answer with the components of a state.

use std::ops::ControlFlow;
use std::time::Instant;

use axum::body::Bytes;
use serde_json::{Map, Value};

use crate::problem::{Problem, Reason};
use crate::store::TaskReports;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::covariance::Covariance;
use ldp_pca::internal::recovery::Decomposition;
use ldp_pca::internal::waves::{RefineError, RefinedFacts, refined_answer};
use ldp_pca::recovery::{self, AnswerError, Method, Part, Question, Rank, Reports, Step, Stop, Unfinished};
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

/// The members of the library's answer that the interface has: of what was asked, found, and of how far it can be
/// trusted.
const MEMBERS: [&[&str]; 3] = [
    &["method", "records", "rank", "feature_names"],
    &["eigenvalues", "variances", "components", "mean", "sparse", "soft_threshold", "path"],
    &["noise_deviation", "noise_edge", "held_out", "predicted"],
];

/// Those of the members that have more than the interface has.
const OF_PARTS: [(&str, &[&str]); 3] = [
    ("mean", &["values", "noise_deviation"]),
    ("sparse", &["penalty", "penalty_choice", "status", "relative_gap", "support", "soft_threshold", "pca"]),
    ("predicted", &["sin_theta_squared", "uninformed"]),
];

impl Answer {
    /// The leading components of a state; `rank` is at most the dimension.
    pub(super) fn leading(state: &Decomposition, task: &Task, rank: Rank) -> Result<Self, Problem> {
        Self::new(&state.leading(rank, is_predicted(rank, task)).map_err(Problem::internal)?, task, None)
    }

    /// The components of a first wave and of the second one that refines it to this rank. The first is closed, so both
    /// sums are those of the moment at which the second is read, but for reports of the first that are erased then.
    pub(super) fn of_both(first: &dyn TaskReports, second: &dyn TaskReports, rank: Rank) -> Result<Self, Problem> {
        let (covariance, task) = (estimate(first)?.1, first.task());
        let sums = second.aggregate().map_err(Problem::internal)?;
        let both = refined_answer((&covariance, task), (&sums, second.task()), rank);
        let (answer, facts) = both.map_err(|error| match error {
            RefineError::Directions(_) => Reason::NotRefined.because(
                "the second wave refines other components than those of the first wave's reports that are here: some \
                 were erased since, or are still to be read from the database; ask later, or without refined",
            ),
            other => Problem::internal(other),
        })?;
        Self::new(&answer, task, Some(&facts))
    }

    /// The answer to the question; sparse components are the best ones found by the deadline.
    pub(super) fn to(question: &Question, reports: &dyn TaskReports, deadline: Instant) -> Result<Self, Problem> {
        let predict = question.penalty.is_none() && is_predicted(question.rank, reports.task());
        let question = Question { predict, ..question.clone() };
        let answer = with_estimate(reports, |reports, covariance| {
            recovery::answer(&question, reports, covariance, &mut |step| {
                // The simpler methods belong to an answer, whatever the time.
                if Instant::now() < deadline || *step == Step::Beginning(Part::Baselines) {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(Stop::OutOfTime)
                }
            })
        })?;
        match answer.missing.unfinished.iter().find_map(late) {
            Some(late) => Err(late),
            None => Self::new(&answer, reports.task(), None),
        }
    }

    fn new(found: &recovery::Answer, task: &Task, refined: Option<&RefinedFacts>) -> Result<Self, Problem> {
        let answer = serde_json::to_value(found).and_then(serde_json::from_value);
        let mut answer: Map<String, Value> = answer.map_err(Problem::internal)?;
        answer.retain(|name, _| MEMBERS.iter().any(|members| members.contains(&name.as_str())));
        for (part, members) in OF_PARTS {
            if let Some(Value::Object(part)) = answer.get_mut(part) {
                part.retain(|name, _| members.contains(&name.as_str()));
            }
        }
        // It is the error of plain components.
        let predicted = found.trust.predicted.as_ref().filter(|_| found.asked.method == Method::Pca);
        if predicted.is_none() {
            answer.remove("predicted");
        }
        answer.insert("task".into(), task.digest().to_string().into());
        if let Some(refined) = refined {
            answer.insert("refined".into(), serde_json::to_value(refined).map_err(Problem::internal)?);
        }
        Ok(Self {
            records: found.asked.records,
            predicted_error: predicted.map(|error| (found.asked.rank, error.sin_theta_squared / error.uninformed)),
            json: serde_json::to_vec(&answer).map_err(Problem::internal)?.into(),
        })
    }
}

/// Works with the present state, which has one report or more.
pub(super) fn with_estimate<T>(
    reports: &dyn TaskReports,
    work: impl FnOnce(Reports<'_>, &Covariance) -> Result<T, AnswerError>,
) -> Result<T, Problem> {
    let (aggregate, covariance) = estimate(reports)?;
    work(Reports::one(&aggregate, reports.task()), &covariance).map_err(Problem::internal)
}

/// The present sums, and the estimate of them.
fn estimate(reports: &dyn TaskReports) -> Result<(Aggregate, Covariance), Problem> {
    let aggregate = reports.aggregate().map_err(Problem::internal)?;
    let covariance = Covariance::estimate(&aggregate, reports.task()).map_err(Problem::internal)?;
    Ok((aggregate, covariance))
}

fn is_predicted(rank: Rank, task: &Task) -> bool {
    rank.value() <= PREDICTED && rank.value() < task.dimension()
}

/// Refuses what time did not suffice for, where a part of it is no answer.
fn late(unfinished: &Unfinished) -> Option<Problem> {
    let (done, of) = (unfinished.done, unfinished.of.unwrap_or_default());
    let detail = match unfinished.part {
        Part::Path => {
            format!("{done} of {of} penalties of the path were solved in time: ask for a shorter path, or for none")
        }
        Part::HeldOut => format!(
            "{done} of {of} problems on reports held out were solved in time: ask without method and held_out, or \
             recover components from the aggregate yourself"
        ),
        _ => return None,
    };
    Some(Reason::RecoveryTimeout.because(detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_time_does_not_suffice_for_is_no_failure_of_the_server() {
        for (part, begin) in [(Part::Path, "3 of 20 penalties"), (Part::HeldOut, "3 of 20 problems")] {
            let refused = late(&Unfinished { part, done: 3, of: Some(20) }).unwrap();
            assert!(refused.document()["type"].as_str().unwrap().ends_with(":recovery-timeout"));
            assert!(refused.detail.starts_with(begin), "{refused:?}");
        }
        // The best solution so far is an answer.
        assert!(late(&Unfinished { part: Part::Solution, done: 3, of: Some(20) }).is_none());
        assert_eq!(Problem::internal(AnswerError::EmptyReference).document()["status"], 500);
    }
}
