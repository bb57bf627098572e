//! Sums in the database, so that a start reads only the reports since then. A sum of other reports than the table's is
//! worse than none: both writing and reading one count the rows that it covers.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::task::spawn_blocking;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::PostgresOptions;
use super::error::PostgresError;
use super::schema::{ERASED_XID, SNAPSHOT_LOCKS};
use super::sql::Sql;
use super::state::{Covered, Shared, Snapshot};
use crate::locks::hold;
use crate::store::{StoreMetrics, sum_bytes};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::report::{Report, ReportId, report_bytes};
use ldp_pca::task::Task;

/// Bytes of reports after which a snapshot is written: as many as the sum has, where that is more.
const SNAPSHOT_BYTES: u64 = 64 << 20;

/// The most bytes of a sum in one row.
const PART_BYTES: usize = 16 << 20;

impl Covered {
    /// Rows in the table of these transactions that are not in a sum before it.
    async fn rows_since(&self, sql: &Sql<'_>, number: i32, before: &Self) -> Result<i64, PostgresError> {
        let query = format!(
            "SELECT count(*) FROM ldp_pca.reports_{number}
                WHERE xid >= {} AND xid <> ALL($1) AND (xid < {} OR xid = ANY($2))",
            before.horizon, self.horizon
        );
        let parameters = [(&before.counted as _, Type::INT8_ARRAY), (&self.counted as _, Type::INT8_ARRAY)];
        Ok(sql.rows(&query, &parameters).await?.first().map_or(0, |row| row.get(0)))
    }
}

/// The last snapshot; the empty sum where there is none, or one that cannot be read or does not agree with the table:
/// it can be made again from the reports.
pub(super) async fn read(
    client: &Client,
    task: &Task,
    number: i32,
    metrics: &StoreMetrics,
) -> Result<Snapshot, PostgresError> {
    let empty = || Snapshot { aggregate: Aggregate::empty(task), covered: Covered::default() };
    // Both of one moment: reports may be erased between two.
    let sql = Sql::to("read a snapshot", client);
    sql.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    let Some(snapshot) = find(&sql, task, number).await? else {
        sql.run("ROLLBACK").await?;
        return Ok(empty());
    };
    let (counted, found) = (snapshot.rows(), snapshot.covered.rows_since(&sql, number, &Covered::default()).await?);
    sql.run("ROLLBACK").await?;
    if found == counted {
        return Ok(snapshot);
    }
    tracing::error!(
        task = %task.digest(), counted, found,
        "the database's number of reports is not that of its snapshot: the snapshot is dropped, and all \
            reports are read"
    );
    metrics.dropped_snapshots.inc();
    // Not another one that was written meanwhile.
    let (horizon, records) = (snapshot.covered.horizon, snapshot.aggregate.records());
    let place = format!("task = {number} AND horizon = {horizon} AND records = {records}");
    sql.run(&format!("DELETE FROM ldp_pca.snapshots WHERE {place}")).await?;
    Ok(empty())
}

/// The last snapshot, if it can be read.
async fn find(sql: &Sql<'_>, task: &Task, number: i32) -> Result<Option<Snapshot>, PostgresError> {
    let query = format!(
        "SELECT horizon, counted, bytes, passed_over FROM ldp_pca.snapshots WHERE task = {number} ORDER BY part"
    );
    let rows = sql.rows(&query, &[]).await?;
    let bytes: Vec<u8> = rows.iter().flat_map(|row| row.get::<_, &[u8]>(2)).copied().collect();
    let (Some(row), Ok(aggregate)) = (rows.first(), Aggregate::from_bytes(&bytes, task)) else { return Ok(None) };
    let passed_over = row.get::<_, i64>(3).unsigned_abs();
    Ok(Some(Snapshot { aggregate, covered: Covered { horizon: row.get(0), counted: row.get(1), passed_over } }))
}

/// Writes a snapshot when there are many reports since the last, from any aggregator.
pub(super) async fn write(
    client: &Client,
    shared: &Arc<Shared>,
    options: &PostgresOptions,
) -> Result<(), PostgresError> {
    let records = shared.counts.borrow().records;
    let enough = |last: u64| {
        let more = records.saturating_sub(last);
        let bytes = more.saturating_mul(report_bytes(&shared.task) as u64);
        more >= options.snapshot_reports || bytes >= SNAPSHOT_BYTES.max(sum_bytes(&shared.task))
    };
    if !enough(shared.last_snapshot.load(Ordering::Relaxed)) {
        return Ok(());
    }
    let (sql, number) = (Sql::to("write a snapshot", client), shared.number);
    sql.run("BEGIN").await?;
    let locked: bool = sql.row(&format!("SELECT pg_try_advisory_xact_lock({SNAPSHOT_LOCKS}, {number})")).await?.get(0);
    // Under the lock, since it keeps reports from being erased.
    let query = format!(
        "SELECT erased, coalesce((SELECT records FROM ldp_pca.snapshots WHERE task = number AND part = 0), 0)
            FROM ldp_pca.tasks WHERE number = {number}"
    );
    let rows = sql.rows(&query, &[]).await?;
    let (erased, last): (i64, u64) =
        rows.first().map_or((0, 0), |row| (row.get(0), row.get::<_, i64>(1).unsigned_abs()));
    // Reports were erased since the sum was begun: it is about to be read again.
    if !locked || !enough(last) || erased != shared.erased {
        shared.last_snapshot.store(last, Ordering::Relaxed);
        return sql.run("ROLLBACK").await;
    }
    let copied = Arc::clone(shared);
    // Copying waits for a thread that sums, so it is not done on a request thread.
    let copy = spawn_blocking(move || {
        let snapshot = copied.snapshot();
        (snapshot.aggregate.to_bytes(), snapshot)
    });
    let (bytes, snapshot) = copy.await.expect("a copy is made without a panic");
    // Others continue from it, so it must be the sum of the table's reports.
    let (before, rows) = hold(&shared.compared).clone();
    let (counted, found) = (snapshot.rows() - rows, snapshot.covered.rows_since(&sql, number, &before).await?);
    if counted != found {
        return Err(PostgresError::Content(format!(
            "the sum of task {} has {counted} reports more than its last snapshot, but the database has {found}: \
                everything is read again",
            shared.task.digest()
        )));
    }
    put(&sql, number, &snapshot, &bytes).await?;
    sql.run("COMMIT").await?;
    shared.last_snapshot.store(snapshot.aggregate.records(), Ordering::Relaxed);
    *hold(&shared.compared) = (snapshot.covered.clone(), snapshot.rows());
    Ok(())
}

/// Replaces the snapshot of a task, whose sum has these bytes.
async fn put(sql: &Sql<'_>, number: i32, snapshot: &Snapshot, bytes: &[u8]) -> Result<(), PostgresError> {
    let Snapshot { aggregate, covered: Covered { horizon, counted, passed_over } } = snapshot;
    let records = aggregate.records();
    sql.run(&format!("DELETE FROM ldp_pca.snapshots WHERE task = {number}")).await?;
    for (part, bytes) in bytes.chunks(PART_BYTES).enumerate() {
        // No row if the task was deleted meanwhile.
        let insert = format!(
            "INSERT INTO ldp_pca.snapshots (task, part, horizon, counted, records, bytes, passed_over)
                SELECT number, {part}, {horizon}, $1, {records}, $2, {passed_over}
                FROM ldp_pca.tasks WHERE number = {number}"
        );
        sql.rows(&insert, &[(counted, Type::INT8_ARRAY), (&bytes, Type::BYTEA)]).await?;
    }
    Ok(())
}

/// Takes rows out of the last snapshot that are in it, and that the table has no more: each has its transaction, and is
/// a report of the task or is not. The caller's transaction keeps others from writing one.
pub(super) async fn take_rows_out(
    sql: &Sql<'_>,
    task: &Task,
    number: i32,
    rows: Vec<(i64, Option<Report>)>,
) -> Result<(), PostgresError> {
    if let Some(mut snapshot) = find(sql, task, number).await? {
        let Covered { horizon, counted, .. } = &snapshot.covered;
        let is_in = |xid: &i64| xid < horizon || counted.contains(xid);
        let (reports, others): (Vec<_>, Vec<_>) =
            rows.into_iter().filter(|(xid, _)| is_in(xid)).map(|(_, report)| report).partition(Option::is_some);
        let reports: Vec<Report> = reports.into_iter().flatten().collect();
        let query = format!(
            "SELECT id FROM ldp_pca.reports_{number} WHERE xid <> {ERASED_XID} AND (xid < {horizon} OR xid = ANY($1))"
        );
        let left = sql.rows(&query, &[(counted, Type::INT8_ARRAY)]).await?;
        let left = left.iter().filter_map(|row| Some(ReportId::new(row.get::<_, &[u8]>(0).try_into().ok()?)));
        if snapshot.aggregate.subtract(task, &reports, left).is_ok() {
            snapshot.covered.passed_over = snapshot.covered.passed_over.saturating_sub(others.len() as u64);
            let bytes = snapshot.aggregate.to_bytes();
            return put(sql, number, &snapshot, &bytes).await;
        }
    }
    // It was not the sum of the table's reports, or cannot be read: it is made again.
    sql.run(&format!("DELETE FROM ldp_pca.snapshots WHERE task = {number}")).await
}
