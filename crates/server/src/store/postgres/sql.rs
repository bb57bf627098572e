//! The statements sent to the database, so that an error names what they were for.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use super::error::PostgresError;

/// The first number of this store's advisory locks ("LDPA"); the second is a task's number, or 0 for the list of tasks.
pub(super) const LOCKS: i32 = 0x4c44_5041;

/// The list of tasks is another one.
pub(super) const NEW_TASKS: &str = "UPDATE ldp_pca.meta SET tasks_version = tasks_version + 1";

/// Waits no longer than this for the database, whose process may stand still while its host answers.
pub(super) async fn within<T>(patience: Duration, answer: impl Future<Output = T>) -> Result<T, PostgresError> {
    let silent = |_| PostgresError::Query { action: "answer", reason: format!("nothing came for {patience:?}") };
    timeout(patience, answer).await.map_err(silent)
}

/// Statements that do one thing together, over one connection.
pub(super) struct Sql<'a> {
    client: &'a Client,
    action: &'static str,
}

impl<'a> Sql<'a> {
    /// The statements of `action`.
    pub(super) fn to(action: &'static str, client: &'a Client) -> Self {
        Self { client, action }
    }

    /// Begins a transaction that locks the list of tasks exclusively.
    pub(super) async fn begin(&self) -> Result<(), PostgresError> {
        self.run(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCKS}, 0)")).await
    }

    /// Statements without parameters and rows.
    pub(super) async fn run(&self, statements: &str) -> Result<(), PostgresError> {
        self.client.batch_execute(statements).await.map_err(PostgresError::query(self.action))
    }

    /// The rows that a statement with these parameters gives.
    pub(super) async fn rows(
        &self,
        statement: &str,
        parameters: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, PostgresError> {
        self.client.query_typed(statement, parameters).await.map_err(PostgresError::query(self.action))
    }

    /// The only row that a query gives.
    pub(super) async fn row(&self, query: &str) -> Result<Row, PostgresError> {
        self.client.query_typed_one(query, &[]).await.map_err(PostgresError::query(self.action))
    }
}
