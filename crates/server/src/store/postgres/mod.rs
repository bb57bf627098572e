//! A store in a PostgreSQL database, which several aggregators share.
//!
//! Each of them writes to the tables (`schema`) and follows what all have written (`state` says why every report is
//! counted once by each). A report is acknowledged after the COMMIT of the transaction that brought it. The sums are in
//! memory; there are snapshots of them in the database. While it cannot be reached nothing is acknowledged; afterwards
//! everything resumes by itself.

mod changes;
mod error;
mod follower;
mod pool;
mod schema;
mod snapshots;
mod sql;
mod state;
mod task;
#[cfg(test)]
mod tests;
mod writer;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use self::changes::{configure, erase_where, find, put, second_waves_of};
use self::follower::{Follower, Tasks, tasks_of};
use self::pool::{Address, Pool};
use self::schema::{ERASED_XID, lock_alone};
use self::sql::{LOCKS, NEW_TASKS, Sql};
use super::{
    DeletedTask, Erase, ErasedReports, NextWave, Put, RefinementPlan, ReportStore, StoreError, StoreMetrics,
    TaskReports, TaskSettings,
};
use crate::locks::{hold, read_lock};
use ldp_pca::report::{Report, ReportId};
use ldp_pca::task::{Task, TaskDigest};

pub use error::PostgresError;

/// The longest that [`ReportStore::check`] waits.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// Creates a table's file again and fills it: writing into existing pages would not test for space. Several aggregators
/// take turns.
const PROBE: &str =
    "TRUNCATE ldp_pca.probe; INSERT INTO ldp_pca.probe SELECT decode(repeat('5a', 65536), 'hex'); COMMIT";

/// The options for using a database.
#[derive(Clone, Debug)]
pub(crate) struct PostgresOptions {
    /// The time between two looks at other aggregators' writes.
    pub(crate) poll: Duration,
    /// The longest that such a look waits for its first answer.
    pub(crate) patience: Duration,
    /// Reports after which a snapshot is written.
    pub(crate) snapshot_reports: u64,
    /// Its metrics.
    pub(crate) metrics: StoreMetrics,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            poll: Duration::from_millis(250),
            patience: Duration::from_secs(60),
            snapshot_reports: 1 << 18,
            metrics: StoreMetrics::default(),
        }
    }
}

/// All tasks of a database.
pub(in super::super) struct PostgresStore {
    pool: Arc<Pool>,
    tasks: Arc<Tasks>,
    following: Arc<Following>,
    runtime: Handle,
    driver: JoinHandle<()>,
}

impl PostgresStore {
    /// Opens the database at `address`, with `tasks` in addition to those that it already has, and reads its content.
    pub(in super::super) async fn open(
        address: &str,
        tasks: &[Task],
        options: PostgresOptions,
    ) -> Result<Self, StoreError> {
        let address: Address = address.parse()?;
        let client = address.connect().await?;
        let making = Sql::to("make the tables", &client);
        schema::check_durable(&making).await?;
        schema::create(&making).await?;
        let putting = Sql::to("store a task", &client);
        putting.begin().await?;
        for task in tasks {
            put(&putting, task, None).await?;
        }
        putting.run("COMMIT").await?;
        let pool = Arc::new(Pool::new(address.clone()));
        let poll = options.poll;
        let mut follower = Follower::new(address, Arc::clone(&pool), options);
        follower.round().await?;
        let tasks = Arc::clone(&follower.tasks);
        let following = Arc::new(Following { follower: AsyncMutex::new(follower), trouble: Mutex::default() });
        let followed = Arc::clone(&following);
        let driver = tokio::spawn(async move {
            loop {
                sleep(poll).await;
                followed.refresh().await;
            }
        });
        Ok(Self { pool, tasks, following, runtime: Handle::current(), driver })
    }

    /// Does some work in a transaction that has the list of tasks for itself. What it changes is in effect here when
    /// this returns.
    fn change<T>(
        &self,
        action: &'static str,
        work: impl AsyncFnOnce(&Sql<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.runtime.block_on(async {
            let connection = self.pool.take().await?;
            let sql = Sql::to(action, &connection.client);
            sql.begin().await?;
            // After an error the connection is dropped, which rolls back.
            let changed = work(&sql).await?;
            sql.run("COMMIT").await.map_err(|error| PostgresError::Unconfirmed(error.to_string()))?;
            connection.release();
            // If that fails, the next round does it.
            self.following.refresh().await;
            Ok(changed)
        })
    }
}

/// What follows the database, and how that goes.
struct Following {
    follower: AsyncMutex<Follower>,
    /// The error of the last look at the database.
    trouble: Mutex<Option<String>>,
}

impl Following {
    /// Reads the latest changes, and notes whether that is possible.
    async fn refresh(&self) {
        let followed = self.follower.lock().await.round().await;
        let found = followed.err().map(|error| error.to_string());
        let mut trouble = hold(&self.trouble);
        match (&*trouble, &found) {
            (before, Some(error)) if before.as_ref() != Some(error) => {
                tracing::warn!(%error, "the database cannot be followed or trusted");
            }
            (Some(_), None) => tracing::info!("the database can be followed and trusted again"),
            _ => {}
        }
        *trouble = found;
    }
}

impl ReportStore for PostgresStore {
    fn tasks(&self) -> Vec<Arc<dyn TaskReports>> {
        tasks_of(&self.tasks).into_iter().map(|task| task as Arc<dyn TaskReports>).collect()
    }

    fn task(&self, digest: TaskDigest) -> Option<Arc<dyn TaskReports>> {
        let tasks = read_lock(&self.tasks);
        tasks.get(&digest).map(|task| Arc::clone(task) as Arc<dyn TaskReports>)
    }

    fn put(&self, task: Task, settings: TaskSettings) -> Result<Put, StoreError> {
        self.change("store a task", async |sql| put(sql, &task, Some(&settings)).await)
    }

    fn delete(&self, digest: TaskDigest, erase: Erase) -> Result<bool, StoreError> {
        self.change("delete a task", async |sql| {
            let found = lock_alone(sql, digest).await?;
            if let Some((number, _)) = &found {
                // Nobody serves what is in `ldp_pca.deleted`. Its table is dropped when the grace period is over: the
                // database removes a dropped table's files when that is committed.
                let delete = format!(
                    "INSERT INTO ldp_pca.deleted (number, digest, document, settings, records, erased)
                        SELECT number, digest, document, settings, records, erased FROM ldp_pca.tasks
                        WHERE number = {number};
                    DELETE FROM ldp_pca.tasks WHERE number = {number};
                    {NEW_TASKS}"
                );
                sql.run(&delete).await?;
            }
            let erased = erase == Erase::Now && erase_where(sql, &format!("digest = '{digest}'")).await?;
            Ok(found.is_some() || erased)
        })
    }

    fn deleted(&self) -> Result<Vec<DeletedTask>, StoreError> {
        let query = "SELECT number, digest, extract(epoch FROM deleted)::bigint FROM ldp_pca.deleted";
        let task = |row: &Row| {
            Some(DeletedTask {
                digest: row.get::<_, &str>(1).parse().ok()?,
                key: u64::from(row.get::<_, i32>(0).unsigned_abs()),
                since: row.get::<_, i64>(2).unsigned_abs(),
            })
        };
        let rows = self.change("list deleted tasks", async |sql| Ok(sql.rows(query, &[]).await?))?;
        Ok(rows.iter().filter_map(task).collect())
    }

    fn erase(&self, task: &DeletedTask) -> Result<(), StoreError> {
        let condition = format!("number = {}", task.key);
        self.change("erase a deleted task", async |sql| erase_where(sql, &condition).await).map(drop)
    }

    fn erase_reports(&self, task: TaskDigest, ids: &[ReportId]) -> Result<Option<ErasedReports>, StoreError> {
        let Some(reports) = self.task(task) else { return Ok(None) };
        // A row keeps its id, which stays refused, and loses its report. They leave the last snapshot too. Every
        // aggregator finds the task's number of erased reports changed, within a second, and starts its sum again from
        // that snapshot.
        self.change("erase reports", async |sql| {
            schema::check_durable(sql).await?;
            let Some((number, _)) = lock_alone(sql, task).await? else { return Ok(None) };
            let mut ids: Vec<&[u8]> = ids.iter().map(|id| &id.as_bytes()[..]).collect();
            ids.sort_unstable();
            ids.dedup();
            let query = format!("SELECT xid, report FROM ldp_pca.reports_{number} WHERE id = ANY($1)");
            let rows = sql.rows(&query, &[(&ids, Type::BYTEA_ARRAY)]).await?;
            let (there, before): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.get::<_, i64>(0) != ERASED_XID);
            let (erased, unknown) = (there.len() as u64, (ids.len() - rows.len()) as u64);
            let outcome = ErasedReports { erased, before: before.len() as u64, unknown };
            if there.is_empty() {
                return Ok(Some(outcome));
            }
            let update = format!(
                "UPDATE ldp_pca.reports_{number} SET report = '', xid = {ERASED_XID}
                    WHERE id = ANY($1) AND xid <> {ERASED_XID}"
            );
            sql.rows(&update, &[(&ids, Type::BYTEA_ARRAY)]).await?;
            let read = |row: &&Row| (row.get(0), Report::from_bytes(row.get(1), reports.task()).ok());
            snapshots::take_rows_out(sql, reports.task(), number, there.iter().map(read).collect()).await?;
            let count = format!(
                "UPDATE ldp_pca.tasks SET erased = erased + {erased}, records = records - {erased}
                    WHERE number = {number};
                {NEW_TASKS}"
            );
            sql.run(&count).await?;
            Ok(Some(outcome))
        })
    }

    fn close_first_wave(&self, task: TaskDigest, plan: RefinementPlan) -> Result<bool, StoreError> {
        // Once this is committed, no transaction that read the task's settings before is open: writers hold its lock.
        self.change("close a first wave", async |sql| {
            let open = find(sql, task).await?.filter(|(_, settings)| !settings.is_closed());
            let Some((number, settings)) = open else { return Ok(false) };
            configure(sql, number, &settings.closing(plan)).await?;
            Ok(true)
        })
    }

    fn open_second_wave(&self, first: TaskDigest, second: NextWave) -> Result<Option<(TaskDigest, Put)>, StoreError> {
        let Some(reports) = self.task(first) else { return Ok(None) };
        let expected = second.records + reports.damage().lost;
        self.change("open a second wave", async |sql| {
            let closed = find(sql, first).await?.filter(|(_, settings)| settings.is_closed());
            let Some((number, settings)) = closed else { return Ok(None) };
            let (named, put) = match second_waves_of(sql, first).await?.first() {
                Some(there) => (*there, Put::Updated),
                None => {
                    let count = format!("SELECT count(*) FROM ldp_pca.reports_{number} WHERE xid <> {ERASED_XID}");
                    let found = sql.row(&count).await?.get::<_, i64>(0).unsigned_abs();
                    if found != expected {
                        return Err(StoreError::OtherSums { first, found, expected });
                    }
                    if second.records < second.least {
                        configure(sql, number, &settings.reopening()).await?;
                        return Ok(None);
                    }
                    (second.task.digest(), put(sql, &second.task, Some(&settings.of_second_wave())).await?)
                }
            };
            configure(sql, number, &TaskSettings { refined_by: Some(named), ..settings }).await?;
            Ok(Some((named, put)))
        })
    }

    fn check(&self) -> Result<(), String> {
        let probe = async {
            let connection = self.pool.take().await?;
            let sql = Sql::to("write", &connection.client);
            schema::check_durable(&sql).await?;
            sql.run(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCKS}, -1); {PROBE}")).await?;
            connection.release();
            Ok::<(), PostgresError>(())
        };
        let probed = self.runtime.block_on(async { timeout(CHECK_TIMEOUT, probe).await });
        probed
            .map_err(|_| format!("the database did not answer within {} s", CHECK_TIMEOUT.as_secs()))?
            .map_err(|error| error.to_string())?;
        hold(&self.following.trouble).clone().map_or(Ok(()), Err)
    }

    fn close(&self) {
        self.driver.abort();
        self.runtime.block_on(async {
            for task in tasks_of(&self.tasks) {
                task.finish().await;
            }
        });
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.driver.abort();
        tasks_of(&self.tasks).iter().for_each(|task| task.close());
    }
}
