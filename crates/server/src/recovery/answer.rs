//! The answer with the components of a state.

use std::mem;
use std::ops::ControlFlow;
use std::time::Instant;

use axum::body::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::problem::{Problem, Reason};
use crate::store::TaskReports;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::covariance::Covariance;
use ldp_pca::internal::recovery::{Denoised, Denoising, answer_by};
use ldp_pca::internal::waves::{RefineError, RefinedFacts, refined_answer};
use ldp_pca::recovery::{self, Method, Part, Question, Rank, RecoveryError, Reports, Step, Stop, Unfinished};
use ldp_pca::task::Task;

/// The most components whose error is predicted: the prediction takes longer than a decomposition for many.
const PREDICTED: usize = 32;

/// An answer, ready to be sent.
pub(crate) struct Answer {
    /// The number of components, and their predicted error as a share of a random subspace's.
    pub(super) predicted_error: Option<(usize, f64)>,
    /// The document.
    pub(crate) json: Bytes,
    /// What it is made of.
    pub(crate) found: recovery::Answer,
    /// When it was ready.
    pub(super) made: Instant,
}

/// The members of the library's answer that the interface has, beside the components: those in openapi.json.
const MEMBERS: &str = "rank method records feature_names eigenvalues variances mean sparse soft_threshold path \
                       noise_deviation noise_edge predicted held_out";

#[derive(Serialize)]
struct Document<'a> {
    task: String,
    /// `rank` arrays of d numbers.
    components: &'a [Vec<f64>],
    #[serde(flatten)]
    members: Map<String, Value>,
    /// What two waves add, for components of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    refined: Option<&'a RefinedFacts>,
}

impl Answer {
    /// The components of a first wave and of the second one that refines it to this rank. The first is closed, so both
    /// sums are those of the moment at which the second is read, but for reports of the first that are erased then.
    pub(super) fn of_both(first: &dyn TaskReports, second: &dyn TaskReports, rank: Rank) -> Result<Self, Problem> {
        let (covariance, task) = (estimate(first)?.1, first.task());
        let both = refined_answer((&covariance, task), (&second.aggregate(), second.task()), rank);
        let (answer, facts) = both.map_err(|error| match error {
            RefineError::Directions(_) => Reason::NotRefined.because(
                "the second wave refines other components than those of the first wave's reports that are here: some \
                 were erased since, or are still to be read from the database; ask later, or without refined",
            ),
            other => Problem::internal(other),
        })?;
        Self::new(answer, task, Some(&facts))
    }

    /// The answer to the question; sparse components are the best ones found by the deadline. Where a test finds no
    /// component that stands out, it has the first.
    pub(super) fn to(wanted: &Question, reports: &dyn TaskReports, deadline: Instant) -> Result<Self, Problem> {
        let (aggregate, covariance) = estimate(reports)?;
        let (sums, rank) = (Reports::one(&aggregate, reports.task()), wanted.rank.value());
        let predict = wanted.penalty.is_none() && rank <= PREDICTED && rank < reports.task().dimension();
        let mut watch = |step: &Step| {
            // The simpler methods belong to an answer, whatever the time.
            if Instant::now() < deadline || *step == Step::Beginning(Part::Baselines) {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(Stop::OutOfTime)
            }
        };
        let question = Question { predict, test_rank: true, ..wanted.clone() };
        let answer = answer_by(&question, sums, &covariance, &mut watch, |test| Ok(test.rank().unwrap_or(wanted.rank)));
        let mut answer = answer.map_err(Problem::internal)?;
        // With a number as the rank it is an answer without the test, too.
        answer.missing.unfinished.retain(|unfinished| wanted.find_rank || unfinished.part != Part::Rank);
        match answer.missing.unfinished.iter().find_map(late) {
            Some(late) => Err(late),
            None => Self::new(answer, reports.task(), None),
        }
    }

    fn new(mut answer: recovery::Answer, task: &Task, refined: Option<&RefinedFacts>) -> Result<Self, Problem> {
        // It is the error of plain components. A test may have found many.
        let is_told = answer.asked.method == Method::Pca && answer.asked.rank <= PREDICTED;
        let predicted = answer.trust.predicted.as_ref().filter(|_| is_told);
        let predicted_error = predicted.map(|found| (answer.asked.rank, found.sin_theta_squared / found.uninformed));
        // Many components are large, so they are not copied.
        let components = mem::take(&mut answer.found.components);
        let members = serde_json::to_value(&answer).and_then(serde_json::from_value);
        let mut members: Map<String, Value> = members.map_err(Problem::internal)?;
        let is_here = |name: &str| MEMBERS.split(' ').any(|member| member == name);
        members.retain(|name, _| is_here(name) && (name != "predicted" || predicted_error.is_some()));
        let document = Document { task: task.digest().to_string(), components: &components, members, refined };
        let json = serde_json::to_vec(&document).map_err(Problem::internal)?.into();
        answer.found.components = components;
        Ok(Self { predicted_error, json, found: answer, made: Instant::now() })
    }
}

/// The present estimate, shrunk towards the truth by the known noise; about an estimated mean, where the law is not
/// known, only without negative eigenvalues.
pub(crate) fn denoised(reports: &dyn TaskReports) -> Result<Denoised, Problem> {
    let covariance = estimate(reports)?.1;
    let denoised = match Denoising::Frobenius.apply(&covariance) {
        Err(RecoveryError::NoLaw) => Denoising::Psd.apply(&covariance),
        denoised => denoised,
    };
    denoised.map_err(Problem::internal)
}

/// The present sums, of one report or more, and the estimate of them.
fn estimate(reports: &dyn TaskReports) -> Result<(Aggregate, Covariance), Problem> {
    let aggregate = reports.aggregate();
    let covariance = Covariance::estimate(&aggregate, reports.task()).map_err(Problem::internal)?;
    Ok((aggregate, covariance))
}

/// Refuses what time did not suffice for, where a part of it is no answer.
fn late(unfinished: &Unfinished) -> Option<Problem> {
    let (done, of) = (unfinished.done, unfinished.of.unwrap_or_default());
    let detail = match unfinished.part {
        Part::Path => {
            format!("{done} of {of} penalties of the path were solved in time: ask for a shorter path, or for none")
        }
        // Confirming the components that it found is no part of the document.
        Part::Rank if unfinished.of.is_none() => {
            format!("{done} components stood out when time was up for the test of more: ask with a number as the rank")
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
    use ldp_pca::recovery::AnswerError;

    use super::*;

    #[test]
    fn what_time_does_not_suffice_for_is_no_failure_of_the_server() {
        for (part, of, begin) in [
            (Part::Path, Some(20), "3 of 20 penalties"),
            (Part::HeldOut, Some(20), "3 of 20 problems"),
            (Part::Rank, None, "3 components"),
        ] {
            let refused = late(&Unfinished { part, done: 3, of }).unwrap();
            assert!(refused.document()["type"].as_str().unwrap().ends_with(":recovery-timeout"));
            assert!(refused.detail.starts_with(begin), "{refused:?}");
        }
        // The best solution so far is an answer, and so is a rank that no reports held out confirm.
        for part in [Part::Solution, Part::Rank] {
            assert!(late(&Unfinished { part, done: 3, of: Some(20) }).is_none());
        }
        assert_eq!(Problem::internal(AnswerError::EmptyReference).document()["status"], 500);
    }
}
