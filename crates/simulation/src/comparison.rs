//! Comparison of methods that recover sparse components from one estimate.

use ldp_pca::linalg::sort_rows;
use ldp_pca::recovery::{Penalty, Rank, principal_components, soft_threshold};
use ldp_pca::subspace::Subspace;
use nalgebra::DMatrix;
use serde::{Serialize, Serializer};

use super::collection::Estimate;
use super::trial::{Recovered, SimulationError, sparse_components};

/// The share of a feature in the components above which it counts as taking part.
const TAKES_PART: f64 = 1e-4;

/// The residue of orthonormalising in the rows off a subspace's support.
const ROUNDING: f64 = 1e-12;

/// The components of one estimate by three methods, beside the true ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectionComparison {
    /// The population's.
    pub truth: Projection,
    /// [`principal_components`] of the estimate.
    pub pca: Projection,
    /// [`principal_components`] after [`soft_threshold`] by the penalty.
    pub soft_threshold: Projection,
    /// [`FantopeSolver`](ldp_pca::recovery::FantopeSolver) with the penalty.
    pub fantope: Projection,
    /// The certified relative gap of the solver's solution.
    pub relative_gap: f64,
}

/// A subspace as its orthogonal projection, compared with the true one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Projection {
    /// `V V^T`, d × d. Its diagonal are the leverages: each feature's share in the components, 0 to 1. They are what is
    /// serialized of it.
    #[serde(rename = "leverages", serialize_with = "diagonal")]
    pub matrix: DMatrix<f64>,
    /// The share that it finds of the true structure, and its distance from the true subspace.
    #[serde(flatten)]
    pub recovered: Recovered,
    /// The features that take part, ascending from 0: for the truth those that are not zero, for the Fantope the
    /// solver's support, else those with a leverage of more than 1e-4.
    pub support: Vec<usize>,
    /// The comparison of the support with the true one.
    #[serde(flatten)]
    pub counts: SupportCounts,
}

fn diagonal<S: Serializer>(matrix: &DMatrix<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(&matrix.diagonal())
}

/// A support compared with the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SupportCounts {
    /// True features that are in it.
    pub hits: usize,
    /// True features that are not.
    pub misses: usize,
    /// Others that are.
    pub false_alarms: usize,
}

impl ProjectionComparison {
    /// Recovers the number of components that the true subspace has from a symmetric estimate of its dimension. The
    /// `truth` is that subspace and the covariance, of which it is the span of the leading components.
    ///
    /// # Errors
    /// [`SimulationError`] when the estimate is not finite and symmetric, or of another dimension.
    pub fn new(
        truth: (&Subspace, &DMatrix<f64>),
        estimate: &Estimate,
        penalty: Penalty,
    ) -> Result<Self, SimulationError> {
        let rank = Rank::new(truth.0.rank())?;
        let of = |columns: &DMatrix<f64>, support| Projection::new(&Subspace::new(columns)?, support, truth);
        let pca = principal_components(&estimate.matrix, rank)?.vectors;
        let thresholded = principal_components(&soft_threshold(&estimate.matrix, penalty), rank)?.vectors;
        let sparse = sparse_components(estimate, rank, penalty)?;
        Ok(Self {
            truth: Projection::new(truth.0, Some(SupportCounts::support_of(truth.0)), truth)?,
            pca: of(&pca, None)?,
            soft_threshold: of(&thresholded, None)?,
            fantope: of(&sparse.components, Some(sparse.support))?,
            relative_gap: sparse.relative_gap,
        })
    }
}

impl Projection {
    fn new(
        subspace: &Subspace,
        support: Option<Vec<usize>>,
        truth: (&Subspace, &DMatrix<f64>),
    ) -> Result<Self, SimulationError> {
        let matrix = subspace.basis() * subspace.basis().transpose();
        let taking_part = || (0..matrix.nrows()).filter(|&feature| matrix[(feature, feature)] > TAKES_PART).collect();
        let support = support.unwrap_or_else(taking_part);
        let counts = SupportCounts::new(&support, &SupportCounts::support_of(truth.0));
        Ok(Self { recovered: Recovered::new(subspace, truth)?, matrix, support, counts })
    }
}

impl SupportCounts {
    /// Compares lists of features, in any order.
    #[must_use]
    pub fn new(found: &[usize], truth: &[usize]) -> Self {
        let [found, truth] = [found, truth].map(|features| {
            let mut features = features.to_vec();
            sort_rows(&mut features);
            features.dedup();
            features
        });
        let hits = truth.iter().filter(|feature| found.binary_search(feature).is_ok()).count();
        Self { hits, misses: truth.len() - hits, false_alarms: found.len() - hits }
    }

    /// The features of a subspace that are not zero, ascending from 0.
    #[must_use]
    pub fn support_of(subspace: &Subspace) -> Vec<usize> {
        let basis = subspace.basis();
        (0..basis.nrows()).filter(|&row| basis.row(row).amax() > ROUNDING).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use crate::SpikedModel;

    #[test]
    fn sparse_methods_find_a_sparse_truth_and_plain_components_everything() {
        let mut rng = ChaCha12Rng::seed_from_u64(3);
        let rank = Rank::new(2).unwrap();
        let model = SpikedModel::draw(60, rank, 1.0, Some(8), &mut rng).unwrap();
        let estimate = Estimate { matrix: model.estimate(0.2, 0.015, &mut rng), noise: 0.015 };
        let covariance = model.subspace().basis() * model.subspace().basis().transpose();
        let known = (model.subspace(), &covariance);
        let compared = ProjectionComparison::new(known, &estimate, Penalty::new(0.02).unwrap()).unwrap();
        let ProjectionComparison { truth, pca, soft_threshold, fantope, relative_gap } = &compared;
        assert!((0.0..1e-3).contains(relative_gap), "{relative_gap}");
        assert!(truth.recovered.sin_theta_squared < 1e-24 && truth.support.len() == 8);
        assert_eq!(truth.counts, SupportCounts { hits: 8, misses: 0, false_alarms: 0 });
        assert!(pca.support.len() > 50 && pca.counts.hits + pca.counts.false_alarms == pca.support.len());
        for sparse in [soft_threshold, fantope] {
            let errors = [sparse, pca].map(|projection| projection.recovered.sin_theta_squared);
            let counts = sparse.counts;
            assert!(
                errors[0] < 0.5 * errors[1] && counts.false_alarms < pca.counts.false_alarms,
                "{errors:?} {counts:?}"
            );
            assert_eq!(sparse.counts.hits + sparse.counts.misses, 8);
        }
        for projection in [truth, pca, soft_threshold, fantope] {
            let matrix = &projection.matrix;
            assert!((matrix * matrix - matrix).norm() < 1e-12 && (matrix.trace() - 2.0).abs() < 1e-12);
            let distance = (matrix - &truth.matrix).norm_squared() / 2.0;
            let Recovered { share_found, sin_theta_squared } = projection.recovered;
            assert!((sin_theta_squared - distance).abs() < 1e-12);
            assert!((share_found.unwrap() - (1.0 - distance / (2.0 * (1.0 - 2.0 / 60.0)))).abs() < 1e-12);
        }
    }

    #[test]
    fn supports_are_compared_feature_by_feature() {
        let counts = SupportCounts::new(&[1, 4, 9], &[0, 4, 7, 9]);
        assert_eq!(counts, SupportCounts { hits: 2, misses: 2, false_alarms: 1 });
        assert_eq!(SupportCounts::new(&[9, 1, 9, 4], &[9, 7, 4, 0, 7]), counts);
        assert_eq!(SupportCounts::new(&[], &[3]), SupportCounts { hits: 0, misses: 1, false_alarms: 0 });
    }

    #[test]
    fn an_estimate_of_another_dimension_is_refused() {
        let truth = Subspace::new(&DMatrix::identity(3, 1)).unwrap();
        let known = (&truth, &DMatrix::identity(3, 3));
        let estimate = Estimate { matrix: DMatrix::identity(4, 4), noise: 0.0 };
        assert!(ProjectionComparison::new(known, &estimate, Penalty::ZERO).is_err());
    }
}
