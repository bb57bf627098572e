//! A few leading eigenpairs of a dense symmetric matrix, from a good guess, and products on faer's kernels.

use faer::linalg::matmul::{matmul, triangular};
use faer::{Accum, MatMut, MatRef, Par};
use nalgebra::{DMatrix, DVector};

use super::{EigenError, exactly_symmetric_eigen};

/// Approximate leading eigenpairs of a symmetric `d × d` matrix: its Ritz values and vectors in some subspace.
pub(crate) struct RitzPairs {
    /// Descending.
    pub(crate) values: DVector<f64>,
    /// `d × m`, orthonormal.
    pub(crate) vectors: DMatrix<f64>,
    /// `matrix · vectors`, `d × m`.
    images: DMatrix<f64>,
}

impl RitzPairs {
    /// Improves `guess`, `d × m` orthonormal, towards the leading eigenvectors of the symmetric `matrix` (both
    /// triangles): the best vectors in the span of the guess and of its image, `wanted` of them, or all `2m` if that is
    /// fewer.
    ///
    /// It is one step of block Lanczos, which suits a sequence of slowly changing matrices: each step squares the error
    /// that the last change added.
    pub(crate) fn near(matrix: &DMatrix<f64>, guess: &DMatrix<f64>, wanted: usize) -> Result<Self, EigenError> {
        let (dimension, count) = guess.shape();
        let image = product(matrix, guess);
        let basis = orthonormal(guess, &image);
        let added = basis.columns(count, basis.ncols() - count).into_owned();
        let mut images = DMatrix::zeros(dimension, basis.ncols());
        images.columns_mut(0, count).copy_from(&image);
        images.columns_mut(count, added.ncols()).copy_from(&product(matrix, &added));
        let mut seen = transposed_product(&basis, &images);
        seen.fill_lower_triangle_with_upper_triangle();
        let eigen = exactly_symmetric_eigen(&seen)?;
        let wanted = wanted.min(basis.ncols());
        let coordinates = eigen.vectors.columns(0, wanted).into_owned();
        Ok(Self {
            values: eigen.values.rows(0, wanted).into_owned(),
            vectors: product(&basis, &coordinates),
            images: product(&images, &coordinates),
        })
    }

    /// `‖matrix V − V diag(values)‖_F` of the first `count` pairs.
    pub(crate) fn residual(&self, count: usize) -> f64 {
        let pairs = self.vectors.column_iter().zip(self.images.column_iter()).zip(self.values.iter());
        let squares = pairs.take(count).map(|((vector, image), value)| {
            image.iter().zip(&vector).map(|(image, entry)| (image - value * entry).powi(2)).sum::<f64>()
        });
        squares.sum::<f64>().sqrt()
    }
}

/// The guess, and an orthonormal basis of what the image adds to it.
fn orthonormal(guess: &DMatrix<f64>, image: &DMatrix<f64>) -> DMatrix<f64> {
    let (dimension, count) = guess.shape();
    let mut rest = image - product(guess, &transposed_product(guess, image));
    for mut column in rest.column_iter_mut() {
        let norm = column.norm();
        if norm > 0.0 {
            column /= norm;
        }
    }
    rest -= product(guess, &transposed_product(guess, &rest));
    let both = faer::Mat::from_fn(dimension, 2 * count, |row, column| {
        if column < count { guess[(row, column)] } else { rest[(row, column - count)] }
    });
    let q = both.qr().compute_thin_Q();
    DMatrix::from_fn(dimension, q.ncols(), |row, column| {
        // The first columns are the guess up to sign: keep the guess, for which the image is known.
        if column < count { guess[(row, column)] } else { q[(row, column)] }
    })
}

/// `left right`.
pub(crate) fn product(left: &DMatrix<f64>, right: &DMatrix<f64>) -> DMatrix<f64> {
    multiply(view(left), view(right))
}

/// `leftᵀ right`.
fn transposed_product(left: &DMatrix<f64>, right: &DMatrix<f64>) -> DMatrix<f64> {
    multiply(view(left).transpose(), view(right))
}

fn view(matrix: &DMatrix<f64>) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(matrix.as_slice(), matrix.nrows(), matrix.ncols())
}

fn multiply(left: MatRef<'_, f64>, right: MatRef<'_, f64>) -> DMatrix<f64> {
    let mut out = DMatrix::zeros(left.nrows(), right.ncols());
    let shape = out.shape();
    let out_view = MatMut::from_column_major_slice_mut(out.as_mut_slice(), shape.0, shape.1);
    matmul(out_view, Accum::Replace, left, right, 1.0, Par::Seq);
    out
}

/// The lower triangle of `V diag(weights) Vᵀ`, written over that of `out`; `V` is the first `weights.len()` columns of
/// `vectors`, `d × m`.
pub(crate) fn weighted_gram(vectors: &DMatrix<f64>, weights: &[f64], out: &mut DMatrix<f64>) {
    let (dimension, count) = (vectors.nrows(), weights.len());
    let scaled = DMatrix::from_fn(dimension, count, |row, column| vectors[(row, column)] * weights[column]);
    let (left, right) = (view(&scaled), view(vectors).subcols(0, count));
    triangular::matmul(
        MatMut::from_column_major_slice_mut(out.as_mut_slice(), dimension, dimension),
        triangular::BlockStructure::TriangularLower,
        Accum::Replace,
        left,
        triangular::BlockStructure::Rectangular,
        right.transpose(),
        triangular::BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::symmetric_eigen;

    #[test]
    fn a_guess_improves_to_the_leading_eigenvectors() {
        let matrix =
            DMatrix::from_fn(60, 60, |i, j| ((i * j) as f64 * 0.7).sin() + if i == j { (60 - i) as f64 } else { 0.0 });
        let exact = symmetric_eigen(&(0.5 * (&matrix + matrix.transpose()))).unwrap();
        let matrix = 0.5 * (&matrix + matrix.transpose());
        let mut vectors = DMatrix::identity(60, 5);
        for _ in 0..150 {
            vectors = RitzPairs::near(&matrix, &vectors, 5).unwrap().vectors;
            assert!((vectors.tr_mul(&vectors) - DMatrix::identity(5, 5)).norm() < 1e-12);
        }
        let pairs = RitzPairs::near(&matrix, &vectors, 5).unwrap();
        for index in 0..4 {
            assert!((pairs.values[index] - exact.values[index]).abs() < 1e-9, "{index}");
        }
        // A guess that is already exact stays, though its image adds nothing to it.
        let known = exact.vectors.columns(0, 5).into_owned();
        let kept = RitzPairs::near(&matrix, &known, 5).unwrap();
        assert!(kept.values.iter().zip(exact.values.iter()).all(|(kept, exact)| (kept - exact).abs() < 1e-11));
    }
}
