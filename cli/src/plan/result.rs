//! What a plan says, for programs and for people.

use std::path::PathBuf;

use ldp_pca::mechanism::{HostilePull, Pull};
use ldp_pca::prediction::{Plan, Planner, Prediction, Published, Question, ShuffledPlan};
use ldp_pca::privacy::{Delta, Epsilon, Guarantee};
use serde::Serialize;

use crate::hostile::{hostile_text, per_report};
use crate::output::{grouped, wrote};

/// A number that was asked for and that nothing finite answers is `null`; one not asked for is left out.
#[derive(Serialize)]
pub(super) struct PlanResult {
    dimension: usize,
    rank: usize,
    /// The eigenvalues above the bulk, and every other one.
    signals: Vec<f64>,
    bulk: f64,
    epsilon: Epsilon,
    guarantee: Guarantee,
    /// What a random subspace has.
    uninformed: f64,
    threshold_records: Option<u64>,
    pub(super) threshold_records_per_component: Vec<Option<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) predicted: Option<PredictedResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) records_for_target: Option<Option<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epsilon_for_target: Option<Option<Epsilon>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shuffled: Option<ShuffledResult>,
    /// What one hostile report moves an eigenvalue of the covariance estimate by at most, times the number of reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pull: Option<Pull>,
    /// The same for a number of reports, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    hostile: Option<HostilePull>,
    /// What the literature states: beside the prediction, never part of it.
    bounds: Vec<BoundResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) plot: Option<PathBuf>,
}

#[derive(Serialize)]
pub(super) struct PredictedResult {
    pub(super) sin_theta_squared: f64,
    per_component: Vec<f64>,
    recoverable: Vec<bool>,
    /// The true variance above which a component can be recovered at all.
    threshold: f64,
}

/// The same for an anonymised batch that keeps `epsilon` with `delta`.
#[derive(Serialize)]
struct ShuffledResult {
    epsilon: Epsilon,
    delta: Delta,
    #[serde(skip_serializing_if = "Option::is_none")]
    local_epsilon: Option<Option<Epsilon>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted: Option<PredictedResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    records_for_target: Option<Option<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    local_epsilon_for_target: Option<Option<Epsilon>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epsilon_for_target: Option<Option<Epsilon>>,
}

#[derive(Serialize)]
struct BoundResult {
    name: &'static str,
    source: &'static str,
    /// A bound holds as it stands; a rate leaves a constant open.
    kind: &'static str,
    model: &'static str,
    quantity: &'static str,
    direction: &'static str,
    value: Option<f64>,
}

impl From<&Prediction> for PredictedResult {
    fn from(prediction: &Prediction) -> Self {
        Self {
            sin_theta_squared: prediction.sin_theta_squared,
            per_component: prediction.components.iter().map(|component| component.sin_squared).collect(),
            recoverable: prediction.components.iter().map(|component| component.recoverable).collect(),
            threshold: prediction.threshold,
        }
    }
}

impl From<&Published> for BoundResult {
    fn from(published: &Published) -> Self {
        Self {
            name: published.name,
            source: published.source,
            kind: published.kind(),
            model: published.model.name(),
            quantity: published.quantity.name(),
            direction: published.direction.name(),
            value: published.value,
        }
    }
}

impl PlanResult {
    pub(super) fn new(
        planner: &Planner,
        epsilon: Epsilon,
        guarantee: Guarantee,
        question: &Question,
        plan: &Plan,
    ) -> Self {
        let spectrum = planner.spectrum();
        Self {
            dimension: spectrum.dimension(),
            rank: planner.rank().value(),
            signals: spectrum.signals().to_vec(),
            bulk: spectrum.bulk(),
            epsilon,
            guarantee,
            uninformed: planner.uninformed(),
            threshold_records: plan.threshold_records.first().copied().flatten(),
            threshold_records_per_component: plan.threshold_records.clone(),
            records: question.records,
            target: question.target,
            predicted: plan.predicted.as_ref().map(Into::into),
            records_for_target: plan.records_for_target,
            epsilon_for_target: plan.epsilon_for_target,
            shuffled: plan.shuffled.as_ref().map(|shuffled| ShuffledResult::of(shuffled, epsilon)),
            pull: None,
            hostile: None,
            bounds: plan.bounds.iter().map(Into::into).collect(),
            plot: None,
        }
    }

    /// With what hostile reports can do.
    pub(super) fn with_pull(self, pull: Pull, hostile: Option<HostilePull>) -> Self {
        Self { pull: Some(pull), hostile, ..self }
    }

    /// One line on what is planned.
    pub(super) fn heading(&self) -> String {
        format!("{} of {} components, each report {}", self.rank, self.dimension, self.guarantee)
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("{}\n", self.heading());
        for (index, records) in self.threshold_records_per_component.iter().enumerate() {
            let share = match self.signals.get(index) {
                Some(signal) => format!("eigenvalue {signal:.4}"),
                None => "none above the rest".to_owned(),
            };
            let from = match records {
                Some(records) => format!("recoverable from {} reports on", grouped(*records)),
                None => "not recoverable by any number of reports".to_owned(),
            };
            text += &format!("  component {:<3} {share:<20} {from}\n", index + 1);
        }
        text += &format!(
            "  the {} others      eigenvalue {:.3e}\n",
            self.dimension.saturating_sub(self.signals.len()),
            self.bulk
        );
        if let Some(records) = self.records {
            text += &predicted_text(&format!("{} reports", grouped(records)), self.predicted.as_ref(), self.uninformed);
        }
        if let (Some(target), Some(records)) = (self.target, self.records_for_target) {
            let answer = match records {
                Some(records) => format!("{} reports", grouped(records)),
                None => "no number of reports reaches it: a component is as large as one that is left out, or too weak"
                    .to_owned(),
            };
            text += &format!("error {target}     {answer}\n");
        }
        if let (Some(records), Some(epsilon)) = (self.records, self.epsilon_for_target) {
            let answer = epsilon.map_or("above 16".to_owned(), |epsilon| format!("{epsilon:.4}"));
            text += &format!("               or epsilon {answer} with {} reports\n", grouped(records));
        }
        if let Some(shuffled) = &self.shuffled {
            text += &shuffled.text(self);
        }
        text += &match (&self.hostile, self.pull) {
            (Some(hostile), _) => hostile_text(hostile),
            (None, Some(pull)) => format!("hostile     {}", per_report(pull, "the covariance estimate")),
            (None, None) => String::new(),
        };
        text += &bounds_text(&self.bounds);
        text + &wrote(self.plot.as_deref())
    }
}

fn predicted_text(what: &str, predicted: Option<&PredictedResult>, uninformed: f64) -> String {
    let Some(predicted) = predicted else {
        return format!("{what}: no local epsilon keeps the batch's guarantee\n");
    };
    let parts: Vec<String> = predicted.per_component.iter().map(|error| format!("{error:.4}")).collect();
    let lost = predicted.recoverable.iter().filter(|recoverable| !**recoverable).count();
    let mut text = format!(
        "{what}: predicted ||sin Theta||_F^2 = {:.4} ({}); 0 is exact, {uninformed:.2} is a guess\n",
        predicted.sin_theta_squared,
        parts.join(", ")
    );
    if lost > 0 {
        text += &format!("               {lost} of {} components cannot be told from noise\n", parts.len());
    }
    text
}

impl ShuffledResult {
    fn of(plan: &ShuffledPlan, epsilon: Epsilon) -> Self {
        Self {
            epsilon,
            delta: plan.delta,
            local_epsilon: plan.local_epsilon,
            predicted: plan.predicted.as_ref().map(Into::into),
            records_for_target: plan.records_for_target,
            local_epsilon_for_target: plan.local_epsilon_for_target,
            epsilon_for_target: plan.epsilon_for_target,
        }
    }

    fn text(&self, plan: &PlanResult) -> String {
        let mut text = format!(
            "shuffled, so that the batch has ({}, {}) against whoever sees it without its senders:\n",
            self.epsilon, self.delta
        );
        let local = |epsilon: Epsilon| format!("epsilon {} of every report", at_least(epsilon.value()));
        if let (Some(records), Some(found)) = (plan.records, self.local_epsilon) {
            let allowed = found.map_or_else(|| "no epsilon".to_owned(), local);
            let what = format!("  {} reports, {allowed}", grouped(records));
            text += &predicted_text(&what, self.predicted.as_ref(), plan.uninformed);
        }
        if let (Some(target), Some(records)) = (plan.target, self.records_for_target) {
            let answer = match (records, self.local_epsilon_for_target.flatten()) {
                (Some(records), Some(epsilon)) => format!("{} reports, {}", grouped(records), local(epsilon)),
                _ => "no number of reports reaches it".to_owned(),
            };
            text += &format!("  error {target}   {answer}\n");
        }
        if let (Some(records), Some(epsilon)) = (plan.records, self.epsilon_for_target) {
            let answer = epsilon.map_or("above 16".to_owned(), |epsilon| format!("{epsilon:.4}"));
            text += &format!("               or epsilon {answer} of a batch of {} reports\n", grouped(records));
        }
        text
    }
}

/// Four decimals, rounded down: what is allowed up to a number is allowed up to the one that is shown.
fn at_least(value: f64) -> String {
    let shown = format!("{value:.4}");
    match shown.parse::<f64>() {
        // It was rounded up, by up to half a unit of the last place.
        Ok(number) if number > value => format!("{:.4}", value - 0.75e-4),
        _ => shown,
    }
}

fn bounds_text(bounds: &[BoundResult]) -> String {
    let mut text = String::new();
    let kinds = [
        ("bound", "published bounds, each for its own method, model and measure of error"),
        ("rate", "published rates, without their constants: to compare settings by, not numbers of anything"),
    ];
    for (kind, title) in kinds {
        let applying: Vec<(&BoundResult, f64)> = bounds
            .iter()
            .filter(|bound| bound.kind == kind)
            .filter_map(|bound| bound.value.map(|value| (bound, value)))
            .collect();
        if applying.is_empty() {
            continue;
        }
        text += &format!("{title}:\n");
        for (bound, value) in applying {
            let says = match (kind, bound.quantity, bound.direction) {
                ("bound", "records", "upper") => format!("{} records suffice", grouped(value.ceil() as u64)),
                ("bound", "records", _) => format!("fewer than {} records do not on all data", grouped(value as u64)),
                ("bound", _, _) => format!("mean correlation at most {value:.4} on some data"),
                (_, "records", side) => format!("{side} rate of records: {value:.3e}"),
                (_, _, side) => format!("{side} rate of the error: {value:.3e}"),
            };
            text += &format!("  {:<43} {:<8} {says}\n", bound.source, bound.model);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::at_least;

    #[test]
    fn what_is_allowed_is_never_shown_as_more() {
        for (value, text) in [
            (2.718_392, "2.7183"),
            (2.718_352, "2.7183"),
            (0.25, "0.2500"),
            (0.1, "0.1000"),
            (0.099_999_999, "0.0999"),
            (7.000_05, "7.0000"),
        ] {
            assert_eq!(at_least(value), text);
        }
    }
}
