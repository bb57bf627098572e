//! Eigenvectors drawn one after the other, each from the exponential mechanism in the orthogonal complement of the
//! earlier ones: the part of the pure-epsilon covariance estimator of Amin, Dick, Kulesza, Muñoz Medina & Vassilvitskii
//! (2019) that gives a subspace.
//!
//! *The algorithm as printed* (Algorithm 1), for `C = X X^T` (here n A) of records in the unit ball:
//!
//! ```text
//! lambda_i = eigenvalue i of C + Laplace(2 / eps_0),   i = 1 ... d
//! for i = 1 ... d:
//!     u_i from the density proportional to exp(eps_i/4 u^T C u) over unit vectors orthogonal to u_1 ... u_(i-1)
//! the estimate is the sum of lambda_i u_i u_i^T, and spends eps_0 + eps_1 + ... + eps_d
//! ```
//!
//! For the leading k components, k draws are enough. They read C and the earlier draws but no estimated eigenvalue, so
//! eps_0 is not spent. Each `u_i` is drawn exactly ([`bingham`]).
//!
//! *The guarantee argued.* One record replaced. Let every draw have density proportional to `exp(a u^T C u)`, and y
//! replace x. For one draw the density changes by a factor of at most `e^a`, because |u . x|^2 and |u . y|^2 are in [0,
//! 1], and its normalising constant by another e^a. That is 2 a in all, and 2 k a for k draws by composition; it allows
//! twice the printed `a = eps_i / 4`. But the draws are orthogonal, so over all of them the densities change by
//!
//! ```text
//! a sum_i (|u_i . x|^2 - |u_i . y|^2) <= a |V^T x|^2 <= a
//! ```
//!
//! together. Only the k normalising constants change by e^a each, so all draws spend `(k + 1) a`. Our scale, the
//! default, is therefore `a = eps / (k + 1)`. The printed scale with eps_i = eps / k spends `(k + 1) / (4 k)` of the
//! claimed eps.

use nalgebra::DMatrix;
use rand::rand_core::CryptoRng;

use super::ppca::bingham;
use super::{Adjacency, BaselineError, EpsilonDelta, MethodGuarantee, Outcome, Sample, Shape, SubspaceEstimator};
use ldp_pca::linalg::symmetric_eigen;
use ldp_pca::privacy::Epsilon;
use ldp_pca::recovery::{FantopeError, Rank};
use ldp_pca::subspace::Subspace;

/// The scale of a draw's preference for directions of large variance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exponent {
    /// `a = eps / (4 k)`.
    AsPrinted,
    /// `a = eps / (k + 1)`, the largest that the guarantee allows.
    Exact,
}

/// Adaptive draws of eigenvectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amin {
    /// The claim's epsilon, for all draws together.
    pub epsilon: Epsilon,
    /// The split of the budget.
    pub exponent: Exponent,
}

impl Amin {
    /// The method with full use of `epsilon`.
    #[must_use]
    pub fn new(epsilon: Epsilon) -> Self {
        Self { epsilon, exponent: Exponent::Exact }
    }

    /// The method with the constants as printed and `epsilon` shared equally among the draws.
    #[must_use]
    pub fn as_printed(epsilon: Epsilon) -> Self {
        Self { epsilon, exponent: Exponent::AsPrinted }
    }

    /// `a` of the module's documentation, per unit of `X X^T`.
    fn strength(&self, rank: Rank) -> f64 {
        let k = rank.value() as f64;
        match self.exponent {
            Exponent::AsPrinted => self.epsilon.value() / (4.0 * k),
            Exponent::Exact => self.epsilon.value() / (k + 1.0),
        }
    }
}

const NAME: &str = "Amin et al.";

impl SubspaceEstimator for Amin {
    fn name(&self) -> &'static str {
        match self.exponent {
            Exponent::AsPrinted => "Amin et al. (as printed)",
            Exponent::Exact => NAME,
        }
    }

    fn guarantee(&self, shape: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        let claimed = EpsilonDelta::pure(self.epsilon);
        let proved = match self.exponent {
            Exponent::Exact => claimed,
            Exponent::AsPrinted => {
                let spent = self.strength(shape.rank) * (shape.rank.value() as f64 + 1.0) * (1.0 + ROUNDINGS);
                EpsilonDelta::pure(Epsilon::new(spent)?)
            }
        };
        Ok(Some(MethodGuarantee {
            claimed,
            proved: Some(proved),
            adjacency: Adjacency::ReplaceOne,
            argument: "k exponential mechanisms on |X^T u|^2, whose sensitivity is 1, drawn exactly one after the \
                       other; their directions are orthogonal, so that their densities together change no more than \
                       one. Records in the unit ball, their number public.",
        }))
    }

    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        sample.check(rank, NAME)?;
        let eigen = symmetric_eigen(sample.second_moment()).map_err(FantopeError::from)?;
        let exponents = eigen.values * (self.strength(rank) * sample.records() as f64);
        let mut found = DMatrix::zeros(sample.dimension(), 0);
        let mut proposals = 0;
        for _ in 0..rank.value() {
            let draw = bingham::draw_orthogonal(exponents.as_slice(), &found, rng)?;
            found.extend(draw.vector.iter().copied());
            proposals += draw.proposals;
        }
        let subspace = Subspace::new(&(eigen.vectors * found))?;
        Ok(Outcome { subspace, diagnostics: vec![("proposals", proposals as f64)] })
    }
}

/// An upper bound on the rounding of a few operations.
const ROUNDINGS: f64 = 8.0 * f64::EPSILON;

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use nalgebra::DVector;
    use rand::SeedableRng;

    use super::*;
    use ldp_pca::subspace::captured_variance;

    #[test]
    fn as_printed_it_spends_less_than_it_claims() {
        let epsilon = Epsilon::new(2.0).unwrap();
        for (k, spent) in [(1, 1.0), (3, 2.0 / 3.0)] {
            let shape = Shape { records: 100, dimension: 5, rank: Rank::new(k).unwrap() };
            let printed = Amin::as_printed(epsilon).guarantee(shape).unwrap().unwrap();
            assert!((printed.proved.unwrap().epsilon.value() - spent).abs() < 1e-12);
            let ours = Amin::new(epsilon).guarantee(shape).unwrap().unwrap();
            assert_eq!((ours.claimed, ours.proved), (printed.claimed, Some(printed.claimed)));
        }
    }

    #[test]
    fn with_many_records_it_finds_what_pca_finds_for_every_rank() {
        let rng = &mut ChaCha12Rng::seed_from_u64(9);
        let moments = DMatrix::from_diagonal(&DVector::from_row_slice(&[0.02, 0.3, 0.05, 0.2, 0.01, 0.1]));
        let sample = Sample::from_second_moment(moments.clone(), 1_000_000, 1.0).unwrap();
        for (k, best) in [(1, 0.3), (2, 0.5), (3, 0.6), (6, 0.68)] {
            let found = Amin::new(Epsilon::new(1.0).unwrap()).estimate(&sample, Rank::new(k).unwrap(), rng).unwrap();
            let captured = captured_variance(&found.subspace, &moments).unwrap();
            assert!((captured - best).abs() < 1e-4, "{k}: {captured}");
        }
    }
}
