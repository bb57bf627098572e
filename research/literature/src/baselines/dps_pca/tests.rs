//! DPS-PCA's convergence, with and without noise, and what it promises.

use chacha20::ChaCha12Rng;
use ldp_pca::subspace::sin_theta_squared;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

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

/// A small version of the model of the paper's section 5.1: k eigenvalues `top` on an s-sparse subspace, the others
/// `bulk`.
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
    // By Theorem 4.3 with alpha = 0, the optimization error falls by gamma^(1/4) per round. Close to the solution, the
    // underlying power iteration falls by lambda_{k+1} / lambda_k and no faster.
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

/// 20 rows of 400 miss all 6 nonzero rows with probability 0.73, and then the method finds nothing.
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
    // One provider with 500 records holds moments; fifty with 10 each hold records.
    for providers in [3, 50] {
        assert!((of(providers) - &one).amax() < 1e-12, "{providers}");
    }
}

#[test]
fn longer_records_are_refused_or_scaled_and_only_without_a_bound_taken_as_they_are() {
    let sample = Sample::new(2, vec![3.0, 4.0, 0.3, 0.4]).unwrap();
    let with = |bound| DpsPca { bound, ..DpsPca::new(epsilon(0.5), delta(0.01)) }.providers(&sample);
    let message = with(Bound::Require(1.0)).unwrap_err().to_string();
    assert!(message.contains("norm at most 1,") && message.contains("longest has 5"), "{message}");
    let identity = DMatrix::identity(2, 2);
    let moments = |bound| with(bound).unwrap()[0].product(&identity)[(0, 0)];
    assert!((moments(Bound::Clip(1.0)) - (0.36 + 0.09)).abs() < 1e-15);
    assert!((moments(Bound::None) - 9.09).abs() < 1e-14);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(with(Bound::Clip(bad)).is_err() && with(Bound::Require(bad)).is_err(), "{bad}");
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
    assert_eq!(ball.claimed, EpsilonDelta::approximate(epsilon(0.9), delta(0.3)));
    assert!(ball.proved.unwrap().epsilon.value() < 0.9);
    let long = printed(Bound::Clip(8.0)).proved.unwrap();
    assert!(long.epsilon.value() > 10.0, "{long}");
    assert_eq!(printed(Bound::Clip(74.0)).proved, None);
    assert_eq!(printed(Bound::None).proved, None);
    let absent = DpsPca { noise: Noise::Absent, ..DpsPca::new(epsilon(0.9), delta(0.3)) };
    assert_eq!((absent.guarantee(shape).unwrap(), absent.trust()), (None, Trust::Everybody));
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

#[test]
fn there_is_a_record_for_every_provider() {
    let sample = gaussian_sample(3, 4, 0.1, 1);
    for providers in [0, 5] {
        let method = DpsPca { providers, ..DpsPca::new(epsilon(0.5), delta(0.1)) };
        let refused = method.estimate(&sample, rank(1), &mut ChaCha12Rng::seed_from_u64(1)).unwrap_err();
        assert!(refused.to_string().contains("number of providers"), "{refused}");
    }
}
