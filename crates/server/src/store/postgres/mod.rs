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

use self::follower::{Follower, Tasks, tasks_of};
use self::pool::{Address, Pool};
use self::sql::{LOCKS, Sql};
use super::{
    DeletedTask, Erase, ErasedReports, NextWave, Put, RefinementPlan, ReportStore, StoreError, StoreMetrics,
    TaskReports, TaskSettings,
};
use crate::locks::{hold, read_lock};
use ldp_pca::report::ReportId;
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
            changes::put(&putting, task, None).await?;
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
        self.change("store a task", async |sql| changes::put(sql, &task, Some(&settings)).await)
    }

    fn delete(&self, digest: TaskDigest, erase: Erase) -> Result<bool, StoreError> {
        self.change("delete a task", async |sql| changes::delete(sql, digest, erase).await)
    }

    fn deleted(&self) -> Result<Vec<DeletedTask>, StoreError> {
        self.change("list deleted tasks", changes::deleted)
    }

    fn erase(&self, task: &DeletedTask) -> Result<(), StoreError> {
        let condition = format!("number = {}", task.key);
        let erased = self.change("erase a deleted task", async |sql| changes::erase_where(sql, &condition).await);
        erased.map(drop)
    }

    fn erase_reports(&self, task: TaskDigest, ids: &[ReportId]) -> Result<Option<ErasedReports>, StoreError> {
        let Some(reports) = self.task(task) else { return Ok(None) };
        self.change("erase reports", async |sql| changes::erase_reports(sql, reports.task(), ids).await)
    }

    fn close_first_wave(&self, task: TaskDigest, plan: RefinementPlan) -> Result<bool, StoreError> {
        self.change("close a first wave", async |sql| changes::close_first_wave(sql, task, plan).await)
    }

    fn open_second_wave(&self, first: TaskDigest, second: NextWave) -> Result<Option<(TaskDigest, Put)>, StoreError> {
        let Some(reports) = self.task(first) else { return Ok(None) };
        let rows = second.records + reports.damage().lost;
        self.change("open a second wave", async |sql| changes::open_second_wave(sql, first, &second, rows).await)
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
