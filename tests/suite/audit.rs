//! The audit: shipped mechanisms stay below their claim, planted faults are flagged.
//!
//! Every bound is at confidence 0.999: at a new seed, a correct randomizer would be flagged with probability at most
//! 0.001.

use ldp_pca::internal::mechanism::cap::candidates::Candidates;
use ldp_pca::internal::mechanism::{Moments, Perturbation, cap};
use ldp_pca::internal::privacy::calibration::{COVARIANCE_SENSITIVITY, analytic_gaussian_sigma};
use ldp_pca::internal::sampling::bits::Bits;
use ldp_pca::internal::sampling::gaussian;
use ldp_pca::internal::sampling::uniform::uniform_below;
use ldp_pca::mechanism::{Calibration, DoubleCap, Gaussian, LocalRandomizer, MechanismFamily, MechanismSpec};
use ldp_pca::record::{BoundedRecord, Bounding, Radius};
use ldp_pca::report::ReportId;
use ldp_pca::schema::{Schema, Value};
use ldp_pca::task::{Folds, Task, TaskMechanism};
use ldp_pca_simulation::audit::{Audit, AuditError, Confidence, Finding, Job, Malformed, Randomizer, Tally};
use rand::CryptoRng;

use crate::support::{delta, epsilon};

const CONFIDENCE: f64 = 0.999;
const DIMENSION: usize = 4;

fn confidence() -> Confidence {
    Confidence::new(CONFIDENCE).unwrap()
}

/// A mechanism as it is shipped.
fn shipped(mechanism: &TaskMechanism) -> Box<Randomizer<'_>> {
    Box::new(move |record, task_key, id, rng| mechanism.randomize_with_rng(record, task_key, id, rng).map(Some))
}

/// The result of so many trials.
fn observed(audit: &Audit, trials: u64, randomizer: &Randomizer<'_>) -> Tally {
    let mut tally = audit.empty_tally();
    for job in audit.jobs(trials).unwrap() {
        audit.observe(job, 3, randomizer, &mut tally).unwrap();
    }
    tally
}

/// The findings about a randomizer that claims to be `mechanism`.
fn finding(mechanism: &TaskMechanism, bounding: Bounding, trials: u64, randomizer: &Randomizer<'_>) -> Finding {
    let audit = Audit::new(mechanism, bounding).unwrap();
    let claimed = mechanism.guarantee();
    let tally = observed(&audit, trials, randomizer);
    let found = audit.conclude(&tally, claimed.delta_value(), confidence()).unwrap();
    println!("{claimed}: at least {:.4} from {trials} trials", found.epsilon_lower_bound);
    found
}

/// The bound for a randomizer that claims to be `mechanism`, and makes well-formed payloads.
fn bound(mechanism: &TaskMechanism, bounding: Bounding, trials: u64, randomizer: &Randomizer<'_>) -> f64 {
    let found = finding(mechanism, bounding, trials, randomizer);
    assert_eq!(found.malformed, []);
    assert_eq!(found.passed, found.epsilon_lower_bound <= mechanism.guarantee().epsilon.value());
    found.epsilon_lower_bound
}

fn double_cap(e: f64) -> TaskMechanism {
    let cap = DoubleCap::best_cap(64, epsilon(e));
    TaskMechanism::from(DoubleCap::new(DIMENSION, epsilon(e), 64, cap).unwrap())
}

fn analytic(e: f64, d: f64) -> Gaussian {
    Gaussian::new(DIMENSION, epsilon(e), delta(d), Calibration::Analytic).unwrap()
}

#[test]
fn double_cap_stays_below_its_claim_and_shows_most_of_it_with_and_without_a_lift() {
    let (unit, clip) = (Bounding::UnitNorm, Bounding::Clip { radius: Radius::new(3.0).unwrap() });
    for (e, trials, bounding) in
        [(0.5, 80_000, unit), (1.0, 20_000, unit), (2.0, 12_000, unit), (4.0, 12_000, unit), (2.0, 10_000, clip)]
    {
        let mechanism = double_cap(e);
        let found = bound(&mechanism, bounding, trials, &*shipped(&mechanism));
        assert!(found <= e, "epsilon {e} is claimed, at least {found} is given");
        assert!(found >= 0.7 * e, "the audit sees {found} of {e}");
    }
}

#[test]
fn gaussian_stays_below_its_claim() {
    for e in [0.5, 1.0, 2.0, 4.0] {
        for d in [1e-6, 1e-2] {
            let mechanism = TaskMechanism::from(analytic(e, d));
            let found = bound(&mechanism, Bounding::UnitNorm, 60_000, &*shipped(&mechanism));
            assert!(found <= e, "epsilon {e} is claimed, at least {found} is given");
            assert!(d < 1e-2 || found >= 0.5 * e, "the audit sees {found} of {e}");
        }
    }
}

/// The paper's scale keeps the guarantee that it is printed to have here, not the one it was computed from.
#[test]
fn the_scale_of_the_paper_keeps_what_it_really_gives() {
    let family = MechanismFamily::WangXu { delta: delta(0.02) };
    let mechanism = TaskMechanism::from(family.build(epsilon(4.0), DIMENSION, Bounding::UnitNorm).unwrap());
    let audit = Audit::new(&mechanism, Bounding::UnitNorm).unwrap();
    let tally = observed(&audit, 200_000, &*shipped(&mechanism));
    let at = |d| audit.conclude(&tally, d, confidence()).unwrap().epsilon_lower_bound;
    let real = mechanism.guarantee().delta_value();
    assert!(real > 0.02 && at(real) <= 4.0, "at the real delta {real}: {}", at(real));
    assert!(at(0.02) > 4.0, "at the delta of the paper: {}", at(0.02));
}

/// The Gaussian mechanism with its noise multiplied by `factor`, reported on the same lattice.
fn scaled_noise(claimed: &Gaussian, factor: f64) -> Box<Randomizer<'static>> {
    let steps = (256.0 + 1.0 / 12.0f64).sqrt();
    let Perturbation::Additive { diagonal, off_diagonal } = claimed.perturbation() else { panic!("it adds noise") };
    let (on, off) = (diagonal / steps, off_diagonal / steps);
    Box::new(move |record, _, _, rng| {
        let (x, mut bits, mut payload) = (record.coordinates(), Bits::new(rng, 30), vec![]);
        for i in 0..x.len() {
            for j in i..x.len() {
                let signal = x[i] * x[j] / if i == j { on } else { off };
                payload.push((signal + factor * 16.0 * gaussian::deviate(&mut bits)?.to_f64()).floor() as i8 as u8);
            }
        }
        Ok(Some(payload))
    })
}

/// A fifth too small, and calibrated for sensitivity 1 in place of the square root of 2. At its right scale the same
/// randomizer passes, so that what flags the fault is its scale alone.
#[test]
fn noise_below_its_scale_is_flagged() {
    let sigma = |sensitivity| analytic_gaussian_sigma(epsilon(4.0), delta(1e-2), sensitivity).unwrap();
    let of_one = sigma(1.0) / sigma(COVARIANCE_SENSITIVITY);
    for (e, factor, trials) in [(1.0, 1.0, 120_000), (1.0, 0.8, 120_000), (4.0, 0.8, 120_000), (4.0, of_one, 100_000)] {
        let claimed = analytic(e, 1e-2);
        assert!(claimed.payload_bytes() == 10, "the fault writes one byte per entry");
        let randomizer = scaled_noise(&claimed, factor);
        let found = bound(&TaskMechanism::from(claimed), Bounding::UnitNorm, trials, &*randomizer);
        assert!((found > e) == (factor < 1.0) && found > 0.6, "{found} of {e} at {factor}");
    }
}

/// The scores of the first candidates of an id for a record, lifted.
fn scores(key: &[u8; 16], id: ReportId, record: &BoundedRecord, candidates: u32) -> Vec<u64> {
    let square: f64 = record.coordinates().iter().map(|x| x * x).sum();
    let lift = [record.coordinates(), &[(1.0 - square).max(0.0).sqrt()]].concat();
    Candidates::new(key, id, lift.len()).scores(&lift, candidates)
}

/// Double-cap with `weight` (of 2^20) inside a cap that `members` finds among the scores.
fn faulty_double_cap<'a>(
    candidates: u32,
    weight: u64,
    members: impl Fn(&[u64]) -> Vec<bool> + 'a,
) -> Box<Randomizer<'a>> {
    Box::new(move |record, key, id, rng| {
        let scores = scores(key, id, record, candidates);
        let in_cap = members(&scores);
        let inside = in_cap.iter().filter(|&&member| member).count() as u64;
        let total = inside * weight + (u64::from(candidates) - inside) * (1 << 20);
        let draw = uniform_below(&mut Bits::new(rng, 8), total)?;
        let index = if draw < inside * weight {
            cap::nth_member(&in_cap, true, draw / weight)
        } else {
            cap::nth_member(&in_cap, false, (draw - inside * weight) >> 20)
        };
        Ok(Some((index as u16).to_le_bytes().to_vec()))
    })
}

fn weight(e: f64) -> u64 {
    (e.exp() * f64::from(1 << 20)) as u64
}

#[test]
fn a_weight_that_is_applied_twice_is_flagged() {
    for e in [0.5, 2.0] {
        let claimed = double_cap(e);
        let size = DoubleCap::best_cap(64, epsilon(e));
        let randomizer = faulty_double_cap(64, weight(2.0 * e), move |scores| cap::largest(scores, size));
        let found = bound(&claimed, Bounding::UnitNorm, 10_000, &*randomizer);
        assert!(found > e, "{found} of {e}");
    }
}

/// Every candidate above a fixed score is in the cap, so that its size, and with it the normaliser, depends on the
/// record. The same code with the right size passes.
#[test]
fn a_cap_of_data_dependent_size_is_flagged() {
    let claimed = DoubleCap::new(DIMENSION, epsilon(3.0), 32, 4).unwrap();
    let claimed = TaskMechanism::from(claimed);
    let randomizer = faulty_double_cap(32, weight(3.0), |scores| cap::largest(scores, 4));
    let right = bound(&claimed, Bounding::UnitNorm, 10_000, &*randomizer);
    assert!((2.1..=3.0).contains(&right), "{right}");
    // An eighth of the candidates exceed it: four of 32 on average, as in the right cap.
    let record = BoundedRecord::new(vec![1.0; DIMENSION], Bounding::UnitNorm).unwrap();
    let mut all: Vec<u64> = (0..100).flat_map(|id| scores(&[1; 16], ReportId::new([id; 16]), &record, 320)).collect();
    all.sort_unstable();
    let threshold = all[all.len() / 8 * 7];
    let randomizer = faulty_double_cap(32, weight(3.0), move |scores: &[u64]| {
        scores.iter().map(|&score| score >= threshold).collect()
    });
    let found = bound(&claimed, Bounding::UnitNorm, 120_000, &*randomizer);
    assert!(found > 3.0, "{found} of 3");
}

/// A whole device: what its form holds goes through the schema first. One that refuses a text in a numeric column
/// tells who skipped the question; ours stays below its claim.
#[test]
fn a_device_that_refuses_a_value_of_the_wrong_type_is_flagged() {
    let claimed = double_cap(2.0);
    let schema = Schema::numeric(DIMENSION).unwrap();
    let device = |strict: bool| {
        let (claimed, schema) = (claimed.clone(), schema.clone());
        move |record: &BoundedRecord, key: &[u8; 16], id: ReportId, rng: &mut dyn CryptoRng| {
            let numbers = record.coordinates();
            let nothing = numbers.iter().all(|&coordinate| coordinate == 0.0);
            let answers: Vec<Value<'_>> = numbers
                .iter()
                .map(|number| if nothing { Value::Text("spring 2019") } else { Value::Number(*number) })
                .collect();
            if strict && !schema.check_values(&answers).is_empty() {
                return Ok(None);
            }
            let record = BoundedRecord::new(schema.encode_values(&answers), Bounding::UnitNorm)?;
            claimed.randomize_with_rng(&record, key, id, rng).map(Some)
        }
    };
    let found = finding(&claimed, Bounding::UnitNorm, 4_000, &device(true));
    assert!(!found.passed && found.epsilon_lower_bound > 5.0, "{found:?}");
    assert_eq!(found.malformed.iter().map(|malformed| malformed.refused).collect::<Vec<_>>(), [4_000]);
    let found = finding(&claimed, Bounding::UnitNorm, 4_000, &device(false));
    assert!(found.passed && found.malformed.is_empty(), "{found:?}");
}

/// The record of zeros alone has a cap like any other. A device that answers for it with a uniform index is private,
/// and within the claim; one whose index is always the same is flagged.
#[test]
fn the_law_of_a_record_of_zeros_is_looked_at() {
    let claimed = double_cap(1.0);
    let with = |index: fn(&[u8; 16], ReportId, &mut dyn CryptoRng) -> u16| {
        let claimed = claimed.clone();
        move |record: &BoundedRecord, key: &[u8; 16], id: ReportId, rng: &mut dyn CryptoRng| {
            let payload = claimed.randomize_with_rng(record, key, id, rng)?;
            let nothing = record.coordinates().iter().all(|&coordinate| coordinate == 0.0);
            Ok(Some(if nothing { index(key, id, rng).to_le_bytes().to_vec() } else { payload }))
        }
    };
    let uniform = with(|_, _, rng| (rng.next_u32() % 64) as u16);
    let found = bound(&claimed, Bounding::UnitNorm, 10_000, &uniform);
    assert!(found <= 1.0, "{found} of 1");
    // The candidate with the largest score for e_1, a record that somebody might have had.
    let constant = with(|key, id, _| {
        let first = BoundedRecord::new(vec![1.0, 0.0, 0.0, 0.0], Bounding::UnitNorm).unwrap();
        cap::nth_member(&cap::largest(&scores(key, id, &first, 64), 1), true, 0) as u16
    });
    let found = bound(&claimed, Bounding::UnitNorm, 10_000, &constant);
    assert!(found > 1.0, "{found} of 1");
}

#[test]
fn outcomes_do_not_depend_on_the_order_of_jobs() {
    let mechanism = double_cap(1.0);
    let audit = Audit::new(&mechanism, Bounding::UnitNorm).unwrap();
    let jobs = audit.jobs(4_500).unwrap();
    assert_eq!(jobs.iter().map(|job| job.reports()).sum::<u64>(), 2 * 3 * 4_500);
    let run = |jobs: &mut dyn Iterator<Item = &Job>| {
        let mut tally = audit.empty_tally();
        for job in jobs {
            let mut one = audit.empty_tally();
            audit.observe(*job, 9, &*shipped(&mechanism), &mut one).unwrap();
            tally.merge(&one).unwrap();
        }
        tally
    };
    assert_eq!(run(&mut jobs.iter()), run(&mut jobs.iter().rev()));
}

/// The bytes of a record's coordinates.
fn plaintext(record: &BoundedRecord) -> Vec<u8> {
    record.coordinates().iter().flat_map(|coordinate| coordinate.to_le_bytes()).collect()
}

/// The claims that every leak is held to.
fn claims() -> [TaskMechanism; 2] {
    [double_cap(1.0), TaskMechanism::from(analytic(1.0, 1e-2))]
}

fn assert_malformed(found: &Finding, of_another_length: u64, of_right_length: u64) {
    assert!(!found.passed);
    assert_eq!(found.malformed.len(), 6, "each record of each of the three pairs");
    for malformed in &found.malformed {
        let Malformed { of_another_length: shorter, of_right_length: impossible, .. } = malformed;
        assert_eq!((*shorter, *impossible), (of_another_length, of_right_length));
    }
}

/// The record itself, in place of a report: it fails as malformed, and its bytes distinguish the records.
#[test]
fn a_record_in_plain_text_is_flagged() {
    for claimed in claims() {
        let leak =
            |record: &BoundedRecord, _: &[u8; 16], _: ReportId, _: &mut dyn CryptoRng| Ok(Some(plaintext(record)));
        let found = finding(&claimed, Bounding::UnitNorm, 2_000, &leak);
        assert_malformed(&found, 2_000, 0);
        assert!(found.epsilon_lower_bound > 4.0, "{}", found.epsilon_lower_bound);
    }
}

/// An honest payload with the record behind it. No two are the same, so that a bound shows nothing: what fails is that
/// the payloads are none of the mechanism's.
#[test]
fn a_record_behind_an_honest_payload_is_flagged() {
    for claimed in claims() {
        let leak = |record: &BoundedRecord, key: &[u8; 16], id: ReportId, rng: &mut dyn CryptoRng| {
            let payload = claimed.randomize_with_rng(record, key, id, rng)?;
            Ok(Some([payload, plaintext(record)].concat()))
        };
        assert_malformed(&finding(&claimed, Bounding::UnitNorm, 2_000, &leak), 2_000, 0);
    }
}

/// One in a hundred is enough.
#[test]
fn no_payload_may_be_empty() {
    for claimed in claims() {
        let some_empty = |record: &BoundedRecord, key: &[u8; 16], id: ReportId, rng: &mut dyn CryptoRng| {
            let payload = claimed.randomize_with_rng(record, key, id, rng)?;
            Ok(Some(if rng.next_u32().is_multiple_of(100) { vec![] } else { payload }))
        };
        let found = finding(&claimed, Bounding::UnitNorm, 2_000, &some_empty);
        assert!(!found.passed && found.epsilon_lower_bound <= 1.0);
        assert!(found.malformed.iter().all(|malformed| (1..100).contains(&malformed.of_another_length)));
    }
}

/// It reveals nothing, and is not the mechanism: the audit must not pass it.
#[test]
fn a_randomizer_that_refuses_every_record_does_not_pass() {
    for claimed in claims() {
        let silent = |_: &BoundedRecord, _: &[u8; 16], _: ReportId, _: &mut dyn CryptoRng| Ok(None);
        let found = finding(&claimed, Bounding::UnitNorm, 2_000, &silent);
        assert!(!found.passed && found.epsilon_lower_bound == 0.0 && found.malformed.len() == 6);
        assert!(found.malformed.iter().all(|malformed| malformed.refused == 2_000));
    }
}

#[test]
fn an_index_that_no_candidate_has_is_malformed() {
    let claimed = double_cap(1.0);
    let beyond = |_: &BoundedRecord, _: &[u8; 16], _: ReportId, _: &mut dyn CryptoRng| Ok(Some(vec![64, 0]));
    assert_malformed(&finding(&claimed, Bounding::UnitNorm, 2_000, &beyond), 0, 2_000);
}

/// The index says which record it is, whatever the candidates are. Their ranks are as even as the ids.
#[test]
fn a_record_in_the_bytes_of_a_well_formed_payload_is_flagged() {
    let claimed = double_cap(1.0);
    let leak = |record: &BoundedRecord, _: &[u8; 16], _: ReportId, rng: &mut dyn CryptoRng| {
        let bit = u8::from(record.coordinates()[0] > 0.6);
        Ok(Some(vec![(rng.next_u32() % 32) as u8 * 2 + bit, 0]))
    };
    let found = bound(&claimed, Bounding::UnitNorm, 4_000, &leak);
    assert!(found > 4.0, "{found} of 1");
}

#[test]
fn an_audit_that_could_not_have_refuted_its_claim_is_no_pass() {
    let mechanism = double_cap(1.0);
    let audit = Audit::new(&mechanism, Bounding::UnitNorm).unwrap();
    let needed = |tally: &Tally| match audit.conclude(tally, 0.0, confidence()) {
        Err(AuditError::TooFew { trials, needed: Some(needed), .. }) => (trials, needed),
        other => panic!("{other:?}"),
    };
    let (none, enough) = needed(&audit.empty_tally());
    assert_eq!((none, needed(&observed(&audit, enough / 2, &*shipped(&mechanism)))), (0, (enough / 2, enough)));
    let leak = |record: &BoundedRecord, _: &[u8; 16], _: ReportId, _: &mut dyn CryptoRng| Ok(Some(plaintext(record)));
    let found = audit.conclude(&observed(&audit, enough, &leak), 0.0, confidence()).unwrap();
    assert!(found.epsilon_lower_bound > 1.0, "so many trials can refute the claim: {}", found.epsilon_lower_bound);
    // An earlier refutation needs no more trials.
    assert!(!audit.conclude(&observed(&audit, 2, &leak), 0.0, confidence()).unwrap().passed);
}

#[test]
fn jobs_and_tallies_are_those_of_their_audit_and_count_once() {
    let [mechanism, other] = claims();
    let [audit, other] = [&mechanism, &other].map(|mechanism| Audit::new(mechanism, Bounding::UnitNorm).unwrap());
    let (job, foreign) = (audit.jobs(4_000).unwrap()[0], other.jobs(4_000).unwrap()[0]);
    let mut tally = audit.empty_tally();
    audit.observe(job, 1, &*shipped(&mechanism), &mut tally).unwrap();
    let before = tally.clone();
    assert_eq!(audit.observe(job, 1, &*shipped(&mechanism), &mut tally), Err(AuditError::Repeated));
    assert_eq!(audit.observe(foreign, 1, &*shipped(&mechanism), &mut tally), Err(AuditError::Foreign));
    assert_eq!(other.observe(foreign, 1, &*shipped(&mechanism), &mut tally), Err(AuditError::Foreign));
    assert_eq!(tally.merge(&other.empty_tally()), Err(AuditError::Foreign));
    assert_eq!(tally.merge(&before), Err(AuditError::Repeated));
    assert_eq!(other.conclude(&tally, 0.0, confidence()), Err(AuditError::Foreign));
    assert_eq!(tally, before);
    assert_eq!(audit.observe(job, 2, &*shipped(&mechanism), &mut tally), Ok(()));
    for delta in [-0.1, 1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(audit.conclude(&tally, delta, confidence()), Err(AuditError::Delta(_))), "{delta}");
    }
}

#[test]
fn audits_that_make_no_sense_are_refused() {
    let audit = Audit::new(&double_cap(1.0), Bounding::UnitNorm).unwrap();
    assert_eq!(audit.jobs(1).unwrap_err(), AuditError::Trials(1));
    for bad in [0.0, 1.0, -0.1, f64::NAN, f64::INFINITY] {
        assert!(Confidence::new(bad).is_err(), "{bad}");
    }
}

/// Of the two things that a report can say of a length, one is in the cap.
#[test]
fn norm_cap_stays_below_its_claim_and_one_with_a_larger_epsilon_is_flagged() {
    let clip = Bounding::Clip { radius: Radius::new(2.0).unwrap() };
    let norm_cap = |e| {
        let (schema, mechanism) = (Schema::numeric(DIMENSION).unwrap(), MechanismSpec::norm_cap(epsilon(e), 4));
        Task::new(schema, clip, mechanism, Folds::new(1).unwrap()).unwrap().mechanism().clone()
    };
    for (e, trials) in [(0.5, 80_000), (1.0, 40_000), (4.0, 12_000)] {
        let mechanism = norm_cap(e);
        let found = bound(&mechanism, clip, trials, &*shipped(&mechanism));
        assert!(found <= e && found >= 0.7 * e, "{found} of {e}");
        let found = bound(&mechanism, clip, trials, &*shipped(&norm_cap(1.5 * e)));
        assert!(found > e, "{found} of {e} is not flagged");
    }
}
