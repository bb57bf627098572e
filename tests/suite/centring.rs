//! Tasks that estimate the mean too: both estimates against the records they came from, and against what is stated
//! about their noise. All seeds are fixed; the bands say how rarely a right implementation with other seeds would leave
//! them.

use chacha20::ChaCha12Rng;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::centring::Centring;
use ldp_pca::covariance::Covariance;
use ldp_pca::linalg::symmetric_eigenvalues;
use ldp_pca::mechanism::MechanismSpec;
use ldp_pca::record::{Bounding, Radius};
use ldp_pca::recovery::Reports;
use ldp_pca::report::Report;
use ldp_pca::schema::Schema;
use ldp_pca::task::{Folds, Task};
use ldp_pca_simulation::SecondMoment;
use nalgebra::DMatrix;
use rand::SeedableRng;

use crate::support::{epsilon, gaussian};

fn mechanisms(e: f64) -> [MechanismSpec; 2] {
    [MechanismSpec::DoubleCap { epsilon: epsilon(e), candidates: 64, cap: 8 }, gaussian(e)]
}

fn clip() -> Bounding {
    Bounding::Clip { radius: Radius::new(2.0).unwrap() }
}

fn task(dimension: usize, bounding: Bounding, mechanism: MechanismSpec, folds: u32, weight: f64) -> Task {
    let schema = Schema::numeric(dimension).unwrap();
    let plain = Task::new(schema, bounding, mechanism, Folds::new(folds).unwrap()).unwrap();
    plain.with_centring(Centring::new(weight).unwrap()).unwrap()
}

/// The sum of `count` reports, of the rows in turn, and the answer without privacy.
fn collect(task: &Task, rows: &[Vec<f64>], count: usize) -> (Aggregate, SecondMoment) {
    let mut rng = ChaCha12Rng::seed_from_u64(23);
    let mut moment = SecondMoment::of_task(task);
    let reports: Vec<Report> = (0..count)
        .map(|index| {
            let record = task.bound(rows[index % rows.len()].clone()).unwrap();
            moment.add(&record);
            task.randomize_with_rng(&record, None, &mut rng).unwrap()
        })
        .collect();
    let mut aggregate = Aggregate::empty(task);
    aggregate.accumulate(task, &reports).unwrap();
    (aggregate, moment)
}

/// Records far from the origin, spread in a plane, of norms below and above the radius.
fn population() -> Vec<Vec<f64>> {
    let directions = [[0.9, 0.1, 0.0, -0.2, 0.0], [0.0, 0.5, 0.4, 0.0, 0.3]];
    [(0.6, 0.2), (-0.6, 0.1), (0.1, -0.7), (-0.2, 0.5), (1.9, -0.4)]
        .map(|(first, second)| {
            let mean = [0.8, -0.5, 0.0, 0.4, 0.2];
            (0..5).map(|i| mean[i] + first * directions[0][i] + second * directions[1][i]).collect()
        })
        .to_vec()
}

/// 64 folds are 64 independent estimates, so their spread says how far their average may stray: 4.9 standard errors,
/// which Student's law with 63 degrees of freedom exceeds with probability 7e-6, over 20 figures of each of four tasks
/// less than 1e-3 in all. A fold has about 160 reports of little epsilon: the noise in its mean, if it were not
/// corrected for, would make the trace too small, and the last assertion says by how many standard errors at least.
/// (The bias that double-cap keeps is under one standard error here.)
#[test]
fn mean_and_covariance_are_unbiased() {
    for mechanism in mechanisms(0.5) {
        for bounding in [Bounding::UnitNorm, clip()] {
            let task = task(5, bounding, mechanism, 64, 0.25);
            let (aggregate, moment) = collect(&task, &population(), 10_000);
            let mean = moment.mean();
            let covariance = moment.reference(&task);
            assert!(mean[0] > 0.3 && covariance[(0, 0)] > 0.02, "a test about nothing");
            let reports = Reports::one(&aggregate, &task);
            let folds: Vec<Covariance> =
                (0..64).map(|fold| Covariance::of_folds(reports, |index| index == fold).unwrap()).collect();
            let check = |name: &str, truth: f64, figure: &dyn Fn(&Covariance) -> f64| {
                let errors: Vec<f64> = folds.iter().map(|fold| figure(fold) - truth).collect();
                let average = errors.iter().sum::<f64>() / 64.0;
                let variance = errors.iter().map(|error| (error - average).powi(2)).sum::<f64>() / 63.0;
                let standard_error = (variance / 64.0).sqrt();
                let error = average / standard_error;
                assert!(error.abs() < 4.9, "{mechanism:?} {bounding:?} {name}: off by {error} standard errors");
                standard_error
            };
            for (row, &expected) in mean.iter().enumerate() {
                check(&format!("mean {row}"), expected, &|fold| fold.mean().unwrap().values()[row]);
                for column in row..5 {
                    let entry = (row, column);
                    check(&format!("{entry:?}"), covariance[entry], &|fold| fold.matrix()[entry]);
                }
            }
            let trace = |matrix: &DMatrix<f64>| matrix.trace();
            let standard_error = check("trace", trace(&covariance), &|fold| trace(fold.matrix()));
            let correction = 5.0 * folds[0].mean().unwrap().noise_deviation().powi(2);
            assert!(correction > 8.0 * standard_error, "{mechanism:?}: {correction} and {standard_error}");
        }
    }
}

/// Everybody has the same record, as long as can be: the covariance is zero and all that is estimated is noise. The
/// root mean square of 4950 entries has a relative error of about 1.0 %, of 100 entries of the mean 7 %, for
/// independent ones; 4.9 of these are 5 % and 35 %.
#[test]
fn the_noise_is_as_large_as_stated() {
    let dimension = 100;
    for mechanism in mechanisms(2.0) {
        for weight in [0.1, 0.25, 0.5] {
            let task = task(dimension, clip(), mechanism, 1, weight);
            let row: Vec<f64> = (0..dimension).map(|index| 0.2 * if index % 2 == 0 { 1.0 } else { -1.0 }).collect();
            let (aggregate, moment) = collect(&task, std::slice::from_ref(&row), 10_000);
            let covariance = Covariance::estimate(&aggregate, &task).unwrap();
            assert!(moment.reference(&task).norm() < 1e-12);
            let entries = (0..dimension).flat_map(|row| (row + 1..dimension).map(move |column| (row, column)));
            let squares: f64 = entries.map(|entry| covariance.matrix()[entry].powi(2)).sum();
            let ratio = (squares / 4950.0).sqrt() / covariance.noise_deviation();
            let mean = covariance.mean().unwrap();
            let squares: f64 = mean.values().iter().zip(&row).map(|(found, x)| (found - x).powi(2)).sum();
            let mean_ratio = (squares / 100.0).sqrt() / mean.noise_deviation();
            assert!((0.95..1.05).contains(&ratio), "{mechanism:?} {weight}: {ratio}");
            assert!((0.65..1.35).contains(&mean_ratio), "{mechanism:?} {weight}: mean {mean_ratio}");
        }
    }
}

/// Everybody has the same record, so that the largest eigenvalue is one of noise alone. With the small weight the
/// direction of the mean leaves the bulk and the edge is 1.67 / 0.9 times that of a plain task. At d = 64 the largest
/// eigenvalue of a Wigner matrix lies about 1.77 d^(-2/3) / 2 = 6 % below the edge, with a deviation of 3 %; an outlier
/// has one of sqrt(2 / d) / 2 = 9 %. The band is 4 of these on either side of the edge, and a wrong edge (that of the
/// bulk for the small weight, twice 1 / (1 - w) instead of once) leaves it. (With double-cap at so large an epsilon and
/// small a weight, the record's own noise in the direction of the mean would still be seen at this d.)
#[test]
fn noise_alone_ends_at_the_stated_edge() {
    let dimension = 64;
    let [double_cap, gaussian] = mechanisms(6.0);
    for (mechanism, weights) in [(double_cap, &[0.25, 0.5][..]), (gaussian, &[0.1, 0.25, 0.5])] {
        for &weight in weights {
            let task = task(dimension, clip(), mechanism, 1, weight);
            let row = vec![0.25; dimension];
            let (aggregate, _) = collect(&task, &[row], 30_000);
            let covariance = Covariance::estimate(&aggregate, &task).unwrap();
            let largest = symmetric_eigenvalues(covariance.matrix()).unwrap()[0];
            let ratio = largest / covariance.noise_edge();
            assert!((0.64..1.36).contains(&ratio), "{mechanism:?} {weight}: {ratio}");
        }
    }
}
