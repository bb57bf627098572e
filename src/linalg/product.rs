//! Matrix products on faer's kernels, one thread.

use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, MatMut, Par};
use nalgebra::DMatrix;

use super::partial::view;

/// The lower triangle of `V diag(weights) Vᵀ`, written over that of `out`; `V` is the first `weights.len()` columns of
/// `vectors`, `d × m`.
pub(crate) fn weighted_gram(vectors: &DMatrix<f64>, weights: &[f64], out: &mut DMatrix<f64>) {
    let (dimension, count) = (vectors.nrows(), weights.len());
    let scaled = DMatrix::from_fn(dimension, count, |row, column| vectors[(row, column)] * weights[column]);
    let (left, right) = (view(&scaled), view(vectors).subcols(0, count));
    matmul(
        MatMut::from_column_major_slice_mut(out.as_mut_slice(), dimension, dimension),
        BlockStructure::TriangularLower,
        Accum::Replace,
        left,
        BlockStructure::Rectangular,
        right.transpose(),
        BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
}
