//! Databases that forget: copies that are put back, settings that are reloaded, disks that are full.

use super::*;
use crate::store::tests::SmallDisk;

/// Changes a setting while the database runs, and waits until new sessions have it.
fn reload(aggregator: &Aggregator, name: &str, value: &str) {
    aggregator.execute(&format!("ALTER SYSTEM SET {name} = {value}"));
    aggregator.execute("SELECT pg_reload_conf()");
    eventually("the setting is reloaded", || {
        aggregator.query(&format!("SELECT reset_val FROM pg_settings WHERE name = '{name}'")) == value
    });
}

fn missing(aggregator: &Aggregator) -> u64 {
    aggregator.metrics.missing_reports.get()
}

#[test]
fn a_commit_waits_for_the_disk_or_for_more_whatever_the_database_does_by_default() {
    // Nothing but a commit writes the log within the test.
    let Some(cluster) = Cluster::start(&["wal_writer_delay = 10s"]) else { return };
    let task = compact();
    let aggregator = Aggregator::open(&cluster.address(), slice::from_ref(&task));
    let found = |aggregator: &Aggregator| aggregator.query("current_setting('synchronous_commit')");
    let reports = reports(&task, 30, 60);
    let settings = [("local", "local"), ("remote_apply", "remote_apply"), ("off", "on")];
    for ((setting, effective), part) in settings.into_iter().zip(reports.chunks(20)) {
        reload(&aggregator, "synchronous_commit", setting);
        let send = |report| assert_eq!(aggregator.commit(&task, slice::from_ref(report)), committed(1, 0));
        part[..10].iter().for_each(send);
        eventually("sessions are made again", || found(&aggregator) == effective);
        assert_eq!(found(&Aggregator::open(&cluster.address(), &[])), effective);
        part[10..].iter().for_each(send);
    }
    cluster.kill();
    cluster.up();
    eventually("it recovers by itself", || aggregator.store.check().is_ok());
    assert_eq!(stored(&aggregator).len(), 60);
    assert_eq!(aggregator.aggregate(&task), sum(&task, &reports));
    assert_eq!(missing(&aggregator), 0);
}

#[test]
fn nothing_is_acknowledged_while_fsync_is_off() {
    let task = compact();
    let Some((cluster, [aggregator])) = start(&task) else { return };
    let reports = reports(&task, 31, 30);
    aggregator.commit(&task, &reports[..10]).unwrap();
    for setting in ["fsync", "full_page_writes"] {
        reload(&aggregator, setting, "off");
        let refused = Aggregator::open_with(&cluster.address(), &[], options()).err().unwrap();
        assert_eq!(refused, PostgresError::NotDurable(setting.into()));
        // Until the follower has seen it, what is new would be in doubt.
        eventually("it is refused", || {
            let refusal = aggregator.commit(&task, &reports[..10]).unwrap_err();
            assert!(refusal.to_string().contains(setting), "{refusal}");
            matches!(refusal, CommitError::Write(_))
        });
        let refusal = aggregator.commit(&task, &reports[10..20]).unwrap_err();
        assert!(matches!(&refusal, CommitError::Write(reason) if reason.contains(setting)), "{refusal}");
        eventually("it is not ready", || aggregator.store.check().is_err_and(|reason| reason.contains(setting)));
        assert!(aggregator.store.put(dense(), TaskSettings::default()).is_err());
        assert_eq!((aggregator.records(&task), stored(&aggregator).len()), (10, 10));
        reload(&aggregator, setting, "on");
        eventually("it is ready again", || aggregator.store.check().is_ok());
        eventually("it is taken again", || aggregator.commit(&task, &reports[..10]).is_ok());
    }
    assert_eq!(aggregator.commit(&task, &reports[10..20]), committed(10, 0));
    assert_eq!(aggregator.records(&task), 20);
}

#[test]
fn a_commit_during_which_fsync_was_switched_off_is_not_acknowledged() {
    let task = compact();
    let Some((cluster, [aggregator])) = start(&task) else { return };
    let reports = reports(&task, 32, 10);
    // The transaction waits in the middle, until the setting is another.
    aggregator.execute(
        "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NEW; END';
        CREATE TRIGGER wait BEFORE INSERT ON ldp_pca.reports_1 FOR EACH ROW EXECUTE FUNCTION wait()",
    );
    let holder = Aggregator::open(&cluster.address(), &[]);
    holder.execute("SELECT pg_advisory_lock(7)");
    let outcome = thread::scope(|scope| {
        let commit = scope.spawn(|| aggregator.commit(&task, &reports));
        eventually("it waits", || holder.query("SELECT count(*) FROM pg_locks WHERE NOT granted") == "1");
        reload(&holder, "fsync", "off");
        holder.execute("SELECT pg_advisory_unlock_all()");
        commit.join().unwrap()
    });
    assert!(matches!(&outcome, Err(CommitError::Unknown(reason)) if reason.contains("fsync")), "{outcome:?}");
    eventually("what is there is counted", || aggregator.records(&task) == 10);
    reload(&holder, "fsync", "on");
    eventually("a retry hears so", || aggregator.commit(&task, &reports) == committed(0, 10));
}

#[test]
fn an_earlier_copy_under_a_running_aggregator_is_noticed_and_counted_as_it_is() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let task = compact();
    // The first one writes snapshots, the second one none.
    let first = Aggregator::with_snapshots(&cluster.address(), &task, 500);
    let second = Aggregator::open(&cluster.address(), &[]);
    let reports = reports(&task, 33, 6_000);
    let send = |aggregator: &Aggregator, reports: &[Report]| {
        for batch in reports.chunks(100) {
            assert_eq!(aggregator.commit(&task, batch), committed(batch.len() as u64, 0));
        }
    };
    send(&first, &reports[..1_900]);
    eventually("both have it", || second.records(&task) == 1_900);
    cluster.stop("fast");
    cluster.copy();
    cluster.up();
    eventually("it goes on", || first.store.check().is_ok() && second.store.check().is_ok());
    send(&first, &reports[1_900..3_900]);
    cluster.stop("fast");
    cluster.put_copy_back();
    cluster.up();
    [&first, &second].into_iter().for_each(|aggregator| aggregator.expect(&task, &reports[..1_900]));
    eventually("it says so", || missing(&first) == 2_000);
    // Snapshots and the other's reports follow from the table from now on.
    eventually("it goes on", || first.store.check().is_ok() && second.store.check().is_ok());
    send(&second, &reports[4_000..5_000]);
    send(&first, &reports[5_000..]);
    for aggregator in [&first, &second, &Aggregator::open(&cluster.address(), &[])] {
        aggregator.expect(&task, reports[..1_900].iter().chain(&reports[4_000..]));
        assert_eq!(aggregator.metrics.dropped_snapshots.get(), 0);
    }
}

#[test]
fn a_snapshot_of_other_reports_than_the_table_has_is_dropped() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let task = compact();
    let first = Aggregator::with_snapshots(&cluster.address(), &task, 100);
    let reports = reports(&task, 34, 400);
    first.commit(&task, &reports[..200]).unwrap();
    let snapshot = "SELECT coalesce(max(records), 0) FROM ldp_pca.snapshots";
    eventually("a snapshot is written", || first.query(snapshot) == "200");
    // The sum of reports that an older copy took away.
    first.execute("DELETE FROM ldp_pca.reports_1 WHERE id IN (SELECT id FROM ldp_pca.reports_1 ORDER BY id LIMIT 50)");
    let kept = stored(&first);
    let left = || reports.iter().filter(|report| kept.contains(&report.id().to_string()));
    let second = Aggregator::open(&cluster.address(), &[]);
    assert_eq!(second.aggregate(&task), sum(&task, left()));
    assert_eq!(second.metrics.dropped_snapshots.get(), 1);
    assert_eq!(second.query(snapshot), "0");
    // Nor does a sum become one that the table does not bear out.
    first.commit(&task, &reports[200..250]).unwrap();
    first.execute("DELETE FROM ldp_pca.reports_1 WHERE xid = (SELECT max(xid) FROM ldp_pca.reports_1)");
    first.commit(&task, &reports[250..]).unwrap();
    eventually("it starts again", || first.records(&task) == 300);
    let expected = sum(&task, left().chain(&reports[250..]));
    assert_eq!(first.aggregate(&task), expected);
    assert!(missing(&first) > 0);
    eventually("a snapshot is written", || first.query(snapshot) == "300");
    assert_eq!(Aggregator::open(&cluster.address(), &[]).aggregate(&task), expected);
}

#[test]
fn a_full_tablespace_is_not_ready() {
    let task = compact();
    let Some((cluster, [admin])) = start(&task) else { return };
    let Some(disk) = SmallDisk::mount(24) else { return };
    cluster.give(disk.0.path());
    admin.execute(&format!("CREATE TABLESPACE small LOCATION '{}'", disk.0.path().display()));
    admin.execute("CREATE DATABASE reports TABLESPACE small");
    let address = cluster.address().replace("/postgres?", "/reports?");
    let aggregator = Aggregator::open(&address, slice::from_ref(&task));
    let reports = reports(&task, 35, 20);
    aggregator.commit(&task, &reports[..10]).unwrap();
    eventually("it is ready", || aggregator.store.check().is_ok());
    disk.fill();
    // A single page that has room would still be written.
    eventually("it is not ready", || aggregator.store.check().is_err_and(|reason| reason.contains("No space left")));
    std::fs::remove_file(disk.0.path().join("filler")).unwrap();
    eventually("it is ready again", || aggregator.store.check().is_ok());
    assert_eq!(aggregator.commit(&task, &reports[10..]), committed(10, 0));
}
