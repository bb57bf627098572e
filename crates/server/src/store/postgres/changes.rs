//! Changes of tasks and of what is there of them, each in a transaction that has the list of tasks for itself. So
//! whatever several aggregators do at the same time, a campaign has one second wave.

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::error::PostgresError;
use super::schema::{self, ERASED_XID, lock_alone};
use super::snapshots;
use super::sql::{NEW_TASKS, Sql};
use crate::store::{DeletedTask, Erase, ErasedReports, NextWave, Put, RefinementPlan, StoreError, TaskSettings};
use ldp_pca::report::{Report, ReportId};
use ldp_pca::task::{Task, TaskDigest};

/// Adds a task, or gives it other settings if there are some. With a quota its reports are counted. What an
/// aggregator has set of a second wave stays, also where another one has not heard of it yet.
pub(super) async fn put(sql: &Sql<'_>, task: &Task, settings: Option<&TaskSettings>) -> Result<Put, StoreError> {
    let (digest, given) = (task.digest(), settings.cloned().unwrap_or_default());
    let insert = format!(
        "INSERT INTO ldp_pca.tasks (digest, document, settings) VALUES ('{digest}', $1, $2::text::jsonb)
            ON CONFLICT (digest) DO NOTHING RETURNING number"
    );
    let created = sql.rows(&insert, &[(&task.to_json(), Type::TEXT), (&json_of(&given), Type::TEXT)]).await?;
    if let Some(row) = created.first() {
        if let Some(first) = task.refinement().map(|_| task.campaign())
            && let Some(second) = second_waves_of(sql, first).await?.into_iter().find(|second| *second != digest)
        {
            return Err(StoreError::SecondWave { first, second });
        }
        sql.run(&schema::create_reports(row.get(0))).await?;
    }
    let put = if created.is_empty() { Put::Updated } else { Put::Created };
    if put == Put::Updated && settings.is_none() {
        return Ok(put);
    }
    let Some((number, before)) = find(sql, digest).await? else { return Ok(put) };
    let settings = if before.is_closed() { given.with_wave_of(&before) } else { given };
    configure(sql, number, &settings).await?;
    Ok(put)
}

/// Deletes a task: its row moves to `ldp_pca.deleted`, where nobody serves it, and its table is dropped when the grace
/// period is over. The database removes a dropped table's files when this is committed.
pub(super) async fn delete(sql: &Sql<'_>, digest: TaskDigest, erase: Erase) -> Result<bool, StoreError> {
    let found = lock_alone(sql, digest).await?;
    if let Some((number, _)) = &found {
        let delete = format!(
            "INSERT INTO ldp_pca.deleted (number, digest, document, settings, records, erased)
                SELECT number, digest, document, settings, records, erased FROM ldp_pca.tasks WHERE number = {number};
            DELETE FROM ldp_pca.tasks WHERE number = {number};
            {NEW_TASKS}"
        );
        sql.run(&delete).await?;
    }
    let erased = erase == Erase::Now && erase_where(sql, &format!("digest = '{digest}'")).await?;
    Ok(found.is_some() || erased)
}

/// The tasks that were deleted and are not erased yet.
pub(super) async fn deleted(sql: &Sql<'_>) -> Result<Vec<DeletedTask>, StoreError> {
    let query = "SELECT number, digest, extract(epoch FROM deleted)::bigint FROM ldp_pca.deleted";
    let task = |row: &Row| {
        Some(DeletedTask {
            digest: row.get::<_, &str>(1).parse().ok()?,
            key: u64::from(row.get::<_, i32>(0).unsigned_abs()),
            since: row.get::<_, i64>(2).unsigned_abs(),
        })
    };
    Ok(sql.rows(query, &[]).await?.iter().filter_map(task).collect())
}

/// Erases the deleted tasks of which this holds, unless somebody else did, or brought them back; whether there are any.
pub(super) async fn erase_where(sql: &Sql<'_>, condition: &str) -> Result<bool, StoreError> {
    let erase = format!("DELETE FROM ldp_pca.deleted WHERE {condition} RETURNING number");
    let erased = sql.rows(&erase, &[]).await?;
    for row in &erased {
        sql.run(&format!("DROP TABLE IF EXISTS ldp_pca.reports_{}", row.get::<_, i32>(0))).await?;
    }
    Ok(!erased.is_empty())
}

/// Erases the reports of a task with these ids; `None` when there is no such task any more.
///
/// A row keeps its id, which stays refused, and loses its report. They leave the last snapshot too. Every aggregator
/// finds the task's number of erased reports changed, within a second, and starts its sum again from that snapshot.
pub(super) async fn erase_reports(
    sql: &Sql<'_>,
    task: &Task,
    ids: &[ReportId],
) -> Result<Option<ErasedReports>, StoreError> {
    schema::check_durable(sql).await?;
    let Some((number, _)) = lock_alone(sql, task.digest()).await? else { return Ok(None) };
    let mut ids: Vec<&[u8]> = ids.iter().map(|id| &id.as_bytes()[..]).collect();
    ids.sort_unstable();
    ids.dedup();
    let query = format!("SELECT xid, report FROM ldp_pca.reports_{number} WHERE id = ANY($1)");
    let rows = sql.rows(&query, &[(&ids, Type::BYTEA_ARRAY)]).await?;
    let (there, before): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.get::<_, i64>(0) != ERASED_XID);
    let outcome = ErasedReports {
        erased: there.len() as u64,
        before: before.len() as u64,
        unknown: (ids.len() - rows.len()) as u64,
    };
    if there.is_empty() {
        return Ok(Some(outcome));
    }
    let update = format!(
        "UPDATE ldp_pca.reports_{number} SET report = '', xid = {ERASED_XID} WHERE id = ANY($1) AND xid <> {ERASED_XID}"
    );
    sql.rows(&update, &[(&ids, Type::BYTEA_ARRAY)]).await?;
    let counted = there.iter().map(|row| (row.get(0), Report::from_bytes(row.get(1), task).ok())).collect();
    snapshots::take_rows_out(sql, task, number, counted).await?;
    let erased = there.len();
    let count = format!(
        "UPDATE ldp_pca.tasks SET erased = erased + {erased}, records = records - {erased} WHERE number = {number};
        {NEW_TASKS}"
    );
    sql.run(&count).await?;
    Ok(Some(outcome))
}

/// Closes the first wave of a task, unless it is over or there is no such task. Once this is committed, no transaction
/// that read the task's settings before is open: writers hold its lock.
pub(super) async fn close_first_wave(
    sql: &Sql<'_>,
    task: TaskDigest,
    plan: RefinementPlan,
) -> Result<bool, StoreError> {
    let open = find(sql, task).await?.filter(|(_, settings)| !settings.is_closed());
    let Some((number, settings)) = open else { return Ok(false) };
    configure(sql, number, &settings.closing(plan)).await?;
    Ok(true)
}

/// Opens the second wave of a task, which was computed from this many rows of the first. See
/// [`ReportStore::open_second_wave`](crate::store::ReportStore::open_second_wave).
pub(super) async fn open_second_wave(
    sql: &Sql<'_>,
    first: TaskDigest,
    second: &NextWave,
    expected: u64,
) -> Result<Option<(TaskDigest, Put)>, StoreError> {
    let closed = find(sql, first).await?.filter(|(_, settings)| settings.is_closed());
    let Some((number, settings)) = closed else { return Ok(None) };
    let (named, put) = match second_waves_of(sql, first).await?.first() {
        Some(there) => (*there, Put::Updated),
        None => {
            let count = format!("SELECT count(*) FROM ldp_pca.reports_{number} WHERE xid <> {ERASED_XID}");
            let found = sql.row(&count).await?.get::<_, i64>(0).unsigned_abs();
            if found != expected {
                return Err(StoreError::OtherSums { first, found, expected });
            }
            if second.records < second.least {
                configure(sql, number, &settings.reopening()).await?;
                return Ok(None);
            }
            (second.task.digest(), put(sql, &second.task, Some(&settings.of_second_wave())).await?)
        }
    };
    configure(sql, number, &TaskSettings { refined_by: Some(named), ..settings }).await?;
    Ok(Some((named, put)))
}

/// Locks a task, and returns its number and settings.
async fn find(sql: &Sql<'_>, task: TaskDigest) -> Result<Option<(i32, TaskSettings)>, PostgresError> {
    schema::check_durable(sql).await?;
    let Some((number, json)) = lock_alone(sql, task).await? else { return Ok(None) };
    Ok(Some((number, PostgresError::settings(task, &json)?)))
}

async fn configure(sql: &Sql<'_>, number: i32, settings: &TaskSettings) -> Result<(), PostgresError> {
    let update = format!(
        "UPDATE ldp_pca.tasks SET settings = $1::text::jsonb, records = CASE WHEN $1::text::jsonb ? 'max_records'
            THEN coalesce(records, (SELECT count(*) FROM ldp_pca.reports_{number} WHERE xid <> {ERASED_XID})) END
            WHERE number = {number}"
    );
    sql.rows(&update, &[(&json_of(settings), Type::TEXT)]).await?;
    sql.run(NEW_TASKS).await
}

/// The second waves of a task: the one that it names, and those that are there, also where it does not name them.
async fn second_waves_of(sql: &Sql<'_>, first: TaskDigest) -> Result<Vec<TaskDigest>, PostgresError> {
    let query = format!(
        "SELECT settings->>'refined_by' FROM ldp_pca.tasks
            WHERE digest = '{first}' AND settings->>'refined_by' IS NOT NULL
        UNION ALL SELECT digest FROM ldp_pca.tasks WHERE document::json->'refinement'->>'parent' = '{first}'"
    );
    let rows = sql.rows(&query, &[]).await?;
    Ok(rows.iter().filter_map(|row| row.get::<_, &str>(0).parse().ok()).collect())
}

/// The settings as the table has them.
fn json_of(settings: &TaskSettings) -> String {
    serde_json::to_string(settings).expect("settings are numbers, texts and lists")
}
