//! The steps of DPS-PCA by hand, its accounting in numbers, and its convergence without noise.

use chacha20::ChaCha12Rng;
use nalgebra::{DMatrix, DVector};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use super::scale::{Messages, corrected, formula, printed, sensitivity};
use super::*;
use ldp_pca::privacy::calibration::{gaussian_epsilon_of_rho, gaussian_rho};
use ldp_pca::subspace::sin_theta_squared;

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

/// The model of the paper's section 5.1 in small: k eigenvalues `top` on an s-sparse subspace, the others `bulk`.
fn sparse_model(d: usize, k: usize, s: usize, top: f64, bulk: f64, rng: &mut ChaCha12Rng) -> (DMatrix<f64>, Subspace) {
    let mut loadings = DMatrix::zeros(d, k);
    loadings.rows_mut(0, s).copy_from(&random_start(s, rank(k), rng));
    let truth = Subspace::new(&loadings).unwrap();
    let covariance = truth.basis() * truth.basis().transpose() * (top - bulk) + DMatrix::identity(d, d) * bulk;
    (covariance, truth)
}

fn gaussian_sample(dimension: usize, records: usize, deviation: f64, seed: u64) -> Sample {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let values = (0..records * dimension)
        .map(|_| deviation * <StandardNormal as Distribution<f64>>::sample(&StandardNormal, &mut rng));
    Sample::new(dimension, values.collect()).unwrap()
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
fn without_noise_it_converges_to_the_sparse_subspace_at_the_rate_of_theorem_4_3() {
    let mut rng = ChaCha12Rng::seed_from_u64(4);
    let (top, bulk) = (10.0, 1.0);
    let (covariance, truth) = sparse_model(60, 3, 10, top, bulk, &mut rng);
    let sample = Sample::from_second_moment(covariance, 1000, 60.0).unwrap();
    let method = DpsPca {
        rounds: 16,
        kept_rows: Some(20),
        start: Start::Thresholded,
        noise: Noise::Absent,
        bound: Bound::None,
        ..DpsPca::new(epsilon(0.5), delta(0.01))
    };
    let bases = method.trajectory(&sample, rank(3), &mut rng).unwrap();
    let errors: Vec<f64> =
        bases.iter().map(|basis| sin_theta_squared(&Subspace::new(basis).unwrap(), &truth).unwrap().sqrt()).collect();
    assert_eq!(errors.len(), 17);
    // Theorem 4.3 with alpha = 0 has the optimization error fall by gamma^(1/4) a round. The power iteration underneath
    // falls by lambda_{k+1} / lambda_k once it is close, and no faster.
    let gamma = (3.0 * bulk + top) / (3.0 * top + bulk);
    for (t, error) in errors.iter().enumerate().skip(4) {
        assert!(*error <= gamma.powf(t as f64 / 4.0), "round {t}: {errors:?}");
    }
    for pair in errors.windows(2).filter(|pair| pair[0] < 0.05 && pair[1] > 1e-12) {
        let ratio = pair[1] / pair[0];
        assert!((0.5 * bulk / top..1.05 * bulk / top).contains(&ratio), "{ratio}: {errors:?}");
    }
    assert!(errors[16] < 1e-10, "{errors:?}");
    let last = &bases[16];
    assert_eq!(last.row_iter().filter(|row| row.norm() > 0.0).count(), 20);
    assert!(last.rows(10, 50).amax() < 1e-10);
}

/// 20 rows of 400 miss all of 6 that matter with probability 0.73, and then nothing is ever found.
#[test]
fn a_dense_start_finds_what_a_thresholded_one_mostly_misses() {
    let found = |start| {
        let found = |seed| {
            let mut rng = ChaCha12Rng::seed_from_u64(seed);
            let (covariance, truth) = sparse_model(400, 2, 6, 10.0, 1.0, &mut rng);
            let sample = Sample::from_second_moment(covariance, 1000, 60.0).unwrap();
            let (kept_rows, noise, bound) = (Some(20), Noise::Absent, Bound::None);
            let method = DpsPca { kept_rows, start, noise, bound, ..DpsPca::new(epsilon(0.5), delta(0.01)) };
            let found = method.estimate(&sample, rank(2), &mut rng).unwrap().subspace;
            let error = sin_theta_squared(&found, &truth).unwrap();
            assert!(error < 1e-6 || start == Start::Thresholded && error > 0.5, "seed {seed}: {error}");
            error < 1e-6
        };
        (0..12).filter(|seed| found(*seed)).count()
    };
    assert_eq!(found(Start::Dense), 12);
    // Twelve successes of probability 0.27 are 8 or more once in 150 seeds; these are fixed.
    assert!(found(Start::Thresholded) < 8);
}

#[test]
fn how_records_are_dealt_out_does_not_matter_without_noise() {
    let sample = gaussian_sample(12, 500, 0.1, 9);
    let method = |providers| DpsPca {
        providers,
        rounds: 5,
        noise: Noise::Absent,
        bound: Bound::Require(1.0),
        ..DpsPca::new(epsilon(0.5), delta(0.01))
    };
    let of = |providers| {
        method(providers).trajectory(&sample, rank(2), &mut ChaCha12Rng::seed_from_u64(3)).unwrap().pop().unwrap()
    };
    let one = of(1);
    // 500 records for one are moments; 10 for each of fifty are held as records.
    for providers in [3, 50] {
        assert!((of(providers) - &one).amax() < 1e-12, "{providers}");
    }
}

#[test]
fn longer_records_are_refused_or_scaled_and_only_without_a_bound_taken_as_they_are() {
    let sample = Sample::new(2, vec![3.0, 4.0, 0.3, 0.4]).unwrap();
    let with = |bound| DpsPca { bound, ..DpsPca::new(epsilon(0.5), delta(0.01)) }.providers(&sample);
    let message = with(Bound::Require(1.0)).unwrap_err().to_string();
    assert!(message.contains("above 1") && message.contains("longest has 5"), "{message}");
    let identity = DMatrix::identity(2, 2);
    let moments = |bound| with(bound).unwrap()[0].product(&identity)[(0, 0)];
    assert!((moments(Bound::Clip(1.0)) - (0.36 + 0.09)).abs() < 1e-15);
    assert!((moments(Bound::None) - 9.09).abs() < 1e-14);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(with(Bound::Clip(bad)).is_err() && with(Bound::Require(bad)).is_err(), "{bad}");
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
fn the_printed_scale_proves_its_claim_for_the_unit_ball_and_nothing_like_it_for_the_papers_records() {
    let shape = Shape { records: 100_000, dimension: 1000, rank: rank(5) };
    let printed = |bound| {
        let method = DpsPca { noise: Noise::Printed, bound, ..DpsPca::new(epsilon(0.9), delta(0.3)) };
        method.guarantee(shape).unwrap().unwrap()
    };
    let ball = printed(Bound::Require(1.0));
    assert_eq!(ball.claimed, Budget::approximate(epsilon(0.9), delta(0.3)));
    assert!(ball.proved.unwrap().epsilon.value() < 0.9);
    let long = printed(Bound::Clip(8.0)).proved.unwrap();
    assert!(long.epsilon.value() > 10.0, "{long}");
    assert_eq!(printed(Bound::Clip(74.0)).proved, None);
    assert_eq!(printed(Bound::None).proved, None);
    let absent = DpsPca { noise: Noise::Absent, ..DpsPca::new(epsilon(0.9), delta(0.3)) };
    assert_eq!((absent.guarantee(shape).unwrap(), absent.trust()), (None, Trust::Everybody));
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
    let sample = gaussian_sample(3, 4, 0.1, 1);
    for providers in [0, 5] {
        let method = DpsPca { providers, ..DpsPca::new(epsilon(0.5), delta(0.1)) };
        let refused = method.estimate(&sample, rank(1), &mut ChaCha12Rng::seed_from_u64(1)).unwrap_err();
        assert!(refused.to_string().contains("number of providers"), "{refused}");
    }
}

#[test]
fn messages_are_the_product_and_gaussian_noise_of_the_stated_deviation() {
    let sample = gaussian_sample(40, 200, 0.1, 5);
    let provider = Provider::new(40, &mut sample.rows("a test").unwrap(), Some(1.0)).unwrap();
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

#[test]
fn with_enough_records_the_private_estimate_is_close_to_the_truth() {
    let mut rng = ChaCha12Rng::seed_from_u64(12);
    let (covariance, truth) = sparse_model(50, 2, 6, 0.2, 0.01, &mut rng);
    let sample = Sample::from_second_moment(covariance, 100_000, 1.0).unwrap();
    let method = DpsPca { kept_rows: Some(12), ..DpsPca::new(epsilon(0.9), delta(1e-6)) };
    let found = method.estimate(&sample, rank(2), &mut rng).unwrap().subspace;
    let error = sin_theta_squared(&found, &truth).unwrap();
    assert!(error < 1e-4, "{error}");
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
