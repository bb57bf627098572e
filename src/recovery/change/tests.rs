use chacha20::ChaCha20Rng;
use ldp_pca_simulation::SpikedModel;
use nalgebra::{DMatrix, DVector};
use rand::SeedableRng;

use super::*;
use crate::centring::Centring;
use crate::mechanism::MechanismSpec;
use crate::privacy::tests::{delta, epsilon};
use crate::record::BoundedRecord;
use crate::schema::Column;
use crate::task::Folds;
use crate::tests::{self, clip, collected, sum};

const DIMENSION: usize = 8;

fn double_cap(value: f64) -> MechanismSpec {
    tests::double_cap(value, 32, 2)
}

fn task(mechanism: MechanismSpec, folds: u32) -> Task {
    tests::task(DIMENSION, Bounding::UnitNorm, mechanism, folds)
}

/// Two finite populations: one strong component, which is turned by the angle in the second.
fn populations(angle: f64) -> [Vec<BoundedRecord>; 2] {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let model = SpikedModel::draw(DIMENSION, 1usize.try_into().unwrap(), 20.0, None, &mut rng).unwrap();
    let from = model.subspace().basis().column(0).into_owned();
    let other = DVector::from_fn(DIMENSION, |row, _| if row == 0 { 1.0 } else { 0.0 });
    let to = (&other - &from * from.dot(&other)).normalize();
    let rows: Vec<DVector<f64>> = (0..500).map(|_| DVector::from_vec(model.record(&mut rng))).collect();
    let turned = rows.iter().map(|row| {
        let (along, across) = (row.dot(&from), row.dot(&to));
        row + &from * (along * (angle.cos() - 1.0) - across * angle.sin())
            + &to * (along * angle.sin() + across * (angle.cos() - 1.0))
    });
    let bounded = |row: &DVector<f64>| BoundedRecord::new(row.as_slice().to_vec(), Bounding::UnitNorm).unwrap();
    [rows.iter().map(bounded).collect(), turned.map(|row| bounded(&row)).collect()]
}

fn compare(first: (&Aggregate, &Task), second: (&Aggregate, &Task), replicates: usize) -> Result<Change, ChangeError> {
    let go = |_| ControlFlow::Continue(());
    change(first, second, Rank::new(1).unwrap(), replicates, &mut ChaCha20Rng::seed_from_u64(3), go)
}

/// The numbers of pairs with p at most 5 %, and of intervals without 0.
fn found(angle: f64, tasks: [&Task; 2], counts: [usize; 2], pairs: u64) -> [u64; 3] {
    let populations = populations(angle);
    let mut found = [0; 3];
    for seed in 0..pairs {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let [ours, theirs] = [0, 1].map(|index| collected(tasks[index], &populations[index], counts[index], &mut rng));
        let change = compare((&ours, tasks[0]), (&theirs, tasks[1]), 99).unwrap();
        let held_out = change.held_out.unwrap();
        let excluded = |measured: Measured| measured.interval.lower > 0.0 || measured.interval.upper < 0.0;
        found[0] += u64::from(change.p_value.unwrap() <= 0.05);
        found[1] += u64::from(excluded(held_out.captured));
        found[2] += u64::from(excluded(held_out.own));
    }
    found
}

/// 200 pairs, with equal tasks and with other numbers of reports, budgets and folds. Of tests at 5 % more than 22 find
/// a difference with probability 2e-4, and no seed is searched for.
#[test]
fn one_population_is_found_to_differ_no_more_often_than_the_level_says() {
    let (even, other) = (task(double_cap(4.0), 5), task(double_cap(2.0), 2));
    for (tasks, counts) in [([&even, &even], [800, 800]), ([&even, &other], [2_000, 600])] {
        let found = found(0.0, tasks, counts, 200);
        assert!(found.iter().all(|&count| count <= 22), "{found:?} of 200");
    }
}

/// The distance and the variance of own components show it, and the variance that common components capture need not.
/// A component that turns completely has no direction in both collections together.
#[test]
fn a_component_that_turns_is_found() {
    let task = task(double_cap(4.0), 5);
    for angle in [30f64, 90.0] {
        let [distance, _, own] = found(angle.to_radians(), [&task, &task], [4_000, 4_000], 20);
        assert!(distance >= 19 && own >= 19, "{angle} degrees: {distance} and {own} of 20");
    }
}

/// The direction stays and its share of the variance changes: only the variance that is captured shows it.
#[test]
fn a_component_that_becomes_weaker_is_found_by_what_is_captured() {
    let [records, _] = populations(0.0);
    let axes = (0..DIMENSION).map(|axis| {
        let row = (0..DIMENSION).map(|at| f64::from(u8::from(at == axis))).collect();
        BoundedRecord::new(row, Bounding::UnitNorm).unwrap()
    });
    let weaker: Vec<BoundedRecord> = records.iter().cloned().chain(axes.cycle().take(400)).collect();
    let task = task(double_cap(4.0), 5);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let [ours, theirs] = [collected(&task, &records, 8_000, &mut rng), collected(&task, &weaker, 8_000, &mut rng)];
    let change = compare((&ours, &task), (&theirs, &task), 40).unwrap();
    let captured = change.held_out.unwrap().captured;
    let moment = |records: &[BoundedRecord]| {
        let vectors = records.iter().map(|record| DVector::from_column_slice(record.coordinates()));
        vectors.map(|x| &x * x.transpose()).sum::<DMatrix<f64>>() / records.len() as f64
    };
    let direction = principal_components(&moment(&records), Rank::new(1).unwrap()).unwrap().vectors;
    let lost = direction.dot(&((moment(&records) - moment(&weaker)) * &direction));
    // Of a normal error, 4 standard errors are exceeded with probability 6e-5.
    assert!((captured.value - lost).abs() < 4.0 * captured.standard_error, "{captured:?} {lost}");
    assert!(captured.interval.lower > 0.1, "{captured:?}");
    assert!(change.p_value.unwrap() > 0.02, "{:?}", change.p_value);
}

#[test]
fn mechanisms_may_differ_and_the_result_has_a_seed() {
    let [records, _] = populations(0.0);
    let (ours, theirs) = (task(double_cap(4.0), 4), task(MechanismSpec::gaussian(epsilon(6.0), delta(1e-5)), 6));
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let [first, second] = [collected(&ours, &records, 3_000, &mut rng), collected(&theirs, &records, 5_000, &mut rng)];
    let change = compare((&first, &ours), (&second, &theirs), 40).unwrap();
    assert_eq!((change.records, change.replicates), (5_000, 40));
    assert!(change.p_value.unwrap() > 0.02 && change.quantile.unwrap() < 1.0, "{change:?}");
    assert_eq!(change.held_out.as_ref().unwrap().folds, 4);
    assert_eq!(compare((&first, &ours), (&second, &theirs), 40), Ok(change.clone()));
    let swapped = compare((&second, &theirs), (&first, &ours), 40).unwrap();
    let [here, there] = [change, swapped].map(|change| change.held_out.unwrap());
    assert!((here.captured.value + there.captured.value).abs() < 1e-9);
    assert!((here.own.value - there.own.value).abs() < 1e-9);
}

#[test]
fn with_centring_the_mean_is_part_of_the_population() {
    let [records, _] = populations(0.0);
    let task = task(double_cap(4.0), 3).with_centring(Centring::default()).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let [first, second] = [(); 2].map(|()| collected(&task, &records, 6_000, &mut rng));
    let change = compare((&first, &task), (&second, &task), 40).unwrap();
    assert!(change.p_value.unwrap() > 0.02 && change.held_out.unwrap().own.standard_error > 0.0);
}

#[test]
fn without_folds_or_time_a_part_is_left_out() {
    let [records, _] = populations(0.0);
    let (ours, single) = (task(double_cap(4.0), 4), task(double_cap(4.0), 1));
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let (first, second) = (collected(&ours, &records, 500, &mut rng), collected(&single, &records, 500, &mut rng));
    let change = compare((&first, &ours), (&second, &single), 20).unwrap();
    assert!(change.held_out.is_none() && change.p_value.is_some());
    let stopped = super::change((&first, &ours), (&second, &single), Rank::new(1).unwrap(), 40, &mut rng, |done| {
        if done == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let stopped = stopped.unwrap();
    assert_eq!((stopped.replicates, stopped.p_value, stopped.quantile), (7, None, None));
    assert_eq!(stopped.sin_theta_squared, change.sin_theta_squared);
}

#[test]
fn collections_that_cannot_be_compared_are_refused_with_the_difference() {
    let [records, _] = populations(0.0);
    let base = task(double_cap(4.0), 2);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let reports: Vec<_> = (0..90).map(|_| base.randomize_with_rng(&records[0], None, &mut rng).unwrap()).collect();
    let (whole, part, rest) = (sum(&base, &reports), sum(&base, &reports[..60]), sum(&base, &reports[60..]));
    let against = |other: &Aggregate, task: &Task| compare((&whole, &base), (other, task), 20);
    assert_eq!(against(&whole, &base), Err(ChangeError::Same));
    assert!(matches!(against(&part, &base), Err(ChangeError::Overlap { shared: 60, .. })));
    assert!(compare((&part, &base), (&rest, &base), 20).is_ok());
    assert!(matches!(against(&Aggregate::empty(&base), &base), Err(ChangeError::Covariance(_))));
    let few = compare((&part, &base), (&rest, &base), 19);
    assert_eq!(few, Err(BootstrapError::Replicates(19).into()));
    let go = |_| ControlFlow::Continue(());
    for (rank, expected) in [(8, true), (9, false)] {
        let rank = Rank::new(rank).unwrap();
        let error = change((&part, &base), (&rest, &base), rank, 20, &mut rng, go).unwrap_err();
        assert_eq!(error == BootstrapError::FullRank(8).into(), expected, "{error}");
    }

    let named = |names: [&str; 2], scale: f64| {
        let column = |name: &str, scale: f64| Column::new(name, ColumnKind::Numeric { offset: 0.0, scale });
        let ignored = Column::new("note", ColumnKind::Ignored);
        Schema::new(vec![ignored, column(names[0], 1.0), column(names[1], scale)]).unwrap()
    };
    let with = |schema: Schema, bounding: Bounding| {
        Task::new(schema, bounding, double_cap(4.0), Folds::new(2).unwrap()).unwrap()
    };
    let plain = with(named(["age", "income"], 1.0), Bounding::UnitNorm);
    let clip = clip(2.0);
    let empty = |task: &Task| Aggregate::empty(task);
    let error = |other: &Task| compare((&empty(&plain), &plain), (&empty(other), other), 20).unwrap_err();
    for (other, parts) in [
        (base.clone(), ["has 2 features", "other 8", "the same schema"]),
        (with(named(["age", "wealth"], 1.0), Bounding::UnitNorm), ["'income'", "'wealth'", "the same schema"]),
        (with(named(["age", "income"], 2.0), Bounding::UnitNorm), ["'income' differently", "scale", "the same schema"]),
        (with(named(["age", "income"], 1.0), clip), ["unit norm", "clip at 2", "the same bounding"]),
        (plain.with_centring(Centring::default()).unwrap(), ["centring", "about zero", "agree on it"]),
    ] {
        let error = error(&other).to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    // Columns that are only numbered, and labels, make no difference.
    let mut labelled = named(["age", "income"], 1.0).columns().to_vec();
    labelled[1].label = Some("Age".to_owned());
    for schema in [Schema::numeric(2).unwrap(), Schema::new(labelled).unwrap()] {
        assert!(matches!(error(&with(schema, Bounding::UnitNorm)), ChangeError::Covariance(_)));
    }
}
