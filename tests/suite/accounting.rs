//! Privacy accounting against the programs of others (tests/independent/references.py).
//!
//! Every family prints its largest relative difference, and fails where ours is on the wrong side of the truth by more
//! than the reference's own error.

use ldp_pca::internal::privacy::TotalVariation;
use ldp_pca::internal::privacy::calibration::{
    analytic_gaussian_sigma, gaussian_delta, gaussian_epsilon, gaussian_rho,
};
use ldp_pca::internal::privacy::renyi::{Cap, epsilon_of_divergence, gaussian_divergence};
use ldp_pca::privacy::Rho;
use ldp_pca::privacy::amplification::{Blanket, batch_epsilon};
use ldp_pca::privacy::composition::{Composition, Method, PrivacyLoss};
use proptest::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::support::{delta, epsilon, vectors};

#[derive(Deserialize)]
struct Fixtures<T> {
    version: u32,
    reference_error: f64,
    cases: Vec<T>,
}

fn fixtures<T: DeserializeOwned>(name: &str) -> (Vec<T>, f64) {
    let fixtures: Fixtures<T> = vectors(&format!("accounting/{name}"));
    assert_eq!(fixtures.version, 1);
    assert!(fixtures.cases.len() > 10);
    (fixtures.cases, fixtures.reference_error)
}

/// The largest of several differences, none of which may be below `-reference_error`.
fn largest(family: &str, reference_error: f64, differences: impl IntoIterator<Item = (String, f64)>) -> f64 {
    let mut largest = 0.0f64;
    for (label, difference) in differences {
        assert!(difference >= -reference_error, "{family} {label}: below the truth by {difference:e}");
        largest = largest.max(difference.abs());
    }
    println!("{family}: largest relative difference {largest:.1e}");
    largest
}

#[test]
fn conversions_of_rho_and_of_cap_divergences_are_those_of_dp_accounting() {
    #[derive(Deserialize)]
    #[serde(tag = "kind", rename_all = "kebab-case")]
    enum Case {
        Rho { rho: f64, delta: f64, epsilon: f64 },
        Cap { epsilon0: f64, candidates: u32, cap: u32, reports: u64, delta: f64, epsilon: f64 },
    }
    let (cases, error) = fixtures::<Case>("conversions.json");
    let (mut concentrated, mut renyi) = (Vec::new(), Vec::new());
    for case in &cases {
        match *case {
            Case::Rho { rho, delta: d, epsilon } => {
                let rho_value = Rho::new(rho).unwrap();
                let found = epsilon_of_divergence(|order| gaussian_divergence(rho_value, order), delta(d)).unwrap();
                concentrated.push((format!("rho {rho} delta {d}"), found.value() / epsilon - 1.0));
            }
            Case::Cap { epsilon0, candidates, cap, reports, delta: d, epsilon: expected } => {
                let mut composition = Composition::default();
                let loss = PrivacyLoss::Cap(Cap::new(epsilon(epsilon0), candidates, cap).unwrap());
                composition.add(loss, reports).unwrap();
                let found = composition.epsilon_by(Method::Renyi, Some(delta(d))).unwrap();
                let label = format!("{reports} x epsilon {epsilon0} J {candidates} L {cap} delta {d}");
                renyi.push((label, found.value() / expected - 1.0));
                // No method proves more than all of them.
                assert!(composition.epsilon(Some(delta(d))).unwrap().epsilon <= found);
            }
        }
    }
    assert!(concentrated.len() >= 18 && renyi.len() >= 20);
    assert!(largest("rho to epsilon", error, concentrated) < 1e-6);
    assert!(largest("Renyi of caps to epsilon", error, renyi) < 1e-6);
}

#[test]
fn gaussian_reports_compose_as_in_dp_accounting() {
    #[derive(Deserialize)]
    struct Case {
        noise: f64,
        reports: u64,
        delta: f64,
        renyi: f64,
        exact_above: f64,
    }
    let (cases, error) = fixtures::<Case>("gaussian.json");
    let compose = |case: &Case, method| {
        let loss = PrivacyLoss::Gaussian {
            rho: gaussian_rho(case.noise, 1.0).unwrap(),
            total_variation: TotalVariation::ZERO,
        };
        let mut composition = Composition::default();
        composition.add(loss, case.reports).unwrap();
        composition.epsilon_by(method, Some(delta(case.delta))).unwrap().value()
    };
    let label = |case: &Case| format!("{} x noise {} delta {}", case.reports, case.noise, case.delta);
    let renyi = cases.iter().map(|case| (label(case), compose(case, Method::Renyi) / case.renyi - 1.0));
    assert!(largest("Renyi of Gaussians", error, renyi) < 1e-5);
    // The reference is an upper bound within the discretisation of its losses, 1e-4 a report.
    let mut difference = 0.0f64;
    for case in &cases {
        let exact = compose(case, Method::Gaussian);
        assert!(exact <= case.exact_above * (1.0 + 1e-9), "{}", label(case));
        assert!(exact >= case.exact_above - 2e-4 * case.reports as f64, "{}", label(case));
        difference = difference.max((exact / case.exact_above - 1.0).abs());
    }
    println!("exact Gaussians: largest relative difference {difference:.1e}");
}

#[test]
fn the_published_example_is_met() {
    #[derive(Deserialize)]
    struct Published {
        epsilon0: f64,
        reports: u64,
        delta: f64,
        numerical_lower: f64,
        numerical_upper: f64,
    }
    let published: Published = vectors("accounting/published.json");
    let (local, target) = (epsilon(published.epsilon0), delta(published.delta));
    let found = batch_epsilon(Blanket::from(local), published.reports, target).unwrap().value();
    println!("numerical: {found} in [{}, {}]", published.numerical_lower, published.numerical_upper);
    assert!((published.numerical_lower..=published.numerical_upper).contains(&found));
}

/// Finite positive numbers over the whole range of doubles, subnormal ones and the largest included.
fn positive() -> impl Strategy<Value = f64> {
    prop_oneof![
        (1u64..f64::MAX.to_bits()).prop_map(f64::from_bits),
        Just(f64::MIN_POSITIVE),
        Just(f64::from_bits(1)),
        Just(f64::MAX),
        1e-3..1e3f64
    ]
}

fn probability() -> impl Strategy<Value = f64> {
    prop_oneof![
        (1u64..1.0f64.to_bits()).prop_map(f64::from_bits),
        Just(1.0f64.next_down()),
        Just(f64::from_bits(1)),
        1e-12..0.5f64
    ]
}

proptest! {
    /// Every inverse ends, with a checked answer or an error.
    #[test]
    fn calibration_inverses_end_for_all_finite_inputs(a in positive(), b in positive(), p in probability()) {
        let target = delta(p);
        if let Ok(found) = gaussian_epsilon(a, b, target) {
            prop_assert!(gaussian_delta(a, b, found).unwrap() <= p);
        }
        if let Ok(sigma) = analytic_gaussian_sigma(epsilon(a), target, b) {
            // The quotient of a subnormal scale has few digits. Where delta is all rounding (1e-272), a second query
            // rounds up by a few percent more than the one that was checked.
            if sigma > 1e-290 && b > 1e-290 {
                prop_assert!(gaussian_delta(sigma, b, epsilon(a)).unwrap() <= 2.0 * p, "{}", sigma);
            }
        }
        if let Ok(rho) = gaussian_rho(a, b) {
            prop_assert!(rho.value() >= 0.5 * (b / a) * (b / a));
        }
    }

    #[test]
    fn composition_ends_for_all_finite_inputs(
        a in positive(), b in positive(), p in probability(), own in probability(), reports in 1u64..1 << 53,
    ) {
        let mut composition = Composition::default();
        composition.add(PrivacyLoss::Pure { epsilon: epsilon(a) }, reports).unwrap();
        composition.add(PrivacyLoss::Cap(Cap::new(epsilon(b), 64, 8).unwrap()), 1).unwrap();
        if let Ok(composed) = composition.epsilon(Some(delta(p))) {
            prop_assert!(composed.epsilon.value() <= (a * reports as f64 + b) * (1.0 + 2e-9));
        }
        let rho = Rho::new(a).unwrap();
        let total_variation = TotalVariation::new(own).unwrap();
        composition.add(PrivacyLoss::Gaussian { rho, total_variation }, 3).unwrap();
        for method in Method::ALL {
            let _ = composition.epsilon_by(method, Some(delta(p)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn shuffle_bounds_end_for_all_finite_inputs(
        a in positive(), reports in prop_oneof![1u64.., 1u64..1_000_000], p in probability(),
    ) {
        let central = batch_epsilon(Blanket::from(epsilon(a)), reports, delta(p)).unwrap();
        prop_assert!(central.value() <= a);
    }
}
