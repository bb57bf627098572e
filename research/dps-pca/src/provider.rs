//! A data provider's part: lines 3 and 5 of Algorithm 1.

use chacha20::ChaCha20Rng;
use nalgebra::{DMatrix, DMatrixView};
use rand::SeedableRng;
use rand::rand_core::CryptoRng;

use crate::error::DpsPcaError;
use crate::scale::{ROUNDING_SLACK, Scale};
use ldp_pca::internal::sampling::bits::Bits;
use ldp_pca::internal::sampling::gaussian::{WORDS_PER_DEVIATE, deviate};

/// The largest integer of a message, either way: exact in double precision, and sums of thousands fit.
pub const LARGEST_CELL: i64 = 1 << 52;

/// Records multiplied together.
const BATCH: usize = 1024;

/// A provider's own records, reduced to what its answers need.
#[derive(Clone, Debug)]
pub struct Provider {
    local: Local,
}

#[derive(Clone, Debug)]
enum Local {
    /// The d × d sum of x x^T.
    Moments(DMatrix<f64>),
    /// Fewer records than features: the records as the columns of d × n.
    Records(DMatrix<f64>),
}

impl Provider {
    /// Records of `dimension` finite numbers each; those longer than `norm_bound` are scaled to it.
    ///
    /// # Errors
    /// [`DpsPcaError::Failed`] when there are so many that the rounding of their products is no longer covered by
    /// [`ROUNDING_SLACK`]: from some 4e7.
    pub fn new(
        dimension: usize,
        records: &mut dyn Iterator<Item = &[f64]>,
        norm_bound: Option<f64>,
    ) -> Result<Self, DpsPcaError> {
        let mut values = Vec::new();
        let mut moments: Option<DMatrix<f64>> = None;
        let mut count = 0_u64;
        for record in records {
            let factor = norm_bound.map_or(1.0, |bound| shrinking(record, bound));
            values.extend(record.iter().map(|value| value * factor));
            count += 1;
            if values.len() >= BATCH.max(dimension).saturating_mul(dimension) {
                add(&values, moments.get_or_insert_with(|| DMatrix::zeros(dimension, dimension)));
                values.clear();
            }
        }
        check_rounding(count, dimension)?;
        let local = match moments {
            None if values.len() < dimension.saturating_mul(dimension) => {
                Local::Records(DMatrix::from_vec(dimension, values.len() / dimension, values))
            }
            moments => {
                let mut moments = moments.unwrap_or_else(|| DMatrix::zeros(dimension, dimension));
                add(&values, &mut moments);
                Local::Moments(moments)
            }
        };
        Ok(Self { local })
    }

    /// `records` records whose mean of x x^T is `second_moment`. Nothing is bounded.
    ///
    /// # Errors
    /// As [`Provider::new`].
    pub fn from_second_moment(second_moment: &DMatrix<f64>, records: u64) -> Result<Self, DpsPcaError> {
        check_rounding(records, second_moment.nrows())?;
        Ok(Self { local: Local::Moments(second_moment * records as f64) })
    }

    /// `n_i Sigma_i Q`, not protected. Rows of Q that are zero cost nothing.
    #[must_use]
    pub fn product(&self, basis: &DMatrix<f64>) -> DMatrix<f64> {
        match &self.local {
            Local::Records(records) => records * (records.tr_mul(basis)),
            Local::Moments(moments) => {
                let mut product = DMatrix::zeros(basis.nrows(), basis.ncols());
                // A column of the moments is read once for all columns of Q.
                for (row, moments) in basis.row_iter().zip(moments.column_iter()) {
                    for (&weight, mut result) in row.iter().zip(product.column_iter_mut()) {
                        if weight != 0.0 {
                            result.axpy(weight, &moments, 1.0);
                        }
                    }
                }
                product
            }
        }
    }

    /// `n_i H_i` with noise, in steps of the lattice, column after column: `floor(n_i Sigma_i Q / step + noise)`.
    ///
    /// # Errors
    /// [`DpsPcaError`] when a number would be beyond [`LARGEST_CELL`], and when the randomness fails.
    pub fn answer(&self, basis: &DMatrix<f64>, scale: Scale, rng: &mut dyn CryptoRng) -> Result<Vec<i64>, DpsPcaError> {
        let product = self.product(basis);
        let mut bits = Bits::new(rng, WORDS_PER_DEVIATE * product.len());
        product
            .iter()
            .map(|entry| {
                let steps = entry / scale.step();
                // Room for the noise, which is below 2^8 steps.
                if steps.is_nan() || steps.abs() >= (LARGEST_CELL - 256) as f64 {
                    let what = "the noise is too small for sums as large as these: lower epsilon, or scale the records";
                    return Err(DpsPcaError::Failed(what));
                }
                let whole = steps.floor();
                // Exact except for the part below 2^-64 steps.
                let part = ((steps - whole) * 2f64.powi(64)) as u64;
                let drawn = deviate(&mut bits).map_err(|_| DpsPcaError::Failed("the source of randomness failed"))?;
                Ok(drawn.add_and_floor(whole as i64, part))
            })
            .collect()
    }
}

/// Adds the sum of x x^T over a batch.
fn add(values: &[f64], moments: &mut DMatrix<f64>) {
    let dimension = moments.nrows();
    for batch in values.chunks(BATCH * dimension) {
        let columns = DMatrixView::from_slice(batch, dimension, batch.len() / dimension);
        moments.gemm(1.0, &columns, &columns.transpose(), 1.0);
    }
}

/// The factor that brings a record's norm to at most `bound`, which rounding may exceed in its last digits.
fn shrinking(record: &[f64], bound: f64) -> f64 {
    let norm = record.iter().map(|value| value * value).sum::<f64>().sqrt();
    if norm > bound { bound / norm } else { 1.0 }
}

/// The product of n records' moments with a basis is off by at most
///
/// ```text
/// u (B + n / B + 2 d sqrt(d)) n R^2,   u = 2^-53, batches of B records
/// ```
///
/// in Frobenius norm (Higham 2002, section 3.5, with room to spare), once for each of the two neighbours; half of the
/// slack is kept for the norm of a scaled record and of the basis, which need far less.
fn check_rounding(records: u64, dimension: usize) -> Result<(), DpsPcaError> {
    let (n, d, batch) = (records as f64, dimension as f64, BATCH as f64);
    let error = 2.0 * 0.5 * f64::EPSILON * (batch + n / batch + 2.0 * d * d.sqrt()) * n;
    if error <= 0.5 * ROUNDING_SLACK {
        return Ok(());
    }
    Err(DpsPcaError::Failed(
        "so many records, of so many features, that rounding could reveal more of one than the noise accounts for: \
               deal them out to several providers",
    ))
}

/// The seed of a provider's noise in a repeatable run. Anyone who knows it can subtract the noise.
#[derive(Clone)]
pub struct NoiseSource([u8; 32]);

impl NoiseSource {
    /// A seed drawn from `rng`.
    #[must_use]
    pub fn draw(rng: &mut dyn CryptoRng) -> Self {
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        Self(seed)
    }

    /// A fixed seed, for tests: such messages are NOT private.
    #[must_use]
    pub fn insecure(seed: u64) -> Self {
        Self::draw(&mut ChaCha20Rng::seed_from_u64(seed))
    }

    /// The randomness of a round, always the same.
    #[must_use]
    pub fn of_round(&self, round: u32) -> ChaCha20Rng {
        let mut rng = ChaCha20Rng::from_seed(self.0);
        rng.set_stream(round.into());
        rng
    }
}
