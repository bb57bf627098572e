//! Sentences about an answer, and numbers in them.

use ldp_pca::recovery::Answer;
use ldp_pca_pictures::descending;
use ldp_pca_pictures::numbers::{plural, whole_percent};
use maud::{Markup, html};

/// Loadings below this share of the largest are not in the name of a pattern.
const NAMING: f64 = 0.5;
/// Features in the name of a pattern.
const MOST_NAMING: usize = 5;

/// A sentence for each run of components whose neighbours cannot be told from each other. `noun` is what a component is
/// called.
#[must_use]
pub fn ties(answer: &Answer, noun: &str) -> Vec<String> {
    let tie = |&[first, last]: &[usize; 2]| {
        let first = first + 1;
        let which = match (last - first, last < answer.asked.rank) {
            (0, true) => format!("{noun}s {first} and {} cannot be told from each other", last + 1),
            (0, false) => format!("{noun} {first} cannot be told from the next one, which was not asked for"),
            (_, true) => format!("among {noun}s {first} to {}", last + 1),
            (_, false) => format!("among {noun}s {first} to {last} and the next one, which was not asked for"),
        };
        match last - first {
            0 => format!("{which}: any rotation of them fits these reports as well"),
            _ => format!("{which}, neighbours cannot be told apart, and only the space that they span is known"),
        }
    };
    answer.found.ties.iter().map(tie).collect()
}

/// A sentence where the components above the noise are no patterns of several columns. `noun` is what a component is
/// called.
#[must_use]
pub fn single_columns(answer: &Answer, noun: &str) -> Option<String> {
    let above = answer.asked.rank - answer.buried();
    (answer.found.single_columns == Some(true)).then(|| match above {
        1 => format!("the {noun} holds no more variance than one column does alone, within twice the noise"),
        _ => format!(
            "the {above} {noun}s above the noise hold no more variance than {above} directions of single columns do, \
             within twice the noise"
        ),
    })
}

/// The answer in one sentence.
pub(crate) fn headline(answer: &Answer) -> String {
    let (count, all) = (answer.standing_out().len(), answer.all_standing());
    let (reports, patterns) = (plural(answer.asked.records, "report"), plural(count as u64, "pattern"));
    match count {
        _ if answer.asked.dimension == 1 => "One feature has no pattern".to_owned(),
        0 => format!("No pattern stands out of {reports}"),
        _ if answer.found.single_columns == Some(true) => format!("No pattern of several columns in {reports}"),
        _ if all > count => format!("{count} of at least {all} patterns that stand out of {reports}"),
        1 => format!("1 pattern stands out of {reports}"),
        _ => format!("{patterns} stand out of {reports}"),
    }
}

/// A component by its strongest features: `more running and cycling, less reading`. Those within twice their error,
/// where errors are known, are left out, but for the strongest.
pub(crate) fn name(loadings: &[f64], errors: Option<&[f64]>, names: &[String]) -> Markup {
    let order = descending(loadings);
    let least = order.first().map_or(0.0, |&row| NAMING * loadings[row].abs());
    let is_known = |row: usize| errors.is_none_or(|errors| loadings[row].abs() > 2.0 * errors[row]);
    let strongest = order.iter().enumerate().take(MOST_NAMING).map(|(place, &row)| (place, row));
    let named = strongest.filter(|&(place, row)| place == 0 || (loadings[row].abs() >= least && is_known(row)));
    let (more, less): (Vec<usize>, Vec<usize>) = named.map(|(_, row)| row).partition(|&row| loadings[row] >= 0.0);
    let side = |word: &str, rows: &[usize]| {
        let rows: Vec<&str> = rows.iter().map(|&row| names[row].as_str()).collect();
        (!rows.is_empty()).then(|| html! { (word) " " (listed(&rows)) })
    };
    let sides = [side("more", &more), side("less", &less)].into_iter().flatten();
    html! { @for (index, side) in sides.enumerate() { @if index > 0 { ", " } (side) } }
}

/// A share in percent, with one place where it is small.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    // Adding zero turns −0 into 0.
    let small = || format!("{:.1}", (10.0 * percent).round() / 10.0 + 0.0);
    format!("{}\u{a0}%", if percent.abs() < 9.95 { small() } else { whole_percent(share) })
}

/// How much such a share is of all.
pub(crate) fn extent(share: f64) -> &'static str {
    match share {
        _ if share >= 0.9 => "nearly all of it",
        _ if share >= 0.7 => "most of it",
        _ if share >= 0.4 => "about half of it",
        _ if share >= 0.1 => "a small part of it",
        _ => "hardly any of it",
    }
}

/// A list of names in a sentence: `a, b and c`.
pub(crate) fn listed(names: &[&str]) -> Markup {
    html! {
        @for (index, name) in names.iter().enumerate() {
            @if index > 0 { (if index + 1 < names.len() { ", " } else { " and " }) }
            bdi { (name) }
        }
    }
}
