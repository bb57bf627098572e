//! How good the patterns are, and what more people would show.

use ldp_pca::prediction::{Planner, Spectrum};
use ldp_pca::recovery::{Answer, Interval, Rank};
use ldp_pca::task::Task;
use ldp_pca_pictures::numbers::grouped;
use maud::{Markup, html};

use super::titled;
use super::words::{extent, percent};

/// Multiples of the reports that are planned with.
const MULTIPLES: [u64; 3] = [2, 4, 10];
/// Patterns for which that is planned: it takes long for many.
const MOST_PLANNED: usize = 32;
/// A share of the structure that more people would hardly raise.
const ENOUGH: f64 = 0.95;

/// The share of the structure found, as it is predicted of plain components.
fn predicted(answer: &Answer) -> Option<f64> {
    answer.trust.predicted.as_ref().filter(|_| answer.found.penalty().is_none())?.share_found
}

/// The bounds of that share, with their level.
fn interval(answer: &Answer) -> Option<(Interval, f64)> {
    let found = answer.trust.confidence.as_ref()?;
    Some((found.share_found?, found.level))
}

pub(crate) fn section(answer: &Answer) -> Markup {
    let body = html! {
        @if answer.standing_out().is_empty() {
            p { "No pattern stands out: there is none, or the noise that keeps the promise hides it." }
        } @else if answer.asked.rank == answer.asked.dimension {
            p { "As many patterns as features hold everything, so nothing can be missed." }
            (captured(answer))
        } @else {
            (found(answer))
            (captured(answer))
            p .small {
                "100\u{a0}% would be the true patterns, and random ones show 0\u{a0}%: statisticians call it the \
                share found of the structure. The number takes the answers to vary alike in all directions, except \
                for the patterns."
                @if interval(answer).is_some() {
                    " docs/reference/inference.md of ldp-pca says how often the interval holds."
                }
            }
        }
    };
    titled("quality", "How good it is", &body)
}

/// The share of the structure found.
fn found(answer: &Answer) -> Markup {
    let exact = answer.trust.compared.as_ref().and_then(|compared| compared.reference.share_found);
    html! {
        @if let Some((Interval { lower, upper, .. }, level)) = interval(answer) {
            p .lead {
                "With " (percent(level)) " confidence, these patterns show between "
                strong { (percent(lower)) " and " (percent(upper)) } " of what the true ones would."
            }
        } @else if let Some(share) = predicted(answer) {
            p .lead {
                @if answer.buried() == 0 {
                    "Expected: these patterns show " strong { (percent(share)) } " of what the true ones would, "
                    (extent(share)) "."
                } @else {
                    "Expected: " strong { (percent(share)) " of what stands out of the noise" }
                    " is found. What is hidden in the noise is not counted."
                }
            }
        } @else {
            p { "How much of the true patterns these show cannot be predicted here." }
        }
        @if let Some(share) = exact {
            p {
                "Compared with the records themselves, these patterns show " strong { (percent(share)) } " of what the \
                true ones would."
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
                "In " (grouped(reference.records)) " records that were compared, the patterns capture "
                (exactly(reference.captured_variance)) " of the spread, where "
                (exactly(reference.largest_captured_variance)) " is possible."
            }
        }
        @if let Some((captured, level, whole)) = held_out {
            p {
                "In reports that they were not found from, patterns like these hold " (percent(captured.value / whole))
                " of the spread (" (percent(level)) ": " (percent(captured.interval.lower / whole)) " to "
                (percent(captured.interval.upper / whole)) ")."
            }
        }
    }
}

/// What to do where it is too noisy.
pub(crate) fn more_people(task: &Task, answer: &Answer) -> Markup {
    let planned = planned(task, answer).unwrap_or_default();
    let is_enough = predicted(answer).is_some_and(|share| share >= ENOUGH);
    let standing = answer.standing_out();
    let is_found = |&index: &usize| {
        let missed = answer.trust.predicted.as_ref().and_then(|predicted| predicted.per_component.get(index));
        missed.is_some_and(|missed| *missed <= 1.0 - ENOUGH)
    };
    let body = html! {
        @if standing.is_empty() {
            @if let Some(share) = visible(answer) {
                p {
                    "Patterns that hold less than about " (percent(share)) " of the spread cannot be seen with so \
                    many reports; of larger ones, those of about twice that nearly always are."
                }
            }
            p {
                "How many people it takes depends on patterns that nobody has seen yet. Four times as many halve \
                the noise. Fewer columns, or a weaker promise (a larger epsilon, in a new task that people agree \
                to), make it smaller too."
            }
        } @else if is_enough && !answer.found.ties.is_empty() {
            p {
                "More people would hardly raise this share, but would tell apart the patterns that are tied here, \
                which may change them, unless both hold the same part of the spread."
            }
        } @else if is_enough && standing.iter().all(is_found) {
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
                        th .number scope="col" { "expected share of what stands out" }
                    }
                }
                tbody {
                    @for (records, share) in &planned {
                        tr { th scope="row" { (grouped(*records)) " people" } td .number { (percent(*share)) } }
                    }
                }
            }
        }
    };
    titled("people", "If it is too noisy", &body)
}

/// Numbers of reports with the shares that are expected of them, of what stands out. None of sparse patterns, and where
/// the spectrum is not known, has many signals, or the reports are of several tasks.
fn planned(task: &Task, answer: &Answer) -> Option<Vec<(u64, f64)>> {
    if answer.asked.family.is_some() || answer.found.penalty().is_some() {
        return None;
    }
    let planner = Planner::of_task(spectrum(answer)?, Rank::new(answer.asked.rank).ok()?, task).ok()?;
    let share = |multiple: u64| {
        let records = answer.asked.records.saturating_mul(multiple);
        Some((records, planner.predict(task.guarantee().epsilon, records).ok()?.share_found?))
    };
    MULTIPLES.into_iter().map(share).collect()
}

/// The patterns that stand out, as the spectrum of a population.
fn spectrum(answer: &Answer) -> Option<Spectrum> {
    let variances = answer.found.variances.as_ref()?;
    let signals: Vec<f64> = answer.standing_out().into_iter().filter_map(|index| variances[index]).collect();
    if !(1..=MOST_PLANNED).contains(&signals.len()) {
        return None;
    }
    let dimension = answer.asked.dimension;
    let rest = answer.found.total_variance? - signals.iter().sum::<f64>();
    let bulk = rest.max(0.0) / dimension.saturating_sub(signals.len()).max(1) as f64;
    let share = answer.found.mean.as_ref().and_then(|mean| mean.share).unwrap_or(0.0);
    Spectrum::about_mean(dimension, &signals, bulk, share).ok()
}

/// The least share of the spread that a pattern must hold to be seen.
fn visible(answer: &Answer) -> Option<f64> {
    let share = answer.trust.predicted.as_ref()?.threshold / answer.whole()?;
    (share < 1.0).then_some(share)
}
