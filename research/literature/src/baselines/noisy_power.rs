//! The noisy power method (Hardt & Price 2014; Balcan, Du, Wang & Yu 2016).
//!
//! ```text
//! X_0: d x p, orthonormal, uniform                                   p >= k
//! for l = 1..L:  Y_l = A X_{l-1} + G_l,   G_l with entries N(0, sigma^2);   X_l = QR(Y_l)
//! return the k leading left singular vectors of Y_L
//! ```
//!
//! Hardt and Price return all p columns. The k leading directions of Y_L are a function of Y_L, so they cost no
//! privacy. Without noise they are the exact components once p columns have converged.
//!
//! # Guarantee
//! For records in the unit ball and *one record replaced*, `A' - A = (y y^T - x x^T) / n` has Frobenius norm at most
//! sqrt(2) / n (see [`COVARIANCE_SENSITIVITY`]) and X has spectral norm 1, so A X moves by at most sqrt(2) / n in
//! Frobenius norm, whatever p. X_{l-1} depends on earlier answers only. L adaptive Gaussian answers of sensitivity s
//! are together exactly as private as one of sensitivity sqrt(L) s (Dong, Roth & Su 2022, Corollary 3.3; as
//! concentrated privacy, Bun & Steinke 2016, Lemma 1.7), so
//!
//! ```text
//! sigma = analytic Gaussian scale for sensitivity sqrt(2 L) / n at (epsilon, delta)       (Balle & Wang 2018)
//! ```
//!
//! proves (epsilon, delta). Hardt and Price's own scale, `4 sqrt(p L log(1/delta)) / epsilon` times the largest entry
//! of X, is for matrices that differ in one *entry* by 1 and for advanced composition. For records, the claim uses the
//! scale above.
//!
//! # What to expect
//! One release of A with symmetric Gaussian noise (Analyze Gauss) has the sensitivity sqrt(2) / n in total; this method
//! has sqrt(L) times as much. It needs less memory (d p numbers, never d^2) but does not have a smaller error. More
//! columns cost no privacy; they replace the gap lambda_k - lambda_{k+1} by lambda_k - lambda_{p+1} (Balcan et al.
//! 2016, Theorem 2.2), and their noise costs little.

use nalgebra::DMatrix;
use rand::rand_core::CryptoRng;

use super::orthonormal::{normal_matrix, orthonormalize_in_place, uniform_start};
use super::{Adjacency, BaselineError, EpsilonDelta, MethodGuarantee, Outcome, Sample, Shape, SubspaceEstimator};
use ldp_pca::internal::privacy::calibration::{COVARIANCE_SENSITIVITY, analytic_gaussian_sigma};
use ldp_pca::linalg::symmetric_eigen;
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::{FantopeError, Rank};
use ldp_pca::subspace::Subspace;

const NAME: &str = "noisy power method";

/// The noisy power method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoisyPower {
    /// The bound on the privacy loss of all iterations together.
    pub epsilon: Epsilon,
    /// The guarantee's delta, added to every probability.
    pub delta: Delta,
    /// L; `None` for [`NoisyPower::default_iterations`].
    pub iterations: Option<usize>,
    /// p - k, if the dimension allows it.
    pub extra: usize,
}

impl NoisyPower {
    /// The default number of iterations and as many extra columns as components, up to 5.
    #[must_use]
    pub fn new(epsilon: Epsilon, delta: Delta) -> Self {
        Self { epsilon, delta, iterations: None, extra: 5 }
    }

    /// `ceil(log d) + 2`: enough for a start with an overlap of `1 / sqrt(d)` if `lambda_{p+1} <= lambda_k / 2`.
    ///
    /// The theorem's `L = O(lambda_k / (lambda_k - lambda_{p+1}) log d)` depends on a gap that is not known privately,
    /// and noise grows with sqrt(L).
    #[must_use]
    pub fn default_iterations(dimension: usize) -> usize {
        libm::log(dimension as f64).ceil() as usize + 2
    }

    fn iterations(&self, dimension: usize) -> Result<usize, BaselineError> {
        match self.iterations.unwrap_or_else(|| Self::default_iterations(dimension)) {
            0 => Err(BaselineError::OutsideTheorem {
                method: NAME,
                parameter: "the number of iterations",
                value: 0.0,
                theorem: "Theorem 1.3 of Hardt & Price (2014)",
                remedy: "it must be at least 1",
            }),
            iterations => Ok(iterations),
        }
    }

    /// The standard deviation of each entry of each iteration's noise.
    ///
    /// # Errors
    /// [`BaselineError`] for no iterations, or a budget below double precision.
    pub fn sigma(&self, shape: Shape) -> Result<f64, BaselineError> {
        let iterations = self.iterations(shape.dimension)? as f64;
        let sensitivity = COVARIANCE_SENSITIVITY * iterations.sqrt().next_up() / shape.records as f64;
        Ok(analytic_gaussian_sigma(self.epsilon, self.delta, sensitivity.next_up())?)
    }
}

impl SubspaceEstimator for NoisyPower {
    fn name(&self) -> &'static str {
        NAME
    }

    fn guarantee(&self, shape: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        self.sigma(shape)?;
        let argument = "each iteration is a Gaussian answer of sensitivity sqrt(2)/n for records in the unit ball, and \
            Gaussians compose exactly";
        let budget = EpsilonDelta::approximate(self.epsilon, self.delta);
        Ok(Some(MethodGuarantee::proved(budget, Adjacency::ReplaceOne, argument)))
    }

    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        rank.check(sample.dimension())?;
        sample.check_unit_ball(NAME)?;
        let sigma = self.sigma(Shape { records: sample.records(), dimension: sample.dimension(), rank })?;
        let columns = rank.value().saturating_add(self.extra.min(rank.value())).min(sample.dimension());
        let start = uniform_start(sample.dimension(), columns, rng);
        let iterations = self.iterations(sample.dimension())?;
        let last = iterate(sample.second_moment(), start, iterations, sigma, rng)?;
        let diagnostics = vec![("iterations", iterations as f64), ("noise per entry", sigma)];
        Ok(Outcome { subspace: leading(&last, rank)?, diagnostics })
    }
}

/// Y_L.
fn iterate(
    moment: &DMatrix<f64>,
    start: DMatrix<f64>,
    iterations: usize,
    sigma: f64,
    rng: &mut dyn CryptoRng,
) -> Result<DMatrix<f64>, BaselineError> {
    let mut basis = start;
    for iteration in 1..=iterations {
        let noise = normal_matrix(basis.nrows(), basis.ncols(), rng) * sigma;
        basis = moment * basis + noise;
        if iteration < iterations && !orthonormalize_in_place(&mut basis) {
            return Err(BaselineError::Failed { method: NAME, what: "the columns became dependent: ask for fewer" });
        }
    }
    Ok(basis)
}

/// The leading left singular vectors: `Y v` for the leading eigenvectors v of `Y^T Y`.
fn leading(last: &DMatrix<f64>, rank: Rank) -> Result<Subspace, BaselineError> {
    let gram = symmetric_eigen(&last.tr_mul(last)).map_err(FantopeError::from)?;
    Ok(Subspace::new(&(last * gram.vectors.columns(0, rank.value())))?)
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use nalgebra::DVector;
    use rand::SeedableRng;

    use super::*;
    use ldp_pca::recovery::principal_components;
    use ldp_pca::subspace::sin_theta_squared;

    fn moment(dimension: usize) -> DMatrix<f64> {
        let mut rng = ChaCha12Rng::seed_from_u64(7);
        let axes = uniform_start(dimension, dimension, &mut rng);
        let values = DVector::from_fn(dimension, |i, _| 0.5f64.powi(i as i32));
        let moment = &axes * DMatrix::from_diagonal(&values) * axes.transpose();
        (&moment + moment.transpose()) * 0.5
    }

    #[test]
    fn without_noise_it_is_pca() {
        let (matrix, rank) = (moment(8), Rank::new(2).unwrap());
        let exact = Subspace::new(&principal_components(&matrix, rank).unwrap().vectors).unwrap();
        for columns in [2, 4] {
            let mut rng = ChaCha12Rng::seed_from_u64(8);
            let start = uniform_start(8, columns, &mut rng);
            let found = leading(&iterate(&matrix, start, 30, 0.0, &mut rng).unwrap(), rank).unwrap();
            // Gaps of 1/2 (or 1/8 with two more columns) to the 30th, squared.
            assert!(sin_theta_squared(&found, &exact).unwrap() < 1e-15);
        }
    }

    #[test]
    fn iterations_compose_to_the_budget() {
        let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
        let shape = Shape { records: 1000, dimension: 20, rank: Rank::new(2).unwrap() };
        let one = NoisyPower { iterations: Some(1), ..NoisyPower::new(epsilon, delta) };
        let nine = NoisyPower { iterations: Some(9), ..one };
        assert!((nine.sigma(shape).unwrap() / one.sigma(shape).unwrap() - 3.0).abs() < 1e-9);
        let mut together = ldp_pca::privacy::composition::Composition::default();
        let rho = ldp_pca::internal::privacy::calibration::gaussian_rho(
            nine.sigma(shape).unwrap(),
            COVARIANCE_SENSITIVITY / 1e3,
        );
        let total_variation = ldp_pca::internal::privacy::TotalVariation::ZERO;
        let loss = ldp_pca::privacy::composition::PrivacyLoss::Gaussian { rho: rho.unwrap(), total_variation };
        together.add(loss, 9).unwrap();
        assert!((together.epsilon(Some(delta)).unwrap().epsilon.value() - 1.0).abs() < 1e-6);
        let none = NoisyPower { iterations: Some(0), ..one };
        assert!(none.guarantee(shape).unwrap_err().to_string().contains("Theorem 1.3 of Hardt & Price"));
    }
}
