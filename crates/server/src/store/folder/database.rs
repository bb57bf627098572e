//! The database of one task: a SQLite file in the task's folder.
//!
//! ```text
//! task     one row: the task, its settings, and what was lost and not acknowledged
//! batches  the reports that were made durable together, and their ids beside them, so that a start reads these alone
//! erased   the ids of reports that were erased on request
//! sums     the sum of the reports up to a batch, in parts
//! tally    one row: how often the others were changed, how many they are, and the total of their checksums
//! ```
//!
//! Every row has a checksum of its table and of the columns before it (a report has its own), and every transaction
//! updates the tally. So an opening notices what the disk changed. SQLite silently drops a damaged end of its log, and
//! the last changes with it: they are counted beside the database too ([`Counter`]).

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read, Write};
use std::mem;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, Transaction, TransactionBehavior, ffi, params_from_iter};
use tokio::sync::watch;

use super::counter::{Counter, Found};
use super::ids::Ids;
use super::remove_folder;
use crate::durable::{new_private, sync_folder};
use crate::store::{At, StoreError, TaskSettings, mark, sum};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::internal::decimal::plural;
use ldp_pca::report::{Report, ReportId, report_bytes};
use ldp_pca::task::{Task, TaskDigest};

/// The name of the file.
pub(super) const FILE: &str = "reports.sqlite";

/// The name of its log.
pub(super) const LOG: &str = "reports.sqlite-wal";

/// The end of the names of what was set aside.
pub(super) const DAMAGED: &str = "damaged";

/// The folder of a repair: the copy that is read, and the database that is made of it.
pub(super) const REPAIR: &str = "repair.tmp";

/// The name of that database once it is whole.
pub(super) const REPAIRED: &str = "reports.sqlite.repaired";

/// Identifies the file: `LDPS`.
const APPLICATION: u64 = 0x4c44_5053;

/// The version of the tables.
const VERSION: u64 = 1;

/// What is behind a checksum is not in it.
pub(super) const TABLES: [&str; 5] = [
    "CREATE TABLE task (document TEXT NOT NULL, settings TEXT NOT NULL, lost INTEGER NOT NULL, damage TEXT NOT NULL, \
     checksum INTEGER NOT NULL) STRICT",
    "CREATE TABLE batches (seq INTEGER PRIMARY KEY, n INTEGER NOT NULL, ids BLOB NOT NULL, checksum INTEGER NOT NULL, \
     reports BLOB NOT NULL) STRICT",
    "CREATE TABLE erased (id BLOB PRIMARY KEY, at INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE sums (part INTEGER PRIMARY KEY, upto INTEGER NOT NULL, cells BLOB NOT NULL, checksum INTEGER NOT \
     NULL) STRICT",
    "CREATE TABLE tally (changes INTEGER NOT NULL, rows INTEGER NOT NULL, total INTEGER NOT NULL, checksum INTEGER NOT \
     NULL) STRICT",
];

/// Bytes of reports that go into one row, except a single longer one, and of the sum. SQLite copies a row several times
/// in memory: with rows of megabytes that is memory new to the process each time, which costs more than the copying.
const ROW_BYTES: usize = 512 << 10;

/// The pages of the file, in bytes. Larger ones for long reports, each of which has many.
pub(super) const PAGES: [u64; 2] = [4096, 65_536];

/// A larger database is not read as a whole at a start, but for its ids.
const CHECKED_BYTES: u64 = 1 << 30;

/// The time that a writer waits for a reader that has to see the log.
const PATIENCE: Duration = Duration::from_secs(1);

/// The reason why a database is not read or changed.
pub(super) type Problem = Box<dyn std::error::Error + Send + Sync>;

/// Does something with a file: a problem is an error that names it.
pub(super) fn in_file<T>(path: &Path, work: impl FnOnce() -> Result<T, Problem>) -> Result<T, StoreError> {
    work().map_err(|problem| match problem.downcast::<StoreError>() {
        Ok(error) => *error,
        Err(problem) => StoreError::database(path, problem),
    })
}

/// A database of another release.
#[derive(Debug, thiserror::Error)]
#[error("it has version {0} instead of {VERSION}: use the release that wrote it")]
struct OtherVersion(u64);

/// Whether an error is of a database that is damaged, rather than in use, out of reach, or of another release.
pub(super) fn is_damage(error: &StoreError) -> bool {
    let StoreError::Database { source, .. } = error else { return false };
    let is_out_of_reach = |error: &rusqlite::Error| {
        use ErrorCode::{CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, OutOfMemory, PermissionDenied, ReadOnly};
        let codes = [CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, OutOfMemory, PermissionDenied, ReadOnly];
        error.sqlite_error_code().is_some_and(|code| codes.contains(&code) || code == ErrorCode::SystemIoFailure)
    };
    let is_refused = |error: &io::Error| error.kind() != io::ErrorKind::NotFound;
    let is_other = source.downcast_ref().is_some_and(is_out_of_reach) || source.downcast_ref().is_some_and(is_refused);
    !is_other && !source.is::<OtherVersion>()
}

/// What a task's rows say, besides its reports.
pub(super) struct Content {
    pub(super) row: TaskRow,
    /// The ids of all reports.
    pub(super) ids: Ids,
    /// Those of erased ones.
    pub(super) erased: HashSet<ReportId>,
    /// The sum of the batches up to this one.
    pub(super) sum: Aggregate,
    pub(super) upto: i64,
    /// All reports.
    pub(super) reports: u64,
}

/// An open database.
pub(super) struct Database {
    pub(super) folder: PathBuf,
    connection: Connection,
    state: State,
    /// Counts changes, unless none may be made.
    counter: Option<Counter>,
    /// Why no database is to be trusted any more, once that is so: what the system has in memory may differ from the
    /// disk.
    pub(super) doubt: Arc<watch::Sender<Option<String>>>,
    /// Whether its log may hold what is not in it any more.
    unemptied: bool,
}

/// What a transaction carries on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    tally: Tally,
    /// The last batch.
    last: i64,
    /// Reports, and erased ones.
    seen: u64,
}

/// The content of the row with the tally.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) changes: u64,
    rows: u64,
    total: u64,
}

impl Tally {
    fn add(&mut self, checksum: u32) {
        self.rows += 1;
        self.total = self.total.wrapping_add(checksum.into());
    }

    fn columns(self) -> Vec<Value> {
        // SQLite has no unsigned numbers.
        [self.changes, self.rows, self.total].map(|number| Value::Integer(number.cast_signed())).to_vec()
    }

    pub(super) fn read(connection: &Connection) -> Result<Self, Problem> {
        let mut found = read_rows(connection, "tally", "changes, rows, total", &mut Self::default(), |row| {
            let [changes, rows, total] = [row.get(0)?, row.get(1)?, row.get(2)?].map(i64::cast_unsigned);
            Ok(Self { changes, rows, total })
        })?;
        found.pop().ok_or_else(|| "it has no tally".into())
    }
}

/// The checksum of a row: of its table's name and these columns, each with its length.
fn checksum(table: &str, columns: &[ValueRef<'_>]) -> u32 {
    let mut checksum = crc32fast::Hasher::new();
    let mut add = |bytes: &[u8]| {
        checksum.update(&(bytes.len() as u64).to_le_bytes());
        checksum.update(bytes);
    };
    add(table.as_bytes());
    for column in columns {
        match column {
            ValueRef::Integer(number) => add(&number.to_le_bytes()),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => add(bytes),
            // No column takes it.
            ValueRef::Null | ValueRef::Real(_) => add(&[]),
        }
    }
    checksum.finalize()
}

/// The checksum of a row, which is behind so many columns. An error if they are not what was written.
pub(super) fn checked(table: &str, row: &Row<'_>, columns: usize) -> Result<u32, Problem> {
    let values = (0..columns).map(|column| row.get_ref(column)).collect::<rusqlite::Result<Vec<_>>>()?;
    let found = row.get(columns)?;
    if checksum(table, &values) == found { Ok(found) } else { Err("it is not what was written".into()) }
}

/// Reads the rows of a table with `each`, in the order of their first column, and adds them to the tally.
fn read_rows<T>(
    connection: &Connection,
    table: &str,
    columns: &str,
    tally: &mut Tally,
    mut each: impl FnMut(&Row<'_>) -> Result<T, Problem>,
) -> Result<Vec<T>, Problem> {
    let mut statement = connection.prepare(&format!("SELECT {columns}, checksum FROM {table} ORDER BY 1"))?;
    let behind = statement.column_count() - 1;
    let (mut rows, mut read) = (statement.query([])?, Vec::new());
    while let Some(row) = rows.next()? {
        let checked = checked(table, row, behind);
        tally.add(checked.map_err(|problem| format!("row {} of its table {table}: {problem}", read.len() + 1))?);
        read.push(each(row)?);
    }
    Ok(read)
}

/// The row of the task.
#[derive(Clone)]
pub(super) struct TaskRow {
    pub(super) task: Task,
    pub(super) settings: TaskSettings,
    /// Acknowledged reports that were lost, until somebody acknowledges it.
    pub(super) lost: u64,
    /// What else was found, a sentence each.
    pub(super) damage: Vec<String>,
}

impl TaskRow {
    /// The row of a new task.
    pub(super) fn new(task: &Task, settings: &TaskSettings) -> Self {
        Self { task: task.clone(), settings: settings.clone(), lost: 0, damage: Vec::new() }
    }

    /// Reads it.
    pub(super) fn read(connection: &Connection, tally: &mut Tally) -> Result<Self, Problem> {
        let mut found = read_rows(connection, "task", "document, settings, lost, damage", tally, |row| {
            let [document, settings, damage] = [row.get::<_, String>(0)?, row.get(1)?, row.get(3)?];
            let (task, settings) = (Task::from_json(&document)?, serde_json::from_str(&settings)?);
            let damage = damage.lines().map(str::to_owned).collect();
            Ok(Self { task, settings, lost: row.get(2)?, damage })
        })?;
        found.pop().ok_or_else(|| "it has no task".into())
    }

    /// The second wave that the task is, or that its settings name.
    pub(super) fn second_wave(&self) -> Option<TaskDigest> {
        self.settings.refined_by.or(self.task.refinement().map(|_| self.task.digest()))
    }
}

impl Database {
    /// Makes the database of a task in a folder that has none. It continues after so many changes.
    pub(super) fn create(folder: &Path, row: &TaskRow, changes: u64) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        new_private(&path).at("make", &path)?;
        let mut database = in_file(&path, || {
            let connection = Connection::open(&path)?;
            connection.execute_batch(&format!(
                "PRAGMA page_size = {}; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}",
                page_bytes(&row.task)
            ))?;
            drop(connection);
            let connection = connect(&path)?;
            let mut database = Self::of(folder, connection, State::default());
            database.state.tally.changes = changes;
            database.try_change(|change| {
                TABLES.iter().try_for_each(|table| change.transaction.execute(table, []).map(drop))?;
                change.put_row(row)
            })?;
            Ok(database)
        })?;
        let counter = Counter::create(folder, row.task.digest(), database.state.numbers());
        database.counter = Some(counter.at("make", folder)?);
        sync_folder(folder).at("make", folder)?;
        Ok(database)
    }

    fn of(folder: &Path, connection: Connection, state: State) -> Self {
        let (folder, doubt) = (folder.to_owned(), Arc::new(watch::Sender::new(None)));
        Self { folder, connection, state, counter: None, doubt, unemptied: false }
    }

    /// Opens a database to change it, with what it holds. What was lost since it was last written is recorded in it. If
    /// anything in it is not intact, that is an error, and nothing is changed.
    pub(super) fn open(folder: &Path, digest: TaskDigest) -> Result<(Self, Content), StoreError> {
        let path = folder.join(FILE);
        finish_repair(folder).at("finish the repair of", folder)?;
        let counted = Found::read(folder, digest).at("read", folder)?;
        let (mut database, content) = in_file(&path, || {
            check_file(&path)?;
            rewrite_log(folder)?;
            let connection = connect(&path)?;
            connection.execute_batch("BEGIN")?;
            let (content, state) = load(&connection, digest, counted)?;
            connection.execute_batch("COMMIT")?;
            let mut database = Self::of(folder, connection, state);
            if missing(counted, &state).is_some() {
                // SQLite reads the beginning of a damaged log alone, and writes over the rest.
                keep_log(folder)?;
                let [changes, _] = counted.map(|found| found.numbers).unwrap_or_default();
                database.state.tally.changes = state.tally.changes.max(changes);
                database.try_change(|change| change.put_row(&content.row))?;
            }
            // On a full disk it stays.
            database.unemptied = match checkpoint(&database.connection, "TRUNCATE") {
                Err(error) if is_refusal(&error) => true,
                busy => busy?,
            };
            Ok((database, content))
        })?;
        let counter = Counter::resume(folder, digest, counted, database.state.numbers());
        database.counter = Some(counter.at("write", folder)?);
        Ok((database, content))
    }

    /// Opens a database to read it as it is at this moment, also while a server writes it, and on a disk that cannot be
    /// written. An error if anything in it is not intact.
    pub(super) fn read(folder: &Path, digest: TaskDigest) -> Result<(Self, Content), StoreError> {
        let path = folder.join(FILE);
        // Before the database: it never counts a change that is not made.
        let counted = Found::read(folder, digest).at("read", folder)?;
        in_file(&path, || {
            let connection = look_at(&path)?;
            connection.execute_batch("BEGIN")?;
            let (content, state) = load(&connection, digest, counted)?;
            Ok((Self::of(folder, connection, state), content))
        })
    }

    /// The row of a task, without anything else.
    pub(super) fn describe(folder: &Path, digest: TaskDigest) -> Result<TaskRow, StoreError> {
        let path = folder.join(FILE);
        in_file(&path, || {
            let row = TaskRow::read(&look_at(&path)?, &mut Tally::default())?;
            check_task(&row.task, digest)?;
            Ok(row)
        })
    }

    /// Reads every page, and every report after the opening, which goes to `each`. Returns what is wrong, a sentence
    /// each.
    pub(super) fn problems(
        &self,
        content: &Content,
        each: &mut dyn FnMut(&StoredBatch),
    ) -> Result<Vec<String>, StoreError> {
        in_file(&self.path(), || check_all_pages(&self.connection))?;
        let (mut problems, mut summed) = (Vec::new(), Aggregate::empty(&content.row.task));
        self.batches(&content.row.task, 0, &mut |batch| {
            problems.extend(batch.damage());
            if batch.seq <= content.upto {
                sum(&mut summed, &content.row.task, &batch.reports);
            }
            each(&batch);
            Ok(())
        })?;
        if summed != content.sum && problems.is_empty() {
            problems.push("the written sum is not that of the reports".to_owned());
        }
        Ok(problems)
    }

    /// The path of the file.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    /// The bytes of the file in a folder, and of its log.
    pub(super) fn bytes_in(folder: &Path) -> u64 {
        let length = |name: &str| fs::metadata(folder.join(name)).map_or(0, |file| file.len());
        length(FILE) + length(LOG)
    }

    /// Passes every batch after `after` to `each`.
    pub(super) fn batches(
        &self,
        task: &Task,
        after: i64,
        each: &mut dyn FnMut(StoredBatch) -> Result<(), Problem>,
    ) -> Result<(), StoreError> {
        in_file(&self.path(), || {
            let mut statement = self.connection.prepare(StoredBatch::READ)?;
            let mut rows = statement.query([after])?;
            while let Some(row) = rows.next()? {
                each(StoredBatch::of(row, task)?)?;
            }
            Ok(())
        })
    }

    /// Adds to the written sum what came after it, and marks its ids: so many reports. A damaged one is an error.
    pub(super) fn complete_sum(&self, content: &mut Content) -> Result<u64, StoreError> {
        let Content { row: TaskRow { task, .. }, ids, sum: total, upto, reports, .. } = content;
        let before = total.records();
        self.batches(task, *upto, &mut |batch| {
            if let Some(damage) = batch.damage() {
                return Err(damage.into());
            }
            sum(total, task, &batch.reports);
            for (report, frame) in batch.reports.iter().zip(batch.frames()) {
                ids.entry(report.id()).and_modify(|known| *known = Some(mark(frame)));
            }
            Ok(())
        })?;
        *upto = self.state.last;
        let summed = total.records();
        if summed == *reports {
            return Ok(summed - before);
        }
        Err(StoreError::database(
            &self.path(),
            format!("the sum is of {}, and not of {reports}", plural(summed, "report")),
        ))
    }

    /// Writes a copy of the database of a folder, as it is at this moment, to another folder, and reads all of it. A
    /// server may have the database open.
    pub(super) fn copy(from: &Path, to: &Path, digest: TaskDigest) -> Result<Content, StoreError> {
        let (path, new) = (from.join(FILE), to.join(FILE));
        let counted = Found::read(from, digest).at("read", from)?;
        new_private(&new).at("make", &new)?;
        in_file(&path, || {
            let filled = look_at(&path)?.execute("VACUUM INTO ?1", [new.to_string_lossy()]);
            filled.map_err(|error| match error.sqlite_error_code() {
                Some(ErrorCode::DiskFull) => StoreError::io("write", &new, io::Error::other(error)).into(),
                _ => Problem::from(error),
            })?;
            // From now on it has a log.
            let connection = connect(&new)?;
            let (mut content, state) = load(&connection, digest, counted)?;
            let TaskRow { task, damage, .. } = &mut content.row;
            Self::of(from, connection, state).batches(task, 0, &mut |batch| {
                damage.extend(batch.damage());
                Ok(())
            })?;
            fs::File::open(&new).and_then(|file| file.sync_all()).at("write", &new)?;
            // What the source has lost, its copy has lost too.
            if let Some(Found { numbers: [changes, seen], .. }) = counted {
                let [copied, reports] = state.numbers();
                Counter::create(to, digest, [changes.max(copied), seen.max(reports)]).at("make", to)?;
            }
            Ok(content)
        })
    }

    /// Makes a change: all of it or nothing, and on the disk when this returns. After an error it is not made, unless
    /// the database is in [doubt](Self::doubt).
    pub(super) fn change<T>(
        &mut self,
        make: impl FnOnce(&mut Change<'_>) -> Result<T, Problem>,
    ) -> Result<T, StoreError> {
        trusted(&self.doubt, &self.path())?;
        in_file(&self.path(), || self.try_change(make))
    }

    fn try_change<T>(&mut self, make: impl FnOnce(&mut Change<'_>) -> Result<T, Problem>) -> Result<T, Problem> {
        let (made, state, removes, committed) = {
            let transaction = Transaction::new(&mut self.connection, TransactionBehavior::Immediate)?;
            let mut change = Change { transaction, state: self.state, removes: false };
            let made = make(&mut change)?;
            change.state.tally.changes += 1;
            let state = change.state;
            change.transaction.execute("DELETE FROM tally", [])?;
            // It does not count itself.
            change.put("tally", state.tally.columns(), None)?;
            (made, state, change.removes, change.transaction.commit())
        };
        self.unless_doubtful(committed)?;
        self.state = state;
        self.unemptied |= removes;
        if let Some(counter) = &mut self.counter {
            // The change is made. Its count may lag behind.
            let _ = counter.put(self.state.numbers());
        }
        Ok(made)
    }

    /// Tells of an error by which it is unknown what the disk has.
    fn unless_doubtful<T>(&self, done: rusqlite::Result<T>) -> rusqlite::Result<T> {
        done.inspect_err(|error| {
            if !is_refusal(error) {
                let told = StoreError::database(&self.path(), error.to_string());
                self.doubt.send_replace(Some(told.to_string()));
            }
        })
    }

    /// Writes the log back and leaves nothing in it, also on the disk. An error if a reader needs it.
    pub(super) fn empty_log(&mut self) -> Result<(), StoreError> {
        self.unemptied = self.checkpoint("TRUNCATE")?;
        if !self.unemptied {
            return Ok(());
        }
        let problem = "an export or a backup reads what was erased from it: try again when that is done";
        Err(StoreError::refused(&self.path(), problem))
    }

    /// Writes the log back into the file, in a mode of SQLite's; whether a reader kept it from that.
    pub(super) fn checkpoint(&mut self, mode: &str) -> Result<bool, StoreError> {
        trusted(&self.doubt, &self.path())?;
        in_file(&self.path(), || {
            let busy = self.unless_doubtful(checkpoint(&self.connection, mode))?;
            if mode == "TRUNCATE" {
                fs::File::open(self.folder.join(LOG))?.sync_all()?;
            }
            self.counter.as_mut().map_or(Ok(()), Counter::sync)?;
            Ok(busy)
        })
    }

    /// Empties the log if it may hold what was erased.
    pub(super) fn erase_log(&mut self) -> Result<(), StoreError> {
        if self.unemptied { self.empty_log() } else { Ok(()) }
    }
}

/// Refuses a change after one of which it is unknown whether the disk has it.
pub(super) fn trusted(doubt: &watch::Sender<Option<String>>, path: &Path) -> Result<(), StoreError> {
    if doubt.borrow().is_none() {
        return Ok(());
    }
    Err(StoreError::database(path, "it is unknown what the disk has of an earlier change"))
}

/// A change that is being made.
pub(super) struct Change<'a> {
    transaction: Transaction<'a>,
    state: State,
    /// Whether reports are removed.
    removes: bool,
}

impl Change<'_> {
    /// Changes the row of the task.
    pub(super) fn edit(&mut self, edit: impl FnOnce(&mut TaskRow)) -> Result<(), Problem> {
        let mut row = TaskRow::read(&self.transaction, &mut Tally::default())?;
        edit(&mut row);
        self.put_row(&row)
    }

    fn put_row(&mut self, row: &TaskRow) -> Result<(), Problem> {
        self.remove("task")?;
        let TaskRow { task, settings, lost, damage } = row;
        let (document, settings) = (task.to_json(), serde_json::to_string(settings)?);
        let damage = damage.join("\n");
        self.put("task", vec![document.into(), settings.into(), lost.cast_signed().into(), damage.into()], None)
    }

    /// Adds a row of these columns, with their checksum, and with one behind it.
    fn put(&mut self, table: &str, mut row: Vec<Value>, behind: Option<Vec<u8>>) -> Result<(), Problem> {
        let checksum = checksum(table, &row.iter().map(ValueRef::from).collect::<Vec<_>>());
        row.push(Value::Integer(checksum.into()));
        row.extend(behind.map(Value::Blob));
        let insert = format!("INSERT INTO {table} VALUES ({})", vec!["?"; row.len()].join(", "));
        self.transaction.execute(&insert, params_from_iter(row))?;
        self.state.tally.add(checksum);
        Ok(())
    }

    /// Removes rows of a table.
    fn remove(&mut self, rows: &str) -> Result<(), Problem> {
        let count = format!("SELECT count(*), coalesce(sum(checksum), 0) FROM {rows}");
        let (gone, total): (u64, u64) = self.transaction.query_row(&count, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        self.transaction.execute(&format!("DELETE FROM {rows}"), [])?;
        self.state.tally.rows -= gone;
        self.state.tally.total = self.state.tally.total.wrapping_sub(total);
        Ok(())
    }

    /// Adds reports, each with its bytes.
    pub(super) fn append(&mut self, reports: &[Report], frames: &[&[u8]]) -> Result<(), Problem> {
        let each = frames.first().map_or(1, |frame| (ROW_BYTES / frame.len()).max(1));
        for (reports, frames) in reports.chunks(each).zip(frames.chunks(each)) {
            self.state.last += 1;
            self.put_batch(self.state.last, reports, frames.concat())?;
        }
        Ok(())
    }

    fn put_batch(&mut self, seq: i64, reports: &[Report], bytes: Vec<u8>) -> Result<(), Problem> {
        let count = reports.len() as u64;
        let ids: Vec<u8> = reports.iter().flat_map(|report| *report.id().as_bytes()).collect();
        self.state.seen += count;
        self.put("batches", vec![seq.into(), count.cast_signed().into(), ids.into()], Some(bytes))
    }

    /// Takes the reports with these ids out of their batches, and out of the sum of all. A batch with a damaged report
    /// is refused.
    pub(super) fn erase(&mut self, task: &Task, ids: &HashSet<ReportId>, sum: &mut Aggregate) -> Result<(), Problem> {
        let (mut batches, mut left, mut gone) = (Vec::<i64>::new(), Vec::new(), Vec::new());
        read_rows(&self.transaction, "batches", "seq, n, ids", &mut Tally::default(), |row| {
            let (stored, before) = (row.get_ref(2)?.as_blob()?, left.len());
            left.extend(ids_of(stored).filter(|id| !ids.contains(id)));
            if 16 * (left.len() - before) < stored.len() {
                batches.push(row.get(0)?);
            }
            Ok(())
        })?;
        if batches.is_empty() {
            return Ok(());
        }
        self.removes = true;
        let find = StoredBatch::READ.replace("seq > ?1", "seq = ?1");
        for seq in batches {
            let mut batch = self.transaction.query_row(&find, [seq], |row| Ok(StoredBatch::of(row, task)))??;
            if let Some(damage) = batch.damage() {
                return Err(format!("{damage}: repair it before").into());
            }
            self.remove(&format!("batches WHERE seq = {seq}"))?;
            self.state.seen -= batch.reports.len() as u64;
            gone.extend(batch.extract(|id| ids.contains(&id)));
            self.put_batch(seq, &batch.reports, batch.bytes)?;
        }
        Ok(sum.subtract(task, &gone, left)?)
    }

    /// Records ids that are refused from now on, because their reports were erased.
    pub(super) fn refuse<'i>(&mut self, ids: impl IntoIterator<Item = &'i ReportId>, at: u64) -> Result<(), Problem> {
        for id in ids {
            self.put("erased", vec![id.as_bytes().to_vec().into(), at.cast_signed().into()], None)?;
            self.state.seen += 1;
        }
        Ok(())
    }

    /// Replaces the sum: it is that of all batches.
    pub(super) fn put_sum(&mut self, sum: &Aggregate) -> Result<(), Problem> {
        self.remove("sums")?;
        let (mut cells, mut part) = (Vec::new(), 0);
        sum.visit_bytes(|bytes| {
            cells.extend_from_slice(bytes);
            if cells.len() < ROW_BYTES {
                return Ok(());
            }
            part += 1;
            self.put_part(part, mem::take(&mut cells))
        })?;
        if cells.is_empty() { Ok(()) } else { self.put_part(part + 1, cells) }
    }

    fn put_part(&mut self, part: i64, cells: Vec<u8>) -> Result<(), Problem> {
        self.put("sums", vec![part.into(), self.state.last.into(), cells.into()], None)
    }
}

/// A row of the batches.
pub(super) struct StoredBatch {
    pub(super) seq: i64,
    /// Its intact reports.
    pub(super) reports: Vec<Report>,
    /// Their bytes.
    pub(super) bytes: Vec<u8>,
    /// Damaged ones.
    pub(super) lost: u64,
}

impl StoredBatch {
    const READ: &str = "SELECT seq, n, ids, reports FROM batches WHERE seq > ?1 ORDER BY seq";

    fn of(row: &Row<'_>, task: &Task) -> Result<Self, Problem> {
        let ids: Vec<ReportId> = ids_of(row.get_ref(2)?.as_blob()?).collect();
        let is_its = |place: usize, report: &Report| ids.get(place) == Some(&report.id());
        let batch = Self::decode(row.get(0)?, row.get_ref(3)?.as_blob()?, task, is_its);
        let count: u64 = row.get(1)?;
        Ok(Self { lost: count.saturating_sub(batch.reports.len() as u64), ..batch })
    }

    /// Reads the intact reports of a batch that are its own, by their places.
    pub(super) fn decode(seq: i64, stored: &[u8], task: &Task, is_its: impl Fn(usize, &Report) -> bool) -> Self {
        let frames: Vec<&[u8]> = stored.chunks(report_bytes(task)).collect();
        let threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let read = Report::many_from_bytes(&frames, task, threads).into_iter().flatten();
        let (mut reports, mut bytes) = (Vec::with_capacity(frames.len()), Vec::with_capacity(stored.len()));
        for (place, (report, frame)) in read.zip(&frames).enumerate() {
            if let Some(report) = report.ok().filter(|report| is_its(place, report)) {
                reports.push(report);
                bytes.extend_from_slice(frame);
            }
        }
        let lost = (frames.len() - reports.len()) as u64;
        Self { seq, reports, bytes, lost }
    }

    /// Takes out the reports with such ids.
    pub(super) fn extract(&mut self, mut is_such: impl FnMut(ReportId) -> bool) -> Vec<Report> {
        let each = self.bytes.len() / self.reports.len().max(1);
        let (mut left, mut gone) = (Vec::new(), Vec::new());
        for (place, report) in mem::take(&mut self.reports).into_iter().enumerate() {
            if is_such(report.id()) {
                gone.push(report);
            } else {
                self.bytes.copy_within(place * each..(place + 1) * each, left.len() * each);
                left.push(report);
            }
        }
        self.bytes.truncate(left.len() * each);
        self.reports = left;
        gone
    }

    /// A sentence about its damaged reports, if it has any.
    pub(super) fn damage(&self) -> Option<String> {
        (self.lost > 0).then(|| format!("batch {} has {}", self.seq, plural(self.lost, "damaged report")))
    }

    /// The bytes of each report.
    pub(super) fn frames(&self) -> Vec<&[u8]> {
        self.bytes.chunks((self.bytes.len() / self.reports.len().max(1)).max(1)).collect()
    }
}

fn ids_of(bytes: &[u8]) -> impl Iterator<Item = ReportId> {
    bytes.as_chunks::<16>().0.iter().map(|id| ReportId::new(*id))
}

impl State {
    /// What is counted beside the database: changes, and reports with the erased ones.
    fn numbers(&self) -> [u64; 2] {
        [self.tally.changes, self.seen]
    }
}

/// What the database lacks of what was counted beside it: reports, and a sentence.
fn missing(counted: Option<Found>, state: &State) -> Option<(u64, String)> {
    let Some(Found { numbers: [changes, seen], .. }) = counted else {
        let told = "the count of changes is missing, or cannot be read: it is not known whether the newest reports are \
            there";
        return Some((0, told.to_owned()));
    };
    let lost = seen.saturating_sub(state.seen);
    let behind = changes.checked_sub(state.tally.changes).filter(|behind| *behind > 0)?;
    let changes = if behind == 1 { "change is".to_owned() } else { format!("{behind} changes are") };
    Some((lost, format!("the last {changes} lost, with {}", plural(lost, "acknowledged report"))))
}

/// The bytes of a page for reports of this task.
pub(super) fn page_bytes(task: &Task) -> u64 {
    PAGES[usize::from(report_bytes(task) >= 16 << 10)]
}

/// Opens a file to change it: what is committed is on the disk, and what is deleted cannot be found in it. The log is
/// written back when this says so, and not when the file is closed.
fn connect(path: &Path) -> Result<Connection, Problem> {
    let connection =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.busy_timeout(PATIENCE)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;
         PRAGMA secure_delete = ON; PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864;
         PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;",
    )?;
    Ok(connection)
}

/// Opens a file to read it as it is at this moment.
fn look_at(path: &Path) -> Result<Connection, Problem> {
    let begin = |uri: &str| {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(uri, flags)?;
        connection.busy_timeout(PATIENCE)?;
        connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok::<Connection, Problem>(connection)
    };
    check_file(path)?;
    let name = path.to_string_lossy().replace('%', "%25").replace('?', "%3F").replace('#', "%23");
    // Two slashes at the start would name a machine.
    let uri = if name.starts_with('/') { format!("file://{name}") } else { format!("file:{name}") };
    let log = fs::metadata(path.with_file_name(LOG)).map_or(0, |log| log.len());
    match begin(&uri) {
        // Where the database was closed: nobody changes it.
        Err(_) if log == 0 && is_read_only(path) => begin(&format!("{uri}?immutable=1")),
        opened => opened,
    }
}

/// Refuses what SQLite would take for a new database, and remove the log of, and what is for later versions of it.
fn check_file(path: &Path) -> Result<(), Problem> {
    let mut start = [0; 20];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    match read {
        Ok(()) if start.starts_with(b"SQLite format 3\0") && start.ends_with(&[2, 2]) => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error.into()),
        _ => Err("it is cut off, or no database".into()),
    }
}

/// Whether the disk of a file cannot be written.
fn is_read_only(path: &Path) -> bool {
    let opened = fs::File::options().write(true).open(path);
    opened.is_err_and(|error| error.kind() == io::ErrorKind::ReadOnlyFilesystem)
}

/// Writes the log once more as it is. After a failed sync the system holds what the disk has not, and may take it for
/// written: then a power cut would leave the file without the log that completes it.
fn rewrite_log(folder: &Path) -> io::Result<()> {
    let path = folder.join(LOG);
    if !path.try_exists()? {
        return Ok(());
    }
    let (mut from, mut to) = (fs::File::open(&path)?, fs::File::options().write(true).open(&path)?);
    let mut part = vec![0; 1 << 20];
    while let bytes @ 1.. = from.read(&mut part)? {
        to.write_all(&part[..bytes])?;
    }
    to.sync_all()
}

/// Writes the log back into the file; whether a reader kept it from that.
fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<bool> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| row.get(0))
}

/// Puts a repaired database, which is whole, in the place of the damaged one, whose parts were set aside, and removes
/// what else a crash left of a repair.
pub(super) fn finish_repair(folder: &Path) -> io::Result<()> {
    let repaired = folder.join(REPAIRED);
    if repaired.exists() {
        let parts = ["-wal", "-shm"].map(|end| folder.join(format!("{FILE}{end}")));
        parts.iter().filter(|part| part.exists()).try_for_each(fs::remove_file)?;
        sync_folder(folder)?;
        fs::rename(repaired, folder.join(FILE))?;
        sync_folder(folder)?;
    }
    remove_folder(&folder.join(REPAIR))
}

/// Sets a copy of the log aside.
fn keep_log(folder: &Path) -> io::Result<()> {
    let (log, copy) = (folder.join(LOG), aside(folder, "-wal"));
    if fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        fs::copy(&log, &copy)?;
        fs::File::open(copy)?.sync_all()?;
    }
    sync_folder(folder)
}

/// A free name for what is set aside of the file, or of the part of it that ends so.
pub(super) fn aside(folder: &Path, end: &str) -> PathBuf {
    let names = (0..).map(|copy| folder.join(format!("{FILE}{end}.{copy}.{DAMAGED}")));
    names.into_iter().find(|path| !path.exists()).unwrap_or_default()
}

/// Reads everything but the reports, and checks it. What is lost of what was counted beside it is among the damage.
fn load(connection: &Connection, digest: TaskDigest, counted: Option<Found>) -> Result<(Content, State), Problem> {
    check_pages(connection)?;
    let tally = Tally::read(connection)?;
    let mut found = Tally { changes: tally.changes, ..Tally::default() };
    let mut row = TaskRow::read(connection, &mut found)?;
    check_task(&row.task, digest)?;
    let (sum, upto) = read_sum(connection, &row.task, &mut found)?;
    let erased = read_rows(connection, "erased", "id, at", &mut found, |row| Ok(ReportId::new(row.get(0)?)))?;
    let erased: HashSet<ReportId> = erased.into_iter().collect();
    let (ids, reports, last) = read_ids(connection, &mut found)?;
    if tally != found {
        return Err("rows are missing from it, or are not what was written".into());
    }
    if erased.iter().any(|id| ids.contains(*id)) {
        return Err("a report is there, and is among the erased ones too".into());
    }
    let state = State { tally, last: last.max(upto), seen: reports + erased.len() as u64 };
    if let Some((lost, told)) = missing(counted, &state) {
        row.lost += lost;
        row.damage.push(told);
    }
    Ok((Content { row, ids, erased, sum, upto, reports }, state))
}

/// Refuses another task than that of the folder.
pub(super) fn check_task(task: &Task, digest: TaskDigest) -> Result<(), Problem> {
    if task.digest() == digest {
        return Ok(());
    }
    Err(format!("it is of task {}, and its folder of task {digest}", task.digest()).into())
}

/// Checks what the file is, and its pages if they are few.
fn check_pages(connection: &Connection) -> Result<(), Problem> {
    if pragma(connection, "application_id")? != APPLICATION {
        return Err("it is not a database of reports".into());
    }
    let version = pragma(connection, "user_version")?;
    if version != VERSION {
        return Err(OtherVersion(version).into());
    }
    let mut statement = connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")?;
    let tables = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    if tables != TABLES {
        return Err("its tables are not those of this version".into());
    }
    if length_of(connection)? <= CHECKED_BYTES { check_all_pages(connection) } else { Ok(()) }
}

fn length_of(connection: &Connection) -> rusqlite::Result<u64> {
    Ok(pragma(connection, "page_count")? * pragma(connection, "page_size")?)
}

/// A number that SQLite has of a database.
pub(super) fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<u64> {
    connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
}

/// Reads every page.
fn check_all_pages(connection: &Connection) -> Result<(), Problem> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found == "ok" { Ok(()) } else { Err(found.into()) }
}

fn read_sum(connection: &Connection, task: &Task, tally: &mut Tally) -> Result<(Aggregate, i64), Problem> {
    let (mut bytes, mut upto) = (Vec::new(), 0);
    read_rows(connection, "sums", "part, upto, cells", tally, |row| {
        bytes.extend_from_slice(row.get_ref(2)?.as_blob()?);
        upto = row.get(1)?;
        Ok(())
    })?;
    let sum = if bytes.is_empty() { Aggregate::empty(task) } else { Aggregate::from_bytes(&bytes, task)? };
    Ok((sum, upto))
}

/// Reads the ids of all batches; returns them, how many they are, and the last batch.
fn read_ids(connection: &Connection, tally: &mut Tally) -> Result<(Ids, u64, i64), Problem> {
    let (mut ids, mut last) = (Ids::new(), 0);
    let count: u64 = connection.query_row("SELECT coalesce(sum(n), 0) FROM batches", [], |row| row.get(0))?;
    // Each has some bytes of the file, whatever it says.
    ids.reserve(usize::try_from(count.min(length_of(connection)? / 16))?);
    read_rows(connection, "batches", "seq, n, ids", tally, |row| {
        last = row.get(0)?;
        if ids_of(row.get_ref(2)?.as_blob()?).all(|id| ids.insert(id)) {
            return Ok(());
        }
        Err(format!("batch {last} has a report that is there already").into())
    })?;
    Ok((ids, count, last))
}

/// Whether the system refused to write, so that nothing was committed, as on a full disk.
fn is_refusal(error: &rusqlite::Error) -> bool {
    let rusqlite::Error::SqliteFailure(error, _) = error else { return false };
    matches!(error.code, ErrorCode::DiskFull | ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        || error.extended_code == ffi::SQLITE_IOERR_WRITE
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::super::tests::model::{folder, options};
    use super::super::{FolderStore, task_folder};
    use super::*;
    use crate::store::ReportStore;
    use crate::store::tests::{commit, compact, reports};

    /// A repair leaves it as it is.
    #[test]
    fn a_file_that_this_user_may_not_write_is_not_damaged() {
        let error = |kind| StoreError::database(Path::new(FILE), io::Error::from(kind));
        assert!(is_damage(&error(io::ErrorKind::NotFound)));
        assert!(!is_damage(&error(io::ErrorKind::PermissionDenied)));
    }

    #[test]
    fn no_column_that_is_changed_and_no_row_that_is_missing_is_silent() {
        let (root, task) = (folder(), compact());
        let store = FolderStore::open(root.path(), slice::from_ref(&task), options()).unwrap();
        let all = reports(&task, 1, 30);
        all.chunks(5).for_each(|part| _ = commit(&store, &task, part).unwrap());
        store.erase_reports(task.digest(), &[all[3].id(), all[4].id()]).unwrap();
        drop(store);
        let (folder, digest) = (task_folder(root.path(), task.digest()), task.digest());
        let file = folder.join(FILE);
        let good = fs::read(&file).unwrap();
        let open = || Database::open(&folder, digest).map(|(_, content)| content.row.damage);
        assert_eq!(open().unwrap(), [""; 0]);
        for change in [
            "UPDATE task SET settings = '{\"max_records\":1}'",
            "UPDATE task SET lost = 1",
            "UPDATE task SET damage = 'none'",
            "DELETE FROM task",
            "UPDATE batches SET n = n + 1 WHERE seq = 2",
            "UPDATE batches SET ids = randomblob(length(ids)) WHERE seq = 2",
            "UPDATE batches SET seq = 99 WHERE seq = 2",
            "DELETE FROM batches WHERE seq = 2",
            "UPDATE erased SET at = at + 1",
            "UPDATE erased SET id = randomblob(16)",
            "DELETE FROM erased",
            "UPDATE sums SET upto = upto - 1",
            "UPDATE sums SET cells = zeroblob(length(cells))",
            "DELETE FROM sums",
            "UPDATE tally SET changes = changes - 1",
            "DELETE FROM tally",
            "PRAGMA user_version = 2",
            "CREATE TABLE other (a)",
        ] {
            fs::write(&file, &good).unwrap();
            let connection = connect(&file).unwrap();
            connection.execute_batch(change).unwrap();
            checkpoint(&connection, "TRUNCATE").unwrap();
            drop(connection);
            assert!(fs::read(&file).unwrap() != good, "{change}");
            assert!(open().is_err(), "{change}");
            assert!(Database::read(&folder, digest).is_err(), "{change}");
        }
        // The version that may write it.
        fs::write(&file, [&good[..18], &[3], &good[19..]].concat()).unwrap();
        assert!(open().is_err());
    }
}
