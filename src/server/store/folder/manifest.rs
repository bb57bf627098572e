//! What the folder's SQLite database holds: the tasks, their sealed segments with the ids in them, and the sum of all
//! these.
//!
//! Everything in it but the settings follows from the files beside it; it is there so that a start need not read them.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::disk::Disk;
use crate::aggregate::Aggregate;
use crate::server::store::{StoreError, TaskSettings};
use crate::task::{Task, TaskDigest};

/// A value of SQLite may have a gigabyte; a snapshot may have more.
const PART_BYTES: usize = 16 << 20;

/// The tables' version.
const VERSION: i64 = 2;

const TABLES: &str = "
    CREATE TABLE tasks (
        digest BLOB PRIMARY KEY,
        settings TEXT NOT NULL,
        created INTEGER NOT NULL,
        deleted INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE segments (
        task BLOB NOT NULL,
        number INTEGER NOT NULL,
        reports INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        sealed INTEGER NOT NULL,
        ids BLOB NOT NULL,
        PRIMARY KEY (task, number)
    ) STRICT;
    CREATE TABLE snapshots (
        task BLOB NOT NULL,
        part INTEGER NOT NULL,
        bytes BLOB NOT NULL,
        PRIMARY KEY (task, part)
    ) STRICT;
    PRAGMA user_version = 2;
";

/// The database.
pub(super) struct Manifest {
    pub(super) path: PathBuf,
    connection: Mutex<Connection>,
}

/// A task in the manifest.
pub(super) struct TaskRow {
    pub(super) digest: TaskDigest,
    pub(super) settings: TaskSettings,
    /// Whether its deletion has begun.
    pub(super) deleted: bool,
}

/// A sealed segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SegmentRow {
    pub(super) number: u64,
    /// Reports in it that are in no segment before it.
    pub(super) reports: u64,
    /// The length of the file.
    pub(super) bytes: u64,
    /// The ids of these reports, 16 bytes each.
    pub(super) ids: Vec<u8>,
}

impl Manifest {
    /// Opens the database; `create` makes it if it is not there.
    pub(super) fn open(disk: &dyn Disk, path: &Path, create: bool) -> Result<Self, StoreError> {
        let failed = |source| StoreError::manifest(path, source);
        let connection = disk.database(path, create).map_err(failed)?;
        let prepare = || {
            // Durable when a transaction returns, and nothing deleted can be found in the file. Room is given back when
            // a task is deleted.
            connection.execute_batch(
                "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                 PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF;",
            )?;
            let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            if version == 0 && create {
                connection.execute_batch(&format!("BEGIN IMMEDIATE; {TABLES} COMMIT;"))?;
                return Ok(VERSION);
            }
            Ok(version)
        };
        match prepare().map_err(failed)? {
            VERSION => Ok(Self { path: path.to_owned(), connection: Mutex::new(connection) }),
            found => Err(StoreError::manifest(
                path,
                rusqlite::Error::InvalidParameterName(format!("its tables have version {found} instead of {VERSION}")),
            )),
        }
    }

    /// Every task, in the order of their digests.
    pub(super) fn tasks(&self) -> Result<Vec<TaskRow>, StoreError> {
        let connection = self.hold();
        let read = || {
            let mut statement = connection.prepare("SELECT digest, settings, deleted FROM tasks ORDER BY digest")?;
            let rows = statement.query_map([], |row| {
                Ok((row.get::<_, [u8; 32]>(0)?, row.get::<_, String>(1)?, row.get::<_, bool>(2)?))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let rows = read().map_err(|source| self.failed(source))?;
        let rows = rows.into_iter().map(|(digest, settings, deleted)| {
            let settings =
                serde_json::from_str(&settings).map_err(|source| StoreError::manifest(&self.path, source))?;
            Ok(TaskRow { digest: TaskDigest::new(digest), settings, deleted })
        });
        rows.collect()
    }

    /// Adds a task, or gives it other settings.
    pub(super) fn put(&self, task: TaskDigest, settings: &TaskSettings) -> Result<(), StoreError> {
        let settings = serde_json::to_string(settings).map_err(|source| StoreError::manifest(&self.path, source))?;
        self.transact(|transaction| {
            transaction.execute(
                "INSERT INTO tasks VALUES (?1, ?2, ?3, 0) ON CONFLICT (digest) DO UPDATE SET settings = ?2",
                params![task.as_bytes(), settings, now()],
            )
        })?;
        Ok(())
    }

    /// Notes that a task is being deleted, so that the next start finishes it.
    pub(super) fn bury(&self, task: TaskDigest) -> Result<(), StoreError> {
        self.transact(|transaction| {
            transaction.execute("UPDATE tasks SET deleted = 1 WHERE digest = ?1", [task.as_bytes()])
        })?;
        Ok(())
    }

    /// Forgets the segments of a task and their sum, so that the next start reads them all.
    pub(super) fn clear(&self, task: TaskDigest) -> Result<(), StoreError> {
        self.transact(|transaction| {
            transaction.execute("DELETE FROM snapshots WHERE task = ?1", [task.as_bytes()])?;
            transaction.execute("DELETE FROM segments WHERE task = ?1", [task.as_bytes()])
        })?;
        Ok(())
    }

    /// Reads the whole database.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let found = self.hold().query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0));
        match found.map_err(|source| self.failed(source))? {
            found if found == "ok" => Ok(()),
            found => Err(StoreError::manifest(&self.path, found)),
        }
    }

    /// Removes everything about a task.
    pub(super) fn forget(&self, task: TaskDigest) -> Result<(), StoreError> {
        self.transact(|transaction| {
            transaction.execute("DELETE FROM snapshots WHERE task = ?1", [task.as_bytes()])?;
            transaction.execute("DELETE FROM segments WHERE task = ?1", [task.as_bytes()])?;
            transaction.execute("DELETE FROM tasks WHERE digest = ?1", [task.as_bytes()])
        })?;
        // What was deleted is gone from the database; now from its log too, and the room is given back.
        let tidied = self.hold().execute_batch("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);");
        tidied.map_err(|source| self.failed(source))
    }

    /// The sealed segments of a task in their order.
    pub(super) fn segments(&self, task: TaskDigest) -> Result<Vec<SegmentRow>, StoreError> {
        let connection = self.hold();
        let read = || {
            let mut statement = connection
                .prepare("SELECT number, reports, bytes, ids FROM segments WHERE task = ?1 ORDER BY number")?;
            let rows = statement.query_map([task.as_bytes()], |row| {
                Ok(SegmentRow { number: row.get(0)?, reports: row.get(1)?, bytes: row.get(2)?, ids: row.get(3)? })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let rows = read().map_err(|source| self.failed(source))?;
        match rows.iter().find(|row| row.ids.len() as u64 != 16 * row.reports) {
            None => Ok(rows),
            Some(row) => Err(StoreError::manifest(
                &self.path,
                format!(
                    "segment {} of task {task} has {} reports and {} bytes of ids",
                    row.number,
                    row.reports,
                    row.ids.len()
                ),
            )),
        }
    }

    /// The sum of the sealed segments of a task.
    pub(super) fn snapshot(&self, task: &Task) -> Result<Aggregate, StoreError> {
        let connection = self.hold();
        let read = || {
            let mut statement = connection.prepare("SELECT bytes FROM snapshots WHERE task = ?1 ORDER BY part")?;
            let mut rows = statement.query([task.digest().as_bytes()])?;
            let mut bytes = Vec::new();
            while let Some(row) = rows.next()? {
                bytes.extend_from_slice(row.get_ref(0)?.as_blob()?);
            }
            Ok(bytes)
        };
        let bytes = read().map_err(|source: rusqlite::Error| self.failed(source))?;
        if bytes.is_empty() {
            return Ok(Aggregate::empty(task));
        }
        Aggregate::from_bytes(&bytes, task).map_err(|source| StoreError::manifest(&self.path, source))
    }

    /// Notes sealed segments, and the sum up to the end of the last in the place of the one before it.
    pub(super) fn seal(&self, segments: &[SegmentRow], aggregate: &Aggregate) -> Result<(), StoreError> {
        let task = aggregate.task();
        self.transact(|transaction| {
            for SegmentRow { number, reports, bytes, ids } in segments {
                transaction.execute(
                    "INSERT INTO segments VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    params![task.as_bytes(), number, reports, bytes, now(), ids],
                )?;
            }
            put_snapshot(transaction, aggregate)
        })
    }

    /// Closes the database, its log written back into it.
    pub(super) fn close(&self) {
        // What is not written back now is at the next start.
        let _ = self.hold().execute_batch("PRAGMA wal_checkpoint(TRUNCATE);");
    }

    /// Whether a task is there, being deleted or not.
    pub(super) fn is_deleted(&self, task: TaskDigest) -> Result<Option<bool>, StoreError> {
        let deleted = self
            .hold()
            .query_row("SELECT deleted FROM tasks WHERE digest = ?1", [task.as_bytes()], |row| row.get(0))
            .optional();
        deleted.map_err(|source| self.failed(source))
    }

    fn transact<T>(&self, change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let mut connection = self.hold();
        let run = || {
            let transaction = connection.transaction()?;
            let changed = change(&transaction)?;
            transaction.commit()?;
            Ok(changed)
        };
        run().map_err(|source: rusqlite::Error| self.failed(source))
    }

    fn failed(&self, source: rusqlite::Error) -> StoreError {
        StoreError::manifest(&self.path, source)
    }

    /// A transaction that a panic cut short was undone when it was dropped.
    fn hold(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn put_snapshot(transaction: &Transaction<'_>, aggregate: &Aggregate) -> rusqlite::Result<()> {
    let task = aggregate.task();
    transaction.execute("DELETE FROM snapshots WHERE task = ?1", [task.as_bytes()])?;
    let mut statement = transaction.prepare("INSERT INTO snapshots VALUES (?1, ?2, ?3)")?;
    let (mut part, mut number) = (Vec::new(), 0);
    aggregate.visit_bytes(|bytes| {
        part.extend_from_slice(bytes);
        if part.len() >= PART_BYTES {
            statement.execute(params![task.as_bytes(), number, part])?;
            number += 1;
            part.clear();
        }
        Ok::<(), rusqlite::Error>(())
    })?;
    if !part.is_empty() {
        statement.execute(params![task.as_bytes(), number, part])?;
    }
    Ok(())
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
