//! Oja's algorithm: one pass of stochastic gradient ascent, without privacy (Oja 1982; Liu, Kong, Jain & Oh 2022,
//! Algorithm 1).
//!
//! ```text
//! w_0 uniform on the unit sphere
//! for t = 1..n:  w' = w_{t-1} + eta_t A_t w_{t-1},   w_t = w' / |w'|          A_t = x_t x_t^T
//! return w_n
//! ```
//!
//! Records are read in the given order. The method guarantees them nothing.
//!
//! *Step sizes.* Theorem 2.2 of Liu et al. (Jain, Jin, Kakade, Netrapalli & Sidford 2016, Theorem 4.1) has
//! `eta_t = alpha / ((lambda_1 - lambda_2)(xi + t))` with alpha > 1/2 and
//! `xi = 20 max(kappa M alpha, kappa^2 (V + 1) alpha^2 / log(1 + zeta / 100))`, and asks for n > xi. At zeta = 0.01 the
//! logarithm is 1e-4 and xi at least 200,000: [`StepSizes::Theorem`] follows the theorem literally and refuses fewer
//! records. [`StepSizes::Known`], the default, keeps the form and takes the gap from the records (there is no privacy
//! to lose). Of xi it keeps only the part that makes the first steps safe, `alpha |x|^2_max / (lambda_1 - lambda_2)`,
//! with which no step is longer than `1 / |x|^2_max`.
//!
//! *Rank r* (section 7 of Liu et al., which gives no analysis): see [`RankExtension`]. Deflation makes one pass over
//! all records for each component.

use nalgebra::DMatrix;
use rand::rand_core::CryptoRng;

use super::orthonormal::{orthonormalize_in_place, uniform_start};
use super::{BaselineError, MethodGuarantee, Outcome, Sample, Shape, SubspaceEstimator, Trust};
use ldp_pca::linalg::symmetric_eigenvalues;
use ldp_pca::recovery::Rank;
use ldp_pca::subspace::Subspace;

const NAME: &str = "Oja";

/// The extension of an algorithm for one component to r of them (Liu et al. 2022, section 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RankExtension {
    /// All r columns are iterated together and orthonormalized by QR after each step.
    #[default]
    Qr,
    /// One component after the other, each iterated orthogonally to the earlier ones (Hotelling 1933).
    Deflation,
}

impl RankExtension {
    /// The number of columns iterated together, and the number of such runs.
    pub(super) fn split(self, rank: Rank) -> (usize, usize) {
        match self {
            Self::Qr => (rank.value(), 1),
            Self::Deflation => (1, rank.value()),
        }
    }
}

/// The `eta_t` of Oja's algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepSizes {
    /// Theorem 2.2, literally.
    Theorem {
        /// alpha, above 1/2.
        alpha: f64,
        /// The theorem's parameters of the law of the records.
        law: Theorem22,
    },
    /// The theorem's form with the gap of these records, and the offset that keeps the first steps safe.
    Known {
        /// alpha, above 1/2.
        alpha: f64,
    },
}

impl Default for StepSizes {
    /// [`StepSizes::Known`] with alpha = 2: the error's second term falls as n^-4, well below the first.
    fn default() -> Self {
        Self::Known { alpha: 2.0 }
    }
}

/// The quantities of Assumptions A.1 to A.3 that the step size of Theorem 2.2 depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theorem22 {
    /// lambda_1.
    pub largest: f64,
    /// lambda_1 - lambda_2.
    pub gap: f64,
    /// M: `|A - Sigma| <= lambda_1 M` always.
    pub bound: f64,
    /// V: `|E (A - Sigma)^2| <= lambda_1^2 V`.
    pub variance: f64,
    /// zeta, the probability with which the theorem may fail.
    pub failure: f64,
}

impl Theorem22 {
    /// xi of the theorem.
    #[must_use]
    pub fn offset(&self, alpha: f64) -> f64 {
        let condition = self.largest / self.gap;
        let spread = condition * condition * (self.variance + 1.0) * alpha * alpha;
        20.0 * (condition * self.bound * alpha).max(spread / libm::log1p(self.failure / 100.0))
    }

    /// The theorem's bound on `sin^2` after `steps` steps with `C = 1`; the theorem leaves C open.
    #[must_use]
    pub fn error(&self, alpha: f64, dimension: usize, steps: f64) -> f64 {
        let condition = self.largest / self.gap;
        let variance = alpha * alpha * condition * condition * self.variance / ((2.0 * alpha - 1.0) * steps);
        let start = dimension as f64 * libm::pow(self.offset(alpha) / steps, 2.0 * alpha);
        libm::log(1.0 / self.failure) / (self.failure * self.failure) * (variance + start)
    }
}

/// Oja's algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Oja {
    /// The step sizes.
    pub steps: StepSizes,
    /// The extension to more than one component.
    pub extension: RankExtension,
}

/// `alpha / (gap (offset + t))`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Schedule {
    numerator: f64,
    offset: f64,
}

impl Oja {
    fn schedule(&self, sample: &Sample, gap: f64) -> Result<Schedule, BaselineError> {
        let (alpha, law) = match self.steps {
            StepSizes::Theorem { alpha, law } => (alpha, Some(law)),
            StepSizes::Known { alpha } => (alpha, None),
        };
        let outside = |parameter, value, remedy| BaselineError::OutsideTheorem {
            method: NAME,
            parameter,
            value,
            theorem: "Theorem 2.2 of Liu, Kong, Jain & Oh (2022)",
            remedy,
        };
        if !(alpha > 0.5 && alpha.is_finite()) {
            return Err(outside("alpha", alpha, "it must be a finite number above 1/2"));
        }
        let Some(law) = law else {
            let square = sample.largest_norm() * sample.largest_norm();
            // A gap of zero would need infinite steps; every direction is then equally good.
            let gap = gap.max(1e-6 * square);
            return Ok(Schedule { numerator: alpha / gap, offset: alpha * square / gap });
        };
        let offset = law.offset(alpha);
        if !(law.gap > 0.0 && offset.is_finite()) {
            return Err(outside("the gap lambda_1 - lambda_2", law.gap, "it must be above 0"));
        }
        if sample.records() as f64 <= offset {
            return Err(outside(
                "the number of records",
                sample.records() as f64,
                "there must be more than xi = 20 max(kappa M alpha, kappa^2 (V + 1) alpha^2 / log(1 + zeta/100)): use \
                 StepSizes::Known",
            ));
        }
        Ok(Schedule { numerator: alpha / law.gap, offset })
    }
}

impl SubspaceEstimator for Oja {
    fn name(&self) -> &'static str {
        NAME
    }

    fn trust(&self) -> Trust {
        Trust::Everybody
    }

    fn guarantee(&self, _: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        Ok(None)
    }

    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        let dimension = sample.dimension();
        rank.check(dimension)?;
        let rows = sample.rows(NAME)?;
        if sample.largest_norm() == 0.0 {
            return Err(BaselineError::Failed { method: NAME, what: "every record is zero: there is no direction" });
        }
        let spectrum = symmetric_eigenvalues(sample.second_moment()).map_err(ldp_pca::recovery::FantopeError::from)?;
        let gap = |after: usize| spectrum[after - 1] - if after < dimension { spectrum[after] } else { 0.0 };
        let (together, times) = self.extension.split(rank);
        let mut found = DMatrix::zeros(dimension, 0);
        for time in 1..=times {
            let mut basis = uniform_start(dimension, together, rng);
            pass(rows.clone(), self.schedule(sample, gap(time * together))?, &found, &mut basis)?;
            found.extend(basis.iter().copied());
        }
        Ok(Outcome::new(Subspace::new(&found)?))
    }
}

/// One pass over `rows`, orthogonally to `found`.
fn pass<'a>(
    rows: impl Iterator<Item = &'a [f64]>,
    schedule: Schedule,
    found: &DMatrix<f64>,
    basis: &mut DMatrix<f64>,
) -> Result<(), BaselineError> {
    restore(found, basis, NAME)?;
    for (step, row) in rows.enumerate() {
        let size = schedule.numerator / (schedule.offset + (step + 1) as f64);
        for mut column in basis.column_iter_mut() {
            let overlap: f64 = row.iter().zip(column.iter()).map(|(x, w)| x * w).sum();
            column.iter_mut().zip(row).for_each(|(w, x)| *w += size * overlap * x);
        }
        restore(found, basis, NAME)?;
    }
    Ok(())
}

/// Orthonormalizes the iterate's columns and makes them orthogonal to `found`.
///
/// # Errors
/// [`BaselineError::Failed`] in the name of `method` where its columns are dependent.
pub(super) fn restore(
    found: &DMatrix<f64>,
    basis: &mut DMatrix<f64>,
    method: &'static str,
) -> Result<(), BaselineError> {
    for known in found.column_iter() {
        for mut column in basis.column_iter_mut() {
            let overlap = known.dot(&column);
            column.axpy(-overlap, &known, 1.0);
        }
    }
    if orthonormalize_in_place(basis) {
        return Ok(());
    }
    Err(BaselineError::Failed { method, what: "the columns became dependent: ask for a lower rank" })
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::super::orthonormal::normal_matrix;
    use super::*;
    use ldp_pca::recovery::principal_components;
    use ldp_pca::subspace::sin_theta_squared;

    fn gaussian(records: usize, deviations: &[f64], seed: u64) -> Sample {
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        let mut values = normal_matrix(deviations.len(), records, &mut rng);
        values.row_iter_mut().zip(deviations).for_each(|(mut row, deviation)| row *= *deviation);
        Sample::new(deviations.len(), values.as_slice().to_vec()).unwrap()
    }

    #[test]
    fn both_extensions_find_the_principal_components() {
        let sample = gaussian(20_000, &[0.2, 1.0, 0.2, 0.5, 0.2, 0.2], 2);
        let rank = Rank::new(2).unwrap();
        let exact = Subspace::new(&principal_components(sample.second_moment(), rank).unwrap().vectors).unwrap();
        for extension in [RankExtension::Qr, RankExtension::Deflation] {
            let mut rng = ChaCha12Rng::seed_from_u64(3);
            let oja = Oja { extension, ..Oja::default() };
            let found = oja.estimate(&sample, rank, &mut rng).unwrap().subspace;
            let error = sin_theta_squared(&found, &exact).unwrap();
            assert!(error < 2e-3, "{extension:?} {error}");
        }
    }

    #[test]
    fn the_theorem_is_taken_at_its_word() {
        let law = Theorem22 { largest: 1.0, gap: 0.5, bound: 3.0, variance: 1.0, failure: 0.01 };
        // kappa = 2: 4 * 2 / log(1.0001) is larger than 2 * 3.
        assert!((law.offset(1.0) - 20.0 * 8.0 / 9.999_500_033_3e-5).abs() < 1.0, "{}", law.offset(1.0));
        let sample = gaussian(100, &[1.0, 0.5], 4);
        let mut rng = ChaCha12Rng::seed_from_u64(5);
        let mut run = |alpha| {
            let oja = Oja { steps: StepSizes::Theorem { alpha, law }, ..Oja::default() };
            oja.estimate(&sample, Rank::new(1).unwrap(), &mut rng).unwrap_err().to_string()
        };
        assert!(run(1.0).contains("the number of records is 100, outside Theorem 2.2"), "{}", run(1.0));
        assert!(run(0.5).contains("alpha is 0.5, outside Theorem 2.2"));
    }
}
