//! Tests of the signed cap: its guarantee, its law and its estimate.

use chacha20::ChaCha8Rng;
use nalgebra::DMatrix;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::identity::TaskDigest;
use crate::mechanism::cap::tests::{assert_exact_law, first_by_score};
use crate::privacy::tests::epsilon;
use crate::record::Bounding;
use crate::task::TaskMechanism;
use crate::tests::clip;
use crate::waves::refinement::tests::{extreme_refinements, records};

const KEY: [u8; 16] = [3; 16];

fn id(number: u64) -> ReportId {
    let mut bytes = [7; 16];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    ReportId::new(bytes)
}

/// The first `rank` axes of `dimension` features, with weight 1.
fn axes(dimension: usize, rank: usize, clip: f64) -> Arc<Refinement> {
    let directions = DMatrix::identity(dimension, rank);
    let refinement = Refinement::from_parts(TaskDigest::new([1; 32]), &directions, &vec![1.0; rank], clip);
    Arc::new(refinement.unwrap())
}

/// Whoever chose V, w and c, and for every record, the one of zeros too.
#[test]
fn every_index_has_exactly_its_weight_whatever_the_record_and_the_refinement() {
    for refinement in extreme_refinements() {
        for (e, candidates, cap) in [(1e-6, 2, 1), (1.0, 5, 2), (4.0, 7, 3), (16.0, 4, 1)] {
            let mechanism = SignedCap::new(Arc::new(refinement.clone()), epsilon(e), candidates, cap).unwrap();
            let both = |values: Vec<f64>| [(values.clone(), clip(1.0)), (values, Bounding::UnitNorm)];
            for (values, bounding) in records(refinement.dimension()).into_iter().flat_map(both) {
                let record = BoundedRecord::new(values, bounding).unwrap();
                let u = mechanism.direction(&record);
                let scores = mechanism.scores(&KEY, id(1), &u);
                assert_exact_law(&mechanism, &record, (KEY, id(1)), &first_by_score(&scores, cap));
            }
        }
    }
}

/// A vector, turned, and its length.
fn turned(u: &[f64]) -> (Vec<i32>, f64) {
    let v = Turn::new(&KEY, u.len()).apply(u);
    let length = v.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
    (v, length)
}

/// The mean of the candidate that is reported of u, exactly over the index and by sampling over ids: along u and across
/// it. The planted fault has a cap of the largest magnitudes.
fn mean(mechanism: &SignedCap, u: &[f64], planted_fault: bool, ids: u64) -> [[f64; 2]; 2] {
    let (mut sums, mut squares) = ([0.0; 2], [0.0; 2]);
    let mut across: Vec<f64> = (0..u.len()).map(|place| if place % 2 == 0 { 1.0 } else { -0.5 }).collect();
    let part: f64 = across.iter().zip(u).map(|(a, b)| a * b).sum();
    across.iter_mut().zip(u).for_each(|(a, b)| *a -= part * b);
    let length = across.iter().map(|a| a * a).sum::<f64>().sqrt();
    across.iter_mut().for_each(|a| *a /= length);
    let directions = [turned(u), turned(&across)];
    let weights = mechanism.weights;
    let inside = weights.cap_probability() / f64::from(weights.cap());
    let outside = (1.0 - inside * f64::from(weights.cap())) / f64::from(weights.candidates() - weights.cap());
    for number in 0..ids {
        let signs = Signs::new(&KEY, id(number), mechanism.turned());
        let scores = directions.each_ref().map(|(v, _)| signs.scores(v, weights.candidates()));
        let of_fault = |&score: &u64| if planted_fault { score.abs_diff(ACROSS) } else { score };
        let in_cap = largest(&scores[0].iter().map(of_fault).collect::<Vec<_>>(), weights.cap());
        for place in 0..2 {
            let along = |score: u64| (score as f64 - ACROSS as f64) / directions[place].1;
            let weights = in_cap.iter().map(|member| if *member { inside } else { outside });
            let own: f64 = scores[place].iter().zip(weights).map(|(&score, weight)| weight * along(score)).sum();
            sums[place] += own;
            squares[place] += own * own;
        }
    }
    let n = ids as f64;
    [0, 1].map(|place| {
        let mean = sums[place] / n;
        [mean, ((squares[place] / n - mean * mean) / n).sqrt()]
    })
}

/// `E z = gain v / |v|`, within 4.9 standard errors of at most 0.4 %, for few coordinates and many, for u at an axis,
/// between all and for the record of zeros. The unsigned cap, a planted fault, has no mean at all.
#[test]
fn the_mean_is_the_gain_times_the_vector_and_an_unsigned_cap_has_none() {
    for (dimension, rank, e, candidates, cap, ids) in [
        (2, 1, 2.0, 16, 4, 30_000),
        (4, 3, 1.0, 16, 4, 90_000),
        (19, 1, 4.0, 64, 8, 4000),
        (20, 1, 4.0, 64, 8, 4000),
        (30, 4, 2.0, 32, 6, 20_000),
        (133, 3, 2.0, 16, 2, 30_000),
    ] {
        let mechanism = SignedCap::new(axes(dimension, rank, 1.0), epsilon(e), candidates, cap).unwrap();
        let m = mechanism.coordinates();
        let flat = vec![1.0 / (m as f64).sqrt(); m];
        let mut axis = vec![0.0; m];
        axis[0] = -1.0;
        let nothing = mechanism.direction(&BoundedRecord::new(vec![0.0; dimension], Bounding::UnitNorm).unwrap());
        for u in [flat, axis, nothing] {
            let [[along, error], [across, across_error]] = mean(&mechanism, &u, false, ids);
            let gain = mechanism.gain();
            assert!(error < 0.004 * gain, "m {m}: {error}");
            let off = (along - gain) / (error + 1e-3 / 4.9 * gain);
            assert!(off.abs() < 4.9, "m {m}: {along} {gain} {off}");
            assert!(across.abs() < 4.9 * across_error + 1e-3 * gain, "m {m}: {across} {across_error}");
            let [[unsigned, error], _] = mean(&mechanism, &u, true, ids / 10);
            assert!((unsigned - gain).abs() > 20.0 * error, "m {m}: an unsigned cap is not noticed");
        }
    }
}

/// The best L is within a thousandth of the best of all.
#[test]
fn the_best_cap_is_no_worse_than_any_other() {
    for (e, candidates) in [(0.5, 64), (2.0, 128), (4.0, 256)] {
        let gain = |cap| SignedCap::new(axes(20, 2, 1.0), epsilon(e), candidates, cap).unwrap().gain();
        let best = best_signed_cap(candidates, epsilon(e));
        let most = (1..=candidates / 2).map(gain).fold(0.0, f64::max);
        assert!(gain(best) > 0.999 * most, "{e}: {best} {} {most}", gain(best));
    }
}

/// The gain of two candidates, of which the larger is likelier.
#[test]
fn the_gain_of_two_candidates_has_a_closed_form() {
    // The larger of two normal variables has the mean 1 / sqrt(pi).
    let q = 0.8;
    let found = signed_gain(2, 1, q, Some(20_000));
    let expected = (2.0 * q - 1.0) / core::f64::consts::PI.sqrt();
    assert!((found / expected - 1.0).abs() < 1e-4, "{found} {expected}");
}

/// Records in and out of the clip through reports, sums and the estimate: it is right within its own deviation, for
/// each of 40 entries at 4.9 standard deviations.
#[test]
fn sums_give_the_mean_of_the_clipped_products() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    let (dimension, rank, reports) = (8, 2, 40_000u32);
    let weights = [1.0, 2.0];
    let directions = DMatrix::identity(dimension, rank);
    let refinement = Refinement::from_parts(TaskDigest::new([1; 32]), &directions, &weights, 0.5).unwrap();
    let mechanism = SignedCap::new(Arc::new(refinement), epsilon(4.0), 64, 8).unwrap();
    let mut sums = vec![0; mechanism.sums_len()];
    let mut truth = vec![0.0; mechanism.coordinates()];
    let mut payloads = vec![];
    for number in 0..reports {
        let values: Vec<f64> = (0..dimension).map(|place| rng.random::<f64>() - 0.2 * place as f64 / 8.0).collect();
        let record = BoundedRecord::new(values, clip(3.0)).unwrap();
        let u = mechanism.direction(&record);
        truth.iter_mut().zip(u).for_each(|(sum, u)| *sum += u / f64::from(reports));
        let id = id(u64::from(number));
        payloads.push((id, mechanism.randomize_with_rng(&record, &KEY, id, &mut rng).unwrap()));
    }
    let named: Vec<(ReportId, &[u8])> = payloads.iter().map(|(id, payload)| (*id, &payload[..])).collect();
    mechanism.accumulate(&KEY, &named, &mut sums);
    let deviation = 1.0 / (mechanism.gain() * f64::from(reports).sqrt());
    for (found, expected) in mechanism.mean(&KEY, &sums, reports.into()).into_iter().zip(&truth) {
        assert!((found - expected).abs() < 4.9 * deviation, "{found} {expected} {deviation}");
    }
    assert!(truth.iter().any(|u| u.abs() > 5.0 * deviation), "there is something to find");
}

#[test]
fn whoever_wants_a_covariance_is_refused() {
    let mechanism = TaskMechanism::from(SignedCap::new(axes(4, 2, 1.0), epsilon(1.0), 64, 8).unwrap());
    assert_eq!(mechanism.moments().err(), Some(MechanismError::Refinement));
    let spec = MechanismSpec::signed_cap(epsilon(1.0), None, None);
    assert!(matches!(spec.build(4, Bounding::UnitNorm), Err(MechanismError::Refinement)));
}
