//! Figures 3 and 4: captured variance of real data sets against the number of records.

use rand::seq::index;

use super::{
    Methods, REAL, SWEEPS, data_set, decimals, eigenvalues, expected, mean_and_deviation, real_sample,
    sweeps_beside_the_papers,
};
use crate::experiments::local::side;
use crate::experiments::{
    Agreement, Axis, Cell, Description, Experiment, Figure, Findings, Grid, Paper, Run, Scale, Series, Style, Table,
    Value, is, labelled, row, texts,
};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;

pub(super) struct DataSize;

const EPSILON: f64 = 0.1;
const DELTA: f64 = 0.01;
/// The sizes of the subsets as shares of all records. The text does not give the values on the figures' axes.
const SHARES: [f64; 6] = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0];

/// Lines of the pictures and columns of the tables.
const METHODS: [(&str, Style); 5] = [
    ("PCA", Style::NonPrivate),
    ("PPCA", Style::Method),
    ("MOD-SULQ", Style::Method),
    ("double-cap + PCA", Style::Ours),
    ("random subspace", Style::Theory),
];

/// The numbers of runs.
struct Effort {
    subsets: u32,
    sweeps: usize,
    /// Draws of PPCA; of MOD-SULQ and random subspaces; of double-cap.
    draws: [usize; 3],
    shares: &'static [f64],
}

fn effort(scale: Scale) -> Effort {
    scale.choose(
        Effort { subsets: 5, sweeps: SWEEPS, draws: [10, 100, 10], shares: &SHARES },
        Effort { subsets: 2, sweeps: 200, draws: [2, 10, 1], shares: &[0.02, 0.1, 0.5, 1.0] },
    )
}

impl Experiment for DataSize {
    fn description(&self) -> Description {
        Description {
            name: "chaudhuri-figures-3-4",
            paper: Paper::Chaudhuri,
            title: "Captured variance of real data against n, at epsilon 0.1 (Figures 3 and 4)",
            paper_says: "PCA reaches its q_F for nearly all sizes. As n increases, PPCA approaches it. PPCA is \
                significantly better than MOD-SULQ, which is on par with a randomly chosen subspace except on \
                localization, whose d is much lower. 5 subsets of each size, 10 restarts of PPCA, 100 draws of \
                MOD-SULQ and of random projections; the figures' values are not in the text.",
            agrees_if: "For each data set: the gap between PCA and PPCA is smaller at the largest n than at the \
                smallest; PPCA captures more than MOD-SULQ at every n; MOD-SULQ, but on localization, less than twice \
                what a random subspace does at every n.",
            columns: &["data", "n", "subset", "method", "draw", "q_f", "eigenvalue", "threshold"],
        }
    }

    fn parameters(&self, scale: Scale) -> Vec<(&'static str, String)> {
        let effort = effort(scale);
        let [ppca, others, local] = effort.draws;
        vec![
            ("epsilon, delta of MOD-SULQ", format!("{EPSILON}, {DELTA}")),
            ("k", REAL.map(|(name, k)| format!("{name} {k}")).join(", ")),
            ("n", format!("{:?} of all records (ours)", effort.shares)),
            ("subsets of each size", format!("{} (the paper: 5)", effort.subsets)),
            ("sweeps of PPCA", sweeps_beside_the_papers(effort.sweeps)),
            (
                "draws of PPCA, of MOD-SULQ and random, of double-cap",
                format!("{ppca}, {others}, {local} (the paper: 10, 100)"),
            ),
        ]
    }

    fn cells(&self, scale: Scale) -> Vec<Cell> {
        let mut cells = vec![];
        for (name, k) in REAL {
            let set = data_set(name);
            let effort = effort(scale);
            let [ppca, others, local] = effort.draws;
            for &share in effort.shares {
                let size = (share * set.records as f64).round() as usize;
                // Only one subset contains all records.
                for subset in 0..if share < 1.0 { effort.subsets } else { 1 } {
                    let work = move |run: &mut Run<'_>| {
                        let mut all = index::sample(&mut run.rng, set.records as usize, size).into_vec();
                        all.sort_unstable();
                        let (moments, records) = real_sample(set, Some(&all), run)?;
                        let (rank, epsilon) = (Rank::new(k)?, Epsilon::new(EPSILON)?);
                        let spectrum = eigenvalues(&moments)?;
                        let prediction = expected(&spectrum, rank, moments.records(), epsilon)?;
                        let methods = Methods::new(epsilon, Delta::new(DELTA)?, (effort.sweeps, ppca), others, local);
                        let found = methods.captured(&moments, &records, rank, run)?;
                        let row = |(method, draw, captured): (&'static str, usize, f64)| -> Vec<Value> {
                            row![name, size, subset, method, draw, captured, spectrum[0], prediction.threshold]
                        };
                        Ok(found.into_iter().map(row).collect())
                    };
                    cells.push(Cell::new(format!("{name}-{size}-{subset}"), work).with_data(set));
                }
            }
        }
        cells
    }

    fn agreement(&self, table: &Table) -> Agreement {
        let mut found = vec![];
        for (name, _) in REAL {
            let sizes = table.distinct("n", &[is("data", name)]);
            let mean = |method, size: &Value| {
                table.mean("q_f", &[is("data", name), is("method", method), ("n", size.clone())])
            };
            if let [first, .., last] = &sizes[..] {
                let gap = |size| mean("PCA", size) - mean("PPCA", size);
                found.push(gap(last) < gap(first));
                found.push(sizes.iter().all(|size| mean("PPCA", size) > mean("MOD-SULQ", size)));
                let on_par = |size| mean("MOD-SULQ", size) < 2.0 * mean("random subspace", size);
                found.extend((name != "localization").then(|| sizes.iter().all(on_par)));
            }
        }
        Agreement::of(&found)
    }

    fn findings(&self, _: Scale, table: &Table) -> Findings {
        let mut findings = Findings::default();
        for (name, k) in REAL {
            let sizes = table.distinct("n", &[is("data", name)]);
            if sizes.is_empty() {
                continue;
            }
            findings.figures.push(Figure {
                title: format!("{name}, k = {k}: q_F of the subset"),
                x: Axis::logarithmic("n"),
                y: Axis::linear("q_F"),
                series: Series::of_methods(&METHODS, table, ("n", "q_f"), &[is("data", name)]),
                levels: vec![],
            });
            let of = |method, size: &Value| [is("data", name), is("method", method), ("n", size.clone())];
            let mean = |method, size| table.mean("q_f", &of(method, size));
            let row = |size| {
                labelled(size, METHODS.map(|(method, _)| mean_and_deviation(table, "q_f", &of(method, size), 4)))
            };
            findings.grids.push(Grid {
                title: format!("{name}: q_F, mean and standard deviation"),
                heads: labelled("n", METHODS.map(|(method, _)| method)),
                rows: sizes.iter().map(row).collect(),
            });
            let largest = &sizes[sizes.len() - 1];
            let at = |method| decimals(mean(method, largest), 4);
            findings.measured.push(format!(
                "{name}, n = {largest}: q_F of PCA {}, PPCA {}, MOD-SULQ {}, double-cap {}, a random subspace {}.",
                at("PCA"),
                at("PPCA"),
                at("MOD-SULQ"),
                at("double-cap + PCA"),
                at("random subspace"),
            ));
            let apart: Vec<String> = sizes
                .iter()
                .filter(|size| mean("MOD-SULQ", size) > 2.0 * mean("random subspace", size))
                .map(ToString::to_string)
                .collect();
            findings.measured.push(format!(
                "{name}: MOD-SULQ captures more than twice the variance that a random subspace does at n = {}.",
                if apart.is_empty() { "none of these".to_owned() } else { apart.join(", ") },
            ));
            let here = [is("data", name), ("n", largest.clone())];
            let (threshold, eigenvalue) = (table.mean("threshold", &here), table.mean("eigenvalue", &here));
            findings.measured.push(format!(
                "{name}, local: at n = {largest} an eigenvalue must exceed {} to be recovered at epsilon {EPSILON}; \
                 the largest is {}, {} this threshold.",
                decimals(threshold, 4),
                decimals(eigenvalue, 4),
                side(eigenvalue, threshold),
            ));
        }
        findings.differences = texts([
            "The paper's axis may end before the sizes at which MOD-SULQ leaves the line of random subspaces: the text \
             does not give its sizes.",
            "Here PPCA draws each column from its exact law given the others, so a chain settles within a few sweeps \
             (Figure 2).",
            "q_F is computed from the second moments of the subset. Its records are scaled by the feature maxima and \
             the largest norm of all records.",
        ]);
        findings
    }
}
