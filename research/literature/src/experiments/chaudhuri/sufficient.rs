//! Theorem 7: the records that suffice PPCA for a correlation, beside those that it needs.
//!
//! Epsilon is that of PPCA for one record replaced, n public: with k = 1 the draw is exact, so it is proved
//! ([`Ppca`]).

use nalgebra::{DMatrix, DVector};

use crate::baselines::{Ppca, Sample, SubspaceEstimator as _};
use crate::experiments::{
    Agreement, Axis, Cell, Description, Experiment, ExperimentError, Figure, Findings, Grid, Level, Paper, Run, Scale,
    Series, Style, Table, Value, grouped, is, row, texts,
};
use crate::theorems;
use ldp_pca::prediction::Spectrum;
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;

pub(super) struct Sufficient;

/// One minus eta.
const PROBABILITY: f64 = 0.95;
/// lambda_1; the trace is 1.
const LARGEST: f64 = 0.5;
/// The parts of the theorem's n at which PPCA is run.
const SHARES: [f64; 12] = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.1, 0.2, 0.5, 1.0];

/// One setting.
#[derive(Clone, Copy)]
struct Setting {
    dimension: usize,
    gap: f64,
    epsilon: f64,
    rho: f64,
}

const BASE: Setting = Setting { dimension: 10, gap: 0.25, epsilon: 1.0, rho: 0.9 };
const SETTINGS: [Setting; 6] = [
    BASE,
    Setting { dimension: 50, ..BASE },
    Setting { dimension: 100, ..BASE },
    Setting { gap: 0.1, ..BASE },
    Setting { epsilon: 0.1, ..BASE },
    Setting { rho: 0.99, ..BASE },
];

impl Setting {
    fn name(self) -> String {
        let Self { dimension, gap, epsilon, rho } = self;
        format!("d = {dimension}, gap {gap}, epsilon {epsilon}, rho {rho}")
    }

    fn spectrum(self) -> Result<Spectrum, ExperimentError> {
        let second = LARGEST - self.gap;
        let others = (1.0 - LARGEST - second) / (self.dimension - 2) as f64;
        Ok(Spectrum::new(self.dimension, vec![LARGEST, second], others)?)
    }

    /// The theorem's number of records.
    fn promised(self) -> Result<f64, ExperimentError> {
        // Delta is another theorem's.
        let (epsilon, delta) = (Epsilon::new(self.epsilon)?, Delta::new(0.01)?);
        let target = Some(1.0 - self.rho * self.rho);
        let all = theorems::evaluate(&self.spectrum()?, Rank::new(1)?, epsilon, delta, None, target, None);
        Ok(theorems::value(&all, "ppca"))
    }

    /// The rows of all shares. With k = 1 PPCA draws exactly.
    fn rows(self, draws: u32, run: &mut Run<'_>) -> Result<Vec<Vec<Value>>, ExperimentError> {
        let Self { dimension, gap, epsilon, rho } = self;
        let (spectrum, promised) = (self.spectrum()?, self.promised()?);
        let eigenvalues =
            DVector::from_fn(dimension, |index, _| *spectrum.signals().get(index).unwrap_or(&spectrum.bulk()));
        let method = Ppca::new(Epsilon::new(epsilon)?);
        let row = |share: f64| {
            let records = (share * promised).ceil() as u64;
            let moments = DMatrix::from_diagonal(&eigenvalues);
            let sample = Sample::from_second_moment(moments, records, 1.0)?;
            let mut close = 0;
            for _ in 0..draws {
                let found = method.estimate(&sample, Rank::new(1)?, &mut run.rng)?.subspace;
                close += u32::from(found.basis()[0].abs() > rho);
            }
            let probability = f64::from(close) / f64::from(draws);
            Ok(row![dimension, gap, epsilon, rho, promised, share, records, probability])
        };
        SHARES.into_iter().map(row).collect()
    }

    fn conditions(self) -> [(&'static str, Value); 4] {
        let Self { dimension, gap, epsilon, rho } = self;
        [is("d", dimension), is("gap", gap), is("epsilon", epsilon), is("rho", rho)]
    }

    /// The mean of a column at a share of the theorem's n.
    fn mean(self, table: &Table, column: &'static str, share: f64) -> f64 {
        table.mean(column, &[&self.conditions()[..], &[is("share", share)]].concat())
    }
}

fn draws(scale: Scale) -> u32 {
    scale.choose(1000, 100)
}

/// The least share from which on the probability is reached at every share.
fn needed(table: &Table, setting: Setting) -> Option<f64> {
    let reached = |share: &f64| setting.mean(table, "probability", *share) >= PROBABILITY;
    SHARES.into_iter().rev().take_while(reached).last()
}

impl Experiment for Sufficient {
    fn description(&self) -> Description {
        Description {
            name: "chaudhuri-theorem-7",
            paper: Paper::Chaudhuri,
            title: "The records that suffice PPCA by Theorem 7, and those that it needs",
            paper_says: "Theorem 7, k = 1: with n > d / (epsilon gap (1 - rho)) (4 log(1/eta) / d + 2 log(8 lambda_1 / \
                ((1 - rho^2) gap))) the correlation of PPCA with the top direction is above rho with probability at \
                least 1 - eta. The paper does not measure it.",
            agrees_if: "Theorem 7 counts only where the rows break it: where PPCA misses the probability at the \
                theorem's n. The paper measures nothing.",
            columns: &["d", "gap", "epsilon", "rho", "promised", "share", "n", "probability"],
        }
    }

    fn parameters(&self, scale: Scale) -> Vec<(&'static str, String)> {
        vec![
            ("settings", format!("{} (ours)", SETTINGS.map(Setting::name).join("; "))),
            ("eigenvalues", format!("{LARGEST}, less the gap, and the others equal; their sum is 1 (ours)")),
            ("eta", format!("{:.2} (ours)", 1.0 - PROBABILITY)),
            ("n", format!("{SHARES:?} of the theorem's")),
            ("draws", format!("{} at each n, exact for k = 1", draws(scale))),
        ]
    }

    fn cells(&self, scale: Scale) -> Vec<Cell> {
        let cell =
            |setting: Setting| Cell::new(setting.name(), move |run: &mut Run<'_>| setting.rows(draws(scale), run));
        SETTINGS.map(cell).into()
    }

    fn agreement(&self, table: &Table) -> Agreement {
        let broken = table.rows().any(|row| row.number("share") == 1.0 && row.number("probability") < PROBABILITY);
        Agreement::of(&broken.then_some(false))
    }

    fn findings(&self, _: Scale, table: &Table) -> Findings {
        let mut findings = Findings::default();
        let mut grid = Grid {
            title: format!("n for a probability of {PROBABILITY}"),
            heads: texts(["setting", "Theorem 7", "needed", "share", "probability at a tenth of Theorem 7's n"]),
            rows: vec![],
        };
        let mut series = vec![];
        let (mut shares, mut reached, mut tenths) = (vec![], 0, 0);
        for setting in SETTINGS {
            let here = setting.conditions();
            series.push(Series::means(setting.name(), Style::Method, table, ("share", "probability"), &here));
            let at = |column, share: f64| setting.mean(table, column, share);
            let share = needed(table, setting);
            shares.extend(share);
            reached += usize::from(at("probability", 1.0) >= PROBABILITY);
            let cells = share.map_or(["more".to_owned(), "–".to_owned()], |share| {
                [grouped(at("n", share) as u64), share.to_string()]
            });
            let tenth = at("probability", 0.1);
            tenths += usize::from(tenth >= PROBABILITY);
            let [count, share] = cells;
            let promised = grouped(at("promised", 1.0).ceil() as u64);
            grid.rows.push(vec![setting.name(), promised, count, share, format!("{tenth:.3}")]);
        }
        findings.grids.push(grid);
        findings.figures.push(Figure {
            title: "Probability of a correlation above rho".into(),
            x: Axis::logarithmic("n as a share of Theorem 7's"),
            y: Axis::linear("probability"),
            series,
            levels: vec![Level { name: format!("{PROBABILITY}"), y: PROBABILITY }],
        });
        findings.measured.push(format!(
            "At Theorem 7's n PPCA reaches the probability in {reached} of {} settings. It needs {} to {} of that n, \
             up to the steps of the grid; in {tenths} settings a tenth suffices.",
            SETTINGS.len(),
            shares.iter().copied().fold(f64::INFINITY, f64::min),
            shares.iter().copied().fold(0.0, f64::max),
        ));
        findings.differences = texts([
            "The theorem is about all data with these two eigenvalues, and its proof bounds the volume of a cap. On \
             one law of records fewer suffice; the order in d, epsilon and the gap is not in question.",
        ]);
        findings
    }
}
