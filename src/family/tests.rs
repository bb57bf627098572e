use std::ops::ControlFlow;

use chacha20::ChaCha12Rng;
use ldp_pca_simulation::SpikedModel;
use nalgebra::DMatrix;
use rand::SeedableRng;

use super::*;
use crate::centring::Centring;
use crate::covariance::{Covariance, CovarianceError};
use crate::mechanism::{HostilePull, MechanismSpec, Moments};
use crate::prediction::predict_from_estimate;
use crate::privacy::tests::{delta, epsilon};
use crate::record::BoundedRecord;
use crate::recovery::{Answer, HeldOutUse, Penalty, PenaltyChoice, Question, answer};
use crate::schema::Schema;
use crate::task::Folds;
use crate::tests::{self, clip, moment, rank};

const DIMENSION: usize = 6;

fn double_cap(value: f64) -> MechanismSpec {
    tests::double_cap(value, 32, 4)
}

fn gaussian(value: f64) -> MechanismSpec {
    MechanismSpec::gaussian(epsilon(value), delta(1e-5))
}

fn task(spec: MechanismSpec, folds: u32) -> Task {
    tests::task(DIMENSION, Bounding::UnitNorm, spec, folds)
}

fn centred(task: &Task) -> Task {
    task.with_centring(Centring::default()).unwrap()
}

/// A finite population, so that its second moments are known.
fn population(signal: f64) -> Vec<BoundedRecord> {
    let mut rng = ChaCha12Rng::seed_from_u64(1);
    let model = SpikedModel::draw(DIMENSION, 1usize.try_into().unwrap(), signal, None, &mut rng).unwrap();
    (0..500).map(|_| BoundedRecord::new(model.record(&mut rng), Bounding::UnitNorm).unwrap()).collect()
}

fn collected(tasks: &[Task], counts: &[usize], records: &[BoundedRecord], seed: u64) -> Vec<Aggregate> {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    tasks.iter().zip(counts).map(|(task, &count)| tests::collected(task, records, count, &mut rng)).collect()
}

fn family_members<'a>(aggregates: &'a [Aggregate], tasks: &'a [Task]) -> Vec<Collection<'a>> {
    aggregates.iter().zip(tasks).collect()
}

/// 200 collections from epsilon 1 and 4. The mean error of each of the 21 entries is within five standard errors of 0.
/// 3,000 squared errors beside the diagonal have a mean that is known to 2.6 %: it is within five times that of what
/// the law says, which may be 4 % too much for double-cap, and below that of either task alone by what its reports are
/// worth.
#[test]
fn the_estimate_is_unbiased_with_the_noise_of_its_law_which_is_less_than_that_of_each_task() {
    let records = population(2.0);
    let truth = moment(&records);
    for (spec, counts) in [(double_cap as fn(f64) -> MechanismSpec, [1500, 150]), (gaussian, [1500, 150])] {
        let tasks = [1.0, 4.0].map(|value| task(spec(value), 1));
        let (mut sums, mut squares, mut stated) = (DMatrix::zeros(DIMENSION, DIMENSION), [0.0; 3], [0.0; 2]);
        let mut weights = vec![];
        for seed in 0..200 {
            let aggregates = collected(&tasks, &counts, &records, seed);
            let members = family_members(&aggregates, &tasks);
            let reports = Reports::family(&members).unwrap();
            let family = Covariance::of_folds(reports, |_| true).unwrap();
            let alone = |at: usize| Covariance::estimate(&aggregates[at], &tasks[at]).unwrap();
            let beside = |matrix: &DMatrix<f64>| {
                let errors = matrix - &truth;
                (errors.norm_squared() - errors.diagonal().norm_squared()) / 30.0 / 200.0
            };
            for (square, estimate) in squares.iter_mut().zip([&family, &alone(0), &alone(1)]) {
                *square += beside(estimate.matrix());
            }
            let variances = family.noise_law().entry_variances(&truth);
            stated[0] += (variances.sum() - variances.trace()) / 30.0 / 200.0;
            stated[1] += family.noise_deviation().powi(2) / 200.0;
            sums += family.matrix() - &truth;
            assert_eq!(family.records(), 1650);
            weights = reports.parts(&family.each).unwrap();
        }
        let error =
            |row: usize, column: usize| 5.0 * (if row == column { 3.0 } else { 1.0 } * stated[0] / 200.0).sqrt() + 1e-3;
        for row in 0..DIMENSION {
            for column in 0..=row {
                let mean = sums[(row, column)] / 200.0;
                assert!(mean.abs() < error(row, column), "{row} {column}: {mean}, {}", error(row, column));
            }
        }
        let ratio = squares[0] / stated[0];
        assert!((0.83..1.13).contains(&ratio), "{squares:?} {stated:?}");
        // The sampling of the records, and what double-cap adds along them, come on top of the noise per entry.
        assert!(stated[1] < stated[0] && stated[0] < 2.8 * stated[1], "{stated:?}");
        // The tasks err independently: the mean product of their errors is 0 to 1.5 %.
        let of_both: f64 = squares[1..].iter().zip(&weights).map(|(alone, part)| part.weight.powi(2) * alone).sum();
        assert!((0.92..1.08).contains(&(squares[0] / of_both)), "{squares:?} {weights:?}");
        assert!(squares[0] < 0.85 * squares[1].min(squares[2]), "{squares:?}");
    }
}

/// 200 collections with centring: 1,200 squared errors of the mean give its deviation to 2 %; five of these, and 2 %
/// for the sampling of the records, which the printed one does not have.
#[test]
fn the_mean_has_the_printed_noise() {
    let records = population(2.0);
    let truth = records.iter().fold(vec![0.0; DIMENSION], |sum, record| {
        sum.iter().zip(record.coordinates()).map(|(sum, value)| sum + value / records.len() as f64).collect()
    });
    for spec in [double_cap as fn(f64) -> MechanismSpec, gaussian] {
        let tasks = [1.0, 4.0].map(|value| centred(&task(spec(value), 1)));
        let (mut squares, mut stated) = (0.0, 0.0);
        for seed in 0..200 {
            let aggregates = collected(&tasks, &[1500, 150], &records, seed);
            let members = family_members(&aggregates, &tasks);
            let family = Covariance::of_folds(Reports::family(&members).unwrap(), |_| true).unwrap();
            let mean = family.mean().unwrap();
            squares += mean.values().iter().zip(&truth).map(|(value, truth)| (value - truth).powi(2)).sum::<f64>();
            stated += DIMENSION as f64 * mean.noise_deviation().powi(2);
        }
        let ratio = (squares / stated).sqrt();
        assert!((0.9..1.15).contains(&ratio), "{ratio}");
    }
}

fn asked(reports: Reports<'_>, covariance: &Covariance, question: &Question) -> Answer {
    answer(question, reports, covariance, &mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn a_family_of_one_is_the_task_to_the_last_bit_and_a_task_without_reports_changes_nothing() {
    let records = population(4.0);
    for with_centring in [false, true] {
        let tasks = [1.0, 4.0].map(|value| task(double_cap(value), 3));
        let tasks = if with_centring { tasks.each_ref().map(centred) } else { tasks };
        let aggregates = collected(&tasks, &[0, 900], &records, 1);
        let (aggregate, task) = (&aggregates[1], &tasks[1]);
        let alone = Covariance::estimate(aggregate, task).unwrap();
        for members in [vec![(aggregate, task)], family_members(&aggregates, &tasks)] {
            let reports = Reports::family(&members).unwrap();
            let covariance = Covariance::of_folds(reports, |_| true).unwrap();
            assert_eq!(covariance, alone);
            let folds: [fn(usize) -> bool; 2] = [|fold| fold == 1, |fold| fold != 1];
            for chosen in folds {
                let of_one = Covariance::of_folds(Reports::one(aggregate, task), chosen);
                assert_eq!(Covariance::of_folds(reports, chosen), of_one);
            }
            let sparse = Some(PenaltyChoice::Value(Penalty::new(0.05).unwrap()));
            let choose = Question { held_out: HeldOutUse::Choose, ..Question::new(rank(1)) };
            let cv = Question { penalty: Some(PenaltyChoice::cross_validated()), ..choose.clone() };
            let all =
                Question { penalty: sparse, predict: true, bootstrap: Some(20), hostile: Some(5), ..choose.clone() };
            for question in [choose, cv, all] {
                let mut found = asked(reports, &covariance, &question);
                let expected = asked(Reports::one(aggregate, task), &alone, &question);
                found.asked.family = None;
                if members.len() == 1 {
                    assert_eq!(found, expected);
                } else {
                    // The weights of folds and the bound on hostile reports have other roundings.
                    let captured =
                        |answer: &Answer| answer.trust.held_out.as_ref().map(|found| found.answers[0].captured.value);
                    let difference =
                        captured(&found).zip(captured(&expected)).map(|(found, expected)| found - expected);
                    assert!(difference.is_none_or(|difference| difference.abs() < 1e-12), "{difference:?}");
                    let without = |mut answer: Answer| {
                        (answer.trust.hostile, answer.trust.held_out) = (None, None);
                        answer
                    };
                    assert_eq!(without(found), without(expected));
                }
            }
        }
        let both = family_members(&aggregates, &tasks);
        let parts = Reports::family(&both).unwrap().parts(&alone.each).unwrap();
        assert_eq!(parts.iter().map(|part| (part.records, part.weight)).collect::<Vec<_>>(), [(0, 0.0), (900, 1.0)]);
        let empty = tasks.each_ref().map(Aggregate::empty);
        let none = family_members(&empty, &tasks);
        assert_eq!(Covariance::of_folds(Reports::family(&none).unwrap(), |_| true), Err(CovarianceError::Empty));
    }
}

#[test]
fn an_answer_about_a_family_names_its_tasks_and_uses_all_reports() {
    let (records, tasks) = (population(4.0), [4.0, 1.0, 2.0].map(|value| task(double_cap(value), 3)));
    let aggregates = collected(&tasks, &[500, 1500, 700], &records, 2);
    let members = family_members(&aggregates, &tasks);
    let reports = Reports::family(&members).unwrap();
    let covariance = Covariance::of_folds(reports, |_| true).unwrap();
    let question = Question {
        held_out: HeldOutUse::Measure,
        predict: true,
        bootstrap: Some(20),
        hostile: Some(9),
        ..Question::new(rank(1))
    };
    let found = asked(reports, &covariance, &question);
    let parts = found.asked.family.as_ref().unwrap();
    assert_eq!(
        (found.asked.records, parts.iter().map(|part| part.epsilon).collect::<Vec<_>>()),
        (2700, vec![4.0, 1.0, 2.0])
    );
    assert!((parts.iter().map(|part| part.weight).sum::<f64>() - 1.0).abs() < 1e-12);
    let variance = |part: &FamilyMember, task: &Task| {
        part.weight.powi(2) * task.moments().unwrap().entry_deviation().powi(2) / part.records as f64
    };
    let variance: f64 = parts.iter().zip(&tasks).map(|(part, task)| variance(part, task)).sum();
    assert!((found.trust.noise_deviation / variance.sqrt() - 1.0).abs() < 1e-12);
    // No weights have less.
    let precision: f64 = tasks
        .iter()
        .zip([500.0, 1500.0, 700.0])
        .map(|(task, records)| records / task.moments().unwrap().entry_deviation().powi(2))
        .sum();
    assert!((variance * precision - 1.0).abs() < 1e-12);
    assert_eq!(found.trust.predicted, Some(predict_from_estimate(&covariance, rank(1)).unwrap()));
    assert!(found.trust.confidence.is_some() && found.trust.total_variance_error.unwrap() > 0.0);
    assert_eq!(found.trust.hostile, Some(HostilePull::new(9, 2700, |hostile| covariance.pull(reports, hostile))));
    // The folds together are the whole.
    let shares = reports.shares_of_folds(&covariance.each);
    let folds: DMatrix<f64> = shares
        .iter()
        .enumerate()
        .map(|(fold, share)| Covariance::of_folds(reports, |index| index == fold).unwrap().matrix() * *share)
        .sum();
    assert!((folds - covariance.matrix()).norm() < 1e-12 * covariance.matrix().norm());
    assert_eq!((0..3).map(|fold| reports.records_of_fold(fold)).sum::<u64>(), 2700);
}

/// Hostile reports in the task where one moves most, up to all reports.
#[test]
fn the_bound_on_hostile_reports_takes_the_task_in_which_they_move_most() {
    let (records, tasks) = (population(4.0), [1.0, 4.0].map(|value| task(double_cap(value), 1)));
    let aggregates = collected(&tasks, &[60, 20], &records, 3);
    let members = family_members(&aggregates, &tasks);
    let reports = Reports::family(&members).unwrap();
    let honest = Covariance::of_folds(reports, |_| true).unwrap();
    let parts = reports.parts(&honest.each).unwrap();
    let one: Vec<f64> = tasks
        .iter()
        .zip(&parts)
        .map(|(task, part)| part.weight * task.moments().unwrap().pull().unchecked / part.records as f64)
        .collect();
    let (most, first) = if one[0] > one[1] { (one[0], 60u64) } else { (one[1], 20) };
    let least = one[0].min(one[1]);
    for hostile in [0, 1, 7, 20, 25, 60, 61, 80, 90] {
        let expected = hostile.min(first) as f64 * most + hostile.saturating_sub(first).min(80 - first) as f64 * least;
        let found = honest.pull(reports, hostile);
        assert!(found.unchecked >= expected, "{hostile}: {found:?}");
        // Rounded up, also from 0.
        assert!(found.unchecked <= expected * (1.0 + 1e-9) + f64::MIN_POSITIVE, "{hostile}: {found:?}");
        assert!(found.checked <= found.unchecked);
    }
}

/// With one mechanism every report counts alike, whatever its period.
#[test]
fn periods_are_summed_by_their_numbers_of_reports() {
    let records = population(4.0);
    let weeks = ["2026-W47", "2026-W48"].map(|name| task(double_cap(4.0), 2).with_period(name).unwrap());
    let aggregates = collected(&weeks, &[300, 900], &records, 4);
    let members = family_members(&aggregates, &weeks);
    let estimate = |reports: Reports<'_>| Covariance::of_folds(reports, |_| true).unwrap();
    let both = estimate(Reports::family(&members).unwrap());
    let [first, second] = [0, 1].map(|week| estimate(Reports::one(&aggregates[week], &weeks[week])));
    let mean = first.matrix() * 0.25 + second.matrix() * 0.75;
    assert!((both.matrix() - &mean).norm() < 1e-12 * mean.norm());
    let parts = Reports::family(&members).unwrap().parts(&both.each).unwrap();
    let named: Vec<_> = parts.iter().map(|part| (part.period.as_deref(), part.records)).collect();
    assert_eq!(named, [(Some("2026-W47"), 300), (Some("2026-W48"), 900)]);
}

#[test]
fn tasks_that_are_no_family_are_refused_by_their_first_difference() {
    let first = task(double_cap(2.0), 2);
    let spec = |value: f64| double_cap(value);
    let schema = |text: &str| Schema::from_json(text).unwrap();
    let named = |names: &[&str]| {
        let columns: Vec<String> = names
            .iter()
            .map(|name| format!(r#"{{"name": "{name}", "type": "numeric", "offset": 0, "scale": 1}}"#))
            .collect();
        schema(&format!(r#"{{"columns": [{}]}}"#, columns.join(",")))
    };
    let of =
        |schema: Schema, bounding, spec, folds| Task::new(schema, bounding, spec, Folds::new(folds).unwrap()).unwrap();
    let numeric = Schema::numeric(DIMENSION).unwrap();
    let clip = clip(2.0);
    for (other, expected) in [
        (first.clone(), FamilyError::Same),
        (
            of(named(&["c1", "c2", "x", "c4", "c5", "c6"]), Bounding::UnitNorm, spec(1.0), 2),
            FamilyError::Column { number: 3, first: "c3".into() },
        ),
        (
            of(named(&["c1", "c2"]), Bounding::UnitNorm, spec(1.0), 2),
            FamilyError::Columns { first: DIMENSION, other: 2 },
        ),
        (of(numeric.clone(), clip, spec(1.0), 2), FamilyError::Bounding { first: Bounding::UnitNorm, other: clip }),
        (centred(&first), FamilyError::Centring),
        (task(spec(1.0), 3), FamilyError::Folds { first: 2, other: 3 }),
        (task(gaussian(1.0), 2), FamilyError::Mechanism { first: "double-cap", other: "gaussian" }),
    ] {
        assert_eq!(check_family(&first, &other), Err(expected.clone()));
        let aggregates = [Aggregate::empty(&first), Aggregate::empty(&other)];
        let tasks = [first.clone(), other];
        assert_eq!(Reports::family(&family_members(&aggregates, &tasks)).err(), Some(expected));
    }
    // Other candidates follow from epsilon.
    let other = tests::double_cap(4.0, 64, 2);
    assert_eq!(check_family(&first, &of(numeric, Bounding::UnitNorm, other, 2)), Ok(()));
    assert_eq!(Reports::family(&[]).err(), Some(FamilyError::Empty));
    let (other, empty) = (task(spec(4.0), 2), Aggregate::empty(&first));
    let foreign = AggregateError::OtherTask { expected: other.digest(), found: first.digest() };
    assert_eq!(Reports::family(&[(&empty, &first), (&empty, &other)]).err(), Some(foreign.into()));
}
