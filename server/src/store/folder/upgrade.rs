//! Upgrades the manifest from the previous format: every row gets a checksum.
//!
//! One transaction does it. The file `format` is written afterwards, when every task has all of its files; until then a
//! start continues where the last one stopped.

use std::io;
use std::path::Path;

use rusqlite::{Connection, Transaction};

use super::disk::Disk;
use super::rows::{Sealed, SegmentRow, StoredTask, put_part};
use super::segment::{sealed_as, sealed_path};
use super::tables::make_tables;
use super::tally::{Problem, State, Tally};
use crate::store::StoreError;
use ldp_pca::task::TaskDigest;

const OLD_TABLES: [&str; 3] = ["tasks", "segments", "snapshots"];

/// Upgrades a database of the old version.
pub(super) fn upgrade(disk: &dyn Disk, path: &Path, connection: &mut Connection) -> Result<(), StoreError> {
    let failed = |problem: Problem| StoreError::manifest(path, problem);
    let transaction = connection.transaction().map_err(|error| failed(error.into()))?;
    let prepare = || {
        for table in OLD_TABLES {
            transaction.execute(&format!("ALTER TABLE {table} RENAME TO old_{table}"), [])?;
        }
        make_tables(&transaction)
    };
    prepare().map_err(|error| failed(error.into()))?;
    let copied = copy_tasks(&transaction).and_then(|()| copy_snapshots(&transaction));
    copied.map_err(|error| failed(error.into()))?;
    copy_segments(disk, path, &transaction)?;
    let finish = || {
        OLD_TABLES
            .iter()
            .try_for_each(|table| transaction.execute(&format!("DROP TABLE old_{table}"), []).map(drop))?;
        let mut state = State::default();
        state.follow(Tally::default(), Tally::of(&transaction, None)?);
        state.write(&transaction)
    };
    finish().and_then(|()| transaction.commit()).map_err(|error| failed(error.into()))?;
    // The space of the old tables is released.
    let tidied = connection.execute_batch("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);");
    tidied.map_err(|error| failed(error.into()))
}

fn copy_tasks(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare("SELECT digest, settings, created, deleted FROM old_tasks")?;
    statement.query_and_then([], |row| StoredTask::copy(row)?.write(transaction))?.collect()
}

fn copy_snapshots(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare("SELECT task, part, bytes FROM old_snapshots")?;
    let copied = statement.query_and_then([], |row| {
        put_part(transaction, TaskDigest::new(row.get(0)?), row.get(1)?, row.get_ref(2)?.as_blob()?)
    })?;
    copied.collect()
}

/// Records the footer of each segment; 0 for a file that is not as it was sealed, which the start reports.
fn copy_segments(disk: &dyn Disk, path: &Path, transaction: &Transaction<'_>) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| StoreError::manifest(path, error);
    let select = "SELECT task, number, reports, bytes, sealed, ids FROM old_segments ORDER BY task, number";
    let mut statement = transaction.prepare(select).map_err(failed)?;
    let mut rows = statement.query([]).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        let copy = || {
            let task = TaskDigest::new(row.get(0)?);
            Ok((task, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
        };
        let (task, number, reports, bytes, time, ids) = copy().map_err(failed)?;
        let segment = sealed_path(&path.with_file_name("tasks").join(task.to_string()), number);
        let sealed = match sealed_as(disk, &segment) {
            Ok(sealed) if sealed.bytes == bytes => sealed,
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io("read", &segment, error));
            }
            _ => Sealed { bytes, footer: 0 },
        };
        SegmentRow { number, reports, sealed, ids }.write(transaction, task, time).map_err(failed)?;
    }
    Ok(())
}
