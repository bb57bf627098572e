//! The leading eigenpairs of a large symmetric matrix, without the others.

use chacha20::ChaCha8Rng;
use nalgebra::{DMatrix, DVector};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use super::eigen::ScaledMatrix;
use super::krylov::{Krylov, lanczos, lanczos_until};
use super::{EigenError, SymmetricEigen};

/// The most steps of the iteration. It takes a few dozen where the pairs stand out, and hundreds within a bulk.
const MOST_STEPS: usize = 320;

/// Steps in which a missed eigenvalue is looked for.
const CHECK_STEPS: usize = 40;

/// The largest residual of a pair, relative to the largest eigenvalue.
const PAIR: f64 = 1e-10;

/// That of the value after the last pair, which may be at the edge of a bulk. Its error is at most the residual, and
/// about the square of it.
const NEXT_VALUE: f64 = 0.02;

/// The `count` leading eigenpairs of a symmetric `d × d` matrix, and the value after them (`count + 1` values), that to
/// a few per cent of the largest value.
///
/// It is the Lanczos iteration, which sees one vector of a repeated eigenvalue only. So a second iteration on what is
/// left looks for a larger eigenvalue than the last. `None` where that finds one, or where the pairs do not converge:
/// then all pairs have to be found.
///
/// # Errors
/// As [`symmetric_eigen`](super::symmetric_eigen).
pub fn leading_eigen(matrix: &DMatrix<f64>, count: usize) -> Result<Option<SymmetricEigen>, EigenError> {
    let scaled = ScaledMatrix::new(matrix)?;
    let (entries, dimension) = (&scaled.entries, matrix.nrows());
    if count == 0 || 4 * (count + CHECK_STEPS) > dimension {
        return Ok(None);
    }
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut direction = || DVector::from_fn(dimension, |_, _| StandardNormal.sample(&mut rng));
    let size = |krylov: &Krylov| krylov.values.amax();
    let found = |krylov: &Krylov| {
        krylov.values.len() > count
            && (0..count).all(|index| krylov.residual(index) <= PAIR * size(krylov))
            && krylov.residual(count) <= NEXT_VALUE * size(krylov)
    };
    let mut apply = |x: &DVector<f64>, y: &mut DVector<f64>| y.gemv(1.0, entries, x, 0.0);
    let krylov = lanczos_until(&mut apply, &direction(), MOST_STEPS.min(dimension / 2), &mut |krylov| found(krylov))?;
    if !found(&krylov) {
        return Ok(None);
    }
    let (vectors, values) = (krylov.vectors(count), krylov.values.rows(0, count + 1).into_owned());
    let without = |x: &mut DVector<f64>| {
        let along = vectors.tr_mul(x);
        x.gemv(-1.0, &vectors, &along, 1.0);
    };
    let mut start = direction();
    without(&mut start);
    let mut rest = |x: &DVector<f64>, y: &mut DVector<f64>| {
        apply(x, y);
        without(y);
    };
    let missed = lanczos(&mut rest, &start, CHECK_STEPS)?.values[0] > values[count - 1] + PAIR * size(&krylov);
    Ok((!missed).then(|| SymmetricEigen { values: values * scaled.scale, vectors }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::symmetric_eigen;

    /// Noise with these eigenvalues added along random directions.
    fn spiked(dimension: usize, spikes: &[f64], seed: u64) -> DMatrix<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut normal = |rows, columns| DMatrix::<f64>::from_fn(rows, columns, |_, _| StandardNormal.sample(&mut rng));
        let noise = normal(dimension, dimension);
        let directions = normal(dimension, spikes.len()).qr().q();
        let diagonal = DMatrix::from_diagonal(&DVector::from_column_slice(spikes));
        (&noise + noise.transpose()) / (8.0 * dimension as f64).sqrt() + &directions * diagonal * directions.transpose()
    }

    #[test]
    fn leading_pairs_are_those_of_the_whole_decomposition() {
        for (dimension, spikes) in [(400, &[5.0, 3.0, 2.9][..]), (600, &[40.0]), (300, &[3.0, 2.0])] {
            let matrix = spiked(dimension, spikes, 3) * 1e-3;
            let (whole, count) = (symmetric_eigen(&matrix).unwrap(), spikes.len());
            let found = leading_eigen(&matrix, count).unwrap().unwrap();
            assert_eq!(found.values.len(), count + 1);
            for index in 0..count {
                assert!((found.values[index] - whole.values[index]).abs() < 1e-12 * whole.values[0]);
                let cosine = found.vectors.column(index).dot(&whole.vectors.column(index)).abs();
                assert!((cosine - 1.0).abs() < 1e-12, "{dimension}: {cosine}");
            }
            assert!((found.values[count] - whole.values[count]).abs() < NEXT_VALUE * whole.values[0]);
        }
    }

    /// The iteration sees the second vector of a repeated value late, by rounding, or never.
    #[test]
    fn a_repeated_value_is_found_as_often_as_it_occurs_or_left_to_the_whole_decomposition() {
        for (others, count) in [(&[3.0][..], 2), (&[3.0, 2.5], 3), (&[9.0, 3.0], 3)] {
            let mut matrix = spiked(400, others, 1);
            for place in [0, 1] {
                matrix.fill_row(place, 0.0);
                matrix.fill_column(place, 0.0);
                matrix[(place, place)] = 5.0;
            }
            if let Some(found) = leading_eigen(&matrix, count).unwrap() {
                assert_eq!(found.values.iter().filter(|&&value| (value - 5.0).abs() < 1e-9).count(), 2, "{others:?}");
            }
        }
    }

    #[test]
    fn few_features_and_no_gap_are_left_to_the_whole_decomposition() {
        for (matrix, count) in [
            (DMatrix::identity(400, 400), 1),
            (DMatrix::zeros(400, 400), 1),
            (spiked(100, &[9.0], 1), 1),
            (spiked(400, &[9.0], 1), 0),
        ] {
            assert!(leading_eigen(&matrix, count).unwrap().is_none());
        }
        let wrong = DMatrix::from_fn(400, 400, |row, column| (row + 2 * column) as f64);
        assert!(matches!(leading_eigen(&wrong, 1), Err(EigenError::NotSymmetric { .. })));
    }
}
