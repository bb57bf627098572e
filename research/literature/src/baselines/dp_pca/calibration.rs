//! The noise of the private histograms and means for a budget: the printed one, and the least sufficient one.
//!
//! Algorithm 4 reads only one half of a batch, and Algorithm 5 only the other. (For balls, each of four answers reads
//! one of four parts.) So a replaced record is in one part of one batch. Each part has the whole (epsilon, delta):
//! losses do not add up over parts or batches.

use super::histogram::BinNoise;
use super::{Accounting, DpPca, Range};
use crate::baselines::BaselineError;
use ldp_pca::internal::privacy::calibration::analytic_gaussian_sigma;
use ldp_pca::privacy::{Delta, Epsilon};

/// The share of Algorithm 5's Gaussian budget for the location, in units of concentrated privacy.
const LOCATION_SHARE: f64 = 0.25;

/// The share of Algorithm 5's delta for bins that are nonempty in only one data set.
const UNSEEN_SHARE: f64 = 0.25;

/// The noise of one batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calibration {
    /// Of Algorithm 4's histogram.
    pub(super) scale: BinNoise,
    /// k, the number of values in it.
    pub(super) groups: usize,
    /// Of Algorithm 5's histograms.
    pub(super) location: BinNoise,
    /// Standard deviation of the mean's noise in units of its l2-sensitivity.
    pub(super) mean: f64,
    /// The smallest batch for which all of them succeed.
    pub(super) batch: usize,
}

/// Values scatter over neighbouring bins, so this many times as many as one bin needs. The paper has no constant.
pub const SPREAD: u64 = 3;

/// Three parts of a batch determine a ball's range. Each part has one in this many of the batch's records.
const RANGING: usize = 8;

impl Calibration {
    /// For gradients of `rows` × `columns` entries, at (`epsilon`, `delta`), in each of `batches` batches.
    ///
    /// # Errors
    /// [`BaselineError::Privacy`] for a budget below double precision.
    pub(super) fn new(
        method: &DpPca,
        (epsilon, delta): (Epsilon, Delta),
        (rows, columns): (usize, usize),
        batches: usize,
    ) -> Result<Self, BaselineError> {
        let histograms = match method.range {
            Range::Box => rows * columns,
            Range::Ball => columns,
        };
        let (scale, location, mean) = match (method.accounting, method.range) {
            (Accounting::Printed, Range::Box) => printed(epsilon.value() / 2.0, delta.value() / 2.0, histograms),
            (_, Range::Box) => tight(epsilon, delta, histograms, LOCATION_SHARE)?,
            (_, Range::Ball) => {
                let (scale, location, _) = tight(epsilon, delta, histograms, 1.0)?;
                (scale, location, analytic_gaussian_sigma(epsilon, delta, 1.0)?)
            }
        };
        let failure = method.failure / (2.0 * batches as f64);
        let enough =
            |noise: BinNoise, failure: f64| SPREAD as f64 * (noise.threshold + noise.exceeded_with(failure)).ceil();
        let values = enough(scale, failure);
        let located = enough(location, failure / histograms as f64);
        // Each value comes from a pair of gradients.
        let part = located.max(2.0 * values);
        let parts = match method.range {
            Range::Box => 2.0,
            Range::Ball => RANGING as f64,
        };
        Ok(Self { scale, groups: values as usize, location, mean, batch: (parts * part).min(1e15) as usize })
    }

    /// The number of records that each of a ball's three private ranges reads in a batch of `records`.
    pub(super) fn ranging(&self, records: usize) -> usize {
        records / RANGING
    }
}

/// The split is ours: the paper's is in an appendix that was not at hand. Algorithm 4 at (epsilon, delta); Algorithm 5
/// with `epsilon / (4 sqrt(2 D log(4 / delta)))` and `delta / (4 D)` for
/// each of its D histograms and Lemma 2.4 at (epsilon / 2, delta / 2) for the mean.
///
/// The histograms together are (epsilon / 2, delta / 2)-private by advanced composition (Dwork & Roth 2014, Theorem
/// 3.20) with slack delta / 4: `epsilon / 4 + D e (exp(e) - 1)` with the e of one of them, of which the second term is
/// about `epsilon^2 / (32 log(4 / delta))`.
fn printed(epsilon: f64, delta: f64, histograms: usize) -> (BinNoise, BinNoise, f64) {
    let d = histograms as f64;
    let each = epsilon / (4.0 * (2.0 * d * libm::log(4.0 / delta)).sqrt());
    let mean = (2.0 * libm::log(2.5 / delta)).sqrt() / (epsilon / 2.0);
    (BinNoise::laplace(epsilon, delta), BinNoise::laplace(each, delta / (4.0 * d)), mean)
}

/// The histograms and the mean of Algorithm 5 are Gaussian answers, of sensitivity sqrt(2 D) and as the range is: with
/// noise `sqrt(2 D) c / sqrt(f)` and `s c / sqrt(1 - f)` they are together one of sensitivity 1 and noise c (Dong, Roth
/// & Su 2022, Corollary 3.3), for which the analytic scale c is exact. Part of delta covers bins that are nonempty in
/// only one data set.
///
/// For balls, whose locations and mean are of different records, the share f is 1 and the mean has its own c.
fn tight(
    epsilon: Epsilon,
    delta: Delta,
    histograms: usize,
    share: f64,
) -> Result<(BinNoise, BinNoise, f64), BaselineError> {
    let unseen = UNSEEN_SHARE * delta.value();
    let c = analytic_gaussian_sigma(epsilon, Delta::new(delta.value() - unseen)?, 1.0)?;
    let rounded_up = 1.0 + 8.0 * f64::EPSILON;
    let sigma = (2.0 * histograms as f64 / share).sqrt() * c * rounded_up;
    let location = BinNoise::gaussian(sigma, histograms, unseen);
    let mean = c / (1.0 - share).sqrt() * rounded_up;
    Ok((BinNoise::laplace(epsilon.value(), delta.value()), location, mean))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ldp_pca::internal::privacy::calibration::gaussian_delta;

    #[test]
    fn printed_histograms_compose_to_half_of_the_budget_of_algorithm_5() {
        for (epsilon, delta, d) in [(0.45f64, 1e-6f64, 10.0f64), (0.45, 1e-3, 1000.0), (0.05, 1e-9, 100.0)] {
            let each = epsilon / (4.0 * (2.0 * d * (4.0 / delta).ln()).sqrt());
            let composed = each * (2.0 * d * (4.0 / delta).ln()).sqrt() + d * each * each.exp_m1();
            assert!(composed <= epsilon / 2.0, "{composed} {epsilon}");
        }
    }

    #[test]
    fn tight_noise_spends_the_budget_and_no_more() {
        let (epsilon, delta) = (Epsilon::new(0.8).unwrap(), Delta::new(1e-5).unwrap());
        let (_, location, mean) = tight(epsilon, delta, 30, LOCATION_SHARE).unwrap();
        // mu^2 = 2 D / sigma^2 + 1 / mean^2; what the histograms' noise exceeds with e^-1/2 is sigma.
        let sigma = location.exceeded_with((-0.5f64).exp());
        let mu = (60.0 / (sigma * sigma) + 1.0 / (mean * mean)).sqrt();
        let spent = gaussian_delta(1.0 / mu, 1.0, epsilon).unwrap() + UNSEEN_SHARE * 1e-5;
        assert!(spent <= 1e-5 && spent > 0.9999e-5, "{spent}");
    }
}
