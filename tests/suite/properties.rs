//! Laws that hold for every input, tried on generated ones that lean towards the degenerate: empty, zero, huge, tied,
//! cut.

use chacha20::ChaCha8Rng;
use ldp_pca::aggregate::Aggregate;
use ldp_pca::centring::Centring;
use ldp_pca::covariance::Covariance;
use ldp_pca::internal::schema::read_fields;
use ldp_pca::mechanism::{Calibration, MechanismSpec};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::{Bounding, Radius};
use ldp_pca::report::{Report, report_bytes};
use ldp_pca::schema::{Column, ColumnKind, Schema, Unseen, Value};
use ldp_pca::task::{Folds, Task};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use rand::SeedableRng;

use crate::support::{number, text};

fn column() -> impl Strategy<Value = Column> {
    let unseen = select(vec![Unseen::Zero, Unseen::Other]);
    let kind = prop_oneof![
        4 => (-3.0..3.0, prop_oneof![0.1..9.0, Just(1e-100), Just(-1.0)])
            .prop_map(|(offset, scale)| ColumnKind::Numeric { offset, scale }),
        1 => (number(), number()).prop_map(|(offset, scale)| ColumnKind::Numeric { offset, scale }),
        3 => (prop::collection::vec(text(), 0..4), unseen).prop_map(|(mut values, unseen)| {
            if unseen == Unseen::Other {
                values.push("other".to_owned());
            }
            ColumnKind::Categorical { values, unseen }
        }),
        1 => Just(ColumnKind::Ignored),
    ];
    (text(), prop::option::of(text()), kind).prop_map(|(name, label, kind)| Column { name, label, kind })
}

/// Columns with different names mostly, so that most schemas are accepted.
fn schema() -> impl Strategy<Value = Schema> {
    prop::collection::vec(column(), 1..6).prop_filter_map("a schema", |mut columns| {
        for (position, column) in columns.iter_mut().enumerate() {
            column.name = format!("{position}{}", column.name);
        }
        Schema::new(columns).ok()
    })
}

fn bounding() -> impl Strategy<Value = Bounding> {
    prop_oneof![
        Just(Bounding::UnitNorm),
        select(vec![1e-150, 0.5, 3.0, 1e150])
            .prop_map(|radius| Bounding::Clip { radius: Radius::new(radius).unwrap() })
    ]
}

fn mechanism() -> impl Strategy<Value = MechanismSpec> {
    let epsilon = || prop_oneof![3 => 0.1..8.0, 1 => select(vec![5e-324, 1e-12, 1e-6, 16.0, 30.0, 700.0, f64::MAX])];
    let double_cap =
        (epsilon(), select(vec![2u32, 3, 8, 64, 16_384]), any::<u32>()).prop_map(|(epsilon, candidates, cap)| {
            MechanismSpec::DoubleCap {
                epsilon: Epsilon::new(epsilon).unwrap(),
                candidates,
                cap: candidates.div_ceil(1024) + cap % (candidates / 2),
            }
        });
    let delta = prop_oneof![3 => 1e-9..0.5, 1 => select(vec![5e-324, 1e-18, 1e-15, 0.999_999])];
    let calibration = select(vec![Calibration::Analytic, Calibration::Paper]);
    let gaussian = (epsilon(), delta, calibration).prop_map(|(epsilon, delta, calibration)| MechanismSpec::Gaussian {
        epsilon: Epsilon::new(epsilon).unwrap(),
        delta: Delta::new(delta).unwrap(),
        calibration,
    });
    prop_oneof![double_cap, gaussian]
}

fn task() -> impl Strategy<Value = Task> {
    let centring =
        prop_oneof![2 => Just(None), 1 => select(vec![0.01, 0.25, 0.99]).prop_map(|weight| Centring::new(weight).ok())];
    (schema(), bounding(), centring, mechanism(), select(vec![1u32, 2, 5, 64]), any::<bool>()).prop_filter_map(
        "a task",
        |(schema, bounding, centring, mechanism, folds, has_period)| {
            let plain = Task::new(schema, bounding, mechanism, Folds::new(folds).unwrap()).ok()?;
            let plain = if has_period { plain.with_period("2026-W48").unwrap() } else { plain };
            match centring {
                Some(centring) => plain.with_centring(centring).ok(),
                None => Some(plain),
            }
        },
    )
}

/// Many candidates would only be slow.
pub(crate) fn quick_task() -> impl Strategy<Value = Task> {
    task().prop_filter("few candidates", |task| {
        !matches!(task.mechanism_spec(), MechanismSpec::DoubleCap { candidates: 16_384, .. })
    })
}

/// A task and reports of records of its own dimension.
fn collection() -> impl Strategy<Value = (Task, Vec<Report>)> {
    (quick_task(), prop::collection::vec(prop::collection::vec(number(), 12), 0..40), any::<u64>()).prop_map(
        |(task, rows, seed)| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let reports = rows
                .into_iter()
                .map(|row| {
                    let features = (0..task.dimension()).map(|index| row[index % row.len()]).collect();
                    task.randomize_with_rng(&task.bound(features).unwrap(), None, &mut rng).unwrap()
                })
                .collect();
            (task, reports)
        },
    )
}

/// Changes to valid bytes, with the checksum (of the last four bytes) made right again or not.
fn mutate(bytes: &[u8], changes: &[(Index, u8)], cut: Option<Index>, repair: bool) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (index, value) in changes {
        let position = index.index(bytes.len());
        bytes[position] ^= value;
    }
    if let Some(cut) = cut {
        bytes.truncate(cut.index(bytes.len()));
    }
    if repair && bytes.len() > 4 {
        let content = bytes.len() - 4;
        let checksum = crc32fast::hash(&bytes[..content]).to_le_bytes();
        bytes[content..].copy_from_slice(&checksum);
    }
    bytes
}

fn changes() -> impl Strategy<Value = (Vec<(Index, u8)>, Option<Index>, bool)> {
    let cut = prop_oneof![4 => Just(None), 1 => any::<Index>().prop_map(Some)];
    (prop::collection::vec((any::<Index>(), any::<u8>()), 0..4), cut, any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, max_global_rejects: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn an_accepted_task_survives_its_json(task in task()) {
        let text = task.to_json();
        let again = Task::from_json(&text).unwrap();
        prop_assert_eq!(again.digest(), task.digest());
        prop_assert_eq!(again.to_json(), text.clone());
        prop_assert_eq!(again.schema(), task.schema());
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(Task::from_json(&pretty).unwrap().digest(), task.digest());
    }

    #[test]
    fn text_is_a_task_only_if_its_canonical_form_is(
        (task, edits) in (task(), prop::collection::vec((any::<Index>(), any::<char>()), 1..3)),
    ) {
        let mut characters: Vec<char> = task.to_json().chars().collect();
        for (index, replacement) in edits {
            let position = index.index(characters.len());
            characters[position] = if replacement.is_control() { '9' } else { replacement };
        }
        if let Ok(accepted) = Task::from_json(&characters.into_iter().collect::<String>()) {
            prop_assert_eq!(Task::from_json(&accepted.to_json()).unwrap().digest(), accepted.digest());
        }
    }

    #[test]
    fn encoding_text_never_panics_and_gives_finite_features(
        schema in schema(),
        fields in prop::collection::vec(text(), 0..7),
        exact in any::<bool>(),
    ) {
        let mut fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        if exact {
            fields.resize(schema.columns().len(), "1");
        }
        let features = schema.encode_fields(&fields);
        prop_assert_eq!(features.len(), schema.dimension());
        prop_assert!(features.iter().all(|feature| feature.is_finite()));
        let read: Vec<Value<'_>> =
            read_fields(&schema, &fields).into_iter().map(|value| value.unwrap_or(Value::Missing)).collect();
        prop_assert_eq!(&schema.encode_values(&read), &features);
        prop_assert_eq!(schema.check_values(&read), []);
        let named = || schema.columns().iter().zip(&read).map(|(column, value)| (column.name.as_str(), *value));
        prop_assert_eq!(schema.encode_named(named()), features);
        prop_assert_eq!(schema.check_named(named()), []);
        let uneven = usize::from(fields.len() != schema.columns().len());
        let problems = schema.check_fields(&fields);
        let unread = read_fields(&schema, &fields).into_iter().filter(Result::is_err).count();
        prop_assert_eq!(problems.len(), uneven + unread);
        prop_assert!(problems.iter().all(|problem| problem.to_string().len() < 2000));
        let _ = schema.match_header(&fields);
    }

    /// Whether there is a report reveals nothing: any accepted task and any record make one, of the length that all
    /// have. Values are of any type, more or fewer than the columns, under names that the task may not have; and any
    /// cells of a row of text.
    #[test]
    fn every_record_of_an_accepted_task_has_finite_features_and_a_report_that_survives_its_bytes(
        task in task(), numbers in prop::collection::vec(number(), 8), texts in prop::collection::vec(text(), 8),
        kinds in prop::collection::vec(0..3u8, 0..8), names in prop::collection::vec(any::<Index>(), 8),
        seed in any::<u64>()
    ) {
        let schema = task.schema();
        let values: Vec<Value<'_>> = kinds.iter().enumerate().map(|(index, kind)| match kind {
            0 => Value::Missing,
            1 => Value::Number(numbers[index]),
            _ => Value::Text(&texts[index]),
        }).collect();
        let known = |index: &Index| schema.columns().get(index.index(schema.columns().len() + 1));
        let names = names.iter().map(|index| known(index).map_or("no column", |column| &column.name));
        for features in [
            schema.encode_values(&values),
            schema.encode_named(names.zip(values.iter().copied())),
            schema.encode_fields(&texts[..values.len()]),
            schema.encode_numbers(&numbers[..values.len()]),
        ] {
            prop_assert!(features.iter().all(|feature| feature.is_finite()));
            let record = task.bound(features).unwrap();
            let report = task.randomize_with_rng(&record, None, &mut ChaCha8Rng::seed_from_u64(seed)).unwrap();
            prop_assert_eq!(report.to_bytes().len(), report_bytes(&task));
            prop_assert_eq!(Report::from_bytes(&report.to_bytes(), &task).unwrap(), report);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, max_global_rejects: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn a_report_is_read_only_from_the_bytes_it_writes(
        (task, reports) in collection(),
        (edits, cut, repair) in changes(),
        noise in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        prop_assert!(Report::from_bytes(&noise, &task).is_err());
        for report in reports.iter().take(4) {
            let bytes = mutate(&report.to_bytes(), &edits, cut, repair);
            if let Ok(accepted) = Report::from_bytes(&bytes, &task) {
                prop_assert_eq!(accepted.to_bytes(), bytes);
            }
        }
    }

    #[test]
    fn an_aggregate_is_read_only_from_the_bytes_it_writes(
        (task, reports) in collection(),
        (edits, cut, repair) in changes(),
        noise in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        prop_assert!(Aggregate::from_bytes(&noise, &task).is_err());
        let mut aggregate = Aggregate::empty(&task);
        aggregate.accumulate(&task, &reports).unwrap();
        prop_assert_eq!(&Aggregate::from_bytes(&aggregate.to_bytes(), &task).unwrap(), &aggregate);
        let bytes = mutate(&aggregate.to_bytes(), &edits, cut, repair);
        if let Ok(accepted) = Aggregate::from_bytes(&bytes, &task) {
            prop_assert_eq!(&accepted.to_bytes(), &bytes);
            // Whatever was accepted can be used: no sum leaves its range.
            let mut merged = aggregate.clone();
            if merged.merge(&accepted).is_ok() {
                prop_assert_eq!(merged.records(), aggregate.records() + accepted.records());
                if let Ok(covariance) = Covariance::estimate(&merged, &task) {
                    prop_assert!(covariance.noise_deviation() > 0.0);
                    prop_assert!(covariance.noise_factor() >= 1.0);
                    prop_assert_eq!(covariance.mean().is_some(), task.centring().is_some());
                }
            }
        }
    }

    #[test]
    fn sums_do_not_depend_on_order_or_grouping(
        (task, mut reports) in collection(),
        at in any::<Index>(),
        rotation in any::<Index>(),
    ) {
        let mut whole = Aggregate::empty(&task);
        whole.accumulate(&task, &reports).unwrap();
        prop_assert_eq!(whole.records(), reports.len() as u64);
        let rotation = rotation.index(reports.len() + 1);
        reports.rotate_left(rotation);
        let (left, right) = reports.split_at(at.index(reports.len() + 1));
        let sum = |part: &[Report]| {
            let mut aggregate = Aggregate::empty(&task);
            part.iter().for_each(|report| aggregate.accumulate(&task, std::slice::from_ref(report)).unwrap());
            aggregate
        };
        let (left, right) = (sum(left), sum(right));
        let mut forwards = left.clone();
        forwards.merge(&right).unwrap();
        let mut backwards = right;
        backwards.merge(&left).unwrap();
        prop_assert_eq!(forwards.to_bytes(), whole.to_bytes());
        prop_assert_eq!(backwards.to_bytes(), whole.to_bytes());
        prop_assert_eq!(forwards.folds().len(), task.folds().count());
    }
}
