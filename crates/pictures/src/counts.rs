//! The reports of a collection over time.

use svg::node::element::Group;

use super::axis::LinearAxis;
use super::canvas::{ACCENT, Anchor, MUTED, level, polyline, text};
use super::numbers::{grouped, plural};
use super::{LEFT, RIGHT, alone};

const TOP: f64 = 16.0;
const BOTTOM: f64 = 200.0;

/// Times in seconds and the reports counted by then, ascending, as a picture of its own for a page. `ends` are the
/// first time and the last in words.
pub fn counts(points: &[(u64, u64)], ends: [&str; 2]) -> String {
    let x = LinearAxis::around(points.iter().map(|point| point.0 as f64), LEFT, RIGHT);
    let y = LinearAxis::around(points.iter().map(|point| point.1 as f64).chain([0.0]), BOTTOM, TOP);
    let whole = y.ticks().into_iter().filter(|tick| *tick >= 0.0 && tick.fract() == 0.0);
    let group = whole.fold(Group::new(), |group, tick| level(group, y.position(tick), &grouped(tick as u64)));
    let drawn: Vec<_> = points.iter().map(|point| (x.position(point.0 as f64), y.position(point.1 as f64))).collect();
    let [first, last] = ends;
    let group = group
        .add(polyline(&drawn, ACCENT).set("stroke-width", 2.5))
        .add(text(LEFT, BOTTOM + 26.0, first, Anchor::START, MUTED))
        .add(text(RIGHT, BOTTOM + 26.0, last, Anchor::END, MUTED));
    let count = points.last().map_or(0, |point| point.1);
    let description = format!("{} by {last}; the first count is of {first}.", plural(count, "report"));
    alone("counts-", "Reports over time", &description, group, BOTTOM + 36.0)
}
