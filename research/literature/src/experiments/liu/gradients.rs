//! Figure 1: the mean of a minibatch's gradients beside their range.

use rand::RngExt as _;

use super::normal;
use crate::experiments::{
    Agreement, Axis, Cell, Description, Experiment, ExperimentError, Figure, Findings, Grid, Paper, Point, Run, Scale,
    Series, Style, Table, is, labelled, row, texts,
};

pub(super) struct Gradients;

/// "the minibatch of 400 gradients".
const BATCH: usize = 400;
/// w, halfway between v and the other axis.
const ITERATE: [f64; 2] = [core::f64::consts::FRAC_1_SQRT_2; 2];

/// A law of symmetric 2 x 2 matrices `A_i` whose mean has the first axis as its leading component.
#[derive(Clone, Copy, Debug)]
enum Law {
    /// `x x'`, x Gaussian with variances 1 and 0.1 (Remark 3.4).
    Gaussian,
    /// `x x'`, x of Example 4.1 with this sigma^2.
    Separated(f64),
    /// `diag(1, 0.1)` and symmetric Gaussian noise whose entries have this variance: of rank two, and not always
    /// positive (Assumption 1).
    Symmetric(f64),
}

const LAWS: [Law; 7] = [
    Law::Gaussian,
    Law::Separated(1e-1),
    Law::Separated(1e-2),
    Law::Separated(1e-4),
    Law::Symmetric(1.0),
    Law::Symmetric(1e-2),
    Law::Symmetric(1e-4),
];

impl Law {
    fn name(self) -> String {
        match self {
            Self::Gaussian => "Gaussian records".into(),
            Self::Separated(variance) => format!("Example 4.1, sigma^2 = {variance:e}"),
            Self::Symmetric(variance) => format!("matrices of rank two, variance {variance:e}"),
        }
    }

    /// `A_i w`.
    fn gradient(self, run: &mut Run<'_>) -> [f64; 2] {
        let [a, b, c] = match self {
            Self::Gaussian => outer(normal(run), 0.1f64.sqrt() * normal(run)),
            Self::Separated(variance) => {
                let sign = if run.rng.random_bool(0.5) { 1.0 } else { -1.0 };
                outer(sign + variance.sqrt() * normal(run), variance.sqrt() * normal(run))
            }
            Self::Symmetric(variance) => {
                let [a, b, c] = [normal(run), normal(run), normal(run)].map(|noise| variance.sqrt() * noise);
                [1.0 + a, b, 0.1 + c]
            }
        };
        [a * ITERATE[0] + b * ITERATE[1], b * ITERATE[0] + c * ITERATE[1]]
    }
}

/// The entries of `x x'`, without the second off-diagonal one.
fn outer(first: f64, second: f64) -> [f64; 3] {
    [first * first, first * second, second * second]
}

/// The corners of the convex hull, closed (Andrew's monotone chain).
fn hull(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let turns_left =
        |a: (f64, f64), b: (f64, f64), c: (f64, f64)| (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0) > 0.0;
    let chain = |points: &mut dyn Iterator<Item = &(f64, f64)>| {
        let mut chain: Vec<(f64, f64)> = vec![];
        for &point in points {
            while let [.., a, b] = chain[..]
                && !turns_left(a, b, point)
            {
                chain.pop();
            }
            chain.push(point);
        }
        chain
    };
    let mut corners = chain(&mut points.iter());
    corners.extend(chain(&mut points.iter().rev()).into_iter().skip(1));
    corners
}

/// The norm of the mean, and the largest distance between two points, which two corners of the hull have.
fn mean_and_range(points: &[(f64, f64)]) -> ((f64, f64), f64) {
    let count = points.len() as f64;
    let mean =
        (points.iter().map(|point| point.0).sum::<f64>() / count, points.iter().map(|p| p.1).sum::<f64>() / count);
    let corners = hull(points.to_vec());
    let distances = corners.iter().flat_map(|a| corners.iter().map(|b| (a.0 - b.0).hypot(a.1 - b.1)));
    (mean, distances.fold(0.0, f64::max))
}

fn points(table: &Table, law: Law) -> Vec<(f64, f64)> {
    table.matching(&[is("law", law.name())]).map(|row| (row.number("x"), row.number("y"))).collect()
}

impl Experiment for Gradients {
    fn description(&self) -> Description {
        Description {
            name: "liu-figure-1",
            paper: Paper::Liu,
            title: "The mean of 400 gradients in two dimensions, and their range (Figure 1)",
            paper_says: "Under Gaussian data (left) the average gradient is smaller than the range of the minibatch. \
                Under Example 4.1 (right) the range can be made arbitrarily smaller than the average gradient.",
            agrees_if: "The mean gradient is smaller than the range for Gaussian records, and more than five times as \
                large in Example 4.1 with the smallest sigma.",
            columns: &["law", "gradient", "x", "y"],
        }
    }

    fn parameters(&self, _: Scale) -> Vec<(&'static str, String)> {
        vec![
            ("gradients", BATCH.to_string()),
            ("w", "(1, 1) / sqrt(2) (ours)".into()),
            ("laws", LAWS.map(Law::name).join("; ") + " (the last three are ours, and so are the numbers of all)"),
            ("range", "the largest distance between two gradients".into()),
        ]
    }

    fn cells(&self, _: Scale) -> Vec<Cell> {
        let cell = |law: Law| {
            let work = move |run: &mut Run<'_>| {
                let row = |index| {
                    let [x, y] = law.gradient(run);
                    row![law.name(), index, x, y]
                };
                Ok::<_, ExperimentError>((0..BATCH).map(row).collect())
            };
            Cell::new(law.name(), work)
        };
        LAWS.map(cell).into()
    }

    fn agreement(&self, table: &Table) -> Agreement {
        let of = |wanted: fn(&Law) -> bool| {
            let laws = LAWS.into_iter().filter(wanted).map(|law| points(table, law));
            laws.filter(|points| !points.is_empty()).map(|points| {
                let (mean, range) = mean_and_range(&points);
                mean.0.hypot(mean.1) / range
            })
        };
        // A mean smaller than the range on the left; on the right one that is larger by far, where sigma is small.
        let left = of(|law| matches!(law, Law::Gaussian)).next().map(|ratio| ratio < 1.0);
        let right = of(|law| matches!(law, Law::Separated(_))).reduce(f64::max).map(|ratio| ratio > 5.0);
        Agreement::of(left.iter().chain(&right))
    }

    fn findings(&self, _: Scale, table: &Table) -> Findings {
        let mut findings = Findings::default();
        let heads = ["mean gradient", "range", "range / mean"];
        let mut grid = Grid { title: "Norms".into(), heads: labelled("law", heads), rows: vec![] };
        for law in LAWS {
            let points = points(table, law);
            if points.is_empty() {
                continue;
            }
            let (mean, range) = mean_and_range(&points);
            let norm = mean.0.hypot(mean.1);
            grid.rows.push(labelled(&law.name(), [norm, range, range / norm].map(|value| format!("{value:.3}"))));
            findings.measured.push(format!(
                "{}: the mean gradient, {norm:.3}, is {} than the range, {range:.3}.",
                law.name(),
                if norm < range { "smaller" } else { "larger" },
            ));
            let line = |name: &str, style, points: Vec<(f64, f64)>| Series {
                name: name.into(),
                style,
                points: points.into_iter().map(|(x, y)| Point::new(x, y)).collect(),
            };
            findings.figures.push(Figure {
                title: law.name(),
                x: Axis::linear("along v"),
                y: Axis::linear("across"),
                series: vec![
                    line("outline of the gradients", Style::Method, hull(points)),
                    line("mean gradient", Style::NonPrivate, vec![(0.0, 0.0), mean]),
                ],
                levels: vec![],
            });
        }
        findings.grids.push(grid);
        findings.differences =
            texts(["The figure's records and w are not in the text. Gradients of matrices that are \
            not x x', which Assumption 1 allows, behave alike: what counts is their spread."]);
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hull_is_closed_and_has_the_largest_distance() {
        let square = vec![(0.0, 0.0), (1.0, 0.0), (0.5, 0.4), (1.0, 1.0), (0.0, 1.0), (0.5, 0.0)];
        assert_eq!(hull(square.clone()), [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.0, 0.0)]);
        let (mean, range) = mean_and_range(&square);
        assert!((range - 2f64.sqrt()).abs() < 1e-15 && (mean.0 - 0.5).abs() < 1e-15, "{mean:?} {range}");
    }
}
