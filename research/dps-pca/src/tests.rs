//! The steps of DPS-PCA by hand, and its accounting in numbers.

use chacha20::ChaCha12Rng;
use ldp_pca::internal::privacy::calibration::{gaussian_epsilon_of_rho, gaussian_rho};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;
use nalgebra::{DMatrix, DVector};
use rand::SeedableRng;

use super::scale::{Messages, corrected, formula, printed, sensitivity};
use super::*;

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

fn delta(value: f64) -> Delta {
    Delta::new(value).unwrap()
}

fn rank(k: usize) -> Rank {
    Rank::new(k).unwrap()
}

fn messages(d: usize, k: usize, rounds: u32) -> Messages {
    Messages { dimension: d, rank: rank(k), rounds }
}

#[test]
fn thresholding_keeps_the_longest_rows_as_they_are_and_the_first_of_equals() {
    let matrix = DMatrix::from_row_slice(4, 2, &[0.3, 0.4, 1.0, 0.0, 0.0, -0.5, 0.1, 0.1]);
    let expected = DMatrix::from_row_slice(4, 2, &[0.3, 0.4, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(threshold(matrix.clone(), 2), expected);
    assert_eq!(threshold(matrix.clone(), 4), matrix);
}

#[test]
fn thin_qr_has_orthonormal_columns_and_a_positive_diagonal() {
    let matrix = DMatrix::from_row_slice(3, 2, &[-3.0, 1.0, -4.0, -2.0, 0.0, 2.0]);
    let q = thin_qr(matrix.clone()).unwrap();
    assert!((q.tr_mul(&q) - DMatrix::identity(2, 2)).amax() < 1e-15);
    let r = q.tr_mul(&matrix);
    assert!(r[(1, 0)].abs() < 1e-15 && (r[(0, 0)] - 5.0).abs() < 1e-14 && r[(1, 1)] > 0.0, "{r}");
    assert!((&q * r - matrix).amax() < 1e-14);
    for dependent in [[1.0, 2.0, 1.0, 2.0, 1.0, 2.0], [0.0; 6], [f64::NAN, 1.0, 0.0, 0.0, 0.0, 1.0]] {
        assert!(thin_qr(DMatrix::from_row_slice(3, 2, &dependent)).is_err(), "{dependent:?}");
    }
}

#[test]
fn the_sensitivity_is_reached_and_never_exceeded() {
    let change =
        |x: &DVector<f64>, y: &DVector<f64>, q: &DMatrix<f64>| ((x * x.transpose() - y * y.transpose()) * q).norm();
    let mut rng = ChaCha12Rng::seed_from_u64(7);
    for k in [1, 2, 3] {
        let exact = sensitivity(rank(k), 1.0) / (1.0 + scale::ROUNDING_SLACK);
        let mut largest = 0.0_f64;
        for _ in 0..20_000 {
            let q = thin_qr(random_start(4, rank(k), &mut rng)).unwrap();
            let x = random_start(4, rank(1), &mut rng).column(0).normalize();
            let y = random_start(4, rank(1), &mut rng).column(0).normalize();
            largest = largest.max(change(&x, &y, &q));
        }
        assert!(largest <= exact * (1.0 + 1e-12) && largest > 0.9 * exact, "k = {k}: {largest} of {exact}");
    }
    // For k = 1: at 45 degrees to q on both sides; for more: two columns of Q.
    let q = DMatrix::from_row_slice(2, 1, &[1.0, 0.0]);
    let at = |sign: f64| DVector::from_vec(vec![0.5f64.sqrt(), sign * 0.5f64.sqrt()]);
    assert!((change(&at(1.0), &at(-1.0), &q) - 1.0).abs() < 1e-15);
    let axis = |i: usize| DVector::from_fn(3, |j, _| f64::from(u8::from(i == j)));
    assert!((change(&axis(0), &axis(1), &DMatrix::identity(3, 2)) - 2f64.sqrt()).abs() < 1e-15);
}

#[test]
fn the_figures_of_the_documentation_are_those_of_the_formulas() {
    let (e, rounds) = (epsilon(1.0), 10);
    let of = messages(1000, 5, rounds);
    let rounded = |value: f64, digits: i32| (value * 10f64.powi(digits)).round() / 10f64.powi(digits);
    for (target, printed, least, ball, long) in
        [(0.3, 57.96, 3.09, 0.30, 89647.0), (1e-6, 115.97, 18.91, 0.14, 23344.0)]
    {
        let sigma = formula(e, delta(target), rounds);
        assert_eq!(rounded(sigma, 2), printed);
        // "Six times that noise at delta 1e-6 and 10 rounds" (research/docs/distributed.md).
        assert!(target > 1e-6 || rounded(printed / least, 0) == 6.0);
        assert_eq!(rounded(corrected(e, delta(target), of, 1.0).unwrap(), 2), least);
        let inside = scale::epsilon(Scale::new(sigma).unwrap(), delta(1e-6), of, 1.0).unwrap().unwrap();
        assert_eq!(rounded(inside.value(), 2), ball);
        // The sampler's error drowns in an epsilon like this; the Gaussian alone.
        let rho = gaussian_rho(sigma, f64::from(rounds).sqrt() * sensitivity(rank(5), 74.0)).unwrap();
        assert_eq!(rounded(gaussian_epsilon_of_rho(rho, delta(target)).unwrap().value(), 0), long);
    }
}

#[test]
fn the_corrected_scale_gives_what_is_asked_for_and_no_smaller_one_does() {
    for (e, d, k) in [(0.1, 1e-6, 1), (0.5, 0.01, 2), (1.0, 0.3, 5), (4.0, 1e-9, 5)] {
        for rounds in [1, 10, 50] {
            for norm in [1.0, 74.0] {
                let of = messages(100, k, rounds);
                let sigma = corrected(epsilon(e), delta(d), of, norm).unwrap();
                let given = |sigma: f64| {
                    scale::epsilon(Scale::new(sigma).unwrap(), delta(d), of, norm).unwrap().unwrap().value()
                };
                assert!(given(sigma) <= e * (1.0 + 1e-5), "{} for {e}", given(sigma));
                assert!(given(0.99 * sigma) > e, "{} for {e}", given(0.99 * sigma));
            }
        }
    }
}

#[test]
fn parameters_outside_theorem_4_1_are_refused_and_the_corrected_accounting_takes_them() {
    for (e, d, named) in [(1.0, 0.1, "epsilon is 1"), (0.5, 0.5, "delta is 0.5")] {
        let message = printed(epsilon(e), delta(d), 10).unwrap_err().to_string();
        assert!(message.contains(named) && message.contains("Theorem 4.1"), "{message}");
        assert!(corrected(epsilon(e), delta(d), messages(10, 2, 10), 1.0).is_ok());
    }
    assert!(printed(epsilon(0.5), delta(0.1), 0).unwrap_err().to_string().contains("at least one"));
    assert!(corrected(epsilon(0.5), delta(1e-17), messages(1000, 5, 10), 1.0).is_err());
    let start = DMatrix::identity(5, 2);
    for kept in [1, 6] {
        let message = Coordinator::new(&start, Some(kept), 3).unwrap_err().to_string();
        assert!(message.contains(&format!("kept rows is {kept}")), "{message}");
    }
}

#[test]
fn messages_are_the_product_and_gaussian_noise_of_the_stated_deviation() {
    let records = random_start(40, rank(40), &mut ChaCha12Rng::seed_from_u64(5)) * 0.1;
    let provider = Provider::new(40, &mut records.as_slice().chunks(40), Some(1.0)).unwrap();
    let basis = thin_qr(random_start(40, rank(4), &mut ChaCha12Rng::seed_from_u64(6))).unwrap();
    let scale = Scale::new(0.7).unwrap();
    let source = NoiseSource::insecure(8);
    let exact = provider.product(&basis);
    let rounds = 200;
    let (mut sum, mut squares) = (0.0, 0.0);
    for round in 0..rounds {
        let message = provider.answer(&basis, scale, &mut source.of_round(round)).unwrap();
        let noise = scale.sum(basis.shape(), [message.as_slice()].into_iter()) - &exact;
        sum += noise.sum() / 0.7;
        squares += noise.norm_squared() / 0.49;
    }
    // 32,000 draws of variance 1 + 1/3072: five standard errors, a false alarm in 2e6.
    let draws = f64::from(rounds) * 160.0;
    assert!(sum.abs() < 5.0 * draws.sqrt(), "{sum}");
    assert!((squares / draws - 1.0 - 1.0 / 3072.0).abs() < 5.0 * (2.0 / draws).sqrt(), "{}", squares / draws);
    let again = provider.answer(&basis, scale, &mut source.of_round(3)).unwrap();
    assert_eq!(again, provider.answer(&basis, scale, &mut source.of_round(3)).unwrap());
    assert_ne!(again, provider.answer(&basis, scale, &mut source.of_round(4)).unwrap());
}

#[test]
fn sums_beyond_the_lattice_are_refused() {
    let provider = Provider::from_second_moment(&(DMatrix::identity(2, 2) * 1e12), 1000).unwrap();
    let refused =
        provider.answer(&DMatrix::identity(2, 1), Scale::new(1e-3).unwrap(), &mut NoiseSource::insecure(1).of_round(1));
    assert!(refused.unwrap_err().to_string().contains("too small"));
    assert!(Provider::from_second_moment(&DMatrix::identity(2, 2), 1 << 40).is_err());
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(Scale::new(bad).is_err(), "{bad}");
    }
}

/// A factorization alone leaves rows that were zeroed with entries of the size of its rounding.
#[test]
fn rows_that_are_not_kept_are_exactly_zero() {
    let mut rng = ChaCha12Rng::seed_from_u64(13);
    for kept in 3..8 {
        let mut coordinator = Coordinator::dense(&random_start(12, rank(3), &mut rng), Some(kept), 50).unwrap();
        for _ in 0..50 {
            coordinator.advance(&random_start(12, rank(3), &mut rng)).unwrap();
            let basis = coordinator.basis();
            let parts = basis.row_iter().filter(|row| row.iter().any(|entry| *entry != 0.0)).count();
            assert_eq!(parts, kept);
            assert!((basis.tr_mul(basis) - DMatrix::identity(3, 3)).amax() < 1e-14);
        }
    }
}
