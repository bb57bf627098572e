//! Second waves of a task that several aggregators serve.

use super::*;
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
