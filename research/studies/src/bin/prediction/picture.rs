//! The comparison as a picture: predicted against simulated errors, and the transition at the threshold.

use svg::Document;
use svg::node::element::{Circle, Group, Line, Path, Rectangle, Text, Title};

use super::{AROUND, Cell, Family, MULTIPLES, Transition};

const SIZE: (f64, f64) = (960.0, 450.0);
const INK: &str = "#1f2328";
const MUTED: &str = "#59636e";
const GRID: &str = "#e4e7eb";

/// Distinct in every common form of colour blindness; the second is drawn hollow.
fn color(family: Family) -> &'static str {
    match family {
        Family::DoubleCap => "#0b5cad",
        Family::Gaussian => "#b35900",
    }
}

/// A panel from values to positions.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    across: (f64, f64),
    up: (f64, f64),
    /// Whether the vertical axis is logarithmic; the horizontal one always is.
    log_up: bool,
}

impl Frame {
    fn x(&self, value: f64) -> f64 {
        let (low, high) = (self.across.0.ln(), self.across.1.ln());
        round(self.left + (value.ln() - low) / (high - low) * (self.right - self.left))
    }

    fn y(&self, value: f64) -> f64 {
        let of = |value: f64| if self.log_up { value.ln() } else { value };
        let (low, high) = (of(self.up.0), of(self.up.1));
        round(self.bottom - (of(value) - low) / (high - low) * (self.bottom - self.top))
    }

    fn axes(&self, ticks: &[f64], levels: &[f64], across: &str, up: &str) -> Group {
        let mut group = Group::new();
        for &tick in ticks {
            let x = self.x(tick);
            group = group.add(line((x, self.top), (x, self.bottom), GRID));
            group = group.add(text(&format!("{tick}"), (x, self.bottom + 18.0), "middle", MUTED));
        }
        for &level in levels {
            let y = self.y(level);
            group = group.add(line((self.left, y), (self.right, y), GRID));
            group = group.add(text(&format!("{level}"), (self.left - 6.0, y + 4.0), "end", MUTED));
        }
        group.add(text(across, (0.5 * (self.left + self.right), self.bottom + 38.0), "middle", INK)).add(text(
            up,
            (self.left, self.top - 10.0),
            "start",
            INK,
        ))
    }

    fn path(&self, points: impl Iterator<Item = (f64, f64)>, stroke: &str) -> Path {
        let steps: Vec<String> = points.map(|(x, y)| format!("{},{}", self.x(x), self.y(y))).collect();
        Path::new().set("d", format!("M{}", steps.join(" L"))).set("fill", "none").set("stroke", stroke)
    }
}

pub(super) fn draw(cells: &[Cell], transitions: &[Transition]) -> Document {
    let clear = cells.iter().filter(|cell| cell.predicted < 0.5).count();
    Document::new()
        .set("viewBox", (0.0, 0.0, SIZE.0, SIZE.1))
        .set("role", "img")
        .set("font-family", "system-ui, 'DejaVu Sans', sans-serif")
        .set("font-size", 13)
        .add(Title::new(format!(
            "Predicted errors against simulated ones for {} settings, {clear} of them predicted below 0.5, and the \
                transition at the threshold",
            cells.len()
        )))
        .add(Rectangle::new().set("width", SIZE.0).set("height", SIZE.1).set("fill", "#ffffff"))
        .add(errors(cells))
        .add(transition(transitions))
}

/// One mark for each cell of the grid.
fn errors(cells: &[Cell]) -> Group {
    let values = || cells.iter().flat_map(|cell| [cell.predicted, cell.simulated]);
    let least = 10f64.powf(values().fold(1.0, f64::min).log10().floor());
    let frame = Frame {
        left: 70.0,
        right: 460.0,
        top: 50.0,
        bottom: 390.0,
        across: (least, 1.0),
        up: (least, 1.0),
        log_up: true,
    };
    let decades: Vec<f64> = (0..=(-least.log10()).round() as i32).map(|power| 10f64.powi(-power)).collect();
    let mut group = frame.axes(&decades, &decades, "predicted error per component", "simulated error per component");
    // Within a tenth.
    let band =
        [(least, least / 1.1), (1.0, 1.0 / 1.1), (1.0, 1.0), (1.0 / 1.1, 1.0), (least, 1.1 * least), (least, least)];
    group = group.add(frame.path(band.into_iter().map(|(x, y)| (x, y.max(least))), "none").set("fill", "#dfe7ef"));
    group = group.add(frame.path([(least, least), (1.0, 1.0)].into_iter(), MUTED));
    for cell in cells {
        let at = (frame.x(cell.predicted), frame.y(cell.simulated));
        let what = format!(
            "{} epsilon {} d {} k {} n {}: {:.4} predicted, {:.4} simulated",
            cell.family.name(),
            cell.epsilon,
            cell.dimension,
            cell.rank,
            cell.records,
            cell.predicted,
            cell.simulated
        );
        group = group.add(mark(at, cell.family, 2.6).add(Title::new(what)));
    }
    for (index, family) in super::FAMILIES.into_iter().enumerate() {
        let at = 70.0 + 20.0 * index as f64;
        group = group.add(mark((86.0, at - 4.0), family, 3.5)).add(text(family.name(), (98.0, at), "start", INK));
    }
    group.add(text("band: within 10 %", (86.0, 110.0), "start", MUTED))
}

/// Means over mechanisms, epsilons and ranks.
fn transition(transitions: &[Transition]) -> Group {
    let frame = Frame {
        left: 550.0,
        right: 930.0,
        top: 50.0,
        bottom: 390.0,
        across: (MULTIPLES[0] / 1.1, MULTIPLES[MULTIPLES.len() - 1] * 1.1),
        up: (0.0, 0.8),
        log_up: false,
    };
    let levels = [0.0, 0.2, 0.4, 0.6, 0.8];
    let mut group = frame.axes(
        &MULTIPLES,
        &levels,
        "reports, in units of the predicted threshold",
        "share of a component that is found",
    );
    group =
        group.add(line((frame.x(1.0), frame.top), (frame.x(1.0), frame.bottom), MUTED).set("stroke-dasharray", "5 4"));
    for (dimension, dash, shade) in [(AROUND[0], "7 4", "#0b5cad"), (AROUND[1], "none", "#1f2328")] {
        let mean = |of: &dyn Fn(&Transition) -> &Vec<f64>| -> Vec<f64> {
            let chosen: Vec<&Transition> = transitions.iter().filter(|one| one.dimension == dimension).collect();
            let at = |index: usize| chosen.iter().map(|one| of(one)[index]).sum::<f64>() / chosen.len() as f64;
            (0..MULTIPLES.len()).map(at).collect()
        };
        let predicted = mean(&|one| &one.predicted);
        group = group.add(
            frame
                .path(MULTIPLES.into_iter().zip(predicted), shade)
                .set("stroke-width", 1.8)
                .set("stroke-dasharray", dash),
        );
        for (x, y) in MULTIPLES.into_iter().zip(mean(&|one| &one.simulated)) {
            group =
                group.add(Circle::new().set("cx", frame.x(x)).set("cy", frame.y(y)).set("r", 3.5).set("fill", shade));
        }
        let row = if dimension == AROUND[0] { 70.0 } else { 90.0 };
        group = group
            .add(
                line((566.0, row - 4.0), (596.0, row - 4.0), shade)
                    .set("stroke-width", 1.8)
                    .set("stroke-dasharray", dash),
            )
            .add(text(&format!("predicted, d = {dimension}; dots: simulated"), (604.0, row), "start", INK));
    }
    group
}

fn mark(at: (f64, f64), family: Family, radius: f64) -> Circle {
    let circle = Circle::new().set("cx", at.0).set("cy", at.1).set("r", radius).set("stroke", color(family));
    circle.set("fill", if family == Family::DoubleCap { color(family) } else { "none" })
}

fn line(from: (f64, f64), to: (f64, f64), stroke: &str) -> Line {
    Line::new().set("x1", from.0).set("y1", from.1).set("x2", to.0).set("y2", to.1).set("stroke", stroke)
}

fn text(content: &str, at: (f64, f64), anchor: &str, fill: &str) -> Text {
    Text::new(content).set("x", at.0).set("y", at.1).set("text-anchor", anchor).set("fill", fill)
}

fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
