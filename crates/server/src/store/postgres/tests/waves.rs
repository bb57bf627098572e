//! Second waves of a task that several aggregators serve.

use ldp_pca::covariance::Covariance;
use ldp_pca::internal::waves::{SecondTask, refined_answer};
use ldp_pca::recovery::{Question, Rank};
use prometheus_client::metrics::counter::Counter;
use serde_json::{Value, json};

use super::*;
use crate::recovery::{Asker, Recoveries, RecoveryCache, Waves};
use crate::store::tests::{PLAN, make_second_wave, second_wave, tasks};

#[test]
fn aggregators_agree_on_one_second_wave_and_close_the_first_for_all() {
    let (task, more) = (compact(), tasks().remove(1));
    let Some((cluster, [one, other])) = start(&task) else { return };
    make_second_wave([&one.store, &other.store], &task, false);
    let [one, other] = [(); 2].map(|()| Aggregator::open(&cluster.address(), slice::from_ref(&more)));
    let named = make_second_wave([&one.store, &other.store], &more, true);
    // One that does not know of the second wave changes the settings.
    let settings = TaskSettings { minimum_batch: Some(4), ..TaskSettings::default() };
    other.store.put(more.clone(), settings.clone()).unwrap();
    let closed = TaskSettings { refined_by: Some(named), ..settings.closing(PLAN) };
    eventually("the first names it", || *one.reports_of(&more).settings() == closed);
    // A second wave that the first does not name, as after an operator's change by hand.
    one.execute("UPDATE ldp_pca.tasks SET settings = settings - 'refined_by'");
    let again = other.store.open_second_wave(more.digest(), second_wave(&more, 2, 5));
    assert_eq!(again.unwrap(), Some((named, Put::Updated)));
}

/// Reports of both waves, at both.
#[test]
fn components_of_both_waves_are_those_of_the_reports_of_all_aggregators() {
    let task = compact();
    let Some((_cluster, [one, other])) = start(&task) else { return };
    let (first, rank) = (reports(&task, 9, 400), Rank::new(1).unwrap());
    one.commit(&task, &first[..250]).unwrap();
    other.commit(&task, &first[250..]).unwrap();
    eventually("all reports are read", || one.records(&task) == 400);
    let SecondTask { task: second, .. } = SecondTask::of(&sum(&task, &first), &task, rank, None).unwrap();
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
        let covariance = Covariance::estimate(&sum(&task, &first), &task).unwrap();
        let sums = sum(&second, second_reports);
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
