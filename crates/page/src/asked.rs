//! What was asked, of how many, and by which promise.

use ldp_pca::mechanism::LocalRandomizer as _;
use ldp_pca::privacy::composition::PrivacyLoss;
use ldp_pca::privacy::tradeoff::Detection;
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::{Answer, Method};
use ldp_pca::schema::ColumnKind;
use ldp_pca::task::Task;
use ldp_pca_pictures::numbers::{Decimal, plural};
use maud::{Markup, html};

use super::{columns_in_words, titled};

pub(crate) fn section(task: &Task, answer: &Answer) -> Markup {
    let asked = &answer.asked;
    let read = task.schema().columns().iter().filter(|column| column.kind != ColumnKind::Ignored);
    let names: Vec<&str> = read.map(|column| column.label.as_deref().unwrap_or(&column.name)).collect();
    let columns = plural(names.len() as u64, "column");
    let looked_for = match asked.method {
        Method::Pca => "",
        _ => ", of few features each",
    };
    let body = html! {
        p {
            (plural(asked.records, "report")) " about " (columns) ": " (columns_in_words(names.into_iter())) "."
            @if let (Some(period), None) = (task.period(), &asked.family) { " Period: " bdi { (period) } "." }
        }
        p {
            "Looked for: the " (plural(asked.rank as u64, "pattern")) " with most of the spread" (looked_for)
            ". In a pattern columns go together: some people have more of one side and less of the other, and \
            others the reverse. The spread is how far answers are from "
            @if asked.centred {
                "their average, each distance squared: statisticians call it variance."
            } @else {
                "the middle (0, or a column's offset), each distance squared: statisticians call it second moments \
                about zero. Unless averages were taken away, what all people share looks like a pattern too."
            }
        }
        (promise(task, answer))
    };
    titled("asked", "What was asked", &body)
}

/// What a report lets anybody tell about its sender.
fn promise(task: &Task, answer: &Answer) -> Markup {
    html! {
        h3 { "The promise to those who answered" }
        p {
            "Each device changed its report at random before it was sent, so that no single report says what its \
            sender's answers are. Whoever sees a report, its receiver included, can test it for certain values. "
            @match &answer.asked.family {
                None => (found(Detection::of(task.mechanism().privacy_loss()))),
                Some(_) => "The reports are of several tasks, each with a promise of its own:",
            }
        }
        @if let Some(members) = &answer.asked.family {
            ul {
                @for member in members {
                    li {
                        @if let Some(period) = &member.period { bdi { (period) } ": " }
                        (plural(member.records, "report")) " at epsilon " (Decimal(member.epsilon).to_string()) ". "
                        @if let Some(loss) = loss(member.epsilon, member.delta) {
                            (found(Detection::of(loss)))
                        }
                    }
                }
            }
        }
        p {
            "This holds for one report, against everybody and with any knowledge. What several reports of one person \
            reveal adds up."
        }
    }
}

/// The sentence of the consent to this.
fn found(Detection { false_alarms, power, .. }: Detection) -> String {
    // Never less than it is.
    let (others, found) = (100.0 * false_alarms, (1e3 * power).ceil() / 10.0);
    format!(
        "An attacker who accepts accusing {others}\u{a0}% of those who have others recognizes at most {found}\u{a0}% \
         of those who have them; without the report, {others}\u{a0}%."
    )
}

/// What is known of the reports of a family's member.
fn loss(epsilon: f64, delta: f64) -> Option<PrivacyLoss> {
    let epsilon = Epsilon::new(epsilon).ok()?;
    Some(match Delta::new(delta) {
        Ok(delta) => PrivacyLoss::Approximate { epsilon, delta },
        Err(_) => PrivacyLoss::Pure { epsilon },
    })
}
