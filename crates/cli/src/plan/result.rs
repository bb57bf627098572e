//! The result of `plan`, as JSON and as text.

use ldp_pca::internal::lengths::Clipping;
use ldp_pca::internal::waves::TwoWaves;
use ldp_pca::prediction::{Answers, Plan, Prediction, ShuffledPlan};
use serde::Serialize;

use super::sample::SampleResult;
use crate::hostile::{hostile_text, per_report};
use crate::norms::clipping_text;
use crate::output::{
    Decimal, at_most, first, fixed, fixed_down, grouped, of_structure, on_scale, plural, three_digits, whole, wrote,
};
use crate::task::waves_text;
use crate::writing::Target;

#[derive(Serialize)]
pub(super) struct PlanResult {
    #[serde(flatten)]
    pub(super) plan: Plan,
    /// The shares that the reports for the target find, and those of shuffled ones, in the text alone.
    #[serde(skip)]
    pub(super) shares_at_target: [Option<f64>; 2],
    /// What to know of the stated spectrum, or of the sample.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
    /// With `--waves 2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) waves: Option<TwoWaves>,
    /// Where records are clipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) clipping: Option<Clipping>,
    /// With a public sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sample: Option<SampleResult>,
    /// What the components are about, in the text alone.
    #[serde(skip)]
    pub(super) about: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) plot: Option<Target>,
}

impl PlanResult {
    /// One line on the plan's setting.
    pub(super) fn heading(&self) -> String {
        let Plan { rank, dimension, guarantee, .. } = &self.plan;
        format!("{rank} of {dimension} components, each report {guarantee}")
    }

    /// What to do first, then what it is said of; in `details` also errors, what is known of the spectrum and bounds.
    pub(super) fn text(&self, details: bool) -> String {
        let plan = &self.plan;
        let [share, shuffled_share] = self.shares_at_target;
        let mut text = answers_text(plan, &plan.answers, share, false, details);
        text.extend(self.sample.as_ref().map(|sample| sample.text(plan, details)));
        if let Some(waves) = &self.waves {
            let second = waves.records[1];
            let next = format!("then       `task refine --records {second}`, when the first wave is over\n");
            text += &(waves_text(waves, false) + if waves.refused.is_none() { next.as_str() } else { "" });
        }
        text += &format!("{}\n", self.heading());
        text.extend(self.about.map(|about| format!("  components of the covariance {about}\n")));
        text.extend(self.clipping.as_ref().map(clipping_text));
        text.extend(plan.shuffled.as_ref().map(|shuffled| shuffled_text(shuffled, plan, shuffled_share, details)));
        let thresholds = &plan.threshold_records_per_component;
        if !details && plan.shuffled.is_none() {
            let records = thresholds.iter().map(|records| records.map_or("none".to_owned(), grouped));
            text += &format!("  recoverable from so many reports on, by component: {}\n", first(records, SHOWN));
        }
        for (index, records) in thresholds.iter().enumerate().filter(|_| details) {
            let share = plan.signals.get(index).map(|signal| format!("eigenvalue {}", fixed(*signal, 4)));
            let share = share.as_deref().unwrap_or("none above the rest");
            let from = records.map(|records| format!("recoverable from {}", plural(records, "report")));
            let from = from.as_deref().unwrap_or("not recoverable by any number of reports");
            text += &format!("  component {:<3} {share:<20} {from}\n", index + 1);
        }
        if details {
            let others = plan.dimension.saturating_sub(plan.signals.len()) as u64;
            text += &format!("  the {}      eigenvalue {:.3e}\n", plural(others, "other"), plan.bulk);
        }
        // Before the colon is what is doubtful, after it the reason and the remedy.
        for note in &self.notes {
            text += &format!("note        {}\n", note.split(": ").next().filter(|_| !details).unwrap_or(note));
        }
        if let Some(optimum) = plan.optimum.filter(|_| details) {
            let percent = |share: f64| (100.0 * share).floor();
            text += &format!(
                "optimum     proved: no unbiased reports of this promise need fewer than {:.0} % of these people for \
                 the same error of the population's second moments, if no direction is special; conjectured: {:.0} %\n",
                percent(optimum.proved_share),
                percent(optimum.conjectured_share)
            );
        }
        text += &match (&plan.hostile, plan.pull) {
            (Some(hostile), _) if details || hostile.reports > 1 => hostile_text(hostile, None),
            (None, Some(pull)) if details => format!("hostile     {}", per_report(pull, "the covariance estimate")),
            _ => String::new(),
        };
        text + &wrote(self.plot.as_ref())
    }
}

/// Components whose thresholds are printed.
const SHOWN: usize = 3;

fn people(count: u64) -> String {
    if count == 1 { "1 person".to_owned() } else { format!("{} people", grouped(count)) }
}

/// The people whom it takes to find a share.
fn share_text((share, records): (f64, Option<u64>)) -> String {
    let share = of_structure(share);
    records.map_or_else(
        || format!("no number of people finds {share}: no component is above the rest, or it is too weak\n"),
        |records| format!("with {} you will find {share} on average\n", people(records)),
    )
}

/// What was asked, of reports by themselves or in a batch: what a number of them finds, and how many it takes, which
/// find this share.
fn answers_text(plan: &Plan, answers: &Answers, share: Option<f64>, in_batch: bool, details: bool) -> String {
    let (indent, mut text) = (if in_batch { "  " } else { "" }, String::new());
    if let (Some(records), Some(predicted)) = (plan.records, &answers.predicted) {
        text += &predicted_text(indent, records, predicted, plan.uninformed, details);
    }
    text.extend(plan.share.zip(answers.records_for_share).map(|found| indent.to_owned() + &share_text(found)));
    if let (Some(target), Some(records)) = (plan.target, answers.records_for_target) {
        let why = if in_batch { "" } else { ": a component is as large as one that is left out, or too weak" };
        let epsilon = plan.records.zip(answers.epsilon_for_target);
        // What so many reports find is above, of the structure.
        let named: fn(f64) -> String = if epsilon.is_some() { whole } else { of_structure };
        let found = share.map(|share| format!(", which find {}", named(share))).unwrap_or_default();
        let enough = records.map(|records| plural(records, "report") + &found);
        let answer = enough.unwrap_or_else(|| format!("no number of reports reaches it{why}"));
        let epsilon = epsilon.map(|(records, epsilon)| {
            let epsilon = epsilon.map_or("above 16".to_owned(), |epsilon| at_most(epsilon, 4));
            format!("; or epsilon {epsilon}{} with {}", if in_batch { " per batch" } else { "" }, grouped(records))
        });
        let gap = 5 - indent.len();
        text += &format!("{indent}error {}{:gap$}{answer}{}\n", Decimal(target), "", epsilon.unwrap_or_default());
    }
    text
}

fn predicted_text(indent: &str, records: u64, predicted: &Prediction, uninformed: f64, details: bool) -> String {
    let mut text = match predicted.share_found {
        Some(share) => {
            format!("{indent}with {} you will find {} on average\n", people(records), of_structure(share))
        }
        None => format!("{indent}{} find nothing: no component is above the rest\n", people(records)),
    };
    if details {
        let parts: Vec<String> = predicted.per_component.iter().map(|missed| format!("{missed:.4}")).collect();
        let error = on_scale(predicted.sin_theta_squared, uninformed);
        text += &format!("{indent}  predicted {error}, by component {}\n", parts.join(", "));
    }
    let lost = predicted.recoverable.iter().filter(|recoverable| !**recoverable).count();
    if lost > 0 {
        let of = predicted.recoverable.len();
        text += &format!("{indent}  {lost} of {of} components cannot be distinguished from noise\n");
    }
    text
}

fn shuffled_text(shuffled: &ShuffledPlan, plan: &Plan, share: Option<f64>, details: bool) -> String {
    let allowed = shuffled.local_epsilon.map(|epsilon| format!("epsilon {} each", at_least(epsilon.value())));
    format!(
        "shuffled: ({}, {}) for any two records of one person per batch of {}, against those who cannot know whose \
         report or id is whose{}: {}\n{}",
        shuffled.epsilon,
        shuffled.delta,
        plural(shuffled.honest_reports, "honest report"),
        if details { ", as an aggregator that does not work together with its relay" } else { "" },
        allowed.as_deref().unwrap_or("no epsilon of a report keeps it"),
        answers_text(plan, &shuffled.answers, share, true, details)
    )
}

/// Four decimals, or three digits where these are less, rounded down: what is allowed up to a number is allowed up to
/// the number shown.
fn at_least(value: f64) -> String {
    if value < 1e-3 { three_digits(value, f64::floor) } else { fixed_down(value, 4) }
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
            (0.000_987_6, "0.000987"),
            (1.239e-7, "1.23e-7"),
        ] {
            assert_eq!(at_least(value), text);
        }
    }
}
