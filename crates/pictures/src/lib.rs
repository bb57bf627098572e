//! Pictures as SVG documents, of what the library has computed. No arguments, files or records are read here.
//!
//! - [`svg()`] draws a recovery: the eigenvalues and the noise edge, the loadings, and the penalties tried.
//! - [`error_curve()`] draws a plan: the error against the number of reports.
//! - [`lengths()`] draws the lengths of records.
//! - [`spectrum()`], [`map()`] and [`counts()`] are small pictures for a page: of the eigenvalues, of the features on
//!   two components, and of the reports over time.
//! - Other pictures are drawn with the same axes ([`axis`]) and marks ([`canvas`]), as panels of a [`page()`].
//! - [`numbers`] has numbers and counts as people read them, in pictures and in texts.
//!
//! The `svg` crate escapes and writes the elements; where they go is decided here.

pub mod axis;
pub mod canvas;
mod counts;
mod error_curve;
mod heatmap;
mod lengths;
mod map;
pub mod numbers;
mod penalties;
mod scree;

use ldp_pca::recovery::Answer;
use svg::Document;
use svg::node::element::{Description, Group, Rectangle, Title};

pub use self::counts::counts;
pub use self::error_curve::error_curve;
pub use self::lengths::lengths;
pub use self::map::map;
pub use self::scree::spectrum;

use self::canvas::{Anchor, INK, MUTED, printable, text};
use self::numbers::plural;
use self::penalties::Tried;

/// Width of the picture, which scales to its container.
pub const WIDTH: f64 = 960.0;
/// Left and right edge of everything drawn.
pub const MARGIN: f64 = 40.0;
/// Where curves start, right of the names of their levels, and where they end.
const LEFT: f64 = MARGIN + 60.0;
const RIGHT: f64 = WIDTH - MARGIN;
/// Space above the first panel and between two.
const HEADER: f64 = 76.0;
const GAP: f64 = 44.0;

/// A part of the picture, drawn from its own top down.
pub struct Panel {
    /// What is drawn.
    pub content: Group,
    /// The space that it takes.
    pub height: f64,
}

/// Positions of the values from the largest magnitude to the smallest, ties in order.
pub fn descending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&left, &right| values[right].abs().total_cmp(&values[left].abs()));
    order
}

/// A recovery as an SVG document. The answer has all eigenvalues of the estimate.
pub fn svg(answer: &Answer) -> String {
    draw(answer, &Tried::of(answer))
}

fn draw(answer: &Answer, tried: &Tried) -> String {
    let Answer { asked, found, trust, .. } = answer;
    let kind = if found.penalty().is_some() { "sparse" } else { "principal" };
    let title = format!("{} {kind} components of {} features", asked.rank, asked.dimension);
    let (reports, noise) = (plural(asked.records, "report"), trust.noise_deviation);
    let subtitle = format!("{reports}, noise {noise:.2e} per entry of the covariance");
    // From the feature with the most leverage to that with the least.
    let order = descending(&found.leverages);
    let mut panels = vec![scree::panel(answer), heatmap::panel(answer, &order)];
    panels.extend(penalties::panel(tried, found.penalty()));
    page(&title, &subtitle, &description(answer, &order, tried), panels)
}

/// Panels one below the other, under a title.
pub fn page(title: &str, subtitle: &str, description: &str, panels: Vec<Panel>) -> String {
    let height = HEADER + panels.iter().map(|panel| panel.height + GAP).sum::<f64>();
    let mut document = described(document(height, ""), "", title, description)
        .add(Rectangle::new().set("width", "100%").set("height", "100%").set("fill", "#ffffff"))
        .add(text(MARGIN, 34.0, title, Anchor::START, INK).set("font-size", 20).set("font-weight", 600))
        .add(text(MARGIN, 56.0, subtitle, Anchor::START, MUTED));
    let mut top = HEADER;
    for panel in panels {
        document = document.add(panel.content.set("transform", format!("translate(0 {top})")));
        top += panel.height + GAP;
    }
    format!("{document}\n")
}

/// An empty picture. `prefix` keeps its identifiers apart from those of others on a page.
pub fn document(height: f64, prefix: &str) -> Document {
    Document::new()
        .set("viewBox", (0.0, 0.0, WIDTH, height))
        .set("width", WIDTH)
        .set("height", height)
        .set("role", "img")
        .set("aria-labelledby", format!("{prefix}title {prefix}description"))
        .set("font-family", "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif")
        .set("font-size", 13)
}

/// The picture with its title, and its description for readers who cannot see it.
pub fn described(document: Document, prefix: &str, title: &str, description: &str) -> Document {
    let description =
        Description::new().set("id", format!("{prefix}description")).add(svg::node::Text::new(printable(description)));
    document.add(Title::new(printable(title)).set("id", format!("{prefix}title"))).add(description)
}

/// A picture for a page, without ground and heading, which are the page's. Its identifiers begin with `prefix`.
fn alone(prefix: &str, title: &str, description: &str, content: Group, height: f64) -> String {
    described(document(height, prefix), prefix, title, description).add(content).to_string()
}

/// The description for readers who cannot see the picture.
fn description(answer: &Answer, order: &[usize], tried: &Tried) -> String {
    let Answer { asked, found, .. } = answer;
    let eigenvalues = found.spectrum.as_deref().unwrap_or_default();
    let named = |&row: &usize| format!("{} ({:.2})", printable(&asked.feature_names[row]), found.leverages[row]);
    let named: Vec<String> = order.iter().take(5).map(named).collect();
    let mut text = format!(
        "{} of {} eigenvalues stand out. The noise edge is {:.4}. The features with the highest leverage: {}.",
        answer.all_standing(),
        eigenvalues.len(),
        answer.edge_beside_what_stands_out(),
        named.join(", ")
    );
    if let (Some(penalty), count @ 1..) = (found.penalty(), tried.sizes.len()) {
        text += &format!(" {count} penalties were tried; the components are of penalty {penalty:.3e}.");
    }
    text
}

#[cfg(test)]
mod tests {
    use ldp_pca::internal::recovery::{RankTest, TestedComponent, ThresholdedAnswer};

    use super::*;

    fn drawn(dimension: usize, rank: usize, name: &str, penalties: bool) -> String {
        let eigenvalues: Vec<f64> = (0..dimension).map(|index| 1.0 / (index + 1) as f64 - 0.1).collect();
        let components: Vec<Vec<f64>> = (0..rank)
            .map(|component| (0..dimension).map(|row| f64::from(u8::from(row == component))).collect())
            .collect();
        let leverages: Vec<f64> = (0..dimension).map(|row| f64::from(u8::from(row < rank))).collect();
        let mut answer = Answer::default();
        (answer.asked.rank, answer.asked.feature_names) = (rank, vec![name.to_owned(); dimension]);
        (answer.found.components, answer.found.leverages) = (components, leverages);
        answer.found.spectrum = Some(eigenvalues);
        answer.trust.noise_edge = 0.2;
        let thresholded = ThresholdedAnswer { penalty: 0.1, support: vec![], rows: vec![] };
        answer.found.soft_threshold = penalties.then_some(thresholded);
        if penalties {
            let (sizes, scores) = (vec![(0.1, 3.0), (0.0, 9.0)], vec![(0.1, 0.5, 0.01), (0.0, 0.4, 0.1)]);
            draw(&answer, &Tried { sizes, scores })
        } else {
            svg(&answer)
        }
    }

    /// The value of every attribute of this name that is a plain number.
    fn numbers(document: &str, attribute: &str) -> Vec<f64> {
        let start = format!(" {attribute}=\"");
        document.split(&start).skip(1).filter_map(|rest| rest.split('"').next()?.parse().ok()).collect()
    }

    #[test]
    fn every_size_is_drawn_inside_the_picture_with_finite_numbers() {
        for (dimension, rank) in [(1, 1), (2, 2), (12, 3), (116, 4), (400, 3), (400, 400)] {
            for penalties in [false, true] {
                let document = drawn(dimension, rank, "feature", penalties);
                assert!(!document.contains("NaN") && !document.contains("inf"), "{dimension} {rank}");
                assert_eq!(document.contains("Penalty"), penalties);
                for attribute in ["x", "x1", "x2", "cx"] {
                    let outside = numbers(&document, attribute).into_iter().find(|x| !(0.0..=WIDTH).contains(x));
                    assert_eq!(outside, None, "{attribute} at {dimension}, {rank}");
                }
            }
        }
    }

    /// Equal variances are all far above the edge of noise alone.
    #[test]
    fn eigenvalues_without_structure_are_not_said_to_stand_out() {
        let mut answer = Answer::default();
        (answer.asked.rank, answer.asked.dimension) = (1, 12);
        answer.asked.feature_names = vec!["feature".to_owned(); 12];
        let mut answer = answer.with_components(vec![vec![12.0_f64.sqrt().recip(); 12]], vec![1.02]);
        answer.found.spectrum = Some((0..12).map(|index| 1.02 - f64::from(index) / 300.0).collect());
        (answer.found.variances, answer.trust.noise_edge) = (Some(vec![None]), 0.03);
        let without_test = svg(&answer);
        let first = TestedComponent { eigenvalue: 1.02, rest: 1.0, noise_edge: 1.03, p_value: 0.4, gained: None };
        answer.trust.rank_test = Some(RankTest { level: 0.05, draws: 1999, components: vec![first] });
        let tested = svg(&answer);
        for (document, edge) in [(&without_test, "0.0300"), (&tested, "1.0300")] {
            let said = format!("0 of 12 eigenvalues stand out. The noise edge is {edge}.");
            assert!(document.contains(&said), "{document}");
            assert!(document.contains("0 of 12 stand out (marked)") && !document.contains("r=\"4.5\""), "{document}");
        }
        assert!(without_test.contains("what is above it need not stand out"), "{without_test}");
        assert!(tested.contains("noise edge 1.0300") && !tested.contains("no variance"), "{tested}");
    }

    #[test]
    fn names_are_escaped_shortened_and_stripped_of_control_characters() {
        let document = drawn(2, 1, "a<script>&\u{1}\u{1b}b", false);
        assert!(document.contains("a&lt;script&gt;&amp;") && !document.contains("<script>"), "{document}");
        assert!(!document.chars().any(|character| character.is_control() && character != '\n'));
        assert!(drawn(2, 1, &"long".repeat(50), false).contains('…'));
        assert!(document.contains("role=\"img\"") && document.contains("<title") && document.contains("<desc"));
    }

    #[test]
    fn small_pictures_are_drawn_with_finite_numbers_inside_and_with_identifiers_of_their_own() {
        for dimension in [1, 2, 30, 400] {
            let mut answer = Answer::default();
            answer.asked.dimension = dimension;
            answer.asked.feature_names = vec!["a<script>".repeat(4); dimension];
            let loadings = |turn: f64| (0..dimension).map(|row| (row as f64 + turn).cos()).collect::<Vec<_>>();
            let answer = answer.with_components(vec![loadings(0.0), loadings(1.6)], vec![0.3, 0.2]);
            let eigenvalues = vec![0.1; dimension];
            for (picture, prefix) in [
                (spectrum(&eigenvalues, 0.05, 1), "spectrum-"),
                (map(&answer, [(0, "Pattern 1"), (1, "Pattern 2")]), "map-"),
                (counts(&[(5, 0), (9, 123_456)], ["then", "now"]), "counts-"),
                (counts(&[(5, 7), (5, 7)], ["then", "now"]), "counts-"),
            ] {
                assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
                assert!(!picture.contains("<script>") && picture.contains(&format!("id=\"{prefix}title\"")));
                for attribute in ["x", "x1", "x2", "cx", "y", "y1", "cy"] {
                    let outside = numbers(&picture, attribute).into_iter().find(|at| !(0.0..=WIDTH).contains(at));
                    assert_eq!(outside, None, "{attribute} at {dimension}: {picture}");
                }
            }
        }
    }
}
