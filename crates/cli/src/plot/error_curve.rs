//! The predicted error against the number of reports, both logarithmic.

use svg::node::element::{Group, Title};

use super::axis::LinearAxis;
use super::canvas::{
    ACCENT, Anchor, GRID, INK, MUTED, PALE, WARNING, dashed, dot, heading, level, line, polyline, text,
};
use super::{LEFT, Panel, RIGHT, WIDTH, page};
use crate::output::{grouped, plural};

const TOP: f64 = 60.0;
const BOTTOM: f64 = 400.0;

/// What is drawn.
pub(crate) struct ErrorCurve {
    pub(crate) subtitle: String,
    /// Numbers of reports, ascending, and errors.
    pub(crate) points: Vec<(f64, f64)>,
    /// The numbers of reports from which components can be recovered.
    pub(crate) thresholds: Vec<u64>,
    /// The error of a random subspace.
    pub(crate) uninformed: f64,
    /// An error, and the number of reports that it takes.
    pub(crate) target: Option<(f64, Option<u64>)>,
    /// A number of reports, and the error that it gives.
    pub(crate) records: Option<(u64, f64)>,
}

/// The curve as an SVG document.
pub(crate) fn error_curve(curve: &ErrorCurve) -> String {
    let title = "Predicted error and the number of reports";
    page(title, &curve.subtitle, &description(curve), vec![panel(curve)])
}

fn panel(curve: &ErrorCurve) -> Panel {
    let errors = || curve.points.iter().map(|point| point.1);
    let levels = errors().chain([curve.uninformed]).chain(curve.target.map(|(target, _)| target));
    let x = LinearAxis::around(curve.points.iter().map(|point| point.0.log10()), LEFT, RIGHT);
    let y = LinearAxis::around(levels.filter(|level| *level > 0.0).map(f64::log10), BOTTOM, TOP);
    let across = |records: f64| x.position(records.log10());
    let up = |error: f64| y.position(error.max(f64::MIN_POSITIVE).log10());
    let mut group =
        heading("Error", "||sin Theta||_F^2 of the recovered subspace: 0 for the true one. Both axes are logarithmic.");
    for error in y.decades(&[1.0]) {
        group = level(group, up(error), &power(error));
    }
    for records in x.decades(&[1.0]) {
        let at = across(records);
        group = group.add(line(at, TOP, at, BOTTOM, GRID));
        group = group.add(text(at, BOTTOM + 20.0, &power(records), Anchor::Middle, MUTED));
    }
    let guess = up(curve.uninformed);
    group = group.add(line(LEFT, guess, RIGHT, guess, PALE));
    group = group.add(text(RIGHT, guess - 6.0, "a random subspace", Anchor::End, MUTED));
    // Those of similar components coincide: each name goes below the previous one.
    for (index, &records) in curve.thresholds.iter().enumerate() {
        let at = across(records as f64);
        let name = format!("component {} from {}", index + 1, grouped(records));
        let name = text(at + 5.0, BOTTOM - 12.0 - 18.0 * index as f64, &name, Anchor::Start, WARNING);
        let name = name.set("paint-order", "stroke").set("stroke", "#ffffff").set("stroke-width", 5);
        group = group.add(dashed(at, TOP, at, BOTTOM, WARNING)).add(name);
    }
    let drawn: Vec<(f64, f64)> = curve.points.iter().map(|&(records, error)| (across(records), up(error))).collect();
    group = group.add(polyline(&drawn, ACCENT).set("stroke-width", 2.5));
    if let Some((target, records)) = curve.target {
        let at = up(target);
        group = group.add(line(LEFT, at, RIGHT, at, INK).set("stroke-dasharray", "2 4").set("stroke-width", 1.5));
        group = group.add(text(LEFT + 6.0, at + 16.0, &format!("target {target}"), Anchor::Start, INK));
        if let Some(records) = records {
            group = group.add(mark(across(records as f64), at, &plural(records, "report")));
        }
    }
    if let Some((records, error)) = curve.records {
        let name = format!("{}: {error:.4}", plural(records, "report"));
        group = group.add(mark(across(records as f64), up(error), &name));
    }
    group = group.add(text((LEFT + RIGHT) / 2.0, BOTTOM + 42.0, "Reports", Anchor::Middle, INK));
    Panel { content: group, height: BOTTOM + 46.0 }
}

/// A dot with its name, on the side where there is room.
fn mark(x: f64, y: f64, name: &str) -> Group {
    let (at, height, anchor) =
        if x > 0.75 * WIDTH { (x - 8.0, y + 17.0, Anchor::End) } else { (x + 8.0, y - 9.0, Anchor::Start) };
    Group::new().add(dot(x, y, 5.0, ACCENT).add(Title::new(name))).add(text(at, height, name, anchor, INK))
}

/// A power of ten.
fn power(value: f64) -> String {
    match value.log10().round() as i32 {
        0..=9 => grouped(value as u64),
        -4..0 => value.to_string(),
        exponent => format!("1e{exponent}"),
    }
}

/// The description for readers who cannot see the picture.
fn description(curve: &ErrorCurve) -> String {
    let mut text = String::new();
    if let [(first, start), .., (last, end)] = curve.points[..] {
        text += &format!(
            "The predicted error falls from {start:.4} with {} to {end:.4} with {}.",
            plural(first as u64, "report"),
            grouped(last as u64)
        );
    }
    for (index, &records) in curve.thresholds.iter().enumerate() {
        text += &format!(" Component {} can be recovered from {}.", index + 1, plural(records, "report"));
    }
    if let Some((target, records)) = curve.target {
        match records {
            Some(records) => text += &format!(" The error {target} takes {}.", plural(records, "report")),
            None => text += &format!(" No number of reports reaches the error {target}."),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_curve_is_drawn_with_finite_numbers_and_says_what_it_shows() {
        let points = |end: f64| (0..=10).map(|step| (10f64.powi(step), end.powf(f64::from(step) / 10.0))).collect();
        for (end, target) in [(1e-8, Some((0.05, Some(40)))), (0.9, Some((1e-3, None))), (0.0, None)] {
            let curve = ErrorCurve {
                subtitle: "a <b>".into(),
                points: points(end),
                thresholds: vec![10, 12_345],
                uninformed: 2.9,
                target,
                records: Some((100, 0.5)),
            };
            let document = error_curve(&curve);
            assert!(!document.contains("NaN") && !document.contains("inf"), "{document}");
            assert!(document.contains("component 2 from 12,345") && document.contains("a &lt;b&gt;"));
            assert_eq!(document.contains("takes 40 reports"), matches!(target, Some((_, Some(_)))));
        }
    }
}
