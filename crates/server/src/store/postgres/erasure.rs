//! Erases single reports. A row keeps its id, which stays refused, and loses its report.
//!
//! One transaction takes them out of the table and of the last snapshot. Every aggregator finds the task's number of
//! erased reports changed, within a second, and starts its sum again from that snapshot.

use tokio_postgres::{Client, types::Type};

use super::error::PostgresError;
use super::schema::{self, ERASED_XID, SNAPSHOT_LOCKS, lock_alone};
use super::snapshots;
use super::statements::Statements;
use crate::store::ErasedReports;
use ldp_pca::report::{Report, ReportId};
use ldp_pca::task::Task;

/// Erases the reports of a task with these ids; `None` when there is no such task any more.
pub(super) async fn erase(
    client: &Client,
    task: &Task,
    ids: &[ReportId],
) -> Result<Option<ErasedReports>, PostgresError> {
    schema::check_durable(client).await?;
    let statements = Statements::to("erase reports", client);
    let digest = task.digest().to_string();
    statements.begin().await?;
    let Some(number) = lock_alone(client, &digest).await? else {
        statements.run("ROLLBACK").await?;
        return Ok(None);
    };
    // Nobody writes a snapshot meanwhile.
    statements.run(&format!("SELECT pg_advisory_xact_lock({SNAPSHOT_LOCKS}, {number})")).await?;
    let mut ids: Vec<&[u8]> = ids.iter().map(|id| &id.as_bytes()[..]).collect();
    ids.sort_unstable();
    ids.dedup();
    let query = format!("SELECT xid, report FROM ldp_pca.reports_{number} WHERE id = ANY($1)");
    let rows = statements.rows(&query, &[(&ids, Type::BYTEA_ARRAY)]).await?;
    let (there, before): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.get::<_, i64>(0) != ERASED_XID);
    let outcome = ErasedReports {
        erased: there.len() as u64,
        before: before.len() as u64,
        unknown: (ids.len() - rows.len()) as u64,
    };
    if there.is_empty() {
        statements.run("ROLLBACK").await?;
        return Ok(Some(outcome));
    }
    let update = format!(
        "UPDATE ldp_pca.reports_{number} SET report = '', xid = {ERASED_XID} WHERE id = ANY($1) AND xid <> {ERASED_XID}"
    );
    statements.rows(&update, &[(&ids, Type::BYTEA_ARRAY)]).await?;
    let counted = there.iter().map(|row| (row.get(0), Report::from_bytes(row.get(1), task).ok())).collect();
    snapshots::take_rows_out(client, task, number, counted).await?;
    let count = "UPDATE ldp_pca.tasks SET erased = erased + $2, records = records - $2 WHERE number = $1";
    statements.rows(count, &[(&number, Type::INT4), (&(there.len() as i64), Type::INT8)]).await?;
    statements.run("UPDATE ldp_pca.meta SET tasks_version = tasks_version + 1; COMMIT").await?;
    Ok(Some(outcome))
}
