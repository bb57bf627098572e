//! Checksums of the manifest's rows, and their total, so that a changed or missing row is noticed.

use rusqlite::{Connection, params};

use ldp_pca::task::TaskDigest;

/// The reason why the database is not read or changed.
pub(super) type Problem = Box<dyn std::error::Error + Send + Sync>;

/// The tables whose rows are counted, and the column of the task in each.
const COUNTED: [(&str, &str); 3] = [("tasks", "digest"), ("segments", "task"), ("snapshots", "task")];

/// The checksum of a row: of its table's name and every column, each with its length.
pub(super) struct RowChecksum(crc32fast::Hasher);

impl RowChecksum {
    pub(super) fn of(table: &str) -> Self {
        Self(crc32fast::Hasher::new()).bytes(table.as_bytes())
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub(super) fn number(self, number: u64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    pub(super) fn finish(self) -> u32 {
        self.0.finalize()
    }
}

/// Rows of each table, and the sum of their checksums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    rows: [u64; COUNTED.len()],
    sum: u64,
}

impl Tally {
    /// The tally of the rows of one task, or of all.
    pub(super) fn of(connection: &Connection, task: Option<TaskDigest>) -> rusqlite::Result<Self> {
        let mut tally = Self::default();
        for (rows, (table, column)) in tally.rows.iter_mut().zip(COUNTED) {
            let all = format!("SELECT count(*), coalesce(sum(checksum), 0) FROM {table}");
            let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get::<_, u64>(1)?));
            let (count, sum) = match task {
                Some(task) => connection.query_row(&format!("{all} WHERE {column} = ?1"), [task.as_bytes()], read)?,
                None => connection.query_row(&all, [], read)?,
            };
            *rows = count;
            tally.sum = tally.sum.wrapping_add(sum);
        }
        Ok(tally)
    }
}

/// The content of the manifest's own row: the tally of all others, and how often they were changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    tally: Tally,
    pub(super) changes: u64,
}

impl State {
    pub(super) fn read(connection: &Connection) -> Result<Self, Problem> {
        let (mut state, mut checksum) = (Self::default(), 0u32);
        connection.query_row("SELECT * FROM state", [], |row| {
            for (index, rows) in state.tally.rows.iter_mut().enumerate() {
                *rows = row.get(index)?;
            }
            // SQLite has no unsigned numbers.
            state.tally.sum = row.get::<_, i64>(3)?.cast_unsigned();
            state.changes = row.get(4)?;
            checksum = row.get(5)?;
            Ok(())
        })?;
        if checksum == state.checksum() { Ok(state) } else { Err("its state is not what was written".into()) }
    }

    /// Counts a change, and updates the tally of the changed rows.
    pub(super) fn follow(&mut self, before: Tally, after: Tally) {
        for (rows, (before, after)) in self.tally.rows.iter_mut().zip(before.rows.iter().zip(after.rows)) {
            *rows = rows.wrapping_sub(*before).wrapping_add(after);
        }
        self.tally.sum = self.tally.sum.wrapping_sub(before.sum).wrapping_add(after.sum);
        self.changes += 1;
    }

    /// Replaces the previous one.
    pub(super) fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        let Tally { rows: [tasks, segments, snapshots], sum } = self.tally;
        connection.execute("DELETE FROM state", [])?;
        connection.execute(
            "INSERT INTO state VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![tasks, segments, snapshots, sum.cast_signed(), self.changes, self.checksum()],
        )?;
        Ok(())
    }

    /// Checks that every row is there.
    pub(super) fn check(&self, connection: &Connection) -> Result<(), Problem> {
        if self.tally == Tally::of(connection, None)? {
            return Ok(());
        }
        Err("rows are missing from it, or are not what was written".into())
    }

    fn checksum(&self) -> u32 {
        let numbers = self.tally.rows.into_iter().chain([self.tally.sum, self.changes]);
        numbers.fold(RowChecksum::of("state"), RowChecksum::number).finish()
    }
}
