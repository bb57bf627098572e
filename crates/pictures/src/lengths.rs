//! The lengths of records: the share of them that is at most so long, with its quantiles and radii.

use ldp_pca::internal::lengths::{Clipping, Lengths, Quantile};
use svg::node::element::{Group, Title};

use super::axis::{LinearAxis, label};
use super::canvas::{ACCENT, Anchor, GRID, INK, MUTED, WARNING, dashed, dot, heading, level, line, polyline, text};
use super::numbers::{plural, three_digits};
use super::{LEFT, Panel, RIGHT, WIDTH, page};

const TOP: f64 = 60.0;
const BOTTOM: f64 = 400.0;

/// The answer as an SVG document. The points are lengths, ascending, with the share of the records that are at most so
/// long.
pub fn lengths(lengths: &Lengths, points: &[(f64, f64)]) -> String {
    let subtitle = format!("{}, each {}", plural(lengths.records, "report"), lengths.guarantee);
    page("Lengths of records", &subtitle, &description(lengths), vec![panel(lengths, points)])
}

fn panel(lengths: &Lengths, points: &[(f64, f64)]) -> Panel {
    let places = |quantile: &Quantile| [Some(quantile.lower), quantile.length, quantile.upper];
    let known = lengths.quantiles.iter().flat_map(places).flatten();
    let mut ends: Vec<f64> = known.chain(lengths.radii.iter().map(|clipping| clipping.radius.value())).collect();
    ends.retain(|length| *length > 0.0);
    if ends.is_empty() {
        ends.extend(points.iter().map(|point| point.0));
    }
    let x = LinearAxis::around(ends.iter().map(|length| length.log10()), LEFT, RIGHT);
    let y = LinearAxis::around([0.0, 1.0], BOTTOM, TOP);
    let across = |length: f64| x.position(length.max(f64::MIN_POSITIVE).log10()).clamp(LEFT, RIGHT);
    let explanation = format!(
        "The share of the records that are at most so long, and the {:.0} % interval of each quantile. Lengths are \
         logarithmic.",
        100.0 * lengths.confidence
    );
    let mut group = heading("Share of the records", &explanation);
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        group = level(group, y.position(share), &format!("{:.0} %", 100.0 * share));
    }
    let (low, high) = x.range();
    let factors: &[f64] = if high - low < 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    for length in x.decades(1, factors) {
        let at = across(length);
        group = group.add(line(at, TOP, at, BOTTOM, GRID));
        group = group.add(text(at, BOTTOM + 20.0, &label(length), Anchor::MIDDLE, MUTED));
    }
    for clipping in &lengths.radii {
        let at = across(clipping.radius.value());
        group = group.add(dashed(at, TOP, at, BOTTOM, WARNING));
    }
    let within = points.iter().filter(|(length, _)| (low..=high).contains(&length.log10()));
    let drawn: Vec<(f64, f64)> = within.map(|&(length, share)| (across(length), y.position(share))).collect();
    group = group.add(polyline(&drawn, ACCENT).set("stroke-width", 2.5));
    for quantile in &lengths.quantiles {
        group = group.add(interval(quantile, y.position(quantile.share), &across));
    }
    // Over all lines, each below the previous one.
    for (index, clipping) in lengths.radii.iter().enumerate() {
        let at = across(clipping.radius.value());
        let (at, anchor) = if at > 0.6 * WIDTH { (at - 5.0, Anchor::END) } else { (at + 5.0, Anchor::START) };
        let height = BOTTOM - 12.0 - 18.0 * (lengths.radii.len() - 1 - index) as f64;
        let name = text(at, height, &radius(lengths, clipping), anchor, WARNING);
        group = group.add(name.set("paint-order", "stroke").set("stroke", "#ffffff").set("stroke-width", 5));
    }
    group = group.add(text((LEFT + RIGHT) / 2.0, BOTTOM + 42.0, "Length", Anchor::MIDDLE, INK));
    Panel { content: group, height: BOTTOM + 46.0 }
}

/// The interval of a quantile, open where it has no end, and the estimate.
fn interval(quantile: &Quantile, y: f64, across: &dyn Fn(f64) -> f64) -> Group {
    let from = if quantile.lower > 0.0 { across(quantile.lower) } else { LEFT };
    let to = quantile.upper.map_or(RIGHT, across);
    let ends = [(quantile.lower > 0.0, from), (quantile.upper.is_some(), to)];
    let mut group = Group::new().add(line(from, y, to, y, ACCENT).set("stroke-width", 1.5));
    for (_, at) in ends.into_iter().filter(|(is_end, _)| *is_end) {
        group = group.add(line(at, y - 5.0, at, y + 5.0, ACCENT).set("stroke-width", 1.5));
    }
    match quantile.length {
        Some(length) => group.add(dot(across(length), y, 5.0, ACCENT).add(Title::new(name(quantile, length)))),
        None => group,
    }
}

fn name(quantile: &Quantile, length: f64) -> String {
    format!("{:.0} % of the records: {}", 100.0 * quantile.share, three_digits(length, f64::round))
}

/// A radius and what it costs. The median is the one to choose.
fn radius(lengths: &Lengths, clipping: &Clipping) -> String {
    let value = clipping.radius.value();
    let is_median = |quantile: &Quantile| quantile.share == 0.5 && quantile.length == Some(value);
    let advised = if lengths.quantiles.iter().any(is_median) { ", advised" } else { "" };
    let cost = clipping.people.map(|people| format!("{} times the people", three_digits(people, f64::round)));
    let cost = cost.as_deref().unwrap_or("more people than can be told");
    format!("radius {}{advised}: {cost}", three_digits(value, f64::round))
}

/// The description for readers who cannot see the picture.
fn description(lengths: &Lengths) -> String {
    let quantiles = lengths.quantiles.iter().filter_map(|quantile| Some(name(quantile, quantile.length?)));
    let all: Vec<String> = quantiles.chain(lengths.radii.iter().map(|clipping| radius(lengths, clipping))).collect();
    format!("Lengths that are not exceeded, and radii. {}.", all.join("; "))
}

#[cfg(test)]
mod tests {
    use ldp_pca::privacy::{Epsilon, Guarantee};
    use ldp_pca::record::Radius;

    use super::*;

    #[test]
    fn any_answer_is_drawn_inside_the_picture_with_finite_numbers() {
        let known = |share: f64, length: f64| Quantile {
            share,
            length: Some(length),
            lower: 0.5 * length,
            upper: Some(2.0 * length),
        };
        let unknown = Quantile { share: 0.5, length: None, lower: 0.0, upper: None };
        let clipping = |radius: f64, square: f64| Clipping::new(Radius::new(radius).unwrap(), square);
        for (quantiles, radii) in [
            (vec![known(0.25, 1.0), known(0.5, 3.0)], vec![clipping(3.0, 0.25), clipping(1e9, 0.0)]),
            (vec![Quantile { upper: None, ..known(0.9, 1e-100) }], vec![]),
            (vec![unknown], vec![]),
        ] {
            let guarantee = Guarantee::local(Epsilon::new(1.0).unwrap(), None);
            let lengths = Lengths { records: 2000, guarantee, confidence: 0.95, quantiles, radii };
            let points: Vec<_> = (0..=4).map(|step| (10f64.powi(step), 0.25 * f64::from(step))).collect();
            let document = super::lengths(&lengths, &points);
            assert!(!document.contains("NaN") && !document.contains("inf"), "{document}");
            assert!(document.contains("2,000 reports") && document.contains("95 % interval"));
            assert_eq!(document.contains("50 % of the records: 3.00"), lengths.quantiles.len() == 2);
            for part in ["radius 3.00, advised: 16.0 times", "radius 1000000000: more people than can be told"] {
                assert_eq!(document.contains(part), lengths.radii.len() == 2, "{document}");
            }
        }
    }
}
