//! The names at the crate's root, called with anything a program may pass: nothing panics unless its documentation says
//! so.

use std::ops::ControlFlow;

use chacha20::ChaCha8Rng;
use ldp_pca::internal::recovery::Denoising;
use ldp_pca::mechanism::{Gaussian, MechanismFamily};
use ldp_pca::prediction::{Batches, Goal};
use ldp_pca::privacy::amplification::{amplify, batch_delta, batch_epsilon};
use ldp_pca::privacy::composition::{Composition, Method, PrivacyLoss};
use ldp_pca::privacy::tradeoff::{Detection, power};
use ldp_pca::privacy::{Rho, amplification::Blanket};
use ldp_pca::recovery::Reports;
use ldp_pca::schema::Unseen;
use ldp_pca::schema::infer::{Inference, InferenceOptions, Scaling};
use ldp_pca::{
    Accumulator, Aggregate, BoundedRecord, Bounding, Budget, Calibration, Centring, Covariance, Decision, Delta,
    DoubleCap, Epsilon, FantopeProblem, FantopeSolver, Filter, Folds, Ledger, LocalRandomizer, MechanismSpec, Penalty,
    PenaltyChoice, Planner, Radius, Rank, Report, ReportId, Schema, SolverSettings, Spectrum, Task, TaskDigest, Value,
    predict_from_estimate, principal_components,
};
use nalgebra::DMatrix;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use rand::SeedableRng;

use crate::properties::quick_task;
use crate::support::{number, text};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(7),
        max_local_rejects: 1 << 20,
        max_global_rejects: 1 << 20,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Another case is drawn in place of one that ends in an error.
fn refused<E>(_: E) -> TestCaseError {
    TestCaseError::reject("refused")
}

fn count() -> impl Strategy<Value = u64> {
    let edges = vec![0, 1, 2, 3, 1 << 31, 1 << 32, 1 << 40, 1 << 53, u64::MAX - 1, u64::MAX];
    prop_oneof![1 => select(edges), 2 => 0..10_000u64, 1 => any::<u64>()]
}

/// Sizes that are built as well as those that must be refused before anything is.
fn size() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 0..6usize, 1 => select(vec![1 << 16, usize::MAX / 2, usize::MAX])]
}

fn epsilon() -> impl Strategy<Value = Epsilon> {
    prop_oneof![number(), 0.1..8.0].prop_filter_map("an epsilon", |value| Epsilon::new(value).ok())
}

fn delta() -> impl Strategy<Value = Delta> {
    prop_oneof![number(), 1e-12..1e-3].prop_filter_map("a delta", |value| Delta::new(value).ok())
}

fn rank() -> impl Strategy<Value = Rank> {
    size().prop_filter_map("a rank", |value| Rank::new(value).ok())
}

fn penalty() -> impl Strategy<Value = Penalty> {
    number().prop_filter_map("a penalty", |value| Penalty::new(value).ok())
}

fn bounding() -> impl Strategy<Value = Bounding> {
    number().prop_map(|radius| Radius::new(radius).map_or(Bounding::UnitNorm, |radius| Bounding::Clip { radius }))
}

fn calibration() -> impl Strategy<Value = Calibration> {
    select(vec![Calibration::Analytic, Calibration::Paper])
}

/// Few candidates mostly: many are slow.
fn candidates() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..70u32, 1 => select(vec![1024, 16_384, 16_385, u32::MAX])]
}

fn spec() -> impl Strategy<Value = MechanismSpec> {
    let double_cap = (epsilon(), candidates(), candidates())
        .prop_map(|(epsilon, candidates, cap)| MechanismSpec::DoubleCap { epsilon, candidates, cap });
    let gaussian = (epsilon(), delta(), calibration())
        .prop_map(|(epsilon, delta, calibration)| MechanismSpec::Gaussian { epsilon, delta, calibration });
    let usual = prop_oneof![
        (0.1..8.0).prop_map(|epsilon| MechanismSpec::double_cap(Epsilon::new(epsilon).unwrap())),
        (0.5..4.0).prop_map(|epsilon| MechanismSpec::gaussian(Epsilon::new(epsilon).unwrap(), Delta::USUAL)),
    ];
    prop_oneof![1 => double_cap, 1 => gaussian, 2 => usual]
}

fn family() -> impl Strategy<Value = MechanismFamily> {
    let number = || prop::option::of(candidates());
    prop_oneof![
        (number(), number()).prop_map(|(candidates, cap)| MechanismFamily::DoubleCap { candidates, cap }),
        delta().prop_map(|delta| MechanismFamily::Gaussian { delta }),
        delta().prop_map(|delta| MechanismFamily::WangXu { delta }),
    ]
}

fn loss() -> impl Strategy<Value = PrivacyLoss> {
    let of_mechanism = (spec(), 1..6usize)
        .prop_filter_map("a mechanism", |(spec, d)| Some(spec.build(d, Bounding::UnitNorm).ok()?.privacy_loss()));
    prop_oneof![
        2 => of_mechanism,
        1 => epsilon().prop_map(|epsilon| PrivacyLoss::Pure { epsilon }),
        1 => (epsilon(), delta()).prop_map(|(epsilon, delta)| PrivacyLoss::Approximate { epsilon, delta }),
    ]
}

/// Of few features, whose components are quickly found.
fn task() -> impl Strategy<Value = Task> {
    quick_task().prop_filter("few features", |task| task.dimension() < 9)
}

/// Of any shape; half of them are symmetric.
fn matrix() -> impl Strategy<Value = DMatrix<f64>> {
    let entries = prop_oneof![4 => (-2.0..2.0f64).boxed(), 1 => number().boxed()];
    let entries = prop_oneof![
        3 => prop::collection::vec(-2.0..2.0f64, 49).boxed(),
        1 => prop::collection::vec(entries, 49).boxed(),
    ];
    (entries, 0..8usize, 0..8usize, any::<bool>()).prop_map(|(entries, rows, columns, symmetric)| {
        if symmetric {
            DMatrix::from_fn(rows, rows, |i, j| entries[7 * i.max(j) % 49 + i.min(j)])
        } else {
            DMatrix::from_fn(rows, columns, |i, j| entries[7 * i % 49 + j % 7])
        }
    })
}

fn settings() -> impl Strategy<Value = SolverSettings> {
    let usual = SolverSettings { max_iterations: 500, ..SolverSettings::default() };
    let any = (number(), size(), size(), size(), number(), size(), any::<u64>()).prop_map(
        move |(tolerance, max, check_every, memory, failure, exact_dimension, seed)| SolverSettings {
            tolerance,
            max_iterations: if max > 500 { 500 } else { max },
            check_every,
            memory,
            failure,
            exact_dimension,
            seed,
        },
    );
    prop_oneof![1 => Just(usual), 1 => any]
}

proptest! {
    #![proptest_config(config(1500))]

    #[test]
    fn values_are_checked_and_never_panic(value in number(), whole in any::<u32>(), large in size(), text in text()) {
        let _ = (Delta::new(value), Radius::new(value), Penalty::new(value), Rho::new(value), Rank::new(large));
        if let Ok(centring) = Centring::new(value) {
            let _ = (centring.covariance_factor(), centring.mean_factor());
        }
        if let Ok(epsilon) = Epsilon::new(value) {
            let _ = format!("{epsilon} {epsilon:.3} {:?}", MechanismSpec::double_cap(epsilon));
        }
        let _ = (Folds::new(whole), Schema::numeric(large), Schema::from_json(&text), Task::from_json(&text));
        let _ = (text.parse::<TaskDigest>(), text.parse::<ReportId>(), Ledger::from_json(&text));
    }

    #[test]
    fn mechanisms_randomize_or_refuse(
        spec in spec(), family in family(), epsilon in epsilon(), delta in delta(), calibration in calibration(),
        dimension in size(), bounding in bounding(), others in prop::collection::vec((bounding(), 1..6usize), 2),
        value in number(),
    ) {
        let _ = (family.spec(epsilon), family.build(epsilon, dimension.min(6), bounding));
        let _ = Gaussian::new(dimension.min(1 << 17), epsilon, delta, calibration);
        let mechanism = spec.build(dimension, bounding).map_err(refused)?;
        prop_assume!(mechanism.draws() < 1 << 18);
        let _ = (mechanism.guarantee(), mechanism.privacy_loss(), mechanism.payload_bytes());
        for (bounding, found) in others {
            let record = BoundedRecord::new(vec![value; found], bounding).unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let payload = mechanism.randomize_with_rng(&record, &[0; 16], ReportId::new([1; 16]), &mut rng);
            prop_assert_eq!(payload.is_ok(), found == mechanism.dimension());
        }
    }

    #[test]
    fn double_caps_are_built_or_refused(epsilon in epsilon(), j in candidates(), l in candidates(), d in size()) {
        let mechanism = DoubleCap::new(d, epsilon, j, l).map_err(refused)?;
        prop_assert!(mechanism.gain() > 0.0);
        let _ = DoubleCap::best_cap(l, epsilon);
    }

    #[test]
    fn collections_are_summed_and_estimated(
        task in task(), other in task(), features in prop::collection::vec(number(), 0..9), bounding in bounding(),
        reports in 0..4usize, bytes in prop::collection::vec(any::<u8>(), 0..80), rank in rank(), text in text(),
        place in any::<prop::sample::Index>(),
    ) {
        prop_assume!(task.mechanism().draws() < 1 << 15 && other.mechanism().draws() < 1 << 15);
        let schema = task.schema();
        let _ = (task.bound(features.clone()), schema.encode_numbers(&features), schema.feature_names());
        let _ = (schema.encode_fields(&[&text]), schema.encode_values(&[Value::Missing, Value::Text(&text)]));
        let _ = schema.encode_named([(&text[..], Value::Number(f64::NAN)), ("a", Value::Missing)]);
        let mut aggregate = Aggregate::empty(&task);
        let record = BoundedRecord::new(vec![1.0; task.dimension()], task.bounding()).unwrap();
        for _ in 0..reports {
            let report = task.randomize(&record, None).unwrap();
            let mut wire = report.to_bytes();
            let _ = (Report::from_bytes(&wire, &other), other.randomize(&record, None));
            let mut foreign = Aggregate::empty(&other);
            prop_assert_eq!(foreign.accumulate(&other, std::slice::from_ref(&report)).is_ok(), task == other);
            prop_assert!(foreign.accumulate(&task, &[]).is_ok() == (task == other));
            aggregate.accumulate(&task, &[report]).unwrap();
            let at = place.index(wire.len());
            wire[at] ^= 1;
            prop_assert!(Report::from_bytes(&wire, &task).is_err());
            prop_assert!(Report::from_bytes(&wire[..at], &task).is_err());
        }
        if let Ok(record) = BoundedRecord::new(features, bounding) {
            let _ = (task.randomize(&record, None), task.randomize(&record, Some(ReportId::new([0; 16]))));
        }
        let _ = (Report::from_bytes(&bytes, &task), Aggregate::from_bytes(&bytes, &task));
        let state = aggregate.to_bytes();
        prop_assert!(Aggregate::from_bytes(&state, &task).is_ok());
        let _ = (Aggregate::from_bytes(&state, &other), Aggregate::empty(&other).merge(&aggregate));
        let _ = (Accumulator::resume(&other, aggregate.clone()), Covariance::estimate(&aggregate, &other));
        let estimate = Covariance::estimate(&aggregate, &task);
        prop_assert_eq!(estimate.is_ok(), reports > 0);
        if let Ok(covariance) = estimate {
            let _ = (principal_components(covariance.matrix(), rank), predict_from_estimate(&covariance, rank));
            let _ = (covariance.second_moment(), Spectrum::of_estimate(&covariance));
            let settings = SolverSettings { max_iterations: 100, ..SolverSettings::default() };
            for choice in [PenaltyChoice::default(), PenaltyChoice::CrossValidated { factors: vec![1.0] }] {
                let go_on = &mut |_: &_| ControlFlow::Continue(());
                let _ = choice.select(&covariance, Reports::one(&aggregate, &task), rank, &settings, go_on);
                let _ = choice.select(&covariance, Reports::one(&aggregate, &other), rank, &settings, go_on);
            }
            if covariance.matrix().nrows() < 9 {
                let _ = (Denoising::Frobenius.apply(&covariance), Denoising::Operator.apply(&covariance));
            }
        }
    }

    #[test]
    fn ledgers_never_panic(
        tasks in prop::collection::vec(task(), 0..4), epsilon in epsilon(), delta in prop::option::of(delta()),
        filter in select(vec![Filter::Sums, Filter::Renyi]), report in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let mut ledger = Ledger::new(Budget { epsilon, delta }, filter);
        for task in &tasks {
            if let Decision::Grant { booking, .. } = ledger.book(task) {
                let _ = ledger.record(booking, report.clone());
            }
            let _ = (ledger.spent(), ledger.remaining(), ledger.entries().len());
            prop_assert_eq!(Ledger::from_json(&ledger.to_json()).unwrap().to_json(), ledger.to_json());
        }
    }

    #[test]
    fn samples_are_read_or_refused(
        names in prop::collection::vec(text(), 0..4),
        rows in prop::collection::vec(prop::collection::vec(text(), 0..4), 0..4),
        ignore in text(), max_values in size(),
        scaling in select(vec![Scaling::Robust, Scaling::MaxAbs, Scaling::Range, Scaling::Standard, Scaling::None]),
    ) {
        let options = InferenceOptions { max_values, scaling, unseen: Unseen::Other, ..InferenceOptions::default() };
        let _ = Inference::new(&names, InferenceOptions { ignore: vec![ignore], ..options.clone() });
        if let Ok(mut inference) = Inference::new(&names, options) {
            for row in &rows {
                let row: Vec<&str> = row.iter().map(String::as_str).collect();
                let _ = inference.observe(&row);
            }
            let _ = inference.finish();
        }
    }

    #[test]
    fn matrices_are_solved_or_refused(
        matrix in matrix(), other in matrix(), rank in rank(), second in rank(), penalty in penalty(),
        settings in settings(),
    ) {
        let _ = principal_components(&matrix, rank);
        let problem = FantopeProblem::new(&matrix, rank, penalty).map_err(refused)?;
        let solver = FantopeSolver::new(settings).map_err(refused)?;
        let solution = solver.solve(&problem).map_err(refused)?;
        prop_assert!(solution.relative_gap >= 0.0);
        prop_assert_eq!(solution.components.shape(), (matrix.nrows(), rank.value()));
        for matrix in [&matrix, &other] {
            let Ok(next) = FantopeProblem::new(matrix, second, penalty) else { continue };
            let _ = solution.dual_matrix(&next);
            let _ = solver.solve_with(&next, Some(&solution), &mut |_| ControlFlow::Break(()));
        }
    }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn accounts_never_panic(
        losses in prop::collection::vec((loss(), count()), 0..3), delta in prop::option::of(delta()),
        alarms in number(), reports in count(), epsilon in epsilon(), batch in delta(),
    ) {
        let mut composition = Composition::default();
        for (loss, reports) in losses {
            let _ = composition.add(loss, reports);
            let _ = (power(loss, alarms), Detection::of(loss).to_string(), amplify(loss, reports, batch));
        }
        let _ = composition.epsilon(delta);
        for method in Method::ALL {
            let _ = composition.epsilon_by(method, delta);
        }
        let blanket = Blanket::from(epsilon);
        let _ = (batch_delta(blanket, reports, epsilon), batch_epsilon(blanket, reports, batch));
    }

    #[test]
    fn plans_never_panic(
        dimension in size(), signals in prop::collection::vec(number(), 0..3), bulk in number(), rank in rank(),
        family in family(), bounding in bounding(), epsilon in epsilon(), records in count(),
        target in number(), task in task(), shuffled in prop::option::of((count(), delta())),
    ) {
        let spectrum = Spectrum::new(dimension, signals, bulk).map_err(refused)?;
        let _ = Planner::of_task(spectrum.clone(), rank, &task);
        let planner = Planner::new(spectrum, rank, family, bounding).map_err(refused)?;
        let _ = (planner.mechanism(epsilon), planner.predict(epsilon, records), planner.records_for(epsilon, target));
        let _ = planner.epsilon_for(records, target);
        let (records, target) = (Some(records), Some(target));
        let shuffled = shuffled.map(|(honest_reports, delta)| Batches { honest_reports, delta });
        let goal = Goal { records, target, share: target, shuffled, hostile: records };
        let _ = planner.plan(epsilon, &goal);
    }
}
