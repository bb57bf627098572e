//! How good the patterns are, and what more people would show.

use ldp_pca::prediction::{Planner, Prediction, Spectrum};
use ldp_pca::recovery::{Answer, Confidence, Interval, Rank};
use ldp_pca::task::Task;
use ldp_pca_pictures::numbers::grouped;
use maud::{Markup, html};

use super::words::{extent, percent, standing};

/// Multiples of the reports that are planned with.
const MULTIPLES: [u64; 4] = [1, 2, 4, 10];
/// A share of the structure that more people would hardly raise.
const ENOUGH: f64 = 0.95;

/// The share of the structure found: as predicted, between which bounds, and against a reference.
struct ShareFound {
    predicted: Option<f64>,
    interval: Option<(Interval, f64)>,
    exact: Option<f64>,
}

impl ShareFound {
    fn of(answer: &Answer) -> Self {
        let trust = &answer.trust;
        let interval = |found: &Confidence| Some((found.share_found?, found.level));
        Self {
            predicted: trust.predicted.as_ref().and_then(share_of),
            interval: trust.confidence.as_ref().and_then(interval),
            exact: trust.compared.as_ref().and_then(|compared| compared.reference.share_found),
        }
    }
}

fn share_of(prediction: &Prediction) -> Option<f64> {
    prediction.share_found
}

pub(crate) fn section(answer: &Answer) -> Markup {
    let share = ShareFound::of(answer);
    let is_sparse = answer.found.penalty().is_some();
    html! {
        section aria-labelledby="quality" {
            h2 id="quality" { "How good it is" }
            @if standing(answer).is_empty() {
                p { "The noise that keeps the promise hides all patterns of the size that these answers may have." }
            } @else {
                @if let Some(share) = share.predicted {
                    p .lead {
                        "Expected: " strong { (percent(share)) " of the structure" } " is found, " (extent(share)) "."
                    }
                    @if is_sparse {
                        p {
                            "That is expected of patterns in which every feature takes part. Those below use few \
                            features, and nothing is predicted of them."
                        }
                    }
                } @else {
                    p { "How much of the structure is found cannot be predicted here." }
                }
                @if let Some((Interval { lower, upper, .. }, level)) = share.interval {
                    p {
                        "With " (percent(level)) " confidence it is between " (percent(lower)) " and "
                        (percent(upper)) "."
                    }
                }
            }
            @if let Some(share) = share.exact {
                p {
                    "Compared with the records themselves, " strong { (percent(share)) " of the structure" }
                    " is found."
                }
            }
            (captured(answer))
            p .small {
                "100\u{a0}% of the structure would be the true patterns, 0\u{a0}% what random ones show. The \
                expectation takes the answers to vary alike in all directions, except for the patterns."
            }
        }
    }
}

/// The variance that the patterns capture, where it was measured.
fn captured(answer: &Answer) -> Markup {
    let exactly = |share: f64| format!("{:.1}\u{a0}%", 100.0 * share);
    let reference = answer.trust.compared.as_ref().map(|compared| &compared.reference);
    let held_out = answer.trust.held_out.as_ref().zip(answer.whole());
    let held_out = held_out.and_then(|(held_out, whole)| Some((held_out.chosen()?.captured, held_out.level, whole)));
    html! {
        @if let Some(reference) = reference.filter(|reference| reference.captured_variance.is_finite()) {
            p {
                "Of the variation of " (grouped(reference.records)) " records that were compared, the patterns capture "
                (exactly(reference.captured_variance)) ", where " (exactly(reference.largest_captured_variance))
                " is possible."
            }
        }
        @if let Some((captured, level, whole)) = held_out {
            p {
                "In reports that they were not found from, patterns like these hold " (percent(captured.value / whole))
                " of the variation (" (percent(level)) ": " (percent(captured.interval.lower / whole)) " to "
                (percent(captured.interval.upper / whole)) ")."
            }
        }
    }
}

/// What to do where it is too noisy.
pub(crate) fn more_people(task: &Task, answer: &Answer) -> Markup {
    let planned = planned(task, answer).unwrap_or_default();
    let is_enough = ShareFound::of(answer).predicted.is_some_and(|share| share >= ENOUGH);
    html! {
        section aria-labelledby="people" {
            h2 id="people" { "If it is too noisy" }
            @if standing(answer).is_empty() {
                @if let Some(share) = visible(answer) {
                    p {
                        "With so many reports a pattern is seen if it holds at least about " (percent(share))
                        " of the variation."
                    }
                }
                p {
                    "How many people it takes depends on patterns that nobody has seen yet. Four times as many halve \
                    the noise. Fewer columns, or a weaker promise (a larger epsilon, in a new task that people agree \
                    to), make it smaller too."
                }
            } @else if is_enough {
                p { "More people would change little of these patterns. They may show weaker ones." }
            } @else {
                p { "More people show more. Four times as many halve the noise, and may also show weaker patterns." }
            }
            @if !planned.is_empty() && !is_enough {
                table {
                    caption { "What more people would show of these patterns" }
                    thead {
                        tr {
                            th scope="col" { "With about" }
                            th .number scope="col" { "expected share of the structure" }
                        }
                    }
                    tbody {
                        @for (records, share) in &planned {
                            tr { th scope="row" { (grouped(*records)) " people" } td .number { (percent(*share)) } }
                        }
                    }
                }
            }
        }
    }
}

/// Numbers of reports with the shares of the structure that are expected of them. None where the spectrum is not known
/// or the reports are of several tasks.
fn planned(task: &Task, answer: &Answer) -> Option<Vec<(u64, f64)>> {
    if answer.asked.family.is_some() {
        return None;
    }
    let planner = Planner::of_task(spectrum(answer)?, Rank::new(answer.asked.rank).ok()?, task).ok()?;
    let share = |multiple: u64| {
        let records = answer.asked.records.saturating_mul(multiple);
        Some((records, share_of(&planner.predict(task.guarantee().epsilon, records).ok()?)?))
    };
    MULTIPLES.into_iter().map(share).collect()
}

/// The patterns that stand out, as the spectrum of a population.
fn spectrum(answer: &Answer) -> Option<Spectrum> {
    let signals: Vec<f64> = answer.found.variances.as_ref()?.iter().copied().flatten().collect();
    if signals.is_empty() {
        return None;
    }
    let dimension = answer.asked.dimension;
    let rest = answer.found.total_variance? - signals.iter().sum::<f64>();
    let bulk = rest.max(0.0) / dimension.saturating_sub(signals.len()).max(1) as f64;
    let Some(share) = answer.found.mean.as_ref().and_then(|mean| mean.share) else {
        return Spectrum::new(dimension, signals, bulk).ok();
    };
    // About zero the variances beside the mean are the same, and the mean is that share of the whole.
    let about_zero = 1.0 - share;
    let signals = signals.into_iter().map(|signal| signal / about_zero).collect();
    Spectrum::new(dimension, signals, bulk / about_zero).ok()?.with_mean_share(share).ok()
}

/// The least share of the variation that a pattern must hold to be seen.
fn visible(answer: &Answer) -> Option<f64> {
    let share = answer.trust.predicted.as_ref()?.threshold / answer.whole()?;
    (share < 1.0).then_some(share)
}
