//! The eigenvalues of the estimate, against what noise alone would give.

use ldp_pca::internal::recovery::RankTest;
use ldp_pca::recovery::Answer;
use svg::node::element::{Group, Title};

use super::axis::{LinearAxis, label};
use super::canvas::{
    ACCENT, Anchor, INK, MUTED, PALE, WARNING, dashed, dot, heading, line, polyline, text, vertical_axis,
};
use super::{LEFT, Panel, RIGHT, alone};

const TOP: f64 = 50.0;
const BOTTOM: f64 = 270.0;

/// What the heading takes, which a picture of its own does without.
const HEADING: f64 = TOP - 24.0;

/// All eigenvalues of an estimate and the edge of the noise as a picture of its own for a page, which says around it
/// what is seen. So many of the largest are marked, as those that stand out.
pub fn spectrum(eigenvalues: &[f64], edge: f64, standing: usize) -> String {
    let description = format!(
        "{standing} of {} directions stand out. The spread along the first is {:.4}, and the noise edge is {edge:.4}.",
        eigenvalues.len(),
        eigenvalues.first().copied().unwrap_or_default()
    );
    let content = chart(Group::new(), eigenvalues, edge, standing);
    let content = content.set("transform", format!("translate(0 -{HEADING})"));
    let title = "The spread along each direction, and the noise edge";
    alone("spectrum-", title, &description, content, BOTTOM + 50.0 - HEADING)
}

pub(super) fn panel(answer: &Answer) -> Panel {
    let eigenvalues = answer.found.spectrum.as_deref().unwrap_or_default();
    let (count, standing) = (eigenvalues.len(), answer.all_standing());
    let test = answer.trust.rank_test.as_ref();
    let which = match test.and_then(RankTest::edge_beside_what_stands_out) {
        Some(_) => "Where nothing does any more, noise alone reaches the noise edge.",
        None => "The noise edge is that of noise beside no variance: what is above it need not stand out.",
    };
    let edge = answer.edge_beside_what_stands_out();
    let explanation = format!("{standing} of {count} stand out (marked). {which}");
    let content = chart(heading("Eigenvalues", &explanation), eigenvalues, edge, standing);
    Panel { content, height: BOTTOM + 44.0 }
}

/// Adds the eigenvalues, of which so many are marked, and the edge of the noise.
fn chart(mut group: Group, eigenvalues: &[f64], noise_edge: f64, marked: usize) -> Group {
    let count = eigenvalues.len();
    let values = eigenvalues.iter().copied().chain([0.0, noise_edge]);
    let y = LinearAxis::around(values, BOTTOM, TOP);
    let x = LinearAxis::around([1.0, count as f64], LEFT, RIGHT);
    group = vertical_axis(group, &y);
    let edge = y.position(noise_edge);
    // The name is on the other side of the line than the last dot.
    let below = if eigenvalues.last().is_some_and(|&last| last > noise_edge) { 16.0 } else { -6.0 };
    let name = match noise_edge {
        small if small.abs() < 1e-3 => format!("noise edge {small:.2e}"),
        edge => format!("noise edge {edge:.4}"),
    };
    group = group
        .add(line(LEFT, y.position(0.0), RIGHT, y.position(0.0), PALE))
        .add(dashed(LEFT, edge, RIGHT, edge, WARNING))
        .add(text(RIGHT, edge + below, &name, Anchor::END, WARNING));
    let places = (1..).map(|place| x.position(f64::from(place)));
    let points: Vec<_> = places.zip(eigenvalues.iter().map(|&value| y.position(value))).collect();
    group = group.add(polyline(&points, PALE));
    let radius = if count > 150 { 1.8 } else { 3.0 };
    // Those kept come last, on top of the others.
    for (index, &(x, y)) in points.iter().enumerate().rev() {
        let kept = index < marked;
        let (radius, color) = if kept { (4.5, ACCENT) } else { (radius, PALE) };
        let name = format!("eigenvalue {}: {:.5}", index + 1, eigenvalues[index]);
        group = group.add(dot(x, y, radius, color).add(Title::new(name)));
    }
    for tick in x.ticks().into_iter().filter(|tick| tick.fract() == 0.0 && (1.0..=count as f64).contains(tick)) {
        group = group.add(text(x.position(tick), BOTTOM + 20.0, &label(tick), Anchor::MIDDLE, MUTED));
    }
    group.add(text((LEFT + RIGHT) / 2.0, BOTTOM + 40.0, "Position", Anchor::MIDDLE, INK))
}
