//! Second waves. Whatever several aggregators do at the same time, a campaign has one: each opens it in a transaction
//! that holds the first wave's task alone.

use tokio_postgres::{Client, types::Type};

use super::error::PostgresError;
use super::schema::{self, ERASED_XID, lock_alone};
use super::statements::Statements;
use super::{NEW_TASKS, json_of, put_in_transaction};
use crate::store::{NextWave, Put, RefinementPlan, TaskSettings};
use ldp_pca::task::{Task, TaskDigest};

/// Closes the first wave of a task, unless it is over or there is no such task. Once this returns, no transaction that
/// read the task's settings before is open: writers hold its lock.
pub(super) async fn close(client: &Client, task: TaskDigest, plan: RefinementPlan) -> Result<bool, PostgresError> {
    let digest = task.to_string();
    let Some((number, settings)) = begin(client, &digest).await?.filter(|(_, settings)| !settings.is_closed()) else {
        return roll_back(client, false).await;
    };
    configure(client, number, &json_of(&digest, &settings.closing(plan))?).await?;
    Ok(true)
}

/// Opens the second wave of a task, which was computed from this many rows of the first. See
/// [`ReportStore::open_second_wave`](crate::store::ReportStore::open_second_wave).
pub(super) async fn open(
    client: &Client,
    first: TaskDigest,
    second: &NextWave,
    rows: u64,
) -> Result<Option<(TaskDigest, Put)>, PostgresError> {
    let digest = first.to_string();
    let Some((number, settings)) = begin(client, &digest).await?.filter(|(_, settings)| settings.is_closed()) else {
        return roll_back(client, None).await;
    };
    if let Some(there) = settings.refined_by {
        return roll_back(client, Some((there, Put::Updated))).await;
    }
    let (named, put) = match second_waves_of(client, first).await?.first().map(Task::digest) {
        Some(there) => (there, Put::Updated),
        None => {
            let found = rows_of(client, number).await?;
            if found != rows {
                let reason = format!("{found} reports are there, and the sums have {rows}: they are not complete yet");
                return Err(PostgresError::Query { action: "open a second wave", reason });
            }
            if second.records < second.least {
                configure(client, number, &json_of(&digest, &settings.reopening())?).await?;
                return Ok(None);
            }
            let put = put_in_transaction(client, &second.task, Some(&settings.of_second_wave())).await?;
            (second.task.digest(), put)
        }
    };
    let naming = TaskSettings { refined_by: Some(named), ..settings };
    configure(client, number, &json_of(&digest, &naming)?).await?;
    Ok(Some((named, put)))
}

/// Begins a transaction that holds the task's lock alone, and reads its number and settings.
async fn begin(client: &Client, digest: &str) -> Result<Option<(i32, TaskSettings)>, PostgresError> {
    schema::check_durable(client).await?;
    let statements = Statements::to("read a task's settings", client);
    statements.begin().await?;
    let Some(number) = lock_alone(client, digest).await? else { return Ok(None) };
    let query = "SELECT settings::text FROM ldp_pca.tasks WHERE number = $1";
    let rows = statements.rows(query, &[(&number, Type::INT4)]).await?;
    // Somebody may have deleted it before the lock was there.
    let Some(row) = rows.first() else { return Ok(None) };
    Ok(Some((number, PostgresError::settings(digest, row.get(0))?)))
}

async fn roll_back<T>(client: &Client, outcome: T) -> Result<T, PostgresError> {
    Statements::to("end a transaction", client).run("ROLLBACK").await?;
    Ok(outcome)
}

/// Sets the settings, and ends the transaction.
async fn configure(client: &Client, number: i32, json: &str) -> Result<(), PostgresError> {
    let statements = Statements::to("store a task's settings", client);
    let update = "UPDATE ldp_pca.tasks SET settings = $2::text::jsonb WHERE number = $1";
    statements.rows(update, &[(&number, Type::INT4), (&json, Type::TEXT)]).await?;
    statements.run(&format!("{NEW_TASKS}; COMMIT")).await
}

/// Checks, in the transaction that adds a second wave, that its campaign has no other one.
pub(super) async fn check_only(client: &Client, added: &Task) -> Result<(), PostgresError> {
    let (first, digest) = (added.campaign(), added.digest());
    let statements = Statements::to("look for a second wave", client);
    let query = "SELECT settings->>'refined_by' FROM ldp_pca.tasks WHERE digest = $1";
    let rows = statements.rows(query, &[(&first.to_string(), Type::TEXT)]).await?;
    let named = rows.first().and_then(|row| row.get::<_, Option<&str>>(0)?.parse::<TaskDigest>().ok());
    let there = second_waves_of(client, first).await?;
    match named.into_iter().chain(there.iter().map(Task::digest)).find(|second| *second != digest) {
        Some(second) => Err(PostgresError::SecondWave { first, second }),
        None => Ok(()),
    }
}

/// The second waves of a task that the database has, also where the first does not name them.
async fn second_waves_of(client: &Client, first: TaskDigest) -> Result<Vec<Task>, PostgresError> {
    let statements = Statements::to("look for a second wave", client);
    let query = "SELECT document FROM ldp_pca.tasks WHERE position($1 IN document) > 0 ORDER BY number";
    let rows = statements.rows(query, &[(&first.to_string(), Type::TEXT)]).await?;
    let tasks = rows.iter().filter_map(|row| Task::from_json(row.get(0)).ok());
    Ok(tasks.filter(|task| task.refinement().is_some() && task.campaign() == first).collect())
}

/// The number of a task's reports, without those that were erased.
async fn rows_of(client: &Client, number: i32) -> Result<u64, PostgresError> {
    let query = format!("SELECT count(*) FROM ldp_pca.reports_{number} WHERE xid <> {ERASED_XID}");
    let rows = Statements::to("count reports", client).rows(&query, &[]).await?;
    Ok(rows.first().map_or(0, |row| row.get::<_, i64>(0)).unsigned_abs())
}
