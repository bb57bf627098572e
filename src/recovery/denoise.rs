//! Denoising of an estimate: it shrinks the eigenvalues, or makes the matrix positive semidefinite.

use nalgebra::{DMatrix, DVector};
use serde::Serialize;

use super::RecoveryError;
use crate::covariance::Covariance;
use crate::law::{NoiseLaw, SpikedCovariance, split_spectrum};
use crate::linalg::symmetric_eigen;

/// The treatment of the noise in a covariance. The eigenvectors stay.
///
/// The noise pushes the eigenvalues of components up and gives the rest a spread that is not the population's.
/// *Shrinking* (Donoho, Gavish & Johnstone 2018; Shabalin & Nobel 2013 and Gavish & Donoho 2017 for additive noise)
/// maps an eigenvalue above the noise edge back by [`NoiseBulk::eigenvalue`] and, for `Frobenius`, weights it with the
/// remaining part of its direction; all others are replaced by one bulk level, so that the trace is kept. The result is
/// positive semidefinite.
///
/// *Assumption*: the population is isotropic except for a few components, and there are many features. A population
/// whose eigenvalues decline without a step has those below the edge flattened to their mean. *Effect*: where the
/// assumption holds, no other choice of eigenvalues for the observed eigenvectors has a smaller expected loss in the
/// limit of many features. The principal subspace is the same as without.
///
/// [`NoiseBulk::eigenvalue`]: crate::law::NoiseBulk::eigenvalue
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Denoising {
    /// Shrinking to the matrix with the least Frobenius distance to the truth. The observed directions are tilted, so
    /// less than the true variance is put on them: `bulk + cos^2 (eigenvalue - bulk)`.
    Frobenius,
    /// Shrinking to the spectrum: every component gets the estimate of its true eigenvalue (least operator norm
    /// distance).
    Operator,
    /// Negative eigenvalues become 0: the nearest positive semidefinite matrix in Frobenius norm. It needs no
    /// assumption and is never farther from a positive semidefinite truth, but keeps all the noise of the positive
    /// half; where components stand out, shrinking comes much closer.
    Psd,
    /// Nothing is done.
    None,
}

/// A covariance after its [`Denoising`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Denoised {
    /// The treatment.
    pub denoising: Denoising,
    /// The new values of the eigenvalues above the noise, descending, where they were shrunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eigenvalues: Option<Vec<f64>>,
    /// The level that all others were set to, where the first were shrunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bulk: Option<f64>,
    /// The matrix, d × d.
    #[serde(skip)]
    pub matrix: DMatrix<f64>,
}

impl Denoising {
    /// Denoises the covariance.
    ///
    /// # Errors
    /// [`RecoveryError::NoLaw`] when the eigenvalues of a covariance with centring are to be shrunk,
    /// [`FantopeError::Eigen`](super::FantopeError::Eigen).
    pub fn apply(self, covariance: &Covariance) -> Result<Denoised, RecoveryError> {
        let estimate = covariance.matrix();
        let kept = |matrix| Denoised { denoising: self, eigenvalues: None, bulk: None, matrix };
        match self {
            Self::Psd => Ok(kept(project_psd(estimate)?)),
            Self::None => Ok(kept(estimate.clone())),
            Self::Frobenius | Self::Operator if covariance.mean().is_some() => Err(RecoveryError::NoLaw),
            Self::Frobenius | Self::Operator => {
                let spiked = self.shrink(estimate, &covariance.noise_law())?;
                let eigenvalues = Some(spiked.variances().as_slice().to_vec());
                Ok(Denoised { eigenvalues, bulk: Some(spiked.bulk()), ..kept(spiked.matrix()) })
            }
        }
    }

    /// Shrinks the eigenvalues of an estimate (d × d) whose noise is known.
    ///
    /// # Errors
    /// [`RecoveryError::Fantope`] when the law is for another dimension, or the matrix is not a finite symmetric one.
    pub(super) fn shrink(self, estimate: &DMatrix<f64>, law: &NoiseLaw) -> Result<SpikedCovariance, RecoveryError> {
        law.check_estimate(estimate)?;
        let eigen = symmetric_eigen(estimate)?;
        let split = split_spectrum(&eigen.values, law);
        let bulk = split.bulk.level();
        let shrunken = split.eigenvalues.iter().map(|&eigenvalue| match self {
            Self::Frobenius => bulk + split.bulk.cos_squared(eigenvalue) * (eigenvalue - bulk),
            _ => eigenvalue,
        });
        let variances = DVector::from_iterator(split.eigenvalues.len(), shrunken);
        let components = eigen.vectors.columns(0, variances.len()).into_owned();
        Ok(SpikedCovariance::from_parts(components, variances, bulk))
    }
}

/// The nearest positive semidefinite matrix in Frobenius norm.
///
/// # Errors
/// [`RecoveryError::Fantope`] when the matrix is not a finite symmetric one.
pub(super) fn project_psd(matrix: &DMatrix<f64>) -> Result<DMatrix<f64>, RecoveryError> {
    let eigen = symmetric_eigen(matrix)?;
    Ok(SpikedCovariance::from_parts(eigen.vectors, eigen.values.map(|value| value.max(0.0)), 0.0).matrix())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::tests::{double_cap_law, gaussian_law, unit_trace};
    use crate::linalg::symmetric_eigenvalues;
    use crate::recovery::FantopeError;
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    /// Squared Frobenius errors at d = 60 with three components; the margins are half of what other seeds show.
    #[test]
    fn denoising_comes_closer_than_the_raw_estimate_and_its_positive_part() {
        let truth = unit_trace(60, &[0.3, 0.2, 0.2], 1);
        for law in [double_cap_law(60, 2.0, 20_000), gaussian_law(60, 4.0, 40_000)] {
            for seed in 0..5 {
                let estimate = law.draw_with_rng(&truth, &mut ChaCha12Rng::seed_from_u64(seed)).unwrap();
                let error = |matrix: &DMatrix<f64>| (matrix - truth.matrix()).norm_squared();
                let best = error(&Denoising::Frobenius.shrink(&estimate, &law).unwrap().matrix());
                let (raw, positive) = (error(&estimate), error(&project_psd(&estimate).unwrap()));
                assert!(positive < raw && best < 0.2 * raw && best < 0.3 * positive, "{best} {positive} {raw}");
                assert!(best < error(&Denoising::Operator.shrink(&estimate, &law).unwrap().matrix()));
            }
        }
    }

    #[test]
    fn the_spectrum_of_the_population_is_found() {
        let truth = unit_trace(60, &[0.4, 0.2], 1);
        let law = double_cap_law(60, 2.0, 50_000);
        let estimate = law.draw_with_rng(&truth, &mut ChaCha12Rng::seed_from_u64(1)).unwrap();
        let denoised = Denoising::Operator.shrink(&estimate, &law).unwrap();
        assert_eq!(denoised.variances().len(), 2);
        for (found, variance) in denoised.variances().iter().zip([0.4, 0.2]) {
            let deviation = (2.0 * law.cross_variance(variance, variance)).sqrt();
            assert!((found - variance).abs() < 4.9 * deviation, "{found} {variance}");
        }
        let bulk_deviation = (2.0 / 58.0 * law.cross_variance(0.0, 0.0)).sqrt();
        assert!((denoised.bulk() - truth.bulk()).abs() < 4.9 * bulk_deviation, "{}", denoised.bulk());
        assert!((denoised.matrix().trace() - estimate.trace()).abs() < 1e-9);
        let shrunken = Denoising::Frobenius.shrink(&estimate, &law).unwrap();
        assert!(shrunken.variances().iter().zip(denoised.variances()).all(|(less, more)| less < more));
    }

    #[test]
    fn noise_alone_becomes_a_multiple_of_the_identity() {
        for matrix in [DMatrix::zeros(8, 8), DMatrix::identity(8, 8) * -0.3, DMatrix::identity(8, 8) * 0.125] {
            let denoised = Denoising::Frobenius.shrink(&matrix, &double_cap_law(8, 1.0, 100)).unwrap();
            assert_eq!(denoised.variances().len(), 0);
            assert!((denoised.bulk() - matrix[(0, 0)].max(0.0)).abs() < 1e-12);
        }
        let single = DMatrix::from_element(1, 1, 0.9);
        let shrunken = Denoising::Operator.shrink(&single, &double_cap_law(1, 1.0, 10)).unwrap();
        assert_eq!(shrunken.matrix(), single);
    }

    #[test]
    fn the_positive_part_keeps_what_is_positive() {
        let matrix = DMatrix::from_row_slice(2, 2, &[1.0, 2.0, 2.0, 1.0]);
        let projected = project_psd(&matrix).unwrap();
        assert!((&projected - DMatrix::from_element(2, 2, 1.5)).norm() < 1e-14);
        assert!(symmetric_eigenvalues(&projected).unwrap()[1] > -1e-15);
        assert!(matches!(project_psd(&DMatrix::zeros(1, 2)), Err(RecoveryError::Fantope(FantopeError::Eigen(_)))));
    }

    #[test]
    fn matrices_that_do_not_fit_are_refused() {
        let law = double_cap_law(3, 1.0, 100);
        let refused = |matrix: &DMatrix<f64>| match Denoising::Frobenius.shrink(matrix, &law) {
            Err(RecoveryError::Fantope(error)) => error,
            other => panic!("{other:?}"),
        };
        let shape = FantopeError::ShapeMismatch { rows: 2, columns: 4, dimension: 3 };
        assert_eq!(refused(&DMatrix::zeros(2, 4)), shape);
        assert!(matches!(refused(&DMatrix::zeros(3, 2)), FantopeError::Eigen(_)));
        assert!(matches!(refused(&DMatrix::from_element(3, 3, f64::NAN)), FantopeError::Eigen(_)));
    }
}
