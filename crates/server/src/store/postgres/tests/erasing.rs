//! Single reports are erased, while several aggregators run.

use super::*;
use crate::store::ErasedReports;

fn erase(aggregator: &Aggregator, task: &Task, reports: &[Report]) -> ErasedReports {
    aggregator.store.erase_reports(task.digest(), &ids(reports)).unwrap().unwrap()
}

#[test]
fn an_erased_report_leaves_every_sum_and_snapshot_and_stays_refused() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    for (seed, task) in [(50, compact()), (51, dense())] {
        // One writes snapshots, the others none.
        let first = Aggregator::with_snapshots(&cluster.address(), &task, 100);
        let second = Aggregator::open(&cluster.address(), &[]);
        let reports = reports(&task, seed, 300);
        let number = first.query(&format!("SELECT number FROM ldp_pca.tasks WHERE digest = '{}'", task.digest()));
        first.commit(&task, &reports[..150]).unwrap();
        let snapshot = format!("SELECT coalesce(max(records), 0) FROM ldp_pca.snapshots WHERE task = {number}");
        eventually("a snapshot is written", || first.query(&snapshot) == "150");
        second.commit(&task, &reports[150..200]).unwrap();
        eventually("both have it", || first.records(&task) == 200 && second.records(&task) == 200);

        // Some are in the snapshot, and some are not.
        let gone = [&reports[10..13], &reports[160..162]].concat();
        let unknown = [gone.clone(), vec![reports[250].clone()]].concat();
        assert_eq!(erase(&second, &task, &unknown), ErasedReports { erased: 5, before: 0, unknown: 1 });
        assert_eq!(erase(&first, &task, &gone), ErasedReports { erased: 0, before: 5, unknown: 0 });
        let left: Vec<&Report> =
            reports[..200].iter().filter(|report| gone.iter().all(|gone| gone.id() != report.id())).collect();
        for aggregator in [&first, &second, &Aggregator::open(&cluster.address(), &[])] {
            aggregator.expect(&task, left.iter().copied());
            assert_eq!(aggregator.commit(&task, &gone), committed(0, 5));
            let figures = &aggregator.metrics;
            assert_eq!((figures.missing_reports.get(), figures.dropped_snapshots.get()), (0, 0));
        }
        assert_eq!(first.query(&snapshot), "147");
        assert_eq!(first.query(&format!("SELECT count(*) FROM ldp_pca.reports_{number} WHERE report = ''")), "5");

        // The next snapshot follows from this one.
        first.commit(&task, &reports[200..]).unwrap();
        eventually("a snapshot is written", || first.query(&snapshot) == "295");
        let all = sum(&task, left.into_iter().chain(&reports[200..]));
        let third = Aggregator::open(&cluster.address(), &[]);
        assert_eq!((third.aggregate(&task), third.metrics.dropped_snapshots.get()), (all, 0));
    }
}

#[test]
fn an_erasure_makes_room_in_a_quota_and_survives_a_killed_database() {
    let task = compact();
    let Some((cluster, [aggregator])) = start(&task) else { return };
    let settings = TaskSettings { max_records: Some(20), ..TaskSettings::default() };
    aggregator.store.put(task.clone(), settings.clone()).unwrap();
    let reports = reports(&task, 52, 30);
    assert_eq!(aggregator.commit(&task, &reports[..20]), committed(20, 0));
    assert_eq!(erase(&aggregator, &task, &reports[..4]).erased, 4);
    cluster.kill();
    cluster.up();
    eventually("it recovers by itself", || aggregator.store.check().is_ok());
    assert_eq!(aggregator.commit(&task, &reports[..24]), committed(4, 20));
    assert_eq!(aggregator.commit(&task, &reports[24..25]), Err(CommitError::Quota { limit: 20, records: 20 }));
    // A quota that is set later counts what is there.
    aggregator.store.put(task.clone(), TaskSettings::default()).unwrap();
    aggregator.store.put(task.clone(), settings).unwrap();
    assert_eq!(aggregator.commit(&task, &reports[24..25]), Err(CommitError::Quota { limit: 20, records: 20 }));
    aggregator.expect(&task, &reports[4..24]);
    assert_eq!(aggregator.metrics.missing_reports.get(), 0);
}

#[test]
fn many_erasures_at_once_from_two_aggregators_each_count_once() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let task = compact();
    let first = Aggregator::with_snapshots(&cluster.address(), &task, 50);
    let second = Aggregator::with_snapshots(&cluster.address(), &task, 50);
    let reports = reports(&task, 54, 400);
    for part in reports[..200].chunks(20) {
        first.commit(&task, part).unwrap();
    }
    let erased: u64 = thread::scope(|scope| {
        scope.spawn(|| reports[200..].chunks(5).for_each(|part| drop(second.commit(&task, part))));
        let workers = [&first, &second].map(|aggregator| {
            let (task, reports) = (&task, &reports[..40]);
            scope.spawn(move || {
                reports.iter().map(|report| erase(aggregator, task, slice::from_ref(report)).erased).sum()
            })
        });
        workers.into_iter().map(|worker| -> u64 { worker.join().unwrap() }).sum()
    });
    assert_eq!(erased, 40);
    // A batch that met a task being read again is sent again.
    first.commit(&task, &reports[200..]).unwrap();
    for aggregator in [&first, &second, &Aggregator::open(&cluster.address(), &[])] {
        aggregator.expect(&task, &reports[40..]);
        assert_eq!(aggregator.metrics.missing_reports.get(), 0);
    }
}
