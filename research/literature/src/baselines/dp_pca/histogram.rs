//! The private histogram with unboundedly many bins, which returns only a heaviest bin (Karwa & Vadhan 2018,
//! Lemma 2.3; the stability-based histogram of Bun, Nissim & Stemmer 2016): Lemma B.1 of Liu et al.
//!
//! ```text
//! for each bin that holds something: noisy count = count + noise; kept if at least the threshold
//! ```
//!
//! # Guarantee, one value replaced in each of D histograms
//! In each histogram the value leaves one bin and enters another: both counts change by one.
//!
//! *Laplace*, D = 1. Noise of scale 2 / epsilon makes the counts of bins that are nonempty in both data sets (epsilon,
//! 0)-private (l1-sensitivity 2). At most one bin is nonempty in only one set, and it holds a single value there. It is
//! seen with probability `P[1 + noise >= threshold] = e^(-(threshold - 1) epsilon / 2) / 2`, which is delta at
//!
//! ```text
//! threshold = 1 + (2 / epsilon) log(1 / (2 delta))                                          (delta <= 1/2)
//! ```
//!
//! On the event that it is not seen, the set's answer has the law of common bins only; so
//! `P[M(S) in E] <= delta + e^epsilon P[M(S') in E]`.
//!
//! *Gaussian*, any D. All counts together have l2-sensitivity sqrt(2 D). At most one bin of each histogram is nonempty
//! in only one set, and one of these is seen with probability at most `D P[1 + N(0, sigma^2) >= threshold]`, which is
//! at most delta at
//!
//! ```text
//! threshold = 1 + sigma sqrt(2 log(D / (2 delta)))          as P[N(0,1) >= z] <= e^(-z^2 / 2) / 2
//! ```
//!
//! Karwa and Vadhan state the lemma for (epsilon, delta) with Laplace noise 2 / epsilon and the threshold
//! `1 + (2 / epsilon) log(2 / delta)`, which is the first with a factor of 4 to spare.

use rand::rand_core::CryptoRng;

use crate::baselines::perturbation::{laplace, normal};

/// The noise of one histogram, and the threshold of a bin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BinNoise {
    law: Law,
    /// Noisy counts below it are not seen.
    pub(super) threshold: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    Laplace { scale: f64 },
    Gaussian { sigma: f64 },
}

impl BinNoise {
    /// For one histogram at (epsilon, delta).
    pub(super) fn laplace(epsilon: f64, delta: f64) -> Self {
        let scale = 2.0 / epsilon;
        let threshold = 1.0 + scale * -libm::log((2.0 * delta).min(1.0));
        Self { law: Law::Laplace { scale }, threshold: threshold.next_up() }
    }

    /// For `histograms` histograms together, at noise `sigma`, with unseen bins at `delta`.
    pub(super) fn gaussian(sigma: f64, histograms: usize, delta: f64) -> Self {
        let tail = (2.0 * libm::log(histograms as f64 / (2.0 * delta)).max(0.0)).sqrt();
        Self { law: Law::Gaussian { sigma }, threshold: (1.0 + sigma * tail).next_up() }
    }

    /// The value that the absolute noise exceeds with probability at most `failure`.
    pub(super) fn exceeded_with(&self, failure: f64) -> f64 {
        let logarithm = -libm::log(failure.min(1.0));
        match self.law {
            Law::Laplace { scale } => scale * logarithm,
            Law::Gaussian { sigma } => sigma * (2.0 * logarithm).sqrt(),
        }
    }

    fn sample(&self, rng: &mut dyn CryptoRng) -> f64 {
        match self.law {
            Law::Laplace { scale } => scale * laplace(rng),
            Law::Gaussian { sigma } => sigma * normal(rng),
        }
    }
}

/// The bin with the largest noisy count that reaches the threshold; each value is given as the name of its bin.
pub(super) fn heaviest_bin(mut bins: Vec<f64>, noise: BinNoise, rng: &mut dyn CryptoRng) -> Option<f64> {
    bins.sort_unstable_by(f64::total_cmp);
    bins.chunk_by(|left, right| left == right)
        .map(|same| (same[0], same.len() as f64 + noise.sample(rng)))
        .filter(|(_, count)| *count >= noise.threshold)
        .max_by(|left, right| left.1.total_cmp(&right.1))
        .map(|(bin, _)| bin)
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn the_heaviest_bin_is_found_once_it_is_well_above_the_threshold() {
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        for noise in [BinNoise::laplace(0.5, 1e-6), BinNoise::gaussian(5.0, 20, 1e-6)] {
            let margin = noise.exceeded_with(1e-6);
            let heavy = (noise.threshold + margin).ceil() as usize;
            // A bin that is lighter by twice the margin, and many bins with a single value.
            let light = heavy - (2.0 * margin).ceil().min(heavy as f64 - 1.0) as usize;
            let bins: Vec<f64> = [vec![3.0; heavy], vec![-2.0; light], (10..500).map(f64::from).collect()].concat();
            for _ in 0..200 {
                // It fails with probability at most 3e-6 each time.
                assert_eq!(heaviest_bin(bins.clone(), noise, &mut rng), Some(3.0));
            }
        }
    }

    #[test]
    fn a_single_value_is_seen_as_rarely_as_delta_says() {
        // Frequencies of 40,000 draws at delta = 0.01: mean 400, standard deviation 20; the Gaussian threshold is an
        // upper bound. Five standard deviations.
        let mut rng = ChaCha12Rng::seed_from_u64(2);
        let mut seen = |noise| (0..40_000).filter(|_| heaviest_bin(vec![1.0], noise, &mut rng).is_some()).count();
        let laplace = seen(BinNoise::laplace(0.7, 0.01));
        assert!((300..500).contains(&laplace), "{laplace}");
        let gaussian = seen(BinNoise::gaussian(3.0, 1, 0.01));
        assert!((50..500).contains(&gaussian), "{gaussian}");
    }

    #[test]
    fn nothing_in_every_bin_is_no_answer() {
        let mut rng = ChaCha12Rng::seed_from_u64(3);
        assert_eq!(heaviest_bin(vec![], BinNoise::laplace(1.0, 1e-6), &mut rng), None);
    }
}
