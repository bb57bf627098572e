//! Tasks that are deleted, brought back, and erased.

use super::*;
use crate::store::postgres::schema::SNAPSHOT_LOCKS;

/// The statements of docs/operate/erase-and-close.md, for this task.
fn bring_back(task: &Task) -> String {
    let text = include_str!("../../../../../../docs/operate/erase-and-close.md");
    let start = text.find("BEGIN;\nWITH gone").expect("it says how to bring a task back");
    let length = text[start..].find("```").unwrap();
    text[start..start + length].replace("DIGEST", &task.digest().to_string())
}

#[test]
fn a_deletion_waits_for_a_snapshot_that_is_being_written() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let task = compact();
    let aggregator = Aggregator::with_snapshots(&cluster.address(), &task, 10);
    assert_eq!(aggregator.commit(&task, &reports(&task, 41, 20)), committed(20, 0));
    let snapshots = || aggregator.query("SELECT count(*) FROM ldp_pca.snapshots");
    eventually("it has a snapshot", || snapshots() == "1");
    // A writer that stops in the middle.
    let writer = Aggregator::open(&cluster.address(), &[]);
    let begin = format!("BEGIN; SELECT pg_advisory_xact_lock({SNAPSHOT_LOCKS}, 1)");
    writer.execute(&format!("{begin}; DELETE FROM ldp_pca.snapshots WHERE task = 1"));
    let deleted = thread::scope(|scope| {
        let delete = scope.spawn(|| aggregator.store.delete(task.digest(), Erase::AfterGrace));
        eventually("it waits", || writer.query("SELECT count(*) FROM pg_locks WHERE NOT granted") != "0");
        writer.execute(
            "INSERT INTO ldp_pca.snapshots (task, part, horizon, counted, records, bytes, passed_over)
                SELECT number, 0, 0, '{}', 20, '', 0 FROM ldp_pca.tasks WHERE number = 1;
            COMMIT",
        );
        delete.join().unwrap()
    });
    assert!(deleted.unwrap());
    assert_eq!(snapshots(), "0");
}

#[test]
fn a_deleted_task_can_be_brought_back_until_it_is_erased() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let task = compact();
    let first = Aggregator::with_snapshots(&cluster.address(), &task, 10);
    let second = Aggregator::open(&cluster.address(), &[]);
    let settings =
        TaskSettings { max_records: Some(30), expires: Some(9), retention: Some(5), ..TaskSettings::default() };
    first.store.put(task.clone(), settings.clone()).unwrap();
    let reports = reports(&task, 40, 40);
    assert_eq!(first.commit(&task, &reports[..23]), committed(23, 0));
    first.store.erase_reports(task.digest(), &ids(&reports[20..23])).unwrap();
    assert!(first.store.delete(task.digest(), Erase::AfterGrace).unwrap());
    assert!(!first.store.delete(task.digest(), Erase::AfterGrace).unwrap());
    let deleted = second.store.deleted().unwrap();
    assert_eq!(deleted.iter().map(|deleted| deleted.digest).collect::<Vec<_>>(), [task.digest()]);
    // The same task starts again, beside the deleted one.
    first.store.put(task.clone(), TaskSettings::default()).unwrap();
    assert_eq!(first.commit(&task, &reports[..5]), committed(5, 0));
    let number = second.store.deleted().unwrap()[0].key;
    assert!(first.store.delete(task.digest(), Erase::AfterGrace).unwrap());
    for newer in second.store.deleted().unwrap().iter().filter(|task| task.key != number) {
        second.store.erase(newer).unwrap();
        // Nor is it erased twice.
        second.store.erase(newer).unwrap();
    }
    assert_eq!(second.store.deleted().unwrap(), deleted);

    first.execute(&bring_back(&task));
    // From which the others see whether theirs is the same.
    assert_eq!(first.query("SELECT erased FROM ldp_pca.tasks"), "3");
    for aggregator in [&first, &second] {
        eventually("it is there again", || {
            aggregator.store.task(task.digest()).is_some_and(|task| task.counts().records == 20)
        });
        assert_eq!(aggregator.aggregate(&task), sum(&task, &reports[..20]));
        assert_eq!(*aggregator.reports_of(&task).settings(), TaskSettings { retention: None, ..settings.clone() });
    }
    // The quota goes on where it was.
    assert_eq!(second.commit(&task, &reports), Err(CommitError::Quota { limit: 30, records: 20 }));
    assert_eq!(second.commit(&task, &reports[..30]), committed(7, 23));

    first.store.delete(task.digest(), Erase::AfterGrace).unwrap();
    assert!(first.store.delete(task.digest(), Erase::Now).unwrap());
    assert!(first.store.deleted().unwrap().is_empty());
    assert_eq!(first.query("SELECT count(*) FROM pg_tables WHERE tablename LIKE 'reports%'"), "0");
}
