//! Figure 2: the error that privacy adds, in theory.

use super::{KEPT_ROWS, RANK, RECORDS, ROUNDS, SPARSITY, model};
use crate::experiments::norms::gaussian_norm_bound;
use crate::experiments::{
    Agreement, Axis, Cell, Description, Experiment, ExperimentError, Figure, Findings, Level, Paper, Rows, Run, Scale,
    Series, Style, Table, is, row, texts,
};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca_dps::scale;

pub(super) struct Tradeoff;

const DELTA: f64 = 0.01;
/// tau of Theorem 4.3: its bound fails with probability at most 2 T e^(-tau^2 / 2), here 0.7 %.
const TAU: f64 = 4.0;
/// N, each with its own noise.
const PROVIDERS: [u32; 3] = [1, 10, 100];
/// The dimension for which the report states the norm of records.
const DIMENSION: usize = 1000;

/// gamma of the theorem, `(3 lambda_{k+1} + lambda_k) / (3 lambda_k + lambda_{k+1})`.
fn gamma(top: f64, next: f64) -> f64 {
    (3.0 * next + top) / (3.0 * top + next)
}

/// alpha for each unit of `sqrt(s-hat) + sqrt(k) + tau`.
fn alpha_per_unit(sigma: f64, providers: u32, top: f64) -> f64 {
    2.0 * RANK as f64 * f64::from(providers) * sigma / (RECORDS as f64 * top)
}

/// The largest tau for which the theorem gives a bound at all (alpha = 1 - gamma), and the probability (4.1) with it;
/// NaN where no tau is above 0.
fn probability(sigma: f64, providers: u32, top: f64, next: f64) -> (f64, f64) {
    let units = (1.0 - gamma(top, next)) / alpha_per_unit(sigma, providers, top);
    let tau = units - (KEPT_ROWS as f64).sqrt() - (RANK as f64).sqrt();
    let (n, d) = (RECORDS as f64, DIMENSION as f64);
    let failures = 2.0 * f64::from(ROUNDS) * libm::exp(-0.5 * tau * tau)
        + 4.0 / (n - 1.0)
        + 1.0 / d
        + 6.0 * libm::log(n) / n
        + 1.0 / n;
    if tau > 0.0 { (tau, 1.0 - failures) } else { (f64::NAN, f64::NAN) }
}

/// alpha and the privacy error of (4.3). The error is NaN unless alpha is below 1 - gamma, that is, rho < 1.
///
/// The text of the theorem is damaged; `alpha` is solved for in the display before it (with equality), and `rho = gamma
/// / (1 - alpha)`.
fn privacy_error(sigma: f64, providers: u32, top: f64, next: f64) -> (f64, f64) {
    let (k, kept) = (RANK as f64, KEPT_ROWS as f64);
    let alpha = (kept.sqrt() + k.sqrt() + TAU) * alpha_per_unit(sigma, providers, top);
    let rho = gamma(top, next) / (1.0 - alpha);
    if !(alpha < 1.0 && rho < 1.0) {
        return (alpha, f64::NAN);
    }
    let sparse = 1.0 + 2.0 * (k * SPARSITY as f64 / kept).sqrt();
    (alpha, sparse * alpha / (1.0 - alpha) / (3f64.sqrt() * (1.0 - rho.powf(0.25))))
}

/// The largest tau at epsilon = 0.2 and the probability (4.1) with it, for records as drawn.
fn promised(table: &Table, providers: u32) -> String {
    let here = [is("units", "as drawn"), is("providers", providers), is("epsilon", 0.2)];
    let [tau, probability] = ["tau", "probability"].map(|column| table.mean(column, &here));
    format!("{probability:.4} for N = {providers} (tau {tau:.1})")
}

impl Experiment for Tradeoff {
    fn description(&self) -> Description {
        Description {
            name: "ge-figure-2",
            paper: Paper::Ge,
            title: "The privacy error of Theorem 4.3 against epsilon (Figure 2)",
            paper_says: "delta = 0.01, epsilon from 0.2 to 2: with smaller epsilon, more privacy is preserved at the \
                cost of less estimation accuracy. When alpha is small and d large, the privacy error is dominated by \
                the statistical one: privacy for free.",
            agrees_if: "The bound is a formula, which falls with epsilon wherever it has a value. What counts is \
                whether it has one for records that the guarantee covers, those in the unit ball.",
            columns: &["units", "providers", "epsilon", "sigma", "alpha", "privacy_error", "tau", "probability"],
        }
    }

    fn parameters(&self, _: Scale) -> Vec<(&'static str, String)> {
        vec![
            ("delta", DELTA.to_string()),
            (
                "n, k, s, kept rows, T",
                format!("{RECORDS}, {RANK}, {SPARSITY}, {KEPT_ROWS}, {ROUNDS} (those of section 5.1)"),
            ),
            ("eigenvalues k, k + 1", format!("{}, {} (those of section 5.1)", model::TOP, model::BULK_LARGEST)),
            ("tau", format!("{TAU} (ours)")),
            ("providers", format!("{PROVIDERS:?}; the figure is of 1")),
            ("probability", format!("(4.1) with the largest tau that leaves a bound, and d = {DIMENSION}")),
        ]
    }

    fn cells(&self, _: Scale) -> Vec<Cell> {
        let work = |_: &mut Run<'_>| {
            // All d eigenvalues. Those below the leading k are not drawn but set to their quantiles.
            let others = (DIMENSION - RANK) as f64;
            let others = (0..DIMENSION - RANK).map(|index| model::BULK_LARGEST * (index as f64 + 0.5) / others);
            let all = core::iter::repeat_n(model::TOP, RANK).chain(others);
            let square = gaussian_norm_bound(all, RECORDS).powi(2);
            let scalings = [("as drawn", 1.0), ("unit ball", square)];
            let mut rows = vec![];
            for (providers, (units, divisor)) in PROVIDERS.into_iter().flat_map(|n| scalings.map(|units| (n, units))) {
                let (top, next) = (model::TOP / divisor, model::BULK_LARGEST / divisor);
                for step in 0..=36 {
                    let value = 0.2 + 0.05 * f64::from(step);
                    let sigma = scale::formula(Epsilon::new(value)?, Delta::new(DELTA)?, ROUNDS);
                    let (alpha, error) = privacy_error(sigma, providers, top, next);
                    let (tau, probability) = probability(sigma, providers, top, next);
                    rows.push(row![units, providers, value, sigma, alpha, error, tau, probability]);
                }
            }
            Ok::<Rows, ExperimentError>(rows)
        };
        vec![Cell::new("bound", work)]
    }

    fn agreement(&self, table: &Table) -> Agreement {
        let bounds = table.numbers("privacy_error", &[is("units", "unit ball"), is("providers", 1u32)]);
        Agreement::of(&[bounds.len() > 1 && bounds.is_sorted_by(|one, next| one > next)])
    }

    fn findings(&self, _: Scale, table: &Table) -> Findings {
        let of = |units: &'static str| {
            let here = [is("units", units), is("providers", 1u32)];
            Series::means(units, Style::Theory, table, ("epsilon", "privacy_error"), &here)
        };
        let mut series = vec![of("as drawn"), of("unit ball")];
        series.retain(|series| !series.points.is_empty());
        let drawn = table.numbers("privacy_error", &[is("units", "as drawn"), is("providers", 1u32)]);
        let (first, last) = (drawn.first().copied().unwrap_or(f64::NAN), drawn.last().copied().unwrap_or(f64::NAN));
        let alpha = table.numbers("alpha", &[is("units", "unit ball"), is("providers", 1u32)]);
        let least = alpha.iter().copied().fold(f64::INFINITY, f64::min);
        Findings {
            figures: vec![Figure {
                title: "Bound on the error due to privacy".into(),
                x: Axis::linear("epsilon"),
                y: Axis::linear("privacy error of (4.3)"),
                series,
                levels: vec![
                    Level { name: "PCA".into(), y: 0.0 },
                    Level {
                        name: "random subspace".into(),
                        y: (RANK as f64 * (1.0 - RANK as f64 / DIMENSION as f64)).sqrt(),
                    },
                ],
            }],
            grids: vec![],
            measured: vec![
                format!(
                    "With records as section 5.1 draws them, the bound falls from {first:.4} at epsilon = 0.2 to \
                     {last:.4} at epsilon = 2. It falls as 1 / epsilon. (The text has no values of the paper's figure.)"
                ),
                format!(
                    "With the same records in the unit ball, for which the printed noise is made, alpha is at least \
                     {least:.1}. The theorem needs alpha below 1, so it gives no bound at any epsilon of the figure."
                ),
                format!(
                    "The probability (4.1) of the theorem at epsilon = 0.2, with the largest tau that leaves a bound, \
                     records as drawn: {}. Of the {} settings in the unit ball {} have such a tau.",
                    PROVIDERS.map(|providers| promised(table, providers)).join("; "),
                    table.numbers("tau", &[is("units", "unit ball")]).len(),
                    table.summary("tau", &[is("units", "unit ball")]).map_or(0, |found| found.count),
                ),
            ],
            differences: texts([
                "The text gives only delta for this figure; the other parameters are those of section 5.1. The \
                 statistical error has an unknown constant and is left out.",
                "The noise of Algorithm 1 is for records of norm 1. Records in 1,000 dimensions with \
                 five eigenvalues of 100 and the others of up to 10 have a norm of about 74. For them the guarantee \
                 does not hold: privacy is \"for free\" because there is none.",
            ]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: sigma = 100 gives alpha = 10 (7.0711 + 2.2361 + 4) / 10^5 and gamma = 130 / 310.
    #[test]
    fn the_bound_is_that_of_the_theorem() {
        let (alpha, error) = privacy_error(100.0, 1, 100.0, 10.0);
        assert!((alpha - 1.330_72e-3).abs() < 1e-7, "{alpha}");
        // (1 - 130 / 310) / 1e-4 for one provider; a hundredth of it, less the two roots, for a hundred.
        let (tau, all) = probability(100.0, 1, 100.0, 10.0);
        assert!((tau - 5_806.451_6 + 9.307_1).abs() < 1e-3 && (all - 0.998_26).abs() < 1e-5, "{tau} {all}");
        let (tau, all) = probability(100.0, 1000, 100.0, 10.0);
        assert!(tau.is_nan() && all.is_nan());
        let rho = 130.0 / 310.0 / (1.0 - alpha);
        assert!((error - 3.0 * alpha / (1.0 - alpha) / (1.732_051 * (1.0 - rho.powf(0.25)))).abs() < 1e-8);
        // The error grows with the noise, until the theorem gives no bound.
        assert!(privacy_error(200.0, 1, 100.0, 10.0).1 > error);
        assert!(privacy_error(1e5, 1, 100.0, 10.0).1.is_nan());
    }
}
