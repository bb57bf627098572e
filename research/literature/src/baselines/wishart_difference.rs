//! Wishart difference: second moments with noise for pure epsilon, designed for their nuclear norm. It is a practical
//! substitute for the mechanism of d'Orsi & Novikov (2025).
//!
//! Theirs adds noise W of density proportional to `exp(-c |W|_*)`, the K-norm mechanism (Hardt & Talwar 2010) of the
//! nuclear norm, whose unit ball is the convex hull of all `+- x x^T`: optimal in order under pure epsilon. We know of
//! no practical sampler that draws it exactly. The noise here is drawn exactly and is only slightly larger:
//!
//! ```text
//! S = X X^T
//! W = W_1 - W_2, independent, each the sum of d + 1 matrices g g^T / (2 c) with g of d standard normal numbers
//! V = the k leading eigenvectors of S + W,   c = eps / 2 for one record replaced, eps for one more or less
//! ```
//!
//! *The guarantee argued.* With d + 1 degrees of freedom each `W_i` has density proportional to exp(-c tr U) over the
//! positive semidefinite matrices U. Their difference has density
//!
//! ```text
//! p(W)  ~  integral of exp(-c tr U - c tr(U - W)) over U >= 0, U >= W
//! ```
//!
//! Let V = P - M be a symmetric matrix with its positive and its negative part. In p(W + V) write U + P for U: the
//! domain becomes {U >= -P, U >= W - M}, which has {U >= 0, U >= W} in it, and the integrand is the one of p(W) times
//! exp(-2 c tr P + c tr V) = exp(-c tr(P + M)). Hence
//!
//! ```text
//! p(W + V) >= exp(-c |V|_*) p(W)
//! ```
//!
//! and S + W is (c D)-differentially private if |V|_* <= D for all changes V of S: `|x x^T - y y^T|_* <= 2`,
//! `|x x^T|_* <= 1`. (A single Wishart matrix, as Jiang, Xie & Zhang 2016 propose, is not enough: it is always positive
//! semidefinite, so some answers are possible for one set of records and impossible for its neighbour.)
//!
//! *The loss.* For large d the spectral norm of W is near 1.665 d / c (the edge of the free difference of two
//! Marchenko-Pastur laws). Noise of density `exp(-c |W|_*)` has `pi/2 d / c` (Ullman's law), which is 6 % less.

use nalgebra::DMatrix;
use rand::rand_core::CryptoRng;

use super::analyze_gauss::RecordChange;
use super::orthonormal::normal_matrix;
use super::perturbation::leading_subspace;
use super::{BaselineError, EpsilonDelta, MethodGuarantee, Outcome, Sample, Shape, SubspaceEstimator};
use ldp_pca::privacy::Epsilon;
use ldp_pca::recovery::Rank;

/// The difference of two Wishart matrices as noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WishartDifference {
    /// The claim's epsilon.
    pub epsilon: Epsilon,
    /// The relation for which the noise is calibrated.
    pub change: RecordChange,
}

impl WishartDifference {
    /// Noise for one record replaced.
    #[must_use]
    pub fn new(epsilon: Epsilon) -> Self {
        Self { epsilon, change: RecordChange::Replaced }
    }

    /// c of the module's documentation, per unit of `X X^T`.
    #[must_use]
    pub fn rate(&self) -> f64 {
        match self.change {
            RecordChange::Replaced => self.epsilon.value() / 2.0,
            RecordChange::AddedOrRemoved => self.epsilon.value(),
        }
    }
}

impl SubspaceEstimator for WishartDifference {
    fn name(&self) -> &'static str {
        "Wishart difference"
    }

    fn guarantee(&self, _: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        let argument = "Noise whose log-density is Lipschitz in the nuclear norm, in which X X^T changes by at most 2 \
            for one record replaced and 1 for one more or less. Records in the unit ball.";
        Ok(Some(MethodGuarantee::proved(EpsilonDelta::pure(self.epsilon), self.change.adjacency(), argument)))
    }

    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        sample.check(rank, self.name())?;
        let mut perturbed = sample.second_moment() * sample.records() as f64;
        add_noise(&mut perturbed, self.rate(), rng);
        Ok(Outcome { subspace: leading_subspace(&perturbed, rank)?, diagnostics: vec![("rate", self.rate())] })
    }
}

/// Adds this noise to a symmetric matrix. The sum is exactly symmetric.
fn add_noise(matrix: &mut DMatrix<f64>, rate: f64, rng: &mut dyn CryptoRng) {
    let d = matrix.nrows();
    for sign in [1.0, -1.0] {
        let vectors = normal_matrix(d, d + 1, rng);
        matrix.gemm(sign / (2.0 * rate), &vectors, &vectors.transpose(), 1.0);
    }
    for column in 0..d {
        for row in 0..column {
            matrix[(column, row)] = matrix[(row, column)];
        }
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::*;
    use crate::baselines::Adjacency;
    use crate::baselines::perturbation::tests::assert_laplace;
    use ldp_pca::linalg::symmetric_eigenvalues;

    /// In one dimension it is Laplace noise of scale 1/c.
    #[test]
    fn of_one_dimension_it_is_laplace_noise() {
        let rng = &mut ChaCha12Rng::seed_from_u64(1);
        let rate = 0.4;
        let draw = |_| {
            let mut matrix = DMatrix::zeros(1, 1);
            add_noise(&mut matrix, rate, rng);
            matrix[(0, 0)] * rate
        };
        assert_laplace((0..20_000).map(draw).collect());
    }

    /// The density of 2 × 2 noise, by its defining integral, falls no faster than `exp(-c |V|_*)`: for V along and
    /// across W.
    #[test]
    fn the_density_is_lipschitz_in_the_nuclear_norm() {
        // U in coordinates (u, v, t) with U = [[u, t], [t, v]]; the domain {U >= 0, U >= W} cut off where the integrand
        // is small.
        let density = |w: [f64; 3]| {
            let semidefinite = |u: f64, v: f64, t: f64| u >= 0.0 && v >= 0.0 && u * v >= t * t;
            let (step, cells) = (0.2, 60);
            let mut sum = 0.0;
            for i in 0..cells {
                for j in 0..cells {
                    for l in -cells..cells {
                        let at = |index: i32| (f64::from(index) + 0.5) * step;
                        let (u, v, t) = (at(i), at(j), at(l));
                        if semidefinite(u, v, t) && semidefinite(u - w[0], v - w[1], t - w[2]) {
                            sum += (-2.0 * (u + v) + w[0] + w[1]).exp();
                        }
                    }
                }
            }
            sum
        };
        // A change by x x^T - y y^T with orthogonal x and y has nuclear norm 2, a diagonal one likewise: at c = 1 the
        // ratio is at most e^2, up to the grid, and comes near it far out.
        let mut largest = 0.0f64;
        for w in [[0.0, 0.0, 0.0], [2.0, -2.0, 0.0], [0.4, 0.2, 1.0], [-1.0, 2.0, -0.6]] {
            for v in [[1.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 1.0, 0.0]] {
                let moved = [w[0] + v[0], w[1] + v[1], w[2] + v[2]];
                largest = largest.max((density(w) / density(moved)).ln().abs());
            }
        }
        assert!(largest < 2.05 && largest > 1.5, "{largest}");
    }

    #[test]
    fn the_spectral_norm_is_that_of_the_free_difference() {
        let rng = &mut ChaCha12Rng::seed_from_u64(2);
        let (d, rate) = (150, 0.5);
        let mut matrix = DMatrix::zeros(d, d);
        add_noise(&mut matrix, rate, rng);
        let values = symmetric_eigenvalues(&matrix).unwrap();
        for edge in [values[0], -values[d - 1]] {
            let found = edge * rate / d as f64;
            assert!((found - 1.665).abs() < 0.12, "{found}");
        }
    }

    #[test]
    fn the_rate_follows_what_may_happen_to_a_record() {
        let shape = Shape { records: 10, dimension: 3, rank: Rank::new(1).unwrap() };
        let epsilon = Epsilon::new(3.0).unwrap();
        for (change, rate, adjacency) in [
            (RecordChange::Replaced, 1.5, Adjacency::ReplaceOne),
            (RecordChange::AddedOrRemoved, 3.0, Adjacency::AddOrRemoveOne),
        ] {
            let method = WishartDifference { change, ..WishartDifference::new(epsilon) };
            let guarantee = method.guarantee(shape).unwrap().unwrap();
            assert_eq!((method.rate(), guarantee.adjacency), (rate, adjacency));
            assert_eq!(guarantee.proved, Some(guarantee.claimed));
        }
    }
}
