//! PPCA: a subspace from the exponential mechanism with the captured variance as its utility (Chaudhuri, Sarwate &
//! Sinha 2013).
//!
//! *The algorithm as printed* (Algorithm 2), for n records in the unit ball:
//!
//! ```text
//! A = X X^T / n
//! V from the matrix Bingham law BMF(n eps/2 A): density proportional to exp(n eps/2 tr(V^T A V)) over orthonormal V
//! ```
//!
//! *The guarantee argued* (Theorem 6; the paper writes it for k = 1). One record replaced, n public. The utility is
//! `n q_F(V) = |V^T x_1|^2 + ... + |V^T x_n|^2`, of which each term lies in [0, 1]: with y in place of x it changes by
//! at most 1. So the density changes by at most a factor of `e^(eps/2)`, its normalising constant by another, and PPCA
//! is the exponential mechanism (McSherry & Talwar 2007, Theorem 6) with exactly the constant for eps. This guarantee
//! is for an exact draw.
//!
//! *How it is drawn.* For k = 1 exactly ([`bingham`]): the guarantee holds. For k > 1 by a Gibbs sampler (Hoff 2009):
//! column after column from its law given the others, which is the vector Bingham law in their orthogonal complement.
//! It is drawn exactly here; Hoff updates it coordinate by coordinate. Then axis after axis ([`Gibbs`]), so that
//! components of very different variance settle equally fast. A chain of finite length does not have exactly its
//! stationary law, and no proof bounds the difference. So nothing is proved for k > 1; the paper says the same of its
//! own sampler (section 6.2).
//!
//! *Burn-in.* The paper watches `F_k(T) = |X(1) + ... + X(T)|_F / (T sqrt(k))`, which must fall to 0 because the law
//! has mean 0. With exact conditional draws each X(t) has conditional mean 0, whether or not the chain has settled, and
//! F_k falls as `1 / sqrt(T)`. It is reported only for comparison. Geweke's z of q_F (the first tenth of the sweeps
//! against the last half) is reported beside it; it detects a chain that still drifts.

pub mod bingham;
mod gibbs;

pub use gibbs::Gibbs;

use nalgebra::{DMatrix, DVector};
use rand::rand_core::CryptoRng;

use super::{Adjacency, BaselineError, EpsilonDelta, MethodGuarantee, Outcome, Sample, Shape, SubspaceEstimator};
use ldp_pca::linalg::symmetric_eigen;
use ldp_pca::privacy::Epsilon;
use ldp_pca::recovery::{FantopeError, Rank};
use ldp_pca::subspace::Subspace;

/// PPCA.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ppca {
    /// The claim's epsilon.
    pub epsilon: Epsilon,
    /// Sweeps of the Gibbs sampler for k > 1, at least 1; the answer is the state after the last.
    pub sweeps: usize,
}

/// The number of sweeps of [`Ppca::new`].
pub const DEFAULT_SWEEPS: usize = 200;

impl Ppca {
    /// PPCA that claims `epsilon`, after [`DEFAULT_SWEEPS`] sweeps.
    #[must_use]
    pub fn new(epsilon: Epsilon) -> Self {
        Self { epsilon, sweeps: DEFAULT_SWEEPS }
    }
}

impl SubspaceEstimator for Ppca {
    fn name(&self) -> &'static str {
        "PPCA"
    }

    fn guarantee(&self, shape: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        let claimed = EpsilonDelta::pure(self.epsilon);
        // With k = d there is one subspace; with k = 1 the draw is exact.
        let exact = shape.rank.value() == 1 || shape.rank.value() == shape.dimension;
        Ok(Some(MethodGuarantee {
            claimed,
            proved: exact.then_some(claimed),
            adjacency: Adjacency::ReplaceOne,
            argument: if exact {
                "The exponential mechanism on n q_F, whose sensitivity is 1, drawn exactly. Records in the unit ball, \
                 their number public."
            } else {
                "The exponential mechanism on n q_F, whose sensitivity is 1, if the Gibbs sampler has reached its \
                 stationary law, which nothing proves. Records in the unit ball, their number public."
            },
        }))
    }

    /// Diagnostics: for k = 1 the proposals of the rejection sampler; otherwise `F_k`, Geweke's z of q_F, the sweeps,
    /// and proposals per draw.
    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        sample.check(rank, self.name())?;
        let eigen = symmetric_eigen(sample.second_moment()).map_err(FantopeError::from)?;
        let exponents = eigen.values * (0.5 * sample.records() as f64 * self.epsilon.value());
        let (d, k) = (sample.dimension(), rank.value());
        let found = if k == d {
            Outcome::new(Subspace::new(&DMatrix::identity(d, d))?)
        } else if k == 1 {
            let draw = bingham::draw_orthogonal(exponents.as_slice(), &DMatrix::zeros(d, 0), rng)?;
            let subspace = Subspace::new(&DMatrix::from_columns(&[eigen.vectors * draw.vector]))?;
            return Ok(Outcome { subspace, diagnostics: vec![("proposals", draw.proposals as f64)] });
        } else {
            self.gibbs(&exponents, k, rng)?
        };
        // The chain lives in the eigenbasis.
        let subspace = Subspace::new(&(eigen.vectors * found.subspace.into_basis()))?;
        Ok(Outcome { subspace, diagnostics: found.diagnostics })
    }
}

impl Ppca {
    /// The last state of the chain and its diagnostics, in coordinates where A is diagonal.
    fn gibbs(&self, exponents: &DVector<f64>, k: usize, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        let mut chain = Gibbs::start(exponents.as_slice(), k, rng)?;
        let mut sum = DMatrix::zeros(exponents.len(), k);
        let mut utilities = Vec::with_capacity(self.sweeps);
        for _ in 0..self.sweeps.max(1) {
            chain.sweep(rng)?;
            sum += chain.columns();
            utilities.push(chain.exponent());
        }
        let sweeps = utilities.len() as f64;
        let diagnostics = vec![
            ("F_k", sum.norm() / (sweeps * (k as f64).sqrt())),
            ("Geweke z of q_F", geweke(&utilities)),
            ("sweeps", sweeps),
            ("proposals per draw", chain.proposals as f64 / chain.draws as f64),
        ];
        Ok(Outcome { subspace: Subspace::new(chain.columns())?, diagnostics })
    }
}

/// The difference of means between the first tenth and the last half in standard errors (Geweke 1992), each from the
/// means of its batches; 0 for fewer than 100 numbers, which show nothing.
fn geweke(trace: &[f64]) -> f64 {
    let n = trace.len();
    if n < 100 {
        return 0.0;
    }
    let moments = |part: &[f64]| {
        let size = (part.len() as f64).sqrt() as usize;
        let means: Vec<f64> = part.chunks_exact(size).map(|batch| batch.iter().sum::<f64>() / size as f64).collect();
        let count = means.len() as f64;
        let mean = means.iter().sum::<f64>() / count;
        (mean, means.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count * (count - 1.0)))
    };
    let ((early, early_variance), (late, late_variance)) = (moments(&trace[..n / 10]), moments(&trace[n / 2..]));
    let deviation = (early_variance + late_variance).sqrt();
    if deviation > 0.0 { (early - late) / deviation } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::*;

    fn ppca(epsilon: f64) -> Ppca {
        Ppca::new(Epsilon::new(epsilon).unwrap())
    }

    #[test]
    fn an_exact_draw_is_proved_and_a_chain_is_not() {
        let guarantee = |rank, dimension| {
            let shape = Shape { records: 9, dimension, rank: Rank::new(rank).unwrap() };
            ppca(0.5).guarantee(shape).unwrap().unwrap()
        };
        assert_eq!(guarantee(1, 4).proved, Some(guarantee(1, 4).claimed));
        assert_eq!(guarantee(2, 4).proved, None);
        assert_eq!(guarantee(4, 4).proved, Some(guarantee(4, 4).claimed));
    }

    /// Deviations of the answer from PCA are of order d / (n eps gap): small here.
    #[test]
    fn with_many_records_it_finds_what_pca_finds_for_every_rank() {
        let rng = &mut ChaCha12Rng::seed_from_u64(9);
        let moments = DMatrix::from_diagonal(&DVector::from_row_slice(&[0.02, 0.3, 0.05, 0.2, 0.01, 0.1]));
        let sample = Sample::from_second_moment(moments.clone(), 1_000_000, 1.0).unwrap();
        for (k, best) in [(1, 0.3), (2, 0.5), (3, 0.6), (5, 0.67), (6, 0.68)] {
            let found = ppca(1.0).estimate(&sample, Rank::new(k).unwrap(), rng).unwrap();
            let captured = ldp_pca::subspace::captured_variance(&found.subspace, &moments).unwrap();
            assert!((captured - best).abs() < 1e-4, "{k}: {captured} {:?}", found.diagnostics);
        }
    }

    #[test]
    fn a_chain_says_how_it_went() {
        let rng = &mut ChaCha12Rng::seed_from_u64(9);
        let moments = DMatrix::from_diagonal(&DVector::from_row_slice(&[0.3, 0.2, 0.1, 0.05]));
        let sample = Sample::from_second_moment(moments, 100, 1.0).unwrap();
        let found = ppca(1.0).estimate(&sample, Rank::new(2).unwrap(), rng).unwrap();
        let [(f, statistic), (_, z), sweeps, (_, proposals)] = found.diagnostics[..] else { panic!() };
        assert_eq!((f, sweeps), ("F_k", ("sweeps", 200.0)));
        // For independent draws the statistic is about 1 / sqrt(200) = 0.07.
        assert!(statistic < 0.2 && z.abs() < 6.0 && (1.0..3.0).contains(&proposals), "{:?}", found.diagnostics);
        let drifting: Vec<f64> = (0..400).map(|t| f64::from(t % 7) + f64::from(t) / 20.0).collect();
        assert!(geweke(&drifting).abs() > 5.0);
    }

    #[test]
    fn records_outside_the_unit_ball_are_refused() {
        let long = Sample::new(2, vec![1.0, 1.0]).unwrap();
        let error = ppca(1.0).estimate(&long, Rank::new(1).unwrap(), &mut ChaCha12Rng::seed_from_u64(1)).unwrap_err();
        assert!(matches!(error, BaselineError::NeedsUnitBall { method: "PPCA", .. }));
    }
}
