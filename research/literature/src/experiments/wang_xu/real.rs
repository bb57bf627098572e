//! Figures 1 and 2: principal components of real records in low dimension.

use rand::seq::index;

use super::super::data::{DataSet, Scaling};
use super::super::text::{grouped, listed};
use super::super::{
    Agreement, Axis, Cell, Description, Experiment, ExperimentError, Findings, Paper, Rows, Run, Scale, Table, Value,
    is, row, texts,
};
use super::population::{DOUBLE_CAP, printed_noise};
use super::tables::of_unit_norm;
use super::{ALGORITHM_1, Change, Contender, RANDOM, SHARE, dense_contenders, figure, random_level, series, two};
use crate::baselines::{Pca, Sample, SubspaceEstimator};
use ldp_pca::prediction::{Planner, Spectrum};
use ldp_pca::privacy::Epsilon;
use ldp_pca::record::Bounding;
use ldp_pca::recovery::{Rank, principal_components};

/// Figures 1 (over n) and 2 (over epsilon).
pub(in crate::experiments) struct RealData;

/// The data set that is run where the paper's are missing.
const STAND_IN: &str = "kddcup99";
/// k; the paper does not print it for these figures.
const RANK: usize = 5;
/// Epsilon of Figure 1.
const EPSILON: f64 = 0.5;
/// The shares of the records in Figure 1.
const SHARES: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 1.0];
/// Epsilons of Figure 2.
const EPSILONS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];

impl RealData {
    /// The paper's three data sets, and KDD Cup 99, which replaces them where they are missing.
    fn data() -> impl Iterator<Item = &'static DataSet> {
        ["covertype", "buzz", "year", STAND_IN].into_iter().filter_map(DataSet::named)
    }

    fn settings(scale: Scale) -> Vec<(&'static str, f64, f64)> {
        let shares = scale.choose(&SHARES[..], &SHARES[2..]).iter().step_by(scale.choose(1, 2));
        let epsilons = scale.choose(&EPSILONS[..], &EPSILONS[1..]).iter().step_by(scale.choose(1, 3));
        let first = shares.map(|&share| ("n", share, EPSILON));
        first.chain(epsilons.map(|&epsilon| ("epsilon", 1.0, epsilon))).collect()
    }
}

/// Records of unit norm, from any of the files.
fn load(run: &Run<'_>, set: &'static DataSet) -> Result<Sample, ExperimentError> {
    if set.name == STAND_IN {
        let connections = run.data.connections()?;
        let all: Vec<usize> = (0..connections.records()).collect();
        return Ok(connections.sample(&all, Scaling::UnitNorm)?);
    }
    of_unit_norm(&*run.data.matrix(set)?)
}

impl Experiment for RealData {
    fn description(&self) -> Description {
        Description {
            name: "wang-xu-figures-1-2",
            paper: Paper::WangXu,
            title: "Low dimension, real records: error against n and epsilon",
            paper_says: "Algorithm 1 on Covertype, Buzz and Year with every record divided by its norm; Figure 1 has \
                the sample size on its axis, Figure 2 ε; the mean of 20 repetitions of ||VVᵀ − WWᵀ||_F. The text \
                prints neither numbers nor k.\n\n\
                “the error decreases as the sample size increases or ϵ increases (i.e., becomes less private)”",
            agrees_if: "The error of Algorithm 1, as a share of a random subspace's, falls by more than two standard \
                errors from the first point to the last: over n, and over ε, of each data set.",
            columns: &["data", "panel", "n", "p", "k", "epsilon", "first", "last", "next", "trial", "method", "error"],
        }
    }

    fn parameters(&self, scale: Scale) -> Vec<(&'static str, String)> {
        vec![
            ("k", format!("not printed: {RANK}")),
            ("n of Figure 1", format!("not printed: these parts of all records: {}", listed(&SHARES))),
            ("ε of Figure 1", format!("not printed: {EPSILON}, as in Figure 3")),
            ("ε of Figure 2", format!("not printed: {}", listed(&EPSILONS))),
            ("δ", format!("not printed: {}, as in Figure 3", super::DELTA)),
            ("the truth", "the components of all records without privacy".into()),
            ("stand-in", "KDD Cup 99 (116 features, unit norm), which is not in the paper".into()),
            ("points", scale.to_string()),
            ("repetitions", scale.choose(20, 2).to_string()),
        ]
    }

    fn cells(&self, scale: Scale) -> Vec<Cell> {
        let trials: u32 = scale.choose(20, 2);
        let mut cells = vec![];
        for set in Self::data() {
            for (panel, share, epsilon) in Self::settings(scale) {
                let key = format!("{}-{panel}-share{share}-epsilon{epsilon}", set.name);
                let work = move |run: &mut Run<'_>| cell_rows(run, set, (panel, share, epsilon), trials);
                cells.push(Cell::new(key, work).with_data(set));
            }
        }
        cells
    }

    fn agreement(&self, table: &Table) -> Agreement {
        let mut found = vec![];
        let mut sets = table.distinct("data", &[]);
        let stand_in = sets == [Value::from(STAND_IN)];
        sets.retain(|set| stand_in || *set != Value::from(STAND_IN));
        for set in sets {
            for panel in ["n", "epsilon"] {
                let here = [("data", set.clone()), is("panel", panel), is("method", ALGORITHM_1)];
                found.extend(Change::along(table, panel, &here, SHARE).map(|change| change.is_clear(false)));
            }
        }
        Agreement { stand_in, ..Agreement::of(&found) }
    }

    fn findings(&self, _: Scale, table: &Table) -> Findings {
        let mut findings = Findings::default();
        for set in table.distinct("data", &[]) {
            let here = [("data", set.clone())];
            let p = table.numbers("p", &here).first().copied().unwrap_or(0.0) as usize;
            let contenders = dense_contenders(EPSILON).unwrap_or_default();
            for (panel, label, which) in [("n", "records, n", "Figure 1"), ("epsilon", "ε", "Figure 2")] {
                let series = series(&contenders, table, panel, &[is("data", set.clone()), is("panel", panel)]);
                let (title, level) = (format!("{which}: {set}"), random_level(RANK, p));
                findings.figures.push(figure(title, Axis::logarithmic(label), series, Some(level)));
            }
            findings.measured.extend(Self::sentence(table, &set, p));
        }
        findings.differences = texts([
            "A component is found when the second moment along it is above the threshold. Those of real records differ \
             much from each other, and so the error falls gradually as n or ε grows.",
        ]);
        findings
    }
}

impl RealData {
    fn sentence(table: &Table, set: &Value, dimension: usize) -> Option<String> {
        let largest = table.numbers("n", &[("data", set.clone())]).into_iter().fold(0.0, f64::max);
        let here = [is("data", set.clone()), is("n", largest), is("epsilon", EPSILON)];
        let mut parts = vec![];
        for method in table.distinct("method", &here).into_iter().filter(|method| *method != RANDOM.into()) {
            let own = [&here[..], &[is("method", method.clone())]].concat();
            parts.push(format!("{method} {}", two(table.summary("error", &own)?.mean)));
        }
        let row = table.matching(&here).next()?;
        let [first, last, next] = ["first", "last", "next"].map(|column| row.number(column));
        let [printed, ours] = thresholds(dimension, [first, last, next], largest as u64).ok()?;
        Some(format!(
            "{set}, all {} records, ε = {EPSILON}, error: {}; a random subspace {}. The second moments along \
             components 1, {RANK} and {} are {first:.4}, {last:.4} and {next:.4}. The threshold of recovery is \
             {printed:.4} with the printed noise and {ours:.4} with double-cap.",
            grouped(largest as u64),
            parts.join(", "),
            two(random_level(RANK, dimension)),
            RANK + 1,
        ))
    }
}

/// The second moment above which a component is recoverable, with the printed noise and with double-cap.
fn thresholds(dimension: usize, variances: [f64; 3], records: u64) -> Result<[f64; 2], ExperimentError> {
    let [first, last, next] = variances;
    // An upper bound on the bulk: all variance outside the first component, spread over the others.
    let bulk = next.min((1.0 - first) / dimension as f64).max(0.0);
    let spectrum = Spectrum::new(dimension, vec![first, last.max(bulk)], bulk)?;
    let of = |family| -> Result<f64, ExperimentError> {
        let planner = Planner::new(spectrum.clone(), Rank::new(2)?, family, Bounding::UnitNorm)?;
        Ok(planner.predict(Epsilon::new(EPSILON)?, records)?.threshold)
    };
    Ok([of(printed_noise()?)?, of(DOUBLE_CAP)?])
}

fn cell_rows(
    run: &mut Run<'_>,
    set: &'static DataSet,
    (panel, share, epsilon): (&'static str, f64, f64),
    trials: u32,
) -> Result<Rows, ExperimentError> {
    let everything = load(run, set)?;
    let records = everything.records() as usize;
    let truth = Pca.estimate(&everything, Rank::new(RANK)?, &mut run.rng)?.subspace;
    let variances = principal_components(everything.second_moment(), Rank::new(RANK + 1)?)?.values;
    let count = ((share * records as f64).round() as usize).max(1);
    let (first, last, next) = (variances[0], variances[RANK - 1], variances[RANK]);
    let (name, p) = (set.name, everything.dimension());
    let contenders = dense_contenders(epsilon)?;
    let mut rows = vec![];
    for trial in 0..trials {
        let part;
        let sample = if count == records {
            &everything
        } else {
            let chosen = index::sample(&mut run.rng, records, count).into_vec();
            part = everything.part(&chosen, "a part of the records")?;
            &part
        };
        for (method, error) in Contender::errors(&contenders, sample, &truth, &mut run.rng)? {
            rows.push(row![name, panel, count, p, RANK, epsilon, first, last, next, trial, method, error]);
        }
    }
    Ok(rows)
}
