//! Second waves of a task that several aggregators serve.

use ldp_pca::covariance::Covariance;
use ldp_pca::internal::waves::{SecondTask, refined_answer};
use ldp_pca::recovery::{Question, Rank};
use prometheus_client::metrics::counter::Counter;
use serde_json::{Value, json};

use super::*;
use crate::recovery::{Asker, Recoveries, RecoveryCache, Waves};
use crate::store::tests::second_wave;

const PLAN: RefinementPlan = RefinementPlan { after: 4, rank: 1 };

#[test]
fn aggregators_put_one_second_wave_and_never_without_a_report() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let task = small_task();
    let [one, other] = [(); 2].map(|()| Aggregator::open(&cluster.address(), slice::from_ref(&task)));
    let all = reports(&task, 9, 20);
    one.commit(&task, &all[..5]).unwrap();
    let open = |aggregator: &Aggregator, axis, records| {
        aggregator.store.open_second_wave(task.digest(), second_wave(&task, axis, records))
    };
    assert!(one.store.close_first_wave(task.digest(), PLAN).unwrap());
    other.store.erase_reports(task.digest(), &[all[0].id(), all[1].id()]).unwrap();
    assert!(open(&one, 0, 5).unwrap_err().to_string().contains("3 reports"));
    assert_eq!(open(&one, 0, 3).unwrap(), None, "too few are left");
    eventually("the first wave goes on", || !other.reports_of(&task).settings().is_closed());
    eventually("it takes reports", || other.commit(&task, &all[5..6]).is_ok());
    // By hand, at both at once.
    let put =
        |aggregator: &Aggregator, axis| aggregator.store.put(second_wave(&task, axis, 4).task, TaskSettings::default());
    let puts = thread::scope(|scope| {
        let threads = [(&one, 0), (&other, 1)].map(|(aggregator, axis)| scope.spawn(move || put(aggregator, axis)));
        threads.map(|thread| thread.join().unwrap())
    });
    let first = usize::from(puts[0].is_err());
    assert_eq!(*puts[first].as_ref().unwrap(), Put::Created);
    assert!(puts[1 - first].as_ref().unwrap_err().is_second_wave());
    let named = second_wave(&task, first, 4).task.digest();
    // Whoever opens one goes on with it.
    assert!(one.store.close_first_wave(task.digest(), PLAN).unwrap());
    assert_eq!(open(&other, 2, 4).unwrap(), Some((named, Put::Updated)));
    // Also once it is deleted.
    assert!(one.store.delete(named, Erase::Now).unwrap());
    assert!(put(&other, 2).unwrap_err().is_second_wave());
    assert_eq!(put(&other, first).unwrap(), Put::Created);
}

#[test]
fn aggregators_agree_on_one_second_wave_and_close_the_first_for_all() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let task = small_task();
    let [one, other] = [(); 2].map(|()| Aggregator::open(&cluster.address(), slice::from_ref(&task)));
    let settings = TaskSettings { minimum_batch: Some(3), max_records: Some(9), ..TaskSettings::default() };
    one.store.put(task.clone(), settings.clone()).unwrap();
    let all = reports(&task, 9, 20);
    one.commit(&task, &all[..3]).unwrap();
    other.commit(&task, &all[3..5]).unwrap();
    let open = |aggregator: &Aggregator, axis, records| {
        aggregator.store.open_second_wave(task.digest(), second_wave(&task, axis, records))
    };
    assert_eq!(open(&one, 0, 5).unwrap(), None, "it is not closed");
    assert!(one.store.close_first_wave(task.digest(), PLAN).unwrap());
    // At once, although the other has not heard of it.
    assert_eq!(other.commit(&task, &all[4..6]), Err(CommitError::Refined(None)));
    assert_eq!(other.commit(&task, &all[..5]).map(|committed| committed.duplicate), Ok(5));
    assert!(!other.store.close_first_wave(task.digest(), PLAN).unwrap());
    assert!(open(&one, 0, 4).unwrap_err().to_string().contains("5 reports"), "a sum that is not complete");
    let opened = thread::scope(|scope| {
        let threads = [(&one, 0), (&other, 1)].map(|(aggregator, axis)| scope.spawn(move || open(aggregator, axis, 5)));
        threads.map(|thread| thread.join().unwrap().unwrap().unwrap())
    });
    let (named, _) = opened[0];
    assert_eq!(opened[1].0, named);
    assert!(opened.iter().any(|(_, put)| *put == Put::Created) && opened.iter().any(|(_, put)| *put == Put::Updated));
    // One that does not know of the second wave changes the settings.
    let changed = TaskSettings { minimum_batch: Some(4), ..settings.clone() };
    other.store.put(task.clone(), changed.clone()).unwrap();
    for aggregator in [&one, &other] {
        eventually("both are served", || aggregator.store.tasks().len() == 2);
        let first = TaskSettings { refined_by: Some(named), ..changed.closing(PLAN) };
        eventually("the first names it", || *aggregator.reports_of(&task).settings() == first);
        assert_eq!(*aggregator.store.task(named).unwrap().settings(), settings);
        assert_eq!(aggregator.commit(&task, &all[4..6]), Err(CommitError::Refined(Some(named))));
    }
    // A second wave that the first does not name, as after an operator's change by hand.
    one.execute("UPDATE ldp_pca.tasks SET settings = settings - 'refined_by'");
    assert_eq!(open(&other, 2, 5).unwrap(), Some((named, Put::Updated)));
}

/// Reports of both waves, at both.
#[test]
fn components_of_both_waves_are_those_of_the_reports_of_all_aggregators() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let task = small_task();
    let [one, other] = [(); 2].map(|()| Aggregator::open(&cluster.address(), slice::from_ref(&task)));
    let (first, rank) = (reports(&task, 9, 400), Rank::new(1).unwrap());
    one.commit(&task, &first[..250]).unwrap();
    other.commit(&task, &first[250..]).unwrap();
    eventually("all reports are read", || one.records(&task) == 400);
    let SecondTask { task: second, .. } = SecondTask::of(&sum_of(&task, &first), &task, rank, None).unwrap();
    assert!(one.store.close_first_wave(task.digest(), PLAN).unwrap());
    let opened = one.store.open_second_wave(task.digest(), NextWave { task: second.clone(), records: 400, least: 4 });
    assert_eq!(opened.unwrap(), Some((second.digest(), Put::Created)));
    eventually("both are served", || other.store.tasks().len() == 2);
    let all = reports(&second, 10, 100);
    one.commit(&second, &all[..60]).unwrap();
    other.commit(&second, &all[60..]).unwrap();

    let cache = RecoveryCache::default();
    let (limit, computed) = (Duration::from_secs(60), Counter::default());
    let recoveries = Recoveries::new(1, limit, computed.clone());
    let both = || {
        let waves = Waves { first: other.reports_of(&task), second: Some(other.reports_of(&second)) };
        let records = waves.records(waves.last().counts());
        let answer = cache.answer(&recoveries, Asker::Collector, &waves, Question::new(rank), records);
        serde_json::from_slice::<Value>(&other.runtime.block_on(answer).unwrap().json).unwrap()
    };
    let expected = |second_reports: &[Report]| {
        let covariance = Covariance::estimate(&sum_of(&task, &first), &task).unwrap();
        let sums = sum_of(&second, second_reports);
        refined_answer((&covariance, &task), (&sums, &second), rank).unwrap()
    };
    let check = |found: Value, expected: (ldp_pca::recovery::Answer, ldp_pca::internal::waves::RefinedFacts)| {
        assert_eq!(found["records"], json!(expected.0.asked.records));
        assert_eq!(found["components"], json!(expected.0.found.components));
        assert_eq!(found["refined"], json!(expected.1));
    };
    eventually("all reports are read", || (other.records(&task), other.records(&second)) == (400, 100));
    for _ in 0..2 {
        check(both(), expected(&all));
    }
    assert_eq!(computed.get(), 1);
    // The first answer is of more reports than there are now.
    one.store.erase_reports(second.digest(), &[all[0].id()]).unwrap();
    eventually("the report is gone", || other.records(&second) == 99);
    check(both(), expected(&all[1..]));
}
