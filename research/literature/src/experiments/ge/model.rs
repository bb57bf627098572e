//! The population of section 5.1, and the second moments of records drawn from it.

use nalgebra::{DMatrix, DVector};
use rand::RngExt as _;
use rand::rand_core::CryptoRng;
use rand_distr::{ChiSquared, Distribution, StandardNormal};

use crate::baselines::{Sample, SampleError};
use crate::experiments::ExperimentError;
use crate::experiments::norms::gaussian_norm_bound;
use ldp_pca::recovery::Rank;
use ldp_pca::subspace::{Subspace, SubspaceError};
use ldp_pca_dps::random_start;

/// The k leading eigenvalues.
pub(super) const TOP: f64 = 100.0;
/// The other eigenvalues are uniform between 0 and this value.
pub(super) const BULK_LARGEST: f64 = 10.0;
/// Their mean.
pub(super) const BULK_MEAN: f64 = 5.0;

/// Normal records with k eigenvalues of 100 on the first s features and the others uniform on [0, 10].
pub(super) struct Model {
    /// d × d, eigenvectors.
    vectors: DMatrix<f64>,
    eigenvalues: DVector<f64>,
    /// The leading components.
    pub(super) truth: Subspace,
    pub(super) rank: Rank,
    /// The divisor that brings records into the unit ball without reading them: with probability 0.999 no record has a
    /// larger norm.
    pub(super) radius: f64,
}

impl Model {
    /// A population of `dimension` features, from which n records are drawn.
    pub(super) fn draw(
        dimension: usize,
        rank: Rank,
        sparsity: usize,
        records: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, ExperimentError> {
        let k = rank.value();
        let mut columns = random_start(dimension, Rank::new(dimension)?, rng);
        columns.view_mut((0, 0), (dimension, k)).fill(0.0);
        columns.view_mut((0, 0), (sparsity, k)).copy_from(&random_start(sparsity, rank, rng));
        // Orthonormalization from left to right: the first k stay sparse, the others become orthogonal to them.
        let vectors = Subspace::new(&columns)?.into_basis();
        let truth = Subspace::new(&vectors.columns(0, k).into_owned())?;
        let eigenvalues =
            DVector::from_fn(dimension, |index, _| if index < k { TOP } else { rng.random_range(0.0..BULK_LARGEST) });
        let radius = gaussian_norm_bound(eigenvalues.iter().copied(), records);
        Ok(Self { vectors, eigenvalues, truth, rank, radius })
    }

    pub(super) fn dimension(&self) -> usize {
        self.eigenvalues.len()
    }

    /// The second moments of n records, as drawn or divided by the radius. They are drawn from Wishart's law by
    /// Bartlett's decomposition.
    pub(super) fn moments(
        &self,
        records: u64,
        unit_ball: bool,
        rng: &mut impl CryptoRng,
    ) -> Result<Sample, ExperimentError> {
        let d = self.dimension();
        let mut factor = DMatrix::zeros(d, d);
        for column in 0..d {
            let freedom = records as f64 - column as f64;
            let chi = ChiSquared::new(freedom).map_err(|_| SampleError::Empty)?;
            factor[(column, column)] = chi.sample(rng).sqrt();
            for row in column + 1..d {
                factor[(row, column)] = StandardNormal.sample(rng);
            }
        }
        for (mut row, eigenvalue) in factor.row_iter_mut().zip(&self.eigenvalues) {
            row *= eigenvalue.sqrt();
        }
        let root = &self.vectors * factor;
        let divisor = if unit_ball { self.radius.powi(2) } else { 1.0 };
        let moments = &root * root.transpose() / (records as f64 * divisor);
        let norm = if unit_ball { 1.0 } else { self.radius };
        Ok(Sample::from_second_moment((&moments + moments.transpose()) * 0.5, records, norm)?)
    }

    /// n records divided by the radius; a longer one is shortened to the unit sphere.
    pub(super) fn records(&self, records: u64, rng: &mut impl CryptoRng) -> Result<Sample, ExperimentError> {
        let d = self.dimension();
        let roots = self.eigenvalues.map(f64::sqrt);
        let mut values = Vec::with_capacity(records as usize * d);
        let mut left = records as usize;
        while left > 0 {
            let batch = left.min(1024);
            let mut scores = DMatrix::from_fn(d, batch, |row, _| -> f64 {
                let score: f64 = StandardNormal.sample(rng);
                score * roots[row]
            });
            scores /= self.radius;
            let mut rows = &self.vectors * scores;
            for mut row in rows.column_iter_mut() {
                let norm = row.norm();
                if norm > 1.0 {
                    row /= norm;
                }
            }
            values.extend_from_slice(rows.as_slice());
            left -= batch;
        }
        Ok(Sample::new(d, values)?)
    }

    /// A subspace halfway between the truth and a random one: each principal angle has a sine of about 1/sqrt(2).
    pub(super) fn halfway(&self, rng: &mut impl CryptoRng) -> Result<DMatrix<f64>, SubspaceError> {
        let random = Subspace::new(&random_start(self.dimension(), self.rank, rng))?;
        Ok(self.truth.basis() + random.basis())
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::*;

    fn model(rng: &mut ChaCha12Rng) -> Model {
        Model::draw(30, Rank::new(3).unwrap(), 6, 20_000, rng).unwrap()
    }

    #[test]
    fn components_are_sparse_and_the_moments_are_those_of_records() {
        let mut rng = ChaCha12Rng::seed_from_u64(11);
        let model = model(&mut rng);
        assert!(model.truth.basis().rows(6, 24).amax() < 1e-12);
        assert!((model.vectors.tr_mul(&model.vectors) - DMatrix::identity(30, 30)).amax() < 1e-12);
        let population = &model.vectors * DMatrix::from_diagonal(&model.eigenvalues) * model.vectors.transpose();
        let drawn = model.moments(20_000, false, &mut rng).unwrap();
        let records = model.records(20_000, &mut rng).unwrap();
        assert!(records.largest_norm() <= 1.0 + 1e-12 && records.largest_norm() > 0.5);
        // An entry's standard deviation is at most sqrt(2) 100 / sqrt(20,000) = 1; 900 entries, each 6 of them.
        assert!((drawn.second_moment() - &population).amax() < 6.0);
        let back = records.second_moment() * model.radius.powi(2);
        assert!((back - &population).amax() < 6.0);
        let scaled = model.moments(20_000, true, &mut rng).unwrap();
        assert!((scaled.second_moment() * model.radius.powi(2) - population).amax() < 6.0);
    }
}
