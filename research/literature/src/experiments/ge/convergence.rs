//! Figure 3: the distance from the truth round by round.

use super::model::{Model, TOP};
use super::{KEPT_ROWS, RANK, RECORDS, ROUNDS, SPARSITY, Start, expected, trajectory};
use crate::baselines::{Pca, Sample, SubspaceEstimator as _};
use crate::experiments::local::side;
use crate::experiments::{
    Agreement, Axis, Cell, Description, Experiment, ExperimentError, Figure, Findings, Grid, Level, Paper, Point, Run,
    Scale, Series, Style, Table, is, labelled, row, texts,
};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;
use ldp_pca::subspace::sin_theta_squared;
use ldp_pca_dps::scale::{self, Messages};

pub(super) struct Convergence;

const DIMENSION: usize = 1000;
/// The text says epsilon = 1 for panel (b), the caption 2.
const PANEL_A: [(f64, f64); 4] = [(0.2, 0.3), (0.5, 0.3), (1.0, 0.3), (2.0, 0.3)];
const PANEL_B: [(f64, f64); 3] = [(1.0, 0.01), (1.0, 0.05), (1.0, 0.1)];

/// The variants: name, whether records are in the unit ball, whether the noise is the printed one, and the start.
const VARIANTS: [(&str, bool, bool, Start); 5] = [
    ("as drawn", false, true, Start::Dense),
    ("as drawn, start thresholded", false, true, Start::Thresholded),
    ("unit ball, printed noise", true, true, Start::Dense),
    ("unit ball, start near the truth", true, true, Start::Near),
    ("unit ball, least noise", true, false, Start::Dense),
];

const PCA: &str = "PCA";

fn trials(scale: Scale) -> u32 {
    scale.choose(10, 2)
}

/// The columns of its table.
const COLUMNS: &[&str] =
    &["variant", "epsilon", "delta", "trial", "round", "error", "double_cap", "threshold", "eigenvalue"];

impl Experiment for Convergence {
    fn description(&self) -> Description {
        Description {
            name: "ge-figure-3",
            paper: Paper::Ge,
            title: "DPS-PCA round by round: d = 1,000, n = 100,000, k = 5, s = 10 (Figure 3)",
            paper_says: "More stringent privacy constraints cause slower convergence and larger error of Q(T), in \
                panel (a) for smaller epsilon at delta = 0.3, in (b) for smaller delta at epsilon = 1 (the caption \
                says 2). The curves' values are not in the text.",
            agrees_if: "The error after the last round is larger at the smallest epsilon, and at the smallest delta, \
                than at the largest, by more than two standard errors: counted for each variant.",
            columns: COLUMNS,
        }
    }

    fn parameters(&self, scale: Scale) -> Vec<(&'static str, String)> {
        vec![
            ("n, d, k, s", format!("{RECORDS}, {DIMENSION}, {RANK}, {SPARSITY}")),
            ("kept rows, T, providers", format!("{KEPT_ROWS}, {ROUNDS}, 1")),
            ("eigenvalues", "100 five times, the others uniform on [0, 10]".into()),
            ("epsilon, delta", format!("{PANEL_A:?}, {PANEL_B:?} (ours but for delta = 0.3 and epsilon = 1)")),
            ("records", "second moments from Wishart's law".into()),
            ("trials", trials(scale).to_string()),
        ]
    }

    fn cells(&self, scale: Scale) -> Vec<Cell> {
        let cell = |trial: u32| {
            let work = move |run: &mut Run<'_>| {
                let rank = Rank::new(RANK)?;
                let model = Model::draw(DIMENSION, rank, SPARSITY, RECORDS, &mut run.rng)?;
                let drawn = model.moments(RECORDS, false, &mut run.rng)?;
                let square = model.radius.powi(2);
                let scaled = Sample::from_second_moment(drawn.second_moment() / square, RECORDS, 1.0)?;
                let pca = sin_theta_squared(&Pca.estimate(&drawn, rank, &mut run.rng)?.subspace, &model.truth)?.sqrt();
                let mut rows = vec![];
                for (epsilon, delta) in PANEL_A.into_iter().chain(PANEL_B) {
                    let local = expected(&model, epsilon)?;
                    let (predicted, threshold) = (local.sin_theta_squared.sqrt(), local.threshold);
                    let eigenvalue = TOP / square;
                    let mut push = |variant, round: usize, error| {
                        let row = row![variant, epsilon, delta, trial, round, error, predicted, threshold, eigenvalue];
                        rows.push(row);
                    };
                    push(PCA, ROUNDS as usize, pca);
                    let (e, d) = (Epsilon::new(epsilon)?, Delta::new(delta)?);
                    let messages = Messages { dimension: DIMENSION, rank, rounds: ROUNDS };
                    let (printed, least) = (scale::formula(e, d, ROUNDS), scale::corrected(e, d, messages, 1.0)?);
                    for (name, unit_ball, as_printed, start) in VARIANTS {
                        let sample = if unit_ball { &scaled } else { &drawn };
                        let sigma = if as_printed { printed } else { least };
                        let path = trajectory(&model, sample, Some(sigma), start, run)?;
                        path.into_iter().enumerate().for_each(|(round, error)| push(name, round, error));
                    }
                }
                Ok::<_, ExperimentError>(rows)
            };
            Cell::new(format!("trial-{trial}"), work)
        };
        (0..trials(scale)).map(cell).collect()
    }

    fn agreement(&self, table: &Table) -> Agreement {
        let at_end = |variant: &str, (epsilon, delta): (f64, f64)| {
            let here = [is("variant", variant), is("epsilon", epsilon), is("delta", delta), is("round", ROUNDS)];
            table.summary("error", &here)
        };
        let larger = |variant, panel: &[(f64, f64)]| {
            let ends = (at_end(variant, panel[0]), at_end(variant, panel[panel.len() - 1]));
            matches!(ends, (Some(first), Some(last)) if first.is_clearly_above(&last))
        };
        Agreement::of(&VARIANTS.map(|(variant, ..)| [larger(variant, &PANEL_A), larger(variant, &PANEL_B)]).concat())
    }

    fn findings(&self, _: Scale, table: &Table) -> Findings {
        let random = (RANK as f64 * (1.0 - RANK as f64 / DIMENSION as f64)).sqrt();
        let pca = table.mean("error", &[is("variant", PCA)]);
        let at_end = |variant: &str, (epsilon, delta): (f64, f64)| {
            let here = [is("variant", variant), is("epsilon", epsilon), is("delta", delta), is("round", ROUNDS)];
            table.mean("error", &here)
        };
        let mut findings = Findings::default();
        for (variant, ..) in VARIANTS {
            for (panel, settings) in [("(a) delta = 0.3", &PANEL_A[..]), ("(b) epsilon = 1", &PANEL_B[..])] {
                let line = |(epsilon, delta): (f64, f64)| {
                    let name =
                        if panel.starts_with("(a)") { format!("epsilon {epsilon}") } else { format!("delta {delta}") };
                    let here = [is("variant", variant), is("epsilon", epsilon), is("delta", delta)];
                    Series::means(name, Style::Method, table, ("round", "error"), &here)
                };
                let epsilon = settings[settings.len() - 1].0;
                let local = table.mean("double_cap", &[is("epsilon", epsilon)]);
                // Double-cap has no rounds: a horizontal line, which lies on that of a random subspace.
                let ours = Series {
                    name: "double-cap (predicted)".into(),
                    style: Style::Ours,
                    points: [0, ROUNDS].map(|round| Point::new(f64::from(round), local)).into(),
                };
                findings.figures.push(Figure {
                    title: format!("{panel}: {variant}"),
                    x: Axis::linear("round t"),
                    y: Axis::logarithmic("|sin Theta|_F of Q(t + 1)"),
                    series: settings.iter().map(|setting| line(*setting)).chain([ours]).collect(),
                    levels: vec![
                        Level { name: "PCA".into(), y: pca },
                        Level { name: "random subspace".into(), y: random },
                    ],
                });
            }
        }
        let all: Vec<(f64, f64)> = PANEL_A.into_iter().chain(PANEL_B).collect();
        let row = |(variant, ..): (&'static str, _, _, _)| {
            labelled(variant, all.iter().map(|setting| format!("{:.3}", at_end(variant, *setting))))
        };
        findings.grids.push(Grid {
            title: format!("|sin Theta|_F after {ROUNDS} rounds (PCA {pca:.4}, a random subspace {random:.3})"),
            heads: labelled("variant", all.iter().map(|(epsilon, delta)| format!("({epsilon}, {delta})"))),
            rows: VARIANTS.map(row).into(),
        });
        let drawn = VARIANTS[0].0;
        findings.measured.push(format!(
            "Records as drawn, with the printed noise: {:.4} at epsilon = {}, {:.4} at epsilon = {}. Privacy seems to \
             cost nothing, because the noise is scaled to records of norm 1, and these have a norm of some 74.",
            at_end(drawn, PANEL_A[0]),
            PANEL_A[0].0,
            at_end(drawn, PANEL_A[3]),
            PANEL_A[3].0,
        ));
        findings.measured.push(format!(
            "In the unit ball, at (1, 0.3): {:.3} with the printed noise from a random start, {:.3} from a start near \
             the truth, {:.3} with the least noise that gives the same guarantee; at (0.2, 0.3): {:.3}, {:.3} and \
             {:.3}.",
            at_end(VARIANTS[2].0, (1.0, 0.3)),
            at_end(VARIANTS[3].0, (1.0, 0.3)),
            at_end(VARIANTS[4].0, (1.0, 0.3)),
            at_end(VARIANTS[2].0, (0.2, 0.3)),
            at_end(VARIANTS[3].0, (0.2, 0.3)),
            at_end(VARIANTS[4].0, (0.2, 0.3)),
        ));
        let thresholded = [is("variant", VARIANTS[1].0), is("round", ROUNDS)];
        let ends = table.numbers("error", &thresholded);
        findings.measured.push(format!(
            "When a random start is thresholded to {KEPT_ROWS} of {DIMENSION} rows, as line 1 prints, {} of {} runs \
             find nothing, even with records as drawn: with probability {:.2} none of the {SPARSITY} nonzero rows is \
             kept.",
            ends.iter().filter(|error| **error > 0.9 * random).count(),
            ends.len(),
            (1.0 - KEPT_ROWS as f64 / DIMENSION as f64).powi(SPARSITY as i32),
        ));
        let [eigenvalue, threshold] =
            ["eigenvalue", "threshold"].map(|column| table.mean(column, &[is("epsilon", 2.0)]));
        if !eigenvalue.is_nan() {
            findings.measured.push(format!(
                "Local: in the unit ball the leading eigenvalue is {eigenvalue:.4}. At epsilon = 2 it is {} the \
                 threshold of recovery without sparsity, {threshold:.4} (means over trials). Double-cap's line is a \
                 prediction, not a run.",
                side(eigenvalue, threshold),
            ));
        }
        findings.differences = texts([
            "The text makes Q(0) an input, and leaves its quality to an appendix that was not at hand. Ours is random \
             and public, and the first round keeps all rows; the variants show the effect of other starts.",
            "Gaussian records have no bound. \"In the unit ball\" means that they are divided by a norm that \
             any record exceeds with probability at most 1/1000 (Laurent & Massart 2000).",
        ]);
        findings
    }
}
