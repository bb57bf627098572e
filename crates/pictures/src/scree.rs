//! The eigenvalues of the estimate, against what noise alone would give.

use ldp_pca::recovery::Answer;
use svg::node::element::Title;

use super::axis::{LinearAxis, label};
use super::canvas::{
    ACCENT, Anchor, INK, MUTED, PALE, WARNING, dashed, dot, heading, line, polyline, text, vertical_axis,
};
use super::{Figure, LEFT, Panel, RIGHT};

const TOP: f64 = 50.0;
const BOTTOM: f64 = 270.0;

pub(super) fn panel(figure: &Figure<'_>) -> Panel {
    let Answer { asked, trust, .. } = figure.answer;
    let count = figure.eigenvalues.len();
    let values = figure.eigenvalues.iter().copied().chain([0.0, trust.noise_edge]);
    let y = LinearAxis::around(values, BOTTOM, TOP);
    let x = LinearAxis::around([1.0, count as f64], LEFT, RIGHT);
    let mut group = heading(
        "Eigenvalues",
        &format!(
            "All {count} of the debiased covariance. Noise alone would give none above the noise edge. The {} \
                largest are marked.",
            asked.rank
        ),
    );
    group = vertical_axis(group, &y);
    let edge = y.position(trust.noise_edge);
    let name = match trust.noise_edge {
        small if small.abs() < 1e-3 => format!("noise edge {small:.2e}"),
        edge => format!("noise edge {edge:.4}"),
    };
    group = group
        .add(line(LEFT, y.position(0.0), RIGHT, y.position(0.0), PALE))
        .add(dashed(LEFT, edge, RIGHT, edge, WARNING))
        .add(text(RIGHT, edge - 6.0, &name, Anchor::END, WARNING));
    let places = (1..).map(|place| x.position(f64::from(place)));
    let points: Vec<_> = places.zip(figure.eigenvalues.iter().map(|&value| y.position(value))).collect();
    group = group.add(polyline(&points, PALE));
    let radius = if count > 150 { 1.8 } else { 3.0 };
    // Those kept come last, on top of the others.
    for (index, &(x, y)) in points.iter().enumerate().rev() {
        let kept = index < asked.rank;
        let (radius, color) = if kept { (4.5, ACCENT) } else { (radius, PALE) };
        let name = format!("eigenvalue {}: {:.5}", index + 1, figure.eigenvalues[index]);
        group = group.add(dot(x, y, radius, color).add(Title::new(name)));
    }
    for tick in x.ticks().into_iter().filter(|tick| tick.fract() == 0.0 && (1.0..=count as f64).contains(tick)) {
        group = group.add(text(x.position(tick), BOTTOM + 20.0, &label(tick), Anchor::MIDDLE, MUTED));
    }
    group = group.add(text((LEFT + RIGHT) / 2.0, BOTTOM + 40.0, "Position", Anchor::MIDDLE, INK));
    Panel { content: group, height: BOTTOM + 44.0 }
}
