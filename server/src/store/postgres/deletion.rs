//! Deleting a task: its row moves to `ldp_pca.deleted`, where nobody serves it, and its table is dropped when the grace
//! is over.

use tokio_postgres::{Client, types::Type};

use super::error::PostgresError;
use super::schema::{LOCKS, lock_alone};
use crate::store::{DeletedTask, Erase};
use ldp_pca::task::TaskDigest;

/// Deletes a task. Files of a table that is dropped the database removes when this is committed.
pub(super) async fn delete(client: &Client, digest: TaskDigest, erase: Erase) -> Result<bool, PostgresError> {
    let failed = || PostgresError::query("delete a task");
    let digest = digest.to_string();
    client.batch_execute(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCKS}, 0)")).await.map_err(failed())?;
    let number = lock_alone(client, &digest).await?;
    if let Some(number) = number {
        let delete = format!(
            "INSERT INTO ldp_pca.deleted (number, digest, document, settings, records)
                SELECT number, digest, document, settings, records FROM ldp_pca.tasks WHERE number = {number};
            DELETE FROM ldp_pca.tasks WHERE number = {number};
            UPDATE ldp_pca.meta SET tasks_version = tasks_version + 1"
        );
        client.batch_execute(&delete).await.map_err(failed())?;
    }
    let mut erased = false;
    if erase == Erase::Now {
        let query = "DELETE FROM ldp_pca.deleted WHERE digest = $1 RETURNING number";
        for row in client.query_typed(query, &[(&digest, Type::TEXT)]).await.map_err(failed())? {
            drop_reports(client, row.get(0)).await?;
            erased = true;
        }
    }
    client.batch_execute("COMMIT").await.map_err(failed())?;
    Ok(number.is_some() || erased)
}

/// The tasks that were deleted and are not erased yet.
pub(super) async fn deleted(client: &Client) -> Result<Vec<DeletedTask>, PostgresError> {
    let query = "SELECT number, digest, extract(epoch FROM deleted)::bigint FROM ldp_pca.deleted";
    let rows = client.query_typed(query, &[]).await.map_err(PostgresError::query("list deleted tasks"))?;
    let task = |row: &tokio_postgres::Row| {
        Some(DeletedTask {
            digest: TaskDigest::from_hex(row.get(1))?,
            key: u64::from(row.get::<_, i32>(0).unsigned_abs()),
            since: row.get::<_, i64>(2).unsigned_abs(),
        })
    };
    Ok(rows.iter().filter_map(task).collect())
}

/// Erases one of them, unless somebody else did, or it was brought back.
pub(super) async fn erase(client: &Client, task: &DeletedTask) -> Result<(), PostgresError> {
    let failed = || PostgresError::query("erase a deleted task");
    client.batch_execute(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCKS}, 0)")).await.map_err(failed())?;
    let erase = format!("DELETE FROM ldp_pca.deleted WHERE number = {} RETURNING number", task.key);
    for row in client.query_typed(&erase, &[]).await.map_err(failed())? {
        drop_reports(client, row.get(0)).await?;
    }
    client.batch_execute("COMMIT").await.map_err(failed())
}

async fn drop_reports(client: &Client, number: i32) -> Result<(), PostgresError> {
    let drop = format!("DROP TABLE IF EXISTS ldp_pca.reports_{number}");
    client.batch_execute(&drop).await.map_err(PostgresError::query("erase a deleted task"))
}
