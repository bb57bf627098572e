//! Keeps tasks and sums up to date with the database, whichever aggregator wrote to it.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use futures_util::TryStreamExt;
use tokio::task::spawn_blocking;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::error::PostgresError;
use super::pool::{Address, Database, Pool};
use super::schema::{IDENTITY, UNSAFE};
use super::sql::{Sql, within};
use super::state::{FoundTask, Shared};
use super::task::PostgresTask;
use super::{PostgresOptions, schema, snapshots};
use crate::locks::{hold, read_lock, write_lock};
use crate::store::{TaskReports, sum};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::report::{Report, report_bytes};
use ldp_pca::task::{Task, TaskDigest};

/// Bytes of reports that are decoded and summed at a time.
const READ_BYTES: usize = 8 << 20;

/// The longest wait for the next report of a read, which may first search a large table.
const READ_PATIENCE: Duration = Duration::from_secs(600);

/// The tasks that are served, by digest.
pub(super) type Tasks = RwLock<BTreeMap<TaskDigest, Arc<PostgresTask>>>;

/// The follower of the tables. There is one per store, and it has its own connection.
pub(super) struct Follower {
    address: Address,
    client: Option<Client>,
    pool: Arc<Pool>,
    pub(super) tasks: Arc<Tasks>,
    options: PostgresOptions,
    /// The database that everything was read from.
    identity: Option<String>,
    /// The version of the list of tasks that was read last.
    tasks_version: Option<i64>,
}

impl Follower {
    pub(super) fn new(address: Address, pool: Arc<Pool>, options: PostgresOptions) -> Self {
        Self { address, client: None, pool, tasks: Arc::default(), options, identity: None, tasks_version: None }
    }

    /// Brings everything up to date with the database. After an error the next round makes a new connection.
    ///
    /// The counts over one connection are not a starting point for the next: in between the database may have crashed,
    /// or an earlier copy may have replaced it, and transaction ids may have been reused. So all sums start again, from
    /// a snapshot that agrees with the table.
    pub(super) async fn round(&mut self) -> Result<(), PostgresError> {
        let (client, reconnected) = match self.client.take().filter(|client| !client.is_closed()) {
            Some(client) => (client, false),
            None => (self.address.connect().await?, true),
        };
        let durable = self.follow(&client, reconnected).await?;
        self.client = Some(client);
        durable
    }

    /// Whether the database keeps what it confirms, once everything was read.
    async fn follow(&mut self, client: &Client, reconnected: bool) -> Result<Result<(), PostgresError>, PostgresError> {
        if reconnected {
            schema::adopt(&Sql::to("take over its tables", client)).await?;
        }
        // The version of the list of tasks, the identity, and the transaction below which all have ended. The
        // configuration, and whether it keeps what it confirms.
        let query = format!(
            "SELECT tasks_version, {IDENTITY}, pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
                (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'), {UNSAFE} FROM ldp_pca.meta"
        );
        let rows = within(self.options.patience, Sql::to("show what is new", client).rows(&query, &[])).await??;
        let row = rows.first().ok_or(PostgresError::Replaced)?;
        let (version, identity, ended): (i64, String, i64) = (row.get(0), row.get(1), row.get(2));
        let durable = schema::durable(row.get(4));
        if let Some(before) = self.identity.as_ref().filter(|before| **before != identity) {
            if !reconnected {
                return Err(PostgresError::Replaced);
            }
            tracing::warn!(%before, now = %identity, "the database is not the one of before: it was promoted, \
                restored or recreated");
        }
        self.identity = Some(identity.clone());
        let synchronous_commit = row.get::<_, Option<String>>(3).unwrap_or_default();
        self.pool.follow(Database { identity, synchronous_commit });
        if reconnected || self.tasks_version != Some(version) {
            self.read_tasks(client, reconnected, ended).await?;
        }
        for task in tasks_of(&self.tasks) {
            read_reports(client, &task.shared, ended).await?;
            if durable.is_ok() {
                snapshots::write(client, &task.shared, &self.options).await?;
            }
        }
        self.tasks_version = Some(version);
        Ok(durable)
    }

    /// Starts new tasks, ends those that are gone, and updates the settings of the others. Over a new connection all
    /// are new.
    async fn read_tasks(&self, client: &Client, reconnected: bool, ended: i64) -> Result<(), PostgresError> {
        let query = "SELECT number, digest, document, settings::text, erased FROM ldp_pca.tasks";
        let rows = Sql::to("list the tasks", client).rows(query, &[]).await?;
        let there = rows.iter().map(read_task).collect::<Result<Vec<FoundTask>, PostgresError>>()?;
        let digests: BTreeSet<TaskDigest> = there.iter().map(|found| found.task.digest()).collect();
        for task in tasks_of(&self.tasks).iter().filter(|task| !digests.contains(&task.task().digest())) {
            let (digest, records) = (task.task().digest(), task.counts().records);
            tracing::warn!(task = %digest, records, "the task is no longer in the database: somebody deleted it");
            self.replace(digest, None);
        }
        for found in there {
            let digest = found.task.digest();
            let before = read_lock(&self.tasks).get(&digest).map(|task| Arc::clone(&task.shared));
            // Another number: it was deleted, and added again without its reports.
            let before = before.filter(|before| before.number == found.number);
            // Where reports were erased, the sum starts again from the snapshot without them.
            if let Some(same) = before.as_ref().filter(|before| !reconnected && before.erased == found.erased) {
                same.configure(found.settings);
                continue;
            }
            let duplicates = before.as_ref().map_or(0, |before| before.counts.borrow().duplicates);
            let snapshot = snapshots::read(client, &found.task, found.number, &self.options.metrics).await?;
            let shared = Arc::new(Shared::new(found, snapshot, duplicates));
            // Nobody sees it before it is whole.
            read_reports(client, &shared, ended).await?;
            if let Some(before) = before.filter(|_| reconnected) {
                self.compare(client, &before, &shared, ended).await?;
            }
            let task = PostgresTask::start(shared, &self.pool, &self.options.metrics);
            self.replace(digest, Some(Arc::new(task)));
        }
        Ok(())
    }

    /// Warns about reports of a task that the database has lost since it was last read.
    async fn compare(&self, client: &Client, before: &Shared, now: &Shared, ended: i64) -> Result<(), PostgresError> {
        // Read before the table, which has everything that is counted.
        let (counted, confirmed) = (before.counts.borrow().records, *hold(&before.confirmed));
        let number = now.number;
        let is_kept = confirmed.map_or("true".to_owned(), |id| {
            format!("EXISTS (SELECT FROM ldp_pca.reports_{number} WHERE id = decode('{id}', 'hex'))")
        });
        let query = format!("SELECT count(*), {is_kept} FROM ldp_pca.reports_{number} WHERE xid >= {ended}");
        let row = Sql::to("count reports", client).row(&query).await?;
        let (later, is_kept): (i64, bool) = (row.get(0), row.get(1));
        let erased = now.erased.saturating_sub(before.erased).unsigned_abs();
        let found = now.counts.borrow().records + later.unsigned_abs() + erased;
        if found >= counted && is_kept {
            return Ok(());
        }
        self.options.metrics.missing_reports.inc_by(counted.saturating_sub(found).max(1));
        tracing::error!(
            task = %now.task.digest(), counted, found,
            "the database lacks reports that it had confirmed: it is an earlier copy, or it lost them; what it has is \
                counted"
        );
        Ok(())
    }

    /// Serves another task under a digest, or none. Batches that wait for the previous one are still written.
    fn replace(&self, digest: TaskDigest, task: Option<Arc<PostgresTask>>) {
        let mut tasks = write_lock(&self.tasks);
        let before = match task {
            Some(task) => tasks.insert(digest, task),
            None => tasks.remove(&digest),
        };
        before.iter().for_each(|before| before.close());
    }
}

pub(super) fn tasks_of(tasks: &Tasks) -> Vec<Arc<PostgresTask>> {
    read_lock(tasks).values().cloned().collect()
}

fn read_task(row: &Row) -> Result<FoundTask, PostgresError> {
    let digest: &str = row.get(1);
    let refused = |problem: String| {
        PostgresError::Content(format!("{problem}; put {digest} there again from a copy of the task"))
    };
    let task = match Task::from_json(row.get(2)) {
        Ok(task) if task.digest().to_string() == digest => task,
        Ok(other) => return Err(refused(format!("task {} is kept as {digest} in the database", other.digest()))),
        Err(error) => return Err(refused(format!("task {digest} in the database: {error}"))),
    };
    let settings = PostgresError::settings(task.digest(), row.get(3))?;
    Ok(FoundTask { task, number: row.get(0), settings, erased: row.get(4) })
}

/// Adds the reports of the transactions below `ended` that are not in the sum.
async fn read_reports(client: &Client, shared: &Arc<Shared>, ended: i64) -> Result<(), PostgresError> {
    let failed = || PostgresError::query("read reports");
    let (range, counted) = shared.ledger().limit(ended);
    if range.is_empty() {
        return Ok(());
    }
    let query = format!(
        "SELECT report FROM ldp_pca.reports_{} WHERE xid >= {} AND xid < {} AND xid <> ALL($1)",
        shared.number, range.start, range.end
    );
    let reading = client.query_typed_raw(&query, [(&counted, Type::INT8_ARRAY)]);
    let mut rows = match within(READ_PATIENCE, reading).await? {
        Ok(rows) => pin!(rows),
        // Deleted since; the next round finds the list of tasks changed.
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => return Ok(()),
        Err(error) => return Err(failed()(error)),
    };
    let most = (READ_BYTES / report_bytes(&shared.task)).max(1);
    let (mut read, mut reports, mut passed_over) = (None, Vec::new(), 0);
    while let Some(row) = within(READ_PATIENCE, rows.try_next()).await?.map_err(failed())? {
        match Report::from_bytes(row.get(0), &shared.task) {
            Ok(report) => reports.push(report),
            Err(_) => passed_over += 1,
        }
        if reports.len() == most {
            read = Some(add(read, &shared.task, std::mem::take(&mut reports)).await);
        }
    }
    if !reports.is_empty() {
        read = Some(add(read, &shared.task, reports).await);
    }
    let added = shared.advance(range.end, read.as_ref(), passed_over);
    added.map_err(|error| PostgresError::Query { action: "be summed", reason: error.to_string() })
}

/// Adds reports off the request threads.
async fn add(sum_before: Option<Aggregate>, task: &Task, reports: Vec<Report>) -> Aggregate {
    let task = task.clone();
    let added = spawn_blocking(move || {
        let mut aggregate = sum_before.unwrap_or_else(|| Aggregate::empty(&task));
        sum(&mut aggregate, &task, &reports);
        aggregate
    });
    added.await.expect("a sum of checked reports does not panic")
}
