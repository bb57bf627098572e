//! What can be read of a damaged database: of a copy, so that nothing of it is changed.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::database::{FILE, LOG, PAGES, Problem, StoredBatch, TABLES, Tally, TaskRow, check_task, checked, pragma};
use ldp_pca::report::ReportId;
use ldp_pca::task::{Task, TaskDigest};

/// Batches in a row that are not there, after which no others are looked for where the last one is not known.
const MOST_MISSING: u64 = 100_000;

/// What can be read of a damaged database.
pub(super) struct Salvage {
    connection: Connection,
    pub(super) task: Task,
    /// None where it is not as it was written.
    pub(super) row: Option<TaskRow>,
    pub(super) changes: u64,
    /// The ids of erased reports, and when.
    pub(super) erased: HashMap<ReportId, u64>,
}

impl Salvage {
    /// Reads the copy of a database in a folder of its own.
    pub(super) fn of(copy: &Path, digest: TaskDigest) -> Result<Self, Problem> {
        let (connection, document) = open(copy)?;
        let task = Task::from_json(&document)?;
        check_task(&task, digest)?;
        let row = TaskRow::read(&connection, &mut Tally::default()).ok();
        let changes = Tally::read(&connection).map_or(0, |tally| tally.changes);
        let erased = erased(&connection);
        Ok(Self { connection, task, row, changes, erased })
    }

    /// Passes what is intact of each batch to `each`.
    pub(super) fn batches(&self, each: &mut dyn FnMut(StoredBatch) -> Result<(), Problem>) -> Result<(), Problem> {
        let last = self.connection.query_row("SELECT max(seq) FROM batches", [], |row| row.get::<_, Option<u64>>(0));
        // Each has some bytes of the file, whatever the last one says.
        let bytes = pragma(&self.connection, "page_count").unwrap_or(0) * PAGES[1];
        let likely = if last.is_ok() { bytes / 64 } else { 0 };
        let last = last.unwrap_or(Some(u64::MAX)).unwrap_or(0);
        let (mut seq, mut missing) = (1u64, 0);
        let mut find = self.connection.prepare("SELECT reports FROM batches WHERE seq = ?1")?;
        while seq <= last && (seq <= likely || missing < MOST_MISSING) {
            match find.query_row([seq], |row| row.get::<_, Vec<u8>>(0)) {
                Err(_) => missing += 1,
                Ok(stored) => {
                    missing = 0;
                    each(StoredBatch::decode(seq.cast_signed(), &stored, &self.task, |_, _| true))?;
                }
            }
            seq += 1;
        }
        Ok(())
    }
}

/// Opens the copy with a new first page, which says where the tables are and how many pages there are: the tables of
/// each database begin at the same pages. Returns the task's document, too.
fn open(copy: &Path) -> Result<(Connection, String), Problem> {
    let path = copy.join(FILE);
    // What a page of another length overwrites comes back.
    let mut start = Vec::new();
    File::open(&path)?.take(PAGES[1]).read_to_end(&mut start)?;
    let with = |bytes: u64| {
        File::options().write(true).open(&path)?.write_all(&start)?;
        renew_first_page(copy, bytes)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags)?;
        connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
        let document = connection.query_row("SELECT document FROM task", [], |row| row.get(0))?;
        Ok::<(Connection, String), Problem>((connection, document))
    };
    let [short, long] = PAGES;
    with(short).or_else(|_| with(long)).or_else(|_| {
        // Its log may have the damaged page.
        let _ = fs::remove_file(copy.join(LOG));
        with(short).or_else(|_| with(long))
    })
}

fn renew_first_page(copy: &Path, bytes: u64) -> Result<(), Problem> {
    let like = copy.join("like");
    let _ = fs::remove_file(&like);
    let connection = Connection::open(&like)?;
    connection.pragma_update(None, "page_size", bytes)?;
    TABLES.iter().try_for_each(|table| connection.execute(table, []).map(drop))?;
    drop(connection);
    let mut page = vec![0; usize::try_from(bytes)?];
    File::open(&like)?.read_exact(&mut page)?;
    let mut file = File::options().read(true).write(true).open(copy.join(FILE))?;
    // As many pages as there are, and none of them free.
    let pages = u32::try_from(file.metadata()?.len() / bytes)?;
    page[28..32].copy_from_slice(&pages.to_be_bytes());
    page[32..40].fill(0);
    file.seek(SeekFrom::Start(0))?;
    Ok(file.write_all(&page)?)
}

/// The intact rows from both ends: those behind a damaged page are reached from the other.
fn erased(connection: &Connection) -> HashMap<ReportId, u64> {
    let mut erased = HashMap::new();
    for order in ["ASC", "DESC"] {
        let rows = format!("SELECT id, at, checksum FROM erased ORDER BY id {order}");
        let Ok(mut statement) = connection.prepare(&rows) else { continue };
        let rows = statement.query_map([], |row| {
            let intact = checked("erased", row, 2).is_ok();
            Ok(intact.then_some((ReportId::new(row.get(0)?), row.get::<_, u64>(1)?)))
        });
        // Rows after an error are read from the other end.
        erased.extend(rows.into_iter().flatten().map_while(Result::ok).flatten());
    }
    erased
}
