//! A store in a PostgreSQL database, which several aggregators share.
//!
//! Each of them writes to the tables (`schema`) and follows what all have written (`state` says why every report is
//! counted once by each). A report is acknowledged after the COMMIT of the transaction that brought it. The sums are in
//! memory; there are snapshots of them in the database. While it cannot be reached nothing is acknowledged; afterwards
//! everything resumes by itself.

mod deletion;
mod durability;
mod erasure;
mod error;
mod follower;
mod pool;
mod schema;
mod shared;
mod snapshots;
mod state;
mod statements;
mod task;
#[cfg(test)]
mod tests;
mod waves;
mod writer;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{sleep, timeout};
use tokio_postgres::{Client, types::Type};

use self::follower::{Follower, Tasks, tasks_of};
use self::pool::{Address, Pool};
use self::schema::{ERASED_XID, lock_alone};
use self::statements::{LOCKS, Statements};
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

/// The list of tasks is another one.
const NEW_TASKS: &str = "UPDATE ldp_pca.meta SET tasks_version = tasks_version + 1";

/// Creates a table's file again and fills it: writing into existing pages would not test for space. Several aggregators
/// take turns.
const PROBE: &str =
    "TRUNCATE ldp_pca.probe; INSERT INTO ldp_pca.probe SELECT decode(repeat('5a', 65536), 'hex'); COMMIT";

/// The options for using a database.
#[derive(Clone, Debug)]
pub(crate) struct PostgresOptions {
    /// Connections at the same time, beside the follower's.
    pub(crate) connections: usize,
    /// The time between two looks at other aggregators' writes.
    pub(crate) poll: Duration,
    /// Reports after which a snapshot is written.
    pub(crate) snapshot_reports: u64,
    /// Bytes of reports after which a snapshot is written: as many as the sum has, where that is more.
    pub(crate) snapshot_bytes: u64,
    /// Its metrics.
    pub(crate) metrics: StoreMetrics,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            connections: 8,
            poll: Duration::from_millis(250),
            snapshot_reports: 1 << 18,
            snapshot_bytes: 64 << 20,
            metrics: StoreMetrics::default(),
        }
    }
}

/// All tasks of a database.
pub(in super::super) struct PostgresStore {
    pool: Arc<Pool>,
    tasks: Arc<Tasks>,
    follower: Arc<AsyncMutex<Follower>>,
    /// The error of the last look at the database.
    trouble: Arc<Mutex<Option<String>>>,
    runtime: Handle,
    driver: tokio::task::JoinHandle<()>,
}

impl PostgresStore {
    /// Opens the database at `address`, with `tasks` in addition to those that it already has, and reads its content.
    pub(in super::super) async fn open(
        address: &str,
        tasks: &[Task],
        options: PostgresOptions,
    ) -> Result<Self, PostgresError> {
        let address: Address = address.parse()?;
        let client = address.connect().await?;
        schema::check_durable(&client).await?;
        schema::create(&client).await?;
        for task in tasks {
            put(&client, task, None).await?;
        }
        let pool = Arc::new(Pool::new(address.clone(), options.connections));
        let poll = options.poll;
        let mut follower = Follower::new(address, Arc::clone(&pool), options);
        follower.round().await?;
        let tasks = Arc::clone(&follower.tasks);
        let follower = Arc::new(AsyncMutex::new(follower));
        let trouble = Arc::new(Mutex::new(None));
        let driver = tokio::spawn(drive(Arc::clone(&follower), Arc::clone(&trouble), poll));
        Ok(Self { pool, tasks, follower, trouble, runtime: Handle::current(), driver })
    }

    /// Runs some work over a connection, which returns to the pool if the work succeeds.
    async fn ask<T>(&self, work: impl AsyncFnOnce(&Client) -> Result<T, PostgresError>) -> Result<T, PostgresError> {
        let connection = self.pool.take().await?;
        let done = work(&connection.client).await?;
        connection.release();
        Ok(done)
    }

    fn change<T>(&self, work: impl AsyncFnOnce(&Client) -> Result<T, PostgresError>) -> Result<T, StoreError> {
        self.runtime.block_on(async {
            let changed = self.ask(work).await?;
            // It is in effect when the caller continues. If that fails, the next round does it.
            refresh(&self.follower, &self.trouble).await;
            Ok(changed)
        })
    }
}

/// Follows the database without end.
async fn drive(follower: Arc<AsyncMutex<Follower>>, trouble: Arc<Mutex<Option<String>>>, poll: Duration) {
    loop {
        sleep(poll).await;
        refresh(&follower, &trouble).await;
    }
}

/// Reads the latest changes, and notes whether that is possible.
async fn refresh(follower: &AsyncMutex<Follower>, trouble: &Mutex<Option<String>>) {
    let followed = follower.lock().await.round().await;
    let found = followed.err().map(|error| error.to_string());
    let mut trouble = hold(trouble);
    match (&*trouble, &found) {
        (before, Some(error)) if before.as_ref() != Some(error) => {
            tracing::warn!(%error, "the database cannot be followed or trusted");
        }
        (Some(_), None) => tracing::info!("the database can be followed and trusted again"),
        _ => {}
    }
    *trouble = found;
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
        self.change(async |client| put(client, &task, Some(&settings)).await)
    }

    fn delete(&self, digest: TaskDigest, erase: Erase) -> Result<bool, StoreError> {
        self.change(async |client| deletion::delete(client, digest, erase).await)
    }

    fn deleted(&self) -> Result<Vec<DeletedTask>, StoreError> {
        Ok(self.runtime.block_on(self.ask(deletion::deleted))?)
    }

    fn erase(&self, task: &DeletedTask) -> Result<(), StoreError> {
        Ok(self.runtime.block_on(self.ask(async |client| deletion::erase(client, task).await))?)
    }

    fn erase_reports(&self, task: TaskDigest, ids: &[ReportId]) -> Result<Option<ErasedReports>, StoreError> {
        let Some(task) = read_lock(&self.tasks).get(&task).map(|task| task.shared.task.clone()) else {
            return Ok(None);
        };
        self.change(async |client| erasure::erase(client, &task, ids).await)
    }

    fn close_first_wave(&self, task: TaskDigest, plan: RefinementPlan) -> Result<bool, StoreError> {
        self.change(async |client| waves::close(client, task, plan).await)
    }

    fn open_second_wave(&self, first: TaskDigest, second: NextWave) -> Result<Option<(TaskDigest, Put)>, StoreError> {
        let Some(reports) = self.task(first) else { return Ok(None) };
        let rows = second.records + reports.damage().lost;
        self.change(async |client| waves::open(client, first, &second, rows).await)
    }

    fn check(&self) -> Result<(), String> {
        let probe = self.ask(async |client| {
            schema::check_durable(client).await?;
            let probe = format!("BEGIN; SELECT pg_advisory_xact_lock({LOCKS}, -1); {PROBE}");
            Statements::to("write", client).run(&probe).await
        });
        let probed = self.runtime.block_on(async { timeout(CHECK_TIMEOUT, probe).await });
        probed
            .map_err(|_| format!("the database did not answer within {} s", CHECK_TIMEOUT.as_secs()))?
            .map_err(|error| error.to_string())?;
        hold(&self.trouble).clone().map_or(Ok(()), Err)
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

/// Adds a task, or gives it other settings if there are some.
async fn put(client: &Client, task: &Task, settings: Option<&TaskSettings>) -> Result<Put, PostgresError> {
    schema::check_durable(client).await?;
    let statements = Statements::to("store a task", client);
    statements.begin().await?;
    let put = put_in_transaction(client, task, settings).await?;
    statements.run("COMMIT").await?;
    Ok(put)
}

async fn put_in_transaction(
    client: &Client,
    task: &Task,
    settings: Option<&TaskSettings>,
) -> Result<Put, PostgresError> {
    let statements = Statements::to("store a task", client);
    let digest = task.digest().to_string();
    let json = json_of(&digest, &settings.cloned().unwrap_or_default())?;
    let insert = "INSERT INTO ldp_pca.tasks (digest, document, settings) VALUES ($1, $2, $3::text::jsonb)
        ON CONFLICT (digest) DO NOTHING RETURNING number";
    let row = [(&digest as _, Type::TEXT), (&task.to_json() as _, Type::TEXT), (&json as _, Type::TEXT)];
    let created = statements.rows(insert, &row).await?;
    if let Some(row) = created.first() {
        if task.refinement().is_some() {
            waves::check_only(client, task).await?;
        }
        statements.run(&schema::create_reports(row.get(0))).await?;
    }
    if !created.is_empty() || settings.is_some() {
        configure(client, &digest, &json).await?;
        statements.run(NEW_TASKS).await?;
    }
    Ok(if created.is_empty() { Put::Updated } else { Put::Created })
}

/// The settings as the table has them.
fn json_of(digest: &str, settings: &TaskSettings) -> Result<String, PostgresError> {
    serde_json::to_string(settings)
        .map_err(|error| PostgresError::Settings { digest: digest.to_owned(), reason: error.to_string() })
}

/// Sets a task's settings. With a quota its reports are counted, while nobody else writes. What an aggregator has set
/// of a second wave stays, also where another one has not heard of it yet.
async fn configure(client: &Client, digest: &str, json: &str) -> Result<(), PostgresError> {
    let Some(number) = lock_alone(client, digest).await? else { return Ok(()) };
    let configure = format!(
        "UPDATE ldp_pca.tasks SET settings = $2::text::jsonb || CASE WHEN settings ? 'closed'
            THEN jsonb_strip_nulls(jsonb_build_object(
                'closed', settings->'closed', 'refined_by', settings->'refined_by',
                'refine_after', settings->'refine_after', 'refine_rank', settings->'refine_rank'))
            ELSE '{{}}'::jsonb END,
            records = CASE WHEN $2::text::jsonb ? 'max_records'
            THEN coalesce(records, (SELECT count(*) FROM ldp_pca.reports_{number} WHERE xid <> {ERASED_XID})) END
            WHERE number = $1"
    );
    let statements = Statements::to("store a task's settings", client);
    statements.rows(&configure, &[(&number, Type::INT4), (&json, Type::TEXT)]).await.map(drop)
}
