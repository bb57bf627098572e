use chacha20::ChaCha20Rng;
use ldp_pca_simulation::SpikedModel;
use nalgebra::DVector;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::aggregate::Aggregate;
use crate::centring::Centring;
use crate::record::{BoundedRecord, Bounding};
use crate::recovery::principal_components;
use crate::task::Task;
use crate::tests::{self, double_cap, moment};

fn task(dimension: usize, folds: u32) -> Task {
    tests::task(dimension, Bounding::UnitNorm, double_cap(4.0, 32, 2), folds)
}

/// A finite population, so that its second moments are known: one component on so many features.
fn population(dimension: usize, sparsity: usize, signal: f64) -> Vec<BoundedRecord> {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let one = 1usize.try_into().unwrap();
    let model = SpikedModel::draw(dimension, one, signal, Some(sparsity), &mut rng).unwrap();
    (0..500).map(|_| BoundedRecord::new(model.record(&mut rng), Bounding::UnitNorm).unwrap()).collect()
}

fn collected(task: &Task, records: &[BoundedRecord], count: usize, seed: u64) -> Aggregate {
    tests::collected(task, records, count, &mut ChaCha20Rng::seed_from_u64(seed))
}

fn measure(task: &Task, aggregate: &Aggregate, fits: &[Fit]) -> Option<HeldOut> {
    let covariance = Covariance::estimate(aggregate, task).unwrap();
    let settings = SolverSettings { tolerance: 1e-4, ..SolverSettings::default() };
    let rank = Rank::new(1).unwrap();
    HeldOut::measure(Reports::one(aggregate, task), &covariance, rank, fits, &settings, &mut |_| {
        ControlFlow::Continue(())
    })
    .unwrap()
}

/// What plain components and thresholded ones capture, the mean over those that are found without a fold.
fn truly_captured(task: &Task, aggregate: &Aggregate, truth: &DMatrix<f64>) -> [f64; 2] {
    let mut captured = [0.0; 2];
    for (fold, reports) in aggregate.folds().iter().enumerate() {
        let share = reports.records() as f64 / aggregate.records() as f64;
        let training = Covariance::of_folds(Reports::one(aggregate, task), |index| index != fold).unwrap();
        let unit = super::super::default_penalty(training.noise_deviation(), 8, 0.5).unwrap();
        let thresholded = super::super::soft_threshold(training.matrix(), unit);
        for (sum, matrix) in captured.iter_mut().zip([training.matrix(), &thresholded]) {
            let v = principal_components(matrix, Rank::new(1).unwrap()).unwrap().vectors;
            *sum += share * v.dot(&(truth * &v));
        }
    }
    captured
}

const SOFT: Fit = Fit { method: Method::SoftThreshold, factor: 0.5 };

/// 200 collections; what the components of each fold truly capture is known. The mean error is within 4.9 standard
/// errors of 0, and at least 180 intervals of nominally 95 % hold the truth: at a true coverage of 93 % fewer have
/// probability 5e-3, and no seed is searched for. Once with a component and once where there is nothing but noise,
/// where what is found without a fold depends most on the other folds.
#[test]
fn intervals_of_captured_variance_and_of_differences_cover_whatever_the_population_is() {
    for signal in [10.0, 0.0] {
        let (task, records) = (task(8, 5), population(8, 3, signal));
        let truth = moment(&records);
        let (mut held, mut held_difference, mut errors) = (0, 0, vec![]);
        for seed in 0..200 {
            let aggregate = collected(&task, &records, 1_000, seed);
            let found = measure(&task, &aggregate, &[Fit::PLAIN, SOFT]).unwrap();
            let captured = truly_captured(&task, &aggregate, &truth);
            let plain = found.answers[0].captured;
            held += u32::from(plain.interval.lower < captured[0] && captured[0] < plain.interval.upper);
            errors.push((plain.value - captured[0]) / plain.standard_error);
            let difference = found.answers[1].difference.unwrap();
            let true_difference = captured[1] - captured[0];
            held_difference +=
                u32::from(difference.interval.lower < true_difference && true_difference < difference.interval.upper);
            assert_eq!(found.answers[0].difference, None);
        }
        let mean = errors.iter().sum::<f64>() / 200.0;
        let deviation = (errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / 199.0).sqrt();
        assert!(mean.abs() < 4.9 * deviation / 200f64.sqrt(), "signal {signal}: mean error {mean}, of {deviation}");
        assert!(held >= 180 && held_difference >= 180, "signal {signal}: {held}, {held_difference} of 200");
        // The bound is not far above the truth either.
        assert!((0.75..1.2).contains(&deviation), "signal {signal}: {deviation} standard errors");
    }
}

/// 200 collections of a family, of three reports at epsilon 1 to one at epsilon 4: at least 180 intervals hold the
/// truth. The choice of epsilon depends on the record or not: with it the truth is that of the mix of both, weighted as
/// the estimates are.
#[test]
fn intervals_of_a_family_cover_however_people_choose() {
    let tasks = [1.0, 4.0].map(|value| tests::task(8, Bounding::UnitNorm, double_cap(value, 32, 4), 5));
    let (sparse, dense) = (population(8, 3, 10.0), population(8, 8, 2.0));
    for populations in [[&sparse, &sparse], [&sparse, &dense], [&dense, &sparse]] {
        let truths = populations.map(|records| moment(records));
        let (mut held, mut errors) = ([0, 0], [vec![], vec![]]);
        for seed in 0..200 {
            let collect =
                |at: usize| collected(&tasks[at], populations[at], [3_000, 1_000][at], 1_000 * at as u64 + seed);
            let aggregates = [collect(0), collect(1)];
            let members: Vec<_> = aggregates.iter().zip(&tasks).collect();
            let reports = Reports::family(&members).unwrap();
            let covariance = Covariance::of_folds(reports, |_| true).unwrap();
            let settings = SolverSettings { tolerance: 1e-4, ..SolverSettings::default() };
            let go_on = &mut |_: &SequenceProgress| ControlFlow::Continue(());
            let rank = Rank::new(1).unwrap();
            let found = HeldOut::measure(reports, &covariance, rank, &[Fit::PLAIN, SOFT], &settings, go_on);
            let found = found.unwrap().unwrap();
            let mut truth = [0.0; 2];
            for (fold, share) in reports.shares_of_folds(&covariance.each).into_iter().enumerate() {
                let held_out = Covariance::of_folds(reports, |index| index == fold).unwrap();
                let weights = held_out.moments_law().unwrap().members.iter().map(|(weight, _)| *weight);
                let mixed: DMatrix<f64> = truths.iter().zip(weights).map(|(truth, weight)| truth * weight).sum();
                let training = Covariance::of_folds(reports, |index| index != fold).unwrap();
                let unit = super::super::default_penalty(training.noise_deviation(), 8, 0.5).unwrap();
                let thresholded = super::super::soft_threshold(training.matrix(), unit);
                for (sum, matrix) in truth.iter_mut().zip([training.matrix(), &thresholded]) {
                    let v = principal_components(matrix, rank).unwrap().vectors;
                    *sum += share * v.dot(&(&mixed * &v));
                }
            }
            let measured = [found.answers[0].captured, found.answers[1].difference.unwrap()];
            for (index, (measured, truth)) in measured.into_iter().zip([truth[0], truth[1] - truth[0]]).enumerate() {
                held[index] += u32::from(measured.interval.lower < truth && truth < measured.interval.upper);
                errors[index].push((measured.value - truth) / measured.standard_error);
            }
        }
        assert!(held.iter().all(|&held| held >= 180), "{held:?} of 200");
        let [mean, deviation] = {
            let mean = errors[0].iter().sum::<f64>() / 200.0;
            [mean, (errors[0].iter().map(|error| (error - mean).powi(2)).sum::<f64>() / 199.0).sqrt()]
        };
        assert!(mean.abs() < 4.9 * deviation / 200f64.sqrt(), "{mean} of {deviation}");
        assert!((0.7..1.2).contains(&deviation), "{deviation} standard errors");
    }
}

/// With centring the error comes from the folds themselves. 200 collections with 2, 3 and 10 folds; the same level.
#[test]
fn intervals_of_a_centred_task_cover_with_few_folds_too() {
    let records = population(8, 3, 10.0);
    let mean = records.iter().fold(DVector::zeros(8), |sum, record| {
        sum + DVector::from_column_slice(record.coordinates()) / records.len() as f64
    });
    let truth = moment(&records) - &mean * mean.transpose();
    for folds in [2, 3, 10] {
        let task = task(8, folds).with_centring(Centring::default()).unwrap();
        let mut held = [0, 0];
        for seed in 0..200 {
            let aggregate = collected(&task, &records, 2_000, seed);
            let captured = truly_captured(&task, &aggregate, &truth);
            let found = measure(&task, &aggregate, &[Fit::PLAIN, SOFT]).unwrap();
            let intervals = [found.answers[0].captured.interval, found.answers[1].difference.unwrap().interval];
            for ((held, interval), value) in
                held.iter_mut().zip(intervals).zip([captured[0], captured[1] - captured[0]])
            {
                *held += u32::from(interval.lower < value && value < interval.upper);
            }
        }
        assert!(held.iter().all(|&held| held >= 180), "{folds} folds: {held:?} of 200");
    }
}

#[test]
fn quantiles_are_those_of_the_tables() {
    for (degrees, expected) in [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262), (30, 2.042), (63, 1.998)] {
        let found = student_quantile(degrees);
        assert!((found / expected - 1.0).abs() < 1.5e-3, "{degrees}: {found}");
    }
}

#[test]
fn a_sparse_method_is_chosen_where_it_captures_more_and_plain_components_elsewhere() {
    // The chosen method, and the largest gain in standard errors.
    let choose = |sparsity: usize, count: usize| {
        let (task, records) = (task(30, 5), population(30, sparsity, 20.0));
        let aggregate = collected(&task, &records, count, 1);
        let mut found = measure(&task, &aggregate, &HeldOut::candidates()).unwrap();
        let fit = found.choose();
        assert_eq!(found.answers.iter().filter(|answer| answer.chosen).count(), 1);
        assert_eq!(found.chosen().unwrap().fit, fit);
        assert_eq!(found.answers.len(), 17);
        (fit.method, found)
    };
    let (method, found) = choose(3, 2_500);
    assert_ne!(method, Method::Pca);
    let difference = found.chosen().unwrap().difference.unwrap();
    assert!(difference.value > difference.standard_error && difference.standard_error > 0.0);
    assert!(found.chosen().unwrap().mean_support < 30.0);
    let (method, found) = choose(30, 20_000);
    assert_eq!(method, Method::Pca);
    assert_eq!(found.chosen().unwrap().mean_support, 30.0);
}

#[test]
fn without_folds_or_with_an_empty_one_nothing_is_measured() {
    let records = population(8, 3, 10.0);
    let one = task(8, 1);
    assert_eq!(measure(&one, &collected(&one, &records, 50, 1), &[Fit::PLAIN]), None);
    let many = task(8, 64);
    assert_eq!(measure(&many, &collected(&many, &records, 50, 1), &[Fit::PLAIN]), None);
}

/// The squares of differences of projectors, from their definition.
#[test]
fn forms_are_those_of_their_definition() {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let estimate = {
        let half = DMatrix::<f64>::from_fn(6, 6, |_, _| rng.random_range(-1.0..1.0));
        &half + half.transpose()
    };
    let mut basis = |rank: usize| DMatrix::<f64>::from_fn(6, rank, |_, _| rng.random_range(-1.0..1.0)).qr().q();
    let (first, second) = (basis(2), basis(2));
    let q = &first * first.transpose() - &second * second.transpose();
    let form = Projection::new(first, &estimate).less(&Projection::new(second, &estimate));
    let expected = [q.norm_squared(), estimate.dot(&q), estimate.dot(&(&q * &q))];
    for (found, expected) in [form.squared_norm, form.value, form.energy].into_iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
}
