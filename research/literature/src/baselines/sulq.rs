//! SULQ: principal components of the second moments with noise in every entry, not symmetric (Blum, Dwork, McSherry &
//! Nissim 2005, as Chaudhuri, Sarwate & Sinha 2013 describe it in section 3.1).
//!
//! *The algorithm as printed*, for n records in the unit ball of d dimensions:
//!
//! ```text
//! A = X X^T / n
//! N_ij ~ N(0, 8 d^2 log^2(d / delta) / (n eps)^2) independent for all i, j
//! V = the k leading eigenvectors of A + N
//! ```
//!
//! *Why it is unusable.* A + N is not symmetric: its eigenvalues may be complex and then have complex eigenvectors, and
//! those that are real are not orthogonal. Most are complex once the noise is larger than the signal: of d eigenvalues
//! of pure noise about sqrt(2 d / pi) are real (Edelman, Kostlan & Shub 1994). And the noise is large: its spectral
//! norm is near 2 sqrt(d) deviations, of order d^(3/2) log(d / delta) / (n eps), where [MOD-SULQ](super::ModSulq) needs
//! a root of the logarithm.
//!
//! *The estimate.* Eigenvalues are in descending order of their real parts. A complex one comes with its conjugate, and
//! the real and imaginary parts of their eigenvectors span a real plane that A + N maps to itself. So the k leading
//! eigenvectors give a real k-dimensional subspace unless the k-th and the next eigenvalue are such a pair. Then no
//! such subspace exists, and the method refuses. [`Reading::SymmetricPart`] takes the eigenvectors of
//! `(A + N + (A + N)^T) / 2` instead. They always exist and have half the noise off the diagonal, but this is not the
//! printed algorithm.
//!
//! *The guarantee argued.* One record replaced, n public. The Gaussian mechanism with l2-sensitivity `sqrt(2) / n`:
//! (eps, delta) for a standard deviation of `sqrt(2) / n sqrt(2 ln(1.25 / delta)) / eps` and eps <= 1 (Dwork & Roth
//! 2014, Theorem A.1), less than the printed one for d >= 2. The paper says nothing about large epsilons. There the
//! noise does not keep the claim (it falls as 1 / eps, but 1 / sqrt(eps) is needed):
//! [`proved`](MethodGuarantee::proved) follows from the exact curve (Balle & Wang 2018). Later steps on A + N,
//! including a refusal, cost no privacy.
//!
//! *The Laplace variant*: `sum_ij |x_i x_j - y_i y_j| <= 2 d`, hence Laplace noise of scale `2 d / (n eps)` gives eps.

use faer::MatRef;
use nalgebra::DMatrix;
use rand::rand_core::CryptoRng;

use super::perturbation::{REPLACEMENT, holding, laplace, leading_subspace, normal};
use super::{Adjacency, BaselineError, EpsilonDelta, MethodGuarantee, Outcome, Sample, Shape, SubspaceEstimator};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;
use ldp_pca::subspace::Subspace;

/// The noise of SULQ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SulqNoise {
    /// Gaussian, as printed: (eps, delta).
    Gaussian(Delta),
    /// Laplace: eps.
    Laplace,
}

/// The reading of a matrix that is not symmetric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Its leading eigenvectors, as printed; refused if they do not span a real subspace of k dimensions.
    AsPrinted,
    /// The leading eigenvectors of its symmetric part.
    SymmetricPart,
}

/// SULQ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sulq {
    /// The claim's epsilon.
    pub epsilon: Epsilon,
    /// The noise.
    pub noise: SulqNoise,
    /// The reading of the noisy matrix.
    pub reading: Reading,
}

impl Sulq {
    /// SULQ as printed.
    #[must_use]
    pub fn new(epsilon: Epsilon, delta: Delta) -> Self {
        Self { epsilon, noise: SulqNoise::Gaussian(delta), reading: Reading::AsPrinted }
    }

    /// The standard deviation of Gaussian noise in an entry, or the scale of Laplace noise.
    #[must_use]
    pub fn scale(&self, records: u64, dimension: usize) -> f64 {
        let (n, d) = (records as f64, dimension as f64);
        match self.noise {
            SulqNoise::Gaussian(delta) => 8f64.sqrt() * d * (d / delta.value()).ln() / (n * self.epsilon.value()),
            SulqNoise::Laplace => 2.0 * d / (n * self.epsilon.value()),
        }
    }
}

impl SubspaceEstimator for Sulq {
    fn name(&self) -> &'static str {
        match (self.noise, self.reading) {
            (SulqNoise::Gaussian(_), Reading::AsPrinted) => "SULQ",
            (SulqNoise::Gaussian(_), Reading::SymmetricPart) => "SULQ (symmetric part)",
            (SulqNoise::Laplace, Reading::AsPrinted) => "SULQ (Laplace)",
            (SulqNoise::Laplace, Reading::SymmetricPart) => "SULQ (Laplace, symmetric part)",
        }
    }

    fn guarantee(&self, shape: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        let (claimed, proved, argument) = match self.noise {
            SulqNoise::Gaussian(delta) => {
                let sigma = self.scale(shape.records, shape.dimension) * shape.records as f64;
                (
                    EpsilonDelta::approximate(self.epsilon, delta),
                    holding(self.epsilon, delta, sigma, REPLACEMENT)?,
                    "Gaussian noise at l2-sensitivity sqrt(2) / n. Records in the unit ball, their number public.",
                )
            }
            SulqNoise::Laplace => (
                EpsilonDelta::pure(self.epsilon),
                EpsilonDelta::pure(self.epsilon),
                "Laplace noise at l1-sensitivity at most 2 d / n. Records in the unit ball, their number public.",
            ),
        };
        Ok(Some(MethodGuarantee { claimed, proved: Some(proved), adjacency: Adjacency::ReplaceOne, argument }))
    }

    /// Diagnostics: the number of complex eigenvalues, as printed; none for the symmetric part.
    ///
    /// # Errors
    /// [`BaselineError::Failed`] if the leading eigenvectors do not span a real subspace.
    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        sample.check(rank, self.name())?;
        let scale = self.scale(sample.records(), sample.dimension());
        let perturbed = sample.second_moment().map(|entry| {
            let deviate = match self.noise {
                SulqNoise::Gaussian(_) => normal(rng),
                SulqNoise::Laplace => laplace(rng),
            };
            entry + scale * deviate
        });
        match self.reading {
            Reading::AsPrinted => leading_invariant_subspace(&perturbed, rank.value(), self.name()),
            Reading::SymmetricPart => {
                let symmetric = (&perturbed + perturbed.transpose()) * 0.5;
                Ok(Outcome::new(leading_subspace(&symmetric, rank)?))
            }
        }
    }
}

/// The span of the `k` eigenvectors whose eigenvalues have the largest real parts.
fn leading_invariant_subspace(matrix: &DMatrix<f64>, k: usize, method: &'static str) -> Result<Outcome, BaselineError> {
    let d = matrix.nrows();
    let failed = |what| BaselineError::Failed { method, what };
    let eigen = MatRef::from_column_major_slice(matrix.as_slice(), d, d).eigen().map_err(|_| {
        failed("the eigenvalues were not found: check the records for values of wildly different magnitude")
    })?;
    let values: Vec<_> = (0..d).map(|i| eigen.S()[i]).collect();
    let mut order: Vec<usize> = (0..d).collect();
    // A pair has equal real parts and stays together, the positive imaginary part first.
    order.sort_by(|&i, &j| values[j].re.total_cmp(&values[i].re).then(values[j].im.total_cmp(&values[i].im)));
    let mut columns = vec![];
    for &i in &order {
        let vector = |part: &dyn Fn(usize) -> f64| nalgebra::DVector::from_fn(d, |row, _| part(row));
        if values[i].im >= 0.0 {
            columns.push(vector(&|row| eigen.U()[(row, i)].re));
        }
        if values[i].im > 0.0 {
            columns.push(vector(&|row| eigen.U()[(row, i)].im));
        }
        if columns.len() >= k {
            break;
        }
    }
    if columns.len() != k {
        return Err(failed(
            "the last eigenvalue asked for is one of a complex pair, so that the leading eigenvectors span no real \
             subspace: take MOD-SULQ, whose noise is symmetric",
        ));
    }
    let complex = values.iter().filter(|value| value.im != 0.0).count();
    let subspace = Subspace::new(&DMatrix::from_columns(&columns))?;
    Ok(Outcome { subspace, diagnostics: vec![("complex eigenvalues", complex as f64)] })
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::*;
    use ldp_pca::subspace::sin_theta_squared;

    fn sulq(epsilon: f64, delta: f64) -> Sulq {
        Sulq::new(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap())
    }

    /// A rotation by a quarter turn, with a real eigenvalue above or below the pair's real part.
    fn spiral(real: f64) -> DMatrix<f64> {
        DMatrix::from_row_slice(3, 3, &[1.0, -2.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, real])
    }

    #[test]
    fn a_pair_spans_a_plane_and_is_never_cut() {
        let leading = |real, k| leading_invariant_subspace(&spiral(real), k, "SULQ");
        let plane = Subspace::new(&DMatrix::identity(3, 2)).unwrap();
        assert!(sin_theta_squared(&leading(-1.0, 2).unwrap().subspace, &plane).unwrap() < 1e-20);
        assert!((leading(3.0, 1).unwrap().subspace.basis()[2].abs() - 1.0).abs() < 1e-12);
        assert_eq!(leading(3.0, 3).unwrap().diagnostics, [("complex eigenvalues", 2.0)]);
        for (real, k) in [(-1.0, 1), (3.0, 2)] {
            let message = leading(real, k).unwrap_err().to_string();
            assert!(message.contains("complex pair") && message.contains("MOD-SULQ"), "{message}");
        }
    }

    #[test]
    fn the_scale_is_the_printed_one() {
        // d = 10, delta = 0.01: ln 1000 = 6.907755, sqrt(8) 10 of it is 195.380.
        assert!((sulq(0.5, 0.01).scale(1000, 10) - 0.390_761).abs() < 1e-5);
        let laplace = Sulq { noise: SulqNoise::Laplace, ..sulq(0.5, 0.01) };
        assert!((laplace.scale(1000, 10) - 0.04).abs() < 1e-15);
    }

    #[test]
    fn the_claim_holds_for_common_epsilons_and_fails_for_huge_ones() {
        let shape = Shape { records: 50, dimension: 2, rank: Rank::new(1).unwrap() };
        let guarantee = |epsilon| sulq(epsilon, 0.1).guarantee(shape).unwrap().unwrap();
        assert_eq!(guarantee(1.0).proved, Some(guarantee(1.0).claimed));
        let failing = guarantee(1000.0);
        assert!(failing.proved.unwrap().epsilon.value() > 1000.0, "{failing:?}");
    }

    /// With little noise both readings find the axis; with much, the printed one often refuses, the other never does.
    #[test]
    fn noise_breaks_what_is_printed_first() {
        let rng = &mut ChaCha12Rng::seed_from_u64(2);
        let d = 30;
        let moments = DMatrix::from_fn(d, d, |i, j| if (i, j) == (0, 0) { 1.0 } else { 0.0 });
        let rank = Rank::new(1).unwrap();
        let few = Sample::from_second_moment(moments.clone(), 10, 1.0).unwrap();
        let many = Sample::from_second_moment(moments, 100_000_000, 1.0).unwrap();
        for noise in [SulqNoise::Gaussian(Delta::new(0.01).unwrap()), SulqNoise::Laplace] {
            let printed = Sulq { noise, ..sulq(1.0, 0.01) };
            let symmetric = Sulq { reading: Reading::SymmetricPart, ..printed };
            for method in [printed, symmetric] {
                let found = method.estimate(&many, rank, rng).unwrap().subspace;
                assert!(found.basis()[0].abs() > 0.999);
            }
            let refused = (0..60).filter(|_| printed.estimate(&few, rank, rng).is_err()).count();
            assert!((5..60).contains(&refused), "{refused} of 60");
            assert!((0..60).all(|_| symmetric.estimate(&few, rank, rng).is_ok()));
        }
    }
}
