//! Bytes on the wire, from the encoded messages of a session.

use super::model::Model;
use super::{KEPT_ROWS, RANK, RECORDS, ROUNDS, SPARSITY};
use crate::baselines::BaselineError;
use crate::experiments::{
    Agreement, Axis, Cell, Description, Experiment, ExperimentError, Figure, Findings, Grid, Paper, Run, Scale, Series,
    Style, Table, is, labelled, row, texts,
};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;
use ldp_pca_dps::{Accounting, Message, NoiseSource, Parameters, Provider, Session, State};

pub(super) struct Traffic;

const PROVIDERS: [u32; 3] = [1, 10, 100];
/// Those of section 5.1 at epsilon = 1.
const EPSILON: f64 = 1.0;
const DELTA: f64 = 0.3;
/// Bytes of a number in double precision.
const DOUBLE: f64 = 8.0;

fn dimension(scale: Scale) -> usize {
    scale.choose(1000, 200)
}

/// The bytes of each round in both directions, over all providers.
fn session(dimension: usize, providers: u32, run: &mut Run<'_>) -> Result<Vec<[usize; 2]>, ExperimentError> {
    let parameters = Parameters {
        version: 1,
        dimension,
        rank: RANK,
        kept_rows: KEPT_ROWS,
        rounds: ROUNDS,
        providers,
        epsilon: Epsilon::new(EPSILON)?,
        delta: Delta::new(DELTA)?,
        accounting: Accounting::Corrected,
        norm_bound: 1.0,
        start: 1,
    };
    let refused = BaselineError::Failed { method: "DPS-PCA", what: "a session refused its parameters" };
    let session = Session::new(parameters).map_err(|_| refused)?;
    let model = Model::draw(dimension, Rank::new(RANK)?, SPARSITY, RECORDS, &mut run.rng)?;
    let moments = model.moments(RECORDS, true, &mut run.rng)?;
    // The server only sees sums, so all providers may hold the same moments.
    let provider = Provider::from_second_moment(moments.second_moment(), RECORDS / u64::from(providers))?;
    let sources: Vec<NoiseSource> = (0..providers).map(|_| NoiseSource::draw(&mut run.rng)).collect();
    let mut coordinator = session.coordinator()?;
    let mut rounds = vec![];
    while !coordinator.finished() {
        let (round, basis) = (coordinator.round(), coordinator.basis());
        // Each provider asks once, when nobody has answered this round yet.
        let state = State {
            session: session.id().to_string(),
            round,
            rounds: ROUNDS,
            finished: false,
            failed: None,
            missing: (1..=providers).collect(),
            answered: Some(round - 1),
            basis: basis.column_iter().map(|column| column.iter().copied().collect()).collect(),
        };
        let state = serde_json::to_string(&state).map_or(0, |text| text.len());
        let answer = |source: &NoiseSource| provider.answer(basis, session.scale(), &mut source.of_round(round));
        let answers = sources.iter().map(answer).collect::<Result<Vec<_>, _>>()?;
        let sum = session.scale().sum(session.shape(), answers.iter().map(Vec::as_slice));
        let up = answers.into_iter().map(|cells| Message { round, cells }.to_json().len()).sum();
        rounds.push([up, state * providers as usize]);
        coordinator.advance(&sum)?;
    }
    Ok(rounds)
}

impl Experiment for Traffic {
    fn description(&self) -> Description {
        Description {
            name: "ge-messages",
            paper: Paper::Ge,
            title: "Bytes on the wire of DPS-PCA with 1, 10 and 100 providers",
            paper_says: "In each iteration the server sends Q(t), a d x k matrix, to every provider, and every \
                provider sends back H_i, a d x k matrix. The paper counts no bytes: its focus is \"the privacy \
                preservation feature of distributed PCA instead of its communication efficiency\".",
            agrees_if: "The paper counts no bytes.",
            columns: &["d", "providers", "round", "up", "down", "printed"],
        }
    }

    fn parameters(&self, scale: Scale) -> Vec<(&'static str, String)> {
        vec![
            ("n, d, k, s", format!("{RECORDS}, {}, {RANK}, {SPARSITY}", dimension(scale))),
            ("kept rows, T", format!("{KEPT_ROWS}, {ROUNDS}")),
            ("epsilon, delta", format!("{EPSILON}, {DELTA}, the least noise")),
            ("providers", format!("{PROVIDERS:?} (ours)")),
            ("the paper's count", "d k numbers in each direction for each provider, in double precision".into()),
            ("counted", "bodies of requests and answers in JSON, each state read once; no headers".into()),
        ]
    }

    fn cells(&self, scale: Scale) -> Vec<Cell> {
        let dimension = dimension(scale);
        let cell = |providers: u32| {
            let work = move |run: &mut Run<'_>| {
                let printed = DOUBLE * (dimension * RANK) as f64 * f64::from(providers);
                let rounds = session(dimension, providers, run)?;
                let row =
                    |(index, [up, down]): (usize, [usize; 2])| row![dimension, providers, index + 1, up, down, printed];
                Ok(rounds.into_iter().enumerate().map(row).collect())
            };
            Cell::new(format!("providers-{providers}"), work)
        };
        PROVIDERS.map(cell).into()
    }

    fn agreement(&self, _: &Table) -> Agreement {
        Agreement::default()
    }

    fn findings(&self, _: Scale, table: &Table) -> Findings {
        let mut findings = Findings::default();
        let heads = ["up, mean", "down, round 1", "down, later rounds", "one direction as printed"];
        let mut grid = Grid {
            title: "Bytes of a round over all providers".into(),
            heads: labelled("providers", heads),
            rows: vec![],
        };
        for providers in PROVIDERS {
            let here = [is("providers", providers)];
            let [up, printed] = ["up", "printed"].map(|column| table.mean(column, &here));
            let down = table.numbers("down", &here);
            let Some((first, later)) = down.split_first() else { continue };
            let later = later.iter().sum::<f64>() / later.len() as f64;
            grid.rows.push(labelled(&providers, [up, *first, later, printed].map(|bytes| format!("{bytes:.0}"))));
            findings.measured.push(format!(
                "{providers} provider{}: a round sends {up:.0} bytes to the server, {:.2} times the {printed:.0} of \
                 the paper's d k numbers in double precision. The server sends {first:.0} bytes in round 1 ({:.2} \
                 times) and {later:.0} in later rounds ({:.2} times).",
                if providers == 1 { "" } else { "s" },
                up / printed,
                first / printed,
                later / printed,
            ));
        }
        findings.grids.push(grid);
        let methods = [("up", Style::Method), ("down", Style::Method), ("printed", Style::Theory)];
        findings.figures.push(Figure {
            title: "Bytes of a round over all providers".into(),
            x: Axis::logarithmic("providers"),
            y: Axis::logarithmic("bytes"),
            series: methods
                .map(|(column, style)| Series::means(column, style, table, ("providers", column), &[]))
                .into(),
            levels: vec![],
        });
        findings.differences = texts([
            "Messages to the server are integers of the noise's lattice in decimal digits, without a fixed width. The \
             server's are shortest decimals of double-precision numbers; zeroed rows are \"0.0\".",
            "The state also names the providers that are still missing, whose number grows with N: a part of its bytes \
             grows as N^2 over all providers.",
        ]);
        findings
    }
}
