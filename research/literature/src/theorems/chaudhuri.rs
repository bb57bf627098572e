//! Chaudhuri, Sarwate & Sinha (2013): central, k = 1, records in the unit ball, and the eigenvalues of their own
//! covariance.

use super::{Case, Direction, Model, Quantity, Theorem};

pub(super) fn theorems(case: &Case) -> Vec<Theorem> {
    use {Direction::*, Model::Central, Quantity::*};
    let mut all = vec![];
    if let Some(target) = case.target {
        let (enough, least) = (case.ppca_records(target), case.least_central_records(target));
        all.push(Theorem::bound("ppca", THEOREM_7, Central, Records, Upper, PPCA, enough));
        all.push(Theorem::bound("any-central", THEOREM_8, Central, Records, Lower, ANY, least));
        let least = case.mod_sulq_records();
        all.push(Theorem::rate("mod-sulq-records", THEOREM_9, Central, Records, Lower, NINE, least));
    }
    if let Some(n) = case.records {
        let most = case.mod_sulq_correlation(n);
        all.push(Theorem::bound("mod-sulq", THEOREM_15, Central, Correlation, Upper, MOD_SULQ, most));
    }
    all
}

const THEOREM_7: &str = "Chaudhuri, Sarwate & Sinha 2013, Theorem 7";
const THEOREM_8: &str = "Chaudhuri, Sarwate & Sinha 2013, Theorem 8";
const THEOREM_9: &str = "Chaudhuri, Sarwate & Sinha 2013, Theorem 9";
const THEOREM_15: &str = "Chaudhuri, Sarwate & Sinha 2013, Theorem 15";

const PPCA: &str = "k = 1, delta = 0, unit ball, probability 0.95";
const ANY: &str = "k = 1, delta = 0, unit ball, d >= 3, epsilon and gap at most 1/2, a small target";
const NINE: &str = "k = 1, unit ball, MOD-SULQ on some data; c = 1, and the factor 1 - c' (1 - rho) is left out";
const MOD_SULQ: &str = "k = 1, unit ball, MOD-SULQ on some data";

/// One minus the probability with which Theorem 7 is asked to hold.
const FAILURE: f64 = 0.05;

impl Case {
    /// ```text
    /// n > d / (eps gap (1 - rho)) × (4 log(1/eta) / d + 2 log(8 lambda_1 / ((1 - rho^2) gap)))
    /// ```
    fn ppca_records(&self, target: f64) -> Option<f64> {
        let gap = self.gap().filter(|_| self.k == 1.0 && target < 1.0)?;
        // 1 - rho for a small target, without cancellation.
        let missed = target / (1.0 + (1.0 - target).sqrt());
        let logarithms = 4.0 * libm::log(1.0 / FAILURE) / self.d + 2.0 * libm::log(8.0 * self.first / (target * gap));
        Some(self.d / (self.epsilon * gap * missed) * logarithms)
    }

    /// ```text
    /// n < d / (eps gap) × max(1, sqrt((1 - phi) / (80 (1 - rho)))),   1 - phi = exp(-2 (ln 8 + ln(1 + e^d)) / (d - 2))
    /// ```
    ///
    /// for d >= 3, eps and gap at most 1/2 and rho >= 1 - (1 - phi) / 16.
    fn least_central_records(&self, target: f64) -> Option<f64> {
        let fits = self.k == 1.0 && self.d >= 3.0 && self.epsilon <= 0.5;
        let gap = self.gap().filter(|&gap| fits && gap <= 0.5)?;
        let log_of_sum = self.d + libm::log1p(libm::exp(-self.d));
        let complement = libm::exp(-2.0 * (core::f64::consts::LN_2 * 3.0 + log_of_sum) / (self.d - 2.0));
        (target <= complement / 16.0)
            .then(|| self.d / (self.epsilon * gap) * (complement / (80.0 * target)).sqrt().max(1.0))
    }

    /// `d^(3/2) sqrt(log(d/delta)) / eps`.
    fn mod_sulq_records(&self) -> Option<f64> {
        let rate = self.d * self.d.sqrt() * libm::log(self.d / self.delta).sqrt() / self.epsilon;
        (self.k == 1.0).then_some(rate)
    }

    /// ```text
    /// E |<v1_hat, v1>| <= min over phi of 1 - (1 - phi)/4 × (1 - (1/beta^2 + log 2) / log K)^2
    /// log K = (d - 1) log(1 / sqrt(1 - phi^2)) - log 8
    /// beta = (d + 1) / (n eps) sqrt(2 log((d^2 + d) / (2 delta sqrt(2 pi)))) + 1 / (n sqrt(eps))
    /// ```
    ///
    /// over phi above the three lower limits of (22), where the inner difference is not negative.
    fn mod_sulq_correlation(&self, n: f64) -> Option<f64> {
        let d = self.d;
        if self.k != 1.0 || d < 2.0 {
            return None;
        }
        let root_two_pi = (2.0 * core::f64::consts::PI).sqrt();
        let logarithm = libm::log((d * d + d) / (2.0 * self.delta * root_two_pi));
        let beta = (d + 1.0) / (n * self.epsilon) * (2.0 * logarithm).sqrt() + 1.0 / (n * self.epsilon.sqrt());
        let information = 1.0 / (beta * beta) + core::f64::consts::LN_2;
        let limit = |numerator: f64| (-libm::expm1(-numerator / (d - 1.0))).max(0.0).sqrt();
        let least = (1.0 / (2.0 * core::f64::consts::PI * d).sqrt())
            .max(limit(2.0 * libm::log(8.0 * d)))
            .max(limit(2.0 / (beta * beta) + libm::log(256.0)));
        let at = |phi: f64| {
            let log_k = -0.5 * (d - 1.0) * libm::log1p(-phi * phi) - libm::log(8.0);
            1.0 - 0.25 * (1.0 - phi) * (1.0 - information / log_k).max(0.0).powi(2)
        };
        // One minus phi over a geometric grid: the minimum is flat.
        let steps = 400;
        (0..steps).map(|step| at(1.0 - (1.0 - least) * 0.96f64.powi(step))).reduce(f64::min)
    }
}
