//! What the page does not say, and the numbers behind it.

use ldp_pca::internal::family::FamilyMember;
use ldp_pca::prediction::Prediction;
use ldp_pca::privacy::{Delta, Epsilon, Guarantee};
use ldp_pca::record::Bounding;
use ldp_pca::recovery::{Answer, Interval};
use ldp_pca::task::Task;
use ldp_pca_pictures::numbers::{Decimal, first, fixed, grouped, three_digits};
use maud::{Markup, html};

use super::titled;
use super::words::percent;

/// Eigenvalues in the table of numbers.
const MOST_EIGENVALUES: usize = 12;

pub(crate) fn section(task: &Task, answer: &Answer) -> Markup {
    let empty = answer.empty().map(|(share, _)| share);
    let body = html! {
        ul {
            li { "Nothing about a single person: no report says what its sender's answers are." }
            li { "Not why: patterns say what goes together, not what causes what." }
            li { "Nothing of people who did not take part. Who does may have to do with the answers." }
            @if answer.asked.centred {
                li { "Not where the average is: patterns are about it, and it was estimated and taken away." }
            } @else {
                li {
                    "Not the average, which these reports do not carry. Where it is far from what the task takes \
                    for the middle (0, or a column's offset), it looks like the first pattern."
                }
            }
            @match task.bounding() {
                Bounding::UnitNorm => li {
                    "Not how large answers are: each record was brought to one length, and only its proportions \
                    count. One large answer makes the others of its record small, so skewed or rarely answered \
                    columns can look as if they go together or against each other when they do not."
                },
                Bounding::Clip { radius } => li {
                    "Not the whole size of long records: those longer than " (Decimal(radius.value()).to_string())
                    " were shortened to that."
                },
            }
            li {
                "Missing answers count as 0, or the column's offset. Columns that are often missing look weaker; \
                columns that are missing together, or records that are empty, can look like a pattern where the \
                average is far from that."
            }
            @if let Some(share) = empty {
                li { "About " (percent(share)) " of the records had only zeros and missing answers in them." }
            } @else {
                li {
                    "Records with nothing in them count as reports"
                    @if !answer.asked.centred { ", and show no pattern" } "."
                }
            }
            li {
                "Not how many people there were: a person who sent several reports counts several times, and a \
                modified device can send anything."
            }
        }
    };
    titled("limits", "What this does not say", &body)
}

pub(crate) fn details(task: &Task, answer: &Answer) -> Markup {
    let body = html! {
        table {
            caption { "For statisticians. Variances are in squared units of the encoded, bounded features." }
            tbody {
                @for (name, value) in numbers(task, answer) {
                    tr { th scope="row" { (name) } td { (value) } }
                }
            }
        }
    };
    titled("numbers", "In numbers", &body)
}

fn numbers(task: &Task, answer: &Answer) -> Vec<(&'static str, String)> {
    let Answer { asked, found, trust, missing } = answer;
    let number = |value: f64| three_digits(value, f64::round);
    let mut rows = vec![
        ("Reports", grouped(asked.records)),
        ("Features, components asked for", format!("{}, {}", asked.dimension, asked.rank)),
        ("Method", asked.method.to_string()),
        ("Guarantee", guarantees(task, answer)),
        ("Noise of an off-diagonal entry, one standard deviation", number(trust.noise_deviation)),
        ("Noise edge, beside what stands out", number(answer.edge_beside_what_stands_out())),
    ];
    if let Some(Prediction { sin_theta_squared, uninformed, threshold, .. }) = &trust.predicted {
        let text = format!("{sin_theta_squared:.4} (0 is the same subspace, {uninformed:.2} a random one)");
        rows.push(("||sin Theta||_F^2, predicted for plain components", text));
        rows.push(("Least variance that can be recovered", number(*threshold)));
    }
    if let Some(found) = &trust.confidence {
        let Interval { lower, upper, .. } = found.interval;
        let text = format!("{lower:.4} to {upper:.4} ({} replicates)", found.replicates);
        rows.push(("||sin Theta||_F^2, 95 % interval", text));
    }
    if let Some(compared) = &trust.compared {
        rows.push(("||sin Theta||_F^2 from PCA of the bounded records", fixed(compared.sin_theta_squared, 4)));
    }
    let along = first(found.eigenvalues.iter().copied().map(number), MOST_EIGENVALUES);
    rows.push(("Variances along the components, with the bias of the noise", along));
    if let Some(variances) = &found.variances {
        let shown = variances.iter().map(|variance| variance.map_or("noise".to_owned(), number));
        rows.push(("Variances without that bias", shown.collect::<Vec<_>>().join(", ")));
    }
    if let Some(total) = found.total_variance {
        let error = trust.total_variance_error.map(|error| format!(" ± {}", number(error)));
        rows.push(("Total variance", number(total) + &error.unwrap_or_default()));
    }
    if let Some(share) = found.mean.as_ref().and_then(|mean| mean.share) {
        rows.push(("Part of the mean in the second moments about zero", percent(share)));
    }
    if let Some(test) = &trust.rank_test {
        let p_values = test.components.iter().map(|component| format!("{:.3}", component.p_value));
        rows.push(("p-values of plain components, one after the other", p_values.collect::<Vec<_>>().join(", ")));
    }
    if !missing.unfinished.is_empty() {
        let parts = missing.unfinished.iter().map(|unfinished| unfinished.part.to_string());
        rows.push(("Unfinished when time was up", parts.collect::<Vec<_>>().join(", ")));
    }
    rows
}

/// The guarantee of the task; of a family those of its tasks.
fn guarantees(task: &Task, answer: &Answer) -> String {
    let Some(members) = &answer.asked.family else { return task.guarantee().to_string() };
    let of = |member: &FamilyMember| {
        let guarantee = Guarantee::local(Epsilon::new(member.epsilon).ok()?, Delta::new(member.delta).ok());
        Some(guarantee.to_string())
    };
    members.iter().filter_map(of).collect::<Vec<_>>().join("; ")
}
