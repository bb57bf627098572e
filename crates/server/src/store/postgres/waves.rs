//! Second waves. Whatever several aggregators do at the same time, a campaign has one: each opens it in a transaction
//! that has the list of tasks for itself, and holds the first wave's task alone.

use tokio_postgres::types::Type;

use super::error::PostgresError;
use super::schema::{self, ERASED_XID, lock_alone};
use super::sql::{NEW_TASKS, Sql};
use super::{json_of, put};
use crate::store::{NextWave, Put, RefinementPlan, StoreError, TaskSettings};
use ldp_pca::task::TaskDigest;

/// Closes the first wave of a task, unless it is over or there is no such task. Once this is committed, no transaction
/// that read the task's settings before is open: writers hold its lock.
pub(super) async fn close(sql: &Sql<'_>, task: TaskDigest, plan: RefinementPlan) -> Result<bool, StoreError> {
    let open = find(sql, task).await?.filter(|(_, settings)| !settings.is_closed());
    let Some((number, settings)) = open else { return Ok(false) };
    configure(sql, number, &settings.closing(plan)).await?;
    Ok(true)
}

/// Opens the second wave of a task, which was computed from this many rows of the first. See
/// [`ReportStore::open_second_wave`](crate::store::ReportStore::open_second_wave).
pub(super) async fn open(
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
    let update = format!("UPDATE ldp_pca.tasks SET settings = $1::text::jsonb WHERE number = {number}");
    sql.rows(&update, &[(&json_of(settings), Type::TEXT)]).await?;
    sql.run(NEW_TASKS).await
}

/// The second waves of a task: the one that it names, and those that are there, also where it does not name them.
pub(super) async fn second_waves_of(sql: &Sql<'_>, first: TaskDigest) -> Result<Vec<TaskDigest>, PostgresError> {
    let query = format!(
        "SELECT settings->>'refined_by' FROM ldp_pca.tasks
            WHERE digest = '{first}' AND settings->>'refined_by' IS NOT NULL
        UNION ALL SELECT digest FROM ldp_pca.tasks WHERE document::json->'refinement'->>'parent' = '{first}'"
    );
    let rows = sql.rows(&query, &[]).await?;
    Ok(rows.iter().filter_map(|row| row.get::<_, &str>(0).parse().ok()).collect())
}
