//! The predicted error against the number of reports, both logarithmic.

use ldp_pca::prediction::Plan;
use svg::node::element::{Group, Title};

use super::axis::LinearAxis;
use super::canvas::{
    ACCENT, Anchor, GRID, INK, MUTED, PALE, WARNING, dashed, dot, heading, level, line, polyline, text,
};
use super::numbers::{Decimal, grouped, plural};
use super::{LEFT, Panel, RIGHT, WIDTH, page};

const TOP: f64 = 60.0;
const BOTTOM: f64 = 400.0;

/// A plan as an SVG document. The points are numbers of reports, ascending, and errors.
pub fn error_curve(subtitle: &str, plan: &Plan, points: &[(f64, f64)]) -> String {
    let title = "Predicted error and the number of reports";
    page(title, subtitle, &description(plan, points), vec![panel(plan, points)])
}

fn panel(plan: &Plan, points: &[(f64, f64)]) -> Panel {
    let errors = points.iter().map(|point| point.1);
    let levels = errors.chain([plan.uninformed]).chain(plan.target);
    let x = LinearAxis::around(points.iter().map(|point| point.0.log10()), LEFT, RIGHT);
    let y = LinearAxis::around(levels.filter(|level| *level > 0.0).map(f64::log10), BOTTOM, TOP);
    let across = |records: f64| x.position(records.log10());
    let up = |error: f64| y.position(error.max(f64::MIN_POSITIVE).log10());
    let mut group =
        heading("Error", "||sin Theta||_F^2 of the recovered subspace: 0 for the true one. Both axes are logarithmic.");
    for error in y.decades(1, &[1.0]) {
        group = level(group, up(error), &power(error));
    }
    for records in x.decades(1, &[1.0]) {
        let at = across(records);
        group = group.add(line(at, TOP, at, BOTTOM, GRID));
        group = group.add(text(at, BOTTOM + 20.0, &power(records), Anchor::MIDDLE, MUTED));
    }
    let guess = up(plan.uninformed);
    group = group.add(line(LEFT, guess, RIGHT, guess, PALE));
    group = group.add(text(RIGHT, guess - 6.0, "a random subspace", Anchor::END, MUTED));
    // Those of similar components coincide: each name goes below the previous one.
    for (index, &records) in plan.threshold_records_per_component.iter().flatten().enumerate() {
        let at = across(records as f64);
        let name = format!("component {} from {}", index + 1, grouped(records));
        let name = text(at + 5.0, BOTTOM - 12.0 - 18.0 * index as f64, &name, Anchor::START, WARNING);
        let name = name.set("paint-order", "stroke").set("stroke", "#ffffff").set("stroke-width", 5);
        group = group.add(dashed(at, TOP, at, BOTTOM, WARNING)).add(name);
    }
    let drawn: Vec<(f64, f64)> = points.iter().map(|&(records, error)| (across(records), up(error))).collect();
    group = group.add(polyline(&drawn, ACCENT).set("stroke-width", 2.5));
    if let Some(target) = plan.target {
        let at = up(target);
        group = group.add(line(LEFT, at, RIGHT, at, INK).set("stroke-dasharray", "2 4").set("stroke-width", 1.5));
        group = group.add(text(LEFT + 6.0, at + 16.0, &format!("target {}", Decimal(target)), Anchor::START, INK));
        if let Some(records) = plan.answers.records_for_target.flatten() {
            group = group.add(mark(across(records as f64), at, &plural(records, "report")));
        }
    }
    if let (Some(records), Some(predicted)) = (plan.records, &plan.answers.predicted) {
        let error = predicted.sin_theta_squared;
        let name = format!("{}: {error:.4}", plural(records, "report"));
        group = group.add(mark(across(records as f64), up(error), &name));
    }
    group = group.add(text((LEFT + RIGHT) / 2.0, BOTTOM + 42.0, "Reports", Anchor::MIDDLE, INK));
    Panel { content: group, height: BOTTOM + 46.0 }
}

/// A dot with its name, on the side where there is room.
fn mark(x: f64, y: f64, name: &str) -> Group {
    let (at, height, anchor) =
        if x > 0.75 * WIDTH { (x - 8.0, y + 17.0, Anchor::END) } else { (x + 8.0, y - 9.0, Anchor::START) };
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
fn description(plan: &Plan, points: &[(f64, f64)]) -> String {
    let mut text = String::new();
    if let [(first, start), .., (last, end)] = points {
        text += &format!(
            "The predicted error falls from {start:.4} with {} to {end:.4} with {}.",
            plural(*first as u64, "report"),
            grouped(*last as u64)
        );
    }
    for (index, &records) in plan.threshold_records_per_component.iter().flatten().enumerate() {
        text += &format!(" Component {} can be recovered from {}.", index + 1, plural(records, "report"));
    }
    text.extend(plan.target.map(Decimal).map(|target| match plan.answers.records_for_target.flatten() {
        Some(records) => format!(" The error {target} takes {}.", plural(records, "report")),
        None => format!(" No number of reports reaches the error {target}."),
    }));
    text
}

#[cfg(test)]
mod tests {
    use ldp_pca::mechanism::MechanismFamily;
    use ldp_pca::prediction::{Goal, Planner, Spectrum};
    use ldp_pca::privacy::Epsilon;
    use ldp_pca::record::Bounding;
    use ldp_pca::recovery::Rank;

    use super::*;

    #[test]
    fn any_curve_is_drawn_with_finite_numbers_and_says_what_it_shows() {
        let spectrum = Spectrum::of_unit_trace(5, vec![0.6, 0.2]).unwrap();
        let family = MechanismFamily::ALL[0];
        let planner = Planner::new(spectrum, Rank::new(2).unwrap(), family, Bounding::UnitNorm).unwrap();
        let goal = Goal { records: Some(100), ..Goal::default() };
        let mut plan = planner.plan(Epsilon::new(1.0).unwrap(), &goal).unwrap();
        (plan.threshold_records_per_component, plan.uninformed) = (vec![Some(10), None, Some(12_345)], 2.9);
        for (end, target) in [(1e-8, Some((0.05, Some(40)))), (0.9, Some((1e-3, None))), (0.0, None)] {
            let points: Vec<_> =
                (0..=10).map(|step| (10f64.powi(step), f64::powf(end, f64::from(step) / 10.0))).collect();
            (plan.target, plan.answers.records_for_target) = target.unzip();
            let document = error_curve("a <b>", &plan, &points);
            assert!(!document.contains("NaN") && !document.contains("inf"), "{document}");
            assert!(document.contains("component 2 from 12,345") && document.contains("a &lt;b&gt;"));
            assert_eq!(document.contains("takes 40 reports"), matches!(target, Some((_, Some(_)))));
        }
    }
}
