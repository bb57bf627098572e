//! Ge, Wang, Wang & Liu (2018), DPS-PCA: distributed, s-sparse. Data providers trust neither each other nor the server.
//!
//! Theorem 4.3 bounds `||sin Theta||_F` by the sum of three terms, of which (4.2) has an open constant C_1:
//!
//! ```text
//! (4.2)  C_1 sqrt(k) / (1 - rho^(1/4)) sqrt(lambda_1 lambda_{k+1}) / gap sqrt(s (k + log d) / n)
//! (4.3)  1 / (sqrt(3) (1 - rho^(1/4))) (1 + 2 sqrt(k s / s_hat)) alpha / (1 - alpha)
//! (4.4)  rho^((t - 1) / 4) min(rho^(1/2) sqrt(1 - rho^(1/2)) / 2, 1/4)
//! alpha = 2 k (sqrt(s_hat) + sqrt(k) + tau) N sigma / (n lambda_k),   sigma = 2 T / eps sqrt(2 ln(2 T / delta))
//! rho = gamma / (1 - alpha),   gamma = (3 lambda_{k+1} + lambda_k) / (3 lambda_k + lambda_{k+1})
//! ```
//!
//! The sum is evaluated with C_1 = 1, one provider (N = 1, its best case), `s_hat = s`, `tau = 4`, and the number T of
//! iterations up to 1000 that makes it least; (4.4) stands alone at that T. Squares are stated. The text of (4.4) is
//! damaged: its root is the small one, which covers no fraction. The text of sigma has no logarithm, which the Gaussian
//! mechanism needs. Assumption B.1 is in an appendix that was not available.

use super::{Case, Direction, Model, Quantity, Theorem};

pub(super) fn theorems(case: &Case) -> Vec<Theorem> {
    let (Some(n), Some(s)) = (case.records, case.sparsity) else { return vec![] };
    let of = |model, name, source, direction, conditions, value| {
        Theorem::rate(name, source, model, Quantity::SinThetaSquared, direction, conditions, value)
    };
    use Direction::*;
    let best = case.dps_pca(n, s);
    let whole = best.map(|[sum, _]| sum * sum);
    let optimization = best.map(|[_, optimization]| optimization * optimization);
    vec![
        of(Model::Distributed, "ge-4-3", "Ge et al. 2018, Theorem 4.3", Upper, WHOLE, whole),
        of(Model::Distributed, "ge-4-4", "Ge et al. 2018, (4.4) of Theorem 4.3", Upper, PART, optimization),
        of(Model::Central, "ge-minimax", "Ge et al. 2018, minimax bound", Lower, MINIMAX, case.sparse_minimax(n, s)),
    ]
}

const WHOLE: &str =
    "epsilon < 1, delta < 1/2, alpha and rho below 1, Assumption B.1, tau = 4; one provider, best T, C_1 = 1";
const PART: &str = "the part of Theorem 4.3 that further iterations shrink, at the same T; no error by itself";
const MINIMAX: &str = "without any privacy; gap above a constant times lambda_{k+1}";

/// The bound fails with probability at most `2 T e^(-tau^2 / 2)`, which is 0.07 for 100 iterations and above a half for
/// 1,000, and with `1/d + O(log n / n)` for the records.
const TAU: f64 = 4.0;
const MOST_ITERATIONS: u32 = 1000;

impl Case {
    /// The least sum of the three terms over T, and the last of them there.
    fn dps_pca(&self, n: f64, s: f64) -> Option<[f64; 2]> {
        let gap = self.gap().filter(|_| self.epsilon < 1.0 && self.delta < 0.5 && self.can_be_sparse(s))?;
        let gamma = (3.0 * self.next + self.last) / (3.0 * self.last + self.next);
        let statistical = (self.first * self.next).sqrt() / gap * (s * (self.k + libm::log(self.d)) / n).sqrt();
        let at = |iterations: u32| {
            let t = f64::from(iterations);
            let sigma = 2.0 * t / self.epsilon * (2.0 * libm::log(2.0 * t / self.delta)).sqrt();
            let alpha = 2.0 * self.k * (s.sqrt() + self.k.sqrt() + TAU) * sigma / (n * self.last);
            let rho = gamma / (1.0 - alpha);
            if !(alpha < 1.0 && rho < 1.0) {
                return None;
            }
            let (root, fourth) = (rho.sqrt(), rho.sqrt().sqrt());
            let privacy = (1.0 + 2.0 * self.k.sqrt()) * alpha / (1.0 - alpha) / 3f64.sqrt();
            let optimization = fourth.powi(iterations as i32 - 1) * (root * (1.0 - root).sqrt() / 2.0).min(0.25);
            Some([(self.k.sqrt() * statistical + privacy) / (1.0 - fourth) + optimization, optimization])
        };
        (1..=MOST_ITERATIONS).map_while(at).reduce(|best, next| if next[0] < best[0] { next } else { best })
    }

    /// `lambda_1 lambda_{k+1} / gap^2 s (k + log(d) / 4) / n`.
    fn sparse_minimax(&self, n: f64, s: f64) -> Option<f64> {
        let terms = s * (self.k + 0.25 * libm::log(self.d)) / n;
        self.gap().filter(|_| self.can_be_sparse(s)).map(|gap| self.first * self.next / (gap * gap) * terms)
    }
}
