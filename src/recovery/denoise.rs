//! Shrinking the eigenvalues of a noisy estimate, and making it positive semidefinite.

use nalgebra::{DMatrix, DVector};

use super::RecoveryError;
use crate::linalg::symmetric_eigen;
use crate::noise::{NoiseBulk, NoiseLaw, SpikedCovariance};

/// Rounds in which bulk level and number of components are made to agree. They settle in two or three.
const ROUNDS: usize = 50;

/// What a shrunken eigenvalue is best for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Loss {
    /// The matrix with the least Frobenius distance to the truth. The observed directions are tilted, so less than the
    /// true variance is put on them: `bulk + cos^2 (eigenvalue - bulk)`.
    Frobenius,
    /// The spectrum: every component gets the estimate of its true eigenvalue (least operator norm distance).
    Operator,
}

/// Denoises a covariance estimate (d × d) whose noise is known, by shrinking its eigenvalues (Donoho, Gavish &
/// Johnstone 2018, for `Loss::Frobenius` and `Loss::Operator`; Shabalin & Nobel 2013 and Gavish & Donoho 2017 for
/// additive noise).
///
/// The noise pushes the eigenvalues of components up and gives the rest a spread that is not the population's. An
/// eigenvalue above the noise edge is mapped back by [`NoiseBulk::eigenvalue`] and, for `Loss::Frobenius`, weighted with
/// what is left of its direction; all others are replaced by one bulk level, such that the trace is kept. The
/// eigenvectors stay. What comes out is positive semidefinite.
///
/// *Assumption*: the population is isotropic but for a few components, and there are many features. A population whose
/// eigenvalues decline without a step has those below the edge flattened to their mean. *Effect*: where the assumption
/// holds, no other choice of eigenvalues for the observed eigenvectors has a smaller expected loss in the limit of many
/// features. The principal subspace is the same as without.
///
/// # Errors
/// [`RecoveryError::ShapeMismatch`] when the law is for another dimension, [`RecoveryError::Eigen`] when the matrix is
/// not a finite symmetric one.
pub fn denoise(estimate: &DMatrix<f64>, law: &NoiseLaw, loss: Loss) -> Result<SpikedCovariance, RecoveryError> {
    let (rows, columns) = estimate.shape();
    let dimension = law.dimension();
    if rows != dimension {
        return Err(RecoveryError::ShapeMismatch { rows, columns, dimension });
    }
    let eigen = symmetric_eigen(estimate)?;
    let split = split_spectrum(&eigen.values, law);
    let bulk = split.bulk.level();
    let shrunken = split.eigenvalues.iter().map(|&eigenvalue| match loss {
        Loss::Frobenius => bulk + split.bulk.cos_squared(eigenvalue) * (eigenvalue - bulk),
        Loss::Operator => eigenvalue,
    });
    let variances = DVector::from_iterator(split.eigenvalues.len(), shrunken);
    let components = eigen.vectors.columns(0, variances.len()).into_owned();
    Ok(SpikedCovariance::from_parts(components, variances, bulk))
}

/// A noisy spectrum, taken apart.
#[derive(Clone, Debug)]
pub(crate) struct SplitSpectrum {
    /// Estimates of the true eigenvalues of the components above the noise, descending.
    pub eigenvalues: Vec<f64>,
    /// The rest.
    pub bulk: NoiseBulk,
}

/// Finds the components above the noise edge, their true eigenvalues, and the bulk level that keeps the trace: each
/// follows from the other two. At least one eigenvalue is left to the bulk.
pub(crate) fn split_spectrum(observed: &DVector<f64>, law: &NoiseLaw) -> SplitSpectrum {
    let dimension = observed.len();
    let trace = observed.sum();
    // The middle of the spectrum belongs to the bulk, however strong the components are.
    let mut split = SplitSpectrum { eigenvalues: vec![], bulk: law.bulk(observed[dimension / 2], dimension) };
    for _ in 0..ROUNDS {
        let bulk = split.bulk;
        let eigenvalues: Vec<f64> =
            observed.iter().take(dimension - 1).map_while(|&value| bulk.eigenvalue(value)).collect();
        let rest = dimension - eigenvalues.len();
        let level = (trace - eigenvalues.iter().sum::<f64>()) / rest as f64;
        let next = law.bulk(level, rest);
        let settled = next == bulk;
        split = SplitSpectrum { eigenvalues, bulk: next };
        if settled {
            break;
        }
    }
    split
}

/// The nearest positive semidefinite matrix in Frobenius norm: negative eigenvalues become 0.
///
/// It needs no assumption and is never farther from a positive semidefinite truth, but keeps all the noise of the
/// positive half; where components stand out, [`denoise`] comes much closer.
///
/// # Errors
/// [`RecoveryError::Eigen`] when the matrix is not a finite symmetric one.
pub fn project_psd(matrix: &DMatrix<f64>) -> Result<DMatrix<f64>, RecoveryError> {
    let eigen = symmetric_eigen(matrix)?;
    let mut scaled = eigen.vectors.clone();
    for (mut column, value) in scaled.column_iter_mut().zip(&eigen.values) {
        column *= value.max(0.0);
    }
    let mut projected = scaled * eigen.vectors.transpose();
    projected.fill_lower_triangle_with_upper_triangle();
    Ok(projected)
}
