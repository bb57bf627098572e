//! What the papers' theorems say of a number of records or of an error: bounds with their constants, and rates without.
//!
//! They are never mixed with each other, nor with a prediction: a *bound* holds as it stands, in its own trust model
//! and its own measure of error; a *rate* leaves a constant open, so its number is neither a number of records nor an
//! error: it only compares one setting with another.
//!
//! | names | source | model | kind |
//! |---|---|---|---|
//! | `ppca`, `any-central`, `mod-sulq`, `-records` | Chaudhuri, Sarwate & Sinha 2013 | central | bounds, a rate |
//! | `wang-xu-1` to `-5`, some also `-any-rank`, `-proved` | Wang & Xu 2019 | local | rates |
//! | `liu-3-3`, `-5-1`, each also `-records`, `-5-3`, `-5-4` | Liu, Kong, Jain & Oh 2022 | central | rates |
//! | `ge-4-3`, `ge-4-4`, `ge-minimax` | Ge, Wang, Wang & Liu 2018 | distributed | rates |
//!
//! A target t of `||sin Theta||_F^2` is a correlation `|<v1_hat, v1>|^2 = 1 - t` for k = 1. Theorem 7 is asked for the
//! correlation sqrt(1 - t) with probability 0.95. Theorems 8 and 15 speak of the mean correlation, which is at least
//! the mean of its square, so a method that reaches t on average has a mean correlation of at least 1 - t. They are
//! asked for that one.

mod chaudhuri;
mod ge;
mod liu;
mod wang_xu;

use ldp_pca::prediction::Spectrum;
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;

/// A statement of the literature, evaluated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theorem {
    /// A short name, as in research/docs/experiments.md.
    pub name: &'static str,
    /// Paper and theorem.
    pub source: &'static str,
    /// Whether it holds as stated (a bound); otherwise a constant is open (a rate).
    pub is_bound: bool,
    /// The trust model.
    pub model: Model,
    /// The quantity.
    pub quantity: Quantity,
    /// Its side of the truth.
    pub direction: Direction,
    /// What it assumes, and what was chosen where it leaves something open.
    pub conditions: &'static str,
    /// The number; `None` where the theorem's conditions do not hold, or it needs more information.
    pub value: Option<f64>,
}

impl Theorem {
    fn bound(
        name: &'static str,
        source: &'static str,
        model: Model,
        quantity: Quantity,
        direction: Direction,
        conditions: &'static str,
        value: Option<f64>,
    ) -> Self {
        let value = value.filter(|value| value.is_finite());
        Self { name, source, is_bound: true, model, quantity, direction, conditions, value }
    }

    fn rate(
        name: &'static str,
        source: &'static str,
        model: Model,
        quantity: Quantity,
        direction: Direction,
        conditions: &'static str,
        value: Option<f64>,
    ) -> Self {
        Self { is_bound: false, ..Self::bound(name, source, model, quantity, direction, conditions, value) }
    }
}

/// The party that sees the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// A trusted curator.
    Central,
    /// Each of several data providers, its own ones.
    Distributed,
    /// Nobody.
    Local,
}

/// The quantity of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A number of records.
    Records,
    /// The mean of `|<v1_hat, v1>|`.
    Correlation,
    /// `||sin Theta||_F^2`.
    SinThetaSquared,
}

/// A statement's side of the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The quantity is at most this; so many records suffice.
    Upper,
    /// It is at least this for every method, or for the one that is named, on some data; fewer records do not suffice.
    Lower,
}

/// All the statements for a spectrum and a rank at `epsilon` (and `delta` where they have one): those on numbers of
/// records for a `target`, those on the error for `records`, and those on sparse components for a `sparsity` s.
#[must_use]
pub fn evaluate(
    spectrum: &Spectrum,
    rank: Rank,
    epsilon: Epsilon,
    delta: Delta,
    records: Option<u64>,
    target: Option<f64>,
    sparsity: Option<usize>,
) -> Vec<Theorem> {
    let case = Case {
        records: records.map(|records| records as f64),
        target,
        sparsity: sparsity.map(|sparsity| sparsity as f64),
        ..Case::new(spectrum, rank, epsilon, delta)
    };
    let papers = [chaudhuri::theorems(&case), wang_xu::theorems(&case), liu::theorems(&case), ge::theorems(&case)];
    let mut all = papers.concat();
    let largest = case.k.min(case.d - case.k);
    for one in &mut all {
        let lower_error = one.quantity == Quantity::SinThetaSquared && one.direction == Direction::Lower;
        if lower_error && one.value.is_some_and(|value| value > largest) {
            one.conditions = IMPOSSIBLE;
        }
    }
    all
}

/// The number of the statement of this name; NaN where there is none.
#[must_use]
pub fn value(all: &[Theorem], name: &str) -> f64 {
    all.iter().find(|one| one.name == name).and_then(|one| one.value).unwrap_or(f64::NAN)
}

/// The conditions of a lower rate that no error can have: with the theorem's constant it would be below the largest
/// error, at so few records it says nothing.
const IMPOSSIBLE: &str = "above min(k, d - k), the largest possible error: the rate says nothing at so few records";

/// The quantities in the theorems.
struct Case {
    d: f64,
    k: f64,
    epsilon: f64,
    delta: f64,
    /// The eigenvalues 1, k and k + 1.
    first: f64,
    last: f64,
    next: f64,
    /// The sum of all.
    trace: f64,
    records: Option<f64>,
    target: Option<f64>,
    sparsity: Option<f64>,
}

impl Case {
    fn new(spectrum: &Spectrum, rank: Rank, epsilon: Epsilon, delta: Delta) -> Self {
        let at = |index: usize| spectrum.signals().get(index).copied().unwrap_or(spectrum.bulk());
        let k = rank.value();
        let (d, epsilon, delta) = (spectrum.dimension() as f64, epsilon.value(), delta.value());
        let signals = spectrum.signals();
        let trace = signals.iter().sum::<f64>() + spectrum.bulk() * (d - signals.len() as f64);
        let (first, last, next) = (at(0), at(k - 1), at(k));
        let k = k as f64;
        Self { d, k, epsilon, delta, first, last, next, trace, records: None, target: None, sparsity: None }
    }

    /// lambda_k - lambda_{k+1}, where there is one.
    fn gap(&self) -> Option<f64> {
        Some(self.last - self.next).filter(|&gap| gap > 0.0)
    }

    /// k <= s <= d, without which there are no k components on s of d features.
    fn can_be_sparse(&self, s: f64) -> bool {
        self.k <= s && s <= self.d
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).unwrap()
    }

    pub(super) fn delta(value: f64) -> Delta {
        Delta::new(value).unwrap()
    }

    fn of(name: &str, all: &[Theorem]) -> Option<f64> {
        all.iter().find(|statement| statement.name == name).unwrap().value
    }

    /// By hand, at d = 100, eigenvalues 0.5 and 0.1, epsilon 0.5, target 0.001.
    #[test]
    fn theorems_with_constants_are_evaluated_as_printed() {
        let spectrum = Spectrum::new(100, vec![0.5, 0.1], 0.4 / 98.0).unwrap();
        let all =
            evaluate(&spectrum, Rank::new(1).unwrap(), epsilon(0.5), delta(0.01), Some(20_000), Some(0.001), Some(10));
        let rho = 0.999_f64.sqrt();
        let ppca = 100.0 / (0.5 * 0.4 * (1.0 - rho))
            * (4.0 * 20.0_f64.ln() / 100.0 + 2.0 * (8.0 * 0.5 / ((1.0 - rho * rho) * 0.4)).ln());
        assert!((of("ppca", &all).unwrap() / ppca - 1.0).abs() < 1e-9);
        // The paper itself: for d = 100 the bound on 1 - phi is above 0.12.
        let complement = (-2.0 * (8.0_f64.ln() + 100.0) / 98.0).exp();
        assert!((0.12..0.13).contains(&complement));
        let least = 100.0 / (0.5 * 0.4) * (complement / 0.08).sqrt();
        assert!((of("any-central", &all).unwrap() / least - 1.0).abs() < 1e-9);
        assert!(ppca > least);
        let two = (0.5_f64 / 0.4).powi(2) * 100.0 * 100.0_f64.ln() / (20_000.0 * 0.25);
        assert!((of("wang-xu-2", &all).unwrap() / two - 1.0).abs() < 1e-9);
        // k is not of the order of d.
        assert_eq!((of("wang-xu-1", &all), of("wang-xu-3", &all)), (None, None));
        let bounds: Vec<&str> = all.iter().filter(|one| one.is_bound).map(|one| one.name).collect();
        assert_eq!(bounds, ["ppca", "any-central", "mod-sulq"]);
    }

    #[test]
    fn the_correlation_of_mod_sulq_rises_with_records_and_falls_with_features() {
        let at = |dimension: usize, records: u64| {
            let spectrum = Spectrum::new(dimension, vec![1.0], 0.0).unwrap();
            let all = evaluate(&spectrum, Rank::new(1).unwrap(), epsilon(0.1), delta(0.01), Some(records), None, None);
            of("mod-sulq", &all).unwrap()
        };
        assert!(at(500, 1000) < at(500, 100_000) && at(500, 100_000) <= 1.0);
        assert!(at(1000, 10_000) < at(50, 10_000));
        // Minima over a grid of 200,000 points, by another implementation; the grid here is coarser.
        for (dimension, records, expected) in
            [(10, 10, 0.973_612), (50, 100, 0.907_486), (50, 2000, 0.928_665), (500, 20_000, 0.842_822)]
        {
            let found = at(dimension, records);
            assert!((found - expected).abs() < 2e-4, "{dimension} {records} {found}");
        }
        // Its Figure 1 starts a little above three quarters.
        assert!((0.75..0.85).contains(&at(1000, 100)), "{}", at(1000, 100));
    }

    /// By hand, at d = 8, k = 2, s = 6, eigenvalues 0.4, 0.3 and 0.1, delta 0.01 and 5,000 records: every condition is
    /// met just so.
    #[test]
    fn rates_are_evaluated_as_printed_up_to_the_ends_of_their_conditions() {
        let spectrum = Spectrum::new(8, vec![0.4, 0.3, 0.1], 0.04).unwrap();
        let at = |k: usize, value: f64, s: usize| {
            evaluate(&spectrum, Rank::new(k).unwrap(), epsilon(value), delta(0.01), Some(5000), Some(0.1), Some(s))
        };
        let noise = 0.4 * 0.1 / (0.2 * 0.2);
        let signal = (0.4f64 / 0.2).powi(2);
        let (n, log_d, log_delta) = (5000.0 * 0.25, 8f64.ln(), 100f64.ln());
        let all = at(2, 0.5, 6);
        for (name, expected) in [
            ("wang-xu-1", noise * 2.0 * 8.0 / n),
            ("wang-xu-2", signal * 2.0 * 8.0 * log_delta / n),
            ("wang-xu-3", noise * 6.0 * (2.0 + log_d) / n),
            ("wang-xu-4", signal * 36.0 * log_d / n),
            ("wang-xu-5", signal * 36.0 * log_delta * log_d * (8.0 * 0.4 + 0.2) / 0.25),
        ] {
            let found = of(name, &all).unwrap();
            assert!((found / expected - 1.0).abs() < 1e-9, "{name} {found} {expected}");
        }
        // The first two theorems are about one component.
        assert_eq!(["ppca", "any-central", "mod-sulq"].map(|name| of(name, &all)), [None; 3]);
        let some = |all: Vec<Theorem>| {
            ["wang-xu-1", "wang-xu-2", "wang-xu-3", "wang-xu-4", "wang-xu-5"].map(|name| of(name, &all).is_some())
        };
        assert_eq!(some(at(2, 0.5, 8)), [true; 5]);
        assert_eq!(some(at(2, 0.5, 5)), [true, true, false, true, true], "2k > s - k");
        assert_eq!(some(at(2, 0.5, 9)), [true, true, false, false, false], "s > d");
        assert_eq!(some(at(2, 0.5, 1)), [true, true, false, false, false], "k > s");
        assert_eq!(of("ge-minimax", &at(2, 0.5, 1)).or(of("ge-minimax", &at(2, 0.5, 9))), None);
        assert!(of("ge-minimax", &at(2, 0.5, 2)).is_some() && of("ge-minimax", &at(2, 0.5, 8)).is_some());
        assert_eq!(some(at(2, 0.5f64.next_up(), 6)), [false, true, false, true, true]);
        assert_eq!(some(at(2, 1.0f64.next_down(), 6)), [false, true, false, true, true]);
        assert_eq!(some(at(2, 1.0, 6)), [false, true, false, false, false]);
        assert_eq!(some(at(1, 0.5, 6)), [false, true, false, true, true], "k < d / 4");
        assert_eq!(some(at(3, 0.5, 8)), [true, true, false, true, true]);
        // No gap behind the signals.
        assert_eq!(some(at(4, 0.5, 8)), [false; 5]);
        let wide = Spectrum::new(8, vec![0.3; 7], 0.1).unwrap();
        let of_wide = |k| evaluate(&wide, Rank::new(k).unwrap(), epsilon(0.5), delta(0.01), Some(5000), None, None);
        assert_eq!(of("wang-xu-1", &of_wide(7)), None, "k > 3 d / 4");
        let six = Spectrum::new(8, vec![0.3; 6], 0.1).unwrap();
        let all = evaluate(&six, Rank::new(6).unwrap(), epsilon(0.5), delta(0.01), Some(5000), None, None);
        assert!((of("wang-xu-1", &all).unwrap() / (0.3 * 0.1 / 0.04 * 48.0 / n) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn theorems_hold_up_to_the_ends_of_their_conditions() {
        let at = |dimension, first: f64, value: f64, target: f64| {
            let spectrum = Spectrum::new(dimension, vec![first], 0.0).unwrap();
            let all = evaluate(&spectrum, Rank::new(1).unwrap(), epsilon(value), delta(0.01), None, Some(target), None);
            (of("ppca", &all), of("any-central", &all))
        };
        // 1 - phi for three features: exp(-2 (ln 8 + ln(1 + e^3))).
        let complement = (8.0 * (1.0 + 3f64.exp())).powi(-2);
        let most = complement / 16.0;
        let least = |target| at(3, 0.5, 0.5, target).1;
        // Where the root is below one, which it is up to a fifth of the largest target, one takes its place.
        assert!((least(0.999 * most).unwrap() / 12.0 - 1.0).abs() < 1e-12);
        assert_eq!(least(1.001 * most), None);
        let root = (complement / (80.0 * 0.05 * most)).sqrt();
        assert!(root > 1.5 && (least(0.05 * most).unwrap() / (12.0 * root) - 1.0).abs() < 1e-9);
        assert_eq!(at(2, 0.5, 0.5, 1e-9).1, None);
        assert_eq!(at(3, 0.5, 0.5f64.next_up(), 1e-9).1, None);
        assert_eq!(at(3, 0.5f64.next_up(), 0.5, 1e-9).1, None);
        assert!(at(3, 0.5f64.next_up(), 0.5, 1e-9).0.is_some());
        assert!(at(3, 0.5, 0.5, 1.0f64.next_down()).0.is_some());
        assert_eq!(at(3, 0.5, 0.5, 1.0).0, None);
    }

    /// The printed formulas with a hundred digits, for ranks, spectra and parameters from end to end: what has a
    /// number, and which. The minimum over phi is never below the real one.
    #[test]
    fn statements_are_those_of_a_hundred_digits() {
        const NAMES: [&str; 23] = [
            "ppca",
            "any-central",
            "mod-sulq",
            "wang-xu-1",
            "wang-xu-2",
            "wang-xu-3",
            "wang-xu-4",
            "wang-xu-5",
            "mod-sulq-records",
            "wang-xu-1-any-rank",
            "wang-xu-2-proved",
            "wang-xu-3-any-rank",
            "wang-xu-4-proved",
            "wang-xu-5-proved",
            "liu-3-3-records",
            "liu-5-1-records",
            "liu-3-3",
            "liu-5-1",
            "liu-5-3",
            "liu-5-4",
            "ge-4-3",
            "ge-4-4",
            "ge-minimax",
        ];
        let mut counts = [0; 23];
        let cases: Vec<Vec<f64>> = serde_json::from_str(include_str!("../../tests/theorems.json")).unwrap();
        for case in cases {
            let &[d, k, bulk, e, small, n, target, sparsity, signals] = case.first_chunk().unwrap();
            let (signals, values) = case[9..].split_at(signals as usize);
            let spectrum = Spectrum::new(d as usize, signals.to_vec(), bulk).unwrap();
            let (rank, sparsity) = (Rank::new(k as usize).unwrap(), Some(sparsity as usize));
            let all = evaluate(&spectrum, rank, epsilon(e), delta(small), Some(n as u64), Some(target), sparsity);
            assert_eq!((values.len(), all.len()), (NAMES.len(), NAMES.len()));
            for ((name, &expected), count) in NAMES.into_iter().zip(values).zip(&mut counts) {
                let Some(found) = of(name, &all) else {
                    assert_eq!(expected, -1.0, "{name} has no number: {case:?}");
                    continue;
                };
                *count += 1;
                let off = if name == "mod-sulq" { (-1e-12, 1e-3) } else { (-1e-11, 1e-11) };
                assert!((off.0..off.1).contains(&(found / expected - 1.0)), "{name} {case:?}: {found:e} {expected:e}");
            }
        }
        assert!(counts.iter().all(|&count| count >= 2), "{counts:?}");
    }

    #[test]
    fn statements_say_what_they_are() {
        let spectrum = Spectrum::new(10, vec![0.5], 0.05).unwrap();
        let all = evaluate(&spectrum, Rank::new(1).unwrap(), epsilon(0.5), delta(1e-6), Some(1000), Some(0.1), Some(4));
        for (name, is_bound, model, quantity, direction) in [
            ("any-central", true, Model::Central, Quantity::Records, Direction::Lower),
            ("mod-sulq", true, Model::Central, Quantity::Correlation, Direction::Upper),
            ("wang-xu-2", false, Model::Local, Quantity::SinThetaSquared, Direction::Upper),
            ("ge-4-3", false, Model::Distributed, Quantity::SinThetaSquared, Direction::Upper),
            ("liu-5-3", false, Model::Central, Quantity::SinThetaSquared, Direction::Lower),
        ] {
            let found = all.iter().find(|one| one.name == name).unwrap();
            assert_eq!((found.is_bound, found.model), (is_bound, model), "{name}");
            assert_eq!((found.quantity, found.direction), (quantity, direction), "{name}");
        }
        assert!(all.iter().all(|one| !one.conditions.is_empty()));
    }

    #[test]
    fn a_lower_rate_above_every_error_says_so_and_a_small_delta_is_a_condition() {
        let spectrum = Spectrum::new(10, vec![0.3], 0.07).unwrap();
        let at = |records, small| {
            evaluate(&spectrum, Rank::new(1).unwrap(), epsilon(0.5), delta(small), Some(records), None, Some(4))
        };
        let beyond = |records: u64| {
            let all = at(records, 1e-6);
            all.iter().filter(|one| one.conditions == IMPOSSIBLE).map(|one| one.name).collect::<Vec<_>>()
        };
        assert_eq!(beyond(1), ["wang-xu-1-any-rank", "wang-xu-3-any-rank", "liu-5-4", "ge-minimax"]);
        assert!(beyond(1_000_000).is_empty());
        assert!(of("liu-5-1-records", &at(1000, 1e-3)).is_some());
        assert_eq!(of("liu-5-1-records", &at(1001, 1e-3)), None);
    }

    #[test]
    fn what_does_not_apply_has_no_value() {
        let tied = Spectrum::new(10, vec![0.3, 0.3], 0.05).unwrap();
        let rank = Rank::new(1).unwrap();
        let all = evaluate(&tied, rank, epsilon(2.0), delta(1e-6), Some(1000), Some(0.1), Some(4));
        for name in ["ppca", "any-central", "wang-xu-1", "wang-xu-2", "wang-xu-4", "wang-xu-5"] {
            assert_eq!(of(name, &all), None, "{name}");
        }
        assert_eq!(evaluate(&tied, rank, epsilon(2.0), delta(1e-6), None, None, None), []);
    }
}
