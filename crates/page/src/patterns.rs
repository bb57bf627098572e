//! The patterns one by one, their spectrum, and their map.

use ldp_pca::recovery::Answer;
use ldp_pca_pictures::descending;
use ldp_pca_pictures::numbers::{plural, signed, three_digits};
use maud::{Markup, html};

use super::words::{name, percent, single_columns, ties};
use super::{pictured, titled};

/// Features in the table of a pattern.
const SHOWN: usize = 10;
/// The square of a weight beyond which the others hardly count.
const ALONE: f64 = 0.9;

/// The errors of a component's loadings, where they are known.
pub(crate) fn errors_of(answer: &Answer, index: usize) -> Option<&[f64]> {
    answer.trust.confidence.as_ref()?.loading_errors.get(index).map(Vec::as_slice)
}

pub(crate) fn section(answer: &Answer) -> Markup {
    let (standing, buried) = (answer.standing_out(), answer.buried());
    let marks = answer.marks_of_mean();
    let body = html! {
        @if standing.is_empty() {
            p { "None stands out: noise and equal variances explain them, so none is shown." }
        }
        @if let Some(none) = single_columns(answer, "pattern") {
            p .note { "No pattern of several columns: " (none) "." }
        }
        @for tie in ties(answer, "pattern") {
            p .note { "Take these together: " (tie) "." }
        }
        @if !marks.is_empty() && standing.first() == Some(&0) {
            p .note {
                "Pattern 1 " bdi { (marks.join(" and ")) } ". It may be the average of the answers: reports of \
                this task do not tell the average from a pattern."
            }
        }
        @for &index in &standing {
            (pattern(answer, index))
        }
        @if buried > 0 && !standing.is_empty() {
            p {
                "Not shown: " (plural(buried as u64, "pattern")) " of the " (answer.asked.rank)
                " asked for, which " (if buried == 1 { "does" } else { "do" }) " not stand out."
            }
        }
    };
    titled("patterns", "The patterns", &body)
}

fn pattern(answer: &Answer, index: usize) -> Markup {
    let (names, loadings) = (&answer.asked.feature_names, &*answer.found.components[index]);
    let (errors, number) = (errors_of(answer, index), index + 1);
    let order: Vec<usize> = descending(loadings).into_iter().filter(|&row| loadings[row] != 0.0).collect();
    let (shown, rest) = order.split_at(order.len().min(SHOWN));
    let id = format!("pattern-{number}");
    html! {
        h3 id=(id) { "Pattern " (number) ": " (name(loadings, errors, names)) }
        p { (share(answer, index)) " " (certainty(answer, index)) }
        @if loadings.iter().any(|loading| loading.powi(2) > ALONE) {
            p .note { "It is nearly one column alone: nothing goes together in it." }
        }
        table {
            caption {
                "Weights of the strongest features in pattern " (number) ". The squares of all weights sum to 1."
            }
            thead {
                tr {
                    th scope="col" { "Feature" }
                    th .number scope="col" { "Weight" }
                    @if errors.is_some() { th .number scope="col" { "Uncertainty" } }
                    th .bars aria-hidden="true" {}
                }
            }
            tbody {
                @for &row in shown {
                    @let error = errors.map(|errors| errors[row]);
                    tr {
                        th scope="row" { bdi { (names[row]) } }
                        td .number { (signed(loadings[row])) }
                        @if let Some(error) = error {
                            td .number {
                                "± " (format!("{error:.2}"))
                                @if loadings[row].abs() <= 2.0 * error { " (may be 0)" }
                            }
                        }
                        td .bars aria-hidden="true" { (bar(loadings[row], error)) }
                    }
                }
            }
        }
        @if let Some(&next) = rest.first() {
            p .small {
                "The weights of the other " (plural(rest.len() as u64, "feature")) " are at most "
                (format!("{:.2}", loadings[next].abs())) ", in either direction."
            }
        }
    }
}

/// What the pattern holds of the variance.
fn share(answer: &Answer, index: usize) -> String {
    let found = &answer.found;
    let unbiased = found.variances.as_ref().and_then(|variances| variances[index]);
    let variance = unbiased.unwrap_or(found.eigenvalues[index]);
    let error = answer.trust.variance_errors.as_ref().and_then(|errors| errors[index]);
    let of = |shown: &dyn Fn(f64) -> String| {
        let error = error.map(|error| format!(" (± {}, one standard error)", shown(error)));
        format!("{}{}", shown(variance), error.unwrap_or_default())
    };
    match answer.whole() {
        Some(whole) => format!("It holds {} of the spread.", of(&|variance| percent(variance / whole))),
        None => format!(
            "Its variance is {}, in squared units of the encoded, bounded features.",
            of(&|variance| three_digits(variance, f64::round))
        ),
    }
}

/// How much of the true pattern is in what was found.
fn certainty(answer: &Answer, index: usize) -> String {
    let trust = &answer.trust;
    let found = trust.confidence.as_ref();
    if let Some((found, component)) = found.and_then(|found| Some((found, found.components.get(index)?))) {
        let (lower, upper) = (1.0 - component.interval.upper, 1.0 - component.interval.lower);
        let level = percent(found.level);
        return format!(
            "With {level} confidence, {} to {} of its direction is the true one's.",
            percent(lower),
            percent(upper)
        );
    }
    // The prediction is of patterns that can be told from each other.
    let is_tied = answer.found.ties.iter().any(|&[first, last]| (first..=last).contains(&index));
    let missed = trust.predicted.as_ref().filter(|_| !is_tied && answer.found.penalty().is_none());
    let missed = missed.and_then(|predicted| predicted.per_component.get(index));
    let expected = missed.map(|missed| percent(1.0 - missed));
    expected
        .map(|found| format!("About {found} of its direction is expected to be the true one's."))
        .unwrap_or_default()
}

/// A weight from the middle, to the right above 0, with its error. (An element of SVG needs its end.)
fn bar(loading: f64, error: Option<f64>) -> Markup {
    let place = |loading: f64| format!("{:.1}", 100.0 + 100.0 * loading.clamp(-1.0, 1.0));
    let width = format!("{:.1}", 100.0 * loading.abs().min(1.0));
    html! {
        svg .bar viewBox="0 0 200 16" preserveAspectRatio="none" aria-hidden="true" focusable="false" {
            rect .less[loading < 0.0] x=(place(loading.min(0.0))) y="3" width=(width) height="10" {}
            line x1="100" y1="0" x2="100" y2="16" {}
            @if let Some(error) = error {
                line .error x1=(place(loading - error)) y1="8" x2=(place(loading + error)) y2="8" {}
            }
        }
    }
}

/// The eigenvalues, and the edge of the noise.
pub(crate) fn spectrum(answer: &Answer) -> Markup {
    let (edge, marked) = (answer.edge_beside_what_stands_out(), answer.all_standing());
    html! {
        @if let Some(eigenvalues) = &answer.found.spectrum {
            (pictured("spectrum", "Signal and noise", ldp_pca_pictures::spectrum(eigenvalues, edge, marked), &html! {
                "Each dot is a direction in which the answers may vary, strongest first, and as high as the spread \
                along it. Where nothing stands out any more, noise alone gives dots up to the dashed line, the noise \
                edge. "
                @if marked > 0 {
                    "The blue ones stand out: each is tested beside those before it, so one a little above the line \
                    may not."
                }
                @if marked + 1 == eigenvalues.len() { " The last direction has no other to stand out from." }
            }))
        }
    }
}

/// The features on the first two patterns.
pub(crate) fn map(answer: &Answer) -> Markup {
    let standing = answer.standing_out();
    html! {
        @if let &[first, second, ..] = standing.as_slice() {
            @let names = [first, second].map(|index| format!("Pattern {}", index + 1));
            @let axes = [(first, names[0].as_str()), (second, names[1].as_str())];
            (pictured("map", "Map of the features", ldp_pca_pictures::map(answer, axes), &html! {
                "Features that lie in one direction from the middle go together in these two patterns; those on \
                opposite sides go against each other. Features near the middle have little part in them. Only the \
                strongest have their names."
            }))
        }
    }
}
