//! The penalties that were tried: the sizes of their supports, and their cross-validated scores.

use ldp_pca::recovery::{Answer, CrossValidationPoint};
use svg::node::element::{Group, Title};

use super::axis::LinearAxis;
use super::canvas::{
    ACCENT, Anchor, GRID, INK, MUTED, PALE, WARNING, dashed, dot, heading, line, polyline, text, vertical_axis,
};
use super::{LEFT, Panel, RIGHT};

const TOP: f64 = 56.0;
const HEIGHT: f64 = 150.0;
const BETWEEN: f64 = 40.0;

/// What is known of several penalties.
pub(super) struct Tried {
    /// Penalties and the sizes of their supports; empty when only one was solved.
    pub(super) sizes: Vec<(f64, f64)>,
    /// Penalties, their cross-validated scores and standard errors; empty without cross-validation.
    pub(super) scores: Vec<(f64, f64, f64)>,
}

impl Tried {
    pub(super) fn of(Answer { found, .. }: &Answer) -> Self {
        let sparse = found.sparse.as_ref();
        let scored = sparse.and_then(|sparse| sparse.cross_validation.as_deref()).unwrap_or_default();
        let sizes = match &found.path {
            Some(path) => path.iter().map(|point| (point.penalty.value(), point.support.len() as f64)).collect(),
            None => scored.iter().map(|point| (point.penalty.value(), point.mean_support)).collect(),
        };
        let score = |point: &CrossValidationPoint| (point.penalty.value(), point.mean_score, point.standard_error);
        Self { sizes, scores: scored.iter().map(score).collect() }
    }
}

/// Nothing when only one penalty was solved.
pub(super) fn panel(tried: &Tried, chosen: Option<f64>) -> Option<Panel> {
    if tried.sizes.is_empty() {
        return None;
    }
    let scored = !tried.scores.is_empty();
    let axis = PenaltyAxis::of(tried, chosen);
    let explanation = if scored {
        "Features that take part, and the variance captured in folds not used (bars: standard error of the difference \
            from the best)."
    } else {
        "Features that take part, from the penalty where the solution is diagonal downwards."
    };
    let mut group = heading("Penalty", explanation);
    let mut bottom = TOP + HEIGHT;
    let y = LinearAxis::around(tried.sizes.iter().map(|point| point.1).chain([0.0]), bottom, TOP);
    group = vertical_axis(group, &y);
    group = group.add(text(LEFT, TOP - 6.0, "Features", Anchor::START, INK).set("font-size", 12));
    group = curve(group, &axis, &y, &tried.sizes, "features");
    if scored {
        let top = bottom + BETWEEN;
        bottom = top + HEIGHT;
        let range = tried.scores.iter().flat_map(|(_, score, error)| [score - error, score + error]);
        let y = LinearAxis::around(range, bottom, top);
        group = vertical_axis(group, &y);
        group = group.add(text(LEFT, top - 6.0, "Score", Anchor::START, INK).set("font-size", 12));
        for (penalty, score, error) in &tried.scores {
            let x = axis.position(*penalty);
            group = group
                .add(line(x, y.position(score - error), x, y.position(score + error), PALE).set("stroke-width", 2));
        }
        let scores: Vec<_> = tried.scores.iter().map(|&(penalty, score, _)| (penalty, score)).collect();
        group = curve(group, &axis, &y, &scores, "score");
    }
    if let Some(chosen) = chosen {
        let x = axis.position(chosen);
        let anchor = if x > (LEFT + RIGHT) / 2.0 { Anchor::END } else { Anchor::START };
        let name = format!(" used: {} ", penalty_label(chosen));
        group = group.add(dashed(x, TOP, x, bottom, WARNING)).add(text(x, TOP - 6.0, &name, anchor, WARNING));
    }
    for penalty in axis.ticks() {
        let x = axis.position(penalty);
        let name = text(x, bottom + 20.0, &penalty_label(penalty), Anchor::MIDDLE, MUTED);
        group = group.add(line(x, bottom, x, bottom + 5.0, GRID)).add(name);
    }
    group = group.add(text((LEFT + RIGHT) / 2.0, bottom + 40.0, "Penalty (logarithmic)", Anchor::MIDDLE, INK));
    Some(Panel { content: group, height: bottom + 44.0 })
}

fn curve(group: Group, axis: &PenaltyAxis, y: &LinearAxis, points: &[(f64, f64)], what: &str) -> Group {
    let position = |&(penalty, value): &(f64, f64)| (axis.position(penalty), y.position(value));
    let positions: Vec<_> = points.iter().map(position).collect();
    let group = group.add(polyline(&positions, ACCENT));
    positions.iter().zip(points).fold(group, |group, (&(x, y), (penalty, value))| {
        let name = format!("penalty {}: {value:.5} {what}", penalty_label(*penalty));
        group.add(dot(x, y, 3.5, ACCENT).add(Title::new(name)))
    })
}

fn penalty_label(penalty: f64) -> String {
    if penalty == 0.0 { "0".to_owned() } else { format!("{penalty:.1e}") }
}

/// A logarithmic axis with 0 a step left of the smallest other penalty.
struct PenaltyAxis {
    scale: LinearAxis,
    /// The place of 0 on the scale of logarithms.
    zero: f64,
    penalties: Vec<f64>,
}

impl PenaltyAxis {
    fn of(tried: &Tried, chosen: Option<f64>) -> Self {
        let sizes = tried.sizes.iter().map(|point| point.0);
        let mut penalties: Vec<f64> = sizes.chain(tried.scores.iter().map(|point| point.0)).chain(chosen).collect();
        penalties.sort_by(f64::total_cmp);
        penalties.dedup();
        let smallest = penalties.iter().copied().find(|penalty| *penalty > 0.0).unwrap_or(1.0);
        let zero = smallest.ln() - std::f64::consts::LN_2;
        // The logarithm of 0 is below all others.
        let places = penalties.iter().map(|penalty| penalty.ln().max(zero));
        Self { scale: LinearAxis::around(places, LEFT, RIGHT), zero, penalties }
    }

    fn position(&self, penalty: f64) -> f64 {
        self.scale.position(penalty.ln().max(self.zero))
    }

    /// Penalties that were tried, far enough apart for their names.
    fn ticks(&self) -> Vec<f64> {
        let mut ticks = self.penalties.clone();
        ticks.dedup_by(|next, last| self.position(*next) - self.position(*last) < 64.0);
        ticks
    }
}
