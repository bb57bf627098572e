//! One transaction for all waiting batches. They are answered after its COMMIT.
//!
//! Every transaction holds the task's lock: shared, so that aggregators write at the same time; or alone where there is
//! a quota, so that what is counted against it cannot change meanwhile. A change of settings or a deletion of the task
//! also holds it alone, so the settings that are read under it are current. Ids are inserted in their order, so that no
//! two transactions wait for each other.

use std::collections::{BTreeMap, HashMap, HashSet};

use tokio_postgres::error::Severity;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row, SimpleQueryMessage};

use super::error::{PostgresError, describe};
use super::pool::Pool;
use super::schema::{ERASED_XID, UNSAFE, durable};
use super::sql::LOCKS;
use super::state::Shared;
use crate::store::queue::Waiting;
use crate::store::{Batch, CommitError, Committed, Mark, TaskSettings, mark};
use ldp_pca::report::{Report, ReportId, report_bytes};

/// The state of the database after a transaction.
pub(super) struct Commit {
    /// The outcome of each batch.
    pub(super) outcomes: Vec<Result<Committed, CommitError>>,
    /// The reports that are new.
    pub(super) new: Vec<Report>,
    /// The transaction, if there is something new; now committed.
    pub(super) awaited: Option<i64>,
}

/// Stores the batches. After an error none of them was counted here: if the database has them anyway, the follower
/// counts them.
pub(super) async fn commit(shared: &Shared, pool: &Pool, group: &[Waiting]) -> Result<Commit, CommitError> {
    let mut alone = shared.settings().max_records.is_some();
    let connection = pool.take().await?;
    loop {
        let transaction = begin(&connection.client, shared, alone).await?;
        if transaction.settings.max_records.is_some() && !alone {
            // The quota is new. A lock that is held is not made stricter: two could wait for each other.
            connection.client.batch_execute("ROLLBACK").await?;
            alone = true;
            continue;
        }
        // After an error the connection is dropped, which rolls back.
        let commit = store(&connection.client, shared, transaction, group).await?;
        connection.release();
        return Ok(commit);
    }
}

/// A transaction that holds the task's lock.
struct Transaction {
    id: i64,
    settings: TaskSettings,
    /// The number of reports, for a task with a quota.
    records: Option<i64>,
}

async fn begin(client: &Client, shared: &Shared, alone: bool) -> Result<Transaction, CommitError> {
    let (lock, number, task) = (if alone { "" } else { "_shared" }, shared.number, shared.task.digest());
    let begin =
        format!("BEGIN; SET LOCAL statement_timeout = '60s'; SELECT pg_advisory_xact_lock{lock}({LOCKS}, {number})");
    client.batch_execute(&begin).await?;
    // After a copy replaced the tables, a number may be another task's.
    let query = format!(
        "SELECT pg_current_xact_id()::text::bigint, settings::text, records, {UNSAFE} FROM ldp_pca.tasks
            WHERE number = {number} AND digest = '{task}'"
    );
    // None if it was deleted, maybe by another aggregator.
    let row = client.query_typed_opt(&query, &[]).await?.ok_or(CommitError::Closed)?;
    durable(row.get(3))?;
    let settings = PostgresError::settings(task, row.get(1))?;
    Ok(Transaction { id: row.get(0), settings, records: row.get(2) })
}

async fn store(
    client: &Client,
    shared: &Shared,
    transaction: Transaction,
    group: &[Waiting],
) -> Result<Commit, CommitError> {
    let (number, report_bytes) = (shared.number, report_bytes(&shared.task));
    let refusals = admit(client, number, &transaction, group).await?;
    let rows = distinct(group, &refusals, report_bytes);
    let ids: Vec<&[u8]> = rows.keys().map(AsRef::as_ref).collect();
    let reports: Vec<&[u8]> = rows.values().copied().collect();
    let insert = format!(
        "INSERT INTO ldp_pca.reports_{number} (id, report) SELECT * FROM unnest($1, $2) ON CONFLICT (id) DO NOTHING
            RETURNING id"
    );
    let arrays = [(&ids as _, Type::BYTEA_ARRAY), (&reports as _, Type::BYTEA_ARRAY)];
    let mut new: HashSet<ReportId> = client.query_typed(&insert, &arrays).await?.iter().map(id_of).collect();
    if transaction.settings.max_records.is_some() && !new.is_empty() {
        let more = new.len();
        let update = format!("UPDATE ldp_pca.tasks SET records = records + {more} WHERE number = {number}");
        client.batch_execute(&update).await?;
    }
    let marks = marks(client, number, group, &rows, &new).await?;
    let awaited = (!new.is_empty()).then_some(transaction.id);
    awaited.iter().for_each(|id| shared.ledger().begin(*id));
    let committed = commit_durably(client).await;
    if let (Err(_), Some(id)) = (&committed, awaited) {
        shared.ledger().given_up(id);
    }
    committed?;
    let mut counted = Vec::with_capacity(new.len());
    // Of reports with the same id the first is the new one.
    let mut outcome = |batch: &Batch| {
        let mut outcome = Committed::default();
        for (report, bytes) in batch.reports.iter().zip(batch.bytes.chunks_exact(report_bytes)) {
            if new.remove(&report.id()) {
                outcome.accepted += 1;
                counted.push(report.clone());
            } else {
                outcome.duplicate += 1;
                outcome.conflicting += u64::from(marks.get(&report.id()).is_some_and(|first| *first != mark(bytes)));
            }
        }
        outcome
    };
    let outcomes = (group.iter().zip(refusals))
        .map(|(waiting, refusal)| refusal.map_or_else(|| Ok(outcome(&waiting.batch)), Err))
        .collect();
    Ok(Commit { outcomes, new: counted, awaited })
}

/// Commits, and asks the same session in the same message whether that was durable: a session takes on new settings
/// only between two messages.
async fn commit_durably(client: &Client) -> Result<(), CommitError> {
    // A time limit that ended the wait for a standby would end it with success.
    let commit = format!("SELECT set_config('statement_timeout', '0', true), {UNSAFE}; COMMIT");
    let answers = client.simple_query(&commit).await.map_err(uncommitted)?;
    let found = answers.iter().find_map(|answer| match answer {
        SimpleQueryMessage::Row(row) => row.try_get(1).ok().flatten(),
        _ => None,
    });
    durable(found).map_err(|error| CommitError::Unknown(error.to_string()))
}

/// A COMMIT that the database refused did nothing. One whose session ended instead may have been done.
fn uncommitted(error: tokio_postgres::Error) -> CommitError {
    let refused = error.as_db_error().is_some_and(|error| error.parsed_severity() == Some(Severity::Error));
    if refused { error.into() } else { CommitError::Unknown(describe(&error)) }
}

/// The marks of the stored reports whose ids have duplicates in the batches.
async fn marks(
    client: &Client,
    number: i32,
    group: &[Waiting],
    rows: &Rows<'_>,
    new: &HashSet<ReportId>,
) -> Result<HashMap<ReportId, Mark>, CommitError> {
    if group.iter().map(|waiting| waiting.batch.reports.len()).sum::<usize>() == new.len() {
        return Ok(HashMap::new());
    }
    let mut marks: HashMap<ReportId, Mark> = rows.iter().map(|(id, report)| (*id, mark(report))).collect();
    let known: Vec<&[u8]> = rows.keys().filter(|id| !new.contains(id)).map(AsRef::as_ref).collect();
    let query = format!(
        "SELECT id, substring(report FROM octet_length(report) - 3) FROM ldp_pca.reports_{number} WHERE id = ANY($1)
            AND xid <> {ERASED_XID}"
    );
    let found = client.query_typed(&query, &[(&known, Type::BYTEA_ARRAY)]).await?;
    marks.extend(found.iter().map(|row| (id_of(row), mark(row.get(1)))));
    Ok(marks)
}

/// Reports by id, in its order.
type Rows<'a> = BTreeMap<ReportId, &'a [u8]>;

/// The first report of each id in the batches that are not refused.
fn distinct<'a>(group: &'a [Waiting], refusals: &[Option<CommitError>], report_bytes: usize) -> Rows<'a> {
    let mut rows = Rows::new();
    for (Waiting { batch, .. }, _) in group.iter().zip(refusals).filter(|(_, refusal)| refusal.is_none()) {
        for (report, bytes) in batch.reports.iter().zip(batch.bytes.chunks_exact(report_bytes)) {
            rows.entry(report.id()).or_insert(bytes);
        }
    }
    rows
}

/// For each batch, why none of it may be written, if so: its new reports do not fit the quota, or come too late. If
/// there is a quota, nobody else writes meanwhile.
async fn admit(
    client: &Client,
    number: i32,
    transaction: &Transaction,
    group: &[Waiting],
) -> Result<Vec<Option<CommitError>>, CommitError> {
    let (over, limit) = (CommitError::of_closed(&transaction.settings), transaction.settings.max_records);
    if over.is_none() && limit.is_none() && group.iter().all(|waiting| waiting.batch.closed.is_none()) {
        return Ok(vec![None; group.len()]);
    }
    let (limit, mut records) = (limit.unwrap_or(u64::MAX), transaction.records.unwrap_or(0).unsigned_abs());
    let ids: Vec<ReportId> = group.iter().flat_map(|waiting| &waiting.batch.reports).map(Report::id).collect();
    let asked: Vec<&[u8]> = ids.iter().map(AsRef::as_ref).collect();
    let query = format!("SELECT id FROM ldp_pca.reports_{number} WHERE id = ANY($1)");
    let known = client.query_typed(&query, &[(&asked, Type::BYTEA_ARRAY)]).await?;
    let mut seen: HashSet<ReportId> = known.iter().map(id_of).collect();
    let refusal = |Waiting { batch, .. }: &Waiting| {
        let new: HashSet<ReportId> = batch.reports.iter().map(Report::id).filter(|id| !seen.contains(id)).collect();
        if new.is_empty() {
            // Existing reports need no space, even if the limit was lowered since.
            return None;
        }
        let full = records.saturating_add(new.len() as u64) > limit;
        let refusal = batch.closed.clone().or(over.clone()).or(full.then_some(CommitError::Quota { limit, records }));
        if refusal.is_none() {
            records += new.len() as u64;
            seen.extend(new);
        }
        refusal
    };
    Ok(group.iter().map(refusal).collect())
}

/// The id that a row begins with.
fn id_of(row: &Row) -> ReportId {
    ReportId::new(row.get::<_, &[u8]>(0).try_into().expect("the table takes ids of 16 bytes alone"))
}
