//! What the known noise level decides: the default penalty, and the gap that is narrow enough.

use crate::outcome::above_others;
use crate::{FantopeError, FantopeProblem, FantopeSolution, Penalty};

/// Default factor `c` of [`default_penalty`]: 0.5, the best or next to it in every setting of the experiment in
/// ldp-pca's docs/reference/penalty.md, where it is compared with 0.25 to 2.
///
/// Smaller keeps more of a weak signal and more noise. The largest of all pure-noise entries is near `2 τ √(ln d)`, so
/// a factor above 2 thresholds nearly all noise away, and weak signal with it.
pub const DEFAULT_PENALTY_FACTOR: f64 = 0.5;

/// Penalty for a `d × d` estimate whose off-diagonal entries carry noise of known standard deviation `τ`.
///
/// ```text
/// penalty = c τ √(ln d)
/// ```
///
/// `noise_level` is `τ`, in the units of the covariance; `factor` is `c`, usually [`DEFAULT_PENALTY_FACTOR`]. The form
/// is that of Theorem 4 of Wang & Xu (2019), with the unknown constant replaced by the known noise. In one dimension
/// there is nothing to select and the penalty is 0.
///
/// # Errors
///
/// [`FantopeError::InvalidNoiseLevel`] unless `τ` is finite and at least 0, [`FantopeError::InvalidSetting`] likewise
/// for the factor, [`FantopeError::InvalidPenalty`] when their product overflows.
pub fn default_penalty(noise_level: f64, dimension: usize, factor: f64) -> Result<Penalty, FantopeError> {
    check_noise_level(noise_level)?;
    let usable = factor.is_finite() && factor >= 0.0;
    FantopeError::require(usable, "factor", factor, "a finite number of at least 0")?;
    let log_dimension = libm::log(dimension.max(1) as f64);
    Penalty::new(factor * noise_level * log_dimension.sqrt())
}

/// Accepts a standard deviation.
pub(crate) fn check_noise_level(noise_level: f64) -> Result<(), FantopeError> {
    let usable = noise_level.is_finite() && noise_level >= 0.0;
    if usable { Ok(()) } else { Err(FantopeError::InvalidNoiseLevel(noise_level)) }
}

/// The variance that noise alone is expected to stay below, for a component on at most `support` of `d` features.
///
/// ```text
/// min(dense edge,  2 τ √s + 2 τ √(ln C(d, s)))
/// ```
///
/// A symmetric `s × s` Gaussian matrix whose off-diagonal entries have deviation `τ` has its largest eigenvalue near
/// `2 τ √s`, and above that by `√2 τ t` with probability at most `exp(−t²/2)` (Gaussian concentration; Vershynin 2018,
/// section 7.3). The second term covers the union of all `C(d, s)` supports, because the noise chooses the support.
/// Where the support is large the edge of all `d` features, `dense_edge`, is the smaller of the two.
#[must_use]
pub fn sparse_noise_edge(noise_level: f64, dimension: usize, support: usize, dense_edge: f64) -> f64 {
    let size = support.min(dimension);
    let log_supports: f64 = (0..size).map(|index| libm::log((dimension - index) as f64 / (index + 1) as f64)).sum();
    let edge = 2.0 * noise_level * ((size as f64).sqrt() + log_supports.max(0.0).sqrt());
    edge.min(dense_edge)
}

/// The widest gap that counts as optimal, however much noise there is.
pub(crate) const WIDEST_TOLERANCE: f64 = 1e-3;

/// The share of the noise that the gap may be in the inequality below.
const SHARE_OF_NOISE: f64 = 0.01;

/// The relative gap that adds one to two hundredths of the noise to the guaranteed error of `X`, at most
/// [`WIDEST_TOLERANCE`].
///
/// The estimate is `S = Σ + E`, `Π` the projector onto the leading `k` eigenvectors of `Σ`, `δ` the gap below its
/// `k`-th eigenvalue, and `G` the certified gap of `X`, not relative to anything. Then
///
/// ```text
/// δ (k − ⟨Π, X⟩) ≤ ⟨Σ, Π − X⟩ ≤ ⟨E, X − Π⟩ + penalty (Σ|Π_ij| − Σ|X_ij|) + G
/// ```
///
/// which bounds the error `k − ⟨Π, X⟩`, to which the gap adds from `G / δ` to `2 G / δ`. Noise of deviation `τ` gives
/// about `Σ_i min(1, max(s − k, 1) τ² / δ_i²)` on the `s` rows of the support. `δ_i` is the variance along component
/// `i` above the mean of the others, and the last of them takes the place of `δ`. Where it is not above 0, noise hides
/// everything, and the gap is the widest.
pub(crate) fn noise_tolerance(problem: &FantopeProblem, solution: &FantopeSolution, noise_level: f64) -> f64 {
    if problem.rank().value() == problem.dimension() {
        return WIDEST_TOLERANCE;
    }
    let (rank, centre) = (problem.rank().value() as f64, problem.estimate().mean_diagonal());
    let above = above_others(problem, &solution.variances.add_scalar(-centre));
    if above.min() <= 0.0 {
        return WIDEST_TOLERANCE;
    }
    let free = (solution.support.len() as f64 - rank).max(1.0);
    let noise: f64 = above.iter().map(|above| (free * (noise_level / above).powi(2)).min(1.0)).sum();
    let scale = (solution.objective - rank * centre).abs().max(rank * problem.penalty().value());
    (SHARE_OF_NOISE * noise * (above.min() / scale)).min(WIDEST_TOLERANCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn penalty_is_the_documented_product() {
        let penalty = default_penalty(0.02, 100, DEFAULT_PENALTY_FACTOR).unwrap();
        assert!((penalty.value() - 0.5 * 0.02 * 100f64.ln().sqrt()).abs() < 1e-17);
        assert_eq!(default_penalty(0.0, 100, 0.75).unwrap(), Penalty::ZERO);
        assert_eq!(default_penalty(0.3, 1, 0.75).unwrap(), Penalty::ZERO);
        assert_eq!(default_penalty(0.3, 0, 0.75).unwrap(), Penalty::ZERO);
    }

    #[test]
    fn unusable_noise_levels_and_factors_are_refused() {
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(default_penalty(bad, 10, 0.75), Err(FantopeError::InvalidNoiseLevel(_))));
            assert!(matches!(default_penalty(1.0, 10, bad), Err(FantopeError::InvalidSetting { .. })));
        }
        assert!(matches!(default_penalty(f64::MAX, 10, 4.0), Err(FantopeError::InvalidPenalty(_))));
    }

    #[test]
    fn sparse_edge_counts_the_supports_and_never_exceeds_the_dense_one() {
        // C(4, 2) = 6.
        let expected = 2.0 * 0.1 * (2f64.sqrt() + 6f64.ln().sqrt());
        assert!((sparse_noise_edge(0.1, 4, 2, 9.0) - expected).abs() < 1e-15);
        assert_eq!(sparse_noise_edge(0.1, 4, 2, 0.3), 0.3);
        assert!((sparse_noise_edge(0.1, 4, 7, 9.0) - 0.4).abs() < 1e-15);
        assert_eq!(sparse_noise_edge(0.1, 4, 0, 9.0), 0.0);
    }
}
