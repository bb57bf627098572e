//! The block of the components: the noise that they have among themselves.
//!
//! Among the m components that stand out the estimate is an m × m block,
//!
//! ```text
//! B = diag(lambda) + G,     E G_ij = 0,     E G_ij^2 = v(lambda_i, lambda_j) (1 + [i = j])
//! ```
//!
//! independent of the noise in the bulk. What the bulk meets are the eigenvalues x_j of B along its eigenvectors u_j,
//! so that
//!
//! ```text
//! cos^2_i = E Sum over j of u_ij^2 C(x_j)
//! ```
//!
//! with C(x) what the [chain](NoiseBulk::captured) says of a component with the eigenvalue x. This has the second-order
//! effects of finite dimension (the spread of x smooths the transition, equal components repel each other) and, for
//! components beyond the rank asked for, `Sum over j > k of v(lambda_i, lambda_j) / (lambda_i - lambda_j)^2` where they
//! are apart, and half of the component where they are tied.
//!
//! The mean over G is taken by cubature: entries of G at plus or minus their deviation, with the signs of a fold-over
//! Hadamard design. It is exact for polynomials of degree three in the entries (Stroud 1957), and costs 2 (m (m +
//! 1)/2 + 1) matrices, rounded up to a power of two.
//!
//! How many of the leading k eigenvectors are left to the edge of the noise depends on how many of the x_j stand above
//! the threshold. Each counts as `h(x) = (1 + erf(N^(1/3) (t - 1))) / 2`, with t its distance from the bulk in units of
//! the threshold's: the width of the transition. The component j meets `d - 1 - Sum over i /= j of h(x_i)` other
//! directions, and of the k eigenvectors it has its own unless k larger components stand before it, and those that no
//! other has.
//!
//! About an estimated mean the noise of each direction has an [excess](crate::law). The mean's part in the bulk
//! is one more direction of the block, at the place from which the bulk would repel a component as far
//! ([`NoiseBulk::mean_level`]).

use fantope::FantopeError;
use nalgebra::DMatrix;

use super::{PredictionError, Spectrum};
use crate::law::{Along, NoiseBulk, NoiseLaw};
use crate::linalg::symmetric_eigen;

/// Blocks up to this size have the full design of signs; larger ones that many pairs of scrambled signs.
const FULL_DESIGN: usize = 10;
const PAIRS: u64 = 32;
/// Beyond this size each matrix takes long, and there is more to average over anyway.
const LARGE: usize = 40;
const FEW_PAIRS: u64 = 4;

/// For each component of `spectrum` above the bulk the expected squared cosine between it and the subspace of the
/// leading `rank` eigenvectors of the estimate.
pub(super) fn captured(
    spectrum: &Spectrum,
    rank: usize,
    law: &NoiseLaw,
    bulk: &NoiseBulk,
) -> Result<Vec<f64>, PredictionError> {
    let mut sums = vec![0.0; spectrum.signals().len()];
    if sums.is_empty() {
        return Ok(sums);
    }
    let mut signals: Vec<Along> = (spectrum.signals().iter().zip(&spectrum.mean_along))
        .map(|(&eigenvalue, &square)| Along { eigenvalue, excess: law.excess(square) + law.second_order() })
        .collect();
    let weakest = spectrum.signals()[rank.min(signals.len()) - 1];
    let beside = law.excess(spectrum.mean_beside);
    if beside > 0.0 {
        signals.push(Along { eigenvalue: spectrum.bulk(), excess: beside });
    }
    let deviations = DMatrix::from_fn(signals.len(), signals.len(), |row, column| {
        let twice = if row == column { 2.0 } else { 1.0 };
        (twice * law.variance_between(signals[row], signals[column])).sqrt()
    });
    let width = (spectrum.dimension() as f64 - signals.len() as f64).max(1.0).cbrt();
    let edge = Edge { bulk: bulk.beside(0.0), width };
    let mut dimension = spectrum.dimension() as f64;
    if let (true, Some(mean)) = (beside > 0.0, signals.last_mut()) {
        *mean = bulk.mean_level(weakest).into();
        // It is no direction of the bulk, whether it stands above or not.
        dimension -= 1.0 - edge.stand(mean.eigenvalue);
    }
    let pairs = match signals.len() {
        m if m <= FULL_DESIGN => (m * (m + 1) / 2 + 1).next_power_of_two() as u64,
        m if m <= LARGE => PAIRS,
        _ => FEW_PAIRS,
    };
    for run in 0..pairs {
        for fold in [1.0, -1.0] {
            let block = DMatrix::from_fn(signals.len(), signals.len(), |row, column| {
                let (low, high) = (row.min(column), row.max(column));
                let entry = (high * (high + 1) / 2 + low + 1) as u64;
                let mean = if row == column { signals[row].eigenvalue } else { 0.0 };
                mean + fold * sign(run, entry, signals.len()) * deviations[(low, high)]
            });
            let eigen = symmetric_eigen(&block).map_err(FantopeError::from)?;
            let excess = eigen.vectors.column_iter().map(|vector| {
                vector.iter().zip(&signals).map(|(entry, along)| entry * entry * along.excess).sum::<f64>()
            });
            let directions = eigen.values.iter().zip(excess);
            let directions = directions.map(|(&eigenvalue, excess)| Along { eigenvalue, excess }).collect::<Vec<_>>();
            let shares = edge.shares(&directions, dimension, rank);
            for (component, sum) in sums.iter_mut().enumerate() {
                let row = eigen.vectors.row(component);
                *sum += row.iter().zip(&shares).map(|(entry, share)| entry * entry * share).sum::<f64>();
            }
        }
    }
    Ok(sums.into_iter().map(|sum| sum / (2 * pairs) as f64).collect())
}

/// The edge of the noise: where eigenvalues of the block stand above it.
struct Edge {
    bulk: NoiseBulk,
    width: f64,
}

impl Edge {
    /// Whether an eigenvalue stands above the bulk: from 0 to 1, as the transition is gradual.
    fn stand(&self, value: f64) -> f64 {
        let level = self.bulk.level();
        let least = (self.bulk.threshold() - level).max(f64::MIN_POSITIVE);
        0.5 * (1.0 + libm::erf(self.width * ((value - level) / least - 1.0)))
    }

    /// For every direction of the block, by descending eigenvalue, the part of it inside the leading `rank`
    /// eigenvectors.
    fn shares(&self, directions: &[Along], dimension: f64, rank: usize) -> Vec<f64> {
        let k = rank as f64;
        let stands: Vec<f64> = directions.iter().map(|direction| self.stand(direction.eigenvalue)).collect();
        let all: f64 = stands.iter().sum();
        let mut before = 0.0;
        directions
            .iter()
            .zip(&stands)
            .map(|(&direction, own)| {
                let others = all - own;
                let count = (k - before).clamp(0.0, 1.0) + (k - 1.0 - others).max(0.0);
                before += own;
                self.bulk.captured(direction, dimension - 1.0 - others, count)
            })
            .collect()
    }
}

/// Entry (run, entry) of a Hadamard matrix, or, where the block is too large for one, of a scrambled one.
fn sign(run: u64, entry: u64, size: usize) -> f64 {
    let common = if size <= FULL_DESIGN { run & entry } else { scrambled(run) & scrambled(entry + PAIRS) };
    if common.count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
}

/// The finalizer of `SplitMix64` (Steele, Lea & Flood 2014).
fn scrambled(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::tests::double_cap_law;
    use chacha20::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};
    use rand_distr::StandardNormal;

    /// Every two entries of a block, and every three, have all combinations of signs equally often: pairs of blocks
    /// with opposite signs do the rest.
    #[test]
    fn the_signs_of_a_small_block_are_balanced() {
        for size in 1..=FULL_DESIGN {
            let entries = (size * (size + 1) / 2) as u64;
            let runs = (entries + 1).next_power_of_two();
            for entry in 1..=entries {
                let sum =
                    |other: u64| (0..runs).map(|run| sign(run, entry, size) * sign(run, other, size)).sum::<f64>();
                assert_eq!((sum(entry), (0..runs).map(|run| sign(run, entry, size)).sum::<f64>()), (runs as f64, 0.0));
                assert!((1..entry).all(|other| sum(other) == 0.0), "{size} {entry}");
            }
        }
        // Those of larger ones differ from entry to entry: half of them, and six deviations.
        for size in [FULL_DESIGN + 1, LARGE] {
            let entries = (size * (size + 1) / 2) as u64;
            let ups = (0..PAIRS).flat_map(|run| (1..=entries).map(move |entry| sign(run, entry, size))).sum::<f64>();
            assert!(ups.abs() < 6.0 * (PAIRS as f64 * entries as f64).sqrt(), "{ups}");
            assert_eq!(sign(3, 5, size).abs(), 1.0);
        }
    }

    /// The cubature beside 20,000 drawn blocks, where the noise is large. These give a share to 0.0012 at best.
    #[test]
    fn the_mean_over_the_noise_is_that_of_drawn_noise() {
        let law = double_cap_law(40, 2.0, 200);
        for (signals, rank) in [(vec![0.8], 1), (vec![0.3, 0.3], 1), (vec![0.3, 0.25, 0.15], 2)] {
            let spectrum = Spectrum::new(40, signals.clone(), 0.01).unwrap();
            let bulk = law.bulk(0.01, 40 - signals.len());
            let found = captured(&spectrum, rank, &law, &bulk).unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            let mut drawn = vec![0.0; signals.len()];
            for _ in 0..20_000 {
                let mut block = DMatrix::zeros(signals.len(), signals.len());
                for row in 0..signals.len() {
                    for column in 0..=row {
                        let twice = if row == column { 2.0 } else { 1.0 };
                        let deviation = (twice * law.cross_variance(signals[row], signals[column])).sqrt();
                        let mean = if row == column { signals[row] } else { 0.0 };
                        block[(row, column)] = mean + deviation * rng.sample::<f64, _>(StandardNormal);
                        block[(column, row)] = block[(row, column)];
                    }
                }
                let eigen = symmetric_eigen(&block).unwrap();
                let directions: Vec<Along> = eigen.values.iter().map(|&value| value.into()).collect();
                let edge = Edge { bulk, width: (40.0 - signals.len() as f64).cbrt() };
                let shares = edge.shares(&directions, 40.0, rank);
                for (component, sum) in drawn.iter_mut().enumerate() {
                    let row = eigen.vectors.row(component);
                    *sum += row.iter().zip(&shares).map(|(entry, share)| entry * entry * share).sum::<f64>() / 20_000.0;
                }
            }
            for (found, drawn) in found.iter().zip(&drawn) {
                assert!((found - drawn).abs() < 0.005, "{signals:?} {rank}: {found} {drawn}");
            }
        }
    }

    #[test]
    fn without_components_nothing_is_captured() {
        let law = double_cap_law(40, 2.0, 3000);
        let flat = Spectrum::new(40, vec![], 0.025).unwrap();
        assert_eq!(captured(&flat, 2, &law, &law.bulk(0.025, 38)), Ok(vec![]));
    }
}
