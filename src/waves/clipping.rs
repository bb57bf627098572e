//! What a second wave is asked with, weights and clips, for recovery and prediction alike; and what a clip leaves of
//! the products of a record's parts.
//!
//! The *model*: records are elliptical, the directions of normal vectors with a few strong components and an isotropic
//! rest, all of one length. So `E[b | a] = 0` for the parts along the components and across them, and `|b|^2` follows
//! from `|a|^2`. With `s = min(1, c / (|w a| |b|))` a clipped product is `s b a'`. If the directions V are turned from
//! the true components by a small T (`V' T = 0`), then
//!
//! ```text
//! E[s b a'] = T diag(E s f_j^2) - E[s e e'] T,        f along the components, e across them
//! ```
//!
//! where the cross block itself is `T diag(E f_j^2) - E[e e'] T`. The quotient of both is what the clip leaves.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

/// The least distance of an eigenvalue from the bulk, as a share of it.
pub(super) const LEAST_GAP: f64 = 0.02;
/// The least share of the variance that is taken to be across the components.
const LEAST_ACROSS: f64 = 0.02;
/// The clips that are tried, in units of the root of the share across the components.
pub(super) const CLIPS: [f64; 4] = [1.0, 1.5, 2.0, 3.0];

/// Records that integrals are means over. They are the same in both parts of every quotient.
const DRAWS: usize = 4096;
/// Rounds in which the normal vectors' variances are made to fit.
const ROUNDS: usize = 40;
/// The least that a clip is taken to leave.
const LEAST: f64 = 0.1;
/// The part of what a clip takes off that other records may turn into an error: see [`Clipped::misfit`].
const MISFIT: f64 = 0.1;

/// The distance of an eigenvalue from the bulk.
pub(super) fn gap(eigenvalue: f64, bulk: f64) -> f64 {
    (eigenvalue - bulk).max(LEAST_GAP * eigenvalue)
}

/// `w_j^2 ~ 1 / (gap_j sqrt(lambda_j))`, with `Sum w_j^2 lambda_j = 1`: the least error, summed over the components.
fn weights(eigenvalues: &[f64], bulk: f64) -> Vec<f64> {
    let squares: Vec<f64> = eigenvalues.iter().map(|&value| 1.0 / (gap(value, bulk) * value.sqrt())).collect();
    let whole: f64 = squares.iter().zip(eigenvalues).map(|(square, value)| square * value).sum();
    squares.iter().map(|square| (square / whole).sqrt().clamp(1e-3, 200.0)).collect()
}

/// The cross block of unit records about their leading components.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// At least k of them.
    pub(super) signals: Vec<f64>,
    /// The first k, all above 0.
    pub(super) leading: Vec<f64>,
    pub(super) bulk: f64,
    /// The directions of the bulk.
    pub(super) directions: usize,
    pub(super) weights: Vec<f64>,
    /// The variance across the components.
    across: f64,
    pub(super) model: Model,
}

/// A clip, in the units of the records, and its factor.
pub(super) struct Clip {
    pub(super) kappa: f64,
    pub(super) width: f64,
    pub(super) left: Clipped,
}

impl Block {
    /// The block of the first k of these signals, or of the bulk's directions in their place, in so many features.
    pub(super) fn new(mut signals: Vec<f64>, bulk: f64, k: usize, dimension: usize) -> Self {
        signals.resize(signals.len().max(k), bulk);
        let directions = (dimension - signals.len().min(dimension)).max(1);
        let leading: Vec<f64> = signals[..k].iter().map(|signal| signal.max(1e-9)).collect();
        let weights = weights(&leading, bulk);
        let across = (signals[k..].iter().sum::<f64>() + bulk * directions as f64).max(LEAST_ACROSS);
        let model = Model::new(&signals, bulk, directions);
        Self { signals, leading, bulk, directions, weights, across, model }
    }

    /// The clip of this factor where the components are off by these squared sines.
    pub(super) fn clipped(&self, kappa: f64, sines: &[f64]) -> Clip {
        let width = kappa * self.across.sqrt();
        Clip { kappa, width, left: self.model.clipped(&self.weights, width, sines) }
    }
}

/// The eigenvalues of the second moments of unit records, in the units of their trace: at least k of them, descending,
/// above a bulk of so many directions.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    squares: Vec<Vec<f64>>,
    across: Vec<f64>,
    trace: f64,
    bulk: f64,
    signals: Vec<f64>,
}

/// What a clip leaves: factors from 0.1 to 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Clipped {
    /// Of the products of each of the k components with the bulk.
    pub(crate) with_bulk: Vec<f64>,
    /// Of the products of each with each further signal.
    pub(crate) with_further: Vec<Vec<f64>>,
    /// The share of records whose products are shortened.
    pub(crate) share: f64,
    /// `E[(1 - s) |a_j| |b|]`, for each component: the length of what is taken off its products.
    lost: Vec<f64>,
}

impl Clipped {
    /// The error that the clip may leave a component whose distance from the bulk is `gap`, where the records are not
    /// those of the model. What is taken off could all point the same way, and turn the component by `lost / gap`. A
    /// tenth of that square is assumed. (Of KDD Cup 99 it is 0.05 to 0.1, for clips of 0.5 to 2.)
    pub(crate) fn misfit(&self, component: usize, gap: f64) -> f64 {
        MISFIT * (self.lost[component] / gap).powi(2)
    }
}

impl Model {
    /// The model of records whose second moments have these eigenvalues (all finite and not negative).
    pub(crate) fn new(signals: &[f64], bulk: f64, directions: usize) -> Self {
        let rest = bulk.max(0.0) * directions as f64;
        let trace = (signals.iter().sum::<f64>() + rest).max(f64::MIN_POSITIVE);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(21);
        let degrees = directions.max(1) as f64;
        let drawn: Vec<(Vec<f64>, f64)> = (0..DRAWS)
            .map(|_| {
                let squares = signals.iter().map(|_| rng.sample::<f64, _>(StandardNormal).powi(2)).collect();
                // The mean of so many squares (Wilson & Hilferty 1931).
                let spread = 2.0 / (9.0 * degrees);
                let root = 1.0 - spread + spread.sqrt() * rng.sample::<f64, _>(StandardNormal);
                (squares, root.max(0.0).powi(3))
            })
            .collect();
        let shares: Vec<f64> = signals.iter().map(|signal| signal / trace).collect();
        let (mut variances, mut level) = (shares.clone(), rest / trace);
        let mut of_all = Vec::new();
        for _ in 0..ROUNDS {
            of_all = drawn
                .iter()
                .map(|(squares, across)| {
                    let own: Vec<f64> = squares.iter().zip(&variances).map(|(square, of)| square * of).collect();
                    let whole = (own.iter().sum::<f64>() + level * across).max(f64::MIN_POSITIVE);
                    (own.into_iter().map(|square| square / whole).collect::<Vec<_>>(), level * across / whole)
                })
                .collect();
            for (index, (variance, share)) in variances.iter_mut().zip(&shares).enumerate() {
                let mean = of_all.iter().map(|(squares, _)| squares[index]).sum::<f64>() / DRAWS as f64;
                *variance *= share / mean.max(f64::MIN_POSITIVE);
            }
            let mean = of_all.iter().map(|(_, across)| across).sum::<f64>() / DRAWS as f64;
            level *= rest / trace / mean.max(f64::MIN_POSITIVE);
        }
        let (squares, across) = of_all.into_iter().unzip();
        Self { squares, across, trace, bulk, signals: signals.to_vec() }
    }

    /// What is left with a weight for each of the first k signals, and this clip (both in the units of the records),
    /// where the directions are off by these squared sines: the more, the less is along them, and the more across.
    pub(crate) fn clipped(&self, weights: &[f64], clip: f64, sines: &[f64]) -> Clipped {
        let k = weights.len().min(self.signals.len());
        let (mut sums, mut means) = (vec![0.0; self.signals.len()], vec![0.0; self.signals.len()]);
        let (mut across, mut across_mean, mut shortened) = (0.0, 0.0, 0usize);
        let mut lost = vec![0.0; k];
        for (squares, rest) in self.squares.iter().zip(&self.across) {
            let own = squares[..k].iter().zip(sines).map(|(square, sine)| square * (1.0 - sine));
            let along: f64 = own.clone().sum();
            let weighted: f64 = own.clone().zip(weights).map(|(square, weight)| weight * weight * square).sum();
            let beside = (1.0 - along).max(0.0);
            let length = (weighted * beside).sqrt() * self.trace;
            let left = if length > clip { clip / length } else { 1.0 };
            shortened += usize::from(length > clip);
            for ((sum, mean), square) in sums.iter_mut().zip(&mut means).zip(squares) {
                *sum += left * square;
                *mean += square;
            }
            for (lost, square) in lost.iter_mut().zip(own) {
                *lost += (1.0 - left) * (square * beside).sqrt() * self.trace / DRAWS as f64;
            }
            across += left * rest;
            across_mean += rest;
        }
        let share = |sum: f64, mean: f64| if mean > 0.0 { sum / mean } else { 1.0 };
        let left: Vec<f64> = sums.iter().zip(&means).map(|(&sum, &mean)| share(sum, mean)).collect();
        let beside = share(across, across_mean);
        let between = |index: usize, other: f64, of_other: f64| {
            let signal = self.signals[index];
            let found = (left[index] * signal - of_other * other) / gap(signal, other);
            if found.is_finite() { found.clamp(LEAST, 1.0) } else { 1.0 }
        };
        Clipped {
            with_bulk: (0..k).map(|index| between(index, self.bulk, beside)).collect(),
            with_further: (0..k)
                .map(|index| (k..left.len()).map(|other| between(index, self.signals[other], left[other])).collect())
                .collect(),
            share: shortened as f64 / DRAWS as f64,
            lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_clip_leaves_everything_and_a_narrow_one_a_part() {
        let model = Model::new(&[0.48, 0.215, 0.13, 0.067], 0.108 / 112.0, 112);
        let weights = [1.0, 1.3, 1.6];
        let wide = model.clipped(&weights, 10.0, &[0.0; 3]);
        assert_eq!((wide.share, &wide.with_bulk, wide.misfit(0, 0.1)), (0.0, &vec![1.0; 3], 0.0));
        let mut last = wide;
        for clip in [0.5, 0.3, 0.2] {
            let found = model.clipped(&weights, clip, &[0.0; 3]);
            assert!(found.share > last.share);
            assert!((0..3).all(|component| found.misfit(component, 0.1) > last.misfit(component, 0.1)));
            assert!(found.with_bulk.iter().zip(&last.with_bulk).all(|(less, more)| less < more), "{found:?}");
            last = found;
        }
        assert!(last.with_further.iter().all(|of| of.len() == 1));
    }

    #[test]
    fn degenerate_spectra_have_finite_factors() {
        for (signals, bulk, directions) in [
            (vec![0.0], 0.0, 3),
            (vec![1.0], 0.0, 1),
            (vec![0.5, 0.5], 0.0, 0),
            (vec![1e-300], 1e-300, 5),
            (vec![0.2, 0.2], 0.2, 3),
        ] {
            let model = Model::new(&signals, bulk, directions);
            for clip in [1e-9, 0.3, 1e9] {
                let found = model.clipped(&vec![1.0; signals.len()], clip, &vec![0.0; signals.len()]);
                assert!(found.with_bulk.iter().all(|left| (LEAST..=1.0).contains(left)), "{signals:?}: {found:?}");
            }
        }
    }
}
