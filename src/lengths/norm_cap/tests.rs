use super::*;
use crate::mechanism::cap::tests::assert_exact_law;
use crate::privacy::tests::epsilon;
use crate::task::TaskMechanism;
use crate::tests::clip;

const KEY: [u8; 16] = [7; 16];

fn id() -> ReportId {
    ReportId::new([3; 16])
}

fn mechanism(e: f64, cap: u32) -> NormCap {
    NormCap::new(3, clip(2.0), epsilon(e), 2 * cap, cap).unwrap()
}

/// Records of all kinds: without a length, with one that is subnormal when squared, between thresholds, at them, at the
/// radius and far beyond it, and with values that are missing.
fn records() -> Vec<BoundedRecord> {
    let lengths = [0.0, -0.0, 5e-324, 1e-300, 1e-160, 1e-3, 0.5, 1.0, 1.3, 2.0 * FRAC_1_SQRT_2, 1.9, 2.0, 2.1, 1e300];
    let along = lengths.map(|length| vec![0.0, length, 0.0]);
    let others = [vec![1.0, 1.0, 1.0], vec![f64::NAN, 0.1, f64::INFINITY], vec![f64::MAX; 3], vec![-1e-200; 3]];
    along.into_iter().chain(others).map(|values| BoundedRecord::new(values, clip(2.0)).unwrap()).collect()
}

/// What is true of a record is found here from its length, in another way.
#[test]
fn every_index_has_exactly_its_weight_whatever_the_record() {
    for (e, cap) in [(1e-6, 1), (0.5, 3), (1.0, 40), (16.0, 5)] {
        let mechanism = mechanism(e, cap);
        for record in records() {
            let length = record.coordinates().iter().fold(0.0, |all: f64, x| all.hypot(*x));
            let longer = |place: u32| length > 0.5f64.powf(f64::from(place + 1) / 4.0) * (1.0 + 1e-14);
            let in_cap: Vec<bool> = (0..cap).flat_map(|place| [!longer(place), longer(place)]).collect();
            assert_exact_law(&mechanism, &record, (KEY, id()), &in_cap);
        }
    }
}

#[test]
fn sums_are_the_numbers_of_reports_of_every_index() {
    let mechanism = mechanism(1.0, 2);
    let mut sums = vec![0; 4];
    let payloads: Vec<[u8; 2]> = vec![[3, 0], [0, 0], [3, 0]];
    let named: Vec<(ReportId, &[u8])> = payloads.iter().map(|payload| (id(), &payload[..])).collect();
    mechanism.accumulate(&KEY, &named, &mut sums);
    assert_eq!(sums, [1, 0, 0, 2]);
    assert!(mechanism.check(&[4, 0]).is_err() && mechanism.check(&[3, 0]).is_ok() && mechanism.check(&[3]).is_err());
}

#[test]
fn it_goes_with_clip_alone_and_has_half_of_the_candidates_in_its_cap() {
    let spec = |candidates, cap| MechanismSpec::NormCap { epsilon: epsilon(1.0), candidates, cap };
    let build = |bounding, candidates, cap| spec(candidates, cap).for_task(3, bounding, false).map(drop);
    assert_eq!(build(clip(2.0), 1024, 512), Ok(()));
    for (bounding, candidates, cap) in
        [(Bounding::UnitNorm, 8, 4), (clip(2.0), 8, 3), (clip(2.0), 1026, 513), (clip(2.0), 16_384, 8192)]
    {
        assert_eq!(build(bounding, candidates, cap), Err(MechanismError::Norms), "{candidates} {cap}");
    }
    for (candidates, cap) in [(8, 5), (0, 0), (u32::MAX, 1 << 31)] {
        assert_eq!(build(clip(2.0), candidates, cap), Err(MechanismError::Cap { candidates, cap }));
    }
    assert_eq!(spec(8, 4).for_task(3, clip(2.0), true).err(), Some(MechanismError::Centring("norm-cap")));
    let of_task = TaskMechanism::from(mechanism(1.0, 4));
    assert_eq!(of_task.moments().err(), Some(MechanismSpec::ABOUT_LENGTHS));
}
