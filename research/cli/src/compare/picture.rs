//! Methods side by side: one line each with its error, grouped by whom it requires trust in.

use ldp_pca_literature::baselines::Trust;
use ldp_pca_literature::baselines::comparison::Quartiles;
use ldp_pca_pictures::axis::{LinearAxis, label};
use ldp_pca_pictures::canvas::{ACCENT, Anchor, GRID, INK, MUTED, PALE, WARNING, dashed, dot, heading, line, text};
use ldp_pca_pictures::{MARGIN, Panel, WIDTH, page};
use svg::node::element::{Group, Title};

const ROW: f64 = 26.0;
const TOP: f64 = 62.0;
const LEFT: f64 = MARGIN + 250.0;
const RIGHT: f64 = WIDTH - MARGIN - 150.0;
/// The least error with a place of its own: smaller ones are rounding.
const LEAST: f64 = 1e-6;

/// What is drawn.
pub(super) struct MethodsFigure {
    pub(super) subtitle: String,
    /// The error of a random subspace.
    pub(super) uninformed: f64,
    pub(super) panels: Vec<MethodsPanel>,
}

/// The methods at one epsilon.
pub(super) struct MethodsPanel {
    pub(super) title: String,
    pub(super) marks: Vec<MethodMark>,
}

/// One method.
pub(super) struct MethodMark {
    pub(super) name: &'static str,
    pub(super) trust: Trust,
    /// `None` where the method refuses.
    pub(super) error: Option<Quartiles>,
}

/// The comparison as an SVG document.
pub(super) fn methods(figure: &MethodsFigure) -> String {
    let errors = figure.panels.iter().flat_map(|panel| &panel.marks).filter_map(|mark| mark.error);
    let levels = errors.flat_map(|error| [error.lower, error.upper]).filter(|error| *error > LEAST);
    let scale = LinearAxis::around(levels.chain([figure.uninformed.max(LEAST)]).map(f64::log10), LEFT, RIGHT);
    let panels = figure.panels.iter().map(|panel| drawn(panel, figure.uninformed, &scale)).collect();
    page("Methods on the same records", &figure.subtitle, &description(figure), panels)
}

fn drawn(panel: &MethodsPanel, uninformed: f64, scale: &LinearAxis) -> Panel {
    let bottom = TOP + ROW * panel.marks.len() as f64;
    let mut group = heading(
        &panel.title,
        "||sin Theta||_F^2 from the components without privacy, logarithmic: the median, and a line over the middle \
            half.",
    );
    for tick in ticks(scale) {
        let x = scale.position(tick.log10());
        group = group.add(line(x, TOP, x, bottom, GRID));
        group = group.add(text(x, bottom + 18.0, &label(tick), Anchor::MIDDLE, MUTED));
    }
    if uninformed > LEAST {
        let x = scale.position(uninformed.log10());
        group = group.add(dashed(x, TOP, x, bottom, PALE));
        group = group.add(text(x, TOP - 6.0, "a random subspace", Anchor::END, MUTED));
    }
    for (index, mark) in panel.marks.iter().enumerate() {
        group = group.add(row(mark, TOP + ROW * (index as f64 + 0.5), scale));
    }
    Panel { content: group, height: bottom + 24.0 }
}

fn row(mark: &MethodMark, y: f64, scale: &LinearAxis) -> Group {
    let color = color(mark.trust);
    let name = Group::new().add(text(LEFT - 16.0, y + 4.5, mark.name, Anchor::END, INK));
    let trusted = text(RIGHT + 16.0, y + 4.5, &format!("trusts {}", mark.trust.word()), Anchor::START, color);
    let group = name.add(trusted);
    let at = |error: f64| scale.position(error.max(LEAST).log10()).max(LEFT);
    match mark.error {
        None => group.add(text(LEFT + 4.0, y + 4.5, "refuses", Anchor::START, MUTED)),
        Some(error) if error.upper <= LEAST => group.add(text(LEFT + 4.0, y + 4.5, "◂ 0", Anchor::START, color)),
        Some(error) => {
            let title = format!("{}: {:.4}, from {:.4} to {:.4}", mark.name, error.median, error.lower, error.upper);
            group
                .add(line(at(error.lower), y, at(error.upper), y, color).set("stroke-width", 3))
                .add(dot(at(error.median), y, 5.0, color).add(Title::new(title)))
        }
    }
}

fn color(trust: Trust) -> &'static str {
    match trust {
        Trust::Local => ACCENT,
        Trust::Providers | Trust::Curator => WARNING,
        Trust::Everybody | Trust::Nobody => MUTED,
    }
}

/// 1, 2 and 5 times powers of ten, the powers alone where that would be too many.
fn ticks(scale: &LinearAxis) -> Vec<f64> {
    let (low, high) = scale.range();
    scale.decades(1, if high - low > 2.2 { &[1.0] } else { &[1.0, 2.0, 5.0] })
}

/// The description for readers who cannot see the picture.
fn description(figure: &MethodsFigure) -> String {
    let said = |mark: &MethodMark| match mark.error {
        Some(error) => format!("{} {:.4}", mark.name, error.median),
        None => format!("{} refuses", mark.name),
    };
    let panels = figure
        .panels
        .iter()
        .map(|panel| format!("{}: {}.", panel.title, panel.marks.iter().map(said).collect::<Vec<_>>().join(", ")));
    format!("Median errors. {} A random subspace has {:.4}.", panels.collect::<Vec<_>>().join(" "), figure.uninformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_drawn_with_finite_numbers_and_said() {
        let quartiles = |median: f64| Some(Quartiles { lower: median / 2.0, median, upper: 2.0 * median });
        for (uninformed, errors) in [
            (2.9, vec![quartiles(0.0), quartiles(1e-30), quartiles(0.3), None]),
            (0.0, vec![quartiles(0.0)]),
            (1.0, vec![None]),
            (1.0, vec![]),
        ] {
            let marks: Vec<_> =
                errors.iter().map(|&error| MethodMark { name: "a <method>", trust: Trust::Curator, error }).collect();
            let panels = vec![MethodsPanel { title: "epsilon = 1".into(), marks }];
            let document = methods(&MethodsFigure { subtitle: String::new(), uninformed, panels });
            assert!(!document.contains("NaN") && !document.contains("inf"), "{document}");
            assert_eq!(document.matches("\na &lt;method&gt;\n").count(), errors.len(), "{document}");
            let refusals = errors.iter().filter(|error| error.is_none()).count();
            assert_eq!(document.matches("\nrefuses\n").count(), refusals);
            assert_eq!(document.matches("a &lt;method&gt; refuses").count(), refusals);
        }
    }
}
