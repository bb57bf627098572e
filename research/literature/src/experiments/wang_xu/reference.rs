//! The sparse subspace that the paper uses as the truth for real data.
//!
//! "We run the method in [28] 50 times, and select the one with the largest variance": Wang, Lu & Liu (2014), whose
//! second stage is sparse orthogonal iteration:
//!
//! ```text
//! V <- orthonormalize(S U);  keep the s rows of V with the largest norms, zero the others;  U <- orthonormalize(V)
//! ```
//!
//! Its first stage, a relaxed problem, gives the start; the 50 runs here start at random instead. A run ends when the
//! rows stay the same; the components of those rows are then computed exactly.

use nalgebra::DMatrix;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::super::ExperimentError;
use crate::baselines::Sample;
use ldp_pca::recovery::{Rank, principal_components};
use ldp_pca::subspace::Subspace;

/// The most steps of one run; its rows then count as found.
const STEPS: usize = 60;
/// A run ends when the rows have not changed for this many steps.
const STEADY: usize = 3;

/// The subspace on `rows` features that captures the most variance of the records, among those found in `starts` runs.
pub(super) fn sparse_components<R: Rng + ?Sized>(
    sample: &Sample,
    rank: Rank,
    rows: usize,
    starts: usize,
    rng: &mut R,
) -> Result<Subspace, ExperimentError> {
    let mut best: Option<(f64, DMatrix<f64>)> = None;
    for _ in 0..starts {
        let support = one_run(sample, rank, rows, rng)?;
        let (variance, basis) = on_rows(sample.second_moment(), rank, &support)?;
        if best.as_ref().is_none_or(|(most, _)| variance > *most) {
            best = Some((variance, basis));
        }
    }
    // The caller asks for at least one run; with none, the basis is the first axes.
    let basis = best.map_or_else(|| DMatrix::identity(sample.dimension(), rank.value()), |(_, basis)| basis);
    Ok(Subspace::new(&basis)?)
}

/// The rows found by one run, ascending.
fn one_run<R: Rng + ?Sized>(
    sample: &Sample,
    rank: Rank,
    rows: usize,
    rng: &mut R,
) -> Result<Vec<usize>, ExperimentError> {
    let mut basis = DMatrix::from_fn(sample.dimension(), rank.value(), |_, _| StandardNormal.sample(rng));
    let mut support = vec![];
    let mut steady = 0;
    for _ in 0..STEPS {
        let image = times_second_moment(sample, &basis)?;
        basis = orthonormal(image);
        let kept = largest_rows(&basis, rows);
        for row in (0..basis.nrows()).filter(|row| kept.binary_search(row).is_err()) {
            basis.row_mut(row).fill(0.0);
        }
        basis = orthonormal(basis);
        steady = if kept == support { steady + 1 } else { 0 };
        support = kept;
        if steady == STEADY {
            break;
        }
    }
    Ok(support)
}

/// `S U`, computed from the records if there are fewer of them than features.
fn times_second_moment(sample: &Sample, basis: &DMatrix<f64>) -> Result<DMatrix<f64>, ExperimentError> {
    if sample.records() >= sample.dimension() as u64 {
        return Ok(sample.second_moment() * basis);
    }
    let columns = sample.columns("sparse orthogonal iteration")?;
    Ok(columns * (columns.tr_mul(basis) / sample.records() as f64))
}

fn orthonormal(columns: DMatrix<f64>) -> DMatrix<f64> {
    columns.qr().q()
}

/// The `count` rows with the largest norms, ascending.
fn largest_rows(matrix: &DMatrix<f64>, count: usize) -> Vec<usize> {
    let norms: Vec<f64> = matrix.row_iter().map(|row| row.norm_squared()).collect();
    let mut order: Vec<usize> = (0..norms.len()).collect();
    order.sort_by(|left, right| norms[*right].total_cmp(&norms[*left]));
    order.truncate(count);
    order.sort_unstable();
    order
}

/// The leading components of the block of these rows, and their variance.
fn on_rows(
    second_moment: &DMatrix<f64>,
    rank: Rank,
    support: &[usize],
) -> Result<(f64, DMatrix<f64>), ExperimentError> {
    let block = second_moment.select_rows(support).select_columns(support);
    let components = principal_components(&block, rank)?;
    let mut basis = DMatrix::zeros(second_moment.nrows(), rank.value());
    for (index, &row) in support.iter().enumerate() {
        basis.row_mut(row).copy_from(&components.vectors.row(index));
    }
    let variance = components.vectors.dot(&(block * &components.vectors));
    Ok((variance, basis))
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::super::population::Population;
    use super::*;
    use ldp_pca::subspace::sin_theta_squared;

    #[test]
    fn the_best_rows_are_those_of_an_exhaustive_search() {
        let population = Population { dimension: 9, rank: 2, signal: 3.0, sparsity: Some(4), unit_norm: false };
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        let (sample, _) = population.draw(60, &mut rng).unwrap();
        let rank = Rank::new(2).unwrap();
        let mut most: f64 = 0.0;
        for mask in (0u32..512).filter(|mask| mask.count_ones() == 4) {
            let rows: Vec<usize> = (0..9).filter(|row| mask >> row & 1 == 1).collect();
            most = most.max(on_rows(sample.second_moment(), rank, &rows).unwrap().0);
        }
        let found = sparse_components(&sample, rank, 4, 50, &mut rng).unwrap();
        let variance = found.basis().dot(&(sample.second_moment() * found.basis()));
        assert!(variance > 0.98 * most && variance < most + 1e-12, "{variance} of {most}");
        assert_eq!(found.basis().row_iter().filter(|row| row.norm() > 1e-12).count(), 4);
    }

    #[test]
    fn fewer_records_than_features_give_the_same_as_their_moments() {
        let population = Population { dimension: 30, rank: 2, signal: 30.0, sparsity: Some(5), unit_norm: true };
        let mut rng = ChaCha12Rng::seed_from_u64(2);
        let (sample, truth) = population.draw(25, &mut rng).unwrap();
        let product = times_second_moment(&sample, truth.basis()).unwrap();
        assert!((product - sample.second_moment() * truth.basis()).amax() < 1e-14);
        let found = sparse_components(&sample, Rank::new(2).unwrap(), 5, 10, &mut rng).unwrap();
        assert!(sin_theta_squared(&found, &truth).unwrap() < 0.2);
    }
}
