//! The rows of the manifest, each with its checksum.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::tally::{Problem, RowChecksum};
use crate::store::TaskSettings;
use ldp_pca::task::TaskDigest;

/// A task in the manifest.
pub(super) struct TaskRow {
    pub(super) digest: TaskDigest,
    pub(super) settings: TaskSettings,
    /// When its deletion started, in seconds since 1970; [`AT_ONCE`](super::manifest::AT_ONCE) if its reports are not
    /// kept for a while, 0 if it did not start.
    pub(super) deleted_at: u64,
}

impl TaskRow {
    /// Whether its deletion has started.
    pub(super) fn is_deleted(&self) -> bool {
        self.deleted_at > 0
    }
}

/// A sealed segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SegmentRow {
    pub(super) number: u64,
    /// Reports in it that are in no segment before it.
    pub(super) reports: u64,
    /// The file.
    pub(super) sealed: Sealed,
    /// The ids of these reports, 16 bytes each.
    pub(super) ids: Vec<u8>,
}

/// The identification of a sealed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sealed {
    /// Its length.
    pub(super) bytes: u64,
    /// CRC-32 of its footer, which covers everything before it.
    pub(super) footer: u32,
}

/// The rows of all tasks.
pub(super) const SELECT_TASKS: &str = "SELECT digest, settings, created, deleted, checksum FROM tasks";

/// A stored row of the tasks.
pub(super) struct StoredTask {
    pub(super) digest: [u8; 32],
    pub(super) settings: String,
    pub(super) created: u64,
    pub(super) deleted_at: u64,
}

impl StoredTask {
    /// A row, if it is intact.
    pub(super) fn read(row: &Row<'_>) -> Result<Self, Problem> {
        let stored = Self { digest: row.get(0)?, settings: row.get(1)?, created: row.get(2)?, deleted_at: row.get(3)? };
        if stored.checksum() == row.get::<_, u32>(4)? {
            return Ok(stored);
        }
        Err(format!("the row of task {} is not what was written", TaskDigest::new(stored.digest)).into())
    }

    pub(super) fn find(connection: &Connection, task: TaskDigest) -> Result<Option<Self>, Problem> {
        let select = format!("{SELECT_TASKS} WHERE digest = ?1");
        connection.query_row(&select, [task.as_bytes()], |row| Ok(Self::read(row))).optional()?.transpose()
    }

    /// Replaces any row of this task.
    pub(super) fn write(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        transaction.execute(
            "INSERT INTO tasks VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (digest) DO UPDATE SET settings = ?2, created = ?3, deleted = ?4, checksum = ?5",
            params![self.digest, self.settings, self.created, self.deleted_at, self.checksum()],
        )?;
        Ok(())
    }

    fn checksum(&self) -> u32 {
        let row = RowChecksum::of("tasks").bytes(&self.digest).bytes(self.settings.as_bytes());
        row.number(self.created).number(self.deleted_at).finish()
    }

    /// The intact rows of a database that may be damaged anywhere.
    pub(super) fn salvage(connection: &Connection) -> Vec<TaskRow> {
        let mut salvaged = Vec::new();
        let mut read = || {
            let mut statement = connection.prepare(&format!("{SELECT_TASKS} NOT INDEXED"))?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                salvaged.extend(Self::read(row).and_then(Self::open));
            }
            Ok::<(), rusqlite::Error>(())
        };
        // Rows after an error are lost.
        let _ = read();
        salvaged
    }

    pub(super) fn open(self) -> Result<TaskRow, Problem> {
        let settings = serde_json::from_str(&self.settings)?;
        Ok(TaskRow { digest: TaskDigest::new(self.digest), settings, deleted_at: self.deleted_at })
    }
}

impl SegmentRow {
    pub(super) fn write(&self, transaction: &Transaction<'_>, task: TaskDigest, sealed: u64) -> rusqlite::Result<()> {
        let Self { number, reports, sealed: Sealed { bytes, footer }, ids } = self;
        transaction.execute(
            "INSERT INTO segments VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![task.as_bytes(), number, reports, bytes, footer, sealed, self.checksum(task, sealed), ids],
        )?;
        Ok(())
    }

    pub(super) fn checksum(&self, task: TaskDigest, sealed: u64) -> u32 {
        let row = RowChecksum::of("segments").bytes(task.as_bytes()).number(self.number).number(self.reports);
        row.number(self.sealed.bytes).number(self.sealed.footer.into()).number(sealed).bytes(&self.ids).finish()
    }
}

pub(super) fn put_part(
    transaction: &Transaction<'_>,
    task: TaskDigest,
    number: u64,
    part: &[u8],
) -> rusqlite::Result<()> {
    let checksum = snapshot_checksum(task, number, part);
    let mut statement = transaction.prepare("INSERT INTO snapshots VALUES (?1, ?2, ?3, ?4)")?;
    statement.execute(params![task.as_bytes(), number, checksum, part])?;
    Ok(())
}

pub(super) fn snapshot_checksum(task: TaskDigest, number: u64, part: &[u8]) -> u32 {
    RowChecksum::of("snapshots").bytes(task.as_bytes()).number(number).bytes(part).finish()
}
