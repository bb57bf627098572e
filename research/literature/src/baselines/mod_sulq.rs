//! MOD-SULQ: principal components of the second moments with symmetric noise (Chaudhuri, Sarwate & Sinha 2013).
//!
//! *The algorithm as printed* (Algorithm 1), for n records in the unit ball of d dimensions:
//!
//! ```text
//! A = X X^T / n
//! beta = (d + 1) / (n eps) sqrt(2 log((d^2 + d) / (delta 2 sqrt(2 pi)))) + 1 / (n sqrt(eps))                      (5)
//! N symmetric, N_ij ~ N(0, beta^2) independent for i <= j
//! V = the k leading eigenvectors of A + N
//! ```
//!
//! *The guarantee argued.* One record replaced, n public. Theorem 5 claims (eps, delta). Let B be the noise and
//! `v = x x^T - y y^T` for the record x that y replaces. The logarithm of the ratio of densities is
//!
//! ```text
//! sum_{i <= j} (2 B_ij v_ij / n + v_ij^2 / n^2) / (2 beta^2)  <=  ((d + 1) gamma / n + 1 / n^2) / beta^2
//! ```
//!
//! where no `B_ij sign(v_ij)` exceeds gamma, by the sums of the upper triangle: `sum |v_ij| <= d + 1`, and
//! `sum v_ij^2 <= 2`. By the union bound and P[N(0, 1) > t] <= exp(-t^2/2) / sqrt(2 pi) for t >= 1, some do with
//! probability at most delta for `gamma = beta sqrt(2 log((d^2 + d) / (delta 2 sqrt(2 pi))))`, if gamma >= beta, which
//! for d >= 2 holds where delta < 3 / sqrt(2 pi e). Then eps = (d + 1) gamma / (n beta^2) + 1 / (n beta)^2 is a
//! quadratic equation for n beta, and `sqrt(a^2 + b) <= a + sqrt(b)` in its solution gives (5). So the theorem holds,
//! for every eps.
//!
//! It adds more noise than the claim needs: the mechanism is Gaussian with l2-sensitivity `sqrt(2) / n`, and its
//! privacy curve is known (Balle & Wang 2018, Theorem 8). For d = 10, eps = 1, delta = 0.05 its noise is 21 times the
//! noise that the claim needs, so large that delta is below 0.05 at every eps. [Analyze Gauss](super::AnalyzeGauss) has
//! the noise that the claim needs.
//!
//! *The Laplace variant*, of which the paper says "Laplace noise of an appropriate variance": the l1-sensitivity of the
//! upper triangle is at most `(d + 1) / n`, so that Laplace noise of scale `(d + 1) / (n eps)` gives eps (Dwork et al.
//! 2006, Proposition 1).

use core::f64::consts::PI;

use rand::rand_core::CryptoRng;

use super::perturbation::{REPLACEMENT, holding, laplace, leading_subspace, normal, symmetrically_perturbed};
use super::{Adjacency, BaselineError, EpsilonDelta, MethodGuarantee, Outcome, Sample, Shape, SubspaceEstimator};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;

/// MOD-SULQ with Gaussian noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModSulq {
    /// The claim's epsilon.
    pub epsilon: Epsilon,
    /// The claim's delta, below 3 / sqrt(2 pi e) = 0.726.
    pub delta: Delta,
}

impl ModSulq {
    /// MOD-SULQ that claims (`epsilon`, `delta`).
    #[must_use]
    pub fn new(epsilon: Epsilon, delta: Delta) -> Self {
        Self { epsilon, delta }
    }

    /// beta of eq. (5), the standard deviation of the noise in an entry.
    ///
    /// # Errors
    /// [`BaselineError::OutsideTheorem`] for d < 2 or a delta outside Theorem 5.
    pub fn beta(&self, records: u64, dimension: usize) -> Result<f64, BaselineError> {
        let outside = |parameter, value, remedy| {
            Err(BaselineError::OutsideTheorem { method: self.name(), parameter, value, theorem: THEOREM, remedy })
        };
        if dimension < 2 {
            return outside("the dimension", dimension as f64, "take at least 2 features");
        }
        let (epsilon, delta) = (self.epsilon.value(), self.delta.value());
        if delta >= 3.0 / (2.0 * PI * core::f64::consts::E).sqrt() {
            return outside("delta", delta, "take a delta below 3 / sqrt(2 pi e) = 0.726");
        }
        let (n, d) = (records as f64, dimension as f64);
        let logarithm = ((d * d + d) / (delta * 2.0 * (2.0 * PI).sqrt())).ln();
        Ok((d + 1.0) / (n * epsilon) * (2.0 * logarithm).sqrt() + 1.0 / (n * epsilon.sqrt()))
    }
}

const THEOREM: &str = "Theorem 5 of Chaudhuri, Sarwate & Sinha (2013)";

impl SubspaceEstimator for ModSulq {
    fn name(&self) -> &'static str {
        "MOD-SULQ"
    }

    fn guarantee(&self, shape: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        let beta = self.beta(shape.records, shape.dimension)?;
        Ok(Some(MethodGuarantee {
            claimed: EpsilonDelta::approximate(self.epsilon, self.delta),
            proved: Some(holding(self.epsilon, self.delta, beta * shape.records as f64, REPLACEMENT)?),
            adjacency: Adjacency::ReplaceOne,
            argument: "Theorem 5 holds, with room to spare: Gaussian noise at l2-sensitivity sqrt(2) / n. Records in \
                       the unit ball, their number public.",
        }))
    }

    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        sample.check(rank, self.name())?;
        let beta = self.beta(sample.records(), sample.dimension())?;
        let perturbed = symmetrically_perturbed(sample.second_moment(), |_| beta * normal(rng));
        Ok(Outcome { subspace: leading_subspace(&perturbed, rank)?, diagnostics: vec![("beta", beta)] })
    }
}

/// MOD-SULQ with Laplace noise: pure epsilon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModSulqLaplace {
    /// The claim's epsilon.
    pub epsilon: Epsilon,
}

impl ModSulqLaplace {
    /// The variant that claims `epsilon`.
    #[must_use]
    pub fn new(epsilon: Epsilon) -> Self {
        Self { epsilon }
    }

    /// The scale of the Laplace noise in an entry: `(d + 1) / (n eps)`.
    #[must_use]
    pub fn scale(&self, records: u64, dimension: usize) -> f64 {
        (dimension as f64 + 1.0) / (records as f64 * self.epsilon.value())
    }
}

impl SubspaceEstimator for ModSulqLaplace {
    fn name(&self) -> &'static str {
        "MOD-SULQ (Laplace)"
    }

    fn guarantee(&self, _: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        let argument = "Laplace noise at the l1-sensitivity of the upper triangle, at most (d + 1) / n. Records in the \
            unit ball, their number public.";
        Ok(Some(MethodGuarantee::proved(EpsilonDelta::pure(self.epsilon), Adjacency::ReplaceOne, argument)))
    }

    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        sample.check(rank, self.name())?;
        let scale = self.scale(sample.records(), sample.dimension());
        let perturbed = symmetrically_perturbed(sample.second_moment(), |_| scale * laplace(rng));
        Ok(Outcome { subspace: leading_subspace(&perturbed, rank)?, diagnostics: vec![("scale", scale)] })
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use nalgebra::{DMatrix, DVector};
    use rand::SeedableRng;

    use super::*;

    fn mod_sulq(epsilon: f64, delta: f64) -> ModSulq {
        ModSulq::new(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap())
    }

    /// With delta such that the logarithm is 2, its double 4 and its root 2: for d = 2 and n = 10, beta is
    /// 3/(10 eps) 2 + 1/(10 sqrt(eps)). The others from the formula with a pocket calculator's digits.
    #[test]
    fn beta_is_that_of_equation_5() {
        let delta = 0.161_972_899_539_564_17;
        for (epsilon, by_hand) in [(1.0, 0.7), (4.0, 0.2), (0.25, 2.6)] {
            assert!((mod_sulq(epsilon, delta).beta(10, 2).unwrap() - by_hand).abs() < 1e-14);
        }
        // d = 10: ln(110 / (0.05 * 5.013257)) = 6.084158, sqrt(12.168317) = 3.488311, 11/5000 of it plus 1/5000.
        assert!((mod_sulq(1.0, 0.05).beta(5000, 10).unwrap() - 0.007_874_265).abs() < 1e-8);
        // d = 116: ln(13572 / (0.01 * 5.013257)) = 12.508835, sqrt(25.017670) = 5.001767; 117/49402.1 of it is
        // 0.0118457, and 1/(494021 sqrt(0.1)) = 0.0000064.
        assert!((mod_sulq(0.1, 0.01).beta(494_021, 116).unwrap() - 0.011_852_193).abs() < 1e-8);
    }

    /// The theorem's claim against the exact privacy curve of the noise, up to the ends of its range.
    #[test]
    fn the_claim_of_theorem_5_holds() {
        for dimension in [2, 3, 10, 500] {
            for epsilon in [1e-3, 0.1, 1.0, 10.0, 100.0] {
                for delta in [1e-12, 1e-3, 0.2, 0.72] {
                    let shape = Shape { records: 1000, dimension, rank: Rank::new(1).unwrap() };
                    let guarantee = mod_sulq(epsilon, delta).guarantee(shape).unwrap().unwrap();
                    assert_eq!(guarantee.proved, Some(guarantee.claimed), "{dimension} {epsilon} {delta}");
                }
            }
        }
    }

    #[test]
    fn what_theorem_5_does_not_have_is_refused() {
        let error = mod_sulq(1.0, 0.73).beta(10, 3).unwrap_err().to_string();
        assert!(error.contains("Theorem 5") && error.contains("delta is 0.73"), "{error}");
        assert!(mod_sulq(1.0, 0.1).beta(10, 1).unwrap_err().to_string().contains("at least 2 features"));
        let long = Sample::new(2, vec![1.0, 1.0]).unwrap();
        let rng = &mut ChaCha12Rng::seed_from_u64(1);
        let rank = Rank::new(1).unwrap();
        assert!(matches!(mod_sulq(1.0, 0.1).estimate(&long, rank, rng), Err(BaselineError::NeedsUnitBall { .. })));
    }

    /// The spectral norm of the noise is near 2 beta sqrt(d) for either law of the same variance: with the moments of a
    /// few records in comparison the answer is noise, with those of many it is PCA.
    #[test]
    fn noise_is_drawn_at_its_scale() {
        let d = 60;
        let rank = Rank::new(1).unwrap();
        let axis = DMatrix::from_diagonal(&DVector::from_fn(d, |i, _| if i == 0 { 1.0 } else { 0.0 }));
        let rng = &mut ChaCha12Rng::seed_from_u64(5);
        let epsilon = Epsilon::new(1.0).unwrap();
        let (gaussian, laplacian) = (mod_sulq(1.0, 1e-3), ModSulqLaplace::new(epsilon));
        for factor in [0.5, 2.0] {
            // A spike of 1 over noise of deviation s: cos^2 is 1 - s^2 d above the threshold s sqrt(d) = 1, near 0
            // below.
            let records = |unit: f64| (factor * unit * (d as f64).sqrt()) as u64;
            let runs: [(&dyn SubspaceEstimator, u64); 2] = [
                (&gaussian, records(gaussian.beta(1, d).unwrap())),
                (&laplacian, records(laplacian.scale(1, d) * 2f64.sqrt())),
            ];
            for (method, n) in runs {
                let sample = Sample::from_second_moment(axis.clone(), n, 1.0).unwrap();
                let draws = 20;
                let cosines =
                    (0..draws).map(|_| method.estimate(&sample, rank, rng).unwrap().subspace.basis()[0].powi(2));
                let mean = cosines.sum::<f64>() / f64::from(draws);
                let expected = (1.0 - factor.powi(-2)).max(0.0);
                // Deviation about 0.1 a draw; below the threshold the mean is about 1/20 at this dimension.
                assert!((mean - expected).abs() < 0.12, "{}: {mean} of {expected}", method.name());
            }
        }
    }
}
