//! What changes of tasks are made of. Each change is a transaction that has the list of tasks for itself. So whatever
//! several aggregators do at the same time, a campaign has one second wave.

use tokio_postgres::types::Type;

use super::error::PostgresError;
use super::schema::{self, ERASED_XID, lock_alone};
use super::sql::{NEW_TASKS, Sql};
use crate::store::{Put, StoreError, TaskSettings};
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

/// Erases the deleted tasks of which this holds, unless somebody else did, or brought them back; whether there are any.
pub(super) async fn erase_where(sql: &Sql<'_>, condition: &str) -> Result<bool, StoreError> {
    let erase = format!("DELETE FROM ldp_pca.deleted WHERE {condition} RETURNING number");
    let erased = sql.rows(&erase, &[]).await?;
    for row in &erased {
        sql.run(&format!("DROP TABLE IF EXISTS ldp_pca.reports_{}", row.get::<_, i32>(0))).await?;
    }
    Ok(!erased.is_empty())
}

/// Locks a task, and returns its number and settings.
pub(super) async fn find(sql: &Sql<'_>, task: TaskDigest) -> Result<Option<(i32, TaskSettings)>, PostgresError> {
    schema::check_durable(sql).await?;
    let Some((number, json)) = lock_alone(sql, task).await? else { return Ok(None) };
    Ok(Some((number, PostgresError::settings(task, &json)?)))
}

/// Gives a task other settings.
pub(super) async fn configure(sql: &Sql<'_>, number: i32, settings: &TaskSettings) -> Result<(), PostgresError> {
    let update = format!(
        "UPDATE ldp_pca.tasks SET settings = $1::text::jsonb, records = CASE WHEN $1::text::jsonb ? 'max_records'
            THEN coalesce(records, (SELECT count(*) FROM ldp_pca.reports_{number} WHERE xid <> {ERASED_XID})) END
            WHERE number = {number}"
    );
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

/// The settings as the table has them.
fn json_of(settings: &TaskSettings) -> String {
    serde_json::to_string(settings).expect("settings are numbers, texts and lists")
}
