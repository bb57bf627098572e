//! Erases single reports. A row keeps its id, which stays refused, and loses its report.
//!
//! One transaction takes them out of the table and of the last snapshot. Every aggregator finds the task's number of
//! erased reports changed, within a second, and starts its sum again from that snapshot.

use tokio_postgres::types::Type;

use super::schema::{self, ERASED_XID, lock_alone};
use super::snapshots;
use super::sql::{NEW_TASKS, Sql};
use crate::store::{ErasedReports, StoreError};
use ldp_pca::report::{Report, ReportId};
use ldp_pca::task::Task;

/// Erases the reports of a task with these ids, in the caller's transaction; `None` when there is no such task any
/// more.
pub(super) async fn erase(sql: &Sql<'_>, task: &Task, ids: &[ReportId]) -> Result<Option<ErasedReports>, StoreError> {
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
