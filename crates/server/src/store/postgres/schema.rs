//! The tables, and the requirements on a database that holds them.
//!
//! ```text
//! ldp_pca.meta          one row: versions of tables and list of tasks, the cluster that gave transaction ids
//! ldp_pca.tasks         per task: its number here, digest, canonical JSON, settings; its reports, if it has a quota;
//!                       how many of its reports were erased
//! ldp_pca.reports_<n>   the reports of task n: id, bytes on the wire, the transaction that brought it; the ids of
//!                       erased reports
//! ldp_pca.snapshots     per task: a sum, in parts of 16 MiB, and which transactions are in it
//! ldp_pca.deleted       tasks that were deleted and whose reports are still there, until their grace period is over
//! ldp_pca.probe         what is written to see whether anything can be
//! ```
//!
//! A task has a table of its own, so that erasing it removes its bytes at once and no row repeats its digest.

use super::error::PostgresError;
use super::sql::{LOCKS, Sql};
use ldp_pca::task::TaskDigest;

/// The version of the tables.
const VERSION: i32 = 1;

/// The first number of the locks of those that write snapshots ("LDPS").
pub(super) const SNAPSHOT_LOCKS: i32 = 0x4c44_5053;

const TABLES: &str = "
    CREATE SCHEMA IF NOT EXISTS ldp_pca;
    CREATE TABLE ldp_pca.meta (
        only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
        version integer NOT NULL,
        tasks_version bigint NOT NULL DEFAULT 0,
        cluster text NOT NULL
    );
    CREATE TABLE ldp_pca.tasks (
        number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        digest text NOT NULL UNIQUE,
        document text NOT NULL,
        settings jsonb NOT NULL,
        records bigint,
        erased bigint NOT NULL DEFAULT 0
    );
    CREATE TABLE ldp_pca.snapshots (
        task integer NOT NULL REFERENCES ldp_pca.tasks ON DELETE CASCADE,
        part integer NOT NULL,
        horizon bigint NOT NULL,
        counted bigint[] NOT NULL,
        records bigint NOT NULL,
        bytes bytea NOT NULL,
        passed_over bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (task, part)
    );
    ALTER TABLE ldp_pca.snapshots ALTER COLUMN bytes SET STORAGE EXTERNAL;
    CREATE TABLE ldp_pca.deleted (
        number integer PRIMARY KEY,
        digest text NOT NULL,
        document text NOT NULL,
        settings jsonb NOT NULL,
        records bigint,
        erased bigint NOT NULL,
        deleted timestamptz NOT NULL DEFAULT now()
    );
    CREATE TABLE ldp_pca.probe (bytes bytea NOT NULL);
    ALTER TABLE ldp_pca.probe ALTER COLUMN bytes SET STORAGE EXTERNAL;
";

/// The transaction of an erased report's row: before all others, so that no sum and no count has it. The row keeps the
/// id, which stays refused, without the report.
pub(super) const ERASED_XID: i64 = -1;

/// The table of a task's reports. Randomized data cannot be compressed, so compression is off.
pub(super) fn create_reports(number: i32) -> String {
    format!(
        "CREATE TABLE ldp_pca.reports_{number} (
            id bytea PRIMARY KEY CHECK (length(id) = 16),
            report bytea NOT NULL,
            xid bigint NOT NULL DEFAULT (pg_current_xact_id()::text::bigint)
        );
        ALTER TABLE ldp_pca.reports_{number} ALTER COLUMN report SET STORAGE EXTERNAL;
        CREATE INDEX ON ldp_pca.reports_{number} (xid);"
    )
}

/// Names, in SQL, a setting with which the database may lose confirmed data; null if there is none. The settings can be
/// reloaded while it runs.
pub(super) const UNSAFE: &str = "CASE WHEN current_setting('fsync') = 'off' THEN 'fsync'
    WHEN current_setting('full_page_writes') = 'off' THEN 'full_page_writes'
    WHEN current_setting('synchronous_commit') = 'off' THEN 'synchronous_commit' END";

/// The result of [`UNSAFE`].
pub(super) fn durable(found: Option<&str>) -> Result<(), PostgresError> {
    found.map_or(Ok(()), |setting| Err(PostgresError::NotDurable(setting.into())))
}

/// Checks that what the database confirms stays.
pub(super) async fn check_durable(sql: &Sql<'_>) -> Result<(), PostgresError> {
    let query =
        format!("SELECT current_setting('server_version'), current_setting('server_version_num')::integer, {UNSAFE}");
    let row = sql.row(&query).await?;
    if row.get::<_, i32>(1) < 130_000 {
        return Err(PostgresError::TooOld(row.get(0)));
    }
    durable(row.get(2))
}

/// Creates the tables, or checks that they are this release's.
pub(super) async fn create(sql: &Sql<'_>) -> Result<(), PostgresError> {
    sql.begin().await?;
    if !is_there(sql).await? {
        let insert = format!(
            "{TABLES} INSERT INTO ldp_pca.meta (version, cluster)
                SELECT {VERSION}, system_identifier::text FROM pg_control_system()"
        );
        sql.run(&insert).await?;
    }
    sql.run("COMMIT").await?;
    let rows = sql.rows("SELECT version FROM ldp_pca.meta", &[]).await?;
    match rows.first().map_or(0, |row| row.get(0)) {
        VERSION => Ok(()),
        found => Err(PostgresError::Content(format!(
            "the schema ldp_pca has version {found}, but this software knows {VERSION}: use the release that wrote it, \
                or another database"
        ))),
    }
}

async fn is_there(sql: &Sql<'_>) -> Result<bool, PostgresError> {
    Ok(sql.row("SELECT to_regclass('ldp_pca.meta') IS NOT NULL").await?.get(0))
}

/// Takes over tables that somebody else restored, maybe into another cluster.
pub(super) async fn adopt(sql: &Sql<'_>) -> Result<(), PostgresError> {
    if !is_there(sql).await? {
        return Err(PostgresError::Replaced);
    }
    let query = "SELECT cluster <> system_identifier::text FROM ldp_pca.meta, pg_control_system()";
    let renumbered = sql.rows(query, &[]).await?;
    if renumbered.first().is_some_and(|row| row.get(0)) {
        renumber(sql).await?;
    }
    Ok(())
}

/// The identity of the database, in SQL: cluster, timeline, database and tables. It changes after a promotion, or when
/// a dump replaces it; it stays the same when an earlier copy of its files does.
pub(super) const IDENTITY: &str =
    "(SELECT system_identifier || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || '/'
        || (SELECT oid FROM pg_database WHERE datname = current_database()) || '/'
        || 'ldp_pca.meta'::regclass::oid FROM pg_control_system())";

/// Reports that were restored into another cluster carry transaction ids that it did not give: its own may be smaller.
/// They all get the same new one. This rewrites the rows, not the reports.
async fn renumber(sql: &Sql<'_>) -> Result<(), PostgresError> {
    sql.begin().await?;
    let tasks = "SELECT number FROM (SELECT number FROM ldp_pca.tasks UNION SELECT number FROM ldp_pca.deleted)
        all_tasks, ldp_pca.meta, pg_control_system() WHERE cluster <> system_identifier::text";
    for row in sql.rows(tasks, &[]).await? {
        let number: i32 = row.get(0);
        let renumber = format!(
            "SELECT pg_advisory_xact_lock({LOCKS}, {number});
            UPDATE ldp_pca.reports_{number} SET xid = pg_current_xact_id()::text::bigint WHERE xid <> {ERASED_XID};
            DELETE FROM ldp_pca.snapshots WHERE task = {number}"
        );
        sql.run(&renumber).await?;
    }
    sql.run("UPDATE ldp_pca.meta SET cluster = system_identifier::text FROM pg_control_system(); COMMIT").await
}

/// Locks a task until the transaction ends, so that nobody writes its reports or a snapshot of them. The transaction
/// has the list of tasks for itself. Returns the task's number, and its settings as the table has them; `None` if there
/// is no such task.
pub(super) async fn lock_alone(sql: &Sql<'_>, task: TaskDigest) -> Result<Option<(i32, String)>, PostgresError> {
    // That of snapshots first: whoever writes one has its rows, and waits for the row of the task.
    let lock = format!(
        "SELECT number, settings::text, pg_advisory_xact_lock({SNAPSHOT_LOCKS}, number),
            pg_advisory_xact_lock({LOCKS}, number) FROM ldp_pca.tasks WHERE digest = '{task}'"
    );
    let rows = sql.rows(&lock, &[]).await?;
    Ok(rows.first().map(|row| (row.get(0), row.get(1))))
}
