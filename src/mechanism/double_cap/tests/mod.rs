//! Tests of double-cap: its guarantee, its law and its estimate.

mod bias;

use super::*;
use crate::mechanism::cap::weight::{UNIT_WEIGHT, cap_weight};
use crate::mechanism::cap::{MAX_CANDIDATES, largest};
use crate::privacy::tests::epsilon;
use crate::record::Bounding;
use crate::sampling::bits::tests::{ScriptedSource, word_of};
use crate::testing::{clip, random_id, unit};
use chacha20::ChaCha8Rng;
use rand::SeedableRng;

fn mechanism(dimension: usize, e: f64, candidates: u32, cap: u32) -> DoubleCap {
    DoubleCap::new(dimension, epsilon(e), candidates, cap).unwrap()
}

#[test]
fn parameters_that_do_not_fit_are_refused() {
    let build = |e, j, l| DoubleCap::new(3, epsilon(e), j, l);
    let too_few = [(16_384, 15), (1025, 1)];
    let too_many = [(2, 2), (2, 3), (3, 2), (64, 33), (16_384, 8193)];
    for (j, l) in [(0, 0), (1, 1), (2, 0), (16_385, 100)].into_iter().chain(too_few).chain(too_many) {
        assert!(matches!(build(1.0, j, l), Err(MechanismError::Cap { .. })), "{j} {l}");
    }
    assert!(matches!(build(21.9, 64, 8), Err(MechanismError::Weights { .. })));
    assert!(matches!(build(700.0, 64, 8), Err(MechanismError::Weights { .. })));
    for (j, l) in [(2, 1), (3, 1), (64, 32), (1024, 1), (16_384, 16), (16_384, 8192)] {
        assert!(build(8.0, j, l).is_ok(), "{j} {l}");
    }
    assert!(build(16.0, 4096, 4).is_ok());
    for e in [f64::MIN_POSITIVE, 1e-300, 1e-17, 1e-9, 9.9e-7] {
        assert!(matches!(build(e, 64, 8), Err(MechanismError::EpsilonTooSmall(_))), "{e}");
    }
    // To first order in epsilon the gain is epsilon times a constant: the integer weights keep four digits of it.
    let per_epsilon = |e| build(e, 64, 8).unwrap().gain() / e;
    assert!((per_epsilon(1e-6) / per_epsilon(1e-4) - 1.0).abs() < 1e-3);
    assert!(DoubleCap::new(0, epsilon(1.0), 8, 1).is_err());
}

/// The whole randomizer with words at both ends of every weight, for records that were bounded as the task says and for
/// others: the guarantee holds for all. The cap is found by sorting.
#[test]
fn the_ends_of_every_weight_belong_to_its_index() {
    let clip = clip(2.0);
    for (e, candidates, cap) in
        [(1e-6, 2, 1), (1.0, 64, 14), (4.0, 256, 10), (16.0, 1024, 1), (8.0, MAX_CANDIDATES, 16)]
    {
        let mechanism = DoubleCap::new(3, epsilon(e), candidates, cap).unwrap();
        let inside = cap_weight(epsilon(e)).unwrap().unwrap();
        let of_cap = u64::from(cap) * inside;
        let total = of_cap + u64::from(candidates - cap) * (1 << 32);
        let (key, id) = ([3; 16], ReportId::new([8; 16]));
        let report = |record: &BoundedRecord, words: &[u64]| {
            let mut source = ScriptedSource::of_words(words);
            let payload = mechanism.randomize_with_rng(record, &key, id, &mut source).unwrap();
            assert_eq!(source.requests, [64], "one word is drawn, of a block of eight");
            index(&payload) as usize
        };
        let ranks = |count: usize| [0, 1, count / 2, count - 1].into_iter().filter(move |&rank| rank < count);
        let ends = |start: u64, weight: u64, rank: usize| {
            let first = start + rank as u64 * weight;
            [first, first + weight / 2, first + weight - 1]
        };
        let records = [
            (vec![0.3, 0.0, -0.9], Bounding::UnitNorm),
            (vec![0.0; 3], Bounding::UnitNorm),
            (vec![0.3, 0.0, -0.9], clip),
            (vec![0.0; 3], clip),
        ];
        for record in records.map(|(values, bounding)| BoundedRecord::new(values, bounding).unwrap()) {
            let direction = direction(&record);
            let scores = Candidates::new(&key, id, direction.len()).scores(&direction, candidates);
            let mut order: Vec<usize> = (0..scores.len()).collect();
            order.sort_by_key(|&index| (core::cmp::Reverse(scores[index]), index));
            let (members, others) = order.split_at_mut(cap as usize);
            members.sort_unstable();
            others.sort_unstable();
            let of_members =
                ranks(members.len()).flat_map(|rank| ends(0, inside, rank).map(|draw| (draw, members[rank])));
            let of_others =
                ranks(others.len()).flat_map(|rank| ends(of_cap, 1 << 32, rank).map(|draw| (draw, others[rank])));
            for (draw, expected) in of_members.chain(of_others) {
                let found = report(&record, &[word_of(draw, total)]);
                assert_eq!(found, expected, "eps {e} J {candidates} draw {draw} {record:?}");
            }
        }
    }
}

/// The zero vector too: its lift is the last axis.
#[test]
fn the_lift_makes_a_unit_vector_of_every_record() {
    let clip = clip(2.0);
    for (values, bounding, expected) in [
        ([0.0, 0.0], clip, [0.0, 0.0, 1.0]),
        ([0.96, -0.72], clip, [0.48, -0.36, 0.8]),
        ([-6.0, 8.0], clip, [-0.6, 0.8, 0.0]),
        ([3.0, -4.0], Bounding::UnitNorm, [0.6, -0.8, 0.0]),
        ([0.0, f64::NAN], Bounding::UnitNorm, [0.0, 0.0, 1.0]),
    ] {
        let record = BoundedRecord::new(values.to_vec(), bounding).unwrap();
        for (found, expected) in direction(&record).iter().zip(expected) {
            // The square root of a rounding error is larger than it.
            assert!((found - expected).abs() < 2e-8, "{values:?}: {found} {expected}");
        }
    }
}

/// Frequencies of every index against its exact weight, for one id and a fixed record: chi-square, alpha 0.001.
#[test]
fn selection_frequencies_are_the_weights() {
    let mechanism = mechanism(5, 1.0, 16, 3);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let id = random_id(&mut rng);
    let record = unit(&[0.1, -0.4, 0.2, 0.9, 0.0]);
    let scores = Candidates::new(&[7; 16], id, 6).scores(&direction(&record), 16);
    let in_cap = largest(&scores, 3);
    assert_eq!(in_cap.iter().filter(|&&member| member).count(), 3);
    let draws = 200_000;
    let mut counts = [0f64; 16];
    for _ in 0..draws {
        let payload = mechanism.randomize_with_rng(&record, &[7; 16], id, &mut rng).unwrap();
        counts[index(&payload) as usize] += 1.0;
    }
    let chi_square: f64 = (0..16)
        .map(|j| {
            let weight = if in_cap[j] { mechanism.weights.inside } else { UNIT_WEIGHT };
            let expected = f64::from(draws) * weight as f64 / mechanism.weights.total() as f64;
            (counts[j] - expected).powi(2) / expected
        })
        .sum();
    assert!(chi_square < 37.7, "{chi_square} exceeds the 0.999 quantile of chi-square with 15 degrees of freedom");
}

/// Every entry of the mean over n reports within 4.9 standard errors of x x^T: 1-sparse, 2-sparse, dense and short
/// records, and one of zeros alone.
#[test]
fn reports_are_unbiased_for_sparse_and_dense_records() {
    let n = 12_000u64;
    let clip = clip(2.0);
    let cases: [(&[f64], Bounding); 5] = [
        (&[0.0, 1.0, 0.0, 0.0, 0.0], Bounding::UnitNorm),
        (&[1.0, 0.0, 0.0, -2.0, 0.0], Bounding::UnitNorm),
        (&[1.0, -1.0, 2.0, 0.5, 0.3], Bounding::UnitNorm),
        (&[0.5, 0.0, 0.9, 0.0, -0.1], clip),
        (&[0.0; 5], Bounding::UnitNorm),
    ];
    for (values, bounding) in cases {
        for (e, j, l) in [(1.0, 64, 13), (4.0, 256, 9)] {
            let mechanism = DoubleCap::new(5, epsilon(e), j, l).unwrap();
            let record = BoundedRecord::new(values.to_vec(), bounding).unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(17);
            let mut sums = vec![0i64; triangle(mechanism.state_dimension())];
            for _ in 0..n {
                let id = random_id(&mut rng);
                let payload = mechanism.randomize_with_rng(&record, &[1; 16], id, &mut rng).unwrap();
                mechanism.accumulate(&[1; 16], &[(id, &payload)], &mut sums);
            }
            let estimate = mechanism.debias(&sums, n);
            for row in 0..5 {
                for column in 0..5 {
                    let expected = record.coordinates()[row] * record.coordinates()[column];
                    // The chosen candidates are longer along u: its fourth moment is at most 3 (1 + gain)^2.
                    let factor =
                        if row == column { 3f64.sqrt() * (1.0 + mechanism.gain()) } else { 1.0 + mechanism.gain() };
                    let bound = 4.9 * factor * mechanism.entry_deviation() / (n as f64).sqrt();
                    let error = estimate[(row, column)] - expected;
                    assert!(error.abs() < bound, "{values:?} eps {e} entry {row},{column}: {error} > {bound}");
                }
            }
        }
    }
}

#[test]
fn a_candidate_that_does_not_exist_is_refused() {
    let mechanism = mechanism(5, 1.0, 16, 3);
    assert!(mechanism.check(&15u16.to_le_bytes()).is_ok());
    assert!(mechanism.check(&16u16.to_le_bytes()).is_err());
}

/// ((1 + sqrt((d + 1) / n))^2 - 1) / gain of normal candidates, through the enum as well.
#[test]
fn the_edge_of_the_noise_is_that_of_marchenko_and_pastur() {
    for (dimension, records, edge) in [(3, 16, 1.25), (1, 200, 0.21), (8, 1, 15.0)] {
        let mechanism = DoubleCap::new(dimension, epsilon(2.0), 64, 8).unwrap();
        let found = mechanism.noise_edge(records) / mechanism.entry_deviation();
        assert!((found / edge - 1.0).abs() < 1e-12, "{dimension} {records}: {found}");
        assert_eq!(
            crate::mechanism::Mechanism::DoubleCap(mechanism.clone()).noise_edge(records),
            mechanism.noise_edge(records)
        );
    }
}

#[test]
fn parameters_are_shown_as_given_and_recommended_by_epsilon() {
    let mechanism = mechanism(3, 1.0, 64, 9);
    assert_eq!((mechanism.candidates(), mechanism.cap()), (64, 9));
    for (e, candidates) in [
        (0.1, 64),
        (1.5, 64),
        (1.6, 128),
        (2.5, 128),
        (2.6, 256),
        (4.5, 256),
        (4.6, 1024),
        (6.5, 1024),
        (6.6, 4096),
        (16.0, 4096),
    ] {
        assert_eq!(DoubleCap::recommended_candidates(epsilon(e)), candidates, "{e}");
    }
}
