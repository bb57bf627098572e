//! Simpler methods on the estimate of sparse components, to compare with.

use nalgebra::{DMatrix, DVector};
use serde::Serialize;

use super::super::held_out::used_rows;
use super::super::{Components, Penalty, Rank, RecoveryError, principal_components, soft_threshold};
use super::AnswerError;
use crate::linalg::symmetric_eigen;
use crate::subspace::{Subspace, orient_columns_in_place, sin_theta_squared};

/// Simpler methods on the same estimate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Baselines {
    /// Plain components of the estimate after soft-thresholding by the penalty.
    pub soft_threshold: Baseline,
    /// Plain components of the estimate.
    pub pca: Baseline,
}

/// Another method's components of the same estimate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Baseline {
    /// Variances along its components in the estimate itself.
    pub eigenvalues: Vec<f64>,
    /// The names of the features that they use.
    pub support: Vec<String>,
    /// Their rows, ascending from 0.
    #[serde(skip)]
    pub rows: Vec<usize>,
    /// `||sin Theta||_F^2` between its components and the sparse ones.
    pub distance: f64,
    /// `||sin Theta||_F^2` against a reference: [`Answer::compare`](super::Answer::compare).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sin_theta_squared: Option<f64>,
    /// The span of its components.
    #[serde(skip)]
    pub subspace: Subspace,
}

/// The simpler methods beside sparse components (d × k) of an estimate with this penalty, and all eigenvalues of the
/// estimate. `names` are those of the features.
pub(super) fn baselines_of(
    estimate: &DMatrix<f64>,
    penalty: Penalty,
    sparse: &DMatrix<f64>,
    names: &[String],
) -> Result<(Baselines, Vec<f64>), AnswerError> {
    let found = Subspace::new(sparse)?;
    let rank = Rank::new(sparse.ncols())?;
    let plain = principal_components(estimate, rank)?;
    let thresholded = principal_components(&soft_threshold(estimate, penalty), rank)?;
    let baseline = |components| Baseline::new(components, estimate, &found, names);
    let baselines = Baselines { soft_threshold: baseline(&thresholded)?, pca: baseline(&plain)? };
    Ok((baselines, plain.all_values.as_slice().to_vec()))
}

impl Baseline {
    fn new(
        components: &Components,
        estimate: &DMatrix<f64>,
        sparse: &Subspace,
        names: &[String],
    ) -> Result<Self, AnswerError> {
        // In the estimate itself, which thresholding has changed, so that the methods compare.
        let (_, variances) = along_variances(&components.vectors, estimate)?;
        let rows = used_rows(&components.vectors);
        let subspace = Subspace::new(&components.vectors)?;
        Ok(Self {
            eigenvalues: variances.as_slice().to_vec(),
            support: rows.iter().filter_map(|&row| names.get(row).cloned()).collect(),
            rows,
            distance: sin_theta_squared(&subspace, sparse)?,
            sin_theta_squared: None,
            subspace,
        })
    }
}

/// The basis of the span of these components that diagonalises the estimate, most variance first, exactly 0 on rows
/// that they do not use, and those variances.
pub(super) fn along_variances(
    components: &DMatrix<f64>,
    estimate: &DMatrix<f64>,
) -> Result<(DMatrix<f64>, DVector<f64>), RecoveryError> {
    let mut block = components.tr_mul(&(estimate * components));
    block.fill_lower_triangle_with_upper_triangle();
    let eigen = symmetric_eigen(&block)?;
    let inside = components * eigen.vectors;
    let mut vectors = DMatrix::zeros(components.nrows(), components.ncols());
    for row in used_rows(components) {
        vectors.set_row(row, &inside.row(row));
    }
    orient_columns_in_place(&mut vectors);
    Ok((vectors, eigen.values))
}
