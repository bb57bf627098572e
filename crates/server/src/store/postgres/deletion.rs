//! Deletion of a task: its row moves to `ldp_pca.deleted`, where nobody serves it, and its table is dropped when the
//! grace period is over. All of it in the caller's transaction, which has the list of tasks for itself.

use tokio_postgres::Row;

use super::schema::lock_alone;
use super::sql::{NEW_TASKS, Sql};
use crate::store::{DeletedTask, Erase, StoreError};
use ldp_pca::task::TaskDigest;

/// Deletes a task. The database removes a dropped table's files when this is committed.
pub(super) async fn delete(sql: &Sql<'_>, digest: TaskDigest, erase: Erase) -> Result<bool, StoreError> {
    let found = lock_alone(sql, digest).await?;
    if let Some((number, _)) = &found {
        let delete = format!(
            "INSERT INTO ldp_pca.deleted (number, digest, document, settings, records)
                SELECT number, digest, document, settings, records FROM ldp_pca.tasks WHERE number = {number};
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
