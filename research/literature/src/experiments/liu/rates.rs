//! Corollary 5.2: how the error of DP-PCA falls with n and grows with d on Gaussian records.

use chacha20::ChaCha12Rng;
use rand::{RngExt as _, SeedableRng as _};

use super::{
    AMPLIFIED, BALLS, BOXES, Contender, DELTA, Drawn, EPSILON, LEAST_MINIBATCHES, MINIBATCHES, OURS, PCA, RANDOM,
    Records, normal,
};
use crate::baselines::{AnalyzeGauss, DpPca, ModSulq, NoisyPower, PrivateOja, Shape};
use crate::experiments::local::side;
use crate::experiments::norms::gaussian_norm_bound;
use crate::experiments::{
    Agreement, Axis, Cell, Description, Experiment, ExperimentError, Figure, Findings, Grid, Level, Paper, Rows, Run,
    Scale, Series, Style, Summary, Table, Value, is, labelled, row, texts,
};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;

pub(super) struct Rates;

/// lambda_1. The other eigenvalues are all `1 - 1 / kappa`.
const LARGEST: f64 = 1.0;
/// kappa of the sweeps that do not vary it.
const KAPPA: f64 = 10.0 / 9.0;
/// The probability with which the printed norm may be exceeded.
const FAILURE: f64 = 0.01;

/// The methods that (3) is about: [14], [9] and [23] perturb second moments, [38] and [36] the power method.
const ANALYZE_GAUSS: &str = "Analyze Gauss";
const MOD_SULQ: &str = "MOD-SULQ";
const NOISY_POWER: &str = "noisy power method";
const PRINTED_ANALYZE_GAUSS: &str = "Analyze Gauss, norm of (3)";
const PRINTED_NOISY_POWER: &str = "noisy power method, norm of (3)";

const LINES: [(&str, Style); 12] = [
    (PCA, Style::NonPrivate),
    (BOXES, Style::Method),
    (BALLS, Style::Method),
    (MINIBATCHES, Style::Method),
    (LEAST_MINIBATCHES, Style::Method),
    (AMPLIFIED, Style::Method),
    (ANALYZE_GAUSS, Style::Method),
    (MOD_SULQ, Style::Method),
    (NOISY_POWER, Style::Method),
    (PRINTED_ANALYZE_GAUSS, Style::Method),
    (PRINTED_NOISY_POWER, Style::Method),
    (OURS, Style::Ours),
];

/// The paper's exponents of the price of privacy in n, d, kappa, epsilon and log(1/delta): (11), (6) and (3). NaN where
/// it has none. The largest epsilon of Algorithm 2 is of the order sqrt(log(1/delta) / n), which takes a root of n and
/// of the logarithm from (6), and leaves no sweep of epsilon.
fn printed(method: &str) -> Option<[f64; 5]> {
    match method {
        BOXES | BALLS => Some([-1.0, 1.0, 1.0, -1.0, 0.5]),
        MINIBATCHES | LEAST_MINIBATCHES => Some([-1.0, 1.0, 1.0, -1.0, 1.0]),
        AMPLIFIED => Some([-0.5, 1.0, 1.0, f64::NAN, 0.5]),
        PCA | OURS => None,
        _ => Some([-1.0, 1.5, 1.0, -1.0, 0.5]),
    }
}

/// The columns that are varied, and their names in sentences.
const SWEEPS: [(&str, &str); 5] =
    [("n", "n"), ("d", "d"), ("kappa", "kappa"), ("epsilon", "epsilon"), ("delta", "log(1/delta)")];

/// One setting.
#[derive(Clone, Copy, Debug)]
struct Setting {
    records: u64,
    dimension: usize,
    kappa: f64,
    epsilon: f64,
    delta: f64,
}

/// The settings of a run.
struct Effort {
    /// The setting that each sweep varies in one parameter.
    middle: Setting,
    records: &'static [u64],
    dimensions: &'static [usize],
    kappas: &'static [f64],
    epsilons: &'static [f64],
    deltas: &'static [f64],
    trials: u32,
}

fn effort(scale: Scale) -> Effort {
    let middle = Setting { records: 0, dimension: 20, kappa: KAPPA, epsilon: EPSILON, delta: DELTA };
    scale.choose(
        Effort {
            middle: Setting { records: 800_000, ..middle },
            records: &[50_000, 100_000, 200_000, 400_000, 800_000, 1_600_000],
            dimensions: &[5, 10, 20, 40, 80],
            kappas: &[KAPPA, 1.5, 2.0, 3.0],
            epsilons: &[0.25, 0.5, 1.0, 2.0, 4.0],
            deltas: &[1e-12, 1e-9, 1e-6, 1e-4],
            trials: 20,
        },
        Effort {
            middle: Setting { records: 200_000, ..middle },
            records: &[25_000, 50_000, 100_000, 200_000, 400_000],
            dimensions: &[5, 10, 20, 40],
            kappas: &[KAPPA, 1.5, 2.0],
            epsilons: &[0.5, 1.0, 2.0],
            deltas: &[1e-12, 1e-6, 1e-4],
            trials: 5,
        },
    )
}

impl Effort {
    /// The sweeps with the values of their parameter.
    fn settings(&self) -> Vec<(&'static str, String, Setting)> {
        let middle = self.middle;
        let mut all = vec![];
        all.extend(self.records.iter().map(|&records| ("n", records.to_string(), Setting { records, ..middle })));
        let dimensions = self.dimensions.iter();
        all.extend(dimensions.map(|&dimension| ("d", dimension.to_string(), Setting { dimension, ..middle })));
        all.extend(self.kappas.iter().map(|&kappa| ("kappa", format!("{kappa:.2}"), Setting { kappa, ..middle })));
        let epsilons = self.epsilons.iter();
        all.extend(epsilons.map(|&epsilon| ("epsilon", epsilon.to_string(), Setting { epsilon, ..middle })));
        all.extend(self.deltas.iter().map(|&delta| ("delta", format!("{delta:e}"), Setting { delta, ..middle })));
        all
    }
}

/// The exponent of a power of x, fitted to the points by least squares in logarithms; NaN for fewer than two.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let usable = points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0);
    let logs: Vec<(f64, f64)> = usable.map(|(x, y)| (x.ln(), y.ln())).collect();
    if logs.len() < 2 {
        return f64::NAN;
    }
    let count = logs.len() as f64;
    let x = logs.iter().map(|log| log.0).sum::<f64>() / count;
    let cross: f64 = logs.iter().map(|log| (log.0 - x) * log.1).sum();
    cross / logs.iter().map(|log| (log.0 - x).powi(2)).sum::<f64>()
}

/// A fitted exponent with its standard error.
#[derive(Clone, Copy, Debug)]
struct Fit {
    exponent: f64,
    error: f64,
    points: usize,
}

/// The number of resamples behind a standard error.
const RESAMPLES: usize = 5000;

impl Fit {
    /// The exponent of the medians. Medians: the few runs whose start was nearly orthogonal to the component would
    /// dominate the mean. The error is that of a bootstrap over repetitions, always with the same random numbers.
    fn of(points: &[(f64, Vec<f64>)]) -> Self {
        let median = |values: Vec<f64>| Summary::of(values).map_or(f64::NAN, |summary| summary.median);
        let rng = &mut ChaCha12Rng::seed_from_u64(1);
        let resampled = (0..RESAMPLES).map(|_| {
            let again = |(x, values): &(f64, Vec<f64>)| {
                (*x, median(values.iter().map(|_| values[rng.random_range(0..values.len())]).collect()))
            };
            exponent(&points.iter().map(again).collect::<Vec<_>>())
        });
        let error = Summary::of(resampled.collect()).map_or(f64::NAN, |summary| summary.deviation);
        let medians: Vec<_> = points.iter().map(|(x, values)| (*x, median(values.clone()))).collect();
        Self { exponent: exponent(&medians), error, points: points.len() }
    }

    /// Whether the paper's exponent is within two standard errors; none without a fit, or without such an exponent.
    fn agrees(self, printed: f64) -> Option<bool> {
        (!self.exponent.is_nan() && !printed.is_nan()).then(|| (self.exponent - printed).abs() <= 2.0 * self.error)
    }

    fn against(self, printed: f64) -> String {
        match self.agrees(printed) {
            None if printed.is_nan() => "not swept".into(),
            None => "no fit".into(),
            Some(agrees) => format!(
                "{self}, {} with {printed} ({:.1} standard errors, {} points)",
                if agrees { "agrees" } else { "does not agree" },
                (self.exponent - printed).abs() / self.error,
                self.points
            ),
        }
    }

    /// With the number of points.
    fn with_points(self) -> String {
        if self.exponent.is_nan() { self.to_string() } else { format!("{self} ({})", self.points) }
    }
}

impl core::fmt::Display for Fit {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.exponent.is_nan() {
            return f.write_str("no fit");
        }
        write!(f, "{:.2} ± {:.2}", self.exponent, self.error)
    }
}

/// The largest median sine of a fitted point. Above it curves bend towards that of a random direction.
const FITTED: f64 = 0.5;

/// The fit of `column` in one sweep.
fn fit(table: &Table, sweep: &'static str, method: &'static str, column: &'static str) -> Fit {
    let point = |at: Value| {
        let conditions = [is("sweep", sweep), is("method", method), (sweep, at.clone())];
        let Value::Number(x) = at else { return None };
        let sine = table.summary("sine", &conditions)?.median;
        let values: Vec<f64> = table.numbers(column, &conditions).into_iter().filter(|value| !value.is_nan()).collect();
        (sine <= FITTED).then_some((if sweep == "delta" { -x.ln() } else { x }, values))
    };
    let points: Vec<_> = table.distinct(sweep, &[is("sweep", sweep)]).into_iter().filter_map(point).collect();
    Fit::of(&points)
}

/// All methods in one setting. The number of batches or iterations grows with kappa as the paper has it (after Theorem
/// 5.1: kappa^2 for batches; Hardt & Price: kappa for iterations).
fn contenders(setting: Setting, bound: f64) -> Result<Vec<Contender>, ExperimentError> {
    let Setting { records, dimension, kappa, .. } = setting;
    let (epsilon, delta) = (Epsilon::new(setting.epsilon)?, Delta::new(setting.delta)?);
    let longer = |count: usize, factor: f64| (count as f64 * factor).ceil() as usize;
    let batches = longer(DpPca::default_batches(dimension), (kappa / KAPPA).powi(2));
    let mut all = Contender::everywhere(epsilon, delta, (kappa > KAPPA).then_some(batches));
    let shape = Shape { records, dimension, rank: Rank::new(1)? };
    // K, a and gamma of Gaussian records (Remark 3.4).
    let beta = PrivateOja::printed_threshold(shape, LARGEST, (4.0, 1.0), core::f64::consts::SQRT_2, FAILURE);
    let oja = PrivateOja::in_minibatches(epsilon, delta, batches);
    all.extend(Contender::minibatches(oja, beta, bound * bound, LARGEST / kappa));
    let iterations = Some(longer(NoisyPower::default_iterations(dimension), kappa / KAPPA));
    let noisy_power = NoisyPower { iterations, ..NoisyPower::new(epsilon, delta) };
    let analyze_gauss = AnalyzeGauss::new(epsilon, delta);
    // "||x_i|| <= beta = O(sqrt(lambda_1 d log(n / zeta)))", with the constant 1.
    let norm = Records::Divided((LARGEST * dimension as f64 * (records as f64 / FAILURE).ln()).sqrt());
    all.push(Contender::new(ANALYZE_GAUSS, analyze_gauss, Records::UnitBall));
    all.push(Contender::new(MOD_SULQ, ModSulq::new(epsilon, delta), Records::UnitBall));
    all.push(Contender::new(NOISY_POWER, noisy_power, Records::UnitBall));
    all.push(Contender::new(PRINTED_ANALYZE_GAUSS, analyze_gauss, norm));
    all.push(Contender::new(PRINTED_NOISY_POWER, noisy_power, norm));
    all.extend(Contender::amplified(records, delta, bound * bound, LARGEST / kappa));
    Ok(all)
}

/// All methods on records drawn once.
fn rows(sweep: &str, setting: Setting, trial: u32, run: &mut Run<'_>) -> Result<Rows, ExperimentError> {
    let Setting { records, dimension, kappa, epsilon, delta } = setting;
    let others = LARGEST - LARGEST / kappa;
    let variance = |feature: usize| if feature == 0 { LARGEST } else { others };
    let features = (0..records).flat_map(|_| 0..dimension);
    let values: Vec<f64> = features.map(|feature| variance(feature).sqrt() * normal(run)).collect();
    let bound = gaussian_norm_bound((0..dimension).map(variance), records);
    let drawn = Drawn::new(values, dimension, (LARGEST, others), bound, Epsilon::new(epsilon)?)?;
    let (eigenvalue, threshold) = (drawn.eigenvalue, drawn.threshold);
    let mut best = f64::NAN;
    let mut rows = vec![];
    for contender in contenders(setting, bound)? {
        if (sweep, contender.name) == ("epsilon", AMPLIFIED) {
            continue;
        }
        let (sine, refused) = contender.sine(&drawn, run)?;
        let name = contender.name;
        if name == PCA {
            best = sine;
        }
        let price = if sine.is_nan() { sine } else { (sine * sine - best * best).max(0.0).sqrt() };
        let at = row![sweep, records, dimension, kappa, epsilon, delta];
        rows.push([at, row![trial, name, sine, price, refused, eigenvalue, threshold]].concat());
    }
    Ok(rows)
}

/// The columns of its table.
const COLUMNS: &[&str] = &[
    "sweep",
    "n",
    "d",
    "kappa",
    "epsilon",
    "delta",
    "trial",
    "method",
    "sine",
    "price",
    "refused",
    "eigenvalue",
    "threshold",
];

impl Experiment for Rates {
    fn description(&self) -> Description {
        Description {
            name: "liu-corollary-5-2",
            paper: Paper::Liu,
            title: "The rates of DP-PCA and of earlier methods on Gaussian records (Corollary 5.2)",
            paper_says: "sin(w, v_1) = O(kappa (sqrt(d / n) + d sqrt(log(1/delta)) / (epsilon n))) up to logarithms: \
                the price of privacy falls as 1 / n and grows as d, where that of earlier methods, Gaussian noise on \
                the covariance [9, 14, 23] or in the power method [36, 38], grows as d^(3/2) (3).",
            agrees_if: "The paper's exponent of the price of privacy is within two standard errors of the fitted one, \
                counted for each method and sweep with a fit.",
            columns: COLUMNS,
        }
    }

    fn parameters(&self, scale: Scale) -> Vec<(&'static str, String)> {
        let effort = effort(scale);
        let Setting { records, dimension, kappa, epsilon, delta } = effort.middle;
        vec![
            ("eigenvalues", format!("{LARGEST}, all others 1 - 1/kappa (ours)")),
            (
                "middle",
                format!("n = {records}, d = {dimension}, kappa = {kappa:.2}, epsilon = {epsilon}, delta = {delta:e}"),
            ),
            ("n", format!("{:?} (ours)", effort.records)),
            ("d", format!("{:?} (ours)", effort.dimensions)),
            ("kappa", format!("{:.2?} (ours)", effort.kappas)),
            ("epsilon", format!("{:?} (ours)", effort.epsilons)),
            ("delta", format!("{:?} (ours)", effort.deltas)),
            ("norm of (3)", format!("sqrt(lambda_1 d ln(n / {FAILURE})), the constant 1 is ours")),
            (
                "batches, iterations",
                "as by default at the middle kappa; otherwise in proportion to kappa^2, kappa".into(),
            ),
            (AMPLIFIED, "Algorithm 2 without minibatches; the least beta; not swept over epsilon".into()),
            ("price of privacy", "the root of sin^2 minus that of PCA on the same records".into()),
            ("error bars", format!("standard errors of {RESAMPLES} bootstraps over trials")),
            ("trials", effort.trials.to_string()),
        ]
    }

    fn cells(&self, scale: Scale) -> Vec<Cell> {
        let effort = effort(scale);
        let mut cells = vec![];
        for (sweep, at, setting) in effort.settings() {
            for trial in 0..effort.trials {
                let work = move |run: &mut Run<'_>| rows(sweep, setting, trial, run);
                cells.push(Cell::new(format!("{sweep}-{at}-{trial}"), work));
            }
        }
        cells
    }

    fn agreement(&self, table: &Table) -> Agreement {
        let mut found = vec![];
        for (method, _) in LINES {
            for ((sweep, _), printed) in SWEEPS.iter().zip(printed(method).into_iter().flatten()) {
                found.extend(fit(table, sweep, method, "price").agrees(printed));
            }
        }
        Agreement::of(&found)
    }

    fn findings(&self, _: Scale, table: &Table) -> Findings {
        let random = table.mean("sine", &[is("method", RANDOM), is("sweep", "n")]);
        let methods = LINES.map(|(method, _)| method);
        let grid = |column: &'static str, title: &str| Grid {
            title: title.into(),
            heads: labelled("method", SWEEPS.map(|(_, name)| name)),
            rows: methods
                .into_iter()
                .filter(|method| (column, *method) != ("price", PCA))
                .map(|method| {
                    labelled(method, SWEEPS.map(|(sweep, _)| fit(table, sweep, method, column).with_points()))
                })
                .collect(),
        };
        let figure = |(sweep, _): (&'static str, _)| Figure {
            title: format!("sin(v_hat, v_1) against {sweep}"),
            x: Axis::logarithmic(sweep),
            y: Axis::logarithmic("sine"),
            series: Series::of_methods(&LINES, table, (sweep, "sine"), &[is("sweep", sweep)]),
            levels: vec![Level { name: "random direction".into(), y: random }],
        };
        let mut measured = vec![];
        for method in methods {
            if let Some(printed) = printed(method) {
                let against = |((sweep, name), printed): ((&'static str, &str), f64)| {
                    format!("in {name} {}", fit(table, sweep, method, "price").against(printed))
                };
                let exponents: Vec<String> = SWEEPS.into_iter().zip(printed).map(against).collect();
                measured.push(format!("{method}: exponents of the price of privacy: {}.", exponents.join("; ")));
            }
        }
        let pca = [("n", -0.5), ("d", 0.5), ("kappa", 1.0)];
        let pca = pca.map(|(sweep, printed)| format!("in {sweep} {}", fit(table, sweep, PCA, "sine").against(printed)));
        measured.push(format!("PCA: exponents of the sine: {}.", pca.join("; ")));
        let [first, printed_norm] =
            [ANALYZE_GAUSS, PRINTED_ANALYZE_GAUSS].map(|method| fit(table, "d", method, "price"));
        measured.push(format!(
            "Analyze Gauss: d^({first}) with records divided by a norm that none exceeds, d^({printed_norm}) by the \
             norm of (3); DP-PCA d^({}), with balls d^({}).",
            fit(table, "d", BOXES, "price"),
            fit(table, "d", BALLS, "price"),
        ));
        if let Some(last) = table.numbers("epsilon", &[is("sweep", "epsilon")]).into_iter().reduce(f64::max) {
            let median = |method: &str, epsilon: f64| {
                let here = [is("sweep", "epsilon"), is("method", method), is("epsilon", epsilon)];
                table.summary("sine", &here).map_or(f64::NAN, |summary| summary.median)
            };
            let times = |method: &str| median(method, EPSILON) / median(method, last);
            measured.push(format!(
                "As epsilon grows from {EPSILON} to {last}, the median sine is divided by {:.2} for {BOXES}, and \
                 by {:.2} with balls.",
                times(BOXES),
                times(BALLS),
            ));
        }
        let medians = SWEEPS.iter().flat_map(|(sweep, _)| {
            let here = [is("sweep", *sweep), is("method", AMPLIFIED)];
            let points = table.distinct(sweep, &here).into_iter();
            let median = move |at| table.summary("sine", &[&here[..], &[(*sweep, at)]].concat());
            points.filter_map(median).map(|summary| summary.median)
        });
        let medians: Vec<f64> = medians.collect();
        if let (Some(least), Some(most)) =
            (medians.iter().copied().reduce(f64::min), medians.iter().copied().reduce(f64::max))
        {
            measured.push(format!(
                "{AMPLIFIED} (without minibatches): the median sine is {least:.3} to {most:.3} over the settings; a \
                 random direction has {random:.3} on average."
            ));
        }
        let settings = |wanted: &dyn Fn(&crate::experiments::Row<'_>) -> bool| {
            let first = table.rows().filter(|row| row.number("trial") == 0.0 && wanted(row));
            let mut settings: Vec<String> =
                first.map(|row| format!("{} = {}", row.text("sweep"), row.value(row.text("sweep")))).collect();
            settings.dedup();
            settings.join("; ")
        };
        for method in [BOXES, BALLS] {
            let refused = settings(&|row| row.text("method") == method && !row.text("refused").is_empty());
            if !refused.is_empty() {
                measured.push(format!(
                    "{method} refuses {refused}: a batch then has too few records for Theorem 6.1 and Lemma 6.2."
                ));
            }
        }
        let below = settings(&|row| {
            row.text("method") == OURS && side(row.number("eigenvalue"), row.number("threshold")) == "below"
        });
        measured.push(if below.is_empty() {
            "Local: every setting is above double-cap's threshold of recovery.".to_owned()
        } else {
            format!("Local: these settings are below double-cap's threshold of recovery: {below}.")
        });
        Findings {
            figures: SWEEPS.map(figure).into(),
            grids: vec![
                grid("price", "Exponents of the price of privacy, with standard errors and (numbers of points)"),
                grid("sine", "Exponents of the sine, with standard errors and (numbers of points)"),
            ],
            measured,
            differences: texts([
                "\"Agrees\" means that the paper's exponent is within two standard errors. The corollary hides \
                 logarithms of n and d, which are a difference here. The number of batches, each with its own noise, \
                 is ours: ceil(log d) + 3 at the middle kappa, not O(log^2 n).",
                "The paper compares with records of norm sqrt(lambda_1 d log n). Noise is in proportion to the square \
                 of that, from which a factor d of the d^(3/2) in (3) comes; the other is the norm of the noise \
                 matrix. A curator who knows the law divides by less: with a leading eigenvalue above all others, the \
                 norm hardly grows with d until tr Sigma is above log(n) lambda_1.",
                "kappa also moves lambda_2, and with it the error of PCA, which has a factor sqrt(lambda_2 / lambda_1) \
                 as in (12) that Corollary 5.2 does not have. The batches of DP-PCA grow as kappa^2 here; for more \
                 batches than n > exp(kappa^2) asks for, the paper adds a term of the order of kappa^4 (after Theorem \
                 5.1), so that 1 is not all that it predicts in kappa.",
                "Algorithm 2 itself, whose noise is amplified by shuffling, is proved private only up to an epsilon \
                 of the order sqrt(log(1/delta) / n): it runs at that one. (6) then has n^(-1/2) in place of n^(-1).",
                "DP-PCA starts at random and has few steps, so a start nearly orthogonal to the component costs more \
                 than noise does. The exponents are therefore fitted to medians; where such starts occurred, the mean \
                 is larger.",
                "Where few steps and clipping leave more error than the noise of privacy, the error hardly depends on \
                 n or epsilon: so it is for balls, at the largest n and at every epsilon.",
                "Of equation (7) only beta of Lemma 3.2 and the composition of T answers are as printed: its \
                 constants, T and the steps are ours.",
                "Points with a median sine above 1/2 are left out of the fits, because every curve is flat near 1.",
            ]),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    #[test]
    fn exponents_are_those_of_powers_and_one_point_has_none() {
        let points: Vec<(f64, f64)> = [1.0, 3.0, 10.0].map(|x: f64| (x, 2.0 * x.powf(-0.5))).into();
        assert!((exponent(&points) + 0.5).abs() < 1e-12);
        assert!(exponent(&points[..1]).is_nan());
    }

    /// Lognormal values around x^1.5: the error bar is near the exact standard error of the slope of their medians.
    #[test]
    fn error_bars_are_as_wide_as_exponents_scatter() {
        let rng = &mut ChaCha12Rng::seed_from_u64(2);
        let mut fits = vec![];
        for _ in 0..60 {
            let points = [1.0, 2.0, 4.0, 8.0].map(|x: f64| {
                let values = (0..21).map(|_| {
                    let deviation: f64 = StandardNormal.sample(rng);
                    x.powf(1.5) * (0.2 * deviation).exp()
                });
                (x, values.collect())
            });
            fits.push(Fit::of(&points));
        }
        let scatter = (fits.iter().map(|fit| (fit.exponent - 1.5).powi(2)).sum::<f64>() / 60.0).sqrt();
        let error = fits.iter().map(|fit| fit.error).sum::<f64>() / 60.0;
        assert!((0.7..1.4).contains(&(error / scatter)), "{error} {scatter}");
        let fit = Fit { exponent: 1.4, error: 0.06, points: 4 };
        assert_eq!(fit.with_points(), "1.40 ± 0.06 (4)");
        assert!(fit.against(1.5).ends_with("(1.7 standard errors, 4 points)"));
        assert!(fit.against(1.5).contains("agrees with 1.5") && fit.against(1.0).contains("does not agree with 1"));
        assert_eq!(Fit::of(&[]).against(1.0), "no fit");
    }
}
