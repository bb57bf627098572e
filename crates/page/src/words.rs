//! Sentences about an answer, and numbers in them.

use ldp_pca::recovery::Answer;
use ldp_pca_pictures::descending;
use ldp_pca_pictures::numbers::plural;

/// Loadings below this share of the largest are not in the name of a pattern.
const NAMING: f64 = 0.5;
/// Features in the name of a pattern.
const MOST_NAMING: usize = 5;

/// A sentence for each run of components that cannot be told from each other. `noun` is what a component is called.
#[must_use]
pub fn ties(answer: &Answer, noun: &str) -> Vec<String> {
    let tie = |&[first, last]: &[usize; 2]| {
        let what = match (last - first, last < answer.asked.rank) {
            (1, true) => format!("{noun}s {} and {} cannot be told from each other", first + 1, last + 1),
            (_, true) => format!("{noun}s {} to {} cannot be told from each other", first + 1, last + 1),
            (1, false) => format!("{noun} {} cannot be told from the next one, which was not asked for", first + 1),
            (_, false) => format!(
                "{noun}s {} to {last} cannot be told from each other, nor from the next one, which was not asked for",
                first + 1
            ),
        };
        format!("{what}: any rotation of them fits these reports as well")
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

/// The components that stand out from the noise, from 0.
pub(crate) fn standing(answer: &Answer) -> Vec<usize> {
    let stands = |&index: &usize| match &answer.found.variances {
        Some(variances) => variances[index].is_some(),
        // The largest come first.
        None => index < answer.asked.rank - answer.buried(),
    };
    (0..answer.asked.rank).filter(stands).collect()
}

/// The answer in one sentence.
pub(crate) fn headline(answer: &Answer) -> String {
    let count = standing(answer).len() as u64;
    let reports = plural(answer.asked.records, "report");
    match count {
        0 => "Nothing stands out of the noise yet".to_owned(),
        _ if answer.found.single_columns == Some(true) => format!("No pattern of several columns in {reports}"),
        1 => format!("1 pattern stands out of {reports}"),
        _ => format!("{} stand out of {reports}", plural(count, "pattern")),
    }
}

/// A component by its strongest features: `more running and cycling, less reading`. Those within twice their error,
/// where errors are known, are left out, but for the strongest.
pub(crate) fn name(loadings: &[f64], errors: Option<&[f64]>, names: &[String]) -> String {
    let order = descending(loadings);
    let least = order.first().map_or(0.0, |&row| NAMING * loadings[row].abs());
    let is_known = |row: usize| errors.is_none_or(|errors| loadings[row].abs() > 2.0 * errors[row]);
    let strongest = order.iter().enumerate().take(MOST_NAMING).map(|(place, &row)| (place, row));
    let named = strongest.filter(|&(place, row)| place == 0 || (loadings[row].abs() >= least && is_known(row)));
    let (more, less): (Vec<usize>, Vec<usize>) = named.map(|(_, row)| row).partition(|&row| loadings[row] >= 0.0);
    let side = |word: &str, rows: &[usize]| {
        let rows: Vec<&str> = rows.iter().map(|&row| names[row].as_str()).collect();
        (!rows.is_empty()).then(|| format!("{word} {}", listed(&rows)))
    };
    let sides: Vec<String> = [side("more", &more), side("less", &less)].into_iter().flatten().collect();
    sides.join(", ")
}

/// A share in percent, with one place where it is small.
pub(crate) fn percent(share: f64) -> String {
    let places = if (100.0 * share).abs() < 9.95 { 1 } else { 0 };
    let unit = 10f64.powi(places);
    // Adding zero turns −0 into 0.
    format!("{:.*}\u{a0}%", places as usize, (100.0 * share * unit).round() / unit + 0.0)
}

/// How much of the structure such a share is.
pub(crate) fn extent(share: f64) -> &'static str {
    match share {
        _ if share >= 0.9 => "nearly all of it",
        _ if share >= 0.7 => "most of it",
        _ if share >= 0.4 => "about half of it",
        _ if share >= 0.1 => "a small part of it",
        _ => "hardly any of it",
    }
}

/// A list in a sentence: `a, b and c`.
pub(crate) fn listed(items: &[&str]) -> String {
    match items {
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
        [] => String::new(),
    }
}
