//! The truth that a bootstrap draws its replicates from.

use nalgebra::{DMatrix, DVector};
use rand::{Rng, RngExt};

use super::{BootstrapError, SubspaceEstimate};
use crate::law::{NoiseBulk, NoiseLaw, SpikedCovariance, split_spectrum};
use crate::linalg::{symmetric_eigen, symmetric_eigenvalues};
use crate::recovery::RecoveryError;
use crate::subspace::Subspace;

/// Rounds in which the bulk level and the eigenvalues above it are made to agree.
const ROUNDS: usize = 4;

/// The components found with the true eigenvalues that belong to the observed ones, other components above the noise,
/// and an isotropic rest.
pub(in crate::recovery) struct Model {
    law: NoiseLaw,
    /// The population's mean, where the law is about an estimated one.
    mean: Vec<f64>,
    /// The components reported come first.
    pub(super) truth: SpikedCovariance,
    /// The components reported, d × k.
    pub(super) components: DMatrix<f64>,
    /// Rows on which eigenvalues are observed.
    support: Vec<usize>,
    /// The noise on these rows, without the components.
    bulk: NoiseBulk,
    /// Eigenvalues of the estimate on the support: of the first so many components of `truth`.
    observed: Vec<f64>,
    pub(super) distinguishable: Vec<bool>,
}

impl Model {
    pub(in crate::recovery) fn fit(
        estimate: &DMatrix<f64>,
        law: &NoiseLaw,
        mean: &[f64],
        found: &SubspaceEstimate,
    ) -> Result<Self, BootstrapError> {
        law.check_estimate(estimate)?;
        let dimension = law.dimension();
        let components = Subspace::new(&found.components)?.into_basis();
        let rank = components.ncols();
        if rank == dimension {
            return Err(BootstrapError::FullRank(rank));
        }
        // Fewer rows than components hold no such subspace: such a support gives no information on their place.
        let support = if found.support.len() < rank { (0..dimension).collect() } else { found.support.clone() };
        let leading = eigenvalues_on(estimate, &support)?;
        let (rest, other_vectors) = spectrum_without(estimate, &components)?;

        let trace = estimate.trace();
        let mut split = split_spectrum(&rest, law);
        let mut bulk = split.bulk;
        let mut eigenvalues = vec![];
        for _ in 0..ROUNDS {
            bulk = law.bulk(split.bulk.level(), support.len() - rank);
            // The true eigenvalue of an observed one, or the largest that the noise hides.
            let known = |&value: &f64| bulk.eigenvalue(value).unwrap_or_else(|| bulk.threshold());
            eigenvalues = leading[..rank].iter().map(known).collect::<Vec<f64>>();
            let above: f64 = eigenvalues.iter().chain(&split.eigenvalues).sum();
            let others = dimension - rank - split.eigenvalues.len();
            split.bulk = law.bulk((trace - above) / others as f64, others);
            split.eigenvalues =
                rest.iter().take(dimension - rank - 1).map_while(|&value| split.bulk.eigenvalue(value)).collect();
        }
        // A component that may be noise takes neither variance nor a direction from the noise that it is compared with.
        let all_rows = support.len() == dimension;
        let noise = if all_rows { split_spectrum(&DVector::from_column_slice(&leading), law).bulk } else { bulk };
        let edge = selected_edge(law, &noise, dimension, support.len());
        let distinguishable = leading[..rank].iter().map(|&value| value > edge).collect();
        let extra = split.eigenvalues.len();
        eigenvalues.extend(&split.eigenvalues);
        let mut all = DMatrix::zeros(dimension, rank + extra);
        all.columns_mut(0, rank).copy_from(&components);
        all.columns_mut(rank, extra).copy_from(&other_vectors.columns(0, extra));
        // On fewer rows the other components are not among the leading eigenvalues: theirs stay as they are.
        let watched = if all_rows { rank + extra } else { rank };
        Ok(Self {
            law: *law,
            mean: mean.to_vec(),
            truth: SpikedCovariance::from_parts(all, DVector::from_vec(eigenvalues), bulk.level()),
            components,
            support,
            bulk,
            observed: leading[..watched].to_vec(),
            distinguishable,
        })
    }

    /// The estimate that another collection from this truth would give.
    pub(super) fn draw<R: Rng + ?Sized>(
        &self,
        truth: &SpikedCovariance,
        rng: &mut R,
    ) -> Result<DMatrix<f64>, BootstrapError> {
        Ok(self.law.draw_about_with_rng(truth, &self.mean, rng)?)
    }

    /// The truth with other eigenvalues that could have led to those observed: each is off by as much as one drawn from
    /// the model is, in the other direction.
    pub(in crate::recovery) fn perturbed<R: Rng + ?Sized>(
        &self,
        rng: &mut R,
    ) -> Result<SpikedCovariance, BootstrapError> {
        let drawn = eigenvalues_on(&self.draw(&self.truth, rng)?, &self.support)?;
        let mut variances = self.truth.variances().clone();
        for ((variance, &observed), &drawn) in variances.iter_mut().zip(&self.observed).zip(&drawn) {
            let corrected = observed - (drawn - self.bulk.observed(*variance));
            let hidden = || rng.random_range(self.bulk.level()..=self.bulk.threshold());
            *variance = self.bulk.eigenvalue(corrected).unwrap_or_else(hidden);
        }
        Ok(SpikedCovariance::from_parts(self.truth.components().clone(), variances, self.truth.bulk()))
    }
}

/// Eigenvalues of the block of these rows and columns, descending.
fn eigenvalues_on(matrix: &DMatrix<f64>, support: &[usize]) -> Result<Vec<f64>, RecoveryError> {
    if support.len() == matrix.nrows() {
        return Ok(symmetric_eigenvalues(matrix)?.as_slice().to_vec());
    }
    let block = DMatrix::from_fn(support.len(), support.len(), |i, j| matrix[(support[i], support[j])]);
    Ok(symmetric_eigenvalues(&block)?.as_slice().to_vec())
}

/// The d - k eigenvalues, descending, and eigenvectors of the matrix on the complement of k orthonormal components.
fn spectrum_without(
    matrix: &DMatrix<f64>,
    components: &DMatrix<f64>,
) -> Result<(DVector<f64>, DMatrix<f64>), RecoveryError> {
    let left = matrix.nrows() - components.ncols();
    let project = |matrix: DMatrix<f64>| &matrix - components * components.tr_mul(&matrix);
    let half = project(matrix.clone()).transpose();
    // The components themselves go to the far end of the spectrum.
    let mut deflated = project(half) - components * components.transpose() * (2.0 * matrix.norm());
    deflated.fill_lower_triangle_with_upper_triangle();
    let eigen = symmetric_eigen(&deflated)?;
    Ok((eigen.values.rows(0, left).into_owned(), eigen.vectors.columns(0, left).into_owned()))
}

/// The value that noise alone reaches with probability 5 % on the rows of a support that was chosen from the data: no
/// more than on all rows, and no more than a union bound over all supports of that size allows.
fn selected_edge(law: &NoiseLaw, bulk: &NoiseBulk, dimension: usize, rows: usize) -> f64 {
    if rows == dimension {
        return bulk.edge_95();
    }
    let factorial = |n: usize| libm::lgamma(n as f64 + 1.0);
    let log_supports = factorial(dimension) - factorial(rows) - factorial(dimension - rows);
    // The largest eigenvalue is a 1-Lipschitz function of independent normal coordinates, with the diagonal's variance
    // each: it exceeds its mean by t deviations with probability at most exp(-t^2 / 2) (Gaussian concentration).
    let diagonal_variance = 2.0 * law.cross_variance(bulk.level(), bulk.level());
    let selected = bulk.edge() + (2.0 * (log_supports + 20f64.ln()) * diagonal_variance).sqrt();
    selected.min(law.bulk(bulk.level(), dimension).edge_95())
}
