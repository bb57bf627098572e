//! Sums in the database, so that a start reads the reports since, not all.

use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio_postgres::{Client, types::Type};

use super::PostgresOptions;
use super::error::PostgresError;
use super::schema::SNAPSHOT_LOCKS;
use super::state::Snapshot;
use super::task::Shared;
use crate::aggregate::Aggregate;
use crate::mechanism::LocalRandomizer;
use crate::report::report_bytes;
use crate::task::Task;

/// The most bytes of a sum in one row.
const PART_BYTES: usize = 16 << 20;

/// The last snapshot; the empty sum where there is none, or one that cannot be read: it can be made again from the
/// reports.
pub(super) async fn read(client: &Client, task: &Task, number: i32) -> Result<Snapshot, PostgresError> {
    let rows = client
        .query_typed(
            "SELECT horizon, counted, bytes FROM ldp_pca.snapshots WHERE task = $1 ORDER BY part",
            &[(&number, Type::INT4)],
        )
        .await
        .map_err(PostgresError::query("read a snapshot"))?;
    let bytes: Vec<u8> = rows.iter().flat_map(|row| row.get::<_, &[u8]>(2)).copied().collect();
    Ok(match (rows.first(), Aggregate::from_bytes(&bytes, task)) {
        (Some(row), Ok(aggregate)) => Snapshot { aggregate, horizon: row.get(0), counted: row.get(1) },
        _ => Snapshot { aggregate: Aggregate::empty(task), horizon: 0, counted: Vec::new() },
    })
}

/// Writes a snapshot when there are many reports since the last, of whichever aggregator.
pub(super) async fn write(
    client: &Client,
    shared: &Arc<Shared>,
    options: &PostgresOptions,
) -> Result<(), PostgresError> {
    let records = shared.state.counts().borrow().records;
    let enough = |last: u64| {
        let more = records.saturating_sub(last);
        let bytes = more.saturating_mul(report_bytes(&shared.task) as u64);
        more >= options.snapshot_reports || bytes >= options.snapshot_bytes.max(state_bytes(&shared.task))
    };
    if !enough(shared.last_snapshot()) {
        return Ok(());
    }
    let failed = || PostgresError::query("write a snapshot");
    let number = shared.number;
    client.batch_execute("BEGIN").await.map_err(failed())?;
    let rows = client
        .query_typed(
            "SELECT pg_try_advisory_xact_lock($1, $2),
                coalesce((SELECT records FROM ldp_pca.snapshots WHERE task = $2 AND part = 0), 0)",
            &[(&SNAPSHOT_LOCKS, Type::INT4), (&number, Type::INT4)],
        )
        .await
        .map_err(failed())?;
    let (locked, last) = rows.first().map_or((false, 0), |row| (row.get(0), row.get::<_, i64>(1).unsigned_abs()));
    if !locked || !enough(last) {
        client.batch_execute("ROLLBACK").await.map_err(failed())?;
        shared.set_last_snapshot(last);
        return Ok(());
    }
    let copied = Arc::clone(shared);
    // Copying waits for whoever sums: not on a request thread.
    let copy = spawn_blocking(move || {
        let Snapshot { aggregate, horizon, counted } = copied.state.snapshot();
        (aggregate.to_bytes(), aggregate.records(), horizon, counted)
    });
    let (bytes, records, horizon, counted) = copy.await.expect("a copy is made without a panic");
    client
        .execute_typed("DELETE FROM ldp_pca.snapshots WHERE task = $1", &[(&number, Type::INT4)])
        .await
        .map_err(failed())?;
    for (part, bytes) in bytes.chunks(PART_BYTES).enumerate() {
        client
            .execute_typed(
                // None where the task was deleted meanwhile.
                "INSERT INTO ldp_pca.snapshots (task, part, horizon, counted, records, bytes)
                    SELECT number, $2, $3, $4, $5, $6 FROM ldp_pca.tasks WHERE number = $1",
                &[
                    (&number, Type::INT4),
                    (&(part as i32), Type::INT4),
                    (&horizon, Type::INT8),
                    (&counted, Type::INT8_ARRAY),
                    (&(records as i64), Type::INT8),
                    (&bytes, Type::BYTEA),
                ],
            )
            .await
            .map_err(failed())?;
    }
    client.batch_execute("COMMIT").await.map_err(failed())?;
    shared.set_last_snapshot(records);
    Ok(())
}

fn state_bytes(task: &Task) -> u64 {
    let dimension = task.mechanism().state_dimension() as u64;
    8 * task.folds().count() as u64 * dimension * (dimension + 1) / 2
}
