//! Liu, Kong, Jain & Oh (2022): central, k = 1, and records without a bound on their norms. All of them are rates.
//!
//! Their Assumption 1 describes the records by `kappa = lambda_1 / gap`, V, gamma and M. Theorems 3.3 and 5.1 are
//! evaluated for Gaussian records (Remark 3.4). The spectrum determines V and gamma; M is the remark's bound, which is
//! far above it where tr Sigma is far below d lambda_1:
//!
//! ```text
//! E (x x' - Sigma)^2  =  Sigma^2 + tr(Sigma) Sigma      so  V = 1 + tr Sigma / lambda_1
//! H_u = (Sigma u u' Sigma + (u' Sigma u) Sigma) / lambda_1^2      so  gamma^2 = 2, at u = v_1
//! M = O(d log n): d here, the logarithm is among those that O~ hides
//! ```
//!
//! Theorem 3.3 bounds the square of the sine, the others the sine; its square is stated. A mean sine of at least t has
//! a mean square of at least t^2. `O~` hides constants, powers of K, and logarithms of n, d, 1/epsilon and 1/delta. In
//! the available text the root of (12) covers `d / (eps n)` as well; the abstract and Corollary 5.2, which it is said
//! to match, do not have it there.

use super::{Case, Direction, Model, Quantity, Theorem};

pub(super) fn theorems(case: &Case) -> Vec<Theorem> {
    use {Direction::*, Quantity::*};
    let of = |name, source, quantity, direction, conditions, value: Option<f64>| {
        let value = value.filter(|_| case.k == 1.0);
        Theorem::rate(name, source, Model::Central, quantity, direction, conditions, value)
    };
    let records = |name, source, conditions, value| of(name, source, Records, Upper, conditions, value);
    let error =
        |name, source, direction, conditions, value| of(name, source, SinThetaSquared, direction, conditions, value);
    let Some(n) = case.records else { return vec![] };
    vec![
        error("liu-3-3", "Liu et al. 2022, Theorem 3.3", Upper, OJA, case.private_oja(n)),
        records("liu-3-3-records", "Liu et al. 2022, (4) of Theorem 3.3", OJA, case.private_oja_records()),
        error("liu-5-1", "Liu et al. 2022, Theorem 5.1", Upper, DP_PCA, case.dp_pca(n)),
        records("liu-5-1-records", "Liu et al. 2022, (9) of Theorem 5.1", DP_PCA, case.dp_pca_records(n)),
        error("liu-5-3", "Liu et al. 2022, Theorem 5.3", Lower, GAUSSIAN, case.gaussian_lower(n)),
        error("liu-5-4", "Liu et al. 2022, Theorem 5.4", Lower, HEAVY, case.heavy_lower(n)),
    ]
}

const OJA: &str = "k = 1, Gaussian records, epsilon = O(sqrt(log(n/delta)/n)), probability 0.99; Private Oja";
const DP_PCA: &str = "k = 1, Gaussian records, epsilon < 0.9, delta <= 1/n, probability 0.99; DP-PCA";
const GAUSSIAN: &str = "k = 1, some Gaussian records, delta = 0, d above a constant";
const HEAVY: &str = "k = 1, d >= 2, some records with heavier tails than Theorem 5.1 allows (no Assumption A.4)";

impl Case {
    /// kappa.
    fn kappa(&self) -> Option<f64> {
        self.gap().map(|gap| self.first / gap)
    }

    /// V of Gaussian records.
    fn gaussian_variance(&self) -> f64 {
        1.0 + self.trace / self.first
    }

    /// (5): `kappa^2 (V/n + (gamma + 1)^2 d^2 log^2(1/delta) / (eps n)^2)`.
    fn private_oja(&self, n: f64) -> Option<f64> {
        let privacy = (GAMMA + 1.0) * self.d * libm::log(1.0 / self.delta) / (self.epsilon * n);
        self.kappa().map(|kappa| kappa * kappa * (self.gaussian_variance() / n + privacy * privacy))
    }

    /// (4): `kappa^2 + kappa M + kappa^2 V + d kappa (gamma + 1) log(1/delta) / eps`.
    fn private_oja_records(&self) -> Option<f64> {
        let privacy = self.d * (GAMMA + 1.0) * libm::log(1.0 / self.delta) / self.epsilon;
        self.kappa().map(|kappa| kappa * (kappa * (1.0 + self.gaussian_variance()) + self.d + privacy))
    }

    /// (10), squared: `kappa (sqrt(V/n) + gamma d sqrt(log(1/delta)) / (eps n))`.
    fn dp_pca(&self, n: f64) -> Option<f64> {
        let privacy = GAMMA * self.d * libm::log(1.0 / self.delta).sqrt() / (self.epsilon * n);
        let fits = self.epsilon < 0.9 && self.delta * n <= 1.0;
        let sine = |kappa: f64| kappa * ((self.gaussian_variance() / n).sqrt() + privacy);
        self.kappa().filter(|_| fits).map(|kappa| sine(kappa).powi(2))
    }

    /// (9): `e^(kappa^2) + kappa M + kappa^2 V
    /// + (sqrt(d) log(1/delta)^(3/2) + d kappa gamma sqrt(log(1/delta)) + d log(1/delta)) / eps`.
    fn dp_pca_records(&self, n: f64) -> Option<f64> {
        let logarithm = libm::log(1.0 / self.delta);
        let privacy = |kappa: f64| {
            self.d.sqrt() * logarithm * logarithm.sqrt() + self.d * (kappa * GAMMA * logarithm.sqrt() + logarithm)
        };
        self.kappa().filter(|_| self.epsilon < 0.9 && self.delta * n <= 1.0).map(|kappa| {
            let sampling = kappa * (self.d + kappa * self.gaussian_variance());
            libm::exp(kappa * kappa) + sampling + privacy(kappa) / self.epsilon
        })
    }

    /// (12), squared: `min(kappa (sqrt(d/n) + d / (eps n)) sqrt(lambda_2 / lambda_1), 1)`.
    fn gaussian_lower(&self, n: f64) -> Option<f64> {
        let sine = |kappa: f64| {
            let terms = (self.d / n).sqrt() + self.d / (self.epsilon * n);
            (kappa * terms * (self.next / self.first).sqrt()).min(1.0)
        };
        self.kappa().map(|kappa| sine(kappa).powi(2))
    }

    /// (13), squared: `kappa min(sqrt(min(d, log((1 - e^-eps) / delta)) / (eps n)), 1)`.
    fn heavy_lower(&self, n: f64) -> Option<f64> {
        let logarithm = libm::log(-libm::expm1(-self.epsilon) / self.delta);
        let square = (self.d.min(logarithm) / (self.epsilon * n)).min(1.0);
        self.kappa().filter(|_| self.d >= 2.0 && logarithm > 0.0).map(|kappa| kappa * kappa * square)
    }
}

/// gamma of Gaussian records.
const GAMMA: f64 = core::f64::consts::SQRT_2;
