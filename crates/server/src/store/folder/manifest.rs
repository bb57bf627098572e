//! The folder's SQLite database: the tasks, their sealed segments with the ids in them, and the sum of all these.
//!
//! Everything in it except the settings follows from the files beside it; it exists so that a start need not read them.
//! Every row has a checksum, and one row holds the number of rows and the total of their checksums (`tally`). So
//! opening it notices what the disk changed, and refuses it.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, Transaction};

use super::disk::Disk;
use super::format::Age;
use super::rows::{SELECT_TASKS, Sealed, SegmentRow, StoredTask, TaskRow, put_part, snapshot_checksum};
use super::sizes::Sizes;
use super::slots::{Found, Slots};
use super::tables::{TABLES, VERSION, make_tables};
use super::tally::{Problem, State, Tally};
use crate::locks::hold;
use crate::store::{At, StoreError, TaskSettings};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::task::{Task, TaskDigest};

/// The file beside the database that counts its changes: SQLite silently skips damage in its log.
const CHANGES: &str = "store.sqlite-changes";

/// In place of a time: the reports of a deleted task are erased at once.
pub(super) const AT_ONCE: u64 = 1;

/// The database.
pub(super) struct Manifest {
    pub(super) path: PathBuf,
    /// What cannot be known about it, if anything: the file that counts its changes cannot be read.
    pub(super) doubt: Option<String>,
    /// Bytes of a snapshot that are in one row.
    part_bytes: usize,
    inner: Mutex<Inner>,
}

struct Inner {
    connection: Connection,
    /// Counts changes, unless none may be made.
    counter: Option<Slots<1>>,
}

impl Manifest {
    /// Opens the database of a folder, and creates it in a new one. An error if anything in it is not intact.
    pub(super) fn open(disk: &dyn Disk, path: &Path, age: Age) -> Result<Self, StoreError> {
        let failed = |problem: Problem| StoreError::manifest(path, problem);
        let mut connection = disk.database(path, age == Age::New).map_err(|error| failed(error.into()))?;
        let version = prepare(&mut connection, age == Age::New).map_err(failed)?;
        if version != VERSION {
            let problem = format!("its tables have version {version} instead of {VERSION}");
            return Err(failed(problem.into()));
        }
        let state = check(&connection).map_err(failed)?;
        let counted = Found::<1>::read(disk, &path.with_file_name(CHANGES), CHANGES.as_bytes());
        let counted = counted.at("read", &path.with_file_name(CHANGES))?;
        let doubt = match counted.and_then(|found| found.numbers) {
            Some([changes]) if changes > state.changes => {
                let lost = changes - state.changes;
                return Err(failed(format!("the last {lost} of its {changes} changes are not in it").into()));
            }
            None if age == Age::Current => {
                let problem = format!("{CHANGES} is missing or damaged: the last changes of the manifest may be lost");
                Some(problem)
            }
            _ => None,
        };
        let (path, part_bytes) = (path.to_owned(), Sizes::default().snapshot_part);
        Ok(Self { path, doubt, part_bytes, inner: Mutex::new(Inner { connection, counter: None }) })
    }

    /// With snapshots in rows of this many bytes or a little more.
    pub(super) fn with_parts(self, part_bytes: usize) -> Self {
        Self { part_bytes, ..self }
    }

    /// From now on each change is also counted beside the database. Nothing is changed before.
    pub(super) fn count_changes(&self, disk: &dyn Disk) -> Result<(), StoreError> {
        let mut inner = hold(&self.inner);
        let state = State::read(&inner.connection).map_err(|problem| self.failed(problem))?;
        let (path, numbers) = (self.path.with_file_name(CHANGES), [state.changes]);
        let kind = CHANGES.as_bytes();
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let open = || Slots::resume(disk, folder, CHANGES, kind, Found::read(disk, &path, kind)?, numbers);
        inner.counter = Some(open().at("write", &path)?);
        Ok(())
    }

    /// Every task, in the order of their digests.
    pub(super) fn tasks(&self) -> Result<Vec<TaskRow>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare(&format!("{SELECT_TASKS} ORDER BY digest"))?;
            statement.query_and_then([], |row| StoredTask::read(row)?.open())?.collect()
        })
    }

    /// Adds a task, or changes its settings.
    pub(super) fn put(&self, task: TaskDigest, settings: &TaskSettings) -> Result<(), StoreError> {
        let settings = serde_json::to_string(settings).map_err(|source| StoreError::manifest(&self.path, source))?;
        self.transact(task, |transaction| {
            let new = StoredTask { digest: *task.as_bytes(), settings: String::new(), created: now(), deleted_at: 0 };
            let known = StoredTask::find(transaction, task)?.unwrap_or(new);
            Ok(StoredTask { settings, ..known }.write(transaction)?)
        })
    }

    /// Records that a task is being deleted, so that the next start finishes it.
    pub(super) fn bury(&self, task: TaskDigest, at: u64) -> Result<(), StoreError> {
        self.transact(task, |transaction| match StoredTask::find(transaction, task)? {
            Some(known) => Ok(StoredTask { deleted_at: at, ..known }.write(transaction)?),
            None => Ok(()),
        })
    }

    /// Forgets the segments of a task and their sum, so that the next start reads them all.
    pub(super) fn clear(&self, task: TaskDigest) -> Result<(), StoreError> {
        self.transact(task, |transaction| Ok(clear(transaction, task)?))
    }

    /// Removes everything about a task.
    pub(super) fn forget(&self, task: TaskDigest) -> Result<(), StoreError> {
        self.transact(task, |transaction| {
            clear(transaction, task)?;
            transaction.execute("DELETE FROM tasks WHERE digest = ?1", [task.as_bytes()])?;
            Ok(())
        })?;
        // The deleted rows are gone from the database; now also from its log, and the space is released.
        self.read(|connection| {
            Ok(connection.execute_batch("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);")?)
        })
    }

    /// The sealed segments of a task in their order.
    pub(super) fn segments(&self, task: TaskDigest) -> Result<Vec<SegmentRow>, StoreError> {
        self.segments_where(task, |_| true)
    }

    /// Those of them that are wanted: the ids of all of them may need much memory.
    pub(super) fn segments_where(
        &self,
        task: TaskDigest,
        mut wanted: impl FnMut(&SegmentRow) -> bool,
    ) -> Result<Vec<SegmentRow>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare(
                "SELECT number, reports, bytes, footer, sealed, checksum, ids FROM segments WHERE task = ?1 ORDER BY \
                    number",
            )?;
            let segments = statement.query_and_then([task.as_bytes()], |row| {
                let sealed = Sealed { bytes: row.get(2)?, footer: row.get(3)? };
                let segment = SegmentRow { number: row.get(0)?, reports: row.get(1)?, sealed, ids: row.get(6)? };
                let whole = segment.checksum(task, row.get(4)?) == row.get::<_, u32>(5)?;
                if whole && segment.ids.len() as u64 == 16 * segment.reports {
                    return Ok(segment);
                }
                Err(format!("the row of segment {} of task {task} is not what was written", segment.number).into())
            })?;
            segments.filter(|segment| segment.as_ref().map_or(true, &mut wanted)).collect()
        })
    }

    /// The sum of the sealed segments of a task.
    pub(super) fn snapshot(&self, task: &Task) -> Result<Aggregate, StoreError> {
        let digest = task.digest();
        let bytes = self.read(|connection| {
            let mut statement =
                connection.prepare("SELECT part, checksum, bytes FROM snapshots WHERE task = ?1 ORDER BY part")?;
            let mut rows = statement.query([digest.as_bytes()])?;
            let mut bytes = Vec::new();
            while let Some(row) = rows.next()? {
                let part = row.get_ref(2)?.as_blob()?;
                if snapshot_checksum(digest, row.get(0)?, part) != row.get::<_, u32>(1)? {
                    return Err(format!("the sum of task {digest} is not what was written").into());
                }
                bytes.extend_from_slice(part);
            }
            Ok(bytes)
        })?;
        if bytes.is_empty() {
            return Ok(Aggregate::empty(task));
        }
        Aggregate::from_bytes(&bytes, task).map_err(|source| StoreError::manifest(&self.path, source))
    }

    /// Records sealed segments, and the sum up to the end of the last, which replaces the previous sum.
    pub(super) fn seal(&self, segments: &[SegmentRow], aggregate: &Aggregate) -> Result<(), StoreError> {
        let task = aggregate.task();
        self.transact(task, |transaction| {
            for segment in segments {
                segment.write(transaction, task, now())?;
            }
            Ok(put_snapshot(transaction, aggregate, self.part_bytes)?)
        })
    }

    /// Replaces rows of sealed segments, and the sum.
    pub(super) fn replace(&self, segments: &[SegmentRow], aggregate: &Aggregate) -> Result<(), StoreError> {
        let task = aggregate.task();
        self.transact(task, |transaction| {
            for segment in segments {
                let place = rusqlite::params![task.as_bytes(), segment.number];
                transaction.execute("DELETE FROM segments WHERE task = ?1 AND number = ?2", place)?;
                segment.write(transaction, task, now())?;
            }
            Ok(put_snapshot(transaction, aggregate, self.part_bytes)?)
        })?;
        // The earlier sum would show what was taken out of it: now it is gone from the log too. If that fails, the next
        // change does it; this one is made.
        let _ = hold(&self.inner).connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE);");
        Ok(())
    }

    /// Closes the database, its log written back into it.
    pub(super) fn close(&self) {
        // Rows that are not written back now are written back at the next start.
        let _ = hold(&self.inner).connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE);");
    }

    /// When the deletion of an existing task started; 0 if it did not.
    pub(super) fn deleted_at(&self, task: TaskDigest) -> Result<Option<u64>, StoreError> {
        self.read(|connection| Ok(StoredTask::find(connection, task)?.map(|row| row.deleted_at)))
    }

    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Problem>) -> Result<T, StoreError> {
        read(&hold(&self.inner).connection).map_err(|problem| self.failed(problem))
    }

    /// Changes rows of one task.
    fn transact<T>(
        &self,
        task: TaskDigest,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, Problem>,
    ) -> Result<T, StoreError> {
        let mut inner = hold(&self.inner);
        let Inner { connection, counter } = &mut *inner;
        let run = || {
            let transaction = connection.transaction()?;
            let mut state = State::read(&transaction)?;
            let before = Tally::of(&transaction, Some(task))?;
            let changed = change(&transaction)?;
            state.follow(before, Tally::of(&transaction, Some(task))?);
            state.write(&transaction)?;
            transaction.commit()?;
            Ok((changed, state.changes))
        };
        let (changed, changes) = run().map_err(|problem| self.failed(problem))?;
        if let Some(counter) = counter {
            // The change is made. Its count may lag behind.
            let _ = counter.put([changes]).and_then(|()| counter.sync());
        }
        Ok(changed)
    }

    fn failed(&self, problem: Problem) -> StoreError {
        StoreError::manifest(&self.path, problem)
    }
}

/// Configures the database, and creates the tables in a new one. Returns their version.
fn prepare(connection: &mut Connection, new: bool) -> Result<i64, Problem> {
    // Durable when a transaction returns, and nothing deleted can be found in the file. Space is released when a task
    // is deleted.
    connection.execute_batch(
        "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF;",
    )?;
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version != 0 || !new {
        return Ok(version);
    }
    let transaction = connection.transaction()?;
    make_tables(&transaction)?;
    State::default().write(&transaction)?;
    transaction.commit()?;
    Ok(VERSION)
}

/// Reads the whole database: every page, and the tally of all rows.
fn check(connection: &Connection) -> Result<State, Problem> {
    check_pages(connection)?;
    let mut statement = connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")?;
    let mut found = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    found.sort();
    let mut tables = TABLES;
    tables.sort_unstable();
    if found != tables {
        return Err("its tables are not those of this version".into());
    }
    let state = State::read(connection)?;
    state.check(connection)?;
    Ok(state)
}

fn check_pages(connection: &Connection) -> Result<(), Problem> {
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found == "ok" { Ok(()) } else { Err(found.into()) }
}

fn clear(transaction: &Transaction<'_>, task: TaskDigest) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM snapshots WHERE task = ?1", [task.as_bytes()])?;
    transaction.execute("DELETE FROM segments WHERE task = ?1", [task.as_bytes()])?;
    Ok(())
}

fn put_snapshot(transaction: &Transaction<'_>, aggregate: &Aggregate, part_bytes: usize) -> rusqlite::Result<()> {
    let task = aggregate.task();
    transaction.execute("DELETE FROM snapshots WHERE task = ?1", [task.as_bytes()])?;
    let (mut part, mut number) = (Vec::new(), 0);
    aggregate.visit_bytes(|bytes| {
        part.extend_from_slice(bytes);
        if part.len() >= part_bytes {
            put_part(transaction, task, number, &part)?;
            number += 1;
            part.clear();
        }
        Ok::<(), rusqlite::Error>(())
    })?;
    if part.is_empty() { Ok(()) } else { put_part(transaction, task, number, &part) }
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::super::maintenance::tests::compact;
    use super::super::tests::simulated::Machine;
    use super::*;

    fn path() -> &'static Path {
        Path::new("/data/store.sqlite")
    }

    fn made() -> (Machine, Manifest) {
        let machine = Machine::new(1);
        machine.make_folder(Path::new("/data")).unwrap();
        let manifest = Manifest::open(&machine, path(), Age::New).unwrap();
        (machine, manifest)
    }

    #[test]
    fn a_manifest_that_lacks_counted_changes_is_refused_with_their_number() {
        let (machine, manifest) = made();
        manifest.put(compact().digest(), &TaskSettings::default()).unwrap();
        manifest.put(compact().digest(), &TaskSettings::default()).unwrap();
        let open = |changes| {
            Slots::create(&machine, Path::new("/data"), CHANGES, CHANGES.as_bytes(), [changes]).unwrap();
            Manifest::open(&machine, path(), Age::Current).map(|manifest| manifest.doubt)
        };
        assert_eq!(open(1).unwrap(), None);
        assert_eq!(open(2).unwrap(), None);
        let error = open(5).unwrap_err().to_string();
        assert!(error.contains("the last 3 of its 5 changes are not in it"), "{error}");
    }

    #[test]
    fn a_segment_has_as_many_ids_as_reports() {
        for (reports, ids) in [(2, 32), (0, 0), (1, 32), (2, 16), (2, 31), (16, 1), (0, 16)] {
            let (_, manifest) = made();
            let sealed = Sealed { bytes: 100, footer: 7 };
            let row = SegmentRow { number: 0, reports, sealed, ids: vec![7; ids] };
            manifest.seal(std::slice::from_ref(&row), &Aggregate::empty(&compact())).unwrap();
            let found = manifest.segments(compact().digest());
            if ids as u64 == 16 * reports {
                assert_eq!(found.unwrap(), [row]);
            } else {
                assert!(found.unwrap_err().to_string().contains("segment 0"), "{reports} {ids}");
            }
        }
    }

    #[test]
    fn a_manifest_that_is_closed_has_nothing_in_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        let manifest = Manifest::open(&super::super::disk::SystemDisk, &path, Age::New).unwrap();
        manifest.put(compact().digest(), &TaskSettings::default()).unwrap();
        let log = || std::fs::metadata(folder.path().join("store.sqlite-wal")).unwrap().len();
        assert!(log() > 0);
        manifest.close();
        assert_eq!(log(), 0);
    }
}
