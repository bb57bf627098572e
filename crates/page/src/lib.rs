//! The result of a collection as a page, for readers of no papers. No arguments, files or records are read here.
//!
//! - [`result()`] writes the page of an answer: what stands out, how sure that is, and what it does not say.
//! - [`collections()`] writes the list of an aggregator's collections.
//! - [`refusal()`] says why there is neither.
//! - [`ties()`] and [`single_columns()`] are sentences of the page that other texts have too.
//!
//! A page is one HTML document with its style and its pictures, and has no script. The `maud` crate escapes what comes
//! from a task; the pictures are escaped where they are drawn.

mod asked;
mod limits;
mod patterns;
mod quality;
#[cfg(test)]
mod tests;
mod words;

use std::time::{Duration, UNIX_EPOCH};

use ldp_pca::recovery::Answer;
use ldp_pca::task::Task;
use ldp_pca_pictures::numbers::grouped;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use self::words::{headline, listed, name};

pub use self::words::{single_columns, ties};

/// What the page of a result is about.
#[derive(Clone, Copy, Debug)]
pub struct ResultPage<'a> {
    /// The task; of a family the first one.
    pub task: &'a Task,
    /// What was found from its reports.
    pub answer: &'a Answer,
    /// What an aggregator adds while it collects.
    pub live: Option<Live<'a>>,
}

/// What an aggregator adds to the page of a result.
#[derive(Clone, Copy, Debug)]
pub struct Live<'a> {
    /// Label and relative link of each download.
    pub downloads: &'a [(&'a str, &'a str)],
    /// Seconds since 1970 and the reports counted by then, ascending; drawn if there are two or more.
    pub counts: &'a [(u64, u64)],
    /// Relative link to the list of collections.
    pub list: &'a str,
}

/// One line in the list of collections.
#[derive(Clone, Debug)]
pub struct Collection<'a> {
    /// The digest of the task, in hexadecimal digits.
    pub digest: String,
    /// Relative link to the page of the result, if it has one.
    pub link: Option<String>,
    /// The period of the task, if it has one.
    pub period: Option<&'a str>,
    /// The names of the columns.
    pub columns: &'a [String],
    /// The number of reports.
    pub records: u64,
    /// In words, whether it collects.
    pub state: &'a str,
}

/// The content security policy that fits these documents: their own style, and nothing else. The digest is that of
/// `style.css`.
pub const CSP: &str = "default-src 'none'; style-src 'sha256-KU9TigJkYoNBJgW90TdrX/AWmtL06V2KJARwwI1AHLw='; \
                       img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const STYLE: &str = include_str!("style.css");

/// Columns named in a list; the others are counted.
const MOST_COLUMNS: usize = 30;

/// The page of a result, a whole HTML document.
#[must_use]
pub fn result(&ResultPage { task, answer, live }: &ResultPage<'_>) -> String {
    let title = headline(answer);
    let body = html! {
        header {
            @if let Some(live) = live {
                nav aria-label="Collections" { a href=(live.list) { "All collections" } }
            }
            h1 { (title) }
            p .lead { (lead(answer)) }
        }
        main {
            (asked::section(task, answer))
            @let has_patterns = answer.asked.dimension > 1;
            @if has_patterns {
                (quality::section(answer))
                (patterns::section(answer))
                (patterns::spectrum(answer))
                (patterns::map(answer))
            }
            (limits::section(task, answer))
            @if has_patterns { (quality::more_people(task, answer)) }
            @if let Some(live) = live { (so_far(live)) }
            (limits::details(task, answer))
        }
        footer {
            p {
                "Made by ldp-pca " (env!("CARGO_PKG_VERSION")) " from the sums of the reports of the task "
                code { (task.digest().to_string()) } "."
            }
        }
    };
    document(&title, &body)
}

/// The list of an aggregator's collections, a whole HTML document.
#[must_use]
pub fn collections(list: &[Collection<'_>]) -> String {
    let title = "Collections";
    let body = html! {
        header { h1 { (title) } }
        main {
            @if list.is_empty() {
                p { "There are none yet." }
            } @else {
                table {
                    caption { "The collections of this aggregator, with links to their results." }
                    thead {
                        tr {
                            th scope="col" { "Collection" }
                            th scope="col" { "Columns" }
                            th .number scope="col" { "Reports" }
                            th scope="col" { "State" }
                        }
                    }
                    tbody {
                        @for one in list {
                            tr {
                                th scope="row" {
                                    @match &one.link {
                                        Some(link) => a href=(link) { (one.period.unwrap_or("Result")) },
                                        None => (one.period.unwrap_or("No result of its own")),
                                    }
                                    br;
                                    code .small title=(one.digest) { (one.digest.get(..12).unwrap_or(&one.digest)) }
                                }
                                td { (columns_in_words(one.columns.iter().map(String::as_str))) }
                                td .number { (grouped(one.records)) }
                                td { (one.state) }
                            }
                        }
                    }
                }
            }
        }
        footer { p { "ldp-pca " (env!("CARGO_PKG_VERSION")) } }
    };
    document(title, &body)
}

/// Why a page is refused, and what to do, as a whole HTML document.
#[must_use]
pub fn refusal(title: &str, detail: &str) -> String {
    let body = html! {
        header { h1 { (title) } }
        main { p { (detail) } }
    };
    document(title, &body)
}

fn document(title: &str, body: &Markup) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    };
    document.into_string()
}

/// A section of the page under its title.
fn titled(id: &str, title: &str, body: &Markup) -> Markup {
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (title) }
            (body)
        }
    }
}

/// A section that is a picture and what is seen in it.
fn pictured(id: &str, title: &str, picture: String, caption: &Markup) -> Markup {
    titled(id, title, &html! { figure { (PreEscaped(picture)) figcaption { (caption) } } })
}

/// What follows the answer in one sentence.
fn lead(answer: &Answer) -> Markup {
    let features = answer.asked.dimension;
    if features == 1 {
        return html! { "There is nothing that it could go together with." };
    }
    let Some(&first) = answer.standing_out().first() else {
        return html! {
            "Nothing shows so far which of the " (features) " features go together. That does not mean that none do."
        };
    };
    if answer.found.single_columns == Some(true) {
        return html! { "Some columns vary more than others, and nothing shows that they go together." };
    }
    let named = name(&answer.found.components[first], patterns::errors_of(answer, first), &answer.asked.feature_names);
    let is_tied = answer.found.ties.iter().any(|[start, _]| *start == first);
    let tie = if is_tied { " It cannot be told from the next one." } else { "" };
    html! { "The strongest is: " (named) "." (tie) }
}

/// What is counted so far, and what there is to download.
fn so_far(live: Live<'_>) -> Markup {
    html! {
        @if let &[(first, _), .., (last, count)] = live.counts {
            @let picture = ldp_pca_pictures::counts(live.counts, [&date(first), &date(last)]);
            (pictured("counts", "Reports so far", picture, &html! {
                (grouped(count)) " reports by " (date(last)) ". This page is of all of them. The curve begins when the \
                server was started."
            }))
        }
        @if !live.downloads.is_empty() {
            (titled("downloads", "Downloads", &html! {
                ul { @for (label, link) in live.downloads { li { a href=(link) download { (label) } } } }
            }))
        }
    }
}

/// The day of a time in seconds since 1970, in UTC: `30 Nov 2026`.
fn date(seconds: u64) -> String {
    // The last year that such a date can name is 9999.
    let time = UNIX_EPOCH + Duration::from_secs(seconds.min(253_402_300_799));
    httpdate::fmt_http_date(time)[5..16].trim_start_matches('0').to_owned()
}

/// The names of columns as a list in a sentence. Of many, the first ones.
fn columns_in_words<'a>(names: impl Iterator<Item = &'a str>) -> Markup {
    let mut names: Vec<&str> = names.collect();
    let more = names.len().saturating_sub(MOST_COLUMNS);
    names.truncate(MOST_COLUMNS);
    let others = format!("{more} more");
    names.extend((more > 0).then_some(&*others));
    listed(&names)
}
