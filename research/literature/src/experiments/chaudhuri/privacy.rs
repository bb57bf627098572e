//! Section 6.5 and Figure 5: captured variance against epsilon, on synthetic records.

use rand_distr::{Distribution, StandardNormal};

use super::{Methods, decimals, eigenvalues, expected, mean_and_deviation};
use crate::baselines::Sample;
use crate::experiments::{
    Agreement, Axis, Cell, Description, Experiment, ExperimentError, Figure, Findings, Grid, Level, Paper, Run, Scale,
    Series, Style, Table, is, labelled, row,
};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;

pub(super) struct PrivacyRequirement;

const RECORDS: usize = 5000;
const RANK: usize = 2;
const DELTA: f64 = 0.05;
const SWEEPS: usize = 1000;
/// Eq. (27).
const EIGENVALUES: [f64; 10] = [0.5, 0.30, 0.04, 0.03, 0.02, 0.01, 0.004, 0.003, 0.001, 0.001];
/// The text does not give the points of the curve.
const EPSILONS: [f64; 8] = [0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0];

/// n Gaussian records, all divided by the norm of the longest.
pub(super) fn draw(run: &mut Run<'_>) -> Result<Sample, ExperimentError> {
    let values: Vec<f64> = (0..RECORDS)
        .flat_map(|_| EIGENVALUES)
        .map(|variance| variance.sqrt() * Distribution::<f64>::sample(&StandardNormal, &mut run.rng))
        .collect();
    let longest = Sample::new(EIGENVALUES.len(), values.clone())?.largest_norm();
    Ok(Sample::new(EIGENVALUES.len(), values.into_iter().map(|value| value / longest).collect())?)
}

/// Lines of the picture and columns of the table.
const METHODS: [(&str, Style); 3] =
    [("PPCA", Style::Method), ("MOD-SULQ", Style::Method), ("double-cap + PCA", Style::Ours)];

/// Data sets, draws of each method on each.
fn sizes(scale: Scale) -> (u32, usize) {
    scale.choose((10, 10), (3, 10))
}

/// The columns of each row.
const COLUMNS: &[&str] =
    &["data_set", "epsilon", "method", "draw", "q_f", "share", "eigenvalue", "threshold", "predicted_error"];

impl Experiment for PrivacyRequirement {
    fn description(&self) -> Description {
        Description {
            name: "chaudhuri-figure-5",
            paper: Paper::Chaudhuri,
            title: "Captured variance against epsilon: n = 5,000, d = 10, k = 2 (section 6.5, Figure 5)",
            paper_says: "Both MOD-SULQ and PPCA approach PCA without privacy as epsilon grows. For moderate epsilon \
                PPCA still captures most of the utility, whereas the gap between MOD-SULQ and PPCA becomes quite \
                large. 100 draws of each method; the figure's values are not in the text.",
            agrees_if: "The share that PPCA captures is larger at the largest epsilon than at the smallest; so is \
                MOD-SULQ's; PPCA is ahead at every epsilon; and at some epsilon it captures more than half of what PCA \
                does, and MOD-SULQ a quarter of that less. A random subspace's share does not change.",
            columns: COLUMNS,
        }
    }

    fn parameters(&self, scale: Scale) -> Vec<(&'static str, String)> {
        let (data_sets, draws) = sizes(scale);
        vec![
            ("n, d, k", format!("{RECORDS}, {}, {RANK}", EIGENVALUES.len())),
            ("eigenvalues", format!("{EIGENVALUES:?}")),
            ("norms", "all records divided by that of the longest, as section 6.1 does (6.5 does not say)".into()),
            ("delta of MOD-SULQ", DELTA.to_string()),
            ("sweeps of PPCA", SWEEPS.to_string()),
            ("epsilon", format!("{EPSILONS:?} (ours)")),
            ("draws", format!("{draws} of each method on each of {data_sets} data sets (the paper: 100 on one)")),
        ]
    }

    fn cells(&self, scale: Scale) -> Vec<Cell> {
        let (data_sets, draws) = sizes(scale);
        let cell = |set: u32| {
            Cell::new(format!("data-set-{set}"), move |run: &mut Run<'_>| {
                let sample = draw(run)?;
                let rank = Rank::new(RANK)?;
                let eigenvalues = eigenvalues(&sample)?;
                let mut rows = vec![];
                for value in EPSILONS {
                    let epsilon = Epsilon::new(value)?;
                    let methods = Methods::new(epsilon, Delta::new(DELTA)?, (SWEEPS, draws), draws, draws);
                    let prediction = expected(&eigenvalues, rank, sample.records(), epsilon)?;
                    let found = methods.captured(&sample, &sample, rank, run)?;
                    let best = found[0].2;
                    let (eigenvalue, threshold) = (eigenvalues[RANK - 1], prediction.threshold);
                    let error = prediction.sin_theta_squared;
                    rows.extend(found.into_iter().map(|(method, draw, captured)| {
                        row![set, value, method, draw, captured, captured / best, eigenvalue, threshold, error]
                    }));
                }
                Ok(rows)
            })
        };
        (0..data_sets).map(cell).collect()
    }

    fn agreement(&self, table: &Table) -> Agreement {
        let share = |method: &str, epsilon: f64| table.mean("share", &[is("method", method), is("epsilon", epsilon)]);
        let (first, last) = (EPSILONS[0], EPSILONS[EPSILONS.len() - 1]);
        let gap = |epsilon: f64| share("PPCA", epsilon) - share("MOD-SULQ", epsilon);
        Agreement::of(&[
            share("PPCA", last) > share("PPCA", first),
            share("MOD-SULQ", last) > share("MOD-SULQ", first),
            EPSILONS.iter().all(|epsilon| gap(*epsilon) > 0.0),
            EPSILONS.iter().any(|epsilon| share("PPCA", *epsilon) > 0.5 && gap(*epsilon) > 0.25),
        ])
    }

    fn findings(&self, _: Scale, table: &Table) -> Findings {
        let share = |method: &str, epsilon: f64| table.mean("share", &[is("method", method), is("epsilon", epsilon)]);
        let random = table.mean("share", &[is("method", "random subspace")]);
        let figure = Figure {
            title: "q_F of the private subspace as a share of PCA's".into(),
            x: Axis::logarithmic("epsilon"),
            y: Axis::linear("q_F / q_F(PCA)"),
            series: Series::of_methods(&METHODS, table, ("epsilon", "share"), &[]),
            levels: vec![Level { name: "PCA".into(), y: 1.0 }, Level { name: "random subspace".into(), y: random }],
        };
        let rows = EPSILONS.map(|epsilon| {
            let cell =
                |(method, _)| mean_and_deviation(table, "share", &[is("method", method), is("epsilon", epsilon)], 3);
            labelled(&epsilon, METHODS.map(cell))
        });
        let ordered =
            |epsilon: &&f64| share("PPCA", **epsilon) <= 1.0 && share("PPCA", **epsilon) > share("MOD-SULQ", **epsilon);
        let gap = |epsilon: &f64| share("PPCA", *epsilon) - share("MOD-SULQ", *epsilon);
        let widest = EPSILONS.iter().copied().max_by(|a, b| gap(a).total_cmp(&gap(b))).unwrap_or(EPSILONS[0]);
        let q_f = table.mean("q_f", &[is("method", "PCA")]);
        let last = EPSILONS[EPSILONS.len() - 1];
        let thresholds = |epsilon: f64| table.mean("threshold", &[is("epsilon", epsilon)]);
        let eigenvalue = table.mean("eigenvalue", &[]);
        let recoverable = EPSILONS.iter().find(|epsilon| thresholds(**epsilon) < eigenvalue);
        Findings {
            figures: vec![figure],
            grids: vec![Grid {
                title: "Share of PCA's captured variance, mean and standard deviation over draws".into(),
                heads: labelled("epsilon", METHODS.map(|(method, _)| method)),
                rows: rows.into(),
            }],
            measured: vec![
                format!(
                    "PCA ≥ PPCA > MOD-SULQ at {} of {} values of epsilon. The gap between PPCA and MOD-SULQ is widest \
                     at epsilon = {widest}: PPCA captures {} of PCA's variance, MOD-SULQ {}, a random subspace {}.",
                    EPSILONS.iter().filter(ordered).count(),
                    EPSILONS.len(),
                    percent(share("PPCA", widest)),
                    percent(share("MOD-SULQ", widest)),
                    percent(random),
                ),
                format!(
                    "At epsilon = {last} PPCA captures {} of PCA's variance, MOD-SULQ {}, and double-cap, without a \
                     curator, {}.",
                    percent(share("PPCA", last)),
                    percent(share("MOD-SULQ", last)),
                    percent(share("double-cap + PCA", last)),
                ),
                match recoverable {
                    Some(epsilon) => format!(
                        "Local: on average over the draws the second component (eigenvalue {}) is above the threshold \
                         of recovery from epsilon = {epsilon} on (threshold {} there, predicted for these \
                         eigenvalues), and below it at every smaller epsilon.",
                        decimals(eigenvalue, 4),
                        decimals(thresholds(*epsilon), 4),
                    ),
                    None => format!(
                        "Local: the second component (eigenvalue {}) lies below the threshold of recovery at every \
                         epsilon shown ({} at {last}, predicted for these eigenvalues): 5,000 records are too few for \
                         a local method.",
                        decimals(eigenvalue, 4),
                        decimals(thresholds(last), 4),
                    ),
                },
            ],
            differences: vec![format!(
                "Gaussian records are not bounded, and the text does not say how they were brought into the unit ball, \
                 as the guarantees require. After division by the largest norm, PCA captures q_F = {} (the eigenvalues \
                 before division give {}). This scaling does not change shares of q_F, but it moves the curves along \
                 epsilon.",
                decimals(q_f, 4),
                EIGENVALUES[..RANK].iter().sum::<f64>(),
            )],
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
