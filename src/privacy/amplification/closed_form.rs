//! A bound for a batch that needs no search.

use crate::privacy::{Delta, Epsilon};

/// The closed form for every `local`-private randomizer, or `None` where its condition
/// `eps0 <= log(n / (16 log(4 / delta)))` fails.
///
/// ```text
/// epsilon = log(1 + (1 - e^-eps0) a / (1 + e^-eps0 / (1 + a))),   a = 8 sqrt(e^eps0 log(4 / delta) / n) + 8 e^eps0 / n
/// ```
///
/// as in the authors' own program (Feldman, McMillan & Talwar 2021; repository `apple/ml-shuffling-amplification`).
/// It is never below the printed Theorem III.1, which has `(1 - e^-eps0) / (1 + e^-eps0)` before a and asks for
/// `log(2 / delta)` only. Rounded up.
#[must_use]
pub fn closed_form_epsilon(local: Epsilon, reports: u64, delta: Delta) -> Option<Epsilon> {
    const ROUNDING: f64 = 1e-13;
    let (n, logarithm) = (reports as f64, libm::log(4.0 / delta.value()));
    if reports == 0 || local.value() > libm::log(n / (16.0 * logarithm) * (1.0 - ROUNDING)) {
        return None;
    }
    let up = libm::exp(local.value());
    let a = 8.0 * (up * logarithm / n).sqrt() + 8.0 * up / n;
    let factor = -libm::expm1(-local.value()) / (1.0 + libm::exp(-local.value()) / (1.0 + a));
    Epsilon::new((libm::log1p(factor * a) * (1.0 + ROUNDING)).min(local.value())).ok()
}
