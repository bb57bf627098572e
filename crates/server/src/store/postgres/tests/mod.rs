//! Several aggregators on one real database. Skipped where PostgreSQL is not installed.

mod cluster;
mod deleting;
mod erasing;
mod faults;
mod forgetting;
mod waves;

use std::collections::BTreeSet;
use std::slice;
use std::sync::Arc;
use std::thread;

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use tokio::runtime::Runtime;

use self::cluster::Cluster;
use super::*;
use crate::store::tests::{batch, committed, compact, dense, eventually, ids, reports, sum, wait};
use crate::store::{Batch, CommitError, Committed, StoreMetrics};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::report::Report;

/// An aggregator: a store with threads of its own.
struct Aggregator {
    store: PostgresStore,
    runtime: Runtime,
    metrics: StoreMetrics,
}

impl Aggregator {
    /// One that writes a snapshot after this many reports.
    fn with_snapshots(address: &str, task: &Task, snapshot_reports: u64) -> Self {
        Self::open_with(address, slice::from_ref(task), PostgresOptions { snapshot_reports, ..options() }).unwrap()
    }

    fn open(address: &str, tasks: &[Task]) -> Self {
        Self::open_with(address, tasks, options()).unwrap()
    }

    fn open_with(address: &str, tasks: &[Task], mut options: PostgresOptions) -> Result<Self, PostgresError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        options.metrics = StoreMetrics::default();
        let metrics = options.metrics.clone();
        let opened = runtime.block_on(PostgresStore::open(address, tasks, options));
        let store = opened.map_err(|error| match error {
            StoreError::Postgres(error) => error,
            error => panic!("{error}"),
        })?;
        Ok(Self { store, runtime, metrics })
    }

    fn reports_of(&self, task: &Task) -> Arc<dyn TaskReports> {
        self.store.task(task.digest()).expect("the task is served")
    }

    fn commit(&self, task: &Task, reports: &[Report]) -> Result<Committed, CommitError> {
        wait(self.reports_of(task).queue().commit(batch(reports)))
    }

    fn records(&self, task: &Task) -> u64 {
        self.reports_of(task).counts().records
    }

    fn aggregate(&self, task: &Task) -> Aggregate {
        self.reports_of(task).aggregate()
    }

    /// Waits until it has as many reports, and they are these.
    fn expect<'a>(&self, task: &Task, reports: impl IntoIterator<Item = &'a Report>) {
        let expected = sum(task, reports);
        eventually("all are counted", || self.records(task) == expected.records());
        assert_eq!(self.aggregate(task), expected);
    }

    /// The result of an SQL query.
    fn query(&self, sql: &str) -> String {
        self.runtime.block_on(async {
            let connection = self.store.pool.take().await.unwrap();
            let rows = connection.client.query_typed(&format!("SELECT ({sql})::text"), &[]).await.unwrap();
            connection.release();
            rows[0].get(0)
        })
    }

    fn execute(&self, sql: &str) {
        self.runtime.block_on(async {
            let connection = self.store.pool.take().await.unwrap();
            connection.client.batch_execute(sql).await.unwrap();
            connection.release();
        });
    }
}

fn options() -> PostgresOptions {
    PostgresOptions { poll: Duration::from_millis(20), ..PostgresOptions::default() }
}

/// Several aggregators of a new cluster that serve a task; `None`, with a message, where PostgreSQL is not installed.
fn start<const N: usize>(task: &Task) -> Option<(Cluster, [Aggregator; N])> {
    let cluster = Cluster::start(&[])?;
    let aggregators = [(); N].map(|()| Aggregator::open(&cluster.address(), slice::from_ref(task)));
    Some((cluster, aggregators))
}

#[test]
fn what_an_aggregator_acknowledged_it_has_counted() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let task = compact();
    // It never looks at the tables.
    let aloof = PostgresOptions { poll: Duration::from_secs(3600), ..options() };
    let aggregator = Aggregator::open_with(&cluster.address(), slice::from_ref(&task), aloof).unwrap();
    let reports = reports(&task, 3, 30);
    let twice = [&reports[..10], &reports[..5]].concat();
    assert_eq!(aggregator.commit(&task, &twice), committed(10, 5));
    // After its end only what is there is answered.
    let late = |sent: &[Report]| {
        let closed = Some(CommitError::Expired(7));
        wait(aggregator.reports_of(&task).queue().commit(Batch { closed, ..batch(sent) }))
    };
    for max_records in [Some(15), None] {
        aggregator.store.put(task.clone(), TaskSettings { max_records, ..TaskSettings::default() }).unwrap();
        assert_eq!((late(&reports[..10]), late(&reports[5..11])), (committed(0, 10), Err(CommitError::Expired(7))));
    }
    assert_eq!(aggregator.commit(&task, &reports), committed(20, 10));
    let counts = aggregator.reports_of(&task).counts();
    assert_eq!((counts.records, counts.duplicates), (30, 35));
    // An id with another payload conflicts, with what is stored and with what comes in the same batch.
    let other = |first: &Report| {
        let payload = reports.iter().map(Report::payload).find(|payload| *payload != first.payload());
        Report::from_parts(task.digest(), first.id(), payload.unwrap().to_vec())
    };
    let new = self::reports(&task, 4, 1).remove(0);
    let batch = [other(&reports[0]), reports[1].clone(), new.clone(), other(&new)];
    assert_eq!(aggregator.commit(&task, &batch), Ok(Committed { accepted: 1, duplicate: 3, conflicting: 2 }));
    assert_eq!(aggregator.aggregate(&task), sum(&task, reports.iter().chain([&new])));
}

#[test]
fn reports_that_race_to_several_aggregators_count_once() {
    let task = compact();
    let Some((cluster, aggregators)) = start::<3>(&task) else { return };
    let all = reports(&task, 4, 601);
    let (last, reports) = all.split_last().unwrap();
    let accepted: u64 = thread::scope(|scope| {
        let senders: Vec<_> = (0..9)
            .map(|sender| {
                let (aggregator, task) = (&aggregators[sender % 3], &task);
                scope.spawn(move || {
                    let mut rng = ChaCha8Rng::seed_from_u64(sender as u64);
                    let mut accepted = 0;
                    for _ in 0..40 {
                        let some: Vec<Report> = (0..25).map(|_| reports[rng.random_range(0..600)].clone()).collect();
                        let committed = aggregator.commit(task, &some).unwrap();
                        assert_eq!(committed.accepted + committed.duplicate, 25);
                        accepted += committed.accepted;
                    }
                    accepted + aggregator.commit(task, reports).unwrap().accepted
                })
            })
            .collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).sum()
    });
    assert_eq!(accepted, 600);
    for aggregator in aggregators.iter().chain([&Aggregator::open(&cluster.address(), &[])]) {
        aggregator.expect(&task, reports);
        assert_eq!(aggregator.reports_of(&task).damage(), crate::store::Damage::default());
    }
    aggregators[0].store.close();
    assert_eq!(aggregators[1].commit(&task, slice::from_ref(last)), committed(1, 0));
}

#[test]
fn a_quota_holds_over_all_aggregators() {
    let task = compact();
    let Some((_cluster, aggregators)) = start::<2>(&task) else { return };
    let reports = reports(&task, 5, 400);
    // Some are there before there is a quota, and the other aggregator does not know of it when it writes next.
    assert_eq!(aggregators[0].commit(&task, &reports[..7]), committed(7, 0));
    let settings = TaskSettings { max_records: Some(100), ..TaskSettings::default() };
    assert_eq!(aggregators[0].store.put(task.clone(), settings.clone()).unwrap(), Put::Updated);
    assert_eq!(aggregators[1].commit(&task, &reports[..101]), Err(CommitError::Quota { limit: 100, records: 7 }));
    let accepted: u64 = thread::scope(|scope| {
        let senders: Vec<_> = reports
            .chunks(50)
            .enumerate()
            .map(|(sender, part)| {
                let (aggregator, task) = (&aggregators[sender % 2], &task);
                let accepted = move |batch: &[Report]| match aggregator.commit(task, batch) {
                    Ok(committed) => committed.accepted,
                    Err(CommitError::Quota { limit: 100, records: records @ ..=100 })
                        if records + batch.len() as u64 > 100 =>
                    {
                        0
                    }
                    Err(error) => panic!("{error}"),
                };
                scope.spawn(move || part.chunks(3).map(accepted).sum::<u64>())
            })
            .collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).sum()
    });
    let records = 7 + accepted;
    assert!((98..=100).contains(&records), "{records}: whole batches of three, as many as fit");
    assert_eq!(aggregators[0].query("SELECT records FROM ldp_pca.tasks"), records.to_string());
    for aggregator in &aggregators {
        eventually("all are counted", || aggregator.records(&task) == records);
        // What is there needs no room.
        assert_eq!(aggregator.commit(&task, &reports[..7]), committed(0, 7));
        assert_eq!(*aggregator.reports_of(&task).settings(), settings);
    }
    aggregators[1].store.put(task.clone(), TaskSettings::default()).unwrap();
    aggregators[0].commit(&task, &reports).unwrap();
    assert_eq!(aggregators[0].records(&task), 400);
}

#[test]
fn tasks_come_and_go_for_all() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let first = Aggregator::open(&cluster.address(), &[]);
    let second = Aggregator::open(&cluster.address(), &[]);
    let (task, other) = (compact(), dense());
    let settings = TaskSettings { minimum_batch: Some(7), ..TaskSettings::default() };
    assert_eq!(first.store.put(task.clone(), settings.clone()).unwrap(), Put::Created);
    assert_eq!(first.store.put(other.clone(), TaskSettings::default()).unwrap(), Put::Created);
    eventually("the other hears of the tasks", || second.store.tasks().len() == 2);
    assert_eq!(*second.reports_of(&task).settings(), settings);
    assert_eq!(second.store.put(task.clone(), TaskSettings::default()).unwrap(), Put::Updated);
    eventually("the settings change", || *first.reports_of(&task).settings() == TaskSettings::default());

    let reports = reports(&task, 6, 20);
    assert_eq!(first.commit(&task, &reports), committed(20, 0));
    let stale = second.reports_of(&task);
    let mut watched = stale.watch_counts();
    assert!(first.store.delete(task.digest(), Erase::Now).unwrap());
    assert!(!first.store.delete(task.digest(), Erase::Now).unwrap());
    assert!(first.store.task(task.digest()).is_none());
    // Whether it knows of it or not.
    assert_eq!(wait(stale.queue().commit(batch(&reports))), Err(CommitError::Closed));
    eventually("the other hears of the deletion", || second.store.task(task.digest()).is_none());
    second.runtime.block_on(async { while watched.changed().await.is_ok() {} });
    assert_eq!(first.query("SELECT count(*) FROM pg_tables WHERE tablename LIKE 'reports%'"), "1");

    assert_eq!(second.store.put(task.clone(), TaskSettings::default()).unwrap(), Put::Created);
    assert_eq!(second.records(&task), 0);
    assert_eq!(second.commit(&task, &reports[..5]), committed(5, 0));
    eventually("it is there again", || first.store.task(task.digest()).is_some_and(|task| task.counts().records == 5));
    assert_eq!(first.store.task(other.digest()).unwrap().counts().records, 0);
}

#[test]
fn a_start_reads_a_snapshot_and_what_came_since() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let task = dense();
    let open = || Aggregator::with_snapshots(&cluster.address(), &task, 100);
    let (first, second) = (open(), open());
    let reports = reports(&task, 7, 250);
    for (index, part) in reports[..230].chunks(10).enumerate() {
        let aggregator = if index % 2 == 0 { &first } else { &second };
        assert_eq!(aggregator.commit(&task, part), committed(10, 0));
    }
    eventually("a snapshot is written", || {
        first.query("SELECT coalesce(max(records), 0) FROM ldp_pca.snapshots").parse::<u64>().unwrap() >= 100
    });
    first.store.close();
    second.store.close();

    let third = open();
    third.commit(&task, &reports).unwrap();
    assert_eq!(third.aggregate(&task), sum(&task, &reports));
    // Without the bytes below the snapshot's horizon its reports are only in the snapshot.
    third.execute(
        "UPDATE ldp_pca.reports_1 SET report = '' FROM ldp_pca.snapshots WHERE xid < horizon OR xid = ANY(counted)",
    );
    let fourth = open();
    assert_eq!(fourth.aggregate(&task), sum(&task, &reports));
    // A snapshot that cannot be read does not count: the reports in the tables are counted.
    fourth.execute("UPDATE ldp_pca.snapshots SET bytes = substr(bytes, 2)");
    let rows = fourth.query("SELECT count(*) FROM ldp_pca.reports_1 WHERE report <> ''").parse::<u64>().unwrap();
    assert!(rows < 250);
    assert_eq!(open().records(&task), rows);
}

#[test]
fn reports_of_another_hand_are_passed_over() {
    let task = compact();
    let Some((cluster, [aggregator])) = start(&task) else { return };
    aggregator.commit(&task, &reports(&task, 8, 3)).unwrap();
    aggregator.execute("INSERT INTO ldp_pca.reports_1 (id, report) VALUES ('0123456789abcdef', 'no report')");
    eventually("it is noticed", || aggregator.reports_of(&task).damage().lost == 1);
    assert_eq!(aggregator.records(&task), 3);
    let later = Aggregator::open(&cluster.address(), &[]);
    assert_eq!((later.records(&task), later.reports_of(&task).damage().lost), (3, 1));
}

#[test]
fn databases_of_another_release_and_none_at_all_are_refused() {
    let task = compact();
    let Some((cluster, [aggregator])) = start(&task) else { return };
    let open = || Aggregator::open_with(&cluster.address(), &[], options()).err().unwrap();
    let kept = format!("is kept as {}", task.digest());
    for (change, told) in [
        ("tasks SET settings = '{\"colour\": 1}'", "colour"),
        ("tasks SET document = replace(document, '\"cap\":2', '\"cap\":3')", &*kept),
        ("tasks SET document = '{'", "in the database: "),
        ("meta SET version = 2", "has version 2, but this software knows 1"),
    ] {
        aggregator.execute(&format!("UPDATE ldp_pca.{change}"));
        let refused = open();
        assert!(matches!(&refused, PostgresError::Content(problem) if problem.contains(told)), "{refused}");
    }
    cluster.stop("immediate");
    assert!(matches!(open(), PostgresError::Connect { server, .. } if server.contains("database postgres")));
    assert!(aggregator.store.check().is_err());
}

/// Ids of a task that are in the database, each once: it is their primary key.
fn stored(aggregator: &Aggregator) -> BTreeSet<String> {
    let ids = aggregator.query("SELECT coalesce(string_agg(encode(id, 'hex'), ' '), '') FROM ldp_pca.reports_1");
    ids.split_whitespace().map(str::to_owned).collect()
}
