//! One transaction for all waiting batches. They are answered after its COMMIT.
//!
//! Every transaction holds the task's lock: shared, so that aggregators write at the same time; or alone where there is
//! a quota, so that what is counted against it cannot change meanwhile. A change of settings or a deletion of the task
//! also holds it alone, so the settings that are read under it are current. Ids are inserted in their order, so that no
//! two transactions wait for each other.

use std::collections::{BTreeMap, HashMap, HashSet};

use tokio_postgres::{Client, types::Type};

use super::durability::{self, UNSAFE};
use super::error::PostgresError;
use super::pool::Pool;
use super::schema::ERASED_XID;
use super::shared::Shared;
use super::state::Awaited;
use super::statements::LOCKS;
use crate::store::{Batch, CommitError, Committed, Mark, TaskSettings, mark};
use ldp_pca::report::{Report, ReportId, report_bytes};

/// The state of the database after a transaction.
pub(super) struct Commit {
    /// The outcome of each batch.
    pub(super) outcomes: Vec<Result<Committed, CommitError>>,
    /// The ids that are new, and the batch of each.
    pub(super) new: HashMap<ReportId, usize>,
    /// The transaction, if there is something new; now committed.
    pub(super) awaited: Option<Awaited>,
}

/// Stores the batches. After an error none of them was counted here: if the database has them anyway, the follower
/// counts them.
pub(super) async fn commit(shared: &Shared, pool: &Pool, batches: &[Batch]) -> Result<Commit, CommitError> {
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
        let commit = store(&connection.client, shared, transaction, batches).await?;
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
    let (lock, number) = (if alone { "" } else { "_shared" }, shared.number);
    let begin =
        format!("BEGIN; SET LOCAL statement_timeout = '60s'; SELECT pg_advisory_xact_lock{lock}({LOCKS}, {number})");
    client.batch_execute(&begin).await?;
    // After a copy replaced the tables, a number may be another task's.
    let query = format!(
        "SELECT pg_current_xact_id()::text::bigint, settings::text, records, {UNSAFE} FROM ldp_pca.tasks
            WHERE number = {number} AND digest = $1"
    );
    let digest = shared.task.digest().to_string();
    // None if it was deleted, maybe by another aggregator.
    let row = client.query_typed_opt(&query, &[(&digest, Type::TEXT)]).await?.ok_or(CommitError::Closed)?;
    durability::check(row.get(3))?;
    let settings = PostgresError::settings(&digest, row.get(1))?;
    Ok(Transaction { id: row.get(0), settings, records: row.get(2) })
}

async fn store(
    client: &Client,
    shared: &Shared,
    transaction: Transaction,
    batches: &[Batch],
) -> Result<Commit, CommitError> {
    let report_bytes = report_bytes(&shared.task);
    let limit = transaction.settings.max_records;
    let over = CommitError::of_closed(&transaction.settings);
    let is_bounded = limit.is_some() || over.is_some() || batches.iter().any(|batch| batch.closed.is_some());
    let (rows, refusals) = if is_bounded {
        let records = transaction.records.unwrap_or(0).unsigned_abs();
        admit(client, shared, batches, over.as_ref(), limit.unwrap_or(u64::MAX), records).await?
    } else {
        (distinct(batches, report_bytes, |_| true), Refusals::new())
    };
    let ids: Vec<&[u8]> = rows.keys().map(|id| &id[..]).collect();
    let reports: Vec<&[u8]> = rows.values().map(|(_, report)| *report).collect();
    let insert = format!(
        "INSERT INTO ldp_pca.reports_{} (id, report) SELECT * FROM unnest($1, $2) ON CONFLICT (id) DO NOTHING \
            RETURNING id",
        shared.number
    );
    let arrays = [(&ids as _, Type::BYTEA_ARRAY), (&reports as _, Type::BYTEA_ARRAY)];
    let mut new = HashMap::new();
    if !rows.is_empty() {
        for row in client.query_typed(&insert, &arrays).await? {
            let id: &[u8] = row.get(0);
            if let Some((batch, _)) = rows.get(id) {
                new.insert(report_id(id), *batch);
            }
        }
    }
    if transaction.settings.max_records.is_some() && !new.is_empty() {
        let update = "UPDATE ldp_pca.tasks SET records = records + $2 WHERE number = $1";
        let row = [(&shared.number as _, Type::INT4), (&(new.len() as i64) as _, Type::INT8)];
        client.query_typed(update, &row).await?;
    }
    let marks = marks(client, shared, batches, &rows, &new).await?;
    let awaited = (!new.is_empty()).then(|| shared.state.ledger().begin(transaction.id));
    let committed = durability::commit(client).await;
    if let (Err(_), Some(awaited)) = (&committed, awaited) {
        shared.state.ledger().given_up(awaited);
    }
    committed?;
    let mut left = new.clone();
    let outcomes = (batches.iter().enumerate())
        .map(|(index, batch)| match refusals.get(&index) {
            Some(refusal) => Err(refusal.clone()),
            None => Ok(outcome(index, batch, report_bytes, &mut left, &marks)),
        })
        .collect();
    Ok(Commit { outcomes, new, awaited })
}

/// The outcome of a written batch. Of reports with the same id the first is the new one.
fn outcome(
    index: usize,
    batch: &Batch,
    report_bytes: usize,
    new: &mut HashMap<ReportId, usize>,
    marks: &HashMap<ReportId, Mark>,
) -> Committed {
    let mut outcome = Committed::default();
    for (report, bytes) in batch.reports.iter().zip(batch.bytes.chunks_exact(report_bytes)) {
        if new.get(&report.id()) == Some(&index) {
            new.remove(&report.id());
            outcome.accepted += 1;
        } else {
            outcome.duplicate += 1;
            outcome.conflicting += u64::from(marks.get(&report.id()).is_some_and(|first| *first != mark(bytes)));
        }
    }
    outcome
}

/// The marks of the stored reports whose ids have duplicates in the batches.
async fn marks(
    client: &Client,
    shared: &Shared,
    batches: &[Batch],
    rows: &Rows<'_>,
    new: &HashMap<ReportId, usize>,
) -> Result<HashMap<ReportId, Mark>, CommitError> {
    if batches.iter().map(|batch| batch.reports.len()).sum::<usize>() == new.len() {
        return Ok(HashMap::new());
    }
    let mut marks: HashMap<ReportId, Mark> =
        rows.iter().map(|(id, (_, report))| (ReportId::new(*id), mark(report))).collect();
    let known: Vec<&[u8]> =
        rows.keys().filter(|id| !new.contains_key(&ReportId::new(**id))).map(|id| &id[..]).collect();
    if !known.is_empty() {
        let query = format!(
            "SELECT id, substring(report FROM octet_length(report) - 3) FROM ldp_pca.reports_{} WHERE id = ANY($1)
                AND xid <> {ERASED_XID}",
            shared.number
        );
        let found = client.query_typed(&query, &[(&known, Type::BYTEA_ARRAY)]).await?;
        marks.extend(found.iter().map(|row| (report_id(row.get(0)), mark(row.get(1)))));
    }
    Ok(marks)
}

/// Reports by id, in its order: the batch that each comes from, and its bytes.
type Rows<'a> = BTreeMap<[u8; 16], (usize, &'a [u8])>;

/// By batch, the reason why none of it may be written.
type Refusals = BTreeMap<usize, CommitError>;

/// The first report of each id in the batches that `take` names.
fn distinct(batches: &[Batch], report_bytes: usize, take: impl Fn(usize) -> bool) -> Rows<'_> {
    let mut rows = Rows::new();
    for (index, batch) in batches.iter().enumerate().filter(|(index, _)| take(*index)) {
        for (report, bytes) in batch.reports.iter().zip(batch.bytes.chunks_exact(report_bytes)) {
            rows.entry(*report.id().as_bytes()).or_insert((index, bytes));
        }
    }
    rows
}

/// Decides batch by batch whether its new reports fit the quota, and are in time: not if the first wave is `over`. If
/// there is a quota, nobody else writes meanwhile.
async fn admit<'a>(
    client: &Client,
    shared: &Shared,
    batches: &'a [Batch],
    over: Option<&CommitError>,
    limit: u64,
    mut records: u64,
) -> Result<(Rows<'a>, Refusals), CommitError> {
    let report_bytes = report_bytes(&shared.task);
    let all = distinct(batches, report_bytes, |_| true);
    let ids: Vec<&[u8]> = all.keys().map(|id| &id[..]).collect();
    let query = format!("SELECT id FROM ldp_pca.reports_{} WHERE id = ANY($1)", shared.number);
    let known = client.query_typed(&query, &[(&ids, Type::BYTEA_ARRAY)]).await?;
    let mut seen: HashSet<ReportId> = known.iter().map(|row| report_id(row.get(0))).collect();
    let mut refusals = Refusals::new();
    for (index, batch) in batches.iter().enumerate() {
        let new: HashSet<ReportId> = batch.reports.iter().map(Report::id).filter(|id| !seen.contains(id)).collect();
        // Existing reports need no space, even if the limit was lowered since.
        if let Some(closed) = batch.closed.as_ref().or(over).filter(|_| !new.is_empty()) {
            refusals.insert(index, closed.clone());
        } else if !new.is_empty() && records.saturating_add(new.len() as u64) > limit {
            refusals.insert(index, CommitError::Quota { limit, records });
        } else {
            records += new.len() as u64;
            seen.extend(new);
        }
    }
    Ok((distinct(batches, report_bytes, |index| !refusals.contains_key(&index)), refusals))
}

fn report_id(bytes: &[u8]) -> ReportId {
    ReportId::new(bytes.try_into().expect("the table takes ids of 16 bytes alone"))
}
