//! Tests of double-cap: its guarantee, its law and its estimate.

mod bias;

use super::*;
use crate::mechanism::cap::MAX_CANDIDATES;
use crate::mechanism::cap::tests::{assert_exact_law, first_by_score};
use crate::privacy::tests::epsilon;
use crate::record::Bounding;
use crate::tests::clip;

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

/// For records that were bounded as the task says and for others: the guarantee holds for all.
#[test]
fn the_ends_of_every_weight_belong_to_its_index() {
    let clip = clip(2.0);
    for (e, candidates, cap) in
        [(1e-6, 2, 1), (1.0, 64, 14), (4.0, 256, 10), (16.0, 1024, 1), (8.0, MAX_CANDIDATES, 16)]
    {
        let mechanism = DoubleCap::new(3, epsilon(e), candidates, cap).unwrap();
        let (key, id) = ([3; 16], ReportId::new([8; 16]));
        let records = [
            (vec![0.3, 0.0, -0.9], Bounding::UnitNorm),
            (vec![0.0; 3], Bounding::UnitNorm),
            (vec![0.3, 0.0, -0.9], clip),
            (vec![0.0; 3], clip),
        ];
        for record in records.map(|(values, bounding)| BoundedRecord::new(values, bounding).unwrap()) {
            let direction = direction(&record);
            let scores = Candidates::new(&key, id, direction.len()).scores(&direction, candidates);
            assert_exact_law(&mechanism, &record, (key, id), &first_by_score(&scores, cap));
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

/// ((1 + sqrt((d + 1) / n))^2 - 1) / gain of normal candidates.
#[test]
fn the_edge_of_the_noise_is_that_of_marchenko_and_pastur() {
    for (dimension, records, edge) in [(3, 16, 1.25), (1, 200, 0.21), (8, 1, 15.0)] {
        let mechanism = DoubleCap::new(dimension, epsilon(2.0), 64, 8).unwrap();
        let found = mechanism.noise_edge(records) / mechanism.entry_deviation();
        assert!((found / edge - 1.0).abs() < 1e-12, "{dimension} {records}: {found}");
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
