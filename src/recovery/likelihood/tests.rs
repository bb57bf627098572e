use chacha20::ChaCha12Rng;
use nalgebra::DMatrix;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

use super::scores::Moments;
use super::*;
use crate::centring::Centring;
use crate::mechanism::MechanismSpec;
use crate::privacy::tests::{delta, epsilon};
use crate::record::{Bounding, Radius};
use crate::recovery::principal_components;
use crate::schema::Schema;
use crate::task::Folds;

fn task(dimension: usize, e: f64, folds: u32) -> Task {
    let mechanism = MechanismSpec::double_cap(epsilon(e));
    Task::new(Schema::numeric(dimension).unwrap(), Bounding::UnitNorm, mechanism, Folds::new(folds).unwrap()).unwrap()
}

fn collected(
    task: &Task,
    count: usize,
    seed: u64,
    record: impl Fn(&mut ChaCha12Rng) -> Vec<f64>,
) -> (StoredReports, Aggregate) {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let report = |_| {
        let record = task.bound(record(&mut rng)).unwrap();
        task.randomize_with_rng(&record, &mut rng).unwrap()
    };
    of_reports(task, &(0..count).map(report).collect::<Vec<_>>())
}

fn of_reports(task: &Task, reports: &[Report]) -> (StoredReports, Aggregate) {
    let (mut stored, mut aggregate) = (StoredReports::new(task).unwrap(), Aggregate::empty(task));
    aggregate.accumulate(task, reports).unwrap();
    stored.extend(reports);
    (stored, aggregate)
}

fn elliptical(dimension: usize, variances: &[f64]) -> impl Fn(&mut ChaCha12Rng) -> Vec<f64> {
    move |rng| {
        let deviation = |feature: usize| variances.get(feature).map_or(1.0, |variance: &f64| variance.sqrt());
        (0..dimension).map(|feature| deviation(feature) * rng.sample::<f64, _>(StandardNormal)).collect()
    }
}

/// Two lines at 10 and 40 degrees on both sides of the first axis, which is the component: `E[b | a]` is not 0.
fn on_lines(dimension: usize) -> impl Fn(&mut ChaCha12Rng) -> Vec<f64> {
    let [near, far] = [10.0f64, -40.0].map(f64::to_radians);
    let share = (2.0 * far).sin() / ((2.0 * far).sin() - (2.0 * near).sin());
    move |rng| {
        let angle = if rng.random::<f64>() < share { near } else { far };
        let spread = 0.3 / (dimension as f64).sqrt();
        let mut record: Vec<f64> = (0..dimension).map(|_| spread * rng.sample::<f64, _>(StandardNormal)).collect();
        (record[0], record[1]) = (angle.cos(), angle.sin());
        record
    }
}

fn found(stored: &StoredReports, aggregate: &Aggregate, rank: usize, threads: usize) -> LikelihoodAnswer {
    let (rank, threads) = (Rank::new(rank).unwrap(), NonZeroUsize::new(threads).unwrap());
    stored.likelihood(aggregate, rank, threads, &mut |_| ControlFlow::Continue(())).unwrap().unwrap()
}

/// The errors of the linear answer and of the likelihood, where the first axes are the components.
fn errors(task: &Task, aggregate: &Aggregate, answer: &LikelihoodAnswer) -> [f64; 2] {
    let rank = answer.components.len();
    let linear =
        principal_components(Covariance::estimate(aggregate, task).unwrap().matrix(), Rank::new(rank).unwrap());
    let linear = linear.unwrap().vectors.rows(0, rank).norm_squared();
    let likelihood: f64 = answer.components.iter().flat_map(|component| &component[..rank]).map(|x| x * x).sum();
    [rank as f64 - linear, rank as f64 - likelihood]
}

/// Six collections of 20,000 reports at epsilon 2 and 40 features: the errors add up to at least 1.05 times as much
/// without the pass (with it, other seeds show 1.07 to 1.2), and it is offered in most.
#[test]
fn an_elliptical_population_is_found_with_less_error() {
    let task = task(40, 2.0, 10);
    let (mut sums, mut offered) = ([0.0; 2], 0);
    for seed in 0..6 {
        let (stored, aggregate) = collected(&task, 20_000, seed, elliptical(40, &[60.0, 17.0, 9.0]));
        let answer = found(&stored, &aggregate, 3, 2);
        assert_eq!((answer.refined, answer.folds), (3, 10));
        assert_eq!(answer.offered, answer.difference.unwrap().value >= 0.0);
        let errors = errors(&task, &aggregate, &answer);
        sums.iter_mut().zip(errors).for_each(|(sum, error)| *sum += error);
        offered += u32::from(answer.offered);
    }
    assert!(sums[0] > 1.05 * sums[1], "{sums:?}");
    assert!(offered >= 4, "{offered}");
}

/// Where `E[b | a]` is not 0 the pass is biased, and reports held out show it: in a collection of 40,000 at epsilon 4
/// the loss is twice its standard error.
#[test]
fn a_population_that_breaks_the_assumption_is_not_offered() {
    let task = task(12, 4.0, 5);
    let (stored, aggregate) = collected(&task, 40_000, 3, on_lines(12));
    let answer = found(&stored, &aggregate, 1, 2);
    let [linear, likelihood] = errors(&task, &aggregate, &answer);
    assert!(likelihood > 1.5 * linear, "{linear} {likelihood}");
    assert_eq!((answer.offered, answer.reason), (false, Some(NotOffered::CapturesLess)));
    let difference = answer.difference.unwrap();
    assert!(difference.value < -difference.standard_error, "{difference:?}");
}

#[test]
fn the_answer_depends_neither_on_threads_nor_on_where_folds_come_from() {
    let population = elliptical(12, &[12.0, 6.0]);
    let (stored, aggregate) = collected(&task(12, 4.0, 10), 3_000, 1, &population);
    let one = found(&stored, &aggregate, 2, 1);
    assert_eq!(one, found(&stored, &aggregate, 2, 3));
    let (axes, rank) = (DMatrix::from_fn(12, 2, |row, column| one.components[column][row]), Rank::new(2).unwrap());
    assert!((axes.tr_mul(&axes) - DMatrix::identity(2, 2)).amax() < 1e-9);
    // A task without folds has ten of its own here.
    let (stored, aggregate) = collected(&task(12, 4.0, 1), 3_000, 1, &population);
    let answer = found(&stored, &aggregate, 2, 1);
    assert_eq!(answer.folds, 10);
    assert!(answer.difference.is_some());
    // Time that is up ends it, wherever that is.
    for last in 0..16 {
        let mut steps = 0;
        let stopped = stored.likelihood(&aggregate, rank, NonZeroUsize::MIN, &mut |state| {
            assert_eq!(state.total, 9_000);
            steps += 1;
            if steps > last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(stopped, Ok(None));
    }
}

/// From a component that is off by a known angle, the sum of each score over its derivative finds the way back, and
/// what it adds in directions where there is nothing to find is as large as its products say: 4.9 standard errors for
/// the angle, and for the 36 directions an interval that their chi-squared law leaves once in 1,000.
#[test]
fn each_score_finds_a_known_turn_with_the_error_it_states() {
    let task = task(40, 2.0, 10);
    let (stored, aggregate) = collected(&task, 40_000, 7, elliptical(40, &[60.0, 17.0, 9.0]));
    let law = double_cap::Likelihood::new(mechanism_of(&task).unwrap());
    let covariance = Covariance::estimate(&aggregate, &task).unwrap();
    let mut fit = Fit::new(&covariance, &task, Rank::new(1).unwrap(), Some(1), &law).unwrap();
    let (sine, cosine) = 0.15f64.sin_cos();
    fit.directions = DMatrix::identity(40, 3);
    (fit.directions[(0, 0)], fit.directions[(39, 0)]) = (cosine, sine);
    let model = Model::new(&[fit], 40);
    let mut scores = Scores::none(&model);
    let key = task.digest().key();
    let block_of = |fold: usize, reports: &[(ReportId, u16)]| {
        reports.iter().map(|&(id, index)| (fold, law.candidate(&key, id, index))).collect::<Vec<_>>()
    };
    for block in stored.reports.chunks(BLOCK) {
        scores.add_block(&model, block_of(0, block).into_iter());
    }
    // The reports that are held out of this fit have no part in it.
    let others = scores.sums.clone();
    scores.add_block(&model, block_of(1, &stored.reports[..BLOCK]).into_iter());
    assert_eq!(scores.sums, others);
    let Moments { slopes, products: [linear, _, likelihood] } = scores.moments[0];
    for (score, square) in [linear, likelihood].into_iter().enumerate() {
        let turn = |row: usize| scores.sums[row][score] / slopes[score];
        let deviation = square.sqrt() / slopes[score];
        let back = sine * turn(0) - cosine * turn(39);
        assert!((back - 0.15).abs() < 4.9 * deviation, "{score}: {back} {deviation}");
        assert!(deviation < 0.15 / 4.9 / 2.0, "{score}: {deviation}");
        let found = (3..39).map(|row| turn(row).powi(2)).sum::<f64>() / 36.0 / deviation.powi(2);
        assert!((0.4..1.9).contains(&found), "{score}: {found}");
    }
    // Both together have less error than either alone.
    let [first, second] = scores.moments[0].factors();
    let [own, both, other] = scores.moments[0].products;
    let combined = first * first * own + 2.0 * first * second * both + second * second * other;
    assert!((first * slopes[0] + second * slopes[1] - 1.0).abs() < 1e-9);
    assert!(combined < 0.99 * (own / slopes[0].powi(2)).min(other / slopes[1].powi(2)));
}

/// Turns of the variances 4 and 2 with the covariance 1 are weighted 1 : 3; a score without a derivative has no weight.
#[test]
fn turns_are_weighted_by_the_inverse_covariance_of_their_errors() {
    let moments = Moments { slopes: [2.0, 3.0], products: [4.0 * 4.0, 6.0, 2.0 * 9.0] };
    assert_eq!(moments.factors(), [0.25 / 2.0, 0.75 / 3.0]);
    let scores = Scores { sums: vec![[1.0, 10.0], [0.0, 4.0]], moments: vec![moments] };
    assert_eq!(scores.steps(0, 1), DMatrix::from_column_slice(2, 1, &[2.625, 1.0]));
    for (slopes, factors) in [([2.0, -1.0], [0.5, 0.0]), ([0.0, 4.0], [0.0, 0.25]), ([-1.0, 0.0], [0.0; 2])] {
        assert_eq!(Moments { slopes, ..moments }.factors(), factors);
    }
    assert_eq!(Moments { slopes: [1.0; 2], products: [1.0; 3] }.factors(), [1.0, 0.0]);
}

#[test]
fn noise_is_not_refined_and_too_few_reports_measure_nothing() {
    let noise = task(12, 0.5, 10);
    let (stored, aggregate) = collected(&noise, 500, 2, elliptical(12, &[]));
    let answer = found(&stored, &aggregate, 2, 1);
    assert_eq!((answer.refined, answer.reason), (0, Some(NotOffered::Noise)));
    assert!(answer.distance < 1e-9);
    // Ten reports of one direction stand out at a large epsilon, but five folds of ten have none.
    let few = task(12, 8.0, 10);
    let (stored, aggregate) = collected(&few, 12, 1, |_| (0..12).map(|feature| f64::from(feature == 3)).collect());
    let answer = found(&stored, &aggregate, 1, 1);
    assert_eq!((answer.refined, answer.reason, answer.difference), (1, Some(NotOffered::TooFewReports), None));
    assert_eq!((answer.components.len(), answer.if_offered().components.len()), (1, 0));
}

/// Nobody knows what reports say: candidates that all lie along one feature as far as they can, or one index for all;
/// null records, one report, two features, a lift.
#[test]
fn whatever_the_reports_the_answer_is_finite_and_orthonormal() {
    let clipped = Bounding::Clip { radius: Radius::new(2.0).unwrap() };
    for (dimension, bounding, e) in [(2, Bounding::UnitNorm, 4.0), (6, clipped, 1.0), (30, Bounding::UnitNorm, 8.0)] {
        let mechanism = MechanismSpec::double_cap(epsilon(e));
        let schema = Schema::numeric(dimension).unwrap();
        let task = Task::new(schema, bounding, mechanism, Folds::new(3).unwrap()).unwrap();
        let law = double_cap::Likelihood::new(mechanism_of(&task).unwrap());
        let (key, mut rng) = (task.digest().key(), ChaCha12Rng::seed_from_u64(5));
        let mut report = |choice: usize| {
            let id = ReportId::new(rng.random());
            let along = |index: &u16| law.candidate(&key, id, *index)[0].abs();
            let index = match choice {
                0 => 0,
                1 => (0..16).max_by(|one, other| along(one).total_cmp(&along(other))).unwrap(),
                _ => (0..16).min_by(|one, other| along(one).total_cmp(&along(other))).unwrap(),
            };
            Report::from_parts(task.digest(), id, index.to_le_bytes().to_vec())
        };
        for choice in 0..3 {
            for count in [1, 2, 40, 2_000] {
                let reports: Vec<Report> = (0..count).map(|_| report(choice)).collect();
                let (stored, aggregate) = of_reports(&task, &reports);
                let answer = found(&stored, &aggregate, 1, 2);
                let component = &answer.components[0];
                assert!((component.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-9, "{choice} {count}");
                let measures = [answer.captured, answer.difference].into_iter().flatten();
                let mut numbers = measures.flat_map(|measure| [measure.value, measure.standard_error]);
                assert!(numbers.all(f64::is_finite) && answer.distance.is_finite(), "{answer:?}");
            }
        }
        let (stored, aggregate) = collected(&task, 300, 2, |_| vec![0.0; dimension]);
        assert!(found(&stored, &aggregate, 1, 2).distance.is_finite());
    }
}

#[test]
fn what_has_no_likelihood_is_refused_by_name() {
    let centred = task(5, 2.0, 1).with_centring(Centring::default()).unwrap();
    assert_eq!(StoredReports::new(&centred).unwrap_err(), LikelihoodError::Centring);
    let spec = MechanismSpec::gaussian(epsilon(2.0), delta(1e-6));
    let gaussian = Task::new(Schema::numeric(5).unwrap(), Bounding::UnitNorm, spec, Folds::new(1).unwrap()).unwrap();
    assert_eq!(StoredReports::new(&gaussian).unwrap_err(), LikelihoodError::Mechanism);
    let large = task(MOST_FEATURES + 1, 2.0, 1);
    assert_eq!(StoredReports::new(&large).unwrap_err(), LikelihoodError::Features(MOST_FEATURES + 1));
    let (stored, aggregate) = collected(&task(5, 2.0, 1), 20, 1, elliptical(5, &[]));
    let asked = |aggregate: &Aggregate, rank| {
        stored.likelihood(aggregate, Rank::new(rank).unwrap(), NonZeroUsize::MIN, &mut |_| ControlFlow::Continue(()))
    };
    assert_eq!(asked(&aggregate, 5), Err(LikelihoodError::FullRank(5)));
    assert!(matches!(asked(&aggregate, 6), Err(LikelihoodError::Recovery(_))));
    let empty = Aggregate::empty(&task(5, 2.0, 1));
    assert_eq!(asked(&empty, 1), Err(LikelihoodError::OtherReports { stored: 20, summed: 0 }));
    // A payload that no aggregate takes is not stored.
    let mut more = stored.clone();
    more.extend(&[Report::from_parts(task(5, 2.0, 1).digest(), ReportId::new([1; 16]), vec![0; 3])]);
    assert_eq!(more.records(), 20);
    assert!(LikelihoodError::Centring.is_of_an_option() && !asked(&empty, 1).unwrap_err().is_of_an_option());
}
