//! Deletion of a task: its row moves to `ldp_pca.deleted`, where nobody serves it, and its table is dropped when the
//! grace period is over.

use tokio_postgres::Client;

use super::error::PostgresError;
use super::schema::{SNAPSHOT_LOCKS, lock_alone};
use super::statements::Statements;
use crate::store::{DeletedTask, Erase};
use ldp_pca::task::TaskDigest;

/// Deletes a task. The database removes a dropped table's files when this is committed.
pub(super) async fn delete(client: &Client, digest: TaskDigest, erase: Erase) -> Result<bool, PostgresError> {
    let statements = Statements::to("delete a task", client);
    let digest = digest.to_string();
    statements.begin().await?;
    let number = lock_alone(client, &digest).await?;
    if let Some(number) = number {
        // Whoever writes a snapshot has its rows and waits for the task's; a deletion has these, and waits for those.
        statements.run(&format!("SELECT pg_advisory_xact_lock({SNAPSHOT_LOCKS}, {number})")).await?;
        let delete = format!(
            "INSERT INTO ldp_pca.deleted (number, digest, document, settings, records)
                SELECT number, digest, document, settings, records FROM ldp_pca.tasks WHERE number = {number};
            DELETE FROM ldp_pca.tasks WHERE number = {number};
            UPDATE ldp_pca.meta SET tasks_version = tasks_version + 1"
        );
        statements.run(&delete).await?;
    }
    let erased = erase == Erase::Now && erase_where(client, &format!("digest = '{digest}'")).await?;
    statements.run("COMMIT").await?;
    Ok(number.is_some() || erased)
}

/// The tasks that were deleted and are not erased yet.
pub(super) async fn deleted(client: &Client) -> Result<Vec<DeletedTask>, PostgresError> {
    let query = "SELECT number, digest, extract(epoch FROM deleted)::bigint FROM ldp_pca.deleted";
    let rows = Statements::to("list deleted tasks", client).rows(query, &[]).await?;
    let task = |row: &tokio_postgres::Row| {
        Some(DeletedTask {
            digest: row.get::<_, &str>(1).parse().ok()?,
            key: u64::from(row.get::<_, i32>(0).unsigned_abs()),
            since: row.get::<_, i64>(2).unsigned_abs(),
        })
    };
    Ok(rows.iter().filter_map(task).collect())
}

/// Erases one of them, unless somebody else did, or it was brought back.
pub(super) async fn erase(client: &Client, task: &DeletedTask) -> Result<(), PostgresError> {
    let statements = Statements::to("erase a deleted task", client);
    statements.begin().await?;
    erase_where(client, &format!("number = {}", task.key)).await?;
    statements.run("COMMIT").await
}

/// Erases the deleted tasks of which this holds; whether there are any.
async fn erase_where(client: &Client, condition: &str) -> Result<bool, PostgresError> {
    let statements = Statements::to("erase a deleted task", client);
    let erase = format!("DELETE FROM ldp_pca.deleted WHERE {condition} RETURNING number");
    let erased = statements.rows(&erase, &[]).await?;
    for row in &erased {
        let number: i32 = row.get(0);
        statements.run(&format!("DROP TABLE IF EXISTS ldp_pca.reports_{number}")).await?;
    }
    Ok(!erased.is_empty())
}
