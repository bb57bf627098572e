//! Figures 3 and 4: synthetic records, with sweeps over n, p and epsilon.

use super::super::text::{grouped, listed};
use super::super::{
    Agreement, Axis, Cell, Description, Experiment, ExperimentError, Figure, Findings, Grid, Paper, Run, Scale, Series,
    Table, Value, is, row, texts,
};
use super::population::{DOUBLE_CAP, Population, printed_noise};
use super::{
    Change, Contender, DELTA, ERROR, HYPOTHESIS, HYPOTHESIS_LESS_PENALTY, Measure, RANDOM, SHARE, dense_contenders,
    dense_hypothesis, figure, random_level, series, sparse_contenders, sparse_hypotheses, two,
};
use crate::baselines::Trust;
use crate::theorems;
use ldp_pca::internal::privacy::calibration::paper_sigma;
use ldp_pca::prediction::Spectrum;
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;

/// A figure of three panels: over n, over p, and over epsilon.
pub(in crate::experiments) struct Synthetic {
    name: &'static str,
    title: &'static str,
    says: &'static str,
    /// The letter of the grouped parameter, with one figure per value: k, or s where the subspace is sparse.
    group: &'static str,
    groups: &'static [usize],
    /// The setting that the paper states, with the first value of the group.
    stated: Setting,
    records: (&'static [usize], &'static [usize]),
    dimensions: (&'static [usize], &'static [usize]),
    epsilons: (&'static [f64], &'static [f64]),
    /// Whether the sweeps over n and p are run at [`CAPTIONS`] too, with the stated population.
    captions: bool,
    trials: (u32, u32),
    chosen: &'static [(&'static str, &'static str)],
    differences: &'static [&'static str],
}

/// One point of one panel.
#[derive(Clone, Copy)]
struct Setting {
    panel: &'static str,
    population: Population,
    records: usize,
    epsilon: f64,
}

/// Epsilon of the left and the middle panel of Figure 4 in the captions of IJCAI's version; the journal has 1.
const CAPTIONS: f64 = 2.0;
const N_OF_CAPTIONS: &str = "n at epsilon 2";
const P_OF_CAPTIONS: &str = "p at epsilon 2";

/// Figure 3: the paper's setting.
pub(in crate::experiments) const FIGURE_3: Synthetic = Synthetic {
    name: "wang-xu-figure-3",
    title: "Low dimension, synthetic records: error against n, p and epsilon",
    says: "Records from N(0, Σ), Σ = λ/(5p(λ+1)) VVᵀ + 1/(5p(λ+1)) I with λ = 1; n = 10⁵, p = 40, k = 5, 10, 15, 20, ε \
        = 0.5, δ = 10⁻⁴; the mean of 20 repetitions of ||VVᵀ − WWᵀ||_F. The left panel has n on its axis (ε = 0.5, p = \
        40), the middle one p (n = 10⁵, ε = 0.5), the right one ε (n = 10⁵, p = 40).\n\n\
        “1) the error decreases as the sample size increases or ϵ increases (i.e., becomes less private); 2) the error \
        increases as the dimensionality p increases or the dimensionality k of the target subspace increases.” The \
        text prints no numbers.",
    group: "k",
    groups: &[5, 10, 15, 20],
    stated: Setting {
        panel: "n",
        population: Population { dimension: 40, rank: 5, signal: 1.0, sparsity: None, unit_norm: false },
        records: 100_000,
        epsilon: 0.5,
    },
    records: (&[10_000, 20_000, 40_000, 60_000, 80_000, 100_000], &[10_000, 100_000]),
    dimensions: (&[20, 40, 60, 80, 100], &[20, 40, 80]),
    epsilons: (&[0.1, 0.25, 0.5, 0.75, 1.0, 2.0, 4.0], &[0.5, 1.0, 4.0]),
    captions: false,
    trials: (20, 3),
    chosen: &[
        ("on the axes", "not printed: the values below"),
        ("k of the middle panel", "not printed: 5"),
        ("records longer than 1", "divided by their norm (none was)"),
    ],
    differences: &[
        "The paper's records are short: their mean squared norm is (p + k) / (10p), at most 0.15, where the noise has \
         to cover the unit ball. But with λ = 1 the gap would be too small for records of unit norm, too. At ε = 0.5 \
         the result is that of a random subspace at every n, so a fall with n cannot come from the printed mechanism \
         at the printed parameters; as ε grows to 4, the error falls a little for the larger k. It grows with k and p \
         because the error of a random subspace does.",
    ],
};

/// Figure 3 at parameters where something can be recovered: records of unit norm, λ = 20 and ε = 2.
pub(in crate::experiments) const FIGURE_3_ABOVE: Synthetic = Synthetic {
    name: "wang-xu-figure-3-above-threshold",
    title: "Low dimension, synthetic records of unit norm: where there is something to recover",
    says: "Theorem 2: the squared error is at most of the order of λ₁² k p log(1/δ) / ((λ_k − λ_{k+1})² n ε²). The \
        paper's figure is meant to show it; its own setting lies below the threshold of recovery.",
    group: "k",
    groups: &[5, 10, 15, 20],
    stated: Setting {
        population: Population { signal: 20.0, unit_norm: true, ..FIGURE_3.stated.population },
        epsilon: 2.0,
        ..FIGURE_3.stated
    },
    records: FIGURE_3.records,
    dimensions: FIGURE_3.dimensions,
    epsilons: (&[0.5, 1.0, 2.0, 4.0, 8.0], &[0.5, 2.0, 8.0]),
    captions: false,
    trials: (20, 3),
    chosen: &[
        ("not the paper's", "records of unit norm, as its real ones are; λ = 20; ε = 2 where it is not swept"),
        ("k of the middle panel", "5"),
    ],
    differences: &[
        "Theorem 2 bounds the error by a multiple of √(kp/n)/ε. Below the threshold and near it the error falls more \
         slowly, since it cannot be larger than that of a random subspace; far above the threshold that of Algorithm 1 \
         falls at the rate. That of double-cap falls faster as ε grows, since its noise falls faster than 1/ε.",
        "Not every point is above the threshold: the table has the gap that each needs.",
    ],
};

/// Figure 4: sparse subspaces.
pub(in crate::experiments) const FIGURE_4: Synthetic = Synthetic {
    name: "wang-xu-figure-4",
    title: "High dimension, sparse synthetic subspaces: error against n, p and epsilon",
    says: "The distributions of Figure 3 with V orthonormal on s random rows; k = 10, n = 2000, p = 400, s = 15, 20, \
        40, 80, ε = 1. The left panel has n on its axis (ε = 1, p = 400), the middle one p (n = 2000, ε = 1), the \
        right one ε (n = 2000, p = 400).\n\n\
        “1) as the term of k/n increases (n decreases), the error increases accordingly; 2) the error slightly \
        increases when the dimensionality p increases, which is due to the fact that the upper bound in Theorem 4 \
        depends only logarithmically on p (i.e., log p); 3) the error decreases when ϵ increases.” The text prints no \
        numbers.",
    group: "s",
    groups: &[15, 20, 40, 80],
    stated: Setting {
        panel: "n",
        population: Population { dimension: 400, rank: 10, signal: 1.0, sparsity: Some(15), unit_norm: false },
        records: 2000,
        epsilon: 1.0,
    },
    records: (&[500, 1000, 2000, 4000, 8000], &[2000]),
    dimensions: (&[100, 200, 400, 800], &[100]),
    epsilons: (&[0.25, 0.5, 1.0, 2.0], &[2.0]),
    captions: true,
    // An hour of processor time. Errors scatter by a hundredth of their size.
    trials: (5, 1),
    chosen: &[
        ("number of repetitions", "not printed for high dimension (the 20 are those of low dimension)"),
        ("δ", "not printed: 10⁻⁴, as in Figure 3"),
        ("λ of the distribution", "not printed: 1, as in Figure 3"),
        ("the penalty", "not printed: 2 τ √(ln p) (Lemma 15), and 0.5 τ √(ln p), the best in simulations"),
        ("ρ and the number of steps", "not printed: constant ρ, to a relative gap of 10⁻⁴ or 300 steps"),
        ("on the axes", "not printed: the values below; s = 15 in the middle panel"),
        ("ε = 2", "in the captions of IJCAI's version, for both sweeps; here with s = 15"),
    ],
    differences: &[
        "The setting is below the threshold even if the nonzero rows are known, so no penalty and no solver can find \
         them.",
    ],
};

/// The methods of a figure. The hypothesis is about the paper's own settings.
fn contenders(population: Population, epsilon: f64) -> Result<Vec<Contender>, ExperimentError> {
    let sparse = population.sparsity.is_some();
    let mut all = if sparse { sparse_contenders(epsilon)? } else { dense_contenders(epsilon)? };
    if sparse {
        all.extend(sparse_hypotheses(epsilon)?);
    } else if !population.unit_norm {
        all.push(dense_hypothesis(epsilon)?);
    }
    Ok(all)
}

impl Synthetic {
    /// Whether the groups are values of s, not of k.
    fn sparse(&self) -> bool {
        self.stated.population.sparsity.is_some()
    }

    /// The values of n, p and epsilon in the sweeps.
    fn swept(&self, scale: Scale) -> (&'static [usize], &'static [usize], &'static [f64]) {
        let (records, dimensions, epsilons) = (self.records, self.dimensions, self.epsilons);
        scale.choose((records.0, dimensions.0, epsilons.0), (records.1, dimensions.1, epsilons.1))
    }

    /// The stated population with each value of the group.
    fn grouped(&self) -> impl Iterator<Item = Population> {
        let Setting { population, .. } = self.stated;
        self.groups.iter().map(move |&group| match population.sparsity {
            Some(_) => Population { sparsity: Some(group), ..population },
            None => Population { rank: group, ..population },
        })
    }

    fn settings(&self, scale: Scale) -> Vec<Setting> {
        let (records, dimensions, epsilons) = self.swept(scale);
        let stated @ Setting { population, .. } = self.stated;
        let groups = || self.grouped().map(move |population| Setting { population, ..stated });
        let by_n = groups().flat_map(|group| records.iter().map(move |&records| Setting { records, ..group }));
        let by_p = dimensions.iter().map(|&dimension| Setting {
            panel: "p",
            population: Population { dimension, ..population },
            ..self.stated
        });
        let by_epsilon = groups()
            .flat_map(|group| epsilons.iter().map(move |&epsilon| Setting { panel: "epsilon", epsilon, ..group }));
        let first = Setting { epsilon: CAPTIONS, ..stated };
        let n_of_captions = records.iter().map(|&records| Setting { panel: N_OF_CAPTIONS, records, ..first });
        let p_of_captions = dimensions.iter().map(|&dimension| Setting {
            panel: P_OF_CAPTIONS,
            population: Population { dimension, ..first.population },
            ..first
        });
        let of_captions = n_of_captions.chain(p_of_captions).filter(|_| self.captions);
        by_n.chain(by_p).chain(by_epsilon).chain(of_captions).collect()
    }

    fn contenders(&self, epsilon: f64) -> Result<Vec<Contender>, ExperimentError> {
        contenders(self.stated.population, epsilon)
    }

    /// The paper's claims about its figure: in this panel, along this column, whether the error rises.
    fn claims(&self) -> Vec<(&'static str, &'static str, bool)> {
        let mut claims = vec![("n", "n", false), ("epsilon", "epsilon", false), ("p", "p", true)];
        if !self.sparse() {
            claims.push(("n", "k", true));
        }
        claims
    }

    /// The changes of a method's rows along a column, in each line of a panel.
    fn changes(
        &self,
        table: &Table,
        (panel, column): (&'static str, &'static str),
        method: &str,
        measure: Measure,
    ) -> Vec<Change> {
        let here = [is("panel", panel), is("method", method)];
        let lines = if column == self.group {
            vec![[&here[..], &[is("n", self.stated.records)]].concat()]
        } else {
            let groups = table.distinct(self.group, &here).into_iter();
            groups.map(|group| [&here[..], &[(self.group, group)]].concat()).collect()
        };
        lines.iter().filter_map(|line| Change::along(table, column, line, measure)).collect()
    }

    /// The method as it is printed, whose rows are the first.
    fn printed(table: &Table) -> &str {
        table.rows().next().map_or("", |row| row.text("method"))
    }

    /// Which of the printed algorithm, the hypotheses and a random subspace have what the paper claims: from the first
    /// to the last point of each line, by more than two standard errors.
    fn reproduced(&self, table: &Table) -> Vec<String> {
        let names = [Self::printed(table), HYPOTHESIS, HYPOTHESIS_LESS_PENALTY, RANDOM];
        let mut sentences = vec![];
        for (panel, column, rises) in self.claims() {
            let (mut parts, mut holders) = (vec![], vec![]);
            for name in names {
                let changes = self.changes(table, (panel, column), name, ERROR);
                let Some(first) = changes.first() else { continue };
                let met = changes.iter().filter(|change| change.is_clear(rises)).count();
                let ends = format!("{} to {} in the first", two(first.from.mean), two(first.to.mean));
                parts.push(format!("{name} in {met} of {} ({ends})", changes.len()));
                if met == changes.len() {
                    holders.push(name);
                }
            }
            if parts.is_empty() {
                continue;
            }
            let verdict = match &holders[..] {
                [] => "None of them reproduces the claim.".to_owned(),
                holders if holders.contains(&RANDOM) => {
                    "A random subspace has this too, so it says nothing about what was run.".into()
                }
                holders => format!("The claim is reproduced by: {}.", holders.join("; ")),
            };
            let (axis, change) =
                (if column == "epsilon" { "ε" } else { column }, if rises { "rises" } else { "falls" });
            sentences.push(format!(
                "The paper claims that the error {change} as {axis} grows. From the first to the last point it \
                 {change} by more than two standard errors in these numbers of lines: {}. {verdict}",
                parts.join("; ")
            ));
        }
        sentences
    }

    fn figures(&self, table: &Table) -> Vec<Figure> {
        let Ok(contenders) = self.contenders(self.stated.epsilon) else { return vec![] };
        let mut figures = vec![];
        let panels = [
            ("n", "n", "records, n", true),
            ("p", "p", "features, p", false),
            ("epsilon", "epsilon", "ε", true),
            (N_OF_CAPTIONS, "n", "records, n, at ε = 2", true),
            (P_OF_CAPTIONS, "p", "features, p, at ε = 2", false),
        ];
        for (panel, column, label, logarithmic) in panels {
            for group in table.distinct(self.group, &[is("panel", panel)]) {
                let series = series(&contenders, table, column, &[is("panel", panel), (self.group, group.clone())]);
                let axis = if logarithmic { Axis::logarithmic(label) } else { Axis::linear(label) };
                let Population { dimension, rank, .. } = self.stated.population;
                let rank = match group {
                    Value::Number(rank) if !self.sparse() => rank as usize,
                    _ => rank,
                };
                // A random subspace's error depends on p.
                let level = (column != "p").then(|| random_level(rank, dimension));
                figures.push(figure(format!("{} = {group}", self.group), axis, series, level));
            }
        }
        figures
    }

    /// The threshold at the ends of the sweeps.
    fn thresholds(&self, scale: Scale) -> Result<Grid, ExperimentError> {
        let mut settings = self.settings(scale);
        settings.retain(|setting| setting.panel != "n" || setting.records == self.stated.records);
        let mut rows = vec![];
        for Setting { population, records, epsilon, .. } in settings {
            let (signal, bulk) = population.eigenvalues()?;
            let mut row = vec![
                grouped(records as u64),
                population.dimension.to_string(),
                population.rank.to_string(),
                population.sparsity.map_or("all".to_owned(), |rows| rows.to_string()),
                epsilon.to_string(),
                format!("{:.5}", signal - bulk),
            ];
            for family in [printed_noise()?, DOUBLE_CAP] {
                let threshold = population.threshold(family, epsilon, records as u64, self.sparse())?;
                row.push(format!("{:.5}", threshold.eigenvalue - bulk));
                row.push(threshold.records.map_or("none".to_owned(), grouped));
            }
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        let known = if self.sparse() { ", if the nonzero rows are known" } else { "" };
        Ok(Grid {
            title: format!("What can be recovered (computed from the law of the noise){known}"),
            heads: texts([
                "n",
                "p",
                "k",
                "rows",
                "ε",
                "gap",
                "gap needed, as printed",
                "records needed, as printed",
                "gap needed, double-cap",
                "records needed, double-cap",
            ]),
            rows,
        })
    }

    /// The decrease of errors along an axis, from its first to its last value, in the first group.
    fn trends(&self, table: &Table) -> Result<Vec<String>, ExperimentError> {
        let mut sentences = vec![];
        let axes = [("n", "n", "n", 0.5), ("epsilon", "epsilon", "ε", 1.0), (N_OF_CAPTIONS, "n", "n", 0.5)];
        for (panel, axis, name, power) in axes {
            let mut parts = vec![];
            let mut ends = None;
            for contender in self.contenders(self.stated.epsilon)? {
                if matches!(contender.method.trust(), Trust::Local) {
                    let here = [is("panel", panel), is(self.group, self.groups[0]), is("method", contender.name)];
                    let series = Series::means("", contender.style, table, (axis, "error"), &here);
                    if let [first, .., last] = series.points[..] {
                        ends = Some((first.x, last.x));
                        parts.push(format!("{} {} to {}", contender.name, two(first.y), two(last.y)));
                    }
                }
            }
            if let Some((first, last)) = ends {
                let rate: f64 = (last / first).powf(power);
                let caption = if panel == N_OF_CAPTIONS { ", ε = 2 (IJCAI's captions)" } else { "" };
                sentences.push(format!(
                    "Error from {name} = {first} to {last}, {} = {}{caption}: {}. The theorems' rate is a factor of \
                     {}.",
                    self.group,
                    self.groups[0],
                    parts.join(", "),
                    two(rate)
                ));
            }
        }
        Ok(sentences)
    }

    /// The rate of the theorem that the figure is about, without its constant.
    fn theorem(&self) -> Result<String, ExperimentError> {
        let Setting { records, epsilon, .. } = self.stated;
        // Theorem 4 is for epsilon below 1, and says as much just below it.
        let (number, most) = if self.sparse() { (4, 1f64.next_down()) } else { (2, f64::INFINITY) };
        let (epsilon, delta) = (Epsilon::new(epsilon.min(most))?, Delta::new(DELTA)?);
        let mut rates = [vec![], vec![]];
        for population in self.grouped() {
            let (signal, bulk) = population.eigenvalues()?;
            let rank = Rank::new(population.rank)?;
            let spectrum = Spectrum::new(population.dimension, vec![signal; population.rank], bulk)?;
            let (records, sparsity) = (Some(records as u64), population.sparsity);
            let all = theorems::evaluate(&spectrum, rank, epsilon, delta, records, None, sparsity);
            let names = [format!("wang-xu-{number}"), format!("wang-xu-{number}-proved")];
            for (rates, name) in rates.iter_mut().zip(names) {
                rates.push(format!("{:.1e}", theorems::value(&all, &name)));
            }
        }
        let [printed, proved] = rates.map(|rates| rates.join(", "));
        Ok(format!(
            "Theorem {number}'s rate of ‖sin Θ‖²_F, without its constant, is {printed} as printed ({} = {}), and \
             {proved} as its proof supports it, which has no factor λ₁² on the noise. No two subspaces are further \
             apart than k.",
            self.group,
            listed(self.groups),
        ))
    }

    /// The gap that the noise of the central model would need: it is divided by n, not by the root of n.
    fn central(&self) -> Result<String, ExperimentError> {
        let Setting { population, records, epsilon, .. } = self.stated;
        let (signal, bulk) = population.eigenvalues()?;
        let noise = paper_sigma(Epsilon::new(epsilon)?, Delta::new(DELTA)?) / records as f64;
        let rows = population.sparsity.unwrap_or(population.dimension);
        // The largest eigenvalue of the noise is twice this; a component of this size can be detected.
        let needed = noise * ((rows - population.rank) as f64).sqrt();
        let (gap, verdict) =
            (signal - bulk, if signal - bulk > needed { "would be detected" } else { "would not be detected either" });
        Ok(format!(
            "In the central model, noise of the printed scale is added once to the mean (standard deviation σ/n), not \
             to every report (σ/√n). A gap of {needed:.5} would then be needed, and the gap of {gap:.5} {verdict}. The \
             hypothesis is that method: the paper does not print it, and it is not local. The paper's text has no \
             numbers for this figure, so only the directions of its claims can be compared."
        ))
    }

    fn measured(&self, table: &Table) -> Result<Vec<String>, ExperimentError> {
        let Setting { population, records, epsilon, .. } = self.stated;
        let Population { dimension, rank, .. } = population;
        let here = [is("panel", "n"), is(self.group, self.groups[0]), is("n", records)];
        let mut parts = vec![];
        for Contender { name, .. } in self.contenders(epsilon)? {
            let mean = table.mean("error", &[&here[..], &[is("method", name)]].concat());
            if name != RANDOM && !mean.is_nan() {
                parts.push(format!("{name} {}", two(mean)));
            }
        }
        let random = random_level(rank, dimension);
        let (signal, bulk) = population.eigenvalues()?;
        let records = records as u64;
        let mut sentences = vec![format!(
            "Error at n = {}, p = {dimension}, k = {rank}, ε = {epsilon}: {}; a random subspace {}; the largest \
             possible {}.",
            grouped(records),
            parts.join(", "),
            two(random),
            two((2.0 * rank as f64).sqrt()),
        )];
        for (name, family) in [("the printed noise", printed_noise()?), ("double-cap", DOUBLE_CAP)] {
            let threshold = population.threshold(family, epsilon, records, self.sparse())?;
            let (gap, needed) = (signal - bulk, threshold.eigenvalue - bulk);
            let side = if gap > needed { "above" } else { "below" };
            let known = if self.sparse() { ", even if the nonzero rows are known" } else { "" };
            let records = threshold.records.map_or("no number of records suffices".to_owned(), |records| {
                format!("{} records would reach it", grouped(records))
            });
            sentences.push(format!(
                "This setting is {side} the threshold of recovery with {name}{known}: the gap is {gap:.5}, and \
                 {needed:.5} is needed, {:.1} times that; {records}.",
                needed / gap
            ));
        }
        sentences.extend(self.trends(table)?);
        if !population.unit_norm {
            sentences.extend(self.reproduced(table));
        }
        Ok(sentences)
    }
}

impl Experiment for Synthetic {
    fn description(&self) -> Description {
        Description {
            name: self.name,
            paper: Paper::WangXu,
            title: self.title,
            paper_says: self.says,
            agrees_if: "The error of the printed algorithm, as a share of a random subspace's, falls as n and as ε \
                grow, and rises with p and (in low dimension) with k: by more than two standard errors from the first \
                point to the last, counted line by line.",
            columns: &["panel", "n", "p", "k", "s", "epsilon", "trial", "method", "error"],
        }
    }

    fn parameters(&self, scale: Scale) -> Vec<(&'static str, String)> {
        let Setting { population: Population { dimension, rank, signal, .. }, records, epsilon, .. } = self.stated;
        let swept = self.swept(scale);
        let mut parameters = vec![
            ("n", format!("{records}; swept: {}", listed(swept.0))),
            ("p", format!("{dimension}; swept: {}", listed(swept.1))),
            ("ε", format!("{epsilon}; swept: {}", listed(swept.2))),
            (self.group, listed(self.groups)),
            ("λ", signal.to_string()),
            ("repetitions", scale.choose(self.trials.0, self.trials.1).to_string()),
        ];
        if self.sparse() {
            parameters.push(("k", rank.to_string()));
        }
        parameters.extend(self.chosen.iter().map(|(name, value)| (*name, (*value).to_owned())));
        parameters
    }

    fn cells(&self, scale: Scale) -> Vec<Cell> {
        let trials = scale.choose(self.trials.0, self.trials.1);
        let cell = |setting: Setting| {
            let Setting { panel, population, records, epsilon } = setting;
            let Population { dimension, rank, sparsity, .. } = population;
            let rows = sparsity.unwrap_or(dimension);
            let key = format!("{panel}-n{records}-p{dimension}-k{rank}-s{rows}-epsilon{epsilon}");
            Cell::new(key, move |run: &mut Run<'_>| {
                let contenders = contenders(population, epsilon)?;
                let mut found = vec![];
                for trial in 0..trials {
                    let (sample, truth) = population.draw(records, &mut run.rng)?;
                    for (method, error) in Contender::errors(&contenders, &sample, &truth, &mut run.rng)? {
                        found.push(row![panel, records, dimension, rank, rows, epsilon, trial, method, error]);
                    }
                }
                Ok(found)
            })
        };
        self.settings(scale).into_iter().map(cell).collect()
    }

    fn agreement(&self, table: &Table) -> Agreement {
        let found = self.claims().into_iter().flat_map(|(panel, column, rises)| {
            let changes = self.changes(table, (panel, column), Self::printed(table), SHARE);
            changes.into_iter().map(move |change| change.is_clear(rises))
        });
        // Only figures with the paper's records are the paper's.
        Agreement { stand_in: self.stated.population.unit_norm, ..Agreement::of(&found.collect::<Vec<_>>()) }
    }

    fn findings(&self, scale: Scale, table: &Table) -> Findings {
        // The parameters are constants, and each has a law of the noise.
        let grids = self.thresholds(scale).into_iter().collect();
        let measured = self.measured(table).unwrap_or_else(|error| vec![error.to_string()]);
        let mut differences: Vec<String> = self.differences.iter().map(|text| (*text).to_owned()).collect();
        differences.extend(self.theorem());
        if !self.stated.population.unit_norm {
            differences.extend(self.central());
        }
        Findings { figures: self.figures(table), grids, measured, differences }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_squared_norms_of_figure_3_are_those_that_its_text_states() {
        let mut largest: f64 = 0.0;
        for Setting { population, .. } in FIGURE_3.settings(Scale::Full) {
            let (signal, bulk) = population.eigenvalues().unwrap();
            let (p, k) = (population.dimension as f64, population.rank as f64);
            let square = k * signal + (p - k) * bulk;
            assert!((square - (p + k) / (10.0 * p)).abs() < 1e-12, "{population:?}");
            largest = largest.max(square);
        }
        assert!((largest - 0.15).abs() < 1e-12, "{largest}");
    }

    /// By hand at s = 15: `4 · 225 ln 400 / 2000` as printed; `225 ln 400 (ln 12500 + 1/2000^2) 4000^2 / 2000` as
    /// proved.
    #[test]
    fn the_rates_of_theorem_4_are_stated_as_printed_and_as_proved() {
        let text = FIGURE_4.theorem().unwrap();
        assert!(text.contains("is 2.7e0, 4.8e0, 1.9e1, 7.7e1 as printed (s = 15, 20, 40, 80)"), "{text}");
        assert!(text.contains("and 1.0e8, 1.8e8, 7.2e8, 2.9e9 as its proof supports it"), "{text}");
    }
}
